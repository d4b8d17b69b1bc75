//! What happened before: campaigns, one test over time, one run.
//!
//! Reads what campaigns have recorded, and never makes anything up: asking for a history that does
//! not exist does not create it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use unflake_adapter::{Call, Part};
use unflake_engine::Level;
use unflake_known::shaking::Shaking;
use unflake_known::suite_run::Known;
use unflake_known::{
    Failure, Findings, KnownFactor, Past, PastCampaign, PastFailure, PastRecord, RunName, saved,
};
use unflake_model::{Environment, Experiment, Observation, RunId, Suite, TestId, Verdict};
use unflake_store::{CampaignId, CampaignSummary, Store, StoreError};

use crate::terms::KeptTerms;

/// How many similar names to suggest for an unknown one.
const SIMILAR_MAX: usize = 5;

/// How many campaigns to search for those that shook a test.
const SHAKEN_MAX: usize = 200;

/// Why the history cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Nothing was recorded yet.
    #[error("there is no history in `{}`", file.display())]
    None {
        /// Where the history would be.
        file: PathBuf,
    },
    /// The history cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What a campaign found is on record, but cannot be read.
    #[error("campaign `{campaign}`: {source}")]
    Unreadable {
        /// The name of the campaign.
        campaign: String,
        /// Why it cannot be read.
        source: saved::Unreadable,
    },
    /// The campaign was a run of the suite, which has no verdicts.
    #[error("campaign `{campaign}` only ran the tests once")]
    NoFindings {
        /// The name of the campaign.
        campaign: String,
    },
    /// The campaign shook a test, so it has circumstances and not findings.
    #[error("campaign `{campaign}` shook a test")]
    Shaken {
        /// The name of the campaign.
        campaign: String,
    },
    /// The campaign was cut off, and has not been finished since.
    #[error("campaign `{campaign}` has not ended: it was killed, or is under way")]
    NotEnded {
        /// The name of the campaign.
        campaign: String,
        /// The command that started it.
        command: String,
    },
    /// No campaign had this test.
    #[error("test `{id}` is in no campaign")]
    UnknownTest {
        /// The name that was asked for.
        id: TestId,
        /// Similar names from the last campaign.
        similar: Vec<TestId>,
    },
    /// The campaign has no such run.
    #[error("campaign `{campaign}` has no run {}: it has {n_runs}", run.0)]
    UnknownRun {
        /// The name of the campaign.
        campaign: String,
        /// The number that was asked for.
        run: RunId,
        /// How many runs the campaign has.
        n_runs: u64,
    },
}

impl HistoryError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::None { .. } => "`unflake detect` makes one; or name another with --store".into(),
            Self::Store(error) => error.hint()?.into(),
            Self::Unreadable { .. } => "update unflake".into(),
            Self::NoFindings { campaign } => {
                format!("`unflake replay {campaign}/0` runs them again in the same order")
            }
            Self::Shaken { campaign } => format!("`unflake history --campaign {campaign}`"),
            Self::NotEnded { command, .. } => format!("`{command}` goes on with it"),
            Self::UnknownTest { similar, .. } if !similar.is_empty() => {
                let names: Vec<&str> = similar.iter().map(TestId::as_str).collect();
                format!("did you mean {}?", names.join(" or "))
            }
            Self::UnknownTest { .. } => "give a test as your runner spells it".into(),
            Self::UnknownRun { .. } => "runs are numbered from 0".into(),
        })
    }
}

/// The history of a project, opened for reading.
#[derive(Debug)]
pub struct History {
    store: Store,
}

/// A campaign that shook a test.
#[derive(Clone, Debug)]
pub struct Shaken {
    campaign: String,
    code: Option<String>,
    shaking: Shaking,
}

impl Shaken {
    /// The factors it found, for a project with this code (`None` if that is unknown).
    pub fn factors(&self, code: Option<&str>) -> Vec<KnownFactor> {
        let is_older = code.is_some() && self.code.as_deref() != code;
        KnownFactor::all(&self.shaking, &self.campaign, is_older)
    }
}

/// A run on record.
#[derive(Clone, Debug)]
pub struct PastRun {
    /// The full name of the run.
    pub name: RunName,
    /// The tests of its campaign.
    pub suite: Suite,
    /// The experiment that was run.
    pub experiment: Experiment,
    /// What was observed.
    pub observation: Observation,
    /// The campaign that made the run.
    pub campaign: CampaignSummary,
}

impl PastRun {
    /// The part as it was for this run, if it must be changed for that: perturbed runs fix what is
    /// decided when an interpreter starts.
    pub fn pinned(&self, part: &dyn Part) -> Option<Box<dyn Part>> {
        match self.experiment.environment {
            Environment::Plain | Environment::Hashed { .. } => None,
            Environment::Perturbed { .. } => part.pinned(),
        }
    }

    fn settings(&self) -> Option<KeptTerms> {
        KeptTerms::parse(&self.campaign.settings)
    }

    /// How the project was called; `None` if that is not on record.
    pub fn call(&self) -> Option<PastCall> {
        let settings = self.settings()?;
        let words = |words: Vec<String>| words.into_iter().map(OsString::from).collect();
        let timeout = u64::try_from(settings.terms.test_timeout_ms).unwrap_or(u64::MAX);
        let call = Call {
            folder: settings.terms.folder.into(),
            program: settings.terms.program.into(),
            manner: settings.terms.manner,
            options: words(settings.terms.options),
            paths: words(settings.terms.paths),
            hash_seed: settings.terms.hash_seed,
        };
        let test_timeout = Duration::from_millis(timeout);
        Some(PastCall { call, levels: settings.levels, test_timeout })
    }
}

/// How a run was made.
#[derive(Clone, Debug)]
pub struct PastCall {
    /// The arguments of the call.
    pub call: Call,
    /// The isolation it ran under.
    pub levels: Vec<Level>,
    /// The time limit for a test.
    pub test_timeout: Duration,
}

impl History {
    /// Opens the history in this file.
    pub fn open(file: &Path) -> Result<Self, HistoryError> {
        if !file.exists() {
            return Err(HistoryError::None { file: file.to_owned() });
        }
        Ok(Self { store: Store::open(file)? })
    }

    /// The last campaigns, newest first; those that shook a test include what they found.
    pub fn campaigns(&self, limit: usize) -> Result<Vec<PastCampaign>, HistoryError> {
        self.store.campaigns(limit)?.into_iter().map(|it| self.campaign(it)).collect()
    }

    fn campaign(&self, campaign: CampaignSummary) -> Result<PastCampaign, HistoryError> {
        let question = question(&campaign);
        let is_shake = question.starts_with("shake ");
        let shaking = is_shake.then(|| self.shaking(&campaign.id.to_string())).transpose()?;
        let exhibits = shaking.flatten().map(|shaking| shaking.exhibits).unwrap_or_default();
        Ok(PastCampaign {
            name: campaign.short_id,
            began_unix_ms: campaign.started_unix_ms,
            question,
            command_line: campaign.command,
            root: campaign.root,
            commit: campaign.commit,
            runner: campaign.runner,
            seed: campaign.seed,
            n_tests: campaign.n_tests,
            n_runs: campaign.n_runs,
            n_attempts: campaign.n_attempts,
            ended: campaign.ended,
            verdicts: campaign.verdicts,
            factors: exhibits.iter().map(|shook| shook.factors.to_string()).collect(),
        })
    }

    /// What a campaign found, as it was shown at the time.
    pub fn findings(&self, selector: &str) -> Result<Findings, HistoryError> {
        let id = self.store.campaign(selector)?;
        let summary = self.store.summary(id)?;
        let campaign = summary.short_id.clone();
        let Some(findings) = self.store.findings(id)? else {
            return Err(HistoryError::NotEnded { campaign, command: summary.command });
        };
        if findings.is_empty() {
            return Err(HistoryError::NoFindings { campaign });
        }
        if saved::shaking::read(&findings).is_some() {
            return Err(HistoryError::Shaken { campaign });
        }
        let suite = Rc::new(self.store.suite(id)?);
        saved::read(&findings, suite)
            .map_err(|source| HistoryError::Unreadable { campaign, source })
    }

    /// What shaking a test showed in a campaign, as it was shown at the time; `None` for other
    /// campaigns.
    pub fn shaking(&self, selector: &str) -> Result<Option<Shaking>, HistoryError> {
        let findings = self.store.findings(self.store.campaign(selector)?)?;
        Ok(findings.and_then(|findings| saved::shaking::read(&findings)))
    }

    /// For each test that was shaken in a campaign of this root (`None`: of any), the newest
    /// result.
    pub fn shaken(&self, root: Option<&str>) -> Result<BTreeMap<TestId, Shaken>, HistoryError> {
        let mut all = BTreeMap::new();
        for campaign in self.store.campaigns(SHAKEN_MAX)? {
            let is_here = root.is_none_or(|root| root == campaign.root);
            if !is_here || !question(&campaign).starts_with("shake ") {
                continue;
            }
            let Some(shaking) = self.shaking(&campaign.id.to_string())? else { continue };
            let code = KeptTerms::parse(&campaign.settings).map(|settings| settings.terms.code);
            let shaken = Shaken { campaign: campaign.short_id, code, shaking };
            all.entry(shaken.shaking.test.clone()).or_insert(shaken);
        }
        Ok(all)
    }

    /// How a test fared in each campaign, and at most this many of its failures.
    pub fn past(&self, test: &TestId, n_failures: usize) -> Result<Past, HistoryError> {
        let records = self.store.test_records(&[test], usize::MAX)?.concat();
        if records.is_empty() {
            return Err(HistoryError::UnknownTest {
                id: test.clone(),
                similar: self.similar(test),
            });
        }
        let mut named = Vec::new();
        for record in records {
            named.push(PastRecord {
                campaign: self.name(record.campaign)?,
                began_unix_ms: record.started_unix_ms,
                commit: record.commit,
                plain: record.plain,
                varied: record.varied,
                verdict: record.verdict,
            });
        }
        let mut failures = Vec::new();
        for failure in self.store.failures_of(test, n_failures)? {
            failures.push(PastFailure {
                run: RunName { campaign: self.name(failure.campaign)?, run: failure.run },
                outcome: failure.outcome,
                failure: Failure { message: failure.message, text: failure.text },
            });
        }
        let shaken = self.shaken(None)?;
        let factors = shaken.get(test).map(|it| it.factors(None)).unwrap_or_default();
        Ok(Past { test: test.clone(), records: named, failures, factors })
    }

    /// What the last campaigns, except this one, know about tests: counts, the last verdict that
    /// says something, and the groups of polluters found with it.
    pub fn known(
        &self,
        tests: &[TestId],
        n_campaigns: usize,
        but: Option<&str>,
    ) -> Result<Vec<Known>, HistoryError> {
        let but = but.map(|name| self.store.campaign(name)).transpose()?;
        let tests: Vec<&TestId> = tests.iter().collect();
        let mut all = Vec::new();
        for (test, records) in tests.iter().zip(self.store.test_records(&tests, n_campaigns)?) {
            let mut known = Known::default();
            for record in records.iter().filter(|record| Some(record.campaign) != but) {
                known.tally.attempts += record.plain.attempts;
                known.tally.failures += record.plain.failures;
                let says_little = |verdict: Verdict| {
                    matches!(verdict, Verdict::NotFlaky | Verdict::InsufficientEvidence)
                };
                let is_vague = known.verdict.as_ref().is_none_or(|(it, _)| says_little(*it));
                let is_first = known.verdict.is_none();
                let verdict = record.verdict.filter(|it| is_first || is_vague && !says_little(*it));
                if let Some(verdict) = verdict {
                    known.verdict = Some((verdict, self.name(record.campaign)?));
                    known.polluters = self.polluters(record.campaign, test);
                }
            }
            // The verdict says that it passed every time, yet other campaigns saw it fail.
            if 0 < known.tally.failures {
                known.verdict = known.verdict.filter(|(it, _)| *it != Verdict::NotFlaky);
            }
            all.push(known);
        }
        Ok(all)
    }

    /// The groups of polluters that a campaign found for a test; none if they cannot be read.
    fn polluters(&self, campaign: CampaignId, test: &TestId) -> Vec<Vec<TestId>> {
        let Ok(findings) = self.findings(&campaign.to_string()) else { return Vec::new() };
        let view = findings.view();
        let exhibit = view.suite.find(test).and_then(|test| view.exhibit(test));
        let groups = exhibit.map(|exhibit| exhibit.finding.dependencies.polluters.as_slice());
        let ids = |group: &Vec<_>| group.iter().map(|test| view.suite.id(*test).clone()).collect();
        groups.unwrap_or_default().iter().map(ids).collect()
    }

    /// A run on record.
    pub fn run(&self, name: &RunName) -> Result<PastRun, HistoryError> {
        let id = self.store.campaign(&name.campaign)?;
        let campaign = self.store.summary(id)?;
        for run in self.store.runs(id)? {
            let (experiment, observation) = run?;
            if experiment.run == name.run {
                let name = RunName { campaign: campaign.short_id.clone(), run: name.run };
                let suite = self.store.suite(id)?;
                return Ok(PastRun { name, suite, experiment, observation, campaign });
            }
        }
        let n_runs = campaign.n_runs;
        Err(HistoryError::UnknownRun { campaign: campaign.short_id, run: name.run, n_runs })
    }

    /// Forgets all but the newest `n_kept` campaigns; returns how many were forgotten.
    pub fn keep_newest(&mut self, n_kept: usize) -> Result<usize, HistoryError> {
        Ok(self.store.prune(n_kept)?)
    }

    /// Forgets all campaigns that began before this time; returns how many were forgotten.
    pub fn forget_before(&mut self, unix_ms: i64) -> Result<usize, HistoryError> {
        let campaigns = self.store.campaigns(usize::MAX)?;
        let is_kept = |campaign: &&CampaignSummary| unix_ms <= campaign.started_unix_ms;
        let n_kept = campaigns.iter().take_while(is_kept).count();
        self.keep_newest(n_kept)
    }

    fn name(&self, campaign: CampaignId) -> Result<String, HistoryError> {
        Ok(self.store.summary(campaign)?.short_id)
    }

    fn similar(&self, test: &TestId) -> Vec<TestId> {
        let latest = self.store.campaign("latest").and_then(|id| self.store.suite(id));
        latest.map(|suite| similar(&suite, test)).unwrap_or_default()
    }
}

/// Tests of a suite whose names end like this one.
pub fn similar(suite: &Suite, id: &TestId) -> Vec<TestId> {
    let name = id.as_str().rsplit("::").next().unwrap_or_default();
    let ids = suite.tests().map(|test| suite.id(test));
    ids.filter(|other| other.as_str().contains(name)).take(SIMILAR_MAX).cloned().collect()
}

/// What a campaign asked, in a word or two; its command line if that is unknown.
fn question(campaign: &CampaignSummary) -> String {
    let asked = KeptTerms::parse(&campaign.settings).map(|settings| settings.terms.question);
    let short = asked.as_deref().and_then(|asked| asked.split("; ").next());
    short.unwrap_or(&campaign.command).to_owned()
}
