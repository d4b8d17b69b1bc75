//! What does the history keep of the settings, and what comes back from it?
//!
//! Everything but the values of variables, which may be secrets. In place of each stands a mark, by
//! which another value is noticed: it makes another campaign. A replay takes the values of its day,
//! and says which are not those of the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unflake_model::random::mix;

use crate::settings::Row;

/// Settings as the history keeps them, where they have variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    runner: Row,
    /// The mark of each value, by the name of its variable.
    variables: BTreeMap<String, String>,
}

/// Settings as text for the history.
pub(crate) fn write(row: &Row) -> String {
    let marked = |(name, value): (&String, &String)| (name.clone(), mark(name, value));
    let variables: BTreeMap<String, String> = row.env.iter().map(marked).collect();
    let runner = Row { env: BTreeMap::new(), ..row.clone() };
    // A table of texts is always JSON.
    if variables.is_empty() {
        serde_json::to_string(&runner).unwrap_or_default()
    } else {
        serde_json::to_string(&Record { runner, variables }).unwrap_or_default()
    }
}

/// Settings from the history. `None` if the text is of another kind.
pub(crate) fn read(text: &str) -> Option<Record> {
    let of_row = |runner| Record { runner, variables: BTreeMap::new() };
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(text).ok().map(of_row))
}

impl Record {
    /// The settings with the values that variables have now, and which of these are others than
    /// they were; an error names a variable that has none.
    pub(crate) fn with(self, now: &BTreeMap<String, String>) -> Result<(Row, Vec<String>), String> {
        let Self { mut runner, variables } = self;
        let mut changed = Vec::new();
        for (name, marked) in variables {
            let value = now.get(&name).cloned().ok_or_else(|| name.clone())?;
            if mark(&name, &value) != marked {
                changed.push(name.clone());
            }
            runner.env.insert(name, value);
        }
        Ok((runner, changed))
    }
}

/// Tells values of a variable apart. It has 32 bits, so no more than these of a secret can be known
/// from it, however little the function hides: a token has hundreds. Two values share one once in
/// four thousand million times.
fn mark(name: &str, value: &str) -> String {
    let bytes = name.bytes().chain([b'=']).chain(value.bytes());
    let state = bytes.fold(0, |state, byte| mix(state ^ u64::from(byte)));
    format!("{:08x}", state >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(env: &[(&str, &str)]) -> Row {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let list = vec!["t".to_owned()];
        Row { list, env: env.iter().map(pair).collect(), ..Row::default() }
    }

    #[test]
    fn values_are_not_kept_and_others_make_another_text() {
        let text = write(&row(&[("CI", "1"), ("DB_TOKEN", "hunter2")]));
        assert!(text.contains("DB_TOKEN") && !text.contains("hunter2"), "{text}");
        assert_eq!(text, write(&row(&[("CI", "1"), ("DB_TOKEN", "hunter2")])));
        for other in [row(&[("CI", "1"), ("DB_TOKEN", "hunter3")]), row(&[("CI", "1")]), row(&[])] {
            assert_ne!(text, write(&other));
        }
    }

    #[test]
    fn a_run_on_record_takes_the_values_of_today_and_says_which_are_others() {
        let then = row(&[("A", "1"), ("B", "2")]);
        let record = || read(&write(&then)).unwrap();
        assert_eq!(record().with(&then.env), Ok((then.clone(), vec![])));
        let now = row(&[("A", "1"), ("B", "3"), ("C", "4")]);
        let expected = row(&[("A", "1"), ("B", "3")]);
        assert_eq!(record().with(&now.env), Ok((expected, vec!["B".to_owned()])));
        assert_eq!(record().with(&row(&[("A", "1")]).env), Err("B".to_owned()));
    }

    #[test]
    fn what_an_older_program_kept_is_read_with_its_values() {
        let then = row(&[("A", "1")]);
        let text = serde_json::to_string(&then).unwrap();
        assert_eq!(read(&text).unwrap().with(&BTreeMap::new()), Ok((then, vec![])));
        assert_eq!(read("pytest"), None);
    }
}
