//! Order-dependent Java tests with their polluters, cleaners and state-setters: in what share of
//! all orders does each fail?
//!
//! The published means (detection spec, section 4, chapter 3) are over 249 tests, which include
//! these; so only their size is compared, not their digits. What can be checked here is that every
//! test has an exact answer, and that real orders agree with it: orders are drawn for each test by
//! the strategies of this project, the outcome in each is predicted by definition 3.1, and the
//! share of failures must be the counted one.
//!
//! Limit: the list has the dependencies that were found, not all that exist. A missing polluter or
//! cleaner changes the rate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use unflake_model::{Confidence, Order, Tally};
use unflake_orders::shuffle::Shuffle;
use unflake_stats::flake_rate::{FlakeRate, OrderSpace, Share};
use unflake_stats::plan;
use unflake_stats::rank::signed_rank;
use unflake_stats::rate::{Rate, interval};

use self::listed::{Listed, Listing, Role};
use super::read::DataFile;
use super::summary::{mean, median, p_value, percent, range};
use super::{SEED, headline};
use crate::table::{render, row};

mod listed;

const FILE: &str = "dependencies-java.csv";
const N_SAMPLES: u64 = 100_000;
/// How many orders to draw to check a counted rate.
const N_DRAWN: u64 = 10_000;
/// So high that chance refutes none of hundreds of rates.
const DRAWN_CONFIDENCE: f64 = 0.999_999;
const N_LOWEST: usize = 5;

const LEGEND: &str = "\
\"by project\" is the mean of the projects' means. The text says that reversing raises the mean
to 45.3 %, and not which of the two shares that is. Its means are over other tests than these:
in all of them it counts 13 with different cleaners.";

/// A test with its flake rates.
struct Rated {
    test: Listed,
    /// Over all orders.
    all: FlakeRate,
    /// Over class-compatible orders.
    compatible: FlakeRate,
}

pub(super) fn report(data: &Path) -> Result<(), String> {
    let listing = Listing::read(&DataFile::open(data, FILE)?)?;
    headline(&format!("{FILE}: {} order-dependent Java tests", listing.tests.len()));
    let (n_rows, left_out) = (listing.n_rows, listing.left_out);
    let rated: Vec<Rated> = listing.tests.into_iter().map(rate).collect();
    what_is_there(&rated, n_rows, &left_out);
    rates(&rated);
    differences(&rated);
    lowest(&rated);
    drawn_orders(&rated)
}

fn rate(test: Listed) -> Rated {
    let rate = |space| match &test.role {
        Role::Victim(victim) => victim.flake_rate(space, N_SAMPLES, SEED),
        Role::Brittle(brittle) => brittle.flake_rate(space),
    };
    let (all, compatible) = (rate(OrderSpace::All), rate(OrderSpace::ClassCompatible));
    Rated { test, all, compatible }
}

impl Rated {
    fn is_victim(&self) -> bool {
        matches!(self.test.role, Role::Victim(_))
    }

    /// Assumption A2 of the closed forms: everything that matters is in one class.
    fn is_in_one_class(&self) -> bool {
        self.test.suite.n_classes() == 1
    }
}

/// What the file contains, and which parts could not be used.
fn what_is_there(rated: &[Rated], n_rows: usize, left_out: &BTreeMap<&str, usize>) {
    let count = |is: &dyn Fn(&Rated) -> bool| rated.iter().filter(|rated| is(rated)).count();
    let projects: BTreeSet<&str> = rated.iter().map(|r| r.test.place.project.as_str()).collect();
    let modules: BTreeSet<(&str, &str, &str)> = rated
        .iter()
        .map(|r| &r.test.place)
        .map(|place| (place.project.as_str(), place.sha.as_str(), place.module.as_str()))
        .collect();
    let sampled = |rate: fn(&Rated) -> Option<&Share>| {
        let is_sampled = |r: &Rated| matches!(rate(r), Some(Share::Sampled { .. }));
        count(&is_sampled)
    };
    let one_class = |r: &Rated| r.test.shares_cleaners && r.is_in_one_class();
    let shared = |r: &Rated| r.test.shares_cleaners && !r.is_in_one_class();
    let mut rows = vec![
        row!["", "here", "published"],
        row!["rows", n_rows, ""],
        row!["projects", projects.len(), ""],
        row!["modules", modules.len(), 44],
        row!["tests", rated.len(), 249],
        row!["  victims", count(&Rated::is_victim), 192],
        row!["  brittles", count(&|r| !r.is_victim()), 57],
        row!["  same cleaners, one class (SC1)", count(&one_class), 29],
        row!["  same cleaners, several classes (SC2)", count(&shared), 207],
        row!["  different cleaners (general case)", count(&|r| !r.test.shares_cleaners), 13],
        row!["sampled: f_A", sampled(|r| Some(&r.all.fails)), 13],
        row!["sampled: f_C", sampled(|r| Some(&r.compatible.fails)), 13],
        row!["sampled: reverse fails, all orders", sampled(|r| r.all.reverse_fails.as_ref()), 249],
        row![
            "sampled: reverse fails, by class",
            sampled(|r| r.compatible.reverse_fails.as_ref()),
            249
        ],
        row!["left out", left_out.values().sum::<usize>(), ""],
    ];
    rows.extend(left_out.iter().map(|(reason, n)| row![format!("  {reason}"), n, ""]));
    print!("{}", render(&rows));
}

type Measure = fn(&Rated) -> Option<f64>;

const FAILS: [(&str, Measure, &str); 6] = [
    ("f_A: fails, of all orders", |r| Some(r.all.fails.to_f64()), "38.4 %"),
    ("f_C: fails, of class-compatible orders", |r| Some(r.compatible.fails.to_f64()), "38.0 %"),
    ("reverse fails if it passed, all orders", |r| reverse(&r.all), "45.3 % (?)"),
    ("reverse fails if it passed, by class", |r| reverse(&r.compatible), "45.3 % (?)"),
    (
        "found per order when reversing, all orders",
        |r| Some(r.all.found_per_order_when_reversing()),
        "45.3 % (?)",
    ),
    (
        "found per order when reversing, by class",
        |r| Some(r.compatible.found_per_order_when_reversing()),
        "45.3 % (?)",
    ),
];

fn reverse(rate: &FlakeRate) -> Option<f64> {
    rate.reverse_fails.as_ref().map(Share::to_f64)
}

/// Flake rates, and what reversing adds.
fn rates(rated: &[Rated]) {
    println!("\nFlake rates\n");
    let mut rows = vec![row![
        "share of orders",
        "mean",
        "median",
        "least",
        "greatest",
        "by project",
        "published mean"
    ]];
    for (name, measure, published) in FAILS {
        let values: Vec<f64> = rated.iter().filter_map(measure).collect();
        let ends = range(&values);
        rows.push(row![
            name,
            percent(mean(&values)),
            percent(median(&values)),
            percent(ends.map(|ends| ends.0)),
            percent(ends.map(|ends| ends.1)),
            percent(mean_by_project(rated, measure)),
            published,
        ]);
    }
    print!("{}", render(&rows));
    println!("{LEGEND}");
}

fn mean_by_project(rated: &[Rated], measure: Measure) -> Option<f64> {
    let mut by_project: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for rated in rated {
        by_project.entry(&rated.test.place.project).or_default().extend(measure(rated));
    }
    let means: Vec<f64> = by_project.values().filter_map(|values| mean(values)).collect();
    mean(&means)
}

/// Paired comparisons, as the text makes them.
fn differences(rated: &[Rated]) {
    println!("\nTest by test\n");
    let [all, compatible, .., found_all, found_compatible] = FAILS.map(|(_, measure, _)| measure);
    let mut rows =
        vec![row!["first against second", "lower", "equal", "higher", "Wilcoxon p", "published"]];
    let comparisons = [
        ("f_A against f_C", all, compatible, "0.01"),
        ("f_A against found when reversing", all, found_all, "~1e-43"),
        ("f_C against found when reversing", compatible, found_compatible, "~1e-42"),
    ];
    for (name, first, second, published) in comparisons {
        let pairs: Vec<(f64, f64)> =
            rated.iter().filter_map(|r| Some((whole(first(r)?), whole(second(r)?)))).collect();
        let lower = pairs.iter().filter(|(first, second)| first < second).count();
        let higher = pairs.iter().filter(|(first, second)| second < first).count();
        let p = signed_rank(&pairs).map(|test| test.p_value);
        let equal = pairs.len() - lower - higher;
        rows.push(row![name, lower, equal, higher, p_value(p), published]);
    }
    print!("{}", render(&rows));
}

/// The share in whole millionths of a millionth, so that equal differences are equal numbers.
fn whole(share: f64) -> f64 {
    (1e12 * share).round()
}

/// The tests that hide best: what it takes to see them fail.
fn lowest(rated: &[Rated]) {
    println!("\nLowest flake rates over class-compatible orders (published: 1.2 %)\n");
    let mut by_rate: Vec<&Rated> = rated.iter().collect();
    by_rate.sort_by(|a, b| {
        let rates = a.compatible.fails.to_f64().total_cmp(&b.compatible.fails.to_f64());
        rates.then_with(|| a.test.place.cmp(&b.test.place))
    });
    let mut rows = vec![row!["test", "project", "f_A", "f_C", "reverse", "orders for 95 %"]];
    for rated in by_rate.iter().take(N_LOWEST) {
        let place = &rated.test.place;
        let fails = rated.compatible.fails.to_f64();
        let orders = Rate::new(fails).ok();
        let orders = orders.and_then(|rate| plan::runs_needed(rate, Confidence::USUAL));
        rows.push(row![
            last_parts(place.test.as_str(), '.', 2),
            last_parts(&place.project, '/', 1),
            percent(rated.all.fails.to_f64()),
            percent(fails),
            percent(reverse(&rated.compatible)),
            orders.map_or_else(|| "-".into(), |n| n.to_string()),
        ]);
    }
    print!("{}", render(&rows));
}

/// The last `n` parts of a name.
fn last_parts(name: &str, separator: char, n: usize) -> &str {
    name.rmatch_indices(separator).nth(n - 1).map_or(name, |(at, _)| &name[at + 1..])
}

/// Draws orders and predicts their outcomes; an error if they do not confirm the counted rates.
fn drawn_orders(rated: &[Rated]) -> Result<(), String> {
    let confidence = Confidence::new(DRAWN_CONFIDENCE).map_err(|error| error.to_string())?;
    let mut refuted = Vec::new();
    for rated in rated {
        let spaces =
            [(Shuffle::Interleaved, &rated.all), (Shuffle::ClassesAndTests, &rated.compatible)];
        for (shuffle, counted) in spaces {
            let (drawn, counted) = (draw(&rated.test, shuffle), counted.fails.to_f64());
            if !interval(drawn, confidence).contains(counted) {
                let (test, failures) = (&rated.test.place.test, drawn.failures);
                refuted.push(format!("`{test}` counted {counted}, drawn {failures}/{N_DRAWN}"));
            }
        }
    }
    println!("\nFlake rates that {N_DRAWN} orders drawn and predicted one by one do not bear out:");
    println!("{} of {} ({DRAWN_CONFIDENCE} interval)", refuted.len(), 2 * rated.len());
    if refuted.is_empty() {
        Ok(())
    } else {
        Err(format!("flake rates of `{FILE}` are refuted: {}", refuted.join("; ")))
    }
}

fn draw(test: &Listed, shuffle: Shuffle) -> Tally {
    let fails = |order: &Order| match &test.role {
        Role::Victim(victim) => victim.fails(order),
        Role::Brittle(brittle) => brittle.fails(order),
    };
    let orders = (0..N_DRAWN).map(|number| shuffle.order(&test.suite, SEED, number));
    let failures = orders.filter(|order| fails(order) == Some(true)).count() as u64;
    Tally { failures, attempts: N_DRAWN }
}
