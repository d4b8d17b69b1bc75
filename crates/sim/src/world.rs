//! What comes back from an experiment.
//!
//! Every run starts a process with all variables at 0 and runs the tests of its order one after
//! the other (with [`unflake_model::Repetition::Twice`], each test twice in a row) as
//! [`crate::behaviour`] says. After a crash or a timeout the process is gone, and what was left is
//! [`Outcome::NotRun`].
//!
//! Luck is drawn for each purpose from its own labelled source (seed of the suite, number of the
//! run, test, attempt, rule). So the answer to an experiment depends on the experiment alone: not
//! on which was answered first, nor on the other tests. Asking for the same run number twice gives
//! the same luck twice, whatever the order; analyses number their runs.
//!
//! Time is virtual: a run takes the start of the process and the durations of its attempts. A test
//! that crashes has taken its usual time, a hanging one the timeout, a skipped one nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use unflake_model::random::Random;
use unflake_model::{
    Attempt, ClassIndex, Environment, Experiment, Factor, Means, Observation, Outcome, Phase,
    Repetition, RunId, Suite, TestIndex,
};

use crate::behaviour::{Behaviour, Chance, Ending, Values, Variable};
use crate::seeing::{OpenChoices, Seeing, place};
use crate::truth::Truth;

/// The most open choices that one test asks for.
const N_CHOICES_MAX: usize = 60;

/// How long everything takes that is not a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The time from asking for a run to its first test.
    pub process_start: Duration,
    /// The time after which a hanging test is stopped.
    pub timeout: Duration,
}

impl Timing {
    /// A runner that starts in half a second and gives each test five minutes.
    pub const USUAL: Self =
        Self { process_start: Duration::from_millis(500), timeout: Duration::from_mins(5) };
}

/// Why behaviours make no suite that can be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InvalidSim {
    /// Some test has no behaviour, or some behaviour no test.
    #[error("{n_behaviours} behaviours were given for a suite of {n_tests} tests")]
    Count {
        /// How many behaviours there are.
        n_behaviours: usize,
        /// How many tests there are.
        n_tests: usize,
    },
    /// A rate is not a probability.
    #[error("test {test} has a rule or flip with probability `{rate}`, outside 0 to 1")]
    Rate {
        /// The test with that rate.
        test: TestIndex,
        /// The invalid rate.
        rate: f64,
    },
    /// A burst has blocks of no runs.
    #[error("test {test} fails in bursts of `0` runs; give at least 1")]
    EmptyBurst {
        /// The test with that burst.
        test: TestIndex,
    },
    /// A test always takes longer than its time limit.
    #[error("test {test} takes {duration:?}, longer than the timeout of {timeout:?}")]
    TooSlow {
        /// The test that is too slow.
        test: TestIndex,
        /// The time it takes.
        duration: Duration,
        /// The time limit.
        timeout: Duration,
    },
}

static PLAIN: Behaviour = Behaviour { rules: Vec::new(), writes: Vec::new(), flip: 0.0 };

/// A suite, what its tests do, and the truth about them that follows.
#[derive(Clone, Debug)]
pub struct SimSuite {
    suite: Suite,
    /// `None` for the many that do nothing: memory limits a run of 100,000 tests.
    behaviours: Vec<Option<Box<Behaviour>>>,
    n_variables: usize,
    /// Variables that become 1 once a file is collected. A class is a file.
    imports: Vec<(ClassIndex, Variable)>,
    truth: Truth,
    timing: Timing,
    seed: u64,
    /// Whether state can be put back.
    is_put_back: bool,
}

impl SimSuite {
    /// A suite whose tests behave like this. The truth is taken on trust; [`crate::oracle`] can
    /// check it on small suites. See [`SimSuite::planted`] for truth by construction.
    pub fn new(
        suite: Suite,
        behaviours: Vec<Behaviour>,
        truth: Truth,
        timing: Timing,
        seed: u64,
    ) -> Result<Self, InvalidSim> {
        if behaviours.len() != suite.n_tests() {
            return Err(InvalidSim::Count {
                n_behaviours: behaviours.len(),
                n_tests: suite.n_tests(),
            });
        }
        for (test, behaviour) in suite.tests().zip(&behaviours) {
            check_chances(test, behaviour)?;
            let duration = suite.duration(test);
            if timing.timeout < duration {
                return Err(InvalidSim::TooSlow { test, duration, timeout: timing.timeout });
            }
        }
        let variables = behaviours.iter().flat_map(Behaviour::variables);
        let n_variables = variables.map(|v| v.0 as usize + 1).max().unwrap_or(0);
        let behaviours =
            behaviours.into_iter().map(|b| (b != PLAIN).then(|| Box::new(b))).collect();
        let (imports, is_put_back) = (Vec::new(), true);
        Ok(Self { suite, behaviours, n_variables, imports, truth, timing, seed, is_put_back })
    }

    /// The same, where these variables become 1 once these files are collected.
    #[must_use]
    pub(crate) fn with_imports(mut self, imports: Vec<(ClassIndex, Variable)>) -> Self {
        let n_variables = imports.iter().map(|(_, it)| it.0 as usize + 1).max().unwrap_or(0);
        self.n_variables = self.n_variables.max(n_variables);
        self.imports = imports;
        self
    }

    /// The simulated tests.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// What this test does.
    pub fn behaviour(&self, test: TestIndex) -> &Behaviour {
        self.behaviours[test.get()].as_deref().unwrap_or(&PLAIN)
    }

    /// What analyses should find out.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// How long everything takes that is not a test.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Answers an experiment.
    ///
    /// # Panics
    /// If its order names a test that the suite does not have.
    pub fn observe(&self, experiment: &Experiment) -> Observation {
        let fresh = self.fresh_values_of(experiment);
        let mut values = fresh.clone();
        let (mut attempts, mut seeing) = (Vec::new(), Seeing::new(experiment, self.is_put_back));
        let mut duration = self.timing.process_start;
        let mut is_alive = true;
        let mut n_made = vec![0; self.suite.n_tests()];
        let stretch = self.stretch(experiment.repetition);
        for (position, test) in
            experiment.repetition.attempts(&experiment.order).into_iter().enumerate()
        {
            if stretch.is_some_and(|stretch| position.is_multiple_of(stretch)) {
                values = fresh.clone();
            }
            seeing.put_back(position, &fresh, &mut values);
            let before = seeing.is_watching().then(|| values.clone());
            let outcome = if is_alive {
                let luck = Luck::new(self.seed, experiment, test, n_made[test.get()]);
                let is_chosen = seeing.meets(self.open_choices(test));
                self.attempt(test, &mut values, luck, is_chosen)
            } else {
                Outcome::NotRun
            };
            n_made[test.get()] += 1;
            let attempt = Attempt { test, outcome, duration: self.duration(test, outcome) };
            duration += attempt.duration;
            is_alive &= !outcome.kind().ends_the_process();
            attempts.push(attempt);
            if let Some(before) = before.filter(|_| is_alive) {
                seeing.changed(position, &before, &values);
            }
        }
        let seen = seeing.into_seen();
        Observation { seen, ..Observation::of(experiment.run, attempts, duration) }
    }

    /// The open choices that a test asks for, if any.
    pub fn open_choices(&self, test: TestIndex) -> Option<OpenChoices> {
        let mut rules = self.behaviour(test).rules.iter();
        rules.find(|rule| matches!(rule.chance, Chance::OpenChoice { .. }))?;
        let mut random = Random::labelled(self.seed, &[Purpose::Choices as u64, test.get() as u64]);
        let n = 1 + random.below(N_CHOICES_MAX);
        let first = 1 + random.below(n);
        // Usually only one of them decides.
        let last = if random.chance(0.75) { first } else { first + random.below(n - first + 1) };
        Some(OpenChoices { n: n as u64, deciding: (first as u64, last as u64) })
    }

    /// The file whose collection makes the test fail, if there is one.
    pub fn file_stumbled_over(&self, test: TestIndex) -> Option<ClassIndex> {
        let read: BTreeSet<Variable> =
            self.behaviour(test).rules.iter().flat_map(|rule| rule.when.variables()).collect();
        let mut imports = self.imports.iter();
        imports.find(|(_, variable)| read.contains(variable)).map(|(file, _)| *file)
    }

    /// The places that a test reads.
    pub fn places_read(&self, test: TestIndex) -> BTreeSet<String> {
        let rules = self.behaviour(test).rules.iter();
        rules.flat_map(|rule| rule.when.variables()).map(place).collect()
    }

    /// After how many attempts state is put back, if it is.
    fn stretch(&self, repetition: Repetition) -> Option<usize> {
        match repetition {
            Repetition::Apart { n_common, .. } if self.is_put_back => Some(n_common + 2),
            _ => None,
        }
    }

    /// The same with state that cannot be put back, whatever an experiment asks for.
    #[must_use]
    pub fn without_putting_back(self) -> Self {
        Self { is_put_back: false, ..self }
    }

    /// How the target ends after these tests in a fresh, plain process when nothing is left to
    /// chance: rules that need luck never apply, and no outcome is flipped.
    pub fn outcome_without_noise(&self, prefix: &[TestIndex], target: TestIndex) -> Outcome {
        match self.values_after(prefix) {
            Some(values) => self.outcome(self.behaviour(target).certain_ending(&values)),
            None => Outcome::NotRun,
        }
    }

    /// The values that these tests leave behind when nothing is left to chance; `None` if the
    /// process did not survive them.
    pub(crate) fn values_after(&self, prefix: &[TestIndex]) -> Option<Values> {
        let mut values = self.fresh_values();
        for test in prefix {
            let behaviour = self.behaviour(*test);
            let ending = behaviour.certain_ending(&values);
            if matches!(ending, Some(Ending::Crash | Ending::Hang)) {
                return None;
            }
            values.write(&behaviour.writes, ending);
        }
        Some(values)
    }

    /// The values in a process that has collected all files, as an agent does.
    fn fresh_values(&self) -> Values {
        self.collected(|_| true)
    }

    fn fresh_values_of(&self, experiment: &Experiment) -> Values {
        let Means::Plain { among } = &experiment.means else { return self.fresh_values() };
        let tests = experiment.order.tests().iter().chain(among.iter().flatten());
        let files: BTreeSet<ClassIndex> = tests.map(|test| self.suite.class_of(*test)).collect();
        self.collected(|file| files.contains(&file))
    }

    fn collected(&self, is_collected: impl Fn(ClassIndex) -> bool) -> Values {
        let mut values = Values::fresh(self.n_variables);
        for (file, variable) in &self.imports {
            values.set(*variable, u8::from(is_collected(*file)));
        }
        values
    }

    fn attempt(
        &self,
        test: TestIndex,
        values: &mut Values,
        luck: Luck,
        is_chosen: bool,
    ) -> Outcome {
        let behaviour = self.behaviour(test);
        let happens = |rule, chance| match chance {
            Chance::OpenChoice { .. } => is_chosen && luck.lets_happen(rule, chance),
            chance => luck.lets_happen(rule, chance),
        };
        let ending = behaviour.ending(values, happens);
        let ending = if 0.0 < behaviour.flip && luck.flips(behaviour.flip) {
            flipped(ending)
        } else {
            ending
        };
        values.write(&behaviour.writes, ending);
        self.outcome(ending)
    }

    fn outcome(&self, ending: Option<Ending>) -> Outcome {
        match ending {
            None => Outcome::Passed,
            Some(Ending::Fail) => Outcome::Failed { phase: Phase::Call },
            Some(Ending::Error) => Outcome::Error,
            Some(Ending::Skip) => Outcome::Skipped,
            Some(Ending::Crash) => Outcome::Crashed { signal: Some(11) },
            Some(Ending::Hang) => Outcome::TimedOut { after: self.timing.timeout },
        }
    }

    fn duration(&self, test: TestIndex, outcome: Outcome) -> Duration {
        match outcome {
            Outcome::TimedOut { after } => after,
            Outcome::Skipped | Outcome::NotRun => Duration::ZERO,
            Outcome::Passed | Outcome::Failed { .. } | Outcome::Error | Outcome::Crashed { .. } => {
                self.suite.duration(test)
            }
        }
    }
}

fn flipped(ending: Option<Ending>) -> Option<Ending> {
    match ending {
        None => Some(Ending::Fail),
        Some(Ending::Fail | Ending::Error) => None,
        Some(Ending::Skip | Ending::Crash | Ending::Hang) => ending,
    }
}

fn check_chances(test: TestIndex, behaviour: &Behaviour) -> Result<(), InvalidSim> {
    let rates = behaviour.rules.iter().filter_map(|r| r.chance.rate());
    for rate in rates.chain([behaviour.flip]) {
        if !(0.0..=1.0).contains(&rate) {
            return Err(InvalidSim::Rate { test, rate });
        }
    }
    let is_empty = |chance| matches!(chance, Chance::Burst { runs: 0, .. });
    if behaviour.rules.iter().any(|rule| is_empty(rule.chance)) {
        return Err(InvalidSim::EmptyBurst { test });
    }
    Ok(())
}

/// The luck of one attempt.
#[derive(Clone, Copy)]
struct Luck {
    seed: u64,
    run: RunId,
    environment: Environment,
    test: u64,
    attempt: u64,
}

/// The purposes that luck is drawn for; part of the label, so that no two draws coincide.
#[derive(Clone, Copy)]
enum Purpose {
    Independent = 1,
    Burst = 2,
    OpenChoice = 3,
    Flip = 4,
    Choices = 5,
}

impl Luck {
    fn new(seed: u64, experiment: &Experiment, test: TestIndex, attempt: u64) -> Self {
        Self {
            seed,
            run: experiment.run,
            environment: experiment.environment,
            test: test.get() as u64,
            attempt,
        }
    }

    fn lets_happen(&self, rule: u64, chance: Chance) -> bool {
        match (chance, self.environment) {
            (Chance::Certain, _) => true,
            (Chance::Independent { rate }, _) => {
                self.draw(Purpose::Independent, [self.run.0, self.attempt, rule], rate)
            }
            (Chance::Burst { rate, runs }, _) => {
                self.draw(Purpose::Burst, [self.run.0 / runs, 0, rule], rate)
            }
            (Chance::OpenChoice { rate }, Environment::Perturbed { factors, seed })
                if factors.contains(Factor::HashSeed) =>
            {
                self.draw(Purpose::OpenChoice, [seed, 0, rule], rate)
            }
            (Chance::OpenChoice { rate }, Environment::Hashed { seed }) => {
                self.draw(Purpose::OpenChoice, [seed, 0, rule], rate)
            }
            (Chance::OpenChoice { .. }, _) => false,
        }
    }

    fn flips(&self, rate: f64) -> bool {
        self.draw(Purpose::Flip, [self.run.0, self.attempt, 0], rate)
    }

    fn draw(&self, purpose: Purpose, [when, attempt, rule]: [u64; 3], rate: f64) -> bool {
        let labels = [purpose as u64, when, self.test, attempt, rule];
        Random::labelled(self.seed, &labels).chance(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::{Condition, Rule, Write};
    use unflake_model::{Order, OutcomeKind};

    const A: Variable = Variable(0);

    fn rule(when: Condition, chance: Chance, ending: Ending) -> Behaviour {
        Behaviour { rules: vec![Rule { when, chance, ending }], ..Behaviour::default() }
    }

    fn writes(variable: Variable, value: u8) -> Behaviour {
        Behaviour { writes: vec![Write::always(variable, value)], ..Behaviour::default() }
    }

    fn flips(flip: f64) -> Behaviour {
        Behaviour { flip, ..Behaviour::default() }
    }

    fn try_sim(behaviours: Vec<Behaviour>) -> Result<SimSuite, InvalidSim> {
        let suite = Suite::of_sizes(&[behaviours.len()]).unwrap();
        SimSuite::new(suite, behaviours, Truth::default(), Timing::USUAL, 1)
    }

    fn sim(behaviours: Vec<Behaviour>) -> SimSuite {
        try_sim(behaviours).unwrap()
    }

    fn experiment(sim: &SimSuite, run: u64) -> Experiment {
        Experiment::new(RunId(run), Order::original(sim.suite()))
    }

    fn kinds(observation: &Observation) -> Vec<OutcomeKind> {
        observation.attempts.iter().map(|a| a.outcome.kind()).collect()
    }

    /// In which runs, numbered from 0, test 0 fails.
    fn failures(sim: &SimSuite, n_runs: u64) -> Vec<bool> {
        (0..n_runs)
            .map(|run| kinds(&sim.observe(&experiment(sim, run)))[0] == OutcomeKind::Failed)
            .collect()
    }

    fn count(failures: &[bool]) -> usize {
        failures.iter().filter(|failed| **failed).count()
    }

    #[test]
    fn a_crash_or_a_hang_ends_the_process_and_costs_its_time() {
        use OutcomeKind::{Crashed, NotRun, Passed, TimedOut};
        let ends_by = |ending| {
            let after_write = rule(Condition::is(A, 1), Chance::Certain, ending);
            let plain = Behaviour::default();
            let sim = sim(vec![plain.clone(), writes(A, 1), after_write, plain]);
            let observation = sim.observe(&experiment(&sim, 0));
            (kinds(&observation), observation.duration)
        };
        // Half a second to start, then one second a test; five minutes until the timeout.
        let ms = Duration::from_millis;
        assert_eq!(ends_by(Ending::Crash), (vec![Passed, Passed, Crashed, NotRun], ms(3_500)));
        assert_eq!(ends_by(Ending::Hang), (vec![Passed, Passed, TimedOut, NotRun], ms(302_500)));
    }

    #[test]
    fn a_skipped_test_takes_no_time_writes_nothing_and_ends_nothing() {
        use OutcomeKind::{Passed, Skipped};
        let skips = Behaviour {
            rules: rule(Condition::always(), Chance::Certain, Ending::Skip).rules,
            ..writes(A, 1)
        };
        let reader = rule(Condition::is(A, 1), Chance::Certain, Ending::Fail);
        let sim = sim(vec![skips, reader]);
        let observation = sim.observe(&experiment(&sim, 0));
        assert_eq!(kinds(&observation), [Skipped, Passed]);
        assert_eq!(observation.duration, Duration::from_millis(1_500));
    }

    #[test]
    fn every_run_starts_afresh_and_twice_means_twice_in_a_row() {
        use OutcomeKind::{Failed, NotRun, Passed, TimedOut};
        let spoils_itself = Behaviour {
            rules: rule(Condition::is(A, 1), Chance::Certain, Ending::Fail).rules,
            ..writes(A, 1)
        };
        let hangs = rule(Condition::always(), Chance::Certain, Ending::Hang);
        let sim = sim(vec![spoils_itself, Behaviour::default(), hangs]);
        for run in 0..3 {
            let once = experiment(&sim, run);
            assert_eq!(kinds(&sim.observe(&once)), [Passed, Passed, TimedOut]);
            let twice = Experiment { repetition: Repetition::Twice, ..once };
            assert_eq!(
                kinds(&sim.observe(&twice)),
                [Passed, Failed, Passed, Passed, TimedOut, NotRun]
            );
        }
    }

    // Intervals: exact binomial, each tail below one in a million. Seeds are fixed, so these either
    // hold always or never.

    #[test]
    fn independent_failures_and_flips_are_as_frequent_as_they_should_be() {
        let random = |rate| rule(Condition::always(), Chance::Independent { rate }, Ending::Fail);
        let n_failed = |behaviour| count(&failures(&sim(vec![behaviour]), 10_000));
        assert!((1812..=2192).contains(&n_failed(random(0.2))));
        assert!((400..=607).contains(&n_failed(random(0.05))));
        assert!((1812..=2192).contains(&n_failed(flips(0.2))));
        let flipped_failure = Behaviour {
            rules: rule(Condition::always(), Chance::Certain, Ending::Error).rules,
            ..flips(0.2)
        };
        assert_eq!(n_failed(flipped_failure.clone()), 0, "an error is no failed assertion");
        let sim = sim(vec![flipped_failure]);
        let n_passed = (0..10_000)
            .filter(|run| kinds(&sim.observe(&experiment(&sim, *run)))[0] == OutcomeKind::Passed)
            .count();
        assert!((1812..=2192).contains(&n_passed));
    }

    #[test]
    fn bursts_last_for_whole_blocks_of_runs() {
        let chance = Chance::Burst { rate: 0.3, runs: 5 };
        let failures =
            failures(&sim(vec![rule(Condition::always(), chance, Ending::Fail)]), 10_000);
        let blocks: Vec<&[bool]> = failures.chunks(5).collect();
        assert!(blocks.iter().all(|block| block.iter().all(|failed| *failed == block[0])));
        let n_bad = blocks.iter().filter(|block| block[0]).count();
        assert!((504..=699).contains(&n_bad), "{n_bad} of 2,000 blocks");
    }

    #[test]
    fn an_open_choice_is_made_by_the_seed_of_the_environment_alone() {
        let chance = Chance::OpenChoice { rate: 0.3 };
        let sim = sim(vec![rule(Condition::always(), chance, Ending::Fail)]);
        assert_eq!(count(&failures(&sim, 1_000)), 0, "never in the plain environment");
        let fails = |run, seed| {
            let environment = Environment::open_choices(seed);
            let observation = sim.observe(&Experiment { environment, ..experiment(&sim, run) });
            kinds(&observation)[0] == OutcomeKind::Failed
        };
        assert!((0..500).all(|seed| fails(1, seed) == fails(2, seed)));
        let n_failing_seeds = (0..2_000).filter(|seed| fails(0, *seed)).count();
        assert!((504..=699).contains(&n_failing_seeds), "{n_failing_seeds} of 2,000 seeds");
    }

    #[test]
    fn luck_differs_between_tests_and_between_attempts() {
        let chance = Chance::Independent { rate: 0.5 };
        let fails = rule(Condition::always(), chance, Ending::Fail);
        for behaviour in [flips(0.5), fails] {
            let sim = sim(vec![behaviour.clone(), behaviour]);
            let n_agreeing = |repetition| {
                let agree = |run| {
                    let experiment = Experiment { repetition, ..experiment(&sim, run) };
                    let kinds = kinds(&sim.observe(&experiment));
                    kinds[0] == kinds[1]
                };
                (0..1_000).filter(|run| agree(*run)).count()
            };
            // Fair coins agree half the time; 100 more or less are six standard deviations.
            assert!((400..600).contains(&n_agreeing(Repetition::Once)), "tests");
            assert!((400..600).contains(&n_agreeing(Repetition::Twice)), "attempts");
        }
    }

    #[test]
    fn impossible_behaviours_are_refused_by_value() {
        let error = |behaviour| try_sim(vec![behaviour]).unwrap_err().to_string();
        assert_eq!(
            error(flips(1.5)),
            "test 0 has a rule or flip with probability `1.5`, outside 0 to 1"
        );
        let chance = Chance::Burst { rate: 0.5, runs: 0 };
        assert_eq!(
            error(rule(Condition::always(), chance, Ending::Fail)),
            "test 0 fails in bursts of `0` runs; give at least 1"
        );
        let suite = || Suite::of_sizes(&[2]).unwrap();
        let new = |behaviours, timing| {
            SimSuite::new(suite(), behaviours, Truth::default(), timing, 1).unwrap_err().to_string()
        };
        assert_eq!(new(vec![], Timing::USUAL), "0 behaviours were given for a suite of 2 tests");
        let hasty = Timing { timeout: Duration::from_millis(10), ..Timing::USUAL };
        assert_eq!(
            new(vec![Behaviour::default(); 2], hasty),
            "test 0 takes 1s, longer than the timeout of 10ms"
        );
    }
}
