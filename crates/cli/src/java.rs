//! A Java project: whether there is one, and the modules whose tests are looked into.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_app::causes::with_causes;
use unflake_engine::Interrupt;
use unflake_junit::{NonDex, Prepared, Project, ProjectError, Surroundings, Tracing};

use crate::exit::{self, Failure};
use crate::running::{COLLECT_MAX, cache, here};

/// The folder of what is made once.
const CACHE: &str = "java";

/// How long the build may take.
const BUILD_MAX: Duration = Duration::from_mins(30);

/// Files by which a build is known, and files by which Python is.
const BUILDS: [&str; 5] =
    ["pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
const OF_PYTHON: [&str; 5] = ["pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "setup.py"];

/// Whether a folder is a Java project and nothing else, and no Python was asked for.
pub(crate) fn is_meant(folder: &Path, python: Option<&OsStr>) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| folder.join(name).is_file());
    python.is_none() && has(&BUILDS) && !has(&OF_PYTHON)
}

/// For commands that are for Python alone: says so of a Java project, before anything is built.
pub(crate) fn refuse(what: &str, hint: &str, python: Option<&OsStr>) -> Result<(), Failure> {
    if !is_meant(&here()?, python) {
        return Ok(());
    }
    let message = format!("this is a Java project, and {what} of Python projects only so far");
    Err(Failure::input(message, hint))
}

/// A project that was built, and its modules with tests.
pub(crate) struct Built {
    pub(crate) project: Project,
    pub(crate) modules: Vec<Prepared>,
    /// Who makes open choices on purpose, if anybody does.
    pub(crate) nondex: Option<NonDex>,
}

/// What the build tool runs is not chosen by files.
pub(crate) fn refuse_paths(paths: &[OsString]) -> Result<(), Failure> {
    paths.first().map_or(Ok(()), |path| {
        let message = format!("`{}`: parts of a Java project cannot be named", path.display());
        Err(Failure::input(message, "run it in the folder of the module"))
    })
}

/// Where a project is looked for, and with what.
pub(crate) fn surroundings(
    folder: PathBuf,
    options: Vec<OsString>,
) -> Result<Surroundings, Failure> {
    Ok(Surroundings { folder, options, cache: cache(CACHE)?, build_time_max: BUILD_MAX })
}

/// Builds the project in a folder, and collects the tests of its modules. What cannot be built or
/// collected is said, and the rest goes on.
pub(crate) fn build(
    folder: PathBuf,
    options: Vec<OsString>,
    interrupt: &Interrupt,
) -> Result<Built, Failure> {
    let around = surroundings(folder, options)?;
    // What is not begun any more is not told as what could not be built.
    let interrupt = &interrupt.lasting();
    let stopped = || Failure::Stopped("stopped before the tests were collected".to_owned());
    let project = Project::find(&around, interrupt)
        .map_err(|error| if interrupt.is_raised() { stopped() } else { failure(&error) })?;
    let mut complaints: Vec<String> = project.notes.clone();
    for left_out in &project.left_out {
        complaints.push(format!("module `{}` is left out: {}", left_out.module, left_out.why));
    }
    let mut modules = Vec::new();
    for module in &project.modules {
        complaints.extend(module.notes.iter().map(|note| format!("{}: {note}", module.name)));
        match module.prepare(COLLECT_MAX, interrupt) {
            Ok(prepared) => modules.push(prepared),
            Err(error) => complaints.push(with_causes(&error)),
        }
    }
    let nondex = NonDex::find(&project, &around.cache, interrupt);
    if let Err(error) = &nondex {
        let why = with_causes(error);
        complaints.push(format!("implementation-dependent tests are not looked for: {why}"));
    }
    if interrupt.is_raised() {
        return Err(stopped());
    }
    for complaint in &complaints {
        exit::note(&format!("note: {}\n", unflake_report::visible(complaint)));
    }
    if modules.is_empty() {
        let message = "no tests were collected".to_owned();
        return Err(Failure::NotRun { message, hint: Some("see the notes above".to_owned()) });
    }
    Ok(Built { project, modules, nondex: nondex.ok() })
}

/// Who tells which functions the tests call.
pub(crate) fn tracing(project: &Project, interrupt: &Interrupt) -> Result<Tracing, Failure> {
    Tracing::find(project, &cache(CACHE)?, interrupt).map_err(|error| {
        let message = format!("functions cannot be traced: {}", with_causes(&error));
        Failure::NotRun { message, hint: None }
    })
}

/// A module whose processes start as quickly as they can.
pub(crate) fn with_archive(module: &Prepared, interrupt: &Interrupt) -> Result<Prepared, Failure> {
    module
        .with_archive(interrupt)
        .map_err(|error| Failure::NotRun { message: with_causes(&error), hint: None })
}

fn failure(error: &ProjectError) -> Failure {
    let mut message = with_causes(error);
    if let ProjectError::NoTests { left_out, log } = error {
        let named = left_out.iter();
        message.extend(named.map(|it| format!("\n  module `{}`: {}", it.module, it.why)));
        message.push_str(&exit::indented(log));
    }
    Failure::NotRun { message, hint: error.hint().map(str::to_owned) }
}
