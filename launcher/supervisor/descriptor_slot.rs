//! Room for one more descriptor. The kernel takes a place for it before it opens anything (`open(2)`, EMFILE);
//! here it is handed over last, so that what makes or empties a file must be sure of one before.

use rustix::io::Errno;

use super::caller::Caller;
use crate::sys::proc::{limits, unreadable};

/// To be called before anything is done that ends in a descriptor for the caller. Another of its threads may
/// still be faster.
///
/// # Errors
/// `EMFILE` where all numbers below its limit are taken; `EACCES` where that cannot be told, or what this process
/// lacks for that.
pub(crate) fn expect(caller: &Caller<'_>) -> Result<(), Errno> {
    let (proc, tid) = (caller.proc(), caller.tid());
    let limit = limits::open_files(proc, tid)?;
    let count = proc.count_descriptors(tid).map_err(unreadable)?;
    if (1..limit).contains(&count) {
        return Ok(());
    }
    // Numbers above a limit that was lowered later take nobody's place.
    let numbers = proc.descriptors_of(tid).map_err(unreadable)?;
    let taken = numbers.into_iter().filter(|&number| number < limit).count();
    if u64::try_from(taken).is_ok_and(|taken| taken < limit) { Ok(()) } else { Err(Errno::MFILE) }
}
