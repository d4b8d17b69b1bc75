//! An archive of classes makes processes quicker, and is seen by nobody.

use std::fs;

use unflake_engine::{Interrupt, Limits};
use unflake_junit::Prepared;
use unflake_model::{Calls, Look};

use crate::PASSED;
use crate::common::{
    AMPLE, each_kind_behaves_as_planted, run, run_watched, shop, start, start_tracing,
};

fn with_archive(prepared: &Prepared) -> Prepared {
    prepared.with_archive(&Interrupt::default()).unwrap()
}

fn has_archive(prepared: &Prepared) -> bool {
    let limits = Limits::each_within(AMPLE);
    let flags = prepared.launch(&limits).flags;
    flags.iter().any(|flag| flag.to_string_lossy().starts_with("-XX:SharedArchiveFile="))
}

#[test]
fn order_dependent_tests_behave_the_same_out_of_an_archive() {
    for module in ["old", "new"] {
        let prepared = with_archive(&shop().prepare(module));
        assert!(has_archive(&prepared), "{module}");
        each_kind_behaves_as_planted(&prepared);
    }
}

#[test]
fn a_traced_run_out_of_an_archive_tells_the_same() {
    let traced = |prepared: &Prepared| {
        let mut engine = start_tracing(shop(), prepared);
        let names = ["CallsTest#asksJava", "CallsTest#startsAThread"];
        run_watched(&mut engine, &names, Look::at_calls(Calls::Noted)).calls
    };
    let prepared = shop().prepare("calls");
    let archived = with_archive(&prepared);
    assert!(has_archive(&archived));
    let calls = traced(&archived);
    assert_eq!((calls.len(), &calls), (2, &traced(&prepared)));
}

#[test]
fn folders_stand_first_for_tests_and_a_class_that_a_jar_has_too_is_a_reason_against() {
    let prepared = with_archive(&shop().prepare("state"));
    assert!(has_archive(&prepared));
    let mut engine = start(&prepared);
    let ran = run(&mut engine, &["ClassPathTest#foldersStandFirst"]);
    assert_eq!(ran.outcomes(), [PASSED], "{:?}", ran.failures);
    // One that no test needs: others run at the same time.
    let org = prepared.module.folder.join("target/classes/org");
    fs::create_dir_all(org.join("junit/jupiter/api")).unwrap();
    fs::write(org.join("junit/jupiter/api/MethodOrderer$Random.class"), "").unwrap();
    let prepared = with_archive(&shop().prepare("state"));
    fs::remove_dir_all(org).unwrap();
    assert!(!has_archive(&prepared));
}
