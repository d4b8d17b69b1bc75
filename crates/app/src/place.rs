//! Where is the history of a project kept, and what is the project?
//!
//! Not in the work tree, which stays as it is. A project is the nearest folder, from the working
//! directory upwards, with a file by which people and runners recognise one; so the same history is
//! found from everywhere inside it, without asking the runner. Its file is among the user's state,
//! under a name that a person recognises and a digest of the whole path that distinguishes projects
//! of the same name.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use unflake_adapter::Adapter;
use unflake_store::digest;

use crate::registry::ADAPTERS;

/// Files and folders at the top of a project, whichever runner it has.
const MARKS: [&str; 2] = ["unflake.toml", ".git"];

/// How many characters of a folder's name are kept.
const SLUG_CHARS_MAX: usize = 32;

/// Where users keep their state; these values are passed in by the caller.
#[derive(Clone, Debug, Default)]
pub struct StateFolders {
    /// The variable `XDG_STATE_HOME`.
    pub xdg_state_home: Option<OsString>,
    /// The variable `HOME`.
    pub home: Option<OsString>,
}

/// The folder of the project that a folder belongs to; that folder itself if nothing marks one.
pub fn project_root(folder: &Path) -> io::Result<PathBuf> {
    let folder = folder.canonicalize()?;
    let of_runners = ADAPTERS.into_iter().flat_map(Adapter::top_marks);
    let marks: Vec<&str> = MARKS.iter().chain(of_runners).copied().collect();
    let is_marked = |candidate: &&Path| marks.iter().any(|mark| candidate.join(mark).exists());
    Ok(folder.ancestors().find(is_marked).unwrap_or(&folder).to_owned())
}

/// The file of a project's history; `None` if there is no place for the user's state.
pub fn history_file(root: &Path, folders: &StateFolders) -> Option<PathBuf> {
    let absolute = |value: &OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let state = folders.xdg_state_home.as_ref().and_then(absolute).or_else(|| {
        folders.home.as_ref().and_then(absolute).map(|home| home.join(".local/state"))
    })?;
    let name = format!("{}-{:016x}", slug(root), digest(root.as_os_str().as_encoded_bytes()));
    Some(state.join("unflake").join(name).join("history.sqlite"))
}

fn slug(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().map(safe).take(SLUG_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_project_is_the_nearest_marked_folder_above() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        fs::create_dir(top.join(".git")).unwrap();
        assert_eq!(project_root(&top.join("a/b/c")).unwrap(), top);
        fs::write(top.join("a/pyproject.toml"), "").unwrap();
        assert_eq!(project_root(&top.join("a/b/c")).unwrap(), top.join("a"));
        assert_eq!(project_root(&top).unwrap(), top);
        assert!(project_root(&top.join("nowhere")).is_err());
        // A module of a build is not a project.
        fs::write(top.join("a/b/c/pom.xml"), "").unwrap();
        fs::write(top.join("a/b/mvnw"), "").unwrap();
        assert_eq!(project_root(&top.join("a/b/c")).unwrap(), top.join("a/b"));
    }

    #[test]
    fn histories_lie_among_the_users_state_and_are_kept_apart_by_the_whole_path() {
        let folders = |state: Option<&str>, home: Option<&str>| StateFolders {
            xdg_state_home: state.map(OsString::from),
            home: home.map(OsString::from),
        };
        let file = |root: &str, folders| history_file(Path::new(root), &folders);
        let shop = file("/work/my shop", folders(None, Some("/home/u"))).unwrap();
        let name = shop.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        assert!(shop.starts_with("/home/u/.local/state/unflake"), "{shop:?}");
        assert!(name.starts_with("my_shop-"), "{name}");
        let other = file("/else/my shop", folders(None, Some("/home/u"))).unwrap();
        assert_ne!(shop, other);
        let set = file("/work/x", folders(Some("/state"), Some("/home/u"))).unwrap();
        assert!(set.starts_with("/state/unflake"), "{set:?}");
        // The specification says that relative paths must be ignored.
        let relative = file("/work/x", folders(Some("state"), Some("/home/u"))).unwrap();
        assert!(relative.starts_with("/home/u/.local/state"), "{relative:?}");
        assert_eq!(file("/work/x", folders(None, None)), None);
    }
}
