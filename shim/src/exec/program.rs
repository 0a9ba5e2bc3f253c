//! What kind of program a file is, read as the kernel reads it.

use core::ffi::c_int;

use crate::buffer::{CAPACITY, PathBuffer};
use crate::errno::Errno;
use crate::places::DescriptorLink;
use crate::sys::{self, Fd};

/// How much of a file the kernel looks at for a `#!` line (`BINPRM_BUF_SIZE`).
const LINE: usize = 256;
/// Enough for the header and the program headers of nearly every binary.
const HEAD: usize = 1024;
/// The size of the file header and of one program header of ELF64 (elf(5)).
const FILE_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// What the kernel accepts as a table of program headers (`load_elf_phdrs`).
const TABLE_LIMIT: usize = 65536;
const PT_INTERP: u64 = 3;
/// `ELFCLASS64`, `ELFDATA2LSB`.
const CLASS_AND_ORDER: &[u8] = &[2, 1];

#[cfg(target_arch = "x86_64")]
const MACHINE: u64 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u64 = 183;

/// A kind of executable file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A `#!` line names the interpreter.
    Script,
    /// A binary of this machine that names its loader.
    Dynamic,
    /// A binary of this machine without a loader: nothing can be preloaded into it.
    Static,
    /// A binary of another machine or word size.
    Foreign,
    /// Nothing that the kernel itself can run.
    Other,
}

/// Looks into the held `file`. Afterwards `next` is the path of the interpreter of a script, or
/// of the loader of a dynamic program.
///
/// # Errors
/// `EACCES` for what is no regular file, or may not be read.
pub(crate) fn inspect(file: &Fd, next: &mut PathBuffer) -> Result<Kind, Errno> {
    if !is_file(file) {
        return Err(Errno::EACCES);
    }
    let link = DescriptorLink::new(file.raw());
    let flags: c_int = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY;
    let file = sys::openat(libc::AT_FDCWD, link.as_c_str(), flags, 0)?;
    let mut head = [0_u8; HEAD];
    let len = read_at(&file, &mut head, 0)?;
    let found = head.get(..len).unwrap_or(&[]);
    if let Some(line) = found.strip_prefix(b"#!") {
        let room = LINE.saturating_sub(2);
        return match interpreter(line.get(..line.len().min(room)).unwrap_or(&[]), room) {
            Some(path) => next.push(path).map(|()| Kind::Script),
            None => Ok(Kind::Other),
        };
    }
    if !found.starts_with(b"\x7fELF") {
        return Ok(Kind::Other);
    }
    binary(&file, found, next)
}

/// Whether it is a regular file, which every program is.
pub(crate) fn is_file(file: &Fd) -> bool {
    sys::fstat(file.raw()).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFREG)
}

/// The interpreter that a `#!` line names; `room` is what the kernel would read of it.
fn interpreter(line: &[u8], room: usize) -> Option<&[u8]> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let newline = line.iter().position(|&byte| byte == b'\n');
    let line_end = newline.unwrap_or(line.len());
    let line = line.get(..line_end)?;
    let start = line.iter().position(|byte| !is_blank(byte))?;
    let text = line.get(start..)?;
    let end = text.iter().position(|byte| is_blank(byte) || *byte == 0);
    if end.is_none() && newline.is_none() && line_end >= room {
        return None;
    }
    text.get(..end.unwrap_or(text.len())).filter(|path| !path.is_empty())
}

/// Looks for `PT_INTERP` in an ELF file that begins with `head`.
fn binary(file: &Fd, head: &[u8], next: &mut PathBuffer) -> Result<Kind, Errno> {
    if head.len() < FILE_HEADER {
        return Ok(Kind::Other);
    }
    if head.get(4..6) != Some(CLASS_AND_ORDER) || number(head, 18, 2) != MACHINE {
        return Ok(Kind::Foreign);
    }
    let table = number(head, 32, 8);
    let count = usize::try_from(number(head, 56, 2)).unwrap_or(0);
    if number(head, 54, 2) != PROGRAM_HEADER as u64
        || count.saturating_mul(PROGRAM_HEADER) > TABLE_LIMIT
    {
        return Ok(Kind::Other);
    }
    for index in 0..count {
        let offset = table.saturating_add(index.saturating_mul(PROGRAM_HEADER) as u64);
        let mut header = [0_u8; PROGRAM_HEADER];
        if !fetch(file, head, offset, &mut header)? {
            return Ok(Kind::Other);
        }
        if number(&header, 0, 4) == PT_INTERP {
            let place = (number(&header, 8, 8), number(&header, 32, 8));
            return loader(file, head, place, next);
        }
    }
    Ok(Kind::Static)
}

/// Reads the path of the loader, with the kernel's conditions on it (`load_elf_binary`).
fn loader(
    file: &Fd,
    head: &[u8],
    (offset, size): (u64, u64),
    next: &mut PathBuffer,
) -> Result<Kind, Errno> {
    let mut left = usize::try_from(size).unwrap_or(usize::MAX);
    if !(2..=CAPACITY).contains(&left) {
        return Ok(Kind::Other);
    }
    let mut at = offset;
    let mut ended = false;
    let mut last = 0;
    while left > 0 {
        let mut chunk = [0_u8; 64];
        let Some(part) = chunk.get_mut(..left.min(64)) else { break };
        if !fetch(file, head, at, part)? {
            return Ok(Kind::Other);
        }
        let text = part.split(|&byte| byte == 0).next().unwrap_or(&[]);
        if !ended {
            next.push(text)?;
        }
        ended |= text.len() < part.len();
        last = part.last().copied().unwrap_or(0);
        left = left.saturating_sub(part.len());
        at = at.saturating_add(part.len() as u64);
    }
    Ok(if last == 0 && next.len() > 0 { Kind::Dynamic } else { Kind::Other })
}

/// Fills `to` from `offset` of the file, whose beginning is `head`; whether that much is there.
fn fetch(file: &Fd, head: &[u8], offset: u64, to: &mut [u8]) -> Result<bool, Errno> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    if let Some(known) = head.get(start..start.saturating_add(to.len())) {
        for (to, &from) in to.iter_mut().zip(known) {
            *to = from;
        }
        return Ok(true);
    }
    Ok(read_at(file, to, offset)? == to.len())
}

/// Reads until `to` is full or the file ends; how much that was.
fn read_at(file: &Fd, to: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let mut filled = 0_usize;
    while let Some(rest) = to.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match sys::pread(file.raw(), rest, offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled = filled.saturating_add(count),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

/// A little-endian number of `size` bytes at `at`.
fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    let field = bytes.get(at..at.saturating_add(size)).unwrap_or(&[]);
    field.iter().rev().fold(0, |value, &byte| (value << 8) | u64::from(byte))
}
