//! From the declared rules of a run to its grants, where some rules lead outside the workspace: mounts,
//! approvals, and the compilation between them (spec §8.2).

use jp_confine_policy::Capabilities;
use jp_confine_policy::canonical::Root;
use jp_confine_policy::compile::{self, Compiled};

use crate::config::layers::{Declared, Layers};
use crate::config::scope::Scope;
use crate::error::Failure;
use crate::external::approvals::question::{self, About, Question};
use crate::external::approvals::store::Store;
use crate::external::mounts::unused::{Idle, idle};
use crate::external::mounts::{Asked, Links, Mounts};
use crate::prompt::terminal::Terminal;
use crate::prompt::turns::Turns;
use crate::sys::signals::{ENDING, Held, Signals};

/// What the rules of a run come to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) compiled: Compiled,
    /// Whether `access.fs` is declared, be it by a mount.
    pub(crate) declared: bool,
    /// Whether it is by a mount alone, which takes nothing from programs that they had without rules.
    pub(crate) only_mounts: bool,
    /// What was mounted for other runs.
    pub(crate) idle: Vec<Idle>,
    /// What a person should know beside the compiler's warnings.
    pub(crate) warnings: Vec<String>,
    /// For a run alone.
    pub(crate) made: Option<Made>,
}

/// What mounts and answers of a person changed for a run that may still be refused: taken back unless it is kept.
///
/// Whoever is ended by a signal takes nothing back. So signals wait while links are made and approvals written, and
/// while both are taken back: there are both afterwards, or neither.
#[derive(Debug)]
pub(crate) struct Made {
    links: Links,
    store: Store,
    /// The last to be dropped.
    signals: Option<Held>,
}

impl Made {
    /// Makes the links of `mounts`, and writes what is approved.
    fn make(root: &Root, mounts: &Mounts, mut store: Store) -> Result<Self, Failure> {
        let signals = Some(Signals::of(&ENDING).hold());
        let links = mounts.link(root, &mut store)?;
        let mut made = Self { links, store, signals };
        made.store.publish()?;
        made.signals = None;
        Ok(made)
    }

    /// Has it stay: the run is about to begin.
    ///
    /// # Errors
    /// Where approvals cannot be written.
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

/// Whether what a policy needs may be asked for and made, or is only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A program is about to run.
    Run,
    /// Somebody wants to know.
    Question,
}

/// Compiles the rules that are `declared` in `layers` and those that the command line adds. For a run the links of mounts are
/// made and a person is asked about targets that nobody approved; nothing of that stays unless it is kept.
pub(crate) fn compile(
    asked: &Asked<'_>,
    layers: &Layers,
    declared: Declared,
    purpose: Purpose,
) -> Result<Outcome, Failure> {
    let Asked { context, workspace, root, .. } = *asked;
    let mut store = Store::open(context, workspace);
    let mut warnings: Vec<String> = declared.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(store.warning.clone());

    let mounts = Mounts::check(asked, layers, &declared.scopes, &store)?;
    let was_declared = declared.rules.is_some();
    // Without rules the file service lets a tool read and no more (R9).
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
        return Ok(Outcome { compiled, declared, only_mounts, idle, warnings, made: None });
    }
    let questions = question::questions(root, rules.as_deref().unwrap_or_default(), &store);
    if !questions.is_empty() || !mounts.is_empty() {
        // An error of a rule comes before anything is asked or made.
        compiled(&store)?;
    }
    let terminal = ask(asked, &declared.scopes, &mounts, &questions, &mut store, &mut warnings)?;
    let made = Made::make(root, &mounts, store)?;
    // Now it is the turn of others, who may be about to ask the same.
    drop(terminal);
    let compiled = compiled(&made.store)?;
    let idle = idle(root, &asked.workspace.here, &made.store, &compiled.grants);
    let (declared, made) = (rules.is_some(), Some(made));
    Ok(Outcome { compiled, declared, only_mounts, idle, warnings, made })
}

/// Asks what is to be asked, where somebody can answer: the terminal. Where nobody can, `warnings` get what a person
/// should know.
fn ask(
    asked: &Asked<'_>,
    scopes: &[Scope],
    mounts: &Mounts,
    questions: &[Question],
    store: &mut Store,
    warnings: &mut Vec<String>,
) -> Result<Option<Terminal>, Failure> {
    let Asked { context, workspace, root, options, log } = *asked;
    if questions.is_empty() && !mounts.has_open(scopes) {
        return Ok(None);
    }
    let Some(mut terminal) = Terminal::wait_for(&Turns::of(context), options.non_interactive)
    else {
        warnings.extend(mounts.keep_to_this_run(scopes, store, &workspace.here));
        return Ok(None);
    };
    let about = About { context, root, scopes, log };
    mounts.confirm(&mut terminal, &about, options, store)?;
    question::ask(&mut terminal, &about, questions, store);
    Ok(Some(terminal))
}
