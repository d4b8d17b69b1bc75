//! Checks documents against their schemas: as much of JSON Schema as those in `schemas/` use.
//!
//! Stricter than a validator in one way: a key that the schema does not spell out is a fault, so
//! that nothing is printed without being promised. The tests of the command line use it, too.

use serde_json::Value;
use unflake_report::schema::{ALL, Schema};

/// Where the document differs from the schema that comes nearest to it, and how. Only schemas of
/// the command that printed it, in its version, are asked.
pub(crate) fn faults(document: &Value) -> Vec<String> {
    let is_by =
        |schema: &&Schema| schema.commands.iter().any(|it| document["command"] == it.name());
    let nearest = ALL.iter().filter(is_by).map(|it| faults_by(it, document)).min_by_key(Vec::len);
    nearest.unwrap_or_else(|| vec![format!("no command `{}`", document["command"])])
}

/// Where the document differs from this schema, and how.
pub(crate) fn faults_by(schema: &Schema, document: &Value) -> Vec<String> {
    let root = parsed(schema);
    faults_at(&root, &root, document, "")
}

/// The schema, as JSON.
pub(crate) fn parsed(schema: &Schema) -> Value {
    serde_json::from_str(schema.text).expect("a schema is JSON")
}

fn faults_at(root: &Value, rule: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = rule["$ref"].as_str() {
        let rule = root.pointer(reference.trim_start_matches('#'));
        return faults_at(root, rule.expect("the reference leads somewhere"), value, at);
    }
    if let Some(ways) = rule["anyOf"].as_array() {
        let ways = ways.iter().map(|rule| faults_at(root, rule, value, at));
        return ways.min_by_key(Vec::len).expect("there is a way");
    }
    assert!(rule["type"].is_string() || rule["type"].is_array(), "no type at `{at}`");
    let mut faults = Vec::new();
    if !rule["const"].is_null() && rule["const"] != *value {
        faults.push(format!("{at}: {value} is not {}", rule["const"]));
    }
    if rule["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
        faults.push(format!("{at}: {value} is not listed"));
    }
    if !has_type(&rule["type"], value) {
        faults.push(format!("{at}: {value} is not {}", rule["type"]));
        return faults;
    }
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        faults.extend(faults_at(root, &rule["items"], item, &format!("{at}/{number}")));
    }
    let Some(object) = value.as_object() else { return faults };
    for key in rule["required"].as_array().into_iter().flatten() {
        if !object.contains_key(key.as_str().expect("keys are strings")) {
            faults.push(format!("{at}: no {key}"));
        }
    }
    for (key, item) in object {
        let known = rule["properties"].get(key);
        match known.or_else(|| rule.get("additionalProperties")) {
            Some(rule) => faults.extend(faults_at(root, rule, item, &format!("{at}/{key}"))),
            None => faults.push(format!("{at}: the schema does not know `{key}`")),
        }
    }
    faults
}

fn has_type(rule: &Value, value: &Value) -> bool {
    match rule {
        Value::Array(types) => types.iter().any(|rule| has_type(rule, value)),
        _ => match rule.as_str().expect("types are strings") {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            other => panic!("the schema has type `{other}`, which this check does not know"),
        },
    }
}
