//! The messages, one type each, spelled as in `docs/design/agent-protocol.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What an agent says, on its server connection or on the connection of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// The first message of every connection.
    Hello(Hello),
    /// Server: what there is to run.
    Collected(Collected),
    /// Server: nothing could be collected. Run: what it did says nothing about its tests.
    Failed {
        /// What was tried.
        what: String,
        /// The whole complaint.
        text: String,
    },
    /// Run: tests are under way, and the agent cannot see which.
    Alive {},
    /// Server: a child for the run exists.
    Forked {
        /// Its run.
        run: u64,
        /// Its process id, as the engine sees it.
        pid: u32,
    },
    /// Server: the child of the run is gone.
    Exited {
        /// Its run.
        run: u64,
        /// Its exit status, if it left by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        /// The signal that killed it, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// The end of what it wrote to its standard error past all capture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr: Option<String>,
    },
    /// Run: which levels of isolation hold.
    Isolated {
        /// Those that do.
        applied: Vec<Level>,
        /// Those that do not.
        refused: Vec<Refused>,
    },
    /// Run: an attempt begins.
    Start {
        /// The place of the test in the order of the run.
        position: usize,
        /// Which attempt of it, from 0.
        attempt: usize,
    },
    /// Run: an attempt is over, teardown included.
    End(End),
    /// Run: which functions an attempt called, in a traced run, before its end is told.
    Traced(Traced),
    /// Run: state was put back.
    Restored(Restored),
    /// Run: which circumstances were perturbed.
    Perturbed(Perturbed),
    /// Run: the last fixture was torn down.
    Done {
        /// Whether something was too large to be watched as a whole.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_part: bool,
        /// Which open choices there were, if they were made on purpose.
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
    /// Leave; kill the children.
    Stop {},
}

/// Who is at the other end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the protocol it speaks.
    pub version: u32,
    /// What the connection is for.
    pub role: Role,
    /// With [`Role::Run`]: which run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// The secret it was started with.
    pub token: String,
    /// Its process id, as it sees it.
    pub pid: u32,
    /// The version of what the runner runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Name and version of the runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Collecting, and forking runs.
    Server,
    /// One run.
    Run,
}

/// What there is to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// In the order in which the runner would run them.
    pub tests: Vec<CollectedTest>,
    /// What could not be collected.
    pub errors: Vec<CollectionError>,
    /// Why forking is unsafe, if it is.
    pub fork: Option<String>,
    /// The folder the ids are relative to.
    pub rootdir: String,
    /// Name and version of the runner.
    pub runner: String,
    /// Plugins of the runner that are loaded.
    pub plugins: Vec<String>,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectedTest {
    /// Its name, exactly as the runner spells it.
    pub id: String,
    /// The tests it is kept together with: its file, and the class in it if there is one.
    pub class: String,
    /// The file it stands in.
    pub file: String,
    /// Whether nobody knows how to run it a second time in one process as if it were the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
}

/// Something that could not be collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionError {
    /// The file or node.
    #[serde(rename = "where")]
    pub place: String,
    /// The whole complaint.
    pub text: String,
}

/// A request for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the message by itself")]
pub struct Run {
    /// The number under which it is reported.
    pub run: u64,
    /// Places in [`Collected::tests`], first to last.
    pub order: Vec<usize>,
    /// Whether each test is run a second time before the next one starts.
    pub twice: bool,
    /// Which levels of isolation to apply.
    pub isolation: Vec<Level>,
    /// A private folder for the run.
    pub scratch: String,
    /// Whether the agent itself is to run them, and then leave.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// Whether it is asked for ahead: it begins when another one has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ahead: bool,
    /// Tests, as in `order`, whose failures need no traceback, because one was told already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brief: Vec<usize>,
    /// Which kinds of state to watch; none is watched if this is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Vec<String>>,
    /// Which state to put back on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<Restore>,
    /// Which circumstances to make otherwise; nothing is touched if this is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturb: Option<Box<Perturb>>,
    /// Which open choices to make on purpose; none if this is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Choices>,
    /// Whether to tell which functions each test calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// Whether to tell how often, too, where the agent can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count: bool,
}

/// Circumstances to be perturbed. Those that are not named are held fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Perturb {
    /// Which.
    pub factors: Vec<String>,
    /// What each then is follows from this.
    pub seed: u64,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Perturbed {
    /// What was perturbed.
    pub applied: Vec<Applied>,
    /// What could not be.
    pub refused: Vec<RefusedFactor>,
}

/// A circumstance that was perturbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Which.
    pub factor: String,
    /// What it is now, for people.
    pub how: String,
    /// Variables of the environment that do the same for a plain runner.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// A statement of Python that does nearly the same when a test begins in a plain runner.
    #[serde(default)]
    pub first: Option<String>,
    /// A statement of the shell that does the same before a plain runner is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// A circumstance that could not be perturbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedFactor {
    /// Which.
    pub factor: String,
    /// The reason, for people.
    pub why: String,
}

/// Choices that language and libraries leave open (the order of a set, of a folder, of what
/// reflection lists), made on purpose. They are numbered from 1 in the order in which they come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// The same seed makes the same choices.
    pub seed: u64,
    /// The first that is made.
    pub first: u64,
    /// The last that is made; all from the first on without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
}

/// What became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// How many came up.
    pub n: u64,
    /// Who asked, innermost first, if only one was to be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

/// The functions that an attempt called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// The place of the test in the order of the run.
    pub position: usize,
    /// Which attempt of it, from 0.
    pub attempt: usize,
    /// By number, each once.
    #[serde(with = "crate::numbers")]
    pub functions: Vec<usize>,
    /// How often each was called, where that was counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<u64>,
    /// The functions that are new in this run. They are numbered as they are told, from 0.
    pub names: Vec<Function>,
    /// Functions that it must have called, of which no call was seen. They have no number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Function>,
}

/// A function, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Function {
    /// The module it is of.
    pub module: String,
    /// Its name there, with the class if it is of one.
    pub name: String,
    /// The file it stands in, if it is written in the language of the tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line on which it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// State to be put back to what it was before the first test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    /// Before the attempt at this place of the order.
    pub before: usize,
    /// Whether it is done again after every so many attempts, and all fixtures are torn down
    /// before: tests so far apart do not meet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Where it is, as changes name it.
    pub items: Vec<String>,
    /// Whether these are what is *not* put back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_but: bool,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// What was put back.
    pub items: Vec<String>,
    /// What could not be.
    pub failed: Vec<NotRestored>,
}

/// State that could not be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRestored {
    /// Where it is.
    #[serde(rename = "where")]
    pub place: String,
    /// The reason, for people.
    pub why: String,
}

/// A part of the state that a test left different from how it found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Where it is, in the notation of the language.
    #[serde(rename = "where")]
    pub place: String,
    /// Of what kind it is, by a name of `unflake_model::StateKind`.
    pub kind: String,
    /// What it was, unless it was not there.
    #[serde(default)]
    pub before: Option<String>,
    /// What it is, unless it is gone.
    #[serde(default)]
    pub after: Option<String>,
    /// The fixture that made it, if that outlives the test and fixtures were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A part of the world that a run can have for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Process ids: stray processes die with the run.
    Pid,
    /// The work tree: what is written there is dropped.
    Tree,
    /// The home folder, likewise.
    Home,
    /// The network, with loopback up.
    Net,
}

impl Level {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pid => "pid",
            Self::Tree => "tree",
            Self::Home => "home",
            Self::Net => "net",
        }
    }
}

/// A level of isolation that could not be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Which.
    pub level: Level,
    /// The reason, for people.
    pub why: String,
}

/// How an attempt ended, in the words of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The place of the test in the order of the run.
    pub position: usize,
    /// Which attempt of it, from 0.
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
    /// What it left different from how it found it, in a watched run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// How many more such changes there were.
    #[serde(default)]
    pub more: u64,
}

/// The outcomes an agent can see. That a process was killed, only the engine can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Ran to its end without complaint.
    Passed,
    /// Complained.
    Failed,
    /// Could not be run.
    Error,
    /// Declined to run.
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
    /// After it.
    Teardown,
}
