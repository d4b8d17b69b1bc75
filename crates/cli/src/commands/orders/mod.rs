//! `unflake orders`: which orders to run, which pairs they cover, and what they cost.

mod orders_args;
mod source;

use std::io::{self, BufWriter, Write as _};
use std::time::Duration;

use unflake_model::{Budget, Confidence, Suite, TestIndex};
use unflake_orders::cost::CostModel;
use unflake_report::orders::{OrdersOrigin, Plan, ids, json, text};

use crate::exit::{Failure, note};
use crate::suite_file;
pub(crate) use orders_args::OrdersArgs;
use orders_args::OrdersFormat;
use source::Source;

/// How many orders of an endless strategy are printed unless told: the rounds of iDFlakies.
const COUNT_USUAL: u64 = 20;

/// More tests than any suite has; beyond this a typing error is likelier.
const TESTS_MAX: usize = 1_000_000;

/// Prints the orders.
pub(crate) fn run(args: &OrdersArgs) -> Result<(), Failure> {
    let plan = plan(args)?;
    let mut orders = Source::new(&plan.suite, &plan.origin)?;
    let mut next = |order: &mut Vec<TestIndex>| orders.next_into(order);
    if let Some(warning) = args.strategy.warning() {
        note(&format!("warning: {warning}\n"));
    }
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match args.format {
        OrdersFormat::Ids => ids(&mut out, &plan, &mut next)?,
        OrdersFormat::Text => text(&mut out, &plan, &mut next)?,
        OrdersFormat::Json => json(&mut out, &plan, &mut next)?,
    }
    out.flush()?;
    Ok(())
}

fn plan(args: &OrdersArgs) -> Result<Plan, Failure> {
    let count = match args.count {
        Some(count) => {
            let budget = Budget::unlimited(Confidence::USUAL).with_runs(count);
            budget.map_err(|e| Failure::input(format!("--count: {e}"), "try --count 20"))?;
            count
        }
        None if args.orders.is_none() && args.strategy.is_endless() => COUNT_USUAL,
        None => u64::MAX,
    };
    let origin = match &args.orders {
        Some(path) => OrdersOrigin::File(path.clone()),
        None => OrdersOrigin::Strategy { strategy: args.strategy, seed: args.seed },
    };
    let start = Duration::try_from_secs_f64(args.start_seconds).map_err(|_| {
        let message = format!("--start-seconds: `{}` is no time span", args.start_seconds);
        Failure::input(message, "give seconds, 0 or more")
    })?;
    Ok(Plan { suite: suite(args)?, origin, count, cost_model: CostModel { start } })
}

fn suite(args: &OrdersArgs) -> Result<Suite, Failure> {
    if let Some(path) = &args.suite {
        let hint = "`unflake orders --help` shows what a suite file looks like";
        return suite_file::read(path).map_err(|e| Failure::input(e.to_string(), hint));
    }
    let (option, sizes) = match (&args.classes, args.tests) {
        (Some(sizes), _) => ("--classes", sizes.clone()),
        (None, n_tests) => ("--tests", vec![n_tests.unwrap_or(0)]),
    };
    if let Some(position) = sizes.iter().position(|size| *size == 0) {
        let message = match option {
            "--tests" => "--tests: a suite of `0` tests is empty".to_owned(),
            _ => format!("--classes: class {} has `0` tests", position + 1),
        };
        return Err(Failure::input(message, "give 1 or more"));
    }
    let n_tests = sizes.iter().fold(0_usize, |sum, size| sum.saturating_add(*size));
    if TESTS_MAX < n_tests {
        let message = format!("{option}: `{n_tests}` tests are more than we plan for");
        return Err(Failure::input(message, format!("at most {TESTS_MAX}")));
    }
    Suite::of_sizes(&sizes).map_err(|e| Failure::input(e.to_string(), "give 1 or more"))
}
