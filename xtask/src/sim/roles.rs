//! The role search, case by case, on suites of 1,000 tests and one of 100,000.

use std::rc::Rc;
use std::time::{Duration, Instant};

use unflake_detect::Analysis;
use unflake_detect::Depth;
use unflake_detect::explain::explain;
use unflake_model::{Budget, Confidence, Finding, Verdict};
use unflake_sim::scenario::{self, Case, Setting};
use unflake_sim::{Scenario, TestTruth};

use crate::table::{render, row};

pub(crate) fn run() -> Vec<String> {
    println!("The role search: the first target of each case, with its roles.\n");
    let mut rows = vec![row![
        "case",
        "tests",
        "noise",
        "verdict",
        "roles",
        "questions",
        "runs",
        "executions",
        "seconds"
    ]];
    let mut faults = Vec::new();
    for (name, noise, scenario) in scenarios() {
        let (finding, time) = ask(&scenario);
        let truth = scenario.sim.truth().of(scenario.targets[0]);
        let is_right = is_verdict_right(&finding, truth) && has_roles_of(&finding, truth);
        if !is_right {
            faults.push(format!("case `{name}` with noise {noise}: {finding:?}, not {truth:?}"));
        }
        rows.push(row![
            name,
            scenario.sim.suite().n_tests(),
            noise,
            finding.verdict,
            if is_right { "right" } else { "WRONG" },
            finding.questions,
            finding.spent.runs,
            finding.spent.attempts,
            format!("{:.2}", time.as_secs_f64())
        ]);
    }
    println!("{}", render(&rows));
    faults
}

fn scenarios() -> Vec<(String, f64, Scenario)> {
    let mut scenarios = Vec::new();
    for noise in [0.0, 0.2] {
        for case in Case::ALL {
            let setting = Setting { n_tests: 1000, noise, seed: 1 };
            scenarios.push((case.name().to_owned(), noise, case.scenario(setting)));
        }
    }
    let huge = Setting { n_tests: 100_000, noise: 0.0, seed: 1 };
    scenarios.push(("cleaner between".to_owned(), 0.0, Case::CleanerBetween.scenario(huge)));
    scenarios.push(("pair that acts together".to_owned(), 0.0, Case::PairTogether.scenario(huge)));
    scenarios.push(("hadoop".to_owned(), 0.0, scenario::hadoop(1)));
    scenarios.push(("dubbo".to_owned(), 0.0, scenario::dubbo(1)));
    scenarios.push(("wildfly chain".to_owned(), 0.0, scenario::wildfly(1)));
    scenarios.push(("web of 27 x 20".to_owned(), 0.0, scenario::web(1)));
    scenarios
}

#[expect(clippy::disallowed_methods, reason = "the table shows real seconds, and decides by none")]
fn ask(scenario: &Scenario) -> (Finding, Duration) {
    let suite = Rc::new(scenario.sim.suite().clone());
    let budget = Budget::unlimited(Confidence::new(0.99).expect("a probability"));
    let target = scenario.targets[0];
    let start = Instant::now();
    let analysis = Analysis::new(suite, budget, |lab| explain(lab, target, Depth::Roles));
    let (finding, _) =
        analysis.drive(1, |batch| batch.iter().map(|e| scenario.sim.observe(e)).collect());
    (finding, start.elapsed())
}

/// Whether the verdict is right. That the order does not affect a random failure cannot always be
/// shown with a reasonable number of runs; then "undecided" is right.
fn is_verdict_right(finding: &Finding, truth: &TestTruth) -> bool {
    finding.verdict == truth.verdict
        || (finding.verdict == Verdict::NodUndecided && truth.verdict == Verdict::Ndoi)
}

fn has_roles_of(finding: &Finding, truth: &TestTruth) -> bool {
    let (mut found, truth) = (finding.dependencies.clone(), &truth.dependencies);
    found.polluters.sort();
    found.state_setters.sort();
    found.cleaners.sort_by(|a, b| a.polluters.cmp(&b.polluters));
    found == *truth
}
