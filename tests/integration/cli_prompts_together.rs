//! One prompt for all paths that a command names (spec §9.5).

use crate::cli_prompts::{QUESTION, place_with, reply, start};
use crate::scratch::Scratch;

/// The workspace of prompts, with further names: one that is granted and one that is denied.
fn place(programs: &[&str]) -> Option<Scratch> {
    let scratch = place_with(programs)?;
    scratch.write(
        "ws/jp-confine.toml",
        "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n[[access.fs]]\npath = 'denied'\n\
         [file_policy]\nprompt_paths = ['<workspace>/ask/**', '**/also/**']\n",
    );
    scratch.write("ws/denied", "content-denied\n");
    scratch.write("ws/also/c", "content-c\n");
    Some(scratch)
}

/// A script, the answers in order, the number of prompts, and what is then on the screen and what not.
type Row =
    (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const ROWS: &[Row] = &[
    ("cat ask/a ask/b", &["y"], &["ask/a", "and with that to read", "content-a", "content-b"], &[]),
    ("cat ask/a ask/b", &["n"], &[], &["content-a", "content-b"]),
    // Once is for one use of each.
    ("cat ask/a ask/b; cat ask/b", &["y", "n"], &["content-a"], &[]),
    ("cat ask/a ask/b; cat ask/b ask/a", &["r"], &["content-a"], &[]),
    // Another try asks again, for all of it.
    ("cat ask/a ask/b; cat ask/a ask/b", &["s", "y"], &["content-b"], &[]),
    ("cat ask/a denied", &[], &[], &["content-a", "wants to"]),
    ("cat denied ask/a", &[], &[], &["content-a", "wants to"]),
    ("cat ask/a; cat denied", &["y"], &["content-a"], &[]),
    ("cat ask/a file none", &["y"], &["content-a", "inside"], &["and with that"]),
    // Another pattern is another reason, which is shown on its own.
    ("cat ask/a also/c", &["y", "y"], &["content-a", "content-c"], &["and with that"]),
    ("cp ask/a denied", &[], &[], &["wants to"]),
    ("rm ask/a ask/b && echo gone", &["y"], &["and with that to delete", "gone"], &[]),
];

// conformance: tiers-49
#[test]
fn a_command_asks_once() {
    for (script, answers, seen, unseen) in ROWS {
        let Some(scratch) = place(&[]) else { return };
        let mut terminal = start(&scratch, script);
        for answer in *answers {
            reply(&mut terminal, answer);
        }
        terminal.end();
        let screen = terminal.screen();
        assert_eq!(screen.matches(QUESTION).count(), answers.len(), "{script}: {screen}");
        for text in *seen {
            assert!(screen.contains(text), "{script}: no {text}: {screen}");
        }
        for text in *unseen {
            assert!(!screen.contains(text), "{script}: {text}: {screen}");
        }
    }
}

/// What is shown is what is consented to. A process that names a thousand paths is asked about a few at a time.
#[test]
fn a_prompt_names_a_few_paths() {
    let Some(scratch) = place(&[]) else { return };
    let names: Vec<String> = (0..9).map(|number| format!("ask/n{number}")).collect();
    for name in &names {
        scratch.write(&format!("ws/{name}"), "content\n");
    }
    let mut terminal = start(&scratch, &format!("cat {}", names.join(" ")));
    for _ in 0..2 {
        reply(&mut terminal, "y");
    }
    assert_eq!(terminal.end(), Some(0));
    let screen = terminal.screen();
    assert_eq!(screen.matches("content").count(), 9, "{screen}");
    assert_eq!(screen.matches(QUESTION).count(), 2, "{screen}");
}

/// A yes for a process is not for its children, nor for another that names the same.
#[test]
fn a_yes_is_for_the_process_that_was_named() {
    let Some(scratch) = place(&["python3"]) else { return };
    let program = "import os, sys\nprint(open(sys.argv[1]).read())\nif os.fork() == 0:\n    open(sys.argv[2]).read()\n\
                   else:\n    os.wait()";
    scratch.write("ws/program.py", program);
    let mut terminal = start(&scratch, "python3 program.py ask/a ask/b");
    for answer in ["y", "n"] {
        reply(&mut terminal, answer);
    }
    terminal.see("PermissionError");
    terminal.end();
}
