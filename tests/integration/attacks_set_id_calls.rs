//! The rows about set-user-ID and set-group-ID bits, with system calls that the attack program makes itself. Some of
//! them bear the mark by which the library shows that it has judged a call.

use crate::attacks_set_id::rows;

rows! {
    chmod_by_instruction: "touch p", "i_chmod_to p 4755" => "ok", "EACCES";
    fchmod_by_instruction: "touch p", "i_fchmod_to p 4755" => "ok", "EACCES";
    fchmod_by_the_mark: "touch p", "i_marked , i_fchmod_to p 4755" => "ok", "EACCES";
    open_by_instruction: "", "i_open_as p 4755 , i_fchmod_to p 755" => "ok", "ok";
    open_by_the_mark: "", "i_marked , i_open_as p 4755" => "ok", "ok";
    mknod_by_the_mark: "", "i_marked , i_mknod_as p 4755" => "ok", "ok";
    openat2_by_instruction: "", "i_openat2_as p 4755" => "ok", "ok";
}
