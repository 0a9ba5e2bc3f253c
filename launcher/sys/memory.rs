//! Copies memory of confined threads, and maps the page that the run shares. Used by the supervisor and
//! `host::machine`.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap};

const PAGE: usize = 4096;

/// Copies the readable bytes at `address` of the thread `tid`, until `to` is full. Returns their number.
///
/// # Errors
/// `EFAULT` if not even the first byte is readable. `EPERM`, `ESRCH`.
pub(crate) fn read(tid: i32, address: u64, to: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(rest) = to.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let from = usize::try_from(address).unwrap_or(usize::MAX).wrapping_add(filled);
        // The kernel copies all of a piece or nothing, and protects memory by pages.
        let in_page = PAGE - from % PAGE;
        let length = rest.len().min(in_page);
        match read_piece(tid, from, rest.get_mut(..length).unwrap_or_default()) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(_) if filled > 0 => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

/// Whether this process may call `process_vm_readv(2)`. It is tried on the process itself.
pub(crate) fn may_be_read() -> bool {
    let own = [0_u8; 1];
    let mut copy = [1_u8; 1];
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    read_piece(tid, own.as_ptr().expose_provenance(), &mut copy) == Ok(1) && copy == own
}

fn read_piece(tid: i32, from: usize, to: &mut [u8]) -> Result<usize, Errno> {
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let remote =
        libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(from), iov_len: to.len() };
    // SAFETY: the kernel writes into `to` only, at most its length; the other address is not ours.
    let count =
        unsafe { libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(count).map_err(|_| super::last_error())
}

/// Copies `from` to `address` of the thread `tid`, whole or not at all.
///
/// # Errors
/// `EFAULT`, `EPERM`, `ESRCH`.
pub(crate) fn write(tid: i32, address: u64, from: &[u8]) -> Result<(), Errno> {
    let at = usize::try_from(address).map_err(|_| Errno::FAULT)?;
    let local = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
    let remote =
        libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(at), iov_len: from.len() };
    // SAFETY: the kernel reads `from` only, at most its length; the other address is not ours.
    let count =
        unsafe { libc::process_vm_writev(tid, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(count) {
        Ok(count) if count == from.len() => Ok(()),
        Ok(_) => Err(Errno::FAULT),
        Err(_) => Err(super::last_error()),
    }
}

/// The counter by which the processes of a run tell each other that directories moved.
#[derive(Debug)]
pub(crate) struct Generation(NonNull<AtomicU64>);

// SAFETY: it points to an atomic that stays mapped for as long as the process lives.
unsafe impl Send for Generation {}
// SAFETY: likewise.
unsafe impl Sync for Generation {}

impl Generation {
    /// Maps the page.
    pub(crate) fn map(page: &OwnedFd) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping overlaps nothing.
        let at =
            unsafe { mmap(std::ptr::null_mut(), PAGE, protection, MapFlags::SHARED, page, 0)? };
        NonNull::new(at.cast()).map(Self).ok_or_else(|| Errno::FAULT.into())
    }

    /// Announces that a directory was renamed or deleted.
    pub(crate) fn advance(&self) {
        // SAFETY: the page is mapped, writable, aligned, and accessed by atomics only.
        unsafe { self.0.as_ref() }.fetch_add(1, Ordering::AcqRel);
    }
}
