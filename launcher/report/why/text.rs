//! Renders the record of a run as text, for `why --last`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use super::missing_variables;
use crate::advice::user_additions::{self, Addition};
use crate::config::edit::rule_text;
use crate::host::workspace::Workspace;
use crate::record::command_line;
use crate::report::summary;
use crate::report::why::record::{ExplainedDenial, Rules, RunHead, Together, now};
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
pub(super) fn words(head: &RunHead, denials: &[ExplainedDenial], workspace: &Workspace) -> String {
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
    let mut told = BTreeSet::new();
    for denial in denials {
        let news: Vec<&str> = denial.rules.each().filter(|rule| told.insert(*rule)).collect();
        let _ = write!(text, "\n{}", denial.words(workspace, &news));
    }
    for Together { directory, paths, options, rules, patterns } in &head.together {
        let directory = quote::shown(directory.as_bytes(), &workspace.root);
        let _ = writeln!(text, "\nall {paths} in {directory}\n  allow: jp-confine {options}");
        if let Some(toml) = &rules.toml {
            let _ = writeln!(text, "  or add in place of theirs to {}:", rules.place());
            for line in toml.lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
        for line in user_additions::lines("  ", "or add in place of theirs to", patterns) {
            let _ = writeln!(text, "{line}");
        }
    }
    text.push_str(&missing_variables::words(&head.withheld));
    let gathered = head.together.iter().flat_map(|one| &one.patterns);
    let some = denials.iter().filter(|one| !one.patterns.is_empty());
    if some.clone().count() > 1 && gathered.count() == 0 {
        let all = some.flat_map(|one| &one.patterns);
        text.push_str(&everything(&user_additions::together(all)));
    }
    let more = head.denials.saturating_sub(denials.iter().map(|one| one.times).sum());
    if more > 0 {
        let _ = writeln!(text, "\nand {more} more");
    }
    if let Some(gap) = &head.gap {
        let _ = writeln!(text, "\n{gap}");
    }
    if head.status != 0 && denials.iter().any(|one| one.options.is_some()) {
        // A program that ends at its first denial would have needed more.
        let learn = workspace.here.command("learn -- the same again");
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

/// The additions that several denials need in lists of the user's own, merged: a list is written once, while rules add
/// up.
fn everything(patterns: &[Addition]) -> String {
    let mut text = String::new();
    if patterns.iter().map(Addition::count).sum::<usize>() > 1 {
        text.push_str("\nall of the lists together\n");
        for line in user_additions::lines("  ", "add to", patterns) {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

impl Rules {
    /// The rules, one by one.
    pub(super) fn each(&self) -> impl Iterator<Item = &str> {
        self.toml.iter().flat_map(|toml| toml.split("\n\n")).map(str::trim_end)
    }

    /// The place for the rules, for people.
    pub(super) fn place(&self) -> String {
        let file = self.file.as_deref().unwrap_or("the policy file");
        rule_text::place(self.list.as_deref(), self.new_list, file)
    }
}

impl ExplainedDenial {
    /// For people. `rules` are those of its rules that were not shown before.
    fn words(&self, workspace: &Workspace, rules: &[&str]) -> String {
        let times = summary::times(self.path.as_bytes(), self.times);
        let path = quote::shown(self.path.as_bytes(), &workspace.root);
        let words = self.arguments.iter().flatten().map(|word| quote::quoted(word.as_bytes()));
        let what = command_line::shortened(&path, words);
        let mut text = format!("denied {} {what} by {}{times}\n", self.denied, self.program);
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
        let rule = self.rule.as_deref().unwrap_or("no rule covers it");
        let layer = match self.layer.as_str() {
            "shim" => "the preload library",
            "launcher" => "jp-confine, which started nothing",
            layer => layer,
        };
        let rule = quote::within(&quote::path(rule), &workspace.root);
        let parts = [format!("by: {rule}"), format!("stopped by {layer}")];
        for line in wrap::fitted("  ", &parts, "; ") {
            let _ = writeln!(text, "{line}");
        }
        if self.hidden {
            text.push_str("  it looked absent, as in an empty home\n");
        }
        let told = |words: &str| wrap::fitted("  ", &[quote::within(words, &workspace.root)], "");
        for step in self.steps(&workspace.root) {
            for line in wrap::fitted("  ", &[step], "") {
                let _ = writeln!(text, "{line}");
            }
        }
        let has_options = self.options.is_some() || self.then.is_some();
        if !rules.is_empty() {
            let or = if has_options { "or add" } else { "allow: add" };
            let _ = match &self.rules.instead {
                Some(rule) => writeln!(text, "  {or} in place of {}:", quote::path(rule)),
                None => writeln!(text, "  {or} to {}:", self.rules.place()),
            };
            for line in rules.join("\n\n").lines() {
                let _ = writeln!(text, "{}", format!("    {line}").trim_end());
            }
        }
        if self.rules.each().count() > rules.len() {
            let or = match (rules.is_empty(), self.options.is_some()) {
                (false, _) => "and",
                (true, true) => "or",
                (true, false) => "allow:",
            };
            let _ = writeln!(text, "  {or} as above");
        }
        let before = match (rules.is_empty(), has_options) {
            (false, _) => "and add to",
            (true, true) => "or add to",
            (true, false) => "allow: add to",
        };
        for line in user_additions::lines("  ", before, &self.patterns) {
            let _ = writeln!(text, "{line}");
        }
        let is_for_one_run = self.options.is_some() && self.approve.is_none();
        if is_for_one_run && self.rules.toml.is_none() && self.patterns.is_empty() {
            text.push_str("  nothing to write down was found that does so for good\n");
        }
        for line in self.question.iter().flat_map(|words| told(words)) {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}
