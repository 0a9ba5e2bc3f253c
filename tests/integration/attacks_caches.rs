//! What a run writes into the caches of tools stays with the workspace. The user's own caches, from which other programs
//! run unconfined, stay as they are.

use std::fs;
use std::path::Path;

use macro_rules_attribute::apply;

use crate::layers::row;
use crate::run::Run;
use crate::scratch::Scratch;

/// Files in the caches and settings of a user, one for each part that a tool keeps.
const FILES: &[&str] = &[
    ".cargo/registry/cache/index/a-1.crate",
    ".cargo/registry/src/index/a-1/src/lib.rs",
    ".cargo/registry/index/index/config.json",
    ".cargo/registry/index/index/.cache/a/b/ab",
    ".cargo/git/checkouts/x/0123/lib.rs",
    ".cargo/git/db/x/HEAD",
    ".cargo/git/db/x/objects/pack/x.pack",
    ".cargo/.package-cache",
    ".cargo/bin/tool",
    ".cargo/config.toml",
    ".cargo/env",
    ".cache/ccache/0/1",
    ".cache/sccache/0",
    ".npm/_cacache/index",
    ".npm/_npx/0/package.json",
    ".cache/node/corepack/v1/pnpm/9/pnpm.cjs",
    ".cache/node/x",
    ".cache/node/corepack/lastKnownGood.json",
    ".cache/node-gyp/22/include/node.h",
    ".cache/pnpm/metadata/x.json",
    ".local/share/pnpm/store/v10/files/00/x",
    ".local/share/pnpm/pnpm",
    ".local/share/pnpm/bin/tool",
    ".local/share/pnpm/global/5/x",
    ".local/state/pnpm/x",
    ".cache/yarn/v6/x",
    ".yarn/berry/cache/x.zip",
    ".yarn/bin/yarn",
    ".bun/install/cache/x",
    ".bun/bin/bun",
    ".cache/deno/x",
    ".cache/pip/http/x",
    ".cache/uv/x",
    ".cache/pypoetry/x",
    ".local/lib/python3/site-packages/x.py",
    ".local/bin/tool",
    ".m2/repository/g/a/1/a-1.jar",
    ".m2/repository/g/a/maven-metadata-central.xml",
    ".m2/wrapper/dists/maven/0/bin/mvn",
    ".m2/settings.xml",
    ".gradle/caches/modules-2/files-2.1/x",
    ".gradle/wrapper/dists/gradle-8/0/gradle-8/bin/gradle",
    ".gradle/init.gradle",
    "go/pkg/mod/example.org/m@v1.0.0/m.go",
    "go/pkg/mod/cache/download/example.org/m/@v/v1.0.0.mod",
    "go/pkg/mod/cache/download/example.org/m/@v/list",
    "go/pkg/sumdb/sum.golang.org/latest",
    "go/bin/tool",
    ".cache/go-build/00/x",
    ".config/go/telemetry/mode",
];

/// A file in each cache of each profile, where it is if no variable is set.
fn files_of_profiles() -> Vec<String> {
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles");
    let tables = fs::read_dir(profiles).expect("profiles").map(|entry| {
        let text = fs::read_to_string(entry.expect("a profile").path()).expect("a table");
        text.parse::<toml::Table>().expect("TOML")
    });
    let mut files = Vec::new();
    for cache in tables.filter_map(|table| table.get("cache")?.as_table().cloned()) {
        let usual = cache.keys().filter_map(|place| without_variables(place));
        files.extend(usual.map(|place| format!("{}/of-a-profile", place.trim_start_matches("~/"))));
    }
    assert!(files.len() > 15, "{files:?}");
    files
}

/// A path of a profile with the defaults of its variables. `None` if one has none.
fn without_variables(path: &str) -> Option<String> {
    let Some(start) = path.rfind("${") else { return Some(path.to_owned()) };
    let (reference, rest) = path[start + 2..].split_once('}')?;
    let (_, default) = reference.split_once(":-")?;
    without_variables(&format!("{}{default}{rest}", &path[..start]))
}

/// Changes `$f` in many ways, and what is beside it.
const CHANGES: &str = "
    echo evil > $f; echo evil >> $f; : > $f
    chmod 777 $f; touch -d @0 $f; ln $f $f.linked; ln -s /etc/passwd $f.link
    echo evil > $f.new; mkdir $(dirname $f)/new; mv $f $f.moved; mv $f.new $f
    d=$(dirname $f); mv $d $d.moved; rm -f $f; rmdir $d; rm -rf $d; mkdir -p $d; echo evil > $f";

/// The first run fills the workspace's own caches. The second one finds them filled.
#[apply(row!)]
fn whatever_is_written_to_them_the_home_stays() {
    let scratch = Scratch::new();
    let mut files = files_of_profiles();
    files.extend(FILES.iter().map(|&file| file.to_owned()));
    for file in &files {
        scratch.write(&format!("home/{file}"), "the user's\n");
    }
    let before = scratch.whole_home();
    let script =
        format!("for f in {}; do f=~/$f; {CHANGES}\ndone 2>/dev/null; true", files.join(" "));
    for _ in 0..2 {
        Run::sh(&scratch, &script).run();
        before.assert_same(&scratch.whole_home());
    }
    // Programs without the library.
    let static_shell = "busybox sh -c \"$0\" || true";
    let line = [static_shell, &script];
    Run::new(&scratch, "sh", &["-c", line[0], line[1]]).run();
    before.assert_same(&scratch.whole_home());
}

/// A run may have put symlinks in the place of its caches. The launcher creates and fills nothing where they lead, and the
/// next run gets nothing there.
#[apply(row!)]
fn no_symlink_of_a_run_stands_for_a_cache() {
    let scratch = Scratch::new();
    scratch.write("home/go/pkg/mod/cache/download/m/@v/v1.0.0.zip", "x\n");
    scratch.write("out/npm/secret", "TOPSECRET\n");
    let plant = scratch.expand(
        "cd ${GOCACHE%/go/build}; rm -rf npm yarn go/path/pkg; ln -s $OUT/npm npm; ln -s $OUT yarn; ln -s $OUT go/path/pkg; ls -l",
    );
    let before = scratch.forbidden();
    Run::sh(&scratch, &plant).run().assert_stdout("npm -> ");
    let script = "cat ~/.npm/secret $GOMODCACHE/../secret; ls $GOMODCACHE/; echo x > ~/.npm/new; echo x > $GOMODCACHE/new";
    for _ in 0..2 {
        let second = Run::sh(&scratch, script).run();
        second.assert_no_secret();
        assert_ne!(second.code(), 0, "{second}");
        before.assert_same(&scratch.forbidden());
    }
}

/// A run may have left symlinks in its caches. What the launcher adds there for the next run goes nowhere else.
#[apply(row!)]
fn seeds_follow_no_symlinks_of_a_run() {
    let scratch = Scratch::new();
    scratch.write("home/.cargo/registry/cache/index/a-1.crate", "a\n");
    scratch.write("home/.cargo/registry/index/index/config.json", "{}\n");
    let plant = scratch.expand("d=${GOCACHE%/go/build}/cargo/registry; rm -rf $d; mkdir -p $d; ln -s $OUT $d/cache; ln -s $OUT $d/index; ls -l $d");
    let before = scratch.forbidden();
    let linked = Run::sh(&scratch, &plant).run();
    linked.assert_stdout("index -> ");
    scratch.write("home/.cargo/registry/cache/index/b-1.crate", "b\n");
    scratch.write("home/.cargo/registry/index/index/new.json", "{}\n");
    let found =
        Run::sh(&scratch, "cat ~/.cargo/registry/index/secret; ls ~/.cargo/registry/index/").run();
    found.assert_no_secret();
    before.assert_same(&scratch.forbidden());
    let planted = Run::sh(&scratch, "echo x > ~/.cargo/registry/index/target").run();
    before.assert_same(&scratch.forbidden());
    assert_ne!(planted.code(), 0, "{planted}");
}
