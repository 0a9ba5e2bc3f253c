//! Tests which names count as generated.

use super::*;

#[test]
fn names_that_will_be_others_next_time() {
    let others = [
        "tmp.Xa9kQz",
        "tmp.RCpQqOgibj",
        "tmp1fkhn_2_",
        ".tmpAbCdEf",
        "sedA1b2C3",
        "sedAbCdEf",
        "CuAbCdEf",
        "prog-1a2b3c4d5e6f7a8b",
        "4b825dc",
        "core.12345",
        "f~27701",
        "s-h6q0a2k1zx-0t6dn3c",
        ".sub.sIcjRF",
        ".a.tar.IkNUAj",
        "XXli96wR",
    ];
    for name in others {
        assert!(is_another_each_time(name.as_bytes()), "{name}");
        assert!(is_made_up(name.as_bytes()), "{name}");
    }
    for name in ["#123", "main.rs~", ".main.rs.swp", "Cargo.lock.tmp", "tmp_obj_abc"] {
        assert!(is_made_up(name.as_bytes()), "{name}");
        assert!(!is_another_each_time(name.as_bytes()), "{name}");
    }
    let stable = [
        "Cargo.lock",
        "main.rs",
        "README.md",
        "index",
        "HEAD",
        "x86_64",
        "build-script-build",
        "utf8parse",
        "libfoo.so.1",
        "COMMIT_EDITMSG",
        "2024",
        "report-2024a",
        "CamelCase",
        "Customers",
        "sediment",
        ".config.Backup",
        ".eslintrc.custom",
        ".IkNUAj",
        "XXREADME",
        "migration-0001",
        "myFile123",
        "getUserById2",
        "Makefile2",
        "test2Json",
        "utf8Strings",
        "decade1",
        "sha256sums",
    ];
    for name in stable {
        assert!(!is_made_up(name.as_bytes()), "{name}");
    }
}

#[test]
fn names_that_are_worked_on_under_another() {
    let worked_on = |name: &'static str| worked_on(name.as_bytes()).collect::<Vec<_>>();
    assert_eq!(worked_on("state.json.tmp"), [&b"state.json"[..]]);
    assert_eq!(worked_on(".a.c.swp"), [&b".a.c"[..], b"a.c"]);
    assert_eq!(worked_on(".a.c.swo"), [&b".a.c"[..], b"a.c"]);
    assert_eq!(worked_on("x~"), [&b"x"[..]]);
    for name in ["state.json.new", "tmp.x", ".a.c", "a.1a2b3c4d.tmp", "a.swo"] {
        assert!(worked_on(name).is_empty(), "{name}");
    }
}

#[test]
fn kinds_of_names_that_are_drawn() {
    let kind = |name: &str| kind(name.as_bytes());
    for (one, other) in [
        (
            "s-hoj1ssyx1c-0diew0b-8hf4at1oy48lvs82m0rgf2828",
            "s-hoj1ssq370-0cqmtjs-5fb70f235ory71p585hhzuvrk",
        ),
        ("s-hoj1ssyx1c-0diew0b.lock", "s-hoj1ssq370-0cqmtjs.lock"),
        ("ca-c39fa6cbbf6e8f7d.d", "ca-0123456789abcdef.d"),
    ] {
        assert!(kind(one).is_some() && kind(one) == kind(other), "{one}");
    }
    assert_ne!(kind("ca-c39fa6cbbf6e8f7d.d"), kind("cb-c39fa6cbbf6e8f7d.d"));
    assert_ne!(kind("config-1a2b3c4d"), kind("report-5e4d3c2b"));
    for name in ["main.rs", "settings", "report-2024", "log.20240101", "b.tmp"] {
        assert_eq!(kind(name), None, "{name}");
    }
}

#[test]
fn names_of_sockets_that_may_be_drawn() {
    let drawn =
        ["dbus-gBHHSRvfkt", "dbus-ZHwVMmMrrZ", "dbus-VNdA6rn0Y7", "bus.AbCdEf", "dbus-nHlyoodJcs"];
    assert!(drawn.iter().all(|name| may_be_drawn_for_socket(name.as_bytes())));
    let lasting =
        ["app-MessageServer", "app.myServer", "my-server", "S.gpg-agent", "MySocket.sock"];
    assert!(!lasting.iter().any(|name| may_be_drawn_for_socket(name.as_bytes())));
}

#[test]
fn numbers_of_processes_are_told_from_those_of_people() {
    for name in [
        "f~27701",
        "work.27690",
        "tmp.Xa9kQz",
        "conf27701",
        "conf27690.tmp",
        "conf27690.dir",
        "27701.log",
        "a27701-1",
    ] {
        assert!(is_another_for(name.as_bytes(), 27701), "{name}");
    }
    for name in [
        "f~27702",
        "conf27702",
        "conf27701a",
        "report2024.txt",
        "a1",
        "IMG_4711",
        "IMG_20240101.jpg",
        "notes-2024",
        "log.2024",
        "invoice-20240101",
    ] {
        assert!(!is_another_for(name.as_bytes(), 27701), "{name}");
    }
}

#[test]
fn numbers_of_processes_may_be_anywhere_in_a_name() {
    let numbers = |name: &str| numbers(name.as_bytes()).collect::<Vec<_>>();
    assert_eq!(numbers("a27701x.4711.c"), [27701, 4711]);
    assert!(numbers("1.log-007-0123").is_empty());
}

#[test]
fn names_that_are_made_up_to_others() {
    for (name, other) in
        [(".a.TfTAK7", "a"), ("a.TfTAKB", "a"), (".a.b.TfTAK7", "a.b"), (".a.psqcfd", "a")]
    {
        assert!(is_drawn_to(name.as_bytes(), other.as_bytes()), "{name}");
    }
    for (name, other) in
        [(".a.TfTAK7", "b"), ("a.backup", "a"), (".a.backup", "a"), ("a.o", "a"), (".Xa9kQz", "")]
    {
        assert!(!is_drawn_to(name.as_bytes(), other.as_bytes()), "{name}");
    }
}

#[test]
fn names_that_may_be_drawn() {
    for name in [
        "foo9ymiz55e",
        "foog2nq73c1.txt",
        "a.omrmZtW",
        "fooAb3dEf",
        "CuAbCdEf",
        ".a.swp",
        ".a.swpx",
        ".a.swo",
    ] {
        assert!(may_be_drawn(name.as_bytes()), "{name}");
    }
    for name in ["a.lock", "chapter12.gz", "out2024.csv", "testResults.xml", "a.swp", "x86_64"] {
        assert!(!may_be_drawn(name.as_bytes()), "{name}");
    }
}

#[test]
fn names_that_may_be_drawn_anew() {
    for name in ["f.oneLRPg", "f.ozeZEKb", "pre.aBcdef", "foo9ymiz55e", ".a.swp"] {
        assert!(may_be_drawn_anew(name.as_bytes()), "{name}");
    }
    for name in ["a.lock", "chapter12", "README", "Cargo.lock", "index.lock", "x"] {
        assert!(!may_be_drawn_anew(name.as_bytes()), "{name}");
    }
}

#[test]
fn names_that_may_be_drawn_for_a_program_itself() {
    for name in [
        "job_x7k2m9qa.json",
        "job_xkcdqwrt.json",
        "job_zk_qtrbw",
        "job_qwkzrtp4",
        "jobimYdCs.json",
        "x7k2m9qa.json",
        "a3062097876.tmp",
        "3062097876",
        "a1544864396",
        "tmpoowufqxi",
        "tmp_ypagqjl",
        "tmpoowufqxi.json",
        "b7oowufq3",
        "bzkqwtrpd",
        ".list.psqcfd",
        ".list.Psqcfd",
        ".a.tar.X1EIBO",
    ] {
        assert!(may_be_drawn_for_oneself(name.as_bytes()), "{name}");
    }
    for name in [
        "lock",
        "index.lock",
        "Cargo.lock",
        "credentials.json",
        "my_password",
        "session_key",
        "report-2024.csv",
        "dump2024",
        "20240101",
        "IMG_20240101.jpg",
        "a1",
        "COMMIT_EDITMSG",
        "xml2json",
        "xml2json.py",
        "mp3_list.txt",
        "tmpdirectory",
        "template",
        "tmpfiles",
        "b",
        "backup_dir",
        ".config.backup",
        ".eslintrc.custom",
        ".psqcfd",
        "list.psqcfd",
    ] {
        assert!(!may_be_drawn_for_oneself(name.as_bytes()), "{name}");
    }
}

#[test]
fn names_that_are_drawn_behind_that_of_a_program() {
    for (program, name, expected) in [
        ("cargo", "cargo-installimYdCs", true),
        ("cargo", "cargo-install", false),
        ("javac", "userData", false),
        ("", "cargo-installimYdCs", false),
    ] {
        assert_eq!(is_drawn_behind(program.as_bytes(), name.as_bytes()), expected, "{name}");
    }
}

#[test]
fn names_that_a_program_begins_with_its_own() {
    for (program, name, expected) in [
        ("/usr/bin/sed", "sedomwqwd", true),
        ("/usr/bin/sed", "sedation", false),
        ("/usr/bin/cp", "sedomwqwd", false),
        ("", "omwqwd", false),
    ] {
        assert_eq!(is_drawn_to_program(program.as_bytes(), name.as_bytes()), expected, "{name}");
    }
}

#[test]
fn what_is_replaced_is_in_the_name() {
    let told =
        |name: &'static str| replaced(name.as_bytes()).map(|it| str::from_utf8(it).expect("ASCII"));
    assert_eq!(told(".a.tar.IkNUAj"), Some("a.tar"));
    assert_eq!(told("a.oXk3mNp"), Some("a"));
    for name in ["a.backup", "sedA1b2C3", ".IkNUAj", "a"] {
        assert_eq!(told(name), None, "{name}");
    }
}

#[test]
fn names_that_did_not_last_and_may_be_others_next_time() {
    for name in ["sedomwqwd", "fooab_cdef", ".a.abcdef", "newfile"] {
        assert!(may_have_been_drawn(name.as_bytes()), "{name}");
    }
    for name in ["index.lock", "db.sqlite-journal", "a1", "f.o", ""] {
        assert!(!may_have_been_drawn(name.as_bytes()), "{name}");
    }
}

#[test]
fn what_holds_directories_of_drawn_names() {
    let holder = |path: &'static str| holder(Path::new(path), None).and_then(Path::to_str);
    for (path, expected) in [
        ("/nowhere/t/b.q53ClS/s", Some("/nowhere/t")),
        ("/nowhere/t/tmp.RCpQqOgibj/d/s", Some("/nowhere/t")),
        ("/nowhere/tmp1fkhn_2_/b.q53ClS/s", Some("/nowhere")),
        ("/nowhere/t/b.smpoyX/s", Some("/nowhere/t")),
        ("/nowhere/t/b.q53ClS", None),
        ("/nowhere/t/my.CamelCase/s", None),
        ("/nowhere/.git/objects/3f/0123456789abcdef", None),
        ("/nowhere/build/x-0123456789abcdef/out", None),
        ("/nowhere/getUserById2/a", None),
        ("/nowhere/log.2024/a", None),
        ("/", None),
    ] {
        assert_eq!(holder(path), expected, "{path}");
    }
}

#[test]
fn directories_of_made_up_names() {
    let directory = |path: &'static str| directory(Path::new(path)).and_then(Path::to_str);
    assert_eq!(directory("/r/objects/97/tmp_obj_tHsGA8"), Some("/r/objects"));
    assert_eq!(directory("/r/objects/97"), Some("/r/objects"));
    assert_eq!(directory("/r/97/tmp_obj_tHsGA8"), Some("/r/97"));
    assert_eq!(directory("/r/objects/pack/tmp_pack_a"), Some("/r/objects/pack"));
}

#[test]
fn names_that_did_not_last() {
    for name in ["targetAbCdEf", "sedaBcdef", "tmpabcde1"] {
        assert!(may_be_random(name.as_bytes()), "{name}");
    }
    for name in ["index.lock", "newfile", "MERGE_HEAD", "a1", ""] {
        assert!(!may_be_random(name.as_bytes()), "{name}");
    }
}

#[test]
fn names_that_tell_the_time() {
    // 2026-11-27, 02:34:33 in UTC.
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_746_873);
    for name in [
        "run-20261127-023431.log",
        "app-2026-11-28.log",
        "backup-20261126T193433Z.tgz",
        "run-1795746873.log",
        "run-1795746000123.log",
        "t1795746873123456789",
        "log_080429.txt",
        "Nov27_02-34-33_host",
        "27 November 2026 02.34.30",
    ] {
        assert!(tells_time(name.as_bytes(), now), "{name}");
    }
    for name in [
        "20261120_create.sql",
        "run-1795646873.log",
        "run-1795746874.log",
        "179574687.log",
        "log_081429.txt",
        "log_023434.txt",
        "img_9934.png",
        "v2026",
        "000000",
        "",
    ] {
        assert!(!tells_time(name.as_bytes(), now), "{name}");
    }
}
