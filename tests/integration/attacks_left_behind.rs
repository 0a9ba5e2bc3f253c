//! No program outside obeys what a hostile run leaves behind, unless a person starts the project's own code.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use macro_rules_attribute::apply;

use crate::attack::{arena, call};
use crate::layers::{Holder, row, share};
use crate::run::{Mode, Run, given, skip};
use crate::scratch::Scratch;

/// Files that programs obey in a directory that a person enters or opens. This list is independent of the product's.
const OBEYED_IN_A_WORKSPACE: &[&str] = &[
    // git
    ".git/hooks/pre-commit",
    ".git/hooks/commit-msg",
    ".git/hooks/prepare-commit-msg",
    ".git/hooks/post-commit",
    ".git/hooks/post-checkout",
    ".git/hooks/post-merge",
    ".git/hooks/post-index-change",
    ".git/hooks/post-rewrite",
    ".git/hooks/pre-auto-gc",
    ".git/hooks/pre-push",
    ".git/hooks/pre-rebase",
    ".git/hooks/reference-transaction",
    ".git/config",
    ".git/config.worktree",
    ".git/info/attributes",
    ".git/modules/sub/config",
    ".git/modules/sub/hooks/post-checkout",
    ".git/modules/sub/hooks/post-commit",
    // direnv, mise
    ".envrc",
    ".direnv/bin/ls",
    ".mise.toml",
    "mise.toml",
    // Visual Studio Code, JetBrains, development containers
    ".vscode/tasks.json",
    ".vscode/launch.json",
    ".vscode/settings.json",
    ".idea/workspace.xml",
    ".idea/runConfigurations/run.xml",
    ".devcontainer/devcontainer.json",
    // agents
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".mcp.json",
    ".cursor/mcp.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".aider.conf.yml",
    // package managers and build tools, before they start the project's code
    ".cargo/config",
    ".cargo/config.toml",
    ".npmrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".bazelrc",
];

/// Files that shells, desktops and servers obey in a home directory.
const OBEYED_IN_A_HOME: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshenv",
    ".zshrc",
    ".zprofile",
    ".config/fish/config.fish",
    ".config/autostart/program.desktop",
    ".config/systemd/user/program.service",
    ".ssh/authorized_keys",
    ".ssh/config",
    ".ssh/rc",
    ".gitconfig",
    ".config/git/config",
    ".config/git/attributes",
    "bin/git",
    "bin/ls",
];

/// Commands that a person runs outside, after a run.
const AFTERWARDS: &str = "
    bash -lc true; bash -ic true </dev/null; sh -lc true
    cd \"$WS\" && ls >/dev/null
    git status; git diff; git log -1 -p; git -C sub status
    git commit -q --allow-empty -m later; git pull -q; git push -q; git fetch -q
    git checkout -q -b later; git stash; git rebase -q main; git gc -q --auto; git submodule update
    command -v direnv >/dev/null && eval \"$(direnv export bash)\"
    true";

/// Creates a workspace and a home in which a person works with git, direnv, two editors and an agent.
fn ground() -> Scratch {
    let scratch = arena(Scratch::for_ordinary_user());
    let script = "
        set -e
        cd \"$HOME/..\"
        git init -q --bare -b main remote.git; git init -q -b main library
        git -C library commit -q --allow-empty -m library
        cd \"$WS\"
        git init -q -b main; git submodule --quiet add ../library sub
        echo '*' >.gitignore; git add -f .gitignore; git commit -q -m first
        git remote add origin ../remote.git; git push -q -u origin main
        mkdir -p .vscode .idea .claude .devcontainer src
        echo '{}' | tee .vscode/settings.json >.claude/settings.json
        echo 'export PROJECT=here' >.envrc
        mkdir -p \"$HOME/bin\" \"$HOME/.config\"
        echo 'PATH=$HOME/bin:$PATH' >\"$HOME/.profile\"; echo : >\"$HOME/.bashrc\"";
    scratch.write(
        "home/.gitconfig",
        "[user]\nname = N\nemail = n@example.org\n[protocol \"file\"]\nallow = always\n",
    );
    outside(&scratch, script);
    payloads(&scratch);
    scratch.hand_over();
    scratch
}

/// Writes a payload for each kind of reader. A reader that obeys it creates the file `canary`.
fn payloads(scratch: &Scratch) {
    let canary = scratch.path("canary");
    let canary = canary.display();
    let obey = format!("touch {canary}");
    scratch.write("out/payloads/shell", &format!("#!/bin/sh\n{obey}\n"));
    scratch.write("out/payloads/data", &format!("{{\"run\": \"{obey}\"}}\n"));
    scratch.write("out/payloads/attributes", "* filter=x diff=x\n");
    let git = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {obey}; false\n\tpager = {obey}\n\
         \teditor = {obey}\n\tsshCommand = {obey}\n[filter \"x\"]\n\tclean = {obey}\n\
         [diff \"x\"]\n\ttextconv = {obey}\n[alias]\n\tst = !{obey}\n"
    );
    scratch.write("out/payloads/git", &git);
    for (list, names) in [("workspace", OBEYED_IN_A_WORKSPACE), ("home", OBEYED_IN_A_HOME)] {
        scratch.write(&format!("out/payloads/{list}"), &(names.join("\n") + "\n"));
    }
    for name in ["shell", "git", "data", "attributes"] {
        let path = scratch.path(&format!("out/payloads/{name}"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
}

/// Runs a script of a person, without confinement.
fn outside(scratch: &Scratch, script: &str) {
    let path = scratch.expand("$HOME/bin:/usr/local/bin:/usr/bin:/bin");
    let workspace = scratch.ws();
    let run = Run::sh(scratch, script).mode(Mode::Bare).env("PATH", &path);
    run.env("WS", workspace.to_str().expect("UTF-8")).run().assert_ok();
}

/// The state of every file that programs obey.
fn obeyed(scratch: &Scratch) -> BTreeMap<PathBuf, String> {
    let workspace = OBEYED_IN_A_WORKSPACE.iter().map(|name| scratch.ws().join(name));
    let home = OBEYED_IN_A_HOME.iter().map(|name| scratch.home().join(name));
    let state = |path: PathBuf| {
        let is_link = path.ancestors().any(|dir| dir.starts_with(scratch.ws()) && dir.is_symlink());
        let text = fs::read_to_string(&path).unwrap_or_else(|error| error.kind().to_string());
        (path, format!("{is_link} {text}"))
    };
    workspace.chain(home).map(state).collect()
}

/// Runs the attack, then does what a person does. Fails if a program obeys anything that the run left.
fn assert_nothing_is_obeyed(name: &str, attack: impl Fn(&Scratch)) {
    let Some(scratch) = given(&["git"], ground) else { return };
    let before = obeyed(&scratch);
    attack(&scratch);
    let after = obeyed(&scratch);
    let changed = before.iter().filter(|(path, state)| after[*path] != **state);
    let changed: Vec<_> = changed.filter(|(path, _)| !is_ordinary(path, &after[*path])).collect();
    outside(&scratch, AFTERWARDS);
    assert!(!scratch.path("canary").exists(), "a program outside obeyed: {name}");
    assert!(changed.is_empty(), "{name} changed: {changed:#?}");
}

/// Whether it is git's configuration with only ordinary changes, which need no consent.
fn is_ordinary(path: &Path, state: &str) -> bool {
    path.ends_with(".git/config") && !state.contains("touch") && !state.contains("payloads")
}

/// Calls the attack program, which may read the payloads.
fn hostile(scratch: &Scratch, flags: &str, attack: &str) {
    call(scratch, Mode::under_test(), &format!("-q {flags} -r $OUT/payloads -- {attack}"));
}

#[apply(row!)]
fn with_no_flags() {
    assert_nothing_is_obeyed("names", |scratch| {
        hostile(scratch, "", "leave_behind $OUT/payloads $OUT/payloads/workspace $WS");
        hostile(scratch, "", "leave_behind $OUT/payloads $OUT/payloads/home $HOME");
    });
}

#[apply(row!)]
fn with_the_home_granted() {
    assert_nothing_is_obeyed("names", |scratch| {
        hostile(scratch, "-w $HOME", "leave_behind $OUT/payloads $OUT/payloads/home $HOME");
    });
}

#[apply(row!)]
fn whatever_is_there_is_overwritten() {
    assert_nothing_is_obeyed("files", |scratch| {
        hostile(scratch, "-w $HOME", "overwrite_all $OUT/payloads $WS");
        hostile(scratch, "-w $HOME", "overwrite_all $OUT/payloads $HOME");
    });
}

/// Tricks that lead git elsewhere instead of changing the files that it reads.
#[apply(row!)]
fn git_is_led_nowhere_else() {
    const TRICKS: &[&str] = &[
        "mkdir -p evil; cp -r .git/objects .git/refs .git/HEAD evil; cp $P/git evil/config; echo ../evil >.git/commondir",
        "cp -r .git evil && cp $P/git evil/config; mv .git gone && mv evil .git",
        "cp -r .git evil && cp $P/git evil/config; mv .git gone; ln -s evil .git",
        "cp -r .git evil && cp $P/git evil/config; mv -T --exchange evil .git",
        "cp $P/git .git/config.lock; mv .git/config.lock .git/config",
        "mkdir hooks; cp $P/shell hooks/pre-commit; mv .git/hooks .git/gone; mv hooks .git/hooks",
        "cp $P/shell .git/hooks/pre-commit.sample; chmod +x .git/hooks/*; mv .git/hooks/pre-commit.sample .git/hooks/pre-commit",
        "cp $P/shell .git/hooks/pre-commit.sample; ln .git/hooks/pre-commit.sample .git/hooks/pre-commit",
        "git config core.fsmonitor \"$P/shell\"; git config core.hooksPath \"$P\"",
        "git config --file .git/modules/sub/config core.fsmonitor \"$P/shell\"",
        "git config extensions.worktreeConfig true; cp $P/git .git/config.worktree",
        "git config alias.status \"!$P/shell\"; git config include.path \"$P/git\"",
    ];
    for trick in share(&Holder::ALL, TRICKS) {
        assert_nothing_is_obeyed(trick, |scratch| {
            let payloads = scratch.expand("$OUT/payloads");
            let flags = ["-q", "-x", &payloads, "--profile", "git"];
            Run::sh(scratch, trick).env("P", &payloads).flags(&flags).run();
        });
    }
}

/// Without the programs that the attack targets, there is nothing to see.
#[apply(row!)]
fn the_attack_is_one() {
    if Mode::under_test() == Mode::Bare {
        return skip("it is about bare runs");
    }
    let Some(scratch) = given(&["git"], ground) else { return };
    let attack =
        scratch.expand("bin/attack leave_behind $OUT/payloads $OUT/payloads/workspace $WS");
    Run::sh(&scratch, &attack).mode(Mode::Bare).run();
    outside(&scratch, AFTERWARDS);
    assert!(scratch.path("canary").exists(), "nothing outside obeys a bare run");
}
