//! Reports denials to the launcher and the supervisor. This is the only place that chooses the errno of a denial.

use core::ffi::CStr;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Denial, OpenVerdict, Request, Verdict};
use jp_confine_engine::image::{Image, RuleId, Text};
use jp_confine_engine::report_protocol::{
    COMMAND, CONSENT, Flags, INTERRUPTED, MAX_RECORD_BYTES, SET_ID, VECTORS,
};

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::mmap_box::MmapBox;
use crate::sys;

/// The first four bytes of a record: `JPVE`.
const MAGIC: u32 = 0x4556_504a;
const HEADER: usize = 32;
/// Longer texts are cut. A text that does not fit in a path cannot be in a policy.
const LONGEST: usize = 4096;

/// The reason for a denial that comes from no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Reason {
    Rule = 0,
    StaticProgram = 1,
    ForeignProgram = 2,
    #[cfg(target_os = "linux")]
    Loader = 3,
    ShimUnreachable = 4,
    /// The call would change the meaning of paths, or create a way around them.
    Namespace = 5,
    /// The object belongs to another process, and `/proc` shows it.
    #[cfg(target_os = "linux")]
    OtherProcess = 6,
    /// The server of a socket without a path is outside the run.
    #[cfg(target_os = "linux")]
    Peer = 11,
    /// The mode or attribute would make a program run with another user's rights.
    SetId = SET_ID,
    /// No rule about programs allows a start with these arguments. The record holds them in place of the route.
    Command = COMMAND,
}

/// An operation being judged: the libc function, the path and its spelling.
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

    /// The subject of `request`.
    pub(crate) const fn of(call: &'a CStr, request: &Request<'a>) -> Self {
        Self { call, path: request.path, route: request.route }
    }

    /// The policy's question about this subject.
    #[cfg(target_os = "macos")]
    pub(crate) const fn request(&self) -> Request<'a> {
        Request::by_route(self.path, self.route)
    }
}

/// The second, canonical path of a call, with the capabilities that a prompt should cover there as well.
#[derive(Clone, Copy)]
pub(crate) struct Other<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) wanted: Capabilities,
}

impl Other<'_> {
    pub(crate) const NONE: Self = Self { path: &[], wanted: Capabilities::NONE };
}

/// Turns a verdict into the hook's result. Reports a denial, or shows a prompt if a person may lift it.
///
/// # Errors
/// `EACCES`, or `ENOENT` in a hidden area; `EINTR` if a person interrupts instead of answering.
pub(crate) fn apply_verdict(
    image: &Image<'_>,
    verdict: Verdict,
    subject: Subject<'_>,
) -> Result<(), Errno> {
    match verdict {
        Verdict::Allow => Ok(()),
        Verdict::Deny(denial) => apply_verdict_to_pair(image, denial, subject, Other::NONE),
    }
}

/// Like [`apply_verdict`], for a denial of a call with two paths.
///
/// # Errors
/// As [`apply_verdict`].
pub(crate) fn apply_verdict_to_pair(
    image: &Image<'_>,
    denial: Denial,
    subject: Subject<'_>,
    other: Other<'_>,
) -> Result<(), Errno> {
    ask_or_deny(image, denial, subject, other)
}

/// Like [`apply_verdict`], for a path that leads nowhere, which nobody is prompted about.
///
/// # Errors
/// As [`apply_verdict`].
pub(crate) fn apply_verdict_where_absent(
    image: &Image<'_>,
    verdict: Verdict,
    subject: Subject<'_>,
) -> Result<(), Errno> {
    match verdict {
        Verdict::Deny(denial) if denial.ask => Ok(()),
        verdict => apply_verdict(image, verdict, subject),
    }
}

/// Like [`apply_verdict`], for an open. Returns the verdict of `judge` after any denial in it has been settled.
///
/// # Errors
/// As [`apply_verdict`].
pub(crate) fn apply_open_verdict(
    image: &Image<'_>,
    request: &Request<'_>,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> OpenVerdict,
    subject: Subject<'_>,
) -> Result<OpenVerdict, Errno> {
    match judge(image, request) {
        OpenVerdict::Deny(denial) => {
            ask_or_deny(image, denial, subject, Other::NONE)?;
            match judge(image, &request.consented()) {
                OpenVerdict::Deny(denial) => Err(errno_of(denial)),
                other => Ok(other),
            }
        }
        other => Ok(other),
    }
}

/// Reports a denial. Returns the errno for the program.
#[cold]
#[inline(never)]
pub(crate) fn denied(image: &Image<'_>, denial: Denial, subject: Subject<'_>) -> Errno {
    let denial = Denial { ask: false, ..denial };
    record(image, Some(denial), Reason::Rule, subject, Other::NONE);
    errno_of(denial)
}

/// Reports a denial, or prompts a person, who may lift it.
///
/// # Errors
/// As [`apply_verdict`].
#[cold]
#[inline(never)]
fn ask_or_deny(
    image: &Image<'_>,
    denial: Denial,
    subject: Subject<'_>,
    other: Other<'_>,
) -> Result<(), Errno> {
    match record(image, Some(denial), Reason::Rule, subject, other) {
        CONSENT if denial.ask => Ok(()),
        INTERRUPTED if denial.ask => Err(Errno::EINTR),
        _ => Err(errno_of(denial)),
    }
}

const fn errno_of(denial: Denial) -> Errno {
    if denial.hidden { Errno::ENOENT } else { Errno::EACCES }
}

/// Reports a denial that comes from no rule. If no policy could allow the call, the errno is the kernel's for a missing
/// privilege, and that of the layers behind the library.
#[cold]
pub(crate) fn refused(image: &Image<'_>, reason: Reason, subject: Subject<'_>) -> Errno {
    record(image, None, reason, subject, Other::NONE);
    match reason {
        Reason::Namespace => Errno::EPERM,
        _ => Errno::EACCES,
    }
}

/// The contents of a report.
#[derive(Clone, Copy)]
struct Event<'a> {
    denial: Option<Denial>,
    reason: Reason,
    subject: Subject<'a>,
    other: Other<'a>,
}

/// Sends a report. Returns the supervisor's answer, or zero without one. The policy is asked about the record file here
/// and not in a deeper frame, because the stack is short.
#[inline(never)]
fn record(
    image: &Image<'_>,
    denial: Option<Denial>,
    reason: Reason,
    subject: Subject<'_>,
    other: Other<'_>,
) -> u32 {
    let event = Event { denial, reason, subject, other };
    let decided = image.at_level(denial.map_or(0, |denial| denial.level));
    if decided.behind().supervisor
        && let Some(answer) = event.tell()
    {
        return u32::try_from(answer).unwrap_or_default();
    }
    if let Ok(file) = open_record(decided) {
        event.append(&file);
    }
    0
}

impl Event<'_> {
    /// Sends the record to the supervisor.
    #[inline(never)]
    fn tell(&self) -> Option<usize> {
        self.with_record(sys::tell_supervisor)
    }

    /// Appends the record to the file of the run whose policy decided.
    #[inline(never)]
    fn append(&self, file: &sys::Fd) {
        if sys::fstat(file.raw()).is_ok_and(|stat| stat.st_size.cast_unsigned() <= MAX_RECORD_BYTES)
        {
            let _ = self.with_record(|record| sys::write_all(file.raw(), record));
        }
    }

    fn with_record<R>(&self, hand_on: impl FnOnce([&[u8]; VECTORS]) -> R) -> R {
        let mut program = MmapBox::<PathBuffer>::blank().ok();
        let program = program.as_mut().map_or(&b""[..], |program| own_program(program));
        let Self { denial, reason, subject: Subject { call, path, route }, other } = *self;
        let parts = [path, route, other.path, program, call.to_bytes()];
        let parts = parts.map(|part| part.get(..part.len().min(LONGEST)).unwrap_or(&[]));
        let lengths = parts.map(|part| u16::try_from(part.len()).unwrap_or(0));
        let head = head(denial, reason, other.wanted, lengths);
        let [path, route, other, program, call] = parts;
        hand_on([&head, path, route, other, program, call])
    }
}

/// The path of the program itself; empty if unknown.
fn own_program(path: &mut PathBuffer) -> &[u8] {
    let _ = path.fill(sys::own_program);
    path.as_bytes()
}

/// Opens the record file of the run whose policy decided. Any program could have written the image of a nested run, so
/// the outer policy applies to that file. No symlink is followed out of it.
#[inline(never)]
fn open_record(image: &Image<'_>) -> Result<sys::Fd, Errno> {
    let mut path = MmapBox::<PathBuffer>::blank()?;
    path.push(image.text(Text::EventsPath))?;
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let Some(outer) = image.outer() else {
        return sys::openat(libc::AT_FDCWD, path.c_str(0), flags, 0);
    };
    match decide::access(outer, &Request::canonical(path.as_bytes()), Capabilities::UPDATE) {
        Verdict::Allow => sys::open_canonical(path.c_str(0), flags),
        Verdict::Deny(_) => Err(Errno::EACCES),
    }
}

/// The fixed part of a record whose variable parts have these lengths. `wanted` belongs to the other path.
fn head(
    denial: Option<Denial>,
    reason: Reason,
    wanted: Capabilities,
    lengths: [u16; 5],
) -> [u8; HEADER] {
    let rule = denial.and_then(|denial| denial.rule).map_or(u32::MAX, RuleId::raw);
    let missing = denial.map_or(0, |denial| denial.missing.bits());
    let flags = denial.map_or(Flags::RULELESS, |denial| Flags::of(&denial)).bits();
    let whole = lengths.iter().fold(HEADER, |sum, &part| sum.saturating_add(usize::from(part)));
    let [reason_low, reason_high] = (reason as u16).to_le_bytes();
    let words = [
        MAGIC,
        u32::try_from(whole).unwrap_or(0),
        sys::getpid().cast_unsigned(),
        rule,
        u32::from_le_bytes([missing, flags, reason_low, reason_high]),
        pair(lengths[0], lengths[1]),
        pair(lengths[2], lengths[3]),
        pair(lengths[4], u16::from(wanted.bits())),
    ];
    let mut head = [0; HEADER];
    for (to, from) in head.iter_mut().zip(words.iter().flat_map(|word| word.to_le_bytes())) {
        *to = from;
    }
    head
}

const fn pair(first: u16, second: u16) -> u32 {
    let [a, b] = first.to_le_bytes();
    let [c, d] = second.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
