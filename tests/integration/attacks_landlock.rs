//! Landlock sandboxes that programs create for themselves.

use macro_rules_attribute::apply;

use crate::attack::{answer, arena, call};
use crate::layers::{Holder, row};
use crate::run::{Mode, skip};
use crate::scratch::Scratch;

/// Calls of a program that gave up all access to files.
const LINES: [&str; 5] = [
    "landlock open file",
    "landlock write file",
    "landlock creat new",
    "landlock unlink file",
    "landlock i_open file",
];

/// The supervisor would act outside such a sandbox. So the sandbox is available only where no supervisor acts for the
/// program. Elsewhere the program learns that there is none.
#[apply(row!)]
fn a_program_knows_whether_its_own_sandbox_holds() {
    let scratch = arena(Scratch::new());
    let answers = |mode, flags: &str| {
        LINES.map(|line| answer(&call(&scratch, mode, &format!("{flags}{line}"))).to_owned())
    };
    let bare = answers(Mode::Bare, "");
    if bare.iter().all(|answer| ["EOPNOTSUPP", "ENOSYS"].contains(&answer.as_str())) {
        return skip("this kernel has no Landlock");
    }
    assert_eq!(bare, ["EACCES"; 5]);
    let mode = Mode::under_test();
    if Holder::under_test() == Holder::Library {
        return assert_eq!(answers(mode, ""), ["EACCES"; 5]);
    }
    assert_eq!(answers(mode, ""), ["EOPNOTSUPP"; 5]);
    if Holder::under_test() == Holder::Layers {
        assert_eq!(answers(mode, "--enforce=cooperative -- "), ["EACCES"; 5]);
    }
}
