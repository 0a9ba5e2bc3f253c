//! Ways to lose the confinement: by exec, by descriptors, by the environment.

use crate::attack::attacks;

attacks! {
    fork: "", "fork open $OUT/secret" => "EACCES";
    exec: "", "exec_self open $OUT/secret" => "EACCES";
    syscall_execve: "", "sys_execve_self open $OUT/secret" => "EACCES";
    fexecve: "", "fexecve_self open $OUT/secret" => "EACCES";
    vfork_exec: "", "vfork_self open $OUT/secret" => "EACCES";
    thread_then_fork: "", "thread_fork open $OUT/secret" => "EACCES";
    posix_spawn: "", "spawn_self open $OUT/secret" => "EACCES";
    system: "", "system_self open $OUT/secret" => "EACCES";
    popen: "", "popen_self open $OUT/secret" => "EACCES";

    empty_environment_exec: "", "empty_env exec_self open $OUT/secret" => "EACCES";
    empty_environment_execvp: "", "empty_env execvp_self open $OUT/secret" => "EACCES";
    empty_environment_execle: "", "execle_empty open $OUT/secret" => "EACCES";
    empty_environment_syscall: "", "empty_env sys_execve_self open $OUT/secret" => "EACCES";
    empty_environment_fexecve: "", "empty_env fexecve_self open $OUT/secret" => "EACCES";
    empty_environment_vfork: "", "empty_env vfork_self open $OUT/secret" => "EACCES";
    empty_environment_spawn: "", "empty_env spawn_self open $OUT/secret" => "EACCES";
    empty_environment_system: "", "empty_env system_self open $OUT/secret" => "EACCES";
    empty_environment_popen: "", "empty_env popen_self open $OUT/secret" => "EACCES";
    null_environment_spawn: "", "spawnp_null_env open $OUT/secret" => "EACCES";
    cleared_environment: "", "clearenv exec_self open $OUT/secret" => "EACCES";
    preload_unset: "", "unset LD_PRELOAD exec_self open $OUT/secret" => "EACCES";
    preload_replaced: "", "set LD_PRELOAD libm.so.6 exec_self open $OUT/secret" => "EACCES";
    libc_preloaded: "", "set LD_PRELOAD libc.so.6 exec_self open $OUT/secret" => "EACCES";
    libc_preloaded_before: "", "prepend_to LD_PRELOAD libc.so.6: exec_self open $OUT/secret" => "EACCES";
    libc_preloaded_and_spawned: "", "prepend_to LD_PRELOAD libc.so.6: spawn_self open $OUT/secret" => "EACCES";
    preload_with_a_tab: "", "append_to LD_PRELOAD %09 exec_self open $OUT/secret" => "EACCES";
    preload_with_a_newline: "", "append_to LD_PRELOAD %0a exec_self open $OUT/secret" => "EACCES";
    preload_after_a_tab: "", "prepend_to LD_PRELOAD /missing%09: exec_self open $OUT/secret" => "EACCES";
    preload_beside_a_tab: "", "prepend_to LD_PRELOAD /missing%09 exec_self open $OUT/secret" => "EACCES";
    preload_spawned_with_a_tab: "", "append_to LD_PRELOAD %09 spawn_self open $OUT/secret" => "EACCES";
    handle_unset: "", "unset JP_CONFINE exec_self open $OUT/secret" => "EACCES";
    handle_replaced: "", "set JP_CONFINE 0:0 exec_self open $OUT/secret" => "EACCES";
    handle_is_nonsense: "", "set JP_CONFINE nonsense exec_self open $OUT/secret" => "EACCES";
    loader_told_to_audit: "", "set LD_AUDIT libm.so.6 exec_self open $OUT/secret" => "EACCES";

    spawn_opens_for_reading: "", "spawn_addopen $OUT/secret" => "EACCES";
    spawn_opens_for_writing: "", "spawn_addopen_w $OUT/target" => "EACCES";
    spawn_changes_directory: "", "spawn_addchdir $OUT open secret" => "EACCES";

    closed_one_by_one: "", "close_all open $OUT/secret" => "EACCES";
    closed_one_by_one_then_exec: "", "close_all exec_self open $OUT/secret" => "EACCES";
    close_range: "", "close_range open $OUT/secret" => "EACCES";
    close_range_then_exec: "", "close_range exec_self open $OUT/secret" => "EACCES";
    syscall_close_range_then_exec: "", "sys_close_range exec_self open $OUT/secret" => "EACCES";
    close_range_then_empty_exec: "", "close_range empty_env exec_self open $OUT/secret" => "EACCES";
    close_range_then_spawn: "", "close_range spawn_self open $OUT/secret" => "EACCES";
    close_range_on_exec: "", "cloexec_range exec_self open $OUT/secret" => "EACCES";
    closefrom_then_exec: "", "closefrom exec_self open $OUT/secret" => "EACCES";
    replaced_by_dup2_then_exec: "", "dup2_all exec_self open $OUT/secret" => "EACCES";

    no_descriptor_left_to_unlink: "", "no_descriptors unlink $OUT/target" => "EACCES|EMFILE";
    no_descriptor_left_to_rename: "", "no_descriptors rename $OUT/secret got" => "EACCES|EMFILE";
    no_descriptor_left_to_link: "", "no_descriptors link $OUT/secret got" => "EACCES|EMFILE";
    no_descriptor_left_to_chmod: "", "no_descriptors chmod $OUT/target" => "EACCES|EMFILE";
    no_descriptor_left_to_truncate: "", "no_descriptors truncate $OUT/target" => "EACCES|EMFILE";
    no_descriptor_left_to_mkdir: "", "no_descriptors mkdir $OUT/new" => "EACCES|EMFILE";
    no_descriptor_left_to_unlink_by_link: "ln -s $OUT parent", "no_descriptors unlink parent/target" => "EACCES|EMFILE";
    one_descriptor_left_to_open: "", "one_descriptor open $OUT/secret" => "EACCES|EMFILE";
    one_descriptor_left_to_open_by_link: "ln -s $OUT/secret link", "one_descriptor open link" => "EACCES|EMFILE";
    no_descriptor_left_to_exec: "", "one_descriptor exec_self open $OUT/secret" => "EACCES|EMFILE";
}
