//! Combines the suggestions for several denials. Of rules on one path the last decides, so one rule must serve all
//! denials there. A rule on a longer path outweighs one on a directory above. Options add up.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Means, Trial, broken_links, denial_request, programs};
use crate::advice::advisor::{Advice, Advisor, Written};
use crate::advice::options::{note, options_for};
use crate::advice::request::{Asked, Step};
use crate::record::denial::Denial;
use crate::record::effort::SPENT;

/// Limit on repeating: the grant for one denial may leave another without something.
const ROUNDS: usize = 3;

/// The steps that one denial needs, or else the suggestion in their place.
type Steps = Result<Vec<Step>, Box<Advice>>;

impl Advisor<'_> {
    /// The suggestions for `denials`. The file additions of each include what the others need at the same places.
    pub(crate) fn advise_all(&self, denials: &[&Denial]) -> Vec<Advice> {
        if denials.is_empty() {
            return Vec::new();
        }
        let denials: Vec<Cow<'_, Denial>> =
            denials.iter().map(|denial| self.as_put(broken_links::as_led(denial))).collect();
        let replaced: Vec<Option<PathBuf>> =
            denials.iter().map(|denial| denial_request::replaced(denial)).collect();
        let both = denials.iter().zip(&replaced);
        let asked: Vec<Result<Asked<'_>, Box<Advice>>> = both
            .map(|(denial, other)| {
                self.go_on()?;
                Ok(self.grantable(denial)?.to_replace(other.as_deref()))
            })
            .collect();
        let requests: Vec<Asked<'_>> = asked.iter().flatten().copied().collect();
        let mut advice = self.completed(&requests, self.advise_requests(&requests)).into_iter();
        let one = |one: Result<_, Box<Advice>>| match one {
            Err(advice) => *advice,
            Ok(_) => advice.next().unwrap_or_else(|| Advice::Never(String::new())),
        };
        let mut all: Vec<Advice> = asked.into_iter().map(one).collect();
        programs::unite(&mut all);
        all.into_iter().zip(denials).map(|(advice, denial)| advice.of_autorun(&denial)).collect()
    }

    /// Fails once the time for suggestions is spent.
    fn go_on(&self) -> Result<(), Box<Advice>> {
        if self.is_spent() { Err(Box::new(Advice::Never(SPENT.to_owned()))) } else { Ok(()) }
    }

    /// The suggestions for these requests under the current policy.
    pub(super) fn advise_requests(&self, asked: &[Asked<'_>]) -> Vec<Advice> {
        let solved = |means| self.solve_all(&self.by_filling(asked, means), means);
        let both = solved(Means::Options).into_iter().zip(solved(Means::Files));
        let advice =
            |(one, (options, files)): (&Asked<'_>, _)| self.advice_of(*one, options, files);
        asked.iter().zip(both).map(advice).collect()
    }

    fn advice_of(&self, asked: Asked<'_>, options: Steps, files: Steps) -> Advice {
        let first = options.iter().chain(&files).find_map(|steps| self.removed_first(steps));
        let first = first.or_else(|| self.is_there_already(asked));
        let written = files.ok().and_then(|steps| self.written(&steps));
        match (options, written) {
            (Ok(steps), written) => Advice::Grant {
                first,
                options: self.by_mount(asked).unwrap_or_else(|| options_for(&steps)),
                written: written.unwrap_or_default(),
                question: self.question(asked, &steps),
            },
            (Err(_), Some(written)) if written != Written::default() => {
                let first = first.or_else(|| self.is_asked_about(asked).map(str::to_owned));
                Advice::Grant { first, options: Vec::new(), written, question: None }
            }
            (Err(advice), _) => *advice,
        }
    }

    /// The steps of other requests at the places of `asked`, if nothing of its own can be written and those suffice.
    /// For example, a profile grants reading a missing path only to programs that may create it.
    fn lent(&self, asked: Asked<'_>, own: &Steps, all: &[Steps]) -> Option<Vec<Step>> {
        own.as_ref().err()?;
        let is_there = |step: &&Step| asked.paths().any(|path| path == step.place);
        let mut steps = Vec::new();
        for step in all.iter().flatten().flatten().filter(is_there) {
            let missing = step.missing.union(asked.need());
            note(&mut steps, Step { missing, ..step.clone() });
        }
        if steps.is_empty() {
            return None;
        }
        let before = Trial::of(*self, Means::Files);
        let mut trial = before.clone();
        for step in &steps {
            trial.add(step);
        }
        let helps = trial.allows(&[asked]) && !before.allows(&[asked]);
        helps.then_some(steps)
    }

    /// Like [`Trial::solve`], for requests that have to be allowed at the same time.
    fn solve_all(&self, asked: &[Asked<'_>], means: Means) -> Vec<Steps> {
        let solve = |asked: &Asked<'_>| {
            self.go_on()?;
            Trial::of(*self, means).solve(*asked)
        };
        let mut all: Vec<Steps> = asked.iter().map(solve).collect();
        if means == Means::Files && !self.is_spent() {
            let lent: Vec<Option<Vec<Step>>> =
                asked.iter().zip(&all).map(|(one, steps)| self.lent(*one, steps, &all)).collect();
            for (steps, lent) in all.iter_mut().zip(lent) {
                if let Some(lent) = lent {
                    *steps = Ok(lent);
                }
            }
        }
        let shared = shared_places(&all, means);
        let concerned = |steps: &Steps| {
            steps.as_ref().is_ok_and(|steps| steps.iter().any(|it| shared.contains(&it.place)))
        };
        let together: Vec<usize> = (0..all.len()).filter(|at| concerned(&all[*at])).collect();
        let mut united: Vec<Step> = Vec::new();
        for step in together.iter().filter_map(|at| all[*at].as_ref().ok()).flatten() {
            note(&mut united, step.clone());
        }
        for _ in 0..ROUNDS {
            if self.is_spent() {
                break;
            }
            let mut trial = Trial::of(*self, means);
            for step in &united {
                trial.add(step);
            }
            let lacking = |at: &usize| {
                let steps =
                    if self.is_spent() { None } else { trial.clone().solve(asked[*at]).ok() };
                Some((*at, steps?))
            };
            let more: Vec<(usize, Vec<Step>)> = together.iter().filter_map(lacking).collect();
            for (at, steps) in &more {
                for step in steps {
                    note(&mut united, step.clone());
                    if let Ok(own) = &mut all[*at] {
                        note(own, step.clone());
                    }
                }
            }
            if more.is_empty() {
                break;
            }
        }
        if means == Means::Options {
            return all;
        }
        for at in together {
            for step in all[at].iter_mut().flatten() {
                for whole in united.iter().filter(|whole| whole.place == step.place) {
                    step.held = step.held.union(whole.held);
                    step.missing = step.missing.union(whole.missing);
                }
            }
        }
        all
    }
}

/// The places that more than one denial needs. Includes those of a rule on a longer path, which outweighs the others.
fn shared_places(all: &[Steps], means: Means) -> BTreeSet<PathBuf> {
    let mut counts: BTreeMap<&Path, usize> = BTreeMap::new();
    for step in all.iter().flatten().flatten() {
        *counts.entry(&step.place).or_default() += 1;
    }
    let mut shared: BTreeSet<PathBuf> = BTreeSet::new();
    for (place, count) in &counts {
        let is_outweighed = |above: &&Path| means == Means::Files && counts.contains_key(above);
        let above: Vec<&Path> = place.ancestors().skip(1).filter(is_outweighed).collect();
        let is_shared = *count > 1 || !above.is_empty();
        let places = above.into_iter().chain(is_shared.then_some(*place));
        shared.extend(places.map(Path::to_owned));
    }
    shared
}
