//! Tests that records of denials are written and read back.

use std::io::{Seek as _, Write as _};

use super::*;

fn record(path: &[u8]) -> Vec<u8> {
    let texts: [&[u8]; 5] = [path, path, b"", b"/usr/bin/cat", b"open"];
    let length = FIXED + texts.iter().map(|text| text.len()).sum::<usize>();
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&MAGIC.to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(length).unwrap_or(0).to_le_bytes());
    bytes.extend_from_slice(&7u32.to_le_bytes());
    bytes.extend_from_slice(&u32::MAX.to_le_bytes());
    bytes.extend_from_slice(&[1, Flags::HIDDEN.bits(), 0, 0]);
    for text in texts {
        bytes.extend_from_slice(&u16::try_from(text.len()).unwrap_or(0).to_le_bytes());
    }
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend(texts.concat());
    bytes
}

fn read(bytes: &[u8]) -> (Vec<Denial>, bool) {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("written");
    file.rewind().expect("rewound");
    let (mut record, mut denials) = (Record::new(file), Vec::new());
    record.drain(|denial| denials.push(denial)).expect("read");
    (denials, record.damaged)
}

/// If the lost denials were not counted, the record's length tells that some are missing.
#[test]
fn what_is_missing_is_known() {
    let file = tempfile::tempfile().expect("a temporary file");
    let gap = |unrecorded| Record::new(file.try_clone().expect("cloned")).gap(unrecorded);
    assert_eq!(
        [gap(None), gap(Some(0)), gap(Some(3))],
        [None, None, Some(LostRecords::Counted(3))]
    );
    file.set_len(MAX_RECORD_BYTES + 1).expect("long");
    assert_eq!([gap(None), gap(Some(3))], [Some(LostRecords::Full), Some(LostRecords::Counted(3))]);
    let damaged = Record { damaged: true, ..Record::new(file.try_clone().expect("cloned")) };
    assert_eq!(damaged.gap(Some(3)), Some(LostRecords::Damaged));
}

#[test]
fn records_come_back_in_order() {
    let (denials, damaged) = read(&[record(b"/a"), record(b"/b/\xff")].concat());
    let paths: Vec<&[u8]> = denials.iter().map(|denial| denial.path.as_slice()).collect();
    assert_eq!(paths, [b"/a".as_slice(), b"/b/\xff"]);
    assert!(denials.iter().all(|denial| denial.hidden && denial.rule.is_none()));
    assert_eq!(denials[0].missing, Capabilities::READ);
    assert_eq!(denials[0].call, b"open");
    assert!(!damaged);
}

/// Some denial.
pub(crate) fn denial() -> Denial {
    Denial {
        pid: 7,
        rule: Some(3),
        missing: Capabilities::WRITE,
        hidden: false,
        second: true,
        question: true,
        restraint: Some(Restraint::Sensitive),
        reason: Reason::OtherProcess,
        layer: Layer::Supervisor,
        path: b"/a".to_vec(),
        route: b"/b/\xff".to_vec(),
        other: b"/c".to_vec(),
        also: Capabilities::CREATE,
        program: b"/usr/bin/cat".to_vec(),
        call: b"rename".to_vec(),
    }
}

#[test]
fn what_is_encoded_comes_back() {
    let denial = denial();
    assert_eq!(read(&denial.encode()), (vec![denial.clone()], false));
    let denial = Denial { reason: Reason::Command, route: b"ls\0-a\0".to_vec(), ..denial };
    assert_eq!(read(&denial.encode()), (vec![denial], false));
}

#[test]
fn every_cut_and_every_damage_is_survived() {
    let whole = [record(b"/a"), record(b"/b")].concat();
    for length in 0..whole.len() {
        let (denials, damaged) = read(&whole[..length]);
        assert_eq!((denials.len(), damaged), (usize::from(length >= whole.len() / 2), false));
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        assert!(read(&bytes).0.len() <= 2);
    }
}
