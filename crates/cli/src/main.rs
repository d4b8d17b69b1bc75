//! The command line of unflake.
//!
//! Three steps: arguments (what was typed, [`args`], or settled for the project, [`config`]), the
//! command that resolves and runs them ([`commands`]), and how it ended ([`exit`]). Data goes to
//! stdout, everything else to stderr.
//!
//! To add a command: a variant in [`args::Command`], a file in `commands/`, an arm in [`run`].

mod args;
mod commands;
mod config;
mod exit;
mod functions_file;
mod history_args;
mod isolation;
mod opened;
mod orders_file;
mod own_args;
mod progress;
mod project_args;
mod run_args;
mod running;
mod screen;
mod search_args;
mod store_args;
mod suite_file;
mod typed_values;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use args::{Args, Command};
use config::Config;
use exit::Failure;
use running::here;
use screen::Screen;
use unflake_app::registry;
use unflake_campaign::masked;
use unflake_engine::strays;
use unflake_model::secret::Secrets;

fn main() -> ExitCode {
    // Where this program is an agent of its own, nothing is typed.
    if let Some(status) = registry::as_agent(std::env::args_os().skip(1)) {
        return ExitCode::from(status);
    }
    // What is typed wrong is told before what is written wrong.
    let typed = match Args::command().try_get_matches() {
        Ok(typed) => typed,
        Err(message) => return exit::usage(&message),
    };
    let command = match settled(typed.subcommand_name().unwrap_or_default()) {
        Ok(command) => command,
        Err(failure) => return exit::code(Err(failure)),
    };
    let parsed = command.try_get_matches().and_then(|matches| {
        let args = Args::from_arg_matches(&matches)?;
        Ok((args, shows_secrets(&matches), own_args::variables(&matches)))
    });
    match parsed {
        Ok((args, shows_secrets, given)) => {
            masked::know(Secrets::among(variables().chain(given)), shows_secrets);
            strays::adopt();
            let code = exit::code(run(args.command, Screen::new(args.screen)));
            strays::end_all();
            code
        }
        Err(message) => exit::usage(&message),
    }
}

/// Whether the command is one that can show secrets, and is told to.
fn shows_secrets(matches: &clap::ArgMatches) -> bool {
    let Some((_, matches)) = matches.subcommand() else { return false };
    matches.try_get_one("show_secrets").ok().flatten().copied().unwrap_or(false)
}

/// Our environment, as far as it is text.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    })
}

/// The command line, with what the project has settled for this command as defaults.
fn settled(name: &str) -> Result<clap::Command, Failure> {
    let command = Args::command();
    if !command.find_subcommand(name).is_some_and(Config::concerns) {
        return Ok(command);
    }
    Ok(match Config::of_project(&here()?)? {
        Some(config) if std::env::var_os("UNFLAKE_STORE").is_some() => {
            config.without("store").as_defaults(command)
        }
        Some(config) => config.as_defaults(command),
        None => command,
    })
}

fn run(command: Command, screen: Screen) -> Result<u8, Failure> {
    match command {
        Command::Detect(args) => commands::detect::detect(&args, screen),
        Command::Why(args) => commands::detect::why(&args, screen),
        Command::Fix(args) => commands::fix::run(&args, screen),
        Command::History(args) => commands::history::run(&args, screen).map(|()| exit::SUCCESS),
        Command::Replay(args) => commands::replay::run(&args, screen),
        Command::Run(args) => commands::run::run(&args, screen),
        Command::Shake(args) => commands::shake::run(&args, screen),
        Command::Study(args) => commands::study::run(&args, screen),
        Command::Triage(args) => commands::triage::run(&args, screen),
        Command::Lint(args) => commands::lint::run(&args, screen),
        Command::Trace(args) => commands::trace::run(&args, screen),
        Command::Learn(args) => commands::learn::run(&args).map(|()| exit::SUCCESS),
        Command::Doctor(args) => commands::doctor::run(&args, screen),
        Command::Init(args) => commands::init::run(&args).map(|()| exit::SUCCESS),
        Command::Orders(args) => commands::orders::run(&args).map(|()| exit::SUCCESS),
        Command::Schema(args) => commands::schema::run(&args).map(|()| exit::SUCCESS),
        Command::Completions(args) => {
            commands::completions::run(&args, Args::command()).map(|()| exit::SUCCESS)
        }
        Command::Man(args) => commands::man::run(&args, Args::command()).map(|()| exit::SUCCESS),
    }
}
