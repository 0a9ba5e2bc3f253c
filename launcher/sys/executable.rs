//! Tells the kind of an executable file, reading it as the kernel does (`execve(2)`, `elf(5)`).

use std::os::fd::AsFd;

use jp_confine_engine::loader::{ENTRY, is_glibcs, is_loader};
use jp_confine_engine::script::interpreter;
use rustix::io::{Errno, pread};

/// How many bytes of a file the kernel reads for a `#!` line (`BINPRM_BUF_SIZE`).
const LINE: usize = 256;
/// Enough for the header and the program headers of nearly every binary.
const HEAD: usize = 1024;
/// The size of the file header and of one program header of ELF64.
const FILE_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// Largest table of program headers that the kernel accepts (`load_elf_phdrs`).
const TABLE_LIMIT: usize = 65536;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
/// `ET_DYN`, the type of a binary that can be loaded at any address.
const MOVABLE: u64 = 3;
/// More bytes than the dynamic section of any loader has.
const DYNAMIC: usize = 48 * ENTRY;
/// `ELFCLASS64`, `ELFDATA2LSB`.
const CLASS_AND_ORDER: &[u8] = &[2, 1];
/// The longest path of a loader.
const LONGEST: usize = 4096;

#[cfg(target_arch = "x86_64")]
const MACHINE: u64 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u64 = 183;

/// The C library that a loader belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Libc {
    Glibc,
    /// musl, or an unknown one.
    Other,
}

/// A kind of executable file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExecutableKind {
    /// A `#!` line names this interpreter.
    Script(Vec<u8>),
    /// A binary of this machine that names this loader.
    Dynamic(Vec<u8>),
    /// A binary of this machine without a loader.
    Static,
    /// A loader itself, which starts any program that its arguments name.
    Loader(Libc),
    /// A binary of another machine or word size.
    Foreign,
    /// A file that the kernel itself cannot run.
    Other,
}

/// Tells the kind of a file. `read` fills a buffer from it at an offset, as far as the file goes.
///
/// # Errors
/// Those of `read`.
pub(crate) fn inspect(
    read: impl Fn(u64, &mut [u8]) -> Result<usize, Errno>,
) -> Result<ExecutableKind, Errno> {
    let mut head = [0; HEAD];
    let length = read(0, &mut head)?;
    let head = head.get(..length).unwrap_or_default();
    if let Some(line) = head.strip_prefix(b"#!") {
        let room = LINE - 2;
        let line = line.get(..line.len().min(room)).unwrap_or_default();
        return Ok(interpreter(line, room)
            .map_or(ExecutableKind::Other, |path| ExecutableKind::Script(path.to_vec())));
    }
    binary(head, read)
}

/// Reads until `to` is full or the file ends, and returns the number of bytes read.
///
/// # Errors
/// Those of `pread(2)`.
pub(crate) fn read_at(file: impl AsFd, offset: u64, to: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(rest) = to.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match pread(&file, rest, offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

/// Looks for `PT_INTERP` in an ELF file that begins with `head`.
fn binary(
    head: &[u8],
    read: impl Fn(u64, &mut [u8]) -> Result<usize, Errno>,
) -> Result<ExecutableKind, Errno> {
    if !head.starts_with(b"\x7fELF") || head.len() < FILE_HEADER {
        return Ok(ExecutableKind::Other);
    }
    if head.get(4..6) != Some(CLASS_AND_ORDER) || number(head, 18, 2) != MACHINE {
        return Ok(ExecutableKind::Foreign);
    }
    let table = number(head, 32, 8);
    let count = usize::try_from(number(head, 56, 2)).unwrap_or(0);
    let size = count.saturating_mul(PROGRAM_HEADER);
    if number(head, 54, 2) != PROGRAM_HEADER as u64 || size > TABLE_LIMIT {
        return Ok(ExecutableKind::Other);
    }
    let mut headers = vec![0; size];
    if read(table, &mut headers)? != size {
        return Ok(ExecutableKind::Other);
    }
    let (headers, _) = headers.as_chunks::<PROGRAM_HEADER>();
    let segment = |wanted: u64| headers.iter().find(|header| number(&header[..], 0, 4) == wanted);
    if let Some(header) = segment(PT_INTERP) {
        return loader(number(header, 8, 8), number(header, 32, 8), read);
    }
    match segment(PT_DYNAMIC).filter(|_| number(head, 16, 2) == MOVABLE) {
        Some(header) => of_dynamic(number(header, 8, 8), number(header, 32, 8), read),
        None => Ok(ExecutableKind::Static),
    }
}

/// Tells from its dynamic section whether a binary without a loader is a loader itself.
fn of_dynamic(
    offset: u64,
    size: u64,
    read: impl Fn(u64, &mut [u8]) -> Result<usize, Errno>,
) -> Result<ExecutableKind, Errno> {
    let mut section = vec![0; usize::try_from(size).unwrap_or(usize::MAX).min(DYNAMIC)];
    let length = read(offset, &mut section)?;
    section.truncate(length);
    if !is_loader(&section) {
        return Ok(ExecutableKind::Static);
    }
    Ok(ExecutableKind::Loader(if is_glibcs(&section) { Libc::Glibc } else { Libc::Other }))
}

/// Reads the path of the loader, under the kernel's conditions (`load_elf_binary`).
fn loader(
    offset: u64,
    size: u64,
    read: impl Fn(u64, &mut [u8]) -> Result<usize, Errno>,
) -> Result<ExecutableKind, Errno> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if !(2..=LONGEST).contains(&size) {
        return Ok(ExecutableKind::Other);
    }
    let mut text = vec![0; size];
    if read(offset, &mut text)? != size {
        return Err(Errno::IO);
    }
    if text.last() != Some(&0) {
        return Ok(ExecutableKind::Other);
    }
    let path = text.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(ExecutableKind::Dynamic(path.to_vec()))
}

/// A little-endian number of `size` bytes at `at`.
fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    let field = bytes.get(at..at.saturating_add(size)).unwrap_or_default();
    field.iter().rev().fold(0, |value, &byte| (value << 8) | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspected(bytes: &[u8]) -> Result<ExecutableKind, Errno> {
        let read = |offset: u64, to: &mut [u8]| {
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
            let count = to.len().min(bytes.len() - start);
            to[..count].copy_from_slice(&bytes[start..start + count]);
            Ok(count)
        };
        inspect(read)
    }

    fn kind(bytes: &[u8]) -> ExecutableKind {
        inspected(bytes).expect("read")
    }

    #[test]
    fn scripts_name_their_interpreter() {
        assert_eq!(kind(b"#!/bin/sh\n"), ExecutableKind::Script(b"/bin/sh".to_vec()));
        assert_eq!(
            kind(b"#! \t/bin/env sh -x\nrest"),
            ExecutableKind::Script(b"/bin/env".to_vec())
        );
        assert_eq!(kind(b"#!\n"), ExecutableKind::Other);
        assert_eq!(kind(b"#! \t\n/bin/sh"), ExecutableKind::Other);
        assert_eq!(kind(b"#!"), ExecutableKind::Script(Vec::new()));
        assert_eq!(kind(b"#! \0/bin/sh\n"), ExecutableKind::Script(Vec::new()));
        assert_eq!(kind(&[&b"#!"[..], &[b'a'; 300]].concat()), ExecutableKind::Other);
        assert_eq!(kind(&[&b"#!"[..], &[b' '; 300]].concat()), ExecutableKind::Other);
    }

    #[test]
    fn binaries_are_told_apart() {
        let own = std::fs::read("/proc/self/exe").expect("read");
        assert!(
            matches!(kind(&own), ExecutableKind::Dynamic(loader) if loader.starts_with(b"/lib"))
        );
        let mut foreign = own.clone();
        foreign[4] = 1;
        assert_eq!(kind(&foreign), ExecutableKind::Foreign);
        assert_eq!(kind(&own[..70]), ExecutableKind::Other);
        assert_eq!(kind(b"data"), ExecutableKind::Other);
    }

    /// A tool that gives a program another loader appends the longer path to the file.
    #[test]
    fn loaders_are_named_anywhere() {
        let mut own = std::fs::read("/proc/self/exe").expect("read");
        let headers = FILE_HEADER..FILE_HEADER + 16 * PROGRAM_HEADER;
        let (headers, _) = own[headers].as_chunks::<PROGRAM_HEADER>();
        let place = headers.iter().position(|it| number(it, 0, 4) == PT_INTERP).expect("a loader");
        let header = FILE_HEADER + place * PROGRAM_HEADER;
        let end = own.len() as u64;
        own[header + 8..header + 16].copy_from_slice(&end.to_le_bytes());
        own[header + 32..header + 40].copy_from_slice(&5_u64.to_le_bytes());
        assert_eq!(inspected(&own), Err(Errno::IO));
        own.extend(b"/ld\0\0");
        assert_eq!(kind(&own), ExecutableKind::Dynamic(b"/ld".to_vec()));
        own.extend([b'/'; 9]);
        own[header + 32..header + 40].copy_from_slice(&9_u64.to_le_bytes());
        assert_eq!(kind(&own), ExecutableKind::Other);
    }

    #[test]
    fn no_damage_does_harm() {
        let own = std::fs::read("/proc/self/exe").expect("read");
        for at in 0..HEAD {
            let mut bytes = own[..HEAD * 2].to_vec();
            bytes[at] ^= 0xff;
            let _ = (inspected(&bytes), inspected(&bytes[..at]));
        }
    }
}
