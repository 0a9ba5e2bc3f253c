//! Ways to add, remove or move forbidden directory entries.

use crate::attack::attacks;

attacks! {
    unlink: "", "unlink $OUT/target" => "EACCES";
    unlinkat: "", "unlinkat $OUT/target" => "EACCES";
    unlink_by_parent_link: "ln -s $OUT parent", "unlink parent/target" => "EACCES";
    syscall_unlink: "", "sys_unlink $OUT/target" => "EACCES";
    syscall_unlinkat: "", "sys_unlinkat $OUT/target" => "EACCES";
    remove: "", "remove $OUT/target" => "EACCES";
    rmdir: "", "rmdir $OUT/empty" => "EACCES";
    rename_out_of: "", "rename $OUT/secret got" => "EACCES";
    rename_into: "", "rename file $OUT/new" => "EACCES";
    rename_over: "", "rename file $OUT/target" => "EACCES";
    rename_within: "", "rename $OUT/target $OUT/new" => "EACCES";
    rename_directory_out_of: "", "rename $OUT/dir got" => "EACCES";
    rename_workspace: "", "rename $WS $OUT/taken" => "EACCES";
    renameat: "", "renameat $OUT/secret got" => "EACCES";
    rename_noreplace: "", "rename_noreplace $OUT/secret got" => "EACCES";
    exchange: "", "exchange file $OUT/secret" => "EACCES";
    exchange_reversed: "", "exchange $OUT/secret file" => "EACCES";
    syscall_rename: "", "sys_rename $OUT/secret got" => "EACCES";
    syscall_renameat2: "", "sys_renameat2 $OUT/secret got" => "EACCES";
    hard_link_then_read: "", "link $OUT/secret got , open got" => "EACCES";
    hard_link_then_write: "", "link $OUT/target got , write got" => "EACCES";
    hard_link_following: "ln -s $OUT/secret l", "linkat_follow l got , open got" => "EACCES";
    hard_link_by_descriptor: "", "link_fd $OUT/secret got , open got" => "EACCES";
    hard_link_into: "", "link file $OUT/new" => "EACCES";
    symlink_into: "", "symlink $WS/file $OUT/new" => "EACCES";
    symlinkat_into: "", "symlinkat $WS/file $OUT/new" => "EACCES";
    mkdir: "", "mkdir $OUT/new" => "EACCES";
    mkdirat: "", "mkdirat $OUT/new" => "EACCES";
    mkdir_by_parent_link: "ln -s $OUT parent", "mkdir parent/new" => "EACCES";
    mknod: "", "mknod $OUT/new" => "EACCES";
    mkfifo: "", "mkfifo $OUT/new" => "EACCES";
    link_to_what_is_hidden: "", "link $HOME/.private/key new" => "ENOENT";
    bind_by_descriptor: "", "bind_from $OUT /proc/self/fd/N/new" => "EACCES";
    bind_in_the_working_directory: "", "bind_from $OUT /proc/thread-self/cwd/new" => "EACCES";
}
