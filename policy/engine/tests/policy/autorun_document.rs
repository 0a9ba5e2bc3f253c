//! Checks that `docs/autorun.md` shows the built-in list of auto-run files.

use jp_confine_engine::autorun::list::{Place, VERSION};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/autorun.md");

/// The text above the lists.
const HEAD: &str = "\
# Auto-run files

Some programs obey files of a directory before anybody starts the code in it: git its hooks, editors their tasks, shells
their start files. A run may read these files, but not change them. To create, update, delete, rename or hard-link one
takes a prompt, once in a run. Without a terminal the answer is a denial with a suggestion. This holds whatever a rule,
an option or the workspace itself grants above the file.

- `--allow-autorun GLOB` lets one run change what matches, for instance `--allow-autorun '.git/hooks/**'`. A glob begins
  in the working directory, unless it begins with `/`, `~/`, `<workspace>` or `**`.
- A rule or an option that names the file itself, or the directory of a pattern that ends in `/**`, allows it for good.
  For a rule there is a warning at the start.
- `access.autorun_paths` adds patterns, in the user's configuration and in a workspace's file. Nothing removes patterns.
- `jp-confine explain PATH` says whether a file is an auto-run file, and which program obeys it.

A run may create and delete empty directories of these names. If a run is started in a directory below the workspace,
that directory and those between count like the workspace. So does each directory outside that a rule or an option
grants to write. Directories that a tool profile grants by itself hold caches, and do not count.

Repositories count at any depth, because `git status` looks into inner ones. A run may delete an inner one with
everything in it. A run may also create one: git's own writes are allowed. The supervisor writes a `.git` file, such as
that of a worktree or a submodule. It leads to the place where git keeps that, whatever the program writes.

direnv and mise ask before they obey a changed file. The list has their files all the same.

The list does not have files that a person starts knowingly: build scripts, `Makefile`, `package.json`, tests, and the
steps of an unfinished `git rebase`. Nor does it have files of these names deeper in the workspace, because packages and
clones bring them along. `autorun_paths = [\"**/.envrc\"]` adds them.
";

fn document() -> String {
    use std::fmt::Write as _;
    let mut text = HEAD.to_owned();
    let _ = write!(text, "\nThis is version {VERSION} of the list.\n");
    let titles = [
        (Place::Top, "In the workspace, and at the top of directories granted to write"),
        (Place::Bare, "In the workspace, unless it is a bare repository itself"),
        (
            Place::Repository,
            "In repositories: those called `.git` or `NAME.git`, and those that a file `.git` leads to",
        ),
        (Place::Hooks, "Where `core.hooksPath` leads; all of `.husky` if that is `.husky/_`"),
        (Place::Included, "Files that a configuration of git includes"),
        (Place::Commands, "In directories on `PATH`, outside of the workspace"),
        (Place::Home, "In home directories"),
        (Place::Config, "In `$XDG_CONFIG_HOME` and `~/.config`"),
        (Place::Data, "In `$XDG_DATA_HOME` and `~/.local/share`"),
    ];
    assert_eq!(titles.len(), Place::ALL.len());
    for (place, title) in titles {
        let _ = write!(text, "\n## {title}\n\n| file | obeyed by | when |\n|---|---|---|\n");
        for entry in place.entries() {
            let except = match entry.except {
                "" => String::new(),
                except => format!(", but for `*{except}`"),
            };
            let name = match (place, entry.pattern) {
                (Place::Included, _) => "the file".to_owned(),
                (_, pattern) => format!("`{}{pattern}`", place.written()),
            };
            let _ = writeln!(text, "| {name}{except} | {} | {} |", entry.program, entry.when);
        }
    }
    text
}

/// `UPDATE_DOCS=1` writes the document.
#[test]
fn the_document_has_the_list() {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(DOCUMENT, document()).expect("written");
    }
    let known = std::fs::read_to_string(DOCUMENT).unwrap_or_default();
    assert_eq!(known, document(), "UPDATE_DOCS=1 writes docs/autorun.md anew");
}
