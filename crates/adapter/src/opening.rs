//! What is known about a project before it is opened, and why it could not be.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use unflake_engine::Interrupt;

/// What an adapter is told about the project it is to open.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    /// The working directory.
    pub folder: PathBuf,
    /// The runner that was asked for by name, if one was.
    pub runner: Option<&'a str>,
    /// Files, folders or tests, as the runner takes them; all if there are none.
    pub paths: &'a [OsString],
    /// Options for the runner itself.
    pub options: &'a [OsString],
    /// Values of the adapter's own options.
    pub own: &'a OwnOptions,
    /// The seed of the campaign, where one is about to begin: what a runner draws at each start is
    /// then drawn from it.
    pub seed: Option<u64>,
    /// A folder for what is made once and kept; it need not exist yet.
    pub cache: Option<PathBuf>,
    /// Our own program.
    pub program: Option<PathBuf>,
    /// Stops it.
    pub interrupt: &'a Interrupt,
}

impl Opening<'_> {
    /// The folder of this name for what is made once. Only its user may read it.
    pub fn cache(&self, name: &str) -> Result<PathBuf, OpenError> {
        let Some(base) = &self.cache else {
            return Err(OpenError::Refused {
                message: "there is no folder for what is compiled".to_owned(),
                hint: "set HOME".to_owned(),
            });
        };
        let folder = base.join(name);
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| OpenError::Broken {
            message: format!("cannot make the folder `{}`: {error}", folder.display()),
            hint: Some("let XDG_CACHE_HOME name another".to_owned()),
        })?;
        Ok(folder)
    }
}

/// Why a project could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// What was asked for makes no sense for this runner.
    #[error("{message}")]
    Refused {
        /// What.
        message: String,
        /// What to do instead.
        hint: String,
    },
    /// Something that running tests needs is missing or does not work.
    #[error("{message}")]
    Broken {
        /// What.
        message: String,
        /// What to do about it, if that is known.
        hint: Option<String>,
    },
    /// The user stopped it.
    #[error("stopped before the tests were collected")]
    Stopped,
}

/// An option that only the projects of one adapter have. It can be typed (`--python`) and stand in
/// `unflake.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnOption {
    /// Its name, as it is spelled in the file; for how it is typed, see [`OwnOption::typed`].
    pub name: &'static str,
    /// The table of the file in which it stands; none for the top.
    pub table: Option<&'static str>,
    /// What its value is called in `--help`; without one it is not shown there.
    pub value_name: Option<&'static str>,
    /// One line for `--help`.
    pub help: &'static str,
    /// Why one would set it, for the file that `init` writes.
    pub why: &'static str,
    /// An example, as it stands in the file.
    pub example: &'static str,
    /// What its value looks like.
    pub value: OwnValue,
}

/// What the value of an option looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnValue {
    /// One text.
    Text,
    /// One path, seen from the folder of the file where it stands in one.
    Path,
    /// Several texts.
    Texts,
    /// Variables, `NAME=value` each. Values may be secrets: the history does not have them, so that
    /// a replay takes those of its day.
    Variables,
    /// `true` or `false`.
    Switch,
}

impl OwnOption {
    /// What it is called when it is typed: behind the name of its table, which keeps it apart from
    /// options that every project has.
    pub fn typed(&self) -> String {
        self.table.map_or_else(|| self.name.to_owned(), |table| format!("{table}-{}", self.name))
    }
}

/// Values of an adapter's own options, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnOptions(BTreeMap<&'static str, Vec<OsString>>);

impl OwnOptions {
    /// With values for an option.
    pub fn set(&mut self, name: &'static str, values: Vec<OsString>) {
        self.0.insert(name, values);
    }

    /// The first value of an option.
    pub fn one(&self, name: &str) -> Option<&OsStr> {
        self.0.get(name)?.first().map(OsString::as_os_str)
    }

    /// All values of an option.
    pub fn all(&self, name: &str) -> &[OsString] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names of the options that have values.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}

/// This folder and those above it, up to the top of the repository; without one, this alone.
pub fn folders_of_project(current_dir: &Path) -> impl Iterator<Item = &Path> {
    let n_folders = match current_dir.ancestors().position(|above| above.join(".git").exists()) {
        Some(n_above) => n_above + 1,
        None => 1,
    };
    current_dir.ancestors().take(n_folders)
}
