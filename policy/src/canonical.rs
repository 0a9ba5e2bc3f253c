//! Where a path leads on disk (spec §4): the one resolver of rules, tool inputs and explanations.
//!
//! Resolution is physical, as the kernel does it. Tool inputs and rule paths are normalised
//! lexically before ([`crate::lexical`]); what a system call would be given is resolved as it is
//! (R1). Nothing is opened and nothing is cached.

use std::borrow::ToOwned as _;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::vec::Vec;

/// Links followed before a path counts as a loop: the kernel's own number, `path_resolution(7)`.
const LINK_BUDGET: usize = 40;

/// Whether an operation acts on what a final link points to or on the link itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Opening, reading, writing, running: a final link is followed.
    Content,
    /// Removing, renaming, making a link: the final entry itself is meant.
    Entry,
}

/// A link that was followed on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where the link stands, canonical.
    pub link: PathBuf,
    /// What it says.
    pub text: PathBuf,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Canonical and absolute. Of a name that does not exist yet: where it would come to be.
    pub path: PathBuf,
    /// Whether something is there.
    pub exists: bool,
    /// The links followed, in order.
    pub steps: Vec<Step>,
}

/// Why it cannot be said where a path leads; such a path is denied (spec §4.1.6).
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The kernel refused to look at a component.
    #[error("cannot look at {}: {error}", path.display())]
    Io {
        /// The component.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        error: io::Error,
    },
    /// More links than the kernel would follow.
    #[error("too many symbolic links at {}", path.display())]
    TooManyLinks {
        /// The link that was one too many.
        path: PathBuf,
    },
    /// A component that has others after it is not a directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The component.
        path: PathBuf,
    },
    /// `..` after a name that does not exist: the kernel refuses it, and a guess could be wrong.
    #[error("`..` follows {}, which does not exist", path.display())]
    ParentOfMissing {
        /// The missing name.
        path: PathBuf,
    },
    /// A link below `/proc` that denotes no path, such as a pipe.
    #[error("{} is {}, which has no path", link.display(), text.display())]
    NotAPath {
        /// The link.
        link: PathBuf,
        /// What it says.
        text: PathBuf,
    },
}

impl ResolveError {
    /// Whether the kernel refused for lack of permission.
    #[must_use]
    pub fn is_permission(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::PermissionDenied)
    }
}

/// The canonical root of a workspace, `Wc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// The root that `path`, relative to the current directory or absolute, leads to (spec §4.3).
    ///
    /// # Errors
    /// Where it cannot be resolved or is not an existing directory, in which case there is
    /// nothing to confine to.
    pub fn open(path: &Path) -> Result<Self, ResolveError> {
        let io_error = |error| ResolveError::Io { path: path.to_owned(), error };
        let canonical = fs::canonicalize(path).map_err(io_error)?;
        if fs::metadata(&canonical).map_err(io_error)?.is_dir() {
            Ok(Self(canonical))
        } else {
            Err(ResolveError::NotADirectory { path: canonical })
        }
    }

    /// The canonical absolute path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Whether a canonical path is the root or below it, component by component.
    #[must_use]
    pub fn contains(&self, canonical: &Path) -> bool {
        canonical.starts_with(&self.0)
    }
}

/// Where `path` leads from the directory `base`, which must be absolute, as the kernel would
/// resolve it (spec §4.2): `..` is physical, at most 40 links are followed, and what does not
/// exist is appended unresolved.
///
/// Magic links below `/proc` lead where they say, seen from this process; one that denotes no
/// path, such as a pipe, is an error.
///
/// # Errors
/// [`ResolveError`]: whatever cannot be bounded. There is no fallback to the spelling.
pub fn resolve(base: &Path, path: &Path, op: Op) -> Result<Resolved, ResolveError> {
    let mut walk = Walk::new();
    if op == Op::Content {
        walk.queue(path.as_os_str());
    } else {
        walk.queue(without_trailing_slashes(path.as_os_str()));
    }
    if !path.is_absolute() {
        walk.queue(base.as_os_str());
    }
    while let Some(name) = walk.pending.pop() {
        walk.enter(&name, op)?;
    }
    Ok(Resolved { path: walk.at, exists: walk.missing.is_none(), steps: walk.steps })
}

/// A trailing slash asks the kernel to follow a final link, which an entry operation never does.
fn without_trailing_slashes(path: &OsStr) -> &OsStr {
    let bytes = path.as_bytes();
    let kept = bytes.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    OsStr::from_bytes(&bytes[..kept])
}

/// How far a resolution got.
struct Walk {
    /// Canonical so far.
    at: PathBuf,
    is_dir: bool,
    /// The first name that does not exist: nothing after it can be resolved.
    missing: Option<PathBuf>,
    /// Components still to come, the next one last.
    pending: Vec<OsString>,
    steps: Vec<Step>,
}

impl Walk {
    fn new() -> Self {
        Self {
            at: PathBuf::from("/"),
            is_dir: true,
            missing: None,
            pending: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Puts the components of `path` before those still to come. A trailing slash is kept as `.`:
    /// both demand a directory.
    fn queue(&mut self, path: &OsStr) {
        let bytes = path.as_bytes();
        if bytes.last() == Some(&b'/') {
            self.pending.push(OsString::from("."));
        }
        let names = bytes.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        self.pending.extend(names.rev().map(|name| OsString::from_vec(name.to_vec())));
    }

    fn enter(&mut self, name: &OsStr, op: Op) -> Result<(), ResolveError> {
        if let Some(missing) = &self.missing {
            if name == ".." {
                return Err(ResolveError::ParentOfMissing { path: missing.clone() });
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
                self.at.pop();
                Ok(())
            }
            _ => self.descend(name, op),
        }
    }

    /// Enters the entry `name` of the current directory, through it if it is a link.
    fn descend(&mut self, name: &OsStr, op: Op) -> Result<(), ResolveError> {
        let entry = self.at.join(name);
        let metadata = match fs::symlink_metadata(&entry) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.missing = Some(entry.clone());
                self.at = entry;
                return Ok(());
            }
            Err(error) => return Err(ResolveError::Io { path: entry, error }),
        };
        let is_final = self.pending.is_empty();
        if metadata.is_symlink() && !(is_final && op == Op::Entry) {
            return self.follow(entry);
        }
        self.at = entry;
        self.is_dir = metadata.is_dir();
        Ok(())
    }

    fn follow(&mut self, link: PathBuf) -> Result<(), ResolveError> {
        if self.steps.len() == LINK_BUDGET {
            return Err(ResolveError::TooManyLinks { path: link });
        }
        let text =
            fs::read_link(&link).map_err(|error| ResolveError::Io { path: link.clone(), error })?;
        if text.is_absolute() {
            self.at = PathBuf::from("/");
        } else if is_magic(&link) {
            return Err(ResolveError::NotAPath { link, text });
        }
        self.queue(text.as_os_str());
        self.steps.push(Step { link, text });
        Ok(())
    }
}

/// Whether a link is one whose text the kernel makes up, `proc(5)`: `cwd`, `root`, `exe` and the
/// entries of `fd`, `ns` and `map_files` of a process or thread.
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
