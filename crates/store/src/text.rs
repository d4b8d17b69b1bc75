//! Texts of failures, cut to size.
//!
//! A test can print gigabytes before it fails. The beginning says what was done and the end what
//! went wrong, so the middle is cut out and replaced by a note.

use std::borrow::Cow;

/// How many bytes of a failure's text are kept.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// How many bytes of a failure's message are kept.
pub const MESSAGE_BYTES_MAX: usize = 1024;

/// Room for the note that replaces the middle.
const NOTE_BYTES_MAX: usize = 48;

/// The text, without its middle if it is longer than `bytes_max`.
pub(crate) fn bounded(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return text.into();
    }
    let half = (bytes_max - NOTE_BYTES_MAX) / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let n_cut = text.len() - head.len() - tail.len();
    format!("{head} [... {n_cut} bytes cut ...] {tail}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_is_kept_to_the_letter() {
        let text = "x".repeat(100);
        assert_eq!(bounded(&text, 100), text);
    }

    #[test]
    fn the_middle_of_a_long_text_is_cut_out_and_said_so() {
        let text = format!("begin{}end", "x".repeat(1_000));
        let kept = bounded(&text, 100);
        assert!(kept.len() <= 100);
        assert_eq!(
            kept,
            "beginxxxxxxxxxxxxxxxxxxxxx [... 956 bytes cut ...] xxxxxxxxxxxxxxxxxxxxxxxend"
        );
    }

    #[test]
    fn no_character_is_torn_apart() {
        for n in 0..8 {
            let text = format!("{}{}", "x".repeat(n), "✓".repeat(200));
            let kept = bounded(&text, 101);
            assert!(kept.len() <= 101 && kept.ends_with('✓'));
        }
    }

    #[test]
    fn the_note_fits_its_room() {
        assert!(format!(" [... {} bytes cut ...] ", u64::MAX).len() <= NOTE_BYTES_MAX);
    }
}
