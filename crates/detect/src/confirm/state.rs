//! Which state do a polluter and its victim share?
//!
//! The polluters are run once more, watched: what each of them leaves changed is the list of
//! suspects. Then they are run with the victim after them, and some of what they changed is put
//! back in between. The state that must be put back for the victim to pass is what it stumbles
//! over, and what we name: the fewest such places, found by [`minimal_subset`]. For a brittle it is
//! the other way round: of what its state-setters changed, the part that must be *kept*.
//!
//! Limits: only state that the agent watches and can put back is found; a place that is not named
//! is not cleared. Every answer was checked `TRIES` times.

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

/// How often the answer is checked.
const TRIES: usize = 3;

/// How many questions to ask about one test. Each is one run of few tests.
const QUESTIONS_MAX: usize = 200;

/// A test, and what it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    test: TestIndex,
    group: Group,
    /// Whether the test needs what the group does.
    is_brittle: bool,
}

impl Dependency {
    /// The first dependency that was found, if any.
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

    /// The dependency that is suspected.
    pub fn suspected(Suspicion { test, group, behind }: &Suspicion) -> Self {
        Self { test: *test, group: group.clone(), is_brittle: *behind == Evidence::Pass }
    }
}

/// State that tests share; empty if none was found.
pub type SharedState = Result<Vec<StateChange>, OutOfBudget>;

/// The state through which the test depends on others.
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
    // If the test passes with no place chosen, no state explains it.
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

/// What the first `n_first` tests together leave changed.
fn left_behind(seen: &[AttemptChanges], n_first: usize) -> Vec<StateChange> {
    let mut places: BTreeMap<&str, StateChange> = BTreeMap::new();
    let of_group = seen.iter().filter(|of_one| of_one.attempt < n_first);
    for change in of_group.flat_map(|of_one| &of_one.changes) {
        let known = places.entry(&change.place).or_insert_with(|| change.clone());
        known.after.clone_from(&change.after);
    }
    // A later one of them put it back.
    places.retain(|_, change| change.before != change.after);
    places.into_values().collect()
}

async fn run(lab: &Lab, tests: &[TestIndex], look: Look) -> Result<Rc<Run>, OutOfBudget> {
    lab.look(Order::from_distinct(tests), Environment::Plain, look).await
}

/// Runs of one group with the test after it.
struct Search<'l> {
    lab: &'l Lab,
    tests: Vec<TestIndex>,
    /// Whether chosen places are kept and all others put back, or the other way round.
    is_brittle: bool,
    suspects: Vec<StateChange>,
    n_questions: Cell<usize>,
}

impl Search<'_> {
    /// Whether the test passes when the chosen places are put back (for a brittle: kept, and all
    /// others put back).
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
