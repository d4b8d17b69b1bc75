//! Who may read a history? The user whose it is, and nobody else.
//!
//! What failing tests said is in it, and so whatever they print. Files are made with 0600 and the
//! folder with 0700; those of earlier versions are narrowed when they are opened. A folder that
//! somebody else may use for something else, too, is left as it is.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// In a folder of ours: hides it from Git.
const IGNORED: (&str, &str) = (".gitignore", "*\n");

/// What others may do.
const OTHERS: u32 = 0o077;

/// The files that `SQLite` keeps of one database, by what is added to its name.
const PARTS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// How a file is made: for its user.
pub(crate) fn options() -> fs::OpenOptions {
    let mut options = File::options();
    options.create(true).append(true).mode(0o600);
    options
}

/// Makes the folder of a history, if there is none, and the file, which `SQLite` would make with
/// more permissions.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    if let Some(folder) = folder(path).filter(|folder| !folder.is_dir()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        fs::write(folder.join(IGNORED.0), IGNORED.1)?;
    }
    if !path.exists() {
        // If it cannot be made, SQLite says why.
        drop(options().open(path));
    }
    Ok(())
}

/// Takes from others what they may do with a history that was made before. What cannot be changed
/// belongs to somebody else.
pub(crate) fn narrow(path: &Path) {
    for part in PARTS {
        let mut name = path.as_os_str().to_owned();
        name.push(part);
        let _ = narrow_one(Path::new(&name));
    }
    if let Some(folder) = folder(path).filter(|folder| is_ours(folder, path)) {
        let _ = narrow_one(folder);
    }
}

fn folder(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty())
}

fn narrow_one(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 & !OTHERS))
}

/// Whether a folder was made for this history, and has nothing else in it.
fn is_ours(folder: &Path, history: &Path) -> bool {
    let name = history.file_name().unwrap_or_default().as_encoded_bytes();
    let is_known =
        |entry: OsString| entry == IGNORED.0 || OsStr::as_encoded_bytes(&entry).starts_with(name);
    let is_hidden = fs::read_to_string(folder.join(IGNORED.0)).is_ok_and(|is| is == IGNORED.1);
    is_hidden
        && fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.all(|entry| entry.is_ok_and(|entry| is_known(entry.file_name())))
        })
}
