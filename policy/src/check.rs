//! Verdicts on workspace-relative input, as tools give it (spec §1, §4.1, §18 `check`).

use std::borrow::ToOwned as _;
use std::boxed::Box;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::vec::Vec;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Serialize, Serializer};

use crate::build::{Grant, GrantKind, Origin};
use crate::canonical::{self, Op, ResolveError, Resolved, Root};
use crate::capability::Capability;
use crate::decide::{self, Request};
use crate::image::{Image, RuleId};
use crate::lexical::{self, LexicalError};

/// Whether a request may go ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may.
    Allow,
    /// It may not.
    Deny,
}

/// Why a request is refused, as programs read it (spec §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The input is absolute.
    AbsoluteInput,
    /// The input leads above the root through `..`.
    InputEscape,
    /// It leads outside the workspace, and no approved rule covers that.
    Escape,
    /// It entered an approved external target and left it again.
    NestedEscape,
    /// The deciding rule does not grant the capability.
    Denied,
    /// It cannot be said where the input leads.
    ResolutionFailed,
    /// The kernel refused to look at a part of it.
    PermissionDenied,
    /// There is no usable policy.
    PolicyUnavailable,
}

impl From<LexicalError> for Reason {
    fn from(error: LexicalError) -> Self {
        match error {
            LexicalError::Absolute => Self::AbsoluteInput,
            LexicalError::Escape => Self::InputEscape,
            LexicalError::Empty | LexicalError::Nul => Self::ResolutionFailed,
        }
    }
}

impl From<ResolveError> for Reason {
    fn from(error: ResolveError) -> Self {
        if error.is_permission() { Self::PermissionDenied } else { Self::ResolutionFailed }
    }
}

/// The verdict on one input and capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// The input as given; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// What was asked for.
    pub capability: Capability,
    /// The answer.
    pub verdict: Verdict,
    /// Why not; `None` when allowed.
    pub reason: Option<Reason>,
    /// Where the input leads, absolute and canonical, if that could be said.
    #[serde(serialize_with = "lossy")]
    pub resolved: Option<PathBuf>,
    /// Who declared the rule that decided.
    pub rule: Option<String>,
    /// That rule's place among the grants.
    #[serde(skip)]
    pub rule_id: Option<RuleId>,
    /// The paths whose rules effectively grant the capability, workspace-relative where they can
    /// be; the root is `.`.
    pub granting: Vec<String>,
    /// The place in the workspace that the input names or leads to, for messages.
    #[serde(skip)]
    pub(crate) target: String,
}

#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn lossy<S: Serializer>(path: &Option<PathBuf>, out: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(out)
}

/// A refused access; it displays as the message for the person or model that asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message())]
pub struct FsAccessError(Box<CheckResult>);

impl FsAccessError {
    /// The verdict behind the message.
    #[must_use]
    pub fn result(&self) -> &CheckResult {
        &self.0
    }
}

/// A workspace under a policy.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    root: &'a Root,
    grants: &'a [Grant],
    /// `None` when it is not usable, which denies everything (spec §13).
    image: Option<Image<'a>>,
}

impl<'a> Context<'a> {
    /// The workspace at `root` under the policy of `image`, which was built from `grants`.
    #[must_use]
    pub fn new(root: &'a Root, grants: &'a [Grant], image: &'a [u8]) -> Self {
        Self { root, grants, image: Image::parse(image).ok() }
    }

    /// Whether `input`, workspace-relative, may be used for `capability`. Deleting is about the
    /// entry, everything else about what a final link leads to. Nothing on disk is changed.
    #[must_use]
    pub fn check(&self, input: &[u8], capability: Capability) -> CheckResult {
        let mut result = CheckResult {
            path: String::from_utf8_lossy(input).into_owned(),
            capability,
            verdict: Verdict::Deny,
            reason: None,
            resolved: None,
            rule: None,
            rule_id: None,
            granting: Vec::new(),
            target: String::from_utf8_lossy(input).into_owned(),
        };
        result.reason = match &self.image {
            Some(image) => self.judge(image, input, &mut result).err(),
            None => Some(Reason::PolicyUnavailable),
        };
        if result.reason.is_none() {
            result.verdict = Verdict::Allow;
        }
        result
    }

    /// Whether the file may be read or the directory listed.
    ///
    /// # Errors
    /// Where it may not; otherwise the canonical path to use.
    pub fn check_read(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Read)
    }

    /// Whether the entry may be created.
    ///
    /// # Errors
    /// Where it may not; otherwise the canonical path to use.
    pub fn check_create(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Create)
    }

    /// Whether what exists there may be changed.
    ///
    /// # Errors
    /// Where it may not; otherwise the canonical path to use.
    pub fn check_update(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Update)
    }

    /// Whether the entry may be removed; a final link is the entry, not what it leads to.
    ///
    /// # Errors
    /// Where it may not; otherwise the canonical path to use.
    pub fn check_delete(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Delete)
    }

    /// Whether the file may be run as a program.
    ///
    /// # Errors
    /// Where it may not; otherwise the canonical path to use.
    pub fn check_execute(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Execute)
    }

    fn check_utf8(
        &self,
        input: &Utf8Path,
        capability: Capability,
    ) -> Result<Utf8PathBuf, FsAccessError> {
        let mut result = self.check(input.as_str().as_bytes(), capability);
        let path = result.resolved.clone().map(Utf8PathBuf::from_path_buf);
        match (result.verdict, path) {
            (Verdict::Allow, Some(Ok(path))) => return Ok(path),
            (Verdict::Allow, _) => {
                result.verdict = Verdict::Deny;
                result.reason = Some(Reason::ResolutionFailed);
            }
            (Verdict::Deny, _) => {}
        }
        Err(FsAccessError(Box::new(result)))
    }

    /// The judgement itself, in the order of precedence of spec §1.
    fn judge(
        &self,
        image: &Image<'_>,
        input: &[u8],
        result: &mut CheckResult,
    ) -> Result<(), Reason> {
        let op = if result.capability == Capability::Delete { Op::Entry } else { Op::Content };
        result.granting = self.granting(image, result.capability);
        let spelled = lexical::normalise(input)?;
        let resolved = canonical::resolve(self.root.as_path(), &spelled, op)?;
        result.target = self.target(&resolved.path, &spelled);
        result.resolved = Some(resolved.path.clone());
        self.within_boundary(&resolved, &spelled)?;

        let route = self.root.as_path().join(&spelled);
        let request = Request::by_route(bytes(&resolved.path), bytes(&route));
        result.rule_id = decide::lookup(image, &request).rule;
        result.rule = result.rule_id.and_then(|id| self.origin(id));
        match decide::access(image, &request, result.capability.into()) {
            decide::Verdict::Allow => Ok(()),
            decide::Verdict::Deny(_) => Err(Reason::Denied),
        }
    }

    /// Inside the workspace, or where a person let it lead: an approved external target or a path
    /// typed as a flag (spec §1.3, §7). The baseline is for programs, not for tool input.
    fn within_boundary(&self, resolved: &Resolved, spelled: &Path) -> Result<(), Reason> {
        let path = &resolved.path;
        let reaches = |grant: &&Grant| path.starts_with(&grant.anchor);
        if self.root.contains(path) || self.grants.iter().filter(reaches).any(leads_out) {
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

    /// The workspace-relative form of what is meant; outside it the spelling, because the real
    /// place of an external target is nobody's business but its owner's (RFD D43).
    fn target(&self, resolved: &Path, spelled: &Path) -> String {
        let inside = resolved.strip_prefix(self.root.as_path()).ok();
        let spelled = shown(spelled);
        match inside.map(shown) {
            Some(path) if path != spelled => std::format!("{path} (through {spelled})"),
            Some(path) => path,
            None => spelled,
        }
    }

    /// The paths that effectively grant a capability: of grants on one path only the one that
    /// wins there, deeper denials notwithstanding (spec §5.3).
    fn granting(&self, image: &Image<'_>, capability: Capability) -> Vec<String> {
        let mut paths = Vec::new();
        for (index, grant) in self.grants.iter().enumerate() {
            let Some(path) = self.tool_path(grant) else { continue };
            let route = self.root.as_path().join(&path);
            let request = Request::by_route(bytes(&grant.anchor), bytes(&route));
            let found = decide::lookup(image, &request);
            let wins = found.rule.is_some_and(|id| id.index() == index);
            if wins && found.caps.contains(capability.into()) {
                paths.push(shown(&path));
            }
        }
        paths
    }

    /// The path under which a tool knows a grant; `None` for what is not about tools.
    fn tool_path(&self, grant: &Grant) -> Option<PathBuf> {
        let inside = grant.anchor.strip_prefix(self.root.as_path()).ok().map(Path::to_owned);
        match (&grant.kind, &grant.origin) {
            (GrantKind::External { lexical_path }, _) => Some(PathBuf::from(lexical_path)),
            (GrantKind::Workspace, _) | (_, Origin::Rule { .. }) => inside,
            (_, Origin::Flag { .. }) => Some(inside.unwrap_or_else(|| grant.anchor.clone())),
            _ => None,
        }
    }

    pub(crate) fn image(&self) -> Option<&Image<'a>> {
        self.image.as_ref()
    }

    pub(crate) fn grants(&self) -> &'a [Grant] {
        self.grants
    }

    pub(crate) fn origin(&self, id: RuleId) -> Option<String> {
        self.grants.get(id.index()).map(|grant| grant.origin.to_string())
    }
}

/// Whether a grant extends the reach of tool input beyond the workspace.
fn leads_out(grant: &Grant) -> bool {
    let typed = matches!(grant.origin, Origin::Flag { .. }) && !grant.caps.is_empty();
    typed || matches!(grant.kind, GrantKind::External { .. })
}

/// A workspace-relative path as people see it.
fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_string() } else { path.to_string_lossy().into_owned() }
}

pub(crate) fn bytes(path: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_os_str().as_bytes()
}
