//! What a command writes: kept as far as somebody will read it, and looked at line by line.

use std::collections::VecDeque;

/// Bytes kept of a stream for people: the end counts.
const TAIL_BYTES_MAX: usize = 64 << 10;
/// Bytes of a line that is looked at; a longer one names no test.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Bytes kept of a stream that is the report.
const WHOLE_BYTES_MAX: usize = 512 << 20;

/// One stream of a command.
#[derive(Debug, Default)]
pub(super) struct Output {
    tail: VecDeque<u8>,
    /// Everything, if the stream is the report.
    whole: Option<Vec<u8>>,
    line: Vec<u8>,
}

impl Output {
    /// One of which everything is kept, if it `is_report`.
    pub(super) fn new(is_report: bool) -> Self {
        Self { whole: is_report.then(Vec::new), ..Self::default() }
    }

    /// More was written. `look` is given each line: the whole of it, or, with `true`, its beginning
    /// where more may come.
    pub(super) fn push(&mut self, bytes: &[u8], mut look: impl FnMut(&str, bool)) {
        if let Some(whole) = &mut self.whole {
            let room = WHOLE_BYTES_MAX.saturating_sub(whole.len());
            whole.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let kept = &bytes[bytes.len().saturating_sub(TAIL_BYTES_MAX)..];
        let n_over = (self.tail.len() + kept.len()).saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..n_over);
        self.tail.extend(kept);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            let is_over = piece.ends_with(b"\n");
            let text = String::from_utf8_lossy(&self.line);
            look(text.trim_end_matches(['\n', '\r']), !is_over);
            if is_over {
                self.line.clear();
            }
        }
    }

    /// The end of it, and forgets it.
    pub(super) fn take_tail(&mut self) -> String {
        let bytes: Vec<u8> = std::mem::take(&mut self.tail).into();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// All of it, if it was kept.
    pub(super) fn whole(&self) -> Option<String> {
        self.whole.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Text that fits a field of the protocol, with the middle cut out.
pub(super) fn bounded(text: &str) -> String {
    if text.len() <= TAIL_BYTES_MAX {
        return text.to_owned();
    }
    let half = TAIL_BYTES_MAX / 2;
    let (mut head, mut tail) = (half, text.len() - half);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}\n[... {} bytes cut out ...]\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_seen_when_they_are_whole_and_while_they_grow() {
        let mut output = Output::new(true);
        let mut seen = Vec::new();
        for piece in ["one\r\ntw", "o", "\nthree"] {
            output.push(piece.as_bytes(), |line, is_begun| seen.push((line.to_owned(), is_begun)));
        }
        let expected =
            [("one", false), ("tw", true), ("two", true), ("two", false), ("three", true)];
        assert_eq!(seen, expected.map(|(line, is_begun)| (line.to_owned(), is_begun)));
        assert_eq!(output.whole().unwrap(), "one\r\ntwo\nthree");
        assert_eq!(output.take_tail(), "one\r\ntwo\nthree");
        assert_eq!(output.take_tail(), "");
    }

    #[test]
    fn a_flood_does_not_fill_memory() {
        let mut output = Output::new(false);
        for _ in 0..100 {
            output.push(&[b'x'; 10_000], |_, _| ());
        }
        assert_eq!(output.take_tail().len(), TAIL_BYTES_MAX);
        assert!(output.line.len() <= LINE_BYTES_MAX && output.whole().is_none());
    }

    #[test]
    fn long_texts_lose_their_middle_and_say_so() {
        let text = "ü".repeat(TAIL_BYTES_MAX);
        let cut = bounded(&text);
        assert!(cut.len() < TAIL_BYTES_MAX + 100 && cut.contains("bytes cut out"));
        assert_eq!(bounded("short"), "short");
    }
}
