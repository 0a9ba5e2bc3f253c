//! cargo and rustc: a crate with a build script, derive macros and more than ten dependencies.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::run::{Mode, Run, note, skip};
use crate::scratch::Scratch;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/workspace");

/// `cargo` with the caller's own tool chain and registry, in a home that is not the caller's.
fn cargo<'a>(scratch: &'a Scratch, args: &[&str]) -> Run<'a> {
    let home = PathBuf::from(std::env::var_os("HOME").expect("HOME"));
    let own = |name: &str, folder: &str| {
        let path = std::env::var_os(name).map_or_else(|| home.join(folder), PathBuf::from);
        path.to_str().expect("UTF-8").to_owned()
    };
    let (cargo_home, rustup_home) = (own("CARGO_HOME", ".cargo"), own("RUSTUP_HOME", ".rustup"));
    let path = format!("{cargo_home}/bin:/usr/local/bin:/usr/bin:/bin");
    let mut run = Run::new(scratch, "cargo", args)
        .limit(Duration::from_secs(400))
        .env("CARGO_HOME", &cargo_home)
        .env("PATH", &path)
        .env("CARGO_NET_OFFLINE", "true");
    if std::path::Path::new(&rustup_home).exists() {
        run = run.env("RUSTUP_HOME", &rustup_home);
    }
    // The tool chain of this repository, because no file in the scratch directory names one.
    if let Some(toolchain) = std::env::var_os("RUSTUP_TOOLCHAIN") {
        run = run.env("RUSTUP_TOOLCHAIN", toolchain.to_str().expect("UTF-8"));
    }
    run
}

/// A scratch tree whose workspace is the sample, its dependencies in the registry's cache.
fn sample() -> Scratch {
    let scratch = Scratch::new();
    let copied = Command::new("cp").args(["-R", &format!("{SAMPLE}/.")]).arg(scratch.ws()).status();
    assert!(copied.expect("cp").success());
    let mut fetch = Command::new("cargo");
    let fetch = fetch.args(["fetch", "--locked", "--quiet"]).current_dir(scratch.ws());
    assert!(fetch.status().expect("cargo").success(), "the dependencies cannot be fetched");
    scratch
}

#[test]
fn build_test_and_run() {
    let scratch = sample();
    let before = scratch.forbidden();
    cargo(&scratch, &["build", "--locked"]).run().assert_ok();
    let tested = cargo(&scratch, &["test", "--locked"]).run();
    tested.assert_ok().assert_stdout("seasons_come_from_the_build_script ... ok");
    cargo(&scratch, &["run", "-q"]).run().assert_ok().assert_stdout("12 crates of apple (autumn)");
    cargo(&scratch, &["clean"]).run().assert_ok();

    // In the same workspace, a build script tries to reach outside.
    let reach = scratch.expand(
        "fn main() {
             for path in [\"$OUT/secret\", \"$HOME/.private/key\", \"../out/secret\"] {
                 if let Ok(text) = std::fs::read_to_string(path) { println!(\"cargo::warning={text}\"); }
             }
             let _ = std::fs::write(\"$OUT/target\", \"changed\");
             let _ = std::os::unix::fs::symlink(\"$OUT/secret\", \"link\");
             if let Ok(text) = std::fs::read_to_string(\"link\") { println!(\"cargo::warning={text}\"); }
             std::fs::write(std::env::var(\"OUT_DIR\").unwrap() + \"/seasons.rs\",
                 \"const SEASONS: &[(&str, &str)] = &[];\").unwrap();
         }",
    );
    std::fs::write(scratch.path("ws/build.rs"), reach).expect("a build script");
    cargo(&scratch, &["build", "--locked"]).run().assert_ok().assert_no_secret();
    before.assert_same(&scratch.forbidden());
}

/// Outside, inside, and outside again, in one directory: cargo builds everything once. Inside it finds the user's
/// registry, without the network.
#[test]
fn builds_by_turns_rebuild_nothing() {
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there are no turns");
    let scratch = sample();
    let build = |mode| {
        let built = cargo(&scratch, &["build", "--locked"]).mode(mode).run();
        built.assert_ok();
        built.stderr.matches("Compiling").count()
    };
    assert_ne!(build(Mode::Bare), 0);
    assert_eq!(build(Mode::Confined), 0);
    assert_eq!(build(Mode::Bare), 0);
}

/// `cargo` with the caller's own tool chain, and with the registry in the home of the scratch tree.
fn in_a_new_home<'a>(scratch: &'a Scratch, args: &[&str]) -> Run<'a> {
    let home = scratch.home().join(".cargo");
    let proxies = PathBuf::from(std::env::var_os("HOME").expect("HOME")).join(".cargo");
    let proxies = std::env::var_os("CARGO_HOME").map_or(proxies, PathBuf::from).join("bin");
    let proxies = proxies.to_str().expect("UTF-8").to_owned();
    cargo(scratch, args).env("CARGO_HOME", home.to_str().expect("UTF-8")).flags(&["-x", &proxies])
}

/// A run fetches into the workspace's own registry, and builds from there without the network.
#[test]
fn the_registry_of_a_run() {
    let with_a_dependency = || {
        let scratch = Scratch::new();
        let manifest = "[package]\nname = 'app'\nversion = '0.1.0'\n[dependencies]\nitoa = '1'\n";
        scratch.write("ws/Cargo.toml", manifest);
        scratch.write("ws/src/main.rs", "fn main() { itoa::Buffer::new(); }\n");
        scratch
    };
    let fetch = |scratch: &Scratch, mode| {
        let fetch = in_a_new_home(scratch, &["fetch"]).mode(mode);
        fetch.env("CARGO_NET_OFFLINE", "false").run()
    };
    if fetch(&with_a_dependency(), Mode::Bare).code() != 0 {
        return skip("no registry of crates");
    }
    let scratch = with_a_dependency();
    let before = scratch.whole_home();
    fetch(&scratch, Mode::under_test()).assert_ok().assert_stderr("Downloaded");
    let build = in_a_new_home(&scratch, &["build", "--offline"]).flags(&["--no-net"]).run();
    build.assert_ok().assert_stderr("Compiling itoa");
    before.assert_same(&scratch.whole_home());
}

/// In the first build of a home, cargo creates its database in a directory of its own, and syncs it. No build script
/// may read the login data that cargo keeps there.
#[test]
fn the_first_build_of_a_home() {
    let scratch = Scratch::new();
    scratch.write("ws/Cargo.toml", "[package]\nname = 'app'\nversion = '0.1.0'\n");
    scratch.write("ws/src/main.rs", "fn main() {}\n");
    let build = |scratch| in_a_new_home(scratch, &["build", "-v"]).run();
    let first = build(&scratch);
    first.assert_ok();
    assert!(!first.stderr.contains("denied"), "{}", first.stderr);

    let secret = scratch.read("out/secret");
    scratch.write("home/.cargo/credentials.toml", &secret);
    let reads = "fn main() {
        let file = std::env::var(\"CARGO_HOME\").unwrap() + \"/credentials.toml\";
        println!(\"cargo::warning={:?}\", std::fs::read_to_string(file));
    }";
    scratch.write("ws/build.rs", reads);
    let second = build(&scratch);
    second.assert_ok().assert_stderr("warning: app").assert_no_secret();
    second.assert_stderr("1 denial did not matter");
}

/// A test that reads an ungranted file fails. Bare, the same test passes.
#[test]
fn a_crate_whose_test_reads_out() {
    let scratch = sample();
    let code = scratch.expand(
        "#[test] fn reads_out() { assert!(std::fs::read_to_string(\"$OUT/secret\").is_ok()); }\n",
    );
    scratch.write("ws/tests/reads_out.rs", &code);
    let test = &["test", "--locked", "--test", "reads_out"];
    cargo(&scratch, test).mode(Mode::Bare).run().assert_ok();
    cargo(&scratch, test).run().assert_code(101).assert_stdout("reads_out ... FAILED");
}

/// The policy learned from a second build is as short as from a first one. It is enough for later builds with changes
/// and with warnings, which the learned build did not have.
#[test]
fn builds_are_learned_beside_what_was_built_before() {
    let scratch = Scratch::new();
    scratch.write("ws/Cargo.toml", "[package]\nname = 'app'\nversion = '0.1.0'\n");
    let mut code = "fn main() {}\n".to_owned();
    let mut edit = |line: &str| {
        code.push_str(line);
        scratch.write("ws/src/main.rs", &code);
    };
    edit("// as it begins\n");
    cargo(&scratch, &["build"]).mode(Mode::Bare).run().assert_ok();
    edit("// learned\n");
    let learn = ["--enforce", "strict", "learn"];
    let learned = cargo(&scratch, &["build"]).flags(&learn).run();
    if learned.code() == 125 && learned.stderr.contains("learn ") {
        return note("skipped: learn cannot be had here");
    }
    learned.assert_ok();
    let policy = scratch.read("ws/jp-confine.learned.toml");
    let paths = policy.lines().filter(|line| line.starts_with("path = ")).collect::<Vec<_>>();
    let expected = ["Cargo.lock", "Cargo.toml", "src/main.rs", "target"];
    assert_eq!(paths, expected.map(|path| format!("path = \"{path}\"")), "{policy}");
    for line in ["// again\n", "fn unused() {}\n", "// and again\n"] {
        edit(line);
        let again = cargo(&scratch, &["build"]).flags(&["-p", "jp-confine.learned.toml"]).run();
        again.assert_ok();
        assert!(!again.stderr.contains("denied"), "{policy}\n{again}");
    }
}

/// The fork of a dependency beside the workspace: mounted for a build, and for a tool that changes it.
#[test]
fn a_fork_beside_the_workspace() {
    let scratch = Scratch::new();
    let manifest = |name: &str, more: &str| {
        format!("[package]\nname = '{name}'\nversion = '0.1.0'\nedition = '2024'\n{more}")
    };
    scratch.write("ws/Cargo.toml", &manifest("app", "[dependencies]\ndep = { path = 'fork' }\n"));
    scratch.write("ws/src/main.rs", "fn main() { println!(\"{}\", dep::WORD); }\n");
    scratch.write("ws/jp-confine.toml", "[tools.edit]\n");
    scratch.write("out/fork/Cargo.toml", &manifest("dep", ""));
    scratch.write("out/fork/src/lib.rs", "pub const WORD: &str = \"theirs\";\n");
    let mount = &["--mount", "fork=../out/fork"];
    let edit = ["-i", "s/theirs/ours/", "fork/src/lib.rs"];
    assert_ne!(Run::new(&scratch, "sed", &edit).flags(mount).run().code(), 0);
    let to_edit = &["--tool", "edit", "--mount", "edit:fork=../out/fork:rw"];
    Run::new(&scratch, "sed", &edit).flags(to_edit).run().assert_ok();
    cargo(&scratch, &["run", "-q"]).flags(mount).run().assert_ok().assert_stdout("ours");
    assert!(!scratch.path("out/fork/target").exists());
}

/// The commonest rule of all, in a fresh checkout. The build creates the directory, and starts programs in it.
#[test]
fn a_build_where_only_its_directory_may_change() {
    let scratch = Scratch::new();
    scratch.write("ws/Cargo.toml", "[package]\nname = 'app'\nversion = '0.1.0'\n");
    scratch.write(
        "ws/Cargo.lock",
        "version = 4\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\n",
    );
    let text = "fn main() { println!(\"cargo::rustc-env=SEASON=autumn\"); }\n";
    scratch.write("ws/build.rs", text);
    scratch.write("ws/src/main.rs", "fn main() { println!(\"{}\", env!(\"SEASON\")); }\n");
    let rules = "[[access.fs]]\npath = '.'\nread = true\n\n\
                 [[access.fs]]\npath = 'target'\nread = true\nwrite = true\nexecute = true\n";
    scratch.write("ws/jp-confine.toml", rules);
    let run = || cargo(&scratch, &["run", "-q", "--locked"]).run();
    run().assert_ok().assert_stdout("autumn");
    cargo(&scratch, &["clean"]).run().assert_ok();
    run().assert_ok().assert_stdout("autumn");
    let touched = Run::sh(&scratch, "echo changed > src/main.rs").run();
    assert_ne!(touched.code(), 0, "{touched}");
}
