//! Advice that comes in parts, because programs end at the first refusal: followed round by round it comes to an
//! end, also where names are others each time.

use std::os::unix::fs::PermissionsExt as _;

use crate::cli_advice::{attempt, denials, texts, tree};
use crate::cli_status::product;
use crate::scratch::Scratch;

/// Each replaces a file by one of a made-up name, and is refused to begin with.
const ROWS: [&str; 2] = ["sed -i s/i/j/ dir/a", "ln -f dir/b dir/a"];

/// So often denials are followed, before the script has to pass.
const ROUNDS: usize = 2;

#[test]
fn rules_for_made_up_names_come_to_an_end() {
    for policy in [
        "[[access.fs]]\npath = 'dir/a'\nread = true\n",
        "[[access.fs]]\npath = '.'\nread = true\n
[[access.fs]]\npath = 'dir/a'\nread = true\nexecute = true\n",
    ] {
        for script in ROWS {
            let scratch = Scratch::new();
            let mut policy = policy.to_owned();
            scratch.write("ws/dir/a", "i");
            scratch.write("ws/dir/b", "b");
            scratch.write("ws/jp-confine.toml", &policy);
            for _ in 0..ROUNDS {
                assert_ne!(attempt(&scratch, script).code(), 0, "{script}: {policy}");
                policy = format!("{policy}\n{}", texts(&denials(&scratch), "toml").join("\n"));
                scratch.write("ws/jp-confine.toml", &policy);
            }
            let last = attempt(&scratch, script);
            assert_eq!(last.code(), 0, "{script}: {policy}\n{last}");
        }
    }
}

/// What is typed and refused is told of as what programs start, with what would allow it, and what starts it.
#[test]
fn a_program_that_is_typed_has_a_way_out_too() {
    let scratch = tree();
    let typed = |options: &[&str]| {
        let line = [options, &["--events", "events", "--", "./script"]].concat();
        product(&scratch, &line).run()
    };
    let interpreter = scratch.expand("$WS/dir/program");
    scratch.write("ws/script", &format!("#!{interpreter}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.ws().join("script"), mode).expect("executable");
    product(&scratch, &["--", "cat", "/nowhere/else"]).run();
    for (name, starter) in [("script", "jp-confine"), ("dir/program", "script")] {
        let told = format!("denied execute {name} by {starter}");
        typed(&[]).assert_code(126).assert_stderr(&told).assert_stderr("rule `.`");
        let advice = denials(&scratch);
        let rules = texts(&advice, "toml").concat();
        assert_eq!(texts(&advice, "path"), [scratch.expand(&format!("$WS/{name}"))]);
        let policy = scratch.read("ws/jp-confine.toml");
        scratch.write("ws/jp-confine.toml", &format!("{policy}\n{rules}"));
    }
    typed(&[]).assert_ok();
    typed(&["--deny", "script"]).assert_code(126).assert_stderr("leave out `--deny script`");
    scratch.write("ws/jp-confine.toml", "[file_policy]\ndeny_paths = [\"**/script\"]\n");
    typed(&["-q"]).assert_code(126).assert_stderr("`**/script` of deny_paths");
    let events = scratch.read("ws/events");
    assert_eq!(events.matches("\"event\":\"denial\"").count(), 4, "{events}");
}
