//! `unflake trace` and `unflake learn`: from calls to a set of functions, and back.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{Project, Ran};

const SHOP: &str = "\
import random, time

def total(prices):
    return sum(prices)

def lucky():
    return random.random() < 2
";

const TESTS: &str = "\
import shop

def test_total():
    assert shop.total([1, 2]) == 3

def test_lucky():
    assert shop.lucky()

def test_both():
    assert shop.lucky() and shop.total([1])
";

fn shop() -> Project {
    let project = Project::empty();
    project.write("shop.py", SHOP);
    project.write("test_shop.py", TESTS);
    project
}

/// Runs `unflake learn`, which needs no Python.
fn learn(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    let Output { status, stdout, stderr } =
        command.arg("learn").args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// Traces a project into a folder of its own.
fn written(project: &Project) -> tempfile::TempDir {
    let aside = tempfile::tempdir().unwrap();
    let file = aside.path().join("shop.jsonl");
    let ran = project.run(&["trace", "--write", file.to_str().unwrap()]);
    assert_eq!(ran.code(), Some(0), "{}", ran.stderr());
    aside
}

fn exposed(ran: &Ran) -> Vec<(String, Vec<String>)> {
    let report = ran.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let results = report["results"].as_array().unwrap().iter();
    results
        .map(|row| {
            let exposures = row["exposures"].as_array().unwrap().iter();
            let shown = |it: &Value| format!("{} {}", text(&it["cause"]), text(&it["function"]));
            (text(&row["test"]), exposures.map(shown).collect())
        })
        .collect()
}

#[test]
fn tests_are_exposed_by_the_functions_they_call() {
    let ran = shop().run(&["trace", "--json"]);
    assert_eq!(ran.code(), Some(0), "{}", ran.stderr());
    let random = vec!["randomness _random:Random.random".to_owned()];
    let expected = [
        ("test_shop.py::test_total".to_owned(), vec![]),
        ("test_shop.py::test_lucky".to_owned(), random.clone()),
        ("test_shop.py::test_both".to_owned(), random),
    ];
    assert_eq!(exposed(&ran), expected);
}

#[test]
fn people_are_told_the_exposed_tests() {
    let ran = shop().run(&["trace"]);
    assert!(ran.stdout().starts_with("2 of 3 tests may come out otherwise"), "{}", ran.stdout());
    assert!(ran.stdout().contains("test_shop.py::test_lucky\n  randomness"), "{}", ran.stdout());
    assert!(!ran.stdout().contains("test_total"), "{}", ran.stdout());
}

#[test]
fn what_is_learned_from_traced_tests_exposes_them_again() {
    let project = shop();
    let aside = written(&project);
    let file = aside.path().join("shop.jsonl");
    let label = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line.get("flaky"), None, "there is no history");
        let is_flaky = line["test"].as_str().unwrap().ends_with("test_total");
        line["flaky"] = is_flaky.into();
        line["cause"] = if is_flaky { "floating-point".into() } else { Value::Null };
        line.to_string() + "\n"
    };
    let labelled: String = fs::read_to_string(&file).unwrap().lines().map(label).collect();
    fs::write(&file, labelled).unwrap();
    let arguments = ["--keep-solo", "--folds", "2", "shop.jsonl"];
    let (code, stdout, stderr) = learn(aside.path(), &arguments);
    assert_eq!(code, Some(0), "{stderr}");
    project.write("functions.toml", &stdout);
    project.write("unflake.toml", "[trace]\nfunctions = \"functions.toml\"\n");
    let found = exposed(&project.run(&["trace", "--json"]));
    let own = vec!["floating-point test_shop:test_total".to_owned()];
    assert_eq!(found[0], ("test_shop.py::test_total".to_owned(), own));
    assert_eq!(found[1].1, Vec::<String>::new());
}

#[test]
fn without_a_flaky_test_there_is_nothing_to_learn() {
    let aside = written(&shop());
    let (code, _, stderr) = learn(aside.path(), &["shop.jsonl"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("there is nothing to learn"), "{stderr}");
}

#[test]
fn a_line_that_is_not_understood_is_named() {
    let aside = tempfile::tempdir().unwrap();
    fs::write(aside.path().join("bad.jsonl"), "\n{\"project\": 3}\n").unwrap();
    let (code, _, stderr) = learn(aside.path(), &["bad.jsonl"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("`bad.jsonl`, line 2"), "{stderr}");
}

/// What tests call, and what must be said of it. Statements must do in every Python.
const PROMISED: [(&str, &str, &str); 36] = [
    ("time.time()", "time", "time:time"),
    ("time.time_ns()", "time", "time:time_ns"),
    ("time.perf_counter()", "time", "time:perf_counter"),
    ("time.monotonic()", "time", "time:monotonic"),
    ("time.process_time()", "time", "time:process_time"),
    ("time.localtime()", "time", "time:localtime"),
    ("time.strftime('%Y')", "time", "time:strftime"),
    ("datetime.date.today()", "time", "datetime:date.today"),
    ("datetime.datetime.now()", "time", "datetime:datetime.now"),
    ("datetime.datetime.today()", "time", "datetime:date.today"),
    ("time.sleep(0)", "async-wait", "time:sleep"),
    ("threading.Event().wait(0.001)", "async-wait", "threading:Condition.wait"),
    ("select.select([], [], [], 0)", "async-wait", "select:select"),
    ("asyncio.run(asyncio.sleep(0))", "async-wait", "asyncio.tasks:sleep"),
    ("asyncio.run(asyncio.sleep(0))", "concurrency", "asyncio.runners:run"),
    (
        "t = threading.Thread(target=int); t.start(); t.join()",
        "async-wait",
        "threading:Thread.join",
    ),
    ("t = threading.Thread(target=int); t.start()", "concurrency", "threading:Thread.start"),
    ("subprocess.run(['true'])", "concurrency", "subprocess:Popen.__init__"),
    ("os.system('true')", "concurrency", "posix:system"),
    ("os.fork() or os._exit(0)", "concurrency", "posix:fork"),
    ("random.random()", "randomness", "_random:Random.random"),
    ("random.SystemRandom().random()", "randomness", "random:SystemRandom.random"),
    ("uuid.uuid1()", "randomness", "uuid:uuid1"),
    ("uuid.uuid4()", "randomness", "uuid:uuid4"),
    ("os.urandom(4)", "randomness", "posix:urandom"),
    ("secrets.token_hex()", "randomness", "secrets:token_hex"),
    ("secrets.choice([1, 2])", "randomness", "random:Random.choice"),
    ("numpy.random.rand()", "randomness", "numpy.random:RandomState"),
    ("socket.socket().close()", "network", "socket:socket.__init__"),
    ("socket.getaddrinfo('127.0.0.1', 80)", "network", "_socket:getaddrinfo"),
    ("socket.gethostbyname('127.0.0.1')", "network", "_socket:gethostbyname"),
    ("os.listdir('.')", "unordered-collection", "posix:listdir"),
    ("list(os.scandir('.'))", "unordered-collection", "posix:scandir"),
    ("glob.glob('*.py')", "unordered-collection", "posix:scandir"),
    ("os.rmdir(tempfile.mkdtemp())", "io", "tempfile:mkdtemp"),
    ("tempfile.TemporaryFile().close()", "io", "tempfile:TemporaryFile"),
];

/// As much of numpy as is looked at: its generator is compiled by Cython, and calls of it are not
/// told.
const NUMPY: &str = "\
class _Key(bytes):
    def tobytes(self):
        return bytes(self)

class RandomState:
    n = 0

    def get_state(self, legacy=True):
        inner = {'pos': self.n, 'key': _Key(b'')}
        return {'state': inner, 'has_gauss': 0, 'gauss': 0.0}

_rand = RandomState()
";

#[test]
fn the_default_set_has_what_is_promised() {
    let project = Project::empty();
    project.write("numpy/__init__.py", "");
    project.write("numpy/random/mtrand.py", NUMPY);
    let moves = "from . import mtrand\n\ndef rand():\n    mtrand._rand.n += 1\n";
    project.write("numpy/random/__init__.py", moves);
    let mut text = "import asyncio, datetime, glob, numpy.random, os, random, secrets, select, \
        socket, subprocess, tempfile, threading, time, uuid\n"
        .to_owned();
    for (number, (statement, ..)) in PROMISED.iter().enumerate() {
        let _ = write!(text, "\ndef test_{number}():\n    {statement}\n");
    }
    text += "\ndef test_quiet():\n    assert sorted([2, 1]) == [1, 2] and 'x'.upper() == 'X'\n";
    project.write("test_it.py", &text);
    let found = exposed(&project.run(&["trace", "--json", "--isolation", "no-net"]));
    for ((test, exposures), (statement, cause, function)) in found.iter().zip(PROMISED) {
        let expected = format!("{cause} {function}");
        assert!(exposures.contains(&expected), "{statement} ({test}): {exposures:?}");
    }
    assert_eq!(found[PROMISED.len()], ("test_it.py::test_quiet".to_owned(), vec![]));
}

#[test]
fn calls_of_exposed_tests_are_counted() {
    let project = Project::empty();
    let text = "import random\n\n\
        def test_thrice():\n    assert [random.random() for _ in range(3)]\n\n\
        def test_never():\n    assert sum([1, 2]) == 3\n\n\
        def test_once():\n    assert random.random() < 2\n";
    project.write("test_it.py", text);
    let report = project.run(&["trace", "--json"]).json();
    let calls = |row: &Value| row["exposures"][0]["calls"].as_u64();
    let rows = report["results"].as_array().unwrap().iter();
    assert_eq!(rows.map(calls).collect::<Vec<_>>(), [Some(3), None, Some(1)]);
    let said = project.run(&["trace"]).stdout();
    assert!(said.contains("_random:Random.random, 3 calls"), "{said}");
}
