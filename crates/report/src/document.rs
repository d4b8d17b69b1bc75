//! What all documents for programs have in common: an envelope, and how several become one.
//!
//! A document begins with `schema` (the version of its contract), `command` (who printed it) and
//! `unflake` (which version did). What follows is spelled out by a schema in `schemas/`, listed in
//! [`crate::schema`]. Keys are only ever added under one version.
//!
//! What was found in the modules of a project is one document, too: the documents about each stand
//! under `modules`, each complete and with the name of its `module`.
//!
//! Strings are exact: what a terminal might obey is written as an escape (`\u009b`), which a reader
//! of JSON turns back into the same character.

use std::fmt::Write as _;

use serde::Serialize;
use unflake_known::Warning;

use crate::command::Command;
use crate::schema::Schema;
use crate::visible::is_treacherous;

/// What was found in the modules of a project, by name. A project without modules is one that
/// needs no name.
pub type Modules<'a, T> = &'a [(&'a str, T)];

/// The version of the program that prints the documents: all crates share it.
const UNFLAKE: &str = env!("CARGO_PKG_VERSION");

/// The top level of a document.
#[derive(Serialize)]
pub(crate) struct Document<'a, T> {
    schema: u32,
    command: &'static str,
    unflake: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
    #[serde(flatten)]
    content: T,
}

impl<'a, T: Serialize> Document<'a, T> {
    /// With the envelope of the command that prints it.
    pub(crate) fn new(schema: &Schema, command: Command, content: T) -> Self {
        debug_assert!(schema.commands.contains(&command), "{command:?} prints no {}", schema.name);
        let (schema, command) = (schema.version, command.name());
        Self { schema, command, unflake: UNFLAKE, module: None, content }
    }

    /// About a module.
    pub(crate) fn of_module(self, name: &'a str) -> Self {
        Self { module: Some(name).filter(|name| !name.is_empty()), ..self }
    }

    /// The text that is printed.
    pub(crate) fn text(&self) -> String {
        safe_json(self)
    }
}

#[derive(Serialize)]
struct Several<'a, T> {
    modules: Vec<Document<'a, T>>,
}

/// One document about all modules.
pub(crate) fn of_modules<'a, T: Serialize>(
    schema: &Schema,
    command: Command,
    modules: impl IntoIterator<Item = (&'a str, T)>,
) -> String {
    let placed = |(name, content)| Document::new(schema, command, content).of_module(name);
    let mut modules: Vec<Document<'_, T>> = modules.into_iter().map(placed).collect();
    match modules.pop() {
        Some(only) if modules.is_empty() && only.module.is_none() => only.text(),
        last => {
            modules.extend(last);
            Document::new(schema, command, Several { modules }).text()
        }
    }
}

/// Something that limits the answer.
#[derive(Serialize)]
pub(crate) struct WarningRow {
    kind: &'static str,
    message: String,
    advice: &'static str,
}

impl WarningRow {
    pub(crate) fn of(warning: &Warning) -> Self {
        Self { kind: warning.slug(), message: warning.message(), advice: warning.advice() }
    }

    pub(crate) fn all(warnings: &[Warning]) -> Vec<Self> {
        warnings.iter().map(Self::of).collect()
    }
}

/// Indented JSON in which nothing is left that a terminal might obey, with a line break at its end.
pub(crate) fn safe_json(what: &impl Serialize) -> String {
    escaped(&serde_json::to_string_pretty(what).expect("strings and finite numbers only")) + "\n"
}

/// The same in one line, without a line break.
pub(crate) fn safe_line(what: &impl Serialize) -> String {
    escaped(&serde_json::to_string(what).expect("strings and finite numbers only"))
}

fn escaped(plain: &str) -> String {
    let mut text = String::with_capacity(plain.len() + 1);
    for c in plain.chars() {
        // Outside of strings there are none but the line breaks of the indentation.
        if is_treacherous(c) && c != '\n' {
            let written = write!(text, "\\u{:04x}", u32::from(c));
            written.expect("a string takes everything");
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    #[derive(Serialize)]
    struct Content {
        tests: u32,
    }

    fn rendered(modules: Modules<'_, u32>) -> serde_json::Value {
        let contents = modules.iter().map(|(name, tests)| (*name, Content { tests: *tests }));
        serde_json::from_str(&of_modules(&schema::RUN, Command::Run, contents)).expect("JSON")
    }

    #[test]
    fn of_a_project_without_modules_the_document_stands_alone() {
        let document = rendered(&[("", 3)]);
        let expected = serde_json::json!({
            "schema": 1, "command": "run", "unflake": UNFLAKE, "tests": 3
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn one_module_that_has_a_name_keeps_it() {
        for modules in [&[("core", 3)][..], &[("core", 3), ("web", 4)]] {
            let document = rendered(modules);
            assert_eq!(document["command"], "run");
            let listed = document["modules"].as_array().expect("a list");
            assert_eq!(listed.len(), modules.len());
            assert_eq!((&listed[0]["module"], &listed[0]["tests"]), (&"core".into(), &3.into()));
        }
    }
}
