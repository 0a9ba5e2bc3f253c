//! Lists the benchmark cases and creates the files that they run on. Used by `main`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::measure::{Case, Clock};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/workspace");

/// How much to run: enough to measure, or just enough to see that everything works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Calls in one loop.
    pub(crate) calls: usize,
    /// Pairs of runs of a loop.
    pub(crate) loops: usize,
    /// Pairs of runs of a program.
    pub(crate) programs: usize,
    /// Programs started in a row.
    pub(crate) execs: usize,
    /// Directories of ten files.
    pub(crate) folders: usize,
}

impl Size {
    /// For measuring.
    pub(crate) const FULL: Self =
        Self { calls: 20_000, loops: 41, programs: 15, execs: 500, folders: 2000 };
    /// For continuous integration.
    pub(crate) const SMOKE: Self = Self { calls: 200, loops: 1, programs: 1, execs: 5, folders: 3 };
}

fn have(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {program} > /dev/null")])
        .status()
        .is_ok_and(|s| s.success())
}

fn shell(folder: &Path, script: &str) {
    let status = Command::new("sh").args(["-euc", script]).current_dir(folder).status();
    assert!(status.expect("sh").success(), "cannot prepare: {script}");
}

/// Fills `folder` with every file that the cases use.
pub(crate) fn prepare(folder: &Path, size: Size) {
    for n in 0..size.folders {
        let dir = folder.join(format!("tree/{}/{n}", n % 10));
        fs::create_dir_all(&dir).expect("a folder");
        for file in 0..10 {
            let text = format!("line of {n} and {file}\n").repeat(40);
            fs::write(dir.join(format!("{file}.txt")), text).expect("a file");
        }
    }
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/programs");
    for name in ["loops", "kernel"] {
        shell(folder, &format!("cc -O2 -o {name} '{sources}/{name}.c'"));
    }
    shell(
        folder,
        "mkdir -p deep/er; echo x > deep/er/file; ln -s deep linked; ln -s file deep/er/link",
    );
    shell(
        folder,
        &format!("cp -R '{SAMPLE}' crate; rm -rf crate/target; cd crate; cargo fetch -q --locked"),
    );
    if have("git") {
        let commit = "git -c user.name=n -c user.email=e@example.org commit -q -m";
        shell(
            folder,
            &format!(
                "git init -q repository; cd repository; cp -R ../tree .; git add .; {commit} first
                 for i in 1 2 3 4 5 6 7 8 9; do echo $i > tree/0/0/0.txt; git add .; {commit} $i; done"
            ),
        );
    }
    for count in [5, 5000] {
        fs::write(folder.join(format!("{count}-rules.toml")), rules(count)).expect("a policy");
    }
}

/// A policy of `count` rules that grants the whole directory.
fn rules(count: usize) -> String {
    let mut text =
        "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n".to_owned();
    for n in 1..count {
        let _ =
            write!(text, "[[access.fs]]\npath = 'ruled/{}/{}/{n}'\nread = true\n", n % 7, n % 31);
    }
    text
}

/// All cases, quick ones first.
pub(crate) fn cases(folder: &Path, size: Size) -> Vec<Case> {
    let mut cases = Vec::new();
    let absolute = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let loops = [
        ("open, absolute", "open", absolute("deep/er/file")),
        ("open, relative", "open", "deep/er/file".to_owned()),
        ("open, last name a link", "open", absolute("deep/er/link")),
        ("open, folder a link", "open", absolute("linked/er/file")),
        ("open, system file", "open", "/usr/bin/env".to_owned()),
        ("stat, absolute", "stat", absolute("deep/er/file")),
        ("stat, relative", "stat", "deep/er/file".to_owned()),
        ("unlink, absolute", "unlink", absolute("deep/er")),
        ("unlink, relative", "unlink", "deep/er".to_owned()),
        ("unlink, folder a link", "unlink", absolute("linked/er")),
        ("rename, absolute", "rename", absolute("deep/er")),
        ("rename, relative", "rename", "deep/er".to_owned()),
        ("rename, folder a link", "rename", absolute("linked/er")),
    ];
    let in_loops = |kind: &str, path: &str| {
        // Each file must be created before it is unlinked, which takes longer than all the rest. So these loops are
        // shorter.
        let calls = if kind == "unlink" { size.calls.div_ceil(10) } else { size.calls };
        [&absolute("loops"), kind, &calls.to_string(), path].map(str::to_owned).to_vec()
    };
    for (name, kind, path) in &loops {
        let looped = case(name, Clock::Own, size.loops, in_loops(kind, path));
        if *kind != "stat" && !path.contains("linked") {
            let mut line = looped.line.clone();
            line[1] = format!("least-{kind}");
            let name = format!("{name}, the least");
            cases.push(Case { name, instead: Some(line), ..looped.clone() });
        }
        cases.push(looped);
    }
    for count in [5, 5000] {
        let options = vec!["--policy".to_owned(), absolute(&format!("{count}-rules.toml"))];
        let open = in_loops("open", &absolute("deep/er/file"));
        let name = format!("open, absolute, {count} rules");
        cases.push(Case { options: options.clone(), ..case(&name, Clock::Own, size.loops, open) });
        let name = format!("start of true, {count} rules");
        let start = case(&name, Clock::Wall, size.loops, vec!["true".to_owned()]);
        cases.push(Case { options, ..start });
    }
    cases.push(case("start of true", Clock::Wall, size.loops, vec!["true".to_owned()]));
    let execs = format!("i=0; while [ $i -lt {} ]; do /bin/true; i=$((i+1)); done", size.execs);
    let mut script = |name: &str, needs: &str, before: &str, text: &str| {
        if have(needs) {
            let line = ["sh", "-c", text].map(str::to_owned).to_vec();
            let before = before.to_owned();
            cases.push(Case { before, ..case(name, Clock::Wall, size.programs, line) });
        }
    };
    script(&format!("{} execs", size.execs), "sh", "", &execs);
    script("find and cat", "find", "", "find tree -type f -exec cat {} + > /dev/null");
    // The word must not occur. After a match, `grep` would stop, because nobody reads its output.
    script("grep -r", "grep", "", "! grep -r 'of no file' tree");
    script(
        "git status and log",
        "git",
        "",
        "cd repository && git status > /dev/null && git log --stat > /dev/null",
    );
    script(
        "tar and rm",
        "tar",
        "rm -rf copy; mkdir copy",
        "tar cf - tree | tar xf - -C copy && rm -r copy",
    );
    let walk = "import os\nfor base, _, names in os.walk('tree'):\n  for name in names: open(os.path.join(base, name)).read()";
    script("python walk", "python3", "", &format!("python3 -c \"{walk}\""));
    let build = ["cargo", "build", "--quiet", "--offline", "--manifest-path", "crate/Cargo.toml"];
    let build = case(
        "cargo build",
        Clock::Wall,
        size.programs.div_ceil(3),
        build.map(str::to_owned).to_vec(),
    );
    cases.push(Case { before: "rm -rf crate/target".to_owned(), ..build });
    cases
}

fn case(name: &str, clock: Clock, rounds: usize, line: Vec<String>) -> Case {
    let (name, before) = (name.to_owned(), String::new());
    Case { name, before, line, options: Vec::new(), instead: None, clock, rounds }
}
