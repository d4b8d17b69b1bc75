//! The rerun study of flaky Java tests (root-cause spec 2.3; results in its section 4): do our
//! tests of equal rates say what the published ones say?
//!
//! A row is a test with its failures and runs in each class order. The published p-value is from
//! R's `prop.test`, and ours must be the same number. Beside it are the exact test, which decides
//! in this project, and the verdicts it leads to. The last table repeats the study's comparison of
//! the suite with isolation.

use std::collections::BTreeMap;
use std::path::Path;

use unflake_model::{Confidence, Tally, Verdict};
use unflake_stats::compare::{Classified, ExactTest, Method, Question, classify};
use unflake_stats::rank::{kolmogorov_smirnov, signed_rank};

use super::printed::Printed;
use super::read::{DataFile, Row};
use super::summary::{median, p_value, percent, range};
use super::{SEED, headline};
use crate::table::{render, row};

mod categories;

const FILE: &str = "rerun-rates-java.csv";
const ALPHA: f64 = 0.05;
/// Differences of failure rates that would not matter, for the verdict NDOI.
const MARGINS: [f64; 3] = [0.05, 0.10, 0.20];

const WHICH_PAIRS: &str = "\
The study's 50 passed and failed alone; a few of them are not listed here. Its KS p-value is of
the size found over all listed tests: it seems not to be over the 50.";

mod column {
    pub(super) const TEST: &str = "Fully-Qualified Test Name (packageName.ClassName.methodName)";
    pub(super) const FAILURES: &str = "Number Of Test Failures In Test Suite";
    pub(super) const RUNS: &str = "Number Of Test Runs In Test Suite";
    pub(super) const P_VALUE: &str = "P-Value";
    pub(super) const SIDE: &str = "Is P-Value Less Or Greater Than 0.05";
    pub(super) const SUITE_RUNS: &str = "Total Runs In Test Suite";
    pub(super) const SUITE_PASSES: &str = "Number of Times Test Passed In Test Suite";
    pub(super) const ALONE_RUNS: &str = "Total Runs In Isolation";
    pub(super) const ALONE_PASSES: &str = "Number of Times Test Passed In Isolation";
}

struct Test {
    name: String,
    /// The tally of each order.
    orders: Vec<Tally>,
    suite: Tally,
    alone: Tally,
    theirs: Printed,
    /// Whether the study says that its p-value is below 0.05.
    is_below: bool,
}

/// A test with our results.
struct Compared<'a> {
    test: &'a Test,
    ours: f64,
    exact: ExactTest,
    by_margin: [Classified; MARGINS.len()],
}

impl Compared<'_> {
    fn is_exact_below(&self) -> bool {
        self.exact.p_value < ALPHA
    }
}

pub(super) fn report(data: &Path) -> Result<(), String> {
    let file = DataFile::open(data, FILE)?;
    let tests = file.rows().map(read).collect::<Result<Vec<Test>, String>>()?;
    headline(&format!("{FILE}: {} flaky Java tests, failures per class order", tests.len()));
    let compared = tests.iter().map(compare).collect::<Result<Vec<Compared>, String>>()?;
    let agreement = agreement(&compared);
    exact_beside(&compared);
    study(&compared);
    verdicts(&compared);
    categories::report(&compared);
    suite_against_isolation(&tests);
    agreement
}

fn read(row: Row) -> Result<Test, String> {
    let failures = list(row, column::FAILURES)?;
    let runs = list(row, column::RUNS)?;
    if failures.len() != runs.len() {
        let complaint = format!("has {} orders, not {}", runs.len(), failures.len());
        return Err(row.fault(column::RUNS, &complaint));
    }
    if failures.iter().zip(&runs).any(|(failures, runs)| runs < failures) {
        return Err(row.fault(column::FAILURES, "has more failures than runs"));
    }
    let pairs = failures.iter().zip(&runs);
    let orders: Vec<Tally> =
        pairs.map(|(&failures, &attempts)| Tally { failures, attempts }).collect();
    let suite = tally(row, column::SUITE_RUNS, column::SUITE_PASSES)?;
    if suite != (Tally { failures: failures.iter().sum(), attempts: runs.iter().sum() }) {
        return Err(row.fault(column::SUITE_PASSES, "is not what the orders add up to"));
    }
    let printed = Printed::parse(row.text(column::P_VALUE)?);
    Ok(Test {
        name: row.name(column::TEST)?.into(),
        orders,
        suite,
        alone: tally(row, column::ALONE_RUNS, column::ALONE_PASSES)?,
        theirs: printed.ok_or_else(|| row.fault(column::P_VALUE, "is not a probability"))?,
        is_below: match row.text(column::SIDE)? {
            "less" => true,
            "greater" => false,
            _ => return Err(row.fault(column::SIDE, "is neither `less` nor `greater`")),
        },
    })
}

/// Counts written as `(1;0;2)`.
fn list(row: Row, column: &str) -> Result<Vec<u64>, String> {
    let text = row.text(column)?;
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let counts = inner.map(|inner| inner.split(';').map(str::parse).collect());
    match counts {
        Some(Ok(counts)) => Ok(counts),
        _ => Err(row.fault(column, "is not a list of counts like `(1;0;2)`")),
    }
}

fn tally(row: Row, runs: &str, passes: &str) -> Result<Tally, String> {
    let attempts: u64 = row.parsed(runs, "a count")?;
    if attempts == 0 {
        return Err(row.fault(runs, "is no run at all"));
    }
    let failures = attempts.checked_sub(row.parsed(passes, "a count")?);
    let failures = failures.ok_or_else(|| row.fault(passes, "is more passes than runs"))?;
    Ok(Tally { failures, attempts })
}

fn compare(test: &Test) -> Result<Compared<'_>, String> {
    let question = |margin| Question { confidence: Confidence::USUAL, margin, seed: SEED };
    let by_margin = MARGINS.map(|margin| classify(&test.orders, question(margin)));
    match (by_margin[0].chi_square, by_margin[0].exact) {
        (Some(chi_square), Some(exact)) => {
            Ok(Compared { test, ours: chi_square.p_value, exact, by_margin })
        }
        _ => Err(format!("`{FILE}`: nothing to compare in the orders of `{}`", test.name)),
    }
}

/// Prints the p-values side by side; an error if some disagree.
fn agreement(compared: &[Compared]) -> Result<(), String> {
    let count = |is: fn(&&Compared) -> bool| compared.iter().filter(is).count();
    let difference = |c: &Compared| c.test.theirs.difference(c.ours);
    let worst = compared.iter().map(difference).fold(0.0, f64::max);
    let relative = compared.iter().filter(|c| 0.0 < c.test.theirs.value);
    let worst_relative = relative.map(|c| difference(c) / c.test.theirs.value).fold(0.0, f64::max);
    println!("P-value of equal failure rates in all orders: ours against the published one\n");
    let rows = vec![
        row!["p-values compared", compared.len()],
        row![
            "agree within 1e-6 or half a unit of the last digit",
            count(|c| c.test.theirs.agrees(c.ours))
        ],
        row!["agree in every digit printed", count(|c| c.test.theirs.has_digits_of(c.ours))],
        row!["on the published side of 0.05", count(|c| (c.ours < ALPHA) == c.test.is_below)],
        row!["worst difference", format!("{worst:.1e}")],
        row![
            "worst difference, relative (3 or 7 digits are printed)",
            format!("{worst_relative:.1e}")
        ],
    ];
    print!("{}", render(&rows));
    let show = |c: &Compared| {
        format!("`{}`: ours {:e}, theirs {:e}", c.test.name, c.ours, c.test.theirs.value)
    };
    let inexact = compared.iter().filter(|c| !c.test.theirs.has_digits_of(c.ours));
    for compared in inexact {
        println!("differs in its digits: {}", show(compared));
    }
    let wrong = compared.iter().filter(|c| !c.test.theirs.agrees(c.ours));
    let wrong: Vec<String> = wrong.map(show).collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("{} p-values of `{FILE}` disagree: {}", wrong.len(), wrong.join("; ")))
    }
}

/// The exact test's verdicts beside those of chi-square.
fn exact_beside(compared: &[Compared]) {
    println!("\nThe exact test beside chi-square, at 0.05\n");
    let count = |chi_square: bool, exact: bool| {
        let same = |c: &&Compared| (c.ours < ALPHA) == chi_square && c.is_exact_below() == exact;
        compared.iter().filter(same).count()
    };
    let line = |name: &str, below: bool| {
        let (yes, no) = (count(below, true), count(below, false));
        row![name, yes, no, yes + no]
    };
    let rows = vec![
        row!["", "exact: differ", "exact: not shown", "all"],
        line("chi-square: differ", true),
        line("chi-square: not shown", false),
    ];
    print!("{}", render(&rows));
    let corrected = ALPHA / compared.len() as f64;
    let n_corrected = compared.iter().filter(|c| c.exact.p_value < corrected).count();
    let n_counted = compared.iter().filter(|c| c.exact.method == Method::Counted).count();
    println!("exact p below 0.05 / {} (Bonferroni): {n_corrected}", compared.len());
    println!("exact p counted: {n_counted}, from tables drawn: {}", compared.len() - n_counted);

    let mut alike: BTreeMap<String, (usize, &Compared)> = BTreeMap::new();
    for compared in compared.iter().filter(|c| (c.ours < ALPHA) != c.is_exact_below()) {
        alike.entry(failing_orders(&compared.test.orders)).or_insert((0, compared)).0 += 1;
    }
    println!("\nWhere the two differ (equal counts in one line)\n");
    let mut rows = vec![row!["failures / runs of failing orders", "tests", "chi-square", "exact"]];
    rows.extend(alike.iter().map(|(orders, (n, compared))| {
        row![orders, n, p_value(compared.ours), p_value(compared.exact.p_value)]
    }));
    print!("{}", render(&rows));
    println!("Chi-square is a limit for many failures: a few in small orders are too much for it,");
    println!("though they had to be somewhere (example E16).");
}

/// The orders in which it failed, worst first, and a summary of the others.
fn failing_orders(orders: &[Tally]) -> String {
    let mut failing: Vec<Tally> = orders.iter().copied().filter(|t| 0 < t.failures).collect();
    failing.sort_unstable_by_key(|t| (u64::MAX - t.failures, t.attempts));
    let n_runs: u64 = orders.iter().map(|t| t.attempts).sum();
    let shown: Vec<String> =
        failing.iter().map(|t| format!("{}/{}", t.failures, t.attempts)).collect();
    format!("{} ({} orders, {n_runs} runs)", shown.join(" "), orders.len())
}

/// The study's own counts, which leave out tests with fewer than three orders.
fn study(compared: &[Compared]) {
    let compared: Vec<&Compared> =
        compared.iter().filter(|c| !c.by_margin[0].has_few_orders()).collect();
    let below = compared.iter().filter(|c| c.ours < ALPHA).count();
    let exact_below = compared.iter().filter(|c| c.is_exact_below()).count();
    let shares: Vec<f64> = compared.iter().filter_map(|c| c.by_margin[0].failing_share()).collect();
    let ends = range(&shares);
    println!("\nTests with at least three orders, as the study counts them\n");
    let rows = vec![
        row!["", "here", "published", "exact test"],
        row!["tests", compared.len(), 98, ""],
        row!["p < 0.05: order matters", below, 70, exact_below],
        row!["not shown", compared.len() - below, 28, compared.len() - exact_below],
        row!["share of orders that fail: least", percent(ends.map(|e| e.0)), "4.8 %", ""],
        row!["                           median", percent(median(&shares)), "19 %", ""],
        row!["                           greatest", percent(ends.map(|e| e.1)), "90.5 %", ""],
    ];
    print!("{}", render(&rows));
}

/// How the tests are classified, at several margins for "the order does not matter".
fn verdicts(compared: &[Compared]) {
    println!("\nVerdicts (Table 1.1 with the exact test, at 95 %)\n");
    let mut counts: BTreeMap<Verdict, [usize; MARGINS.len()]> = BTreeMap::new();
    for compared in compared {
        for (index, classified) in compared.by_margin.iter().enumerate() {
            counts.entry(classified.verdict).or_default()[index] += 1;
        }
    }
    let mut head = row!["margin for NDOI"];
    head.extend(MARGINS.map(|margin| format!("{:.0} %", 100.0 * margin)));
    let mut rows = vec![head];
    for verdict in Verdict::ALL {
        if let Some(counts) = counts.get(&verdict) {
            let mut line = row![format!("{verdict}: {}", verdict.meaning())];
            line.extend(counts.iter().map(ToString::to_string));
            rows.push(line);
        }
    }
    print!("{}", render(&rows));
    println!("published, by hand, of 28 tests: 7 OD, 14 NDOD, 4 NDOI, 3 undecided");
}

/// Failure rates in the suite and alone.
fn suite_against_isolation(tests: &[Test]) {
    println!("\nIn the suite against alone\n");
    let mut rows = vec![row![
        "tests that",
        "tests",
        "alone less",
        "equal",
        "alone more",
        "Wilcoxon p",
        "KS distance",
        "KS p"
    ]];
    let selections = [
        ("passed and failed alone", tests.iter().filter(|t| t.alone.is_mixed()).collect()),
        ("failed alone", tests.iter().filter(|t| 0 < t.alone.failures).collect()),
        ("are listed", tests.iter().collect::<Vec<&Test>>()),
    ];
    for (name, selected) in selections {
        let selected = selected.iter();
        let pairs: Vec<(f64, f64)> =
            selected.map(|test| (rate(test.suite), rate(test.alone))).collect();
        rows.push(against(name, &pairs));
    }
    rows.push(row!["published", 50, 19, 3, 28, "0.041", "", "2.9e-12"]);
    print!("{}", render(&rows));
    println!("{WHICH_PAIRS}");
}

fn against(name: &str, pairs: &[(f64, f64)]) -> Vec<String> {
    let (suite, alone): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let less = pairs.iter().filter(|(suite, alone)| alone < suite).count();
    let more = pairs.iter().filter(|(suite, alone)| suite < alone).count();
    let ks = kolmogorov_smirnov(&suite, &alone);
    row![
        name,
        pairs.len(),
        less,
        pairs.len() - less - more,
        more,
        p_value(signed_rank(pairs).map(|test| test.p_value)),
        ks.map_or_else(|| "-".into(), |test| format!("{:.3}", test.statistic)),
        p_value(ks.map(|test| test.p_value)),
    ]
}

/// The failure rate in whole millionths of a millionth, so that equal differences are equal
/// numbers.
fn rate(tally: Tally) -> f64 {
    (1e12 * tally.failures as f64 / tally.attempts as f64).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: [&str; 9] = [
        column::TEST,
        column::FAILURES,
        column::RUNS,
        column::P_VALUE,
        column::SIDE,
        column::SUITE_RUNS,
        column::SUITE_PASSES,
        column::ALONE_RUNS,
        column::ALONE_PASSES,
    ];

    fn test(values: &str) -> Result<Test, String> {
        let text = format!("{}\n{values}\n", HEAD.join(","));
        let file = DataFile::parse("x.csv", &text)?;
        file.rows().next().map(read).unwrap()
    }

    fn refusal(values: &str) -> String {
        test(values).map(|_| ()).unwrap_err()
    }

    #[test]
    fn the_one_failure_of_example_e16_is_chance_only_to_the_exact_test() {
        let (mut failures, mut runs) = (vec!["0"; 20], vec!["100"; 20]);
        failures.push("0");
        runs.push("2000");
        failures[0] = "1";
        let (failures, runs) = (failures.join(";"), runs.join(";"));
        let values = format!("C.t,({failures}),({runs}),0.006648795,less,4000,3999,4000,4000");
        let test = test(&values).unwrap();
        let compared = compare(&test).unwrap();
        assert!(test.theirs.has_digits_of(compared.ours));
        assert!(!compared.is_exact_below());
        assert_eq!(failing_orders(&test.orders), "1/100 (21 orders, 4000 runs)");
        assert!(agreement(&[compared]).is_ok());
    }

    #[test]
    fn a_published_p_value_that_is_not_ours_is_an_error() {
        // With Yates' correction chi2 = 64/15 and p = 0.0389.
        let test = test("C.t,(5;0),(10;10),0.5,greater,20,15,10,10").unwrap();
        let error = agreement(&[compare(&test).unwrap()]).unwrap_err();
        assert!(error.contains("1 p-values") && error.contains("`C.t`"), "{error}");
    }

    #[test]
    fn counts_that_do_not_fit_are_refused_by_name() {
        assert!(refusal("C.t,(1;x),(9;9),1,less,18,17,9,9").contains("line 2: `(1;x)`"));
        assert!(refusal("C.t,(1;0),(9),1,less,18,17,9,9").contains("has 1 orders, not 2"));
        assert!(refusal("C.t,(9;0),(8;9),1,less,17,8,9,9").contains("more failures than runs"));
        assert!(refusal("C.t,(1;0),(9;9),1,less,18,18,9,9").contains("add up"));
        assert!(refusal("C.t,(1;0),(9;9),2,less,18,17,9,9").contains("`2` in column `P-Value`"));
        assert!(refusal("C.t,(1;0),(9;9),1,same,18,17,9,9").contains("`same`"));
    }
}
