//! How is the agent started in this project?

use std::ffi::OsString;
use std::path::PathBuf;

use unflake_engine::{AgentFiles, Launch, Limits, Transport};
use unflake_model::{Control, OrderControl};

use crate::agent;
use crate::settings::{Kept, Settings};

/// The name under which the settings are handed to the agent.
const SETTINGS: &str = "settings.json";

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Project {
    /// What it says about its runner.
    pub settings: Settings,
    /// Where it says so.
    pub folder: PathBuf,
    /// Our own program, which is the agent as well.
    pub program: OsString,
    /// Which tests, by name or by the beginning of it; all if there are none.
    pub chosen: Vec<String>,
}

impl Project {
    /// The folder in which commands are run.
    pub fn current_dir(&self) -> PathBuf {
        match &self.settings.row.folder {
            Some(folder) => self.folder.join(folder),
            None => self.folder.clone(),
        }
    }

    /// Changes to our own environment that commands see.
    pub(crate) fn env(&self) -> Vec<(OsString, Option<OsString>)> {
        let set = |(name, value): (&String, &String)| (name.into(), Some(value.into()));
        self.settings.row.env.iter().map(set).collect()
    }

    /// What the runner lets us decide about a run. State is put back by a fresh process for each
    /// stretch of tests, which is no quicker than as many runs.
    pub fn control(&self) -> Control {
        let orders = match self.settings.order {
            Kept::Exactly => OrderControl::Exact,
            Kept::ByClass => OrderControl::Classes,
            Kept::NotAtAll => OrderControl::Fixed,
        };
        Control { orders, repeats: self.settings.row.repeats, restores: false }
    }

    /// How the engine is to start the agent.
    pub fn launch(&self, limits: Limits) -> Launch {
        // A table of texts is always JSON.
        let settings = serde_json::to_vec(&self.settings.row).unwrap_or_default();
        Launch {
            program: self.program.clone(),
            flags: vec![agent::HIDDEN.into()],
            agent: AgentFiles { files: vec![(SETTINGS.into(), settings)], entry: SETTINGS.into() },
            runner: self.chosen.iter().map(OsString::from).collect(),
            current_dir: self.current_dir(),
            env: self.env(),
            transport: Transport::Socket,
            start: limits.start,
            isolation: limits.isolation,
            start_timeout: limits.start_timeout,
            test_timeout: limits.test_timeout,
            run_timeout: limits.run_timeout,
            jobs: limits.jobs,
            control: self.control(),
            perturbing: None,
            trace_flags: Vec::new(),
        }
    }
}
