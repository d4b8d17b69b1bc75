//! `unflake shake`.

use std::io::{self, Write as _};

use unflake_adapter::Abilities;
use unflake_app::shake::{ShakeRequest, shake};
use unflake_campaign::question::Question;
use unflake_known::Ended;
use unflake_known::shaking::Shaking;
use unflake_model::{Factor, Factors};
use unflake_report::Command;
use unflake_report::shake::{json, text};
use unflake_stats::rate::Rate;

use crate::commands::detect::{Task, goal};
use crate::exit::{self, Failure};
use crate::progress::Line;
use crate::running::not_run;
use crate::screen::Screen;
use crate::search_args::SearchArgs;

const FACTORS_HELP: &str = "\
Factors:
  cpu          one core, and busy neighbours on it
  memory       little memory left to allocate
  disk         opening, renaming and removing files takes long
  network      connecting, sending and receiving takes long
  waits        waits, and the threads waited for, take longer
  switches     threads take turns where they seldom do
  clock        the clock jumps
  date         another day, or just before midnight
  time-zone    another time zone
  locale       another locale and default encoding
  hash-seed    strings hashed otherwise, so sets in another order
  listings     folders listed in another order
  random       random numbers start elsewhere
  recursion    calls may not nest as deep
  descriptors  few more files can be open
  umask        new files have other permissions
  columns      another width of the terminal
  neighbours   other tests run at the same time

The test is run alone, one run at a time unless --jobs says otherwise. --depth and --fresh change
nothing here: a search that was cut off always begins anew.

Examples:
  unflake shake tests/test_cart.py::test_total
      which circumstance makes it fail, how often, and the command that shows it
  unflake shake tests/test_cart.py::test_total --factors hash-seed,random --rate 0.02
      among two of them, down to one that matters under 2 % of all seeds
  unflake shake tests/test_cart.py::test_total --time 60s --json
      what is known after a minute, for a program";

/// Options of `unflake shake`.
#[derive(Debug, clap::Args)]
#[command(after_help = FACTORS_HELP)]
pub(crate) struct ShakeArgs {
    /// The test, as the runner spells it
    pub test: String,

    /// Only these factors [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub factors: Vec<String>,

    /// Find factors that matter under at least this share of all seeds
    #[arg(long, value_name = "RATE", default_value_t = 0.1)]
    pub rate: f64,

    /// Print for programs
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub look: SearchArgs,
}

/// Shakes a test, and says what makes it fail.
pub(crate) fn run(args: &ShakeArgs, screen: Screen) -> Result<u8, Failure> {
    let rate_min = Rate::new(args.rate).ok().filter(|rate| 0.0 < rate.get());
    let rate_min = rate_min.ok_or_else(|| {
        Failure::input(format!("--rate: `{}` is no share of all seeds", args.rate), "try 0.1")
    })?;
    let factors = factors(&args.factors)?;
    let hint = "`unflake why` says on which tests it depends";
    let is_able = |it: &Abilities| !it.factors.is_empty();
    args.look.typed(&[]).require(is_able, "`shake` changes circumstances", hint)?;
    let mut task = Task::about(&args.look, &args.test)?;
    let Question::Test(test) = task.request.question.clone() else {
        return Err(Failure::input("no test was named", "give a test as your runner spells it"));
    };
    // One at a time, unless somebody insists: runs beside each other are a circumstance, too.
    task.limits.jobs = args.look.jobs.unwrap_or(1);
    let request = ShakeRequest {
        test,
        factors,
        rate_min,
        seed: task.request.seed,
        budget: task.request.budget,
        wall_max: task.request.wall_max,
        keep: task.request.keep.clone(),
        command: task.request.command.clone(),
    };
    let goal = goal(&task.request);
    let mut line = Line::new(goal, screen);
    let part = task.part()?;
    let shaken = shake(&request, part, &task.limits, &task.interrupt, &mut line);
    drop(line);
    let shaking = shaken.map_err(|error| not_run(&error, part))?;
    let mut out = io::stdout().lock();
    let layout = screen.layout();
    let report = if args.json {
        json::render(&shaking, Command::Shake)
    } else {
        text::render(&shaking, layout)
    };
    out.write_all(report.as_bytes())?;
    out.flush()?;
    Ok(code(&shaking))
}

fn factors(names: &[String]) -> Result<Factors, Failure> {
    if names.is_empty() {
        return Ok(Factor::ALL.into_iter().collect());
    }
    let known = Factor::ALL.map(Factor::slug).join(", ");
    let factor = |name: &String| {
        name.trim().parse::<Factor>().map_err(|error| {
            Failure::input(format!("--factors: {error}"), format!("there are {known}"))
        })
    };
    names.iter().map(factor).collect()
}

fn code(shaking: &Shaking) -> u8 {
    let is_unseen = shaking.screened.iter().any(|(_, tally)| tally.attempts == 0);
    match (shaking.exhibits.is_empty(), shaking.ended) {
        (false, _) => exit::FOUND,
        (true, Ended::Confident) if is_unseen => exit::UNDECIDED,
        (true, Ended::Confident) => exit::SUCCESS,
        (true, Ended::OutOfBudget | Ended::Interrupted) => exit::UNDECIDED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_factor_with_its_description() {
        for factor in Factor::ALL {
            let line = format!("  {:<11}  {}\n", factor.slug(), factor.description());
            assert!(FACTORS_HELP.contains(&line), "{line}");
        }
    }

    #[test]
    fn a_factor_that_does_not_exist_is_wrong_usage() {
        assert_eq!(factors(&[]).unwrap().len(), Factor::ALL.len());
        assert_eq!(factors(&["cpu".to_owned(), " date".to_owned()]).unwrap().len(), 2);
        let error = factors(&["moon".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "--factors: there is no factor `moon`");
    }
}
