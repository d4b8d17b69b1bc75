//! Every format on the same few views.

mod dirt;
mod documents;
mod schema;
mod shake;
mod views;

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;
use unflake_known::junit_xml::Address;
use unflake_known::{
    Confirmation, Ended, Exhibit, Failure, KnownFactor, Offer, Offered, Origin, PlainAnswer, View,
    saved,
};
use unflake_model::{Control, Factor, RootCause, Tally, TestId, Verdict};
use unflake_report::Command;
use unflake_report::{Colour, Detail, Layout, json, junit, markdown, table, terminal, why};
use views::{all, every_verdict, interrupted, nothing, odd_ids, two_hundred};

const PLAIN: Layout = Layout::plain(80);

/// What is offered for a runner that all commands work with.
fn of_pytest() -> Offer {
    let hash_seed_variable = Some("PYTHONHASHSEED");
    Offer { fix: Offered::Yes, shake: Offered::Yes, hash_seed_variable }
}

/// Names as some runner might write them.
fn address(origin: &Origin, id: &TestId) -> Address {
    let (class, name) = id.as_str().split_once("::").unwrap_or((&origin.runner, id.as_str()));
    Address { class: class.to_owned(), name: name.to_owned() }
}

/// The document, with the version of the program left out: that changes with every release.
fn json_of(view: &View<'_>) -> String {
    without_version(&json::render(&[("", view.clone())], Command::Detect))
}

fn without_version(document: &str) -> String {
    document
        .replace(concat!("\"unflake\": \"", env!("CARGO_PKG_VERSION")), "\"unflake\": \"VERSION")
}

fn junit_of(view: &View<'_>) -> String {
    let mut bytes = Vec::new();
    junit::write(&[("", view.clone())], &address, &mut bytes).expect("memory takes everything");
    String::from_utf8(bytes).expect("XML is text")
}

#[test]
fn terminal_of_every_view() {
    for (name, case) in all() {
        insta::assert_snapshot!(
            format!("terminal-{name}"),
            terminal::render(&case.view(), &of_pytest(), PLAIN)
        );
    }
}

#[test]
fn advice_is_to_do_what_works_with_the_runner() {
    let case = every_verdict();
    let only_for = |names: &[&'static str]| Offered::OnlyFor(names.to_vec());
    let (fix, shake) = (only_for(&["a", "b"]), only_for(&["C"]));
    let neither = Offer { fix, shake, hash_seed_variable: None };
    let wide = Layout::plain(400);
    let told = |offer: &Offer| {
        let view = case.view();
        let stories = view.exhibits.iter().map(|it| why::render(&view, it, offer, wide));
        let whole = terminal::render(&view, offer, Layout { detail: Detail::Full, ..wide });
        stories.chain([whole, markdown::render(&view, offer)]).collect::<String>()
    };
    let all = told(&of_pytest());
    for command in ["unflake fix tests/", "unflake shake tests/", "PYTHONHASHSEED was not set"] {
        assert!(all.contains(command), "{command}: {all}");
    }
    let few = told(&neither);
    for command in ["unflake fix tests/", "unflake shake tests/", "PYTHONHASHSEED"] {
        assert!(!few.contains(command), "{command}: {few}");
    }
    let advice = [
        "or let this test set it up; `unflake fix` does that for a and b only",
        "set up what the state-setter does; `unflake fix` does that for a and b only",
        "`unflake trace` lists what it calls (`unflake shake` is for C only)",
        "The hash seed was not set; it was 4711 where it was not varied.",
        "hash seed      4711 where it was not varied; none was set",
    ];
    for text in advice {
        assert!(few.contains(text), "{text}: {few}");
    }
}

#[test]
fn table_of_every_view() {
    for (name, case) in all() {
        insta::assert_snapshot!(format!("table-{name}"), table::render(&case.view()));
    }
}

/// The view of 200 is left out of snapshots that would be long and say nothing new; see
/// `long_reports_are_bounded`.
#[test]
fn json_markdown_and_junit_of_every_short_view() {
    for (name, case) in &all()[..4] {
        let view = case.view();
        insta::assert_snapshot!(format!("json-{name}"), json_of(&view));
        insta::assert_snapshot!(format!("markdown-{name}"), markdown::render(&view, &of_pytest()));
        insta::assert_snapshot!(format!("junit-{name}"), junit_of(&view));
    }
}

#[test]
fn junit_of_several_modules_is_one_document_with_the_sum_of_their_counts() {
    let (one, other) = (every_verdict(), nothing());
    let mut bytes = Vec::new();
    let modules = [("core", one.view()), ("web & co", other.view())];
    junit::write(&modules, &address, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let document: Vec<&str> = text.lines().collect();
    let heads: Vec<&str> =
        document.iter().map(|line| line.trim()).filter(|it| it.starts_with("<testsuite")).collect();
    let [all, core, web] = heads[..] else { panic!("{heads:?}") };
    assert!(all.starts_with("<testsuites name=\"unflake\"") && document[1] == all);
    assert!(core.contains("name=\"core\"") && web.contains("name=\"web &amp; co\""));
    let number = |head: &str, name: &str| -> f64 {
        let (_, rest) = head.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    for name in ["tests", "failures", "errors", "skipped", "time"] {
        let sum = number(core, name) + number(web, name);
        assert!((number(all, name) - sum).abs() < 1e-9, "{name} of {heads:?}");
    }
    assert!(web.contains(" tests=\"214\""), "{web}");
    assert_eq!(document.iter().filter(|line| line.contains("<?xml")).count(), 1);
}

#[test]
fn what_the_plain_runner_shows_is_not_said_to_be_unconfirmed() {
    let mut case = interrupted();
    case.exhibits[0].finding.verdict = Verdict::OdVictim;
    let shown = |case: &views::Case| terminal::render(&case.view(), &of_pytest(), PLAIN);
    assert!(shown(&case).contains("not confirmed\n"), "{}", shown(&case));
    for (as_predicted, said) in [
        (3, "plain pytest shows it 3 of 3 times; not confirmed by runs of our own\n"),
        (1, "plain pytest shows it only 1 of 3 times; not confirmed\n"),
    ] {
        let tried = Confirmation { as_predicted, tries: 3, others: 0 };
        case.exhibits[0].plain = PlainAnswer::Said(tried);
        let text = shown(&case).replace("\n                 ", " ");
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn what_was_saved_is_shown_as_it_was_before() {
    for (name, case) in all() {
        let findings = case.findings();
        let again =
            saved::read(&saved::write(&findings), findings.suite.clone()).expect("just written");
        let (before, after) = (findings.view(), again.view());
        assert_eq!(json_of(&after), json_of(&before), "{name}");
        assert_eq!(
            terminal::render(&after, &of_pytest(), PLAIN),
            terminal::render(&before, &of_pytest(), PLAIN),
            "{name}"
        );
        assert_eq!(
            markdown::render(&after, &of_pytest()),
            markdown::render(&before, &of_pytest()),
            "{name}"
        );
        assert_eq!(table::render(&after), table::render(&before), "{name}");
    }
}

#[test]
fn a_runner_that_keeps_its_own_order_has_not_tried_any() {
    let mut case = nothing();
    case.suite = case.suite.controlled(Control::FIXED);
    let findings = case.findings();
    let saved =
        saved::read(&saved::write(&findings), nothing().findings().suite).expect("just written");
    let wide = Layout::plain(400);
    for view in [case.view(), saved.view()] {
        for text in
            [terminal::render(&view, &of_pytest(), wide), markdown::render(&view, &of_pytest())]
        {
            assert!(text.contains("all run 40 times in the runner's own order"), "{text}");
            assert!(text.contains("of runs in that order would have been seen"), "{text}");
            assert!(!text.contains("whole orders") && !text.contains("of all orders"), "{text}");
        }
    }
}

#[test]
fn roles_that_were_not_searched_for_to_the_end_are_said_to_be_so() {
    let mut case = every_verdict();
    let told = "search for roles did not come to its end";
    assert!(!terminal::render(&case.view(), &of_pytest(), PLAIN).contains(told));
    case.exhibits[0].finding.is_complete = false;
    for text in [
        terminal::render(&case.view(), &of_pytest(), PLAIN),
        markdown::render(&case.view(), &of_pytest()),
    ] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn what_a_newer_program_saved_is_refused_by_its_version() {
    let findings = every_verdict().findings();
    let newer = saved::write(&findings).replacen("\"version\":1", "\"version\":2", 1);
    let error = saved::read(&newer, findings.suite.clone()).expect_err("it is newer");
    assert!(error.to_string().contains("version 2"), "{error}");
    let few = std::rc::Rc::new(unflake_model::Suite::of_sizes(&[1]).expect("one test"));
    let error = saved::read(&saved::write(&findings), few).expect_err("it speaks of other tests");
    assert!(error.to_string().contains("out of range"), "{error}");
}

#[test]
fn why_of_every_verdict_and_of_odd_ids() {
    let mut text = String::new();
    for case in [every_verdict(), interrupted(), odd_ids()] {
        let view = case.view();
        for exhibit in view.exhibits {
            text += &why::render(&view, exhibit, &of_pytest(), PLAIN);
            text += "\n----\n";
        }
    }
    insta::assert_snapshot!("why", text);
}

#[test]
fn why_warns_as_a_list_of_findings_does() {
    let case = every_verdict();
    let view = case.view();
    let (warnings, listed) =
        (why::warnings(&view, PLAIN), terminal::render(&view, &of_pytest(), PLAIN));
    assert!(!view.warnings.is_empty() && listed.contains(warnings.trim()), "{warnings}");
}

#[test]
fn narrow_and_coloured_reports_say_the_same() {
    let case = every_verdict();
    let view = case.view();
    let narrow = terminal::render(&view, &of_pytest(), Layout::plain(50));
    insta::assert_snapshot!("terminal-narrow", narrow);
    let coloured = terminal::render(&view, &of_pytest(), Layout { colour: Colour::On, ..PLAIN });
    insta::assert_snapshot!(
        "terminal-coloured",
        coloured.escape_debug().to_string().replace("\\n", "\n")
    );
    let words = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("  failure "));
        let words = lines.flat_map(str::split_whitespace);
        // A command that goes on in the next line is the same command.
        words.filter(|word| *word != "\\").map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(words(&narrow), words(&terminal::render(&view, &of_pytest(), PLAIN)));
    assert_eq!(without_colour(&coloured), terminal::render(&view, &of_pytest(), PLAIN));
}

fn without_colour(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().expect("split gives one").to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once('m').expect("a style ends with m").1)
}

#[test]
fn neither_ids_nor_commands_are_broken_at_any_width() {
    let case = two_hundred();
    let view = case.view();
    for width in [0, 20, 60, 500] {
        let text = terminal::render(&view, &of_pytest(), Layout::plain(width));
        let command = &view.exhibits[173].reproduce[0];
        // A shell takes a backslash at the end of a line for nothing.
        let read = text.replace("\\\n", " ");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(read.lines().any(|line| words(line).ends_with(&words(command))), "{width}");
    }
    let case = odd_ids();
    let view = case.view();
    let text = terminal::render(&view, &of_pytest(), Layout::plain(40));
    for test in view.suite.tests().filter(|test| test.get() != 3) {
        let id = view.suite.id(test).as_str();
        assert!(text.lines().any(|line| line.ends_with(id)), "{id}");
    }
}

#[test]
fn nothing_but_ids_and_commands_is_wider_than_a_terminal_of_40_columns() {
    let layout = Layout::plain(40);
    for (name, case) in all() {
        let view = case.view();
        let ids: Vec<&str> = view.suite.tests().map(|test| view.suite.id(test).as_str()).collect();
        let stories =
            view.exhibits.iter().map(|exhibit| why::render(&view, exhibit, &of_pytest(), layout));
        for text in stories.chain([terminal::render(&view, &of_pytest(), layout)]) {
            for line in text.lines().filter(|line| 40 < line.chars().count()) {
                // One word of a command, quoted, is as long as it is.
                let is_word_of_command = line.trim_start().starts_with('\'');
                let is_command = line.contains("unflake ") || is_word_of_command;
                let is_id = ids.iter().any(|id| line.ends_with(id)) || line.contains("\\u{");
                // A place of the program, or a word of the system, is as long as it is.
                let is_word = !line.trim().contains(' ');
                assert!(is_command || is_id || is_word, "{name}: {line}");
            }
        }
    }
}

#[test]
fn whoever_asks_for_less_is_told_no_next_step_and_for_more_the_runs() {
    let case = every_verdict();
    let view = case.view();
    let told = |detail| terminal::render(&view, &of_pytest(), Layout { detail, ..PLAIN });
    let (brief, usual, full) = (told(Detail::Brief), told(Detail::Usual), told(Detail::Full));
    for text in [&brief, &usual, &full] {
        assert_eq!(text.matches("fails after another test (od-victim)").count(), 2, "{text}");
    }
    assert!(!brief.contains("unflake"), "{brief}");
    assert!(usual.contains("next           unflake fix ") && !usual.contains("  runs "), "{usual}");
    assert!(full.contains("runs           passed in run 3f2a91/1, failed in run 3f2a91/3"));
    let case = two_hundred();
    let full =
        terminal::render(&case.view(), &of_pytest(), Layout { detail: Detail::Full, ..PLAIN });
    let n_kinds = full.lines().filter(|line| line.starts_with("  kind ")).count();
    assert_eq!(n_kinds, case.exhibits.len());
}

#[test]
fn every_finding_says_what_to_do_next_also_where_no_command_of_ours_helps() {
    let (case, others) = (every_verdict(), Offered::OnlyFor(vec!["others"]));
    let of_unittest = Offer { fix: others.clone(), ..of_pytest() };
    let of_nobody = Offer { shake: others, hash_seed_variable: None, ..of_unittest.clone() };
    for offer in [of_pytest(), of_unittest, of_nobody] {
        let view = case.view();
        for exhibit in view.exhibits {
            let text = why::render(&view, exhibit, &offer, PLAIN);
            let (_, next) = text.rsplit_once("  next           ").expect("every one has it");
            let has_it = |name: &str| next.starts_with(&format!("unflake {name} "));
            assert!(!has_it("fix") || offer.fix == Offered::Yes, "{offer:?}: {next}");
            assert!(!has_it("shake") || offer.shake == Offered::Yes, "{offer:?}: {next}");
        }
    }
}

/// That it is random is certain then; what the order does to it is said by the verdict.
#[test]
fn who_fails_at_random_is_confirmed_when_the_plain_runner_shows_both() {
    let mut case = every_verdict();
    let find = |it: &&mut Exhibit| it.finding.verdict == Verdict::Ndoi;
    let exhibit = case.exhibits.iter_mut().find(find).unwrap();
    exhibit.finding.confirmed = false;
    for (as_predicted, is_confirmed) in [(0, false), (4, true), (20, false)] {
        exhibit.plain = PlainAnswer::Said(Confirmation { as_predicted, tries: 20, others: 0 });
        assert_eq!(exhibit.is_confirmed(), is_confirmed, "failed {as_predicted} of 20");
    }
}

/// To shake once more would only show the same.
#[test]
fn who_was_shaken_is_told_what_to_do_about_it() {
    let mut case = every_verdict();
    let known = KnownFactor {
        factors: [Factor::Date].into_iter().collect(),
        how: vec!["on the last day of the year".to_owned()],
        with: Tally { failures: 8, attempts: 8 },
        without: Tally { failures: 0, attempts: 20 },
        makes_it_fail: true,
        cause: Some(RootCause::Time),
        command: Some("unflake replay 801155/33".to_owned()),
        campaign: "801155".to_owned(),
        is_of_older_code: false,
    };
    let env = case.exhibits.iter_mut().find(|it| it.finding.verdict == Verdict::Env).unwrap();
    env.factors.push(known);
    let env = env.clone();
    let text = why::render(&case.view(), &env, &of_pytest(), PLAIN);
    let (_, next) = text.rsplit_once("  next           ").unwrap();
    assert!(next.starts_with("It relies on what time it is"), "{text}");
    assert!(!text.contains("unflake shake"), "{text}");
}

#[test]
fn a_command_that_is_a_program_is_shown_on_request_and_a_short_one_before() {
    let mut case = every_verdict();
    let script = "python -c 'import pytest; pytest.main()' a.py::b";
    let exhibit = case.exhibits.iter_mut().find(|it| it.finding.verdict == Verdict::Nio);
    let exhibit = exhibit.expect("every verdict");
    exhibit.reproduce = vec![script.to_owned()];
    exhibit.finding.failed_in = Some(unflake_model::RunId(12));
    let told = |case: &views::Case, detail| {
        terminal::render(&case.view(), &of_pytest(), Layout { detail, ..PLAIN })
    };
    let usual = told(&case, Detail::Usual);
    assert!(usual.contains("reproduce      unflake replay 3f2a91/12\n"), "{usual}");
    assert!(usual.contains("-v shows the long command for plain pytest"), "{usual}");
    assert!(!usual.contains(script), "{usual}");
    let full = told(&case, Detail::Full);
    let (replay, command) = (full.find("unflake replay 3f2a91/12"), full.find(script));
    assert!(replay.is_some() && replay < command, "{full}");
    // What is not on record cannot be run again.
    case.origin.campaign = None;
    assert!(told(&case, Detail::Usual).contains(script));
}

#[test]
fn who_found_nothing_is_told_what_makes_a_difference_the_next_time() {
    for (command, ended, advice) in [
        ("unflake detect -- --reruns", Ended::Confident, "a lower flake rate (--flake-rate)."),
        ("unflake detect --reruns", Ended::Confident, "cost more (--price)."),
        ("unflake detect --strategy=random-class", Ended::Confident, "more rounds (--rounds)."),
        ("unflake detect --runs 9", Ended::OutOfBudget, "again with more time or runs."),
        ("unflake detect", Ended::Interrupted, "again, and let it come to its end."),
    ] {
        let mut case = nothing();
        (case.origin.command, case.ended) = (command.to_owned(), ended);
        for text in [
            terminal::render(&case.view(), &of_pytest(), PLAIN),
            markdown::render(&case.view(), &of_pytest()),
        ] {
            assert!(text.trim_end().ends_with(advice), "{command}: {text}");
        }
    }
}

#[test]
fn nothing_a_test_says_reaches_the_terminal_as_a_command() {
    let case = odd_ids();
    let view = case.view();
    let mut texts = vec![
        terminal::render(&view, &of_pytest(), PLAIN),
        table::render(&view),
        markdown::render(&view, &of_pytest()),
    ];
    texts.extend(
        view.exhibits.iter().map(|exhibit| why::render(&view, exhibit, &of_pytest(), PLAIN)),
    );
    texts.push(json_of(&view));
    for text in texts {
        let harm = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(harm, None, "{text}");
    }
}

#[test]
fn long_reports_are_bounded() {
    let case = two_hundred();
    let view = case.view();
    assert!(markdown::render(&view, &of_pytest()).len() <= markdown::BYTES_MAX);
    assert!(terminal::render(&view, &of_pytest(), PLAIN).lines().count() < 400);
    assert_eq!(junit_of(&view).matches("<testcase").count(), 1000);
    let parsed: serde_json::Value = serde_json::from_str(&json_of(&view)).unwrap();
    assert_eq!(parsed["findings"].as_array().unwrap().len(), 200);

    let mut case = odd_ids();
    let exhibit = &mut case.exhibits[0];
    exhibit.failure.as_mut().unwrap().text = "line\n".repeat(100_000);
    exhibit.reproduce = vec!["pytest ".to_owned() + &"x".repeat(70_000)];
    case.records[0].failures = vec![case.records[0].failures[0].clone(); 500];
    let view = case.view();
    assert!(markdown::render(&view, &of_pytest()).len() <= markdown::BYTES_MAX);
    assert!(why::render(&view, &view.exhibits[0], &of_pytest(), PLAIN).lines().count() < 100);
    let parsed: serde_json::Value = serde_json::from_str(&json_of(&view)).unwrap();
    assert_eq!(parsed["findings"][0]["failure"]["truncated"], true);
    assert_eq!(junit_of(&view).matches("<flakyFailure").count(), junit::ATTEMPTS_MAX + 5);
}

#[test]
fn json_is_what_its_schema_says() {
    for (name, case) in all() {
        let parsed = serde_json::from_str(&json_of(&case.view())).unwrap();
        assert_eq!(schema::faults(&parsed), Vec::<String>::new(), "{name}");
    }
    let mut broken: serde_json::Value =
        serde_json::from_str(&json_of(&every_verdict().view())).unwrap();
    broken["findings"][0]["verdict"] = "flaky".into();
    broken["findings"][1].as_object_mut().unwrap().remove("test");
    broken["schema"] = 1.into();
    broken["findings"][2]["failure_rate"]["low"] = "0".into();
    assert_eq!(schema::faults(&broken).len(), 4, "{:?}", schema::faults(&broken));
}

#[test]
fn strings_come_back_from_json_to_the_letter() {
    let case = odd_ids();
    let view = case.view();
    let parsed: serde_json::Value = serde_json::from_str(&json_of(&view)).unwrap();
    for (test, finding) in view.suite.tests().zip(parsed["findings"].as_array().unwrap()) {
        assert_eq!(finding["test"], view.suite.id(test).as_str());
    }
    let failure = view.exhibits[1].failure.as_ref().unwrap();
    assert_eq!(parsed["findings"][1]["failure"]["text"], failure.text.as_str());
}

#[test]
fn ids_come_back_from_xml_to_the_letter() {
    let case = odd_ids();
    let view = case.view();
    let xml = junit_of(&view);
    let mut reader = Reader::from_str(&xml);
    let mut names = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => break,
            Event::Start(element) | Event::Empty(element)
                if element.name().as_ref() == "testcase" =>
            {
                let read = |name| {
                    let value = element.try_get_attribute(name).unwrap().unwrap().value;
                    quick_xml::escape::unescape(&value).unwrap().into_owned()
                };
                names.push((read("classname"), read("name")));
            }
            _ => (),
        }
    }
    let address = |test| address(view.origin, view.suite.id(test));
    let addresses = view.suite.tests().map(address).map(|it| (it.class, it.name));
    assert_eq!(names, addresses.collect::<Vec<_>>());
}

#[test]
fn a_command_that_shows_something_else_takes_the_confirmation_back() {
    let mut case = every_verdict();
    for verdict in [Verdict::OdBrittle, Verdict::Ndod] {
        let exhibit = case.exhibits.iter_mut().find(|it| it.finding.verdict == verdict).unwrap();
        assert!(exhibit.is_confirmed());
        exhibit.plain = PlainAnswer::Said(Confirmation { as_predicted: 1, tries: 3, others: 0 });
        // What fails at random may pass now and then.
        assert_eq!(exhibit.is_confirmed(), verdict == Verdict::Ndod);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_a_failure_says_every_format_stays_whole(message: String, text: String) {
        let mut case = interrupted();
        let failure = Failure { message, text };
        case.records[4].failures[0].failure = failure.clone();
        case.exhibits[0].failure = Some(failure.clone());
        let view = case.view();
        let parsed: serde_json::Value = serde_json::from_str(&json_of(&view)).unwrap();
        prop_assert_eq!(&parsed["findings"][0]["failure"]["text"], &failure.text);
        let xml = junit_of(&view);
        let mut reader = Reader::from_str(&xml);
        while reader.read_event().unwrap() != Event::Eof {}
        prop_assert!(!xml.contains(|c: char| c.is_control() && !"\t\n\r".contains(c)));
        for shown in [
            terminal::render(&view, &of_pytest(), PLAIN),
            why::render(&view, &view.exhibits[0], &of_pytest(), PLAIN),
            markdown::render(&view, &of_pytest()),
        ] {
            prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n'));
        }
    }
}
