//! `unflake init`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use unflake_adapter::{Examination, OwnOptions, Preset};
use unflake_engine::Interrupt;
use unflake_report::plural;

use crate::config::{Config, NAME, Setting, settings};
use crate::exit::Failure;
use crate::opened::Typed;
use crate::own_args::{OwnArgs, own_options};
use crate::running::{here, limits, n_processors, stop_on_ctrl_c};

/// Comments are wrapped at this width.
const WIDTH: usize = 80;

/// No test is run, so none can take long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Options of `unflake init`.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Overwrite a file that is there; `[runner]` in it is kept
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
    let kept = Kept::of(&file)?;
    let own = &kept.under(&args.own.0, &file);
    let typed = Typed { runner: None, own, paths: &[], options: &[], seed: None };
    let limits = limits(Vec::new(), TEST_TIMEOUT, 1);
    let examination = typed.adapter()?.examine(&typed.opening(folder, &interrupt), &limits);
    if interrupt.is_raised() {
        // Whoever stops it does not want the file that it would have written.
        return Err(Failure::Stopped(format!("stopped before {NAME} was written")));
    }
    let surroundings = Around(&examination, &kept);
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

/// Tables of adapters in the file that is overwritten: nobody but its user knows how tests are run.
#[derive(Debug, Default)]
struct Kept(BTreeMap<&'static str, String>);

impl Kept {
    fn of(file: &Path) -> Result<Self, Failure> {
        // A file that is not there, or is no text, has none.
        let text = fs::read_to_string(file).unwrap_or_default();
        let mut kept = BTreeMap::new();
        for table in own_options().filter_map(|option| option.table) {
            if let Some(section) = section(&text, table) {
                kept.insert(table, section);
            } else if toml::de::DeTable::parse(&text)
                .is_ok_and(|it| it.get_ref().contains_key(table))
            {
                let message = format!("`{table}` in `{}` is no table of its own", file.display());
                let hint = format!("write it below a line `[{table}]`, so that it can be kept");
                return Err(Failure::input(message, hint));
            }
        }
        Ok(Self(kept))
    }

    /// What is typed, and where nothing is, what the tables say. One that makes no sense says
    /// nothing: that is told when a command needs it.
    fn under(&self, typed: &OwnOptions, file: &Path) -> OwnOptions {
        let text = self.0.values().cloned().collect::<Vec<_>>().join("\n");
        let folder = file.parent().unwrap_or(file);
        let written = Config::parse(file.to_owned(), &text, folder).map(|config| config.own());
        let mut own = written.unwrap_or_default();
        for option in own_options() {
            let values = typed.all(option.name);
            if !values.is_empty() {
                own.set(option.name, values.to_vec());
            }
        }
        own
    }
}

/// The lines of a table with its head, if it says anything.
fn section(text: &str, table: &str) -> Option<String> {
    let head = |line: &str| Some(line.trim().strip_prefix('[')?.split_once(']')?.0.trim() == table);
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| head(line) != Some(true))
        .enumerate()
        .take_while(|(number, line)| *number == 0 || !line.starts_with('['))
        .map(|(_, line)| line)
        .collect();
    let is_said = |line: &&&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let n_said = lines.iter().filter(is_said).count();
    (1 < n_said).then(|| lines.join("\n").trim_end().to_owned())
}

/// What is known when a file is written, and what is kept of the one that was there.
struct Around<'a>(&'a Examination, &'a Kept);

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
                text.extend(command.map(|command| match self.1.0.get(command) {
                    Some(section) => format!("\n{section}\n"),
                    None => format!("\n[{command}]\n"),
                }));
            }
            if command.is_some_and(|command| self.1.0.contains_key(command)) {
                continue;
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
        let text = Around(&Examination::default(), &Kept::default()).text();
        let with_jobs = text.replace(&format!("# jobs = {}", n_processors()), "# jobs = 2");
        insta::assert_snapshot!("unflake_toml", with_jobs);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn a_table_is_kept_to_the_letter_if_it_says_anything() {
        let table = "[runner]\nkind = \"command\"\n\n# Why.\nlist = [\n  \"./t\",\n]";
        let text = format!("jobs = 3\n{table}\n\n[lint]\nallow = []\n");
        assert_eq!(section(&text, "runner"), Some(table.to_owned()));
        assert_eq!(section(&text, "trace"), None);
        assert_eq!(section("[runner]\n# kind = \"command\"\n\n[lint]\n", "runner"), None);
        let kept = Kept(BTreeMap::from([("runner", table.to_owned())]));
        let text = Around(&Examination::default(), &kept).text();
        assert_eq!(text.matches("[runner]").count(), 1);
        assert!(text.contains(table) && !text.contains("# kind ="), "{text}");
    }
}
