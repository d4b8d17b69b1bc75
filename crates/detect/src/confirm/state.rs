//! Which state do a polluter and its victim share?
//!
//! The polluters are run once more, watched: what each of them leaves different from how it found
//! it is the list of suspects. Then they are run with the victim behind them, and some of what they
//! changed is put back in between. What must be put back for the victim to pass is what it stumbles
//! over, and what we name: the fewest such places, found by [`minimal_subset`]. For a brittle it is
//! the other way round: of what its state-setters changed, that which must be *kept*.
//!
//! Limits: only what the agent watches and can put back is found; a place that is not named is not
//! innocent. Every answer was tried [`TRIES`] times.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use unflake_model::{
    AttemptChanges, Environment, Evidence, Finding, Group, Look, Order, Restore, StateChange,
    StateLook, TestIndex, Verdict,
};

use crate::lab::{Lab, OutOfBudget, Suspicion};
use crate::ledger::Run;
use crate::subset::minimal_subset;

/// How often the answer is tried.
const TRIES: usize = 3;

/// Questions asked about one test. Each is one run of few tests.
const QUESTIONS_MAX: usize = 200;

/// A test, and what it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    test: TestIndex,
    group: Group,
    /// Whether it needs what the group does.
    is_brittle: bool,
}

impl Dependency {
    /// The first one that was found, if there is one.
    pub fn found(finding: &Finding) -> Option<Self> {
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
    pub fn suspected(Suspicion { test, group, behind }: &Suspicion) -> Self {
        Self { test: *test, group: group.clone(), is_brittle: *behind == Evidence::Pass }
    }
}

/// State that tests share; empty if none was found.
pub type SharedState = Result<Vec<StateChange>, OutOfBudget>;

/// The state that explains why the test depends on others.
pub async fn shared_state(lab: &Lab, dependency: Dependency) -> SharedState {
    let Dependency { test, group, is_brittle } = dependency;
    let tests: Vec<TestIndex> = group.into_iter().chain([test]).collect();
    let watched = run(lab, &tests, Look::at_state(StateLook::all())).await?;
    let suspects = left_behind(&watched.seen.changes, tests.len() - 1);
    let search = Search { lab, tests, is_brittle, suspects, n_questions: Cell::new(0) };
    let as_is = watched.last_evidence();
    let has_effect = async |chosen: &[usize]| match chosen {
        [] if !is_brittle => Ok(as_is == Some(Evidence::Pass)),
        chosen => search.passes(chosen).await,
    };
    let Some(guilty) = minimal_subset(search.suspects.len(), &has_effect).await? else {
        return Ok(Vec::new());
    };
    // What it takes to pass if nothing is chosen is explained by nothing.
    if guilty.is_empty() {
        return Ok(Vec::new());
    }
    for _ in 1..TRIES {
        if !search.passes(&guilty).await? {
            return Ok(Vec::new());
        }
    }
    Ok(guilty.into_iter().map(|place| search.suspects[place].clone()).collect())
}

/// What the tests at the first so many places leave changed, all together.
fn left_behind(seen: &[AttemptChanges], n_first: usize) -> Vec<StateChange> {
    let mut places: BTreeMap<&str, StateChange> = BTreeMap::new();
    let of_group = seen.iter().filter(|of_one| of_one.attempt < n_first);
    for change in of_group.flat_map(|of_one| &of_one.changes) {
        let known = places.entry(&change.place).or_insert_with(|| change.clone());
        known.after.clone_from(&change.after);
    }
    // Put back by a later one of them.
    places.retain(|_, change| change.before != change.after);
    places.into_values().collect()
}

async fn run(lab: &Lab, tests: &[TestIndex], look: Look) -> Result<Rc<Run>, OutOfBudget> {
    lab.look(Order::from_distinct(tests), Environment::Plain, look).await
}

/// Runs of one group and the test behind it.
struct Search<'l> {
    lab: &'l Lab,
    tests: Vec<TestIndex>,
    /// Whether chosen places are kept and all others put back, or the other way round.
    is_brittle: bool,
    suspects: Vec<StateChange>,
    n_questions: Cell<usize>,
}

impl Search<'_> {
    /// Whether the test passes when the chosen places are put back, or nothing else is.
    async fn passes(&self, chosen: &[usize]) -> Result<bool, OutOfBudget> {
        self.n_questions.set(self.n_questions.get() + 1);
        if QUESTIONS_MAX < self.n_questions.get() {
            return Ok(false);
        }
        let items = chosen.iter().map(|place| self.suspects[*place].place.clone()).collect();
        let before = self.tests.len() - 1;
        let restore = Some(Restore { before, items, all_but: self.is_brittle });
        let look = Look { restore, ..Look::NOTHING };
        let ended = run(self.lab, &self.tests, look).await?;
        Ok(ended.last_evidence() == Some(Evidence::Pass))
    }
}
