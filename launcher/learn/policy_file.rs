//! Writes the learned policy file, and a summary of a few lines for the person who waits.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::kept_policy::Carried;
use super::output_files::Output;
use super::tree::LearnedRule;
use super::{comments, usage_counts};
use crate::config::edit::rule_text;
use crate::host::workspace::FILE;
use crate::learn::learned::Learned;
use crate::learn::text::shown;
use crate::record::usage::{Use, UseKind};
use crate::text::quote;
use crate::text::wrap;

/// At most this many rules are listed in the summary.
const LISTED: usize = 10;

/// Longer names get a line of their own.
const WIDEST: usize = 40;

/// Longer commands are cut, so that the policy stays readable.
const LONGEST: usize = 72;

/// The policy file.
pub(crate) fn policy(learned: &Learned<'_>) -> String {
    let mut text = head(learned);
    text.push_str(&carried(&learned.carried));
    for (rule, tally) in learned.rules.iter().zip(&learned.tallies) {
        let comment = comments::lines(learned, rule, tally);
        let comment = comment.iter().fold(String::new(), |text, line| text + "# " + line + "\n");
        let path = String::from_utf8_lossy(&rule.path);
        let path = if path.is_empty() { "." } else { &path };
        let rule = rule_text::RuleText::File(path.to_owned(), rule.caps).text(&learned.table());
        let _ = write!(text, "\n{comment}{rule}");
    }
    for (path, (caps, times)) in &learned.outside.external {
        let rule = rule_text::RuleText::External(path.to_owned(), *caps).text(&learned.table());
        let _ = write!(text, "\n# outside of the workspace: used {times}×\n{rule}");
    }
    text.push_str(&learned.hosts.policy(&learned.table()));
    text
}

/// The command and status that it was learned from, and other options that applied.
fn head(learned: &Learned<'_>) -> String {
    let mut text = format!(
        "# Learned by jp-confine (exit status {}) from:\n#   {}\n",
        learned.ran.end.status(),
        command(learned)
    );
    let _ = match learned.tool {
        Some(tool) => writeln!(
            text,
            "# For runs with `{}` alone: in the workspace, what is not granted to these is denied.",
            of_tool(tool)
        ),
        None => writeln!(text, "# In the workspace, what is not granted here is denied."),
    };
    for file in &learned.options.policies {
        let _ = writeln!(
            text,
            "# What `{}` says beside access.fs held, too, and does where that is given again.",
            of_file(file)
        );
    }
    for line in unsearched(learned).chain(refused(learned)) {
        let _ = writeln!(text, "# {line}");
    }
    let options = &learned.outside.options;
    if !options.is_empty() {
        text.push_str("# Outside of it the program also used what these options grant:\n");
        for (option, times) in options {
            let _ = writeln!(text, "#   {}  ({times}×)", quote::path(option));
        }
    }
    text
}

/// The other parts of the workspace's file, and those that cannot be copied.
fn carried(carried: &Carried) -> String {
    let mut text = String::new();
    if !carried.names.is_empty() {
        let _ = write!(text, "\n# Of {FILE}, so that this can take its place:\n");
        text.push_str(carried.text.trim_start());
    }
    for (name, why) in &carried.left {
        let _ = write!(text, "\n# Not carried over from {FILE}: {}: {why}.\n", quote::path(name));
    }
    text
}

/// The report at the end of the run: what was learned, and how to use it.
pub(crate) fn summary(
    learned: &Learned<'_>,
    policy: &Output,
    html: Option<&Output>,
) -> Vec<String> {
    let mut lines = vec![format!("learned from {}", usage_counts::in_all(learned.uses))];
    if learned.ran.end.status() != 0 {
        let status = learned.ran.end.status();
        lines.push(format!("it ended with status {status}: what it did not get to is not learned"));
    }
    if let Some(tool) = learned.tool {
        lines.push(format!("for runs with {} alone", of_tool(tool)));
    }
    let inside = learned.rules.iter().map(|rule| (shown(&rule.path), rule.caps.to_string()));
    let outside =
        learned.outside.external.iter().map(|(path, (caps, _))| {
            (quote::path(path), format!("{caps}, outside of the workspace"))
        });
    let listed: Vec<(String, String)> = inside.take(LISTED).chain(outside).collect();
    let mut table = table(&listed);
    if let Some(more @ 1..) = learned.rules.len().checked_sub(LISTED) {
        table.insert(LISTED, format!("  and {}", usage_counts::counted(more as u64, "more rule")));
    }
    lines.extend(table);
    let narrows = |rule: &&LearnedRule| {
        let is_shut = learned.shut.contains_key(&rule.path);
        rule.is_kept_out() && !rule.path.is_empty() && !is_shut && !learned.leads_on(rule)
    };
    let kept_out: Vec<String> =
        learned.rules.iter().filter(narrows).map(|rule| shown(&rule.path)).collect();
    if !kept_out.is_empty() {
        let names: Vec<&str> = kept_out.iter().map(String::as_str).collect();
        lines.push(format!("kept out, as they were not used: {}", usage_counts::first(&names)));
    }
    lines.extend(crowds(learned));
    lines.extend(learned.hosts.summary());
    lines.extend(beside(&learned.carried));
    if learned.uses.are_cut() {
        lines.push("too many different uses: what came later is not learned".to_owned());
    }
    lines.extend(unsearched(learned));
    lines.extend(shut(learned));
    lines.extend(refused(learned));
    if !learned.kept.is_empty() {
        let kept: Vec<String> = learned.kept.iter().map(|path| shown(path)).collect();
        let names: Vec<&str> = kept.iter().map(String::as_str).collect();
        lines.push(format!(
            "could not be removed or moved, and that will be denied: {}",
            usage_counts::first(&names)
        ));
    }
    if !learned.autorun.is_empty() {
        let names: Vec<String> = learned.autorun.iter().map(|path| shown(path)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        lines.push(format!(
            "auto-run files, left out: a run is asked about them, or takes --allow-autorun: {}",
            usage_counts::first(&names)
        ));
    }
    if let Some(file) = html.and_then(Output::shown) {
        lines.push(format!("what was touched: {file}"));
    }
    if let Some(file) = policy.seen() {
        let files = learned.options.policies.iter().map(PathBuf::as_path).chain([file]);
        let options = learned.tool.map(of_tool).into_iter().chain(files.map(of_file));
        let options = options.collect::<Vec<_>>().join(" ");
        let again = learned.ran.prepared.here.command(&format!("{options} -- the same again"));
        lines.push(format!("try it: {again}"));
    }
    lines
}

/// The directories whose unused entries are granted, too, since there are too many for rules of their own.
fn crowds(learned: &Learned<'_>) -> Option<String> {
    let counted = |rule: &LearnedRule| {
        let others = learned.crowds.get(&rule.path)?;
        Some(format!("{others} in {}", shown(&rule.path)))
    };
    let names: Vec<String> = learned.rules.iter().filter_map(counted).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let why = "not used, and granted all the same, as they are too many for rules of their own";
    (!names.is_empty()).then(|| format!("{why}: {}", usage_counts::first(&names)))
}

/// The granted directories that may contain unknown secrets, and the ones that may contain symlinks to such.
fn unsearched(learned: &Learned<'_>) -> impl Iterator<Item = String> {
    let line = |why: &str, paths: &BTreeSet<Vec<u8>>| {
        let names: Vec<String> = paths.iter().map(|path| shown(path)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("{why} {}", usage_counts::first(&names)))
    };
    let (secrets, links) = (
        "too many files to search all of them for secrets, which may be granted in",
        "too many files to look for links to what is granted, and may hold a secret by a link's name, in",
    );
    [line(secrets, &learned.unsearched), line(links, &learned.unseen)].into_iter().flatten()
}

/// The directories that no rule opens, since that would open a path that may hold a secret.
fn shut(learned: &Learned<'_>) -> Vec<String> {
    let kept = |rule: &LearnedRule| {
        let directory = shown(&rule.path);
        Some(match learned.shut.get(&rule.path)? {
            Some(path) => format!(
                "kept out but for what has its own rule: {directory}: no rule can name {} in it, which may hold a secret",
                shown(path)
            ),
            None => format!(
                "kept out but for what has its own rule: {directory}: it cannot be listed, and may hold a secret"
            ),
        })
    };
    learned.rules.iter().filter_map(kept).collect()
}

/// The uses that stay denied.
fn refused(learned: &Learned<'_>) -> Option<String> {
    let end = |path: &[u8]| quote::shown(path, learned.ran.prepared.root.as_path());
    let what = |one: &&Use| {
        let (path, other) = (end(&one.path), end(&one.other));
        match one.how {
            UseKind::Moved | UseKind::Replaced => format!("moving {path} to {other}"),
            UseKind::Exchanged => format!("exchanging {path} and {other}"),
            UseKind::Linked => format!("linking {path} as {other}"),
            _ => format!("{} {path}", one.caps()),
        }
    };
    let mut names: Vec<String> = learned.refused.iter().map(what).collect();
    names.sort();
    // Several programs may have the same use.
    names.dedup();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let count = usage_counts::counted(names.len() as u64, "use");
    let what = "cannot be granted by rules, and will be denied";
    (!names.is_empty()).then(|| format!("{count} {what}: {}", usage_counts::first(&names)))
}

/// The parts that were carried over, and those that were not.
fn beside(carried: &Carried) -> Vec<String> {
    let names: Vec<String> = carried.names.iter().map(|name| quote::path(name)).collect();
    let stays = (!names.is_empty())
        .then(|| format!("carried over from {FILE}, which held meanwhile: {}", names.join(", ")));
    let left = |(name, why): &(String, &str)| {
        format!("not carried over from {FILE}: {}: {why}", quote::path(name))
    };
    stays.into_iter().chain(carried.left.iter().map(left)).collect()
}

/// The option that names a tool.
fn of_tool(tool: &str) -> String {
    format!("--tool {}", quote::quoted(tool.as_bytes()))
}

/// The option that names a policy file.
fn of_file(file: &Path) -> String {
    format!("-p {}", quote::operand(file.as_os_str().as_encoded_bytes()))
}

/// Names, with their texts in one column. After a name that is too long, the text goes on its own line.
fn table(rows: &[(String, String)]) -> Vec<String> {
    let fits = |name: &&String| wrap::width(name) <= WIDEST;
    let names = rows.iter().map(|(name, _)| name);
    let width = names.filter(fits).map(|name| wrap::width(name)).max().unwrap_or(0);
    let row = |(name, what): &(String, String)| {
        if fits(&name) {
            return format!("  {name}{:1$}  {what}", "", width - wrap::width(name));
        }
        format!("  {name}\n  {:width$}    {what}", "")
    };
    rows.iter().map(row).collect()
}

/// The command as a user would type it, cut if it is long.
pub(super) fn command(learned: &Learned<'_>) -> String {
    let words = learned.command.iter().map(|word| quote::quoted(word.as_encoded_bytes()));
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
