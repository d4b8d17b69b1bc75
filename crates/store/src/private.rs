//! Only the user whose history it is may read it.
//!
//! The history contains the texts of failing tests, and so whatever tests print. Files are made
//! with 0600 and the folder with 0700; those of earlier versions are restricted when they are
//! opened. A folder that others may also use for something else is left as it is.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Hides a folder of ours from Git.
const IGNORED: (&str, &str) = (".gitignore", "*\n");

/// The permissions of others.
const OTHERS: u32 = 0o077;

/// The files of one `SQLite` database, by the suffix of its name.
const PARTS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Makes files that only their user may read and write.
pub(crate) fn options() -> fs::OpenOptions {
    let mut options = File::options();
    options.create(true).append(true).mode(0o600);
    options
}

/// Makes the folder of a history, if it does not exist, and the file, to which `SQLite` would give
/// more permissions.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    if let Some(folder) = folder(path).filter(|folder| !folder.is_dir()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        fs::write(folder.join(IGNORED.0), IGNORED.1)?;
    }
    if !path.exists() {
        // If it cannot be made, SQLite reports why.
        drop(options().open(path));
    }
    Ok(())
}

/// Removes the permissions of others from an existing history. If that is not allowed, it belongs
/// to somebody else.
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

/// Whether a folder was made for this history, and contains nothing else.
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
