//! The program on a Java project, as a user runs it. Needs a JDK, Maven and Gradle.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the whole program is run as a user runs it, and what cannot be read is a fault"
)]

mod document;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use document::document;

/// The fixture of the adapter: modules with JUnit 4, with JUnit 5, and one that does not compile.
const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../junit/tests/projects/shop");

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn unflake(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    command.args(arguments).args(["--no-store", "--json"]).current_dir(folder);
    command.output().unwrap()
}

#[test]
fn a_victim_is_explained_and_maven_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(SHOP), folder.path());
    let victim = "com.acme.AmountTest#isShownInEuro";
    let ran = unflake(folder.path(), &["why", victim]);
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("module `broken` is left out"), "{stderr}");
    let report = document(&ran);
    let finding = &report["findings"][0];
    assert_eq!(finding["test"], victim);
    assert_eq!(finding["verdict"], "od-victim");
    let polluter = "com.acme.CheckoutTest#paysInDollars";
    assert_eq!(finding["polluters"], json!([[polluter]]));
    let cleaners =
        json!([{"polluters": [polluter], "cleaners": ["com.acme.SettingsTest#areReset"]}]);
    assert_eq!(finding["cleaners"], cleaners);
    assert_eq!(finding["confirmed"], true);
    let command = finding["reproduce"][0].as_str().unwrap();
    assert!(command.starts_with("mvn test ") && command.contains(victim), "{command}");
}

#[test]
fn a_missing_java_and_a_missing_maven_are_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pom.xml"), "<project/>").unwrap();
    let said = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
        command.args(["detect", "--no-store"]).env(name, "/nowhere").current_dir(folder.path());
        let ran = command.output().unwrap();
        assert_eq!(ran.status.code(), Some(3));
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    let java = said("JAVA_HOME");
    assert!(java.contains("error: Maven does not find a Java: "), "{java}");
    assert!(java.contains("hint: install a Java development kit"), "{java}");
    let maven = said("PATH");
    assert!(maven.contains("error: cannot run `mvn`: "), "{maven}");
    assert!(maven.contains("hint: install Maven, or put its wrapper `mvnw` there"), "{maven}");
}

#[test]
fn doctor_says_what_there_is_and_what_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(SHOP), folder.path());
    let doctor = |variable: (&str, &str)| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
        command.args(["doctor", "--json"]).current_dir(folder.path());
        let ran = command.env(variable.0, variable.1).output().unwrap();
        let report = document(&ran);
        let checks = report["checks"].as_array().unwrap().clone();
        (ran.status.code(), checks)
    };
    let (code, checks) = doctor(("UNUSED", ""));
    assert_eq!(code, Some(0), "{checks:?}");
    let found = |what: &str, start: &str| {
        let is_it = |check: &&Value| {
            check["what"] == what && check["found"].as_str().unwrap().starts_with(start)
        };
        checks.iter().find(is_it).unwrap_or_else(|| panic!("{what} {start} in {checks:?}"))["ok"]
            == true
    };
    assert!(found("build", "mvn") && found("java", "") && found("choices", "NonDex"));
    assert!(found("functions", "those that tests call"));
    assert!(found("module", "old: 22 tests, JUnit 4."));
    assert!(found("module", "new: 22 tests, Jupiter 5."));
    assert!(!found("module", "broken: "));
    let (code, checks) = doctor(("PATH", "/nowhere"));
    assert_eq!(code, Some(3));
    assert_eq!(checks[1]["hint"], "install Maven, or put its wrapper `mvnw` there");
}

#[test]
fn one_run_is_made_and_made_again_and_tests_end_as_they_did() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(SHOP), folder.path());
    let answer = |arguments: &[&str]| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
        command.args(arguments).current_dir(folder.path());
        let ran = command.output().unwrap();
        document(&ran)
    };
    let store = ["--json", "--store", "history.sqlite"];
    let only = ["--", "-pl", "old", "-am"];
    let ran = answer(&[&["run", "--order", "reverse"], &store[..], &only].concat());
    assert_eq!((&ran["tests"], &ran["not_run"]), (&json!(22), &json!(0)), "{ran}");
    let failed = |test: &str| {
        let failures = ran["failures"].as_array().unwrap().iter();
        failures.map(|it| it["test"].as_str().unwrap()).any(|it| it.ends_with(test))
    };
    assert!(failed("FixedOrderTest#b"), "{ran}");
    let name = ran["run"].as_str().unwrap();
    let again = answer(&[&["replay", name], &store[..]].concat());
    assert_eq!(again["tests"], 22, "{again}");
    for difference in again["differences"].as_array().unwrap() {
        // This one falls as it likes.
        assert!(difference["test"].as_str().unwrap().contains("DiceTest"), "{difference}");
    }
    let both = ["run", "--no-store", "--format", "junit", "--", "-pl", "old,new", "-am"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    let ran = command.args(both).current_dir(folder.path()).output().unwrap();
    let report = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(report.matches("<?xml").count(), 1, "{report}");
    assert!(report.contains("<testsuites name=\"unflake\" tests=\"44\""), "{report}");
    for module in ["old", "new"] {
        assert!(report.contains(&format!("<testsuite name=\"{module}\" tests=\"22\"")), "{report}");
    }
}

#[test]
fn tests_that_call_what_can_come_out_otherwise_are_listed_and_written_down() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(SHOP), folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    command.args(["trace", "--json", "--store", "none.sqlite", "--write", "calls.jsonl"]);
    let ran = command.args(["--", "-pl", "calls", "-am"]).current_dir(folder.path()).output();
    let ran = ran.unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{stderr}");
    let report = document(&ran);
    let exposed = |test: &str| -> Vec<(String, String)> {
        let is_it = |it: &&Value| it["test"].as_str().unwrap().ends_with(test);
        let entry = report["results"].as_array().unwrap().iter().find(is_it).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let exposures = entry["exposures"].as_array().unwrap().iter();
        exposures.map(|it| (text(&it["cause"]), text(&it["function"]))).collect()
    };
    let expected = [
        ("randomness", "java.security:SecureRandom.<init>()"),
        ("randomness", "java.util:Random.nextInt(int)"),
        ("time", "java.lang:System.currentTimeMillis()"),
    ];
    let expected = expected.map(|(cause, function)| (cause.to_owned(), function.to_owned()));
    assert_eq!(exposed("#asksJava"), expected);
    assert_eq!(exposed("#takesOneBranch"), []);
    assert_eq!(report["tests"], 8);
    let written = fs::read_to_string(folder.path().join("calls.jsonl")).unwrap();
    let line = written.lines().find(|line| line.contains("#takesOneBranch")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["native"], json!(["java.lang:Math.abs(long)"]));
    assert!(
        line["functions"].as_array().unwrap().contains(&json!("com.acme:Ledger.branch(boolean)"))
    );
}

#[test]
fn a_study_of_a_java_module_has_the_same_tables() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(SHOP), folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    command.args(["study", "--batches", "4", "--runs-per-batch", "2", "--alone", "2", "--json"]);
    command.args(["--no-store", "--", "-pl", "old", "-am"]).current_dir(folder.path());
    let ran = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    let study = document(&ran);
    assert_eq!((&study["tests"], &study["runs"]), (&json!(22), &json!(8)), "{study}");
    let flaky = study["flaky"].as_array().unwrap();
    let brittle = flaky.iter().find(|it| it["id"] == "com.acme.CatalogTest#findsBook").unwrap();
    assert_eq!(brittle["alone"]["failures"], 2, "{brittle}");
}

/// A report as Surefire writes it; a test with a mark at its end failed.
fn surefire(folder: &Path, class: &str, tests: &[&str]) {
    let case = |test: &&str| match test.strip_suffix('!') {
        None => format!("<testcase name=\"{test}\" classname=\"{class}\"/>"),
        Some(test) => format!(
            "<testcase name=\"{test}\" classname=\"{class}\"><failure type=\"X\">X: no\n\tat x\
             </failure></testcase>"
        ),
    };
    let xml = format!("<testsuite>{}</testsuite>", tests.iter().map(case).collect::<String>());
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(format!("TEST-{class}.xml")), xml).unwrap();
}

fn verdicts(folder: &Path, arguments: &[&str]) -> (Option<i32>, Vec<(String, String)>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    command.args(["triage", "--json"]).args(arguments).current_dir(folder);
    let ran = command.output().unwrap();
    let report = document(&ran);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let failed = report["failed"].as_array().unwrap().iter();
    let mut verdicts: Vec<_> = failed.map(|it| (text(&it["id"]), text(&it["verdict"]))).collect();
    // Classes come as the file system has them.
    verdicts.sort();
    (ran.status.code(), verdicts, report)
}

#[test]
fn failures_of_a_maven_build_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(SHOP), folder.path());
    let reports = folder.path().join("reports");
    surefire(&reports, "com.acme.CatalogTest", &["findsBook!", "loads"]);
    surefire(&reports, "com.acme.VisitTest", &["isTheFirst!"]);
    surefire(&reports, "com.acme.Gone", &["isNotHere!", "neither"]);
    let options = ["reports", "--tries", "2", "--seeds", "1", "--", "-pl", "old", "-am"];
    let (code, verdicts, report) = verdicts(folder.path(), &options);
    let expected = [
        ("com.acme.CatalogTest#findsBook", "od-brittle"),
        ("com.acme.VisitTest#isTheFirst", "nio"),
    ];
    let expected = expected.map(|(test, verdict)| (test.to_owned(), verdict.to_owned()));
    assert_eq!(verdicts, expected, "{report}");
    // One that is not here was not looked into.
    assert_eq!(code, Some(4));
    assert_eq!(report["unknown"], json!(["com.acme.Gone#isNotHere"]));
    assert_eq!(
        (&report["reported"], &report["failed"][0]["message"]),
        (&json!(3), &json!("X: no"))
    );
}

#[test]
fn what_is_not_there_is_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("build.gradle"), "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    command.args(["detect", "--no-store"]).env("PATH", "/nowhere").current_dir(folder.path());
    let ran = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("error: cannot run `gradle`: "), "{stderr}");
    assert!(
        stderr.contains("hint: install Gradle, or put its wrapper `gradlew` there"),
        "{stderr}"
    );
    let ran = unflake(folder.path(), &["detect", "--runner", "junit", "some/Test"]);
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`some/Test`: parts of a Java project cannot be named"), "{stderr}");
}

/// Two tests that rely on an order which Java leaves open, and one that does not.
const CHOICES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../junit/tests/projects/choices");

#[test]
fn tests_that_rely_on_an_open_choice_are_found_with_the_place_that_asks_and_nondex_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(CHOICES), folder.path());
    let ran = unflake(folder.path(), &["detect", "--flake-rate", "0.9"]);
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    let report = document(&ran);
    let findings = report["findings"].as_array().unwrap();
    let expected = [
        ("listsFieldsAsDeclared", "java.lang.Class.getDeclaredFields", "com.acme.Receipt.columns"),
        (
            "listsItemsInTheOrderOfTheMap",
            "java.util.HashMap$KeySet.iterator",
            "com.acme.Receipt.text",
        ),
    ];
    assert_eq!(findings.len(), expected.len(), "{findings:?}");
    for (name, api, place) in expected {
        let test = format!("com.acme.ReceiptTest#{name}");
        let finding = findings.iter().find(|it| it["test"] == test.as_str()).unwrap();
        assert_eq!((&finding["verdict"], &finding["confirmed"]), (&json!("id"), &json!(true)));
        let choices = finding["choices"].as_array().unwrap();
        assert_eq!((choices.len(), &choices[0]["asks"]), (1, &json!(api)));
        let at = choices[0]["where"].as_str().unwrap();
        assert!(at.starts_with(&format!("{place}(Receipt.java:")), "{at}");
        let line = choices[0]["test"].as_str().unwrap();
        assert!(line.starts_with(&format!("com.acme.ReceiptTest.{name}(")), "{line}");
        let cold = json!({"as_predicted": 3, "tries": 3});
        assert_eq!(finding["evidence"]["cold"], cold);
        let command = finding["reproduce"][0].as_str().unwrap();
        assert!(command.starts_with("mvn edu.illinois:nondex-maven-plugin:"), "{command}");
        assert!(command.contains(&test) && command.contains("-DnondexMode=ONE"), "{command}");
    }
    assert!(!folder.path().join(".nondex").exists());
}

#[test]
fn rounds_of_one_kind_of_order_give_the_list_of_idflakies_which_why_reads() {
    let folder = tempfile::tempdir().unwrap();
    copy(Path::new(SHOP), folder.path());
    let old = ["--", "-pl", "old", "-am"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    command.args(["detect", "--strategy", "reverse-class-method", "--format", "idflakies"]);
    let ran = command.arg("--no-store").args(old).current_dir(folder.path()).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    let list: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let tests = list["dts"].as_array().unwrap();
    let fixed = tests.iter().find(|it| it["name"] == "com.acme.FixedOrderTest.b").unwrap();
    assert_eq!(fixed["type"], "OD");
    assert_eq!(fixed["intended"]["result"], "PASS");
    assert_eq!(fixed["revealed"]["result"], "FAILURE");
    let last = |run: &Value| run["order"].as_array().unwrap().last().cloned();
    assert_eq!(last(&fixed["revealed"]), Some(json!("com.acme.FixedOrderTest.b")));
    let before = fixed["intended"]["order"].as_array().unwrap();
    assert!(before.contains(&json!("com.acme.FixedOrderTest.a")));

    let only = json!({"dts": [fixed]});
    fs::write(folder.path().join("flaky-lists.json"), only.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    command.args(["why", "flaky-lists.json", "--no-store", "--json"]).args(old);
    let ran = command.current_dir(folder.path()).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    let report = document(&ran);
    assert_eq!(report["findings"][0]["test"], "com.acme.FixedOrderTest#b");
    assert_eq!(report["findings"][0]["verdict"], "od-brittle");
}

/// Build files for Gradle; the sources are those of the other two.
const SHOP_GRADLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../junit/tests/projects/shop-gradle");

fn copy_for_gradle(to: &Path) {
    copy(Path::new(SHOP_GRADLE), to);
    for module in ["core", "old", "new", "broken"] {
        copy(&Path::new(SHOP).join(module).join("src"), &to.join(module).join("src"));
    }
    copy(&Path::new(CHOICES).join("src"), &to.join("choices/src"));
}

/// What `why` says about tests of `com.acme`, in the order in which they are named.
fn explained(folder: &Path, names: &[&str], options: &[&str]) -> Vec<Value> {
    let run = json!({"order": [], "result": "PASS", "testRunId": "0"});
    let listed =
        |name: &&str| json!({"name": name, "intended": run, "revealed": run, "type": "OD"});
    let tests: Vec<Value> = names.iter().map(listed).collect();
    fs::write(folder.join("flaky-lists.json"), json!({"dts": tests}).to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_unflake"));
    command.args(["why", "flaky-lists.json", "--no-store", "--json", "--"]).args(options);
    let ran = command.current_dir(folder).output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "these tests need Gradle on the path: {stderr}");
    let report = document(&ran);
    let findings = report["findings"].as_array().unwrap();
    let find = |name: &str| {
        let id = name.rsplit_once('.').map(|(class, method)| format!("{class}#{method}")).unwrap();
        findings.iter().find(|finding| finding["test"] == id.as_str()).unwrap().clone()
    };
    names.iter().map(|name| find(name)).collect()
}

#[test]
fn victim_and_brittle_of_a_gradle_project_are_explained_and_gradle_or_the_launcher_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    copy_for_gradle(folder.path());
    let names = ["com.acme.AmountTest.isShownInEuro", "com.acme.CatalogTest.findsBook"];
    let findings = explained(folder.path(), &names, &[":old:test"]);
    let [victim, brittle] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(
        (&victim["verdict"], &brittle["verdict"]),
        (&json!("od-victim"), &json!("od-brittle"))
    );
    assert!(findings.iter().all(|finding| finding["confirmed"] == true), "{findings:?}");
    let polluter = "com.acme.CheckoutTest#paysInDollars";
    assert_eq!(victim["polluters"], json!([[polluter]]));
    let cleaners =
        json!([{"polluters": [polluter], "cleaners": ["com.acme.SettingsTest#areReset"]}]);
    assert_eq!(victim["cleaners"], cleaners);
    assert_eq!(victim["state"][0]["where"], "com.acme.Settings.currency", "{victim}");
    assert_eq!(brittle["state_setters"], json!([["com.acme.CatalogTest#loads"]]));
    let command = |finding: &Value| finding["reproduce"][0].as_str().unwrap().to_owned();
    let alone = "gradle :old:cleanTest :old:test --tests com.acme.CatalogTest.findsBook";
    assert_eq!(command(brittle), alone);
    // Which class Gradle finds first depends on the file system.
    let shown = command(victim);
    assert!(shown.starts_with("gradle :old:") || shown.contains("java.args"), "{shown}");
}

#[test]
fn junit_5_is_explained_also_where_gradle_is_too_old_for_it_and_a_choice_is_shown_by_gradle() {
    let folder = tempfile::tempdir().unwrap();
    copy_for_gradle(folder.path());
    let victim =
        &explained(folder.path(), &["com.acme.AmountTest.isShownInEuro"], &[":new:test"])[0];
    assert_eq!((&victim["verdict"], &victim["confirmed"]), (&json!("od-victim"), &json!(true)));
    assert_eq!(victim["polluters"], json!([["com.acme.CheckoutTest#paysInDollars"]]));
    let name = "com.acme.ReceiptTest.listsItemsInTheOrderOfTheMap";
    let choice = &explained(folder.path(), &[name], &[":choices:test"])[0];
    assert_eq!((&choice["verdict"], &choice["confirmed"]), (&json!("id"), &json!(true)));
    assert_eq!(choice["choices"][0]["asks"], "java.util.HashMap$KeySet.iterator");
    let command = choice["reproduce"][0].as_str().unwrap();
    assert!(command.starts_with("gradle -I ") && command.contains(" --tests "), "{command}");
}
