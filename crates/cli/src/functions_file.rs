//! Characteristic functions in a file, to be reviewed and committed.
//!
//! ```toml
//! [[function]]
//! name = "threading:Condition.wait"
//! cause = "async-wait"
//! ```
//!
//! A name may leave the module out, and may have `*` for any text. `unflake learn` writes such
//! files; what is not understood is an error with its place.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use unflake_calls::{Pattern, Set};
use unflake_model::RootCause;

use crate::exit::Failure;
use crate::suite_file::place;

/// Why a file gives no functions.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FunctionsFileError {
    /// The file cannot be read.
    #[error("cannot read functions file `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Something at this place makes no sense.
    #[error("functions file `{}`, line {line}, column {column}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    function: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    cause: Option<Spanned<String>>,
}

/// The functions that a project names, or those known to be characteristic.
pub(crate) fn functions(file: Option<&Path>) -> Result<Set, Failure> {
    let Some(path) = file else { return Ok(Set::known()) };
    read(path).map_err(|error| {
        let hint = "`unflake learn` writes such files; `unflake learn --help` shows one";
        Failure::input(error.to_string(), hint)
    })
}

fn read(path: &Path) -> Result<Set, FunctionsFileError> {
    let text = fs::read_to_string(path)
        .map_err(|source| FunctionsFileError::Read { path: path.to_owned(), source })?;
    let malformed = |at: std::ops::Range<usize>, reason: String| {
        let (line, column) = place(&text, at.start);
        FunctionsFileError::Malformed { path: path.to_owned(), line, column, reason }
    };
    let file: File = toml::from_str(&text)
        .map_err(|error| malformed(error.span().unwrap_or_default(), error.message().to_owned()))?;
    let mut patterns = Vec::new();
    for Entry { name, cause } in file.function {
        let pattern: Pattern =
            name.get_ref().parse().map_err(|error| malformed(name.span(), format!("{error}")))?;
        let cause = cause
            .map(|it| {
                let cause = it.get_ref().parse::<RootCause>();
                cause.map_err(|error| malformed(it.span(), error.to_string()))
            })
            .transpose()?;
        patterns.push((pattern, cause));
    }
    Ok(Set::new(patterns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Set, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("functions.toml");
        fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        read(&path).map_err(|error| error.to_string().replace(&shown, "functions.toml"))
    }

    #[test]
    fn functions_are_read_with_and_without_a_cause() {
        let text =
            "[[function]]\nname = \"_io:open\"\ncause = \"io\"\n[[function]]\nname = \"x.*\"";
        let expected = vec![
            ("_io:open".parse().unwrap(), Some(RootCause::Io)),
            ("x.*".parse().unwrap(), None),
        ];
        assert_eq!(read_text(text), Ok(Set::new(expected)));
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_place() {
        let error = read_text("[[function]]\nname = \"open\"\ncause = \"luck\"").unwrap_err();
        let place = "functions file `functions.toml`, line 3, column 9";
        assert_eq!(error, format!("{place}: `luck` is no root cause"));
        let error = read_text("[[function]]\nname = \"open\"\nbeta = 1").unwrap_err();
        assert!(error.contains("line 3"), "{error}");
        assert!(read_text("[[function]]\nname = \"\"").is_err());
    }
}
