//! The contracts with programs: a JSON Schema for every document that a command prints.
//!
//! To add a document: its schema in `schemas/`, a line here, and a test that prints one.

use crate::command::Command;

/// A contract: what a document holds.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// Its name: that of the command, where that prints nothing else.
    pub name: &'static str,
    /// What the document says, in a few words.
    pub about: &'static str,
    /// The version, which the document has as `schema`.
    pub version: u32,
    /// Who prints such documents.
    pub commands: &'static [Command],
    /// The JSON Schema.
    pub text: &'static str,
}

macro_rules! schema {
    ($file:literal) => {
        include_str!(concat!("../schemas/", $file, ".json"))
    };
}

pub(crate) const FINDINGS: Schema = Schema {
    name: "findings",
    about: "which tests are flaky, of what kind, and on what they depend",
    version: 2,
    commands: &[Command::Detect, Command::Why, Command::History],
    text: schema!("findings"),
};

pub(crate) const FIX: Schema = Schema {
    name: "fix",
    about: "changes of test files that help, and those that do not",
    version: 1,
    commands: &[Command::Fix],
    text: schema!("fix"),
};

pub(crate) const SHAKE: Schema = Schema {
    name: "shake",
    about: "which circumstances make a test fail",
    version: 2,
    commands: &[Command::Shake, Command::History],
    text: schema!("shake"),
};

pub(crate) const RUN: Schema = Schema {
    name: "run",
    about: "how one run of all tests ended, and what is known about those that failed",
    version: 1,
    commands: &[Command::Run],
    text: schema!("run"),
};

pub(crate) const STUDY: Schema = Schema {
    name: "study",
    about: "failure rates in the suite, alone and by order",
    version: 2,
    commands: &[Command::Study],
    text: schema!("study"),
};

pub(crate) const TRIAGE: Schema = Schema {
    name: "triage",
    about: "which failures of a report are flaky, and of what kind",
    version: 2,
    commands: &[Command::Triage],
    text: schema!("triage"),
};

pub(crate) const LINT: Schema = Schema {
    name: "lint",
    about: "what tests leave behind",
    version: 2,
    commands: &[Command::Lint],
    text: schema!("lint"),
};

pub(crate) const TRACE: Schema = Schema {
    name: "trace",
    about: "which tests call functions that can come out differently",
    version: 2,
    commands: &[Command::Trace],
    text: schema!("trace"),
};

pub(crate) const LEARN: Schema = Schema {
    name: "learn",
    about: "which functions flaky tests call and others do not",
    version: 1,
    commands: &[Command::Learn],
    text: schema!("learn"),
};

pub(crate) const REPLAY: Schema = Schema {
    name: "replay",
    about: "whether a run on record ends again as it did",
    version: 2,
    commands: &[Command::Replay],
    text: schema!("replay"),
};

pub(crate) const HISTORY: Schema = Schema {
    name: "history",
    about: "campaigns on record",
    version: 1,
    commands: &[Command::History],
    text: schema!("history"),
};

pub(crate) const HISTORY_OF_TEST: Schema = Schema {
    name: "history-of-test",
    about: "how one test fared in all campaigns",
    version: 1,
    commands: &[Command::History],
    text: schema!("history-of-test"),
};

pub(crate) const DOCTOR: Schema = Schema {
    name: "doctor",
    about: "what there is to run the tests with, and what is missing",
    version: 1,
    commands: &[Command::Doctor],
    text: schema!("doctor"),
};

pub(crate) const ORDERS: Schema = Schema {
    name: "orders",
    about: "orders to run, which pairs they cover, what they cost",
    version: 1,
    commands: &[Command::Orders],
    text: schema!("orders"),
};

/// All contracts.
pub const ALL: [Schema; 14] = [
    FINDINGS,
    FIX,
    SHAKE,
    RUN,
    STUDY,
    TRIAGE,
    LINT,
    TRACE,
    LEARN,
    REPLAY,
    HISTORY,
    HISTORY_OF_TEST,
    DOCTOR,
    ORDERS,
];

/// The contract of this name, or the first one that the command of this name prints.
pub fn named(name: &str) -> Option<&'static Schema> {
    let is_printed_by = |schema: &&Schema| schema.commands.iter().any(|it| it.name() == name);
    ALL.iter().find(|it| it.name == name).or_else(|| ALL.iter().find(is_printed_by))
}
