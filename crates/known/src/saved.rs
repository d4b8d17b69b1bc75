//! Findings of a campaign as text that can be read back and shown again.
//!
//! The other formats are for readers; this one is for the history. It holds everything that a
//! [`View`](crate::View) shows except the suite and what each single test did, which the history
//! has already. Tests are numbers here, their positions in the suite.
//!
//! New programs read old histories: keys are only ever added, each with a default, and a text with
//! a newer [`VERSION`] is refused with that reason instead of being half understood.

pub mod shaking;

use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unflake_model::{
    Cause, CleanersOf, Confidence, Contrast, Control, Dependencies, Environment, Factor, Factors,
    Finding, Group, OutcomeChange, OutcomeKind, RunId, Spent, Suite, Tally, TestIndex, Tried,
    Verdict,
};

use crate::{
    Choice, Confirmation, Ended, Exhibit, Failure, Findings, KnownFactor, Origin, PlainAnswer,
    State, Warning,
};

/// The version of the format.
pub const VERSION: u32 = 1;

/// Why a text cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// A newer program wrote it.
    #[error("the findings were written by a newer unflake (version {found}, known is {VERSION})")]
    TooNew {
        /// The version of the text.
        found: u32,
    },
    /// The text has another form, or is damaged.
    #[error("the findings cannot be read: {0}")]
    Malformed(String),
}

/// The findings as a text.
pub fn write(findings: &Findings) -> String {
    serde_json::to_string(&Saved::of(findings)).expect("strings and finite numbers only")
}

/// Reads the findings for this suite back from a text.
pub fn read(text: &str, suite: Rc<Suite>) -> Result<Findings, Unreadable> {
    let malformed = |error: serde_json::Error| Unreadable::Malformed(error.to_string());
    let Header { version } = serde_json::from_str(text).map_err(malformed)?;
    if VERSION < version {
        return Err(Unreadable::TooNew { found: version });
    }
    let saved: Saved = serde_json::from_str(text).map_err(malformed)?;
    saved.restore(suite).ok_or_else(|| Unreadable::Malformed("a value is out of range".to_owned()))
}

#[derive(Deserialize)]
struct Header {
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    ended: String,
    exhibits: Vec<SavedExhibit>,
    causes: Vec<SavedCause>,
    changes: Vec<SavedChange>,
    set_up_failing: Vec<usize>,
    warnings: Vec<Warning>,
    spent: SavedSpent,
    n_recalled: u64,
    wall_micros: u64,
    n_orders: u64,
    /// Whether the runner kept an order of its own, so that all of these were the same one.
    #[serde(default)]
    keeps_order: bool,
    flake_rate_detectable: f64,
    #[serde(default)]
    n_seeds: u64,
    confidence: f64,
    origin: SavedOrigin,
}

#[derive(Serialize, Deserialize)]
struct SavedExhibit {
    test: usize,
    verdict: String,
    confirmed: bool,
    confidence: Option<f64>,
    tally: SavedTally,
    #[serde(default)]
    tried: SavedTried,
    #[serde(default)]
    fails_under: Option<SavedEnvironment>,
    passed_in: Option<u64>,
    failed_in: Option<u64>,
    polluters: Vec<Vec<usize>>,
    cleaners: Vec<(Vec<usize>, Vec<usize>)>,
    state_setters: Vec<Vec<usize>>,
    is_complete: bool,
    contrast: Option<(SavedTally, SavedTally)>,
    questions: u64,
    spent: SavedSpent,
    reproduce: Vec<String>,
    cold_confirmed: Option<(u32, u32)>,
    #[serde(default)]
    cold_others: u32,
    #[serde(default)]
    cold_refused: Option<String>,
    failure: Option<(String, String)>,
    state: Vec<SavedState>,
    #[serde(default)]
    choices: Vec<SavedChoice>,
    #[serde(default)]
    factors: Vec<SavedFactor>,
}

#[derive(Serialize, Deserialize)]
struct SavedFactor {
    factors: Vec<String>,
    how: Vec<String>,
    with: SavedTally,
    without: SavedTally,
    makes_it_fail: bool,
    cause: Option<String>,
    command: Option<String>,
    campaign: String,
    is_of_older_code: bool,
}

impl SavedFactor {
    fn of(known: &KnownFactor) -> Self {
        Self {
            factors: known.factors.iter().map(|it| it.slug().to_owned()).collect(),
            how: known.how.clone(),
            with: tally(known.with),
            without: tally(known.without),
            makes_it_fail: known.makes_it_fail,
            cause: known.cause.map(|cause| cause.slug().to_owned()),
            command: known.command.clone(),
            campaign: known.campaign.clone(),
            is_of_older_code: known.is_of_older_code,
        }
    }

    fn restore(self) -> Option<KnownFactor> {
        let factors = self.factors.iter().map(|name| name.parse::<Factor>().ok());
        Some(KnownFactor {
            factors: factors.collect::<Option<_>>()?,
            how: self.how,
            with: restored_tally(self.with),
            without: restored_tally(self.without),
            makes_it_fail: self.makes_it_fail,
            cause: self.cause.and_then(|slug| slug.parse().ok()),
            command: self.command,
            campaign: self.campaign,
            is_of_older_code: self.is_of_older_code,
        })
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct SavedTried {
    runs: u64,
    orders: u64,
    seeds: u64,
    neighbours: u64,
    changed: u64,
    factors: u32,
}

impl SavedTried {
    fn of(Tried { runs, orders, seeds, neighbours, changed, factors }: Tried) -> Self {
        Self { runs, orders, seeds, neighbours, changed, factors: factors.bits() }
    }

    fn restore(self) -> Option<Tried> {
        let Self { runs, orders, seeds, neighbours, changed, factors } = self;
        let factors = Factors::from_bits(factors)?;
        Some(Tried { runs, orders, seeds, neighbours, changed, factors })
    }
}

/// Without factors, only the hash seed differs.
#[derive(Serialize, Deserialize)]
struct SavedEnvironment {
    factors: Option<u32>,
    seed: u64,
}

impl SavedEnvironment {
    fn of(environment: Environment) -> Option<Self> {
        match environment {
            Environment::Plain => None,
            Environment::Hashed { seed } => Some(Self { factors: None, seed }),
            Environment::Perturbed { factors, seed } => {
                Some(Self { factors: Some(factors.bits()), seed })
            }
        }
    }

    fn restore(self) -> Option<Environment> {
        let seed = self.seed;
        match self.factors {
            None => Some(Environment::Hashed { seed }),
            Some(bits) => {
                let factors = Factors::from_bits(bits)?;
                Some(Environment::Perturbed { factors, seed })
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
struct SavedChoice {
    api: String,
    place: String,
    test: Option<String>,
    number: u64,
    n: u64,
}

impl SavedChoice {
    fn of(choice: &Choice) -> Self {
        let Choice { api, place, test, number, n } = choice.clone();
        Self { api, place, test, number, n }
    }

    fn restore(self) -> Choice {
        let Self { api, place, test, number, n } = self;
        Choice { api, place, test, number, n }
    }
}

#[derive(Serialize, Deserialize)]
struct SavedState {
    place: String,
    kind: String,
    before: Option<String>,
    after: Option<String>,
}

impl SavedState {
    fn of(State { place, kind, before, after }: &State) -> Self {
        let (place, kind) = (place.clone(), kind.slug().to_owned());
        Self { place, kind, before: before.clone(), after: after.clone() }
    }

    /// `None` for a kind that only another version knows: the finding is shown without it.
    fn restore(self) -> Option<State> {
        let Self { place, kind, before, after } = self;
        Some(State { place, kind: kind.parse().ok()?, before, after })
    }
}

#[derive(Serialize, Deserialize)]
struct SavedCause {
    culprits: Vec<usize>,
    tests: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
struct SavedChange {
    test: usize,
    first: (u64, String),
    later: (u64, String),
}

#[derive(Serialize, Deserialize)]
struct SavedOrigin {
    runner: String,
    runner_version: String,
    seed: u64,
    #[serde(default)]
    hash_seed: Option<u64>,
    command: String,
    campaign: Option<String>,
    #[serde(default)]
    lent: Vec<(u64, String)>,
    #[serde(default)]
    between: Option<String>,
}

/// Numbers of runs, attempts, microseconds.
type SavedSpent = (u64, u64, u64);
/// Numbers of failures, attempts.
type SavedTally = (u64, u64);

impl Saved {
    fn of(findings: &Findings) -> Self {
        let causes = findings.causes.iter();
        let change = |change: &OutcomeChange| {
            let ending = |(run, kind): (RunId, OutcomeKind)| (run.0, kind.as_str().to_owned());
            let (first, later) = (ending(change.first), ending(change.later));
            SavedChange { test: change.test.get(), first, later }
        };
        let origin = findings.origin.clone();
        Self {
            version: VERSION,
            ended: findings.ended.slug().to_owned(),
            exhibits: findings.exhibits.iter().map(SavedExhibit::of).collect(),
            causes: causes
                .map(|it| SavedCause { culprits: places(&it.culprits), tests: places(&it.tests) })
                .collect(),
            changes: findings.changes.iter().map(change).collect(),
            set_up_failing: places(&findings.set_up_failing),
            warnings: findings.warnings.clone(),
            spent: spent(findings.spent),
            n_recalled: findings.n_recalled,
            wall_micros: micros(findings.wall_time),
            n_orders: findings.n_orders,
            keeps_order: findings.suite.keeps_order(),
            flake_rate_detectable: findings.flake_rate_detectable,
            n_seeds: findings.n_seeds,
            confidence: findings.confidence.get(),
            origin: SavedOrigin {
                runner: origin.runner,
                runner_version: origin.runner_version,
                seed: origin.seed,
                hash_seed: origin.hash_seed,
                command: origin.command,
                campaign: origin.campaign,
                between: origin.between,
                lent: origin.lent.into_iter().map(|(run, name)| (run.0, name)).collect(),
            },
        }
    }

    /// `None` if it refers to something that does not exist: a test, a verdict, a probability.
    fn restore(self, suite: Rc<Suite>) -> Option<Findings> {
        let n_tests = suite.n_tests();
        let suite = if self.keeps_order {
            Rc::new(Rc::unwrap_or_clone(suite).controlled(Control::FIXED))
        } else {
            suite
        };
        let cause = |it: SavedCause| {
            let (culprits, tests) = (tests(it.culprits, n_tests)?, tests(it.tests, n_tests)?);
            Some(Cause { culprits, tests })
        };
        let change = |it: SavedChange| {
            let (first, later) = (ending(it.first)?, ending(it.later)?);
            Some(OutcomeChange { test: test(it.test, n_tests)?, first, later })
        };
        let exhibits = self.exhibits.into_iter().map(|it| it.restore(n_tests));
        Some(Findings {
            exhibits: exhibits.collect::<Option<_>>()?,
            causes: self.causes.into_iter().map(cause).collect::<Option<_>>()?,
            changes: self.changes.into_iter().map(change).collect::<Option<_>>()?,
            set_up_failing: tests(self.set_up_failing, n_tests)?,
            records: Vec::new(),
            warnings: self.warnings,
            spent: restored_spent(self.spent),
            n_recalled: self.n_recalled,
            wall_time: Duration::from_micros(self.wall_micros),
            n_orders: self.n_orders,
            flake_rate_detectable: self.flake_rate_detectable,
            n_seeds: self.n_seeds,
            confidence: Confidence::new(self.confidence).ok()?,
            ended: Ended::ALL.into_iter().find(|ended| ended.slug() == self.ended)?,
            origin: Origin {
                runner: self.origin.runner,
                runner_version: self.origin.runner_version,
                seed: self.origin.seed,
                hash_seed: self.origin.hash_seed,
                command: self.origin.command,
                campaign: self.origin.campaign,
                between: self.origin.between,
                lent: self.origin.lent.into_iter().map(|(n, name)| (RunId(n), name)).collect(),
            },
            suite,
        })
    }
}

impl SavedExhibit {
    fn of(exhibit: &Exhibit) -> Self {
        let finding = &exhibit.finding;
        let Dependencies { polluters, cleaners, state_setters } = &finding.dependencies;
        let groups = |groups: &[Group]| groups.iter().map(|group| places(group)).collect();
        let failure = exhibit.failure.as_ref();
        let state = exhibit.state.iter();
        Self {
            test: finding.test.get(),
            verdict: finding.verdict.slug().to_owned(),
            confirmed: finding.confirmed,
            confidence: finding.confidence.map(Confidence::get),
            tally: tally(finding.tally),
            tried: SavedTried::of(finding.tried),
            fails_under: finding.fails_under.and_then(SavedEnvironment::of),
            passed_in: finding.passed_in.map(|run| run.0),
            failed_in: finding.failed_in.map(|run| run.0),
            polluters: groups(polluters),
            cleaners: cleaners
                .iter()
                .map(|of| (places(&of.polluters), places(&of.cleaners)))
                .collect(),
            state_setters: groups(state_setters),
            is_complete: finding.is_complete,
            contrast: finding.contrast.map(|it| (tally(it.alone), tally(it.after_group))),
            questions: finding.questions,
            spent: spent(finding.spent),
            reproduce: exhibit.reproduce.clone(),
            cold_confirmed: exhibit.plain.said().map(|it| (it.as_predicted, it.tries)),
            cold_others: exhibit.plain.said().map_or(0, |it| it.others),
            cold_refused: match &exhibit.plain {
                PlainAnswer::Refused(reason) => Some(reason.clone()),
                PlainAnswer::NotAsked | PlainAnswer::Said(_) => None,
            },
            failure: failure.map(|it| (it.message.clone(), it.text.clone())),
            state: state.map(SavedState::of).collect(),
            choices: exhibit.choices.iter().map(SavedChoice::of).collect(),
            factors: exhibit.factors.iter().map(SavedFactor::of).collect(),
        }
    }

    fn restore(self, n_tests: usize) -> Option<Exhibit> {
        let groups = |groups: Vec<Vec<usize>>| {
            groups.into_iter().map(|group| tests(group, n_tests)).collect::<Option<Vec<Group>>>()
        };
        let cleaners_of = |(polluters, cleaners)| {
            let (polluters, cleaners) = (tests(polluters, n_tests)?, tests(cleaners, n_tests)?);
            Some(CleanersOf { polluters, cleaners })
        };
        let finding = Finding {
            test: test(self.test, n_tests)?,
            verdict: Verdict::ALL.into_iter().find(|it| it.slug() == self.verdict)?,
            confirmed: self.confirmed,
            confidence: self.confidence.and_then(|it| Confidence::new(it).ok()),
            tally: restored_tally(self.tally),
            tried: self.tried.restore()?,
            passed_in: self.passed_in.map(RunId),
            failed_in: self.failed_in.map(RunId),
            dependencies: Dependencies {
                polluters: groups(self.polluters)?,
                cleaners: self.cleaners.into_iter().map(cleaners_of).collect::<Option<_>>()?,
                state_setters: groups(self.state_setters)?,
            },
            is_complete: self.is_complete,
            fails_under: match self.fails_under {
                None => None,
                Some(saved) => Some(saved.restore()?),
            },
            contrast: self.contrast.map(|(alone, after_group)| Contrast {
                alone: restored_tally(alone),
                after_group: restored_tally(after_group),
            }),
            questions: self.questions,
            spent: restored_spent(self.spent),
        };
        let others = self.cold_others;
        let said = |(as_predicted, tries)| Confirmation { as_predicted, tries, others };
        let cold = match (self.cold_confirmed, self.cold_refused) {
            (Some(counts), _) => PlainAnswer::Said(said(counts)),
            (None, Some(reason)) => PlainAnswer::Refused(reason),
            (None, None) => PlainAnswer::NotAsked,
        };
        Some(Exhibit {
            finding,
            reproduce: self.reproduce,
            plain: cold,
            failure: self.failure.map(|(message, text)| Failure { message, text }),
            state: self.state.into_iter().filter_map(SavedState::restore).collect(),
            choices: self.choices.into_iter().map(SavedChoice::restore).collect(),
            factors: self.factors.into_iter().filter_map(SavedFactor::restore).collect(),
            // The history keeps orders with their runs.
            seen: None,
        })
    }
}

fn places(tests: &[TestIndex]) -> Vec<usize> {
    tests.iter().map(|test| test.get()).collect()
}

fn tests(places: Vec<usize>, n_tests: usize) -> Option<Vec<TestIndex>> {
    places.into_iter().map(|place| test(place, n_tests)).collect()
}

fn test(place: usize, n_tests: usize) -> Option<TestIndex> {
    (place < n_tests).then(|| TestIndex::new(place))
}

fn ending((run, word): (u64, String)) -> Option<(RunId, OutcomeKind)> {
    let kind = OutcomeKind::ALL.into_iter().find(|kind| kind.as_str() == word)?;
    Some((RunId(run), kind))
}

fn tally(tally: Tally) -> SavedTally {
    (tally.failures, tally.attempts)
}

fn restored_tally((failures, attempts): SavedTally) -> Tally {
    Tally { failures, attempts }
}

fn spent(spent: Spent) -> SavedSpent {
    (spent.runs, spent.attempts, micros(spent.time))
}

fn restored_spent((runs, attempts, micros): SavedSpent) -> Spent {
    Spent { runs, attempts, time: Duration::from_micros(micros) }
}

/// In microseconds, at most `u64::MAX`, which is more than half a million years.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
