//! How a command ends: exit codes, and the message that explains a failure.

use std::io::{self, Write as _};
use std::process::ExitCode;

/// What was asked for was done.
pub(crate) const SUCCESS: u8 = 0;
/// Flaky tests were found.
pub(crate) const FOUND: u8 = 1;
/// The command line or a file it names makes no sense.
pub(crate) const USAGE: u8 = 2;
/// The tests could not be run.
pub(crate) const NOT_RUN: u8 = 3;
/// The budget ended, or the user stopped, before there was a verdict.
pub(crate) const UNDECIDED: u8 = 4;
/// The output could not be written.
pub(crate) const OUTPUT: u8 = 5;

/// Lines shown of what a runner said when it could not start.
const COMPLAINT_LINES_MAX: usize = 20;

/// Why a command could not do what was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The input makes no sense; says which value, and what to do about it.
    #[error("{message}")]
    Input {
        /// What is wrong, naming the value.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The tests cannot be run.
    #[error("{message}")]
    NotRun {
        /// What is wrong, naming the value.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The user stopped it, or the time was up, before there was anything to show.
    #[error("{0}")]
    Stopped(String),
    /// Nobody reads our output any more, or it cannot be stored.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// Bad input, with the advice for it.
    pub(crate) fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Input { message: message.into(), hint: Some(hint.into()) }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<&str> {
        match self {
            Self::Input { hint, .. } | Self::NotRun { hint, .. } => hint.as_deref(),
            Self::Stopped(_) | Self::Output(_) => None,
        }
    }

    /// In full, with what to do about it.
    pub(crate) fn told(&self) -> String {
        let hint = self.hint().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
        format!("{self}\n{hint}")
    }

    /// The exit code that says so.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Input { .. } => USAGE,
            Self::NotRun { .. } => NOT_RUN,
            Self::Stopped(_) => UNDECIDED,
            Self::Output(_) => OUTPUT,
        }
    }
}

/// Something found is worse than something that could not be run, and that is worse than something
/// not decided.
pub(crate) fn worse(one: u8, other: u8) -> u8 {
    let codes = [SUCCESS, UNDECIDED, NOT_RUN, FOUND];
    let rank = |code| codes.iter().position(|known| *known == code);
    if rank(one) < rank(other) { other } else { one }
}

/// Explains a failure on stderr and turns the end of a command into its exit code.
pub(crate) fn code(result: Result<u8, Failure>) -> ExitCode {
    let failure = match result {
        Ok(code) => return code.into(),
        // The reader has seen enough (`| head`): that is no failure.
        Err(Failure::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => return SUCCESS.into(),
        Err(failure) => failure,
    };
    note(&format!("error: {}", failure.told()));
    failure.code().into()
}

/// Prints what clap has to say: help and version are successes, the rest is wrong usage.
pub(crate) fn usage(message: &clap::Error) -> ExitCode {
    let printed = message.print();
    let is_wrong = message.use_stderr();
    match printed {
        Err(_) if !is_wrong => code(printed.map(|()| SUCCESS).map_err(Failure::Output)),
        _ if is_wrong => USAGE.into(),
        _ => SUCCESS.into(),
    }
}

/// What somebody else said, below our own words and apart from them. Its end says most.
pub(crate) fn indented(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let n_left_out = lines.len().saturating_sub(COMPLAINT_LINES_MAX);
    let left_out = (0 < n_left_out).then(|| format!("\n  … {n_left_out} lines above"));
    let shown = lines[n_left_out..].iter().map(|line| format!("\n  {}", line.trim_end()));
    left_out.into_iter().chain(shown).collect()
}

/// Writes to stderr; if even that is gone, there is nobody left to tell.
pub(crate) fn note(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
