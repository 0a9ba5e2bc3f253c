//! Lists the benchmark cases and creates the files that they run on. Used by `main`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::measure::Clock;
use crate::common::{have, shell, words};

/// How much to run: enough to measure, or just enough to see that everything works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Calls in one loop.
    calls: usize,
    /// Rounds of a loop, and of a start.
    loops: usize,
    /// Rounds of a program.
    programs: usize,
    /// Programs started in a row.
    execs: usize,
    /// Directories of ten files.
    folders: usize,
}

impl Size {
    /// For measuring.
    pub(crate) const FULL: Self =
        Self { calls: 20_000, loops: 21, programs: 11, execs: 500, folders: 2000 };
    /// For continuous integration.
    pub(crate) const SMOKE: Self = Self { calls: 200, loops: 1, programs: 1, execs: 5, folders: 3 };
}

/// The content of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    /// How many times as long as the bare program it takes.
    Ratio,
    /// How much longer it takes.
    Added,
}

/// Something to run again and again.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// A shell script that runs before each run and is not timed.
    pub(crate) before: String,
    /// The program and its arguments.
    pub(crate) line: Vec<String>,
    /// A directory that sandboxes have to deny.
    pub(crate) hole: Option<PathBuf>,
    /// A command with the fewest system calls that do what `line` does, on what was judged.
    pub(crate) least: Option<Vec<String>>,
    pub(crate) clock: Clock,
    pub(crate) show: Show,
    pub(crate) rounds: usize,
}

/// Cases that are compared in the same columns.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Whether the cases are single calls. They are compared with the least, but not with other products: what one call
    /// costs in those is what the kernel's layers cost.
    pub(crate) is_of_calls: bool,
    pub(crate) cases: Vec<Case>,
}

/// Fills `folder` with every file that the cases use.
pub(crate) fn prepare(folder: &Path, size: Size) {
    let places = (0..size.folders).map(|n| format!("{}/{n}", n % 10)).chain(["hole".to_owned()]);
    for (n, place) in places.enumerate() {
        let dir = folder.join("tree").join(place);
        fs::create_dir_all(&dir).expect("a folder");
        for file in 0..10 {
            let text = format!("line of {n} and {file}\n").repeat(40);
            fs::write(dir.join(format!("{file}.txt")), text).expect("a file");
        }
    }
    shell(
        folder,
        "mkdir -p deep/er; echo x > deep/er/file; ln -s file deep/er/link
         cargo init --quiet --vcs none --name small crate",
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
}

/// All tables.
pub(crate) fn tables(folder: &Path, size: Size) -> [Table; 2] {
    let (name, cases) = ("whole programs", programs(folder, size));
    let whole = Table { name, is_of_calls: false, cases };
    let (name, cases) = ("single calls", calls(folder, size));
    [whole, Table { name, is_of_calls: true, cases }]
}

fn programs(folder: &Path, size: Size) -> Vec<Case> {
    let execs = format!("i=0; while [ $i -lt {} ]; do /bin/true; i=$((i+1)); done", size.execs);
    // The word must not occur. After a match, `grep` would stop, because nobody reads its output.
    let grep = "grep -rs 'of no file' tree; [ $? -le 2 ]";
    let build = "cargo build --quiet --offline --manifest-path crate/Cargo.toml";
    let scripts = [
        (format!("{} execs", size.execs), "sh", "", &*execs),
        ("find and cat".into(), "find", "", "find tree -type f -exec cat {} + > /dev/null"),
        ("grep -r".into(), "grep", "", grep),
        ("grep -r, a directory denied".into(), "grep", "", grep),
        ("git status".into(), "git", "", "cd repository && git status > /dev/null"),
        ("tar".into(), "tar", "rm -rf copy; mkdir copy", "tar cf - tree/0 | tar xf - -C copy"),
        ("cargo build".into(), "cargo", "rm -rf crate/target", build),
    ];
    let start = case("start of true", words("true"), size.loops);
    let mut cases = vec![Case { show: Show::Added, ..start }];
    for (name, needs, before, text) in scripts {
        if have(needs) {
            let line = ["sh", "-c", text].map(str::to_owned).to_vec();
            let hole = name.ends_with("denied").then(|| folder.join("tree/hole"));
            let before = before.to_owned();
            cases.push(Case { before, hole, ..case(&name, line, size.programs) });
        }
    }
    cases
}

fn calls(folder: &Path, size: Size) -> Vec<Case> {
    let absolute = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let loops = [
        ("open, absolute", "open", absolute("deep/er/file")),
        ("open, relative", "open", "deep/er/file".to_owned()),
        ("open, last name a symlink", "open", absolute("deep/er/link")),
        ("stat, absolute", "stat", absolute("deep/er/file")),
        ("stat, relative", "stat", "deep/er/file".to_owned()),
        ("unlink, absolute", "unlink", absolute("deep/er")),
        ("rename, absolute", "rename", absolute("deep/er")),
        ("exec (`posix_spawn`, wait)", "exec", "/bin/true".to_owned()),
    ];
    let case = |(name, kind, path): &(&str, &str, String)| {
        // An exec takes longer than other calls. Each file must be created before it is unlinked, which takes longer
        // than all the rest. So these loops are shorter.
        let calls = match *kind {
            "exec" => size.calls.div_ceil(200),
            "unlink" => size.calls.div_ceil(10),
            _ => size.calls,
        };
        let line = |kind: &str| {
            [absolute("loops"), kind.to_owned(), calls.to_string(), path.clone()].to_vec()
        };
        let has_least = !matches!(*kind, "stat" | "exec");
        let least = has_least.then(|| line(&format!("least-{kind}")));
        Case { least, clock: Clock::Own, ..case(name, line(kind), size.loops) }
    };
    loops.iter().map(case).collect()
}

fn case(name: &str, line: Vec<String>, rounds: usize) -> Case {
    let (name, before) = (name.to_owned(), String::new());
    let (hole, least) = (None, None);
    Case { name, before, line, hole, least, clock: Clock::Wall, show: Show::Ratio, rounds }
}
