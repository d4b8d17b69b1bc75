//! One run under way: when has it taken too long, when is it over, and which test is to blame?
//!
//! A pure state machine in the engine's time. It is given what arrived and when; it answers when it
//! must be looked at again ([`Running::deadline`]) and what is to be done then
//! ([`Running::expire`]).
//!
//! A run is over when its process is gone *and* everything it said was read: the two arrive by
//! different ways, in any order. If the process died half-way, the end of its connections shows
//! that everything was read. A stray process may hold a connection open forever, and the latest
//! connection may not have been accepted yet; there are short time limits for both.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Pid;
use unflake_model::{Experiment, Observation, Outcome, RunId, TestIndex};

use crate::event::{Ending, Event, Failure, Isolation};
use crate::inbox::{AgentId, ConnectionId};
use crate::launch::GRACE;
use crate::looking::Looked;
use crate::process::Exit;
use crate::progress::{Place, Progress};

/// How long a run may be silent while no test is running: forking, isolating, tearing down.
const SILENCE_MIN: Duration = Duration::from_secs(30);
/// How long after the last connection has closed another one may appear.
const SETTLE: Duration = Duration::from_millis(500);
/// How long to read a connection of a process that is gone.
const LINGER: Duration = Duration::from_secs(1);
/// After this long it is not read any further, even if someone keeps talking.
const LINGER_MAX: Duration = Duration::from_secs(5);
/// How long to wait for the end of a killed process.
const FORGET: Duration = Duration::from_secs(5);

/// The time limits of a run.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) test: Duration,
    pub(crate) run: Option<Duration>,
    /// Lower limits of tests that have been seen to need less.
    pub(crate) learnt: BTreeMap<TestIndex, Duration>,
}

impl Limits {
    fn of(&self, place: Place) -> Duration {
        self.learnt.get(&place.test).copied().unwrap_or(self.test)
    }
}

/// What to do about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Ask its processes to leave.
    Terminate,
    /// Kill its processes.
    Kill,
    /// Stop waiting: nothing more will come from it.
    Finish,
}

#[derive(Clone, Copy, Debug)]
enum Stop {
    No,
    Asked { kill_at: Duration },
    Killed { forget_at: Duration },
}

/// An attempt that was ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blame {
    pub(crate) place: Place,
    pub(crate) outcome: Outcome,
    pub(crate) duration: Duration,
}

impl Blame {
    /// The event that reports it.
    pub(crate) fn event(self, run: RunId, message: String, text: String) -> Event {
        Event::TestEnded {
            run,
            test: self.place.test,
            attempt: self.place.attempt,
            outcome: self.outcome,
            duration: self.duration,
            failure: Some(Failure { message, text, ..Failure::default() }),
        }
    }
}

/// One run under way.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) experiment: Experiment,
    pub(crate) agent: AgentId,
    /// Whether an agent died under it before, so that it now runs alone.
    pub(crate) is_suspect: bool,
    /// The leader of its process group.
    pub(crate) pid: Option<Pid>,
    pub(crate) isolation: Isolation,
    /// Its folder for temporary files, until it is taken back.
    pub(crate) scratch: Option<PathBuf>,
    /// How much its agent had written to its standard error when the run began.
    pub(crate) stderr_mark: u64,
    pub(crate) looked: Looked,
    /// The last words of its own process.
    pub(crate) stderr: Option<String>,
    pub(crate) progress: Progress,
    limits: Limits,
    /// When it began; `None` while it waits at its agent for another run to end.
    began_at: Option<Duration>,
    heard_at: Duration,
    connections: BTreeSet<ConnectionId>,
    was_connected: bool,
    exit: Option<(Duration, Exit)>,
    is_orphan: bool,
    stop: Stop,
    ending: Option<Ending>,
}

impl Running {
    pub(crate) fn new(
        experiment: Experiment,
        agent: AgentId,
        limits: Limits,
        began_at: Option<Duration>,
        now: Duration,
    ) -> Self {
        Self {
            progress: Progress::new(&experiment.order, experiment.repetition),
            experiment,
            agent,
            is_suspect: false,
            pid: None,
            isolation: Isolation::default(),
            scratch: None,
            stderr_mark: 0,
            looked: Looked::default(),
            stderr: None,
            limits,
            began_at,
            heard_at: now,
            connections: BTreeSet::new(),
            was_connected: false,
            exit: None,
            is_orphan: false,
            stop: Stop::No,
            ending: None,
        }
    }

    /// Whether it waits at its agent for another run to end.
    pub(crate) fn is_ahead(&self) -> bool {
        self.began_at.is_none()
    }

    /// A message of the run arrived.
    pub(crate) fn heard(&mut self, at: Duration) {
        self.began_at.get_or_insert(at);
        self.heard_at = self.heard_at.max(at);
    }

    /// It has connected. The first time this is the process that leads the group; later it may be
    /// another one, in a namespace where process ids mean something else.
    pub(crate) fn connected(&mut self, connection: ConnectionId, pid: Option<Pid>, at: Duration) {
        if !self.is_ahead() {
            self.heard(at);
        }
        if !self.was_connected {
            self.pid = self.pid.or(pid);
        }
        self.was_connected = true;
        self.connections.insert(connection);
    }

    pub(crate) fn disconnected(&mut self, connection: ConnectionId, at: Duration) {
        self.heard(at);
        self.connections.remove(&connection);
    }

    /// Its open connections.
    pub(crate) fn connections(&self) -> impl Iterator<Item = &ConnectionId> {
        self.connections.iter()
    }

    /// Its process is gone.
    pub(crate) fn exited(&mut self, exit: Exit, at: Duration) {
        self.exit.get_or_insert((at, exit));
    }

    /// Its process is gone, says an agent that saw how it ended. That agent may have left itself
    /// before this is read; how *it* ended says less.
    pub(crate) fn told_exit(&mut self, exit: Exit, at: Duration) {
        let first_at = self.exit.map_or(at, |(first_at, _)| first_at);
        self.exit = Some((first_at, exit));
    }

    /// The agent it was forked from is gone, and with it whoever could tell how its process ended.
    pub(crate) fn orphaned(&mut self, at: Duration) {
        if self.exit.is_none() {
            self.exited(Exit { code: None, signal: None }, at);
            self.is_orphan = true;
        }
    }

    /// The run says that what happened says nothing about its tests.
    pub(crate) fn failed(&mut self, why: String, stderr: String) {
        self.ending.get_or_insert(Ending::NotStarted { why, stderr });
    }

    /// Whether its agent died before it was over.
    pub(crate) fn is_orphan(&self) -> bool {
        self.is_orphan && !self.progress.is_complete()
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.exit.is_some()
    }

    /// When to look at it again if nothing arrives before.
    pub(crate) fn deadline(&self) -> Duration {
        if let Some((exit_at, _)) = self.exit {
            return self.end_of_words(exit_at);
        }
        if self.is_ahead() {
            return Duration::MAX;
        }
        match self.stop {
            Stop::No => self.patience().0,
            Stop::Asked { kill_at } => kill_at,
            Stop::Killed { forget_at } => forget_at,
        }
    }

    /// When everything that a process said before it ended must have been read.
    fn end_of_words(&self, exit_at: Duration) -> Duration {
        let last = exit_at.max(self.heard_at);
        if self.progress.is_complete() {
            exit_at
        } else if self.was_connected && self.connections.is_empty() {
            last + SETTLE
        } else {
            (last + LINGER).min(exit_at + LINGER_MAX)
        }
    }

    /// How long it may go on, and how it ends if it exceeds that.
    fn patience(&self) -> (Duration, Ending) {
        let (by, ending) = match self.progress.open() {
            Some((place, since)) => (since + self.limits.of(place), Ending::TestTimedOut),
            None if self.progress.is_done() => (self.heard_at + GRACE, Ending::CutShort),
            None => (self.heard_at + self.limits.test.max(SILENCE_MIN), Ending::Hung),
        };
        match self.limits.run.zip(self.began_at) {
            Some((run, began_at)) if began_at + run < by => (began_at + run, Ending::RunTimedOut),
            _ => (by, ending),
        }
    }

    /// What to do now that the deadline has passed, and the attempt that this ends.
    pub(crate) fn expire(&mut self, now: Duration) -> (Action, Option<Blame>) {
        if self.exit.is_some() {
            return (Action::Finish, None);
        }
        match self.stop {
            Stop::No => {
                let (_, ending) = self.patience();
                let open = self.progress.open().filter(|_| ending == Ending::TestTimedOut);
                let blame = open.and_then(|(place, _)| {
                    let after = self.limits.of(place);
                    self.blame(Outcome::TimedOut { after }, now)
                });
                self.ending = Some(ending);
                self.stop = Stop::Asked { kill_at: now + GRACE };
                (Action::Terminate, blame)
            }
            Stop::Asked { .. } => {
                self.stop = Stop::Killed { forget_at: now + FORGET };
                (Action::Kill, None)
            }
            Stop::Killed { .. } => (Action::Finish, None),
        }
    }

    /// Ends the running attempt, if there is one, with this outcome.
    fn blame(&mut self, outcome: Outcome, now: Duration) -> Option<Blame> {
        let (place, since) = self.progress.open()?;
        let duration = now.saturating_sub(since);
        self.progress.settle(place, outcome, duration);
        Some(Blame { place, outcome, duration })
    }

    /// How it ended; if a process died, the attempt that was running in it is to blame.
    pub(crate) fn finish(&mut self, now: Duration) -> (Ending, Option<Blame>) {
        if self.progress.is_complete() {
            return (Ending::Complete, None);
        }
        if let Some(ending) = self.ending.take() {
            return (ending, None);
        }
        if self.progress.is_done() {
            return (Ending::CutShort, None);
        }
        let exit = self.exit.map_or(Exit { code: None, signal: None }, |(_, exit)| exit);
        let blame = self.blame(Outcome::Crashed { signal: exit.signal }, now);
        (Ending::Died(exit), blame)
    }

    /// What was observed so far.
    pub(crate) fn observation(&self, now: Duration) -> Observation {
        let took = self.began_at.map_or(Duration::ZERO, |at| now.saturating_sub(at));
        let seen = self.looked.seen.clone();
        let attempts = self.progress.attempts();
        Observation { seen, ..Observation::of(self.experiment.run, attempts, took) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::Order;
    use unflake_wire::{End, Ended, Phase};

    const TEST: Duration = Duration::from_secs(10);
    const SEGV: Exit = Exit { code: None, signal: Some(11) };

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn running(run: Option<Duration>) -> Running {
        let experiment = Experiment::new(
            RunId(1),
            Order::from_distinct(vec![TestIndex::new(0), TestIndex::new(1)]),
        );
        let mut running = Running::new(
            experiment,
            0,
            Limits { test: TEST, run, learnt: BTreeMap::new() },
            Some(at(0)),
            at(0),
        );
        running.connected(1, None, at(1));
        running
    }

    fn end(position: usize) -> End {
        End {
            position,
            attempt: 0,
            outcome: Ended::Passed,
            phase: Phase::Call,
            seconds: 0.25,
            message: None,
            text: None,
            stdout: None,
            stderr: None,
            changes: Vec::new(),
            more: 0,
        }
    }

    fn outcomes(running: &Running) -> Vec<Outcome> {
        running.observation(at(99)).attempts.iter().map(|attempt| attempt.outcome).collect()
    }

    #[test]
    fn how_a_process_ended_is_what_the_agent_says_who_saw_it_whoever_is_heard_first() {
        let own = Exit { code: Some(0), signal: None };
        let told = Exit { code: None, signal: Some(11) };
        let (early, late) = (Duration::from_secs(1), Duration::from_secs(2));
        let mut running = running(None);
        running.exited(own, early);
        running.told_exit(told, late);
        assert_eq!(running.exit, Some((early, told)));
        running.exited(own, late);
        assert_eq!(running.exit, Some((early, told)));
    }

    #[test]
    fn who_is_known_to_be_quick_is_given_less_time_than_others() {
        let mut running = running(None);
        let quick = TestIndex::new(0);
        running.limits.learnt.insert(quick, at(3));
        running.progress.started(0, 0, at(2)).unwrap();
        assert_eq!(running.deadline(), at(5));
        let (_, blame) = running.expire(at(5));
        assert_eq!(blame.unwrap().outcome, Outcome::TimedOut { after: at(3) });
    }

    #[test]
    fn a_test_that_takes_too_long_is_asked_to_leave_then_made_to_then_forgotten() {
        let mut running = running(None);
        running.progress.started(0, 0, at(2)).unwrap();
        assert_eq!(running.deadline(), at(2) + TEST);
        let (action, blame) = running.expire(at(12));
        assert_eq!(action, Action::Terminate);
        let blame = blame.unwrap();
        assert_eq!(blame.outcome, Outcome::TimedOut { after: TEST });
        assert_eq!(blame.duration, TEST);
        assert_eq!(running.deadline(), at(12) + GRACE);
        assert_eq!(running.expire(running.deadline()), (Action::Kill, None));
        assert_eq!(running.deadline(), at(12) + GRACE + FORGET);
        assert_eq!(running.expire(running.deadline()), (Action::Finish, None));
        assert_eq!(running.finish(at(20)), (Ending::TestTimedOut, None));
        assert_eq!(outcomes(&running), [blame.outcome, Outcome::NotRun]);
    }

    #[test]
    fn an_end_that_comes_after_the_time_was_up_changes_nothing() {
        let mut running = running(None);
        running.progress.started(0, 0, at(2)).unwrap();
        running.expire(at(12));
        assert_eq!(running.progress.ended(&end(0)), None);
        running.exited(Exit { code: None, signal: Some(15) }, at(12));
        running.disconnected(1, at(12));
        assert_eq!(running.deadline(), at(12) + SETTLE);
        assert_eq!(running.finish(at(13)), (Ending::TestTimedOut, None));
    }

    #[test]
    fn a_run_that_takes_too_long_blames_nobody() {
        let mut running = running(Some(at(5)));
        running.progress.started(0, 0, at(2)).unwrap();
        assert_eq!(running.deadline(), at(5));
        assert_eq!(running.expire(at(5)), (Action::Terminate, None));
        assert_eq!(running.finish(at(6)), (Ending::RunTimedOut, None));
        assert_eq!(outcomes(&running), [Outcome::NotRun, Outcome::NotRun]);
    }

    #[test]
    fn who_leads_the_group_is_known_from_the_first_connection_or_from_the_agent() {
        let pid = |raw| Pid::from_raw(raw);
        let mut heard_first = running(None);
        heard_first.connected(2, pid(2), at(2));
        assert_eq!(heard_first.pid, None, "a later connection may come from a namespace");
        let experiment = heard_first.experiment.clone();
        let limits = heard_first.limits.clone();
        let mut running = Running::new(experiment, 0, limits, Some(at(0)), at(0));
        running.connected(1, pid(77), at(1));
        running.connected(2, pid(2), at(2));
        assert_eq!(running.pid, pid(77));
    }

    #[test]
    fn silence_between_tests_is_borne_longer_and_blames_nobody() {
        let mut running = running(None);
        assert_eq!(running.deadline(), at(1) + SILENCE_MIN);
        assert_eq!(running.expire(at(31)), (Action::Terminate, None));
        assert_eq!(running.finish(at(32)), (Ending::Hung, None));
    }

    #[test]
    fn a_run_that_waits_at_its_agent_has_all_the_time_until_it_begins() {
        let mut running = running(Some(at(50)));
        running.began_at = None;
        running.connected(2, None, at(10));
        assert_eq!(running.deadline(), Duration::MAX);
        running.heard(at(100));
        assert_eq!(running.deadline(), at(100) + SILENCE_MIN);
        running.progress.started(0, 0, at(101)).unwrap();
        assert_eq!(running.observation(at(103)).duration, at(3));
        assert_eq!(running.deadline(), at(101) + TEST);
    }

    #[test]
    fn a_run_that_had_not_begun_when_its_agent_died_is_not_said_to_have() {
        let mut running = running(None);
        running.began_at = None;
        running.orphaned(at(10));
        assert!(running.is_orphan() && running.is_ahead());
    }

    #[test]
    fn a_crash_is_read_to_the_end_before_it_is_blamed() {
        let mut running = running(None);
        running.exited(SEGV, at(3));
        // Its connection is still open, so messages may still come.
        assert_eq!(running.deadline(), at(3) + LINGER);
        running.progress.started(0, 0, at(2)).unwrap();
        running.progress.ended(&end(0)).unwrap();
        running.progress.started(1, 0, at(2)).unwrap();
        running.disconnected(1, at(3));
        assert_eq!(running.deadline(), at(3) + SETTLE);
        assert_eq!(running.expire(at(4)).0, Action::Finish);
        let (ending, blame) = running.finish(at(4));
        assert_eq!(ending, Ending::Died(SEGV));
        assert_eq!(blame.unwrap().place.test, TestIndex::new(1));
        assert_eq!(outcomes(&running), [Outcome::Passed, Outcome::Crashed { signal: Some(11) }]);
    }

    #[test]
    fn a_crash_between_tests_blames_nobody() {
        let mut running = running(None);
        running.progress.started(0, 0, at(2)).unwrap();
        running.progress.ended(&end(0)).unwrap();
        running.exited(SEGV, at(3));
        assert_eq!(running.finish(at(4)), (Ending::Died(SEGV), None));
    }

    #[test]
    fn a_run_that_cannot_tell_blames_nobody_and_says_why() {
        let mut running = running(None);
        running.failed("no report".to_owned(), "hint".to_owned());
        running.exited(Exit { code: Some(1), signal: None }, at(3));
        running.disconnected(1, at(3));
        let ending = Ending::NotStarted { why: "no report".to_owned(), stderr: "hint".to_owned() };
        assert_eq!(running.finish(at(4)), (ending, None));
        assert_eq!(outcomes(&running), [Outcome::NotRun, Outcome::NotRun]);
    }

    #[test]
    fn a_stray_that_keeps_talking_does_not_keep_the_run_alive() {
        let mut running = running(None);
        running.exited(SEGV, at(3));
        for second in 3..20 {
            running.heard(at(second));
        }
        assert_eq!(running.deadline(), at(3) + LINGER_MAX);
    }

    #[test]
    fn a_session_that_a_test_ended_blames_nobody() {
        let mut running = running(None);
        running.progress.started(0, 0, at(2)).unwrap();
        running.progress.ended(&end(0)).unwrap();
        running.progress.done();
        running.exited(Exit { code: Some(0), signal: None }, at(3));
        running.disconnected(1, at(3));
        assert_eq!(running.finish(at(4)), (Ending::CutShort, None));
        assert_eq!(outcomes(&running), [Outcome::Passed, Outcome::NotRun]);
    }

    #[test]
    fn a_complete_run_ends_with_its_process_and_is_not_hurt_by_a_slow_goodbye() {
        let mut running = running(None);
        for position in 0..2 {
            running.progress.started(position, 0, at(2)).unwrap();
            running.progress.ended(&end(position)).unwrap();
        }
        running.progress.done();
        running.heard(at(3));
        assert_eq!(running.deadline(), at(3) + GRACE);
        assert_eq!(running.expire(at(4)), (Action::Terminate, None));
        running.exited(Exit { code: None, signal: Some(15) }, at(5));
        assert_eq!(running.deadline(), at(5));
        assert_eq!(running.finish(at(5)), (Ending::Complete, None));
        assert_eq!(running.observation(at(5)).duration, at(5));
    }
}
