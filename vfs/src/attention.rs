//! For how long to look for what the other side says before sleeping: to be woken on an idle core takes longer
//! than most answers do. Either side of the line does the same.

use std::hint;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};

/// For how long it is looked again and again. Whoever takes longer does not keep a core busy.
const AWAKE: Duration = Duration::from_micros(150);

/// How many answers are not looked for after that was in vain: at first, and at most.
const FEWEST: u16 = 8;
const MOST: u16 = 512;

/// Whether it is worth looking, by how it went before. It is not where the other side takes its time, or waits for
/// this very core.
#[derive(Debug)]
pub(crate) struct Attention {
    /// How many answers more are not looked for.
    inattentive: u16,
    /// How many that will be after the next look in vain.
    patience: u16,
}

impl Default for Attention {
    fn default() -> Self {
        Self { inattentive: 0, patience: FEWEST }
    }
}

impl Attention {
    /// How many of `pipes` can be used, looking for it for a short time and for no longer than `most`; 0 also where it
    /// is not worth looking.
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

    /// Whether to look for the next answer.
    const fn is_due(&mut self) -> bool {
        let is_due = self.inattentive == 0;
        self.inattentive = self.inattentive.saturating_sub(1);
        is_due
    }

    /// Something came in time.
    fn found(&mut self) {
        self.patience = (self.patience / 2).max(FEWEST);
    }

    /// Nothing came in time.
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

    /// How many answers are not looked for now.
    fn slept_at_once(attention: &mut Attention) -> u16 {
        let mut count = 0;
        while !attention.is_due() {
            count += 1;
        }
        count
    }

    #[test]
    fn the_oftener_it_is_in_vain_the_less_often_it_is_looked() {
        let mut attention = Attention::default();
        assert_eq!(slept_at_once(&mut attention), 0);
        for expected in [8, 16, 32, 64, 128, 256, 512, 512] {
            attention.was_in_vain();
            assert_eq!(slept_at_once(&mut attention), expected);
        }
        for expected in [0, 0, 0] {
            attention.found();
            assert_eq!(slept_at_once(&mut attention), expected);
        }
        attention.was_in_vain();
        assert_eq!(slept_at_once(&mut attention), 64);
    }

    #[test]
    fn a_look_ends_whether_something_comes_or_not() {
        let (from, mut to) = std::io::pipe().expect("a pipe");
        let mut pipes = [PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)];
        let mut attention = Attention::default();
        let mut look = || attention.look(&mut pipes, Duration::MAX);
        assert_eq!(look(), Ok(0));
        to.write_all(b"x").expect("written");
        // It is there, and not looked for: the last look was in vain.
        assert!((0..FEWEST).all(|_| look() == Ok(0)));
        assert_eq!(look(), Ok(1));
        assert_eq!(look(), Ok(1));
    }
}
