//! Tests where names lead through views, and that nothing lands in the real places.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::View;

use super::{ALL, Ground, HERE, READ, address, c, call, said, shown, written};

const NEW: i32 = libc::O_CREAT | libc::O_WRONLY;
const READ_ONLY: i32 = libc::O_RDONLY | libc::O_NONBLOCK;

/// `full` shows `deep/back`, and `full/inner` in it shows another directory. Below `full`, `work/ws` is granted. The
/// place `none/place` does not exist. `cache` shows `deep/store`, which has links to the real `cache`.
fn ground() -> Ground {
    let none = Capabilities::NONE;
    let mut ground = Ground::new(&[
        ("full", none),
        ("full/inner", none),
        ("none/place", none),
        ("cache", READ),
        ("full/work/ws", ALL),
    ]);
    for (place, backing) in [
        ("full", "deep/back"),
        ("full/inner", "deep/inner"),
        ("none/place", "deep/place"),
        ("cache", "deep/store"),
    ] {
        let (place, backing) = (ground.path(place), ground.path(backing));
        fs::create_dir_all(&backing).expect("made");
        ground.grant(&backing, ALL);
        ground.views.push(View { place, backing });
    }
    for directory in ["deep/back/sub", "full/work/ws", "cache/crate", "full/inner"] {
        fs::create_dir_all(ground.path(directory)).expect("made");
    }
    for file in [
        "deep/back/x",
        "deep/back/sub/y",
        "deep/inner/z",
        "full/inner/real",
        "full/work/ws/w",
        "cache/crate/lib",
        "cache/real",
    ] {
        written(&ground.path(file), file);
    }
    let link = |text: &Path, name: &str| symlink(text, ground.path(name)).expect("linked");
    let twice = |name: &str| PathBuf::from(format!("/{}", ground.path(name).display()));
    link(Path::new("../d/g"), "deep/back/out");
    link(Path::new(".."), "deep/back/up");
    link(Path::new("sub"), "deep/back/within");
    link(&ground.path("d"), "deep/back/abs");
    link(&ground.path("full/x"), "deep/back/again");
    link(&twice("full/x"), "deep/back/real");
    link(&twice("cache/crate"), "deep/store/crate");
    link(Path::new("full"), "into");
    link(&ground.path("full"), "into-abs");
    link(Path::new("../full/../f"), "d/through");
    ground
}

/// Where an open leads.
fn opened(dirfd: usize, path: &str, flags: i32) -> String {
    let (name, flags) = (c(path), usize::try_from(flags).expect("positive"));
    led(call(libc::SYS_openat, &[dirfd, address(&name), flags, 0o600]))
}

/// Where openat2(2) leads with these flags for resolving.
fn resolved(dirfd: usize, path: &str, flags: i32, resolve: u64) -> String {
    let flags = u64::try_from(flags).expect("positive");
    let mode = if flags & 0o100 == 0 { 0 } else { 0o600 };
    let (name, how) = (c(path), [flags, mode, resolve]);
    let how = how.as_ptr().expose_provenance();
    led(call(libc::SYS_openat2, &[dirfd, address(&name), how, 24]))
}

fn led(outcome: Result<i64, i32>) -> String {
    let Ok(fd) = outcome else { return said(outcome) };
    let place = fs::read_link(format!("/proc/self/fd/{fd}")).expect("a place");
    let _ = call(libc::SYS_close, &[usize::try_from(fd).expect("open")]);
    place.display().to_string()
}

fn number(file: &File) -> usize {
    usize::try_from(file.as_raw_fd()).expect("open")
}

/// The errno as text.
fn code(errno: i32) -> String {
    said(Err(errno))
}

#[track_caller]
fn assert_lines(text: &str, expected: &[(&str, String)]) {
    for (line, (name, place)) in text.lines().zip(expected) {
        assert_eq!(line, format!("{name}: {place}"));
    }
    assert_eq!(text.lines().count(), expected.len());
}

fn pairs(of: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    of.iter().map(|&(name, place)| (name, place.to_owned())).collect()
}

#[test]
fn names_lead_through_views() {
    let ground = ground();
    let root = ground.path("").display().to_string();
    let mut expected = pairs(&[
        ("full/x", "@/deep/back/x"),
        ("@/full/x", "@/deep/back/x"),
        ("@//full/./x", "@/deep/back/x"),
        ("//@/full/x", "@/deep/back/x"),
        ("full", "@/deep/back"),
        ("full/", "@/deep/back"),
        ("full/.", "@/deep/back"),
        ("full/within/y", "@/deep/back/sub/y"),
        ("full/sub/../x", "@/deep/back/x"),
        ("full/..", "@"),
        ("full/../f", "@/f"),
        ("full/sub/../../f", "@/f"),
        ("deep/back/x", "@/deep/back/x"),
        ("deep/back/../f", "@/f"),
        ("into/x", "@/deep/back/x"),
        ("into/../f", "@/f"),
        ("into-abs/x", "@/deep/back/x"),
        ("full/out", "@/d/g"),
        ("full/up/f", "@/f"),
        ("full/up/full/x", "@/deep/back/x"),
        ("full/abs/g", "@/d/g"),
        ("full/again", "@/deep/back/x"),
        ("d/through", "@/f"),
        ("full/inner/z", "@/deep/inner/z"),
        ("full/inner/..", "@/deep/back"),
        ("full/inner/../x", "@/deep/back/x"),
        ("full/inner/../../f", "@/f"),
        ("into/inner/z", "@/deep/inner/z"),
        ("full/work/ws/w", "@/full/work/ws/w"),
        ("into/work/ws/w", "@/full/work/ws/w"),
        ("full/work/ws/../../x", "@/deep/back/x"),
        ("none/place", "@/deep/place"),
        ("cache/crate/lib", "@/cache/crate/lib"),
        ("cache/crate/../crate/lib", "@/cache/crate/lib"),
        ("/proc/self/cwd/full/x", "@/deep/back/x"),
    ]);
    let denied = code(libc::EACCES);
    let missing = code(libc::ENOENT);
    for (name, outcome) in [
        ("full/real", &denied),
        ("full/none", &missing),
        ("cache/real", &missing),
        ("full/inner/real", &missing),
        ("none/place/none", &missing),
        ("full/x/", &code(libc::ENOTDIR)),
    ] {
        expected.push((name, outcome.clone()));
    }
    let (text, _) = ground.trapped(|| {
        let mut text = String::new();
        for (name, _) in &expected {
            let path = name.replace('@', &root);
            let _ = writeln!(text, "{name}: {}", opened(HERE, &path, READ_ONLY));
        }
        text
    });
    assert_lines(&text, &expected);
}

/// Names relative to directories inside a view, in its backing or in its real place.
#[test]
fn relative_names_lead_through_views() {
    let ground = ground();
    let expected = pairs(&[
        ("x", "@/deep/back/x"),
        (".", "@/deep/back"),
        ("..", "@"),
        ("../f", "@/f"),
        ("../full/x", "@/deep/back/x"),
        ("sub/../x", "@/deep/back/x"),
        ("sub/../../f", "@/f"),
        ("within/y", "@/deep/back/sub/y"),
        ("out", "@/d/g"),
        ("inner/z", "@/deep/inner/z"),
        ("inner/../x", "@/deep/back/x"),
        ("work/ws/w", "@/full/work/ws/w"),
    ]);
    for start in ["full", "deep/back"] {
        let held = File::open(ground.path(start)).expect("open");
        let (text, denials) = ground.trapped(|| {
            let mut text = String::new();
            for (name, _) in &expected {
                let _ = writeln!(text, "{name}: {}", opened(number(&held), name, READ_ONLY));
            }
            for (name, _) in &expected {
                let path = format!("/proc/self/fd/{}/{name}", number(&held));
                let _ = writeln!(text, "{name}: {}", opened(HERE, &path, READ_ONLY));
            }
            std::env::set_current_dir(start).expect("there");
            for (name, _) in &expected {
                let _ = writeln!(text, "{name}: {}", opened(HERE, name, READ_ONLY));
            }
            text
        });
        let mut thrice = [expected.clone(), expected.clone(), expected.clone()].concat();
        if start == "full" {
            // A link that stands for an object leads to this one, which `.` does not change.
            thrice[expected.len() + 1].1 = code(libc::EACCES);
        }
        assert_lines(&text, &thrice);
        assert_eq!(denials.len(), usize::from(start == "full"), "{:?}", shown(&denials));
    }
}

#[test]
fn objects_of_real_places_are_denied() {
    let ground = ground();
    let held = File::open(ground.path("full")).expect("open");
    let path = format!("/proc/self/fd/{}", number(&held));
    let (text, denials) = ground.trapped(|| {
        let empty = c("");
        let mode = call(libc::SYS_fchmod, &[number(&held), 0o700]);
        let times = [number(&held), address(&empty), 0, 0x1000];
        let owner = [number(&held), address(&empty), 0, 0, 0x1000];
        let outcomes = [
            opened(HERE, &path, READ_ONLY),
            said(mode),
            said(call(libc::SYS_utimensat, &times)),
            said(call(libc::SYS_fchownat, &owner)),
        ];
        outcomes.join("\n")
    });
    assert_eq!(text, vec![code(libc::EACCES); 4].join("\n"));
    assert!(
        denials
            .iter()
            .all(|denial| denial.path == ground.path("full").as_os_str().as_encoded_bytes())
    );
}

#[test]
fn resolve_flags_keep_their_meaning() {
    const BENEATH: u64 = 8;
    const IN_ROOT: u64 = 16;
    let ground = ground();
    let (real, top) = (ground.path("full"), ground.path(""));
    let (real, top) = (File::open(real).expect("open"), File::open(top).expect("open"));
    let cases = [
        (&top, "full/x", 2, READ_ONLY, "@/deep/back/x"),
        (&top, "full/x", 4, READ_ONLY, "@/deep/back/x"),
        (&top, "full/out", 2, READ_ONLY, "@/d/g"),
        (&top, "full/again", 2, READ_ONLY, "@/deep/back/x"),
        (&top, "full/out", 4, READ_ONLY, "ELOOP"),
        (&top, "full/new2", 2, NEW, "@/deep/back/new2"),
        (&real, "x", BENEATH, READ_ONLY, "@/deep/back/x"),
        (&real, "within/y", BENEATH, READ_ONLY, "@/deep/back/sub/y"),
        (&real, "out", BENEATH, READ_ONLY, "EXDEV"),
        (&real, "../f", BENEATH, READ_ONLY, "EXDEV"),
        (&real, "/x", IN_ROOT, READ_ONLY, "@/deep/back/x"),
        (&real, "/../x", IN_ROOT, READ_ONLY, "@/deep/back/x"),
        (&real, "new", BENEATH, NEW, "@/deep/back/new"),
        (&real, "../f", 2, READ_ONLY, "@/f"),
    ];
    let (text, _) = ground.trapped(|| {
        let resolve = |&(start, path, resolve, flags, _): &(&File, &str, u64, i32, &str)| {
            resolved(number(start), path, flags, resolve)
        };
        cases.iter().map(resolve).collect::<Vec<_>>().join("\n")
    });
    for (line, (_, path, resolve, _, expected)) in text.lines().zip(&cases) {
        let expected = match *expected {
            "ELOOP" => code(libc::ELOOP),
            "EXDEV" => code(libc::EXDEV),
            place => place.to_owned(),
        };
        assert_eq!(line, expected, "{path} {resolve}");
    }
    assert_eq!(text.lines().count(), cases.len());
}

/// Makes every kind of change by names in the view. They happen in the backing, and the real place stays as it was.
#[test]
fn changes_land_in_the_backing() {
    let ground = ground();
    written(&ground.path("full/same"), "real");
    written(&ground.path("deep/back/same"), "backing");
    let before = tree(&ground, "full");
    let (text, denials) = ground.trapped(|| {
        let one = |number, path: &str, more: [usize; 3]| {
            let path = c(path);
            said(call(number, &[address(&path), more[0], more[1], more[2]]))
        };
        let two = |number, from: &str, to: &str| {
            let (from, to) = (c(from), c(to));
            said(call(number, &[address(&from), address(&to)]))
        };
        let file = usize::try_from(libc::S_IFREG | 0o600).expect("a mode");
        let (name, value) = (c("user.jp"), c("v"));
        let attribute = [address(&name), address(&value), 1];
        let attributed = one(libc::SYS_setxattr, "full/sub", attribute);
        // Not every file system has attributes.
        let attributed =
            if attributed == code(libc::EOPNOTSUPP) { "0".to_owned() } else { attributed };
        let socket = std::os::unix::net::UnixListener::bind("full/socket");
        let connected = std::os::unix::net::UnixStream::connect("full/socket");
        let queue = call(libc::SYS_inotify_init1, &[0]).expect("a queue");
        let watched = c("full/sub");
        let queue = usize::try_from(queue).expect("open");
        let watch = call(libc::SYS_inotify_add_watch, &[queue, address(&watched), 2]);
        let outcomes = [
            one(libc::SYS_mkdir, "full/made", [0o700, 0, 0]),
            one(libc::SYS_mknod, "full/node", [file, 0, 0]),
            two(libc::SYS_symlink, "nowhere", "full/link"),
            two(libc::SYS_link, "full/x", "full/second"),
            two(libc::SYS_rename, "full/x", "full/moved"),
            two(libc::SYS_rename, "f", "full/inside"),
            two(libc::SYS_rename, "full/same", "outside"),
            one(libc::SYS_truncate, "full/moved", [0, 0, 0]),
            one(libc::SYS_chmod, "full/moved", [0o640, 0, 0]),
            one(libc::SYS_utime, "full/moved", [0, 0, 0]),
            one(libc::SYS_unlink, "full/out", [0, 0, 0]),
            one(libc::SYS_rmdir, "full/made", [0, 0, 0]),
            attributed,
            format!("{}", i32::from(socket.is_err())),
            format!("{}", i32::from(connected.is_err())),
            format!("{}", i32::from(watch.is_err())),
            one(libc::SYS_mkdir, "none/place/made", [0o700, 0, 0]),
        ];
        let made = opened(HERE, "full/new", NEW);
        let excluded = opened(HERE, "into/new-too", NEW | libc::O_EXCL);
        let unnamed = opened(HERE, "full", libc::O_TMPFILE | libc::O_WRONLY);
        let unnamed = unnamed.contains("deep/back/#");
        format!("{}\n{made} {excluded} {unnamed}", outcomes.join(" "))
    });
    let zeros = ["0"; 17].join(" ");
    assert_eq!(text, format!("{zeros}\n@/deep/back/new @/deep/back/new-too true"));
    assert_eq!(shown(&denials), [""; 0]);
    assert_eq!(tree(&ground, "full"), before);
    let content = |name: &str| fs::read_to_string(ground.path(name)).expect("read");
    assert_eq!(
        (content("outside").as_str(), content("deep/back/inside").as_str()),
        ("backing", "hello")
    );
    for name in ["node", "second", "moved", "socket"] {
        assert!(ground.path("deep/back").join(name).exists(), "{name}");
    }
    assert!(ground.path("deep/place/made").is_dir() && !ground.path("none").exists());
}

/// As an entry of its directory, the place of a view is the real one.
#[test]
fn places_stay() {
    let ground = ground();
    let before = ground.listing();
    let (text, _) = ground.trapped(|| {
        let one = |number, path: &str, more: usize| {
            let path = c(path);
            said(call(number, &[address(&path), more]))
        };
        let two = |number, from: &str, to: &str| {
            let (from, to) = (c(from), c(to));
            said(call(number, &[address(&from), address(&to)]))
        };
        let outcomes = [
            one(libc::SYS_rmdir, "full", 0),
            one(libc::SYS_rmdir, "into/inner", 0),
            two(libc::SYS_rename, "full", "other"),
            two(libc::SYS_rename, "full/work", "other"),
            two(libc::SYS_rename, "d", "none/place"),
            two(libc::SYS_rename, "empty", "full"),
        ];
        outcomes.join("\n")
    });
    let denied = code(libc::EACCES);
    assert!(text.lines().all(|line| line == denied || line == code(libc::ENOENT)), "{text}");
    assert_eq!(ground.listing(), before);
}

/// The kernel finds programs without views, so a program is judged where the kernel finds it.
#[test]
fn programs_in_views_do_not_start() {
    let ground = ground();
    for directory in ["full", "deep/back"] {
        let program = ground.path(directory).join("program");
        fs::copy("/bin/true", program).expect("copied");
    }
    fs::copy("/bin/true", ground.path("deep/back/only")).expect("copied");
    written(
        &ground.path("deep/back/script"),
        &format!("#!{}\n", ground.path("full/program").display()),
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(ground.path("deep/back/script"), mode).expect("set");
    let (text, denials) = ground.trapped(|| {
        let start = |path: &str| {
            let path = c(path);
            said(call(libc::SYS_execve, &[address(&path), 0, 0]))
        };
        ["full/program", "full/only", "into/program", "deep/back/script"].map(start).join("\n")
    });
    let (denied, missing) = (code(libc::EACCES), code(libc::ENOENT));
    let outcomes: Vec<&str> = text.lines().collect();
    assert_eq!([outcomes[0], outcomes[2], outcomes[3]], [&denied; 3], "{text}");
    assert!(outcomes[1] == denied || outcomes[1] == missing, "{text}");
    assert!(
        denials
            .iter()
            .all(|one| one.path.ends_with(b"/full/program") || one.path.ends_with(b"/full/only")),
        "{:?}",
        shown(&denials)
    );
}

/// Others swap what is on the way into the view. Whatever the names then lead to, it is not the real place.
#[test]
fn races_never_reach_the_real_place() {
    let ground = ground();
    let before = tree(&ground, "full");
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = OnceLock::new();
    let [gate, aside, sub] = ["gate", "aside", "deep/back/swapped"].map(|name| ground.path(name));
    fs::create_dir(&gate).expect("made");
    fs::create_dir(&sub).expect("made");
    let (place, real) =
        (ground.path("full"), PathBuf::from(format!("/{}", ground.path("full").display())));
    let text = ground.trapped_while(
        || {
            let mut places = String::new();
            for turn in 0..300 {
                for path in ["gate/n", "full/swapped/n", "gate/sub/../n", "full/swapped/../n"] {
                    let _ = writeln!(places, "{}", opened(HERE, &format!("{path}{turn}"), NEW));
                }
            }
            places
        },
        |_| {
            let stopped = Arc::clone(&stop);
            let swap = move || {
                while !stopped.load(Ordering::Relaxed) {
                    for (name, target) in [(&gate, &place), (&sub, &real)] {
                        fs::rename(name, &aside).expect("moved");
                        symlink(target, name).expect("linked");
                        fs::remove_file(name).expect("removed");
                        fs::rename(&aside, name).expect("moved");
                    }
                }
            };
            swapper.set(std::thread::spawn(swap)).expect("one");
        },
    );
    stop.store(true, Ordering::Relaxed);
    swapper.into_inner().expect("started").join().expect("ended");
    assert!(text.lines().any(|line| line.starts_with("@/deep/back/n")), "{text}");
    assert!(!text.contains("@/full"), "{text}");
    assert_eq!(tree(&ground, "full"), before);
}

/// The names and contents below a directory of the ground.
fn tree(ground: &Ground, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![ground.path(name)];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(
                fs::read_dir(&path).expect("read").map(|entry| entry.expect("read").path()),
            );
        }
        found.push((path.clone(), fs::read(&path).unwrap_or_default()));
    }
    found.sort();
    found
}
