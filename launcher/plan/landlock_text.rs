//! Prints the ruleset that the kernel gets, in the names of `linux/landlock.h` without their common beginning. Used by
//! `jp-confine plan --format landlock`.

use std::fmt::{Debug, Write as _};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use crate::sys::landlock;
use crate::sys::landlock_bounds::Bounds;
use crate::text::quote;

/// The version, what is denied where no rule allows it, and each rule. Looks at the disk: rules stand on objects.
pub(crate) fn text(bounds: &Bounds) -> io::Result<String> {
    let mut text = format!("version {}\n", bounds.version as i32);
    let lists = [
        ("handled_access_fs", names(bounds.handled().iter())),
        ("handled_access_net", names(bounds.handled_ports().iter())),
        ("scoped", names(bounds.scoped().iter())),
    ];
    for (field, names) in lists.iter().filter(|(_, names)| !names.is_empty()) {
        let _ = writeln!(text, "{field} {names}");
    }
    for rule in landlock::applied(bounds)? {
        let path = quote::quoted(rule.path.as_os_str().as_bytes());
        let _ = writeln!(text, "allow {} {path}", names(rule.rights.iter()));
    }
    Ok(text)
}

/// The kernel's names of flags, which are those of the variants in capitals.
fn names(flags: impl Iterator<Item = impl Debug>) -> String {
    let names: Vec<String> = flags.map(|flag| in_capitals(&format!("{flag:?}"))).collect();
    names.join("|")
}

fn in_capitals(variant: &str) -> String {
    let mut name = String::new();
    for letter in variant.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}
