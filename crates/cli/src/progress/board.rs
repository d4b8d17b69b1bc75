//! What is written about how it goes, and when. Pure: the time is told, the text is returned.

use std::time::Duration;

use unflake_campaign::logbook::{News, Standing};
use unflake_model::TestId;
use unflake_report::{Ink, Layout, Page, percent, plural, span, visible};
use unflake_stats::plan::rate_detectable;

use super::Goal;
use super::estimate::Estimate;

/// The line is written anew this often: enough to see it move.
const REDRAW: Duration = Duration::from_millis(100);

/// Where lines cannot be written over, there is one this often.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Suspicions and findings of which each has a line; of more there will be a report.
const TOLD_MAX: usize = 50;

/// How it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Not at all.
    Quiet,
    /// By a line now and then.
    Lines,
    /// By one line that is written over.
    Rewritten,
}

/// What is known about how it goes.
pub(super) struct Board {
    goal: Goal,
    manner: Manner,
    layout: Layout,
    stage: String,
    stage_begun: Duration,
    /// Since the last stage began.
    standing: Option<Standing>,
    estimate: Estimate,
    written: Option<Duration>,
    n_told: usize,
}

impl Board {
    pub(super) fn new(goal: Goal, manner: Manner, layout: Layout) -> Self {
        Self {
            goal,
            manner,
            layout,
            stage: String::new(),
            stage_begun: Duration::ZERO,
            standing: None,
            estimate: Estimate::default(),
            written: None,
            n_told: 0,
        }
    }

    /// Something new begins.
    pub(super) fn stage(&mut self, what: &str, now: Duration) -> Option<String> {
        what.clone_into(&mut self.stage);
        (self.stage_begun, self.standing, self.estimate) = (now, None, Estimate::default());
        match self.manner {
            Manner::Rewritten => Some(self.draw(now)),
            Manner::Quiet | Manner::Lines => None,
        }
    }

    /// Something that a user should know also where nobody watches.
    pub(super) fn note(&mut self, what: &str) -> Option<String> {
        self.line(format!("{what}\n"))
    }

    /// A test is suspected, or found to be flaky.
    pub(super) fn news(&mut self, test: &TestId, news: News) -> Option<String> {
        self.n_told += 1;
        if TOLD_MAX < self.n_told {
            let is_first = self.n_told == TOLD_MAX + 1;
            return self.line("more in the report\n".to_owned()).filter(|_| is_first);
        }
        let (label, ink, what) = match news {
            News::Suspected(None) => ("suspected  ", Ink::Warning, "passes and fails".to_owned()),
            News::Suspected(Some(verdict)) => ("suspected  ", Ink::Warning, verdict.told()),
            News::Found(verdict) => ("found      ", Ink::Verdict(verdict), verdict.told()),
        };
        let test = visible(test.as_str());
        let n_columns = label.len() + test.chars().count() + 1 + what.chars().count();
        // Where lines are as long as they like, each is one.
        let is_split = self.manner == Manner::Rewritten && self.layout.width < n_columns;
        let mut page = Page::new(self.layout);
        if is_split {
            page.line(&[(ink, label), (Ink::Plain, &test)]);
            page.line(&[(Ink::Plain, &" ".repeat(label.len())), (Ink::Plain, &what)]);
        } else {
            page.line(&[(ink, label), (Ink::Plain, &test), (Ink::Plain, " "), (Ink::Plain, &what)]);
        }
        self.line(page.finish())
    }

    /// A run is over.
    pub(super) fn ran(&mut self, standing: Standing, now: Duration) -> Option<String> {
        self.standing = Some(standing);
        self.estimate.observe(&standing, &self.goal, now.saturating_sub(self.stage_begun));
        let is_due =
            |every| self.written.is_none_or(|written| every <= now.saturating_sub(written));
        match self.manner {
            Manner::Rewritten if is_due(REDRAW) => Some(self.draw(now)),
            Manner::Lines => self.tick(now),
            Manner::Quiet | Manner::Rewritten => None,
        }
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, now: Duration) -> Option<String> {
        match self.manner {
            Manner::Quiet => None,
            Manner::Rewritten => (!self.stage.is_empty()).then(|| self.draw(now)),
            Manner::Lines => {
                let is_due = LINE_EVERY <= now.saturating_sub(self.written.unwrap_or_default());
                (is_due && !self.stage.is_empty()).then(|| {
                    self.written = Some(now);
                    self.told(now, usize::MAX) + "\n"
                })
            }
        }
    }

    /// Removes the line, and sets off what was told from the report.
    pub(super) fn end(&mut self) -> Option<String> {
        let after = if self.n_told == 0 { "" } else { "\n" };
        (self.manner == Manner::Rewritten).then(|| format!("\r\x1b[K{after}"))
    }

    /// A line that stays.
    fn line(&mut self, text: String) -> Option<String> {
        match self.manner {
            Manner::Quiet => None,
            Manner::Lines => Some(text),
            // The next run, or the next second, writes the line anew below it.
            Manner::Rewritten => Some(format!("\r\x1b[K{text}")),
        }
    }

    /// Back to the first column, the text, and nothing behind it. One column stays free: a line
    /// that is full cannot be written over everywhere.
    fn draw(&mut self, now: Duration) -> String {
        self.written = Some(now);
        let columns = self.layout.width - 1;
        let text: String = self.told(now, columns).chars().take(columns).collect();
        format!("\r{text}\x1b[K")
    }

    /// How it stands, as far as that fits: the stage, runs, how many tests are suspected and found,
    /// what would have been seen by now, and how long it will take.
    fn told(&self, now: Duration, columns: usize) -> String {
        let in_stage = now.saturating_sub(self.stage_begun);
        let Some(standing) = &self.standing else {
            let seconds = Duration::from_secs(in_stage.as_secs());
            let so_far =
                if seconds.is_zero() { String::new() } else { format!(" ({})", span(seconds)) };
            let room = columns.saturating_sub(so_far.len());
            return if self.stage.chars().count() <= room {
                format!("{}{so_far}", self.stage)
            } else {
                let stage: String = self.stage.chars().take(room.saturating_sub(1)).collect();
                format!("{}…{so_far}", stage.trim_end_matches([' ', ',']))
            };
        };
        let left = self.estimate.left(in_stage, self.goal.time.map(|it| it.saturating_sub(now)));
        let left = left.map(|left| format!("; {left}")).unwrap_or_default();
        let reach = self.reach(standing);
        let counts = counts(standing);
        let short = self.stage.split(' ').next().unwrap_or_default();
        let forms = [
            format!("{}: {counts}{reach}{left}", self.stage),
            format!("{short}: {counts}{reach}{left}"),
            format!("{short}: {counts}{left}"),
        ];
        let fits = |text: &&String| text.chars().count() <= columns;
        forms.iter().find(fits).unwrap_or(&counts).clone()
    }

    /// What would have been seen by now.
    fn reach(&self, standing: &Standing) -> String {
        let confidence = self.goal.confidence.filter(|_| 0 < standing.n_orders);
        confidence.map_or_else(String::new, |confidence| {
            let rate = percent(rate_detectable(standing.n_orders, confidence), 2);
            format!("; finds flake rates from {rate} % up")
        })
    }
}

/// `1204 runs, 3 suspected, 10 found`.
fn counts(standing: &Standing) -> String {
    let suspected = standing.n_suspected.saturating_sub(standing.n_found);
    let counts = [(suspected, "suspected"), (standing.n_found, "found")];
    let counts = counts.iter().filter(|(n, _)| 0 < *n).map(|(n, what)| format!(", {n} {what}"));
    plural(standing.n_runs, "run", "runs") + &counts.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::{Confidence, Verdict};
    use unflake_report::Colour;

    const STANDING: Standing = Standing {
        spent: unflake_model::Spent { runs: 0, attempts: 0, time: Duration::ZERO },
        n_runs: 1204,
        n_suspected: 13,
        n_found: 10,
        n_orders: 40,
        n_orders_recalled: 20,
        order_time: Duration::ZERO,
    };

    fn board(manner: Manner) -> Board {
        let goal = Goal { confidence: Some(Confidence::USUAL), ..Goal::default() };
        Board::new(goal, manner, Layout::plain(80))
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn test() -> TestId {
        "tests/test_cart.py::test_total".parse().unwrap()
    }

    #[test]
    fn where_no_line_can_be_written_over_there_is_one_every_half_a_minute() {
        let mut board = board(Manner::Lines);
        assert_eq!(board.stage("looking for flaky tests", at(0)), None);
        let written: Vec<(u64, String)> = (1..=95)
            .filter_map(|second| {
                // Runs end now and then; in between, time passes.
                let told = match second % 7 {
                    0 => board.ran(STANDING, at(second)),
                    _ => board.tick(at(second)),
                };
                Some((second, told?))
            })
            .collect();
        let (seconds, lines): (Vec<u64>, Vec<String>) = written.into_iter().unzip();
        assert_eq!(seconds, [30, 60, 90]);
        let line = "looking for flaky tests: 1204 runs, 3 suspected, 10 found; \
                    finds flake rates from 7.2 % up\n";
        assert!(lines.iter().all(|it| it == line), "{lines:?}");
    }

    #[test]
    fn a_stage_without_runs_says_how_long_it_takes() {
        let mut board = board(Manner::Lines);
        board.stage("collecting tests", at(3));
        assert_eq!(board.tick(at(29)), None);
        assert_eq!(board.tick(at(31)).as_deref(), Some("collecting tests (28 s)\n"));
    }

    #[test]
    fn the_line_never_reaches_the_last_column_and_leaves_out_what_matters_least() {
        for width in [40, 60, 80, 100] {
            let mut board = Board { layout: Layout::plain(width), ..board(Manner::Rewritten) };
            board.stage("looking for flaky tests", at(0));
            let line = board.ran(STANDING, at(9)).unwrap();
            let line = line.trim_start_matches('\r').trim_end_matches("\x1b[K").to_owned();
            assert!(line.chars().count() < width, "{width}: {line}");
            assert!(line.contains("1204 runs, 3 suspected, 10 found"), "{width}: {line}");
        }
        let mut board = board(Manner::Rewritten);
        assert_eq!(board.end().as_deref(), Some("\r\x1b[K"));
        board.stage("trying what was found with the plain runner, and naming the state", at(9));
        board.layout = Layout::plain(50);
        let line = board.tick(at(19)).unwrap();
        assert_eq!(line, "\rtrying what was found with the plain runn… (10 s)\x1b[K");
    }

    #[test]
    fn what_is_suspected_and_what_is_found_has_a_line_above_the_one_that_moves() {
        let mut board = board(Manner::Rewritten);
        assert_eq!(
            board.news(&test(), News::Suspected(None)).as_deref(),
            Some("\r\x1b[Ksuspected  tests/test_cart.py::test_total passes and fails\n")
        );
        let found = News::Found(Verdict::OdVictim);
        assert_eq!(
            board.news(&test(), found).as_deref(),
            Some(
                "\r\x1b[Kfound      tests/test_cart.py::test_total fails after another test \
                 (od-victim)\n"
            )
        );
        board.layout.colour = Colour::On;
        assert!(board.news(&test(), found).unwrap().contains("\x1b[31;1mfound "));
        board.layout = Layout::plain(50);
        let told = board.news(&test(), found).unwrap();
        assert!(told.ends_with("test_total\n           fails after another test (od-victim)\n"));
    }

    #[test]
    fn a_flood_of_findings_is_left_to_the_report() {
        let mut board = board(Manner::Lines);
        let told = (0..200).filter_map(|_| board.news(&test(), News::Suspected(None)));
        let told: Vec<String> = told.collect();
        assert_eq!(told.len(), TOLD_MAX + 1);
        assert_eq!(told.last().map(String::as_str), Some("more in the report\n"));
    }

    #[test]
    fn whoever_wants_the_result_only_is_told_nothing_else() {
        let mut board = board(Manner::Quiet);
        assert_eq!(board.stage("looking", at(0)), None);
        assert_eq!(board.note("resuming"), None);
        assert_eq!(board.news(&test(), News::Suspected(None)), None);
        assert_eq!(board.ran(STANDING, at(60)), None);
        assert_eq!(board.tick(at(120)), None);
        assert_eq!(board.end(), None);
    }
}
