//! Generates `docs/tools.md` from the commands that [`crate::tools`] runs, and checks that the page says what they give.
//!
//! `UPDATE_DOCS=1` writes the page anew (`make tools`). Otherwise a command counts if the page has it and its programs are
//! here; `make test` takes every second one that is not slow.

use std::fmt::Write as _;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::run::is_whole;
use crate::tools::{Typed, User, commands, page};

const INTRODUCTION: &str = "# Everyday tools

`make tools` writes this page. It runs each command in a fresh checkout in a fresh home, bare and then as
`jp-confine -- COMMAND` without options, unless the line names some. Nothing is typed, and there is no terminal.
It compares exit status, output and messages, and the files that the command was to write. *same* alone means that none
of these differ and that jp-confine prints nothing. Otherwise the cell has the line that jp-confine prints after the run,
or the first denial with the suggestion.
";

/// The results of a command as an ordinary user and as root.
#[derive(Clone, Debug, Default)]
struct Cells {
    ordinary: Option<String>,
    root: Option<String>,
}

impl Cells {
    /// The results that the page has for a command.
    fn on(page: &str, title: &str) -> Option<Self> {
        let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {title} | ")))?;
        let (ordinary, root) = row.strip_suffix(" |")?.split_once(" | ")?;
        Some(Self { ordinary: Some(ordinary.to_owned()), root: Some(root.to_owned()) })
    }

    fn is_same(&self) -> bool {
        [&self.ordinary, &self.root].into_iter().all(|cell| cell.as_deref() == Some("same"))
    }
}

fn is_update() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// The results of all commands. Those that do not run here keep the results of the page.
fn results(commands: &[Typed], page: &str) -> Vec<Option<Cells>> {
    let all: Vec<Mutex<Option<Cells>>> =
        commands.iter().map(|it| Mutex::new(Cells::on(page, &it.title()))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((number, (command, cells))) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            Some(number).zip(commands.get(number).zip(all.get(number)))
        } {
            let mut cells = cells.lock().expect("no panic");
            let is_in_sample = !command.slow && number.is_multiple_of(2);
            let is_asked = is_update() || cells.is_some() && (is_whole() || is_in_sample);
            if command.lacks().is_some() || !is_asked {
                continue;
            }
            let cells = cells.get_or_insert_default();
            cells.ordinary = Some(command.result(User::Ordinary));
            if rustix::process::geteuid().is_root() {
                cells.root = Some(command.result(User::Root));
            }
        }
    };
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    all.into_iter().map(|cells| cells.into_inner().expect("no panic")).collect()
}

fn document(commands: &[Typed], results: &[Option<Cells>]) -> String {
    let mut text = INTRODUCTION.to_owned();
    let had = results.iter().flatten();
    let (count, same) = (had.clone().count(), had.filter(|cells| cells.is_same()).count());
    let _ = writeln!(
        text,
        "\nOf {count} commands, {same} are the same for an ordinary user and for root."
    );
    let mut left_out = String::new();
    let mut group = "";
    for (command, cells) in commands.iter().zip(results) {
        let title = command.title();
        let Some(Cells { ordinary, root }) = cells else {
            let _ = writeln!(left_out, "- {title}");
            continue;
        };
        if command.group != group {
            group = &command.group;
            let _ =
                writeln!(text, "\n## {group}\n\n| command | ordinary user | root |\n|---|---|---|");
        }
        let [ordinary, root] = [ordinary, root].map(|cell| cell.as_deref().unwrap_or("not tried"));
        let _ = writeln!(text, "| {title} | {ordinary} | {root} |");
    }
    if !left_out.is_empty() {
        let _ = write!(text, "\n## Left out\n\nA program of these was missing:\n\n{left_out}");
    }
    text
}

/// `UPDATE_DOCS=1` writes the document anew.
#[test]
fn commands_give_what_the_page_says() {
    let kept = fs::read_to_string(page()).unwrap_or_default();
    let commands = commands();
    let results = results(&commands, &kept);
    let made = document(&commands, &results);
    if is_update() {
        fs::write(page(), &made).expect("the document");
        return;
    }
    let differences = diffy::create_patch(&kept, &made);
    assert!(made == kept, "look at it, then run `make tools`:\n{differences}");
}

#[test]
fn no_two_commands_have_one_title() {
    let mut titles: Vec<String> = commands().iter().map(Typed::title).collect();
    let count = titles.len();
    titles.sort();
    titles.dedup();
    assert_eq!(titles.len(), count);
}
