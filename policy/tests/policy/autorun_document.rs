//! Checks that `docs/autorun.md` shows the built-in list of auto-run files.

use jp_confine_policy::autorun::list::{Place, VERSION};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/autorun.md");

/// The text above the lists.
const HEAD: &str = "\
# Auto-run files

Some programs obey files of a directory before anybody starts the code in it: git its hooks, editors their tasks, shells
their start files. A run may read these files and not change them. To create, update, delete, rename or link one is a
question, once in a run. Without a terminal the answer is a denial that names the way out. This is so whatever is granted
above the file, by a rule, an option or the workspace itself.

- `--allow-autorun GLOB` lets one run change what matches, for instance `--allow-autorun '.git/hooks/**'`. A glob begins
  in the working directory, unless it begins with `/`, `~/`, `<workspace>` or `**`.
- A rule or an option that names the file itself, or the directory of a pattern that ends in `/**`, allows it for good.
  For a rule there is a warning at the start.
- `access.autorun_paths` adds patterns, in the user's configuration and in a workspace's file. Nothing takes any away.
- `jp-confine explain PATH` says whether a file is one of them, and who obeys it.

A run may make and remove empty directories of these names. Where a run is started in a directory below the workspace,
that directory and those between count as the workspace does. So does each directory outside that a rule or an option
grants to write. What a tool profile grants by itself holds caches, and does not count.

Repositories count at any depth, because `git status` looks into those inside. One further down may be deleted with all
that is in it. A run may make one: what git writes by itself is allowed. A `.git` file, as of a worktree or a submodule, has
the supervisor write: it leads to where git keeps that, whatever the program writes.

direnv and mise ask before they obey a file that changed. The list has their files all the same.

The list does not have what a person starts knowingly: build scripts, `Makefile`, `package.json`, tests, and what an
unfinished `git rebase` will execute. Files of these names deeper in the workspace are not on it either: packages and
clones bring them along. `autorun_paths = [\"**/.envrc\"]` adds them.
";

fn document() -> String {
    use std::fmt::Write as _;
    let mut text = HEAD.to_owned();
    let _ = write!(text, "\nThis is version {VERSION} of the list.\n");
    let titles = [
        (Place::Top, "In the workspace, and at the top of what is granted to write"),
        (Place::Bare, "In the workspace, if it is no repository without a directory of files"),
        (
            Place::Repository,
            "In repositories, which are called `.git` or `NAME.git`, and where a file `.git` leads",
        ),
        (Place::Hooks, "Where `core.hooksPath` leads; all of `.husky` if that is `.husky/_`"),
        (Place::Included, "What a configuration of git includes"),
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
