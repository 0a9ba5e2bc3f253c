//! Tells the kind of an executable file as the kernel does (execve(2), elf(5)). Used by the preload library and the
//! launcher.

use crate::loader::{ENTRY, is_glibcs, is_loader};
use crate::script::{FirstLine, first_line};

/// How many bytes of a file the kernel examines for a `#!` line (`BINPRM_BUF_SIZE`).
pub const LINE: usize = 256;
/// How many bytes [`Head`] reads: enough for the header and the program headers of nearly every binary.
pub const HEAD: usize = 1024;
/// The size of the file header and of one program header of ELF64 (elf(5)).
const FILE_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// The longest table of program headers that the kernel accepts (`load_elf_phdrs`).
const TABLE_LIMIT: usize = 65536;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
/// `ET_DYN`, the type of files that can be loaded anywhere in memory.
const MOVABLE: u64 = 3;
/// More bytes than the dynamic section of any loader has.
const DYNAMIC: usize = 48 * ENTRY;
/// `ELFCLASS64`, `ELFDATA2LSB`.
const CLASS_AND_ORDER: &[u8] = &[2, 1];
/// The longest path of a loader, with the NUL (`PATH_MAX`).
const LONGEST: usize = 4096;

#[cfg(target_arch = "x86_64")]
const MACHINE: u64 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u64 = 183;

/// The C library that a loader belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libc {
    /// The GNU C library.
    Glibc,
    /// musl, or an unknown one.
    Other,
}

/// A kind of executable file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutableKind {
    /// A `#!` line names the interpreter.
    Script,
    /// A binary of this machine that names its loader.
    Dynamic,
    /// A binary of this machine without a loader. Nothing can be preloaded into it.
    Static,
    /// A loader itself, which starts the program that its arguments name.
    Loader(Libc),
    /// A binary of another machine or word size.
    Foreign,
    /// A binary that the system preloads nothing into.
    #[cfg(target_os = "macos")]
    Protected,
    /// A file that the kernel itself cannot run.
    Other,
}

/// A file to inspect.
pub trait Contents {
    /// An error of the system.
    type Error;
    /// The kernel's error for a binary that ends before its loader's path does.
    const CUT_OFF: Self::Error;

    /// Reads from `offset` until `to` is full or the file ends. Returns the number of bytes.
    ///
    /// # Errors
    /// Those of `pread(2)`.
    fn read_at(&self, offset: u64, to: &mut [u8]) -> Result<usize, Self::Error>;
}

/// A file with its first bytes.
#[derive(Debug)]
pub struct Head<'a, F> {
    file: &'a F,
    bytes: &'a [u8],
}

impl<'a, F: Contents> Head<'a, F> {
    /// Reads the first bytes of `file` into `room`.
    ///
    /// # Errors
    /// Those of reading.
    pub fn read(file: &'a F, room: &'a mut [u8; HEAD]) -> Result<Self, F::Error> {
        let length = file.read_at(0, room)?;
        Ok(Self { file, bytes: room.get(..length).unwrap_or(&[]) })
    }

    /// The first bytes of the file.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Fills `to` from `offset` of the file. Returns whether the file has that many bytes.
    ///
    /// # Errors
    /// Those of reading.
    pub fn fetch(&self, offset: u64, to: &mut [u8]) -> Result<bool, F::Error> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if let Some(known) = self.bytes.get(start..start.saturating_add(to.len())) {
            for (to, &from) in to.iter_mut().zip(known) {
                *to = from;
            }
            return Ok(true);
        }
        Ok(self.file.read_at(offset, to)? == to.len())
    }

    /// Tells the kind of the file. Gives `next` the pieces of the path of the interpreter or loader, each with the number
    /// of bytes before it.
    ///
    /// # Errors
    /// As [`Self::binary`].
    pub fn kind(
        &self,
        mut next: impl FnMut(usize, &[u8]) -> Result<(), F::Error>,
    ) -> Result<ExecutableKind, F::Error> {
        if !self.is_script() {
            return self.binary(next);
        }
        let Some(line) = self.first_line() else { return Ok(ExecutableKind::Other) };
        next(0, line.interpreter).map(|()| ExecutableKind::Script)
    }

    /// Whether the file begins as a script does.
    #[must_use]
    pub fn is_script(&self) -> bool {
        self.bytes.starts_with(b"#!")
    }

    /// The first line of a script. `None` if it names no interpreter.
    #[must_use]
    pub fn first_line(&self) -> Option<FirstLine<'a>> {
        let line = self.bytes.strip_prefix(b"#!")?;
        let room = LINE.saturating_sub(2);
        first_line(line.get(..line.len().min(room))?, room)
    }

    /// Looks for `PT_INTERP` in an ELF file. Without one, checks whether the file is a loader. Gives `next` the pieces
    /// of the loader's path, each with the number of bytes before it.
    ///
    /// # Errors
    /// Those of reading and of `next`, and [`Contents::CUT_OFF`].
    pub fn binary(
        &self,
        next: impl FnMut(usize, &[u8]) -> Result<(), F::Error>,
    ) -> Result<ExecutableKind, F::Error> {
        let head = self.bytes;
        if !head.starts_with(b"\x7fELF") || head.len() < FILE_HEADER {
            return Ok(ExecutableKind::Other);
        }
        if head.get(4..6) != Some(CLASS_AND_ORDER) || number(head, 18, 2) != MACHINE {
            return Ok(ExecutableKind::Foreign);
        }
        let table = number(head, 32, 8);
        let count = usize::try_from(number(head, 56, 2)).unwrap_or(0);
        if number(head, 54, 2) != PROGRAM_HEADER as u64
            || count.saturating_mul(PROGRAM_HEADER) > TABLE_LIMIT
        {
            return Ok(ExecutableKind::Other);
        }
        let mut dynamic = None;
        for index in 0..count {
            let offset = table.saturating_add(index.saturating_mul(PROGRAM_HEADER) as u64);
            let mut header = [0_u8; PROGRAM_HEADER];
            if !self.fetch(offset, &mut header)? {
                return Ok(ExecutableKind::Other);
            }
            let place = (number(&header, 8, 8), number(&header, 32, 8));
            match number(&header, 0, 4) {
                PT_INTERP => return self.loader(place, next),
                PT_DYNAMIC if number(head, 16, 2) == MOVABLE => dynamic = Some(place),
                _ => {}
            }
        }
        dynamic.map_or(Ok(ExecutableKind::Static), |place| self.without_loader(place))
    }

    /// Tells from its dynamic section whether a binary without a loader is a loader itself.
    #[inline(never)]
    fn without_loader(&self, (offset, size): (u64, u64)) -> Result<ExecutableKind, F::Error> {
        let mut section = [0_u8; DYNAMIC];
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(DYNAMIC);
        let room = section.get_mut(..size).unwrap_or(&mut []);
        let length = self.file.read_at(offset, room)?;
        let section = section.get(..length).unwrap_or(&[]);
        Ok(match (is_loader(section), is_glibcs(section)) {
            (false, _) => ExecutableKind::Static,
            (true, true) => ExecutableKind::Loader(Libc::Glibc),
            (true, false) => ExecutableKind::Loader(Libc::Other),
        })
    }

    /// Reads the path of the loader, under the kernel's conditions (`load_elf_binary`).
    fn loader(
        &self,
        (offset, size): (u64, u64),
        mut next: impl FnMut(usize, &[u8]) -> Result<(), F::Error>,
    ) -> Result<ExecutableKind, F::Error> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if !(2..=LONGEST).contains(&size) {
            return Ok(ExecutableKind::Other);
        }
        let (mut done, mut last, mut ended) = (0_usize, 0, false);
        while done < size {
            let mut chunk = [0_u8; 64];
            let Some(part) = chunk.get_mut(..size.saturating_sub(done).min(64)) else { break };
            if !self.fetch(offset.saturating_add(done as u64), part)? {
                return Err(F::CUT_OFF);
            }
            let text = part.split(|&byte| byte == 0).next().unwrap_or(&[]);
            if !ended {
                next(done, text)?;
            }
            ended |= text.len() < part.len();
            last = part.last().copied().unwrap_or(0);
            done = done.saturating_add(part.len());
        }
        Ok(if last == 0 { ExecutableKind::Dynamic } else { ExecutableKind::Other })
    }
}

/// A little-endian number of `size` bytes at `at`.
#[must_use]
pub fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    let field = bytes.get(at..at.saturating_add(size)).unwrap_or(&[]);
    field.iter().rev().fold(0, |value, &byte| (value << 8) | u64::from(byte))
}

#[cfg(test)]
mod tests;
