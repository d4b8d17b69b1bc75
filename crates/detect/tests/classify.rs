//! The table from evidence to verdict, row by row.

use unflake_detect::classify::{ERROR_OF_A_DIFFERENCE, Facts, MARGIN, classify};
use unflake_model::{Confidence, Tally, Verdict};

fn tally(failures: u64, attempts: u64) -> Tally {
    Tally { failures, attempts }
}

/// A test that was run alone and in other contexts, each with failures and attempts.
fn seen(alone: (u64, u64), elsewhere: &[(u64, u64)]) -> Facts {
    let alone = tally(alone.0, alone.1);
    let elsewhere = elsewhere.iter().map(|(failures, attempts)| tally(*failures, *attempts));
    Facts {
        alone,
        contexts: [alone].into_iter().filter(|t| 0 < t.attempts).chain(elsewhere).collect(),
        group: None,
        is_random: false,
        in_company: Tally::default(),
        difference: None,
        group_confirmed: false,
        is_open: false,
    }
}

/// Makes the first of the other contexts the group that the test was found to depend on.
fn with_group(mut facts: Facts) -> Facts {
    facts.group = facts.contexts.get(1).copied();
    facts.group_confirmed = true;
    facts
}

/// Makes the other contexts other tests in many orders.
fn in_company(mut facts: Facts) -> Facts {
    for tally in &facts.contexts[1..] {
        facts.in_company.failures += tally.failures;
        facts.in_company.attempts += tally.attempts;
    }
    facts
}

fn differing(facts: Facts, p_value: f64) -> Facts {
    Facts { difference: Some(p_value), ..facts }
}

fn open(facts: Facts) -> Facts {
    Facts { is_open: true, ..facts }
}

fn table() -> Vec<(u8, &'static str, Facts)> {
    let mixed = || seen((4, 10), &[(9, 10)]);
    let alike = |n| in_company(seen((n / 5, n), &[(n / 10, n / 2), (n / 10, n / 2)]));
    vec![
        (1, "never seen", seen((0, 0), &[])),
        (1, "only skipped or not run", seen((0, 0), &[(0, 0), (0, 0)])),
        (2, "differ in turn, p = 1e-4", differing(mixed(), ERROR_OF_A_DIFFERENCE)),
        (2, "differ in turn, p = 1e-9, rates alike", differing(alike(200), 1e-9)),
        (3, "20 % of 200 everywhere", alike(200)),
        (3, "20 % of 80 everywhere", alike(80)),
        (4, "20 % of 20 everywhere", alike(20)),
        (4, "20 % of 200, in company never seen", seen((40, 200), &[(0, 0)])),
        (4, "20 % of 200, 45 % in company", in_company(seen((40, 200), &[(90, 200)]))),
        (4, "passes, contradicts itself elsewhere", {
            Facts { is_random: true, ..seen((0, 10), &[(0, 3)]) }
        }),
        (4, "differ in turn, p = 1.1e-4", differing(mixed(), 1.1 * ERROR_OF_A_DIFFERENCE)),
        (4, "mixed alone, nothing else", seen((1, 2), &[])),
        (4, "group confirmed, but mixed after it", with_group(seen((0, 10), &[(24, 25)]))),
        (5, "passes alone, fails after its group", with_group(seen((0, 10), &[(25, 25)]))),
        (6, "fails alone, passes after its group", with_group(seen((10, 10), &[(0, 25)]))),
        (7, "passes alone, fails elsewhere twice", seen((0, 3), &[(2, 2)])),
        (8, "fails alone, passes elsewhere twice", seen((3, 3), &[(0, 2)])),
        (9, "not run alone, both twice elsewhere", seen((0, 0), &[(0, 2), (2, 2)])),
        (10, "passes alone and elsewhere", seen((0, 10), &[(0, 1), (0, 1)])),
        (10, "passes elsewhere", seen((0, 0), &[(0, 1)])),
        (11, "fails alone ten times and elsewhere", seen((10, 10), &[(1, 1)])),
        (11, "fails alone nine times and elsewhere", seen((9, 9), &[(1, 1)])),
        (11, "fails elsewhere", seen((0, 0), &[(20, 20)])),
        (12, "only passes, but a question is open", open(seen((0, 10), &[]))),
        (12, "only fails, but a question is open", open(seen((10, 10), &[]))),
        (12, "passes alone, fails elsewhere once", seen((0, 10), &[(1, 1), (1, 1)])),
        (12, "passes alone once, fails elsewhere", seen((0, 1), &[(9, 9)])),
        (12, "not run alone, both once elsewhere", seen((0, 0), &[(0, 1), (1, 1)])),
    ]
}

#[test]
fn the_whole_table() {
    let line = |(row, what, facts): (u8, &str, Facts)| {
        let conclusion = classify(&facts);
        let confirmed = if conclusion.confirmed { "confirmed" } else { "open" };
        format!("{row:>2}  {what:<40} {:<22} {confirmed}", conclusion.verdict)
    };
    let lines: Vec<String> = table().into_iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
     1  never seen                               insufficient-evidence  open
     1  only skipped or not run                  insufficient-evidence  open
     2  differ in turn, p = 1e-4                 ndod                   confirmed
     2  differ in turn, p = 1e-9, rates alike    ndod                   confirmed
     3  20 % of 200 everywhere                   ndoi                   open
     3  20 % of 80 everywhere                    ndoi                   open
     4  20 % of 20 everywhere                    nod                    confirmed
     4  20 % of 200, in company never seen       nod                    confirmed
     4  20 % of 200, 45 % in company             nod                    confirmed
     4  passes, contradicts itself elsewhere     nod                    confirmed
     4  differ in turn, p = 1.1e-4               nod                    confirmed
     4  mixed alone, nothing else                nod                    confirmed
     4  group confirmed, but mixed after it      nod                    confirmed
     5  passes alone, fails after its group      od-victim              confirmed
     6  fails alone, passes after its group      od-brittle             confirmed
     7  passes alone, fails elsewhere twice      od-victim              open
     8  fails alone, passes elsewhere twice      od-brittle             open
     9  not run alone, both twice elsewhere      od                     open
    10  passes alone and elsewhere               not-flaky              open
    10  passes elsewhere                         not-flaky              open
    11  fails alone ten times and elsewhere      always-failing         open
    11  fails alone nine times and elsewhere     always-failing         open
    11  fails elsewhere                          always-failing         open
    12  only passes, but a question is open      insufficient-evidence  open
    12  only fails, but a question is open       insufficient-evidence  open
    12  passes alone, fails elsewhere once       insufficient-evidence  open
    12  passes alone once, fails elsewhere       insufficient-evidence  open
    12  not run alone, both once elsewhere       insufficient-evidence  open
    ");
}

#[test]
fn every_row_of_the_table_is_told_by_its_number() {
    for (row, what, facts) in table() {
        let conclusion = classify(&facts);
        let expected = match row {
            1 | 12 => Verdict::InsufficientEvidence,
            2 => Verdict::Ndod,
            3 => Verdict::Ndoi,
            4 => Verdict::NodUndecided,
            5 | 7 => Verdict::OdVictim,
            6 | 8 => Verdict::OdBrittle,
            9 => Verdict::OdUnknownRole,
            10 => Verdict::NotFlaky,
            _ => Verdict::AlwaysFailing,
        };
        assert_eq!(conclusion.verdict, expected, "row {row}, {what}");
        let is_confirmed = matches!(row, 2 | 4 | 5 | 6);
        assert_eq!(conclusion.confirmed, is_confirmed, "row {row}, {what}");
    }
}

/// A test that fails at one rate f everywhere shows 10 passes alone and 25 failures after the group
/// with probability (1-f)^10 f^25, at most (10/35)^10 (25/35)^25 = 8.06e-10, at f = 25/35.
#[test]
fn the_confidence_of_an_order_dependent_test_is_one_minus_the_chance_of_looking_so() {
    for facts in [seen((0, 10), &[(25, 25)]), seen((10, 10), &[(0, 25)])] {
        let confidence = classify(&with_group(facts)).confidence.unwrap();
        let error = confidence.error();
        assert!((8.05e-10..8.07e-10).contains(&error), "{error:e}");
    }
}

#[test]
fn the_confidence_of_a_difference_is_one_minus_its_p_value() {
    let facts = differing(seen((4, 10), &[(9, 10)]), 5e-5);
    let error = classify(&facts).confidence.unwrap().error();
    assert!((error - 5e-5).abs() < 1e-12, "{error:e}");
}

/// The interval of the difference holds at 95 %.
#[test]
fn alike_says_how_sure_it_is() {
    let alike = |n| classify(&in_company(seen((n / 5, n), &[(n / 10, n / 2), (n / 10, n / 2)])));
    let error = |n| alike(n).confidence.map(Confidence::error);
    assert!(error(200).is_some_and(|e| (e - 0.05).abs() < 1e-12));
    assert!(error(80).is_some_and(|e| (e - 0.05).abs() < 1e-12));
    assert_eq!(error(20), None);
}

/// With 100,000 runs of each, the interval is narrower than a percentage point.
#[test]
fn the_margin_is_what_separates_alike_from_undecided() {
    let n = 100_000;
    let after = |rate: f64| {
        let failures = (0..=n).find(|k| rate * n as f64 <= *k as f64).unwrap();
        classify(&in_company(seen((n / 5, n), &[(failures, n)]))).verdict
    };
    assert_eq!(after(0.2 + MARGIN - 0.01), Verdict::Ndoi);
    assert_eq!(after(0.2 + MARGIN + 0.01), Verdict::NodUndecided);
    assert_eq!(after(0.19), Verdict::Ndoi);
}
