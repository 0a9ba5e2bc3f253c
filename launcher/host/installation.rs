//! Finds what a program was installed with: its package, or the prefix that it shares with its libraries. Used where the
//! typed program is granted, and by suggestions.

use std::path::Path;

use jp_confine_engine::canonical;

/// Directories of a prefix beside its `bin`, or a file in it, by which it is known.
const OF_PREFIX: [&str; 3] = ["lib", "libexec", "pyvenv.cfg"];

/// The package or the prefix that the program at this canonical path belongs to: the outermost `node_modules`, or the
/// directory above `bin` if it has libraries, too. A directory that holds more than one installation is neither: the
/// home, `~/.local`, the homes beside it, and directories directly below the root.
pub(crate) fn package_or_prefix<'f>(file: &'f Path, home: &Path) -> Option<&'f Path> {
    let is_shared = |dir: &Path| {
        canonical::below(dir, home).is_some()
            || dir == home.join(".local")
            || dir.parent() == home.parent()
            || dir.parent().is_none_or(|parent| parent.parent().is_none())
    };
    let dirs = file.ancestors().skip(1).take_while(|dir| !is_shared(dir));
    if let Some(packages) = dirs.filter(|dir| dir.ends_with("node_modules")).last() {
        return Some(packages);
    }
    let prefix = file.parent().filter(|dir| dir.ends_with("bin")).and_then(Path::parent)?;
    let is_prefix = !is_shared(prefix) && OF_PREFIX.iter().any(|name| prefix.join(name).exists());
    is_prefix.then_some(prefix)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_program_belongs_to_its_package_or_prefix() {
        let dir = tempfile::tempdir().expect("a directory");
        let home = &dir.path().join("home/me");
        for (file, beside, expected) in [
            (
                ".npm-global/lib/node_modules/@google/gemini-cli/bundle/gemini.js",
                None,
                Some(".npm-global/lib/node_modules"),
            ),
            ("p/node_modules/a/node_modules/b/x", None, Some("p/node_modules")),
            ("venv/bin/tool", Some("venv/pyvenv.cfg"), Some("venv")),
            (".opencode/bin/opencode", None, None),
            (".local/bin/tool", Some(".local/lib"), None),
            ("bin/tool", Some("lib"), None),
            ("Documents/run.sh", None, None),
            ("../you/bin/tool", Some("../you/lib"), None),
            ("../../tools/x/bin/tool", Some("../../tools/x/lib"), Some("../../tools/x")),
        ] {
            if let Some(beside) = beside {
                fs::create_dir_all(home.join(beside)).expect("a directory");
            }
            let lexical = |path: &str| match path.strip_prefix("../../") {
                Some(path) => dir.path().join(path),
                None => home.parent().expect("a parent").join(match path.strip_prefix("../") {
                    Some(path) => path.to_owned(),
                    None => format!("me/{path}"),
                }),
            };
            let expected = expected.map(lexical);
            let file = lexical(file);
            assert_eq!(package_or_prefix(&file, home), expected.as_deref(), "{file:?}");
        }
        assert_eq!(package_or_prefix(Path::new("/usr/bin/env"), home), None);
    }
}
