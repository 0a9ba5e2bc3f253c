//! Tests unix sockets by path, and addresses that name no file.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

use jp_confine_engine::Capabilities;

use super::{Ground, agree, call, said, shown};

#[test]
fn names_are_bound_and_reached() {
    agree(|| {
        let here = std::env::current_dir().expect("here");
        let mut text = String::new();
        let names = [
            "sock".into(),
            "d/sock".into(),
            "./ld/sock2".into(),
            here.join("abs"),
            here.join("ld/abs"),
        ];
        for name in &names {
            let bound = UnixListener::bind(name);
            let Ok(listener) = bound else {
                let _ = writeln!(text, "{name:?} {:?}", bound.err());
                continue;
            };
            let _ = writeln!(text, "{:?}", listener.local_addr().expect("an address"));
            let connected = UnixStream::connect(name);
            let Ok(mut stream) = connected else {
                let _ = writeln!(text, "{name:?} {:?}", connected.err());
                continue;
            };
            let (mut accepted, _) = listener.accept().expect("accepted");
            stream.write_all(b"hello").expect("sent");
            drop(stream);
            let mut received = String::new();
            accepted.read_to_string(&mut received).expect("received");
            let _ = writeln!(text, "{received} {:?}", UnixListener::bind(name).err());
        }
        for name in ["none", "none/x", "f", "d", ".", ""] {
            let _ = writeln!(text, "{name} {:?}", UnixStream::connect(name).err());
            let _ = writeln!(text, "{name} {:?}", UnixDatagram::bind(name).err());
        }
        text
    });
}

#[test]
fn messages_reach_paths() {
    agree(|| {
        let receiver = UnixDatagram::bind("sock").expect("bound");
        let sender = UnixDatagram::bind("d/from").expect("bound");
        let mut text = String::new();
        for name in ["sock", "ld/../sock", "none", "f", "d", "loop"] {
            let sent = sender.send_to(b"hello", name);
            let _ = writeln!(text, "{name} {:?}", sent.map_err(|error| error.raw_os_error()));
        }
        let mut room = [0; 16];
        let (length, from) = receiver.recv_from(&mut room).expect("received");
        let _ = writeln!(text, "{:?} {from:?}", &room[..length]);
        text
    });
}

#[test]
fn messages_without_a_form() {
    agree(|| {
        let (sender, _receiver) = UnixDatagram::pair().expect("a pair");
        let fd = usize::try_from(sender.as_raw_fd()).expect("open");
        let data = b"hello".as_ptr().expose_provenance();
        let mut text = String::new();
        let opened = std::fs::File::open("f").expect("open");
        let file = usize::try_from(opened.as_raw_fd()).expect("open");
        let headers = [
            (5, 0, 0),
            (usize::MAX, 0, 0),
            (usize::MAX / 2, 0, 0),
            (5, 0, 16),
            (5, 0, usize::MAX),
            (5, 8, 16),
            (5, data, 3),
        ];
        for (length, control, control_length) in headers {
            let piece = [data, length];
            let pieces = piece.as_ptr().expose_provenance();
            let header = [0, 0, pieces, 1, control, control_length, 0];
            let header = header.as_ptr().expose_provenance();
            for fd in [fd, file] {
                let sent = said(call(libc::SYS_sendmsg, &[fd, header, 0]));
                let _ = writeln!(text, "{length} {control_length} {sent}");
            }
        }
        text
    });
}

#[test]
fn addresses_without_a_file() {
    agree(|| {
        let mut text = String::new();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
        let port = tcp.local_addr().expect("an address").port();
        let connected = std::net::TcpStream::connect(("127.0.0.1", port));
        let _ = writeln!(text, "{}", connected.is_ok());
        let datagram = UnixDatagram::unbound().expect("a socket");
        let fd = usize::try_from(datagram.as_raw_fd()).expect("open");
        let family = [1_u8, 0, 0, 0];
        let at = family.as_ptr().expose_provenance();
        // One byte more would be an abstract name, which datagrams are not sent to.
        for length in [0, 1, 2, 500, usize::MAX] {
            let _ = writeln!(text, "{}", said(call(libc::SYS_connect, &[fd, at, length])));
        }
        let _ = writeln!(text, "{}", said(call(libc::SYS_bind, &[fd, at, 2])));
        let _ = writeln!(text, "{}", said(call(libc::SYS_bind, &[fd, 1, 20])));
        let _ = writeln!(text, "{}", said(call(libc::SYS_connect, &[999, at, 3])));
        let _ = writeln!(text, "{}", said(call(libc::SYS_connect, &[0, at, 3])));
        text
    });
}

#[test]
fn names_outside_are_refused() {
    let ground = Ground::new(&[("d", Capabilities::READ)]);
    let _listener = UnixListener::bind(ground.path("d/sock")).expect("bound");
    let _receiver = UnixDatagram::bind(ground.path("d/messages")).expect("bound");
    let (text, denials) = ground.trapped(|| {
        let here = std::env::current_dir().expect("here");
        let outcomes = [
            UnixStream::connect("d/sock").err(),
            UnixStream::connect(here.join("ld/sock")).err(),
            UnixDatagram::unbound().and_then(|socket| socket.send_to(b"x", "d/messages")).err(),
            UnixListener::bind("d/new").err(),
            UnixListener::bind(here.join("ld/new")).err(),
        ];
        let codes = outcomes.iter().flatten().map(std::io::Error::raw_os_error);
        format!("{:?}", codes.collect::<Vec<_>>())
    });
    assert_eq!(text, format!("{:?}", [Some(libc::EACCES); 5]), "{:?}", shown(&denials));
    assert_eq!(denials.len(), 5);
}
