//! Walks the files for a search: directories in the order of their paths, without following symlinks in them. It skips
//! objects that may not be read, but still enters directories with readable objects below. Used by `grep`.

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use jp_confine_engine::Capability;
use jp_confine_engine::check::CheckResult;
use jp_confine_engine::granted::Granted;

use super::Service;
use super::caller::Caller;
use super::fs::{below, missing};
use super::ignored::Ignored;
use crate::fault::{Code, Fault};
use crate::files::Standing;
use crate::method::Kind;

/// The places still to visit.
#[derive(Debug)]
pub(super) struct Walk {
    /// The next one is last.
    pending: Vec<Visit>,
}

/// A place on the walk.
#[derive(Debug)]
pub(super) struct Visit {
    /// The path as the tool knows it.
    pub(super) path: String,
    pub(super) reach: Reach,
    ignored: Option<Rc<Ignored>>,
}

/// Decides how long a walk goes on: until nobody waits any more, or its time is up.
pub(super) struct Watch<'c> {
    pub(super) caller: &'c mut dyn Caller,
    pub(super) until: Instant,
}

impl Watch<'_> {
    /// Fails once the walk should end.
    ///
    /// # Errors
    /// [`Code::Cancelled`] or [`Code::Timeout`].
    pub(super) fn check(&mut self) -> Result<(), Fault> {
        if self.caller.is_gone() {
            return Err(Fault::cancelled());
        }
        if Instant::now() > self.until {
            let why = "the search took too long: simplify the pattern or narrow the paths";
            return Err(Fault::new(Code::Timeout, why));
        }
        Ok(())
    }
}

/// How many entries of a directory are visited between two checks of the [`Watch`].
const STRIDE: usize = 64;

/// The access to a place.
#[derive(Debug)]
pub(super) enum Reach {
    /// Read this file.
    File(Granted),
    /// Look in this directory for readable objects.
    Dir(Granted),
}

impl Reach {
    fn place(&self) -> &Path {
        let (Self::File(granted) | Self::Dir(granted)) = self;
        granted.path()
    }
}

impl Service<'_> {
    /// A walk through `paths`, which must be readable. Without `paths` it covers the workspace, whose root need not be.
    pub(super) fn walk(
        &mut self,
        paths: Option<&[String]>,
        caller: &mut dyn Caller,
    ) -> Result<Walk, Fault> {
        let mut pending = match paths {
            Some(paths) => self.named(paths, caller)?,
            None => self.whole(caller)?.into_iter().collect(),
        };
        pending.reverse();
        Ok(Walk { pending })
    }

    /// The workspace's root, whether it may be listed or not.
    fn whole(&mut self, caller: &mut dyn Caller) -> Result<Option<Visit>, Fault> {
        let path = ".".to_owned();
        let check = self.gate.context.check_to_use(path.as_bytes(), Capability::Read);
        let granted = if check.is_allowed() || check.resolved.is_none() {
            let [granted] = self.gate.pass([check], caller)?;
            Some(granted)
        } else {
            self.gate.context.grant_traversal(path.as_bytes())
        };
        let visit = |granted| Visit { path, reach: Reach::Dir(granted), ignored: None };
        Ok(granted.map(visit))
    }

    fn named(&mut self, paths: &[String], caller: &mut dyn Caller) -> Result<Vec<Visit>, Fault> {
        let check =
            |path: &String| self.gate.context.check_to_use(path.as_bytes(), Capability::Read);
        let checks: Vec<CheckResult> = paths.iter().map(check).collect();
        let granted = self.gate.pass_all(checks, caller)?;
        let mut visits = Vec::new();
        for (path, granted) in paths.iter().zip(granted) {
            let (reach, ignored) = match self.look(granted.path(), path)? {
                None => return Err(missing(path)),
                Some(Standing::Other) => continue,
                Some(Standing::Dir) => (Reach::Dir(granted), Some(self.ignored_above(path))),
                Some(Standing::File(_)) => (Reach::File(granted), None),
            };
            visits.push(Visit { path: path.clone(), reach, ignored });
        }
        Ok(visits)
    }
}

impl Walk {
    pub(super) fn next(&mut self) -> Option<Visit> {
        self.pending.pop()
    }

    /// Adds the entries of the directory at `visit` to the walk.
    pub(super) fn enter(
        &mut self,
        service: &Service<'_>,
        visit: &Visit,
        watch: &mut Watch<'_>,
    ) -> Result<(), Fault> {
        let Reach::Dir(dir) = &visit.reach else { return Ok(()) };
        let mut names = service.files.names(dir).unwrap_or_default();
        names.sort_unstable_by(|one, other| other.cmp(one));
        let ignored = service.ignored_in(&visit.path, visit.ignored.as_ref());
        for (place, name) in names.into_iter().enumerate() {
            if place % STRIDE == STRIDE - 1 {
                watch.check()?;
            }
            let path = below(&visit.path, &name);
            let Some(reach) = reach(service, &path, &dir.path().join(name)) else { continue };
            if !ignored.covers(&path, matches!(reach, Reach::Dir(_))) {
                self.pending.push(Visit { path, reach, ignored: Some(Rc::clone(&ignored)) });
            }
        }
        Ok(())
    }
}

/// The access to the absolute place `at`. `None` for symlinks.
fn reach(service: &Service<'_>, path: &str, at: &Path) -> Option<Reach> {
    match service.readable(path) {
        Some((granted, Kind::File)) => Some(Reach::File(granted)),
        Some((granted, Kind::Dir)) => Some(Reach::Dir(granted)),
        None => {
            let granted = service.gate.context.grant_traversal(path.as_bytes())?;
            let is_dir = matches!(service.files.look(granted.path()), Ok(Some(Standing::Dir)));
            is_dir.then_some(Reach::Dir(granted))
        }
    }
    .filter(|reach| reach.place() == at)
}
