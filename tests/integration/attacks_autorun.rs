//! Auto-run files, which programs outside obey: no call may change them unless the user names them.

use jp_confine_engine::autorun::list::{Entry, Place};
use macro_rules_attribute::apply;

use crate::attack::{answers, arena, assert_refused, attacks, set_up};
use crate::layers::{Holder, row};
use crate::run::{Mode, Run, given, skip};
use crate::scratch::Scratch;

attacks! {
    write_to_one: "echo x >.envrc", "write .envrc" => "EACCES";
    make_one: ":", "write_excl .envrc" => "EACCES";
    make_by_creat: ":", "creat .envrc" => "EACCES";
    make_in_a_directory: "mkdir .vscode", "write_excl .vscode/tasks.json" => "EACCES";
    truncate_one: "echo x >.envrc", "truncate .envrc" => "EACCES";
    remove_one: "echo x >.envrc", "unlink .envrc" => "EACCES";
    remove_by_its_directory: "echo x >.envrc", "unlinkat .envrc" => "EACCES";
    move_one_away: "echo x >.envrc", "rename .envrc gone" => "EACCES";
    move_onto_one: "echo x >.envrc; echo y >new", "rename new .envrc" => "EACCES";
    move_to_where_one_would_be: "echo y >new", "rename new .envrc" => "EACCES";
    change_places_with_one: "echo x >.envrc; echo y >new", "exchange new .envrc" => "EACCES";
    link_one_elsewhere: "echo x >.envrc", "link .envrc other" => "EACCES";
    link_to_where_one_would_be: "echo y >new", "link new .envrc" => "EACCES";
    symlink_to_where_one_would_be: ":", "symlink new .envrc" => "EACCES";
    fifo_where_one_would_be: ":", "mkfifo .envrc" => "EACCES";
    socket_where_one_would_be: ":", "bind .envrc" => "EACCES";
    mode_of_one: "echo x >.envrc", "chmod .envrc" => "EACCES";
    through_a_symlink: "echo x >.envrc; ln -s .envrc way", "write way" => "EACCES";
    through_a_symlink_to_what_is_missing: "ln -s .envrc way", "creat way" => "EACCES";
    through_a_directory: "mkdir .vscode; ln -s .vscode way", "write_excl way/tasks.json" => "EACCES";
    by_the_name_of_a_symlink: "mkdir tools; ln -s tools .vscode", "write_excl .vscode/tasks.json" => "EACCES";
    remove_by_the_name_of_a_symlink: "mkdir tools; echo x >tools/tasks.json; ln -s tools .vscode", "unlink .vscode/tasks.json" => "EACCES";
    directory_with_one_away: "mkdir .vscode; echo x >.vscode/tasks.json", "rename .vscode gone" => "EACCES";
    directory_of_hooks_away: "mkdir -p .git/hooks", "rename .git/hooks gone" => "EACCES";
    repository_away: "mkdir .git", "rename .git gone" => "EACCES";
    file_for_a_repository: ":", "write_excl .git" => "EACCES";
    symlink_for_a_repository: "mkdir evil", "symlink evil .git" => "EACCES";
    file_of_a_worktree: "mkdir -p .git/worktrees/w other; touch other/.git; echo $PWD/other/.git >.git/worktrees/w/gitdir", "write other/.git" => "EACCES";
    file_of_a_submodule: "mkdir -p .git/modules/a/b sub; touch .git/modules/a/b/HEAD sub/.git; printf '[core]\\nworktree = ../../../../sub\\n' >.git/modules/a/b/config", "write sub/.git" => "EACCES";
    hook_further_down: "mkdir -p a/b/.git/hooks", "write_excl a/b/.git/hooks/post-index-change" => "EACCES";
    hook_from_a_sample: "mkdir -p .git/hooks; touch .git/hooks/a.sample", "rename .git/hooks/a.sample .git/hooks/a" => "EACCES";
    common_directory: "mkdir .git", "write_excl .git/commondir" => "EACCES";
    worktree_of_somebody: "mkdir -p .git/worktrees/w other; touch other/.git; echo $PWD/other/.git >.git/worktrees/w/gitdir; echo $PWD >.git/worktrees/w/commondir", "write .git/worktrees/w/commondir" => "EACCES";
    file_for_a_repository_further_down: "mkdir sub", "write_excl sub/.git" => "EACCES";
    move_to_a_repository_further_down: "mkdir sub; echo x >new", "rename new sub/.git" => "EACCES";
    link_to_a_repository_further_down: "mkdir sub; echo x >new", "link new sub/.git" => "EACCES";
    directory_for_a_repository_further_down: "mkdir sub new", "rename new sub/.git" => "EACCES";
    symlink_for_a_repository_further_down: "mkdir sub evil", "symlink ../evil sub/.git" => "EACCES";
    hook_of_a_repository_without_files: "mkdir -p a/b.git/hooks", "write_excl a/b.git/hooks/update" => "EACCES";
    file_for_a_repository_without_files: ":", "write_excl b.git" => "EACCES";
    symlink_for_a_repository_without_files: "mkdir evil", "symlink evil b.git" => "EACCES";
    symlink_for_a_worktree: "mkdir -p .git/worktrees evil", "symlink ../../evil .git/worktrees/n" => "EACCES";
    configuration_of_a_worktree: "mkdir -p .git/worktrees/n", "write_excl .git/worktrees/n/config" => "EACCES";
    remote_without_configuration: "mkdir -p .git/remotes", "write_excl .git/remotes/origin" => "EACCES";
    branch_that_names_a_remote: "mkdir -p .git/branches", "write_excl .git/branches/origin" => "EACCES";
    repository_without_files: ":", "write_excl HEAD" => "EACCES";
    where_hooks_are_elsewhere: "mkdir -p .git .husky/_; printf '[core]\\nhooksPath = .husky/_\\n' >.git/config", "write_excl .husky/pre-commit" => "EACCES";
    included_configuration: "mkdir .git; printf '[include]\\npath = ../shared\\n' >.git/config; touch shared", "write shared" => "EACCES";
    in_a_home_that_is_granted: ":", "-w $HOME -- write_excl $HOME/.bashrc" => "EACCES";
    in_a_directory_that_is_granted: "mkdir $OUT/p", "-w $OUT/p -- write_excl $OUT/p/.envrc" => "EACCES";
    repository_of_a_directory_that_is_granted: "mkdir -p $OUT/p/.git/hooks", "-w $OUT/p -- write_excl $OUT/p/.git/hooks/update" => "EACCES";
    repository_that_is_granted: "mkdir -p $OUT/p/.git/hooks", "-w $OUT/p/.git -- write_excl $OUT/p/.git/hooks/update" => "EACCES";
    by_a_rule_that_is_wider: "mkdir .vscode", "-w . -w .vscode -- write_excl .vscode/tasks.json" => "EACCES";
}

macro_rules! by_instruction {
    ($($name:ident: $setup:literal, $call:literal => $expected:literal;)*) => {
        $(
            crate::layers::row! {
                fn $name() {
                    if Holder::under_test() == Holder::Library {
                        return skip("the library alone does not see system calls by instruction");
                    }
                    assert_refused($setup, $call, $expected);
                }
            }
        )*
    };
}

by_instruction! {
    configuration_of_a_repository_without_files: "mkdir -p b.git", "i_creat b.git/config" => "EACCES";
    remote_of_a_submodule: "mkdir -p .git/modules/a/remotes", "i_creat .git/modules/a/remotes/origin" => "EACCES";
    by_the_processor: "echo x >.envrc", "i_write .envrc" => "EACCES";
    make_by_the_processor: ":", "i_creat .envrc" => "EACCES";
    remove_by_the_processor: "echo x >.envrc", "i_unlink .envrc" => "EACCES";
    move_by_the_processor: "echo x >new", "i_rename new .envrc" => "EACCES";
    symlink_by_the_processor: ":", "i_symlink new .envrc" => "EACCES";
    mode_by_the_processor: "echo x >.envrc", "i_chmod .envrc" => "EACCES";
}

/// The path of an entry in a scratch tree, as a word of the shell.
fn place(place: Place, entry: &Entry) -> Option<String> {
    let begin = match place {
        Place::Top | Place::Bare => "",
        Place::Repository => ".git/",
        Place::Home => "$HOME/",
        Place::Config => "$HOME/.config/",
        Place::Data => "$HOME/.local/share/",
        // Other files name these places.
        Place::Hooks | Place::Included | Place::Commands => return None,
    };
    Some(format!("{begin}{}", entry.pattern.replace("**", "x").replace('*', "y")))
}

fn all() -> Vec<String> {
    // Entries that may be removed have rows of their own.
    let stays = |entry: &&Entry| !entry.may_go;
    let of =
        |it: Place| it.entries().iter().filter(stays).filter_map(move |entry| place(it, entry));
    Place::ALL.into_iter().flat_map(of).collect()
}

/// Each entry of the list can be read, but not created, updated, moved or deleted.
#[apply(row!)]
fn every_entry_of_the_list() {
    let scratch = arena(Scratch::new());
    let made: Vec<String> =
        all().iter().map(|path| format!("mkdir -p \"$(dirname {path})\"")).collect();
    set_up(&scratch, &format!("mkdir .git; {}; echo y >new", made.join("; ")));
    // The user's own files, in whose place a run sees caches otherwise.
    let flags = ["--non-interactive", "--cache", "none", "-w", &scratch.expand("$HOME")];
    let say = |lines: &[String]| {
        let lines: Vec<String> = lines.iter().map(|line| scratch.expand(line)).collect();
        let lines = lines.iter().map(String::as_str);
        answers(lines, |script| Run::sh(&scratch, script).flags(&flags).run()).0
    };
    // Here `.git` is a directory. A file `HEAD` would make the workspace a repository without `.git`.
    let elsewhere = [".git", "HEAD"];
    let paths: Vec<String> =
        all().into_iter().filter(|path| !elsewhere.contains(&path.as_str())).collect();
    let on_each = |call: &str| -> Vec<String> {
        paths.iter().map(|path| call.replace("PATH", path)).collect()
    };
    let refused = |call: &str| {
        for (path, said) in paths.iter().zip(say(&on_each(call))) {
            assert_eq!(said, "EACCES", "{call} {path}");
        }
    };
    for missing in ["write_excl PATH", "symlink new PATH", "rename new PATH", "link new PATH"] {
        refused(missing);
    }
    let made: Vec<String> = paths.iter().map(|path| format!("echo z >{path}")).collect();
    set_up(&scratch, &made.join("; "));
    for there in ["write PATH", "truncate PATH", "unlink PATH", "rename PATH gone", "chmod PATH"] {
        refused(there);
    }
    for (path, said) in paths.iter().zip(say(&on_each("open PATH"))) {
        // A grant on a home does not include the secrets in it.
        let secret = [
            "/.ssh/",
            "/.gnupg/",
            "/.npmrc",
            "/.yarnrc.yml",
            "/.gradle/gradle.properties",
            "/.m2/settings.xml",
        ];
        let is_sensitive = secret.iter().any(|name| path.contains(name));
        assert!(said.starts_with("ok") || is_sensitive, "{path}: {said}");
    }
}

/// The script that revealed the gap.
#[apply(row!)]
fn nothing_of_four_is_written() {
    let Some(scratch) = given(&["git"], Scratch::new) else { return };
    Run::new(&scratch, "git", &["init", "-q"]).mode(Mode::Bare).run().assert_ok();
    let before = scratch.read("ws/.git/config");
    let script = "echo x >.git/hooks/pre-commit; git config core.fsmonitor /x; mkdir .vscode; \
                  echo x >.vscode/tasks.json; echo x >.envrc";
    let run = Run::sh(&scratch, script).run();
    assert_eq!(scratch.read("ws/.git/config"), before, "{run}");
    for name in [".git/hooks/pre-commit", ".vscode/tasks.json", ".envrc"] {
        assert!(!scratch.ws().join(name).exists(), "{name}: {run}");
    }
    if Holder::under_test() != Holder::Library {
        run.assert_stderr("auto-run file").assert_stderr("--allow-autorun /");
    }
}
