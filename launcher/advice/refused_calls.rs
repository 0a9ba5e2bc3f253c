//! Suggests an alternative to a call that no run may make.

use jp_confine_engine::calls::Effect;

use crate::record::denial::Reason;

/// Why no option allows a call that was denied for `reason`, and the alternative. `None` for other reasons.
pub(crate) fn way_out(reason: Reason, call: &[u8]) -> Option<&'static str> {
    Some(match (reason, Effect::of(call)) {
        (Reason::Namespace, Effect::Device) => {
            "no option allows devices, which go around paths: make it outside of the run"
        }
        (Reason::Namespace, Effect::Paths) => {
            "no option allows it, as it changes what paths mean: do it outside of the run"
        }
        (Reason::Namespace, Effect::Names) => {
            "no option allows namespaces: do it outside, or without (`--no-sandbox`)"
        }
        (Reason::Namespace, Effect::Machine) => {
            "no option allows it, as it touches the machine: do it outside of the run"
        }
        (Reason::Namespace, Effect::Log) => {
            "no option allows the call; `-r /dev/kmsg` allows the file, which dmesg reads"
        }
        (Reason::Namespace, Effect::Terminal) => {
            "no option allows it, as the terminal is the user's: do it outside of the run"
        }
        (Reason::Namespace, Effect::Queue) => {
            "in another IPC namespace the name is another queue's: use it outside of that"
        }
        (Reason::Namespace, _) => {
            "no option allows it, as it goes around paths: do it outside of the run"
        }
        (Reason::OtherProcess, Effect::Memory) => {
            "without Landlock nothing keeps others' apart: `jp-confine doctor` says more"
        }
        (Reason::OtherProcess, _) => {
            "no option allows it, as it is another process's: do it outside of the run"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_names_the_way_out() {
        for (call, words) in [
            ("mknod", "make it outside"),
            ("chroot", "what paths mean: do it outside"),
            ("clone3", "namespaces: do it outside, or without"),
            ("open_by_handle_at", "around paths: do it outside"),
            ("kexec_load", "the machine: do it outside"),
            ("socket", "the machine: do it outside"),
            ("syslog", "`-r /dev/kmsg`"),
            ("klogctl", "`-r /dev/kmsg`"),
            ("ioctl", "the user's: do it outside"),
        ] {
            let way = way_out(Reason::Namespace, call.as_bytes()).expect("a way out");
            assert!(way.contains(words), "{call}: {way}");
            assert!(way.len() <= 76, "{way}");
        }
        let process = |call: &str| way_out(Reason::OtherProcess, call.as_bytes()).expect("a way");
        assert!(process("setpriority").contains("do it outside"));
        assert!(process("ptrace").contains("jp-confine doctor"));
        assert_eq!(way_out(Reason::Rule, b"mknod"), None);
    }
}
