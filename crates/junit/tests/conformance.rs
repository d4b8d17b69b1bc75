//! What every adapter has to do, done by JUnit in a project that Maven builds, once for all checks.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

use std::fs;
use std::path::Path;

use unflake_adapter::{Adapter as _, Need, Opening, OwnOptions, Project};
use unflake_conformance::{Fixture, Live, Odd, Role, Scene, Subject, Terms, assert_conforms};
use unflake_engine::Interrupt;
use unflake_junit::JUnit;
use unflake_model::{Outcome, Phase};

const PASSED: Outcome = Outcome::Passed;
const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

const SHARED_TREE: &str = "its runs share the work tree";
const NO_HASH_SEEDS: &str = "its hash seeds are fixed";

/// A project with a module for each scene.
struct Modules {
    project: Box<dyn Project>,
}

impl Fixture for Modules {
    #[expect(clippy::unnecessary_literal_bound, reason = "other adapters have several names")]
    fn adapter(&self) -> &str {
        "JUnit"
    }

    fn player(&self, role: Role) -> Result<String, &'static str> {
        let name = match role {
            Role::Passes => "EndsTest#passes",
            Role::Fails => "EndsTest#fails",
            Role::BreaksInSetUp => "BreaksInSetUpTest#it",
            Role::BreaksInCleanUp => "BreaksInCleanUpTest#it",
            Role::Skipped => "EndsTest#skipped",
            Role::Prints => "EndsTest#prints",
            Role::Diarist(1) => "FirstPagesTest#one",
            Role::Diarist(2) => "FirstPagesTest#two",
            Role::Diarist(3) => "LastPagesTest#three",
            Role::Diarist(_) => "LastPagesTest#four",
            Role::Polluter => "PolluterTest#pollutes",
            Role::Cleaner => "CleanerTest#cleans",
            Role::Victim => "VictimTest#isClean",
            Role::Setter => "SetterTest#loads",
            Role::Brittle => "BrittleTest#isLoaded",
            Role::SpoilsItself => "VisitTest#isTheFirst",
            Role::Writes | Role::Finds => return Err(SHARED_TREE),
            Role::TellsHash => return Err(NO_HASH_SEEDS),
            Role::IsCalm => "WildTest#isCalm",
            Role::Hangs => "WildTest#hangs",
            Role::Crashes => "WildTest#crashes",
            Role::Exits => "WildTest#exits",
            Role::StaysCalm => "WildTest#staysCalm",
        };
        Ok(format!("com.acme.{name}"))
    }

    fn odd(&self) -> Vec<Odd> {
        let long = format!("VeryLongTest#{}", "x".repeat(200));
        let odd = [
            ("ParametersTest#isShort[a b]", PASSED),
            ("ParametersTest#isShort[it's [1]]", FAILED),
            ("ParametersTest#isShort[a#b]", PASSED),
            ("NamesTest#$dollar$", PASSED),
            ("NamesTest#größe", FAILED),
            ("NamesTest#isNotTwo", FAILED),
            ("NamesTest#isShownOtherwise", PASSED),
            ("NamesTest#overloaded", FAILED),
            ("NamesTest#日本", PASSED),
            ("NamesTest$Inner#deep", FAILED),
            (&long, PASSED),
        ];
        odd.map(|(name, outcome)| Odd::new(format!("com.acme.{name}"), outcome)).into()
    }

    fn open(&self, scene: Scene, terms: &Terms) -> Result<Box<dyn Subject + '_>, String> {
        let name = format!("{scene:?}").to_lowercase();
        let parts = self.project.parts();
        let part = parts.into_iter().find(|part| part.name() == name);
        let part = part.ok_or_else(|| format!("no module, but {:?}", self.project.notes()))?;
        // As in campaigns: processes start in half the time.
        let need = Need { many_runs: true, ..terms.need };
        Ok(Box::new(Live::start(part, &Terms { need, ..terms.clone() })?))
    }
}

#[test]
fn junit_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap().join("project");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects/conformance"), &home);
    let opening = Opening {
        folder: home,
        runner: Some("junit"),
        paths: &[],
        options: &[],
        own: &OwnOptions::default(),
        seed: Some(1),
        cache: Some(folder.path().join("cache")),
        program: None,
        interrupt: &Interrupt::default(),
    };
    let project = JUnit
        .open(&opening)
        .unwrap_or_else(|error| panic!("these tests need a JDK and Maven on the path: {error:?}"));
    assert_conforms(
        &Modules { project },
        &[
            ("no-order", "analyses do not ask it for orders that part a class"),
            ("put-back", "it does not put state back between tests"),
            ("files", SHARED_TREE),
            ("levels", "its runs cannot be isolated"),
            ("hash-seeds", NO_HASH_SEEDS),
        ],
    );
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let into = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &into);
        } else {
            fs::copy(&path, into).unwrap();
        }
    }
}
