//! Reads the words that a program will be started with, copied once.

use rustix::io::Errno;

use super::caller::Caller;

/// The longest word that the kernel accepts (`MAX_ARG_STRLEN`, `execve(2)`).
const LONGEST: usize = 128 * 1024;
/// More than the kernel accepts for all words and their pointers (`ARG_MAX` is 6 MiB at most).
const MOST: usize = 8 * 1024 * 1024;
const PAGE: usize = 4096;
const POINTER: usize = size_of::<u64>();

/// The words at `address`, an `argv` of the caller's. A null pointer counts as an empty list, as in the kernel.
///
/// # Errors
/// `EFAULT`, `E2BIG`.
pub(super) fn read(caller: &Caller<'_>, address: u64) -> Result<Vec<Vec<u8>>, Errno> {
    let mut words = Vec::new();
    if address == 0 {
        return Ok(words);
    }
    let mut room = MOST;
    // Each moves through memory independently.
    let (mut list, mut texts) = (Window::new(caller), Window::new(caller));
    loop {
        let pointer = list.pointer(address.wrapping_add((words.len() * POINTER) as u64))?;
        if pointer == 0 {
            return Ok(words);
        }
        let word = texts.string(pointer)?;
        room = room.checked_sub(word.len() + POINTER).ok_or(Errno::TOOBIG)?;
        words.push(word);
    }
}

/// A page of the caller's memory. It is read once for all accesses on it.
struct Window<'c> {
    caller: &'c Caller<'c>,
    start: u64,
    bytes: Vec<u8>,
}

impl<'c> Window<'c> {
    fn new(caller: &'c Caller<'c>) -> Self {
        Self { caller, start: 0, bytes: Vec::new() }
    }

    /// The bytes from `address` to the end of its page.
    fn from(&mut self, address: u64) -> Result<&[u8], Errno> {
        let start = address & !(PAGE as u64 - 1);
        if self.bytes.is_empty() || start != self.start {
            // Read by pages, because the kernel protects memory by pages.
            self.bytes = self.caller.bytes(start, PAGE)?;
            self.start = start;
        }
        let within = usize::try_from(address - start).unwrap_or(PAGE);
        Ok(self.bytes.get(within..).unwrap_or_default())
    }

    fn pointer(&mut self, address: u64) -> Result<u64, Errno> {
        match self.from(address)?.first_chunk() {
            Some(pointer) => Ok(u64::from_ne_bytes(*pointer)),
            None => Ok(self.caller.words::<1>(address)?[0]),
        }
    }

    /// The string at `address`, without its NUL.
    fn string(&mut self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        while text.len() <= LONGEST {
            let piece = self.from(address.wrapping_add(text.len() as u64))?;
            let end = piece.iter().position(|&byte| byte == 0);
            text.extend_from_slice(piece.get(..end.unwrap_or(piece.len())).unwrap_or_default());
            if end.is_some() {
                return Ok(text);
            }
        }
        Err(Errno::TOOBIG)
    }
}
