//! External rules and mounts in use. The approved target is the boundary, for programs with and without the library. No
//! program inside changes an approval.

use std::fs;
use std::path::PathBuf;

use macro_rules_attribute::apply;

use crate::attack::{Linking, answer, arena, arena_with, call, linkings, set_up};
use crate::cli_status::product;
use crate::layers::{Holder, row};
use crate::run::Mode;
use crate::scratch::Scratch;
use crate::session::Session;

const RULES: &str = "[[access.fs]]\npath = 'bin'\nread = true\nexecute = true\n\
                     [[access.fs]]\npath = '.'\nread = true\nwrite = true\n\
                     [[access.fs]]\npath = 'fork'\nexternal = true\nread = true\nwrite = true\n";

/// The attack program in a workspace whose `fork` leads to `$OUT/dir`, approved. A symlink in that directory leads out
/// again.
fn forked(linking: Linking) -> Scratch {
    let scratch = arena_with(linking, Scratch::new());
    set_up(&scratch, "ln -s $OUT/dir fork; ln -s ../secret $OUT/dir/nested");
    scratch.write("ws/jp-confine.toml", RULES);
    product(&scratch, &["approvals", "approve", "fork"]).run().assert_ok();
    scratch
}

fn assert_answers(scratch: &Scratch, flags: &str, rows: &[(&str, &str)]) {
    let mut session = Session::start(scratch, "ws/bin/attack", flags);
    for (line, expected) in rows {
        let said = session.call(scratch, line);
        let seen = said.split(' ').next().unwrap_or_default();
        assert!(Holder::under_test().accepts(expected, seen), "{line}: {said}");
    }
}

// conformance: d43-1, d43-96, d43-110, d43-115, d43-116, d11-193
#[apply(row!)]
fn the_approved_target_is_the_boundary() {
    for &linking in linkings() {
        let scratch = forked(linking);
        assert_answers(
            &scratch,
            "--non-interactive",
            &[
                ("open fork/inner", "ok"),
                ("open $OUT/dir/inner", "ok"),
                ("creat fork/new", "ok"),
                ("rename fork/new fork/other", "ok"),
                ("open fork/nested", "EACCES"),
                ("open fork/../secret", "EACCES"),
                ("open $OUT/secret", "EACCES"),
                ("creat $OUT/new", "EACCES"),
            ],
        );
    }
}

/// A missing path is judged by where it would be. Programs that create all directories of a path try the last one
/// first, and must learn that another one is missing.
#[apply(row!)]
fn what_is_missing_behind_a_link_is_missing_there() {
    for &linking in linkings() {
        let scratch = forked(linking);
        let rules = RULES.replacen("write = true", "", 1);
        scratch.write("ws/jp-confine.toml", &rules);
        let rows = &[
            ("mkdir fork/a/b", "ENOENT"),
            ("creat fork/a/b", "ENOENT"),
            ("chmod fork/a/b", "ENOENT"),
            ("rename fork/inner fork/a/b", "ENOENT"),
            ("mkdir fork/a", "ok"),
            ("mkdir a/b", "EACCES"),
        ];
        assert_answers(&scratch, "--non-interactive", rows);
        scratch.write("ws/jp-confine.toml", &rules.replace("write = true", ""));
        for line in ["mkdir fork/b/c", "creat fork/b/c", "rename fork/inner fork/b/c"] {
            let run = call(&scratch, Mode::under_test(), line);
            assert_eq!(answer(&run), "EACCES", "{run}");
            run.assert_stderr("rule `fork`").assert_stderr(&scratch.expand("$OUT/dir/b"));
        }
    }
}

/// A symlink may have the name of an approved pattern, and the same target. That approval is for reading there, and not
/// for the grants of a rule on the symlink.
#[apply(row!)]
fn an_approved_pattern_approves_no_link() {
    for &linking in linkings() {
        let scratch = arena_with(linking, Scratch::new());
        let name = scratch.expand("read_paths $OUT/**");
        product(&scratch, &["approvals", "approve", &name]).run().assert_ok();
        set_up(&scratch, &format!("mkdir -p '{name}'; rmdir '{name}'; ln -s $OUT '{name}'"));
        scratch.write("ws/jp-confine.toml", &RULES.replace("fork", &name));
        let rows =
            [("open file", "ok"), ("open $OUT/secret", "EACCES"), ("creat $OUT/new", "EACCES")];
        assert_answers(&scratch, "--non-interactive", &rows);
    }
}

/// Of the rules on one place, the one on the symlink that was used counts (spec §5.1), wherever it stands.
#[apply(row!)]
fn links_to_one_place_have_rules_of_their_own() {
    let rule = |link, more| format!("[[access.fs]]\npath = '{link}'\nexternal = true\n{more}");
    let (look, edit) = (rule("look", "read = true\n"), rule("edit", "read = true\nwrite = true\n"));
    let workspace = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n";
    let calls = [
        "creat LINK/new",
        "write LINK/inner",
        "mkdir LINK/d",
        "bind LINK/s",
        "rename LINK/new LINK/other",
        "unlink LINK/other",
        "tmpfile_in LINK",
    ];
    for rules in [format!("{look}{edit}"), format!("{edit}{look}")] {
        for &linking in linkings() {
            let scratch = arena_with(linking, Scratch::new());
            set_up(&scratch, "ln -s $OUT/dir look; ln -s $OUT/dir edit; touch $OUT/dir/inner");
            scratch.write("ws/jp-confine.toml", &format!("{workspace}{rules}"));
            for link in ["look", "edit"] {
                product(&scratch, &["approvals", "approve", link]).run().assert_ok();
            }
            for (link, expected) in [("look", "EACCES"), ("dir/../look", "EACCES"), ("edit", "ok")]
            {
                let lines = calls.map(|line| line.replace("LINK", link));
                let rows: Vec<_> = lines.iter().map(|line| (line.as_str(), expected)).collect();
                assert_answers(&scratch, "--non-interactive", &rows);
            }
        }
    }
}

/// Symlinks to one place also have rules of their own if an entry in that place is denied for both.
#[apply(row!)]
fn links_to_one_place_have_rules_of_their_own_around_what_is_denied() {
    let rule = |link, more| format!("[[access.fs]]\npath = '{link}'\nexternal = true\n{more}");
    let (look, none) = (rule("look", "read = true\n"), rule("none", ""));
    let workspace = "[[access.fs]]\npath = '.'\nread = true\nexecute = true\n";
    for rules in [format!("{look}{none}"), format!("{none}{look}")] {
        for &linking in linkings() {
            let scratch = arena_with(linking, Scratch::new());
            let make = "mkdir $OUT/dir/d; echo x > $OUT/dir/d/f; echo x > $OUT/dir/inner";
            set_up(&scratch, &format!("{make}; ln -s $OUT/dir look; ln -s $OUT/dir none"));
            scratch.write("ws/jp-confine.toml", &format!("{workspace}{rules}"));
            for link in ["look", "none"] {
                product(&scratch, &["approvals", "approve", link]).run().assert_ok();
            }
            let rows = [
                ("open look/inner", "ok"),
                ("open none/inner", "EACCES"),
                ("open look/d/f", "EACCES"),
            ];
            assert_answers(&scratch, "--non-interactive --deny $OUT/dir/d", &rows);
        }
    }
}

// conformance: d43-89, d43-96, d43-228
/// The target changes, as between a run and the next `git pull`.
#[apply(row!)]
fn another_target_before_the_run_is_not_approved() {
    for &linking in linkings() {
        let scratch = forked(linking);
        set_up(&scratch, "ln -sfn $OUT fork");
        assert_answers(
            &scratch,
            "--non-interactive",
            &[
                ("open fork/secret", "EACCES"),
                ("open fork/dir/inner", "EACCES"),
                ("open file", "ok"),
            ],
        );
        let entry = product(&scratch, &["approvals", "list"]).run();
        assert!(entry.assert_ok().stdout.contains("/out/dir ("), "the old one is kept: {entry}");
    }
}

// conformance: d43-116
#[apply(row!)]
fn another_target_during_the_run_gains_nothing() {
    for &linking in linkings() {
        for retarget in ["symlink $OUT fork", "symlink .. fork", "rename other fork"] {
            let scratch = forked(linking);
            set_up(&scratch, "ln -s $OUT other");
            let secret = if retarget.contains("..") { "fork/out/secret" } else { "fork/secret" };
            let line = format!("unlink fork , {retarget} , open {secret}");
            assert_answers(&scratch, "--non-interactive", &[(&line, "EACCES")]);
        }
    }
}

// conformance: d43-131, d43-168, d43-172
#[apply(row!)]
fn a_mount_reads_and_the_workspace_stays_as_it_was() {
    for &linking in linkings() {
        let scratch = arena_with(linking, Scratch::new());
        set_up(&scratch, "cp $ATTACK $OUT/dir/program");
        assert_answers(
            &scratch,
            "--mount a/fork=../out/dir",
            &[
                ("open a/fork/inner", "ok"),
                ("creat made", "ok"),
                ("exec bin/attack", "ok"),
                ("write a/fork/inner", "EACCES"),
                ("creat a/fork/new", "EACCES"),
                ("exec a/fork/program", "EACCES"),
                ("open a/fork/../secret", "EACCES"),
            ],
        );
    }
}

// conformance: d43-14, d43-136
#[apply(row!)]
fn a_mount_to_write_is_for_the_tool_that_is_named() {
    let scratch = arena(Scratch::new());
    scratch.write("ws/jp-confine.toml", "[tools.edit]\n");
    let rows =
        &[("write fork/inner", "ok"), ("creat fork/new", "ok"), ("open $OUT/secret", "EACCES")];
    assert_answers(&scratch, "--tool edit --mount edit:fork=../out/dir:rw", rows);
    assert_answers(&scratch, "--tool edit", &[("open fork/inner", "EACCES")]);
}

/// The file of approvals of the only workspace of `scratch`. A run has been in that workspace.
pub(crate) fn store(scratch: &Scratch) -> PathBuf {
    let all = scratch.path("home/.local/share/jp-confine/workspaces");
    let dir = fs::read_dir(all).expect("workspaces").next().expect("one").expect("an entry").path();
    dir.join("approvals.json")
}

// conformance: d43-106
#[apply(row!)]
fn a_program_that_may_write_below_home_changes_no_approval() {
    for &linking in linkings() {
        let scratch = forked(linking);
        let store = store(&scratch);
        let folder = store.parent().expect("a parent").display().to_string();
        set_up(&scratch, "mkdir evil; cp -R $HOME/.local evil; echo '{}' > forged");
        let before = fs::read_to_string(&store).expect("approvals");
        let file = store.display().to_string();
        for line in [
            format!("write {file}"),
            format!("write_trunc {file}"),
            format!("rename forged {file}"),
            format!("unlink {file}"),
            format!("creat {folder}/approvals.json.tmp"),
            format!("rename {folder} $HOME/moved"),
            format!("exchange {folder} $WS/evil"),
            "rename $HOME/.local/share/jp-confine $HOME/moved".to_owned(),
            "rename $HOME/.local $HOME/moved".to_owned(),
            "exchange $HOME/.local $WS/evil/.local".to_owned(),
            format!("link forged {folder}/x"),
            format!("symlink /tmp {folder}/x"),
        ] {
            assert_answers(&scratch, "-w $HOME", &[(&line, "EACCES")]);
        }
        assert_eq!(fs::read_to_string(&store).expect("approvals"), before);
    }
}

/// Cases: the directory does not exist yet, something else is in its place, or a symlink leads to it.
#[apply(row!)]
fn nothing_takes_the_place_of_a_folder_of_our_own() {
    for place in [".local", ".config"] {
        let scratch = arena(Scratch::new());
        set_up(&scratch, "mkdir -p evil/share/jp-confine evil/jp-confine");
        let line = format!("-w $HOME -- rename evil $HOME/{place}");
        let run = call(&scratch, Mode::under_test(), &line);
        assert_ne!(answer(&run), "ok", "{run}");
        for there in ["touch", "mkdir $OUT/own; ln -s $OUT/own"] {
            let scratch = arena(Scratch::new());
            set_up(&scratch, &format!("{there} $HOME/{place}"));
            let line = format!("unlink $HOME/{place}");
            assert_answers(&scratch, "-w $HOME", &[(&line, "EACCES")]);
        }
    }
}

// conformance: d43-65, d43-106
/// Runs the product itself inside a run.
#[apply(row!)]
fn nobody_approves_from_inside() {
    let scratch = forked(Linking::Dynamic);
    set_up(&scratch, "ln -s $OUT other");
    scratch.copy_program(crate::run::PRODUCT.as_ref(), "ws/bin/inner");
    let before = fs::read_to_string(store(&scratch)).expect("approvals");
    let script = "bin/inner approvals approve other; bin/inner approvals revoke fork; true";
    let mut run = crate::run::Run::sh(&scratch, script).flags(&["--non-interactive"]);
    if Mode::under_test() == Mode::Confined {
        run = run.flags(&["-w", scratch.home().to_str().expect("UTF-8")]);
    }
    let run = run.run();
    assert_eq!(fs::read_to_string(store(&scratch)).expect("approvals"), before, "{run}");
}
