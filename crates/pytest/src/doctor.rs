//! What there is to run the tests of a Python project with, and what is missing.

use std::path::Path;

use unflake_adapter::{Check, Examination, OpenError, Part as _, Preset, examine_engine};
use unflake_engine::{Interrupt, Limits};

use crate::interpreter::{ANOTHER, Interpreter, InterpreterSource, PYTHON};
use crate::project::Project;

/// Looks at all of it.
pub(crate) fn examine(
    project: Result<Project, OpenError>,
    limits: &Limits,
    interrupt: &Interrupt,
) -> Examination {
    let project = match project {
        Ok(project) => project,
        Err(error) => return Examination::not_opened("interpreter", &error),
    };
    let interpreter = &project.interpreter;
    let program = interpreter.program.display();
    let mut checks = vec![Check::ok("interpreter", format!("{program}, {}", interpreter.source))];
    let presets = vec![preset(&project)];
    checks.push(match interpreter.version(&project.current_dir, interrupt) {
        Ok(version) => match Interpreter::too_old(&version) {
            Some(why) => {
                checks.push(Check::missing("python", why, ANOTHER));
                return Examination { checks, suite: None, presets };
            }
            None => Check::ok("python", version),
        },
        Err(why) => Check::missing("python", why, ANOTHER),
    });
    let launch = project.launch(limits.clone());
    let suite = examine_engine(launch, &project.abilities(), interrupt, &mut checks);
    Examination { checks, suite, presets }
}

fn preset(project: &Project) -> Preset {
    let interpreter = &project.interpreter;
    let program = Path::new(&interpreter.program);
    let program = program.strip_prefix(&project.current_dir).unwrap_or(program);
    Preset {
        name: PYTHON,
        value: format!("{:?}", program.to_string_lossy()),
        is_chosen: interpreter.source == InterpreterSource::Named,
    }
}
