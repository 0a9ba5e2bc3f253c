//! Inspects ELF files (elf(5)).

use jp_confine_engine::loader::{ENTRY, is_loader};

use super::{Interpreter, Kind, fetch, number, read_at};
use crate::buffer::CAPACITY;
use crate::errno::Errno;
use crate::sys::Fd;

/// The size of the file header and of one program header of ELF64 (elf(5)).
const FILE_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// The longest table of program headers that the kernel accepts (`load_elf_phdrs`).
const TABLE_LIMIT: usize = 65536;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
/// `ET_DYN`, the type of files that can be loaded anywhere in memory.
const MOVABLE: u64 = 3;
/// More than the dynamic section of any loader.
const DYNAMIC: usize = 48 * ENTRY;
/// `ELFCLASS64`, `ELFDATA2LSB`.
const CLASS_AND_ORDER: &[u8] = &[2, 1];

#[cfg(target_arch = "x86_64")]
const MACHINE: u64 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u64 = 183;

/// Looks for `PT_INTERP` in an ELF file that begins with `head`. Without one, checks whether the file is a loader.
pub(super) fn binary(file: &Fd, head: &[u8], next: &mut Interpreter) -> Result<Kind, Errno> {
    if !head.starts_with(b"\x7fELF") || head.len() < FILE_HEADER {
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
    let mut dynamic = None;
    for index in 0..count {
        let offset = table.saturating_add(index.saturating_mul(PROGRAM_HEADER) as u64);
        let mut header = [0_u8; PROGRAM_HEADER];
        if !fetch(file, head, offset, &mut header)? {
            return Ok(Kind::Other);
        }
        let place = (number(&header, 8, 8), number(&header, 32, 8));
        match number(&header, 0, 4) {
            PT_INTERP => return loader(file, head, place, next),
            PT_DYNAMIC if number(head, 16, 2) == MOVABLE => dynamic = Some(place),
            _ => {}
        }
    }
    match dynamic {
        Some(place) if starts_programs(file, place)? => Ok(Kind::Loader),
        _ => Ok(Kind::Static),
    }
}

/// Whether the dynamic section shows that a binary without a loader is one itself.
#[inline(never)]
fn starts_programs(file: &Fd, (offset, size): (u64, u64)) -> Result<bool, Errno> {
    let mut section = [0_u8; DYNAMIC];
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(DYNAMIC);
    let Some(room) = section.get_mut(..size) else { return Ok(false) };
    let length = read_at(file, room, offset)?;
    Ok(is_loader(section.get(..length).unwrap_or(&[])))
}

/// Reads the path of the loader, with the kernel's conditions on it (`load_elf_binary`).
fn loader(
    file: &Fd,
    head: &[u8],
    (offset, size): (u64, u64),
    next: &mut Interpreter,
) -> Result<Kind, Errno> {
    let mut left = usize::try_from(size).unwrap_or(usize::MAX);
    if !(2..=CAPACITY).contains(&left) {
        return Ok(Kind::Other);
    }
    next.clear();
    let mut at = offset;
    let mut ended = false;
    let mut last = 0;
    while left > 0 {
        let mut chunk = [0_u8; 64];
        let Some(part) = chunk.get_mut(..left.min(64)) else { break };
        if !fetch(file, head, at, part)? {
            return Err(Errno::EIO);
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
    Ok(if last == 0 { Kind::Dynamic } else { Kind::Other })
}
