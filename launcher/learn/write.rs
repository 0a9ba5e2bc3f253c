//! What was learned, as a policy file and as a few lines for the person who waits.

use std::fmt::Write as _;

use super::output::Output;
use super::tree::{Purpose, Rule};
use super::{Learned, shown, tally};
use crate::report;
use crate::rule_text;

/// So many rules are listed for whoever waits.
const LISTED: usize = 10;

/// Longer names have a line of their own.
const WIDEST: usize = 40;

/// Longer commands are cut: the policy is to be read.
const LONGEST: usize = 72;

/// Why more is granted than was used.
const LINKED: &str = "hard links were made to what is here: it is granted what they are";

/// The policy file.
pub(crate) fn policy(learned: &Learned<'_>) -> String {
    let mut text = format!(
        "# Learned by jp-confine (exit status {}) from:\n#   {}\n\
         # In the workspace, what is not granted here is denied.\n",
        learned.ran.end.status(),
        command(learned)
    );
    let options = &learned.outside.options;
    if !options.is_empty() {
        text.push_str("# Outside of it the program also used what these options grant:\n");
        for (option, times) in options {
            let _ = writeln!(text, "#   {}  ({times}×)", report::path(option));
        }
    }
    for (rule, tally) in learned.rules.iter().zip(&learned.tallies) {
        let is_granted_alike =
            !rule.purpose.takes_out() && tally.linked && !tally.uses().contains(rule.caps);
        let comment = match rule.purpose {
            _ if !tally.paths.is_empty() && is_granted_alike => {
                format!("{tally}\n# by {}\n# {LINKED}", tally.by())
            }
            _ if !tally.paths.is_empty() => format!("{tally}\n# by {}", tally.by()),
            _ if is_granted_alike => LINKED.to_owned(),
            _ if rule.path.is_empty() => "nothing in the workspace was used".to_owned(),
            Purpose::Denies => "kept out: it was denied".to_owned(),
            _ if rule.caps.is_empty() && learned.leads_on(rule) => {
                "kept out, but for what has its own rule: that alone was used".to_owned()
            }
            _ if rule.caps.is_empty() => "kept out: it was not used".to_owned(),
            _ if rule.is_kept_out() => {
                "kept from being read: it was not, but moved with what it is in".to_owned()
            }
            _ => "kept from being written: it was not".to_owned(),
        };
        let path = String::from_utf8_lossy(&rule.path);
        let path = if path.is_empty() { "." } else { &path };
        let rule = rule_text::Rule::File(path.to_owned(), rule.caps).text(learned.tool);
        let _ = write!(text, "\n# {comment}\n{rule}");
    }
    for (path, (caps, times)) in &learned.outside.external {
        let rule = rule_text::Rule::External(path.to_owned(), *caps).text(learned.tool);
        let _ = write!(text, "\n# outside of the workspace: used {times}×\n{rule}");
    }
    text.push_str(&learned.hosts.policy(learned.tool));
    text
}

/// The end of the run: what was learned, and how to use it.
pub(crate) fn summary(
    learned: &Learned<'_>,
    policy: &Output,
    html: Option<&Output>,
) -> Vec<String> {
    let mut lines = vec![format!("learned from {}", tally::in_all(learned.uses))];
    if learned.ran.end.status() != 0 {
        let status = learned.ran.end.status();
        lines.push(format!("it ended with status {status}: what it did not get to is not learned"));
    }
    let inside = learned.rules.iter().map(|rule| (shown(&rule.path), rule.caps.to_string()));
    let outside =
        learned.outside.external.iter().map(|(path, (caps, _))| {
            (report::path(path), format!("{caps}, outside of the workspace"))
        });
    let listed: Vec<(String, String)> = inside.take(LISTED).chain(outside).collect();
    let mut table = table(&listed);
    if let Some(more @ 1..) = learned.rules.len().checked_sub(LISTED) {
        table.insert(LISTED, format!("  and {}", tally::counted(more as u64, "more rule")));
    }
    lines.extend(table);
    let narrows =
        |rule: &&Rule| rule.is_kept_out() && !rule.path.is_empty() && !learned.leads_on(rule);
    let kept_out: Vec<String> =
        learned.rules.iter().filter(narrows).map(|rule| shown(&rule.path)).collect();
    if !kept_out.is_empty() {
        let names: Vec<&str> = kept_out.iter().map(String::as_str).collect();
        lines.push(format!("kept out, as they were not used: {}", tally::first(&names)));
    }
    lines.extend(learned.hosts.summary());
    if learned.uses.are_cut() {
        lines.push("too many different uses: what came later is not learned".to_owned());
    }
    if !learned.searched {
        lines.push("too many files to search all of them for secrets".to_owned());
    }
    if learned.refused > 0 {
        let refused = tally::counted(learned.refused as u64, "use");
        lines.push(format!("{refused} cannot be granted by rules, and will be denied"));
    }
    if !learned.kept.is_empty() {
        let kept: Vec<String> = learned.kept.iter().map(|path| shown(path)).collect();
        let names: Vec<&str> = kept.iter().map(String::as_str).collect();
        lines.push(format!(
            "could not be removed or moved, and that will be denied: {}",
            tally::first(&names)
        ));
    }
    if let Some(file) = html.and_then(Output::shown) {
        lines.push(format!("what was touched: {file}"));
    }
    if let Some(file) = policy.shown() {
        let words = report::operand(file.as_bytes());
        let again = learned.ran.prepared.here.command(&format!("-p {words} -- the same again"));
        lines.push(format!("try it: {again}"));
    }
    lines
}

/// Names, and what stands behind each in one column; below a name that is too long for that.
fn table(rows: &[(String, String)]) -> Vec<String> {
    let fits = |name: &&String| report::width(name) <= WIDEST;
    let names = rows.iter().map(|(name, _)| name);
    let width = names.filter(fits).map(|name| report::width(name)).max().unwrap_or(0);
    let row = |(name, what): &(String, String)| {
        if fits(&name) {
            return format!("  {name}{:1$}  {what}", "", width - report::width(name));
        }
        format!("  {name}\n  {:width$}    {what}", "")
    };
    rows.iter().map(row).collect()
}

/// The command as one would type it, if it is not long.
pub(super) fn command(learned: &Learned<'_>) -> String {
    let words = learned.command.iter().map(|word| report::quoted(word.as_encoded_bytes()));
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_names_is_in_one_column() {
        let (long, short) = ("l".repeat(WIDEST + 1), "ü\\x0a");
        let rows = [(&*long, "read"), (short, "read"), ("../out", "update")];
        let rows = rows.map(|(name, what)| (name.to_owned(), what.to_owned()));
        let expected = format!("  {long}\n            read;  ü\\x0a   read;  ../out  update");
        assert_eq!(table(&rows).join(";"), expected);
    }
}
