//! The three formats.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use unflake_model::Suite;

use super::Settings;
use super::source::{Origin, Source};
use super::summary::{PairSummary, ShareSummary, Summary, Tally};
use crate::printer::NumberPrinter;
use unflake_report::{plural, span};

/// The version of the JSON format.
const SCHEMA: u32 = 1;

/// How many orders people are shown.
const SHOWN_MAX: u64 = 20;

/// One order a line, and nothing else.
pub(super) fn ids(
    out: &mut impl Write,
    settings: &Settings,
    mut orders: Source<'_>,
) -> io::Result<()> {
    let mut printer = NumberPrinter::new(settings.suite.n_tests());
    let mut order = Vec::new();
    for _ in 0..settings.count {
        if !orders.next_into(&mut order) {
            break;
        }
        printer.print(out, &order, b' ')?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

#[derive(Serialize)]
struct SuiteSummary<'s> {
    tests: Vec<&'s str>,
    classes: Vec<ClassSummary<'s>>,
}

#[derive(Serialize)]
struct ClassSummary<'s> {
    name: &'s str,
    tests: Vec<usize>,
}

fn suite_summary(suite: &Suite) -> SuiteSummary<'_> {
    let classes = suite.classes().iter().map(|members| ClassSummary {
        name: suite.class_name(suite.class_of(members[0])),
        tests: members.iter().map(|test| test.get()).collect(),
    });
    SuiteSummary {
        tests: suite.tests().map(|test| suite.id(test).as_str()).collect(),
        classes: classes.collect(),
    }
}

/// Everything, written piece by piece, so that orders need not be kept.
pub(super) fn json(
    out: &mut impl Write,
    settings: &Settings,
    mut orders: Source<'_>,
) -> io::Result<()> {
    let (strategy, seed) = match settings.origin {
        Origin::Strategy { strategy, seed } => (Some(strategy.name()), Some(seed)),
        Origin::File(_) => (None, None),
    };
    write!(out, "{{\"schema\":{SCHEMA},\"strategy\":")?;
    serde_json::to_writer(&mut *out, &strategy)?;
    write!(out, ",\"seed\":")?;
    serde_json::to_writer(&mut *out, &seed)?;
    write!(out, ",\"suite\":")?;
    serde_json::to_writer(&mut *out, &suite_summary(&settings.suite))?;
    write!(out, ",\"orders\":[")?;
    let mut printer = NumberPrinter::new(settings.suite.n_tests());
    let mut tally = Tally::new(&settings.suite, settings.cost_model);
    let mut order = Vec::new();
    while tally.n_orders < settings.count && orders.next_into(&mut order) {
        out.write_all(if tally.n_orders == 0 { b"\n[" } else { b",\n[" })?;
        printer.print(out, &order, b',')?;
        out.write_all(b"]")?;
        tally.add(&order);
    }
    write!(out, "],\n\"summary\":")?;
    serde_json::to_writer(&mut *out, &tally.summary())?;
    writeln!(out, "}}")
}

/// The first orders and the summary.
pub(super) fn text(
    out: &mut impl Write,
    settings: &Settings,
    mut orders: Source<'_>,
) -> io::Result<()> {
    let suite = &settings.suite;
    let n_tests = plural(suite.n_tests() as u64, "test", "tests");
    let n_classes = plural(suite.n_classes() as u64, "class", "classes");
    writeln!(out, "suite       {n_tests} in {n_classes}")?;
    match &settings.origin {
        Origin::Strategy { strategy, seed } => {
            writeln!(out, "strategy    {strategy}, seed {seed}: {}\n", strategy.description())?;
        }
        Origin::File(path) => writeln!(out, "orders of   {}\n", path.display())?,
    }

    let mut tally = Tally::new(&settings.suite, settings.cost_model);
    let mut order = Vec::new();
    while tally.n_orders < settings.count && orders.next_into(&mut order) {
        tally.add(&order);
        if tally.n_orders <= SHOWN_MAX {
            write!(out, "{:>5}  ", tally.n_orders)?;
            for test in &order {
                write!(out, " {}", suite.id(*test))?;
            }
            writeln!(out)?;
        }
    }
    if let more @ 1.. = tally.n_orders.saturating_sub(SHOWN_MAX) {
        writeln!(out, "        … {more} more; `--format ids` or `json` prints them all")?;
    }
    print_summary(out, &tally.summary(), settings)
}

fn print_summary(out: &mut impl Write, summary: &Summary, settings: &Settings) -> io::Result<()> {
    let seconds = |value: f64| span(Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX));
    let Summary { orders, attempts, .. } = summary;
    writeln!(out, "\norders      {orders}, which run {}", plural(*attempts, "test", "tests"))?;
    match &summary.pairs {
        Some(pairs) => print_pairs(out, pairs)?,
        None => writeln!(out, "pairs       too many to keep track of")?,
    }
    let (cost, start) = (seconds(summary.cost_seconds), span(settings.cost_model.start));
    writeln!(out, "cost        {cost}, with {start} to start each process")?;

    let bound = &summary.all_pairs_at_least;
    let (n_orders, cost) = (plural(bound.orders, "order", "orders"), seconds(bound.cost_seconds));
    let two_test = seconds(summary.two_test_orders_cost_seconds);
    writeln!(out, "\nAll pairs in class-compatible orders take at least {n_orders} and {cost};")?;
    writeln!(out, "each pair in a process of its own takes {two_test}.")?;
    if summary.pairs.as_ref().is_some_and(|pairs| pairs.all.covered == pairs.all.total) {
        let orders_ratio = summary.orders as f64 / bound.orders as f64;
        let is_free = bound.cost_seconds <= 0.0;
        let cost_ratio = if is_free { 1.0 } else { summary.cost_seconds / bound.cost_seconds };
        let times =
            format!("{orders_ratio:.2} times the orders and {cost_ratio:.2} times the cost");
        writeln!(out, "These orders cover all, with {times} of that lower bound.")?;
    }
    Ok(())
}

fn print_pairs(out: &mut impl Write, pairs: &PairSummary) -> io::Result<()> {
    let share = |of: &ShareSummary| format!("{} of {}", of.covered, of.total);
    let [all, intra, inter] = [&pairs.all, &pairs.intra, &pairs.inter].map(share);
    let repeated = pairs.repeated;
    let by_kind = format!("{intra} within classes, {inter} between; {repeated} repeated");
    writeln!(out, "pairs       {all} side by side: {by_kind}")?;
    match pairs.orders_not_class_compatible {
        0 => Ok(()),
        1 => writeln!(out, "            1 order tears a class apart"),
        n_torn => writeln!(out, "            {n_torn} orders tear a class apart"),
    }
}
