//! How is Gradle called?
//!
//! By the project's own wrapper if that works, else by the one on `PATH`; always without a daemon,
//! which would outlive us, and without the configuration cache, which keeps a build from being
//! asked. What is said about a build is in files of our own ([`asking`]), because what Gradle
//! prints is for people.

mod asking;
mod modules;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_engine::Interrupt;
use unflake_engine::process::{Finished, FinishedWhy};

pub(crate) use asking::ask;
pub(crate) use modules::module;

use crate::build_program;
use crate::surroundings::Surroundings;

/// The wrapper that most projects bring along.
const WRAPPER: &str = "gradlew";
/// The files by which Gradle's projects are known.
const FILES: [&str; 4] =
    ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
/// A wrapper may have to be downloaded first.
const VERSION_TIME_MAX: Duration = Duration::from_mins(5);

/// Gradle, for one project.
#[derive(Clone, Debug)]
pub struct Gradle {
    /// The project's wrapper, or the one on `PATH`.
    pub program: OsString,
    /// Where it is called: the topmost folder of the project.
    pub folder: PathBuf,
    /// What it is always given, such as `-Pfast`; no tasks.
    pub options: Vec<OsString>,
    /// Jars that we may need, out of the project's repositories.
    pub(crate) jars: Vec<PathBuf>,
    /// Where what is made once is kept.
    pub(crate) cache: PathBuf,
}

/// Whether Gradle builds what is in a folder.
pub(crate) fn is_project(folder: &Path) -> bool {
    FILES.iter().any(|name| folder.join(name).is_file())
}

impl Gradle {
    /// That of the project in this folder, and what is to be said about it.
    pub(crate) fn of(
        folder: &Path,
        around: &Surroundings,
        interrupt: &Interrupt,
    ) -> io::Result<(Self, Option<String>)> {
        let with = |program: OsString| Self {
            program,
            folder: folder.to_owned(),
            options: around.options.clone(),
            jars: Vec::new(),
            cache: around.cache.clone(),
        };
        let Some(wrapper) = build_program::wrapper(folder, WRAPPER) else {
            return Ok((with("gradle".into()), None));
        };
        let gradle = with(wrapper.into());
        let said = gradle.run(vec!["--version".into()], VERSION_TIME_MAX, interrupt)?;
        if said.why == FinishedWhy::Interrupted || said.exit.code == Some(0) {
            return Ok((gradle, None));
        }
        let lines = said.stderr.lines().chain(said.stdout.lines()).map(str::trim);
        let why = lines.into_iter().find(|line| !line.is_empty()).unwrap_or("it does not say why");
        let note = format!("`./{WRAPPER}` does not work, `gradle` is used instead: {why}");
        Ok((with("gradle".into()), Some(note)))
    }

    /// Calls it for a build, without a terminal.
    pub(crate) fn call(
        &self,
        words: Vec<OsString>,
        time_max: Duration,
        interrupt: &Interrupt,
    ) -> io::Result<Finished> {
        let ours = [
            "--no-daemon",
            "--console=plain",
            "-Dorg.gradle.configureondemand=false",
            "-Dorg.gradle.configuration-cache=false",
            "-Dorg.gradle.unsafe.configuration-cache=false",
        ];
        let mut arguments: Vec<OsString> = ours.map(OsString::from).into();
        arguments.extend(self.options.iter().cloned());
        arguments.extend(words);
        self.run(arguments, time_max, interrupt)
    }

    fn run(
        &self,
        arguments: Vec<OsString>,
        time_max: Duration,
        interrupt: &Interrupt,
    ) -> io::Result<Finished> {
        build_program::call(&self.program, &self.folder, arguments, time_max, interrupt)
    }

    /// As it would be typed in its folder.
    pub(crate) fn typed(&self) -> Vec<String> {
        build_program::typed(&self.program, [WRAPPER, "gradle"], &self.options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A wrapper that were written just now might be busy: a process that another test starts
    /// inherits the file for a moment.
    fn gradle(wrapper: Option<&str>) -> (Vec<String>, Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        if let Some(program) = wrapper {
            symlink(program, folder.path().join(WRAPPER)).unwrap();
        }
        let around = Surroundings {
            folder: folder.path().to_owned(),
            options: vec!["-Pfast".into()],
            cache: folder.path().to_owned(),
            build_time_max: VERSION_TIME_MAX,
        };
        let (gradle, note) = Gradle::of(folder.path(), &around, &Interrupt::default()).unwrap();
        (gradle.typed(), note)
    }

    #[test]
    fn the_projects_own_wrapper_goes_first_if_it_works() {
        assert_eq!(gradle(None), (vec!["gradle".to_owned(), "-Pfast".to_owned()], None));
        let works = gradle(Some("/bin/true"));
        assert_eq!(works, (vec!["./gradlew".to_owned(), "-Pfast".to_owned()], None));
        let (typed, note) = gradle(Some("/bin/false"));
        assert_eq!(typed[0], "gradle");
        let expected = "`./gradlew` does not work, `gradle` is used instead: ";
        assert!(note.as_deref().is_some_and(|note| note.starts_with(expected)), "{note:?}");
    }
}
