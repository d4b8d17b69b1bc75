//! Packs the vectors of one row into a few sealed bytes.
//!
//! A run of 100,000 tests has 100,000 positions, outcomes and durations. As rows they would be the
//! whole database; as one value they take about four bytes an attempt. Writer and reader of each
//! format are in one file, together with its version: [`run`] and [`suite`]. They share [`bytes`],
//! which writes numbers and columns of numbers.
//!
//! Every value starts with the version of its format and ends with a checksum. `SQLite` has no
//! checksums of its own, and a flipped bit would otherwise be another order or another outcome:
//! evidence for something that never happened.

mod bytes;
pub(crate) mod run;
pub(crate) mod suite;

use std::time::Duration;

pub(crate) use bytes::Malformed;
pub use bytes::digest;
use bytes::{Reader, Writer};

/// Nanoseconds in each unit in which durations may be stored: nano-, micro-, milliseconds.
const UNITS: [u64; 3] = [1, 1_000, 1_000_000];

/// Writes durations exactly, in the largest unit of which all are whole multiples: measuring in
/// microseconds only costs microseconds.
fn write_durations(writer: &mut Writer, durations: impl Iterator<Item = Duration>) {
    let mut numbers: Vec<u64> = durations.map(nanoseconds).collect();
    let divides_all = |unit: &u64| numbers.iter().all(|number| number % unit == 0);
    let code = UNITS.iter().rposition(divides_all).expect("one divides every number");
    for number in &mut numbers {
        *number /= UNITS[code];
    }
    writer.byte(u8::try_from(code).expect("there are three units"));
    writer.column(&numbers);
}

fn read_durations(reader: &mut Reader<'_>, len: usize) -> Result<Vec<Duration>, Malformed> {
    let unit = UNITS.get(usize::from(reader.byte()?)).ok_or(Malformed("unknown unit of time"))?;
    let duration = |number: u64| match number.checked_mul(*unit) {
        Some(nanoseconds) => Ok(Duration::from_nanos(nanoseconds)),
        None => Err(Malformed("a duration is out of range")),
    };
    reader.column(len)?.into_iter().map(duration).collect()
}

/// Saturates at 584 years.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What to add to `previous` to get `next`, as a number that is small for small steps in either
/// direction (zigzag).
fn step(previous: i64, next: i64) -> u64 {
    let difference = next.wrapping_sub(previous);
    (difference.wrapping_shl(1) ^ (difference >> 63)).cast_unsigned()
}

/// The inverse of [`step`].
fn stepped(previous: i64, step: u64) -> i64 {
    let difference = (step >> 1).cast_signed() ^ -(step & 1).cast_signed();
    previous.wrapping_add(difference)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_steps_either_way_are_small_numbers() {
        assert_eq!([0, 1, -1, 2, -2].map(|to| step(0, to)), [0, 2, 1, 4, 3]);
    }

    #[test]
    fn who_measures_in_milliseconds_pays_for_milliseconds() {
        let len = |duration: Duration| {
            let mut writer = Writer::default();
            write_durations(&mut writer, [duration, Duration::ZERO].into_iter());
            writer.seal().len()
        };
        let fine = len(Duration::from_nanos(7_000_001));
        let coarse = len(Duration::from_millis(7));
        assert!(coarse + 2 <= fine, "{coarse} {fine}");
    }

    #[test]
    fn more_than_584_years_are_kept_as_584_years() {
        assert_eq!(nanoseconds(Duration::MAX), u64::MAX);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 256, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn a_step_leads_where_it_was_measured(from in any::<i64>(), to in any::<i64>()) {
            prop_assert_eq!(stepped(from, step(from, to)), to);
        }
    }
}
