//! Second names of libc's functions, and functions that open, run or connect from inside libc.

use macro_rules_attribute::apply;

use crate::attack::{answer, arena, attacks, call};
use crate::layers::{Holder, row};
use crate::run::{Mode, skip};
use crate::scratch::Scratch;

attacks! {
    second_name_of_open: "", "alias_open $OUT/secret" => "EACCES";
    second_name_of_open64: "", "alias_open64 $OUT/secret" => "EACCES";
    second_name_of_fopen: "", "alias_fopen $OUT/secret" => "EACCES";
    second_name_of_popen: "", "unset LD_PRELOAD unset JP_CONFINE alias_popen_cat $OUT/secret" => "EACCES";
    popen: "", "unset LD_PRELOAD unset JP_CONFINE popen_cat $OUT/secret" => "EACCES";
    second_libc: "", "second_libc $OUT/secret" => "EACCES";
    setmntent: "", "setmntent $OUT/secret" => "EACCES";
    setmntent_to_create: "", "setmntent_w $OUT/new" => "EACCES";
    command_substitution: "", "unset LD_PRELOAD unset JP_CONFINE wordexp_cat $OUT/secret" => "EACCES";
    open_in_a_walk_that_changes_directory: "", "write_creat known , nftw_chdir $OUT secret" => "EACCES";

    bind: "", "bind $OUT/socket" => "EACCES";
    connect: "$ATTACK hold_socket $OUT/socket", "connect $OUT/socket" => "EACCES";
    connect_by_link: "$ATTACK hold_socket $OUT/socket; ln -s $OUT d", "connect d/socket" => "EACCES";
    second_name_of_connect: "$ATTACK hold_socket $OUT/socket", "alias_connect $OUT/socket" => "EACCES";
    sendto: "$ATTACK hold_socket $OUT/socket", "sendto $OUT/socket" => "EACCES";
    sendmsg: "$ATTACK hold_socket $OUT/socket", "sendmsg $OUT/socket" => "EACCES";
    sendmmsg: "$ATTACK hold_socket $OUT/socket", "sendmmsg $OUT/socket" => "EACCES";
}

/// libc starts the shell by itself. The library allows it only if another layer sees it.
#[apply(row!)]
fn commands_in_words() {
    if Holder::under_test() == Holder::Supervisor {
        return skip("what is asked about is the library");
    }
    let scratch = arena(Scratch::new());
    let said = |line: &str| answer(&call(&scratch, Mode::under_test(), line)).to_owned();
    let is_alone = Holder::under_test() == Holder::Library;
    let own = said("wordexp_cat file");
    assert!(if is_alone { own == "EACCES" } else { own.starts_with("ok") }, "{own}");
    for secret in
        ["wordexp_cat $OUT/secret", "unset LD_PRELOAD unset JP_CONFINE wordexp_cat $OUT/secret"]
    {
        assert_eq!(said(secret), "EACCES");
    }
}
