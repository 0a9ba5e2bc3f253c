//! Prints shell completions: clap's scripts, with additions at the start of the function that the shell calls.

use clap::builder::{PossibleValue, Str};
use clap::{Arg, Command};
use clap_complete::Shell;

use crate::error::Failure;
use crate::{cli, output};

const NAME: &str = "jp-confine";

/// After `--` the shell completes the program's own arguments.
const BASH: &str = r#"    local at cur=${COMP_WORDS[COMP_CWORD]}
    for ((at = 1; at < COMP_CWORD; at++)); do
        [[ ${COMP_WORDS[at]} == -- ]] || continue
        if declare -F _command_offset >/dev/null; then
            _command_offset $((at + 1))
        elif ((at + 1 == COMP_CWORD)); then
            COMPREPLY=($(compgen -c -- "$cur"))
        fi
        return 0
    done
"#;

/// clap's line, which splits file names at spaces. If a function offers nothing, the shell completes file names
/// correctly.
const BASH_FILES: &str = r#"COMPREPLY=($(compgen -f "${cur}"))"#;

/// The words that paths follow. Otherwise clap would offer options before anything is typed.
const BEFORE_PATHS: &str = "explain: | read: | create: | update: | delete: | execute: | write:";

/// The same as [`BASH`], for zsh.
const ZSH: &str = r"    local at=${words[(i)--]}
    if (( at < CURRENT )); then
        shift $at words
        (( CURRENT -= at ))
        _normal
        return
    fi
";

/// The same for fish: stops clap's own offers there.
const FISH: &str = r"    contains -- -- (commandline -opc)
    and return 1
";

/// The functions that complete after [`FISH`].
const FISH_FUNCTIONS: &str = r#"
function __fish_jp_confine_program
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..]) (commandline -ct))
end

function __fish_jp_confine_behind
    set -l words (commandline -opc)
    test "$words[-1]" = $argv[1]
    and not contains -- -- $words
end

complete -c jp-confine -n "contains -- -- (commandline -opc)" -x -a "(__fish_jp_confine_program)"
"#;

/// Runs `completions`: prints the script for a shell.
pub(crate) fn print(shell: Shell) -> Result<u8, Failure> {
    output::output(&script(shell))?;
    Ok(0)
}

fn script(shell: Shell) -> String {
    let mut definition = definition_for(shell);
    if shell == Shell::Zsh {
        definition = with_plain_values(definition);
    }
    let choices = choices(&definition);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition, NAME, &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let begun = |head: &str, lines: &str| script.replacen(head, &format!("{head}{lines}"), 1);
    match shell {
        Shell::Bash => {
            let script = begun("_jp__confine() {\n", &(BASH.to_owned() + &for_bash(&choices)));
            script.replace(BASH_FILES, "COMPREPLY=()")
        }
        Shell::Zsh => begun("_jp-confine() {\n", ZSH),
        Shell::Fish => {
            let head = "function __fish_jp_confine_needs_command\n";
            begun(head, FISH) + FISH_FUNCTIONS + &for_fish(&choices)
        }
        _ => script,
    }
}

/// The part of the definition that a script for `shell` can follow. It lacks the program behind `--`: with that, the
/// script would take a subcommand's name for the program.
fn definition_for(shell: Shell) -> Command {
    // For bash, clap_complete spells a hyphen in the program's name in two ways, and then finds no subcommand (clap
    // issue 6421). So the full names of subcommands begin with a name without a hyphen.
    let name = if shell == Shell::Bash { NAME.replace('-', "__") } else { NAME.to_owned() };
    let mut whole = cli::definition().bin_name(name);
    whole.build();
    offered(&whole).name(NAME).bin_name(NAME).version(env!("CARGO_PKG_VERSION"))
}

/// The command without hidden arguments, and without those behind `--`.
fn offered(command: &Command) -> Command {
    let is_offered = |arg: &&Arg| !arg.is_hide_set() && !arg.is_last_set();
    let about = command.get_about().cloned();
    Command::new(command.get_name().to_owned())
        .bin_name(command.get_bin_name().unwrap_or_default().to_owned())
        .about(about.unwrap_or_default())
        .args(command.get_arguments().filter(is_offered))
        .subcommands(command.get_subcommands().map(offered))
        // A built definition already has these among its arguments.
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
}

/// The command without value names that zsh would take for code: zsh runs the text after a colon.
fn with_plain_values(command: Command) -> Command {
    let is_plain = |name: &Str| name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    let plain = |arg: Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        if names.iter().all(is_plain) { arg } else { arg.value_name("VALUE") }
    };
    command.mut_args(plain).mut_subcommands(with_plain_values)
}

/// Subcommands and long options that only certain words may follow, and these words.
fn choices(definition: &Command) -> Vec<(String, String)> {
    let values = |arg: &Arg| {
        let values = arg.get_possible_values();
        let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        let is_flag = arg.get_num_args().is_some_and(|count| !count.takes_values());
        (!is_flag && !names.is_empty()).then(|| names.join(" "))
    };
    let options = definition
        .get_opts()
        .filter_map(|option| Some((format!("--{}", option.get_long()?), values(option)?)));
    let commands = definition.get_subcommands().filter_map(|command| {
        Some((command.get_name().to_owned(), values(command.get_positionals().next()?)?))
    });
    options.chain(commands).collect()
}

fn for_bash(choices: &[(String, String)]) -> String {
    let choice = |(word, values): &(String, String)| {
        format!(
            "        {word}:*) COMPREPLY=($(compgen -W \"{values}\" -- \"$cur\")); return 0 ;;\n"
        )
    };
    let cases: String = choices.iter().map(choice).collect();
    let paths = format!("        {BEFORE_PATHS}) COMPREPLY=(); return 0 ;;\n");
    let word = "${COMP_WORDS[COMP_CWORD - 1]}:$cur";
    format!("    case {word} in\n        *:-*) ;;\n{paths}{cases}    esac\n")
}

/// clap's own conditions fail while the value of an option is missing.
fn for_fish(choices: &[(String, String)]) -> String {
    let choice = |(word, values): &(String, String)| {
        format!("complete -c {NAME} -n \"__fish_jp_confine_behind {word}\" -x -a \"{values}\"\n")
    };
    choices.iter().map(choice).collect()
}
