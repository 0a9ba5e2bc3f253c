//! Generates `docs/commands/`, a page for each command, from the definition of the command line.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Arg, Command};

use crate::cli::definition;

/// The page of the options that every command takes.
const COMMON: &str = "README";

/// A text of the definition: a line of its own, or lines as they are.
fn text(text: &str) -> String {
    if text.contains('\n') {
        format!("```text\n{}\n```\n", text.trim_end())
    } else {
        format!("{text}\n")
    }
}

/// A list of arguments, each with its help.
fn list<'a>(title: &str, arguments: impl Iterator<Item = &'a Arg>) -> String {
    let mut list = String::new();
    for argument in arguments.filter(|argument| !argument.is_hide_set()) {
        let help = argument.get_long_help().or(argument.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        let _ =
            writeln!(list, "- {}: {}", names(argument), help.replace("\n\n", "\n  ").trim_end());
        let values = argument.get_possible_values();
        let is_shown = |value: &&PossibleValue| {
            !value.is_hide_set() && !argument.is_hide_possible_values_set()
        };
        for value in values.iter().filter(is_shown) {
            let help = value.get_help().map(|help| format!(": {help}")).unwrap_or_default();
            let _ = writeln!(list, "  - `{}`{help}", value.get_name());
        }
    }
    if list.is_empty() { list } else { format!("\n{title}\n\n{list}") }
}

/// How an argument is typed: `-r, --read <PATH>`.
fn names(argument: &Arg) -> String {
    let short = argument.get_short().filter(|_| !argument.is_positional());
    let short = short.map(|short| format!("`-{short}`, ")).unwrap_or_default();
    format!("{short}`{argument}`")
}

/// The text below the title of a command: its purpose, its usage, and the arguments that not all commands take.
fn body(command: &Command, common: &[&Arg], depth: &str) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    let lines = usage.trim_start_matches("Usage:").lines().map(str::trim);
    let usage = lines.collect::<Vec<_>>().join("\n");
    let mut page = format!("{}\n```text\n{usage}\n```\n", text(&about.unwrap_or_default()));
    // A command's own `--json` is another one than that of a run.
    let is_own = |one: &Arg, other: &Arg| one != other || one.get_help() != other.get_help();
    let own = |argument: &&Arg| common.iter().all(|other| is_own(argument, other));
    page += &list(&format!("{depth} Arguments"), command.get_positionals().filter(own));
    let options = command.get_arguments().filter(|argument| !argument.is_positional());
    page += &list(&format!("{depth} Options"), options.filter(own));
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        let _ = write!(page, "\n{}", text(&after.to_string()));
    }
    page
}

/// Whether it is a command of its own. `help` only shows the others.
fn has_page(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

/// The page of a command, with a section for each of its own commands.
fn page(command: &Command, common: &[&Arg]) -> String {
    let name = command.get_name();
    let mut page = format!("# jp-confine {name}\n\n{}", body(command, common, "##"));
    for inner in command.get_subcommands().filter(|one| has_page(one)) {
        let _ = write!(page, "\n## {name} {}\n\n{}", inner.get_name(), body(inner, common, "###"));
    }
    page + &format!("\nIt also takes the [options of every command]({COMMON}.md).\n")
}

/// All pages, by their names.
fn pages() -> Vec<(String, String)> {
    let mut definition = definition();
    definition.build();
    let common: Vec<&Arg> = definition.get_arguments().collect();
    let shown = || definition.get_subcommands().filter(|one| has_page(one));
    let mut first = format!("# Commands\n\n{}\n## Subcommands\n\n", body(&definition, &[], "##"));
    for command in shown() {
        let (name, about) = (command.get_name(), command.get_about().unwrap_or_default());
        let _ = writeln!(first, "- [`{name}`]({name}.md): {about}");
    }
    let others = shown().map(|command| (command.get_name().to_owned(), page(command, &common)));
    std::iter::once((COMMON.to_owned(), first)).chain(others).collect()
}

/// `UPDATE_DOCS=1` writes the pages anew, and removes those of commands that are gone.
#[test]
fn every_command_has_its_page() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands");
    let file = |name: &str| directory.join(format!("{name}.md"));
    let pages: Vec<(PathBuf, String)> =
        pages().into_iter().map(|(name, page)| (file(&name), page)).collect();
    let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
    let stale =
        entries.map(|entry| entry.path()).filter(|it| pages.iter().all(|(path, _)| path != it));
    let stale: Vec<PathBuf> = stale.collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        for path in &stale {
            fs::remove_file(path).expect("a page");
        }
        fs::create_dir_all(&directory).expect("a directory");
        for (path, page) in &pages {
            fs::write(path, page).expect("a page");
        }
        return;
    }
    assert_eq!(stale, Vec::<PathBuf>::new(), "no command has these pages: run with UPDATE_DOCS=1");
    for (path, page) in pages {
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == page, "{} is out of date: run with UPDATE_DOCS=1", path.display());
    }
}
