//! What a search goes through: directories in the order of their paths, links in them not followed, and what may not
//! be read passed over, but for what a rule makes readable below.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use jp_confine_policy::Capability;
use jp_confine_policy::check::CheckResult;
use jp_confine_policy::granted::Granted;

use super::Service;
use super::caller::Caller;
use super::fs::{below, missing};
use super::ignored::Ignored;
use crate::fault::Fault;
use crate::files::Standing;
use crate::method::Kind;

/// What is still to be visited.
#[derive(Debug)]
pub(super) struct Walk {
    /// The next one last.
    pending: Vec<Visit>,
    /// Where rules grant reading, absolute.
    granting: Vec<PathBuf>,
}

/// A place on the way.
#[derive(Debug)]
pub(super) struct Visit {
    /// As the tool knows it.
    pub(super) path: String,
    pub(super) reach: Reach,
    ignored: Option<Rc<Ignored>>,
}

/// What can be done at a place.
#[derive(Debug)]
pub(super) enum Reach {
    /// To read the file.
    File(Granted),
    /// To list the directory.
    Dir(Granted),
    /// Neither: the canonical directory may not be read, and only what rules name below it is told.
    Way(PathBuf),
}

impl Service<'_> {
    /// A walk through `paths`, which must be readable, or through the whole workspace.
    pub(super) fn walk(
        &mut self,
        paths: Option<&[String]>,
        caller: &mut dyn Caller,
    ) -> Result<Walk, Fault> {
        let everything = self.gate.context.check(b".", Capability::Read);
        let granting = match &everything.resolved {
            Some(root) => everything.granting.iter().map(|path| root.join(path)).collect(),
            None => Vec::new(),
        };
        let mut pending = match paths {
            Some(paths) => self.named(paths, caller)?,
            None => vec![self.whole(everything, caller)?],
        };
        pending.reverse();
        Ok(Walk { pending, granting })
    }

    /// The workspace, whether it may be listed or not.
    fn whole(&mut self, check: CheckResult, caller: &mut dyn Caller) -> Result<Visit, Fault> {
        let reach = match &check.resolved {
            Some(root) if !check.is_allowed() => Reach::Way(root.clone()),
            _ => {
                let [granted] = self.gate.pass([check], caller)?;
                Reach::Dir(granted)
            }
        };
        Ok(Visit { path: ".".to_owned(), reach, ignored: None })
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

    /// Goes on with what is in the directory of `visit`.
    pub(super) fn enter(&mut self, service: &Service<'_>, visit: &Visit) {
        let (at, names) = match &visit.reach {
            Reach::File(_) => return,
            Reach::Dir(granted) => {
                let names = service.files.names(granted).unwrap_or_default();
                (granted.path(), BTreeSet::from_iter(names))
            }
            Reach::Way(at) => (at.as_path(), self.named_in(at)),
        };
        let ignored = service.ignored_in(&visit.path, visit.ignored.as_ref());
        for name in names.iter().rev() {
            let path = below(&visit.path, name);
            let Some(reach) = self.reach(service, &path, at.join(name)) else { continue };
            if !ignored.covers(&path, !matches!(reach, Reach::File(_))) {
                self.pending.push(Visit { path, reach, ignored: Some(Rc::clone(&ignored)) });
            }
        }
    }

    /// What can be done at the absolute place `at`, unless it is a link.
    fn reach(&self, service: &Service<'_>, path: &str, at: PathBuf) -> Option<Reach> {
        let leads_on = |at: &Path| self.below(at).next().is_some();
        match service.readable(path) {
            Some((granted, _)) if granted.path() != at => None,
            Some((granted, Kind::Dir)) => Some(Reach::Dir(granted)),
            Some((granted, Kind::File)) => Some(Reach::File(granted)),
            None => leads_on(&at).then_some(Reach::Way(at)),
        }
    }

    /// The names in the directory `at` that lead to where rules grant reading.
    fn named_in(&self, at: &Path) -> BTreeSet<String> {
        let first = |way: &Path| match way.components().next() {
            Some(Component::Normal(name)) => name.to_str().map(str::to_owned),
            _ => None,
        };
        self.below(at).filter_map(first).collect()
    }

    /// The ways from the directory `at` to where rules grant reading.
    fn below<'w>(&'w self, at: &'w Path) -> impl Iterator<Item = &'w Path> {
        let ways = self.granting.iter().filter_map(move |place| place.strip_prefix(at).ok());
        ways.filter(|way| !way.as_os_str().is_empty())
    }
}
