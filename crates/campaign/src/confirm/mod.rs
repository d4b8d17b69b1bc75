//! What does the project's own runner say, without us in the process?
//!
//! A dependency is shown as confirmed only after the printed command, run as a user would run it,
//! has shown it three times of three.

pub(crate) mod ahead;
mod choice;
mod imports;
pub(crate) mod state;
mod together;
pub(crate) mod trial;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use unflake_adapter::PlainRunner;
use unflake_detect::Suspicion;
use unflake_known::{Confirmation, Exhibit};
use unflake_model::{
    Environment, Evidence, Finding, OutcomeKind, Suite, Tally, TestId, TestIndex, Verdict,
};

/// Commands shown for one finding.
const COMMANDS_MAX: usize = 3;

/// How often a printed command is tried.
pub const TRIES: u32 = 3;

/// What is seen with less than this probability is not put down to chance.
const UNLIKELY: f64 = 0.01;

/// What the commands for a finding are, and what they should show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reproduction {
    /// The tests before the one in question.
    pub prefix: Vec<TestIndex>,
    /// How the one in question should end.
    pub expected: Evidence,
}

/// The runs that show a finding: the effect, and where it makes the effect visible, its absence.
pub fn reproductions(finding: &Finding) -> Vec<Reproduction> {
    let after = |prefix: &[TestIndex], expected| Reproduction { prefix: prefix.to_vec(), expected };
    let dependencies = &finding.dependencies;
    match finding.verdict {
        Verdict::OdVictim | Verdict::Ndod if !dependencies.polluters.is_empty() => {
            dependencies.polluters.iter().map(|group| after(group, Evidence::Fail)).collect()
        }
        Verdict::OdBrittle => {
            let setters = dependencies.state_setters.iter().take(1);
            let passes = setters.map(|group| after(group, Evidence::Pass));
            [after(&[], Evidence::Fail)].into_iter().chain(passes).collect()
        }
        Verdict::Ndod | Verdict::Ndoi | Verdict::NodUndecided | Verdict::AlwaysFailing => {
            vec![after(&[], Evidence::Fail)]
        }
        Verdict::OdVictim
        | Verdict::OdUnknownRole
        | Verdict::Id
        | Verdict::Env
        | Verdict::Nio
        | Verdict::Ud
        | Verdict::InsufficientEvidence
        | Verdict::NotFlaky => Vec::new(),
    }
}

/// The runs that will show what is suspected, if it is true.
pub(crate) fn of_suspicion(suspicion: &Suspicion) -> Vec<Reproduction> {
    let behind = Reproduction { prefix: suspicion.group.clone(), expected: suspicion.behind };
    match suspicion.behind {
        Evidence::Fail => vec![behind],
        Evidence::Pass => {
            vec![Reproduction { prefix: Vec::new(), expected: Evidence::Fail }, behind]
        }
    }
}

/// The commands for a finding.
pub fn commands(suite: &Suite, finding: &Finding, runner: &dyn PlainRunner) -> Vec<String> {
    if finding.verdict == Verdict::Nio {
        return runner.command_twice(suite.id(finding.test)).into_iter().collect();
    }
    if let Some(environment) = finding.fails_under {
        let command = runner.command_perturbed(suite.id(finding.test), environment);
        return command.into_iter().collect();
    }
    let command = |r: Reproduction| runner.command(&ids(suite, &r.prefix, finding.test));
    reproductions(finding).into_iter().take(COMMANDS_MAX).filter_map(command).collect()
}

/// Tries the commands of a finding that ought to show it every time; `None` for other findings. Of
/// several polluter groups the first is tried: each try starts the runner anew, and a web of twenty
/// polluters would take longer than its search.
pub fn confirm(
    suite: &Suite,
    finding: &Finding,
    runner: &dyn PlainRunner,
) -> Result<Option<Confirmation>, String> {
    if finding.verdict == Verdict::Nio {
        return confirm_twice(suite, finding, runner).map(Some);
    }
    if !finding.verdict.is_order_dependent() {
        return Ok(None);
    }
    let confirmation = try_often(suite, finding.test, &reproductions_tried(finding), runner)?;
    Ok((0 < confirmation.tries).then_some(confirmation))
}

/// Tries each reproduction as often as a confirmation asks for.
pub(crate) fn try_often(
    suite: &Suite,
    test: TestIndex,
    reproductions: &[Reproduction],
    runner: &dyn PlainRunner,
) -> Result<Confirmation, String> {
    let all = Mutex::new((0..TRIES).flat_map(|_| reproductions));
    let next = || all.lock().unwrap_or_else(PoisonError::into_inner).next();
    let try_on = || -> Result<Confirmation, String> {
        let mut confirmation = Confirmation::default();
        while let Some(reproduction) = next() {
            confirmation.tries += 1;
            confirmation.as_predicted += u32::from(shows(suite, test, reproduction, runner)?);
        }
        Ok(confirmation)
    };
    // Each try starts a process and mostly waits for it. The tries of one are begun together, so
    // that none is still to be waited for when all else is done.
    let n_cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let width = if runner.is_dear() { n_cores } else { n_cores.max(TRIES as usize) };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..width).map(|_| scope.spawn(try_on)).collect();
        let mut confirmation = Confirmation::default();
        for worker in workers {
            let of_one = worker.join().map_err(|_| "it could not be watched".to_owned())??;
            confirmation.tries += of_one.tries;
            confirmation.as_predicted += of_one.as_predicted;
        }
        Ok(confirmation)
    })
}

/// Tries tests that fail under the same circumstances, all at once: to start a build for each would
/// take longer than to find them. Says nothing where the plain runner cannot be given these.
pub fn confirm_perturbed(
    suite: &Suite,
    tests: &[TestIndex],
    environment: Environment,
    runner: &dyn PlainRunner,
) -> Result<BTreeMap<TestIndex, Confirmation>, String> {
    let ids: Vec<&TestId> = tests.iter().map(|test| suite.id(*test)).collect();
    let took = tests.iter().map(|test| suite.duration(*test)).sum();
    let mut confirmed: BTreeMap<TestIndex, Confirmation> = BTreeMap::new();
    for _ in 0..TRIES {
        let Some(ended) = runner.run_perturbed(&ids, environment, took)? else { break };
        for test in tests {
            let evidence = ended.get(suite.id(*test)).and_then(|kind| kind.evidence());
            let confirmation = confirmed.entry(*test).or_default();
            confirmation.tries += 1;
            confirmation.as_predicted += u32::from(evidence == Some(Evidence::Fail));
        }
    }
    Ok(confirmed)
}

/// Whether the plain runner shows what it should.
fn shows(
    suite: &Suite,
    test: TestIndex,
    Reproduction { prefix, expected }: &Reproduction,
    runner: &dyn PlainRunner,
) -> Result<bool, String> {
    let took = prefix.iter().chain([&test]).map(|test| suite.duration(*test)).sum();
    let outcomes = runner.run(&ids(suite, prefix, test), took)?;
    let ended = outcomes.get(suite.id(test)).and_then(|kind| kind.evidence());
    Ok(ended == Some(*expected))
}

/// Whether the plain runner does not show what was found: isolation may be to blame, which nobody
/// has compared with plain runs yet.
pub fn is_denied(suite: &Suite, exhibit: &Exhibit, runner: &dyn PlainRunner) -> bool {
    let finding = &exhibit.finding;
    if finding.verdict == Verdict::AlwaysFailing {
        let alone = Reproduction { prefix: Vec::new(), expected: Evidence::Fail };
        return shows(suite, finding.test, &alone, runner) == Ok(false);
    }
    exhibit.cold.said().is_some_and(|said| contradicts(said, finding.verdict, finding.tally))
}

/// Whether plain runs ended otherwise than what was seen lets expect. Of what is left to chance
/// only some fail, and where few do, it may well be that none did.
fn contradicts(said: Confirmation, verdict: Verdict, seen: Tally) -> bool {
    if !verdict.is_non_deterministic() {
        return said.as_predicted < said.tries;
    }
    let passes = seen.passes() as f64 / seen.attempts.max(1) as f64;
    said.as_predicted == 0 && passes.powf(f64::from(said.tries)) < UNLIKELY
}

/// Tries a test twice in one process.
fn confirm_twice(
    suite: &Suite,
    finding: &Finding,
    runner: &dyn PlainRunner,
) -> Result<Confirmation, String> {
    count_shown(|| {
        let took = suite.duration(finding.test) * 2;
        let ended = runner.run_twice(suite.id(finding.test), took)?;
        Ok(ended.and_then(OutcomeKind::evidence) == Some(Evidence::Fail))
    })
}

/// Tries something as often as a confirmation asks for.
pub(crate) fn count_shown(
    mut is_shown: impl FnMut() -> Result<bool, String>,
) -> Result<Confirmation, String> {
    let mut confirmation = Confirmation { tries: TRIES, ..Confirmation::default() };
    for _ in 0..TRIES {
        confirmation.as_predicted += u32::from(is_shown()?);
    }
    Ok(confirmation)
}

fn reproductions_tried(finding: &Finding) -> Vec<Reproduction> {
    let mut all = reproductions(finding);
    if finding.verdict == Verdict::OdVictim {
        all.truncate(1);
    }
    all
}

fn ids<'s>(suite: &'s Suite, prefix: &[TestIndex], test: TestIndex) -> Vec<&'s TestId> {
    prefix.iter().chain([&test]).map(|test| suite.id(*test)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_fails_at_random_is_denied_only_by_plain_runs_that_all_pass_against_all_odds() {
        let contradicts = |(as_predicted, tries), verdict, (failures, attempts)| {
            let said = Confirmation { as_predicted, tries, others: 0 };
            contradicts(said, verdict, Tally { failures, attempts })
        };
        assert!(!contradicts((2, 5), Verdict::Ndoi, (78, 160)));
        assert!(!contradicts((20, 20), Verdict::NodUndecided, (150, 160)));
        assert!(!contradicts((0, 20), Verdict::Ndoi, (2, 160)));
        assert!(contradicts((0, 20), Verdict::Ndoi, (78, 160)));
        // Of all others each run was foreseen.
        assert!(contradicts((2, 3), Verdict::OdVictim, (10, 20)));
        assert!(!contradicts((3, 3), Verdict::OdVictim, (10, 20)));
    }
}
