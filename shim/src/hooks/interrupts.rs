//! SIGINT and SIGQUIT while a shell is waited for (system(3)): ignored as long as any thread waits for one.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::sys;
use crate::sys::process::{self, Disposition, Signals, signal_set};

const SIGNALS: [c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

/// How many shells are waited for.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// What the program had said of each signal before the first of them.
static BEFORE: [Kept; 2] = [const { Kept([const { AtomicU64::new(0) }; 4]) }; 2];

/// The process one of whose threads changes these, or zero.
static TURN: AtomicI32 = AtomicI32::new(0);

/// So often a thread that changes them is waited for: they are a few system calls.
const TRIES: u32 = 1 << 16;

/// A disposition, its words.
struct Kept([AtomicU64; 4]);

impl Kept {
    fn keep(&self, disposition: Disposition) {
        for (to, from) in self.0.iter().zip(disposition.words()) {
            to.store(from, Ordering::Relaxed);
        }
    }

    fn kept(&self) -> Disposition {
        Disposition::of_words(self.0.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }
}

/// Ignores both signals for as long as this, or another one, lives.
pub(super) struct Ignored(());

impl Ignored {
    pub(super) fn begin() -> Self {
        in_turn(|| {
            if WAITING.fetch_add(1, Ordering::Relaxed) == 0 {
                for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
                    before.keep(process::disposition(signal).unwrap_or(Disposition::DEFAULT));
                    let _ = process::set_disposition(signal, &Disposition::IGNORE);
                }
            }
        });
        Self(())
    }

    /// The signals that the shell is to start with the default action of: those that the program did not ignore.
    #[expect(clippy::unused_self, reason = "what is kept is known while one of these lives")]
    pub(super) fn to_default(&self) -> Signals {
        let signals = SIGNALS.into_iter().zip(&BEFORE);
        let asked = signals.filter(|(_, before)| !before.kept().is_ignored());
        asked.fold(0, |set, (signal, _)| set | signal_set(signal))
    }

    /// As dropping it, where no destructor runs.
    #[expect(clippy::unused_self, reason = "it ends this one")]
    pub(super) fn end(&self) {
        in_turn(|| {
            if WAITING.fetch_sub(1, Ordering::Relaxed) == 1 {
                for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
                    let _ = process::set_disposition(signal, &before.kept());
                }
            }
        });
    }
}

impl Drop for Ignored {
    fn drop(&mut self) {
        self.end();
    }
}

/// Acts while no other thread does. What stands in [`TURN`] after a fork is the turn of a thread that is not there.
fn in_turn(act: impl FnOnce()) {
    let here = sys::getpid();
    let free = |holder| (holder != here).then_some(here);
    let mut tries = 0..TRIES;
    while TURN.fetch_update(Ordering::Acquire, Ordering::Relaxed, free).is_err()
        && tries.next().is_some()
    {
        process::give_way();
    }
    act();
    TURN.store(0, Ordering::Release);
}
