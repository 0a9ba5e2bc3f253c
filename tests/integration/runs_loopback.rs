//! Rules about hosts, and programs of a run that listen on loopback. The run may connect to them, but to no server that
//! takes their place.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{AddressFamily, SocketType, bind, listen, socket};

use crate::attack::{Linking, arena_with};
use crate::run::{Mode, PRODUCT, Run, have, skip};
use crate::runs_net::{Server, run};
use crate::scratch::Scratch;

const FLAGS: [&str; 3] = ["-v", "--net", "example.com"];

/// A server and its client, each in its own way. Each script prints what the one sent the other.
const OWN: [&str; 7] = [
    // Blocking, of both families.
    r"
import socket
for family, host in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')]:
    server = socket.create_server((host, 0), family=family)
    client = socket.create_connection(server.getsockname()[:2])
    server.accept()[0].send(b'x')
    assert client.recv(1) == b'x'
print('own')
",
    // By an event loop.
    r"
import asyncio
async def main():
    async def serve(reader, writer):
        writer.write(b'own'); await writer.drain(); writer.close()
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    print((await reader.read()).decode())
asyncio.run(main())
",
    // By a process that inherited the socket from one that ended.
    r"
import os, socket, time
server = socket.create_server(('127.0.0.1', 0))
read, write = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.close(write); os.read(read, 1)
        server.accept()[0].send(b'own')
    os._exit(0)
os.wait()
place = server.getsockname(); server.close(); os.close(write)
print(socket.create_connection(place).recv(3).decode())
",
    // As browsers do: `localhost`, and an answer by HTTP.
    r"
import http.server, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'own')
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f'http://localhost:{server.server_port}/').read().decode())
",
    // At all addresses: at a port that the kernel chooses, and at that port again.
    r"
import socket
def serve(family, host, port, names):
    with socket.create_server((host, port), family=family, dualstack_ipv6=bool(host == '::')) as server:
        place = server.getsockname()
        assert place[0] in ('127.0.0.1', '::ffff:127.0.0.1'), place
        for name in names:
            client = socket.create_connection((name, place[1]))
            server.accept()[0].send(b'x')
            assert client.recv(1) == b'x'
        return place[1]
for family, host, names in [(socket.AF_INET, '', ['127.0.0.1', '0.0.0.0']),
                            (socket.AF_INET6, '::', ['127.0.0.1', '::1', 'localhost'])]:
    serve(family, host, serve(family, host, 0, names), names)
print('own')
",
    // By a process that has the socket under another number, such as one that is started for each connection.
    r"
import os, socket
server = socket.create_server(('127.0.0.1', 0))
server.setsockopt(socket.SOL_SOCKET, 15, 0)
place = server.getsockname()
read, write = os.pipe()
if os.fork() == 0:
    os.dup2(server.fileno(), 40); server.close(); os.write(write, b'x')
    socket.socket(fileno=40).accept()[0].send(b'own')
    os._exit(0)
os.read(read, 1); server.close()
print(socket.create_connection(place).recv(3).decode())
",
    // Many connections come before any is accepted.
    r"
import socket
server = socket.create_server(('127.0.0.1', 0), backlog=16)
clients = []
for _ in range(12):
    client = socket.socket(); client.setblocking(False)
    client.connect_ex(server.getsockname()); clients.append(client)
for _ in clients: server.accept()[0].send(b'x')
for client in clients: client.setblocking(True); assert client.recv(1) == b'x'
print('own')
",
];

#[test]
fn servers_of_the_run_are_connected_to() {
    if !have("python3") {
        return skip("python serves");
    }
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    for script in OWN {
        let run = run(&scratch, &server, &FLAGS, &["python3", "-c", script]);
        run.assert_ok().assert_stdout("own\n");
        assert!(!run.stderr.contains("denied net"), "{run}");
    }
    // The run may connect to no other server for that.
    let script = "import socket; socket.create_server(('127.0.0.1', 0)); \
                  print(socket.create_connection(('127.0.0.1', PORT)).recv(99))";
    let run = run(&scratch, &server, &FLAGS, &["python3", "-c", script]);
    run.assert_code(1).assert_no_secret().assert_stderr(
        "denied net 127.0.0.1:PORT".replace("PORT", &server.port.to_string()).as_str(),
    );
}

/// Once the server has left its place, any server there is somebody else's.
#[test]
fn a_place_that_was_left_is_nobody_s() {
    if !have("python3") {
        return skip("python serves");
    }
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    let script = r"
import socket
server = socket.create_server(('127.0.0.1', 0)); place = server.getsockname()
socket.create_connection(place)
server.shutdown(socket.SHUT_RDWR)
for leave in [lambda: None, server.close]:
    leave()
    try: print(socket.create_connection(place))
    except PermissionError: print('refused')
";
    let run = run(&scratch, &server, &FLAGS, &["python3", "-c", script]);
    run.assert_ok().assert_stdout("refused\nrefused\n");
}

/// A socket in a network of its own is on another loopback. A server at its place here is somebody else's.
#[test]
fn a_listener_in_another_network_opens_no_place_here() {
    // The library denies the calls that make such networks.
    let scratch = arena_with(Linking::Static, Scratch::for_ordinary_user());
    let server = Server::start();
    let line = ["bin/attack", "net", "tcp-beside", "127.0.0.1", "PORT"];
    let run = run(&scratch, &server, &FLAGS, &line);
    if run.stdout.trim() == "EOPNOTSUPP" {
        return skip("no networks of their own for ordinary users");
    }
    assert_eq!(run.stdout.trim(), "EACCES", "{run}");
    assert!(!server.was_reached(), "{run}");
    run.assert_no_secret().assert_stderr(&server.text("denied net 127.0.0.1:PORT by attack"));
}

/// A connection that a signal interrupts does not come about later, when another server may be there.
#[test]
fn a_connection_that_is_interrupted_is_dissolved() {
    if !have("python3") {
        return skip("python serves");
    }
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    let script = r"
import ctypes, errno, signal, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
server = socket.create_server(('127.0.0.1', 0), backlog=0)
place = server.getsockname()
first, client = socket.create_connection(place), socket.socket()
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
address = struct.pack('=H', socket.AF_INET) + struct.pack('!H4s8x', place[1], bytes([127, 0, 0, 1]))
assert libc.connect(client.fileno(), address, len(address)) == -1
state = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
print(errno.errorcode[ctypes.get_errno()], 'closed' if state == 7 else state)
";
    let run = run(&scratch, &server, &FLAGS, &["python3", "-c", script]);
    run.assert_ok().assert_stdout("EINTR closed\n");
}

/// A connection that comes about later reaches the server of that moment, with all that other threads wait to send on
/// it.
#[test]
fn a_place_is_not_left_while_a_connection_comes_about() {
    if !have("python3") {
        return skip("python serves");
    }
    let scratch = Scratch::for_ordinary_user();
    let server = Server::start();
    let script = r"
import ctypes, socket, threading, time
libc = ctypes.CDLL(None)
def connect(client, place):
    try: client.connect(place)
    except OSError: pass
for leave in [
    lambda server: server.shutdown(socket.SHUT_RD),
    lambda server: libc.connect(server.fileno(), bytes(16), 16),
    lambda server: server.setsockopt(socket.SOL_SOCKET, 15, 1),
]:
    server = socket.create_server(('127.0.0.1', 0), backlog=0)
    place = server.getsockname()
    first, client = socket.create_connection(place), socket.socket()
    threading.Thread(target=connect, args=(client, place), daemon=True).start()
    state = lambda: client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    while state() != 2: time.sleep(0.01)
    leave(server)
    print('closed' if state() == 7 else state())
";
    let run = run(&scratch, &server, &FLAGS, &["python3", "-c", script]);
    run.assert_ok().assert_stdout("closed\nclosed\nclosed\n");
}

/// Gives a listening socket to the command in its arguments.
const GIVER: &str = r"
import socket, subprocess, sys
server = socket.create_server(('127.0.0.1', 0))
code = subprocess.run(sys.argv[1:] + [str(server.fileno())], pass_fds=[server.fileno()]).returncode
server.settimeout(0)
try: server.accept(); print('came')
except BlockingIOError: print('nobody came')
sys.exit(code)
";

/// Has that socket listen anew.
const HEIR: &str = r"
import socket, sys
server = socket.socket(fileno=int(sys.argv[1]))
server.shutdown(socket.SHUT_RDWR)
server.listen(64)
try: socket.create_connection(server.getsockname())
except PermissionError: pass
";

/// A process that gave a run a socket may take the connections to it.
#[test]
fn a_socket_that_was_inherited_is_not_the_run_s_own() {
    if !have("python3") {
        return skip("python serves");
    }
    let scratch = Scratch::new();
    let confined = match Mode::under_test() {
        Mode::Confined => [&[PRODUCT][..], &FLAGS, &["--"]].concat(),
        Mode::Bare => Vec::new(),
    };
    let line = [&["-c", GIVER], &confined[..], &["python3", "-c", HEIR]].concat();
    let run = Run::new(&scratch, "python3", &line).mode(Mode::Bare).run();
    run.assert_ok().assert_stdout("nobody came\n");
    run.assert_stderr("denied net 127.0.0.1:");
}

/// Two sockets that share a port get connections by turns. The one outside would get some, too.
#[test]
fn a_port_that_is_shared_is_not_the_run_s_own() {
    if !have("python3") {
        return skip("python serves");
    }
    let scratch = Scratch::new();
    let server = Server::start();
    let outside = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    set_socket_reuseport(&outside, true).expect("an option");
    bind(&outside, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listen(&outside, 64).expect("listening");
    let outside = TcpListener::from(outside);
    outside.set_nonblocking(true).expect("a socket");
    let port = outside.local_addr().expect("an address").port();
    let script = r"
import socket
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, 15, 1)
server.bind(('127.0.0.1', SHARED)); server.listen(64)
server.setsockopt(socket.SOL_SOCKET, 15, 0)
datagrams = socket.socket(type=socket.SOCK_DGRAM); datagrams.bind(('', 0))
try: datagrams.listen()
except OSError: print(datagrams.getsockname()[0])
for _ in range(16):
    try: socket.create_connection(('127.0.0.1', SHARED)); print('connected')
    except PermissionError: pass
";
    let script = script.replace("SHARED", &port.to_string());
    let run = run(&scratch, &server, &FLAGS, &["python3", "-c", &script]);
    run.assert_ok().assert_stderr("(16×)");
    assert!(outside.accept().is_err() && !run.stdout.contains("connected"), "{run}");
    // A socket that listens is bound anew. A datagram socket cannot listen, and keeps its address.
    assert_eq!(run.stdout, "0.0.0.0\n", "{run}");
}
