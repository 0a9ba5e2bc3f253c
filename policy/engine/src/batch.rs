//! Judges many operations as if one command did them: any denial denies all of them, else one prompt is for all (spec
//! §9.5). Used by hosts of tools, such as one that applies a patch.

use std::ffi::OsStr;
use std::format;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::canonical::Op;
use crate::capability::Capability;
use crate::check::{CheckResult, CheckVerdict, Context};
use crate::lexical::bytes;
use crate::moves::{self, Ends, Move, Plan};
use crate::request::Request;
use crate::verdict::Denial;

/// An operation that a tool wants to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// The path, as for `check`.
    pub path: String,
    /// The kind of operation.
    pub operation: OperationKind,
    /// Where the entry moves. For `move`, and for an `update` that renames the file as well.
    pub move_to: Option<String>,
}

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// Read a file, list a directory.
    Read,
    /// Create an entry.
    Create,
    /// Change a file.
    Update,
    /// Remove an entry.
    Delete,
    /// Run a file as a program.
    Execute,
    /// Create what does not exist, update what does.
    Write,
    /// Move an entry to `move_to`.
    Move,
}

/// The verdict on many operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Batch {
    /// The verdict on all of them: the most restrictive one.
    pub verdict: CheckVerdict,
    /// For a denial, why, in a line for each denied operation. For a prompt, what to ask a person about: a line for
    /// each path, as given and as resolved. `None` if all is allowed.
    pub message: Option<String>,
    /// The verdict on each operation, in the order given.
    pub operations: Vec<JudgedOperation>,
}

/// The verdict on one of the operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedOperation {
    /// The operation.
    #[serde(flatten)]
    pub operation: Operation,
    /// The verdict on it.
    pub verdict: CheckVerdict,
    /// Why it is denied, or needs consent. `None` if allowed.
    pub message: Option<String>,
    /// The capabilities that it takes: one, or those at both ends of a move.
    pub checks: Vec<CheckResult>,
}

impl Operation {
    /// Why it is no operation, for one that lacks `move_to` or has it in vain.
    #[must_use]
    pub const fn fault(&self) -> Option<&'static str> {
        match (self.operation, &self.move_to) {
            (OperationKind::Move, None) => Some("a `move` has a `move_to`"),
            (OperationKind::Move | OperationKind::Update, _) | (_, None) => None,
            (_, Some(_)) => Some("only a `move` and an `update` have a `move_to`"),
        }
    }
}

/// A workspace that judges batches.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    context: Context<'a>,
    /// Whether absolute paths are judged as a program's. If not, they are denied as in every tool input.
    has_programs: bool,
}

impl<'a> Judge<'a> {
    /// A judge by the policy of `context`.
    #[must_use]
    pub const fn new(context: Context<'a>, has_programs: bool) -> Self {
        Self { context, has_programs }
    }

    /// The verdict on `operations`, each judged by the disk as it is now.
    #[must_use]
    pub fn batch(&self, operations: Vec<Operation>) -> Batch {
        let judge = |operation| self.operation(operation);
        let operations: Vec<JudgedOperation> = operations.into_iter().map(judge).collect();
        let verdict = worst(operations.iter().map(|one| one.verdict));
        let of_verdict = operations.iter().filter(|one| one.verdict == verdict);
        let lines: Vec<&str> = of_verdict.filter_map(|one| one.message.as_deref()).collect();
        let message = (!lines.is_empty()).then(|| lines.join("\n"));
        Batch { verdict, message, operations }
    }

    /// The verdict on one path, with the other paths that grant the capability.
    #[must_use]
    pub fn check(&self, path: &[u8], capability: Capability) -> CheckResult {
        if self.is_of_program(path) {
            return self.context.check_absolute(Path::new(OsStr::from_bytes(path)), capability);
        }
        self.context.check(path, capability)
    }

    fn is_of_program(&self, path: &[u8]) -> bool {
        self.has_programs && path.starts_with(b"/")
    }

    fn check_as(&self, path: &str, capability: Capability, op: Op) -> CheckResult {
        let result = if self.is_of_program(path.as_bytes()) {
            self.context.check_absolute_as(Path::new(path), capability, op)
        } else {
            self.context.check_as(path.as_bytes(), capability, op)
        };
        result.in_utf8()
    }

    fn operation(&self, operation: Operation) -> JudgedOperation {
        let path = &operation.path;
        let content = |capability| self.check_as(path, capability, Op::Content);
        let entry = |capability| self.check_as(path, capability, Op::Entry);
        let mut checks: Vec<CheckResult> = match operation.operation {
            OperationKind::Read => [content(Capability::Read)].into(),
            OperationKind::Create => [content(Capability::Create)].into(),
            OperationKind::Update => [content(Capability::Update)].into(),
            OperationKind::Execute => [content(Capability::Execute)].into(),
            OperationKind::Write => [self.destination(path, Op::Content)].into(),
            OperationKind::Delete => [entry(Capability::Delete)].into(),
            OperationKind::Move => Vec::new(),
        };
        let mut stays = None;
        if let Some(to) = &operation.move_to {
            let ends = [entry(Capability::Delete), self.destination(to, Op::Entry)];
            let is_open = ends.iter().all(|end| end.verdict != CheckVerdict::Deny);
            if is_open && self.stays(&ends) {
                stays = Some(format!("cannot move {path} to {to}: {STAYS}"));
            }
            checks.extend(ends);
        }
        let verdict = match stays {
            Some(_) => CheckVerdict::Deny,
            None => worst(checks.iter().map(|check| check.verdict)),
        };
        let of_verdict = checks.iter().filter(|check| check.verdict == verdict);
        let lines: Vec<String> = of_verdict.filter_map(line).chain(stays).collect();
        let message = (!lines.is_empty()).then(|| lines.join("\n"));
        JudgedOperation { operation, verdict, message, checks }
    }

    /// The verdict on creating what does not exist at `path`, or updating what does. It does not reveal which if both
    /// are denied.
    fn destination(&self, path: &str, op: Op) -> CheckResult {
        let [update, create] =
            [Capability::Update, Capability::Create].map(|it| self.check_as(path, it, op));
        let is_denied = |check: &CheckResult| check.verdict == CheckVerdict::Deny;
        if is_denied(&update) && is_denied(&create) {
            return update.also_suggest(Capability::Create);
        }
        if update.resolved.as_deref().is_some_and(exists) { update } else { create }
    }

    /// Whether no program may make the move, judged as its system call, even if a person consents where a prompt is due.
    fn stays(&self, ends: &[CheckResult; 2]) -> bool {
        let [Some(from), Some(to)] = ends.each_ref().map(|end| end.resolved.as_deref()) else {
            return true;
        };
        let Ok(image) = self.context.usable() else { return true };
        let on_disk = EndsOnDisk { from, to };
        let [from, to] = [from, to].map(|end| Request::canonical(bytes(end)));
        let asked = Move { from, to, kind: moves::Kind::Replace };
        let consent = |denial: Denial, _| if denial.ask { Ok(()) } else { Err(()) };
        match moves::settled(image, &asked, &on_disk, consent) {
            Ok(Plan::Go) => false,
            Ok(Plan::OnlyNew(_)) => on_disk.exists(),
            Ok(Plan::Alone(alone)) => {
                on_disk.is_directory()
                    || alone.symlink.is_some() && on_disk.is_symlink()
                    || alone.exists.is_some() && on_disk.exists()
            }
            Ok(Plan::Copy(_) | Plan::Exists | Plan::Refuse(_)) | Err(()) => true,
        }
    }
}

const STAYS: &str =
    "there the policy would treat it, or what is in it, differently. Copy it instead.";

/// The line about a check that is not allowed, for a person or model.
fn line(check: &CheckResult) -> Option<String> {
    let CheckResult { capability, path, .. } = check;
    match check.verdict {
        CheckVerdict::Allow => None,
        CheckVerdict::Deny => Some(check.message()),
        CheckVerdict::Prompt => {
            let place = check.resolved.as_ref().map(|place| format!(" ({})", place.display()));
            let rule = check.rule.as_ref().map(|rule| format!(": {}", rule.text));
            let [place, rule] = [place, rule].map(Option::unwrap_or_default);
            Some(format!("{capability} {path}{place}{rule}"))
        }
    }
}

fn worst(verdicts: impl Iterator<Item = CheckVerdict>) -> CheckVerdict {
    verdicts.max().unwrap_or(CheckVerdict::Deny)
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

struct EndsOnDisk<'p> {
    from: &'p Path,
    to: &'p Path,
}

impl Ends for EndsOnDisk<'_> {
    fn exists(&self) -> bool {
        exists(self.to)
    }

    fn is_directory(&self) -> bool {
        self.from.symlink_metadata().is_ok_and(|found| found.is_dir())
    }

    fn is_symlink(&self) -> bool {
        self.from.is_symlink()
    }
}
