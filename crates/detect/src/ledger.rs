//! Every run of a campaign, kept as evidence.
//!
//! The question that analyses ask most is "how did this target fare after exactly this prefix?".
//! Any run answers it for every test it contains: a search that asks about a prefix with which some
//! detection run happened to start gets its answer for free. And a target that passed and failed
//! after the *same* prefix is non-deterministic beyond doubt.
//!
//! Indexing every attempt of every test would take as much memory as all runs together, so only
//! *watched* tests, those under suspicion, have an index; it is built when the suspicion arises.
//!
//! How a target fares after a prefix is asked for one environment: with other hash seeds it may
//! fare differently. Whether it contradicts itself within any environment is asked for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use unflake_model::random::mix;
use unflake_model::{
    Environment, Evidence, Experiment, NotStarted, Observation, Order, OutcomeChange, OutcomeKind,
    Repetition, RunId, Seen, Spent, Tally, TestIndex,
};

/// A run: what was asked for, and how each attempt ended.
#[derive(Clone, Debug)]
pub struct Run {
    /// The experiment's number.
    pub id: RunId,
    /// The tests that were run, in order.
    pub order: Order,
    /// The environment of the run.
    pub environment: Environment,
    /// How often each test was run, and where it was run again.
    pub repetition: Repetition,
    /// How each attempt ended, in the order of the attempts.
    pub outcomes: Vec<OutcomeKind>,
    /// The cost of the run. Tests that were never started cost nothing.
    pub spent: Spent,
    /// How long the last attempt took.
    pub last_took: Duration,
    /// What was seen, if the run had a look.
    pub seen: Seen,
    /// Why no test was run, if none could be.
    pub not_started: Option<NotStarted>,
}

impl Run {
    /// How the last test of the order ended (its last attempt, if there were two).
    pub fn last(&self) -> Option<OutcomeKind> {
        self.outcomes.last().copied()
    }

    /// The test and outcome of every attempt.
    pub fn outcomes(&self) -> impl Iterator<Item = (TestIndex, OutcomeKind)> {
        self.repetition.attempts(&self.order).into_iter().zip(self.outcomes.iter().copied())
    }

    /// The tests that failed, in the order in which they did.
    pub fn failures(&self) -> impl Iterator<Item = TestIndex> {
        let is_failure = |outcome: OutcomeKind| outcome.evidence() == Some(Evidence::Fail);
        self.outcomes().filter(move |(_, outcome)| is_failure(*outcome)).map(|(test, _)| test)
    }

    /// Whether its tests ran as the project's own runner might run them.
    fn is_usual(&self) -> bool {
        !self.environment.is_perturbed() && self.repetition == Repetition::Once
    }
}

impl Run {
    /// Combines an experiment with its observation.
    pub(crate) fn of(experiment: Experiment, observation: &Observation) -> Self {
        let asked = experiment.repetition.attempts(&experiment.order);
        assert!(
            observation.attempts.iter().map(|attempt| attempt.test).eq(asked),
            "run {:?} was answered with attempts of other tests than it asked for",
            experiment.run
        );
        let outcomes: Vec<OutcomeKind> =
            observation.attempts.iter().map(|attempt| attempt.outcome.kind()).collect();
        let attempts = outcomes.iter().filter(|kind| **kind != OutcomeKind::NotRun).count() as u64;
        Self {
            id: experiment.run,
            order: experiment.order,
            environment: experiment.environment,
            repetition: experiment.repetition,
            outcomes,
            last_took: observation.attempts.last().map_or(Duration::ZERO, |last| last.duration),
            spent: Spent { runs: 1, attempts, time: observation.duration },
            seen: observation.seen.clone(),
            not_started: observation.not_started.clone(),
        }
    }

    /// What the last attempt says about its test; `None` if it says nothing.
    pub fn last_evidence(&self) -> Option<Evidence> {
        self.last().and_then(OutcomeKind::evidence)
    }

    /// How the first attempt of a test ended, if that says something.
    pub fn evidence_of(&self, test: TestIndex) -> Option<Evidence> {
        self.outcomes().find(|(of, _)| *of == test).and_then(|(_, kind)| kind.evidence())
    }
}

/// What all plain runs say about one test.
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// Passes and failures.
    pub tally: Tally,
    /// The same in runs that differ from plain ones only in their hash seed.
    pub hashed: Tally,
    /// The first run in which it passed.
    pub passed_in: Option<RunId>,
    /// The first run in which it failed.
    pub failed_in: Option<RunId>,
    /// The first run under another hash seed in which it passed.
    passed_hashed: Option<RunId>,
    /// The first run under another hash seed in which it failed.
    failed_hashed: Option<RunId>,
    first: Option<(RunId, OutcomeKind)>,
    later: Option<(RunId, OutcomeKind)>,
}

impl Record {
    /// Passes and failures in all runs that the project's own runner might have made.
    pub fn usual(&self) -> Tally {
        Tally {
            failures: self.tally.failures + self.hashed.failures,
            attempts: self.tally.attempts + self.hashed.attempts,
        }
    }

    /// A run in which it passed, and one in which it failed, under any hash seed.
    pub fn seen_in(&self) -> (Option<RunId>, Option<RunId>) {
        (self.passed_in.or(self.passed_hashed), self.failed_in.or(self.failed_hashed))
    }

    fn add(&mut self, run: RunId, environment: Environment, outcome: OutcomeKind) {
        let is_plain = environment == Environment::Plain;
        let (tally, passed_in, failed_in) = if is_plain {
            (&mut self.tally, &mut self.passed_in, &mut self.failed_in)
        } else {
            (&mut self.hashed, &mut self.passed_hashed, &mut self.failed_hashed)
        };
        if let Some(evidence) = outcome.evidence() {
            tally.add(evidence);
            match evidence {
                Evidence::Pass => passed_in.get_or_insert(run),
                Evidence::Fail => failed_in.get_or_insert(run),
            };
        }
        match self.first {
            None => self.first = Some((run, outcome)),
            Some((_, first)) if first != outcome && self.later.is_none() => {
                self.later = Some((run, outcome));
            }
            Some(_) => (),
        }
    }
}

/// One attempt of a watched test.
#[derive(Clone, Debug)]
pub struct Sighting {
    run: Rc<Run>,
    position: usize,
    /// How the test ended.
    pub evidence: Evidence,
}

impl Sighting {
    /// The tests that ran before it.
    pub fn prefix(&self) -> &[TestIndex] {
        &self.run.order.tests()[..self.position]
    }

    /// The environment of the attempt.
    pub fn environment(&self) -> Environment {
        self.run.environment
    }

    /// How the tests before it ended.
    pub fn prefix_outcomes(&self) -> &[OutcomeKind] {
        &self.run.outcomes[..self.position]
    }
}

/// All runs of a campaign.
#[derive(Debug)]
pub struct Ledger {
    runs: BTreeMap<RunId, Rc<Run>>,
    records: Vec<Record>,
    process_enders: BTreeSet<TestIndex>,
    watched: BTreeMap<TestIndex, BTreeMap<u64, Vec<Sighting>>>,
}

/// The hash of the empty prefix in an environment; [`extend`] adds a test to a prefix.
fn empty(environment: Environment) -> u64 {
    match environment {
        Environment::Plain => 0,
        Environment::Hashed { seed } => mix(!seed),
        Environment::Perturbed { factors, seed } => mix(mix(!seed) ^ u64::from(factors.bits())),
    }
}

fn extend(hash: u64, test: TestIndex) -> u64 {
    mix(hash ^ test.get() as u64)
}

impl Ledger {
    pub(crate) fn new(n_tests: usize) -> Self {
        Self {
            runs: BTreeMap::new(),
            records: vec![Record::default(); n_tests],
            process_enders: BTreeSet::new(),
            watched: BTreeMap::new(),
        }
    }

    pub(crate) fn record(&mut self, experiment: Experiment, observation: &Observation) -> Rc<Run> {
        let run = Rc::new(Run::of(experiment, observation));
        if run.is_usual() {
            self.count(&run);
            index(&mut self.watched, &run, |_| true);
        }
        let enders = run.outcomes().filter(|(_, outcome)| outcome.ends_the_process());
        self.process_enders.extend(enders.map(|(test, _)| test));
        self.runs.insert(run.id, Rc::clone(&run));
        run
    }

    fn count(&mut self, run: &Run) {
        for (test, outcome) in run.outcomes() {
            if outcome != OutcomeKind::NotRun {
                self.records[test.get()].add(run.id, run.environment, outcome);
            }
        }
    }

    /// How many tests the suite has.
    pub fn n_tests(&self) -> usize {
        self.records.len()
    }

    /// The run with this number.
    pub fn run(&self, id: RunId) -> Option<&Rc<Run>> {
        self.runs.get(&id)
    }

    /// What all plain runs say about a test.
    pub fn of(&self, test: TestIndex) -> &Record {
        &self.records[test.get()]
    }

    /// Indexes all attempts of a test, past ones included.
    pub fn watch(&mut self, test: TestIndex) {
        if self.watched.contains_key(&test) {
            return;
        }
        self.watched.insert(test, BTreeMap::new());
        for run in self.runs.values().filter(|run| run.is_usual()) {
            index(&mut self.watched, run, |t| t == test);
        }
    }

    /// Whether a test was ever seen to fail in a plain run.
    pub fn has_failed(&self, test: TestIndex) -> bool {
        self.of(test).failed_in.is_some()
    }

    fn sightings(&self, target: TestIndex) -> &BTreeMap<u64, Vec<Sighting>> {
        self.watched.get(&target).expect("the target of a question is watched")
    }

    /// How a watched target fared after exactly this prefix, in this environment.
    pub fn tally_after(
        &self,
        environment: Environment,
        prefix: &[TestIndex],
        target: TestIndex,
    ) -> Tally {
        let hash = prefix.iter().fold(empty(environment), |hash, test| extend(hash, *test));
        let mut tally = Tally::default();
        for sighting in self.sightings(target).get(&hash).into_iter().flatten() {
            // The hash only finds candidates; comparing the tests decides.
            if sighting.prefix() == prefix && sighting.environment() == environment {
                tally.add(sighting.evidence);
            }
        }
        tally
    }

    /// How a watched target fared in this environment, one tally for each distinct prefix. (Two
    /// prefixes with the same 64-bit hash would be taken for one; with a million runs the chance is
    /// below 1e-7.)
    pub fn tallies(&self, environment: Environment, target: TestIndex) -> Vec<Tally> {
        let is_there = |sighting: &&Sighting| sighting.environment() == environment;
        let of_prefix = |all: &Vec<Sighting>| tally(all.iter().filter(is_there));
        let all = self.sightings(target).values().map(of_prefix);
        all.filter(|tally| 0 < tally.attempts).collect()
    }

    /// Whether a watched target passed and failed after the same prefix in the same environment.
    pub fn is_non_deterministic(&self, target: TestIndex) -> bool {
        self.sightings(target).values().any(|all| tally(all.iter()).is_mixed())
    }

    /// How a watched target fared with any other tests before it, under any hash seed.
    pub fn tally_in_company(&self, target: TestIndex) -> Tally {
        tally(self.attempts(target).filter(|sighting| !sighting.prefix().is_empty()))
    }

    /// The shortest prefix after which a watched target ended like this, in this environment.
    pub fn shortest_prefix(
        &self,
        environment: Environment,
        target: TestIndex,
        evidence: Evidence,
    ) -> Option<Vec<TestIndex>> {
        self.attempts(target)
            .filter(|it| it.evidence == evidence && it.environment() == environment)
            .map(Sighting::prefix)
            .min_by_key(|prefix| (prefix.len(), *prefix))
            .map(<[TestIndex]>::to_vec)
    }

    /// All attempts of a watched target, in all environments.
    pub fn attempts(&self, target: TestIndex) -> impl Iterator<Item = &Sighting> {
        self.sightings(target).values().flatten()
    }

    /// The shortest time that a watched target took alone.
    pub fn took_alone(&self, target: TestIndex) -> Option<Duration> {
        let alone = self.attempts(target).filter(|it| it.run.order.len() == 1);
        alone.map(|it| it.run.last_took).min()
    }

    /// Tests that ended in different ways in plain runs, whatever that means.
    pub fn changes(&self) -> impl Iterator<Item = OutcomeChange> {
        self.records.iter().enumerate().filter_map(|(position, record)| {
            let test = TestIndex::new(position);
            Some(OutcomeChange { test, first: record.first?, later: record.later? })
        })
    }

    /// Tests that have ended their process at least this often, and never done anything else.
    pub fn hopeless(&self, n_times: u64) -> BTreeSet<TestIndex> {
        let is_hopeless = |test: &TestIndex| {
            let tally = self.of(*test).usual();
            n_times <= tally.failures && tally.passes() == 0
        };
        self.process_enders.iter().copied().filter(is_hopeless).collect()
    }

    /// Tests that have ended the process they ran in.
    pub fn process_enders(&self) -> &BTreeSet<TestIndex> {
        &self.process_enders
    }
}

fn tally<'s>(sightings: impl Iterator<Item = &'s Sighting>) -> Tally {
    let mut tally = Tally::default();
    for sighting in sightings {
        tally.add(sighting.evidence);
    }
    tally
}

fn index(
    watched: &mut BTreeMap<TestIndex, BTreeMap<u64, Vec<Sighting>>>,
    run: &Rc<Run>,
    is_wanted: impl Fn(TestIndex) -> bool,
) {
    let mut hash = empty(run.environment);
    for (position, (test, outcome)) in run.outcomes().enumerate() {
        let here = watched.get_mut(&test).filter(|_| is_wanted(test));
        if let (Some(sightings), Some(evidence)) = (here, outcome.evidence()) {
            let run = Rc::clone(run);
            sightings.entry(hash).or_default().push(Sighting { run, position, evidence });
        }
        hash = extend(hash, test);
    }
}
