//! The agent: speaks to the engine for a runner that knows nothing of it.
//!
//! It is this program again, started with a hidden first word. To the engine it is an agent like
//! any other (`docs/design/agent-protocol.md`); to the runner it is whoever starts it.
//!
//! | module | question it answers |
//! |---|---|
//! | `serve` | which tests are there, and which runs are under way? |
//! | `live` | what is to be said about one run? |
//! | `plan` | what is the command given, and can it be asked for that? |
//! | `watch` | what happens in a cell? |
//! | `cell` | where does a command run, and how does it leave? |
//! | `isolate`, `loopback` | what may it not touch? |
//! | `follow` | which test is under way? |
//! | `pace` | how long may a run take? |
//! | `output` | what did it write? |
//! | `seam` | processes and time |

pub(crate) mod cell;
mod follow;
#[cfg(target_os = "linux")]
mod isolate;
pub(crate) mod live;
#[cfg(target_os = "linux")]
mod loopback;
mod output;
mod pace;
mod plan;
mod seam;
mod serve;
mod watch;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::settings::{Row, Settings};
use serve::Contact;

/// The first word by which this program becomes an agent.
pub const HIDDEN: &str = "agent-command";

const CELL: &str = "--cell";
const GUARD: &str = "--guard";
const ENTER: &str = "--enter";
pub(crate) const SHELTER: &str = "--shelter";

/// The status of an agent that was not started by an engine.
const NO_ENGINE: u8 = 97;
/// The status of an agent that cannot go on.
const BROKEN: u8 = 98;

/// Lives as an agent if that is what these arguments, without the name of the program, ask for; the
/// status to leave with.
///
/// ```text
/// agent-command SETTINGS SOCKET TOKEN [TEST ...]   serves runs to an engine
/// agent-command --cell REQUEST                     one run, apart from the rest of the world
/// agent-command --guard REQUEST APART              the same inside of a PID namespace
/// agent-command --enter PROGRAM [ARGUMENT ...]     becomes the command
/// agent-command --shelter REQUEST WORDS            a plain run
/// ```
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut arguments = arguments.into_iter();
    if arguments.next()? != HIDDEN {
        return None;
    }
    let Some(first) = arguments.next() else {
        complain("not called by the engine");
        return Some(NO_ENGINE);
    };
    let mut next = || arguments.next().unwrap_or_default();
    Some(match first.to_str() {
        Some(CELL) => cell::cell(Path::new(&next())),
        Some(GUARD) => cell::guard(Path::new(&next()), &next().to_string_lossy()),
        Some(SHELTER) => cell::shelter(Path::new(&next()), Path::new(&next())),
        Some(ENTER) => cell::enter(arguments),
        _ => agent(&first, arguments),
    })
}

fn agent(settings: &OsStr, mut arguments: impl Iterator<Item = OsString>) -> u8 {
    let (Some(socket), Some(token)) = (arguments.next(), arguments.next()) else {
        complain("not called by the engine");
        return NO_ENGINE;
    };
    let token = token.to_string_lossy().into_owned();
    let contact = Contact { socket: PathBuf::from(socket), token };
    let chosen: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    let settings = match read(Path::new(settings)) {
        Ok(settings) => settings,
        Err(why) => {
            complain(&why);
            return NO_ENGINE;
        }
    };
    match serve::serve(settings, &contact, &chosen) {
        Ok(()) => 0,
        Err(error) => {
            complain(&error.to_string());
            BROKEN
        }
    }
}

fn read(file: &Path) -> Result<Settings, String> {
    let text = fs::read(file).map_err(seam::with("cannot read the settings"))?;
    let row: Row = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    Settings::new(row).map_err(|error| error.to_string())
}

/// Standard error of an agent is read by the engine.
fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "unflake agent: {what}");
}
