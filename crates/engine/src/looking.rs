//! How is a look passed to an agent, and what did it show?

use std::ops::Range;

use unflake_model::{
    AttemptCalls, AttemptChanges, CalledFunction, Chosen, Restored, Seen, StateChange, StateKind,
    StateLook,
};
use unflake_wire::{Change, Function, Restore, Traced};

/// Asks for every kind of state that the agent can watch.
const ALL_KINDS: &str = "all";
/// Asks whether a test or a longer-lived fixture made each change.
const FIXTURES: &str = "fixtures";
/// Asks to watch installed packages as well as the project.
const THIRD_PARTY: &str = "third-party";

/// The kinds of state to watch, in the words of the protocol.
pub(crate) fn kinds(look: &StateLook) -> Vec<String> {
    let is_all = StateKind::ALL.iter().all(|kind| look.kinds.contains(kind));
    let named = look.kinds.iter().map(|kind| kind.slug()).filter(|_| !is_all);
    let all = is_all.then_some(ALL_KINDS);
    let fixtures = look.fixtures.then_some(FIXTURES);
    let third_party = look.third_party.then_some(THIRD_PARTY);
    let words = all.into_iter().chain(named).chain(fixtures).chain(third_party);
    words.map(str::to_owned).collect()
}

/// What to put back, in the words of the protocol.
pub(crate) fn restore(asked: &unflake_model::Restore) -> Restore {
    let unflake_model::Restore { before, items, all_but } = asked.clone();
    Restore { before, again: false, items, all_but }
}

/// What the look of a run has shown so far.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    pub(crate) seen: Seen,
    /// For each function the agent has numbered, its position in [`Seen::functions`].
    numbered: Vec<usize>,
}

impl Looked {
    /// Adds what an attempt left changed. Agents report no kind that is missing from our list.
    pub(crate) fn add_changes(&mut self, attempt: usize, told: Vec<Change>, n_more: u64) {
        let change = |told: Change| {
            let kind = told.kind.parse().ok()?;
            let Change { place, before, after, by, .. } = told;
            Some(StateChange { place, kind, before, after, by })
        };
        let changes: Vec<StateChange> = told.into_iter().filter_map(change).collect();
        if !changes.is_empty() || 0 < n_more {
            self.seen.changes.push(AttemptChanges { attempt, changes, n_more });
        }
    }

    /// Adds what an attempt called. The agent numbers functions as it names them; it does not
    /// number functions of which no call was seen, and these come last.
    pub(crate) fn add_calls(&mut self, attempt: usize, told: Traced) {
        let Traced { functions, counts, names, unseen, .. } = told;
        let named = self.name(names);
        self.numbered.extend(named);
        let ours = |number: &usize| self.numbered.get(*number).copied();
        let mut places: Vec<usize> = functions.iter().filter_map(ours).collect();
        places.extend(self.name(unseen));
        self.seen.calls.push(AttemptCalls { attempt, functions: places, counts });
    }

    fn name(&mut self, told: Vec<Function>) -> Range<usize> {
        let first = self.seen.functions.len();
        self.seen.functions.extend(told.into_iter().map(function));
        first..self.seen.functions.len()
    }
}

fn function(told: Function) -> CalledFunction {
    let Function { module, name, file, line } = told;
    CalledFunction { module, name, place: file.zip(line) }
}

/// What was put back.
pub(crate) fn restored(told: unflake_wire::Restored) -> Restored {
    let failed = told.failed.into_iter().map(|it| (it.place, it.why)).collect();
    Restored { items: told.items, failed }
}

/// The open choices that were perturbed.
pub(crate) fn chosen(told: unflake_wire::Chosen) -> Chosen {
    Chosen { n: told.n, stack: told.stack }
}
