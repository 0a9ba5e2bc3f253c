//! Ways to open a forbidden file or to list a forbidden directory.

use crate::attack::attacks;

attacks! {
    open64: "", "open64 $OUT/secret" => "EACCES";
    openat: "", "openat $OUT/secret" => "EACCES";
    syscall_open: "", "sys_open $OUT/secret" => "EACCES";
    syscall_openat: "", "sys_openat $OUT/secret" => "EACCES";
    syscall_openat_by_link: "ln -s $OUT/secret link", "sys_openat link" => "EACCES";
    syscall_openat2: "", "sys_openat2 $OUT/secret" => "EACCES";
    syscall_creat: "", "sys_creat $OUT/target" => "EACCES";
    write: "", "write $OUT/target" => "EACCES";
    append: "", "append $OUT/target" => "EACCES";
    read_and_write: "", "rdwr $OUT/target" => "EACCES";
    truncate_while_reading: "", "read_trunc $OUT/target" => "EACCES";
    truncate_while_writing: "", "write_trunc $OUT/target" => "EACCES";
    create: "", "write_creat $OUT/new" => "EACCES";
    create_exclusively: "", "write_excl $OUT/new" => "EACCES";
    create_for_reading: "", "read_creat $OUT/new" => "EACCES";
    creat: "", "creat $OUT/target" => "EACCES";
    creat_new: "", "creat $OUT/new" => "EACCES";
    unnamed_file: "", "tmpfile_in $OUT" => "EACCES";
    unnamed_file_then_link: "", "tmpfile_link $OUT $OUT/new" => "EACCES";
    unnamed_file_linked_outside: "", "tmpfile_link . $OUT/new" => "EACCES";
    fopen: "", "fopen $OUT/secret" => "EACCES";
    fopen64: "", "fopen64 $OUT/secret" => "EACCES";
    fopen_to_write: "", "fopen_w $OUT/target" => "EACCES";
    fopen_to_create: "", "fopen_w $OUT/new" => "EACCES";
    fopen_by_link: "ln -s $OUT/secret link", "fopen link" => "EACCES";
    freopen: "", "freopen $OUT/secret" => "EACCES";
    freopen_to_write: "", "freopen_w $OUT/target" => "EACCES";
    opendir: "", "opendir $OUT" => "EACCES";
    opendir_by_link: "ln -s $OUT link", "opendir link" => "EACCES";
    fdopendir: "", "fdopendir $OUT" => "EACCES";
    scandir: "", "scandir $OUT" => "EACCES";
    glob: "", "glob $OUT/*" => "EACCES|ENOENT";
    nftw: "", "nftw $OUT" => "EACCES";
    fts: "", "fts $OUT" => "EACCES";
    mkstemp: "", "mkstemp $OUT/XXXXXX" => "EACCES";
    mkostemp: "", "mkostemp $OUT/XXXXXX" => "EACCES";
    mkstemps: "", "mkstemps $OUT/XXXXXX.c" => "EACCES";
    mkdtemp: "", "mkdtemp $OUT/XXXXXX" => "EACCES";
}
