//! Which state the agent watches.

use unflake_model::StateKind;

/// The kinds of state that our agent in Python watches.
pub const STATE_KINDS: [StateKind; 25] = [
    StateKind::Global,
    StateKind::ClassAttribute,
    StateKind::DefaultArgument,
    StateKind::Closure,
    StateKind::Cache,
    StateKind::Modules,
    StateKind::Path,
    StateKind::Environment,
    StateKind::Cwd,
    StateKind::Umask,
    StateKind::Locale,
    StateKind::Timezone,
    StateKind::Logging,
    StateKind::Warnings,
    StateKind::Random,
    StateKind::Signal,
    StateKind::EventLoop,
    StateKind::Thread,
    StateKind::Process,
    StateKind::Descriptor,
    StateKind::Mock,
    StateKind::File,
    StateKind::Sqlite,
    StateKind::Tempfile,
    StateKind::Interpreter,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::time::Duration;
    use unflake_engine::Interrupt;
    use unflake_engine::process::{CommandLine, run_to_end};

    #[test]
    fn the_agent_watches_what_is_listed_here() {
        let python = std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let code = "from unflake_agent import watch; print('\\n'.join(watch.ALL))";
        let command = CommandLine {
            program: python,
            arguments: vec!["-c".into(), code.into()],
            current_dir: concat!(env!("CARGO_MANIFEST_DIR"), "/../../agents/python").into(),
            env: vec![("PYTHONDONTWRITEBYTECODE".into(), Some("1".into()))],
        };
        let finished = run_to_end(&command, Duration::from_mins(1), &Interrupt::default()).unwrap();
        assert_eq!(finished.exit.code, Some(0), "{}", finished.stderr);
        let told: BTreeSet<&str> = finished.stdout.lines().collect();
        assert_eq!(told, STATE_KINDS.iter().map(|kind| kind.slug()).collect());
    }
}
