//! Nothing is forgotten: each function that libc exports has a hook, or a reason to have none, or no path. The same
//! holds for each system call. The lists also produce `docs/inventory.md`: `UPDATE_DOCS=1 cargo test --test integration
//! inventory` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use jp_confine_engine::calls::{CALLS, Call, Need, Operation, of_number};

use crate::run::{have, skip};
use crate::shim_binary::inspect;

type Names = BTreeSet<String>;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const DOCUMENT: &str = "docs/inventory.md";
/// Libraries of glibc beside libc itself. Since glibc 2.34 most are empty.
const COMPANIONS: [&str; 6] = [
    "libpthread.so.0",
    "librt.so.1",
    "libdl.so.2",
    "libutil.so.1",
    "libanl.so.1",
    "libresolv.so.2",
];

/// Names that share a reason.
struct Group {
    reason: String,
    names: Names,
}

/// Reads a list, where a line that begins with `##` is the reason for the names below it.
fn groups(file: &str) -> Vec<Group> {
    let path = Path::new(ROOT).join("shim/inventory").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut groups: Vec<Group> = Vec::new();
    for line in text.lines() {
        if let Some(reason) = line.strip_prefix("## ") {
            groups.push(Group { reason: reason.to_owned(), names: Names::new() });
        } else if !line.starts_with('#')
            && let Some(group) = groups.last_mut()
        {
            for name in line.split_whitespace() {
                assert!(group.names.insert(name.to_owned()), "{file}: {name} stands there twice");
            }
        }
    }
    groups
}

fn all_of(groups: &[Group]) -> Names {
    groups.iter().flat_map(|group| group.names.iter().cloned()).collect()
}

/// The functions that `nm -D` lists, without their versions.
fn functions(listing: &str) -> Names {
    listing
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let kind = words.next().filter(|kind| matches!(*kind, "T" | "W" | "i"))?;
            let name = words.next().filter(|_| !kind.is_empty())?;
            Some(name.split('@').next().unwrap_or(name).to_owned())
        })
        .collect()
}

/// The functions of a library of this machine.
fn exported(library: &Path) -> Names {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output();
    let output = output.expect("nm");
    assert!(output.status.success(), "nm of {}", library.display());
    functions(&String::from_utf8_lossy(&output.stdout))
}

/// The functions that the preload library hooks.
fn hooked() -> Option<Names> {
    let mut names = functions(&inspect("nm", "-D --defined-only")?);
    // Not a function of libc: AddressSanitizer asks for it.
    assert!(names.remove("__asan_default_options"));
    Some(names)
}

/// The libraries of the libc that this program runs with, and musl's.
fn libraries() -> Vec<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").expect("the own mappings");
    let mapped = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let mut found: BTreeSet<PathBuf> = mapped
        .filter(|path| path.contains("/libc.so") || path.contains("/ld-linux"))
        .map(PathBuf::from)
        .collect();
    let beside: Vec<_> = found.iter().filter_map(|path| path.parent()).map(PathBuf::from).collect();
    let companions = beside.iter().flat_map(|dir| COMPANIONS.map(|name| dir.join(name)));
    let musl = format!("/lib/ld-musl-{}.so.1", std::env::consts::ARCH);
    found.extend(companions.chain([PathBuf::from(musl)]).filter(|path| path.exists()));
    found.into_iter().collect()
}

/// The names that none of the lists has.
fn unknown<'a>(names: &'a Names, lists: &[&Names]) -> Vec<&'a str> {
    names
        .iter()
        .filter(|name| !lists.iter().any(|list| list.contains(*name)))
        .map(String::as_str)
        .collect()
}

#[test]
fn every_function_is_known() {
    let Some(hooked) = hooked() else { return skip("there is no nm") };
    let excused = all_of(&groups("excused.txt"));
    let pathless = all_of(&groups("no_path.txt"));
    let mut here = Names::new();
    for library in libraries() {
        let names = exported(&library);
        let unknown = unknown(&names, &[&hooked, &excused, &pathless]);
        assert!(
            unknown.is_empty(),
            "{} exports what is in no list of shim/inventory: {unknown:#?}",
            library.display()
        );
        here.extend(names);
    }
    assert!(here.contains("open") && here.len() > 1000, "no libc was found: {here:?}");
    // Other versions of libc have other sets. Names that this one lacks are worth a look, but no failure.
    let absent = [&hooked, &excused, &pathless].map(|list| list.difference(&here).count());
    let _ = writeln!(std::io::stderr(), "not in a libc of this machine: {absent:?} of the lists");
}

/// The check itself can fail.
#[test]
fn a_forgotten_function_is_noticed() {
    let listing = "0000 T open@@GLIBC_2.2.5\n0000 W open_by_wish@@GLIBC_9.9\n0000 D data\n";
    let names = functions(listing);
    let pathless = all_of(&groups("no_path.txt"));
    assert_eq!(unknown(&names, &[&pathless]), ["open", "open_by_wish"]);
    assert_eq!(unknown(&names, &[&pathless, &Names::from(["open".into()])]), ["open_by_wish"]);
}

#[test]
fn no_function_is_in_two_lists() {
    let Some(hooked) = hooked() else { return skip("there is no nm") };
    let mut seen = hooked;
    for group in groups("excused.txt").iter().chain(&groups("no_path.txt")) {
        for name in &group.names {
            assert!(seen.insert(name.clone()), "{name} is in two lists, or has a hook");
        }
    }
}

/// The system calls of this machine's headers, by number.
fn system_calls() -> BTreeMap<u32, String> {
    let script = "echo '#include <sys/syscall.h>' | cc -E -dM -";
    let output = Command::new("sh").args(["-c", script]).output().expect("cc");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.strip_prefix("#define __NR_"))
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, number)| Some((number.trim().parse().ok()?, name.to_owned())))
        .collect()
}

/// The calls that the library judges or denies: those of the table that take a path or have an operation in
/// `hooks/syscall.rs`, those that nobody may make, and those that create children.
fn mediated() -> Names {
    let hooks = include_str!("../../shim/src/hooks/syscall.rs");
    let has_hook = |call: &Call| hooks.contains(&format!("    {:?} =>", call.operation));
    let denied = |call: &Call| {
        matches!(call.need, Need::Refused | Need::Absent)
            || call.operation == Operation::TakeDescriptor
    };
    let calls = CALLS.iter().filter(|call| call.takes_path() || has_hook(call) || denied(call));
    let children = include_str!("../../shim/src/hooks/children.rs");
    let words = children.split(|byte: char| !byte.is_ascii_alphanumeric() && byte != '_');
    let children = words.filter_map(|word| word.strip_prefix("SYS_"));
    calls.map(Call::text).chain(children).map(str::to_owned).collect()
}

#[test]
fn every_system_call_is_known() {
    let calls = system_calls();
    assert!(calls.len() > 200, "no headers were found");
    let excused = all_of(&groups("system_calls.txt"));
    let mediated = mediated();
    for (number, name) in calls {
        let row = of_number(number.into()).map(Call::text);
        assert!(row.is_none_or(|row| row == name), "{number} is {name}, not {row:?}");
        let handled = mediated.contains(&name);
        assert!(handled || excused.contains(&name), "{name} is in no list of shim/inventory");
        assert!(!(handled && excused.contains(&name)), "{name} is in two lists");
    }
}

/// The file of `shim/src/hooks` that has the hook, as a function or in the list of a macro.
fn home_of(name: &str, sources: &BTreeMap<String, String>) -> String {
    let is_function = |line: &str| line.contains(&format!("extern \"C\" fn {name}("));
    let is_renamed = |line: &str| line.starts_with(&format!("{name} =>"));
    let is_listed = |line: &str| {
        let item = line.split_once("\" ").map_or(line, |(_, item)| item);
        let is_field = |rest: &str| rest.starts_with(": *");
        item.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['(', ':', ',', ';']) && !is_field(rest))
    };
    let is_second = |line: &str| line.contains(&format!(", {name}("));
    let forms: [&dyn Fn(&str) -> bool; 4] = [&is_function, &is_renamed, &is_listed, &is_second];
    let found = forms.iter().find_map(|form| {
        let has = |text: &String| text.lines().map(str::trim_start).any(form);
        sources.iter().find(|(_, text)| has(text)).map(|(file, _)| file.clone())
    });
    found.unwrap_or_else(|| panic!("no file has the hook of {name}"))
}

fn sources() -> BTreeMap<String, String> {
    let hooks = Path::new(ROOT).join("shim/src/hooks");
    [hooks.clone(), hooks.join("linux")]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("the hooks"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file() && !path.ends_with("mod.rs"))
        .map(|path| {
            let file = path.strip_prefix(&hooks).expect("it is below").display().to_string();
            let text = fs::read_to_string(&path).expect("a source");
            // A comment that names a hook does not have it.
            let items = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            (file, items.fold(String::new(), |all, line| all + line + "\n"))
        })
        .collect()
}

/// Names as one paragraph of code spans.
fn spans<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let spans: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let mut text = String::new();
    let mut width = 0;
    for span in spans {
        let separator = if width == 0 {
            ""
        } else if width + span.len() >= 100 {
            width = 0;
            "\n"
        } else {
            " "
        };
        width += span.len() + 1;
        text = text + separator + &span;
    }
    text
}

fn document(hooked: &Names) -> String {
    let (excused, pathless) = (groups("excused.txt"), groups("no_path.txt"));
    let calls = groups("system_calls.txt");
    let mut families: BTreeMap<String, Names> = BTreeMap::new();
    let sources = sources();
    for name in hooked {
        families.entry(home_of(name, &sources)).or_default().insert(name.clone());
    }
    let mut text = format!(
        "# Inventory of libc\n\n\
         `tests/integration/inventory.rs` writes this page from the library's own symbols and the lists in\n\
         `shim/inventory`. Do not edit it. The lists cover musl 1.2, and glibc 2.36 to 2.43 on x86-64 and\n\
         aarch64, with the functions that it exports for its own libraries. A function that is in no list\n\
         fails the tests. On both processors time is 64 bits wide, so there are no functions with `time64`\n\
         in their names. A hook has no version, so it stands in front of every version of its function.\n\n\
         {} functions have a hook, {} take or yield a path and need none, {} have no path.\n",
        hooked.len(),
        all_of(&excused).len(),
        all_of(&pathless).len(),
    );
    text += "\n## With a hook\n";
    for (file, names) in &families {
        let _ = write!(text, "\n`hooks/{file}`\n\n{}\n", spans(names));
    }
    text += "\n## Without, and why\n";
    for group in &excused {
        let _ = write!(text, "\n{}\n\n{}\n", group.reason, spans(&group.names));
    }
    text += "\n## By number, through `syscall`\n\n\
             The hook of the same meaning judges these, or the library denies them (`hooks/syscall.rs`). It also\n\
             denies calls that are newer than the table of calls, so the kernel looks older to the program.\n\n";
    text = text + &spans(&mediated()) + "\n";
    for group in &calls {
        let _ = write!(text, "\n{}\n\n{}\n", group.reason, spans(&group.names));
    }
    text
}

#[test]
fn the_document_is_up_to_date() {
    let Some(hooked) = hooked() else { return skip("there is no nm") };
    let expected = document(&hooked);
    let path = Path::new(ROOT).join(DOCUMENT);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).expect("the document");
    }
    let actual = fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{DOCUMENT} is out of date: UPDATE_DOCS=1 writes it");
}

#[test]
fn it_reads_this_machine() {
    if !have("nm") {
        return skip("there is no nm");
    }
    let found = libraries();
    assert!(found.iter().any(|path| path.to_string_lossy().contains("libc.so")), "{found:?}");
}
