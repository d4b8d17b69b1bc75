//! Which tests of a generated suite suffer from what, and which tests act on them.
//!
//! Each phenomenon takes its sufferers from the tests that do not suffer yet, and finds the tests
//! that act on them in the same class or anywhere, with equal odds. A test may act in several
//! phenomena, but suffers from one only.
//!
//! Real suites are mostly green when they run as their developers run them. So phenomena that
//! depend on the order are placed anew until they pass in the original order, or, for a share of
//! them ([`Recipe::red_share`]), until they fail there. Webs, and tests that crash or hang, always
//! pass.

use std::collections::BTreeSet;

use unflake_model::random::Random;
use unflake_model::{Suite, TestIndex};

use crate::behaviour::{Chance, Ending};
use crate::phenomenon::{Phenomenon, Pollution, Sequence, Together};
use crate::plot::Variables;
use crate::recipe::{N_ACTORS_MIN, Recipe};

/// How often a phenomenon is placed anew to make it pass or fail in the original order.
const N_DRAFTS_MAX: usize = 100;

/// The phenomena of a recipe, for a suite with enough tests for it.
pub(crate) fn phenomena(suite: &Suite, recipe: &Recipe, random: Random) -> Vec<Phenomenon> {
    let mut garden = Garden {
        suite,
        random,
        suffers: vec![false; suite.n_tests()],
        n_free: suite.n_tests(),
        unsteady: BTreeSet::new(),
        phenomena: Vec::new(),
        red_share: recipe.red_share,
    };
    garden.plant_unsteady(recipe);
    garden.plant_independent(recipe);
    garden.plant_order_dependent(recipe);
    garden.plant_surroundings(recipe);
    garden.phenomena
}

/// Whether all tests that suffer from a phenomenon pass in the original order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    Green,
    Red,
}

fn colour(phenomenon: &Phenomenon) -> Colour {
    let mut variables = Variables::default();
    let plot = phenomenon.grow(&mut variables);
    if plot.is_green_in_original_order(&variables) { Colour::Green } else { Colour::Red }
}

struct Garden<'a> {
    suite: &'a Suite,
    random: Random,
    /// For each test, whether it suffers from something.
    suffers: Vec<bool>,
    /// How many tests do not suffer.
    n_free: usize,
    /// Tests that may not act on others.
    unsteady: BTreeSet<TestIndex>,
    phenomena: Vec<Phenomenon>,
    red_share: f64,
}

impl Garden<'_> {
    /// Plants what crashes, hangs or is skipped first, so that it is known which tests may act on
    /// others.
    fn plant_unsteady(&mut self, recipe: &Recipe) {
        for (ending, n) in
            [(Ending::Crash, recipe.random_crashes), (Ending::Hang, recipe.random_hangs)]
        {
            for _ in 0..n {
                let test = self.take_unsteady();
                let rate = self.percent(1, 3);
                let chance = Chance::Independent { rate };
                self.phenomena.push(Phenomenon::Random { test, chance, ending });
            }
        }
        let fatal =
            [(Ending::Crash, recipe.crashing_victims), (Ending::Hang, recipe.hanging_victims)];
        // All victims are taken before polluters are chosen for the first.
        let victims: Vec<(Ending, TestIndex)> = fatal
            .into_iter()
            .flat_map(|(ending, n)| vec![ending; n])
            .map(|ending| (ending, self.take_unsteady()))
            .collect();
        let skipped: Vec<TestIndex> =
            (0..recipe.changing_skips).map(|_| self.take_unsteady()).collect();
        for (ending, victim) in victims {
            self.plant_coloured(Colour::Green, |garden| garden.draft_victim_of(victim, ending));
        }
        for test in skipped {
            let skipper = self.actor(test, &[]);
            self.phenomena.push(Phenomenon::ChangingSkip { test, skipper });
        }
    }

    fn plant_independent(&mut self, recipe: &Recipe) {
        for _ in 0..recipe.non_idempotent {
            let test = self.take();
            self.phenomena.push(Phenomenon::NonIdempotent { test });
        }
        for _ in 0..recipe.always_failing {
            let test = self.take();
            self.phenomena.push(Phenomenon::AlwaysFailing { test });
        }
        for _ in 0..recipe.open_choices {
            let (test, rate) = (self.take(), self.percent(10, 90));
            self.phenomena.push(Phenomenon::OpenChoice { test, rate });
        }
        for number in 0..recipe.random + recipe.bursts {
            let (test, rate) = (self.take(), self.percent(1, 50));
            let chance = if number < recipe.random {
                Chance::Independent { rate }
            } else {
                let runs = 2 + self.random.below(8) as u64;
                Chance::Burst { rate, runs }
            };
            let ending = self.mild_ending();
            self.phenomena.push(Phenomenon::Random { test, chance, ending });
        }
        for _ in 0..recipe.moved_rates {
            let test = self.take();
            let movers = vec![self.actor(test, &[])];
            let (rate_before, rate_after) = (self.percent(0, 5), self.percent(30, 60));
            self.phenomena.push(Phenomenon::MovedRate { test, movers, rate_before, rate_after });
        }
    }

    /// Plants what needs no other test to run, but may notice which others there are.
    fn plant_surroundings(&mut self, recipe: &Recipe) {
        for _ in 0..recipe.stumbling {
            let test = self.take();
            let own = self.suite.class_of(test);
            let is_other = |it: &TestIndex| self.suite.class_of(*it) != own;
            let others: Vec<TestIndex> = self.suite.tests().filter(is_other).collect();
            if let Some(file_of) = self.random.pick(&others).copied() {
                self.phenomena.push(Phenomenon::Stumbling { test, file_of });
            }
        }
        for _ in 0..recipe.litterers {
            let is_steady = |it: &TestIndex| !self.unsteady.contains(it);
            let steady: Vec<TestIndex> = self.suite.tests().filter(is_steady).collect();
            if let Some(test) = self.random.pick(&steady).copied() {
                let n_places = 1 + u32::try_from(self.random.below(8)).unwrap_or(0);
                self.phenomena.push(Phenomenon::Litter { test, n_places });
            }
        }
    }

    fn plant_order_dependent(&mut self, recipe: &Recipe) {
        for _ in 0..recipe.webs {
            let web = self.draft_web();
            self.plant(web);
        }
        for left in (0..recipe.chains).rev() {
            let others = recipe.victims + recipe.group_victims + recipe.brittles + 2 * left;
            let n_victims_max = self.n_free - others - N_ACTORS_MIN - 1;
            self.plant_mostly_green(|garden| garden.draft_chain(n_victims_max.min(20)));
        }
        for _ in 0..recipe.victims {
            self.plant_mostly_green(Self::draft_victim);
        }
        for _ in 0..recipe.group_victims {
            self.plant_mostly_green(Self::draft_group_victim);
        }
        for _ in 0..recipe.brittles {
            self.plant_mostly_green(Self::draft_brittle);
        }
    }

    fn plant_mostly_green(&mut self, draft: impl Fn(&mut Self) -> Phenomenon) {
        let wanted = if self.random.chance(self.red_share) { Colour::Red } else { Colour::Green };
        self.plant_coloured(wanted, draft);
    }

    /// Plants the first draft that has this colour in the original order; the last draft if none
    /// has.
    fn plant_coloured(&mut self, wanted: Colour, draft: impl Fn(&mut Self) -> Phenomenon) {
        let mut phenomenon = draft(self);
        for _ in 1..N_DRAFTS_MAX {
            if colour(&phenomenon) == wanted {
                break;
            }
            phenomenon = draft(self);
        }
        self.plant(phenomenon);
    }

    fn plant(&mut self, phenomenon: Phenomenon) {
        for test in phenomenon.sufferers() {
            self.reserve(test);
        }
        self.phenomena.push(phenomenon);
    }

    fn draft_victim(&mut self) -> Phenomenon {
        let victim = self.candidate();
        let ending = self.mild_ending();
        self.draft_victim_of(victim, ending)
    }

    fn draft_victim_of(&mut self, victim: TestIndex, ending: Ending) -> Phenomenon {
        let mut busy = vec![victim];
        let n_polluters = 1 + self.random.below(3);
        let polluters = self.actors(victim, n_polluters, &mut busy);
        let n_cleaners = self.n_cleaners();
        let cleaners = self.actors(victim, n_cleaners, &mut busy);
        let pollutions = polluters
            .into_iter()
            .map(|polluter| Pollution {
                polluters: Together::single(polluter),
                cleaners: self.some_of(&cleaners),
            })
            .collect();
        Phenomenon::Victims { victims: vec![victim], pollutions, ending }
    }

    fn draft_group_victim(&mut self) -> Phenomenon {
        let victim = self.candidate();
        let mut busy = vec![victim];
        let mut tests = self.actors(victim, 2, &mut busy);
        // A classmate first and an outsider second could never act in a class-compatible order.
        tests.sort_by_key(|t| self.suite.class_of(*t) == self.suite.class_of(victim));
        let n_cleaners = self.random.below(3);
        let cleaners = self.actors(victim, n_cleaners, &mut busy);
        let sequence =
            *self.random.pick(&[Sequence::Any, Sequence::AsListed]).expect("there are two");
        Phenomenon::Victims {
            victims: vec![victim],
            pollutions: vec![Pollution { polluters: Together { tests, sequence }, cleaners }],
            ending: self.mild_ending(),
        }
    }

    fn draft_brittle(&mut self) -> Phenomenon {
        let brittle = self.candidate();
        let n_setters = 1 + self.random.below(3);
        let setters = self.actors(brittle, n_setters, &mut vec![brittle]);
        Phenomenon::Brittle {
            brittle,
            setters: setters.into_iter().map(Together::single).collect(),
            pollutes: Vec::new(),
        }
    }

    fn draft_chain(&mut self, n_victims_max: usize) -> Phenomenon {
        let n_victims = 1 + self.random.below(n_victims_max);
        let mut tests = self.candidates(1 + n_victims);
        let brittle = tests.swap_remove(0);
        let mut busy = [tests.as_slice(), &[brittle]].concat();
        let n_setters = 1 + self.random.below(3);
        let setters = self.actors(brittle, n_setters, &mut busy);
        Phenomenon::Brittle {
            brittle,
            setters: setters.into_iter().map(Together::single).collect(),
            pollutes: tests,
        }
    }

    /// With random places, practically every original order would be red, so victims come before
    /// their polluters, or after them with a cleaner in between.
    fn draft_web(&mut self) -> Phenomenon {
        let mut tests = self.candidates(27 + 1 + 20);
        tests.sort_unstable();
        if self.random.below(2) == 0 {
            tests.reverse();
        }
        let (cleaner, polluters) = (tests[27], &tests[28..]);
        let pollutions = polluters
            .iter()
            .map(|polluter| Pollution {
                polluters: Together::single(*polluter),
                cleaners: vec![cleaner],
            })
            .collect();
        Phenomenon::Victims { victims: tests[..27].to_vec(), pollutions, ending: Ending::Fail }
    }

    /// Takes a test that suffers from now on.
    fn take(&mut self) -> TestIndex {
        let test = self.candidate();
        self.reserve(test);
        test
    }

    fn take_unsteady(&mut self) -> TestIndex {
        let test = self.take();
        self.unsteady.insert(test);
        test
    }

    fn reserve(&mut self, test: TestIndex) {
        let was_free = !std::mem::replace(&mut self.suffers[test.get()], true);
        self.n_free -= usize::from(was_free);
    }

    /// A test that does not suffer yet.
    fn candidate(&mut self) -> TestIndex {
        assert!(0 < self.n_free, "the recipe was checked to fit");
        loop {
            let position = self.random.below(self.suffers.len());
            if !self.suffers[position] {
                return TestIndex::new(position);
            }
        }
    }

    fn candidates(&mut self, n: usize) -> Vec<TestIndex> {
        let mut chosen = Vec::new();
        while chosen.len() < n {
            let test = self.candidate();
            if !chosen.contains(&test) {
                chosen.push(test);
            }
        }
        chosen
    }

    /// A test that may act on others, from the class of the sufferer or from anywhere.
    fn actor(&mut self, sufferer: TestIndex, busy: &[TestIndex]) -> TestIndex {
        let class = &self.suite.classes()[self.suite.class_of(sufferer).get()];
        let may_act = |t: &TestIndex| *t != sufferer && !busy.contains(t);
        let unsteady = &self.unsteady;
        let classmates: Vec<TestIndex> =
            class.iter().copied().filter(|t| may_act(t) && !unsteady.contains(t)).collect();
        if self.random.below(2) == 0
            && let Some(test) = self.random.pick(&classmates)
        {
            return *test;
        }
        loop {
            let test = TestIndex::new(self.random.below(self.suite.n_tests()));
            if may_act(&test) && !self.unsteady.contains(&test) {
                return test;
            }
        }
    }

    /// Takes up to `n` tests to act on others, or as many as there are; they are busy from now on.
    fn actors(
        &mut self,
        sufferer: TestIndex,
        n: usize,
        busy: &mut Vec<TestIndex>,
    ) -> Vec<TestIndex> {
        let n_unable = busy.iter().filter(|t| !self.unsteady.contains(t)).count();
        let n_able = self.suite.n_tests() - self.unsteady.len() - n_unable;
        (0..n.min(n_able))
            .map(|_| {
                let test = self.actor(sufferer, busy);
                busy.push(test);
                test
            })
            .collect()
    }

    /// The number of cleaners: from none, for flake rates about one half, to many, for about one in
    /// a hundred.
    fn n_cleaners(&mut self) -> usize {
        match self.random.below(20) {
            0..=5 => 0,
            6..=15 => 1 + self.random.below(3),
            16..=18 => 4 + self.random.below(5),
            _ => 9 + self.random.below(32),
        }
    }

    /// All of them, or each with even odds: polluters of one victim may share their cleaners or
    /// have different ones.
    fn some_of(&mut self, tests: &[TestIndex]) -> Vec<TestIndex> {
        let all = self.random.below(2) == 0;
        tests.iter().copied().filter(|_| all || self.random.below(2) == 0).collect()
    }

    fn mild_ending(&mut self) -> Ending {
        if self.random.below(10) == 0 { Ending::Error } else { Ending::Fail }
    }

    fn percent(&mut self, from: u32, to: u32) -> f64 {
        let spread = (to - from + 1) as usize;
        let drawn = u32::try_from(self.random.below(spread)).expect("a percentage is small");
        f64::from(from + drawn) / 100.0
    }
}
