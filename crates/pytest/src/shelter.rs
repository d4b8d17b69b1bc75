//! A command that sees its own view of the work tree.
//!
//! What it writes there is dropped, and files can be shown to it different from what they are: so a
//! change is tried without making it. Our part is over before the command begins.
//!
//! Processes for it can be started before it is known what they are to run, and pytest with them:
//! it waits for its arguments (`shelter.py` of the agent says how).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use unflake_adapter::ChangedFile;
use unflake_engine::process::{CommandLine, Finished, Waiting};
use unflake_engine::{Interrupt, PrivateFolder, private_folder};

/// Ends with this status where files cannot be shown different from what they are.
pub(crate) const NOT_COVERED: i32 = 125;

/// Until one is ready that waits to be told what to run, and one that has loaded pytest besides.
/// Started together, they would take from those who collect the tests the time that they are to
/// save.
const READY: [Duration; 2] = [Duration::from_millis(30), Duration::from_millis(150)];

/// How many load pytest ahead: what a processor can do while another one collects the tests of a
/// small suite. One at least of three tries starts with the very command that is shown.
const HELD_MAX: u32 = 2;

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    /// Where the work tree is.
    pub(crate) rootdir: &'a str,
    /// Files to be seen otherwise in it.
    pub(crate) changed: &'a [ChangedFile],
    /// The command.
    pub(crate) command: &'a CommandLine,
    /// Whether it may take its arguments from a file.
    pub(crate) is_read: bool,
    /// Where pytest writes its report.
    pub(crate) report: Option<&'a Path>,
}

/// Processes that will see their own view of the work tree, started before anybody knows what they
/// are to run: while the tests are collected, a processor is idle.
#[derive(Clone, Debug, Default)]
pub struct Shelters(Arc<Mutex<Vec<Spare>>>);

/// Why a command was not run.
#[derive(Debug)]
pub(crate) enum ShelterError {
    /// There is no file or folder to tell it what to run.
    Folder(io::Error),
    /// No process could be started.
    Start(io::Error),
}

/// One of them.
#[derive(Debug)]
struct Spare {
    process: Waiting,
    /// In which the pytest that it has started waits for arguments.
    _folder: Option<PrivateFolder>,
}

impl Shelters {
    fn spares(&self) -> MutexGuard<'_, Vec<Spare>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts as many by this line, one after the other, and does not wait for it; `ahead` is how
    /// the command begins that they will run, if that is known. One that does not start is
    /// started, with its error, when it is needed.
    pub(crate) fn start(&self, n: u32, line: CommandLine, ahead: Vec<OsString>) {
        let n_held = if ahead.is_empty() { 0 } else { HELD_MAX };
        let shelters = Arc::downgrade(&self.0);
        thread::spawn(move || {
            for number in 0..n {
                let is_held = number < n_held;
                let ahead = if is_held { ahead.as_slice() } else { &[] };
                let Ok(spare) = Spare::start(line.clone(), ahead) else { break };
                let Some(spares) = shelters.upgrade() else { break };
                Self(spares).spares().push(spare);
                thread::sleep(READY[usize::from(is_held)]);
            }
            // Processes end with the thread that started them.
            loop {
                thread::park();
            }
        });
    }

    /// Runs a command in a process that sees its own view of the work tree, which is started by
    /// `line` if none is ready; `folder` is private.
    pub(crate) fn run_to_end(
        &self,
        line: impl FnOnce() -> io::Result<CommandLine>,
        task: Task<'_>,
        folder: &Path,
        (time_max, interrupt): (Duration, &Interrupt),
    ) -> Result<Finished, ShelterError> {
        let told = tell(task, folder).map_err(ShelterError::Folder)?;
        let begin = || {
            let line = line().map_err(ShelterError::Folder)?;
            Spare::start(line, &[]).map_err(ShelterError::Start)
        };
        let spare = self.spares().pop();
        let Spare { process, _folder } = spare.map_or_else(begin, Ok)?;
        process
            .run_to_end(told.as_os_str().as_encoded_bytes(), time_max, interrupt)
            .map_err(ShelterError::Start)
    }
}

impl Spare {
    /// Starts one; with how the command begins that it will run, if that is known.
    fn start(mut line: CommandLine, ahead: &[OsString]) -> io::Result<Self> {
        let mut folder = None;
        if !ahead.is_empty() {
            let private = private_folder()?;
            line.arguments.push(scratch(private.path())?.into());
            line.arguments.extend_from_slice(ahead);
            folder = Some(private);
        }
        Ok(Self { process: Waiting::start(&line)?, _folder: folder })
    }
}

/// Makes a folder for it in a private one.
fn scratch(folder: &Path) -> io::Result<PathBuf> {
    let scratch = folder.join("shelter");
    fs::create_dir(&scratch)?;
    Ok(scratch)
}

/// Writes down what is to be run, and where.
fn tell(task: Task<'_>, folder: &Path) -> io::Result<PathBuf> {
    let command = task.command;
    let changed = list_changed(folder, task.changed)?;
    let source = if task.is_read { "@" } else { "-" };
    let n_env = OsString::from(command.env.len().to_string());
    let scratch = scratch(folder)?.into();
    let report = task.report.map_or_else(|| "-".into(), OsString::from);
    let mut words = vec![task.rootdir.into(), scratch, changed, source.into(), report, n_env];
    for (name, value) in &command.env {
        let is_set = if value.is_some() { "=" } else { "" };
        words.extend([name.clone(), is_set.into(), value.clone().unwrap_or_default()]);
    }
    words.push(command.program.clone());
    words.extend(command.arguments.iter().cloned());
    write_words(folder.join("told"), &words)
}

/// Writes words into a file, with zero bytes between.
fn write_words(path: PathBuf, words: &[OsString]) -> io::Result<PathBuf> {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_encoded_bytes()).collect();
    fs::write(&path, words.join(&0))?;
    Ok(path)
}

/// Writes down which files are to be seen how: the path of each and where its contents are, with
/// zero bytes between. Nothing is written for no files.
fn list_changed(folder: &Path, changed: &[ChangedFile]) -> io::Result<OsString> {
    if changed.is_empty() {
        return Ok("-".into());
    }
    let mut list = Vec::new();
    for (number, file) in changed.iter().enumerate() {
        let copy = folder.join(format!("changed-{number}"));
        fs::write(&copy, &file.contents)?;
        list.extend([file.path.clone().into(), copy.into()]);
    }
    write_words(folder.join("changed"), &list).map(OsString::from)
}
