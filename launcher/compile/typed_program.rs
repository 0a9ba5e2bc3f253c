//! Finds what the typed program needs to start if it is installed in the home directory, which is hidden: its package or
//! its prefix, and those of its interpreter (spec §18). Used by `builtin_grants`.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::canonical;
use jp_confine_engine::executable::{ExecutableKind, LINE};

use crate::compile::led_path::Led;
use crate::compile::profiles::Resolved;
use crate::compile::programs::is_program;
use crate::files;
use crate::host::context::Context;
use crate::host::installation;
use crate::host::program_lookup::{candidates, kind};

/// How many `#!` lines are followed.
const INTERPRETERS: usize = 2;

/// The grants by which `program`, as typed, starts. None for a program outside the home, or in the canonical
/// `workspace`: there, only rules grant.
pub(crate) fn grants(context: &Context, workspace: &Path, program: &OsStr) -> Resolved {
    let mut resolved = Resolved::default();
    if let Some(home) = &context.canonical_home {
        let mut finder = Finder { context, workspace, home, resolved: &mut resolved };
        finder.look_up(program, INTERPRETERS);
    }
    resolved
}

struct Finder<'a> {
    context: &'a Context,
    workspace: &'a Path,
    home: &'a Path,
    resolved: &'a mut Resolved,
}

impl Finder<'_> {
    /// Finds a program along `PATH` as the shell would.
    fn look_up(&mut self, name: &OsStr, interpreters: usize) {
        if let Some(found) = candidates(self.context, name).into_iter().find(|it| is_program(it)) {
            self.add(&self.context.absolute(&found), interpreters);
        }
    }

    /// Adds the file at this absolute path, and its interpreter. A link to it may be in another prefix, as that of a
    /// virtual environment.
    fn add(&mut self, spelled: &Path, interpreters: usize) {
        let (Some(file), Some(place)) = (canonical::existing(spelled), place(spelled)) else {
            return;
        };
        let places = [place.as_path(), &file];
        if !places.into_iter().chain([spelled]).any(|path| is_in(path, self.workspace)) {
            for path in places.into_iter().filter(|path| is_in(path, self.home)) {
                match installation::package_or_prefix(path, self.home) {
                    Some(unit) => self.grant(spelled, unit.to_owned()),
                    None if path == file => self.grant(spelled, path.to_owned()),
                    None => {}
                }
            }
        }
        let Some(rest) = interpreters.checked_sub(1) else { return };
        let Ok((ExecutableKind::Script, interpreter)) = kind(&file) else { return };
        let interpreter = Path::new(OsStr::from_bytes(&interpreter));
        if interpreter.file_name() != Some(OsStr::new("env")) {
            self.add(interpreter, rest);
        } else if let Some(name) = named_by_env(&file) {
            self.look_up(OsStr::from_bytes(&name), rest);
        }
    }

    fn grant(&mut self, spelled: &Path, anchor: PathBuf) {
        let origin = Origin::Profile {
            name: "of the typed program".to_owned(),
            entry: anchor.to_string_lossy().into_owned(),
            named: false,
        };
        let caps = Capabilities::READ.union(Capabilities::EXECUTE);
        let grant = Grant::new(anchor, caps, GrantKind::Plain, origin);
        if self.resolved.grants.contains(&grant) {
            return;
        }
        let led = Led { grant: grant.clone(), spelled: spelled.to_owned(), view: None };
        self.resolved.led.push(led);
        self.resolved.grants.push(grant);
    }
}

fn is_in(path: &Path, dir: &Path) -> bool {
    canonical::below(dir, path).is_some()
}

/// The path with its directory resolved. Its last name may be a link.
fn place(spelled: &Path) -> Option<PathBuf> {
    Some(canonical::existing(spelled.parent()?)?.join(spelled.file_name()?))
}

/// The program that `#!/usr/bin/env NAME` starts: the first word that is no option and sets no variable.
fn named_by_env(script: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    files::open_file(script).ok()?.take(LINE as u64).read_to_end(&mut text).ok()?;
    let line = text.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(1);
    let name = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn env_names_the_interpreter() {
        let dir = tempfile::tempdir().expect("a directory");
        let script = dir.path().join("script");
        for (line, name) in [
            ("#!/usr/bin/env node", Some("node")),
            ("#!/usr/bin/env -S A=b deno run", Some("deno")),
            ("#!/usr/bin/env", None),
        ] {
            fs::write(&script, format!("{line}\nx\n")).expect("a file");
            assert_eq!(named_by_env(&script).as_deref(), name.map(str::as_bytes), "{line}");
        }
    }
}
