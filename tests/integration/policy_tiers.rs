//! Tiers and sensitive paths where nobody can be prompted: which grants remain, and what is allowed.

use macro_rules_attribute::apply;

use crate::attack::{answer, arena, call, set_up};
use crate::layers::{Difference, Holder, row};
use crate::run::{Mode, PRODUCT, Run};
use crate::scratch::Scratch;
use crate::session::Session;

/// Runs calls under a policy text: `call => answer`. Compares the first words of the answers. `$WS`, `$OUT` and `$HOME`
/// in the text are the directories of the scratch tree.
fn assert_answers(setup: &str, policy: &str, flags: &str, rows: &[(&str, &str)]) {
    let scratch = arena(Scratch::new());
    set_up(&scratch, setup);
    let path = scratch.path("policy.toml");
    std::fs::write(&path, scratch.expand(policy)).expect("a policy");
    let flags = format!("--non-interactive -p {} {}", path.display(), scratch.expand(flags));
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

// conformance: tiers-7, tiers-40, tiers-41, tiers-43, tiers-45, tiers-70
#[apply(row!)]
fn deny_takes_from_the_workspace() {
    assert_answers(
        "mkdir -p a/b; touch a/x.key a/b/x.key a/f; ln -s a/x.key alias",
        "[file_policy]\ndeny_paths = ['**/*.key', '$WS/dir/**']\n",
        "",
        &[
            ("open a/f", "ok"),
            ("open a/x.key", "EACCES"),
            ("open a/b/x.key", "EACCES"),
            ("open alias", "EACCES"),
            ("write_excl new.key", "EACCES"),
            ("opendir dir", "EACCES"),
            ("unlink a/x.key", "EACCES"),
            ("rename a/f a/y.key", "EACCES"),
            ("rename a/x.key a/y", "EACCES"),
            ("link a/x.key a/y", "EACCES"),
            ("link a/f a/y", "ok"),
        ],
    );
}

/// `?` and classes match characters of any length. A byte that belongs to no character counts as one.
#[apply(row!)]
fn deny_takes_by_characters() {
    assert_answers(
        "mkdir é aé; for n in é.txt 😀.txt éé.txt àx ýx é/k aé/k né nn; do touch $n; done; \
         touch \"$(printf '\\377.txt')\" \"$(printf 'e\\314\\201.txt')\"; ln -s \"$(printf '\\377.txt')\" invalid; \
         ln -s \"$(printf 'e\\314\\201.txt')\" marked",
        "[file_policy]\ndeny_paths = ['$WS/?.txt', '$WS/[à-ü]x', '$WS/?/**', '$WS/n[!n]', '$WS/x{é,?}']\n",
        "",
        &[
            ("open é.txt", "EACCES"),
            ("open 😀.txt", "EACCES"),
            ("open invalid", "EACCES"),
            ("open àx", "EACCES"),
            ("open é/k", "EACCES"),
            ("open né", "EACCES"),
            ("write_excl xé", "EACCES"),
            ("write_excl x€", "EACCES"),
            ("rename nn nü", "EACCES"),
            ("mkdir ß", "EACCES"),
            ("open éé.txt", "ok"),
            ("open marked", "ok"),
            ("open ýx", "ok"),
            ("open aé/k", "ok"),
            ("open nn", "ok"),
            ("write_excl xéé", "ok"),
        ],
    );
}

/// Each of these patterns crosses names twice, which takes a table of its own.
#[apply(row!)]
fn deny_takes_by_many_patterns_with_stars_between_names() {
    assert_answers(
        "mkdir -p a/secrets/b a/config deploy certs/b; \
         touch a/secrets/b/k.pem a/secrets/k.key a/config/x.key deploy/x.yaml certs/b/x.crt x.crt",
        "[file_policy]\ndeny_paths = ['**/secrets/**/*.pem', '**/config/**/*.key', \
         '**/infra/**/*.tfvars', '**/deploy/**/*.yaml', '**/certs/**/*.crt', '**/key{,.pub}', \
         '$WS/{closed/**,shut}']\n",
        "",
        &[
            ("open a/secrets/b/k.pem", "EACCES"),
            ("open a/config/x.key", "EACCES"),
            ("open deploy/x.yaml", "EACCES"),
            ("open certs/b/x.crt", "EACCES"),
            ("open a/secrets/k.key", "ok"),
            ("open x.crt", "ok"),
            ("write_excl certs/b/new.crt", "EACCES"),
            ("rename x.crt certs/x.crt", "EACCES"),
            ("rename certs/b open", "EACCES"),
            ("rename a/secrets a/open", "EACCES"),
            ("rename certs/b certs/c", "ok"),
            ("write_excl key", "EACCES"),
            ("write_excl key.pub", "EACCES"),
            ("mkdir closed", "EACCES"),
            ("mkdir shut", "EACCES"),
        ],
    );
}

/// A grant on a directory does not include the secrets in it.
#[apply(row!)]
fn sensitive_files_are_asked_about_where_a_tier_opens_what_is_around_them() {
    assert_answers(
        "mkdir $OUT/d $OUT/d/e; touch $OUT/d/f $OUT/d/.env $OUT/d/e/.env",
        "[file_policy]\nread_paths = ['$OUT/d/**', '$OUT/d/e/.env']\n",
        "",
        &[
            ("open $OUT/d/f", "ok"),
            ("open $OUT/d/.env", "EACCES"),
            ("open $OUT/d/e/.env", "ok"),
            ("write $OUT/d/f", "EACCES"),
        ],
    );
}

/// A pattern without stars grants a directory's name, and a rule grants everything below.
#[apply(row!)]
fn what_is_in_a_folder_that_is_open_by_name_stays_out_of_the_workspace() {
    assert_answers(
        "mkdir $OUT/d $OUT/d/e $OUT/empty; touch $OUT/d/f a",
        "[file_policy]\nwrite_paths = ['$OUT/d', '$OUT/d2', '$OUT/g']\n",
        "",
        &[
            ("open $OUT/d/f", "EACCES"),
            ("rename $OUT/d inside", "EACCES"),
            ("exchange $OUT/d dir", "EACCES"),
            ("exchange dir $OUT/d", "EACCES"),
            ("rename $OUT/d $OUT/d2", "ok"),
            ("rename $OUT/d2 $OUT/d", "ok"),
            ("rename a $OUT/g", "ok"),
            ("rename $OUT/g b", "ok"),
        ],
    );
}

/// A pattern that is spelled through a symlink applies to entries as to files.
#[apply(row!)]
fn deny_knows_spellings_by_links() {
    assert_answers(
        "mkdir a; touch a/x a/y; ln -s a alias",
        "[file_policy]\ndeny_paths = ['**/alias/*']\n",
        "",
        &[
            ("open alias/x", "EACCES"),
            ("write_excl alias/new", "EACCES"),
            ("write_excl a/new", "ok"),
            ("unlink alias/x", "EACCES"),
            ("rename alias/x a/z", "EACCES"),
            ("rename a/x alias/z", "EACCES"),
            ("link file alias/z", "EACCES"),
            ("tmpfile_link . alias/z", "EACCES"),
            ("mkdir alias/d", "EACCES"),
            ("bind alias/s", "EACCES"),
            ("open dir/../alias/x", "EACCES"),
            ("creat dir/../alias/new", "EACCES"),
            ("unlink dir/../alias/x", "EACCES"),
            ("tmpfile_in alias", "EACCES"),
            ("unlink a/y", "ok"),
        ],
    );
}

/// A rule that grants less at the symlink than at the target does not affect that.
#[apply(row!)]
fn deny_knows_spellings_from_where_less_is_granted() {
    let rule = |path, caps| format!("[[access.fs]]\npath = '{path}'\nread = true\n{caps} = true\n");
    let rules = format!("{}{}", rule(".", "execute"), rule("a", "write"));
    assert_answers(
        "mkdir a; touch a/x a/y; ln -s a alias",
        &format!("{rules}[file_policy]\ndeny_paths = ['**/alias/*']\n"),
        "",
        &[
            ("unlink alias/x", "EACCES"),
            ("rename alias/x a/z", "EACCES"),
            ("rename a/x alias/z", "EACCES"),
            ("mkdir alias/d", "EACCES"),
            ("unlink a/x", "ok"),
        ],
    );
}

/// For all other tiers, the directories that a path leads through are no place of their own.
#[apply(row!)]
fn a_way_from_elsewhere_takes_nothing() {
    assert_answers(
        "mkdir a; touch a/x a/y; ln -s ../ws/a ../out/way",
        "[file_policy]\ndefault = 'deny'\nwrite_paths = ['$WS/**']\ndeny_paths = ['$WS/a/y']\n",
        "",
        &[
            ("mkdir $OUT/way/d", "ok"),
            ("rename $OUT/way/x $OUT/way/z", "ok"),
            ("unlink $OUT/way/z", "ok"),
            ("unlink $OUT/way/y", "EACCES"),
        ],
    );
}

// conformance: tiers-42, tiers-44, tiers-51, tiers-52, tiers-53
#[apply(row!)]
fn read_takes_writing() {
    assert_answers(
        "touch dir/f",
        "[file_policy]\nread_paths = ['$WS/dir/**']\n",
        "",
        &[
            ("open dir/f", "ok"),
            ("write dir/f", "EACCES"),
            ("write_excl dir/g", "EACCES"),
            ("unlink dir/f", "EACCES"),
            ("chmod dir/f", "EACCES"),
            ("write file", "ok"),
        ],
    );
}

#[apply(row!)]
fn nobody_can_be_asked() {
    assert_answers(
        "touch dir/f",
        "[file_policy]\nprompt_paths = ['$WS/dir/**']\n",
        "",
        &[
            ("open dir/f", "EACCES"),
            ("write dir/f", "EACCES"),
            ("write_excl dir/g", "EACCES"),
            ("rename dir/f g", "EACCES"),
            ("rename file dir/g", "EACCES"),
            ("open dir/none", "ENOENT"),
            ("open file", "ok"),
        ],
    );
}

/// Nobody is prompted for deleting or moving a missing entry: the program learns that it is missing, as a reader does.
/// An entry that exists stays, even a dangling symlink.
#[apply(row!)]
fn nobody_need_be_asked_about_what_is_missing() {
    assert_answers(
        "touch dir/f; mkdir dir/d; ln -s none dir/dangling; ln -s ../empty dir/to_dir",
        "[file_policy]\nprompt_paths = ['$WS/dir/**']\n",
        "",
        &[
            ("unlink dir/none", "ENOENT"),
            ("unlinkat dir/none", "ENOENT"),
            ("sys_unlink dir/none", "ENOENT"),
            ("sys_rename dir/none dir/g", "ENOENT"),
            ("remove dir/none", "ENOENT"),
            ("rmdir dir/none", "ENOENT"),
            ("rmdir dir/none/", "ENOENT"),
            ("rename dir/none g", "ENOENT"),
            ("rename dir/none dir/f", "ENOENT"),
            ("rename dir/none $OUT/g", "ENOENT"),
            ("rename dir/none/ dir/g", "ENOENT"),
            ("rename none dir/g", "ENOENT"),
            ("exchange dir/f dir/none", "ENOENT"),
            ("unlink dir/f", "EACCES"),
            ("rmdir dir/d", "EACCES"),
            ("unlink dir/dangling", "EACCES"),
            ("rmdir dir/dangling/", "EACCES"),
            ("rename dir/dangling/ dir/g", "EACCES"),
            ("rename dir/to_dir/ g", "EACCES"),
            ("rename file dir/none", "EACCES"),
        ],
    );
}

/// A missing entry is not revealed where the path or its spelling is denied, just as to a reader.
#[apply(row!)]
fn what_is_missing_where_all_is_denied_is_denied() {
    assert_answers(
        "mkdir shut; ln -s dir way",
        "[file_policy]\nprompt_paths = ['$WS/dir/**']\ndeny_paths = ['$WS/shut/**', '**/way/*']\n",
        "",
        &[
            ("open shut/none", "EACCES"),
            ("unlink shut/none", "EACCES"),
            ("rename shut/none g", "EACCES"),
            ("rename shut/none dir/g", "EACCES"),
            ("open way/none", "EACCES"),
            ("unlink way/none", "EACCES"),
            ("rename way/none g", "EACCES"),
            ("rename dir/none way/g", "EACCES"),
        ],
    );
}

// conformance: tiers-3, tiers-16, tiers-17
#[apply(row!)]
fn a_tier_opens_what_no_rule_reaches() {
    assert_answers(
        "",
        "[file_policy]\nread_paths = ['$OUT/dir/**']\nwrite_paths = ['$OUT/empty/*']\n",
        "",
        &[
            ("open $OUT/dir/inner", "ok"),
            ("write $OUT/dir/inner", "EACCES"),
            ("open $OUT/secret", "EACCES"),
            ("write_excl $OUT/empty/f", "ok"),
            ("write_excl $OUT/dir/f", "EACCES"),
        ],
    );
}

/// Landlock's rules apply to existing files, and allow starting only what they allow reading. A rule for a future
/// directory would apply to the home. So a program that a run puts there starts in the next run, and the report says
/// so.
#[apply(row!)]
fn programs_start_in_a_folder_that_a_tier_opens_once_it_is_there() {
    let scratch = Scratch::new();
    let own = "[file_policy]\nwrite_paths = ['~/new', '~/new/**']\n";
    scratch.write("home/.config/jp-confine/config.toml", own);
    let script = "printf '#!/bin/sh\necho ran\n' > tool && chmod +x tool \
                  && mkdir -p $HOME/new && cp tool $HOME/new && $HOME/new/tool \
                  && mkdir $HOME/other && cp tool $HOME/other && $HOME/other/tool";
    let run = || Run::sh(&scratch, &scratch.expand(script)).mode(Mode::under_test()).run();
    if Holder::under_test() != Holder::Library {
        let first = run();
        assert_eq!(first.stdout, "", "{first}");
        first.assert_stderr("it starts in the next run");
    }
    let next = run();
    assert_eq!(next.stdout, "ran\n", "{next}");
}

#[apply(row!)]
fn a_default_is_for_what_no_pattern_matches() {
    assert_answers(
        "touch dir/f",
        "[file_policy]\ndefault = 'deny'\nwrite_paths = ['$WS/bin/*', '$WS/dir/**']\n",
        "",
        &[("write dir/f", "ok"), ("open file", "EACCES"), ("open $OUT/secret", "EACCES")],
    );
}

#[apply(row!)]
fn a_folder_takes_its_denials_along() {
    assert_answers(
        "mkdir -p a/sub c; touch a/key",
        "[file_policy]\ndeny_paths = ['$WS/*/key']\n",
        "",
        &[
            ("rename a c/a", "EACCES"),
            ("rename a b", "ok"),
            ("open b/key", "EACCES"),
            ("rename b/sub c/sub", "ok"),
            ("rename file c/file", "ok"),
        ],
    );
}

/// A prompt is needed for the further grants of a broader rule.
#[apply(row!)]
fn a_flag_on_a_sensitive_path_grants_what_it_says() {
    assert_answers(
        "touch .env .env.local prod; ln -s prod .env.led",
        "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n",
        "-r .env -w .env.local -r .env.led",
        &[
            ("open .env", "ok"),
            ("write .env", "EACCES"),
            ("write .env.local", "ok"),
            ("open .env.led", "ok"),
            ("write prod", "ok"),
        ],
    );
}

/// A sensitive path prompts where a broader rule covers it, and not where a rule names it.
#[apply(row!)]
fn sensitive_paths_take_a_person() {
    let rules = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n\
                 [[access.fs]]\npath = 'dir/.env'\nread = true\n";
    // The prompt is a warning, and does not reach programs that avoid the library (docs/decisions/0018).
    let asked = if Holder::under_test() == Holder::Supervisor { "ok" } else { "EACCES" };
    assert_answers(
        "touch .env dir/.env x.env",
        rules,
        "",
        &[("open .env", asked), ("open dir/.env", "ok"), ("open x.env", "ok")],
    );
}

/// A sensitive name of a symlink prompts, too, unless a rule is on the target.
#[apply(row!)]
fn sensitive_names_of_links_take_a_person() {
    let rules = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n\
                 [[access.fs]]\npath = '.env.named'\nread = true\n";
    let asked = if Holder::under_test() == Holder::Supervisor { "ok" } else { "EACCES" };
    assert_answers(
        "mkdir cfg; touch cfg/prod cfg/named; ln -s . here; \
         ln -s cfg/prod .env; ln -s cfg/named .env.named; ln -s cfg/new .env.new",
        rules,
        "",
        &[
            ("open .env", asked),
            ("open $WS/.env", asked),
            ("open here/.env", asked),
            ("open dir/../.env", asked),
            // Calls that change something are judged one by one, because a rule below grants less.
            ("write .env", "EACCES"),
            ("creat .env.new", "EACCES"),
            ("stat .env", "ok"),
            ("open .env.named", "ok"),
            ("open cfg/prod", "ok"),
            ("creat cfg/new", "ok"),
        ],
    );
}

/// If a tier grants the target of a symlink, the symlink's name prompts for every program.
#[apply(row!)]
fn sensitive_names_of_links_take_a_person_where_a_tier_opens_what_they_lead_to() {
    assert_answers(
        "mkdir $OUT/d; touch $OUT/d/f; ln -s $OUT/d/f .env; ln -s $OUT/d/f plain",
        "[file_policy]\nread_paths = ['$OUT/d/**']\n[[access.fs]]\npath = '.'\nread = true\n\
         execute = true\n",
        "",
        &[("open .env", "EACCES"), ("open plain", "ok"), ("open $OUT/d/f", "ok")],
    );
}

#[apply(row!)]
fn sensitive_paths_of_an_undeclared_workspace_are_its_own() {
    assert_answers("touch .env", "", "", &[("open .env", "ok"), ("open $OUT/secret", "EACCES")]);
    let links = "ln -s file .env; ln -s $OUT/secret .env.far";
    assert_answers(links, "", "-r $OUT", &[("open .env", "ok"), ("open .env.far", "ok")]);
}

/// A directory does not move from where `.env` prompts to where it does not.
#[apply(row!)]
fn a_folder_keeps_the_question_about_what_is_sensitive_in_it() {
    let folders = "mkdir -p $OUT/p own; touch $OUT/p/.env $OUT/p/f own/.env";
    assert_answers(
        folders,
        "",
        "-w $OUT -x $OUT",
        &[
            ("rename $OUT/p here", "EACCES"),
            ("rename $OUT/p/f here", "ok"),
            ("rename $OUT/p $OUT/q", "ok"),
            // Sensitive files prompt at the destination, and did not here.
            ("rename own $OUT/own", "EXDEV"),
        ],
    );
}

#[apply(row!)]
fn a_workspace_file_only_restricts() {
    let scratch = arena(Scratch::new());
    let text = "[file_policy]\nread_paths = ['$OUT/**']\nprompt_paths = ['$HOME/**']\n\
                deny_paths = ['<workspace>/file']\n";
    scratch.write("ws/jp-confine.toml", &scratch.expand(text));
    let seen = |line: &str| {
        let line = scratch.expand(line);
        let run = call(&scratch, Mode::under_test(), &format!("--non-interactive -- {line}"));
        answer(&run).split(' ').next().unwrap_or_default().to_owned()
    };
    assert_eq!(seen("open $OUT/secret"), "EACCES");
    assert_ne!(seen("open $HOME/.private/key"), "ok");
    assert_eq!(seen("open file"), "EACCES");
    assert_eq!(seen("write dir/new"), "ENOENT");
}

/// A missing approval takes away what a pattern grants, and not what it restricts.
#[apply(row!)]
fn a_pattern_that_opens_nothing_restricts() {
    for (own, theirs) in [
        ("", "['**/*.lock']"),
        ("default = 'write'", "['$WS/x.lock']"),
        ("write_paths = ['$WS/**']", "['/**/x.lock']"),
    ] {
        let scratch = arena(Scratch::new());
        scratch.write("ws/x.lock", "");
        let own = scratch.expand(&format!("[file_policy]\n{own}\n"));
        scratch.write("home/.config/jp-confine/config.toml", &own);
        let text = scratch.expand(&format!("[file_policy]\nread_paths = {theirs}\n"));
        scratch.write("ws/jp-confine.toml", &text);
        let seen = |line: &str| {
            let run = call(&scratch, Mode::under_test(), &format!("--non-interactive -- {line}"));
            answer(&run).split(' ').next().unwrap_or_default().to_owned()
        };
        assert_eq!(seen("write x.lock"), "EACCES", "{own} {theirs}");
        assert_eq!(seen("open x.lock"), "ok", "{own} {theirs}");
        assert_eq!(seen("write_excl new"), "ok", "{own} {theirs}");
    }
}

/// A pattern that leads out is approved like a symlink, but for one list only.
#[apply(row!)]
fn what_a_workspace_file_opens_outside_is_approved_first() {
    let scratch = arena(Scratch::new());
    let text = scratch.expand("[file_policy]\nread_paths = ['$OUT/**']\n");
    scratch.write("ws/jp-confine.toml", &text);
    let seen = |line: &str| {
        let line = scratch.expand(line);
        let run = call(&scratch, Mode::under_test(), &format!("--non-interactive -- {line}"));
        answer(&run).split(' ').next().unwrap_or_default().to_owned()
    };
    assert_eq!(seen("open $OUT/target"), "EACCES");
    let name = scratch.expand("read_paths $OUT/**");
    let approve = Run::new(&scratch, PRODUCT, &["approvals", "approve", &name]).mode(Mode::Bare);
    approve.run().assert_ok();
    assert_eq!(seen("open $OUT/target"), "ok");
    assert_eq!(seen("write $OUT/target"), "EACCES");
    scratch.write("ws/jp-confine.toml", &text.replace("read_paths", "write_paths"));
    assert_eq!(seen("open $OUT/target"), "EACCES");
}

// conformance: tiers-32, tiers-33, tiers-69
/// A tool's own tiers replace the general ones.
#[apply(row!)]
fn tools_have_tiers_of_their_own() {
    assert_answers(
        "touch dir/f",
        "[file_policy]\nread_paths = ['$WS/dir/**']\n\
         [tools.edit.file_policy]\nread_paths = ['$WS/none/**']\ndeny_paths = ['$WS/file']\n",
        "--tool edit",
        &[("write dir/f", "ok"), ("open file", "EACCES")],
    );
}

/// Tiers that the workspace's own file has for a tool make no exception to another file's default.
#[apply(row!)]
fn a_default_of_the_workspace_leaves_what_it_opens_to_a_tool() {
    let scratch = arena(Scratch::new());
    let text = "[file_policy]\ndefault = 'deny'\nread_paths = ['<workspace>/bin/**']\n\
                [tools.edit.file_policy]\nwrite_paths = ['<workspace>/dir/**']\n";
    scratch.write("ws/jp-confine.toml", text);
    for (line, expected) in [("write_excl dir/new", "ok"), ("open file", "EACCES")] {
        let flags = format!("--non-interactive --tool edit -- {line}");
        let run = call(&scratch, Mode::under_test(), &flags);
        assert_eq!(answer(&run).split(' ').next(), Some(expected), "{run}");
        assert!(!run.stderr.contains("your own configuration"), "{run}");
    }
}
