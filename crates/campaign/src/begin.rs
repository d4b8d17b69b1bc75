//! How does a campaign begin: anew, or where an earlier one was cut off?
//!
//! If the same question about the same code was not answered to its end, because the campaign was
//! killed, interrupted or out of budget, it is resumed: its runs wait in the [`Recall`], and their
//! cost is added to the budget, so that only what is run now is paid for now. The first run and the
//! isolation it led to are taken over too. Runs in which no test started are made again: they say
//! nothing, and why they did not start is not on record.
//!
//! Otherwise the campaign begins anew. Either way, a history that cannot be used costs the record,
//! never the campaign.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use unflake_adapter::{Call, CodeFiles, Part, PlainRunner};
use unflake_engine::{Collected, Level, Limits};
use unflake_known::{Ended, Origin, Warning};
use unflake_model::{Experiment, Group, RunId, Suite, TestIndex};
use unflake_store::{Campaign, CampaignSummary, Claim, Store, StoreError};

use crate::baseline::{baseline, original};
use crate::engine_world::{EngineWorld, Stopped};
use crate::fingerprint;
use crate::lent::{Lent, leads, lent};
use crate::recall::Recall;
use crate::record::{Recorder, answers};
use crate::terms::{self, KeptTerms, Terms};
use crate::trace::Traced;
use crate::world::Answer;

/// Where and how a campaign is kept.
#[derive(Clone, Debug)]
pub struct Keep {
    /// The file that holds the history.
    pub file: PathBuf,
    /// The folder of the project.
    pub root: PathBuf,
    /// The command line, as it was typed.
    pub command: String,
    /// When it began, in milliseconds since 1970.
    pub started_unix_ms: i64,
    /// What to do about an unfinished campaign of the same terms.
    pub unfinished: Unfinished,
}

impl Keep {
    /// Prepares what takes time and does not need the tests. The history is not opened yet, since
    /// that would create it: a campaign whose tests cannot be collected must leave no trace.
    pub fn ready(&self, code_files: &CodeFiles) -> Ready {
        Ready { code: terms::hex(fingerprint::code(&self.root, code_files)) }
    }
}

impl Ready {
    /// The fingerprint of the project's code.
    pub fn code(&self) -> &str {
        &self.code
    }
}

/// The part of a campaign that is ready before its tests are collected.
pub struct Ready {
    /// The fingerprint of the project's code.
    code: String,
}

/// What to do about an unfinished campaign of the same terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// Go on with it.
    Resume,
    /// Leave it unfinished and begin anew.
    Leave,
}

/// What a campaign runs, and how.
pub struct Setting<'a> {
    /// Where the campaign is kept; `None` keeps it nowhere.
    pub keep: Option<&'a Keep>,
    /// When isolated runs are compared with the plain runner's.
    pub comparison: Comparison,
    /// The question, with everything that changes its answer.
    pub question: String,
    /// The seed of all orders.
    pub seed: u64,
    /// The part of the project whose tests are run.
    pub project: &'a dyn Part,
    /// The limits of each run.
    pub limits: &'a Limits,
    /// The tests that were collected.
    pub collected: &'a Collected,
    /// A trace of the tests, if one was made before.
    pub traced: Option<&'a Traced>,
    /// The test in question, if knowledge of other campaigns about it is to be used.
    pub target: Option<TestIndex>,
}

/// When isolated runs are compared with the plain runner's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Before anything else, on all tests.
    First,
    /// Only if the plain runner does not show what was found.
    IfDenied,
}

/// A campaign that has begun.
pub struct Beginning {
    /// The tests, with their measured run times.
    pub suite: Rc<Suite>,
    /// Runs that need not be made again.
    pub recall: Recall,
    /// Writes the campaign down.
    pub recorder: Recorder,
    /// The first run, if it is not on record yet.
    pub first: Option<(Experiment, Answer)>,
    /// How many runs of its own were on record.
    pub n_recalled: u64,
    /// Warnings about what limits the answer.
    pub warnings: Vec<Warning>,
    /// The names of runs lent by other campaigns, by the number they have here.
    pub lent: BTreeMap<RunId, String>,
    /// Groups of tests that other campaigns found the test in question to depend on.
    pub leads: Vec<Group>,
    /// The number of runs by earlier campaigns on the same code, if the test flaked in them.
    pub flaked_in: Option<u64>,
}

impl Beginning {
    /// Begins without a first run, and so without run times other than those of a trace.
    fn unseen(world: &mut EngineWorld, traced: Option<&Traced>) -> Self {
        let durations = traced.map(Traced::durations).unwrap_or_default();
        let duration = |id: &_| durations.get(id).copied().unwrap_or_default();
        let suite = world.engine().suite(duration);
        // The first experiment will be the original order, in which the tests were traced.
        let answer = traced.and_then(|traced| traced.run.clone());
        let first = answer.map(|answer| (original(&suite), answer));
        Self {
            suite: Rc::new(suite),
            recall: Recall::default(),
            recorder: Recorder::default(),
            first,
            n_recalled: 0,
            warnings: Vec::new(),
            lent: BTreeMap::new(),
            leads: Vec::new(),
            flaked_in: None,
        }
    }

    /// Adds what other campaigns know about a test. Their runs wait before those of this campaign,
    /// as they did when it began.
    fn informed(mut self, known: Informed) -> Self {
        let own = std::mem::take(&mut self.recall);
        self.flaked_in = known.lent.flaked_in();
        for (number, (name, experiment, answer)) in (Origin::LENT.0..).zip(known.lent.runs) {
            self.lent.insert(RunId(number), name);
            self.recall.add(RunId(number), &experiment, answer);
        }
        self.recall.append(own);
        self.leads = known.leads;
        self
    }
}

/// What other campaigns know about the test in question.
#[derive(Default)]
struct Informed {
    lent: Lent,
    leads: Vec<Group>,
}

/// What the history says about a campaign that is about to begin.
enum History {
    /// It cannot be kept, or is not meant to be.
    Closed(Box<Recorder>),
    /// It is a new campaign.
    Open(Box<(Store, Terms, Informed)>),
    /// It resumes an earlier campaign.
    Resumed(Box<Beginning>),
}

impl Setting<'_> {
    /// Begins a campaign, or resumes one.
    pub fn begin(
        &self,
        world: &mut EngineWorld,
        runner: &dyn PlainRunner,
        ready: Option<Ready>,
    ) -> Result<Beginning, Stopped> {
        let history = self.history(world, ready);
        match history.unwrap_or_else(|error| History::Closed(Box::new(Recorder::broken(&error)))) {
            History::Resumed(beginning) => Ok(*beginning),
            History::Closed(recorder) => {
                Ok(Beginning { recorder: *recorder, ..self.first_run(world, runner)? })
            }
            History::Open(open) => {
                let (store, terms, known) = *open;
                let isolation = known.lent.isolation.clone();
                let mut beginning = self.first_run(world, runner)?;
                if let Some((levels, warnings)) = isolation {
                    world.engine().set_isolation(levels);
                    beginning.warnings.extend(warnings);
                }
                let beginning = beginning.informed(known);
                let levels = world.engine().isolation().to_vec();
                let settings = KeptTerms { terms, levels, warnings: beginning.warnings.clone() };
                let recorder = self.recorder(store, &settings, &beginning.suite);
                Ok(Beginning { recorder, ..beginning })
            }
        }
    }

    fn history(
        &self,
        world: &mut EngineWorld,
        ready: Option<Ready>,
    ) -> Result<History, StoreError> {
        let Some(keep) = self.keep else {
            return Ok(History::Closed(Box::default()));
        };
        let Ready { code } = ready.unwrap_or_else(|| keep.ready(&self.project.code_files()));
        let (store, terms) = (Store::open(&keep.file)?, self.terms(code));
        let known = self.informed(&store, keep, &terms, &world.engine().suite(|_| Duration::ZERO));
        match resumable(&store, keep, &terms)? {
            Some(resumable) => {
                let resumed = resume(store, resumable, world)?.informed(known);
                Ok(History::Resumed(Box::new(resumed)))
            }
            None => Ok(History::Open(Box::new((store, terms, known)))),
        }
    }

    /// What other campaigns know about the test in question, unless the campaign must ignore it.
    fn informed(&self, store: &Store, keep: &Keep, terms: &Terms, suite: &Suite) -> Informed {
        let is_wanted =
            keep.unfinished == Unfinished::Resume && self.comparison == Comparison::IfDenied;
        let Some(test) = self.target.filter(|_| is_wanted) else { return Informed::default() };
        let root = keep.root.to_string_lossy();
        Informed {
            // A history that cannot be read costs runs, and no more.
            lent: lent(store, &root, terms, test).unwrap_or_default(),
            leads: leads(store, suite, test),
        }
    }

    fn terms(&self, code: String) -> Terms {
        let Call { folder, program, manner, hash_seed, options, paths } = self.project.call();
        let texts = |words: &[OsString]| words.iter().map(|word| text(word)).collect();
        Terms {
            question: self.question.clone(),
            folder: text(folder.as_os_str()),
            program: text(&program),
            manner,
            hash_seed,
            options: texts(&options),
            paths: texts(&paths),
            runner: terms::runner(self.collected),
            isolation: self.limits.isolation.clone(),
            test_timeout_ms: self.limits.test_timeout.as_millis(),
            tests: terms::tests(self.collected),
            code,
        }
    }

    fn first_run(
        &self,
        world: &mut EngineWorld,
        runner: &dyn PlainRunner,
    ) -> Result<Beginning, Stopped> {
        if self.comparison == Comparison::IfDenied {
            return Ok(Beginning::unseen(world, self.traced));
        }
        let baseline = baseline(world, &self.limits.isolation, runner)?;
        let suite = Rc::new(baseline.suite(world));
        Ok(Beginning {
            suite,
            recall: Recall::default(),
            recorder: Recorder::default(),
            first: Some((baseline.experiment, baseline.answer)),
            n_recalled: 0,
            warnings: baseline.warnings,
            lent: BTreeMap::new(),
            leads: Vec::new(),
            flaked_in: None,
        })
    }

    /// Records a campaign that makes no first run of its own.
    pub fn record(&self, suite: &Suite, levels: &[Level]) -> Recorder {
        let Some(keep) = self.keep else { return Recorder::default() };
        let (levels, warnings) = (levels.to_vec(), Vec::new());
        let Ready { code } = keep.ready(&self.project.code_files());
        let settings = KeptTerms { terms: self.terms(code), levels, warnings };
        match Store::open(&keep.file) {
            Ok(store) => self.recorder(store, &settings, suite),
            Err(error) => Recorder::broken(&error),
        }
    }

    fn recorder(&self, store: Store, settings: &KeptTerms, suite: &Suite) -> Recorder {
        let Some(keep) = self.keep else { return Recorder::default() };
        let commit = fingerprint::commit(&keep.root);
        let campaign = Campaign {
            command: &keep.command,
            started_unix_ms: keep.started_unix_ms,
            root: &keep.root.to_string_lossy(),
            commit: commit.as_deref(),
            runner: &self.collected.runner,
            runtime: &text(&self.project.call().program),
            seed: self.seed,
            settings: &settings.text(),
            suite,
        };
        Recorder::begin(store, &campaign)
    }
}

/// A campaign that can be resumed.
struct Resumable {
    summary: CampaignSummary,
    settings: KeptTerms,
    claim: Claim,
}

/// The newest campaign of the same terms, if it was not answered to its end and nobody else is
/// working on it.
fn resumable(store: &Store, keep: &Keep, terms: &Terms) -> Result<Option<Resumable>, StoreError> {
    if keep.unfinished == Unfinished::Leave {
        return Ok(None);
    }
    let is_same = |text: &str| KeptTerms::parse(text).is_some_and(|it| it.terms == *terms);
    let Some(found) = store.newest(&keep.root.to_string_lossy(), is_same)? else {
        return Ok(None);
    };
    let Some(claim) = store.claim(found.id)? else { return Ok(None) };
    // Read again now that the campaign is ours: another process may just have ended it.
    let summary = store.summary(found.id)?;
    let is_done = summary.ended.as_deref() == Some(Ended::Confident.slug());
    let settings = KeptTerms::parse(&summary.settings).filter(|_| !is_done);
    Ok(settings.map(|settings| Resumable { summary, settings, claim }))
}

fn resume(
    store: Store,
    Resumable { summary, settings, claim }: Resumable,
    world: &mut EngineWorld,
) -> Result<Beginning, StoreError> {
    let earlier = store.suite(summary.id)?;
    let mut recall = Recall::default();
    let (mut n_numbers, mut n_recalled) = (0, 0);
    for (experiment, answer) in answers(&store, summary.id)? {
        n_numbers = n_numbers.max(experiment.run.0 + 1);
        if 0 < answer.cost().attempts {
            n_recalled += 1;
            recall.add(experiment.run, &experiment, answer);
        }
    }
    let recorder = Recorder::go_on(store, summary.id, claim, n_numbers)?;
    world.engine().set_isolation(settings.levels);
    let duration = |id: &_| earlier.find(id).map_or(Duration::ZERO, |test| earlier.duration(test));
    Ok(Beginning {
        suite: Rc::new(world.engine().suite(duration)),
        recall,
        recorder,
        first: None,
        n_recalled,
        warnings: settings.warnings,
        lent: BTreeMap::new(),
        leads: Vec::new(),
        flaked_in: None,
    })
}

/// The word as text, for comparing and showing.
fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}
