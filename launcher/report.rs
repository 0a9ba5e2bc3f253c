//! Everything that people get to read. No other module prints.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::{Grant, GrantKind};

use crate::events::{Denial, Layer, Reason};
use crate::failure::{Failure, Refusal};

/// The longest block after a run (spec §18).
const LINES: usize = 20;

/// How many different denials are told apart; the rest is only counted.
const DISTINCT: usize = 10_000;

/// What was refused during a run, equal denials counted.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    places: HashMap<(u8, Reason, Vec<u8>, Vec<u8>), usize>,
    distinct: Vec<(Denial, u64)>,
    /// Denials beyond those told apart.
    untold: u64,
    hidden: u64,
}

/// What the block is about, beside the denials.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, named at the call")]
pub(crate) struct Circumstances<'a> {
    pub(crate) grants: &'a [Grant],
    pub(crate) workspace: &'a Path,
    /// Whether `access.fs` is declared, so that a rule can be advised.
    pub(crate) declared: bool,
    /// Whether the denials are in an event log already.
    pub(crate) logged: bool,
    pub(crate) verbose: bool,
    /// The record of denials was damaged.
    pub(crate) damaged: bool,
}

impl Denials {
    /// Counts one more. What looked absent is what an empty home would have shown too, and is only
    /// counted.
    pub(crate) fn add(&mut self, denial: Denial) {
        if denial.hidden {
            self.hidden += 1;
            return;
        }
        let key =
            (denial.missing.bits(), denial.reason, denial.path.clone(), denial.program.clone());
        if let Some(place) = self.places.get(&key) {
            if let Some((_, count)) = self.distinct.get_mut(*place) {
                *count += 1;
            }
        } else if self.distinct.len() < DISTINCT {
            self.places.insert(key, self.distinct.len());
            self.distinct.push((denial, 1));
        } else {
            self.untold += 1;
        }
    }

    /// The block for the end of a run: at most 20 lines, none when nothing was refused.
    pub(crate) fn render(&self, about: Circumstances<'_>, style: Style) -> String {
        let mut text = String::new();
        let total: u64 = self.untold + self.distinct.iter().map(|(_, count)| count).sum::<u64>();
        if total > 0 {
            let noun = if total == 1 { "denial" } else { "denials" };
            let _ = writeln!(text, "{} {total} {noun}", style.name());
        }
        // Two lines each; one for the head, one for the tail, up to two for what else is to say.
        let shown = (LINES - 4) / 2;
        for (denial, count) in self.distinct.iter().take(shown) {
            describe(&mut text, denial, *count, about, style);
        }
        let mut tail = Vec::new();
        if let Some(more) = self.distinct.len().checked_sub(shown + 1) {
            let more = more as u64 + 1 + self.untold;
            tail.push(format!("and {more} more"));
        }
        if total > 0 && !about.logged {
            tail.push("all of them, as they happen: --events FILE".to_owned());
        }
        if !tail.is_empty() {
            let _ = writeln!(text, "  {}", tail.join("; "));
        }
        if self.hidden > 0 && about.verbose {
            let names = if self.hidden == 1 { "name" } else { "names" };
            let _ = writeln!(
                text,
                "{} {} {names} in the home directory looked absent (--show-denied shows which)",
                style.name(),
                self.hidden
            );
        }
        if about.damaged {
            let _ =
                writeln!(text, "{} the record of denials is damaged; some are lost", style.name());
        }
        text
    }
}

/// One denial: what, and below it why and the way out.
fn describe(
    text: &mut String,
    denial: &Denial,
    count: u64,
    about: Circumstances<'_>,
    style: Style,
) {
    let program = denial.program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let program = if program.is_empty() { "?".to_owned() } else { printable(program) };
    let times = if count > 1 { format!(" ({count}×)") } else { String::new() };
    let path = shown(&denial.path, about.workspace);
    let asked = if denial.missing.is_empty() {
        printable(&denial.call)
    } else {
        denial.missing.to_string()
    };
    let what = style.bad(&format!("denied {asked}"));
    let layer = match denial.layer {
        Layer::Shim => "",
        Layer::Supervisor => ", stopped by the supervisor",
    };
    let _ = writeln!(text, "  {what} {path} by {program}{times}{layer}");
    let _ = writeln!(text, "    {}", style.faint(&explain(denial, about)));
}

fn explain(denial: &Denial, about: Circumstances<'_>) -> String {
    let by_itself = match denial.reason {
        Reason::Rule | Reason::Once | Reason::ThisRun => None,
        Reason::Static => {
            Some("statically linked: nothing in this run could hold it to the policy")
        }
        Reason::Foreign => Some("built for another architecture, whose system calls are refused"),
        Reason::Loader => Some("its loader is not part of the system"),
        Reason::Shim => Some("the preload library was out of reach"),
        Reason::OtherProcess => Some("it belongs to another process"),
        Reason::Namespace => Some("it would change what paths mean"),
        Reason::Internal => Some("jp-confine could not judge it"),
    };
    if let Some(reason) = by_itself {
        return reason.to_owned();
    }
    let rule = denial.rule.and_then(|rule| about.grants.get(rule));
    let why = rule.map_or_else(|| "no rule covers it".to_owned(), |grant| grant.origin.to_string());
    let path = Path::new(bytes_as_path(&denial.path));
    // A control entry also shadows what stands below it.
    let controlled =
        |grant: &&Grant| grant.kind == GrantKind::Control && path.starts_with(&grant.anchor);
    if let Some(control) = about.grants.iter().find(controlled)
        && denial.missing.intersects(Capabilities::WRITE)
    {
        return format!("{}: cannot be allowed", control.origin);
    }
    format!("{why}; allow: {}", remedy(denial, path, about))
}

/// The narrowest flag that grants what was missing, or the rule, where rules are declared.
fn remedy(denial: &Denial, path: &Path, about: Circumstances<'_>) -> String {
    let missing = denial.missing;
    if let Ok(relative) = path.strip_prefix(about.workspace)
        && about.declared
    {
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        if let Some(relative) = relative.to_str() {
            let keys: Vec<String> =
                missing.iter().map(|capability| format!("{capability} = true")).collect();
            let relative = serde_json::Value::from(relative);
            return format!("[[access.fs]] path = {relative}, {}", keys.join(", "));
        }
    }
    let mut flags = Vec::new();
    if missing.intersects(Capabilities::WRITE) {
        flags.push("-w");
    }
    if missing.contains(Capabilities::EXECUTE) {
        flags.push("-x");
    }
    if flags.is_empty() {
        flags.push("-r");
    }
    let path = quoted(&denial.path);
    let flags: Vec<String> = flags.iter().map(|flag| format!("{flag} {path}")).collect();
    format!("jp-confine {}", flags.join(" "))
}

/// `path` as a word for a shell.
fn quoted(path: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,@%=:".contains(byte);
    if path.iter().all(plain) {
        return printable(path);
    }
    match std::str::from_utf8(path) {
        Ok(text) if !text.chars().any(is_disruptive) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        _ => format!("$'{}'", escaped(path)),
    }
}

/// Workspace-relative where that is shorter for the reader.
fn shown(path: &[u8], workspace: &Path) -> String {
    let path = Path::new(bytes_as_path(path));
    let inside = path.strip_prefix(workspace).ok().filter(|rest| !rest.as_os_str().is_empty());
    printable(std::os::unix::ffi::OsStrExt::as_bytes(inside.unwrap_or(path).as_os_str()))
}

fn bytes_as_path(bytes: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

/// Text that leaves a terminal as it is: names can hold any byte but NUL and `/`.
pub(crate) fn printable(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(is_disruptive) => text.to_owned(),
        _ => escaped(bytes),
    }
}

/// Whether a character does something else than to be seen: control characters, line separators, and
/// those that turn the direction of the text around or take no room (Unicode TR 36).
fn is_disruptive(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        )
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_disruptive(character) || character == '\'' || character == '\\' {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(text, "\\x{byte:02x}");
                }
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// With or without terminal colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    coloured: bool,
}

impl Style {
    /// Colours on a terminal, unless `NO_COLOR` asks for none.
    pub(crate) fn of_stderr() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { coloured: std::io::stderr().is_terminal() && !unwanted }
    }

    fn name(self) -> String {
        self.wrap("1", "jp-confine:")
    }

    fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Says why nothing was run.
pub(crate) fn failure(failure: &Failure) {
    if let Failure::Usage(error) = failure {
        // clap knows which of its texts go to which stream.
        let _ = error.print();
        return;
    }
    let style = Style::of_stderr();
    stderr(&explanation(failure, style));
}

fn explanation(failure: &Failure, style: Style) -> String {
    let name = style.name();
    match failure {
        Failure::Usage(error) => error.to_string(),
        Failure::Configuration(diagnostic) => format!("{}\n", diagnostic.render(style.coloured)),
        Failure::Own { message, advice } => {
            let advice = advice.iter().map(|advice| format!("  {advice}\n"));
            format!("{name} {message}\n{}", advice.collect::<String>())
        }
        Failure::NotFound { program } => {
            let program = printable(std::os::unix::ffi::OsStrExt::as_bytes(program.as_os_str()));
            format!("{name} {program}: not found\n")
        }
        Failure::NotExecutable { path, reason } => {
            let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
            let path = printable(bytes);
            match reason {
                Refusal::Denied { missing, rule } => {
                    let what = style.bad(&format!("denied {missing}"));
                    let why = rule.as_ref().map_or("no rule covers it".into(), ToString::to_string);
                    let allow =
                        style.faint(&format!("{why}; allow: jp-confine -x {}", quoted(bytes)));
                    format!("{name} the program was not run\n  {what} {path}\n    {allow}\n")
                }
                Refusal::Unfit(reason) => format!("{name} {path} cannot be run: {reason}\n"),
            }
        }
    }
}

/// Says what should be known although the run goes on; `text` is one line, whatever names are in it.
pub(crate) fn warning(text: &str) {
    let style = Style::of_stderr();
    stderr(&format!("{} warning: {}\n", style.name(), printable(text.as_bytes())));
}

/// Says what was chosen (`-v`).
pub(crate) fn note(text: &str) {
    let style = Style::of_stderr();
    stderr(&format!("{} {text}\n", style.name()));
}

/// Prints the block after a run.
pub(crate) fn denials(denials: &Denials, about: Circumstances<'_>) {
    stderr(&denials.render(about, Style::of_stderr()));
}

/// Prints what was asked for. A reader that has had enough is no failure.
pub(crate) fn output(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints `value` as JSON for people and programs.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::own(format!("no JSON: {error}")))?;
    output(&format!("{text}\n"));
    Ok(())
}

/// In one write, so that the lines of concurrent programs do not get in between.
fn stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A path or other name for messages, control characters escaped.
pub(crate) fn path(name: &str) -> String {
    printable(name.as_bytes())
}

#[cfg(test)]
mod tests;
