//! Authorises absolute paths. A host of tools uses it for each of their operations (spec §15). The answer is a path and
//! a pinned descriptor for it, or a denial that the tool must pass on.

mod answer;

use std::borrow::ToOwned as _;
use std::boxed::Box;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use self::answer::No;
pub use self::answer::{Authorized, Refusal, RefusalReason};
use crate::approvals::Approvals;
use crate::canonical::{self, Op, Resolved};
use crate::capability::Capability;
use crate::check::{CheckResult, Context, Reason};
use crate::lexical::{self, LexicalError, bytes};
use crate::model::Policy;
use crate::pin::Pin;
use crate::tier::Reach;
use crate::views;
use crate::workspace::{OpenError, Workspace};

/// The directories of a workspace, each under its policy. A path must be in one of them, and every directory that it is
/// in must grant it. A directory that the path only leads through may withhold it. Without a directory nothing is
/// authorised.
///
/// ```
/// use jp_confine_engine::approvals::ApprovedTargets;
/// use jp_confine_engine::authorize::{Authorizer, RefusalReason};
/// use jp_confine_engine::model::Policy;
/// # use std::path::Path;
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("notes"), "spring")?;
/// # std::os::unix::fs::symlink("/etc", root.join("link"))?;
///
/// let policy = Policy::default();
/// let folders = Authorizer::new().with_folder(root, &policy, &ApprovedTargets::default())?;
///
/// let notes = folders.authorize_read(&root.join("notes"), "read_file")?;
/// assert_eq!(std::io::read_to_string(notes.pin().open()?)?, "spring");
///
/// let refusal = folders.authorize_read(&root.join("link/passwd"), "read_file").unwrap_err();
/// assert_eq!(refusal.reason(), RefusalReason::SymlinkEscapesWorkspace);
/// let refusal = folders.authorize_write(Path::new("/etc/passwd"), "edit_file").unwrap_err();
/// assert_eq!(refusal.reason(), RefusalReason::OutsideWorkspace);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Authorizer {
    folders: Vec<Folder>,
    links_may_leave: bool,
}

#[derive(Debug)]
struct Folder {
    /// Absolute, with `.` and `..` resolved lexically.
    spelled: PathBuf,
    /// `None` if the directory cannot be resolved. It proves nothing then (spec §13).
    workspace: Option<Workspace>,
}

/// How a tool wants to use a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Authorizer {
    /// Starts without any directory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the directory at `path`, absolute, under `policy`. A directory that cannot be resolved has no effect.
    ///
    /// # Errors
    /// [`OpenError`] for a policy that cannot be compiled.
    pub fn with_folder(
        self,
        path: &Path,
        policy: &Policy,
        approvals: &dyn Approvals,
    ) -> Result<Self, OpenError> {
        match Workspace::open(path, policy, approvals) {
            Ok(workspace) => Ok(self.with_workspace(path, Some(workspace))),
            Err(OpenError::Root(_)) => Ok(self.with_workspace(path, None)),
            Err(error) => Err(error),
        }
    }

    /// Adds a directory that is spelled `path`, absolute, and was opened as `workspace`. `None` means that it cannot be
    /// resolved.
    #[must_use]
    pub fn with_workspace(mut self, path: &Path, workspace: Option<Workspace>) -> Self {
        let spelled = by_the_letter(path).unwrap_or_else(|_| path.to_owned());
        self.folders.push(Folder { spelled, workspace });
        self
    }

    /// Whether symlinks in the workspace may lead out of it. If so, the spelling of a path and the rules on it decide.
    /// `None` is for a setting that could not be read, and leaves this off. Runs have no such option (R30).
    #[must_use]
    pub fn allow_symlinks_outside_workspace(mut self, setting: Option<bool>) -> Self {
        self.links_may_leave = setting == Some(true);
        self
    }

    /// Whether the tool named `source` may read `requested`, absolute: the content of a file, or the names in a
    /// directory.
    ///
    /// # Errors
    /// [`Refusal`], which the tool must pass on.
    pub fn authorize_read(&self, requested: &Path, source: &str) -> Result<Authorized, Refusal> {
        self.authorize(Access::Read, requested, source)
    }

    /// Whether the tool named `source` may write `requested`, absolute: create it, or update it if it exists.
    ///
    /// # Errors
    /// [`Refusal`], which the tool must pass on.
    pub fn authorize_write(&self, requested: &Path, source: &str) -> Result<Authorized, Refusal> {
        self.authorize(Access::Write, requested, source)
    }

    fn authorize(
        &self,
        access: Access,
        requested: &Path,
        source: &str,
    ) -> Result<Authorized, Refusal> {
        let judged = self.judge(access, requested);
        let authorized = |pin| Authorized { pin, requested: requested.to_owned() };
        judged.map(authorized).map_err(|no| no.told(requested, source))
    }

    /// Judges in the order of spec §15.
    fn judge(&self, access: Access, requested: &Path) -> Result<Pin, No> {
        if requested.as_os_str().is_empty() {
            return Err(No::Words(Reason::ResolutionFailed, answer::EMPTY));
        }
        let spelled = by_the_letter(requested).map_err(No::Because)?;
        let resolve = |path: &Path| {
            canonical::resolve(Path::new("/"), path, Op::Content)
                .map_err(|error| No::Because(error.into()))
        };
        if lexical::demands_directory(bytes(requested)) {
            resolve(&spelled.join(""))?;
        }
        let opened: Vec<_> = self.opened().collect();
        let resolved = led(&opened, resolve(&spelled)?)?;
        let capability = access.capability(&resolved);
        self.contain(&opened, &Asked { spelled: &spelled, resolved: &resolved, capability })?;
        Pin::hold(&resolved.path, capability).map_err(|error| No::Because(Reason::of(&error)))
    }

    /// Whether the path is inside some directory, granted by each that it is inside of, and withheld by none on the
    /// way. If symlinks may leave, it is enough that the path is spelled as if in some directory.
    fn contain(&self, opened: &[Opened<'_>], asked: &Asked<'_>) -> Result<(), No> {
        let is_held = opened.iter().any(|(_, context)| context.reaches(asked.real()));
        let is_in = |folder: &Folder| folder.below(asked.spelled).is_some();
        let is_spelled = self.folders.iter().any(is_in);
        let is_opened = opened.iter().any(|(folder, _)| is_in(folder));
        match (self.links_may_leave, is_held) {
            (false, true) => {}
            (true, _) if is_opened || is_held && is_spelled => {}
            (false, false) if is_opened => return Err(No::Because(Reason::Escape)),
            (false, false) if is_spelled => {
                return Err(No::Words(Reason::Escape, answer::UNRESOLVED));
            }
            _ => return Err(No::Because(Reason::AbsoluteInput)),
        }
        opened.iter().try_for_each(|(folder, context)| {
            if context.reaches(asked.real()) {
                folder.judge(context, asked, asked.real())
            } else {
                folder.let_out(context, asked, is_held)
            }
        })
    }

    /// The folders that could be resolved, and their policies. Reads whole images.
    fn opened(&self) -> impl Iterator<Item = Opened<'_>> {
        let open = |folder| Some((folder, Folder::context(folder)?));
        self.folders.iter().filter_map(open)
    }
}

/// A folder, and its policy.
type Opened<'a> = (&'a Folder, Context<'a>);

/// Where a path leads through the views of the policies.
fn led(opened: &[Opened<'_>], resolved: Resolved) -> Result<Resolved, No> {
    let led = opened.iter().try_fold(resolved, |resolved, (_, context)| {
        let Ok(image) = context.usable() else { return Ok(resolved) };
        views::lead(image, resolved, Op::Content)
    });
    led.map_err(|error| No::Because(error.into()))
}

/// A path to judge, and the capability to judge it for.
struct Asked<'a> {
    /// Absolute, with `.` and `..` resolved lexically.
    spelled: &'a Path,
    resolved: &'a Resolved,
    capability: Capability,
}

impl Asked<'_> {
    /// The canonical path that it leads to.
    fn real(&self) -> &Path {
        &self.resolved.path
    }

    /// Judges the path that a symlink leads to from `route`. `reach` says how far patterns count.
    fn judge_real(&self, context: &Context<'_>, route: &Path, reach: Reach) -> Result<(), No> {
        let ends = (self.real(), route);
        allowed(context.judge_led(self.spelled, ends, self.capability, reach))
    }
}

impl Folder {
    fn context(&self) -> Option<Context<'_>> {
        self.workspace.as_ref().map(Workspace::context)
    }

    /// The way from the directory to `spelled`, lexically.
    fn below<'p>(&self, spelled: &'p Path) -> Option<&'p Path> {
        let root = self.workspace.as_ref().map(|workspace| workspace.root().as_path());
        let by = |dir| spelled.strip_prefix(dir).ok();
        by(self.spelled.as_path()).or_else(|| root.and_then(by))
    }

    /// `spelled` below the canonical root. `None` if it is spelled as if elsewhere.
    fn route(&self, context: &Context<'_>, spelled: &Path) -> Option<PathBuf> {
        Some(context.root().as_path().join(self.below(spelled)?).components().collect())
    }

    /// Judges a way through the directory to a place that the directory does not contain.
    ///
    /// - If another directory contains the place (`is_held`), nothing need be granted here. Denials by this policy's
    ///   rules and patterns count if they are about the way or the place (spec §9.1). A `default` and the list of
    ///   sensitive paths are only about what this policy grants.
    /// - If none contains it, the way must be granted, and everything that is withheld counts, because no other policy
    ///   is asked. That includes a `default`, which is about every place that no pattern is about. If nothing is
    ///   written, the spelling decides.
    fn let_out(&self, context: &Context<'_>, asked: &Asked<'_>, is_held: bool) -> Result<(), No> {
        let links = asked.resolved.steps.iter().map(|step| step.link.as_path());
        let links = links.filter(|link| context.reaches(link));
        let spelled = self.route(context, asked.spelled);
        let mut way = spelled.as_deref().into_iter().chain(links);
        let reach = if is_held { Reach::ReadyMade } else { Reach::Declared };
        way.try_for_each(|place| {
            if !is_held {
                self.judge(context, asked, place)?;
            }
            asked.judge_real(context, place, reach)
        })
    }

    /// Judges `place`, canonical, by this policy.
    fn judge(&self, context: &Context<'_>, asked: &Asked<'_>, place: &Path) -> Result<(), No> {
        let route = self.route(context, asked.spelled);
        let route = route.as_deref().unwrap_or(asked.spelled);
        allowed(context.judge(asked.spelled, place, route, asked.capability))
    }
}

impl Access {
    /// Writing updates a file that exists, and creates one that does not.
    const fn capability(self, resolved: &Resolved) -> Capability {
        match self {
            Self::Read => Capability::Read,
            Self::Write if resolved.exists => Capability::Update,
            Self::Write => Capability::Create,
        }
    }
}

fn allowed(result: CheckResult) -> Result<(), No> {
    if result.is_allowed() { Ok(()) } else { Err(No::Denied(Box::new(result))) }
}

/// The normal form of an absolute path: `.` and `..` are resolved lexically, as in every tool input (R1). No I/O.
fn by_the_letter(path: &Path) -> Result<PathBuf, Reason> {
    if !path.is_absolute() {
        return Err(Reason::ResolutionFailed);
    }
    let below: Vec<u8> = bytes(path).iter().copied().skip_while(|&byte| byte == b'/').collect();
    match lexical::normalise(&below) {
        Ok(below) => Ok(Path::new("/").join(below).components().collect()),
        Err(LexicalError::Empty) => Ok(PathBuf::from("/")),
        Err(error) => Err(error.into()),
    }
}
