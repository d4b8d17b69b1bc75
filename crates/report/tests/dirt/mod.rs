//! What tests leave behind, in every format.

use std::time::Duration;

use unflake_known::inspection::{Harmless, Inspection, Leaver, Left, Standing, Unseen};
use unflake_known::{Ended, Origin, State, Warning};
use unflake_model::{OutcomeKind, StateKind};
use unflake_report::Layout;
use unflake_report::dirt::{Shown, json, markdown, text};

use crate::schema::faults;

const PLAIN: Layout = Layout::plain(80);

fn left(place: &str, (before, after): (Option<&str>, Option<&str>), standing: Standing) -> Left {
    let text = |it: Option<&str>| it.map(str::to_owned);
    let (place, kind) = (place.to_owned(), StateKind::Global);
    Left {
        state: State { place, kind, before: text(before), after: text(after) },
        by: None,
        standing,
    }
}

fn leaver(test: &str, outcome: OutcomeKind, places: Vec<Left>) -> Leaver {
    Leaver { test: test.parse().expect("an id"), outcome, places, n_more: 0 }
}

fn dirt() -> Standing {
    Standing::Dirt { put_back_by: None }
}

fn inspection(tests: Vec<Leaver>) -> Inspection {
    Inspection {
        n_tests: 40,
        tests,
        unseen: Vec::new(),
        n_failed: 0,
        n_not_run: 0,
        unused: Vec::new(),
        warnings: Vec::new(),
        wall_time: Duration::from_millis(1500),
        ended: Ended::Confident,
        origin: Origin {
            runner: "pytest".to_owned(),
            runner_version: "8.3.1".to_owned(),
            seed: 0,
            hash_seed: None,
            command: "unflake lint --dynamic".to_owned(),
            campaign: None,
            lent: std::collections::BTreeMap::new(),
            between: None,
        },
    }
}

/// Every standing, hostile texts, a crowd, and all that limits the answer.
fn all_at_once() -> Inspection {
    let (a, b) = ("tests/test_a.py::test_a", "tests/test_a.py::test_b[|`x`]");
    let back = Standing::Dirt { put_back_by: Some(b.parse().expect("an id")) };
    let long = format!("'\u{1b}[2J{}'", "x".repeat(100));
    let by_fixture = Left {
        by: Some("session fixture db".to_owned()),
        ..left("shop.DB", (Some("None"), Some("<shop.Db>")), dirt())
    };
    let first = vec![
        left("shop.X", (Some("1"), Some("2")), back),
        left("shop.Y['k']", (None, Some(&long)), dirt()),
        left("shop.Z", (Some("<A>"), Some("<A>")), dirt()),
        by_fixture,
        left("shop.f", (Some("0"), Some("1")), Standing::Harmless(Harmless::Cached)),
    ];
    let second = vec![
        left(
            "shop.X",
            (Some("2"), Some("1")),
            Standing::PutsBack { left_by: a.parse().expect("an id") },
        ),
        left("shop.LOGGED", (Some("0"), None), Standing::Allowed { entry: "shop.L*".to_owned() }),
    ];
    let mut tests =
        vec![leaver(a, OutcomeKind::Failed, first), leaver(b, OutcomeKind::Passed, second)];
    tests[0].n_more = 3;
    tests.extend((0..6).map(|n| {
        let place = format!("shop.LOG[{n}]");
        leaver(
            &format!("t.py::c{n}"),
            OutcomeKind::Passed,
            vec![left(&place, (None, Some("1")), dirt())],
        )
    }));
    Inspection {
        unseen: vec![Unseen {
            test: "t.py::gone".parse().expect("an id"),
            outcome: OutcomeKind::Crashed,
        }],
        n_failed: 2,
        n_not_run: 5,
        ended: Ended::Interrupted,
        unused: vec!["shop.old".to_owned()],
        warnings: vec![Warning::WatchedInPart],
        ..inspection(tests)
    }
}

#[test]
fn every_format_of_what_is_left_behind() {
    let (all, shown) = (all_at_once(), [Shown::Dirt, Shown::All]);
    insta::assert_snapshot!("dirt-text", text::render(&all, shown[0], PLAIN));
    insta::assert_snapshot!("dirt-text-all", text::render(&all, shown[1], PLAIN));
    insta::assert_snapshot!("dirt-table", text::table(&all, shown[1]));
    insta::assert_snapshot!("dirt-markdown", markdown::render(&all, shown[0]));
    let document = json::render(&all, shown[1]);
    insta::assert_snapshot!("dirt-json", crate::without_version(&document));
    let nothing = text::render(&inspection(Vec::new()), shown[0], PLAIN);
    insta::assert_snapshot!(nothing, @r"
    No dirty test among 40 tests

    40 tests ran once in their original order, watched, in 1.5 s.
    ");
}

#[test]
fn the_report_for_programs_is_as_its_schema_says() {
    for (inspection, n_results) in [(all_at_once(), 8), (inspection(Vec::new()), 0)] {
        let report = serde_json::from_str(&json::render(&inspection, Shown::All)).expect("JSON");
        assert_eq!(faults(&report), Vec::<String>::new());
        assert_eq!(report["results"].as_array().map(Vec::len), Some(n_results));
    }
}

#[test]
fn a_long_list_is_bounded_and_the_rest_counted() {
    let many = (0..5000).map(|n| {
        let places = (0..40).map(|m| {
            let place = format!("shop.place_{n}_{m}");
            left(&place, (None, Some("1")), dirt())
        });
        leaver(&format!("t.py::t{n}"), OutcomeKind::Passed, places.collect())
    });
    let inspection = Inspection { n_tests: 5000, ..inspection(many.collect()) };
    let shown = text::render(&inspection, Shown::Dirt, PLAIN);
    assert!(shown.lines().count() < 1200, "{}", shown.lines().count());
    assert!(shown.contains("and 32 more\n") && shown.contains("and 4900 more;"), "{shown}");
    let table = text::table(&inspection, Shown::Dirt);
    assert!(table.ends_with("and 199000 more\n"), "{}", &table[table.len() - 99..]);
    let comment = markdown::render(&inspection, Shown::Dirt);
    assert!(comment.len() <= unflake_report::markdown::BYTES_MAX, "{}", comment.len());
    assert!(comment.contains(" in the full report."), "{comment}");
}
