//! Plans of moves before the kernel has told whether the destination exists (spec §5.2), and their prompts (spec §9.3).

use std::cell::{Cell, RefCell};
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{Denial, Request};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::image::Image;
use jp_confine_engine::moves::{self, Alone, Ends, Kind, Move, Plan};
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;

use crate::place::{Place, image_with, letters};

/// Ends of known kinds.
#[derive(Clone, Copy)]
struct Known {
    exists: bool,
    directory: bool,
}

impl Ends for Known {
    fn exists(&self) -> bool {
        self.exists
    }

    fn is_directory(&self) -> bool {
        self.directory
    }

    fn is_symlink(&self) -> bool {
        false
    }
}

fn kind(word: &str) -> Kind {
    match word {
        "replace" => Kind::Replace,
        "keep" => Kind::KeepIt,
        "exchange" => Kind::Exchange,
        _ => panic!("{word}"),
    }
}

/// The plan for `a` to `b`, if the names in `prompts` need a prompt. Prompts and reports on the way come before it.
fn answer(rules: &str, prompts: &str, word: &str, ends: Known, consents: bool) -> String {
    let place = Place::new("");
    let root = place.root.as_path();
    let grants = place.compile(rules, "").unwrap().grants;
    let image = image_with(&grants, tiers(prompts, root).as_ref(), root);
    let image = Image::parse(&image).unwrap();
    let [from, to] = ["a", "b"].map(|name| root.join(name).to_str().unwrap().to_owned());
    let [from, to] = [&from, &to].map(|path| Request::canonical(path.as_bytes()));
    let told = RefCell::new(Vec::new());
    let settle = |denial: Denial, also: Capabilities| {
        let way = if denial.ask { "ask" } else { "tell" };
        let caps = [denial.missing, also].map(|caps| letters(caps.iter()));
        told.borrow_mut().push(format!("{way} {}, ", caps.join(" and ")));
        if denial.ask && consents { Ok(()) } else { Err(()) }
    };
    let plan = match moves::settled(&image, &Move { from, to, kind: kind(word) }, &ends, settle) {
        Ok(Plan::Go) => "go".to_owned(),
        Ok(Plan::OnlyNew(denial)) => format!("new, else {}", letters(denial.missing.iter())),
        Ok(Plan::Alone(Alone { exists: None, .. })) => "alone".to_owned(),
        Ok(Plan::Alone(Alone { exists: Some(denial), .. })) => {
            format!("alone and new, else {}", letters(denial.missing.iter()))
        }
        Ok(Plan::Copy(_)) => "copy".to_owned(),
        Ok(Plan::Exists) => "exists".to_owned(),
        Ok(Plan::Refuse(_)) | Err(()) => "no".to_owned(),
    };
    told.into_inner().concat() + &plan
}

/// Names that need a prompt, and after a `!` names that are denied.
fn tiers(names: &str, workspace: &Path) -> Option<Tiers> {
    let mut policy = FilePolicy::default();
    for name in names.split_whitespace() {
        let (tier, name) = match name.strip_prefix('!') {
            Some(name) => (Tier::Deny, name),
            None => (Tier::Prompt, name),
        };
        policy.list_mut(tier).push(format!("<workspace>/{name}"));
    }
    let places = Places::without_home(workspace);
    (!names.is_empty()).then(|| Tiers::new(&policy, Some(&[]), places).unwrap())
}

macro_rules! rows {
    ($($name:ident: $rules:literal, $word:literal, $ends:expr => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(answer($rules, "", $word, $ends, false), $expected);
        }
    )*};
}

const NEW: Known = Known { exists: false, directory: false };
const OLD: Known = Known { exists: true, directory: false };
const DIRECTORY: Known = Known { exists: false, directory: true };

rows! {
    all: ".:w", "replace", OLD => "go";
    may_not_replace: ".:cd", "replace", NEW => "new, else u";
    may_not_replace_what_is_there: ".:cd", "replace", OLD => "new, else u";
    need_not_replace: ".:cd", "keep", OLD => "go";
    keeps_what_is_there: ".:r a:cd", "keep", OLD => "exists";
    keeps_what_is_there_and_nothing_is: ".:r a:cd", "keep", NEW => "tell c and -, no";
    keeps_what_is_there_whatever_would_be_gained: ".:cd b:w", "keep", OLD => "exists";
    keeps_what_is_there_and_may_not_leave: ".:r b:r", "keep", OLD => "exists";
    may_not_leave_for_a_new_place: ".:r b:r", "keep", NEW => "tell d and -, no";
    may_only_replace: ".:du", "replace", OLD => "go";
    may_only_replace_and_nothing_is_there: ".:du", "replace", NEW => "tell c and -, no";
    may_not_leave: ".:cu", "replace", NEW => "tell d and -, no";
    exchange: ".:du", "exchange", OLD => "go";
    exchange_needs_both: ".:cd", "exchange", OLD => "tell u and -, no";
}

/// An exchange is judged as if both entries were directories. The denial is about the end from which a name that needs
/// a prompt would move along.
#[test]
fn what_changes_places_is_judged_as_directories() {
    let place = Place::new("");
    let root = place.root.as_path();
    let grants = place.compile(".:w", "").unwrap().grants;
    for (asked, is_second) in [("a/secret", false), ("b/secret", true)] {
        let image = image_with(&grants, tiers(asked, root).as_ref(), root);
        let image = Image::parse(&image).unwrap();
        let [from, to] = ["a", "b"].map(|name| root.join(name).to_str().unwrap().to_owned());
        let [from, to] = [&from, &to].map(|path| Request::canonical(path.as_bytes()));
        for ends in [OLD, Known { exists: true, ..DIRECTORY }] {
            let plan = moves::plan(&image, &Move { from, to, kind: Kind::Exchange }, &ends);
            let Plan::Refuse(Denial { second, .. }) = plan else { panic!("{plan:?}") };
            assert_eq!(second, is_second);
        }
    }
}

/// The source was a file before the person answered.
struct Swapped(Cell<bool>);

impl Ends for Swapped {
    fn exists(&self) -> bool {
        false
    }

    fn is_directory(&self) -> bool {
        self.0.get()
    }

    fn is_symlink(&self) -> bool {
        false
    }
}

#[test]
fn an_answer_is_about_what_is_there_after_it() {
    let place = Place::new("");
    let root = place.root.as_path();
    let grants = place.compile(".:w", "").unwrap().grants;
    let image = image_with(&grants, tiers("b !a/secret", root).as_ref(), root);
    let image = Image::parse(&image).unwrap();
    let [from, to] = ["a", "b"].map(|name| root.join(name).to_str().unwrap().to_owned());
    let [from, to] = [&from, &to].map(|path| Request::canonical(path.as_bytes()));
    let ends = Swapped(Cell::new(false));
    let answer = |denial: Denial, _| {
        ends.0.set(true);
        if denial.ask { Ok(()) } else { Err("told") }
    };
    let asked = Move { from, to, kind: Kind::Replace };
    assert_eq!(moves::settled(&image, &asked, &ends, answer), Err("told"));
}

macro_rules! alone {
    ($($name:ident: $rules:literal, $word:literal, $ends:expr => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(answer($rules, "a/secret", $word, $ends, false), $expected);
        }
    )*};
}

alone! {
    a_file_replaces_alone: ".:w", "replace", OLD => "alone";
    a_file_that_may_not_replace_goes_alone: ".:cd", "replace", OLD => "alone and new, else u";
    a_file_that_need_not_replace_goes_alone: ".:cd", "keep", OLD => "alone";
    a_file_does_not_go_alone_where_it_may_not: ".:r", "replace", NEW => "tell d and -, no";
}

macro_rules! questions {
    ($($name:ident: $prompts:literal, $ends:expr, $consents:literal => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(answer(".:w", $prompts, "replace", $ends, $consents), $expected);
        }
    )*};
}

questions! {
    nothing_leaves_what_is_asked_about: "a", NEW, true => "tell cud and -, no";
    asks_about_the_destination: "b", NEW, true => "ask c and -, go";
    asks_about_both_at_once: "a b", NEW, true => "ask d and c, go";
    a_refusal_is_one: "a b", NEW, false => "ask d and c, no";
    nothing_leaves_it_with_its_directory: "a/secret", DIRECTORY, true => "tell d and -, no";
    a_file_takes_nothing_along: "a/secret", NEW, false => "alone";
    a_file_takes_nothing_to_what_is_asked_about: "!a/secret b", NEW, true => "ask c and -, alone";
}
