//! The rows of entries, contents and metadata, with system calls that the attack program makes itself. The library is
//! in the process, but does not see them.

use macro_rules_attribute::apply;

use crate::attack::{answer, arena, assert_refused, call};
use crate::layers::{Holder, row};
use crate::run::{Mode, skip};
use crate::scratch::Scratch;

macro_rules! rows {
    ($($name:ident: $setup:literal, $call:literal => $expected:literal;)*) => {
        $(
            crate::layers::row! {
                fn $name() {
                    if Holder::under_test() == Holder::Library {
                        return skip("the library alone does not see system calls by instruction");
                    }
                    assert_refused($setup, $call, $expected);
                }
            }
        )*
    };
}

rows! {
    // conformance: 076-89, 076-90, 076-156
    open: "", "i_open $OUT/secret" => "EACCES";
    open_by_link: "ln -s $OUT/secret l", "i_open l" => "EACCES";
    open_through_a_directory: "ln -s $OUT d", "i_open d/secret" => "EACCES";
    open_above: "", "i_open ../out/secret" => "EACCES";
    open_from_the_root_of_a_process: "", "i_open /proc/self/root$OUT/secret" => "EACCES";
    open_by_descriptor: "", "i_by_descriptor $OUT/secret" => "EACCES";
    open_after_chdir: "", "i_after_chdir $OUT secret" => "EACCES";
    openat2: "", "i_openat2 $OUT/secret" => "EACCES";
    hidden: "", "i_open $HOME/.private/key" => "EACCES|ENOENT";
    write: "", "i_write $OUT/target" => "EACCES";
    write_by_link: "ln -s $OUT/target l", "i_write l" => "EACCES";
    creat: "", "i_creat $OUT/new" => "EACCES";
    creat_by_link: "ln -s $OUT/new l", "i_creat l" => "EACCES";
    unnamed: "", "i_tmpfile $OUT" => "EACCES";
    list: "", "i_opendir $OUT" => "EACCES";
    truncate: "", "i_truncate $OUT/target" => "EACCES";
    mkdir: "", "i_mkdir $OUT/new" => "EACCES";
    mkfifo: "", "i_mkfifo $OUT/new" => "EACCES";
    unlink: "", "i_unlink $OUT/target" => "EACCES";
    rmdir: "", "i_rmdir $OUT/empty" => "EACCES";
    rename_in: "", "i_rename $OUT/secret got" => "EACCES";
    rename_out: "", "i_rename file $OUT/got" => "EACCES";
    link_in: "", "i_link $OUT/secret got" => "EACCES";
    link_out: "", "i_link file $OUT/got" => "EACCES";
    symlink: "", "i_symlink x $OUT/got" => "EACCES";
    chmod: "", "i_chmod $OUT/target" => "EACCES";
    chown: "", "i_chown $OUT/target" => "EACCES";
    utimes: "", "i_utimes $OUT/target" => "EACCES";
    setxattr: "", "i_setxattr $OUT/target" => "EACCES";
    getxattr: "$ATTACK setxattr $OUT/target user.k", "i_getxattr $OUT/target" => "EACCES";
    message_queue: "", "i_mq_open /jp-confine-by-instruction" => "EACCES";
    connect: "$ATTACK hold_socket $OUT/socket", "i_connect $OUT/socket" => "EACCES";
    watch: "", "i_watch $OUT/target" => "EACCES";
    chmod_by_the_mark: "", "i_marked , i_chmod $OUT/target" => "EACCES";
    chown_by_the_mark: "", "i_marked , i_chown $OUT/target" => "EACCES";
    utimes_by_the_mark: "", "i_marked , i_utimes $OUT/target" => "EACCES";
    setxattr_by_the_mark: "", "i_marked , i_setxattr $OUT/target" => "EACCES";
    connect_by_the_mark: "$ATTACK hold_socket $OUT/socket", "i_marked , i_connect $OUT/socket" => "EACCES";
    watch_by_the_mark: "", "i_marked , i_watch $OUT/target" => "EACCES";
    message_queue_by_the_mark: "", "i_marked , i_mq_open /jp-confine-by-the-mark" => "EACCES";
    fchmod_what_may_be_read_by_the_mark: "", "-r $OUT -- i_marked , i_fchmod_to $OUT/target 600" => "EACCES";
    fchown_what_may_be_read_by_the_mark: "", "-r $OUT -- i_marked , i_fchown $OUT/target" => "EACCES";
    fsetxattr_what_may_be_read_by_the_mark: "", "-r $OUT -- i_marked , i_fsetxattr $OUT/target" => "EACCES";
    open_by_the_mark: "", "i_marked , i_open $OUT/secret" => "EACCES";
    unlink_by_the_mark: "", "i_marked , i_unlink $OUT/target" => "EACCES";
    exec: "cp $ATTACK $OUT/program", "i_exec $OUT/program" => "EACCES";
    after_the_library_s_own: "", "write_creat known , i_open $OUT/secret" => "EACCES";
    write_what_may_be_read: "", "-r $OUT -- i_write $OUT/target" => "EACCES";
    create_beside_what_may_be_read: "", "-r $OUT -- i_creat $OUT/new" => "EACCES";
    chmod_what_may_be_read: "", "-r $OUT -- i_chmod $OUT/target" => "EACCES";
    read_what_is_denied_below: "mkdir deep; echo x > deep/f", "--deny deep -- i_open deep/f" => "EACCES";
    remove_what_is_denied_below: "mkdir deep; touch deep/f", "--deny deep -- i_unlink deep/f" => "EACCES";
    rename_what_is_denied_below: "mkdir deep; touch deep/f", "--deny deep -- i_rename deep free" => "EACCES";
}

/// Root inside a run lacks the capability for namespaces. An ordinary user never had it, so nothing is reported.
#[apply(row!)]
fn namespaces_that_root_may_not_have_are_told_of() {
    if Holder::under_test() == Holder::Library {
        return skip("the library alone does not see system calls by instruction");
    }
    let scratch = arena(Scratch::new());
    let bare = call(&scratch, Mode::Bare, "i_unshare");
    if answer(&bare) != "ok" {
        return skip("only root can do this, and not everywhere");
    }
    let confined = call(&scratch, Mode::under_test(), "i_unshare");
    assert_eq!(answer(&confined), "EPERM", "{confined}");
    confined.assert_stderr("denied unshare / by attack, stopped by the supervisor");
}
