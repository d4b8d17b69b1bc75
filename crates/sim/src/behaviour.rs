//! What one simulated test does.
//!
//! A process has shared variables, each 0 when the process starts. A test that is started:
//!
//! 1. ends as the first applicable rule says: one whose condition holds, and which chance lets
//!    happen. If no rule applies, it passes;
//! 2. with probability [`Behaviour::flip`], a pass turns into a failure or a failure into a pass;
//! 3. if it passed or failed, makes its writes one after the other, so that the condition of a
//!    write sees the writes before it. A test that was skipped, crashed or hung writes nothing.
//!
//! That is all. Polluters, cleaners, state-setters and the rest are not concepts here; they are how
//! such tests affect each other (see [`crate::phenomenon`]).

/// A shared variable of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variable(pub u32);

/// A conjunction of "this variable has this value". The empty one always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition(Vec<(Variable, u8)>);

impl Condition {
    /// The condition that always holds.
    pub fn always() -> Self {
        Self::default()
    }

    /// The condition that holds while the variable has this value.
    pub fn is(variable: Variable, value: u8) -> Self {
        Self::always().and(variable, value)
    }

    /// Holds while `self` holds and the variable has this value.
    #[must_use]
    pub fn and(mut self, variable: Variable, value: u8) -> Self {
        self.0.push((variable, value));
        self
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = Variable> {
        self.0.iter().map(|(variable, _)| *variable)
    }
}

/// How a test ends if it does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Its assertion fails.
    Fail,
    /// The runner cannot run it.
    Error,
    /// It is skipped.
    Skip,
    /// It ends the process.
    Crash,
    /// It never ends, and the timeout stops it together with the process.
    Hang,
}

impl Ending {
    /// Whether the test reaches the end of its body or its clean-up, and so makes its writes.
    pub fn is_steady(self) -> bool {
        matches!(self, Self::Fail | Self::Error)
    }
}

/// When a rule whose condition holds takes effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chance {
    /// The rule takes effect every time.
    Certain,
    /// The rule takes effect with this probability, drawn anew in each attempt.
    Independent {
        /// The probability.
        rate: f64,
    },
    /// The rule takes effect with this probability, drawn once for each block of runs: runs 0 to
    /// `runs - 1`, the next `runs`, and so on. So failures come in bursts (a slow hour, a full
    /// disk).
    Burst {
        /// The probability that a block is bad.
        rate: f64,
        /// The length of a block in consecutive run numbers; at least 1.
        runs: u64,
    },
    /// The rule takes effect for this share of the seeds of a perturbed environment, and for such a
    /// seed every time; never in the plain environment.
    OpenChoice {
        /// The share of seeds.
        rate: f64,
    },
}

impl Chance {
    /// The probability, if there is one to check.
    pub(crate) fn rate(self) -> Option<f64> {
        match self {
            Self::Certain => None,
            Self::Independent { rate } | Self::Burst { rate, .. } | Self::OpenChoice { rate } => {
                Some(rate)
            }
        }
    }
}

/// One way in which a test does not pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The values under which the rule can take effect.
    pub when: Condition,
    /// How often it does then.
    pub chance: Chance,
    /// How the test then ends.
    pub ending: Ending,
}

/// The outcomes after which a write is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// After a pass or a failure.
    Either,
    /// After a pass.
    Pass,
    /// After a failure, which never reached the clean-up.
    Fail,
}

/// A value left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The variable that is written.
    pub variable: Variable,
    /// Its new value.
    pub value: u8,
    /// The values under which the write is made.
    pub when: Condition,
    /// The outcomes after which it is made.
    pub on: On,
}

impl Write {
    /// A write that is always made.
    pub fn always(variable: Variable, value: u8) -> Self {
        Self { variable, value, when: Condition::always(), on: On::Either }
    }
}

/// Everything that one test does. By default it passes and touches nothing, as most tests do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Behaviour {
    /// The first applicable rule decides how the test ends.
    pub rules: Vec<Rule>,
    /// The writes, made in this order.
    pub writes: Vec<Write>,
    /// Probability that a pass is turned into a failure, or a failure into a pass.
    pub flip: f64,
}

impl Behaviour {
    /// The variables that its rules and writes name.
    pub(crate) fn variables(&self) -> impl Iterator<Item = Variable> {
        let read = self.rules.iter().flat_map(|rule| rule.when.variables());
        let written =
            self.writes.iter().flat_map(|write| write.when.variables().chain([write.variable]));
        read.chain(written)
    }

    /// How the first applicable rule ends the test; `happens` decides about chance, given the
    /// number of a rule.
    pub(crate) fn ending(
        &self,
        values: &Values,
        mut happens: impl FnMut(u64, Chance) -> bool,
    ) -> Option<Ending> {
        (0..)
            .zip(&self.rules)
            .find(|(number, rule)| values.satisfy(&rule.when) && happens(*number, rule.chance))
            .map(|(_, rule)| rule.ending)
    }

    /// What the test does when nothing is left to chance, in the plain environment.
    pub(crate) fn certain_ending(&self, values: &Values) -> Option<Ending> {
        self.ending(values, |_, chance| chance == Chance::Certain)
    }

    /// Adds everything that `other` does.
    pub(crate) fn merge(&mut self, other: Self) {
        self.rules.extend(other.rules);
        self.writes.extend(other.writes);
        self.flip = self.flip.max(other.flip);
    }
}

/// The values of all variables in one process.
#[derive(Clone, Debug)]
pub(crate) struct Values(Vec<u8>);

impl Values {
    /// The values in a process that has just started.
    pub(crate) fn fresh(n_variables: usize) -> Self {
        Self(vec![0; n_variables])
    }

    /// The value of a variable.
    pub(crate) fn get(&self, variable: Variable) -> u8 {
        self.0[variable.0 as usize]
    }

    /// Sets a variable.
    pub(crate) fn set(&mut self, variable: Variable, value: u8) {
        self.0[variable.0 as usize] = value;
    }

    /// The variables whose values differ between both.
    pub(crate) fn differing<'v>(&'v self, other: &'v Self) -> impl Iterator<Item = Variable> + 'v {
        let numbered = (0..).zip(self.0.iter().zip(&other.0));
        numbered.filter(|(_, (here, there))| here != there).map(|(number, _)| Variable(number))
    }

    fn satisfy(&self, condition: &Condition) -> bool {
        condition.0.iter().all(|(variable, value)| self.0[variable.0 as usize] == *value)
    }

    /// Makes the writes of a test that ended like this.
    pub(crate) fn write(&mut self, writes: &[Write], ending: Option<Ending>) {
        if ending.is_some_and(|ending| !ending.is_steady()) {
            return;
        }
        for write in writes {
            let is_due = match write.on {
                On::Either => true,
                On::Pass => ending.is_none(),
                On::Fail => ending.is_some(),
            };
            if is_due && self.satisfy(&write.when) {
                self.0[write.variable.0 as usize] = write.value;
            }
        }
    }

    /// The probability that an attempt here fails, given that it passes or fails at all, in the
    /// plain environment; `None` if it can only be skipped.
    pub(crate) fn failure_rate(&self, behaviour: &Behaviour) -> Option<f64> {
        let (mut failed, mut fatal, mut left) = (0.0, 0.0, 1.0);
        for rule in &behaviour.rules {
            if !self.satisfy(&rule.when) {
                continue;
            }
            let taken = left
                * match rule.chance {
                    Chance::Certain => 1.0,
                    Chance::Independent { rate } | Chance::Burst { rate, .. } => rate,
                    Chance::OpenChoice { .. } => 0.0,
                };
            left -= taken;
            match rule.ending {
                Ending::Fail | Ending::Error => failed += taken,
                Ending::Crash | Ending::Hang => fatal += taken,
                Ending::Skip => (),
            }
        }
        let evident = failed + fatal + left;
        let flip = behaviour.flip;
        (0.0 < evident).then(|| (fatal + failed * (1.0 - flip) + left * flip) / evident)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Variable = Variable(0);
    const B: Variable = Variable(1);

    fn rule(when: Condition, ending: Ending) -> Rule {
        Rule { when, chance: Chance::Certain, ending }
    }

    #[test]
    fn the_first_rule_that_applies_decides() {
        let behaviour = Behaviour {
            rules: vec![
                rule(Condition::is(A, 1), Ending::Skip),
                rule(Condition::is(B, 0), Ending::Fail),
                rule(Condition::always(), Ending::Crash),
            ],
            ..Behaviour::default()
        };
        let mut values = Values::fresh(2);
        assert_eq!(behaviour.certain_ending(&values), Some(Ending::Fail));
        values.write(&[Write::always(B, 2)], None);
        assert_eq!(behaviour.certain_ending(&values), Some(Ending::Crash));
        values.write(&[Write::always(A, 1)], None);
        assert_eq!(behaviour.certain_ending(&values), Some(Ending::Skip));
        assert_eq!(Behaviour::default().certain_ending(&values), None);
    }

    #[test]
    fn writes_depend_on_the_ending_and_see_the_writes_before_them() {
        let writes = [
            Write { on: On::Fail, ..Write::always(A, 1) },
            Write { when: Condition::is(A, 1), ..Write::always(B, 7) },
            Write { on: On::Pass, ..Write::always(A, 9) },
        ];
        let after = |ending| {
            let mut values = Values::fresh(2);
            values.write(&writes, ending);
            values.0
        };
        assert_eq!(after(None), [9, 0]);
        assert_eq!(after(Some(Ending::Fail)), [1, 7]);
        assert_eq!(after(Some(Ending::Error)), [1, 7]);
        for ending in [Ending::Skip, Ending::Crash, Ending::Hang] {
            assert_eq!(after(Some(ending)), [0, 0], "{ending:?}");
        }
    }

    #[test]
    fn failure_rates_multiply_what_is_left_and_leave_skips_out() {
        let sometimes = |rate, ending| Rule {
            when: Condition::always(),
            chance: Chance::Independent { rate },
            ending,
        };
        let mut behaviour = Behaviour {
            rules: vec![sometimes(0.5, Ending::Skip), sometimes(0.5, Ending::Fail)],
            ..Behaviour::default()
        };
        let values = Values::fresh(0);
        let assert_rate = |behaviour: &Behaviour, expected: f64| {
            let rate = values.failure_rate(behaviour).unwrap();
            assert!((rate - expected).abs() < 1e-12, "{rate}, not {expected}");
        };
        // Skipped 1/2, failed 1/4, passed 1/4: of the attempts that say something, half fail.
        assert_rate(&behaviour, 0.5);
        behaviour.rules.remove(0);
        behaviour.rules.push(sometimes(0.5, Ending::Crash));
        assert_rate(&behaviour, 0.75);
        // Failed 1/2, crashed 1/4, passed 1/4; a crash is not turned into a pass.
        behaviour.flip = 0.2;
        assert_rate(&behaviour, 0.5 * 0.8 + 0.25 + 0.25 * 0.2);
        behaviour.rules = vec![rule(Condition::always(), Ending::Skip)];
        assert_eq!(values.failure_rate(&behaviour), None);
    }
}
