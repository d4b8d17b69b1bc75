//! Which test is under way, as far as the command lets it be seen?
//!
//! By lines that say so (`starts` of the settings), by the lines of TAP on standard output (where
//! one ends, the next begins), or because there is only one.

use crate::report::tap;
use crate::settings::{Format, Place, Settings};
use crate::template::LinePattern;

/// Follows one command.
#[derive(Debug)]
pub(super) struct Follower<'a> {
    order: Vec<&'a str>,
    starts: Option<&'a LinePattern>,
    is_tap: bool,
    /// The place of the last test that was seen to start.
    started: Option<usize>,
}

impl<'a> Follower<'a> {
    pub(super) fn new(settings: &'a Settings, order: Vec<&'a str>) -> Self {
        let is_tap = settings.report == Format::Tap && settings.place == Place::Stdout;
        Self { order, starts: settings.starts.as_ref(), is_tap, started: None }
    }

    /// The place of the last test that was seen to start.
    pub(super) fn started(&self) -> Option<usize> {
        self.started
    }

    /// A line was written, to its end unless it `is_begun`; the place of the test that starts, if
    /// that is news.
    pub(super) fn line(&mut self, line: &str, is_begun: bool) -> Option<usize> {
        let place = self.by_start(line, is_begun).or_else(|| self.by_tap(line, is_begun))?;
        let is_news = self.started.is_none_or(|started| started < place);
        is_news.then(|| *self.started.insert(place))
    }

    fn by_start(&self, line: &str, is_begun: bool) -> Option<usize> {
        let pattern = self.starts?;
        let id = if is_begun { None } else { pattern.find(line) };
        self.place(id.or_else(|| pattern.find_begun(line))?)
    }

    fn by_tap(&self, line: &str, is_begun: bool) -> Option<usize> {
        if !self.is_tap || self.starts.is_some() || is_begun {
            return None;
        }
        if line.starts_with("TAP version") || line.starts_with("1..") {
            return Some(0);
        }
        let next = self.place(&tap::named_by(line)?)? + 1;
        (next < self.order.len()).then_some(next)
    }

    /// The next place of a test that may come more than once.
    fn place(&self, id: &str) -> Option<usize> {
        let from = self.started.unwrap_or(0);
        let behind = self.order.iter().skip(from).position(|test| *test == id);
        behind.map(|place| place + from).or_else(|| self.order.iter().position(|test| *test == id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Row;

    fn settings(report: &str, starts: Option<&str>) -> Settings {
        let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let starts = starts.map(str::to_owned);
        let (list, run) = (words(["t", "-l"]), words(["t", "{tests}"]));
        Settings::new(Row { list, run, report: report.to_owned(), starts, ..Row::default() })
            .unwrap()
    }

    fn followed(settings: &Settings, lines: &[(&str, bool)]) -> Vec<usize> {
        let mut follower = Follower::new(settings, vec!["a", "b", "c"]);
        lines.iter().filter_map(|(line, is_begun)| follower.line(line, *is_begun)).collect()
    }

    #[test]
    fn lines_that_say_so_are_believed() {
        let go = settings("junit", Some("=== RUN   {id}"));
        let lines = [
            ("=== RUN   a", false),
            ("=== RUN   a/x", false),
            ("=== RUN   b", true),
            ("=== RUN   b", false),
        ];
        assert_eq!(followed(&go, &lines), [0, 1]);
        let cargo = settings("junit", Some("test {id} ... "));
        let lines = [("test a ... ", true), ("test a ... ok", false), ("test c ... ", true)];
        assert_eq!(followed(&cargo, &lines), [0, 2]);
    }

    #[test]
    fn where_one_ends_in_tap_the_next_begins() {
        let tap = settings("tap", None);
        let lines = [
            ("noise", false),
            ("1..3", false),
            ("ok 1 - a", true),
            ("ok 1 - a", false),
            ("not ok 2 - b", false),
            ("ok 3 - c", false),
        ];
        assert_eq!(followed(&tap, &lines), [0, 1, 2]);
        assert_eq!(followed(&settings("junit", None), &lines), [0; 0]);
    }
}
