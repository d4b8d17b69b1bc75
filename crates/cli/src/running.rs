//! What all commands that run tests share: the project, its limits, Ctrl-C, and what to say when
//! the tests cannot be run.

use std::path::PathBuf;
use std::time::Duration;

use unflake_adapter::{Part, with_causes};
use unflake_campaign::error::CampaignError;
use unflake_engine::{Interrupt, Level, Limits, Start, strays};
use unflake_model::TestId;

use crate::exit::{self, Failure};

/// How long collecting may take.
const COLLECT_MAX: Duration = Duration::from_mins(10);

/// The folder we stand in.
pub(crate) fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| Failure::NotRun {
        message: format!("the working directory cannot be read: {error}"),
        hint: None,
    })
}

/// Our folder for what is made once, if there is a place for it.
pub(crate) fn cache() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    base.map(|base| base.join("unflake"))
}

/// How many runs at once, unless somebody says.
pub(crate) fn n_processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Limits of runs.
pub(crate) fn limits(isolation: Vec<Level>, test_timeout: Duration, jobs: usize) -> Limits {
    Limits {
        start: Start::Fork,
        isolation,
        start_timeout: COLLECT_MAX,
        test_timeout,
        run_timeout: None,
        jobs,
    }
}

/// The first Ctrl-C ends a command with what is known; the second ends us.
pub(crate) fn stop_on_ctrl_c(interrupt: &Interrupt) {
    let interrupt = interrupt.clone();
    let mut is_second = false;
    // Without a handler Ctrl-C ends us at once, and with us all that runs: no harm done.
    let _ = ctrlc::set_handler(move || {
        if is_second {
            abort();
        }
        is_second = true;
        interrupt.raise();
    });
}

#[expect(clippy::exit, reason = "the user has asked twice")]
fn abort() -> ! {
    strays::end_all();
    std::process::exit(i32::from(exit::UNDECIDED))
}

/// Why the tests could not be run, with the advice for it; or that somebody stopped it.
pub(crate) fn not_run(error: &CampaignError, part: &dyn Part) -> Failure {
    let hint = match error {
        CampaignError::Interrupted => return Failure::Stopped(error.to_string()),
        CampaignError::Start(start) => start.hint(part.abilities().program_option),
        CampaignError::UnknownTest { similar, .. } if !similar.is_empty() => {
            let names: Vec<&str> = similar.iter().map(TestId::as_str).collect();
            Some(format!("did you mean {}?", names.join(" or ")))
        }
        CampaignError::Unsupported { hint, .. } => Some(hint.clone()),
        CampaignError::NoTests => Some("name a file or folder with tests".to_owned()),
        _ => None,
    };
    let mut message = with_causes(error);
    if let CampaignError::Start(start) = error {
        message.extend(start.complaint().map(|said| exit::indented(&said)));
    }
    Failure::NotRun { message, hint }
}
