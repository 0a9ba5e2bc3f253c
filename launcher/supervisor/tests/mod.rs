//! Tests the supervisor against the kernel: the same calls, made bare and trapped, on equal trees.

mod answers;
mod caller;
mod programs;
mod queues;
mod refusals;
mod resolve;
mod sockets;
mod speed;
mod strangers;
mod views;
mod waits;

use std::ffi::CString;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Beyond, Grant, GrantKind, ImageSpec, Origin, View, build};
use jp_confine_engine::tiers::Tiers;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Pid;

use super::{Proc, Supervisor};
use crate::prompt::during_run::{Consent, PromptContext};
use crate::prompt::turns::PromptQueue;
use crate::record::denial::{Denial, Record};
use crate::sys::trapped;

const READ: Capabilities = Capabilities::READ.union(Capabilities::EXECUTE);
const ALL: Capabilities = Capabilities::ALL;

/// A tree to work in, and a policy.
struct Ground {
    dir: tempfile::TempDir,
    grants: Vec<Grant>,
    views: Vec<View>,
}

/// Answers on threads of this process.
fn serve(supervisor: &Arc<Supervisor>, listener: OwnedFd) {
    let supervisor = Arc::clone(supervisor);
    std::thread::spawn(move || supervisor.serve(listener).expect("served"));
}

impl Ground {
    /// Everything may be read, and everything below the tree is allowed, except as `rules` say for paths in it.
    fn new(rules: &[(&str, Capabilities)]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("set");
        let mut ground = Self { dir, grants: Vec::new(), views: Vec::new() };
        ground.plant();
        ground.grant(Path::new("/"), READ);
        ground.grant(Path::new("/dev"), READ.union(Capabilities::UPDATE));
        ground.grant(Path::new("/proc/self"), READ.union(Capabilities::UPDATE));
        ground.grant(&ground.path(""), ALL);
        for (path, caps) in rules {
            ground.grant(&ground.path(path), *caps);
        }
        ground
    }

    fn grant(&mut self, anchor: &Path, caps: Capabilities) {
        let origin = Origin::Product { why: "a test".to_owned() };
        self.grants.push(Grant::new(anchor.to_owned(), caps, GrantKind::Plain, origin));
    }

    fn path(&self, name: &str) -> PathBuf {
        let root = self.dir.path().canonicalize().expect("canonical");
        if name.is_empty() { root } else { root.join(name) }
    }

    fn plant(&self) {
        let at = |name: &str| self.path(name);
        fs::write(at("f"), "hello").expect("written");
        fs::create_dir_all(at("d/e")).expect("made");
        fs::write(at("d/g"), "inside").expect("written");
        fs::create_dir(at("full")).expect("made");
        fs::write(at("full/x"), "x").expect("written");
        fs::create_dir(at("empty")).expect("made");
        symlink("f", at("l")).expect("linked");
        symlink("none", at("dangling")).expect("linked");
        symlink("none2/", at("dangling-slash")).expect("linked");
        symlink("loop", at("loop")).expect("linked");
        symlink("d", at("ld")).expect("linked");
        symlink("../l", at("d/up")).expect("linked");
        symlink(at("f"), at("al")).expect("linked");
        symlink(at("d"), at("d/far")).expect("linked");
        symlink("/dev/null", at("null")).expect("linked");
        symlink("/proc/self/fd/0", at("input")).expect("linked");
        symlink("d/", at("lds")).expect("linked");
        let fifo = CString::new(at("fifo").as_os_str().as_bytes()).expect("a name");
        trapped::call(libc::SYS_mknod, [address(&fifo), 0o10_666, 0, 0, 0, 0]).expect("a fifo");
    }

    fn image(&self) -> Vec<u8> {
        build(&ImageSpec {
            grants: &self.grants,
            tiers: None,
            beyond: Beyond::default(),
            workspace: &self.path(""),
            volumes: &[],
            aliases: &[],
            views: &self.views,
            session: 1,
            shim_path: Path::new(""),
            events_path: Path::new(""),
            temp_dir: Path::new(""),
            shared_page: Path::new(""),
            json: b"{}",
        })
        .expect("an image")
    }

    /// The text of `body` in a child with the tree as its working directory, not confined.
    fn bare(&self, body: impl FnOnce() -> String) -> String {
        self.enter(&[], |_, _| {}, body)
    }

    /// The text of `body` when every call that can be trapped is, and the denials.
    fn trapped(&self, body: impl FnOnce() -> String) -> (String, Vec<Denial>) {
        self.trapped_counting(true, body)
    }

    /// As [`Self::trapped`], counting or not.
    fn trapped_counting(
        &self,
        counting: bool,
        body: impl FnOnce() -> String,
    ) -> (String, Vec<Denial>) {
        let (record, supervisor) = self.supervisor(counting);
        let text = self.enter(&every_number(), |listener, _| serve(&supervisor, listener), body);
        (text, denials(&record))
    }

    /// As [`Self::trapped`], and acts on the child meanwhile.
    fn trapped_while(&self, body: impl FnOnce() -> String, meanwhile: impl FnOnce(Pid)) -> String {
        let (_, supervisor) = self.supervisor(true);
        let meanwhile = |listener: OwnedFd, pid| {
            serve(&supervisor, listener);
            meanwhile(pid);
        };
        self.enter(&every_number(), meanwhile, body)
    }

    fn supervisor(&self, counting: bool) -> (tempfile::NamedTempFile, Arc<Supervisor>) {
        let record = tempfile::NamedTempFile::new().expect("a record");
        let append = OpenOptions::new().append(true).open(record.path()).expect("open");
        let page = memfd_create("page", MemfdFlags::CLOEXEC).expect("a page");
        File::from(page.try_clone().expect("cloned")).set_len(4096).expect("long");
        let proc = Proc::open(true).expect("/proc");
        let supervisor =
            Supervisor::new(self.image(), append, &page, nobody(), None, (None, None), proc);
        (record, Arc::new(supervisor.expect("made").counting(counting)))
    }

    fn enter(
        &self,
        numbers: &[i64],
        serve: impl FnOnce(OwnedFd, Pid),
        body: impl FnOnce() -> String,
    ) -> String {
        let root = self.path("");
        let text = trapped::in_child(numbers, serve, || {
            std::env::set_current_dir(&root).expect("there");
            body()
        });
        text.replace(root.to_str().expect("text"), "@")
    }

    /// Lists the tree: names, modes, sizes, targets.
    fn listing(&self) -> String {
        fn list(dir: &Path, depth: usize, to: &mut String) {
            // Some tests create directories that nobody may read.
            let mut entries: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().collect();
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let metadata = entry.path().symlink_metadata().expect("there");
                let mode = metadata.permissions().mode();
                let size = if metadata.is_file() { metadata.len() } else { 0 };
                let target = fs::read_link(entry.path()).unwrap_or_default();
                let name = entry.file_name();
                let _ = writeln!(to, "{:depth$}{name:?} {mode:o} {size} {target:?}", "");
                if metadata.is_dir() {
                    list(&entry.path(), depth + 2, to);
                }
            }
        }
        let mut text = String::new();
        list(&self.path(""), 0, &mut text);
        text.replace(self.path("").to_str().expect("text"), "@")
    }
}

/// Makes the same calls bare and trapped on equal trees. The results and the trees must be the same.
fn agree(body: impl Fn() -> String) {
    let (bare, confined) = (Ground::new(&[]), Ground::new(&[]));
    let expected = bare.bare(&body);
    let (answers, denials) = confined.trapped(&body);
    let differences: Vec<(&str, &str)> =
        expected.lines().zip(answers.lines()).filter(|(a, b)| a != b).collect();
    assert!(
        differences.is_empty(),
        "bare, trapped: {differences:#?}\ndenied: {:#?}",
        shown(&denials)
    );
    assert_eq!(expected, answers);
    assert!(!expected.is_empty());
    assert_eq!(bare.listing(), confined.listing());
}

fn denials(record: &tempfile::NamedTempFile) -> Vec<Denial> {
    let mut all = Vec::new();
    let mut record = Record::new(record.reopen().expect("open"));
    record.drain(|denial| all.push(denial)).expect("read");
    assert!(!record.damaged);
    all
}

/// Denials as text: call, missing rights, path.
fn shown(denials: &[Denial]) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let line = |one: &Denial| format!("{} {}: {}", text(&one.call), one.missing, text(&one.path));
    denials.iter().map(line).collect()
}

/// Asks nobody.
fn nobody() -> Arc<Consent> {
    let about = PromptContext {
        interactive: false,
        workspace: PathBuf::from("/"),
        tiers: Tiers::default(),
        typed: None,
        turns: PromptQueue::default(),
    };
    Arc::new(Consent::new(about))
}

/// Every call that can be trapped, except those that are only partly trapped.
fn every_number() -> Vec<i64> {
    let partly = [libc::SYS_socket, libc::SYS_socketpair, libc::SYS_ioctl];
    let judged = |&number: &i64| super::answers(number) && !partly.contains(&number);
    (0..512).filter(judged).collect()
}

fn c(text: &str) -> CString {
    CString::new(text).expect("no NUL")
}

fn address(text: &CString) -> usize {
    text.as_ptr().expose_provenance()
}

/// `AT_FDCWD` as a register holds it.
const HERE: usize = (libc::AT_FDCWD as isize).cast_unsigned();

fn call(number: i64, arguments: &[usize]) -> Result<i64, i32> {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    trapped::call(number, all)
}

/// An outcome as text.
fn said(outcome: Result<i64, i32>) -> String {
    match outcome {
        Ok(value) => value.to_string(),
        Err(errno) => format!("{:?}", rustix::io::Errno::from_raw_os_error(errno)),
    }
}

/// Writes text to a file that a child can find.
fn written(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
}
