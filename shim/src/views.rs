//! Follows a name through the run's views, component by component (spec §12.2). The kernel knows no views: it would follow
//! a symlink into a view's place. Used by `resolve`, and by the hooks that pass the program's own name on.

use core::ffi::{CStr, c_char, c_int};

use jp_confine_engine::decide::Request;
use jp_confine_engine::image::Image;
use jp_confine_engine::{existing, views};

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::memory::Text;
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::plain_ways::SpelledDirectory;
use crate::resolve::{self, LINK_BUDGET};
use crate::{memory, session, sys, working_directory};

/// The path of a name on its way.
struct Way<'i, 's> {
    image: &'i Image<'i>,
    /// The way so far, as programs name it and without symlinks, and then the names that are left.
    text: &'s mut PathBuffer,
    /// The end of the way so far.
    done: usize,
    /// The way began with a symlink that no view applies to: its text begins with two slashes.
    plain: bool,
    /// A view was on the way.
    is_led: bool,
}

/// What a name on the way turned out to be.
enum Step {
    /// A directory entry that is no symlink.
    Entry,
    /// A symlink, whose target now stands in its place.
    Link,
    /// The kernel must find out.
    Unknown,
}

/// Whether a view may lie on the way of the spelling, or on the way back up from where it begins.
pub(crate) fn concern(image: &Image<'_>, spelling: &Spelling) -> bool {
    let path = spelling.text().as_bytes();
    spelling.is_from_view()
        || views::to_place(image, path).is_some()
        || views::to_backing(image, path).is_some()
}

/// Whether the program's name begins with `..`, and so may leave a directory that a view shows.
pub(crate) fn may_go_up(image: &Image<'_>, dirfd: c_int, name: *const c_char) -> bool {
    // Reading the name may take a system call.
    let may_start_in_view =
        || dirfd != libc::AT_FDCWD || !working_directory::shows_everything(image);
    let is_dot =
        |at: usize| memory::first_byte(name.wrapping_add(at)).is_ok_and(|byte| byte == b'.');
    views::exist(image) && may_start_in_view() && is_dot(0) && is_dot(1)
}

/// Replaces the path up to `end`, where a relative name starts, by the name that programs know it by. The name may go up
/// from there. Returns whether a view shows that directory.
///
/// # Errors
/// `ENAMETOOLONG`.
pub(crate) fn show_start(text: &mut PathBuffer, end: usize) -> Result<bool, Errno> {
    let Some(image) = session::known_image() else { return Ok(false) };
    let start = text.as_bytes().get(..end).unwrap_or(&[]);
    let Some(seen) = views::to_place(image, start) else { return Ok(false) };
    text.replace_start(seen.end, seen.target).map(|()| true)
}

/// Whether the kernel may give this error for a name because it knows no views.
pub(crate) fn may_hide(image: &Image<'_>, errno: Errno) -> bool {
    let is_about_names = matches!(errno, Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES);
    is_about_names && views::exist(image)
}

/// Whether a symlink is on the way of the program's name, which may then lead through a view. `why` is the kernel's error
/// for the name, or for the entry itself if the way `stops` there.
pub(crate) fn may_lead(dirfd: c_int, path: Text, stops: bool, why: Errno) -> bool {
    let directory = SpelledDirectory::of(dirfd, path).filter(|_| why == Errno::ENOENT);
    if stops && directory.is_some_and(SpelledDirectory::is_plain) {
        return false;
    }
    let found = sys::pin_spelled_without_links(dirfd, path.as_ptr(), stops);
    if found == Err(Errno::ENOENT) {
        directory.inspect(|directory| directory.remember());
    }
    found == Err(Errno::ELOOP)
}

/// Rewrites `spelling` to the canonical path that it leads to, as far as its names exist, if a view is on the way.
/// Otherwise it stays as it is: its symlinks may have names that rules are about. Keeps a symlink at the end if it `stops`,
/// and symlinks in `/proc` that stand for objects other than the root directory. Returns whether a view was on the way.
///
/// # Errors
/// `ELOOP`, `ENOTDIR`, `ENAMETOOLONG`, `ENOMEM`.
#[cold]
#[inline(never)]
pub(crate) fn follow(
    image: &Image<'_>,
    spelling: &mut Spelling,
    stops: bool,
) -> Result<bool, Errno> {
    if spelling.is_lexical() && is_direct(image, spelling, stops)? {
        let is_shown = || views::to_place(image, spelling.lexical()).is_some();
        return Ok(spelling.is_from_view() || is_shown());
    }
    walk(image, spelling, stops, None::<&fn(&[u8]) -> bool>)
}

/// Like [`follow`], for a path that leads nowhere, even if no view is on the way. Follows a symlink only if the policy
/// shows it.
///
/// # Errors
/// As [`follow`].
pub(crate) fn follow_shown(image: &Image<'_>, spelling: &mut Spelling) -> Result<(), Errno> {
    let shows = |path: &[u8]| existing::shows(image, &Request::canonical(path));
    walk(image, spelling, false, Some(&shows)).map(|_| ())
}

/// Generic, because [`follow`] has no stack left to ask what the policy `shows`.
fn walk(
    image: &Image<'_>,
    spelling: &mut Spelling,
    stops: bool,
    shows: Option<&impl Fn(&[u8]) -> bool>,
) -> Result<bool, Errno> {
    let mut text = MmapBox::<PathBuffer>::blank()?;
    text.push(spelling.text().as_bytes())?;
    let seen = views::to_place(image, text.as_bytes());
    if let Some(seen) = seen {
        text.replace_start(seen.end, seen.target)?;
    }
    let mut real = MmapBox::<PathBuffer>::blank()?;
    let mut target = MmapBox::<PathBuffer>::blank()?;
    let is_led = seen.is_some() || spelling.is_from_view();
    let mut way = Way { image, text: &mut text, done: 0, plain: false, is_led };
    let mut links = LINK_BUDGET;
    while let Some(end) = way.next(&mut real)? {
        let is_last = way.rest(end).iter().all(|&byte| byte == b'/');
        if is_last && stops && way.rest(end).is_empty() {
            break;
        }
        way.lead(end, &mut real)?;
        if shows.is_some_and(|shows| !shows(real.as_bytes())) {
            break;
        }
        match way.step(end, &real, &mut target)? {
            Step::Entry => way.done = end,
            Step::Link => links = links.checked_sub(1).ok_or(Errno::ELOOP)?,
            Step::Unknown => break,
        }
    }
    if way.text.len() == 0 {
        way.text.push(b"/")?;
    }
    let (plain, is_led) = (way.plain, way.is_led);
    let led = views::to_backing(image, text.as_bytes()).filter(|_| !plain);
    if !is_led && led.is_none() && shows.is_none() {
        return Ok(false);
    }
    spelling.text_mut().clear();
    spelling.text_mut().push(text.as_bytes())?;
    let (end, target) = led.map_or((0, &[][..]), |led| (led.end, led.target));
    spelling.lead(end, target).map(|()| true)
}

/// The path that the name leads to, if a view is on the way. The `flags` are those of execveat(2).
pub(crate) fn led(
    image: &Image<'_>,
    dirfd: c_int,
    name: &CStr,
    flags: c_int,
) -> Option<MmapBox<Spelling>> {
    let stops = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
    if views::exist(image) { led_by_view(image, dirfd, name, stops) } else { None }
}

#[cold]
#[inline(never)]
fn led_by_view(
    image: &Image<'_>,
    dirfd: c_int,
    name: &CStr,
    stops: bool,
) -> Option<MmapBox<Spelling>> {
    let mut spelling = MmapBox::<Spelling>::blank().ok()?;
    spelling.read_own(dirfd, name.to_bytes()).ok()?;
    let has_link =
        || sys::pin_spelled_without_links(dirfd, name.as_ptr(), stops) == Err(Errno::ELOOP);
    (concern(image, &spelling) || has_link()).then_some(())?;
    follow(image, &mut spelling, stops).ok()?.then_some(spelling)
}

/// Where the `name` of a file leads that libc opens itself, if a view is on the way. libc searches for a name without a
/// slash.
pub(crate) fn led_file(name: *const c_char) -> Option<MmapBox<Spelling>> {
    let image = session::image().ok().filter(|image| views::exist(image))?;
    let mut copy = MmapBox::<PathBuffer>::blank().ok()?;
    memory::copy_path(name, &mut copy).ok()?;
    copy.as_bytes().contains(&b'/').then_some(())?;
    led(image, libc::AT_FDCWD, copy.c_str(0), 0)
}

/// Leads the spelling to the backing. Returns whether that is all, because no symlink is on the way.
fn is_direct(image: &Image<'_>, spelling: &mut Spelling, stops: bool) -> Result<bool, Errno> {
    resolve::expand_alias(image, spelling, !stops)?;
    let (root, path) = spelling.rooted();
    Ok(sys::pin_spelled_without_links(root, path.as_ptr(), stops) != Err(Errno::ELOOP))
}

impl Way<'_, '_> {
    /// Takes `.` and `..` off the rest, up to the next name. Returns the end of that name, or `None` at the end. Uses
    /// `real` for paths.
    ///
    /// # Errors
    /// Those of the kernel for `..` behind what is no directory.
    fn next(&mut self, real: &mut PathBuffer) -> Result<Option<usize>, Errno> {
        loop {
            let rest = self.rest(self.done);
            let Some(skip) = rest.iter().position(|&byte| byte != b'/') else { return Ok(None) };
            let start = self.done.saturating_add(skip);
            let name = self.rest(start).split(|&byte| byte == b'/').next().unwrap_or(&[]);
            let end = start.saturating_add(name.len());
            match name {
                b"." => self.text.replace(self.done, end, b"")?,
                b".." => {
                    self.lead(self.done, real)?;
                    sys::openat(libc::AT_FDCWD, real.c_str(0), sys::HOLD_DIRECTORY, 0)?;
                    self.go_up(end)?;
                }
                name => {
                    let end = self.done.saturating_add(name.len()).saturating_add(1);
                    self.text.replace(self.done, start, b"/")?;
                    return Ok(Some(end));
                }
            }
        }
    }

    /// The text from byte `at` on.
    fn rest(&self, at: usize) -> &[u8] {
        self.text.as_bytes().get(at..).unwrap_or(&[])
    }

    /// Removes the last name of the way so far, and what follows up to `end`.
    fn go_up(&mut self, end: usize) -> Result<(), Errno> {
        let way = self.text.as_bytes().get(..self.done).unwrap_or(&[]);
        self.done = way.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        self.text.replace(self.done, end, b"")?;
        let way = self.text.as_bytes().get(..self.done).unwrap_or(&[]);
        self.plain = self.plain && views::to_backing(self.image, way).is_some();
        Ok(())
    }

    /// Stores in `real` where the way up to `end` leads.
    fn lead(&mut self, end: usize, real: &mut PathBuffer) -> Result<(), Errno> {
        let way = self.text.as_bytes().get(..end).unwrap_or(&[]);
        real.clear();
        real.push(if way.is_empty() { b"/" } else { way })?;
        let led = views::to_backing(self.image, real.as_bytes()).filter(|_| !self.plain);
        self.is_led |= led.is_some();
        led.map_or(Ok(()), |led| real.replace_start(led.end, led.target))
    }

    /// Looks at the name that ends at `end`, whose own path is `real`. Replaces a symlink by its target.
    fn step(
        &mut self,
        end: usize,
        real: &PathBuffer,
        target: &mut PathBuffer,
    ) -> Result<Step, Errno> {
        let (here, path) = (libc::AT_FDCWD, real.c_str(0));
        match target.fill(|bytes, room| sys::readlinkat(here, path, bytes, room)) {
            Ok(()) => {}
            Err(Errno::EINVAL) => return Ok(Step::Entry),
            Err(_) => return Ok(Step::Unknown),
        }
        // The root directory has this path in every process of the run.
        let is_root = target.as_bytes() == b"/";
        if stands_for_object(real.as_bytes()) && !is_root {
            return Ok(Step::Unknown);
        }
        let mut from = self.done.saturating_add(1);
        if target.as_bytes().first() == Some(&b'/') {
            self.plain = target.as_bytes().starts_with(b"//");
            (self.done, from) = (0, 0);
        }
        self.text.replace(from, end, target.as_bytes())?;
        Ok(Step::Link)
    }
}

/// Whether a symlink at this path stands for an object of a process, instead of for a path (proc(5)).
fn stands_for_object(path: &[u8]) -> bool {
    path.strip_prefix(b"/proc/")
        .is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit) && rest.contains(&b'/'))
}
