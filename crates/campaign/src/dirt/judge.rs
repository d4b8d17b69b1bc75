//! Which of the changes that tests make are dirt?
//!
//! A change is dirt of the test that made it, unless one of these holds.
//!
//! * A later test made the place what it was before: that test *puts it back*, and is not dirty
//!   itself. The first one still is, because every test in between sees what it left.
//! * A fixture that outlives the test made the change, and undid it in the end: that is what such
//!   fixtures are for. A change that is never undone is dirt.
//! * It is of a kind that well-behaved programs change all the time: a module is loaded for the
//!   first time, a cache is filled, random numbers are drawn, a lookup leaves an empty entry.
//! * The project declares that it is intended.
//!
//! Values are compared by their texts. A text that was cut proves nothing.

use std::collections::BTreeMap;

use unflake_known::State;
use unflake_known::inspection::{Harmless, Leaver, Left, Standing};
use unflake_model::{StateChange, StateKind, Suite, TestId};

use crate::dirt::allow::AllowList;
use crate::dirt::{SeenTest, Stretch};
use crate::masked::{hide, whole};

/// Marks a text of a value from which something was left out.
const CUT: &str = "…";
const IN_PART: &str = "(in part)";

/// All tests that changed something, with a judgement on each change.
pub(super) fn judge(stretches: &[Stretch], suite: &Suite, allow: &mut AllowList) -> Vec<Leaver> {
    let mut leavers: Vec<Leaver> = Vec::new();
    for stretch in stretches {
        let mut trails = Trails { first: leavers.len(), ..Trails::default() };
        for seen in stretch.seen.iter().filter(|seen| !seen.changes.is_empty()) {
            let test = suite.id(seen.test).clone();
            trails.follow(test, seen, &mut leavers);
        }
        if !stretch.is_whole {
            // Its fixtures were never torn down, so nobody knows what they would have left.
            trails.forgive_fixtures(&mut leavers);
        }
    }
    for leaver in &mut leavers {
        let test = leaver.test.as_str();
        for left in &mut leaver.places {
            let entry = allow.allows(test, left.state.kind.slug(), &left.state.place);
            if let (Some(entry), false) = (entry, matches!(left.standing, Standing::Harmless(_))) {
                left.standing = Standing::Allowed { entry };
            }
            hide(&mut left.state);
        }
    }
    leavers
}

/// Identifies a change: the leaver, and which of its places.
type At = (usize, usize);

/// For each place, the changes in one process that were not put back yet.
#[derive(Default)]
struct Trails {
    open: BTreeMap<(StateKind, String), Vec<At>>,
    /// The first leaver in this process.
    first: usize,
}

impl Trails {
    fn follow(&mut self, test: TestId, seen: &SeenTest, leavers: &mut Vec<Leaver>) {
        let number = leavers.len();
        let mut places = Vec::new();
        for change in &seen.changes {
            let state = whole(change);
            let key = (state.kind, state.place.clone());
            let trail = self.open.entry(key).or_default();
            let undone = match undone(trail, change, leavers) {
                Some(from) => trail.split_off(from),
                None => Vec::new(),
            };
            let standing = if undone.is_empty() {
                trail.push((number, places.len()));
                at_first(&state)
            } else {
                put_back(&undone, &test, leavers)
            };
            places.push(Left { state, by: change.by.clone(), standing });
        }
        let (outcome, n_more) = (seen.outcome, seen.n_more);
        leavers.push(Leaver { test, outcome, places, n_more });
    }

    fn forgive_fixtures(&self, leavers: &mut [Leaver]) {
        for left in leavers[self.first..].iter_mut().flat_map(|leaver| &mut leaver.places) {
            if left.by.is_some() && left.standing.is_dirt() {
                left.standing = Standing::Harmless(Harmless::Fixture);
            }
        }
    }
}

/// The position on a trail from which a change undoes everything.
fn undone(trail: &[At], change: &StateChange, leavers: &[Leaver]) -> Option<usize> {
    let is_told = |text: &str| !text.contains(CUT) && !text.ends_with(IN_PART);
    if change.before == change.after || !change.after.as_deref().is_none_or(is_told) {
        return None;
    }
    trail.iter().position(|at| found(leavers, *at).state.before == change.after)
}

fn found(leavers: &[Leaver], (leaver, place): At) -> &Left {
    &leavers[leaver].places[place]
}

/// The judgement on a change that undoes nothing.
fn at_first(change: &State) -> Standing {
    let is_new = change.before.is_none();
    let is_empty = matches!(change.after.as_deref(), Some("[]" | "{}" | "set()"));
    let harmless = match change.kind {
        StateKind::Modules if is_new => Some(Harmless::Loaded),
        StateKind::Cache => Some(Harmless::Cached),
        StateKind::Random => Some(Harmless::Drawn),
        // As `defaultdict` creates it on a mere lookup.
        _ if is_new && is_empty && change.place.ends_with(']') => Some(Harmless::Empty),
        _ => None,
    };
    harmless.map_or(Standing::Dirt { put_back_by: None }, Standing::Harmless)
}

/// Marks each change as put back by this test; returns the judgement on the one that did it.
fn put_back(undone: &[At], test: &TestId, leavers: &mut [Leaver]) -> Standing {
    let mut standing = Standing::Harmless(Harmless::Fixture);
    for &(leaver, place) in undone {
        let left_by = leavers[leaver].test.clone();
        let left = &mut leavers[leaver].places[place];
        match &mut left.standing {
            dirt @ Standing::Dirt { .. } if left.by.is_some() => {
                *dirt = Standing::Harmless(Harmless::Fixture);
            }
            Standing::Dirt { put_back_by } => {
                *put_back_by = Some(test.clone());
                standing = Standing::PutsBack { left_by };
            }
            Standing::Harmless(why) if matches!(standing, Standing::Harmless(_)) => {
                standing = Standing::Harmless(*why);
            }
            Standing::Harmless(_) | Standing::PutsBack { .. } | Standing::Allowed { .. } => {}
        }
    }
    standing
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::{OutcomeKind, TestIndex};

    fn change(place: &str, before: Option<&str>, after: Option<&str>) -> StateChange {
        let text = |it: Option<&str>| it.map(str::to_owned);
        let (place, kind) = (place.to_owned(), StateKind::Global);
        StateChange { place, kind, before: text(before), after: text(after), by: None }
    }

    fn x(before: &str, after: &str) -> StateChange {
        change("x", Some(before), Some(after))
    }

    fn of_kind(kind: StateKind, change: StateChange) -> StateChange {
        StateChange { kind, ..change }
    }

    fn by_fixture(change: StateChange) -> StateChange {
        StateChange { by: Some("module fixture f".to_owned()), ..change }
    }

    /// The judgements, where each test makes one change.
    fn standings_in(stretches: &[(&[StateChange], bool)], entries: &[&str]) -> Vec<String> {
        let mut test = (0..).map(TestIndex::new);
        let mut stretch = |(changes, is_whole): &(&[StateChange], bool)| {
            let seen = changes.iter().map(|change| SeenTest {
                test: test.next().unwrap(),
                outcome: OutcomeKind::Passed,
                changes: vec![change.clone()],
                n_more: 0,
            });
            Stretch { seen: seen.collect(), is_whole: *is_whole }
        };
        let stretches: Vec<Stretch> = stretches.iter().map(&mut stretch).collect();
        let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
        let suite = Suite::of_sizes(&[9]).unwrap();
        let leavers = judge(&stretches, &suite, &mut AllowList::new(&entries));
        let told = |left: &Left| match &left.standing {
            Standing::Dirt { put_back_by: None } => "dirt".to_owned(),
            Standing::Dirt { put_back_by: Some(test) } => format!("dirt until {test}"),
            Standing::PutsBack { left_by } => format!("puts back {left_by}"),
            Standing::Harmless(why) => why.slug().to_owned(),
            Standing::Allowed { entry } => format!("allowed by {entry}"),
        };
        leavers.iter().flat_map(|leaver| leaver.places.iter().map(told)).collect()
    }

    fn standings(changes: &[StateChange]) -> Vec<String> {
        standings_in(&[(changes, true)], &[])
    }

    #[test]
    fn who_puts_back_is_not_dirty_and_who_was_put_back_is() {
        assert_eq!(standings(&[x("1", "2")]), ["dirt"]);
        assert_eq!(standings(&[x("1", "2"), x("2", "1")]), ["dirt until 1", "puts back 0"]);
        let grown = [change("y[0]", None, Some("1")), change("y[0]", Some("1"), None)];
        assert_eq!(standings(&grown), ["dirt until 1", "puts back 0"]);
        assert_eq!(standings(&[x("1", "2"), change("y", Some("2"), Some("1"))]), ["dirt", "dirt"]);
    }

    #[test]
    fn what_is_put_back_in_part_stays_dirt_of_those_before() {
        let changes = [x("1", "2"), x("2", "3"), x("3", "2")];
        assert_eq!(standings(&changes), ["dirt", "dirt until 2", "puts back 1"]);
        let changes = [x("1", "2"), x("2", "3"), x("3", "1"), x("1", "2")];
        assert_eq!(standings(&changes), ["dirt until 2", "dirt until 2", "puts back 1", "dirt"]);
    }

    #[test]
    fn texts_that_were_cut_and_other_things_of_the_same_look_prove_nothing() {
        assert_eq!(standings(&[x("[1, …]", "2"), x("2", "[1, …]")]), ["dirt", "dirt"]);
        let (part, other) = ("<list of 9 items> (in part)", "<list of 8 items> (in part)");
        assert_eq!(standings(&[x(part, other), x(other, part)]), ["dirt", "dirt"]);
        assert_eq!(standings(&[x("<A>", "<A>"), x("<A>", "<A>")]), ["dirt", "dirt"]);
    }

    #[test]
    fn fixtures_that_undo_what_they_did_are_harmless_and_others_are_not() {
        let set_up = by_fixture(x("1", "2"));
        assert_eq!(standings(&[set_up.clone(), x("2", "1")]), ["fixture", "fixture"]);
        assert_eq!(standings(std::slice::from_ref(&set_up)), ["dirt"]);
        let changes = [set_up.clone(), x("2", "3"), x("3", "1")];
        assert_eq!(standings(&changes), ["fixture", "dirt until 2", "puts back 1"]);
        let changes = [set_up, x("2", "3"), x("3", "2"), x("2", "1")];
        assert_eq!(standings(&changes), ["fixture", "dirt until 2", "puts back 1", "fixture"]);
    }

    #[test]
    fn each_process_has_a_trail_of_its_own_and_fixtures_of_one_that_died_are_not_blamed() {
        let (first, second) =
            ([by_fixture(x("1", "2")), change("y", None, Some("1"))], x("2", "1"));
        let stretches: [(&[StateChange], bool); 2] = [(&first, false), (&[second], true)];
        assert_eq!(standings_in(&stretches, &[]), ["fixture", "dirt", "dirt"]);
    }

    #[test]
    fn what_programs_do_all_the_time_is_harmless() {
        let (new, gone) =
            (change("m", None, Some("<module>")), change("m", Some("<module>"), None));
        let (new, gone) = (of_kind(StateKind::Modules, new), of_kind(StateKind::Modules, gone));
        assert_eq!(standings(std::slice::from_ref(&new)), ["loaded"]);
        assert_eq!(standings(std::slice::from_ref(&gone)), ["dirt"]);
        assert_eq!(standings(&[new, gone]), ["loaded", "loaded"]);
        assert_eq!(standings(&[of_kind(StateKind::Cache, x("0", "1"))]), ["cached"]);
        assert_eq!(standings(&[of_kind(StateKind::Random, x("a", "b"))]), ["drawn"]);
        assert_eq!(standings(&[change("x['k']", None, Some("[]"))]), ["empty"]);
        assert_eq!(standings(&[change("x.k", None, Some("[]"))]), ["dirt"]);
        assert_eq!(standings(&[change("x['k']", None, Some("[1]"))]), ["dirt"]);
    }

    #[test]
    fn what_is_allowed_is_no_dirt_and_what_is_harmless_needs_no_leave() {
        let changes = [x("1", "2"), of_kind(StateKind::Cache, x("1", "2"))];
        let stretches: [(&[StateChange], bool); 1] = [(&changes, true)];
        assert_eq!(standings_in(&stretches, &["*"]), ["allowed by *", "cached"]);
    }
}
