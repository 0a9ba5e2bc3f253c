//! The table in which dyld finds the hooks: pairs of a hook and the function that it replaces
//! (`mach-o/dyld-interposing.h`). The suffixes in the names are libSystem's:
//!
//! - `$NOCANCEL`: not a cancellation point.
//! - `$INODE64`: the structures of macOS 10.6 and later, which are the only ones on arm64.
//! - `$DARWIN_EXTSN`: forms that differ from POSIX.

use super::{
    attribute_lists, by_name, clones, flags, names, refused, renames, spawn, streams, temporary,
    xattrs,
};
use crate::hooks::{
    attributes, directories, entries, exec, fts, metadata, open, sockets,
    streams as shared_streams, temporary as shared_temporary, walk,
};

unsafe extern "C" {
    fn jp_variadic_open();
    fn jp_variadic_openat();
    fn jp_variadic_open_protected();
    fn jp_variadic_execl();
    fn jp_variadic_execlp();
    fn jp_variadic_execle();
}

/// A row of the table.
#[repr(C)]
struct Pair {
    hook: *const (),
    original: *const (),
}

// SAFETY: dyld only reads the addresses.
unsafe impl Sync for Pair {}

/// Defines tables, which the linker places one after another.
macro_rules! interpose {
    ($($(#[$condition:meta])* $table:ident { $($original:literal => $hook:expr;)* })*) => {$(
        $(#[$condition])*
        #[used]
        #[unsafe(link_section = "__DATA,__interpose")]
        static $table: [Pair; [$($original),*].len()] = [$(
            Pair {
                hook: $hook as *const (),
                original: {
                    unsafe extern "C" {
                        #[link_name = $original]
                        fn original();
                    }
                    original as *const ()
                },
            }
        ),*];
    )*};
}

interpose! {
    OPENING {
        "open" => jp_variadic_open;
        "open$NOCANCEL" => jp_variadic_open;
        "openat" => jp_variadic_openat;
        "openat$NOCANCEL" => jp_variadic_openat;
        "open_dprotected_np" => jp_variadic_open_protected;
        "creat" => open::creat;
        "fopen" => shared_streams::fopen;
        "fopen$DARWIN_EXTSN" => shared_streams::fopen;
        "freopen" => shared_streams::freopen;
        "tmpfile" => streams::tmpfile;
        "mkstemp" => shared_temporary::mkstemp;
        "mkostemp" => shared_temporary::mkostemp;
        "mkstemps" => shared_temporary::mkstemps;
        "mkostemps" => shared_temporary::mkostemps;
        "mkdtemp" => shared_temporary::mkdtemp;
        "mkstempsat_np" => temporary::mkstempsat_np;
        "mkostempsat_np" => temporary::mkostempsat_np;
        "mkdtempat_np" => temporary::mkdtempat_np;
    }

    ENTRIES {
        "mkdir" => entries::mkdir;
        "mkdirat" => entries::mkdirat;
        "mknod" => entries::mknod;
        "mknodat" => entries::mknodat;
        "mkfifo" => entries::mkfifo;
        "mkfifoat" => entries::mkfifoat;
        "symlink" => entries::symlink;
        "symlinkat" => entries::symlinkat;
        "link" => entries::link;
        "linkat" => entries::linkat;
        "unlink" => entries::unlink;
        "unlinkat" => entries::unlinkat;
        "rmdir" => entries::rmdir;
        "remove" => entries::remove;
        "rename" => entries::rename;
        "renameat" => entries::renameat;
        "renamex_np" => renames::renamex_np;
        "renameatx_np" => renames::renameatx_np;
        "exchangedata" => renames::exchangedata;
        "clonefile" => clones::clonefile;
        "clonefileat" => clones::clonefileat;
        "fclonefileat" => clones::fclonefileat;
    }

    ATTRIBUTES {
        "truncate" => attributes::truncate;
        "chmod" => attributes::chmod;
        "lchmod" => attributes::lchmod;
        "fchmod" => attributes::fchmod;
        "fchmodat" => attributes::fchmodat;
        "chmodx_np" => by_name::chmodx_np;
        "acl_set_file" => by_name::acl_set_file;
        "acl_set_link_np" => by_name::acl_set_link_np;
        "chown" => attributes::chown;
        "lchown" => attributes::lchown;
        "fchown" => attributes::fchown;
        "fchownat" => attributes::fchownat;
        "utime" => attributes::utime;
        "utimes" => attributes::utimes;
        "lutimes" => attributes::lutimes;
        "futimes" => attributes::futimes;
        "futimens" => attributes::futimens;
        "utimensat" => attributes::utimensat;
        "chflags" => flags::chflags;
        "lchflags" => flags::lchflags;
        "fchflags" => flags::fchflags;
        "getattrlist" => attribute_lists::getattrlist;
        "getattrlistat" => attribute_lists::getattrlistat;
        "setattrlist" => attribute_lists::setattrlist;
        "setattrlistat" => attribute_lists::setattrlistat;
        "fsetattrlist" => attribute_lists::fsetattrlist;
        "getxattr" => xattrs::getxattr;
        "listxattr" => xattrs::listxattr;
        "setxattr" => xattrs::setxattr;
        "fsetxattr" => xattrs::fsetxattr;
        "removexattr" => xattrs::removexattr;
        "fremovexattr" => xattrs::fremovexattr;
    }

    LOOKING {
        "access" => metadata::access;
        "faccessat" => metadata::faccessat;
        "readlink" => metadata::readlink;
        "readlinkat" => metadata::readlinkat;
        "realpath" => metadata::realpath;
        "realpath$DARWIN_EXTSN" => metadata::realpath;
        "stat64" => metadata::stat;
        "lstat64" => metadata::lstat;
        "statvfs" => by_name::statvfs;
        "statfs64" => by_name::statfs;
        "pathconf" => by_name::pathconf;
    }

    DIRECTORIES {
        "chdir" => directories::chdir;
        "fchdir" => directories::fchdir;
        "pthread_chdir_np" => by_name::pthread_chdir_np;
        "fts_open_b" => refused::with_block;
        "glob_b" => refused::with_block;
        "scandir_b" => refused::with_block;
    }

    PROGRAMS {
        "execve" => exec::execve;
        "execv" => exec::execv;
        "execvp" => exec::execvp;
        "execvP" => by_name::exec_along;
        "execl" => jp_variadic_execl;
        "execlp" => jp_variadic_execlp;
        "execle" => jp_variadic_execle;
        "posix_spawn" => spawn::posix_spawn;
        "posix_spawnp" => spawn::posix_spawnp;
        "posix_spawn_file_actions_addopen" => spawn::posix_spawn_file_actions_addopen;
        "posix_spawn_file_actions_addchdir_np" => spawn::posix_spawn_file_actions_addchdir_np;
        "system" => spawn::system;
        "system$NOCANCEL" => spawn::system;
        "popen" => spawn::popen;
        "popen$DARWIN_EXTSN" => spawn::popen;
    }

    SOCKETS {
        "connect" => sockets::connect;
        "connect$NOCANCEL" => sockets::connect;
        "connectx" => names::connectx;
        "bind" => sockets::bind;
        "sendto" => sockets::sendto;
        "sendto$NOCANCEL" => sockets::sendto;
        "sendmsg" => sockets::sendmsg;
        "sendmsg$NOCANCEL" => sockets::sendmsg;
    }

    REFUSED {
        "chroot" => refused::chroot;
        "mount" => refused::mount;
        "fmount" => refused::fmount;
        "unmount" => refused::unmount;
        "quotactl" => refused::quotactl;
        "acct" => refused::acct;
        "swapon" => refused::swapon;
        "nfssvc" => refused::nfssvc;
        "undelete" => refused::undelete;
        "revoke" => refused::revoke;
        "auditctl" => refused::auditctl;
        "fs_snapshot_mount" => refused::fs_snapshot_mount;
        "openbyid_np" => refused::openbyid_np;
        "fsgetpath" => refused::fsgetpath;
        "searchfs" => refused::searchfs;
        "fsctl" => refused::fsctl;
        "accessx_np" => refused::accessx_np;
        "guarded_open_np" => refused::guarded_open_np;
        "guarded_open_dprotected_np" => refused::guarded_open_np;
        "syscall" => refused::syscall;
    }

    // Exported functions that libSystem's parts call among each other.
    INTERNAL {
        "__open" => open::jp_open;
        "__open_nocancel" => open::jp_open;
        "__openat" => open::jp_openat;
        "__openat_nocancel" => open::jp_openat;
        "__rename" => entries::rename;
        "__renameat" => entries::renameat;
        "__rmdir" => entries::rmdir;
        "__unlink" => entries::unlink;
        "__unlinkat" => entries::unlinkat;
        "__connect" => sockets::connect;
        "__bind" => sockets::bind;
        "__getattrlist" => attribute_lists::getattrlist;
        "__setattrlist" => attribute_lists::setattrlist;
        "__open_extended" => refused::internal;
        "__mkdir_extended" => refused::internal;
        "__mkfifo_extended" => refused::internal;
        "__chmod_extended" => refused::internal;
        "__posix_spawn" => refused::internal;
        "__mac_execve" => refused::internal;
        "fhopen" => refused::internal;
    }

    #[cfg(target_arch = "x86_64")]
    STRUCTURES {
        "stat$INODE64" => metadata::stat;
        "lstat$INODE64" => metadata::lstat;
        "fstatat$INODE64" => metadata::fstatat;
        "fstatat64" => metadata::fstatat;
        "statfs$INODE64" => by_name::statfs;
        "statx_np$INODE64" => by_name::statx_np;
        "lstatx_np$INODE64" => by_name::lstatx_np;
        "opendir$INODE64" => directories::opendir;
        "__opendir2$INODE64" => names::opendir2;
        "scandir$INODE64" => directories::scandir;
        "scandir_b$INODE64" => refused::with_block;
        "glob$INODE64" => directories::glob;
        "glob_b$INODE64" => refused::with_block;
        "fts_open$INODE64" => fts::fts_open;
        "fts_open_b$INODE64" => refused::with_block;
        "ftw$INODE64" => walk::ftw;
        "nftw$INODE64" => walk::nftw;
        "creat$NOCANCEL" => open::creat;
        "stat" => refused::old::stat;
        "lstat" => refused::old::stat;
        "fstatat" => refused::old::stat;
        "statfs" => refused::old::stat;
        "opendir" => refused::old::opendir;
        "__opendir2" => refused::old::opendir;
        "scandir" => refused::old::stat;
        "glob" => refused::old::stat;
        "fts_open" => refused::old::opendir;
        "ftw" => refused::old::stat;
        "nftw" => refused::old::stat;
    }

    #[cfg(target_arch = "aarch64")]
    STRUCTURES {
        "stat" => metadata::stat;
        "lstat" => metadata::lstat;
        "fstatat" => metadata::fstatat;
        "statfs" => by_name::statfs;
        "statx_np" => by_name::statx_np;
        "lstatx_np" => by_name::lstatx_np;
        "opendir" => directories::opendir;
        "__opendir2" => names::opendir2;
        "scandir" => directories::scandir;
        "glob" => directories::glob;
        "fts_open" => fts::fts_open;
        "ftw" => walk::ftw;
        "nftw" => walk::nftw;
    }
}
