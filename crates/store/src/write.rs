//! Writing: a campaign begins, its runs are recorded one by one, it ends.
//!
//! Every write is one transaction that locks the file from its start: what it checks still holds
//! when it writes, and a file that a newer program has changed in the meantime is left alone.

use std::collections::BTreeMap;

use rusqlite::{Connection, TransactionBehavior, named_params};
use unflake_model::{Attempt, Evidence, Experiment, Observation, OutcomeKind, Repetition, Suite};

use crate::campaign::{Campaign, CampaignId, Conclusion, FailureText};
use crate::columns::integer;
use crate::error::{StoreError, StoreErrorKind};
use crate::names::Names;
use crate::pack::suite::Entry;
use crate::recording::Recording;
use crate::store::Store;
use crate::{failures, pack, read, schema};

impl Store {
    /// Begins a campaign and returns its name.
    pub fn begin(&mut self, campaign: &Campaign<'_>) -> Result<CampaignId, StoreError> {
        let begun = write(&mut self.connection, |db| {
            let entries = intern(db, campaign.suite)?;
            let id = free_id(db, campaign)?;
            let row = insert_campaign(db, id, campaign, &entries)?;
            let tests = entries.iter().map(|entry| entry.test).collect();
            Ok(Recording { campaign: id, row, tests })
        });
        let recording = self.doing(begun, || format!("begin campaign `{}`", campaign.command))?;
        let id = recording.campaign;
        self.recording = Some(recording);
        Ok(id)
    }

    /// Records a run and the texts of its failed attempts. When this returns, the run survives the
    /// death of the process.
    pub fn record(
        &mut self,
        campaign: CampaignId,
        experiment: &Experiment,
        observation: &Observation,
        texts: &[FailureText<'_>],
    ) -> Result<(), StoreError> {
        let recorded = self.try_record(campaign, experiment, observation, texts);
        self.doing(recorded, || format!("record run {} of campaign `{campaign}`", experiment.run.0))
    }

    /// Ends a campaign. Findings of an earlier end are replaced.
    pub fn finish(
        &mut self,
        campaign: CampaignId,
        conclusion: &Conclusion<'_>,
    ) -> Result<(), StoreError> {
        let finished = self.try_finish(campaign, conclusion);
        self.doing(finished, || format!("end campaign `{campaign}`"))
    }

    /// Reopens a campaign that has ended, so that runs can be added. Its findings stay until it
    /// ends again.
    pub fn reopen(&mut self, campaign: CampaignId) -> Result<(), StoreError> {
        let reopened = write(&mut self.connection, |db| {
            let sql = "UPDATE campaigns SET ended = NULL WHERE name = ?1";
            match db.execute(sql, [campaign.to_string()])? {
                0 => Err(StoreErrorKind::Unknown { selector: campaign.to_string() }),
                _ => Ok(()),
            }
        });
        self.doing(reopened, || format!("take up campaign `{campaign}` again"))
    }

    fn try_record(
        &mut self,
        campaign: CampaignId,
        experiment: &Experiment,
        observation: &Observation,
        texts: &[FailureText<'_>],
    ) -> Result<(), StoreErrorKind> {
        if !pack::run::is_answer(experiment, observation) {
            return Err(StoreErrorKind::NotAnAnswer);
        }
        let recording = recording(&mut self.recording, &self.connection, campaign)?;
        for test in experiment.order.tests() {
            recording.test(test.get())?;
        }
        let packed = pack::run::pack(experiment, observation);
        write(&mut self.connection, |db| {
            recording.check_open(db)?;
            let run = insert_run(db, recording.row, observation, &packed)?;
            for failure in texts {
                let attempt = failed_attempt(experiment, observation, failure)?;
                let test = recording.test(attempt.test.get())?;
                failures::insert(db, (run, test), attempt.outcome, failure)?;
            }
            Ok(())
        })
    }

    fn try_finish(
        &mut self,
        campaign: CampaignId,
        conclusion: &Conclusion<'_>,
    ) -> Result<(), StoreErrorKind> {
        let recording = recording(&mut self.recording, &self.connection, campaign)?;
        write(&mut self.connection, |db| {
            recording.check_open(db)?;
            let sql = "UPDATE campaigns SET ended = ?2, findings = ?3 WHERE id = ?1";
            db.execute(sql, (recording.row, conclusion.ended, conclusion.findings))?;
            db.execute("DELETE FROM verdicts WHERE campaign = ?1", [recording.row])?;
            let sql = "INSERT INTO verdicts (campaign, test, verdict) VALUES (?1, ?2, ?3)";
            let mut insert = db.prepare_cached(sql)?;
            for (test, verdict) in conclusion.verdicts {
                insert.execute((recording.row, recording.test(test.get())?, verdict.slug()))?;
            }
            Ok(())
        })
    }
}

/// Runs one transaction, completely or not at all.
pub(crate) fn write<T>(
    connection: &mut Connection,
    body: impl FnOnce(&Connection) -> Result<T, StoreErrorKind>,
) -> Result<T, StoreErrorKind> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    schema::check_current(&transaction)?;
    let value = body(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

fn recording<'r>(
    known: &'r mut Option<Recording>,
    db: &Connection,
    campaign: CampaignId,
) -> Result<&'r Recording, StoreErrorKind> {
    let recording = match known.take() {
        Some(recording) if recording.campaign == campaign => recording,
        _ => {
            let (row, entries) = read::entries(db, campaign)?;
            let tests = entries.into_iter().map(|entry| entry.test).collect();
            Recording { campaign, row, tests }
        }
    };
    Ok(known.insert(recording))
}

fn intern(db: &Connection, suite: &Suite) -> Result<Vec<Entry>, StoreErrorKind> {
    let mut classes = BTreeMap::new();
    let mut entries = Vec::with_capacity(suite.n_tests());
    for test in suite.tests() {
        let class = suite.class_of(test);
        let class = if let Some(row) = classes.get(&class) {
            *row
        } else {
            let row = Names::Classes.intern(db, suite.class_name(class))?;
            classes.insert(class, row);
            row
        };
        let duration = suite.duration(test);
        let test = Names::Tests.intern(db, suite.id(test).as_str())?;
        entries.push(Entry { test, class, duration });
    }
    Ok(entries)
}

/// The attempt that a text is about.
fn failed_attempt<'o>(
    experiment: &Experiment,
    observation: &'o Observation,
    text: &FailureText<'_>,
) -> Result<&'o Attempt, StoreErrorKind> {
    let FailureText { position, attempt, .. } = *text;
    let n_per_position = if experiment.repetition == Repetition::Twice { 2 } else { 1 };
    let mut each = observation.attempts.chunks_exact(n_per_position);
    each.nth(position)
        .and_then(|attempts| attempts.get(attempt))
        .filter(|attempt| attempt.outcome.evidence() == Some(Evidence::Fail))
        .ok_or(StoreErrorKind::NotAFailure { position, attempt })
}

/// Gives different names to campaigns that begin alike in the same millisecond.
fn free_id(db: &Connection, campaign: &Campaign<'_>) -> Result<CampaignId, StoreErrorKind> {
    let mut select = db.prepare_cached("SELECT 1 FROM campaigns WHERE name = ?1")?;
    let mut n_taken = 0;
    loop {
        let id = CampaignId::of(campaign, n_taken);
        if !select.exists([id.to_string()])? {
            return Ok(id);
        }
        n_taken += 1;
    }
}

fn insert_campaign(
    db: &Connection,
    id: CampaignId,
    campaign: &Campaign<'_>,
    entries: &[Entry],
) -> Result<i64, StoreErrorKind> {
    let sql = "INSERT INTO campaigns \
        (name, started_unix_ms, command, root, revision, runner, runtime, seed, settings, \
         n_tests, suite) \
        VALUES (:name, :started, :command, :root, :revision, :runner, :runtime, :seed, :settings, \
         :n_tests, :suite)";
    db.execute(
        sql,
        named_params! {
            ":name": id.to_string(),
            ":started": campaign.started_unix_ms,
            ":command": campaign.command,
            ":root": campaign.root,
            ":revision": campaign.commit,
            ":runner": campaign.runner,
            ":runtime": campaign.runtime,
            ":seed": campaign.seed.cast_signed(),
            ":settings": campaign.settings,
            ":n_tests": integer(entries.len()),
            ":suite": pack::suite::pack(entries),
        },
    )?;
    Ok(db.last_insert_rowid())
}

fn insert_run(
    db: &Connection,
    campaign: i64,
    observation: &Observation,
    packed: &[u8],
) -> Result<i64, StoreErrorKind> {
    let number = observation.run.0.cast_signed();
    let sql = "SELECT 1 FROM runs WHERE campaign = ?1 AND number = ?2";
    if db.prepare_cached(sql)?.exists([campaign, number])? {
        return Err(StoreErrorKind::AlreadyRecorded);
    }
    let was_started = |kind: OutcomeKind| kind != OutcomeKind::NotRun;
    let started = observation.attempts.iter().filter(|a| was_started(a.outcome.kind()));
    let sql = "INSERT INTO runs (campaign, number, n_attempts, packed) VALUES (?1, ?2, ?3, ?4)";
    let n_attempts = integer(started.count());
    Ok(db.prepare_cached(sql)?.insert((campaign, number, n_attempts, packed))?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use unflake_model::{Environment, Order, Outcome, RunId};

    use super::*;

    fn run(suite: &Suite, number: u64) -> (Experiment, Observation) {
        let run = RunId(number);
        let order = Order::original(suite);
        let (outcome, duration) = (Outcome::Passed, Duration::from_nanos(number));
        let attempts = suite.tests().map(|test| Attempt { test, outcome, duration }).collect();
        let (environment, repetition) = (Environment::Plain, Repetition::Once);
        let experiment = Experiment { environment, repetition, ..Experiment::new(run, order) };
        (experiment, Observation::of(run, attempts, duration))
    }

    /// `SQLite` answers a write beyond `max_page_count` as if the disk were full.
    fn limit_pages(store: &Store, n_pages: i64) {
        let set = |db: &Connection| {
            db.pragma_update_and_check(None, "max_page_count", n_pages, |row| row.get::<_, i64>(0))
        };
        set(&store.connection).unwrap();
    }

    #[test]
    fn a_full_disk_is_said_and_what_was_recorded_is_kept_until_there_is_room_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.sqlite");
        let mut store = Store::open(&path).unwrap();
        let suite = Suite::of_sizes(&[10]).unwrap();
        let campaign = Campaign {
            command: "detect",
            started_unix_ms: 0,
            root: "/project",
            commit: None,
            runner: "",
            runtime: "",
            seed: 0,
            settings: "",
            suite: &suite,
        };
        let id = store.begin(&campaign).unwrap();
        limit_pages(&store, 30);
        let mut n_recorded = 0;
        let error = loop {
            let (experiment, observation) = run(&suite, n_recorded);
            match store.record(id, &experiment, &observation, &[]) {
                Ok(()) => n_recorded += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error.kind, StoreErrorKind::Full), "{error:?}");
        assert!(error.hint().unwrap().contains("what was recorded is kept"));
        let read = |store: &Store| store.runs(id).unwrap().map(Result::unwrap).count() as u64;
        assert!(0 < n_recorded);
        assert_eq!(read(&store), n_recorded);
        drop(store);

        let mut store = Store::open(&path).unwrap();
        assert_eq!(read(&store), n_recorded);
        let (experiment, observation) = run(&suite, n_recorded);
        store.record(id, &experiment, &observation, &[]).unwrap();
        assert_eq!(read(&store), n_recorded + 1);
    }
}
