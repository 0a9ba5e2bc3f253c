//! A variable of the environment that names the process which gets it. The child writes the value between `clone` and
//! `execve`. Used by `child`.

use rustix::process::Pid;

/// The most bytes of a name.
const NAME: usize = 28;

/// `NAME=NUMBER` and null bytes. The number of a process has ten digits at most.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct OwnNumber([u8; NAME + 12]);

impl OwnNumber {
    /// The variable `name` with an empty value. A long name is cut off.
    pub(super) fn of(name: &str) -> Self {
        let mut text = [0; NAME + 12];
        let bytes = name.bytes().take(NAME).chain([b'=']);
        text.iter_mut().zip(bytes).for_each(|(at, byte)| *at = byte);
        Self(text)
    }

    /// Writes the value. Does not allocate.
    pub(super) fn set(&mut self, number: Pid) {
        let number = number.as_raw_nonzero().get().unsigned_abs();
        let digits = number.checked_ilog10().unwrap_or(0);
        let begin = self.0.iter().position(|byte| *byte == b'=').map_or(0, |at| at + 1);
        let places = self.0.iter_mut().skip(begin);
        for (place, power) in places.zip((0..=digits).rev()) {
            *place = b'0' + u8::try_from(number / 10_u32.pow(power) % 10).unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_behind_its_name() {
        for number in [1, 10, 4711, i32::MAX] {
            let mut variable = OwnNumber::of("LISTEN_PID");
            variable.set(Pid::from_raw(number).expect("a number"));
            let text = format!("LISTEN_PID={number}\0");
            assert!(variable.0.starts_with(text.as_bytes()), "{variable:?}");
        }
    }
}
