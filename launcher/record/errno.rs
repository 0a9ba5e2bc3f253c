//! Names the error that a denied call returned. Used by reports.

use jp_confine_engine::calls::Effect;

use crate::record::denial::{Denial, Reason};

/// The error that the program got, as `errno(3)` names it.
pub(crate) fn errno(denial: &Denial) -> &'static str {
    match (denial.reason, Effect::of(&denial.call)) {
        _ if denial.hidden => "ENOENT",
        (Reason::Namespace, Effect::Queue) => "EACCES",
        (Reason::Namespace, _) | (Reason::OtherProcess, Effect::Memory | Effect::Process) => {
            "EPERM"
        }
        _ => "EACCES",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errno_is_what_was_answered() {
        let told = |reason, call: &str| {
            let by = (1, Vec::new());
            errno(&Denial::by_supervisor(reason, b"/", by, call.as_bytes()))
        };
        for call in ["mount", "umount", "unshare", "mknod", "bpf"] {
            assert_eq!(told(Reason::Namespace, call), "EPERM", "{call}");
        }
        assert_eq!(told(Reason::Namespace, "mq_open"), "EACCES");
        assert_eq!(told(Reason::OtherProcess, "setpriority"), "EPERM");
        assert_eq!(told(Reason::OtherProcess, "openat"), "EACCES");
        assert_eq!(told(Reason::Rule, "openat"), "EACCES");
    }
}
