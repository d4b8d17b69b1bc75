//! What can be typed for every command that runs the tests of a project.

use std::ffi::OsString;
use std::time::Duration;

use crate::opened::Typed;
use crate::own_args::OwnArgs;
use crate::typed_values::time_limit;

/// Options about the project and its runner.
#[derive(Debug, clap::Args)]
pub(crate) struct ProjectArgs {
    #[command(flatten)]
    pub own: OwnArgs,

    /// How long one test may take before it is stopped
    ///
    /// One that was seen to end sooner is given 30 times as long as it took, and at least 10s.
    #[arg(long, value_name = "SPAN", default_value = "60s", value_parser = time_limit)]
    pub timeout: Duration,

    /// Show values that look like secrets, instead of ***; the history never has them
    #[arg(long)]
    pub show_secrets: bool,

    /// Options for the runner, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<OsString>,
}

impl ProjectArgs {
    /// With the parts of the project that were named.
    pub(crate) fn typed<'a>(&'a self, paths: &'a [OsString]) -> Typed<'a> {
        let own = &self.own.0;
        Typed { runner: None, own, paths, options: &self.options, seed: None }
    }
}
