//! Which layer holds the confined programs, and where one holder answers differently by its nature.
//!
//! One table of rows runs against every holder. `tests/layers/differences.txt` names the rows that a holder cannot
//! answer as the others do, with the reason. Everything else must come out the same.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::OnceLock;
use std::thread;

use crate::run::{Mode, note};

/// The layers that must hold the confined programs. By default, the product chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// All layers, as users have them.
    Layers,
    /// The preload library alone.
    Library,
    /// All layers, but the library cannot be in the attack program.
    Supervisor,
    /// Layers that believe nobody: everything that the library judged is judged again.
    Strict,
}

impl Holder {
    /// By `JP_CONFINE_TEST_HOLDER`: `library`, `supervisor` or `strict`.
    pub(crate) fn under_test() -> Self {
        let Ok(name) = std::env::var("JP_CONFINE_TEST_HOLDER") else { return Self::Layers };
        let named = [Self::Library, Self::Supervisor, Self::Strict];
        let found = named.into_iter().find(|holder| holder.name() == name);
        found.unwrap_or_else(|| panic!("JP_CONFINE_TEST_HOLDER={name}"))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Layers => "layers",
            Self::Library => "library",
            Self::Supervisor => "supervisor",
            Self::Strict => "strict",
        }
    }

    /// The options that select it.
    pub(crate) const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Layers | Self::Supervisor => &[],
            Self::Library => &["--enforce=cooperative"],
            Self::Strict => &["--enforce=strict"],
        }
    }

    /// Whether `answer` is one of `expected`, which are joined by `|`.
    ///
    /// Landlock has one answer for all its denials. Only the library, and the supervisor for calls that come to it,
    /// answer that hidden areas do not exist.
    pub(crate) fn accepts(self, expected: &str, answer: &str) -> bool {
        let is_expected = |answer: &str| expected.split('|').any(|one| one == answer);
        is_expected(answer)
            || self == Self::Supervisor && answer == "EACCES" && is_expected("ENOENT")
    }
}

/// A row that one holder answers in its own way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Difference {
    holders: &'static str,
    pub(crate) test: &'static str,
    /// The answer of the attack program there. `None` if it is only known to fail.
    pub(crate) answer: Option<&'static str>,
    pub(crate) reason: &'static str,
}

impl Difference {
    /// The difference of the running test with the holder under test, if there is one. It is printed.
    pub(crate) fn of_this_test() -> Option<Self> {
        if Mode::under_test() == Mode::Bare {
            return None;
        }
        let holder = Holder::under_test().name();
        let current = thread::current();
        let test = current.name()?;
        let mut all = differences().iter();
        let found = all.find(|difference| difference.test == test && difference.is_of(holder))?;
        note(&format!("differs with {holder}: {}", found.reason));
        Some(*found)
    }

    /// Whether it applies to the holder of that name.
    pub(crate) fn is_of(&self, holder: &str) -> bool {
        self.holders.split(", ").any(|one| one == holder)
    }
}

/// All differences.
pub(crate) fn differences() -> &'static [Difference] {
    static ALL: OnceLock<Vec<Difference>> = OnceLock::new();
    ALL.get_or_init(|| parse(include_str!("../layers/differences.txt")))
}

/// Parses lines of `test` or `test=answer`, each below a line `## holders: reason`.
fn parse(table: &'static str) -> Vec<Difference> {
    let mut heading = None;
    let mut found = Vec::new();
    for line in table.lines() {
        if let Some(line) = line.strip_prefix("## ") {
            heading = Some(line.split_once(": ").expect("holders and a reason"));
        } else if !line.starts_with('#') {
            for row in line.split_whitespace() {
                let (holders, reason) = heading.expect("a heading above the first row");
                let (test, answer) =
                    row.split_once('=').map_or((row, None), |(name, answer)| (name, Some(answer)));
                found.push(Difference { holders, test, answer, reason });
            }
        }
    }
    found
}

/// The tests of this program, `module::name`.
pub(crate) fn all_tests() -> BTreeSet<String> {
    let program = std::env::current_exe().expect("this program");
    let list = Command::new(program).args(["--list", "--format=terse"]).output().expect("a list");
    let list = String::from_utf8(list.stdout).expect("UTF-8");
    list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

#[test]
fn differences_are_of_tests_and_holders_that_exist() {
    let tests = all_tests();
    let mut seen = BTreeSet::new();
    for Difference { holders, test, .. } in differences() {
        assert!(tests.contains(*test), "there is no test {test}");
        for holder in holders.split(", ") {
            let known = [Holder::Library, Holder::Supervisor, Holder::Strict];
            assert!(known.iter().any(|known| known.name() == holder), "{test}: {holder}?");
            assert!(seen.insert((test, holder)), "{test} is there twice for {holder}");
        }
    }
}
