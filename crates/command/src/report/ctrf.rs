//! Common Test Report Format: one JSON object.

use std::time::Duration;

use serde::Deserialize;
use unflake_wire::Ended;

use super::{BadReport, Case, Report, first_line};

#[derive(Deserialize)]
struct Document {
    results: Results,
}

#[derive(Deserialize)]
struct Results {
    tests: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    name: String,
    status: String,
    #[serde(default)]
    duration: f64,
    #[serde(default)]
    suite: Option<serde_json::Value>,
    #[serde(default)]
    file_path: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    trace: Option<String>,
    #[serde(default)]
    stdout: Vec<String>,
    #[serde(default)]
    stderr: Vec<String>,
}

pub(super) fn read(text: &str) -> Result<Report, BadReport> {
    let begins = text.find('{').ok_or(BadReport::Nothing("results"))?;
    // The first value: what was printed behind it is none of it.
    let mut values = serde_json::Deserializer::from_str(&text[begins..]).into_iter::<Document>();
    let document = values.next().ok_or(BadReport::Nothing("results"))??;
    let cases = document.results.tests.into_iter().map(case).collect();
    Ok(Report { cases, bailed: None })
}

fn case(test: Test) -> Case {
    let outcome = match test.status.as_str() {
        "passed" => Ended::Passed,
        "failed" => Ended::Failed,
        "skipped" | "pending" => Ended::Skipped,
        // The format has `other` for what is none of these: it did not end as a test does.
        _ => Ended::Error,
    };
    let (message, trace) = (test.message.unwrap_or_default(), test.trace.unwrap_or_default());
    let text = if trace.trim().is_empty() { message.clone() } else { trace };
    let mut case = Case::new(&suite(test.suite.as_ref()), &test.name, outcome);
    case.message = first_line(if message.trim().is_empty() { &text } else { &message });
    case.text = text;
    case.file = test.file_path.unwrap_or_default();
    case.duration = Duration::try_from_secs_f64(test.duration / 1000.0).ok();
    case.stdout = test.stdout.join("\n");
    case.stderr = test.stderr.join("\n");
    case
}

/// A text, or, in newer versions, a list of texts from the outermost suite inwards.
fn suite(value: Option<&serde_json::Value>) -> String {
    match value {
        Some(serde_json::Value::String(suite)) => suite.clone(),
        Some(serde_json::Value::Array(suites)) => {
            suites.iter().filter_map(|suite| suite.as_str()).collect::<Vec<_>>().join(" > ")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_outcome() {
        let json = r#"up and running {{"results": {"tool": {"name": "t"}, "summary": {}, "tests": [
            {"name": "a", "status": "passed", "duration": 250, "suite": "s", "filePath": "f.js"},
            {"name": "b", "status": "failed", "duration": 1, "suite": ["x", "y"],
             "message": "expected 1\nto be 2", "trace": "Error: …", "stdout": ["o1", "o2"]},
            {"name": "c", "status": "skipped", "duration": 0},
            {"name": "d", "status": "pending", "duration": 0},
            {"name": "e", "status": "other", "duration": 0, "message": "m"}]}} 12 ms"#
            .replacen("{{", "{", 1);
        let cases = read(&json).unwrap().cases;
        let outcomes: Vec<Ended> = cases.iter().map(|case| case.outcome).collect();
        let skipped = Ended::Skipped;
        assert_eq!(outcomes, [Ended::Passed, Ended::Failed, skipped, skipped, Ended::Error]);
        assert_eq!(cases[0].duration, Some(Duration::from_millis(250)));
        assert_eq!((cases[1].class.as_str(), cases[1].message.as_str()), ("x > y", "expected 1"));
        assert_eq!((cases[1].text.as_str(), cases[1].stdout.as_str()), ("Error: …", "o1\no2"));
        assert_eq!(cases[4].text, "m");
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        assert!(read("nothing").is_err());
        assert!(read(r#"{"results": {"tests": [{"name": "a"}]}}"#).is_err());
        assert!(read(r#"{"results": {"tests": ["#).is_err());
    }
}
