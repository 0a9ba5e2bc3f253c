//! Finds the programs that `access.commands` lists (spec §11.3).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Beyond, ImageSpec};
use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::commands::{Commands, Listed};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;

use crate::compile::image;
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::program_lookup;
use crate::text::quote;

/// The programs that a run may start, with warnings about those not found. A name is the file that it means along
/// `PATH` now. A file added to a workspace directory later is another program. A key with a slash is a file's path,
/// relative to the workspace unless it is absolute.
///
/// # Errors
/// Fails if two keys are the same program, because it is unclear which rule counts.
pub(crate) fn find(
    context: &Context,
    workspace: &Path,
    commands: &Commands,
) -> Result<(Vec<Listed>, Vec<String>), Failure> {
    let mut listed: Vec<Listed> = Vec::new();
    let mut warnings = Vec::new();
    for (key, rule) in &commands.0 {
        let program = match file_of(context, workspace, key) {
            Ok(program) => program,
            Err(why) => {
                warnings.push(format!("access.commands lists `{key}`, which {why}"));
                continue;
            }
        };
        let found = Listed { key: key.clone(), program, rule: rule.clone() };
        let is_same = |it: &&Listed| it.program == found.program && it.name() == found.name();
        if let Some(other) = listed.iter().find(is_same) {
            return Err(Failure::advised(
                format!("access.commands has `{key}` and `{}` for one program", other.key),
                "keep one of them",
            ));
        }
        listed.push(found);
    }
    Ok((listed, warnings))
}

/// The canonical path that a key means, or why there is none. The target of a path may appear during the run.
fn file_of(context: &Context, workspace: &Path, key: &str) -> Result<PathBuf, String> {
    let found = if key.contains('/') {
        workspace.join(key)
    } else {
        along_path(context, key).ok_or("is nowhere along PATH")?
    };
    let resolved = canonical::resolve(workspace, &found, Op::Content);
    resolved.map(|resolved| resolved.path).map_err(|error| format!("cannot be found: {error}"))
}

/// Notes on rules that cannot hold, because the run may change the program.
pub(crate) fn notes<'l>(
    listed: &'l [Listed],
    image: &'l Image<'l>,
) -> impl Iterator<Item = String> {
    let may_change = |listed: &&Listed| {
        let request = Request::canonical(listed.program.as_os_str().as_bytes());
        let changes = [Capabilities::UPDATE, Capabilities::CREATE.union(Capabilities::DELETE)];
        changes.iter().any(|&need| decide::access(image, &request, need) == Verdict::Allow)
    };
    listed.iter().filter(may_change).map(|listed| {
        let key = quote::printable(listed.key.as_bytes());
        format!("access.commands lists `{key}`, which the run may change into another program")
    })
}

/// An image for queries that only has these rules about programs.
pub(crate) fn image_of(listed: &[Listed]) -> Result<Vec<u8>, Failure> {
    image::build_image(&ImageSpec {
        beyond: Beyond { commands: Some(listed), ..Beyond::default() },
        ..ImageSpec::to_ask(&[], Path::new("/"))
    })
}

/// The program that a name means, independent of the working directory.
pub(crate) fn along_path(context: &Context, name: &str) -> Option<PathBuf> {
    let candidates = program_lookup::candidates(context, OsStr::new(name));
    candidates.into_iter().filter(|file| file.is_absolute()).find(|file| is_program(file))
}

/// Whether any user may execute the file.
pub(crate) fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::decode_resources::unsound;

    #[test]
    fn names_are_found_along_path_and_paths_from_the_workspace() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("canonical");
        for name in ["bin", "ws"] {
            fs::create_dir(root.join(name)).expect("made");
        }
        for name in ["bin/real", "ws/tool"] {
            fs::write(root.join(name), "#!/bin/sh\n").expect("written");
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o755)).expect("set");
        }
        std::os::unix::fs::symlink("real", root.join("bin/tool")).expect("linked");
        let mut context = Context::bare(&root.join("ws"));
        context.path = format!(".::{}", root.join("bin").display()).into();
        let find = |key: &str| file_of(&context, &root.join("ws"), key);
        assert_eq!(find("tool"), Ok(root.join("bin/real")));
        assert_eq!(find("./tool"), Ok(root.join("ws/tool")));
        assert_eq!(find("out/new"), Ok(root.join("ws/out/new")));
        assert_eq!(
            find("/bin/../bin/none"),
            Ok(Path::new("/bin").canonicalize().expect("it").join("none"))
        );
        assert!(find("other").is_err());
    }

    #[test]
    fn keys_that_are_no_program() {
        for key in ["", "bin/", "/", "..", "a\0b"] {
            assert!(unsound(key).is_some(), "{key:?}");
        }
        assert_eq!(unsound("./tool"), None);
    }
}
