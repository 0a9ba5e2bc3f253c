//! Tools of the file service, and what they start, have no other way to anything.

use crate::cli_vfs::tool;
use crate::scratch::Scratch;

#[test]
fn a_tool_itself_reaches_neither_workspace_nor_home() {
    let scratch = Scratch::for_ordinary_user();
    let script = scratch.expand(
        "cat $WS/file $OUT/secret $HOME/.private/key >&2; echo x > $WS/new; ls $WS $HOME >&2
         rm $WS/file; env >&2; cat /proc/$PPID/environ >&2; tell result '{\"content\":\"done\"}'",
    );
    let run = tool(&scratch, &[], &script).env("API_KEY", "TOPSECRET").run();
    run.assert_no_secret().assert_ok();
    assert!(!run.stderr.contains("inside"), "{run}");
    assert!(!scratch.path("ws/new").exists() && scratch.path("ws/file").exists(), "{run}");
}

#[test]
fn a_tool_of_the_workspace_gains_nothing_by_a_policy_for_what_it_reads() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("home/.config/jp-confine/config.toml", "[file_policy]\nwrite_paths = ['/**']\n");
    let script = scratch.expand("cat $OUT/secret >&2; tell result '{\"content\":\"done\"}'");
    tool(&scratch, &[], &script).run().assert_no_secret().assert_ok();
}

#[test]
fn programs_of_a_tool_are_held_to_the_same_policy() {
    let scratch = Scratch::for_ordinary_user();
    let policy = "[access.commands.sh]\n[[access.fs]]\npath = '.'\nread = true\n\
                  [[access.fs]]\npath = 'dir'\nread = true\nwrite = true\n";
    scratch.write("ws/jp-confine.toml", policy);
    let attack = scratch.expand("cat $OUT/secret; echo x > new; echo x > dir/new; cat file");
    let params = format!(r#"{{"program":"sh","args":["-c","{attack}"]}}"#);
    let script = format!(
        "ask process.run '{params}'; {attack}; show; tell result '{{\"content\":\"done\"}}'"
    );
    let run = tool(&scratch, &[], &script).run();
    run.assert_no_secret().assert_ok().assert_stderr(r#""stdout":"inside\n""#);
    assert!(scratch.path("ws/dir/new").exists() && !scratch.path("ws/new").exists(), "{run}");
}
