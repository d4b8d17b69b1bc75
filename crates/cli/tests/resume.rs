//! Nothing lost: a campaign that is killed goes on where it was, and ends as if nothing had been.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the whole program is run as a user runs it, and what cannot be read is a fault"
)]

mod document;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use document::document;
use unflake_store::Store;

/// Runs after which the campaign is killed: in the middle of the search for roles.
const N_RUNS_BEFORE_THE_KILL: u64 = 60;

/// How often we look whether something has happened that does happen, before we give up: minutes.
const LOOKS_MAX: u32 = 12_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// A project with a victim, a brittle and a few others, and folders for everything else.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        for name in ["project", "tmp"] {
            std::fs::create_dir(place.path(name)).unwrap();
        }
        place.write("state.py", "x = 0\nready = False\n");
        place.write(
            "test_a.py",
            "import state\n\n\
             def test_polluter():\n    state.x = 1\n\n\
             def test_cleaner():\n    state.x = 0\n\n\
             def test_victim():\n    assert state.x == 0\n",
        );
        place.write(
            "test_b.py",
            "import pytest\nimport state\n\n\
             def test_setter():\n    state.ready = True\n\n\
             def test_brittle():\n    assert state.ready\n\n\
             @pytest.mark.parametrize('n', range(20))\ndef test_other(n):\n    pass\n",
        );
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path("project").join(name), text).unwrap();
    }

    /// `unflake` in the project, with a history in this file and a mark by which we find whatever
    /// it starts.
    fn command(&self, store: &str, arguments: &[&str]) -> Command {
        let python = std::env::var_os("UNFLAKE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
        command.args(arguments).arg("--python").arg(python).arg("--jobs").arg("1");
        command.env("UNFLAKE_STORE", self.path(store)).env("TMPDIR", self.path("tmp"));
        command.env("UNFLAKE_TEST_MARK", self.folder.path());
        command.current_dir(self.path("project")).stdin(Stdio::null());
        command
    }

    fn run(&self, store: &str, arguments: &[&str]) -> Output {
        self.command(store, arguments).output().unwrap()
    }

    /// Starts it, and kills it once so many runs are on record.
    fn run_and_kill(&self, store: &str, arguments: &[&str], n_runs: u64) {
        let mut command = self.command(store, arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until(|| {
            n_recorded(&self.path(store)) >= n_runs || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), None, "it was killed, and did not end by itself");
    }

    /// Whether something that we started, directly or not, is still there.
    fn is_anything_left(&self) -> bool {
        let mark = format!("UNFLAKE_TEST_MARK={}", self.folder.path().display()).into_bytes();
        let processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        // Those that are gone meanwhile, and those of others, cannot be read.
        let environments = processes.filter_map(|path| std::fs::read(path.join("environ")).ok());
        environments.into_iter().any(|text| text.split(|byte| *byte == 0).any(|it| it == mark))
    }

    fn n_temporary(&self) -> usize {
        std::fs::read_dir(self.path("tmp")).unwrap().count()
    }
}

fn n_recorded(store: &Path) -> u64 {
    // Opening it would make it, and be in the way.
    if !store.exists() {
        return 0;
    }
    let campaigns = Store::open(store).and_then(|store| store.campaigns(1));
    campaigns.ok().and_then(|campaigns| Some(campaigns.first()?.n_runs)).unwrap_or(0)
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..LOOKS_MAX {
        if is_so() {
            return;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    panic!("it never happened");
}

/// What was found, without what depends on how often tests happened to be run.
fn findings(output: &Output) -> Vec<Value> {
    let report = document(output);
    let keys = ["test", "verdict", "polluters", "cleaners", "state_setters", "confirmed"];
    let told = |finding: &Value| keys.iter().map(|key| finding[key].clone()).collect();
    report["findings"].as_array().unwrap().iter().map(told).collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_killed_campaign_goes_on_and_ends_with_the_findings_of_one_that_was_not() {
    let place = Place::new();
    let detect = ["detect", "--json", "--flake-rate", "0.1"];
    let whole = place.run("whole.sqlite", &detect);
    assert_eq!(whole.status.code(), Some(1), "{}", stderr(&whole));
    assert_eq!(findings(&whole).len(), 2, "{}", document(&whole));
    assert_eq!(document(&whole)["summary"]["recalled_runs"], 0);

    place.run_and_kill("cut.sqlite", &detect, N_RUNS_BEFORE_THE_KILL);
    wait_until(|| !place.is_anything_left());
    assert_ne!(place.n_temporary(), 0, "it had no time to clean up");
    let n_before = n_recorded(&place.path("cut.sqlite"));

    let resumed = place.run("cut.sqlite", &detect);
    assert!(stderr(&resumed).contains("resuming campaign"), "{}", stderr(&resumed));
    assert_eq!(findings(&resumed), findings(&whole));
    let (report, spent) =
        (document(&resumed), document(&resumed)["summary"]["cost"]["runs"].clone());
    assert_eq!(report["summary"]["recalled_runs"], n_before);
    let store = Store::open(&place.path("cut.sqlite")).unwrap();
    let campaigns = store.campaigns(9).unwrap();
    assert_eq!(campaigns.len(), 1, "it is the same campaign");
    assert_eq!(campaigns[0].n_runs, n_before + spent.as_u64().unwrap());
    assert_eq!(campaigns[0].ended.as_deref(), Some("confident"));
    assert_eq!(place.n_temporary(), 0, "what the killed one left behind is gone");

    // What has come to its end begins anew.
    let again = place.run("cut.sqlite", &detect);
    assert_eq!(document(&again)["summary"]["recalled_runs"], 0);
    assert_eq!(store.campaigns(9).unwrap().len(), 2);
}

#[test]
fn a_campaign_of_other_terms_or_of_changed_code_is_not_resumed() {
    let place = Place::new();
    let why = ["why", "test_a.py::test_victim", "--json"];
    let recalled = |arguments: &[&str]| {
        let output = place.run("history.sqlite", arguments);
        document(&output)["summary"]["recalled_runs"].as_u64().unwrap()
    };
    // Out of budget, and so not at its end.
    let few = [&why[..], &["--runs", "5"]].concat();
    let detect = ["detect", "--json", "--depth", "kind", "--runs", "20"];
    assert_eq!(recalled(&detect), 0);
    assert_eq!(recalled(&[&detect[..], &["--seed", "1"]].concat()), 0);
    assert_eq!(recalled(&[&detect[..], &["--fresh"]].concat()), 0);
    assert!(0 < recalled(&detect), "the same goes on");
    place.write("test_c.py", "def test_new():\n    pass\n");
    assert_eq!(recalled(&detect), 0, "another test was collected");
    assert!(0 < recalled(&detect));
    place.write("state.py", "x = 0\nready = False\ny = 1\n");
    assert_eq!(recalled(&detect), 0, "the code has changed");
    place.write("state.py", "x = 0\nready = False\ny = 2\n");
    assert_eq!(recalled(&few), 0, "another question, and of changed code: nothing to go on with");
    assert!(0 < recalled(&why), "with a larger budget the same goes on");
}

#[test]
fn a_history_that_cannot_be_kept_costs_a_warning_and_not_the_result() {
    let place = Place::new();
    let why = ["why", "test_a.py::test_victim", "--json"];
    std::fs::write(place.path("text.sqlite"), "this is something else, and long enough").unwrap();
    std::fs::create_dir(place.path("folder.sqlite")).unwrap();
    for store in ["text.sqlite", "folder.sqlite", "text.sqlite/below.sqlite"] {
        let output = place.run(store, &why);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let report = document(&output);
        let warnings = report["warnings"].as_array().unwrap();
        let warning = warnings.iter().find(|warning| warning["kind"] == "not-recorded");
        assert!(warning.is_some(), "{store}: {report}");
        assert_eq!(report["campaign"], Value::Null);
        assert_eq!(report["findings"][0]["verdict"], "od-victim");
    }
    let text = std::fs::read_to_string(place.path("text.sqlite")).unwrap();
    assert_eq!(text, "this is something else, and long enough");
}

#[test]
fn nothing_is_recorded_where_that_is_not_wanted_and_nothing_ever_in_the_work_tree() {
    let place = Place::new();
    let why = ["why", "test_a.py::test_victim", "--json"];
    let output = place.run("history.sqlite", &[&why[..], &["--no-store"]].concat());
    let report = document(&output);
    assert_eq!(report["campaign"], Value::Null);
    assert_eq!(report["warnings"], serde_json::json!([]));
    assert!(!place.path("history.sqlite").exists());

    let mut command = place.command("", &why);
    command.env_remove("UNFLAKE_STORE").env("XDG_STATE_HOME", place.path("state"));
    let report = document(&command.output().unwrap());
    assert!(report["campaign"].is_string());
    let folders: Vec<PathBuf> = std::fs::read_dir(place.path("state/unflake"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    assert!(folders[0].join("history.sqlite").exists());
    let mut names: Vec<_> = std::fs::read_dir(place.path("project"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["state.py", "test_a.py", "test_b.py"]);
}
