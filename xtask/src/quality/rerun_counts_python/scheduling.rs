//! Detections per second: our scheduler of reruns against rerunning everything.
//!
//! The data file has only flaky tests, so the suite around them is made up, with exactly the
//! properties that the study of characteristic functions reports of its own ([`Suite`]). The
//! failure rates are real: those of the tests in the file that fail at random. The scheduler knows
//! none of them. What it believes about rates in general was fitted on one half of the projects,
//! and it is judged on tests of the other half; what it believes about exposed tests is the
//! published share.
//!
//! Each policy pays for one run of everything, ten milliseconds for each process, and, if it uses a
//! trace, what the study paid for each traced run (36.1 % of its time). A policy is measured by
//! when it has found 20, 50, 80 and 95 % of what running everything 170 times finds.

use std::time::Duration;

use unflake_detect::reruns::belief::{Belief, Rates};
use unflake_detect::reruns::schedule::{Candidate, Exposure, Schedule, Terms};
use unflake_model::random::Random;
use unflake_model::{OutcomeKind, Tally, TestIndex};
use unflake_sim::reruns::{Costs, Played, Policy, Rerunnable, Rounds, Until, play};

use super::super::summary::{median, percent};
use super::suite::Suite;
use super::{Counts, SEED};
use crate::quality::curve::{Chart, Line};
use crate::table::{render, row};

/// How many suites are made up, each with its own luck.
const N_SUITES: u64 = 8;

/// Runs of everything, which show what can be found.
const ROUNDS: usize = 170;

/// After this many runs the other policies are stopped.
const ROUNDS_MAX: usize = 1500;

const MARKS: [f64; 4] = [0.2, 0.5, 0.8, 0.95];

/// The share of detections at which a game ends.
const LAST: f64 = 0.97;

const COSTS: Costs = Costs { start: 0.01, tracing: 0.361 };

/// Suites with shorter tests than this are run whole by the hybrid.
const HYBRID_SECONDS: f64 = 0.004;

/// The policies in the contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Ours,
    /// Without a trace.
    OursUntraced,
    /// With a useless trace: exposure is assigned at random.
    OursMisled,
    All,
    Exposed,
    Hybrid,
    Quickest,
}

impl Way {
    const ALL: [Self; 7] = [
        Self::Ours,
        Self::OursUntraced,
        Self::OursMisled,
        Self::All,
        Self::Exposed,
        Self::Hybrid,
        Self::Quickest,
    ];
    const OTHERS: [Self; 4] = [Self::All, Self::Exposed, Self::Hybrid, Self::Quickest];

    fn name(self) -> &'static str {
        match self {
            Self::Ours => "our scheduler",
            Self::OursUntraced => "  without a trace",
            Self::OursMisled => "  with a trace that misleads",
            Self::All => "rerun everything",
            Self::Exposed => "exposed tests only",
            Self::Hybrid => "all below 4 ms, else exposed",
            Self::Quickest => "170 runs each, quickest first",
        }
    }

    fn policy(self, tests: &[Rerunnable], rates: &Rates, seed: u64) -> Box<dyn Policy> {
        let rounds = |is_chosen: &dyn Fn(&Rerunnable) -> bool, n_rounds| {
            let chosen = (0..tests.len()).filter(|test| is_chosen(&tests[*test]));
            let chosen = chosen.map(TestIndex::new).collect();
            Rounds::new(vec![chosen], tests.len(), n_rounds)
        };
        match self {
            // The first run of everything is one of them.
            Self::All => Box::new(rounds(&|_| true, ROUNDS - 1)),
            Self::Exposed => {
                Box::new(TracedFirst::new(rounds(&|test| test.is_exposed, ROUNDS_MAX)))
            }
            Self::Hybrid => {
                let is_quick = |test: &Rerunnable| test.seconds < HYBRID_SECONDS;
                let is_chosen = |test: &Rerunnable| test.is_exposed || is_quick(test);
                Box::new(TracedFirst::new(rounds(&is_chosen, ROUNDS_MAX)))
            }
            Self::Quickest => Box::new(Rounds::new(quickest_first(tests), tests.len(), ROUNDS - 1)),
            Self::Ours | Self::OursUntraced | Self::OursMisled => {
                Box::new(Scheduled::new(self, tests, rates, seed))
            }
        }
    }
}

/// Traces the first run, which is of everything.
struct TracedFirst {
    rounds: Rounds,
    is_first: bool,
}

impl TracedFirst {
    fn new(rounds: Rounds) -> Self {
        Self { rounds, is_first: true }
    }
}

impl Policy for TracedFirst {
    fn next_batch(&mut self) -> Vec<TestIndex> {
        self.is_first = false;
        self.rounds.next_batch()
    }

    fn tell(&mut self, test: TestIndex, outcome: OutcomeKind) {
        self.rounds.tell(test, outcome);
    }

    fn traces(&mut self, _test: TestIndex) -> bool {
        self.is_first
    }
}

/// Our scheduler, which learns what a test is exposed to from its second run.
struct Scheduled {
    schedule: Schedule,
    /// What a trace of each test would show.
    exposures: Vec<Exposure>,
    n_runs: Vec<u32>,
    is_tracing: bool,
}

impl Scheduled {
    fn new(way: Way, tests: &[Rerunnable], rates: &Rates, seed: u64) -> Self {
        let mut is_exposed: Vec<bool> = tests.iter().map(|test| test.is_exposed).collect();
        if way == Way::OursMisled {
            Random::labelled(seed, &[1]).shuffle(&mut is_exposed);
        }
        let exposure = |is_exposed: bool| {
            if is_exposed { Exposure::Cause("any".to_owned()) } else { Exposure::Nothing }
        };
        let candidate = |test: &Rerunnable| Candidate {
            duration: Duration::from_secs_f64(test.seconds),
            ..Candidate::default()
        };
        let candidates: Vec<Candidate> = tests.iter().map(candidate).collect();
        Self {
            schedule: Schedule::new(&candidates, Belief::new(rates), Terms::FORKED),
            exposures: is_exposed.into_iter().map(exposure).collect(),
            n_runs: vec![0; tests.len()],
            is_tracing: way != Way::OursUntraced,
        }
    }
}

impl Policy for Scheduled {
    fn next_batch(&mut self) -> Vec<TestIndex> {
        self.schedule.next_batch().unwrap_or_default()
    }

    fn tell(&mut self, test: TestIndex, outcome: OutcomeKind) {
        let is_traced = self.traces(test);
        self.n_runs[test.get()] += 1;
        self.schedule.tell(test, outcome);
        if is_traced {
            self.schedule.expose(test, self.exposures[test.get()].clone());
        }
    }

    fn traces(&mut self, test: TestIndex) -> bool {
        self.is_tracing && self.n_runs[test.get()] == 1
    }
}

/// The quickest hundred tests, then the next hundred, and so on: as suggested by the published "80
/// % of the random tests are met in 7.5 % of the time".
fn quickest_first(tests: &[Rerunnable]) -> Vec<Vec<TestIndex>> {
    const TOGETHER: usize = 100;
    let mut sorted: Vec<TestIndex> = (0..tests.len()).map(TestIndex::new).collect();
    sorted.sort_by(|a, b| tests[a.get()].seconds.total_cmp(&tests[b.get()].seconds));
    sorted.chunks(TOGETHER).map(<[TestIndex]>::to_vec).collect()
}

/// The tests that fail at random, by project.
pub(super) struct Randoms<'a> {
    pub(super) name: &'static str,
    pub(super) by_project: Vec<Vec<&'a Counts>>,
}

impl Randoms<'_> {
    /// The tests of one half of the projects to learn from, and those of the other half to be
    /// judged on.
    fn halves(&self, seed: u64) -> (Vec<Counts>, Vec<Counts>) {
        let mut projects: Vec<&Vec<&Counts>> = self.by_project.iter().collect();
        // Two suites share a split of the projects, and each learns from one half.
        Random::labelled(SEED, &[seed / 2]).shuffle(&mut projects);
        let middle = projects.len() / 2;
        let tests = |projects: &[&Vec<&Counts>]| -> Vec<Counts> {
            projects.iter().flat_map(|tests| tests.iter().map(|counts| **counts)).collect()
        };
        let (one, other) = (tests(&projects[..middle]), tests(&projects[middle..]));
        if seed.is_multiple_of(2) { (one, other) } else { (other, one) }
    }
}

/// How all policies fared in one suite.
struct Contest {
    n_detectable: usize,
    played: Vec<(Way, Played)>,
}

impl Contest {
    fn of(suite: &Suite, randoms: &Randoms<'_>, seed: u64) -> Self {
        let (learn, judge) = randoms.halves(seed);
        let tallies: Vec<Tally> = learn.iter().map(Counts::tally).collect();
        let rates = Rates::fit(&tallies);
        let tests = suite.tests(&judge, seed);
        let go = |way: Way, until: Until| {
            let mut policy = way.policy(&tests, &rates, seed);
            (way, play(&tests, COSTS, &mut *policy, seed, until))
        };
        let all = go(Way::All, Until { seconds: f64::INFINITY, n_found: usize::MAX });
        let n_detectable = all.1.found_at.len();
        let until = Until { seconds: 1.5 * all.1.seconds, n_found: n_wanted(n_detectable, LAST) };
        let others = Way::ALL.into_iter().filter(|way| *way != Way::All);
        let mut played: Vec<(Way, Played)> = others.map(|way| go(way, until)).collect();
        played.push(all);
        Self { n_detectable, played }
    }

    fn of_way(&self, way: Way) -> Option<&Played> {
        self.played.iter().find(|(it, _)| *it == way).map(|(_, played)| played)
    }

    /// Detections per second until this share of the detectable was found; 0 if it never was.
    fn pace(&self, way: Way, mark: f64) -> f64 {
        let n_wanted = n_wanted(self.n_detectable, mark);
        let time = self.of_way(way).and_then(|played| played.time_of(n_wanted));
        time.map_or(0.0, |seconds| n_wanted as f64 / seconds)
    }
}

fn n_wanted(n_detectable: usize, mark: f64) -> usize {
    let wanted = mark * n_detectable as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of tests"
    )]
    let n_wanted = wanted.ceil() as usize;
    n_wanted
}

/// Prints the contest on one kind of suite; returns a chart of its first suite.
///
/// # Errors
/// If our policy is not ahead of all others at each mark.
pub(super) fn report(suite: &Suite, randoms: &Randoms<'_>) -> Result<Chart, String> {
    println!("\nDetections an hour until a share of what is detectable was found");
    println!("({}; {})\n", suite.name(), randoms.name);
    let contests: Vec<Contest> =
        (0..N_SUITES).map(|seed| Contest::of(suite, randoms, seed)).collect();
    let middle = |way: Way, mark: f64| {
        let paces: Vec<f64> = contests.iter().map(|contest| contest.pace(way, mark)).collect();
        median(&paces).unwrap_or(0.0)
    };
    let mut head = row!["median of 8 suites"];
    head.extend(MARKS.map(percent));
    let mut rows = vec![head];
    for way in Way::ALL {
        let mut line = row![way.name()];
        line.extend(MARKS.map(|mark| match 3600.0 * middle(way, mark) {
            pace if pace <= 0.0 => "never".to_owned(),
            pace => format!("{pace:.0} ({:.2}x)", pace / 3600.0 / middle(Way::All, mark)),
        }));
        rows.push(line);
    }
    print!("{}", render(&rows));
    for line in Suite::facts(&suite.tests(&randoms.halves(0).1, 0)) {
        println!("{line}");
    }
    effort(&contests);
    let behind = |way: Way, mark: f64| middle(Way::Ours, mark) <= middle(way, mark);
    let lost = MARKS.iter().flat_map(|mark| Way::OTHERS.map(|way| (way, *mark)));
    let lost: Vec<String> = lost
        .filter(|(way, mark)| behind(*way, *mark))
        .map(|(way, mark)| format!("`{}` at {}", way.name(), percent(mark)))
        .collect();
    if !lost.is_empty() {
        return Err(format!("our scheduler is not ahead of {}", lost.join(", ")));
    }
    Ok(chart(suite, &contests[0]))
}

/// In how many suites our policy is ahead, and what the published comparison says.
fn effort(contests: &[Contest]) {
    let ahead = |way: Way, mark: f64| {
        contests.iter().filter(|it| it.pace(way, mark) < it.pace(Way::Ours, mark)).count()
    };
    for way in Way::OTHERS {
        let counts = MARKS.map(|mark| ahead(way, mark).to_string()).join(", ");
        println!("ahead of \"{}\" in {counts} of {} suites", way.name(), contests.len());
    }
    let worst = |way: Way| {
        let ratio =
            |contest: &Contest, mark: f64| contest.pace(way, mark) / contest.pace(Way::All, mark);
        let all = contests.iter().flat_map(|contest| MARKS.map(|mark| ratio(contest, mark)));
        all.fold(f64::INFINITY, f64::min)
    };
    for way in [Way::Ours, Way::OursUntraced, Way::OursMisled] {
        println!("{}: at worst {:.2}x rerunning everything", way.name().trim(), worst(way));
    }
}

fn chart(suite: &Suite, contest: &Contest) -> Chart {
    let lines = contest.played.iter().map(|(way, played)| Line {
        name: way.name().trim().to_owned(),
        points: played
            .found_at
            .iter()
            .enumerate()
            .map(|(index, seconds)| {
                (*seconds, 100.0 * (index + 1) as f64 / contest.n_detectable as f64)
            })
            .collect(),
    });
    Chart {
        title: format!("Found, in percent of what 170 runs of everything find ({})", suite.name()),
        x: "seconds".to_owned(),
        lines: lines.collect(),
    }
}
