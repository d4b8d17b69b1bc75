//! Writes a campaign down while it goes on, without ever getting in its way.
//!
//! A run is on record before anyone is told that it is over. The write is made right there, not by
//! a thread of its own: it takes a hundredth of what the run took (the history does not wait for
//! the disk, see [`unflake_store`]), and so there is nothing that could be lost between the two.
//!
//! Runs get their numbers here, in the order in which they are recorded. The numbers that an
//! analysis uses mean nothing to anyone else: a campaign that is resumed counts anew, and would
//! give a number to a different run than before. Everything that is shown uses the numbers on
//! record.
//!
//! If the history cannot be written (no space, no permission, another version), recording ends but
//! the campaign goes on; what went wrong is kept for the report.

use std::collections::BTreeMap;

use unflake_adapter::with_causes;
use unflake_known::shaking::{Shaking, Shook};
use unflake_known::{Failure, Findings, Warning, saved};
use unflake_model::{Experiment, Observation, Repetition, RunId, TestIndex};
use unflake_store::{Campaign, CampaignId, Claim, Conclusion, FailureText, Store, StoreError};

use crate::masked;
use crate::world::{Answer, FailedAttempt};

/// The record of one campaign.
#[derive(Debug, Default)]
pub struct Recorder {
    open: Option<Open>,
    trouble: Option<String>,
    numbers: BTreeMap<RunId, RunId>,
    n_numbers: u64,
}

/// A campaign in the history that is ours to write.
#[derive(Debug)]
struct Open {
    store: Store,
    campaign: CampaignId,
    name: String,
    _claim: Claim,
}

impl Recorder {
    /// A recorder that records nothing, because of this error.
    pub fn broken(error: &StoreError) -> Self {
        Self { trouble: Some(with_causes(error)), ..Self::default() }
    }

    /// Records a campaign that begins now.
    pub fn begin(store: Store, campaign: &Campaign<'_>) -> Self {
        Self::try_begin(store, campaign).unwrap_or_else(|error| Self::broken(&error))
    }

    fn try_begin(mut store: Store, campaign: &Campaign<'_>) -> Result<Self, StoreError> {
        let id = store.begin(campaign)?;
        let name = store.summary(id)?.short_id;
        // Nobody else can know of the campaign yet.
        let claim = store.claim(id)?;
        let open = claim.map(|claim| Open { store, campaign: id, name, _claim: claim });
        Ok(Self { open, ..Self::default() })
    }

    /// Resumes a campaign that has used this many numbers.
    pub fn go_on(
        mut store: Store,
        campaign: CampaignId,
        claim: Claim,
        n_numbers: u64,
    ) -> Result<Self, StoreError> {
        store.reopen(campaign)?;
        let name = store.summary(campaign)?.short_id;
        let open = Some(Open { store, campaign, name, _claim: claim });
        Ok(Self { open, n_numbers, ..Self::default() })
    }

    /// Gives a run its number, and writes it down with its failures.
    pub fn record(
        &mut self,
        experiment: &Experiment,
        observation: &Observation,
        failures: &[&FailedAttempt],
    ) -> RunId {
        let number = RunId(self.n_numbers);
        self.n_numbers += 1;
        let experiment = Experiment { run: number, ..experiment.clone() };
        let observation = Observation { run: number, ..observation.clone() };
        self.write(|store, campaign| {
            let kept: Vec<FailedAttempt> = failures.iter().map(|failed| to_keep(failed)).collect();
            let texts: Vec<FailureText<'_>> =
                kept.iter().filter_map(|failure| text(&experiment, failure)).collect();
            store.record(campaign, &experiment, &observation, &texts)
        });
        number
    }

    /// Remembers the number under which a run is on record.
    pub fn renumber(&mut self, run: RunId, number: RunId) {
        self.numbers.insert(run, number);
    }

    /// The number under which a run is on record.
    pub fn number(&self, run: RunId) -> RunId {
        self.numbers.get(&run).copied().unwrap_or(run)
    }

    /// The name of the campaign, if it is on record.
    pub fn name(&self) -> Option<String> {
        self.open.as_ref().map(|open| open.name.clone())
    }

    /// Writes down what was found, and that the campaign is over.
    pub fn finish(&mut self, findings: &Findings) {
        let verdicts: Vec<_> = findings
            .exhibits
            .iter()
            .map(|exhibit| (exhibit.finding.test, exhibit.finding.verdict))
            .collect();
        let ended = findings.ended.slug();
        let findings = saved::write(&masked::findings_to_keep(findings));
        let conclusion = Conclusion { ended, findings: &findings, verdicts: &verdicts };
        self.write(|store, campaign| store.finish(campaign, &conclusion));
    }

    /// Writes down what shaking a test showed.
    pub fn finish_shaking(&mut self, test: TestIndex, shaking: &Shaking) {
        let verdict = shaking.exhibits.iter().find_map(Shook::verdict);
        let verdicts: Vec<_> = verdict.map(|verdict| (test, verdict)).into_iter().collect();
        let (ended, findings) = (shaking.ended.slug(), saved::shaking::write(shaking));
        let conclusion = Conclusion { ended, findings: &findings, verdicts: &verdicts };
        self.write(|store, campaign| store.finish(campaign, &conclusion));
    }

    /// Writes down that a campaign without findings is over.
    pub fn finish_run(&mut self, ended: &str) {
        let conclusion = Conclusion { ended, findings: "", verdicts: &[] };
        self.write(|store, campaign| store.finish(campaign, &conclusion));
    }

    /// What went wrong with recording; returned only once.
    pub fn take_trouble(&mut self) -> Option<Warning> {
        self.trouble.take().map(|reason| Warning::NotRecorded { reason })
    }

    fn write(&mut self, writing: impl FnOnce(&mut Store, CampaignId) -> Result<(), StoreError>) {
        let Some(open) = &mut self.open else { return };
        if let Err(error) = writing(&mut open.store, open.campaign) {
            self.trouble = Some(with_causes(&error));
            self.open = None;
        }
    }
}

/// The failure without secrets, even if the user wants to see them.
fn to_keep(failed: &FailedAttempt) -> FailedAttempt {
    let Failure { message, text } = &failed.failure;
    let failure = Failure { message: masked::to_keep(message), text: masked::to_keep(text) };
    FailedAttempt { failure, ..*failed }
}

fn text<'f>(experiment: &Experiment, failed: &'f FailedAttempt) -> Option<FailureText<'f>> {
    let (position, attempt) = place(experiment, failed)?;
    let (message, text) = (failed.failure.message.as_str(), failed.failure.text.as_str());
    Some(FailureText { position, attempt, message, text })
}

/// The position of an attempt in its run: the position of its test and which attempt of it, if
/// every test runs equally often; else its position among all attempts.
fn place(experiment: &Experiment, failed: &FailedAttempt) -> Option<(usize, usize)> {
    if experiment.repetition == Repetition::Twice {
        return Some((experiment.order.position(failed.test)?, failed.attempt));
    }
    let attempts = experiment.repetition.attempts(&experiment.order);
    let mut places = (0..attempts.len()).filter(|place| attempts[*place] == failed.test);
    places.nth(failed.attempt).map(|place| (place, 0))
}

/// The inverse of [`place`], as far as the test is concerned.
fn test_at(experiment: &Experiment, position: usize) -> Option<TestIndex> {
    match experiment.repetition {
        Repetition::Twice => experiment.order.tests().get(position).copied(),
        repetition => repetition.attempts(&experiment.order).get(position).copied(),
    }
}

/// Runs of a campaign, with what their failures said.
pub fn answers(
    store: &Store,
    campaign: CampaignId,
) -> Result<Vec<(Experiment, Answer)>, StoreError> {
    let mut answers = Vec::new();
    for run in store.runs(campaign)? {
        let (experiment, observation) = run?;
        let said = store.failures_in(campaign, experiment.run)?;
        let failures = said.into_iter().filter_map(|failure| {
            Some(FailedAttempt {
                test: test_at(&experiment, failure.position)?,
                attempt: failure.attempt,
                outcome: failure.outcome,
                failure: Failure { message: failure.message, text: failure.text },
            })
        });
        let answer = Answer::of(observation, failures.collect());
        answers.push((experiment, answer));
    }
    Ok(answers)
}
