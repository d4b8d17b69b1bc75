//! How far runs are kept apart: the option, and the levels it stands for.

use clap::ValueEnum;
use unflake_adapter::Adapter;
use unflake_engine::Level;

/// How far to keep runs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsolationArg {
    /// Own processes, files and network for each run, as far as the system allows
    All,
    /// Own processes and files
    NoNet,
    /// Own temporary folder only
    None,
}

impl IsolationArg {
    /// The levels that it stands for, as far as a runner permits them.
    pub(crate) fn levels(self, adapter: &dyn Adapter) -> Vec<Level> {
        let levels = match self {
            Self::All => vec![Level::Pid, Level::Tree, Level::Home, Level::Net],
            Self::NoNet => vec![Level::Pid, Level::Tree, Level::Home],
            Self::None => vec![],
        };
        let possible = adapter.abilities().isolation;
        levels.into_iter().filter(|level| possible.contains(level)).collect()
    }
}
