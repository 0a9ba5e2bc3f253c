//! Changes policy files for a person: shows the difference, asks, and writes. Used by `allow` and `mounts`.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::{fs, io};

use diffy::DiffOptions;

use crate::cli::Options;
use crate::config::decode::{self, Origin, Trust};
use crate::config::document::Notation;
use crate::config::edit::change::{self, Change};
use crate::error::Failure;
use crate::error::source::Source;
use crate::files::{self, WritePlace};
use crate::host::context::Context;
use crate::output::{self, Style};
use crate::prompt::terminal::Terminal;
use crate::prompt::turns::PromptQueue;
use crate::text::quote;

/// A policy file that is to be changed.
#[derive(Debug)]
pub(crate) struct PolicyEdit {
    place: WritePlace,
    before: String,
    after: String,
}

impl PolicyEdit {
    /// The edit of `file` by `change`, which gets the current text: empty if there is no such file.
    ///
    /// # Errors
    /// The file cannot be read or written, `change` fails, or the next run could not read the result.
    pub(crate) fn of(
        context: &Context,
        file: &Path,
        change: impl FnOnce(&Rc<Source>, Notation) -> Result<String, Failure>,
    ) -> Result<Self, Failure> {
        if let Some(parent) = context.configuration().as_deref().and_then(Path::parent)
            && file.parent() == Some(parent)
        {
            fs::create_dir_all(parent)?;
        }
        let place = WritePlace::of(&context.cwd, file).map_err(|why| why.failure("-p", file))?;
        let before = match files::read_own(place.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => String::from_utf8(read?).map_err(io::Error::other)?,
        };
        let source = Rc::new(Source::new(&file.to_string_lossy(), before));
        let notation = Notation::named(file).unwrap_or(Notation::Toml);
        let after = change(&source, notation)?;
        // Each is read as the next run will read it.
        let result = Rc::new(Source::new(&source.name, after));
        decode::file(&result, notation, Origin { trust: Trust::User, is_named: true })
            .map_err(Failure::Configuration)?;
        Ok(Self { place, before: source.text.clone(), after: result.text.clone() })
    }

    /// Writes the file. Returns the line that says so.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&self) -> Result<String, Failure> {
        let shown = quote::place(self.place.path());
        let written = self.place.put(self.after.as_bytes(), true);
        written.map_err(|error| Failure::own(format!("{shown} cannot be written: {error}")))?;
        Ok(format!("wrote {shown}\n"))
    }

    /// The difference, as `diff -u` shows it.
    fn diff(&self, style: Style) -> String {
        let name = quote::place(self.place.path());
        let mut options = DiffOptions::new();
        options.set_original_filename(name.clone()).set_modified_filename(name);
        let patch = options.create_patch(&self.before, &self.after).to_string();
        let line = |line: &str| {
            let line = quote::printable(line.as_bytes());
            let shown = if line.starts_with('+') { style.good(&line) } else { line };
            shown + "\n"
        };
        patch.lines().filter(|line| !line.starts_with('\\')).map(line).collect()
    }
}

/// The edits of the files that these changes name.
///
/// # Errors
/// As [`PolicyEdit::of`].
pub(crate) fn edits(context: &Context, changes: Vec<Change>) -> Result<Vec<PolicyEdit>, Failure> {
    let mut files: BTreeMap<String, Vec<Change>> = BTreeMap::new();
    for change in changes {
        files.entry(change.file.clone()).or_default().push(change);
    }
    let edit = |(file, changes): (String, Vec<Change>)| {
        PolicyEdit::of(context, Path::new(&file), |source, notation| {
            change::changed(source, notation, &changes)
        })
    };
    files.into_iter().map(edit).collect()
}

/// The differences that the edits make, as `diff -u` shows them.
pub(crate) fn diffs(edits: &[PolicyEdit], style: Style) -> String {
    edits.iter().map(|edit| edit.diff(style)).collect()
}

/// Writes all of them. Returns the lines that say so.
///
/// # Errors
/// As [`PolicyEdit::write`].
pub(crate) fn write_all(edits: &[PolicyEdit]) -> Result<String, Failure> {
    edits.iter().map(PolicyEdit::write).collect()
}

/// Asks the person at the terminal. After a no it says that nothing was written.
///
/// # Errors
/// Nobody can be asked.
pub(crate) fn is_confirmed(context: &Context, options: &Options) -> Result<bool, Failure> {
    let turns = PromptQueue::of_run(context, options);
    let Some(mut terminal) = Terminal::open(&turns, options.non_interactive) else {
        return Err(Failure::advised("nobody can be asked here", "to write it unasked: --yes"));
    };
    let wanted = terminal.confirm_unless(&mut || false, "Write this?").unwrap_or(false);
    if !wanted {
        output::note("nothing was written");
    }
    Ok(wanted)
}
