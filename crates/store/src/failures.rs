//! The texts of failed attempts, in rows of their own that can be found by run and by test.

use rusqlite::{Connection, OptionalExtension as _, Row, named_params};
use unflake_model::{Outcome, OutcomeKind, Phase, RunId, TestId};

use crate::campaign::{CampaignId, Failure, FailureText};
use crate::columns::{campaign_id, integer};
use crate::error::{Damage, StoreError, StoreErrorKind};
use crate::names::Names;
use crate::pack::digest;
use crate::store::Store;
use crate::text::{MESSAGE_BYTES_MAX, TEXT_BYTES_MAX, bounded};

impl Store {
    /// The texts of the failed attempts in a run, in the order of its attempts.
    pub fn failures_in(
        &self,
        campaign: CampaignId,
        run: RunId,
    ) -> Result<Vec<Failure>, StoreError> {
        let sql = "WHERE campaigns.name = ?1 AND runs.number = ?2 \
            ORDER BY failures.position, failures.attempt";
        let parameters = (campaign.to_string(), run.0.cast_signed());
        let failures = select(&self.connection, sql, parameters);
        self.doing(failures, || format!("read failures of run {} of `{campaign}`", run.0))
    }

    /// The texts of a test's failed attempts in all campaigns, newest first.
    pub fn failures_of(&self, test: &TestId, limit: usize) -> Result<Vec<Failure>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let failures = Names::Tests.find(&self.connection, test.as_str()).and_then(|row| {
            let sql = "WHERE failures.test = ?1 ORDER BY failures.id DESC LIMIT ?2";
            row.map_or(Ok(Vec::new()), |row| select(&self.connection, sql, (row, limit)))
        });
        self.doing(failures, || format!("read failures of test `{test}`"))
    }
}

/// Stores the text of a failed attempt, for a run, and for a test given by the row of its name.
pub(crate) fn insert(
    db: &Connection,
    (run, test): (i64, i64),
    outcome: Outcome,
    failure: &FailureText<'_>,
) -> Result<(), StoreErrorKind> {
    let phase = match outcome {
        Outcome::Failed { phase } => Some(phase_word(phase)),
        _ => None,
    };
    let sql = "INSERT INTO failures (run, test, position, attempt, outcome, phase, message, text) \
        VALUES (:run, :test, :position, :attempt, :outcome, :phase, :message, :text)";
    db.prepare_cached(sql)?.execute(named_params! {
        ":run": run,
        ":test": test,
        ":position": integer(failure.position),
        ":attempt": integer(failure.attempt),
        ":outcome": outcome.kind().as_str(),
        ":phase": phase,
        ":message": bounded(failure.message, MESSAGE_BYTES_MAX),
        ":text": intern_text(db, &bounded(failure.text, TEXT_BYTES_MAX))?,
    })?;
    Ok(())
}

/// The row of a text, made if it does not exist. It is found by digest, because an index over whole
/// texts would double the file.
fn intern_text(db: &Connection, text: &str) -> Result<i64, StoreErrorKind> {
    let digest = digest(text.as_bytes()).cast_signed();
    let sql = "SELECT id FROM texts WHERE digest = ?1 AND body = ?2";
    let known = db.prepare_cached(sql)?.query_row((digest, text), |row| row.get(0)).optional()?;
    if let Some(row) = known {
        return Ok(row);
    }
    let sql = "INSERT INTO texts (digest, body) VALUES (?1, ?2)";
    Ok(db.prepare_cached(sql)?.insert((digest, text))?)
}

/// The stored word for a phase.
fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::SetUp => "setup",
        Phase::Call => "call",
        Phase::TearDown => "teardown",
    }
}

fn select(
    db: &Connection,
    condition: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<Failure>, StoreErrorKind> {
    let sql = format!(
        "SELECT campaigns.name, runs.number, failures.position, failures.attempt, \
         failures.outcome, failures.phase, failures.message, texts.body \
         FROM failures \
         JOIN runs ON runs.id = failures.run \
         JOIN campaigns ON campaigns.id = runs.campaign \
         LEFT JOIN texts ON texts.id = failures.text \
         {condition}"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(parameters)?;
    let mut failures = Vec::new();
    while let Some(row) = rows.next()? {
        failures.push(failure(row)?);
    }
    Ok(failures)
}

fn failure(row: &Row<'_>) -> Result<Failure, StoreErrorKind> {
    let campaign = campaign_id(row, 0)?;
    let run = RunId(row.get::<_, i64>(1)?.cast_unsigned());
    let damaged = |what: &str| Damage::new(what).of_run(campaign, run);
    let place = |column| {
        let place = usize::try_from(row.get::<_, i64>(column)?);
        place.map_err(|_| damaged("a failure is at a place that does not exist"))
    };
    let outcome: String = row.get(4)?;
    let outcome = FAILURES.into_iter().find(|kind| kind.as_str() == outcome);
    let phase = match row.get::<_, Option<String>>(5)? {
        None => None,
        Some(word) => {
            let phase = PHASES.into_iter().find(|phase| phase_word(*phase) == word);
            Some(phase.ok_or_else(|| damaged("a failure is in an unknown phase"))?)
        }
    };
    Ok(Failure {
        campaign,
        run,
        position: place(2)?,
        attempt: place(3)?,
        outcome: outcome.ok_or_else(|| damaged("a failure has an unknown outcome"))?,
        phase,
        message: row.get(6)?,
        text: row.get::<_, Option<_>>(7)?.ok_or_else(|| damaged("a text is missing"))?,
    })
}

/// All outcomes that are failures.
const FAILURES: [OutcomeKind; 4] =
    [OutcomeKind::Failed, OutcomeKind::Error, OutcomeKind::TimedOut, OutcomeKind::Crashed];

const PHASES: [Phase; 3] = [Phase::SetUp, Phase::Call, Phase::TearDown];
