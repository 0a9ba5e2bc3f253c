//! One run that starts very many programs: what launcher and supervisor hold from the beginning to the end. Used by
//! `main`.

use std::path::Path;

use crate::common::sandboxes::Sandbox;
use crate::plot::Panel;
use crate::processes::{Holding, MEMORY, Waiting, holdings};

/// How often to look.
const LOOKS: u32 = 11;

pub(crate) fn measure(folder: &Path, sandboxes: &[Sandbox], smoke: bool) -> Vec<Panel> {
    let total = if smoke { 100 } else { 100_000 };
    let each = total / (LOOKS - 1);
    let first = each / 10;
    let panel = |title, unit| Panel::new(title, "programs started by one run", unit);
    let mut memory = MEMORY.map(|title| panel(title, "MB"));
    let mut descriptors = panel("descriptors", "of both");
    for sandbox in sandboxes.iter().filter(|it| ["layered", "strict"].contains(&it.name)) {
        let script = format!(
            "start() {{ ./loops exec $1 /bin/true > /dev/null && echo; }}
             start {first}; i=1; while [ $i -lt {LOOKS} ]; do start {each}; i=$((i+1)); done; read x || :"
        );
        let program = ["sh", "-c", &script].map(str::to_owned);
        let line = sandbox.confine(folder, &[], None, &program).expect("no hole");
        let mut run = Waiting::start(&line, folder, 1);
        let mut open = Vec::new();
        for look in 0..LOOKS {
            run.await_bytes(1);
            let held = holdings(run.children[0].id());
            let started = f64::from(first + look * each);
            for (panel, own) in memory.iter_mut().zip(&held) {
                panel.add(sandbox.name, started, own.resident);
            }
            open.push(held.iter().map(|own: &Holding| own.descriptors).sum::<f64>());
            descriptors.add(sandbox.name, started, open[open.len() - 1]);
        }
        run.end();
        // Calls that are being answered take some for a moment.
        let grew = open[open.len() - 1] - open[0];
        assert!(grew < f64::from(LOOKS), "{}: {grew} more descriptors", sandbox.name);
    }
    memory.into_iter().chain([descriptors]).collect()
}
