//! Suggests how to allow a denied request. Adds grants step by step until the evaluator allows it, so that each
//! suggestion works. Used by `report`, `learn` and `commands`.

pub(crate) mod advisor;
mod already_exists;
mod approvals;
mod autorun;
mod below;
mod broken_links;
mod combined;
mod denial_request;
mod directory_contents;
mod external_rules;
pub(crate) mod hosts;
mod mounts;
mod move_into_directory;
pub(crate) mod nested_launchers;
mod new_links;
pub(crate) mod options;
pub(crate) mod own_temp;
pub(crate) mod path_search;
mod per_directory;
pub(crate) mod person;
mod pinned_directories;
mod profiles;
mod programs;
pub(crate) mod refused_calls;
pub(crate) mod request;
mod rule_changes;
mod second_path;
mod secrets;
mod spelling;
pub(crate) mod system_permissions;
mod tiers;
mod trial;
mod ungrantable;
mod units;
mod user_changes;
mod views;

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{self, Grant, GrantKind};
use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::image::Image;
use jp_confine_engine::pattern::Pattern;
use jp_confine_engine::rule_name::RuleName;
use jp_confine_engine::tier::Tier;

use self::denial_request::asked_by;
pub(crate) use self::per_directory::Gathered;
pub(crate) use self::programs::Programs;
use self::trial::{Means, Trial};
use crate::advice::advisor::{Advice, Advisor, Written};
use crate::advice::options::{lasts, tier_for};
use crate::advice::person::Person;
use crate::advice::request::{Asked, Extent, Step};
use crate::compile::grants::Ceilings;
use crate::compile::prepared::Prepared;
use crate::host::context::Context;
use crate::network::access::DisabledBy;
use crate::plan::unsupervised::Unsupervised;
use crate::record::denial::{Denial, Reason};
use crate::record::denials::Denials;
use crate::record::effort::Effort;
use crate::sys::path::path_of;
use crate::text::quote;

/// The reason why rules about hosts allow no such socket.
const UNJUDGED: &str = "rules about hosts hold TCP and UDP; of other sockets there are none";

impl<'a> Advisor<'a> {
    /// An advisor for denials of a run whose policy had nobody to prompt.
    pub(crate) fn of(context: &'a Context, prepared: &'a Prepared, image: &'a Image<'a>) -> Self {
        Self {
            grants: &prepared.grants,
            image: Some(image),
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
            rights: system_permissions::rights,
        }
    }

    /// Whether the time for suggestions is spent.
    pub(crate) fn is_spent(&self) -> bool {
        let effort = self.denials.and_then(|denials| denials.effort.as_ref());
        effort.is_some_and(Effort::is_spent)
    }

    /// Whether the list of sensitive paths has the path of `denial`.
    pub(crate) fn is_sensitive(&self, denial: &Denial) -> bool {
        let list = self.exposed.unwrap_or(self.tiers);
        !denial.reason.is_network() && list.is_sensitive(path_of(&denial.path))
    }

    /// The rule that decided a denial, or the pattern that withholds the rule's grant, for people.
    pub(crate) fn rule(&self, denial: &Denial) -> Option<RuleName> {
        if denial.reason == Reason::Socket {
            return self.without_network.map(|without| without.name().into());
        }
        if let Some(words) = self.narrower_below(denial) {
            return Some(words.into());
        }
        Some(self.written_rule(denial)?.in_words(quote::path))
    }

    fn written_rule(&self, denial: &Denial) -> Option<RuleName> {
        if denial.reason.is_network() {
            return hosts::rule(self.net, denial);
        }
        if let Some(programs) = self.programs_about(denial) {
            return Some(programs.rule(denial));
        }
        Some(if let Some(restraint) = denial.restraint {
            let (path, route) = (path_of(&denial.path), path_of(&denial.route));
            self.tiers.described(restraint, path, route)
        } else {
            self.decider(denial)?.origin.name()
        })
    }

    /// The grant that decided a denial.
    fn decider(&self, denial: &Denial) -> Option<&'a Grant> {
        build::decider(self.grants, denial.rule?, denial.missing)
    }

    /// The suggestion for `denial`.
    pub(crate) fn advise(&self, denial: &Denial) -> Advice {
        self.advise_all(&[denial]).pop().unwrap_or_else(|| Advice::Never(String::new()))
    }

    /// The request, if grants may allow it; else the suggestion.
    fn grantable<'d>(&self, denial: &'d Denial) -> Result<Asked<'d>, Box<Advice>> {
        if self.without_network == Some(DisabledBy::Tool) {
            return Err(Box::new(Advice::Never(DisabledBy::Tool.way_out().to_owned())));
        }
        if denial.reason == Reason::Socket {
            let advice = self.without_network.map_or(UNJUDGED, DisabledBy::way_out);
            return Err(Box::new(Advice::Never(advice.to_owned())));
        }
        if denial.reason.is_network() {
            let advice = hosts::advise(self.net, denial);
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
        if self.is_denied_by_system(denial) {
            return never(system_permissions::DENIED);
        }
        // A protected path stays denied even if a pattern that also withholds it is removed.
        if let Some(reason) = self.behind_view(denial).or_else(|| self.kept(denial)) {
            return never(&reason);
        }
        if let Some(reason) = secrets::refused(path_of(&denial.path)) {
            return never(reason);
        }
        if let Some(advice) = self.moved_to_write(denial, asked) {
            return Err(Box::new(advice));
        }
        if let Some(reason) = self.way_out_of_tiers(denial, asked) {
            let told = self.rule(denial);
            return never(&format!("{reason}{}", self.others_beside(told.as_deref(), asked)));
        }
        if let Some(reason) = self.leads_nowhere(denial, asked) {
            return never(&reason);
        }
        self.approval(denial, asked).map_or(Ok(asked), |advice| Err(Box::new(advice)))
    }

    /// The list of programs that a denial is about.
    fn programs_about(&self, denial: &Denial) -> Option<Programs<'_>> {
        self.programs.filter(|_| denial.reason == Reason::Command)
    }

    /// Why nothing allows the denied change: the path controls future runs, or the change would delete a directory that
    /// holds such a path.
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

    /// The step as a rule of the workspace. Requires that rules are declared, that the place is inside or is the target
    /// of an external rule, and that no person's denial outweighs rules there. The rule keeps the rights that a person
    /// consented to.
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

    /// Whether a person's denial keeps rules on the place from granting all these rights.
    fn is_denied(&self, place: &Path, caps: Capabilities) -> bool {
        let left = Ceilings::of(self.grants, self.workspace).left_of_rules(place);
        left.is_some_and(|left| !left.contains(caps))
    }

    fn consented_at(&self, place: &Path) -> Capabilities {
        let consented = self.denials.map_or(&[][..], Denials::consented);
        let at = consented.iter().filter(|(one, _)| path_of(&one.path) == place);
        at.fold(Capabilities::NONE, |caps, (one, _)| caps.union(one.missing))
    }

    /// The step as patterns of the user's own. Requires that the place is outside and no rule covers it, or that a
    /// pattern is missing. At places that are never suggested, they open only the name.
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

    /// Whether the user's own files may open the place by its name.
    fn is_for_own(&self, place: &Path) -> bool {
        lasts(place) && !place.starts_with(self.workspace)
    }

    /// The link on the way to a place of one of this run's grants. It was created during or after the run, which used
    /// the place itself. Looks at the disk.
    fn made_since(&self, place: &Path) -> Option<PathBuf> {
        // A rule's tombstone stands on the link that the rule was dropped for (spec §6).
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

    /// The link to delete before the steps are taken: a rule on the link would count at its target.
    fn removed_first(&self, steps: &[Step]) -> Option<String> {
        let link = steps.iter().find_map(|step| self.made_since(&step.place))?;
        let link = quote::shown(link.as_os_str().as_bytes(), self.workspace);
        Some(format!("first remove the link {link}, which was made since"))
    }

    /// The steps as additions to files, if all of them can be written.
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

#[cfg(test)]
mod tests;
