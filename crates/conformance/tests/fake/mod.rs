//! An adapter without a runner: it does what a role says, and one thing wrong.

use std::time::Duration;

use unflake_adapter::{Abilities, Calls, Outcomes, PlainRunner};
use unflake_conformance::{
    AMPLE, Apart, Fixture, ON_STDERR, ON_STDOUT, Odd, Ran, Role, SAID, Scene, Stopped, Subject,
    Terms, Told,
};
use unflake_engine::process::Exit;
use unflake_engine::{Applied, Ending, Failure, Isolation, Level, Perturbed, Start};
use unflake_model::{
    Control, Environment, Experiment, Factor, Factors, HashSeeds, OrderControl, Outcome,
    OutcomeKind, Phase, Repetition, Suite, SuiteBuilder, TestId, TestIndex,
};

const PASSED: Outcome = Outcome::Passed;
const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

/// What it does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// Names are tidied up.
    Misspells,
    /// Another test is run than the one that was named.
    TakesNeighbour,
    /// A test that plays this role ends otherwise.
    Ends(Role, Outcome),
    /// Of two tests, each has the outcome of the other.
    SwapsOutcomes,
    /// Of two tests, the second is run first.
    SwapsTests,
    /// One that nobody has asked for is run before all others.
    RunsAnother,
    /// The end of the last test is not told.
    LosesEnd,
    /// What is written is not told.
    LosesOutput,
    /// A test that never began is told to have ended.
    TellsTooMuch,
    /// An order is sorted that cannot be kept.
    BendsOrder,
    /// A run of no tests does not come to its end.
    HangsWithoutTests,
    /// No test is run again.
    NeverRepeats,
    /// What a test leaves stays between tests that are to be apart.
    PutsNothingBack,
    /// What a test leaves is found by the next run.
    LeaksState,
    /// The same, where each run has a fresh process.
    LeaksAfresh,
    /// A file is found by the next run.
    LeaksFiles,
    /// A level of isolation does not hold.
    RefusesLevel,
    /// Of several runs at once, the last does not come back.
    LosesRun,
    /// Of several runs at once, two are taken for each other.
    MixesRuns,
    /// It does not say why it cannot trace.
    KeepsQuiet,
    /// Another factor is applied than the one that was asked for.
    AppliesAnother,
    /// Circumstances are taken that cannot be changed.
    TakesAnyCircumstances,
    /// All hash seeds are one.
    IgnoresSeed,
    /// A test that hangs lives on.
    LeavesTests,
    /// The plain runner says that all tests pass.
    PlainPasses,
    /// The plain runner prints no command.
    PrintsNothing,
    /// The plain runner runs what it is said not to be able to name.
    PlainTakesAll,
}

/// What it can do.
pub(crate) const FULL: Abilities = Abilities {
    control: Control::FULL,
    calls: Calls::Unseen,
    hash_seeds: HashSeeds::Varied,
    isolation: &[Level::Pid, Level::Tree],
    ..Abilities::LEAST
};

/// The fixture of the adapter.
pub(crate) struct Fake {
    pub(crate) fault: Fault,
    pub(crate) abilities: Abilities,
}

impl Fixture for Fake {
    #[expect(clippy::unnecessary_literal_bound, reason = "other adapters have several names")]
    fn adapter(&self) -> &str {
        "fake"
    }

    fn player(&self, role: Role) -> Result<String, &'static str> {
        Ok(format!("{role:?}"))
    }

    fn odd(&self) -> Vec<Odd> {
        vec![
            Odd::new("a b", PASSED),
            Odd::new("a::b", FAILED),
            Odd::new("[ü]", PASSED),
            Odd::new("(x)", FAILED).not_typed(),
        ]
    }

    fn open(&self, scene: Scene, terms: &Terms) -> Result<Box<dyn Subject + '_>, String> {
        let (terms, limit) = (terms.clone(), AMPLE);
        Ok(Box::new(Open { fake: self, scene, terms, limit, world: World::default() }))
    }
}

impl Fake {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

/// What tests leave behind.
#[derive(Clone, Default)]
struct World {
    diary: Vec<String>,
    is_polluted: bool,
    is_loaded: bool,
    n_visits: u32,
    has_file: bool,
}

/// A project that was opened.
struct Open<'a> {
    fake: &'a Fake,
    scene: Scene,
    terms: Terms,
    limit: Duration,
    world: World,
}

impl Open<'_> {
    /// The roles of the scene, in the order in which they are listed.
    fn roles(&self) -> Vec<Role> {
        Role::ALL.into_iter().filter(|role| role.scene() == self.scene).collect()
    }

    fn ids(&self) -> Vec<(String, String)> {
        if self.scene == Scene::Odd {
            let odd = self.fake.odd().into_iter().map(|odd| ("odd".to_owned(), odd.id));
            let blank = if self.fake.has(Fault::Misspells) { "_" } else { " " };
            return odd.map(|(class, id)| (class, id.replace(' ', blank))).collect();
        }
        let class = |role: &Role| match role {
            Role::Diarist(1 | 2) => "first".to_owned(),
            Role::Diarist(_) => "last".to_owned(),
            other => format!("{other:?}"),
        };
        self.roles().iter().map(|role| (class(role), format!("{role:?}"))).collect()
    }

    /// Why a run cannot be made.
    fn refusal(&self, attempts: &[TestIndex], repetition: Repetition) -> Option<Ending> {
        let control = self.fake.abilities.control;
        let is_again = matches!(repetition, Repetition::Between { .. }) && !control.repeats;
        let is_bent = control.orders == OrderControl::Fixed
            && !attempts.is_sorted()
            && !self.fake.has(Fault::BendsOrder);
        let refused = || Ending::NotStarted { why: "as told".to_owned(), stderr: String::new() };
        (is_again || is_bent).then(refused)
    }

    fn run(&mut self, experiment: &Experiment) -> Ran {
        let tests = experiment.repetition.attempts(&experiment.order);
        let run = experiment.run;
        let mut attempts: Vec<_> = tests.iter().map(|test| (*test, Outcome::NotRun)).collect();
        let mut ran = Ran {
            run,
            attempts: attempts.clone(),
            told: Vec::new(),
            ending: Ending::Complete,
            isolation: self.isolation(),
            perturbed: self.perturbed(experiment.environment),
        };
        if let Some(ending) = self.refusal(&tests, experiment.repetition) {
            return Ran { ending, ..ran };
        }
        if tests.is_empty() && self.fake.has(Fault::HangsWithoutTests) {
            return Ran { ending: Ending::Hung, ..ran };
        }
        self.begin_process();
        let mut places: Vec<usize> = (0..tests.len()).collect();
        if self.fake.has(Fault::SwapsTests) && 1 < places.len() {
            places.swap(0, 1);
        }
        for place in places {
            let number = attempt_number(&tests, place, experiment.repetition);
            self.put_back(place, experiment.repetition);
            let (outcome, failure) = self.attempt(tests[place], number, experiment.environment);
            attempts[place].1 = outcome;
            ran.told.push(Told { test: tests[place], attempt: number, outcome, failure });
            match outcome {
                Outcome::TimedOut { .. } => ran.ending = Ending::TestTimedOut,
                Outcome::Crashed { signal } => {
                    ran.ending = Ending::Died(Exit { code: None, signal });
                }
                _ => continue,
            }
            break;
        }
        ran.attempts = attempts;
        self.falsify(ran)
    }

    /// What is wrong with how a run is told.
    fn falsify(&self, mut ran: Ran) -> Ran {
        match self.fake.fault {
            Fault::SwapsOutcomes if 1 < ran.told.len() => {
                let (one, other) = (ran.attempts[0].1, ran.attempts[1].1);
                (ran.attempts[0].1, ran.attempts[1].1) = (other, one);
                (ran.told[0].outcome, ran.told[1].outcome) = (other, one);
            }
            Fault::LosesEnd if 1 < ran.told.len() => drop(ran.told.pop()),
            Fault::TellsTooMuch if ran.told.len() < ran.attempts.len() => {
                let test = ran.attempts[ran.attempts.len() - 1].0;
                let failure = Failure::default();
                ran.told.push(Told { test, attempt: 0, outcome: PASSED, failure });
            }
            _ => (),
        }
        ran
    }

    fn begin_process(&mut self) {
        let is_cold = self.terms.start == Start::Cold;
        let keeps =
            self.fake.has(Fault::LeaksState) || is_cold && self.fake.has(Fault::LeaksAfresh);
        let has_file = self.world.has_file && self.fake.has(Fault::LeaksFiles);
        if !keeps {
            self.world = World { has_file, ..World::default() };
        }
        if self.fake.has(Fault::RunsAnother) {
            self.world.diary.push("4".to_owned());
        }
    }

    fn put_back(&mut self, place: usize, repetition: Repetition) {
        if let Repetition::Apart { n_common, .. } = repetition
            && place.is_multiple_of(n_common + 2)
            && !self.fake.has(Fault::PutsNothingBack)
        {
            self.world = World::default();
        }
    }

    fn isolation(&self) -> Isolation {
        let asked = match &self.terms.isolation {
            Apart::AsFarAsPossible => self.fake.abilities.isolation.to_vec(),
            Apart::By(levels) => levels.clone(),
        };
        let holds = |level: &Level| *level != Level::Pid || !self.fake.has(Fault::RefusesLevel);
        let applied = asked.into_iter().filter(holds).collect();
        Isolation { applied, refused: Vec::new() }
    }

    fn perturbed(&self, environment: Environment) -> Option<Perturbed> {
        let Environment::Perturbed { factors, .. } = environment else { return None };
        let another: Factors = [Factor::Cpu].into_iter().collect();
        let factors = if self.fake.has(Fault::AppliesAnother) { another } else { factors };
        let applied = factors.iter().map(|factor| Applied {
            factor: factor.slug().to_owned(),
            how: String::new(),
            env: std::collections::BTreeMap::default(),
            before: None,
            first: None,
        });
        Some(Perturbed { applied: applied.collect(), refused: Vec::new() })
    }

    fn attempt(
        &mut self,
        test: TestIndex,
        number: usize,
        environment: Environment,
    ) -> (Outcome, Failure) {
        let can_repeat = self.fake.abilities.control.repeats && !self.fake.has(Fault::NeverRepeats);
        if 0 < number && !can_repeat {
            return (Outcome::Skipped, Failure::default());
        }
        if self.scene == Scene::Odd {
            let odd = self.fake.odd();
            let shift = usize::from(self.fake.has(Fault::TakesNeighbour));
            return said(odd[(test.get() + shift) % odd.len()].outcome, "odd");
        }
        let role = self.roles()[test.get()];
        let (outcome, failure) = self.play(role, environment);
        let end = match self.fake.fault {
            Fault::Ends(other, end) if other == role => end,
            _ => outcome,
        };
        (end, failure)
    }

    fn play(&mut self, role: Role, environment: Environment) -> (Outcome, Failure) {
        let world = &mut self.world;
        let fails_if = |is_so: bool| if is_so { FAILED } else { PASSED };
        let outcome = match role {
            Role::Fails => FAILED,
            Role::BreaksInSetUp => Outcome::Error,
            Role::BreaksInCleanUp => Outcome::Failed { phase: Phase::TearDown },
            Role::Skipped => return said(Outcome::Skipped, SAID),
            Role::Prints => {
                let (_, mut failure) = said(FAILED, SAID);
                if !self.fake.has(Fault::LosesOutput) {
                    (failure.stdout, failure.stderr) = (ON_STDOUT.into(), ON_STDERR.into());
                }
                return (FAILED, failure);
            }
            Role::Diarist(number) => {
                world.diary.push(number.to_string());
                return said(FAILED, &format!("diary [{}]", world.diary.join(" ")));
            }
            Role::Polluter => {
                world.is_polluted = true;
                PASSED
            }
            Role::Cleaner => {
                world.is_polluted = false;
                PASSED
            }
            Role::Victim => fails_if(world.is_polluted),
            Role::Setter => {
                world.is_loaded = true;
                PASSED
            }
            Role::Brittle => fails_if(!world.is_loaded),
            Role::SpoilsItself => {
                world.n_visits += 1;
                fails_if(1 < world.n_visits)
            }
            Role::Writes => {
                world.has_file = true;
                PASSED
            }
            Role::Finds => fails_if(world.has_file),
            Role::TellsHash => {
                let is_heeded = !self.fake.has(Fault::IgnoresSeed);
                let seed = Some(environment).filter(|_| is_heeded);
                return said(FAILED, &format!("hash [{seed:?}]"));
            }
            Role::Passes | Role::IsCalm | Role::StaysCalm => PASSED,
            Role::Hangs => Outcome::TimedOut { after: self.limit },
            Role::Crashes => Outcome::Crashed { signal: Some(11) },
            Role::Exits => Outcome::Crashed { signal: None },
        };
        if outcome == PASSED { (outcome, Failure::default()) } else { said(outcome, "so it is") }
    }

    fn index(&self, id: &TestId) -> Option<TestIndex> {
        let ids = self.ids();
        ids.iter().position(|(_, known)| known == id.as_str()).map(TestIndex::new)
    }

    /// How tests end in a process of the plain runner, each attempt of them.
    fn plainly(&self, tests: &[TestIndex]) -> Vec<Outcome> {
        let honest = Fake { fault: Fault::None, abilities: FULL };
        let terms = self.terms.clone();
        let world = World::default();
        let mut open = Open { fake: &honest, scene: self.scene, terms, limit: AMPLE, world };
        let ends = tests.iter().map(|test| open.attempt(*test, 0, Environment::Plain).0);
        let ends: Vec<Outcome> = ends.collect();
        if self.fake.has(Fault::PlainPasses) { vec![PASSED; ends.len()] } else { ends }
    }
}

fn said(outcome: Outcome, message: &str) -> (Outcome, Failure) {
    (outcome, Failure { message: message.to_owned(), ..Failure::default() })
}

fn attempt_number(tests: &[TestIndex], place: usize, repetition: Repetition) -> usize {
    let is_again = 0 < place && tests[place] == tests[place - 1];
    usize::from(is_again && repetition == Repetition::Twice)
}

impl Subject for Open<'_> {
    fn abilities(&self) -> Abilities {
        self.fake.abilities
    }

    fn not_traced(&self) -> Option<&str> {
        let is_asked = self.terms.need.traces && !self.fake.has(Fault::KeepsQuiet);
        is_asked.then_some("it has no calls")
    }

    fn known_ids(&self) -> Option<Vec<String>> {
        None
    }

    fn suite(&self) -> Suite {
        let mut builder = SuiteBuilder::default();
        for (class, id) in self.ids() {
            builder.push(&class, id.parse().unwrap(), Duration::ZERO);
        }
        builder.build().unwrap()
    }

    fn make(&mut self, experiments: &[Experiment]) -> Result<Vec<Ran>, String> {
        let can_perturb = !self.fake.abilities.circumstances.is_empty()
            || self.fake.has(Fault::TakesAnyCircumstances);
        if !can_perturb && experiments.iter().any(|it| it.environment.is_perturbed()) {
            return Err("it cannot perturb".to_owned());
        }
        let mut ran: Vec<Ran> = experiments.iter().map(|it| self.run(it)).collect();
        if 1 < ran.len() && self.fake.has(Fault::LosesRun) {
            ran.pop();
        }
        if 1 < ran.len() && self.fake.has(Fault::MixesRuns) {
            (ran[0].run, ran[1].run) = (ran[1].run, ran[0].run);
            ran.swap(0, 1);
        }
        Ok(ran)
    }

    fn limit(&mut self, timeout: Duration) {
        self.limit = timeout;
    }

    fn stop(&mut self, _: TestIndex) -> Result<Stopped, String> {
        Ok(Stopped { is_idle: true, is_gone: !self.fake.has(Fault::LeavesTests) })
    }

    fn leave(self: Box<Self>, _: TestIndex) -> Result<bool, String> {
        Ok(!self.fake.has(Fault::LeavesTests))
    }

    fn plain(&self) -> Box<dyn PlainRunner + '_> {
        Box::new(Plain { open: self })
    }
}

struct Plain<'a> {
    open: &'a Open<'a>,
}

impl PlainRunner for Plain<'_> {
    fn run_suite(&self, took: Duration) -> Result<Outcomes, String> {
        let ids: Vec<TestId> = self.open.ids().iter().map(|(_, id)| id.parse().unwrap()).collect();
        self.run(&ids.iter().collect::<Vec<_>>(), took)
    }

    fn run(&self, tests: &[&TestId], _: Duration) -> Result<Outcomes, String> {
        let is_strict = self.open.scene == Scene::Odd && !self.open.fake.has(Fault::PlainTakesAll);
        if is_strict && tests.iter().any(|id| id.as_str().contains('(')) {
            return Err("it cannot be named".to_owned());
        }
        let places: Option<Vec<TestIndex>> = tests.iter().map(|id| self.open.index(id)).collect();
        let places = places.ok_or("there is no such test")?;
        let ends = self.open.plainly(&places);
        Ok(tests.iter().zip(ends).map(|(id, end)| ((*id).clone(), end.kind())).collect())
    }

    fn command(&self, _: &[&TestId]) -> Option<String> {
        (!self.open.fake.has(Fault::PrintsNothing)).then(|| "run it".to_owned())
    }

    fn run_twice(&self, test: &TestId, _: Duration) -> Result<Option<OutcomeKind>, String> {
        if !self.open.fake.abilities.control.repeats {
            return Ok(None);
        }
        let place = self.open.index(test).ok_or("there is no such test")?;
        Ok(self.open.plainly(&[place, place]).pop().map(Outcome::kind))
    }

    fn command_twice(&self, test: &TestId) -> Option<String> {
        self.command(&[test, test])
    }
}
