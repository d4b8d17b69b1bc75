//! Real projects, a real Python, the real agent.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod common;

use std::time::Duration;

use common::{AMPLE, Little, outcomes, run, run_in, run_order, suite, tree};
use unflake_engine::process::{CommandLine, run_to_end};
use unflake_engine::{Ending, Engine, Interrupt, Limits, PlainEnding, Start, StartErrorKind};
use unflake_model::{Environment, Order, Outcome, OutcomeKind, Phase, TestIndex};
use unflake_pytest::{Invocation, Plain, Runner};

const PASSED: Outcome = Outcome::Passed;
const NOT_RUN: Outcome = Outcome::NotRun;
const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

/// Names of every kind that has ever been torn apart.
const NAMES: &str = r##"
import unittest
import pytest

@pytest.mark.parametrize("value", ["a b", "x/y.py", "a::b", "[1]", "ü", "日本", "it's", '"q"', "$H",
                                   "#", "\\", "]", "<&>", "", "a, b", "*?", "`x`", "tab\there"])
def test_value(value):
    assert value != "x/y.py"

class TestGroup:
    def test_in_class(self):
        pass

    class TestInner:
        @pytest.mark.parametrize("n", [1, 2])
        def test_deep(self, n):
            assert n == 1

class Old(unittest.TestCase):
    def test_old(self):
        self.assertTrue(True)

    def test_broken(self):
        self.fail("broken")

    @unittest.skip("why not")
    def test_skipped(self):
        pass

    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertNotEqual(n, 1)

@pytest.mark.xfail
def test_expected():
    assert False

@pytest.mark.xfail(strict=True)
def test_unexpected():
    pass

@pytest.fixture
def broken():
    raise RuntimeError("set-up")

def test_error(broken):
    pass

@pytest.fixture
def broken_later():
    yield
    raise RuntimeError("teardown")

def test_teardown(broken_later):
    pass

def test_both(broken_later):
    assert False
"##;

const DOCTEST: &str = r#"
def double(n):
    """Twice as much.

    >>> double(2)
    4
    >>> double(3)
    7
    """
    return 2 * n
"#;

#[test]
fn the_original_order_comes_out_as_under_plain_pytest_whatever_tests_are_called() {
    let mut little = Little::new(&[
        ("pytest.ini", "[pytest]\naddopts = --doctest-modules -x\njunit_suite_name = ours\n"),
        ("tests/sub folder/test_names.py", NAMES),
        ("lib/calc.py", DOCTEST),
        ("README.txt", ">>> 1 + 1\n2\n"),
        ("test_readme.txt", ">>> 1 + 1\n3\n"),
    ]);
    let before = tree(little.folder.path());
    for invocation in [Invocation::Module, Invocation::Script] {
        let mut engine = little.start();
        let order = Order::original(&suite(&engine));
        let ours = run_order(&mut engine, order).outcomes();
        let mut plain = little.plain(&engine);
        plain.invocation = invocation;
        let theirs = plain.run_suite(&Interrupt::default()).unwrap();
        assert_eq!(theirs.ending, PlainEnding::Complete, "{}", theirs.output);
        assert!(theirs.is_in_order);
        assert_eq!(theirs.strangers, [""; 0]);
        let ids: Vec<&str> = engine.collected().tests.iter().map(|t| t.id.as_str()).collect();
        assert_eq!(ids.len(), 32);
        for ((id, ours), theirs) in ids.iter().zip(&ours).zip(outcomes(&theirs)) {
            assert_eq!(*ours, theirs, "{id}");
        }
        assert_eq!(ours.iter().filter(|outcome| **outcome == FAILED).count(), 8);

        // Backwards, each named: the same, because none depends on another.
        let backwards = ids.iter().zip(&ours).rev().filter(|(id, _)| plain.can_name(id));
        let (backwards, ours): (Vec<&str>, Vec<Outcome>) = backwards.unzip();
        assert!(31 <= backwards.len());
        let theirs = plain.run_order(&backwards, &Interrupt::default()).unwrap();
        assert!(theirs.is_in_order);
        assert_eq!(outcomes(&theirs), ours);
        little.project.env.push(("UNUSED".into(), None));
    }
    assert_eq!(tree(little.folder.path()), before, "the work tree is as it was");
}

const DEPENDENT: &str = r"
STATE = []

def test_victim():
    assert not STATE

def test_polluter():
    STATE.append(1)

def test_cleaner():
    STATE.clear()
";

const HOSTILE: &str = r#"
import os, signal, sys, time

def test_fine():
    pass

def test_exits():
    os._exit(0)

def test_hangs():
    while True:
        signal.pause()

def test_kills_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()

def test_closes_all_it_did_not_open():
    # Lower ones are pytest's own, without which it breaks down, with or without us.
    os.closerange(100, 4096)

def test_floods():
    for _ in range(200):
        print("x" * 10000)
        os.write(2, b"y" * 10000)
    assert False

def test_patches_time(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 0)
    monkeypatch.setattr(os, "write", None)
    os.chdir("/")
    sys.stdout = None
"#;

#[test]
fn hostile_tests_harm_their_own_run_only() {
    let little = Little::new(&[("test_it.py", HOSTILE)]);
    let mut engine = little.start();
    let mut check = |name: &str, expected: [Outcome; 3]| {
        let name = format!("test_it.py::test_{name}");
        let first = run(&mut engine, &["test_it.py::test_fine", &name]).outcomes();
        assert_eq!(first, expected[..2], "{name}");
        let last = run(&mut engine, &[&name, "test_it.py::test_fine"]).outcomes();
        assert_eq!(last, expected[1..], "{name}");
    };
    check("closes_all_it_did_not_open", [PASSED, PASSED, PASSED]);
    check("floods", [PASSED, FAILED, PASSED]);
    check("patches_time", [PASSED, PASSED, PASSED]);
}

#[test]
fn a_test_that_kills_its_parent_is_found_out() {
    let little = Little::new(&[("test_it.py", HOSTILE)]);
    let mut engine = little.try_start(|limits| limits.isolation = Vec::new()).unwrap();
    let ran = run(&mut engine, &["test_it.py::test_fine", "test_it.py::test_kills_parent"]);
    assert_eq!(ran.outcomes()[0], PASSED);
    assert_eq!(ran.outcomes()[1].kind(), OutcomeKind::Crashed);
    assert_eq!(run(&mut engine, &["test_it.py::test_fine"]).outcomes(), [PASSED]);
}

#[test]
fn ten_thousand_ids_are_one_run() {
    let text = r#"
import pytest
@pytest.mark.parametrize("n", ["{} [ü/{}] a::b".format(n, n) for n in range(10000)])
def test_it(n):
    assert not n.startswith("77 ")
"#;
    let little = Little::new(&[("test_it.py", text)]);
    let mut engine = little.start();
    let order = Order::original(&suite(&engine)).reversed();
    let ours = run_order(&mut engine, order).outcomes();
    assert_eq!(ours.len(), 10_000);
    let failed: Vec<usize> = (0..10_000).filter(|place| ours[*place] == FAILED).collect();
    assert_eq!(failed, [9_999 - 77]);
}

#[test]
fn an_order_longer_than_a_command_line_is_named_to_plain_pytest_old_and_new() {
    let text = r#"
import pytest
@pytest.mark.parametrize("n", ["{} [ü/{}] {}".format(n, n, "x" * 60) for n in range(1200)])
def test_it(n):
    assert not n.startswith("77 ")
"#;
    let little = Little::new(&[("test_it.py", text)]);
    let engine = little.start();
    let ids = engine.collected().tests.iter().rev().map(|test| test.id.as_str());
    let ids: Vec<&str> = ids.collect();
    assert!(100_000 < ids.iter().map(|id| id.len()).sum::<usize>());
    let mut collected = engine.collected().clone();
    for runner in ["pytest 7.4", &engine.collected().runner] {
        collected.runner = runner.to_owned();
        for invocation in [Invocation::Module, Invocation::Script] {
            let plain = Plain { collected: &collected, invocation, ..little.plain(&engine) };
            let theirs = plain.run_order(&ids, &Interrupt::default()).unwrap();
            assert_eq!(theirs.ending, PlainEnding::Complete, "{}", theirs.output);
            assert!(theirs.is_in_order);
            let failed = outcomes(&theirs).iter().rposition(|outcome| *outcome == FAILED);
            assert_eq!(failed, Some(1199 - 77));
            assert_eq!(theirs.tests.iter().filter(|said| said.outcome == PASSED).count(), 1199);
        }
    }
}

#[test]
fn each_way_of_not_collecting_has_its_own_words() {
    let kind = |files: &[(&str, &str)]| Little::new(files).try_start(|_| ()).unwrap_err();
    let error = kind(&[("conftest.py", "import no_such_module"), ("test_a.py", "")]);
    let StartErrorKind::Failed { what, text } = &error.kind else { panic!("{error:?}") };
    assert!(text.contains("no_such_module"), "{what}: {text}");

    let error = kind(&[("test_a.py", "import no_such_module")]);
    let StartErrorKind::NothingCollected { errors } = &error.kind else { panic!("{error:?}") };
    assert!(errors[0].1.contains("no_such_module"));

    let error = kind(&[("test_a.py", "")]);
    assert!(matches!(error.kind, StartErrorKind::NothingCollected { errors } if errors.is_empty()));

    let error = kind(&[("pytest.ini", "[pytest]\naddopts = --no-such-option"), ("t.py", "")]);
    let StartErrorKind::Failed { text, .. } = &error.kind else { panic!("{error:?}") };
    assert!(text.contains("--no-such-option"), "{text}");
}

#[test]
fn what_can_be_collected_is_run_beside_what_cannot() {
    let little =
        Little::new(&[("test_a.py", "import no_such_module"), ("test_b.py", "def test_b(): pass")]);
    let mut engine = little.start();
    assert_eq!(engine.collected().errors[0].place, "test_a.py");
    assert_eq!(run(&mut engine, &["test_b.py::test_b"]).outcomes(), [PASSED]);
    let theirs = little.plain(&engine).run_suite(&Interrupt::default()).unwrap();
    assert_eq!(outcomes(&theirs), [PASSED]);
    assert_eq!(theirs.strangers, ["::test_a"]);
}

#[test]
fn a_missing_pytest_is_said_and_unittest_steps_in() {
    let text = r"
import unittest
class T(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): self.fail()
    @unittest.skip('why not')
    def test_c(self): pass
";
    // Without site-packages there is no pytest.
    let mut little = Little::new(&[("tests/test_a.py", text)]);
    let mut bare = |runner| {
        little.project.runner = runner;
        little.project.paths = if runner == Runner::Pytest { vec![] } else { vec!["tests".into()] };
        let limits = Limits {
            start: Start::Fork,
            isolation: Vec::new(),
            start_timeout: AMPLE,
            test_timeout: AMPLE,
            run_timeout: None,
            jobs: 1,
        };
        let mut launch = little.project.launch(limits);
        launch.flags.push("-S".into());
        Engine::start(launch, &Interrupt::default())
    };
    let error = bare(Runner::Pytest).unwrap_err();
    assert_eq!(error.kind.to_string(), "pytest is not installed");
    let mut engine = bare(Runner::Auto).unwrap();
    assert!(engine.collected().runner.starts_with("unittest"));
    let ids: Vec<String> = engine.collected().tests.iter().map(|t| t.id.clone()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let ours = run(&mut engine, &ids);
    assert_eq!(ours.outcomes(), [PASSED, FAILED, Outcome::Skipped]);
    let plain = little.plain(&engine);
    let theirs = plain.run_order(&ids, &Interrupt::default()).unwrap();
    assert_eq!(theirs.ending, PlainEnding::Complete, "{}", theirs.output);
    assert_eq!(outcomes(&theirs), ours.outcomes());
    assert_eq!(paste(&little, &plain.command(&ids)), Some(1));
    assert_eq!(paste(&little, &plain.command(&ids[..1])), Some(0));
}

/// The status of a command pasted into a shell.
fn paste(little: &Little, command: &str) -> Option<i32> {
    let line = CommandLine {
        program: "sh".into(),
        arguments: vec!["-c".into(), command.into()],
        current_dir: little.project.current_dir.clone(),
        env: vec![("PYTHONDONTWRITEBYTECODE".into(), Some("1".into()))],
    };
    let finished = run_to_end(&line, AMPLE, &Interrupt::default()).unwrap();
    finished.exit.code
}

#[test]
fn the_printed_command_does_in_a_shell_what_we_say_it_does() {
    let little = Little::new(&[
        ("pytest.ini", "[pytest]\n"),
        ("sub folder/test_names.py", NAMES),
        ("test_it.py", DEPENDENT),
    ]);
    let engine = little.start();
    let mut plain = little.plain(&engine);
    for invocation in [Invocation::Module, Invocation::Script] {
        plain.invocation = invocation;
        let (polluter, victim) = ("test_it.py::test_polluter", "test_it.py::test_victim");
        assert_eq!(paste(&little, &plain.command(&[polluter, victim])), Some(1));
        assert_eq!(paste(&little, &plain.command(&[victim, polluter])), Some(0));
    }
    // Every passing test by name, however it is spelled; a name misread would be status 4.
    let theirs = plain.run_suite(&Interrupt::default()).unwrap();
    let tests = engine.collected().tests.iter().zip(outcomes(&theirs));
    let passing = tests.filter(|(_, outcome)| *outcome == PASSED).map(|(test, _)| test.id.as_str());
    let passing: Vec<&str> = passing.filter(|id| plain.can_name(id)).collect();
    assert!(20 < passing.len());
    assert_eq!(paste(&little, &plain.command(&passing)), Some(0));
}

#[test]
fn a_test_that_is_run_twice_is_two_tests_to_the_plain_runner() {
    let text = r"
import unittest
import pytest
SEEN, LIVE = [], []
@pytest.fixture
def live():
    LIVE.append(1)
    yield len(LIVE)
    LIVE.pop()
def test_fine(live):
    assert live == 1
def test_spoils_itself(live):
    SEEN.append(live)
    assert SEEN == [1]
@pytest.mark.parametrize('name', ['a b'])
def test_named(name):
    SEEN.append(name)
    assert SEEN == [name]
class TestC:
    def test_fine(self):
        assert not hasattr(self, 'x')
        self.x = 1
class U(unittest.TestCase):
    n = 0
    def test_fine(self):
        assert not hasattr(self, 'x')
        self.x = 1
    def test_spoils_itself(self):
        U.n += 1
        self.assertEqual(U.n, 1)
";
    let little = Little::new(&[("test_it.py", text)]);
    let engine = little.start();
    let (once, mut twice) = (little.plain(&engine), little.plain(&engine));
    twice.invocation = Invocation::Twice;
    let ends = |plain: &Plain<'_>, id: &str| {
        let run = plain.run_order(&[id], &Interrupt::default()).unwrap();
        assert_eq!(run.ending, PlainEnding::Complete, "{}", run.output);
        outcomes(&run)
    };
    for (name, outcome) in [
        ("test_fine", PASSED),
        ("test_spoils_itself", FAILED),
        ("test_named[a b]", FAILED),
        ("TestC::test_fine", PASSED),
        ("U::test_fine", PASSED),
        ("U::test_spoils_itself", FAILED),
    ] {
        let id = format!("test_it.py::{name}");
        assert_eq!(ends(&once, &id), [PASSED], "{id}");
        assert_eq!(ends(&twice, &id), [outcome], "{id}");
        let status = i32::from(outcome == FAILED);
        assert_eq!(paste(&little, &twice.command(&[&id])), Some(status), "{id}");
    }
}

#[test]
fn from_a_folder_inside_the_project_names_still_fit() {
    let mut little = Little::new(&[
        ("pytest.ini", "[pytest]\n"),
        ("inside/test_a.py", "def test_a(): pass\n"),
        ("other/test_b.py", "def test_b(): assert False\n"),
    ]);
    little.project.paths = vec!["../other".into(), ".".into()];
    little.project.current_dir.push("inside");
    let mut engine = little.start();
    let ids = ["inside/test_a.py::test_a", "other/test_b.py::test_b"];
    assert_eq!(run(&mut engine, &ids).outcomes(), [PASSED, FAILED]);
    let plain = little.plain(&engine);
    let theirs = plain.run_order(&ids, &Interrupt::default()).unwrap();
    assert_eq!(outcomes(&theirs), [PASSED, FAILED]);
    assert!(plain.command(&ids).ends_with("test_a.py::test_a ../other/test_b.py::test_b"));
    assert_eq!(paste(&little, &plain.command(&ids[..1])), Some(0));
}

#[test]
fn a_plain_run_that_dies_or_hangs_or_refuses_says_so() {
    let little = Little::new(&[("test_it.py", HOSTILE)]);
    let engine = little.start();
    let mut plain = little.plain(&engine);
    let interrupt = Interrupt::default();
    let run = plain.run_order(&["test_it.py::test_fine", "test_it.py::test_exits"], &interrupt);
    let run = run.unwrap();
    assert!(matches!(run.ending, PlainEnding::Died(exit) if exit.code == Some(0)));
    assert_eq!(outcomes(&run), [NOT_RUN, NOT_RUN]);
    let run = plain.run_order(&["test_it.py::no_such_test"], &interrupt).unwrap();
    assert_eq!(run.ending, PlainEnding::Refused);
    assert!(run.output.contains("no_such_test"));
    plain.time_max = Duration::from_millis(500);
    let run = plain.run_order(&["test_it.py::test_hangs"], &interrupt).unwrap();
    assert_eq!(run.ending, PlainEnding::TimedOut);
}

#[test]
fn a_hash_seed_has_one_interpreter_for_all_its_runs_and_leaves_all_else_to_chance() {
    let tests = "import os, random\n\nSTARTED = os.urandom(8).hex()\n\n\n\
        def test_it():\n    \
        assert 0, (STARTED, hash('a string'), hash('another'), random.random(), 'end')\n";
    let little = Little::new(&[("test_it.py", tests)]);
    let mut engine = little.try_start(|limits| limits.jobs = 2).unwrap();
    let mut told = |seed: u64| -> Vec<String> {
        let order = Order::from_distinct([TestIndex::new(0)]);
        let ran = run_in(&mut engine, order, Environment::Hashed { seed });
        assert_eq!(ran.ending, Ending::Complete);
        let message = &ran.messages[0];
        let inside = message.split_once('(').unwrap().1;
        inside.split(',').map(str::to_owned).collect()
    };
    let (first, second, other, third) = (told(1), told(1), told(2), told(1));
    assert_eq!(first[..3], second[..3], "the same interpreter");
    assert_eq!(first[..3], third[..3], "also after another seed");
    assert_ne!(first[3], second[3], "random numbers are not held fixed");
    assert_ne!(first[0], other[0]);
    assert_ne!(first[1..3], other[1..3], "strings are hashed otherwise");
    // Of interpreters that wait, few are kept: the oldest had to go, and another was started.
    for seed in 3..8 {
        told(seed);
    }
    let fourth = told(1);
    assert_ne!(first[0], fourth[0]);
    assert_eq!(first[1..3], fourth[1..3]);
}
