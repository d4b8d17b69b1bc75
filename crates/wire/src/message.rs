//! The messages, one type each, spelled as in `docs/design/agent-protocol.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What an agent says, on its server connection or on the connection of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// The first message of every connection.
    Hello(Hello),
    /// Server: the tests that were collected.
    Collected(Collected),
    /// Server: nothing could be collected. Run: what happened says nothing about its tests.
    Failed {
        /// The step that failed.
        what: String,
        /// The whole complaint.
        text: String,
    },
    /// Run: tests are in progress, but the agent cannot see which.
    Alive {},
    /// Server: the child process for the run exists.
    Forked {
        /// The number of the run.
        run: u64,
        /// The process id of the child, as the engine sees it.
        pid: u32,
    },
    /// Server: the child of the run is gone.
    Exited {
        /// The number of the run.
        run: u64,
        /// The exit status of the child, if it exited by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        /// The signal that killed the child, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// The end of what the child wrote to its standard error outside all capture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr: Option<String>,
    },
    /// Run: which levels of isolation hold.
    Isolated {
        /// The levels that hold.
        applied: Vec<Level>,
        /// The levels that do not, with the reasons.
        refused: Vec<Refused>,
    },
    /// Run: an attempt begins.
    Start {
        /// The position of the test in the order of the run.
        position: usize,
        /// The number of the attempt among those of this test, from 0.
        attempt: usize,
    },
    /// Run: an attempt is over, teardown included.
    End(End),
    /// Run: the functions that an attempt called, in a traced run; precedes its end.
    Traced(Traced),
    /// Run: state was put back.
    Restored(Restored),
    /// Run: which circumstances were perturbed.
    Perturbed(Perturbed),
    /// Run: the last fixture was torn down.
    Done {
        /// Whether something was too large to be watched completely.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_part: bool,
        /// The open choices that came up, if they were perturbed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chosen: Option<Chosen>,
    },
}

/// What the engine says, on the server connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one is made at a time, and said at once")]
pub enum ToAgent {
    /// Run these tests.
    Run(Run),
    /// Kill the children and exit.
    Stop {},
}

/// The first message, which says who is at the other end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol version that the agent speaks.
    pub version: u32,
    /// What the connection is for.
    pub role: Role,
    /// The number of the run, with [`Role::Run`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// The secret that the agent was given when it was started.
    pub token: String,
    /// The process id of the agent, as it sees it.
    pub pid: u32,
    /// The version of the runtime that the runner uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The name and version of the runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The connection of the process that collects and forks.
    Server,
    /// The connection of one run.
    Run,
}

/// The tests that there are to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// The tests, in the order in which the runner would run them.
    pub tests: Vec<CollectedTest>,
    /// What could not be collected.
    pub errors: Vec<CollectionError>,
    /// Why forking is unsafe; `None` if it is safe.
    pub fork: Option<String>,
    /// The folder that ids are relative to.
    pub rootdir: String,
    /// The name and version of the runner.
    pub runner: String,
    /// The plugins that the runner has loaded.
    pub plugins: Vec<String>,
}

/// A test that was collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectedTest {
    /// Its name, exactly as the runner spells it.
    pub id: String,
    /// The tests that it is kept together with: its file, and its class within the file, if any.
    pub class: String,
    /// The file that defines it.
    pub file: String,
    /// Whether it cannot be run a second time in one process as if it were the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
}

/// Something that could not be collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionError {
    /// The file or node that could not be collected.
    #[serde(rename = "where")]
    pub place: String,
    /// The whole complaint.
    pub text: String,
}

/// A request for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the message by itself")]
pub struct Run {
    /// The number under which the run is reported.
    pub run: u64,
    /// Positions in [`Collected::tests`], first to last.
    pub order: Vec<usize>,
    /// Whether each test is run a second time before the next one starts.
    pub twice: bool,
    /// Which levels of isolation to apply.
    pub isolation: Vec<Level>,
    /// A private folder for the files of the run.
    pub scratch: String,
    /// Whether the agent runs the tests in its own process, and then exits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// Whether the run is queued: it begins when another one has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ahead: bool,
    /// Positions in `order` of tests whose failures need no traceback, because one was reported
    /// already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brief: Vec<usize>,
    /// The kinds of state to watch; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Vec<String>>,
    /// The state to put back on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<Restore>,
    /// The circumstances to perturb; nothing is touched if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturb: Option<Box<Perturb>>,
    /// The open choices to perturb; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Choices>,
    /// Whether to report the functions that each test calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// Whether to report also how often each is called, if the agent can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count: bool,
}

/// Circumstances to perturb. All factors that are not named are held fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Perturb {
    /// The names of the factors.
    pub factors: Vec<String>,
    /// The seed that decides what each factor is set to.
    pub seed: u64,
}

/// The result of perturbing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Perturbed {
    /// The circumstances that were perturbed.
    pub applied: Vec<Applied>,
    /// The circumstances that could not be perturbed.
    pub refused: Vec<RefusedFactor>,
}

/// A circumstance that was perturbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The name of the factor.
    pub factor: String,
    /// What it was set to, for people.
    pub how: String,
    /// Environment variables that do the same for a plain runner.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// A Python statement that does nearly the same when a test begins in a plain runner.
    #[serde(default)]
    pub first: Option<String>,
    /// A shell statement that does the same before a plain runner is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// A circumstance that could not be perturbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedFactor {
    /// The name of the factor.
    pub factor: String,
    /// The reason, for people.
    pub why: String,
}

/// Choices that language and libraries leave open (the order of a set, of a folder, of what
/// reflection lists), perturbed on purpose. They are numbered from 1 in the order in which they
/// come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// The same seed makes the same choices.
    pub seed: u64,
    /// The number of the first choice to perturb.
    pub first: u64,
    /// The number of the last one; absent to perturb all from the first on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
}

/// The open choices of a run that perturbed them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// How many choices came up.
    pub n: u64,
    /// The stack that asked, innermost call first, if only one choice was to be perturbed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

/// The functions that an attempt called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// The position of the test in the order of the run.
    pub position: usize,
    /// The number of the attempt among those of this test, from 0.
    pub attempt: usize,
    /// The numbers of the functions, without duplicates.
    #[serde(with = "crate::numbers")]
    pub functions: Vec<usize>,
    /// How often each function was called, if that was counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<u64>,
    /// The functions that are new in this run. They are numbered in the order of reporting, from 0.
    pub names: Vec<Function>,
    /// Functions that it must have called, although no call was seen. They have no number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Function>,
}

/// A function that a test called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Function {
    /// The module that defines it.
    pub module: String,
    /// Its name within the module, with its class if it has one.
    pub name: String,
    /// The file that defines it, if it is written in the language of the tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// State to be put back to what it was before the first test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    /// The place in the order of the attempt before which it is put back.
    pub before: usize,
    /// Whether to repeat this after every `before` attempts, tearing down all fixtures first, so
    /// that tests further apart do not affect each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The places of the state, as changes name them.
    pub items: Vec<String>,
    /// Whether to put back everything *except* these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_but: bool,
}

/// The result of putting state back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// The places that were put back.
    pub items: Vec<String>,
    /// The places that could not be put back.
    pub failed: Vec<NotRestored>,
}

/// State that could not be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRestored {
    /// The place of the state.
    #[serde(rename = "where")]
    pub place: String,
    /// The reason, for people.
    pub why: String,
}

/// A piece of state that a test left different from how it found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Where the state is, in the notation of the language.
    #[serde(rename = "where")]
    pub place: String,
    /// The kind of state, by its name in `unflake_model::StateKind`.
    pub kind: String,
    /// The value before; absent if there was none.
    #[serde(default)]
    pub before: Option<String>,
    /// The value after; absent if it is gone.
    #[serde(default)]
    pub after: Option<String>,
    /// The fixture that made the change, if it outlives the test and fixtures were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A part of the world that a run can have to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Process ids: stray processes end with the run.
    Pid,
    /// The work tree: what is written there is discarded.
    Tree,
    /// The home folder: what is written there is discarded.
    Home,
    /// The network: only loopback is up.
    Net,
}

impl Level {
    /// The name of the level in texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pid => "pid",
            Self::Tree => "tree",
            Self::Home => "home",
            Self::Net => "net",
        }
    }
}

/// A level of isolation that was not available.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The level that was refused.
    pub level: Level,
    /// The reason, for people.
    pub why: String,
}

/// How an attempt ended, in the words of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The position of the test in the order of the run.
    pub position: usize,
    /// The number of the attempt among those of this test, from 0.
    pub attempt: usize,
    /// How it ended.
    pub outcome: Ended,
    /// The part of the test that decided the outcome.
    pub phase: Phase,
    /// How long it took.
    pub seconds: f64,
    /// The complaint, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The whole complaint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the test wrote to standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// What the test wrote to standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// What the test left changed, in a watched run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// How many more such changes there were.
    #[serde(default)]
    pub more: u64,
}

/// The outcomes that an agent can see. Only the engine sees that a process was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The test ran to its end without complaint.
    Passed,
    /// The test complained.
    Failed,
    /// The test could not be run.
    Error,
    /// The test was skipped.
    Skipped,
}

/// A part of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the test itself.
    Setup,
    /// The test itself.
    Call,
    /// After the test itself.
    Teardown,
}
