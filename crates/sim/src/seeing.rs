//! What looks show in a simulated suite.
//!
//! A variable is a place, `state.x3`. State that is put back gets the value it had before the first
//! test. Open choices are numbered as tests ask for them.

use unflake_model::{
    AttemptChanges, Chosen, Environment, Experiment, Look, Seen, StateChange, StateKind,
};

use crate::behaviour::{Values, Variable};

/// The open choices of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenChoices {
    /// How many it asks for.
    pub n: u64,
    /// The first and the last of those that decide how it ends, counted from 1. All in between are
    /// needed.
    pub deciding: (u64, u64),
}

/// The name of the place of a variable, as changes give it.
pub(crate) fn place(variable: Variable) -> String {
    format!("state.x{}", variable.0)
}

/// What was seen in a run so far.
pub(crate) struct Seeing<'s> {
    look: &'s Look,
    /// Whether state can be put back.
    is_put_back: bool,
    /// Whether open choices are perturbed.
    is_choosing: bool,
    n_choices: u64,
    seen: Seen,
}

impl<'s> Seeing<'s> {
    pub(crate) fn new(experiment: &'s Experiment, is_put_back: bool) -> Self {
        let is_choosing = match experiment.environment {
            Environment::Plain | Environment::Hashed { .. } => false,
            Environment::Perturbed { factors, .. } => !factors.is_empty(),
        };
        let (look, seen) = (&experiment.look, Seen::default());
        Self { look, is_put_back, is_choosing, n_choices: 0, seen }
    }

    /// Whether changes are recorded.
    pub(crate) fn is_watching(&self) -> bool {
        self.look.state.is_some()
    }

    /// Puts back what is due before the attempt at this place.
    pub(crate) fn put_back(&mut self, attempt: usize, fresh: &Values, values: &mut Values) {
        let Some(restore) = self.look.restore.as_ref().filter(|it| it.before == attempt) else {
            return;
        };
        let changed: Vec<Variable> = values.differing(fresh).collect();
        let restored = self.seen.restored.get_or_insert_default();
        for variable in changed {
            let name = place(variable);
            if restore.items.contains(&name) == restore.all_but {
                continue;
            }
            if self.is_put_back {
                values.set(variable, fresh.get(variable));
                restored.items.push(name);
            } else {
                restored.failed.push((name, "it cannot be".to_owned()));
            }
        }
    }

    /// Counts the open choices that a test asks for; returns whether those that decide it are
    /// perturbed.
    pub(crate) fn meets(&mut self, choices: Option<OpenChoices>) -> bool {
        let Some(OpenChoices { n, deciding: (first, last) }) = choices else { return true };
        let before = self.n_choices;
        self.n_choices += n;
        let is_made = |number| match &self.look.choices {
            Some(made) => made.contains(&(before + number)),
            None => true,
        };
        !self.is_choosing || is_made(first) && is_made(last)
    }

    /// Records what an attempt changed.
    pub(crate) fn changed(&mut self, attempt: usize, before: &Values, after: &Values) {
        let change = |variable: Variable| StateChange {
            place: place(variable),
            kind: StateKind::Global,
            before: Some(before.get(variable).to_string()),
            after: Some(after.get(variable).to_string()),
            by: None,
        };
        let changes: Vec<StateChange> = before.differing(after).map(change).collect();
        if !changes.is_empty() {
            self.seen.changes.push(AttemptChanges { attempt, changes, n_more: 0 });
        }
    }

    pub(crate) fn into_seen(mut self) -> Seen {
        if self.is_choosing {
            let single = self.look.choices.as_ref().filter(|it| it.start() == it.end());
            let stack = single.map(|it| format!("choice {}", it.start()));
            let stack = stack.into_iter().collect();
            self.seen.chosen = Some(Chosen { n: self.n_choices, stack });
        }
        self.seen
    }
}
