//! Hook for wordexp(3). libc's own function runs a shell and lists directories inside libc. So command substitution
//! needs another layer that confines the shell, as it confines programs without the library.

use core::ffi::{c_char, c_int};

use jp_confine_engine::Capabilities;
use jp_confine_engine::image::Image;

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::exec::reader::Reader;
use crate::exec::search;
use crate::hooks::guard::granted;
use crate::mmap_box::MmapBox;
use crate::sys::next::Original;
use crate::sys::process::Strings;
use crate::{libc_functions, memory, session};

/// `WRDE_NOCMD`, `WRDE_NOSPACE` and `WRDE_APPEND` (wordexp.h).
const NO_COMMANDS: c_int = 1 << 2;
const NO_SPACE: c_int = 1;
const APPEND: c_int = 1 << 1;

static WORDEXP: Original = Original::new(c"wordexp");
static WORDFREE: Original = Original::new(c"wordfree");

type Expand = extern "C" fn(*const c_char, *mut Words, c_int) -> c_int;
type Free = extern "C" fn(*mut Words);

/// `wordexp_t` (wordexp.h).
#[repr(C)]
struct Words {
    count: usize,
    list: Strings,
    offset: usize,
}

/// wordexp(3). Words found in an unreadable directory are discarded.
#[unsafe(no_mangle)]
extern "C" fn wordexp(text: *const c_char, to: *mut Words, flags: c_int) -> c_int {
    let (Some(expand), Some(free)) = (WORDEXP.address(), WORDFREE.address()) else {
        return NO_SPACE;
    };
    // libc starts the shell past the library, so another layer must see it.
    let is_held = session::image().is_ok_and(Image::holds_other_programs);
    if !is_held && !libc_functions::is_glibc() {
        // musl uses a shell for everything.
        return NO_SPACE;
    }
    let refused = if is_held { 0 } else { NO_COMMANDS };
    // SAFETY: these are the addresses of libc's functions of these names and types.
    let expand = unsafe { core::mem::transmute::<usize, Expand>(expand) };
    // SAFETY: as above.
    let free = unsafe { core::mem::transmute::<usize, Free>(free) };
    let may_list = has_pattern(text).unwrap_or(true);
    let answer = expand(text, to, flags | refused);
    if answer != 0 || !may_list {
        return answer;
    }
    // SAFETY: libc has just filled it.
    let words = unsafe { &*to };
    let first = words.list.wrapping_add(if flags & APPEND == 0 { words.offset } else { 0 });
    if all_readable(first, words.count).is_ok() {
        return 0;
    }
    free(to);
    NO_SPACE
}

/// Whether the text contains pattern characters. glibc does not expand patterns in a variable's value.
fn has_pattern(text: *const c_char) -> Result<bool, Errno> {
    let mut reader = Reader::new();
    Ok(reader.contains(text, b'*')?
        || reader.contains(text, b'?')?
        || reader.contains(text, b'[')?)
}

/// Whether the word is the expansion of a tilde, which needs no listing.
#[inline(never)]
fn is_home(word: *const c_char) -> Result<bool, Errno> {
    let Some(home) = search::value(b"HOME=")? else { return Ok(false) };
    let mut text = PathBuffer::new();
    memory::copy_path(home, &mut text)?;
    Reader::new().equals(word, text.as_bytes())
}

/// Checks that each word is in a directory that the program may list.
///
/// # Errors
/// `EACCES` or `ENOENT` if one is not.
fn all_readable(list: Strings, count: usize) -> Result<(), Errno> {
    let mut path = MmapBox::<PathBuffer>::blank()?;
    for index in 0..count {
        let place = list.wrapping_add(index);
        // SAFETY: libc has just filled the list.
        let word = unsafe { place.read() };
        if word.is_null() || is_home(word)? {
            continue;
        }
        path.clear();
        memory::copy_path(word, &mut path)?;
        let end = path.as_bytes().iter().rposition(|&byte| byte == b'/');
        path.truncate(end.map_or(0, |slash| slash.max(1)));
        if path.len() == 0 {
            path.push(b".")?;
        }
        granted(c"wordexp", path.c_str(0).as_ptr(), Capabilities::READ)?;
    }
    Ok(())
}
