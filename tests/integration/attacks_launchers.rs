//! Directories from which a user's programs start, in every workspace. No profile allows a run to change them.

use std::fs;

use macro_rules_attribute::apply;

use crate::layers::row;
use crate::run::{Mode, Run};
use crate::scratch::Scratch;

/// Paths below the home.
const LAUNCHERS: &[&str] = &[
    ".gradle/wrapper/dists/gradle-8/bin",
    ".m2/wrapper/dists/maven",
    ".cache/node/corepack/v1/pnpm",
    ".local/share/pnpm",
    ".local/share/pnpm/.tools/pnpm",
    ".local/share/pnpm/global/5",
    ".npm/_npx/0123/node_modules/.bin",
    ".cargo/bin",
    ".rustup/toolchains/stable/bin",
    ".local/bin",
    "go/bin",
    ".bun/bin",
    ".bun/install/global/node_modules",
    ".deno/bin",
    ".volta/bin",
    ".nvm/versions/node/v22/bin",
    ".local/share/fnm/node-versions",
    ".pyenv/shims",
    ".pyenv/versions/3/bin",
    ".sdkman/candidates/java/current/bin",
    ".jdks/21/bin",
    "sdk/go/bin",
];

/// A program without a profile of its own gets all profiles.
#[apply(row!)]
fn no_profile_lets_a_run_change_them() {
    for is_there in [true, false] {
        let scratch = Scratch::new();
        // A grant on a missing path needs a directory around it.
        for above in [".cache", ".local/share/pnpm", ".npm", ".bun", ".gradle", ".m2", "go"] {
            fs::create_dir_all(scratch.home().join(above)).expect("directories");
        }
        for launcher in LAUNCHERS.iter().filter(|_| is_there) {
            fs::create_dir_all(scratch.home().join(launcher)).expect("directories");
        }
        let plant =
            |launcher: &&str| format!("mkdir -p ~/{launcher} && echo evil > ~/{launcher}/evil\n");
        let script: String = LAUNCHERS.iter().map(plant).collect();
        Run::sh(&scratch, &script).run();
        for launcher in LAUNCHERS {
            let planted = scratch.home().join(launcher).join("evil");
            assert!(!planted.exists(), "{}", planted.display());
        }
    }
}

/// A wrapper or a cached package still starts.
#[apply(row!)]
fn what_is_there_still_starts() {
    let scratch = Scratch::new();
    for (launcher, name) in [
        (".gradle/wrapper/dists/gradle-8/bin", "gradle"),
        (".m2/wrapper/dists/maven", "mvn"),
        (".cache/node/corepack/v1/pnpm", "pnpm"),
        (".local/share/pnpm", "pnpm"),
    ] {
        let path = format!("home/{launcher}/{name}");
        scratch.copy_program(std::path::Path::new("/bin/true"), &path);
        Run::new(&scratch, scratch.path(&path).to_str().expect("UTF-8"), &[])
            .flags(&["--profile=node", "--profile=java"])
            .run()
            .assert_ok();
    }
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
}

/// The caches are the workspace's own, so a run may also start what it put there.
#[apply(row!)]
fn caches_are_filled() {
    let scratch = Scratch::new();
    let script = "mkdir -p ~/.npm/_cacache ~/.npm/_npx/0 && echo x > ~/.npm/_cacache/x \
                  && cp /bin/true ~/.npm/_npx/0/run && ~/.npm/_npx/0/run \
                  && mkdir -p ~/.local/share/pnpm/store/v10 && echo x > ~/.local/share/pnpm/store/v10/x \
                  && mkdir -p ~/.cargo/registry && echo x > ~/.cargo/.package-cache";
    // The directories on the way are in the home.
    fs::create_dir_all(scratch.home().join(".local/share/pnpm")).expect("directories");
    let filled = Run::sh(&scratch, script).run();
    filled.assert_ok();
    assert!(!filled.stderr.contains("denial"), "{filled}");
    Run::sh(&scratch, "cat ~/.npm/_cacache/x ~/.cargo/.package-cache")
        .run()
        .assert_stdout("x\nx\n");
    for cache in [".npm", ".local/share/pnpm/store", ".cargo"] {
        assert!(!scratch.home().join(cache).exists(), "{cache}");
    }
    let caches = scratch.home().join(".cache/jp-confine");
    let [own] = &fs::read_dir(caches).expect("caches").flatten().collect::<Vec<_>>()[..] else {
        panic!("one workspace has one directory");
    };
    assert!(own.file_name().to_str().is_some_and(|name| name.starts_with("ws-")), "{own:?}");
    assert!(own.path().join("caches/npm/_cacache/x").exists());
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
}
