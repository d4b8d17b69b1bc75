//! What each test did so far: for the record, for the report, and for whoever watches.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use unflake_engine::Isolation;
use unflake_known::{FailedAttempt, Record, Seen};
use unflake_model::random::mix;
use unflake_model::{
    Environment, Evidence, Experiment, Finding, Order, OutcomeKind, Repetition, RunId, Spent,
    Suite, Tally, TestId, TestIndex, Verdict,
};

use crate::record::Recorder;
use crate::world::{Answer, Source, Watcher};

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

    /// Something is known about a test before everything is. The report has the last word.
    fn news(&mut self, _test: &TestId, _news: News) {}
}

/// What is known about a test before everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It passed and failed, or did what tests of this kind do.
    Suspected(Option<Verdict>),
    /// It was looked into, and this is what it is.
    Found(Verdict),
}

/// How a campaign stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// What was spent since it was started.
    pub spent: Spent,
    /// Runs that are evidence: made now, or recalled.
    pub n_runs: u64,
    /// Tests that were told of, as suspects or as more.
    pub n_suspected: usize,
    /// Those of them that were looked into.
    pub n_found: usize,
    /// Different whole orders among the runs; all runs of all tests, where the runner knows no
    /// other order.
    pub n_orders: u64,
    /// Those of them that were recalled.
    pub n_orders_recalled: u64,
    /// What those that were not recalled took.
    pub order_time: Duration,
}

/// Records runs and counts what each test did in them.
pub struct Logbook<'p> {
    /// What each test did.
    pub records: Vec<Record>,
    /// How the campaign stands.
    pub standing: Standing,
    /// Who writes it down.
    pub recorder: Recorder,
    /// Whole orders that were run, by their hashes.
    orders: BTreeSet<u64>,
    keeps_order: bool,
    /// The run of the original order, and how each test ended there.
    original: Option<(RunId, Vec<OutcomeKind>)>,
    /// Where a test ended otherwise than in the original order for the first time.
    otherwise: BTreeMap<TestIndex, (RunId, OutcomeKind, Rc<Order>)>,
    /// Whether each suspect and each finding is told of at once, and the names of tests.
    pub tells: Option<Rc<Suite>>,
    told: BTreeMap<TestIndex, News>,
    /// Where a test failed when it was run again in the same process, and in no other way.
    failed_again: BTreeMap<TestIndex, RunId>,
    /// Which levels of isolation the last run had that was made just now.
    pub isolation: Option<Isolation>,
    progress: &'p mut dyn Progress,
}

impl<'p> Logbook<'p> {
    /// An empty one.
    pub fn new(suite: &Suite, recorder: Recorder, progress: &'p mut dyn Progress) -> Self {
        let nothing = Record { tally: Tally::default(), skipped: 0, failures: Vec::new() };
        let records = vec![nothing; suite.n_tests()];
        Self {
            records,
            standing: Standing::default(),
            recorder,
            orders: BTreeSet::new(),
            keeps_order: suite.keeps_order(),
            original: None,
            otherwise: BTreeMap::new(),
            tells: None,
            told: BTreeMap::new(),
            failed_again: BTreeMap::new(),
            isolation: None,
            progress,
        }
    }

    /// Tells of a test, once as a suspect and once for each thing that it is found to be.
    fn tell(&mut self, test: TestIndex, news: News) {
        let before = self.told.get(&test).copied();
        let is_news = match news {
            News::Suspected(_) => before.is_none(),
            News::Found(_) => before != Some(news),
        };
        let Some(suite) = self.tells.clone().filter(|_| is_news) else { return };
        let was_found = matches!(before, Some(News::Found(_)));
        self.standing.n_suspected += usize::from(before.is_none());
        self.standing.n_found += usize::from(matches!(news, News::Found(_)) && !was_found);
        self.told.insert(test, news);
        self.progress.news(suite.id(test), news);
    }

    /// The run that shows how a test fails when it is run again, for findings that are about that.
    pub fn failed_again(&self, finding: &Finding) -> Option<RunId> {
        let is_about_that = finding.verdict == Verdict::Nio;
        self.failed_again.get(&finding.test).copied().filter(|_| is_about_that)
    }

    /// Suspects tests that did in this run what those do that are not idempotent, or rely on open
    /// choices.
    fn suspect_by_kind(&mut self, run: RunId, experiment: &Experiment, answer: &Answer) {
        let attempts = &answer.observation.attempts;
        if experiment.repetition == Repetition::Twice {
            for pair in attempts.chunks_exact(2) {
                let ends = [pair[0].outcome.evidence(), pair[1].outcome.evidence()];
                if ends == [Some(Evidence::Pass), Some(Evidence::Fail)] {
                    // The last one is made alone, so it is the shortest to run again.
                    self.failed_again.insert(pair[0].test, run);
                    self.tell(pair[0].test, News::Suspected(Some(Verdict::Nio)));
                }
            }
        }
        let Environment::Perturbed { factors, seed } = experiment.environment else { return };
        if (Environment::Perturbed { factors, seed }) != Environment::open_choices(seed) {
            return;
        }
        for attempt in attempts {
            let tally = self.records[attempt.test.get()].tally;
            let is_other = 0 < tally.attempts && tally.failures == 0;
            if is_other && attempt.outcome.evidence() == Some(Evidence::Fail) {
                self.tell(attempt.test, News::Suspected(Some(Verdict::Id)));
            }
        }
    }

    /// Something new begins.
    pub fn stage(&mut self, what: &str) {
        self.progress.stage(what);
    }

    /// How tests ended in the original order, and an order in which each ended otherwise.
    pub fn seen(&self, suite: &Suite) -> BTreeMap<TestIndex, (Seen, Seen)> {
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
    pub fn made(&mut self, experiment: &Experiment, answer: &Answer) -> RunId {
        self.standing.spent = self.standing.spent.plus(answer.cost());
        let has_room = |test: usize| self.records[test].failures.len() < FAILURES_MAX;
        let failures = answer.failures.iter().filter(|failed| has_room(failed.test.get()));
        let failures: Vec<_> = failures.collect();
        self.recorder.record(experiment, &answer.observation, &failures)
    }

    fn count(&mut self, run: RunId, experiment: &Experiment, answer: &Answer, source: Source) {
        self.standing.n_runs += 1;
        self.suspect_by_kind(run, experiment, answer);
        let is_usual = !experiment.environment.is_perturbed();
        if experiment.repetition != Repetition::Once || !is_usual {
            return;
        }
        self.compare(run, experiment, answer);
        let tests = experiment.order.tests();
        let hash = tests.iter().fold(0, |hash, test| mix(hash ^ test.get() as u64));
        let is_whole = tests.len() == self.records.len();
        // The only order that a runner knows is run again and again.
        let is_new = is_whole && (self.orders.insert(hash) || self.keeps_order);
        self.standing.n_orders += u64::from(is_new);
        self.standing.n_orders_recalled += u64::from(is_new && source != Source::Run);
        if is_new && source == Source::Run {
            self.standing.order_time += answer.observation.duration;
        }
        for attempt in &answer.observation.attempts {
            let record = &mut self.records[attempt.test.get()];
            let was_flaky = record.tally.is_mixed();
            if let Some(evidence) = attempt.outcome.evidence() {
                record.tally.add(evidence);
            }
            record.skipped += u64::from(attempt.outcome.kind() == OutcomeKind::Skipped);
            if !was_flaky && record.tally.is_mixed() {
                self.tell(attempt.test, News::Suspected(None));
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
        if !experiment.is_evidence() {
            return;
        }
        let number = match source {
            Source::Run => self.made(experiment, answer),
            Source::Recalled { number } => number,
        };
        self.recorder.renumber(experiment.run, number);
        if let Some(manner) = &answer.manner {
            self.isolation = Some(manner.isolation.clone());
        }
        self.keep_failures(number, answer);
        self.count(number, experiment, answer, source);
        self.progress.ran(self.standing);
    }

    fn found(&mut self, finding: &Finding) {
        if finding.verdict.is_flaky() {
            self.tell(finding.test, News::Found(finding.verdict));
        }
    }
}
