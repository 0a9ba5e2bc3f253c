//! Collects the denials of a run, and counts equal ones. Used by reports and suggestions.

use std::collections::HashMap;

use jp_confine_engine::Capabilities;
use jp_confine_engine::tier::Restraint;

use crate::record::denial::{Denial, Reason};
use crate::record::effort::Effort;
use crate::record::lost_records::LostRecords;

/// Most denials that are told apart. The rest is only counted.
const DISTINCT: usize = 10_000;

/// Two denials with the same key are equal. The last part depends on the denial:
///
/// - of a command: its arguments;
/// - of a call that names two paths: the other path;
/// - of a call that is denied for what it does: its name;
/// - of a path that a restraint is about: its spelling.
///
/// Paths like `/proc/PID/stat` count without the number: a program that looks at all processes wants one thing.
type Key = (u8, Reason, Option<Restraint>, Vec<u8>, Vec<u8>, Vec<u8>);

/// Calls that set times. `touch` makes one before or after its open, whether that succeeds or not.
pub(crate) const TIMES: [&[u8]; 5] = [b"utimensat", b"utimes", b"utime", b"lutimes", b"futimesat"];

/// Denials of one kind, and their counts.
#[derive(Debug, Default)]
struct Group {
    places: HashMap<Key, usize>,
    distinct: Vec<(Denial, u64)>,
    /// The number of denials beyond those told apart.
    untold: u64,
}

/// The denials of a run, in the order in which they first occurred.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    open: Group,
    /// The denials that made a name look absent, as in an empty home.
    hidden: Group,
    /// The denials that are missing here.
    pub(crate) gap: Option<LostRecords>,
    /// The requests that a person consented to, so that they were not denied.
    consented: Group,
    /// The limit on the time to work out suggestions, if there is one.
    pub(crate) effort: Option<Effort>,
}

impl Denials {
    /// Counts one denial.
    pub(crate) fn add(&mut self, denial: Denial) {
        let group = match denial.hidden {
            _ if denial.reason.is_consent() => &mut self.consented,
            true => &mut self.hidden,
            false => &mut self.open,
        };
        group.add(denial);
    }

    /// The denials that the program could see, each with its count.
    pub(crate) fn open(&self) -> &[(Denial, u64)] {
        &self.open.distinct
    }

    /// The denials that looked to the program like an absent file, each with its count.
    pub(crate) fn hidden(&self) -> &[(Denial, u64)] {
        &self.hidden.distinct
    }

    /// The requests that a person consented to, each with its count.
    pub(crate) fn consented(&self) -> &[(Denial, u64)] {
        &self.consented.distinct
    }

    /// The number of all denials that the program could see.
    pub(crate) fn total(&self) -> u64 {
        self.open.total()
    }

    /// The number of all denials that looked like an absent file.
    pub(crate) fn total_hidden(&self) -> u64 {
        self.hidden.total()
    }
}

impl Group {
    fn add(&mut self, denial: Denial) {
        if self.folds(&denial) {
            return;
        }
        let key = key_of(&denial, denial.missing);
        if let Some(place) = self.places.get(&key) {
            if let Some((known, count)) = self.distinct.get_mut(*place) {
                *count += 1;
                // A program that tries both calls may get by with the other one.
                if known.call == b"rmdir" || TIMES.contains(&denial.call.as_slice()) {
                    known.call = denial.call;
                }
            }
        } else if self.distinct.len() < DISTINCT {
            self.places.insert(key, self.distinct.len());
            self.distinct.push((denial, 1));
        } else {
            self.untold += 1;
        }
    }

    /// Whether it is part of a known denial. `touch` sets the times of a file that it could not create: two calls for
    /// one thing.
    fn folds(&mut self, denial: &Denial) -> bool {
        let place = self.places.get(&key_of(denial, Capabilities::CREATE));
        let made = place.and_then(|place| self.distinct.get_mut(*place)).map(|(made, _)| made);
        let sets_times = TIMES.contains(&denial.call.as_slice());
        let is_one =
            |made: &&mut Denial| sets_times && made.rule == denial.rule && opens_to_write(made);
        let Some(made) = made.filter(is_one) else { return false };
        made.missing = made.missing.union(denial.missing);
        true
    }

    fn total(&self) -> u64 {
        self.untold + self.distinct.iter().map(|(_, count)| count).sum::<u64>()
    }
}

/// The key of a denial, as if it lacked the capabilities `missing`.
fn key_of(denial: &Denial, missing: Capabilities) -> Key {
    let Denial { reason, restraint, path, route, other, program, call, .. } = denial;
    let beside = match reason {
        Reason::Command => route.clone(),
        Reason::Namespace | Reason::OtherProcess | Reason::SetId => call.clone(),
        _ if call.contains(&b',') => [&**other, b"\0", call].concat(),
        // A pattern may be about the spelling.
        _ if restraint.is_some() && route != path => [&**other, b"\0", route].concat(),
        _ => other.clone(),
    };
    let path = of_any_process(path).unwrap_or_else(|| path.clone());
    (missing.bits(), *reason, *restraint, path, program.clone(), beside)
}

/// A path below `/proc/` and a process number, with `PID` in place of the number.
pub(crate) fn of_any_process(path: &[u8]) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(b"/proc/")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, file) = rest.split_at(digits);
    (!number.is_empty() && file.first() == Some(&b'/')).then(|| [b"/proc/PID", file].concat())
}

/// Starts of the names of calls that open or create a file.
pub(crate) const OPENING: [&[u8]; 4] = [b"open", b"creat", b"fopen", b"freopen"];

/// Whether the call would have opened a file for writing. It cannot be a directory, then.
pub(crate) fn opens_to_write(denial: &Denial) -> bool {
    denial.missing.intersects(Capabilities::CREATE.union(Capabilities::UPDATE))
        && OPENING.iter().any(|call| denial.call.starts_with(call))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_to_two_places_are_two_denials() {
        let by = (1, b"/bin/mv".to_vec());
        let moved = |other: &str| Denial {
            other: other.into(),
            ..Denial::by_supervisor(Reason::Rule, b"/w/a", by.clone(), b"rename")
        };
        let mut denials = Denials::default();
        ["/w/b", "/w/c", "/w/b"].map(moved).into_iter().for_each(|denial| denials.add(denial));
        let told: Vec<_> =
            denials.open().iter().map(|(one, count)| (&*one.other, *count)).collect();
        assert_eq!(told, [(&b"/w/b"[..], 2), (b"/w/c", 1)]);
    }

    /// `touch` fails to open a directory, and then sets its times.
    #[test]
    fn times_that_are_set_outlast_an_open() {
        let by = (1, b"/bin/touch".to_vec());
        for calls in [["open", "utimensat"], ["utimensat", "open"]] {
            let mut denials = Denials::default();
            for call in calls {
                let call = call.as_bytes();
                denials.add(Denial::by_supervisor(Reason::Rule, b"/w/a", by.clone(), call));
            }
            let [(denial, count)] = denials.open() else { panic!("{denials:?}") };
            assert_eq!((denial.call.as_slice(), *count), (&b"utimensat"[..], 2));
        }
    }

    /// `touch` would create a file, and then set its times.
    #[test]
    fn times_of_what_could_not_be_made_are_no_denial_of_their_own() {
        let by = |program: &str| (1, program.as_bytes().to_vec());
        let denied = |call: &str, missing, program| Denial {
            missing,
            ..Denial::by_supervisor(Reason::Rule, b"/w/a", by(program), call.as_bytes())
        };
        let (create, update) = (Capabilities::CREATE, Capabilities::UPDATE);
        let mut denials = Denials::default();
        for _ in 0..2 {
            denials.add(denied("open", create, "/bin/touch"));
            denials.add(denied("utimensat", update, "/bin/touch"));
        }
        denials.add(denied("utimensat", update, "/bin/cp"));
        denials.add(denied("mkdir", create, "/bin/tar"));
        denials.add(denied("utimensat", update, "/bin/tar"));
        let told: Vec<_> =
            denials.open().iter().map(|(one, count)| (&*one.call, one.missing, *count)).collect();
        let touched = (&b"open"[..], create.union(update), 2);
        let others =
            [(&b"utimensat"[..], update, 1), (b"mkdir", create, 1), (b"utimensat", update, 1)];
        assert_eq!(told[0], touched);
        assert_eq!(told[1..], others);
    }

    /// A pattern that matches a symlink's path does not match other ways to the same file.
    #[test]
    fn ways_that_patterns_are_about_are_told_apart() {
        let by = (1, b"/bin/cat".to_vec());
        let read = |route: &str| Denial {
            route: route.into(),
            restraint: Some(Restraint::Deny),
            ..Denial::by_supervisor(Reason::Rule, b"/w/x", by.clone(), b"open")
        };
        let mut denials = Denials::default();
        ["/w/a.pem", "/w/x", "/w/b.key", "/w/x"]
            .map(read)
            .into_iter()
            .for_each(|it| denials.add(it));
        let told: Vec<_> =
            denials.open().iter().map(|(one, count)| (&*one.route, *count)).collect();
        assert_eq!(told, [(&b"/w/a.pem"[..], 1), (b"/w/x", 2), (b"/w/b.key", 1)]);
    }

    /// Each has its own suggestion.
    #[test]
    fn spellings_that_are_withheld_otherwise_are_two_denials() {
        let by = (1, b"/bin/cat".to_vec());
        let denied = |restraint| Denial {
            restraint,
            ..Denial::by_supervisor(Reason::Rule, b"/w/a", by.clone(), b"open")
        };
        let mut denials = Denials::default();
        [None, Some(Restraint::Prompt), None]
            .map(denied)
            .into_iter()
            .for_each(|denial| denials.add(denial));
        let told: Vec<_> =
            denials.open().iter().map(|(one, count)| (one.restraint, *count)).collect();
        assert_eq!(told, [(None, 2), (Some(Restraint::Prompt), 1)]);
    }

    /// Otherwise the report would list it as a call that fails in any case.
    #[test]
    fn who_tries_both_ways_to_remove_is_not_told_of_that_for_directories() {
        let mut denials = Denials::default();
        for call in ["rmdir", "unlink", "rmdir"] {
            let by = (1, b"/bin/rm".to_vec());
            denials.add(Denial {
                missing: Capabilities::DELETE,
                ..Denial::by_supervisor(Reason::Rule, b"/w/a", by, call.as_bytes())
            });
        }
        let told: Vec<_> = denials.open().iter().map(|(one, count)| (&*one.call, *count)).collect();
        assert_eq!(told, [(&b"unlink"[..], 3)]);
    }

    #[test]
    fn calls_that_are_refused_as_such_are_told_apart() {
        let mut denials = Denials::default();
        for call in ["mount", "fsopen", "mount"] {
            let by = (1, b"/bin/mount".to_vec());
            denials.add(Denial::by_supervisor(Reason::Namespace, b"/", by, call.as_bytes()));
        }
        let told: Vec<_> = denials.open().iter().map(|(one, count)| (&*one.call, *count)).collect();
        assert_eq!(told, [(&b"mount"[..], 2), (b"fsopen", 1)]);
    }

    #[test]
    fn files_of_processes_are_told_without_their_numbers() {
        let told = |path: &str| {
            of_any_process(path.as_bytes()).map(|path| String::from_utf8(path).expect("ASCII"))
        };
        assert_eq!(told("/proc/12/environ").as_deref(), Some("/proc/PID/environ"));
        assert_eq!(told("/proc/12/task/3/mem").as_deref(), Some("/proc/PID/task/3/mem"));
        for other in ["/proc/12", "/proc/self/mem", "/proc/1x/mem", "/proc//mem", "/srv/1/a"] {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
