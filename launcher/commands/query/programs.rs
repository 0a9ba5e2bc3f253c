//! Answers questions about programs and their arguments.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::check::{CheckVerdict, Reason};
use jp_confine_engine::commands::Listed;
use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::decide::{self, Denial, Request};
use jp_confine_engine::image::{Image, RuleId};
use jp_confine_engine::invocation::{self, Invocation};
use jp_confine_engine::rule_name::RuleName;
use jp_confine_engine::{Capabilities, build};

use super::answer::{Candidate, ExplainedVerdict, TargetVerdict, named};
use super::resources::QueriedPolicy;
use crate::compile::prepared::Prepared;
use crate::compile::{image, programs};
use crate::config::edit::rule_text::{self, RuleText};
use crate::error::Failure;
use crate::sys::path::path_of;
use crate::text::quote;

impl QueriedPolicy<'_> {
    /// Whether a program of the run may start the first of `words` with the others as arguments.
    pub(crate) fn command(&self, words: &[OsString]) -> Result<ExplainedVerdict, Failure> {
        let line: Vec<String> = words.iter().map(|word| quote::quoted(word.as_bytes())).collect();
        let file = words.first().and_then(|name| self.file_of(&name.to_string_lossy()));
        let listed = self.listed();
        let mut answer = TargetVerdict {
            target: line.join(" "),
            capability: "command",
            verdict: CheckVerdict::Deny,
            reason: Some(Reason::ResolutionFailed),
            resolved: file.as_ref().map(|file| file.display().to_string()),
            rule: Some("there is no such program".into()),
            granting: listed.iter().map(|listed| listed.key.clone()).collect(),
        };
        let mut candidates = Vec::new();
        if let Some(file) = &file {
            let image = image::parse_image(&self.prepared.image)?;
            let called = words.first().map(|name| name.as_bytes()).unwrap_or_default();
            let arguments = words.get(1..).unwrap_or_default();
            let program = file.as_os_str().as_bytes();
            let invocation = Invocation { program, called, arguments: arguments.len() };
            self.judge(&image, &invocation, arguments, &mut answer);
            let about = listed.iter().filter(|listed| listed.program == *file);
            candidates.extend(about.map(|listed| candidate(listed, &invocation)));
        }
        Ok(ExplainedVerdict { answer, candidates, held_by: self.holders_of_programs()? })
    }

    /// The file that a name means: looked up in `PATH`, or as a path from the workspace.
    fn file_of(&self, name: &str) -> Option<PathBuf> {
        let root = self.prepared.root.as_path();
        let found = if name.contains('/') {
            root.join(name)
        } else {
            programs::along_path(self.context, name)?
        };
        canonical::resolve(root, &found, Op::Content).ok().map(|resolved| resolved.path)
    }

    /// The rules on files must allow executing it, and the list of programs must allow starting it.
    fn judge(
        &self,
        image: &Image<'_>,
        invocation: &Invocation<'_>,
        arguments: &[OsString],
        answer: &mut TargetVerdict,
    ) {
        let request = Request::canonical(invocation.program);
        let mut is =
            |at: usize, word: &[u8]| arguments.get(at).is_some_and(|it| it.as_bytes() == word);
        let of_files = decide::access(image, &request, Capabilities::EXECUTE);
        let of_list = invocation::judge(image, invocation, &mut is);
        answer.reason = Some(Reason::Denied);
        (answer.verdict, answer.rule) = match (of_files, of_list) {
            (decide::Verdict::Deny(denial), _) if !denial.ask => {
                (CheckVerdict::Deny, Some(self.rule_about_files(&denial, invocation.program)))
            }
            (_, Err(why)) => (CheckVerdict::Deny, refused(self.listed(), invocation, why)),
            (decide::Verdict::Deny(denial), Ok(_)) => {
                (CheckVerdict::Prompt, Some(self.rule_about_files(&denial, invocation.program)))
            }
            (decide::Verdict::Allow, Ok(_)) => {
                answer.reason = None;
                let free = || "no programs are listed, so any may be started".into();
                (CheckVerdict::Allow, Some(rule(self.listed(), invocation).unwrap_or_else(free)))
            }
        };
    }

    fn listed(&self) -> &[Listed] {
        self.prepared.commands.as_deref().unwrap_or_default()
    }

    fn rule_about_files(&self, denial: &Denial, program: &[u8]) -> RuleName {
        let path = path_of(program);
        let pattern = denial.restraint.map(|it| self.prepared.tiers.described(it, path, path));
        let decider =
            |id: RuleId| build::decider(&self.prepared.grants, id.index(), denial.missing);
        let grant = denial.rule.and_then(decider);
        let rule = pattern.or_else(|| grant.map(|grant| grant.origin.name()));
        let rule = rule.unwrap_or_else(|| "no rule covers it".into());
        rule.in_words(|words| format!("execute: {words}"))
    }
}

/// Why the list of programs denies starting `path` by its name without arguments. `path` leads to the file `program`.
/// `None` if that is no program, or is allowed. Looks at the disk.
pub(in crate::commands::query) fn refused_alone(
    prepared: &Prepared,
    path: &OsStr,
    program: &Path,
) -> Option<RuleName> {
    let is_program = programs::is_program(program);
    let image = image::parse_image(&prepared.image).ok().filter(|_| is_program)?;
    let (program, called) = (program.as_os_str().as_bytes(), path.as_bytes());
    let alone = Invocation { program, called, arguments: 0 };
    let why = invocation::judge(&image, &alone, &mut |_, _| false).err()?;
    let rule = refused(prepared.commands.as_deref().unwrap_or_default(), &alone, why)?;
    let without = if why == Coverage::Uncovered { "" } else { ", without arguments" };
    Some(rule.in_words(|words| format!("{words}{without}")))
}

/// The part of the list that denies it.
fn refused(listed: &[Listed], invocation: &Invocation<'_>, why: Coverage) -> Option<RuleName> {
    match why {
        Coverage::Uncovered => Some("access.commands does not list it".into()),
        Coverage::Allowed | Coverage::Denied => rule(listed, invocation),
    }
}

fn rule(listed: &[Listed], invocation: &Invocation<'_>) -> Option<RuleName> {
    listed.iter().find(|listed| is_about(listed, invocation)).map(described)
}

fn candidate(listed: &Listed, invocation: &Invocation<'_>) -> Candidate {
    let text = RuleText::Program(listed.key.clone(), listed.rule.clone()).text(&[]);
    let any = listed.rule.args.is_none().then(|| "any arguments".to_owned());
    let mut says: Vec<String> = any.into_iter().collect();
    for line in text.lines().skip(1) {
        match says.last_mut().filter(|_| line.starts_with(' ')) {
            Some(list) => list.extend([" ", line.trim_start()]),
            None => says.push(line.to_owned()),
        }
    }
    Candidate { rule: described(listed), says: says.join(", "), wins: is_about(listed, invocation) }
}

fn is_about(listed: &Listed, invocation: &Invocation<'_>) -> bool {
    listed.program.as_os_str().as_bytes() == invocation.program
        && listed.name().as_bytes() == invocation.name()
}

fn described(listed: &Listed) -> RuleName {
    named(&rule_text::command_table(&listed.key), &listed.rule.source)
}
