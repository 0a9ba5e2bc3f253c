//! Tests the messages for wrong files, word for word, and the meaning of right ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use jp_confine_engine::Capabilities;
use jp_confine_engine::layers::Layered;
use jp_confine_engine::model::FsRule;

use super::decode::{self, Origin, Trust};
use super::document::{self, Notation};
use super::layers::{Declared, Layers};
use super::policy_files::Named;
use crate::error::Failure;
use crate::error::source::Source;
use crate::host::context::Context;

fn decode(text: &str, notation: Notation, trust: Trust) -> Result<decode::File, String> {
    let source = Rc::new(Source::new("policy", text.to_owned()));
    decode::file(&source, notation, Origin { trust, is_named: true })
        .map_err(|diagnostic| diagnostic.render(false))
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let notation = if text.starts_with('{') { Notation::Json } else { Notation::Toml };
    let rendered = decode(text, notation, Trust::Workspace).expect_err("the text is wrong");
    assert_eq!(rendered.trim_end(), expected.trim(), "\n{rendered}");
}

// conformance: 076-162
#[test]
fn misspelled_capability() {
    refused(
        "[[access.fs]]\npath = \"src\"\nraed = true\n",
        "
error: unknown key `raed`
 --> policy:3:1
  |
3 | raed = true
  | ^^^^ not a key of this table
  |
  = help: did you mean `read`?",
    );
}

#[test]
fn capability_of_the_wrong_type() {
    refused(
        "[[access.fs]]\npath = \"src\"\nread = \"yes\"\n",
        "
error: expected a boolean
 --> policy:3:8
  |
3 | read = \"yes\"
  |        ^^^^^ this is a string
  |
  = help: write `true` or `false`, without quotes",
    );
}

#[test]
fn rule_without_a_path() {
    refused(
        "{\"access\": {\"fs\": [{\"read\": true}]}}",
        "
error: `path` is missing
 --> policy:1:20
  |
1 | {\"access\": {\"fs\": [{\"read\": true}]}}
  |                    ^^^^^^^^^^^^^^ this has none
  |
  = help: add `path = \"…\"`, relative to the workspace; `.` is the workspace",
    );
}

#[test]
fn one_bracket_too_few() {
    refused(
        "[access.fs]\npath = \".\"\n",
        "
error: `access.fs` is a list of rules
 --> policy:2:1
  |
2 | path = \".\"
  | ^^^^ a rule's key, outside a rule
  |
  = help: write the rule as `[[access.fs]]`, with two brackets",
    );
}

#[test]
fn tools_come_from_somewhere() {
    let decoded = |source: &str| {
        decode(&format!("[tools.x]\nsource = '{source}'\n"), Notation::Toml, Trust::Workspace)
    };
    for source in ["local", "local.x", "builtin", "mcp", "mcp.server.x"] {
        assert!(decoded(source).is_ok(), "{source}");
    }
    for source in ["", "nonsense", "Local", ".mcp"] {
        assert!(decoded(source).is_err(), "{source}");
    }
}

// conformance: 076-9
#[test]
fn what_runs_are_not_held_to() {
    let unheld = |text: &str, tool: Option<&str>| {
        let file = decode(text, Notation::Toml, Trust::Workspace).expect(text);
        file.unheld(tool).map(|diagnostic| diagnostic.render(false))
    };
    assert_eq!(
        unheld("[access]\nnet_env = [\"X\"]\n", None).expect("a complaint").trim_end(),
        "error: `net_env` is about requests, which only the file service makes
 --> policy:2:1
  |
2 | net_env = [\"X\"]
  | ^^^^^^^ would be ignored
  |
  = help: remove it, or keep it below `[tools.NAME]` for `jp-confine vfs --tool NAME`"
    );
    for text in [
        "access.net_env = [\"X\"]\n",
        "[tools.x.access]\nnet_env = [\"X\"]\n",
        "[tools.x.sandbox]\nnetwork.envs = [\"X\"]\n",
    ] {
        assert!(unheld(text, Some("x")).is_some(), "{text}");
    }
    for text in [
        "[access.commands.git]\n",
        "[[access.env]]\nname = \"X\"\n",
        "[tools.x.access.commands.git]\n",
        "[[access.net]]\nhost = \"example.org\"\n",
        "[conversation.tools.x.access]\nnet = [{host = \"h\"}]\n",
        "[tools.x.sandbox]\nnetwork.allow = [\"https://h/\"]\n",
    ] {
        assert_eq!(unheld(text, Some("x")), None, "{text}");
    }
    assert_eq!(unheld("tools.x.access.net_env = [\"X\"]\n", Some("y")), None);
    assert_eq!(unheld("access.net = []\n[tools.x]\nruntime = \"vfs\"\n", Some("x")), None);
}

// conformance: d11-137, d11-168
#[test]
fn the_older_form_of_access() {
    let text = "[tools.x.sandbox]\nfilesystem.allow = [\"src\"]\nfilesystem.writable = true\n\
                network.allow = [\"https://a.b:8443/v1\"]\nnetwork.envs = [\"TOKEN\"]\n\
                commands.git.args = [[\"log\", \"**\"]]\n";
    let file = decode(text, Notation::Toml, Trust::Workspace).expect("right");
    let tool = file.tools.first().expect("a tool");
    let Some(Layered::Plain(rules)) = &tool.fs else { panic!("{:?}", tool.fs) };
    let said: Vec<_> =
        rules.iter().map(|rule| (rule.path().as_str(), rule.read(), rule.update())).collect();
    assert_eq!(said, [(".", true, false), ("src", true, true)]);
    let Some(Layered::Plain(hosts)) = &tool.resources.net else { panic!("no rules") };
    let host = hosts.first().expect("a rule");
    assert_eq!((host.host.as_str(), host.port), ("a.b", Some(8443)));
    assert_eq!(host.path_prefix.as_deref(), Some("/v1"));
    assert_eq!(tool.resources.net_env, ["TOKEN"]);
    assert!(file.unheld(Some("x")).is_some());
    for (text, complaint) in [
        ("[tools.x]\nsandbox.network.allow = [\"a.b\"]\n", "expected URLs"),
        ("[tools.x]\nsandbox.files = []\n", "unknown key `files`"),
        ("[tools.x]\naccess.fs = []\nsandbox.commands = {}\n", "`sandbox` beside `access`"),
        (
            "[conversation.tools.x]\nsandbox.commands = {}\naccess.fs = []\n",
            "`sandbox` beside `access`",
        ),
    ] {
        let rendered = decode(text, Notation::Toml, Trust::Workspace).expect_err(text);
        assert!(rendered.contains(complaint), "{rendered}");
    }
}

// conformance: d11-167
#[test]
fn rules_about_other_things_than_files_that_cannot_stand() {
    for (text, complaint) in [
        ("[[access.net]]\nhost = \"*\"\n", "is no host"),
        ("[[access.net]]\nhost = \"a.b\"\nport = 65536\n", "expected a number up to 65535"),
        ("[[access.net]]\nhost = \"a.b\"\nports = 1\n", "did you mean `port`?"),
        // conformance: 076-94
        ("[[access.net]]\nport = 1\n", "`host` is missing"),
        ("[[access.net]]\nhost = 1\n", "put it in double quotes"),
        ("access.net = 1\n", "expected a list, or an object"),
        ("access.net = {strategy = \"apend\", value = []}\n", "did you mean `append`?"),
        ("[access.net]\nhost = \"a.b\"\n", "`access.net` is a list of rules"),
        // conformance: 076-126
        ("[[access.env]]\nname = \"A*B\"\n", "`*` stands at the end"),
        ("access.net_env = [\"A=B\"]\n", "`=` nowhere"),
        ("[access.commands.git]\narg = []\n", "did you mean `args`?"),
        ("[access.commands.git]\nargs = [\"log\"]\n", "expected a list"),
        ("[tools.x]\nruntime = \"wasm\"\n", "expected `stdio` or `vfs`"),
    ] {
        let rendered = decode(text, Notation::Toml, Trust::Workspace).expect_err(text);
        assert!(rendered.contains(complaint), "{rendered}");
    }
}

#[test]
fn patterns_that_mean_no_place() {
    refused(
        "[access]\nsensitive_paths = [\"*.pem\"]\n",
        "
error: not a pattern of paths
 --> policy:2:20
  |
2 | sensitive_paths = [\"*.pem\"]
  |                    ^^^^^^^ a pattern begins with `/`, `~/`, `<workspace>` or `**`
  |
  = help: patterns are of whole absolute paths: `*` is within one name, `**` across them",
    );
    refused(
        "[file_policy]\ndeny_paths = [\"<workspace>/**.pem\"]\n",
        "
error: not a pattern of paths
 --> policy:2:15
  |
2 | deny_paths = [\"<workspace>/**.pem\"]
  |               ^^^^^^^^^^^^^^^^^^^^ `**` stands alone between slashes or at the end, as in `**/*.pem`; within a name write `*`
  |
  = help: patterns are of whole absolute paths: `*` is within one name, `**` across them",
    );
    for text in [
        "[file_policy]\ndeny_paths = [\"src/**\"]\n",
        "[tools.x.file_policy]\nprompt_paths = [\"~other/x\"]\n",
        "[file_policy]\nread_paths = [\"/a/[b\"]\n",
        "[file_policy]\nwrite_paths = [\"~/s**\"]\n",
    ] {
        let rendered = decode(text, Notation::Toml, Trust::User).expect_err(text);
        assert!(rendered.contains("not a pattern of paths"), "{rendered}");
    }
}

/// It would leave out less than it seems to.
#[test]
fn stars_in_what_a_profile_leaves_out() {
    let text =
        "[profiles.mine]\nread = [\"/srv\"]\n[profiles.mine.except]\n\"/srv\" = [\"**/key\"]\n";
    let rendered = decode(text, Notation::Toml, Trust::User).expect_err(text);
    assert!(rendered.contains("write `*` for each name on the way"), "{rendered}");
}

#[test]
fn tiers_outside_of_their_table() {
    refused(
        "deny_paths = [\"**/x\"]\n",
        "
error: `deny_paths` outside of `file_policy`
 --> policy:1:1
  |
1 | deny_paths = [\"**/x\"]
  | ^^^^^^^^^^ a key of `[file_policy]`
  |
  = help: write it below `[file_policy]`",
    );
}

#[test]
fn a_workspace_opens_nothing_by_default() {
    refused(
        "[file_policy]\ndefault = \"read\"\n",
        "
error: `default = \"read\"` in a workspace
 --> policy:2:11
  |
2 | default = \"read\"
  |           ^^^^^^ would open everything outside of the workspace
  |
  = help: a workspace file may say `deny` or `prompt`; put this into the user configuration, or into a --policy file outside the workspace",
    );
    let misspelled = decode("[file_policy]\ndefault = \"promt\"\n", Notation::Toml, Trust::User);
    assert!(misspelled.expect_err("no tier").contains("did you mean `prompt`?"));
}

#[test]
fn profiles_of_a_workspace() {
    refused(
        "[profiles.mine]\nread = [\"/\"]\n",
        "
error: profiles are not defined in a workspace
 --> policy:1:2
  |
1 | [profiles.mine]
  |  ^^^^^^^^ this file may be anybody's
  |
  = help: profiles grant paths outside the workspace: define them in the user configuration, or in a --policy file outside the workspace",
    );
}

#[test]
fn repeated_json_key() {
    refused(
        "{\"access\": {},\n \"access\": {}}",
        "
error: `access` is given twice
 --> policy:2:2
  |
2 |  \"access\": {}}
  |  ^^^^^^^^ repeated here",
    );
}

#[test]
fn broken_notation_points_at_the_break() {
    let toml = decode("[[access.fs]\n", Notation::Toml, Trust::User).expect_err("broken");
    assert!(toml.contains("not valid TOML") && toml.contains("policy:1:"), "{toml}");
    let json = decode("{\"access\": ", Notation::Json, Trust::User).expect_err("broken");
    assert!(json.contains("not valid JSON") && json.contains("policy:1:"), "{json}");
    for text in ["", "é", "{", "[", "\"", "{\"é\": é}", "[[é]]", "a = \"\\"] {
        for notation in [Notation::Toml, Notation::Json] {
            let _ = decode(text, notation, Trust::User);
        }
    }
}

#[test]
fn a_repeated_key_is_an_error_in_both_notations() {
    let source = |text: &str| Rc::new(Source::new("policy", text.to_owned()));
    for text in ["a = 1\na = 1\n", "[a]\n[a]\n", "a = {}\na.b = 1\n"] {
        assert!(document::parse(&source(text), Notation::Toml).is_err(), "{text}");
    }
    assert!(document::parse(&source("{\"a\": 1, \"a\": 1}"), Notation::Json).is_err());
    for deep in [format!("a = {}", "[".repeat(9999)), format!("{}a = 1", "a.".repeat(9999))] {
        assert!(document::parse(&source(&deep), Notation::Toml).is_err());
    }
}

#[test]
fn a_rule_means_what_it_says_in_both_notations() {
    let toml = "[[access.fs]]\npath = \"a\"\nwrite = true\ndelete = false\n";
    let json = "{\"access\": {\"fs\": [{\"path\": \"a\", \"write\": true, \"delete\": false}]}}";
    let [toml, json] = [(toml, Notation::Toml), (json, Notation::Json)].map(|(text, notation)| {
        let file = decode(text, notation, Trust::Workspace).expect("a good rule");
        file.fs.expect("declared")
    });
    assert_eq!(toml, json);
}

#[test]
fn what_is_null_is_not_set() {
    let rule = "{\"path\": \"a\", \"read\": true, \"write\": null}";
    let text =
        format!("{{\"access\": {{\"fs\": [{rule}], \"net\": null}}, \"file_policy\": null}}");
    let file = decode(&text, Notation::Json, Trust::Workspace).expect("a good rule");
    let Some(Layered::Plain(rules)) = &file.fs else { panic!("{:?}", file.fs) };
    assert_eq!(rules.first().map(FsRule::capabilities), Some(Capabilities::READ));
    assert!(file.resources.net.is_none() && file.tiers.is_none());
    let text = "{\"access\": {\"sensitive_paths\": [null]}}";
    let rendered = decode(text, Notation::Json, Trust::Workspace).expect_err("null is no pattern");
    assert!(rendered.contains("null where a value belongs"), "{rendered}");
}

#[test]
fn files_of_jp_may_say_what_else_they_like() {
    let text = "assistant = 1\n[conversation]\ntitle = 2\n[conversation.tools.edit]\nenable = true\n\
                access.fs = [{path = \".\", read = true}]\n";
    let file = decode(text, Notation::Toml, Trust::Workspace).expect("JP's own file");
    assert_eq!(file.tools.len(), 1);
    assert_eq!(file.tools[0].name, "edit");
    assert!(file.tools[0].fs.is_some());
}

/// A workspace, a user configuration, and a place outside both.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        for sub in ["work", "config/jp-confine", "else"] {
            fs::create_dir_all(dir.path().join(sub)).expect("a directory");
        }
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("canonical").join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).expect("written");
        self.path(name)
    }

    fn load(&self, policies: &[PathBuf]) -> Result<Layers, Failure> {
        let mut context = Context::bare(&self.path("work"));
        context.homes.config = Some(self.path("config"));
        Layers::load(&context, &self.path("work"), Named { files: policies, context: None })
    }

    fn rules(&self, policies: &[PathBuf], tool: Option<&str>) -> Declared {
        let mut layers = self.load(policies).expect("good layers");
        layers.declared(tool).expect("declared")
    }
}

fn rule(path: &str) -> String {
    format!("[[access.fs]]\npath = \"{path}\"\nread = true\n")
}

fn paths(declared: &Declared) -> Vec<&str> {
    declared.rules.iter().flatten().map(|rule| rule.path().as_str()).collect()
}

// conformance: 076-24, 076-32
#[test]
fn layers_append_from_the_lowest_to_the_highest() {
    let place = Place::new();
    assert!(place.rules(&[], None).rules.is_none());
    place.write("work/jp-confine.toml", &rule("workspace"));
    place.write("config/jp-confine/config.toml", &rule("user"));
    let first = place.write("else/first.toml", &rule("first"));
    let second = place.write("else/second", "{\"access\": {\"fs\": [{\"path\": \"second\"}]}}");
    let declared = place.rules(&[first, second], None);
    assert_eq!(paths(&declared), ["user", "workspace", "first", "second"]);
    let rule = &declared.rules.as_ref().expect("declared")[1];
    assert_eq!((rule.capabilities(), rule.source().line), (Capabilities::READ, Some(2)));
}

// conformance: 076-163
#[test]
fn a_tool_adds_its_rules_only_when_named() {
    let place = Place::new();
    place.write(
        "work/jp-confine.toml",
        &format!("{}[[tools.edit.access.fs]]\npath = \"tool\"\n", rule("all")),
    );
    assert_eq!(paths(&place.rules(&[], None)), ["all"]);
    assert_eq!(paths(&place.rules(&[], Some("edit"))), ["all", "tool"]);
    let mut layers = place.load(&[]).expect("good layers");
    let Err(Failure::Own { message, advice }) = layers.declared(Some("edti")) else {
        panic!("there is no such tool");
    };
    assert_eq!(message, "no policy file has [tools.edti]");
    assert_eq!(advice.as_deref(), Some("did you mean `edit`?"));
    // A tool that several layers define counts once.
    place.write("config/jp-confine/config.toml", "[tools.edit]\n[tools.build]\n");
    let mut layers = place.load(&[]).expect("good layers");
    let Err(Failure::Own { advice, .. }) = layers.declared(Some("nope")) else {
        panic!("there is no such tool");
    };
    assert_eq!(advice.as_deref(), Some("there are: build, edit"));
}

// conformance: 076-17, 076-18, 076-19, 076-21
// conformance: d43-239
#[test]
fn access_of_a_tool_that_runs_elsewhere_is_refused() {
    let place = Place::new();
    let loaded = |below: &str, above: &str| {
        place.write("config/jp-confine/config.toml", &format!("[tools.edit]\n{below}\n"));
        place.write("work/jp-confine.toml", &format!("[tools.edit]\n{above}\n"));
        place.load(&[]).map(drop)
    };
    let access = "access.fs = [{path = \".\"}]";
    for source in ["mcp.server", "builtin"] {
        let elsewhere = format!("source = \"{source}\"");
        let Err(Failure::Configuration(diagnostic)) = loaded(access, &elsewhere) else {
            panic!("the tool runs elsewhere, whoever runs now");
        };
        let rendered = diagnostic.render(false);
        let told = format!("`access` on the {source} tool `edit`");
        assert!(rendered.contains(&told) && rendered.contains("config.toml:2:1"), "{rendered}");
        assert!(loaded(&elsewhere, access).is_err(), "a layer that only adds access");
        loaded(&format!("{elsewhere}\n{access}"), "source = \"local\"").expect("the last counts");
    }
    loaded("source = \"local\"", access).expect("a local tool");
}

// conformance: 076-16
#[test]
fn lifting_every_restriction_is_warned_about() {
    let place = Place::new();
    place.write("config/jp-confine/config.toml", &rule("."));
    place.write("work/jp-confine.toml", "access.fs = {strategy = \"replace\", value = []}\n");
    let declared = place.rules(&[], None);
    assert!(declared.rules.is_none());
    assert_eq!(declared.warnings.len(), 1);
}

// conformance: 076-23
#[test]
fn lists_of_each_kind_merge_by_themselves() {
    let place = Place::new();
    let host = |name: &str| format!("{{host = \"{name}\", allow = true}}");
    let lists = |path: &str, name: &str, strategy: &str| {
        let hosts = host(name);
        format!(
            "{}[access]\nnet = {{strategy = \"{strategy}\", value = [{hosts}]}}\n\
             env = [{{name = \"{path}\"}}]\n",
            rule(path)
        )
    };
    place.write("config/jp-confine/config.toml", &lists("user", "a.org", "append"));
    place.write("work/jp-confine.toml", &lists("work", "b.org", "replace"));
    let (written, _) = place.load(&[]).expect("good layers").resources(None);
    let hosts: Vec<&str> = written.net.iter().map(|rule| &*rule.host).collect();
    let names: Vec<&str> = written.env.iter().map(|rule| &*rule.name).collect();
    assert_eq!((hosts, names), (vec!["b.org"], vec!["user", "work"]));
    assert_eq!(paths(&place.rules(&[], None)), ["user", "work"]);
}

#[test]
fn a_policy_file_has_the_trust_of_its_place() {
    let place = Place::new();
    let profile = "[profiles.mine]\nread = [\"/srv\"]\n";
    let outside = place.write("else/p.toml", profile);
    let inside = place.write("work/p.toml", profile);
    assert_eq!(place.load(&[outside]).expect("the user's own").profiles().len(), 1);
    assert!(matches!(place.load(&[inside]), Err(Failure::Configuration(_))));
}

#[test]
fn a_policy_that_is_not_there_is_not_ignored() {
    let place = Place::new();
    assert!(place.load(&[place.path("else/none.toml")]).is_err());
    std::os::unix::fs::symlink(Path::new("nowhere"), place.path("work/jp-confine.toml"))
        .expect("a link");
    assert!(matches!(place.load(&[]), Err(failure) if failure.status() == 125));
}
