//! What a terminal shows of its input, as far as our output needs it.

/// How many overwritten lines are shown.
const PASSING_MAX: usize = 4;

/// A terminal of unlimited height.
pub(super) struct Screen {
    columns: usize,
    lines: Vec<String>,
    line: Vec<char>,
    column: usize,
    /// Bytes of an incomplete character or escape sequence.
    pending: Vec<u8>,
    /// The contents of the last line before it was overwritten.
    passing: Vec<String>,
}

impl Screen {
    pub(super) fn new(columns: usize) -> Self {
        let (lines, line, pending, passing) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { columns, lines, line, column: 0, pending, passing }
    }

    /// Processes output.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        while let Some((piece, n_bytes)) = next(&self.pending) {
            self.pending.drain(..n_bytes);
            self.take(piece);
        }
    }

    fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Character('\n') => {
                let line: String = std::mem::take(&mut self.line).into_iter().collect();
                self.column = 0;
                // The carriage return before it belonged to the end of a line that stays.
                self.passing.pop_if(|last| *last == line);
                self.lines.extend(wrapped(&line, self.columns));
            }
            Piece::Character('\r') => {
                let line: String = self.line.iter().collect();
                if !line.is_empty() && self.passing.last() != Some(&line) {
                    self.passing.push(line);
                }
                self.column = 0;
            }
            Piece::Character(c) => {
                if self.column < self.line.len() {
                    self.line[self.column] = c;
                } else {
                    self.line.push(c);
                }
                self.column += 1;
            }
            Piece::ClearRight => self.line.truncate(self.column),
            Piece::Nothing => (),
        }
    }

    /// The final contents.
    pub(super) fn text(&self) -> String {
        let last: String = self.line.iter().collect();
        let last = Some(last).filter(|line| !line.is_empty());
        let lines = self.lines.iter().cloned().chain(last);
        lines.map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    /// Some of the contents that were overwritten.
    pub(super) fn passing(&self) -> Vec<&str> {
        let gone = &self.passing;
        let n_shown = gone.len().min(PASSING_MAX);
        // Spread evenly from the first to the last.
        let at = |place: usize| &gone[place * (gone.len() - 1) / n_shown.saturating_sub(1).max(1)];
        (0..n_shown).map(|place| at(place).as_str()).collect()
    }
}

#[derive(Clone, Copy)]
enum Piece {
    Character(char),
    /// `ESC [ K`: clears the rest of the line.
    ClearRight,
    /// Any other escape sequence, such as a colour.
    Nothing,
}

/// The first piece and its length in bytes; `None` if it is incomplete.
fn next(bytes: &[u8]) -> Option<(Piece, usize)> {
    match bytes {
        [0x1b, b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| (0x40..0x7f).contains(byte))?;
            let piece = if rest[end] == b'K' { Piece::ClearRight } else { Piece::Nothing };
            Some((piece, end + 3))
        }
        [] | [0x1b] => None,
        [0x1b, ..] => Some((Piece::Nothing, 2)),
        _ => {
            let n_bytes = (1..=bytes.len().min(4)).find(|n| str::from_utf8(&bytes[..*n]).is_ok());
            match n_bytes {
                Some(n) => {
                    let text = str::from_utf8(&bytes[..n]).unwrap_or_default();
                    Some((Piece::Character(text.chars().next()?), n))
                }
                None if bytes.len() < 4 => None,
                None => Some((Piece::Nothing, 1)),
            }
        }
    }
}

/// A line as a terminal shows it.
fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters.chunks(columns).map(|chunk| chunk.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(pieces: &[&str]) -> Screen {
        let mut screen = Screen::new(10);
        for piece in pieces {
            screen.write(piece.as_bytes());
        }
        screen
    }

    #[test]
    fn what_is_written_over_is_gone_and_told_of_apart() {
        let seen = screen(&["\rlooking: 1\x1b[K", "\rlook 2\x1b", "[K", "\r\x1b[Kfound a\r\n"]);
        assert_eq!(seen.text(), "found a\n");
        assert_eq!(seen.passing(), ["looking: 1", "look 2"]);
    }

    #[test]
    fn colours_are_left_out_and_long_lines_wrapped() {
        let seen = screen(&["\x1b[31;1mabcdefgh\x1b[0m äöü\r\n\r\nend"]);
        assert_eq!(seen.text(), "abcdefgh ä\nöü\n\nend\n");
    }

    #[test]
    fn a_character_may_come_in_two_pieces() {
        let mut screen = Screen::new(10);
        screen.write(&[0xc3]);
        screen.write(&[0xa4, b'\n']);
        assert_eq!(screen.text(), "ä\n");
    }
}
