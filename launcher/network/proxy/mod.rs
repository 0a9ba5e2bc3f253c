//! The proxy of a run (`--net-proxy`). It sees which document is requested, so rules about paths hold for plain HTTP.
//! It listens on loopback and serves only the run's programs, one request per connection.

mod body;
mod head;

use std::ffi::OsString;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder};
use std::time::Duration;

use jp_confine_engine::net::Host;
use url::Url;

use self::head::{Fault, RequestHead, RequestTarget};
use super::clients::NetworkClient;

/// Variables that tell programs about a proxy.
const VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// Variables that name hosts without a proxy.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The stack size of a thread.
const STACK: usize = 256 * 1024;
/// The most connections served at the same time.
const MOST: usize = 256;
/// How long to wait for the head of a request, and for a server.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to leave a failing listener alone.
const PAUSE: Duration = Duration::from_millis(10);

/// The message for a host without an address.
const NOWHERE: &str = "the host has no address that it may have: names do not stand for this machine or its \
                       link, nor for what a rule denies; --resolve NAME=ADDRESS says what one stands for";

/// Judges requests, and receives reports of denied ones.
pub(crate) trait Gate: Send + Sync {
    /// The program that asks from an address, if it belongs to the run.
    fn asker(&self, from: SocketAddr) -> Option<NetworkClient>;
    /// Whether a document is allowed.
    fn opens(&self, url: &Url) -> bool;
    /// Whether a tunnel is allowed for any content. If not, why.
    fn tunnels(&self, host: &Host, port: u16) -> Result<(), &'static str>;
    /// The addresses of an allowed host's server.
    fn places(&self, host: &Host, port: u16) -> Vec<SocketAddr>;
    /// Reports that a target was denied.
    fn refused(&self, target: &str, asker: &NetworkClient);
}

/// The environment of programs that use the proxy at this address.
pub(crate) fn variables(proxy: SocketAddr) -> impl Iterator<Item = (&'static str, OsString)> {
    let proxies = VARIABLES.map(|name| (name, format!("http://{proxy}").into()));
    let exceptions = EXCEPTIONS.map(|name| (name, OsString::new()));
    proxies.into_iter().chain(exceptions)
}

/// Opens the socket of a proxy.
///
/// # Errors
/// Fails if that is impossible.
pub(crate) fn open() -> io::Result<Arc<TcpListener>> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map(Arc::new)
}

/// Starts serving on separate threads.
///
/// # Errors
/// Fails if no thread can be started.
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
                // The client may be gone. Then nobody needs an answer.
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
    let read = RequestHead::read(&mut client);
    // Not earlier: the asker is only known once its connection is established.
    let Some(asker) = gate.asker(from) else { return Ok(()) };
    let (head, rest) = match read {
        Ok(Some(read)) => read,
        Ok(None) => return Ok(()),
        Err(fault) => return refuse(&mut client, fault),
    };
    let outcome = match &head.target {
        RequestTarget::Tunnel(host, port) => admit(gate, host, *port, &asker),
        RequestTarget::Document(url) => admit_document(gate, url, &asker),
    };
    let mut server = match outcome {
        Ok(server) => server,
        Err(fault) => return refuse(&mut client, fault),
    };
    client.set_read_timeout(None)?;
    match &head.target {
        RequestTarget::Tunnel(..) => {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            server.write_all(&rest)?;
            exchange(&client, &server);
            Ok(())
        }
        RequestTarget::Document(url) => {
            server.write_all(&head.sent_on(url))?;
            fetch(&head, &rest, &client, &server)
        }
    }
}

fn admit(
    gate: &impl Gate,
    host: &Host,
    port: u16,
    asker: &NetworkClient,
) -> Result<TcpStream, Fault> {
    gate.tunnels(host, port).map_err(|why| {
        gate.refused(&format!("{host}:{port}"), asker);
        (403, why)
    })?;
    connect(&gate.places(host, port))
}

fn admit_document(gate: &impl Gate, url: &Url, asker: &NetworkClient) -> Result<TcpStream, Fault> {
    if !gate.opens(url) {
        gate.refused(url.as_str(), asker);
        return Err((403, "the policy does not allow this URL: no rule of access.net does"));
    }
    let host = url.host_str().and_then(jp_confine_engine::net::host);
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

/// Forwards the body, and returns the answer as it comes.
fn fetch(
    head: &RequestHead,
    rest: &[u8],
    client: &TcpStream,
    server: &TcpStream,
) -> io::Result<()> {
    thread::scope(|scope| {
        let answer = Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            pass(server, client);
            client.shutdown(Shutdown::Both)
        })?;
        let mut body = BufReader::new(rest.chain(client));
        if head.body.send_on(&mut body, &mut &*server).is_ok() {
            // Later bytes are discarded. The end of the input ends the wait for an answer.
            let _ = io::copy(&mut body, &mut io::sink());
        }
        let _ = server.shutdown(Shutdown::Both);
        let _ = answer.join();
        Ok(())
    })
}

/// Forwards both ways until both sides have finished.
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

/// Forwards one way, including the end.
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
    // Bytes still on their way would break the connection before the answer is read.
    io::copy(&mut client.take(1 << 20), &mut io::sink()).map(drop)
}

fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Builder::new().name("proxy".into()).stack_size(STACK).spawn(work).map(drop)
}
