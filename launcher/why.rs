//! `why --last`: what the last run of a workspace was refused, why, and what would allow it. The run
//! leaves that behind it, with the advice that its own policy gives.

mod kept;
mod missed;
mod moved;
mod served;
mod united;
mod words;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use jp_confine_policy::Capabilities;
use serde::{Deserialize, Serialize};

use self::kept::{of_last_run, replace};
use self::missed::Missed;
use self::moved::Mounted;
pub(crate) use self::served::Served;

use crate::advice::{Advice, Advisor, First, Gathered, Written};
use crate::cli::Options;
use crate::command_line::CommandLine;
use crate::context::Context;
use crate::denials::Denials;
use crate::events::Denial;
use crate::failure::Failure;
use crate::here::Here;
use crate::log;
use crate::own_additions::{self, Addition};
use crate::prepare;
use crate::report;
use crate::rule_additions::RuleAddition;
use crate::workspace::Workspace;

/// More is not useful to anybody.
const MOST: usize = 200;

/// The run, the first line of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Head {
    /// Whose run it was.
    #[serde(default)]
    workspace: String,
    /// In which directory; relative names of files are as seen from there.
    #[serde(default)]
    directory: Option<String>,
    /// What was typed, each a word for a shell.
    command: Vec<String>,
    status: u8,
    denials: u64,
    /// When it had ended, in seconds of the epoch.
    #[serde(default)]
    ended: u64,
    #[serde(default)]
    together: Vec<Together>,
    /// What the record lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<String>,
    /// Variables that it may have missed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    withheld: Vec<Missed>,
}

/// Rules that allow something, and where they belong.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Rules {
    /// As the policy file has them: in JSON where it is JSON.
    toml: Option<String>,
    /// The file that they are for.
    file: Option<String>,
    /// The list in it that they are to be put into, where they do not bring the header of their table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    list: Option<String>,
    /// Whether that is to be begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    new_list: bool,
    /// The line of the rule in it that they are to come after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<u32>,
    /// The rule that they are to replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instead: Option<String>,
    /// The capabilities that they grant on paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    grants: BTreeMap<String, Vec<String>>,
}

/// Denials in one directory, and what allows all of them.
#[derive(Debug, Serialize, Deserialize)]
struct Together {
    directory: String,
    paths: usize,
    /// Options, as words for a shell.
    options: String,
    #[serde(flatten)]
    rules: Rules,
    /// Patterns and profiles for files of the user's own.
    #[serde(default)]
    patterns: Vec<Addition>,
}

/// A denial, as it is kept and as `--json` prints it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Explained {
    /// Capabilities, or the call where no rule decided.
    denied: String,
    capability: Vec<String>,
    path: String,
    route: String,
    /// What a refused program was to be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<Vec<String>>,
    /// The other path of a call that names two.
    #[serde(default)]
    other: Option<String>,
    /// What was refused there, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_capability: Vec<String>,
    program: String,
    call: String,
    times: u64,
    reason: String,
    /// What decided.
    rule: Option<String>,
    layer: String,
    /// The name looked absent.
    hidden: bool,
    /// What is to be known of that, or to be done before, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<String>,
    /// Options that allow it, as words for a shell.
    options: Option<String>,
    /// The mount by which it is allowed, in place of options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mount: Option<Mounted>,
    /// What to type instead for a port that is not told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other_port: Option<String>,
    /// The rules whose targets are to be approved: before anything else, if something else is said of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unapproved: Vec<String>,
    /// The same as a command, for who reads it.
    #[serde(default)]
    approve: Option<String>,
    #[serde(flatten)]
    rules: Rules,
    /// Patterns and profiles for files of the user's own, which allow it together with these rules.
    #[serde(default)]
    patterns: Vec<Addition>,
    /// What a person is asked about once it is granted, or is to approve for what is written to count.
    #[serde(default)]
    question: Option<String>,
    /// Why nothing allows it, or not yet.
    never: Option<String>,
    /// Options that allow it afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    then: Option<String>,
    /// What a tool was told, with the way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) name: &'a OsStr,
    pub(crate) arguments: &'a [OsString],
    pub(crate) status: u8,
    pub(crate) denials: &'a Denials,
    pub(crate) advisor: Advisor<'a>,
    /// Variables that the program may have missed.
    pub(crate) missed: &'a [String],
}

impl Rules {
    fn of(addition: &RuleAddition<'_>) -> Self {
        addition.text().map_or_else(Self::default, |text| Self {
            toml: Some(text),
            file: Some(addition.file().to_owned()),
            list: addition.list().map(str::to_owned),
            new_list: addition.is_for_new_list(),
            after: addition.after,
            instead: addition.instead.clone(),
            grants: BTreeMap::new(),
        })
    }
}

impl Ended<'_> {
    /// Keeps this run and its denials, if there are any, in place of the one before. What is started for a tool is
    /// part of the tool's run, and its denials stand behind those before.
    ///
    /// # Errors
    /// Where they cannot be written. A run inside a run has nowhere to write.
    pub(crate) fn keep(
        &self,
        context: &Context,
        workspace: &Workspace,
        for_tool: bool,
    ) -> io::Result<()> {
        let mut explained = self.explained();
        if explained.is_empty() && for_tool {
            return Ok(());
        }
        let hidden: u64 = explained.iter().filter(|one| one.hidden).map(|one| one.times).sum();
        let head = Head {
            workspace: workspace.label(),
            directory: context.cwd.to_str().map(str::to_owned),
            command: command(self.name, self.arguments),
            status: self.status,
            denials: self.denials.total() + hidden,
            ended: now(),
            together: self.together(),
            gap: self.denials.gap.map(|gap| gap.to_string()),
            withheld: self.missed.iter().map(|name| Missed::of(name, &self.advisor)).collect(),
        };
        let dir = workspace.data_dir(context).ok_or(io::ErrorKind::NotFound)?;
        let mut earlier = if for_tool { of_last_run(context, workspace)? } else { None };
        if let Some((_, earlier)) = &mut earlier {
            self.unite(earlier, &mut explained);
        }
        replace(&dir, head, explained, earlier)
    }

    fn together(&self) -> Vec<Together> {
        let all: Vec<&Denial> = self.denials.open().iter().map(|(denial, _)| denial).collect();
        let one = |one: Gathered| Together {
            directory: report::printable(one.directory.as_os_str().as_bytes()),
            paths: one.members.len(),
            options: report::words(&one.options),
            rules: self.rules(&one.written),
            patterns: own_additions::additions(self.advisor.own_lists, &one.written),
        };
        self.advisor.gather(&all).into_iter().map(one).collect()
    }

    /// Every denial that is worth an explanation. That something looks absent which is not there is
    /// none.
    fn explained(&self) -> Vec<Explained> {
        let is_there = |(denial, _): &&(Denial, u64)| {
            Path::new(OsStr::from_bytes(&denial.path)).symlink_metadata().is_ok()
        };
        let hidden = self.denials.hidden().iter().filter(is_there);
        let all = self.denials.open().iter().chain(hidden).take(MOST);
        let (denials, times): (Vec<&Denial>, Vec<u64>) =
            all.map(|(denial, times)| (denial, *times)).unzip();
        let advice = self.advisor.advise_all(&denials);
        let whole = denials.into_iter().zip(times).zip(advice);
        whole.map(|((denial, times), advice)| self.explain(denial, times, advice)).collect()
    }

    /// What is `written` as rules.
    fn rules(&self, written: &Written) -> Rules {
        let names = |caps: &Capabilities| caps.iter().map(|one| one.to_string()).collect();
        let grants = written.rules.iter().map(|(path, caps)| (path.clone(), names(caps)));
        Rules { grants: grants.collect(), ..Rules::of(&self.advisor.rule_addition(&written.rules)) }
    }

    fn explain(&self, denial: &Denial, times: u64, advice: Advice) -> Explained {
        let (mut options, mut rules, mut never) = (None, Rules::default(), None);
        let mut unapproved = Vec::new();
        let (mut patterns, mut question, mut then) = (Vec::new(), None, None);
        let (mut first, mut other_port, mut mount) = (None, None, None);
        match advice {
            Advice::Grant { first: before, options: words, written, question: asked } => {
                (first, question) = (before, asked);
                mount = Mounted::by(&words, self.advisor.mounts);
                let is_told = !words.is_empty() && mount.is_none();
                options = is_told.then(|| report::words(&words));
                rules = self.rules(&written);
                patterns = own_additions::additions(self.advisor.own_lists, &written);
            }
            Advice::Connection(way) => {
                options = Some(format!("--net {}", report::quoted(way.typed.as_bytes())));
                other_port = way.at_other_ports();
                let addition = self.advisor.host_addition(denial, &way);
                rules = addition.as_ref().map(Rules::of).unwrap_or_default();
            }
            Advice::Command { key, rule, instead } => {
                rules = Rules::of(&self.advisor.program_addition(&key, &rule, instead.as_ref()));
            }
            Advice::Approve { rules, options: words } => {
                unapproved = rules;
                options = (!words.is_empty()).then(|| report::words(&words));
            }
            Advice::Withheld { first, options, written, question: asked } => {
                match first {
                    First::TakeOut(words) => never = Some(words),
                    First::Approve(rules) => unapproved = rules,
                }
                question = asked;
                then = (!options.is_empty()).then(|| report::words(&options));
                rules = self.rules(&written);
                patterns = own_additions::additions(self.advisor.own_lists, &written);
            }
            Advice::Never(reason) => never = Some(reason),
        }
        let arguments = CommandLine::arguments_of(denial);
        let route = if arguments.is_some() { &denial.path } else { &denial.route };
        Explained {
            denied: report::asked(denial),
            capability: capability(denial),
            path: report::printable(&denial.path),
            route: report::printable(route),
            other: (!denial.other.is_empty()).then(|| report::printable(&denial.other)),
            other_capability: self.advisor.beside(denial).iter().map(|it| it.to_string()).collect(),
            arguments,
            program: report::printable(&denial.program),
            call: report::printable(&denial.call),
            times,
            reason: log::reason(denial).to_owned(),
            rule: self.advisor.rule(denial),
            layer: denial.layer.as_str().to_owned(),
            hidden: denial.hidden,
            first,
            options,
            mount,
            other_port,
            unapproved,
            approve: None,
            rules,
            patterns,
            question,
            never,
            then,
            message: None,
        }
    }
}

impl Explained {
    /// The command that approves what is to be approved.
    fn approval(&self, here: &Here) -> Option<String> {
        (!self.unapproved.is_empty()).then(|| here.approvals(&self.unapproved))
    }
}

fn capability(denial: &Denial) -> Vec<String> {
    let net = denial.reason.is_network().then(|| "net".to_owned());
    denial.missing.iter().map(|one| one.to_string()).chain(net).collect()
}

/// A line that was typed, as words for a shell.
fn command(name: &OsStr, arguments: &[OsString]) -> Vec<String> {
    let words = std::iter::once(name).chain(arguments.iter().map(OsString::as_os_str));
    words.map(|word| report::quoted(word.as_bytes())).collect()
}

/// In seconds of the epoch.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// `why --last`: explains the denials of the last run of the workspace.
pub(crate) fn last(context: &Context, options: &Options, json: bool) -> Result<u8, Failure> {
    let workspace = prepare::find_workspace(context, options)?;
    let mut found = of_last_run(context, &workspace).map_err(|error| unreadable(&error))?;
    if let Some((head, denials)) = &mut found {
        moved::show_from(&context.cwd, head, denials);
        for denial in denials {
            denial.approve = denial.approval(&workspace.here);
            if let Some(mount) = denial.mount.take() {
                denial.options = mount.option(&workspace.here);
            }
        }
    }
    match found {
        Some((head, mut denials)) if json => {
            denials.extend(head.withheld.iter().map(|one| one.explained(&head)));
            report::json(&denials)?;
        }
        None if json => report::output("[]\n")?,
        Some((head, denials)) => report::text(&words::words(&head, &denials, &workspace))?,
        None => report::text(&words::nothing(&workspace))?,
    }
    Ok(0)
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::own(format!("the record of the last run cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn a_line_is_kept_as_a_shell_reads_it() {
        let arguments = [OsString::from("a b"), OsString::from_vec(b"c\xff".to_vec())];
        assert_eq!(command(OsStr::new("cat"), &arguments), ["cat", "'a b'", r"$'c\xff'"]);
    }
}
