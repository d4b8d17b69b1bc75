//! The folder of an engine: its socket, its agent, and a scratch folder for each run.
//!
//! The folder is private (0700), short (the path of a socket has 108 bytes), and removed
//! afterwards. A separate thread removes scratch folders, because a run can leave a gigabyte behind
//! and the next one should not wait for it. The same thread removes what killed engines left
//! behind. Most runs leave nothing in their scratch folder; then another run uses it, because
//! making and removing folders on a disk takes as long as a few quick tests.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Once, mpsc};
use std::thread::{self, JoinHandle};

use crate::launch::AgentFiles;

/// The longest folder that leaves room for our socket below it, and for those that tests make.
const FOLDER_BYTES_MAX: usize = 48;

/// Locked by the owner of a folder as long as it lives, however it dies.
const LOCK: &str = "lock";

/// The beginning of the names of all our folders.
const PREFIX: &str = "unflake-";

/// What an agent makes in a scratch folder for any run: a folder and a file.
const USUAL: [&str; 2] = ["tmp", "errors.txt"];

/// Completed once this process has looked for abandoned folders.
static SWEPT: Once = Once::new();

/// The folder of an engine.
#[derive(Debug)]
pub(crate) struct Workshop {
    folder: Option<PrivateFolder>,
    path: PathBuf,
    /// Scratch folders in which runs left nothing.
    untouched: Vec<PathBuf>,
    rubbish: Option<mpsc::Sender<PathBuf>>,
    janitor: Option<JoinHandle<()>>,
}

impl Workshop {
    pub(crate) fn new(agent: &AgentFiles) -> io::Result<Self> {
        let folder = private_folder()?;
        // Mounts refer to it by name, so the path must not contain symbolic links.
        let path = folder.path().canonicalize()?;
        if path.to_str().is_none() {
            let message = format!("`{}` is not UTF-8", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        agent.write(&path.join("agent"))?;
        let (rubbish, received) = mpsc::channel::<PathBuf>();
        let parent = path.parent().map(Path::to_owned);
        let janitor = thread::Builder::new().name("janitor".to_owned()).spawn(move || {
            // Once only: searching a folder that everybody uses takes longer than making one.
            SWEPT.call_once(|| parent.iter().for_each(|parent| remove_abandoned(parent)));
            for path in received {
                // What resists now is removed with the whole folder, once no process is left in it.
                let _ = remove_tree(&path);
            }
        })?;
        let (folder, rubbish, janitor) = (Some(folder), Some(rubbish), Some(janitor));
        Ok(Self { folder, path, untouched: Vec::new(), rubbish, janitor })
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path.join("socket")
    }

    pub(crate) fn agent(&self, entry: &Path) -> PathBuf {
        self.path.join("agent").join(entry)
    }

    /// Makes a private folder of this name.
    pub(crate) fn make(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(path)
    }

    /// A scratch folder, with this name if a new one is made.
    pub(crate) fn scratch(&mut self, name: &str) -> io::Result<PathBuf> {
        // Tests may have removed more than their own files.
        self.untouched.retain(|scratch| scratch.is_dir());
        self.untouched.pop().map_or_else(|| self.make(name), Ok)
    }

    /// Takes back the scratch folder of a run that has no process left.
    pub(crate) fn take_back(&mut self, scratch: PathBuf) {
        if is_untouched(&scratch).unwrap_or(false) {
            self.untouched.push(scratch);
        } else {
            self.discard(&scratch);
        }
    }

    /// Removes one of our folders, by its name or path, in the background.
    pub(crate) fn discard(&self, folder: impl AsRef<Path>) {
        if let Some(rubbish) = &self.rubbish {
            // The janitor lives as long as we do.
            let _ = rubbish.send(self.path.join(folder));
        }
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        self.rubbish = None;
        if let Some(janitor) = self.janitor.take() {
            let _ = janitor.join();
        }
        self.folder = None;
    }
}

/// Whether a scratch folder contains only what every run has there, unchanged.
fn is_untouched(scratch: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(scratch)? {
        let entry = entry?;
        // This does not follow symbolic links.
        let found = entry.metadata()?;
        let is_usual = USUAL.iter().any(|usual| *usual == entry.file_name());
        let is_empty = match found.permissions().mode() & 0o7777 {
            0o700 if found.is_dir() => fs::read_dir(entry.path())?.next().is_none(),
            0o600 if found.is_file() => found.len() == 0,
            _ => false,
        };
        if !is_usual || !is_empty {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A temporary folder that nobody else may read. It is removed when dropped or, if we die before
/// that, by another engine.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    _locked: File,
}

impl PrivateFolder {
    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // Nobody is left to be told; what resists stays in a folder named after us.
        let _ = remove_tree(&self.path);
    }
}

/// Makes a private folder.
pub fn private_folder() -> io::Result<PrivateFolder> {
    let usual = std::env::temp_dir();
    let is_long = FOLDER_BYTES_MAX < usual.as_os_str().len();
    let parent = if is_long { Path::new("/tmp") } else { usual.as_path() };
    let private = fs::Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir_in(parent)?;
    // Locked before it gets the name that others search for.
    let new = folder.path().join("new");
    let locked = File::create(&new)?;
    locked.lock()?;
    fs::rename(new, folder.path().join(LOCK))?;
    Ok(PrivateFolder { path: folder.keep(), _locked: locked })
}

/// Removes folders of ours whose lock nobody holds. A folder without a lock may be in the making.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // Other users' folders cannot be opened, and are none of our business.
        let Ok(lock) = File::options().write(true).open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            let _ = remove_tree(&entry.path());
        }
    }
}

/// Removes a folder, even if tests (or an overlay) left folders without permissions in it.
fn remove_tree(path: &Path) -> io::Result<()> {
    if fs::remove_dir_all(path).is_ok() || !path.exists() {
        return Ok(());
    }
    open_up(path)?;
    fs::remove_dir_all(path)
}

fn open_up(path: &Path) -> io::Result<()> {
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Touch = fn(&Path) -> io::Result<()>;

    fn workshop() -> Workshop {
        let agent =
            AgentFiles { files: vec![("a/main.py".into(), b"pass".to_vec())], entry: "a".into() };
        Workshop::new(&agent).unwrap()
    }

    #[test]
    fn the_folder_is_private_and_gone_afterwards() {
        let workshop = workshop();
        let path = workshop.path.clone();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let main = workshop.agent(Path::new("a")).join("main.py");
        assert_eq!(fs::read(main).unwrap(), b"pass");
        drop(workshop);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_engine_left_behind_is_removed_and_what_a_live_one_has_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir_all(folder.join("1/work")).unwrap();
            (File::create(folder.join(LOCK)).unwrap(), folder)
        };
        let (dead, abandoned) = make("unflake-dead");
        drop(dead);
        let (alive, in_use) = make("unflake-alive");
        alive.lock().unwrap();
        let (_, foreign) = make("other-dead");
        let in_the_making = parent.path().join("unflake-making");
        fs::create_dir(&in_the_making).unwrap();
        remove_abandoned(parent.path());
        assert!(!abandoned.exists());
        assert!(in_use.exists() && foreign.exists() && in_the_making.exists());
    }

    #[test]
    fn folders_without_permissions_are_removed_too() {
        let workshop = workshop();
        let path = workshop.path.clone();
        let scratch = workshop.make("1").unwrap();
        fs::create_dir_all(scratch.join("work/work/deep")).unwrap();
        fs::write(scratch.join("work/work/deep/file"), "x").unwrap();
        fs::set_permissions(scratch.join("work/work/deep"), fs::Permissions::from_mode(0o500))
            .unwrap();
        fs::set_permissions(scratch.join("work/work"), fs::Permissions::from_mode(0o000)).unwrap();
        workshop.discard(scratch);
        drop(workshop);
        assert!(!path.exists());
    }

    #[test]
    fn a_scratch_folder_serves_again_if_it_is_as_it_was() {
        let mut workshop = workshop();
        let scratch = workshop.scratch("1").unwrap();
        fs::DirBuilder::new().mode(0o700).create(scratch.join("tmp")).unwrap();
        fs::write(scratch.join("errors.txt"), "").unwrap();
        fs::set_permissions(scratch.join("errors.txt"), fs::Permissions::from_mode(0o600)).unwrap();
        workshop.take_back(scratch.clone());
        assert_eq!(workshop.scratch("2").unwrap(), scratch);
        assert_ne!(workshop.scratch("3").unwrap(), scratch, "it is in use");
        workshop.take_back(scratch.clone());
        fs::remove_dir_all(&scratch).unwrap();
        assert_ne!(workshop.scratch("4").unwrap(), scratch, "it is gone");

        let touches: [Touch; 5] = [
            |scratch| fs::write(scratch.join("tmp/left"), ""),
            |scratch| fs::write(scratch.join("errors.txt"), "oops"),
            |scratch| fs::write(scratch.join("stray"), ""),
            |scratch| fs::set_permissions(scratch.join("tmp"), fs::Permissions::from_mode(0o755)),
            |scratch| {
                fs::remove_dir(scratch.join("tmp"))?;
                std::os::unix::fs::symlink("/", scratch.join("tmp"))
            },
        ];
        for (number, touch) in touches.into_iter().enumerate() {
            let scratch = workshop.scratch(&format!("touched-{number}")).unwrap();
            if !scratch.join("tmp").exists() {
                fs::DirBuilder::new().mode(0o700).create(scratch.join("tmp")).unwrap();
            }
            touch(&scratch).unwrap();
            workshop.take_back(scratch);
            assert!(workshop.untouched.is_empty(), "{number}");
        }
    }
}
