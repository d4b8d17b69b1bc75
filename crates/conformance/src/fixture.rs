//! What does an adapter bring along to be examined?
//!
//! Three little projects, written for its runner: the *scenes*. Each test of the first two plays a
//! *role*: what it does is said here, once for all runners, and how it is called is said by the
//! fixture. The third has tests that only their names make difficult.

use std::time::Duration;

use unflake_adapter::{Abilities, Need, PlainRunner};
use unflake_engine::{Ending, Failure, Isolation, Level, Perturbed, Start};
use unflake_model::{Experiment, Outcome, RunId, Suite, TestIndex};

/// More than any step takes on any machine: no check waits for it to pass.
pub const AMPLE: Duration = Duration::from_mins(10);

/// What the test that plays [`Role::Prints`] complains, and why [`Role::Skipped`] is skipped.
pub const SAID: &str = "said aloud";
/// What it writes to standard output.
pub const ON_STDOUT: &str = "written to standard output";
/// What it writes to standard error.
pub const ON_STDERR: &str = "written to standard error";
/// The named pipe in the folder of the project by which [`Role::Hangs`] is known to be alive.
pub const PIPE: &str = "alive";
/// How many tests play [`Role::Diarist`].
pub const N_DIARISTS: usize = 4;

/// A project of a fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scene {
    /// Its tests end by themselves, and can be run as a whole.
    Calm,
    /// Its tests hang and die, and one passes.
    Wild,
    /// Its tests have names that have been torn apart somewhere. See [`Fixture::odd`].
    Odd,
}

/// What a test does. State is that of the process and is not put back by the test, unless said
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Passes.
    Passes,
    /// Fails in the test itself.
    Fails,
    /// Is not run, because what it needs cannot be set up: its class, or a fixture.
    BreaksInSetUp,
    /// Passes, and then what was set up for it cannot be cleaned up.
    BreaksInCleanUp,
    /// Is skipped, because of [`SAID`].
    Skipped,
    /// Writes [`ON_STDOUT`] and [`ON_STDERR`], and fails with [`SAID`] in its message.
    Prints,
    /// Adds its number, from 1, to a diary that all diarists of a process share, and fails with the
    /// whole diary in its message: `diary [2 1]` if it is number 1 and came after number 2. The
    /// first two are a class, the last two another one; they are listed in that order.
    Diarist(usize),
    /// Passes, and leaves something in the process. Listed before the victim.
    Polluter,
    /// Passes, and takes away what the polluter left. Listed between polluter and victim.
    Cleaner,
    /// Fails if it meets what the polluter left.
    Victim,
    /// Passes, and leaves something else in the process. Listed before the brittle.
    Setter,
    /// Fails unless it meets what the setter left.
    Brittle,
    /// Passes, and fails when it is run again in the same process.
    SpoilsItself,
    /// Writes a file to the work tree, and passes. Listed before the one who finds it.
    Writes,
    /// Fails if it finds that file.
    Finds,
    /// Fails with `hash […]` in its message, in which stands what follows from the hash seed.
    TellsHash,
    /// Passes, and is listed before the wild ones.
    IsCalm,
    /// Opens [`PIPE`] for writing, if it is there, and writes a byte into it; and then hangs.
    Hangs,
    /// Ends its process by a signal.
    Crashes,
    /// Leaves its process by an exit code.
    Exits,
    /// Passes, and is listed after the wild ones.
    StaysCalm,
}

impl Role {
    /// All of them, in an order in which they may be listed.
    pub const ALL: [Self; 24] = [
        Self::Passes,
        Self::Fails,
        Self::BreaksInSetUp,
        Self::BreaksInCleanUp,
        Self::Skipped,
        Self::Prints,
        Self::Diarist(1),
        Self::Diarist(2),
        Self::Diarist(3),
        Self::Diarist(4),
        Self::Polluter,
        Self::Cleaner,
        Self::Victim,
        Self::Setter,
        Self::Brittle,
        Self::SpoilsItself,
        Self::Writes,
        Self::Finds,
        Self::TellsHash,
        Self::IsCalm,
        Self::Hangs,
        Self::Crashes,
        Self::Exits,
        Self::StaysCalm,
    ];

    /// In which project a test plays it.
    pub fn scene(self) -> Scene {
        match self {
            Self::IsCalm | Self::StaysCalm | Self::Hangs | Self::Crashes | Self::Exits => {
                Scene::Wild
            }
            _ => Scene::Calm,
        }
    }
}

/// A test whose name is difficult.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Odd {
    /// Its name, exactly as the runner spells it.
    pub id: String,
    /// How it ends, so that tests can be told from each other.
    pub outcome: Outcome,
    /// Whether the plain runner can be told to run it alone.
    pub is_typed: bool,
}

impl Odd {
    /// One that the plain runner can be named.
    pub fn new(id: impl Into<String>, outcome: Outcome) -> Self {
        Self { id: id.into(), outcome, is_typed: true }
    }

    /// The same, where the plain runner cannot be named it.
    #[must_use]
    pub fn not_typed(self) -> Self {
        Self { is_typed: false, ..self }
    }
}

/// The projects of an adapter, and how their tests are called.
pub trait Fixture {
    /// The adapter, and what is particular about it here: for messages.
    fn adapter(&self) -> &str;

    /// The test that plays a role, exactly as the runner spells it; or why none can.
    fn player(&self, role: Role) -> Result<String, &'static str>;

    /// The tests of [`Scene::Odd`], in the order in which they are listed.
    fn odd(&self) -> Vec<Odd>;

    /// Whether the runner tells outcomes only when all is over, so that a test that dies takes
    /// those before it along.
    fn tells_at_end(&self) -> bool {
        false
    }

    /// Opens a project, or says why it cannot.
    fn open(&self, scene: Scene, terms: &Terms) -> Result<Box<dyn Subject + '_>, String>;
}

/// How a project is opened.
#[derive(Clone, Debug)]
pub struct Terms {
    /// How runs begin.
    pub start: Start,
    /// The levels of isolation that runs are to have.
    pub isolation: Apart,
    /// How many runs there may be at once.
    pub jobs: usize,
    /// What the project is to be ready for.
    pub need: Need,
}

/// Which levels of isolation runs are to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Apart {
    /// All that there are.
    AsFarAsPossible,
    /// These.
    By(Vec<Level>),
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            start: Start::Fork,
            isolation: Apart::AsFarAsPossible,
            jobs: 1,
            need: Need::default(),
        }
    }
}

/// A project that was opened: all that checks do with an adapter.
pub trait Subject {
    /// What it says it can do.
    fn abilities(&self) -> Abilities;

    /// Why it cannot trace, if it was to be ready for that and is not.
    fn not_traced(&self) -> Option<&str>;

    /// The names that were known before an agent was started, where that is so.
    fn known_ids(&self) -> Option<Vec<String>>;

    /// What was collected.
    fn suite(&self) -> Suite;

    /// Makes runs, and says what came of each, in the order in which they were asked for. An error
    /// says why they were not made.
    fn make(&mut self, experiments: &[Experiment]) -> Result<Vec<Ran>, String>;

    /// Lets tests take this long from now on.
    fn limit(&mut self, timeout: Duration);

    /// Interrupts a run of a test that hangs, and gives it up.
    fn stop(&mut self, hanging: TestIndex) -> Result<Stopped, String>;

    /// Leaves while a test hangs; whether its process is gone then.
    fn leave(self: Box<Self>, hanging: TestIndex) -> Result<bool, String>;

    /// The project's own runner.
    fn plain(&self) -> Box<dyn PlainRunner + '_>;
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// Its number.
    pub run: RunId,
    /// The attempts, as they were observed.
    pub attempts: Vec<(TestIndex, Outcome)>,
    /// What was told of each attempt while the run went on, in that order.
    pub told: Vec<Told>,
    /// How it came to its end.
    pub ending: Ending,
    /// Which levels of isolation held.
    pub isolation: Isolation,
    /// What was perturbed, if anything was said about it.
    pub perturbed: Option<Perturbed>,
}

/// What was told of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Of which test.
    pub test: TestIndex,
    /// Which attempt of it, from 0.
    pub attempt: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// What it had to say.
    pub failure: Failure,
}

/// What came of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Whether, once the run was given up, nothing was left to wait for.
    pub is_idle: bool,
    /// Whether the process of the test is gone.
    pub is_gone: bool,
}
