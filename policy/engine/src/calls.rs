//! Describes each system call that a layer handles, in one table. The filter, the supervisor's dispatch, the library's
//! hook of `syscall` and `docs/enforcement.md` read it.

mod arguments;
mod call;
mod effect;
mod table;

pub use self::arguments::Arguments;
pub use self::call::{Arg, Call, Follow, HERE, Need, Operand, Operation, Trap, When};
pub use self::effect::Effect;
pub use self::table::{CALLS, IOPRIO_WHO_PROCESS, PRIO_PROCESS};

/// The newest call that the table was checked against (Linux 6.18). A newer call may take a path. So confined programs
/// are told that it does not exist yet.
pub const LAST_KNOWN: i64 = 469;

impl Effect {
    /// The effect of `call`, a system call or the function of libc that makes it. A call that is not listed counts as
    /// one that goes around paths.
    #[must_use]
    pub fn of(call: &[u8]) -> Self {
        let call = match call {
            b"umount" => &b"umount2"[..],
            b"klogctl" => b"syslog",
            call => call,
        };
        let listed = CALLS.iter().find(|listed| listed.name.to_bytes() == call);
        listed.map_or(Self::Around, |listed| listed.effect)
    }
}

/// The call with this number on this processor.
#[must_use]
pub fn of_number(number: i64) -> Option<&'static Call> {
    let row = usize::try_from(number).ok().and_then(|number| ROWS.get(number))?;
    CALLS.get(usize::from(*row))
}

#[expect(clippy::cast_possible_truncation, reason = "it is small")]
const NUMBERS: usize = LAST_KNOWN as usize + 1;

/// For each number the position of its row, or [`NO_ROW`].
static ROWS: [u8; NUMBERS] = rows();

const NO_ROW: u8 = u8::MAX;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    reason = "the compiler evaluates it, and stops at a number out of range"
)]
const fn rows() -> [u8; NUMBERS] {
    assert!(CALLS.len() < NO_ROW as usize, "positions have eight bits");
    let mut rows = [NO_ROW; NUMBERS];
    let mut row = 0;
    while row < CALLS.len() {
        if let Some(number) = CALLS[row].number() {
            assert!(rows[number as usize] == NO_ROW, "two calls have this number");
            rows[number as usize] = row as u8;
        }
        row += 1;
    }
    rows
}
