//! The clients of `serve` in `clients/`, by their own tests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{Mode, Outcome, PRODUCT, Run, given};
use crate::scratch::Scratch;

fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)
}

fn run(scratch: &Scratch, cwd: &Path, script: &str) -> Outcome {
    Run::sh(scratch, script).mode(Mode::Bare).cwd(cwd).env("PROGRAM", PRODUCT).run()
}

#[test]
fn python() {
    let Some(scratch) = given(&["python3"], Scratch::new) else { return };
    let run = run(&scratch, &client("python"), "exec python3 -B -m unittest discover tests");
    run.assert_ok().assert_stderr("OK\n");
}

/// A copy of the client in TypeScript. Beside its `package.json`, Deno would want packages of the registry.
fn typescript(scratch: &Scratch) -> PathBuf {
    for file in ["src/index.ts", "tests/checker.ts"] {
        let text = fs::read_to_string(client("typescript").join(file)).expect("a file");
        scratch.write(&format!("tmp/client/{file}"), &text);
    }
    scratch.path("tmp/client")
}

#[test]
fn typescript_in_bun_and_node() {
    let Some(scratch) = given(&["bun", "node"], Scratch::new) else { return };
    let directory = typescript(&scratch);
    run(&scratch, &directory, "exec bun tests/checker.ts").assert_ok().assert_stdout("done\n");
    let script = "bun build tests/checker.ts --target=node --outfile=checker.mjs > /dev/null && exec node checker.mjs";
    run(&scratch, &directory, script).assert_ok().assert_stdout("done\n");
}

/// Checks the types, too.
#[test]
fn typescript_in_deno() {
    let Some(scratch) = given(&["deno"], Scratch::new) else { return };
    let directory = typescript(&scratch);
    let script = "exec deno run --check --no-remote --allow-all tests/checker.ts";
    run(&scratch, &directory, script).assert_ok().assert_stdout("done\n");
}
