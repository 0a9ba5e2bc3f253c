//! What would have allowed a denied request. Grants are added step by step until the evaluator allows
//! it, so that advice which is given is advice that works.

mod already;
mod approval;
mod autorun;
mod below;
mod beside;
mod beyond_rules;
mod commands;
pub(crate) mod effort;
mod external;
mod filled;
mod gathered;
mod mounted;
mod new_link;
mod nowhere;
mod owned;
mod profile;
mod put;
mod request;
mod spelling;
mod staying;
mod system;
mod together;
mod trial;
mod withheld;

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::{self, Grant, GrantKind, Origin};
use jp_confine_policy::canonical::{self, Op};
use jp_confine_policy::commands::CommandRule;
use jp_confine_policy::net::Net;
use jp_confine_policy::pattern::Pattern;
use jp_confine_policy::tier::Tier;
use jp_confine_policy::tiers::Tiers;

pub(crate) use self::commands::Programs;
use self::effort::Effort;
pub(crate) use self::gathered::Gathered;
use self::request::asked_by;
use self::system::Rights;
use self::trial::{Means, Trial};
use crate::asked::{Asked, Extent, Step, path_of};
use crate::config::own_lists::OwnLists;
use crate::config::rule_places::RulePlaces;
use crate::context::Context;
use crate::denials::{Denials, of_any_process};
use crate::events::{Denial, Reason};
use crate::grants::Ceilings;
use crate::here::Here;
use crate::mounts::idle::Idle;
use crate::net;
use crate::net::advice::Way;
use crate::net::order::Without;
use crate::prepare::Prepared;
use crate::report;
use crate::terminal::Person;
use crate::unsupervised::Unsupervised;

/// Why rules about hosts allow no such socket.
const UNJUDGED: &str = "rules about hosts hold TCP and UDP; of other sockets there are none";

/// How to have a request allowed that was denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// By granting more.
    Grant {
        /// What is to be known of it, or to be done before, in words.
        first: Option<String>,
        /// Options of the command line, the narrowest that do; paths are canonical. None where no option does.
        options: Vec<(&'static str, PathBuf)>,
        /// What does in files; nothing where they cannot.
        written: Written,
        /// What a person is asked about even then, or is to approve for what is written to count.
        question: Option<String>,
    },
    /// By allowing a connection.
    Connection(Way),
    /// By a rule of `access.commands`.
    Command {
        key: String,
        rule: CommandRule,
        /// What it is to replace, for people.
        instead: Option<String>,
    },
    /// By approving where the rules of these paths lead; what that grants beside it these options do not.
    Approve { rules: Vec<String>, options: Vec<(&'static str, PathBuf)> },
    /// By these options, or by what is written, as of [`Self::Grant`], once the patterns that withhold it are gone,
    /// or the rule on the link in question is approved.
    Withheld {
        /// What is to be done before.
        first: First,
        options: Vec<(&'static str, PathBuf)>,
        written: Written,
        /// What is in the way even then.
        question: Option<String>,
    },
    /// Not at all, and why.
    Never(String),
}

/// What is to be done before something else allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// To take patterns out, in words.
    TakeOut(String),
    /// To approve where the rules of these paths lead.
    Approve(Vec<String>),
}

impl First {
    /// For a person who stands `here`.
    pub(crate) fn words(&self, here: &Here) -> String {
        match self {
            Self::TakeOut(words) => words.clone(),
            Self::Approve(rules) => format!("first: {}", here.approvals(rules)),
        }
    }
}

/// What grants something for good: together it does, and less of it may not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Rules of `access.fs`, workspace-relative.
    pub(crate) rules: Vec<(String, Capabilities)>,
    /// Patterns of the user's own, and whose list they belong in, for what lies outside.
    pub(crate) patterns: Vec<(Tier, String)>,
    /// Paths outside that a rule covers, so that no pattern opens them, and what a profile of the user's own
    /// has to grant there.
    pub(crate) entries: Vec<(String, Capabilities)>,
}

/// Who gives advice about the denials of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advisor<'a> {
    /// The policy of the run, in the order that rule numbers count.
    pub(crate) grants: &'a [Grant],
    /// The canonical workspace.
    pub(crate) workspace: &'a Path,
    /// Where the person stands who is advised.
    pub(crate) here: &'a Here,
    pub(crate) tiers: &'a Tiers,
    /// The list of sensitive paths where no rule is declared: it counts as soon as an option grants something, or a
    /// pattern opens it.
    pub(crate) exposed: Option<&'a Tiers>,
    /// Who could be asked.
    pub(crate) person: Person,
    /// When the run began, if there was one.
    pub(crate) began: Option<SystemTime>,
    /// All that the run was refused, and what a person consented to in it, once it has ended.
    pub(crate) denials: Option<&'a Denials>,
    /// What rules would grant if a person approved where they lead.
    pub(crate) unapproved: &'a [Grant],
    /// Links of `--mount` that only lack the option.
    pub(crate) mounts: &'a [Idle],
    /// Why the run had no supervisor, if it had none.
    pub(crate) unsupervised: Unsupervised,
    /// Whether `access.fs` is declared, so that rules can be advised.
    pub(crate) declared: bool,
    /// The rules about hosts.
    pub(crate) net: &'a Net,
    /// What takes the network away from the run, if anything does.
    pub(crate) without_network: Option<Without>,
    /// The programs that may be started, unless all may.
    pub(crate) programs: Option<Programs<'a>>,
    /// Where rules would be added.
    pub(crate) rule_places: &'a RulePlaces,
    /// Where patterns of the user's own belong.
    pub(crate) own_lists: &'a OwnLists,
    /// What the system lets the user do.
    pub(crate) rights: Rights,
}

impl<'a> Advisor<'a> {
    /// Whom to ask about what the policy of a run refused that had no person to ask.
    pub(crate) fn of(context: &'a Context, prepared: &'a Prepared) -> Self {
        Self {
            grants: &prepared.grants,
            workspace: prepared.root.as_path(),
            here: &prepared.here,
            tiers: &prepared.tiers,
            exposed: prepared.exposed.as_ref(),
            person: Person::Absent,
            began: None,
            denials: None,
            unapproved: &prepared.unapproved,
            mounts: &prepared.mounts,
            unsupervised: Unsupervised::Missing,
            declared: prepared.declared,
            net: &prepared.resources.net,
            without_network: prepared.network.without(),
            programs: Programs::of(context, prepared),
            rule_places: &prepared.rule_places,
            own_lists: &prepared.own_lists,
            rights: system::rights,
        }
    }

    /// Whether no more advice is worked out.
    pub(crate) fn is_spent(&self) -> bool {
        let effort = self.denials.and_then(|denials| denials.effort.as_ref());
        effort.is_some_and(Effort::is_spent)
    }

    /// The rule that decided a denial, or the pattern that withholds what the rule grants, for people.
    pub(crate) fn rule(&self, denial: &Denial) -> Option<String> {
        if denial.reason == Reason::Socket {
            return self.without_network.map(|without| without.name().to_owned());
        }
        if denial.reason.is_network() {
            return net::advice::rule(self.net, denial).map(|words| report::path(&words));
        }
        if let Some(programs) = self.programs_about(denial) {
            return Some(report::path(&programs.rule(denial)));
        }
        if let Some(words) = self.narrower_below(denial) {
            return Some(words);
        }
        let words = if let Some(restraint) = denial.restraint {
            let (path, route) = (path_of(&denial.path), path_of(&denial.route));
            self.tiers.described(restraint, path, route)
        } else {
            self.decider(denial)?.origin.to_string()
        };
        Some(report::path(&words))
    }

    /// The grant that decided a denial.
    fn decider(&self, denial: &Denial) -> Option<&'a Grant> {
        build::decider(self.grants, denial.rule?, denial.missing)
    }

    /// The way out of `denial`.
    pub(crate) fn advise(&self, denial: &Denial) -> Advice {
        self.advise_all(&[denial]).pop().unwrap_or_else(|| Advice::Never(String::new()))
    }

    /// What was asked for, if grants may allow it; else the way out.
    fn grantable<'d>(&self, denial: &'d Denial) -> Result<Asked<'d>, Box<Advice>> {
        if self.without_network == Some(Without::Tool) {
            return Err(Box::new(Advice::Never(Without::Tool.way_out().to_owned())));
        }
        if denial.reason == Reason::Socket {
            let advice = self.without_network.map_or(UNJUDGED, Without::way_out);
            return Err(Box::new(Advice::Never(advice.to_owned())));
        }
        if denial.reason.is_network() {
            let advice = net::advice::advise(self.net, denial);
            return Err(Box::new(advice.map_or_else(Advice::Never, Advice::Connection)));
        }
        if let Some(programs) = self.programs_about(denial) {
            return Err(Box::new(programs.advise(denial)));
        }
        let never = |reason: &str| Err(Box::new(Advice::Never(reason.to_owned())));
        if let Some(instead) = self.instead_of_names_below(denial) {
            return never(&instead);
        }
        if let Some(reason) = self.beyond_rules(denial) {
            return never(&reason);
        }
        let asked = self.as_entry(denial, asked_by(denial, self.past()));
        let asked = self.as_seen(denial, asked);
        if let Some(reason) = self.refused_by_system(denial, asked) {
            return never(&reason);
        }
        if let Some(reason) = self.refused_in_any_case(denial, asked) {
            return never(&reason);
        }
        // What a pattern withholds, too, is not to be had by taking that out.
        if let Some(reason) = self.kept(denial) {
            return never(&reason);
        }
        if let Some(advice) = self.moved_to_write(denial, asked) {
            return Err(Box::new(advice));
        }
        if let Some(reason) = self.way_out_of_tiers(denial, asked) {
            let told = self.rule(denial);
            return never(&format!("{reason}{}", self.others_beside(told.as_ref(), asked)));
        }
        if let Some(reason) = self.leads_nowhere(denial, asked) {
            return never(&reason);
        }
        self.approval(denial, asked).map_or(Ok(asked), |advice| Err(Box::new(advice)))
    }

    /// The list that a denial is about.
    fn programs_about(&self, denial: &Denial) -> Option<Programs<'_>> {
        self.programs.filter(|_| denial.reason == Reason::Command)
    }

    /// Why nothing allows the denied change, where it is one of what decides about runs, or would have taken the
    /// directory of that away.
    fn kept(&self, denial: &Denial) -> Option<String> {
        let path = path_of(&denial.path);
        let controls = || self.grants.iter().filter(|grant| grant.kind == GrantKind::Control);
        let changes = denial.missing.intersects(Capabilities::WRITE);
        if changes && controls().any(|grant| path.starts_with(&grant.anchor)) {
            return Some("cannot be allowed".to_owned());
        }
        let takes_away = denial.missing.contains(Capabilities::DELETE);
        let inside = controls().find(|grant| takes_away && grant.anchor.starts_with(path))?;
        Some(format!("cannot be allowed, because of what is inside: {}", inside.origin))
    }

    /// The step as a rule of the workspace, where rules are declared, it is inside, or all that an external rule is for,
    /// and no person's denial outweighs them. It takes nothing away that a person consented to.
    fn rule_for(&self, step: &Step) -> Option<(String, Capabilities)> {
        let caps = step.held.union(self.consented_at(&step.place));
        let is_rule = self.declared && !step.by_default && !self.is_denied(&step.place, caps);
        let inside = canonical::below(self.workspace, &step.place).filter(|_| is_rule);
        let path = match inside {
            Some(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Some(inside) => inside.to_str()?.to_owned(),
            None => self.link_to(step).filter(|_| is_rule)?,
        };
        Some((path, caps))
    }

    /// Whether rules on the place cannot grant all these, for what a person denied.
    fn is_denied(&self, place: &Path, caps: Capabilities) -> bool {
        let left = Ceilings::of(self.grants, self.workspace).left_of_rules(place);
        left.is_some_and(|left| !left.contains(caps))
    }

    fn consented_at(&self, place: &Path) -> Capabilities {
        let consented = self.denials.map_or(&[][..], Denials::consented);
        let at = consented.iter().filter(|(one, _)| path_of(&one.path) == place);
        at.fold(Capabilities::NONE, |caps, (one, _)| caps.union(one.missing))
    }

    /// The step as patterns of the user's own, where it is outside and no rule covers it, or a pattern is what
    /// lacks. Of what nobody is advised to grant they open the name alone.
    fn patterns_for(&self, step: &Step) -> Option<Vec<(Tier, String)>> {
        let opens = || self.is_for_own(&step.place) && !self.is_covered(&step.place);
        let is_for_own = if step.by_default { lasts(&step.place) } else { opens() };
        let tier = tier_for(step.missing);
        let has_list = self.own_lists.get(tier).is_some();
        let pattern = Pattern::literal(&step.place).filter(|_| is_for_own && has_list)?;
        let extent = match step.extent {
            Extent::Whole if self.is_beyond_advice(&step.place) => Extent::Itself,
            Extent::Entries | Extent::Below if self.is_beyond_advice(&step.place) => return None,
            Extent::Along => return None,
            extent => extent,
        };
        Some(extent.patterns(tier, &pattern))
    }

    /// Whether files of the user's own may open the place by its name.
    fn is_for_own(&self, place: &Path) -> bool {
        lasts(place) && !place.starts_with(self.workspace)
    }

    /// The link on the way to where something of this run's stands: it was made since, and what named it then meant
    /// the place itself. Looks at the disk.
    fn made_since(&self, place: &Path) -> Option<PathBuf> {
        // The tombstone of a rule stands on the link that it was dropped for (spec §6).
        let is_meant =
            |kind: &GrantKind| !matches!(kind, GrantKind::Control | GrantKind::Tombstone { .. });
        let stands = |grant: &Grant| is_meant(&grant.kind) && grant.anchor == place;
        if !self.grants.iter().any(stands) {
            return None;
        }
        match canonical::resolve(Path::new("/"), place, Op::Content) {
            Ok(found) => Some(found.steps.into_iter().next()?.link),
            Err(_) => Some(place.to_owned()),
        }
    }

    /// What is to be removed before the steps are taken: what names a link means where it leads.
    fn removed_first(&self, steps: &[Step]) -> Option<String> {
        let link = steps.iter().find_map(|step| self.made_since(&step.place))?;
        let link = report::shown(link.as_os_str().as_bytes(), self.workspace);
        Some(format!("first remove the link {link}, which was made since"))
    }

    /// The steps as what belongs into files, if all of them can be.
    fn written(&self, steps: &[Step]) -> Option<Written> {
        let mut written = Written::default();
        for step in steps {
            if let Some(rule) = self.rule_for(step) {
                written.rules.push(rule);
            } else if let Some(patterns) = self.patterns_for(step) {
                written.patterns.extend(patterns);
            } else {
                written.entries.push(self.entry_for(step)?);
            }
        }
        Some(written)
    }
}

/// Whether the place is called so the next time: what belongs to a process is not.
fn lasts(place: &Path) -> bool {
    of_any_process(place.as_os_str().as_bytes()).is_none()
}

/// Adds `step` to those so far, one of a kind for each place; what there is of that then.
fn note(steps: &mut Vec<Step>, step: Step) -> Step {
    let kind = |step: &Step| (step.extent, step.by_default);
    let is_same = |known: &&mut Step| known.place == step.place && kind(known) == kind(&step);
    if let Some(known) = steps.iter_mut().find(is_same) {
        known.held = known.held.union(step.held);
        known.missing = known.missing.union(step.missing);
        return known.clone();
    }
    steps.push(step.clone());
    step
}

/// The `--deny` on exactly this place, which outweighs every option there.
fn denied_by_flag<'g>(grants: &'g [Grant], place: &Path) -> Option<&'g str> {
    grants.iter().find_map(|grant| match &grant.origin {
        Origin::Flag { text } if grant.caps.is_empty() && grant.anchor == place => {
            Some(text.as_str())
        }
        _ => None,
    })
}

/// The tier whose patterns open a place for what is missing there.
fn tier_for(missing: Capabilities) -> Tier {
    if missing.intersects(Capabilities::WRITE) { Tier::Write } else { Tier::Read }
}

/// The step as a grant, which tiers withhold as they do that of an option and of a rule.
fn granted(step: &Step) -> Grant {
    let origin = Origin::Flag { text: String::new() };
    Grant::new(step.place.clone(), step.held, GrantKind::Plain, origin)
}

/// The options that add what a step lacks.
fn options_of(step: &Step) -> Vec<(&'static str, PathBuf)> {
    let (first, added) = option_for(step.missing);
    let rest = step.missing.difference(added);
    let second = (!rest.is_empty()).then(|| option_for(rest).0);
    std::iter::once(first).chain(second).map(|option| (option, step.place.clone())).collect()
}

/// The options that add what the steps lack.
fn options_for(steps: &[Step]) -> Vec<(&'static str, PathBuf)> {
    let mut options: Vec<(&'static str, PathBuf)> = Vec::new();
    for option in steps.iter().flat_map(options_of) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    options
}

/// The narrowest option that adds `missing`, and all that it adds.
fn option_for(missing: Capabilities) -> (&'static str, Capabilities) {
    let read = Capabilities::READ;
    let writes = missing.intersects(Capabilities::WRITE);
    match (writes, missing.contains(Capabilities::EXECUTE)) {
        (true, _) => ("-w", read.union(Capabilities::WRITE)),
        (false, true) => ("-x", read.union(Capabilities::EXECUTE)),
        (false, false) => ("-r", read),
    }
}

#[cfg(test)]
mod tests;
