//! Suggestions for denials about hosts and programs: a rule that would allow the request, worded for tools.

use jp_confine_engine::commands::{self, Commands};
use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::net::{Net, NetRule};
use serde_json::json;
use url::Url;

/// Suggests how to allow `url`, which `rules` do not. It names the rule that denies it, to be reversed, or a new rule
/// that was tried on the evaluator.
pub(super) fn net(rules: &Net, url: &Url) -> String {
    if let Some(rule) = rules.deciding(url) {
        return format!(
            "To allow it, ask the user to set `allow = true` in the `access.net` rule `{rule}`."
        );
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let rule = NetRule {
        host: host.to_owned(),
        port: url.port_or_known_default(),
        allow: true,
        ..NetRule::default()
    };
    let is_enough = |rules: Net| rules.judge(url) == Coverage::Allowed;
    if rules.with(&rule).is_ok_and(is_enough) {
        format!("To allow it, ask the user for an `access.net` rule with `{rule}`.")
    } else {
        "No rule can: a separator is encoded in its path, and rules tell paths apart.".to_owned()
    }
}

/// Suggests how to allow `program` with exactly `args`, which `rules` do not.
pub(super) fn command(rules: &Commands, program: &str, args: &[String]) -> String {
    let line = commands::pattern(args.iter().map(String::as_str), args.len());
    // TOML accepts JSON strings and lists.
    let (key, line) = (json!(program), json!(line));
    if rules.0.contains_key(program) {
        format!("To allow it, ask the user to add `{line}` to `args` in `[access.commands.{key}]`.")
    } else {
        format!("To allow it, ask the user for `[access.commands.{key}]` with `args = [{line}]`.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(path_prefix: Option<&str>, allow: bool) -> NetRule {
        let path_prefix = path_prefix.map(str::to_owned);
        NetRule { host: "a.b".to_owned(), path_prefix, allow, ..NetRule::default() }
    }

    #[test]
    fn a_rule_is_advised_that_suffices() {
        let rules = [rule(None, true), rule(Some("/admin"), false)];
        let rules = Net::new(&rules).expect("rules");
        for (url, advised) in [
            (
                "http://127.0.0.1:18766/",
                r#"with `host = "127.0.0.1", port = 18766, allow = true`."#,
            ),
            ("https://[::1]/", r#"with `host = "::1", port = 443, allow = true`."#),
            ("http://a.b:81/x", r#"with `host = "a.b", port = 81, allow = true`."#),
            (
                "http://a.b/admin",
                r#"set `allow = true` in the `access.net` rule `host = "a.b", path_prefix = "/admin", allow = false`."#,
            ),
            ("http://a.b/x%2fy", "No rule can: a separator is encoded in its path"),
        ] {
            let text = net(&rules, &Url::parse(url).expect("a URL"));
            assert!(text.contains(advised), "{url}: {text}");
        }
    }

    #[test]
    fn a_table_that_is_there_is_not_advised_again() {
        let rules = r#"{"sh": {"args": [["-c", "ls"]]}}"#;
        let rules: Commands = serde_json::from_str(rules).expect("rules");
        let advised = |program: &str, args: &[&str]| {
            let args: Vec<String> = args.iter().map(|word| (*word).to_owned()).collect();
            command(&rules, program, &args)
        };
        assert_eq!(
            advised("sh", &["-c", "a \"b\""]),
            r#"To allow it, ask the user to add `["-c","a \"b\""]` to `args` in `[access.commands."sh"]`."#
        );
        assert_eq!(
            advised("true", &[]),
            r#"To allow it, ask the user for `[access.commands."true"]` with `args = [[]]`."#
        );
        assert!(advised("x", &["y"; 100]).ends_with(r#""y","**"]]`."#));
    }
}
