//! Small named suites, for searches whose right answer is known.
//!
//! [`Case`] lists what a search for roles must cope with: suites on which other tools were tried,
//! most of which fail on one or another. The functions below are the worked examples of
//! detection.md, section 3.

use std::time::Duration;

use unflake_model::random::Random;
use unflake_model::{Suite, SuiteBuilder, TestIndex};

use crate::behaviour::{Chance, Ending};
use crate::phenomenon::{Phenomenon, Pollution, Sequence, Together};
use crate::world::{SimSuite, Timing};

/// A suite, and the tests in it to ask about.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The suite with its planted truth.
    pub sim: SimSuite,
    /// The tests that suffer.
    pub targets: Vec<TestIndex>,
}

/// What a search for roles must cope with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// A: a polluter comes before the victim; the original order is red.
    OnePolluter,
    /// B: two polluters, each sufficient, come before the victim.
    TwoIndependent,
    /// C: the victim fails only after both of two tests, in whichever order they ran.
    PairTogether,
    /// The victim fails only if the first of two tests ran before the second.
    OrderedPair,
    /// D: a test that passes only after a state-setter, which comes before it.
    Brittle,
    /// A test that passes only after both of two setters.
    BrittleOfTwo,
    /// E: polluter, then cleaner, then victim; the original order is green.
    CleanerBetween,
    /// F: a test that fails in a fifth of its attempts, whatever the order.
    RandomFailure,
    /// G: the victim comes before its polluter; the original order is green.
    VictimBeforePolluter,
}

impl Case {
    /// All cases.
    pub const ALL: [Self; 9] = [
        Self::OnePolluter,
        Self::TwoIndependent,
        Self::PairTogether,
        Self::OrderedPair,
        Self::Brittle,
        Self::BrittleOfTwo,
        Self::CleanerBetween,
        Self::RandomFailure,
        Self::VictimBeforePolluter,
    ];

    /// A few words for a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnePolluter => "one polluter",
            Self::TwoIndependent => "two independent polluters",
            Self::PairTogether => "pair that acts together",
            Self::OrderedPair => "pair that acts in one order",
            Self::Brittle => "brittle",
            Self::BrittleOfTwo => "brittle that needs two setters",
            Self::CleanerBetween => "cleaner between",
            Self::RandomFailure => "random failure",
            Self::VictimBeforePolluter => "victim before polluter",
        }
    }

    /// The suite for this case, its tests placed at random.
    ///
    /// # Panics
    /// If there are fewer than 3 tests, or the noise is not below one half.
    pub fn scenario(self, setting: Setting) -> Scenario {
        let Setting { n_tests, noise, seed } = setting;
        let [first, second, third] = three_places(n_tests, seed);
        let target = match self {
            Self::VictimBeforePolluter => first,
            _ => third,
        };
        let together = |sequence| Together { tests: vec![first, second], sequence };
        let mut phenomena = vec![match self {
            Self::OnePolluter => victim(target, vec![pollution(first, &[])]),
            Self::TwoIndependent => {
                victim(target, vec![pollution(first, &[]), pollution(second, &[])])
            }
            Self::PairTogether => victim(target, vec![unclean(together(Sequence::Any))]),
            Self::OrderedPair => victim(target, vec![unclean(together(Sequence::AsListed))]),
            Self::Brittle => brittle(target, Together::single(first)),
            Self::BrittleOfTwo => brittle(target, together(Sequence::Any)),
            Self::CleanerBetween => victim(target, vec![pollution(first, &[second])]),
            Self::RandomFailure => Phenomenon::Random {
                test: target,
                chance: Chance::Independent { rate: 0.2 },
                ending: Ending::Fail,
            },
            Self::VictimBeforePolluter => victim(target, vec![pollution(second, &[])]),
        }];
        if 0.0 < noise {
            phenomena.push(Phenomenon::Noise { test: target, flip: noise });
        }
        let suite = suite_of_fifties(n_tests);
        Scenario { sim: planted(suite, &phenomena, seed), targets: vec![target] }
    }
}

/// The size and the seed of a [`Case`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// How many tests, in classes of 50 (as where other tools were tried).
    pub n_tests: usize,
    /// The probability that an outcome of the target is flipped; 0 for none.
    pub noise: f64,
    /// Places the tests, and decides everything that is left to chance.
    pub seed: u64,
}

/// Example 1: A.t1, A.t2, B.t3, B.t4; t3 pollutes t1 and t4 cleans, so that t1 fails in 2 of the 8
/// class-compatible orders. t3 itself fails in 1 of 8 runs, whatever the order.
pub fn fig_2_1(seed: u64) -> Scenario {
    let [t1, t3, t4] = [0, 2, 3].map(TestIndex::new);
    let phenomena = [
        victim(t1, vec![pollution(t3, &[t4])]),
        Phenomenon::Random {
            test: t3,
            chance: Chance::Independent { rate: 0.125 },
            ending: Ending::Fail,
        },
    ];
    let suite = suite_of(&[
        ("ATest", "ATest.t1"),
        ("ATest", "ATest.t2"),
        ("BTest", "BTest.t3"),
        ("BTest", "BTest.t4"),
    ]);
    Scenario { sim: planted(suite, &phenomena, seed), targets: vec![t1, t3] }
}

/// Example 2 (elastic-job): victim and polluter in one class, the cleaner in another.
pub fn elastic_job(seed: u64) -> Scenario {
    let [victim_at, polluter, cleaner] = [0, 1, 2].map(TestIndex::new);
    let suite = suite_of(&[
        ("SchedulerTest", "SchedulerTest.assertIsShutdownAlready"),
        ("SchedulerTest", "SchedulerTest.assertRemoveLocalInstancePath"),
        ("FailoverTest", "FailoverTest.assertGetFailoverItems"),
    ]);
    let phenomena = [victim(victim_at, vec![pollution(polluter, &[cleaner])])];
    Scenario { sim: planted(suite, &phenomena, seed), targets: vec![victim_at] }
}

/// Example 5 (Hadoop): 392 tests in 48 classes, of which 34 tests in 8 classes matter. Two
/// polluters with 11 and 31 cleaners; the 11 clean up after both and share the class of the
/// polluters. One cleaner is in the class of the victim, 19 are in six other classes. Exactly:
/// flake rate 23/221 over all orders, 115/2496 over class-compatible ones.
pub fn hadoop(seed: u64) -> Scenario {
    // The other 40 classes share 392 - 34 = 358 tests: 38 of 9 and 2 of 8.
    let relevant = [13, 2, 4, 3, 3, 3, 3, 3];
    let sizes = [relevant.as_slice(), &[9; 38], &[8; 2]].concat();
    let at = TestIndex::new;
    let (first, second, target) = (at(0), at(1), at(13));
    let shared: Vec<TestIndex> = (2..13).map(at).collect();
    let all: Vec<TestIndex> = shared.iter().copied().chain((14..34).map(at)).collect();
    let pollutions = vec![pollution(first, &shared), pollution(second, &all)];
    let suite = Suite::of_sizes(&sizes).expect("the sizes are positive");
    Scenario { sim: planted(suite, &[victim(target, pollutions)], seed), targets: vec![target] }
}

/// Example 11 (dubbo): three victims in one class that fail only after two polluters, while every
/// pair of tests passes; one-by-one search calls them unknown-dependent.
pub fn dubbo(seed: u64) -> Scenario {
    let at = TestIndex::new;
    let targets: Vec<TestIndex> = (9..12).map(at).collect();
    let both = Together { tests: vec![at(2), at(5)], sequence: Sequence::AsListed };
    let phenomenon = Phenomenon::Victims {
        victims: targets.clone(),
        pollutions: vec![unclean(both)],
        ending: Ending::Fail,
    };
    let suite = Suite::of_sizes(&[4, 4, 4, 4, 4]).expect("the sizes are positive");
    Scenario { sim: planted(suite, &[phenomenon], seed), targets }
}

/// Example 12 (wildfly): a brittle that skips its clean-up when it fails, which makes 22 victims
/// fail. In the original order its setter comes before it.
pub fn wildfly(seed: u64) -> Scenario {
    let at = TestIndex::new;
    let (setter, breaks) = (at(3), at(20));
    let victims: Vec<TestIndex> = (25..47).map(at).collect();
    let phenomenon = Phenomenon::Brittle {
        brittle: breaks,
        setters: vec![Together::single(setter)],
        pollutes: victims.clone(),
    };
    let suite = Suite::of_sizes(&[5; 12]).expect("the sizes are positive");
    Scenario { sim: planted(suite, &[phenomenon], seed), targets: [vec![breaks], victims].concat() }
}

/// A web: 27 victims, each of which fails after any of 20 polluters.
pub fn web(seed: u64) -> Scenario {
    let at = TestIndex::new;
    let victims: Vec<TestIndex> = (0..27).map(|i| at(3 * i)).collect();
    let pollutions = (0..20).map(|i| pollution(at(81 + 5 * i), &[])).collect();
    let phenomenon =
        Phenomenon::Victims { victims: victims.clone(), pollutions, ending: Ending::Fail };
    let suite = Suite::of_sizes(&[5; 40]).expect("the sizes are positive");
    Scenario { sim: planted(suite, &[phenomenon], seed), targets: victims }
}

fn pollution(polluter: TestIndex, cleaners: &[TestIndex]) -> Pollution {
    Pollution { polluters: Together::single(polluter), cleaners: cleaners.to_vec() }
}

fn unclean(polluters: Together) -> Pollution {
    Pollution { polluters, cleaners: Vec::new() }
}

fn victim(target: TestIndex, pollutions: Vec<Pollution>) -> Phenomenon {
    Phenomenon::Victims { victims: vec![target], pollutions, ending: Ending::Fail }
}

fn brittle(target: TestIndex, setters: Together) -> Phenomenon {
    Phenomenon::Brittle { brittle: target, setters: vec![setters], pollutes: Vec::new() }
}

fn planted(suite: Suite, phenomena: &[Phenomenon], seed: u64) -> SimSuite {
    SimSuite::planted(suite, phenomena, Timing::USUAL, seed)
        .expect("scenarios are planted by the rules")
}

/// Three different places, in original order, all equally likely.
fn three_places(n_tests: usize, seed: u64) -> [TestIndex; 3] {
    assert!(3 <= n_tests, "{n_tests} tests cannot play three parts");
    let mut random = Random::labelled(seed, &[PLACES]);
    loop {
        let mut places = [0; 3].map(|_| TestIndex::new(random.below(n_tests)));
        places.sort_unstable();
        if places[0] < places[1] && places[1] < places[2] {
            return places;
        }
    }
}

/// Label of the source that places tests; those of `world` start at 1 and have five parts.
const PLACES: u64 = 0;

fn suite_of_fifties(n_tests: usize) -> Suite {
    let mut sizes = vec![50; n_tests / 50];
    sizes.extend((!n_tests.is_multiple_of(50)).then_some(n_tests % 50));
    Suite::of_sizes(&sizes).expect("there is at least one test")
}

fn suite_of(tests: &[(&str, &str)]) -> Suite {
    let mut builder = SuiteBuilder::default();
    for (class, id) in tests {
        let id = id.parse().expect("the names of examples are test ids");
        builder.push(class, id, Duration::from_secs(1));
    }
    builder.build().expect("the names of examples are distinct")
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::{Evidence, Verdict};

    fn fails(sim: &SimSuite, order: &[TestIndex], target: TestIndex) -> bool {
        let position = order.iter().position(|t| *t == target).unwrap();
        let outcome = sim.outcome_without_noise(&order[..position], target);
        outcome.evidence() == Some(Evidence::Fail)
    }

    fn class_compatible(suite: &Suite, random: &mut Random) -> Vec<TestIndex> {
        let mut classes = suite.classes().to_vec();
        random.shuffle(&mut classes);
        for class in &mut classes {
            random.shuffle(class);
        }
        classes.concat()
    }

    #[test]
    fn t1_of_example_1_fails_in_2_of_the_8_class_compatible_orders() {
        let Scenario { sim, targets } = fig_2_1(0);
        let orders = [
            [0, 1, 2, 3],
            [0, 1, 3, 2],
            [1, 0, 2, 3],
            [1, 0, 3, 2],
            [2, 3, 0, 1],
            [2, 3, 1, 0],
            [3, 2, 0, 1],
            [3, 2, 1, 0],
        ];
        let failing: Vec<[usize; 4]> = orders
            .into_iter()
            .filter(|order| fails(&sim, &order.map(TestIndex::new), targets[0]))
            .collect();
        assert_eq!(failing, [[3, 2, 0, 1], [3, 2, 1, 0]]);
        assert_eq!(sim.truth().of(targets[1]).verdict, Verdict::Ndoi);
    }

    /// Example 5 gives 115/2496 and 23/221. Intervals are exact binomial for 20,000 draws with
    /// tails of one in a million.
    #[test]
    fn the_victim_of_hadoop_fails_as_often_as_the_closed_form_says() {
        let Scenario { sim, targets } = hadoop(0);
        let suite = sim.suite();
        assert_eq!((suite.n_tests(), suite.n_classes()), (392, 48));
        let dependencies = &sim.truth().of(targets[0]).dependencies;
        let n_cleaners: Vec<usize> =
            dependencies.cleaners.iter().map(|of| of.cleaners.len()).collect();
        assert_eq!(n_cleaners, [11, 31]);

        let mut random = Random::new(5);
        let compatible = (0..20_000)
            .filter(|_| fails(&sim, &class_compatible(suite, &mut random), targets[0]))
            .count();
        assert!((784..=1066).contains(&compatible), "{compatible} of 20,000");
        let mut order: Vec<TestIndex> = suite.tests().collect();
        let any = (0..20_000)
            .filter(|_| {
                random.shuffle(&mut order);
                fails(&sim, &order, targets[0])
            })
            .count();
        assert!((1879..=2290).contains(&any), "{any} of 20,000");
    }

    #[test]
    fn no_pair_of_tests_shows_the_victims_of_dubbo() {
        let Scenario { sim, targets } = dubbo(0);
        assert_eq!(targets.len(), 3);
        for target in targets {
            assert!(sim.suite().tests().all(|t| t == target || !fails(&sim, &[t, target], target)));
            let both = [2, 5, target.get()].map(TestIndex::new);
            assert!(fails(&sim, &both, target));
        }
    }

    #[test]
    fn one_failing_test_takes_22_with_it_in_wildfly() {
        let Scenario { sim, targets } = wildfly(0);
        let original: Vec<TestIndex> = sim.suite().tests().collect();
        assert!(targets.iter().all(|t| !fails(&sim, &original, *t)));
        let without_setter = [&original[..3], &original[4..]].concat();
        let n_failing = targets.iter().filter(|t| fails(&sim, &without_setter, **t)).count();
        assert_eq!(n_failing, 23);
    }

    #[test]
    fn every_pair_of_the_web_fails() {
        let Scenario { sim, targets } = web(0);
        let n_pairs = targets
            .iter()
            .map(|v| sim.suite().tests().filter(|p| p != v && fails(&sim, &[*p, *v], *v)).count())
            .sum::<usize>();
        assert_eq!((targets.len(), n_pairs), (27, 27 * 20));
    }

    #[test]
    fn the_original_order_is_red_or_green_as_in_the_measurements_of_our_peers() {
        for case in Case::ALL {
            for seed in 0..10 {
                let Scenario { sim, targets } =
                    case.scenario(Setting { n_tests: 1_000, noise: 0.0, seed });
                assert_eq!((sim.suite().n_tests(), sim.suite().n_classes()), (1_000, 20));
                let original: Vec<TestIndex> = sim.suite().tests().collect();
                let is_red = matches!(
                    case,
                    Case::OnePolluter
                        | Case::TwoIndependent
                        | Case::PairTogether
                        | Case::OrderedPair
                );
                assert_eq!(fails(&sim, &original, targets[0]), is_red, "{case:?}, seed {seed}");
            }
        }
    }

    #[test]
    fn a_pair_in_one_order_does_nothing_in_the_other() {
        let fails_reversed = |case: Case| {
            let Scenario { sim, targets } =
                case.scenario(Setting { n_tests: 10, noise: 0.0, seed: 1 });
            let group = &sim.truth().of(targets[0]).dependencies.polluters[0];
            fails(&sim, &[group[1], group[0], targets[0]], targets[0])
        };
        assert!(fails_reversed(Case::PairTogether));
        assert!(!fails_reversed(Case::OrderedPair));
    }
}
