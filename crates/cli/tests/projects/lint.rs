//! `unflake lint --dynamic`: every dirty test is listed with exactly what it leaves, and no other.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::common::{Project, Ran};

const LINT: [&str; 3] = ["lint", "--dynamic", "--json"];

/// A program with every kind of state that can be held in one.
const SHOP: &str = "\
import functools

SETTINGS = {'currency': 'EUR'}
LIMIT = 3

class Cart:
    items = []

def discount(rates=[]):
    rates.append(1)

def counter():
    n = 0
    def step():
        nonlocal n
        n += 1
    return step

step = counter()

@functools.lru_cache(maxsize=None)
def rate(x):
    return x
";

/// Kind, statement, and the place it leaves changed. Changes of the working directory stand last.
const DIRTY: [(&str, &str, &str); 25] = [
    ("global", "shop.SETTINGS['currency'] = 'USD'", "shop.SETTINGS['currency']"),
    ("class-attribute", "shop.Cart.items.append(1)", "shop.Cart.items[0]"),
    ("default-argument", "shop.discount()", "shop.discount() default argument rates[0]"),
    ("closure", "shop.step()", "shop.counter.<locals>.step() closure variable n"),
    ("cache", "shop.rate(1)", "shop.rate.cache_info().currsize"),
    ("modules", "del sys.modules['later']", "sys.modules['later']"),
    ("path", "sys.path.append('/nowhere')", "sys.path"),
    ("environment", "os.environ['NEW'] = '1'", "os.environ['NEW']"),
    ("umask", "os.umask(0o077)", "os.umask()"),
    (
        "locale",
        "locale.setlocale(locale.LC_NUMERIC, 'C.UTF-8')",
        "locale.setlocale(locale.LC_NUMERIC)",
    ),
    ("timezone", "time.tzname = ('A', 'B')", "time.tzname"),
    ("logging", "logging.getLogger('x').setLevel(10)", "logging.getLogger('x').level"),
    ("warnings", "warnings.simplefilter('error')", "warnings.filters"),
    ("random", "random.random()", "random.getstate()"),
    ("signal", "signal.signal(signal.SIGUSR1, shop.rate)", "signal.getsignal(signal.SIGUSR1)"),
    ("event-loop", "asyncio.set_event_loop(None)", "asyncio.get_event_loop()"),
    (
        "thread",
        "threading.Thread(target=threading.Event().wait, name='w', daemon=True).start()",
        "threading.enumerate() 'w'",
    ),
    ("process", "subprocess.Popen(['sleep', '1000'])", "child process 'sleep'"),
    ("descriptor", "os.dup2(1, 77)", "descriptor 77"),
    ("mock", "mock.patch('shop.LIMIT', 9).start()", "shop.LIMIT"),
    ("file", "open('left.txt', 'w').close()", "left.txt"),
    (
        "sqlite",
        "base = sqlite3.connect('s.db'); base.execute('create table t (x)'); base.close()",
        "s.db table t",
    ),
    ("tempfile", "tempfile.mkdtemp()", "$TMPDIR/tmp********"),
    ("interpreter", "sys.setrecursionlimit(2000)", "sys.getrecursionlimit()"),
    ("cwd", "os.chdir('/')", "os.getcwd()"),
];

const CLEAN: [&str; 6] = [
    "assert shop.LIMIT == 3",
    "shop.Cart.items.append(1); shop.Cart.items.pop()",
    "monkeypatch.setenv('A', '1'); monkeypatch.setattr(shop, 'LIMIT', 4)",
    "monkeypatch.chdir('/')",
    "open('mine', 'w').close(); os.remove('mine')",
    "logging.getLogger('asked-for')",
];

fn one_test_per_kind() -> Project {
    let mut text = String::from(
        "import asyncio, locale, logging, os, random, signal, sqlite3, subprocess, sys, tempfile\n\
         import threading, time, warnings\nfrom unittest import mock\nimport later\nimport shop\n",
    );
    let clean = CLEAN.iter().enumerate().map(|(n, statement)| (format!("clean_{n}"), *statement));
    let dirty = DIRTY.iter().map(|(kind, statement, _)| (kind.replace('-', "_"), *statement));
    for (name, statement) in clean.chain(dirty) {
        write!(text, "\ndef test_{name}(monkeypatch):\n    {statement}\n").unwrap();
    }
    let project = Project::empty();
    project.write("shop.py", SHOP);
    project.write("later.py", "");
    project.write("test_kinds.py", &text);
    project
}

/// What each test leaves: kind and place.
fn left(report: &Value, standing: &[&str]) -> BTreeMap<String, Vec<(String, String)>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut found = BTreeMap::new();
    for result in report["results"].as_array().unwrap() {
        let changes = result["changes"].as_array().unwrap().iter();
        let changes = changes.filter(|it| standing.contains(&it["standing"].as_str().unwrap()));
        let changes: Vec<_> = changes.map(|it| (text(&it["kind"]), text(&it["where"]))).collect();
        if !changes.is_empty() {
            found.insert(text(&result["test"]), changes);
        }
    }
    found
}

#[test]
fn each_dirty_test_is_listed_with_exactly_its_state_and_clean_ones_are_not() {
    let project = one_test_per_kind();
    // pytest itself puts filters of warnings back.
    let ran = project.run_command({
        let mut command = project.command(&[&LINT[..], &["--all"]].concat());
        command.args(["--", "-p", "no:warnings"]);
        command
    });
    let report = ran.json();
    assert_eq!(ran.code(), Some(1), "{}", ran.stderr());
    let has_overlay = !ran.warnings().contains_key("isolation-refused");
    let is_expected = |kind: &str| has_overlay || !matches!(kind, "file" | "sqlite");
    let expected = DIRTY.iter().filter(|(kind, ..)| is_expected(kind)).map(|(kind, _, place)| {
        let test = format!("test_kinds.py::test_{}", kind.replace('-', "_"));
        (test, vec![((*kind).to_owned(), (*place).to_owned())])
    });
    assert_eq!(left(&report, &["dirt", "harmless"]), expected.collect());
    let harmless = left(&report, &["harmless"]);
    let names: Vec<&str> = harmless.keys().map(|test| test.rsplit('_').next().unwrap()).collect();
    assert_eq!(names, ["cache", "random"]);
}

const LIVES_LONG: &str = "\
import os, pytest, shop

@pytest.fixture(scope='module')
def dollars():
    shop.SETTINGS['currency'] = 'USD'
    yield
    shop.SETTINGS['currency'] = 'EUR'

@pytest.fixture(scope='session', autouse=True)
def leaks():
    os.environ['LEAK'] = '1'

def test_first(dollars): pass
def test_pollutes(): shop.LIMIT = 4
def test_cleans(): shop.LIMIT = 3
def test_last(dollars): pass
";

#[test]
fn what_a_fixture_undoes_is_no_dirt_and_who_puts_back_is_told_apart() {
    let project = Project::empty();
    project.write("shop.py", SHOP);
    project.write("test_a.py", LIVES_LONG);
    let ran = project.run(&LINT);
    let report = ran.json();
    let of = |test: &str, kind: &str, place: &str| {
        let changes = vec![(kind.to_owned(), place.to_owned())];
        (format!("test_a.py::{test}"), changes)
    };
    let dirty = [
        of("test_first", "environment", "os.environ['LEAK']"),
        of("test_pollutes", "global", "shop.LIMIT"),
    ];
    assert_eq!(left(&report, &["dirt"]), BTreeMap::from(dirty));
    let puts_back = [of("test_cleans", "global", "shop.LIMIT")];
    assert_eq!(left(&report, &["puts-back"]), BTreeMap::from(puts_back));
    assert_eq!(report["dirty"], 2);
    assert_eq!(report["results"][0]["changes"][0]["by"], "session fixture leaks");
    let polluted = &report["results"][1]["changes"][0];
    assert_eq!(polluted["put_back_by"], "test_a.py::test_cleans");
    assert_eq!(report["not_counted"]["harmless"], 2);
    insta::assert_snapshot!(shown(&project.run(&LINT[..2])), @r"
    2 dirty tests of 4

    test_a.py::test_first
      os.environ['LEAK'] (environment): added, '1'
        by session fixture leaks

    test_a.py::test_pollutes
      shop.LIMIT (global): 3 became 4
        put back by test_a.py::test_cleans

    Put back what another test had left

    test_a.py::test_cleans
      shop.LIMIT (global): 4 became 3
        left by test_a.py::test_pollutes

    4 tests ran once in their original order, watched, in [time].
    Not counted: 2 changes where a fixture that outlives the test did and undid it (--all lists them).
    `unflake detect` says whether a test stumbles over it; what is meant to stay goes into the
    allow-list, `[lint] allow` in unflake.toml.
    ");
}

/// What people are told, without how long it took.
fn shown(ran: &Ran) -> String {
    let text = ran.stdout();
    let lines = text.lines().map(|line| match line.split_once(", watched, in ") {
        Some((begin, _)) => format!("{begin}, watched, in [time]."),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_the_project_allows_is_not_dirt_and_entries_that_nothing_matches_are_named() {
    let project = Project::empty();
    project.write("shop.py", SHOP);
    project.write("test_a.py", LIVES_LONG);
    let allow = "[lint]\nallow = [\"kind:env*\", \"test_a.py::test_p*: shop.LIMIT\", \
                 \"*::test_cleans: shop.*\", \"shop.old.*\"]\n";
    project.write("unflake.toml", allow);
    let ran = project.run(&LINT);
    let report = ran.json();
    assert_eq!(ran.code(), Some(0), "{report}");
    assert_eq!((&report["dirty"], &report["results"]), (&0.into(), &serde_json::json!([])));
    assert_eq!(report["not_counted"]["allowed"], 3);
    assert_eq!(report["unused"], serde_json::json!(["shop.old.*"]));
    let text = project.run(&LINT[..2]).stdout();
    assert!(text.starts_with("No dirty test among 4 tests\n"), "{text}");
    assert!(text.contains("nothing matches `shop.old.*` of the allow-list"), "{text}");
    // Of a part of the suite, nobody can say that an entry is of no use.
    let ran = project.run(&[&LINT[..], &["test_a.py::test_last"]].concat());
    assert_eq!(ran.json()["unused"], serde_json::json!([]));
    // What is typed goes first.
    let ran = project.run(&[&LINT[..], &["--allow", "kind:global"]].concat());
    assert_eq!((ran.code(), &ran.json()["dirty"]), (Some(1), &1.into()));
}

#[test]
fn a_test_that_takes_the_process_with_it_does_not_hide_the_rest() {
    let project = Project::empty();
    project.write("shop.py", SHOP);
    project.write(
        "test_a.py",
        "import os, threading, shop\n\
         def test_before(): shop.LIMIT = 4\n\
         def test_crashes(): os._exit(3)\n\
         def test_between(): assert shop.LIMIT == 3; shop.LIMIT = 5\n\
         def test_hangs(): threading.Event().wait()\n\
         def test_fails(): shop.SETTINGS['currency'] = 'USD'; assert False\n",
    );
    project.write("test_broken.py", "import nothing_like_it\n");
    let ran = project.run(&[&LINT[..], &["--timeout", "1s"]].concat());
    let report = ran.json();
    assert_eq!(ran.code(), Some(1), "{report}");
    let dirty = left(&report, &["dirt"]);
    let tests: Vec<&str> = dirty.keys().map(|test| test.rsplit(':').next().unwrap()).collect();
    assert_eq!(tests, ["test_before", "test_between", "test_fails"]);
    assert_eq!(report["results"][2]["outcome"], "failed");
    let unseen = serde_json::json!([
        {"test": "test_a.py::test_crashes", "outcome": "crashed"},
        {"test": "test_a.py::test_hangs", "outcome": "timed out"},
    ]);
    assert_eq!(report["unseen"], unseen);
    assert_eq!((&report["not_run"], &report["failed"]), (&0.into(), &3.into()));
    assert!(ran.warnings()["not-collected"].contains("test_broken.py"), "{report}");
}

#[test]
fn without_dynamic_it_says_what_there_is_instead() {
    let project = Project::with(&[]);
    let ran = project.run(&["lint"]);
    assert_eq!((ran.code(), ran.stdout()), (Some(2), String::new()));
    let said = ran.stderr();
    assert!(said.contains("hint: say `unflake lint --dynamic`"), "{said}");
}

#[test]
fn without_tests_there_is_nothing_to_look_at() {
    let project = Project::empty();
    project.write("test_a.py", "");
    project.run(&LINT).could_not_run(&["no tests"]);
}
