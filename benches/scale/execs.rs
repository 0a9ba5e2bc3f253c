//! One run that starts very many programs: what launcher and supervisor hold from the beginning to the end. Used by
//! `main`.

use std::path::Path;

use crate::common::sandboxes::Sandbox;
use crate::plot::Panel;
use crate::processes::{Holding, Waiting, holdings};
use crate::{Findings, grouped};

/// How often to look.
const LOOKS: u32 = 11;

pub(crate) fn measure(folder: &Path, sandboxes: &[Sandbox], smoke: bool) -> Findings {
    let total = if smoke { 100 } else { 100_000 };
    let each = total / (LOOKS - 1);
    let mut heading = vec!["programs started by one run".to_owned()];
    heading.extend([each / 10, total / 2, total].map(grouped));
    let mut found = Findings { heading, rows: Vec::new(), panels: Vec::new() };
    let mut panel = Panel::new("memory of one run", "programs started", "MB");
    for sandbox in sandboxes.iter().filter(|it| ["layered", "strict"].contains(&it.name)) {
        let script = format!(
            "start() {{ ./loops exec $1 /bin/true > /dev/null && echo; }}
             start {}; i=1; while [ $i -lt {LOOKS} ]; do start {each}; i=$((i+1)); done; read x || :",
            each / 10
        );
        let program = ["sh", "-c", &script].map(str::to_owned);
        let line = sandbox.confine(folder, &[], None, &program).expect("no hole");
        let mut run = Waiting::start(&line, folder, 1);
        let looks: Vec<Vec<Holding>> = (0..LOOKS)
            .map(|_| {
                run.await_bytes(1);
                holdings(run.children[0].id())
            })
            .collect();
        run.end();
        for (own, process) in ["launcher", "supervisor"].iter().enumerate() {
            let name = format!("{process}, {}", sandbox.name);
            let seen: Vec<&Holding> = looks.iter().map(|look| &look[own]).collect();
            let [first, middle, last] = [0, seen.len() / 2, seen.len() - 1].map(|at| seen[at]);
            assert_eq!(first.descriptors, last.descriptors, "{name}: descriptors");
            let cells = [first, middle, last].map(|it| {
                if smoke {
                    "runs".to_owned()
                } else {
                    format!("{} kB; {}", grouped(it.resident), it.descriptors)
                }
            });
            let label = format!("memory; descriptors, {name}");
            found.rows.push(std::iter::once(label).chain(cells).collect());
            let started = (0..).map(|look| f64::from(each / 10 + look * each));
            let sizes = seen.iter().map(|it| f64::from(it.resident) / 1e3);
            panel.add(&name, started.zip(sizes).collect());
        }
    }
    found.panels = vec![panel];
    found
}
