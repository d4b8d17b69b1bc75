//! What does the project's own runner say, without us in the process?
//!
//! A dependency is shown as confirmed only after the printed command, run as a user would run it,
//! has shown it three times out of three.
//!
//! Where starting the runner is dear, findings share its runs. A build tool takes seconds to start,
//! and one polluter can have thirty victims: three tries of each take longer than the search. So
//! victims of the same polluters that are in one class are tried in the same runs: the polluters,
//! then all of these victims. A victim that fails in each of them has failed after its polluters
//! with the other victims in between, which the report mentions. A victim that does not is tried by
//! itself, because another victim may have put the state back.

use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::future::join_all;
use unflake_model::{
    ClassIndex, Confirmation, Environment, Evidence, Finding, Group, NotStarted, Repetition, Tally,
    TestIndex, Verdict,
};

use crate::lab::{Lab, OutOfBudget, PlainAsk, Suspicion};
use crate::ledger::Run;

/// How often a printed command is tried.
pub const TRIES: u32 = 3;

/// Observations less probable than this are not put down to chance.
const UNLIKELY: f64 = 0.01;

/// The minimum number of plain runs for tests that fail at random.
const RANDOM_MIN: u32 = 5;
/// The maximum: a test that fails in a twentieth of its runs is seen to fail in two cases of three.
const RANDOM_MAX: u32 = 20;
/// The maximum where each start of the runner is dear.
const RANDOM_DEAR_MAX: u32 = 5;

/// What the plain runner says; `None` if there was nothing to ask, an error if it could not be
/// asked.
pub type Said = Result<Option<Confirmation>, String>;

/// What victims in one run have in common: whom they fail after, their class, and whether they come
/// after their polluters in the original order. If a runner can run one of them after its
/// polluters, it can then run them all.
type Company = (Group, ClassIndex, bool);

/// What the commands for a finding run, and what they should show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reproduction {
    /// The tests before the one in question.
    pub prefix: Vec<TestIndex>,
    /// How the one in question should end.
    pub expected: Evidence,
}

/// The runs that show a finding: the effect, and its absence if that makes the effect visible.
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

/// The runs that will show a suspicion, if it is true.
pub(crate) fn of_suspicion(suspicion: &Suspicion) -> Vec<Reproduction> {
    let behind = Reproduction { prefix: suspicion.group.clone(), expected: suspicion.behind };
    match suspicion.behind {
        Evidence::Fail => vec![behind],
        Evidence::Pass => {
            vec![Reproduction { prefix: Vec::new(), expected: Evidence::Fail }, behind]
        }
    }
}

/// Tries all findings, in the order given.
pub async fn confirm_all(lab: &Lab, findings: &[Finding], is_dear: bool) -> Vec<Said> {
    let mut shared = if is_dear { shared(lab, findings).await } else { BTreeMap::new() };
    shared.extend(count_random(lab, findings, is_dear).await);
    let mut said = Vec::new();
    for finding in findings {
        said.push(match shared.get(&finding.test) {
            Some(confirmation) => Ok(Some(*confirmation)),
            None => confirm(lab, finding).await,
        });
    }
    said
}

/// Tries the commands of a finding that should show it every time; `None` for other findings. Of
/// several polluter groups the first is tried: each try starts the runner anew, and trying twenty
/// polluters would take longer than the search.
pub async fn confirm(lab: &Lab, finding: &Finding) -> Said {
    if finding.verdict == Verdict::Nio {
        let ask = PlainAsk { repetition: Repetition::Twice, ..PlainAsk::of(vec![finding.test]) };
        return count_shown(lab, &ask, Evidence::Fail).await.map(Some);
    }
    if !finding.verdict.is_order_dependent() {
        return Ok(None);
    }
    let mut tried = reproductions(finding);
    if finding.verdict == Verdict::OdVictim {
        tried.truncate(1);
    }
    let confirmation = try_often(lab, finding.test, &tried).await?;
    Ok((0 < confirmation.tries).then_some(confirmation))
}

/// Tries each reproduction as often as a confirmation requires, all concurrently: each try starts a
/// process and mostly waits for it.
pub(crate) async fn try_often(
    lab: &Lab,
    test: TestIndex,
    reproductions: &[Reproduction],
) -> Result<Confirmation, String> {
    let tries = (0..TRIES).flat_map(|_| reproductions).map(async |it| shows(lab, test, it).await);
    let mut confirmation = Confirmation::default();
    for is_shown in join_all(tries).await {
        confirmation.tries += 1;
        confirmation.as_predicted += u32::from(is_shown?);
    }
    Ok(confirmation)
}

/// Whether a plain run ends as expected.
async fn shows(lab: &Lab, test: TestIndex, it: &Reproduction) -> Result<bool, String> {
    let tests = it.prefix.iter().copied().chain([test]).collect();
    let run = plain(lab, PlainAsk::of(tests)).await?;
    Ok(run.evidence_of(test) == Some(it.expected))
}

/// How often the last test of the request ends like this.
pub(crate) async fn count_shown(
    lab: &Lab,
    ask: &PlainAsk,
    expected: Evidence,
) -> Result<Confirmation, String> {
    let mut confirmation = Confirmation { tries: TRIES, ..Confirmation::default() };
    for _ in 0..TRIES {
        let run = plain(lab, ask.clone()).await?;
        confirmation.as_predicted += u32::from(run.last_evidence() == Some(expected));
    }
    Ok(confirmation)
}

/// A run by the plain runner, or why there was none.
pub(crate) async fn plain(lab: &Lab, ask: PlainAsk) -> Result<Rc<Run>, String> {
    let run = lab.run_plain(ask).await.map_err(|OutOfBudget| "it was interrupted".to_owned())?;
    match &run.not_started {
        Some(NotStarted::Failed(why)) => Err(why.clone()),
        Some(NotStarted::Unable) | None => Ok(run),
    }
}

/// Tries tests that fail in the same circumstances, all in the same runs: starting a build for each
/// would take longer than finding them. `None` if the plain runner cannot be given these
/// circumstances.
pub async fn confirm_perturbed(
    lab: &Lab,
    tests: &[TestIndex],
    environment: Environment,
) -> Result<BTreeMap<TestIndex, Confirmation>, String> {
    let mut confirmed: BTreeMap<TestIndex, Confirmation> = BTreeMap::new();
    for _ in 0..TRIES {
        let run = plain(lab, PlainAsk { environment, ..PlainAsk::of(tests.to_vec()) }).await?;
        if run.not_started.is_some() {
            break;
        }
        for test in tests {
            let confirmation = confirmed.entry(*test).or_default();
            confirmation.tries += 1;
            confirmation.as_predicted += u32::from(run.evidence_of(*test) == Some(Evidence::Fail));
        }
    }
    Ok(confirmed)
}

/// How often tests that fail at random do so under the plain runner, all in the same runs: until
/// each has passed and failed, at most [`RANDOM_MAX`] times.
async fn count_random(
    lab: &Lab,
    findings: &[Finding],
    is_dear: bool,
) -> BTreeMap<TestIndex, Confirmation> {
    let is_random = |finding: &&Finding| {
        finding.verdict.is_non_deterministic() && finding.dependencies.polluters.is_empty()
    };
    let tests: Vec<TestIndex> = findings.iter().filter(is_random).map(|it| it.test).collect();
    if tests.is_empty() {
        return BTreeMap::new();
    }
    let n_max = if is_dear { RANDOM_DEAR_MAX } else { RANDOM_MAX };
    let mut tallies = vec![Tally::default(); tests.len()];
    for number in 0..n_max {
        let is_enough = tallies.iter().all(|tally| tally.is_mixed());
        if RANDOM_MIN <= number && is_enough {
            break;
        }
        // An error is reported with the findings that depend on the order, if there are any.
        let Ok(run) = plain(lab, PlainAsk::of(tests.clone())).await else { break };
        for (tally, test) in tallies.iter_mut().zip(&tests) {
            if let Some(evidence) = run.evidence_of(*test) {
                tally.add(evidence);
            }
        }
    }
    let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let seen = tests.into_iter().zip(tallies).filter(|(_, tally)| 0 < tally.attempts);
    let confirmation = |tally: Tally| Confirmation {
        as_predicted: count(tally.failures),
        tries: count(tally.attempts),
        others: 0,
    };
    seen.map(|(test, tally)| (test, confirmation(tally))).collect()
}

/// Victims that failed in every run they shared.
async fn shared(lab: &Lab, findings: &[Finding]) -> BTreeMap<TestIndex, Confirmation> {
    let mut companies: BTreeMap<Company, Vec<TestIndex>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.verdict == Verdict::OdVictim) {
        let Some(polluters) = finding.dependencies.polluters.first() else { continue };
        let is_behind = polluters.iter().all(|polluter| *polluter < finding.test);
        let company = (polluters.clone(), lab.suite().class_of(finding.test), is_behind);
        companies.entry(company).or_default().push(finding.test);
    }
    let mut confirmed = BTreeMap::new();
    for ((polluters, ..), mut victims) in companies {
        victims.retain(|victim| !polluters.contains(victim));
        victims.sort_unstable();
        if 1 < victims.len() {
            confirmed.extend(confirm_together(lab, &polluters, victims).await);
        }
    }
    confirmed
}

async fn confirm_together(
    lab: &Lab,
    polluters: &[TestIndex],
    mut victims: Vec<TestIndex>,
) -> BTreeMap<TestIndex, Confirmation> {
    let tests: Vec<TestIndex> = polluters.iter().chain(&victims).copied().collect();
    let others = u32::try_from(victims.len() - 1).unwrap_or(u32::MAX);
    for _ in 0..TRIES {
        // An error will recur, and be reported, when they are tried one by one.
        let Ok(run) = plain(lab, PlainAsk::of(tests.clone())).await else {
            return BTreeMap::new();
        };
        victims.retain(|victim| run.evidence_of(*victim) == Some(Evidence::Fail));
        if victims.is_empty() {
            break;
        }
    }
    let confirmation = Confirmation { as_predicted: TRIES, tries: TRIES, others };
    victims.into_iter().map(|victim| (victim, confirmation)).collect()
}

/// Whether the plain runner does not show what was found: isolation may be to blame, if it was not
/// compared with plain runs yet.
pub async fn is_denied(lab: &Lab, finding: &Finding, said: Option<Confirmation>) -> bool {
    if finding.verdict == Verdict::AlwaysFailing {
        let alone = Reproduction { prefix: Vec::new(), expected: Evidence::Fail };
        return shows(lab, finding.test, &alone).await == Ok(false);
    }
    said.is_some_and(|said| contradicts(said, finding.verdict, finding.tally))
}

/// Whether plain runs contradict what was seen. If chance decides, only some runs fail, and if few
/// do, it may well be that none of these did.
fn contradicts(said: Confirmation, verdict: Verdict, seen: Tally) -> bool {
    if !verdict.is_non_deterministic() {
        return said.as_predicted < said.tries;
    }
    let passes = seen.passes() as f64 / seen.attempts.max(1) as f64;
    said.as_predicted == 0 && passes.powf(f64::from(said.tries)) < UNLIKELY
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
        // For all other verdicts, the outcome of each run was predicted.
        assert!(contradicts((2, 3), Verdict::OdVictim, (10, 20)));
        assert!(!contradicts((3, 3), Verdict::OdVictim, (10, 20)));
    }
}
