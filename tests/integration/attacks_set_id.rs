//! No run sets set-user-ID bits, set-group-ID bits, or the attribute that gives a program capabilities, whatever is
//! granted.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use macro_rules_attribute::apply;

use crate::attack::{answer, arena, call, set_up};
use crate::layers::{Holder, row};
use crate::run::{Mode, Run, skip};
use crate::scratch::Scratch;

/// One test per row, with a setup that runs bare: `call` results in `bare` without jp-confine, and in `confined` with
/// it.
macro_rules! rows {
    ($($name:ident: $setup:literal, $call:literal => $bare:literal, $confined:literal;)*) => {
        $(
            crate::layers::row! {
                fn $name() {
                    crate::attacks_set_id::assert_bits_are_kept_off($setup, $call, $bare, $confined);
                }
            }
        )*
    };
}

pub(crate) use rows;

rows! {
    chmod: "touch p", "chmod_to p 4755" => "ok 4755", "EACCES";
    chmod_of_the_group: "touch p", "chmod_to p 2755" => "ok 2755", "EACCES";
    chmod_of_both: "touch p", "chmod_to p 6755" => "ok 6755", "EACCES";
    chmod_that_sticks: "touch p", "chmod_to p 1755" => "ok 1755", "ok 1755";
    chmod_by_a_link: "touch p; ln -s p l", "chmod_to l 4755" => "ok 777", "EACCES";
    chmod_of_what_has_the_bit: "touch p; chmod 4755 p", "chmod_to p 4700" => "ok 4700", "EACCES";
    chmod_that_takes_the_bit: "touch p; chmod 4755 p", "chmod_to p 755" => "ok 755", "ok 755";
    fchmod: "touch p", "fchmod_to p 4755" => "ok 4755", "EACCES";
    fchmod_of_what_was_just_made: "", "made_for p 4755" => "ok 4755", "EACCES";
    fchmodat: "touch p", "fchmodat_to p 4755" => "ok 4755", "EACCES";
    fchmodat2: "touch p", "fchmodat2_to p 4755" => "ok 4755", "EACCES";
    fchmodat2_of_a_held_file: "touch p", "fchmodat2_held_to p 4755" => "ok 4755", "EACCES";
    open: "", "open_as p 4755" => "ok 4755", "ok 755";
    open_of_the_group: "", "open_as p 2755" => "ok 2755", "ok 755";
    creat: "", "creat_as p 4755" => "ok 4755", "ok 755";
    openat2: "", "openat2_as p 4755" => "ok 4755", "ok 755";
    unnamed: "", "unnamed_as p 4755" => "ok 4755", "ok 755";
    mknod: "", "mknod_as p 4755" => "ok 4755", "ok 755";
    mkfifo: "", "mkfifo_as p 4755" => "ok 4755", "ok 755";
    setxattr: "touch p", "setcap p" => "ok", "EACCES";
    lsetxattr: "touch p", "lsetcap p" => "ok", "EACCES";
    fsetxattr: "touch p", "fsetcap p" => "ok", "EACCES";
    setxattrat: "touch p", "setcapat p" => "ok", "EACCES|ENOSYS";
    directory_gains: "mkdir d", "chmod_to d 2755" => "ok 2755", "EACCES";
    directory_gains_the_user_s: "mkdir d; chmod 2755 d", "chmod_to d 6755" => "ok 6755", "EACCES";
    directory_keeps: "mkdir d; chmod 2755 d", "chmod_to d 2775" => "ok 2775", "ok 2775";
    directory_keeps_by_descriptor: "mkdir d; chmod 2755 d", "fchmod_to d 2775" => "ok 2775", "ok 2775";
    directory_inherits: "mkdir d; chmod 2755 d", "mkdir_as d/e 755" => "ok 2755", "ok 2755";
    directory_inherits_and_keeps: "mkdir d; chmod 2755 d", "mkdir_as d/e 755 , chmod_to d/e 2775" => "ok 2775", "ok 2775";
    whatever_is_granted: "", "-w $OUT -- chmod_to $OUT/target 4755" => "ok 4755", "EACCES";
}

pub(crate) fn assert_bits_are_kept_off(setup: &str, line: &str, bare: &str, confined: &str) {
    if Holder::under_test() == Holder::Library && line.contains("i_") {
        return skip("the library alone does not see system calls by instruction");
    }
    let scratch = arena(Scratch::new());
    set_up(&scratch, setup);
    let outcome = call(&scratch, Mode::Bare, line);
    match answer(&outcome) {
        "ENOSYS" => return skip("this libc, processor or kernel has no such call"),
        "EPERM" | "EOPNOTSUPP" => {
            return skip("only root can do this, and not on every file system");
        }
        seen => assert_eq!(seen, bare, "the attack itself does not work: {outcome}"),
    }
    let scratch = arena(Scratch::new());
    set_up(&scratch, setup);
    let before = bits(&scratch);
    let outcome = call(&scratch, Mode::under_test(), line);
    assert!(confined.split('|').any(|one| one == answer(&outcome)), "{confined}: {outcome}");
    assert!(bits(&scratch) <= before, "a run has set a bit: {outcome}");
    if Mode::under_test() == Mode::Bare {
        assert_ne!(bare, confined, "a run may do this too");
    }
}

/// Number of files with a set-user-ID or set-group-ID bit below the directories that a run may be granted.
fn bits(scratch: &Scratch) -> usize {
    let places = [scratch.ws(), scratch.out()];
    let entries = places.iter().flat_map(|place| walk(place));
    entries.filter(|metadata| metadata.is_file() && metadata.mode() & 0o6000 != 0).count()
}

fn walk(place: &std::path::Path) -> Vec<std::fs::Metadata> {
    let entries =
        std::fs::read_dir(place).expect("a directory").map(|entry| entry.expect("an entry"));
    let metadata = entries.map(|entry| entry.path());
    metadata.filter_map(|path| std::fs::symlink_metadata(path).ok()).collect()
}

/// The program says what failed, and the report says why.
#[apply(row!)]
fn what_was_denied_is_told_with_the_reason() {
    for scratch in [Scratch::new(), Scratch::for_ordinary_user()] {
        assert_told(&scratch);
    }
}

fn assert_told(scratch: &Scratch) {
    for script in [
        "cp /usr/bin/id p && chmod 4755 p",
        "cp /usr/bin/id p; install -m 4755 p q",
        "cp /usr/bin/id p; chmod u+s p",
        "mkdir -m 2775 d",
    ] {
        let run = Run::sh(scratch, script).run();
        assert_ne!(run.status.code(), Some(0), "{run}");
        run.assert_stderr("set-user-ID and set-group-ID bits are never set by a run");
    }
    for name in ["p", "q", "d"] {
        let mode =
            std::fs::metadata(scratch.ws().join(name)).expect("it was made").permissions().mode();
        assert_eq!(mode & 0o6000, 0, "{name} {mode:o}");
    }
}

/// A directory keeps the bit that its parent gave it. So trees of a group can be copied and changed.
#[apply(row!)]
fn trees_of_a_group_go_on() {
    let scratch = Scratch::new();
    set_up(
        &scratch,
        "mkdir shared; chmod 2775 shared; git init -q shared/r; git -C shared/r config core.sharedRepository group",
    );
    let script = "cd shared/r && mkdir -p a/b && echo x >a/b/c && chmod -R g+w a && chmod -R u+w a \
                  && git add a && git -c user.name=n -c user.email=e@x commit -qm m && cp -a a z && stat -c %a a/b z/b";
    let run = Run::sh(&scratch, script).run();
    run.assert_ok();
    assert_eq!(run.stdout, "2775\n2775\n", "{run}");
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
}
