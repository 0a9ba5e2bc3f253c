//! The words in which a person is asked about a request to the file service.

use jp_confine_vfs::person::Question;

use crate::record::service_refusals::without_passwords;
use crate::text::quote;

/// The most lines that are shown of a text that would be written.
const PREVIEW: usize = 8;

/// The question in lines, each with its indent. `who` is asking, as `the tool edit`.
pub(super) fn lines(who: &str, question: &Question) -> Vec<(&'static str, String)> {
    let Question { action, what, written, preview, reason } = question;
    let (what, reason) = (without_passwords(what), without_passwords(reason));
    let printable = |line: &str| quote::printable(line.as_bytes());
    let mut lines = vec![("", format!("jp-confine: {who} wants to {action}"))];
    // Not `lines`, which would hide a carriage return.
    lines.extend(what.split('\n').map(|line| ("    ", printable(line))));
    lines.extend(written.iter().map(|path| ("  written as ", printable(path))));
    lines.extend(preview_of(preview).into_iter().map(|line| ("    | ", printable(&line))));
    lines.push(("  ", quote::short(reason.as_bytes())));
    lines
}

/// The beginning of a text that would be written, and how many lines follow.
fn preview_of(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().take(PREVIEW).map(str::to_owned).collect();
    match text.lines().count() - lines.len() {
        0 => {}
        1 => lines.push("(one more line)".to_owned()),
        more => lines.push(format!("({more} more lines)")),
    }
    lines
}
