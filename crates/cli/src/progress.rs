//! How it goes, on one line of the terminal that is written again and again.
//!
//! Where standard error is no terminal nobody watches, and only notes are written.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use unflake_app::logbook::{Progress, Standing};
use unflake_model::Confidence;
use unflake_report::{percent, plural, span};
use unflake_stats::plan::rate_detectable;

use crate::exit;

/// The line is written anew this often: enough to see it move.
const REDRAW: Duration = Duration::from_millis(100);

/// A longer line would be wrapped, and could not be written over.
const COLUMNS_MAX: usize = 79;

/// Until when it goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Goal {
    /// How many whole orders are wanted.
    pub(crate) orders: Option<u64>,
    /// How sure they make.
    pub(crate) confidence: Option<Confidence>,
    /// How long it may take.
    pub(crate) time: Option<Duration>,
}

/// Progress on standard error.
pub(crate) struct Line {
    is_terminal: bool,
    goal: Goal,
    stage: String,
    begun: Instant,
    drawn: Option<Instant>,
}

impl Line {
    pub(crate) fn new(goal: Goal) -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { is_terminal, goal, stage: String::new(), begun: now(), drawn: None }
    }

    /// Removes what is written.
    fn clear(&self) {
        self.write("");
    }

    fn write(&self, text: &str) {
        if self.is_terminal {
            let text: String = text.chars().take(COLUMNS_MAX).collect();
            // Back to the first column, the text, and nothing behind it.
            let _ = write!(io::stderr(), "\r{text}\x1b[K");
        }
    }
}

impl Drop for Line {
    /// What was waited for is there.
    fn drop(&mut self) {
        self.clear();
    }
}

impl Progress for Line {
    fn stage(&mut self, what: &str) {
        what.clone_into(&mut self.stage);
        self.write(what);
    }

    fn note(&mut self, what: &str) {
        self.clear();
        exit::note(&format!("{what}\n"));
    }

    fn ran(&mut self, standing: Standing) {
        if !self.is_terminal || self.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW) {
            return;
        }
        self.drawn = Some(now());
        let told = told(&standing, self.goal, self.begun.elapsed());
        let stage = self.stage.split(' ').next().unwrap_or_default();
        self.write(&format!("{stage}: {told}"));
    }
}

#[expect(clippy::disallowed_methods, reason = "how long it takes is shown, and decides nothing")]
fn now() -> Instant {
    Instant::now()
}

/// How it stands: runs, flaky tests, what would have been seen by now, and how long it may take.
fn told(standing: &Standing, goal: Goal, elapsed: Duration) -> String {
    let runs = plural(standing.n_runs, "run", "runs");
    let mut text = vec![format!("{runs}, {} flaky", standing.n_flaky)];
    let reach = goal.confidence.filter(|_| 0 < standing.n_orders);
    if let Some(confidence) = reach {
        let rate = percent(rate_detectable(standing.n_orders, confidence), 2);
        text.push(format!("; finds flake rates from {rate} % up"));
    }
    if let Some(left) = time_left(standing, goal, elapsed) {
        text.push(format!("; {} left", span(Duration::from_secs(left.as_secs()))));
    }
    text.concat()
}

/// Until the orders wanted are run at the pace so far, or the time is up, whichever comes first.
/// What it takes to look into what they show is not foreseen.
fn time_left(standing: &Standing, goal: Goal, elapsed: Duration) -> Option<Duration> {
    let until_time_is_up = goal.time.map(|time| time.saturating_sub(elapsed));
    let n_made = u32::try_from(standing.n_orders - standing.n_orders_recalled).ok()?;
    let until_all_are_run = goal.orders.filter(|_| 0 < n_made).map(|wanted| {
        let n_left = u32::try_from(wanted.saturating_sub(standing.n_orders)).unwrap_or(u32::MAX);
        (elapsed / n_made).saturating_mul(n_left)
    });
    // Once all are run, what is left is to look into what they showed.
    let until_all_are_run = until_all_are_run.filter(|left| !left.is_zero());
    until_time_is_up.into_iter().chain(until_all_are_run).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDING: Standing = Standing {
        spent: unflake_model::Spent { runs: 0, attempts: 0, time: Duration::ZERO },
        n_runs: 1204,
        n_flaky: 13,
        n_orders: 40,
        n_orders_recalled: 20,
    };

    #[test]
    fn the_estimate_converges_and_the_time_left_follows_from_the_pace_now() {
        let goal = Goal { orders: Some(59), confidence: Some(Confidence::USUAL), time: None };
        // 20 orders in 100 s, and 19 to come.
        let told_now = told(&STANDING, goal, Duration::from_secs(100));
        assert_eq!(
            told_now,
            "1204 runs, 13 flaky; finds flake rates from 7.2 % up; 1 min 35 s left"
        );
        assert!("looking: ".len() + told_now.len() <= COLUMNS_MAX);
        let done = Standing { n_orders: 59, ..STANDING };
        assert!(told(&done, goal, Duration::from_secs(100)).ends_with("from 5 % up"));
    }

    #[test]
    fn a_budget_of_time_ends_it_first_where_it_is_short() {
        let goal =
            Goal { orders: Some(59), time: Some(Duration::from_secs(110)), ..Goal::default() };
        let left = |seconds| time_left(&STANDING, goal, Duration::from_secs(seconds));
        assert_eq!(left(100), Some(Duration::from_secs(10)));
        assert_eq!(left(200), Some(Duration::ZERO));
    }

    #[test]
    fn nothing_is_promised_where_nothing_is_known() {
        assert_eq!(time_left(&STANDING, Goal::default(), Duration::from_secs(9)), None);
        let none = Standing { n_orders: 0, n_orders_recalled: 0, ..STANDING };
        assert_eq!(told(&none, Goal::default(), Duration::ZERO), "1204 runs, 13 flaky");
    }
}
