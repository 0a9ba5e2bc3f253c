//! Tests whether learned rules allow the uses that they were learned from: asks the evaluator again, and adds the
//! denied rights.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::decide::{Denial, Destination, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::{Capabilities, existing};

use super::sensitive_names;
use super::tree::{LearnedRule, RulePurpose, can_be_written, nearest};
use super::tree_before::Listing;
use crate::advice::request::{Asked, Step, lacking};
use crate::compile::image;
use crate::compile::prepared::Prepared;
use crate::error::Failure;
use crate::record::usage::{Use, UseKind, Uses, directory};
use crate::sys::path::path_of;

/// Limit on widening rules. Uses that are denied after that stay denied.
const ROUNDS: usize = 32;

/// The environment in which rules are tried.
#[derive(Debug)]
pub(crate) struct ReplayStage<'a> {
    /// The canonical workspace.
    pub(crate) root: &'a Path,
    /// The grants beside the rules: by the baseline, profiles and options.
    around: Vec<Grant>,
    /// The list of sensitive paths.
    sensitive: &'a Tiers,
    /// The list of auto-run files.
    autorun: &'a Tiers,
    /// The paths on which the file rules that the learned ones replace granted nothing.
    set_aside: &'a [PathBuf],
    /// The entries of the workspace before the run.
    pub(crate) before: Listing,
    /// The entries of the workspace now.
    pub(crate) now: Listing,
    /// The targets in the workspace of symlinks that have names of secrets, now or before the run.
    led_to: BTreeSet<PathBuf>,
}

impl<'a> ReplayStage<'a> {
    /// For a run in the workspace `root` under this policy. The learned rules replace its grants inside, but not its
    /// denials.
    pub(crate) fn new(root: &'a Path, before: Listing, policy: &'a Prepared, uses: &Uses) -> Self {
        let stays = |grant: &&Grant| {
            canonical::below(root, &grant.anchor).is_none()
                || grant.kind == GrantKind::Control
                || grant.caps.is_empty() && grant.kind != GrantKind::Sentinel
        };
        let around = policy.grants.iter().filter(stays).cloned().collect();
        let sensitive = policy.exposed.as_ref().unwrap_or(&policy.tiers);
        let set_aside = &policy.set_aside;
        let parts = uses.counts.keys().flat_map(Use::parts);
        let now = Listing::now(root, parts.filter_map(|part| inside(root, part.path)).collect());
        let (autorun, led_to) = (&policy.tiers, BTreeSet::new());
        let mut stage = Self { root, around, sensitive, autorun, set_aside, before, now, led_to };
        stage.led_to = stage.led_to_by_secrets();
        stage
    }

    /// The targets in the workspace of symlinks with names of secrets, now or before the run.
    fn led_to_by_secrets(&self) -> BTreeSet<PathBuf> {
        let listings = [&self.before, &self.now].into_iter();
        let led = listings.flat_map(|listing| listing.targets(|path| self.is_secret(path)));
        led.filter(|place| *place != self.root && place.starts_with(self.root))
            .map(Path::to_owned)
            .collect()
    }

    /// Whether the entry at `path` in the workspace may hold a secret. Its own name may tell so, or the name of a
    /// symlink to it. It may be on a list, or a replaced rule may have granted nothing on it. A broader rule would
    /// cause a prompt for it.
    pub(crate) fn is_secret(&self, path: &[u8]) -> bool {
        let is_below = |apart: &PathBuf| self.place(path).starts_with(apart);
        sensitive_names::is_secret(path)
            || sensitive_names::is_secret_file(path) && !self.place(path).is_dir()
            || self.is_sensitive(path)
            || self.set_aside.iter().chain(&self.led_to).any(is_below)
    }

    /// Whether `path` in the workspace is on the list of sensitive paths.
    pub(crate) fn is_sensitive(&self, path: &[u8]) -> bool {
        self.sensitive.is_sensitive(&self.place(path))
    }

    /// Whether the path, relative to the workspace, is a git configuration, for which ordinary changes need no rule.
    pub(crate) fn is_git_config(&self, path: &[u8]) -> bool {
        let place = self.place(path);
        self.autorun.autorun_entry(&place, &place).is_some_and(|(_, entry)| entry.is_git_config)
    }

    /// The auto-run files in the workspace that a use changes. No rule is learned for that: it would allow it
    /// permanently.
    pub(crate) fn changed_autorun<'u>(&self, one: &'u Use) -> impl Iterator<Item = &'u [u8]> {
        let changed = one.parts().filter(|part| part.caps.intersects(Capabilities::WRITE));
        let inside = changed.filter_map(|part| self.inside(part.path)).collect::<Vec<_>>();
        inside.into_iter().filter(|path| self.autorun.is_autorun(&self.place(path)))
    }

    /// The paths in the workspace that options and files deny. Learning does not lift these denials.
    pub(crate) fn denied(&self) -> impl Iterator<Item = &[u8]> {
        let denials = self.around.iter().filter(|grant| {
            grant.caps.is_empty() && !matches!(grant.kind, GrantKind::Control | GrantKind::Hidden)
        });
        denials.filter_map(|grant| self.inside(grant.anchor.as_os_str().as_bytes()))
    }

    /// The absolute path of `path` in the workspace.
    pub(crate) fn place(&self, path: &[u8]) -> PathBuf {
        if path.is_empty() { self.root.to_owned() } else { self.root.join(OsStr::from_bytes(path)) }
    }

    /// Whether there is an entry at `path` in the workspace, even if it is a symlink.
    pub(crate) fn is_there(&self, path: &[u8]) -> bool {
        self.place(path).symlink_metadata().is_ok()
    }

    /// `path` relative to the workspace, if it is inside.
    pub(crate) fn inside<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        inside(self.root, path)
    }

    /// Directories whose present or former entries are unknown, since the workspace has too many entries.
    pub(crate) fn left(&self) -> impl Iterator<Item = &[u8]> {
        let left_before = self.before.left().filter(|path| !self.now.lists(path));
        self.now.left().chain(left_before)
    }

    /// Whether a policy file can have a rule for `path`: it has to be text, and its target has to be in the workspace.
    /// A path that the run made inaccessible counts as it was before.
    pub(crate) fn can_stand(&self, path: &[u8]) -> bool {
        let stands = match canonical::resolve(self.root, &self.place(path), Op::Content) {
            Ok(found) => canonical::below(self.root, &found.path).is_some(),
            Err(error) => error.is_permission() && self.before.holds(path),
        };
        can_be_written(path) && (stands || self.is_kept_by_name(path) && self.is_link(path))
    }

    /// Whether `path` is never covered by its directory's rule, even if it is a symlink by now. There was no symlink
    /// before the run, so a rule could withhold the entry by its name.
    pub(crate) fn is_kept_by_name(&self, path: &[u8]) -> bool {
        self.is_apart(path) && !self.before.had(path)
    }

    /// Whether the entry at `path` is not granted along with its directory.
    pub(crate) fn is_apart(&self, path: &[u8]) -> bool {
        self.is_secret(path) || sensitive_names::decides_what_runs(path)
    }

    fn is_link(&self, path: &[u8]) -> bool {
        self.place(path).symlink_metadata().is_ok_and(|found| found.is_symlink())
    }

    /// The grants of a run under `rules`.
    fn grants(&self, rules: &[LearnedRule]) -> Vec<Grant> {
        let origin = || Origin::Product { why: String::new() };
        let nothing =
            Grant::new(self.root.to_owned(), Capabilities::NONE, GrantKind::Sentinel, origin());
        let granted = rules
            .iter()
            .map(|rule| Grant::new(self.place(&rule.path), rule.caps, GrantKind::Plain, origin()));
        let around = self.around.iter().cloned();
        std::iter::once(nothing).chain(granted).chain(around).collect()
    }

    /// The uses that only looked for something, and that `rules` would deny.
    pub(crate) fn refused_looks<'u>(
        &self,
        rules: &[LearnedRule],
        uses: &[&'u Use],
    ) -> Result<Vec<&'u Use>, Failure> {
        let image = self.image(&self.grants(rules))?;
        let image = image::parse_image(&image)?;
        let judged =
            |one: &Use| Asked::Access(Request::canonical(&one.path), one.caps()).judge(&image);
        let refused = |one: &&&Use| match judged(one) {
            Verdict::Allow => false,
            Verdict::Deny(denial) => !is_no_secret(&image, one, denial),
        };
        Ok(uses.iter().filter(refused).copied().collect())
    }

    /// The rights that the directories of hard-linked files lack, if the rule that decides is on more than the file.
    /// The first name needs all rights of the second (spec §5.2, R5), but nothing else around it does.
    pub(crate) fn lacking_for_links(
        &self,
        rules: &[LearnedRule],
        uses: &[&Use],
    ) -> Result<Vec<(Vec<u8>, Capabilities)>, Failure> {
        let links: Vec<&Use> =
            uses.iter().filter(|one| one.how == UseKind::Linked).copied().collect();
        if links.is_empty() {
            return Ok(Vec::new());
        }
        let grants = self.grants(rules);
        let image = self.image(&grants)?;
        let image = image::parse_image(&image)?;
        let asked = links.into_iter().flat_map(requests);
        let steps = asked.filter_map(|one| lacks(&image, &grants, one)).flatten();
        let of_directory = |step: Step| {
            let path = self.inside(step.place.as_os_str().as_bytes())?;
            let rule = rules.get(nearest(rules, path)?)?;
            let directory = directory(path);
            let is_among_others = rule.purpose == RulePurpose::Gathered && !directory.is_empty();
            (is_among_others && !self.is_apart(directory) && !self.is_apart(path))
                .then(|| (directory.to_owned(), step.missing))
        };
        Ok(steps.filter_map(of_directory).collect())
    }

    /// Paths of entries that were to be deleted or moved but stayed, if `rules` would deny the attempt itself.
    pub(crate) fn kept(
        &self,
        rules: &[LearnedRule],
        uses: &Uses,
    ) -> Result<BTreeSet<Vec<u8>>, Failure> {
        let image = self.image(&self.grants(rules))?;
        let image = image::parse_image(&image)?;
        let is_denied =
            |one: &&Use| requests(one).iter().any(|asked| asked.judge(&image) != Verdict::Allow);
        let kept = uses.counts.keys().filter(|one| one.how == UseKind::Kept).filter(is_denied);
        Ok(kept.filter_map(|one| self.inside(&one.path)).map(<[u8]>::to_vec).collect())
    }

    /// Widens `rules` until they allow the `uses`. Returns the uses that they still deny.
    pub(crate) fn widen<'u>(
        &self,
        rules: &mut Vec<LearnedRule>,
        uses: &[&'u Use],
    ) -> Result<Vec<&'u Use>, Failure> {
        let asked: Vec<(&'u Use, Vec<Asked<'u>>)> =
            uses.iter().map(|one| (*one, requests(one))).collect();
        let mut refused = Vec::new();
        for _ in 0..ROUNDS {
            let grants = self.grants(rules);
            let image = self.image(&grants)?;
            let image = image::parse_image(&image)?;
            let lacking = |asked: &[Asked<'_>]| -> Vec<Step> {
                asked.iter().filter_map(|one| lacks(&image, &grants, *one)).flatten().collect()
            };
            let steps = asked.iter().map(|(one, asked)| (*one, lacking(asked)));
            let steps: Vec<_> = steps.filter(|(_, steps)| !steps.is_empty()).collect();
            refused = steps.iter().map(|(one, _)| *one).collect();
            let steps = steps.iter().flat_map(|(_, steps)| steps);
            if !steps.fold(false, |any, step| self.add(rules, step) | any) {
                break;
            }
        }
        Ok(refused)
    }

    /// Adds the missing rights to the rules. Returns whether that changed them.
    fn add(&self, rules: &mut Vec<LearnedRule>, step: &Step) -> bool {
        let Some(path) = self.inside(step.place.as_os_str().as_bytes()) else { return false };
        let place = nearest(rules, path);
        match place.and_then(|place| rules.get_mut(place)) {
            Some(rule) if rule.path == path || rule.purpose.is_for_others() => {
                let wider = rule.caps.union(step.missing);
                // An exclusion stays.
                let changes = wider != rule.caps && !rule.purpose.takes_out();
                if changes {
                    rule.caps = wider;
                }
                changes
            }
            Some(rule) if rule.purpose == RulePurpose::Drawn => false,
            _ if !self.can_stand(path) => false,
            _ => {
                let caps = step.held.union(step.missing);
                rules.push(LearnedRule { path: path.to_vec(), caps, purpose: RulePurpose::Used });
                true
            }
        }
    }

    fn image(&self, grants: &[Grant]) -> Result<Vec<u8>, Failure> {
        // Tiers apply in any case: a use that they denied was no use.
        image::image_over(grants, None, &[Path::new("/")], self.root)
    }
}

/// `path` relative to the workspace `root`, if it is inside.
fn inside<'p>(root: &Path, path: &'p [u8]) -> Option<&'p [u8]> {
    canonical::below(root, path_of(path)).map(|path| path.as_os_str().as_bytes())
}

/// The rights that a request lacks, and where.
fn lacks(image: &Image<'_>, grants: &[Grant], asked: Asked<'_>) -> Option<Vec<Step>> {
    match asked.judge(image) {
        Verdict::Allow => None,
        Verdict::Deny(denial) => Some(lacking(image, grants, asked.place(&denial), denial.missing)),
    }
}

/// Whether the denied program would get the same answer as before: that something exists, or that a path on the way to
/// a granted one does not.
fn is_no_secret(image: &Image<'_>, one: &Use, denial: Denial) -> bool {
    let visible = one.path.get(..denial.visible).unwrap_or(&one.path);
    match one.how {
        UseKind::Existed => existing::is_told(image, &Request::canonical(&one.path), &denial),
        _ => denial.visible > 0 && path_of(visible).symlink_metadata().is_err(),
    }
}

/// The requests that must be allowed for a use, this time and the next.
fn requests(one: &Use) -> Vec<Asked<'_>> {
    let (from, to) = (Request::canonical(&one.path), Request::canonical(&one.other));
    let rename = |destination| Asked::Rename { from, to, destination };
    match one.how {
        UseKind::Moved => vec![rename(Destination::Missing), rename(Destination::Exists)],
        UseKind::Exchanged => vec![rename(Destination::Exchange)],
        UseKind::Linked => vec![Asked::Link { old: from, new: to }],
        UseKind::Kept if one.other.is_empty() => vec![Asked::Removal(from)],
        UseKind::Kept | UseKind::Replaced => vec![rename(Destination::Exists)],
        UseKind::Used if one.caps() == Capabilities::DELETE => vec![Asked::Removal(from)],
        UseKind::Used | UseKind::Opened | UseKind::Made | UseKind::Existed | UseKind::Absent => {
            vec![Asked::Access(from, one.caps())]
        }
        UseKind::Connected | UseKind::Unruled | UseKind::Link | UseKind::Listed => Vec::new(),
    }
}
