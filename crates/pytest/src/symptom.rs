//! What is the complaint of a failing test about?
//!
//! Read from its one-line message, in the words of pytest and unittest: the exception, and for a
//! comparison both sides of it. Only what tells root causes apart is looked for.

use unflake_model::Symptom;

/// Numbers that differ by less than this, relative to their size, were meant to be equal.
const NEARLY: f64 = 1e-6;

const ADDRESS: [&str; 4] =
    ["Address already in use", "ConnectionRefusedError", "ConnectionResetError", "EADDRINUSE"];
const FILE: [&str; 5] = [
    "FileNotFoundError",
    "FileExistsError",
    "PermissionError",
    "NotADirectoryError",
    "Directory not empty",
];

/// What a failure is about, from its message.
pub(crate) fn symptom(message: &str) -> Symptom {
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if has(&ADDRESS) {
        Symptom::Address
    } else if has(&FILE) {
        Symptom::File
    } else if is_nearly_equal(message) {
        Symptom::NearlyEqual
    } else {
        Symptom::Other
    }
}

/// Whether two numbers are compared that are not equal, but nearly: `assert 0.1 == 0.2`, or
/// `0.1 != 0.2` as unittest has it.
fn is_nearly_equal(message: &str) -> bool {
    let sides = message.split_once(" == ").or_else(|| message.split_once(" != "));
    let Some((left, right)) = sides else { return false };
    let last = left.split_whitespace().next_back().and_then(number);
    let first = right.split_whitespace().next().and_then(number);
    match (last, first) {
        // They are not equal, or nobody would complain.
        (Some(a), Some(b)) => (a - b).abs() <= NEARLY * a.abs().max(b.abs()),
        _ => false,
    }
}

fn number(word: &str) -> Option<f64> {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
    word.contains(['.', 'e']).then(|| word.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_told_apart() {
        for (message, expected) in [
            ("AssertionError: assert 0.6000000000000001 == 0.6", Symptom::NearlyEqual),
            ("AssertionError: 0.6000000000000001 != 0.6", Symptom::NearlyEqual),
            ("assert 0.5 == 0.6", Symptom::Other),
            ("assert 3 == 4", Symptom::Other),
            ("assert ['a'] == ['b']", Symptom::Other),
            ("OSError: [Errno 98] Address already in use", Symptom::Address),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'x'", Symptom::File),
            ("", Symptom::Other),
        ] {
            assert_eq!(symptom(message), expected, "{message}");
        }
    }
}
