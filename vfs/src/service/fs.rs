//! The `fs` methods except `fs.grep` (spec §14.3). They check the policy before the disk: a denial has the same words
//! whether the file exists or not.

use std::io::{self, ErrorKind};
use std::path::Path;

use jp_confine_engine::Capability;
use jp_confine_engine::canonical::Op;
use jp_confine_engine::check::{CheckResult, Reason};
use jp_confine_engine::granted::Granted;

use super::Service;
use super::caller::Caller;
use crate::content::Content;
use crate::fault::{Code, Fault};
use crate::files::Standing;
use crate::method::{
    Entry, Exists, File, Kind, Listing, Metadata, Nothing, PathParams, RenameParams, WriteParams,
};

impl Service<'_> {
    pub(super) fn read(
        &mut self,
        params: &PathParams,
        caller: &mut dyn Caller,
    ) -> Result<File, Fault> {
        let file = self.grant(&params.path, Capability::Read, caller)?;
        let contents = self.contents(&file, &params.path)?;
        let size = contents.len() as u64;
        let Content { text, encoding } = Content::of(contents);
        Ok(File { content: text, encoding, size })
    }

    pub(super) fn write(
        &mut self,
        params: WriteParams,
        caller: &mut dyn Caller,
    ) -> Result<Nothing, Fault> {
        let WriteParams { path, content, encoding } = params;
        let contents = Content { text: content, encoding }.into_bytes()?;
        if contents.len() as u64 > self.limit {
            return Err(self.too_large(&path));
        }
        let place = self.destination(&path, Op::Content);
        self.gate.previews(&contents);
        let (_, mut granted) = self.enter(vec![], place, caller)?;
        let failed = |error: io::Error| fault("write", &path, &error);
        match self.look(granted.target.path(), &path)? {
            Some(Standing::Dir) => return Err(Fault::params(format!("{path} is a directory"))),
            Some(Standing::Other) => return Err(Fault::params(format!("{path} is no file"))),
            Some(Standing::File(_)) | None => {}
        }
        self.create_dirs(&mut granted, &path)?;
        self.files.write(&granted.target, &contents).map_err(failed)?;
        Ok(Nothing {})
    }

    pub(super) fn exists(
        &mut self,
        params: &PathParams,
        caller: &mut dyn Caller,
    ) -> Result<Exists, Fault> {
        if let Some(file) = self.file_above(&params.path) {
            // Whoever may read the file may know that nothing is below it.
            self.grant(&file, Capability::Read, caller)?;
            return Ok(Exists { exists: false });
        }
        let place = self.grant(&params.path, Capability::Read, caller)?;
        match self.files.look(place.path()) {
            Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(Exists { exists: false }),
            found => {
                let found = found.map_err(|error| fault("look at", &params.path, &error))?;
                Ok(Exists { exists: found.is_some() })
            }
        }
    }

    /// The file that the path has in the place of a directory.
    fn file_above(&self, path: &str) -> Option<String> {
        let check = |path: &str| self.gate.context.check(path.as_bytes(), Capability::Read);
        let is_lost = |path: &str| check(path).reason == Some(Reason::ResolutionFailed);
        let mut above = path.rmatch_indices('/').filter_map(|(end, _)| path.get(..end));
        let found = above.find(|above| !is_lost(above)).filter(|_| is_lost(path))?;
        let standing = self.files.look(&check(found).resolved?).ok()?;
        matches!(standing, Some(Standing::File(_))).then(|| found.to_owned())
    }

    pub(super) fn list_dir(
        &mut self,
        params: &PathParams,
        caller: &mut dyn Caller,
    ) -> Result<Listing, Fault> {
        let PathParams { path } = params;
        let dir = self.grant(path, Capability::Read, caller)?;
        match self.look(dir.path(), path)? {
            Some(Standing::Dir) => {}
            Some(_) => return Err(Fault::params(format!("{path} is not a directory"))),
            None => return Err(missing(path)),
        }
        let mut names = self.files.names(&dir).map_err(|error| fault("list", path, &error))?;
        names.sort_unstable();
        let entry = |name: String| {
            let kind = self.readable(&below(path, &name))?.1;
            Some(Entry { path: name, kind })
        };
        Ok(Listing { entries: names.into_iter().filter_map(entry).collect() })
    }

    pub(super) fn metadata(
        &mut self,
        params: &PathParams,
        caller: &mut dyn Caller,
    ) -> Result<Metadata, Fault> {
        let PathParams { path } = params;
        let place = self.grant(path, Capability::Read, caller)?;
        match self.look(place.path(), path)? {
            Some(Standing::File(size)) => Ok(Metadata { kind: Kind::File, size }),
            Some(Standing::Dir) => Ok(Metadata { kind: Kind::Dir, size: 0 }),
            Some(Standing::Other) => {
                Err(Fault::params(format!("{path} is neither file nor directory")))
            }
            None => Err(missing(path)),
        }
    }

    pub(super) fn delete(
        &mut self,
        params: &PathParams,
        caller: &mut dyn Caller,
    ) -> Result<Nothing, Fault> {
        let PathParams { path } = params;
        let entry = self.grant(path, Capability::Delete, caller)?;
        self.demand_entry(&entry, path)?;
        self.files.remove(&entry).map_err(|error| fault("delete", path, &error))?;
        Ok(Nothing {})
    }

    pub(super) fn rename(
        &mut self,
        params: &RenameParams,
        caller: &mut dyn Caller,
    ) -> Result<Nothing, Fault> {
        let RenameParams { from, to } = params;
        let source = self.gate.context.check_to_use(from.as_bytes(), Capability::Delete);
        let place = self.destination(to, Op::Entry);
        let (mut sources, mut granted) = self.enter(vec![source], place, caller)?;
        let source = sources.pop().ok_or_else(|| Fault::denied("the policy is not usable"))?;
        let Some(kind) = self.gate.context.rename_kind(&source, &granted.target) else {
            let why = "at its new place more would be allowed than at the old one";
            return Err(Fault::denied(format!("cannot rename {from} to {to}: {why}")));
        };
        self.demand_entry(&source, from)?;
        if self.look(granted.target.path(), to)? == Some(Standing::Dir) {
            return Err(Fault::new(Code::Exists, format!("{to} is a directory")));
        }
        self.create_dirs(&mut granted, to)?;
        let renamed = self.files.rename(&source, &granted.target, kind);
        renamed.map_err(|error| not_renamed(from, &error))?;
        Ok(Nothing {})
    }

    /// A grant to use a path.
    pub(super) fn grant(
        &mut self,
        path: &str,
        capability: Capability,
        caller: &mut dyn Caller,
    ) -> Result<Granted, Fault> {
        let check = self.gate.context.check_to_use(path.as_bytes(), capability);
        let [granted] = self.gate.pass([check], caller)?;
        Ok(granted)
    }

    /// The contents of a file.
    pub(super) fn contents(&self, file: &Granted, path: &str) -> Result<Vec<u8>, Fault> {
        match self.look(file.path(), path)? {
            Some(Standing::File(size)) if size > self.limit => return Err(self.too_large(path)),
            Some(Standing::File(_)) => {}
            Some(Standing::Dir) => return Err(Fault::params(format!("{path} is a directory"))),
            Some(Standing::Other) => return Err(Fault::params(format!("{path} is no file"))),
            None => return Err(missing(path)),
        }
        let contents = self.files.read(file, self.limit.saturating_add(1));
        let contents = contents.map_err(|error| fault("read", path, &error))?;
        if contents.len() as u64 > self.limit { Err(self.too_large(path)) } else { Ok(contents) }
    }

    /// A grant to read a path and the kind of object there, if no prompt is needed.
    pub(super) fn readable(&self, path: &str) -> Option<(Granted, Kind)> {
        let place = self.gate.context.grant(path.as_bytes(), Capability::Read)?;
        let kind = match self.files.look(place.path()).ok()?? {
            Standing::File(_) => Kind::File,
            Standing::Dir => Kind::Dir,
            Standing::Other => return None,
        };
        Some((place, kind))
    }

    pub(super) fn look(&self, place: &Path, path: &str) -> Result<Option<Standing>, Fault> {
        self.files.look(place).map_err(|error| fault("look at", path, &error))
    }

    /// Judges a write to a path: an update if the file exists, else its creation and that of the directories above it.
    fn destination(&self, path: &str, op: Op) -> Destination {
        let check = |capability| self.gate.context.check_as(path.as_bytes(), capability, op);
        let (update, create) = (check(Capability::Update), check(Capability::Create));
        let is_closed = |check: &CheckResult| !check.is_allowed() && !self.gate.may_consent(check);
        let place = update.resolved.clone().filter(|_| !is_closed(&update) || !is_closed(&create));
        let exists = |place: &Path| {
            place.parent().is_none() || matches!(self.files.look(place), Ok(Some(_)))
        };
        match place {
            Some(place) if !exists(&place) => {
                let above: Vec<&Path> = place.ancestors().skip(1).collect();
                // From the outermost inwards: looking up a deep path whose upper directories are missing is slow.
                let there = match above.first() {
                    Some(dir) if exists(dir) => above.len(),
                    _ => above.iter().rev().take_while(|dir| exists(dir)).count(),
                };
                let missing = above.into_iter().rev().skip(there).rev();
                let check = |dir| self.gate.context.check_new_directory(dir);
                Destination { dirs: missing.map(check).collect(), target: create }
            }
            Some(_) => Destination { dirs: Vec::new(), target: update },
            // The answer must not reveal whether the path exists.
            None => {
                Destination { dirs: Vec::new(), target: update.also_suggest(Capability::Create) }
            }
        }
    }

    /// Grants for `others` and for everything that a destination needs, with one prompt.
    fn enter(
        &mut self,
        others: Vec<CheckResult>,
        destination: Destination,
        caller: &mut dyn Caller,
    ) -> Result<(Vec<Granted>, GrantedDestination), Fault> {
        let dirs = destination.dirs.len();
        let mut checks = others;
        checks.push(destination.target);
        checks.extend(destination.dirs);
        let mut granted = self.gate.pass_all(checks, caller)?;
        let dirs = granted.split_off(granted.len().saturating_sub(dirs));
        match granted.pop() {
            Some(target) => Ok((granted, GrantedDestination { dirs, target })),
            None => Err(Fault::denied("the policy is not usable")),
        }
    }

    /// Creates the missing directories, outermost first.
    fn create_dirs(&self, destination: &mut GrantedDestination, path: &str) -> Result<(), Fault> {
        while let Some(dir) = destination.dirs.pop() {
            match self.files.create_dir(&dir) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(fault("make a directory for", path, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Fails for directories, which are neither deleted nor renamed.
    fn demand_entry(&self, entry: &Granted, path: &str) -> Result<(), Fault> {
        match self.look(entry.path(), path)? {
            Some(Standing::Dir) => Err(Fault::params(format!("{path} is a directory"))),
            Some(_) => Ok(()),
            None => Err(missing(path)),
        }
    }

    pub(super) fn too_large(&self, path: &str) -> Fault {
        let limit = self.limit;
        Fault::new(Code::TooLarge, format!("{path} is larger than the limit of {limit} bytes"))
    }
}

/// The target of a write.
struct Destination {
    /// The missing directories, outermost last.
    dirs: Vec<CheckResult>,
    target: CheckResult,
}

/// A destination whose checks have passed.
struct GrantedDestination {
    dirs: Vec<Granted>,
    target: Granted,
}

/// The path of `name` in the directory at `path`.
pub(super) fn below(path: &str, name: &str) -> String {
    match path.trim_end_matches('/') {
        "" | "." => name.to_owned(),
        dir => format!("{dir}/{name}"),
    }
}

pub(super) fn missing(path: &str) -> Fault {
    Fault::new(Code::NotFound, format!("{path} does not exist"))
}

/// The fault for a file operation that failed after its check.
pub(super) fn fault(verb: &str, path: &str, error: &io::Error) -> Fault {
    let code = match error.kind() {
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::AlreadyExists => Code::Exists,
        ErrorKind::IsADirectory => Code::BadParams,
        ErrorKind::PermissionDenied | ErrorKind::NotADirectory => Code::Denied,
        // A symlink was put there in the meantime.
        _ if error.raw_os_error() == Some(LOOP) => Code::Denied,
        _ => Code::Internal,
    };
    Fault::new(code, format!("cannot {verb} {path}: {error}"))
}

/// The fault for a failed rename, with a suggestion if there is one.
fn not_renamed(from: &str, error: &io::Error) -> Fault {
    let mut fault = fault("rename", from, error);
    if error.kind() == ErrorKind::CrossesDevices {
        fault.message.push_str("; read it, write it at its new place and delete it here");
    }
    if error.raw_os_error() == Some(LOOP) {
        fault.message = format!(
            "cannot rename {from}: it is a symlink, and the policy is narrower below its new name"
        );
    }
    fault
}

const LOOP: i32 = rustix::io::Errno::LOOP.raw_os_error();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_renamed_is_to_be_copied_or_is_a_directory() {
        let told = |kind: ErrorKind| not_renamed("a", &kind.into());
        let crosses = told(ErrorKind::CrossesDevices);
        assert_eq!(crosses.code, Code::Internal);
        assert!(crosses.message.starts_with("cannot rename a: "), "{crosses}");
        assert!(
            crosses.message.ends_with("; read it, write it at its new place and delete it here")
        );
        let symlink = not_renamed("a", &io::Error::from_raw_os_error(LOOP));
        assert_eq!(symlink.code, Code::Denied);
        assert!(symlink.message.contains("it is a symlink"), "{symlink}");
        let directory = told(ErrorKind::IsADirectory);
        assert_eq!(directory.code, Code::BadParams);
        assert!(!directory.message.contains("write it"), "{directory}");
    }
}
