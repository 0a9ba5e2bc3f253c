//! `init` writes a policy to start with, under which programs work.

use crate::cli_status::product;
use crate::scratch::Scratch;

#[test]
fn programs_run_under_what_it_writes() {
    let scratch = Scratch::new();
    scratch.write("ws/Cargo.toml", "");
    scratch.write("ws/.git/hooks/post-commit", "");
    scratch.write("ws/.env", "PASSWORD");
    product(&scratch, &["init"]).run().assert_ok().assert_stdout("wrote ");
    product(&scratch, &["compile"]).run().assert_ok().assert_stdout(".git");
    let build =
        "mkdir new && cp /bin/true new/program && mv new target && target/program && cat file";
    product(&scratch, &["--", "sh", "-c", build]).run().assert_ok().assert_stdout("inside");
    for script in ["cat .env", "echo x > .git/hooks/post-commit", "echo x > jp-confine.toml"] {
        assert_ne!(product(&scratch, &["--", "sh", "-c", script]).run().code(), 0, "{script}");
    }
}

#[test]
fn an_existing_policy_stays() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "# mine\n");
    let run = product(&scratch, &["-C", ".", "init"]).run();
    run.assert_code(125).assert_stderr("exists").assert_stderr("edit it");
    assert_eq!(scratch.read("ws/jp-confine.toml"), "# mine\n");
    product(&scratch, &["init", "-C", "dir"]).run().assert_ok();
    assert!(scratch.path("ws/dir/jp-confine.toml").exists());
}
