//! Tests the block after a run, word for word.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::net::Net;
use jp_confine_engine::tiers::Tiers;

use super::*;
use crate::advice::advisor::Advisor;
use crate::advice::person::Person;
use crate::config::edit::rule_places::RulePlaces;
use crate::config::edit::user_lists::OwnLists;
use crate::host::invocation::CommandHint;
use crate::plan::unsupervised::Unsupervised;
use crate::record::denial::{Denial, Reason};
use crate::record::denials::Denials;
use crate::record::lost_records::LostRecords;
use crate::report::why::Ended;

fn denial(path: &[u8], missing: Capabilities, rule: Option<usize>) -> Denial {
    let by = (1, b"/usr/bin/cat".to_vec());
    let layer = crate::record::denial::Layer::Shim;
    Denial { rule, missing, layer, ..Denial::by_supervisor(Reason::Rule, path, by, b"open") }
}

fn grants() -> Vec<Grant> {
    let origin = |entry: &str| Origin::Baseline { entry: entry.to_owned() };
    let control = Origin::Product { why: "a policy file, never writable from inside".to_owned() };
    let none = Capabilities::NONE;
    let etc = Grant::new("/etc".into(), Capabilities::READ, GrantKind::Plain, origin("/etc"));
    vec![
        Grant { carve_outs: vec!["shadow".to_owned()], ..etc },
        Grant::new(PathBuf::from("/w/jp-confine.toml"), none, GrantKind::Control, control),
    ]
}

fn render(denials: &[Denial], declared: bool) -> String {
    rendered(denials, declared, &[])
}

fn rendered(denials: &[Denial], declared: bool, missed: &[String]) -> String {
    told(denials, |circumstances| Setting { declared, missed, ..circumstances })
}

/// What the block depends on, beside the denials.
#[derive(Clone, Copy, Default)]
struct Setting<'a> {
    declared: bool,
    missed: &'a [String],
    status: u8,
    is_brief: bool,
    gap: Option<LostRecords>,
}

fn told<'a>(denials: &[Denial], set: impl FnOnce(Setting<'a>) -> Setting<'a>) -> String {
    static HERE: CommandHint = CommandHint::INSIDE;
    static FREE: LazyLock<(Net, Tiers)> = LazyLock::new(Default::default);
    let setting = set(Setting { status: 1, ..Setting::default() });
    let mut counted = Denials::default();
    counted.gap = setting.gap;
    for denial in denials {
        counted.add(denial.clone());
    }
    let (grants, own_lists) = (grants(), OwnLists::of_nobody());
    let advisor = Advisor {
        grants: &grants,
        image: None,
        workspace: Path::new("/w"),
        here: &HERE,
        tiers: &FREE.1,
        exposed: None,
        person: Person::Absent,
        began: None,
        denials: None,
        unapproved: &[],
        mounts: &[],
        unsupervised: Unsupervised::Missing,
        declared: setting.declared,
        net: &FREE.0,
        without_network: None,
        programs: None,
        rule_places: RulePlaces::of_nobody(),
        own_lists: &own_lists,
        rights: |_, _| Ok(()),
    };
    let name = OsStr::new("/bin/sh");
    let (status, missed) = (setting.status, setting.missed);
    let ended = Ended { name, arguments: &[], status, denials: &counted, advisor, missed };
    let run = ended.explain(Path::new("/w"), String::new());
    let about = Circumstances {
        run: &run,
        program: "/bin/sh",
        hidden: counted.total_hidden(),
        untold: counted.total() - run.told(),
        here: &HERE,
        workspace: Path::new("/w"),
        verbose: !setting.is_brief,
        kept: true,
        logged: false,
    };
    block(&about, Style::PLAIN)
}

#[test]
fn equal_denials_are_counted_and_each_names_its_way_out() {
    let shadow = denial(b"/etc/shadow", Capabilities::READ, Some(0));
    let outside = denial(b"/srv/a b", Capabilities::CREATE, None);
    let text = render(&[shadow.clone(), outside, shadow], false);
    assert_eq!(
        text,
        "\
jp-confine: 3 denials
  1 denied read /etc/shadow by cat (2×)
    baseline /etc; the system's passwords: a run needs none of them
  2 denied create /srv/a b by cat
    no rule covers it; allow: jp-confine -w '/srv/a b'
  to allow for good: jp-confine allow; details: jp-confine why --last
"
    );
}

#[test]
fn denials_without_room_on_record_are_told_of() {
    let shadow = denial(b"/etc/shadow", Capabilities::READ, Some(0));
    let gap = Some(LostRecords::Counted(70));
    let text = told(&[shadow], |setting| Setting { gap, ..setting });
    assert!(text.starts_with("jp-confine: 1 denial\n"), "{text}");
    let last = "jp-confine: 70 more denials were not recorded: the record is full";
    assert_eq!(text.lines().last(), Some(last), "{text}");
}

/// A program that succeeded did not need what it was denied. Looking for what does not exist is worth no word then.
#[test]
fn who_succeeds_is_told_one_line() {
    let absent = denial(b"/nowhere/at/all", Capabilities::READ, None);
    let there = denial(b"/etc/passwd", Capabilities::READ, None);
    let hidden = Denial { hidden: true, ..there.clone() };
    let well = |denials: &[Denial]| {
        told(denials, |setting| Setting { status: 0, is_brief: true, ..setting })
    };
    assert_eq!(well(std::slice::from_ref(&absent)), "");
    let line = "jp-confine: 2 denials did not matter: jp-confine why --last\n";
    assert_eq!(well(&[there.clone(), absent, there.clone()]), line);
    let line =
        "jp-confine: 1 denial did not matter, /etc/passwd looked absent: jp-confine why --last\n";
    assert_eq!(well(&[there, hidden.clone()]), line);
    let other =
        Denial { path: b"/etc/group".into(), route: b"/etc/group".into(), ..hidden.clone() };
    let line = "jp-confine: 2 paths looked absent: jp-confine why --last\n";
    assert_eq!(well(&[other, hidden]), line);
}

/// Entries of a home that look absent may be the cause of a failure. A few of them are reported, after the other
/// denials.
#[test]
fn what_looked_absent_is_told_where_the_program_failed() {
    let home = tempfile::tempdir().expect("a directory");
    let mut denials = Vec::new();
    for name in ["a", "b", "c", "nowhere"] {
        let path = home.path().join(name);
        if name != "nowhere" {
            std::fs::write(&path, "x").expect("written");
        }
        let denied = denial(path.as_os_str().as_bytes(), Capabilities::READ, None);
        denials.push(Denial { hidden: true, other: name.into(), ..denied });
    }
    denials.push(denial(b"/etc/passwd", Capabilities::READ, Some(0)));
    let text = told(&denials, |setting| Setting { is_brief: true, ..setting });
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("denied ")).collect();
    assert!(text.starts_with("jp-confine: 4 denials\n"), "{text}");
    assert!(lines.first().is_some_and(|line| line.ends_with("/etc/passwd by cat")), "{text}");
}

/// `ps` reads the environment of every process.
#[test]
fn files_of_processes_are_one_denial() {
    let environ =
        |pid: u32| denial(format!("/proc/{pid}/environ").as_bytes(), Capabilities::READ, None);
    let text = render(&[environ(1), environ(20), environ(300)], false);
    let told = "denied read /proc/1/environ by cat (3×, of other processes too)";
    assert!(text.contains(told), "{text}");
    assert_eq!(text.matches("denied").count(), 1, "{text}");
}

#[test]
fn both_ends_of_a_move_are_named_with_one_way_out() {
    let moved = denial(b"/w/missing-a", Capabilities::DELETE, None);
    let moved = Denial { call: b"rename".into(), other: b"/w/missing-b".into(), ..moved };
    let text = render(&[moved], true);
    let both = " denied delete missing-a and create missing-b by cat\n";
    let way_out = "allow: jp-confine -w /w/missing-a -w /w/missing-b\n";
    assert!(text.contains(both) && text.contains(way_out), "{text}");
}

#[test]
fn lines_are_broken_where_they_can_be() {
    let long = format!("/srv/{}", "x".repeat(70));
    let text = render(&[denial(long.as_bytes(), Capabilities::READ, None)], true);
    assert!(text.contains("    no rule covers it\n        allow: jp-confine -r /srv/xx"), "{text}");
}

#[test]
fn control_files_cannot_be_allowed() {
    let text = render(&[denial(b"/w/jp-confine.toml", Capabilities::UPDATE, Some(1))], false);
    assert!(text.contains("a policy file, never writable from inside; cannot be"), "{text}");
}

#[test]
fn names_cannot_control_the_terminal() {
    let text = render(&[denial(b"/srv/\x1b[2J\xff\n", Capabilities::READ, None)], false);
    assert!(text.contains(r"denied read /srv/\x1b[2J\xff\x0a by cat"), "{text}");
    assert!(text.contains(r"-r $'/srv/\x1b[2J\xff\x0a'"), "{text}");
    let turned = render(&[denial("/srv/a\u{202e}b".as_bytes(), Capabilities::READ, None)], false);
    assert!(turned.contains(r"-r $'/srv/a\xe2\x80\xaeb'"), "{turned}");
    let tagged = render(&[denial("/srv/a\u{e0041}".as_bytes(), Capabilities::READ, None)], false);
    assert!(tagged.contains(r"-r $'/srv/a\xf3\xa0\x81\x81'"), "{tagged}");
}

#[test]
fn the_block_names_five_groups() {
    let many: Vec<Denial> = (0..100)
        .map(|n| denial(format!("/srv/{n}/file").as_bytes(), Capabilities::READ, None))
        .collect();
    let text = rendered(&many, false, &["A".to_owned()]);
    assert!(text.lines().count() <= LINES, "{text}");
    assert!(text.contains("and 95 more"), "{text}");
}

#[test]
fn variables_are_one_line_whatever_they_are_called() {
    let names = |count: usize| (0..count).map(|n| format!("NAME_{n}")).collect::<Vec<_>>();
    let all = "  to allow for good: jp-confine allow; details: jp-confine why --last\n";
    let begin = "jp-confine: 1 variable withheld from sh; allow: --env ";
    assert_eq!(rendered(&[], false, &names(1)), format!("{begin}NAME_0\n{all}"));
    let odd = ["A B".to_owned()];
    assert_eq!(rendered(&[], false, &odd), format!("{begin}'A B'\n{all}"));
    let text = rendered(&[], false, &names(300));
    assert!(text.starts_with(
        "jp-confine: 300 variables withheld from sh; allow: --env NAME_0 --env NAME_1 …\n"
    ));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.ends_with(all), "{text}");
    let long = "X".repeat(100);
    assert_eq!(rendered(&[], false, std::slice::from_ref(&long)).matches(&long).count(), 1);
}

#[test]
fn many_in_one_directory_are_one_entry() {
    let of = |names: std::ops::Range<u32>, directory: &str| -> Vec<Denial> {
        let path = |n| format!("{directory}/{n}");
        names.map(|n| denial(path(n).as_bytes(), Capabilities::READ, None)).collect()
    };
    let many = [of(0..100, "/srv/x"), of(0..2, "/srv/y")].concat();
    let text = render(&many, false);
    let others =
        "    and 99 more in /srv/x\n    no rule covers it; allow all: jp-confine -r /srv/x\n";
    assert!(text.contains(others) && text.contains("3 denied read /srv/y/1"), "{text}");
    assert!(!text.contains("and 1"), "all are told of: {text}");
}

#[test]
fn all_who_were_refused_in_one_directory_are_named() {
    let by = |program: &str, path: &str| Denial {
        program: program.into(),
        ..denial(path.as_bytes(), Capabilities::READ, None)
    };
    let all = |programs: [&str; 4]| {
        let places = (0..).map(|number| format!("/srv/x/{number}"));
        let denied = programs.iter().zip(places).map(|(program, place)| by(program, &place));
        render(&denied.collect::<Vec<_>>(), false)
    };
    let text = all(["/bin/sh", "/bin/cp", "/bin/sh", "/bin/mv"]);
    assert!(text.contains("and 3 more in /srv/x, some by cp, mv\n"), "{text}");
    let text = all(["/bin/sh"; 4]);
    assert!(text.contains("and 3 more in /srv/x\n"), "{text}");
    let text = all(["/a", "/b", "/c", "/d"]);
    assert!(text.contains("and 3 more in /srv/x, some by b, c, d\n"), "{text}");
}

#[test]
fn words_stay_whole_where_lines_are_broken() {
    let text = format!("{} {} end", "word ".repeat(20).trim_end(), "x".repeat(100));
    let text = crate::text::wrap::wrapped(&text, 12, 2);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].len() + 12 <= 80 && lines[1].len() <= 80, "{text}");
    assert_eq!(text.split_whitespace().count(), 22, "{text}");
    assert_eq!(lines[3], "  end");
}

#[test]
fn hidden_names_are_only_counted() {
    let hidden = Denial { hidden: true, ..denial(b"/home/u/.x", Capabilities::READ, None) };
    assert_eq!(
        render(&[hidden], false),
        "jp-confine: 1 name in the home directory looked absent (--show-denied shows which)\n"
    );
    assert_eq!(render(&[], false), "");
}
