//! What can be typed for `orders`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use clap::{ArgGroup, ValueEnum};
use unflake_orders::Strategy;

const SUITE_FILE_HELP: &str = "\
Suite files:
  # Classes and tests in their original order. A test is a name, or a name and its run time
  # (1 second unless given). A class may appear again where its tests are not together.
  [[class]]
  name = \"tests/test_cart.py\"
  tests = [\"test_add\", { id = \"test_checkout\", seconds = 2.5 }]";

/// Options of `unflake orders`.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("source").required(true).args(["tests", "classes", "suite"]))]
#[command(after_help = SUITE_FILE_HELP)]
pub(crate) struct OrdersArgs {
    /// How to choose the orders
    #[arg(long, value_name = "NAME", default_value = "planned", value_parser = strategies())]
    pub strategy: Strategy,

    /// Take the orders from this file instead, one a line as `--format ids` prints them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["strategy", "seed"])]
    pub orders: Option<PathBuf>,

    /// A suite of this many tests in one class, one second each
    #[arg(long, value_name = "N")]
    pub tests: Option<usize>,

    /// A suite of classes of these sizes, tests numbered class by class, one second each
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub classes: Option<Vec<usize>>,

    /// A suite file (TOML, see below)
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,

    /// Decides everything random: the same seed gives the same orders on every machine
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,

    /// At most this many orders [default: 20 where there is always another, else all]
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,

    /// How long it takes to start a process, for the cost
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, allow_negative_numbers = true)]
    pub start_seconds: f64,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OrdersFormat,
}

fn strategies() -> impl clap::builder::TypedValueParser<Value = Strategy> {
    let values = Strategy::ALL.map(|s| PossibleValue::new(s.name()).help(s.description()));
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}

/// What `unflake orders` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrdersFormat {
    /// The first orders and a summary, for people
    Text,
    /// Everything, for programs
    Json,
    /// One order a line, tests as numbers from 0 in their original order, and nothing else
    Ids,
}
