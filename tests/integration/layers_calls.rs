//! Writes the table of system calls of `docs/enforcement.md` from `jp_confine_engine::calls`. Used by `layers_document`.

use std::fmt::Write as _;

use jp_confine_engine::calls::{CALLS, Call, Need, Trap, When};

/// One line for all calls that need the same and are handled alike.
pub(crate) fn table() -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for call in CALLS {
        let line = format!("{} | {}", need(call.need), handling(call));
        match groups.iter_mut().find(|(known, _)| *known == line) {
            Some((_, calls)) => calls.push(call.text()),
            None => groups.push((line, vec![call.text()])),
        }
    }
    let mut text = "| calls | need | filter |\n|---|---|---|\n".to_owned();
    for (line, calls) in groups {
        let _ = writeln!(text, "| `{}` | {line} |", calls.join("`, `"));
    }
    text
}

fn need(need: Need) -> String {
    match need {
        Need::Varies => "depends on the arguments",
        Need::Capabilities(capabilities) => return format!("`{capabilities}`"),
        Need::Open => "the rights of its flags",
        Need::Execute => "`execute`, and rules about programs",
        Need::Create => "`create`",
        Need::Delete => "`delete`",
        Need::Link => "`create`, and the new name gains no right",
        Need::Rename => "`delete` and `create`, and nothing gains a right",
        Need::Look => "outside of hidden areas none",
        Need::Peer => "rules about hosts and sockets",
        Need::OwnProcess => "a process of the run",
        Need::Refused => "never: EPERM, told",
        Need::Absent => "never: ENOSYS",
        Need::TurnedOff => "never, if there is a supervisor: EOPNOTSUPP",
    }
    .to_owned()
}

fn handling(call: &Call) -> String {
    if matches!(call.need, Need::Refused | Need::Absent | Need::TurnedOff) {
        return "fails".to_owned();
    }
    let (when, how) = call.trap;
    let mut text = format!("{}{}", trap(how), runs(when));
    if let Some(how) = call.hosts {
        let _ = write!(text, "; with rules about hosts {}", trap(how));
    }
    text
}

fn trap(trap: Trap) -> &'static str {
    match trap {
        Trap::Never => "passes",
        Trap::Unmarked => "trapped",
        Trap::Always | Trap::Send { address: None, .. } => "trapped, whoever calls",
        Trap::ByFlags(_) => "trapped by its flags",
        Trap::ByMode(_) => "trapped; whoever calls, if the mode has set-ID bits",
        Trap::ByPath(_) => "trapped; by path, whoever calls",
        Trap::ByAddress(_) | Trap::Send { address: Some(_), .. } => {
            "with an address trapped, whoever calls"
        }
        Trap::ByLength(_) => "trapped; whoever calls, if the address may be of a unix socket",
        Trap::ByProcess(_) | Trap::ByKind(_) => "for another process trapped, whoever calls",
        Trap::Limits => "trapped, whoever calls, if it sets limits of another process",
        Trap::CoreLimit => "the core limit stays",
        Trap::ByNamespaces(_) => "trapped, whoever calls, if they need a capability",
        Trap::HiddenMemory => "hiding memory does nothing",
        Trap::ByCommand => "by its command",
        Trap::BySocket => "by its kind",
        Trap::ByOption => "by its option",
    }
}

fn runs(when: When) -> &'static str {
    match when {
        When::Filtered | When::Supervised => "",
        When::Writes => ", unless Landlock is exact",
        When::Contents => ", in a run that is learned from",
        When::Processes => ", without Landlock",
        When::Namespaces => ", for root without `CAP_SYS_ADMIN`",
        When::Hiding => ", if the supervisor lacks `CAP_SYS_PTRACE`",
        When::CoreFiles => ", if crashes write files",
        When::Hosts => ", with rules about hosts",
    }
}
