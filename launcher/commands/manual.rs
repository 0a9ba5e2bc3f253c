//! Renders the manual page from the definition of the command line.

use std::io;

use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::error::Failure;
use crate::{cli, output};

/// The exit statuses of spec §18.
const STATUSES: &[(&str, &str)] = &[
    ("N", "the program's own, or 0 where nothing was to be run and all is well"),
    ("128+N", "signal N ended the program"),
    ("1", "of check and authorize: some paths are denied"),
    ("2", "of check: some paths would be asked about, and none is denied"),
    (
        "125",
        "jp-confine failed, or was misused: nothing was run, the supervisor was killed, which ends the run, or what was \
         learned is not written",
    ),
    ("126", "the program may not be, or cannot be, executed"),
    ("127", "there is no such program"),
];

const FILES: &[(&str, &str)] = &[
    (
        "jp-confine.toml",
        "the policy of a workspace, at its root. It marks the root, may be committed, and cannot be \
         changed by what runs under it. init writes one to start with.",
    ),
    (
        "$XDG_CONFIG_HOME/jp-confine/config.toml",
        "the user's own policy and profiles, below all others",
    ),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("HOME", "what ~ stands for, and what is hidden where nothing is granted"),
    ("XDG_CONFIG_HOME", "where the user's policy is; ~/.config where it is unset"),
    ("XDG_DATA_HOME", "where jp-confine's own data is; ~/.local/share where it is unset"),
    ("PATH", "where the program is looked for"),
    (
        "TMPDIR",
        "where the private directory for temporary files is made; the program gets its path in TMPDIR",
    ),
    ("NO_COLOR", "no colours, unless it is empty"),
    ("TERM", "no colours where it is unset, or dumb"),
];

const EXAMPLES: &[(&str, &str)] = &[
    ("jp-confine -- cargo build", "build, and touch nothing but the workspace"),
    ("jp-confine -r ~/data -- python3 job.py", "and read a folder elsewhere"),
    ("jp-confine --deny .env -- make test", "and keep a file away"),
    ("jp-confine explain ~/.ssh/id_ed25519", "which rule decides, and why"),
    ("jp-confine check --json update src/main.rs", "what a tool may do, for a program to read"),
    (
        "jp-confine authorize read --source read_file --json /home/me/project/README.md",
        "whether a tool may read an absolute path, and where that leads",
    ),
    (
        "mkdir -p ~/.local/share/man/man1 && jp-confine man > ~/.local/share/man/man1/jp-confine.1",
        "install this page; man jp-confine finds it where ~/.local/bin is on PATH",
    ),
    (
        "mkdir -p ~/.local/share/bash-completion/completions && \
         jp-confine completions bash > ~/.local/share/bash-completion/completions/jp-confine",
        "complete the command line in bash",
    ),
    (
        "mkdir -p ~/.config/fish/completions && \
         jp-confine completions fish > ~/.config/fish/completions/jp-confine.fish",
        "the same in fish; zsh has it from a file _jp-confine in a directory on its fpath",
    ),
];

/// Runs `man`: prints the manual page.
pub(crate) fn page() -> Result<u8, Failure> {
    let mut page = Vec::new();
    render(&mut page)?;
    output::output(&String::from_utf8_lossy(&page))?;
    Ok(0)
}

fn render(page: &mut Vec<u8>) -> io::Result<()> {
    // This page has its own section for exit statuses.
    let definition = cli::definition().after_help("");
    // The version is in the place of a date: an empty one would shift the fields after it.
    let man = Man::new(definition.clone())
        .date(env!("CARGO_PKG_VERSION"))
        .source("jp-confine")
        .manual("User Commands");
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    commands(definition).to_writer(page)?;
    for (title, entries) in [
        ("EXIT STATUS", STATUSES),
        ("FILES", FILES),
        ("ENVIRONMENT", ENVIRONMENT),
        ("EXAMPLES", EXAMPLES),
    ] {
        list(title, entries).to_writer(page)?;
    }
    Ok(())
}

/// The commands, each with its operands and with its options beyond the common ones.
fn commands(mut definition: Command) -> Roff {
    definition.build();
    let of_all: Vec<_> = definition.get_arguments().map(|arg| arg.get_id().clone()).collect();
    let mut page = Roff::new();
    page.control("SH", ["COMMANDS"]);
    for command in definition.get_subcommands() {
        let name = command.get_name();
        let operands: Vec<String> = command.get_positionals().map(ToString::to_string).collect();
        page.control("TP", []);
        page.text([bold(name), roman(format!(" {}", operands.join(" ")))]);
        page.text([roman(command.get_about().unwrap_or_default().to_string())]);
        let own = |option: &&Arg| !option.is_positional() && !of_all.contains(option.get_id());
        for option in command.get_arguments().filter(own).filter(|option| !option.is_hide_set()) {
            page.control("RS", []);
            page.control("TP", []);
            page.text([bold(option.to_string())]);
            page.text([roman(option.get_help().unwrap_or_default().to_string())]);
            page.control("RE", []);
        }
    }
    page
}

/// A section of names and their meanings.
fn list(title: &str, entries: &[(&str, &str)]) -> Roff {
    let mut page = Roff::new();
    page.control("SH", [title]);
    for (name, meaning) in entries {
        page.control("TP", []);
        page.text([bold(*name)]);
        page.text([roman(*meaning)]);
    }
    page
}
