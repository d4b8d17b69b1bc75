//! What is known about a project before it is opened, and why it could not be opened.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use unflake_engine::Interrupt;

/// What an adapter is given to open a project.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    /// The working directory.
    pub folder: PathBuf,
    /// The runner that was requested by name, if any.
    pub runner: Option<&'a str>,
    /// Files, folders or tests, as the runner takes them; empty for all.
    pub paths: &'a [OsString],
    /// Options for the runner itself.
    pub options: &'a [OsString],
    /// Values of the adapter's own options.
    pub own: &'a OwnOptions,
    /// The seed of the campaign, if one is about to begin: choices that a runner draws at each
    /// start are then derived from it.
    pub seed: Option<u64>,
    /// A folder for files that are made once and kept; it need not exist yet.
    pub cache: Option<PathBuf>,
    /// The path of our own program, if known.
    pub program: Option<PathBuf>,
    /// Stops the opening.
    pub interrupt: &'a Interrupt,
}

impl Opening<'_> {
    /// A folder of this name for files that are made once. Only its user may read it.
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
    /// The request makes no sense for this runner.
    #[error("{message}")]
    Refused {
        /// What makes no sense.
        message: String,
        /// What to do instead.
        hint: String,
    },
    /// Something that running tests needs is missing or does not work.
    #[error("{message}")]
    Broken {
        /// What is missing or does not work.
        message: String,
        /// What to do about it, if that is known.
        hint: Option<String>,
    },
    /// The user interrupted it.
    #[error("stopped before the tests were collected")]
    Stopped,
}

/// An option that only the projects of one adapter have. It can be typed (`--python`) and set in
/// `unflake.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnOption {
    /// Its name in the file; [`OwnOption::typed`] is the name on the command line.
    pub name: &'static str,
    /// The table of the file that contains it; `None` for the top level.
    pub table: Option<&'static str>,
    /// The name of its value in `--help`; `None` hides the option there.
    pub value_name: Option<&'static str>,
    /// One line for `--help`.
    pub help: &'static str,
    /// Why someone would set it, for the file that `init` writes.
    pub why: &'static str,
    /// An example, as it is written in the file.
    pub example: &'static str,
    /// The form of its value.
    pub value: OwnValue,
}

/// The form of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnValue {
    /// One text.
    Text,
    /// One path; in the file, relative to the folder of the file.
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
    /// Its name on the command line: preceded by the name of its table, which keeps it apart from
    /// options that every project has.
    pub fn typed(&self) -> String {
        self.table.map_or_else(|| self.name.to_owned(), |table| format!("{table}-{}", self.name))
    }
}

/// The values of an adapter's own options, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnOptions(BTreeMap<&'static str, Vec<OsString>>);

impl OwnOptions {
    /// Sets the values of an option.
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

/// This folder and those above it, up to the top of the repository; only this one outside of any.
pub fn folders_of_project(current_dir: &Path) -> impl Iterator<Item = &Path> {
    let n_folders = match current_dir.ancestors().position(|above| above.join(".git").exists()) {
        Some(n_above) => n_above + 1,
        None => 1,
    };
    current_dir.ancestors().take(n_folders)
}
