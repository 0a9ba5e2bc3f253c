//! Which file a program's name means, and whether it can be run so that the policy holds.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::Grant;
use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::Image;

use crate::context::Context;
use crate::failure::{Failure, Refusal};

/// Interpreters of interpreters that the kernel follows (`execve(2)`, `BINPRM_MAX_RECURSION`).
const INTERPRETERS: usize = 4;

/// As much of a file as the kernel looks at to tell what it is, and the program headers after it.
const HEAD: u64 = 4096;

/// The file that `name` means, looked up in `PATH` as the shell would, which may be executed and
/// which the preload library will see (spec §13).
///
/// A file that is denied is passed over while others of that name may follow, as confined programs
/// pass it over too; the failure is about the first.
pub(crate) fn find(
    context: &Context,
    name: &OsStr,
    image: &Image<'_>,
    grants: &[Grant],
) -> Result<PathBuf, Failure> {
    let judge = Judge { image, grants };
    let mut refused = None;
    for candidate in candidates(context, name) {
        let Ok(meta) = candidate.metadata() else { continue };
        let answer = if meta.is_dir() {
            Err(Refusal::Unfit("it is a directory".to_owned()))
        } else if meta.permissions().mode() & 0o111 == 0 {
            Err(Refusal::Unfit("the file is not executable".to_owned()))
        } else {
            judge.program(&context.absolute(&candidate), INTERPRETERS)
        };
        match answer {
            Ok(()) => return Ok(candidate),
            Err(reason) => {
                refused.get_or_insert(Failure::NotExecutable { path: candidate, reason });
            }
        }
    }
    Err(refused.unwrap_or_else(|| Failure::NotFound { program: name.into() }))
}

/// The files that `name` can mean, in the order of `PATH`.
pub(crate) fn candidates(context: &Context, name: &OsStr) -> Vec<PathBuf> {
    if name.is_empty() {
        return Vec::new();
    }
    if name.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(name)];
    }
    // An empty element of PATH is the working directory (`environ(7)`).
    std::env::split_paths(&context.path).map(|dir| Path::new(".").join(dir).join(name)).collect()
}

/// Whether the file has capabilities (`capabilities(7)`), for which the loader ignores `LD_PRELOAD`.
fn has_capabilities(path: &Path) -> bool {
    rustix::fs::getxattr(path, "security.capability", &mut [0; 64]).is_ok()
}

/// Why the library cannot rely on a loader that may be written to, and the way out.
const REPLACEABLE: &str = "the run may change it, and so lose the preload library, which alone holds \
     this run; name a smaller workspace, or see `jp-confine doctor` for other layers";

struct Judge<'a> {
    image: &'a Image<'a>,
    grants: &'a [Grant],
}

impl Judge<'_> {
    fn program(&self, path: &Path, interpreters: usize) -> Result<(), Refusal> {
        let canonical = path.canonicalize().map_err(|error| Refusal::Unfit(error.to_string()))?;
        let request = Request::canonical(canonical.as_os_str().as_bytes());
        self.refuse(decide::access(self.image, &request, Capabilities::EXECUTE))?;
        let head = head(&canonical)?;
        match Kind::of(&head) {
            Kind::Dynamic { .. }
                if has_capabilities(&canonical) && !self.image.behind().other_programs =>
            {
                Err(Refusal::Unfit(
                    "it has capabilities of its own, so the loader ignores the preload library, and \
                     nothing else holds it to the policy in this run"
                        .to_owned(),
                ))
            }
            Kind::Dynamic { loader } => self.loader(Path::new(OsStr::from_bytes(loader))),
            Kind::Script { interpreter } if interpreters > 0 => {
                let interpreter = Path::new(OsStr::from_bytes(interpreter));
                self.program(interpreter, interpreters - 1).map_err(|reason| {
                    Refusal::Unfit(format!("its interpreter {}: {reason}", interpreter.display()))
                })
            }
            Kind::Script { .. } => Err(Refusal::Unfit("interpreters in a circle".to_owned())),
            // No magic number: the C library runs it with the shell (`exec(3)`, ENOEXEC).
            Kind::Text => self.program(Path::new("/bin/sh"), 0),
            Kind::Static if self.image.behind().other_programs => Ok(()),
            Kind::Static => Err(Refusal::Unfit(
                "it is statically linked, so the preload library cannot hold it to the policy, \
                 and nothing else does in this run"
                    .to_owned(),
            )),
            Kind::Foreign => Err(Refusal::Unfit(
                "it is built for another architecture, so the preload library cannot hold it to \
                 the policy, and the kernel refuses its system calls"
                    .to_owned(),
            )),
        }
    }

    fn loader(&self, path: &Path) -> Result<(), Refusal> {
        let named = |reason: &dyn std::fmt::Display| {
            Refusal::Unfit(format!("its loader {}: {reason}", path.display()))
        };
        let canonical = path.canonicalize().map_err(|error| named(&error))?;
        let request = Request::canonical(canonical.as_os_str().as_bytes());
        self.refuse(decide::access(self.image, &request, Capabilities::EXECUTE))
            .map_err(|reason| named(&reason))?;
        let held = self.image.behind().other_programs
            || decide::loader(self.image, &request) == Verdict::Allow;
        if held { Ok(()) } else { Err(named(&REPLACEABLE)) }
    }

    fn refuse(&self, verdict: Verdict) -> Result<(), Refusal> {
        let Verdict::Deny(denial) = verdict else { return Ok(()) };
        let rule = denial.rule.and_then(|rule| self.grants.get(rule.index()));
        Err(Refusal::Denied {
            missing: denial.missing,
            rule: rule.map(|grant| grant.origin.clone()),
        })
    }
}

fn head(path: &Path) -> Result<Vec<u8>, Refusal> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.map_err(|error| {
        Refusal::Unfit(format!("what kind of program it is is unknown: {error}"))
    })?;
    Ok(head)
}

/// What the first bytes of a program say about it.
#[derive(Debug, PartialEq, Eq)]
enum Kind<'a> {
    /// An ELF program of this architecture that names a loader.
    Dynamic { loader: &'a [u8] },
    /// An ELF program without a loader.
    Static,
    /// An ELF program of another class or machine.
    Foreign,
    /// `#!`.
    Script { interpreter: &'a [u8] },
    /// Neither.
    Text,
}

impl<'a> Kind<'a> {
    fn of(head: &'a [u8]) -> Self {
        if let Some(line) = head.strip_prefix(b"#!") {
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            return words.next().map_or(Self::Text, |interpreter| Self::Script { interpreter });
        }
        if !head.starts_with(b"\x7fELF") {
            return Self::Text;
        }
        Self::of_elf(head).unwrap_or(Self::Static)
    }

    /// `elf(5)`; `None` where the headers are cut off or name no loader.
    fn of_elf(head: &'a [u8]) -> Option<Self> {
        const PT_INTERP: u32 = 3;
        const CLASS_64: u8 = 2;
        let class = *head.get(4)?;
        if class != CLASS_64 || word16(head, 18)? != MACHINE {
            return Some(Self::Foreign);
        }
        let table = usize::try_from(word64(head, 32)?).ok()?;
        let size = usize::from(word16(head, 54)?);
        let count = usize::from(word16(head, 56)?);
        for index in 0..count {
            let entry = head.get(table.checked_add(index.checked_mul(size)?)?..)?;
            if word32(entry, 0)? != PT_INTERP {
                continue;
            }
            let offset = usize::try_from(word64(entry, 8)?).ok()?;
            let length = usize::try_from(word64(entry, 32)?).ok()?;
            let text = head.get(offset..offset.checked_add(length)?)?;
            let loader = text.split(|byte| *byte == 0).next().unwrap_or_default();
            return Some(Self::Dynamic { loader });
        }
        None
    }
}

/// `e_machine` of programs that the preload library can be loaded into.
const MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

fn word16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn scripts_name_their_interpreter() {
        let script = |text: &'static [u8]| Kind::of(text);
        assert_eq!(script(b"#! /bin/sh -e\n"), Kind::Script { interpreter: b"/bin/sh" });
        assert_eq!(script(b"#!/usr/bin/env"), Kind::Script { interpreter: b"/usr/bin/env" });
        assert_eq!(script(b"#!\n"), Kind::Text);
        assert_eq!(script(b""), Kind::Text);
    }

    #[test]
    fn elf_headers_cut_short_are_never_dynamic() {
        let own = std::fs::read("/proc/self/exe").unwrap_or_default();
        for length in 4..64.min(own.len()) {
            assert!(!matches!(Kind::of(&own[..length]), Kind::Dynamic { .. }), "{length}");
        }
        assert!(matches!(Kind::of(&own), Kind::Dynamic { .. } | Kind::Static));
    }

    #[test]
    fn another_architecture_is_foreign() {
        let mut head = vec![0; 64];
        head[..5].copy_from_slice(b"\x7fELF\x01");
        assert_eq!(Kind::of(&head), Kind::Foreign);
    }
}
