//! Which functions does each test call, and so which tests are worth running again?
//!
//! The suite is run once, in its original order, and traced. [`Traced`] is what came back: for each
//! test its functions, how it ended and how long it took; [`Traced::exposures`] is what a scheduler
//! of reruns needs to know.
//!
//! Where a test ends the process, the tests after it are traced in another one, and the calls of
//! that test are unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use unflake_adapter::collection_warnings;
use unflake_calls::{Exposure, Function, Set};
use unflake_known::exposed::{Exposed, ExposedBy, Row};
use unflake_known::{Origin, Warning};
use unflake_model::{
    AttemptCalls, CalledFunction, Calls, Look, Observation, Order, OutcomeKind, Seen, Suite,
    TestId, TestIndex,
};

use crate::engine_world::EngineWorld;
use crate::error::CampaignError;
use crate::gather::{Asked, Gathered, gather};
use crate::logbook::Progress;
use crate::world::{Answer, Finish};

/// A function, and where it is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The module and name of the function.
    pub function: Function,
    /// Its file and first line, if it is written in the language of the tests.
    pub place: Option<(String, u32)>,
}

/// What one test called, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedTest {
    /// The test that was traced.
    pub test: TestIndex,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// How long it took while traced.
    pub duration: Duration,
    /// Positions in [`Traced::functions`].
    pub functions: Vec<usize>,
    /// How often it called each of them, where that was counted; by position.
    pub counts: BTreeMap<usize, u64>,
}

/// The result of tracing a suite once.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The suite that was traced.
    pub suite: Rc<Suite>,
    /// Every function that some test called.
    pub functions: Vec<Called>,
    /// The tests that ran, in the order in which they did.
    pub tests: Vec<TracedTest>,
    /// Name and version of the runner.
    pub runner: String,
    /// Warnings that the user should see.
    pub warnings: Vec<Warning>,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
    /// The run, if there was just one and it completed: as good as any other run of that order.
    pub(crate) run: Option<Answer>,
}

impl Traced {
    /// The functions that a test called.
    pub fn functions_of(&self, test: &TracedTest) -> impl Iterator<Item = &Function> {
        test.functions.iter().map(|number| &self.functions[*number].function)
    }

    /// For each exposed test, the characteristic functions it called.
    pub fn exposures<'a>(&'a self, set: &Set) -> BTreeMap<TestIndex, Vec<Exposure<'a>>> {
        let causes: Vec<_> = self.functions.iter().map(|it| set.cause_of(&it.function)).collect();
        let of_test = |test: &'a TracedTest| {
            let found = test.functions.iter().filter_map(|number| {
                let cause = causes[*number]?;
                Some(Exposure { cause, function: &self.functions[*number].function })
            });
            let mut found: Vec<Exposure<'a>> = found.collect();
            found.sort();
            found.dedup();
            (test.test, found)
        };
        self.tests.iter().map(of_test).collect()
    }

    /// How long each test took.
    pub(crate) fn durations(&self) -> BTreeMap<&TestId, Duration> {
        self.tests.iter().map(|it| (self.suite.id(it.test), it.duration)).collect()
    }
}

impl Traced {
    /// The exposed tests for display, with the command line as it was typed.
    pub fn exposed(&self, set: &Set, command: &str) -> Exposed {
        let mut exposures = self.exposures(set);
        let row = |test: &TracedTest| {
            let found = exposures.remove(&test.test).unwrap_or_default();
            let files = test.functions.iter().filter_map(|it| self.functions[*it].place.as_ref());
            let files: BTreeSet<&str> = files.map(|(file, _)| file.as_str()).collect();
            Row {
                test: self.suite.id(test.test).clone(),
                outcome: test.outcome,
                duration: test.duration,
                n_functions: test.functions.len(),
                n_files: files.len(),
                exposures: found.iter().map(|it| self.exposed_by(test, it)).collect(),
            }
        };
        Exposed {
            n_tests: self.suite.n_tests(),
            rows: self.tests.iter().map(row).collect(),
            warnings: self.warnings.clone(),
            origin: Origin::new(&self.runner, 0, command, None),
        }
    }
}

impl Traced {
    fn exposed_by(&self, test: &TracedTest, found: &Exposure<'_>) -> ExposedBy {
        let is_it = |number: &&usize| self.functions[**number].function == *found.function;
        let counts = test.functions.iter().filter(is_it).filter_map(|it| test.counts.get(it));
        let n_calls = counts.copied().reduce(|sum, n| sum + n);
        ExposedBy { cause: found.cause, function: found.function.to_string(), n_calls }
    }

    /// Runs the exposed tests once more, and counts their calls. Where counting fails, the counts
    /// stay unknown.
    pub fn count_calls(&mut self, set: &Set, world: &mut EngineWorld, progress: &mut dyn Progress) {
        let exposures = self.exposures(set);
        let is_exposed = |(test, found): (TestIndex, Vec<_>)| (!found.is_empty()).then_some(test);
        let tests: Vec<TestIndex> = exposures.into_iter().filter_map(is_exposed).collect();
        if tests.is_empty() {
            return;
        }
        let asked = Asked {
            look: Look::at_calls(Calls::Counted),
            order: Order::from_distinct(tests),
            stage: "counting calls",
        };
        let suite = Rc::clone(&self.suite);
        let gathered = gather(asked, &suite, world, progress);
        self.is_interrupted |= gathered.finish == Finish::Interrupted;
        let notes = Notes::of(&gathered.answers);
        let ours: BTreeMap<&Function, usize> =
            self.functions.iter().zip(0..).map(|(it, number)| (&it.function, number)).collect();
        let named =
            |(number, n): (usize, u64)| Some((*ours.get(&notes.functions[number].function)?, n));
        let counted = notes.tests.iter().map(|test| {
            let counts = test.counts.iter().map(|(number, n)| (*number, *n));
            (test.test, counts.filter_map(named).collect())
        });
        let mut counted: BTreeMap<TestIndex, BTreeMap<usize, u64>> = counted.collect();
        for test in &mut self.tests {
            test.counts = counted.remove(&test.test).unwrap_or_default();
        }
    }
}

/// Runs the suite of an engine once, traced.
pub fn trace_in(
    world: &mut EngineWorld,
    progress: &mut dyn Progress,
) -> Result<Traced, CampaignError> {
    let suite = Rc::new(world.engine().suite(|_| Duration::ZERO));
    let asked = Asked {
        look: Look::at_calls(Calls::Noted),
        order: Order::original(&suite),
        stage: "tracing the tests",
    };
    let gathered = gather(asked, &suite, world, progress);
    let Notes { functions, tests, .. } = Notes::of(&gathered.answers);
    if tests.is_empty() {
        return Err(gathered.error.map_or(CampaignError::Interrupted, CampaignError::World));
    }
    let is_interrupted = gathered.finish == Finish::Interrupted;
    let run = gathered.answers.into_iter().next().filter(Gathered::is_complete);
    let engine = world.engine();
    let warnings = collection_warnings(engine);
    let runner = engine.collected().runner.clone();
    Ok(Traced { suite, functions, tests, runner, warnings, is_interrupted, run })
}

/// What the runs of a suite reported.
#[derive(Default)]
struct Notes {
    functions: Vec<Called>,
    numbers: BTreeMap<Function, usize>,
    tests: Vec<TracedTest>,
}

impl Notes {
    fn of(answers: &[Answer]) -> Self {
        let mut notes = Self::default();
        for answer in answers {
            notes.add(&answer.observation);
        }
        notes
    }

    fn add(&mut self, observation: &Observation) {
        let Seen { functions, calls, .. } = &observation.seen;
        // Our numbers for the functions, which this run numbers in its own way.
        let of_run: Vec<Option<usize>> = functions.iter().map(|it| self.number(it)).collect();
        let ours = |number: &usize| of_run.get(*number).copied().flatten();
        let calls: BTreeMap<usize, &AttemptCalls> =
            calls.iter().map(|calls| (calls.attempt, calls)).collect();
        for (place, attempt) in observation.attempts.iter().enumerate() {
            let outcome = attempt.outcome.kind();
            if outcome == OutcomeKind::NotRun {
                continue;
            }
            let called = calls.get(&place);
            let functions = called.iter().flat_map(|it| &it.functions).filter_map(ours).collect();
            let counted = called.iter().flat_map(|it| it.functions.iter().zip(&it.counts));
            let counts = counted.filter_map(|(number, n)| Some((ours(number)?, *n))).collect();
            let (test, duration) = (attempt.test, attempt.duration);
            self.tests.push(TracedTest { test, outcome, duration, functions, counts });
        }
    }

    /// Our number for a function; `None` if its name is invalid.
    fn number(&mut self, told: &CalledFunction) -> Option<usize> {
        let function: Function = format!("{}:{}", told.module, told.name).parse().ok()?;
        let n = self.functions.len();
        let number = *self.numbers.entry(function.clone()).or_insert(n);
        if number == n {
            self.functions.push(Called { function, place: told.place.clone() });
        }
        Some(number)
    }
}
