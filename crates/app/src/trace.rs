//! Which functions does each test call?
//!
//! The suite is run once, traced ([`unflake_campaign::trace`]). [`labelled`] adds what the history
//! says about the tests, for [`crate::learn`].

use unflake_adapter::{Calls, Part};
use unflake_calls::Set;
use unflake_campaign::engine_world::EngineWorld;
use unflake_campaign::error::CampaignError;
use unflake_campaign::history::{History, HistoryError};
use unflake_campaign::logbook::Progress;
use unflake_campaign::open::start;
use unflake_campaign::trace::{Called, Traced, trace_in};
use unflake_engine::{Interrupt, Limits};
use unflake_model::{TestId, Verdict};

use crate::learn::Line;

/// How many campaigns of the history to search for a test.
const N_CAMPAIGNS: usize = 20;

/// After this many attempts without a failure, a test counts as sound.
const N_ATTEMPTS_SOUND: u64 = 2;

/// Runs the suite once, traced, and the tests that call functions of the set once more to count
/// these calls.
pub fn trace(
    project: &dyn Part,
    set: &Set,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Traced, CampaignError> {
    progress.stage("collecting tests");
    let mut world = EngineWorld::new(start(project, limits, interrupt)?, 1);
    let mut traced = trace_in(&mut world, progress)?;
    if project.abilities().calls == Calls::Counted && !traced.is_interrupted {
        traced.count_calls(set, &mut world, progress);
    }
    Ok(traced)
}

/// The traced tests as lines to learn from, with what the history knows about each.
pub fn labelled(
    traced: &Traced,
    project: &str,
    history: Option<&History>,
) -> Result<Vec<Line>, HistoryError> {
    let ids: Vec<TestId> = traced.tests.iter().map(|it| traced.suite.id(it.test).clone()).collect();
    let known = history.map(|it| it.known(&ids, N_CAMPAIGNS, None)).transpose()?;
    let mut known = known.unwrap_or_default().into_iter();
    let lines = traced.tests.iter().zip(&ids).map(|(test, id)| {
        let known = known.next().unwrap_or_default();
        let verdict = known.verdict.map(|(verdict, _)| verdict);
        let (mut functions, mut native) = (Vec::new(), Vec::new());
        for number in &test.functions {
            let Called { function, place } = &traced.functions[*number];
            let list = if place.is_some() { &mut functions } else { &mut native };
            list.push(function.to_string());
        }
        functions.sort();
        native.sort();
        Line {
            project: project.to_owned(),
            test: id.as_str().to_owned(),
            seconds: test.duration.as_secs_f64(),
            flaky: fails_at_random(verdict, known.tally.attempts),
            cause: None,
            functions,
            native,
        }
    });
    Ok(lines.collect())
}

/// Whether a test fails at random; `None` if unknown.
fn fails_at_random(verdict: Option<Verdict>, n_attempts: u64) -> Option<bool> {
    match verdict {
        Some(Verdict::Ndod | Verdict::Ndoi | Verdict::NodUndecided | Verdict::Id) => Some(true),
        Some(Verdict::InsufficientEvidence | Verdict::Ud) => None,
        Some(
            Verdict::OdVictim
            | Verdict::OdBrittle
            | Verdict::OdUnknownRole
            | Verdict::Env
            | Verdict::Nio
            | Verdict::AlwaysFailing
            | Verdict::NotFlaky,
        ) => Some(false),
        None => (n_attempts >= N_ATTEMPTS_SOUND).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_labelled_by_its_verdict_or_by_many_attempts_without_one() {
        assert_eq!(fails_at_random(Some(Verdict::Ndoi), 9), Some(true));
        assert_eq!(fails_at_random(Some(Verdict::OdVictim), 9), Some(false));
        assert_eq!(fails_at_random(Some(Verdict::Ud), 9), None);
        assert_eq!(fails_at_random(None, 9), Some(false));
        assert_eq!(fails_at_random(None, 1), None);
    }
}
