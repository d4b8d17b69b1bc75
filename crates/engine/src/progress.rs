//! What is known about the attempts of one run, from messages that come in any order.
//!
//! A test that closes our socket makes the run connect again; two threads read the two connections,
//! so "ended" may arrive before "started". And a test that forks may leave a copy of itself that
//! says everything twice. So facts are kept by the place of the attempt, and the first one counts.

use std::collections::BTreeMap;
use std::time::Duration;

use unflake_model::{Attempt, Order, Outcome, Phase, Repetition, TestIndex};
use unflake_wire::{End, Ended};

use crate::event::Failure;

/// What is known about one attempt.
#[derive(Clone, Copy, Debug)]
enum Fact {
    Waiting,
    Started { at: Duration },
    Ended { outcome: Outcome, duration: Duration },
}

/// Identifies one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) test: TestIndex,
    pub(crate) attempt: usize,
    /// Its position among all attempts of the run.
    pub(crate) number: usize,
}

/// What is known about the attempts of one run.
#[derive(Debug)]
pub(crate) struct Progress {
    places: Vec<Place>,
    /// How many attempts each position has.
    n_per_position: usize,
    facts: Vec<Fact>,
    /// The latest attempt that was mentioned.
    latest: Option<usize>,
    n_ended: usize,
    is_done: bool,
}

impl Progress {
    pub(crate) fn new(order: &Order, repetition: Repetition) -> Self {
        let places = places(&repetition.attempts(order));
        Self {
            n_per_position: if repetition == Repetition::Twice { 2 } else { 1 },
            facts: vec![Fact::Waiting; places.len()],
            places,
            latest: None,
            n_ended: 0,
            is_done: false,
        }
    }

    /// The attempt that a message is about; `None` if the run does not have it.
    pub(crate) fn place(&self, position: usize, attempt: usize) -> Option<Place> {
        let number = position.checked_mul(self.n_per_position)?.checked_add(attempt)?;
        self.places.get(number).copied().filter(|_| attempt < self.n_per_position)
    }

    /// Records that an attempt began. `None` if that is known already, or it is not of this run.
    pub(crate) fn started(
        &mut self,
        position: usize,
        attempt: usize,
        at: Duration,
    ) -> Option<Place> {
        let place = self.place(position, attempt)?;
        self.latest = self.latest.max(Some(place.number));
        let fact = &mut self.facts[place.number];
        let is_news = matches!(fact, Fact::Waiting);
        is_news.then(|| {
            *fact = Fact::Started { at };
            place
        })
    }

    /// Records that an attempt ended. `None` if that is known already, or it is not of this run.
    pub(crate) fn ended(&mut self, end: &End) -> Option<(Place, Outcome, Duration)> {
        let place = self.place(end.position, end.attempt)?;
        let duration = Duration::try_from_secs_f64(end.seconds).unwrap_or_default();
        let outcome = outcome(end);
        self.settle(place, outcome, duration).then_some((place, outcome, duration))
    }

    /// The run says that nothing more will come.
    pub(crate) fn done(&mut self) {
        self.is_done = true;
    }

    /// The attempt that is running, and since when.
    pub(crate) fn open(&self) -> Option<(Place, Duration)> {
        // The latest: if a message was lost, a later attempt shows that this one is over.
        let number = self.latest?;
        match self.facts[number] {
            Fact::Started { at } => Some((self.places[number], at)),
            Fact::Waiting | Fact::Ended { .. } => None,
        }
    }

    /// Ends the running attempt from outside.
    pub(crate) fn settle(&mut self, place: Place, outcome: Outcome, duration: Duration) -> bool {
        self.latest = self.latest.max(Some(place.number));
        let fact = &mut self.facts[place.number];
        let is_news = !matches!(fact, Fact::Ended { .. });
        if is_news {
            *fact = Fact::Ended { outcome, duration };
            self.n_ended += 1;
        }
        is_news
    }

    /// Whether any attempt was mentioned.
    pub(crate) fn has_begun(&self) -> bool {
        self.latest.is_some()
    }

    /// Whether the run says that it is done.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether the run says so, and every attempt was mentioned.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_done && self.n_ended == self.facts.len()
    }

    /// Every attempt; those that never ended count as not run.
    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        let tests = self.places.iter().map(|place| place.test);
        tests
            .zip(&self.facts)
            .map(|(test, fact)| match *fact {
                Fact::Ended { outcome, duration } => Attempt { test, outcome, duration },
                Fact::Waiting | Fact::Started { .. } => {
                    Attempt { test, outcome: Outcome::NotRun, duration: Duration::ZERO }
                }
            })
            .collect()
    }
}

/// The attempts of these tests, each with its number among those of its test.
fn places(tests: &[TestIndex]) -> Vec<Place> {
    let mut n_made: BTreeMap<TestIndex, usize> = BTreeMap::new();
    let mut place = |(number, test): (usize, &TestIndex)| {
        let n = n_made.entry(*test).or_default();
        *n += 1;
        Place { test: *test, attempt: *n - 1, number }
    };
    tests.iter().enumerate().map(&mut place).collect()
}

/// The outcome in our terms. An error before the test is an error; after it, the test has failed in
/// its teardown, because it did run.
fn outcome(end: &End) -> Outcome {
    let phase = match end.phase {
        unflake_wire::Phase::Setup => Phase::SetUp,
        unflake_wire::Phase::Call => Phase::Call,
        unflake_wire::Phase::Teardown => Phase::TearDown,
    };
    match (end.outcome, phase) {
        (Ended::Passed, _) => Outcome::Passed,
        (Ended::Skipped, _) => Outcome::Skipped,
        (Ended::Failed, phase) | (Ended::Error, phase @ Phase::TearDown) => {
            Outcome::Failed { phase }
        }
        (Ended::Error, Phase::SetUp | Phase::Call) => Outcome::Error,
    }
}

/// What a test said about its outcome, if anything.
pub(crate) fn failure(end: End) -> Option<Failure> {
    let text = end.text.or_else(|| end.message.clone())?;
    let message = end.message.unwrap_or_else(|| text.lines().last().unwrap_or_default().to_owned());
    Some(Failure {
        message,
        text,
        stdout: end.stdout.unwrap_or_default(),
        stderr: end.stderr.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_wire::Phase as WirePhase;

    fn progress(repetition: Repetition) -> Progress {
        let order = Order::from_distinct(vec![TestIndex::new(7), TestIndex::new(3)]);
        Progress::new(&order, repetition)
    }

    fn end(position: usize, attempt: usize, outcome: Ended) -> End {
        End {
            position,
            attempt,
            outcome,
            phase: WirePhase::Call,
            seconds: 0.5,
            message: None,
            text: None,
            stdout: None,
            stderr: None,
            changes: Vec::new(),
            more: 0,
        }
    }

    fn outcomes(progress: &Progress) -> Vec<(usize, Outcome)> {
        progress.attempts().iter().map(|a| (a.test.get(), a.outcome)).collect()
    }

    #[test]
    fn what_was_heard_is_what_happened_and_the_rest_was_not_run() {
        let mut progress = progress(Repetition::Twice);
        assert_eq!(progress.open(), None);
        let at = Duration::from_secs(2);
        let place = progress.started(0, 0, at).unwrap();
        assert_eq!((place.test.get(), place.attempt), (7, 0));
        assert_eq!(progress.open(), Some((place, at)));
        progress.ended(&end(0, 0, Ended::Passed)).unwrap();
        assert_eq!(progress.open(), None);
        progress.started(0, 1, at).unwrap();
        progress.ended(&end(0, 1, Ended::Failed)).unwrap();
        progress.started(1, 0, at).unwrap();
        assert_eq!(
            outcomes(&progress),
            [
                (7, Outcome::Passed),
                (7, Outcome::Failed { phase: Phase::Call }),
                (3, Outcome::NotRun),
                (3, Outcome::NotRun),
            ]
        );
        progress.done();
        assert!(progress.is_done() && !progress.is_complete());
    }

    #[test]
    fn the_first_word_counts_in_whatever_order_words_come() {
        let mut progress = progress(Repetition::Once);
        progress.ended(&end(1, 0, Ended::Passed)).unwrap();
        assert_eq!(progress.started(1, 0, Duration::ZERO), None);
        assert_eq!(progress.ended(&end(1, 0, Ended::Failed)), None);
        assert_eq!(progress.started(2, 0, Duration::ZERO), None);
        assert_eq!(progress.started(0, 1, Duration::ZERO), None);
        assert_eq!(progress.ended(&end(9, 0, Ended::Failed)), None);
        progress.started(0, 0, Duration::ZERO).unwrap();
        // Attempt 1 is over, so attempt 0 is not running, whatever happened to its end.
        assert_eq!(progress.open(), None);
        assert_eq!(outcomes(&progress), [(7, Outcome::NotRun), (3, Outcome::Passed)]);
        progress.ended(&end(0, 0, Ended::Skipped)).unwrap();
        progress.done();
        assert!(progress.is_complete());
    }

    #[test]
    fn an_attempt_ended_from_outside_stays_so() {
        let mut progress = progress(Repetition::Once);
        let place = progress.started(0, 0, Duration::ZERO).unwrap();
        let timed_out = Outcome::TimedOut { after: Duration::from_secs(1) };
        assert!(progress.settle(place, timed_out, Duration::from_secs(1)));
        assert_eq!(progress.ended(&end(0, 0, Ended::Passed)), None);
        assert_eq!(outcomes(&progress)[0].1, timed_out);
    }

    #[test]
    fn the_whole_table_of_what_ends_mean() {
        let check = |outcome, phase| super::outcome(&End { phase, ..end(0, 0, outcome) });
        let (setup, call, teardown) = (WirePhase::Setup, WirePhase::Call, WirePhase::Teardown);
        for phase in [setup, call, teardown] {
            assert_eq!(check(Ended::Passed, phase), Outcome::Passed);
            assert_eq!(check(Ended::Skipped, phase), Outcome::Skipped);
        }
        assert_eq!(check(Ended::Failed, setup), Outcome::Failed { phase: Phase::SetUp });
        assert_eq!(check(Ended::Failed, call), Outcome::Failed { phase: Phase::Call });
        assert_eq!(check(Ended::Failed, teardown), Outcome::Failed { phase: Phase::TearDown });
        assert_eq!(check(Ended::Error, setup), Outcome::Error);
        assert_eq!(check(Ended::Error, call), Outcome::Error);
        assert_eq!(check(Ended::Error, teardown), Outcome::Failed { phase: Phase::TearDown });
    }
}
