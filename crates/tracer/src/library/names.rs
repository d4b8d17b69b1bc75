//! Which number does a function have in this run, and how is it described?
//!
//! The description of a function is written once, when it gets its number, one after another with
//! commas in between: so everything new since the last message is at the end. Two functions with
//! the same description are one function.
//!
//! Code is described here, because every test is new code; if a name is not plain text, and for all
//! functions in C, Python writes the description (`agents/python/unflake_agent/trace/names.py`, in
//! the same form).

use std::ffi::c_void;
use std::fmt::Display;
use std::io::Write as _;
use std::ptr::null_mut;
use std::slice::from_raw_parts;

use super::map::Map;
use super::{Api, Object, aside, short, state, word};

/// Offsets of the file and the name in a code object; checked by the agent.
const FILE: usize = 112;
const NAME: usize = 128;
/// Longer names are cut, by Python.
const N_NAME_MAX: usize = 300;
/// The length that precedes a message.
const N_LENGTH: usize = 4;

/// The range of a text.
#[derive(Clone, Copy)]
struct Text {
    begin: usize,
    end: usize,
}

pub(crate) struct Names {
    /// All descriptions, each followed by a comma.
    written: Vec<u8>,
    /// The texts, by number.
    texts: Vec<Text>,
    by_hash: Map,
    /// Where the part begins that was not sent yet.
    sent: usize,
    message: Vec<u8>,
}

impl Names {
    pub(crate) fn new() -> Self {
        Self {
            written: Vec::new(),
            texts: Vec::new(),
            by_hash: Map::new(),
            sent: 0,
            message: Vec::new(),
        }
    }

    /// The number of the text that was written from here on.
    fn number(&mut self, begin: usize) -> u32 {
        let end = self.written.len();
        let mut key = hash(self.text(Text { begin, end }));
        while let Some(known) = self.by_hash.get(key) {
            if self.text(self.texts[known]) == self.text(Text { begin, end }) {
                self.written.truncate(begin);
                return short(known);
            }
            key = hash(&key.to_le_bytes());
        }
        let number = self.texts.len();
        self.by_hash.insert(key, number);
        self.texts.push(Text { begin, end });
        self.written.push(b',');
        short(number)
    }

    fn text(&self, Text { begin, end }: Text) -> &[u8] {
        &self.written[begin..end]
    }

    /// Writes the description of code; incompletely, with false, if something is not plain text.
    ///
    /// # Safety
    ///
    /// These are a code object, and an object that is its module's name if it is a string.
    unsafe fn write_code(&mut self, code: Object, module: Object, api: &Api) -> bool {
        // SAFETY: the caller's promise; the agent has looked.
        unsafe {
            let parts = [
                (&b"{\"module\":\""[..], module),
                (b"\",\"name\":\"", word(code, NAME) as Object),
                (b"\",\"file\":\"", word(code, FILE) as Object),
            ];
            for (before, name) in parts {
                self.written.extend_from_slice(before);
                if name == api.none {
                    // As Python says of a module whose name is not known.
                    self.written.push(b'?');
                    continue;
                }
                let mut length = 0;
                let text = (api.utf8)(name, &raw mut length);
                if text.is_null() || length.cast_unsigned() > N_NAME_MAX {
                    return false;
                }
                let text = from_raw_parts(text, length.cast_unsigned());
                if !is_plain(text) {
                    return false;
                }
                self.written.extend_from_slice(text);
            }
            self.written.extend_from_slice(b"\",\"line\":");
            let line = *code.byte_add(api.marks.line).cast::<i32>();
            write_number(&mut self.written, line);
            self.written.push(b'}');
        }
        true
    }

    /// The message about a test: these functions, and descriptions of the new ones.
    ///
    /// # Safety
    ///
    /// See `state`.
    pub(crate) unsafe fn message(&mut self, test: [isize; 2], noted: &[u32], api: &Api) -> Object {
        let message = &mut self.message;
        message.clear();
        message.extend_from_slice(&[0; N_LENGTH]);
        message.extend_from_slice(b"{\"traced\":{\"position\":");
        write_number(message, test[0]);
        message.extend_from_slice(b",\"attempt\":");
        write_number(message, test[1]);
        message.extend_from_slice(b",\"functions\":\"");
        for &number in noted {
            message.extend_from_slice(&hexadecimal(number));
        }
        message.extend_from_slice(b"\",\"names\":[");
        if self.sent < self.written.len() {
            message.extend_from_slice(&self.written[self.sent..self.written.len() - 1]);
            self.sent = self.written.len();
        }
        message.extend_from_slice(b"]}}");
        let length = short(message.len() - N_LENGTH);
        message[..N_LENGTH].copy_from_slice(&length.to_be_bytes());
        // SAFETY: the bytes are copied.
        unsafe { (api.bytes)(message.as_ptr(), message.len().cast_signed()) }
    }
}

/// The number of a code object, whose module has this name if it is a string; `None` if Python has
/// none for it.
///
/// # Safety
///
/// As `ask`.
pub(crate) unsafe fn number_of_code(api: &Api, code: Object, module: Object) -> Option<u32> {
    // SAFETY: the caller's promise; to read a string calls nobody.
    unsafe {
        let known = aside(api, || {
            let names = &mut state().names;
            let begin = names.written.len();
            if names.write_code(code, module, api) {
                return Some(names.number(begin));
            }
            names.written.truncate(begin);
            None
        });
        known.or_else(|| ask(api, code, module))
    }
}

/// The number of a function that Python describes; `None` if it cannot.
///
/// # Safety
///
/// All are objects, `more` perhaps null, and nothing of the state is borrowed: Python may call us
/// again.
pub(crate) unsafe fn ask(api: &Api, shown: Object, more: Object) -> Option<u32> {
    // SAFETY: the caller's promise.
    unsafe {
        aside(api, || {
            let answer = (api.call)(api.told, shown, more, null_mut::<c_void>());
            if answer.is_null() {
                return None;
            }
            let mut length = 0;
            let text = (api.utf8)(answer, &raw mut length);
            let number = (!text.is_null()).then(|| {
                let names = &mut state().names;
                let begin = names.written.len();
                names.written.extend_from_slice(from_raw_parts(text, length.cast_unsigned()));
                names.number(begin)
            });
            (api.release)(answer);
            number
        })
    }
}

/// Whether JSON spells the text as it is.
fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
}

/// A hash that is never 0.
fn hash(text: &[u8]) -> usize {
    const FACTOR: usize = 0x9E37_79B9_7F4A_7C15;
    let (words, rest) = text.as_chunks::<8>();
    let mix = |sum: usize, word: usize| (sum.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let sum = words.iter().fold(text.len(), |sum, &word| mix(sum, usize::from_le_bytes(word)));
    rest.iter().fold(sum, |sum, &byte| mix(sum, usize::from(byte))) | 1
}

fn write_number(into: &mut Vec<u8>, number: impl Display) {
    write!(into, "{number}").expect("memory can be written to");
}

/// The four bytes, lowest first, two digits each, all computed at once.
fn hexadecimal(number: u32) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A byte in every second place, then its upper half there and the lower half behind it.
    let mut spread = u64::from(number);
    spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF;
    spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF;
    let halves = (spread >> 4 & 0x000F_000F_000F_000F) | (spread & 0x000F_000F_000F_000F) << 8;
    let letters = (halves + 6 * ONES) >> 4 & ONES;
    let to_letters = u64::from(b'a' - b'0' - 10);
    (halves + u64::from(b'0') * ONES + to_letters * letters).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(names: &mut Names, text: &str) -> u32 {
        let begin = names.written.len();
        names.written.extend_from_slice(text.as_bytes());
        names.number(begin)
    }

    #[test]
    fn a_text_has_one_number_and_is_written_once() {
        let mut names = Names::new();
        let numbers = ["a", "bb", "a", "ccccccccc", "bb"].map(|text| numbered(&mut names, text));
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
        assert_eq!(names.written, b"a,bb,ccccccccc,");
    }

    #[test]
    fn four_bytes_are_written_with_the_lowest_first() {
        assert_eq!(hexadecimal(0), *b"00000000");
        assert_eq!(hexadecimal(0x1234_5678), *b"78563412");
        assert_eq!(hexadecimal(0x9ABC_DEF0), *b"f0debc9a");
        assert_eq!(hexadecimal(u32::MAX), *b"ffffffff");
    }

    #[test]
    fn only_text_that_json_has_as_it_is_counts_as_plain() {
        assert!(is_plain(b"Cart.add ~"));
        for text in ["\"", "\\", "\n", "\u{7f}", "\u{e9}"] {
            assert!(!is_plain(text.as_bytes()), "{text:?}");
        }
    }
}
