//! Compiles the declared rules of a run to grants, including rules that lead outside the workspace (spec §8.2). That
//! involves mounts and approvals.

use jp_confine_engine::Capabilities;
use jp_confine_engine::canonical::Root;
use jp_confine_engine::compile::{self, Compiled};

use crate::config::layers::{Declared, Layers};
use crate::config::scope::Scope;
use crate::error::Failure;
use crate::external::approvals::question::{self, ApprovalContext, ApprovalQuestion};
use crate::external::approvals::store::Store;
use crate::external::mounts::unused::{Idle, idle};
use crate::external::mounts::{Links, MountRequest, PlannedMounts};
use crate::prompt::terminal::Terminal;
use crate::prompt::turns::PromptQueue;
use crate::sys::signals::{BlockedSignals, ENDING, Signals};

/// The compiled rules of a run.
#[derive(Debug)]
pub(crate) struct CompiledExternals {
    pub(crate) compiled: Compiled,
    /// Whether `access.fs` is declared, possibly by a mount.
    pub(crate) declared: bool,
    /// Whether only a mount declares it. Then programs keep the rights that they have without rules.
    pub(crate) only_mounts: bool,
    /// Mounts that no rule of this run uses.
    pub(crate) idle: Vec<Idle>,
    /// Warnings besides the compiler's.
    pub(crate) warnings: Vec<String>,
    /// Only set for a run.
    pub(crate) made: Option<Made>,
}

/// Changes by mounts and answers, before the run starts or the policy is written. Dropping this undoes them unless they
/// are kept.
///
/// A process that ends by a signal undoes nothing. So signals wait while links are created and approvals are written,
/// and while both are undone. Afterwards there are both, or neither.
#[derive(Debug)]
pub(crate) struct Made {
    links: Links,
    store: Store,
    /// Dropped last.
    signals: Option<BlockedSignals>,
}

impl Made {
    /// Creates and deletes the links of `mounts`, and writes the approvals.
    pub(crate) fn make(
        root: &Root,
        mounts: &PlannedMounts,
        mut store: Store,
    ) -> Result<Self, Failure> {
        let signals = Some(Signals::of(&ENDING).hold());
        let links = mounts.link(root, &mut store)?;
        let mut made = Self { links, store, signals };
        made.store.publish()?;
        made.signals = None;
        Ok(made)
    }

    /// Makes the changes final.
    ///
    /// # Errors
    /// Fails if approvals cannot be written.
    pub(crate) fn keep(mut self) -> Result<(), Failure> {
        self.store.save()?;
        self.links.keep();
        Ok(())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.signals.get_or_insert_with(|| Signals::of(&ENDING).hold());
    }
}

/// Whether compiling may ask and create links, or only looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A program is about to run.
    Run,
    /// Somebody queries the policy.
    Question,
}

/// Compiles the rules that are `declared` in `layers`, and those of the command line. For a run it creates the links of
/// mounts, and asks about unapproved targets. None of that is final until it is kept.
pub(crate) fn compile(
    asked: &MountRequest<'_>,
    layers: &Layers,
    declared: Declared,
    purpose: Purpose,
) -> Result<CompiledExternals, Failure> {
    let MountRequest { context, workspace, root, .. } = *asked;
    let mut store = Store::open(context, workspace);
    for (name, target) in layers.approved() {
        store.approve_unsaved(name, target);
    }
    let mut warnings: Vec<String> = declared.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(layers.warnings.iter().chain(&store.warning).cloned());

    let mounts = PlannedMounts::check(asked, layers, &declared.scopes, &store)?;
    let was_declared = declared.rules.is_some();
    // Without rules the file service lets a tool read, and nothing else (R9).
    let undeclared = if asked.options.service { Capabilities::READ } else { Capabilities::ALL };
    let rules = mounts.among(declared.rules, undeclared);
    let only_mounts = rules.is_some() && !was_declared;
    let compiled = |store: &Store| {
        compile::compile(root, rules.as_deref(), store).map_err(|error| layers.locate(&error))
    };
    mounts.approve(&mut store);
    if purpose == Purpose::Question {
        warnings.extend(mounts.missing_links());
        let (compiled, declared) = (compiled(&store)?, rules.is_some());
        let idle = idle(root, &asked.workspace.here, &store, &compiled.grants);
        return Ok(CompiledExternals {
            compiled,
            declared,
            only_mounts,
            idle,
            warnings,
            made: None,
        });
    }
    let questions = question::questions(root, rules.as_deref().unwrap_or_default(), &store);
    if !questions.is_empty() || !mounts.is_empty() {
        // Reports errors in rules before anything is asked or created.
        compiled(&store)?;
    }
    let terminal = ask(asked, &declared.scopes, &mounts, &questions, &mut store, &mut warnings)?;
    let made = Made::make(root, &mounts, store)?;
    // Ends this process's turn. Others may be about to ask the same.
    drop(terminal);
    let compiled = compiled(&made.store)?;
    let idle = idle(root, &asked.workspace.here, &made.store, &compiled.grants);
    let (declared, made) = (rules.is_some(), Some(made));
    Ok(CompiledExternals { compiled, declared, only_mounts, idle, warnings, made })
}

/// Asks all questions if somebody can answer, and returns the terminal. Otherwise adds warnings.
fn ask(
    asked: &MountRequest<'_>,
    scopes: &[Scope],
    mounts: &PlannedMounts,
    questions: &[ApprovalQuestion],
    store: &mut Store,
    warnings: &mut Vec<String>,
) -> Result<Option<Terminal>, Failure> {
    let MountRequest { context, workspace, root, options, log } = *asked;
    if questions.is_empty() && !mounts.has_open(scopes) {
        return Ok(None);
    }
    let Some(mut terminal) = Terminal::wait_for(&PromptQueue::of(context), options.non_interactive)
    else {
        warnings.extend(mounts.keep_to_this_run(scopes, store, &workspace.here));
        return Ok(None);
    };
    let about = ApprovalContext { context, root, scopes, log };
    mounts.confirm(&mut terminal, &about, options, store)?;
    question::ask(&mut terminal, &about, questions, store);
    Ok(Some(terminal))
}
