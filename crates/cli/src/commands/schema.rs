//! `unflake schema`.

use std::io::{self, Write as _};

use unflake_report::schema::{self, Schema};

use crate::exit::Failure;

const EXAMPLES: &str = "\
Examples:
  unflake schema
      the names of all schemas, with the commands that print such documents
  unflake schema findings > findings.schema.json
      what `unflake detect --json` and `unflake why TEST --json` print

Every document begins with `schema` (the version of its contract), `command` and `unflake` (the
version of the program). Under one version keys are only ever added.";

/// Options of `unflake schema`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SchemaArgs {
    /// The name of a schema, or of a command that has --json [default: list all]
    pub name: Option<String>,
}

/// Prints a JSON Schema, or the names of all.
pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let text = match &args.name {
        None => list(),
        Some(name) => schema::named(name).ok_or_else(|| unknown(name))?.text.to_owned(),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

fn list() -> String {
    let line = |schema: &Schema| {
        let commands: Vec<&str> = schema.commands.iter().map(|command| command.name()).collect();
        let Schema { name, version, about, .. } = schema;
        format!("{name:<15}  {version}  {:<20}  {about}\n", commands.join(", "))
    };
    schema::ALL.iter().map(line).collect()
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = schema::ALL.iter().map(|schema| schema.name).collect();
    let hint = format!("there are {}", names.join(", "));
    Failure::input(format!("there is no schema `{name}`"), hint)
}
