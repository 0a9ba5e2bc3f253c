//! Parses one line of `mountinfo` (`proc_pid_mountinfo(5)`). Used by `mount_table`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// One mount.
#[derive(Debug)]
pub(super) struct Mount<'t> {
    pub(super) id: u64,
    /// The number of the mount that it is mounted on.
    pub(super) parent: u64,
    /// The device of the file system, as `mountinfo` numbers it.
    pub(super) device: u64,
    root: Cow<'t, [u8]>,
    place: Cow<'t, [u8]>,
    /// The type of the file system.
    pub(super) kind: &'t [u8],
}

impl<'t> Mount<'t> {
    /// Parses a line. `None` if it has another form.
    pub(super) fn parse(line: &'t [u8]) -> Option<Self> {
        let mut fields = line.split(|&byte| byte == b' ');
        let id = number(fields.next()?)?;
        let parent = number(fields.next()?)?;
        let device = fields.next()?;
        let colon = device.iter().position(|&byte| byte == b':')?;
        let device = number(device.get(..colon)?)? << 32 | number(device.get(colon + 1..)?)?;
        let root = unescaped(fields.next()?);
        let place = unescaped(fields.next()?);
        fields.find(|&field| field == b"-")?;
        let kind = fields.next()?;
        Some(Self { id, parent, device, root, place, kind })
    }

    /// The directory or file of its file system that it shows. For a namespace this is not a path.
    pub(super) fn root(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.root))
    }

    /// Where it is mounted.
    pub(super) fn place(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.place))
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The path with its octal escapes decoded: the kernel escapes blanks, newlines and backslashes.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        let octal = after
            .get(..3)
            .filter(|_| *byte == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        plain.push(octal.unwrap_or(*byte));
        rest = if octal.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart() {
        let line = b"36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:2 - ext3 /dev/root rw";
        let mount = Mount::parse(line).expect("a mount");
        assert_eq!((mount.id, mount.parent, mount.device), (36, 35, 98 << 32));
        assert_eq!((mount.root(), mount.place()), (Path::new("/mnt1"), Path::new("/mnt 2")));
        assert_eq!(mount.kind, b"ext3");
        for line in ["", "36 35 98:0 / /x rw", "36 x 98:0 / /x rw - ext3 a b", "36 35 98 / /x - e"]
        {
            assert!(Mount::parse(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn only_octal_numbers_are_unescaped() {
        for (text, plain) in [("a\\134b", "a\\b"), ("\\011", "\t"), ("a\\9", "a\\9"), ("\\", "\\")]
        {
            assert_eq!(&*unescaped(text.as_bytes()), plain.as_bytes());
        }
    }
}
