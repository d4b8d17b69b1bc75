//! Options that only the projects of one adapter have, as the adapters describe them.

use std::ffi::OsString;

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Command};
use unflake_adapter::{Adapter, OwnOption, OwnOptions, OwnValue};
use unflake_app::registry::ADAPTERS;

/// What was given for options of the adapters.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnArgs(pub(crate) OwnOptions);

/// All options of all adapters.
pub(crate) fn own_options() -> impl Iterator<Item = &'static OwnOption> {
    ADAPTERS.into_iter().flat_map(Adapter::options)
}

/// What a command was given for those of them that are variables.
pub(crate) fn variables(matches: &ArgMatches) -> Vec<(String, String)> {
    let Some((_, matches)) = matches.subcommand() else { return Vec::new() };
    let are_variables = own_options().filter(|it| it.value == OwnValue::Variables);
    // A command without the option has no values for it.
    let values = |option: &OwnOption| matches.try_get_many::<OsString>(&option.typed()).ok();
    let values = are_variables.filter_map(|it| values(it).flatten()).flatten();
    let texts = values.map(|value| value.to_string_lossy().into_owned());
    let pair = |text: String| {
        text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    texts.filter_map(pair).collect()
}

fn arg(option: &OwnOption) -> Arg {
    let is_hidden = option.value_name.is_none();
    let action = match option.value {
        OwnValue::Text | OwnValue::Path | OwnValue::Switch => ArgAction::Set,
        OwnValue::Texts | OwnValue::Variables => ArgAction::Append,
    };
    Arg::new(option.typed())
        .long(option.typed())
        .value_name(option.value_name.unwrap_or("VALUE"))
        .value_parser(clap::value_parser!(OsString))
        .help(option.help)
        .hide(is_hidden)
        .allow_hyphen_values(option.table.is_some())
        .action(action)
}

impl clap::Args for OwnArgs {
    fn augment_args(command: Command) -> Command {
        own_options().fold(command, |command, option| command.arg(arg(option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for OwnArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut own = OwnOptions::default();
        for option in own_options() {
            if let Some(values) = matches.get_many(&option.typed()) {
                own.set(option.name, values.cloned().collect());
            }
        }
        Ok(Self(own))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
