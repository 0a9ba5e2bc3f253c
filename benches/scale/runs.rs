//! Many runs at once: how many start in a second, how long one more takes, and what they hold. Used by `main`.

use std::path::Path;
use std::time::Instant;

use crate::common::measure::{Clock, Run, by_turns, quartiles};
use crate::common::sandboxes::Sandbox;
use crate::common::words;
use crate::plot::Panel;
use crate::processes::{Holding, Waiting, holdings};
use crate::{Findings, grouped};

/// Starts of one more run beside the others.
const ROUNDS: usize = 7;

struct Measured {
    /// Starts in a second.
    rate: f64,
    /// Milliseconds of one more start.
    one_more: f64,
    /// What launcher and supervisor of one run hold.
    held: Vec<Holding>,
}

pub(crate) fn measure(folder: &Path, sandboxes: &[Sandbox], smoke: bool) -> Findings {
    let sizes: &[u32] = if smoke { &[3] } else { &[10, 100, 1000] };
    let program = ["sh", "-c", "echo; read x || :"].map(str::to_owned);
    let mut contenders = vec![("bare", program.to_vec(), words("true"))];
    for sandbox in sandboxes {
        let by = |line: &[String]| sandbox.confine(folder, &[], None, line).expect("no hole");
        contenders.push((sandbox.name, by(&program), by(&words("true"))));
    }

    let mut heading = vec!["runs at once".to_owned()];
    heading.extend(sizes.iter().map(|size| grouped(*size)));
    let mut found = Findings { heading, rows: Vec::new(), panels: Vec::new() };
    let mut rates = Panel::new("starts at once", "runs", "starts a second");
    let mut latencies = Panel::new("one more run beside the others", "runs", "ms");
    for (name, line, more) in &contenders {
        let all: Vec<Measured> =
            sizes.iter().map(|size| at_once(*size, line, more, folder)).collect();
        let mut row = |what: &str, cell: &dyn Fn(&Measured) -> String| {
            let cells = all.iter().map(|it| if smoke { "runs".to_owned() } else { cell(it) });
            found.rows.push(std::iter::once(format!("{what}, {name}")).chain(cells).collect());
        };
        row("starts a second; one more start", &|it| {
            format!("{:.0}; {}", it.rate, Clock::Wall.show(it.one_more))
        });
        if *name == "layered" {
            row("memory of launcher + supervisor; descriptors", &|it| {
                let shares: Vec<String> = it
                    .held
                    .iter()
                    .map(|own| format!("{:.1}", f64::from(own.share) / 1e3))
                    .collect();
                let open: Vec<String> =
                    it.held.iter().map(|own| own.descriptors.to_string()).collect();
                format!("{} MB; {}", shares.join(" + "), open.join(" + "))
            });
        }
        let points = |value: fn(&Measured) -> f64| {
            sizes.iter().zip(&all).map(|(size, it)| (f64::from(*size), value(it))).collect()
        };
        rates.add(name, points(|it| it.rate));
        latencies.add(name, points(|it| it.one_more));
    }
    found.panels = vec![rates, latencies];
    found
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
