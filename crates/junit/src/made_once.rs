//! Folders of the cache that are made once, and then stay as they are.

use std::fs;
use std::io;
use std::path::Path;

/// Has a folder made, unless it is there: whole, or not at all.
pub(crate) fn make_once<E>(
    folder: &Path,
    fail: impl Fn(io::Error) -> E,
    make: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    if folder.exists() {
        return Ok(());
    }
    let parent = folder.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(&fail)?;
    let new = tempfile::tempdir_in(parent).map_err(&fail)?;
    make(new.path())?;
    // Whoever else has made the same at the same time has made the same.
    match fs::rename(new.path(), folder) {
        Err(error) if !folder.exists() => Err(fail(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_once_and_what_fails_leaves_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("agent/key");
        let failed = make_once(&folder, |_| "disk", |_| Err("compiler"));
        assert_eq!((failed, folder.exists()), (Err("compiler"), false));
        let write = |text: &'static str| {
            move |new: &Path| fs::write(new.join("a"), text).map_err(|_| "disk")
        };
        for text in ["first", "second"] {
            make_once(&folder, |_| "disk", write(text)).unwrap();
            assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "first");
        }
        assert_eq!(fs::read_dir(cache.path().join("agent")).unwrap().count(), 1);
    }
}
