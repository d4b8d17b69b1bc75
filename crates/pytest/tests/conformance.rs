//! What every adapter has to do, done by pytest and by unittest.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

use std::ffi::OsString;
use std::fs;

use tempfile::TempDir;
use unflake_adapter::{Adapter as _, Opening, OwnOptions};
use unflake_conformance::{Fixture, Live, Odd, Role, Scene, Subject, Terms, assert_conforms};
use unflake_engine::Interrupt;
use unflake_model::{Outcome, Phase};
use unflake_pytest::Pytest;

const PASSED: Outcome = Outcome::Passed;
const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

const NOT_CAPTURED: &str = "unittest leaves what tests write alone";

/// Three projects of one of the two runners.
struct Projects {
    runner: &'static str,
    files: fn(Scene) -> (&'static str, &'static str),
    player: fn(Role) -> Result<&'static str, &'static str>,
    odd: fn() -> Vec<Odd>,
    folder: TempDir,
}

impl Fixture for Projects {
    fn adapter(&self) -> &str {
        self.runner
    }

    fn player(&self, role: Role) -> Result<String, &'static str> {
        let (file, _) = (self.files)(role.scene());
        let name = (self.player)(role)?;
        Ok(match self.runner {
            "unittest" => format!("{}.{name}", file.trim_end_matches(".py")),
            _ => format!("{file}::{name}"),
        })
    }

    fn odd(&self) -> Vec<Odd> {
        (self.odd)()
    }

    fn open(&self, scene: Scene, terms: &Terms) -> Result<Box<dyn Subject + '_>, String> {
        let folder = self.folder.path().canonicalize().unwrap().join(format!("{scene:?}"));
        let (file, text) = (self.files)(scene);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(file), text).unwrap();
        let mut own = OwnOptions::default();
        let python: Option<OsString> = std::env::var_os("UNFLAKE_TEST_PYTHON");
        own.set("python", vec![python.unwrap_or_else(|| "python3".into())]);
        let opening = Opening {
            folder,
            runner: Some(self.runner),
            paths: &[],
            options: &[],
            own: &own,
            // With a seed, it is for the engine to say how strings are hashed.
            seed: Some(1),
            cache: Some(self.folder.path().join("cache")),
            program: None,
            interrupt: &Interrupt::default(),
        };
        let project = Pytest.open(&opening).map_err(|error| error.to_string())?;
        Ok(Box::new(Live::start(project.parts()[0], terms)?))
    }
}

#[test]
fn pytest_conforms() {
    let projects = Projects {
        runner: "pytest",
        files: |scene| match scene {
            Scene::Calm => ("test_calm.py", include_str!("conformance/calm/test_calm.py")),
            Scene::Wild => ("test_wild.py", include_str!("conformance/wild/test_wild.py")),
            Scene::Odd => ("test_odd.py", include_str!("conformance/odd/test_odd.py")),
        },
        player: |role| {
            Ok(match role {
                Role::Passes => "test_passes",
                Role::Fails => "test_fails",
                Role::BreaksInSetUp => "test_breaks_in_set_up",
                Role::BreaksInCleanUp => "test_breaks_in_clean_up",
                Role::Skipped => "test_skipped",
                Role::Prints => "test_prints",
                Role::Diarist(1) => "TestFirstPages::test_one",
                Role::Diarist(2) => "TestFirstPages::test_two",
                Role::Diarist(3) => "TestLastPages::test_three",
                Role::Diarist(_) => "TestLastPages::test_four",
                Role::Polluter => "test_polluter",
                Role::Cleaner => "test_cleaner",
                Role::Victim => "test_victim",
                Role::Setter => "test_setter",
                Role::Brittle => "test_brittle",
                Role::SpoilsItself => "test_spoils_itself",
                Role::Writes => "test_writes",
                Role::Finds => "test_finds",
                Role::TellsHash => "test_tells_hash",
                Role::IsCalm => "test_is_calm",
                Role::StaysCalm => "test_stays_calm",
                Role::Hangs => "test_hangs",
                Role::Crashes => "test_crashes",
                Role::Exits => "test_exits",
            })
        },
        odd: odd_of_pytest,
        folder: tempfile::tempdir().unwrap(),
    };
    assert_conforms(&projects, &[("no-order", "it can keep any order")]);
}

/// Parameters as pytest writes them into names: text is escaped, nothing else is.
fn odd_of_pytest() -> Vec<Odd> {
    let long = "x".repeat(300);
    let values = [
        "a b",
        "x/y.py",
        "a::b",
        "[1]",
        r"\xfc",
        r"\u65e5\u672c",
        "it's",
        "\"q\"",
        "$H",
        "#",
        r"\\",
        "]",
        "<&>",
        "",
        "a, b",
        "*?",
        "`x`",
        r"tab\there",
        &long,
    ];
    let ends = [PASSED, FAILED].into_iter().cycle();
    let values = values.iter().zip(ends);
    let mut odd: Vec<Odd> = values
        .map(|(value, outcome)| Odd::new(format!("test_odd.py::test_value[{value}]"), outcome))
        .collect();
    odd.push(Odd::new("test_odd.py::test_größe", PASSED));
    odd.push(Odd::new("test_odd.py::TestGroup::TestInner::test_deep", FAILED));
    odd.push(Odd::new("test_odd.py::TestGroup::TestInner::test_wide", PASSED));
    odd
}

#[test]
fn unittest_conforms() {
    let projects = Projects {
        runner: "unittest",
        files: |scene| match scene {
            Scene::Calm => ("test_calm.py", include_str!("conformance/calm_unittest/test_calm.py")),
            Scene::Wild => ("test_wild.py", include_str!("conformance/wild_unittest/test_wild.py")),
            Scene::Odd => ("test_odd.py", include_str!("conformance/odd_unittest/test_odd.py")),
        },
        player: |role| {
            Ok(match role {
                Role::Passes => "A.test_passes",
                Role::Fails => "A.test_fails",
                Role::BreaksInSetUp => "BreaksInSetUp.test_it",
                Role::BreaksInCleanUp => "BreaksInCleanUp.test_it",
                Role::Skipped => "A.test_skipped",
                Role::Prints => return Err(NOT_CAPTURED),
                Role::Diarist(1) => "FirstPages.test_1",
                Role::Diarist(2) => "FirstPages.test_2",
                Role::Diarist(3) => "LastPages.test_3",
                Role::Diarist(_) => "LastPages.test_4",
                Role::Polluter => "State.test_1_polluter",
                Role::Cleaner => "State.test_2_cleaner",
                Role::Victim => "State.test_3_victim",
                Role::Setter => "State.test_4_setter",
                Role::Brittle => "State.test_5_brittle",
                Role::SpoilsItself => "State.test_6_spoils_itself",
                Role::Writes => "State.test_7_writes",
                Role::Finds => "State.test_8_finds",
                Role::TellsHash => "State.test_9_tells_hash",
                Role::IsCalm => "Wild.test_1_is_calm",
                Role::Hangs => "Wild.test_2_hangs",
                Role::Crashes => "Wild.test_3_crashes",
                Role::Exits => "Wild.test_4_exits",
                Role::StaysCalm => "Wild.test_5_stays_calm",
            })
        },
        odd: || {
            let long = format!("Names.test_{}", "x".repeat(300));
            let odd = [
                ("Große.test_größe", PASSED),
                ("Große.test_日本", FAILED),
                ("Names.test", PASSED),
                ("Names.test (in brackets)", FAILED),
                ("Names.test with blanks", FAILED),
                ("Names.testCamel", FAILED),
                ("Names.test__", PASSED),
                (&long, FAILED),
            ];
            let odd = odd.map(|(name, end)| Odd::new(format!("test_odd.{name}"), end));
            let not_read = |odd: Odd| if odd.id.contains('(') { odd.not_typed() } else { odd };
            odd.map(not_read).into()
        },
        folder: tempfile::tempdir().unwrap(),
    };
    let any_order = ("no-order", "it can keep any order");
    assert_conforms(&projects, &[("output", NOT_CAPTURED), any_order]);
}
