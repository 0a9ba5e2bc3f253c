//! The proxy of a run (`--net-proxy`): it sees what is asked for, and so rules about paths hold for plain
//! HTTP. It stands on loopback, and serves programs of the run only, one request for each connection.

mod body;
mod head;

use std::ffi::OsString;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder};
use std::time::Duration;

use jp_confine_policy::net::Host;
use url::Url;

use self::head::{Fault, Head, Target};
use super::clients::Asker;

/// By which programs are told of a proxy.
const VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// By which they are told of hosts that need none.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The stack of a thread.
const STACK: usize = 256 * 1024;
/// So many connections are served at the same time.
const MOST: usize = 256;
/// For how long the head of a request, and a server, is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long nothing is done about a listener that fails.
const PAUSE: Duration = Duration::from_millis(10);

/// What is said of a host that is nowhere.
const NOWHERE: &str = "the host has no address that it may have: names do not stand for this machine or its \
                       link, nor for what a rule denies; --resolve NAME=ADDRESS says what one stands for";

/// Who says what may be had, and hears of what is refused.
pub(crate) trait Gate: Send + Sync {
    /// Who asks from an address, if that is a program of the run.
    fn asker(&self, from: SocketAddr) -> Option<Asker>;
    /// Whether a document may be had.
    fn opens(&self, url: &Url) -> bool;
    /// Whether a connection may be had, whatever goes through it; if not, why not.
    fn tunnels(&self, host: &Host, port: u16) -> Result<(), &'static str>;
    /// Where the server of a host is that may be connected to for some reason.
    fn places(&self, host: &Host, port: u16) -> Vec<SocketAddr>;
    /// Something was refused.
    fn refused(&self, target: &str, asker: &Asker);
}

/// The environment of programs that are to use the proxy at an address.
pub(crate) fn variables(proxy: SocketAddr) -> impl Iterator<Item = (&'static str, OsString)> {
    let proxies = VARIABLES.map(|name| (name, format!("http://{proxy}").into()));
    let exceptions = EXCEPTIONS.map(|name| (name, OsString::new()));
    proxies.into_iter().chain(exceptions)
}

/// The socket of a proxy.
///
/// # Errors
/// Where there can be none.
pub(crate) fn open() -> io::Result<Arc<TcpListener>> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map(Arc::new)
}

/// Serves from now on, on threads of its own.
///
/// # Errors
/// Where there can be none.
pub(crate) fn serve(listener: Arc<TcpListener>, gate: Arc<impl Gate + 'static>) -> io::Result<()> {
    let busy = Arc::new(AtomicUsize::new(0));
    start(move || {
        loop {
            let Ok((client, from)) = listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            if busy.fetch_add(1, Ordering::Relaxed) >= MOST {
                busy.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (gate, counter) = (Arc::clone(&gate), Arc::clone(&busy));
            let started = start(move || {
                // Whoever is gone needs no answer.
                let _ = attend(client, from, &*gate);
                counter.fetch_sub(1, Ordering::Relaxed);
            });
            if started.is_err() {
                busy.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })
}

/// Serves one request.
fn attend(mut client: TcpStream, from: SocketAddr, gate: &impl Gate) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let read = Head::read(&mut client);
    // Not before: a program is expected when it is told that it is connected.
    let Some(asker) = gate.asker(from) else { return Ok(()) };
    let (head, rest) = match read {
        Ok(Some(read)) => read,
        Ok(None) => return Ok(()),
        Err(fault) => return refuse(&mut client, fault),
    };
    let outcome = match &head.target {
        Target::Tunnel(host, port) => admit(gate, host, *port, &asker),
        Target::Document(url) => admit_document(gate, url, &asker),
    };
    let mut server = match outcome {
        Ok(server) => server,
        Err(fault) => return refuse(&mut client, fault),
    };
    client.set_read_timeout(None)?;
    match &head.target {
        Target::Tunnel(..) => {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            server.write_all(&rest)?;
            exchange(&client, &server);
            Ok(())
        }
        Target::Document(url) => {
            server.write_all(&head.sent_on(url))?;
            fetch(&head, &rest, &client, &server)
        }
    }
}

fn admit(gate: &impl Gate, host: &Host, port: u16, asker: &Asker) -> Result<TcpStream, Fault> {
    gate.tunnels(host, port).map_err(|why| {
        gate.refused(&format!("{host}:{port}"), asker);
        (403, why)
    })?;
    connect(&gate.places(host, port))
}

fn admit_document(gate: &impl Gate, url: &Url, asker: &Asker) -> Result<TcpStream, Fault> {
    if !gate.opens(url) {
        gate.refused(url.as_str(), asker);
        return Err((403, "the policy does not allow this URL: no rule of access.net does"));
    }
    let host = url.host_str().and_then(jp_confine_policy::net::host);
    let port = url.port_or_known_default();
    let (host, port) = host.zip(port).ok_or((400, "a URL without a host"))?;
    connect(&gate.places(&host, port))
}

fn connect(places: &[SocketAddr]) -> Result<TcpStream, Fault> {
    if places.is_empty() {
        return Err((502, NOWHERE));
    }
    let connected =
        places.iter().find_map(|place| TcpStream::connect_timeout(place, PATIENCE).ok());
    connected.ok_or((502, "the server cannot be reached"))
}

/// Sends the body on, and the answer back as it comes.
fn fetch(head: &Head, rest: &[u8], client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    thread::scope(|scope| {
        let answer = Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            pass(server, client);
            client.shutdown(Shutdown::Both)
        })?;
        let mut body = BufReader::new(rest.chain(client));
        if head.body.send_on(&mut body, &mut &*server).is_ok() {
            // What comes behind is for nobody; that nothing comes any more ends the waiting for an answer.
            let _ = io::copy(&mut body, &mut io::sink());
        }
        let _ = server.shutdown(Shutdown::Both);
        let _ = answer.join();
        Ok(())
    })
}

/// Passes on what either side says until both have said all.
fn exchange(client: &TcpStream, server: &TcpStream) {
    thread::scope(|scope| {
        let back = || pass(server, client);
        // Without a thread for the way back the connection ends.
        if let Ok(answers) = Builder::new().stack_size(STACK).spawn_scoped(scope, back) {
            pass(client, server);
            let _ = answers.join();
        }
    });
}

/// Passes on what one side says, and then that it has said all.
fn pass(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

fn refuse(client: &mut TcpStream, (status, why): Fault) -> io::Result<()> {
    let reason = match status {
        403 => "Forbidden",
        502 => "Bad Gateway",
        _ => "Refused",
    };
    let text = format!("jp-confine: {why}\n");
    let length = text.len();
    let head = format!("HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain\r\n");
    let tail = format!("content-length: {length}\r\nconnection: close\r\n\r\n{text}");
    client.write_all(format!("{head}{tail}").as_bytes())?;
    client.shutdown(Shutdown::Write)?;
    // What is still on its way would break the connection before the answer is read.
    io::copy(&mut client.take(1 << 20), &mut io::sink()).map(drop)
}

fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Builder::new().name("proxy".into()).stack_size(STACK).spawn(work).map(drop)
}
