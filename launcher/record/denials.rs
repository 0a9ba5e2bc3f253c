//! What was refused during a run, equal denials counted.

use std::collections::HashMap;

use jp_confine_policy::Capabilities;
use jp_confine_policy::tier::Restraint;

use crate::record::denial::{Denial, Reason};
use crate::record::effort::Effort;
use crate::record::lost_records::Gap;

/// How many different denials are told apart; the rest is only counted.
const DISTINCT: usize = 10_000;

/// What makes two denials equal; of a command its arguments too, of a call that names two paths the other, of one
/// that is refused as such its name, of a spelling what that is withheld by, and of files of processes not whose
/// they are: who asks all processes asks for one thing.
type Key = (u8, Reason, Option<Restraint>, Vec<u8>, Vec<u8>, Vec<u8>);

/// Calls that set times: `touch` makes one beside its open, before it or after, whether that opens anything or not.
pub(crate) const TIMES: [&[u8]; 5] = [b"utimensat", b"utimes", b"utime", b"lutimes", b"futimesat"];

/// Denials of one kind, and how many of them.
#[derive(Debug, Default)]
struct Group {
    places: HashMap<Key, usize>,
    distinct: Vec<(Denial, u64)>,
    /// Those beyond the ones told apart.
    untold: u64,
}

/// The denials of a run, in the order in which they first occurred.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    open: Group,
    /// Those that made a name look absent, as an empty home would have it.
    hidden: Group,
    /// What is missing here.
    pub(crate) gap: Option<Gap>,
    /// What a person consented to, so that it was no denial.
    consented: Group,
    /// For how long advice about them is worked out, if there is a limit.
    pub(crate) effort: Option<Effort>,
}

impl Denials {
    /// Counts one more.
    pub(crate) fn add(&mut self, denial: Denial) {
        let group = match denial.hidden {
            _ if denial.reason.is_consent() => &mut self.consented,
            true => &mut self.hidden,
            false => &mut self.open,
        };
        group.add(denial);
    }

    /// Those that the program was told of, each with how often it occurred.
    pub(crate) fn open(&self) -> &[(Denial, u64)] {
        &self.open.distinct
    }

    /// Those that it was not.
    pub(crate) fn hidden(&self) -> &[(Denial, u64)] {
        &self.hidden.distinct
    }

    /// What a person consented to.
    pub(crate) fn consented(&self) -> &[(Denial, u64)] {
        &self.consented.distinct
    }

    /// How many denials the program was told of beyond those told apart.
    pub(crate) fn untold(&self) -> u64 {
        self.open.untold
    }

    /// How many denials the program was told of.
    pub(crate) fn total(&self) -> u64 {
        self.open.total()
    }

    /// How many it was not told of.
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
                // Who tries both may do with the other one.
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

    /// Whether it is part of a denial that is known: `touch` sets the times of what it could not make, which are two
    /// calls for one thing.
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

/// What a denial is known by among others, that of these capabilities.
fn key_of(denial: &Denial, missing: Capabilities) -> Key {
    let Denial { reason, restraint, path, route, other, program, call, .. } = denial;
    let beside = match reason {
        Reason::Command => route.clone(),
        Reason::Namespace | Reason::OtherProcess | Reason::SetId => call.clone(),
        _ if call.contains(&b',') => [&**other, b"\0", call].concat(),
        // It may be the way there that a pattern is about.
        _ if restraint.is_some() && route != path => [&**other, b"\0", route].concat(),
        _ => other.clone(),
    };
    let path = of_any_process(path).unwrap_or_else(|| path.clone());
    (missing.bits(), *reason, *restraint, path, program.clone(), beside)
}

/// The path of a file of a process, `/proc/PID/…`, without its number.
pub(crate) fn of_any_process(path: &[u8]) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(b"/proc/")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, file) = rest.split_at(digits);
    (!number.is_empty() && file.first() == Some(&b'/')).then(|| [b"/proc/PID", file].concat())
}

/// What calls begin with that open a file, be it to make it.
pub(crate) const OPENING: [&[u8]; 4] = [b"open", b"creat", b"fopen", b"freopen"];

/// Whether a file was to be opened to be written to, which no directory is.
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

    /// `touch` opens a directory in vain, and sets its times then.
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

    /// `touch` would make a file, and set its times then.
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

    /// What a pattern says of a link it says of nothing else.
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

    /// Each has a way out of its own.
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

    /// Else it would be told as what fails in any case.
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
