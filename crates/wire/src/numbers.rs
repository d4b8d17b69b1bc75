//! Many numbers in few characters.
//!
//! They are one text, with eight hexadecimal digits a number, the lowest byte first: this is how an
//! agent has them in memory, and a test may call hundreds of functions. Writing them as a list in
//! JSON costs the agent more than finding out which they are.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

const N_DIGITS: usize = 8;

pub(crate) fn serialize<S: Serializer>(numbers: &[usize], to: S) -> Result<S::Ok, S::Error> {
    let digits = |number: &usize| {
        let number = u32::try_from(*number).map_err(S::Error::custom)?;
        Ok(format!("{:08x}", number.swap_bytes()))
    };
    numbers.iter().map(digits).collect::<Result<String, S::Error>>()?.serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<usize>, D::Error> {
    let text = String::deserialize(from)?;
    read(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not a list of numbers")))
}

fn read(text: &str) -> Option<Vec<usize>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(N_DIGITS) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    digits.chunks_exact(N_DIGITS).map(number).collect()
}

fn number(digits: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(digits).ok()?;
    let swapped = u32::from_str_radix(text, 16).ok()?;
    usize::try_from(swapped.swap_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn numbers_are_four_bytes_each_the_lowest_first() {
        assert_eq!(read(""), Some(vec![]));
        assert_eq!(read("0500000001020000ffffffff"), Some(vec![5, 513, 0xFFFF_FFFF]));
    }

    #[test]
    fn what_is_cut_off_or_no_digit_is_no_list() {
        for text in ["05", "050000000", "+5000000", "0500000g", "é000000"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
