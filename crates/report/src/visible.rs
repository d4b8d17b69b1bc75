//! Text from outside, made harmless for a terminal.
//!
//! A test may be named, or may fail, with characters that move the cursor, set the window title,
//! or turn the direction of text so that a command reads other than it runs. They are shown by
//! their names instead (`\u{1b}`). All else stays as it is.

use std::borrow::Cow;

use unflake_known::plural;

/// Whether a terminal, or a reader, could be led astray by it: control characters, and those that
/// change the direction of text or break lines.
pub(crate) fn is_treacherous(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line that is safe to show.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_treacherous) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_treacherous(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// The first line that says something, safe to show and at most this long.
pub(crate) fn first_line(text: &str, chars_max: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    shortened(&visible(line), chars_max)
}

/// The last lines of a text, where runners say what went wrong, each safe to show; preceded by
/// how many were left out.
pub(crate) fn last_lines(text: &str, lines_max: usize, chars_max: usize) -> Vec<String> {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let n_left_out = lines.len().saturating_sub(lines_max);
    let note = (0 < n_left_out)
        .then(|| format!("… {} before this …", plural(n_left_out as u64, "line", "lines")));
    let shown = lines[n_left_out..]
        .iter()
        .map(|line| shortened(&visible(&line.replace('\t', "    ")), chars_max));
    note.into_iter().chain(shown).collect()
}

/// The end of a text, at most this long.
pub(crate) fn tail(text: &str, bytes_max: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes_max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_and_overrides_are_shown_by_name_and_the_rest_is_kept() {
        assert_eq!(visible("größe [1-x y] ✓ 測試"), "größe [1-x y] ✓ 測試");
        assert_eq!(visible("a\u{1b}]0;x\u{7}b\u{9b}2J"), "a\\u{1b}]0;x\\u{7}b\\u{9b}2J");
        assert_eq!(visible("a\u{202e}b\nc\r"), "a\\u{202e}b\\nc\\r");
    }

    #[test]
    fn long_texts_keep_their_end_and_count_the_rest() {
        let text = "one\ntwo\nthree\n\tfour\n\n";
        assert_eq!(last_lines(text, 2, 80), ["… 2 lines before this …", "three", "    four"]);
        assert_eq!(last_lines(text, 9, 3), ["one", "two", "th…", "  …"]);
        assert_eq!(first_line("\n  E  assert 1 == 2\nmore", 80), "E  assert 1 == 2");
        assert_eq!(tail("aéz", 2), "z");
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 256, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn nothing_treacherous_is_left(text in any::<String>()) {
            prop_assert!(!visible(&text).contains(is_treacherous));
            prop_assert!(!first_line(&text, 20).contains(is_treacherous));
            prop_assert!(first_line(&text, 20).chars().count() <= 20);
            prop_assert!(tail(&text, 7).len() <= 7 && text.ends_with(tail(&text, 7)));
        }
    }
}
