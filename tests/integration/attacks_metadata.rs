//! Ways to change a forbidden file, or to read its attributes, without opening it for that.

use crate::attack::attacks;

attacks! {
    truncate: "", "truncate $OUT/target" => "EACCES";
    truncate_by_link: "ln -s $OUT/target link", "truncate link" => "EACCES";
    chmod: "", "chmod $OUT/target" => "EACCES";
    chmod_by_link: "ln -s $OUT/target link", "chmod link" => "EACCES";
    fchmodat: "", "fchmodat $OUT/target" => "EACCES";
    chown: "", "chown $OUT/target" => "EACCES";
    lchown: "", "lchown $OUT/target" => "EACCES";
    fchownat: "", "fchownat $OUT/target" => "EACCES";
    utimensat: "", "utimensat $OUT/target" => "EACCES";
    utimensat_of_a_held_file: "", "utimensat_held $OUT/target" => "EACCES";
    fchownat_of_a_held_file: "", "fchownat_held $OUT/target" => "EACCES";
    utimes: "", "utimes $OUT/target" => "EACCES";
    utime: "", "utime $OUT/target" => "EACCES";
    setxattr: "", "setxattr $OUT/target user.k" => "EACCES";
    setxattr_by_link: "ln -s $OUT/target link", "setxattr link user.k" => "EACCES";
    lsetxattr: "", "lsetxattr $OUT/target user.k" => "EACCES";
    removexattr: "$ATTACK setxattr $OUT/target user.k", "removexattr $OUT/target user.k" => "EACCES";
    removexattrat: "$ATTACK setxattr $OUT/target user.k", "removexattrat $OUT/target user.k" => "EACCES";
    file_getattr_in_a_hidden_area: "", "file_getattr $HOME/.private/key" => "ENOENT";
    getxattr: "$ATTACK setxattr $OUT/target user.k", "getxattr $OUT/target user.k" => "EACCES";
    listxattr_in_a_hidden_area: "", "listxattr $HOME/.private/key" => "ENOENT";
    fchmod_of_a_file_granted_to_read: "", "-r $OUT -- fchmod $OUT/target" => "EACCES";
    fchown_of_a_file_granted_to_read: "", "-r $OUT -- fchown $OUT/target" => "EACCES";
    futimens_of_a_file_granted_to_read: "", "-r $OUT -- futimens $OUT/target" => "EACCES";
    utimensat_of_a_held_file_granted_to_read: "", "-r $OUT -- utimensat_held $OUT/target" => "EACCES";
    fsetxattr_of_a_file_granted_to_read: "", "-r $OUT -- fsetxattr $OUT/target user.k" => "EACCES";
}
