//! Stores the record of a workspace's last run. Used by `why`.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::relocated::show_from;
use crate::files;
use crate::host::context::Context;
use crate::host::data_dirs;
use crate::host::workspace::Workspace;
use crate::report::why::record::{ExplainedDenial, MOST, RunHead};
use crate::sys::signals::{ENDING, Signals};

/// The file with the last run of a workspace: a line for the run, then one for each denial.
const FILE: &str = "last.jsonl";

/// Replaces the record by a run and its denials. The ones in `earlier` come first.
pub(super) fn replace(
    dir: &Path,
    mut head: RunHead,
    mut denials: Vec<ExplainedDenial>,
    earlier: Option<(RunHead, Vec<ExplainedDenial>)>,
) -> io::Result<()> {
    if let Some((mut before, mut all)) = earlier {
        if let Some(directory) = &head.directory {
            show_from(Path::new(directory), &mut before, &mut all);
        }
        let last = all.iter().map(|one| one.number).max().unwrap_or_default();
        let own = denials.iter_mut().map(|one| &mut one.number);
        for number in own.chain(head.together.iter_mut().map(|one| &mut one.number)) {
            *number += last;
        }
        head.denials += before.denials;
        head.gap = head.gap.or(before.gap);
        head.together.splice(0..0, before.together);
        all.append(&mut denials);
        all.truncate(MOST);
        denials = all;
    }
    let mut text = serde_json::to_string(&head)?;
    for one in &denials {
        text.push('\n');
        text.push_str(&serde_json::to_string(one)?);
    }
    text.push('\n');
    write(dir, &text)
}

/// Deletes the record of the last run.
pub(super) fn forget(dir: &Path) -> io::Result<()> {
    match fs::remove_file(dir.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The record of the last run of the workspace.
pub(super) fn of_last_run(
    context: &Context,
    workspace: &Workspace,
) -> io::Result<Option<(RunHead, Vec<ExplainedDenial>)>> {
    let Some(dir) = workspace.data_dir(context) else { return Ok(None) };
    let text = match files::read_own(&dir.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        outcome => outcome?,
    };
    Ok(Some(parse(&String::from_utf8_lossy(&text))?)
        .filter(|(head, _)| head.workspace == workspace.label()))
}

/// Replaces the file, so that a reader finds the old one, the new one or none. Nobody else may read it.
fn write(dir: &Path, text: &str) -> io::Result<()> {
    data_dirs::make(dir)?;
    // No signal may leave a partial file behind.
    let _ending = Signals::of(&ENDING).hold();
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    // A move onto an existing file makes ext4 write the new one to the disk at once (`auto_da_alloc`, `ext4(5)`). That
    // takes longer than the rest of the end of a run, and a reader may as well find no record in between.
    forget(dir)?;
    file.persist(dir.join(FILE))?;
    Ok(())
}

fn parse(text: &str) -> serde_json::Result<(RunHead, Vec<ExplainedDenial>)> {
    let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
    let denials = rest.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok((serde_json::from_str(head)?, denials))
}
