//! Follows the symlinks in a program's name, such as `sh` and `python3`, one by one. Asking `/proc` for the path of a
//! descriptor would cost a newly forked process ten times as much.

use jp_confine_engine::decide::{Request, Verdict};
use jp_confine_engine::image::Image;

use super::{SHORT, may_execute};
use crate::buffer::Buffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::resolve;
use crate::sys::{self, Object};

/// More symlinks than program names lead through.
const LINKS: u32 = 8;

/// Pins the program that `spelling` leads to and stores its `status`, if it may be executed and no symlink is on the way
/// except at its end. Returns `None` if another method must decide, as for spellings and targets that are not [`SHORT`].
/// Then `spelling` may be any spelling on the way.
#[inline(never)]
pub(super) fn follow(
    image: &Image<'_>,
    spelling: &mut Spelling,
    status: &mut Option<libc::stat>,
) -> Option<Result<Object, Errno>> {
    let mut route = Buffer::<SHORT>::new();
    resolve::expand_alias(image, spelling, true).ok()?;
    route.push(spelling.lexical()).ok()?;
    for _ in 0..LINKS {
        let lexical = spelling.lexical();
        if !spelling.is_lexical() || lexical.starts_with(b"/proc/") {
            return None;
        }
        let request = Request::by_route(lexical, route.as_bytes());
        let allowed = may_execute(image, &request) == Verdict::Allow;
        let object = match resolve::pin_without_links(spelling, libc::O_NOFOLLOW)? {
            Ok(object) => object,
            Err(errno) => return allowed.then_some(Err(errno)),
        };
        let found = status.insert(sys::status(&object).ok()?);
        if found.st_mode & libc::S_IFMT != libc::S_IFLNK {
            return allowed.then_some(Ok(object));
        }
        step(image, spelling, &object)?;
    }
    None
}

/// Redirects `spelling` to the target of the pinned symlink. Separate from [`follow`], so that its buffer is gone while
/// `follow` judges.
#[inline(never)]
fn step(image: &Image<'_>, spelling: &mut Spelling, link: &Object) -> Option<()> {
    let mut target = Buffer::<SHORT>::new();
    target.fill(|bytes, room| sys::readlinkat(link.raw(), c"", bytes, room)).ok()?;
    spelling.follow(target.as_bytes()).ok()?;
    resolve::expand_alias(image, spelling, true).ok()
}
