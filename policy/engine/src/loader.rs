//! Recognises dynamic loaders that are started as programs (ld.so(8)), and the programs that they start. Used by the
//! preload library and the supervisor.

/// `DT_STRSZ`, `DT_SONAME`, `DT_FLAGS_1` and `DT_VERDEF` (elf(5)), each the tag of an entry of the dynamic section.
const STRINGS_SIZE: u64 = 10;
const SONAME: u64 = 14;
const FLAGS_1: u64 = 0x6fff_fffb;
const VERSIONS: u64 = 0x6fff_fffc;

/// `DF_1_PIE`: linkers set it for programs.
const IS_PROGRAM: u64 = 0x0800_0000;

/// A static program exports hardly any name. Loaders have at least 700 bytes of names.
const FEW_NAMES: u64 = 256;

/// The size of an entry: a tag and a value.
pub const ENTRY: usize = 16;

/// Whether a shared object without an interpreter is a loader, judged by its dynamic section. Position-independent
/// static programs are such objects, too.
#[must_use]
pub fn is_loader(dynamic: &[u8]) -> bool {
    let (mut is_library, mut names) = (false, 0);
    for (tag, value) in entries(dynamic) {
        match tag {
            FLAGS_1 if value & IS_PROGRAM != 0 => return false,
            SONAME => is_library = true,
            STRINGS_SIZE => names = value,
            _ => {}
        }
    }
    is_library || names > FEW_NAMES
}

/// Whether a loader is glibc's. Its symbols have versions, those of musl have none.
#[must_use]
pub fn is_glibcs(dynamic: &[u8]) -> bool {
    entries(dynamic).any(|(tag, _)| tag == VERSIONS)
}

fn entries(dynamic: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let (entries, _) = dynamic.as_chunks::<ENTRY>();
    let word =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| (value << 8) | u64::from(byte));
    let entries = entries.iter().map(move |entry| {
        let (tag, value) = entry.split_at(ENTRY / 2);
        (word(tag), word(value))
    });
    entries.take_while(|&(tag, _)| tag != 0)
}

/// The effect of a loader's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<'w> {
    /// It only prints something: no program runs.
    Nothing,
    /// It runs the program in this file.
    Program(&'w [u8]),
    /// It may run something, because its words are not known here.
    Unknown,
}

/// Options of glibc's loader with which no program runs.
const PRINTS: [&[u8]; 6] =
    [b"--list", b"--verify", b"--list-tunables", b"--list-diagnostics", b"--help", b"--version"];

/// Options of glibc's loader that take the next word.
const TAKES: [&[u8]; 7] = [
    b"--library-path",
    b"--inhibit-rpath",
    b"--audit",
    b"--preload",
    b"--argv0",
    b"--glibc-hwcaps-prepend",
    b"--glibc-hwcaps-mask",
];

/// The options of musl's loader that take a word. They also take `NAME=VALUE`.
const MUSL_TAKES: [&[u8]; 3] = [b"--library-path", b"--preload", b"--argv0"];

/// Reads the `words` after the name of glibc's loader (`rtld.c`). The loader searches a name without a slash in the
/// directories of libraries, which is not followed here.
#[must_use]
pub fn of_glibc<'w>(words: impl IntoIterator<Item = &'w [u8]>) -> Start<'w> {
    let mut words = words.into_iter();
    let mut prints = false;
    while let Some(word) = words.next() {
        if PRINTS.contains(&word) {
            prints = true;
        } else if TAKES.contains(&word) {
            if words.next().is_none() {
                return Start::Unknown;
            }
        } else if word == b"--inhibit-cache" {
        } else if prints {
            return Start::Nothing;
        } else if word.starts_with(b"--") || !word.contains(&b'/') {
            return Start::Unknown;
        } else {
            return Start::Program(word);
        }
    }
    Start::Nothing
}

/// Reads the `words` after the name of musl's loader (`dynlink.c`). A name is a path to it.
#[must_use]
pub fn of_musl<'w>(words: impl IntoIterator<Item = &'w [u8]>) -> Start<'w> {
    let mut words = words.into_iter();
    let mut prints = false;
    let mut program = None;
    while let Some(word) = words.next() {
        let takes =
            |name: &&[u8]| word.strip_prefix(*name).is_some_and(|rest| rest.starts_with(b"="));
        if word == b"--" {
            program = words.next();
            break;
        } else if word == b"--list" {
            prints = true;
        } else if MUSL_TAKES.contains(&word) {
            words.next();
        } else if MUSL_TAKES.iter().any(takes) {
        } else if word.starts_with(b"--") {
            return Start::Unknown;
        } else {
            program = Some(word);
            break;
        }
    }
    match program {
        Some(_) if prints => Start::Nothing,
        Some(program) => Start::Program(program),
        None => Start::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn words(line: &str) -> Vec<&[u8]> {
        line.split_whitespace().map(str::as_bytes).collect()
    }

    #[test]
    fn words_of_loaders() {
        for (line, glibc, musl) in [
            ("", Start::Nothing, Start::Nothing),
            ("./p", Start::Program(b"./p"), Start::Program(b"./p")),
            ("/p --list", Start::Program(b"/p"), Start::Program(b"/p")),
            ("p", Start::Unknown, Start::Program(b"p")),
            ("--list ./p", Start::Nothing, Start::Nothing),
            ("--verify ./p", Start::Nothing, Start::Unknown),
            ("--version", Start::Nothing, Start::Unknown),
            ("--argv0 --list ./p", Start::Program(b"./p"), Start::Program(b"./p")),
            ("--argv0=--list ./p", Start::Unknown, Start::Program(b"./p")),
            ("--library-path . --list ./p", Start::Nothing, Start::Nothing),
            (
                "--preload ./a --library-path ./l ./p",
                Start::Program(b"./p"),
                Start::Program(b"./p"),
            ),
            ("--inhibit-cache ./p", Start::Program(b"./p"), Start::Unknown),
            ("--audit ./a ./p", Start::Program(b"./p"), Start::Unknown),
            ("--audit", Start::Unknown, Start::Unknown),
            ("--new ./p", Start::Unknown, Start::Unknown),
            ("-- ./p", Start::Unknown, Start::Program(b"./p")),
            ("-- --list", Start::Unknown, Start::Program(b"--list")),
        ] {
            assert_eq!(of_glibc(words(line)), glibc, "{line}");
            assert_eq!(of_musl(words(line)), musl, "{line}");
        }
    }

    #[test]
    fn loaders_are_told_by_their_dynamic_section() {
        let section = |entries: &[(u64, u64)]| -> Vec<u8> {
            entries
                .iter()
                .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()].concat())
                .collect()
        };
        assert!(is_loader(&section(&[(SONAME, 1), (STRINGS_SIZE, 705)])));
        assert!(is_loader(&section(&[(STRINGS_SIZE, 15704), (FLAGS_1, 1)])));
        assert!(!is_loader(&section(&[(FLAGS_1, IS_PROGRAM | 1), (STRINGS_SIZE, 999)])));
        assert!(!is_loader(&section(&[(STRINGS_SIZE, 1)])));
        assert!(!is_loader(&section(&[(0, 0), (SONAME, 1)])), "behind the end");
        assert!(!is_loader(b"short"));
    }
}
