//! The maps of the agents: each README.md must have a row for each file, with the question it
//! answers.

use std::collections::BTreeSet;

/// An agent below `agents`: its folder, the folder of its sources, and the ending of their names.
pub(super) const AGENTS: [(&str, &str, &str); 2] =
    [("java", "src", "java"), ("python", "unflake_agent", "py")];

/// The beginning of a row in a map: `| [`name`](path) | question |`.
const ROW: &str = "| [`";

/// Faults of a map; paths of existing files are relative to the folder of the map, as in the map.
pub(super) fn faults(map: &str, there: &[String]) -> Vec<String> {
    let rows: Vec<&str> = map.lines().filter(|line| line.starts_with(ROW)).collect();
    let mut faults = Vec::new();
    let mut named = BTreeSet::new();
    for row in rows {
        let target = row.split_once("](").and_then(|(_, rest)| rest.split_once(')'));
        let Some((path, rest)) = target else {
            faults.push(format!("a row names no file: {row}"));
            continue;
        };
        if rest.trim_matches(['|', ' ']).is_empty() {
            faults.push(format!("`{path}` answers no question"));
        }
        if !named.insert(path) {
            faults.push(format!("`{path}` has two rows"));
        }
    }
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    faults.extend(there.difference(&named).map(|path| format!("`{path}` has no row")));
    faults.extend(named.difference(&there).map(|path| format!("`{path}` is not there")));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(map: &str, there: &[&str]) -> Vec<String> {
        let there: Vec<String> = there.iter().map(|path| (*path).to_owned()).collect();
        faults(map, &there)
    }

    #[test]
    fn a_map_that_names_every_file_and_no_other_has_no_fault() {
        let map = "| class | question |\n|---|---|\n| [`A`](src/A.java) | What is A? |\n\
            | **`p`** | **a package** |\n| [`B`](src/p/B.java) | What is B? |\n";
        assert_eq!(found(map, &["src/A.java", "src/p/B.java"]), [""; 0]);
    }

    #[test]
    fn files_without_a_row_and_rows_without_a_file_are_found() {
        let map = "| [`A`](src/A.java) | What is A? |\n";
        let faults = found(map, &["src/B.java"]);
        assert_eq!(faults, ["`src/B.java` has no row", "`src/A.java` is not there"]);
    }

    #[test]
    fn rows_that_say_nothing_or_the_same_twice_are_found() {
        let map = "| [`A`](A.py) | |\n| [`A`](A.py) | What is A? |\n| [`B`] | What is B? |\n";
        let faults = found(map, &["A.py"]);
        let row = "a row names no file: | [`B`] | What is B? |";
        assert_eq!(faults, ["`A.py` answers no question", "`A.py` has two rows", row]);
    }
}
