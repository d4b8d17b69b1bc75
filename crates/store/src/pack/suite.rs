//! The suite of a campaign as one value: its interned names in order, with durations.
//!
//! Names are rows of the tables `tests` and `classes`, shared by all campaigns of the project; here
//! they are numbers. A suite that was interned at once has consecutive numbers, and costs little
//! more than its durations.
//!
//! Layout of version 1, numbers and columns as in `bytes`:
//!
//! | part | as |
//! |---|---|
//! | version | byte, 1 |
//! | how many tests | number |
//! | tests, then the class of each | two columns: from the row expected next to the actual one |
//! | expected durations | byte for the unit, then a column |
//! | checksum | 8 bytes |

use std::time::Duration;

use super::{Malformed, Reader, Writer, read_durations, step, stepped, write_durations};

const VERSION: u8 = 1;

/// One test of a suite: the rows of its name and of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) test: i64,
    pub(crate) class: i64,
    pub(crate) duration: Duration,
}

/// Writes the suite as bytes.
pub(crate) fn pack(entries: &[Entry]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.byte(VERSION);
    writer.number(entries.len() as u64);
    write_rows(&mut writer, 1, entries.iter().map(|entry| entry.test));
    write_rows(&mut writer, 0, entries.iter().map(|entry| entry.class));
    write_durations(&mut writer, entries.iter().map(|entry| entry.duration));
    writer.seal()
}

/// Reads the suite back from its bytes.
pub(crate) fn unpack(bytes: &[u8]) -> Result<Vec<Entry>, Malformed> {
    let mut reader = Reader::unseal(bytes)?;
    if reader.byte()? != VERSION {
        return Err(Malformed("its format is of an unknown version"));
    }
    let len = reader.len()?;
    let tests = read_rows(&mut reader, 1, len)?;
    let classes = read_rows(&mut reader, 0, len)?;
    let durations = read_durations(&mut reader, len)?;
    reader.end()?;
    let rows = tests.into_iter().zip(classes);
    let entries = rows.zip(durations);
    Ok(entries.map(|((test, class), duration)| Entry { test, class, duration }).collect())
}

/// The stride is the usual step from one row to the next: tests follow each other, while neighbours
/// share their class.
fn write_rows(writer: &mut Writer, stride: i64, rows: impl Iterator<Item = i64>) {
    let mut next = 0_i64;
    let mut steps = Vec::new();
    for row in rows {
        steps.push(step(next, row));
        next = row.wrapping_add(stride);
    }
    writer.column(&steps);
}

fn read_rows(reader: &mut Reader<'_>, stride: i64, len: usize) -> Result<Vec<i64>, Malformed> {
    let mut next = 0_i64;
    let row = |step: u64| {
        let row = stepped(next, step);
        next = row.wrapping_add(stride);
        row
    };
    Ok(reader.column(len)?.into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_suite_interned_at_once_costs_little_more_than_its_durations() {
        let entries: Vec<Entry> = (0..100_000)
            .map(|n: i64| {
                let duration = Duration::from_millis(5);
                Entry { test: 500 + n, class: 100 + n / 10, duration }
            })
            .collect();
        assert!(pack(&entries).len() < 32_000);
    }

    fn entry() -> impl Strategy<Value = Entry> {
        (any::<i64>(), any::<i64>(), any::<u64>()).prop_map(|(test, class, nanoseconds)| Entry {
            test,
            class,
            duration: Duration::from_nanos(nanoseconds),
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 64, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_packed_is_unpacked(entries in prop::collection::vec(entry(), 0..300)) {
            prop_assert_eq!(unpack(&pack(&entries)), Ok(entries));
        }
    }
}
