//! What every history must do, in a file and in memory alike. Each test gets a fresh one of both.

use crate::common::{
    FAILED, PASSED, any_run, campaign, record, run, runs, said, small_suite, test_id,
};
use unflake_model::{Outcome, OutcomeKind, Phase, Repetition, RunId, Tally, TestIndex, Verdict};
use unflake_store::{
    Campaign, CampaignId, Conclusion, FailureText, Store, StoreErrorKind, TEXT_BYTES_MAX,
};

fn on_each(check: impl Fn(&mut Store)) {
    check(&mut Store::open_in_memory().unwrap());
    let folder = tempfile::tempdir().unwrap();
    check(&mut Store::open(&folder.path().join("history.sqlite")).unwrap());
}

fn conclusion(verdicts: &[(TestIndex, Verdict)]) -> Conclusion<'_> {
    Conclusion { ended: "complete", findings: "{\"schema\":1}", verdicts }
}

fn begin(store: &mut Store, command: &str) -> CampaignId {
    store.begin(&campaign(&small_suite(), command)).unwrap()
}

#[test]
fn runs_come_back_as_they_were_recorded_and_in_that_order() {
    on_each(|store| {
        let suite = small_suite();
        let id = begin(store, "detect");
        let other = begin(store, "why");
        let numbers = [3, 0, 7, u64::MAX, 1, 4, 2, 9];
        let recorded: Vec<_> = numbers.map(|number| any_run(&suite, number)).into();
        for run in &recorded {
            record(store, id, run);
            record(store, other, run);
        }
        assert_eq!(runs(store, id), recorded);
        assert_eq!(store.runs(other).unwrap().len(), 8);
    });
}

#[test]
fn a_suite_comes_back_with_names_classes_and_durations() {
    on_each(|store| {
        let suite = small_suite();
        begin(store, "before, so that names are known");
        let id = begin(store, "detect");
        let back = store.suite(id).unwrap();
        assert_eq!(back.n_tests(), suite.n_tests());
        assert_eq!(back.classes(), suite.classes());
        for test in suite.tests() {
            assert_eq!(back.id(test), suite.id(test));
            assert_eq!(back.duration(test), suite.duration(test));
            assert_eq!(
                back.class_name(back.class_of(test)),
                suite.class_name(suite.class_of(test))
            );
        }
    });
}

#[test]
fn a_summary_says_what_the_campaign_said_and_counts() {
    on_each(|store| {
        let id = begin(store, "detect");
        record(store, id, &run(0, &[(0, PASSED), (1, FAILED), (2, Outcome::NotRun)]));
        record(store, id, &run(1, &[(1, PASSED)]));
        let before = store.summary(id).unwrap();
        assert_eq!((before.n_tests, before.n_runs, before.n_attempts), (4, 2, 3));
        assert_eq!((before.ended, store.findings(id).unwrap()), (None, None));
        let verdict = |test, verdict| (TestIndex::new(test), verdict);
        let verdicts = [
            verdict(0, Verdict::Ndoi),
            verdict(1, Verdict::OdVictim),
            verdict(3, Verdict::OdVictim),
        ];
        store.finish(id, &conclusion(&verdicts)).unwrap();
        let after = store.summary(id).unwrap();
        assert_eq!(after.ended.as_deref(), Some("complete"));
        assert_eq!(after.verdicts, [(Verdict::OdVictim, 2), (Verdict::Ndoi, 1)]);
        assert_eq!(store.findings(id).unwrap().as_deref(), Some("{\"schema\":1}"));
        let suite = small_suite();
        let said = campaign(&suite, "detect");
        assert_eq!((after.command.as_str(), after.root.as_str()), (said.command, said.root));
        assert_eq!((after.seed, after.settings.as_str()), (said.seed, said.settings));
        assert_eq!(after.started_unix_ms, said.started_unix_ms);
        assert_eq!((after.runner.as_str(), after.runtime.as_str()), (said.runner, said.runtime));
        assert_eq!(after.commit.as_deref(), said.commit);
        assert_eq!(store.campaigns(5).unwrap(), [after]);
    });
}

#[test]
fn campaigns_are_listed_newest_first_under_names_that_are_unique() {
    on_each(|store| {
        let ids: Vec<CampaignId> = (0..100).map(|_| begin(store, "the same each time")).collect();
        let listed = store.campaigns(1_000).unwrap();
        let back: Vec<CampaignId> = listed.iter().rev().map(|summary| summary.id).collect();
        assert_eq!(back, ids);
        for summary in &listed {
            assert!(6 <= summary.short_id.len());
            assert_eq!(store.campaign(&summary.short_id).unwrap(), summary.id);
            assert_eq!(store.campaign(&summary.short_id.to_uppercase()).unwrap(), summary.id);
            assert_eq!(store.campaign(&summary.id.to_string()).unwrap(), summary.id);
        }
        assert_eq!(store.campaigns(3).unwrap(), listed[..3]);
        assert_eq!(store.campaign("latest").unwrap(), listed[0].id);
    });
}

#[test]
fn a_campaign_has_the_same_name_on_every_machine() {
    on_each(|store| assert_eq!(begin(store, "detect").to_string(), "09fe5bc975fd99b1"));
}

#[test]
fn a_selector_that_means_none_or_several_is_an_error_that_says_so() {
    on_each(|store| {
        let kind = |store: &Store, selector: &str| store.campaign(selector).unwrap_err().kind;
        assert!(matches!(kind(store, "latest"), StoreErrorKind::Empty));
        let ids: Vec<CampaignId> = (0..17).map(|_| begin(store, "detect")).collect();
        for selector in ["", "xyz", "00000000000000000", "%"] {
            assert!(matches!(kind(store, selector), StoreErrorKind::Unknown { .. }), "{selector}");
        }
        // Of 17 names, two begin with the same of 16 possible digits.
        let first = |id: &CampaignId| id.to_string()[..1].to_owned();
        let count = |digit: &str| ids.iter().filter(|id| first(id) == digit).count();
        let shared = ids.iter().map(first).find(|digit| 1 < count(digit)).unwrap();
        let StoreErrorKind::Ambiguous { matches, .. } = kind(store, &shared) else {
            panic!("`{shared}` is ambiguous");
        };
        assert_eq!(matches.len(), count(&shared));
        let error = store.campaign(&shared).unwrap_err();
        assert!(error.kind.to_string().contains(&format!("`{}`", matches[1])));
        assert_eq!(error.hint(), Some("give more characters of its name"));
    });
}

#[test]
fn what_was_not_begun_cannot_be_read_or_written() {
    on_each(|store| {
        let id = begin(&mut Store::open_in_memory().unwrap(), "elsewhere");
        let (experiment, observation) = run(0, &[(0, PASSED)]);
        let recorded = store.record(id, &experiment, &observation, &[]);
        assert!(matches!(recorded.unwrap_err().kind, StoreErrorKind::Unknown { .. }));
        assert!(matches!(store.suite(id).unwrap_err().kind, StoreErrorKind::Unknown { .. }));
        assert!(matches!(store.runs(id).unwrap_err().kind, StoreErrorKind::Unknown { .. }));
    });
}

#[test]
fn a_run_is_recorded_once_and_the_first_stays() {
    on_each(|store| {
        let id = begin(store, "detect");
        let first = run(3, &[(0, PASSED)]);
        record(store, id, &first);
        let (experiment, observation) = run(3, &[(1, FAILED)]);
        let error = store.record(id, &experiment, &observation, &[]).unwrap_err();
        assert!(matches!(error.kind, StoreErrorKind::AlreadyRecorded));
        assert!(error.to_string().ends_with(&format!("failed to record run 3 of campaign `{id}`")));
        assert_eq!(runs(store, id), [first]);
    });
}

#[test]
fn what_does_not_fit_together_is_refused_whole() {
    on_each(|store| {
        let id = begin(store, "detect");
        let (experiment, observation) = run(0, &[(0, PASSED), (1, FAILED)]);
        let (_, other) = run(0, &[(1, PASSED), (0, PASSED)]);
        let error = store.record(id, &experiment, &other, &[]).unwrap_err();
        assert!(matches!(error.kind, StoreErrorKind::NotAnAnswer));
        for text in [said(0, "passed", ""), said(2, "beyond the order", "")] {
            let error = store.record(id, &experiment, &observation, &[text]).unwrap_err();
            assert!(matches!(error.kind, StoreErrorKind::NotAFailure { .. }));
        }
        let second = FailureText { attempt: 1, ..said(0, "of a test run once", "") };
        let error = store.record(id, &experiment, &observation, &[second]).unwrap_err();
        assert!(matches!(error.kind, StoreErrorKind::NotAFailure { position: 0, attempt: 1 }));
        let (experiment, observation) = run(0, &[(4, PASSED)]);
        let error = store.record(id, &experiment, &observation, &[]).unwrap_err();
        assert!(matches!(error.kind, StoreErrorKind::UnknownTest { test: 4, n_tests: 4 }));
        assert_eq!(runs(store, id), []);
    });
}

#[test]
fn nothing_is_added_to_a_campaign_that_has_ended() {
    on_each(|store| {
        let id = begin(store, "detect");
        store.finish(id, &conclusion(&[])).unwrap();
        let (experiment, observation) = run(0, &[(0, PASSED)]);
        let error = store.record(id, &experiment, &observation, &[]).unwrap_err();
        assert!(matches!(error.kind, StoreErrorKind::Finished));
        let error = store.finish(id, &conclusion(&[])).unwrap_err();
        assert!(matches!(error.kind, StoreErrorKind::Finished));
    });
}

#[test]
fn the_newest_campaign_with_the_wanted_settings_is_found_by_its_root() {
    on_each(|store| {
        let newest = |store: &Store, root: &str, wanted: &str| {
            let found = store.newest(root, |settings| settings == wanted).unwrap();
            found.map(|summary| (summary.id, summary.ended))
        };
        assert_eq!(newest(store, "/project", "a"), None);
        let suite = small_suite();
        let mut begin = |root, settings| {
            let campaign = Campaign { root, settings, ..campaign(&suite, "detect") };
            store.begin(&campaign).unwrap()
        };
        let _ = begin("/project", "a");
        let second = begin("/project", "a");
        let other = begin("/project", "b");
        let elsewhere = begin("/elsewhere", "a");
        assert_eq!(newest(store, "/project", "a"), Some((second, None)));
        assert_eq!(newest(store, "/project", "b"), Some((other, None)));
        assert_eq!(newest(store, "/elsewhere", "a"), Some((elsewhere, None)));
        store.finish(second, &conclusion(&[])).unwrap();
        let (id, ended) = newest(store, "/project", "a").unwrap();
        assert_eq!((id, ended.as_deref()), (second, Some(conclusion(&[]).ended)));
    });
}

#[test]
fn a_campaign_that_is_taken_up_again_keeps_its_findings_until_it_ends_again() {
    on_each(|store| {
        let id = begin(store, "detect");
        let first = [(TestIndex::new(0), Verdict::NodUndecided)];
        store.finish(id, &conclusion(&first)).unwrap();
        store.reopen(id).unwrap();
        let (experiment, observation) = run(0, &[(0, PASSED)]);
        store.record(id, &experiment, &observation, &[]).unwrap();
        let summary = store.summary(id).unwrap();
        assert_eq!((summary.ended, summary.verdicts), (None, vec![(Verdict::NodUndecided, 1)]));
        assert!(store.findings(id).unwrap().is_some());
        let second = [(TestIndex::new(0), Verdict::Ndoi), (TestIndex::new(1), Verdict::Ndoi)];
        store.finish(id, &conclusion(&second)).unwrap();
        let summary = store.summary(id).unwrap();
        assert_eq!(summary.verdicts, [(Verdict::Ndoi, 2)]);
        assert!(summary.ended.is_some());
    });
}

#[test]
fn a_campaign_has_one_claim_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite");
    let mut store = Store::open(&path).unwrap();
    let id = begin(&mut store, "detect");
    let other = begin(&mut store, "why");
    let claim = store.claim(id).unwrap().expect("nobody has it");
    let again = Store::open(&path).unwrap();
    assert!(again.claim(id).unwrap().is_none());
    assert!(again.claim(other).unwrap().is_some());
    drop(claim);
    assert!(again.claim(id).unwrap().is_some());
    let names = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().ends_with(".lock")));
}

#[test]
fn failures_come_back_by_run_and_by_test_newest_first() {
    on_each(|store| {
        let first = begin(store, "first");
        let second = begin(store, "second");
        let (experiment, observation) = run(0, &[(2, FAILED), (0, Outcome::Error)]);
        let texts = [said(1, "no fixture", "E"), said(0, "assert 1 == 2", "traceback")];
        store.record(first, &experiment, &observation, &texts).unwrap();
        let crash = Outcome::Crashed { signal: Some(11) };
        let (experiment, observation) = run(5, &[(2, crash)]);
        store.record(second, &experiment, &observation, &[said(0, "killed", "")]).unwrap();

        let told = store.failures_in(first, RunId(0)).unwrap();
        let messages: Vec<&str> = told.iter().map(|failure| failure.message.as_str()).collect();
        assert_eq!(messages, ["assert 1 == 2", "no fixture"]);
        assert_eq!((told[0].outcome, told[0].phase), (OutcomeKind::Failed, Some(Phase::Call)));
        assert_eq!((told[1].outcome, told[1].phase), (OutcomeKind::Error, None));

        let test = small_suite().id(TestIndex::new(2)).clone();
        let told = store.failures_of(&test, 10).unwrap();
        assert_eq!(told.len(), 2);
        assert_eq!((told[0].campaign, told[0].run), (second, RunId(5)));
        assert_eq!(told[0].outcome, OutcomeKind::Crashed);
        assert_eq!((told[1].campaign, told[1].run), (first, RunId(0)));
        assert_eq!((told[1].position, told[1].attempt), (0, 0));
        assert_eq!(told[1].text, "traceback");
        assert_eq!(store.failures_of(&test, 1).unwrap(), told[..1]);
        assert_eq!(store.failures_of(&test_id("no such test"), 10).unwrap(), []);
    });
}

#[test]
fn the_second_attempt_of_a_test_says_its_own() {
    on_each(|store| {
        let id = begin(store, "detect");
        let (mut experiment, mut observation) = run(0, &[(2, PASSED), (0, PASSED)]);
        experiment.repetition = Repetition::Twice;
        let twice = observation.attempts.iter().flat_map(|attempt| [*attempt; 2]).collect();
        observation.attempts = twice;
        observation.attempts[3].outcome = FAILED;
        let text = FailureText { attempt: 1, ..said(1, "spoilt itself", "") };
        store.record(id, &experiment, &observation, &[text]).unwrap();
        let told = store.failures_of(&test_id("a.py::test_1[x y-☃]"), 10).unwrap();
        assert_eq!((told[0].position, told[0].attempt), (1, 1));
        assert_eq!(runs(store, id), [(experiment, observation)]);
    });
}

#[test]
fn a_text_beyond_64_kib_is_kept_without_its_middle() {
    on_each(|store| {
        let id = begin(store, "detect");
        let (experiment, observation) = run(0, &[(0, FAILED)]);
        let text = format!("begin{}end", "x".repeat(1_000_000));
        store.record(id, &experiment, &observation, &[said(0, &text, &text)]).unwrap();
        let told = &store.failures_in(id, RunId(0)).unwrap()[0];
        assert!(told.text.len() <= TEXT_BYTES_MAX && TEXT_BYTES_MAX < told.text.len() + 64);
        assert!(told.text.starts_with("begin") && told.text.ends_with("end"));
        assert!(told.text.contains(" bytes cut "));
        assert!(told.message.len() <= 1024);
    });
}

#[test]
fn a_test_has_a_tally_for_each_campaign_that_had_it() {
    on_each(|store| {
        let first = begin(store, "first");
        record(store, first, &run(0, &[(2, FAILED), (0, PASSED)]));
        record(store, first, &run(1, &[(0, PASSED), (2, PASSED)]));
        record(store, first, &run(2, &[(0, PASSED), (2, Outcome::NotRun)]));
        let mut perturbed = run(3, &[(2, FAILED)]);
        perturbed.0.environment = unflake_model::Environment::open_choices(1);
        record(store, first, &perturbed);
        store.finish(first, &conclusion(&[(TestIndex::new(2), Verdict::Ndoi)])).unwrap();
        let suite = unflake_model::Suite::of_sizes(&[3]).unwrap();
        store.begin(&campaign(&suite, "other tests")).unwrap();
        let third = begin(store, "third");

        let test = small_suite().id(TestIndex::new(2)).clone();
        let history = store.test_records(&[&test], 9).unwrap().concat();
        assert_eq!(history.len(), 2);
        assert_eq!((history[0].campaign, history[0].verdict), (third, None));
        assert_eq!(history[0].plain, Tally::default());
        assert_eq!((history[1].campaign, history[1].verdict), (first, Some(Verdict::Ndoi)));
        assert_eq!(history[1].plain, Tally { failures: 1, attempts: 2 });
        assert_eq!(history[1].varied, Tally { failures: 1, attempts: 1 });
        assert_eq!(history[1].commit.as_deref(), Some("0123abcd"));
        let unknown = test_id("no such test");
        let both = store.test_records(&[&unknown, &test], 1).unwrap();
        assert_eq!((both[0].len(), both[1].len()), (0, 1));
    });
}

#[test]
fn pruning_keeps_the_newest_whole_and_forgets_the_rest() {
    on_each(|store| {
        let suite = unflake_model::Suite::of_sizes(&[3]).unwrap();
        let old = store.begin(&campaign(&suite, "old")).unwrap();
        let (experiment, observation) = run(0, &[(0, FAILED)]);
        store.record(old, &experiment, &observation, &[said(0, "old", "shared")]).unwrap();
        store.finish(old, &conclusion(&[(TestIndex::new(0), Verdict::Ud)])).unwrap();
        let new = begin(store, "new");
        store.record(new, &experiment, &observation, &[said(0, "new", "shared")]).unwrap();

        assert_eq!(store.prune(2).unwrap(), 0);
        assert_eq!(store.prune(1).unwrap(), 1);
        assert_eq!(store.campaigns(9).unwrap().len(), 1);
        assert!(matches!(store.runs(old).unwrap_err().kind, StoreErrorKind::Unknown { .. }));
        assert_eq!(store.failures_of(&test_id("0"), 9).unwrap(), []);
        assert_eq!(store.failures_in(new, RunId(0)).unwrap()[0].text, "shared");
        assert_eq!(store.suite(new).unwrap().n_tests(), 4);
        record(store, new, &run(1, &[(3, PASSED)]));
        assert_eq!(store.runs(new).unwrap().len(), 2);
        assert_eq!(store.prune(0).unwrap(), 1);
        assert!(matches!(store.campaign("latest").unwrap_err().kind, StoreErrorKind::Empty));
    });
}
