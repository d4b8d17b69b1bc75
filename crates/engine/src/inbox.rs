//! Everything that reaches the engine, in one queue.
//!
//! One thread accepts connections, one reads each of them, one waits for each process; all of them
//! put letters into one bounded queue that only the engine reads. When the queue is full they wait,
//! and so, eventually, does the agent: that is the back pressure.
//!
//! A connection that does not begin with a token we gave out is dropped, and never gets more memory
//! than a first message.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::mem;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use unflake_wire::frame::{self, FrameError};
use unflake_wire::{FromAgent, Hello, Role};

use crate::clock::Clock;

/// How many letters may be queued.
const LETTERS_MAX: usize = 32;
/// How many messages fit into one letter: a sender that never pauses must have to wait, too.
const MESSAGES_MAX: usize = 8;
/// The time limit for the first message of a new connection.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an agent may leave our message unread before it counts as stuck.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of an agent, and of a connection: none is used twice.
pub(crate) type AgentId = u64;
pub(crate) type ConnectionId = u64;

/// One thing that arrived, and when.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) at: Duration,
    pub(crate) note: Note,
}

/// One thing that arrived.
#[derive(Debug)]
pub(crate) enum Note {
    /// An agent, or a run of it, has connected.
    Connected { connection: ConnectionId, agent: AgentId, hello: Hello, stream: Arc<UnixStream> },
    /// Messages from a connection, as many as came at once.
    Said { connection: ConnectionId, messages: Vec<FromAgent> },
    /// A connection is closed, or sent something that makes no sense.
    Closed { connection: ConnectionId, error: Option<FrameError> },
    /// The process of an agent is gone and can be reaped.
    Exited { agent: AgentId },
    /// Wake up: there is news elsewhere.
    Woken,
}

type Tokens = Arc<Mutex<BTreeMap<String, AgentId>>>;

/// The queue, and the socket through which letters arrive.
#[derive(Debug)]
pub(crate) struct Inbox {
    letters: Receiver<Letter>,
    slot: Slot,
    tokens: Tokens,
    socket: PathBuf,
    is_closed: Arc<AtomicBool>,
}

/// The sending end of the queue.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    clock: Clock,
    letters: SyncSender<Letter>,
}

impl Slot {
    /// Queues a letter, waiting for room. `false` if nobody will ever read it.
    pub(crate) fn put(&self, note: Note) -> bool {
        self.letters.send(Letter { at: self.clock.now(), note }).is_ok()
    }

    /// Wakes the reader. A full queue does that anyway.
    pub(crate) fn wake(&self) {
        let _ = self.letters.try_send(Letter { at: self.clock.now(), note: Note::Woken });
    }
}

/// Lets another thread make [`crate::Engine::next_event`] return.
#[derive(Clone, Debug)]
pub struct Waker(Slot);

impl Waker {
    /// Makes it return, now or at its next call, with whatever there is to report.
    pub fn wake(&self) {
        self.0.wake();
    }
}

impl Inbox {
    pub(crate) fn open(socket: &Path, clock: Clock) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let (sender, letters) = mpsc::sync_channel(LETTERS_MAX);
        let slot = Slot { clock, letters: sender };
        let tokens = Tokens::default();
        let is_closed = Arc::new(AtomicBool::new(false));
        let (acceptor_slot, acceptor_tokens) = (slot.clone(), Arc::clone(&tokens));
        let acceptor_closed = Arc::clone(&is_closed);
        thread::Builder::new()
            .name("accept".to_owned())
            .spawn(move || accept(&listener, &acceptor_slot, &acceptor_tokens, &acceptor_closed))?;
        Ok(Self { letters, slot, tokens, socket: socket.to_owned(), is_closed })
    }

    pub(crate) fn slot(&self) -> Slot {
        self.slot.clone()
    }

    pub(crate) fn waker(&self) -> Waker {
        Waker(self.slot())
    }

    /// Accepts connections with this token as this agent.
    pub(crate) fn admit(&self, token: String, agent: AgentId) {
        lock(&self.tokens).insert(token, agent);
    }

    /// Stops accepting connections as this agent.
    pub(crate) fn dismiss(&self, agent: AgentId) {
        lock(&self.tokens).retain(|_, known| *known != agent);
    }

    /// The next letter, waiting at most this long.
    pub(crate) fn next(&self, wait_max: Duration) -> Option<Letter> {
        self.letters.recv_timeout(wait_max).ok()
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections, so that it notices the end.
        let _ = UnixStream::connect(&self.socket);
    }
}

fn lock(tokens: &Tokens) -> MutexGuard<'_, BTreeMap<String, AgentId>> {
    tokens.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &UnixListener, slot: &Slot, tokens: &Tokens, is_closed: &AtomicBool) {
    for (connection, stream) in (0..).zip(listener.incoming()) {
        if is_closed.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let (slot, tokens) = (slot.clone(), Arc::clone(tokens));
        // If no thread can be started, the connection is dropped, and its sender exceeds a time
        // limit.
        let _ = thread::Builder::new()
            .name(format!("read {connection}"))
            .spawn(move || receive(connection, stream, &slot, &tokens));
    }
}

/// Reads one connection to its end.
fn receive(connection: ConnectionId, stream: UnixStream, slot: &Slot, tokens: &Tokens) {
    let stream = Arc::new(stream);
    let Some((hello, agent)) = greet(&stream, tokens) else { return };
    let limit = match hello.role {
        Role::Server => frame::SERVER_BYTES_MAX,
        Role::Run => frame::RUN_BYTES_MAX,
    };
    // A run sends many short messages at once.
    let mut reader = BufReader::new(&*stream);
    let known = Note::Connected { connection, agent, hello, stream: Arc::clone(&stream) };
    if !slot.put(known) {
        return;
    }
    let mut messages = Vec::new();
    let error = loop {
        match frame::read::<FromAgent>(&mut reader, limit) {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
        // All messages that came at once go into one letter: otherwise the engine wakes up for each
        // of them, and both threads keep alternating.
        let is_full = reader.buffer().is_empty() || messages.len() == MESSAGES_MAX;
        if is_full && !slot.put(Note::Said { connection, messages: mem::take(&mut messages) }) {
            return;
        }
    };
    let _ = stream.shutdown(Shutdown::Both);
    if !messages.is_empty() {
        slot.put(Note::Said { connection, messages });
    }
    slot.put(Note::Closed { connection, error });
}

/// Reads the first message; `None` if it is not from an agent we know.
fn greet(stream: &UnixStream, tokens: &Tokens) -> Option<(Hello, AgentId)> {
    stream.set_write_timeout(Some(WRITE_TIMEOUT)).ok()?;
    stream.set_read_timeout(Some(HELLO_TIMEOUT)).ok()?;
    let mut reader = stream;
    let first = frame::read::<FromAgent>(&mut reader, frame::HELLO_BYTES_MAX).ok()??;
    stream.set_read_timeout(None).ok()?;
    let FromAgent::Hello(hello) = first else { return None };
    let agent = *lock(tokens).get(&hello.token)?;
    Some((hello, agent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    const AMPLE: Duration = Duration::from_mins(1);

    fn inbox(folder: &tempfile::TempDir) -> (Inbox, PathBuf) {
        let socket = folder.path().join("socket");
        let inbox = Inbox::open(&socket, Clock::start()).unwrap();
        inbox.admit("secret".to_owned(), 3);
        (inbox, socket)
    }

    fn hello(token: &str) -> FromAgent {
        FromAgent::Hello(Hello {
            version: 1,
            role: Role::Run,
            run: Some(5),
            token: token.to_owned(),
            pid: 1,
            runtime: None,
            runner: None,
        })
    }

    #[test]
    fn who_shows_a_token_is_heard_until_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let (inbox, socket) = inbox(&folder);
        let mut stream = UnixStream::connect(socket).unwrap();
        frame::write(&mut stream, &hello("secret")).unwrap();
        frame::write(&mut stream, &FromAgent::Done { in_part: false, chosen: None }).unwrap();
        drop(stream);
        let notes: Vec<Note> = (0..3).map(|_| inbox.next(AMPLE).unwrap().note).collect();
        assert!(
            matches!(&notes[0], Note::Connected { agent: 3, hello, .. } if hello.run == Some(5))
        );
        let Note::Said { messages, .. } = &notes[1] else { panic!("{notes:?}") };
        assert!(matches!(messages[..], [FromAgent::Done { .. }]));
        assert!(matches!(&notes[2], Note::Closed { error: None, .. }));
    }

    #[test]
    fn who_does_not_is_dropped_without_a_letter() {
        let folder = tempfile::tempdir().unwrap();
        let (inbox, socket) = inbox(&folder);
        inbox.admit("old".to_owned(), 4);
        inbox.dismiss(4);
        let mut noise = UnixStream::connect(&socket).unwrap();
        noise.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut streams = vec![noise];
        for first in
            [hello("guess"), hello("old"), FromAgent::Done { in_part: false, chosen: None }]
        {
            let mut stream = UnixStream::connect(&socket).unwrap();
            frame::write(&mut stream, &first).unwrap();
            streams.push(stream);
        }
        for mut stream in streams {
            // The other end closes, whether or not it has read what we sent.
            let end = stream.read(&mut [0; 1]);
            assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
        }
        assert!(inbox.next(Duration::ZERO).is_none());
    }

    #[test]
    fn words_that_make_no_sense_end_the_connection_and_are_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let (inbox, socket) = inbox(&folder);
        let mut stream = UnixStream::connect(socket).unwrap();
        frame::write(&mut stream, &hello("secret")).unwrap();
        let mut at_once = Vec::new();
        frame::write(&mut at_once, &FromAgent::Done { in_part: false, chosen: None }).unwrap();
        at_once.extend(b"\x00\x00\x00\x04oops");
        stream.write_all(&at_once).unwrap();
        let _hello = inbox.next(AMPLE).unwrap();
        let before = inbox.next(AMPLE).unwrap().note;
        assert!(matches!(before, Note::Said { messages, .. } if messages.len() == 1));
        let Note::Closed { error: Some(error), .. } = inbox.next(AMPLE).unwrap().note else {
            panic!("a malformed message must close the connection");
        };
        assert_eq!(error.to_string(), "`oops` is not a message of this protocol");
    }
}
