//! Checks that the caller has room for one more descriptor. The kernel reserves a number before it opens anything
//! (`open(2)`, EMFILE). The supervisor hands the descriptor over last. So a call that creates or truncates a file must
//! check before.

use rustix::io::Errno;

use super::caller::Caller;
use crate::sys::proc::{limits, unreadable};

/// Must be called before anything that ends in a descriptor for the caller. Another thread of the caller may still take
/// the last number.
///
/// # Errors
/// `EMFILE` if all numbers below its limit are taken, and `EACCES` if that is unknown. Also this process's own
/// shortages.
pub(crate) fn expect(caller: &Caller<'_>) -> Result<(), Errno> {
    let (proc, tid) = (caller.proc(), caller.tid());
    let limit = limits::open_files(proc, tid)?;
    let count = proc.count_descriptors(tid).map_err(unreadable)?;
    if (1..limit).contains(&count) {
        return Ok(());
    }
    // Numbers above a limit that was lowered later do not count.
    let numbers = proc.descriptors_of(tid).map_err(unreadable)?;
    let taken = numbers.into_iter().filter(|&number| number < limit).count();
    if u64::try_from(taken).is_ok_and(|taken| taken < limit) { Ok(()) } else { Err(Errno::MFILE) }
}
