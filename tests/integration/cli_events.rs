//! Events that go to a collector: a socket, a pipe, or the journal.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketType, accept, bind, listen, recv, socket,
};
use serde_json::Value;

use crate::cli_status::product;
use crate::run::{Mode, Outcome, PRODUCT, Run, have, skip};
use crate::schema;
use crate::scratch::Scratch;

const TYPES: [SocketType; 3] = [SocketType::STREAM, SocketType::DGRAM, SocketType::SEQPACKET];

/// More denials than any reader's queue has room for.
const MANY: usize = 2000;

/// A collector's socket.
struct Collector {
    kind: SocketType,
    socket: OwnedFd,
}

impl Collector {
    fn listening(kind: SocketType, path: &Path) -> Self {
        let socket = socket(AddressFamily::UNIX, kind, None).expect("a socket");
        bind(&socket, &SocketAddrUnix::new(path).expect("a path")).expect("bound");
        if kind != SocketType::DGRAM {
            listen(&socket, 8).expect("listening");
        }
        Self { kind, socket }
    }

    /// The lines of the next run's events: until its connection ends, or its last event.
    fn lines(&self) -> String {
        let accepted = (self.kind != SocketType::DGRAM).then(|| accept(&self.socket).expect("one"));
        let from = accepted.as_ref().unwrap_or(&self.socket);
        let (mut text, mut buffer) = (String::new(), vec![0; 1 << 20]);
        loop {
            let (_, count) = recv(from, &mut buffer[..], RecvFlags::empty()).expect("received");
            let part = std::str::from_utf8(&buffer[..count]).expect("UTF-8");
            text.push_str(part);
            if self.kind != SocketType::STREAM && count > 0 {
                assert!(!part.contains('\n'), "{part}");
                text.push('\n');
            }
            if count == 0 || self.kind == SocketType::DGRAM && part.contains("\"event\":\"end\"") {
                return text;
            }
        }
    }

    /// How many whole events wait to be read.
    fn waiting(&self) -> usize {
        let accepted = (self.kind != SocketType::DGRAM).then(|| accept(&self.socket).expect("one"));
        let from = accepted.as_ref().unwrap_or(&self.socket);
        let (mut whole, mut buffer) = (0, vec![0; 1 << 20]);
        while let Ok((_, count @ 1..)) = recv(from, &mut buffer[..], RecvFlags::DONTWAIT) {
            let is_stream = self.kind == SocketType::STREAM;
            whole += if is_stream {
                buffer[..count].split(|byte| *byte == b'\n').count() - 1
            } else {
                1
            };
        }
        whole
    }
}

fn parsed(text: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).expect("JSON");
    text.lines().map(parse).inspect(|event| schema::checked("events.v1", event)).collect()
}

/// A script that is denied so many times.
fn denials(scratch: &Scratch, count: usize) -> String {
    scratch.expand(&format!("for i in $(seq {count}); do : < $OUT/secret; done 2> /dev/null; true"))
}

/// How many events a run reports as lost.
fn lost(run: &Outcome) -> usize {
    let line = run.stderr.lines().find(|line| line.contains("could not be written to"));
    let words = line.and_then(|line| line.split(' ').find_map(|word| word.parse().ok()));
    words.unwrap_or_else(|| panic!("nothing was lost: {run}"))
}

#[test]
fn one_collector_gets_the_events_of_many_runs() {
    for kind in TYPES {
        let scratch = Scratch::new();
        let path = scratch.path("out/collector");
        let collector = Collector::listening(kind, &path);
        let reader = thread::spawn(move || [collector.lines(), collector.lines()]);
        for _ in 0..2 {
            let target = format!("unix:{}", path.display());
            let line = ["--events", &target, "--", "bash", "-c", &denials(&scratch, 50)];
            let run = product(&scratch, &line).run();
            assert!(!run.assert_ok().stderr.contains("could not"), "{run}");
        }
        let runs = reader.join().expect("the events").map(|text| parsed(&text));
        for run in &runs {
            let (first, last) = (&run[0], &run[run.len() - 1]);
            assert_eq!((&first["event"], &last["event"]), (&"start".into(), &"end".into()));
            assert_eq!((&last["denials"], &last["lost_events"]), (&50.into(), &0.into()));
            let denials = run.iter().filter(|event| event["event"] == "denial");
            assert_eq!(denials.count(), 50, "{kind:?}");
            assert!(run.iter().all(|event| event["run"] == first["run"]), "{run:?}");
        }
        assert_ne!(runs[0][0]["run"], runs[1][0]["run"]);
    }
}

/// The collector has some events, whole ones, and the run reports all others as lost.
#[test]
fn a_collector_that_never_reads_blocks_no_run() {
    let scratch = Scratch::new();
    let script = denials(&scratch, MANY);
    let run =
        |target: &str| product(&scratch, &["--events", target, "--", "bash", "-c", &script]).run();
    run("../out/log").assert_ok();
    let all = scratch.read("out/log").lines().count();
    assert!(all > MANY, "{all}");
    for kind in [SocketType::STREAM, SocketType::DGRAM] {
        let path = scratch.path(&format!("out/collector-{}", kind.as_raw()));
        let collector = Collector::listening(kind, &path);
        let run = run(&format!("unix:{}", path.display()));
        let told =
            format!("could not be written to unix:{}: its reader is too slow", path.display());
        assert_eq!(collector.waiting() + lost(run.assert_ok().assert_stderr(&told)), all, "{run}");
    }
}

/// The launcher leaves the pipe's flags as they are: they are the caller's, too.
#[test]
fn a_full_pipe_blocks_no_run() {
    let scratch = Scratch::new();
    let script = format!("exec {PRODUCT} --events fd:3 -- bash -c \"$0\" 3>&1 1>/dev/null");
    let script = Run::new(&scratch, "sh", &["-c", &script, &denials(&scratch, 400)]);
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    let kept = writer.try_clone().expect("a copy");
    let mut command = script.mode(Mode::Bare).command();
    let child = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn();
    let told = child.expect("started").wait_with_output().expect("ended");
    drop(command);
    let flags = rustix::fs::fcntl_getfl(&kept).expect("flags");
    assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK), "{flags:?}");
    drop(kept);
    let mut text = String::new();
    File::from(reader).read_to_string(&mut text).expect("read");
    let errors = String::from_utf8_lossy(&told.stderr);
    assert!(
        told.status.success() && errors.contains("could not be written to fd:3: its"),
        "{errors}"
    );
    let whole = text.rsplit_once('\n').expect("lines").0;
    assert!(whole.len() > 50_000, "{}", whole.len());
    assert_eq!(parsed(whole)[0]["event"], "start");
}

#[test]
fn programs_do_not_inherit_the_descriptor_of_events() {
    let scratch = Scratch::new();
    for (number, target) in [(3, "fd:3"), (4, "/dev/fd/4")] {
        let inner = format!("{{ echo forged >&{number}; }} 2>/dev/null; echo closed");
        let line = format!("{PRODUCT} --events {target} -- sh -c '{inner}' {number}>../log");
        let outcome = Run::sh(&scratch, &line).mode(Mode::Bare).run();
        outcome.assert_ok().assert_stdout("closed");
        assert!(!scratch.read("log").contains("forged"), "{outcome}");
        assert!(scratch.read("log").contains("\"event\":\"end\""), "{outcome}");
    }
}

/// No rule lets a program connect to the collector, delete its socket or put another one in its place.
#[test]
fn programs_cannot_forge_events() {
    if !have("python3") {
        return skip("python connects");
    }
    for enforce in ["cooperative", "layered"] {
        let scratch = Scratch::new();
        let path = scratch.path("ws/collector");
        let collector = UnixListener::bind(&path).expect("listening");
        let script =
            "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('collector')\"
                      rm -f collector; mv collector moved; ln -f file collector; exit 0";
        let line = ["--enforce", enforce, "-w", "collector", "--events", "unix:collector"];
        let line = [&line[..], &["--", "sh", "-c", script]].concat();
        let run = product(&scratch, &line).run();
        run.assert_ok().assert_stderr("Permission denied");
        assert!(path.exists() && !scratch.path("ws/moved").exists(), "{run}");
        let mut text = String::new();
        collector.accept().expect("the run").0.read_to_string(&mut text).expect("read");
        let denied = parsed(&text).iter().filter(|event| event["event"] == "denial").count();
        assert!(denied >= 3, "{text}");
        collector.set_nonblocking(true).expect("set");
        assert_eq!(collector.accept().expect_err("no other").kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn a_run_does_not_start_without_its_collector() {
    let scratch = Scratch::new();
    drop(UnixListener::bind(scratch.path("out/left")).expect("bound"));
    let _listener = UnixListener::bind(scratch.path("out/here")).expect("bound");
    std::os::unix::fs::symlink("here", scratch.path("out/link")).expect("linked");
    let start = "start the collector, or name the socket on which it listens: --events unix:SOCKET";
    for (command, target, told, advice) in [
        (&[][..], "unix:../out/none", "--events unix:../out/none: No such file", start),
        (&[], "unix:../out/left", "--events unix:../out/left: Connection refused", start),
        (&[], "unix:file", "--events unix:file: it is no socket", start),
        (&[], "unix:../out/link", "out/link is a symlink that a run could have made", "out/here"),
        (&[], "unix:", "unix: names no socket", ""),
        (&[], "fd:x", "fd: takes a number", ""),
        (&[], "fd:77", "--events fd:77: Bad file descriptor", ""),
        (&["vfs"], "/dev/fd/77", "--events fd:77: Bad file descriptor", ""),
    ] {
        let line = [command, &["--events", target, "--", "touch", "ran"]].concat();
        let run = product(&scratch, &line).run();
        run.assert_code(125).assert_stderr(told).assert_stderr(advice);
        assert!(!scratch.path("ws/ran").exists(), "{run}");
    }
}

/// Programs that the file service starts would get no descriptor.
#[test]
fn the_file_service_takes_no_descriptor() {
    let scratch = Scratch::new();
    let line = format!("{PRODUCT} vfs --events fd:3 -- true 3>../log");
    let outcome = Run::sh(&scratch, &line).mode(Mode::Bare).run();
    outcome
        .assert_code(125)
        .assert_stderr("name a file or a socket: --events FILE, --events unix:");
}

/// Where the journal keeps what it gets.
const JOURNALD: &str = "/lib/systemd/systemd-journald";

/// The journal of this test sees nothing of the machine's own, and writes nothing to it.
const JOURNAL: &str = r#"
mount -t tmpfs none /run/systemd && mount -t tmpfs none /run/log || exit 77
[ -s /etc/machine-id ] || exit 77
mkdir -p /run/systemd/journal /run/systemd/journald.conf.d /run/log/journal
printf '[Journal]\nReadKMsg=no\nAudit=no\nStorage=volatile\n' > /run/systemd/journald.conf.d/test.conf
JOURNALD & journal=$!
mkfifo $WS/../never; exec 4<>$WS/../never
while ! [ -S /run/systemd/journal/socket ]; do
    kill -0 $journal || exit 77
    read -t 0.05 -u 4
done
for status in 0 3; do
    PRODUCT --events unix:/run/systemd/journal/socket -- sh -c "cat $OUT/secret; exit $status"
done
journalctl --sync
journalctl -D /run/log/journal -a -o json -t jp-confine
kill $journal; wait $journal
"#;

#[test]
fn the_journal_gets_events_with_fields_to_search_by() {
    if !rustix::process::geteuid().is_root() || !have("unshare") || !have("journalctl") {
        return skip("only root can start a journal");
    }
    if !Path::new(JOURNALD).exists() {
        return skip("no systemd-journald");
    }
    let scratch = Scratch::new();
    let script = JOURNAL.replace("JOURNALD", JOURNALD).replace("PRODUCT", PRODUCT);
    let script = scratch.expand(&script);
    let args = ["-m", "--propagation", "private", "bash", "-c", &script];
    let outcome = Run::new(&scratch, "unshare", &args).mode(Mode::Bare).run();
    if outcome.code() == 77 || outcome.stderr.contains("unshare failed") {
        return skip("the journal does not start here");
    }
    let entries: Vec<Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let mut runs = BTreeSet::new();
    for entry in &entries {
        let [event] = &parsed(&text(entry, "MESSAGE"))[..] else { panic!("{entry}") };
        assert_eq!(event["run"], entry["JP_CONFINE_RUN"], "{entry}");
        assert_eq!(event["event"], entry["JP_CONFINE_EVENT"], "{entry}");
        let is_notable = event["event"] == "denial" || event["event"] == "warning";
        assert_eq!(entry["PRIORITY"], if is_notable { "4" } else { "6" }, "{entry}");
        runs.insert(text(entry, "JP_CONFINE_RUN"));
    }
    assert_eq!(runs.len(), 2, "{outcome}");
    for event in ["start", "denial", "end"] {
        let count = entries.iter().filter(|entry| entry["JP_CONFINE_EVENT"] == event).count();
        assert_eq!(count, 2, "{event}: {outcome}");
    }
}
