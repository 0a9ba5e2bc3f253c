//! The last rule on a path decides. So the suggestion names the list at whose end the new rule is last.

use crate::cli_advice::{denials, texts};
use crate::cli_status::product;
use crate::scratch::Scratch;

/// A lower file and a higher one, both with `@` where more of the list goes, and the place for a rule on `dir/a`.
const ROWS: &[(&str, &str, &str)] = &[
    // The rules of the higher file come first.
    (
        "[[access.fs]]\npath = 'dir/a'\nread = true\n@",
        "[access.fs]\nstrategy = 'prepend'\nvalue = [{path = '.', read = true, execute = true}]\n",
        "add to low.toml:",
    ),
    // The rules of the higher file are the only ones.
    (
        "[[access.fs]]\npath = 'dir/a'\nread = true\n",
        "[access.fs]\nstrategy = 'replace'\nvalue = [{path = '.', read = true, execute = true},\n@]\n",
        "access.fs.value of top.toml, at its end behind a comma:",
    ),
    // They come first, and none is about the path.
    (
        "[[access.fs]]\npath = '.'\nread = true\nexecute = true\n",
        "[access.fs]\nstrategy = 'prepend'\nvalue = [{path = 'dir', read = true},\n@]\n",
        "access.fs.value of top.toml, at its end behind a comma:",
    ),
    // The rules of the tool come first.
    (
        "[[access.fs]]\npath = 'dir/a'\nread = true\n[[access.fs]]\npath = '.'\nexecute = true\n@",
        "[tools.edit.access.fs]\nstrategy = 'prepend'\nvalue = []\n",
        "add to low.toml:",
    ),
    // The rules of the higher file would be left out once the tool has some.
    (
        "[tools.edit]\n",
        "[access.fs]\ndiscard_when_merged = true\nvalue = [{path = '.', read = true, execute = true},\n@]",
        "access.fs.value of top.toml, at its end behind a comma:",
    ),
    (
        "",
        "{\"access\": {\"fs\": [{\"path\": \"dir/a\", \"read\": true},\n{\"path\": \".\", \"execute\": true},\n@]}}",
        "access.fs of top.json, at its end behind a comma:",
    ),
    (
        "",
        "[access]\nfs = [\n{path = '.', read = true, execute = true},\n{path = 'dir/a', read = true}@\n]\n",
        "access.fs of top.toml, at its end behind a comma:",
    ),
];

#[test]
fn rules_are_advised_where_they_count() {
    for (low, top, place) in ROWS {
        let scratch = Scratch::new();
        let higher = if top.starts_with('{') { "top.json" } else { "top.toml" };
        let write = |rules: &str| {
            scratch.write("ws/low.toml", &low.replace('@', rules));
            let top = if rules.is_empty() { top.to_string() } else { top.replace("}@", "},\n@") };
            scratch.write(&format!("ws/{higher}"), &top.replace('@', rules));
        };
        write("");
        let tool = if low.contains("edit") || top.contains("edit") { "--tool=edit" } else { "-q" };
        let run = || {
            let policies = ["-p", "low.toml", "-p", higher, tool];
            product(&scratch, &[&policies[..], &["--", "sh", "-c", "echo x >> dir/a"]].concat())
                .run()
        };
        assert_ne!(run().code(), 0, "{top}: allowed from the start");
        let told = product(&scratch, &["why", "--last"]).run();
        told.assert_stdout(place);
        write(&texts(&denials(&scratch), "toml").concat());
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
            let denied = run();
            assert_ne!(denied.code(), 0, "{config}: allowed from the start");
            let place = scratch.path(file).display().to_string();
            let denied: String = denied.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(denied.contains(&format!("add to {place}:")), "{config}: {denied}");
            let rules = texts(&denials(&scratch), "toml").concat();
            scratch.write(file, &format!("{}{rules}", own.unwrap_or_default()));
            let again = run();
            assert_eq!(again.code(), 0, "{config}: {rules}: {again}");
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
    let rules = texts(&denials(&scratch), "toml").concat();
    let place = scratch.path(own).display().to_string();
    assert_eq!(denials(&scratch)[0]["file"].as_str(), Some(place.as_str()));
    scratch.write(own, &rules);
    run().assert_ok();
}

/// A policy with `@` where a tool may have a list, the form of the list there, and the place for a rule of the tool.
const OF_TOOLS: &[(&str, &str, &str)] = &[
    (
        "{\"access\": {\"fs\": [{\"path\": \".\", \"read\": true}]}, \"tools\": {\"edit\": {@}}}",
        "\"access\": {\"fs\": [@]}",
        "a new tools.edit.access.fs in p.json:",
    ),
    (
        "{\"access\": {\"fs\": [{\"path\": \".\", \"read\": true}]}, \"conversation\": {\"tools\": {\"edit\": {@}}}}",
        "\"access\": {\"fs\": [@]}",
        "a new conversation.tools.edit.access.fs in p.json:",
    ),
    (
        "access = {fs = [{path = '.', read = true}]}\ntools = {edit = {@}}\n",
        "access = {fs = [@]}",
        "a new tools.edit.access.fs in p.toml:",
    ),
];

/// A rule that a tool needs is not granted to all.
#[test]
fn rules_of_a_tool_are_advised_as_those_of_the_tool() {
    for (policy, list, place) in OF_TOOLS {
        let scratch = Scratch::new();
        let name = if policy.starts_with('{') { "p.json" } else { "p.toml" };
        let run = |tool: &str| {
            let line = ["-p", name, tool, "--", "sh", "-c", "echo x >> dir/a"];
            product(&scratch, &line).run()
        };
        scratch.write(&format!("ws/{name}"), &policy.replace('@', ""));
        run("--tool=edit").assert_stderr(&format!("or add to {place}"));
        product(&scratch, &["why", "--last"]).run().assert_stdout(&format!("add to {place}"));
        let advice = denials(&scratch);
        assert_eq!(advice[0]["new_list"], true, "{advice:?}");
        let list = list.replace('@', &texts(&advice, "toml").concat());
        scratch.write(&format!("ws/{name}"), &policy.replace('@', &list));
        let again = run("--tool=edit");
        assert_eq!(again.code(), 0, "{policy}: {list}: {again}");
        assert_ne!(run("-q").code(), 0, "{policy}: granted to all");
    }
}
