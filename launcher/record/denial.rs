//! Reads and writes the record of denials. The supervisor writes it, and the front reads it. Confined processes append
//! to it, too: their half of the format is in the library's `report`.
//!
//! A confined program that makes its own system calls could write anything there. So a record is trusted only enough
//! to be shown.

use std::fs::File;
use std::io::Read as _;

use jp_confine_engine::Capabilities;
use jp_confine_engine::report_protocol::{COMMAND, COPIED, Flags, MAX_RECORD_BYTES, SET_ID};
use jp_confine_engine::tier::Restraint;
use rustix::fs::fstatvfs;

use crate::record::event::LayerName;
use crate::record::lost_records::LostRecords;
use crate::sys::path::path_of;

const MAGIC: u32 = 0x4556_504a;
/// Bytes before the texts of a record.
const FIXED: usize = 4 + 4 + 4 + 4 + 1 + 1 + 2 + 5 * 2 + 2;

/// Longest text of a record. Longer ones are cut: a policy cannot name more than fits in a path.
pub(crate) const LONGEST: usize = 4096;

/// The layer that denied a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Layer {
    /// The preload library, in the program itself.
    Shim,
    /// The supervisor, for a call that the library did not make.
    Supervisor,
    /// The launcher, for the program that was typed.
    Launcher,
}

impl Layer {
    /// Its name in reports and event logs.
    pub(crate) const fn name(self) -> LayerName {
        match self {
            Self::Shim => LayerName::Library,
            Self::Supervisor => LayerName::Supervisor,
            Self::Launcher => LayerName::Launcher,
        }
    }
}

/// Why a request was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    /// The policy.
    Rule,
    /// A statically linked program.
    Static,
    /// A program of another architecture.
    Foreign,
    /// A program whose loader is not part of the system.
    Loader,
    /// The preload library itself is out of reach.
    Shim,
    /// The call would have changed what paths mean, or bypassed them.
    Namespace,
    /// The object belongs to another process.
    OtherProcess,
    /// Nothing was denied: a person was asked, and consented to this call.
    Once,
    /// Nothing was denied: a person consented to all such calls of the run.
    ThisRun,
    /// Nothing was denied: a person consented, and wants it in the policy.
    Always,
    /// The policy asks a person, who answered no.
    Refused,
    /// No rule allows the connection. The path is its target, host and port.
    Connect,
    /// No rule allows the host. The path is its name.
    Resolve,
    /// The name of an allowed host stands for this machine or its own network link. The path is the name.
    Near,
    /// The program would accept connections from outside this machine. The path is the address.
    Listen,
    /// The server of a socket without a path does not belong to the run.
    Peer,
    /// No such socket may be created. The path names its family.
    Socket,
    /// A program that its user may start but not look into. It is denied to start, or denied its requests after that.
    Unreadable,
    /// No rule on programs allows these arguments, which stand in place of the route.
    Command,
    /// The mode or the attribute would make a program run with somebody else's rights.
    SetId,
    /// A program in a directory that the run created, which Landlock has no rule for.
    MadeLater,
    /// A loader with arguments by which it may start a program that cannot be judged.
    LoaderWords,
    /// An internal error.
    Internal,
}

impl Reason {
    const NUMBERED: [Self; 20] = [
        Self::Rule,
        Self::Static,
        Self::Foreign,
        Self::Loader,
        Self::Shim,
        Self::Namespace,
        Self::OtherProcess,
        Self::Once,
        Self::ThisRun,
        Self::Connect,
        Self::Listen,
        Self::Peer,
        Self::Resolve,
        Self::Socket,
        Self::Unreadable,
        Self::Near,
        Self::Refused,
        Self::MadeLater,
        Self::LoaderWords,
        Self::Always,
    ];

    /// Whether it is about the network. Then the path of the denial names something else.
    pub(crate) const fn is_network(self) -> bool {
        matches!(
            self,
            Self::Connect | Self::Listen | Self::Near | Self::Peer | Self::Resolve | Self::Socket
        )
    }

    /// Whether the policy is the reason, with or without a prompt.
    pub(crate) const fn is_policy(self) -> bool {
        matches!(self, Self::Rule | Self::Refused)
    }

    /// Whether it is a person's answer.
    pub(crate) const fn is_answer(self) -> bool {
        self.is_consent() || matches!(self, Self::Refused)
    }

    /// Whether a person consented, so that nothing was denied.
    pub(crate) const fn is_consent(self) -> bool {
        matches!(self, Self::Once | Self::ThisRun | Self::Always)
    }

    fn of_number(number: u16) -> Self {
        match number {
            COMMAND => Self::Command,
            SET_ID => Self::SetId,
            _ => Self::NUMBERED.get(usize::from(number)).copied().unwrap_or(Self::Internal),
        }
    }

    fn number(self) -> u16 {
        let place = || Self::NUMBERED.iter().position(|&reason| reason == self);
        match self {
            Self::Command => COMMAND,
            Self::SetId => SET_ID,
            _ => place().and_then(|place| u16::try_from(place).ok()).unwrap_or(u16::MAX),
        }
    }
}

/// One denied request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) pid: u32,
    /// Index of the grant that decided.
    pub(crate) rule: Option<usize>,
    pub(crate) missing: Capabilities,
    /// The program was told that the name does not exist.
    pub(crate) hidden: bool,
    /// It is about the second path of a rename or link.
    pub(crate) second: bool,
    /// A person's consent could have lifted it, and did not.
    pub(crate) question: bool,
    /// The restraint that withholds the rule's grant.
    pub(crate) restraint: Option<Restraint>,
    pub(crate) reason: Reason,
    pub(crate) layer: Layer,
    /// Canonical path.
    pub(crate) path: Vec<u8>,
    /// The path as the program spelled it.
    pub(crate) route: Vec<u8>,
    /// The other path of a call that names two, canonical. Otherwise empty.
    pub(crate) other: Vec<u8>,
    /// The capabilities that the call needed there, and that are withheld until a person consents.
    pub(crate) also: Capabilities,
    /// The program that made the request.
    pub(crate) program: Vec<u8>,
    /// The library function or system call that it used.
    pub(crate) call: Vec<u8>,
}

impl Denial {
    /// A denial of the supervisor's, of which only the canonical `path`, or the target of a connection, is known.
    pub(crate) fn by_supervisor(
        reason: Reason,
        path: &[u8],
        (pid, program): (u32, Vec<u8>),
        call: &[u8],
    ) -> Self {
        Self {
            pid,
            rule: None,
            missing: Capabilities::NONE,
            hidden: false,
            second: false,
            question: false,
            restraint: None,
            reason,
            layer: Layer::Supervisor,
            path: path.to_owned(),
            route: path.to_owned(),
            other: Vec::new(),
            also: Capabilities::NONE,
            program,
            call: call.to_owned(),
        }
    }

    /// Whether nothing exists there now that it could have kept from the program. A file in memory exists without a
    /// path.
    pub(crate) fn is_of_nothing(&self) -> bool {
        const NEW: Capabilities = Capabilities::CREATE.union(Capabilities::DELETE);
        let absent = || path_of(&self.path).symlink_metadata().err().map(|error| error.kind());
        self.reason.is_policy()
            && !self.missing.intersects(NEW)
            && !self.path.starts_with(b"/memfd:")
            && absent() == Some(std::io::ErrorKind::NotFound)
    }

    /// Whether the program was told to copy instead (`EXDEV`).
    pub(crate) fn is_copied(&self) -> bool {
        self.call == COPIED.to_bytes()
    }

    /// Encodes this denial as [`Record`] reads it.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let texts = [&self.path, &self.route, &self.other, &self.program, &self.call]
            .map(|text| text.get(..text.len().min(LONGEST)).unwrap_or_default());
        let length = FIXED + texts.iter().map(|text| text.len()).sum::<usize>();
        let rule = self.rule.and_then(|rule| u32::try_from(rule).ok()).unwrap_or(u32::MAX);
        let flags = [
            (self.hidden, Flags::HIDDEN),
            (self.second, Flags::SECOND),
            (self.question, Flags::QUESTION),
            (self.reason != Reason::Rule, Flags::RULELESS),
            (self.layer == Layer::Supervisor, Flags::BY_SUPERVISOR),
        ];
        let set = flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag);
        let flags = set.fold(Flags::from_bits(0), Flags::union).with_restraint(self.restraint);
        let mut record = Vec::with_capacity(length);
        record.extend(MAGIC.to_le_bytes());
        record.extend(u32::try_from(length).unwrap_or(0).to_le_bytes());
        record.extend(self.pid.to_le_bytes());
        record.extend(rule.to_le_bytes());
        record.extend([self.missing.bits(), flags.bits()]);
        record.extend(self.reason.number().to_le_bytes());
        for text in texts {
            record.extend(u16::try_from(text.len()).unwrap_or(0).to_le_bytes());
        }
        record.extend(u16::from(self.also.bits()).to_le_bytes());
        record.extend(texts.concat());
        record
    }
}

/// Reads a record of denials while it grows.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    unread: Vec<u8>,
    /// Damaged bytes were found. Everything after them is lost.
    pub(crate) damaged: bool,
}

impl Record {
    /// Reads from the start of `file`.
    pub(crate) fn new(file: File) -> Self {
        Self { file, unread: Vec::new(), damaged: false }
    }

    /// The denials that it lacks. `unrecorded` is the number that had no room, if they were counted.
    pub(crate) fn gap(&self, unrecorded: Option<u64>) -> Option<LostRecords> {
        match unrecorded {
            _ if self.damaged => Some(LostRecords::Damaged),
            Some(0) => None,
            Some(count) => Some(LostRecords::Counted(count)),
            None => {
                let is_full =
                    self.file.metadata().is_ok_and(|metadata| metadata.len() > MAX_RECORD_BYTES);
                // A file system without a limit reports zero blocks (`memfd_create(2)`).
                let has_room = fstatvfs(&self.file)
                    .is_ok_and(|system| system.f_blocks == 0 || system.f_bavail > 0);
                if is_full {
                    Some(LostRecords::Full)
                } else {
                    (!has_room).then_some(LostRecords::NoRoom)
                }
            }
        }
    }

    /// Passes every denial that was recorded since the last time to `each`.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(Denial)) -> std::io::Result<()> {
        let mut chunk = vec![0; 64 * 1024];
        while !self.damaged {
            let count = self.file.read(&mut chunk)?;
            self.unread.extend_from_slice(chunk.get(..count).unwrap_or_default());
            let mut rest = self.unread.as_slice();
            loop {
                match parse(rest) {
                    Parsed::Whole(denial, after) => {
                        each(denial);
                        rest = after;
                    }
                    Parsed::Cut => break,
                    Parsed::Garbage => {
                        self.damaged = true;
                        break;
                    }
                }
            }
            self.unread = rest.to_vec();
            if count == 0 {
                break;
            }
        }
        Ok(())
    }
}

enum Parsed<'a> {
    Whole(Denial, &'a [u8]),
    Cut,
    Garbage,
}

/// The denial whose record is exactly `bytes`.
pub(crate) fn sole(bytes: &[u8]) -> Option<Denial> {
    match parse(bytes) {
        Parsed::Whole(denial, []) => Some(denial),
        _ => None,
    }
}

fn parse(bytes: &[u8]) -> Parsed<'_> {
    let Some((fixed, _)) = bytes.split_at_checked(FIXED) else { return Parsed::Cut };
    let mut fields = Fields(fixed);
    if fields.u32() != MAGIC {
        return Parsed::Garbage;
    }
    let length = fields.u32() as usize;
    let (pid, rule) = (fields.u32(), fields.u32());
    let (missing, flags, reason) = (fields.u8(), fields.u8(), fields.u16());
    let lengths: [usize; 5] = std::array::from_fn(|_| usize::from(fields.u16()));
    let also = u8::try_from(fields.u16()).unwrap_or(0);
    if length < FIXED + lengths.iter().sum::<usize>() {
        return Parsed::Garbage;
    }
    let Some((record, after)) = bytes.split_at_checked(length) else { return Parsed::Cut };
    let mut texts = Fields(record.get(FIXED..).unwrap_or_default());
    let [path, route, other, program, call] = lengths.map(|length| texts.take(length).to_vec());
    let flags = Flags::from_bits(flags);
    let denial = Denial {
        pid,
        rule: (rule != u32::MAX).then_some(rule as usize),
        missing: Capabilities::from_bits(missing),
        hidden: flags.contains(Flags::HIDDEN),
        second: flags.contains(Flags::SECOND),
        question: flags.contains(Flags::QUESTION),
        restraint: flags.restraint(),
        reason: Reason::of_number(reason),
        layer: if flags.contains(Flags::BY_SUPERVISOR) { Layer::Supervisor } else { Layer::Shim },
        path,
        route,
        other,
        also: Capabilities::from_bits(also),
        program,
        call,
    };
    Parsed::Whole(denial, after)
}

/// Reads little-endian fields from the front of a slice. They are zero or empty beyond its end.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at_checked(count).unwrap_or((&[], &[]));
        self.0 = rest;
        taken
    }

    fn u32(&mut self) -> u32 {
        self.take(4).try_into().map_or(0, u32::from_le_bytes)
    }

    fn u16(&mut self) -> u16 {
        self.take(2).try_into().map_or(0, u16::from_le_bytes)
    }

    fn u8(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }
}

#[cfg(test)]
pub(crate) mod tests;
