//! What does a report say about the tests of a run, given how the command left?
//!
//! A report is believed for the tests it names. For those it does not name, it depends:
//!
//! | the command | the tests it does not name | are |
//! |---|---|---|
//! | left with 0 | any | an error: the report is not about this run, or names them otherwise |
//! | says that it bailed out | any | not run |
//! | left otherwise, a test was seen to start | that one | crashed; the rest not run |
//! | left otherwise, names none | the only one of the run, be it twice | crashed |
//! | left otherwise | all behind one that failed | not run: it stops at the first failure |
//! | left otherwise | all behind one that passed | the first crashed; the rest not run |
//! | left otherwise | all, or some in the middle | an error: nobody knows which was under way |
//!
//! A test that is named more often than it was asked for is an error, too: which of the cases is
//! about it cannot be known. An error makes the whole run void. It says nothing about any test.

use unflake_engine::process::Exit;

use crate::names;
use crate::report::{Case, Report};
use crate::template::IdPattern;

/// How many names of a report are quoted in a message.
const QUOTED_MAX: usize = 5;

/// What became of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judgement<'a> {
    /// What is known of its tests.
    Told {
        /// By their places in the order.
        ends: Vec<(usize, &'a Case)>,
        /// What is to be said of the others.
        rest: Rest,
    },
    /// Nothing is known.
    Void(Void),
}

/// What is to be said of the tests that the report does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// There are none, or they were not run.
    NotRun,
    /// This one was under way when the command left; those behind it were not run.
    CrashedAt(usize),
}

/// Why nothing is known of the tests of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Void {
    /// What happened, with the test in question.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) hint: String,
}

/// What is known besides the report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// The tests that the command was given.
    pub(crate) order: &'a [&'a str],
    /// How it left.
    pub(crate) exit: Exit,
    /// The place of the last test that was seen to start, if any was.
    pub(crate) started: Option<usize>,
    /// Why there is no report that could be read, if there is none.
    pub(crate) no_report: Option<&'a str>,
}

/// Judges a run.
pub(crate) fn judge<'a>(
    seen: Seen<'_>,
    report: &'a Report,
    pattern: Option<&IdPattern>,
) -> Judgement<'a> {
    let assigned = names::assign(seen.order, &report.cases, pattern);
    let mut ends = Vec::new();
    let mut missing = Vec::new();
    for (place, cases) in assigned.iter().enumerate() {
        let is_it = |other: &&str| *other == seen.order[place];
        let n_asked = seen.order.iter().filter(|id| is_it(id)).count();
        let n_before = seen.order[..place].iter().filter(|id| is_it(id)).count();
        if n_asked < cases.len() {
            return Judgement::Void(named_often(seen.order[place], cases, n_asked));
        }
        match cases.get(n_before) {
            Some(case) => ends.push((place, *case)),
            None => missing.push(place),
        }
    }
    match rest(seen, &ends, &missing, report.bailed.is_some()) {
        Some(rest) => Judgement::Told { ends, rest },
        None => Judgement::Void(not_named(seen, &missing, report, ends.is_empty())),
    }
}

fn rest(
    seen: Seen<'_>,
    ends: &[(usize, &Case)],
    missing: &[usize],
    has_bailed: bool,
) -> Option<Rest> {
    let Some(first) = missing.first().copied() else { return Some(Rest::NotRun) };
    if has_bailed {
        return Some(Rest::NotRun);
    }
    if seen.exit.code == Some(0) {
        return None;
    }
    if let Some(started) = seen.started.filter(|place| missing.contains(place)) {
        return Some(Rest::CrashedAt(started));
    }
    let is_alone = seen.order.iter().all(|id| *id == seen.order[0]);
    if is_alone && ends.is_empty() {
        return Some(Rest::CrashedAt(0));
    }
    let is_all_behind = first + missing.len() == seen.order.len();
    let (_, last) = ends.last().filter(|_| is_all_behind)?;
    let stopped = !last.is_fine() && seen.exit.signal.is_none();
    Some(if stopped { Rest::NotRun } else { Rest::CrashedAt(first) })
}

fn named_often(id: &str, cases: &[&Case], n_asked: usize) -> Void {
    let names: Vec<String> = cases.iter().take(QUOTED_MAX).map(|case| quoted(case)).collect();
    let how_often = match (cases.len(), n_asked) {
        (2, _) => "twice".to_owned(),
        (n, _) => format!("{n} times"),
    };
    Void {
        what: format!("the report names `{id}` {how_often}"),
        hint: format!(
            "it has {}; set `id` of the runner to what tells tests apart, such as \
             \"{{classname}}::{{name}}\", and let `list` print the same",
            names.join(", ")
        ),
    }
}

fn not_named(seen: Seen<'_>, missing: &[usize], report: &Report, is_silent: bool) -> Void {
    let id = missing.first().map_or("", |place| seen.order[*place]);
    let (left, exit) = (seen.exit.code != Some(0), seen.exit);
    if let Some(why) = seen.no_report {
        return Void {
            what: format!("there is no report of the run, which left with {exit}: {why}"),
            hint: no_report_hint(left),
        };
    }
    if is_silent && left && report.cases.is_empty() {
        return Void {
            what: format!("the report names no test, and the run left with {exit}"),
            hint: no_report_hint(left),
        };
    }
    let more = match missing.len() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let names: Vec<String> = report.cases.iter().take(QUOTED_MAX).map(quoted).collect();
    let found = if names.is_empty() { "no test at all".to_owned() } else { names.join(", ") };
    Void {
        what: format!("the report does not name `{id}`{more}"),
        hint: format!(
            "it has {found}; `list` must print the tests as the report names them, or `id` of the \
             runner say how an id is made, such as \"{{classname}}::{{name}}\""
        ),
    }
}

fn no_report_hint(left: bool) -> String {
    if left {
        "set `starts` of the runner to the line it writes when a test begins, then the test that \
         ends a run is known"
            .to_owned()
    } else {
        "put `{report}` into `run` where the path of the report goes, or set `report-file`"
            .to_owned()
    }
}

fn quoted(case: &Case) -> String {
    format!("`{}` in `{}`", case.name, case.class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report;
    use crate::settings::Format;

    const CLEAN: Exit = Exit { code: Some(0), signal: None };
    const FAILED: Exit = Exit { code: Some(1), signal: None };
    const SEGV: Exit = Exit { code: None, signal: Some(11) };

    fn tap(text: &str) -> Report {
        report::read(Format::Tap, &[text.to_owned()]).unwrap()
    }

    /// Which tests are told, and what of the rest.
    fn judged(
        order: &[&str],
        text: &str,
        exit: Exit,
        started: Option<usize>,
    ) -> Result<(Vec<usize>, Rest), String> {
        let seen = Seen { order, exit, started, no_report: None };
        let report = tap(text);
        match judge(seen, &report, None) {
            Judgement::Told { ends, rest } => Ok((ends.iter().map(|end| end.0).collect(), rest)),
            Judgement::Void(void) => Err(void.what),
        }
    }

    #[test]
    fn the_whole_table() {
        let abc = ["a", "b", "c"];
        let (not_run, crashed) = (Rest::NotRun, Rest::CrashedAt);
        let all = "ok 1 - a\nok 2 - b\nnot ok 3 - c\n";
        assert_eq!(judged(&abc, all, FAILED, None), Ok((vec![0, 1, 2], not_run)));
        assert_eq!(judged(&abc, all, SEGV, None), Ok((vec![0, 1, 2], not_run)));
        let two = "ok 1 - a\nok 2 - b\n";
        assert_eq!(judged(&abc, two, CLEAN, None), Err("the report does not name `c`".into()));
        assert_eq!(judged(&abc, two, SEGV, None), Ok((vec![0, 1], crashed(2))));
        assert_eq!(judged(&abc, two, FAILED, None), Ok((vec![0, 1], crashed(2))));
        let stops = "not ok 1 - a\n";
        assert_eq!(judged(&abc, stops, FAILED, None), Ok((vec![0], not_run)));
        assert_eq!(judged(&abc, stops, SEGV, None), Ok((vec![0], crashed(1))));
        let bails = "ok 1 - a\nBail out!\n";
        assert_eq!(judged(&abc, bails, FAILED, None), Ok((vec![0], not_run)));
        assert_eq!(judged(&abc, "Bail out!", CLEAN, None), Ok((vec![], not_run)));
        let hole = "ok 1 - a\nok 2 - c\n";
        assert_eq!(judged(&abc, hole, FAILED, None), Err("the report does not name `b`".into()));
        assert_eq!(judged(&abc, hole, FAILED, Some(1)), Ok((vec![0, 2], crashed(1))));
        assert_eq!(judged(&["a"], "", SEGV, None), Ok((vec![], crashed(0))));
        assert_eq!(judged(&["a", "a"], "", SEGV, None), Ok((vec![], crashed(0))));
        assert_eq!(judged(&abc, "", SEGV, Some(1)), Ok((vec![], crashed(1))));
        let none = "the report names no test, and the run left with killed by signal 11 (SIGSEGV)";
        assert_eq!(judged(&abc, "", SEGV, None), Err(none.to_owned()));
        let other = "ok 1 - x\n";
        assert_eq!(
            judged(&abc, other, CLEAN, None),
            Err("the report does not name `a` and 2 more".into())
        );
    }

    #[test]
    fn a_test_that_is_named_too_often_voids_the_run() {
        let said = judged(&["a", "b"], "ok 1 - a\nok 2 - a\nok 3 - b\n", CLEAN, None);
        assert_eq!(said, Err("the report names `a` twice".to_owned()));
        let said = judged(&["a"], "ok 1 - a\nok 2 - a\nok 3 - a\n", CLEAN, None);
        assert_eq!(said, Err("the report names `a` 3 times".to_owned()));
    }

    #[test]
    fn a_test_that_was_asked_for_twice_has_a_case_each_time() {
        let order = ["a", "b", "a"];
        let report = tap("ok 1 - a\nok 2 - b\nnot ok 3 - a\n");
        let seen = Seen { order: &order, exit: FAILED, started: None, no_report: None };
        let Judgement::Told { ends, .. } = judge(seen, &report, None) else { panic!("void") };
        let fine: Vec<bool> = ends.iter().map(|(_, case)| case.is_fine()).collect();
        assert_eq!(fine, [true, true, false]);
    }

    #[test]
    fn what_is_missing_is_said_with_what_is_there() {
        let order = ["a", "b"];
        let seen = Seen { order: &order, exit: CLEAN, started: None, no_report: None };
        let report = tap("ok 1 - suite a\n");
        let Judgement::Void(void) = judge(seen, &report, None) else { panic!("told") };
        assert!(
            void.hint.starts_with("it has `suite a` in ``; `list` must print"),
            "{}",
            void.hint
        );
        let seen = Seen { no_report: Some("no such file"), ..seen };
        let Judgement::Void(void) = judge(seen, &Report::default(), None) else { panic!("told") };
        assert_eq!(
            void.what,
            "there is no report of the run, which left with exit status 0: no such file"
        );
        assert!(void.hint.contains("`{report}`"));
    }
}
