//! One check on one project: what it asks, and how it says what is wrong.

use std::fmt::Debug;

use unflake_engine::Ending;
use unflake_model::{
    Environment, Experiment, Order, OrderControl, Outcome, Phase, Repetition, Suite, TestIndex,
};

use crate::experiments::{experiment, once};
use crate::fixture::{Fixture, Ran, Role, Scene, Subject, Terms};

pub(crate) const PASSED: Outcome = Outcome::Passed;
pub(crate) const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

/// Why a check did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// It does not apply to this adapter, which says so itself.
    Excluded(String),
    /// The adapter does something else than it should.
    Wrong(String),
}

/// Does not apply, for this reason.
pub(crate) fn excluded<T>(why: impl Into<String>) -> Result<T, Departure> {
    Err(Departure::Excluded(why.into()))
}

pub(crate) fn wrong<T>(what: impl Into<String>) -> Result<T, Departure> {
    Err(Departure::Wrong(what.into()))
}

/// Holds what came against what was expected.
pub(crate) fn same<T: Debug + PartialEq>(
    what: impl AsRef<str>,
    expected: &T,
    came: &T,
) -> Result<(), Departure> {
    if expected == came {
        return Ok(());
    }
    wrong(format!("{}: expected {expected:?}, came {came:?}", what.as_ref()))
}

/// A project under a check.
pub(crate) struct Trial<'a> {
    pub(crate) fixture: &'a dyn Fixture,
    pub(crate) subject: Box<dyn Subject + 'a>,
    pub(crate) suite: Suite,
}

impl<'a> Trial<'a> {
    pub(crate) fn open(fixture: &'a dyn Fixture, scene: Scene) -> Result<Self, Departure> {
        Self::open_on(fixture, scene, &Terms::default())
    }

    pub(crate) fn open_on(
        fixture: &'a dyn Fixture,
        scene: Scene,
        terms: &Terms,
    ) -> Result<Self, Departure> {
        match fixture.open(scene, terms) {
            Ok(subject) => Ok(Self { fixture, suite: subject.suite(), subject }),
            Err(why) => wrong(format!("the project {scene:?} is not opened: {why}")),
        }
    }

    /// The test that plays a role.
    pub(crate) fn player(&self, role: Role) -> Result<TestIndex, Departure> {
        let id = player(self.fixture, role)?;
        self.find(&id)
    }

    pub(crate) fn players(&self, roles: &[Role]) -> Result<Vec<TestIndex>, Departure> {
        roles.iter().map(|role| self.player(*role)).collect()
    }

    pub(crate) fn find(&self, id: &str) -> Result<TestIndex, Departure> {
        let found = id.parse().ok().and_then(|id| self.suite.find(&id));
        found.map_or_else(|| wrong(format!("`{id}` was not collected")), Ok)
    }

    /// The names of tests, for messages.
    pub(crate) fn names(&self, tests: &[TestIndex]) -> String {
        let names: Vec<String> =
            tests.iter().map(|test| format!("`{}`", self.suite.id(*test))).collect();
        names.join(", ")
    }

    /// Whether the runner says that it can run these tests in this order.
    pub(crate) fn is_possible(&self, tests: &[TestIndex]) -> bool {
        match self.subject.abilities().control.orders {
            OrderControl::Exact => true,
            OrderControl::Classes => {
                Order::from_distinct(tests.to_vec()).is_class_compatible(&self.suite)
            }
            OrderControl::Fixed => tests.is_sorted(),
        }
    }

    /// Makes runs: as many answers as questions, each under its number.
    pub(crate) fn make(&mut self, experiments: &[Experiment]) -> Result<Vec<Ran>, Departure> {
        let ran = match self.subject.make(experiments) {
            Ok(ran) => ran,
            Err(why) => return wrong(format!("the runs were not made: {why}")),
        };
        let asked: Vec<u64> = experiments.iter().map(|it| it.run.0).collect();
        same("the runs that came back", &asked, &ran.iter().map(|ran| ran.run.0).collect())?;
        for (experiment, ran) in experiments.iter().zip(&ran) {
            let expected = experiment.repetition.attempts(&experiment.order);
            same("the attempts of a run", &expected, &tests(ran))?;
        }
        Ok(ran)
    }

    /// Makes one run.
    pub(crate) fn make_one(&mut self, experiment: &Experiment) -> Result<Ran, Departure> {
        let mut ran = self.make(std::slice::from_ref(experiment))?;
        ran.pop().map_or_else(|| wrong("a run did not come back"), Ok)
    }

    pub(crate) fn run(&mut self, tests: &[TestIndex]) -> Result<Ran, Departure> {
        self.make_one(&once(0, tests))
    }

    /// Tests that are run more than once.
    pub(crate) fn repeat(
        &mut self,
        tests: &[TestIndex],
        repetition: Repetition,
    ) -> Result<Ran, Departure> {
        self.make_one(&experiment(0, tests, Environment::Plain, repetition))
    }

    /// Makes a run that is to come to its end with these outcomes.
    pub(crate) fn expect(
        &mut self,
        tests: &[TestIndex],
        expected: &[Outcome],
    ) -> Result<Ran, Departure> {
        let ran = self.run(tests)?;
        self.hold(&ran, tests, expected)?;
        Ok(ran)
    }

    /// Holds a run that is to have come to its end against these outcomes.
    pub(crate) fn hold(
        &self,
        ran: &Ran,
        tests: &[TestIndex],
        expected: &[Outcome],
    ) -> Result<(), Departure> {
        let what = format!("a run of {}", self.names(tests));
        same(format!("the end of {what}"), &Ending::Complete, &ran.ending)?;
        same(format!("the outcomes of {what}"), &expected.to_vec(), &outcomes(ran))
    }
}

/// The name of the test that plays a role.
pub(crate) fn player(fixture: &dyn Fixture, role: Role) -> Result<String, Departure> {
    fixture.player(role).map_err(|why| Departure::Excluded(why.to_owned()))
}

pub(crate) fn outcomes(ran: &Ran) -> Vec<Outcome> {
    ran.attempts.iter().map(|(_, outcome)| *outcome).collect()
}

fn tests(ran: &Ran) -> Vec<TestIndex> {
    ran.attempts.iter().map(|(test, _)| *test).collect()
}
