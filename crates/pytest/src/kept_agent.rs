//! Where does the agent lie?
//!
//! Python compiles every module it loads, and to compile ours takes a tenth of a second, spread
//! over the agent, its watchers and each sheltered run. So the agent is written once into a folder
//! that is kept, with room for what Python compiles; the folder is named by what is in it, so that
//! versions of ours do not meet. Where nothing can be kept, or what lies there is not what was
//! written, it goes into a private folder as if nothing had been kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unflake_engine::AgentFiles;
use unflake_model::random::mix;

use crate::agent_files::agent_files;

/// The folder for compiled modules. That it is there tells the agent that it may be filled.
const COMPILED: &str = "__pycache__";

/// The agent where it is kept, or as files still to be written.
pub(crate) fn agent(kept: Option<&Path>) -> AgentFiles {
    match kept_entry(kept) {
        Some(entry) => AgentFiles { files: Vec::new(), entry },
        None => agent_files(),
    }
}

/// What the interpreter is given to start the agent where it is kept.
pub(crate) fn kept_entry(kept: Option<&Path>) -> Option<PathBuf> {
    settle(kept?, &agent_files()).ok()
}

/// What the interpreter is given to start the agent; it is written into a folder unless it is kept.
pub(crate) fn entry(kept: Option<&Path>, folder: &Path) -> io::Result<PathBuf> {
    let agent = agent(kept);
    let place = folder.join("agent");
    agent.write(&place)?;
    // An entry that is kept is absolute.
    Ok(place.join(agent.entry))
}

/// Writes the agent where it is kept, unless it is there; its entry.
fn settle(kept: &Path, agent: &AgentFiles) -> io::Result<PathBuf> {
    let place = kept.join(name(agent));
    if !place.is_dir() {
        let beside = kept.join(format!(".{}-{}", name(agent), std::process::id()));
        let written = agent.write(&beside).and_then(|()| fs::create_dir(beside.join(COMPILED)));
        // If another process was quicker, the folder is there all the same.
        if written.and_then(|()| fs::rename(&beside, &place)).is_err() {
            let _ = fs::remove_dir_all(&beside);
        }
    }
    for (name, contents) in &agent.files {
        if fs::read(place.join(name))? != *contents {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
    }
    Ok(place.join(&agent.entry))
}

/// Another one for other files.
fn name(agent: &AgentFiles) -> String {
    let texts = agent
        .files
        .iter()
        .flat_map(|(name, contents)| [name.as_os_str().as_encoded_bytes(), contents.as_slice()]);
    let state = texts.fold(0, |state, text| {
        let words = text.chunks(size_of::<u64>()).map(|chunk| {
            let mut word = [0; size_of::<u64>()];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        // The length tells apart what only ends in other zeroes, or in another place.
        words.chain([text.len() as u64]).fold(state, |state, word| mix(state ^ word))
    });
    format!("{state:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_written_once_and_used_again() {
        let kept = tempfile::tempdir().unwrap();
        let first = agent(Some(kept.path()));
        assert!(first.files.is_empty() && first.entry.is_file());
        let compiled = first.entry.with_file_name(COMPILED);
        fs::write(compiled.join("mark"), "").unwrap();
        assert_eq!(agent(Some(kept.path())).entry, first.entry);
        assert!(compiled.join("mark").is_file());
        assert_eq!(fs::read_dir(kept.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_was_tampered_with_is_not_used() {
        let kept = tempfile::tempdir().unwrap();
        let entry = agent(Some(kept.path())).entry;
        fs::write(&entry, "import other").unwrap();
        let fresh = agent(Some(kept.path()));
        assert_eq!(fresh.entry, Path::new("__main__.py"));
        assert!(!fresh.files.is_empty());
    }

    #[test]
    fn where_nothing_can_be_kept_it_goes_into_the_private_folder() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("file");
        fs::write(&missing, "").unwrap();
        let entry = entry(Some(&missing), folder.path()).unwrap();
        assert_eq!(entry, folder.path().join("agent/__main__.py"));
        assert!(entry.is_file());
    }
}
