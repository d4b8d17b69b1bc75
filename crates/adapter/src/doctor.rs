//! What is available to run the tests of a project with, and what is missing.
//!
//! Everything that a campaign needs is brought up once: runner, collection, a fork, isolation. No
//! test is run; the run that tries isolation has an empty order.

use std::collections::BTreeMap;
use std::error::Error;

use unflake_engine::{Engine, Event, Interrupt, Isolation, Launch, StartError};
use unflake_known::{Check, NotCollected, Warning, plural};
use unflake_model::{Experiment, Order, RunId, TestIndex};

use crate::{Abilities, OpenError};

/// What was checked, and whether tests can be run.
#[derive(Clone, Debug, Default)]
pub struct Examination {
    /// The results of the checks, in order.
    pub checks: Vec<Check>,
    /// What would be run; `None` if nothing can be.
    pub suite: Option<Found>,
    /// The values that the adapter's own options have here.
    pub presets: Vec<Preset>,
}

impl Examination {
    /// The examination of a project that could not be opened because of this error.
    pub fn not_opened(what: &'static str, error: &OpenError) -> Self {
        let hint = match error {
            OpenError::Refused { hint, .. } | OpenError::Broken { hint: Some(hint), .. } => hint,
            OpenError::Broken { hint: None, .. } | OpenError::Stopped => "",
        };
        let checks = vec![Check::missing(what, error.to_string(), hint)];
        Self { checks, ..Self::default() }
    }
}

/// The tests that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name and version of the runner.
    pub runner: String,
    /// How many tests there are in each of the topmost files and folders.
    pub places: BTreeMap<String, usize>,
}

impl Found {
    /// How many tests there are.
    pub fn n_tests(&self) -> usize {
        self.places.values().sum()
    }
}

/// The value that an option of the adapter's own has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name of the option.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Whether the user has set it.
    pub is_chosen: bool,
}

/// Starts an agent and checks what it provides; `None` if no tests can be run.
pub fn examine_engine(
    launch: Launch,
    abilities: &Abilities,
    interrupt: &Interrupt,
    checks: &mut Vec<Check>,
) -> Option<Found> {
    match Engine::start(launch, interrupt) {
        Ok(engine) => Some(look_around(engine, checks)),
        Err(error) => {
            checks.push(not_started(&error, abilities));
            None
        }
    }
}

fn not_started(error: &StartError, abilities: &Abilities) -> Check {
    let said = error.complaint().map(|said| format!("\n{}", said.trim_end())).unwrap_or_default();
    let hint = error.hint(abilities.program_option);
    let hint = hint.unwrap_or_else(|| "run your runner by itself to see more".to_owned());
    Check::missing("tests", format!("{}{said}", with_causes(error)), hint)
}

/// Checks what an engine that has started provides.
fn look_around(mut engine: Engine, checks: &mut Vec<Check>) -> Found {
    let collected = engine.collected();
    let mut places = BTreeMap::new();
    for test in &collected.tests {
        let place = test.file.split('/').next().unwrap_or_default();
        *places.entry(place.to_owned()).or_insert(0) += 1;
    }
    let found = Found { runner: collected.runner.clone(), places };
    checks.push(Check::ok("runner", found.runner.clone()));
    checks.push(Check::ok(
        "plugins",
        match collected.plugins.as_slice() {
            [] => "none that reorders, repeats or distributes tests".to_owned(),
            plugins => format!("{} stand back, because we choose the order", plugins.join(", ")),
        },
    ));
    let n_tests = plural(found.n_tests() as u64, "test", "tests");
    checks.push(Check::ok("tests", format!("{n_tests} collected")));
    let warnings = collection_warnings(&engine);
    let of = |warning: &Warning| match warning {
        Warning::ForkUnsafe { .. } => "fork",
        _ => "collection",
    };
    checks.extend(warnings.iter().map(|warning| limited(of(warning), warning)));
    if engine.why_cold().is_none() {
        checks.push(Check::ok("fork", "safe: runs begin in milliseconds"));
    }
    checks.extend(isolation(&mut engine));
    found
}

/// Which levels of isolation hold, and which do not.
fn isolation(engine: &mut Engine) -> Vec<Check> {
    if engine.isolation().is_empty() {
        return vec![Check::ok("isolation", "not asked for")];
    }
    let Isolation { applied, refused } = match try_isolation(engine) {
        Ok(isolation) => isolation,
        Err(why) => return vec![Check::missing("isolation", why, "start it again")],
    };
    let mut checks = Vec::new();
    if !applied.is_empty() {
        let levels: Vec<&str> = applied.iter().map(|level| level.as_str()).collect();
        checks.push(Check::ok("isolation", format!("{} for each run", levels.join(", "))));
    }
    checks.extend(refused.into_iter().map(|refused| {
        let (level, reason) = (refused.level.as_str().to_owned(), refused.why);
        limited("isolation", &Warning::IsolationRefused { level, reason })
    }));
    checks
}

fn try_isolation(engine: &mut Engine) -> Result<Isolation, String> {
    let experiment = Experiment::new(RunId(0), Order::from_distinct(Vec::<TestIndex>::new()));
    engine.submit(&experiment).map_err(|error| error.to_string())?;
    loop {
        match engine.next_event().map_err(|error| with_causes(&error))? {
            Event::RunEnded { isolation, .. } => return Ok(isolation),
            Event::Interrupted | Event::Idle => return Err("interrupted".to_owned()),
            _ => (),
        }
    }
}

/// What the collection left out, and whether runs cannot be forked.
pub fn collection_warnings(engine: &Engine) -> Vec<Warning> {
    let collected = engine.collected();
    let errors = collected.errors.iter().map(|error| NotCollected {
        place: error.place.clone(),
        reason: error.text.lines().last().unwrap_or_default().to_owned(),
    });
    let set_aside = engine
        .set_aside()
        .iter()
        .map(|test| NotCollected { place: test.id.clone(), reason: test.why.clone() });
    let parts: Vec<NotCollected> = errors.chain(set_aside).collect();
    let not_collected = (!parts.is_empty()).then_some(Warning::NotCollected { parts });
    let cold = engine.why_not_forked().map(|why| Warning::ForkUnsafe { reason: why.to_owned() });
    not_collected.into_iter().chain(cold).collect()
}

/// An error with all its causes, in one line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message.push_str(": ");
        message.push_str(&cause.to_string());
        source = cause.source();
    }
    message
}

fn limited(what: &'static str, warning: &Warning) -> Check {
    Check::missing(what, warning.message(), warning.advice())
}
