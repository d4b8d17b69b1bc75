//! Every document for programs, with every part that may be missing there once and missing once,
//! against its schema. The tests of the command line check real ones.

mod values;

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use unflake_known::{Confirmation, PlainAnswer, Warning};
use unflake_model::{OutcomeKind, StateKind, Suite, Verdict};
use unflake_report::json::Listed;
use unflake_report::orders::{OrdersOrigin, Plan};
use unflake_report::schema::{self, ALL, Schema};
use unflake_report::{
    Command, doctor, exposed, fix, history, json, learn, orders, replay, rerun_study, run, triage,
};

use crate::schema::{faults_by, parsed};
use crate::views::{every_verdict, nothing};

/// Checks a text against the schema of this name.
fn check(name: &str, text: &str) -> Value {
    let document: Value = serde_json::from_str(text).expect("JSON");
    let schema = schema::named(name).expect("a schema of this name");
    assert_eq!(faults_by(schema, &document), Vec::<String>::new(), "{name}: {text}");
    document
}

#[test]
fn every_schema_is_listed_with_its_version_and_its_commands() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let files: BTreeSet<String> = files.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(files, ALL.iter().map(|schema| format!("{}.json", schema.name)).collect());
    for schema in &ALL {
        let root = parsed(schema);
        let ways = root["anyOf"].as_array().into_iter().flatten();
        let ways = ways.map(|way| root.pointer(&way["$ref"].as_str().unwrap()[1..]).unwrap());
        let tops: Vec<&Value> = ways.chain([&root]).filter(|it| it["type"] == "object").collect();
        assert!(!tops.is_empty(), "{}", schema.name);
        for top in tops {
            check_envelope(schema, top);
        }
        let promise = format!("Schema {}. Keys are only ever added", schema.version);
        assert!(root["description"].as_str().unwrap().starts_with(&promise), "{}", schema.name);
    }
}

fn check_envelope(schema: &Schema, top: &Value) {
    let commands: Vec<&str> = schema.commands.iter().map(|command| command.name()).collect();
    assert_eq!(top["properties"]["schema"]["const"], schema.version, "{}", schema.name);
    assert_eq!(top["properties"]["command"]["enum"], json!(commands), "{}", schema.name);
    for key in ["schema", "command", "unflake"] {
        let required = top["required"].as_array().expect("a list");
        assert!(required.contains(&key.into()), "{}: {key}", schema.name);
    }
}

/// All values that schemas list for something of this name.
fn lists(name: &str) -> Vec<(&'static str, BTreeSet<String>)> {
    let mut found = Vec::new();
    for schema in &ALL {
        let mut open = vec![parsed(schema)];
        while let Some(value) = open.pop() {
            for (key, rule) in value.as_object().into_iter().flatten() {
                if let Some(listed) = rule["enum"].as_array().filter(|_| key == name) {
                    let texts = listed.iter().filter_map(Value::as_str).filter(|it| !it.is_empty());
                    found.push((schema.name, texts.map(str::to_owned).collect()));
                }
                open.push(rule.clone());
            }
            open.extend(value.as_array().into_iter().flatten().cloned());
        }
    }
    found
}

#[test]
fn schemas_list_every_verdict_outcome_warning_and_kind_of_state() {
    let set = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    let verdicts = set(Verdict::ALL.map(Verdict::slug).to_vec());
    let outcomes = set(OutcomeKind::ALL.map(OutcomeKind::as_str).to_vec());
    let states = set(StateKind::ALL.map(StateKind::slug).to_vec());
    let warnings = set(every_verdict().warnings.iter().map(Warning::slug).collect());
    for (name, all) in [("verdict", verdicts), ("outcome", outcomes)] {
        let lists = lists(name);
        assert!(4 <= lists.len(), "{name}: {lists:?}");
        assert!(lists.iter().all(|(_, listed)| *listed == all), "{name}: {lists:?}");
    }
    let kinds = lists("kind");
    let n_lists = |all: &BTreeSet<String>| kinds.iter().filter(|(_, it)| it == all).count();
    assert_eq!((n_lists(&states), n_lists(&states) + n_lists(&warnings)), (2, kinds.len()));
}

#[test]
fn what_a_schema_requires_it_also_describes() {
    for schema in &ALL {
        let mut open = vec![parsed(schema)];
        while let Some(value) = open.pop() {
            for key in value["required"].as_array().into_iter().flatten() {
                let key = key.as_str().expect("keys are strings");
                assert!(value["properties"].get(key).is_some(), "{}: {key}", schema.name);
            }
            open.extend(value.as_object().into_iter().flatten().map(|(_, it)| it.clone()));
            open.extend(value.as_array().into_iter().flatten().cloned());
        }
    }
}

#[test]
fn a_schema_is_found_by_its_name_and_by_a_command() {
    let name = |name| schema::named(name).map(|schema| schema.name);
    assert_eq!(name("findings"), Some("findings"));
    assert_eq!(name("why"), Some("findings"));
    assert_eq!(name("history"), Some("history"));
    assert_eq!(name("init"), None);
}

#[test]
fn findings_of_modules_and_of_a_list_are_one_document() {
    let (one, other) = (every_verdict(), nothing());
    let several = json::render(&[("core", one.view()), ("web", other.view())], Command::Detect);
    let document = check("findings", &several);
    assert_eq!(document["findings"].as_array().unwrap().len(), one.exhibits.len());
    assert_eq!(
        (&document["findings"][0]["module"], document["modules"][1]["module"].as_str()),
        (&"core".into(), Some("web"))
    );

    let mut listed = Listed {
        studies: vec![(String::new(), one.findings())],
        not_collected: vec!["gone".to_owned()],
        not_looked_into: Vec::new(),
    };
    let document = check("findings", &json::render_list(&listed));
    assert_eq!(document["command"], "why");
    assert_eq!(document["findings"].as_array().unwrap().len(), one.exhibits.len());
    assert_eq!(document["documents"][0]["tests"][0], document["findings"][0]["test"]);
    assert_eq!(document["findings"][0].get("module"), None);
    assert_eq!(document["not_collected"], json!(["gone"]));
    listed.studies.push(("core".to_owned(), one.findings()));
    let document = check("findings", &json::render_list(&listed));
    assert_eq!(document["documents"][1]["module"], "core");
}

#[test]
fn a_finding_with_all_that_most_findings_do_not_have() {
    let mut case = every_verdict();
    let exhibit = &mut case.exhibits[0];
    exhibit.choices = vec![values::choice(None), values::choice(Some("t.py:3"))];
    exhibit.factors = vec![values::factor()];
    exhibit.plain = PlainAnswer::Said(Confirmation { as_predicted: 3, tries: 3, others: 2 });
    let document = check("findings", &json::render(&[("", case.view())], Command::Why));
    let finding = &document["findings"][0];
    assert_eq!(
        (&finding["choices"][1]["test"], finding["choices"][0]["test"].is_null()),
        (&"t.py:3".into(), true)
    );
    assert_eq!(finding["known_factors"][0]["with"], json!({"failures": 9, "runs": 10}));
    assert_eq!(finding["evidence"]["cold"]["others"], 2);
}

#[test]
fn one_run_and_what_is_known_about_its_failures() {
    let ran = values::single();
    let document = check("run", &run::json(&[("", &ran)]));
    assert_eq!(document["failures"][0]["known"]["verdict"], "od-victim");
    assert_eq!(document["failures"][1]["known"], Value::Null);
    check("run", &run::json(&[("core", &ran), ("web", &ran)]));
}

#[test]
fn a_rerun_study_with_a_flaky_test_and_without() {
    let study = values::rerun_study();
    let document = check("study", &rerun_study::json(&[("", &study)]));
    assert_eq!(document["flaky"][0]["suite"]["failures"], 1);
    check("study", &rerun_study::json(&[("core", &study)]));
}

#[test]
fn the_failures_of_a_report() {
    let document = check("triage", &triage::json(&values::triage()));
    assert_eq!(document["failed"][0]["flaky"], true);
    assert_eq!(document["warnings"][0]["kind"], "watched-in-part");
}

#[test]
fn changes_that_help_and_those_that_do_not() {
    let document = check("fix", &fix::json(&values::fix(), true));
    assert_eq!((&document["applied"], &document["verdict"]), (&true.into(), &"od-victim".into()));
    let mut none = values::fix();
    none.findings.exhibits.clear();
    none.patches.clear();
    assert_eq!(check("fix", &fix::json(&none, true))["applied"], false);
}

#[test]
fn a_run_that_was_made_again() {
    let document = check("replay", &replay::json(&values::replay()));
    assert_eq!((&document["as_recorded"], &document["run"]), (&1.into(), &"3f2a91/7".into()));
}

#[test]
fn the_history_and_one_test_in_it() {
    let document = check("history", &history::json::campaigns(&values::campaigns()));
    assert_eq!(document["campaigns"][0]["verdicts"]["od-victim"], 2);
    assert_eq!(document["campaigns"][1]["ended"], "unfinished");
    let document = check("history-of-test", &history::json::past(&values::past()));
    assert_eq!(document["records"][0]["began"], "2026-11-16T02:11:07Z");
}

#[test]
fn functions_that_tests_call_and_what_is_learned_from_them() {
    let document = check("trace", &exposed::json(&[("", values::exposed())]));
    assert_eq!(document["results"][0]["exposures"][0]["cause"], "time");
    check("trace", &exposed::json(&[("a", values::exposed()), ("b", values::exposed())]));
    let document = check("learn", &learn::json(&values::lesson()));
    assert_eq!(document["functions"][0]["name"], "time:time");
}

#[test]
fn what_there_is_to_run_the_tests_with() {
    let document = check("doctor", &doctor::json(&values::checks(), false));
    assert_eq!(document["checks"][1]["hint"], "install it");
}

#[test]
fn orders_that_are_written_piece_by_piece() {
    let sizes = [2, 1];
    let suite = Suite::of_sizes(&sizes).unwrap();
    for origin in values::origins() {
        let is_file = matches!(origin, OrdersOrigin::File(_));
        let plan =
            Plan { suite: suite.clone(), origin, count: 2, cost_model: values::cost_model() };
        let mut out = Vec::new();
        let mut next = |order: &mut Vec<_>| {
            order.clear();
            order.extend(suite.tests());
            true
        };
        orders::json(&mut out, &plan, &mut next).unwrap();
        let document = check("orders", &String::from_utf8(out).unwrap());
        assert_eq!(document["orders"], json!([[0, 1, 2], [0, 1, 2]]));
        assert_eq!(document["strategy"].is_null(), is_file);
        assert_eq!(document["summary"]["pairs"]["all"]["covered"], 2);
    }
}
