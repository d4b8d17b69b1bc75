//! A command that sees its own view of the work tree.
//!
//! What it writes there is dropped, and files can be shown to it otherwise than they are: so a
//! change is tried without making it. Our part is over before the command begins.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use unflake_engine::Interrupt;
use unflake_engine::process::{CommandLine, Finished, Waiting};

use crate::plain::PlainError;
use crate::project::Project;
use crate::settled;

/// Ends with this status where files cannot be shown otherwise than they are.
pub(crate) const NOT_COVERED: i32 = 125;

/// From one start to the next: about as long as one takes to be ready. Started together, they would
/// take from those who collect the tests the time that they are to save.
const APART: Duration = Duration::from_millis(30);

/// A file as it is to be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its path.
    pub path: PathBuf,
    /// What is seen in it.
    pub contents: Vec<u8>,
}

/// A work tree, and files to be seen otherwise in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) rootdir: &'a str,
    pub(crate) changed: &'a [Changed],
}

/// Processes that will see their own view of the work tree, started before anybody knows what they
/// are to run: while the tests are collected, a processor is idle.
#[derive(Clone, Debug, Default)]
pub struct Shelters(Arc<Mutex<Vec<Waiting>>>);

impl Shelters {
    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts as many, one after the other, and does not wait for it. One that does not start is
    /// started, with its error, when it is needed.
    pub fn start(&self, n: u32, project: &Project) {
        // Elsewhere the agent lives no longer than one run.
        let Some(entry) = settled::kept_entry(project.kept.as_deref()) else { return };
        let (line, shelters) = (line(project, &entry), self.clone());
        thread::spawn(move || {
            for _ in 0..n {
                let Ok(started) = Waiting::start(&line) else { break };
                shelters.waiting().push(started);
                thread::sleep(APART);
            }
            // Processes end with the thread that started them.
            loop {
                thread::park();
            }
        });
    }
}

/// Runs a command in a process that sees its own view of the work tree; `folder` is private.
pub(crate) fn run_to_end(
    project: &Project,
    tree: Tree<'_>,
    folder: &Path,
    command: &CommandLine,
    patience: (Duration, &Interrupt),
) -> Result<Finished, PlainError> {
    let told = tell(tree, folder, command).map_err(PlainError::Folder)?;
    let fail = |source| PlainError::Start { program: project.interpreter.program.clone(), source };
    let begin = || {
        let entry = settled::entry(project.kept.as_deref(), folder).map_err(PlainError::Folder)?;
        Waiting::start(&line(project, &entry)).map_err(fail)
    };
    let spare = project.shelters.waiting().pop();
    let (time_max, interrupt) = patience;
    let told = told.as_os_str().as_encoded_bytes();
    spare.map_or_else(begin, Ok)?.run_to_end(told, time_max, interrupt).map_err(fail)
}

/// How one is started.
fn line(project: &Project, entry: &Path) -> CommandLine {
    // What is installed there is for the command, not for us.
    let arguments = vec!["-I".into(), "-S".into(), entry.into(), "shelter".into()];
    let current_dir = project.current_dir.clone();
    let program = project.interpreter.program.clone();
    CommandLine { program, arguments, current_dir, env: Vec::new() }
}

/// Writes down what is to be run, and where.
fn tell(tree: Tree<'_>, folder: &Path, command: &CommandLine) -> io::Result<PathBuf> {
    let scratch = folder.join("shelter");
    fs::create_dir(&scratch)?;
    let changed = list_changed(folder, tree.changed)?;
    let n_env = OsString::from(command.env.len().to_string());
    let mut words = vec![tree.rootdir.into(), scratch.into(), changed, n_env];
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
fn list_changed(folder: &Path, changed: &[Changed]) -> io::Result<OsString> {
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
