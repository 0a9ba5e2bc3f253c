//! Landlock's bounds, as seen by a program that dug the library's mark out of the image. Nothing else judges its calls
//! then. A grant on a missing path grants nothing around it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use macro_rules_attribute::apply;
use serde_json::Value;

use crate::attack::{arena, assert_refused, set_up};
use crate::cli_status::product;
use crate::layers::{Holder, row, share};
use crate::run::{Run, skip};
use crate::scratch::Scratch;

/// Runs each row with this as the user's configuration, and with a key in the home.
macro_rules! rows {
    ($($name:ident: $config:literal, $call:literal => $expected:literal;)*) => {
        $(
            crate::layers::row! {
                fn $name() {
                    if Holder::under_test() == Holder::Library {
                        return skip("the library alone has no bounds");
                    }
                    let setup = concat!(
                        "mkdir -p $HOME/.ssh $HOME/.config/jp-confine; echo TOPSECRET > $HOME/.ssh/id_rsa; ",
                        "cp $ATTACK $OUT/tool; ",
                        "cat > $HOME/.config/jp-confine/config.toml <<EOF\n", $config, "\nEOF\n",
                    );
                    assert_refused(setup, $call, $expected);
                }
            }
        )*
    };
}

rows! {
    notes_that_are_missing: "file_policy.read_paths = ['~/notes', '~/notes/**']",
        "i_marked , i_open $HOME/.ssh/id_rsa" => "EACCES|ENOENT";
    a_file_to_come: "file_policy.read_paths = ['~/notes/today.md']",
        "i_marked , i_open $HOME/.ssh/id_rsa" => "EACCES|ENOENT";
    a_folder_of_the_root: "file_policy.read_paths = ['/jp-confine-is-not-here/**']",
        "i_marked , i_open $OUT/secret" => "EACCES";
    deep_below_what_is_missing: "file_policy.write_paths = ['~/a/b/c/**']",
        "i_marked , i_open $HOME/.ssh/id_rsa" => "EACCES|ENOENT";
    changing_beside_what_is_missing: "file_policy.write_paths = ['~/gone', '~/gone/**']",
        "i_marked , i_write $OUT/target" => "EACCES";
    a_pattern_for_some_files: "file_policy.read_paths = ['~/*.md']",
        "i_marked , i_open $HOME/.ssh/id_rsa" => "EACCES|ENOENT";
    a_pattern_for_files_anywhere: "file_policy.read_paths = ['**/*.md']",
        "i_marked , i_open $OUT/secret" => "EACCES";
    a_pattern_for_folders: "file_policy.read_paths = ['~/*/notes/**']",
        "i_marked , i_open $HOME/.ssh/id_rsa" => "EACCES|ENOENT";
    a_folder_but_not_what_is_in_it: "file_policy.read_paths = ['~/.ssh']",
        "i_marked , i_open $HOME/.ssh/id_rsa" => "EACCES|ENOENT";
    consent_that_nobody_gave: "file_policy.prompt_paths = ['~/.ssh/**']",
        "--non-interactive -- i_marked , i_open $HOME/.ssh/id_rsa" => "EACCES|ENOENT";
    a_grant_that_a_tier_denies: "file_policy.deny_paths = ['~/.ssh/**']",
        "-r $HOME/.ssh -- i_marked , i_open $HOME/.ssh/id_rsa" => "EACCES|ENOENT";
    flags_for_what_is_missing: "", "-w $HOME/out -x $HOME/out -- i_marked , i_open $HOME/.ssh/id_rsa" => "EACCES|ENOENT";
    a_flag_for_a_missing_program: "", "-w $OUT/p -x $OUT/p -- i_marked , i_open $OUT/secret" => "EACCES";
    starting_beside_what_is_missing: "", "-w $OUT/p -x $OUT/p -- i_marked , i_exec $OUT/tool" => "EACCES";
    making_beside_what_is_missing: "", "-w $OUT/p -x $OUT/p -- i_marked , i_mkdir $OUT/new" => "EACCES";
    removing_beside_what_is_missing: "", "-w $OUT/p -- i_marked , i_unlink $OUT/target" => "EACCES";
    a_profile_for_what_is_missing: "[profiles.own]\nwrite = ['~/out']\nexec = ['~/out']",
        "--profile own -- i_marked , i_open $HOME/.ssh/id_rsa" => "EACCES|ENOENT";
}

/// Rules and options to combine: parts of a command line and of policy files.
const RULES: [&str; 7] = [
    ". read",
    ". read write",
    "src read execute",
    "target read write execute",
    "out/bin write execute",
    "secret",
    "src/deep write",
];
const OPTIONS: [&str; 9] = [
    "-r $HOME/notes",
    "-w $HOME/gone -x $HOME/gone",
    "-x $OUT/dir",
    "-w $OUT/new/p -x $OUT/new/p",
    "--deny $HOME/notes/sub",
    "-r $HOME/.private -x $OUT/tool",
    "-w $OUT/empty",
    "--deny $HOME -r $HOME/notes/sub",
    "--deny src -w src/deep",
];
const CONFIGS: [&str; 5] = [
    "read_paths = ['~/notes', '~/notes/**']",
    "read_paths = ['~/gone/**']\nwrite_paths = ['~/*/page.md']",
    "deny_paths = ['**/*.md', '<workspace>/src/**']\nwrite_paths = ['~/fresh', '~/fresh/**']",
    "prompt_paths = ['~/notes/**', '<workspace>/secret/**']",
    "default = 'deny'\nread_paths = ['<workspace>/{src,bin}/**', '**/tool']",
];

/// Number of policies to put together from these.
const ROUNDS: usize = 6;

/// The tree that the policies are tried on.
const PLANTED: &str = "mkdir -p src/deep secret $HOME/notes/sub $HOME/.ssh; \
    for f in src/tool src/deep/page.md secret/key $HOME/notes/page.md $HOME/notes/sub/tool $HOME/.ssh/id_rsa \
      $OUT/tool; do printf '#!/bin/true\n' > $f; chmod 755 $f; done; ln -s $OUT link";

/// The capabilities that a program with the mark has on each path.
fn swept(scratch: &Scratch, flags: &[&str], paths: &[PathBuf]) -> BTreeMap<PathBuf, String> {
    let list: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    let list = list.join("\n");
    scratch.write("ws/bin/list", &list);
    let attack = scratch.path("ws/bin/attack");
    let line = ["i_marked", ",", "i_sweep", "bin/list"];
    let flags: Vec<&str> = flags.iter().copied().chain(["-x", "bin", "-r", "bin"]).collect();
    let run = Run::new(scratch, attack.to_str().expect("UTF-8"), &line).flags(&flags).run();
    run.assert_ok();
    let lines = run.stdout.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(path, done)| (PathBuf::from(path), done.to_owned())).collect()
}

/// The capabilities that the policy grants on a path, as letters.
fn allowed(scratch: &Scratch, flags: &[&str], path: &Path) -> String {
    let path = path.to_str().expect("UTF-8");
    let args: Vec<&str> = flags
        .iter()
        .copied()
        .chain(["-x", "bin", "-r", "bin", "explain", "--json", path])
        .collect();
    let told = product(scratch, &args).run();
    let told: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|_| panic!("{told}"));
    let letters =
        [("read", 'r'), ("create", 'c'), ("update", 'u'), ("delete", 'd'), ("execute", 'x')];
    let of = |name: &str| letters.iter().find(|(known, _)| *known == name).expect("known").1;
    let all = told["capabilities"].as_array().expect("a list");
    let allowed = all.iter().filter(|one| one["verdict"] != "deny");
    allowed.map(|one| of(one["capability"].as_str().expect("a name"))).collect()
}

/// The capabilities that justify `done`: the policy must allow one of them on the path or above it.
fn needed(done: char) -> &'static str {
    match done {
        // A process that creates a file reads and updates it. The kernel reads the programs that it starts
        // (docs/enforcement.md).
        'r' => "rcx",
        'u' => "uc",
        'c' => "c",
        'd' => "d",
        // If a directory for programs is missing, readable files beside it start, too.
        _ => "xr",
    }
}

/// The policy allows every capability of the program on that path or on a directory above it.
#[apply(row!)]
fn the_mark_opens_no_more_than_what_is_around() {
    if Holder::under_test() == Holder::Library {
        return skip("the library alone has no bounds");
    }
    let mut count = 0;
    for round in share(&Holder::OF_STATIC, 0..ROUNDS) {
        let scratch = arena(Scratch::new());
        set_up(&scratch, PLANTED);
        let text = |line: &&str| {
            let (path, caps) = line.split_once(' ').unwrap_or((line, ""));
            let caps: Vec<_> = caps.split_whitespace().map(|cap| format!("{cap} = true")).collect();
            let caps = caps.join("\n");
            format!("[[access.fs]]\npath = '{path}'\n{caps}\n")
        };
        let chosen = |of: usize| {
            move |(place, _): &(usize, &&str)| (round * 5 + place * of).is_multiple_of(3)
        };
        let rules = RULES.iter().enumerate().filter(chosen(2)).map(|(_, rule)| text(rule));
        let rules: String = if round % 4 == 3 { String::new() } else { rules.collect() };
        scratch.write("ws/jp-confine.toml", &rules);
        let config = format!("[file_policy]\n{}\n", CONFIGS[round % CONFIGS.len()]);
        scratch.write("home/.config/jp-confine/config.toml", &config);
        let options = OPTIONS.iter().enumerate().filter(chosen(1)).map(|(_, option)| *option);
        let options = scratch.expand(&options.collect::<Vec<_>>().join(" "));
        let options: Vec<&str> =
            options.split_whitespace().chain(["--non-interactive", "-q"]).collect();
        let names = [
            "ws",
            "ws/file",
            "ws/dir",
            "ws/src",
            "ws/src/tool",
            "ws/src/deep",
            "ws/src/deep/page.md",
            "ws/secret",
            "ws/secret/key",
            "home",
            "home/notes",
            "home/notes/page.md",
            "home/notes/sub",
            "home/notes/sub/tool",
            "home/.ssh",
            "home/.ssh/id_rsa",
            "home/.private/key",
            "out",
            "out/secret",
            "out/tool",
            "out/dir",
            "out/dir/inner",
            "out/empty",
            "",
        ];
        let paths: Vec<PathBuf> =
            names.iter().map(|name| scratch.path(name).components().collect()).collect();
        let mut policy = BTreeMap::new();
        for (path, done) in swept(&scratch, &options, &paths) {
            // On the entry, on a directory above it, or on an entry of that directory.
            let around = path.ancestors().filter(|path| path.starts_with(scratch.path("")));
            let around: Vec<_> =
                around.flat_map(|path| [path.to_owned(), path.join("new")]).collect();
            for one in done.chars() {
                let is_allowed = around.iter().any(|path| {
                    let all = policy
                        .entry(path.clone())
                        .or_insert_with_key(|path| allowed(&scratch, &options, path));
                    all.contains(|it| needed(one).contains(it))
                });
                assert!(
                    is_allowed,
                    "round {round}, {one} on {}: {options:?}\n{rules}{config}",
                    path.display()
                );
                count += 1;
            }
        }
    }
    assert!(count > 10, "it can do too little to say anything");
}
