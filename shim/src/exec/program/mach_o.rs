//! Inspects Mach-O files (`mach-o/loader.h`, `mach-o/fat.h`), and decides whether dyld will preload into them.

use jp_confine_engine::executable::{ExecutableKind, Head, number};

use crate::errno::Errno;
use crate::sys::{self, Fd};

/// `MH_MAGIC_64` as its bytes stand in the file, and `MH_MAGIC` of 32-bit files.
const MAGIC: u64 = 0xfeed_facf;
const MAGIC_32: u64 = 0xfeed_face;
/// `FAT_MAGIC`: a file with a part for each of several processors. Its numbers are big-endian.
const FAT: u64 = 0xcafe_babe;
const MAIN_PROGRAM: u64 = 2;
/// Sizes of the header and of an entry of a fat file, and of the header of a part.
const FAT_HEADER: u64 = 8;
const FAT_ENTRY: u64 = 20;
const HEADER: usize = 32;
/// More parts than any fat file has. Other files begin with `0xcafebabe`, too.
const MOST_PARTS: u64 = 16;
/// More than a program's load commands take.
const MOST_COMMANDS: u64 = 1 << 16;
/// `LC_LOAD_DYLINKER` and `LC_CODE_SIGNATURE`.
const LOADER: u64 = 0x0e;
const SIGNATURE: u64 = 0x1d;

#[cfg(target_arch = "x86_64")]
const MACHINE: u64 = 0x0100_0007;
#[cfg(target_arch = "aarch64")]
const MACHINE: u64 = 0x0100_000c;
/// The arm64 subtype with signed pointers, which only Apple's own programs have. Libraries built for the other subtype
/// do not load into it.
#[cfg(target_arch = "aarch64")]
const FOREIGN_SUBTYPE: Option<u64> = Some(2);
#[cfg(target_arch = "x86_64")]
const FOREIGN_SUBTYPE: Option<u64> = None;

/// `SF_RESTRICTED` (sys/stat.h): the file is under system integrity protection.
const RESTRICTED: u32 = 0x0008_0000;

/// Inspects a file that begins with `head`.
///
/// # Errors
/// The kernel's.
pub(super) fn binary(file: &Fd, head: &Head<'_, Fd>) -> Result<ExecutableKind, Errno> {
    let stat = sys::fstat(file.raw())?;
    let set_id = stat.st_mode & (libc::S_ISUID | libc::S_ISGID) != 0;
    let kind = if head.bytes().len() >= 8 && big(head.bytes(), 0, 4) == FAT {
        fat(head)?
    } else {
        part(head, 0)?
    };
    let protected = set_id || stat.st_flags & RESTRICTED != 0;
    Ok(if kind == ExecutableKind::Dynamic && protected { ExecutableKind::Protected } else { kind })
}

/// Inspects the part for this processor.
fn fat(head: &Head<'_, Fd>) -> Result<ExecutableKind, Errno> {
    let count = big(head.bytes(), 4, 4);
    if count > MOST_PARTS {
        return Ok(ExecutableKind::Other);
    }
    for index in 0..count {
        let at = FAT_HEADER.saturating_add(index.saturating_mul(FAT_ENTRY));
        let mut entry = [0_u8; 20];
        if !head.fetch(at, &mut entry)? {
            return Ok(ExecutableKind::Other);
        }
        if big(&entry, 0, 4) == MACHINE {
            return part(head, big(&entry, 8, 4));
        }
    }
    Ok(ExecutableKind::Foreign)
}

/// Inspects the part at `start`.
fn part(head: &Head<'_, Fd>, start: u64) -> Result<ExecutableKind, Errno> {
    let mut header = [0_u8; HEADER];
    if !head.fetch(start, &mut header)? {
        return Ok(ExecutableKind::Other);
    }
    match number(&header, 0, 4) {
        MAGIC => {}
        MAGIC_32 => return Ok(ExecutableKind::Foreign),
        _ => return Ok(ExecutableKind::Other),
    }
    let subtype = number(&header, 8, 4) & 0x00ff_ffff;
    if number(&header, 4, 4) != MACHINE || FOREIGN_SUBTYPE == Some(subtype) {
        return Ok(ExecutableKind::Foreign);
    }
    let (count, size) = (number(&header, 16, 4), number(&header, 20, 4));
    if number(&header, 12, 4) != MAIN_PROGRAM || size > MOST_COMMANDS {
        return Ok(ExecutableKind::Other);
    }
    commands(head, start, count, size)
}

/// Goes through the load commands of the part at `start`.
fn commands(
    head: &Head<'_, Fd>,
    start: u64,
    count: u64,
    size: u64,
) -> Result<ExecutableKind, Errno> {
    let mut at = start.saturating_add(HEADER as u64);
    let end = at.saturating_add(size);
    let mut kind = ExecutableKind::Static;
    for _ in 0..count {
        let mut command = [0_u8; 16];
        if at >= end || !head.fetch(at, &mut command)? {
            return Ok(ExecutableKind::Other);
        }
        match number(&command, 0, 4) {
            LOADER if kind == ExecutableKind::Static => kind = ExecutableKind::Dynamic,
            SIGNATURE => {
                let signature = start.saturating_add(number(&command, 8, 4));
                if is_hardened(head, signature)? {
                    kind = ExecutableKind::Protected;
                }
            }
            _ => {}
        }
        let length = number(&command, 4, 4);
        if length < 8 {
            return Ok(ExecutableKind::Other);
        }
        at = at.saturating_add(length);
    }
    Ok(kind)
}

/// Whether a code signature has a flag that makes dyld ignore its variables or libraries that others signed:
/// `CS_RESTRICT`, `CS_REQUIRE_LV` and `CS_RUNTIME` (`kern/cs_blobs.h`). An entitlement may lift that again, but this
/// does not look for one.
fn is_hardened(head: &Head<'_, Fd>, signature: u64) -> Result<bool, Errno> {
    const SUPER_BLOB: u64 = 0xfade_0cc0;
    const CODE_DIRECTORY: u64 = 0xfade_0c02;
    const HARDENED: u64 = 0x0800 | 0x2000 | 0x0001_0000;
    const MOST_BLOBS: u64 = 64;
    let mut start = [0_u8; 12];
    if !head.fetch(signature, &mut start)? || big(&start, 0, 4) != SUPER_BLOB {
        return Ok(true);
    }
    for index in 0..big(&start, 8, 4).min(MOST_BLOBS) {
        let at = signature.saturating_add(12).saturating_add(index.saturating_mul(8));
        let mut slot = [0_u8; 8];
        if !head.fetch(at, &mut slot)? {
            return Ok(true);
        }
        let mut blob = [0_u8; 16];
        let found = head.fetch(signature.saturating_add(big(&slot, 4, 4)), &mut blob)?;
        if !found {
            return Ok(true);
        }
        if big(&blob, 0, 4) == CODE_DIRECTORY && big(&blob, 12, 4) & HARDENED != 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A big-endian number of `size` bytes at `at`.
fn big(bytes: &[u8], at: usize, size: usize) -> u64 {
    let field = bytes.get(at..at.saturating_add(size)).unwrap_or(&[]);
    field.iter().fold(0, |value, &byte| (value << 8) | u64::from(byte))
}
