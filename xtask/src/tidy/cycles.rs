//! Modules of a crate that depend on each other in a circle.
//!
//! A module is a file or folder beside `lib.rs`; it depends on another if its code, apart from
//! tests, says `crate::other`. This is a heuristic on text: what it finds is a cycle, but it misses
//! cycles hidden by a re-export in the crate's root.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The modules on cycles, given the files of one crate by their paths below `src` and their text.
pub(super) fn on_cycles(files: &[(&Path, &str)]) -> Vec<String> {
    let module = |path: &Path| {
        let first = path.iter().next().unwrap_or_default().to_string_lossy();
        first.trim_end_matches(".rs").to_owned()
    };
    let mut graph = Graph::new();
    for (path, text) in files {
        let name = module(path);
        if name == "lib" || name == "main" {
            continue;
        }
        let used = used_by(text).into_iter().filter(|other| *other != name);
        graph.entry(name.clone()).or_default().extend(used);
    }
    graph.keys().filter(|name| reach(&graph, name).contains(name.as_str())).cloned().collect()
}

/// The names after `crate::` in the code, without comments and tests.
fn used_by(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut used = BTreeSet::new();
    for line in code {
        for rest in line.split("crate::").skip(1) {
            let grouped = rest.strip_prefix('{').map(|group| group.split('}').next().unwrap_or(""));
            for name in grouped.unwrap_or(rest).split(',') {
                let name = name.trim().split(|c: char| !c.is_alphanumeric() && c != '_').next();
                used.extend(name.filter(|name| !name.is_empty()).map(str::to_owned));
                if grouped.is_none() {
                    break;
                }
            }
        }
    }
    used
}

fn reach<'g>(graph: &'g Graph, from: &str) -> BTreeSet<&'g str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        for next in graph.get(name).into_iter().flatten() {
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_depend_on_each_other_are_found_and_others_are_not() {
        let files = [
            (Path::new("lib.rs"), "use crate::a::A;"),
            (Path::new("a.rs"), "use crate::{b, c::C};\n"),
            (Path::new("b/mod.rs"), "// crate::a\nuse crate::c::C;\n"),
            (Path::new("b/inner.rs"), "fn f() { crate::a::f() }\n"),
            (Path::new("c.rs"), "fn f() {}\n#[cfg(test)]\nmod tests { use crate::a::A; }"),
        ];
        assert_eq!(on_cycles(&files), ["a", "b"]);
        assert_eq!(on_cycles(&files[..3]), [""; 0]);
    }
}
