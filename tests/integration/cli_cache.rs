//! `cache list` and `cache clear`, and the caches that a run has.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::Value;

use crate::run::{Mode, Outcome, PRODUCT, Run};
use crate::scratch::Scratch;

fn product(scratch: &Scratch, words: &[&str]) -> Outcome {
    Run::new(scratch, PRODUCT, words).mode(Mode::Bare).run()
}

/// What a run writes is there for the next run, until somebody clears it.
#[test]
fn caches_are_listed_and_cleared() {
    let scratch = Scratch::new();
    let list = || -> Value {
        let listed = product(&scratch, &["cache", "list", "--json"]);
        listed.assert_ok();
        serde_json::from_str(&listed.stdout).expect("JSON")
    };
    assert_eq!(list(), serde_json::json!([]));
    let fill = "mkdir -p ~/.npm && head -c 100000 /dev/zero > ~/.npm/x";
    product(&scratch, &["--", "sh", "-c", fill]).assert_ok();
    let found = list();
    let [line] = found.as_array().expect("a list").as_slice() else { panic!("{found}") };
    assert_eq!(line["workspace"], scratch.ws().to_str().expect("UTF-8"));
    assert!(line["bytes"].as_u64().is_some_and(|bytes| bytes >= 100_000), "{line}");
    let directory = scratch.path(line["directory"].as_str().expect("a path"));
    assert_eq!(fs::metadata(&directory).expect("a directory").mode() & 0o777, 0o700);
    product(&scratch, &["cache", "list"]).assert_ok().assert_stdout("kB  today");
    product(&scratch, &["cache", "clear", "--unused", "1d"]).assert_ok();
    assert!(directory.exists(), "it was used today");
    product(&scratch, &["cache", "clear", "/nowhere"])
        .assert_code(125)
        .assert_stderr("has no caches");
    let clear = format!("echo x > ~/.npm/y; {PRODUCT} cache clear");
    product(&scratch, &["--", "sh", "-c", &clear]);
    assert!(directory.exists(), "it is in use");
    product(&scratch, &["cache", "clear"]).assert_ok().assert_stderr("1 workspace");
    assert!(!directory.exists());
}

/// The three choices of `--cache`.
#[test]
fn tools_have_the_caches_that_are_chosen() {
    let scratch = Scratch::new();
    scratch.write("home/.npm/users", "the user's\n");
    let run = |flags: &[&str], script: &str| {
        let words = [flags, &["--", "sh", "-c", script]].concat();
        product(&scratch, &words)
    };
    run(&[], "ls ~/.npm && echo own > ~/.npm/f").assert_ok();
    run(&["--cache", "own"], "cat ~/.npm/f").assert_ok().assert_stdout("own");
    let none = run(&["--cache", "none"], "cat ~/.npm/users || echo x > ~/.npm/f");
    assert_ne!(none.code(), 0, "{none}");
    let shared = run(&["--cache", "shared"], "cat ~/.npm/users && echo shared > ~/.npm/f");
    shared.assert_ok().assert_stdout("the user's").assert_stderr("--cache shared");
    assert_eq!(scratch.read("home/.npm/f"), "shared\n");
    run(&[], "cat ~/.npm/f").assert_ok().assert_stdout("own");
    let explained =
        product(&scratch, &["explain", scratch.home().join(".npm/f").to_str().expect("UTF-8")]);
    explained.assert_stdout("seen from");
}

/// pnpm's installer puts the directory that has its store on `PATH`. The run's own directory is not on the user's.
#[test]
fn a_cache_may_be_in_a_directory_of_commands() {
    let scratch = Scratch::new();
    let home = scratch.home().join(".local/share/pnpm");
    let home = home.to_str().expect("UTF-8");
    scratch.write("home/.local/share/pnpm/tool", "#!/bin/sh\necho theirs\n");
    let script =
        "set -e; cd ~/.local/share/pnpm; mkdir store/d; ln ~-/file store/d/f; ln -s f store/d/l
        echo x > new; mv new store/d; rm -r store/d; ls; sh tool; ! echo x > tool";
    let path = format!("{home}:/usr/bin:/bin");
    let run = Run::new(&scratch, PRODUCT, &["--", "bash", "-c", script]).mode(Mode::Bare);
    run.env("PATH", &path).env("PNPM_HOME", home).run().assert_ok().assert_stdout("theirs");
    assert!(scratch.path("home/.local/share/pnpm/tool").exists());
}

/// A tool finds what the user has, may add to it, and may update what the launcher copied.
#[test]
fn caches_begin_with_what_the_user_has() {
    let scratch = Scratch::new();
    let registry = "home/.cargo/registry";
    scratch.write(&format!("{registry}/cache/i/a-1.crate"), "crate\n");
    scratch.write(&format!("{registry}/src/i/a-1/lib.rs"), "source\n");
    scratch.write(&format!("{registry}/index/i/.cache/a/b/ab"), "old\n");
    scratch.write("home/.cargo/git/db/x/objects/pack/p.pack", "pack\n");
    scratch.write("home/.cargo/git/db/x/HEAD", "ref\n");
    scratch.write("home/.cargo/config.toml", "# the user's\n");
    scratch.write("home/.m2/repository/g/a/1/a.jar", "jar\n");
    let run = |script: &str| {
        product(&scratch, &["--", "sh", "-c", &format!("set -e; cd ~/.cargo/registry; {script}")])
    };
    let read = "cat cache/i/a-1.crate src/i/a-1/lib.rs index/i/.cache/a/b/ab ~/.cargo/git/db/x/HEAD
        cat ~/.cargo/git/db/x/objects/pack/p.pack ~/.cargo/config.toml ~/.m2/repository/g/a/1/a.jar
        cd src/i/a-1; cat lib.rs; pwd; cd ../..; ls i";
    let found = run(read);
    found.assert_ok().assert_stdout("crate\nsource\nold\nref\npack\n# the user's\njar\nsource\n");
    found.assert_stdout(scratch.home().join(".cargo/registry/src/i/a-1").to_str().expect("UTF-8"));
    let write = "echo new > index/i/.cache/a/b/ab; echo b > cache/i/b-1.crate; mkdir src/i/b-1
        ! echo x > cache/i/a-1.crate 2>/dev/null; ! echo x > src/i/a-1/lib.rs 2>/dev/null; rm cache/i/a-1.crate";
    run(write).assert_ok();
    let again = run("cat index/i/.cache/a/b/ab; ls cache/i src/i");
    again.assert_ok().assert_stdout("new\n");
    assert_eq!(scratch.read("home/.cargo/registry/index/i/.cache/a/b/ab"), "old\n");
    assert_eq!(scratch.read("home/.cargo/registry/cache/i/a-1.crate"), "crate\n");

    // Outside, one crate goes and another one comes.
    fs::remove_dir_all(scratch.path("home/.cargo/registry/src/i/a-1")).expect("removed");
    scratch.write(&format!("{registry}/src/i/c-1/lib.rs"), "another\n");
    let later = run("cat src/i/c-1/lib.rs; test ! -L src/i/a-1; test -d src/i/b-1");
    later.assert_ok().assert_stdout("another");
}
