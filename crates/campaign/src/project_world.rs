//! A project as a world that answers experiments: the engine, and the project's own runner.
//!
//! The runner is a program that is started and waited for. So each plain run has a thread that
//! waits for it, while the engine goes on with that many fewer processes.

use std::num::NonZero;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::Scope;
use std::time::Duration;

use unflake_adapter::{Outcomes, PlainRunner};
use unflake_engine::{Interrupt, Waker};
use unflake_model::{
    Attempt, Environment, Experiment, Means, NotStarted, Observation, Outcome, OutcomeKind, Phase,
    Repetition, Suite, TestId, TestIndex,
};

use crate::engine_world::EngineWorld;
use crate::world::{Answer, Happening, World};

/// How many plain runs are made at once if starting is cheap: each starts a process and mostly
/// waits for it, and the tries of one finding are made together.
const PLAIN_WIDTH: usize = 3;

/// The engine and the plain runner.
pub(crate) struct ProjectWorld<'scope, 'env, 'w> {
    engine: &'w mut EngineWorld,
    plain: Plain<'env>,
    /// The scope of the threads that wait for the plain runner.
    scope: &'scope Scope<'scope, 'env>,
    ended: (Sender<Observation>, Receiver<Observation>),
    waker: Waker,
    interrupt: Interrupt,
    n_plain: usize,
    /// Whether the engine has broken down. The runner still works.
    pub(crate) is_broken: bool,
}

impl<'scope, 'env, 'w> ProjectWorld<'scope, 'env, 'w> {
    /// A world in which both answer.
    pub(crate) fn new(
        engine: &'w mut EngineWorld,
        plain: Plain<'env>,
        scope: &'scope Scope<'scope, 'env>,
        interrupt: &Interrupt,
    ) -> Self {
        let (waker, interrupt) = (engine.waker(), interrupt.lasting());
        let (ended, n_plain, is_broken) = (mpsc::channel(), 0, false);
        Self { engine, plain, scope, ended, waker, interrupt, n_plain, is_broken }
    }

    fn take_plain(&mut self, observation: Observation) -> Happening {
        self.n_plain -= 1;
        Happening::Ended(Box::new(Answer::of(observation, Vec::new())))
    }

    fn give_up(&mut self) -> Happening {
        // Runs under way are dropped: the next analysis counts its runs anew.
        self.ended = mpsc::channel();
        self.n_plain = 0;
        self.engine.give_up()
    }
}

impl World for ProjectWorld<'_, '_, '_> {
    fn width(&self) -> usize {
        self.engine.width().saturating_sub(self.n_plain).max(1)
    }

    fn n_ahead(&self) -> usize {
        // While plain runs are under way the engine has room, and nothing would wait.
        if self.n_plain == 0 { self.engine.n_ahead() } else { 0 }
    }

    fn plain_width(&self) -> usize {
        let n_cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        if self.plain.runner.is_dear() { n_cores } else { n_cores.max(PLAIN_WIDTH) }
    }

    fn submit(&mut self, experiment: &Experiment) {
        if experiment.means == Means::Agent && !self.is_broken {
            return self.engine.submit(experiment);
        }
        self.n_plain += 1;
        if experiment.means == Means::Agent {
            let _ = self.ended.0.send(Observation::not_started(experiment, NotStarted::Unable));
            return;
        }
        let (plain, experiment) = (self.plain, experiment.clone());
        let (ended, waker) = (self.ended.0.clone(), self.waker.clone());
        self.scope.spawn(move || {
            // Nobody receives it if all runs were given up.
            let _ = ended.send(plain.run(&experiment));
            waker.wake();
        });
    }

    fn next(&mut self) -> Happening {
        loop {
            if let Ok(observation) = self.ended.1.try_recv() {
                return self.take_plain(observation);
            }
            if 0 < self.n_plain && self.engine.is_idle() {
                // The engine would say that it has nothing to do. The runner notices an interrupt
                // on its own.
                let ended = self.ended.1.recv();
                if self.interrupt.is_raised() {
                    return self.give_up();
                }
                match ended {
                    Ok(observation) => return self.take_plain(observation),
                    Err(_) => return self.give_up(),
                }
            }
            match self.engine.wait() {
                Some(Happening::Interrupted(cut_off)) => {
                    self.give_up();
                    return Happening::Interrupted(cut_off);
                }
                Some(happening) => return happening,
                None => (),
            }
        }
    }
}

/// The plain runner, with the names and files of the tests.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'env> {
    pub(crate) runner: &'env dyn PlainRunner,
    pub(crate) suite: &'env Suite,
    /// The file of each test.
    pub(crate) files: &'env [&'env str],
}

impl Plain<'_> {
    /// Runs the plain runner and waits for its result.
    pub(crate) fn run(&self, experiment: &Experiment) -> Observation {
        match self.outcomes(experiment) {
            Ok(Some(outcomes)) => self.observation(experiment, &outcomes),
            Ok(None) => Observation::not_started(experiment, NotStarted::Unable),
            Err(why) => Observation::not_started(experiment, NotStarted::Failed(why)),
        }
    }

    fn outcomes(&self, experiment: &Experiment) -> Result<Option<Outcomes>, String> {
        let &Self { runner, suite, files } = self;
        let tests = experiment.order.tests();
        let ids: Vec<&TestId> = tests.iter().map(|test| suite.id(*test)).collect();
        let took: Duration = tests.iter().map(|test| suite.duration(*test)).sum();
        let of_one = |ended: Option<OutcomeKind>| {
            let (id, ended) = (ids.last()?, ended?);
            Some(Outcomes::from([((*id).clone(), ended)]))
        };
        let among: &[TestIndex] = match &experiment.means {
            Means::Plain { among: Some(among) } => among,
            Means::Plain { among: None } | Means::Agent => {
                return match (experiment.environment, experiment.repetition, &ids[..]) {
                    (Environment::Plain, Repetition::Once, _) => runner.run(&ids, took).map(Some),
                    (Environment::Plain, Repetition::Twice, [id]) => {
                        runner.run_twice(id, took * 2).map(of_one)
                    }
                    (environment, Repetition::Once, _) => {
                        runner.run_perturbed(&ids, environment, took)
                    }
                    _ => Ok(None),
                };
            }
        };
        let [id] = &ids[..] else { return Ok(None) };
        let among: Vec<&str> = among.iter().map(|test| files[test.get()]).collect();
        runner.run_among(id, &among, took).map(of_one)
    }

    /// For a test that is run twice, the runner says how it failed if it did, else that it passed.
    fn observation(&self, experiment: &Experiment, outcomes: &Outcomes) -> Observation {
        let tests = experiment.repetition.attempts(&experiment.order).into_iter();
        let attempt = |test| {
            let kind = outcomes.get(self.suite.id(test)).copied();
            let outcome = outcome(kind.unwrap_or(OutcomeKind::NotRun));
            Attempt { test, outcome, duration: Duration::ZERO }
        };
        Observation::of(experiment.run, tests.map(attempt).collect(), Duration::ZERO)
    }
}

/// The outcome, with as much detail as a plain runner gives.
fn outcome(kind: OutcomeKind) -> Outcome {
    match kind {
        OutcomeKind::Passed => Outcome::Passed,
        OutcomeKind::Failed => Outcome::Failed { phase: Phase::Call },
        OutcomeKind::Error => Outcome::Error,
        OutcomeKind::Skipped => Outcome::Skipped,
        OutcomeKind::TimedOut => Outcome::TimedOut { after: Duration::ZERO },
        OutcomeKind::Crashed => Outcome::Crashed { signal: None },
        OutcomeKind::NotRun => Outcome::NotRun,
    }
}
