//! Ends stopped jobs whose shell is gone. Used by the supervisor.
//!
//! If a process group becomes orphaned, the kernel ends its stopped processes, since no process is left to continue
//! them (`setpgid(2)`). To the kernel, a run's group is not orphaned: the supervisor, in a group of its own, is the
//! parent of the program and the child of the front. So the supervisor does what the kernel would do.

use std::collections::HashMap;

use rustix::process::{Pid, Signal};

use crate::sys::groups::group_of;
use crate::sys::proc::descendants::{fields, processes};

/// No process.
const NOBODY: i32 = 0;

/// The parent, group and session of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    parent: i32,
    group: i32,
    session: i32,
}

/// Whether a shell may continue the group of `front`: the group would not be orphaned without this process.
pub(crate) fn has_shell(front: Pid) -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let standings = all();
    let front = standings.get(&front.as_raw_nonzero().get());
    front.is_some_and(|front| is_kept(&standings, *front, own))
}

/// Whether a process group is orphaned for the kernel, which also counts this process as a parent.
pub(crate) fn is(group: i32) -> bool {
    let standings = all();
    let member = standings.values().find(|one| one.group == group);
    !member.is_some_and(|member| is_kept(&standings, *member, NOBODY))
}

/// The parent, group and session of every process.
fn all() -> HashMap<i32, Standing> {
    processes().filter_map(|(pid, stat)| Some((pid, Standing::of(&stat)?))).collect()
}

/// Ends the stopped group of `front` as the kernel does: a process that handles the first signal goes on.
pub(crate) fn end(front: Pid) {
    let Some(group) = group_of(front) else { return };
    for signal in [Signal::HUP, Signal::CONT] {
        // A group that has ended meanwhile needs neither.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Whether a process in the group of `member` has a parent, other than `except`, that is in the same session but in
/// another group.
fn is_kept(standings: &HashMap<i32, Standing>, member: Standing, except: i32) -> bool {
    let members = standings.values().filter(|one| one.group == member.group);
    let mut parents = members.map(|one| one.parent).filter(|&parent| parent != except);
    parents.any(|parent| {
        standings
            .get(&parent)
            .is_some_and(|one| one.session == member.session && one.group != member.group)
    })
}

impl Standing {
    /// Reads the status of a process (`proc_pid_stat(5)`).
    fn of(stat: &str) -> Option<Self> {
        let mut numbers = fields(stat)?.skip(1).map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self { parent: next()?, group: next()?, session: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRONT: Standing = Standing { parent: 10, group: 20, session: 10 };
    const PROGRAM: Standing = Standing { parent: 21, group: 20, session: 10 };

    fn standings(shell: Standing) -> HashMap<i32, Standing> {
        let supervisor = Standing { parent: 20, group: 21, session: 10 };
        HashMap::from([(10, shell), (20, FRONT), (21, supervisor), (22, PROGRAM)])
    }

    #[test]
    fn a_group_has_a_shell_while_a_parent_is_in_the_session() {
        let shell = Standing { parent: 1, group: 10, session: 10 };
        assert!(is_kept(&standings(shell), FRONT, 21));
        let elsewhere = Standing { parent: 0, group: 1, session: 1 };
        assert!(!is_kept(&standings(elsewhere), FRONT, 21));
        let of_the_job = Standing { parent: 1, group: 20, session: 10 };
        assert!(!is_kept(&standings(of_the_job), FRONT, 21));
    }

    #[test]
    fn a_status_is_read_behind_the_name() {
        let stat = "20 (a ) b) T 10 20 30 34816 20 1077936128";
        assert_eq!(Standing::of(stat), Some(Standing { parent: 10, group: 20, session: 30 }));
        assert_eq!(Standing::of("20 (x) T 10"), None);
    }
}
