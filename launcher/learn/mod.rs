//! `learn`: runs a program under the outer bounds alone, with every call judged by the supervisor, who
//! records what is used; and makes of that the smallest policy under which it can do so again.

mod before;
mod carried;
mod comments;
mod hosts;
mod html;
mod left_out;
mod moves;
mod names;
mod output;
mod outside;
mod progress;
mod protect;
pub(crate) mod record;
mod replay;
mod tally;
pub(crate) mod tree;
mod workshops;
mod write;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use jp_confine_policy::Capabilities;

use self::before::Listing;
use self::carried::{Carried, Target};
use self::hosts::Hosts;
use self::output::Output;
use self::outside::Outside;
use self::progress::Progress;
use self::protect::Shut;
use self::record::{How, Use, Uses};
use self::replay::Stage;
use self::tally::Tally;
use self::tree::{Node, Purpose, Rule, can_be_written, is_below};
use crate::cli;
use crate::cli::Options;
use crate::config::document::Notation;
use crate::context::Context;
use crate::failure::Failure;
use crate::prepare;
use crate::report;
use crate::run::{self, Ran};

/// The file that a policy is written to unless another is named.
const FILE: &str = "jp-confine.learned.toml";

/// So often uses that only looked are taken up before the rest stays out.
const ROUNDS: usize = 8;

/// A run that is learned from.
#[derive(Debug)]
pub(crate) struct Lesson {
    file: File,
    uses: Uses,
    progress: Progress,
}

impl Lesson {
    fn new() -> io::Result<Self> {
        let file = record::file()?;
        Ok(Self { uses: Uses::new(file.try_clone()?), file, progress: Progress::new() })
    }

    /// Where the supervisor records.
    pub(crate) fn recording(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Shows what was recorded so far.
    pub(crate) fn look(&mut self) {
        if self.progress.is_due() && self.uses.read().is_ok() {
            self.progress.show(&self.uses);
        }
    }

    /// Takes in the rest.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.progress.clear();
        self.uses.read()?;
        self.uses.settle();
        Ok(())
    }
}

/// What was learned.
#[derive(Debug)]
pub(crate) struct Learned<'a> {
    /// The program, and its arguments.
    command: Vec<&'a OsStr>,
    ran: &'a Ran,
    uses: &'a Uses,
    /// The policy, sorted by path.
    rules: Vec<Rule>,
    /// What each rule was used for.
    tallies: Vec<Tally>,
    /// What was used outside of the workspace that is not granted to everything.
    outside: Outside,
    /// Where it connected to.
    hosts: Hosts,
    /// What the workspace's file says beside.
    carried: Carried,
    /// Uses that the rules do not allow.
    refused: Vec<&'a Use>,
    /// Directories with more than can have rules of their own, and how much of that was not used.
    crowds: BTreeMap<Vec<u8>, usize>,
    /// What was to be removed or moved, and stayed: no rule is for that.
    kept: BTreeSet<Vec<u8>>,
    /// Auto-run files that were changed: no rule is for that.
    autorun: BTreeSet<Vec<u8>>,
    /// Directories that no rule opens, whatever was used in them.
    shut: Shut,
    /// Directories among what the rules grant that were not searched for secrets.
    unsearched: BTreeSet<Vec<u8>>,
    /// The same of what they do not grant: links in these were not seen.
    unseen: BTreeSet<Vec<u8>>,
    tool: Option<&'a str>,
    options: &'a Options,
    context: &'a Context,
}

/// Runs `name` with `arguments`, and writes what was learned to where `lesson` says.
pub(crate) fn learn(
    context: &Context,
    options: &Options,
    wanted: &cli::Lesson,
    name: &OsStr,
    arguments: &[OsString],
) -> Result<u8, Failure> {
    let workspace = prepare::find_workspace(context, options)?;
    let default = || workspace.root.join(FILE);
    let policy = wanted.output.clone().unwrap_or_else(default);
    refuse_json(&policy)?;
    let open = |option, path| Output::open(context, &workspace.root, option, path, wanted.force);
    let mut policy = open("--output", &policy)?;
    let mut html = wanted.html.as_deref().map(|path| open("--html", path)).transpose()?;
    if html.as_ref().is_some_and(|html| html.is_same(&policy)) {
        return Err(Failure::advised(
            "--output and --html name the same file",
            "name another one for the page",
        ));
    }
    output::take_standard_output(std::iter::once(&mut policy).chain(&mut html))?;

    let mut lesson = Lesson::new()?;
    let before = Listing::now(&workspace.root, BTreeSet::new());
    let ran = run::run(context, options, name, arguments, Some(&mut lesson))?;
    let stage = Stage::new(&workspace.root, before, &ran.prepared, &lesson.uses);
    let hosts = Hosts::of(&ran.prepared.network, &lesson.uses);
    let tool = options.tool.as_deref();
    let target = Target { tool, has_hosts: hosts.has_rules(), is_inside: policy.is_in_workspace() };
    let words = std::iter::once(name).chain(arguments.iter().map(OsString::as_os_str));
    let mut learned = Learned {
        command: words.collect(),
        ran: &ran,
        uses: &lesson.uses,
        rules: Vec::new(),
        tallies: Vec::new(),
        outside: Outside::of(&ran, &stage, &lesson.uses)?,
        hosts,
        carried: Carried::of_workspace(&ran.prepared, target)?,
        refused: Vec::new(),
        crowds: BTreeMap::new(),
        kept: BTreeSet::new(),
        autorun: BTreeSet::new(),
        shut: protect::shut(&stage, &lesson.uses),
        unsearched: BTreeSet::new(),
        unseen: BTreeSet::new(),
        tool,
        options,
        context,
    };
    learned.distil(&stage)?;
    policy.write(&write::policy(&learned))?;
    if let Some(html) = &html {
        html.write(&html::page(&learned, &stage))?;
    }
    if !options.quiet {
        report::block_of(&write::summary(&learned, &policy, html.as_ref()));
    }
    Ok(ran.end.follow())
}

/// Refuses a name by which the policy would be read as what it is not.
fn refuse_json(policy: &Path) -> Result<(), Failure> {
    if Notation::named(policy) != Some(Notation::Json) {
        return Ok(());
    }
    let toml = policy.with_extension("toml");
    Err(Failure::advised(
        format!(
            "--output {} would be read as JSON: policies are learned as TOML",
            report::place(policy)
        ),
        format!("name it so: --output {}", report::operand(toml.as_os_str().as_encoded_bytes())),
    ))
}

impl Learned<'_> {
    /// Finds the rules.
    fn distil(&mut self, stage: &Stage<'_>) -> Result<(), Failure> {
        let inside = |one: &&Use| one.parts().any(|part| stage.inside(part.path).is_some());
        let all: Vec<&Use> = self.uses.counts.keys().filter(inside).collect();
        let all = self.leave_out_autorun(stage, all).into_iter();
        let (mut looks, mut uses): (Vec<&Use>, Vec<&Use>) =
            all.partition(|one| matches!(one.how, How::Absent | How::Existed));
        for _ in 0..ROUNDS {
            self.rules = rules_for(stage, &uses, &self.uses.links, &self.shut)?;
            protect::keep_shut(&mut self.rules, &self.shut);
            stage.widen(&mut self.rules, &uses)?;
            let refused = stage.refused_looks(&self.rules, &looks)?;
            if refused.is_empty() {
                break;
            }
            looks.retain(|one| !refused.contains(one));
            uses.extend(refused);
        }
        protect::keep_denied(stage, &mut self.rules);
        self.crowds = protect::keep_what_was_there(stage, self.uses, &mut self.rules);
        // What stays is what it is to be taken out of; what was used for less has its own rule until the end.
        prune(&mut self.rules, |_| true);
        self.unsearched = protect::protect(stage, self.uses, &self.shut, &mut self.rules);
        prune(&mut self.rules, |path| stage.is_secret(path));
        self.refused = stage.widen(&mut self.rules, &uses)?;
        self.rules.retain(|rule| rule.purpose != Purpose::Drawn);
        self.leave_out_shut(stage);
        self.leave_to_vetting(stage);
        self.unseen = protect::unseen(stage, &self.rules);
        self.kept = stage.kept(&self.rules, self.uses)?;
        if self.rules.is_empty() {
            // Without a rule nothing would be declared, and everything inside be granted.
            let nothing = Capabilities::NONE;
            self.rules.push(Rule { path: Vec::new(), caps: nothing, purpose: Purpose::Withholds });
        }
        self.rules.sort_by(|a, b| a.path.cmp(&b.path));
        self.tallies = tally::by_rule(&self.rules, stage, self.uses);
        Ok(())
    }

    /// The keys of the table that the rules are of, if they are a tool's: as the workspace's file spells it.
    fn table(&self) -> Vec<&str> {
        let Some(tool) = self.tool else { return Vec::new() };
        let whose =
            if self.carried.is_spelled_as_jp { &["conversation", "tools"] } else { &["tools"][..] };
        [whose, &[tool]].concat()
    }

    /// Whether something below `rule` has a rule that grants anything.
    fn leads_on(&self, rule: &Rule) -> bool {
        let is_on = |other: &&Rule| other.path != rule.path && is_below(&other.path, &rule.path);
        self.rules.iter().filter(is_on).any(|other| !other.caps.is_empty())
    }
}

/// The rules that stand for these uses, and for the second names that were made of files. There is none on a link
/// that leads outside, or nowhere at all: no policy with such a rule could be read again, unless the run put the link
/// there.
fn rules_for(
    stage: &Stage<'_>,
    uses: &[&Use],
    links: &HashSet<Vec<u8>>,
    shut: &Shut,
) -> Result<Vec<Rule>, Failure> {
    let mut opened = workshops::workshops(stage, uses);
    let rules = |opened: &BTreeMap<_, _>| {
        let mut tree = tree_of(stage, uses, links, opened);
        for path in shut.keys() {
            tree.shut(path);
        }
        let rules = tree.rules(|path| stage.is_there(path));
        rules.into_iter().filter(|rule| stage.can_stand(&rule.path)).collect()
    };
    for _ in 0..ROUNDS {
        let rules: Vec<Rule> = rules(&opened);
        let lacking = stage.lacking_for_links(&rules, uses)?;
        if lacking.is_empty() {
            return Ok(rules);
        }
        for (directory, caps) in lacking {
            let known: &mut Capabilities = opened.entry(directory).or_default();
            *known = known.union(caps);
        }
    }
    Ok(rules(&opened))
}

/// What was used, whose names are links', and directories that are to stand for what is in them.
fn tree_of(
    stage: &Stage<'_>,
    uses: &[&Use],
    links: &HashSet<Vec<u8>>,
    opened: &BTreeMap<Vec<u8>, Capabilities>,
) -> Node {
    let mut tree = Node::default();
    for part in uses.iter().flat_map(|one| one.parts()) {
        if let Some(path) = stage.inside(part.path) {
            tree.add(path, part, |path| stage.is_secret(path));
        }
    }
    let links = links.iter().filter_map(|path| stage.inside(path));
    for path in links.filter(|path| !stage.is_kept_by_name(path)) {
        tree.mark_link(path, |path| stage.is_secret(path));
    }
    for (directory, caps) in opened {
        tree.open(readable(directory), *caps, |path| stage.is_secret(path));
    }
    tree
}

/// As much of `path` as a policy file can name.
fn readable(path: &[u8]) -> &[u8] {
    let whole = |end: usize| path.get(..end).filter(|start| can_be_written(start));
    if whole(path.len()).is_some() {
        return path;
    }
    let mut slashes = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
    slashes.find_map(|(end, _)| whole(end)).unwrap_or_default()
}

/// Leaves out rules that say what the one above them says, unless they are about what was used for less and is to be
/// named, as what may hold a secret is.
fn prune(rules: &mut Vec<Rule>, is_named: impl Fn(&[u8]) -> bool) {
    let mut place = 0;
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.path.len()));
    while let Some(rule) = rules.get(place).cloned() {
        rules.remove(place);
        let above = tree::nearest(rules, &rule.path).and_then(|place| rules.get(place));
        let says_it = above.is_some_and(|above| match rule.purpose {
            Purpose::Narrows if is_named(&rule.path) => false,
            Purpose::Drawn => false,
            Purpose::Opened | Purpose::Narrows | Purpose::Withholds | Purpose::Denies => {
                above.caps == rule.caps
            }
            Purpose::Used | Purpose::Gathered | Purpose::Passing(_) => {
                above.caps.contains(rule.caps)
            }
        });
        if !says_it {
            rules.insert(place, rule);
            place += 1;
        }
    }
}

/// A path in the workspace for people.
fn shown(path: &[u8]) -> String {
    if path.is_empty() { ".".to_owned() } else { report::printable(path) }
}

/// The last component of a program's path.
fn short(program: &[u8]) -> String {
    let name = Path::new(crate::asked::path_of(program)).file_name();
    name.map_or_else(|| "?".to_owned(), |name| report::path(&name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(path: &str, caps: Capabilities, purpose: Purpose) -> Rule {
        Rule { path: path.into(), caps, purpose }
    }

    #[test]
    fn what_the_rule_above_says_is_left_out() {
        let (read, all) = (Capabilities::READ, Capabilities::ALL);
        let mut rules = vec![
            rule("", all, Purpose::Gathered),
            rule("target", all, Purpose::Gathered),
            rule("target/a", read, Purpose::Used),
            rule("src", read, Purpose::Narrows),
            rule("src/a", read, Purpose::Used),
            rule("b", all, Purpose::Narrows),
            rule("src/.env", read, Purpose::Narrows),
        ];
        prune(&mut rules, names::is_secret);
        let mut left: Vec<&[u8]> = rules.iter().map(|rule| rule.path.as_slice()).collect();
        left.sort_unstable();
        assert_eq!(left, [&b""[..], b"src", b"src/.env"]);
    }

    #[test]
    fn a_rule_is_about_as_much_as_can_be_written_down() {
        assert_eq!(readable(b"a/b"), b"a/b");
        assert_eq!(readable(b"a/b\xff/c"), b"a");
        assert_eq!(readable(b"\xff"), b"");
    }
}
