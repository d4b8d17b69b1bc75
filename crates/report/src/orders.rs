//! `unflake orders`: orders to run, which pairs they cover, what they cost.
//!
//! Written piece by piece, so that orders need not be kept: there may be millions.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use unflake_model::{Suite, TestIndex};
use unflake_orders::Strategy;
use unflake_orders::cost::CostModel;
use unflake_orders::coverage::Share;
use unflake_orders::summary::{Adder, PairSummary, Summary};

use crate::command::Command;
use crate::document::{Document, safe_line};
use crate::numbers::NumberPrinter;
use crate::schema;
use crate::words::{plural, span};

/// How many orders people are shown.
const SHOWN_MAX: u64 = 20;

/// Which orders are printed.
#[derive(Debug)]
pub struct Plan {
    /// The tests.
    pub suite: Suite,
    /// Where the orders come from.
    pub origin: OrdersOrigin,
    /// At most so many.
    pub count: u64,
    /// What running them costs.
    pub cost_model: CostModel,
}

/// Where orders come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrdersOrigin {
    /// A strategy makes them.
    Strategy {
        /// Which.
        strategy: Strategy,
        /// Decides everything random in it.
        seed: u64,
    },
    /// Somebody wrote them down.
    File(PathBuf),
}

/// Gives the next order into the vector; `false` when there is none.
pub type NextOrder<'a> = &'a mut dyn FnMut(&mut Vec<TestIndex>) -> bool;

/// One order a line, and nothing else.
pub fn ids(out: &mut impl Write, plan: &Plan, next: NextOrder<'_>) -> io::Result<()> {
    let mut printer = NumberPrinter::new(plan.suite.n_tests());
    let mut order = Vec::new();
    for _ in 0..plan.count {
        if !next(&mut order) {
            break;
        }
        printer.print(out, &order, b' ')?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// For programs.
pub fn json(out: &mut impl Write, plan: &Plan, next: NextOrder<'_>) -> io::Result<()> {
    let head = Head::of(plan);
    let head = safe_line(&Document::new(&schema::ORDERS, Command::Orders, head));
    // What follows belongs to the same object.
    write!(out, "{},\"orders\":[", head.strip_suffix('}').unwrap_or(&head))?;
    let mut printer = NumberPrinter::new(plan.suite.n_tests());
    let mut adder = Adder::new(&plan.suite, plan.cost_model);
    let mut order = Vec::new();
    while adder.n_orders() < plan.count && next(&mut order) {
        out.write_all(if adder.n_orders() == 0 { b"\n[" } else { b",\n[" })?;
        printer.print(out, &order, b',')?;
        out.write_all(b"]")?;
        adder.add(&order);
    }
    writeln!(out, "],\n\"summary\":{}}}", safe_line(&SummaryRow::of(&adder.summary())))
}

/// What stands before the orders.
#[derive(Serialize)]
struct Head<'a> {
    suite: SuiteRow<'a>,
    strategy: Option<&'static str>,
    seed: Option<u64>,
}

#[derive(Serialize)]
struct SuiteRow<'a> {
    tests: Vec<&'a str>,
    classes: Vec<ClassRow<'a>>,
}

#[derive(Serialize)]
struct ClassRow<'a> {
    name: &'a str,
    tests: Vec<usize>,
}

impl<'a> Head<'a> {
    fn of(plan: &'a Plan) -> Self {
        let (strategy, seed) = match plan.origin {
            OrdersOrigin::Strategy { strategy, seed } => (Some(strategy.name()), Some(seed)),
            OrdersOrigin::File(_) => (None, None),
        };
        Self { suite: SuiteRow::of(&plan.suite), strategy, seed }
    }
}

impl<'a> SuiteRow<'a> {
    fn of(suite: &'a Suite) -> Self {
        let classes = suite.classes().iter().map(|members| ClassRow {
            name: suite.class_name(suite.class_of(members[0])),
            tests: members.iter().map(|test| test.get()).collect(),
        });
        Self {
            tests: suite.tests().map(|test| suite.id(test).as_str()).collect(),
            classes: classes.collect(),
        }
    }
}

#[derive(Serialize)]
struct SummaryRow {
    orders: u64,
    attempts: u64,
    /// Null for suites with too many pairs to keep track of.
    pairs: Option<PairsRow>,
    cost_seconds: f64,
    all_pairs_at_least: AllPairsRow,
    two_test_orders_cost_seconds: f64,
}

#[derive(Serialize)]
struct PairsRow {
    intra: ShareRow,
    inter: ShareRow,
    all: ShareRow,
    repeated: u64,
    orders_not_class_compatible: u64,
}

#[derive(Serialize)]
struct ShareRow {
    covered: u64,
    total: u64,
}

#[derive(Serialize)]
struct AllPairsRow {
    orders: u64,
    orders_intra: u64,
    orders_inter: u64,
    orders_leaving: u64,
    orders_largest: u64,
    cost_seconds: f64,
}

impl SummaryRow {
    fn of(summary: &Summary) -> Self {
        let bounds = summary.bounds;
        Self {
            orders: summary.n_orders,
            attempts: summary.n_attempts,
            pairs: summary.pairs.map(PairsRow::of),
            cost_seconds: summary.cost.as_secs_f64(),
            all_pairs_at_least: AllPairsRow {
                orders: bounds.n_orders(),
                orders_intra: bounds.intra,
                orders_inter: bounds.inter,
                orders_leaving: bounds.leaving,
                orders_largest: bounds.largest,
                cost_seconds: summary.cost_at_least.as_secs_f64(),
            },
            two_test_orders_cost_seconds: summary.two_test_orders_cost.as_secs_f64(),
        }
    }
}

impl PairsRow {
    fn of(pairs: PairSummary) -> Self {
        let share = |Share { covered, total }: Share| ShareRow { covered, total };
        Self {
            intra: share(pairs.intra),
            inter: share(pairs.inter),
            all: share(pairs.all),
            repeated: pairs.n_repeated,
            orders_not_class_compatible: pairs.n_torn,
        }
    }
}

/// For people: the first orders and the summary.
pub fn text(out: &mut impl Write, plan: &Plan, next: NextOrder<'_>) -> io::Result<()> {
    let suite = &plan.suite;
    let n_tests = plural(suite.n_tests() as u64, "test", "tests");
    let n_classes = plural(suite.n_classes() as u64, "class", "classes");
    writeln!(out, "suite       {n_tests} in {n_classes}")?;
    match &plan.origin {
        OrdersOrigin::Strategy { strategy, seed } => {
            writeln!(out, "strategy    {strategy}, seed {seed}: {}\n", strategy.description())?;
        }
        OrdersOrigin::File(path) => writeln!(out, "orders of   {}\n", path.display())?,
    }

    let mut adder = Adder::new(suite, plan.cost_model);
    let mut order = Vec::new();
    while adder.n_orders() < plan.count && next(&mut order) {
        adder.add(&order);
        if adder.n_orders() <= SHOWN_MAX {
            write!(out, "{:>5}  ", adder.n_orders())?;
            for test in &order {
                write!(out, " {}", suite.id(*test))?;
            }
            writeln!(out)?;
        }
    }
    if let more @ 1.. = adder.n_orders().saturating_sub(SHOWN_MAX) {
        writeln!(out, "        … {more} more; `--format ids` or `json` prints them all")?;
    }
    write_summary(out, &adder.summary(), plan.cost_model.start)
}

fn write_summary(out: &mut impl Write, summary: &Summary, start: Duration) -> io::Result<()> {
    let attempts = plural(summary.n_attempts, "test", "tests");
    writeln!(out, "\norders      {}, which run {attempts}", summary.n_orders)?;
    match &summary.pairs {
        Some(pairs) => write_pairs(out, pairs)?,
        None => writeln!(out, "pairs       too many to keep track of")?,
    }
    let (cost, start) = (span(summary.cost), span(start));
    writeln!(out, "cost        {cost}, with {start} to start each process")?;

    let n_orders = plural(summary.bounds.n_orders(), "order", "orders");
    let cost = span(summary.cost_at_least);
    let two_test = span(summary.two_test_orders_cost);
    writeln!(out, "\nAll pairs in class-compatible orders take at least {n_orders} and {cost};")?;
    writeln!(out, "each pair in a process of its own takes {two_test}.")?;
    if summary.pairs.as_ref().is_some_and(|pairs| pairs.all.covered == pairs.all.total) {
        let orders_ratio = summary.n_orders as f64 / summary.bounds.n_orders() as f64;
        let (cost, least) = (summary.cost.as_secs_f64(), summary.cost_at_least.as_secs_f64());
        let cost_ratio = if least <= 0.0 { 1.0 } else { cost / least };
        let times =
            format!("{orders_ratio:.2} times the orders and {cost_ratio:.2} times the cost");
        writeln!(out, "These orders cover all, with {times} of that lower bound.")?;
    }
    Ok(())
}

fn write_pairs(out: &mut impl Write, pairs: &PairSummary) -> io::Result<()> {
    let share = |of: Share| format!("{} of {}", of.covered, of.total);
    let [all, intra, inter] = [pairs.all, pairs.intra, pairs.inter].map(share);
    let repeated = pairs.n_repeated;
    let by_kind = format!("{intra} within classes, {inter} between; {repeated} repeated");
    writeln!(out, "pairs       {all} side by side: {by_kind}")?;
    match pairs.n_torn {
        0 => Ok(()),
        1 => writeln!(out, "            1 order tears a class apart"),
        n_torn => writeln!(out, "            {n_torn} orders tear a class apart"),
    }
}
