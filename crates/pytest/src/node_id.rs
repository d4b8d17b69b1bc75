//! pytest's names for tests, and what becomes of them elsewhere.
//!
//! A node id is a path relative to pytest's root folder, and after each `::` a name within it. A
//! parameter in brackets at the end may hold anything, also slashes, colons and spaces. On the
//! command line the path is relative to the working directory; in JUnit XML an id is torn into a
//! class and a name, with dots for slashes, and cannot be put together again. So we go the other
//! way, from the ids that we know to what they look like there.

use std::path::{Component, Path, PathBuf};

/// An id as pytest writes it into JUnit XML: class, and name.
pub(crate) fn junit_address(id: &str) -> (String, String) {
    let (path, parameter) = match id.find('[') {
        Some(bracket) => id.split_at(bracket),
        None => (id, ""),
    };
    let mut names: Vec<String> = path.split("::").map(str::to_owned).collect();
    if let Some(file) = names.first_mut() {
        *file = file.replace('/', ".");
        if let Some(stem) = file.strip_suffix(".py") {
            *file = stem.to_owned();
        }
    }
    let last = names.pop().unwrap_or_default();
    (escape(&names.join(".")), escape(&(last + parameter)))
}

/// The dotted name of a test of `unittest`, as those write it into JUnit XML that run such tests.
pub(crate) fn unittest_address(id: &str) -> Option<(String, String)> {
    let (class, name) = id.rsplit_once('.')?;
    let is_dotted = |c: char| c == '.' || c == '_' || c.is_alphanumeric();
    id.chars().all(is_dotted).then(|| (class.to_owned(), name.to_owned()))
}

/// What pytest puts in place of characters that XML cannot hold; those that ids can.
fn escape(text: &str) -> String {
    text.replace('\u{fffe}', "#xFFFE").replace('\u{ffff}', "#xFFFF")
}

/// An id as it is typed in a folder, where ids are relative to `rootdir`.
pub(crate) fn typed(id: &str, rootdir: &Path, current_dir: &Path) -> String {
    let (file, rest) = match id.find("::") {
        Some(colons) => id.split_at(colons),
        None => (id, ""),
    };
    let path = relative(&rootdir.join(file), current_dir);
    let path = path.to_string_lossy();
    // Neither an option nor the name of a file with arguments.
    let prefix = if path.starts_with(['-', '@']) { "./" } else { "" };
    format!("{prefix}{path}{rest}")
}

/// The way from a folder to a path, without looking at the disk.
fn relative(path: &Path, from: &Path) -> PathBuf {
    let path = normal(path);
    let from = normal(from);
    let n_shared = path.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let up = from.iter().skip(n_shared).map(|_| Path::new(".."));
    up.chain(path.iter().skip(n_shared).map(|part| Path::new(part.as_os_str()))).collect()
}

fn normal(path: &Path) -> Vec<std::ffi::OsString> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => (),
            part => parts.push(part.as_os_str().to_owned()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_look_so_in_junit_xml() {
        // As written by pytest 9.2 for such tests; `plain` checks it against the pytest at hand.
        for (id, class, name) in [
            ("test_a.py::test_x", "test_a", "test_x"),
            ("a/b.c/test_a.py::TestX::test_y", "a.b.c.test_a.TestX", "test_y"),
            ("t.py::test_x[a::b/c.py d]", "t", "test_x[a::b/c.py d]"),
            ("t.py::T::U::test_x[[1]]", "t.T.U", "test_x[[1]]"),
            ("README.rst::README.rst", "README.rst", "README.rst"),
            ("pkg/m.py::pkg.m.f", "pkg.m", "pkg.m.f"),
            ("checks.yaml::first", "checks.yaml", "first"),
            ("whole_file.txt", "", "whole_file.txt"),
        ] {
            assert_eq!(junit_address(id), (class.to_owned(), name.to_owned()), "{id}");
        }
    }

    #[test]
    fn ids_are_typed_relative_to_where_one_stands() {
        let check = |id: &str, from: &str| typed(id, Path::new("/p"), Path::new(from));
        assert_eq!(check("a/t.py::x[b/c]", "/p"), "a/t.py::x[b/c]");
        assert_eq!(check("a/t.py::x", "/p/a"), "t.py::x");
        assert_eq!(check("a/t.py::x", "/p/b/c"), "../../a/t.py::x");
        assert_eq!(check("../o/t.py::x", "/p"), "../o/t.py::x");
        assert_eq!(check("-t.py::x", "/p"), "./-t.py::x");
        assert_eq!(check("@t.py::x", "/p"), "./@t.py::x");
    }
}
