//! Ignores SIGINT and SIGQUIT as long as any thread waits for a shell (system(3)). Used by `system`.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::sys;
use crate::sys::process::{self, Disposition, Signals, signal_set};

const SIGNALS: [c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

/// How many shells threads wait for.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// The program's own dispositions from before the first wait.
static BEFORE: [Kept; 2] = [const { Kept([const { AtomicU64::new(0) }; 4]) }; 2];

/// The process that has a thread changing these, or zero.
static TURN: AtomicI32 = AtomicI32::new(0);

/// How often to wait for a thread that changes them. Each change takes a few system calls.
const TRIES: u32 = 1 << 16;

/// The words of a disposition.
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

/// Ignores both signals as long as this value, or another one, lives.
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

    /// The signals that the shell must start with the default action: those that the program did not ignore.
    #[expect(clippy::unused_self, reason = "what is kept is known while one of these lives")]
    pub(super) fn to_default(&self) -> Signals {
        let signals = SIGNALS.into_iter().zip(&BEFORE);
        let asked = signals.filter(|(_, before)| !before.kept().is_ignored());
        asked.fold(0, |set, (signal, _)| set | signal_set(signal))
    }

    /// Like dropping it, for places where no destructor runs.
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

/// Calls `act` while no other thread does. After a fork, [`TURN`] may name a thread that does not exist in this
/// process.
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
