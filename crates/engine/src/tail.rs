//! Keeps the end of what a process wrote, however much it wrote.

use std::collections::VecDeque;

/// How many bytes are kept.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    n_written: u64,
}

impl Tail {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.n_written += bytes.len() as u64;
        let kept = &bytes[bytes.len().saturating_sub(KEPT_BYTES_MAX)..];
        let n_over = (self.bytes.len() + kept.len()).saturating_sub(KEPT_BYTES_MAX);
        self.bytes.drain(..n_over);
        self.bytes.extend(kept);
    }

    /// How many bytes were written so far, to ask later what came [`Tail::since`].
    pub(crate) fn mark(&self) -> u64 {
        self.n_written
    }

    /// What is kept of the output after a mark.
    pub(crate) fn since(&self, mark: u64) -> String {
        let n_new = usize::try_from(self.n_written - mark).unwrap_or(usize::MAX);
        let from = self.bytes.len().saturating_sub(n_new);
        let bytes: Vec<u8> = self.bytes.range(from..).copied().collect();
        let n_cut = n_new - bytes.len();
        let text = String::from_utf8_lossy(&bytes);
        if n_cut == 0 { text.into_owned() } else { format!("[{n_cut} bytes cut]\n{text}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_the_cut_is_told() {
        let mut tail = Tail::default();
        tail.push(b"head ");
        let mark = tail.mark();
        tail.push(b"tail");
        assert_eq!(tail.since(0), "head tail");
        assert_eq!(tail.since(mark), "tail");
        tail.push(&vec![b'x'; 3 * KEPT_BYTES_MAX]);
        tail.push(b"end");
        let text = tail.since(0);
        let n_cut = 9 + 3 * KEPT_BYTES_MAX + 3 - KEPT_BYTES_MAX;
        assert!(text.starts_with(&format!("[{n_cut} bytes cut]\nxxx")), "{}", &text[..40]);
        assert!(text.ends_with("xxxend"));
    }
}
