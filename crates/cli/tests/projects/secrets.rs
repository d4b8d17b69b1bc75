//! What looks like a secret is neither shown nor kept, unless the user wants to see it.

use std::fs;
use std::path::Path;

use crate::common::{Project, Ran};

/// Of a variable that somebody has in the environment; and one that a test leaves there.
const OURS: &str = "correct-horse-battery";
const LEFT: &str = "tr0ub4dor";

const TESTS: &str = "\
import os

def test_polluter():
    os.environ['SHOP_TOKEN'] = 'tr0ub4dor'

def test_victim():
    assert 'SHOP_TOKEN' not in os.environ, 'with ' + os.environ['SHOP_PASSWORD']
";

const VICTIM: &str = "test_it.py::test_victim";

fn run(project: &Project, arguments: &[&str]) -> Ran {
    let mut command = project.command(arguments);
    command.env("SHOP_PASSWORD", OURS);
    project.run_command(command)
}

/// All that was written below a folder, as text.
fn everything_below(folder: &Path) -> String {
    let mut found = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.push_str(&everything_below(&path));
        } else {
            found.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap()));
        }
    }
    found
}

#[test]
fn they_are_masked_in_reports_and_never_kept() {
    let project = Project::empty();
    project.write("test_it.py", TESTS);
    let why = ["why", VICTIM, "--runs", "60", "--jobs", "1", "--fresh"];
    let lint = ["lint", "--dynamic"];
    for arguments in [&why[..], &lint, &["run", "--order", "original"], &["history", VICTIM]] {
        let ran = if arguments[0] == "history" {
            let mut command = project.command_without_python(arguments);
            command.env("SHOP_PASSWORD", OURS);
            project.run_command(command)
        } else {
            run(&project, arguments)
        };
        let said = ran.stdout() + &ran.stderr();
        assert!(!said.contains(OURS) && !said.contains(LEFT), "{arguments:?}: {said}");
        assert!(said.contains("***"), "{arguments:?}: {said}");
    }
    let kept = everything_below(project.state());
    assert!(kept.contains("test_victim") && kept.contains("***"));
    assert!(!kept.contains(OURS) && !kept.contains(LEFT));

    let shown = run(&project, &[&why[..], &["--show-secrets"]].concat()).stdout();
    assert!(shown.contains(OURS) && shown.contains(LEFT), "{shown}");
    project.write("unflake.toml", "show-secrets = true\n");
    let shown = run(&project, &lint).stdout();
    assert!(shown.contains(LEFT), "{shown}");
    let kept = everything_below(project.state());
    assert!(!kept.contains(OURS) && !kept.contains(LEFT));
}
