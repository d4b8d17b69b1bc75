//! Test Anything Protocol, versions 13 and 14.
//!
//! A stream of lines among which anything else may stand. Children of a test are indented by four
//! blanks and come before the line about it; they have its name as their class. A test that may
//! fail (`# TODO`) is no failure if it does: it counts as skipped, as an expected failure does
//! elsewhere.

use std::time::Duration;

use unflake_wire::Ended;

use super::{Case, Report, first_line};

/// Blanks by which children are indented.
const STEP: usize = 4;

pub(super) fn read(text: &str) -> Report {
    let mut reader = Reader::default();
    for line in text.lines() {
        reader.line(line);
    }
    Report { cases: reader.cases, bailed: reader.bailed }
}

/// The name of the test that a line is about, if it is about one that is no child of another.
pub(crate) fn named_by(line: &str) -> Option<String> {
    point(line).map(|point| point.name)
}

/// A line about a test.
#[derive(Debug, PartialEq, Eq)]
struct Point {
    name: String,
    outcome: Ended,
    /// The reason that stands behind `SKIP` or `TODO`.
    reason: String,
}

/// A line about a test, without its indentation.
fn point(line: &str) -> Option<Point> {
    let (is_ok, rest) = match (line.strip_prefix("ok"), line.strip_prefix("not ok")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return None,
    };
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let rest = rest.trim();
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, behind) = rest.split_at(n_digits);
    // Digits that a name begins with are no number.
    let has_number = behind.is_empty() || behind.starts_with(' ');
    let (number, rest) = if has_number { (number, behind.trim_start()) } else { ("", rest) };
    let rest = rest.strip_prefix("- ").unwrap_or(if rest == "-" { "" } else { rest });
    let (name, directive) = cut(rest);
    let name = if name.is_empty() { number.to_owned() } else { name };
    let word = directive.get(..4).unwrap_or_default().to_ascii_uppercase();
    let (outcome, reason) = match (is_ok, word.as_str()) {
        (_, "SKIP") | (false, "TODO") => (Ended::Skipped, &directive[4..]),
        (true, _) => (Ended::Passed, ""),
        (false, _) => (Ended::Failed, ""),
    };
    // `SKIPPED` and `skip:` are seen, too.
    let reason = reason.trim_start_matches(|c: char| c.is_alphabetic() || c == ':').trim();
    Some(Point { name, outcome, reason: reason.to_owned() })
}

/// The name without escapes, and what stands behind `#`.
fn cut(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.peek() {
                Some((_, next @ ('#' | '\\'))) => {
                    name.push(*next);
                    chars.next();
                }
                _ => name.push('\\'),
            },
            '#' if is_directive(&text[at + 1..]) => {
                return (name.trim_end().to_owned(), text[at + 1..].trim());
            }
            _ => name.push(c),
        }
    }
    (name.trim_end().to_owned(), "")
}

/// Whether what stands behind a `#` says something about the test; else it is part of its name, as
/// in `Array#push`.
fn is_directive(text: &str) -> bool {
    let word = text.trim_start().get(..4).unwrap_or_default().to_ascii_uppercase();
    ["SKIP", "TODO", "TIME"].contains(&word.as_str())
}

#[derive(Debug, Default)]
struct Reader {
    cases: Vec<Case>,
    /// How deep each case stands, until the name of what is around it is known.
    depths: Vec<usize>,
    /// Where the details of the last case are indented, while they are read.
    details: Option<usize>,
    bailed: Option<String>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        if let Some(begun) = self.details {
            if content.trim_end() == "..." && indent <= begun {
                self.details = None;
            } else {
                self.detail(line.get(begun..).unwrap_or(content));
            }
            return;
        }
        if content.trim_end() == "---" && !self.cases.is_empty() {
            self.details = Some(indent);
        } else if let Some(point) = point(content).filter(|_| indent.is_multiple_of(STEP)) {
            self.point(indent / STEP, point);
        } else if let Some(why) = content.strip_prefix("Bail out!") {
            self.bailed.get_or_insert_with(|| why.trim().to_owned());
        } else if let Some(comment) = content.strip_prefix('#') {
            self.comment(comment.strip_prefix(' ').unwrap_or(comment));
        }
    }

    fn point(&mut self, depth: usize, point: Point) {
        // Those deeper than this one since the last as shallow as it are its children.
        for (case, at) in self.cases.iter_mut().zip(&mut self.depths).rev() {
            if *at <= depth {
                break;
            }
            let inner = std::mem::take(&mut case.class);
            let around = if inner.is_empty() { "" } else { " > " };
            case.class = format!("{}{around}{inner}", point.name);
            // What its own parent gives it later is theirs, too.
            *at = depth;
        }
        let mut case = Case::new("", &point.name, point.outcome);
        case.message = point.reason;
        self.cases.push(case);
        self.depths.push(depth);
    }

    fn detail(&mut self, line: &str) {
        let Some(case) = self.cases.last_mut() else { return };
        let value = |key: &str| line.strip_prefix(key).map(str::trim);
        if let Some(milliseconds) = value("duration_ms:").and_then(|it| it.parse::<f64>().ok()) {
            case.duration = Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
        } else if let Some(message) = value("message:").or_else(|| value("error:")) {
            let message = message.trim_matches(['\'', '"']);
            // A block of text follows on the next lines.
            if !["|-", "|", ">-", ">"].contains(&message) {
                case.message = first_line(message);
            }
        }
        if !case.is_fine() {
            case.text.push_str(line);
            case.text.push('\n');
        }
    }

    /// What is said behind a failure is about it.
    fn comment(&mut self, comment: &str) {
        if let Some(case) = self.cases.last_mut().filter(|case| !case.is_fine()) {
            case.text.push_str(comment);
            case.text.push('\n');
            if case.message.is_empty() {
                case.message = first_line(comment);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, String, Ended)> {
        let case = |case: Case| (case.class, case.name, case.outcome);
        read(text).cases.into_iter().map(case).collect()
    }

    fn names(text: &str) -> Vec<String> {
        read(text).cases.into_iter().map(|case| case.name).collect()
    }

    #[test]
    fn each_line_about_a_test_has_its_outcome() {
        let cases = all("TAP version 13\n1..7\nok 1 - plain\nnot ok 2 - bad\nok 3 no dash\n\
             ok 4 - left out # SKIP no network\nnot ok 5 - later # TODO\nok\nokay is no test\n\
             ok 7 - # skip\n");
        let (passed, failed, skipped) = (Ended::Passed, Ended::Failed, Ended::Skipped);
        let outcomes: Vec<Ended> = cases.iter().map(|(_, _, outcome)| *outcome).collect();
        assert_eq!(outcomes, [passed, failed, passed, skipped, skipped, passed, skipped]);
        let names: Vec<&str> = cases.iter().map(|(_, name, _)| name.as_str()).collect();
        assert_eq!(names, ["plain", "bad", "no dash", "left out", "later", "", "7"]);
    }

    #[test]
    fn names_are_to_the_letter() {
        let text =
            "ok 1 - Array#push\nok 2 - a \\# b \\\\ c\nok 3 - 2 plus 2\nok 4 - x # y\nok 2x\n";
        assert_eq!(names(text), ["Array#push", "a # b \\ c", "2 plus 2", "x # y", "2x"]);
    }

    #[test]
    fn children_have_the_names_around_them_as_class() {
        let text = "# Subtest: outer\n    # Subtest: inner\n        ok 1 - deep\n        ok 2 - two\n\
             \x20   ok 1 - inner\n    not ok 2 - flat\nnot ok 1 - outer\nok 2 - next\n";
        let of = |class: &str, name: &str, outcome| (class.to_owned(), name.to_owned(), outcome);
        let expected = [
            of("outer > inner", "deep", Ended::Passed),
            of("outer > inner", "two", Ended::Passed),
            of("outer", "inner", Ended::Passed),
            of("outer", "flat", Ended::Failed),
            of("", "outer", Ended::Failed),
            of("", "next", Ended::Passed),
        ];
        assert_eq!(all(text), expected);
    }

    #[test]
    fn details_and_comments_are_the_complaint() {
        let text = "not ok 1 - a\n  ---\n  duration_ms: 12.5\n  message: 'expected 1'\n  at: x.js:3\n\
             \x20 ok 9 - no test\n  ...\nnot ok 2 - b\n# Failed test\n# at t.pl\nok 3 - c\n# fine\n\
             Bail out! no disk\n";
        let report = read(text);
        assert_eq!(report.cases.len(), 3);
        let (a, b) = (&report.cases[0], &report.cases[1]);
        assert_eq!(
            (a.message.as_str(), a.duration),
            ("expected 1", Some(Duration::from_micros(12_500)))
        );
        assert!(a.text.contains("at: x.js:3\nok 9 - no test\n"), "{}", a.text);
        assert_eq!(
            (b.message.as_str(), b.text.as_str()),
            ("Failed test", "Failed test\nat t.pl\n")
        );
        assert_eq!(report.cases[2].text, "");
        assert_eq!(report.bailed.as_deref(), Some("no disk"));
    }

    #[test]
    fn only_lines_about_tests_that_are_no_children_are_followed_live() {
        assert_eq!(named_by("ok 1 - a b"), Some("a b".to_owned()));
        assert_eq!(named_by("    ok 1 - a b"), None);
        assert_eq!(named_by("# ok"), None);
    }
}
