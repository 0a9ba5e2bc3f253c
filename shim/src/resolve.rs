//! Pins the object that a path leads to, and determines its canonical path. Used by the hooks.
//!
//! A hook uses exactly what it judged, whatever happens to names meanwhile. A descriptor pins the object, or the
//! directory of an entry, and the system tells its path.

use core::ffi::{CStr, c_int};

use jp_confine_engine::decide::{self, Alias, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::views;

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::mmap_box::MmapBox;
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
    is_anonymous, locate, open_held, pin, pin_as_spelled, place_absent, place_of, require_own,
};
#[cfg(target_os = "linux")]
pub(crate) use system::{pin_from_root, pin_without_links};

/// How many symlinks the library itself follows before `ELOOP` (`path_resolution(7)`).
pub(crate) const LINK_BUDGET: u32 = 40;

/// Pins the object of an operation and judges it. Follows symlinks, except at the end with `O_NOFOLLOW`. The verdict is
/// that of the spelling if no symlink is on the way, and otherwise that of the object's place.
///
/// # Errors
/// The kernel's, or that of a denial by `judge`.
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

/// Like [`pin_judged`], in a call that needs much stack otherwise.
///
/// # Errors
/// As [`pin_judged`], and `ENOMEM`.
pub(crate) fn pin_judged_far(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    flags: c_int,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<Object, Errno> {
    match pin_proven(image, spelling, flags, &judge)? {
        Some(proven) => Ok(proven),
        None => pin_by_place(image, call, spelling, flags, &mut *MmapBox::blank()?, judge),
    }
}

/// Pins an object that its spelling alone can judge: the kernel must prove that the spelling is the canonical path.
/// Otherwise returns `None`, with known symlinks expanded.
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

/// Like [`pin_by_place`]. Separate from [`pin_judged`], because the kernel's proof needs no second buffer.
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

/// Pins an object, stores its place in `path` and judges it by that.
///
/// # Errors
/// As [`pin_judged`].
pub(crate) fn pin_by_place(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    flags: c_int,
    path: &mut PathBuffer,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<Object, Errno> {
    match pin(image, spelling, flags, path) {
        Ok(fd) if is_anonymous(path.as_bytes()) => {
            require_own(image, call, spelling)?;
            Ok(fd)
        }
        Ok(fd) => {
            let mut route = Route::default();
            let request = Request::by_route(path.as_bytes(), route.to(image, spelling)?);
            report::apply_verdict(image, judge(image, &request), Subject::of(call, &request))?;
            Ok(fd)
        }
        Err(errno) => {
            apply_verdict_where_absent(image, call, spelling, judge)?;
            Err(errno)
        }
    }
}

/// Judges a path that leads nowhere, by the place where it would lead.
///
/// # Errors
/// That of a denial; `ENOMEM`.
#[cold]
#[inline(never)]
pub(crate) fn apply_verdict_where_absent(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<(), Errno> {
    let route = Route::of(image, spelling)?;
    place_absent(image, spelling);
    let request = route.request(spelling.lexical());
    report::apply_verdict_where_absent(image, judge(image, &request), Subject::of(call, &request))
}

/// A directory entry: its directory, pinned, and its name there.
pub(crate) struct Entry<'a> {
    dir: Directory,
    route: Route,
    /// The canonical path of the directory, a slash, the name, and a slash if the spelling had one.
    text: &'a PathBuffer,
    name_at: usize,
    slash: bool,
}

enum Directory {
    /// The directory of another entry.
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

    /// The descriptor that pins the directory, unless another entry owns it.
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

/// A spelling without `..`, kept because the policy may judge by it. Needed if another spelling replaces it or if it
/// had `..`.
#[derive(Default)]
pub(crate) struct Route(Option<MmapBox<Spelling>>);

impl Route {
    /// The route of `spelling`, taken before that changes.
    ///
    /// # Errors
    /// `ENOMEM`.
    #[cold]
    #[inline(never)]
    pub(crate) fn of(image: &Image<'_>, spelling: &Spelling) -> Result<Self, Errno> {
        Self::kept_if(image.heeds_spellings(), spelling)
    }

    /// The route of an operation that changes something. A policy may judge these by their spelling more often.
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
        let mut kept = MmapBox::<Spelling>::blank()?;
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
    #[cfg(target_os = "linux")] // because only Linux creates nameless files in directories
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

    /// The policy's question about the entry at the canonical `path`.
    pub(crate) fn request<'r>(&'r self, path: &'r [u8]) -> Request<'r> {
        Request::by_route(path, self.0.as_ref().map_or(path, |kept| kept.lexical()))
    }
}

/// Pins the directory of `spelling`'s last component. Afterwards `spelling` holds the canonical path. Returns `None` if
/// the last component is `.`, `..` or the root, which are not entries.
///
/// # Errors
/// The kernel's, if the directory does not exist; `EACCES` if its place is unknown.
pub(crate) fn entry<'a>(
    image: &Image<'_>,
    spelling: &'a mut Spelling,
) -> Result<Option<Entry<'a>>, Errno> {
    if !spelling.split().ordinary {
        return Ok(None);
    }
    let mut route = Route::default();
    if let Some(alias) = known_link(image, spelling, false)
        && alias.end < spelling.lexical().len()
    {
        route = Route::of_change(image, spelling)?;
        spelling.rewrite(alias.end, alias.target)?;
    }
    let slash = spelling.wants_directory();
    let name_at = spelling.split().name_at;
    let dir = system::hold_directory(image, spelling, name_at, |spelling| {
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

/// Like [`entry`], if the directory may be that of `other`, which is already pinned.
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

/// Replaces a symlink that was known when the policy was compiled, and leads the spelling to the backing of a view. That
/// keeps paths below `/bin` and the like on the fast way. A last component that is not followed stays, unless it is the
/// place of a view.
pub(crate) fn expand_alias(
    image: &Image<'_>,
    spelling: &mut Spelling,
    follow: bool,
) -> Result<(), Errno> {
    let Some(alias) = known_link(image, spelling, follow) else { return Ok(()) };
    spelling.rewrite(alias.end, alias.target)?;
    match views::to_backing(image, spelling.lexical()) {
        Some(shown) if !alias.is_view => spelling.rewrite(shown.end, shown.target),
        _ => Ok(()),
    }
}

/// A symlink on the way that was known when the policy was compiled, or the view that shows the path.
fn known_link<'i>(image: &Image<'i>, spelling: &Spelling, follow: bool) -> Option<Alias<'i>> {
    let known = decide::alias(image, spelling.lexical()).filter(|_| spelling.is_lexical());
    known.filter(|alias| follow || alias.is_view || alias.end < spelling.lexical().len())
}
