//! Reading: which campaigns there are, what ran in them, and how a test fared over time.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, Row};
use unflake_model::{
    Experiment, Observation, Repetition, RunId, Suite, SuiteBuilder, Tally, TestId, Verdict,
};

use crate::campaign::{CampaignId, CampaignSummary, TestRecord};
use crate::columns::campaign_id;
use crate::error::{Damage, StoreError, StoreErrorKind};
use crate::names::Names;
use crate::pack;
use crate::pack::suite::Entry;
use crate::store::Store;

/// The shortest beginning of a name that is shown. Reports contain it and outlive today's list of
/// campaigns: with a thousand of them, one in thirty thousand beginnings is ambiguous.
const SHORT_ID_LEN_MIN: usize = 6;

impl Store {
    /// The campaigns that began last, newest first.
    pub fn campaigns(&self, limit: usize) -> Result<Vec<CampaignSummary>, StoreError> {
        let summaries = ids(&self.connection).and_then(|ids| {
            let newest = ids.iter().rev().take(limit);
            newest.map(|id| summary(&self.connection, *id, &ids)).collect()
        });
        self.doing(summaries, || "list campaigns".to_owned())
    }

    /// The campaign that a user means by `latest`, or by the beginning of a name.
    pub fn campaign(&self, selector: &str) -> Result<CampaignId, StoreError> {
        let found = ids(&self.connection).and_then(|ids| select(&ids, selector));
        self.doing(found, || format!("find campaign `{selector}`"))
    }

    /// What is known about a campaign without reading its runs.
    pub fn summary(&self, campaign: CampaignId) -> Result<CampaignSummary, StoreError> {
        let summary =
            ids(&self.connection).and_then(|ids| summary(&self.connection, campaign, &ids));
        self.doing(summary, || format!("read campaign `{campaign}`"))
    }

    /// The findings of a campaign; `None` if it has not ended.
    pub fn findings(&self, campaign: CampaignId) -> Result<Option<String>, StoreError> {
        let sql = "SELECT findings FROM campaigns WHERE name = ?1";
        let findings = one(&self.connection, sql, campaign, |row| row.get(0));
        self.doing(findings, || format!("read the findings of campaign `{campaign}`"))
    }

    /// The newest campaign of this root whose settings match, ended or not.
    pub fn newest(
        &self,
        root: &str,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<CampaignSummary>, StoreError> {
        let found = newest(&self.connection, root, is_wanted);
        let found = self.doing(found, || format!("look for campaigns of `{root}`"))?;
        found.map(|id| self.summary(id)).transpose()
    }

    /// The suite of a campaign.
    pub fn suite(&self, campaign: CampaignId) -> Result<Suite, StoreError> {
        let suite = suite(&self.connection, campaign);
        self.doing(suite, || format!("read the suite of campaign `{campaign}`"))
    }

    /// The runs of a campaign, in the order in which they were recorded. Runs recorded after this
    /// call are not included.
    pub fn runs(&self, campaign: CampaignId) -> Result<Runs<'_>, StoreError> {
        let rows = run_rows(&self.connection, campaign);
        let (n_tests, rows) =
            self.doing(rows, || format!("list the runs of campaign `{campaign}`"))?;
        Ok(Runs { store: self, campaign, n_tests, rows: rows.into_iter() })
    }

    /// How tests fared in this many of the latest campaigns: for each test, one record for each
    /// campaign that had it, newest first.
    pub fn test_records(
        &self,
        tests: &[&TestId],
        n_campaigns: usize,
    ) -> Result<Vec<Vec<TestRecord>>, StoreError> {
        let mut rows = Vec::new();
        for test in tests {
            let row = Names::Tests.find(&self.connection, test.as_str());
            rows.push(self.doing(row, || format!("find test `{test}`"))?);
        }
        let mut records = vec![Vec::new(); tests.len()];
        let ids = self.doing(ids(&self.connection), || "list campaigns".to_owned())?;
        for id in ids.iter().rev().take(n_campaigns) {
            for (records, record) in records.iter_mut().zip(self.records_in(*id, &rows)?) {
                records.extend(record);
            }
        }
        Ok(records)
    }

    /// How tests fared in one campaign, by the rows of their names.
    fn records_in(
        &self,
        id: CampaignId,
        tests: &[Option<i64>],
    ) -> Result<Vec<Option<TestRecord>>, StoreError> {
        let doing = || format!("read campaign `{id}`");
        let (_, entries) = self.doing(entries(&self.connection, id), doing)?;
        let place = |test: &Option<i64>| entries.iter().position(|e| Some(e.test) == *test);
        let places: Vec<Option<usize>> = tests.iter().map(place).collect();
        let mut wanted: BTreeMap<usize, (Tally, Tally)> =
            places.iter().flatten().map(|place| (*place, Default::default())).collect();
        if wanted.is_empty() {
            return Ok(vec![None; tests.len()]);
        }
        for run in self.runs(id)? {
            count(&mut wanted, &run?);
        }
        let sql = "SELECT started_unix_ms, revision FROM campaigns WHERE name = ?1";
        let began = one(&self.connection, sql, id, |row| Ok((row.get(0)?, row.get(1)?)));
        let (started_unix_ms, commit): (i64, Option<String>) = self.doing(began, doing)?;
        let mut records = Vec::new();
        for (test, place) in tests.iter().zip(places) {
            let (Some(test), Some(place)) = (test, place) else {
                records.push(None);
                continue;
            };
            let verdict = self.doing(verdict(&self.connection, id, *test), doing)?;
            let (plain, varied) = wanted[&place];
            let commit = commit.clone();
            let campaign = id;
            let record = TestRecord { campaign, started_unix_ms, commit, plain, varied, verdict };
            records.push(Some(record));
        }
        Ok(records)
    }
}

/// Counts how tests ended in a run, plain or varied, by their positions in the suite.
fn count(
    wanted: &mut BTreeMap<usize, (Tally, Tally)>,
    (experiment, observation): &(Experiment, Observation),
) {
    let is_plain =
        !experiment.environment.is_perturbed() && experiment.repetition == Repetition::Once;
    for attempt in &observation.attempts {
        let tallies = wanted.get_mut(&attempt.test.get());
        if let (Some((plain, varied)), Some(evidence)) = (tallies, attempt.outcome.evidence()) {
            if is_plain { plain.add(evidence) } else { varied.add(evidence) }
        }
    }
}

/// The runs of a campaign, one at a time. See [`Store::runs`].
#[derive(Debug)]
pub struct Runs<'s> {
    store: &'s Store,
    campaign: CampaignId,
    n_tests: usize,
    /// The row and number of each run.
    rows: std::vec::IntoIter<(i64, RunId)>,
}

impl Iterator for Runs<'_> {
    type Item = Result<(Experiment, Observation), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (row, run) = self.rows.next()?;
        let unpacked = unpack(&self.store.connection, row, self.n_tests);
        let unpacked = unpacked.and_then(|unpacked| match unpacked {
            Ok((experiment, observation)) if experiment.run == run => Ok((experiment, observation)),
            Ok((experiment, _)) => {
                let what = format!("it says that it is run {}", experiment.run.0);
                Err(Damage::new(what).of_run(self.campaign, run))
            }
            Err(damage) => Err(damage.of_run(self.campaign, run)),
        });
        let campaign = self.campaign;
        Some(self.store.doing(unpacked, || format!("read run {} of `{campaign}`", run.0)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl ExactSizeIterator for Runs<'_> {}

/// All campaigns, in the order in which they began.
pub(crate) fn ids(db: &Connection) -> Result<Vec<CampaignId>, StoreErrorKind> {
    let mut names = db.prepare_cached("SELECT name FROM campaigns ORDER BY id")?;
    let ids = names.query_map((), |row| campaign_id(row, 0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// The row of a campaign, and its suite as rows of names.
pub(crate) fn entries(
    db: &Connection,
    campaign: CampaignId,
) -> Result<(i64, Vec<Entry>), StoreErrorKind> {
    let sql = "SELECT id, n_tests, suite FROM campaigns WHERE name = ?1";
    let columns = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get(2)?));
    let (row, n_tests, suite): (_, _, Vec<u8>) = one(db, sql, campaign, columns)?;
    match pack::suite::unpack(&suite) {
        Ok(entries) if i64::try_from(entries.len()) == Ok(n_tests) => Ok((row, entries)),
        Ok(entries) => {
            let what = format!("its suite has {} tests instead of {n_tests}", entries.len());
            Err(Damage::new(what).of_campaign(campaign))
        }
        Err(malformed) => Err(Damage::new(malformed.to_string()).of_campaign(campaign)),
    }
}

/// One row about a campaign; an error if the campaign does not exist.
fn one<T>(
    db: &Connection,
    sql: &str,
    campaign: CampaignId,
    columns: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<T, StoreErrorKind> {
    let name = campaign.to_string();
    let row = db.prepare_cached(sql)?.query_row([&name], columns).optional()?;
    row.ok_or(StoreErrorKind::Unknown { selector: name })
}

fn select(ids: &[CampaignId], selector: &str) -> Result<CampaignId, StoreErrorKind> {
    let latest = ids.last().ok_or(StoreErrorKind::Empty)?;
    if selector == "latest" {
        return Ok(*latest);
    }
    let prefix = selector.to_ascii_lowercase();
    let begins = |id: &&CampaignId| !prefix.is_empty() && id.to_string().starts_with(&prefix);
    let matches: Vec<CampaignId> = ids.iter().filter(begins).copied().collect();
    let selector = selector.to_owned();
    match matches[..] {
        [] => Err(StoreErrorKind::Unknown { selector }),
        [only] => Ok(only),
        _ => Err(StoreErrorKind::Ambiguous { selector, matches }),
    }
}

fn short_id(id: CampaignId, ids: &[CampaignId]) -> String {
    let digits = id.to_string();
    let others = ids.iter().filter(|other| **other != id).map(CampaignId::to_string);
    let same =
        |other: String| digits.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let len = others.map(|other| same(other) + 1).max().unwrap_or(0).max(SHORT_ID_LEN_MIN);
    digits[..len].to_owned()
}

fn summary(
    db: &Connection,
    id: CampaignId,
    ids: &[CampaignId],
) -> Result<CampaignSummary, StoreErrorKind> {
    let sql = "SELECT command, started_unix_ms, root, revision, runner, runtime, seed, settings, \
        n_tests, ended, (SELECT COUNT(*) FROM runs WHERE campaign = campaigns.id), \
        (SELECT COALESCE(SUM(n_attempts), 0) FROM runs WHERE campaign = campaigns.id) \
        FROM campaigns WHERE name = ?1";
    let count = |row: &Row<'_>, column| row.get::<_, i64>(column);
    let mut summary = one(db, sql, id, |row| {
        Ok(CampaignSummary {
            id,
            short_id: short_id(id, ids),
            command: row.get(0)?,
            started_unix_ms: row.get(1)?,
            root: row.get(2)?,
            commit: row.get(3)?,
            runner: row.get(4)?,
            runtime: row.get(5)?,
            seed: count(row, 6)?.cast_unsigned(),
            settings: row.get(7)?,
            n_tests: count(row, 8)?.cast_unsigned(),
            ended: row.get(9)?,
            n_runs: count(row, 10)?.cast_unsigned(),
            n_attempts: count(row, 11)?.cast_unsigned(),
            verdicts: Vec::new(),
        })
    })?;
    summary.verdicts = verdict_counts(db, id)?;
    Ok(summary)
}

fn verdict_counts(
    db: &Connection,
    campaign: CampaignId,
) -> Result<Vec<(Verdict, u64)>, StoreErrorKind> {
    let sql = "SELECT verdict, COUNT(*) FROM verdicts \
        WHERE campaign = (SELECT id FROM campaigns WHERE name = ?1) GROUP BY verdict";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query([campaign.to_string()])?;
    let mut counts = Vec::new();
    while let Some(row) = rows.next()? {
        let verdict = parse_verdict(&row.get::<_, String>(0)?, campaign)?;
        counts.push((verdict, row.get::<_, i64>(1)?.cast_unsigned()));
    }
    counts.sort_by_key(|(verdict, _)| Verdict::ALL.iter().position(|known| known == verdict));
    Ok(counts)
}

fn verdict(
    db: &Connection,
    campaign: CampaignId,
    test: i64,
) -> Result<Option<Verdict>, StoreErrorKind> {
    let sql = "SELECT verdict FROM verdicts \
        WHERE campaign = (SELECT id FROM campaigns WHERE name = ?1) AND test = ?2";
    let mut select = db.prepare_cached(sql)?;
    let word = select.query_row((campaign.to_string(), test), |row| row.get(0)).optional()?;
    word.map(|word: String| parse_verdict(&word, campaign)).transpose()
}

fn parse_verdict(word: &str, campaign: CampaignId) -> Result<Verdict, StoreErrorKind> {
    let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.slug() == word);
    verdict.ok_or_else(|| Damage::new(format!("unknown verdict `{word}`")).of_campaign(campaign))
}

fn newest(
    db: &Connection,
    root: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Option<CampaignId>, StoreErrorKind> {
    let sql = "SELECT name, settings FROM campaigns WHERE root = ?1 ORDER BY id DESC";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query([root])?;
    while let Some(row) = rows.next()? {
        if is_wanted(&row.get::<_, String>(1)?) {
            return Ok(Some(campaign_id(row, 0)?));
        }
    }
    Ok(None)
}

fn suite(db: &Connection, campaign: CampaignId) -> Result<Suite, StoreErrorKind> {
    let (_, entries) = entries(db, campaign)?;
    let (tests, classes) = (Names::Tests.all(db)?, Names::Classes.all(db)?);
    built(&entries, &tests, &classes).map_err(|damage| damage.of_campaign(campaign))
}

fn built(
    entries: &[Entry],
    tests: &BTreeMap<i64, String>,
    classes: &BTreeMap<i64, String>,
) -> Result<Suite, Damage> {
    let missing = |row| move || Damage::new(format!("the name of its test {row} is missing"));
    let mut builder = SuiteBuilder::default();
    for (place, entry) in entries.iter().enumerate() {
        let name = tests.get(&entry.test).ok_or_else(missing(place))?;
        let class = classes.get(&entry.class).ok_or_else(missing(place))?;
        let test: Result<TestId, _> = name.parse();
        let test = test.map_err(|invalid| Damage::new(invalid.to_string()))?;
        builder.push(class, test, entry.duration);
    }
    builder.build().map_err(|invalid| Damage::new(invalid.to_string()))
}

/// How many tests the suite has, and the row and number of each run.
fn run_rows(
    db: &Connection,
    campaign: CampaignId,
) -> Result<(usize, Vec<(i64, RunId)>), StoreErrorKind> {
    let sql = "SELECT id, n_tests FROM campaigns WHERE name = ?1";
    let (row, n_tests): (i64, i64) = one(db, sql, campaign, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let n_tests = usize::try_from(n_tests)
        .map_err(|_| Damage::new(format!("it has {n_tests} tests")).of_campaign(campaign))?;
    let sql = "SELECT id, number FROM runs WHERE campaign = ?1 ORDER BY id";
    let mut select = db.prepare_cached(sql)?;
    let rows = select
        .query_map([row], |row| Ok((row.get(0)?, RunId(row.get::<_, i64>(1)?.cast_unsigned()))))?;
    Ok((n_tests, rows.collect::<Result<_, _>>()?))
}

type Unpacked = Result<(Experiment, Observation), Damage>;

fn unpack(db: &Connection, row: i64, n_tests: usize) -> Result<Unpacked, StoreErrorKind> {
    let mut select = db.prepare_cached("SELECT packed FROM runs WHERE id = ?1")?;
    let packed = select.query_row([row], |row| row.get(0)).optional()?;
    let Some(packed): Option<Vec<u8>> = packed else {
        return Ok(Err(Damage::new("it was forgotten while it was read")));
    };
    Ok(pack::run::unpack(&packed, n_tests).map_err(|malformed| Damage::new(malformed.to_string())))
}
