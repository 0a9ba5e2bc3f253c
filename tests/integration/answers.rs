//! Calls that the kernel denies by itself fail in the same way under confinement: same errno, no crash.

use macro_rules_attribute::apply;

use crate::attack::{Linking, answer, arena, arena_with, call, linkings};
use crate::layers::{Difference, Holder, row};
use crate::run::{Mode, Run, have, skip};
use crate::scratch::Scratch;

fn assert_same_answers(line: &str) {
    assert_same_answers_in(&arena, line);
}

/// As [`assert_same_answers`], for the attack program linked in each of these ways.
fn assert_same_answers_of(linkings: &[Linking], line: &str) {
    for &linking in linkings {
        assert_same_answers_in(&|scratch| arena_with(linking, scratch), line);
    }
}

/// The linkings that answer as the kernel does in a strict run, too. There, the library's own calls are judged once
/// more.
fn linkings_but_in_strict() -> &'static [Linking] {
    if Holder::under_test() == Holder::Strict { &[Linking::Static] } else { linkings() }
}

/// As [`assert_same_answers`], in trees that `plant` creates.
fn assert_same_answers_in(plant: &dyn Fn(Scratch) -> Scratch, line: &str) {
    let (bare, confined) = (plant(Scratch::new()), plant(Scratch::new()));
    let bare = call(&bare, Mode::Bare, line);
    let confined = call(&confined, Mode::Confined, line);
    assert!(bare.stdout.lines().last().is_some_and(|line| line.starts_with("ok")), "{bare}");
    let pairs = bare.stdout.lines().zip(confined.stdout.lines());
    let different: Vec<_> = pairs.filter(|(bare, confined)| bare != confined).collect();
    if Difference::of_this_test().is_some() {
        let changed = !different.is_empty() || bare.stdout != confined.stdout;
        return assert!(changed, "no longer different: {confined}");
    }
    assert!(different.is_empty(), "bare, then confined: {different:#?}");
    assert_eq!(bare.stdout, confined.stdout, "{confined}");
}

#[apply(row!)]
fn null_pointers() {
    assert_same_answers("null_pointers");
}

#[apply(row!)]
fn bad_pointers() {
    assert_same_answers("pointers");
}

#[apply(row!)]
fn odd_names() {
    assert_same_answers("odd_names");
}

/// A program with the library sees no older kernel.
#[apply(row!)]
fn newest_calls() {
    for line in ["file_getattr file", "setxattr file user.k , removexattrat file user.k"] {
        if answer(&call(&arena(Scratch::new()), Mode::Bare, line)) != "ok" {
            return skip("this kernel or file system has no such call");
        }
        assert_same_answers(line);
    }
}

#[apply(row!)]
fn resolve_flags() {
    assert_same_answers("resolve_flags");
}

/// A path that is resolved for another process leads to that process's own `/proc/self`.
#[apply(row!)]
fn one_s_own_process() {
    // In a strict run the library's own flags are denied, see `resolve_flags`.
    assert_same_answers_of(linkings_but_in_strict(), "own_process");
}

/// A name too long for a socket address is bound through a descriptor or the working directory.
#[apply(row!)]
fn sockets_below_descriptors() {
    let long = "d".repeat(120);
    for &linking in linkings() {
        for directory in ["dir", &long] {
            let plant = |scratch: Scratch| {
                scratch.write(&format!("ws/{directory}/file"), "");
                arena_with(linking, scratch)
            };
            for name in [
                "/proc/self/fd/N/s",
                "/dev/fd/N/s",
                "/proc/self/cwd/s",
                "/proc/thread-self/cwd/./s",
            ] {
                assert_same_answers_in(&plant, &format!("bind_from {directory} {name}"));
            }
        }
    }
}

#[apply(row!)]
fn odd_programs() {
    assert_same_answers("odd_programs");
}

#[apply(row!)]
fn odd_flags() {
    assert_same_answers("odd_flags");
}

#[apply(row!)]
fn flags_of_what_is_open() {
    // In a strict run, a new file that the library opens has O_NOFOLLOW among its flags.
    assert_same_answers_of(linkings_but_in_strict(), "status_flags");
}

/// A removed directory is still a directory, and still has a parent.
#[apply(row!)]
fn removed_directories() {
    assert_same_answers_of(linkings(), "removed_directory");
}

#[apply(row!)]
fn names_that_are_no_entry() {
    assert_same_answers_of(linkings(), "dot_names");
}

#[apply(row!)]
fn empty_paths() {
    assert_same_answers_of(linkings(), "empty_paths");
}

#[apply(row!)]
fn messages() {
    assert_same_answers("messages");
}

#[apply(row!)]
fn descriptor_numbers() {
    assert_same_answers("descriptor_numbers");
}

#[apply(row!)]
fn working_in_the_root_directory() {
    assert_same_answers("-r / -- in_root");
}

#[apply(row!)]
fn errno_of_success() {
    assert_same_answers("errno_kept");
}

#[apply(row!)]
fn modes_less_the_mask() {
    assert_same_answers("masks");
}

#[apply(row!)]
fn descriptors_that_children_inherit() {
    assert_same_answers("inherited");
}

#[apply(row!)]
fn signals_while_waiting() {
    assert_same_answers("interrupted");
}

#[apply(row!)]
fn streams_that_are_opened_again() {
    assert_same_answers("reopened");
}

#[apply(row!)]
fn streams_that_convert() {
    assert_same_answers("converted");
}

#[apply(row!)]
fn walks_from_what_is_no_directory() {
    assert_same_answers("walks");
}

#[apply(row!)]
fn shells_that_are_waited_for() {
    assert_same_answers("shells");
}

#[apply(row!)]
fn cancellation_points() {
    assert_same_answers("cancelled");
}

const CANCELLED: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
struct Guard { ~Guard() { puts("destroyed"); } };
void *wait_in_open(void *) { Guard guard; open("fifo", O_RDONLY); return nullptr; }
int main() {
    void *result;
    pthread_t thread;
    mkfifo("fifo", 0600);
    pthread_create(&thread, nullptr, wait_in_open, nullptr);
    usleep(100000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    puts(result == PTHREAD_CANCELED ? "cancelled" : "returned");
}
"#;

/// A cancelled thread unwinds through the hook that it waits in.
#[apply(row!)]
fn destructors_of_a_cancelled_thread() {
    if !have("c++") {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("ws/cancelled.cc", CANCELLED);
    let line = "c++ -o cancelled cancelled.cc -pthread";
    Run::sh(&scratch, line).mode(Mode::Bare).run().assert_ok();
    let run = Run::new(&scratch, "./cancelled", &[]).mode(Mode::Confined).run();
    assert_eq!(run.assert_ok().stdout, "destroyed\ncancelled\n", "{run}");
}

/// Calls that need much stack, on the smallest stack that a thread may have.
#[apply(row!)]
fn smallest_stack() {
    assert_same_answers(
        "symlink dir d , symlink ../file dir/l , small_stack open d/l , small_stack write_creat d/new \
         , small_stack mkdir d/one , small_stack rename d/one d/two , small_stack link d/new d/other \
         , small_stack chmod d/l , small_stack truncate d/new , small_stack opendir d \
         , small_stack fopen d/l , small_stack unlink d/other , small_stack rmdir d/two \
         , small_stack freopen d/l , small_stack sys_openat2 d/l \
         , small_stack spawn_self open d/l , small_stack exec_self open d/l \
         , small_stack execvp_self open d/l , small_stack nftw . , small_stack fts . \
         , small_stack nftw_chdir . file , small_stack scandir d , small_stack glob d/*",
    );
}
