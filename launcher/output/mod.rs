//! Prints all that the launcher writes to standard output and standard error. No other module prints there.

pub(crate) mod event_log;
mod event_sink;
mod event_socket;
pub(crate) mod event_target;
mod usage_words;
pub(crate) mod window_title;

use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use rustix::io::Errno;

use self::usage_words::words;
pub(crate) use self::window_title::Screen;
use crate::error::Failure;
use crate::sys::terminals::show_again;
use crate::sys::{signals, streams};
use crate::text::quote::{path, plain_json, printable};
use crate::text::wrap::folded;

/// Start of every message.
pub(crate) const NAME: &str = "jp-confine:";

/// Whether messages have terminal colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) coloured: bool,
}

/// Sets when there are colours. Otherwise, a terminal has them unless `NO_COLOR`, `CLICOLOR` or `TERM` say that it has
/// none, and `CLICOLOR_FORCE` gives them to files, too.
pub(crate) fn set_color(mode: Option<clap::ColorChoice>) {
    let choice = match mode {
        None | Some(clap::ColorChoice::Auto) => return,
        Some(clap::ColorChoice::Always) => ColorChoice::Always,
        Some(clap::ColorChoice::Never) => ColorChoice::Never,
    };
    choice.write_global();
}

/// The sequence that clears a terminal from the cursor on. Empty if the terminal does not take sequences.
pub(crate) fn clearing() -> &'static str {
    if knows_sequences() { "\x1b[J" } else { "" }
}

/// Whether the terminal takes escape sequences (`console_codes(4)`).
fn knows_sequences() -> bool {
    let terminal = std::env::var_os("TERM").unwrap_or_default();
    !terminal.is_empty() && terminal != "dumb"
}

impl Style {
    /// Without colours.
    pub(crate) const PLAIN: Self = Self { coloured: false };

    /// For messages: with colours as [`set_color`] was told, or else as the terminal and the variables have it.
    pub(crate) fn of_stderr() -> Self {
        Self::of(&io::stderr())
    }

    /// The same for results.
    pub(crate) fn of_stdout() -> Self {
        Self::of(&io::stdout())
    }

    fn of(stream: &impl RawStream) -> Self {
        Self { coloured: AutoStream::choice(stream) != ColorChoice::Never }
    }

    pub(crate) fn name(self) -> String {
        self.wrap("1", NAME)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// For what a person may type next.
    pub(crate) fn bright(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Colours the text but not its indent, since lines are broken by their indent.
    fn wrap(self, code: &str, text: &str) -> String {
        if !self.coloured {
            return text.to_owned();
        }
        let words = text.trim_start_matches(' ');
        let indent = text.len() - words.len();
        format!("{:indent$}\x1b[{code}m{words}\x1b[0m", "")
    }
}

/// Takes the replies of a server, unchanged.
pub(crate) fn replies() -> io::StdoutLock<'static> {
    io::stdout().lock()
}

/// A failure as it is printed, for programs.
pub(crate) fn in_words(failure: &Failure) -> String {
    explanation(failure, Style::PLAIN).trim_end().to_owned()
}

/// Prints why nothing was run.
pub(crate) fn failure(failure: &Failure) {
    told(&explanation(failure, Style::of_stderr()));
}

fn explanation(failure: &Failure, style: Style) -> String {
    let name = style.name();
    match failure {
        Failure::Usage(error)
            if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            format!("{}\n", error.render().to_string().trim_end())
        }
        Failure::Usage(error) => {
            let (message, advice) = words(error);
            format!("{name} {}\n  {}\n", lines(&message), style.bright(&lines(&advice)))
        }
        Failure::Configuration(diagnostic) => format!("{}\n", diagnostic.render(style.coloured)),
        Failure::Own { message, advice } => {
            let advice = advice.iter().map(|advice| format!("  {}\n", lines(advice)));
            format!("{name} {}\n{}", lines(message), advice.collect::<String>())
        }
        Failure::NotFound { program } => {
            let program = printable(program.as_os_str().as_bytes());
            format!("{name} {program}: not found\n")
        }
        Failure::NotExecutable { path, reason } => {
            let shown = printable(path.as_os_str().as_bytes());
            format!("{name} {shown} cannot be run: {reason}\n")
        }
    }
}

/// `text` with each line made safe for a terminal, whatever names are in it.
fn lines(text: &str) -> String {
    text.lines().map(path).collect::<Vec<_>>().join("\n")
}

/// Prints a warning, after which the run goes on. `text` stays one line, whatever names are in it.
pub(crate) fn warning(text: &str) {
    say(&format!("warning: {}", printable(text.as_bytes())));
}

/// Prints a choice that was made (`-v`). `text` stays one line, whatever names are in it.
pub(crate) fn note(text: &str) {
    say(&printable(text.as_bytes()));
}

/// Prints a problem with the program that was run. `text` stays one line, whatever is in it.
pub(crate) fn problem(text: &str) {
    say(&printable(text.as_bytes()));
}

/// Prints one line, broken on a terminal if it is too long.
fn say(text: &str) {
    told(&format!("{} {text}\n", Style::of_stderr().name()));
}

/// Takes a tool's diagnostics, unchanged.
pub(crate) fn diagnostics() -> impl io::Write {
    io::stderr()
}

/// Prints a block of lines, with `jp-confine:` before the first.
pub(crate) fn block_of(lines: &[String]) {
    told(&format!("{} {}\n", Style::of_stderr().name(), lines.join("\n  ")));
}

/// Whether standard error is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Prints lines for people on standard output, broken on a terminal if they are too long.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() { output(&folded(text)) } else { output(text) }
}

/// Prints the result of a command on standard output, unchanged.
pub(crate) fn output(text: &str) -> Result<(), Failure> {
    output_to(&mut io::stdout().lock(), text)
}

/// Like [`output`], to `out`, for callers that keep standard output apart.
pub(crate) fn output_to(out: &mut impl io::Write, text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    answer(|| out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints the text of `--help` or `--version`.
pub(crate) fn help(asked: &clap::Error) -> Result<(), Failure> {
    let is_ended = asked.render().to_string().ends_with('\n');
    answer(|| {
        asked.print()?;
        if is_ended { Ok(()) } else { io::stdout().write_all(b"\n") }
    })
}

/// Prints `value` as JSON, or else in the words for people.
pub(crate) fn result<T: serde::Serialize>(
    as_json: bool,
    value: &T,
    words: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    if as_json { json(value) } else { text(&words(value)) }
}

/// Prints `value` as JSON for people and programs.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::own(format!("no JSON: {error}")))?;
    output(&format!("{}\n", plain_json(&text)))
}

/// Prints a result. If it cannot be written, that is a failure, unless the reader closed the pipe.
fn answer(print: impl FnOnce() -> io::Result<()>) -> Result<(), Failure> {
    signals::survive_limit_of_length();
    let closed = streams::output_was_closed().then(|| Err(Errno::BADF.into()));
    match closed.unwrap_or_else(print) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::own(format!("the answer cannot be written to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints lines for people on standard error, broken on a terminal if they are too long.
pub(crate) fn told(text: &str) {
    if is_terminal() { stderr(&folded(text)) } else { stderr(text) }
}

/// Writes all in one write, so that lines of concurrent programs do not get in between.
fn stderr(text: &str) {
    show_again(io::stderr());
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
