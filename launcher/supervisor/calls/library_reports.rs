//! Receives reports of the preload library's own denials. They come by a system call, so no program in the run can open
//! the record. The supervisor determines the sender itself. By the same call the library gets the image again.

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::report_protocol::{CONSENT, INTERRUPTED, VECTORS};
use rustix::io::Errno;

use crate::prompt::during_run::identity::PromptedCaller;
use crate::prompt::during_run::subject::Subject;
use crate::prompt::during_run::{FileIdentity, answer};
use crate::record::denial::{self, Layer};
use crate::supervisor::task::{Task, program_of};
use crate::sys::memfd;
use crate::sys::notification::CallResult;

/// Gives the caller a descriptor of the image. It stays open across exec, like the one that the run began with.
pub(crate) fn hand_out_image(task: &Task<'_>) -> Result<CallResult, Errno> {
    let file = memfd::seal(task.image().as_bytes());
    let file = file.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::NFILE))?;
    Ok(CallResult::Descriptor { file, closes: false })
}

/// Takes one record of a denial.
pub(crate) fn take(task: &Task<'_>, vectors: u64, count: u64) -> Result<CallResult, Errno> {
    if usize::try_from(count) != Ok(VECTORS) {
        return Err(Errno::INVAL);
    }
    let vectors: [u64; 2 * VECTORS] = task.caller.words(vectors)?;
    let (vectors, _) = vectors.as_chunks::<2>();
    let mut record = Vec::new();
    for &[address, length] in vectors {
        let length = usize::try_from(length).map_err(|_| Errno::INVAL)?;
        if length > denial::LONGEST {
            return Err(Errno::INVAL);
        }
        record.extend(task.caller.bytes(address, length)?);
    }
    let told = denial::sole(&record).ok_or(Errno::INVAL)?;
    if told.reason.is_answer() {
        // Only a person can give an answer.
        return Err(Errno::INVAL);
    }
    // If the caller ends during the prompt, it can no longer be looked up.
    let program = program_of(&task.caller);
    let said = if told.question { said(task, &told)? } else { None };
    if said.is_some_and(answer::Answer::consents) {
        return Ok(CallResult::Value(CONSENT.into()));
    }
    let reason = said.map_or(told.reason, answer::Answer::reason);
    task.tell(denial::Denial { program, layer: Layer::Shim, reason, ..told });
    let is_interrupted = said == Some(answer::Answer::Interrupt);
    Ok(CallResult::Value(if is_interrupted { INTERRUPTED.into() } else { 0 }))
}

/// The answer to the library's prompt. The supervisor judges whether a prompt is allowed at all, because a caller could
/// ask for anything.
fn said(task: &Task<'_>, told: &denial::Denial) -> Result<Option<answer::Answer>, Errno> {
    let beyond = Request::canonical(&told.other);
    if matches!(decide::access(task.image(), &beyond, told.also), Verdict::Deny(denial) if !denial.ask)
    {
        return Ok(None);
    }
    let request = Request::by_route(&told.path, &told.route);
    match decide::access(task.image(), &request, told.missing) {
        Verdict::Deny(denial) if denial.ask => {
            let denial::Denial { path, route, other, also, .. } = told;
            let is_start = told.missing.contains(Capabilities::EXECUTE);
            let file = is_start.then(|| FileIdentity::at(path)).flatten();
            let subject = Subject { path, route, other, also: *also, file, changes: "" };
            task.ask(PromptedCaller::Library, denial, subject).map(Some)
        }
        _ => Ok(None),
    }
}
