//! Which state do a polluter and its victim share?
//!
//! The polluters are run once more, watched: what each of them leaves otherwise than it found it is
//! the list of suspects. Then they are run with the victim behind them, and some of what they
//! changed is put back in between. What must be put back for the victim to pass is what it stumbles
//! over, and what we name: the fewest such places, found by [`minimal_subset`]. For a brittle it is
//! the other way round: of what its state-setters changed, that which must be *kept*.
//!
//! Limits: only what the agent watches and can put back is found; a place that is not named is not
//! innocent. Every answer was tried [`TRIES`] times.

use std::collections::BTreeMap;
use std::sync::mpsc;

use unflake_detect::Suspicion;
use unflake_detect::subset::minimal_subset;
use unflake_engine::{Change, Restore, Watching};
use unflake_known::State;
use unflake_model::{Evidence, Finding, Group, TestIndex, Verdict};

use crate::engine_world::{Errand, Hatch, Stopped, Watched};
use crate::masked::state;

/// How often the answer is tried.
const TRIES: usize = 3;

/// Questions asked about one test. Each is one run of few tests.
const QUESTIONS_MAX: usize = 200;

/// Everything the agent can watch.
const ALL_KINDS: &str = "all";

/// A test, and what it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    test: TestIndex,
    group: Group,
    /// Whether it needs what the group does.
    is_brittle: bool,
}

impl Dependency {
    /// The first one that was found, if there is one.
    pub(crate) fn found(finding: &Finding) -> Option<Self> {
        let dependencies = &finding.dependencies;
        let (group, is_brittle) = match finding.verdict {
            Verdict::OdVictim => (dependencies.polluters.first(), false),
            Verdict::OdBrittle => (dependencies.state_setters.first(), true),
            Verdict::OdUnknownRole
            | Verdict::Ndod
            | Verdict::Ndoi
            | Verdict::NodUndecided
            | Verdict::Id
            | Verdict::Env
            | Verdict::Nio
            | Verdict::Ud
            | Verdict::AlwaysFailing
            | Verdict::InsufficientEvidence
            | Verdict::NotFlaky => (None, false),
        };
        Some(Self { test: finding.test, group: group?.clone(), is_brittle })
    }

    /// What is suspected.
    pub(crate) fn suspected(Suspicion { test, group, behind }: &Suspicion) -> Self {
        Self { test: *test, group: group.clone(), is_brittle: *behind == Evidence::Pass }
    }
}

/// The state that explains why the test depends on others; empty if that was not found.
pub(crate) fn shared_state(hatch: &Hatch, dependency: Dependency) -> Result<Vec<State>, Stopped> {
    let Dependency { test, group, is_brittle } = dependency;
    let tests: Vec<TestIndex> = group.into_iter().chain([test]).collect();
    let (is_kept, watched, passed, n_questions) = (is_brittle, None, BTreeMap::new(), 0);
    let mut trial = Trial { hatch, tests, is_kept, watched, passed, n_questions };
    let suspects = trial.suspects()?;
    let guilty = minimal_subset(suspects.len(), |chosen| trial.passes(&suspects, chosen))?;
    let Some(guilty) = guilty else { return Ok(Vec::new()) };
    for _ in trial.passed.get(&guilty).copied().unwrap_or(0)..TRIES {
        if !trial.passes(&suspects, &guilty)? {
            return Ok(Vec::new());
        }
    }
    Ok(guilty.into_iter().filter_map(|place| state(&suspects[place])).collect())
}

/// Runs of one group and the test behind it.
struct Trial<'w> {
    hatch: &'w Hatch,
    tests: Vec<TestIndex>,
    /// Whether chosen places are kept and all others put back, or the other way round.
    is_kept: bool,
    /// How it ended when nothing was put back.
    watched: Option<Evidence>,
    /// How often the test passed when these were chosen.
    passed: BTreeMap<Vec<usize>, usize>,
    n_questions: usize,
}

impl Trial<'_> {
    /// All places that the group leaves changed.
    fn suspects(&mut self) -> Result<Vec<Change>, Stopped> {
        let kinds = vec![ALL_KINDS.to_owned()];
        let Watched { last, changes } = self.run(Watching { kinds, ..Watching::default() })?;
        self.watched = last;
        let target = self.tests[self.tests.len() - 1];
        let mut places: BTreeMap<String, Change> = BTreeMap::new();
        for (_, change) in changes.iter().filter(|(test, _)| *test != target) {
            let known = places.entry(change.place.clone()).or_insert_with(|| change.clone());
            known.after.clone_from(&change.after);
        }
        // Put back by a later one of them.
        places.retain(|_, change| change.before != change.after);
        Ok(places.into_values().collect())
    }

    /// Whether the test passes when the chosen places are put back, or nothing else is.
    fn passes(&mut self, suspects: &[Change], chosen: &[usize]) -> Result<bool, Stopped> {
        if chosen.is_empty() && !self.is_kept {
            return Ok(self.watched == Some(Evidence::Pass));
        }
        self.n_questions += 1;
        if QUESTIONS_MAX < self.n_questions {
            return Ok(false);
        }
        let items = chosen.iter().map(|place| suspects[*place].place.clone()).collect();
        let (before, again) = (self.tests.len() - 1, false);
        let restore = Restore { before, again, items, all_but: self.is_kept };
        let ended = self.run(Watching { restore: Some(restore), ..Watching::default() })?;
        let is_passed = ended.last == Some(Evidence::Pass);
        *self.passed.entry(chosen.to_vec()).or_default() += usize::from(is_passed);
        Ok(is_passed)
    }

    /// What came of running the tests.
    fn run(&mut self, watching: Watching) -> Result<Watched, Stopped> {
        let (reply, answer) = mpsc::channel();
        let errand = Errand { tests: self.tests.clone(), watching, reply };
        self.hatch.ask(errand)?;
        answer.recv().map_err(|_| Stopped)
    }
}
