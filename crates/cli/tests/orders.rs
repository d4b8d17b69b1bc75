//! The real binary, from the command line to the exit code.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod document;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use insta::assert_snapshot;
use unflake_model::{Order, Suite, TestIndex};
use unflake_orders::coverage::Coverage;

use document::document;

#[expect(
    clippy::disallowed_methods,
    reason = "the binary is what is tested, and a process is the only way to it"
)]
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    // The width and colours of the terminal that runs the tests must not matter.
    command.args(args).env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
    command
}

fn output(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = output(args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Exit code, stdout and stderr on one page.
fn page(args: &[&str]) -> String {
    let output = output(args);
    let mut page = format!("exit {}\n", output.status.code().unwrap());
    for (name, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
        if !bytes.is_empty() {
            let text = String::from_utf8(bytes).unwrap();
            write!(page, "--- {name}\n{text}").unwrap();
        }
    }
    page
}

/// The orders that `--format ids` prints.
fn ids(suite: &Suite, args: &[&str]) -> Vec<Order> {
    let lines = stdout(&[args, &["--format", "ids"]].concat());
    let order = |line: &str| {
        let tests = line.split(' ').map(|test| TestIndex::new(test.parse().unwrap()));
        Order::new(suite, tests.collect()).unwrap()
    };
    lines.lines().map(order).collect()
}

/// A file for a test, in the directory cargo gives to tests.
fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The page with the directory of the file left out.
fn page_with_file(name: &str, text: &str) -> String {
    let path = file(name, text);
    page(&["orders", "--suite", &path]).replace(&path, name)
}

#[test]
fn tuscan_rows_of_4_are_those_of_spec_example_8_counted_from_0() {
    assert_snapshot!(
        page(&["orders", "--strategy", "tuscan", "--tests", "4", "--format", "ids"]),
        @r"
        exit 0
        --- stdout
        0 3 1 2
        1 0 2 3
        2 1 3 0
        3 2 0 1
        "
    );
}

#[test]
fn pairs_cover_everything_in_class_compatible_orders() {
    let suite = Suite::of_sizes(&[4, 4, 10, 1]).unwrap();
    for strategy in ["pairs", "pairs-paper"] {
        for seed in ["0", "7"] {
            let args = ["orders", "--strategy", strategy, "--classes", "4,4,10,1", "--seed", seed];
            let mut coverage = Coverage::new(&suite).unwrap();
            for order in ids(&suite, &args) {
                coverage.add(order.tests());
            }
            assert_eq!(coverage.missing(), None);
            assert_eq!(coverage.n_torn(), 0);
        }
    }
}

#[test]
fn the_seed_decides_the_orders() {
    let suite = Suite::of_sizes(&[4, 4, 10, 1]).unwrap();
    for strategy in ["random-class", "random-class-method", "interleaved", "planned", "pairs"] {
        let orders = |seed| {
            let args = ["orders", "--strategy", strategy, "--classes", "4,4,10,1", "--seed", seed];
            ids(&suite, &args)
        };
        assert_eq!(orders("5"), orders("5"));
        assert_ne!(orders("5"), orders("6"), "{strategy}");
    }
}

#[test]
fn text_shows_orders_coverage_cost_and_bound() {
    assert_snapshot!(page(&["orders", "--strategy", "pairs", "--classes", "2,2,1"]), @r"
    exit 0
    --- stdout
    suite       5 tests in 3 classes
    strategy    pairs, seed 0: every pair of tests side by side, few and cheap orders

        1   2 3 0 1 4
        2   1 0 3 2 4
        3   4 2 0
        4   4 1 3
        5   2 1 0 4
        6   4 3 1
        7   4 0 2
        8   1 2 3 4

    orders      8, which run 30 tests
    pairs       20 of 20 side by side: 4 of 4 within classes, 16 of 16 between; 2 repeated
    cost        38 s, with 1 s to start each process

    All pairs in class-compatible orders take at least 8 orders and 36 s;
    each pair in a process of its own takes 1 min.
    These orders cover all, with 1.00 times the orders and 1.06 times the cost of that lower bound.
    ");
}

#[test]
fn names_and_run_times_come_from_the_file() {
    let text = "[[class]]\nname = 'a.py'\ntests = ['x', { id = 'y', seconds = 90 }]\n\
                [[class]]\nname = 'b.py'\ntests = ['z']\n";
    let path = file("good.toml", text);
    assert_snapshot!(
        page(&["orders", "--strategy", "reverse-class", "--suite", &path]),
        @r"
        exit 0
        --- stdout
        suite       3 tests in 2 classes
        strategy    reverse-class, seed 0: classes last to first, tests within a class kept

            1   z x y

        orders      1, which run 3 tests
        pairs       2 of 6 side by side: 1 of 2 within classes, 1 of 4 between; 0 repeated
        cost        1 min 33 s, with 1 s to start each process

        All pairs in class-compatible orders take at least 4 orders and 3 min 12 s;
        each pair in a process of its own takes 6 min 14 s.
        "
    );
}

#[test]
fn json_is_complete_and_versioned() {
    let args = ["orders", "--strategy", "tuscan", "--tests", "3", "--format", "json"];
    let json = document(&output(&args));
    assert_eq!(json["schema"], 1);
    assert_eq!(json["strategy"], "tuscan");
    assert_eq!(json["suite"]["tests"], serde_json::json!(["0", "1", "2"]));
    assert_eq!(json["orders"], serde_json::json!([[0, 1, 2], [1, 0, 2], [2, 0], [2, 1]]));
    let summary = &json["summary"];
    assert_eq!(summary["pairs"]["all"], serde_json::json!({ "covered": 6, "total": 6 }));
    assert_eq!(summary["cost_seconds"], 14.0);
    assert_eq!(summary["all_pairs_at_least"]["orders"], 4);
    assert_eq!(summary["two_test_orders_cost_seconds"], 18.0);
}

#[test]
fn interleaved_orders_come_with_their_warning() {
    let output = output(&["orders", "--strategy", "interleaved", "--tests", "3"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("warning: interleaved orders tear classes apart"), "{stderr}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let args = ["orders", "--strategy", "tuscan", "--tests", "3000", "--format", "ids"];
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"");
}

#[test]
fn help_teaches_the_words_and_lists_the_commands() {
    assert_snapshot!("help", page(&["--help"]));
}

#[test]
fn completions_know_the_strategies() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&["completions", shell]);
        assert!(script.contains("random-class-method"), "{shell}");
    }
}

#[test]
fn an_unknown_strategy_is_named() {
    assert_snapshot!(page(&["orders", "--strategy", "randm-class", "--tests", "3"]), @r"
    exit 2
    --- stderr
    error: invalid value 'randm-class' for '--strategy <NAME>'
      [possible values: original, random-class, random-class-method, reverse-class, reverse-class-method, interleaved, planned, tuscan, pairs, pairs-paper]

      tip: a similar value exists: 'random-class'

    For more information, try '--help'.
    ");
}

#[test]
fn an_empty_suite_is_refused() {
    assert_snapshot!(page(&["orders", "--tests", "0"]), @r"
    exit 2
    --- stderr
    error: --tests: a suite of `0` tests is empty
    hint: give 1 or more
    ");
    assert_snapshot!(page(&["orders", "--classes", "3,0"]), @r"
    exit 2
    --- stderr
    error: --classes: class 2 has `0` tests
    hint: give 1 or more
    ");
    assert_snapshot!(page_with_file("empty.toml", "# no classes\n"), @r"
    exit 2
    --- stderr
    error: suite file `empty.toml` has no tests
    hint: `unflake orders --help` shows what a suite file looks like
    ");
}

#[test]
fn a_zero_budget_is_refused() {
    assert_snapshot!(page(&["orders", "--tests", "3", "--count", "0"]), @r"
    exit 2
    --- stderr
    error: --count: a budget of 0 runs allows no run; give at least 1 or leave the limit out
    hint: try --count 20
    ");
}

#[test]
fn sizes_and_time_spans_that_make_no_sense_are_named() {
    assert_snapshot!(page(&["orders", "--classes", "3,x"]), @r"
    exit 2
    --- stderr
    error: invalid value 'x' for '--classes <SIZES>': invalid digit found in string

    For more information, try '--help'.
    ");
    assert_snapshot!(page(&["orders", "--tests", "2000000"]), @r"
    exit 2
    --- stderr
    error: --tests: `2000000` tests are more than we plan for
    hint: at most 1000000
    ");
    assert_snapshot!(page(&["orders", "--tests", "3", "--start-seconds", "-1"]), @r"
    exit 2
    --- stderr
    error: --start-seconds: `-1` is no time span
    hint: give seconds, 0 or more
    ");
    assert_snapshot!(page(&["orders"]), @r"
    exit 2
    --- stderr
    error: the following required arguments were not provided:
      <--tests <N>|--classes <SIZES>|--suite <FILE>>

    Usage: unflake orders <--tests <N>|--classes <SIZES>|--suite <FILE>>

    For more information, try '--help'.
    ");
}

#[test]
fn tuscan_rows_of_a_suite_with_classes_are_refused() {
    assert_snapshot!(page(&["orders", "--strategy", "tuscan", "--classes", "2,3"]), @r"
    exit 2
    --- stderr
    error: strategy `tuscan` knows no classes, and this suite has 2 with up to 3 tests in one: its rows would tear them apart
    hint: use strategy `pairs`, which covers the same pairs and keeps classes together
    ");
}

#[test]
fn a_malformed_suite_file_is_named_with_the_place() {
    assert_snapshot!(page_with_file("syntax.toml", "[[class]]\nname = 'a\n"), @r"
    exit 2
    --- stderr
    error: suite file `syntax.toml`, line 2, column 10: invalid literal string, expected `'`
    hint: `unflake orders --help` shows what a suite file looks like
    ");
    let unknown_key = "[[class]]\nname = 'a'\ntests = ['x']\ntimeout = 3\n";
    assert_snapshot!(page_with_file("key.toml", unknown_key), @r"
    exit 2
    --- stderr
    error: suite file `key.toml`, line 4, column 1: unknown field `timeout`, expected `name` or `tests`
    hint: `unflake orders --help` shows what a suite file looks like
    ");
    assert_snapshot!(page(&["orders", "--suite", "no/such/file.toml"]), @r"
    exit 2
    --- stderr
    error: cannot read suite file `no/such/file.toml`: No such file or directory (os error 2)
    hint: `unflake orders --help` shows what a suite file looks like
    ");
}

#[test]
fn a_test_that_stands_in_a_suite_file_twice_is_named() {
    let text = "[[class]]\nname = 'a'\ntests = ['x', 'y', 'x']\n";
    assert_snapshot!(page_with_file("twice.toml", text), @r"
    exit 2
    --- stderr
    error: suite file `twice.toml`, line 3, column 20: test `x` stands in the suite twice, first at line 3, column 10
    hint: `unflake orders --help` shows what a suite file looks like
    ");
}

#[test]
fn orders_of_a_file_are_checked_against_the_suite() {
    let path = file("pairs.txt", "0 1 2\n2 1 0\n0 2\n");
    let page = page(&["orders", "--orders", &path, "--tests", "3"]).replace(&path, "pairs.txt");
    assert_snapshot!(page, @r"
    exit 0
    --- stdout
    suite       3 tests in 1 class
    orders of   pairs.txt

        1   0 1 2
        2   2 1 0
        3   0 2

    orders      3, which run 8 tests
    pairs       5 of 6 side by side: 5 of 6 within classes, 0 of 0 between; 0 repeated
    cost        11 s, with 1 s to start each process

    All pairs in class-compatible orders take at least 4 orders and 14 s;
    each pair in a process of its own takes 18 s.
    ");
}

#[test]
fn what_one_run_prints_another_can_check() {
    let args = ["orders", "--strategy", "pairs", "--classes", "3,2,4", "--format", "ids"];
    let lines = stdout(&args);
    let path = file("printed.txt", &lines);
    let again = ["orders", "--orders", &path, "--classes", "3,2,4", "--format"];
    assert_eq!(stdout(&[&again[..], &["ids"]].concat()), lines);
    let json = document(&output(&[&again[..], &["json"]].concat()));
    assert_eq!(json["strategy"], serde_json::Value::Null);
    assert_eq!(json["summary"]["pairs"]["all"]["covered"], 72);
}

#[test]
fn a_test_that_stands_in_an_order_twice_is_named() {
    let path = file("twice.txt", "0 1\n1 0 1\n");
    let page = page(&["orders", "--orders", &path, "--tests", "3"]).replace(&path, "twice.txt");
    assert_snapshot!(page, @r"
    exit 2
    --- stderr
    error: orders file `twice.txt`, line 2: test `1` stands in the order twice, at positions 0 and 2
    hint: one order a line: numbers of tests, from 0 in their original order, with single spaces between them
    ");
}
