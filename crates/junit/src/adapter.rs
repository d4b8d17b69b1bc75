//! What JUnit projects are to the rest of unflake.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use unflake_adapter::{
    self as adapter, Abilities, Around, Call, Calls, CodeFiles, Examination, Need, OpenError,
    Opening, Part, PlainRunner, Readied, Site, with_causes,
};
use unflake_engine::{Interrupt, Launch, Limits};
use unflake_known::junit_xml::Address;
use unflake_known::junit_xml::{CiReport, NoReport};
use unflake_model::{Control, Factors};

use crate::nondex::NonDex;
use crate::plain_runner::BuildRunner;
use crate::prepared::{COLLECT_MAX, Prepared};
use crate::project::Project;
use crate::project_error::ProjectError;
use crate::state_kinds::STATE_KINDS;
use crate::surroundings::Surroundings;
use crate::tracing::Tracing;
use crate::{choice_site, doctor, surefire_report};

/// JUnit, in projects that Maven or Gradle builds.
#[derive(Clone, Copy, Debug)]
pub struct JUnit;

/// The folder of what is made once.
const CACHE: &str = "java";

/// How long the build may take.
const BUILD_MAX: Duration = Duration::from_mins(30);

impl adapter::Adapter for JUnit {
    fn runners(&self) -> &'static [adapter::Runner] {
        &[adapter::Runner {
            name: "junit",
            description: "JUnit 4 or 5, in a project that Maven or Gradle builds",
        }]
    }

    fn marks(&self) -> &'static [&'static str] {
        &["pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"]
    }

    fn top_marks(&self) -> &'static [&'static str] {
        // Each module has a build file of its own; the wrapper stands at the top alone.
        &["mvnw"]
    }

    fn family(&self) -> &'static str {
        "Java"
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            control: Control::CLASSES,
            calls: Calls::Noted,
            watches: &STATE_KINDS,
            choices: Factors::OPEN_CHOICES,
            ..Abilities::LEAST
        }
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn adapter::Project>, OpenError> {
        refuse_paths(opening.paths)?;
        Opened::build(&surroundings(opening)?, opening.interrupt)
            .map(|opened| Box::new(opened) as Box<dyn adapter::Project>)
    }

    fn reopen(
        &self,
        _: &Call,
        opening: &Opening<'_>,
    ) -> Result<Box<dyn adapter::Project>, OpenError> {
        self.open(&Opening { paths: &[], options: &[], ..opening.clone() })
    }

    fn examine(&self, opening: &Opening<'_>, _: &Limits) -> Examination {
        match surroundings(opening) {
            Ok(around) => doctor::examine(&around, opening.interrupt),
            Err(error) => {
                let check = adapter::Check::missing("cache", error.to_string(), "set HOME");
                Examination { checks: vec![check], ..Examination::default() }
            }
        }
    }

    fn address(&self, id: &str, _: Option<&str>) -> Address {
        surefire_report::address(id)
    }

    fn spelling(&self) -> &'static str {
        "package.Class#method"
    }
}

/// What the build tool runs is not chosen by files.
fn refuse_paths(paths: &[OsString]) -> Result<(), OpenError> {
    paths.first().map_or(Ok(()), |path| {
        Err(OpenError::Refused {
            message: format!("`{}`: parts of a Java project cannot be named", path.display()),
            hint: "run it in the folder of the module".to_owned(),
        })
    })
}

fn surroundings(opening: &Opening<'_>) -> Result<Surroundings, OpenError> {
    Ok(Surroundings {
        folder: opening.folder.clone(),
        options: opening.options.to_vec(),
        cache: opening.cache(CACHE)?,
        build_time_max: BUILD_MAX,
    })
}

/// A project that was built.
struct Opened {
    modules: Vec<JavaModule>,
    notes: Vec<String>,
}

impl adapter::Project for Opened {
    fn parts(&self) -> Vec<&dyn Part> {
        self.modules.iter().map(|module| module as &dyn Part).collect()
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Opened {
    /// Builds a project and collects the tests of its modules. What cannot be built or collected is
    /// noted, and the rest goes on.
    fn build(around: &Surroundings, interrupt: &Interrupt) -> Result<Self, OpenError> {
        // Whatever is no longer begun after a stop must not be reported as broken.
        let interrupt = &interrupt.lasting();
        let project = Project::find(around, interrupt).map_err(|error| {
            if interrupt.is_raised() { OpenError::Stopped } else { not_built(&error) }
        })?;
        let mut notes = project.notes.clone();
        let left_out = project.left_out.iter();
        notes.extend(left_out.map(|it| format!("module `{}` is left out: {}", it.module, it.why)));
        let mut prepared = Vec::new();
        for module in &project.modules {
            notes.extend(module.notes.iter().map(|note| format!("{}: {note}", module.name)));
            match module.prepare(COLLECT_MAX, interrupt) {
                Ok(module) => prepared.push(module),
                Err(error) => notes.push(with_causes(&error)),
            }
        }
        let nondex = NonDex::find(&project, &around.cache, interrupt);
        if let Err(error) = &nondex {
            let why = with_causes(error);
            notes.push(format!("implementation-dependent tests are not looked for: {why}"));
        }
        if interrupt.is_raised() {
            return Err(OpenError::Stopped);
        }
        let shared = Shared { project, nondex: nondex.ok(), cache: around.cache.clone() };
        let shared = Arc::new(shared);
        let module = |prepared| JavaModule { shared: Arc::clone(&shared), prepared, tracing: None };
        Ok(Self { modules: prepared.into_iter().map(module).collect(), notes })
    }
}

fn not_built(error: &ProjectError) -> OpenError {
    let mut message = with_causes(error);
    if let ProjectError::NoTests { left_out, log } = error {
        let named = left_out.iter();
        message.extend(named.map(|it| format!("\n  module `{}`: {}", it.module, it.why)));
        message.extend(log.trim_end().lines().map(|line| format!("\n  {line}")));
    }
    OpenError::Broken { message, hint: error.hint().map(str::to_owned) }
}

/// What all modules of a project share.
#[derive(Debug)]
struct Shared {
    project: Project,
    /// Makes open choices on purpose, where that can be had.
    nondex: Option<NonDex>,
    cache: PathBuf,
}

/// A module whose tests are known.
#[derive(Clone, Debug)]
struct JavaModule {
    shared: Arc<Shared>,
    prepared: Prepared,
    tracing: Option<Tracing>,
}

impl Part for JavaModule {
    fn name(&self) -> &str {
        &self.prepared.module.name
    }

    fn ids(&self) -> Option<Vec<&str>> {
        Some(self.prepared.ids().collect())
    }

    fn abilities(&self) -> Abilities {
        let is_open = self.shared.nondex.is_some();
        Abilities {
            control: Control::CLASSES,
            calls: if self.tracing.is_some() { Calls::Noted } else { Calls::Unseen },
            watches: &STATE_KINDS,
            choices: if is_open { Factors::OPEN_CHOICES } else { Factors::NONE },
            ..Abilities::LEAST
        }
    }

    fn launch(&self, limits: &Limits) -> Launch {
        Launch {
            perturbing: self.shared.nondex.as_ref().map(NonDex::perturbing),
            trace_flags: self.tracing.as_ref().map(Tracing::flags).unwrap_or_default(),
            ..self.prepared.launch(limits)
        }
    }

    fn ready(&self, need: Need, interrupt: &Interrupt) -> Result<Readied, OpenError> {
        let broken = |message| OpenError::Broken { message, hint: None };
        let mut module = self.clone();
        if need.many_runs {
            let archived = self.prepared.with_archive(interrupt);
            module.prepared = archived.map_err(|error| broken(with_causes(&error)))?;
        }
        let mut not_traced = None;
        if need.traces {
            match Tracing::find(&self.shared.project, &self.shared.cache, interrupt) {
                Ok(tracing) => module.tracing = Some(tracing),
                Err(error) => not_traced = Some(with_causes(&error)),
            }
        }
        Ok(Readied { part: Box::new(module), not_traced })
    }

    fn plain<'a>(&'a self, around: Around<'a>) -> Box<dyn PlainRunner + 'a> {
        let (project, prepared) = (&self.shared.project, &self.prepared);
        Box::new(BuildRunner { project, prepared, around, turn: Mutex::new(()) })
    }

    fn ci_report(&self, xmls: &[String], ids: &[&str]) -> Result<CiReport, NoReport> {
        surefire_report::ci_report(xmls, ids)
    }

    fn site(&self, stack: &[String], test: &str) -> Option<Site> {
        choice_site::site(stack, test)
    }

    fn call(&self) -> Call {
        let (module, choices) = (&self.prepared.module, self.abilities().choices);
        Call {
            hash_seed: None,
            folder: module.folder.clone(),
            program: self.shared.project.jdk.home.clone().into(),
            manner: format!("maven, module {}, choices {choices}", module.name),
            options: Vec::new(),
            paths: Vec::new(),
        }
    }

    fn code_files(&self) -> CodeFiles {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        CodeFiles {
            endings: words(&[
                ".java",
                ".kt",
                ".kts",
                ".groovy",
                ".gradle",
                ".scala",
                ".xml",
                ".properties",
                ".toml",
                ".json",
                ".yaml",
                ".yml",
            ]),
            left_out: words(&["build", "target", "node_modules"]),
            left_out_with: Vec::new(),
        }
    }
}
