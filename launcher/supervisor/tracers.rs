//! Tracers that come to a thread while it waits for an answer. One that interrupts it (`PTRACE_INTERRUPT`, as
//! `strace -p`) is made to wait until the call ends, and nothing shows that it does. So its coming alone is
//! taken for it: the thread is given a signal, for which it leaves the call, stops, and begins it again.

use std::collections::HashMap;

use super::status::Status;
use crate::sys::stopping;

/// Nobody traces that many threads; who has gone is forgotten at last.
const MOST: usize = 4096;

/// Who traced which thread when it was last seen to wait.
#[derive(Debug, Default)]
pub(super) struct Tracers(HashMap<i32, i32>);

impl Tracers {
    /// Sees a waiting thread, and rouses it if its tracer is new.
    pub(super) fn see(&mut self, tid: i32, status: &Status) {
        if self.is_new(tid, status.tracer) {
            stopping::rouse(status.process, tid);
        }
    }

    fn is_new(&mut self, tid: i32, tracer: i32) -> bool {
        if tracer == 0 {
            self.0.remove(&tid);
            return false;
        }
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(tid, tracer) != Some(tracer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracer_is_new_once() {
        let mut tracers = Tracers::default();
        let seen = [(1, 0), (1, 7), (1, 7), (2, 7), (1, 8), (1, 0), (1, 8)]
            .map(|(tid, tracer)| tracers.is_new(tid, tracer));
        assert_eq!(seen, [false, true, false, true, true, false, true]);
    }
}
