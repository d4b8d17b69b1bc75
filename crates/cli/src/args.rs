//! What can be typed. Parsing does nothing else.

use clap::{Parser, Subcommand};

use crate::commands::completions::CompletionsArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::init::InitArgs;
use crate::commands::learn::LearnArgs;
use crate::commands::lint::LintArgs;
use crate::commands::man::ManArgs;
use crate::commands::orders::OrdersArgs;
use crate::commands::schema::SchemaArgs;
use crate::commands::shake::ShakeArgs;
use crate::commands::study::StudyArgs;
use crate::commands::trace::TraceArgs;
use crate::commands::triage::TriageArgs;
use crate::history_args::HistoryArgs;
use crate::run_args::{ReplayArgs, RunArgs};
use crate::screen::ScreenArgs;
use crate::search_args::{DetectArgs, FixArgs, WhyArgs};

const ABOUT: &str = "Finds flaky tests, says of what kind they are and on what they depend";

const LONG_ABOUT: &str = "\
Finds flaky tests, says of what kind they are and on what they depend.

A test is flaky when it passes and fails on the same code. Many flaky tests depend on the order in \
which tests run:

  victim            passes alone, fails after a polluter
  polluter          leaves behind something that makes a victim fail
  cleaner           between polluter and victim, makes the victim pass again
  brittle           fails alone, passes after a state-setter
  order             distinct tests to run in one process
  class             tests a runner keeps together: a class, a file, a module
  pair              two tests, one directly after the other, in some order
  class-compatible  an order that keeps every class together

`unflake detect` finds the flaky tests of a pytest or unittest project, or of a JUnit project \
that Maven or Gradle builds, and `unflake why` looks into one test; nothing is to be configured, \
and nothing is installed into the project. `unflake shake` says which circumstance makes a Python \
test fail, `unflake fix` repairs a pytest test that depends on others. What they run is recorded \
as they go: a campaign that was cut off goes on with the same command (a shaken test begins anew), \
`unflake history` shows what happened, `unflake replay` runs one run again. `unflake orders` says \
which orders to run, for any other runner.";

const EXAMPLES: &str = "\
Examples:
  unflake detect
      the flaky tests of the project in this folder
  unflake detect tests/unit --time 60s --json
      those of a part of it, found within a minute, for a program
  unflake why 'tests/test_cart.py::test_total'
      of what kind one test is, on what it depends, and how to reproduce it
  unflake fix 'tests/test_cart.py::test_total' | git apply
      repair it: a change of the tests that was seen to help, and to harm no other test
  unflake shake 'tests/test_cart.py::test_total'
      which circumstance makes it fail: time, hash seeds, slow disks, other threads …
  unflake run
      the tests once, as in continuous integration, with what is known about those that fail
  unflake study --batches 20
      failure rates by order and alone, bursts, which tests fail together
  unflake triage report.xml
      which failures of a JUnit report are flaky, and of what kind; which are not
  unflake lint --dynamic
      the tests that leave something behind, whether or not another stumbles over it yet
  unflake trace
      the tests that call what can come out otherwise, so are worth running again
  unflake history 'tests/test_cart.py::test_total'
      how one test fared in all campaigns, and what its failures said
  unflake replay 3f2a91/7 --times 10
      run 7 of campaign 3f2a91 again, ten times, exactly as it was
  unflake orders --strategy tuscan --tests 4
      every test directly after every other one, in as few orders as possible
  unflake orders --strategy pairs --suite suite.toml
      the same for a suite with classes, and what it costs
  unflake orders --strategy planned --suite suite.toml --count 20 --seed 7 --format json
      twenty full orders for a script of yours to run
  unflake orders --orders mine.txt --classes 4,4,10,1
      which pairs the orders of a file cover, and what they cost
  unflake schema findings
      what a program can rely on in the answers of `detect --json` and `why --json`
  unflake completions bash > ~/.local/share/bash-completion/completions/unflake
  unflake man detect | man -l -

Exit codes:
  0  done; nothing flaky was found
  1  flaky tests were found; tests failed (run); it ended differently than on record (replay);
     a factor was found (shake); no change helps (fix); tests are dirty (lint);
     a failure is no flake (triage)
  2  the command line, or a file it names, makes no sense
  3  the tests could not be run
  4  the budget ended, or you stopped it, before there was a verdict
  5  the output could not be written";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "unflake", version, about = ABOUT, long_about = LONG_ABOUT)]
#[command(after_help = EXAMPLES, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub screen: ScreenArgs,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands there are.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the flaky tests of a project, of what kind they are and on what they depend
    Detect(DetectArgs),
    /// Say of one test whether it is flaky, of what kind, and on what it depends
    Why(WhyArgs),
    /// Change the test files so that a test no longer depends on others, and show that it helps
    Fix(FixArgs),
    /// Change the circumstances of a test, and say which of them makes it fail
    Shake(ShakeArgs),
    /// Run the tests once, and say what is known about those that fail
    Run(RunArgs),
    /// Run the suite again and again: failure rates by order, bursts, which fail together
    Study(StudyArgs),
    /// Run the failed tests of a JUnit report again, and say which are flaky and of what kind
    Triage(TriageArgs),
    /// List the tests that leave something behind, and what
    Lint(LintArgs),
    /// List the tests that call functions which can come out otherwise: clocks, sockets, threads
    Trace(TraceArgs),
    /// Find out which functions flaky tests call and others do not
    Learn(LearnArgs),
    /// Run one run of the history again, exactly, and say whether it ends as it did
    Replay(ReplayArgs),
    /// List earlier campaigns, what they found, and how a test fared in them
    History(HistoryArgs),
    /// Say what there is to run the tests with, and what is missing
    Doctor(DoctorArgs),
    /// Write a file of settings, unflake.toml, with every setting explained
    Init(InitArgs),
    /// Print orders to run, which pairs of tests they cover, and what they cost
    Orders(OrdersArgs),
    /// Print the JSON Schema of what a command prints with --json, or list all schemas
    Schema(SchemaArgs),
    /// Print a script that completes commands and options in your shell
    Completions(CompletionsArgs),
    /// Print the manual of a command, for `man`
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
