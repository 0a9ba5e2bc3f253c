//! Decides how long to poll a pipe before sleeping. Host and client both use it: waking up on an idle core takes longer
//! than most answers do.

use std::hint;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};

/// Longest busy poll. A slower peer does not keep a core busy.
const AWAKE: Duration = Duration::from_micros(150);

/// How many answers are awaited without polling after a poll found nothing: at first, and at most.
const FEWEST: u16 = 8;
const MOST: u16 = 512;

/// Whether polling is worthwhile, judged by earlier polls. It is not where the other side is slow or needs this very
/// core.
#[derive(Debug)]
pub(crate) struct PollBackoff {
    /// How many more answers are awaited without polling.
    inattentive: u16,
    /// The value that `inattentive` gets after the next poll that finds nothing.
    patience: u16,
}

impl Default for PollBackoff {
    fn default() -> Self {
        Self { inattentive: 0, patience: FEWEST }
    }
}

impl PollBackoff {
    /// Polls `pipes` for at most [`AWAKE`] and `most`. Returns how many are ready, or 0 where polling is not
    /// worthwhile.
    pub(crate) fn look(
        &mut self,
        pipes: &mut [PollFd<'_>],
        most: Duration,
    ) -> rustix::io::Result<usize> {
        if !self.is_due() {
            return Ok(0);
        }
        let begun = Instant::now();
        while begun.elapsed() < AWAKE.min(most) {
            match poll(pipes, Some(&Timespec::default()))? {
                0 => hint::spin_loop(),
                usable => {
                    self.found();
                    return Ok(usable);
                }
            }
        }
        self.was_in_vain();
        Ok(0)
    }

    /// Whether to poll for the next answer.
    const fn is_due(&mut self) -> bool {
        let is_due = self.inattentive == 0;
        self.inattentive = self.inattentive.saturating_sub(1);
        is_due
    }

    /// Something arrived in time.
    fn found(&mut self) {
        self.patience = (self.patience / 2).max(FEWEST);
    }

    /// Nothing arrived in time.
    fn was_in_vain(&mut self) {
        self.inattentive = self.patience;
        self.patience = (self.patience * 2).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    use rustix::event::PollFlags;

    use super::*;

    /// How many answers are now awaited without polling.
    fn slept_at_once(backoff: &mut PollBackoff) -> u16 {
        let mut count = 0;
        while !backoff.is_due() {
            count += 1;
        }
        count
    }

    #[test]
    fn the_oftener_it_is_in_vain_the_less_often_it_is_looked() {
        let mut backoff = PollBackoff::default();
        assert_eq!(slept_at_once(&mut backoff), 0);
        for expected in [8, 16, 32, 64, 128, 256, 512, 512] {
            backoff.was_in_vain();
            assert_eq!(slept_at_once(&mut backoff), expected);
        }
        for expected in [0, 0, 0] {
            backoff.found();
            assert_eq!(slept_at_once(&mut backoff), expected);
        }
        backoff.was_in_vain();
        assert_eq!(slept_at_once(&mut backoff), 64);
    }

    #[test]
    fn a_look_ends_whether_something_comes_or_not() {
        let (from, mut to) = std::io::pipe().expect("a pipe");
        let mut pipes = [PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)];
        let mut backoff = PollBackoff::default();
        let mut look = || backoff.look(&mut pipes, Duration::MAX);
        assert_eq!(look(), Ok(0));
        to.write_all(b"x").expect("written");
        // The byte is there, but nothing polls for it: the last poll found nothing.
        assert!((0..FEWEST).all(|_| look() == Ok(0)));
        assert_eq!(look(), Ok(1));
        assert_eq!(look(), Ok(1));
    }
}
