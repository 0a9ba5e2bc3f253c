//! Records the uses of paths that the supervisor saw in a run. The supervisor appends to a file in memory, and the
//! front reads it meanwhile. Used by `learn`.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};

use jp_confine_engine::Capabilities;
use jp_confine_engine::image::Image;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::record::generated_names;

/// Most uses that are told apart: a program could invent any number.
const MOST: usize = 500_000;

/// How an allowed call used the path that it named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum UseKind {
    /// It used an existing object, or would have needed the right to.
    Used,
    /// It opened a directory, which was not listed.
    Opened,
    /// It created an object.
    Made,
    /// It would have created an object that existed already.
    Existed,
    /// It looked for an object that does not exist.
    Absent,
    /// It moved the path to the other one, where nothing was.
    Moved,
    /// It moved the path to the other one, and replaced an object there.
    Replaced,
    /// It exchanged the two paths.
    Exchanged,
    /// It would have deleted an object that stayed, or moved it to the other path. No rule is for that.
    Kept,
    /// It created the other path as a hard link to the path.
    Linked,
    /// It connected to a host, which stands in place of the path in the form of `--net`.
    Connected,
    /// It used a network object that no rule about hosts could allow. Its name stands in place of the path.
    Unruled,
    /// Not a use by itself: a symlink is, or was, at the entry that the call names.
    Link,
    /// Not a use by itself: the call read the entries of an open directory.
    Listed,
}

impl UseKind {
    const ALL: [Self; 14] = [
        Self::Used,
        Self::Opened,
        Self::Made,
        Self::Existed,
        Self::Absent,
        Self::Moved,
        Self::Replaced,
        Self::Exchanged,
        Self::Kept,
        Self::Linked,
        Self::Connected,
        Self::Unruled,
        Self::Link,
        Self::Listed,
    ];
}

/// One way in which a program used a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Use {
    /// The canonical path, or a host.
    pub(crate) path: Vec<u8>,
    /// The second path of a move or hard link. Otherwise empty.
    pub(crate) other: Vec<u8>,
    pub(crate) how: UseKind,
    /// The bits of the capabilities that it needs. For a move or hard link they follow from [`UseKind`].
    pub(crate) bits: u8,
    /// The created object will have another name next time. Its name has the number of the process, or of one that
    /// started it, or it was generated. Objects that are created for their owner alone often have such names.
    pub(crate) drawn: bool,
    /// The program's path.
    pub(crate) program: Vec<u8>,
}

/// The capabilities that a use needs on one of its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsePart<'u> {
    pub(crate) path: &'u [u8],
    pub(crate) caps: Capabilities,
    /// Nothing was there before.
    pub(crate) made: bool,
    /// It will have another name next time, or a program created it that generates all its names.
    pub(crate) drawn: bool,
    /// It is a directory that was opened but not listed.
    pub(crate) opened: bool,
}

impl Use {
    /// The parts of this use, one for each path that needs a capability.
    pub(crate) fn parts(&self) -> impl Iterator<Item = UsePart<'_>> {
        let (create, update, delete) =
            (Capabilities::CREATE, Capabilities::UPDATE, Capabilities::DELETE);
        let (first, second) = match self.how {
            UseKind::Used
            | UseKind::Opened
            | UseKind::Existed
            | UseKind::Absent
            | UseKind::Made => (self.caps(), None),
            // Next time an object will be there.
            UseKind::Moved => (delete, Some(create.union(update))),
            UseKind::Replaced => (delete, Some(update)),
            UseKind::Exchanged => (delete.union(update), Some(delete.union(update))),
            UseKind::Linked => (Capabilities::NONE, Some(create)),
            UseKind::Kept
            | UseKind::Connected
            | UseKind::Unruled
            | UseKind::Link
            | UseKind::Listed => (Capabilities::NONE, None),
        };
        let made = matches!(self.how, UseKind::Moved | UseKind::Linked);
        let drawn = made && self.drawn;
        let second =
            second.map(|caps| UsePart { path: &self.other, caps, made, drawn, opened: false });
        let made = self.how == UseKind::Made;
        let drawn = made && (self.drawn || generated_names::draws_names(&self.program));
        let opened = self.how == UseKind::Opened;
        let first = UsePart { path: &self.path, caps: first, made, drawn, opened };
        std::iter::once(first).chain(second).filter(|part| !part.caps.is_empty())
    }

    /// The capabilities that it needs.
    pub(crate) fn caps(&self) -> Capabilities {
        Capabilities::from_bits(self.bits)
    }
}

/// Creates a file in memory for a supervisor's record.
pub(crate) fn file() -> io::Result<File> {
    Ok(memfd_create("jp-confine uses", MemfdFlags::CLOEXEC)?.into())
}

/// The supervisor's end.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: File,
    /// A policy without any rule.
    nothing: Image<'static>,
    seen: Mutex<HashMap<Use, u64>>,
}

impl Recorder {
    /// Appends to `file`. `nothing` is the image of a policy without any rule. Like the policy of the run, it lives as
    /// long as the process.
    ///
    /// # Errors
    /// If the image is damaged.
    pub(crate) fn new(file: File, nothing: Vec<u8>) -> io::Result<Self> {
        let nothing = Image::read(nothing.leak()).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Self { file, nothing, seen: Mutex::default() })
    }

    /// A policy without any rule, which denies every request.
    pub(crate) fn nothing(&self) -> &Image<'static> {
        &self.nothing
    }

    /// Counts one use. The first of its kind is written at once.
    pub(crate) fn add(&self, one: Use) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = seen.get_mut(&one) {
            *count += 1;
            return;
        }
        if seen.len() < MOST {
            self.append(&encode(&one, 1));
            seen.insert(one, 1);
        }
    }

    /// Writes the count of each use that was repeated.
    pub(crate) fn conclude(&self) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let repeated = seen.iter().filter(|(_, count)| **count > 1);
        self.append(&repeated.flat_map(|(one, count)| encode(one, *count)).collect::<Vec<u8>>());
    }

    /// Errors are ignored: a lack of memory must not change the answer to a call.
    fn append(&self, bytes: &[u8]) {
        let _ = (&self.file).write_all(bytes);
    }
}

/// The front's end: the uses known so far.
#[derive(Debug)]
pub(crate) struct Uses {
    file: File,
    read: u64,
    pub(crate) counts: HashMap<Use, u64>,
    /// The paths at which a symlink was replaced, deleted or created.
    pub(crate) links: HashSet<Vec<u8>>,
    /// The directories whose entries were read.
    listed: HashSet<Vec<u8>>,
}

impl Uses {
    /// Reads `file` from its start.
    pub(crate) fn new(file: File) -> Self {
        let (links, listed) = Default::default();
        Self { file, read: 0, counts: HashMap::new(), links, listed }
    }

    /// Whether the record may lack some uses.
    pub(crate) fn are_cut(&self) -> bool {
        self.counts.len() >= MOST
    }

    /// Reads the uses that were recorded since the last time.
    pub(crate) fn read(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let Ok(new) = usize::try_from(length.saturating_sub(self.read)) else { return Ok(()) };
        let mut bytes = vec![0; new];
        self.file.read_exact_at(&mut bytes, self.read)?;
        let mut rest = bytes.as_slice();
        while let Some((one, count, after)) = decode(rest) {
            self.read += (rest.len() - after.len()) as u64;
            match one.how {
                UseKind::Link => drop(self.links.insert(one.path)),
                UseKind::Listed => drop(self.listed.insert(one.path)),
                _ => drop(self.counts.insert(one, count)),
            }
            rest = after;
        }
        Ok(())
    }

    /// Turns the opening of each listed directory into a read. Call it when all uses are known: a program opens a
    /// directory before it lists it.
    pub(crate) fn settle(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        let is_listed = |one: &Use| one.how == UseKind::Opened && listed.contains(&one.path);
        let opened: Vec<(Use, u64)> = self.counts.extract_if(|one, _| is_listed(one)).collect();
        for (one, count) in opened {
            *self.counts.entry(Use { how: UseKind::Used, ..one }).or_default() += count;
        }
    }
}

fn encode(one: &Use, count: u64) -> Vec<u8> {
    let how = UseKind::ALL.iter().position(|how| *how == one.how).unwrap_or_default();
    let texts = [&one.path, &one.other, &one.program];
    let mut bytes = vec![one.bits, u8::from(one.drawn), u8::try_from(how).unwrap_or_default()];
    bytes.extend(count.to_le_bytes());
    for text in texts {
        bytes.extend(u32::try_from(text.len()).unwrap_or_default().to_le_bytes());
    }
    bytes.extend(texts.into_iter().flatten());
    bytes
}

/// The first use in `bytes`, its count, and the bytes after it. `None` if it is not complete.
fn decode(bytes: &[u8]) -> Option<(Use, u64, &[u8])> {
    let ([bits, drawn, how], rest) = bytes.split_first_chunk()?;
    let (count, rest) = rest.split_first_chunk()?;
    let (lengths, rest) = rest.split_first_chunk::<12>()?;
    let mut rest = rest;
    let mut texts = [const { Vec::new() }; 3];
    for (text, length) in texts.iter_mut().zip(lengths.chunks_exact(4)) {
        let length = u32::from_le_bytes(length.try_into().ok()?);
        let (taken, after) = rest.split_at_checked(length as usize)?;
        *text = taken.to_vec();
        rest = after;
    }
    let [path, other, program] = texts;
    let how = *UseKind::ALL.get(usize::from(*how))?;
    let (bits, drawn) = (*bits, *drawn != 0);
    let one = Use { path, other, how, bits, drawn, program };
    Some((one, u64::from_le_bytes(*count), rest))
}

/// The last component of `path`.
pub(crate) fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// All but the last component of `path`.
pub(crate) fn directory(path: &[u8]) -> &[u8] {
    path.iter().rposition(|&byte| byte == b'/').and_then(|end| path.get(..end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &[u8], how: UseKind) -> Use {
        let other = if how == UseKind::Moved { b"/w/\xff".to_vec() } else { Vec::new() };
        let program = b"/bin/sh".to_vec();
        let (bits, drawn) = (Capabilities::READ.bits(), how == UseKind::Moved);
        Use { path: path.to_vec(), other, how, bits, drawn, program }
    }

    #[test]
    fn what_is_recorded_is_read_along_and_counted_in_the_end() {
        let file = file().expect("memory");
        let mut uses = Uses::new(file.try_clone().expect("cloned"));
        let nothing = crate::compile::image::image_over(&[], None, &[], std::path::Path::new("/w"));
        let recorder = Recorder::new(file, nothing.expect("an image")).expect("sound");
        recorder.add(one(b"/w/a", UseKind::Used));
        uses.read().expect("read");
        assert_eq!(uses.counts[&one(b"/w/a", UseKind::Used)], 1);
        recorder.add(one(b"/w/a", UseKind::Used));
        recorder.add(one(b"/w/\n", UseKind::Moved));
        recorder.conclude();
        uses.read().expect("read");
        assert_eq!(uses.counts[&one(b"/w/a", UseKind::Used)], 2);
        assert_eq!(uses.counts[&one(b"/w/\n", UseKind::Moved)], 1);
        assert_eq!(uses.counts.len(), 2);
    }

    #[test]
    fn where_links_stand_is_no_use() {
        let file = file().expect("memory");
        let mut uses = Uses::new(file.try_clone().expect("cloned"));
        (&file).write_all(&encode(&one(b"/w/a", UseKind::Link), 1)).expect("written");
        uses.read().expect("read");
        assert!(uses.counts.is_empty() && uses.links.contains(&b"/w/a"[..]));
    }

    /// It does not matter which program listed it, before or after.
    #[test]
    fn only_what_was_never_listed_was_opened_alone() {
        let file = file().expect("memory");
        let mut uses = Uses::new(file.try_clone().expect("cloned"));
        for (path, how) in [
            (&b"/w/a"[..], UseKind::Opened),
            (b"/w/a", UseKind::Used),
            (b"/w/a", UseKind::Listed),
            (b"/w/b", UseKind::Opened),
        ] {
            (&file).write_all(&encode(&one(path, how), 1)).expect("written");
        }
        uses.read().expect("read");
        uses.settle();
        assert_eq!(uses.counts[&one(b"/w/a", UseKind::Used)], 2);
        assert_eq!(uses.counts[&one(b"/w/b", UseKind::Opened)], 1);
        assert_eq!(uses.counts.len(), 2);
    }

    #[test]
    fn what_is_cut_is_awaited() {
        let bytes = encode(&one(b"/w/a", UseKind::Made), 7);
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), None);
        }
        assert_eq!(decode(&bytes), Some((one(b"/w/a", UseKind::Made), 7, &[][..])));
    }
}
