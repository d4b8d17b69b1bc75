//! `[runner]` as options, which can stand in `unflake.toml` and be typed.

use std::collections::BTreeMap;

use unflake_adapter::{OpenError, OwnOption, OwnOptions, OwnValue};

use crate::settings::Row;

/// The name of this runner, and the value of `kind`.
pub(crate) const NAME: &str = "command";

/// The option that says which runner is described.
pub(crate) const KIND: &str = "kind";

const TABLE: &str = "runner";

const fn option(
    name: &'static str,
    value: OwnValue,
    example: &'static str,
    why: &'static str,
) -> OwnOption {
    OwnOption { name, table: Some(TABLE), value_name: None, help: why, why, example, value }
}

/// All of them, in the order in which one would write them.
pub(crate) const OPTIONS: [OwnOption; 14] = [
    option(
        KIND,
        OwnValue::Text,
        "\"command\"",
        "Which runner this is about: \"command\" for any that can be started as a command. \
         `docs/command.md` has examples.",
    ),
    option("list", OwnValue::Texts, "[\"./t\", \"--list\"]", "Prints the tests, one a line."),
    option(
        "run",
        OwnValue::Texts,
        "[\"./t\", \"--junit\", \"{report}\", \"{tests}\"]",
        "Runs tests: `{tests}` is an argument for each, `{tests:,}` one with commas between, \
         `{regex:|}` the same as a regular expression, `{list}` a file with one a line.",
    ),
    option(
        "report",
        OwnValue::Text,
        "\"junit\"",
        "What it reports in: \"junit\", \"tap\", \"ctrf\" or \"exit\" (a process for each test, \
         by its exit code).",
    ),
    option(
        "report-file",
        OwnValue::Text,
        "\"out/report.xml\"",
        "Where the report lands if `run` is not told by `{report}`; without it, on standard \
         output.",
    ),
    option(
        "id",
        OwnValue::Text,
        "\"{classname}#{name}\"",
        "How a test's id is made of a test case in the report; without it, the usual ways are \
         tried.",
    ),
    option(
        "order",
        OwnValue::Text,
        "\"kept\"",
        "What becomes of the order in which tests are named: \"kept\", \"class\" (tests of a \
         class run together) or \"none\" (they run in the order in which `list` prints them).",
    ),
    option("class", OwnValue::Text, "\"::\"", "What stands between class and test in an id."),
    option(
        "lines",
        OwnValue::Text,
        "\"{id}: test\"",
        "Which lines that `list` prints are tests; without it, all.",
    ),
    option(
        "starts",
        OwnValue::Text,
        "\"=== RUN   {id}\"",
        "The line that `run` writes when a test begins, so that one that hangs or crashes can be \
         named.",
    ),
    option(
        "reset",
        OwnValue::Texts,
        "[\"./reset-database\"]",
        "What to run before each run, so that state outside of the project is as at first.",
    ),
    option("env", OwnValue::Variables, "[\"CI=1\"]", "Variables of the environment."),
    option(
        "folder",
        OwnValue::Text,
        "\"server\"",
        "The folder in which commands are run, seen from that of this file.",
    ),
    option(
        "repeats",
        OwnValue::Switch,
        "false",
        "Whether a test that is named twice is run twice.",
    ),
];

/// The table that these options make.
pub(crate) fn row(own: &OwnOptions) -> Result<Row, OpenError> {
    let text = |name: &str| own.one(name).map(|text| text.to_string_lossy().into_owned());
    let texts = |name: &str| -> Vec<String> {
        own.all(name).iter().map(|text| text.to_string_lossy().into_owned()).collect()
    };
    let needed = |name: &str, example: &str| OpenError::Refused {
        message: format!("`{name}` of the runner is missing"),
        hint: format!("write `{name} = {example}` below `[{TABLE}]` of unflake.toml"),
    };
    for option in OPTIONS.iter().filter(|it| ["list", "run", "report"].contains(&it.name)) {
        if own.one(option.name).is_none() {
            return Err(needed(option.name, option.example));
        }
    }
    Ok(Row {
        kind: text(KIND),
        list: texts("list"),
        run: texts("run"),
        report: text("report").unwrap_or_default(),
        report_file: text("report-file"),
        id: text("id"),
        order: text("order"),
        reset: texts("reset"),
        env: env(own)?,
        folder: text("folder"),
        lines: text("lines"),
        starts: text("starts"),
        class: text("class"),
        repeats: text("repeats").is_some_and(|is_on| is_on == "true"),
    })
}

/// The variables among them.
pub(crate) fn env(own: &OwnOptions) -> Result<BTreeMap<String, String>, OpenError> {
    let mut env = BTreeMap::new();
    for variable in own.all("env") {
        let variable = variable.to_string_lossy();
        let (name, value) = variable.split_once('=').ok_or_else(|| OpenError::Refused {
            message: format!("`env` of the runner: `{variable}` sets no variable"),
            hint: "write `env = [\"NAME=value\"]`".to_owned(),
        })?;
        env.insert(name.to_owned(), value.to_owned());
    }
    Ok(env)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_table_is_an_option() {
        let mut own = OwnOptions::default();
        for option in OPTIONS {
            let value = match (option.name, option.value) {
                ("env", _) => "A=b",
                (_, OwnValue::Switch) => "true",
                _ => option.name,
            };
            own.set(option.name, vec![value.into()]);
        }
        let row = serde_json::to_value(row(&own).unwrap()).unwrap();
        let keys: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        let mut options: Vec<&str> = OPTIONS.iter().map(|option| option.name).collect();
        options.sort_unstable();
        assert_eq!(keys, options);
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut own = OwnOptions::default();
        own.set("list", vec!["t".into()]);
        let error = row(&own).unwrap_err();
        assert_eq!(error.to_string(), "`run` of the runner is missing");
    }
}
