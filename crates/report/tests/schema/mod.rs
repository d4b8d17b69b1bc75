//! Checks a value against a schema: as much of JSON Schema as those in `schemas/` use.

use serde_json::Value;

pub(crate) fn schema() -> Value {
    serde_json::from_str(include_str!("../../schemas/findings.json")).expect("the schema is JSON")
}

/// Where the value differs from the schema of findings, and how.
pub(crate) fn faults(value: &Value) -> Vec<String> {
    faults_by(&schema(), value)
}

/// Where the value differs from a schema, and how.
pub(crate) fn faults_by(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(schema, schema, value, "", &mut faults);
    faults
}

fn check(root: &Value, rule: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(reference) = rule["$ref"].as_str() {
        let rule =
            root.pointer(reference.trim_start_matches('#')).expect("the reference leads somewhere");
        return check(root, rule, value, at, faults);
    }
    assert!(rule["type"].is_string() || rule["type"].is_array(), "no type at `{at}`");
    if !rule["const"].is_null() && rule["const"] != *value {
        faults.push(format!("{at}: {value} is not {}", rule["const"]));
    }
    if rule["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
        faults.push(format!("{at}: {value} is not listed"));
    }
    if !has_type(&rule["type"], value) {
        return faults.push(format!("{at}: {value} is not {}", rule["type"]));
    }
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        check(root, &rule["items"], item, &format!("{at}/{number}"), faults);
    }
    let Some(object) = value.as_object() else { return };
    for key in rule["required"].as_array().into_iter().flatten() {
        if !object.contains_key(key.as_str().expect("keys are strings")) {
            faults.push(format!("{at}: no {key}"));
        }
    }
    for (key, item) in object {
        match rule["properties"].get(key) {
            Some(rule) => check(root, rule, item, &format!("{at}/{key}"), faults),
            None => faults.push(format!("{at}: the schema does not know `{key}`")),
        }
    }
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
