//! `--view` and the views of profiles: their syntax, the views that cannot work, and the answers about them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::Value;

use crate::attack::{Linking, arena_with, call};
use crate::cli_status::product;
use crate::cli_vfs::tool;
use crate::layers::Holder;
use crate::run::{Mode, Outcome, Run, skip};
use crate::scratch::Scratch;

/// Runs the product with words in which `$WS`, `$OUT` and `$HOME` are replaced.
fn told(scratch: &Scratch, words: &str) -> Outcome {
    let words = scratch.expand(words);
    product(scratch, &words.split_whitespace().collect::<Vec<_>>()).run()
}

fn json(run: &Outcome) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
}

#[test]
fn malformed_views_are_named() {
    let scratch = Scratch::new();
    for (value, problem) in
        [("x", "no `=`: expected FROM=TO"), ("=x", "FROM is empty"), ("x=:ro", "TO is empty")]
    {
        let run = told(&scratch, &format!("--view {value} check read file"));
        run.assert_code(125).assert_stderr(problem).assert_stderr("--view");
    }
}

/// Each message names the view, the problem, and another way.
#[test]
fn views_that_cannot_work_are_refused() {
    let scratch = Scratch::new();
    for (view, problem, way) in [
        ("/=$OUT/dir", "FROM is the system's own /", "such as"),
        ("/proc/sys=$OUT/dir", "FROM is the system's own /proc/sys", "such as"),
        ("/dev=$OUT/dir", "FROM is the system's own /dev", "such as"),
        ("/usr=$OUT/dir", "FROM is the system's own /usr", "such as"),
        ("~/x=/sys/fs", "TO is the system's own /sys/fs", "such as"),
        ("$OUT/secret=$OUT/dir", "FROM is not a directory", "the one around"),
        ("~/x=$OUT/secret", "TO is not a directory", "the one around"),
        ("$WS=$OUT/dir", "FROM is the workspace", "-C $OUT/dir"),
        ("~/x=~/x", "FROM lies in TO", "does not contain FROM"),
        ("~/x=~", "FROM lies in TO", "does not contain FROM"),
        ("~/x=$WS", "TO contains the workspace", "does not contain it"),
        ("~/x=~/y --view ~/y=~/z", "--view ~/y=~/z shows another directory", "/z"),
        ("~/x=~/y -w $HOME/x", "another option grants FROM itself", "leave out one of them"),
    ] {
        let run = told(&scratch, &format!("--view {view} check read file"));
        run.assert_code(125).assert_stderr("--view").assert_stderr(problem);
        run.assert_stderr(&scratch.expand(way));
    }
}

/// Names that do not exist yet, and `/dev/shm` and directories around the workspace, can be shown.
#[test]
fn views_that_work() {
    let scratch = Scratch::new();
    for view in ["~/new/x=~/y/z", "/dev/shm=~/shm", "$WS/..=~/other:ro", "$OUT=$OUT/dir"] {
        told(&scratch, &format!("--view {view} check update file")).assert_ok();
    }
}

#[test]
fn check_judges_the_backing() {
    let scratch = Scratch::new();
    symlink("target", scratch.path("ws/link")).expect("a symlink");
    let check = |mode: &str, what: &str| {
        told(&scratch, &format!("--view target=$OUT/dir{mode} check --json {what}"))
    };
    for path in ["target/inner", "link/inner"] {
        let run = check("", &format!("create {path}"));
        let answer = json(run.assert_ok())[0].clone();
        assert_eq!(answer["resolved"], scratch.expand("$OUT/dir/inner"), "{run}");
    }
    check(":ro", "read target/inner").assert_ok();
    check(":ro", "execute target/inner").assert_ok();
    let run = check(":ro", "update target/inner");
    let answer = json(run.assert_code(1))[0].clone();
    assert_eq!(answer["rule"]["text"], scratch.expand("flag --view target=$OUT/dir:ro"), "{run}");
}

/// Both by the name and by the real path.
#[test]
fn explain_shows_both_paths() {
    let scratch = Scratch::new();
    let line = scratch.expand("resolved $HOME/.tool/inner, seen from $OUT/dir/inner");
    for path in ["$HOME/.tool/inner", "$OUT/dir/inner", "$HOME/.private/../.tool/inner"] {
        let run = told(&scratch, &format!("--view ~/.tool=$OUT/dir explain {path}"));
        run.assert_ok().assert_stdout(&line).assert_stdout("flag --view ~/.tool=");
        assert!(!run.stdout.contains("does not exist"), "{run}");
    }
    let run = told(&scratch, "--view ~/.tool=$OUT/dir explain --json $HOME/.tool/inner");
    assert_eq!(json(&run)["place"], scratch.expand("$HOME/.tool/inner"), "{run}");
    let run = told(&scratch, "--view ~/.tool=$OUT/dir explain $OUT/secret");
    assert!(!run.stdout.contains("seen from"), "{run}");
}

/// Programs do not see it, and other grants around it do not count there.
#[test]
fn compile_denies_the_real_place() {
    let scratch = Scratch::new();
    let run = told(&scratch, "--cache none -w $HOME --view ~/.private=~/new:ro compile");
    let policy = json(run.assert_ok());
    let [place, backing] = ["$HOME/.private", "$HOME/new"].map(|path| scratch.expand(path));
    assert_eq!(policy["views"], serde_json::json!([{ "from": place, "to": backing }]), "{run}");
    let grants = policy["grants"].as_array().expect("grants");
    let on = |anchor: &str| grants.iter().rfind(|grant| grant["anchor"] == anchor);
    let real = on(&place).expect("a denial");
    assert_eq!(real["capabilities"], serde_json::json!([]), "{run}");
    let why = "flag --view ~/.private=~/new:ro shows another directory here";
    assert_eq!(real["origin"]["why"], why, "{run}");
    assert!(on(&backing).is_some(), "{run}");
}

/// Only a run creates the backing.
#[test]
fn a_run_creates_the_backing_for_the_user_alone() {
    let scratch = Scratch::new();
    for words in ["check read file", "explain file", "compile", "--dry-run -- true"] {
        told(&scratch, &format!("--view ~/x=~/new/y {words}")).assert_ok();
        assert!(!scratch.path("home/new").exists(), "{words}");
    }
    let run = told(&scratch, "-v --view ~/x=~/new/y -- true");
    run.assert_ok().assert_stderr(&scratch.expand("view: $HOME/x shows $HOME/new/y"));
    for made in ["home/new", "home/new/y"] {
        let mode = scratch.path(made).metadata().expect("created").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{made}");
    }
}

/// The user's configuration, with the profile `mine`.
fn configured(view: &str) -> Scratch {
    let scratch = Scratch::new();
    let text = scratch.expand(&format!("[profiles.mine]\nview = {{ {view} }}\n"));
    scratch.write("home/.config/jp-confine/config.toml", &text);
    scratch
}

#[test]
fn profiles_of_the_user_have_views() {
    let scratch = configured("'~/.tool' = '${TOOL:-~/.tools}/x:ro'");
    let run = told(&scratch, "--profile mine explain $HOME/.tool/a");
    run.assert_ok().assert_stdout(&scratch.expand("seen from $HOME/.tools/x/a"));
    run.assert_stdout("profile mine: view ~/.tool=");
    let run = told(&scratch, "explain $HOME/.tool/a");
    assert!(!run.stdout.contains("seen from"), "a profile that nobody named: {run}");
}

/// Typed options count for more than profiles: another view of the same place, or the place itself.
#[test]
fn options_replace_views_of_profiles() {
    let scratch = configured("'~/.tool' = '~/.tools'");
    let run = told(&scratch, "--profile mine --view ~/.tool=$OUT/dir explain $HOME/.tool/a");
    run.assert_stdout(&scratch.expand("seen from $OUT/dir/a"));
    let run = told(&scratch, "--profile mine -w $HOME/.tool explain $HOME/.tool/a");
    run.assert_stdout("flag -w");
    assert!(!run.stdout.contains("seen from"), "{run}");
}

#[test]
fn malformed_views_of_profiles_are_pointed_at() {
    for (view, problem) in [
        ("'~/x' = ''", "TO is empty"),
        ("'x' = '/y'", "not a path that a profile can grant"),
        ("'/x' = 'y'", "not a path that a profile can grant"),
        ("'/x' = 1", "expected a string"),
    ] {
        let scratch = configured(view);
        told(&scratch, "check read file").assert_code(125).assert_stderr(problem);
    }
}

/// A workspace may be anybody's.
#[test]
fn a_workspace_cannot_make_a_view() {
    for text in ["[profiles.mine]\nview = { '~/x' = '~/y' }\n", "view = { '~/x' = '~/y' }\n"] {
        let scratch = Scratch::new();
        scratch.write("ws/jp-confine.toml", text);
        told(&scratch, "check read file").assert_code(125).assert_stderr("jp-confine.toml");
    }
}

/// A symlink in the workspace may have been created by an earlier run.
#[test]
fn planted_symlinks_choose_no_backing() {
    let scratch = Scratch::new();
    symlink(scratch.out(), scratch.path("ws/link")).expect("a symlink");
    let run = told(&scratch, "--view ~/x=link/new -- true");
    run.assert_code(125).assert_stderr("what runs here could have made");
    run.assert_stderr(&scratch.expand("--view $HOME/x=$OUT/new:rw"));
    assert!(!scratch.out().join("new").exists());
}

/// A tool that knows no library meets the real place, or is led to the backing. It never changes the real place.
#[test]
fn static_programs_write_nothing_at_the_real_place() {
    if Holder::under_test() == Holder::Library {
        return skip("the library alone confines no static programs");
    }
    let scratch = arena_with(Linking::Static, Scratch::new());
    scratch.write("home/.tool/old", "unchanged\n");
    fs::create_dir(scratch.path("home/backing")).expect("a directory");
    let view = "-w $HOME --view $HOME/.tool=$HOME/backing --";
    for line in ["write $HOME/.tool/old", "write_excl $HOME/.tool/new", "unlink $HOME/.tool/old"] {
        call(&scratch, Mode::under_test(), &format!("{view} {line}"));
        assert_eq!(scratch.read("home/.tool/old"), "unchanged\n", "{line}");
        assert_eq!(fs::read_dir(scratch.path("home/.tool")).expect("listed").count(), 1, "{line}");
    }
}

/// The record has the real path. The report names the one that the program knows.
#[test]
fn reports_name_the_place() {
    let scratch = Scratch::new();
    let view = scratch.expand("$HOME/.tool=$OUT/dir:ro");
    let run = Run::sh(&scratch, "echo x >$HOME/.tool/new").flags(&["--view", &view]).run();
    let place = scratch.expand("$HOME/.tool/new");
    run.assert_stderr(&format!("denied create {place} by "));
    let why = told(&scratch, "why --last --json");
    assert_eq!(json(&why)[0]["path"], place, "{why}");
}

/// Tools create each directory above the place before they create the place.
#[test]
fn directories_above_a_place_in_the_home_are_there() {
    let scratch = Scratch::new();
    let script =
        "mkdir -p ~/.none/such/tool/x && echo x >~/.none/such/tool/x/f && ls ~/.none/such/tool";
    let view = ["--view", "~/.none/such/tool=~/backing"];
    let run = Run::sh(&scratch, script).mode(Mode::Confined).flags(&view).run();
    assert_eq!(run.assert_ok().stdout, "x\n", "{run}");
    assert_eq!(scratch.read("home/backing/x/f"), "x\n");
    assert!(!scratch.path("home/.none/such/tool").exists());
}

/// Symlinks in the workspace lead the file service and `authorize` through views.
#[test]
fn services_see_views() {
    let scratch = Scratch::new();
    scratch.write("out/place/f", "real\n");
    scratch.write("out/back/f", "shown\n");
    symlink(scratch.path("out/place"), scratch.path("ws/link")).expect("a symlink");
    let view = ["--view", &scratch.expand("$OUT/place=$OUT/back")];
    let script = r#"
        ask fs.read '{"path":"link/f"}'; show
        ask fs.write '{"path":"link/new","content":"n"}'; show
        ask fs.list_dir '{"path":"link"}'; show
        tell result '{"content":""}'"#;
    let run = tool(&scratch, &view, script).mode(Mode::Confined).run();
    run.assert_ok().assert_stderr(r#""content":"shown\n""#).assert_stderr(r#""path":"new""#);
    assert_eq!(scratch.read("out/back/new"), "n");
    let words = "--view $OUT/place=$OUT/back authorize --json write $WS/link/f $OUT/place/new";
    let run = told(&scratch, words);
    let paths = json(run.assert_ok());
    let paths: Vec<&str> = paths
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["resolved_path"].as_str())
        .collect();
    assert_eq!(paths, [scratch.expand("$OUT/back/f"), scratch.expand("$OUT/back/new")], "{run}");
}

/// Below a view and in the private directory nothing need be granted. The options that grant it are named.
#[test]
fn what_a_view_grants_is_not_learned() {
    let scratch = Scratch::new();
    let script = "mkdir d; echo x >~/tool/new; cat ~/tool/new; echo x >$TMPDIR/y; ls ~/tool";
    let words = ["learn", "--html", "page.html", "--view", "~/tool=~/backing", "--", "sh", "-c"];
    product(&scratch, &[&words[..], &[script]].concat()).run().assert_ok();
    let learned = scratch.read("ws/jp-confine.learned.toml");
    let rules: Vec<&str> = learned.lines().filter(|line| line.starts_with("path")).collect();
    assert_eq!(rules, ["path = \"d\""], "{learned}");
    assert!(learned.contains("#   --view ~/tool=~/backing  ("), "{learned}");
    let page = scratch.read("ws/page.html");
    assert!(page.contains("home/tool/") && !page.contains("home/backing"), "{page}");
}

/// `doctor` tries a view.
#[test]
fn the_doctor_tries_a_view() {
    let scratch = Scratch::new();
    let run = product(&scratch, &["doctor"]).run();
    run.assert_ok().assert_stdout("views       yes, in all programs");
    let run = product(&scratch, &["doctor"]).env("JP_CONFINE_WITHOUT", "listener").run();
    run.assert_ok().assert_stdout("views       yes, in programs that load the library");
    let left = fs::read_dir(scratch.path("home/.local/share/jp-confine/workspaces"));
    assert!(left.is_err(), "doctor keeps nothing about its run");
}
