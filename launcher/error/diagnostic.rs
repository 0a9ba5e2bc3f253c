//! Shows an error in a configuration file: file and line, the wrong bytes underlined, and what to write instead.

use std::ops::Range;
use std::rc::Rc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::error::source::Source;
use crate::text::quote;

/// Why a configuration file was rejected, and where.
#[derive(Clone, Debug)]
pub(crate) struct Diagnostic {
    title: String,
    source: Rc<Source>,
    span: Range<usize>,
    label: Option<String>,
    help: Option<String>,
}

impl Diagnostic {
    /// An error at the bytes `span` of `source`.
    pub(crate) fn at(source: &Rc<Source>, span: Range<usize>, title: impl Into<String>) -> Self {
        let span = on_characters(&source.text, span);
        Self { title: title.into(), source: Rc::clone(source), span, label: None, help: None }
    }

    /// Adds text beside the underlined bytes.
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds a suggestion of what to write instead.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The error as text without a trailing line break, with terminal colours if `coloured`.
    pub(crate) fn render(&self, coloured: bool) -> String {
        let annotation = AnnotationKind::Primary.span(self.span.clone());
        let annotation = match &self.label {
            Some(label) => annotation.label(label.as_str()),
            None => annotation,
        };
        // The renderer escapes everything but the name.
        let name = quote::path(&self.source.name);
        let snippet =
            Snippet::source(self.source.text.as_str()).path(name.as_str()).annotation(annotation);
        let mut group = Level::ERROR.primary_title(self.title.as_str()).element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let renderer = if coloured { Renderer::styled() } else { Renderer::plain() };
        renderer.decor_style(DecorStyle::Ascii).render(&[group])
    }
}

/// Widens `span` to whole characters inside `text`: parsers point at bytes, and sometimes past the end.
fn on_characters(text: &str, span: Range<usize>) -> Range<usize> {
    let floor = |mut index: usize| {
        index = index.min(text.len());
        while !text.is_char_boundary(index) {
            index -= 1;
        }
        index
    };
    let start = floor(span.start);
    let end = floor(span.end).max(start);
    if end > start { start..end } else { start..floor(start + 1).max(start) }
}

/// The known word nearest to `word`, if it is near enough to be a likely correction.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
