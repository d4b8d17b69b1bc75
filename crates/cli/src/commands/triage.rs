//! `unflake triage`.

use std::error::Error;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_adapter::Part;
use unflake_app::triage::{TriageError, TriageRequest, triage};
use unflake_engine::Interrupt;
use unflake_known::junit_xml::NoReport;
use unflake_known::triage::Triage;
use unflake_model::{TestId, Verdict};
use unflake_report::triage::{json, text};

use crate::exit::{self, Failure};
use crate::isolation::IsolationArg;
use crate::opened::{Manner, Opened, Tracing, look_into, share_of};
use crate::progress::{Goal, Line};
use crate::project_args::ProjectArgs;
use crate::running::{limits, not_run, stop_on_ctrl_c};
use crate::screen::Screen;
use crate::typed_values::time_limit;

const EXAMPLES: &str = "\
Each failed test is run again alone, again in that same process, after the same tests as in the
report, and under other seeds of open choices (Python's hashing; in Java what NonDex varies). Which
of these fail tells what it is:

  fails always                          always-failing: a regression, not a flaky test
  alone passes, after the others fails  od-victim; the other way round od-brittle
  both in one condition                 nod: fails at random
  by the seed                           id: depends on the order of a set or a map
  passes, then fails in its process     nio
  passes always                         ud: was seen to flake, not reproduced

Examples:
  pytest --junit-xml=report.xml || unflake triage report.xml
      in continuous integration: a red build that is only flaky is told from one that is broken
  mvn test || unflake triage target/surefire-reports
      the same for JUnit; of a folder, all files TEST-*.xml are read
  unflake triage report.xml --tries 8 --json
      more certain, and for a program

Exit codes: 0 no test failed, or all that did are flaky; 1 a test fails always; 2 the report makes
no sense; 3 the tests could not be run; 4 a failure was not reproduced or not looked into to the
end";

const HINT: &str = "pytest writes one with --junit-xml=FILE; Maven fills target/surefire-reports, \
    Gradle build/test-results/test";

/// Options of `unflake triage`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TriageArgs {
    /// The report, JUnit XML as pytest, Maven or Gradle writes it; a folder of them, or `-` for
    /// standard input
    #[arg(value_name = "JUNIT.xml")]
    pub report: PathBuf,

    /// Runs in each condition
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub tries: u64,

    /// Other seeds of open choices
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub seeds: u64,

    /// Look into at most this many failed tests
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub tests_max: usize,

    /// Print for programs
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub project: ProjectArgs,

    /// Stop after this long, such as 90s, 5m or 1h [default: no limit]
    #[arg(long, value_name = "SPAN", value_parser = time_limit)]
    pub time: Option<Duration>,

    /// Keep runs apart: files, processes, network
    #[arg(long, value_name = "LEVEL", default_value = "no-net")]
    pub isolation: IsolationArg,
}

/// Looks into the failures of a report.
pub(crate) fn run(args: &TriageArgs, screen: Screen) -> Result<u8, Failure> {
    if args.tries == 0 {
        return Err(Failure::input("--tries: `0` is none", "give 1 or more"));
    }
    let interrupt = Interrupt::default();
    stop_on_ctrl_c(&interrupt);
    let found = find(args, &read(&args.report)?, &interrupt, screen)?;
    let shown = if args.json { json(&found) } else { text(&found, screen.layout()) };
    let mut out = io::stdout().lock();
    out.write_all(shown.as_bytes())?;
    out.flush()?;
    Ok(code(&found))
}

fn find(
    args: &TriageArgs,
    reports: &[String],
    interrupt: &Interrupt,
    screen: Screen,
) -> Result<Triage, Failure> {
    let bad = |error: &dyn Error| {
        let message = format!("`{}`: it is no JUnit XML: {error}", args.report.display());
        Failure::input(message, HINT)
    };
    let typed = args.project.typed(&[]);
    let opened = Opened::find(typed, interrupt)?;
    let sorted = sorted(&opened, reports).map_err(|error| bad(&error))?;
    let is_sorted = sorted.is_some();
    let (mut found, failing) = sorted.unwrap_or_default();
    let parts = if is_sorted { failing.iter().map(|it| it.part).collect() } else { opened.parts() };
    let time = share_of(args.time, parts.len());
    let request = TriageRequest {
        reports: reports.to_vec(),
        tries: args.tries,
        n_seeds: args.seeds,
        tests_max: args.tests_max,
        wall_max: time,
    };
    let limits = limits(opened.levels(args.isolation), args.project.timeout, 1);
    let manner = Manner { is_long: true, tracing: Tracing::No, interrupt };
    let looked = look_into(&parts, &manner, |part| {
        let mut line = Line::new(Goal { time, ..Goal::default() }, screen);
        let found = triage(&request, part, &limits, interrupt, &mut line);
        found.map_err(|error| match &error {
            TriageError::Report(error) => bad(error),
            TriageError::Campaign(error) => not_run(error, part),
        })
    })?;
    for (_, of_part) in looked.found {
        // What one part does not know another may.
        let unknown = if is_sorted { Vec::new() } else { of_part.unknown };
        found.add(Triage { unknown, ..of_part });
    }
    let missing =
        failing.into_iter().filter(|it| looked.missing.iter().any(|name| name == it.part.name()));
    found.not_looked_into.extend(missing.flat_map(|it| it.tests));
    Ok(found)
}

/// A part with tests that failed.
struct Failing<'m> {
    part: &'m dyn Part,
    tests: Vec<TestId>,
}

/// What is known without a run, and the parts to be looked into; `None` where tests are known only
/// to an agent.
fn sorted<'m>(
    opened: &'m Opened,
    reports: &[String],
) -> Result<Option<(Triage, Vec<Failing<'m>>)>, NoReport> {
    let (mut found, mut failing) = (Triage::default(), Vec::new());
    let mut unknown: Option<Vec<String>> = None;
    for part in opened.parts() {
        let Some(ids) = part.ids() else { return Ok(None) };
        let report = part.ci_report(reports, &ids)?;
        let is_unknown = |name: &String| report.unknown.contains(name);
        unknown = Some(match unknown {
            Some(earlier) => earlier.into_iter().filter(is_unknown).collect(),
            None => report.unknown,
        });
        if report.failed.is_empty() {
            found.n_reported += report.order.len();
        } else {
            let tests = report.failed.iter().filter_map(|(place, _)| ids[*place].parse().ok());
            failing.push(Failing { part, tests: tests.collect() });
        }
    }
    found.unknown = unknown.unwrap_or_default();
    Ok(Some((found, failing)))
}

/// The report; of a folder all that build tools call reports.
fn read(path: &Path) -> Result<Vec<String>, Failure> {
    let read = || {
        if path.as_os_str() == "-" {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            return Ok(vec![text]);
        }
        if !path.is_dir() {
            return Ok(vec![fs::read_to_string(path)?]);
        }
        let files = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
        let mut files = files.collect::<io::Result<Vec<PathBuf>>>()?;
        files.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("TEST-") && name.ends_with(".xml")
        });
        files.sort();
        files.iter().map(fs::read_to_string).collect()
    };
    let texts = read().map_err(|error: io::Error| {
        Failure::input(format!("cannot read `{}`: {error}", path.display()), HINT)
    })?;
    if texts.is_empty() {
        let message = format!("there is no report in the folder `{}`", path.display());
        return Err(Failure::input(message, HINT));
    }
    Ok(texts)
}

fn code(found: &Triage) -> u8 {
    let has = |verdicts: &[Verdict]| found.tests.iter().any(|it| verdicts.contains(&it.verdict));
    if has(&[Verdict::AlwaysFailing]) {
        exit::FOUND
    } else if has(&[Verdict::Ud, Verdict::InsufficientEvidence])
        || !found.not_looked_into.is_empty()
        || !found.unknown.is_empty()
    {
        exit::UNDECIDED
    } else {
        exit::SUCCESS
    }
}
