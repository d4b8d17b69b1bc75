//! What is there to run the tests of a Java project with, and what is missing?
//!
//! The project is built once, as for a study, and its tests are collected; none is run. What cannot
//! be built or collected is named with its reason, and the rest can be run.

use std::collections::BTreeMap;

use unflake_adapter::{Check, Examination, Found, with_causes};
use unflake_engine::Interrupt;
use unflake_known::plural;

use crate::module::Module;
use crate::nondex::NonDex;
use crate::prepared::{COLLECT_MAX, Prepared};
use crate::project::Project;
use crate::project_error::ProjectError;
use crate::surroundings::Surroundings;
use crate::tracing::Tracing;

/// Looks at all of it.
pub(crate) fn examine(around: &Surroundings, interrupt: &Interrupt) -> Examination {
    match Project::find(around, interrupt) {
        Ok(project) => look_around(&project, around, interrupt),
        Err(error) => Examination { checks: not_built(&error), ..Examination::default() },
    }
}

fn not_built(error: &ProjectError) -> Vec<Check> {
    let hint = error.hint().unwrap_or("build it by itself to see more");
    let ProjectError::NoTests { left_out, log } = error else {
        return vec![Check::missing("build", with_causes(error), hint)];
    };
    let said = format!("{}\n{}", with_causes(error), log.trim_end());
    let mut checks = vec![Check::missing("build", said, hint)];
    checks.extend(left_out.iter().map(|it| left_out_check(&it.module, &it.why)));
    checks
}

fn left_out_check(module: &str, why: &str) -> Check {
    Check::missing("module", format!("{module}: {why}"), "it is left out, the others are run")
}

fn look_around(project: &Project, around: &Surroundings, interrupt: &Interrupt) -> Examination {
    let jdk = &project.jdk;
    let mut checks = vec![
        Check::ok("build", project.tool.command()),
        Check::ok("java", format!("{}, {}", jdk.version, jdk.home.display())),
    ];
    checks.extend(project.notes.iter().map(|note| Check::ok("note", note)));
    let mut places = BTreeMap::new();
    for module in &project.modules {
        let prepared = module.prepare(COLLECT_MAX, interrupt);
        let prepared = prepared.map_err(|error| with_causes(&error));
        checks.push(module_check(module, prepared.as_ref()));
        checks.extend(
            module.notes.iter().map(|note| Check::ok("note", format!("{}: {note}", module.name))),
        );
        if let Ok(prepared) = prepared {
            places.insert(module.name.clone(), prepared.ids().count());
        }
    }
    checks.extend(project.left_out.iter().map(|it| left_out_check(&it.module, &it.why)));
    checks.push(choices(project, around, interrupt));
    checks.push(functions(project, around, interrupt));
    let found = Found { runner: "junit".to_owned(), places };
    let suite = Some(found).filter(|found| 0 < found.n_tests());
    Examination { checks, suite, presets: Vec::new() }
}

fn module_check(module: &Module, prepared: Result<&Prepared, &String>) -> Check {
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(why) => return left_out_check(&module.name, why),
    };
    let n_tests = plural(prepared.ids().count() as u64, "test", "tests");
    let runners = module.runners().join(", ");
    let found = format!("{}: {n_tests}, {runners}", module.name);
    match prepared.ids().next() {
        Some(_) => Check::ok("module", found),
        None => Check::missing("module", found, "does your build tool find any?"),
    }
}

/// Whether tests can be found that rely on choices Java leaves open.
fn choices(project: &Project, around: &Surroundings, interrupt: &Interrupt) -> Check {
    match NonDex::find(project, &around.cache, interrupt) {
        Ok(_) => Check::ok("choices", "NonDex: tests that rely on open choices are looked for"),
        Err(error) => Check::missing(
            "choices",
            with_causes(&error),
            "tests that rely on open choices are not looked for; all others are",
        ),
    }
}

/// Whether it can be told which functions tests call.
fn functions(project: &Project, around: &Surroundings, interrupt: &Interrupt) -> Check {
    match Tracing::find(project, &around.cache, interrupt) {
        Ok(_) => Check::ok("functions", "those that tests call can be traced"),
        Err(error) => Check::missing(
            "functions",
            with_causes(&error),
            "`trace` cannot be used, and reruns do without; all else can",
        ),
    }
}
