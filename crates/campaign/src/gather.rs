//! All tests once, with a look, and everything that was answered.

use std::rc::Rc;

use unflake_detect::Analysis;
use unflake_detect::whole_order::run_whole;
use unflake_engine::Ending;
use unflake_model::{Budget, Confidence, Experiment, Look, NotStarted, Order, OutcomeKind, Suite};

use crate::drive::drive;
use crate::engine_world::{EngineWorld, WorldError};
use crate::logbook::Progress;
use crate::recall::Recall;
use crate::world::{Answer, Finish, Source, Watcher};

/// So many tests go by until whoever waits is told how far it is.
const TOLD_EVERY: usize = 20;

/// What is asked.
pub(crate) struct Asked<'a> {
    /// What to look at.
    pub(crate) look: Look,
    /// The tests.
    pub(crate) order: Order,
    /// What to call it while it lasts.
    pub(crate) stage: &'a str,
}

/// Everything that was answered.
#[derive(Debug)]
pub struct Gathered {
    /// One answer a process. The last one may have been cut off.
    pub answers: Vec<Answer>,
    /// How it came to its end.
    pub finish: Finish,
    /// Why there was no going on, if so.
    pub error: Option<WorldError>,
}

impl Gathered {
    /// Whether in this run every test was run, and every fixture torn down.
    pub(crate) fn is_complete(answer: &Answer) -> bool {
        answer.manner.as_ref().is_some_and(|manner| manner.ending == Ending::Complete)
    }
}

/// Runs all tests, those that a test takes the process from in another one.
pub(crate) fn gather(
    Asked { look, order, stage }: Asked<'_>,
    suite: &Rc<Suite>,
    world: &mut EngineWorld,
    progress: &mut dyn Progress,
) -> Gathered {
    let mut gathering =
        Gathering { answers: Vec::new(), n_ended: 0, n_tests: order.len(), stage, progress };
    gathering.tell();
    let budget = Budget::unlimited(Confidence::USUAL);
    let analysis = Analysis::new(Rc::clone(suite), budget, |lab| run_whole(lab, order, look));
    let (_, finish) = drive(analysis, world, &mut Recall::default(), &mut gathering);
    let answers = gathering.answers;
    let error = world.take_error().or_else(|| not_started(answers.last()?));
    // Where there is no going on, it was not the user who stopped it.
    let finish = if error.is_some() { Finish::Complete } else { finish };
    Gathered { answers, finish, error }
}

/// Why the last run came no further, if it did not.
fn not_started(last: &Answer) -> Option<WorldError> {
    let attempts = &last.observation.attempts;
    if attempts.iter().any(|attempt| attempt.outcome.kind() != OutcomeKind::NotRun) {
        return None;
    }
    Some(match &last.observation.not_started {
        Some(NotStarted::Failed(why)) => WorldError::not_started(why, ""),
        Some(NotStarted::Unable) | None => WorldError::not_started("no test began", ""),
    })
}

struct Gathering<'p> {
    answers: Vec<Answer>,
    n_ended: usize,
    n_tests: usize,
    stage: &'p str,
    progress: &'p mut dyn Progress,
}

impl Gathering<'_> {
    fn tell(&mut self) {
        self.progress.stage(&format!("{}: {} of {}", self.stage, self.n_ended, self.n_tests));
    }
}

impl Watcher for Gathering<'_> {
    fn ran(&mut self, _: &Experiment, answer: &Answer, _: Source) {
        self.answers.push(answer.clone());
    }

    fn cut_off(&mut self, _: &Experiment, answer: &Answer) {
        self.answers.push(answer.clone());
    }

    fn test_ended(&mut self) {
        self.n_ended += 1;
        if self.n_ended.is_multiple_of(TOLD_EVERY) {
            self.tell();
        }
    }
}
