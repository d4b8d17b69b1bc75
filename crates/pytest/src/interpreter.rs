//! Which Python runs the tests of this project?
//!
//! The one that was named; else the virtual environment that is active; else the one that lies in
//! the project; else `python3`. What was named and is not there is an error, not a reason to take
//! another: results from the wrong environment are worse than none. The environment that `uvx`
//! makes for us alone stands first on `PATH` and is not the project's.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_adapter::folders_of_project;
use unflake_engine::Interrupt;
use unflake_engine::process::{CommandLine, Finished, run_to_end};

/// Where the search begins. All of it comes in from outside.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// What the user named with `--python`.
    pub python: Option<OsString>,
    /// The variable `VIRTUAL_ENV`.
    pub virtual_env: Option<OsString>,
    /// The variable `PATH`.
    pub path: Option<OsString>,
    /// The working directory.
    pub current_dir: PathBuf,
    /// The program that asks.
    pub own_program: Option<PathBuf>,
}

/// The interpreter of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The program: a path, or a name to be found on `PATH`.
    pub program: OsString,
    /// Why this one.
    pub source: InterpreterSource,
    /// The `pytest` that lies beside it.
    pub(crate) script: Option<Script>,
}

/// The program `pytest` of an interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// Where it lies.
    pub(crate) program: PathBuf,
    /// How it is typed in the working directory.
    pub(crate) typed: PathBuf,
}

/// Why an interpreter was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterpreterSource {
    /// The user named it.
    Named,
    /// It belongs to the active virtual environment.
    VirtualEnv {
        /// The environment.
        folder: PathBuf,
    },
    /// It belongs to a virtual environment that lies in the project.
    Found {
        /// The environment.
        folder: PathBuf,
    },
    /// There was nothing else.
    Path,
}

impl fmt::Display for InterpreterSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named => f.write_str("as named"),
            Self::VirtualEnv { folder } => write!(f, "from VIRTUAL_ENV, `{}`", folder.display()),
            Self::Found { folder } => {
                write!(f, "from the environment found in `{}`", folder.display())
            }
            Self::Path => f.write_str("from PATH, no virtual environment was found"),
        }
    }
}

/// Why there is no interpreter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoInterpreter {
    /// What was named does not exist.
    #[error("`{}` is not an interpreter: {why}", .program.display())]
    Named {
        /// What was named.
        program: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The active environment has no interpreter.
    #[error("VIRTUAL_ENV names `{}`, which has no bin/python", .folder.display())]
    VirtualEnv {
        /// The environment.
        folder: PathBuf,
    },
    /// There is none on `PATH`.
    #[error("there is no `python3` on PATH")]
    Path,
}

impl NoInterpreter {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Named { .. } => {
                "give the path of a python or of a virtual environment, by --python or in \
                 unflake.toml"
            }
            Self::VirtualEnv { .. } => "activate another environment, or name one with --python",
            Self::Path => "install Python 3.8 or later, or name an interpreter with --python",
        }
    }
}

/// The option that names an interpreter.
pub(crate) const PYTHON: &str = "python";

/// What to do about an interpreter that does not serve.
pub(crate) const ANOTHER: &str = "name another Python with --python";

/// The oldest Python that our agent runs in.
const OLDEST: (u32, u32) = (3, 8);

/// How long an interpreter may take to say its version.
const VERSION_MAX: Duration = Duration::from_mins(1);

/// Names under which projects keep their environment.
const FOLDERS: [&str; 2] = [".venv", "venv"];

impl Interpreter {
    /// Finds the interpreter.
    pub fn find(around: &Surroundings) -> Result<Self, NoInterpreter> {
        if let Some(named) = &around.python {
            return named_by_user(named, around);
        }
        if let Some(folder) = around.virtual_env.as_ref().filter(|folder| !folder.is_empty()) {
            let folder = PathBuf::from(folder);
            let program =
                python_of(&folder).ok_or(NoInterpreter::VirtualEnv { folder: folder.clone() })?;
            let script = beside(&program, None);
            let source = InterpreterSource::VirtualEnv { folder };
            return Ok(Self { program: program.into(), source, script });
        }
        if let Some((folder, program)) = in_project(&around.current_dir) {
            let script = beside(&program, Some(&around.current_dir));
            let source = InterpreterSource::Found { folder };
            return Ok(Self { program: program.into(), source, script });
        }
        let mut folders = on_path("python3", around).peekable();
        let is_made_for_us = folders.next_if(|folder| made_for_us(folder, around)).is_some();
        let folder = folders.next().ok_or(NoInterpreter::Path)?;
        let python = folder.join("python3");
        let script = beside(&python, None);
        // By its name another would be found.
        let program = if is_made_for_us { python.into() } else { "python3".into() };
        Ok(Self { program, source: InterpreterSource::Path, script })
    }

    /// Which Python it is: `3.11.7`; else why it does not say.
    pub fn version(&self, current_dir: &Path, interrupt: &Interrupt) -> Result<String, String> {
        let script = "import platform; print(platform.python_version())";
        let line = CommandLine {
            program: self.program.clone(),
            arguments: vec!["-c".into(), script.into()],
            current_dir: current_dir.to_owned(),
            env: Vec::new(),
        };
        let said = |finished: Finished| match finished.exit.code {
            Some(0) if !finished.stdout.trim().is_empty() => Ok(finished.stdout.trim().to_owned()),
            _ => Err(format!("it does not say its version: {}", finished.exit)),
        };
        run_to_end(&line, VERSION_MAX, interrupt).map_err(|error| error.to_string()).and_then(said)
    }

    /// What is wrong with a version that our agent does not run in; nothing if it does.
    pub fn too_old(version: &str) -> Option<String> {
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
        let found = (numbers.next()??, numbers.next()??);
        let (major, minor) = OLDEST;
        (found < OLDEST)
            .then(|| format!("Python {version} is too old: {major}.{minor} or later is needed"))
    }

    /// Which pytest is installed in its virtual environment: `9.0.1`; nothing if it has none, or
    /// several.
    pub(crate) fn pytest(&self) -> Option<String> {
        let folder = Path::new(&self.program).parent()?.parent()?;
        if !is_file(&folder.join("pyvenv.cfg")) {
            return None;
        }
        let packages = entries(&folder.join("lib")).map(|python| python.join("site-packages"));
        let all = packages.flat_map(|packages| entries(&packages));
        let mut found = all.filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".dist-info")?;
            name.strip_prefix("pytest-").map(str::to_owned)
        });
        found.next().filter(|_| found.next().is_none())
    }

    /// The interpreter, as it is typed in this folder.
    pub(crate) fn typed(&self, current_dir: &Path) -> PathBuf {
        match self.source {
            InterpreterSource::VirtualEnv { .. } => "python".into(),
            InterpreterSource::Path => "python3".into(),
            InterpreterSource::Named | InterpreterSource::Found { .. } => {
                relative(Path::new(&self.program), current_dir)
            }
        }
    }
}

fn named_by_user(named: &OsStr, around: &Surroundings) -> Result<Interpreter, NoInterpreter> {
    let source = InterpreterSource::Named;
    if !named.as_encoded_bytes().contains(&b'/') {
        on_path(named, around)
            .next()
            .ok_or(NoInterpreter::Named { program: named.into(), why: "it is not on PATH" })?;
        return Ok(Interpreter { program: named.to_owned(), source, script: None });
    }
    let path = around.current_dir.join(named);
    let program = if path.is_dir() { python_of(&path) } else { Some(path.clone()) };
    match program.filter(|program| is_file(program)) {
        Some(program) => {
            let script = beside(&program, Some(&around.current_dir));
            Ok(Interpreter { program: program.into(), source, script })
        }
        None if path.is_dir() => {
            Err(NoInterpreter::Named { program: path, why: "there is no bin/python in it" })
        }
        None => Err(NoInterpreter::Named { program: path, why: "it does not exist" }),
    }
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file())
}

/// What is in a folder; nothing if it cannot be read.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The interpreter of a virtual environment. Its link is not followed: it is what tells Python
/// that there is an environment.
fn python_of(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("bin/python");
    is_file(&program).then_some(program)
}

fn in_project(current_dir: &Path) -> Option<(PathBuf, PathBuf)> {
    let inside = folders_of_project(current_dir);
    let mut folders = inside.flat_map(|above| FOLDERS.map(|name| above.join(name)));
    folders.find_map(|folder| python_of(&folder).map(|program| (folder, program)))
}

/// The folders on `PATH` in which a program lies.
fn on_path(name: impl AsRef<Path>, around: &Surroundings) -> impl Iterator<Item = PathBuf> {
    let folders = around.path.as_deref().into_iter().flat_map(std::env::split_paths);
    folders.filter(move |folder| is_file(&folder.join(&name)))
}

/// Whether `uvx` made the environment with these programs in order to run us, and for nothing
/// else. One in which a project was installed has a pytest, too.
fn made_for_us(folder: &Path, around: &Surroundings) -> bool {
    let is_ours = || {
        let own = around.own_program.as_ref()?.parent()?.canonicalize().ok()?;
        Some(own == folder.canonicalize().ok()?)
    };
    let is_of_uv = || {
        let settings = std::fs::read_to_string(folder.parent()?.join("pyvenv.cfg")).ok()?;
        Some(settings.lines().any(|line| line.starts_with("uv =")))
    };
    is_ours() == Some(true) && is_of_uv() == Some(true) && !is_file(&folder.join("pytest"))
}

/// The `pytest` beside an interpreter. Without a folder, its name alone is enough to type.
fn beside(python: &Path, current_dir: Option<&Path>) -> Option<Script> {
    let program = python.with_file_name("pytest");
    let typed = current_dir.map_or("pytest".into(), |folder| relative(&program, folder));
    is_file(&program).then_some(Script { program, typed })
}

fn relative(path: &Path, current_dir: &Path) -> PathBuf {
    path.strip_prefix(current_dir).unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn versions_that_the_agent_does_not_run_in_are_known() {
        let said = "Python 3.7.16 is too old: 3.8 or later is needed";
        assert_eq!(Interpreter::too_old("3.7.16").as_deref(), Some(said));
        for version in ["2.7.18", "3.6.0rc1", "3.7.0+"] {
            assert!(Interpreter::too_old(version).is_some(), "{version}");
        }
        for version in ["3.8.0", "3.13.0", "3.14.0a1", "4.0.0", "unknown"] {
            assert_eq!(Interpreter::too_old(version), None, "{version}");
        }
    }

    /// A repository with a folder in it, and an environment beside it.
    fn surroundings(folder: &Path) -> Surroundings {
        fs::create_dir_all(folder.join("repo/.git")).unwrap();
        fs::create_dir_all(folder.join("repo/inside/deep")).unwrap();
        make(&folder.join("bin/python3"));
        Surroundings {
            python: None,
            virtual_env: None,
            path: Some(folder.join("bin").into()),
            current_dir: folder.join("repo/inside"),
            own_program: None,
        }
    }

    fn make(file: &Path) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }

    #[test]
    fn the_environment_of_the_project_is_found_up_to_the_top_of_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let around = surroundings(folder.path());
        // Above the repository: not ours.
        make(&folder.path().join(".venv/bin/python"));
        let found = Interpreter::find(&around).unwrap();
        assert_eq!(found.source, InterpreterSource::Path);
        assert_eq!(found.typed(&around.current_dir), Path::new("python3"));

        let above = folder.path().join("repo/venv");
        make(&above.join("bin/python"));
        let found = Interpreter::find(&around).unwrap();
        assert_eq!(found.source, InterpreterSource::Found { folder: above });

        let here = around.current_dir.join(".venv");
        make(&here.join("bin/python"));
        make(&here.join("bin/pytest"));
        let found = Interpreter::find(&around).unwrap();
        assert_eq!(found.program, here.join("bin/python"));
        assert_eq!(found.typed(&around.current_dir), Path::new(".venv/bin/python"));
        assert_eq!(found.script.unwrap().typed, Path::new(".venv/bin/pytest"));
    }

    #[test]
    fn the_environment_that_uvx_makes_for_us_is_not_the_projects() {
        let folder = tempfile::tempdir().unwrap();
        let mut around = surroundings(folder.path());
        let tool = folder.path().join("tool");
        make(&tool.join("bin/python3"));
        make(&tool.join("bin/unflake"));
        fs::write(tool.join("pyvenv.cfg"), "home = /usr/bin\nuv = 0.9.0\n").unwrap();
        let both = [tool.join("bin"), folder.path().join("bin")];
        around.path = Some(std::env::join_paths(both).unwrap());
        let first = |around: &Surroundings| Interpreter::find(around).unwrap().program;
        assert_eq!(first(&around), "python3", "nobody says that we lie there");

        around.own_program = Some(tool.join("bin/unflake"));
        let found = Interpreter::find(&around).unwrap();
        assert_eq!(found.program, folder.path().join("bin/python3"));
        assert_eq!(found.typed(&around.current_dir), Path::new("python3"));

        make(&tool.join("bin/pytest"));
        assert_eq!(first(&around), "python3", "the project is installed there");
        fs::remove_file(tool.join("bin/pytest")).unwrap();
        fs::write(tool.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
        assert_eq!(first(&around), "python3", "somebody else made it");
    }

    #[test]
    fn the_pytest_of_an_environment_is_known_without_asking_it() {
        let folder = tempfile::tempdir().unwrap();
        let packages = folder.path().join("lib/python3.11/site-packages");
        let known = || {
            let program = folder.path().join("bin/python").into();
            let source = InterpreterSource::Named;
            Interpreter { program, source, script: None }.pytest()
        };
        make(&packages.join("pytest_cov-6.0.0.dist-info/METADATA"));
        make(&packages.join("pytest-8.4.2.dist-info/METADATA"));
        assert_eq!(known(), None, "this is no environment");
        make(&folder.path().join("pyvenv.cfg"));
        assert_eq!(known().as_deref(), Some("8.4.2"));
        make(&packages.join("pytest-7.0.0.dist-info/METADATA"));
        assert_eq!(known(), None, "one of them is the wrong one");
    }

    #[test]
    fn without_a_repository_only_this_folder_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let around = surroundings(folder.path());
        fs::remove_dir(folder.path().join("repo/.git")).unwrap();
        make(&folder.path().join("repo/.venv/bin/python"));
        assert_eq!(Interpreter::find(&around).unwrap().source, InterpreterSource::Path);
    }

    #[test]
    fn what_is_named_goes_first_and_what_is_active_second() {
        let folder = tempfile::tempdir().unwrap();
        let mut around = surroundings(folder.path());
        make(&around.current_dir.join(".venv/bin/python"));
        let active = folder.path().join("active");
        make(&active.join("bin/python"));
        around.virtual_env = Some(active.clone().into());
        let found = Interpreter::find(&around).unwrap();
        assert_eq!(found.source, InterpreterSource::VirtualEnv { folder: active.clone() });
        for named in [active.clone(), active.join("bin/python"), "../../active".into()] {
            around.python = Some(named.into());
            let found = Interpreter::find(&around).unwrap();
            assert_eq!(found.source, InterpreterSource::Named);
            let program = fs::canonicalize(&found.program).unwrap();
            assert_eq!(program, fs::canonicalize(active.join("bin/python")).unwrap());
        }
        around.python = Some("python3".into());
        assert_eq!(Interpreter::find(&around).unwrap().program, "python3");
    }

    #[test]
    fn what_is_named_and_missing_is_an_error_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let mut around = surroundings(folder.path());
        around.virtual_env = Some("/no/such/env".into());
        let error = Interpreter::find(&around).unwrap_err();
        assert_eq!(error.to_string(), "VIRTUAL_ENV names `/no/such/env`, which has no bin/python");
        around.python = Some("python9".into());
        let error = Interpreter::find(&around).unwrap_err();
        assert_eq!(error.to_string(), "`python9` is not an interpreter: it is not on PATH");
        around.python = Some("/no/such/python".into());
        assert!(Interpreter::find(&around).unwrap_err().to_string().ends_with("does not exist"));
        (around.python, around.virtual_env, around.path) = (None, None, None);
        let error = Interpreter::find(&around).unwrap_err();
        assert_eq!(error, NoInterpreter::Path);
        assert!(error.hint().contains("--python"));
    }
}
