//! A command that sees its own view of the work tree.
//!
//! What it writes there is dropped, and files can be shown to it otherwise than they are: so a
//! change is tried without making it. Our part is over before the command begins.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unflake_engine::process::CommandLine;

use crate::project::Project;
use crate::settled;

/// Ends with this status where files cannot be shown otherwise than they are.
pub(crate) const NOT_COVERED: i32 = 125;

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

/// The same command, in a process that sees its own view of the work tree; `folder` is private.
pub(crate) fn sheltered(
    project: &Project,
    tree: Tree<'_>,
    folder: &Path,
    line: CommandLine,
) -> io::Result<CommandLine> {
    let entry = settled::entry(project.kept.as_deref(), folder)?;
    let scratch = folder.join("shelter");
    fs::create_dir(&scratch)?;
    let list = list_changed(folder, tree.changed)?;
    // What is installed there is for the command, not for us.
    let mut arguments: Vec<OsString> = vec!["-I".into(), "-S".into()];
    arguments.extend([entry.into(), "shelter".into()]);
    arguments.extend([tree.rootdir.into(), scratch.into(), list]);
    arguments.extend(["--".into(), line.program]);
    arguments.extend(line.arguments);
    Ok(CommandLine { program: project.interpreter.program.clone(), arguments, ..line })
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
        list.extend([file.path.clone(), copy]);
    }
    let path = folder.join("changed");
    let names: Vec<&[u8]> = list.iter().map(|path| path.as_os_str().as_encoded_bytes()).collect();
    fs::write(&path, names.join(&0))?;
    Ok(path.into())
}
