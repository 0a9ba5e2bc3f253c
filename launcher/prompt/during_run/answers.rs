//! Remembers a run's answers by path, for the rest of the run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;

use super::question::Question;
use super::wish::Wish;
use crate::prompt::during_run::answer::Answer;
use crate::sys::path::path_of;

/// The answers that hold until the run ends, by path.
#[derive(Debug, Default)]
pub(super) struct Memory {
    paths: HashMap<Vec<u8>, Remembered>,
    /// The directories below which these rights were consented to.
    directories: Vec<(PathBuf, Capabilities)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Remembered {
    granted: Capabilities,
    refused: Capabilities,
    /// Nobody could be asked about it.
    unanswered: Capabilities,
}

impl Memory {
    /// Keeps the answer to a prompt. One for once is not kept.
    pub(super) fn keep(&mut self, question: &Question, answer: Answer) {
        for Wish { path, wanted, .. } in &question.wishes {
            let known = self.paths.entry(path.clone()).or_default();
            match answer {
                Answer::No | Answer::Interrupt => known.refused = known.refused.union(*wanted),
                Answer::Run | Answer::Always => known.granted = known.granted.union(*wanted),
                Answer::Below => {
                    let directory = path_of(path).parent().map(Path::to_owned);
                    self.directories.extend(directory.map(|directory| (directory, *wanted)));
                }
                Answer::Silence => known.unanswered = known.unanswered.union(*wanted),
                Answer::Once | Answer::Skip => {}
            }
        }
    }

    /// The remembered answer to one part of a prompt. A no outweighs a yes. Consent to all below a directory does not
    /// cover sensitive files and auto-run files there.
    pub(super) fn known(&self, question: &Question, wish: &Wish) -> Option<Answer> {
        let covers = |(directory, caps): &(PathBuf, Capabilities)| {
            path_of(&wish.path).starts_with(directory) && caps.contains(wish.wanted)
        };
        let is_below = !question.is_listed && self.directories.iter().any(covers);
        let known = self.paths.get(&wish.path).copied().unwrap_or_default();
        if wish.wanted.intersects(known.refused) {
            return Some(Answer::No);
        }
        if wish.wanted.intersects(known.unanswered) {
            return Some(Answer::Silence);
        }
        (is_below || known.granted.contains(wish.wanted)).then_some(Answer::Run)
    }

    /// The remembered answer to a whole prompt. One denied part denies it all.
    pub(super) fn settled(&self, question: &Question) -> Option<Answer> {
        Answer::to_all(question.wishes.iter().map(|wish| self.known(question, wish)))
    }
}
