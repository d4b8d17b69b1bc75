//! Where analyses and the world meet: ask for experiments, tell observations.
//!
//! From outside, an [`Analysis`] is a plain state machine: [`Analysis::ask`] hands out experiments,
//! [`Analysis::tell`] takes observations in any order, and at some point there is an answer. Who
//! answers (engine or simulator), and how many at once, is not its concern.
//!
//! From inside, an analysis is straight code that awaits its answers: `lab.run(order).await?`. The
//! compiler turns that code into the state machine. We considered writing the states by hand; a
//! search that nests in a search that nests in a campaign then loses its shape, while here it
//! reads like the algorithm in the book. No runtime is involved: a single-threaded executor is
//! pumped by `ask` until every part of the analysis waits for an observation.
//!
//! Running out of budget is an answer ([`OutOfBudget`]), so that an analysis can always report what
//! it knows. An experiment that nobody waits for any more is dropped before it is handed out.

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

/// The budget does not cover the requested experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget does not cover another run")]
pub struct OutOfBudget;

/// What an analysis is about to confirm, so that others can try it by their own means meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    /// The test under suspicion.
    pub test: TestIndex,
    /// The tests it seems to depend on.
    pub group: Group,
    /// How it ends behind the group; alone it ends the other way.
    pub behind: Evidence,
}

/// How an experiment competes with others that are waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Investigates a suspect. Goes first: following up a suspicion is worth more than another
    /// suspicion.
    Investigate,
    /// Looks for new suspicions.
    Explore,
}

type Reply = oneshot::Sender<Result<Rc<Run>, OutOfBudget>>;

/// An experiment without a number yet, and the reply to the part that waits for it.
struct Request {
    experiment: Experiment,
    reply: Reply,
}

/// How many more experiments can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// More runs by the agent.
    pub agent: usize,
    /// How many of those are worked on at once; the others wait. Nothing is asked just to fill the
    /// places of those that wait.
    pub width: usize,
    /// More runs by the plain runner, which has its own processes.
    pub plain: usize,
}

/// An experiment that was handed out and not answered yet.
struct Running {
    experiment: Experiment,
    cost: Spent,
    reply: Reply,
}

/// The state shared by all parts of one analysis.
struct Desk {
    suite: Rc<Suite>,
    budget: Budget,
    ledger: Ledger,
    waiting: BTreeMap<Urgency, VecDeque<Request>>,
    /// Experiments for the plain runner. They never wait for the agent.
    waiting_plain: VecDeque<Request>,
    running: BTreeMap<RunId, Running>,
    spent: Spent,
    reserved: Spent,
    put_aside: Spent,
    /// By how much runs took longer than their tests were expected to, in total.
    overhead: Duration,
    runs_issued: u64,
    width: usize,
    stopped: bool,
    culprits: BTreeMap<TestIndex, u64>,
    cleaners: BTreeSet<TestIndex>,
    suspicions: Vec<Suspicion>,
    /// Receives the first suspicion.
    to_be_told: Option<oneshot::Sender<Suspicion>>,
    conclusions: Vec<Finding>,
}

impl Desk {
    /// Takes waiting experiments, most urgent first. Also returns whether a request was refused,
    /// because its analysis may then change its plans.
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
                // If the receiver is gone, nobody needs the reply.
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

    /// The expected cost of a run. The budget is for finding out; confirming and explaining what
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

    /// Whether the budget covers this much. New suspicions are useless if nothing is left to
    /// investigate the existing ones: beyond half of the budget, exploration leaves alone what was
    /// put aside.
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

    fn settle(&mut self, observation: &Observation) {
        let Running { experiment, cost, reply } = self
            .running
            .remove(&observation.run)
            .expect("an observation answers an experiment that was asked for and not yet told");
        if !experiment.is_evidence() {
            let _ = reply.send(Ok(Rc::new(Run::of(experiment, observation))));
            return;
        }
        let run = self.ledger.record(experiment, observation);
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
    /// the plain runner. Empty if nothing can run before another observation is told, or if the
    /// analysis is finished.
    pub fn ask(&mut self, room: usize) -> Vec<Experiment> {
        let n_running = self.desk.borrow().running.len();
        self.ask_for(Room { agent: room, width: n_running + room, plain: room })
    }

    /// As [`Analysis::ask`], where only some experiments are worked on at once.
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

    /// Takes the observation of an experiment. Observations may come in any order.
    ///
    /// # Panics
    /// If no such experiment is under way, or the observation is about other tests.
    pub fn tell(&mut self, observation: &Observation) {
        self.desk.borrow_mut().settle(observation);
    }

    /// Grants no further experiments. The analysis then concludes from what it knows.
    pub fn stop(&mut self) {
        self.desk.borrow_mut().stopped = true;
    }

    /// Also gives up the experiments under way: nobody will tell their observations.
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

    /// The suspicions that arose since the last call.
    pub fn take_suspicions(&mut self) -> Vec<Suspicion> {
        std::mem::take(&mut self.desk.borrow_mut().suspicions)
    }

    /// The findings about single tests since the last call. The answer may differ: what is learnt
    /// about one test may change the finding about another.
    pub fn take_conclusions(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.desk.borrow_mut().conclusions)
    }

    /// Takes the answer, once it is there.
    pub fn take_answer(&mut self) -> Option<T> {
        self.answer.borrow_mut().take()
    }

    /// Asks and tells until there is an answer: `answer_to` plays the world, is given batches of at
    /// most `width` experiments, and may answer in any order.
    ///
    /// # Panics
    /// If the analysis waits although every experiment was answered: it would wait forever.
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

/// An analysis' view from inside: ask for runs, and look at what is known.
#[derive(Clone)]
pub struct Lab {
    suite: Rc<Suite>,
    desk: Rc<RefCell<Desk>>,
    account: Rc<RefCell<Spent>>,
    questions: Rc<Cell<u64>>,
    urgency: Urgency,
    /// Where runs are made unless another environment is given.
    environment: Environment,
}

impl Lab {
    /// The same lab for one part of the analysis, with its own account of what is spent, and its
    /// own urgency.
    #[must_use]
    pub fn part(&self, urgency: Urgency) -> Self {
        Self { account: Rc::default(), questions: Rc::default(), urgency, ..self.clone() }
    }

    /// The same lab, making all runs in this environment.
    #[must_use]
    pub fn under(&self, environment: Environment) -> Self {
        Self { environment, ..self.clone() }
    }

    /// The environment in which runs are made unless another is given.
    pub fn environment(&self) -> Environment {
        self.environment
    }

    /// How a watched target fared after exactly this prefix, in this lab's environment.
    pub fn tally_after(&self, prefix: &[TestIndex], target: TestIndex) -> Tally {
        self.ledger().tally_after(self.environment, prefix, target)
    }

    /// The shortest prefix after which a watched target ended like this, in this lab's environment.
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

    /// All runs so far. Do not hold the reference over an `await`.
    pub fn ledger(&self) -> Ref<'_, Ledger> {
        Ref::map(self.desk.borrow(), |desk| &desk.ledger)
    }

    /// Indexes all attempts of a test from now on; see [`Ledger::watch`].
    pub fn watch(&self, test: TestIndex) {
        self.desk.borrow_mut().ledger.watch(test);
    }

    /// What this part of the analysis has spent.
    pub fn spent(&self) -> Spent {
        *self.account.borrow()
    }

    /// Announces what is about to be confirmed.
    pub fn suspect(&self, suspicion: Suspicion) {
        let mut desk = self.desk.borrow_mut();
        if let Some(told) = desk.to_be_told.take() {
            // A receiver that has stopped waiting does not need it.
            let _ = told.send(suspicion.clone());
        }
        desk.suspicions.push(suspicion);
    }

    /// The first suspicion announced from now on.
    pub(crate) fn first_suspicion(&self) -> oneshot::Receiver<Suspicion> {
        let (told, suspected) = oneshot::channel();
        self.desk.borrow_mut().to_be_told = Some(told);
        suspected
    }

    /// Announces that there will be no suspicion, so that nobody waits for one.
    pub(crate) fn suspect_no_more(&self) {
        self.desk.borrow_mut().to_be_told = None;
    }

    /// Announces a finding about one test, while the analysis goes on with others.
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

    /// Remembers tests that clean up for some target.
    pub fn add_cleaners(&self, tests: &[TestIndex]) {
        self.desk.borrow_mut().cleaners.extend(tests);
    }

    /// Tests that clean up for some target.
    pub fn cleaners(&self) -> BTreeSet<TestIndex> {
        self.desk.borrow().cleaners.clone()
    }

    /// Reserves this much of the budget, beyond its first half, for investigations.
    pub fn put_aside(&self, spent: Spent) {
        self.desk.borrow_mut().put_aside = spent;
    }

    /// Counts a question by this part of the analysis that runs so far do not answer.
    pub fn count_question(&self) {
        self.questions.set(self.questions.get() + 1);
    }

    /// How many questions this part of the analysis has asked.
    pub fn n_questions(&self) -> u64 {
        self.questions.get()
    }

    /// How many experiments can be under way at once: how far thinking ahead pays.
    pub fn width(&self) -> usize {
        self.desk.borrow().width
    }

    /// Asks for one run of an order, each test once.
    pub async fn run(&self, order: Order) -> Result<Rc<Run>, OutOfBudget> {
        self.run_with(order, self.environment, Repetition::Once).await
    }

    /// Asks for one run of an order, with tests repeated like this.
    pub async fn run_repeated(
        &self,
        order: Order,
        repetition: Repetition,
    ) -> Result<Rc<Run>, OutOfBudget> {
        self.run_with(order, self.environment, repetition).await
    }

    /// Asks for one run of an order, in any environment. If the runner imposes its own order, that
    /// order is asked for and recorded, so conclusions are never drawn from another.
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

    /// Asks for one run of an order with a look. It is evidence for this analysis only, and is not
    /// charged to the budget.
    pub async fn look(
        &self,
        order: Order,
        environment: Environment,
        look: Look,
    ) -> Result<Rc<Run>, OutOfBudget> {
        let order = self.suite.as_run(order);
        self.run_experiment(Experiment { environment, look, ..unnumbered(order) }).await
    }

    /// Asks the project's own runner for one run, which is treated the same way.
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

/// A request to the project's own runner.
#[derive(Clone, Debug)]
pub struct PlainAsk {
    /// The tests to run, in this order.
    pub tests: Vec<TestIndex>,
    /// The circumstances to run them in.
    pub environment: Environment,
    /// How often to run each of them.
    pub repetition: Repetition,
    /// Tests whose files are to be collected as well; see [`Means::Plain`].
    pub among: Option<Vec<TestIndex>>,
}

impl PlainAsk {
    /// These tests in this order, as a user would run them.
    pub fn of(tests: Vec<TestIndex>) -> Self {
        let (environment, repetition) = (Environment::Plain, Repetition::Once);
        Self { tests, environment, repetition, among: None }
    }
}

/// The experiment, before it is given a number.
fn unnumbered(order: Order) -> Experiment {
    Experiment::new(RunId(u64::MAX), order)
}
