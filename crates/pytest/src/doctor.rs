//! What there is to run the tests of a Python project with, and what is missing.

use std::path::Path;

use unflake_adapter::{Check, Examination, OpenError, Preset, examine_engine};
use unflake_engine::{Interrupt, Limits};

use crate::adapter::{ANOTHER, PYTHON};
use crate::interpreter::{Interpreter, InterpreterSource};
use crate::project::Project;

/// Looks at all of it.
pub(crate) fn examine(
    project: Result<Project, OpenError>,
    limits: &Limits,
    interrupt: &Interrupt,
) -> Examination {
    let project = match project {
        Ok(project) => project,
        Err(error) => {
            let hint = match &error {
                OpenError::Refused { hint, .. } | OpenError::Broken { hint: Some(hint), .. } => {
                    hint.as_str()
                }
                OpenError::Broken { hint: None, .. } | OpenError::Stopped => "",
            };
            let checks = vec![Check::missing("interpreter", error.to_string(), hint)];
            return Examination { checks, ..Examination::default() };
        }
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
    let suite = examine_engine(project.launch(limits.clone()), interrupt, &mut checks);
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
