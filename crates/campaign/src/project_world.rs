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
        self.interrupt = self.interrupt.lasting();
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
                    self.engine.hear_interrupt();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::engine;
    use std::sync::Mutex;
    use unflake_model::{Factors, Order, RunId};

    /// Takes note of what it is asked. Test 0 fails, also in company of files; nothing else can be
    /// given to it.
    #[derive(Default)]
    struct Runner(Mutex<Vec<String>>);

    impl Runner {
        fn note(&self, what: String) {
            self.0.lock().unwrap().push(what);
        }
    }

    fn outcomes(tests: &[&TestId]) -> Outcomes {
        let is_first = |id: &TestId| id.as_str().ends_with('0');
        let kind =
            |id: &TestId| if is_first(id) { OutcomeKind::Failed } else { OutcomeKind::Passed };
        tests.iter().map(|id| ((*id).clone(), kind(id))).collect()
    }

    impl PlainRunner for Runner {
        fn run_suite(&self, _: Duration) -> Result<Outcomes, String> {
            Err("nobody asks for it".to_owned())
        }

        fn run(&self, tests: &[&TestId], took: Duration) -> Result<Outcomes, String> {
            self.note(format!("run {} for {} s", tests.len(), took.as_secs()));
            if tests.len() == 3 { Err("too many".to_owned()) } else { Ok(outcomes(tests)) }
        }

        fn command(&self, _: &[&TestId]) -> Option<String> {
            None
        }

        fn run_among(
            &self,
            test: &TestId,
            files: &[&str],
            _: Duration,
        ) -> Result<Option<OutcomeKind>, String> {
            self.note(format!("among {}", files.join(" ")));
            Ok(outcomes(&[test]).into_values().next())
        }

        fn run_twice(&self, _: &TestId, took: Duration) -> Result<Option<OutcomeKind>, String> {
            self.note(format!("twice for {} s", took.as_secs()));
            Ok(Some(OutcomeKind::Failed))
        }

        fn command_twice(&self, _: &TestId) -> Option<String> {
            None
        }
    }

    fn suite() -> Suite {
        Suite::of_sizes(&[3]).unwrap()
    }

    fn plainly(tests: &[usize], among: Option<&[usize]>) -> Experiment {
        let index = |tests: &[usize]| tests.iter().copied().map(TestIndex::new).collect::<Vec<_>>();
        let means = Means::Plain { among: among.map(index) };
        Experiment { means, ..Experiment::new(RunId(7), Order::from_distinct(index(tests))) }
    }

    #[test]
    fn each_kind_of_plain_run_is_asked_for_in_its_own_way() {
        use OutcomeKind::{Failed, NotRun, Passed};
        let (runner, suite) = (Runner::default(), suite());
        let plain = Plain { runner: &runner, suite: &suite, files: &["a.py", "a.py", "b.py"] };
        let kinds = |experiment: &Experiment| {
            let observation = plain.run(experiment);
            let kinds = observation.attempts.iter().map(|it| it.outcome.kind());
            (kinds.collect::<Vec<_>>(), observation.not_started)
        };
        assert_eq!(kinds(&plainly(&[0, 1], None)), (vec![Failed, Passed], None));
        let failed = Some(NotStarted::Failed("too many".to_owned()));
        assert_eq!(kinds(&plainly(&[0, 1, 2], None)), (vec![NotRun; 3], failed));
        assert_eq!(kinds(&plainly(&[1], Some(&[2, 0]))), (vec![Passed], None));
        assert_eq!(kinds(&plainly(&[1], Some(&[]))), (vec![Passed], None));
        let twice = Experiment { repetition: Repetition::Twice, ..plainly(&[1], None) };
        assert_eq!(kinds(&twice), (vec![Failed; 2], None));
        let environment = Environment::Perturbed { factors: Factors::NONE, seed: 0 };
        let perturbed = Experiment { environment, ..plainly(&[1], None) };
        assert_eq!(kinds(&perturbed), (vec![NotRun], Some(NotStarted::Unable)));
        let asked = runner.0.into_inner().unwrap();
        let times =
            ["run 2 for 2 s", "run 3 for 3 s", "among b.py a.py", "among ", "twice for 2 s"];
        assert_eq!(asked, times);
    }

    const TWO: &str = "def test_a():\n    pass\n\n\ndef test_b():\n    pass\n";

    /// Lets a world answer four experiments; by whom each was answered, in order of their numbers.
    fn answered(is_broken: bool) -> Vec<(u64, bool, Option<NotStarted>)> {
        let interrupt = Interrupt::default();
        let (_folder, engine) = engine(TWO, &interrupt);
        let mut engine = EngineWorld::new(engine, 2);
        let (runner, suite) = (Runner::default(), suite());
        let plain = Plain { runner: &runner, suite: &suite, files: &[] };
        std::thread::scope(|scope| {
            let mut world = ProjectWorld::new(&mut engine, plain, scope, &interrupt);
            world.is_broken = is_broken;
            for number in 0..4 {
                let means = if number < 2 { plainly(&[1], None).means } else { Means::Agent };
                world.submit(&Experiment { run: RunId(number), means, ..plainly(&[1], None) });
            }
            let mut answers = Vec::new();
            while answers.len() < 4 {
                if let Happening::Ended(answer) = world.next() {
                    let Answer { observation, manner, .. } = *answer;
                    let by_agent = manner.is_some();
                    answers.push((observation.run.0, by_agent, observation.not_started));
                }
            }
            answers.sort_by_key(|(number, ..)| *number);
            answers
        })
    }

    #[test]
    fn the_engine_and_the_plain_runner_answer_side_by_side() {
        let agent = |number| (number, true, None);
        assert_eq!(answered(false), [(0, false, None), (1, false, None), agent(2), agent(3)]);
    }

    #[test]
    fn where_the_engine_works_no_more_the_plain_runner_still_answers() {
        let unable = |number| (number, false, Some(NotStarted::Unable));
        assert_eq!(answered(true), [(0, false, None), (1, false, None), unable(2), unable(3)]);
    }

    #[test]
    fn a_plain_run_that_was_given_up_answers_nobody_later() {
        let interrupt = Interrupt::default();
        let (_folder, engine) = engine(TWO, &interrupt);
        let mut engine = EngineWorld::new(engine, 2);
        let (runner, suite) = (Runner::default(), suite());
        let plain = Plain { runner: &runner, suite: &suite, files: &[] };
        std::thread::scope(|scope| {
            let mut world = ProjectWorld::new(&mut engine, plain, scope, &interrupt);
            world.submit(&plainly(&[1], None));
            interrupt.raise();
            // Whichever is heard first: the answer, or the interrupt.
            while !matches!(world.next(), Happening::Interrupted(_)) {}
            world.submit(&Experiment { run: RunId(8), ..plainly(&[1], None) });
            let Happening::Ended(answer) = world.next() else { panic!("it is the only run") };
            assert_eq!(answer.observation.run, RunId(8));
            // Nor is the engine's next run given up for the interrupt before it.
            let by_agent = Experiment { run: RunId(9), means: Means::Agent, ..plainly(&[1], None) };
            world.submit(&by_agent);
            let next = std::iter::repeat_with(|| world.next());
            let mut next = next.filter(|it| !matches!(it, Happening::TestEnded));
            let Some(Happening::Ended(answer)) = next.next() else { panic!("it was made") };
            assert_eq!(answer.observation.run, RunId(9));
        });
    }
}
