//! Names that must not appear through a move or a symlink (spec §5.2, R31).

use std::collections::BTreeMap;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::moves::{self, Ends, Kind, Move, Plan, Stays};
use jp_confine_engine::tier::Restraint;
use jp_confine_engine::tiers::Tiers;
use proptest::prelude::*;

use crate::place::{file_policy, image_with};
use crate::tiers::{grants, places, rule};

const W: &str = "/w";

fn image_of(grants: &[Grant], tiers: &str) -> Vec<u8> {
    let tiers = Tiers::new(&file_policy(tiers), Some(&[]), places()).expect("patterns");
    image_with(grants, Some(&tiers), Path::new(W))
}

/// The state of the ends of a move.
struct Known {
    exists: bool,
    kind: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Dir,
    File,
    Link(String),
}

impl Ends for Known {
    fn exists(&self) -> bool {
        self.exists
    }

    fn is_directory(&self) -> bool {
        self.kind == Node::Dir
    }

    fn is_symlink(&self) -> bool {
        matches!(self.kind, Node::Link(_))
    }
}

fn planned(image: &Image<'_>, [from, to]: [&str; 2], kind: Kind, ends: &Known) -> Plan {
    let [from, to] = [from, to].map(|path| Request::canonical(path.as_bytes()));
    moves::plan(image, &Move { from, to, kind }, ends)
}

fn word(plan: Plan) -> &'static str {
    let is_below = |denial: decide::Denial| denial.restraint == Some(Restraint::Below);
    match plan {
        Plan::Go => "go",
        Plan::Copy(denial) if is_below(denial) => "copy",
        Plan::Refuse(denial) if is_below(denial) => "deny",
        Plan::Alone(alone) => match (alone.directory, alone.symlink) {
            (Stays::Copied(_), Some(_)) => "file alone",
            (Stays::Copied(_), None) => "alone",
            (Stays::Denied(_), _) => "stays",
        },
        _ => "other",
    }
}

/// The plans for moving a directory, a file and a symlink, and for exchanging two directories.
#[test]
fn names_below_the_destination_are_judged() {
    for (tiers, from, to, expected) in [
        ("", "/w/v", "/w/u", ["go", "go", "go", "go"]),
        ("deny=/w/.vscode/tasks.json", "/w/v", "/w/u", ["go", "go", "go", "go"]),
        (
            "deny=/w/.vscode/tasks.json",
            "/w/v",
            "/w/.vscode",
            ["copy", "file alone", "deny", "other"],
        ),
        (
            "prompt=/w/.vscode/tasks.json",
            "/w/v",
            "/w/.vscode",
            ["copy", "file alone", "deny", "other"],
        ),
        (
            "read=/w/.vscode/tasks.json",
            "/w/v",
            "/w/.vscode",
            ["copy", "file alone", "deny", "other"],
        ),
        ("deny=/w/a/b/c/d", "/w/v", "/w/a", ["copy", "file alone", "deny", "other"]),
        ("deny=/w/a/b/c/d", "/w/v", "/w/a/b", ["copy", "file alone", "deny", "other"]),
        ("deny=**/.git/hooks/**", "/w/v", "/w/.git", ["copy", "file alone", "deny", "other"]),
        ("deny=**/.git/hooks/**", "/w/v", "/w/sub/.git", ["copy", "file alone", "deny", "other"]),
        ("deny=**/.git/hooks/**", "/w/v", "/w/u/sub", ["go", "go", "go", "go"]),
        ("deny=**/.git/hooks/**", "/w/a/.git", "/w/b/.git", ["go", "go", "deny", "go"]),
        ("deny=**/*.pem", "/w/v", "/w/u/sub", ["go", "go", "go", "go"]),
        ("deny=**/*.pem", "/usr/v", "/w/u", ["other", "other", "other", "other"]),
        ("deny=/w/src/**/*.pem", "/w/v", "/w/src/x", ["copy", "file alone", "deny", "other"]),
        ("deny=/w/src/**/*.pem", "/w/src/v", "/w/src/x/y", ["go", "go", "deny", "go"]),
        ("deny=/w/src/**/*.pem", "/w/src/v", "/w/src/y", ["go", "go", "go", "go"]),
        ("deny=/w/p/*/.husky/x", "/w/v", "/w/p/a", ["copy", "file alone", "deny", "other"]),
        ("deny=/w/p/*/.husky/x", "/w/p/a", "/w/p/b", ["go", "go", "go", "go"]),
        // Sensitive files in the run's own directory need no prompt.
        ("", "/tmp/run/v", "/w/u", ["copy", "alone", "alone", "other"]),
        ("", "/w/v", "/tmp/run/u", ["stays", "stays", "stays", "stays"]),
    ] {
        let bytes = image_of(&grants(), tiers);
        let image = Image::parse(&bytes).expect("an image");
        let link = Node::Link(String::new());
        let moved = [Node::Dir, Node::File, link].map(|kind| {
            let ends = Known { exists: false, kind };
            word(planned(&image, [from, to], Kind::Replace, &ends))
        });
        let ends = Known { exists: true, kind: Node::Dir };
        let exchanged = word(planned(&image, [from, to], Kind::Exchange, &ends));
        let [one, two, three] = moved;
        if expected[0] == "stays" {
            assert_ne!(one, "go", "{tiers}: {from} {to}");
            continue;
        }
        assert_eq!([one, two, three, exchanged], expected, "{tiers}: {from} {to}");
    }
}

/// Rules below the place count as patterns do.
#[test]
fn rules_below_the_destination_are_judged() {
    let all = |path| rule(path, Capabilities::ALL, GrantKind::Plain);
    let read = |path| rule(path, Capabilities::READ, GrantKind::Plain);
    let profile = Origin::Profile { name: "p".to_owned(), entry: "/p".to_owned(), named: true };
    let mut kept = Grant::new("/p".into(), Capabilities::ALL, GrantKind::Plain, profile);
    kept.carve_outs.push("*/k".to_owned());
    for (grants, from, to, expected) in [
        (
            vec![all("/w"), read("/w/.husky/hooks")],
            "/w/v",
            "/w/.husky",
            ["copy", "file alone", "deny"],
        ),
        (vec![all("/w"), read("/w/a/b/c")], "/w/v", "/w/a", ["copy", "file alone", "deny"]),
        (vec![all("/w"), read("/w/a/b/c")], "/w/v", "/w/a/x", ["go", "go", "go"]),
        (vec![all("/w"), all("/w/a/b/c")], "/w/v", "/w/a", ["go", "go", "go"]),
        (vec![all("/w"), kept.clone()], "/w/v", "/p/a", ["copy", "file alone", "deny"]),
        (vec![all("/w"), kept], "/w/v", "/p/a/b", ["go", "go", "go"]),
        (
            vec![all("/w"), rule("/w/.own", Capabilities::NONE, GrantKind::Control)],
            "/w/v",
            "/w/u",
            ["go", "go", "go"],
        ),
        (
            vec![all("/w"), rule("/w/a/own", Capabilities::NONE, GrantKind::Control)],
            "/w/v",
            "/w/a",
            ["copy", "file alone", "deny"],
        ),
    ] {
        let bytes = image_with(&grants, None, Path::new(W));
        let image = Image::parse(&bytes).expect("an image");
        let moved = [Node::Dir, Node::File, Node::Link(String::new())].map(|kind| {
            let ends = Known { exists: false, kind };
            word(planned(&image, [from, to], Kind::Replace, &ends))
        });
        assert_eq!(moved, expected, "{from} {to}");
    }
}

#[test]
fn a_symlink_lends_no_name_that_is_denied() {
    for (tiers, path, text, expected) in [
        ("deny=/w/.vscode/tasks.json", "/w/.vscode", "v", false),
        ("deny=/w/.vscode/tasks.json", "/w/.vscode", "/w/v", false),
        ("deny=/w/.vscode/tasks.json", "/w/.vscode", "/proc/self/cwd/v", false),
        ("deny=/w/.vscode/tasks.json", "/w/u", "v", true),
        ("prompt=/w/.vscode/tasks.json", "/w/.vscode", "v", false),
        ("deny=**/.git/hooks/**", "/w/sub/.git", "v", false),
        ("deny=**/.git/hooks/**", "/w/sub/.git", "/w/.git", true),
        ("deny=**/.git/hooks/**", "/w/sub/.git", "/w/u/../.git", false),
        ("deny=**/.git/hooks/**", "/w/node_modules/.bin/x", "../x/cli.js", true),
        ("deny=**/.envrc", "/w/node_modules/x", "../packages/x", true),
        ("deny=/w/**/.envrc", "/w/node_modules/x", "../packages/x", true),
        ("deny=/w/src/**/*.pem", "/w/src/x", "/w/v", false),
        ("deny=/w/src/**/*.pem", "/w/src/x", "/w/src/y", true),
        ("deny=/w/src/**/*.pem", "/w/src/x", "y", true),
        ("deny=/w/src/**/*.pem", "/w/src/x", "..", false),
        ("deny=/w/src/**/*.pem", "/w/src/x", "../v", false),
        ("deny=/w/*/.envrc", "/w/x", "/w/a/b", false),
        ("deny=/w/*/**/.envrc", "/w/x", "/w", false),
        ("deny=/w/*/**/.envrc", "/w/x", ".", false),
        ("deny=/w/*/**/.envrc", "/w/x/y", "z", true),
        ("deny=/w/*/**/.envrc", "/w/x/y", "../..", false),
        ("default=read write=/w/out/**", "/w/out/l", "m", true),
        ("", "/w/x", "/usr/bin/python3", true),
        ("", "/tmp/run/x", "y", true),
    ] {
        let bytes = image_of(&grants(), tiers);
        let image = Image::parse(&bytes).expect("an image");
        let request = Request::canonical(path.as_bytes());
        let verdict = decide::symlink(&image, &request, || text.as_bytes());
        assert_eq!(verdict == Verdict::Allow, expected, "{tiers}: {path} -> {text}");
    }
}

#[test]
fn another_name_of_a_symlink_is_judged_as_one() {
    let bytes = image_of(&grants(), "deny=**/.vscode/tasks.json");
    let image = Image::parse(&bytes).expect("an image");
    let link = |old: &str, new: &str| {
        let [old, new] = [old, new].map(|path| Request::canonical(path.as_bytes()));
        decide::link_symlink(&image, &old, &new) == Verdict::Allow
    };
    assert!(link("/w/l", "/w/m") && link("/w/l", "/w/a/m"));
    assert!(!link("/w/l", "/w/.vscode") && !link("/w/a/.vscode", "/w/b/.vscode"));
}

/// A small file system, which only changes as the evaluator allows.
#[derive(Default)]
struct Tree(BTreeMap<String, Node>);

/// One change.
#[derive(Clone, Debug)]
enum Change {
    Dir(String),
    File(String),
    Link(String, String),
    Rename(String, String),
    Exchange(String, String),
    HardLink(String, String),
}

impl Tree {
    fn at(&self, path: &str) -> Option<&Node> {
        if path == W { Some(&Node::Dir) } else { self.0.get(path) }
    }

    /// The entry that a spelling leads to, without following its last name.
    fn entry(&self, spelling: &str) -> Option<String> {
        let (directory, name) = spelling.rsplit_once('/')?;
        let directory = if directory == W { W.to_owned() } else { self.found(directory, 8)? };
        (self.at(&directory) == Some(&Node::Dir)).then(|| format!("{directory}/{name}"))
    }

    /// The path that a spelling leads to.
    fn found(&self, spelling: &str, budget: usize) -> Option<String> {
        let mut at = W.to_owned();
        for name in spelling.strip_prefix(W)?.split('/').filter(|name| !name.is_empty()) {
            let next = format!("{at}/{name}");
            at = match self.at(&next)? {
                Node::Link(text) => {
                    let target =
                        if text.starts_with('/') { text.clone() } else { format!("{at}/{text}") };
                    self.found(&target, budget.checked_sub(1)?)?
                }
                _ => next,
            };
        }
        Some(at)
    }

    fn apply(&mut self, image: &Image<'_>, change: &Change) {
        let creates = |path: &str| {
            let request = Request::canonical(path.as_bytes());
            decide::access(image, &request, Capabilities::CREATE) == Verdict::Allow
        };
        match change {
            Change::Dir(path) | Change::File(path) => {
                let Some(path) = self.entry(path) else { return };
                if self.at(&path).is_none() && creates(&path) {
                    let is_dir = matches!(change, Change::Dir(_));
                    self.0.insert(path, if is_dir { Node::Dir } else { Node::File });
                }
            }
            Change::Link(path, text) => {
                let Some(path) = self.entry(path) else { return };
                let verdict = decide::symlink(image, &Request::canonical(path.as_bytes()), || {
                    text.as_bytes()
                });
                if self.at(&path).is_none() && verdict == Verdict::Allow {
                    self.0.insert(path, Node::Link(text.clone()));
                }
            }
            Change::HardLink(old, new) => self.hard_link(image, old, new),
            Change::Rename(from, to) => self.rename(image, from, to, Kind::Replace),
            Change::Exchange(from, to) => self.rename(image, from, to, Kind::Exchange),
        }
    }

    fn hard_link(&mut self, image: &Image<'_>, old: &str, new: &str) {
        let (Some(old), Some(new)) = (self.entry(old), self.entry(new)) else { return };
        let Some(node @ Node::Link(_)) = self.at(&old).cloned() else { return };
        let [from, to] = [&old, &new].map(|path| Request::canonical(path.as_bytes()));
        let is_allowed = decide::link_symlink(image, &from, &to) == Verdict::Allow;
        if is_allowed && self.at(&new).is_none() {
            self.0.insert(new, node);
        }
    }

    fn rename(&mut self, image: &Image<'_>, from: &str, to: &str, kind: Kind) {
        let (Some(from), Some(to)) = (self.entry(from), self.entry(to)) else { return };
        let Some(node) = self.at(&from).cloned().filter(|_| from != W && to != W) else { return };
        let is_within =
            |one: &str, other: &str| format!("{one}/").starts_with(&format!("{other}/"));
        if is_within(&to, &from) || is_within(&from, &to) {
            return;
        }
        let there = self.at(&to).cloned();
        let ends = Known { exists: there.is_some(), kind: node.clone() };
        let is_dir = node == Node::Dir;
        let goes = match planned(image, [&from, &to], kind, &ends) {
            Plan::Go => true,
            Plan::OnlyNew(_) => there.is_none(),
            Plan::Alone(alone) => {
                let is_link = matches!(node, Node::Link(_));
                !(is_dir || is_link && alone.symlink.is_some())
                    && alone.exists.is_none_or(|_| there.is_none())
            }
            Plan::Copy(_) | Plan::Exists | Plan::Refuse(_) => false,
        };
        let is_full = self.0.keys().any(|path| path.starts_with(&format!("{to}/")));
        let fits = match (kind, &there) {
            (Kind::Exchange, there) => there.is_some(),
            (_, None) => true,
            (_, Some(there)) => (*there == Node::Dir) == is_dir && !is_full,
        };
        if goes && fits {
            let (mut taken, mut back) = (self.take(&from), self.take(&to));
            if kind != Kind::Exchange {
                back.clear();
            }
            taken.drain(..).for_each(|(rest, node)| _ = self.0.insert(format!("{to}{rest}"), node));
            back.drain(..)
                .for_each(|(rest, node)| _ = self.0.insert(format!("{from}{rest}"), node));
        }
    }

    fn take(&mut self, at: &str) -> Vec<(String, Node)> {
        let below = format!("{at}/");
        let is_taken = |path: &String| path == at || path.starts_with(&below);
        let keys: Vec<String> = self.0.keys().filter(|path| is_taken(path)).cloned().collect();
        keys.into_iter()
            .filter_map(|key| Some((key[at.len()..].to_owned(), self.0.remove(&key)?)))
            .collect()
    }

    /// Every spelling of an existing entry, following symlinks on the way.
    fn spellings(&self) -> Vec<String> {
        let mut found = vec![W.to_owned()];
        let mut next = 0;
        while let Some(directory) = found.get(next).cloned().filter(|_| next < 300) {
            next += 1;
            if directory.matches('/').count() > 6 {
                continue;
            }
            let Some(place) = self.found(&directory, 8) else { continue };
            let below = format!("{place}/");
            let names = self.0.keys().filter_map(|path| path.strip_prefix(&below));
            let names = names.filter(|name| !name.contains('/'));
            found.extend(names.map(|name| format!("{directory}/{name}")));
        }
        found.remove(0);
        found
    }
}

fn path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c", "d"]);
    prop::collection::vec(name, 1..4).prop_map(|names| format!("{W}/{}", names.join("/")))
}

fn change() -> impl Strategy<Value = Change> {
    let text = prop_oneof![path(), Just("c/d".to_owned()), Just("./a".to_owned())];
    prop_oneof![
        3 => path().prop_map(Change::Dir),
        2 => path().prop_map(Change::File),
        3 => (path(), text).prop_map(|(path, text)| Change::Link(path, text)),
        4 => (path(), path()).prop_map(|(from, to)| Change::Rename(from, to)),
        1 => (path(), path()).prop_map(|(from, to)| Change::Exchange(from, to)),
        1 => (path(), path()).prop_map(|(from, to)| Change::HardLink(from, to)),
    ]
}

fn pattern() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c", "d", "*", "**"]);
    let parts = prop::collection::vec(name, 1..4);
    let tier = prop::sample::select(vec!["deny", "prompt", "read"]);
    (tier, any::<bool>(), parts).prop_filter_map("no pattern", |(tier, anchored, parts)| {
        let joined = parts.join("/");
        let start = if anchored { W } else { "**" };
        let ends_open = parts.last().is_some_and(|last| *last == "*" || *last == "**");
        (!ends_open || parts.len() > 1).then(|| format!("{tier}={start}/{joined}"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// After any changes by a run, no entry has a name that the policy denies to create or prompts about.
    #[test]
    fn no_denied_name_comes_into_being(
        patterns in prop::collection::vec(pattern(), 0..3),
        narrower in prop::collection::vec((path(), 0_u8..32), 0..3),
        changes in prop::collection::vec(change(), 1..14),
    ) {
        let narrower = narrower.iter().map(|(anchor, caps)| {
            rule(anchor, Capabilities::from_bits(*caps), GrantKind::Plain)
        });
        let all = rule(W, Capabilities::ALL, GrantKind::Plain);
        let grants: Vec<Grant> = std::iter::once(all).chain(narrower).collect();
        let policy = file_policy(&patterns.join(" "));
        let tiers = Tiers::new(&policy, None, places());
        prop_assume!(tiers.is_ok());
        let bytes = image_with(&grants, tiers.ok().as_ref(), Path::new(W));
        let image = Image::parse(&bytes).unwrap();
        let mut tree = Tree::default();
        for change in &changes {
            tree.apply(&image, change);
            for spelling in tree.spellings() {
                let request = Request::canonical(spelling.as_bytes());
                let verdict = decide::access(&image, &request, Capabilities::CREATE);
                prop_assert_eq!(verdict, Verdict::Allow, "{} after {:?}", spelling, change);
            }
        }
    }
}
