//! What every adapter has to do, done by commands that report in different ways.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

use std::ffi::OsString;
use std::fs;

use tempfile::TempDir;
use unflake_adapter::{Adapter as _, Opening, OwnOptions};
use unflake_command::Command;
use unflake_conformance::{Fixture, Live, Odd, Role, Scene, Subject, Terms, assert_conforms};
use unflake_engine::Interrupt;
use unflake_model::{Outcome, Phase};

const PASSED: Outcome = Outcome::Passed;
const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

/// Why a runner has no test of a kind.
const NO_ERRORS: &str = "its report knows no errors";
const NO_PHASES: &str = "no report says in which phase a test failed";
const IS_REPORT: &str = "what it writes is the report";
const NO_WORDS: &str = "an exit code says nothing but passed and failed";
const OWN_PROCESS: &str = "each test has a process of its own";

/// Why a check does not apply, by what abilities say.
const ANY_ORDER: (&str, &str) = ("no-order", "it can keep any order");
const NOT_PUT_BACK: (&str, &str) = ("put-back", "it does not put state back between tests");
const NO_HASH_SEEDS: (&str, &str) = ("hash-seeds", "its hash seeds are fixed");
const NOT_TWICE: (&str, &str) =
    ("plain-twice", "its plain runner does not tell two attempts apart");

/// A runner, and what it is told.
struct Runner {
    name: &'static str,
    report: &'static str,
    words: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
    lacks: fn(Role) -> Option<&'static str>,
    folder: TempDir,
}

fn tests(scene: Scene) -> Vec<String> {
    let calm = [
        Role::Passes,
        Role::Fails,
        Role::BreaksInSetUp,
        Role::Skipped,
        Role::Prints,
        Role::Diarist(1),
        Role::Diarist(2),
        Role::Diarist(3),
        Role::Diarist(4),
        Role::Polluter,
        Role::Cleaner,
        Role::Victim,
        Role::Setter,
        Role::Brittle,
        Role::SpoilsItself,
        Role::Writes,
        Role::Finds,
    ];
    let wild = [Role::IsCalm, Role::Hangs, Role::Crashes, Role::Exits, Role::StaysCalm];
    match scene {
        Scene::Calm => calm.iter().map(|role| spelled(*role).to_owned()).collect(),
        Scene::Wild => wild.iter().map(|role| spelled(*role).to_owned()).collect(),
        Scene::Odd => odd().into_iter().map(|odd| odd.id).collect(),
    }
}

/// The first word says what the test does.
fn spelled(role: Role) -> &'static str {
    match role {
        Role::Passes | Role::BreaksInCleanUp | Role::TellsHash => "passes",
        Role::Fails => "fails",
        Role::BreaksInSetUp => "broken",
        Role::Skipped => "skipped",
        Role::Prints => "prints",
        Role::Diarist(1) => "first::writes-diary 1",
        Role::Diarist(2) => "first::writes-diary 2",
        Role::Diarist(3) => "last::writes-diary 3",
        Role::Diarist(_) => "last::writes-diary 4",
        Role::Polluter => "pollutes",
        Role::Cleaner => "cleans",
        Role::Victim => "victim",
        Role::Setter => "loads",
        Role::Brittle => "loaded",
        Role::SpoilsItself => "spoils-itself",
        Role::Writes => "writes",
        Role::Finds => "finds",
        Role::IsCalm => "passes first",
        Role::Hangs => "hangs",
        Role::Crashes => "segv",
        Role::Exits => "exits",
        Role::StaysCalm => "passes last",
    }
}

/// Names of every kind that has ever been torn apart.
fn odd() -> Vec<Odd> {
    let long = format!("passes {}", "x".repeat(300));
    let names = [
        "a b",
        "fails x/y.py",
        "a::b",
        "fails [1]",
        "\u{fc}",
        "fails \u{65e5}\u{672c}",
        "it's",
        "fails \"q\"",
        "$HOME",
        "fails #",
        "<&>",
        "fails *?",
        "`x` \\ %s {}",
        "a::fails b",
        &long,
    ];
    let end = |name: &str| if name.contains("fails") { FAILED } else { PASSED };
    names.iter().map(|name| Odd::new(*name, end(name))).collect()
}

impl Fixture for Runner {
    fn adapter(&self) -> &str {
        self.name
    }

    fn player(&self, role: Role) -> Result<String, &'static str> {
        match (self.lacks)(role) {
            Some(why) => Err(why),
            None => Ok(spelled(role).to_owned()),
        }
    }

    fn odd(&self) -> Vec<Odd> {
        odd()
    }

    fn tells_at_end(&self) -> bool {
        self.report == "junit"
    }

    fn open(&self, scene: Scene, terms: &Terms) -> Result<Box<dyn Subject + '_>, String> {
        let top = self.folder.path().canonicalize().unwrap();
        let (folder, home) = (top.join(format!("{scene:?}")), top.join("home"));
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&home).unwrap();
        fs::write(folder.join("runner.py"), include_str!("common/runner.py")).unwrap();
        fs::write(folder.join("tests.txt"), tests(scene).join("\n") + "\n").unwrap();
        let python = std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let command = |words: &[&str]| -> Vec<OsString> {
            let words = ["runner.py"].iter().chain(words).map(OsString::from);
            std::iter::once(python.clone()).chain(words).collect()
        };
        let mut own = OwnOptions::default();
        own.set("list", command(&["--list"]));
        own.set("run", command(self.words));
        own.set("report", vec![self.report.into()]);
        // Not that of who runs these tests.
        own.set("env", vec![format!("HOME={}", home.display()).into()]);
        for (name, value) in self.settings {
            own.set(name, vec![value.into()]);
        }
        let opening = Opening {
            folder,
            runner: Some("command"),
            paths: &[],
            options: &[],
            own: &own,
            seed: Some(1),
            cache: None,
            program: Some(env!("CARGO_BIN_EXE_unflake-command-agent").into()),
            interrupt: &Interrupt::default(),
        };
        let project = Command.open(&opening).map_err(|error| error.to_string())?;
        Ok(Box::new(Live::start(project.parts()[0], terms)?))
    }
}

/// What no report can say.
fn lacks(role: Role) -> Option<&'static str> {
    (role == Role::BreaksInCleanUp).then_some(NO_PHASES)
}

fn lacks_with_tap(role: Role) -> Option<&'static str> {
    match role {
        Role::BreaksInSetUp => Some(NO_ERRORS),
        Role::Prints => Some(IS_REPORT),
        other => lacks(other),
    }
}

fn lacks_with_exit_codes(role: Role) -> Option<&'static str> {
    match role {
        Role::BreaksInSetUp | Role::Skipped | Role::Prints | Role::Crashes | Role::Exits => {
            Some(NO_WORDS)
        }
        Role::Diarist(_) | Role::Victim | Role::Brittle => Some(OWN_PROCESS),
        other => lacks(other),
    }
}

#[test]
fn a_runner_that_writes_tap_conforms() {
    let runner = Runner {
        name: "command, TAP on standard output",
        report: "tap",
        words: &["{tests}"],
        settings: &[],
        lacks: lacks_with_tap,
        folder: tempfile::tempdir().unwrap(),
    };
    assert_conforms(
        &runner,
        &[
            ("set-up", NO_ERRORS),
            ("clean-up", NO_PHASES),
            ("output", IS_REPORT),
            ANY_ORDER,
            NOT_PUT_BACK,
            NO_HASH_SEEDS,
            NOT_TWICE,
        ],
    );
}

#[test]
fn a_runner_that_writes_junit_xml_and_repeats_tests_conforms() {
    let runner = Runner {
        name: "command, JUnit XML and lines that say which test begins",
        report: "junit",
        words: &["--form=junit", "--says=1", "--report={report}", "--list={list}"],
        settings: &[("starts", "RUN {id}"), ("repeats", "true")],
        lacks,
        folder: tempfile::tempdir().unwrap(),
    };
    assert_conforms(&runner, &[("clean-up", NO_PHASES), ANY_ORDER, NOT_PUT_BACK, NO_HASH_SEEDS]);
}

#[test]
fn a_runner_that_says_nothing_but_its_exit_code_conforms() {
    let runner = Runner {
        name: "command, exit codes",
        report: "exit",
        words: &["--form=exit", "{tests}"],
        settings: &[],
        lacks: lacks_with_exit_codes,
        folder: tempfile::tempdir().unwrap(),
    };
    let mut excluded = vec![("clean-up", NO_PHASES), ANY_ORDER, NOT_PUT_BACK, NO_HASH_SEEDS];
    excluded.extend(["set-up", "skipped", "output", "crashed", "exited"].map(|it| (it, NO_WORDS)));
    let of_state = ["order", "subset", "between", "state", "at-once", "afresh", "ready"];
    excluded.extend(of_state.map(|it| (it, OWN_PROCESS)));
    excluded.extend([("plain-orders", OWN_PROCESS), NOT_TWICE]);
    assert_conforms(&runner, &excluded);
}

#[test]
fn a_runner_that_has_its_own_order_conforms() {
    let runner = Runner {
        name: "command, TAP in an order of its own",
        report: "tap",
        words: &["--own-order=1", "{tests}"],
        settings: &[("order", "none")],
        lacks: lacks_with_tap,
        folder: tempfile::tempdir().unwrap(),
    };
    assert_conforms(
        &runner,
        &[
            ("set-up", NO_ERRORS),
            ("clean-up", NO_PHASES),
            ("output", IS_REPORT),
            NOT_PUT_BACK,
            NO_HASH_SEEDS,
            NOT_TWICE,
        ],
    );
}
