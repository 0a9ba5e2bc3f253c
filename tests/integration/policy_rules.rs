//! Rules against each other: longest anchor, ties, symlinks, renames, ancestors, tombstones, flags.

use macro_rules_attribute::apply;

use crate::attack::{answer, arena, arena_with, call, linkings, set_up};
use crate::layers::{Difference, Holder, row};
use crate::run::{Mode, Run};
use crate::scratch::Scratch;
use crate::session::Session;

/// A rule from its short form, with a whole set of capabilities.
pub(crate) fn rule(line: &str) -> String {
    let (path, caps) = line.split_once(' ').expect("a path and its capabilities");
    let mut text = format!("[[access.fs]]\npath = '{path}'\n");
    for word in caps.split_whitespace() {
        text += match word {
            "nothing" => "",
            "r" => "read = true\n",
            "w" => "write = true\n",
            "c" => "create = true\n",
            "u" => "update = true\n",
            "d" => "delete = true\n",
            "x" => "execute = true\n",
            "external" => "external = true\n",
            other => panic!("no such word: {other}"),
        };
    }
    text
}

/// Runs calls in order in one scratch tree: `call => answer`. Compares the first words of the answers.
pub(crate) fn assert_answers(setup: &str, rules: &[&str], flags: &str, rows: &[(&str, &str)]) {
    let scratch = arena(Scratch::new());
    set_up(&scratch, setup);
    let mut flags = scratch.expand(flags);
    if !rules.is_empty() {
        let text: String = ["bin r x"].iter().chain(rules).map(|line| rule(line)).collect();
        std::fs::write(scratch.path("policy.toml"), text).expect("a policy");
        flags = format!("-p {} {flags}", scratch.path("policy.toml").display());
    }
    let instead = Difference::of_this_test().and_then(|difference| difference.answer);
    let mut differs = false;
    let mut session = Session::start(&scratch, "ws/bin/attack", &flags);
    for (line, expected) in rows {
        let said = session.call(&scratch, line);
        let seen = said.split(' ').next().unwrap_or_default();
        let accepted = Holder::under_test().accepts(expected, seen);
        differs |= !accepted;
        assert!(accepted || instead == Some(seen), "{line}: {said}, not {expected}");
    }
    assert_eq!(differs, instead.is_some(), "no longer different");
}

/// Build tools do this. Landlock's rule applies to the file that is there at the start.
#[apply(row!)]
fn programs_that_are_made_anew_start() {
    let again = [
        (&[". r", "tool r w x"][..], "rm tool && cp /bin/true tool && ./tool"),
        (
            &[". r", "target r w x"],
            "rm -r target && mkdir target && cp /bin/true target/p && target/p",
        ),
        (
            &[". r", "target r w", "target/p r w x"],
            "rm -r target && mkdir target && cp /bin/true target/p && target/p",
        ),
    ];
    for (rules, script) in again {
        let scratch = Scratch::new();
        let make = "mkdir target && cp /bin/true tool && cp /bin/true target/p";
        Run::sh(&scratch, make).mode(Mode::Bare).run().assert_ok();
        let text: String = rules.iter().map(|line| rule(line)).collect();
        scratch.write("ws/jp-confine.toml", &text);
        let run = Run::sh(&scratch, &format!("{script} && ! cp tool other")).run();
        run.assert_ok().assert_stderr("other");
    }
}

/// Where nothing above may be read, Landlock can have no rule that stays: it would allow reading everything there.
#[apply(row!)]
fn programs_that_are_made_anew_in_the_dark_start_in_the_next_run() {
    let again = [
        ("tool r w x", "rm tool; cp /bin/true tool; ./tool", "./tool"),
        (
            "target r w;target/p r w x",
            "rm -r target; mkdir target; cp /bin/true target/p; target/p",
            "target/p",
        ),
    ];
    for (rules, script, program) in again {
        let scratch = Scratch::new();
        let make = "mkdir target && cp /bin/true tool && cp /bin/true target/p";
        Run::sh(&scratch, make).mode(Mode::Bare).run().assert_ok();
        let text: String = rules.split(';').map(rule).collect();
        scratch.write("ws/jp-confine.toml", &text);
        if Holder::under_test() != Holder::Library {
            let run = Run::sh(&scratch, script).run();
            run.assert_code(126).assert_stderr("it starts in the next run");
        }
        Run::sh(&scratch, program).run().assert_ok();
    }
}

/// The same for reads: by the library, by libc itself, and by programs without the library.
#[apply(row!)]
fn what_is_made_anew_can_be_read() {
    let made =
        "mkdir new , write_creat new/f , open new/f , opendir new , scandir new , glob new/*";
    for &linking in linkings() {
        for (setup, line) in [("true", made), ("mkdir new", &format!("rmdir new , {made}"))] {
            let scratch = arena_with(linking, Scratch::new());
            set_up(&scratch, setup);
            let policy = scratch.path("policy.toml");
            std::fs::write(&policy, rule("bin r x") + &rule("new r w")).expect("a policy");
            let run = |line: &str| {
                let line = format!("-p {} -- {line}", policy.display());
                call(&scratch, Mode::under_test(), &line)
            };
            let anew = run(line);
            assert!(answer(&anew).starts_with("ok"), "{linking:?}: {anew}");
            assert_eq!(answer(&run("open file")), "EACCES", "{linking:?}");
        }
    }
}

#[apply(row!)]
fn longest_anchor_wins() {
    assert_answers(
        "mkdir -p a/b/c; touch a/f a/b/f a/b/c/f",
        &["a r", "a/b nothing", "a/b/c r w"],
        "",
        &[
            ("open a/f", "ok"),
            ("open a/b/f", "EACCES"),
            ("open a/b/c/f", "ok"),
            ("write a/b/c/f", "ok"),
            ("write a/f", "EACCES"),
            ("open file", "EACCES"),
        ],
    );
}

#[apply(row!)]
fn the_last_of_equals_wins() {
    let rows = &[("open file", "ok"), ("write file", "EACCES")];
    assert_answers("", &["file w", "file r"], "", rows);
}

// conformance: 076-37
#[apply(row!)]
fn components_not_prefixes() {
    let rows = &[("open src/f", "ok"), ("open src_generated/f", "EACCES")];
    assert_answers("mkdir src src_generated; touch src/f src_generated/f", &["src r"], "", rows);
}

// conformance: 076-35
#[apply(row!)]
fn characters_are_literal() {
    let rows = &[("open */f", "ok"), ("open dir/f", "EACCES")];
    assert_answers("mkdir '*'; touch '*/f' dir/f", &["* r"], "", rows);
}

// conformance: 076-75, 076-76
#[apply(row!)]
fn an_alias_does_not_dodge_a_deeper_rule() {
    assert_answers(
        "mkdir -p a/private; touch a/private/f; ln -s a/private alias",
        &[". r", "a/private nothing"],
        "",
        &[("open alias/f", "EACCES"), ("open a/private/f", "EACCES"), ("open file", "ok")],
    );
}

// conformance: 076-75, 076-91
#[apply(row!)]
fn a_rule_on_an_alias_is_on_its_target() {
    let rows = &[("open a/f", "ok"), ("open alias/f", "ok"), ("write a/f", "EACCES")];
    assert_answers("mkdir a; touch a/f; ln -s a alias", &["alias r"], "", rows);
}

#[apply(row!)]
fn a_hard_link_gains_nothing() {
    assert_answers(
        "mkdir ro rw; echo x > ro/f; echo x > rw/f",
        &["ro r", "rw r w"],
        "",
        &[
            ("link ro/f rw/g", "EACCES"),
            ("linkat_follow ro/f rw/g", "EACCES"),
            ("link_fd ro/f rw/g", "EACCES"),
            ("link rw/f rw/g", "ok"),
        ],
    );
}

#[apply(row!)]
fn a_rename_gains_nothing() {
    assert_answers(
        "mkdir wo rw; echo x > wo/f; echo x > rw/f",
        &["wo w", "rw r w"],
        "",
        &[
            ("rename wo/f rw/g", "EACCES"),
            ("exchange wo/f rw/f", "EACCES"),
            ("rename rw/f wo/g", "ok"),
        ],
    );
}

#[apply(row!)]
fn a_folder_above_an_anchor_stays() {
    assert_answers(
        "mkdir -p a/b/private; touch a/b/private/f",
        &[". r w", "a/b/private nothing"],
        "",
        &[
            ("rename a other", "EACCES"),
            ("rename a/b other", "EACCES"),
            ("exchange a dir", "EACCES"),
            ("rename dir other", "ok"),
            ("open a/b/private/f", "EACCES"),
        ],
    );
}

#[apply(row!)]
fn a_dropped_rule_leaves_a_tombstone() {
    assert_answers(
        "ln -s $OUT fork; mkdir -p deep/fork; ln -s $OUT/missing deep/fork/gone",
        &[". r w", "fork external r", "deep/fork/gone external nothing"],
        "",
        &[
            ("open fork/secret", "EACCES"),
            ("open file", "ok"),
            ("unlink fork", "EACCES"),
            ("creat deep/fork/gone", "EACCES"),
        ],
    );
}

#[apply(row!)]
fn every_rule_dropped_is_not_unrestricted() {
    let scratch = arena(Scratch::new());
    set_up(&scratch, "ln -s $OUT fork");
    std::fs::write(scratch.path("policy.toml"), rule("fork external r")).expect("a policy");
    let policy = scratch.path("policy.toml");
    let line =
        format!("-p {} -x {} -- open file", policy.display(), scratch.path("ws/bin").display());
    let run = call(&scratch, Mode::under_test(), &line);
    assert_eq!(answer(&run), "EACCES", "{run}");
}

#[apply(row!)]
fn flags_add_to_the_workspace() {
    assert_answers(
        "mkdir denied; touch denied/f",
        &[],
        "-r $OUT/dir --deny denied",
        &[
            ("open $OUT/dir/inner", "ok"),
            ("write $OUT/dir/inner", "EACCES"),
            ("open $OUT/secret", "EACCES"),
            ("open denied/f", "EACCES"),
            ("write file", "ok"),
        ],
    );
}

/// If one flag denies, another flag below it grants no more than it says.
#[apply(row!)]
fn flags_below_flags() {
    let setup = "mkdir -p denied/read denied/run; touch denied/f denied/read/f; \
                 cp $ATTACK denied/read/program; cp $ATTACK denied/run/program";
    let rows = &[
        ("open denied/read/f", "ok"),
        ("write denied/read/f", "EACCES"),
        ("unlink denied/read/f", "EACCES"),
        ("exec denied/read/program", "EACCES"),
        ("exec denied/run/program", "ok"),
        ("creat denied/run/new", "EACCES"),
        ("open denied/f", "EACCES"),
    ];
    for flags in
        ["--deny denied -r denied/read -x denied/run", "-x denied/run -r denied/read --deny denied"]
    {
        assert_answers(setup, &[], flags, rows);
    }
    let rules = &["denied r w", "denied/read r w", "denied/read/f nothing", "denied/run r w x"];
    let rows = &[
        ("open denied/read/f", "EACCES"),
        ("open denied/read/program", "ok"),
        ("write denied/read/program", "EACCES"),
        ("creat denied/run/new", "EACCES"),
        ("exec denied/run/program", "EACCES"),
    ];
    assert_answers(setup, rules, "--deny denied -r denied/read", rows);
    let rows = &[("creat other/below/f", "ok"), ("open other/below/f", "ok")];
    assert_answers("mkdir -p other/below", &["dir r"], "-w other -r other/below", rows);
}

/// A profile that a person wrote denies in the workspace as the option does, and grants nothing there.
#[apply(row!)]
fn profiles_of_ones_own_in_the_workspace() {
    let profile = "mkdir -p denied/read $HOME/.config/jp-confine; touch denied/f denied/read/f; \
                   ws=$(pwd -P); printf '[profiles.own]\\nwrite = [\"%s/dir\"]\\ndeny = [\"%s\", \"%s\"]\\n' \
                   $ws $ws/denied $ws/later/f > $HOME/.config/jp-confine/config.toml";
    let rows = &[
        ("open denied/f", "EACCES"),
        ("open denied/read/f", "EACCES"),
        ("creat denied/new", "EACCES"),
        ("mkdir later", "ok"),
        ("creat later/f", "EACCES"),
        ("creat later/g", "ok"),
    ];
    assert_answers(profile, &[], "--profile own", rows);
    let rules = &[". r", "denied/read r w"];
    let rows =
        &[("open denied/read/f", "EACCES"), ("open file", "ok"), ("creat dir/new", "EACCES")];
    assert_answers(profile, rules, "--profile own", rows);
    let rows = &[("open denied/read/f", "ok"), ("open denied/f", "EACCES")];
    assert_answers(profile, rules, "--profile own -r denied/read", rows);
}

#[apply(row!)]
fn write_flag() {
    assert_answers(
        "cp $ATTACK $OUT/dir/program",
        &[],
        "-w $OUT/dir",
        &[
            ("creat $OUT/dir/new", "ok"),
            ("rename $OUT/dir/new $OUT/dir/other", "ok"),
            ("unlink $OUT/dir/other", "ok"),
            ("open $OUT/dir/inner", "ok"),
            ("exec $OUT/dir/program", "EACCES"),
            ("rename $OUT/dir $OUT/gone", "EACCES"),
        ],
    );
}

/// A wider grant does not include the home, however it is spelled. A profile that names the home does.
#[apply(row!)]
fn the_home_is_had_by_its_name() {
    let profile = "mkdir -p $HOME/.config/jp-confine; echo x > $HOME/notes; printf '[profiles.own]\\nread = [\"%s\"]\\n' \
                   \"$NAMED\" > $HOME/.config/jp-confine/config.toml";
    let notes =
        |answer: &'static str| [("open $HOME/notes", answer), ("creat $HOME/new", "EACCES")];
    let named = |name: &str| profile.replace("$NAMED", name);
    for shown in ["", "--show-denied "] {
        let options = |rest: &str| format!("{shown}{rest}");
        assert_answers(&named("~"), &[], &options("--profile own"), &notes("ok"));
        let kept = if shown.is_empty() { "ENOENT" } else { "EACCES" };
        let above = "$(dirname $HOME)";
        assert_answers(&named(above), &[], &options("--profile own"), &notes(kept));
        assert_answers(&named("~"), &[], &options("-r $HOME/.."), &notes(kept));
        assert_answers(&named("~"), &[], &options("-r $HOME"), &notes("ok"));
    }
}

#[apply(row!)]
fn exec_flag() {
    assert_answers(
        "cp $ATTACK $OUT/dir/program; cp $ATTACK $OUT/program",
        &[],
        "-x $OUT/dir",
        &[
            ("exec $OUT/dir/program", "ok"),
            ("exec $OUT/program", "EACCES"),
            ("write $OUT/dir/program", "EACCES"),
        ],
    );
}

#[apply(row!)]
fn a_granted_file_is_only_that_file() {
    let rows = &[
        ("open $OUT/dir/inner", "ok"),
        ("opendir $OUT/dir", "EACCES"),
        ("open $OUT/secret", "EACCES"),
    ];
    assert_answers("", &[], "-r $OUT/dir/inner", rows);
}

#[apply(row!)]
fn nothing_is_hidden_on_request() {
    let rows = &[
        ("open $HOME/.private/key", "EACCES"),
        ("open $HOME/.private/missing", "EACCES"),
        ("opendir $HOME/.private", "EACCES"),
        ("stat $HOME/.private/key", "ok"),
    ];
    assert_answers("", &[], "--show-denied", rows);
}

/// Landlock's rules disappear and move with their files. The policy's rules are about names.
#[apply(row!)]
fn programs_start_by_the_name_they_have() {
    let scratch = arena(Scratch::new());
    set_up(&scratch, "mkdir target; cp /bin/true target/old; cp /bin/true tool");
    let text: String =
        [". r w", "target r w x", "tool r w x"].iter().map(|line| rule(line)).collect();
    std::fs::write(scratch.path("policy.toml"), text).expect("a policy");
    let policy = scratch.path("policy.toml");
    let script = "rm -r target tool; mkdir target; cp /bin/true target/new; cp /bin/true tool; \
                  cp /bin/true other; target/new && echo new; ./tool && echo tool; \
                  ./other || echo refused";
    let run = Run::new(&scratch, "sh", &["-c", script]);
    let run = run.flags(&["-p", policy.to_str().expect("UTF-8")]).run();
    assert_eq!(run.stdout, "new\ntool\nrefused\n", "{run}");
}

/// A path that is missing behind a symlink is missing at the target, and is judged there (spec §4.1).
#[apply(row!)]
fn what_is_missing_beyond_a_link_is_judged_where_it_leads() {
    let links =
        "ln -s $OUT/dir far; ln -s dir way; ln -s $OUT/none dangling; ln -s none way/dangling";
    let inside = &["way r", "file r"];
    let closed = &[
        ("open far/inner", "EACCES"),
        ("open far/missing", "EACCES"),
        ("open dangling", "EACCES"),
    ];
    assert_answers(
        links,
        inside,
        "",
        &[&[("open way/missing", "ENOENT"), ("open way/dangling", "ENOENT")], &closed[..]].concat(),
    );
    assert_answers(links, &[], "", closed);
}

#[apply(row!)]
fn what_is_missing_beyond_a_link_to_a_grant_is_no_secret() {
    let rows = &[
        ("open far/inner", "ok"),
        ("open far/missing", "ENOENT"),
        ("creat far/missing", "EACCES"),
    ];
    assert_answers("ln -s $OUT/dir far", &["file r"], "-r $OUT/dir", rows);
}

// conformance: tiers-67
/// Creating takes the right to create, even if the directory is missing.
#[apply(row!)]
fn what_would_be_created_in_a_missing_directory_is_denied() {
    let rows = &[
        ("creat new", "EACCES"),
        ("creat missing/new", "EACCES"),
        ("mkdir missing/new", "EACCES"),
        ("write missing/new", "ENOENT"),
    ];
    assert_answers("", &[". r u"], "", rows);
}

/// Tools look for files in every directory above their own, and try to create directories that exist.
#[apply(row!)]
fn names_beside_the_way_to_a_grant_are_no_secret() {
    for flags in ["-r $OUT/dir/inner", "-r $OUT/dir/inner --show-denied"] {
        assert_answers(
            "",
            &[],
            flags,
            &[
                ("open $OUT/dir/inner", "ok"),
                ("open $OUT/dir/missing", "ENOENT"),
                ("open $OUT/missing", "ENOENT"),
                ("open $OUT/missing/deeper", "ENOENT"),
                ("unlink $OUT/missing", "EACCES"),
                ("mkdir $OUT", "EEXIST"),
                ("mkdir $OUT/dir", "EEXIST"),
                ("open $OUT/secret", "EACCES"),
                ("open $OUT/empty/missing", "EACCES"),
                ("mkdir $OUT/new", "EACCES"),
                ("creat $OUT/new", "EACCES"),
                ("opendir $OUT", "EACCES"),
            ],
        );
    }
}

/// `mv f dir/` and `ln f dir/` try the directory's own name first, and go on once they hear that it exists.
#[apply(row!)]
fn that_an_entry_exists_is_told_to_who_makes_it() {
    assert_answers(
        "mkdir -p $HOME/.hidden/dir; echo x > $HOME/.hidden/f; ln -s nowhere $OUT/dangling",
        &[],
        "",
        &[
            ("mkdir $OUT/dangling/", "EEXIST"),
            ("rename_noreplace file $OUT/dir", "EEXIST"),
            ("rename_noreplace file $OUT/secret", "EEXIST"),
            ("rename_noreplace file .", "EEXIST"),
            ("rename . missing/entry", "ENOENT"),
            ("rename . $OUT/new", "EBUSY"),
            ("rename missing/entry .", "ENOENT"),
            ("rename $OUT/secret .", "EBUSY"),
            ("rename_noreplace missing $OUT/dir", "ENOENT"),
            ("rename_noreplace file $OUT/new", "EACCES"),
            ("rename_noreplace $OUT/secret $OUT/dir", "EEXIST"),
            ("rename_noreplace $OUT/missing $OUT/dir", "ENOENT"),
            ("rename_noreplace $OUT/secret $OUT/new", "EACCES"),
            ("rename_noreplace file $HOME/.hidden/dir", "EACCES"),
            ("link file $OUT/dir", "EEXIST"),
            ("link $OUT/secret $OUT/dir", "EEXIST"),
            ("link file $OUT/new", "EACCES"),
            ("link file $HOME/.hidden/dir", "EACCES"),
            ("tmpfile_link . $OUT/dir", "EEXIST"),
            ("symlink text $OUT/dir", "EEXIST"),
            ("symlink text $HOME/.hidden/dir", "EACCES"),
            ("mkdir $OUT/dir", "EEXIST"),
            ("mkdir $HOME/.hidden/dir", "EACCES"),
            ("bind $OUT/dir", "EACCES"),
        ],
    );
    let seen = |answer| {
        [
            ("link $HOME/.hidden/f $OUT/dir", answer),
            ("rename_noreplace $HOME/.hidden/f $OUT/dir", answer),
            ("link file $OUT/dir", "EEXIST"),
        ]
    };
    let setup = "mkdir -p $HOME/.hidden; echo x > $HOME/.hidden/f";
    assert_answers(setup, &[], "--show-denied", &seen("EEXIST"));
    assert_answers(setup, &[], "", &seen("ENOENT"));
}

#[apply(row!)]
fn a_grant_in_a_hidden_area_is_seen() {
    assert_answers(
        "mkdir -p $HOME/.config/app; echo x > $HOME/.config/app/f; echo x > $HOME/.config/other",
        &[],
        "-r $HOME/.config/app",
        &[
            ("open $HOME/.config/app/f", "ok"),
            ("stat $HOME/.config", "ok"),
            ("open $HOME/.config/other", "ENOENT"),
            ("write $HOME/.config/app/f", "EACCES"),
        ],
    );
}

#[apply(row!)]
fn an_interpreter_needs_execute_too() {
    assert_answers(
        r"mkdir tools; cp $ATTACK tools/interpreter; printf '#!%s/tools/interpreter\n' $PWD > script; chmod +x script",
        &["script r x", "tools r"],
        "",
        &[("exec script", "EACCES"), ("exec bin/attack", "ok")],
    );
}

#[apply(row!)]
fn the_workspace_through_a_link_is_the_workspace() {
    let scratch = arena(Scratch::new());
    set_up(&scratch, "ln -s ws ../link; mkdir denied; touch denied/f");
    let alias = scratch.path("link");
    let flags = format!("-C {0} --deny {0}/denied", alias.display());
    for (line, expected) in [("open file", "ok inside"), ("open denied/f", "EACCES")] {
        let run = call(&scratch, Mode::under_test(), &format!("{flags} -- {line}"));
        assert_eq!(answer(&run), expected, "{run}");
    }
    let line = format!("{flags} -- open {}/file", alias.display());
    assert_eq!(answer(&call(&scratch, Mode::under_test(), &line)), "ok inside");
}
