//! Prepares the environment of the next program, whatever the caller put in it (spec §11.2, §13). The program must load
//! the library and find the policy. It also gets the directory for temporary files unless it has one.

use core::ffi::{CStr, c_char};

use jp_confine_engine::image::{Image, Text};
use jp_confine_engine::invocation::Admission;
use jp_confine_engine::variables::{self, LONGEST};

use super::handle::{ChildHandle, Variable};
use super::loader_lists::Judge;
use super::reader::Reader;
use super::scratch::{Scratch, bytes_of};
use crate::buffer::Buffer;
use crate::errno::Errno;
use crate::sys::preload::{BYPASS_INITIALS, BYPASSES, LIBRARY_PATHS, PRELOAD, separates};
use crate::sys::process::Strings;

/// The variables that the next program may not have.
pub(super) struct Withheld<'i> {
    image: &'i Image<'i>,
    admission: Admission,
    /// Whether the policy withholds any variable.
    any: bool,
}

impl<'i> Withheld<'i> {
    pub(super) fn of(image: &'i Image<'i>, admission: Admission) -> Self {
        Self { image, admission, any: variables::are_withheld(image) }
    }

    /// Whether the policy withholds the variable `text`.
    fn covers(&self, reader: &mut Reader, text: *const c_char) -> Result<bool, Errno> {
        if !self.any {
            return Ok(false);
        }
        // The beginning of a longer name is enough to decide.
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

/// Calls `run` with `envp`, or with a copy that carries the library and no withheld variables. If the library alone
/// confines the run, the copy also names nothing for the loader that the program may not read. Such entries are left
/// out and reported, as the loader itself leaves out files that it cannot read. Returns the result of `run`, or why the
/// copy failed.
#[inline(never)]
pub(super) fn with_repaired(
    call: &CStr,
    withheld: &Withheld<'_>,
    envp: Strings,
    run: impl FnOnce(Strings) -> Errno,
) -> Errno {
    let handle = match ChildHandle::ensure() {
        Ok(handle) => handle,
        Err(errno) => return errno,
    };
    let variable = handle.variable();
    // Any program could have written the image of a nested run.
    let shim = withheld.image.outermost().text(Text::ShimPath);
    let image = withheld.image;
    let judge = (!image.holds_other_programs()).then_some(Judge { image, call });
    let own = Own { variable: &variable, shim, temp: image.text(Text::TempDir), judge };
    match Survey::of(envp, &own, withheld) {
        Ok(survey) if survey.is_complete() => run(envp),
        Ok(survey) if survey.lists > 0 => {
            rebuild::<NEAR_JUDGED, true>(envp, &survey, &own, withheld, run)
        }
        Ok(survey) => rebuild::<NEAR, false>(envp, &survey, &own, withheld, run),
        Err(errno) => errno,
    }
}

/// The variable that names the directory for temporary files. The program's own value stays.
const TEMP: &[u8] = b"TMPDIR=";

/// The library's entries in every environment: the policy's descriptors, the library's path and the directory for
/// temporary files.
struct Own<'a> {
    variable: &'a Variable,
    shim: &'a [u8],
    temp: &'a [u8],
    /// Judges files that the loader opens, if no other layer does.
    judge: Option<Judge<'a>>,
}

/// Facts about the variables of an environment that matter here.
struct Survey {
    count: usize,
    /// The value of the last [`PRELOAD`], which the loaders use; null if there is none.
    preload: *const c_char,
    preloads: usize,
    begins_with_shim: bool,
    handles: usize,
    names_handle: bool,
    has_temp: bool,
    /// How many lists of other files for the loader this module must judge.
    lists: usize,
    /// Total length of the entries that list directories, with their NULs.
    directories: usize,
    /// How many variables the next program must not get.
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
            lists: 0,
            directories: 0,
            banned: 0,
        };
        let judges = own.judge.is_some();
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
            } else if judges && lists_directories(&mut texts, text)?.is_some() {
                survey.lists = survey.lists.saturating_add(1);
                let length = texts.length(text)?.saturating_add(1);
                survey.directories = survey.directories.saturating_add(length);
            }
        }
        survey.begins_with_shim =
            !survey.preload.is_null() && begins_with(&mut texts, survey.preload, own.shim)?;
        let behind = if survey.begins_with_shim { own.shim.len() } else { 0 };
        if judges && !survey.preload.is_null() && texts.byte(survey.preload, behind)? != 0 {
            survey.lists = survey.lists.saturating_add(1);
        }
        Ok(survey)
    }

    const fn is_complete(&self) -> bool {
        self.begins_with_shim
            && self.preloads == 1
            && self.names_handle
            && self.handles == 1
            && self.has_temp
            && self.lists == 0
            && self.banned == 0
    }
}

/// Whether an entry names this process's descriptors. A nested run appends its own image.
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

/// The name and the list of an entry that lists library directories.
fn lists_directories(
    reader: &mut Reader,
    text: *const c_char,
) -> Result<Option<(&'static [u8], *const c_char)>, Errno> {
    for name in LIBRARY_PATHS {
        if let Some(list) = reader.after(text, name)? {
            return Ok(Some((name, list)));
        }
    }
    Ok(None)
}

/// Whether `path` is the first entry of `list`. Any library before it would hide its functions, even libc itself, which
/// can be preloaded like any library.
fn begins_with(reader: &mut Reader, list: *const c_char, path: &[u8]) -> Result<bool, Errno> {
    let Some(rest) = reader.after(list, path)? else { return Ok(false) };
    let end = reader.byte(rest, 0)?;
    Ok(end == 0 || separates(end))
}

/// Up to this many words for variables and preload list, the environment needs no mapping.
const NEAR: usize = 512;

/// The same limit if lists are judged, because judging needs stack, too.
const NEAR_JUDGED: usize = 440;

/// Calls `run` with a copy that has each of the library's variables once. If `JUDGES`, it names nothing that the loader
/// may not open.
#[inline(never)]
fn rebuild<const N: usize, const JUDGES: bool>(
    envp: Strings,
    survey: &Survey,
    own: &Own<'_>,
    withheld: &Withheld<'_>,
    run: impl FnOnce(Strings) -> Errno,
) -> Errno {
    let mut scratch = Scratch::<N>::new();
    match fill::<N, JUDGES>(&mut scratch, envp, survey, own, withheld) {
        Ok(list) => run(list),
        Err(errno) => errno,
    }
}

/// Builds the copy in `scratch`. If `JUDGES`, it names nothing that the loader may not open.
fn fill<const N: usize, const JUDGES: bool>(
    scratch: &mut Scratch<N>,
    envp: Strings,
    survey: &Survey,
    &Own { variable, shim, temp, judge }: &Own<'_>,
    withheld: &Withheld<'_>,
) -> Result<Strings, Errno> {
    let judge = if JUDGES { judge } else { None };
    let mut reader = Reader::new();
    let given = if survey.preload.is_null() { 0 } else { reader.length(survey.preload)? };
    // Room for the library's three variables and the null pointer.
    let pointers = survey.count.saturating_add(4);
    // The colon, and a NUL for each entry.
    let names = PRELOAD.len().saturating_add(TEMP.len()).saturating_add(3);
    let text = names.saturating_add(given).saturating_add(shim.len()).saturating_add(temp.len());
    let text = text.saturating_add(survey.directories);
    let words = scratch.words(pointers.saturating_add(text.div_ceil(size_of::<usize>())))?;
    let (list, room) = words.split_at_mut_checked(pointers).ok_or(Errno::ENOMEM)?;
    let mut texts = Texts { room: bytes_of(room) };
    let temp = if survey.has_temp { None } else { Some(texts.entry(&[TEMP, temp])?) };
    let mut slots = list.iter_mut();
    let mut entries = Reader::new();
    // A nested run has appended its own image.
    let keeps_handle = survey.names_handle && survey.handles == 1;
    // The loaders use the last list.
    let mut directories: &[u8] = &[];
    for index in 0..survey.count {
        let entry = reader.string(envp, index)?;
        if entry.is_null() {
            break;
        }
        let dropped = entries.after(entry, PRELOAD)?.is_some()
            || !keeps_handle && entries.after(entry, crate::handle::VARIABLE)?.is_some()
            || bypasses(&mut entries, entry)?
            || withheld.covers(&mut entries, entry)?;
        if dropped {
            continue;
        }
        let listed = if judge.is_some() { lists_directories(&mut entries, entry)? } else { None };
        let entry = match (judge, listed) {
            (Some(judge), Some((name, list))) => {
                let start = texts.push(name)?;
                directories = texts.list(&mut entries, list, |list| judge.directories(list))?;
                texts.push(&[0])?;
                start
            }
            _ => entry.cast(),
        };
        if let Some(slot) = slots.next() {
            *slot = entry.expose_provenance();
        }
    }
    let preload = texts.preload(&mut reader, survey, shim, |list| {
        judge.map_or(list.len(), |judge| judge.libraries(list, directories))
    })?;
    let variable = if keeps_handle { None } else { Some(variable.as_ptr()) };
    for added in [Some(preload), temp, variable].into_iter().flatten() {
        *slots.next().ok_or(Errno::EFAULT)? = added.expose_provenance();
    }
    *slots.next().ok_or(Errno::EFAULT)? = 0;
    Ok(list.as_ptr().cast())
}

/// Memory where new entries are written one after another.
struct Texts<'a> {
    room: &'a mut [u8],
}

impl<'a> Texts<'a> {
    /// Writes the new [`PRELOAD`] entry: the library, then the user's own entries that `filter` keeps. Returns its
    /// address.
    fn preload(
        &mut self,
        reader: &mut Reader,
        survey: &Survey,
        shim: &[u8],
        filter: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<*const u8, Errno> {
        let start = self.push(PRELOAD)?;
        self.push(shim)?;
        let mut given = survey.preload;
        if survey.begins_with_shim {
            given = given.wrapping_add(shim.len());
        }
        if !given.is_null() && reader.byte(given, 0)? != 0 {
            // After the library, the list goes on with a separator.
            if survey.begins_with_shim {
                given = given.wrapping_add(1);
            }
            self.push(b":")?;
            self.list(reader, given, filter)?;
        }
        self.push(&[0])?;
        Ok(start)
    }

    /// Copies a list. `filter` changes the copy and returns how much of it to keep.
    fn list(
        &mut self,
        reader: &mut Reader,
        text: *const c_char,
        filter: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<&'a [u8], Errno> {
        let room = core::mem::take(&mut self.room);
        let mut length = 0_usize;
        loop {
            let byte = reader.byte(text, length)?;
            if byte == 0 {
                break;
            }
            *room.get_mut(length).ok_or(Errno::EFAULT)? = byte;
            length = length.saturating_add(1);
        }
        let kept = filter(room.get_mut(..length).ok_or(Errno::EFAULT)?);
        let (list, rest) = room.split_at_mut_checked(kept).ok_or(Errno::EFAULT)?;
        self.room = rest;
        Ok(list)
    }

    /// Writes an entry of these parts and returns its address.
    fn entry(&mut self, parts: &[&[u8]]) -> Result<*const u8, Errno> {
        let start = self.room.as_ptr();
        for part in parts {
            self.push(part)?;
        }
        self.push(&[0])?;
        Ok(start)
    }

    /// Writes `text` and returns its address.
    ///
    /// # Errors
    /// `EFAULT` if the program changed the string meanwhile.
    fn push(&mut self, text: &[u8]) -> Result<*const u8, Errno> {
        let room = core::mem::take(&mut self.room);
        let (here, rest) = room.split_at_mut_checked(text.len()).ok_or(Errno::EFAULT)?;
        for (to, from) in here.iter_mut().zip(text) {
            *to = *from;
        }
        self.room = rest;
        Ok(here.as_ptr())
    }
}
