//! Probes the kernel for the features that confinement uses. Used by `plan`, `launch` and `doctor`.

mod disabled;
mod required;

use std::os::fd::AsRawFd as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use rustix::thread::{CapabilitySet, capabilities};

pub(crate) use self::disabled::{Absent, WITHOUT};
pub(crate) use self::required::Need;
use crate::sys::{filter, landlock, memory};

/// The features that the planner has to know. Probing them takes a few system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one feature")]
pub(crate) struct Machine {
    /// The version of Landlock. Zero if there is none, as inside a run that has a supervisor.
    pub(crate) landlock: i32,
    /// Trapped calls can go to a supervisor, and only a deadly signal wakes their callers. A process can have only one
    /// listener, and an outer run may have it. Only the installation of the filter shows whether one is available.
    pub(crate) listener: bool,
    /// `openat2(2)`, by which objects are pinned without following symlinks.
    pub(crate) openat2: bool,
    /// `/proc`, by which the supervisor sees its callers.
    pub(crate) proc: bool,
    /// `/proc/self/fd`, by which the library acts on pinned objects. It cannot be treated as absent.
    pub(crate) own_descriptors: bool,
    /// A process may look into those that it started.
    pub(crate) ptrace: bool,
    /// A process may do so even if they hide their memory (`CAP_SYS_PTRACE`).
    pub(crate) traces_all: bool,
    /// `pidfd_getfd(2)`, by which the supervisor shares descriptors of its callers.
    pub(crate) descriptors: bool,
    /// The kernel writes the memory of a crashed program into a file, wherever the program is (`core(5)`).
    pub(crate) writes_cores: bool,
}

/// A kernel feature that a layer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Landlock.
    Landlock,
    /// The listener of a seccomp filter.
    Listener,
    /// `openat2(2)`.
    Openat2,
    /// `/proc`.
    Proc,
    /// Looking into processes that one started.
    Ptrace,
    /// `pidfd_getfd(2)`.
    Descriptors,
}

impl Feature {
    /// Every feature.
    pub(crate) const ALL: [Self; 6] = [
        Self::Landlock,
        Self::Listener,
        Self::Openat2,
        Self::Proc,
        Self::Ptrace,
        Self::Descriptors,
    ];

    /// Its name in [`WITHOUT`] and in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Listener => "listener",
            Self::Openat2 => "openat2",
            Self::Proc => "proc",
            Self::Ptrace => "ptrace",
            Self::Descriptors => "pidfd_getfd",
        }
    }

    /// The loss without it.
    pub(crate) const fn loss(self) -> &'static str {
        match self {
            Self::Landlock => "nothing bounds a program that digs out the library's cookie",
            Self::Listener => {
                "Landlock alone holds calls that avoid the library; connections, watches and metadata nobody"
            }
            Self::Openat2 => "the supervisor cannot hold what it judges, so there is none",
            Self::Proc => "the supervisor cannot see its callers, so there is none",
            Self::Ptrace => "the supervisor cannot read what callers ask, so there is none",
            Self::Descriptors => "programs without the library cannot connect, bind or fchmod",
        }
    }

    /// How to get it.
    pub(crate) const fn remedy(self) -> &'static str {
        match self {
            Self::Landlock => "Linux 5.13 or newer, landlock in boot parameter lsm=, no outer run",
            Self::Listener => "Linux 5.19 or newer, seccomp(2) allowed, no run around this one",
            Self::Openat2 => "Linux 5.6 or newer, and openat2(2) allowed by the container",
            Self::Proc => "mount /proc",
            Self::Ptrace => {
                "yama's ptrace_scope 1 or 0; process_vm_readv(2) allowed by the container"
            }
            Self::Descriptors => "Linux 5.6 or newer, and pidfd_getfd(2) allowed by the container",
        }
    }
}

/// Later versions of Landlock, and the loss without each.
pub(crate) const LANDLOCK_GREW: [(i32, &str); 5] = [
    (2, "renames between directories always go to the supervisor"),
    (3, "nothing bounds what code with the library's cookie truncates"),
    (4, "connections that rules about hosts judge have the supervisor alone to hold them"),
    (5, "nothing bounds commands to devices that are opened for nothing else"),
    (6, "processes outside the run can be sent signals"),
];

impl Machine {
    /// Probes this machine, without the features in `without`. Inside a run, calls that reach into processes are not
    /// tried and count as working: a try might be a denial, and a nested run has no supervisor anyway.
    pub(crate) fn look(without: &Absent, is_inside: bool) -> Self {
        let absent = |feature: Feature| without.names(feature);
        let reaches = |tried: fn() -> bool| is_inside || tried();
        let newest = if absent(Feature::Landlock) { 0 } else { without.landlock };
        let own_descriptors = shows_own_processes();
        Self {
            landlock: landlock::version().min(newest),
            listener: !absent(Feature::Listener) && filter::knows_listener(),
            openat2: !absent(Feature::Openat2) && knows_openat2(),
            proc: !absent(Feature::Proc) && own_descriptors,
            own_descriptors,
            ptrace: !absent(Feature::Ptrace)
                && may_look_into_children()
                && reaches(memory::may_be_read),
            traces_all: capabilities(None)
                .is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_PTRACE)),
            descriptors: !absent(Feature::Descriptors) && reaches(knows_descriptors),
            writes_cores: writes_cores(),
        }
    }

    /// The machine without a listener, after the filter could not be installed with one.
    pub(crate) fn without_listener(self) -> Self {
        Self { listener: false, ..self }
    }

    /// Whether the feature is there.
    pub(crate) const fn has(self, feature: Feature) -> bool {
        match feature {
            Feature::Landlock => self.landlock > 0,
            Feature::Listener => self.listener,
            Feature::Openat2 => self.openat2,
            Feature::Proc => self.proc,
            Feature::Ptrace => self.ptrace,
            Feature::Descriptors => self.descriptors,
        }
    }

    /// Whether there can be a supervisor.
    pub(crate) const fn supervises(self) -> bool {
        self.listener && self.openat2 && self.proc && self.ptrace
    }

    /// The features that are missing.
    pub(crate) fn missing(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |&feature| !self.has(feature))
    }
}

/// Whether `/proc` exists, and belongs to the pid namespace of this process.
fn shows_own_processes() -> bool {
    let own = std::process::id().to_string();
    std::fs::read_link("/proc/self").is_ok_and(|name| name == Path::new(&own))
        && Path::new("/proc/self/fd").is_dir()
}

fn knows_openat2() -> bool {
    // An empty path is never found. The kernel knows the call if it says so.
    openat2(CWD, c"", OFlags::RDONLY, Mode::empty(), ResolveFlags::empty()).err()
        == Some(Errno::NOENT)
}

/// Whether this process may call `pidfd_getfd(2)` on itself. Some containers allow everything else that a supervisor
/// needs, but not this call.
fn knows_descriptors() -> bool {
    let taken = pidfd_open(getpid(), PidfdFlags::empty())
        .and_then(|own| pidfd_getfd(&own, own.as_raw_fd(), PidfdGetfdFlags::empty()));
    taken.is_ok()
}

/// The loss without `/proc/self/fd`, whatever the policy grants.
pub(crate) const LOST_BY_HOLDING: &str = "`chmod`, `touch`, `ln` and `rm -r` fail with the library";

/// Whether core files are written. Otherwise a program or a socket outside the run gets them.
fn writes_cores() -> bool {
    let pattern = std::fs::read("/proc/sys/kernel/core_pattern").unwrap_or_default();
    !matches!(pattern.first(), Some(b'|' | b'@'))
}

/// Yama's `ptrace_scope`, if the kernel has Yama: 1 still allows tracing children, 2 needs a capability, 3 denies all.
pub(crate) fn yama() -> Option<u8> {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    scope.trim().parse().ok()
}

fn may_look_into_children() -> bool {
    match yama() {
        None | Some(0 | 1) => true,
        Some(2) => rustix::process::geteuid().is_root(),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_can_be_forgotten() {
        let look = |text| Machine::look(&Absent::parse(text).expect("features"), false);
        let none = look("landlock,listener,openat2,proc,ptrace,pidfd_getfd");
        assert_eq!(none.missing().count(), Feature::ALL.len());
        let old = look("landlock:2,listener");
        assert!(old.landlock <= 2 && !old.supervises());
    }
}
