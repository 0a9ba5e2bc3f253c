//! The record of denials: written by the supervisor, and read back. Confined processes append to it
//! too; their half of the format is in the preload library's `report`.
//!
//! A confined program that makes system calls of its own could write anything there. So nothing in
//! a record is trusted further than to be shown.

use std::fs::File;
use std::io::Read as _;

use jp_confine_policy::Capabilities;
use jp_confine_policy::telling::{COMMAND, COPIED, FULL, Flags, SET_ID};
use jp_confine_policy::tier::Restraint;
use rustix::fs::fstatvfs;

use crate::record::lost_records::Gap;
use crate::sys::path::path_of;

const MAGIC: u32 = 0x4556_504a;
/// Bytes before the texts of a record.
const FIXED: usize = 4 + 4 + 4 + 4 + 1 + 1 + 2 + 5 * 2 + 2;

/// Longer texts are cut: what does not fit in a path cannot be in a policy.
pub(crate) const LONGEST: usize = 4096;

/// Who refused.
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
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Shim => "shim",
            Self::Supervisor => "supervisor",
            Self::Launcher => "launcher",
        }
    }
}

/// Why a request was refused.
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
    /// The call would have changed what paths mean, or made a way around them.
    Namespace,
    /// The object belongs to another process.
    OtherProcess,
    /// Nothing was refused: a person was asked, and consented to this call.
    Once,
    /// The same, to all such calls of the run.
    ThisRun,
    /// The policy asks a person, who said no.
    Refused,
    /// No rule allows the connection; the path is its target, host and port.
    Connect,
    /// No rule allows the host; the path is its name.
    Resolve,
    /// A host that rules allow stands for this machine or its link alone; the path is its name.
    Near,
    /// Nobody outside this machine may connect to the run; the path is where it would listen.
    Listen,
    /// The server of a socket without a path is not of the run.
    Peer,
    /// No such socket may be made; the path says of which family it was to be.
    Socket,
    /// A program that its user may start and not look into; before it starts, or whatever it asks then.
    Unreadable,
    /// No rule about programs lets it start with these arguments, which stand in place of the route.
    Command,
    /// The mode or the attribute would have a program run with the rights of somebody else.
    SetId,
    /// A program in a directory that the run made, which Landlock has no rule for.
    MadeLater,
    /// A loader with words by which it may start a program that nobody could judge.
    LoaderWords,
    /// Something went wrong inside.
    Internal,
}

impl Reason {
    const NUMBERED: [Self; 19] = [
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
    ];

    /// Whether it is about the network: what it names is then no path.
    pub(crate) const fn is_network(self) -> bool {
        matches!(
            self,
            Self::Connect | Self::Listen | Self::Near | Self::Peer | Self::Resolve | Self::Socket
        )
    }

    /// Whether it is the policy's, be it that a person was asked.
    pub(crate) const fn is_policy(self) -> bool {
        matches!(self, Self::Rule | Self::Refused)
    }

    /// Whether it is what a person said.
    pub(crate) const fn is_answer(self) -> bool {
        self.is_consent() || matches!(self, Self::Refused)
    }

    /// Whether nothing was refused: a person consented.
    pub(crate) const fn is_consent(self) -> bool {
        matches!(self, Self::Once | Self::ThisRun)
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

/// One refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) pid: u32,
    /// Index of the grant that decided.
    pub(crate) rule: Option<usize>,
    pub(crate) missing: Capabilities,
    /// The name was made to look absent.
    pub(crate) hidden: bool,
    /// It is about the second path of a rename or link.
    pub(crate) second: bool,
    /// A person could have lifted it, and did not.
    pub(crate) question: bool,
    /// What withholds the grant of the rule.
    pub(crate) restraint: Option<Restraint>,
    pub(crate) reason: Reason,
    pub(crate) layer: Layer,
    /// Canonical path.
    pub(crate) path: Vec<u8>,
    /// The spelling it was reached by.
    pub(crate) route: Vec<u8>,
    /// The other path of a call that names two, canonical; else empty.
    pub(crate) other: Vec<u8>,
    /// What was to be done there and is withheld until a person consents.
    pub(crate) also: Capabilities,
    /// The program that asked.
    pub(crate) program: Vec<u8>,
    /// The library function it asked with.
    pub(crate) call: Vec<u8>,
}

impl Denial {
    /// What the supervisor refused, and nothing known of it but where: the canonical `path`, or the target of a
    /// connection.
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

    /// Whether nothing is there that it could have kept from the program, as things are now. A file of memory is there,
    /// without a path.
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

    /// The record of this denial, as [`Record`] reads it.
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

/// The record, read as far as it goes.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    unread: Vec<u8>,
    /// Something that is no record was found; what follows it is lost.
    pub(crate) damaged: bool,
}

impl Record {
    /// Reads from the start of `file`.
    pub(crate) fn new(file: File) -> Self {
        Self { file, unread: Vec::new(), damaged: false }
    }

    /// What it lacks, `unrecorded` being how many had no room, if somebody counted them.
    pub(crate) fn gap(&self, unrecorded: Option<u64>) -> Option<Gap> {
        match unrecorded {
            _ if self.damaged => Some(Gap::Damaged),
            Some(0) => None,
            Some(count) => Some(Gap::Counted(count)),
            None => {
                let is_full = self.file.metadata().is_ok_and(|metadata| metadata.len() > FULL);
                // What has no limit tells of no blocks at all (`memfd_create(2)`).
                let has_room = fstatvfs(&self.file)
                    .is_ok_and(|system| system.f_blocks == 0 || system.f_bavail > 0);
                if is_full { Some(Gap::Full) } else { (!has_room).then_some(Gap::NoRoom) }
            }
        }
    }

    /// Hands every denial recorded since the last time to `each`.
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

/// The denial of which `bytes` are the record, no more and no less.
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

/// Little-endian fields from the front of a slice; zero or empty beyond its end.
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
