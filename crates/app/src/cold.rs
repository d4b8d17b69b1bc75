//! What does the project's own runner say, without us in the process?
//!
//! A dependency is shown as confirmed only after the printed command, run as a user would run it,
//! has shown it three times of three.

use std::collections::BTreeMap;

use unflake_model::{Evidence, Finding, OutcomeKind, Suite, TestId, TestIndex, Verdict};
use unflake_report::Confirmation;

/// Commands shown for one finding.
const COMMANDS_MAX: usize = 3;

/// How often a printed command is tried.
const TRIES: u32 = 3;

/// The project's own runner.
pub trait PlainRunner {
    /// Runs all tests as the project runs them; how each ended.
    fn run_suite(&self) -> Result<BTreeMap<TestId, OutcomeKind>, String>;

    /// Runs these tests in this order; how each ended.
    fn run(&self, tests: &[&TestId]) -> Result<BTreeMap<TestId, OutcomeKind>, String>;

    /// The command a user can paste to do the same.
    fn command(&self, tests: &[&TestId]) -> String;
}

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
        _ => Vec::new(),
    }
}

/// The commands for a finding.
pub fn commands(suite: &Suite, finding: &Finding, runner: &dyn PlainRunner) -> Vec<String> {
    let command = |r: Reproduction| runner.command(&ids(suite, &r.prefix, finding.test));
    reproductions(finding).into_iter().take(COMMANDS_MAX).map(command).collect()
}

/// Tries the commands of a finding that ought to show it every time; `None` for other findings. Of
/// several polluter groups the first is tried: each try starts the runner anew, and a web of twenty
/// polluters would take longer than its search.
pub fn confirm(
    suite: &Suite,
    finding: &Finding,
    runner: &dyn PlainRunner,
) -> Result<Option<Confirmation>, String> {
    if !finding.verdict.is_order_dependent() {
        return Ok(None);
    }
    let mut confirmation = Confirmation { as_predicted: 0, tries: 0 };
    for _ in 0..TRIES {
        for reproduction in reproductions_tried(finding) {
            let outcomes = runner.run(&ids(suite, &reproduction.prefix, finding.test))?;
            let ended = outcomes.get(suite.id(finding.test)).and_then(|kind| kind.evidence());
            confirmation.tries += 1;
            confirmation.as_predicted += u32::from(ended == Some(reproduction.expected));
        }
    }
    Ok((0 < confirmation.tries).then_some(confirmation))
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
