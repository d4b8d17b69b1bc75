//! Puts findings to the test: asks the plain runner, and looks for what is behind them.
//!
//! | module | question it answers |
//! |---|---|
//! | [`plain`] | does the project's own runner show what was found? |
//! | [`state`] | which state do a test and those it depends on share? |
//! | [`imports`] | does it fail because some file is merely collected? |
//! | [`while_searching`] | what can be tried and named while the search still goes on? |
//!
//! The plain runner has its own processes. So while it runs, the agent looks for the state behind
//! each dependency, and stops when time is up.

pub mod imports;
pub mod plain;
pub mod state;
pub mod while_searching;

use std::cell::Cell;
use std::collections::BTreeMap;

use futures_util::future::join;
use unflake_model::{Environment, Finding, StateChange, StateKind, TestIndex};

use crate::choices::{DecidingChoice, decided};
use crate::confirm::imports::{File, Imports};
use crate::confirm::plain::{Said, confirm_all, confirm_perturbed, is_denied};
use crate::confirm::state::{Dependency, shared_state};
use crate::confirm::while_searching::TriedMeanwhile;
use crate::lab::{Lab, OutOfBudget};

/// A finding, and how it fared when it was put to the test.
#[derive(Clone, Debug)]
pub struct Tested {
    /// The finding, as the plain runner sees it if that differs.
    pub finding: Finding,
    /// What the plain runner says about the finding.
    pub said: Said,
    /// The state behind the finding, as far as it is known.
    pub state: Vec<StateChange>,
    /// The open choices behind the finding.
    pub choices: Vec<DecidingChoice>,
    /// Sets of files, by number, each of which makes the test fail when collected.
    pub guilty_files: Vec<Vec<File>>,
    /// Whether the plain runner denies it; false if it was not asked.
    pub is_denied: bool,
}

impl Tested {
    /// A finding that was not put to the test.
    pub fn not_tested(finding: Finding) -> Self {
        Self {
            finding,
            said: Ok(None),
            state: Vec::new(),
            choices: Vec::new(),
            guilty_files: Vec::new(),
            is_denied: false,
        }
    }
}

/// What limits the tests that findings are put to.
#[derive(Clone, Debug, Default)]
pub struct ConfirmTerms {
    /// Whether starting the plain runner takes much longer than the tests do.
    pub is_dear: bool,
    /// Whether the search ran out of its budget: then only necessary questions are asked.
    pub is_short: bool,
    /// The kinds of state that are watched; without any, none is named.
    pub watches: &'static [StateKind],
    /// Whether to ask the plain runner once more about what it might deny.
    pub asks_denial: bool,
    /// The file of each test, by number.
    pub files: Vec<File>,
}

/// Puts findings to the test; the first one may have been tried already, during the search.
pub async fn put_to_test(
    lab: Lab,
    findings: Vec<Finding>,
    meanwhile: Option<TriedMeanwhile>,
    limits: ConfirmTerms,
) -> Vec<Tested> {
    let is_confirmed = Cell::new(false);
    let said = async {
        let said = match said_early(&findings, meanwhile.as_ref()) {
            Some(said) => vec![said],
            None => confirm_all(&lab, &findings, limits.is_dear).await,
        };
        is_confirmed.set(true);
        said
    };
    let is_over = || limits.is_short && is_confirmed.get();
    let states = async {
        if limits.watches.is_empty() {
            return Vec::new();
        }
        states(&lab, &findings, meanwhile.as_ref(), is_over).await
    };
    let (said, states) = join(said, states).await;
    let tested = |(finding, said)| Tested { said, ..Tested::not_tested(finding) };
    let mut tested: Vec<Tested> = findings.into_iter().zip(said).map(tested).collect();
    for (tested, state) in tested.iter_mut().zip(states) {
        tested.state = state;
    }
    if !limits.is_short {
        // If runs are used up, fewer choices are named.
        let _ = try_choices(&lab, &mut tested).await;
    }
    try_imports(&lab, &mut tested, &limits).await;
    if limits.asks_denial {
        for it in &mut tested {
            let said = it.said.clone().ok().flatten();
            it.is_denied = is_denied(&lab, &it.finding, said).await;
        }
    }
    tested
}

fn said_early(findings: &[Finding], meanwhile: Option<&TriedMeanwhile>) -> Option<Said> {
    let ([finding], Some(meanwhile)) = (findings, meanwhile) else { return None };
    meanwhile.said(finding)
}

/// The state behind each finding, for as many of them as time allows.
async fn states(
    lab: &Lab,
    findings: &[Finding],
    meanwhile: Option<&TriedMeanwhile>,
    is_over: impl Fn() -> bool,
) -> Vec<Vec<StateChange>> {
    if let ([finding], Some(meanwhile)) = (findings, meanwhile)
        && let Some(state) = meanwhile.state(finding)
    {
        return state.into_iter().collect();
    }
    let mut states = Vec::new();
    for dependency in findings.iter().map(Dependency::found) {
        states.push(match dependency {
            Some(_) if is_over() => break,
            Some(dependency) => match shared_state(lab, dependency).await {
                Ok(state) => state,
                Err(OutOfBudget) => break,
            },
            None => Vec::new(),
        });
    }
    states
}

/// Looks for the open choices behind findings that fail in other circumstances, and tries these
/// with the plain runner.
async fn try_choices(lab: &Lab, tested: &mut [Tested]) -> Result<(), OutOfBudget> {
    let mut together: BTreeMap<Environment, Vec<TestIndex>> = BTreeMap::new();
    for it in tested.iter_mut() {
        let Some(environment) = it.finding.fails_under else { continue };
        together.entry(environment).or_default().push(it.finding.test);
        it.choices = decided(lab, it.finding.test, environment).await?;
    }
    for (environment, tests) in together {
        let confirmed = confirm_perturbed(lab, &tests, environment).await;
        let is_of = |it: &&mut Tested| it.finding.fails_under == Some(environment);
        // What was said about it in plain circumstances takes precedence.
        let is_open = |it: &&mut Tested| is_of(it) && it.said == Ok(None);
        for it in tested.iter_mut().filter(is_open) {
            it.said = match &confirmed {
                Ok(confirmed) => Ok(confirmed.get(&it.finding.test).copied()),
                Err(reason) => Err(reason.clone()),
            };
        }
    }
    Ok(())
}

/// Restates findings that the plain runner denies as that runner sees them, if files explain them.
async fn try_imports(lab: &Lab, tested: &mut [Tested], limits: &ConfirmTerms) {
    let mut imports = Imports::new(lab.clone(), limits.files.clone());
    for it in tested {
        if let Some(stumbles) = imports.explain(&it.finding, &it.said).await {
            it.finding = stumbles.finding;
            it.said = stumbles.said;
            it.guilty_files = stumbles.guilty;
            it.state = Vec::new();
        }
    }
}
