//! Runs all tests once with a look, and gathers every answer.

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

/// Progress is reported each time this many tests have ended.
const TOLD_EVERY: usize = 20;

/// What to run and look at.
pub(crate) struct Asked<'a> {
    /// What to look at in each run.
    pub(crate) look: Look,
    /// The tests to run, in order.
    pub(crate) order: Order,
    /// The name of the stage, for progress.
    pub(crate) stage: &'a str,
}

/// All answers of the runs.
#[derive(Debug)]
pub struct Gathered {
    /// One answer per process. The last run may have been cut off.
    pub answers: Vec<Answer>,
    /// How the work ended.
    pub finish: Finish,
    /// Why it could not go on, if it could not.
    pub error: Option<WorldError>,
}

impl Gathered {
    /// Whether the run ran every test and tore down every fixture.
    pub(crate) fn is_complete(answer: &Answer) -> bool {
        answer.manner.as_ref().is_some_and(|manner| manner.ending == Ending::Complete)
    }
}

/// Runs all tests; those left over when a test ends its process run in another one.
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
    // If an error ended the work, the user did not stop it.
    let finish = if error.is_some() { Finish::Complete } else { finish };
    Gathered { answers, finish, error }
}

/// The error that stopped the last run, if one did.
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
