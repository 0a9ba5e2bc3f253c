//! Judges workspace-relative input, as tools give it, and absolute paths of programs (spec §1, §4, §18 `check`).

pub(crate) mod denial;
mod granting;
mod result;
pub(crate) mod wanted;
mod words;

use std::ffi::OsStr;
use std::format;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::string::String;
use std::vec::Vec;

pub use self::result::{CheckResult, CheckVerdict, FsAccessError};
use crate::canonical::{self, Op, Resolved, Root};
use crate::capability::{Capabilities, Capability};
pub(crate) use crate::check::denial::Detail;
pub use crate::check::denial::Reason;
use crate::decide::{self, Request};
use crate::grant::{self, Grant, GrantKind, Origin};
use crate::image::Image;
use crate::layout::RuleId;
use crate::lexical::{self, bytes, shown};
#[cfg(target_os = "linux")]
use crate::pin::Pin;
#[cfg(target_os = "linux")]
use crate::rule_name::RuleName;
use crate::tier::Reach;
use crate::tier::Restraint;
use crate::tiers::Tiers;
use crate::{verdict, views};

/// A workspace under a policy.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    root: &'a Root,
    grants: &'a [Grant],
    /// `None` if it is not usable. That denies everything (spec §13).
    image: Option<Image<'a>>,
    /// Names the patterns in messages.
    tiers: Option<&'a Tiers>,
}

impl<'a> Context<'a> {
    /// The workspace at `root` under the policy of `image`, which was built from `grants`.
    #[must_use]
    pub fn new(root: &'a Root, grants: &'a [Grant], image: &'a [u8]) -> Self {
        Self { root, grants, image: Image::read(image).ok(), tiers: None }
    }

    /// Lets messages name the deciding pattern and not only its list. `tiers` must be those that the image was built
    /// with.
    #[must_use]
    pub const fn naming(self, tiers: &'a Tiers) -> Self {
        Self { tiers: Some(tiers), ..self }
    }

    /// Whether `input`, workspace-relative, may be used for `capability`. Deletion concerns the entry itself,
    /// everything else the target of a final symlink. Changes nothing on disk.
    #[must_use]
    pub fn check(&self, input: &[u8], capability: Capability) -> CheckResult {
        let mut result = self.check_to_use(input, capability);
        if result.is_allowed() {
            result.granting = self.granting(capability);
        }
        result
    }

    /// As [`Self::check`], in less time. It only finds the other paths that grant the capability if this input is
    /// denied.
    #[must_use]
    pub fn check_to_use(&self, input: &[u8], capability: Capability) -> CheckResult {
        let op = if capability == Capability::Delete { Op::Entry } else { Op::Content };
        self.check_as(input, capability, op)
    }

    /// As [`Self::check_to_use`], with `op` saying whether a final symlink is followed.
    #[must_use]
    pub fn check_as(&self, input: &[u8], capability: Capability, op: Op) -> CheckResult {
        let mut result = CheckResult::new(String::from_utf8_lossy(input).into_owned(), capability);
        let judgement =
            self.usable().and_then(|image| self.judge_input(image, input, op, &mut result));
        if judgement.is_err() {
            result.granting = self.granting(capability);
            if let Some(path) = &result.resolved {
                result.wanted = self.wanted(path, &result);
            }
        }
        result.concluded(judgement)
    }

    /// The verdict on the absolute `path` as programs use it, by a system call: inside the workspace and outside, with
    /// `..` after symlinks (spec §4.2).
    #[must_use]
    pub fn check_absolute(&self, path: &Path, capability: Capability) -> CheckResult {
        let op = if capability == Capability::Delete { Op::Entry } else { Op::Content };
        self.check_absolute_as(path, capability, op)
    }

    /// As [`Self::check_absolute`], with `op` saying whether a final symlink is followed.
    pub(crate) fn check_absolute_as(
        &self,
        path: &Path,
        capability: Capability,
        op: Op,
    ) -> CheckResult {
        let mut result = CheckResult::new(path.to_string_lossy().into_owned(), capability);
        let judgement = self.usable().and_then(|image| {
            let found = views::lead(image, canonical::resolve(Path::new("/"), path, op)?, op)?;
            result.resolved = Some(found.path.clone());
            self.decide(image, &found.path, &lexical::normalise_absolute(path), &mut result)
        });
        result.granting = self.granting(capability);
        if let (Err(_), Some(path)) = (&judgement, &result.resolved) {
            result.wanted = self.wanted(path, &result);
        }
        result.concluded(judgement)
    }

    /// The verdict on `path`, which is absolute and canonical, as for input that leads there.
    #[must_use]
    pub fn check_canonical(&self, path: &Path, capability: Capability) -> CheckResult {
        if !self.reaches(path) {
            let result = CheckResult::new(path.to_string_lossy().into_owned(), capability);
            return result.concluded(Err(Reason::Escape));
        }
        let mut result = self.judge(self.shown_to_tool(path), path, path, capability);
        result.resolved = Some(path.to_path_buf());
        result
    }

    /// As [`Self::check_canonical`], for creating a directory there. No program obeys the name of an auto-run file
    /// alone.
    #[must_use]
    pub fn check_new_directory(&self, path: &Path) -> CheckResult {
        let result = self.check_canonical(path, Capability::Create);
        let request = Request::canonical(bytes(path));
        let is_allowed = |image| decide::make_directory(image, &request) == verdict::Verdict::Allow;
        if self.reaches(path) && self.usable().is_ok_and(is_allowed) {
            result.concluded(Ok(()))
        } else {
            result
        }
    }

    /// As [`Self::check`], and pins the path that was judged. Use the pin instead of the path.
    ///
    /// # Errors
    /// [`FsAccessError`] if the path may not be used or cannot be pinned: something may have taken its place.
    ///
    /// ```
    /// # use jp_confine_engine::{Capability, approvals::ApprovedTargets, model::Policy, workspace::Workspace};
    /// # let folder = tempfile::tempdir()?;
    /// # let workspace = Workspace::open(folder.path(), &Policy::default(), &ApprovedTargets::default())?;
    /// let context = workspace.context();
    /// context.pin(b"notes", Capability::Create)?.write(b"spring")?;
    /// let notes = context.pin(b"notes", Capability::Read)?;
    /// assert_eq!(std::io::read_to_string(notes.open()?)?, "spring");
    /// assert!(context.pin(b"../notes", Capability::Read).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(target_os = "linux")]
    pub fn pin(&self, input: &[u8], capability: Capability) -> Result<Pin, FsAccessError> {
        let result = self.check_to_use(input, capability);
        let held = match (result.verdict, &result.resolved) {
            (CheckVerdict::Allow, Some(path)) => Pin::hold(path, capability),
            _ => return Err(FsAccessError::new(result)),
        };
        held.map_err(|error| FsAccessError::new(result.concluded(Err(Reason::of(&error)))))
    }

    /// The verdict on the canonical `path`, which was reached by `route` and is shown as `asked`. The caller must know
    /// whether it is within the boundary.
    pub(crate) fn judge(
        &self,
        asked: &Path,
        path: &Path,
        route: &Path,
        capability: Capability,
    ) -> CheckResult {
        let mut result = CheckResult::new(asked.to_string_lossy().into_owned(), capability);
        result.granting = self.granting(capability);
        let judgement =
            self.usable().and_then(|image| self.decide(image, path, route, &mut result));
        if judgement.is_err() {
            result.wanted = self.wanted(path, &result);
        }
        result.concluded(judgement)
    }

    /// The verdict on the canonical `path`, to which a symlink leads by `route`, and which no rule need grant. It is
    /// denied as far as the policy withholds it there. `reach` says how far patterns count.
    #[cfg(target_os = "linux")]
    pub(crate) fn judge_led(
        &self,
        asked: &Path,
        (path, route): (&Path, &Path),
        capability: Capability,
        reach: Reach,
    ) -> CheckResult {
        let mut result = CheckResult::new(asked.to_string_lossy().into_owned(), capability);
        result.granting = self.granting(capability);
        let request = Request::by_route(bytes(path), bytes(route));
        let left = |image| match decide::left(image, &request, capability.into(), reach) {
            verdict::Verdict::Allow => Ok(()),
            verdict::Verdict::Deny(denial) => Err(Reason::of_denial(&denial)),
        };
        let judgement = self.usable().and_then(left);
        result.concluded(judgement)
    }

    /// Whether tool input may lead to the canonical `path`. It may inside the workspace. Outside, a person must have
    /// allowed it (spec §1.3, §7, §18): by approving an external target, typing a flag, or naming a profile of their
    /// own. The baseline and the other profiles are for programs, not for tool input.
    pub(crate) fn reaches(&self, path: &Path) -> bool {
        let covers = |grant: &&Grant| path.starts_with(&grant.anchor);
        self.root.contains(path)
            || self.grants.iter().filter(covers).any(leads_out)
            || self.image.as_ref().is_some_and(|image| !opened(image, path).is_empty())
    }

    /// The paths that effectively grant a capability.
    fn granting(&self, capability: Capability) -> Vec<String> {
        let image = self.image.as_ref();
        image.map(|image| granting::paths(self, image, capability)).unwrap_or_default()
    }

    pub(crate) fn usable(&self) -> Result<&Image<'a>, Reason> {
        self.image.as_ref().ok_or(Reason::PolicyUnavailable)
    }

    /// Judges tool input, in the order of precedence of spec §1.
    pub(crate) fn judge_input(
        &self,
        image: &Image<'_>,
        input: &[u8],
        op: Op,
        result: &mut CheckResult,
    ) -> Result<(), Reason> {
        let spelled = lexical::normalise(input).inspect_err(|error| {
            result.detail = Detail::of_input(*error);
        })?;
        let resolve = |spelled: &Path, op| {
            let led = |found| views::lead(image, found, op);
            self.root.resolve(spelled, op).and_then(led)
        };
        let directory = lexical::demands_directory(input)
            .then(|| resolve(&spelled.join(""), Op::Content).map(drop));
        let resolved = directory
            .unwrap_or(Ok(()))
            .and_then(|()| resolve(&spelled, op))
            .map_err(|error| self.unresolved(image, &spelled, error.into(), result))?;
        result.target = self.target(&resolved.path, &spelled);
        result.resolved = Some(resolved.path.clone());
        self.within_boundary(&resolved, &spelled).inspect_err(|reason| {
            let rule = self.unapproved(&spelled).filter(|_| *reason == Reason::Escape);
            let is_broken = resolved.path.symlink_metadata().is_err();
            result.rule.clone_from(&rule);
            result.detail = rule.map(|RuleName { text: rule, .. }| {
                if is_broken { Detail::Broken { rule } } else { Detail::Unapproved { rule } }
            });
        })?;

        let route = self.root.as_path().join(&spelled);
        self.decide(image, &resolved.path, &route, result)
    }

    /// Why a spelling that cannot be resolved is denied. The policy comes first if somebody denied the spelling itself.
    fn unresolved(
        &self,
        image: &Image<'_>,
        spelled: &Path,
        error: Reason,
        result: &mut CheckResult,
    ) -> Reason {
        let route = self.root.as_path().join(spelled);
        let request = Request::canonical(bytes(&route));
        let restraint = decide::withheld_by_tier(image, &request, result.capability.into());
        if let Some(restraint @ Restraint::Deny) = restraint {
            let nobodys = Tiers::default();
            let tiers = self.tiers.unwrap_or(&nobodys);
            result.rule = Some(tiers.described(restraint, &route, &route));
            return Reason::TierDeny;
        }
        result.rule = self.unapproved(spelled);
        result.detail = result.rule.clone().map(|rule| Detail::Broken { rule: rule.text });
        error
    }

    /// The evaluator's answer.
    fn decide(
        &self,
        image: &Image<'_>,
        path: &Path,
        route: &Path,
        result: &mut CheckResult,
    ) -> Result<(), Reason> {
        let request = Request::by_route(bytes(path), bytes(route));
        let found = decide::lookup(image, &request);
        // Without `tiers`, messages name the lists alone.
        let nobodys = Tiers::default();
        let tiers = self.tiers.unwrap_or(&nobodys);
        result.rule_id = found.rule;
        result.rule = if found.opened(image).is_empty() {
            found.rule.and_then(|id| self.origin(id, result.capability))
        } else {
            Some(tiers.opener(&found, path, route).0)
        };
        result.uncovered = result.rule_id.is_none_or(|id| self.is_ground(id));
        let verdict::Verdict::Deny(denial) = verdict(image, &request, result.capability) else {
            return Ok(());
        };
        if let Some(restraint) = denial.restraint {
            result.rule = Some(tiers.described(restraint, path, route));
        }
        let reason = Reason::of_denial(&denial);
        let is_default = reason == Reason::TierDeny && denial.restraint == Some(Restraint::Default);
        result.detail = self
            .stays(image, &request, result.capability)
            .or_else(|| self.control(result))
            .or_else(|| is_default.then(|| Detail::by_default(result.capability)))
            .or_else(|| {
                let obeyed = || tiers.obeyed(path, route);
                (reason == Reason::AutorunRefused).then(|| Detail::Autorun { obeyed: obeyed() })
            });
        if reason == Reason::Denied && result.detail.is_none() {
            result.detail = self.beside_rules(image, &request, result, tiers);
        }
        Err(reason)
    }

    /// The reason besides the rules why the path is withheld, so that no rule alone allows it.
    fn beside_rules(
        &self,
        image: &Image<'_>,
        request: &Request<'_>,
        result: &mut CheckResult,
        tiers: &Tiers,
    ) -> Option<Detail> {
        let path = |bytes| Path::new(OsStr::from_bytes(bytes));
        if self.user_denies(path(request.path), result.rule_id) {
            return Some(Detail::ByUser);
        }
        if let Some(restraint) = decide::withheld_by_tier(image, request, result.capability.into())
        {
            // Somebody wrote that nobody may touch it.
            result.uncovered &= restraint != Restraint::Deny;
            let what = tiers.described(restraint, path(request.path), path(request.route)).text;
            return Some(Detail::Withheld { what });
        }
        (result.capability == Capability::Delete)
            .then(|| granting::keeper(self, image, path(request.path), false))
            .filter(|detail| matches!(detail, Detail::Keeps { what: Some(_), .. }))
    }

    /// Whether a control entry of the launcher decided, which nothing overrides.
    fn control(&self, result: &CheckResult) -> Option<Detail> {
        let winner = result.rule_id?.index();
        let decider = grant::decider(self.grants, winner, result.capability.into())?;
        (decider.kind == GrantKind::Control).then_some(Detail::Control)
    }

    /// Whether the user denied the canonical `path` or a directory above it. In the workspace that overrides its rules.
    /// Outside, it counts if it is the `winner`.
    fn user_denies(&self, path: &Path, winner: Option<RuleId>) -> bool {
        let is_users =
            |origin: &Origin| matches!(origin, Origin::Flag { .. } | Origin::Profile { .. });
        let denied =
            self.grants.iter().filter(|grant| grant.caps.is_empty() && is_users(&grant.origin));
        let won = winner.and_then(|id| self.grants.get(id.index()));
        let mut counting = denied.filter(|grant| {
            self.root.contains(&grant.anchor) || won.is_some_and(|won| std::ptr::eq(won, *grant))
        });
        counting.any(|grant| path.starts_with(&grant.anchor))
    }

    /// Why an entry stays although its own rule grants deletion.
    pub(crate) fn stays(
        &self,
        image: &Image<'_>,
        request: &Request<'_>,
        capability: Capability,
    ) -> Option<Detail> {
        let is_granted = capability == Capability::Delete
            && decide::access(image, request, capability.into()) == verdict::Verdict::Allow;
        let path = Path::new(OsStr::from_bytes(request.path));
        is_granted.then(|| granting::keeper(self, image, path, true))
    }

    /// Checks that the path is within the boundary, or says how it left.
    fn within_boundary(&self, resolved: &Resolved, spelled: &Path) -> Result<(), Reason> {
        if self.reaches(&resolved.path) {
            return Ok(());
        }
        let left = |anchor: &Path| {
            let below = |link: &Path| link.starts_with(anchor) && !self.root.contains(link);
            resolved.steps.iter().any(|step| below(&step.link))
        };
        let entered = self.grants.iter().any(|grant| match &grant.kind {
            GrantKind::External { lexical_path } => {
                spelled.starts_with(lexical_path) || left(&grant.anchor)
            }
            _ => false,
        });
        Err(if entered { Reason::NestedEscape } else { Reason::Escape })
    }

    /// The dropped external rule on this spelling, if there is one.
    fn unapproved(&self, spelled: &Path) -> Option<RuleName> {
        let is_it = |grant: &&Grant| match &grant.kind {
            GrantKind::Tombstone { lexical_path } => {
                lexical_path.as_ref().is_some_and(|link| spelled.starts_with(link))
            }
            _ => false,
        };
        self.grants.iter().find(is_it).map(|grant| grant.origin.name())
    }

    fn shown_to_tool<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(self.root.as_path()).unwrap_or(path)
    }

    /// The workspace-relative path. Outside the workspace it is the spelling, because the real place of an external
    /// target concerns its owner alone (RFD D43).
    fn target(&self, resolved: &Path, spelled: &Path) -> String {
        let inside = resolved.strip_prefix(self.root.as_path()).ok();
        let spelled = shown(spelled);
        match inside.map(shown) {
            Some(path) if path != spelled => format!("{path} (through {spelled})"),
            Some(path) => path,
            None => spelled,
        }
    }

    pub(crate) const fn root(&self) -> &'a Root {
        self.root
    }

    pub(crate) fn image(&self) -> Option<&Image<'a>> {
        self.image.as_ref()
    }

    pub(crate) fn grants(&self) -> &'a [Grant] {
        self.grants
    }

    /// Whether a grant is the one that holds in the workspace where no rule was written.
    fn is_ground(&self, id: RuleId) -> bool {
        let kind = self.grants.get(id.index()).map(|grant| &grant.kind);
        matches!(kind, Some(GrantKind::Sentinel | GrantKind::Workspace))
    }

    /// The source of the grant that decides about the capability if the rule `id` wins.
    pub(crate) fn origin(&self, id: RuleId, capability: Capability) -> Option<RuleName> {
        let decided = grant::decider(self.grants, id.index(), capability.into());
        decided.map(|grant| grant.origin.name())
    }
}

/// The evaluator's answer for one capability. A directory may not be removed if something below it must stay (R5).
pub(crate) fn verdict(
    image: &Image<'_>,
    request: &Request<'_>,
    capability: Capability,
) -> verdict::Verdict {
    match capability {
        Capability::Delete => decide::remove(image, request),
        _ => decide::access(image, request, capability.into()),
    }
}

/// The capabilities that a tier grants on the path, which no rule reaches (spec §9.6).
fn opened(image: &Image<'_>, path: &Path) -> Capabilities {
    decide::lookup(image, &Request::canonical(bytes(path))).opened(image)
}

/// Whether a grant extends the reach of tool input beyond the workspace.
fn leads_out(grant: &Grant) -> bool {
    let by_person = match grant.origin {
        Origin::Flag { .. } => true,
        Origin::Profile { named, .. } => named,
        _ => false,
    };
    by_person && !grant.caps.is_empty() || matches!(grant.kind, GrantKind::External { .. })
}
