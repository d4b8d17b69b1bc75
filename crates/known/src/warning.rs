//! What limits the answer, with what to do about it.
//!
//! A closed list: everything that was done differently than the user may believe is here, so that
//! no format can lack a word for it. Histories contain them ([`crate::saved`]): variants and fields
//! are added, never renamed.

use serde::{Deserialize, Serialize};

/// Something that limits the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// The system allows less isolation than we can use.
    IsolationRefused {
        /// The level that was refused: `network namespace`.
        level: String,
        /// The system's message.
        reason: String,
    },
    /// Isolation changed outcomes of the suite and was reduced.
    IsolationSteppedDown {
        /// The level that was given up: `network namespace`.
        level: String,
        /// How many tests ended differently because of it.
        n_tests: u64,
    },
    /// A collected suite cannot be forked safely; each order starts the runner anew.
    ForkUnsafe {
        /// The reason: `2 threads alive after collection`.
        reason: String,
    },
    /// Parts of the project could not be collected, so their tests were left out.
    NotCollected {
        /// The parts, each with the reason.
        parts: Vec<NotCollected>,
    },
    /// The campaign is not in the history, or only its beginning is.
    NotRecorded {
        /// The reason: `the disk is full`.
        reason: String,
    },
    /// Tests end differently than with the plain runner, with or without isolation.
    DiffersFromPlain {
        /// The number of these tests.
        n_tests: u64,
    },
    /// The plain runner could not run all tests for a comparison.
    NotCompared {
        /// The reason: `it was stopped after 60 s`.
        reason: String,
    },
    /// The plain runner could not be asked about some of what was found.
    PlainNotRun {
        /// The tests it could not be asked about, as far as they were recorded.
        #[serde(default)]
        tests: Vec<String>,
        /// The reason: `it did not come to its end within 60 s`.
        reason: String,
    },
    /// Tests cannot be run a second time in one process as if it were the first.
    NotRepeated {
        /// The names of these tests.
        tests: Vec<String>,
    },
    /// Tests failed when we ran them a second time in one process, which the plain runner does not
    /// show.
    TwiceNotShown {
        /// The names of these tests.
        tests: Vec<String>,
    },
    /// Runs with perturbed choices could not be started.
    PerturbedNotRun {
        /// The number of these runs.
        n_runs: u64,
        /// The reason for the first: `collecting again gave other tests: …`.
        reason: String,
    },
    /// Something was too large to be watched completely.
    WatchedInPart,
    /// Runs could no longer be made; what was known by then is shown.
    BrokenOff {
        /// The reason: `no space left on device`.
        reason: String,
    },
}

/// A part of a project that could not be collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCollected {
    /// The file or module.
    pub place: String,
    /// The runner's message.
    pub reason: String,
}

/// How many uncollected parts, or tests, a message names.
const PARTS_MAX: usize = 5;

impl Warning {
    /// The name in machine-readable formats.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::IsolationRefused { .. } => "isolation-refused",
            Self::IsolationSteppedDown { .. } => "isolation-stepped-down",
            Self::ForkUnsafe { .. } => "fork-unsafe",
            Self::NotCollected { .. } => "not-collected",
            Self::NotRecorded { .. } => "not-recorded",
            Self::DiffersFromPlain { .. } => "differs-from-plain",
            Self::NotCompared { .. } => "not-compared",
            Self::PlainNotRun { .. } => "plain-not-run",
            Self::NotRepeated { .. } => "not-repeated",
            Self::TwiceNotShown { .. } => "twice-not-shown",
            Self::PerturbedNotRun { .. } => "perturbed-not-run",
            Self::WatchedInPart => "watched-in-part",
            Self::BrokenOff { .. } => "broken-off",
        }
    }

    /// The fact itself. Includes words from outside, as they came.
    pub fn message(&self) -> String {
        match self {
            Self::IsolationRefused { level, reason } => {
                format!("the system refused the {level}: {reason}")
            }
            Self::IsolationSteppedDown { level, n_tests } => {
                let tests = crate::plural(*n_tests, "test", "tests");
                format!("the {level} was left out, because under it {tests} ended differently")
            }
            Self::ForkUnsafe { reason } => {
                format!("a fresh process is started for every order, because of {reason}")
            }
            Self::NotCollected { parts } => not_collected(parts),
            Self::NotRecorded { reason } => format!("no history is kept: {reason}"),
            Self::DiffersFromPlain { n_tests } => {
                let tests = crate::plural(*n_tests, "test", "tests");
                format!("{tests} ended differently than in the plain runner, isolated or not")
            }
            Self::NotCompared { reason } => {
                format!("all tests could not be run by the plain runner as well: {reason}")
            }
            Self::PlainNotRun { tests, reason } => {
                let about = match tests.as_slice() {
                    [] => String::new(),
                    [test] => format!(" about {test}"),
                    [test, others @ ..] => format!(" about {test} and {} more", others.len()),
                };
                format!("the plain runner could not be asked{about}: {reason}")
            }
            Self::NotRepeated { tests } => {
                let items = crate::plural(tests.len() as u64, "test", "tests");
                let which = named(tests);
                format!("{items} of a plugin's own kind ran once only in each process: {which}")
            }
            Self::TwiceNotShown { tests } => {
                let items = crate::plural(tests.len() as u64, "test", "tests");
                let which = named(tests);
                format!(
                    "{items} failed the second time in one process of ours, which the plain runner \
                     did not show: {which}"
                )
            }
            Self::PerturbedNotRun { n_runs, reason } => {
                let runs = crate::plural(*n_runs, "run", "runs");
                let choices = "other open choices, such as another hash seed,";
                format!("{runs} under {choices} could not be started: {reason}")
            }
            Self::WatchedInPart => "something was too large to be watched as a whole".to_owned(),
            Self::BrokenOff { reason } => format!("no more runs could be made: {reason}"),
        }
    }

    /// What to do about it, or what it means.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::IsolationRefused { .. } => {
                "what orders leave behind outside their process may reach each other; \
                 run where user namespaces are allowed, or with one job"
            }
            Self::IsolationSteppedDown { .. } => {
                "what orders leave behind there may reach each other; \
                 run with one job if findings look unlikely"
            }
            Self::ForkUnsafe { .. } => {
                "answers are the same but take longer; \
                 start threads and open devices in fixtures, not on import"
            }
            Self::NotCollected { .. } => "tests there were not looked at; make them collect first",
            Self::NotRecorded { .. } => {
                "answers are the same, but the campaign cannot be resumed or replayed; \
                 name another file with --store, or say --no-store"
            }
            Self::DiffersFromPlain { .. } => {
                "flaky tests do that; look twice at what is said about tests that are not"
            }
            Self::NotCompared { .. } => {
                "whether isolation changes how tests end was not seen; \
                 look twice at tests that are said to fail always"
            }
            Self::PlainNotRun { .. } => {
                "what was found rests on our own runs; try the printed command yourself"
            }
            Self::NotRepeated { .. } => {
                "whether they fail when run a second time is not known; nothing else is missing"
            }
            Self::TwiceNotShown { .. } => "they are not called flaky for that",
            Self::PerturbedNotRun { .. } => {
                "tests that depend on such a choice may be missing; \
                 let the runner collect the same tests, by the same names, at every start"
            }
            Self::WatchedInPart => {
                "what changes deep inside of large things, or those not looked at for lack of \
                 time, may be missing"
            }
            Self::BrokenOff { .. } => "put that right and start it again",
        }
    }
}

fn named(tests: &[String]) -> String {
    let shown = tests[..tests.len().min(PARTS_MAX)].join(", ");
    let more = crate::more(tests.len(), PARTS_MAX);
    more.map_or_else(|| shown.clone(), |more| format!("{shown}, {more}"))
}

fn not_collected(parts: &[NotCollected]) -> String {
    let named: Vec<String> = parts
        .iter()
        .take(PARTS_MAX)
        .map(|part| format!("{} ({})", part.place, part.reason.lines().next().unwrap_or_default()))
        .collect();
    let more = crate::more(parts.len(), PARTS_MAX);
    let more = more.map(|more| format!(", {more}")).unwrap_or_default();
    format!("not collected: {}{more}", named.join(", "))
}
