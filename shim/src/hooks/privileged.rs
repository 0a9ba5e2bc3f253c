//! Hooks that deny the superuser's calls on mounts, quotas, swap, file handles, the kernel's log, its modules, the clock
//! and the machine. These calls change the meaning of paths, reach objects without a path, or act on the whole machine.

use core::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

use crate::errno::Reply;
use crate::hooks::refusal::{EVERYWHERE, refuse};

macro_rules! refused {
    ($($call:literal $name:ident($($argument:ident: $kind:ty),*) on $path:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $kind),*) -> c_int {
                Err::<c_int, _>(refuse($call, $path)).reply()
            }
        )*
    };
}

refused! {
    c"open_tree" open_tree(_dirfd: c_int, path: *const c_char, _flags: c_uint) on path;
    c"move_mount" move_mount(
        _from: c_int, _path: *const c_char, _to: c_int, path: *const c_char, _flags: c_uint
    ) on path;
    c"fsopen" fsopen(_kind: *const c_char, _flags: c_uint) on EVERYWHERE;
    c"fsmount" fsmount(_fd: c_int, _flags: c_uint, _attributes: c_uint) on EVERYWHERE;
    c"fspick" fspick(_dirfd: c_int, path: *const c_char, _flags: c_uint) on path;
    c"mount_setattr" mount_setattr(
        _dirfd: c_int, path: *const c_char, _flags: c_uint, _how: *const c_void, _size: usize
    ) on path;
    c"pivot_root" pivot_root(path: *const c_char, _old: *const c_char) on path;
    c"swapon" swapon(path: *const c_char, _flags: c_int) on path;
    c"swapoff" swapoff(path: *const c_char) on path;
    c"acct" acct(path: *const c_char) on path;
    c"quotactl" quotactl(
        _command: c_int, path: *const c_char, _id: c_int, _data: *const c_void
    ) on path;
    c"name_to_handle_at" name_to_handle_at(
        _dirfd: c_int, path: *const c_char, _handle: *const c_void, _mount: *const c_int, _flags: c_int
    ) on path;
    c"open_by_handle_at" open_by_handle_at(_mount: c_int, _handle: *const c_void, _flags: c_int)
        on EVERYWHERE;
    c"fsconfig" fsconfig(
        _fd: c_int, _command: c_uint, _key: *const c_char, _value: *const c_void, _aux: c_int
    ) on EVERYWHERE;
    c"fanotify_mark" fanotify_mark(
        _fd: c_int, _flags: c_uint, _mask: u64, _dirfd: c_int, path: *const c_char
    ) on path;
    c"klogctl" klogctl(_command: c_int, _text: *mut c_char, _size: c_int) on EVERYWHERE;
    c"fanotify_init" fanotify_init(_flags: c_uint, _events: c_uint) on EVERYWHERE;
    c"init_module" init_module(_image: *const c_void, _size: c_ulong, _values: *const c_char)
        on EVERYWHERE;
    c"delete_module" delete_module(_name: *const c_char, _flags: c_uint) on EVERYWHERE;
    c"reboot" reboot(_command: c_int) on EVERYWHERE;
    c"settimeofday" settimeofday(_time: *const c_void, _zone: *const c_void) on EVERYWHERE;
    c"clock_settime" clock_settime(_clock: c_int, _time: *const c_void) on EVERYWHERE;
    c"iopl" iopl(_level: c_int) on EVERYWHERE;
    c"ioperm" ioperm(_from: c_ulong, _count: c_ulong, _on: c_int) on EVERYWHERE;
    c"vhangup" vhangup() on EVERYWHERE;
}
