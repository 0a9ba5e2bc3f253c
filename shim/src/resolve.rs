//! Pins the object that a path leads to, and finds its canonical path.
//!
//! The object that was checked is the one that is used, even if names change meanwhile. A descriptor pins the object,
//! or the directory of an entry, and the system says where that is.

use core::ffi::{CStr, c_int};

use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::Image;

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::far::Far;
use crate::path::Spelling;
use crate::report::{self, Subject};
use crate::sys::{Fd, Object};

#[cfg(target_os = "linux")]
#[path = "resolve/linux.rs"]
mod system;
#[cfg(target_os = "macos")]
#[path = "resolve/macos.rs"]
mod system;

pub(crate) use system::{
    is_anonymous, locate, open_held, pin, place_absent, place_of, require_own,
};
#[cfg(target_os = "linux")]
pub(crate) use system::{pin_from_root, pin_without_links};

/// How many symlinks the library follows itself before `ELOOP` (`path_resolution(7)`).
pub(crate) const LINK_BUDGET: u32 = 40;

/// Pins an object, following symlinks unless `flags` has `O_NOFOLLOW`, and checks it against the policy. Uses the
/// spelling for the check if it contains no symlink, and the object's own path otherwise.
///
/// # Errors
/// The kernel's, or those of the report for a denial.
pub(crate) fn pin_judged(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    flags: c_int,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<Object, Errno> {
    match pin_proven(image, spelling, flags, &judge)? {
        Some(proven) => Ok(proven),
        None => pin_on_stack(image, call, spelling, flags, judge),
    }
}

/// As [`pin_judged`], for calls that need much of the stack themselves.
///
/// # Errors
/// As for [`pin_judged`], and `ENOMEM`.
pub(crate) fn pin_judged_far(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    flags: c_int,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<Object, Errno> {
    match pin_proven(image, spelling, flags, &judge)? {
        Some(proven) => Ok(proven),
        None => pin_by_place(image, call, spelling, flags, &mut *Far::blank()?, judge),
    }
}

/// Pins an object that can be checked by its spelling alone, because the kernel proves that it is the canonical path.
/// If not, returns `None` with known symlinks expanded.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is the way that nearly every call goes")]
fn pin_proven(
    image: &Image<'_>,
    spelling: &mut Spelling,
    flags: c_int,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<Option<Object>, Errno> {
    expand_alias(image, spelling, flags & libc::O_NOFOLLOW == 0)?;
    #[cfg(target_os = "linux")]
    if spelling.is_lexical() && judge(image, &spelling.request()) == Verdict::Allow {
        return system::pin_without_links(spelling, flags).transpose();
    }
    #[cfg(target_os = "macos")]
    let _ = judge;
    Ok(None)
}

/// As [`pin_by_place`]. Separate from [`pin_judged`], because the kernel's proof needs no second buffer.
#[inline(never)]
fn pin_on_stack(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    flags: c_int,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<Object, Errno> {
    pin_by_place(image, call, spelling, flags, &mut PathBuffer::new(), judge)
}

/// Pins an object and checks the path where it is, which goes to `path`.
fn pin_by_place(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    flags: c_int,
    path: &mut PathBuffer,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<Object, Errno> {
    match pin(spelling, flags, path) {
        Ok(fd) if is_anonymous(path.as_bytes()) => {
            require_own(image, call, spelling)?;
            Ok(fd)
        }
        Ok(fd) => {
            let mut route = Route::default();
            let request = Request::by_route(path.as_bytes(), route.to(image, spelling)?);
            report::settle(image, judge(image, &request), Subject::of(call, &request))?;
            Ok(fd)
        }
        Err(errno) => {
            settle_absent(image, call, spelling, judge)?;
            Err(errno)
        }
    }
}

/// Checks a path that does not exist, by the place where it would be.
///
/// # Errors
/// Those of the report for a denial; `ENOMEM`.
#[cold]
#[inline(never)]
pub(crate) fn settle_absent(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<(), Errno> {
    let route = Route::of(image, spelling)?;
    place_absent(image, spelling);
    let request = route.request(spelling.lexical());
    report::settle_absent(image, judge(image, &request), Subject::of(call, &request))
}

/// A directory entry: its pinned directory and its name there.
pub(crate) struct Entry<'a> {
    dir: Directory,
    route: Route,
    /// The directory's canonical path, a slash, the name, and the trailing slash if the program wrote one.
    text: &'a PathBuffer,
    name_at: usize,
    slash: bool,
}

enum Directory {
    /// The descriptor of another entry's directory.
    Borrowed(c_int),
    Held(Fd),
}

impl Entry<'_> {
    pub(crate) const fn dirfd(&self) -> c_int {
        match &self.dir {
            Directory::Borrowed(fd) => *fd,
            Directory::Held(fd) => fd.raw(),
        }
    }

    /// The directory's descriptor, unless it belongs to another entry.
    pub(crate) fn into_held(self) -> Option<Fd> {
        match self.dir {
            Directory::Borrowed(_) => None,
            Directory::Held(fd) => Some(fd),
        }
    }

    /// Whether a trailing slash follows the name.
    pub(crate) const fn wants_directory(&self) -> bool {
        self.slash
    }

    pub(crate) fn name(&self) -> &CStr {
        self.text.c_str(self.name_at)
    }

    /// The canonical path of the entry.
    pub(crate) fn path(&self) -> &[u8] {
        match self.text.as_bytes() {
            [path @ .., b'/'] if self.slash => path,
            path => path,
        }
    }

    pub(crate) fn request(&self) -> Request<'_> {
        self.route.request(self.path())
    }
}

/// A copy of a spelling without `..`, for checks by spelling. Kept if the spelling is replaced or has `..`, and the
/// policy may depend on it.
#[derive(Default)]
pub(crate) struct Route(Option<Far<Spelling>>);

impl Route {
    /// A copy of `spelling`, made before `spelling` changes.
    ///
    /// # Errors
    /// `ENOMEM`.
    #[cold]
    #[inline(never)]
    pub(crate) fn of(image: &Image<'_>, spelling: &Spelling) -> Result<Self, Errno> {
        Self::kept_if(image.heeds_spellings(), spelling)
    }

    /// As [`Self::of`], for a change at that place. Policies depend on the spelling of changes more often.
    ///
    /// # Errors
    /// `ENOMEM`.
    #[cold]
    #[inline(never)]
    pub(crate) fn of_change(image: &Image<'_>, spelling: &Spelling) -> Result<Self, Errno> {
        Self::kept_if(image.heeds_spellings_of_changes(), spelling)
    }

    fn kept_if(heeded: bool, spelling: &Spelling) -> Result<Self, Errno> {
        if !heeded {
            return Ok(Self(None));
        }
        let mut kept = Far::<Spelling>::blank()?;
        kept.copy(spelling)?;
        if !kept.is_lexical() {
            kept.collapse();
        }
        Ok(Self(Some(kept)))
    }

    /// The route of any name in the directory that `spelling` leads to.
    ///
    /// # Errors
    /// `ENOMEM`, `ENAMETOOLONG`.
    #[cfg(target_os = "linux")] // only Linux creates unnamed files in directories
    pub(crate) fn into(image: &Image<'_>, spelling: &Spelling, name: &[u8]) -> Result<Self, Errno> {
        let mut route = Self::of_change(image, spelling)?;
        if let Some(kept) = &mut route.0 {
            kept.text_mut().push_separator()?;
            kept.text_mut().push(name)?;
        }
        Ok(route)
    }

    /// The spelling of the object that `spelling` leads to.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(crate) fn to<'r>(
        &'r mut self,
        image: &Image<'_>,
        spelling: &'r Spelling,
    ) -> Result<&'r [u8], Errno> {
        if !spelling.is_lexical() {
            *self = Self::of(image, spelling)?;
        }
        Ok(self.0.as_ref().map_or_else(|| spelling.lexical(), |kept| kept.lexical()))
    }

    /// The question to the policy about the entry at the canonical `path`.
    pub(crate) fn request<'r>(&'r self, path: &'r [u8]) -> Request<'r> {
        Request::by_route(path, self.0.as_ref().map_or(path, |kept| kept.lexical()))
    }
}

/// Pins the directory that contains `spelling`'s last component. Afterwards `spelling` holds the canonical path. `None`
/// if the last component is `.`, `..` or the root, which are not entries.
///
/// # Errors
/// The kernel's, if there is no such directory. `EACCES` if its path is unknown.
pub(crate) fn entry<'a>(
    image: &Image<'_>,
    spelling: &'a mut Spelling,
) -> Result<Option<Entry<'a>>, Errno> {
    if !spelling.split().ordinary {
        return Ok(None);
    }
    let mut route = Route::default();
    if let Some((consumed, target)) = known_link(image, spelling, false) {
        route = Route::of_change(image, spelling)?;
        spelling.rewrite(consumed, target)?;
    }
    let slash = spelling.wants_directory();
    let name_at = spelling.split().name_at;
    let dir = system::hold_directory(spelling, name_at, |spelling| {
        if route.0.is_none() {
            route = Route::of_change(image, spelling)?;
        }
        Ok(())
    })?;
    #[cfg(target_os = "macos")]
    system::require_directory(&dir, spelling)?;
    let name_at = spelling.split().name_at;
    Ok(Some(Entry { dir: Directory::Held(dir), route, text: spelling.text(), name_at, slash }))
}

/// As [`entry`], for a directory that is likely the one that `other` has pinned.
pub(crate) fn entry_beside<'a>(
    image: &Image<'_>,
    other: &Entry<'_>,
    spelling: &'a mut Spelling,
) -> Result<Option<Entry<'a>>, Errno> {
    let split = spelling.split();
    let here = spelling.text().as_bytes().get(..split.name_at);
    let there = other.text.as_bytes().get(..other.name_at);
    if system::TRUSTS_SPELLING && split.ordinary && spelling.is_lexical() && here == there {
        let slash = spelling.wants_directory();
        let dir = Directory::Borrowed(other.dirfd());
        let (route, name_at) = (Route::default(), split.name_at);
        return Ok(Some(Entry { dir, route, text: spelling.text(), name_at, slash }));
    }
    entry(image, spelling)
}

/// Replaces a symlink that was known when the policy was compiled, so that paths below `/bin` and the like take the
/// fast path. Keeps the last component unless `follow` is set.
pub(crate) fn expand_alias(
    image: &Image<'_>,
    spelling: &mut Spelling,
    follow: bool,
) -> Result<(), Errno> {
    match known_link(image, spelling, follow) {
        Some((consumed, target)) => spelling.rewrite(consumed, target),
        None => Ok(()),
    }
}

/// A symlink on the path that was known when the policy was compiled: the length of the spelling that it replaces, and
/// its target.
fn known_link<'i>(
    image: &Image<'i>,
    spelling: &Spelling,
    follow: bool,
) -> Option<(usize, &'i [u8])> {
    let known = decide::alias(image, spelling.lexical()).filter(|_| spelling.is_lexical());
    known.filter(|(consumed, _)| follow || *consumed < spelling.lexical().len())
}
