//! The preload library as a file that the loader of every confined process can open.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::scratch;

/// The preload library, built by `build.rs` for the target.
const SHIM: &[u8] = include_bytes!(env!("JP_CONFINE_SHIM"));

/// Tells versions of the library apart; what is loaded is compared byte for byte besides.
const HASH: u64 = hash(SHIM);

const NAME: &str = "libjp_confine.so";

/// How much of the file on disk is compared at a time.
const CHUNK: usize = 16 * 1024;

/// Makes sure that the library is on disk, and returns its path.
///
/// The name carries a hash of the contents, so that versions live side by side and a daemon that
/// outlives its run keeps its own; it is never deleted. Root installs for everybody, because what
/// root starts may change its user; others, and who is root in a namespace of its own only, install among
/// their own data. Where that cannot be written, or has a character that `LD_PRELOAD` takes for a separator,
/// a directory of the user's own in the host's temporary directory serves.
pub(crate) fn ensure(context: &Context) -> io::Result<PathBuf> {
    let folder = format!("shim-{HASH:016x}");
    let of_root = rustix::process::geteuid().is_root().then(|| PathBuf::from("/var/lib"));
    for base in of_root.iter().chain(&context.data_home) {
        let path = base.join("jp-confine").join(&folder).join(NAME);
        if preloadable(&path) && install(&path).is_ok() {
            return Ok(path);
        }
    }
    let base = scratch::common_ground(&context.temp)?;
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
        && File::open(path).is_ok_and(|file| is_shim(file).unwrap_or(false))
}

/// Whether `file` holds the library and nothing else; in pieces, because to make room for all of it
/// costs more than to compare it.
fn is_shim(mut file: File) -> io::Result<bool> {
    let mut chunk = [0; CHUNK];
    let mut rest = SHIM;
    loop {
        let count = file.read(&mut chunk)?;
        let Some(left) = rest.strip_prefix(chunk.get(..count).unwrap_or_default()) else {
            return Ok(false);
        };
        if count == 0 {
            return Ok(left.is_empty());
        }
        rest = left;
    }
}

/// FNV-1a over words of eight bytes, when this program is compiled.
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
