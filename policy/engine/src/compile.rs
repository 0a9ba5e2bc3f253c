//! Compiles rules as written to grants on canonical paths (spec §6).

use std::borrow::ToOwned as _;
use std::path::PathBuf;
use std::string::ToString as _;
use std::vec;
use std::vec::Vec;

use camino::{Utf8Path, Utf8PathBuf};

use crate::Capabilities;
use crate::approvals::Approvals;
use crate::canonical::{self, Op, Root};
use crate::compile_error::{CompileError, Problem};
use crate::external::External;
use crate::grant::{Grant, GrantKind, Origin};
use crate::model::{CompiledRule, FsRule, RuleSource};
use crate::slips::{self, Earlier, Slip};
use crate::warning::{DropReason, Warning};

/// The result of compiling the rules of a policy.
#[derive(Debug)]
pub struct Compiled {
    /// The grants of the workspace itself and of its rules, in declared order.
    pub grants: Vec<Grant>,
    /// The grants of dropped rules, as if their targets were approved. For messages.
    pub unapproved: Vec<Grant>,
    /// The rules for tools that check themselves. Empty exactly if nothing was declared.
    pub rules: Vec<CompiledRule>,
    /// Warnings for the person.
    pub warnings: Vec<Warning>,
}

impl Compiled {
    /// The same rules for the file service. Without declared rules it lets a tool read and no more (R9).
    #[must_use]
    pub fn for_service(mut self) -> Self {
        for grant in &mut self.grants {
            if matches!(grant.kind, GrantKind::Workspace) {
                let why = "the workspace, which may be read as no access.fs is declared";
                grant.caps = Capabilities::READ;
                grant.origin = Origin::Product { why: why.to_string() };
            }
        }
        self
    }
}

/// Compiles the declared rules of a workspace. `None` stands for "nothing declared". An empty list stands for
/// "declared, and nothing left", which denies everything. Reads the disk and changes nothing.
///
/// # Errors
/// [`CompileError`] for the first invalid rule. No run may begin then.
pub fn compile(
    root: &Root,
    declared: Option<&[FsRule]>,
    approvals: &dyn Approvals,
) -> Result<Compiled, CompileError> {
    let _memory = canonical::remember();
    let ground = ground(root, declared.is_some());
    let mut compiler = Compiler {
        root,
        approvals,
        earlier: Earlier::default(),
        compiled: Compiled {
            grants: vec![ground],
            unapproved: Vec::new(),
            rules: Vec::new(),
            warnings: Vec::new(),
        },
    };
    if let Some(rules) = declared {
        for rule in rules {
            compiler.add(rule)?;
        }
        compiler.deny_where_nothing_is_left();
    }
    Ok(compiler.compiled)
}

/// The grant that holds in the workspace where no rule does.
pub(crate) fn ground(root: &Root, declared: bool) -> Grant {
    let (caps, kind, why) = if declared {
        (Capabilities::NONE, GrantKind::Sentinel, "access.fs is declared, and no rule covers this")
    } else {
        (Capabilities::ALL, GrantKind::Workspace, "the workspace, as no access.fs is declared")
    };
    Grant::new(root.as_path().to_owned(), caps, kind, Origin::Product { why: why.to_string() })
}

struct Compiler<'a> {
    root: &'a Root,
    approvals: &'a dyn Approvals,
    earlier: Earlier,
    compiled: Compiled,
}

impl Compiler<'_> {
    fn add(&mut self, rule: &FsRule) -> Result<(), CompileError> {
        let lexical = rule
            .lexical_path()
            .map_err(|error| CompileError::on_path(rule, Problem::Form(error)))?;
        let repeated = self.earlier.repeats(rule, &lexical);
        self.compiled.warnings.extend(repeated.map(|slip| warning(rule, slip)));
        if rule.external() {
            return self.add_external(rule, &lexical);
        }
        match self.root.resolve(lexical.as_std_path(), Op::Content) {
            Ok(resolved) => {
                if !resolved.exists {
                    self.look_for_slips(rule)?;
                }
                self.add_ordinary(rule, resolved.path)
            }
            Err(error) => Err(CompileError::on_path(rule, Problem::Unresolvable(error))),
        }
    }

    /// Checks a rule on a path that does not exist for likely mistakes.
    fn look_for_slips(&mut self, rule: &FsRule) -> Result<(), CompileError> {
        let slip = slips::of_missing(rule);
        if slip == Some(Slip::Pattern) && rule.capabilities().is_empty() {
            return Err(CompileError::on_path(rule, Problem::Pattern));
        }
        self.compiled.warnings.extend(slip.map(|slip| warning(rule, slip)));
        Ok(())
    }

    fn add_ordinary(&mut self, rule: &FsRule, target: PathBuf) -> Result<(), CompileError> {
        let Some(relative) = canonical::below(self.root.as_path(), &target) else {
            return Err(CompileError::on_path(rule, Problem::Outside { target }));
        };
        let Some(relative) = Utf8Path::from_path(relative) else {
            return Err(CompileError::on_path(rule, Problem::NotUtf8 { target }));
        };
        self.compiled.rules.push(rule.compiled(relative.to_owned(), None));
        self.grant(rule, target, rule.capabilities(), GrantKind::Plain);
        Ok(())
    }

    fn add_external(&mut self, rule: &FsRule, lexical: &Utf8Path) -> Result<(), CompileError> {
        let (target, why) = match External::look(self.root, lexical, self.approvals) {
            External::Approved { target } => {
                return self.add_approved(rule, lexical.to_owned(), target);
            }
            External::Inside { target } => {
                return Err(CompileError::on_external(rule, Problem::ExternalInside { target }));
            }
            External::Unresolvable(error) => (None, DropReason::Unresolvable(error)),
            External::Missing { target } => (Some(target), DropReason::Missing),
            External::Unapproved { target } | External::Retargeted { target, .. }
                if target.to_str().is_none() =>
            {
                (Some(target.clone()), DropReason::NotUtf8 { target })
            }
            External::Unapproved { target } => {
                (Some(target.clone()), DropReason::Unapproved { target })
            }
            External::Retargeted { previous, target } => {
                (Some(target.clone()), DropReason::Retargeted { previous, target })
            }
        };
        self.drop_rule(rule, lexical, target, why);
        Ok(())
    }

    fn add_approved(
        &mut self,
        rule: &FsRule,
        lexical_path: Utf8PathBuf,
        target: PathBuf,
    ) -> Result<(), CompileError> {
        let Some(approved_target) = Utf8Path::from_path(&target).map(Utf8Path::to_owned) else {
            return Err(CompileError::on_path(rule, Problem::NotUtf8 { target }));
        };
        if self.root.as_path().starts_with(&target) {
            self.compiled.warnings.push(Warning::ContainsWorkspace {
                rule: rule.source().clone(),
                path: rule.path().to_string(),
                target: target.clone(),
            });
        }
        let kind = GrantKind::External { lexical_path: lexical_path.to_string() };
        self.compiled.rules.push(rule.compiled(lexical_path, Some(approved_target)));
        self.grant(rule, target, rule.capabilities(), kind);
        Ok(())
    }

    /// Leaves denials where the rule was: at its path, at the entry that its path names on disk, and at its target. So
    /// no shorter rule takes its place (spec §6.4).
    fn drop_rule(
        &mut self,
        rule: &FsRule,
        lexical: &Utf8Path,
        target: Option<PathBuf>,
        why: DropReason,
    ) {
        let root = self.root.as_path();
        let entry = self.root.resolve(lexical.as_std_path(), Op::Entry);
        let mut anchors = vec![root.join(lexical)];
        anchors.extend(entry.map(|entry| entry.path));
        anchors.extend(target);
        anchors.dedup();
        if let DropReason::Unapproved { target } | DropReason::Retargeted { target, .. } = &why {
            let kind = GrantKind::External { lexical_path: lexical.to_string() };
            let grant = grant(rule, target.clone(), rule.capabilities(), kind);
            self.compiled.unapproved.push(grant);
        }
        for anchor in anchors {
            let outside = !self.root.contains(&anchor);
            let lexical_path = outside.then(|| lexical.to_string());
            self.grant(rule, anchor, Capabilities::NONE, GrantKind::Tombstone { lexical_path });
        }
        self.compiled.rules.push(CompiledRule::deny_all(lexical));
        self.compiled.warnings.push(Warning::Dropped {
            rule: rule.source().clone(),
            path: rule.path().to_string(),
            why,
        });
    }

    fn grant(&mut self, rule: &FsRule, anchor: PathBuf, caps: Capabilities, kind: GrantKind) {
        self.compiled.grants.push(grant(rule, anchor, caps, kind));
    }

    /// Adds a rule that denies everything, because a tool that reads an empty list would take it for "unrestricted".
    fn deny_where_nothing_is_left(&mut self) {
        let left =
            |grant: &Grant| matches!(grant.kind, GrantKind::Plain | GrantKind::External { .. });
        if !self.compiled.grants.iter().any(left) {
            self.compiled.rules.push(CompiledRule::deny_all(""));
        }
    }
}

fn warning(rule: &FsRule, slip: Slip) -> Warning {
    Warning::Slip { rule: rule.source().clone(), path: rule.path().to_string(), slip }
}

fn grant(rule: &FsRule, anchor: PathBuf, caps: Capabilities, kind: GrantKind) -> Grant {
    let RuleSource { layer, index, line } = rule.source().clone();
    let origin = Origin::Rule { layer, index, line, path: rule.path().to_string() };
    Grant::new(anchor, caps, kind, origin)
}
