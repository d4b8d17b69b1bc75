//! What shaking a test has shown, for people and for programs.

use std::time::Duration;

use unflake_known::saved::shaking as saved;
use unflake_known::shaking::{Plainly, Shaking, Shook};
use unflake_known::{Confirmation, Ended, Failure, KnownFactor, Origin};
use unflake_model::{
    Confidence, Decides, Factor, Factors, RootCause, Spent, Tally, TestId, Verdict,
};
use unflake_report::Command;
use unflake_report::Layout;
use unflake_report::shake::{json, text};

use crate::schema::faults;

const PLAIN: Layout = Layout::plain(80);

fn tally(failures: u64, attempts: u64) -> Tally {
    Tally { failures, attempts }
}

fn set(factors: &[Factor]) -> Factors {
    factors.iter().copied().collect()
}

fn shook(factors: &[Factor], cause: RootCause) -> Shook {
    Shook {
        factors: set(factors),
        how: vec!["PYTHONHASHSEED=462".to_owned()],
        seed: 1_036_765,
        under_seed: tally(8, 8),
        with: tally(11, 12),
        without: tally(0, 20),
        p_value: 0.000_01,
        decides: Decides::Seed,
        makes_it_fail: true,
        cause: Some(cause),
        took: (Some(Duration::from_millis(900)), Some(Duration::from_millis(10))),
        failure: Some(Failure {
            message: "AssertionError: \u{1b}[2J['b', 'a']".to_owned(),
            text: String::new(),
        }),
        run: Some("1eef63/34".to_owned()),
        replayed: Confirmation { as_predicted: 3, tries: 3, ..Confirmation::default() },
        plain: Some(Plainly {
            command: "PYTHONHASHSEED=462 python -m pytest tests/test_club.py::test_order"
                .to_owned(),
            tried: Confirmation { as_predicted: 3, tries: 3, ..Confirmation::default() },
        }),
    }
}

fn shaking(exhibits: Vec<Shook>, ended: Ended) -> Shaking {
    let id: TestId = "tests/test_club.py::test_order".parse().expect("an id");
    Shaking {
        test: id,
        fixed: tally(0, 30),
        exhibits,
        screened: vec![(Factor::Cpu, tally(0, 29)), (Factor::Clock, tally(0, 31))],
        refused: vec![(Factor::Network, "no `socket` here".to_owned())],
        warnings: Vec::new(),
        spent: Spent { runs: 119, attempts: 119, time: Duration::from_secs(50) },
        wall_time: Duration::from_secs(52),
        ended,
        confidence: Confidence::USUAL,
        origin: Origin::new(
            "pytest 8.3.1",
            0,
            "unflake shake tests/test_club.py::test_order",
            None,
        ),
    }
}

/// One that a plain command shows; two that act by chance and only together; none so far; none.
fn all() -> [(&'static str, Shaking); 4] {
    let by_seed = shook(&[Factor::HashSeed], RootCause::UnorderedCollection);
    let by_chance = Shook {
        decides: Decides::Chance,
        under_seed: tally(5, 8),
        run: None,
        plain: None,
        how: Vec::new(),
        failure: None,
        took: (None, None),
        ..shook(&[Factor::Cpu, Factor::Waits], RootCause::AsyncWait)
    };
    assert_eq!(by_seed.verdict(), Some(Verdict::Id));
    [
        ("one", shaking(vec![by_seed.clone()], Ended::Confident)),
        ("two", shaking(vec![by_seed, by_chance], Ended::OutOfBudget)),
        ("none", shaking(Vec::new(), Ended::Interrupted)),
        ("none_at_all", shaking(Vec::new(), Ended::Confident)),
    ]
}

fn json_of(shaking: &Shaking) -> String {
    crate::without_version(&json::render(shaking, Command::Shake))
}

#[test]
fn what_shook_a_test_is_shown() {
    for (name, shaking) in all() {
        insta::assert_snapshot!(format!("shake-text-{name}"), text::render(&shaking, PLAIN));
        insta::assert_snapshot!(format!("shake-json-{name}"), json_of(&shaking));
    }
}

#[test]
fn what_programs_are_told_is_as_the_schema_says() {
    for (name, shaking) in all() {
        let told = serde_json::from_str(&json_of(&shaking)).expect("JSON");
        assert_eq!(faults(&told), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_was_shown_can_be_shown_again() {
    for (name, shaking) in all() {
        let again = saved::read(&saved::write(&shaking)).unwrap();
        assert_eq!(text::render(&again, PLAIN), text::render(&shaking, PLAIN), "{name}");
        assert_eq!(json_of(&again), json_of(&shaking), "{name}");
    }
    assert!(saved::read("").is_none());
    assert!(saved::read("{\"version\": 1}").is_none());
}

/// Of other days than the one that was found nothing is to be expected.
#[test]
fn a_factor_is_told_by_the_runs_under_the_very_circumstance_that_is_named() {
    let last_day = Shook {
        how: vec!["on the last day of the year".to_owned()],
        with: tally(0, 12),
        ..shook(&[Factor::Date], RootCause::Time)
    };
    let known = KnownFactor::all(&shaking(vec![last_day], Ended::Confident), "801155", false);
    assert_eq!(
        unflake_report::factor_in_words(&known[0]),
        "date makes it fail (on the last day of the year): failed 8 of 8 with it, 0 of 20 without; \
         shaken in 801155"
    );
}
