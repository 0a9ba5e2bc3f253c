//! Rules about hosts, for runs: clients × rules × outcomes, all on loopback.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::attack::{Linking, arena_with};
use crate::run::{Outcome, Run, have, note, skip};
use crate::scratch::{SECRET, Scratch};

/// A server outside the run. It gives out a secret at one port for streams and datagrams of IPv4, and counts its
/// visitors.
pub(crate) struct Server {
    pub(crate) port: u16,
    visits: Arc<AtomicUsize>,
    datagrams: UdpSocket,
}

impl Server {
    pub(crate) fn start() -> Self {
        let (streams, datagrams) = (0..100)
            .find_map(|_| {
                let streams = TcpListener::bind("127.0.0.1:0").ok()?;
                let place = streams.local_addr().ok()?;
                Some((streams, UdpSocket::bind(place).ok()?))
            })
            .expect("a port for both");
        let port = streams.local_addr().expect("an address").port();
        let visits = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&visits);
        thread::spawn(move || {
            for stream in streams.incoming().flatten() {
                counter.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || greet(stream));
            }
        });
        Self { port, visits, datagrams }
    }

    pub(crate) fn text(&self, text: &str) -> String {
        text.replace("PORT", &self.port.to_string())
    }

    /// Whether anything has come since the last call.
    pub(crate) fn was_reached(&self) -> bool {
        self.datagrams.set_nonblocking(true).expect("a socket");
        let mut datagrams = 0;
        while self.datagrams.recv(&mut [0; 16]).is_ok() {
            datagrams += 1;
        }
        // By the time that this visitor is answered, all earlier ones have been counted.
        self.visit();
        self.visits.swap(0, Ordering::SeqCst) - 1 + datagrams > 0
    }

    /// Visits the server, and waits for the answer.
    fn visit(&self) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server");
        stream.write_all(b"?").expect("the server listens");
        io::copy(&mut stream, &mut io::sink()).expect("an answer");
    }
}

/// Answers an HTTP request by HTTP, and a silent client with the secret alone.
fn greet(mut stream: std::net::TcpStream) {
    use std::io::Read as _;
    let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
    let mut request = [0; 4096];
    let count = stream.read(&mut request).unwrap_or(0);
    let body = format!("{SECRET}\n");
    let _ = if count > 0 {
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes())
    } else {
        stream.write_all(body.as_bytes())
    };
}

/// A program that connects to the server by itself. `PORT` in its arguments is the server's port.
struct Client {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
}

const PYTHON: &str =
    "import urllib.request as u; print(u.urlopen('http://127.0.0.1:PORT/').read())";
const NODE: &str = "require('net').connect(PORT, '127.0.0.1').on('data', d => console.log(String(d)))\
                    .on('error', e => { console.error(e.code); process.exit(1) })";
const CLIENTS: [Client; 5] = [
    Client {
        name: "bash",
        program: "bash",
        arguments: &["-c", "exec 3<>/dev/tcp/127.0.0.1/PORT && read -r x <&3 && echo $x"],
    },
    Client { name: "curl", program: "curl", arguments: &["-sS", "http://127.0.0.1:PORT/"] },
    Client { name: "python", program: "python3", arguments: &["-c", PYTHON] },
    Client { name: "node", program: "node", arguments: &["-e", NODE] },
    Client { name: "git", program: "git", arguments: &["ls-remote", "http://127.0.0.1:PORT/x"] },
];

/// Rules as options, and whether they allow a client to reach 127.0.0.1 at the port.
const RULES: [(&[&str], bool); 4] = [
    (&["--net", "127.0.0.1:PORT"], true),
    (&["--net", "localhost:PORT"], true),
    (&["--net", "127.0.0.1"], false),
    (&["--net", "a.test:PORT", "--resolve", "a.test=127.0.0.2"], false),
];

/// Runs a line with options. `PORT` in both is the server's port.
pub(crate) fn run(scratch: &Scratch, server: &Server, flags: &[&str], line: &[&str]) -> Outcome {
    let flags: Vec<String> = flags.iter().map(|flag| server.text(flag)).collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let line: Vec<String> = line.iter().map(|word| server.text(word)).collect();
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    Run::new(scratch, line[0], &line[1..]).flags(&flags).limit(Duration::from_secs(60)).run()
}

// conformance: 076-114
#[test]
fn unmodified_programs_reach_what_rules_allow() {
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    let mut table =
        String::from("\nclient   rule                                               outcome\n");
    for client in CLIENTS.iter().filter(|client| have(client.program)) {
        // One client is tried with all rules.
        let rules = if client.name == "bash" { &RULES[..] } else { &RULES[1..3] };
        for &(flags, allowed) in rules {
            let line = [&[client.program], client.arguments].concat();
            let run = run(&scratch, &server, flags, &line);
            assert_eq!(server.was_reached(), allowed, "{} {flags:?}: {run}", client.name);
            if !allowed {
                run.assert_no_secret().assert_stderr("denied net 127.0.0.1:");
            }
            let outcome = if allowed { "connected" } else { "EACCES" };
            let _ = writeln!(table, "{:<8} {:<50} {outcome}", client.name, flags.join(" "));
        }
    }
    note(&table);
}

/// How the attack program connects, to which address, and its answer where no rule allows that.
const ATTACKS: [(&str, &str, &str); 15] = [
    ("tcp", "127.0.0.1", "EACCES"),
    ("tcp", "0.0.0.0", "EACCES"),
    ("tcp", "::ffff:127.0.0.1", "EACCES"),
    ("tcp-fast", "127.0.0.1", "EOPNOTSUPP"),
    ("udp", "127.0.0.1", "EACCES"),
    ("udp", "::ffff:127.0.0.1", "EACCES"),
    ("udp-sendto", "127.0.0.1", "EACCES"),
    ("udp-sendto", "::ffff:127.0.0.1", "EACCES"),
    ("udp-sendmsg", "127.0.0.1", "EACCES"),
    ("udp-sendmmsg", "127.0.0.1", "EACCES"),
    ("route", "127.0.0.1", "EACCES"),
    ("listen", "0.0.0.0", "EACCES"),
    ("listen-at", "0.0.0.0", "EACCES"),
    ("listen-unbound", "127.0.0.1", "EACCES"),
    ("receive", "0.0.0.0", "EACCES"),
];

fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port()
}

fn free_tcp_port() -> u16 {
    TcpListener::bind("0.0.0.0:0").and_then(|socket| socket.local_addr()).expect("a port").port()
}

/// Lines of the attack program, one after the other, all in one run.
fn attacks(scratch: &Scratch, server: &Server, flags: &[&str]) -> Outcome {
    let line = |(how, address, _): &(&str, &str, &str)| {
        let port = match *how {
            "listen" => 0,
            "listen-at" => free_tcp_port(),
            "receive" => free_port(),
            _ => server.port,
        };
        let how = how.trim_end_matches("-at");
        format!("bin/attack net {how} {address} {port} || true")
    };
    let script = ATTACKS.iter().map(line).collect::<Vec<_>>().join("\n");
    run(scratch, server, flags, &["sh", "-c", &script])
}

#[test]
fn no_call_goes_around_the_rules() {
    for linking in [Linking::Dynamic, Linking::Static] {
        let scratch = arena_with(linking, Scratch::new());
        let server = Server::start();
        let refused = attacks(&scratch, &server, &["--net", "10.0.0.1:1"]);
        assert!(!server.was_reached(), "{linking:?}: {refused}");
        let expected: Vec<&str> = ATTACKS.iter().map(|(_, _, errno)| *errno).collect();
        let answers: Vec<&str> = refused.stdout.lines().collect();
        assert_eq!(answers, expected, "{linking:?}: {refused}");
    }
}

#[test]
fn nothing_is_exchanged_after_it_was_judged() {
    for linking in [Linking::Dynamic, Linking::Static] {
        let scratch = arena_with(linking, Scratch::for_ordinary_user());
        let (server, allowed) = (Server::start(), Server::start());
        let ports = format!("bin/attack net-race 127.0.0.1 {} {}", server.port, allowed.port);
        let rule = format!("127.0.0.1:{}", allowed.port);
        let run = run(&scratch, &server, &["-q", "--net", &rule], &["sh", "-c", &ports]);
        run.assert_ok();
        assert!(allowed.was_reached(), "{linking:?}: the race was not run: {run}");
        assert!(!server.was_reached(), "{linking:?}: {run}");
    }
}

#[test]
fn what_rules_allow_works_by_every_call() {
    for linking in [Linking::Dynamic, Linking::Static] {
        let scratch = arena_with(linking, Scratch::for_ordinary_user());
        let server = Server::start();
        let allowed = attacks(&scratch, &server, &["--net", "127.0.0.1:PORT"]);
        assert!(server.was_reached(), "{linking:?}: {allowed}");
        for ((how, address, _), answer) in ATTACKS.iter().zip(allowed.stdout.lines()) {
            let is_refused =
                matches!(*how, "tcp-fast" | "route" | "receive") || how.starts_with("listen");
            assert_eq!(
                answer.starts_with("ok"),
                !is_refused,
                "{linking:?} {how} {address}: {allowed}"
            );
        }
    }
}

/// Programs of a run send each other data and descriptors, and listen where only this machine can connect.
const AMONG_THEMSELVES: &str = "
import array, os, socket
a, b = socket.socketpair()
r, w = os.pipe()
a.sendmsg([b'x', b'y'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [w]))])
data, (control, *_), _, _ = b.recvmsg(9, 99)
os.write(array.array('i', control[2])[0], data)
assert os.read(r, 9) == b'xy'
for name in ['socket', '\\0jp-confine-test-%d' % os.getpid()]:
    server = socket.socket(socket.AF_UNIX)
    server.bind(name)
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect(name)
    client.send(b'z')
    assert server.accept()[0].recv(9) == b'z'
server = socket.create_server(('127.0.0.1', 0))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(('127.0.0.1', 0))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(('', 0))
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(('0.0.0.0', server.getsockname()[1]))
except PermissionError:
    print('done')
outside = socket.socket(socket.AF_UNIX)
try:
    outside.connect('\\0OUTSIDE')
    print(outside.recv(99))
except PermissionError:
    print('apart')
";

#[test]
fn programs_of_a_run_talk_to_each_other_and_not_to_nameless_servers_outside() {
    if !have("python3") {
        return skip("python makes the sockets");
    }
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    let name = format!("jp-confine-outside-{}", server.port);
    let place = SocketAddr::from_abstract_name(&name).expect("a name");
    let outside = UnixListener::bind_addr(&place).expect("a listener");
    thread::spawn(move || {
        for mut stream in outside.incoming().flatten() {
            let _ = stream.write_all(SECRET.as_bytes());
        }
    });
    let script = AMONG_THEMSELVES.replace("OUTSIDE", &name);
    let run = run(&scratch, &server, &["-v", "--net", "127.0.0.1:1"], &["python3", "-c", &script]);
    run.assert_no_secret().assert_ok().assert_stdout("done\napart\n");
    run.assert_stderr("denied net 0.0.0.0:").assert_stderr(&format!("denied net @{name}"));
}

#[test]
fn rules_of_files_hold_runs_and_advice_about_them_works() {
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    scratch.write("ws/jp-confine.toml", "[[access.net]]\nhost = \"a.test\"\nallow = true\n");
    let line = ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/PORT"];
    let refused = run(&scratch, &server, &["--events", "events"], &line);
    let option = server.text("127.0.0.1:PORT");
    refused.assert_stderr(&format!("no rule covers it; allow: jp-confine --net {option}"));
    let events = scratch.read("ws/events");
    assert!(events.contains(r#""capability":["net"]"#), "{events}");
    assert!(!server.was_reached(), "{refused}");
    run(&scratch, &server, &["--net", &option], &line).assert_ok();
    assert!(server.was_reached());
    for flag in ["--no-net", "--isolated"] {
        let none = run(&scratch, &server, &[flag], &line);
        assert!(none.code() != 0 && !server.was_reached(), "{none}");
        none.assert_stderr("denied net sockets of the internet by bash");
        none.assert_stderr(&format!("{flag}; leave it out, or allow a host beside it"));
    }
}

/// A rule about this machine is named where it denies. One round is enough even if the run told only the name.
#[test]
fn names_are_advised_for_whatever_port() {
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    let rule = "[[access.net]]\nhost = 'localhost'\nport = PORT\nallow = false\n";
    scratch.write("ws/jp-confine.toml", &server.text(rule));
    let line = |host: &str| server.text(&format!("exec 3<>/dev/tcp/{host}/PORT"));
    let refused = |host| run(&scratch, &server, &[], &["bash", "-c", &line(host)]);
    refused("127.0.0.1").assert_stderr(&server.text("rule host = \"localhost\", port = PORT"));
    let told = "on another port than its scheme's: a.test:PORT";
    refused("a.test").assert_stderr(told);
    assert!(!server.was_reached());
}

#[test]
fn nothing_runs_where_rules_about_hosts_cannot_be_held() {
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    for (flags, why) in [
        (
            &["--enforce", "cooperative", "--net", "a.test"][..],
            "cooperative cannot hold network rules",
        ),
        (&["--resolve", "a.test=127.0.0.1"], "serves no rule"),
    ] {
        run(&scratch, &server, flags, &["true"]).assert_code(125).assert_stderr(why);
    }
    let bare = Run::new(&scratch, "true", &[]).flags(&["--net", "a.test"]);
    let bare = bare.env("JP_CONFINE_WITHOUT", "listener").run();
    bare.assert_code(125).assert_stderr("network rules need a supervisor");
    scratch.write(
        "ws/jp-confine.toml",
        "[[access.net]]\nhost = \"a.test\"\npath_prefix = \"/v1\"\nallow = true\n",
    );
    let divided = run(&scratch, &server, &[], &["true"]);
    divided.assert_code(125).assert_stderr("does not show the path");
}
