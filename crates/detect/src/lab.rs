//! Where analyses and the world meet: ask for experiments, tell observations.
//!
//! From outside, an [`Analysis`] is a plain state machine: [`Analysis::ask`] hands out experiments,
//! [`Analysis::tell`] takes observations in any order, and at some point there is an answer. Who
//! answers (engine, queue, simulator) and how many at once is not its business.
//!
//! From inside, an analysis is straight code that awaits its answers: `lab.run(order).await?`. The
//! compiler turns that code into the state machine. We considered writing the states by hand; a
//! search that nests in a search that nests in a campaign then loses its shape, while here it
//! reads like the algorithm in the book. No runtime is involved: a single-threaded executor is
//! pumped by `ask` until every part of the analysis waits for an observation.
//!
//! Running out of budget is an answer ([`OutOfBudget`]), so that an analysis can always say what it
//! knows. An experiment nobody waits for any more is dropped before it is handed out.

use std::cell::{Cell, Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use futures_channel::oneshot;
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt as _;
use unflake_model::{
    Budget, Environment, Evidence, Experiment, Finding, Group, Look, Means, Observation, Order,
    Repetition, RunId, Spent, Suite, Tally, TestIndex,
};

use crate::ledger::{Ledger, Run};

/// The budget does not cover the experiment asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget does not cover another run")]
pub struct OutOfBudget;

/// What an analysis is about to confirm. Whoever has other means to try it need not wait for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    /// The test.
    pub test: TestIndex,
    /// What it depends on.
    pub group: Group,
    /// How it ends behind the group; alone it ends otherwise.
    pub behind: Evidence,
}

/// How an experiment competes with the others that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Looks into a test under suspicion. Goes first: a suspicion followed up is worth more than
    /// another suspicion.
    Investigate,
    /// Looks for new suspicions.
    Explore,
}

type Reply = oneshot::Sender<Result<Rc<Run>, OutOfBudget>>;

/// A question on its way: what to run, under a number that is still to come, and who waits for it.
struct Request {
    experiment: Experiment,
    reply: Reply,
}

/// How many experiments can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// More runs by the agent.
    pub agent: usize,
    /// How many of those are worked on at once; the others wait. Nothing is asked for the sake of
    /// what waits that would not be asked anyway.
    pub width: usize,
    /// More runs by the plain runner, which has processes of its own.
    pub plain: usize,
}

/// A question handed out, and not yet answered.
struct Running {
    experiment: Experiment,
    cost: Spent,
    reply: Reply,
}

/// What all parts of one analysis share.
struct Desk {
    suite: Rc<Suite>,
    budget: Budget,
    ledger: Ledger,
    waiting: BTreeMap<Urgency, VecDeque<Request>>,
    /// Runs for the plain runner. They wait for no run of the agent.
    waiting_plain: VecDeque<Request>,
    running: BTreeMap<RunId, Running>,
    spent: Spent,
    reserved: Spent,
    put_aside: Spent,
    /// By how much runs took longer than their tests were expected to, in all.
    overhead: Duration,
    runs_issued: u64,
    width: usize,
    stopped: bool,
    culprits: BTreeMap<TestIndex, u64>,
    cleaners: BTreeSet<TestIndex>,
    suspicions: Vec<Suspicion>,
    /// Who waits for the first suspicion.
    to_be_told: Option<oneshot::Sender<Suspicion>>,
    conclusions: Vec<Finding>,
}

impl Desk {
    /// Takes experiments from those that wait, most urgent first. Also says whether a request was
    /// refused, because its analysis may then have other plans.
    fn issue(&mut self, room: Room) -> (Vec<Experiment>, bool) {
        let (mut experiments, mut refused) = self.issue_plain(room.plain);
        let n_plain = experiments.len();
        while experiments.len() - n_plain < room.agent {
            let next = |(urgency, queue): (&Urgency, &mut VecDeque<Request>)| {
                queue.pop_front().map(|request| (*urgency, request))
            };
            let Some((urgency, request)) = self.waiting.iter_mut().find_map(next) else {
                break;
            };
            if request.reply.is_canceled() {
                continue;
            }
            let cost = self.expected_cost(&request);
            let committed = self.spent.plus(self.reserved).plus(cost);
            let is_covered =
                !request.experiment.is_evidence() || self.is_covered(committed, urgency);
            if self.stopped || !is_covered {
                refused = true;
                // The receiver may have gone away meanwhile; then nobody cares.
                let _ = request.reply.send(Err(OutOfBudget));
                continue;
            }
            experiments.push(self.start(request, cost));
        }
        (experiments, refused)
    }

    fn issue_plain(&mut self, room: usize) -> (Vec<Experiment>, bool) {
        let mut experiments = Vec::new();
        let mut refused = false;
        while experiments.len() < room {
            let Some(request) = self.waiting_plain.pop_front() else { break };
            if request.reply.is_canceled() {
                continue;
            }
            if self.stopped {
                refused = true;
                let _ = request.reply.send(Err(OutOfBudget));
                continue;
            }
            experiments.push(self.start(request, Spent::default()));
        }
        (experiments, refused)
    }

    /// What a run is going to cost. A budget is for finding out; what confirms and explains what
    /// was found is not charged to it.
    fn expected_cost(&self, request: &Request) -> Spent {
        if !request.experiment.is_evidence() {
            return Spent::default();
        }
        let Request { experiment, .. } = request;
        let n_runs = u32::try_from(self.spent.runs).unwrap_or(u32::MAX).max(1);
        let attempts = experiment.repetition.attempts(&experiment.order);
        let time: Duration = attempts.iter().map(|test| self.suite.duration(*test)).sum();
        Spent { runs: 1, attempts: attempts.len() as u64, time: time + self.overhead / n_runs }
    }

    /// Whether the budget covers this much. New suspicions are of no use if nothing is left to look
    /// into those there are: beyond half of the budget, exploration leaves alone what is put aside.
    fn is_covered(&self, committed: Spent, urgency: Urgency) -> bool {
        let is_within = |budget: Budget, spent| budget.exceeded_by(spent).is_none();
        match urgency {
            Urgency::Investigate => is_within(self.budget, committed),
            Urgency::Explore => {
                is_within(self.budget, committed.plus(self.put_aside))
                    || is_within(self.budget.share(1, 2), committed)
            }
        }
    }

    fn start(&mut self, request: Request, cost: Spent) -> Experiment {
        let experiment = Experiment { run: RunId(self.runs_issued), ..request.experiment };
        self.runs_issued += 1;
        self.reserved = self.reserved.plus(cost);
        let running = Running { experiment: experiment.clone(), cost, reply: request.reply };
        self.running.insert(experiment.run, running);
        experiment
    }

    fn settle(&mut self, observation: Observation) {
        let Running { experiment, cost, reply } = self
            .running
            .remove(&observation.run)
            .expect("an observation answers an experiment that was asked for and not yet told");
        if !experiment.is_evidence() {
            let _ = reply.send(Ok(Rc::new(Run::of(experiment, observation))));
            return;
        }
        let run = self.ledger.record(experiment, &observation);
        self.reserved = Spent {
            runs: self.reserved.runs - cost.runs,
            attempts: self.reserved.attempts - cost.attempts,
            time: self.reserved.time.saturating_sub(cost.time),
        };
        self.spent = self.spent.plus(run.spent);
        self.overhead += run.spent.time.saturating_sub(cost.time);
        let _ = reply.send(Ok(run));
    }
}

/// One analysis at work, seen from outside.
pub struct Analysis<T> {
    pool: LocalPool,
    desk: Rc<RefCell<Desk>>,
    answer: Rc<RefCell<Option<T>>>,
}

impl<T: 'static> Analysis<T> {
    /// Starts an analysis of a suite under a budget.
    pub fn new<F>(suite: Rc<Suite>, budget: Budget, analysis: impl FnOnce(Lab) -> F) -> Self
    where
        F: Future<Output = T> + 'static,
    {
        let pool = LocalPool::new();
        let n_tests = suite.n_tests();
        let desk = Rc::new(RefCell::new(Desk {
            suite: Rc::clone(&suite),
            budget,
            ledger: Ledger::new(n_tests),
            waiting: BTreeMap::new(),
            waiting_plain: VecDeque::new(),
            running: BTreeMap::new(),
            spent: Spent::default(),
            reserved: Spent::default(),
            put_aside: Spent::default(),
            overhead: Duration::ZERO,
            runs_issued: 0,
            width: 1,
            stopped: false,
            culprits: BTreeMap::new(),
            cleaners: BTreeSet::new(),
            suspicions: Vec::new(),
            to_be_told: None,
            conclusions: Vec::new(),
        }));
        let lab = Lab {
            suite,
            desk: Rc::clone(&desk),
            account: Rc::default(),
            questions: Rc::default(),
            urgency: Urgency::Investigate,
            environment: Environment::Plain,
        };
        let answer = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&answer);
        let work = analysis(lab);
        pool.spawner()
            .spawn_local(async move {
                let value = work.await;
                slot.replace(Some(value));
            })
            .expect("a pool that exists takes tasks");
        Self { pool, desk, answer }
    }

    /// The next experiments worth running, at most `room` of them for the agent, and as many for
    /// the plain runner. Empty means: there is nothing to run before another observation is told,
    /// or the analysis is finished.
    pub fn ask(&mut self, room: usize) -> Vec<Experiment> {
        let n_running = self.desk.borrow().running.len();
        self.ask_for(Room { agent: room, width: n_running + room, plain: room })
    }

    /// The same, where only some experiments are worked on at once.
    pub fn ask_for(&mut self, room: Room) -> Vec<Experiment> {
        self.desk.borrow_mut().width = room.width.max(1);
        loop {
            self.pool.run_until_stalled();
            if self.answer.borrow().is_some() {
                return Vec::new();
            }
            let (experiments, refused) = self.desk.borrow_mut().issue(room);
            if !experiments.is_empty() || !refused {
                return experiments;
            }
        }
    }

    /// Takes what came back from an experiment. Observations may come in any order.
    ///
    /// # Panics
    /// If no such experiment is under way, or the observation speaks of other tests than it.
    pub fn tell(&mut self, observation: &Observation) {
        self.desk.borrow_mut().settle(observation.clone());
    }

    /// Grants no further experiment. The analysis then concludes from what it knows.
    pub fn stop(&mut self) {
        self.desk.borrow_mut().stopped = true;
    }

    /// Gives up the experiments under way as well: nobody will tell what came of them.
    pub fn abandon(&mut self) {
        self.stop();
        for (_, running) in std::mem::take(&mut self.desk.borrow_mut().running) {
            let _ = running.reply.send(Err(OutOfBudget));
        }
    }

    /// What has been spent so far.
    pub fn spent(&self) -> Spent {
        self.desk.borrow().spent
    }

    /// All runs so far.
    pub fn ledger(&self) -> Ref<'_, Ledger> {
        Ref::map(self.desk.borrow(), |desk| &desk.ledger)
    }

    /// What the analysis has begun to confirm since the last time.
    pub fn take_suspicions(&mut self) -> Vec<Suspicion> {
        std::mem::take(&mut self.desk.borrow_mut().suspicions)
    }

    /// What the analysis has concluded about single tests since the last time. The answer may say
    /// otherwise: what is learnt about one test may change what is thought of another.
    pub fn take_conclusions(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.desk.borrow_mut().conclusions)
    }

    /// Takes the answer, once there is one.
    pub fn take_answer(&mut self) -> Option<T> {
        self.answer.borrow_mut().take()
    }

    /// Asks and tells until there is an answer: `answer_to` plays the world, for a batch at a time
    /// of at most `width` experiments, and may answer in any order.
    ///
    /// # Panics
    /// If the analysis waits although every experiment was answered: it would wait for ever.
    pub fn drive(
        mut self,
        width: usize,
        mut answer_to: impl FnMut(Vec<Experiment>) -> Vec<Observation>,
    ) -> (T, Spent) {
        loop {
            let experiments = self.ask(width);
            if let Some(answer) = self.take_answer() {
                return (answer, self.spent());
            }
            assert!(!experiments.is_empty(), "the analysis waits for an answer nobody owes it");
            for observation in answer_to(experiments) {
                self.tell(&observation);
            }
        }
    }
}

/// The analysis' side: ask for runs, look at what is known.
#[derive(Clone)]
pub struct Lab {
    suite: Rc<Suite>,
    desk: Rc<RefCell<Desk>>,
    account: Rc<RefCell<Spent>>,
    questions: Rc<Cell<u64>>,
    urgency: Urgency,
    /// In which runs are made where nothing else is said.
    environment: Environment,
}

impl Lab {
    /// The same lab for one part of the analysis: with its own account of what is spent, and its
    /// own urgency.
    #[must_use]
    pub fn part(&self, urgency: Urgency) -> Self {
        Self { account: Rc::default(), questions: Rc::default(), urgency, ..self.clone() }
    }

    /// The same lab, in which all runs are made in this environment.
    #[must_use]
    pub fn under(&self, environment: Environment) -> Self {
        Self { environment, ..self.clone() }
    }

    /// In which environment runs are made where nothing else is said.
    pub fn environment(&self) -> Environment {
        self.environment
    }

    /// How a watched target fared after exactly this prefix, in the environment of this lab.
    pub fn tally_after(&self, prefix: &[TestIndex], target: TestIndex) -> Tally {
        self.ledger().tally_after(self.environment, prefix, target)
    }

    /// The shortest prefix after which a watched target was seen to end like this there.
    pub fn shortest_prefix(&self, target: TestIndex, evidence: Evidence) -> Option<Vec<TestIndex>> {
        self.ledger().shortest_prefix(self.environment, target, evidence)
    }

    /// The suite under analysis.
    pub fn suite(&self) -> &Rc<Suite> {
        &self.suite
    }

    /// The budget the analysis was given.
    pub fn budget(&self) -> Budget {
        self.desk.borrow().budget
    }

    /// All runs so far. Do not hold it over an `await`.
    pub fn ledger(&self) -> Ref<'_, Ledger> {
        Ref::map(self.desk.borrow(), |desk| &desk.ledger)
    }

    /// Keeps an index of all attempts of a test from now on; see [`Ledger::watch`].
    pub fn watch(&self, test: TestIndex) {
        self.desk.borrow_mut().ledger.watch(test);
    }

    /// What this part of the analysis has spent.
    pub fn spent(&self) -> Spent {
        *self.account.borrow()
    }

    /// Says what is going to be confirmed.
    pub fn suspect(&self, suspicion: Suspicion) {
        let mut desk = self.desk.borrow_mut();
        if let Some(told) = desk.to_be_told.take() {
            // Who does not wait any more has no need of it.
            let _ = told.send(suspicion.clone());
        }
        desk.suspicions.push(suspicion);
    }

    /// The first suspicion from now on.
    pub(crate) fn first_suspicion(&self) -> oneshot::Receiver<Suspicion> {
        let (told, suspected) = oneshot::channel();
        self.desk.borrow_mut().to_be_told = Some(told);
        suspected
    }

    /// There will be no suspicion: whoever waits for one goes on.
    pub(crate) fn suspect_no_more(&self) {
        self.desk.borrow_mut().to_be_told = None;
    }

    /// Says what was concluded about one test, while the analysis goes on with others.
    pub fn conclude(&self, finding: &Finding) {
        self.desk.borrow_mut().conclusions.push(finding.clone());
    }

    /// Remembers that a target was found to depend on this test.
    pub fn add_culprit(&self, test: TestIndex) {
        *self.desk.borrow_mut().culprits.entry(test).or_default() += 1;
    }

    /// Tests that some target was found to depend on, those with most targets first.
    pub fn culprits(&self) -> Vec<TestIndex> {
        let desk = self.desk.borrow();
        let mut culprits: Vec<TestIndex> = desk.culprits.keys().copied().collect();
        culprits.sort_by_key(|test| (u64::MAX - desk.culprits[test], *test));
        culprits
    }

    /// Remembers tests that were found to clean up for some target.
    pub fn add_cleaners(&self, tests: &[TestIndex]) {
        self.desk.borrow_mut().cleaners.extend(tests);
    }

    /// Tests that were found to clean up for some target.
    pub fn cleaners(&self) -> BTreeSet<TestIndex> {
        self.desk.borrow().cleaners.clone()
    }

    /// Keeps this much of the budget, beyond its first half, for investigations.
    pub fn put_aside(&self, spent: Spent) {
        self.desk.borrow_mut().put_aside = spent;
    }

    /// Takes note that this part of the analysis put a question that runs so far do not answer.
    pub fn count_question(&self) {
        self.questions.set(self.questions.get() + 1);
    }

    /// How many questions this part of the analysis has put.
    pub fn n_questions(&self) -> u64 {
        self.questions.get()
    }

    /// How many experiments can be under way at once: how far it pays to think ahead.
    pub fn width(&self) -> usize {
        self.desk.borrow().width
    }

    /// Asks for one run of an order, each test once.
    pub async fn run(&self, order: Order) -> Result<Rc<Run>, OutOfBudget> {
        self.run_with(order, self.environment, Repetition::Once).await
    }

    /// Asks for one run of an order, tests repeated like this.
    pub async fn run_repeated(
        &self,
        order: Order,
        repetition: Repetition,
    ) -> Result<Rc<Run>, OutOfBudget> {
        self.run_with(order, self.environment, repetition).await
    }

    /// Asks for one run of an order, in any environment. Where the runner has an order of its own,
    /// that is what is asked for and recorded, so nothing is ever concluded from another.
    pub async fn run_with(
        &self,
        order: Order,
        environment: Environment,
        repetition: Repetition,
    ) -> Result<Rc<Run>, OutOfBudget> {
        let order = self.suite.as_run(order);
        let experiment = Experiment { environment, repetition, ..unnumbered(order) };
        self.run_experiment(experiment).await
    }

    /// Asks for one run of an order that is looked into. Nobody else takes it for evidence, and it
    /// is not charged to the budget.
    pub async fn look(
        &self,
        order: Order,
        environment: Environment,
        look: Look,
    ) -> Result<Rc<Run>, OutOfBudget> {
        let order = self.suite.as_run(order);
        self.run_experiment(Experiment { environment, look, ..unnumbered(order) }).await
    }

    /// Asks the project's own runner for one run. Likewise.
    pub async fn run_plain(&self, ask: PlainAsk) -> Result<Rc<Run>, OutOfBudget> {
        let PlainAsk { tests, environment, repetition, among } = ask;
        let means = Means::Plain { among };
        let order = Order::from_distinct(tests);
        let experiment = Experiment { environment, repetition, means, ..unnumbered(order) };
        self.run_experiment(experiment).await
    }

    async fn run_experiment(&self, experiment: Experiment) -> Result<Rc<Run>, OutOfBudget> {
        let (reply, answer) = oneshot::channel();
        let (is_plain, is_evidence) = (experiment.means != Means::Agent, experiment.is_evidence());
        let request = Request { experiment, reply };
        {
            let mut desk = self.desk.borrow_mut();
            let queue = if is_plain {
                &mut desk.waiting_plain
            } else {
                desk.waiting.entry(self.urgency).or_default()
            };
            queue.push_back(request);
        }
        let run = answer.await.expect("the desk answers every request")?;
        if is_evidence {
            let total = self.account.borrow().plus(run.spent);
            self.account.replace(total);
        }
        Ok(run)
    }
}

/// What the project's own runner is asked to run.
#[derive(Clone, Debug)]
pub struct PlainAsk {
    /// These tests, in this order.
    pub tests: Vec<TestIndex>,
    /// Under these circumstances.
    pub environment: Environment,
    /// So often each.
    pub repetition: Repetition,
    /// While it is told to collect the files of these, too.
    pub among: Option<Vec<TestIndex>>,
}

impl PlainAsk {
    /// These tests in this order, as a user would have them run.
    pub fn of(tests: Vec<TestIndex>) -> Self {
        let (environment, repetition) = (Environment::Plain, Repetition::Once);
        Self { tests, environment, repetition, among: None }
    }
}

/// What to run, before anybody has given it a number.
fn unnumbered(order: Order) -> Experiment {
    Experiment::new(RunId(u64::MAX), order)
}
