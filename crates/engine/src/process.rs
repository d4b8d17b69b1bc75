//! Processes: started in their own group, read, ended with everything they started, and reaped.
//!
//! This is the only place in the workspace that starts processes. A process leads its own group, so
//! that a signal reaches what it forked and a Ctrl-C at the terminal does not reach it (processes
//! that have left the group are ended by [`crate::strays`]); its output is read to the end and only
//! the last bytes are kept, so that it can neither block nor fill memory.
//!
//! A thread waits for a process without reaping it (`WNOWAIT`), and its owner reaps it. So its
//! number still belongs to it whenever we send a signal, and we never hit a stranger.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::clock::Clock;
use crate::interrupt::Interrupt;
use crate::signals::signal_group;
use crate::strays::{self, Register};
use crate::tail::Tail;

/// How long to wait for the output of a process that is gone. Its last words are in the pipe
/// already; a stray process that holds the pipe open must not delay us.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A command to be started.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// The program: a path, or a name to be found on `PATH`.
    pub program: OsString,
    /// The arguments of the program.
    pub arguments: Vec<OsString>,
    /// The working directory.
    pub current_dir: PathBuf,
    /// Changes to our own environment: a value to set, or `None` to remove.
    pub env: Vec<(OsString, Option<OsString>)>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit status, if it exited by itself.
    pub code: Option<i32>,
    /// The signal that killed it, if one did.
    pub signal: Option<i32>,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Self { code: status.code(), signal: status.signal() }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.signal, self.code) {
            (Some(signal), _) => match name_of(signal) {
                Some(name) => write!(f, "killed by signal {signal} ({name})"),
                None => write!(f, "killed by signal {signal}"),
            },
            (None, Some(code)) => write!(f, "exit status {code}"),
            (None, None) => f.write_str("an unknown status"),
        }
    }
}

fn name_of(signal: i32) -> Option<&'static str> {
    let known = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::TERM, "SIGTERM"),
    ];
    known.into_iter().find(|(known, _)| known.as_raw() == signal).map(|(_, name)| name)
}

/// A process, the group it leads, and the end of its output.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pid: Pid,
    exit: Option<Exit>,
    /// The mark by which its stray processes are told from those of others.
    mark: Option<OsString>,
    stdout: Arc<Mutex<Tail>>,
    stderr: Arc<Mutex<Tail>>,
    /// Disconnected once both streams are closed.
    written: mpsc::Receiver<()>,
}

impl Process {
    /// Starts a process with these open files in addition to the standard streams. `on_exit` is
    /// called on another thread when the process is gone and can be reaped.
    #[expect(clippy::disallowed_methods, reason = "the workspace's one seam to processes")]
    pub(crate) fn spawn(
        line: &CommandLine,
        stdin: Stdio,
        inherited: &[BorrowedFd<'_>],
        on_exit: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let mut command = Command::new(&line.program);
        command.args(&line.arguments).current_dir(&line.current_dir).process_group(0);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in &line.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut child = spawn_with(&mut command, inherited)?;
        let pid = Pid::from_child(&child);
        let (open, written) = mpsc::channel();
        let stdout = drain(child.stdout.take(), open.clone());
        let stderr = drain(child.stderr.take(), open);
        thread::spawn(move || {
            wait_without_reaping(pid);
            on_exit();
        });
        let mark = strays::mark(&line.env);
        Ok(Self { child, pid, exit: None, mark, stdout, stderr, written })
    }

    /// Signals the process and everything that stayed in its group.
    pub(crate) fn signal(&self, signal: Signal) {
        if self.exit.is_none() {
            signal_group(self.pid, signal);
        }
    }

    /// Waits until it is gone, ends what it left behind, and releases its number.
    pub(crate) fn reap(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        wait_without_reaping(self.pid);
        self.signal(Signal::KILL);
        let unknown = Exit { code: None, signal: None };
        let exit = self.child.wait().map_or(unknown, Exit::from);
        Register::hold().remove(self.pid, self.mark.as_deref());
        *self.exit.insert(exit)
    }

    /// The end of its standard error, as far as it was read.
    pub(crate) fn stderr(&self) -> MutexGuard<'_, Tail> {
        lock(&self.stderr)
    }

    /// The end of all its output; if it is gone, waits a moment for the rest.
    pub(crate) fn last_words(&self) -> (String, String) {
        self.last_words_since(0)
    }

    /// The same, without the standard error before a mark.
    pub(crate) fn last_words_since(&self, mark: u64) -> (String, String) {
        if self.exit.is_some() {
            let closed = self.written.recv_timeout(LAST_WORDS);
            debug_assert!(closed.is_err(), "nothing is ever sent");
        }
        (lock(&self.stdout).since(0), lock(&self.stderr).since(mark))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.reap();
    }
}

fn spawn_with(command: &mut Command, inherited: &[BorrowedFd<'_>]) -> io::Result<Child> {
    // Held so that no other child inherits what this one should inherit.
    let mut register = Register::hold();
    for file in inherited {
        fcntl_setfd(file, FdFlags::empty())?;
    }
    let child = command.spawn();
    if let Ok(child) = &child {
        register.add(Pid::from_child(child));
    }
    for file in inherited {
        fcntl_setfd(file, FdFlags::CLOEXEC)?;
    }
    child
}

fn lock(tail: &Mutex<Tail>) -> MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a stream to its end on a separate thread.
fn drain(stream: Option<impl Read + Send + 'static>, open: mpsc::Sender<()>) -> Arc<Mutex<Tail>> {
    let tail = Arc::new(Mutex::new(Tail::default()));
    if let Some(mut stream) = stream {
        let kept = Arc::clone(&tail);
        thread::spawn(move || {
            let mut buffer = [0; 8 << 10];
            while let Ok(n @ 1..) = stream.read(&mut buffer) {
                lock(&kept).push(&buffer[..n]);
            }
            drop(open);
        });
    }
    tail
}

fn wait_without_reaping(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let wait = || rustix::process::waitid(WaitId::Pid(pid), options);
    while wait().is_err_and(|error| error == rustix::io::Errno::INTR) {}
}

/// How a command that was run to its end finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What ended it.
    pub why: FinishedWhy,
    /// How its process ended.
    pub exit: Exit,
    /// The end of its standard output.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
    /// How long it took.
    pub duration: Duration,
}

/// What ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishedWhy {
    /// It exited by itself.
    Exited,
    /// It was stopped, because it took too long.
    TimedOut,
    /// It was stopped, because we were asked to stop.
    Interrupted,
}

/// Runs a command to its end, or to its time limit; nothing of it is left.
pub fn run_to_end(
    line: &CommandLine,
    time_max: Duration,
    interrupt: &Interrupt,
) -> io::Result<Finished> {
    // An interrupt raised during the start is meant for it.
    let interrupt = interrupt.since_now();
    Ok(Begun::new(line, Stdio::null())?.finish(time_max, &interrupt))
}

/// A command that is started before it is known what it will have to do, which it reads from its
/// standard input. Nothing of it is left if it is dropped.
#[derive(Debug)]
pub struct Waiting(Begun);

impl Waiting {
    /// Starts the command, which then waits for its input.
    pub fn start(line: &CommandLine) -> io::Result<Self> {
        Begun::new(line, Stdio::piped()).map(Self)
    }

    /// Writes its input, and runs it to its end as [`run_to_end`] does. The input must fit into a
    /// pipe, because nobody may be reading it.
    pub fn run_to_end(
        mut self,
        told: &[u8],
        time_max: Duration,
        interrupt: &Interrupt,
    ) -> io::Result<Finished> {
        let interrupt = interrupt.since_now();
        if let Some(mut stdin) = self.0.process.child.stdin.take() {
            stdin.write_all(told)?;
        }
        Ok(self.0.finish(time_max, &interrupt))
    }
}

/// A command that is running.
#[derive(Debug)]
struct Begun {
    process: Process,
    news: mpsc::Receiver<Wake>,
    waker: mpsc::SyncSender<Wake>,
}

impl Begun {
    fn new(line: &CommandLine, stdin: Stdio) -> io::Result<Self> {
        let (waker, news) = mpsc::sync_channel::<Wake>(4);
        let sender = waker.clone();
        let process = Process::spawn(line, stdin, &[], move || drop(sender.send(Wake::Gone)))?;
        Ok(Self { process, news, waker })
    }

    fn finish(mut self, time_max: Duration, interrupt: &Interrupt) -> Finished {
        let clock = Clock::start();
        let waker = self.waker.clone();
        let mut watch = interrupt.watch(move || drop(waker.try_send(Wake::Interrupted)));
        let why = loop {
            if watch.take() {
                break FinishedWhy::Interrupted;
            }
            match self.news.recv_timeout(time_max.saturating_sub(clock.now())) {
                Ok(Wake::Gone) => break FinishedWhy::Exited,
                Ok(Wake::Interrupted) => (),
                // For part of that time we were not awake.
                Err(RecvTimeoutError::Timeout) if clock.now() < time_max => (),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    break FinishedWhy::TimedOut;
                }
            }
        };
        if why != FinishedWhy::Exited {
            self.process.signal(Signal::TERM);
            while let Ok(Wake::Interrupted) = self.news.recv_timeout(crate::launch::GRACE) {}
            self.process.signal(Signal::KILL);
        }
        let exit = self.process.reap();
        let (stdout, stderr) = self.process.last_words();
        Finished { why, exit, stdout, stderr, duration: clock.now() }
    }
}

#[derive(Debug)]
enum Wake {
    Gone,
    Interrupted,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> CommandLine {
        CommandLine {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            current_dir: "/".into(),
            env: vec![("GIVEN".into(), Some("a b".into())), ("HOME".into(), None)],
        }
    }

    fn run(script: &str, time_max: Duration) -> Finished {
        run_to_end(&sh(script), time_max, &Interrupt::default()).unwrap()
    }

    const AMPLE: Duration = Duration::from_mins(1);

    #[test]
    fn status_output_and_environment_are_as_the_command_left_them() {
        let finished = run("echo \"$GIVEN ${HOME-none}\"; echo err >&2; exit 3", AMPLE);
        assert_eq!(finished.why, FinishedWhy::Exited);
        assert_eq!(finished.exit, Exit { code: Some(3), signal: None });
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("a b none\n", "err\n"));
        let finished = run("kill -SEGV $$", AMPLE);
        assert_eq!(finished.exit.to_string(), "killed by signal 11 (SIGSEGV)");
    }

    #[test]
    fn a_flood_neither_blocks_nor_fills_memory() {
        let finished = run("head -c 5000000 /dev/zero; echo end", AMPLE);
        assert_eq!(finished.why, FinishedWhy::Exited);
        assert!(finished.stdout.ends_with("end\n"));
        assert!(finished.stdout.len() < 100_000);
    }

    #[test]
    fn one_that_hangs_and_ignores_termination_is_ended_with_its_children() {
        // The pipe closes only once the sleeping child is gone too.
        let finished =
            run("trap '' TERM; sleep 1000 & wait; sleep 1000", Duration::from_millis(50));
        assert_eq!(finished.why, FinishedWhy::TimedOut);
        assert_eq!(finished.exit.signal, Some(Signal::KILL.as_raw()));
    }

    /// A named pipe: opening one end waits for the other, and reading ends with the last writer.
    fn fifo(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("fifo");
        assert_eq!(run(&format!("mkfifo '{}'", path.display()), AMPLE).exit.code, Some(0));
        path
    }

    #[test]
    fn a_stray_child_does_not_outlive_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = fifo(&folder);
        // We open it first, so that nobody else waits when opening it.
        let both = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
        let mut reader = std::fs::File::open(&fifo).unwrap();
        // The command ends once the stray is there: it waits for a word from it.
        let script = "exec 9<>\"$0\"; (echo here >&9; exec sleep 1000) & read word <&9; exit 0";
        let mut line = sh(script);
        line.arguments.push(fifo.into());
        let finished = run_to_end(&line, AMPLE, &Interrupt::default()).unwrap();
        assert_eq!(finished.exit.code, Some(0), "{}", finished.stderr);
        drop(both);
        // This ends when the last writer is gone: at once, or with the stray in a thousand seconds.
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn an_interrupt_ends_the_command_and_one_from_before_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = fifo(&folder);
        let interrupt = Interrupt::default();
        interrupt.raise();
        let finished = run_to_end(&sh("exit 0"), AMPLE, &interrupt).unwrap();
        assert_eq!(finished.why, FinishedWhy::Exited);
        let script = format!("echo > '{}'; exec sleep 1000", fifo.display());
        let raiser = interrupt.clone();
        let thread = thread::spawn(move || {
            std::fs::read_to_string(fifo).unwrap();
            raiser.raise();
        });
        let finished = run_to_end(&sh(&script), AMPLE, &interrupt).unwrap();
        assert_eq!(finished.why, FinishedWhy::Interrupted);
        assert_eq!(finished.exit.signal, Some(Signal::TERM.as_raw()));
        thread.join().unwrap();
    }

    #[test]
    fn one_that_waits_does_what_it_is_told_and_sees_the_end_of_it() {
        let waiting =
            Waiting::start(&sh("read word; echo \"$word\"; read word || exit 4")).unwrap();
        let finished = waiting.run_to_end(b"go\n", AMPLE, &Interrupt::default()).unwrap();
        assert_eq!((finished.stdout.as_str(), finished.exit.code), ("go\n", Some(4)));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let mut line = sh("");
        line.program = "/no/such/program".into();
        let error = run_to_end(&line, AMPLE, &Interrupt::default()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
