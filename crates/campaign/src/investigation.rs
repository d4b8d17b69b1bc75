//! Passes each question to the analysis that answers it, and gives all answers one form.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use unflake_adapter::Abilities;
use unflake_detect::Depth;
use unflake_detect::campaign::{self, campaign};
use unflake_detect::cause::causes;
use unflake_detect::confirm::while_searching::{TriedMeanwhile, trying_meanwhile};
use unflake_detect::idflakies::{self, Class, FailingOriginal, Verify, idflakies};
use unflake_detect::reruns::belief::Rates;
use unflake_detect::reruns::schedule::{Candidate, Exposure, Terms};
use unflake_detect::why::{Known, Plan, why};
use unflake_detect::{Analysis, Lab, reruns};
use unflake_known::Ended;
use unflake_model::{
    Budget, Cause, Dependencies, Finding, Order, OutcomeChange, Spent, Suite, TestIndex, Tried,
    Verdict,
};
use unflake_stats::plan::{rate_detectable, runs_needed};

use crate::begin::Comparison;
use crate::drive::drive;
use crate::question::{Question, Request};
use crate::recall::Recall;
use crate::world::{Finish, Watcher, World};

/// How often the original order is run when something fails in it.
const SET_UP_TRIES: u32 = 3;

/// Before a single test is cleared, whole orders are run for at most this long, summed over all
/// workers: a suite may take an hour.
const ORDERS_TIME_MAX: Duration = Duration::from_mins(10);

/// The question, with what is known before it is investigated.
pub(crate) struct Investigation<'a> {
    pub(crate) request: &'a Request,
    pub(crate) budget: Budget,
    pub(crate) comparison: Comparison,
    pub(crate) suite: &'a Rc<Suite>,
    /// The test in question; `None` asks about all tests.
    pub(crate) target: Option<TestIndex>,
    /// What can be done with the tests.
    pub(crate) abilities: Abilities,
    /// Tests known to leave something behind.
    pub(crate) dirty: Vec<TestIndex>,
    /// What exposes each traced test.
    pub(crate) exposed: BTreeMap<TestIndex, Exposure>,
    /// What earlier campaigns say about the test in question.
    pub(crate) known: Known,
}

impl Investigation<'_> {
    /// What the analysis says; for one test, also what was tried on the way.
    pub(crate) fn run(
        &self,
        world: &mut dyn World,
        recall: &mut Recall,
        watcher: &mut dyn Watcher,
    ) -> (Found, Option<TriedMeanwhile>, Finish) {
        if let Some(test) = self.target {
            return self.why(test, world, recall, watcher);
        }
        let suite = Rc::clone(self.suite);
        let (found, finish) = match self.request.question {
            Question::Rounds(configuration, rounds) => {
                let settings = idflakies::RoundSettings {
                    configuration,
                    rounds,
                    failing_original: FailingOriginal::Compare,
                    verify: Verify::Together,
                    rerun_passing: false,
                    ..idflakies::RoundSettings::of_the_study(self.request.seed)
                };
                let analysis = Analysis::new(suite, self.budget, |lab| in_rounds(lab, settings));
                drive(analysis, world, recall, watcher)
            }
            Question::Reruns(terms) => self.reruns(terms, world, recall, watcher),
            Question::Suite | Question::Test(_) => {
                let settings = self.settings();
                let analysis = Analysis::new(suite, self.budget, |lab| campaign(lab, settings));
                let (report, finish) = drive(analysis, world, recall, watcher);
                (report.into(), finish)
            }
        };
        (found, None, finish)
    }

    fn why(
        &self,
        test: TestIndex,
        world: &mut dyn World,
        recall: &mut Recall,
        watcher: &mut dyn Watcher,
    ) -> (Found, Option<TriedMeanwhile>, Finish) {
        let has_first = self.comparison == Comparison::First;
        let (plan, known) = (self.plan(), self.known.clone());
        let analysis = Analysis::new(Rc::clone(self.suite), self.budget, |lab| async move {
            if has_first {
                // The original order is evidence too, and was run already.
                let _ = lab.run(Order::original(lab.suite())).await;
            }
            Box::pin(trying_meanwhile(lab.clone(), why(lab, test, plan, known))).await
        });
        let ((finding, meanwhile), finish) = drive(analysis, world, recall, watcher);
        let is_short = self.request.depth != Depth::Kind && !finding.is_complete;
        let ended = if is_short { Ended::OutOfBudget } else { Ended::Confident };
        (Found { ended, ..finding.into() }, meanwhile, finish)
    }
}

impl Investigation<'_> {
    fn plan(&self) -> Plan {
        let Request { depth, seed, flake_rate_min, .. } = *self.request;
        let Abilities { hash_seeds, choices, circumstances, .. } = self.abilities;
        Plan {
            depth,
            seed,
            flake_rate_min,
            hash_seeds,
            choices: choices.without(circumstances),
            circumstances,
            orders_time_max: Some(ORDERS_TIME_MAX),
        }
    }

    fn settings(&self) -> campaign::SuiteSettings {
        let Request { depth, seed, flake_rate_min, .. } = *self.request;
        let Abilities { hash_seeds, choices, n_choices, .. } = self.abilities;
        let n_orders = || runs_needed(flake_rate_min, self.budget.confidence());
        let n_choices = n_choices.or_else(n_orders).unwrap_or(u64::MAX);
        campaign::SuiteSettings {
            seed,
            tries: SET_UP_TRIES,
            depth,
            hash_seeds,
            perturbed_runs: if choices.is_empty() { 0 } else { n_choices },
            choices,
            dirty: self.dirty.clone(),
            flake_rate_min,
        }
    }

    /// Looks for tests that fail at random, where a second of running finds most.
    fn reruns(
        &self,
        terms: Terms,
        world: &mut dyn World,
        recall: &mut Recall,
        watcher: &mut dyn Watcher,
    ) -> (Found, Finish) {
        let settings =
            reruns::RerunSettings { seed: self.request.seed, terms, rates: Rates::PUBLISHED };
        let candidate = |test| Candidate {
            duration: self.suite.duration(test),
            exposure: self.exposed.get(&test).cloned().unwrap_or_default(),
            ..Candidate::default()
        };
        let candidates = self.suite.tests().map(candidate).collect();
        let analysis = Analysis::new(Rc::clone(self.suite), self.budget, |lab| {
            reruns::reruns(lab, settings, candidates)
        });
        let (report, finish) = drive(analysis, world, recall, watcher);
        let confidence = self.budget.confidence();
        let found = Found {
            causes: causes(&report.findings),
            findings: report.findings,
            changes: Vec::new(),
            set_up_failing: Vec::new(),
            n_orders: report.n_batches,
            flake_rate_detectable: rate_detectable(report.runs_min, confidence),
            n_seeds: 1,
            ended: match report.ended {
                reruns::RerunEnd::Done(_) => Ended::Confident,
                reruns::RerunEnd::OutOfBudget => Ended::OutOfBudget,
            },
        };
        (found, finish)
    }
}

/// What rounds of one kind of order show, made as iDFlakies makes them.
async fn in_rounds(lab: Lab, settings: idflakies::RoundSettings) -> Found {
    let (rounds, confidence) = (settings.rounds, lab.budget().confidence());
    let report = idflakies(lab.clone(), settings).await;
    let finding = |(test, (class, _)): (&TestIndex, &(Class, Vec<u64>))| {
        let record = *lab.ledger().of(*test);
        Finding {
            test: *test,
            verdict: match class {
                Class::OrderDependent => Verdict::OdUnknownRole,
                Class::NonDeterministic => Verdict::NodUndecided,
            },
            confirmed: true,
            confidence: None,
            tally: record.tally,
            tried: Tried::default(),
            passed_in: record.passed_in,
            failed_in: record.failed_in,
            dependencies: Dependencies::default(),
            is_complete: true,
            contrast: None,
            fails_under: None,
            questions: 0,
            spent: Spent::default(),
        }
    };
    let findings: Vec<Finding> = report.flaky.iter().map(finding).collect();
    Found {
        causes: causes(&findings),
        findings,
        changes: lab.ledger().changes().collect(),
        set_up_failing: report.failing.iter().copied().collect(),
        n_orders: rounds,
        flake_rate_detectable: rate_detectable(rounds, confidence),
        n_seeds: 1,
        ended: if report.is_short { Ended::OutOfBudget } else { Ended::Confident },
    }
}

/// What an analysis found, in the form common to all of them.
pub(crate) struct Found {
    pub(crate) findings: Vec<Finding>,
    pub(crate) causes: Vec<Cause>,
    pub(crate) changes: Vec<OutcomeChange>,
    pub(crate) set_up_failing: Vec<TestIndex>,
    pub(crate) n_orders: u64,
    pub(crate) flake_rate_detectable: f64,
    pub(crate) n_seeds: u64,
    pub(crate) ended: Ended,
}

impl From<campaign::SuiteFindings> for Found {
    fn from(report: campaign::SuiteFindings) -> Self {
        Self {
            findings: report.findings,
            causes: report.causes,
            changes: report.changes,
            set_up_failing: report.set_up.failing,
            n_orders: report.n_orders,
            flake_rate_detectable: report.flake_rate_detectable,
            n_seeds: report.n_seeds,
            ended: match report.ended {
                campaign::SuiteEnd::Confident => Ended::Confident,
                campaign::SuiteEnd::OutOfBudget => Ended::OutOfBudget,
            },
        }
    }
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        Self {
            causes: causes(std::slice::from_ref(&finding)),
            findings: vec![finding],
            changes: Vec::new(),
            set_up_failing: Vec::new(),
            n_orders: 0,
            flake_rate_detectable: 1.0,
            n_seeds: 1,
            ended: Ended::Confident,
        }
    }
}
