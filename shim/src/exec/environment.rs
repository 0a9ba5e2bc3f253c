//! The environment of the next program: it must load the shim and find the policy, whatever the
//! program made of its own (spec §11.2, §13).

use core::ffi::c_char;

use jp_confine_policy::image::{Image, Text};

use super::handle::{Handle, Variable};
use super::reader::Reader;
use super::scratch::{Scratch, bytes_of};
use crate::errno::Errno;
use crate::sys::preload::{BYPASS_INITIALS, BYPASSES, PRELOAD, separates};
use crate::sys::process::Strings;

/// Calls `run` with `envp`, or with a copy of it that carries the shim. Returns what `run` says,
/// or why there is no such copy.
pub(crate) fn with_repaired(
    image: &Image<'_>,
    envp: Strings,
    run: impl FnOnce(Strings) -> Errno,
) -> Errno {
    let handle = match Handle::ensure() {
        Ok(handle) => handle,
        Err(errno) => return errno,
    };
    let variable = handle.variable();
    // Of runs inside, any program could have made up the image.
    let shim = image.outermost().text(Text::ShimPath);
    match Survey::of(envp, &variable, shim) {
        Ok(survey) if survey.is_complete() => run(envp),
        Ok(survey) => rebuild(envp, &survey, &variable, shim, run),
        Err(errno) => errno,
    }
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
    bypasses: usize,
}

impl Survey {
    fn of(envp: Strings, variable: &Variable, shim: &[u8]) -> Result<Self, Errno> {
        let mut survey = Self {
            count: 0,
            preload: core::ptr::null(),
            preloads: 0,
            begins_with_shim: false,
            handles: 0,
            names_handle: false,
            bypasses: 0,
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
                survey.names_handle = names(&mut texts, text, variable)?;
            } else if bypasses(&mut texts, text)? {
                survey.bypasses = survey.bypasses.saturating_add(1);
            }
        }
        survey.begins_with_shim =
            !survey.preload.is_null() && begins_with(&mut texts, survey.preload, shim)?;
        Ok(survey)
    }

    const fn is_complete(&self) -> bool {
        self.begins_with_shim
            && self.preloads == 1
            && self.names_handle
            && self.handles == 1
            && self.bypasses == 0
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

/// Calls `run` with a copy in which each of the two variables stands once, at the end.
#[inline(never)]
fn rebuild(
    envp: Strings,
    survey: &Survey,
    variable: &Variable,
    shim: &[u8],
    run: impl FnOnce(Strings) -> Errno,
) -> Errno {
    let mut scratch = Scratch::new();
    match fill(&mut scratch, envp, survey, variable, shim) {
        Ok(list) => run(list),
        Err(errno) => errno,
    }
}

fn fill(
    scratch: &mut Scratch,
    envp: Strings,
    survey: &Survey,
    variable: &Variable,
    shim: &[u8],
) -> Result<Strings, Errno> {
    let mut reader = Reader::new();
    let own = if survey.preload.is_null() { 0 } else { reader.length(survey.preload)? };
    // The two variables and the null pointer.
    let pointers = survey.count.saturating_add(3);
    // The colon and the NUL.
    let text = PRELOAD.len().saturating_add(own).saturating_add(shim.len()).saturating_add(2);
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
            || bypasses(&mut texts, entry)?;
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
