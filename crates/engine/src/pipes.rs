//! How does an agent talk to us that cannot connect to a socket?
//!
//! Java before 16 knows no Unix sockets, but every Java can open a file, and an inherited pipe is
//! one: `/proc/self/fd/N`. So such an agent is started with three pipes, and given their numbers
//! instead of the path of the socket. Whatever comes out of a pipe goes into a connection to the
//! socket, as if the agent had made it; nothing else notices the difference.
//!
//! The end of either side is noticed: the agent's, because its ends of the pipes are closed with
//! it; ours, because the agent then reads an end of file.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;

/// The capacity of a pipe.
const BUFFER_BYTES: usize = 64 << 10;

/// The pipes of one agent.
#[derive(Debug)]
pub(crate) struct Pipes {
    to_server: (PipeReader, PipeWriter),
    from_server: (PipeReader, PipeWriter),
    from_run: (PipeReader, PipeWriter),
}

impl Pipes {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { to_server: io::pipe()?, from_server: io::pipe()?, from_run: io::pipe()? })
    }

    /// The ends the agent inherits.
    pub(crate) fn inherited(&self) -> [BorrowedFd<'_>; 3] {
        [self.to_server.0.as_fd(), self.from_server.1.as_fd(), self.from_run.1.as_fd()]
    }

    /// The address given to the agent: `fd:5,8,10`.
    pub(crate) fn address(&self) -> OsString {
        let [to_server, from_server, from_run] = self.inherited().map(|end| end.as_raw_fd());
        format!("fd:{to_server},{from_server},{from_run}").into()
    }

    /// Carries data until one side is gone. Our copies of the agent's ends are closed, since the
    /// agent has been started.
    pub(crate) fn carry(self, socket: &Path) -> io::Result<()> {
        let (server, run) = (socket.to_owned(), socket.to_owned());
        let (from_server, to_server, from_run) =
            (self.from_server.0, self.to_server.1, self.from_run.0);
        carrier("pipe of a server", move || carry(from_server, Some(to_server), server))?;
        carrier("pipe of a run", move || carry(from_run, None, run))
    }
}

fn carrier(name: &str, work: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    // A failure is visible already: as the end of the pipe, and of the connection.
    thread::Builder::new().name(name.to_owned()).spawn(move || drop(work())).map(drop)
}

/// Connects once there is data: a new connection has little time for its first message.
fn carry(mut from: PipeReader, to: Option<PipeWriter>, socket: PathBuf) -> io::Result<()> {
    let mut first = vec![0; BUFFER_BYTES];
    let n_read = from.read(&mut first)?;
    if n_read == 0 {
        return Ok(());
    }
    let stream = UnixStream::connect(socket)?;
    if let Some(to) = to {
        let answers = stream.try_clone()?;
        carrier("answers to a pipe", move || pump(answers, to))?;
    }
    (&stream).write_all(&first[..n_read])?;
    pump(from, &stream)?;
    stream.shutdown(Shutdown::Write)
}

/// Not `io::copy`, which would splice and wait for more than what has arrived.
fn pump(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let n_read = from.read(&mut buffer)?;
        if n_read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..n_read])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_is_said_goes_both_ways_and_so_does_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let pipes = Pipes::new().unwrap();
        let mut agent_in = pipes.to_server.0.try_clone().unwrap();
        let mut agent_out = pipes.from_server.1.try_clone().unwrap();
        pipes.carry(&socket).unwrap();
        agent_out.write_all(b"hello").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = [0; 5];
        stream.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"hello");
        stream.write_all(b"run").unwrap();
        let mut told = [0; 3];
        agent_in.read_exact(&mut told).unwrap();
        assert_eq!(&told, b"run");
        drop(agent_out);
        assert_eq!(stream.read(&mut heard).unwrap(), 0, "the agent is gone");
        drop(stream);
        assert_eq!(agent_in.read(&mut told).unwrap(), 0, "the engine is gone");
    }

    #[test]
    fn who_says_nothing_does_not_connect() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let pipes = Pipes::new().unwrap();
        let mut agent_in = pipes.to_server.0.try_clone().unwrap();
        pipes.carry(&socket).unwrap();
        assert_eq!(agent_in.read(&mut [0]).unwrap(), 0, "its end is the end of both");
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
