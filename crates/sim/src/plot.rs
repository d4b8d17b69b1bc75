//! What a phenomenon means for the tests that play its parts: rules, writes, and the truth.
//!
//! Groups are made of steps: with [`Sequence::AsListed`] a test takes its step only if the one
//! before it has done so; with [`Sequence::Any`] the last test to run completes the effect. Either
//! way the variable `done` says whether the group has acted.

use std::collections::{BTreeMap, BTreeSet};

use unflake_model::{CleanersOf, Dependencies, Group, TestIndex, Verdict};

use crate::behaviour::{Behaviour, Chance, Condition, Ending, On, Rule, Values, Variable, Write};
use crate::phenomenon::{Phenomenon, Pollution, Sequence, Together};
use crate::truth::TestTruth;

/// Hands out variables, so that no two phenomena share one.
#[derive(Debug, Default)]
pub(crate) struct Variables(u32);

impl Variables {
    fn fresh(&mut self) -> Variable {
        self.0 += 1;
        Variable(self.0 - 1)
    }
}

/// What one phenomenon means for its tests.
#[derive(Debug, Default)]
pub(crate) struct Plot {
    pub(crate) behaviours: BTreeMap<TestIndex, Behaviour>,
    pub(crate) truths: Vec<(TestIndex, TestTruth)>,
    /// Variables that become 1 once the file of a test is collected.
    pub(crate) imports: Vec<(TestIndex, Variable)>,
}

impl Plot {
    fn on(&mut self, test: TestIndex) -> &mut Behaviour {
        self.behaviours.entry(test).or_default()
    }

    fn write(&mut self, test: TestIndex, write: Write) {
        self.on(test).writes.push(write);
    }

    fn rule(&mut self, test: TestIndex, when: Condition, chance: Chance, ending: Ending) {
        let rule = Rule { when, chance, ending };
        self.on(test).rules.push(rule);
    }

    fn certain(&mut self, test: TestIndex, when: Condition, ending: Ending) {
        self.rule(test, when, Chance::Certain, ending);
    }

    fn conclude(&mut self, test: TestIndex, verdict: Verdict) {
        self.truths.push((test, TestTruth::independent(verdict)));
    }

    fn conclude_victim(&mut self, test: TestIndex, mut cleaners: Vec<CleanersOf>) {
        cleaners.sort_unstable_by(|a, b| a.polluters.cmp(&b.polluters));
        let dependencies = Dependencies {
            polluters: cleaners.iter().map(|of| of.polluters.clone()).collect(),
            cleaners,
            ..Dependencies::default()
        };
        let verdict = Verdict::OdVictim;
        self.truths.push((test, TestTruth { verdict, dependencies }));
    }

    /// Makes the tests of a group act together; returns its variables, `done` last.
    fn act(&mut self, together: &Together, variables: &mut Variables) -> Vec<Variable> {
        let mut steps: Vec<Variable> = Vec::new();
        for test in &together.tests {
            let step = variables.fresh();
            let mut write = Write::always(step, 1);
            if let (Sequence::AsListed, Some(before)) = (together.sequence, steps.last()) {
                write.when = Condition::is(*before, 1);
            }
            self.write(*test, write);
            steps.push(step);
        }
        if together.sequence == Sequence::Any && 1 < together.tests.len() {
            let done = variables.fresh();
            let all = steps.iter().fold(Condition::always(), |all, step| all.and(*step, 1));
            for test in &together.tests {
                let mut write = Write::always(done, 1);
                write.when = all.clone();
                self.write(*test, write);
            }
            steps.push(done);
        }
        steps
    }

    /// Whether every sufferer passes in the original order, as far as this phenomenon goes.
    pub(crate) fn is_green_in_original_order(&self, n_variables: &Variables) -> bool {
        let mut values = Values::fresh(n_variables.0 as usize);
        let suffers: BTreeSet<TestIndex> = self.truths.iter().map(|(test, _)| *test).collect();
        self.behaviours.iter().all(|(test, behaviour)| {
            let ending = behaviour.certain_ending(&values);
            values.write(&behaviour.writes, ending);
            ending.is_none() || !suffers.contains(test)
        })
    }
}

impl Phenomenon {
    pub(crate) fn grow(&self, variables: &mut Variables) -> Plot {
        let mut plot = Plot::default();
        match self {
            Self::Victims { victims, pollutions, ending } => {
                grow_victims(&mut plot, variables, victims, pollutions, *ending);
            }
            Self::Brittle { brittle, setters, pollutes } => {
                grow_brittle(&mut plot, variables, *brittle, setters, pollutes);
            }
            Self::NonIdempotent { test } => {
                let spoilt = variables.fresh();
                plot.certain(*test, Condition::is(spoilt, 1), Ending::Fail);
                plot.write(*test, Write::always(spoilt, 1));
                plot.conclude(*test, Verdict::Nio);
            }
            Self::Random { test, chance, ending } => {
                plot.rule(*test, Condition::always(), *chance, *ending);
                plot.conclude(*test, Verdict::Ndoi);
            }
            Self::MovedRate { test, movers, rate_before, rate_after } => {
                let moved = variables.fresh();
                for (value, rate) in [(0, *rate_before), (1, *rate_after)] {
                    let chance = Chance::Independent { rate };
                    plot.rule(*test, Condition::is(moved, value), chance, Ending::Fail);
                }
                for mover in movers {
                    plot.write(*mover, Write::always(moved, 1));
                }
                plot.conclude(*test, Verdict::Ndod);
            }
            Self::OpenChoice { test, rate } => {
                let chance = Chance::OpenChoice { rate: *rate };
                plot.rule(*test, Condition::always(), chance, Ending::Fail);
                plot.conclude(*test, Verdict::Id);
            }
            Self::Litter { test, n_places } => {
                for _ in 0..*n_places {
                    plot.write(*test, Write::always(variables.fresh(), 1));
                }
            }
            Self::Stumbling { test, file_of } => {
                let imported = variables.fresh();
                plot.imports.push((*file_of, imported));
                plot.certain(*test, Condition::is(imported, 1), Ending::Fail);
                // This is the view of an agent, which collects all files first.
                plot.conclude(*test, Verdict::AlwaysFailing);
            }
            Self::AlwaysFailing { test } => {
                plot.certain(*test, Condition::always(), Ending::Fail);
                plot.conclude(*test, Verdict::AlwaysFailing);
            }
            Self::ChangingSkip { test, skipper } => {
                let unwanted = variables.fresh();
                plot.certain(*test, Condition::is(unwanted, 1), Ending::Skip);
                plot.write(*skipper, Write::always(unwanted, 1));
                plot.conclude(*test, Verdict::NotFlaky);
            }
            // Applied after everything else is planted, because it changes earlier conclusions.
            Self::Noise { .. } => (),
        }
        plot
    }
}

fn grow_victims(
    plot: &mut Plot,
    variables: &mut Variables,
    victims: &[TestIndex],
    pollutions: &[Pollution],
    ending: Ending,
) {
    let mut cleaners_of = Vec::new();
    for Pollution { polluters, cleaners } in pollutions {
        let steps = plot.act(polluters, variables);
        let done = *steps.last().expect("a group has at least one test");
        for victim in victims {
            plot.certain(*victim, Condition::is(done, 1), ending);
        }
        let cleaners: BTreeSet<TestIndex> = cleaners.iter().copied().collect();
        for cleaner in &cleaners {
            for step in &steps {
                plot.write(*cleaner, Write::always(*step, 0));
            }
        }
        cleaners_of.push(CleanersOf {
            polluters: polluters.canonical(),
            cleaners: cleaners.into_iter().collect(),
        });
    }
    for victim in victims {
        plot.conclude_victim(*victim, cleaners_of.clone());
    }
}

fn grow_brittle(
    plot: &mut Plot,
    variables: &mut Variables,
    brittle: TestIndex,
    setters: &[Together],
    pollutes: &[TestIndex],
) {
    let mut nothing_set = Condition::always();
    for group in setters {
        let steps = plot.act(group, variables);
        let done = *steps.last().expect("a group has at least one test");
        nothing_set = nothing_set.and(done, 0);
    }
    plot.certain(brittle, nothing_set, Ending::Fail);
    let mut state_setters: Vec<Group> = setters.iter().map(Together::canonical).collect();
    state_setters.sort_unstable();
    plot.truths.push((
        brittle,
        TestTruth {
            verdict: Verdict::OdBrittle,
            dependencies: Dependencies { state_setters, ..Dependencies::default() },
        },
    ));
    if pollutes.is_empty() {
        return;
    }
    let spoilt = variables.fresh();
    let mut write = Write::always(spoilt, 1);
    write.on = On::Fail;
    plot.write(brittle, write);
    for victim in pollutes {
        plot.certain(*victim, Condition::is(spoilt, 1), Ending::Fail);
        let of_brittle = CleanersOf { polluters: vec![brittle], cleaners: Vec::new() };
        plot.conclude_victim(*victim, vec![of_brittle]);
    }
}
