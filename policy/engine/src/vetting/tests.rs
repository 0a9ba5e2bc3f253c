//! Rows of changes that pass or do not, with git itself as the judge of what changed.

use std::collections::HashMap;
use std::format;
use std::io::Write as _;
use std::process::Command;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::{Unvetted, Vetted, vet};
use crate::vetting::facts::Facts;

const OLD: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\thooksPath = .husky\n\
    [user]\n\tname = One\n[remote \"origin\"]\n\turl = https://host.test/a\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
    [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

fn facts<'a>(directory: &'a str, own: &'a dyn Fn(&[u8]) -> bool) -> Facts<'a> {
    Facts {
        directory: directory.as_bytes(),
        workspace: b"/w",
        is_out_of_reach: &|path| path.starts_with(b"/safe/"),
        is_own_remote: own,
    }
}

fn vet_in(directory: &str, old: &str, new: &str) -> Result<Vetted, Unvetted> {
    vet(old.as_bytes(), new.as_bytes(), &facts(directory, &|name| name == b"own"))
}

fn added(text: &str) -> Result<Vetted, Unvetted> {
    vet_in("/w/.git", OLD, &format!("{OLD}{text}\n"))
}

fn changes(names: &[&str]) -> Result<Vetted, Unvetted> {
    Err(Unvetted::Changes(names.iter().map(ToString::to_string).collect()))
}

#[test]
fn ordinary_additions_pass() {
    for text in [
        "[branch \"x\"]\nremote = origin\nmerge = refs/heads/x",
        "[branch \"x\"]\nremote = .\nmerge = refs/heads/main\nrebase = true",
        "[branch \"a.b/c\"]\ndescription = one\\ntwo",
        "[branch]\nautoSetupMerge = always",
        "[BRANCH \"X\"]\nPushRemote = origin",
        "[branch.x]\nremote = origin",
        "[branch \"x\"]\nremote = https://host.test/other",
        "[remote \"up\"]\nurl = git@host.test:a/b.git\nfetch = +refs/heads/*:refs/remotes/up/*",
        "[remote \"up\"]\nurl = ssh://me@host.test:22/~me/a\npushurl = https://u:p@host.test/a%20b",
        "[remote \"up/stream\"]\nurl = git://host.test/a\ntagOpt = --no-tags",
        "[remote \"up\"]\nurl = host:path with",
        "[remote \"up\"]\nurl = /safe/repository.git",
        "[remote \"up\"]\nurl = file:///safe/repository/",
        "[user]\nname = Two # comment\nemail = \"a b\"",
        "[user] signingKey = key",
        "[submodule \"s\"]\nactive = true\nurl = https://host.test/s\nupdate = rebase",
        "[submodule]\nactive = .",
        "[core]\nsparseCheckout = true\n[index]\nsparse = true",
        "[extensions]\nworktreeConfig = true\nobjectFormat = sha256\nrefStorage = reftable",
        "[alias]\n[include]\n# [core] fsmonitor = x",
    ] {
        let expected = !text.contains("path with");
        assert_eq!(added(text).is_ok(), expected, "{text}: {:?}", added(text));
    }
}

#[test]
fn what_starts_programs_does_not_pass() {
    for (text, name) in [
        ("[core]\nfsmonitor = /x", "core.fsmonitor"),
        ("[CORE]\nFSMonitor = /x", "core.fsmonitor"),
        ("[core] fsmonitor = /x", "core.fsmonitor"),
        ("[core]\nfsmonitor", "core.fsmonitor"),
        ("[core]\nhooksPath = x", "core.hookspath"),
        ("[core]\nsshCommand = x", "core.sshcommand"),
        ("[core]\npager = x", "core.pager"),
        ("[core]\neditor = x", "core.editor"),
        ("[core]\nattributesFile = x", "core.attributesfile"),
        ("[core]\nworktree = ../x", "core.worktree"),
        ("[alias]\nx = !sh", "alias.x"),
        ("[alias \"a\"]\ncommand = !sh", "alias.a.command"),
        ("[include]\npath = x", "include.path"),
        ("[includeIf \"gitdir:/\"]\npath = x", "includeif.gitdir:/.path"),
        ("[filter \"x\"]\nclean = x", "filter.x.clean"),
        ("[filter.x]\nclean = x", "filter.x.clean"),
        ("[diff \"x\"]\ntextconv = x", "diff.x.textconv"),
        ("[merge \"x\"]\ndriver = x", "merge.x.driver"),
        ("[credential]\nhelper = !x", "credential.helper"),
        ("[gpg]\nprogram = x", "gpg.program"),
        ("[gpg \"ssh\"]\nprogram = x", "gpg.ssh.program"),
        ("[url \"ext::x\"]\ninsteadOf = https://", "url.ext::x.insteadof"),
        ("[url \"x\"]\npushInsteadOf = y", "url.x.pushinsteadof"),
        ("[protocol \"ext\"]\nallow = always", "protocol.ext.allow"),
        ("[remote \"origin\"]\nuploadpack = x", "remote.origin.uploadpack"),
        ("[remote \"origin\"]\nreceivepack = x", "remote.origin.receivepack"),
        ("[remote \"origin\"]\nvcs = x", "remote.origin.vcs"),
        ("[remote \"origin\"]\nproxy = x", "remote.origin.proxy"),
        ("[remote \"origin\"]\nmirror = true", "remote.origin.mirror"),
        ("[remote \"origin\"]\npromisor = true", "remote.origin.promisor"),
        ("[remote]\npushDefault = origin", "remote.pushdefault"),
        ("[submodule \"s\"]\nupdate = !x", "submodule.s.update"),
        ("[submodule \"s\"]\nurl = ext::x", "submodule.s.url"),
        ("[extensions]\npartialClone = origin", "extensions.partialclone"),
        ("[extensions]\nother = x", "extensions.other"),
        ("[user \"x\"]\nname = y", "user.x.name"),
        ("[branch \"x\"]\ndescription = a \\\n[core]", "branch.x.description"),
        ("[branch \"x\"]\nmerge", "branch.x.merge"),
        ("[branch \"x\"]\nremote = elsewhere", "branch.x.remote"),
        ("[branch \"x\"]\nremote = ./elsewhere", "branch.x.remote"),
        ("[branch \"x\"]\npushRemote = ext::x", "branch.x.pushremote"),
        ("[remote \"-x\"]\nurl = https://host.test/", "remote.-x.url"),
        ("[remote \".\"]\nurl = https://host.test/", "remote...url"),
        ("[remote \"https://a\"]\nurl = https://host.test/", "remote.https://a.url"),
    ] {
        assert_eq!(added(text), changes(&[name]), "{text}");
    }
}

#[test]
fn addresses_that_start_programs_do_not_pass() {
    for address in [
        "ext::sh",
        "\"ext::sh -c x\"",
        "foo::bar",
        "foo://bar",
        "HTTPS://host",
        "persistent-https://host",
        "-x",
        "--upload-pack=x",
        "ssh://-oProxyCommand=x/y",
        "ssh://me@-oProxyCommand=x/y",
        "ssh://%2doProxy/y",
        "ssh://host/-x",
        "-host:path",
        "me@-host:path",
        "host:-path",
        "host::path",
        "./x",
        "../x",
        "x",
        "x.git",
        "/w/x",
        "/elsewhere/x",
        "/safe/../w/x",
        "/safe//x",
        "/safe/./x",
        "file://host/safe/x",
        "file:///w/x",
        "file:///safe/%2e%2e/x",
        "/",
        "",
        "\"\"",
        "https://",
        "https://%0ahost/",
        "https://host/%0aprotocol=x",
        "\"https://host/a\\nb\"",
        "[::1]:x",
        ":x",
        "::x",
        "://x",
        "ssh:///x",
        "git+x://host/y",
    ] {
        let text = format!("[remote \"up\"]\nurl = {address}");
        assert_eq!(added(&text), changes(&["remote.up.url"]), "{address}");
        let text = format!("[remote \"up\"]\nurl = https://host.test/\npushurl = {address}");
        assert_eq!(added(&text), changes(&["remote.up.pushurl"]), "{address}");
    }
}

#[test]
fn what_is_taken_away_counts_as_well() {
    let without = |line: &str| vet_in("/w/.git", OLD, &OLD.replace(line, ""));
    for line in [
        "\tfilemode = true\n",
        "\tname = One\n",
        "\tmerge = refs/heads/main\n",
        "\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
    ] {
        assert!(without(line).is_ok(), "{line}");
    }
    assert_eq!(without("\thooksPath = .husky\n"), changes(&["core.hookspath"]));
    let gone = changes(&["remote.origin.url", "branch.main.remote"]);
    assert_eq!(without("\turl = https://host.test/a\n"), gone);
    assert_eq!(added("[remote \"origin\"]\nurl =").map_err(|_| ()), Err(()));
    let old = format!("{OLD}[remote \"own\"]\nurl = https://host.test/own\n");
    assert!(vet_in("/w/.git", &old, OLD).is_ok());
    let dangling = old.replace("merge", "pushRemote = own\nmerge");
    let left = OLD.replace("merge", "pushRemote = own\nmerge");
    assert_eq!(vet_in("/w/.git", &dangling, &left), changes(&["branch.main.pushremote"]));
    // A reference that was broken before is not this change's fault.
    assert!(vet_in("/w/.git", &left, &format!("{left}[user]\nname = x\n")).is_ok());
}

#[test]
fn other_variables_stay_as_they_are_written() {
    let old = format!("{OLD}[include]\n\tpath = a\n\tpath = b\n[diff \"x\"]\n\ttextconv = a  b\n");
    for (from, to, name) in [
        ("path = a\n\tpath = b", "path = b\n\tpath = a", "include.path"),
        ("path = a\n\tpath = b", "path = a\n\tpath = b\n\tpath = b", "include.path"),
        ("path = a\n", "", "include.path"),
        ("a  b", "a \tb", "diff.x.textconv"),
        ("a  b", "\"a  b\"", "diff.x.textconv"),
        ("\"x\"", "\"X\"", "diff.X.textconv"),
        ("[diff \"x\"]", "[Diff \"x\"]", "diff.x.textconv"),
    ] {
        let Err(Unvetted::Changes(names)) = vet_in("/w/.git", &old, &old.replace(from, to)) else {
            panic!("{from} as {to} passes");
        };
        assert!(names.iter().any(|it| it == name), "{from} as {to}: {names:?}");
    }
}

#[test]
fn what_readers_disagree_about_is_not_read() {
    for text in [
        "[core",
        "[core]\nx y",
        "[core]\n1 = x",
        "[a \"b\nc\"]\n",
        "[a \"b\" ]",
        "[a \"b]",
        "[]\nx = y",
        "[branch \"a\\\n\"]",
        "[user]\nname = \"x",
        "[user]\nname = \\x",
        "[user]\nname = x\0",
        "[user]\nname = x\rname = y",
        "[a b]",
        "]",
        "[a]]",
    ] {
        assert_eq!(added(text), Err(Unvetted::Unreadable), "{text:?}");
        assert_eq!(vet_in("/w/.git", text, OLD), Err(Unvetted::Unreadable), "{text:?}");
    }
    assert_eq!(vet_in("/w/.git", "", "name = x\n"), Err(Unvetted::Unreadable));
    assert!(vet_in("/w/.git", &OLD.replace('\n', "\r\n"), &OLD.replace('\n', "\r\n")).is_ok());
    assert!(vet_in("/w/.git", "", "\u{feff}[user]\nname = x").is_ok());
}

#[test]
fn working_trees_of_submodules_stay_below_the_workspace() {
    for (directory, path, expected) in [
        ("/w/.git/modules/s", "../../../s", true),
        ("/w/.git/modules/a/modules/b", "../../../../../a/b", true),
        ("/hub/.git/worktrees/w/modules/s", "../../../../../../w/s", true),
        ("/w/.git/modules/s", "../../..", false),
        ("/w/.git/modules/s", "../../../../w", false),
        ("/w/.git/modules/s", "../../../../home", false),
        ("/w/.git/modules/s", "../../../../wide/s", false),
        ("/w/.git/modules/s", "../../../s/..", false),
        ("/w/.git/modules/s", "../../../s/../../x", false),
        ("/w/.git/modules/s", "../../../.git/hooks", false),
        ("/w/.git/modules/s", "../../../.GIT", false),
        ("/w/.git/modules/s", "../../../a/git~1", false),
        ("/w/.git/modules/s", "../..", false),
        ("/w/.git/modules/s", "../../hooks", false),
        ("/w/.git/modules/s", "/w/s", false),
        ("/w/.git/modules/s", "", false),
        ("/w/.git", "../s", false),
        ("/modules/.git", "../s", false),
    ] {
        let text = format!("{OLD}[core]\nworktree = {path}\n");
        assert_eq!(vet_in(directory, OLD, &text).is_ok(), expected, "{directory}: {path}");
    }
}

/// The names and values that `git config --list` shows, in order. `None` if git cannot read the file.
fn seen_by_git(text: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text).expect("written");
    let mut git = Command::new("git");
    git.args(["config", "--no-includes", "--list", "-z", "-f"]).arg(file.path());
    let output = git.output().expect("git");
    let pair = |entry: &[u8]| {
        let end = entry.iter().position(|&byte| byte == b'\n');
        let (name, value) = entry.split_at(end.unwrap_or(entry.len()));
        (name.to_vec(), value.to_vec())
    };
    let entries = output.stdout.split(|&byte| byte == 0).filter(|entry| !entry.is_empty());
    output.status.success().then(|| entries.map(pair).collect())
}

fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Lines for generated files, valid and broken ones.
fn line() -> impl Strategy<Value = String> {
    let header = prop::sample::select(vec![
        "[core]",
        "[CORE]",
        "[branch \"x\"]",
        "[branch.x]",
        "[remote \"up\"]",
        "[remote \"a\\\"]b\"]",
        "[user]",
        "[alias]",
        "[include]",
        "[branch \"x\"] merge = y",
        "[filter \"x\"]#",
        "[ core]",
        "[core",
        "[submodule \"s\"]\t",
        "[a.B \"C\"]",
    ]);
    let key = prop::sample::select(vec![
        "url",
        "fetch",
        "remote",
        "merge",
        "name",
        "fsmonitor",
        "bare",
        "path",
        "x",
        "clean",
        "Url",
        "hooks-Path",
        "_",
        "9",
    ]);
    let value = prop::collection::vec(
        prop::sample::select(vec![
            "https://h.t/",
            "x",
            "true",
            " ",
            "\t",
            "\"",
            "\\\"",
            "\\",
            "\\\n",
            "\\n",
            "#",
            ";",
            "[core]",
            "ext::",
            "\r",
            "\n",
            "refs",
            "é",
            "=",
            "\\\r\n",
        ]),
        0..5,
    );
    let variable = (key, prop::sample::select(vec![" = ", "=", "", " \t=", "\n="]), value)
        .prop_map(|(key, sign, value)| format!("{key}{sign}{}", value.concat()));
    prop_oneof![header.prop_map(String::from), variable]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(line(), 0..10).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn files_are_read_as_git_reads_them(text in text()) {
        prop_assume!(has_git());
        if let Ok(entries) = crate::git_config::entries(text.as_bytes()) {
            let pair = |entry: &crate::git_config::ConfigEntry<'_>| {
                let value = entry.value.as_ref().map(|value| [b"\n", value.as_slice()].concat());
                (entry.name.shown(), value.unwrap_or_default())
            };
            let entries: Vec<_> = entries.iter().map(pair).collect();
            prop_assert_eq!(Some(entries), seen_by_git(text.as_bytes()));
        }
    }

    #[test]
    fn no_other_variable_changes_in_gits_eyes(before in text(), more in text(), at in 0_usize..400, cut in 0_usize..40) {
        prop_assume!(has_git());
        let start = (0..=at.min(before.len())).rev().find(|&at| before.is_char_boundary(at)).unwrap_or(0);
        let end = (start..=(start + cut).min(before.len())).rev().find(|&at| before.is_char_boundary(at)).unwrap_or(start);
        let after = [&before[..start], &more, &before[end..]].concat();
        if vet_in("/w/.git", &before, &after).is_ok() {
            let other = |text: &str| {
                let mut seen: HashMap<Vec<u8>, Vec<Vec<u8>>> = HashMap::new();
                for (name, value) in seen_by_git(text.as_bytes()).expect("git reads it") {
                    let listed = [&b"branch."[..], b"remote.", b"user.", b"submodule.", b"core.bare"];
                    if !listed.iter().any(|start| name.starts_with(start)) {
                        seen.entry(name).or_default().push(value);
                    }
                }
                seen
            };
            prop_assert_eq!(other(&before), other(&after));
        }
    }
}
