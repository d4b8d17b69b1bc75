//! Which number does a function have in this run, and what is told of it?
//!
//! What is told of a function is written once, when it gets its number, one text after another with
//! commas between: so what is new since the last message is the end of it. Two functions of which
//! the same is told are one function.
//!
//! Code is written here, for every test is new code; where a name is not plain text, and of all
//! functions in C, Python says what is told (`agents/python/unflake_agent/trace/names.py`, which
//! writes the same).

use core::ffi::c_void;
use core::ptr::null_mut;
use core::slice::from_raw_parts;

use super::store::{Map, Row};
use super::{Api, Object, aside, state, word};

/// Where in a code its file and its name stand; the agent has looked.
const FILE: usize = 112;
const NAME: usize = 128;
/// Longer names are cut, by Python.
const N_NAME_MAX: usize = 300;
/// More than a number has.
const N_DIGITS: usize = 20;
/// What stands before a message: how long it is.
const N_LENGTH: usize = 4;

/// From where to where a text is.
#[derive(Clone, Copy)]
struct Text {
    begin: usize,
    end: usize,
}

pub struct Names {
    /// All texts, each with a comma behind it.
    written: Row<u8>,
    /// By number.
    texts: Row<Text>,
    by_hash: Map,
    /// From where on nothing was sent yet.
    sent: usize,
    message: Row<u8>,
}

impl Names {
    pub fn new() -> Self {
        Self {
            written: Row::new(),
            texts: Row::new(),
            by_hash: Map::new(),
            sent: 0,
            message: Row::new(),
        }
    }

    /// The number of the text that was written from here on.
    fn number(&mut self, begin: usize) -> u32 {
        let end = self.written.len();
        let mut key = hash(self.text(Text { begin, end }));
        while let Some(known) = self.by_hash.get(key) {
            // SAFETY: it is the number of a text.
            let is_same =
                unsafe { self.text(*self.texts.get(known)) == self.text(Text { begin, end }) };
            if is_same {
                self.written.shorten(begin);
                return known as u32;
            }
            key = hash(&key.to_le_bytes());
        }
        let number = self.texts.len();
        self.by_hash.insert(key, number);
        self.texts.push(Text { begin, end });
        self.written.push(b',');
        number as u32
    }

    fn text(&self, Text { begin, end }: Text) -> &[u8] {
        // SAFETY: it was written.
        unsafe { from_raw_parts(self.written.as_ptr().add(begin), end - begin) }
    }

    /// Writes what is told of a code; not all of it, and false, if something is not plain text.
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
                self.written.extend(before);
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
                self.written.extend(text);
            }
            self.written.extend(b"\",\"line\":");
            let line = *code.byte_add(api.marks.line).cast::<i32>();
            write_number(&mut self.written, line as isize);
            self.written.push(b'}');
        }
        true
    }

    /// The message about a test: these functions, and what is told of those that are new.
    ///
    /// # Safety
    ///
    /// See `state`.
    pub unsafe fn message(&mut self, test: [isize; 2], noted: &Row<u32>, api: &Api) -> Object {
        let message = &mut self.message;
        message.clear();
        message.extend(&[0; N_LENGTH]);
        message.extend(b"{\"traced\":{\"position\":");
        write_number(message, test[0]);
        message.extend(b",\"attempt\":");
        write_number(message, test[1]);
        message.extend(b",\"functions\":\"");
        message.extend_by(noted.all(), hexadecimal);
        message.extend(b"\",\"names\":[");
        if self.sent < self.written.len() {
            let news = Text { begin: self.sent, end: self.written.len() - 1 };
            // SAFETY: it was written, and the message is another row.
            let news = unsafe {
                from_raw_parts(self.written.as_ptr().add(news.begin), news.end - news.begin)
            };
            message.extend(news);
            self.sent = self.written.len();
        }
        message.extend(b"]}}");
        let length = (message.len() - N_LENGTH) as u32;
        // SAFETY: there is room for it at the front, and the bytes are copied.
        unsafe {
            let front = message.get(0) as *mut u8;
            front.cast::<[u8; N_LENGTH]>().write(length.to_be_bytes());
            (api.bytes)(message.as_ptr(), message.len().cast_signed())
        }
    }
}

/// Of a code object, whose module's name this is if it is a string; none if Python does not know.
///
/// # Safety
///
/// As `ask`.
pub unsafe fn number_of_code(api: Api, code: Object, module: Object) -> Option<u32> {
    // SAFETY: the caller's promise; to read a string calls nobody.
    unsafe {
        let known = aside(api, || {
            let names = &mut state().names;
            let begin = names.written.len();
            if names.write_code(code, module, &api) {
                return Some(names.number(begin));
            }
            names.written.shorten(begin);
            None
        });
        known.or_else(|| ask(api, code, module))
    }
}

/// The number of a function of which Python says what is told; none if it does not know.
///
/// # Safety
///
/// All are objects, `more` perhaps null, and nothing of the state is borrowed: Python may call us
/// again.
pub unsafe fn ask(api: Api, shown: Object, more: Object) -> Option<u32> {
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
                names.written.extend(from_raw_parts(text, length.cast_unsigned()));
                names.number(begin)
            });
            (api.release)(answer);
            number
        })
    }
}

/// Whether JSON has it as it is.
fn is_plain(text: &[u8]) -> bool {
    let is_odd = |byte: u8| (byte < b' ') | (byte > b'~') | (byte == b'"') | (byte == b'\\');
    !text.iter().fold(false, |odd, &byte| odd | is_odd(byte))
}

/// Never 0.
fn hash(text: &[u8]) -> usize {
    const FACTOR: usize = 0x9E37_79B9_7F4A_7C15;
    let (words, rest) = text.as_chunks::<8>();
    let mix = |sum: usize, word: usize| (sum.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let sum = words.iter().fold(text.len(), |sum, &word| mix(sum, usize::from_le_bytes(word)));
    rest.iter().fold(sum, |sum, &byte| mix(sum, usize::from(byte))) | 1
}

fn write_number(row: &mut Row<u8>, number: isize) {
    let mut digits = [0; N_DIGITS];
    let mut left = number.unsigned_abs();
    let mut n = 0;
    for place in digits.iter_mut().rev() {
        *place = b'0' + (left % 10) as u8;
        left /= 10;
        n += 1;
        if left == 0 {
            break;
        }
    }
    if number < 0 {
        row.push(b'-');
    }
    for &digit in digits.iter().skip(N_DIGITS - n) {
        row.push(digit);
    }
}

/// Its four bytes, the lowest first, two digits each; all at once.
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
