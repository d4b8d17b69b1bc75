//! Reverse after pass: if an order showed nothing, its reverse is the best order to try next.
//!
//! If a victim passed, its polluter most likely stood behind it, so the reverse puts the polluter
//! in front: with p polluters and c cleaners in one class the chance of a failure rises from
//! p/(p+c+1) to p/(p+c) (detection spec 2.5). The reverse of a reverse would be the first order
//! again, so after a reverse we always sample.
//!
//! Orders are identified by number instead of being kept: every sampler gives order i as a pure
//! function of its seed and i, so any caller can make it. Results may come back late and in any
//! order; while none is waiting to be reversed, new samples are handed out.

use std::collections::VecDeque;

use unflake_model::Order;

/// What the runs of an order showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Every test passed (or was skipped).
    AllPassed,
    /// Something failed, but only tests known to be flaky.
    NothingNew,
    /// A test failed that was not known to be flaky.
    SomethingNew,
}

/// After which orders the reverse is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReverseAfter {
    /// After orders in which every test passed, as first proposed.
    AllPassed,
    /// After orders that showed no new flaky test: what the reference tool does by default.
    NothingNew,
}

/// Which order to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// The sampled order with this number.
    Forward(u64),
    /// The reverse of the sampled order with this number.
    Backward(u64),
}

impl Turn {
    /// The order itself; `sample` makes sampled orders.
    pub fn order(self, sample: impl FnOnce(u64) -> Order) -> Order {
        match self {
            Self::Forward(number) => sample(number),
            Self::Backward(number) => sample(number).reversed(),
        }
    }
}

/// Decides what is next: the reverse of an order already run, or a new sample.
#[derive(Clone, Debug)]
pub struct ReverseAfterPass {
    condition: ReverseAfter,
    n_sampled: u64,
    to_reverse: VecDeque<u64>,
}

impl ReverseAfterPass {
    /// Starts with sample 0.
    pub fn new(condition: ReverseAfter) -> Self {
        Self { condition, n_sampled: 0, to_reverse: VecDeque::new() }
    }

    /// The next order to run.
    pub fn ask(&mut self) -> Turn {
        if let Some(number) = self.to_reverse.pop_front() {
            return Turn::Backward(number);
        }
        self.n_sampled += 1;
        Turn::Forward(self.n_sampled - 1)
    }

    /// Records what an order showed.
    pub fn tell(&mut self, turn: Turn, shown: Shown) {
        let worth_reversing = match self.condition {
            ReverseAfter::AllPassed => shown == Shown::AllPassed,
            ReverseAfter::NothingNew => shown != Shown::SomethingNew,
        };
        if let (Turn::Forward(number), true) = (turn, worth_reversing) {
            self.to_reverse.push_back(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Turn::{Backward, Forward};
    use unflake_model::Suite;

    /// The turns taken when the i-th run shows the i-th answer.
    fn turns(condition: ReverseAfter, answers: &[Shown]) -> Vec<Turn> {
        let mut sequence = ReverseAfterPass::new(condition);
        let mut run = |shown: &Shown| {
            let turn = sequence.ask();
            sequence.tell(turn, *shown);
            turn
        };
        answers.iter().map(&mut run).collect()
    }

    #[test]
    fn a_passing_order_is_reversed_once_and_its_reverse_never() {
        assert_eq!(
            turns(ReverseAfter::AllPassed, &[Shown::AllPassed; 5]),
            [Forward(0), Backward(0), Forward(1), Backward(1), Forward(2)]
        );
    }

    #[test]
    fn the_conditions_differ_where_only_known_tests_fail() {
        let answers = [Shown::NothingNew, Shown::SomethingNew, Shown::SomethingNew];
        assert_eq!(turns(ReverseAfter::AllPassed, &answers), [Forward(0), Forward(1), Forward(2)]);
        assert_eq!(
            turns(ReverseAfter::NothingNew, &answers),
            [Forward(0), Backward(0), Forward(1)]
        );
    }

    #[test]
    fn late_answers_are_reversed_when_they_arrive() {
        let mut sequence = ReverseAfterPass::new(ReverseAfter::AllPassed);
        assert_eq!([sequence.ask(), sequence.ask()], [Forward(0), Forward(1)]);
        sequence.tell(Forward(1), Shown::AllPassed);
        sequence.tell(Forward(0), Shown::AllPassed);
        assert_eq!(
            [sequence.ask(), sequence.ask(), sequence.ask()],
            [Backward(1), Backward(0), Forward(2)]
        );
    }

    #[test]
    fn a_backward_turn_is_the_reverse_of_its_sample() {
        let suite = Suite::of_sizes(&[2, 2]).unwrap();
        let sample = |_| Order::original(&suite);
        assert_eq!(Forward(3).order(sample), sample(3));
        assert_eq!(Backward(3).order(sample), sample(3).reversed());
    }
}
