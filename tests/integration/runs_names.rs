//! Rules about names of hosts, and about paths there, for runs. The names come from the command line, and all are on
//! loopback.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::cli_status::product;
use crate::run::{Mode, PRODUCT, Run, have, note, skip};
use crate::runs_net::{Server, run};
use crate::scratch::{SECRET, Scratch};

/// Rules and resolutions, the host that curl looks up, and whether curl reaches it.
const NAMES: [(&[&str], &str, bool); 8] = [
    (&["--net", "a.test:PORT", "--resolve", "a.test=127.0.0.1"], "A.Test", true),
    (
        &["--net", "münchen.test:PORT", "--resolve", "münchen.test=127.0.0.1"],
        "xn--mnchen-3ya.test",
        true,
    ),
    (&["--net", "http://a.test:PORT", "--resolve", "a.test=::ffff:127.0.0.1"], "a.test", true),
    (&["--net", "a.test:PORT", "--resolve", "b.test=127.0.0.1"], "b.test", false),
    (&["--net", "a.test", "--resolve", "a.test=127.0.0.1"], "a.test", false),
    (&["--net", "*.c.test:PORT", "--resolve", "x.y.c.test=127.0.0.1"], "x.y.c.test", true),
    (&["--net", "*.c.test:PORT", "--resolve", "c.test=127.0.0.1"], "c.test", false),
    (&["--net", "*.c.test:PORT", "--resolve", "xc.test=127.0.0.1"], "xc.test", false),
];

#[test]
fn names_are_looked_up_for_the_run_where_rules_allow_them() {
    if !have("curl") {
        return skip("curl looks up names");
    }
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    let mut table = String::from(
        "\nname                 rule                                               outcome\n",
    );
    for (flags, name, allowed) in NAMES {
        let url = format!("http://{name}:PORT/");
        let run = run(&scratch, &server, flags, &["curl", "-sS", "-m", "20", &url]);
        assert_eq!(server.was_reached(), allowed, "{name} {flags:?}: {run}");
        let outcome = if allowed { "connected" } else { "refused" };
        let _ = writeln!(table, "{name:<20} {:<50} {outcome}", flags.join(" "));
        if !allowed {
            let denied =
                if name == "a.test" { server.text("a.test:PORT") } else { name.to_owned() };
            run.assert_no_secret().assert_stderr(&format!("denied net {denied} by curl"));
        }
    }
    note(&table);
}

const REQUESTS: &str =
    "import requests; print(requests.get('http://a.test:PORT/', timeout=20).text)";

/// The cargo that runs these tests, with a search in a registry.
fn cargo() -> Option<Vec<String>> {
    let cargo = std::env::var("CARGO").ok()?;
    let words = ["search", "--index", "sparse+http://a.test:PORT/", "spring"];
    Some(std::iter::once(cargo.as_str()).chain(words).map(ToOwned::to_owned).collect())
}

/// Programs with a client of their own: cargo for a registry, and requests for programs that import it.
#[test]
fn cargo_and_requests_reach_what_rules_allow() {
    let scratch = Scratch::new();
    let server = Server::start();
    let mut clients: Vec<(&str, Vec<String>)> = Vec::new();
    match cargo() {
        Some(line) => clients.push(("cargo", line)),
        None => skip("nobody says where cargo is"),
    }
    let line = ["python3", "-c", REQUESTS].map(ToOwned::to_owned);
    if Run::new(&scratch, "python3", &["-c", "import requests"]).mode(Mode::Bare).run().code() == 0
    {
        clients.push(("python", line.into()));
    } else {
        skip("python has no requests");
    }
    for (name, line) in &clients {
        let line: Vec<String> = line.iter().map(|word| server.text(word)).collect();
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        let tool_chain = Path::new(words[0]).ancestors().nth(2).and_then(Path::to_str);
        for (rule, allowed) in [("a.test:PORT", true), ("b.test:PORT", false)] {
            let rule = server.text(rule);
            let mut run = Run::new(&scratch, words[0], &words[1..]);
            run = run.flags(&["--resolve", "a.test=127.0.0.1", "--net", &rule]);
            if let Some(tool_chain) = tool_chain.filter(|folder| !folder.is_empty()) {
                run = run.flags(&["-x", tool_chain]);
            }
            let run = run.env("CARGO_NET_RETRY", "0").limit(Duration::from_secs(60)).run();
            assert_eq!(server.was_reached(), allowed, "{name} {rule}: {run}");
            if !allowed {
                run.assert_no_secret().assert_stderr(&format!("denied net a.test by {name}"));
            }
        }
    }
}

/// Looks up names, each program in its own way. One name is allowed and has several addresses.
const LOOK_UPS: &str = r"
import socket
for port in [None, 1]:
    socket.getaddrinfo('a.test', port)
for name in ['b.test', 'b.test', 'c.test']:
    try: socket.getaddrinfo(name, None)
    except socket.gaierror: pass
";

/// A denied look-up counts once, whatever a resolver asks for it. An allowed one does not count.
#[test]
fn look_ups_are_counted_and_not_their_questions() {
    if !have("python3") {
        return skip("python looks up names");
    }
    let scratch = Scratch::for_ordinary_user();
    let names =
        ["127.0.0.1", "127.0.0.2", "::1"].map(|address| format!("--resolve=a.test={address}"));
    let flags: Vec<&str> =
        ["-v", "--net", "a.test:1"].into_iter().chain(names.iter().map(|it| &**it)).collect();
    let run = run(&scratch, &Server::start(), &flags, &["python3", "-c", LOOK_UPS]);
    run.assert_ok().assert_stderr("3 denials\n").assert_stderr("denied net b.test by python3");
    assert!(run.stderr.contains("(2×)") && !run.stderr.contains("a.test:"), "{run}");
}

/// The request of curl, whether the server sees it, and what curl reads.
const DOCUMENTS: [(&str, bool, &str); 6] = [
    ("http://127.0.0.1:PORT/v1/x", true, SECRET),
    ("http://127.0.0.1:PORT/v10", false, "does not allow this URL"),
    ("http://127.0.0.1:PORT/v1/../admin", false, "does not allow this URL"),
    ("http://127.0.0.1:PORT/v1%2f..%2fadmin", false, "does not allow this URL"),
    ("-p http://127.0.0.1:PORT/v1/x", false, "response 403"),
    ("--noproxy * http://127.0.0.1:PORT/v1/x", false, "denied net 127.0.0.1:PORT"),
];

#[test]
fn paths_hold_where_the_proxy_sees_them() {
    if !have("curl") {
        return skip("curl asks the proxy");
    }
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    let rule =
        "[[access.net]]\nhost = \"127.0.0.1\"\nport = PORT\npath_prefix = \"/v1\"\nallow = true\n";
    scratch.write("ws/jp-confine.toml", &server.text(rule));
    for (request, reaches, told) in DOCUMENTS {
        // Without `-q`, curl looks for its settings in the home of the password file, too.
        let words = ["curl", "-q", "-sS", "-m", "20", "--path-as-is"];
        let line: Vec<&str> = words.into_iter().chain(request.split(' ')).collect();
        let run = run(&scratch, &server, &["--net-proxy"], &line);
        assert_eq!(server.was_reached(), reaches, "{request}: {run}");
        let told = server.text(told);
        assert!(run.stdout.contains(&told) || run.stderr.contains(&told), "{request}: {run}");
        if !reaches {
            run.assert_no_secret().assert_stderr("1 denial");
        }
    }
    // The suggestion is as narrow as the rule.
    let asks = server.text("http://127.0.0.1:PORT/v2/x");
    let asks = || run(&scratch, &server, &["--net-proxy"], &["curl", "-sS", "-m", "20", &asks]);
    let advised = server.text("+port = PORT\n+path_prefix = \"/v2/x\"\n+allow = true\n");
    asks();
    product(&scratch, &["allow", "1", "--yes"]).run().assert_ok().assert_stdout(&advised);
    asks().assert_ok();
}

/// Asks a name server without a connection, and expects the answer from the server that it asked.
const RESOLVER: &str = r"
import ctypes, select, socket
def ask(name):
    labels = b''.join(bytes([len(label)]) + label for label in name.split(b'.'))
    return b'\x12\x34\1\0\0\1\0\0\0\0\0\0' + labels + b'\0\0\1\0\1'
def recvmmsg(s):
    select.select([s], [], [], 10)
    data, name = ctypes.create_string_buffer(512), ctypes.create_string_buffer(16)
    piece = (ctypes.c_uint64 * 2)(ctypes.addressof(data), 512)
    header = (ctypes.c_uint64 * 8)(ctypes.addressof(name), 16, ctypes.addressof(piece), 1)
    assert ctypes.CDLL(None).recvmmsg(s.fileno(), header, 1, 0, None) == 1
    return data.raw[:header[7]], (socket.inet_ntoa(name.raw[4:8]), name.raw[3])
server = ('192.0.2.53', 53)
for receive in [lambda s: s.recvfrom(512), lambda s: s.recvmsg(512)[::3], recvmmsg]:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(10)
    for name in [b'a.test', b'secrets.b.test']:
        s.sendto(ask(name), server)
        answer, sender = receive(s)
        assert sender == server, sender
        print(name.decode(), answer[3] & 15, socket.inet_ntoa(answer[-4:]) if answer[7] else '')
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(server)
print('peer', s.getpeername())
s = socket.create_connection(server)
s.send(bytes([0, len(ask(b'a.test'))]) + ask(b'a.test'))
print('stream', s.recvmsg(512)[0][-4:] == b'\x7f\0\0\1', s.getpeername() == server)
";

#[test]
fn resolvers_of_their_own_get_the_answers_of_the_run_alone() {
    if !have("python3") {
        return skip("python asks");
    }
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    let flags = ["-v", "--net", "a.test:1", "--resolve", "a.test=127.0.0.1"];
    let run = run(&scratch, &server, &flags, &["python3", "-c", RESOLVER]);
    let both = "a.test 0 127.0.0.1\nsecrets.b.test 3 \n";
    let peer = "peer ('192.0.2.53', 53)\nstream True True\n";
    run.assert_ok().assert_stdout(&format!("{both}{both}{both}{peer}"));
    run.assert_stderr("denied net secrets.b.test by python3");
}

/// Asks the run's name server, whatever the machine's own files say of a name.
const ASKER: &str = r"
import socket
for name in [b'a', b'b']:
    question = b'\x12\x34\1\0\0\1\0\0\0\0\0\0\1' + name + b'\4test\0\0\1\0\1'
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(10)
    s.sendto(question, ('192.0.2.53', 53))
    print(name.decode(), s.recv(512)[3] & 15)
";

/// A name that the system knows, options, and whether the name may lead to a server on this machine.
const OWN_ADDRESSES: [(&str, &str, bool); 3] =
    [("a.test", "", false), ("b.test", "", false), ("a.test", "--resolve a.test=192.0.2.77", true)];

/// A line for a shell, confined unless the tests are told otherwise.
fn under_test(options: &str, line: &str) -> String {
    match Mode::under_test() {
        Mode::Confined => format!("{PRODUCT} {options} -- {line}"),
        Mode::Bare => line.to_owned(),
    }
}

/// Addresses of this machine, second ones too, are for its user, and not for the owner of a name.
#[test]
fn names_do_not_stand_for_addresses_of_this_machine() {
    if !["unshare", "ip", "curl", "python3"].into_iter().all(have) {
        return skip("nobody gives the machine addresses, and asks for them");
    }
    let scratch = Scratch::new();
    scratch.write("out/hosts", "192.0.2.77 a.test\n192.0.2.78 b.test\n");
    scratch.write("out/asker.py", ASKER);
    let inside = |last: &str| {
        let script = format!(
            "ip link set lo up && ip address add 192.0.2.77/24 dev lo && \
             ip address add 192.0.2.78/24 dev lo && \
             mount --bind $OUT/hosts /etc/hosts || exit 77
             python3 -m http.server -d $OUT 8080 >/dev/null 2>&1 & server=$!
             for i in $(seq 50); do curl -s http://192.0.2.77:8080/ >/dev/null && break; sleep 0.1; done
             {last}; code=$?; kill $server; exit $code"
        );
        let script = scratch.expand(&script);
        Run::new(&scratch, "unshare", &["-Urnm", "sh", "-c", &script]).mode(Mode::Bare).run()
    };
    for (name, options, allowed) in OWN_ADDRESSES {
        let url = format!("http://{name}:8080/secret");
        let line = format!("curl -sS -m 20 {url}");
        let run = inside(&under_test(&format!("--net {name}:8080 {options}"), &line));
        if run.code() == 77 || run.stderr.contains("unshare failed") {
            return skip("no network can be made");
        }
        assert_eq!(run.stdout.contains(SECRET), allowed, "{name} {options}: {run}");
        if !allowed {
            run.assert_stderr("denied net 192.0.2.7");
        }
    }
    let line = "curl -sS -m 20 http://a.test:8080/secret";
    let run = inside(&under_test("--net a.test:8080 --net-proxy", line));
    run.assert_no_secret().assert_stdout("--resolve NAME=ADDRESS");
    let options = "-v -r $OUT/asker.py --net a.test:8080 --net b.test:8080";
    let run = inside(&under_test(options, "python3 $OUT/asker.py"));
    run.assert_ok().assert_stdout("a 3\nb 3\n").assert_stderr("denied net b.test by python3");
    run.assert_stderr("it stands for this machine or its link")
        .assert_stderr("--resolve a.test=ADDRESS");
}
