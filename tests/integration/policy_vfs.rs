//! Tools of the file service, and the programs that they start, have no other access to anything.

use std::net::TcpListener;
use std::os::unix::fs::symlink;

use macro_rules_attribute::apply;

use crate::cli_vfs::tool;
use crate::layers::row;
use crate::run::{Run, have, skip};
use crate::scratch::Scratch;

// conformance: d11-1, d11-4, d11-8, d11-11, d11-16, d11-102, d11-170, d11-213
#[apply(row!)]
fn a_tool_itself_reaches_neither_workspace_nor_home() {
    let scratch = Scratch::for_ordinary_user();
    let script = scratch.expand(
        "for name in $WS/file $OUT/secret $HOME/.private/key /proc/$PPID/environ; do
             while read -r line; do echo \"$line\"; done < $name
         done >&2
         echo x > $WS/new; echo $WS/* $HOME/.private/* >&2; set >&2
         tell result '{\"content\":\"done\"}'",
    );
    let run = tool(&scratch, &[], &script).env("API_KEY", "TOPSECRET").run();
    run.assert_no_secret().assert_ok();
    assert!(!run.stderr.contains("inside") && !run.stderr.contains("/ws/dir"), "{run}");
    assert!(!scratch.path("ws/new").exists(), "{run}");
}

// conformance: d11-8
/// The home looks missing, as to the programs of ordinary runs. The directory that the tool has for a home is not the
/// reason.
#[apply(row!)]
fn the_home_looks_absent_to_a_tool() {
    let scratch = Scratch::for_ordinary_user();
    symlink("key", scratch.path("home/.private/link")).expect("a link");
    let script = scratch.expand(
        "[ -e $HOME/.private/key ] && echo key is seen >&2
         [ -L $HOME/.private/link ] && echo link is seen >&2
         tell result '{\"content\":\"done\"}'",
    );
    let run = tool(&scratch, &[], &script).run();
    run.assert_ok();
    assert!(!run.stderr.contains("is seen"), "{run}");
    let shown = tool(&scratch, &["--show-denied"], &script).run();
    shown.assert_stderr("key is seen").assert_stderr("link is seen");
}

// conformance: d11-16
#[apply(row!)]
fn a_tool_of_the_workspace_gains_nothing_by_a_policy_for_what_it_reads() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("home/.config/jp-confine/config.toml", "[file_policy]\nwrite_paths = ['/**']\n");
    let script = scratch.expand(
        "read -r line < $OUT/secret; echo \"$line\" >&2; tell result '{\"content\":\"done\"}'",
    );
    tool(&scratch, &[], &script).run().assert_no_secret().assert_ok();
}

// conformance: d11-129
/// A path that is denied to everybody is denied to a tool, even in what it may execute and in what every program reads.
#[apply(row!)]
fn a_tool_is_denied_what_everybody_is() {
    let scratch = Scratch::for_ordinary_user();
    let script = scratch.expand(
        "read -r line < $OUT/secret; echo \"$line\" >&2; tell result '{\"content\":\"done\"}'",
    );
    let out = scratch.expand("$OUT");
    let seen = |flags: &[&str]| {
        let flags = [&["-x", out.as_str()], flags].concat();
        tool(&scratch, &flags, &script).run()
    };
    let secret = scratch.expand("$OUT/secret");
    seen(&["--deny", &secret]).assert_no_secret().assert_ok();
    assert!(seen(&[]).stderr.contains("TOPSECRET"), "nothing denies it, and -x grants it");
    for list in ["deny_paths", "prompt_paths"] {
        let policy = format!("[file_policy]\n{list} = ['**/secret']\n");
        scratch.write("home/.config/jp-confine/config.toml", &policy);
        seen(&[]).assert_no_secret().assert_ok();
    }
}

// conformance: 076-167
// conformance: d11-9
#[apply(row!)]
fn programs_of_a_tool_are_held_to_the_same_policy() {
    let scratch = Scratch::for_ordinary_user();
    let policy = "[access.commands.sh]\n[[access.fs]]\npath = '.'\nread = true\n\
                  [[access.fs]]\npath = 'dir'\nread = true\nwrite = true\n";
    scratch.write("ws/jp-confine.toml", policy);
    let attack = scratch.expand(
        "read x < $OUT/secret; echo $x; echo x > new; echo x > dir/new; read x < file; echo $x",
    );
    let params = format!(r#"{{"program":"sh","args":["-c","{attack}"]}}"#);
    let script = format!(
        "ask process.run '{params}'; {attack}; show; tell result '{{\"content\":\"done\"}}'"
    );
    let run = tool(&scratch, &[], &script).run();
    run.assert_no_secret().assert_ok().assert_stderr(r#"inside\n","stderr""#);
    assert!(scratch.path("ws/dir/new").exists() && !scratch.path("ws/new").exists(), "{run}");
}

// conformance: d11-93, d11-128
/// If another directory gets the workspace's name meanwhile, programs do not start in it.
#[apply(row!)]
fn programs_of_a_tool_start_in_the_workspace_that_was_found() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("ws/jp-confine.toml", "[access.commands.cat]\n");
    let script = r#"ask fs.write '{"path":"ready","content":""}'
        while ask fs.exists '{"path":"file"}'; case $answer in *exists*) :;; *) false;; esac; do :; done
        ask process.run '{"program":"cat","args":["file"]}'; show
        ask process.run '{"program":"cat","args":["secret"]}'; show
        tell result '{"content":"done"}'"#;
    let tool = tool(&scratch, &["-w", "ready"], script);
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| tool.run());
        while !scratch.path("ws/ready").exists() && !run.is_finished() {
            std::thread::yield_now();
        }
        std::fs::rename(scratch.path("ws"), scratch.path("moved")).expect("moved");
        std::os::unix::fs::symlink(scratch.path("out"), scratch.path("ws")).expect("a link");
        run.join().expect("a run")
    });
    run.assert_no_secret().assert_ok().assert_stderr(r#""stdout":"inside\n""#);
}

/// Prints the secret if it reaches a server.
fn connects(scratch: &Scratch, flags: &[&str], wrap: &str) {
    if !have("bash") {
        return skip("bash makes the connection");
    }
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let attack = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo TOPSECRET >&2");
    let script = wrap.replace("ATTACK", &attack);
    let run = Run::new(scratch, "bash", &["-c", &script]).flags(flags).run();
    run.assert_no_secret().assert_ok().assert_stderr("Permission denied");
}

// conformance: d11-4, d11-8, d11-76, d11-172
#[apply(row!)]
fn neither_a_tool_nor_its_programs_have_the_network() {
    let scratch = Scratch::for_ordinary_user();
    let result = r#"printf '{"jsonrpc":"2.0","method":"result","params":{"content":""}}\n'"#;
    connects(&scratch, &["vfs"], &format!("read -r init; (ATTACK); {result}"));
    scratch.write("ws/jp-confine.toml", "[access.commands.bash]\n");
    let ask = r#"printf '{"jsonrpc":"2.0","id":1,"method":"process.run","params":{"program":"bash","args":["-c","ATTACK"]}}\n'"#;
    connects(
        &scratch,
        &["vfs"],
        &format!("read -r init; {ask}; read -r answer; echo \"$answer\" >&2; (ATTACK); {result}"),
    );
}

#[apply(row!)]
fn a_run_does_without_the_network_where_it_is_told_to() {
    let scratch = Scratch::for_ordinary_user();
    connects(&scratch, &["--no-net"], "(ATTACK) || true");
}
