//! What goes along with a message (`cmsg(3)`): read from the caller's copy, and made anew for the
//! supervisor, which sends it. Descriptors in it become the supervisor's, and so does the number of the
//! process that says who sends: the kernel lets nobody use another's.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::io::Errno;
use rustix::process::getpid;

/// The size of `struct cmsghdr`, and what its records are aligned to.
const HEADER: usize = size_of::<usize>() + 2 * size_of::<i32>();
const ALIGNMENT: usize = size_of::<usize>();

/// What may go along with messages to hosts, by level and kind: marks, limits and the address that is sent
/// from. None of it says where to.
const TO_HOSTS: [(i32, i32); 7] = [
    (libc::IPPROTO_IP, libc::IP_TOS),
    (libc::IPPROTO_IP, libc::IP_TTL),
    (libc::IPPROTO_IP, libc::IP_PKTINFO),
    (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT),
    (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO),
    (libc::SOL_UDP, libc::UDP_SEGMENT),
];

/// Control data that is ready to be sent.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) bytes: Vec<u8>,
    /// The descriptors in it, by their numbers with the sender.
    held: BTreeMap<i32, OwnedFd>,
}

impl Control {
    /// What the process `sender` gave, with its descriptors as `descriptor` finds them.
    ///
    /// # Errors
    /// `EINVAL` for what has no form; what `descriptor` says.
    pub(super) fn translated(
        given: &[u8],
        sender: i32,
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
            } else if (record.level, record.kind) == (libc::SOL_SOCKET, libc::SCM_CREDENTIALS)
                && let Some((number, ids)) = record.data.split_first_chunk::<4>()
                && *number == sender.to_ne_bytes()
            {
                let own = getpid().as_raw_nonzero().get().to_ne_bytes();
                control.push(record, &[&own, ids].concat());
            } else {
                control.push(record, record.data);
            }
        }
        Ok(control)
    }

    /// Holds a descriptor of the sender's; its number here.
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

/// How many descriptors it takes to send that: no more than one for each of the sender's.
///
/// # Errors
/// As [`Control::translated`].
pub(super) fn carried(given: &[u8]) -> Result<usize, Errno> {
    let records = records(given)?;
    let rights = records.iter().filter(|record| record.is_rights());
    Ok(rights.flat_map(Record::descriptors).collect::<BTreeSet<i32>>().len())
}

/// Whether nothing in it makes a message go elsewhere than to the address that is judged.
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

    #[test]
    fn what_is_no_descriptor_is_passed_on_as_it_is() {
        let credentials = record(libc::SOL_SOCKET, libc::SCM_CREDENTIALS, &[7; 12]);
        let given = [credentials, record(1, 2, b"x")].concat();
        assert_eq!(Control::translated(&given, 7, none).expect("control").bytes, given);
    }

    #[test]
    fn the_sender_becomes_the_supervisor_and_nobody_else_does() {
        let credentials = |pid: i32| {
            let data = [&pid.to_ne_bytes()[..], &[9; 8]].concat();
            record(libc::SOL_SOCKET, libc::SCM_CREDENTIALS, &data)
        };
        let own = credentials(getpid().as_raw_nonzero().get());
        let sent = |pid| Control::translated(&credentials(pid), 7, none).expect("control").bytes;
        assert_eq!(sent(7), own);
        assert_eq!(sent(8), credentials(8));
    }

    #[test]
    fn descriptors_become_the_supervisor_s() {
        let given = record(libc::SOL_SOCKET, libc::SCM_RIGHTS, &[5, 0, 0, 0, 6, 0, 0, 0]);
        assert_eq!(Control::translated(&given, 7, none).err(), Some(Errno::BADF));
        let null = |_| Ok(std::fs::File::open("/dev/null").expect("open").into());
        let control = Control::translated(&given, 7, null).expect("control");
        let numbers: Vec<u8> =
            control.held.values().flat_map(|fd| fd.as_raw_fd().to_ne_bytes()).collect();
        assert_eq!(control.bytes, record(libc::SOL_SOCKET, libc::SCM_RIGHTS, &numbers));
    }

    #[test]
    fn what_is_sent_twice_is_held_once() {
        let given = record(libc::SOL_SOCKET, libc::SCM_RIGHTS, &[5, 0, 0, 0].repeat(253));
        let null = |_| Ok(std::fs::File::open("/dev/null").expect("open").into());
        let control = Control::translated(&given, 7, null).expect("control");
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
