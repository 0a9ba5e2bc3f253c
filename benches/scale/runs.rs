//! Many runs at once: how many start in a second, how long one more takes, and what they hold. Used by `main`.

use std::path::Path;
use std::time::Instant;

use crate::common::measure::{Clock, Run, by_turns, quartiles};
use crate::common::sandboxes::Sandbox;
use crate::common::words;
use crate::plot::Panel;
use crate::processes::{Holding, MEMORY, Waiting, holdings, program};

/// Starts of one more run beside the others.
const ROUNDS: usize = 7;

struct Measured {
    /// Starts in a second.
    rate: f64,
    /// Milliseconds of one more start.
    one_more: f64,
    /// The resources of launcher and supervisor of one run.
    held: Vec<Holding>,
}

pub(crate) fn measure(folder: &Path, sandboxes: &[Sandbox], smoke: bool) -> Vec<Panel> {
    let sizes: &[u32] = if smoke { &[3] } else { &[10, 100, 1000] };
    let mut contenders = vec![("bare", false, program(), words("true"))];
    for sandbox in sandboxes {
        let by = |line: &[String]| sandbox.confine(folder, &[], None, line).expect("no hole");
        contenders.push((sandbox.name, sandbox.is_ours(), by(&program()), by(&words("true"))));
    }
    let panel = |title, unit| Panel::new(title, "runs at once", unit);
    let mut rates = panel("starts", "a second");
    let mut latencies = panel("one more start", "ms");
    let mut memory = MEMORY.map(|title| panel(title, "MB of its own"));
    for (name, is_ours, line, more) in &contenders {
        at_once(1, line, more, folder); // the first run in a workspace fills its caches
        for &size in sizes {
            let found = at_once(size, line, more, folder);
            rates.add(name, f64::from(size), found.rate);
            latencies.add(name, f64::from(size), found.one_more);
            for (panel, own) in memory.iter_mut().zip(&found.held).filter(|_| *is_ours) {
                panel.add(name, f64::from(size), own.anonymous);
            }
        }
    }
    [rates, latencies].into_iter().chain(memory).collect()
}

fn at_once(count: u32, line: &[String], more: &[String], folder: &Path) -> Measured {
    let start = Instant::now();
    let mut runs = Waiting::start(line, folder, count);
    runs.await_bytes(count);
    let rate = f64::from(count) / start.elapsed().as_secs_f64();
    let held = holdings(runs.children[runs.children.len() / 2].id());
    let before = String::new();
    let more = Run { line: more.to_vec(), folder: folder.to_owned(), before, clock: Clock::Wall };
    let [_, one_more, _] = quartiles(by_turns(&[more], ROUNDS).remove(0));
    runs.end();
    Measured { rate, one_more, held }
}
