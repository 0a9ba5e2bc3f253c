//! Judges the files that an environment makes the loader open before any hook exists: libraries to preload, and
//! directories to search for libraries (ld.so(8)). `environment` uses it if no other layer judges those files.

use core::ffi::CStr;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::report::{self, Reason, Subject};
use crate::sys::preload::separates;
use crate::{resolve, sys};

/// Judges the lists for one call.
#[derive(Clone, Copy)]
pub(super) struct Judge<'i> {
    pub(super) image: &'i Image<'i>,
    pub(super) call: &'i CStr,
}

/// The values that glibc has for `$LIB`, by distribution and word size. Each is judged.
const LIBS: [&[u8]; 6] =
    [b"lib64", b"lib/x86_64-linux-gnu", b"lib/aarch64-linux-gnu", b"lib", b"lib32", b"libx32"];

/// The values of `$PLATFORM`.
const PLATFORMS: [&[u8]; 4] = [b"x86_64", b"haswell", b"xeon_phi", b"aarch64"];

/// A token in an entry of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Library,
    Platform,
    /// The directory of the program. The name of a script does not reveal it.
    Origin,
}

const TOKENS: [(&[u8], Token); 6] = [
    (b"$LIB", Token::Library),
    (b"${LIB}", Token::Library),
    (b"$PLATFORM", Token::Platform),
    (b"${PLATFORM}", Token::Platform),
    (b"$ORIGIN", Token::Origin),
    (b"${ORIGIN}", Token::Origin),
];

impl Judge<'_> {
    /// Removes the entries that may not be read from `list`, the libraries to preload. Returns its new length. The
    /// loader looks for an entry without a slash in `directories` first.
    pub(super) fn libraries(self, list: &mut [u8], directories: &[u8]) -> usize {
        retain(list, separates, |entry| {
            // musl takes white space as a separator; glibc takes it as part of the name.
            let mut words = entry.split(|byte| byte.is_ascii_whitespace() || *byte == b'\x0b');
            self.is_readable(entry, directories)
                && words.all(|word| self.is_readable(word, directories))
        })
    }

    /// Removes the library directories that may not be read from `list`. Returns its new length.
    pub(super) fn directories(self, list: &mut [u8]) -> usize {
        retain(
            list,
            |byte| byte == b':',
            |entry| {
                let mut parts = entry.split(|byte| is_between_directories(*byte));
                self.may_be_read(&[entry]) && parts.all(|part| self.may_be_read(&[part]))
            },
        )
    }

    /// Whether the library `entry` may be read at every place where the environment makes the loader look.
    fn is_readable(self, entry: &[u8], directories: &[u8]) -> bool {
        if entry.is_empty() {
            return true;
        }
        if entry.contains(&b'/') {
            return self.may_be_read(&[entry]);
        }
        let mut directories = directories.split(|byte| is_between_directories(*byte));
        directories.all(|directory| match directory {
            [] => self.may_be_read(&[entry]),
            directory => self.may_be_read(&[directory, b"/", entry]),
        })
    }

    /// Whether the path of these parts may be read, whatever the loader inserts for its tokens. A missing file counts
    /// as readable, because the loader will not find it either. An empty path is the working directory.
    fn may_be_read(self, parts: &[&[u8]]) -> bool {
        let is_good = |library, platform| self.expanded(parts, library, platform).is_ok();
        if !parts.iter().any(|part| part.contains(&b'$')) {
            return is_good(None, None);
        }
        let of_platform = |library| {
            is_good(library, None) && PLATFORMS.iter().all(|it| is_good(library, Some(it)))
        };
        of_platform(None) && LIBS.iter().all(|library| of_platform(Some(library)))
    }

    /// Judges the path of these parts with the given values for the tokens.
    #[inline(never)]
    fn expanded(
        self,
        parts: &[&[u8]],
        library: Option<&[u8]>,
        platform: Option<&[u8]>,
    ) -> Result<(), Errno> {
        let mut path = MmapBox::<PathBuffer>::blank()?;
        for part in parts {
            let mut rest = *part;
            while let Some((first, after)) = rest.split_at_checked(1) {
                let (text, behind) = match token(rest) {
                    Some((Token::Origin, _)) => {
                        let subject = Subject::new(self.call, part);
                        return Err(report::refused(self.image, Reason::Namespace, subject));
                    }
                    Some((Token::Library, behind)) if library.is_some() => (library, behind),
                    Some((Token::Platform, behind)) if platform.is_some() => (platform, behind),
                    _ => (Some(first), after),
                };
                path.push(text.unwrap_or_default())?;
                rest = behind;
            }
        }
        self.readable(&path)
    }

    fn readable(self, path: &PathBuffer) -> Result<(), Errno> {
        let text = if path.len() == 0 { c"." } else { path.c_str(0) };
        match sys::faccessat(libc::AT_FDCWD, text.as_ptr(), libc::F_OK, 0) {
            Err(Errno::ENOENT | Errno::ENOTDIR) => return Ok(()),
            found => found?,
        }
        let mut spelling = MmapBox::<Spelling>::blank()?;
        spelling.read_own(libc::AT_FDCWD, text.to_bytes())?;
        resolve::pin_judged_far(self.image, self.call, &mut spelling, 0, may_read).map(drop)
    }
}

fn may_read(image: &Image<'_>, request: &Request<'_>) -> Verdict {
    decide::access(image, request, Capabilities::READ)
}

/// The token at the start of `text`, and the rest.
fn token(text: &[u8]) -> Option<(Token, &[u8])> {
    TOKENS.iter().find_map(|&(name, token)| Some((token, text.strip_prefix(name)?)))
}

/// Whether a byte separates entries of `LD_LIBRARY_PATH`. All loaders take the colon, glibc also the semicolon
/// (ld.so(8)), and musl the line end.
const fn is_between_directories(byte: u8) -> bool {
    matches!(byte, b':' | b';' | b'\n')
}

/// Removes the entries from `list` that are not `wanted`. Returns its new length.
fn retain(
    list: &mut [u8],
    separates: impl Fn(u8) -> bool,
    wanted: impl Fn(&[u8]) -> bool,
) -> usize {
    let mut kept = 0_usize;
    let mut is_first = true;
    let mut start = 0_usize;
    loop {
        let rest = list.get(start..).unwrap_or(&[]);
        let length = rest.iter().position(|&byte| separates(byte)).unwrap_or(rest.len());
        let end = start.saturating_add(length);
        if wanted(list.get(start..end).unwrap_or(&[])) {
            if !core::mem::take(&mut is_first) {
                put(list, kept, b':');
                kept = kept.saturating_add(1);
            }
            for at in start..end {
                let byte = list.get(at).copied().unwrap_or_default();
                put(list, kept, byte);
                kept = kept.saturating_add(1);
            }
        }
        if end >= list.len() {
            return kept;
        }
        start = end.saturating_add(1);
    }
}

fn put(list: &mut [u8], at: usize, byte: u8) {
    if let Some(place) = list.get_mut(at) {
        *place = byte;
    }
}
