//! Jobs whose shell is gone.
//!
//! The kernel ends what is stopped in a process group that has become an orphaned one (`setpgid(2)`): nobody is
//! left to continue it. A run's group is none for the kernel, as long as the supervisor, in a group of its own,
//! is the parent of the program and the child of the front. So the supervisor does what the kernel would.

use std::collections::HashMap;

use rustix::process::{Pid, Signal};

use crate::sys::proc::descendants::{fields, processes};

/// No process.
const NOBODY: i32 = 0;

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    parent: i32,
    group: i32,
    session: i32,
}

/// Whether there is who may continue the group of `front`: it would be no orphaned one without this process.
pub(crate) fn has_shell(front: Pid) -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let standings = all();
    let front = standings.get(&front.as_raw_nonzero().get());
    front.is_some_and(|front| is_kept(&standings, *front, own))
}

/// Whether a process group is an orphaned one for the kernel, for which this process counts, too.
pub(crate) fn is(group: i32) -> bool {
    let standings = all();
    let member = standings.values().find(|one| one.group == group);
    !member.is_some_and(|member| is_kept(&standings, *member, NOBODY))
}

/// Where every process stands.
fn all() -> HashMap<i32, Standing> {
    processes().filter_map(|(pid, stat)| Some((pid, Standing::of(&stat)?))).collect()
}

/// Ends the stopped group of `front` as the kernel does: who handles the first signal goes on.
pub(crate) fn end(front: Pid) {
    let Ok(group) = rustix::process::getpgid(Some(front)) else { return };
    for signal in [Signal::HUP, Signal::CONT] {
        // Who has ended meanwhile needs neither.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Whether a parent of somebody in the group of `member`, other than `except`, is in the session, and not in the
/// group.
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
