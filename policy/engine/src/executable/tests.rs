//! Kinds of executable files, whole and damaged.

use std::vec::Vec;

use super::*;

/// A file in memory.
struct Memory<'a>(&'a [u8]);

/// The file ended too early.
#[derive(Debug, PartialEq)]
struct CutOff;

impl Contents for Memory<'_> {
    type Error = CutOff;
    const CUT_OFF: CutOff = CutOff;

    fn read_at(&self, offset: u64, to: &mut [u8]) -> Result<usize, CutOff> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        let count = to.len().min(self.0.len() - start);
        to[..count].copy_from_slice(&self.0[start..start + count]);
        Ok(count)
    }
}

/// The kind of a file, and the path of what runs it.
fn inspected(bytes: &[u8]) -> Result<(ExecutableKind, Vec<u8>), CutOff> {
    let (file, mut room, mut path) = (Memory(bytes), [0; HEAD], Vec::new());
    let head = Head::read(&file, &mut room)?;
    let kind = head.kind(|_, part| {
        path.extend(part);
        Ok(())
    })?;
    Ok((kind, path))
}

fn kind(bytes: &[u8]) -> ExecutableKind {
    inspected(bytes).expect("read").0
}

#[test]
fn scripts_name_their_interpreter() {
    assert_eq!(inspected(b"#!/bin/sh\n"), Ok((ExecutableKind::Script, b"/bin/sh".to_vec())));
    let env = inspected(b"#! \t/bin/env sh -x\nrest");
    assert_eq!(env, Ok((ExecutableKind::Script, b"/bin/env".to_vec())));
    assert_eq!(kind(b"#!\n"), ExecutableKind::Other);
    assert_eq!(kind(b"#! \t\n/bin/sh"), ExecutableKind::Other);
    assert_eq!(inspected(b"#!"), Ok((ExecutableKind::Script, Vec::new())));
    assert_eq!(inspected(b"#! \0/bin/sh\n"), Ok((ExecutableKind::Script, Vec::new())));
    assert_eq!(kind(&[&b"#!"[..], &[b'a'; 300]].concat()), ExecutableKind::Other);
    assert_eq!(kind(&[&b"#!"[..], &[b' '; 300]].concat()), ExecutableKind::Other);
}

/// The word that a script's first line gives its interpreter.
fn argument(script: &[u8]) -> Option<Vec<u8>> {
    let (file, mut room) = (Memory(script), [0; HEAD]);
    let line = Head::read(&file, &mut room).expect("read").first_line().expect("a line");
    line.argument.map(<[u8]>::to_vec)
}

#[test]
fn scripts_give_their_interpreter_one_argument() {
    for without in [&b"#!/bin/sh"[..], b"#!/bin/sh\n", b"#!/bin/sh \t\n", b"#!/bin/sh\0-x\n"] {
        assert_eq!(argument(without), None);
    }
    assert_eq!(argument(b"#! /bin/env\t -S sh -x \t\n-y").as_deref(), Some(&b"-S sh -x"[..]));
    assert_eq!(argument(b"#!/bin/sh -x \0y \n").as_deref(), Some(&b"-x "[..]));
    assert_eq!(argument(b"#!/bin/sh -x ").as_deref(), Some(&b"-x "[..]));
    assert_eq!(argument(b"#!/bin/sh ").as_deref(), Some(&b""[..]));
    let long = argument(&[&b"#!/bin/sh "[..], &[b'x'; 300]].concat());
    assert_eq!(long.map(|argument| argument.len()), Some(LINE - 1 - b"#!/bin/sh ".len()));
}

#[test]
fn binaries_are_told_apart() {
    let own = std::fs::read("/proc/self/exe").expect("read");
    let (of_own, loader) = inspected(&own).expect("read");
    assert_eq!(of_own, ExecutableKind::Dynamic);
    assert!(loader.starts_with(b"/lib"));
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
    assert_eq!(inspected(&own), Err(CutOff));
    own.extend(b"/ld\0\0");
    assert_eq!(inspected(&own), Ok((ExecutableKind::Dynamic, b"/ld".to_vec())));
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
