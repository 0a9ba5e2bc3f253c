//! Parses one query to the run's name server and builds the answer (RFC 1035): addresses, for allowed names.

use std::net::IpAddr;

use jp_confine_engine::net::{self, Host};
use simple_dns::rdata::{A, AAAA, RData};
use simple_dns::{CLASS, OPCODE, Packet, PacketFlag, QCLASS, QTYPE, RCODE, ResourceRecord, TYPE};

/// The longest answer that every client accepts in a datagram.
const LONGEST: usize = 512;
/// How long clients may cache an answer, in seconds.
const LIFETIME: u32 = 30;

/// A query as received.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    packet: Packet<'a>,
}

/// The result for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// It has these addresses.
    Addresses(Vec<IpAddr>),
    /// It only has addresses that it may not stand for. The answer says that it is unknown.
    Near,
    /// It is unknown.
    Unknown,
}

impl<'a> Query<'a> {
    /// Reads a query. `None` for anything else, and for several questions at once.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let packet = Packet::parse(bytes).ok()?;
        let is_query = !packet.has_flags(PacketFlag::RESPONSE)
            && packet.opcode() == OPCODE::StandardQuery
            && packet.questions.len() == 1;
        is_query.then_some(Self { packet })
    }

    /// The name in the query, in the form of rules. `None` if it is no host name.
    pub(crate) fn name(&self) -> Option<String> {
        let labels: Vec<&[u8]> = self.packet.questions.first()?.qname.as_bytes().collect();
        if labels.iter().any(|label| label.contains(&b'.')) {
            return None;
        }
        match net::host(std::str::from_utf8(&labels.join(&b'.')).ok()?)? {
            Host::Domain(name) => Some(name),
            _ => None,
        }
    }

    /// The name for people: its labels as text.
    pub(crate) fn shown(&self) -> Vec<u8> {
        let question = self.packet.questions.first();
        question.map(|it| it.qname.as_bytes().collect::<Vec<_>>().join(&b'.')).unwrap_or_default()
    }

    /// The number of the wanted record type (`A`, `AAAA` …), or zero.
    pub(crate) fn kind(&self) -> u16 {
        self.packet.questions.first().map_or(0, |question| question.qtype.into())
    }

    /// Whether the query wants addresses, so that answering needs a lookup.
    pub(crate) fn wants_addresses(&self) -> bool {
        self.wants(TYPE::A) || self.wants(TYPE::AAAA)
    }

    /// The answer. For a known name it contains only addresses.
    pub(crate) fn answer(&self, finding: &Finding) -> Option<Vec<u8>> {
        let question = self.packet.questions.first()?;
        let mut reply = Packet::new_reply(self.packet.id());
        reply.set_flags(PacketFlag::RECURSION_AVAILABLE);
        if self.packet.has_flags(PacketFlag::RECURSION_DESIRED) {
            reply.set_flags(PacketFlag::RECURSION_DESIRED);
        }
        reply.questions.push(question.clone());
        match finding {
            Finding::Near | Finding::Unknown => *reply.rcode_mut() = RCODE::NameError,
            Finding::Addresses(addresses) => {
                let wanted = addresses.iter().filter_map(|address| self.data(*address));
                let record =
                    |data| ResourceRecord::new(question.qname.clone(), CLASS::IN, LIFETIME, data);
                reply.answers.extend(wanted.map(record));
            }
        }
        loop {
            let bytes = reply.build_bytes_vec_compressed().ok()?;
            if bytes.len() <= LONGEST || reply.answers.pop().is_none() {
                return Some(bytes);
            }
        }
    }

    fn data(&self, address: IpAddr) -> Option<RData<'static>> {
        match address {
            IpAddr::V4(address) if self.wants(TYPE::A) => {
                Some(RData::A(A { address: address.to_bits() }))
            }
            IpAddr::V6(address) if self.wants(TYPE::AAAA) => {
                Some(RData::AAAA(AAAA { address: address.to_bits() }))
            }
            _ => None,
        }
    }

    fn wants(&self, kind: TYPE) -> bool {
        self.packet.questions.first().is_some_and(|question| {
            question.qclass == QCLASS::CLASS(CLASS::IN) && question.qtype == QTYPE::TYPE(kind)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simple_dns::{Name, Question};

    fn query(name: &str, kind: TYPE) -> Vec<u8> {
        let mut packet = Packet::new_query(7);
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
        let name = Name::new_unchecked(name);
        packet.questions.push(Question::new(name, kind.into(), CLASS::IN.into(), false));
        packet.build_bytes_vec().expect("a packet")
    }

    fn answers(question: &[u8], finding: &Finding) -> (RCODE, Vec<String>) {
        let reply = Query::parse(question).expect("a query").answer(finding).expect("an answer");
        assert!(reply.len() <= LONGEST);
        let reply = Packet::parse(&reply).expect("a packet");
        assert!(reply.id() == 7 && reply.has_flags(PacketFlag::RESPONSE));
        let address = |record: &ResourceRecord<'_>| match &record.rdata {
            RData::A(A { address }) => IpAddr::from(address.to_be_bytes()).to_string(),
            RData::AAAA(AAAA { address }) => IpAddr::from(address.to_be_bytes()).to_string(),
            other => format!("{other:?}"),
        };
        (reply.rcode(), reply.answers.iter().map(address).collect())
    }

    fn name(question: &[u8]) -> Option<String> {
        Query::parse(question).expect("a query").name()
    }

    #[test]
    fn addresses_are_answered_by_their_kind() {
        let found = Finding::Addresses(vec![[1, 2, 3, 4].into(), "::5".parse().expect("one")]);
        let ok = |addresses: &[&str]| {
            (RCODE::NoError, addresses.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(answers(&query("a.b", TYPE::A), &found), ok(&["1.2.3.4"]));
        assert_eq!(answers(&query("a.b", TYPE::AAAA), &found), ok(&["::5"]));
        assert_eq!(answers(&query("a.b", TYPE::TXT), &found), ok(&[]));
        assert_eq!(answers(&query("a.b", TYPE::A), &Finding::Unknown), (RCODE::NameError, vec![]));
    }

    #[test]
    fn long_answers_are_cut() {
        let many = (0..=255).map(|last| IpAddr::from([10, 0, 0, last])).collect();
        let (_, addresses) = answers(&query("a.b", TYPE::A), &Finding::Addresses(many));
        assert!((20..60).contains(&addresses.len()), "{}", addresses.len());
    }

    #[test]
    fn names_are_those_of_hosts() {
        let of = |text| name(&query(text, TYPE::A));
        assert_eq!(of("API.Example.ORG").as_deref(), Some("api.example.org"));
        assert_eq!(of("xn--mnchen-3ya.de").as_deref(), Some("xn--mnchen-3ya.de"));
        assert_eq!(of("1.2.3.4"), None);
        assert_eq!(of("a b"), None);
        let dot = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x03a.b\0\0\x01\0\x01";
        assert_eq!(name(dot), None, "a label is no two labels");
    }

    #[test]
    fn every_damage_is_survived() {
        let whole = query("a.example", TYPE::A);
        for at in 0..whole.len() {
            for bits in [1, 0x40, 0xc0, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= bits;
                let finding = Finding::Addresses(vec![[1, 2, 3, 4].into()]);
                let query = Query::parse(&damaged);
                let _ = query.map(|query| (query.name(), query.shown(), query.answer(&finding)));
            }
            assert!(Query::parse(&whole[..at]).is_none(), "{at}");
        }
    }
}
