//! Reruns of flaky Python tests (Gruber et al. 2021): how many runs until the median test has shown
//! itself, with 95 % probability?
//!
//! The study's answer is 170. Ours comes from the model of rerunning (characteristic-functions
//! spec): given the shares of passes and failures in the runs of one order, the fewest runs `n`
//! with `U(n) >= 95 %`. What matters far more than the formula is *which tests are included*. The
//! runs were made in iterations on different machines, and most tests whose outcomes differ at all
//! differ only between iterations: the study calls those infrastructure-flaky and counts as
//! non-deterministic (NOD) the tests that did both within one iteration. The report computes each
//! reading, which shows the effect of each choice.
//!
//! Limit: a test is listed only if it did show itself in about 200 runs, so rarer ones are missing
//! from every median here, as they are from the published one.

use std::collections::BTreeMap;
use std::path::Path;

use unflake_model::random::Random;
use unflake_model::{Confidence, Tally};
use unflake_stats::plan;
use unflake_stats::rate::Rate;
use unflake_stats::rerun::Chances;

use self::scheduling::Randoms;
use self::suite::Suite;
use super::curve::Chart;
use super::read::{DataFile, Row};
use super::summary::{mean, median, percent, runs};
use super::{Options, SEED, headline};
use crate::table::{render, row};

mod scheduling;
mod suite;

const FILE: &str = "rerun-counts-python.csv";
const PUBLISHED: u64 = 170;
const N_RESAMPLES: usize = 2000;

/// Why the median differs from the published one, as far as can be told.
const WHY: &str = "\
Not the formula: the simpler one gives the same median. Hardly the choice of tests: the study
counts about 980 NOD tests (13 % of 7571) in twice as many projects, and any other choice or
estimate moves the median over tests farther from 170. Which half of the projects is here
suffices to explain it: leaving out a single one moves the median by more, and no test here
needs a number of runs nearer to 170.";

/// How often a test ended in each way.
#[derive(Clone, Copy)]
struct Counts {
    passed: u64,
    /// How often the test itself failed; errors of set-up or teardown are not included.
    failed: u64,
    /// How often anything went wrong.
    unsuccessful: u64,
    skipped: u64,
}

struct Test {
    /// Projects with the same name are distinguished by their address.
    project: String,
    same_order: Counts,
    random_order: Counts,
    differs_in_same_order: bool,
    differs_within_iteration: bool,
    is_infrastructure: bool,
}

/// One way to read the question.
struct Reading {
    name: &'static str,
    selects: fn(&Test) -> bool,
    /// The runs that a test needs; `None` if no number of runs would do.
    needs: fn(&Test) -> Option<u64>,
}

const STUDY: Reading = Reading {
    name: "NOD as the study defines it: both within one iteration",
    selects: |test| test.differs_within_iteration,
    needs: unveiled,
};

const READINGS: [Reading; 9] = [
    STUDY,
    Reading { name: "  errors are not failures", needs: without_errors, ..STUDY },
    Reading { name: "  until a failure: ln 0.05 / ln(1-q)", needs: until_failure, ..STUDY },
    Reading {
        name: "  half a pass and half a failure imagined (Jeffreys)",
        needs: |test| smoothed(test, 2),
        ..STUDY
    },
    Reading {
        name: "  a pass and a failure imagined (Laplace)",
        needs: |test| smoothed(test, 1),
        ..STUDY
    },
    Reading { name: "  runs in random orders as well", needs: pooled, ..STUDY },
    Reading {
        name: "not infrastructure: adds some that depend on the order",
        selects: |test| test.differs_in_same_order && !test.is_infrastructure,
        ..STUDY
    },
    Reading {
        name: "infrastructure only",
        selects: |test| test.differs_in_same_order && test.is_infrastructure,
        ..STUDY
    },
    Reading {
        name: "all whose verdict in the same order is Flaky",
        selects: |test| test.differs_in_same_order,
        ..STUDY
    },
];

/// How soon our scheduler of reruns finds tests that fail at random; see [`scheduling`].
pub(super) fn contest(options: &Options) -> Result<(), String> {
    let tests = read_all(&options.data)?;
    let readings = [&READINGS[0], &READINGS[READINGS.len() - 1]];
    headline(&format!("{FILE}: detections for each second"));
    let mut suites = vec![Suite::Published];
    if let Some(path) = &options.durations {
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        suites.push(Suite::read(&DataFile::open(folder, &name)?)?);
    }
    let mut lost = Vec::new();
    for suite in &suites {
        for (index, reading) in readings.into_iter().enumerate() {
            match scheduling::report(suite, &reading.randoms(&tests)) {
                Ok(chart) if index == 0 => draw(options, suite, &chart)?,
                Ok(_) => (),
                Err(fault) => lost.push(fault),
            }
        }
    }
    if lost.is_empty() { Ok(()) } else { Err(lost.join("; ")) }
}

fn draw(options: &Options, suite: &Suite, chart: &Chart) -> Result<(), String> {
    let Some(folder) = &options.plots else { return Ok(()) };
    let path = folder.join(format!("reruns-{}.svg", suite.slug()));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, chart.svg()))
        .map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

fn read_all(data: &Path) -> Result<Vec<Test>, String> {
    DataFile::open(data, FILE)?.rows().map(read).collect()
}

pub(super) fn report(options: &Options) -> Result<(), String> {
    let tests = read_all(&options.data)?;
    let by_project = STUDY.needed_by_project(&tests);
    headline(&format!("{FILE}: {} flaky Python tests", tests.len()));
    readings(&tests);
    let Some(found) = median(&pool(by_project.values())) else {
        return Err(format!("`{FILE}` has no test that both passed and failed in one iteration"));
    };
    spread(&by_project, found);
    coverage(&tests, found);
    Ok(())
}

impl Counts {
    fn tally(&self) -> Tally {
        Tally { failures: self.unsuccessful, attempts: self.passed + self.unsuccessful }
    }

    /// The shares of its runs that failed and that were skipped.
    fn shares(&self) -> (f64, f64) {
        let n_runs = (self.passed + self.unsuccessful + self.skipped) as f64;
        (self.unsuccessful as f64 / n_runs, self.skipped as f64 / n_runs)
    }
}

impl Reading {
    fn randoms<'t>(&self, tests: &'t [Test]) -> Randoms<'t> {
        let mut by_project: BTreeMap<&str, Vec<&Counts>> = BTreeMap::new();
        for test in tests.iter().filter(|test| (self.selects)(test)) {
            by_project.entry(&test.project).or_default().push(&test.same_order);
        }
        Randoms { name: self.name, by_project: by_project.into_values().collect() }
    }

    fn needed_by_project(&self, tests: &[Test]) -> BTreeMap<String, Vec<f64>> {
        let mut by_project: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for test in tests.iter().filter(|test| (self.selects)(test)) {
            if let Some(n_runs) = (self.needs)(test) {
                by_project.entry(test.project.clone()).or_default().push(n_runs as f64);
            }
        }
        by_project
    }
}

fn read(row: Row) -> Result<Test, String> {
    Ok(Test {
        project: format!("{} {}", row.name("Project_Name")?, row.text("Project_URL")?),
        same_order: counts(row, "sameOrder")?,
        random_order: counts(row, "randomOrder")?,
        differs_in_same_order: row.name("Verdict_sameOrder")? == "Flaky",
        differs_within_iteration: flag(row, "Flaky_sameOrder_withinIteration")?,
        is_infrastructure: flag(row, "Flaky_Infrastructure")?,
    })
}

fn counts(row: Row, orders: &str) -> Result<Counts, String> {
    let count = |outcome: &str| row.parsed::<u64>(&format!("{outcome}_{orders}"), "a count");
    let (passed, failed, error) = (count("Passed")?, count("Failed")?, count("Error")?);
    let skipped = count("Skipped")?;
    let column = format!("#Runs_{orders}");
    // The file writes `200.0`.
    let text = row.text(&column)?;
    let whole = text.strip_suffix(".0").unwrap_or(text).parse::<u64>();
    let n_runs = whole.map_err(|_| row.fault(&column, "is not a number of runs"))?;
    // A run that fails and has an error in teardown is counted as both.
    let unsuccessful = n_runs.checked_sub(passed + skipped);
    match unsuccessful {
        Some(unsuccessful)
            if failed.max(error) <= unsuccessful && unsuccessful <= failed + error =>
        {
            Ok(Counts { passed, failed, unsuccessful, skipped })
        }
        _ => Err(row.fault(&column, "does not fit the outcomes counted")),
    }
}

fn flag(row: Row, column: &str) -> Result<bool, String> {
    match row.text(column)? {
        "True" => Ok(true),
        "False" => Ok(false),
        _ => Err(row.fault(column, "is neither `True` nor `False`")),
    }
}

fn chances(test: &Test) -> Option<Chances> {
    let counts = test.same_order;
    Chances::of_counts(counts.passed, counts.unsuccessful, counts.skipped).ok()
}

fn needed(passed: u64, failed: u64, rest: u64) -> Option<u64> {
    Chances::of_counts(passed, failed, rest).ok()?.runs_needed(Confidence::USUAL)
}

fn without_errors(test: &Test) -> Option<u64> {
    let Counts { passed, failed, unsuccessful, skipped } = test.same_order;
    needed(passed, failed, unsuccessful - failed + skipped)
}

fn unveiled(test: &Test) -> Option<u64> {
    chances(test)?.runs_needed(Confidence::USUAL)
}

fn until_failure(test: &Test) -> Option<u64> {
    let counts = test.same_order;
    let attempts = counts.passed + counts.unsuccessful + counts.skipped;
    let rate = Rate::of(Tally { failures: counts.unsuccessful, attempts })?;
    plan::runs_needed(rate, Confidence::USUAL)
}

/// The runs needed with one pass and one failure added to `weight` times the counts.
fn smoothed(test: &Test, weight: u64) -> Option<u64> {
    let counts = test.same_order;
    needed(weight * counts.passed + 1, weight * counts.unsuccessful + 1, weight * counts.skipped)
}

fn pooled(test: &Test) -> Option<u64> {
    let (same, random) = (test.same_order, test.random_order);
    needed(
        same.passed + random.passed,
        same.unsuccessful + random.unsuccessful,
        same.skipped + random.skipped,
    )
}

fn pool<'a>(groups: impl IntoIterator<Item = &'a Vec<f64>>) -> Vec<f64> {
    groups.into_iter().flatten().copied().collect()
}

/// The median of each reading, over tests and over projects.
fn readings(tests: &[Test]) {
    println!("Runs after which U(n) >= 95 %: the median, against the published {PUBLISHED}\n");
    let mut rows =
        vec![row!["reading", "tests", "no answer", "projects", "median", "mean", "by project"]];
    for reading in READINGS {
        let n_selected = tests.iter().filter(|test| (reading.selects)(test)).count();
        let by_project = reading.needed_by_project(tests);
        let needed = pool(by_project.values());
        let medians: Vec<f64> = by_project.values().filter_map(|group| median(group)).collect();
        rows.push(row![
            reading.name,
            n_selected,
            n_selected - needed.len(),
            by_project.len(),
            runs(median(&needed)),
            runs(mean(&needed)),
            runs(median(&medians)),
        ]);
    }
    print!("{}", render(&rows));
    println!("\"by project\" is the median of the projects' medians; indented lines change one");
    println!("thing in the line they stand under; \"no answer\" never passed or never failed.");
}

/// How much the median would vary with other projects.
fn spread(by_project: &BTreeMap<String, Vec<f64>>, found: f64) {
    println!("\nThe study's reading: {} here, {PUBLISHED} published. What differs\n", runs(found));
    let all = pool(by_project.values());
    let below = all.iter().copied().filter(|n| *n < found).fold(0.0, f64::max);
    let above = all.iter().copied().filter(|n| found < *n).fold(f64::INFINITY, f64::min);
    let without = |left_out: &String| {
        let others = by_project.iter().filter(|(project, _)| *project != left_out);
        median(&pool(others.map(|(_, group)| group)))
    };
    let mut moved: Vec<(f64, &String)> =
        by_project.keys().filter_map(|project| Some((without(project)?, project))).collect();
    moved.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut rows = vec![
        row!["next smaller and next greater number any test needs", runs(below), runs(above)],
        row![
            format!("95 % of medians when projects are drawn again ({N_RESAMPLES} times)"),
            resampled(by_project, 0.025),
            resampled(by_project, 0.975)
        ],
    ];
    if let [(least, least_without), .., (greatest, greatest_without)] = moved.as_slice() {
        let name = |project: &str| project.split(' ').next().unwrap_or_default().to_owned();
        let (low, high) = (name(least_without), name(greatest_without));
        let label = format!("median without one project (`{low}`, `{high}`)");
        rows.push(row![label, runs(*least), runs(*greatest)]);
    }
    print!("{}", render(&rows));
    println!("{WHY}");
}

/// A quantile of the medians over as many projects, drawn with replacement.
fn resampled(by_project: &BTreeMap<String, Vec<f64>>, quantile: f64) -> String {
    let groups: Vec<&Vec<f64>> = by_project.values().collect();
    let mut random = Random::labelled(SEED, &[0x0070_726f]);
    let mut medians: Vec<f64> = (0..N_RESAMPLES)
        .filter_map(|_| {
            let drawn: Vec<&Vec<f64>> =
                (0..groups.len()).map(|_| groups[random.below(groups.len())]).collect();
            median(&pool(drawn))
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a quantile of a few thousand"
    )]
    let index = (quantile * medians.len() as f64) as usize;
    runs(medians.get(index).copied())
}

/// What this many runs show.
fn coverage(tests: &[Test], found: f64) {
    let nod: Vec<&Test> = tests.iter().filter(|test| (STUDY.selects)(test)).collect();
    let chances: Vec<Chances> = nod.iter().filter_map(|test| chances(test)).collect();
    let failed_once = nod.iter().filter(|test| test.same_order.unsuccessful == 1).count();
    println!("\nThe same {} tests after n runs\n", nod.len());
    let mut rows = vec![row!["n", "certain to 95 %", "expected share seen", "runs made"]];
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a median of numbers of runs"
    )]
    let found = found.ceil() as u64;
    let mut numbers = vec![2, 10, 50, 100, PUBLISHED, found, 500];
    numbers.sort_unstable();
    numbers.dedup();
    for n_runs in numbers {
        let seen: Vec<f64> = chances.iter().map(|chances| chances.unveiled(n_runs)).collect();
        let certain = seen.iter().filter(|u| Confidence::USUAL.get() <= **u).count();
        let made: Vec<f64> = chances.iter().map(|chances| chances.expected_runs(n_runs)).collect();
        rows.push(row![
            n_runs,
            percent(certain as f64 / seen.len() as f64),
            percent(mean(&seen)),
            runs(mean(&made)),
        ]);
    }
    print!("{}", render(&rows));
    let share = failed_once as f64 / nod.len() as f64;
    println!("{failed_once} of them ({}) failed exactly once.", percent(share));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(same: &str, random: &str) -> Result<Test, String> {
        let mut head = vec!["Project_Name".to_owned(), "Project_URL".to_owned()];
        for orders in ["sameOrder", "randomOrder"] {
            let names = ["Passed", "Failed", "Error", "Skipped", "#Runs"];
            head.extend(names.map(|name| format!("{name}_{orders}")));
        }
        let flags =
            ["Verdict_sameOrder", "Flaky_sameOrder_withinIteration", "Flaky_Infrastructure"];
        head.extend(flags.map(str::to_owned));
        let text = format!("{}\np,u,{same},{random},Flaky,True,False\n", head.join(","));
        let file = DataFile::parse("x.csv", &text)?;
        file.rows().next().map(read).unwrap()
    }

    #[test]
    fn three_failures_in_180_runs_need_179_runs() {
        // ln 0.05 / ln(1 - 3/180) = 178.2; that no run passes is out of the question.
        let test = test("177,2,1,0,180.0", "0,0,0,0,0.0").unwrap();
        assert_eq!(unveiled(&test), Some(179));
        assert_eq!(until_failure(&test), Some(179));
        // ln 0.05 / ln(1 - 2/180) = 268.1
        assert_eq!(without_errors(&test), Some(269));
    }

    #[test]
    fn a_failure_with_an_error_in_the_same_run_is_one_failing_run() {
        let test = test("100,0,0,0,100.0", "9,91,72,0,100.0").unwrap();
        assert_eq!(test.random_order.unsuccessful, 91);
        assert_eq!(unveiled(&test), None);
        assert!(pooled(&test).is_some());
    }

    #[test]
    fn counts_that_do_not_fit_the_runs_are_refused_by_name() {
        let refusal = |same: &str| test(same, "0,0,0,0,0.0").map(|_| ()).unwrap_err();
        let expected = "`x.csv` line 2: `9.0` in column `#Runs_sameOrder` does not fit the \
            outcomes counted";
        assert_eq!(refusal("9,1,0,0,9.0"), expected);
        assert_eq!(refusal("7,1,0,0,9.0"), expected);
        assert!(refusal("7,1,0,0,many").contains("`many` in column `#Runs_sameOrder`"));
    }
}
