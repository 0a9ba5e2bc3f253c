//! The schema of policy files, against the product and against the policies of the documents. `schema` checks what the
//! product prints in all tests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli_status::product;
use crate::schema::Schema;
use crate::scratch::Scratch;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A TOML block of the documents with this text is for another program.
const FOREIGN: &str = "[language-server.";

/// Checks a policy in TOML against the schema.
fn checked(text: &str) -> Result<(), String> {
    let value: Value = toml::from_str(text).map_err(|error| error.to_string())?;
    Schema::named("policy").check(&value, false)
}

/// The pages of the documents.
fn pages() -> Vec<PathBuf> {
    let directories = ["", "docs", "docs/cookbook", "docs/commands", "policy", "vfs"];
    let entries = directories
        .iter()
        .flat_map(|directory| fs::read_dir(Path::new(ROOT).join(directory)).expect("a directory"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|it| it == "md")).collect()
}

/// The policies of a page: its TOML blocks, and the files that its commands write.
fn policies(page: &str) -> Vec<String> {
    let blocks = page.split("\n```toml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let written = page.split(".toml <<'END'\n").skip(1).filter_map(|rest| {
        let (lines, _) = rest.split_once("\n> END\n")?;
        let lines = lines.lines().map(|line| line.trim_start_matches('>').trim_start());
        Some(lines.collect::<Vec<_>>().join("\n"))
    });
    blocks.map(str::to_owned).chain(written).filter(|text| !text.contains(FOREIGN)).collect()
}

#[test]
fn policies_of_the_documents_fit() {
    let mut count = 0;
    for path in pages() {
        for policy in policies(&fs::read_to_string(&path).expect("a page")) {
            let wrong = checked(&policy).err();
            assert_eq!(wrong, None, "{}:\n{policy}", path.display());
            count += 1;
        }
    }
    assert!(count > 10, "{count} policies");
}

#[test]
fn profiles_of_the_product_fit() {
    let files = fs::read_dir(Path::new(ROOT).join("profiles")).expect("profiles");
    let paths = files.map(|file| file.expect("a file").path());
    for path in paths.filter(|path| !path.ends_with("hosts.toml")) {
        let text = fs::read_to_string(&path).expect("a profile");
        let profile: Value = toml::from_str(&text).expect("TOML");
        let wrong = Schema::named("policy").check_part("Profile", &profile).err();
        assert_eq!(wrong, None, "{}", path.display());
    }
}

/// Whether the product and the schema take the policy.
fn judged(scratch: &Scratch, text: &str) -> [bool; 2] {
    let is_json = text.starts_with('{');
    let name = if is_json { "policy.json" } else { "policy.toml" };
    let file = scratch.path("out").join(name);
    fs::write(&file, text).expect("a policy");
    let run = product(scratch, &["-p", file.to_str().expect("UTF-8"), "compile"]).run();
    assert!([0, 125].contains(&run.code()), "{run}");
    let by_schema = if is_json {
        let value = serde_json::from_str(text).expect("JSON");
        Schema::named("policy").check(&value, false)
    } else {
        checked(text)
    };
    [run.code() == 0, by_schema.is_ok()]
}

#[test]
fn product_and_schema_take_the_same_policies() {
    let scratch = Scratch::new();
    let schema = "https://jp-confine.github.io/jp-confine/schema/policy.json";
    let good = [
        "",
        "#:schema policy.json\n[access]\n",
        "'$schema' = 'policy.json'\n",
        &json!({ "$schema": schema, "access": { "fs": [{ "path": ".", "read": true }] } })
            .to_string(),
        "access.fs = [{ path = '.', external = false, write = true, execute = false }]\n",
        "access.fs = { strategy = 'replace', value = [], dedup = true, discard_when_merged = false }\n",
        "access.net = [{ host = 'a.example', scheme = 'https', port = 8443, path_prefix = '/v1' }]\n",
        "access.env = [{ name = 'A_*', read = true }]\n",
        "access.commands.git = { args = [['log', '**'], []], envs = ['A'] }\n",
        "access.sensitive_paths = ['**/*.pem']\naccess.autorun_paths = []\naccess.net_env = []\n",
        "file_policy = { default = 'read_only', deny_paths = ['**/a'], write_paths = ['~/a'] }\n",
        "[tools.edit]\nsource = 'local.fs'\nruntime = 'vfs'\ncommand = ['any', '1']\naccess = {}\n",
        "[tools.edit.sandbox]\nfilesystem = { allow = ['src'], writable = true }\n\
         network = { allow = ['https://a.example/'], envs = [] }\ncommands.git = {}\n",
        "[profiles.mine]\nread = ['~/a']\nprograms = ['a']\nincludes = ['git']\n\
         except = { '~/a' = ['b'] }\ncache = { '~/c' = 'c' }\nview = { '~/d' = '~/e' }\n\
         seeds.c = { from = '~/c', link = ['*'], copy = [], skip = [] }\n",
        // A file of JP has more keys, and tools with more keys.
        "assistant = 1\n[conversation]\ntitle = 'x'\ntools.edit = { enable = true, access = {} }\n",
    ];
    for text in good {
        assert_eq!(judged(&scratch, text), [true; 2], "{text}");
    }
    let bad = [
        "acess = {}\n",
        "assistent = 1\n",
        "deny_paths = []\n",
        "access.fs = [{ read = true }]\n",
        "access.fs = [{ path = '.', raed = true }]\n",
        "access.fs = [{ path = '.', read = 'yes' }]\n",
        "[access.fs]\npath = '.'\n",
        "access.fs = { strategy = 'merge', value = [] }\n",
        "access.net = [{ host = 'a.example', port = 65536 }]\n",
        "access.env = [{ name = 'A', write = true }]\n",
        "access.commands.git = { args = ['log'] }\n",
        "access.sensitive = []\n",
        "file_policy = { default = 'ask' }\n",
        "file_policy = { deny = [] }\n",
        "tools.edit.runtime = 'http'\n",
        "tools.edit.source = 'remote'\n",
        "tools.edit.enable = true\n",
        "tools.edit.sandbox.filesystem.write = true\n",
        "profiles.mine.execute = []\n",
        "profiles.mine.seeds.c = { to = '~/c' }\n",
        r#"{ "$schema": 1 }"#,
        r#"{ "access": { "fs": [{ "path": ".", "glob": true }] } }"#,
        "[conversation.tools.edit.access]\nfiles = []\n",
    ];
    for text in bad {
        assert_eq!(judged(&scratch, text), [false; 2], "{text}");
    }
}

/// The file that `init` writes begins with the line by which editors find the schema, and fits it.
#[test]
fn a_first_policy_names_the_schema() {
    let scratch = Scratch::new();
    product(&scratch, &["init"]).run().assert_ok();
    let text = scratch.read("ws/jp-confine.toml");
    let named = text.lines().next().and_then(|line| line.strip_prefix("#:schema "));
    let schema = fs::read_to_string(Path::new(ROOT).join("docs/schema/policy.json"));
    let schema: Value = serde_json::from_str(&schema.expect("a schema")).expect("JSON");
    assert_eq!(named, schema["$id"].as_str(), "{text}");
    assert_eq!(checked(&text), Ok(()));
}
