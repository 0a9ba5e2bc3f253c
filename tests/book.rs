//! Checks the documents. Every page is in the book's table of contents, and every link leads somewhere. The policy
//! reference has the keys that the parser knows. The messages on the errors page occur in the source.
//!
//! `UPDATE_DOCS=1` writes the parts of `docs/SUMMARY.md` that list commands and decisions, and the profiles.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path};
use std::process::Command;

use serde_json::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const SUMMARY: &str = "docs/SUMMARY.md";
const PROFILES: &str = "docs/profiles.md";

/// Pages outside of the book whose links are checked, too.
const OTHERS: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files with that ending below a directory, by their paths from the root, in order.
fn files(directory: &str, ending: &str) -> Vec<String> {
    let mut open = vec![Path::new(ROOT).join(directory)];
    let mut found = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(ROOT).expect("below the root");
            if path.is_dir() {
                open.push(path);
            } else if name.extension().is_some_and(|it| it == ending) {
                found.push(name.to_str().expect("UTF-8").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The lines of a page outside of fenced code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

/// The first heading of a page.
fn title(page: &str) -> String {
    let text = read(page);
    let title = prose(&text).find_map(|line| line.strip_prefix("# "));
    title.unwrap_or_else(|| panic!("{page} has no title")).replace('`', "")
}

/// The targets of the links of a page. Code is left out.
fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(page) {
        let plain: String = line.split('`').step_by(2).collect();
        for part in plain.split("](").skip(1) {
            found.extend(part.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    found
}

/// The path that a link of `page` names, without `.` and `..`.
fn target(page: &str, link: &str) -> String {
    let mut path = Path::new(page).parent().expect("a file").to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => assert!(path.pop(), "{page}: {link} leads out"),
            part => path.push(part),
        }
    }
    path.to_str().expect("UTF-8").to_owned()
}

/// The anchors of a page, as mdBook and GitHub derive them from headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let anchor = |heading: &str| -> String {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        kept.chars()
            .filter(|it| it.is_alphanumeric() || " -_".contains(*it))
            .map(|it| if it == ' ' { '-' } else { it })
            .collect()
    };
    prose(page).filter(|line| line.starts_with('#')).map(anchor).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = String::new();
    for page in files("docs", "md").into_iter().chain(OTHERS.map(str::to_owned)) {
        for link in links(&read(&page)) {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { page.clone() } else { target(&page, file) };
            // A page of the book cannot link to a file beside the book: it would be missing in the HTML.
            let is_beside = page.starts_with("docs/") && !target.starts_with("docs/");
            let is_missing = || !Path::new(ROOT).join(&target).exists();
            if is_beside
                || is_missing()
                || !anchor.is_empty() && !anchors(&read(&target)).contains(anchor)
            {
                let _ = writeln!(wrong, "{page}: {link}");
            }
        }
    }
    assert!(wrong.is_empty(), "these links lead nowhere:\n{wrong}");
}

/// The table of contents with the entries below that of `page` replaced.
fn with_entries(summary: &str, page: &str, entries: &str) -> String {
    let entry = format!("]({page})\n");
    let (before, after) = summary.split_once(&entry).expect("the entry of the page");
    let rest = after.split_inclusive('\n').skip_while(|line| line.starts_with("  - "));
    [before, &entry, entries].concat() + &rest.collect::<String>()
}

#[test]
fn every_page_is_in_the_book() {
    let written = read(SUMMARY);
    let mut expected = written.clone();
    for name in ["commands", "decisions"] {
        let mut part = String::new();
        for page in files(&format!("docs/{name}"), "md") {
            let link = page.strip_prefix("docs/").expect("below");
            if !page.ends_with("/README.md") {
                let _ = writeln!(part, "  - [{}]({link})", title(&page));
            }
        }
        expected = with_entries(&expected, &format!("{name}/README.md"), &part);
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(Path::new(ROOT).join(SUMMARY), &expected).expect("the table of contents");
    } else {
        assert_eq!(written, expected, "{SUMMARY} is out of date: run with UPDATE_DOCS=1");
    }
    let listed: Vec<_> = links(&expected).iter().map(|link| target(SUMMARY, link)).collect();
    let pages: BTreeSet<_> = files("docs", "md").into_iter().filter(|it| it != SUMMARY).collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), pages, "every page, and no other");
    assert_eq!(listed.len(), pages.len(), "a page is listed twice");
}

/// A section for each built-in profile, from its file.
fn profiles() -> String {
    let names = |table: &toml::Table, key: &str| -> Vec<String> {
        let list = table.get(key).and_then(toml::Value::as_array).into_iter().flatten();
        list.filter_map(toml::Value::as_str).map(|name| format!("`{name}`")).collect()
    };
    let mut text = String::new();
    for file in files("profiles", "toml").iter().filter(|file| !file.ends_with("baseline.toml")) {
        let table: toml::Table = read(file).parse().expect("a profile");
        let caches = table.get("cache").and_then(toml::Value::as_table);
        let caches = caches.into_iter().flat_map(toml::Table::values);
        let caches = caches.filter_map(toml::Value::as_str).map(|name| format!("`{name}`"));
        let _ =
            writeln!(text, "\n### {}\n", Path::new(file).file_stem().expect("a name").display());
        for (what, names) in [
            ("selected by", names(&table, "programs")),
            ("includes", names(&table, "includes")),
            ("grants to read", names(&table, "read")),
            ("grants to execute", names(&table, "exec")),
            ("grants to write", names(&table, "write")),
            ("hides", names(&table, "deny")),
            ("caches", caches.collect()),
        ] {
            if !names.is_empty() {
                let _ = writeln!(text, "- {what} {}", names.join(", "));
            }
        }
    }
    text
}

/// `UPDATE_DOCS=1` writes the sections anew.
#[test]
fn the_profiles_are_listed() {
    let written = read(PROFILES);
    let (before, rest) = written.split_once("<!-- begin of the profiles -->\n").expect("a begin");
    let (_, after) = rest.split_once("<!-- end of the profiles -->").expect("an end");
    let expected = format!(
        "{before}<!-- begin of the profiles -->\n{}\n<!-- end of the profiles -->{after}",
        profiles()
    );
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return fs::write(Path::new(ROOT).join(PROFILES), expected).expect("the page");
    }
    assert_eq!(written, expected, "{PROFILES} is out of date: run with UPDATE_DOCS=1");
}

/// Tables of a policy file: the heading in the reference, the definition in the schema, and a file that has an unknown
/// key in that table.
const TABLES: [(&str, &str, &str); 15] = [
    ("The file", "", "wrong = 1"),
    ("`[access]`", "Access", "[access]\nwrong = 1"),
    ("`[[access.fs]]`", "FsRule", "[[access.fs]]\npath = '.'\nwrong = 1"),
    ("`[[access.net]]`", "NetRule", "[[access.net]]\nhost = 'a.example'\nwrong = 1"),
    ("`[[access.env]]`", "EnvRule", "[[access.env]]\nname = 'A'\nwrong = 1"),
    ("`[access.commands.PROGRAM]`", "CommandRule", "[access.commands.git]\nwrong = 1"),
    ("`[file_policy]`", "FilePolicy", "[file_policy]\nwrong = 1"),
    ("`[tools.NAME]`", "Tool", "[tools.a]\nwrong = 1"),
    ("`[tools.NAME.sandbox]`", "Sandbox", "[tools.a.sandbox]\nwrong = 1"),
    ("`[tools.NAME.sandbox.filesystem]`", "Filesystem", "[tools.a.sandbox.filesystem]\nwrong = 1"),
    ("`[tools.NAME.sandbox.network]`", "Network", "[tools.a.sandbox.network]\nwrong = 1"),
    ("`[profiles.NAME]`", "Profile", "[profiles.a]\nwrong = 1"),
    ("`[profiles.NAME.seeds.CACHE]`", "Seeds", "[profiles.a.seeds.b]\nwrong = 1"),
    ("A list with a strategy", "LayeredFsRule", "[access.fs]\nvalue = []\nwrong = 1"),
    ("`strategy`", "Strategy", "[access.fs]\nvalue = []\nstrategy = 'wrong'"),
];

/// The keys that the parser expects in a table, by its message about an unknown one.
fn parsed_keys(directory: &Path, file: &str) -> BTreeSet<String> {
    let path = directory.join("policy.toml");
    fs::write(&path, file).expect("a policy");
    let mut command = Command::new(env!("CARGO_BIN_EXE_jp-confine"));
    command.arg("-C").arg(directory.join("workspace")).arg("-p").arg(path).arg("compile");
    let output = command.env("HOME", directory).output().expect("the product");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let words =
        message.split_whitespace().filter(|word| *word != "|").collect::<Vec<_>>().join(" ");
    let (_, keys) =
        words.split_once("expected one of: ").unwrap_or_else(|| panic!("{file}\n{message}"));
    keys.split(", ").map(str::to_owned).collect()
}

/// The keys that the reference has below a heading: those in the first column of its tables.
fn documented_keys(page: &str, heading: &str) -> BTreeSet<String> {
    let lines = page.lines().skip_while(|line| line.trim_start_matches('#').trim() != heading);
    let section = lines.skip(1).take_while(|line| !line.starts_with('#'));
    let cells = section.filter_map(|line| line.strip_prefix("| `")?.split_once(" |"));
    cells
        .flat_map(|(cell, _)| cell.split('`').filter(|key| !key.is_empty() && *key != ", "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_policy_reference_has_every_key() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::create_dir(directory.path().join("workspace")).expect("a workspace");
    let page = read("docs/policy-keys.md");
    for (heading, _, file) in TABLES {
        let (known, documented) =
            (parsed_keys(directory.path(), file), documented_keys(&page, heading));
        assert_eq!(documented, known, "docs/policy-keys.md, {heading}");
    }
}

/// The keys, or the values, of a definition of the policy's schema. Each has a description.
fn described_keys(schema: &Value, definition: &str) -> BTreeSet<String> {
    let table = if definition.is_empty() { schema } else { &schema["definitions"][definition] };
    let keys = table["properties"].as_object().into_iter().flatten();
    let values = table["oneOf"].as_array().into_iter().flatten();
    let values = values.map(|value| (value["const"].as_str().unwrap_or_default(), value));
    let all = keys.map(|(key, value)| (key.as_str(), value)).chain(values);
    let described = all.map(|(key, value)| {
        assert!(value["description"].is_string(), "{definition}: {key} has no description");
        key.to_owned()
    });
    described.collect()
}

/// `conversation` is a table of JP's own files, in which other keys are ignored.
#[test]
fn the_schema_has_every_key_and_no_other() {
    let schema: Value = serde_json::from_str(&read("docs/schema/policy.json")).expect("a schema");
    let page = read("docs/policy-keys.md");
    for (heading, definition, _) in TABLES {
        let mut described = described_keys(&schema, definition);
        described.remove("conversation");
        assert_eq!(
            described,
            documented_keys(&page, heading),
            "docs/schema/policy.json, {heading}"
        );
    }
}

/// The text of the sources, with strings that are continued on the next line in one piece.
fn source() -> String {
    let mut text = String::new();
    for directory in ["launcher", "policy", "vfs", "shim/src"] {
        for file in files(directory, "rs") {
            let mut lines = read(&file).replace("\\\"", "\"");
            while let Some((before, after)) = lines.split_once("\\\n") {
                text.push_str(before);
                lines = after.trim_start().to_owned();
            }
            text.push_str(&lines);
        }
    }
    text
}

/// The parts of a message between its variable parts, which are words in capitals.
fn fixed_parts(message: &str) -> Vec<String> {
    let is_variable = |word: &str| {
        let letters = word.trim_matches(|it: char| !it.is_alphanumeric());
        letters.len() > 1 && letters.chars().all(|it| it.is_ascii_uppercase() || it == '.')
    };
    let words: Vec<&str> = message.split(' ').collect();
    let runs = words.split(|word| is_variable(word)).map(|words| words.join(" "));
    runs.filter(|part| part.len() > 3).collect()
}

#[test]
fn the_errors_page_quotes_messages_of_the_source() {
    let page = read("docs/errors.md");
    let source = source();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let quoted: Vec<&str> = cells
        .filter(|(cell, _)| cell.starts_with('`'))
        .map(|(cell, _)| cell.trim_matches('`').trim())
        .collect();
    assert!(quoted.len() > 20, "the page has messages");
    let mut wrong = String::new();
    for message in quoted {
        for part in fixed_parts(message).iter().filter(|part| !source.contains(*part)) {
            let _ = writeln!(wrong, "{message}\n    no {part:?} in the source");
        }
    }
    assert!(wrong.is_empty(), "docs/errors.md quotes what no program says:\n{wrong}");
}
