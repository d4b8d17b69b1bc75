//! Reading what `python -m unittest -v` says.
//!
//! There is no report but the text for people. Failures are taken from the list at the end, where
//! nothing that tests print can stand in between; only skips need the line of the test itself. That
//! list is cut where the output was too long to be kept, and then the last lines decide: without
//! the line that counts the tests, nothing is believed.

use std::collections::BTreeMap;

use unflake_engine::Said;
use unflake_model::{Outcome, Phase};

/// The folder in which the module of a test lies, seen from the working directory; `None` if it is
/// that one.
pub(crate) fn top_folder(id: &str, file: &str) -> Option<String> {
    let path = file.strip_suffix(".py").unwrap_or(file);
    let path = path.strip_suffix("/__init__").unwrap_or(path);
    // The longest end of the path that the id begins with is the module; the rest is the folder.
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(slash, _)| slash + 1));
    let mut starts = starts.filter(|start| {
        let module = path[*start..].replace('/', ".");
        id.strip_prefix(&module).is_some_and(|rest| rest.starts_with('.'))
    });
    let start = starts.next()?;
    (0 < start).then(|| path[..start - 1].to_owned())
}

/// What the line of a test says where it is not the usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remark {
    Skipped,
    UnexpectedSuccess,
}

/// What was said about each of these tests; `None` if the runner did not come to its end.
pub(crate) fn read(ids: &[&str], output: &str) -> Option<Vec<Said>> {
    let lines: Vec<&str> = output.lines().collect();
    lines.iter().rposition(|line| line.starts_with("Ran ") && line.contains(" test"))?;
    let remarks = remarks(ids, &lines);
    let complaints = complaints(ids, &lines);
    let mut said: Vec<Said> = ids.iter().map(|id| one(id, &complaints, &remarks)).collect();
    // A class or module that cannot be torn down is the failure of the last test in it.
    for (name, text) in &complaints {
        let owner = name.strip_suffix(".tearDownClass").or(name.strip_suffix(".tearDownModule"));
        let last = owner.and_then(|owner| ids.iter().rposition(|id| is_in(id, owner)));
        if let Some(said) = last.map(|last| &mut said[last])
            && said.outcome == Outcome::Passed
        {
            said.outcome = Outcome::Failed { phase: Phase::TearDown };
            said.text.clone_from(text);
        }
    }
    Some(said)
}

fn one(
    id: &str,
    complaints: &BTreeMap<String, String>,
    remarks: &BTreeMap<String, Remark>,
) -> Said {
    let said = |outcome, text: &str| Said { outcome, text: text.to_owned() };
    let failed = Outcome::Failed { phase: Phase::Call };
    if !can_read(id) {
        return said(Outcome::NotRun, "");
    }
    if let Some(text) = complaints.get(id) {
        return said(failed, text);
    }
    // What stands above it could not be set up, or was skipped as a whole.
    let above = |name: &str| {
        let suffixed = |owner: &str| format!("{owner}.{name}");
        id.match_indices('.').map(|(dot, _)| suffixed(&id[..dot])).collect::<Vec<_>>()
    };
    let set_ups = [above("setUpClass"), above("setUpModule")].concat();
    if let Some(text) = set_ups.iter().find_map(|name| complaints.get(name)) {
        return said(Outcome::Error, text);
    }
    let remark = set_ups.iter().map(String::as_str).chain([id]).find_map(|name| remarks.get(name));
    match remark {
        Some(Remark::Skipped) => said(Outcome::Skipped, ""),
        Some(Remark::UnexpectedSuccess) => said(failed, "unexpected success"),
        None => said(Outcome::Passed, ""),
    }
}

fn is_in(id: &str, owner: &str) -> bool {
    id.strip_prefix(owner).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether the name of a test can be told from what stands around it.
pub(crate) fn can_read(id: &str) -> bool {
    !id.contains(['(', ')'])
}

/// A test as it is written for people, `name (module.Class.name)` or, before Python 3.11,
/// `name (module.Class)`: its id, and what follows. What is no identifier (a test made by
/// `setattr` may be called anything) is the name of a test only if one of these is called so.
fn named<'a>(ids: &[&str], text: &'a str) -> Option<(String, &'a str)> {
    let (name, rest) = text.split_once(" (")?;
    let (place, rest) = rest.split_once(')')?;
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    };
    let is_whole = place.strip_suffix(name).is_some_and(|owner| owner.ends_with('.'));
    let id = if is_whole { place.to_owned() } else { format!("{place}.{name}") };
    let is_known = (is_name(name) && is_name(place)) || ids.contains(&id.as_str());
    is_known.then_some((id, rest))
}

/// The list at the end: each test that failed, with its complaint.
fn complaints(ids: &[&str], lines: &[&str]) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut current: Option<String> = None;
    for (place, line) in lines.iter().enumerate() {
        let is_ruled = 0 < place && is_rule(lines[place - 1], '=');
        let header = line.strip_prefix("FAIL: ").or(line.strip_prefix("ERROR: "));
        if let Some((id, _)) = header.filter(|_| is_ruled).and_then(|text| named(ids, text)) {
            found.entry(id.clone()).or_default();
            current = Some(id);
        } else if is_rule(line, '=') || line.starts_with("Ran ") {
            current = None;
        } else if !is_rule(line, '-')
            && let Some(text) = current.as_ref().and_then(|id| found.get_mut(id))
        {
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}

fn is_rule(line: &str, of: char) -> bool {
    line.len() == 70 && line.chars().all(|c| c == of)
}

/// What the lines of tests say where it is not the usual.
fn remarks(ids: &[&str], lines: &[&str]) -> BTreeMap<String, Remark> {
    let mut found = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in lines {
        if let Some((id, _)) = named(ids, line) {
            current = Some(id);
        }
        // What a test printed may stand between its line and the remark.
        let remark = line.rsplit_once(" ... ").map_or(*line, |(_, remark)| remark);
        let remark = match remark {
            "expected failure" => Remark::Skipped,
            "unexpected success" => Remark::UnexpectedSuccess,
            text if text.starts_with("skipped '") || text.starts_with("skipped \"") => {
                Remark::Skipped
            }
            _ => continue,
        };
        found.extend(current.take().map(|id| (id, remark)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
test_a (t.T.test_a) ... ok
test_b (t.T.test_b)
Says what it does. ... noise from the test
FAIL
test_c (t.T) ... skipped 'why not'
test_d (t.T.test_d) ... expected failure
test_e (t.T.test_e) ... unexpected success
test_f (t.T.test_f) ... 
  test_f (t.T.test_f) (i=1) ... FAIL
setUpClass (t.U) ... ERROR
test_g (t.V.test_g) ... ok
tearDownClass (t.V) ... ERROR

======================================================================
FAIL: test_b (t.T.test_b)
Says what it does.
----------------------------------------------------------------------
Traceback: b

======================================================================
FAIL: test_f (t.T.test_f) (i=1)
----------------------------------------------------------------------
Traceback: f

======================================================================
ERROR: setUpClass (t.U)
----------------------------------------------------------------------
Traceback: U

======================================================================
ERROR: tearDownClass (t.V)
----------------------------------------------------------------------
Traceback: V

----------------------------------------------------------------------
Ran 7 tests in 0.001s

FAILED (failures=2, errors=2, skipped=1, expected failures=1, unexpected successes=1)
";

    #[test]
    fn every_kind_of_ending_is_read() {
        let ids = ["t.T.test_a", "t.T.test_b", "t.T.test_c", "t.T.test_d", "t.T.test_e"];
        let more = ["t.T.test_f", "t.U.test_x", "t.V.test_g"];
        let said = read(&[&ids[..], &more].concat(), OUTPUT).unwrap();
        let failed = Outcome::Failed { phase: Phase::Call };
        let outcomes: Vec<Outcome> = said.iter().map(|said| said.outcome).collect();
        assert_eq!(
            outcomes,
            [
                Outcome::Passed,
                failed,
                Outcome::Skipped,
                Outcome::Skipped,
                failed,
                failed,
                Outcome::Error,
                Outcome::Failed { phase: Phase::TearDown },
            ]
        );
        assert_eq!(said[5].text, "Traceback: f\n\n");
    }

    #[test]
    fn a_test_with_a_name_that_is_no_identifier_is_read_under_it() {
        let rules = ["=".repeat(70), "-".repeat(70)];
        for place in ["t.T.test a-b", "t.T"] {
            let output = format!(
                "test a-b ({place}) ... FAIL\n\n{}\nFAIL: test a-b ({place})\n{}\nTraceback\n\n\
                 {}\nRan 1 test in 0.001s\n",
                rules[0], rules[1], rules[1]
            );
            let said = read(&["t.T.test a-b"], &output).unwrap();
            assert_eq!(said[0].outcome, Outcome::Failed { phase: Phase::Call }, "{place}");
        }
    }

    #[test]
    fn of_a_test_with_a_name_that_cannot_be_told_from_its_place_nothing_is_said() {
        let said =
            read(&["t.T.test (a)"], "test (a) (t.T.test (a)) ... FAIL\n\nRan 1 test").unwrap();
        assert_eq!(said[0].outcome, Outcome::NotRun);
    }

    #[test]
    fn without_its_last_lines_nothing_is_believed() {
        assert_eq!(read(&["t.T.test_a"], "test_a (t.T.test_a) ... ok\n"), None);
    }

    #[test]
    fn the_folder_of_a_module_follows_from_its_file() {
        for (id, file, folder) in [
            ("test_a.T.test_x", "test_a.py", None),
            ("test_a.T.test_x", "tests/test_a.py", Some("tests")),
            ("tests.test_a.T.test_x", "tests/test_a.py", None),
            ("b.test_a.T.test_x", "a/b/test_a.py", Some("a")),
            ("b.T.test_x", "a/b/__init__.py", Some("a")),
            ("elsewhere.T.test_x", "a/b.py", None),
        ] {
            assert_eq!(top_folder(id, file).as_deref(), folder, "{id} in {file}");
        }
    }
}
