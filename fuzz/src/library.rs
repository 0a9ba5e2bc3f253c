//! Compares the preload library with the kernel, on generated trees. It must open the file that the kernel would have
//! opened, fail where the kernel fails, and deny exactly where the policy does.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use crate::asker::{Asker, is_granted};
use crate::tree::{self, clear, folder};

thread_local! {
    /// A confined program and its workspace. It is gone after a failure.
    static ARENA: Cell<Option<(tempfile::TempDir, Asker)>> = const { Cell::new(None) };
}

/// Makes a tree and spellings of `input`, and opens them in the tree under confinement by `product`. Changes the
/// working directory.
///
/// # Panics
/// If an answer is neither the kernel's nor the policy's.
pub fn judge(product: &Path, input: &[u8]) {
    let Some((tree, spellings)) = tree::generate(input) else { return };
    let (scratch, mut asker) = ARENA.take().unwrap_or_else(|| {
        let folder = folder();
        let asker = Asker::new(product, folder.path());
        (folder, asker)
    });
    let folder = scratch.path();
    asker.renew();
    tree.grow(folder);
    std::env::set_current_dir(folder).expect("the scratch folder");
    for spelling in spellings {
        let asked = spelling.within(folder);
        for flags in [OFlags::RDONLY, OFlags::WRONLY, OFlags::RDONLY | OFlags::NOFOLLOW] {
            compare(&mut asker, folder, &asked, flags);
        }
        create(&mut asker, folder, &asked);
    }
    clear(folder);
    ARENA.set(Some((scratch, asker)));
}

/// The file that the kernel opens without the library.
fn bare(path: &Path, flags: OFlags) -> Result<PathBuf, Errno> {
    use std::os::fd::AsRawFd as _;
    let fd = open(path, flags | OFlags::CLOEXEC, Mode::from(0o600))?;
    Ok(fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).expect("a path"))
}

fn compare(asker: &mut Asker, folder: &Path, asked: &Path, flags: OFlags) {
    let reads = !flags.contains(OFlags::WRONLY);
    let kept = flags & OFlags::NOFOLLOW;
    let arrived = bare(asked, OFlags::PATH | kept);
    let theirs = bare(asked, flags);
    let ours = asker.open(asked, flags);
    let agree = match (&arrived, &ours) {
        (Ok(place), ours) => match place.strip_prefix(folder) {
            Ok(place) if is_granted(place, reads) => *ours == theirs,
            Ok(_) => *ours == Err(Errno::ACCESS),
            // Outside the workspace the baseline decides.
            Err(_) => *ours == theirs || *ours == Err(Errno::ACCESS),
        },
        (Err(_), Err(Errno::ACCESS)) => true,
        // The library may walk in two parts, and count the symlinks of each.
        (Err(Errno::LOOP), Err(_)) => true,
        (Err(_), ours) => *ours == theirs,
    };
    assert!(agree, "{asked:?} {flags:?}: {ours:?}, but the kernel: {theirs:?} at {arrived:?}");
}

/// Creates a file under confinement, or checks that it is created only where allowed.
fn create(asker: &mut Asker, folder: &Path, asked: &Path) {
    let flags = OFlags::WRONLY | OFlags::CREATE;
    let existed = bare(asked, OFlags::PATH).is_ok();
    let ours = asker.open(asked, flags);
    if !existed && let Ok(made) = &ours {
        fs::remove_file(made).expect("the new file");
    }
    let theirs = bare(asked, flags);
    if !existed && let Ok(made) = &theirs {
        fs::remove_file(made).expect("the new file");
    }
    let granted = theirs
        .as_ref()
        .ok()
        .and_then(|made| made.strip_prefix(folder).ok())
        .map(|made| is_granted(made, false));
    let agree = match granted {
        Some(true) => ours == theirs,
        Some(false) => ours == Err(Errno::ACCESS),
        None if theirs == Err(Errno::LOOP) => ours.is_err(),
        None => ours == theirs || ours == Err(Errno::ACCESS),
    };
    assert!(agree, "{asked:?} made: {ours:?}, but the kernel: {theirs:?}");
}
