//! Finds the file that a program's name means, and checks that the policy holds for it. Used by `start`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::executable::{ExecutableKind, Libc};
use jp_confine_engine::image::{Image, RuleId};
use jp_confine_engine::loader::{self, Start};

use crate::error::{Failure, NotRun};
use crate::host::context::Context;
use crate::host::outer_views::OuterViews;
use crate::host::program_lookup::{candidates, kind, own_path};
use crate::plan::unsupervised::Unsupervised;
use crate::record::denial::{Denial, Layer, Reason};

/// How many `#!` lines the kernel follows (`exec_binprm` in fs/exec.c).
const INTERPRETERS: usize = 5;

/// A program that may be started.
#[derive(Debug)]
pub(crate) struct StartableProgram {
    /// The path that it is started by.
    pub(crate) file: PathBuf,
    /// The canonical path when it was judged.
    pub(crate) canonical: PathBuf,
}

/// The file that `name` means, looked up in `PATH` as the shell would. It is one that may be executed and that loads
/// the preload library (spec §13).
///
/// The search ends at a denied file: another program of that name must not start in its place (spec §18). It passes over
/// files that cannot be run at all. If no candidate fits, the failure is about the first one.
pub(crate) fn find(
    context: &Context,
    name: &OsStr,
    judge: Judge<'_>,
) -> Result<StartableProgram, Failure> {
    let mut refused = None;
    for candidate in candidates(context, name) {
        let Ok(meta) = candidate.metadata() else { continue };
        let answer = if meta.is_dir() {
            Err(NotRun::Unfit("it is a directory".to_owned()))
        } else if meta.permissions().mode() & 0o111 == 0 {
            Err(NotRun::Unfit("the file is not executable".to_owned()))
        } else {
            judge.program(&context.absolute(&candidate), &own_path(), INTERPRETERS)
        };
        match answer {
            Ok(canonical) => return Ok(StartableProgram { file: candidate, canonical }),
            Err(reason) => {
                let is_denied = matches!(reason, NotRun::Denied(_));
                refused.get_or_insert(Failure::NotExecutable { path: candidate, reason });
                if is_denied {
                    break;
                }
            }
        }
    }
    Err(refused.unwrap_or_else(|| Failure::NotFound { program: name.into() }))
}

/// Whether the file has capabilities (`capabilities(7)`). For those the loader ignores `LD_PRELOAD`.
fn has_capabilities(path: &Path) -> bool {
    rustix::fs::getxattr(path, "security.capability", &mut [0; 64]).is_ok()
}

/// Why the library cannot rely on a loader that the run may write to, and the suggestion.
const REPLACEABLE: &str = "the run may change it, and so lose the preload library, which alone holds \
     this run; name a smaller workspace, or see `jp-confine doctor` for other layers";

/// Judges the programs of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge<'a> {
    /// The views of the run around this one.
    pub(crate) outer_views: &'a OuterViews,
    /// The policy, with the layers behind the library.
    pub(crate) image: &'a Image<'a>,
    /// The arguments after the program's name. A loader takes its program from them.
    pub(crate) arguments: &'a [OsString],
    /// Whether there is a person. Typing the program was consent.
    pub(crate) typed_by_person: bool,
    /// Why only the library and Landlock confine the run, if nothing else does.
    pub(crate) unsupervised: Unsupervised,
}

impl Judge<'_> {
    /// The canonical path that `path` leads to in reality.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(self.outer_views.real(path.canonicalize()?))
    }

    /// The canonical path of `path`, if `by` may start the file there.
    fn program(&self, path: &Path, by: &Path, interpreters: usize) -> Result<PathBuf, NotRun> {
        let canonical = self.canonical(path).map_err(|error| NotRun::Unfit(error.to_string()))?;
        self.may_execute(&canonical, path, by)?;
        self.what_starts(&canonical, interpreters)?;
        Ok(canonical)
    }

    /// Checks that the layers confine whatever the kernel starts for the program at this canonical path, and that it
    /// may be executed.
    fn what_starts(&self, canonical: &Path, interpreters: usize) -> Result<(), NotRun> {
        let (kind, next) = kind(canonical)?;
        let next = Path::new(OsStr::from_bytes(&next));
        match kind {
            ExecutableKind::Dynamic
                if has_capabilities(canonical) && !self.image.behind().other_programs =>
            {
                Err(self
                    .unheld("it has capabilities of its own, so the loader ignores the library"))
            }
            ExecutableKind::Dynamic => self.loader(next, canonical),
            ExecutableKind::Script if interpreters > 0 => {
                let outcome = self.program(next, canonical, interpreters - 1);
                outcome.map(drop).map_err(|reason| reason.of("its interpreter", next))
            }
            ExecutableKind::Script => Err(NotRun::Unfit("interpreters in a circle".to_owned())),
            // No magic number: the C library runs it with the shell (`exec(3)`, ENOEXEC).
            ExecutableKind::Other => self.program(Path::new("/bin/sh"), canonical, 0).map(drop),
            ExecutableKind::Static if self.image.behind().other_programs => Ok(()),
            ExecutableKind::Loader(libc) if self.image.behind().other_programs => {
                self.loaded(libc, canonical)
            }
            ExecutableKind::Static | ExecutableKind::Loader(_) => {
                Err(self.unheld("it is statically linked, so the library cannot be in it"))
            }
            ExecutableKind::Foreign => Err(NotRun::Unfit(
                "it is built for another architecture, so the preload library cannot hold it to \
                 the policy, and its system calls are refused; use a build for this machine"
                    .to_owned(),
            )),
        }
    }

    /// Checks that the `loader` may execute its program. The loader itself reports a missing file.
    fn loaded(&self, libc: Libc, loader: &Path) -> Result<(), NotRun> {
        let words = self.arguments.iter().map(|word| word.as_bytes());
        let start = match libc {
            Libc::Glibc => loader::of_glibc(words),
            Libc::Other => loader::of_musl(words),
        };
        match start {
            Start::Program(name) => {
                let path = Path::new(OsStr::from_bytes(name));
                let Ok(canonical) = self.canonical(path) else { return Ok(()) };
                self.may_execute(&canonical, path, loader)
            }
            Start::Unknown => Err(NotRun::Unfit(
                "it is a loader: name its program with a slash behind options that ld.so(8) knows, or start that \
                 itself"
                    .to_owned(),
            )),
            Start::Nothing => Ok(()),
        }
    }

    /// The refusal for a program that, because of `why`, only a supervisor could confine.
    fn unheld(&self, why: &str) -> NotRun {
        let way = self.unsupervised.way_out();
        NotRun::Unfit(format!("{why}, and nothing else holds it; {way}"))
    }

    /// Checks that the loader at `path`, which `by` needs, loads the library.
    fn loader(&self, path: &Path, by: &Path) -> Result<(), NotRun> {
        let unfit = |reason: String| NotRun::Unfit(reason).of("its loader", path);
        let canonical = self.canonical(path).map_err(|error| unfit(error.to_string()))?;
        self.may_execute(&canonical, path, by)?;
        let request = Request::canonical(canonical.as_os_str().as_bytes());
        let held = self.image.behind().other_programs
            || decide::loader(self.image, &request) == Verdict::Allow;
        if held { Ok(()) } else { Err(unfit(REPLACEABLE.to_owned())) }
    }

    /// Checks that the policy lets `by` execute the file at `canonical`. The denial records the spelling in `path`.
    fn may_execute(&self, canonical: &Path, path: &Path, by: &Path) -> Result<(), NotRun> {
        let route: PathBuf = path.components().collect();
        let canonical = canonical.as_os_str().as_bytes();
        let request = Request::canonical(canonical);
        let verdict = decide::access(self.image, &request, Capabilities::EXECUTE);
        let Verdict::Deny(denied) = verdict else { return Ok(()) };
        if denied.ask && self.typed_by_person && by == own_path() {
            return Ok(());
        }
        Err(NotRun::Denied(Box::new(Denial {
            rule: denied.rule.map(RuleId::index),
            missing: denied.missing,
            question: denied.ask,
            restraint: denied.restraint,
            layer: Layer::Launcher,
            route: route.into_os_string().into_vec(),
            ..Denial::by_supervisor(
                Reason::Rule,
                canonical,
                (std::process::id(), by.as_os_str().as_bytes().to_owned()),
                b"execve",
            )
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_to_know_what_a_program_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .expect("a fifo");
        for path in [folder.path(), &fifo, Path::new("/dev/null")] {
            assert!(matches!(kind(path), Err(NotRun::Unfit(_))), "{}", path.display());
        }
        assert!(matches!(kind(Path::new("/proc/self/exe")), Ok((ExecutableKind::Dynamic, _))));
    }
}
