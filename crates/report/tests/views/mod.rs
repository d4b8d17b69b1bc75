//! The few views on which every format is tested.

use std::rc::Rc;
use std::time::Duration;

use unflake_known::{
    Confirmation, Ended, Exhibit, FailedAttempt, Failure, Findings, NotCollected, Origin,
    PlainAnswer, Record, State, View, Warning,
};
use unflake_model::{
    Cause, CleanersOf, Confidence, Contrast, Dependencies, Finding, Group, OutcomeChange,
    OutcomeKind, RunId, Spent, StateKind, Suite, SuiteBuilder, Tally, TestIndex, Tried, Verdict,
};

/// What a view borrows from.
pub(crate) struct Case {
    pub(crate) suite: Suite,
    pub(crate) exhibits: Vec<Exhibit>,
    pub(crate) causes: Vec<Cause>,
    pub(crate) changes: Vec<OutcomeChange>,
    pub(crate) set_up_failing: Vec<TestIndex>,
    pub(crate) records: Vec<Record>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) n_recalled: u64,
    pub(crate) n_orders: u64,
    pub(crate) ended: Ended,
    pub(crate) origin: Origin,
}

impl Case {
    pub(crate) fn view(&self) -> View<'_> {
        View {
            suite: &self.suite,
            exhibits: &self.exhibits,
            causes: &self.causes,
            changes: &self.changes,
            set_up_failing: &self.set_up_failing,
            records: &self.records,
            warnings: &self.warnings,
            spent: Spent { runs: 412, attempts: 9120, time: Duration::from_millis(23_400) },
            n_recalled: self.n_recalled,
            wall_time: Duration::from_millis(12_300),
            n_orders: self.n_orders,
            flake_rate_detectable: 0.072_158,
            n_seeds: 1,
            confidence: Confidence::USUAL,
            ended: self.ended,
            origin: &self.origin,
        }
    }

    /// The same as a value of its own.
    pub(crate) fn findings(&self) -> Findings {
        let view = self.view();
        Findings {
            suite: Rc::new(self.suite.clone()),
            exhibits: self.exhibits.clone(),
            causes: self.causes.clone(),
            changes: self.changes.clone(),
            set_up_failing: self.set_up_failing.clone(),
            records: self.records.clone(),
            warnings: self.warnings.clone(),
            spent: view.spent,
            n_recalled: view.n_recalled,
            wall_time: view.wall_time,
            n_orders: view.n_orders,
            flake_rate_detectable: view.flake_rate_detectable,
            n_seeds: view.n_seeds,
            confidence: view.confidence,
            ended: view.ended,
            origin: self.origin.clone(),
        }
    }

    fn of(ids: &[String]) -> Self {
        let mut builder = SuiteBuilder::default();
        for id in ids {
            let class = id.split("::").next().expect("split gives one");
            builder.push(class, id.parse().expect("a test id"), Duration::from_millis(12));
        }
        let passed =
            Record { tally: Tally { failures: 0, attempts: 40 }, skipped: 0, failures: Vec::new() };
        Self {
            suite: builder.build().expect("ids are distinct"),
            exhibits: Vec::new(),
            causes: Vec::new(),
            changes: Vec::new(),
            set_up_failing: Vec::new(),
            records: vec![passed; ids.len()],
            warnings: Vec::new(),
            n_recalled: 0,
            n_orders: 40,
            ended: Ended::Confident,
            origin: Origin {
                runner: "pytest".to_owned(),
                runner_version: "9.2.0".to_owned(),
                seed: 7,
                hash_seed: Some(4711),
                command: "unflake detect tests".to_owned(),
                campaign: Some("3f2a91".to_owned()),
                lent: std::collections::BTreeMap::new(),
                between: None,
            },
        }
    }

    /// Adds an exhibit with its record; order-dependent ones with commands that were tried.
    fn add(&mut self, verdict: Verdict, test: usize, tally: (u64, u64)) -> &mut Exhibit {
        let tally = Tally { failures: tally.0, attempts: tally.1 };
        let failure = Failure {
            message: "AssertionError: assert 'EUR' == 'USD'".to_owned(),
            text: "def test_it():\n>       assert currency() == 'USD'\nE       AssertionError: \
                   assert 'EUR' == 'USD'\n\ntests/test_it.py:12: AssertionError"
                .to_owned(),
        };
        let kept =
            FailedAttempt { run: RunId(3), outcome: OutcomeKind::Failed, failure: failure.clone() };
        self.records[test] = Record {
            tally,
            skipped: 0,
            failures: if tally.failures == 0 { Vec::new() } else { vec![kept] },
        };
        let finding = Finding {
            fails_under: None,
            contrast: None,
            test: TestIndex::new(test),
            verdict,
            confirmed: true,
            confidence: Confidence::new(0.999_997).ok(),
            tried: Tried::default(),
            tally,
            passed_in: (tally.failures < tally.attempts).then_some(RunId(1)),
            failed_in: (0 < tally.failures).then_some(RunId(3)),
            dependencies: Dependencies::default(),
            is_complete: true,
            questions: 14,
            spent: Spent { runs: 66, attempts: 150, time: Duration::from_millis(900) },
        };
        self.exhibits.push(Exhibit {
            finding,
            reproduce: Vec::new(),
            plain: PlainAnswer::NotAsked,
            factors: Vec::new(),
            failure: (0 < tally.failures).then_some(failure),
            state: Vec::new(),
            choices: Vec::new(),
            seen: None,
        });
        self.exhibits.last_mut().expect("just pushed")
    }

    fn depends(&mut self, exhibit: usize, dependencies: Dependencies) {
        let alone_fails = dependencies.polluters.is_empty();
        let first = dependencies.polluters.iter().chain(&dependencies.state_setters).next();
        let group: Vec<TestIndex> = first.expect("depends on something").clone();
        let exhibit = &mut self.exhibits[exhibit];
        let command: Vec<String> = group
            .iter()
            .chain([&exhibit.finding.test])
            .map(|test| format!("'{}'", self.suite.id(*test).as_str().replace('\'', "'\\''")))
            .collect();
        let count =
            |fails, attempts| Tally { failures: if fails { attempts } else { 0 }, attempts };
        exhibit.finding.dependencies = dependencies;
        exhibit.reproduce = vec![format!("pytest -p no:randomly {}", command.join(" "))];
        exhibit.plain = PlainAnswer::Said(Confirmation { as_predicted: 3, tries: 3, others: 0 });
        exhibit.finding.contrast =
            Some(Contrast { alone: count(alone_fails, 10), after_group: count(!alone_fails, 25) });
    }
}

fn tally(failures: u64, attempts: u64) -> Tally {
    Tally { failures, attempts }
}

fn group(tests: &[usize]) -> Group {
    tests.iter().copied().map(TestIndex::new).collect()
}

fn polluted_by(groups: &[&[usize]]) -> Dependencies {
    Dependencies {
        polluters: groups.iter().map(|tests| group(tests)).collect(),
        ..Dependencies::default()
    }
}

fn numbered(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("tests/test_shop_{:02}.py::test_{i}", i / 10)).collect()
}

/// One finding of each verdict, two of which share a cause; one of each warning.
pub(crate) fn every_verdict() -> Case {
    let mut case = Case::of(&numbered(60));
    for (place, verdict) in Verdict::ALL.into_iter().enumerate() {
        let tally = match verdict {
            Verdict::AlwaysFailing => (40, 40),
            Verdict::Id | Verdict::Nio | Verdict::NotFlaky => (0, 40),
            Verdict::InsufficientEvidence => (0, 0),
            Verdict::OdVictim
            | Verdict::OdBrittle
            | Verdict::OdUnknownRole
            | Verdict::Ndod
            | Verdict::Ndoi
            | Verdict::NodUndecided
            | Verdict::Env
            | Verdict::Ud => (3, 40),
        };
        case.add(verdict, 10 + place, tally);
    }
    case.add(Verdict::OdVictim, 30, (5, 40));
    let cleaners = vec![
        CleanersOf { polluters: group(&[2]), cleaners: group(&[5, 6]) },
        CleanersOf { polluters: group(&[3, 4]), cleaners: group(&[5]) },
    ];
    case.depends(0, Dependencies { cleaners, ..polluted_by(&[&[2], &[3, 4]]) });
    let state = State {
        place: "shop.config.SETTINGS['currency']".to_owned(),
        kind: StateKind::Global,
        before: Some("'EUR'".to_owned()),
        after: Some("'USD'".to_owned()),
    };
    case.exhibits[0].state.push(state);
    let setters = Dependencies { state_setters: vec![group(&[8])], ..Dependencies::default() };
    case.depends(1, setters);
    case.depends(3, polluted_by(&[&[7]]));
    case.exhibits[3].plain =
        PlainAnswer::Said(Confirmation { as_predicted: 2, tries: 3, others: 0 });
    case.exhibits[3].finding.contrast =
        Some(Contrast { alone: tally(1, 100), after_group: tally(57, 100) });
    case.depends(12, polluted_by(&[&[2]]));
    for unsure in [5, 8, 10] {
        case.exhibits[unsure].finding.confirmed = false;
        case.exhibits[unsure].finding.confidence = None;
    }
    let single = |test: usize| Cause { culprits: group(&[test]), tests: group(&[test]) };
    case.causes = vec![Cause { culprits: group(&[2, 3, 4]), tests: group(&[10, 30]) }];
    case.causes.extend((11..22).map(single));
    case.changes = vec![
        change(10, OutcomeKind::Passed, OutcomeKind::Failed),
        change(50, OutcomeKind::Skipped, OutcomeKind::Passed),
    ];
    case.set_up_failing = group(&[19, 55]);
    case.records[50].skipped = 4;
    case.records[51] = Record { tally: Tally::default(), skipped: 3, failures: Vec::new() };
    case.warnings = every_warning();
    case
}

fn change(test: usize, first: OutcomeKind, later: OutcomeKind) -> OutcomeChange {
    OutcomeChange { test: TestIndex::new(test), first: (RunId(1), first), later: (RunId(7), later) }
}

fn every_warning() -> Vec<Warning> {
    let part = |place: &str| NotCollected {
        place: place.to_owned(),
        reason: "ImportError: no module named 'stripe'\n  in line 3".to_owned(),
    };
    vec![
        Warning::IsolationRefused {
            level: "network namespace".to_owned(),
            reason: "operation not permitted".to_owned(),
        },
        Warning::IsolationSteppedDown { level: "process namespace".to_owned(), n_tests: 1 },
        Warning::ForkUnsafe { reason: "2 threads alive after collection".to_owned() },
        Warning::NotCollected { parts: ["a", "b", "c", "d", "e", "f"].map(part).to_vec() },
        Warning::DiffersFromPlain { n_tests: 2 },
        Warning::PlainNotRun {
            tests: vec!["tests/test_shop_00.py::test_0".to_owned()],
            reason: "it was stopped after 60 s".to_owned(),
        },
        Warning::NotCompared { reason: "the project stops at \u{1b}[31mtest_first".to_owned() },
        Warning::NotRepeated { tests: vec!["menu.yaml::soup".to_owned()] },
        Warning::TwiceNotShown { tests: vec!["a.py::test_b".to_owned()] },
        Warning::PerturbedNotRun {
            n_runs: 2,
            reason: "collecting again gave other tests: `test_a[12:01]` is new".to_owned(),
        },
        Warning::BrokenOff { reason: "cannot prepare a run: the disk is full".to_owned() },
        Warning::NotRecorded { reason: "the disk is full".to_owned() },
        Warning::WatchedInPart,
    ]
}

/// A campaign that found nothing.
pub(crate) fn nothing() -> Case {
    Case::of(&numbered(214))
}

/// Stopped before the first order was through, with one suspicion.
pub(crate) fn interrupted() -> Case {
    let mut case = Case::of(&numbered(30));
    case.ended = Ended::Interrupted;
    case.n_recalled = 12;
    case.n_orders = 0;
    case.records.truncate(12);
    let suspect = case.add(Verdict::NodUndecided, 4, (1, 2));
    suspect.finding.confirmed = false;
    suspect.finding.confidence = None;
    case
}

/// Ids with whatever runners allow, and failures that try to do harm.
pub(crate) fn odd_ids() -> Case {
    let long = format!("tests/test_long.py::test[{}]", "long-".repeat(60));
    let ids = [
        "tests/test_p.py::test[a b  c]",
        "tests/test_p.py::test['single' \"double\" `back`]",
        "tests/test_p.py::test[x|y<b>&amp;]",
        "tests/test_größe.py::test_測試[✓-\u{202e}gnp]",
        &long,
        "tests/test_p.py::test_@mention #1 *bold* __init__",
        "plain",
    ];
    let mut case = Case::of(&ids.map(str::to_owned));
    for test in 0..6 {
        case.add(Verdict::OdVictim, test, (2, 40));
        case.depends(test, polluted_by(&[&[(test + 1) % 6], &[6, (test + 2) % 6]]));
    }
    let harm = Failure {
        message: "\u{1b}]0;owned\u{7}\u{9b}2J ]]> </failure> <script>".to_owned(),
        text: "```\n</details>\n\u{0}\u{1b}[31mred\u{1b}[0m\ttab\u{fffe}\r\n| a | b |".to_owned(),
    };
    case.exhibits[1].failure = Some(harm.clone());
    case.records[1].failures[0].failure = harm;
    case
}

/// 200 findings: one cause of 27, and 173 that fail at random, each at its own rate.
pub(crate) fn two_hundred() -> Case {
    let mut case = Case::of(&numbered(1000));
    for test in 0..173 {
        case.add(Verdict::Ndoi, 200 + test, (1 + test as u64 % 30, 40));
    }
    for victim in 0..27 {
        case.add(Verdict::OdVictim, 100 + victim, (9, 40));
        let polluters: Vec<Group> = (0..20).map(|polluter| group(&[polluter])).collect();
        let cleaners = vec![CleanersOf {
            polluters: group(&[0]),
            cleaners: (40..60).map(TestIndex::new).collect(),
        }];
        let dependencies = Dependencies { polluters, cleaners, ..Dependencies::default() };
        case.depends(173 + victim, dependencies);
    }
    let tests = |range: std::ops::Range<usize>| range.map(TestIndex::new).collect();
    case.causes = vec![Cause { culprits: tests(0..20), tests: tests(100..127) }];
    case
}

/// All of them, by name.
pub(crate) fn all() -> [(&'static str, Case); 5] {
    [
        ("every_verdict", every_verdict()),
        ("nothing", nothing()),
        ("interrupted", interrupted()),
        ("odd_ids", odd_ids()),
        ("two_hundred", two_hundred()),
    ]
}
