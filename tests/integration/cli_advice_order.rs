//! Of rules on one path the last decides: advice names the list in which it is that, and what it comes after.

use crate::cli_advice::{denials, texts};
use crate::cli_status::product;
use crate::scratch::Scratch;

/// A lower file, a higher one, in both with `@` where more of the list goes, and where a rule on `dir/a` belongs.
const ROWS: &[(&str, &str, &str)] = &[
    // The rules of the higher file come first.
    (
        "[[access.fs]]\npath = 'dir/a'\nread = true\n@",
        "[access.fs]\nstrategy = 'prepend'\nvalue = [{path = '.', read = true, execute = true}]\n",
        "low.toml, after the rule on line 2:",
    ),
    // They are the only ones.
    (
        "[[access.fs]]\npath = 'dir/a'\nread = true\n",
        "[access.fs]\nstrategy = 'replace'\nvalue = [{path = '.', read = true, execute = true},\n@]\n",
        "access.fs.value of top.toml, at its end behind a comma:",
    ),
    // They come first, and say nothing of the path.
    (
        "[[access.fs]]\npath = '.'\nread = true\nexecute = true\n",
        "[access.fs]\nstrategy = 'prepend'\nvalue = [{path = 'dir', read = true},\n@]\n",
        "access.fs.value of top.toml, at its end behind a comma:",
    ),
    // Those of the tool do.
    (
        "[[access.fs]]\npath = 'dir/a'\nread = true\n[[access.fs]]\npath = '.'\nexecute = true\n@",
        "[tools.edit.access.fs]\nstrategy = 'prepend'\nvalue = []\n",
        "low.toml, after the rule on line 2:",
    ),
    // They would be left out once the tool has some.
    (
        "[tools.edit]\n",
        "[access.fs]\ndiscard_when_merged = true\nvalue = [{path = '.', read = true, execute = true},\n@]",
        "access.fs.value of top.toml, at its end behind a comma:",
    ),
    (
        "",
        "{\"access\": {\"fs\": [{\"path\": \"dir/a\", \"read\": true},\n{\"path\": \".\", \"execute\": true},\n@]}}",
        "access.fs of top.json, after the rule on line 1 and a comma:",
    ),
    (
        "",
        "[access]\nfs = [\n{path = '.', read = true, execute = true},\n{path = 'dir/a', read = true}@\n]\n",
        "access.fs of top.toml, after the rule on line 4 and a comma:",
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
