//! Remembers the answers to paths that a prompt named before the process asked about them.

use super::one_time::Process;
use super::question::Question;
use super::wish::Wish;
use crate::prompt::during_run::answer::Answer;

/// Answers that hold for one use each. Those for the run are remembered by path.
#[derive(Debug, Default)]
pub(super) struct Together(Vec<Ahead>);

#[derive(Debug)]
struct Ahead {
    process: Process,
    wish: Wish,
    answer: Answer,
}

impl Together {
    /// Keeps the answer for `wishes` of this process.
    pub(super) fn keep(&mut self, pid: u32, wishes: &[Wish], answer: Answer) {
        self.0.retain(|ahead| ahead.process.is_there());
        if matches!(answer, Answer::Once | Answer::Skip) {
            let of = |wish: &Wish| {
                Some(Ahead { process: Process::of(pid)?, wish: wish.clone(), answer })
            };
            self.0.extend(wishes.iter().filter_map(of));
        }
    }

    /// Takes the answer to a prompt of one path.
    pub(super) fn take(&mut self, question: &Question) -> Option<Answer> {
        let [wish] = question.wishes.as_slice() else { return None };
        let is_it = |ahead: &Ahead| {
            ahead.process.is(question.pid) && ahead.wish.covers(wish) && wish.file.is_none()
        };
        let place = self.0.iter().position(is_it)?;
        Some(self.0.swap_remove(place).answer)
    }
}
