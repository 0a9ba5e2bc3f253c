//! Unix sockets by path: connecting needs read and update of the socket, binding creates it. Addresses of other
//! families name no file. Without rules about hosts they are used as they are.

use std::ffi::CString;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use jp_confine_engine::{Capabilities, decide};
use rustix::fs::{Mode, OFlags, ResolveFlags, Stat, fstat, open, openat2};
use rustix::io::Errno;
use rustix::process::fchdir;

use super::entries::{make_socket, path_text};
use super::{abstract_sockets, listening, netlink, network};
use crate::network::names;
use crate::supervisor::resolve::object::PinnedEntry;
use crate::supervisor::resolve::{Argument, Split, split};
use crate::supervisor::task::Task;
use crate::sys::actions;
use crate::sys::notification::CallResult;
use crate::sys::proc::{HERE, name_of};

/// The offset of the path in a unix socket's address.
pub(super) const PATH_AT: usize = std::mem::offset_of!(libc::sockaddr_un, sun_path);
/// The longest address of a unix socket (`unix_validate_addr` in `net/unix/af_unix.c`).
pub(super) const LONGEST: usize = size_of::<libc::sockaddr_un>();
/// The size of `struct sockaddr_storage`, the largest address.
const LARGEST: usize = size_of::<libc::sockaddr_storage>();

/// A copy of an address of the caller's.
pub(super) struct Address {
    pub(super) bytes: Vec<u8>,
}

impl Address {
    pub(super) fn read(task: &Task<'_>, at: u64, length: i32) -> Result<Self, Errno> {
        let length = usize::try_from(length).map_err(|_| Errno::INVAL)?;
        if length > LARGEST {
            return Err(Errno::INVAL);
        }
        let bytes = if length == 0 { Vec::new() } else { task.caller.bytes(at, length)? };
        Ok(Self { bytes })
    }

    /// The path of a unix socket. `None` for any other address, because it names no file.
    pub(super) fn path(&self) -> Option<CString> {
        let (family, path) = self.bytes.split_at_checked(PATH_AT)?;
        let is_local = family == unix_family() && self.bytes.len() <= LONGEST;
        path_text(path).filter(|_| is_local)
    }
}

fn unix_family() -> [u8; 2] {
    u16::try_from(libc::AF_UNIX).unwrap_or(0).to_ne_bytes()
}

/// The address of a unix socket at `path`.
pub(super) fn unix_address(path: &[u8]) -> Vec<u8> {
    [&unix_family()[..], path, b"\0"].concat()
}

/// connect(2).
pub(crate) fn connect(task: &Task<'_>, fd: i32, at: u64, length: i32) -> Result<CallResult, Errno> {
    let socket = task.caller.descriptor(fd)?;
    let address = Address::read(task, at, length)?;
    let domain = network::domain(&socket)?;
    if domain == libc::AF_UNIX {
        return match address.path() {
            Some(path) => connect_to_path(task, &socket, path),
            None => abstract_sockets::connect(task, &socket, &address.bytes),
        };
    }
    if let Some(network) = &task.policy.network {
        if network::is_internet(domain) {
            return network::connect(task, network, &socket, &address.bytes);
        }
        network::admit_family(domain)?;
    }
    if domain == libc::AF_NETLINK {
        netlink::give_number(task, &socket)?;
    }
    let _acting = task.begin()?;
    task.connect(&socket, &address.bytes).map(|()| CallResult::Value(0))
}

fn connect_to_path(task: &Task<'_>, socket: &OwnedFd, path: CString) -> Result<CallResult, Errno> {
    let argument = Argument::of_text(task.caller, libc::AT_FDCWD, path)?;
    let _acting = task.begin()?;
    let need = Capabilities::READ.union(Capabilities::UPDATE);
    let object = task.object(&argument, false, need)?;
    if task.policy.network.is_some() && object.path().is_some_and(names::is_service) {
        return Err(Errno::CONNREFUSED);
    }
    // Uses a name that leads to exactly the judged object.
    let substitute = unix_address(name_of(object.file.as_fd()).as_bytes());
    task.connect(socket, &substitute).map(|()| CallResult::Value(0))
}

/// bind(2). Peers see the bound name. So it stays the caller's own if the supervisor can use it.
pub(crate) fn bind(task: &Task<'_>, fd: i32, at: u64, length: i32) -> Result<CallResult, Errno> {
    let socket = task.caller.descriptor(fd)?;
    let domain = network::domain(&socket)?;
    let address = Address::read(task, at, length)?;
    if task.policy.network.is_some() && network::is_internet(domain) {
        return listening::bind(task, &socket, &address.bytes);
    }
    let Some(path) = address.path().filter(|_| domain == libc::AF_UNIX) else {
        if domain == libc::AF_NETLINK {
            return netlink::bind(task, &socket, &address.bytes).map(|()| CallResult::Value(0));
        }
        let _acting = task.begin()?;
        return actions::bind(&socket, &address.bytes).map(|()| CallResult::Value(0));
    };
    let is_one_name = !path.to_bytes().contains(&b'/');
    let argument = Argument::of_text(task.caller, libc::AT_FDCWD, path)?;
    let _acting = task.begin()?;
    make_socket(task, &argument, |entry| {
        if is_one_name {
            return bind_in(entry, &socket, &address.bytes);
        }
        let directory = entry.path.strip_suffix(entry.name.to_bytes()).unwrap_or_default();
        if !decide::grants_beneath(task.image(), directory, Capabilities::CREATE) {
            return bind_in(entry, &socket, &unix_address(entry.name.to_bytes()));
        }
        let is_absolute = argument.text().to_bytes().starts_with(b"/");
        let start = (!is_absolute).then(|| argument.start());
        if leads_into(entry, argument.text().to_bytes(), start) {
            return bind_below(entry, start, &socket, &address.bytes);
        }
        bind_canonical(entry, &socket)
    })
}

/// Whether a path leads the supervisor to the entry's directory. A path through the caller's descriptors or working
/// directory in `/proc` would lead through the supervisor's own.
fn leads_into(entry: &PinnedEntry, path: &[u8], start: Option<BorrowedFd<'_>>) -> bool {
    let Split { parent, .. } = split(path);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS;
    let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
    let reached = openat2(start.unwrap_or(HERE), parent, flags, Mode::empty(), resolve);
    let judged = fstat(&entry.directory).map(identity);
    judged.is_ok() && reached.and_then(fstat).map(identity) == judged
}

/// Binds the canonical path. If that is too long for an address, or the caller cannot use it, binds only the last name,
/// which peers then see.
fn bind_canonical(entry: &PinnedEntry, socket: &OwnedFd) -> Result<(), Errno> {
    let address = unix_address(&entry.path);
    let is_usable = !entry.slash && address.len() <= LONGEST;
    if is_usable && leads_into(entry, &entry.path, None) {
        return bind_below(entry, None, socket, &address);
    }
    bind_in(entry, socket, &unix_address(entry.name.to_bytes()))
}

/// Binds the last name of the entry, from its pinned directory.
fn bind_in(entry: &PinnedEntry, socket: &OwnedFd, address: &[u8]) -> Result<(), Errno> {
    fchdir(&entry.directory)?;
    let bound = actions::bind(socket, address);
    go_home();
    bound
}

/// Binds a whole path. The kernel resolves it again, so a thread does this that can create sockets only below the
/// judged directory. Without Landlock, or if not everything below may be created, it binds only the last name, which
/// peers then see.
fn bind_below(
    entry: &PinnedEntry,
    start: Option<BorrowedFd<'_>>,
    socket: &OwnedFd,
    address: &[u8],
) -> Result<(), Errno> {
    let directory = entry.directory.as_fd();
    let confined = || -> Result<(), Errno> {
        if let Some(start) = start {
            crate::sys::identity::own_directory_and_mask().map_err(|_| Errno::ACCESS)?;
            fchdir(start)?;
        }
        match actions::make_sockets_only_below(directory) {
            Ok(()) => actions::bind(socket, address),
            Err(_) => Err(Errno::NOSYS),
        }
    };
    let outcome = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(crate::supervisor::waiting::STACK);
        match thread.spawn_scoped(scope, confined) {
            Ok(thread) => thread.join().unwrap_or(Err(Errno::ACCESS)),
            Err(_) => Err(Errno::ACCESS),
        }
    });
    match outcome {
        Err(Errno::NOSYS) => bind_in(entry, socket, &unix_address(entry.name.to_bytes())),
        outcome => outcome,
    }
}

/// The thread must not keep a directory of the caller's from being unmounted.
fn go_home() {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let _ = open("/", flags, Mode::empty()).and_then(fchdir);
}
