//! Remembers a run's answers by path, for the rest of the run.

use std::collections::HashMap;

use jp_confine_engine::Capabilities;

use super::question::Question;
use super::wish::Wish;
use crate::prompt::during_run::answer::Answer;

/// The answers that hold until the run ends, by path.
#[derive(Debug, Default)]
pub(super) struct Memory {
    paths: HashMap<Vec<u8>, Remembered>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Remembered {
    granted: Capabilities,
    refused: Capabilities,
    /// Nobody could be asked about it.
    unanswered: Capabilities,
}

impl Memory {
    /// Keeps the answer to a prompt. A yes for once is not kept.
    pub(super) fn keep(&mut self, question: &Question, answer: Answer) {
        for Wish { path, wanted, .. } in &question.wishes {
            let known = self.paths.entry(path.clone()).or_default();
            match answer {
                Answer::No | Answer::Interrupt => known.refused = known.refused.union(*wanted),
                Answer::Run => known.granted = known.granted.union(*wanted),
                Answer::Silence => known.unanswered = known.unanswered.union(*wanted),
                Answer::Once => {}
            }
        }
    }

    /// The remembered answer to one part of a prompt. A no outweighs a yes.
    pub(super) fn known(&self, wish: &Wish) -> Option<Answer> {
        let known = self.paths.get(&wish.path)?;
        if wish.wanted.intersects(known.refused) {
            return Some(Answer::No);
        }
        if wish.wanted.intersects(known.unanswered) {
            return Some(Answer::Silence);
        }
        known.granted.contains(wish.wanted).then_some(Answer::Run)
    }

    /// The remembered answer to a whole prompt. One denied part denies it all.
    pub(super) fn settled(&self, question: &Question) -> Option<Answer> {
        Answer::to_all(question.wishes.iter().map(|wish| self.known(wish)))
    }
}
