//! Telling the launcher what was refused, and the one place that chooses the errno of a refusal.

use core::ffi::CStr;

use jp_confine_policy::decide::{Denial, OpenVerdict, Verdict};
use jp_confine_policy::image::{Image, RuleId, Text};

use crate::errno::Errno;
use crate::path::PathBuffer;
use crate::sys;

/// The first four bytes of a record: `JPVE`.
const MAGIC: u32 = 0x4556_504a;
const HEADER: usize = 28;
/// A record that would not fit is cut at its paths; a record is one write, so that the kernel
/// appends it whole.
const ROOM: usize = 8192;
/// Beyond this size of the file nothing more is recorded.
const ENOUGH: i64 = 64 << 20;

/// Why something was refused that no rule forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Reason {
    Rule = 0,
    StaticProgram = 1,
    ForeignProgram = 2,
    Loader = 3,
    ShimUnreachable = 4,
    /// The call would change what paths mean.
    Namespace = 5,
    Internal = 6,
}

/// An operation being judged: which libc function, on which path, spelled how.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) call: &'a CStr,
    pub(crate) path: &'a [u8],
    pub(crate) route: &'a [u8],
}

impl<'a> Subject<'a> {
    pub(crate) const fn new(call: &'a CStr, path: &'a [u8]) -> Self {
        Self { call, path, route: path }
    }
}

/// Turns a verdict into the hook's result, and reports a denial.
///
/// # Errors
/// `EACCES`, or `ENOENT` in a hidden area.
pub(crate) fn settle(
    image: &Image<'_>,
    verdict: Verdict,
    subject: Subject<'_>,
) -> Result<(), Errno> {
    match verdict {
        Verdict::Allow => Ok(()),
        Verdict::Deny(denial) => Err(denied(image, denial, subject)),
    }
}

/// As [`settle`], for opening: the verdict with its denial already dealt with.
///
/// # Errors
/// As [`settle`].
pub(crate) fn settle_open(
    image: &Image<'_>,
    verdict: OpenVerdict,
    subject: Subject<'_>,
) -> Result<OpenVerdict, Errno> {
    match verdict {
        OpenVerdict::Deny(denial) => Err(denied(image, denial, subject)),
        other => Ok(other),
    }
}

/// Reports a denial; what the program gets to see.
#[cold]
pub(crate) fn denied(image: &Image<'_>, denial: Denial, subject: Subject<'_>) -> Errno {
    record(image, Some(denial), Reason::Rule, subject);
    if denial.hidden { Errno::ENOENT } else { Errno::EACCES }
}

/// Reports a refusal that no rule decided.
#[cold]
pub(crate) fn refused(image: &Image<'_>, reason: Reason, subject: Subject<'_>) -> Errno {
    record(image, None, reason, subject);
    Errno::EACCES
}

#[inline(never)]
fn record(image: &Image<'_>, denial: Option<Denial>, reason: Reason, subject: Subject<'_>) {
    let mut path = PathBuffer::new();
    if path.push(image.text(Text::EventsPath)).is_err() {
        return;
    }
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let Ok(file) = sys::openat(libc::AT_FDCWD, path.c_str(0), flags, 0) else { return };
    if sys::fstat(file.raw()).map_or(true, |stat| stat.st_size > ENOUGH) {
        return;
    }
    let _ = path.fill(|bytes, room| {
        sys::readlinkat(libc::AT_FDCWD, c"/proc/self/exe", bytes, room.min(1024))
    });
    let mut record = Record { bytes: [0; ROOM], len: HEADER };
    let lengths = [
        record.append(subject.path),
        record.append(subject.route),
        record.append(path.as_bytes()),
        record.append(subject.call.to_bytes()),
    ];
    record.head(denial, reason, lengths);
    let _ = sys::write(file.raw(), record.bytes.get(..record.len).unwrap_or(&[]));
}

struct Record {
    bytes: [u8; ROOM],
    len: usize,
}

impl Record {
    /// Appends as much as leaves room for the shorter texts that follow; how much that was.
    fn append(&mut self, text: &[u8]) -> u16 {
        let room = ROOM.saturating_sub(self.len).min(3400);
        let text = text.get(..text.len().min(room)).unwrap_or(&[]);
        let end = self.len.saturating_add(text.len());
        for (to, &from) in self.bytes.iter_mut().skip(self.len).zip(text) {
            *to = from;
        }
        self.len = end;
        u16::try_from(text.len()).unwrap_or(0)
    }

    fn head(&mut self, denial: Option<Denial>, reason: Reason, lengths: [u16; 4]) {
        let rule = denial.and_then(|denial| denial.rule).map_or(u32::MAX, RuleId::raw);
        let missing = denial.map_or(0, |denial| denial.missing.bits());
        let flags =
            denial.map_or(4, |denial| u8::from(denial.hidden) | u8::from(denial.second) << 1);
        let words = [
            MAGIC,
            u32::try_from(self.len).unwrap_or(0),
            sys::getpid().cast_unsigned(),
            rule,
            u32::from_le_bytes([missing, flags, low(reason as u16), high(reason as u16)]),
            pair(lengths[0], lengths[1]),
            pair(lengths[2], lengths[3]),
        ];
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        for (to, from) in self.bytes.iter_mut().zip(bytes) {
            *to = from;
        }
    }
}

const fn low(value: u16) -> u8 {
    value.to_le_bytes()[0]
}

const fn high(value: u16) -> u8 {
    value.to_le_bytes()[1]
}

const fn pair(first: u16, second: u16) -> u32 {
    let [a, b] = first.to_le_bytes();
    let [c, d] = second.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
