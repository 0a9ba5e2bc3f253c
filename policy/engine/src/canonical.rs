//! Finds where a path leads on disk (spec §4): the one resolver of rules, tool inputs and explanations.
//!
//! Resolution is physical, as in the kernel. Tool inputs and rule paths are normalised lexically first
//! ([`crate::lexical`]). A system call's argument is resolved as it is (R1). Nothing is opened, and only [`Lookups`]
//! remembers anything.

mod lookups;
mod root;

use std::borrow::{Cow, ToOwned as _};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::vec::Vec;

use lookups::Lookups;
pub use lookups::{Memory, forget, look, remember};
pub use root::Root;

/// Symlinks followed before a path counts as a loop: the kernel's own number, `path_resolution(7)`.
const LINK_BUDGET: usize = 40;

/// Whether an operation acts on the target of a final symlink or on the symlink itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Opening, reading, writing, running: follows a final symlink.
    Content,
    /// Removing, renaming, linking: acts on the final entry itself.
    Entry,
}

/// A symlink that was followed on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The canonical path of the symlink.
    pub link: PathBuf,
    /// Its text.
    pub text: PathBuf,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Canonical and absolute. For a name that does not exist yet: where it would be created.
    pub path: PathBuf,
    /// Whether something exists there.
    pub exists: bool,
    /// The symlinks followed, in order.
    pub steps: Vec<Step>,
    /// The directories that a `..` led out of, canonical, in order.
    pub left: Vec<PathBuf>,
}

/// Why a path cannot be resolved. Such a path is denied (spec §4.1.6).
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The kernel denied access to a component.
    #[error("cannot look at {}: {error}", path.display())]
    Io {
        /// The component.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        error: io::Error,
    },
    /// More symlinks than the kernel would follow.
    #[error("too many symbolic links at {}", path.display())]
    TooManyLinks {
        /// The symlink that was one too many.
        path: PathBuf,
    },
    /// A component that has others after it is not a directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The component.
        path: PathBuf,
    },
    /// `..` after a name that does not exist. The kernel denies it, and a guess could be wrong.
    #[error("`..` follows {}, which does not exist", path.display())]
    ParentOfMissing {
        /// The missing name.
        path: PathBuf,
    },
    /// A symlink below `/proc` that denotes no path, such as a pipe.
    #[error("{} is {}, which has no path", link.display(), text.display())]
    NotAPath {
        /// The symlink.
        link: PathBuf,
        /// Its text.
        text: PathBuf,
    },
}

impl ResolveError {
    /// Whether the kernel denied it for lack of permission.
    #[must_use]
    pub fn is_permission(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::PermissionDenied)
    }
}

/// The way from `dir` to `path`, if `path` is `dir` or below it; both canonical. Canonical paths can be compared by
/// their bytes, which takes a fraction of the time that components take.
#[must_use]
pub fn below<'p>(dir: &Path, path: &'p Path) -> Option<&'p Path> {
    let rest = path.as_os_str().as_bytes().strip_prefix(dir.as_os_str().as_bytes())?;
    let rest = match rest {
        [b'/', rest @ ..] => rest,
        [_, ..] if dir != Path::new("/") => return None,
        _ => rest,
    };
    Some(Path::new(OsStr::from_bytes(rest)))
}

/// The way from `dir` to `path`, if `path` is below it and not the same; both canonical.
#[must_use]
pub fn strictly_below<'p>(dir: &Path, path: &'p Path) -> Option<&'p Path> {
    below(dir, path).filter(|rest| !rest.as_os_str().is_empty())
}

/// Where `path` leads from the directory `base`, which must be absolute. Resolves it as the kernel would (spec §4.2).
/// `..` is physical, and at most 40 symlinks are followed. Names that do not exist are appended unresolved.
///
/// Magic links below `/proc` lead where their text says, seen from this process. One that denotes no path, such as a
/// pipe, is an error.
///
/// # Errors
/// [`ResolveError`] if the result cannot be bounded. There is no fallback to the spelling.
pub fn resolve(base: &Path, path: &Path, op: Op) -> Result<Resolved, ResolveError> {
    lookups::with(|lookups| {
        let mut walk = Walk::new(Path::new("/"), path.as_os_str().len(), lookups);
        walk.queue_asked(path, op);
        if !path.is_absolute() {
            walk.queue(Cow::Borrowed(base.as_os_str()));
        }
        walk.finish(op)
    })
}

/// The canonical form of the absolute `path`. `None` if nothing is there, or it cannot be resolved.
#[must_use]
pub fn existing(path: &Path) -> Option<PathBuf> {
    let found = resolve(Path::new("/"), path, Op::Content).ok()?;
    found.exists.then_some(found.path)
}

/// Removes trailing slashes. They ask the kernel to follow a final symlink, which an entry operation never does.
fn without_trailing_slashes(path: &OsStr) -> &OsStr {
    let bytes = path.as_bytes();
    let kept = bytes.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    OsStr::from_bytes(&bytes[..kept])
}

/// The components of a path.
fn names(path: &OsStr) -> impl DoubleEndedIterator<Item = &OsStr> {
    let names = path.as_bytes().split(|&byte| byte == b'/').filter(|name| !name.is_empty());
    names.map(OsStr::from_bytes)
}

/// The state of a resolution.
struct Walk<'a> {
    /// Canonical so far.
    at: PathBuf,
    is_dir: bool,
    /// How many bytes of `at` lead to the first name that does not exist. Nothing after it can be resolved.
    missing: Option<usize>,
    /// Components still to come, the next one last.
    pending: Vec<Cow<'a, OsStr>>,
    steps: Vec<Step>,
    left: Vec<PathBuf>,
    lookups: &'a mut Lookups,
}

impl<'a> Walk<'a> {
    /// A walk from the canonical directory `start`. The result is probably `further` bytes longer.
    fn new(start: &Path, further: usize, lookups: &'a mut Lookups) -> Self {
        let mut at = PathBuf::with_capacity(start.as_os_str().len() + 1 + further);
        at.push(start);
        let (pending, steps, left) = (Vec::new(), Vec::new(), Vec::new());
        Self { at, is_dir: true, missing: None, pending, steps, left, lookups }
    }

    fn finish(mut self, op: Op) -> Result<Resolved, ResolveError> {
        while let Some(name) = self.pending.pop() {
            self.enter(&name, op)?;
        }
        let Self { at, missing, steps, left, .. } = self;
        Ok(Resolved { path: at, exists: missing.is_none(), steps, left })
    }

    /// Puts the components of the requested path before those still to come.
    fn queue_asked(&mut self, path: &'a Path, op: Op) {
        let path = match op {
            Op::Content => path.as_os_str(),
            Op::Entry => without_trailing_slashes(path.as_os_str()),
        };
        self.queue(Cow::Borrowed(path));
    }

    /// Puts the components of `path` before those still to come. Keeps a trailing slash as `.`, because both demand a
    /// directory.
    fn queue(&mut self, path: Cow<'a, OsStr>) {
        if path.as_bytes().last() == Some(&b'/') {
            self.pending.push(Cow::Borrowed(OsStr::new(".")));
        }
        match path {
            Cow::Borrowed(path) => self.pending.extend(names(path).rev().map(Cow::Borrowed)),
            Cow::Owned(path) => {
                let names = names(&path).rev();
                self.pending.extend(names.map(|name| Cow::Owned(name.to_owned())));
            }
        }
    }

    fn enter(&mut self, name: &OsStr, op: Op) -> Result<(), ResolveError> {
        if let Some(missing) = self.missing {
            if name == ".." {
                let missing = &self.at.as_os_str().as_bytes()[..missing];
                let path = PathBuf::from(OsStr::from_bytes(missing));
                return Err(ResolveError::ParentOfMissing { path });
            }
            if name != "." {
                self.at.push(name);
            }
            return Ok(());
        }
        if !self.is_dir {
            return Err(ResolveError::NotADirectory { path: self.at.clone() });
        }
        match name.as_bytes() {
            b"." => Ok(()),
            b".." => {
                let inside = self.at.clone();
                if self.at.pop() {
                    self.left.push(inside);
                }
                Ok(())
            }
            _ => self.descend(name, op),
        }
    }

    /// Enters the entry `name` of the current directory, and follows it if it is a symlink.
    fn descend(&mut self, name: &OsStr, op: Op) -> Result<(), ResolveError> {
        self.at.push(name);
        let is_final = self.pending.is_empty();
        match self.lookups.kind(&self.at) {
            Ok(kind) if kind.is_dir() => {}
            Ok(kind) if kind.is_symlink() && !(is_final && op == Op::Entry) => {
                return self.follow();
            }
            Ok(_) => self.is_dir = false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.missing = Some(self.at.as_os_str().len());
            }
            Err(error) => return Err(ResolveError::Io { path: self.at.clone(), error }),
        }
        Ok(())
    }

    /// Continues at the target of the symlink that was just entered.
    fn follow(&mut self) -> Result<(), ResolveError> {
        let link = self.at.clone();
        if self.steps.len() == LINK_BUDGET {
            return Err(ResolveError::TooManyLinks { path: link });
        }
        let text = match self.lookups.text(&link) {
            Ok(text) => text,
            Err(error) => return Err(ResolveError::Io { path: link, error }),
        };
        if text.is_absolute() {
            self.at = PathBuf::from("/");
        } else if is_magic(&link) {
            return Err(ResolveError::NotAPath { link, text });
        } else {
            self.at.pop();
        }
        self.queue(Cow::Owned(text.clone().into_os_string()));
        self.steps.push(Step { link, text });
        Ok(())
    }
}

/// Whether the kernel generates the text of this link, `proc(5)`: `cwd`, `root`, `exe` and the entries of `fd`, `ns`
/// and `map_files` of a process or thread.
fn is_magic(link: &Path) -> bool {
    let Ok(inside) = link.strip_prefix("/proc") else { return false };
    let names: Vec<&[u8]> = inside
        .components()
        .map(|component| match component {
            Component::Normal(name) => name.as_bytes(),
            _ => b"",
        })
        .collect();
    let ([_, b"task", _, of_process @ ..] | [_, of_process @ ..]) = names.as_slice() else {
        return false;
    };
    matches!(of_process, [b"cwd" | b"root" | b"exe"] | [b"fd" | b"ns" | b"map_files", _])
}
