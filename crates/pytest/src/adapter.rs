//! What Python's runners are to the rest of unflake.

use std::ffi::{OsStr, OsString};

use unflake_adapter::{
    self as adapter, Abilities, Around, Call, Calls, ChangedFile, CodeFiles, Examination, Given,
    MendError, Mender, Need, OpenError, Opening, OwnOption, OwnValue, Part, PlainRunner, Proposals,
    Readied, Wrong,
};
use unflake_engine::{Interrupt, Launch, Level, Limits};
use unflake_known::junit_xml::Address;
use unflake_known::junit_xml::{CiReport, NoReport};
use unflake_model::{Control, Factor, Factors, HashSeeds, Symptom};

use crate::interpreter::{ANOTHER, Interpreter, PYTHON, Surroundings};
use crate::plain_runner::{GivenRunner, PythonRunner};
use crate::project::{HASH_SEED, Project, Runner, hash_seed};
use crate::state_kinds::STATE_KINDS;
use crate::{doctor, mend, plain, pytest_report, symptom};

/// pytest, and unittest where there is no pytest.
#[derive(Clone, Copy, Debug)]
pub struct Pytest;

/// The folder of what is made once.
const CACHE: &str = "python";

/// Runs of all tests with folders listed in another order: what depends on the order of two files
/// is seen both to pass and to fail in 15 of 16 suites.
const N_LISTINGS: u64 = 5;

impl adapter::Adapter for Pytest {
    fn runners(&self) -> &'static [adapter::Runner] {
        &[
            adapter::Runner { name: "pytest", description: "pytest" },
            adapter::Runner { name: "unittest", description: "unittest, of Python's library" },
        ]
    }

    fn marks(&self) -> &'static [&'static str] {
        &["pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "setup.py"]
    }

    fn top_marks(&self) -> &'static [&'static str] {
        self.marks()
    }

    fn family(&self) -> &'static str {
        "Python"
    }

    fn options(&self) -> &'static [OwnOption] {
        &[OwnOption {
            name: PYTHON,
            table: None,
            value_name: Some("PROGRAM"),
            help: "The Python of the project [default: from `VIRTUAL_ENV`, `.venv`, `venv`, else \
                   `python3`]",
            why: "The Python of the project: a program or an environment. Without it, \
                  VIRTUAL_ENV, then .venv or venv, then python3 is taken.",
            example: "\".venv/bin/python\"",
            value: OwnValue::Path,
        }]
    }

    fn abilities(&self) -> Abilities {
        abilities(HashSeeds::Varied)
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn adapter::Project>, OpenError> {
        let mut project = found(opening)?;
        project.hash_seed = opening.seed.and_then(hash_seed);
        Ok(Box::new(Opened(project)))
    }

    fn reopen(
        &self,
        call: &Call,
        opening: &Opening<'_>,
    ) -> Result<Box<dyn adapter::Project>, OpenError> {
        let mut own = opening.own.clone();
        if own.one(PYTHON).is_none() {
            own.set(PYTHON, vec![call.program.clone()]);
        }
        let mut project = found(&Opening {
            folder: call.folder.clone(),
            paths: &call.paths,
            options: &call.options,
            own: &own,
            ..opening.clone()
        })?;
        project.hash_seed = call.hash_seed;
        Ok(Box::new(Opened(project)))
    }

    fn examine(&self, opening: &Opening<'_>, limits: &Limits) -> Examination {
        doctor::examine(found(opening), limits, opening.interrupt)
    }

    fn mends(&self, runner: &str) -> bool {
        adapter::runner_name(runner) == "pytest"
    }

    fn address(&self, id: &str, _: Option<&str>) -> Address {
        pytest_report::address(id)
    }

    fn spelling(&self) -> &'static str {
        "tests/test_cart.py::test_total"
    }
}

fn abilities(hash_seeds: HashSeeds) -> Abilities {
    let quick = [Factor::Date, Factor::TimeZone, Factor::Switches, Factor::Listings];
    Abilities {
        control: Control::FULL,
        calls: Calls::Counted,
        watches: &STATE_KINDS,
        lints: true,
        mends: true,
        hash_seeds,
        hash_seed_variable: Some("PYTHONHASHSEED"),
        choices: [Factor::Listings].into_iter().collect(),
        n_choices: Some(N_LISTINGS),
        circumstances: quick.into_iter().collect(),
        factors: Factor::ALL.into_iter().collect::<Factors>(),
        isolation: &[Level::Pid, Level::Tree, Level::Home, Level::Net],
        program_option: Some("--python"),
    }
}

/// The project in a folder, with the interpreter that was found for it.
fn found(opening: &Opening<'_>) -> Result<Project, OpenError> {
    let surroundings = Surroundings {
        python: opening.own.one(PYTHON).map(OsStr::to_owned),
        virtual_env: std::env::var_os("VIRTUAL_ENV"),
        path: std::env::var_os("PATH"),
        current_dir: opening.folder.clone(),
        own_program: opening.program.clone(),
    };
    let project = Project::find(surroundings).map_err(|error| OpenError::Broken {
        message: error.to_string(),
        hint: Some(error.hint().to_owned()),
    })?;
    let runner = match opening.runner {
        Some("pytest") => Runner::Pytest,
        Some("unittest") => Runner::Unittest,
        _ => Runner::Auto,
    };
    Ok(Project {
        runner,
        paths: opening.paths.to_vec(),
        options: opening.options.to_vec(),
        // Without what is kept, everything takes a little longer.
        kept: opening.cache(CACHE).ok(),
        ..project
    })
}

/// A project has one suite.
struct Opened(Project);

impl adapter::Project for Opened {
    fn parts(&self) -> Vec<&dyn Part> {
        vec![&self.0]
    }
}

impl Part for Project {
    #[expect(clippy::unnecessary_literal_bound, reason = "other parts have names of their own")]
    fn name(&self) -> &str {
        ""
    }

    fn abilities(&self) -> Abilities {
        // Who has chosen a seed for all runs is not surprised by others.
        let is_ours = self.hash_seed.is_some();
        abilities(if is_ours { HashSeeds::Varied } else { HashSeeds::Fixed })
    }

    fn launch(&self, limits: &Limits) -> Launch {
        self.launch(limits.clone())
    }

    fn ready(&self, _: Need, _: &Interrupt) -> Result<Readied, OpenError> {
        Ok(Readied { part: Box::new(self.clone()), not_traced: None })
    }

    fn unsupported(&self, interrupt: &Interrupt) -> Option<(String, String)> {
        let version = self.interpreter.version(&self.current_dir, interrupt).ok()?;
        Interpreter::too_old(&version).map(|why| (why, ANOTHER.to_owned()))
    }

    fn expect_plain_runs(&self, n: u32) {
        plain::expect(self, n);
    }

    fn plain<'a>(&'a self, around: Around<'a>) -> Box<dyn PlainRunner + 'a> {
        Box::new(PythonRunner::new(self, around))
    }

    fn plain_given<'a>(
        &'a self,
        around: Around<'a>,
        given: &Given,
    ) -> Option<Box<dyn PlainRunner + 'a>> {
        Some(Box::new(GivenRunner::new(self, around, given)))
    }

    fn ci_report(&self, xmls: &[String], ids: &[&str]) -> Result<CiReport, NoReport> {
        pytest_report::ci_report(xmls, ids)
    }

    fn pinned(&self) -> Option<Box<dyn Part>> {
        let is_set = std::env::var_os(HASH_SEED).is_some_and(|seed| seed != "random");
        (!is_set).then(|| Box::new(self.with_hash_seed(0)) as Box<dyn Part>)
    }

    fn mender(&self) -> Option<&dyn Mender> {
        Some(self)
    }

    fn symptom(&self, message: &str) -> Symptom {
        symptom::symptom(message)
    }

    fn call(&self) -> Call {
        let Self { interpreter, current_dir, runner, paths, options, env, hash_seed, .. } = self;
        Call {
            hash_seed: *hash_seed,
            folder: current_dir.clone(),
            program: interpreter.program.clone(),
            manner: format!("{} {env:?}", runner.as_str()),
            options: options.clone(),
            paths: paths.clone(),
        }
    }

    fn code_files(&self) -> CodeFiles {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        CodeFiles {
            endings: words(&[
                ".py", ".pyi", ".pyx", ".toml", ".ini", ".cfg", ".json", ".yaml", ".yml", ".xml",
            ]),
            left_out: words(&[
                "__pycache__",
                "node_modules",
                "site-packages",
                "build",
                "dist",
                "target",
                "venv",
            ]),
            left_out_with: words(&["pyvenv.cfg"]),
        }
    }
}

impl Project {
    /// The same, started with this hash seed.
    fn with_hash_seed(&self, seed: u64) -> Self {
        let mut hashed = self.clone();
        let value: OsString = seed.to_string().into();
        hashed.env.push((HASH_SEED.into(), Some(value)));
        hashed
    }
}

impl Mender for Project {
    fn cannot(&self, runner: &str) -> Option<String> {
        let why = || format!("changes are written as pytest fixtures, and {runner} has none");
        (!adapter::Adapter::mends(&Pytest, runner)).then(why)
    }

    fn propose(&self, wrong: &Wrong, interrupt: &Interrupt) -> Result<Proposals, MendError> {
        mend::propose(self, wrong, interrupt)
    }

    fn plain_with<'a>(
        &'a self,
        around: Around<'a>,
        changed: &'a [ChangedFile],
    ) -> Box<dyn PlainRunner + 'a> {
        Box::new(PythonRunner::new(self, around).with(changed))
    }
}
