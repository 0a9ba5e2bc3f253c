//! Fuzzes the preload library against the kernel, on generated trees. It must open the file that the kernel would have
//! opened, fail where the kernel fails, and deny exactly where the policy does.

#![no_main]

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use jp_confine_fuzz::asker::{Asker, is_granted};
use jp_confine_fuzz::tree::{Spelling, Tree, clear, folder};
use libfuzzer_sys::fuzz_target;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

thread_local! {
    static ARENA: RefCell<Option<(tempfile::TempDir, Asker)>> = const { RefCell::new(None) };
}

fuzz_target!(|case: (Tree, [Spelling; 4])| {
    ARENA.with_borrow_mut(|arena| {
        let (folder, asker) = arena.get_or_insert_with(|| {
            let folder = folder();
            let asker = Asker::new(folder.path());
            (folder, asker)
        });
        let folder = folder.path();
        let (tree, spellings) = case;
        asker.renew();
        tree.grow(folder);
        std::env::set_current_dir(folder).expect("the scratch folder");
        for spelling in spellings {
            let asked = spelling.within(folder);
            for flags in [OFlags::RDONLY, OFlags::WRONLY, OFlags::RDONLY | OFlags::NOFOLLOW] {
                compare(asker, folder, &asked, flags);
            }
            create(asker, folder, &asked);
        }
        clear(folder);
    });
});

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
