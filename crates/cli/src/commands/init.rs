//! `unflake init`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use unflake_app::doctor::{Found, examine};
use unflake_engine::Interrupt;
use unflake_pytest::{InterpreterSource, Project};
use unflake_report::plural;

use crate::config::{NAME, SETTINGS, Setting};
use crate::exit::Failure;
use crate::running::{here, limits, n_processors, project, stop_on_ctrl_c};
use crate::subject::Typed;

/// Comments are wrapped at this width.
const WIDTH: usize = 80;

/// No test is run, so none can take long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Options of `unflake init`.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Overwrite a file that is there
    #[arg(long)]
    pub force: bool,

    /// The Python of the project [default: from `VIRTUAL_ENV`, `.venv`, `venv`, else `python3`]
    #[arg(long, value_name = "PROGRAM")]
    pub python: Option<OsString>,
}

/// Writes a commented file of settings into the folder we stand in.
pub(crate) fn run(args: &InitArgs) -> Result<(), Failure> {
    let folder = here()?;
    let file = folder.join(NAME);
    if file.exists() && !args.force {
        return Err(there_already(&file));
    }
    let interrupt = Interrupt::default().lasting();
    stop_on_ctrl_c(&interrupt);
    let project = project(folder, Typed { python: args.python.as_ref(), ..Typed::default() }).ok();
    let found = project.as_ref().and_then(|project| {
        examine(project, &limits(Vec::new(), TEST_TIMEOUT, 1), &interrupt).suite
    });
    if interrupt.is_raised() {
        // Whoever stops it does not want the file that it would have written.
        return Err(Failure::Stopped(format!("stopped before {NAME} was written")));
    }
    let surroundings = Around { project: project.as_ref(), found: found.as_ref() };
    write(&file, &surroundings.text(), args.force)?;
    let mut out = io::stdout().lock();
    writeln!(out, "wrote {NAME}: {}", surroundings.summary())?;
    if found.is_none() {
        writeln!(out, "`unflake doctor` says what is missing")?;
    }
    Ok(())
}

fn there_already(file: &Path) -> Failure {
    let message = format!("`{}` is there already", file.display());
    Failure::input(message, "say --force to overwrite it")
}

fn write(file: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    // Nothing that has appeared since we looked is lost.
    options.write(true).create(force).truncate(force).create_new(!force);
    match options.open(file) {
        Ok(mut open) => Ok(open.write_all(text.as_bytes())?),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(there_already(file)),
        Err(error) => {
            let message = format!("cannot write `{}`: {error}", file.display());
            Err(Failure::input(message, "stand in a folder that you may write to"))
        }
    }
}

/// What is known when a file is written.
struct Around<'a> {
    project: Option<&'a Project>,
    found: Option<&'a Found>,
}

impl Around<'_> {
    fn summary(&self) -> String {
        let Some(found) = self.found else { return "no tests were found".to_owned() };
        let n_tests = plural(found.n_tests() as u64, "test", "tests");
        let places: Vec<&str> = found.places.keys().map(String::as_str).collect();
        format!("{} runs {n_tests} in {}", found.runner, places.join(", "))
    }

    fn text(&self) -> String {
        let head = format!(
            "Settings of unflake for this project. Each stands here with what is taken without \
             it, or with an example; remove the # before it to change it. What is typed on the \
             command line goes first. When this was written: {}.",
            self.summary()
        );
        let mut text = comment(&head);
        let mut command = None;
        for setting in &SETTINGS {
            let value = self.value(setting);
            let sign = if self.is_settled(setting) { "" } else { "# " };
            if setting.command != command {
                command = setting.command;
                text.extend(command.map(|command| format!("\n[{command}]\n")));
            }
            let example = if setting.is_example && !sign.is_empty() { " For example:" } else { "" };
            let why = comment(&format!("{}{example}", setting.why));
            let _ = write!(text, "\n{why}{sign}{} = {value}\n", setting.key);
        }
        text
    }

    /// Whether the user has said it already.
    fn is_settled(&self, setting: &Setting) -> bool {
        let source = self.project.map(|project| &project.interpreter.source);
        setting.key == "python" && source == Some(&InterpreterSource::Named)
    }

    /// What is taken without a setting, or what it might be.
    fn value(&self, setting: &Setting) -> String {
        let quoted = |text: &str| format!("{text:?}");
        match (setting.key, self.project, self.found) {
            ("python", Some(project), _) => {
                let program = Path::new(&project.interpreter.program);
                let program = program.strip_prefix(&project.current_dir).unwrap_or(program);
                quoted(&program.to_string_lossy())
            }
            ("paths", _, Some(found)) => {
                let places: Vec<String> = found.places.keys().map(|place| quoted(place)).collect();
                format!("[{}]", places.join(", "))
            }
            ("jobs", ..) => n_processors().to_string(),
            _ => setting.default.to_owned(),
        }
    }
}

/// Prose behind `# `, wrapped.
fn comment(prose: &str) -> String {
    let mut text = String::new();
    let mut line = String::from("#");
    for word in prose.split(' ') {
        if WIDTH < line.chars().count() + 1 + word.chars().count() {
            let _ = writeln!(text, "{line}");
            line = String::from("#");
        }
        let _ = write!(line, " {word}");
    }
    let _ = writeln!(text, "{line}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_anything_found_the_file_is_the_settings_and_nothing_else() {
        let text = Around { project: None, found: None }.text();
        let with_jobs = text.replace(&format!("# jobs = {}", n_processors()), "# jobs = 2");
        insta::assert_snapshot!("unflake_toml", with_jobs);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
