//! Looks at what else a command names before a person is asked about one of its paths (spec §9.5).

use std::ffi::OsStr;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::views;
use rustix::fs::{Mode, OFlags, openat, readlinkat};

use super::command_paths::{NamedPath, Use, named};
use super::task::Task;
use crate::files;
use crate::prompt::during_run::subject::Subject;
use crate::prompt::during_run::{Question, Wish};
use crate::sys::identity::look_into;

/// Most bytes of a command line that are looked at. What a longer one names is asked about when it is used.
const LONGEST: u64 = 1 << 16;

/// Most paths that one prompt is about.
const MOST: usize = 5;

impl Task<'_> {
    /// What the caller's command names besides, and would be asked about for the same reason as `question`. `None` if
    /// it names something that is denied.
    pub(super) fn companions(&self, question: &Question) -> Option<Vec<Wish>> {
        let mut wishes = Vec::new();
        let Some((line, directory)) = self.command_line() else { return Some(wishes) };
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        for path in named(&words) {
            match self.wanted(&directory, path, question) {
                // What comes before it has been used.
                Ok(Some(wish)) if question.wishes.contains(&wish) => wishes.clear(),
                Ok(wish) => wishes.extend(wish),
                Err(Denied) => return None,
            }
        }
        wishes.dedup();
        wishes.truncate(MOST.saturating_sub(question.wishes.len()));
        Some(wishes)
    }

    /// The words of the caller's process, each followed by a zero byte, and its working directory.
    fn command_line(&self) -> Option<(Vec<u8>, PathBuf)> {
        let (proc, tid) = (self.caller.proc(), self.caller.tid());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let open = || openat(proc.as_fd(), format!("{tid}/cmdline"), flags, Mode::empty());
        let line = files::read_all(std::fs::File::from(look_into(open).ok()?), LONGEST).ok()?;
        let cwd = || readlinkat(proc.as_fd(), format!("{tid}/cwd"), Vec::new());
        let directory = look_into(cwd).ok()?;
        Some((line, PathBuf::from(OsStr::from_bytes(directory.as_bytes()))))
    }

    /// The wish for a path, if a person would be asked about it for the same reason.
    fn wanted(
        &self,
        directory: &Path,
        NamedPath { typed, used }: NamedPath<'_>,
        question: &Question,
    ) -> Result<Option<Wish>, Denied> {
        let op = if used == Use::Delete { Op::Entry } else { Op::Content };
        let path = directory.join(OsStr::from_bytes(typed));
        let image = self.image();
        let found = canonical::resolve(Path::new("/"), &path, op)
            .and_then(|found| views::lead(image, found, op));
        let Ok(found) = found else { return Ok(None) };
        let exists = found.path.symlink_metadata().is_ok();
        let needed = match (used, exists) {
            (Use::Write, false) => Capabilities::CREATE,
            (_, false) => return Ok(None),
            (Use::Read, true) => Capabilities::READ,
            (Use::Write, true) => Capabilities::UPDATE,
            (Use::Delete, true) => Capabilities::DELETE,
        };
        let path = found.path.as_os_str().as_bytes();
        let denial = match decide::access(image, &Request::canonical(path), needed) {
            Verdict::Allow => return Ok(None),
            Verdict::Deny(denial) if !denial.ask => return Err(Denied),
            Verdict::Deny(denial) => denial,
        };
        let about = self.policy.consent.about();
        let other = about.question(image, &denial, Subject::new(path), Vec::new(), question.pid);
        Ok(other.wishes.first().filter(|_| other.is_for_same_reason(question)).cloned())
    }
}

/// The policy denies it, and nobody can be asked.
struct Denied;
