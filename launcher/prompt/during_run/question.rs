//! Builds prompts and their text for the screen.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::Denial;
use jp_confine_engine::image::Image;
use jp_confine_engine::rule_name::FileLine;
use jp_confine_engine::tier::Restraint;
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::views;

use crate::prompt::choices::{Choices, Reply};
use crate::prompt::confirmation_word::Countersign;
use crate::prompt::during_run::subject::Subject;
use crate::prompt::during_run::wish::Wish;
use crate::prompt::turns::PromptQueue;
use crate::prompt::visibility::Size;
use crate::sys::path::path_of;
use crate::text::quote::{self, LONGEST};
use crate::text::wrap;

/// The most prompts shown together. An answer only counts for text that can be read.
const TOGETHER: usize = 6;
/// The rows and columns assumed if the terminal does not report them.
const USUAL: Size = (24, 80);
/// The most characters of a program's name. A longer name could fill lines of its own.
const PROGRAM: usize = 40;
/// The most characters of each path if a prompt does not fit the screen. Tried in this order.
const SHORTER: [usize; 3] = [120, 60, 30];

/// The facts that every prompt depends on.
#[derive(Clone, Debug)]
pub(crate) struct PromptContext {
    /// Whether a person can be asked.
    pub(crate) interactive: bool,
    /// The canonical path of the workspace.
    pub(crate) workspace: PathBuf,
    pub(crate) tiers: Tiers,
    /// The canonical path of the program that the person typed, and thereby allowed.
    pub(crate) typed: Option<PathBuf>,
    /// The queue for the terminal.
    pub(crate) turns: PromptQueue,
}

impl PromptContext {
    /// The prompt that could lift `denial` for `subject`, under the policy of `image`.
    pub(crate) fn question(
        &self,
        image: &Image<'_>,
        denial: &Denial,
        subject: Subject<'_>,
        program: Vec<u8>,
        pid: u32,
    ) -> Question {
        let Subject { path, route, other, also, file, changes } = subject;
        let file = file.filter(|_| denial.missing.contains(Capabilities::EXECUTE));
        let mut wishes = vec![Wish { file, ..self.wish(image, path, denial.missing) }];
        if !also.is_empty() {
            wishes.push(self.wish(image, other, also));
        }
        Question {
            wishes,
            via: (route != path).then(|| self.shown(&views::seen(image, route))),
            program,
            pid,
            reason: self
                .reason(denial.restraint, path_of(path), OsStr::from_bytes(route))
                .of(changes),
            warning: matches!(denial.restraint, Some(Restraint::Sensitive | Restraint::Autorun)),
            is_listed: self.is_listed(path_of(path), OsStr::from_bytes(route)),
        }
    }

    fn is_listed(&self, path: &Path, route: &OsStr) -> bool {
        let has = |list| self.tiers.reported(list, path, Path::new(route)).is_some();
        has(Restraint::Sensitive) || has(Restraint::Autorun)
    }

    fn wish(&self, image: &Image<'_>, path: &[u8], wanted: Capabilities) -> Wish {
        let seen = views::seen(image, path);
        let backing = (*seen != *path).then(|| path.to_owned());
        Wish { path: path.to_owned(), shown: self.shown(&seen), backing, wanted, file: None }
    }

    /// Makes a path inside the workspace relative to it.
    fn shown(&self, path: &[u8]) -> Vec<u8> {
        let place = path_of(path);
        let inside = place.strip_prefix(&self.workspace).ok();
        let shown = inside.filter(|inside| !inside.as_os_str().is_empty()).unwrap_or(place);
        shown.as_os_str().as_bytes().to_owned()
    }

    fn reason(&self, restraint: Option<Restraint>, path: &Path, route: &OsStr) -> PromptReason {
        let route = Path::new(route);
        let pattern = restraint.and_then(|why| self.tiers.reported(why, path, route));
        let words = match (restraint, pattern) {
            (Some(Restraint::Sensitive), Some(pattern)) => {
                format!("sensitive: `{}`, and no rule names it", pattern.text)
            }
            (Some(Restraint::Autorun), _) => {
                format!("auto-run file: {}", self.tiers.obeyed(path, route))
            }
            (_, Some(pattern)) => format!("prompt_paths has `{}`", pattern.text),
            _ => "file_policy has `default = \"prompt\"`".to_owned(),
        };
        let place = pattern.and_then(|pattern| pattern.place.as_ref());
        let within = |place: &FileLine| quote::within(&format!("({place})"), &self.workspace);
        PromptReason { words, place: place.map(within) }
    }
}

/// The reason for asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptReason {
    words: String,
    /// The file and line of the rule, in brackets.
    place: Option<String>,
}

impl PromptReason {
    /// Adds the changes to a Git configuration.
    fn of(self, changes: &str) -> Self {
        if changes.is_empty() {
            return self;
        }
        Self {
            words: format!("{}; it changes {}", self.words, quote::printable(changes.as_bytes())),
            ..self
        }
    }
}

/// One request for consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// The paths and the wanted rights. A move has two.
    pub(crate) wishes: Vec<Wish>,
    /// The first path as the person sees it, if a symlink leads there (spec §9.5).
    pub(crate) via: Option<Vec<u8>>,
    /// The program that asks.
    pub(crate) program: Vec<u8>,
    /// The process, whichever of its threads asks.
    pub(crate) pid: u32,
    /// Why it is asked about.
    pub(crate) reason: PromptReason,
    /// It is about a sensitive path, of which the person is warned once.
    pub(crate) warning: bool,
    /// The list of sensitive paths or of auto-run files has the path, whatever else asks about it.
    pub(crate) is_listed: bool,
}

impl Question {
    /// Whether an answer to one is an answer to the other. The prompt names the process, so it must be the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.pid == other.pid && self.program == other.program && self.wishes == other.wishes
    }

    /// Whether one reason is given for both.
    pub(crate) fn is_for_same_reason(&self, other: &Self) -> bool {
        self.reason == other.reason
            && (self.warning, self.is_listed) == (other.warning, other.is_listed)
    }

    /// The same, about further paths.
    pub(super) fn with(&self, further: &[Wish]) -> Self {
        Self { wishes: [&self.wishes, further].concat(), ..self.clone() }
    }

    /// The directory of its only path, as people see it, if one answer may be for all below.
    fn directory(&self) -> Option<Vec<u8>> {
        let [wish] = self.wishes.as_slice() else { return None };
        let is_top = path_of(&wish.path).parent().is_none_or(|it| it.parent().is_none());
        if self.is_listed || is_top || self.is_start() {
            return None;
        }
        let directory = path_of(&wish.shown).parent()?;
        let is_workspace = directory.as_os_str().is_empty();
        Some(if is_workspace { b".".to_vec() } else { directory.as_os_str().as_bytes().to_vec() })
    }

    /// Whether it is about starting the file at that path.
    pub(crate) fn is_start(&self) -> bool {
        self.wishes.iter().any(|wish| wish.file.is_some())
    }
}

/// The answers to choose from. A warning always holds for the run, and a rule in the policy can stand for it. A pattern
/// that asks can only be changed where it is written.
fn choices(questions: &[&Question]) -> Choices {
    let are_warnings = questions.iter().all(|question| question.warning);
    let choices = if are_warnings {
        Choices::of([(Reply::Yes, "yes, in this run")])
            .and(Reply::Always, "yes, in this run, and for good: jp-confine allow follows it")
    } else {
        Choices::of([(Reply::Yes, "yes, once"), (Reply::Run, "yes, in this run")])
    };
    let directory = match questions {
        [question] => question.directory(),
        _ => None,
    };
    let choices = match directory {
        Some(directory) => {
            let directory = quote::short_name(&directory);
            choices.and(Reply::Below, format!("yes, in this run, for all below {directory}"))
        }
        None => choices,
    };
    let choices =
        if questions.len() > 1 { choices.and(Reply::Each, "each by itself") } else { choices };
    choices.and(Reply::Skip, "no, once: another try asks again")
}

/// The prompts that are visible at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Screenful {
    /// How many prompts.
    pub(super) count: usize,
    /// Their text, and a line with the answers on offer.
    pub(super) text: String,
    pub(super) choices: Choices,
}

impl Screenful {
    /// Selects the first prompts that together fit a terminal of this size below `sign_words`. The others are asked
    /// later, as are `further` ones. `None` if not even one fits.
    pub(super) fn of(
        questions: &[&Question],
        further: usize,
        size: Option<Size>,
        sign_words: &str,
    ) -> Option<Self> {
        let (rows, columns) =
            size.filter(|(rows, columns)| *rows > 0 && *columns > 0).unwrap_or(USUAL);
        let first = |count: usize, longest| {
            let asked = questions.get(..count).unwrap_or_default();
            let others = questions.len() - asked.len() + further;
            let choices = choices(asked);
            Self { count, text: words(asked, others, longest) + &choices.offer(), choices }
        };
        let fits_below = |above: &str, it: &Self| {
            height(&format!("{above}{}", it.text), columns) <= usize::from(rows)
        };
        // When it is shown again, it may have a confirmation word.
        let longest_words = format!("{}\n", Countersign::LONGEST);
        let fits = |it: &Self| fits_below(&longest_words, it);
        let together = (1..=questions.len().min(TOGETHER)).map(|count| first(count, LONGEST));
        let alone = || SHORTER.map(|longest| first(1, longest));
        together
            .take_while(fits)
            .last()
            .or_else(|| alone().into_iter().find(fits))
            .or_else(|| alone().into_iter().find(|it| fits_below(sign_words, it)))
    }
}

/// How many rows a text takes. A wide character before the last column may already wrap.
fn height(text: &str, columns: u16) -> usize {
    let columns = usize::from(columns).saturating_sub(1).max(1);
    text.lines().map(|line| wrap::width(line).div_ceil(columns).max(1)).sum()
}

/// The text of the prompts and how many others wait, without the answers on offer. Shows at most `longest` characters
/// of a path.
fn words(questions: &[&Question], others: usize, longest: usize) -> String {
    let mut text = String::new();
    for Question { wishes, via, program, pid, reason, .. } in questions {
        let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let name = quote::name_within(name, PROGRAM);
        let reason = [Some(&reason.words), reason.place.as_ref()];
        let reason: Vec<String> =
            reason.iter().flatten().map(|part| quote::short(part.as_bytes())).collect();
        let mut lead = format!("jp-confine: {name} ({pid}) wants to");
        let ways = via.iter().map(Some).chain(std::iter::repeat(None));
        for (Wish { shown, backing, wanted, .. }, via) in wishes.iter().zip(ways) {
            let _ = writeln!(text, "{lead} {wanted}");
            let _ = writeln!(text, "    {}", quote::name_within(shown, longest));
            if let Some(backing) = backing {
                let _ = writeln!(text, "    seen from {}", quote::name_within(backing, longest));
            }
            if let Some(via) = via {
                let _ = writeln!(text, "    via {}", quote::name_within(via, longest));
            }
            "  and with that to".clone_into(&mut lead);
        }
        for line in wrap::fitted("  ", &reason, " ") {
            let _ = writeln!(text, "{line}");
        }
    }
    let _ = match others {
        0 => Ok(()),
        1 => writeln!(text, "  (one more question waits)"),
        others => writeln!(text, "  ({others} more questions wait)"),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::during_run::tests::question;

    fn asked(shown: &[u8], reason: &str) -> String {
        let (path, wanted) = (b"/w/f".to_vec(), Capabilities::READ);
        words(
            &[&Question {
                wishes: vec![Wish {
                    path,
                    shown: shown.to_vec(),
                    backing: None,
                    wanted,
                    file: None,
                }],
                via: None,
                program: b"/usr/bin/c\x1b[2Jat".to_vec(),
                pid: 7,
                reason: PromptReason { words: reason.to_owned(), place: None },
                warning: false,
                is_listed: false,
            }],
            0,
            LONGEST,
        )
    }

    #[test]
    fn names_and_patterns_cannot_forge_a_question() {
        let text = asked(b"a\njp-confine: b\x1bc", "prompt_paths has `**/{x,\u{1b}c\ry}`");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.chars().any(|one| one.is_control() && one != '\n'), "{text:?}");
    }

    /// A prompt shows the typed path if it is another name of the target, however it is judged.
    #[test]
    fn the_way_through_a_link_is_told() {
        let by = |route: &'static [u8]| {
            let subject = Subject::by_route(b"/w/infra/f", route);
            words(&[&question(7, subject, Capabilities::READ)], 0, LONGEST)
        };
        assert!(by(b"/w/link/f").contains("    infra/f\n    via link/f\n"), "{}", by(b"/w/link/f"));
        assert!(!by(b"/w/infra/f").contains("via"));
    }

    /// A prompt names a path as programs do, and tells where a view shows it from.
    #[test]
    fn views_are_told() {
        let subject = Subject::by_route(b"/srv/tool/f", b"/srv/tool/link");
        let text = words(&[&question(7, subject, Capabilities::READ)], 0, LONGEST);
        let lines = "    /home/u/tool/f\n    seen from /srv/tool/f\n    via /home/u/tool/link\n";
        assert!(text.contains(lines), "{text}");
    }

    /// Wrapped lines, which long names cause, count as the rows they take on the screen.
    #[test]
    fn questions_fit_the_screen() {
        let name = format!("/w/{}", "資".repeat(100));
        let of = |path: &[u8]| question(7, Subject::new(path), Capabilities::READ);
        let fitting = |path: &[u8], size| {
            Screenful::of(&[&of(path); 9], 0, size, "").map_or(0, |shown| shown.count)
        };
        for (size, short, long) in [
            (None, 6, 4),
            (Some((0, 0)), 6, 4),
            (Some((24, 80)), 6, 4),
            (Some((24, 300)), 6, 6),
            (Some((24, 30)), 3, 1),
            (Some((12, 80)), 3, 1),
            (Some((100, 80)), 6, 6),
            (Some((6, 80)), 1, 1),
            (Some((5, 80)), 1, 0),
            (Some((4, 80)), 0, 0),
            (Some((1, 1)), 0, 0),
        ] {
            assert_eq!(fitting(b"/w/f", size), short, "{size:?}");
            assert_eq!(fitting(name.as_bytes(), size), long, "{size:?}");
        }
        assert_eq!(Screenful::of(&[&of(b"/w/f")], 0, None, "").map(|shown| shown.count), Some(1));
    }

    /// The count of waiting prompts takes one line, even if none of these waits.
    #[test]
    fn how_many_wait_takes_a_line() {
        let of = question(7, Subject::new(b"/w/f"), Capabilities::READ);
        let count = |further, rows| {
            Screenful::of(&[&of; 3], further, Some((rows, 80)), "").map(|shown| shown.count)
        };
        let rows = (1..24).find(|rows| count(0, *rows) == Some(3)).expect("all fit");
        assert_eq!(count(1, rows), Some(2));
    }

    /// If one prompt does not fit the screen, its names are shortened so that its beginning stays visible.
    #[test]
    fn a_question_is_shortened_to_the_screen() {
        let name = format!("/w/{}end", "資".repeat(200));
        let asked = question(7, Subject::new(name.as_bytes()), Capabilities::READ);
        let sign_words = format!("{}\n", Countersign::LONGEST);
        let shown = |rows, sign_words| {
            Screenful::of(&[&asked], 0, Some((rows, 60)), sign_words).map(|shown| shown.text)
        };
        let whole = shown(24, "").expect("it fits");
        assert!(!whole.contains('…'), "{whole}");
        let mut shortest = 0;
        for rows in (1..24).rev() {
            let Some(text) = shown(rows, "") else { break };
            assert!(height(&text, 60) <= usize::from(rows), "{rows}: {text}");
            assert!(text.contains("'資") && text.contains("資end'"), "{text}");
            assert_eq!(
                shown(rows, &sign_words).is_some(),
                height(&format!("{sign_words}{text}"), 60) <= usize::from(rows)
            );
            shortest = rows;
        }
        let text = shown(shortest, "").expect("it was seen");
        assert!(text.contains("[… 175 characters …]"), "{text}");
        assert_eq!(height(&text, 60), usize::from(shortest), "{text}");
    }

    /// A program's name takes no lines that could be read as another prompt.
    #[test]
    fn the_name_of_a_program_is_short() {
        let program = format!("/bin/cat (1) wants to read{}    README.md", " ".repeat(90));
        let asked = Question {
            program: program.into_bytes(),
            ..question(7, Subject::new(b"/w/f"), Capabilities::READ)
        };
        let text = words(&[&asked], 0, LONGEST);
        let lead =
            "jp-confine: 'cat (1) wants to re[… 86 characters …]          README.md' (7) wants to";
        assert!(text.starts_with(lead), "{text}");
    }

    #[test]
    fn a_long_name_does_not_fill_the_screen() {
        let name = format!("begin{}end", " ".repeat(4000));
        let text = asked(name.as_bytes(), "why");
        assert!(text.len() < 400 && text.contains("begin ") && text.contains(" end"), "{text}");
        assert!(text.contains("[… 3770 characters …]"), "{text}");
    }
}
