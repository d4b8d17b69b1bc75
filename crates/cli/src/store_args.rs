//! What can be typed about the history, and which file is meant.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use unflake_app::place::{StateFolders, history_file, project_root};
use unflake_campaign::begin::{Keep, Unfinished};

use crate::exit::Failure;
use crate::running::here;

/// Options of all commands that use the history.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// The file of the history [default: from `UNFLAKE_STORE`, else below `XDG_STATE_HOME`]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}

/// Options of commands that record.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub place: StoreArgs,

    /// Record nothing
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,
}

/// Options of commands that go on with what was cut off.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KeepArgs {
    #[command(flatten)]
    pub record: RecordArgs,

    /// Begin anew, also where an unfinished campaign could be resumed
    #[arg(long, conflicts_with = "no_store")]
    pub fresh: bool,
}

impl StoreArgs {
    /// The file of the history of the project that we stand in.
    pub(crate) fn file(&self) -> Result<PathBuf, Failure> {
        self.locate("name a file with --store").map(|(file, _)| file)
    }

    /// The file, and the folder of the project; what to do if there can be none.
    fn locate(&self, hint: &str) -> Result<(PathBuf, PathBuf), Failure> {
        let folder = here()?;
        let root = project_root(&folder).unwrap_or(folder);
        let named = self.store.clone();
        let named = named.or_else(|| std::env::var_os("UNFLAKE_STORE").map(PathBuf::from));
        let folders = StateFolders {
            xdg_state_home: std::env::var_os("XDG_STATE_HOME"),
            home: std::env::var_os("HOME"),
        };
        let named = named.filter(|file| !file.as_os_str().is_empty());
        let file = named.or_else(|| history_file(&root, &folders)).ok_or_else(|| {
            let message = "there is no folder for the history: HOME is not set";
            Failure::input(message, hint)
        })?;
        Ok((file, root))
    }
}

impl RecordArgs {
    /// Where to record this command; `None` for not at all.
    pub(crate) fn keep(&self, unfinished: Unfinished) -> Result<Option<Keep>, Failure> {
        if self.no_store {
            return Ok(None);
        }
        let (file, root) = self.place.locate("name a file with --store, or say --no-store")?;
        let (command, started_unix_ms) = (command_line(), unix_ms());
        Ok(Some(Keep { file, root, command, started_unix_ms, unfinished }))
    }
}

impl KeepArgs {
    /// Where and how to record this command; `None` for not at all.
    pub(crate) fn keep(&self) -> Result<Option<Keep>, Failure> {
        self.record.keep(if self.fresh { Unfinished::Leave } else { Unfinished::Resume })
    }
}

/// The command line, as it was typed.
pub(crate) fn command_line() -> String {
    let words =
        std::env::args_os().skip(1).map(|word| unflake_known::quote(&word.to_string_lossy()));
    ["unflake".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

#[expect(
    clippy::disallowed_methods,
    reason = "when a campaign began is shown, and decides nothing"
)]
pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
