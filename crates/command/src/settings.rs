//! `[runner]`: what a project says about its runner.
//!
//! [`Row`] is the table as it stands in `unflake.toml`, and as it is handed to the agent;
//! [`Settings`] is what has been checked. Everything that can be known to be wrong is said here, in
//! the words of the file, before anything is run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::template::{BadTemplate, IdPattern, LinePattern, Template};

/// The table `[runner]` with `kind = "command"`, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Row {
    /// `command`. Which runner it is was decided before the table is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Prints one test a line.
    pub list: Vec<String>,
    /// Runs tests.
    pub run: Vec<String>,
    /// What it reports in: `junit`, `tap`, `ctrf` or `exit`.
    pub report: String,
    /// Where the report lands, if the command is not told by `{report}`; its standard output
    /// without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_file: Option<String>,
    /// How an id is made of a test case in the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What becomes of the order in which tests are named: `kept`, `class` or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// What to run before each run, so that state outside of it is as at first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reset: Vec<String>,
    /// Variables of the environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The folder in which commands are run, seen from that of `unflake.toml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Which lines of `list` are tests, such as `{id}: test`; all of them without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<String>,
    /// The line that `run` writes when a test begins, such as `=== RUN   {id}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<String>,
    /// What stands between class and test in an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Whether a test that is named twice is run twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeats: bool,
}

/// What a command reports in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JUnit XML.
    Junit,
    /// Test Anything Protocol, version 13 or 14.
    Tap,
    /// Common Test Report Format, a JSON file.
    Ctrf,
    /// Its exit code: it is started for each test anew.
    Exit,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Junit, Self::Tap, Self::Ctrf, Self::Exit];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Junit => "junit",
            Self::Tap => "tap",
            Self::Ctrf => "ctrf",
            Self::Exit => "exit",
        }
    }
}

/// What becomes of the order in which tests are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// They run in that order.
    Exactly,
    /// The tests of a class run together, classes and their tests in that order.
    ByClass,
    /// They run in the order in which `list` prints them, whatever order they are named in.
    NotAtAll,
}

impl Kept {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Exactly, Self::ByClass, Self::NotAtAll];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exactly => "kept",
            Self::ByClass => "class",
            Self::NotAtAll => "none",
        }
    }
}

/// Where the report of a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where the command was told to write it.
    Told,
    /// Where it always writes it, seen from its folder.
    File(String),
    /// In its standard output.
    Stdout,
}

/// Settings that make sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// As they were written.
    pub row: Row,
    /// What the command reports in.
    pub report: Format,
    /// What becomes of an order.
    pub order: Kept,
    pub(crate) run: Template,
    pub(crate) place: Place,
    pub(crate) id: Option<IdPattern>,
    pub(crate) lines: LinePattern,
    pub(crate) starts: Option<LinePattern>,
}

/// Why settings make no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    /// A command has no program.
    #[error("`{key}` of the runner names no program")]
    NoProgram {
        /// The key.
        key: &'static str,
    },
    /// Not one of the words that there are.
    #[error("`{key}` of the runner cannot be `{value}`")]
    NoSuchWord {
        /// The key.
        key: &'static str,
        /// What it was set to.
        value: String,
        /// What it can be.
        known: String,
    },
    /// The command cannot be told which tests to run.
    #[error("`run` of the runner does not say where the tests go")]
    NoTests,
    /// A setting says nothing beside another one.
    #[error("`{key}` of the runner has no meaning {beside}")]
    Meaningless {
        /// The key.
        key: &'static str,
        /// What makes it meaningless.
        beside: &'static str,
    },
    /// A text that no file and no command line can hold.
    #[error("`{key}` of the runner has a zero byte in it")]
    ZeroByte {
        /// The key.
        key: &'static str,
    },
    /// Placeholders make no sense.
    #[error("`{key}` of the runner: {source}")]
    Template {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        source: BadTemplate,
    },
}

impl BadSettings {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoProgram { key } => {
                format!("write program and arguments as a list: {key} = [\"./t\", \"…\"]")
            }
            Self::NoSuchWord { known, .. } => format!("it can be {known}"),
            Self::NoTests => "put `{tests}` (an argument each), `{tests:,}` (all in one, with a \
                              comma between), `{regex:|}` or `{list}` (a file, one a line) into it"
                .to_owned(),
            Self::Meaningless { .. } => "leave one of the two out".to_owned(),
            Self::ZeroByte { .. } => "remove it".to_owned(),
            Self::Template { source, .. } => source.hint().to_owned(),
        }
    }
}

fn word<T: Copy>(
    key: &'static str,
    value: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, BadSettings> {
    all.iter().copied().find(|it| name(*it) == value).ok_or_else(|| {
        let known: Vec<String> = all.iter().map(|it| format!("\"{}\"", name(*it))).collect();
        BadSettings::NoSuchWord { key, value: value.to_owned(), known: known.join(", ") }
    })
}

fn command<'a>(
    key: &'static str,
    words: &'a [String],
) -> Result<(&'a str, &'a [String]), BadSettings> {
    let (program, arguments) = words.split_first().ok_or(BadSettings::NoProgram { key })?;
    if program.is_empty() {
        return Err(BadSettings::NoProgram { key });
    }
    if words.iter().any(|word| word.contains('\0')) {
        return Err(BadSettings::ZeroByte { key });
    }
    Ok((program, arguments))
}

impl Settings {
    /// Checks a table.
    pub fn new(row: Row) -> Result<Self, BadSettings> {
        let at = |key| move |source| BadSettings::Template { key, source };
        let report = word("report", &row.report, &Format::ALL, Format::as_str)?;
        let order = row.order.as_deref().unwrap_or(Kept::Exactly.as_str());
        let order = word("order", order, &Kept::ALL, Kept::as_str)?;
        command("list", &row.list)?;
        if !row.reset.is_empty() {
            command("reset", &row.reset)?;
        }
        let (program, arguments) = command("run", &row.run)?;
        let run = Template::parse(program, arguments).map_err(at("run"))?;
        if !run.names_tests() {
            return Err(BadSettings::NoTests);
        }
        let id = row.id.as_deref().map(IdPattern::parse).transpose().map_err(at("id"))?;
        let starts =
            row.starts.as_deref().map(LinePattern::parse).transpose().map_err(at("starts"))?;
        let lines = row.lines.as_deref().unwrap_or("{id}");
        let lines = LinePattern::parse(lines).map_err(at("lines"))?;
        let place = place(&row, &run, report)?;
        if row.repeats && report == Format::Exit {
            let beside = "with `report = \"exit\"`, which gives each test its own process";
            return Err(BadSettings::Meaningless { key: "repeats", beside });
        }
        Ok(Self { row, report, order, run, place, id, lines, starts })
    }

    /// What stands between class and name in an id, if that is said: by `class`, or by `id`.
    pub(crate) fn between(&self) -> Option<&str> {
        let of_pattern = || self.id.as_ref().and_then(IdPattern::between);
        self.row.class.as_deref().or_else(of_pattern)
    }
}

fn place(row: &Row, run: &Template, report: Format) -> Result<Place, BadSettings> {
    let meaningless = |key, beside| Err(BadSettings::Meaningless { key, beside });
    let by_exit = "with `report = \"exit\"`, which reads no file";
    match (&row.report_file, run.names_report()) {
        (Some(_), _) if report == Format::Exit => meaningless("report-file", by_exit),
        (_, true) if report == Format::Exit => meaningless("{report} in run", by_exit),
        (Some(_), true) => meaningless("report-file", "where `run` is told `{report}`"),
        (Some(file), false) => Ok(Place::File(file.clone())),
        (None, true) => Ok(Place::Told),
        (None, false) => Ok(Place::Stdout),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(run: &[&str], report: &str) -> Row {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Row { list: words(&["t", "-l"]), run: words(run), report: report.into(), ..Row::default() }
    }

    #[test]
    fn the_report_is_where_the_command_is_told_to_write_it_or_else_its_output() {
        let place = |row| Settings::new(row).unwrap().place;
        assert_eq!(place(row(&["t", "{report}", "{tests}"], "junit")), Place::Told);
        assert_eq!(place(row(&["t", "{tests}"], "tap")), Place::Stdout);
        let mut fixed = row(&["t", "{tests}"], "ctrf");
        fixed.report_file = Some("out.json".to_owned());
        assert_eq!(place(fixed), Place::File("out.json".to_owned()));
    }

    #[test]
    fn each_mistake_has_its_own_words_and_a_hint() {
        let check = |row: Row, said: &str| {
            let error = Settings::new(row).unwrap_err();
            assert_eq!(error.to_string(), said);
            assert!(!error.hint().is_empty());
        };
        check(row(&["t"], "junit"), "`run` of the runner does not say where the tests go");
        check(row(&[], "junit"), "`run` of the runner names no program");
        check(row(&["t", "{tests}"], "xml"), "`report` of the runner cannot be `xml`");
        check(
            Row { repeats: true, ..row(&["t", "{tests}"], "exit") },
            "`repeats` of the runner has no meaning with `report = \"exit\"`, which gives each test \
             its own process",
        );
        check(
            row(&["t", "{test}"], "tap"),
            "`run` of the runner: `{test}` in `{test}` is no placeholder",
        );
        let both =
            Row { report_file: Some("r".into()), ..row(&["{tests}", "{report}{list}"], "tap") };
        check(both, "`report-file` of the runner has no meaning where `run` is told `{report}`");
        let order = Row { order: Some("random".into()), ..row(&["t", "{tests}"], "tap") };
        check(order.clone(), "`order` of the runner cannot be `random`");
        let hint = Settings::new(order).unwrap_err().hint();
        assert_eq!(hint, "it can be \"kept\", \"class\", \"none\"");
        let by_exit = row(&["t", "{report}", "{tests}"], "exit");
        check(
            by_exit,
            "`{report} in run` of the runner has no meaning with `report = \"exit\"`, which reads no file",
        );
    }

    #[test]
    fn keys_are_those_of_the_file_and_unknown_ones_are_refused() {
        let text = r#"{"kind": "command", "list": ["t"], "run": ["t", "{tests}"], "report": "tap",
            "report-file": "r.tap", "env": {"A": "b"}, "repeats": true}"#;
        let row: Row = serde_json::from_str(text).unwrap();
        assert_eq!((row.report_file.as_deref(), row.repeats), (Some("r.tap"), true));
        let again: Row = serde_json::from_str(&serde_json::to_string(&row).unwrap()).unwrap();
        assert_eq!(again, row);
        let error = serde_json::from_str::<Row>(r#"{"ids": 1}"#).unwrap_err().to_string();
        assert!(error.contains("unknown field `ids`"), "{error}");
    }
}
