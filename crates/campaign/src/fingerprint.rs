//! Is it still the same code? One number for everything a test run is likely to read.
//!
//! Earlier runs are evidence only while the code is what it was. So the contents of source and
//! configuration files below the project are digested, sorted by name: editors that touch a file
//! without changing it change nothing. Environments, caches, hidden folders and what tools build
//! are left out; they change without the code changing.
//!
//! Limits: data files and installed packages are left out. Beyond [`BYTES_MAX`] files count by name
//! and size only, and beyond [`FILES_MAX`] not at all: reading a larger tree would take longer than
//! the runs it could save.

use std::fs;
use std::path::Path;

use unflake_adapter::CodeFiles;
use unflake_model::random::mix;
use unflake_store::digest;

const FILES_MAX: usize = 50_000;
const BYTES_MAX: u64 = 256 << 20;

/// The digest of the code below a folder. Files that cannot be read count as absent.
pub(crate) fn code(root: &Path, which: &CodeFiles) -> u64 {
    let mut files = Vec::new();
    collect(root, which, &mut files);
    let mut n_bytes = 0;
    files.iter().fold(0, |state, file| {
        let name = file.as_os_str().as_encoded_bytes();
        let len = fs::metadata(root.join(file)).map_or(0, |found| found.len());
        n_bytes += len;
        let contents = if n_bytes <= BYTES_MAX { fs::read(root.join(file)).ok() } else { None };
        let contents = contents.map_or(len, |contents| digest(&contents));
        mix(mix(state ^ digest(name)) ^ contents)
    })
}

/// All code files, sorted by path below `root`.
fn collect(root: &Path, which: &CodeFiles, files: &mut Vec<std::path::PathBuf>) {
    let is_code = |name: &str| {
        which.endings.is_empty() || which.endings.iter().any(|ending| name.ends_with(ending))
    };
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        let mut entries: Vec<fs::DirEntry> =
            fs::read_dir(&folder).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            // Symbolic links are skipped: their targets are elsewhere, or are read anyway.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !is_left_out(&path, &name, which) {
                open.push(path);
            } else if kind.is_file() && is_code(&name) {
                files.extend(path.strip_prefix(root).map(Path::to_owned));
            }
            if FILES_MAX <= files.len() {
                return;
            }
        }
    }
}

fn is_left_out(folder: &Path, name: &str, which: &CodeFiles) -> bool {
    name.starts_with('.')
        || which.left_out.iter().any(|left_out| left_out == name)
        || which.left_out_with.iter().any(|file| folder.join(file).exists())
}

/// The commit checked out in a project, as far as plain files show.
pub(crate) fn commit(root: &Path) -> Option<String> {
    let git = root.ancestors().map(|folder| folder.join(".git")).find(|git| git.is_dir())?;
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(name) = head.trim().strip_prefix("ref: ") else {
        return Some(head.trim().to_owned());
    };
    let loose = fs::read_to_string(git.join(name)).ok();
    let packed = || {
        let refs = fs::read_to_string(git.join("packed-refs")).ok()?;
        let of = |line: &str| line.strip_suffix(name)?.strip_suffix(' ').map(str::to_owned);
        refs.lines().find_map(of)
    };
    loose.map(|commit| commit.trim().to_owned()).or_else(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_changes_with_the_code_and_with_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let which = CodeFiles {
            endings: words(&[".py", ".toml"]),
            left_out: words(&["__pycache__"]),
            left_out_with: words(&["pyvenv.cfg"]),
        };
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/test_a.py", "x = 1");
        write("pyproject.toml", "");
        let before = code(folder.path(), &which);
        write("a/__pycache__/test_a.cpython-311.py", "");
        write(".git/hooks/x.py", "");
        write("env/pyvenv.cfg", "");
        write("env/lib/x.py", "");
        write("notes.txt", "");
        write("a/test_a.py", "x = 1");
        assert_eq!(code(folder.path(), &which), before);
        for (name, text) in
            [("a/test_a.py", "x = 2"), ("b/test_a.py", ""), ("pyproject.toml", "[tool]")]
        {
            let unchanged = code(folder.path(), &which);
            write(name, text);
            assert_ne!(code(folder.path(), &which), unchanged, "{name}");
        }
        write("a/test_a.py", "x = 1");
        fs::remove_dir_all(folder.path().join("b")).unwrap();
        write("pyproject.toml", "");
        assert_eq!(code(folder.path(), &which), before);
    }

    #[test]
    fn the_commit_is_read_from_loose_and_packed_refs() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        fs::create_dir_all(git.join("refs/heads")).unwrap();
        fs::write(git.join("HEAD"), "0123\n").unwrap();
        assert_eq!(commit(folder.path()).as_deref(), Some("0123"));
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(git.join("packed-refs"), "# pack\n4567 refs/heads/main\n").unwrap();
        assert_eq!(commit(folder.path()).as_deref(), Some("4567"));
        fs::write(git.join("refs/heads/main"), "89ab\n").unwrap();
        assert_eq!(commit(folder.path()).as_deref(), Some("89ab"));
    }
}
