//! One value of each kind that documents are made of.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use unflake_calls::folds::Fold;
use unflake_calls::learn::{Chosen, Exposed as ExposedTests, Learned, Score};
use unflake_known::exposed::{Exposed, ExposedBy, Row};
use unflake_known::fix::{Checked, Fix, Patch, Proposal, ProposedFile, Rejected};
use unflake_known::replay::{Difference, Replay};
use unflake_known::suite_run::{Failing, Known, Sequence, SuiteRun};
use unflake_known::triage::{Triage, Triaged};
use unflake_known::{
    Check, Choice, Failure, KnownFactor, Lesson, Origin, Past, PastCampaign, PastFailure,
    PastRecord, RerunStudy, Warning,
};
use unflake_model::{
    Confidence, Evidence, Factor, OutcomeKind, Repetition, Retried, RootCause, Suite, Tally,
    TestId, TestIndex, Verdict,
};
use unflake_orders::Strategy;
use unflake_orders::cost::CostModel;
use unflake_report::orders::OrdersOrigin;
use unflake_stats::compare::Question;
use unflake_stats::rerun_study::{Attempted, OrderRun, Runs, tables};

use crate::views::every_verdict;

fn id(name: &str) -> TestId {
    name.parse().expect("a test id")
}

fn tally(failures: u64, attempts: u64) -> Tally {
    Tally { failures, attempts }
}

fn failure() -> Failure {
    Failure { message: "assert 1 == 2".to_owned(), text: "E assert 1 == 2".to_owned() }
}

fn origin() -> Origin {
    Origin::new("pytest 9.2.0", 7, "unflake run", Some("3f2a91".to_owned()))
}

pub(crate) fn choice(test: Option<&str>) -> Choice {
    Choice {
        api: "java.util.HashMap$KeySet.iterator".to_owned(),
        place: "com.acme.Receipt.text(Receipt.java:28)".to_owned(),
        test: test.map(str::to_owned),
        number: 3,
        n: 12,
    }
}

pub(crate) fn factor() -> KnownFactor {
    KnownFactor {
        factors: [Factor::HashSeed].into_iter().collect(),
        how: vec!["PYTHONHASHSEED=3".to_owned()],
        with: tally(9, 10),
        without: tally(0, 10),
        makes_it_fail: true,
        cause: Some(RootCause::Randomness),
        command: Some("unflake replay 3f2a91/4".to_owned()),
        campaign: "3f2a91".to_owned(),
        is_of_older_code: false,
    }
}

pub(crate) fn single() -> SuiteRun {
    let known = Known {
        tally: tally(3, 40),
        verdict: Some((Verdict::OdVictim, "3f2a91".to_owned())),
        polluters: vec![vec![id("t.py::polluter")]],
        factors: vec![factor()],
    };
    let failing = |name: &str, known| Failing {
        test: id(name),
        outcome: OutcomeKind::Failed,
        failure: failure(),
        known,
    };
    SuiteRun {
        sequence: Sequence::Reverse,
        suite: Suite::of_sizes(&[3]).expect("three tests"),
        records: Vec::new(),
        failing: vec![failing("t.py::victim", Some(known)), failing("t.py::new", None)],
        n_not_run: 1,
        warnings: vec![Warning::WatchedInPart],
        wall_time: Duration::from_millis(1234),
        origin: origin(),
    }
}

pub(crate) fn rerun_study() -> RerunStudy {
    let attempt = |test, evidence| Attempted {
        test: TestIndex::new(test),
        evidence,
        duration: Duration::from_millis(20),
    };
    let run = |order, evidence| OrderRun {
        order,
        attempts: vec![attempt(0, Evidence::Pass), attempt(1, evidence)],
    };
    let suite = vec![run(0, Evidence::Pass), run(0, Evidence::Fail), run(1, Evidence::Pass)];
    let alone = vec![attempt(1, Evidence::Pass), attempt(1, Evidence::Fail)];
    let question = Question { confidence: Confidence::USUAL, margin: 0.1, seed: 7 };
    RerunStudy {
        suite: Rc::new(Suite::of_sizes(&[2]).expect("two tests")),
        tables: tables(&Runs { suite, alone }, question),
        is_whole: false,
        is_interrupted: false,
        n_recalled: 1,
        campaign: Some("3f2a91".to_owned()),
        order_runs: vec!["3f2a91/0".to_owned()],
        confidence: Confidence::USUAL,
        warnings: vec![Warning::WatchedInPart],
    }
}

pub(crate) fn triage() -> Triage {
    let triaged = |verdict, sure| Triaged {
        test: id("t.py::test"),
        message: "assert 1 == 2".to_owned(),
        n_before: 3,
        seen: Retried {
            alone: tally(0, 4),
            again: tally(0, 4),
            same_prefix: tally(4, 4),
            after_all: tally(1, 1),
            seeds: vec![tally(0, 2)],
        },
        verdict,
        sure,
    };
    Triage {
        tests: vec![
            triaged(Verdict::OdVictim, Some(0.97)),
            triaged(Verdict::AlwaysFailing, None),
            triaged(Verdict::InsufficientEvidence, None),
        ],
        n_reported: 9,
        unknown: vec!["gone::z".to_owned()],
        not_looked_into: vec![id("t.py::late")],
        warnings: vec![Warning::WatchedInPart],
    }
}

pub(crate) fn fix() -> Fix {
    let file = ProposedFile {
        path: PathBuf::from("tests/conftest.py"),
        old: String::new(),
        new: "import shop\n".to_owned(),
        encoding: "utf-8".to_owned(),
    };
    let proposal = Proposal {
        how: "restore".to_owned(),
        title: "put back `shop.CURRENCY` after each test".to_owned(),
        why: "it repairs the polluter".to_owned(),
        is_safe: true,
        files: vec![file],
        diff: "--- a/tests/conftest.py\n".to_owned(),
        n_statements: None,
        helper: None,
    };
    let checked = Checked { n_groups: 2, n_tests: 60, repaired: vec![id("t.py::other")] };
    let rejected = |title: &str| Rejected { title: title.to_owned(), why: "no".to_owned() };
    Fix {
        findings: every_verdict().findings(),
        patches: vec![Patch { proposal, checked }],
        rejected: vec![rejected("sleep")],
        not_tried: vec![rejected("rewrite")],
        reasons: vec!["time was up".to_owned()],
        is_cut_short: true,
    }
}

pub(crate) fn replay() -> Replay {
    Replay {
        name: "3f2a91/7".parse().expect("a run"),
        n_tests: 12,
        repetition: Repetition::Once,
        tries: 2,
        tries_asked: 3,
        differences: vec![Difference {
            try_number: 1,
            test: id("t.py::test"),
            recorded: OutcomeKind::Failed,
            now: OutcomeKind::Passed,
            message: String::new(),
        }],
        command: None,
    }
}

pub(crate) fn campaigns() -> Vec<PastCampaign> {
    let campaign = |name: &str, ended: Option<&str>| PastCampaign {
        name: name.to_owned(),
        began_unix_ms: 1_794_795_067_000,
        question: "all tests".to_owned(),
        command_line: "unflake detect".to_owned(),
        root: "/home/me/shop".to_owned(),
        commit: ended.map(|_| "0123abc".to_owned()),
        runner: "pytest 9.2.0".to_owned(),
        seed: 7,
        n_tests: 60,
        n_runs: 412,
        n_attempts: 9120,
        ended: ended.map(str::to_owned),
        verdicts: vec![(Verdict::OdVictim, 2)],
        factors: vec!["hash-seed".to_owned()],
    };
    vec![campaign("3f2a91", Some("confident")), campaign("77aa00", None)]
}

pub(crate) fn past() -> Past {
    let record = |verdict| PastRecord {
        campaign: "3f2a91".to_owned(),
        began_unix_ms: 1_794_795_067_000,
        commit: None,
        plain: tally(3, 40),
        varied: tally(0, 0),
        verdict,
    };
    Past {
        test: id("t.py::test"),
        records: vec![record(Some(Verdict::OdVictim)), record(None)],
        failures: vec![PastFailure {
            run: "3f2a91/7".parse().expect("a run"),
            outcome: OutcomeKind::TimedOut,
            failure: failure(),
        }],
        factors: vec![factor()],
    }
}

pub(crate) fn exposed() -> Exposed {
    let row = |exposures| Row {
        test: id("t.py::test"),
        outcome: OutcomeKind::Passed,
        duration: Duration::from_millis(20),
        n_functions: 12,
        n_files: 3,
        exposures,
    };
    let by = |cause, function: &str, n_calls| ExposedBy {
        cause,
        function: function.to_owned(),
        n_calls,
    };
    let exposures =
        vec![by(Some(RootCause::Time), "time:time", Some(3)), by(None, "shop:unknown", None)];
    Exposed {
        n_tests: 3,
        rows: vec![row(exposures), row(Vec::new())],
        warnings: vec![Warning::WatchedInPart],
        origin: origin(),
    }
}

pub(crate) fn lesson() -> Lesson {
    let learned = Learned {
        chosen: vec![Chosen {
            function: "time:time".parse().expect("a function"),
            cause: Some(RootCause::Time),
            alone: ExposedTests { n: 4, n_flaky: 3 },
            added: ExposedTests { n: 4, n_flaky: 3 },
        }],
        score: Score { recall: Some(0.75), cost: 0.1 },
    };
    let score = Score { recall: None, cost: 0.2 };
    Lesson {
        n_tests: 40,
        n_flaky: 4,
        n_projects: 2,
        n_unlabelled: 1,
        folds: vec![Fold { n_tests: 8, n_flaky: 0, learned: learned.clone(), score }],
        learned,
        manual: score,
    }
}

pub(crate) fn checks() -> [Check; 2] {
    [Check::ok("runner", "pytest 9.2.0"), Check::missing("git", "none", "install it")]
}

pub(crate) fn origins() -> [OrdersOrigin; 2] {
    let strategy = Strategy::ALL[0];
    [OrdersOrigin::Strategy { strategy, seed: 7 }, OrdersOrigin::File(PathBuf::from("mine.txt"))]
}

pub(crate) fn cost_model() -> CostModel {
    CostModel { start: Duration::from_secs(1) }
}
