//! State that is set when a file is imported: what an agent sees and what the plain runner sees.

use serde_json::json;

use crate::common::Project;

const VICTIM: &str = "test_fee.py::test_fee";

/// Importing `test_b_net.py` selects another network; one test selects the usual one again.
fn project() -> Project {
    let project = Project::empty();
    project.write("net.py", "NAME = 'main'\n");
    project.write("test_a_other.py", "def test_nothing():\n    pass\n");
    project.write(
        "test_b_net.py",
        "import net\nnet.NAME = 'test'\n\ndef test_one():\n    pass\n\n\
         def test_two():\n    assert net.NAME\n",
    );
    project.write("test_c_reset.py", "import net\n\ndef test_reset():\n    net.NAME = 'main'\n");
    project.write("test_fee.py", "import net\n\ndef test_fee():\n    assert net.NAME == 'main'\n");
    project
}

#[test]
fn a_test_that_does_not_stand_the_import_of_a_file_is_a_victim_of_that_file() {
    let project = project();
    for call in [vec!["why", VICTIM], vec!["detect"]] {
        let report = project.run(&[&call[..], &["--json", "--no-store"]].concat()).json();
        let finding = &report["findings"][0];
        assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{report:#}");
        assert_eq!(finding["test"], VICTIM);
        assert_eq!(finding["verdict"], "od-victim", "{finding:#}");
        assert_eq!(finding["confirmed"], true, "{finding:#}");
        let polluters = json!([["test_b_net.py::test_one"], ["test_b_net.py::test_two"]]);
        assert_eq!(finding["polluters"], polluters);
        assert_eq!(finding["cleaners"][0]["cleaners"], json!(["test_c_reset.py::test_reset"]));
        assert_eq!(finding["state"][0]["where"], "test_b_net.py");
        assert_eq!(finding["state"][0]["kind"], "import");
        let command = finding["reproduce"][0].as_str().unwrap();
        assert!(command.ends_with("test_b_net.py::test_one test_fee.py::test_fee"), "{command}");
    }
}

/// Both tests of the file that selects another network select the usual one again.
#[test]
fn where_all_tests_of_the_file_put_things_right_the_command_collects_it_and_runs_none() {
    let project = Project::empty();
    project.write("net.py", "NAME = 'main'\n");
    project.write(
        "test_b_net.py",
        "import net\nnet.NAME = 'test'\n\ndef test_one():\n    net.NAME = 'main'\n\n\
         def test_two():\n    net.NAME = 'main'\n",
    );
    project.write("test_fee.py", "import net\n\ndef test_fee():\n    assert net.NAME == 'main'\n");
    let report = project.run(&["why", VICTIM, "--json", "--no-store"]).json();
    let finding = &report["findings"][0];
    assert_eq!(finding["verdict"], "od-victim", "{finding:#}");
    assert_eq!(finding["confirmed"], true, "{finding:#}");
    assert_eq!(finding["polluters"], json!([]));
    assert_eq!(finding["state"][0]["where"], "test_b_net.py");
    let command = finding["reproduce"][0].as_str().unwrap();
    let told = "test_b_net.py test_fee.py::test_fee --deselect=test_b_net.py";
    assert!(command.ends_with(told), "{command}");
}
