//! Which tests leave something behind, even if no other test stumbles over it yet?
//!
//! The suite is run once, in its original order and watched ([`unflake_campaign::dirt`]).

use std::rc::Rc;
use std::time::Duration;

use unflake_adapter::{Part, collection_warnings, with_causes};
use unflake_campaign::baseline::refusals;
use unflake_campaign::dirt::allow::AllowList;
use unflake_campaign::dirt::{Inspected, Scope, inspect};
use unflake_campaign::engine_world::EngineWorld;
use unflake_campaign::error::CampaignError;
use unflake_campaign::logbook::Progress;
use unflake_campaign::open::{now, start};
use unflake_engine::{Interrupt, Limits};
use unflake_known::inspection::Inspection;
use unflake_known::{Ended, Origin, Warning};

/// What to look at.
#[derive(Clone, Debug)]
pub struct LintRequest {
    /// What the project declares as intended.
    pub allow: AllowList,
    /// Whose state is watched.
    pub scope: Scope,
    /// Whether all tests are run, so that entries of the list that match nothing are useless.
    pub is_whole_suite: bool,
    /// The command line, as it was typed.
    pub command: String,
}

/// Runs the suite once, watched, and judges what it leaves.
pub fn lint(
    request: &LintRequest,
    part: &dyn Part,
    limits: &Limits,
    interrupt: &Interrupt,
    progress: &mut dyn Progress,
) -> Result<Inspection, CampaignError> {
    progress.stage("collecting tests");
    let begun = now();
    let engine = start(part, limits, interrupt)?;
    let mut warnings = collection_warnings(&engine);
    let runner = engine.collected().runner.clone();
    let suite = Rc::new(engine.suite(|_| Duration::ZERO));
    let mut world = EngineWorld::new(engine, 1);
    let mut allow = request.allow.clone();
    let inspected = inspect(&suite, &mut world, request.scope, &mut allow, progress);
    let Inspected { leavers, unseen, n_seen, n_failed, is_in_part, .. } = inspected;
    if n_seen == 0 {
        return Err(inspected.error.map_or(CampaignError::Interrupted, CampaignError::World));
    }
    let error = inspected.error.as_ref();
    warnings.extend(error.map(|it| Warning::BrokenOff { reason: with_causes(it) }));
    warnings.extend(refusals(&inspected.isolation));
    warnings.extend(is_in_part.then_some(Warning::WatchedInPart));
    let is_whole = n_seen == suite.n_tests();
    Ok(Inspection {
        n_tests: suite.n_tests(),
        tests: leavers,
        unseen,
        n_failed,
        n_not_run: suite.n_tests() - n_seen,
        unused: if is_whole && request.is_whole_suite { allow.unused() } else { Vec::new() },
        warnings,
        wall_time: begun.elapsed(),
        ended: if inspected.is_interrupted { Ended::Interrupted } else { Ended::Confident },
        origin: Origin::new(&runner, 0, &request.command, None),
    })
}
