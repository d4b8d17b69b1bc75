//! Each check can fail: for each there is an adapter that does something wrong, and fails it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are outside of test functions, where clippy.toml allows it"
)]

mod fake;

use std::collections::BTreeSet;

use fake::{FULL, Fake, Fault};
use unflake_adapter::Abilities;
use unflake_conformance::{CHECKS, Conformance, Excluded, Role, assert_conforms, examine};
use unflake_model::{Control, Factor, Factors, HashSeeds, Outcome, Phase};

const PASSED: Outcome = Outcome::Passed;
const FAILED: Outcome = Outcome::Failed { phase: Phase::Call };

fn report(fault: Fault) -> Conformance {
    examine(&Fake { fault, abilities: abilities(fault) })
}

/// Those under which a fault shows.
fn abilities(fault: Fault) -> Abilities {
    let zone: Factors = [Factor::TimeZone].into_iter().collect();
    let full = Abilities { circumstances: zone, factors: zone, ..FULL };
    match fault {
        Fault::BendsOrder => Abilities { control: Control::FIXED, ..full },
        Fault::TakesAnyCircumstances => FULL,
        _ => full,
    }
}

#[test]
fn an_honest_adapter_passes_whatever_it_can_do() {
    let fault = Fault::None;
    let conforms = |abilities, excluded: &[(&str, &str)]| {
        assert_conforms(&Fake { fault, abilities }, excluded);
    };
    let any_order = ("no-order", "it can keep any order");
    conforms(abilities(fault), &[any_order]);
    let classes = ("no-order", "analyses do not ask it for orders that part a class");
    let not_put_back = ("put-back", "it does not put state back between tests");
    conforms(Abilities { control: Control::CLASSES, ..FULL }, &[classes, not_put_back]);
    let not_twice = ("plain-twice", "its plain runner does not tell two attempts apart");
    conforms(Abilities { control: Control::FIXED, ..FULL }, &[not_put_back, not_twice]);
    let hash_seeds = HashSeeds::Fixed;
    let least = Abilities { isolation: &[], hash_seeds, ..Abilities::LEAST };
    conforms(
        least,
        &[
            any_order,
            not_put_back,
            not_twice,
            ("files", "its runs share the work tree"),
            ("levels", "its runs cannot be isolated"),
            ("hash-seeds", "its hash seeds are fixed"),
        ],
    );
}

/// Faults, and a check that each of them fails.
const FAULTS: [(Fault, &str); 44] = [
    (Fault::Misspells, "ids"),
    (Fault::TakesNeighbour, "by-name"),
    (Fault::Ends(Role::Passes, FAILED), "passed"),
    (Fault::Ends(Role::Fails, PASSED), "failed"),
    (Fault::Ends(Role::BreaksInSetUp, FAILED), "set-up"),
    (Fault::Ends(Role::BreaksInSetUp, Outcome::Skipped), "set-up"),
    (Fault::Ends(Role::BreaksInCleanUp, FAILED), "clean-up"),
    (Fault::Ends(Role::BreaksInCleanUp, PASSED), "clean-up"),
    (Fault::Ends(Role::Skipped, PASSED), "skipped"),
    (Fault::SwapsOutcomes, "together"),
    (Fault::LosesEnd, "told"),
    (Fault::LosesOutput, "output"),
    (Fault::Ends(Role::Hangs, Outcome::Skipped), "timed-out"),
    (Fault::Ends(Role::Hangs, Outcome::Crashed { signal: Some(9) }), "timed-out"),
    (Fault::TellsTooMuch, "timed-out"),
    (Fault::TellsTooMuch, "crashed"),
    (Fault::Ends(Role::Crashes, FAILED), "crashed"),
    (Fault::Ends(Role::Crashes, Outcome::Crashed { signal: None }), "crashed"),
    (Fault::Ends(Role::IsCalm, FAILED), "crashed"),
    (Fault::Ends(Role::Exits, PASSED), "exited"),
    (Fault::SwapsTests, "order"),
    (Fault::RunsAnother, "subset"),
    (Fault::BendsOrder, "no-order"),
    (Fault::HangsWithoutTests, "no-tests"),
    (Fault::NeverRepeats, "twice"),
    (Fault::RunsAnother, "between"),
    (Fault::PutsNothingBack, "put-back"),
    (Fault::LeaksState, "state"),
    (Fault::LeaksFiles, "files"),
    (Fault::RefusesLevel, "levels"),
    (Fault::LosesRun, "at-once"),
    (Fault::MixesRuns, "at-once"),
    (Fault::LeaksAfresh, "afresh"),
    (Fault::KeepsQuiet, "ready"),
    (Fault::AppliesAnother, "perturbed"),
    (Fault::TakesAnyCircumstances, "perturbed"),
    (Fault::IgnoresSeed, "hash-seeds"),
    (Fault::LeavesTests, "interrupt"),
    (Fault::LeavesTests, "leave"),
    (Fault::PlainPasses, "plain-orders"),
    (Fault::PrintsNothing, "plain-orders"),
    (Fault::PlainPasses, "plain-suite"),
    (Fault::PlainTakesAll, "plain-names"),
    (Fault::PlainPasses, "plain-twice"),
];

#[test]
fn each_fault_fails_its_check() {
    for (fault, check) in FAULTS {
        let faults = report(fault).faults;
        let failed: Vec<&str> = faults.iter().map(|fault| fault.check).collect();
        assert!(failed.contains(&check), "{fault:?} fails {failed:?}, not {check}");
    }
}

#[test]
fn each_check_is_failed_by_a_fault() {
    let failed: BTreeSet<&str> = FAULTS.iter().map(|(_, check)| *check).collect();
    let checks: BTreeSet<&str> = CHECKS.iter().map(|check| check.name).collect();
    assert_eq!(failed, checks);
    assert_eq!(checks.len(), CHECKS.len(), "no two are called the same");
}

#[test]
fn a_complaint_says_which_adapter_which_check_what_was_expected_and_what_came() {
    let report = report(Fault::Ends(Role::Skipped, PASSED));
    let complaint = report.complaint(&[("no-order", "it can keep any order")]);
    let line = "adapter `fake`, check `skipped`: it does not hold that a test that is skipped is \
                not said to have passed: the outcomes of a run of `Skipped`: expected [Skipped], \
                came [Passed]";
    assert!(complaint.lines().any(|it| it == line), "{complaint}");
}

#[test]
fn nothing_is_excluded_unnoticed() {
    let report = report(Fault::None);
    let why = "it can keep any order";
    assert_eq!(report.excluded, [Excluded { check: "no-order", why: why.to_owned() }]);
    assert_eq!(report.complaint(&[("no-order", why)]), "");
    let complaint = report.complaint(&[]);
    assert_eq!(
        complaint,
        "adapter `fake`, check `no-order`: excluded, and not listed as such: it can keep any order\n"
    );
    let complaint = report.complaint(&[("no-order", why), ("levels", "it cannot")]);
    assert_eq!(
        complaint,
        "adapter `fake`, check `levels`: listed as excluded, and not so: it cannot\n"
    );
}
