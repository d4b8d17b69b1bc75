//! How do jars of others get here?
//!
//! Out of the repositories that the project itself uses, by way of the user's own build tool, as
//! Surefire's jars do. Maven is asked when one is needed; Gradle was asked for all of them with the
//! build ([`crate::gradle::ask`]), because asking it takes seconds.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_engine::Interrupt;
use unflake_engine::process::{Finished, FinishedWhy};

use crate::build_tool::BuildTool;
use crate::gradle::Gradle;
use crate::jars::Jar;
use crate::maven::Maven;

/// Who puts a jar into a folder.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";

/// A download of a small file.
const FETCH_TIME_MAX: Duration = Duration::from_mins(5);

/// Why a jar is not here.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It is not to be had.
    #[error("`{jar}` cannot be fetched with the build tool: {why}")]
    Absent {
        /// Its file.
        jar: String,
        /// What the build tool says.
        why: String,
    },
    /// The build tool could not be started.
    #[error("cannot run `{}`", .0.display())]
    Start(OsString, #[source] io::Error),
    /// It cannot be put where it is to be kept.
    #[error("cannot write to `{}`", .0.display())]
    Folder(PathBuf, #[source] io::Error),
}

/// Puts a jar into a folder.
pub(crate) fn fetch(
    jar: &Jar,
    tool: &BuildTool,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<(), FetchError> {
    match tool {
        BuildTool::Maven(maven) => copy(jar, maven, folder, interrupt),
        BuildTool::Gradle(gradle) => take(jar, gradle, folder),
    }
}

/// By Maven; offline first.
fn copy(jar: &Jar, maven: &Maven, folder: &Path, interrupt: &Interrupt) -> Result<(), FetchError> {
    let mut why = String::new();
    for offline in [true, false] {
        let mut into = OsString::from("-DoutputDirectory=");
        into.push(folder);
        let mut words: Vec<OsString> = vec!["--quiet".into()];
        // Once would do; but a part that was asked for is only found among all of them.
        words.extend((!is_part(&maven.options)).then(|| "--non-recursive".into()));
        words.extend(offline.then(|| "--offline".into()));
        words.extend([COPY.into(), into]);
        words.push(format!("-Dartifact={}", jar.coordinates()).into());
        let done = maven
            .call(words, FETCH_TIME_MAX, interrupt)
            .map_err(|error| FetchError::Start(maven.program.clone(), error))?;
        why = complaint(&done);
        if folder.join(jar.file()).is_file() {
            return Ok(());
        }
    }
    Err(FetchError::Absent { jar: jar.file(), why })
}

/// Out of those that Gradle has fetched.
fn take(jar: &Jar, gradle: &Gradle, folder: &Path) -> Result<(), FetchError> {
    let name = jar.file();
    let Some(file) = gradle.jars.iter().find(|file| file.ends_with(&name)) else {
        let why = "it is in none of the project's repositories".to_owned();
        return Err(FetchError::Absent { jar: name, why });
    };
    let fail = |error| FetchError::Folder(folder.to_owned(), error);
    fs::copy(file, folder.join(name)).map_err(fail)?;
    Ok(())
}

/// Whether Maven is always told which modules to build.
fn is_part(options: &[OsString]) -> bool {
    let words = ["-pl", "--projects", "-rf", "--resume-from"];
    options.iter().any(|option| words.iter().any(|word| option == word))
}

/// The first thing that a program says that is a complaint.
pub(crate) fn complaint(done: &Finished) -> String {
    match done.why {
        FinishedWhy::TimedOut => return "it took too long".to_owned(),
        FinishedWhy::Interrupted => return "interrupted".to_owned(),
        FinishedWhy::Exited => (),
    }
    let lines = || done.stdout.lines().chain(done.stderr.lines()).map(str::trim);
    let is_complaint = |line: &&str| line.contains("ERROR") || line.contains("xception");
    let first = lines().find(is_complaint).or_else(|| lines().find(|line| !line.is_empty()));
    let first = first.unwrap_or("it does not say why");
    // Its label comes in colours, also where there are none.
    first.rsplit("[ERROR] ").next().unwrap_or(first).to_owned()
}
