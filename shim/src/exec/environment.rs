//! The environment of the next program: it must load the shim and find the policy, whatever the
//! program made of its own (spec §11.2, §13).

use core::ffi::c_char;

use jp_confine_policy::image::{Image, Text};
use jp_confine_policy::invocation::Admission;
use jp_confine_policy::variables::{self, LONGEST};

use super::handle::{Handle, Variable};
use super::reader::Reader;
use super::scratch::{Scratch, bytes_of};
use crate::buffer::Buffer;
use crate::errno::Errno;
use crate::sys::preload::{BYPASS_INITIALS, BYPASSES, PRELOAD, separates};
use crate::sys::process::Strings;

/// What the next program may not have of an environment.
pub(super) struct Withheld<'i> {
    image: &'i Image<'i>,
    admission: Admission,
    /// Whether there can be anything.
    any: bool,
}

impl<'i> Withheld<'i> {
    pub(super) fn of(image: &'i Image<'i>, admission: Admission) -> Self {
        Self { image, admission, any: variables::are_withheld(image) }
    }

    /// Whether it may not have the variable `text`, with its value.
    fn covers(&self, reader: &mut Reader, text: *const c_char) -> Result<bool, Errno> {
        if !self.any {
            return Ok(false);
        }
        // A name that is longer is told by its beginning.
        let mut name = Buffer::<{ LONGEST + 2 }>::new();
        for offset in 0_usize.. {
            let byte = reader.byte(text, offset)?;
            if matches!(byte, 0 | b'=') || name.push(&[byte]).is_err() {
                break;
            }
        }
        Ok(variables::is_withheld(self.image, &self.admission, name.as_bytes()))
    }
}

/// Calls `run` with `envp`, or with a copy of it that carries the shim and nothing that is withheld.
/// Returns what `run` says, or why there is no such copy.
#[inline(never)]
pub(super) fn with_repaired(
    withheld: &Withheld<'_>,
    envp: Strings,
    run: impl FnOnce(Strings) -> Errno,
) -> Errno {
    let handle = match Handle::ensure() {
        Ok(handle) => handle,
        Err(errno) => return errno,
    };
    let variable = handle.variable();
    // Of runs inside, any program could have made up the image.
    let shim = withheld.image.outermost().text(Text::ShimPath);
    let own = Own { variable: &variable, shim };
    match Survey::of(envp, &own, withheld) {
        Ok(survey) if survey.is_complete() => run(envp),
        Ok(survey) => rebuild(envp, &survey, &own, withheld, run),
        Err(errno) => errno,
    }
}

/// What every environment has of the shim: the variable that names the policy, and the path of itself.
struct Own<'a> {
    variable: &'a Variable,
    shim: &'a [u8],
}

/// What an environment holds of the two variables that matter.
struct Survey {
    count: usize,
    /// The value of the last [`PRELOAD`], the one that loaders heed; null for none.
    preload: *const c_char,
    preloads: usize,
    begins_with_shim: bool,
    handles: usize,
    names_handle: bool,
    /// What the next program must not get.
    banned: usize,
}

impl Survey {
    fn of(envp: Strings, own: &Own<'_>, withheld: &Withheld<'_>) -> Result<Self, Errno> {
        let mut survey = Self {
            count: 0,
            preload: core::ptr::null(),
            preloads: 0,
            begins_with_shim: false,
            handles: 0,
            names_handle: false,
            banned: 0,
        };
        let mut list = Reader::new();
        let mut texts = Reader::new();
        loop {
            let text = list.string(envp, survey.count)?;
            if text.is_null() {
                break;
            }
            survey.count = survey.count.saturating_add(1);
            if let Some(value) = texts.after(text, PRELOAD)? {
                survey.preloads = survey.preloads.saturating_add(1);
                survey.preload = value;
            } else if texts.after(text, crate::handle::VARIABLE)?.is_some() {
                survey.handles = survey.handles.saturating_add(1);
                survey.names_handle = names(&mut texts, text, own.variable)?;
            } else if bypasses(&mut texts, text)? || withheld.covers(&mut texts, text)? {
                survey.banned = survey.banned.saturating_add(1);
            }
        }
        survey.begins_with_shim =
            !survey.preload.is_null() && begins_with(&mut texts, survey.preload, own.shim)?;
        Ok(survey)
    }

    const fn is_complete(&self) -> bool {
        self.begins_with_shim
            && self.preloads == 1
            && self.names_handle
            && self.handles == 1
            && self.banned == 0
    }
}

/// Whether an entry names what this process has. A run that begins inside adds its own image.
fn names(reader: &mut Reader, text: *const c_char, variable: &Variable) -> Result<bool, Errno> {
    let Some(rest) = reader.after(text, variable.as_bytes())? else { return Ok(false) };
    Ok(matches!(reader.byte(rest, 0)?, 0 | b':'))
}

fn bypasses(reader: &mut Reader, text: *const c_char) -> Result<bool, Errno> {
    if !BYPASS_INITIALS.contains(&reader.byte(text, 0)?) {
        return Ok(false);
    }
    for name in BYPASSES {
        if reader.after(text, name)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether `path` is the first entry of `list`. What stands before it hides its functions: libc
/// itself would, which can be preloaded like any library.
fn begins_with(reader: &mut Reader, list: *const c_char, path: &[u8]) -> Result<bool, Errno> {
    let Some(rest) = reader.after(list, path)? else { return Ok(false) };
    let end = reader.byte(rest, 0)?;
    Ok(end == 0 || separates(end))
}

/// An environment of this many variables, less the words of what is preloaded, needs no mapping.
const NEAR: usize = 512;

/// Calls `run` with a copy in which each of the two variables stands once, at the end.
#[inline(never)]
fn rebuild(
    envp: Strings,
    survey: &Survey,
    own: &Own<'_>,
    withheld: &Withheld<'_>,
    run: impl FnOnce(Strings) -> Errno,
) -> Errno {
    let mut scratch = Scratch::<NEAR>::new();
    match fill(&mut scratch, envp, survey, own, withheld) {
        Ok(list) => run(list),
        Err(errno) => errno,
    }
}

fn fill(
    scratch: &mut Scratch<NEAR>,
    envp: Strings,
    survey: &Survey,
    &Own { variable, shim }: &Own<'_>,
    withheld: &Withheld<'_>,
) -> Result<Strings, Errno> {
    let mut reader = Reader::new();
    let given = if survey.preload.is_null() { 0 } else { reader.length(survey.preload)? };
    // The two variables and the null pointer.
    let pointers = survey.count.saturating_add(3);
    // The colon and the NUL.
    let text = PRELOAD.len().saturating_add(given).saturating_add(shim.len()).saturating_add(2);
    let words = scratch.words(pointers.saturating_add(text.div_ceil(size_of::<usize>())))?;
    let (list, room) = words.split_at_mut_checked(pointers).ok_or(Errno::ENOMEM)?;
    let preload = Preload::write(&mut reader, bytes_of(room), survey, shim)?;
    let mut slots = list.iter_mut();
    let mut texts = Reader::new();
    for index in 0..survey.count {
        let entry = reader.string(envp, index)?;
        if entry.is_null() {
            break;
        }
        let dropped = texts.after(entry, PRELOAD)?.is_some()
            || texts.after(entry, crate::handle::VARIABLE)?.is_some()
            || bypasses(&mut texts, entry)?
            || withheld.covers(&mut texts, entry)?;
        if !dropped && let Some(slot) = slots.next() {
            *slot = entry.expose_provenance();
        }
    }
    for added in [preload.expose_provenance(), variable.as_ptr().expose_provenance(), 0] {
        *slots.next().ok_or(Errno::EFAULT)? = added;
    }
    Ok(list.as_ptr().cast())
}

/// Writes the new [`PRELOAD`] entry.
struct Preload<'a> {
    room: core::slice::IterMut<'a, u8>,
}

impl<'a> Preload<'a> {
    /// The shim, then the user's own entries; the address of the entry.
    fn write(
        reader: &mut Reader,
        room: &'a mut [u8],
        survey: &Survey,
        shim: &[u8],
    ) -> Result<*const u8, Errno> {
        let start = room.as_ptr();
        let mut entry = Self { room: room.iter_mut() };
        entry.push(PRELOAD)?;
        if !survey.begins_with_shim {
            entry.push(shim)?;
        }
        let mut separator: &[u8] = if survey.begins_with_shim { b"" } else { b":" };
        let mut length = 0_usize;
        while !survey.preload.is_null() {
            let byte = reader.byte(survey.preload, length)?;
            if byte == 0 {
                break;
            }
            entry.push(core::mem::take(&mut separator))?;
            entry.push(&[byte])?;
            length = length.saturating_add(1);
        }
        entry.push(&[0])?;
        Ok(start)
    }

    /// # Errors
    /// `EFAULT` where the program changed the string meanwhile.
    fn push(&mut self, text: &[u8]) -> Result<(), Errno> {
        for &byte in text {
            *self.room.next().ok_or(Errno::EFAULT)? = byte;
        }
        Ok(())
    }
}
