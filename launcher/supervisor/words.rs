//! The words that a program is to be started with, copied once.

use rustix::io::Errno;

use super::caller::Caller;

/// The longest word that the kernel takes (`MAX_ARG_STRLEN`, `execve(2)`).
const LONGEST: usize = 128 * 1024;
/// More than the kernel takes of all, with their pointers (`ARG_MAX` is 6 MiB at most).
const MOST: usize = 8 * 1024 * 1024;
/// Most words are shorter, and what is not needed need not be copied.
const USUAL: usize = 256;
const POINTER: usize = size_of::<u64>();

/// The words at `address`, an `argv` of the caller's. No list is an empty one, as the kernel has it.
///
/// # Errors
/// `EFAULT`, `E2BIG`.
pub(super) fn read(caller: &Caller<'_>, address: u64) -> Result<Vec<Vec<u8>>, Errno> {
    let mut words = Vec::new();
    let mut room = MOST;
    if address == 0 {
        return Ok(words);
    }
    loop {
        let at = address.wrapping_add((words.len() * POINTER) as u64);
        let [pointer] = caller.words::<1>(at)?;
        if pointer == 0 {
            return Ok(words);
        }
        let word = word(caller, pointer)?;
        room = room.checked_sub(word.len() + POINTER).ok_or(Errno::TOOBIG)?;
        words.push(word);
    }
}

/// The string at `address`, without its NUL.
fn word(caller: &Caller<'_>, address: u64) -> Result<Vec<u8>, Errno> {
    let mut word = Vec::new();
    while word.len() <= LONGEST {
        let mut piece = [0; USUAL];
        let count = caller.read(address.wrapping_add(word.len() as u64), &mut piece)?;
        let piece = piece.get(..count).unwrap_or_default();
        if let Some(end) = piece.iter().position(|&byte| byte == 0) {
            word.extend_from_slice(piece.get(..end).unwrap_or_default());
            return Ok(word);
        }
        word.extend_from_slice(piece);
    }
    Err(Errno::TOOBIG)
}
