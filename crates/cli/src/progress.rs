//! How it goes, on one line of the terminal that is written again and again.

use std::io::{self, IsTerminal as _, Write as _};

use unflake_app::study::Progress;
use unflake_model::Spent;

use unflake_report::plural;

/// Lines are written anew after so many runs: often enough to see it move.
const RUNS_PER_LINE: u64 = 8;

/// Progress on standard error; silent where that is no terminal.
pub(crate) struct Line {
    is_terminal: bool,
    stage: String,
    runs_shown: u64,
}

impl Line {
    pub(crate) fn new() -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { is_terminal, stage: String::new(), runs_shown: 0 }
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.write("");
    }

    fn write(&self, text: &str) {
        if self.is_terminal {
            // Back to the first column, the text, and nothing behind it.
            let _ = write!(io::stderr(), "\r{text}\x1b[K");
        }
    }
}

impl Progress for Line {
    fn stage(&mut self, what: &str) {
        what.clone_into(&mut self.stage);
        self.write(what);
    }

    fn ran(&mut self, spent: Spent, n_flaky: usize) {
        if self.runs_shown + RUNS_PER_LINE <= spent.runs {
            self.runs_shown = spent.runs;
            let runs = plural(spent.runs, "run", "runs");
            let flaky = plural(n_flaky as u64, "test", "tests");
            self.write(&format!("{}: {runs}, {flaky} seen to pass and to fail", self.stage));
        }
    }
}
