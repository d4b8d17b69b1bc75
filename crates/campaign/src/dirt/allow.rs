//! What does a project declare as meant to be left behind?
//!
//! An entry names places (`shop.cache.*`), a kind of state (`kind:logging`), or either for some
//! tests only (`tests/test_x.py::test_y: os.environ['X']`). `*` stands for any text and `?` for one
//! character; brackets stand for themselves, because places are full of them. Allowing a thing
//! allows its parts.

/// Prefix of a kind of state.
const KIND: &str = "kind:";
/// Separates tests from what they may leave.
const OF: &str = ": ";

/// The entries, each with whether it was used.
#[derive(Clone, Debug, Default)]
pub struct AllowList {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    written: String,
    tests: Option<String>,
    what: What,
    is_used: bool,
}

#[derive(Clone, Debug)]
enum What {
    Kind(String),
    Place(String),
}

impl AllowList {
    /// Reads entries as they are written.
    pub fn new(entries: &[String]) -> Self {
        Self { entries: entries.iter().map(|written| Entry::read(written)).collect() }
    }

    /// The entry that allows this, if any. Every entry that would allow it counts as used.
    pub(crate) fn allows(&mut self, test: &str, kind: &str, place: &str) -> Option<String> {
        let mut first = None;
        for entry in self.entries.iter_mut().filter(|entry| entry.matches(test, kind, place)) {
            entry.is_used = true;
            first.get_or_insert(&entry.written);
        }
        first.cloned()
    }

    /// Entries that nothing matched.
    pub fn unused(&self) -> Vec<String> {
        self.entries.iter().filter(|it| !it.is_used).map(|it| it.written.clone()).collect()
    }
}

impl Entry {
    fn read(written: &str) -> Self {
        // Quoted text is part of a place, such as `shop.WORDS['a: b']`.
        let parts = written.split_once(OF).filter(|(tests, _)| !tests.contains(['\'', '"']));
        let (tests, what) = match parts {
            Some((tests, what)) => (Some(tests.trim().to_owned()), what.trim()),
            None => (None, written.trim()),
        };
        let what = match what.strip_prefix(KIND) {
            Some(kind) => What::Kind(kind.trim().to_owned()),
            None => What::Place(what.to_owned()),
        };
        Self { written: written.to_owned(), tests, what, is_used: false }
    }

    fn matches(&self, test: &str, kind: &str, place: &str) -> bool {
        let is_of_test = self.tests.as_ref().is_none_or(|tests| is_like(tests, test));
        is_of_test
            && match &self.what {
                What::Kind(wanted) => is_like(wanted, kind),
                What::Place(wanted) => is_part_of(wanted, place),
            }
    }
}

fn is_part_of(wanted: &str, place: &str) -> bool {
    let is_inside = |rest: &str| is_like(&format!("{wanted}{rest}"), place);
    is_like(wanted, place) || is_inside("[*") || is_inside(".*") || is_inside(" *")
}

/// Whether a text matches a pattern.
fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The position of the last star, and how much of the text it has matched: only that one ever
    // needs to match more.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                t = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "tests/test_a.py::test_x[a-b]";

    fn allows(entry: &str, kind: &str, place: &str) -> bool {
        let mut list = AllowList::new(&[entry.to_owned()]);
        let allowed = list.allows(TEST, kind, place);
        assert_eq!(allowed.is_some(), list.unused().is_empty());
        allowed.is_some()
    }

    #[test]
    fn places_kinds_and_tests_are_allowed_by_pattern() {
        for (entry, kind, place, expected) in [
            ("shop.cache.*", "global", "shop.cache.X['a']", true),
            ("shop.cache.*", "global", "shop.caches.X", false),
            ("shop.X", "global", "shop.X['a'].b", true),
            ("shop.X", "global", "shop.X.b", true),
            ("shop.X", "global", "shop.XY", false),
            ("shop.f()", "closure", "shop.f() closure variable n", true),
            ("shop.X['a?']", "global", "shop.X['ab']", true),
            ("shop.X['a?']", "global", "shop.X['abc']", false),
            ("shop.X['a: b']", "global", "shop.X['a: b']", true),
            ("*", "file", "a b", true),
            ("", "file", "a", false),
            ("kind:logging", "logging", "anything", true),
            ("kind:log*", "logging", "anything", true),
            ("kind:logging", "global", "kind:logging", false),
            ("tests/test_a.py::*: shop.X", "global", "shop.X", true),
            ("tests/test_a.py::test_x[a-b]: kind:file", "file", "a.txt", true),
            ("tests/test_b.py::*: shop.X", "global", "shop.X", false),
            ("tests/test_a.py::*: *", "global", "shop.X", true),
        ] {
            assert_eq!(allows(entry, kind, place), expected, "{entry} on {place}");
        }
    }

    #[test]
    fn stars_take_as_much_as_it_needs() {
        assert!(is_like("*a*b*", "xaxaxbxb"));
        assert!(is_like("a**", "a"));
        assert!(!is_like("*ab", "abab_"));
        assert!(is_like("*ab", "aabab"));
        assert!(!is_like("?", ""));
    }

    #[test]
    fn every_entry_that_would_do_counts_as_used_and_the_first_is_named() {
        let mut list = AllowList::new(&["a".to_owned(), "kind:x".to_owned(), "b".to_owned()]);
        assert_eq!(list.allows(TEST, "x", "a"), Some("a".to_owned()));
        assert_eq!(list.unused(), ["b"]);
    }
}
