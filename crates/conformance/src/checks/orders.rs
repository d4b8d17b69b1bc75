//! Which tests there are, and in which order they run.

use unflake_engine::Ending;
use unflake_model::{Order, OrderControl, Outcome, TestIndex};

use crate::experiments::once;
use crate::fixture::{Fixture, N_DIARISTS, Ran, Role, Scene, Terms};
use crate::trial::{Departure, Trial, excluded, outcomes, same, wrong};

pub(crate) fn ids(fixture: &dyn Fixture) -> Result<(), Departure> {
    let trial = Trial::open(fixture, Scene::Odd)?;
    let expected: Vec<String> = fixture.odd().into_iter().map(|odd| odd.id).collect();
    let suite = &trial.suite;
    let came = suite.tests().map(|test| suite.id(test).as_str().to_owned()).collect();
    same("the names of the tests", &expected, &came)?;
    let known = trial.subject.known_ids().unwrap_or_else(|| expected.clone());
    same("the names that are known without an agent", &expected, &known)
}

pub(crate) fn by_name(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Odd)?;
    let mut all = Vec::new();
    for odd in fixture.odd() {
        all.push((trial.find(&odd.id)?, odd.outcome));
    }
    let backwards: Vec<TestIndex> = all.iter().rev().map(|(test, _)| *test).collect();
    if trial.is_possible(&backwards) {
        all.reverse();
    }
    // Among others, and without those beside it.
    let every_other = |first| all.iter().skip(first).step_by(2).copied().collect();
    let selections: [Vec<(TestIndex, Outcome)>; 3] = [every_other(0), every_other(1), all.clone()];
    for selection in selections {
        let (tests, expected): (Vec<_>, Vec<_>) = selection.into_iter().unzip();
        trial.expect(&tests, &expected)?;
    }
    Ok(())
}

/// Diarists by their numbers, and all orders of so many of them that the runner can run.
struct Diarists<'a> {
    trial: Trial<'a>,
    tests: Vec<TestIndex>,
}

impl<'a> Diarists<'a> {
    fn open(fixture: &'a dyn Fixture) -> Result<Self, Departure> {
        let trial = Trial::open_on(fixture, Scene::Calm, &Terms { jobs: 2, ..Terms::default() })?;
        let tests = diarists(&trial)?;
        Ok(Self { trial, tests })
    }

    fn keep_these(&mut self, length: usize) -> Result<(), Departure> {
        let orders = arrangements(N_DIARISTS).into_iter();
        let mut orders: Vec<Vec<usize>> = orders.filter(|order| order.len() == length).collect();
        let tests = |order: &[usize]| -> Vec<TestIndex> {
            order.iter().map(|number| self.tests[number - 1]).collect()
        };
        orders.retain(|order| self.trial.is_possible(&tests(order)));
        let runs = (0..).zip(&orders).map(|(run, order)| once(run, tests(order)));
        let runs: Vec<_> = runs.collect();
        for (order, ran) in orders.iter().zip(self.trial.make(&runs)?) {
            same("the end of a run", &Ending::Complete, &ran.ending)?;
            same(format!("the diary of order {order:?}"), &pages(order), &diary(&ran)?)?;
        }
        same("whether there was an order to keep", &false, &orders.is_empty())
    }
}

pub(crate) fn diarists(trial: &Trial<'_>) -> Result<Vec<TestIndex>, Departure> {
    (1..=N_DIARISTS).map(|number| trial.player(Role::Diarist(number))).collect()
}

/// Each selection of the numbers up to this one, in each order.
fn arrangements(n: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    let mut place = 0;
    while let Some(order) = all.get(place).cloned() {
        let others = (1..=n).filter(|number| !order.contains(number));
        all.extend(others.map(|number| [&order[..], &[number]].concat()));
        place += 1;
    }
    all
}

/// What the diary said each time.
pub(crate) fn diary(ran: &Ran) -> Result<Vec<String>, Departure> {
    let page = |message: &str| {
        let (_, rest) = message.split_once("diary [")?;
        rest.split_once(']').map(|(page, _)| page.to_owned())
    };
    let pages = ran.told.iter().map(|told| {
        let message = &told.failure.message;
        page(message).map_or_else(|| wrong(format!("no diary in `{message}`")), Ok)
    });
    pages.collect()
}

/// What it should say each time, if these write into it in this order.
pub(crate) fn pages(numbers: &[usize]) -> Vec<String> {
    let words: Vec<String> = numbers.iter().map(usize::to_string).collect();
    (1..=words.len()).map(|n| words[..n].join(" ")).collect()
}

pub(crate) fn kept(fixture: &dyn Fixture) -> Result<(), Departure> {
    Diarists::open(fixture)?.keep_these(N_DIARISTS)
}

pub(crate) fn subset(fixture: &dyn Fixture) -> Result<(), Departure> {
    Diarists::open(fixture)?.keep_these(2)
}

pub(crate) fn refused(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    match trial.subject.abilities().control.orders {
        OrderControl::Exact => return excluded("it can keep any order"),
        OrderControl::Classes => {
            return excluded("analyses do not ask it for orders that part a class");
        }
        OrderControl::Fixed => (),
    }
    let mut tests = trial.players(&[Role::Passes, Role::Polluter])?;
    tests.sort_unstable_by(|one, other| other.cmp(one));
    let ran = trial.run(&tests)?;
    let is_refused = matches!(ran.ending, Ending::NotStarted { .. });
    same(format!("whether it was refused, given {:?}", ran.ending), &true, &is_refused)?;
    same("the outcomes", &vec![Outcome::NotRun; 2], &outcomes(&ran))
}

pub(crate) fn empty(fixture: &dyn Fixture) -> Result<(), Departure> {
    let mut trial = Trial::open(fixture, Scene::Calm)?;
    let ran = trial.make_one(&once(0, Order::from_distinct([]).tests()))?;
    same("the end of a run of no tests", &Ending::Complete, &ran.ending)?;
    same("what was told of its tests", &0, &ran.told.len())
}
