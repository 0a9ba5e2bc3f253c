//! Tests the resolver against the kernel, on random trees.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use jp_confine_engine::build::View;

use super::answers::described;
use super::caller::{become_stranger, is_root};
use super::{Ground, HERE, address, agree, c, call, said};

/// Reproducible random numbers (`splitmix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % (bound as u64)).expect("small")
    }

    fn path(&mut self, root: &str) -> String {
        const PARTS: [&str; 12] = ["a", "b", "c", "a", "b", "c", "..", ".", "", "f", "none", "l"];
        let mut text = match self.below(8) {
            0 => format!("{root}/"),
            1 => "/proc/self/cwd/".to_owned(),
            _ => String::new(),
        };
        for at in 0..=self.below(5) {
            if at > 0 {
                text.push('/');
            }
            text.push_str(PARTS[self.below(PARTS.len())]);
        }
        if self.below(6) == 0 {
            text.push('/');
        }
        text
    }
}

fn grow(ground: &Ground, random: &mut Random) {
    let root = ground.path("");
    let mut directories = vec![root.clone()];
    for _ in 0..30 {
        let parent = directories[random.below(directories.len())].clone();
        let name = ["a", "b", "c", "l", "f"][random.below(5)];
        let path = parent.join(name);
        match (name, random.below(3)) {
            ("f", _) if std::fs::write(&path, "").is_ok() => open_to_all(&path),
            ("l", _) | (_, 0) => {
                drop(symlink(random.path(root.to_str().expect("text")), path));
            }
            _ if std::fs::create_dir(&path).is_ok() => {
                open_to_all(&path);
                directories.push(path);
            }
            _ => {}
        }
    }
}

fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, Permissions::from_mode(0o777)).expect("set");
}

#[test]
fn paths_lead_where_the_kernel_goes() {
    assert_kernels_way(&[], || {});
}

/// A view elsewhere changes how paths are followed, and nothing else.
#[test]
fn paths_lead_the_same_way_beside_a_view() {
    let view = View { place: "/jp-confine-place".into(), backing: "/jp-confine-backing".into() };
    assert_kernels_way(&[view], || {});
}

/// Only the process itself can still see its entries in `/proc`.
#[test]
fn paths_lead_a_caller_that_became_another_the_same_way() {
    if is_root() {
        assert_kernels_way(&[], become_stranger);
    }
}

/// The paths must lead to the same objects as bare, after the caller ran `first`.
fn assert_kernels_way(views: &[View], first: impl Fn()) {
    let flags: [i32; 4] = [
        libc::O_RDONLY | libc::O_NONBLOCK,
        libc::O_RDONLY | libc::O_NOFOLLOW,
        libc::O_RDONLY | libc::O_DIRECTORY,
        libc::O_WRONLY | libc::O_NONBLOCK,
    ];
    for seed in 0..25 {
        let walk = |ground: &Ground| {
            let mut random = Random(seed);
            grow(ground, &mut random);
            let root = ground.path("").to_str().expect("text").to_owned();
            let seed = random.0;
            let first = &first;
            move || {
                first();
                let mut random = Random(seed);
                let mut text = String::new();
                for _ in 0..150 {
                    let path = random.path(&root);
                    let flags = flags[random.below(flags.len())];
                    let name = c(&path);
                    let number = usize::try_from(flags).expect("positive");
                    let opened = call(libc::SYS_open, &[address(&name), number, 0o600]);
                    let place = opened.map(|fd| {
                        let place = std::fs::read_link(format!("/proc/self/fd/{fd}"));
                        let _ = call(libc::SYS_close, &[usize::try_from(fd).expect("open")]);
                        place
                    });
                    let place = match place {
                        Ok(place) => format!("{}", place.expect("a place").display()),
                        Err(errno) => said(Err(errno)),
                    };
                    let _ = writeln!(text, "{path} {flags:o}: {place}");
                }
                text
            }
        };
        let (bare, mut trapped) = (Ground::new(&[]), Ground::new(&[]));
        trapped.views = views.to_vec();
        let expected = bare.bare(walk(&bare));
        let (answers, denials) = trapped.trapped(walk(&trapped));
        // Nothing may be written above the tree.
        let refused = |line: &&str| line.contains("code: 13,");
        for (expected, answer) in expected.lines().zip(answers.lines()) {
            if !refused(&answer) {
                assert_eq!(expected, answer, "seed {seed}");
            }
        }
        let outside = answers.lines().filter(refused).count();
        let refused_bare = expected.lines().filter(refused).count();
        let root = trapped.path("");
        assert!((outside - refused_bare..=outside).contains(&denials.len()), "seed {seed}");
        for denial in &denials {
            let path = String::from_utf8_lossy(&denial.path);
            assert!(!std::path::Path::new(&*path).starts_with(&root), "seed {seed}: {path}");
        }
    }
}

/// The kernel only recognises another mount if it has met the root on the way.
#[test]
fn absolute_links_with_every_resolve_flag() {
    agree(by_absolute_links);
}

/// Opens through absolute links, and by absolute paths.
pub(super) fn by_absolute_links() -> String {
    let mut text = String::new();
    let root = std::env::current_dir().expect("there");
    let dir = std::fs::File::open("d").expect("open");
    let dir = std::os::fd::AsRawFd::as_raw_fd(&dir).unsigned_abs() as usize;
    let absolute = root.join("al");
    let absolute = absolute.to_str().expect("text");
    let paths = ["far", "d/far", "../al", "al", "d/../al", "far/g", "null", absolute, "/dev/null"];
    for (dirfd, at) in [("dir", dir), ("here", HERE), ("none", 1 << 20)] {
        for resolve in [0_u64, 1, 2, 3, 4, 8, 9, 16, 17] {
            for path in paths {
                let name = c(path);
                let how = [0, 0, resolve];
                let how = how.as_ptr().expose_provenance();
                let outcome = call(libc::SYS_openat2, &[at, address(&name), how, 24]);
                let _ = writeln!(text, "{dirfd} {resolve} {path}: {}", described(outcome));
            }
        }
    }
    text
}
