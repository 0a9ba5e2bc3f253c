//! The last rule on a path decides. So the suggestion names the list at whose end the new rule is last.

use crate::cli_advice::allow;
use crate::cli_status::product;
use crate::scratch::Scratch;

/// A lower file and a higher one, and whether a rule on `dir/a` belongs into the higher one.
const ROWS: &[(&str, &str, bool)] = &[
    // The rules of the higher file come first.
    (
        "[[access.fs]]\npath = 'dir/a'\nread = true\n",
        "[access.fs]\nstrategy = 'prepend'\nvalue = [{path = '.', read = true, execute = true}]\n",
        false,
    ),
    // The rules of the higher file are the only ones.
    (
        "[[access.fs]]\npath = 'dir/a'\nread = true\n",
        "[access.fs]\nstrategy = 'replace'\nvalue = [{path = '.', read = true, execute = true}]\n",
        true,
    ),
    // They come first, and none is about the path.
    (
        "[[access.fs]]\npath = '.'\nread = true\nexecute = true\n",
        "[access.fs]\nstrategy = 'prepend'\nvalue = [{path = 'dir', read = true}]\n",
        true,
    ),
    // The rules of the tool come first.
    (
        "[[access.fs]]\npath = 'dir/a'\nread = true\n[[access.fs]]\npath = '.'\nexecute = true\n",
        "[tools.edit.access.fs]\nstrategy = 'prepend'\nvalue = []\n",
        false,
    ),
    // The rules of the higher file would be left out once the tool has some.
    (
        "[tools.edit]\n",
        "[access.fs]\ndiscard_when_merged = true\nvalue = [{path = '.', read = true, execute = true}]",
        true,
    ),
    (
        "",
        "{\"access\": {\"fs\": [{\"path\": \"dir/a\", \"read\": true},\n{\"path\": \".\", \"execute\": true}]}}",
        true,
    ),
    (
        "",
        "[access]\nfs = [\n{path = '.', read = true, execute = true},\n{path = 'dir/a', read = true}\n]\n",
        true,
    ),
];

#[test]
fn rules_are_advised_where_they_count() {
    for (low, top, is_higher) in ROWS {
        let scratch = Scratch::new();
        let higher = if top.starts_with('{') { "top.json" } else { "top.toml" };
        scratch.write("ws/low.toml", low);
        scratch.write(&format!("ws/{higher}"), top);
        let tool = if low.contains("edit") || top.contains("edit") { "--tool=edit" } else { "-q" };
        let run = || {
            let policies = ["-p", "low.toml", "-p", higher, tool];
            product(&scratch, &[&policies[..], &["--", "sh", "-c", "echo x >> dir/a"]].concat())
                .run()
        };
        assert_ne!(run().code(), 0, "{top}: allowed from the start");
        let told = product(&scratch, &["allow", "1", "--yes"]).run();
        assert_eq!(told.stdout.contains(&format!("/{higher}\n")), *is_higher, "{top}: {told}");
        let again = run();
        assert_eq!(again.code(), 0, "{top}: {told}\n{again}");
    }
}

/// Rules in the user's configuration, and a script that needs more.
const OF_ALL: &[(&str, &str)] = &[
    ("[[access.fs]]\npath = '.'\nread = true\nexecute = true\n", "echo x >> dir/a"),
    (
        "[access.fs]\nstrategy = 'prepend'\nvalue = [{path = '.', read = true, execute = true}]\n",
        "echo x >> dir/a",
    ),
    ("[access.commands.bash]\n", "ls dir"),
    ("[access.commands.bash]\n[access.commands.ls]\nargs = []\n", "ls dir"),
];

/// Rules in the user's configuration apply to all workspaces. A rule for one of them belongs in its own file.
#[test]
fn rules_for_one_workspace_are_advised_for_its_own_file() {
    for (config, script) in OF_ALL {
        for own in [None, Some("[file_policy]\n")] {
            let scratch = Scratch::new();
            scratch.write("home/.config/jp-confine/config.toml", config);
            let file = "ws/jp-confine.toml";
            own.inspect(|text| scratch.write(file, text));
            let run = || product(&scratch, &["--", "bash", "-c", script]).run();
            assert_ne!(run().code(), 0, "{config}: allowed from the start");
            let told = product(&scratch, &["allow", "1", "--yes"]).run();
            let wrote = format!("wrote {}\n", scratch.path(file).display());
            assert_eq!(told.stdout.matches("wrote ").count(), 1, "{config}: {told}");
            told.assert_stdout(&wrote);
            let again = run();
            assert_eq!(again.code(), 0, "{config}: {told}: {again}");
        }
    }
}

/// The workspace's own file is also named where an addition to the last file would come too early.
#[test]
fn rules_for_one_workspace_are_advised_for_its_own_file_before_that_of_all() {
    let scratch = Scratch::new();
    let (all, own) = ("home/.config/jp-confine/config.toml", "ws/jp-confine.toml");
    scratch.write(all, "[[access.fs]]\npath = 'dir/text'\nread = true\n");
    let later = "{\"access\": {\"fs\": {\"strategy\": \"prepend\", \"value\": [{\"path\": \"dir\", \"read\": true}]}}}";
    scratch.write("ws/p.json", later);
    let run = || product(&scratch, &["-p", "p.json", "--", "sh", "-c", "echo x > dir/text"]).run();
    assert_ne!(run().code(), 0);
    allow(&scratch);
    assert!(scratch.path(own).exists());
    run().assert_ok();
}

/// Policies with tables of a tool that has no rules yet.
const OF_TOOLS: &[&str] = &[
    "{\"access\": {\"fs\": [{\"path\": \".\", \"read\": true}]}, \"tools\": {\"edit\": {}}}",
    "{\"access\": {\"fs\": [{\"path\": \".\", \"read\": true}]}, \"conversation\": {\"tools\": {\"edit\": {}}}}",
    "access = {fs = [{path = '.', read = true}]}\ntools = {edit = {}}\n",
];

/// A rule that a tool needs is not granted to all.
#[test]
fn rules_of_a_tool_are_advised_as_those_of_the_tool() {
    for policy in OF_TOOLS {
        let scratch = Scratch::new();
        let name = if policy.starts_with('{') { "p.json" } else { "p.toml" };
        let run = |tool: &str| {
            let line = ["-p", name, tool, "--", "sh", "-c", "echo x >> dir/a"];
            product(&scratch, &line).run()
        };
        scratch.write(&format!("ws/{name}"), policy);
        assert_ne!(run("--tool=edit").code(), 0, "{policy}: allowed from the start");
        allow(&scratch);
        let again = run("--tool=edit");
        assert_eq!(again.code(), 0, "{policy}: {again}");
        assert_ne!(run("-q").code(), 0, "{policy}: granted to all");
    }
}
