//! Installs the preload library as a file that the loader of every confined process can open. Used by `run_resources`.

use std::fmt::Display;
use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::{Capabilities, canonical};
use rustix::fs::{StatVfsMountFlags, statvfs};

use crate::error::Failure;
use crate::files;
use crate::host::context::Context;
use crate::host::run_directory::Scratch;
use crate::text::quote;

/// The preload library, built by `build.rs` for the target.
const SHIM: &[u8] = include_bytes!(env!("JP_CONFINE_SHIM"));

/// Tells versions of the library apart.
const HASH: u64 = hash(SHIM);

const NAME: &str = "libjp_confine.so";

/// Makes sure that the library is on disk, and returns its canonical path.
///
/// The name contains a hash of the contents, so versions exist side by side, and a daemon that outlives its run keeps
/// its own. The file is never deleted. Root installs for everybody, because root's programs may change their user.
/// Other users install into their own data directory, as does root of a user namespace. The launcher falls back to the
/// directory of `scratch` if that cannot be written, has a character that separates `LD_PRELOAD` entries, or is mounted
/// `noexec`. If `noexec` holds for all of them, only programs that do not depend on the library run, without it (see
/// [`obstacle`]).
///
/// # Errors
/// None of these directories will do.
pub(crate) fn ensure(context: &Context, scratch: &Scratch) -> Result<PathBuf, Failure> {
    let folder = format!("shim-{HASH:016x}");
    let of_root = rustix::process::geteuid().is_root().then(|| PathBuf::from("/var/lib"));
    for base in of_root.iter().chain(&context.homes.data) {
        let path = base.join("jp-confine").join(&folder).join(NAME);
        if install(&path).is_err() {
            continue;
        }
        // A link may lead to the home, and the policy grants the target.
        let path = canonical::existing(&path).unwrap_or(path);
        if preloadable(&path) && may_be_mapped(&path) {
            return Ok(path);
        }
    }
    let path = scratch.ground().join(&folder).join(NAME);
    if !preloadable(&path) {
        return Err(nowhere(&path, &"LD_PRELOAD cannot carry a space or colon"));
    }
    install(&path).map_err(|error| nowhere(&path, &error))?;
    Ok(path)
}

/// Whether the loader may map the file as executable. Otherwise it complains, and goes on without the library.
fn may_be_mapped(path: &Path) -> bool {
    statvfs(path).is_ok_and(|mount| !mount.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// Why programs could not load the library at `path`, which is canonical. In that case their loaders complain, and go
/// on without it. `judge` is the policy, if a supervisor judges by it what they read.
pub(crate) fn obstacle(path: &Path, judge: Option<&Image<'_>>) -> Option<String> {
    let shown = quote::printable(path.as_os_str().as_bytes());
    let request = Request::canonical(path.as_os_str().as_bytes());
    let denies = |image| decide::access(image, &request, Capabilities::READ) != Verdict::Allow;
    if !may_be_mapped(path) {
        Some(format!("nothing may be executed where {shown} is"))
    } else if judge.is_some_and(denies) {
        Some(format!("the policy keeps programs from {shown}"))
    } else {
        None
    }
}

/// Uses the library at `path`, which is absolute and was installed by an outer run. Programs of that run load this
/// library and no other, whatever `LD_PRELOAD` says. The owner does not matter: the outer run already relies on it, and
/// a namespace may not map it.
///
/// # Errors
/// The file cannot be read, or is another library, which may not be able to read this program's policies.
pub(crate) fn take_over(path: PathBuf) -> Result<PathBuf, Failure> {
    let shown = quote::printable(path.as_os_str().as_bytes());
    match path.symlink_metadata().and_then(|meta| holds_shim(&path, &meta)) {
        Ok(true) => Ok(path),
        Ok(false) => Err(Failure::advised(
            format!(
                "this is inside a run of another version of jp-confine, whose library is loaded: {shown}"
            ),
            "use the same version inside as outside",
        )),
        Err(error) => Err(unloadable(&path, &error)),
    }
}

/// The error if the program's loader cannot load the library at `path`: the program would start without it.
pub(crate) fn unloadable(path: &Path, error: &io::Error) -> Failure {
    let path = quote::printable(path.as_os_str().as_bytes());
    Failure::advised(
        format!("nothing was run: the program could not load the preload library {path}: {error}"),
        "set XDG_DATA_HOME, for the outermost run, to a directory that the program's user may \
         read and execute from",
    )
}

fn nowhere(path: &Path, why: &dyn Display) -> Failure {
    let path = quote::printable(path.as_os_str().as_bytes());
    Failure::advised(
        format!("the preload library cannot be written to {path}: {why}"),
        "set XDG_DATA_HOME or TMPDIR to a directory that you may write to",
    )
}

/// Whether `LD_PRELOAD` can carry the path. The list is separated by spaces or colons, and there is no escape
/// (`ld.so(8)`).
fn preloadable(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b' ' | b':' | b'\n' | b'$'))
}

/// Writes the library to `path`, unless it is there already.
fn install(path: &Path) -> io::Result<()> {
    if is_ours(path) {
        return Ok(());
    }
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::DirBuilder::new().recursive(true).mode(0o755).create(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(SHIM)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    // A later start looks at the size alone, so a crash must not leave the right size without the contents.
    file.as_file().sync_all()?;
    canonical::forget();
    file.persist(path).map_err(|error| error.error)?;
    if is_ours(path) { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Whether the file at `path`, which names the contents by their hash, is the whole library, and only this user or root
/// can have written it. No run can (`control` of the policy).
fn is_ours(path: &Path) -> bool {
    let Ok(meta) = path.symlink_metadata() else { return false };
    let me = rustix::process::geteuid().as_raw();
    (meta.uid() == me || meta.uid() == 0) && may_be_shim(&meta)
}

/// Whether it is a file of the library's size that only its owner can change.
fn may_be_shim(meta: &Metadata) -> bool {
    meta.is_file() && meta.mode() & 0o022 == 0 && meta.len() == SHIM.len() as u64
}

/// Whether the file is byte for byte this library, and only its owner can change it.
fn holds_shim(path: &Path, meta: &Metadata) -> io::Result<bool> {
    Ok(may_be_shim(meta) && files::read_own(path)? == SHIM)
}

/// FNV-1a over words of eight bytes, computed at compile time.
const fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut rest = bytes;
    while let Some((word, left)) = rest.split_first_chunk() {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x0100_0000_01b3);
        rest = left;
    }
    while let Some((byte, left)) = rest.split_first() {
        hash = (hash ^ *byte as u64).wrapping_mul(0x0100_0000_01b3);
        rest = left;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: &[u8], mode: u32) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(NAME);
        fs::write(&path, bytes).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        (dir, path)
    }

    #[test]
    fn the_outer_run_has_the_same_library_or_nothing_runs() {
        let (dir, path) = written(SHIM, 0o644);
        assert_eq!(take_over(path.clone()).expect("ours"), path);
        let missing = take_over(dir.path().join("other"));
        assert_eq!(missing.expect_err("missing").status(), 125);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert_eq!(take_over(link).expect_err("a link").status(), 125);

        for (bytes, mode) in [(&SHIM[1..], 0o644), (b"", 0o644), (SHIM, 0o666)] {
            let (_dir, path) = written(bytes, mode);
            assert_eq!(take_over(path).expect_err("another").status(), 125);
        }
        assert!(take_over(PathBuf::new()).is_err());
    }
}
