//! Which tests are there?

use unflake_model::TestId;

use crate::settings::Settings;

/// Bytes of a line that is no id which are shown.
const QUOTED_MAX: usize = 100;

/// What `list` printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) tests: Vec<String>,
    /// Lines that are no id, and why.
    pub(crate) refused: Vec<(String, String)>,
}

/// Reads what `list` printed: an id a line. Empty lines, and those that `lines` of the settings
/// does not describe, are none; what cannot be an argument and a line of a file is refused.
pub(crate) fn listing(printed: &[u8], settings: &Settings, chosen: &[String]) -> Listing {
    let mut listing = Listing::default();
    for (number, line) in (1..).zip(printed.split(|byte| *byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut refuse = |why: String| {
            let quoted = line[..line.len().min(QUOTED_MAX)].escape_ascii().to_string();
            listing.refused.push((format!("line {number} of `list`"), format!("`{quoted}` {why}")));
        };
        let Ok(text) = std::str::from_utf8(line) else {
            refuse("is not UTF-8".to_owned());
            continue;
        };
        let Some(id) = settings.lines.find(text).filter(|id| !id.trim().is_empty()) else {
            continue;
        };
        if id.parse::<TestId>().is_err() {
            refuse("has a control character in it: a test must fit on a line".to_owned());
        } else if is_chosen(id, chosen) {
            listing.tests.push(id.to_owned());
        }
    }
    listing
}

/// Whether a test is one of those that were asked for: by its id, or by a beginning of it that ends
/// where a word does.
fn is_chosen(id: &str, chosen: &[String]) -> bool {
    let is_it = |wanted: &String| {
        id.strip_prefix(wanted.as_str()).is_some_and(|rest| {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            !rest.starts_with(is_word) || wanted.ends_with(|c| !is_word(c))
        })
    };
    chosen.is_empty() || chosen.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Row;

    fn listed(printed: &[u8], lines: Option<&str>, chosen: &[&str]) -> Listing {
        let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let (list, run) = (words(["t", "-l"]), words(["t", "{tests}"]));
        let lines = lines.map(str::to_owned);
        let row = Row { list, run, report: "tap".to_owned(), lines, ..Row::default() };
        let chosen: Vec<String> = chosen.iter().map(|&it| it.to_owned()).collect();
        listing(printed, &Settings::new(row).unwrap(), &chosen)
    }

    #[test]
    fn a_test_a_line_to_the_letter() {
        let found = listed("a b\n\n  c\r\n$(x)\n-d\n\u{fc}::e".as_bytes(), None, &[]);
        assert_eq!(found.tests, ["a b", "  c", "$(x)", "-d", "\u{fc}::e"]);
        assert_eq!(found.refused, []);
    }

    #[test]
    fn what_cannot_be_named_is_refused_and_said() {
        let found = listed(b"a\tb\nok\n\xff\nesc\x1b[0m", None, &[]);
        assert_eq!(found.tests, ["ok"]);
        let said: Vec<&str> = found.refused.iter().map(|(_, why)| why.as_str()).collect();
        let control = "has a control character in it: a test must fit on a line";
        assert_eq!(
            said,
            [
                &format!("`a\\tb` {control}"),
                "`\\xff` is not UTF-8",
                &format!("`esc\\x1b[0m` {control}")
            ]
        );
        assert_eq!(found.refused[1].0, "line 3 of `list`");
    }

    #[test]
    fn other_lines_are_passed_over() {
        let found = listed(
            b"running\na::b: test\nc: bench\n\n1 test, 1 benchmark\n",
            Some("{id}: test"),
            &[],
        );
        assert_eq!(found.tests, ["a::b"]);
    }

    #[test]
    fn tests_are_chosen_by_name_or_by_the_beginning_of_it() {
        let all = b"cart::total\ncart::tax\ncarton::x\ncart";
        assert_eq!(listed(all, None, &["cart"]).tests, ["cart::total", "cart::tax", "cart"]);
        assert_eq!(listed(all, None, &["cart::"]).tests, ["cart::total", "cart::tax"]);
        assert_eq!(listed(all, None, &["cart::tax", "carton"]).tests, ["cart::tax", "carton::x"]);
    }
}
