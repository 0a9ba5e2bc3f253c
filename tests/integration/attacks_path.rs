//! Ways to spell a forbidden path.

use macro_rules_attribute::apply;

use crate::attack::{answer, arena_with, attacks, call, linkings, set_up};
use crate::layers::row;
use crate::run::Mode;
use crate::scratch::Scratch;

attacks! {
    absolute: "", "open $OUT/secret" => "EACCES";
    slashes_and_dots: "", "open //$OUT//./dir/..//secret" => "EACCES";
    above_the_root: "", "open /../..$OUT/secret" => "EACCES";
    dot_dot: "", "open ../out/secret" => "EACCES";
    dot_dot_behind_a_directory: "", "open dir/../../out/secret" => "EACCES";
    trailing_slash: "", "open_dir $OUT/dir/" => "EACCES";
    symlink: "ln -s $OUT/secret link", "open link" => "EACCES";
    relative_symlink: "ln -s ../out/secret link", "open link" => "EACCES";
    symlink_to_write: "ln -s $OUT/target link", "write_trunc link" => "EACCES";
    chain_of_symlinks: "ln -s $OUT/secret a; ln -s a b; ln -s dir/../b c", "open c" => "EACCES";
    symlinked_parent: "ln -s $OUT parent", "open parent/secret" => "EACCES";
    symlinked_parent_to_create: "ln -s $OUT parent", "write_creat parent/new" => "EACCES";
    dangling_link_to_create: "ln -s $OUT/new link", "write_creat link" => "EACCES";
    dangling_chain_to_create: "ln -s $OUT/new a; ln -s a b", "creat b" => "EACCES";
    own_symlink: "", "symlink $OUT/secret link , open link" => "EACCES";
    own_symlinked_parent: "", "symlink $OUT parent , open parent/secret" => "EACCES";
    dot_dot_behind_a_link: "ln -s $OUT/dir link; echo decoy > secret", "open link/../secret" => "EACCES";
    create_behind_link_dot_dot: "ln -s $OUT/dir link", "write_creat link/../new" => "EACCES";
    proc_self_root: "", "open /proc/self/root$OUT/secret" => "EACCES";
    proc_thread_self_root: "", "open /proc/thread-self/root$OUT/secret" => "EACCES";
    proc_self_cwd: "", "open /proc/self/cwd/../out/secret" => "EACCES";
    proc_self_root_by_link: "ln -s /proc/self/root root", "open root$OUT/secret" => "EACCES";
    inherited_directory: "", "9<$OUT openat_fd 9 secret" => "EACCES";
    inherited_directory_dot_dot: "", "9<. openat_fd 9 ../out/secret" => "EACCES";
    inherited_directory_by_proc: "", "9<$OUT open /proc/self/fd/9/secret" => "EACCES";
    inherited_directory_by_dev: "", "9<$OUT open /dev/fd/9/secret" => "EACCES";
    inherited_directory_listed: "", "9<$OUT opendir /proc/self/fd/9" => "EACCES";
    inherited_directory_entered: "", "9<$OUT fchdir_fd 9 open secret" => "EACCES";
    path_descriptor_reopened: "", "path_reopen $OUT/secret" => "EACCES";
    path_descriptor_as_directory: "", "path_openat $OUT secret" => "EACCES";
    relative_after_chdir: "", "chdir $OUT open secret" => "EACCES";
    relative_after_chdir_up: "", "chdir .. open out/secret" => "EACCES";
    relative_after_chdir_by_link: "ln -s $OUT parent", "chdir parent open secret" => "EACCES";
    relative_after_fchdir: "", "fchdir $OUT open secret" => "EACCES";
    absolute_from_a_deep_directory: "", "deep open $OUT/secret" => "ENAMETOOLONG";
    link_in_a_deep_directory: "", "deep symlink $OUT/secret l , open l" => "ENAMETOOLONG";
    create_by_link_in_a_deep_directory: "", "deep symlink $OUT/new l , creat l" => "ENAMETOOLONG";
    name_that_is_not_utf8: r#"cp $OUT/secret "$OUT/$(printf '\377')""#, "open $OUT/%ff" => "EACCES";
    link_that_is_not_utf8: r#"ln -s $OUT/secret "$(printf '\377')""#, "open %ff" => "EACCES";
    create_a_name_that_is_not_utf8: "", "creat $OUT/%ff%fe" => "EACCES";
    hidden: "", "open $HOME/.private/key" => "ENOENT";
    hidden_by_link: "ln -s $HOME/.private/key link", "open link" => "ENOENT";
    hidden_directory: "", "opendir $HOME/.private" => "ENOENT";
    hidden_metadata: "", "stat $HOME/.private/key" => "ENOENT";
    hidden_existence: "", "access $HOME/.private/key" => "ENOENT";
    hidden_link_text: "ln -s key $HOME/.private/l", "readlink $HOME/.private/l" => "ENOENT";
    hidden_program: "cp $ATTACK $HOME/.private/program", "exec $HOME/.private/program" => "ENOENT";
    hidden_home_listed: "", "opendir $HOME" => "EACCES|ENOENT";
    hidden_to_write: "", "write $HOME/.private/key" => "EACCES|ENOENT";
    hidden_to_create: "", "creat $HOME/.private/new" => "EACCES";
    hidden_to_delete: "", "unlink $HOME/.private/key" => "EACCES";
    hidden_as_directory: "", "mkdir $HOME/.private/new" => "EACCES";
}

/// The kernel looks for the directory before `..` first. For a hidden directory, the answer must not show that it
/// exists.
#[apply(row!)]
fn hidden_directory_before_dots() {
    for &linking in linkings() {
        let scratch = arena_with(linking, Scratch::new());
        for line in [
            "mkdir HIDDEN/..",
            "mkfifo HIDDEN/.",
            "rmdir HIDDEN/..",
            "rename HIDDEN/.. new",
            "rename HIDDEN/.. missing/new",
            "rename HIDDEN/key .",
            "rename HIDDEN/key missing/new",
            "rename_noreplace HIDDEN/key ..",
            "exchange HIDDEN/key .",
            "rename . HIDDEN/new",
            "rename .. HIDDEN/..",
            "link HIDDEN/key .",
            "link HIDDEN/key $OUT/missing/new",
            "unlink HIDDEN/..",
        ] {
            let said = |name: &str| {
                let line = line.replace("HIDDEN", &format!("$HOME/{name}"));
                answer(&call(&scratch, Mode::under_test(), &line)).to_owned()
            };
            assert_eq!(said(".private"), said(".absent"), "{linking:?}: {line}");
        }
    }
}

/// The answer to a change through a symlink does not show whether the symlink leads to a hidden directory or nowhere.
#[apply(row!)]
fn hidden_directory_behind_a_link() {
    for &linking in linkings() {
        let scratch = arena_with(linking, Scratch::new());
        set_up(
            &scratch,
            "mkdir $HOME/.private/deep; ln -s $HOME/.private private; ln -s $HOME/.absent absent",
        );
        set_up(&scratch, "ln -s private/deep to_private; ln -s absent/deep to_absent");
        for line in [
            "mkdir LINK/new",
            "mkdir LINK/missing/new",
            "mkdir to_LINK/new",
            "mkfifo LINK/new",
            "symlink text LINK/new",
            "link file LINK/new",
            "creat LINK/new",
            "creat to_LINK/../missing/new",
            "write LINK/key",
            "write LINK/missing/key",
            "unlink LINK/key",
            "rmdir LINK/deep",
            "rename LINK/key new",
            "rename file LINK/new",
            "rename LINK/key .",
            "chmod LINK/key",
            "truncate to_LINK/key",
            "bind LINK/new",
        ] {
            let said = |name: &str| {
                let line = line.replace("LINK", name);
                answer(&call(&scratch, Mode::under_test(), &line)).to_owned()
            };
            assert_eq!(said("private"), said("absent"), "{linking:?}: {line}");
        }
    }
}
