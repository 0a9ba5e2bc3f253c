//! The preload library as a file that the loader of every confined process can open.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::context::Context;

/// The preload library, built by `build.rs` for the target.
const SHIM: &[u8] = include_bytes!(env!("JP_CONFINE_SHIM"));

const NAME: &str = "libjp_confine.so";

/// Makes sure that the library is on disk, and returns its path.
///
/// The name carries a hash of the contents, so that versions live side by side and a daemon that
/// outlives its run keeps its own; it is never deleted. Root installs for everybody, because what
/// root starts may change its user; others install among their own data. Where that cannot be
/// written, or has a character that `LD_PRELOAD` takes for a separator, a directory of the user's
/// own in the host's temporary directory serves.
pub(crate) fn ensure(context: &Context) -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    SHIM.hash(&mut hasher);
    let folder = format!("shim-{:016x}", hasher.finish());
    let root = rustix::process::geteuid().is_root();
    let usual = if root {
        Some(PathBuf::from("/var/lib/jp-confine"))
    } else {
        context.data_home.as_ref().map(|dir| dir.join("jp-confine"))
    };
    if let Some(base) = usual {
        let path = base.join(&folder).join(NAME);
        if preloadable(&path) && install(&path).is_ok() {
            return Ok(path);
        }
    }
    let base = private(&context.temp)?;
    let path = base.join(&folder).join(NAME);
    if !preloadable(&path) {
        return Err(io::Error::other(format!(
            "{} has a space or colon, which LD_PRELOAD cannot carry",
            path.display()
        )));
    }
    install(&path)?;
    Ok(path)
}

/// `ld.so(8)`: the list is separated by spaces or colons, and there is no escape.
fn preloadable(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b' ' | b':' | b'\n' | b'$'))
}

/// Writes the library at `path` unless exactly it is there already.
fn install(path: &Path) -> io::Result<()> {
    if is_ours(path) {
        return Ok(());
    }
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::DirBuilder::new().recursive(true).mode(0o755).create(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(SHIM)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    file.persist(path).map_err(|error| error.error)?;
    if is_ours(path) { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Whether the file is byte for byte ours, and nobody else can change it.
fn is_ours(path: &Path) -> bool {
    let Ok(meta) = path.symlink_metadata() else { return false };
    let me = rustix::process::geteuid().as_raw();
    meta.is_file()
        && (meta.uid() == me || meta.uid() == 0)
        && meta.mode() & 0o022 == 0
        && meta.len() == SHIM.len() as u64
        && fs::read(path).is_ok_and(|bytes| bytes == SHIM)
}

/// A directory below the temporary directory that is this user's and nobody else's: anybody can
/// make a name there first.
fn private(temp: &Path) -> io::Result<PathBuf> {
    let me = rustix::process::geteuid().as_raw();
    let dir = temp.canonicalize()?.join(format!("jp-confine-{me}"));
    match fs::DirBuilder::new().mode(0o700).create(&dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = dir.symlink_metadata()?;
    if meta.is_dir() && meta.uid() == me && meta.mode() & 0o777 == 0o700 {
        return Ok(dir);
    }
    Err(io::Error::other(format!("{} is not a private directory of yours", dir.display())))
}
