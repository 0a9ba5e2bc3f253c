//! Reads the arguments of a call as its row of the table says. Used by the supervisor and the library.

use super::call::{Arg, Call, Follow, HERE, Operand};

/// `AT_FDCWD`.
const WORKING_DIRECTORY: i32 = -100;
/// `AT_SYMLINK_NOFOLLOW`.
const STOPS_AT_LINK: i32 = 0x100;

/// The arguments of a call. Each is as wide as in the kernel. Values are the arguments after the operands.
#[derive(Debug)]
pub struct Arguments<'a> {
    call: &'a Call,
    words: [u64; 6],
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the kernel too takes only as many bits as the argument has"
)]
impl<'a> Arguments<'a> {
    /// The arguments of `call` in its six registers.
    #[must_use]
    pub const fn new(call: &'a Call, words: [u64; 6]) -> Self {
        Self { call, words }
    }

    /// The call.
    #[must_use]
    pub const fn call(&self) -> &'a Call {
        self.call
    }

    #[inline]
    fn register(&self, at: Arg) -> u64 {
        self.words.get(usize::from(at)).copied().unwrap_or(0)
    }

    /// The value at `at`.
    #[must_use]
    #[inline]
    pub fn word(&self, at: Arg) -> u64 {
        self.register(self.call.values.saturating_add(at))
    }

    /// The value at `at`, an `unsigned int`.
    #[must_use]
    #[inline]
    pub fn unsigned(&self, at: Arg) -> u32 {
        self.word(at) as u32
    }

    /// The value at `at`, an `int`.
    #[must_use]
    #[inline]
    pub fn int(&self, at: Arg) -> i32 {
        self.unsigned(at) as i32
    }

    /// The value at `at`, a `loff_t`.
    #[must_use]
    #[inline]
    pub fn length(&self, at: Arg) -> i64 {
        self.word(at) as i64
    }

    /// The descriptor that the first path starts at, and the path's address. Without a path the descriptor of the
    /// operand.
    #[must_use]
    #[inline]
    pub fn path(&self) -> (i32, u64) {
        let [first, _] = self.call.operands;
        self.path_of(first)
    }

    /// As [`Self::path`], for the second path.
    #[must_use]
    #[inline]
    pub fn second_path(&self) -> (i32, u64) {
        let [_, second] = self.call.operands;
        self.path_of(second)
    }

    fn path_of(&self, operand: Operand) -> (i32, u64) {
        match operand {
            Operand::Object { dirfd, path, .. } | Operand::Entry { dirfd, path } => {
                let start =
                    if dirfd == HERE { WORKING_DIRECTORY } else { self.register(dirfd) as i32 };
                (start, self.register(path))
            }
            Operand::Descriptor(at) | Operand::Process(at) => (self.register(at) as i32, 0),
            Operand::None => (0, 0),
        }
    }

    /// The descriptor of the first operand, or the number of its process. Zero if it has neither.
    #[must_use]
    #[inline]
    pub fn number(&self) -> i32 {
        self.path().0
    }

    /// The `AT_…` flags of the first path.
    #[must_use]
    #[inline]
    pub fn flags(&self) -> i32 {
        let [first, _] = self.call.operands;
        match first {
            Operand::Object { follow: Follow::Flags(at), .. } => self.register(at) as i32,
            Operand::Object { follow: Follow::Never, .. } => STOPS_AT_LINK,
            _ => 0,
        }
    }
}
