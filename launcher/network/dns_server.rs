//! The name server of a run. It only knows the names that rules allow. So no other name leads anywhere, and no query
//! about one leaves the machine. It listens on loopback. The supervisor connects the run's programs to it instead of
//! any other name server, and it answers only them.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::Duration;

use super::clients::NetworkClient;
use super::dns_query::{Finding, Query};
use crate::record::denial::Reason;

/// The port of name servers.
pub(crate) const PORT: u16 = 53;

/// The stack size of a thread.
const STACK: usize = 256 * 1024;
/// How many queries are answered at the same time. Further ones are dropped, and clients retry.
const MOST: usize = 64;
/// A longer datagram is no query.
const LONGEST: usize = 4096;
/// How long to wait on a connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to leave a failing socket alone.
const PAUSE: Duration = Duration::from_millis(10);
/// How many queried names are remembered, and how many denied ones.
const REMEMBERED: usize = 1024;

/// Resolves names, and receives reports of denied ones.
pub(crate) trait Book: Send + Sync {
    /// The program that asks from an address, if it belongs to the run.
    fn asker(&self, from: SocketAddr) -> Option<NetworkClient>;
    /// The result for a name.
    fn look_up(&self, name: &str) -> Finding;
    /// Whether the name may be queried.
    fn admits(&self, name: &str) -> bool;
    /// Reports that a query about a name was denied.
    fn refused(&self, name: &[u8], reason: Reason, asker: &NetworkClient);
}

/// The sockets of a name server.
#[derive(Debug)]
pub(crate) struct Responder {
    datagrams: Vec<Arc<UdpSocket>>,
    streams: Vec<Arc<TcpListener>>,
    /// Names that were queried.
    asked: Mutex<HashSet<Vec<u8>>>,
    /// The record type that a process queried first, for each name.
    kinds: Mutex<HashMap<(u32, Vec<u8>), u16>>,
    busy: AtomicUsize,
}

impl Responder {
    /// Opens sockets on loopback, with IPv6 if available.
    ///
    /// # Errors
    /// Fails if that is impossible.
    pub(crate) fn open() -> io::Result<Self> {
        let [four, six]: [SocketAddr; 2] =
            [(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()];
        let datagrams = [UdpSocket::bind(four)?].into_iter().chain(UdpSocket::bind(six));
        let streams = [TcpListener::bind(four)?].into_iter().chain(TcpListener::bind(six));
        Ok(Self {
            datagrams: datagrams.map(Arc::new).collect(),
            streams: streams.map(Arc::new).collect(),
            asked: Mutex::default(),
            kinds: Mutex::default(),
            busy: AtomicUsize::new(0),
        })
    }

    /// The address to connect to instead of a name server at `server`.
    pub(crate) fn instead_of(&self, server: SocketAddr, is_datagram: bool) -> Option<SocketAddr> {
        let datagrams = self.datagrams.iter().filter_map(|socket| socket.local_addr().ok());
        let streams = self.streams.iter().filter_map(|socket| socket.local_addr().ok());
        let mut places: Box<dyn Iterator<Item = SocketAddr>> =
            if is_datagram { Box::new(datagrams) } else { Box::new(streams) };
        places.find(|place| place.is_ipv4() == server.is_ipv4())
    }

    /// Whether an address is one of its own.
    pub(crate) fn is_at(&self, place: SocketAddr) -> bool {
        let datagrams = self.datagrams.iter().map(|socket| socket.local_addr());
        let streams = self.streams.iter().map(|socket| socket.local_addr());
        datagrams.chain(streams).flatten().any(|own| own == place)
    }

    /// Starts answering on separate threads.
    ///
    /// # Errors
    /// Fails if no thread can be started.
    pub(crate) fn serve(self: &Arc<Self>, book: &Arc<impl Book + 'static>) -> io::Result<()> {
        for socket in &self.datagrams {
            let (responder, book, socket) =
                (Arc::clone(self), Arc::clone(book), Arc::clone(socket));
            start("names", move || responder.hear(&socket, &book))?;
        }
        for listener in &self.streams {
            let (responder, book) = (Arc::clone(self), Arc::clone(book));
            let listener = Arc::clone(listener);
            start("names", move || responder.accept(&listener, &book))?;
        }
        Ok(())
    }

    fn hear(self: &Arc<Self>, socket: &Arc<UdpSocket>, book: &Arc<impl Book + 'static>) {
        let mut bytes = [0; LONGEST];
        loop {
            let Ok((length, from)) = socket.recv_from(&mut bytes) else {
                thread::sleep(PAUSE);
                continue;
            };
            let Some(asker) = book.asker(from) else { continue };
            let question = bytes.get(..length).unwrap_or_default().to_vec();
            let (book, socket) = (Arc::clone(book), Arc::clone(socket));
            self.attend(move |responder| {
                if let Some(answer) = responder.answer(&question, &asker, &*book) {
                    let _ = socket.send_to(&answer, from);
                }
            });
        }
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener, book: &Arc<impl Book + 'static>) {
        loop {
            let Ok((stream, from)) = listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            let book = Arc::clone(book);
            self.attend(move |responder| {
                let _ = responder.converse(stream, from, &*book);
            });
        }
    }

    /// Runs the work on a thread, unless too many are busy.
    fn attend(self: &Arc<Self>, work: impl FnOnce(&Self) + Send + 'static) {
        if self.busy.fetch_add(1, Ordering::Relaxed) >= MOST {
            self.busy.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let responder = Arc::clone(self);
        let started = start("name", move || {
            work(&responder);
            responder.busy.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            self.busy.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Queries on a stream, each preceded by its length.
    fn converse(
        &self,
        mut stream: TcpStream,
        from: SocketAddr,
        book: &impl Book,
    ) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        loop {
            let mut length = [0; 2];
            stream.read_exact(&mut length)?;
            let mut question = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut question)?;
            // Not earlier: the asker is only known once its connection is established.
            let Some(asker) = book.asker(from) else { return Ok(()) };
            let Some(answer) = self.answer(&question, &asker, book) else { return Ok(()) };
            let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
            stream.write_all(&[&length.to_be_bytes(), &answer[..]].concat())?;
        }
    }

    fn answer(&self, question: &[u8], asker: &NetworkClient, book: &impl Book) -> Option<Vec<u8>> {
        let query = Query::parse(question)?;
        let shown = query.shown();
        let is_first = self.remember(&shown);
        let (finding, reason) = match query.name().filter(|name| book.admits(name)) {
            Some(name) if query.wants_addresses() => {
                let finding = book.look_up(&name);
                let reason = (finding == Finding::Near).then_some(Reason::Near);
                (finding, reason)
            }
            Some(_) => (Finding::Addresses(Vec::new()), None),
            None => (Finding::Unknown, Some(Reason::Resolve)),
        };
        if let Some(reason) = reason
            && is_first
            && self.begins(asker, &shown, query.kind())
        {
            book.refused(&shown, reason, asker);
        }
        query.answer(&finding)
    }

    /// Remembers a name. Returns whether it was asked as such: a resolver that finds nothing appends its search
    /// domains.
    fn remember(&self, name: &[u8]) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let dots = name.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
        let is_appended =
            dots.into_iter().any(|at| asked.contains(name.get(..at).unwrap_or_default()));
        if asked.len() < REMEMBERED && !is_appended {
            asked.insert(name.to_owned());
        }
        !is_appended
    }

    /// Whether a query is the first of a lookup. A resolver asks for each kind of address.
    fn begins(&self, asker: &NetworkClient, name: &[u8], kind: u16) -> bool {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (asker.pid, name.to_owned());
        if kinds.len() >= REMEMBERED && !kinds.contains_key(&key) {
            return true;
        }
        *kinds.entry(key).or_insert(kind) == kind
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Builder::new().name(name.into()).stack_size(STACK).spawn(work).map(drop)
}
