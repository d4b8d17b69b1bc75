//! What do earlier campaigns know that asked a different question?
//!
//! A question about one test mostly follows one about all of them. That campaign has run this test
//! alone, and after the tests it depends on, often enough to confirm it; if only the question
//! differs, these runs are evidence here too. They are lent: given back when the analysis asks for
//! the same experiment. To make it ask, it is given the groups of tests that earlier campaigns
//! found ([`leads`]), even on older code: a hint only needs to be near.
//!
//! Only runs that end with the test in question are lent: those were made for its sake. Campaigns
//! of the very same question lend nothing, since asking again means wanting to see it again.

use unflake_engine::Level;
use unflake_known::{Warning, saved};
use unflake_model::{Experiment, Group, Repetition, Suite, Tally, TestId, TestIndex};
use unflake_store::{CampaignId, Store, StoreError};

use crate::record::answers;
use crate::terms::{KeptTerms, Terms};
use crate::world::Answer;

/// How many campaigns to look at.
const CAMPAIGNS_MAX: usize = 20;

/// How many runs to borrow: more than any confirmation asks for.
const RUNS_MAX: usize = 2_000;

/// How many runs to make at most before giving up on a test that was seen to flake.
const FLAKED_IN_MAX: u64 = 500;

/// How many groups to suggest.
const LEADS_MAX: usize = 16;

/// What earlier campaigns lend.
#[derive(Debug, Default)]
pub(crate) struct Lent {
    /// The runs, each with its name.
    pub(crate) runs: Vec<(String, Experiment, Answer)>,
    /// The isolation of these runs and the warnings that led to it; `None` if there are no runs.
    pub(crate) isolation: Option<(Vec<Level>, Vec<Warning>)>,
    /// How the test fared in all runs of these campaigns, whatever their purpose.
    pub(crate) tally: Tally,
}

impl Lent {
    /// The number of runs in which it was seen, up to a bound; `None` unless it flaked in them.
    pub(crate) fn flaked_in(&self) -> Option<u64> {
        self.tally.is_mixed().then(|| self.tally.attempts.min(FLAKED_IN_MAX))
    }

    fn count(&mut self, experiment: &Experiment, answer: &Answer, test: TestIndex) {
        if experiment.environment.is_perturbed() || experiment.repetition != Repetition::Once {
            return;
        }
        let attempts = answer.observation.attempts.iter().filter(|it| it.test == test);
        for evidence in attempts.filter_map(|it| it.outcome.evidence()) {
            self.tally.add(evidence);
        }
    }
}

/// What campaigns of the same terms, except for the question, lend for a test, newest first; all
/// were made under the isolation of the newest.
pub(crate) fn lent(
    store: &Store,
    root: &str,
    terms: &Terms,
    test: TestIndex,
) -> Result<Lent, StoreError> {
    let mut lent = Lent::default();
    for campaign in store.campaigns(CAMPAIGNS_MAX)? {
        let settings = KeptTerms::parse(&campaign.settings).filter(|_| campaign.root == root);
        let Some(settings) = settings.filter(|it| it.terms.lends_to(terms)) else { continue };
        let is_other = |(levels, _): &(Vec<Level>, _)| *levels != settings.levels;
        if lent.isolation.as_ref().is_some_and(is_other) {
            continue;
        }
        let n_before = lent.runs.len();
        for (experiment, answer) in answers(store, campaign.id)? {
            lent.count(&experiment, &answer, test);
            if is_for(&experiment, test) && 0 < answer.cost().attempts {
                let name = format!("{}/{}", campaign.short_id, experiment.run.0);
                lent.runs.push((name, experiment, answer));
            }
        }
        if n_before < lent.runs.len() && lent.isolation.is_none() {
            lent.isolation = Some((settings.levels, settings.warnings));
        }
        if RUNS_MAX <= lent.runs.len() {
            break;
        }
    }
    lent.runs.truncate(RUNS_MAX);
    Ok(lent)
}

/// Whether a run was made for the sake of this test.
fn is_for(experiment: &Experiment, test: TestIndex) -> bool {
    let tests = experiment.order.tests();
    tests.last() == Some(&test)
        || (experiment.repetition != Repetition::Once && tests.contains(&test))
}

/// Groups of tests of this suite that a test was found to depend on, newest first; a history that
/// cannot be read has none.
pub(crate) fn leads(store: &Store, suite: &Suite, test: TestIndex) -> Vec<Group> {
    let id = suite.id(test);
    let records = store.test_records(&[id], CAMPAIGNS_MAX).unwrap_or_default().concat();
    let mut leads: Vec<Group> = Vec::new();
    for record in records.iter().filter(|record| record.verdict.is_some()) {
        for group in groups(store, record.campaign, id) {
            let here: Option<Group> = group.iter().map(|id| suite.find(id)).collect();
            leads.extend(here.filter(|group| !leads.contains(group)));
        }
    }
    leads.truncate(LEADS_MAX);
    leads
}

/// The groups of polluters or of state-setters that a campaign found for a test; none if they
/// cannot be read.
fn groups(store: &Store, campaign: CampaignId, test: &TestId) -> Vec<Vec<TestId>> {
    let findings = || {
        let suite = store.suite(campaign).ok()?;
        saved::read(&store.findings(campaign).ok()??, suite.into()).ok()
    };
    let Some(findings) = findings() else { return Vec::new() };
    let view = findings.view();
    let Some(exhibit) = view.suite.find(test).and_then(|test| view.exhibit(test)) else {
        return Vec::new();
    };
    let found = &exhibit.finding.dependencies;
    let ids = |group: &Group| group.iter().map(|test| view.suite.id(*test).clone()).collect();
    found.polluters.iter().chain(&found.state_setters).map(ids).collect()
}
