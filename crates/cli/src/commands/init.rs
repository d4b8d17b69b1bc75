//! `unflake init`.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use unflake_adapter::{Examination, Preset};
use unflake_engine::Interrupt;
use unflake_report::plural;

use crate::config::{NAME, Setting, settings};
use crate::exit::Failure;
use crate::opened::Typed;
use crate::own_args::OwnArgs;
use crate::running::{here, limits, n_processors, stop_on_ctrl_c};

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

    #[command(flatten)]
    pub own: OwnArgs,
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
    let own = &args.own.0;
    let typed = Typed { runner: None, own, paths: &[], options: &[], seed: None };
    let limits = limits(Vec::new(), TEST_TIMEOUT, 1);
    let examination = typed.adapter()?.examine(&typed.opening(folder, &interrupt), &limits);
    if interrupt.is_raised() {
        // Whoever stops it does not want the file that it would have written.
        return Err(Failure::Stopped(format!("stopped before {NAME} was written")));
    }
    let surroundings = Around(&examination);
    write(&file, &surroundings.text(), args.force)?;
    let mut out = io::stdout().lock();
    writeln!(out, "wrote {NAME}: {}", surroundings.summary())?;
    if examination.suite.is_none() {
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
struct Around<'a>(&'a Examination);

impl Around<'_> {
    fn summary(&self) -> String {
        let Some(found) = &self.0.suite else { return "no tests were found".to_owned() };
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
        for setting in settings() {
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
        self.preset(setting).is_some_and(|preset| preset.is_chosen)
    }

    fn preset(&self, setting: &Setting) -> Option<&Preset> {
        self.0.presets.iter().find(|preset| preset.name == setting.key)
    }

    /// What is taken without a setting, or what it might be.
    fn value(&self, setting: &Setting) -> String {
        let quoted = |text: &str| format!("{text:?}");
        if let Some(preset) = self.preset(setting) {
            return preset.value.clone();
        }
        match (setting.key, &self.0.suite) {
            ("paths", Some(found)) => {
                let places: Vec<String> = found.places.keys().map(|place| quoted(place)).collect();
                format!("[{}]", places.join(", "))
            }
            ("jobs", _) => n_processors().to_string(),
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
        let text = Around(&Examination::default()).text();
        let with_jobs = text.replace(&format!("# jobs = {}", n_processors()), "# jobs = 2");
        insta::assert_snapshot!("unflake_toml", with_jobs);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
