//! Runs command lines by turns, so that other load on the machine affects all alike. Used by `programs` and `scale`.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How a run is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Wall-clock time of the run, in milliseconds.
    Wall,
    /// The number that the program prints, in nanoseconds.
    Own,
}

/// A command line to measure.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// The program and its arguments.
    pub(crate) line: Vec<String>,
    /// Its working directory.
    pub(crate) folder: PathBuf,
    /// A shell script that runs before each run and is not timed.
    pub(crate) before: String,
    /// Which clock to read.
    pub(crate) clock: Clock,
}

impl Run {
    /// One run. Fails with what the program wrote, if it fails.
    pub(crate) fn once(&self) -> Result<f64, String> {
        if !self.before.is_empty() {
            super::shell(&self.folder, &self.before);
        }
        let mut command = Command::new(&self.line[0]);
        command
            .args(&self.line[1..])
            .current_dir(&self.folder)
            .env("PATH", path())
            .env_remove("CARGO_TARGET_DIR")
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        let start = Instant::now();
        let output = command.output().map_err(|error| format!("{}: {error}", self.line[0]))?;
        let spent = start.elapsed().as_secs_f64() * 1e3;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match (output.status.success(), self.clock) {
            (false, _) => Err(format!(
                "{:?}: {}\n{}\n{}",
                self.line,
                output.status,
                text(&output.stdout),
                text(&output.stderr)
            )),
            (true, Clock::Wall) => Ok(spent),
            (true, Clock::Own) => text(&output.stdout).parse().map_err(|_| "no number".to_owned()),
        }
    }
}

/// Puts the system's programs first: a version chooser in the home is slower than the program that it chooses.
fn path() -> String {
    format!("/usr/local/bin:/usr/bin:/bin:{}", std::env::var("PATH").unwrap_or_default())
}

/// Runs all `rounds` times, each round beginning with another one. Returns the times of each run. Another round before
/// does not count, because the first run in a workspace fills its caches.
pub(crate) fn by_turns(runs: &[Run], rounds: usize) -> Vec<Vec<f64>> {
    let mut times = vec![Vec::new(); runs.len()];
    for round in 0..=rounds {
        for turn in 0..runs.len() {
            let which = (round + turn) % runs.len();
            let spent = runs[which].once().unwrap_or_else(|error| panic!("{error}"));
            if round > 0 {
                times[which].push(spent);
            }
        }
    }
    times
}

/// The quartiles of values; the second one is the median.
pub(crate) fn quartiles(values: impl IntoIterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}
