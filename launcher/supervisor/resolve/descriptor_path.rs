//! Resolves paths through the caller's own descriptors, such as `/proc/self/fd/N`.

use std::os::fd::OwnedFd;

use crate::supervisor::caller::Caller;

/// A path through a descriptor of the caller's own. It is pinned before the supervisor acts as the caller. After a
/// process has changed its user, only that process finds its descriptors in `/proc` without privileges (`proc(5)`).
pub(crate) struct Through {
    pub(crate) object: OwnedFd,
    /// The position in the path after the descriptor.
    pub(crate) end: usize,
}

impl Through {
    /// The descriptor that the path begins with, if it is open.
    pub(crate) fn of(caller: &Caller<'_>, path: &[u8]) -> Option<Self> {
        let (threads, fd, end) = descriptor_in(path)?;
        let object = match threads {
            Threads::Caller => caller.object(fd),
            Threads::First => caller.object_of(caller.status().ok()?.process, fd),
            Threads::Numbered(tid) => caller.object_of(tid, fd),
        };
        Some(Self { object: object.ok()?, end })
    }
}

/// The thread that owns the descriptors. Threads of a process may have different ones (`unshare(2)`, `CLONE_FILES`).
#[derive(Debug, PartialEq, Eq)]
enum Threads {
    Caller,
    First,
    Numbered(i32),
}

/// The descriptor of the caller's process that a path begins with, and the position after it.
fn descriptor_in(path: &[u8]) -> Option<(Threads, i32, usize)> {
    let rest = path.strip_prefix(b"/proc/")?;
    let (threads, rest) = if let Some(rest) = rest.strip_prefix(b"thread-self/fd/") {
        (Threads::Caller, rest)
    } else if let Some(rest) = rest.strip_prefix(b"self/fd/") {
        (Threads::First, rest)
    } else {
        let (tid, rest) = number(rest.strip_prefix(b"self/task/")?)?;
        (Threads::Numbered(tid), rest.strip_prefix(b"/fd/")?)
    };
    let (fd, rest) = number(rest)?;
    matches!(rest, [] | [b'/', ..]).then_some((threads, fd, path.len() - rest.len()))
}

/// The number at the start of the text, as `/proc` spells it, and the rest.
fn number(text: &[u8]) -> Option<(i32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(digits)?;
    let number: i32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == digits).then_some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_found_at_the_beginning_of_paths() {
        for (path, expected) in [
            ("/proc/self/fd/3", Some((Threads::First, 3, ""))),
            ("/proc/thread-self/fd/12/a/b", Some((Threads::Caller, 12, "/a/b"))),
            ("/proc/self/task/7/fd/0/", Some((Threads::Numbered(7), 0, "/"))),
            ("/proc/self/fd/03", None),
            ("/proc/self/fd/3a", None),
            ("/proc/self/fd/-1", None),
            ("/proc/self/fd/", None),
            ("/proc/self/fdinfo/3", None),
            ("/proc/self/task/x/fd/0", None),
            ("/proc/7/fd/3", None),
            ("self/fd/3", None),
        ] {
            let found = descriptor_in(path.as_bytes());
            let found = found.map(|(whose, fd, end)| (whose, fd, path.get(end..).expect("text")));
            assert_eq!(found, expected, "{path}");
        }
    }
}
