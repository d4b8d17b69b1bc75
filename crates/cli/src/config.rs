//! `unflake.toml`: what a project always wants, so that nobody has to type it.
//!
//! A file is nothing but other defaults for options: each of its keys is the name of an option, and
//! [`Config::as_defaults`] puts its values where the built-in defaults stood. So what is typed goes
//! first without a word about it anywhere, and a command that has no such option is not concerned.
//!
//! What stands below the name of a command, such as `[lint]`, is for that command alone.
//!
//! Nothing is ignored: a key nobody knows and a value that makes no sense are errors with their
//! place. To add a key: a line in `SETTINGS`, or an option of an adapter; `unflake init` writes it
//! too.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::ValueEnum;
use toml::de::{DeString, DeTable, DeValue};
use unflake_adapter::{OwnOption, OwnOptions, OwnValue};
use unflake_model::Confidence;

use crate::exit::Failure;
use crate::isolation::IsolationArg;
use crate::own_args::own_options;
use crate::screen::ColorArg;
use crate::search_args::DepthArg;
use crate::suite_file::place;
use crate::typed_values::{flake_rate, time_limit};

/// The name of the file.
pub(crate) const NAME: &str = "unflake.toml";

/// One thing that a project can settle.
pub(crate) struct Setting {
    /// The only command it is for, or the table of an adapter, under whose name it stands in the
    /// file.
    pub(crate) command: Option<&'static str>,
    /// The name of the option, and the key in the file.
    pub(crate) key: &'static str,
    /// What is taken otherwise, or an example, as it stands in a file.
    pub(crate) default: &'static str,
    /// Whether that is an example only.
    pub(crate) is_example: bool,
    /// Why one would change it.
    pub(crate) why: &'static str,
    kind: Kind,
    check: fn(&str) -> Result<(), String>,
    /// The option of an adapter, if it is one.
    own: Option<&'static OwnOption>,
}

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Switch,
    /// A path, seen from the folder of the file.
    Path,
    Texts,
    /// Paths, seen from the folder of the file.
    Paths,
}

impl Kind {
    fn description(self) -> &'static str {
        match self {
            Self::Text | Self::Path => "a text in quotes",
            Self::Number => "a number",
            Self::Switch => "true or false",
            Self::Texts | Self::Paths => "a list of texts",
        }
    }
}

/// All of them: first those that only one adapter knows, then the rest in the order in which people
/// ask for them.
pub(crate) fn settings() -> &'static [Setting] {
    static ALL: LazyLock<Vec<Setting>> = LazyLock::new(|| {
        let mut all: Vec<Setting> = own_options().map(Setting::own).chain(SETTINGS).collect();
        // What stands below a heading of the file comes after all that does not.
        all.sort_by_key(|setting| setting.command.is_some());
        all
    });
    &ALL
}

/// Those that every project has.
const SETTINGS: [Setting; 15] = [
    Setting {
        command: None,
        key: "paths",
        default: "[]",
        is_example: false,
        why: "What `detect`, `run`, `study`, `lint`, `trace` and `doctor` look at: files, folders \
              or tests, as the runner takes them. Name those worth it when the whole suite takes \
              too long.",
        kind: Kind::Paths,
        check: |_| Ok(()),
        own: None,
    },
    Setting {
        command: None,
        key: "options",
        default: "[]",
        is_example: false,
        why: "Options that the runner needs every time, such as [\"-m\", \"not slow\"].",
        kind: Kind::Texts,
        check: |_| Ok(()),
        own: None,
    },
    Setting {
        command: None,
        key: "time",
        default: "\"5m\"",
        is_example: true,
        why: "Stop looking after this long. There is no limit unless it is set: looking ends when \
              answers are as sure as asked for, however long that takes. Set it where somebody \
              waits.",
        kind: Kind::Text,
        check: |text| time_limit(text).map(drop),
        own: None,
    },
    Setting {
        command: None,
        key: "runs",
        default: "1000",
        is_example: true,
        why: "Stop looking after this many runs. There is no limit unless it is set. Unlike time, \
              it gives the same effort on every machine.",
        kind: Kind::Number,
        check: positive,
        own: None,
    },
    Setting {
        command: None,
        key: "confidence",
        default: "0.95",
        is_example: false,
        why: "How sure answers must be. More costs more runs.",
        kind: Kind::Number,
        check: |text| Confidence::new(number(text)?).map(drop).map_err(|error| error.to_string()),
        own: None,
    },
    Setting {
        command: None,
        key: "flake-rate",
        default: "0.05",
        is_example: false,
        why: "Find tests that fail in at least this share of all orders. Rarer ones take more \
              orders to be seen.",
        kind: Kind::Number,
        check: |text| flake_rate(number(text)?).map(drop),
        own: None,
    },
    Setting {
        command: None,
        key: "depth",
        default: "\"roles\"",
        is_example: false,
        why: "How much to find out about each flaky test: \"kind\" alone, its \"roles\" \
              (polluters, cleaners, state-setters), or roles by an \"exhaustive\" search (\"one-by-one\": each \
              question in a process of its own).",
        kind: Kind::Text,
        check: one_of::<DepthArg>,
        own: None,
    },
    Setting {
        command: None,
        key: "jobs",
        default: "2",
        is_example: false,
        why: "How many runs at once; without it, as many as there are processors (`shake`: 1). \
              Set 1 where tests share something that cannot be isolated.",
        kind: Kind::Number,
        check: positive,
        own: None,
    },
    Setting {
        command: None,
        key: "timeout",
        default: "\"60s\"",
        is_example: false,
        why: "How long one test may take before it is stopped. Set it above the slowest test.",
        kind: Kind::Text,
        check: |text| time_limit(text).map(drop),
        own: None,
    },
    Setting {
        command: None,
        key: "isolation",
        default: "\"all\"",
        is_example: false,
        why: "How far to keep runs apart: \"all\", \"no-net\" where tests need the network, \
              \"none\" where they need to see each other's files. Without it, `triage` takes \
              \"no-net\"; `run` heeds only its own option, and is not kept apart without.",
        kind: Kind::Text,
        check: one_of::<IsolationArg>,
        own: None,
    },
    Setting {
        command: None,
        key: "store",
        default: "\".unflake/history.sqlite\"",
        is_example: true,
        why: "The file of the history. Without it, one below XDG_STATE_HOME is taken, outside of \
              the project; name one to share it.",
        kind: Kind::Path,
        check: |_| Ok(()),
        own: None,
    },
    Setting {
        command: None,
        key: "show-secrets",
        default: "false",
        is_example: false,
        why: "Show values that look like secrets (by the name of a variable, or by their looks) \
              in reports, instead of ***. The history never has them.",
        kind: Kind::Switch,
        check: |_| Ok(()),
        own: None,
    },
    Setting {
        command: None,
        key: "color",
        default: "\"auto\"",
        is_example: false,
        why: "When to send colours: \"auto\" to terminals that want them (NO_COLOR and FORCE_COLOR \
              are heeded), \"always\", or \"never\".",
        kind: Kind::Text,
        check: one_of::<ColorArg>,
        own: None,
    },
    Setting {
        command: Some("trace"),
        key: "functions",
        default: "\"functions.toml\"",
        is_example: true,
        why: "The functions that make a test worth running again, as `unflake learn` writes them. \
              Without it, those known to be random, slow or far away are taken.",
        kind: Kind::Path,
        check: |_| Ok(()),
        own: None,
    },
    Setting {
        command: Some("lint"),
        key: "allow",
        default: "[]",
        is_example: false,
        why: "What tests are meant to leave behind: places such as \"shop.cache.*\", kinds of \
              state such as \"kind:logging\", or either for some tests only, \
              \"tests/test_a.py::*: os.environ['X']\".",
        kind: Kind::Texts,
        check: |_| Ok(()),
        own: None,
    },
];

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn positive(text: &str) -> Result<(), String> {
    match text.parse::<u64>() {
        Ok(0) | Err(_) => Err(format!("`{text}` is no whole number above 0")),
        Ok(_) => Ok(()),
    }
}

fn one_of<T: ValueEnum>(text: &str) -> Result<(), String> {
    let names = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let names: Vec<String> = names.map(|name| format!("`{}`", name.get_name())).collect();
    let known = names.contains(&format!("`{text}`"));
    if known { Ok(()) } else { Err(format!("`{text}` is none of {}", names.join(", "))) }
}

/// What a project has settled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// Where it stands.
    pub(crate) file: PathBuf,
    values: Vec<(&'static Setting, Vec<OsString>)>,
}

/// Why a file settles nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Something at this place makes no sense.
    #[error("`{}`, line {line}: {reason}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
        /// What to do about it.
        hint: String,
    },
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let hint = match &error {
            ConfigError::Read { .. } => "make it readable, or move it away".to_owned(),
            ConfigError::Malformed { hint, .. } => hint.clone(),
        };
        Self::input(error.to_string(), hint)
    }
}

impl Config {
    /// What the project that we stand in has settled, if anything.
    pub(crate) fn of_project(current_dir: &Path) -> Result<Option<Self>, ConfigError> {
        let Some(file) = find(current_dir) else { return Ok(None) };
        let text = fs::read_to_string(&file)
            .map_err(|source| ConfigError::Read { file: file.clone(), source })?;
        Self::parse(file, &text, current_dir).map(Some)
    }

    pub(crate) fn parse(
        file: PathBuf,
        text: &str,
        current_dir: &Path,
    ) -> Result<Self, ConfigError> {
        let malformed = |span: Range<usize>, (reason, hint): (String, String)| {
            let (line, _) = place(text, span.start);
            ConfigError::Malformed { file: file.clone(), line, reason, hint }
        };
        let table = DeTable::parse(text).map_err(|error| {
            let hint = "`unflake init --force` writes a file that can be read".to_owned();
            malformed(error.span().unwrap_or_default(), (error.message().to_owned(), hint))
        })?;
        let folder = file.parent().unwrap_or(current_dir);
        let mut values = Vec::new();
        for (command, key, value) in entries(table.get_ref()) {
            let setting =
                known(command, key.get_ref()).map_err(|error| malformed(key.span(), error))?;
            let texts = read(setting, value.get_ref(), &text[value.span()])
                .map_err(|error| malformed(value.span(), error))?;
            let seen_from_here = |text: String| match setting.kind {
                Kind::Path | Kind::Paths => from_here(&text, folder, current_dir),
                Kind::Text | Kind::Number | Kind::Switch | Kind::Texts => text.into(),
            };
            values.push((setting, texts.into_iter().map(seen_from_here).collect()));
        }
        Ok(Self { file, values })
    }

    /// Whether a command has an option of these.
    pub(crate) fn concerns(command: &clap::Command) -> bool {
        let name = command.get_name();
        command.get_arguments().any(|option| settings().iter().any(|s| s.is_about(name, option)))
    }

    /// Those that adapters have asked for.
    pub(crate) fn own(&self) -> OwnOptions {
        let mut own = OwnOptions::default();
        for (setting, texts) in &self.values {
            if let Some(option) = setting.own {
                own.set(option.name, texts.clone());
            }
        }
        own
    }

    /// The same without one of them.
    pub(crate) fn without(mut self, key: &str) -> Self {
        self.values.retain(|(setting, _)| setting.key != key);
        self
    }

    /// The same commands, with these values where their defaults stood.
    pub(crate) fn as_defaults(&self, command: clap::Command) -> clap::Command {
        let settle = |name: &str, option: clap::Arg| match self
            .values
            .iter()
            .find(|(setting, _)| setting.is_about(name, &option))
        {
            Some((_, texts)) => option.default_values(texts.clone()),
            None => option,
        };
        // Options of all commands stand with none of them.
        let command = command.mut_args(|option| settle("", option));
        command.mut_subcommands(|command| {
            let name = command.get_name().to_owned();
            command.mut_args(|option| settle(&name, option))
        })
    }
}

/// `run` isolates only where somebody asks for it.
const OTHERS: [(&str, &str); 1] = [("run", "isolation")];

impl Setting {
    /// An option of an adapter.
    fn own(option: &'static OwnOption) -> Self {
        Self {
            command: option.table,
            key: option.name,
            default: option.example,
            is_example: true,
            why: option.why,
            kind: match option.value {
                OwnValue::Text => Kind::Text,
                OwnValue::Path => Kind::Path,
                OwnValue::Texts | OwnValue::Variables => Kind::Texts,
                OwnValue::Switch => Kind::Switch,
            },
            check: |_| Ok(()),
            own: Some(option),
        }
    }

    fn is_about(&self, command: &str, option: &clap::Arg) -> bool {
        if let Some(own) = self.own {
            return option.get_id().as_str() == own.typed() && concerns_own(command, own.value);
        }
        option.get_id().as_str() == self.key.replace('-', "_")
            && self.command.is_none_or(|only| only == command)
            && !OTHERS.contains(&(command, self.key))
    }
}

/// Whether what an adapter needs has the same meaning to a command as to `detect`: `init` writes
/// the file, and a replay is as the run was, as far as that is kept.
fn concerns_own(command: &str, value: OwnValue) -> bool {
    match command {
        "init" => false,
        "replay" => value == OwnValue::Variables,
        _ => true,
    }
}

/// Settings are few and known before the program starts, so which one it is says everything.
impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        (self.command, self.key) == (other.command, other.key)
    }
}

impl Eq for Setting {}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.key)
    }
}

/// Keys with their values, those below the name of a command with that name.
fn entries<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(Option<&'t str>, &'t toml::Spanned<DeString<'i>>, &'t toml::Spanned<DeValue<'i>>)> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        let is_command = settings().iter().any(|setting| setting.command == Some(name));
        match value.get_ref() {
            DeValue::Table(inner) if is_command => {
                entries.extend(inner.iter().map(|(key, value)| (Some(name), key, value)));
            }
            _ => entries.push((None, key, value)),
        }
    }
    entries
}

/// In this folder or one above it, up to the top of the repository.
fn find(current_dir: &Path) -> Option<PathBuf> {
    let folders = unflake_adapter::folders_of_project(current_dir);
    folders.map(|folder| folder.join(NAME)).find(|file| file.exists())
}

fn known(command: Option<&str>, key: &str) -> Result<&'static Setting, (String, String)> {
    let of_command = || settings().iter().filter(|setting| setting.command == command);
    of_command().find(|setting| setting.key == key).ok_or_else(|| {
        let keys: Vec<&str> = of_command().map(|setting| setting.key).collect();
        (format!("nobody knows the key `{key}`"), format!("there are {}", keys.join(", ")))
    })
}

/// The texts of a value, as they would be typed.
fn read(
    setting: &Setting,
    value: &DeValue<'_>,
    written: &str,
) -> Result<Vec<String>, (String, String)> {
    let texts = match (setting.kind, value) {
        (Kind::Text | Kind::Path, DeValue::String(text)) => Some(vec![text.to_string()]),
        (Kind::Switch, DeValue::Boolean(is_on)) => Some(vec![is_on.to_string()]),
        (Kind::Number, DeValue::Integer(_) | DeValue::Float(_)) => {
            Some(vec![written.replace('_', "")])
        }
        (Kind::Texts | Kind::Paths, DeValue::Array(parts)) => {
            let text = |part: &toml::Spanned<DeValue<'_>>| match part.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                _ => None,
            };
            parts.iter().map(text).collect()
        }
        _ => None,
    };
    let hint = || {
        let what = if setting.is_example { "write, for example," } else { "the default is" };
        format!("{what} `{} = {}`", setting.key, setting.default)
    };
    let texts = texts.ok_or_else(|| {
        let wanted = setting.kind.description();
        (format!("`{}` must be {wanted}, not `{written}`", setting.key), hint())
    })?;
    for text in &texts {
        (setting.check)(text).map_err(|reason| (format!("`{}`: {reason}", setting.key), hint()))?;
    }
    Ok(texts)
}

/// A path seen from a folder, as it is seen from another. What is not there is no path, but a
/// module or a program.
fn from_here(text: &str, folder: &Path, current_dir: &Path) -> OsString {
    let file = text.split("::").next().unwrap_or(text);
    let is_seen = folder == current_dir || Path::new(text).is_absolute();
    let is_path = file.contains('/') || folder.join(file).exists();
    if is_seen || !is_path { text.into() } else { folder.join(text).into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::CommandFactory as _;

    fn parse(text: &str) -> Result<Config, String> {
        let (file, folder) = (Path::new("/p").join(NAME), Path::new("/p"));
        Config::parse(file, text, folder).map_err(|error| match error {
            ConfigError::Malformed { ref hint, .. } => format!("{error}; {hint}"),
            ConfigError::Read { .. } => error.to_string(),
        })
    }

    #[test]
    fn every_setting_is_an_option_of_detect_and_its_default_can_be_read() {
        let commands = Args::command();
        for setting in &SETTINGS {
            let name = setting.command.unwrap_or("detect");
            let command = commands.find_subcommand(name).unwrap();
            let mut options = command.get_arguments().chain(commands.get_arguments());
            let option = options.find(|option| setting.is_about(name, option));
            let option = option.unwrap_or_else(|| panic!("no option {}", setting.key));
            let header = setting.command.map(|name| format!("[{name}]\n")).unwrap_or_default();
            let text = format!("{header}{} = {}\n", setting.key, setting.default);
            let config = parse(&text).unwrap();
            // Where the option itself has a default, it is the one that is written down.
            if let [default] = option.get_default_values() {
                assert_eq!(config.values, [(setting, vec![default.into()])]);
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_named_with_its_line_and_advice() {
        for (text, said) in [
            (
                "\ntimes = \"5m\"\n",
                "`/p/unflake.toml`, line 2: nobody knows the key `times`; there are python,",
            ),
            (
                "time = 5\n",
                "line 1: `time` must be a text in quotes, not `5`; write, for example, `time = \"5m\"`",
            ),
            ("jobs = 1\ntime = \"5 parsecs\"\n", "line 2: `time`: unknown unit `parsecs`"),
            ("runs = 0\n", "line 1: `runs`: `0` is no whole number above 0"),
            ("runs = -1_0\n", "`-10` is no whole number above 0"),
            ("confidence = 1.5\n", "line 1: `confidence`: "),
            ("flake-rate = 2\n", "line 1: `flake-rate`: "),
            ("flake-rate = 0\n", "line 1: `flake-rate`: `0` is no share of all orders"),
            (
                "depth = \"deep\"\n",
                "`depth`: `deep` is none of `kind`, `roles`, `exhaustive`, \
              `one-by-one`",
            ),
            ("isolation = \"some\"\n", "`isolation`: `some` is none of `all`, `no-net`, `none`"),
            ("paths = \"tests\"\n", "`paths` must be a list of texts, not `\"tests\"`"),
            ("paths = [\"a\", 1]\n", "`paths` must be a list of texts, not `[\"a\", 1]`"),
            ("jobs = 1\njobs = 2\n", "line 2: "),
            ("jobs\n", "line 1: "),
            ("[jobs]\n", "`jobs` must be a number"),
            ("allow = []\n", "line 1: nobody knows the key `allow`; there are python,"),
            ("[lint]\njobs = 1\n", "line 2: nobody knows the key `jobs`; there are allow"),
            ("[lint]\nallow = [1]\n", "line 2: `allow` must be a list of texts, not `[1]`"),
            ("lint = 1\n", "nobody knows the key `lint`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn what_stands_below_a_command_is_for_that_command_alone() {
        let config = parse("jobs = 3\n[lint]\nallow = [\"a\", \"kind:b\"]\n").unwrap();
        let command = config.as_defaults(Args::command());
        let matches = command.clone().get_matches_from(["unflake", "lint", "--dynamic"]);
        let (_, lint) = matches.subcommand().unwrap();
        let allow: Vec<&String> = lint.get_many("allow").unwrap().collect();
        assert_eq!(allow, ["a", "kind:b"]);
        assert!(parse("[lint]\n").unwrap().values.is_empty());
    }

    #[test]
    fn paths_are_seen_from_the_folder_of_the_file() {
        let (file, here) = (Path::new("/p").join(NAME), Path::new("/p/inside"));
        let text = "python = \".venv/bin/python\"\npaths = [\"a/t.py::x\", \"/b\", \"c.d\"]\n\
                    store = \"/h\"\noptions = [\"-c\", \"a/b\"]\n";
        let config = Config::parse(file, text, here).unwrap();
        let texts = |key: &str| {
            let (_, texts) = config.values.iter().find(|(found, _)| found.key == key).unwrap();
            texts.iter().map(|text| text.to_str().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(texts("python"), ["/p/.venv/bin/python"]);
        assert_eq!(texts("paths"), ["/p/a/t.py::x", "/b", "c.d"]);
        assert_eq!(texts("store"), ["/h"]);
        assert_eq!(texts("options"), ["-c", "a/b"]);
    }

    #[test]
    fn an_option_of_all_commands_is_settled_for_all_of_them() {
        use crate::screen::ColorArg;
        let command = || parse("color = \"never\"\n").unwrap().as_defaults(Args::command());
        for (typed, color) in [
            (&["unflake", "detect"][..], ColorArg::Never),
            (&["unflake", "history", "--color", "always"], ColorArg::Always),
            (&["unflake", "--color", "auto", "doctor"], ColorArg::Auto),
        ] {
            let matches = command().get_matches_from(typed);
            assert_eq!(matches.get_one::<ColorArg>("color"), Some(&color), "{typed:?}");
        }
    }

    #[test]
    fn what_is_typed_goes_before_what_is_written_and_that_before_what_is_built_in() {
        let text = "jobs = 3\ntimeout = \"7s\"\npaths = [\"a\", \"b\"]\noptions = [\"-x\"]\n";
        let command = || parse(text).unwrap().as_defaults(Args::command());
        command().debug_assert();
        let typed = ["unflake", "detect", "--timeout", "9s", "--", "-q"];
        let matches = command().get_matches_from(typed);
        let (_, detect) = matches.subcommand().unwrap();
        let texts = |key: &str| detect.get_many::<OsString>(key).unwrap().collect::<Vec<_>>();
        assert_eq!(detect.get_one::<usize>("jobs"), Some(&3));
        assert_eq!(
            detect.get_one::<std::time::Duration>("timeout"),
            Some(&std::time::Duration::from_secs(9))
        );
        assert_eq!(detect.get_one::<f64>("confidence"), Some(&0.95));
        assert_eq!(texts("paths"), ["a", "b"]);
        assert_eq!(texts("options"), ["-q"]);
        for name in ["run", "study", "lint", "trace", "doctor"] {
            let matches = command().get_matches_from(["unflake", name]);
            let (_, command) = matches.subcommand().unwrap();
            let paths: Vec<_> = command.get_many::<OsString>("paths").unwrap().collect();
            assert_eq!(paths, ["a", "b"], "{name}");
        }
        let matches = command().get_matches_from(["unflake", "why", "a.py::x"]);
        let (_, why) = matches.subcommand().unwrap();
        assert_eq!(why.get_one::<usize>("jobs"), Some(&3));
    }
}
