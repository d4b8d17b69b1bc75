//! `cargo xtask tidy`: house rules that no lint knows.
//!
//! | rule | why |
//! |---|---|
//! | files up to [`LINES_MAX`] lines, lines up to [`COLUMNS_MAX`] columns | one sitting |
//! | no leftovers ([`LEFTOVERS`]) | a stub is never done |
//! | no `match` on a verdict has an arm for all others ([`wildcards`]) | new ones need thought |
//! | crates depend downwards only ([`LAYERS`]) | analyses cannot do I/O by accident |
//! | every crate stands in ARCHITECTURE.md | the map is true |
//! | no cycle among the modules of a crate (`cycles`) | one can be read before the other |
//! | framework words in adapters only (`frameworks`) | a new runner changes nothing else |
//! | the map of an agent names every file and no other (`maps`) | files can be found |
//! | every crate has the lints of the workspace, but for [`OWN_LINTS`] | an exception has a name |

mod cycles;
mod frameworks;
mod maps;

use std::fs;
use std::path::{Path, PathBuf};

use crate::{root, wildcards};

const LINES_MAX: usize = 900;
const COLUMNS_MAX: usize = 100;

/// Words that mean "not finished", spelled so that this file does not find itself.
const LEFTOVERS: [&str; 6] = [
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("#[ig", "nore"),
    concat!("d", "bg!("),
];

/// From the bottom up. A crate may only use crates of lower layers; the last one may use all. So
/// nothing uses the last, except tests, which is what one of its crates is for.
const LAYERS: [&[&str]; 8] = [
    &["unflake-model", "unflake-wire", "unflake-tracer"],
    &["unflake-stats", "unflake-orders", "unflake-sim", "unflake-store", "unflake-calls"],
    &["unflake-detect", "unflake-engine", "unflake-known"],
    &["unflake-adapter", "unflake-report"],
    &["unflake-pytest", "unflake-junit", "unflake-command"],
    &["unflake-campaign"],
    &["unflake-app"],
    &["unflake", "unflake-conformance", "xtask"],
];

/// Crates that set one lint differently. Cargo lets a crate inherit all lints or none, so these
/// repeat the others, and must not lose any.
const OWN_LINTS: [(&str, &str); 1] = [("unflake-tracer", "unsafe_code")];

pub(crate) fn run() -> Result<(), String> {
    println!("\n==> cargo xtask tidy");
    let root = root();
    let mut faults = Vec::new();
    for file in files(root, "rs")? {
        let text = read(&file)?;
        faults.extend(check_source(&file, &text));
        let below = file.strip_prefix(root).unwrap_or(&file);
        let words = frameworks::found(below, &text);
        let fault = |(number, word)| format!("{}:{number}: `{word}`", below.display());
        faults.extend(words.into_iter().map(fault));
    }
    for folder in list(&root.join("crates"))? {
        faults.extend(check_cycles(&folder)?);
    }
    for agent in maps::AGENTS {
        faults.extend(check_map(root, agent)?);
    }
    let architecture = read(&root.join("ARCHITECTURE.md"))?;
    let workspace = parsed(&read(&root.join("Cargo.toml"))?)?;
    for manifest in manifests(root)? {
        let manifest = parsed(&read(&manifest)?)?;
        faults.extend(check_manifest(&manifest, &architecture)?);
        faults.extend(check_lints(&manifest, &workspace)?);
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n       ")) }
}

fn check_cycles(folder: &Path) -> Result<Option<String>, String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let source = folder.join("src");
    let paths = files_below(vec![source.clone()], "rs")?;
    let texts = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let below = paths.iter().map(|path| path.strip_prefix(&source).unwrap_or(path));
    let files: Vec<(&Path, &str)> = below.zip(texts.iter().map(String::as_str)).collect();
    let modules = cycles::on_cycles(&files);
    let fault = || format!("crate `{name}`: modules in a circle: {}", modules.join(", "));
    Ok((!modules.is_empty()).then(fault))
}

fn check_map(
    root: &Path,
    (agent, sources, ending): (&str, &str, &str),
) -> Result<Vec<String>, String> {
    let folder = root.join("agents").join(agent);
    let files = files_below(vec![folder.join(sources)], ending)?;
    let below = files.iter().map(|file| file.strip_prefix(&folder).unwrap_or(file));
    let there: Vec<String> = below.map(|file| file.display().to_string()).collect();
    let map = folder.join("README.md");
    let faults = maps::faults(&read(&map)?, &there);
    Ok(faults.into_iter().map(|fault| format!("{}: {fault}", map.display())).collect())
}

fn check_source(path: &Path, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let n_lines = text.lines().count();
    if LINES_MAX < n_lines {
        faults.push(format!("{}: {n_lines} lines, at most {LINES_MAX}", path.display()));
    }
    for (number, line) in (1..).zip(text.lines()) {
        let at = format!("{}:{number}", path.display());
        if COLUMNS_MAX < line.chars().count() && !is_excused(path, line) {
            faults.push(format!("{at}: longer than {COLUMNS_MAX} columns"));
        }
        for word in LEFTOVERS.iter().filter(|word| line.contains(**word)) {
            faults.push(format!("{at}: `{word}` is left over"));
        }
    }
    for number in wildcards::lines(text) {
        let fault = "an arm stands for all other verdicts; name them";
        faults.push(format!("{}:{number}: {fault}", path.display()));
    }
    faults
}

/// Links and string literals cannot be broken; the expected text in a test often has many lines.
fn is_excused(path: &Path, line: &str) -> bool {
    line.contains("://")
        || line.contains('"')
        || path.components().any(|c| c.as_os_str() == "tests")
}

fn parsed(manifest: &str) -> Result<toml::Table, String> {
    manifest.parse().map_err(|error| format!("a Cargo.toml cannot be read: {error}"))
}

fn name_of(manifest: &toml::Table) -> Result<&str, String> {
    let name = manifest.get("package").and_then(|package| package.get("name"));
    Ok(name.and_then(toml::Value::as_str).ok_or("a Cargo.toml has no package name")?)
}

fn check_lints(manifest: &toml::Table, workspace: &toml::Table) -> Result<Vec<String>, String> {
    let name = name_of(manifest)?;
    let own = manifest.get("lints").and_then(toml::Value::as_table);
    if own.and_then(|own| own.get("workspace")).and_then(toml::Value::as_bool) == Some(true) {
        return Ok(Vec::new());
    }
    let Some((_, excepted)) = OWN_LINTS.iter().find(|(known, _)| *known == name) else {
        return Ok(vec![format!("crate `{name}` does not have the lints of the workspace")]);
    };
    let common = workspace.get("workspace").and_then(|workspace| workspace.get("lints"));
    let groups = common.and_then(toml::Value::as_table).ok_or("the workspace has no lints")?;
    let mut faults = Vec::new();
    for (group, lints) in groups {
        for (lint, level) in lints.as_table().into_iter().flatten() {
            let here = own.and_then(|own| own.get(group)).and_then(|own| own.get(lint));
            if lint != excepted && here != Some(level) {
                faults.push(format!("crate `{name}` has lint `{group}.{lint}` differently"));
            }
        }
    }
    Ok(faults)
}

fn check_manifest(manifest: &toml::Table, architecture: &str) -> Result<Vec<String>, String> {
    let name = name_of(manifest)?;
    let Some(layer) = layer_of(name) else {
        return Ok(vec![format!("crate `{name}` has no layer; give it one in xtask/src/tidy.rs")]);
    };
    let mut faults = Vec::new();
    if !architecture.contains(&format!("`{}`", name.trim_start_matches("unflake-"))) {
        faults.push(format!("ARCHITECTURE.md does not mention crate `{name}`"));
    }
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    for used in dependencies.into_iter().flat_map(toml::Table::keys) {
        if layer_of(used).is_some_and(|used_layer| layer <= used_layer) {
            faults.push(format!("crate `{name}` uses `{used}`, which is not below it"));
        }
    }
    Ok(faults)
}

fn layer_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|crates| crates.contains(&name))
}

fn manifests(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut manifests = vec![root.join("xtask/Cargo.toml")];
    for entry in list(&root.join("crates"))? {
        manifests.push(entry.join("Cargo.toml"));
    }
    Ok(manifests)
}

/// All of our files with this ending, under `crates` and `xtask`.
fn files(root: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    files_below(vec![root.join("crates"), root.join("xtask")], ending)
}

fn files_below(mut open: Vec<PathBuf>, ending: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for path in list(&folder)? {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let fault = |error| format!("failed to list `{}`: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(fault)?;
    entries.map(|entry| entry.map(|e| e.path()).map_err(fault)).collect()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path)
        .map_err(|error| format!("failed to read `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_and_long_lines_are_found_where_they_stand() {
        let text = format!("fn f() {{\n    {}\n}}\n// {}\n", LEFTOVERS[0], "x".repeat(100));
        let faults = check_source(Path::new("a.rs"), &text);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].starts_with("a.rs:2: "), "{faults:?}");
        assert!(faults[1].starts_with("a.rs:4: "), "{faults:?}");
    }

    #[test]
    fn a_crate_that_looks_up_is_found() {
        let manifest = "[package]\nname = \"unflake-model\"\n[dependencies]\nunflake-detect = {}\n";
        let manifest = &parsed(manifest).unwrap();
        let faults = check_manifest(manifest, "`model`").unwrap();
        assert_eq!(faults, ["crate `unflake-model` uses `unflake-detect`, which is not below it"]);
        assert_eq!(check_manifest(manifest, "").unwrap().len(), 2);
    }

    #[test]
    fn a_crate_that_leaves_out_a_lint_is_found() {
        let lints = "rust.unsafe_code = \"forbid\"\nclippy.todo = \"warn\"\n";
        let workspace = parsed(&format!("[workspace.lints]\n{lints}")).unwrap();
        let checked = |name: &str, lints: &str| {
            let manifest = format!("[package]\nname = \"{name}\"\n[lints]\n{lints}");
            check_lints(&parsed(&manifest).unwrap(), &workspace).unwrap()
        };
        let inherited = "workspace = true";
        assert_eq!(checked("unflake-model", inherited), [""; 0]);
        assert_eq!(checked("unflake-model", lints).len(), 1, "none may repeat them unasked");
        let allowed = lints.replace("forbid", "allow");
        assert_eq!(checked("unflake-tracer", &allowed), [""; 0]);
        let fault = "crate `unflake-tracer` has lint `clippy.todo` differently";
        assert_eq!(checked("unflake-tracer", &allowed.replace("warn", "allow")), [fault]);
        assert_eq!(checked("unflake-tracer", "rust.unsafe_code = \"allow\""), [fault]);
    }
}
