//! Reads and writes rules, as spec §2.2, §2.3 and §2.5 say.

use jp_confine_engine::Capability;
use jp_confine_engine::model::{CompiledAccess, CompiledRule, FsRule, Policy, RuleSource};

use crate::place::{letters, rules};

fn parse(json: &str) -> Result<FsRule, serde_json::Error> {
    serde_json::from_str(json)
}

macro_rules! effective {
    ($($name:ident: $fields:literal => $letters:literal;)*) => {$(
        #[test]
        fn $name() {
            let rule = parse(concat!(r#"{"path":"p""#, $fields, "}")).unwrap();
            assert_eq!(letters(rule.capabilities().iter()), $letters);
            let single = [rule.read(), rule.create(), rule.update(), rule.delete(), rule.execute()];
            let granted = Capability::ALL.into_iter().zip(single).filter(|one| one.1);
            assert_eq!(letters(granted.map(|one| one.0)), $letters);
        }
    )*};
}

effective! {
    // conformance: 076-49
    no_field_denies_everything: "" => "-";
    read_alone: r#","read":true"# => "r";
    execute_alone: r#","execute":true"# => "x";
    // conformance: 076-45
    // conformance: d43-19
    write_is_three: r#","write":true"# => "cud";
    // conformance: 076-46, 076-47
    write_without_delete: r#","write":true,"delete":false"# => "cu";
    write_without_create: r#","write":true,"create":false"# => "ud";
    write_without_update: r#","write":true,"update":false"# => "cd";
    // conformance: 076-46
    create_against_write: r#","write":false,"create":true"# => "c";
    // conformance: 076-48
    create_alone: r#","create":true"# => "c";
    // conformance: 076-136, 076-161
    explicit_false_is_nothing: r#","read":false,"write":false,"execute":false"# => "-";
    null_is_unset: r#","write":true,"create":null"# => "cud";
    // conformance: d43-19
    everything: r#","read":true,"write":true,"execute":true"# => "rcudx";
}

// conformance: 076-50
#[test]
fn write_is_no_capability() {
    assert_eq!(Capability::from_name("write"), None);
}

macro_rules! refused {
    ($($name:ident: $json:literal names $needle:literal;)*) => {$(
        #[test]
        fn $name() {
            let error = parse($json).unwrap_err().to_string();
            assert!(error.contains($needle), "{error}");
        }
    )*};
}

refused! {
    // conformance: 076-162
    unknown_key: r#"{"path":"p","raed":true}"# names "raed";
    path_is_required: r#"{"read":true}"# names "path";
    wrong_type: r#"{"path":"p","read":"yes"}"# names "yes";
    net_key_in_fs: r#"{"path":"p","allow":true}"# names "allow";
    // conformance: d43-215
    no_targets_in_rules: r#"{"path":"p","external":true,"follow_to":["/x"]}"# names "follow_to";
    compiled_form_is_no_config: r#"{"lexical_path":"p"}"# names "lexical_path";
}

#[test]
fn unknown_keys_above_the_rules_are_refused() {
    assert!(serde_json::from_str::<Policy>(r#"{"acess":{}}"#).is_err());
    assert!(serde_json::from_str::<Policy>(r#"{"access":{"fs":[],"sf":[]}}"#).is_err());
}

// conformance: 076-133
// conformance: d43-47
#[test]
fn unset_and_set_survive_the_round_trip() {
    for json in [
        r#"{"path":"a"}"#,
        r#"{"path":"a","read":false}"#,
        r#"{"path":"a","write":true,"delete":false}"#,
        r#"{"path":"fork","external":true,"read":true,"execute":true}"#,
    ] {
        assert_eq!(serde_json::to_string(&parse(json).unwrap()).unwrap(), json);
    }
    assert_ne!(parse(r#"{"path":"a","read":false}"#).unwrap(), parse(r#"{"path":"a"}"#).unwrap());
}

#[test]
fn where_a_rule_was_written_is_not_what_it_says() {
    let source = RuleSource { layer: "a.toml".into(), index: 1, line: Some(7) };
    let rule = FsRule::new("a").with_source(source);
    assert_eq!(rule, FsRule::new("a"));
    assert_eq!(serde_json::to_string(&rule).unwrap(), r#"{"path":"a"}"#);
    assert_eq!(rule.source().to_string(), "access.fs rule 2 of a.toml (line 7)");
}

// conformance: 076-16
#[test]
fn declared_means_at_least_one_rule() {
    let policy = |json| serde_json::from_str::<Policy>(json).unwrap();
    assert_eq!(policy("{}").declared_fs(), None);
    assert_eq!(policy(r#"{"access":{}}"#).declared_fs(), None);
    assert_eq!(policy(r#"{"access":{"fs":[]}}"#).declared_fs(), None);
    assert_eq!(
        policy(r#"{"access":{"fs":[{"path":"."}]}}"#).declared_fs(),
        Some(rules(".:").as_slice())
    );
}

// conformance: 076-132
/// The JSON of spec §2.5, byte for byte.
#[test]
fn wire_form() {
    let json = concat!(
        r#"{"fs":[{"lexical_path":"fork","external":true,"approved_target":"/code/x","#,
        r#""read":true,"write":true,"create":null,"update":null,"delete":null,"execute":null}]}"#
    );
    let access: CompiledAccess = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&access).unwrap(), json);
}

// conformance: 076-130, 076-133
// conformance: d43-33, d43-47
#[test]
fn wire_form_has_defaults_and_refuses_unknown_keys() {
    let rule: CompiledRule = serde_json::from_str(r#"{"lexical_path":""}"#).unwrap();
    assert_eq!(rule, CompiledRule::default());
    assert!(serde_json::from_str::<CompiledRule>(r#"{"lexical_path":"","raed":true}"#).is_err());
    let tool: CompiledAccess = serde_json::from_str(r#"{"net":[],"env":[]}"#).unwrap();
    assert_eq!(tool, CompiledAccess::default());
}
