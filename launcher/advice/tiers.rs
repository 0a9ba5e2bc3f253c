//! Explains denials by tiers, which outweigh every grant (spec §9.6), and suggests how to lift them.

use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Verdict};
use jp_confine_engine::pattern::Pattern;
use jp_confine_engine::tier::{Restraint, Tier};
use jp_confine_engine::tiers::Tiers;

use super::pinned_directories::Gone;
use super::trial::{Means, Trial};
use crate::advice::advisor::{Advice, Advisor, First, Written};
use crate::advice::options::options_for;
use crate::advice::person::Person;
use crate::advice::request::{Asked, Step};
use crate::compile::image;
use crate::host::program_lookup::own_path;
use crate::record::denial::{Denial, Layer, Reason};
use crate::sys::path::path_of;
use crate::text::quote;

/// The suggestion if a tier withholds something or asks about it; `to_consent` is the way to a person's consent. `None`
/// if a grant or a pattern outweighs the tier.
fn way_out(restraint: Restraint, to_consent: Option<&'static str>) -> Option<&'static str> {
    Some(match (restraint, to_consent) {
        (Restraint::Deny, _) => "no option and no rule outweighs it; take the pattern out",
        // At another path there would be no prompt.
        (Restraint::Prompt, None) => {
            "what is asked about has to stay in its place; take the pattern out, or make a copy (`cp`), \
             which asks"
        }
        (Restraint::Read, None) => {
            "no option and no rule outweighs it; have read_paths leave it out"
        }
        // A pattern outweighs it.
        (Restraint::Default, None)
        | (Restraint::Sensitive | Restraint::Autorun | Restraint::Below, _) => return None,
        (Restraint::Prompt | Restraint::Read | Restraint::Default, Some(way)) => way,
    })
}

/// The way to consent, given the `person` of this run and whether the answer was no.
const fn way_to_consent(person: Person, said_no: bool) -> &'static str {
    match person {
        _ if said_no => "a person said no; the next run asks again",
        Person::Asked => "the question was withdrawn unanswered; the next run asks again",
        Person::Unwanted => "nobody consented; --non-interactive keeps it from being asked about",
        Person::Absent => "nobody consented; in a terminal it is asked about",
        Person::Uninformed(why) => why.way_to_ask(),
    }
}

/// Whether the `default` withholds it, which a pattern outweighs.
pub(super) fn is_by_default(denied: &decide::Denial) -> bool {
    denied.restraint == Some(Restraint::Default)
}

/// The kind of pattern that withholds it from every grant, without a prompt.
pub(super) fn withholder(denied: &decide::Denial) -> Option<Restraint> {
    let outweighs =
        |it: &Restraint| matches!(it, Restraint::Deny | Restraint::Prompt | Restraint::Read);
    denied.restraint.filter(|_| !denied.ask).filter(outweighs)
}

/// Whether a person's consent lifts it, and no grant does.
pub(super) fn is_question(denied: &decide::Denial) -> bool {
    let by_naming = matches!(denied.restraint, Some(Restraint::Sensitive | Restraint::Autorun));
    denied.ask && !by_naming
}

impl Advice {
    /// Adds the suggestion `then`, for after the patterns are removed. On one path both become one rule.
    fn and_then(self, then: Self) -> Self {
        match (self, then) {
            (Self::Withheld { first, .. }, Self::Grant { options, written, question, .. }) => {
                Self::Withheld { first, options, written, question }
            }
            (Self::Grant { first, options, question, .. }, Self::Grant { written, .. }) => {
                Self::Grant { first, options, written, question }
            }
            (advice, _) => advice,
        }
    }

    /// Adds the obstacle that remains after the patterns are removed, if there is no other remark on that.
    fn or_kept_by(mut self, then: impl FnOnce() -> Option<String>) -> Self {
        if let Self::Withheld { question, .. } = &mut self
            && question.is_none()
        {
            *question = then();
        }
        self
    }
}

impl Trial<'_> {
    /// The suggestion where a person's consent lifts the `denied` part of `asked`. A grant on the exact path would too,
    /// but this is for when none can be suggested.
    pub(super) fn consent(
        &self,
        denied: &decide::Denial,
        asked: Asked<'_>,
    ) -> Option<&'static str> {
        let is_refused = |one: &Denial| {
            one.reason == Reason::Refused && asked.paths().any(|path| path == path_of(&one.path))
        };
        let past = self.advisor.past();
        let said_no = || past.refused.iter().any(|(one, _)| is_refused(one));
        denied.ask.then(|| way_to_consent(self.advisor.person, said_no()))
    }

    /// Why grants do not help: a tier withholds the `denied` part of `asked` in another way.
    pub(super) fn withheld(
        &self,
        denied: &decide::Denial,
        asked: Asked<'_>,
    ) -> Option<&'static str> {
        match denied.restraint? {
            Restraint::Default if !denied.ask || self.means == Means::Files => None,
            Restraint::Read if !denied.ask => None,
            restraint => way_out(restraint, self.consent(denied, asked)),
        }
    }

    /// The suggestion where the `default` withholds the `denied` part, and the options of `steps` grant it already:
    /// these options and a pattern, if a trial of both succeeds.
    pub(super) fn beside_options(
        &self,
        asked: Asked<'_>,
        denied: &decide::Denial,
        steps: &[Step],
    ) -> String {
        let (place, extent) = asked.grantable_at(denied, self.advisor.began);
        let step = Step { by_default: true, extent, ..Step::of(place, denied.missing) };
        let allowing = |patterns: Vec<(Tier, String)>| {
            let mut trial = self.clone();
            let list = self.advisor.own_lists.get(patterns.first()?.0)?;
            let named: Vec<String> = patterns.iter().map(|(_, one)| format!("`{one}`")).collect();
            trial.open(&patterns);
            let key = list.keys.last()?;
            trial.allows(&[asked]).then(|| format!("{} in {key}", named.join(" and ")))
        };
        let Some(pattern) = self.advisor.patterns_for(&step).and_then(allowing) else {
            return "no option and no rule outweighs it; a pattern for such names does".to_owned();
        };
        let options = options_for(steps);
        if options.is_empty() {
            return format!("no option and no rule outweighs it; it takes {pattern}");
        }
        format!("it takes {}, and {pattern}", quote::words(&options))
    }
}

impl Advisor<'_> {
    /// The first step if patterns withhold `asked` from every grant: remove them. `None` if no pattern of the policy
    /// does.
    pub(super) fn outweighed(&self, asked: Asked<'_>) -> Option<Advice> {
        let (_, patterns) = self.without_what_withholds(asked);
        (!patterns.is_empty()).then(|| Advice::Withheld {
            first: First::TakeOut(format!("to be taken out first: {}", patterns.join(", "))),
            options: Vec::new(),
            written: Written::default(),
            question: None,
        })
    }

    /// Completes the suggestions for these requests with the steps that follow the removal of patterns.
    pub(super) fn completed(&self, asked: &[Asked<'_>], advice: Vec<Advice>) -> Vec<Advice> {
        let is_withheld = |one: &Advice| matches!(one, Advice::Withheld { .. });
        if !advice.iter().any(is_withheld) {
            return advice;
        }
        let withheld = asked.iter().zip(&advice).filter(|(_, one)| is_withheld(one));
        let tiers = withheld.fold(self.tiers.clone(), |tiers, (one, _)| {
            (Advisor { tiers: &tiers, ..*self }).without_what_withholds(*one).0
        });
        let advisor = Advisor { tiers: &tiers, ..*self };
        let then = advisor.advise_requests(asked);
        let whole = advice.into_iter().zip(then).map(|(one, then)| one.and_then(then));
        whole.zip(asked).map(|(one, asked)| one.or_kept_by(|| advisor.kept_then(*asked))).collect()
    }

    /// The prompt that needs no grant, or else the pattern that keeps a directory in its place whatever is granted.
    fn kept_then(&self, asked: Asked<'_>) -> Option<String> {
        let kept = || {
            let mut trial = Trial::of(*self, Means::Options);
            trial.add(&Step::of(asked.ends().next()?, Capabilities::ALL));
            let image = trial.image(asked).ok()?;
            let image = image::parse_image(&image).ok()?;
            let keeper = trial.to_let_go(&image, asked, true, Gone::Alone).err()?;
            Some(keeper.after())
        };
        self.question(asked, &[]).or_else(kept)
    }

    /// The tiers without all patterns that withhold `asked` whatever is granted, and the removed patterns for people.
    /// Of two on one path each withholds it.
    fn without_what_withholds(&self, asked: Asked<'_>) -> (Tiers, Vec<String>) {
        let (mut tiers, mut patterns) = (self.tiers.clone(), Vec::new());
        while let Some((rest, found)) = (Advisor { tiers: &tiers, ..*self }).withholding(asked) {
            patterns.extend(found.iter().map(|one| quote::path(one)));
            tiers = rest;
        }
        (tiers, patterns)
    }

    /// The patterns that withhold `asked` even if everything is granted, and the tiers without them.
    fn withholding(&self, asked: Asked<'_>) -> Option<(Tiers, Vec<String>)> {
        let mut trial = Trial::of(*self, Means::Options);
        for end in asked.ends() {
            trial.add(&Step::of(end, Capabilities::ALL));
            // The `default` would hide a pattern at the other end.
            let by_default = self.tiers.default.is_some();
            let pattern = Pattern::literal(path_of(end.path)).filter(|_| by_default);
            trial.open(pattern.map(|pattern| (Tier::Write, pattern)).as_slice());
        }
        let Verdict::Deny(denied) = trial.judge(asked)? else { return None };
        let place = asked.place(&denied);
        let restraint = withholder(&denied)?;
        let (tiers, found) =
            self.tiers.without(restraint, path_of(place.path), path_of(place.route));
        (!found.is_empty()).then_some((tiers, found))
    }

    /// Other obstacles to `asked` beside the one pattern in `told`, as words to append.
    pub(super) fn others_beside(&self, told: Option<&str>, asked: Asked<'_>) -> String {
        let (tiers, mut patterns) = self.without_what_withholds(asked);
        let advisor = Advisor { tiers: &tiers, ..*self };
        let is_news = |then: &String| told.is_none_or(|told| !then.contains(told));
        let then = if patterns.is_empty() { None } else { advisor.kept_then(asked) };
        patterns.retain(|one| told.is_none_or(|told| !told.contains(one.as_str())));
        let also = format!("also in the way: {}", patterns.join(", "));
        let also = Some(also).filter(|_| !patterns.is_empty());
        let told = std::iter::once(String::new()).chain(also).chain(then.filter(is_news));
        told.collect::<Vec<_>>().join("; ")
    }

    /// The remark that a person could have consented to `asked`, if nobody was there.
    pub(super) fn is_asked_about(&self, asked: Asked<'_>) -> Option<&'static str> {
        let trial = Trial::of(*self, Means::Options);
        match trial.judge(asked)? {
            Verdict::Deny(denied) => trial.consent(&denied, asked),
            Verdict::Allow => None,
        }
    }

    /// Whether `asked` needs grants, too, once no pattern denies it.
    fn lacks_beside_patterns(&self, asked: Asked<'_>) -> bool {
        let (tiers, patterns) = self.without_what_withholds(asked);
        let advisor = Advisor { tiers: &tiers, ..*self };
        let verdict = Trial::of(advisor, Means::Options).judge(asked);
        let lacks = matches!(verdict, Some(Verdict::Deny(denied)) if !denied.ask);
        lacks && !patterns.is_empty()
    }

    /// The suggestion for `denial` if no grant outweighs the tier that withholds it, and nothing else prevents it.
    pub(super) fn way_out_of_tiers(
        &self,
        denial: &Denial,
        asked: Asked<'_>,
    ) -> Option<&'static str> {
        let takes_more = || match denial.restraint {
            Some(Restraint::Deny) => self.lacks_beside_patterns(asked),
            Some(Restraint::Default) => denial.question && self.person != Person::Asked,
            _ => false,
        };
        self.way_out_of(denial).filter(|_| !takes_more())
    }

    /// The suggestion for `denial` if a tier withholds a rule's grant. `None` if a grant outweighs the tier.
    pub(super) fn way_out_of(&self, denial: &Denial) -> Option<&'static str> {
        if denial.layer == Layer::Launcher && denial.question && self.person == Person::Asked {
            let is_typed = path_of(&denial.program) == own_path();
            let in_front = "what starts a typed program is not asked about; type it in front";
            // Otherwise the person would have consented by typing it.
            return Some(if is_typed { self.unsupervised.way_out() } else { in_front });
        }
        let restraint = denial.restraint?;
        let changes = denial.missing.intersects(Capabilities::WRITE);
        if restraint == Restraint::Read && changes && !denial.question {
            let way = "no option and no rule outweighs it; the pattern belongs into write_paths";
            // With two paths, that is not enough.
            return Some(way).filter(|_| denial.other.is_empty());
        }
        let said_no = denial.reason == Reason::Refused;
        way_out(restraint, denial.question.then(|| way_to_consent(self.person, said_no)))
    }

    /// The suggestion if only patterns of the user's own `read_paths` withhold a change at the path. A pattern that
    /// names only this path moves to `write_paths`. One that names more gives way to a narrower pattern.
    pub(super) fn moved_to_write(&self, denial: &Denial, asked: Asked<'_>) -> Option<Advice> {
        if denial.restraint != Some(Restraint::Read) || denial.question {
            return None;
        }
        let path = path_of(&denial.path);
        let (tiers, moved) = self.tiers.moved_to_write(path);
        let own = &self.own_lists.get(Tier::Read)?.file;
        let is_own = |one: &Pattern| one.place.as_ref().is_some_and(|it| *it.file == **own);
        let patterns = self.patterns_to_write(asked)?;
        let suffices = |tiers: &Tiers, more: &[(Tier, String)]| {
            let mut trial = Trial::of(Advisor { tiers, ..*self }, Means::Files);
            trial.open(more);
            trial.allows(&[asked])
        };
        if !moved.iter().all(|one| is_own(one)) || !suffices(&tiers, &[]) {
            return None;
        }
        if moved.iter().all(|one| one.stem() == path) {
            return Some(moving(&moved, path, patterns));
        }
        // A removed pattern may have opened the other end of a move.
        let (rest, _) = self.tiers.without(Restraint::Read, path, path_of(&denial.route));
        suffices(&rest, &patterns).then(|| giving_way(&moved, patterns))
    }

    /// The patterns for `asked` if a pattern of the user's own keeps it from being changed.
    fn patterns_to_write(&self, asked: Asked<'_>) -> Option<Vec<(Tier, String)>> {
        let Verdict::Deny(denied) = Trial::of(*self, Means::Files).judge(asked)? else {
            return None;
        };
        let (place, extent) = asked.grantable_at(&denied, self.began);
        let missing = denied.missing.union(Capabilities::UPDATE);
        self.patterns_for(&Step { by_default: true, extent, ..Step::of(place, missing) })
    }

    /// The prompt that remains with all `steps` taken.
    pub(super) fn question(&self, asked: Asked<'_>, steps: &[Step]) -> Option<String> {
        let mut trial = Trial::of(*self, Means::Options);
        for step in steps {
            trial.add(step);
        }
        let Verdict::Deny(denied) = trial.judge(asked)? else { return None };
        let place = asked.place(&denied);
        let (place, route) = (path_of(place.path), path_of(place.route));
        let restraint = denied.restraint.filter(|_| is_question(&denied))?;
        let pattern = quote::path(&self.tiers.described(restraint, place, route));
        Some(format!("then a person is asked, for {pattern}"))
    }
}

/// Patterns, for people.
fn in_words(patterns: &[&Pattern]) -> String {
    let named: Vec<String> =
        patterns.iter().map(|one| format!("`{}`", quote::path(&one.text))).collect();
    named.join(" and ")
}

/// Suggests to move these patterns from `read_paths` to `write_paths`. Adds those of `more` that are not for `path`
/// itself, which the moved ones name.
fn moving(patterns: &[&Pattern], path: &Path, more: Vec<(Tier, String)>) -> Advice {
    let named = in_words(patterns);
    let (belong, these) = if patterns.len() > 1 { ("belong", "them") } else { ("belongs", "it") };
    let mut moved: Vec<(Tier, String)> =
        patterns.iter().map(|one| (Tier::Write, one.text.clone())).collect();
    let itself = Pattern::literal(path);
    let is_news = |(_, text): &(Tier, String)| {
        itself.as_ref() != Some(text) && patterns.iter().all(|one| one.text != *text)
    };
    moved.extend(more.into_iter().filter(is_news));
    instead(
        format!("{named} {belong} into write_paths; first take {these} out of read_paths"),
        moved,
    )
}

/// Suggests to remove these wider patterns from `read_paths`, and to add `narrower` ones to `write_paths`.
fn giving_way(patterns: &[&Pattern], narrower: Vec<(Tier, String)>) -> Advice {
    let named = in_words(patterns);
    let first = format!(
        "what {named} opens is for reading alone; first take that out of read_paths, and name anew what is still to be \
         read"
    );
    instead(first, narrower)
}

fn instead(first: String, patterns: Vec<(Tier, String)>) -> Advice {
    Advice::Withheld {
        first: First::TakeOut(first),
        options: Vec::new(),
        written: Written { patterns, ..Written::default() },
        question: None,
    }
}
