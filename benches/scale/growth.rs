//! Measures starts and calls in workspaces of more and more files, with more and more rules, and in deep trees. Used by
//! `main`.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::common::measure::{Clock, Run, by_turns, quartiles};
use crate::common::sandboxes::Sandbox;
use crate::common::{compile, words};
use crate::plot::Panel;
use crate::processes::{Holding, MEMORY, Waiting, holdings, program};

const ROUNDS: usize = 7;

/// Calls in a loop.
const CALLS: usize = 10_000;

/// Something that grows.
struct Growth {
    /// The name of what is counted.
    unit: &'static str,
    sizes: &'static [u32],
    /// Makes a workspace of that size out of the one before.
    make: fn(&Path, u32) -> Place,
    measures: &'static [Measure],
}

/// Where to measure.
struct Place {
    /// The working directory.
    folder: PathBuf,
    options: Vec<String>,
    /// The file that is opened.
    file: PathBuf,
}

#[derive(Clone, Copy)]
enum Measure {
    Start,
    Open,
    RelativeOpen,
    Find,
}

const FILES: Growth = Growth {
    unit: "files in the workspace",
    sizes: &[1000, 10_000, 100_000, 1_000_000],
    make: files,
    measures: &[Measure::Start, Measure::Open],
};

const RULES: Growth = Growth {
    unit: "rules in a policy file",
    sizes: &[10, 100, 1000, 10_000, 50_000],
    make: rules,
    measures: &[Measure::Start, Measure::Open],
};

const DEPTH: Growth = Growth {
    unit: "levels of a tree",
    sizes: &[8, 64, 512],
    make: depth,
    measures: &[Measure::Start, Measure::Open, Measure::RelativeOpen, Measure::Find],
};

/// A hundred files to a directory, a hundred directories to the one above.
fn files(root: &Path, count: u32) -> Place {
    let name = |n: u32| root.join(format!("{}/{}/{n}", n / 10_000, n / 100 % 100));
    for n in 0..count {
        let file = name(n);
        if n % 100 == 0 {
            fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        }
        if n % 100 > 0 || !file.exists() {
            File::create(file).expect("a file");
        }
    }
    Place { folder: root.to_owned(), options: Vec::new(), file: name(count / 2) }
}

/// One rule grants reading of everything. Each other one grants writing of one file, so Landlock needs them all.
fn rules(root: &Path, count: u32) -> Place {
    let mut text = "[[access.fs]]\npath = '.'\nread = true\nexecute = true\n".to_owned();
    let name = |n: u32| format!("ruled/{}/{}/{n}", n % 7, n % 31);
    for n in 1..count {
        let file = root.join(name(n));
        fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        File::create(file).expect("a file");
        write!(text, "[[access.fs]]\npath = '{}'\nread = true\nwrite = true\n", name(n))
            .expect("memory");
    }
    fs::write(root.join("rules.toml"), text).expect("a policy");
    let options = words("--policy rules.toml");
    Place { folder: root.to_owned(), options, file: root.join(name(count / 2)) }
}

/// The run begins at the bottom, below a workspace at the top.
fn depth(root: &Path, levels: u32) -> Place {
    let folder = root.join("deep/".repeat(levels as usize));
    fs::create_dir_all(root.join(".git")).expect("a directory");
    fs::create_dir_all(&folder).expect("a directory");
    let file = folder.join("file");
    File::create(&file).expect("a file");
    Place { folder, options: Vec::new(), file }
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start of true",
            Self::Open => "open, absolute",
            Self::RelativeOpen => "open, relative",
            Self::Find => "find from the top",
        }
    }

    fn clock(self) -> Clock {
        match self {
            Self::Start | Self::Find => Clock::Wall,
            Self::Open | Self::RelativeOpen => Clock::Own,
        }
    }

    fn line(self, root: &Path, file: &Path) -> Vec<String> {
        let opens = |file: &Path| {
            let program = root.join("loops");
            words(&format!("{} open {CALLS} {}", program.display(), file.display()))
        };
        match self {
            Self::Start => words("true"),
            Self::Open => opens(file),
            Self::RelativeOpen => opens(&Path::new(".").join(file.file_name().expect("a name"))),
            Self::Find => words(&format!("find {} -name none", root.display())),
        }
    }
}

pub(crate) fn measure(part: &str, folder: &Path, sandboxes: &[Sandbox], smoke: bool) -> Vec<Panel> {
    let growth = match part {
        "files" => &FILES,
        "rules" => &RULES,
        _ => &DEPTH,
    };
    let ours: Vec<&Sandbox> = sandboxes.iter().filter(|it| it.is_ours()).collect();
    let names: Vec<&str> = std::iter::once("bare").chain(ours.iter().map(|it| it.name)).collect();
    let root = folder.join(part);
    fs::create_dir(&root).expect("a directory");
    compile(&root);

    let panel = |measure: &Measure| {
        let unit = if measure.clock() == Clock::Wall { "ms" } else { "µs" };
        Panel::new(measure.name(), growth.unit, unit)
    };
    let mut costs: Vec<Panel> = growth.measures.iter().map(panel).collect();
    let mut memory = MEMORY.map(|title| Panel::new(title, growth.unit, "MB"));
    for &size in if smoke { &growth.sizes[..1] } else { growth.sizes } {
        let place = (growth.make)(&root, size);
        for (panel, measure) in costs.iter_mut().zip(growth.measures) {
            let medians = place.medians(*measure, &root, &ours, if smoke { 1 } else { ROUNDS });
            for (name, median) in names.iter().zip(medians) {
                panel.add(name, f64::from(size), median);
            }
        }
        for sandbox in &ours {
            for (panel, own) in memory.iter_mut().zip(place.held(sandbox)) {
                panel.add(sandbox.name, f64::from(size), own.resident);
            }
        }
    }
    costs.into_iter().chain(memory).collect()
}

impl Place {
    fn confine(&self, sandbox: &Sandbox, line: &[String]) -> Vec<String> {
        sandbox.confine(&self.folder, &self.options, None, line).expect("no hole")
    }

    /// Medians of the bare program and of each sandbox, in milliseconds or microseconds.
    fn medians(&self, measure: Measure, root: &Path, ours: &[&Sandbox], rounds: usize) -> Vec<f64> {
        let (line, clock) = (measure.line(root, &self.file), measure.clock());
        let confined = ours.iter().map(|sandbox| self.confine(sandbox, &line));
        let run = |line| Run { line, folder: self.folder.clone(), before: String::new(), clock };
        let runs: Vec<Run> = std::iter::once(line.clone()).chain(confined).map(run).collect();
        let scale = if clock == Clock::Wall { 1.0 } else { 1e3 };
        by_turns(&runs, rounds).into_iter().map(|times| quartiles(times)[1] / scale).collect()
    }

    /// The resources of launcher and supervisor while a program runs.
    fn held(&self, sandbox: &Sandbox) -> Vec<Holding> {
        let mut run = Waiting::start(&self.confine(sandbox, &program()), &self.folder, 1);
        run.await_bytes(1);
        let held = holdings(run.children[0].id());
        run.end();
        held
    }
}
