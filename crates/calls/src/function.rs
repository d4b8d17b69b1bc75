//! How is a function named?
//!
//! By its module and its name within it, as `threading:Condition.wait`. The file it stands in is
//! not
//! part of the name: the same function must be the same in all projects.

use std::fmt;
use std::str::FromStr;

/// A function that a test can call.
///
/// Invariant: neither module nor name is empty, and the module has no colon.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    module: Box<str>,
    name: Box<str>,
}

/// The text does not name a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no function; give MODULE:NAME, as `threading:Condition.wait`")]
pub struct InvalidFunction(String);

impl Function {
    /// The module that defines it.
    pub fn module(&self) -> &str {
        &self.module
    }

    /// Its name within the module, with its class if it has one.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for Function {
    type Err = InvalidFunction;

    fn from_str(text: &str) -> Result<Self, InvalidFunction> {
        match text.split_once(':') {
            Some((module, name)) if !module.is_empty() && !name.is_empty() => {
                Ok(Self { module: module.into(), name: name.into() })
            }
            _ => Err(InvalidFunction(text.to_owned())),
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.module, self.name))
    }
}
