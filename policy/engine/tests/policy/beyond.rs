//! Rules of an image about variables and programs (spec §11.2, §11.3).

use std::path::Path;

use jp_confine_engine::build::{Beyond, ImageSpec, build};
use jp_confine_engine::commands::{Commands, Listed};
use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::env::{Env, EnvRule};
use jp_confine_engine::image::Image;
use jp_confine_engine::invocation::{self, Admission, Invocation};
use jp_confine_engine::variables;

const ECHO: &str = "/bin/echo";

fn image(beyond: Beyond<'_>) -> Vec<u8> {
    build(&ImageSpec { beyond, ..ImageSpec::to_ask(&[], Path::new("/nowhere")) }).expect("an image")
}

/// Every program is `ECHO`, whatever its key.
fn listed(json: &str) -> Vec<Listed> {
    let commands: Commands = serde_json::from_str(json).expect(json);
    let listed = |(key, rule)| Listed { key, program: ECHO.into(), rule };
    commands.0.into_iter().map(listed).collect()
}

fn of_commands(json: &str) -> Vec<u8> {
    image(Beyond { commands: Some(&listed(json)), ..Beyond::default() })
}

fn of_env(rules: &[(&str, bool)]) -> Vec<u8> {
    let rule = |&(name, read): &(&str, bool)| EnvRule {
        name: name.to_owned(),
        read,
        ..EnvRule::default()
    };
    let env = Env::new(&rules.iter().map(rule).collect::<Vec<_>>()).expect("sound");
    image(Beyond { env: Some(&env), ..Beyond::default() })
}

fn judge(image: &Image<'_>, program: &str, line: &str) -> Result<Admission, Coverage> {
    let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
    let (called, arguments) = words.split_first().map_or((&[][..], &[][..]), |(a, b)| (*a, b));
    let invocation = Invocation { program: program.as_bytes(), called, arguments: arguments.len() };
    invocation::judge(image, &invocation, &mut |at, word| arguments[at] == word)
}

#[test]
fn a_program_is_its_file_and_what_it_is_called() {
    let bytes = of_commands(
        r#"{"echo": {"args": [["a", "**"], ["b"], []]}, "./dir/tool": {}, "none": {"args": []}}"#,
    );
    let image = Image::parse(&bytes).expect("an image");
    assert!(invocation::is_limited(&image));
    for (program, line, expected) in [
        (ECHO, "echo a", None),
        (ECHO, "/any/where/echo a b c", None),
        (ECHO, "-echo b", None),
        (ECHO, "echo", None),
        (ECHO, "echo b c", Some(Coverage::Denied)),
        (ECHO, "echo A", Some(Coverage::Denied)),
        (ECHO, "tool anything", None),
        (ECHO, "none", Some(Coverage::Denied)),
        (ECHO, "cat", Some(Coverage::Uncovered)),
        (ECHO, "", Some(Coverage::Uncovered)),
        ("/bin/cat", "echo a", Some(Coverage::Uncovered)),
        ("/bin/ech", "echo", Some(Coverage::Uncovered)),
    ] {
        assert_eq!(judge(&image, program, line).err(), expected, "{program}: {line}");
    }
}

#[test]
fn a_list_of_nothing_lets_nothing_start_and_no_list_everything() {
    let bytes = of_commands("{}");
    let nothing = Image::parse(&bytes).expect("an image");
    assert_eq!(judge(&nothing, ECHO, "echo"), Err(Coverage::Uncovered));
    let bytes = image(Beyond::default());
    let free = Image::parse(&bytes).expect("an image");
    assert!(!invocation::is_limited(&free) && !variables::are_withheld(&free));
    assert_eq!(judge(&free, ECHO, "echo"), Ok(Admission::FREE));
}

#[test]
fn of_runs_inside_each_other_every_list_counts() {
    let (outer, inner) =
        (of_commands(r#"{"echo": {"args": [["a"]]}}"#), of_commands(r#"{"echo": {}}"#));
    let outer = Image::parse(&outer).expect("an image");
    for inner in [&inner, &image(Beyond::default())] {
        let inside = Image::parse(inner).expect("an image").inside(&outer);
        assert!(judge(&inside, ECHO, "echo a").is_ok());
        assert_eq!(judge(&inside, ECHO, "echo b"), Err(Coverage::Denied));
    }
}

#[test]
fn denied_variables_are_withheld_inside_and_uncovered_ones_are_not() {
    let bytes = of_env(&[("AWS_*", false), ("AWS_REGION", true), ("HOME", false)]);
    let image = Image::parse(&bytes).expect("an image");
    let long = [b"AWS_".as_slice(), &[b'X'; variables::LONGEST]].concat();
    for (name, withheld) in [
        (b"AWS_KEY".as_slice(), true),
        (b"AWS_REGION", false),
        (b"HOME", true),
        (b"PATH", false),
        (b"MAKEFLAGS", false),
        (b"", false),
        (&long, true),
    ] {
        assert_eq!(variables::is_withheld(&image, &Admission::FREE, name), withheld);
    }
    let granting = of_env(&[("A", true)]);
    assert!(!variables::are_withheld(&Image::parse(&granting).expect("an image")));
}

#[test]
fn no_rule_reaches_what_the_launcher_sets() {
    let bytes = of_env(&[("*", false)]);
    let outer = Image::parse(&bytes).expect("an image");
    let inner = image(Beyond::default());
    let image = Image::parse(&inner).expect("an image").inside(&outer);
    for name in variables::OWNED {
        assert!(!variables::is_withheld(&image, &Admission::FREE, name.as_bytes()), "{name}");
    }
    assert!(variables::is_withheld(&image, &Admission::FREE, b"ANY"));
}

#[test]
fn a_program_has_the_base_set_and_what_its_rule_lists_of_what_is_allowed() {
    let env = Env::new(&[EnvRule { name: "DENIED".to_owned(), ..EnvRule::default() }]);
    let commands = listed(r#"{"echo": {"envs": ["GIVEN", "CARGO_*", "DENIED"]}}"#);
    let beyond = Beyond { env: Some(&env.expect("sound")), commands: Some(&commands) };
    let bytes = image(beyond);
    let image = Image::parse(&bytes).expect("an image");
    let admission = judge(&image, ECHO, "echo").expect("allowed");
    for (name, withheld) in [
        ("GIVEN", false),
        ("CARGO_HOME", false),
        ("PATH", false),
        ("LC_ALL", false),
        ("TMPDIR", false),
        ("DENIED", true),
        ("OTHER", true),
    ] {
        assert_eq!(variables::is_withheld(&image, &admission, name.as_bytes()), withheld, "{name}");
    }
}
