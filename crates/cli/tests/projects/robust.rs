//! Nothing is lost: whatever a project does to us, there is a clear message, a usable result, and
//! the work tree is the same afterwards ([`crate::common::Project::run`] checks that every time).

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use unflake_store::Store;

use crate::common::{Project, VICTIM, python};

/// Enough runs to find the planted victim and its polluter.
const DETECT: [&str; 6] = ["detect", "--json", "--runs", "40", "--jobs", "1"];

/// A virtual environment with nothing in it, not even pytest.
pub(crate) fn bare_python(project: &Project) -> PathBuf {
    let script = "import os, sys; print(os.path.realpath(sys.executable))";
    let asked = Command::new(python()).args(["-c", script]).output().unwrap();
    let real = PathBuf::from(String::from_utf8(asked.stdout).unwrap().trim());
    let home = real.parent().unwrap().display();
    let settings = format!("home = {home}\ninclude-system-site-packages = false\n");
    project.write("bare/pyvenv.cfg", &settings);
    fs::create_dir(project.path().join("bare/bin")).unwrap();
    symlink(real, project.path().join("bare/bin/python")).unwrap();
    project.path().join("bare/bin/python")
}

/// The program after a shell script that mounts something, where the system lets us.
fn after_mounting(project: &Project, script: &str, arguments: &[&str]) -> Option<Command> {
    let script = format!("{script}\nexec \"$@\"");
    let shell = |flags: &[&str], script: &str| {
        let mut command = Command::new("unshare");
        command.args(flags).args(["sh", "-ec", script, "sh"]).current_dir(project.path());
        command
    };
    // For root, and for everybody else.
    let mut ways = [&["--mount"][..], &["--mount", "--map-root-user"]].into_iter();
    let flags = ways.find(|flags| {
        let trial = shell(flags, "mount -t tmpfs none .").output();
        trial.is_ok_and(|trial| trial.status.success())
    })?;
    let inner = project.command(arguments);
    let mut command = shell(flags, &script);
    command.arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(command)
}

#[test]
fn a_broken_conftest_is_shown_with_its_place() {
    for (conftest, complaint) in [
        ("def broken(:\n", "SyntaxError"),
        ("import no_such_module_here\n", "No module named 'no_such_module_here'"),
        ("1 / 0\n", "ZeroDivisionError"),
    ] {
        let ran = Project::with(&[("conftest.py", conftest)]).run(&DETECT);
        ran.could_not_run(&["a conftest cannot be imported", "conftest.py", complaint, "line 1"]);
    }
}

#[test]
fn a_conftest_that_ends_the_process_is_named_by_how_it_ended() {
    let project = Project::with(&[("conftest.py", "import os\nos._exit(7)\n")]);
    let ran = project.run(&DETECT);
    ran.could_not_run(&["before the tests were collected", "exit status 7", "hint: "]);
}

#[test]
fn a_process_that_ends_before_its_first_test_is_named_by_how_and_by_its_last_words() {
    let conftest = "import os\n\
         end = lambda: (os.write(2, b'no forks here\\n'), os._exit(7))\n\
         os.register_at_fork(after_in_child=end)\n";
    let project = Project::with(&[("conftest.py", conftest)]);
    let said = "its process ended before the first test: exit status 7; it wrote `no forks here`";
    project.run(&["run", "--isolation", "all"]).could_not_run(&[said]);
    for arguments in [&DETECT[..], &["why", "--json", VICTIM]] {
        let ran = project.run(arguments);
        assert!(ran.warnings()["broken-off"].contains(said), "{}", ran.stdout());
    }
    let text = project.run(&["why", VICTIM]).stdout();
    assert!(text.contains("no more runs could be made"), "{text}");
    // All that it makes are perturbed, and it wants hundreds.
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("history.sqlite");
    let ran = project.run(&["shake", VICTIM, "--store", store.to_str().unwrap()]);
    ran.could_not_run(&["no run can be made", said]);
    let campaigns = Store::open(&store).unwrap().campaigns(9).unwrap();
    let [campaign] = &campaigns[..] else { panic!("{campaigns:?}") };
    assert_eq!((campaign.n_runs, campaign.ended.as_deref()), (3, Some("interrupted")));
}

#[test]
fn that_no_run_under_another_hash_seed_can_be_started_is_said_with_the_reason() {
    let healthy = Project::with(&[]).run(&DETECT);
    assert!(!healthy.warnings().contains_key("perturbed-not-run"), "{}", healthy.stdout());
    // Another interpreter collects a test of another name.
    let named = "import pytest\n\n\
         @pytest.mark.parametrize('name', [str(hash('x'))])\n\
         def test_named(name):\n    pass\n";
    let project = Project::with(&[("test_named.py", named)]);
    let mut warnings = Vec::new();
    for n_before in [0, 1] {
        let ran = project.run(&DETECT);
        ran.has_found_the_victim();
        warnings.push(ran.warnings()["perturbed-not-run"].clone());
        // The budget ends first; so the second campaign goes on with the first.
        let n_recalled = ran.json()["summary"]["recalled_runs"].as_u64().unwrap();
        assert_eq!(n_recalled.min(1), n_before, "{}", ran.stdout());
    }
    let said = "2 runs under other open choices, such as another hash seed, could not be started: \
         collecting again gave other tests: test 0 was `test_named.py::test_named[";
    assert!(warnings[0].starts_with(said), "{}", warnings[0]);
    assert_eq!(warnings[0], warnings[1]);
    let id = warnings[0].split('`').nth(1).unwrap();
    let ran = project.run(&["why", "--json", id]);
    assert_eq!(ran.verdict(id).as_deref(), Some("not-flaky"));
    let warning = ran.warnings()["perturbed-not-run"].clone();
    assert!(warning.contains(" under other open choices"), "{warning}");
    let text = project.run(&["why", id]).stdout();
    assert!(text.contains("not tried      hash seeds, "), "{text}");
}

#[test]
fn that_a_test_is_not_there_under_another_hash_seed_is_said_when_it_is_shaken() {
    let named = "import os, pytest\n\n\
         @pytest.mark.parametrize('seed', [os.environ['PYTHONHASHSEED']])\n\
         def test_named(seed):\n    pass\n";
    let project = Project::with(&[("test_named.py", named)]);
    let arguments = ["shake", "test_named.py::test_named[0]", "--factors", "hash-seed"];
    let ran = project.run(&[&arguments[..], &["--rate", "0.3", "--json"]].concat());
    assert_eq!(ran.json()["quiet"][0]["runs"], 0, "{}", ran.stdout());
    let said = &ran.warnings()["perturbed-not-run"];
    assert!(said.contains("could not be started: collecting again gave other tests"), "{said}");
    assert_eq!(ran.code(), Some(4), "nothing was seen of that factor");
}

#[test]
fn a_file_that_cannot_be_imported_is_said_and_the_rest_goes_on() {
    let bad = "import no_such_module_here\ndef test_x(): pass\n";
    let ran = Project::with(&[("test_bad.py", bad)]).run(&DETECT);
    ran.has_found_the_victim();
    let warning = &ran.warnings()["not-collected"];
    assert!(warning.contains("test_bad.py"), "{warning}");
    assert!(warning.contains("No module named 'no_such_module_here'"), "{warning}");
}

#[test]
fn without_pytest_a_unittest_suite_is_run_by_unittest() {
    let project = Project::empty();
    project.write("state.py", "x = 0\n");
    project.write(
        "test_unit.py",
        "import unittest, state\n\n\
         class Test(unittest.TestCase):\n\
         \x20   def test_a(self): state.x = 1\n\
         \x20   def test_b(self): self.assertEqual(state.x, 0)\n",
    );
    let python = bare_python(&project);
    let ran = project.run_command(project.command_with(python.as_os_str(), &DETECT));
    assert_eq!(ran.code(), Some(1), "{}", ran.stderr());
    let finding = ran.finding("test_unit.Test.test_b").unwrap();
    assert_eq!(finding["verdict"], "od-victim");
    assert_eq!(finding["polluters"], serde_json::json!([["test_unit.Test.test_a"]]));
    let command = finding["reproduce"][0].as_str().unwrap();
    assert!(command.contains("-m unittest test_unit.Test.test_a"), "{command}");
}

#[test]
fn without_pytest_a_pytest_suite_says_what_is_missing_and_where() {
    let project = Project::with(&[("test_more.py", "import pytest\ndef test_x(): pass\n")]);
    let python = bare_python(&project);
    let ran = project.run_command(project.command_with(python.as_os_str(), &DETECT));
    let place = python.to_str().unwrap();
    ran.could_not_run(&["pytest is not installed", place, "cannot import pytest", "--python"]);
}

#[test]
fn an_interpreter_that_is_none_is_named() {
    let project = Project::with(&[]);
    for (python, said) in [
        ("no-such-python", "`no-such-python` is not an interpreter"),
        ("/no/such/python", "`/no/such/python` is not an interpreter"),
        ("./state.py", "the interpreter cannot be run"),
        ("/bin/true", "the process ended before the tests were collected"),
    ] {
        let ran = project.run_command(project.command_with(python.as_ref(), &DETECT));
        ran.could_not_run(&[said, "hint: "]);
    }
}

#[test]
fn a_test_that_hangs_is_stopped_and_the_others_are_judged() {
    let text = "import time\n\n\
         def test_hangs():\n    time.sleep(1000)\n\n\
         def test_after():\n    pass\n";
    // The last file: nothing is known of tests after one that hangs, except from other orders.
    let project = Project::with(&[("test_z.py", text)]);
    let arguments = ["detect", "--json", "--runs", "14", "--timeout", "500ms", "--depth", "kind"];
    let ran = project.run(&arguments);
    assert_eq!(ran.code(), Some(1), "{}", ran.stderr());
    assert_eq!(ran.verdict(VICTIM).as_deref(), Some("od-victim"), "{}", ran.stdout());
    let finding = ran.finding("test_z.py::test_hangs").unwrap();
    assert_eq!(finding["verdict"], "always-failing");
    let said = finding["failure"]["message"].as_str().unwrap();
    assert!(said.contains("took too long"), "{said}");
    assert_eq!(ran.verdict("test_z.py::test_after"), None);
    // What could not be asked was another question than the one that it answered.
    let warnings = ran.warnings();
    assert!(warnings["not-compared"].contains("it was stopped after"), "{}", ran.stdout());
    assert_eq!(warnings.get("plain-not-run"), None, "{}", ran.stdout());
}

/// A test that ends its process: the verdict on it, and what is said about it.
fn deadly(body: &str, said: &str) {
    let text = format!(
        "import ctypes, os, signal\n\n\
         def test_deadly():\n    {body}\n\n\
         def test_after():\n    pass\n"
    );
    let ran = Project::with(&[("test_z.py", &text)]).run(&DETECT);
    ran.has_found_the_victim();
    let finding = ran.finding("test_z.py::test_deadly").unwrap();
    assert_eq!(finding["verdict"], "always-failing");
    let message = finding["failure"]["message"].as_str().unwrap();
    assert!(message.contains(said), "`{said}` in {message}");
    assert_eq!(ran.verdict("test_z.py::test_after"), None);
}

#[test]
fn a_segfault_is_the_failure_of_its_test_alone() {
    deadly("ctypes.string_at(0)", "killed by signal 11 (SIGSEGV)");
}

#[test]
fn leaving_the_process_is_the_failure_of_its_test_alone() {
    deadly("os._exit(0)", "the process died while the test ran: exit status 0");
}

#[test]
fn killing_the_process_group_is_the_failure_of_its_test_alone() {
    deadly("os.killpg(0, signal.SIGKILL)", "killed by signal 9 (SIGKILL)");
}

#[test]
fn closing_all_descriptors_is_the_failure_of_its_test_alone() {
    deadly("os.closerange(0, 4096)", "Bad file descriptor");
}

#[test]
fn a_test_that_kills_its_parent_kills_nobody_who_is_needed() {
    let text = "import os, signal\n\n\
         def test_kills():\n    os.kill(os.getppid(), signal.SIGKILL)\n";
    let ran = Project::with(&[("test_z.py", text)]).run(&DETECT);
    ran.has_found_the_victim();
    // In a process namespace of its own it has nobody to kill.
    if !ran.warnings().contains_key("isolation-refused") {
        assert_eq!(ran.verdict("test_z.py::test_kills"), None);
    }
}

#[test]
fn output_without_end_and_of_any_bytes_is_cut() {
    let text = r"import os, sys

def test_loud():
    for _ in range(50):
        os.write(1, b'\xfe\xff\x00\x1b' * 250000)
    sys.stdout.buffer.write(b'\xff')
    print('\udcff', file=sys.stderr)
    assert 0, '\udcff \x1b[31m'
";
    let project = Project::with(&[("test_loud.py", text)]);
    let ran = project.run(&["detect", "--json", "--runs", "30", "--depth", "kind"]);
    assert_eq!(ran.code(), Some(1), "{}", ran.stderr());
    assert_eq!(ran.verdict(VICTIM).as_deref(), Some("od-victim"), "{}", ran.stdout());
    let finding = ran.finding("test_loud.py::test_loud").unwrap();
    assert_eq!(finding["verdict"], "always-failing");
    assert!(ran.stdout().len() < 200_000);
    assert!(!ran.stdout().contains('\x1b'));
}

#[test]
fn an_empty_project_has_no_tests() {
    let ran = Project::empty().run(&DETECT);
    ran.could_not_run(&["no tests were collected", "hint: "]);
}

#[test]
fn names_that_look_like_options_are_names() {
    let odd = "import pytest, state\n\n\
         names = ['--help', '-x', '-p no:terminal', '@file', '--', '-k x']\n\n\
         @pytest.mark.parametrize('name', names)\n\
         def test_odd(name):\n    state.x = int(name == '--help')\n";
    let victim = "import state\n\ndef test_x():\n    assert state.x == 0\n";
    let project = Project::empty();
    project.write("state.py", "x = 0\n");
    project.write("-x/--collect-only/test_odd.py", odd);
    project.write("-k/test_victim.py", victim);
    let id = "-k/test_victim.py::test_x";
    let ran = project.run(&["why", &format!("./{id}"), "--json", "--runs", "100"]);
    assert_eq!(ran.code(), Some(1), "{}{}", ran.stdout(), ran.stderr());
    let finding = ran.finding(id).unwrap();
    let polluter = "-x/--collect-only/test_odd.py::test_odd[--help]";
    assert_eq!(finding["polluters"], serde_json::json!([[polluter]]));
    let commands = finding["reproduce"].as_array().unwrap();
    assert!(shell(&project, commands[0].as_str().unwrap()).contains("1 failed, 1 passed"));
}

/// What a shell prints when a user pastes a line.
fn shell(project: &Project, line: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(project.path());
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTEST_ADDOPTS", "-p no:cacheprovider");
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Tests with every name that somebody might have trouble with, as many as `N_MANY`.
const MANY: &str = r##"import pytest
import state

ODD = [
    "a b", "[c]", "d/e", "f::g", "it's", 'say "hi"', "ü", "日本", "$HOME", "`id`", "\\", "*?", "#",
    "a=b", "x]", "[", "::", "%s", "!", "\u2028", "e\u0301", "-k x", "@y", "~", ";|&<>(){}", "",
]

@pytest.mark.parametrize("name", ["it's [a]::b/c \"ü\" $HOME `x` \\ 日本 'q"])
def test_polluter(name):
    state.x = 1

@pytest.mark.parametrize("name", ["'s [a]::b/c \"ü\" $(x) \\ ] 本 && \u2028"])
def test_victim(name):
    assert state.x == 0

@pytest.mark.parametrize("name", ["", "line\nbreak"])
def test_ünïcode(name):
    pass

@pytest.mark.parametrize("name", ["%d %s" % (i, ODD[i % len(ODD)]) for i in range(N_MANY)])
def test_many(name):
    pass
"##;

const ODD_FILE: &str = "prüf 1/test_männy.py";
const ODD_VICTIM: &str =
    "prüf 1/test_männy.py::test_victim['s [a]::b/c \"ü\" $(x) \\ ] 本 && \u{2028}]";
const ODD_POLLUTER: &str =
    "prüf 1/test_männy.py::test_polluter[it's [a]::b/c \"ü\" $HOME `x` \\ 日本 'q]";

fn odd_names(n_many: usize) -> Project {
    let project = Project::empty();
    project.write("state.py", "x = 0\n");
    project.write(ODD_FILE, &MANY.replace("N_MANY", &n_many.to_string()));
    // Else pytest writes them with backslashes.
    let option = "disable_test_id_escaping_and_forfeit_all_rights_to_community_support";
    // Less than half of the time that way, for ten thousand tests that do nothing.
    let addopts = "-p no:logging -p no:warnings -p no:unraisableexception -p no:threadexception -s";
    let settings = format!("[pytest]\n{option} = true\npythonpath = .\naddopts = {addopts}\n");
    project.write("pytest.ini", &settings);
    project
}

#[test]
fn ten_thousand_odd_names_are_told_apart() {
    let ran = odd_names(9_997).run(&["detect", "--json", "--runs", "8", "--depth", "kind"]);
    assert_eq!(ran.code(), Some(1), "{}", ran.stderr());
    let report = ran.json();
    assert_eq!(report["summary"]["tests"], 10_000);
    let set_aside = &ran.warnings()["not-collected"];
    assert!(set_aside.contains("control character"), "{set_aside}");
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0]["test"], ODD_VICTIM);
    assert_eq!(findings[0]["verdict"], "od-victim");
}

#[test]
fn odd_names_can_be_pasted() {
    let project = odd_names(26);
    let ran = project.run(&["why", ODD_VICTIM, "--json"]);
    let finding = ran.finding(ODD_VICTIM).unwrap_or_else(|| panic!("{}", ran.stderr()));
    assert_eq!(finding["polluters"], serde_json::json!([[ODD_POLLUTER]]));
    let printed = shell(&project, finding["reproduce"][0].as_str().unwrap());
    assert!(printed.contains("1 failed, 1 passed"), "{printed}");
}

#[test]
fn a_test_that_the_plain_runner_cannot_name_has_no_command_that_would_not_work() {
    let project = Project::with(&[]);
    let victim = "import state\n\ndef test_x():\n    assert state.x == 0\n";
    project.write("a [b]/test_in_brackets.py", victim);
    let id = "a [b]/test_in_brackets.py::test_x";
    let ran = project.run(&["why", id, "--json", "--runs", "60"]);
    let finding = ran.finding(id).unwrap_or_else(|| panic!("{}", ran.stderr()));
    assert_eq!(finding["verdict"], "od-victim");
    assert_eq!(finding["reproduce"], serde_json::json!([]));
    assert!(ran.warnings()["plain-not-run"].contains("cannot be named"), "{}", ran.stdout());
}

#[test]
fn a_folder_for_runs_that_cannot_be_made_is_named_with_a_way_out() {
    let project = Project::with(&[]);
    let mut command = project.command(&DETECT);
    command.env("TMPDIR", project.path().join("state.py"));
    let ran = project.run_command(command);
    ran.could_not_run(&["cannot prepare the folder for the runs", "state.py", "TMPDIR"]);
}

/// Where nothing can be kept: the agent takes room in the folder for the runs then.
const NO_FOLDER: &str = "/dev/null";

#[test]
fn a_disk_that_is_full_from_the_start_is_named_with_a_way_out() {
    let project = Project::with(&[]);
    let folder = tempfile::tempdir().unwrap();
    let script = format!("mount -t tmpfs -o size=16k none {}", folder.path().display());
    if let Some(mut command) = after_mounting(&project, &script, &DETECT) {
        command.env("TMPDIR", folder.path()).env("XDG_CACHE_HOME", NO_FOLDER);
        let ran = project.run_command(command);
        ran.could_not_run(&["cannot prepare the folder for the runs", "No space left", "TMPDIR"]);
    }
}

#[test]
fn a_disk_that_fills_up_costs_no_finding() {
    let text = "import os\n\n\
         def test_leaks(tmp_path):\n\
         \x20   try:\n\
         \x20       name = os.path.join(os.environ['LEAK'], os.urandom(8).hex())\n\
         \x20       open(name, 'wb').write(b'x' * 100000)\n\
         \x20   except OSError:\n\
         \x20       pass\n\n\
         def test_fills(tmp_path):\n\
         \x20   (tmp_path / 'big').write_bytes(b'x' * 3000000)\n";
    let project = Project::with(&[("test_z.py", text)]);
    let folder = tempfile::tempdir().unwrap();
    let script = format!("mount -t tmpfs -o size=2m none {}", folder.path().display());
    if let Some(mut command) = after_mounting(&project, &script, &DETECT) {
        command.env("TMPDIR", folder.path()).env("LEAK", folder.path());
        command.env("XDG_CACHE_HOME", NO_FOLDER);
        let ran = project.run_command(command);
        ran.has_found_the_victim();
        let finding = ran.finding("test_z.py::test_fills").unwrap();
        assert_eq!(finding["verdict"], "always-failing");
        let said = finding["failure"]["message"].as_str().unwrap();
        assert!(said.contains("No space left on device"), "{said}");
        assert_eq!(ran.verdict("test_z.py::test_leaks"), None);
        assert!(ran.warnings()["not-compared"].contains("No space left"), "{}", ran.stdout());
    }
}

#[test]
fn what_is_known_is_shown_when_no_more_runs_can_be_made() {
    // It takes the folder of the engine away, but not in the first order.
    let text = "import os, shutil, state\n\n\
         def test_removes():\n\
         \x20   if state.x == 0:\n\
         \x20       folder = os.path.dirname(os.path.dirname(os.environ['TMPDIR']))\n\
         \x20       shutil.rmtree(folder, ignore_errors=True)\n";
    let project = Project::with(&[("test_z.py", text)]);
    let ran = project.run(&DETECT);
    assert!(matches!(ran.code(), Some(1 | 4)), "{:?}: {}", ran.code(), ran.stderr());
    assert_eq!(ran.json()["ended"], "interrupted");
    assert!(ran.warnings().contains_key("broken-off"), "{}", ran.stdout());
    let text = project.run(&["detect", "--runs", "40"]).stdout();
    assert!(text.contains("no more runs could be made"), "{text}");
}

#[test]
fn a_work_tree_that_cannot_be_written_is_no_obstacle() {
    let writes = "def test_writes():\n    open('left.txt', 'w').write('x')\n";
    let project = Project::with(&[("test_z.py", writes)]);
    for name in ["state.py", "test_well.py", "test_z.py", ""] {
        let path = project.path().join(name);
        let mode = if path.is_dir() { 0o555 } else { 0o444 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    project.run(&DETECT).has_found_the_victim();
    // Root writes all the same, unless the file system itself refuses.
    let script = "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\"";
    if let Some(command) = after_mounting(&project, script, &DETECT) {
        project.run_command(command).has_found_the_victim();
    }
    fs::set_permissions(project.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_suite_that_ends_otherwise_under_the_plain_runner_still_leaves_no_trace() {
    // Isolation is not to blame for the difference, and not taken back for it: what the tests
    // write would land in the work tree.
    let told_apart = "import os\n\
        def test_parent():\n    \
            open('log.txt', 'a').close()\n    \
            with open(f'/proc/{os.getppid()}/cmdline') as file:\n        \
                assert 'shelter' in file.read()\n";
    let ran = Project::with(&[("test_told_apart.py", told_apart)]).run(&DETECT);
    ran.has_found_the_victim();
    let warning = &ran.warnings()["differs-from-plain"];
    assert!(warning.contains("1 test ended differently than in the plain runner"), "{warning}");
}

/// Of Linux.
const O_NONBLOCK: i32 = 0o4000;

#[test]
fn whom_a_test_starts_in_a_session_of_its_own_does_not_outlive_us() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let text = format!(
        "import subprocess\n\n\
         def test_leaves():\n    \
             with open({:?}, 'w') as pipe:\n        \
                 subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=pipe)\n",
        pipe.display().to_string()
    );
    let project = Project::with(&[("test_z.py", &text)]);
    let suite = ["detect", "--json", "--runs", "12", "--jobs", "1"];
    let without = [&suite[..], &["--isolation", "none"]].concat();
    let why = ["why", VICTIM, "--json", "--isolation", "none", "--runs", "20"];
    let commands = [&suite[..], &without, &why, &["run"], &["lint", "--dynamic"]];
    for arguments in commands {
        // Opened by us for both first, so that whoever opens it does not wait.
        let both = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let mut reader = fs::OpenOptions::new();
        let mut reader = reader.read(true).custom_flags(O_NONBLOCK).open(&pipe).unwrap();
        project.run(arguments);
        drop(both);
        // An error if somebody still holds it open.
        let n_read = reader.read(&mut [0; 8]).map_err(|error| error.kind());
        assert_eq!(n_read, Ok(0), "somebody is left behind by {arguments:?}");
    }
}

#[test]
fn whom_a_shell_has_started_before_it_became_us_is_left_alone() {
    let project = Project::with(&[]);
    let inner = project.command(&["run"]);
    let mut command = Command::new("sh");
    let script = "sleep 600 > /dev/null 2>&1 & echo $! >&2; exec \"$@\"";
    command.args(["-c", script, "sh"]).arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(project.path());
    let ran = project.run_command(command);
    let stderr = ran.stderr();
    let pid = stderr.lines().next().unwrap();
    let is_there = fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|it| it == "sleep\n");
    let ended = Command::new("kill").arg(pid).status().unwrap();
    assert!(is_there && ended.success(), "{stderr}");
}
