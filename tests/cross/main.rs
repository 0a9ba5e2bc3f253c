//! Checks the preload library for macOS, as `make cross` builds it: does dyld find what it needs in the file? The
//! library cannot run here. `JP_CONFINE_MACH_O` names the files, separated by colons.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use goblin::mach::{Mach, MachO};

/// Functions that every target must hook: one of each kind, and one for each form of a name.
const EXPECTED: [&str; 16] = [
    "_open",
    "_open$NOCANCEL",
    "_openat",
    "_fopen",
    "_fopen$DARWIN_EXTSN",
    "_realpath$DARWIN_EXTSN",
    "_rename",
    "_renamex_np",
    "_clonefile",
    "_exchangedata",
    "_setattrlist",
    "_getxattr",
    "_execve",
    "_posix_spawn",
    "_connect$NOCANCEL",
    "_syscall",
];

/// Forms of a name that only one processor has.
const EXPECTED_ON_X86_64: [&str; 5] =
    ["_stat$INODE64", "_lstat$INODE64", "_fstatat$INODE64", "_opendir$INODE64", "_glob$INODE64"];
const EXPECTED_ON_ARM64: [&str; 5] = ["_stat", "_lstat", "_fstatat", "_opendir", "_glob"];

const LIB_SYSTEM: &str = "/usr/lib/libSystem.B.dylib";
const POINTER: usize = 8;
const PAIR: usize = 2 * POINTER;

fn libraries() -> Vec<PathBuf> {
    let list = env::var_os("JP_CONFINE_MACH_O").expect("JP_CONFINE_MACH_O: see `make cross`");
    env::split_paths(&list).collect()
}

fn for_each(check: impl Fn(&Path, &MachO<'_>)) {
    let libraries = libraries();
    assert!(!libraries.is_empty());
    for path in libraries {
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match Mach::parse(&bytes) {
            Ok(Mach::Binary(library)) => check(&path, &library),
            other => panic!("{}: not a library for one processor: {other:?}", path.display()),
        }
    }
}

/// A section: its address in memory, and its contents.
struct Section<'a> {
    start: u64,
    bytes: &'a [u8],
}

impl Section<'_> {
    fn contains(&self, address: u64) -> bool {
        (self.start..self.start + self.bytes.len() as u64).contains(&address)
    }
}

fn section<'a>(library: &MachO<'a>, segment: &str, name: &str) -> Section<'a> {
    for (section, bytes) in
        library.segments.sections().flatten().map(|found| found.expect("readable"))
    {
        if section.segname().ok() == Some(segment) && section.name().ok() == Some(name) {
            return Section { start: section.addr, bytes };
        }
    }
    panic!("no section {segment},{name}");
}

/// Checks each hook of the interpose table, and returns the names of the hooked functions.
fn interposed(library: &MachO<'_>) -> BTreeSet<String> {
    let table = section(library, "__DATA", "__interpose");
    let text = section(library, "__TEXT", "__text");
    let imports = library.imports().expect("bindings");
    assert_eq!(table.bytes.len() % PAIR, 0);
    let mut names = BTreeSet::new();
    for (index, pair) in table.bytes.chunks_exact(PAIR).enumerate() {
        let hook = u64::from_le_bytes(pair[..POINTER].try_into().expect("eight bytes"));
        let place = table.start + (index * PAIR + POINTER) as u64;
        let original = imports.iter().find(|import| import.address == place);
        let original = original.unwrap_or_else(|| panic!("pair {index} stands for nothing"));
        assert!(text.contains(hook), "{}: the hook is not in the library", original.name);
        assert_eq!(original.dylib, LIB_SYSTEM, "{}", original.name);
        assert!(!original.is_weak, "{}", original.name);
        assert_eq!(original.addend, 0, "{}", original.name);
        assert!(names.insert(original.name.to_owned()), "{} has two hooks", original.name);
    }
    names
}

#[test]
#[ignore = "`make cross` builds what it looks at"]
#[expect(clippy::print_stdout, reason = "`make cross` shows how many hooks there are")]
fn every_pair_has_a_hook_of_ours_for_a_function_of_the_system() {
    for_each(|path, library| {
        let names = interposed(library);
        let of_processor = match library.header.cputype() {
            goblin::mach::cputype::CPU_TYPE_X86_64 => EXPECTED_ON_X86_64,
            goblin::mach::cputype::CPU_TYPE_ARM64 => EXPECTED_ON_ARM64,
            other => panic!("{}: for processor {other:#x}", path.display()),
        };
        for name in EXPECTED.iter().chain(&of_processor) {
            assert!(names.contains(*name), "{}: no hook for {name}", path.display());
        }
        println!("{}: {} pairs", path.display(), names.len());
    });
}

/// dyld would find a function that the library exports under a name of libSystem's instead of the original.
#[test]
#[ignore = "`make cross` builds what it looks at"]
fn no_export_has_a_name_of_the_system() {
    for_each(|path, library| {
        let names = interposed(library);
        for export in library.exports().expect("exports") {
            assert!(!names.contains(&export.name), "{}: exports {}", path.display(), export.name);
        }
    });
}

#[test]
#[ignore = "`make cross` builds what it looks at"]
fn needs_no_library_but_the_system() {
    for_each(|path, library| {
        // The first is the library's own name.
        for needed in library.libs.iter().skip(1).filter(|name| **name != "self") {
            assert!(
                *needed == LIB_SYSTEM || Some(*needed) == library.name,
                "{}: {needed}",
                path.display()
            );
        }
        for import in library.imports().expect("bindings") {
            assert_eq!(import.dylib, LIB_SYSTEM, "{}: {}", path.display(), import.name);
            let foreign = ["panic", "_Unwind", "_malloc", "rust_"];
            assert!(!foreign.iter().any(|part| import.name.contains(part)), "{}", import.name);
        }
    });
}
