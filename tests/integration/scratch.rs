//! Creates a scratch tree for one test: a workspace, a home, and a place that nothing grants.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use rustix::io::{read, retry_on_intr};

use crate::layers::Holder;
use crate::sys::leave_terminal;

/// Content of the forbidden files. No confined program may ever see it.
pub(crate) const SECRET: &str = "TOPSECRET";

/// The uid and gid that stand for an ordinary user when the tests run as root.
pub(crate) const NOBODY: u32 = 65534;

/// The tree, removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    root: tempfile::TempDir,
    /// The uid and gid of runs, if they are not the caller's.
    pub(crate) uid: Option<u32>,
}

impl Scratch {
    /// Creates the tree in the folder of the holder whose turn it is:
    /// `ws/{file,dir/}`, `home/.private/key`, `out/{secret,target,dir/inner,empty/}`.
    pub(crate) fn new() -> Self {
        leave_terminal();
        let mut builder = tempfile::Builder::new();
        let root = builder.prefix("jp-test-").tempdir_in(Holder::current().folder());
        let root = root.expect("a scratch folder");
        let scratch = Self { root, uid: None };
        for dir in ["ws/dir", "home/.private", "out/dir", "out/empty", "tmp"] {
            fs::create_dir_all(scratch.path(dir)).expect("scratch folders");
        }
        scratch.write("ws/file", "inside\n");
        scratch.write("home/.private/key", &format!("{SECRET}\n"));
        scratch.write("out/secret", &format!("{SECRET}\n"));
        scratch.write("out/target", "unchanged\n");
        scratch.write("out/dir/inner", &format!("{SECRET}\n"));
        scratch
    }

    /// The same tree, owned and used by an ordinary user: the caller, unless that is root.
    pub(crate) fn for_ordinary_user() -> Self {
        let mut scratch = Self::new();
        if rustix::process::geteuid().is_root() {
            scratch.uid = Some(NOBODY);
            scratch.hand_over();
        }
        scratch
    }

    /// Gives everything in the tree to the uid that the runs use.
    pub(crate) fn hand_over(&self) {
        if self.uid.is_some() {
            for path in walk(self.root.path()) {
                std::os::unix::fs::lchown(&path, self.uid, self.uid).expect("chown in the scratch");
            }
            chown(self.root.path(), self.uid, self.uid).expect("chown of the scratch");
        }
    }

    /// `name` below the root of the tree.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The workspace.
    pub(crate) fn ws(&self) -> PathBuf {
        self.path("ws")
    }

    /// The directory that is `$HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The directory that nothing grants.
    pub(crate) fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// Writes `text` to `name`, a file of the user's, and creates the directories above it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if self.uid.is_some() {
            chown(&path, self.uid, self.uid).expect("chown in the scratch");
        }
    }

    /// Copies the program `from` to `name`, in another process. If this process had the file open for writing while
    /// another thread forks, the file could not be executed (ETXTBSY).
    pub(crate) fn copy_program(&self, from: &Path, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        let status = Command::new("cp").arg(from).arg(&path).status();
        assert!(status.expect("cp").success(), "cannot copy {}", from.display());
        path
    }

    /// Waits until a program has created `name`, or moved it there.
    pub(crate) fn await_file(&self, name: &str) {
        const PATIENCE: Timespec = Timespec { tv_sec: 100, tv_nsec: 0 };
        let path = self.path(name);
        let news = init(CreateFlags::CLOEXEC).expect("news of a folder");
        let arrivals = WatchFlags::CREATE | WatchFlags::MOVED_TO;
        add_watch(&news, path.parent().expect("a parent"), arrivals).expect("a folder");
        while !path.exists() {
            let mut ready = [PollFd::new(&news, PollFlags::IN)];
            let count = retry_on_intr(|| poll(&mut ready, Some(&PATIENCE)));
            assert_eq!(count, Ok(1), "there is no {}", path.display());
            read(&news, &mut [0; 4096]).expect("news");
        }
    }

    /// The text of `name`.
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// `text` with `$OUT`, `$HOME` and `$WS` replaced by the directories of this tree.
    pub(crate) fn expand(&self, text: &str) -> String {
        let replace = |text: String, name: &str, path: PathBuf| {
            text.replace(name, path.to_str().expect("scratch paths are UTF-8"))
        };
        let text = replace(text.to_owned(), "$OUT", self.out());
        let text = replace(text, "$HOME", self.home());
        replace(text, "$WS", self.ws())
    }

    /// The present state of the forbidden places.
    pub(crate) fn forbidden(&self) -> Snapshot {
        let mut entries = BTreeMap::new();
        for top in [self.out(), self.path("home/.private")] {
            entries.insert(top.clone(), describe(&top));
            entries.extend(walk(&top).into_iter().map(|path| (path.clone(), describe(&path))));
        }
        Snapshot(entries)
    }

    /// The present state of the whole home, except jp-confine's own directories in it.
    pub(crate) fn whole_home(&self) -> Snapshot {
        let own = [".cache/jp-confine", ".local/share/jp-confine"].map(|own| self.home().join(own));
        let is_users =
            |path: &PathBuf| !own.iter().any(|own| path.starts_with(own) || own.starts_with(path));
        let paths = walk(&self.home()).into_iter().filter(is_users);
        Snapshot(paths.map(|path| (path.clone(), describe(&path))).collect())
    }

    /// Fails if a file of the workspace contains the secret, because then a program carried it in.
    pub(crate) fn assert_nothing_leaked(&self) {
        for path in walk(&self.ws()) {
            if fs::symlink_metadata(&path).is_ok_and(|data| data.is_file()) {
                let text = fs::read(&path).expect("a workspace file");
                let is_program = text.starts_with(b"\x7fELF");
                let leaked = || text.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
                assert!(is_program || !leaked(), "{} holds the secret", path.display());
            }
        }
    }
}

/// The state of every file below a directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, String>);

impl Snapshot {
    /// Fails, naming the differences, unless `later` shows the same state.
    pub(crate) fn assert_same(&self, later: &Self) {
        let mut differences = String::new();
        for path in self.0.keys().chain(later.0.keys().filter(|path| !self.0.contains_key(*path))) {
            let (before, after) = (self.0.get(path), later.0.get(path));
            if before != after {
                let _ = writeln!(differences, "{}: {before:?} -> {after:?}", path.display());
            }
        }
        assert!(differences.is_empty(), "forbidden files changed:\n{differences}");
    }
}

/// Everything that an attack could change about a file.
fn describe(path: &Path) -> String {
    let Ok(data) = fs::symlink_metadata(path) else { return "missing".to_owned() };
    let content = if data.is_file() {
        fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    } else {
        fs::read_link(path).map(|target| target.display().to_string()).unwrap_or_default()
    };
    format!(
        "mode {:o} owner {} links {} changed {}.{} holds {content:?}",
        data.permissions().mode(),
        data.uid(),
        data.nlink(),
        data.ctime(),
        data.ctime_nsec(),
    )
}

/// Every path below `top`. Symlinks are not followed.
fn walk(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![top.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}
