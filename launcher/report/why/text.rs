//! Renders the record of a run as text, for `why --last`.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use super::missing_variables;
use crate::config::edit::change::Change;
use crate::host::workspace::Workspace;
use crate::output::Style;
use crate::record::command_line;
use crate::record::event::LayerName;
use crate::report::summary;
use crate::report::why::Explained;
use crate::report::why::record::{ExplainedDenial, Together, now};
use crate::text::quote;
use crate::text::wrap;

/// For people, if there is no record.
pub(super) fn nothing(workspace: &Workspace) -> String {
    let root = quote::printable(workspace.root.as_os_str().as_bytes());
    format!("no run is on record in {root}:\nthere was none yet, or nothing of it could be kept\n")
}

/// For people, if there are no denials: the kinds that are never recorded.
fn unrecorded(workspace: &Workspace) -> String {
    let explain = workspace.here.command("explain PATH");
    let verbose = workspace.here.command("-v -- PROGRAM");
    format!(
        "what looked absent in the home may be there: {explain}\n\
         what Landlock refused by itself is on no record:\n\
         {verbose} says what it holds\n"
    )
}

/// For people: the run, and each of its denials with the suggestion.
pub(super) fn words(run: &Explained, workspace: &Workspace, style: Style) -> String {
    let Explained { head, denials } = run;
    let count = match head.denials {
        0 => "no denials".to_owned(),
        1 => "1 denial".to_owned(),
        count => format!("{count} denials"),
    };
    let mut text = wrap::folded(&format!(
        "{count} in the last run: {} (exit status {}, {})\n",
        quote::short(head.command.join(" ").as_bytes()),
        head.status,
        ago(now().saturating_sub(head.ended)),
    ));
    if head.denials == 0 {
        text.push_str(&unrecorded(workspace));
    }
    for denial in denials {
        let _ = write!(text, "\n{}", denial.words(workspace, style));
    }
    for Together { number, directory, paths, options, changes } in &head.together {
        let directory = quote::shown(directory.as_bytes(), &workspace.root);
        let options = style.bright(&format!("jp-confine {options}"));
        let all = if *paths > 1 { format!("all {paths} in") } else { "all of".to_owned() };
        let _ = write!(text, "\n{number} {all} {directory}\n  allow: {options}\n");
        text.push_str(&for_good(*number, changes, workspace, style));
    }
    text.push_str(&missing_variables::words(&head.withheld, &workspace.here, style));
    let more = head.denials.saturating_sub(denials.iter().map(|one| one.times).sum());
    if more > 0 {
        let _ = writeln!(text, "\nand {more} more");
    }
    if let Some(gap) = &head.gap {
        let _ = writeln!(text, "\n{gap}");
    }
    if head.status != 0 && denials.iter().any(|one| one.options.is_some()) {
        // A program that ends at its first denial would have needed more.
        let learn = style.bright(&workspace.here.command("learn -- the same again"));
        let _ = writeln!(text, "\nwhat all of it needs: {learn}");
    }
    text
}

/// A number of seconds before now, in everyday words.
fn ago(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}

/// The command that writes `changes` down, if there are any.
fn for_good(number: usize, changes: &[Change], workspace: &Workspace, style: Style) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let allow = style.bright(&workspace.here.command(&format!("allow {number}")));
    format!("  for good: {allow}\n")
}

impl ExplainedDenial {
    /// For people.
    fn words(&self, workspace: &Workspace, style: Style) -> String {
        let times = summary::times(self.path.as_bytes(), self.times);
        let path = quote::shown(self.path.as_bytes(), &workspace.root);
        let words = self.arguments.iter().flatten().map(|word| quote::quoted(word.as_bytes()));
        let what = command_line::shortened(&path, words);
        let number = if self.number == 0 { String::new() } else { format!("{} ", self.number) };
        let mut text =
            format!("{number}denied {} {what} by {}{times}\n", self.denied, self.program);
        if self.route != self.path {
            let route = quote::shown(self.route.as_bytes(), &workspace.root);
            let _ = writeln!(text, "  reached by {route}");
        }
        if let Some(other) = &self.other {
            let mut parts = vec![format!("in {} with {other}", self.call)];
            if !self.other_capability.is_empty() {
                parts.push(format!("where {} is denied, too", self.other_capability.join(", ")));
            }
            for line in wrap::fitted("  ", &parts, ", ") {
                let _ = writeln!(text, "{line}");
            }
        }
        if let Some(message) = &self.message {
            let sentences: Vec<String> = message.split(". ").map(quote::path).collect();
            for line in wrap::fitted("  ", &sentences, ". ") {
                let _ = writeln!(text, "{line}");
            }
            return text;
        }
        let layer = match self.layer {
            LayerName::Library => "the preload library",
            LayerName::Supervisor => "supervisor",
            LayerName::Launcher => "jp-confine, which started nothing",
            LayerName::Service => "service",
        };
        let parts = [format!("by: {}", self.why(&workspace.root)), format!("stopped by {layer}")];
        for line in wrap::fitted("  ", &parts, "; ") {
            let _ = writeln!(text, "{line}");
        }
        if self.hidden {
            text.push_str("  it looked absent, as in an empty home\n");
        }
        let told = |words: &str| wrap::fitted("  ", &[quote::within(words, &workspace.root)], "");
        for step in self.steps(&workspace.root, style) {
            for line in wrap::fitted("  ", &[step], "") {
                let _ = writeln!(text, "{line}");
            }
        }
        text.push_str(&for_good(self.number, &self.changes, workspace, style));
        if self.options.is_some() && self.approve.is_none() && self.changes.is_empty() {
            text.push_str("  nothing to write down was found that does so for good\n");
        }
        for line in self.question.iter().flat_map(|words| told(words)) {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}
