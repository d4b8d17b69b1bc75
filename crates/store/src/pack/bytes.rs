//! Numbers and columns of numbers as bytes.
//!
//! A single number is a varint: seven bits a byte, low bits first, and the high bit means that more
//! follow. A column is cut into blocks of 128. A block has its smallest number, and for each number
//! only what exceeds that, either all in the same number of bits or as varints, whichever is
//! shorter. So a constant column costs two bytes a block, a random order of 100,000 tests 18 bits a
//! test, and a column of small numbers with a few large ones about a byte a number.

const BLOCK_LEN: usize = 128;

/// Replaces the width of a block whose numbers are varints.
const VARINTS: u8 = u8::MAX;

/// A base and a width without numbers: the shortest block.
const BLOCK_BYTES_MIN: usize = 2;

const CHECKSUM_BYTES: usize = 8;

/// Why bytes are not a value of the expected format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Malformed(pub(crate) &'static str);

/// FNV-1a (Fowler, Noll and Vo), 64 bits: detects accidents, not forgeries.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |state, byte| {
        (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(super) fn number(&mut self, mut number: u64) {
        while 0x80 <= number {
            self.0.push(low_byte(number) | 0x80);
            number >>= 7;
        }
        self.0.push(low_byte(number));
    }

    pub(super) fn column(&mut self, numbers: &[u64]) {
        for block in numbers.chunks(BLOCK_LEN) {
            self.block(block);
        }
    }

    fn block(&mut self, block: &[u64]) {
        let base = block.iter().copied().min().expect("a chunk is not empty");
        let above = || block.iter().map(|number| number - base);
        let width = bits_of(above().max().expect("a chunk is not empty"));
        let packed_len = (block.len() * width as usize).div_ceil(8);
        let varints_len = above().map(varint_len).sum();
        self.number(base);
        if packed_len <= varints_len {
            self.byte(u8::try_from(width).expect("a number has at most 64 bits"));
            self.packed(above(), width);
        } else {
            self.byte(VARINTS);
            above().for_each(|number| self.number(number));
        }
    }

    fn packed(&mut self, numbers: impl Iterator<Item = u64>, width: u32) {
        let (mut waiting, mut n_waiting) = (0_u128, 0);
        for number in numbers {
            waiting |= u128::from(number) << n_waiting;
            n_waiting += width;
            while 8 <= n_waiting {
                self.0.push(waiting.to_le_bytes()[0]);
                waiting >>= 8;
                n_waiting -= 8;
            }
        }
        if 0 < n_waiting {
            self.0.push(waiting.to_le_bytes()[0]);
        }
    }

    /// The bytes with their checksum appended.
    pub(super) fn seal(mut self) -> Vec<u8> {
        let checksum = digest(&self.0);
        self.0.extend(checksum.to_le_bytes());
        self.0
    }
}

fn low_byte(number: u64) -> u8 {
    number.to_le_bytes()[0]
}

fn bits_of(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

fn varint_len(number: u64) -> usize {
    bits_of(number).div_ceil(7).max(1) as usize
}

#[derive(Debug)]
pub(super) struct Reader<'b>(&'b [u8]);

const CUT_SHORT: Malformed = Malformed("it ends in the middle");

impl<'b> Reader<'b> {
    /// Verifies the checksum before anything is read.
    pub(super) fn unseal(bytes: &'b [u8]) -> Result<Self, Malformed> {
        let (bytes, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(CUT_SHORT)?;
        if digest(bytes) == u64::from_le_bytes(*checksum) {
            Ok(Self(bytes))
        } else {
            Err(Malformed("its checksum does not match"))
        }
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        let (byte, rest) = self.0.split_first().ok_or(CUT_SHORT)?;
        self.0 = rest;
        Ok(*byte)
    }

    pub(super) fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed("a number is out of range"))
    }

    /// Reads how many numbers of columns follow, and checks that against the bytes available, so
    /// that nonsense is refused before memory is allocated.
    pub(super) fn len(&mut self) -> Result<usize, Malformed> {
        let len = usize::try_from(self.number()?).map_err(|_| CUT_SHORT)?;
        let len_max = self.0.len() / BLOCK_BYTES_MIN * BLOCK_LEN;
        if len <= len_max { Ok(len) } else { Err(CUT_SHORT) }
    }

    pub(super) fn column(&mut self, len: usize) -> Result<Vec<u64>, Malformed> {
        let mut numbers = Vec::with_capacity(len);
        while numbers.len() < len {
            self.block(BLOCK_LEN.min(len - numbers.len()), &mut numbers)?;
        }
        Ok(numbers)
    }

    fn block(&mut self, len: usize, numbers: &mut Vec<u64>) -> Result<(), Malformed> {
        let base = self.number()?;
        let first = numbers.len();
        match u32::from(self.byte()?) {
            width @ 0..=u64::BITS => self.packed(len, width, numbers)?,
            width if width == u32::from(VARINTS) => {
                for _ in 0..len {
                    numbers.push(self.number()?);
                }
            }
            _ => return Err(Malformed("a block has an unknown width")),
        }
        for number in &mut numbers[first..] {
            *number = number.checked_add(base).ok_or(Malformed("a number is out of range"))?;
        }
        Ok(())
    }

    fn packed(&mut self, len: usize, width: u32, out: &mut Vec<u64>) -> Result<(), Malformed> {
        let n_bytes = (len * width as usize).div_ceil(8);
        let (bytes, rest) = self.0.split_at_checked(n_bytes).ok_or(CUT_SHORT)?;
        self.0 = rest;
        // Zeros after the last number, so that each number can be read as part of 16 bytes.
        let mut padded = [0; BLOCK_LEN * 8 + 16];
        padded[..n_bytes].copy_from_slice(bytes);
        let mask = u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0);
        out.extend((0..len).map(|place| {
            let bit = place * width as usize;
            let (window, _) = padded[bit / 8..].split_first_chunk().expect("it is padded");
            low_word(u128::from_le_bytes(*window) >> (bit % 8)) & mask
        }));
        Ok(())
    }

    /// Checks that nothing is left over.
    pub(super) fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed("it goes on after its end")) }
    }
}

fn low_word(bits: u128) -> u64 {
    u64::try_from(bits & u128::from(u64::MAX)).expect("the mask leaves 64 bits")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sealed(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut writer = Writer::default();
        write(&mut writer);
        writer.seal()
    }

    fn column_bytes(numbers: &[u64]) -> usize {
        sealed(|writer| writer.column(numbers)).len() - CHECKSUM_BYTES
    }

    #[test]
    fn a_constant_column_costs_two_bytes_a_block() {
        assert_eq!(column_bytes(&vec![7; 100 * BLOCK_LEN]), 200);
    }

    #[test]
    fn a_few_large_numbers_among_small_ones_cost_only_themselves() {
        let mut numbers = vec![1; BLOCK_LEN];
        numbers[5] = 100_000;
        assert_eq!(column_bytes(&numbers), BLOCK_BYTES_MIN + BLOCK_LEN + 2);
        let wide: Vec<u64> = (0..128).map(|n| n * 1_000).collect();
        assert_eq!(column_bytes(&wide), BLOCK_BYTES_MIN + BLOCK_LEN * 17 / 8);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_found() {
        let whole = sealed(|writer| writer.column(&[3, 1, 4, 1, 5, 9, 2, 6]));
        assert!(Reader::unseal(&whole).is_ok());
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Reader::unseal(&bytes).is_err(), "bit {bit}");
        }
        for len in 0..whole.len() {
            assert!(Reader::unseal(&whole[..len]).is_err(), "cut to {len}");
        }
    }

    #[test]
    fn a_length_beyond_the_bytes_is_refused_before_memory_is_asked_for() {
        let bytes = sealed(|writer| writer.number(1 << 60));
        assert_eq!(Reader::unseal(&bytes).unwrap().len(), Err(CUT_SHORT));
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        let reads = |bytes: &[u8]| Reader(bytes).number();
        let mut largest = [0xff; 10];
        largest[9] = 1;
        assert_eq!(reads(&largest), Ok(u64::MAX));
        largest[9] = 2;
        assert_eq!(reads(&largest), Err(Malformed("a number is out of range")));
        assert_eq!(reads(&[0xff; 11]), Err(Malformed("a number is out of range")));
    }

    /// Numbers of every width, and columns in which most are small.
    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        let any_width = (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift);
        let mostly_small = prop_oneof![9 => 0_u64..50, 1 => any::<u64>()];
        prop_oneof![
            prop::collection::vec(any_width, 0..300),
            prop::collection::vec(mostly_small, 0..300),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 256, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_written_is_read(numbers in numbers(), single in any::<u64>()) {
            let bytes = sealed(|writer| {
                writer.number(single);
                writer.column(&numbers);
                writer.byte(42);
            });
            let mut reader = Reader::unseal(&bytes).unwrap();
            prop_assert_eq!(reader.number(), Ok(single));
            prop_assert_eq!(reader.column(numbers.len()), Ok(numbers));
            prop_assert_eq!(reader.byte(), Ok(42));
            prop_assert_eq!(reader.end(), Ok(()));
        }

        #[test]
        fn nonsense_is_an_error_and_never_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut reader = Reader(&bytes);
            if let Ok(len) = reader.len() {
                prop_assert!(reader.column(len).map_or(true, |numbers| numbers.len() == len));
            }
        }
    }
}
