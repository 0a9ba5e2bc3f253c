//! What a confined program can learn about its run: `jp-confine status` and `JP_CONFINE_NOTE`, and the policy itself, if
//! its parent closed that.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::run::{Mode, Outcome, PRODUCT, Run, have};
use crate::scratch::Scratch;

/// Runs `jp-confine status` inside a run with these options.
fn inside(scratch: &Scratch, options: &str, words: &str) -> Outcome {
    if !scratch.path("ws/bin/jp-confine").exists() {
        scratch.copy_program(Path::new(PRODUCT), "ws/bin/jp-confine");
        scratch.hand_over();
    }
    let options = scratch.expand(options);
    let options: Vec<&str> = options.split_whitespace().collect();
    Run::sh(scratch, &format!("exec bin/jp-confine status {words}")).flags(&options).run()
}

fn json(run: &Outcome) -> Value {
    run.assert_ok();
    serde_json::from_str(&run.stdout).expect("JSON")
}

/// The capabilities that the status has for a path.
fn granted(status: &Value, path: &Path) -> Vec<String> {
    let grants = status["grants"].as_array().expect("a list").iter();
    let mut at = grants.filter(|it| it["path"].as_str().map(Path::new) == Some(path));
    let capabilities = at.next().map(|it| it["capabilities"].as_array().expect("a list").clone());
    let words = capabilities.into_iter().flatten();
    words.map(|word| word.as_str().expect("a word").to_owned()).collect()
}

#[test]
fn outside_of_a_run_it_says_so() {
    let scratch = Scratch::for_ordinary_user();
    let ask = |words: &[&str]| Run::new(&scratch, PRODUCT, words).mode(Mode::Bare).run();
    ask(&["status"]).assert_code(1).assert_stdout("not confined");
    let run = ask(&["status", "--json"]);
    run.assert_code(1);
    let status: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(status["confined"], false);
}

#[test]
fn ten_lines_tell_what_is_granted() {
    let scratch = Scratch::for_ordinary_user();
    let run = inside(&scratch, "-r $OUT --net a.test --env FOO", "");
    run.assert_ok().assert_stdout("confined by jp-confine").assert_stdout("network    a.test\n");
    run.assert_stdout("variables  FOO\n").assert_stdout("programs   all\n");
    assert!(run.stdout.lines().count() <= 10, "{run}");
    let write = run.stdout.lines().find(|line| line.starts_with("write")).expect("a line");
    assert!(write.contains("/ws"), "{write}");
    let free = inside(&scratch, "", "");
    free.assert_stdout("network    all\n").assert_stdout("variables  all that were set\n");
    inside(&scratch, "--no-net", "").assert_stdout("network    none\n");
}

#[test]
fn json_has_each_path() {
    let scratch = Scratch::for_ordinary_user();
    let status = json(&inside(&scratch, "-r $OUT --deny dir --net a.test", "--json"));
    let real = |path: std::path::PathBuf| path.canonicalize().expect("canonical");
    assert_eq!(status["confined"], true);
    assert_eq!(status["runs"], 1);
    assert_eq!(status["network"], "rules");
    assert_eq!(status["hosts"][0]["host"], "a.test");
    assert_eq!(granted(&status, &real(scratch.out())), ["read"]);
    assert_eq!(granted(&status, &real(scratch.ws())).len(), 5);
    let denied = real(scratch.path("ws/dir"));
    let grants = status["grants"].as_array().expect("a list");
    assert!(grants.iter().any(|it| it["path"].as_str().map(Path::new) == Some(&denied)));
    assert_eq!(granted(&status, &denied), [""; 0]);
}

/// A run in a run is told what both grant.
#[test]
fn an_inner_run_knows_the_outer_one() {
    let scratch = Scratch::for_ordinary_user();
    scratch.copy_program(Path::new(PRODUCT), "ws/bin/jp-confine");
    scratch.hand_over();
    let script = "exec bin/jp-confine -q -w . -- bin/jp-confine status --json";
    let run = Run::sh(&scratch, script).flags(&["--deny", "dir", "-r", "."]).run();
    let status = json(&run);
    assert_eq!(status["runs"], 2);
    let denied = scratch.path("ws/dir").canonicalize().expect("canonical");
    assert_eq!(granted(&status, &denied), [""; 0]);
}

#[test]
fn a_variable_tells_programs_that_they_are_confined() {
    let scratch = Scratch::for_ordinary_user();
    for options in [&[][..], &["--isolated"]] {
        let run = Run::sh(&scratch, "echo \"$JP_CONFINE_NOTE\"").flags(options).run();
        run.assert_ok().assert_stdout("jp-confine status");
    }
    let own = Run::sh(&scratch, "true").flags(&["--env", "JP_CONFINE_NOTE=x"]).run();
    own.assert_code(125).assert_stderr("is set by jp-confine itself");
}

/// A program without the library closes every descriptor before it starts another one, as Codex does.
#[test]
fn a_child_of_a_program_that_closed_all_files_is_confined() {
    if !have("gcc") {
        return;
    }
    let scratch = Scratch::new();
    let source = "#define _GNU_SOURCE
        #include <unistd.h>
        #include <sys/syscall.h>
        int main(int count, char **words) {
            syscall(SYS_close_range, 3, ~0u, 0);
            return count < 2 || execvp(words[1], words + 1);
        }";
    scratch.write("close.c", source);
    let mut gcc = Command::new("gcc");
    gcc.args(["-static", "-o"]).arg(scratch.path("ws/close")).arg(scratch.path("close.c"));
    assert!(gcc.status().expect("gcc").success(), "a static program");
    let script = scratch.expand(
        "cat file && echo new > made && cat made && ! cat $OUT/secret && ! echo x > $OUT/target && \
         sh -c 'mkdir a && mv a b && cat file'",
    );
    let run = Run::new(&scratch, "./close", &["sh", "-c", &script]).flags(&["-v"]).run();
    run.assert_ok().assert_no_secret().assert_stdout("inside\nnew\ninside\n");
    run.assert_stderr("2 denials").assert_stderr("denied read").assert_stderr("by cat");
    assert_eq!(scratch.read("out/target"), "unchanged\n");
}
