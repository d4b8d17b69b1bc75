//! Which runner, seed, command and campaign are behind an answer, so that it can be obtained again.

use std::collections::BTreeMap;

use unflake_model::RunId;

/// What was run, so that it can be run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The project's own runner: `pytest`.
    pub runner: String,
    /// Its version.
    pub runner_version: String,
    /// The seed of all orders.
    pub seed: u64,
    /// The hash seed, if we chose it: a number for `PYTHONHASHSEED`.
    pub hash_seed: Option<u64>,
    /// The command line that started the campaign.
    pub command: String,
    /// The name of the campaign in the history; `None` if it is not kept.
    pub campaign: Option<String>,
    /// The names of runs lent by other campaigns, by the number they have here.
    pub lent: BTreeMap<RunId, String>,
    /// What stands between class and name in the id of a test, where the project says so.
    pub between: Option<String>,
}

impl Origin {
    /// For a runner given as it names itself: `pytest 8.3.1`.
    pub fn new(runner: &str, seed: u64, command: &str, campaign: Option<String>) -> Self {
        let (runner, version) = runner.split_once(' ').unwrap_or((runner, ""));
        Self {
            runner: runner.to_owned(),
            runner_version: version.to_owned(),
            seed,
            hash_seed: None,
            command: command.to_owned(),
            campaign,
            lent: BTreeMap::new(),
            between: None,
        }
    }

    /// The first number of lent runs: no campaign has as many of its own.
    pub const LENT: RunId = RunId(1_000_000_000_000);

    /// A run as `unflake replay` takes it: campaign and number, or only the number if no history
    /// contains it.
    pub fn run_name(&self, run: RunId) -> String {
        if let Some(name) = self.lent.get(&run) {
            return name.clone();
        }
        match &self.campaign {
            Some(campaign) => format!("{campaign}/{}", run.0),
            None => run.0.to_string(),
        }
    }
}
