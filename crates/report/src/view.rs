//! Everything a finished or interrupted campaign knows, in one value.
//!
//! Built by whoever ran the campaign; read by every format. No part has a default: a format that
//! shows nothing where something was forgotten would mislead.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use unflake_model::{
    Cause, Confidence, Finding, OutcomeChange, OutcomeKind, RunId, Spent, Suite, Tally, TestIndex,
};

use crate::{KnownFactor, Warning};

/// Everything a finished or interrupted campaign knows.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// All tests.
    pub suite: &'a Suite,
    /// What was found, each finding with what belongs to it; in any order.
    pub exhibits: &'a [Exhibit],
    /// Findings that share a root cause. A finding that stands in none is a cause of its own.
    pub causes: &'a [Cause],
    /// Tests that ended in different ways, whatever that means.
    pub changes: &'a [OutcomeChange],
    /// Tests that failed in the last of the set-up runs, in the original order.
    pub set_up_failing: &'a [TestIndex],
    /// What each test did, at the test's position in the suite. A test past the end never ran.
    pub records: &'a [Record],
    /// What limits the answer.
    pub warnings: &'a [Warning],
    /// What was spent, summed over all workers.
    pub spent: Spent,
    /// How many runs of an earlier, unfinished start served as evidence, at no cost.
    pub n_recalled: u64,
    /// How long it took on the clock of the wall.
    pub wall_time: Duration,
    /// How many whole orders were run.
    pub n_orders: u64,
    /// A test with this flake rate would have been seen to fail with [`View::confidence`].
    pub flake_rate_detectable: f64,
    /// Under how many hash seeds tests were run, each in an order of its own; 1 if not varied.
    pub n_seeds: u64,
    /// The confidence asked for; also that of the intervals.
    pub confidence: Confidence,
    /// Why the campaign looked no further.
    pub ended: Ended,
    /// What was run, to run it again.
    pub origin: &'a Origin,
}

/// What a [`View`] shows, as a value of its own.
#[derive(Clone, Debug)]
pub struct Study {
    /// See [`View::suite`].
    pub suite: Rc<Suite>,
    /// See [`View::exhibits`].
    pub exhibits: Vec<Exhibit>,
    /// See [`View::causes`].
    pub causes: Vec<Cause>,
    /// See [`View::changes`].
    pub changes: Vec<OutcomeChange>,
    /// See [`View::set_up_failing`].
    pub set_up_failing: Vec<TestIndex>,
    /// See [`View::records`].
    pub records: Vec<Record>,
    /// See [`View::warnings`].
    pub warnings: Vec<Warning>,
    /// See [`View::spent`].
    pub spent: Spent,
    /// See [`View::n_recalled`].
    pub n_recalled: u64,
    /// See [`View::wall_time`].
    pub wall_time: Duration,
    /// See [`View::n_orders`].
    pub n_orders: u64,
    /// See [`View::flake_rate_detectable`].
    pub flake_rate_detectable: f64,
    /// See [`View::n_seeds`].
    pub n_seeds: u64,
    /// See [`View::confidence`].
    pub confidence: Confidence,
    /// See [`View::ended`].
    pub ended: Ended,
    /// See [`View::origin`].
    pub origin: Origin,
}

impl Study {
    /// To be shown.
    pub fn view(&self) -> View<'_> {
        View {
            suite: &self.suite,
            exhibits: &self.exhibits,
            causes: &self.causes,
            changes: &self.changes,
            set_up_failing: &self.set_up_failing,
            records: &self.records,
            warnings: &self.warnings,
            spent: self.spent,
            n_recalled: self.n_recalled,
            wall_time: self.wall_time,
            n_orders: self.n_orders,
            flake_rate_detectable: self.flake_rate_detectable,
            n_seeds: self.n_seeds,
            confidence: self.confidence,
            ended: self.ended,
            origin: &self.origin,
        }
    }
}

/// A finding, with what was made of it.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// The finding.
    pub finding: Finding,
    /// Commands to paste into a shell, which show the effect with the project's own runner.
    pub reproduce: Vec<String>,
    /// What these commands showed when they were tried, without us in the process.
    pub cold: Cold,
    /// How it failed, once.
    pub failure: Option<Failure>,
    /// Where the tests share state, as far as that is known.
    pub state: Vec<State>,
    /// Which open choices it depends on, as far as that is known: one, or the first and the last
    /// of several that matter together.
    pub choices: Vec<Choice>,
    /// What an earlier `shake` found to change how it ends.
    pub factors: Vec<KnownFactor>,
    /// How it ended in the original order, and an order in which it ended otherwise.
    pub seen: Option<(Seen, Seen)>,
}

/// How a test ended in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How.
    pub outcome: OutcomeKind,
    /// The order, up to the test.
    pub order: Vec<TestIndex>,
    /// In which run.
    pub run: RunId,
}

/// A choice that the language leaves open, such as the order of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What of the language is asked: `java.util.HashMap$KeySet.iterator`.
    pub api: String,
    /// Who asks: `com.acme.Receipt.text(Receipt.java:28)`.
    pub place: String,
    /// The line of the test that led there, if that is another place.
    pub test: Option<String>,
    /// Its number among all choices of the run, from 1.
    pub number: u64,
    /// How many there were.
    pub n: u64,
}

/// What the project's own runner says about a finding. One value, so that what it shows never
/// stands beside that it could not be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cold {
    /// Nothing: it was not asked.
    #[default]
    NotAsked,
    /// Nothing: it could not be asked, for this reason.
    Refused(String),
    /// This.
    Said(Confirmation),
}

impl Cold {
    /// What it showed, if it was asked.
    pub fn said(&self) -> Option<Confirmation> {
        match self {
            Self::Said(confirmation) => Some(*confirmation),
            Self::NotAsked | Self::Refused(_) => None,
        }
    }

    /// Whether it was asked, and showed what was found every time.
    pub fn is_shown(&self) -> bool {
        self.said().is_some_and(Confirmation::is_complete)
    }
}

impl From<Result<Option<Confirmation>, String>> for Cold {
    fn from(answer: Result<Option<Confirmation>, String>) -> Self {
        match answer {
            Ok(Some(confirmation)) => Self::Said(confirmation),
            Ok(None) => Self::NotAsked,
            Err(reason) => Self::Refused(reason),
        }
    }
}

/// What came of trying the printed commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// How often the test ended as predicted.
    pub as_predicted: u32,
    /// How often it was tried.
    pub tries: u32,
    /// How many other victims of the same polluters ran in the same processes, before or after it.
    pub others: u32,
}

/// How an attempt failed, in the runner's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The short form.
    pub message: String,
    /// The long form: traceback, captured output.
    pub text: String,
}

/// A place that tests share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The place, as the language spells it: `shop.config.SETTINGS['currency']`.
    pub place: String,
    /// What sort of place it is: `global`, `file`, `environment` …
    pub kind: String,
    /// What was there before the tests it depends on, if anything was.
    pub before: Option<String>,
    /// What they left there, if anything.
    pub after: Option<String>,
}

/// What one test did in the plain environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Passes and failures.
    pub tally: Tally,
    /// How often it was skipped.
    pub skipped: u64,
    /// The failed attempts that were kept, in the order in which they were made.
    pub failures: Vec<FailedAttempt>,
}

/// One attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// In which run.
    pub run: RunId,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// What was said about it.
    pub failure: Failure,
}

/// Why a campaign looked no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Enough was run for the confidence asked for.
    Confident,
    /// The budget did not cover more.
    OutOfBudget,
    /// It was told to stop.
    Interrupted,
}

/// What was run, to run it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The project's own runner: `pytest`.
    pub runner: String,
    /// Its version.
    pub runner_version: String,
    /// The seed of all orders.
    pub seed: u64,
    /// How strings were hashed, if we decided it: a number for `PYTHONHASHSEED`.
    pub hash_seed: Option<u64>,
    /// The command line that started the campaign.
    pub command: String,
    /// The name of the campaign in the history; `None` where it is not kept.
    pub campaign: Option<String>,
    /// Runs of other campaigns that served as evidence, by their numbers here: their names.
    pub lent: BTreeMap<RunId, String>,
}

impl Origin {
    /// Of a runner as it names itself: `pytest 8.3.1`.
    pub fn new(runner: &str, seed: u64, command: &str, campaign: Option<String>) -> Self {
        let (runner, version) = runner.split_once(' ').unwrap_or((runner, ""));
        Self {
            runner: runner.to_owned(),
            runner_version: version.to_owned(),
            seed,
            hash_seed: None,
            command: command.to_owned(),
            campaign,
            lent: BTreeMap::new(),
        }
    }

    /// The first number of runs that are lent: no campaign has as many of its own.
    pub const LENT: RunId = RunId(1_000_000_000_000);

    /// A run as it is given to `unflake replay`: campaign and number, or the number alone where
    /// there is no history to find it in.
    pub fn run_name(&self, run: RunId) -> String {
        if let Some(name) = self.lent.get(&run) {
            return name.clone();
        }
        match &self.campaign {
            Some(campaign) => format!("{campaign}/{}", run.0),
            None => run.0.to_string(),
        }
    }
}

impl<'a> View<'a> {
    /// What is shown about this test, if anything.
    pub fn exhibit(&self, test: TestIndex) -> Option<&'a Exhibit> {
        self.exhibits.iter().find(|exhibit| exhibit.finding.test == test)
    }
}

impl Exhibit {
    /// Whether the finding was put to the test again and nothing contradicted it since. Of one that
    /// depends on the order the commands must have shown it; of a test that fails at random they
    /// promise nothing.
    pub fn is_confirmed(&self) -> bool {
        let is_tried = self.cold.said().is_some() || self.reproduce.is_empty();
        let needs_trial = self.finding.verdict.is_order_dependent();
        self.finding.confirmed && !self.is_contradicted() && (is_tried || !needs_trial)
    }

    /// Whether the commands did not show what they promise.
    pub(crate) fn is_contradicted(&self) -> bool {
        !self.finding.verdict.is_non_deterministic()
            && self.cold.said().is_some_and(|confirmation| !confirmation.is_complete())
    }
}

impl Confirmation {
    /// Whether it was tried, and ended as predicted every time.
    pub fn is_complete(self) -> bool {
        0 < self.tries && self.as_predicted == self.tries
    }
}

impl Ended {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Confident, Self::OutOfBudget, Self::Interrupted];

    /// The name in machine-readable formats.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Confident => "confident",
            Self::OutOfBudget => "out-of-budget",
            Self::Interrupted => "interrupted",
        }
    }
}
