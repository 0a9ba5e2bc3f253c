//! Tests of authorising absolute paths, in the order of spec §15, and of the mistakes that it warns about.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use jp_confine_engine::authorize::{Authorized, Authorizer, Refusal};
use jp_confine_engine::model::{Access, Policy};

use crate::place::{Place, rules};

/// The directories at `w` and, if it exists, `v`. The rules are those of the first.
fn authorizer(place: &Place, declared: &str, approved: &str) -> Authorizer {
    let policy = Policy {
        access: Some(Access { fs: rules(declared), ..Access::default() }),
        file_policy: None,
    };
    let first = Authorizer::new()
        .with_folder(&place.path("w"), &policy, &place.approvals(approved))
        .unwrap();
    first.with_folder(&place.path("v"), &Policy::default(), &place.approvals("")).unwrap()
}

/// `ok PATH` with the canonical path, or the reason.
fn shown(place: &Place, outcome: &Result<Authorized, Refusal>) -> String {
    match outcome {
        Ok(authorized) => format!("ok {}", place.short(authorized.resolved_path())),
        Err(refusal) => {
            assert!(refusal.message().starts_with("tool: "), "{refusal}");
            serde_json::to_value(refusal.reason()).unwrap().as_str().unwrap().to_owned()
        }
    }
}

/// A call: `r` or `w` and a path, which is relative to the scratch directory unless it begins with `=`.
fn asked(place: &Place, authorizer: &Authorizer, call: &str) -> String {
    let (access, path) = call.split_once(' ').unwrap();
    let path = match path.strip_prefix('=') {
        Some(literal) => literal.into(),
        None => place.path(path),
    };
    let outcome = match access {
        "r" => authorizer.authorize_read(&path, "tool"),
        _ => authorizer.authorize_write(&path, "tool"),
    };
    shown(place, &outcome)
}

macro_rules! rows {
    ($($name:ident: $tree:literal, $rules:literal $(approved $approved:literal)?, $call:literal => $expected:literal $(, links $links:literal)?;)*) => {$(
        #[test]
        fn $name() {
            let place = Place::new($tree);
            let authorizer = authorizer(&place, $rules, concat!("", $($approved)?));
            assert_eq!(asked(&place, &authorizer, $call), $expected);
            $(
                let opted_in = authorizer.allow_symlinks_outside_workspace(Some(true));
                assert_eq!(asked(&place, &opted_in, $call), $links, "opted in");
            )?
        }
    )*};
}

rows! {
    // conformance: zoo-23
    inside: "w/a", "", "r w/a" => "ok w/a", links "ok w/a";
    the_folder_itself: "", "", "r w" => "ok w", links "ok w";
    // conformance: zoo-10, zoo-24
    new_file: "", "", "w w/new" => "ok w/new", links "ok w/new";
    new_file_in_a_new_folder: "", "", "w w/d/new" => "ok w/d/new";
    // conformance: zoo-17
    outside: "o/a", "", "r o/a" => "outside_workspace", links "outside_workspace";
    separator_aware: "w2/a", "", "r w2/a" => "outside_workspace";
    parent_by_the_letter: "o/a", "", "r w/../o/a" => "outside_workspace";
    parent_by_the_letter_before_links: "w/a o/d/ w/l=../o/d", "", "r w/l/../a" => "ok w/a";
    above_the_top: "", "", "r =/../x" => "outside_workspace";
    // conformance: zoo-8
    relative: "w/a", "", "r =w/a" => "realpath_failed";
    empty: "", "", "r =" => "realpath_failed";
    nul: "", "", "r w/\0" => "realpath_failed";
    // conformance: zoo-13
    loop_of_links: "w/l=l", "", "r w/l" => "realpath_failed", links "realpath_failed";
    below_a_file: "w/a", "", "r w/a/b" => "realpath_failed";
    slash_behind_a_file: "w/a", "", "w w/a/" => "realpath_failed";
    dot_behind_a_file: "w/a", "", "r w/a/." => "realpath_failed";
    slash_behind_a_directory: "w/d/", "", "r w/d/" => "ok w/d";

    // conformance: zoo-11
    link_inside: "w/d/a w/l=d", "", "r w/l/a" => "ok w/d/a", links "ok w/d/a";
    // conformance: zoo-6, zoo-18, zoo-20, zoo-21
    link_out: "o/a w/l=../o", "", "r w/l/a" => "symlink_escapes_workspace", links "ok o/a";
    new_through_a_link_out: "o/ w/l=../o", "", "w w/l/new" => "symlink_escapes_workspace", links "ok o/new";
    dangling_out: "o/ w/l=../o/new", "", "w w/l" => "symlink_escapes_workspace", links "ok o/new";
    dangling_in: "w/d/ w/l=d/new", "", "w w/l" => "ok w/d/new";
    // conformance: zoo-18
    link_from_outside_in: "w/a alias=w", "", "r alias/a" => "ok w/a", links "outside_workspace";
    // conformance: zoo-23
    case_is_kept: "w/README w/l=README", "", "r w/l" => "ok w/README";

    // conformance: zoo-14
    second_folder: "w/ v/a", "", "r v/a" => "ok v/a";
    second_folder_through_a_link: "w/l=../v v/a", "", "r w/l/a" => "ok v/a";
    second_folder_has_its_own_rules: "w/a v/a", ".:r", "w v/a" => "ok v/a";
    folder_in_a_folder: "w/d/ w/a v=w/d w/d/a", "d:", "r v/a" => "permission_denied";

    granted: "w/a", ".:r", "r w/a" => "ok w/a";
    not_granted: "w/a", ".:r", "w w/a" => "permission_denied";
    create_is_not_update: "w/a", ".:c", "w w/a" => "permission_denied";
    update_is_not_create: "", ".:u", "w w/a" => "permission_denied";
    alias_does_not_dodge: "w/secret/a w/l=secret", ".:r secret:", "r w/l/a" => "permission_denied", links "permission_denied";
    policy_file: "w/jp-confine.toml", "", "w w/jp-confine.toml" => "permission_denied";
    approved_target: "o/a w/fork=../o", "fork!r" approved "fork=o", "r w/fork/a" => "ok o/a";
    approved_target_by_its_own_name: "o/a w/fork=../o", "fork!r" approved "fork=o", "r o/a" => "ok o/a", links "outside_workspace";
    approved_target_for_reading: "o/a w/fork=../o", "fork!r" approved "fork=o", "w w/fork/a" => "permission_denied";
    nested_escape: "o/s=../p p/a w/fork=../o", "fork!r" approved "fork=o", "r w/fork/s/a" => "symlink_escapes_workspace";
    unapproved_target: "o/a w/fork=../o", ".:r fork!r", "r w/fork/a" => "symlink_escapes_workspace", links "permission_denied";
    unapproved_target_by_another_link: "o/a w/fork=../o w/l=../o", ".:r fork!r", "r w/l/a" => "symlink_escapes_workspace", links "permission_denied";
    opted_in_alias_does_not_dodge: "w/secret/x=../../o/a w/l=secret o/a", ".:r secret:", "r w/l/x" => "symlink_escapes_workspace", links "permission_denied";
    opted_in_to_what_is_granted: "o/a w/l=../o", "d:r", "r w/l/a" => "symlink_escapes_workspace", links "permission_denied";
}

/// The directory at `w` under rules and patterns. `@` in them is the scratch directory.
fn with_patterns(place: &Place, declared: &str, patterns: &str) -> Authorizer {
    let base = place.path("");
    let patterns = patterns.replace('@', base.to_str().unwrap().trim_end_matches('/'));
    let policy = Policy {
        access: Some(Access { fs: rules(declared), ..Access::default() }),
        file_policy: Some(serde_json::from_str(&format!("{{{patterns}}}")).unwrap()),
    };
    let folders = Authorizer::new().with_folder(&place.path("w"), &policy, &place.approvals(""));
    folders.unwrap()
}

/// A denied path stays denied through a symlink, even if symlinks may lead anywhere (spec §9, §10).
#[test]
fn what_is_withheld_where_a_link_leads_stays_so() {
    let place = Place::new("w/l=../o w/key=../o/k.pem w/conf=../o/.env o/a o/k.pem o/.env");
    let kept = "permission_denied";
    for (declared, patterns, call, expected) in [
        ("", r#""deny_paths": ["@/o/**"]"#, "r w/l/a", kept),
        ("", r#""deny_paths": ["@/o/**"]"#, "w w/l/new", kept),
        ("", r#""deny_paths": ["**/*.pem"]"#, "r w/key", kept),
        ("", r#""deny_paths": ["**/*.pem"]"#, "r w/l/a", "ok o/a"),
        ("", r#""deny_paths": ["<workspace>/l/a"]"#, "r w/l/a", kept),
        ("", r#""prompt_paths": ["@/o/**"]"#, "r w/l/a", kept),
        ("", r#""read_paths": ["@/o/**"]"#, "w w/l/a", kept),
        (".:r", "", "r w/conf", kept),
        (".:r", "", "r w/l/.env", kept),
        (".:r", "", "r w/l/a", "ok o/a"),
        ("", "", "r w/conf", "ok o/.env"),
        // Without a match, only a default decides.
        ("", r#""default": "deny", "read_paths": ["<workspace>/**"]"#, "r w/l/a", kept),
        ("", r#""default": "prompt", "read_paths": ["<workspace>/**"]"#, "r w/l/a", kept),
        ("", r#""default": "read", "write_paths": ["<workspace>/**"]"#, "w w/l/a", kept),
        ("", r#""default": "read""#, "r w/l/a", "ok o/a"),
    ] {
        let folders = with_patterns(&place, declared, patterns);
        let folders = folders.allow_symlinks_outside_workspace(Some(true));
        assert_eq!(asked(&place, &folders, call), expected, "{declared} {patterns} {call}");
    }
}

/// A denial in a directory also counts when its symlinks lead into another one, whose own policy decides the rest.
#[test]
fn what_is_withheld_on_the_way_to_another_folder_stays_so() {
    let place = Place::new("w/to=../v/f w/dir=../v w/f alias=w v/f v/.env");
    let kept = "permission_denied";
    for (declared, patterns, call, expected) in [
        ("", r#""deny_paths": ["<workspace>/to"]"#, "r w/to", kept),
        ("", r#""deny_paths": ["<workspace>/t?"]"#, "r w/to", kept),
        ("", r#""deny_paths": ["<workspace>/t?"]"#, "r v/f", "ok v/f"),
        ("", r#""prompt_paths": ["<workspace>/dir/**"]"#, "r w/dir/f", kept),
        ("", r#""deny_paths": ["**/f"]"#, "r w/dir/f", kept),
        ("", r#""deny_paths": ["**/f"]"#, "r v/f", "ok v/f"),
        ("dir!r", "", "r w/dir/f", kept),
        ("dir!r", "", "r w/to", kept),
        ("", r#""deny_paths": ["@/ali*/**"]"#, "r alias/f", kept),
        // A directory need not grant a path outside it.
        (".:", "", "r w/to", "ok v/f"),
        ("sub:r", "", "w w/dir/new", "ok v/new"),
        ("", r#""default": "deny""#, "r w/to", "ok v/f"),
        (".:r", "", "r w/dir/.env", "ok v/.env"),
    ] {
        let folders = with_patterns(&place, declared, patterns)
            .with_folder(&place.path("v"), &Policy::default(), &place.approvals(""))
            .unwrap();
        assert_eq!(asked(&place, &folders, call), expected, "{declared} {patterns} {call}");
    }
}

/// A denial also counts in a directory that the way only passes, and in one that the way was not spelled in.
#[test]
fn a_folder_that_a_way_passes_is_asked() {
    let place = Place::new("w/on=../x/f v/far=../w/on x/f");
    let denying = |pattern: &str| {
        ["v", "x"].iter().fold(with_patterns(&place, "", pattern), |folders, folder| {
            let approvals = place.approvals("");
            folders.with_folder(&place.path(folder), &Policy::default(), &approvals).unwrap()
        })
    };
    let kept = denying(r#""deny_paths": ["<workspace>/o?"]"#);
    assert_eq!(asked(&place, &kept, "r v/far"), "permission_denied");
    assert_eq!(asked(&place, &denying(""), "r v/far"), "ok x/f");
    let opted_in = kept.allow_symlinks_outside_workspace(Some(true));
    assert_eq!(asked(&place, &opted_in, "r v/far"), "permission_denied");
}

// conformance: tiers-63
#[test]
fn without_a_folder_nothing_is_authorised() {
    let place = Place::new("w/a");
    assert_eq!(asked(&place, &Authorizer::new(), "r w/a"), "outside_workspace");
}

// conformance: zoo-16
#[test]
fn a_folder_that_cannot_be_resolved_proves_nothing() {
    let place = Place::new("");
    let gone = Authorizer::new()
        .with_folder(&place.path("gone"), &Policy::default(), &place.approvals(""))
        .unwrap();
    assert_eq!(asked(&place, &gone, "w gone/a"), "symlink_escapes_workspace");
    let refusal = gone.authorize_read(&place.path("gone/a"), "tool").unwrap_err();
    assert!(refusal.message().contains("the workspace folder that it is in cannot be resolved"));
    let opted_in = gone.allow_symlinks_outside_workspace(Some(true));
    assert_eq!(asked(&place, &opted_in, "w gone/a"), "outside_workspace");
}

#[test]
fn words_about_the_name_itself() {
    let place = Place::new("");
    let folders = authorizer(&place, "", "");
    let refusal = folders.authorize_read(Path::new(""), "tool").unwrap_err();
    assert_eq!(refusal.message(), "tool: cannot use the path: it is empty. Use an absolute path.");
    let name = place.path("w").join(OsStr::from_bytes(b"a\xff"));
    fs::write(&name, "").unwrap();
    let authorized = folders.authorize_read(&name, "tool").unwrap();
    let refusal = authorized.in_utf8("tool").unwrap_err();
    assert!(refusal.message().contains("is not UTF-8"), "{refusal}");
    symlink(&name, place.path("w/l")).unwrap();
    let refusal = folders.authorize_read(&place.path("w/l"), "tool").unwrap().in_utf8("tool");
    let told = place.anonymous(refusal.unwrap_err().message());
    assert!(told.starts_with("tool: cannot use @/w/l: it, or what it leads to, is not"), "{told}");
}

// conformance: zoo-15
#[test]
fn a_folder_reached_through_a_link_behaves_the_same() {
    let place = Place::new("w/a w/l=../o o/a alias=w");
    let alias = Authorizer::new()
        .with_folder(&place.path("alias"), &Policy::default(), &place.approvals(""))
        .unwrap();
    for (call, expected) in [
        ("r alias/a", "ok w/a"),
        ("r w/a", "ok w/a"),
        ("r alias/l/a", "symlink_escapes_workspace"),
        ("r w/l/a", "symlink_escapes_workspace"),
    ] {
        assert_eq!(asked(&place, &alias, call), expected, "{call}");
    }
}

// conformance: zoo-7, zoo-19, zoo-25
#[test]
fn a_setting_that_could_not_be_read_is_off() {
    let place = Place::new("o/a w/l=../o");
    for setting in [None, Some(false)] {
        let closed = authorizer(&place, "", "").allow_symlinks_outside_workspace(setting);
        assert_eq!(asked(&place, &closed, "r w/l/a"), "symlink_escapes_workspace");
    }
}

/// Asks in a thread without the privileges that the tests may have.
fn as_ordinary_user<T: Send>(ask: impl FnOnce() -> T + Send) -> T {
    use rustix::thread::set_thread_res_uid;
    let nobody = rustix::process::Uid::from_raw(65534);
    let unprivileged = move || {
        if rustix::process::geteuid().is_root() {
            set_thread_res_uid(nobody, nobody, nobody).unwrap();
        }
        ask()
    };
    std::thread::scope(|scope| scope.spawn(unprivileged).join().unwrap())
}

// conformance: zoo-12, zoo-22
#[test]
fn what_the_system_refuses_has_a_reason_of_its_own() {
    let place = Place::new("w/closed/a w/l=closed/a");
    let mode = |name: &str, mode| {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    mode("w/closed", 0o000);
    for setting in [false, true] {
        let host = authorizer(&place, "", "").allow_symlinks_outside_workspace(Some(setting));
        for call in ["r w/closed/a", "w w/closed/new", "r w/l"] {
            let answer = as_ordinary_user(|| asked(&place, &host, call));
            assert_eq!(answer, "permission_denied", "{call}");
        }
    }
    mode("w/closed", 0o755);
}

// conformance: zoo-1, zoo-5, zoo-9
#[test]
fn results_as_json() {
    let place = Place::new("w/a w/l=../o/a o/a");
    let authorizer = authorizer(&place, ".:r", "");
    let json = |outcome: Result<Authorized, Refusal>| {
        let text = match &outcome {
            Ok(path) => serde_json::to_string(path),
            Err(refusal) => serde_json::to_string(refusal),
        };
        place.anonymous(&text.unwrap())
    };
    assert_eq!(
        json(authorizer.authorize_read(&place.path("w/a"), "read_file")),
        r#"{"ok":true,"resolved_path":"@/w/a"}"#
    );
    assert_eq!(
        json(authorizer.authorize_read(&place.path("w/l"), "read_file")),
        r#"{"ok":false,"reason":"symlink_escapes_workspace","message":"read_file: cannot use @/w/l: a symbolic link leads it out of the workspace. Use a path in one of its folders, or ask the user for an approved rule on the link with `external = true`."}"#
    );
    assert_eq!(
        json(authorizer.authorize_write(&place.path("w/a"), "write_file")),
        r#"{"ok":false,"reason":"permission_denied","message":"write_file: cannot update @/w/a: the policy does not grant it. Nothing grants update. To allow it, ask the user for an `access.fs` rule on this path with `read = true` and `update = true`, or for the flag `--write PATH`."}"#
    );
}

/// Makes another thread end, even if this one panics.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `swap` during `steps` repetitions of `step`.
fn while_swapping(swap: impl Fn(bool) + Sync, steps: usize, mut step: impl FnMut()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in [true, false].into_iter().cycle() {
                swap(turn);
                if done.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let _done = Done(&done);
        (0..steps).for_each(|_| step());
    });
}

fn replace_link(link: &Path, text: &str) {
    let new = link.with_extension("new");
    symlink(text, &new).unwrap();
    fs::rename(new, link).unwrap();
}

// conformance: zoo-2
#[test]
fn no_swap_of_links_makes_it_read_outside() {
    let place = Place::new("w/d/a o/a");
    fs::write(place.path("w/d/a"), "inside").unwrap();
    fs::write(place.path("o/a"), "outside").unwrap();
    let authorizer = authorizer(&place, "", "");
    let link = place.path("w/l");
    replace_link(&link, "d");
    let (mut read, mut refused) = (0, 0);
    let swap = |out| replace_link(&link, if out { "../o" } else { "d" });
    while_swapping(swap, 3000, || match authorizer.authorize_read(&link.join("a"), "tool") {
        Ok(path) => {
            let text = std::io::read_to_string(path.pin().open().unwrap()).unwrap();
            assert_eq!(text, "inside");
            read += 1;
        }
        Err(_) => refused += 1,
    });
    assert!(read + refused == 3000 && read > 0, "{read} read, {refused} refused");
}

// conformance: zoo-2
/// Exchanges the directory itself for a symlink, which only the kernel can notice in time.
#[test]
fn no_exchange_of_a_directory_makes_it_read_or_write_outside() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let place = Place::new("w/d/a w/other=../o o/a");
    fs::write(place.path("w/d/a"), "inside").unwrap();
    fs::write(place.path("o/a"), "outside").unwrap();
    let authorizer = authorizer(&place, "", "");
    let (dir, other) = (place.path("w/d"), place.path("w/other"));
    let exchange = |_| renameat_with(CWD, &dir, CWD, &other, RenameFlags::EXCHANGE).unwrap();
    let file = dir.join("a");
    while_swapping(exchange, 3000, || {
        if let Ok(path) = authorizer.authorize_read(&file, "tool")
            && let Ok(open) = path.pin().open()
        {
            assert_ne!(std::io::read_to_string(open).unwrap(), "outside");
        }
        if let Ok(path) = authorizer.authorize_write(&file, "tool") {
            let _ = path.pin().write(b"inside");
        }
    });
    assert_eq!(fs::read(place.path("o/a")).unwrap(), b"outside");
}
