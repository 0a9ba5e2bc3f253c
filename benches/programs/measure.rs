//! Runs a case bare and confined by turns, so that other load on the machine affects both alike. Used by `cases` and
//! `main`.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The program whose cost is measured.
const PRODUCT: &str = env!("CARGO_BIN_EXE_jp-confine");

/// Puts the system's programs first: a version chooser in the home is slower than the program that it chooses.
fn path() -> String {
    format!("/usr/local/bin:/usr/bin:/bin:{}", std::env::var("PATH").unwrap_or_default())
}

/// The command to confine with: the words of `JP_CONFINE_BENCH`. They may name another sandbox, or `./kernel` in
/// `folder`.
fn confined_by(folder: &Path) -> Vec<String> {
    let words = std::env::var("JP_CONFINE_BENCH").unwrap_or_else(|_| PRODUCT.to_owned());
    let mut words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    if let Some(own) = words.first_mut().filter(|word| word.starts_with("./")) {
        *own = folder.join(&*own).to_string_lossy().into_owned();
    }
    words
}

/// How a run of a case is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Wall-clock time of the run, in milliseconds.
    Wall,
    /// The number that the program prints, in nanoseconds.
    Own,
}

/// Something to run again and again.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// Name in the table.
    pub(crate) name: String,
    /// A shell script that runs before each run and is not timed.
    pub(crate) before: String,
    /// The program and its arguments.
    pub(crate) line: Vec<String>,
    /// Options of `jp-confine`.
    pub(crate) options: Vec<String>,
    /// A command to compare with, in place of the same command confined.
    pub(crate) instead: Option<Vec<String>>,
    /// Which clock to read.
    pub(crate) clock: Clock,
    /// Number of pairs of runs.
    pub(crate) rounds: usize,
}

/// The medians of a case, and how the ratios of its pairs spread.
#[derive(Debug)]
pub(crate) struct Result {
    bare: f64,
    confined: f64,
    ratio: f64,
    quartiles: (f64, f64),
    clock: Clock,
}

impl Case {
    /// Runs all pairs in `folder`. The bare and the confined run take turns in going first.
    pub(crate) fn measure(&self, folder: &Path) -> Result {
        let confined_line = self.instead.clone().unwrap_or_else(|| self.confined(folder));
        let (mut bare, mut confined) = (Vec::new(), Vec::new());
        self.once(&self.line, folder);
        self.once(&confined_line, folder);
        for round in 0..self.rounds {
            if round % 2 == 0 {
                bare.push(self.once(&self.line, folder));
                confined.push(self.once(&confined_line, folder));
            } else {
                confined.push(self.once(&confined_line, folder));
                bare.push(self.once(&self.line, folder));
            }
        }
        let mut ratios: Vec<f64> =
            bare.iter().zip(&confined).map(|(bare, own)| own / bare).collect();
        Result {
            quartiles: (quantile(&mut ratios, 1), quantile(&mut ratios, 3)),
            ratio: quantile(&mut ratios, 2),
            bare: quantile(&mut bare, 2),
            confined: quantile(&mut confined, 2),
            clock: self.clock,
        }
    }

    fn confined(&self, folder: &Path) -> Vec<String> {
        let own = [confined_by(folder), self.options.clone(), vec!["--".to_owned()]];
        [own.concat(), self.line.clone()].concat()
    }

    fn once(&self, line: &[String], folder: &Path) -> f64 {
        if !self.before.is_empty() {
            let status = Command::new("sh").args(["-c", &self.before]).current_dir(folder).status();
            assert!(status.expect("sh").success(), "{}: cannot prepare", self.name);
        }
        let mut command = Command::new(&line[0]);
        command
            .args(&line[1..])
            .current_dir(folder)
            .env("PATH", path())
            .env_remove("CARGO_TARGET_DIR")
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        let start = Instant::now();
        let output = command.output().expect("a program");
        let spent = start.elapsed().as_secs_f64() * 1e3;
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}: {line:?}: {}\n{out}{err}", self.name, output.status);
        match self.clock {
            Clock::Wall => spent,
            Clock::Own => out.trim().parse().expect("a number"),
        }
    }
}

/// The `quarter`th quartile.
fn quantile(values: &mut [f64], quarter: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * quarter / 4]
}

impl fmt::Display for Result {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.clock == Clock::Wall { "ms" } else { "ns" };
        let Self { bare, confined, ratio, quartiles: (low, high), .. } = self;
        let added = confined - bare;
        write!(
            f,
            "{bare:10.2} {confined:10.2} {unit} {ratio:7.3}  [{low:.3} {high:.3}] {added:+10.2} {unit}"
        )
    }
}
