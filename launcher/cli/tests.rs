//! Tests how command lines are parsed.

mod command_pages;

use jp_confine_engine::Capability;

use super::*;
use crate::cli::mount::Unmount;

fn line(words: &str) -> Result<(Options, Command), clap::Error> {
    from(words.split_whitespace().map(OsString::from))
}

#[test]
fn a_line_without_options_means_what_the_grammar_says() {
    for line in [&["jp-confine", "--", "make"][..], &["x", "--", "", "--", "-r"]] {
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        let plain = without_options(&line).expect("no options");
        assert_eq!(format!("{plain:?}"), format!("{:?}", by_grammar(line).expect("a right line")));
    }
    assert!(without_options(&["jp-confine", "--"].map(OsString::from)).is_none());
}

#[test]
fn options_stand_on_either_side_of_the_subcommand() {
    let (options, command) =
        line("jp-confine -r a --deny b check -r c read p q --json --deny d").expect("right");
    assert_eq!(options.read, [PathBuf::from("a"), PathBuf::from("c")]);
    assert_eq!(options.deny, [PathBuf::from("b"), PathBuf::from("d")]);
    let Command::Check { topic, targets, json } = command else { panic!("not check") };
    assert_eq!((topic, targets.len(), json), (Topic::Path(Capability::Read), 2, true));
}

#[test]
fn every_subcommand_takes_the_options() {
    for words in [
        "-q approvals -r a list -r b",
        "-q -r a doctor -r b",
        "-r a man -q -r b",
        "-r a completions -q bash -r b",
        "-r a why -q --last -r b",
    ] {
        let (options, _) = line(&format!("jp-confine {words}")).expect(words);
        assert!(options.quiet, "{words}");
        assert_eq!(options.read, [PathBuf::from("a"), PathBuf::from("b")], "{words}");
    }
}

#[test]
fn typed_words_cannot_control_the_terminal() {
    for words in [
        ["--a\x1b[2J\u{202e}\nb", "c"],
        ["--enforce", "a\x1b[2J\nb"],
        ["--mount", "a\nb"],
        ["x\nb", "c"],
    ] {
        let typed = ["jp-confine"].iter().chain(&words).map(OsString::from);
        let error = from(typed).expect_err("no such option");
        let coloured = error.render().ansi().to_string();
        assert!(coloured.contains("\x1b[0m"), "{coloured}");
        let text = error.render().to_string();
        assert!(!text.contains(['\x1b', '\u{202e}']), "{text}");
        assert!(text.contains(r"\x0ab"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with('b')), "{text}");
    }
}

#[test]
fn one_word_to_explain_is_a_path_or_a_url_and_more_say_what_they_are() {
    for (words, topic) in [
        ("jp-confine explain net", None),
        ("jp-confine explain -- -x", None),
        ("jp-confine explain https://example.org", Some(Beyond::Net)),
        ("jp-confine explain env HOME", Some(Beyond::Env)),
        ("jp-confine explain --json command -- git log -p", Some(Beyond::Command)),
        ("jp-confine explain command git log -q", Some(Beyond::Command)),
    ] {
        let (_, command) = line(words).expect(words);
        match command {
            Command::Explain { .. } => assert_eq!(topic, None, "{words}"),
            Command::ExplainBeyond { topic: found, .. } => assert_eq!(topic, Some(found)),
            _ => panic!("{words}"),
        }
    }
    let (_, command) = line("jp-confine check command -- git log -p").expect("right");
    assert!(matches!(command, Command::Check { targets, .. } if targets.len() == 3));
}

#[test]
fn what_follows_the_dashes_is_the_programs() {
    let (options, command) = line("jp-confine -q -- check -v -- --events").expect("right");
    assert!(options.quiet && !options.verbose && options.events.is_none());
    let Command::Run { program, arguments } = command else { panic!("not a run") };
    assert_eq!(program, "check");
    assert_eq!(arguments, ["-v", "--", "--events"]);
}

#[test]
fn a_program_without_the_dashes_is_told_of_them() {
    for (words, tip) in [
        ("jp-confine ls", "jp-confine -- ls"),
        ("jp-confine -r x make", "jp-confine -- make"),
        ("jp-confine learn make", "behind `--`"),
    ] {
        let error = line(words).expect_err(words).to_string();
        assert!(error.contains(tip), "{error}");
    }
    let slip = line("jp-confine --rea x -- true").expect_err("a slip").to_string();
    assert!(slip.contains("--read") && !slip.contains("behind"), "{slip}");
}

#[test]
fn help_fits_a_terminal() {
    let mut command = definition();
    command.build();
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names.iter().map(String::as_str).chain([""]) {
        let words = format!("jp-confine {name} --help");
        let help = line(&words).expect_err("help").to_string();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
}

#[test]
fn wrong_lines_are_refused() {
    for words in [
        "jp-confine",
        "jp-confine --",
        "jp-confine true",
        "jp-confine check write p",
        "jp-confine check read",
        "jp-confine explain",
        "jp-confine explain a b",
        "jp-confine check env",
        "jp-confine --env A*B -- true",
        "jp-confine why",
        "jp-confine vfs tool",
        "jp-confine vfs --arguments { -- tool",
        "jp-confine authorize create /p",
        "jp-confine authorize read",
        "jp-confine completions csh",
        "jp-confine --enforce soft -- true",
        "jp-confine --net ::1 -- true",
        "jp-confine approvals",
        "jp-confine approvals approve",
        "jp-confine approvals list fork",
        "jp-confine --mount fork -- true",
        "jp-confine --no-mount= -- true",
        "jp-confine --no-mount make",
        "jp-confine --no-mount fork make",
        "jp-confine -q -v -- true",
    ] {
        let failure = line(words).expect_err(words);
        assert!(failure.use_stderr(), "{words}");
    }
}

// conformance: d43-124, d43-183
#[test]
fn mounts_are_read_where_they_stand() {
    let (options, _) =
        line("jp-confine --mount a=/p --no-mount --no-mount=b --mount t:c=/q:rw -- true")
            .expect("right");
    let names: Vec<&str> = options.mounts.iter().map(|mount| mount.name.as_str()).collect();
    assert_eq!(names, ["a", "c"]);
    assert_eq!(options.no_mounts, [Unmount::All, Unmount::Named("b".to_owned())]);
    let (options, command) = line("jp-confine --no-mount fork -q -- make").expect("right");
    assert_eq!(options.no_mounts, [Unmount::Named("fork".to_owned())]);
    assert!(matches!(command, Command::Run { program, .. } if program == "make"));
    let (options, _) = line("jp-confine --no-mount -- make").expect("right");
    assert_eq!(options.no_mounts, [Unmount::All]);
    let (options, _) = line("jp-confine mounts --no-mount").expect("right");
    assert_eq!(options.no_mounts, [Unmount::All]);
    let (_, command) = line("jp-confine approvals approve -C ws fork").expect("right");
    assert!(matches!(command, Command::Approvals(Approvals::Approve { name }) if name == "fork"));
}

#[test]
fn the_definition_is_consistent() {
    definition().debug_assert();
}
