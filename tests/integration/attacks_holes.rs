//! Denied places in directories in which the run may create. These rows also look at what comes and moves around them
//! during the run.

use macro_rules_attribute::apply;

use crate::attack::{arena_with, assert_refused_to, linkings, set_up};
use crate::layers::{Holder, row};
use crate::scratch::Scratch;
use crate::session::Session;

/// Plants a workspace with each linking of the attack program.
fn arenas() -> impl Iterator<Item = impl Fn() -> Scratch> {
    linkings().iter().map(|&linking| move || arena_with(linking, Scratch::new()))
}

/// One test for each row, as in [`crate::attack::attacks`], but with each linking of the attack program.
macro_rules! rows {
    ($($name:ident: $setup:literal, $call:literal => $expected:literal;)*) => {
        $(
            crate::layers::row! {
                fn $name() {
                    for plant in arenas() {
                        assert_refused_to("ws/bin/attack", &plant, $setup, $call, $expected);
                    }
                }
            }
        )*
    };
}

rows! {
    open: "echo x > hole", "--deny hole -- open hole" => "EACCES";
    open_by_number: "echo x > hole", "--deny hole -- sys_open hole" => "EACCES";
    openat_by_number: "echo x > hole", "--deny hole -- sys_openat hole" => "EACCES";
    openat2_by_number: "echo x > hole", "--deny hole -- sys_openat2 hole" => "EACCES";
    open_by_link: "echo x > hole; ln -s hole l", "--deny hole -- open l" => "EACCES";
    open_by_a_directory_s_link: "mkdir -p a/b; echo x > a/b/f; ln -s a l",
        "--deny a/b -- open l/b/f" => "EACCES";
    open_deeper: "mkdir -p a/b; echo x > a/b/f", "--deny a/b/f -- open a/b/f" => "EACCES";
    open_below: "mkdir -p a/b/c; echo x > a/b/c/f", "--deny a/b -- sys_openat a/b/c/f" => "EACCES";
    list: "mkdir -p a/b", "--deny a/b -- opendir a/b" => "EACCES";
    list_below: "mkdir -p a/b/c", "--deny a/b -- opendir a/b/c" => "EACCES";
    list_by_link: "mkdir -p a/b; ln -s a/b l", "--deny a/b -- opendir l" => "EACCES";
    rename: "echo x > hole", "--deny hole -- rename hole got" => "EACCES";
    rename_what_is_around: "mkdir -p a/b; echo x > a/b/f", "--deny a/b -- rename a got" => "EACCES";
    link: "echo x > hole", "--deny hole -- link hole got" => "EACCES";
    replace: "echo x > hole", "--deny hole -- rename file hole" => "EACCES";
    create: "", "--deny hole -- creat hole" => "EACCES";
    create_a_directory_around: "mkdir -p from/hole", "--deny to/hole -- rename from to" => "EXDEV|EACCES";
}

/// By libc's functions, its `syscall()`, and without libc.
fn ways(holder: Holder) -> &'static [(&'static str, &'static str)] {
    let ways = &[("open", "opendir"), ("sys_open", "opendir"), ("i_open", "i_opendir")];
    if holder == Holder::Library { &ways[..2] } else { ways }
}

const SETUP: &str = "mkdir -p a/hole deep other/in; \
    for f in a/f a/hole/f deep/f other/f other/in/f other/g kept; do echo $f > $f; done; ln kept named";

const FLAGS: &str = "--deny a/hole --deny deep/later/name --deny soon --deny kept";

/// Everything that comes beside a denied place has the answer of the policy.
#[apply(row!)]
fn what_comes_beside_them() {
    for plant in arenas() {
        let scratch = plant();
        set_up(&scratch, SETUP);
        let mut session = Session::start(&scratch, "ws/bin/attack", FLAGS);
        let mut expect = |line: &str, expected: &str| {
            let said = session.call(&scratch, line);
            let seen = said.split(' ').next().unwrap_or_default();
            assert!(Holder::under_test().accepts(expected, seen), "{line}: {said}");
        };
        for made in [
            "write_creat new",
            "write_creat a/new",
            "mkdir deep/made",
            "write_creat deep/made/f",
            "rename other/f a/moved",
            "rename other/in deep/in",
            "link other/g linked",
            "symlink a/hole l",
            "symlink other m",
        ] {
            expect(made, "ok");
        }
        for &(open, list) in ways(Holder::under_test()) {
            for readable in [
                "file",
                "new",
                "a/f",
                "a/new",
                "a/moved",
                "deep/f",
                "deep/made/f",
                "deep/in/f",
                "linked",
                "named",
                "other/g",
                "m/g",
            ] {
                expect(&format!("{open} {readable}"), "ok");
            }
            for listed in [".", "a", "deep", "deep/made", "deep/in", "other", "m"] {
                expect(&format!("{list} {listed}"), "ok");
            }
            for denied in ["a/hole/f", "l/f", "kept", "m/../a/hole/f"] {
                expect(&format!("{open} {denied}"), "EACCES");
            }
            for denied in ["a/hole", "l"] {
                expect(&format!("{list} {denied}"), "EACCES");
            }
        }
    }
}

/// Others may create a denied name, or what is around it. The library's mark passes no open under `strict`.
#[apply(row!)]
fn what_others_put_there() {
    for plant in arenas() {
        let scratch = plant();
        set_up(&scratch, SETUP);
        let mut session = Session::start(&scratch, "ws/bin/attack", FLAGS);
        let mut answer = |line: &str| {
            let said = session.call(&scratch, line);
            assert!(!said.contains("TOPSECRET"), "{line}: {said}");
            said.split(' ').next().unwrap_or_default().to_owned()
        };
        let denied = ["soon", "a/hole/late", "deep/later/name/f"];
        for name in denied {
            scratch.write(&format!("ws/{name}"), "TOPSECRET");
        }
        scratch.write("ws/beside", "x");
        scratch.write("ws/deep/later/beside", "x");
        for &(open, list) in ways(Holder::under_test()) {
            for readable in ["beside", "deep/later/beside"] {
                assert_eq!(answer(&format!("{open} {readable}")), "ok", "{open} {readable}");
            }
            for name in denied {
                assert_eq!(answer(&format!("{open} {name}")), "EACCES", "{open} {name}");
            }
            assert_eq!(answer(&format!("{list} deep/later/name")), "EACCES", "{list}");
        }
        // In layered runs Landlock's bounds are wider here.
        if Holder::under_test() == Holder::Strict {
            for name in denied.iter().chain(&["a/hole/f", "kept"]) {
                assert_eq!(answer(&format!("i_marked , i_open {name}")), "EACCES", "{name}");
            }
            for name in ["a/hole", "deep/later/name"] {
                assert_eq!(answer(&format!("i_marked , i_opendir {name}")), "EACCES", "{name}");
            }
        }
    }
}
