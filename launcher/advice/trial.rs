//! Tries additions to a policy, step by step, until the evaluator allows the denied request.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::decide::{self, Request, Verdict, lookup, may_grant_below};
use jp_confine_engine::image::Image;
use jp_confine_engine::pattern::{Pattern, Places};
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::{Capabilities, Capability};

use super::pinned_directories::Gone;
use super::spelling::why_denied;
use super::tiers::{is_by_default, is_question, withholder};
use crate::advice::advisor::{Advice, Advisor};
use crate::advice::options::{denied_by_flag, granted, note, option_for};
use crate::advice::request::{Asked, Extent, Step, lacking, on_the_way};
use crate::compile::image;
use crate::error::Failure;
use crate::external::mounts::unused::Idle;
use crate::sys::path::path_of;
use crate::text::quote;

/// Limit on steps: a rename between two rules may lack rights at each end, and gain some at each.
const STEPS: usize = 8;

/// The reason why there is no suggestion for generated names in the home, or above it.
const ANOTHER_EACH_TIME: &str =
    "its name is another one each time, and its directory too much to grant";

/// Remark on the shared directory for temporary files, if it is above the home or the workspace.
const SHARED: &str = "its name is another one each time; --share-tmp grants all that is in /tmp";

/// The reason why no option is suggested for a directory in which patterns open something.
const COVERS_PATTERNS: &str = "an option there would take away what patterns open below";

/// Remark on patterns where only a grant on the directory and everything below it suffices.
const BY_NAME_ALONE: &str =
    "a pattern opens the directory by its name; -w and -x on it open what is below, too";

/// The means by which something is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// Command-line options.
    Options,
    /// Rules of the workspace. For places outside, patterns or a profile of the user's own.
    Files,
}

impl Means {
    /// All rights that are granted in order to grant `missing`.
    pub(super) fn widen(self, missing: Capabilities) -> Capabilities {
        match self {
            Self::Options => option_for(missing).1,
            Self::Files => missing,
        }
    }
}

/// A policy with additions.
#[derive(Clone, Debug)]
pub(super) struct Trial<'a> {
    pub(super) advisor: Advisor<'a>,
    pub(super) means: Means,
    grants: Vec<Grant>,
    patterns: Vec<(Tier, String)>,
}

impl<'a> Trial<'a> {
    /// The current policy, without additions.
    pub(super) fn of(advisor: Advisor<'a>, means: Means) -> Self {
        Self { advisor, means, grants: advisor.grants.to_vec(), patterns: Vec::new() }
    }

    /// Adds a step. Returns whether it can be written to files and is new.
    pub(super) fn add(&mut self, step: &Step) -> bool {
        if self.means == Means::Options {
            self.grants.push(self.by_option(step));
            return true;
        }
        if self.advisor.rule_for(step).is_some() {
            self.grants.push(self.advisor.by_link(step));
            return true;
        }
        if let Some(patterns) = self.advisor.patterns_for(step) {
            return self.open(&patterns);
        }
        let entry = self.advisor.entry_for(step).map(|entry| self.advisor.ready_made(&entry));
        let Some(grant) = entry.filter(|grant| !self.grants.contains(grant)) else { return false };
        self.grants.push(grant);
        true
    }

    /// The step as an option. An option on a link counts at its target, unless the link was created since. Looks at the
    /// disk.
    fn by_option(&self, step: &Step) -> Grant {
        let is_meant = self.advisor.made_since(&step.place).is_some();
        let led = canonical::resolve(Path::new("/"), &step.place, Op::Content);
        match led.ok().filter(|_| !is_meant) {
            Some(found) => granted(&Step { place: found.path, ..step.clone() }),
            None => granted(step),
        }
    }

    /// The trial without the grants below the directory, and these grants in words.
    pub(super) fn without_below(&self, directory: &Path) -> (Self, Vec<String>) {
        let is_below = |grant: &Grant| {
            let rest = canonical::below(directory, &grant.anchor);
            !grant.caps.is_empty() && rest.is_some_and(|rest| !rest.as_os_str().is_empty())
        };
        let (below, grants): (Vec<Grant>, _) = self.grants.iter().cloned().partition(is_below);
        let words = below.iter().map(|grant| quote::path(&grant.origin.to_string())).collect();
        (Self { grants, ..self.clone() }, words)
    }

    /// Adds the mount, whose rule is on its link.
    pub(super) fn mount(&mut self, idle: &Idle) {
        let kind = GrantKind::External { lexical_path: idle.name.clone() };
        let origin = Origin::Flag { text: String::new() };
        let grant = Grant::new(idle.target.clone(), Capabilities::READ, kind, origin);
        self.grants.push(grant);
    }

    /// Adds patterns. Returns whether one of them is new.
    pub(super) fn open(&mut self, patterns: &[(Tier, String)]) -> bool {
        let mut is_new = false;
        for (tier, pattern) in patterns {
            // If a pattern is in both lists, the one that grants less counts.
            if *tier == Tier::Write {
                self.patterns.retain(|(_, known)| known != pattern);
            }
            is_new |= self.patterns.iter().all(|(_, known)| known != pattern);
            self.patterns.push((*tier, pattern.clone()));
        }
        is_new
    }

    /// The policy image for judging `asked`. Looks at the disk.
    pub(super) fn image(&self, asked: Asked<'_>) -> Result<Vec<u8>, Failure> {
        let paths: Vec<&Path> = asked.spellings().collect();
        self.image_on(&paths, asked.may_take_along())
    }

    /// The current verdict on `asked`. Looks at the disk.
    pub(super) fn judge(&self, asked: Asked<'_>) -> Option<Verdict> {
        let image = self.image(asked).ok()?;
        Some(asked.judge(&image::parse_image(&image).ok()?))
    }

    /// The tiers that count beside the grants.
    fn tiers(&self) -> Cow<'a, Tiers> {
        let Advisor { tiers, exposed, grants, .. } = self.advisor;
        let warns = self.grants.len() > grants.len() || !self.patterns.is_empty();
        let warned = exposed.filter(|_| warns).map(|list| Cow::Owned(tiers.warning_of(list)));
        warned.unwrap_or(Cow::Borrowed(tiers))
    }

    /// The policy image for canonical `paths`, and for entries below them if these matter. Leaving them out saves work:
    /// most patterns can match something below any directory.
    fn image_on(&self, paths: &[&Path], with_below: bool) -> Result<Vec<u8>, Failure> {
        let Advisor { workspace, .. } = self.advisor;
        let tiers = &*self.tiers();
        if with_below && self.patterns.is_empty() {
            return image::image_over(&self.grants, Some(tiers), paths, workspace);
        }
        let places = Places::without_home(workspace);
        let about = if with_below { tiers.about(paths) } else { tiers.at(paths) };
        let opened = self
            .patterns
            .iter()
            .try_fold(about, |tiers, (tier, pattern)| tiers.with(*tier, pattern, places));
        let opened = opened.map_err(|error| Failure::own(error.to_string()))?;
        image::image_over(&self.grants, Some(&opened), paths, workspace)
    }

    /// The steps that allow `asked`, or else the suggestion in their place.
    pub(super) fn solve(mut self, asked: Asked<'_>) -> Result<Vec<Step>, Box<Advice>> {
        let never = |why: &str| Box::new(Advice::Never(why.to_owned()));
        let mut in_vain = "no option and no rule can allow it";
        let mut steps: Vec<Step> = Vec::new();
        let mut gone = Gone::Alone;
        for _ in 0..STEPS {
            let useless = || never(in_vain);
            let image = self.image(asked).map_err(|_| useless())?;
            let image = image::parse_image(&image).map_err(|_| useless())?;
            let verdict = asked.judge(&image);
            let is_first = verdict == Verdict::Allow && steps.is_empty();
            if is_first {
                gone = Gone::Directory;
            }
            let asks = |denied: &decide::Denial| is_question(denied) && !steps.is_empty();
            let is_asked = matches!(&verdict, Verdict::Deny(denied) if asks(denied));
            let granted = is_asked || verdict == Verdict::Allow;
            let let_go = self.to_let_go(&image, asked, granted, gone);
            if let Some(step) = let_go.map_err(|keeper| never(&self.why_kept(&keeper, asked)))? {
                self.take(&mut steps, step, asked).map_err(|why| never(&why))?;
                continue;
            }
            if granted && let Some(step) = self.to_fill(&image, asked, gone) {
                self.take(&mut steps, step, asked).map_err(|why| never(&why))?;
                continue;
            }
            let Verdict::Deny(denied) = verdict else {
                return if is_first { Err(never(why_denied(asked))) } else { Ok(steps) };
            };
            if is_asked {
                return Ok(steps);
            }
            if (withholder(&denied).is_some() || is_by_default(&denied))
                && let Some(advice) = self.advisor.outweighed(asked)
            {
                return Err(Box::new(advice));
            }
            if self.means == Means::Options && is_by_default(&denied) && !denied.ask {
                return Err(never(&self.beside_options(asked, &denied, &steps)));
            }
            if let Some(why) = self.withheld(&denied, asked) {
                return Err(never(why));
            }
            if let Some(way_out) = self.consent(&denied, asked) {
                in_vain = way_out;
            }
            let useless = || never(in_vain);
            let (anchor, extent) = asked.grantable_at(&denied, self.advisor.began);
            if extent.is_for_entries() && self.advisor.is_beyond_advice(path_of(anchor.path)) {
                return Err(never(self.for_another_each_time(asked, anchor)));
            }
            let lacking = lacking(&image, &self.grants, anchor, denied.missing);
            for step in lacking.into_iter().filter(|step| asked.depends_on(&step.place)) {
                let step = Step { extent, by_default: is_by_default(&denied), ..step };
                let step = self.reaching(&image, step).ok_or_else(useless)?;
                self.take(&mut steps, step, asked)
                    .map_err(|why| if why.is_empty() { useless() } else { never(&why) })?;
            }
        }
        Err(never(in_vain))
    }

    /// Adds one more of the `steps` for `asked`.
    ///
    /// # Errors
    /// Why it must not be added. Empty if it would not help.
    fn take(&mut self, steps: &mut Vec<Step>, step: Step, asked: Asked<'_>) -> Result<(), String> {
        if let Some(flag) = denied_by_flag(&self.grants, &step.place) {
            return Err(format!("leave out `{}`", quote::option(flag)));
        }
        if self.opens_too_much(&step, asked) {
            return Err("nothing narrower than all that is there allows it".to_owned());
        }
        if step.extent == Extent::Along {
            // A grant outweighs the pattern for the name.
            let name = Pattern::literal(&step.place);
            self.patterns.retain(|(_, pattern)| name.as_ref() != Some(pattern));
            steps.retain(|one| one.place != step.place);
        }
        let held = step.held.union(self.means.widen(step.missing));
        let step = note(steps, Step { held, ..step });
        if self.takes_away_below(&step) {
            return Err(COVERS_PATTERNS.to_owned());
        }
        let in_vain = if step.extent == Extent::Along { BY_NAME_ALONE } else { "" };
        if self.add(&step) { Ok(()) } else { Err(in_vain.to_owned()) }
    }

    /// The remark if no directory of generated names is to be granted. Looks at the disk.
    fn for_another_each_time(&self, asked: Asked<'_>, directory: Request<'_>) -> &'static str {
        let directory = path_of(directory.path);
        let is_shared = Path::new("/tmp").canonicalize().is_ok_and(|shared| shared == directory);
        let origin = Origin::Flag { text: "--share-tmp".to_owned() };
        let grant = Grant::new(directory.to_owned(), Capabilities::ALL, GrantKind::Plain, origin);
        let mut trial = self.clone();
        trial.grants.push(grant);
        if is_shared && trial.allows(&[asked]) { SHARED } else { ANOTHER_EACH_TIME }
    }

    /// The step at a place where a grant has an effect. An option or rule on a link counts at the target. So only a
    /// grant on the directory reaches the link itself, unless the link was created since. Patterns match the name
    /// alone. Looks at the disk.
    fn reaching(&self, image: &Image<'_>, step: Step) -> Option<Step> {
        let named = self.means == Means::Options
            || step.place.starts_with(self.advisor.workspace)
            || self.advisor.is_covered(&step.place);
        let leads = || canonical::resolve(Path::new("/"), &step.place, Op::Content);
        let is_itself = || leads().is_ok_and(|found| found.path == step.place);
        let meant = || is_itself() || self.advisor.made_since(&step.place).is_some();
        if !named || step.by_default || meant() {
            return Some(step);
        }
        let [place, route] = [&step.place, &step.route].map(|it| it.as_os_str().as_bytes());
        let directory = on_the_way(Request::by_route(place, route), step.place.parent()?);
        let held = lookup(image, &directory).granted(image);
        // Otherwise the denial is about the link's target.
        let missing = step.missing.difference(held);
        let Step { extent, by_default, .. } = step;
        let above = Step { extent, by_default, missing, ..Step::of(directory, held) };
        (!missing.is_empty()).then_some(above)
    }

    /// Whether the step grants all of the home, or of a directory above that or the workspace: programs often just look
    /// there. The same goes for reading a directory that holds sensitive entries. A place in the home that a profile
    /// denies may be granted if the request is for that exact place. A pattern only matches the name.
    fn opens_too_much(&self, step: &Step, asked: Asked<'_>) -> bool {
        let Step { place, .. } = step;
        let is_too_much = if asked.paths().any(|path| path == place) {
            self.advisor.is_home_or_above(place)
        } else {
            self.advisor.is_beyond_advice(place)
        };
        // A pattern suffices to list it.
        let is_listed = matches!(asked, Asked::Access(..) | Asked::ScreenVisibility(_))
            && asked.need() == Capabilities::READ
            && place.is_dir();
        let is_too_much = is_too_much || is_listed && self.advisor.holds_sensitive(place);
        let is_pattern = || self.means == Means::Files && self.advisor.patterns_for(step).is_some();
        is_too_much && !place.starts_with(self.advisor.workspace) && !is_pattern()
    }

    /// The rights currently granted at the path of `request`.
    pub(super) fn held(&self, request: Request<'_>) -> Option<Capabilities> {
        let image = self.image_on(&[path_of(request.path), path_of(request.route)], false).ok()?;
        let image = image::parse_image(&image).ok()?;
        Some(lookup(&image, &request).caps)
    }

    /// Whether the step, as an option, removes rights that patterns open below its place. Patterns open only places
    /// that no rule reaches.
    pub(super) fn takes_away_below(&self, step: &Step) -> bool {
        let is_opened_below = || self.advisor.tiers.opening().next().is_some();
        if self.means == Means::Files || !is_opened_below() || self.advisor.is_covered(&step.place)
        {
            return false;
        }
        let mut with = self.clone();
        with.add(step);
        !with.granted_below(&step.place).contains(self.granted_below(&step.place))
    }

    /// The rights that may currently be granted below the directory, prompts aside.
    fn granted_below(&self, directory: &Path) -> Capabilities {
        let tiers = self.advisor.tiers.without_questions();
        let advisor = Advisor { tiers: &tiers, ..self.advisor };
        let trial = Trial { advisor, ..self.clone() };
        let Ok(image) = trial.image_on(&[directory], true) else { return Capabilities::NONE };
        let Ok(image) = image::parse_image(&image) else { return Capabilities::NONE };
        let bytes = directory.as_os_str().as_bytes();
        let is_granted = |one: &Capability| may_grant_below(&image, bytes, (*one).into());
        let granted = Capability::ALL.into_iter().filter(is_granted);
        granted.fold(Capabilities::NONE, |all, one| all.union(one.into()))
    }

    /// Whether all of these are currently allowed.
    pub(super) fn allows(&self, asked: &[Asked<'_>]) -> bool {
        let paths: Vec<&Path> = asked.iter().flat_map(Asked::spellings).collect();
        let with_below = asked.iter().any(Asked::may_take_along);
        let Ok(image) = self.image_on(&paths, with_below) else { return false };
        let Ok(image) = image::parse_image(&image) else { return false };
        asked.iter().all(|one| one.judge(&image) == Verdict::Allow)
    }
}
