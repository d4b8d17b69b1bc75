//! Words of test frameworks outside of the adapters (invariant 3 of ARCHITECTURE.md).

use std::path::Path;

/// Words that only adapters, agents and the registry may use in code. JUnit is not included: its
/// XML is a format that many runners write.
const WORDS: [&str; 10] = [
    "pytest",
    "unittest",
    "python",
    "conftest",
    "maven",
    "gradle",
    "surefire",
    "nondex",
    "unflake_junit",
    "unflake_command",
];

/// Where these words may occur, and why.
const EXCUSED: [(&str, &str); 8] = [
    ("crates/pytest", "an adapter"),
    ("crates/junit", "an adapter"),
    ("crates/command", "an adapter"),
    ("crates/tracer", "a part of an adapter"),
    ("crates/app/src/registry.rs", "the registry names them"),
    ("crates/calls/src/set.rs", "functions of languages are its subject"),
    ("crates/cli/src", "help shows what people type; adapters are reached through the registry"),
    ("xtask", "chores prepare what the tests of adapters need"),
];

/// The lines of a file, by number, that use such a word in code.
pub(super) fn found(path: &Path, text: &str) -> Vec<(usize, &'static str)> {
    let place = path.to_string_lossy();
    let is_excused = EXCUSED.iter().any(|(start, _)| place.starts_with(start));
    if is_excused || place.contains("/tests/") {
        return Vec::new();
    }
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let line = line.split("//").next().unwrap_or_default().to_lowercase();
        found.extend(WORDS.iter().filter(|word| line.contains(**word)).map(|word| (number, *word)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_framework_is_named_by_its_adapter_and_in_comments_only() {
        let text = "// pytest\nlet runner = \"pytest\";\n#[cfg(test)]\nlet maven = 1;\n";
        assert_eq!(found(Path::new("crates/app/src/run.rs"), text), [(2, "pytest")]);
        assert!(found(Path::new("crates/pytest/src/plain.rs"), text).is_empty());
        assert!(found(Path::new("crates/app/tests/stopped.rs"), text).is_empty());
    }
}
