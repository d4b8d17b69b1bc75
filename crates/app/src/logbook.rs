//! What each test did so far: for the record, for the report, and for whoever watches.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use unflake_model::random::mix;
use unflake_model::{
    Environment, Experiment, Order, OutcomeKind, Repetition, RunId, Spent, Suite, Tally, TestIndex,
};
use unflake_report::{FailedAttempt, Record, Seen};

use crate::drive::{Answer, Source, Watcher};
use crate::record::Recorder;

/// Failures of one test whose texts are kept; the rest are counted only.
const FAILURES_MAX: usize = 10;

/// Who is told how it goes.
pub trait Progress {
    /// Something new begins.
    fn stage(&mut self, what: &str);

    /// Something that a user should know also where nobody watches.
    fn note(&mut self, what: &str);

    /// A run is over, and this is how it stands.
    fn ran(&mut self, standing: Standing);
}

/// How a campaign stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// What was spent since it was started.
    pub spent: Spent,
    /// Runs that are evidence: made now, or recalled.
    pub n_runs: u64,
    /// Tests seen to pass and to fail.
    pub n_flaky: usize,
    /// Different whole orders among the runs.
    pub n_orders: u64,
    /// Those of them that were recalled.
    pub n_orders_recalled: u64,
}

/// Records runs and counts what each test did in them.
pub(crate) struct Logbook<'p> {
    pub(crate) records: Vec<Record>,
    pub(crate) standing: Standing,
    pub(crate) recorder: Recorder,
    /// Whole orders that were run, by their hashes.
    orders: BTreeSet<u64>,
    /// The run of the original order, and how each test ended there.
    original: Option<(RunId, Vec<OutcomeKind>)>,
    /// Where a test ended otherwise than in the original order for the first time.
    otherwise: BTreeMap<TestIndex, (RunId, OutcomeKind, Rc<Order>)>,
    /// Whether each test that is seen to pass and to fail is told of at once, and their names.
    pub(crate) tells: Option<Rc<Suite>>,
    progress: &'p mut dyn Progress,
}

impl<'p> Logbook<'p> {
    pub(crate) fn new(suite: &Suite, recorder: Recorder, progress: &'p mut dyn Progress) -> Self {
        let nothing = Record { tally: Tally::default(), skipped: 0, failures: Vec::new() };
        let records = vec![nothing; suite.n_tests()];
        Self {
            records,
            standing: Standing::default(),
            recorder,
            orders: BTreeSet::new(),
            original: None,
            otherwise: BTreeMap::new(),
            tells: None,
            progress,
        }
    }

    /// Something new begins.
    pub(crate) fn stage(&mut self, what: &str) {
        self.progress.stage(what);
    }

    /// How tests ended in the original order, and an order in which each ended otherwise.
    pub(crate) fn seen(&self, suite: &Suite) -> BTreeMap<TestIndex, (Seen, Seen)> {
        let Some((run, outcomes)) = &self.original else { return BTreeMap::new() };
        let original = Order::original(suite);
        let prefix = |order: &Order, test| Some(order.truncated_at(test)?.tests().to_vec());
        let both = |(test, (other_run, other, order)): (&TestIndex, &(_, _, Rc<Order>))| {
            let (run, outcome) = (*run, outcomes[test.get()]);
            let intended = Seen { outcome, order: prefix(&original, *test)?, run };
            let (run, outcome) = (*other_run, *other);
            Some((*test, (intended, Seen { outcome, order: prefix(order, *test)?, run })))
        };
        self.otherwise.iter().filter_map(both).collect()
    }

    /// Keeps what a plain run says about the original order, or against it.
    fn compare(&mut self, run: RunId, experiment: &Experiment, answer: &Answer) {
        let attempts = &answer.observation.attempts;
        let kinds = || attempts.iter().map(|attempt| attempt.outcome.kind());
        let is_original = experiment.order.tests().iter().map(|test| test.get());
        if self.original.is_none() && is_original.eq(0..self.records.len()) {
            self.original = Some((run, kinds().collect()));
        }
        let Some((_, original)) = &self.original else { return };
        let mut order = None;
        for (attempt, kind) in attempts.iter().zip(kinds()) {
            let before = original[attempt.test.get()].evidence();
            let is_other = kind.evidence().is_some() && before.is_some();
            if is_other && kind.evidence() != before {
                let order = order.get_or_insert_with(|| Rc::new(experiment.order.clone()));
                let entry = (run, kind, Rc::clone(order));
                self.otherwise.entry(attempt.test).or_insert(entry);
            }
        }
    }

    /// Writes down a run that was made just now, and says under which number.
    pub(crate) fn made(&mut self, experiment: &Experiment, answer: &Answer) -> RunId {
        self.standing.spent = self.standing.spent.plus(answer.cost());
        let has_room = |test: usize| self.records[test].failures.len() < FAILURES_MAX;
        let failures = answer.failures.iter().filter(|failed| has_room(failed.test.get()));
        let failures: Vec<_> = failures.collect();
        self.recorder.record(experiment, &answer.observation, &failures)
    }

    fn count(&mut self, run: RunId, experiment: &Experiment, answer: &Answer, source: Source) {
        self.standing.n_runs += 1;
        let is_plain = experiment.environment == Environment::Plain;
        if experiment.repetition != Repetition::Once || !is_plain {
            return;
        }
        self.compare(run, experiment, answer);
        let tests = experiment.order.tests();
        let hash = tests.iter().fold(0, |hash, test| mix(hash ^ test.get() as u64));
        let is_new = tests.len() == self.records.len() && self.orders.insert(hash);
        self.standing.n_orders += u64::from(is_new);
        self.standing.n_orders_recalled += u64::from(is_new && source != Source::Run);
        for attempt in &answer.observation.attempts {
            let record = &mut self.records[attempt.test.get()];
            let was_flaky = record.tally.is_mixed();
            if let Some(evidence) = attempt.outcome.evidence() {
                record.tally.add(evidence);
            }
            record.skipped += u64::from(attempt.outcome.kind() == OutcomeKind::Skipped);
            let is_new = !was_flaky && record.tally.is_mixed();
            self.standing.n_flaky += usize::from(is_new);
            if let Some(suite) = self.tells.as_ref().filter(|_| is_new) {
                self.progress.note(&format!("passes and fails: {}", suite.id(attempt.test)));
            }
        }
    }

    fn keep_failures(&mut self, run: RunId, answer: &Answer) {
        for failed in &answer.failures {
            let kept = &mut self.records[failed.test.get()].failures;
            if kept.len() < FAILURES_MAX {
                let (outcome, failure) = (failed.outcome, failed.failure.clone());
                kept.push(FailedAttempt { run, outcome, failure });
            }
        }
    }
}

impl Watcher for Logbook<'_> {
    fn ran(&mut self, experiment: &Experiment, answer: &Answer, source: Source) {
        let number = match source {
            Source::Run => self.made(experiment, answer),
            Source::Recalled { number } => number,
        };
        self.recorder.renumber(experiment.run, number);
        self.keep_failures(number, answer);
        self.count(number, experiment, answer, source);
        self.progress.ran(self.standing);
    }
}
