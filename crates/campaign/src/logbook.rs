//! What has each test done so far? For the record, for the report, and for progress.

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

/// How many failures of a test keep their texts; the rest are only counted.
const FAILURES_MAX: usize = 10;

/// Receives the progress of a campaign.
pub trait Progress {
    /// A new stage begins.
    fn stage(&mut self, what: &str);

    /// Something that the user should know even if progress is not shown.
    fn note(&mut self, what: &str);

    /// A run is over; this is the new standing.
    fn ran(&mut self, standing: Standing);

    /// Something is known about a test before the campaign ends. The report has the last word.
    fn news(&mut self, _test: &TestId, _news: News) {}
}

/// Something that is known about a test before the campaign ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It passed and failed, or behaved like tests with this verdict.
    Suspected(Option<Verdict>),
    /// It was investigated, and this is its verdict.
    Found(Verdict),
}

/// How a campaign stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// What was spent since the campaign was started.
    pub spent: Spent,
    /// Runs that are evidence, made now or recalled.
    pub n_runs: u64,
    /// Tests that were announced, as suspects or with a verdict.
    pub n_suspected: usize,
    /// The announced tests that have a verdict.
    pub n_found: usize,
    /// Distinct whole orders among the runs; all runs of all tests, where the runner knows no other
    /// order.
    pub n_orders: u64,
    /// The recalled ones among those orders.
    pub n_orders_recalled: u64,
    /// The time taken by those orders that were not recalled.
    pub order_time: Duration,
}

/// Records runs and counts what each test did in them.
pub struct Logbook<'p> {
    /// What each test did, by index.
    pub records: Vec<Record>,
    /// How the campaign stands.
    pub standing: Standing,
    /// Writes runs down.
    pub recorder: Recorder,
    /// Hashes of the whole orders that were run.
    orders: BTreeSet<u64>,
    keeps_order: bool,
    /// The run of the original order, and how each test ended there.
    original: Option<(RunId, Vec<OutcomeKind>)>,
    /// The first run in which a test ended differently than in the original order.
    otherwise: BTreeMap<TestIndex, (RunId, OutcomeKind, Rc<Order>)>,
    /// The suite, if suspects and findings are to be announced at once.
    pub tells: Option<Rc<Suite>>,
    told: BTreeMap<TestIndex, News>,
    /// Runs in which a test failed when run again in the same process, and in no other way.
    failed_again: BTreeMap<TestIndex, RunId>,
    /// The isolation of the last run that was made and not recalled.
    pub isolation: Option<Isolation>,
    progress: &'p mut dyn Progress,
}

impl<'p> Logbook<'p> {
    /// An empty logbook.
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

    /// Announces a test once as a suspect, and once for each verdict it is given.
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

    /// The run that shows how a test fails when it is run again, if the finding is about that.
    pub fn failed_again(&self, finding: &Finding) -> Option<RunId> {
        let is_about_that = finding.verdict == Verdict::Nio;
        self.failed_again.get(&finding.test).copied().filter(|_| is_about_that)
    }

    /// Suspects tests that behaved in this run like tests that are not idempotent or that rely on
    /// open choices.
    fn suspect_by_kind(&mut self, run: RunId, experiment: &Experiment, answer: &Answer) {
        let attempts = &answer.observation.attempts;
        if experiment.repetition == Repetition::Twice {
            for pair in attempts.chunks_exact(2) {
                let ends = [pair[0].outcome.evidence(), pair[1].outcome.evidence()];
                if ends == [Some(Evidence::Pass), Some(Evidence::Fail)] {
                    // The latest run has that test alone, so it is the shortest to repeat.
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

    /// A new stage begins.
    pub fn stage(&mut self, what: &str) {
        self.progress.stage(what);
    }

    /// How each test ended in the original order, and a run in which it ended differently.
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

    /// Notes what a plain run says about the original order, or how it differs from it.
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

    /// Writes down a run that was made just now; returns its number on record.
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
