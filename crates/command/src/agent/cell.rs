//! Where a run happens: processes of ours around the command, apart from the rest of the world.
//!
//! | process | what it does |
//! |---|---|
//! | cell | leads the group that the engine signals; sets itself apart; is or starts the guard |
//! | guard | runs the commands, says how each left; process 1 of its PID namespace if it has one |
//! | shelter | cell and guard in one, for a plain run, with a file instead of a server |
//! | enter | becomes the command, without a PID namespace: it must end when the guard does |
//!
//! Each is this program again, because a thread cannot fork safely and unsafe code is forbidden. A
//! cell has the channel to its server as standard input; the command has nothing there. Standard
//! output and error are the server's from the cell down to the command.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde::{Deserialize, Serialize};
use unflake_wire::{Level, Refused};

use super::seam::{adopt_orphans, command, die_with_parent, end_descendants};
use super::{ENTER, GUARD, HIDDEN};

/// The status of a cell that could not do its work; what was wrong was said.
const BROKEN: u8 = 70;
/// The status of what could not become the command, as shells have it.
const NOT_STARTED: i32 = 127;

/// What a cell is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) levels: Vec<Level>,
    /// A private folder.
    pub(crate) scratch: PathBuf,
    /// What to run first; nothing if this is empty.
    pub(crate) reset: Vec<String>,
    /// What to run, one after the other.
    pub(crate) commands: Vec<Vec<String>>,
    /// Where the report lands, seen from here, and where to bring it.
    pub(crate) report: Option<(PathBuf, PathBuf)>,
    /// The file into which commands write instead of standard output, if any.
    pub(crate) stdout: Option<PathBuf>,
}

/// What a cell says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// How far it could be set apart.
    Isolated { applied: Vec<Level>, refused: Vec<Refused> },
    /// It cannot have its own processes, which is known too late: it must be begun again without.
    NoPid { why: String },
    /// It cannot do what it is to do.
    Fault { what: String },
    /// What was to be run first did not succeed.
    NotReset { code: Option<i32>, signal: Option<i32> },
    /// A command begins.
    Began { number: usize },
    /// It is gone. The next one begins when the server says so.
    Left { number: usize, code: Option<i32>, signal: Option<i32> },
}

/// How the guard knows what the cell has done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Apart {
    applied: Vec<Level>,
    refused: Vec<Refused>,
    as_user: bool,
}

/// One more of us, in this mode.
pub(crate) fn own(mode: &str) -> Command {
    let mut own = command("/proc/self/exe");
    own.arg(HIDDEN).arg(mode);
    own
}

/// To whom a guard speaks.
enum Channel {
    /// A server, which says when to go on.
    Server(BufReader<UnixStream>),
    /// Whoever reads the file afterwards.
    File(fs::File),
}

impl Channel {
    fn of_stdin() -> io::Result<Self> {
        let own = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self::Server(BufReader::new(UnixStream::from(own))))
    }

    fn say(&mut self, word: &Word) -> io::Result<()> {
        let mut line = serde_json::to_vec(word)?;
        line.push(b'\n');
        match self {
            Self::Server(stream) => stream.get_mut().write_all(&line),
            Self::File(file) => file.write_all(&line),
        }
    }

    /// Waits until more is wanted; an error if the server is gone.
    fn await_go(&mut self) -> io::Result<()> {
        let Self::Server(stream) = self else { return Ok(()) };
        match stream.read_line(&mut String::new())? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// The life of a cell.
pub(crate) fn cell(file: &Path) -> u8 {
    die_with_parent();
    try_cell(file).unwrap_or_else(|error| {
        complain(&error);
        BROKEN
    })
}

/// Says to the server what is wrong; if that is that it is gone, nobody hears it.
fn complain(error: &io::Error) {
    let what = format!("no place can be set apart for a run: {error}");
    let _ = Channel::of_stdin().and_then(|mut channel| channel.say(&Word::Fault { what }));
}

fn try_cell(file: &Path) -> io::Result<u8> {
    let request = read(file)?;
    let apart = set_apart(&request)?;
    if !apart.applied.contains(&Level::Pid) {
        adopt_orphans();
        stand(&mut Channel::of_stdin()?, &request, &apart, false)?;
        end_descendants(&|_| false);
        return Ok(0);
    }
    let told = serde_json::to_string(&apart)?;
    let mut guard = own(GUARD);
    guard.arg(file).arg(told);
    // Standard input is the channel, which the guard now has.
    let status = guard.spawn()?.wait()?;
    Ok(if status.success() { 0 } else { BROKEN })
}

/// The life of one that does without a server: it sets itself apart as far as that goes, runs the
/// commands, and writes down how they left. Nothing of ours is in the process of a command.
pub(crate) fn shelter(file: &Path, words: &Path) -> u8 {
    die_with_parent();
    let stand = || {
        let request = read(file)?;
        let apart = set_apart(&request)?;
        adopt_orphans();
        stand(&mut Channel::File(fs::File::create(words)?), &request, &apart, false)?;
        end_descendants(&|_| false);
        io::Result::Ok(())
    };
    if stand().is_ok() { 0 } else { BROKEN }
}

fn read(file: &Path) -> io::Result<Request> {
    Ok(serde_json::from_slice(&fs::read(file)?)?)
}

#[cfg(target_os = "linux")]
fn set_apart(request: &Request) -> io::Result<Apart> {
    use super::isolate;
    let ground = isolate::Ground::here(&request.scratch)?;
    let isolated = isolate::isolate(&request.levels, &ground);
    if isolated.as_user {
        // The kernel forgets it when a user namespace changes what the process may do.
        die_with_parent();
    }
    let isolate::Isolated { applied, refused, as_user } = isolated;
    Ok(Apart { applied, refused, as_user })
}

#[cfg(not(target_os = "linux"))]
fn set_apart(request: &Request) -> io::Result<Apart> {
    let why = "this system has no namespaces".to_owned();
    let refused = |level: &Level| Refused { level: *level, why: why.clone() };
    Ok(Apart { refused: request.levels.iter().map(refused).collect(), ..Apart::default() })
}

/// The life of a guard that is process 1.
pub(crate) fn guard(file: &Path, told: &str) -> u8 {
    die_with_parent();
    let stand = || {
        let apart: Apart = serde_json::from_str(told)?;
        stand(&mut Channel::of_stdin()?, &read(file)?, &apart, true)
    };
    // All that is left here ends with this process.
    stand().map_or_else(
        |error: io::Error| {
            complain(&error);
            BROKEN
        },
        |()| 0,
    )
}

/// Makes the place ready and runs the commands.
fn stand(
    channel: &mut Channel,
    request: &Request,
    apart: &Apart,
    is_first: bool,
) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        if is_first && let Err(error) = super::isolate::own_proc() {
            return channel.say(&Word::NoPid { why: format!("/proc: {error}") });
        }
        if apart.as_user {
            super::isolate::give_up_rights()?;
        }
    }
    let (applied, refused) = (apart.applied.clone(), apart.refused.clone());
    channel.say(&Word::Isolated { applied, refused })?;
    if !request.reset.is_empty() {
        match run(&request.reset, None, is_first) {
            Ok(status) if status.success() => (),
            Ok(status) => {
                let (code, signal) = (status.code(), status.signal());
                return channel.say(&Word::NotReset { code, signal });
            }
            Err(error) => return channel.say(&Word::Fault { what: fault(&request.reset, &error) }),
        }
    }
    for (number, words) in request.commands.iter().enumerate() {
        if 0 < number {
            channel.await_go()?;
        }
        channel.say(&Word::Began { number })?;
        let stale = request.report.as_ref().and_then(|(from, _)| mark(from));
        let status = match run(words, request.stdout.as_deref(), is_first) {
            Ok(status) => status,
            Err(error) => return channel.say(&Word::Fault { what: fault(words, &error) }),
        };
        if let Some((from, to)) = &request.report
            && mark(from) != stale
        {
            // One that cannot be read is one that is not there.
            let _ = fs::copy(from, to);
        }
        channel.say(&Word::Left { number, code: status.code(), signal: status.signal() })?;
    }
    Ok(())
}

/// By which a file that was written again is told from the one that was there.
fn mark(file: &Path) -> Option<(u64, u64, i64, i64)> {
    let found = fs::metadata(file).ok()?;
    Some((found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}

fn fault(words: &[String], error: &io::Error) -> String {
    let program = words.first().map_or("", String::as_str);
    let hint = match error.kind() {
        io::ErrorKind::ArgumentListTooLong => "; name the tests in a file, with `{list}` in `run`",
        _ => "",
    };
    format!("cannot run `{program}`: {error}{hint}")
}

/// Runs a command to its end. As process 1 we take all others along; else the command must see to
/// it that it ends with us.
fn run(words: &[String], stdout: Option<&Path>, is_first: bool) -> io::Result<ExitStatus> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut line = if is_first {
        let mut line = command(program);
        line.process_group(0);
        line
    } else {
        find(program)?;
        let mut line = own(ENTER);
        line.arg(program);
        line
    };
    line.args(arguments).stdin(Stdio::null());
    if let Some(file) = stdout {
        line.stdout(fs::File::create(file)?);
    }
    line.spawn()?.wait()
}

/// Whether there is such a program: it is started by one of us who has no good way to say.
fn find(program: &str) -> io::Result<()> {
    if program.contains('/') {
        return fs::metadata(program).map(drop);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if is_there { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Becomes the command.
pub(crate) fn enter(mut words: impl Iterator<Item = std::ffi::OsString>) -> u8 {
    die_with_parent();
    // Fails if it leads a group already, which will do.
    let _ = rustix::process::setsid();
    let Some(program) = words.next() else { return BROKEN };
    let error = command(&program).args(words).exec();
    let _ = writeln!(io::stderr(), "cannot run `{}`: {error}", program.display());
    u8::try_from(NOT_STARTED).unwrap_or(BROKEN)
}
