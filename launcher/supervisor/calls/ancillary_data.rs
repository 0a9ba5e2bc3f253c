//! Translates the control data of a message (`cmsg(3)`) from the caller's copy, for the supervisor to send. Descriptors
//! in it become the supervisor's. So does the process number in the sender's credentials, because the kernel lets
//! nobody use another's.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::io::Errno;
use rustix::process::{getgid, getpid, getuid};
use rustix::thread::CapabilitySet;

use crate::sys::proc::status::{Sender, Status};

/// The size of `struct cmsghdr`, and the alignment of its records.
const HEADER: usize = size_of::<usize>() + 2 * size_of::<i32>();
const ALIGNMENT: usize = size_of::<usize>();

/// The record with the sender's credentials.
const CREDENTIALS: (i32, i32) = (libc::SOL_SOCKET, libc::SCM_CREDENTIALS);

/// The control data allowed in messages to hosts, by level and kind: marks, limits and the source address. None of it
/// changes the destination.
const TO_HOSTS: [(i32, i32); 7] = [
    (libc::IPPROTO_IP, libc::IP_TOS),
    (libc::IPPROTO_IP, libc::IP_TTL),
    (libc::IPPROTO_IP, libc::IP_PKTINFO),
    (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT),
    (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO),
    (libc::SOL_UDP, libc::UDP_SEGMENT),
];

/// Control data ready to send.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) bytes: Vec<u8>,
    /// The descriptors in it, by their numbers in the sender.
    held: BTreeMap<i32, OwnedFd>,
    /// The sender included its credentials.
    names_sender: bool,
}

impl Control {
    /// Translates the `sender`'s control data. `descriptor` looks up its descriptors.
    ///
    /// # Errors
    /// `EINVAL` for malformed data, `EPERM` if it claims to be another sender, and the errors of `descriptor`.
    pub(super) fn translated(
        given: &[u8],
        sender: &Status,
        descriptor: impl Fn(i32) -> Result<OwnedFd, Errno>,
    ) -> Result<Self, Errno> {
        let mut control = Self::default();
        for record in records(given)? {
            if record.is_rights() {
                let data: Result<Vec<[u8; 4]>, Errno> = record
                    .descriptors()
                    .map(|number| control.hold(number, &descriptor).map(i32::to_ne_bytes))
                    .collect();
                control.push(record, data?.as_flattened());
            } else if (record.level, record.kind) == CREDENTIALS {
                let [process, user, group] = credentials(record.data).ok_or(Errno::INVAL)?;
                if process.cast_signed() != sender.process || !may_claim(sender, user, group) {
                    return Err(Errno::PERM);
                }
                control.push_sender(user, group);
            } else {
                control.push(record, record.data);
            }
        }
        Ok(control)
    }

    /// Adds the sender's credentials as the kernel would, if they differ from the supervisor's. If its ids differ from
    /// one another, only the effective ones can be stated.
    pub(super) fn name_sender(&mut self, sender: &Status) {
        let own = [getuid().as_raw(), getgid().as_raw()];
        let Sender { users, groups } = sender.sender;
        if !self.names_sender && [users[0], groups[0]] != own {
            let said = |[real, effective, _]: [u32; 3], own| {
                if real == own { real } else { effective }
            };
            self.push_sender(said(users, own[0]), said(groups, own[1]));
        }
    }

    fn push_sender(&mut self, user: u32, group: u32) {
        self.names_sender = true;
        let own = getpid().as_raw_nonzero().get().cast_unsigned();
        let data = [own, user, group].map(u32::to_ne_bytes);
        let (level, kind) = CREDENTIALS;
        self.push(Record { level, kind, data: &[] }, data.as_flattened());
    }

    /// Pins a descriptor of the sender's, and returns its number here.
    fn hold(
        &mut self,
        number: i32,
        descriptor: impl FnOnce(i32) -> Result<OwnedFd, Errno>,
    ) -> Result<i32, Errno> {
        Ok(match self.held.entry(number) {
            Entry::Occupied(held) => held.get().as_raw_fd(),
            Entry::Vacant(place) => place.insert(descriptor(number)?).as_raw_fd(),
        })
    }

    fn push(&mut self, record: Record<'_>, data: &[u8]) {
        self.bytes.extend((HEADER + data.len()).to_ne_bytes());
        self.bytes.extend(record.level.to_ne_bytes());
        self.bytes.extend(record.kind.to_ne_bytes());
        self.bytes.extend(data);
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

/// The three numbers of `struct ucred`.
fn credentials(data: &[u8]) -> Option<[u32; 3]> {
    let (numbers, rest) = data.as_chunks::<4>();
    let numbers: [[u8; 4]; 3] = numbers.try_into().ok().filter(|_| rest.is_empty())?;
    Some(numbers.map(u32::from_ne_bytes))
}

/// Whether the kernel would let the sender claim these ids (`scm_check_creds` in net/core/scm.c).
fn may_claim(sender: &Status, user: u32, group: u32) -> bool {
    let capabilities = CapabilitySet::from_bits_retain(sender.identity.capabilities);
    let Sender { users, groups } = sender.sender;
    (users.contains(&user) || capabilities.contains(CapabilitySet::SETUID))
        && (groups.contains(&group) || capabilities.contains(CapabilitySet::SETGID))
}

/// How many descriptors it takes to send this: at most one for each of the sender's.
///
/// # Errors
/// As [`Control::translated`].
pub(super) fn carried(given: &[u8]) -> Result<usize, Errno> {
    let records = records(given)?;
    let rights = records.iter().filter(|record| record.is_rights());
    Ok(rights.flat_map(Record::descriptors).collect::<BTreeSet<i32>>().len())
}

/// Whether nothing in it redirects a message from the judged address.
///
/// # Errors
/// As [`Control::translated`].
pub(super) fn leads_nowhere(given: &[u8]) -> Result<bool, Errno> {
    Ok(records(given)?.iter().all(|record| TO_HOSTS.contains(&(record.level, record.kind))))
}

#[derive(Clone, Copy)]
struct Record<'a> {
    level: i32,
    kind: i32,
    data: &'a [u8],
}

impl<'a> Record<'a> {
    fn is_rights(&self) -> bool {
        (self.level, self.kind) == (libc::SOL_SOCKET, libc::SCM_RIGHTS)
    }

    fn descriptors(&self) -> impl Iterator<Item = i32> + use<'a> {
        self.data.as_chunks::<4>().0.iter().map(|number| i32::from_ne_bytes(*number))
    }
}

fn records(mut rest: &[u8]) -> Result<Vec<Record<'_>>, Errno> {
    let mut records = Vec::new();
    while rest.len() >= HEADER {
        let (length, fields) = rest.split_first_chunk().ok_or(Errno::INVAL)?;
        let (level, fields) = fields.split_first_chunk().ok_or(Errno::INVAL)?;
        let (kind, _) = fields.split_first_chunk().ok_or(Errno::INVAL)?;
        let length = usize::from_ne_bytes(*length);
        let data = rest.get(HEADER..length).ok_or(Errno::INVAL)?;
        let [level, kind] = [level, kind].map(|field| i32::from_ne_bytes(*field));
        records.push(Record { level, kind, data });
        let next = length.checked_next_multiple_of(ALIGNMENT).ok_or(Errno::INVAL)?;
        rest = rest.get(next..).unwrap_or_default();
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut control = Control::default();
        control.push(Record { level, kind, data }, data);
        control.bytes
    }

    fn none(_: i32) -> Result<OwnedFd, Errno> {
        Err(Errno::BADF)
    }

    fn sender(process: i32) -> Status {
        let ids = "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t\nCapEff:\t0\n";
        let rest = "Umask:\t0\nState:\tS\nTracerPid:\t0\n";
        let signals = "SigPnd:\t0\nShdPnd:\t0\nSigBlk:\t0\nSigIgn:\t0\n";
        Status::parse(&format!("Tgid:\t{process}\n{ids}{rest}{signals}")).expect("a status")
    }

    fn credentials(process: i32, user: i32, group: i32) -> Vec<u8> {
        let data = [process, user, group].map(i32::to_ne_bytes);
        record(libc::SOL_SOCKET, libc::SCM_CREDENTIALS, data.as_flattened())
    }

    #[test]
    fn what_is_no_descriptor_is_passed_on_as_it_is() {
        let given = record(1, 77, b"x");
        assert_eq!(Control::translated(&given, &sender(7), none).expect("control").bytes, given);
    }

    #[test]
    fn the_sender_becomes_the_supervisor_and_nobody_else_does() {
        let own = getpid().as_raw_nonzero().get();
        let sent = |process, user, group| {
            let given = credentials(process, user, group);
            Control::translated(&given, &sender(7), none).map(|control| control.bytes)
        };
        assert_eq!(sent(7, 3, 5).expect("control"), credentials(own, 3, 5));
        for (process, user, group) in [(8, 1, 5), (own, 1, 5), (7, 0, 5), (7, 4, 5), (7, 1, 0)] {
            assert_eq!(sent(process, user, group).err(), Some(Errno::PERM));
        }
    }

    #[test]
    fn who_sends_is_said_where_that_is_not_the_supervisor() {
        let mut control = Control::default();
        control.name_sender(&sender(7));
        let own = getpid().as_raw_nonzero().get();
        assert_eq!(control.bytes, credentials(own, 2, 6));
        let mut said = Control::translated(&credentials(7, 3, 5), &sender(7), none).expect("said");
        said.name_sender(&sender(7));
        assert_eq!(said.bytes, credentials(own, 3, 5));
    }

    #[test]
    fn descriptors_become_the_supervisor_s() {
        let given = record(libc::SOL_SOCKET, libc::SCM_RIGHTS, &[5, 0, 0, 0, 6, 0, 0, 0]);
        assert_eq!(Control::translated(&given, &sender(7), none).err(), Some(Errno::BADF));
        let null = |_| Ok(std::fs::File::open("/dev/null").expect("open").into());
        let control = Control::translated(&given, &sender(7), null).expect("control");
        let numbers: Vec<u8> =
            control.held.values().flat_map(|fd| fd.as_raw_fd().to_ne_bytes()).collect();
        assert_eq!(control.bytes, record(libc::SOL_SOCKET, libc::SCM_RIGHTS, &numbers));
    }

    #[test]
    fn what_is_sent_twice_is_held_once() {
        let given = record(libc::SOL_SOCKET, libc::SCM_RIGHTS, &[5, 0, 0, 0].repeat(253));
        let null = |_| Ok(std::fs::File::open("/dev/null").expect("open").into());
        let control = Control::translated(&given, &sender(7), null).expect("control");
        let number = control.held.get(&5).expect("held").as_raw_fd().to_ne_bytes();
        assert_eq!(control.bytes, record(libc::SOL_SOCKET, libc::SCM_RIGHTS, &number.repeat(253)));
        assert_eq!((carried(&given), control.held.len()), (Ok(1), 1));
    }

    #[test]
    fn every_damage_is_survived() {
        let whole = record(libc::SOL_SOCKET, libc::SCM_CREDENTIALS, &[7; 12]);
        for length in 0..whole.len() {
            let _ = records(&whole[..length]);
            let mut damaged = whole.clone();
            damaged[length] ^= 0xff;
            let _ = records(&damaged);
        }
        assert!(records(&[0xff; HEADER]).is_err());
        assert!(records(&[0; HEADER]).is_err(), "a record without an end");
    }

    #[test]
    fn routes_may_not_go_along_with_messages_to_hosts() {
        let leads_nowhere = |level, kind| leads_nowhere(&record(level, kind, &[0; 4]));
        assert_eq!(leads_nowhere(libc::IPPROTO_IP, libc::IP_TOS), Ok(true));
        assert_eq!(leads_nowhere(libc::IPPROTO_IP, libc::IP_RETOPTS), Ok(false));
        assert_eq!(leads_nowhere(libc::IPPROTO_IPV6, libc::IPV6_RTHDR), Ok(false));
    }
}
