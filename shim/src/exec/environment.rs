//! The environment of the next program: it must load the shim and find the policy, and the folder for temporary
//! files if it is told of no other, whatever the program made of its own (spec §11.2, §13).

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
    let own = Own { variable: &variable, shim, temp: withheld.image.text(Text::TempDir) };
    match Survey::of(envp, &own, withheld) {
        Ok(survey) if survey.is_complete() => run(envp),
        Ok(survey) => rebuild(envp, &survey, &own, withheld, run),
        Err(errno) => errno,
    }
}

/// The variable that names the folder for temporary files. A value of the program's own stays.
const TEMP: &[u8] = b"TMPDIR=";

/// What every environment has of the shim: the variable that names the policy, the path of itself, and that of
/// the folder for temporary files.
struct Own<'a> {
    variable: &'a Variable,
    shim: &'a [u8],
    temp: &'a [u8],
}

/// What an environment holds of the variables that matter.
struct Survey {
    count: usize,
    /// The value of the last [`PRELOAD`], the one that loaders heed; null for none.
    preload: *const c_char,
    preloads: usize,
    begins_with_shim: bool,
    handles: usize,
    names_handle: bool,
    has_temp: bool,
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
            has_temp: own.temp.is_empty(),
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
            } else if texts.after(text, TEMP)?.is_some() {
                survey.has_temp = true;
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
            && self.has_temp
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

/// Calls `run` with a copy in which each of the two variables of the shim stands once, at the end.
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
    &Own { variable, shim, temp }: &Own<'_>,
    withheld: &Withheld<'_>,
) -> Result<Strings, Errno> {
    let mut reader = Reader::new();
    let given = if survey.preload.is_null() { 0 } else { reader.length(survey.preload)? };
    // The three variables and the null pointer.
    let pointers = survey.count.saturating_add(4);
    // The colon, and a NUL for each.
    let names = PRELOAD.len().saturating_add(TEMP.len()).saturating_add(3);
    let text = names.saturating_add(given).saturating_add(shim.len()).saturating_add(temp.len());
    let words = scratch.words(pointers.saturating_add(text.div_ceil(size_of::<usize>())))?;
    let (list, room) = words.split_at_mut_checked(pointers).ok_or(Errno::ENOMEM)?;
    let mut texts = Texts { room: bytes_of(room) };
    let preload = texts.preload(&mut reader, survey, shim)?;
    let temp = if survey.has_temp { None } else { Some(texts.entry(&[TEMP, temp])?) };
    let mut slots = list.iter_mut();
    let mut entries = Reader::new();
    for index in 0..survey.count {
        let entry = reader.string(envp, index)?;
        if entry.is_null() {
            break;
        }
        let dropped = entries.after(entry, PRELOAD)?.is_some()
            || entries.after(entry, crate::handle::VARIABLE)?.is_some()
            || bypasses(&mut entries, entry)?
            || withheld.covers(&mut entries, entry)?;
        if !dropped && let Some(slot) = slots.next() {
            *slot = entry.expose_provenance();
        }
    }
    for added in [Some(preload), temp, Some(variable.as_ptr())].into_iter().flatten() {
        *slots.next().ok_or(Errno::EFAULT)? = added.expose_provenance();
    }
    *slots.next().ok_or(Errno::EFAULT)? = 0;
    Ok(list.as_ptr().cast())
}

/// Where new entries are written, one behind the other.
struct Texts<'a> {
    room: &'a mut [u8],
}

impl Texts<'_> {
    /// The new [`PRELOAD`] entry: the shim, then the user's own; its address.
    fn preload(
        &mut self,
        reader: &mut Reader,
        survey: &Survey,
        shim: &[u8],
    ) -> Result<*const u8, Errno> {
        let start = self.room.as_ptr();
        self.push(PRELOAD)?;
        if !survey.begins_with_shim {
            self.push(shim)?;
        }
        let mut separator: &[u8] = if survey.begins_with_shim { b"" } else { b":" };
        let mut length = 0_usize;
        while !survey.preload.is_null() {
            let byte = reader.byte(survey.preload, length)?;
            if byte == 0 {
                break;
            }
            self.push(core::mem::take(&mut separator))?;
            self.push(&[byte])?;
            length = length.saturating_add(1);
        }
        self.push(&[0])?;
        Ok(start)
    }

    /// An entry of these parts; its address.
    fn entry(&mut self, parts: &[&[u8]]) -> Result<*const u8, Errno> {
        let start = self.room.as_ptr();
        for part in parts {
            self.push(part)?;
        }
        self.push(&[0])?;
        Ok(start)
    }

    /// # Errors
    /// `EFAULT` where the program changed the string meanwhile.
    fn push(&mut self, text: &[u8]) -> Result<(), Errno> {
        let room = core::mem::take(&mut self.room);
        let (here, rest) = room.split_at_mut_checked(text.len()).ok_or(Errno::EFAULT)?;
        for (to, from) in here.iter_mut().zip(text) {
            *to = *from;
        }
        self.room = rest;
        Ok(())
    }
}
