//! Which layer holds the confined programs, and where one holder answers differently by its nature.
//!
//! One table of rows runs against every holder. `tests/layers/differences.txt` names the rows that a holder cannot
//! answer as the others do, with the reason. Everything else must come out the same.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::thread;

use crate::run::{Mode, is_whole, note};

/// A test that runs once with each holder: `#[apply(row!)] fn name() { … }`.
macro_rules! row {
    ($(#[$attribute:meta])* fn $name:ident() $body:block) => {
        $(#[$attribute])*
        #[test]
        fn $name() {
            crate::layers::with_each_holder(|| $body);
        }
    };
}
pub(crate) use row;

/// Runs a row with each holder in turn. Meanwhile, [`Holder::under_test`] is that holder. In a sample, only two take
/// turns.
pub(crate) fn with_each_holder(mut row: impl FnMut()) {
    IS_ASKED_FOR.set(false);
    DONE.take();
    for holder in Holder::to_test() {
        // A row that never asks who holds it would be the same again: the options are those of the first holder.
        let is_the_same = holder == Holder::Supervisor && !IS_ASKED_FOR.get();
        if !is_the_same || Holder::chosen().is_some() {
            let _turn = Turn::of(holder);
            row();
        }
    }
}

/// What `step` results in, which only the first holder of a row takes in each file system. `name` tells the steps of a
/// row apart.
pub(crate) fn once_in_a_row(name: &str, step: impl FnOnce() -> bool) -> bool {
    let name = format!("{name} in {}", Holder::current().folder().display());
    let done = DONE.with_borrow(|done| done.get(&name).copied());
    done.unwrap_or_else(|| {
        let result = step();
        DONE.with_borrow_mut(|done| done.insert(name, result));
        result
    })
}

/// The steps of a long table that the holder whose turn it is takes. In a sample, each step is taken by one of `holders`.
pub(crate) fn share<T>(
    holders: &'static [Holder],
    steps: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = T> {
    let holder = Holder::under_test();
    let in_turn = Holder::to_test();
    let sharing: Vec<_> = holders.iter().filter(|one| in_turn.contains(one)).collect();
    let turn = sharing.iter().position(|one| **one == holder);
    let all = sharing.len();
    let is_taken =
        move |step: u32| is_whole() || turn.is_some_and(|turn| mixed(step) % all == turn);
    (0..).zip(steps).filter(move |(step, _)| is_taken(*step)).map(|(_, step)| step)
}

/// A number without the pattern of the steps' own. Tables list sets of rights in order, so that every second step has one
/// right more.
fn mixed(step: u32) -> usize {
    // Multiplicative hashing: Knuth, The Art of Computer Programming, section 6.4.
    (step.wrapping_mul(2_654_435_769) >> 16) as usize
}

#[test]
fn every_holder_has_steps_of_every_kind() {
    for holders in [2, 3, 4] {
        for (right, with) in (0..5).flat_map(|right| [(right, 0), (right, 1)]) {
            let steps = (0..1024).filter(|step| step >> right & 1 == with);
            let taken: BTreeSet<_> = steps.map(|step| mixed(step) % holders).collect();
            assert_eq!(taken.len(), holders, "right {right}: {with}");
        }
    }
}

/// With the mediation off, fails at once in all rows of a module but one. Each of them shows first that its attack works
/// bare, and then expects another answer.
pub(crate) fn leave_out_like_rows() {
    static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if Mode::under_test() == Mode::Confined {
        return;
    }
    let name = thread::current().name().unwrap_or_default().to_owned();
    let module = name.split("::").next().unwrap_or_default().to_owned();
    let is_first = TAKEN.lock().is_ok_and(|mut taken| taken.insert(module));
    if !is_first {
        note("left out");
        panic!("like another row of the module");
    }
}

thread_local! {
    /// The holder whose turn it is in the row of this thread.
    static TURN: Cell<Holder> = Cell::new(Holder::chosen().unwrap_or(Holder::Layers));
    /// Whether that row has asked for it.
    static IS_ASKED_FOR: Cell<bool> = const { Cell::new(false) };
    /// The steps of that row that no other holder takes again.
    static DONE: RefCell<BTreeMap<String, bool>> = const { RefCell::new(BTreeMap::new()) };
}

/// One holder's turn. If the row fails in it, this says so.
struct Turn(Holder);

impl Turn {
    fn of(holder: Holder) -> Self {
        TURN.set(holder);
        Self(holder)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if thread::panicking() && Mode::under_test() == Mode::Confined {
            note(&format!("failed with JP_CONFINE_TEST_HOLDER={}", self.0.name()));
        }
    }
}

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
    pub(crate) const ALL: [Self; 4] = [Self::Layers, Self::Library, Self::Supervisor, Self::Strict];

    /// Those that confine static programs.
    pub(crate) const OF_STATIC: [Self; 3] = [Self::Layers, Self::Supervisor, Self::Strict];

    /// The holder whose turn it is. A row that asks is run with the supervisor, too.
    pub(crate) fn under_test() -> Self {
        IS_ASKED_FOR.set(true);
        TURN.get()
    }

    /// The holders that take turns in each row.
    fn to_test() -> Vec<Self> {
        match Self::chosen() {
            Some(holder) => vec![holder],
            None if Mode::under_test() == Mode::Bare => vec![Self::Layers],
            None if is_whole() => Self::ALL.to_vec(),
            None => vec![Self::Layers, Self::of_sample()],
        }
    }

    /// The holder that takes its turn beside the layers in a sample. It is always the same for a row, so that a change
    /// makes only those rows fail that it breaks.
    fn of_sample() -> Self {
        let [_, others @ ..] = Self::ALL;
        let thread = thread::current();
        let name = thread.name().unwrap_or_default();
        others[name.bytes().map(usize::from).sum::<usize>() % others.len()]
    }

    /// The only holder to test, by `JP_CONFINE_TEST_HOLDER`: `layers`, `library`, `supervisor` or `strict`.
    fn chosen() -> Option<Self> {
        let name = std::env::var("JP_CONFINE_TEST_HOLDER").ok()?;
        let found = Self::ALL.into_iter().find(|holder| holder.name() == name);
        Some(found.unwrap_or_else(|| panic!("JP_CONFINE_TEST_HOLDER={name}")))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Layers => "layers",
            Self::Library => "library",
            Self::Supervisor => "supervisor",
            Self::Strict => "strict",
        }
    }

    /// The holder whose turn it is, for what does not change the row.
    pub(crate) fn current() -> Self {
        TURN.get()
    }

    /// The folder for its trees: `JP_CONFINE_TEST_FOLDER`, and for all holders but the first `JP_CONFINE_TEST_MEMORY`, if
    /// these are set. By default it is outside `/tmp`, in whose place a run may see another directory, and in no
    /// repository, which would be the workspace. Ordinary users must be able to enter the folder of root.
    pub(crate) fn folder(self) -> PathBuf {
        let memory = std::env::var_os("JP_CONFINE_TEST_MEMORY").filter(|_| self != Self::Layers);
        let named = memory.or_else(|| std::env::var_os("JP_CONFINE_TEST_FOLDER"));
        named.map_or_else(usual_folder, PathBuf::from)
    }

    /// The options that select the holder whose turn it is.
    pub(crate) fn options() -> &'static [&'static str] {
        match Self::current() {
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

/// Where the trees are by default. That is neither below the home, which the product protects, nor in `/tmp`, where a
/// run sees a directory of its own.
fn usual_folder() -> PathBuf {
    let user = rustix::process::geteuid();
    if user.is_root() {
        return "/var/lib".into();
    }
    let of_user = || PathBuf::from(format!("/run/user/{}", user.as_raw()));
    std::env::var_os("XDG_RUNTIME_DIR").map_or_else(of_user, PathBuf::from)
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
