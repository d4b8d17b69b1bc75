//! Everything that is checked, one line each.

mod abilities;
mod apart;
mod orders;
mod outcomes;
mod plain;
mod repeats;
mod stops;

use crate::fixture::Fixture;
use crate::trial::Departure;

/// Something that every adapter has to do.
#[derive(Clone, Copy)]
pub struct Check {
    /// What it is called in messages and lists.
    pub name: &'static str,
    /// What it shows.
    pub shows: &'static str,
    pub(crate) run: fn(&dyn Fixture) -> Result<(), Departure>,
}

const fn check(
    name: &'static str,
    shows: &'static str,
    run: fn(&dyn Fixture) -> Result<(), Departure>,
) -> Check {
    Check { name, shows, run }
}

/// All of them, in the order in which they are made.
pub const CHECKS: [Check; 34] = [
    check("ids", "tests are listed by the names that the runner has for them", orders::ids),
    check("by-name", "the test that is named is the test that is run", orders::by_name),
    check("passed", "a test that passes has passed", outcomes::passed),
    check("failed", "a test that fails has failed in itself, and says why", outcomes::failed),
    check("set-up", "a test that cannot be set up is an error", outcomes::set_up),
    check("clean-up", "what cannot be cleaned up fails the test, after it", outcomes::clean_up),
    check("skipped", "a test that is skipped is not said to have passed", outcomes::skipped),
    check("together", "each test keeps its own outcome among others", outcomes::together),
    check("told", "what is told on the way is what is said at the end", outcomes::told),
    check("output", "what a test says and writes comes with its failure", outcomes::output),
    check("timed-out", "a test that hangs is stopped and blamed", outcomes::timed_out),
    check("crashed", "a crash blames the test under way and no other", outcomes::crashed),
    check("exited", "a test that leaves the process has not passed", outcomes::exited),
    check("order", "tests run in the order that was asked for, whichever", orders::kept),
    check("subset", "only the tests that were asked for run", orders::subset),
    check("no-order", "an order that cannot be kept is refused, not bent", orders::refused),
    check("no-tests", "a run of no tests has an end and no attempts", orders::empty),
    check("twice", "a test is run twice in a row, or said not to be", repeats::twice),
    check("between", "a test is run again between others, or it is refused", repeats::between),
    check("put-back", "tests are run apart, all state put back in between", repeats::apart),
    check("state", "what a test leaves reaches the next one of the run only", apart::state),
    check("files", "a file that a test writes is gone with its run", apart::files),
    check("levels", "each level of isolation that is offered holds", apart::levels),
    check("at-once", "many runs at once all come back, none mixed up", apart::at_once),
    check("afresh", "a fresh process for each run changes nothing", apart::afresh),
    check("ready", "what is made ready for many runs says the same", abilities::ready),
    check("perturbed", "circumstances are changed as offered, or refused", abilities::perturbed),
    check("hash-seeds", "a hash seed decides how strings are hashed", abilities::hash_seeds),
    check("interrupt", "an interrupt ends a run that hangs, and no more", stops::interrupt),
    check("leave", "whoever leaves takes the tests along", stops::leave),
    check("plain-orders", "the plain runner says the same of an order", plain::orders),
    check("plain-suite", "the plain runner says the same of all tests", plain::suite),
    check(
        "plain-names",
        "the plain runner is named each test, whatever it is called",
        plain::names,
    ),
    check("plain-twice", "the plain runner says the same of a test run twice", plain::twice),
];
