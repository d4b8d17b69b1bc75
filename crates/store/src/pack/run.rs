//! One run: the experiment and its observation, as one value.
//!
//! Layout, with numbers and columns as in `bytes`; environment 2 needs version 2:
//!
//! | part | as |
//! |---|---|
//! | version | byte, 1 or 2 |
//! | number of the run | number |
//! | environment | byte 0 plain; byte 1 open choices, then the seed as a number |
//! | | byte 2 perturbed, then factors as bits and the seed, both as numbers |
//! | repetition | byte 1 once; byte 2 twice; byte 3 between, byte 4 apart, then test and number |
//! | duration of the run | number, in nanoseconds |
//! | how many tests | number |
//! | order | column: from the test expected next (the one after the last) to the actual one |
//! | outcomes | stretches of equal ones: `16 * (length - 1) + code`, then the details |
//! | durations of the attempts | byte for the unit, then a column |
//! | checksum | 8 bytes |
//!
//! The tests of the attempts are not stored: they follow from order and repetition, which is
//! checked before a run is accepted ([`is_answer`]).

use std::sync::Arc;
use std::time::Duration;

use unflake_model::{
    Attempt, Environment, Experiment, Factors, Observation, Order, Outcome, Phase, Repetition,
    RunId, TestIndex,
};

use super::{
    Malformed, Reader, Writer, nanoseconds, read_durations, step, stepped, write_durations,
};

const VERSION: u8 = 1;
/// The first version with factors; programs that know only version 1 refuse it.
const WITH_FACTORS: u8 = 2;
/// The first version with hash seeds.
const WITH_HASHES: u8 = 3;

/// Whether the observation answers the experiment: its number, its tests, as often as asked for.
pub(crate) fn is_answer(experiment: &Experiment, observation: &Observation) -> bool {
    let asked = experiment.repetition.attempts(&experiment.order);
    let made = observation.attempts.iter().map(|attempt| attempt.test);
    experiment.run == observation.run && made.eq(asked)
}

/// The run as bytes. The observation must answer the experiment ([`is_answer`]).
pub(crate) fn pack(experiment: &Experiment, observation: &Observation) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.byte(match experiment.environment {
        Environment::Plain => VERSION,
        Environment::Perturbed { .. } => WITH_FACTORS,
        Environment::Hashed { .. } => WITH_HASHES,
    });
    writer.number(experiment.run.0);
    match experiment.environment {
        Environment::Plain => writer.byte(0),
        Environment::Perturbed { factors, seed } => {
            writer.byte(2);
            writer.number(u64::from(factors.bits()));
            writer.number(seed);
        }
        Environment::Hashed { seed } => {
            writer.byte(3);
            writer.number(seed);
        }
    }
    match experiment.repetition {
        Repetition::Once => writer.byte(1),
        Repetition::Twice => writer.byte(2),
        Repetition::Between { test, stride } => {
            writer.byte(3);
            writer.number(test.get() as u64);
            writer.number(stride as u64);
        }
        Repetition::Apart { n_common, target } => {
            writer.byte(4);
            writer.number(target.get() as u64);
            writer.number(n_common as u64);
        }
    }
    writer.number(nanoseconds(observation.duration));
    write_order(&mut writer, &experiment.order);
    let outcomes: Vec<Outcome> = observation.attempts.iter().map(|a| a.outcome).collect();
    for stretch in outcomes.chunk_by(PartialEq::eq) {
        write_stretch(&mut writer, stretch);
    }
    write_durations(&mut writer, observation.attempts.iter().map(|attempt| attempt.duration));
    writer.seal()
}

/// Reads a run back, for a suite with this many tests.
pub(crate) fn unpack(bytes: &[u8], n_tests: usize) -> Result<(Experiment, Observation), Malformed> {
    let mut reader = Reader::unseal(bytes)?;
    if !matches!(reader.byte()?, VERSION | WITH_FACTORS | WITH_HASHES) {
        return Err(Malformed("its format is of an unknown version"));
    }
    let run = RunId(reader.number()?);
    let environment = match reader.byte()? {
        0 => Environment::Plain,
        1 => Environment::open_choices(reader.number()?),
        2 => {
            let bits = u32::try_from(reader.number()?).ok();
            let factors = bits.and_then(Factors::from_bits);
            let factors = factors.ok_or(Malformed("unknown factor"))?;
            Environment::Perturbed { factors, seed: reader.number()? }
        }
        3 => Environment::Hashed { seed: reader.number()? },
        _ => return Err(Malformed("unknown environment")),
    };
    let repetition = read_repetition(&mut reader, n_tests)?;
    let duration = Duration::from_nanos(reader.number()?);
    let order = read_order(&mut reader, n_tests)?;
    let tests = repetition.attempts(&order);
    let outcomes = read_outcomes(&mut reader, tests.len())?;
    let durations = read_durations(&mut reader, tests.len())?;
    reader.end()?;
    let attempts = tests
        .into_iter()
        .zip(outcomes.into_iter().zip(durations))
        .map(|(test, (outcome, duration))| Attempt { test, outcome, duration })
        .collect();
    let experiment = Experiment { environment, repetition, ..Experiment::new(run, order) };
    Ok((experiment, Observation::of(run, attempts, duration)))
}

fn read_repetition(reader: &mut Reader<'_>, n_tests: usize) -> Result<Repetition, Malformed> {
    match reader.byte()? {
        1 => Ok(Repetition::Once),
        2 => Ok(Repetition::Twice),
        kind @ (3 | 4) => {
            let test = usize::try_from(reader.number()?).ok().filter(|test| *test < n_tests);
            let number = usize::try_from(reader.number()?).ok();
            let (Some(test), Some(number)) = (test, number) else {
                return Err(Malformed("its repetition makes no sense"));
            };
            let test = TestIndex::new(test);
            match (kind, number) {
                (3, 0) => Err(Malformed("its repetition makes no sense")),
                (3, stride) => Ok(Repetition::Between { test, stride }),
                (_, n_common) => Ok(Repetition::Apart { n_common, target: test }),
            }
        }
        _ => Err(Malformed("unknown repetition")),
    }
}

fn write_order(writer: &mut Writer, order: &Order) {
    let mut next = 0;
    let mut steps = Vec::with_capacity(order.len());
    for test in order.tests() {
        let place = i64::try_from(test.get()).expect("a test index has 32 bits");
        steps.push(step(next, place));
        next = place + 1;
    }
    writer.number(steps.len() as u64);
    writer.column(&steps);
}

fn read_order(reader: &mut Reader<'_>, n_tests: usize) -> Result<Order, Malformed> {
    let len = reader.len()?;
    let mut is_seen = vec![false; n_tests];
    let mut next = 0_i64;
    let mut test = |step: u64| {
        let place = stepped(next, step);
        next = place.wrapping_add(1);
        let place = usize::try_from(place).ok().filter(|place| *place < n_tests);
        let place = place.ok_or(Malformed("its order has a test that the suite does not have"))?;
        if std::mem::replace(&mut is_seen[place], true) {
            return Err(Malformed("its order has a test twice"));
        }
        Ok(TestIndex::new(place))
    };
    let tests: Arc<[TestIndex]> =
        reader.column(len)?.into_iter().map(&mut test).collect::<Result<_, _>>()?;
    Ok(Order::from_distinct(tests))
}

fn write_stretch(writer: &mut Writer, stretch: &[Outcome]) {
    let code = match stretch[0] {
        Outcome::Passed => 0,
        Outcome::Skipped => 1,
        Outcome::NotRun => 2,
        Outcome::Failed { phase: Phase::SetUp } => 3,
        Outcome::Failed { phase: Phase::Call } => 4,
        Outcome::Failed { phase: Phase::TearDown } => 5,
        Outcome::Error => 6,
        Outcome::TimedOut { .. } => 7,
        Outcome::Crashed { signal: None } => 8,
        Outcome::Crashed { signal: Some(_) } => 9,
    };
    writer.number((stretch.len() as u64 - 1) << 4 | code);
    match stretch[0] {
        Outcome::TimedOut { after } => writer.number(nanoseconds(after)),
        Outcome::Crashed { signal: Some(signal) } => writer.number(step(0, signal.into())),
        _ => (),
    }
}

fn read_outcomes(reader: &mut Reader<'_>, len: usize) -> Result<Vec<Outcome>, Malformed> {
    let mut outcomes = Vec::with_capacity(len);
    while outcomes.len() < len {
        let word = reader.number()?;
        let stretch = usize::try_from(word >> 4).ok().filter(|more| *more < len - outcomes.len());
        let stretch = stretch.ok_or(Malformed("it has more outcomes than attempts"))? + 1;
        let outcome = read_outcome(reader, word & 0xf)?;
        outcomes.resize(outcomes.len() + stretch, outcome);
    }
    Ok(outcomes)
}

fn read_outcome(reader: &mut Reader<'_>, code: u64) -> Result<Outcome, Malformed> {
    Ok(match code {
        0 => Outcome::Passed,
        1 => Outcome::Skipped,
        2 => Outcome::NotRun,
        3 => Outcome::Failed { phase: Phase::SetUp },
        4 => Outcome::Failed { phase: Phase::Call },
        5 => Outcome::Failed { phase: Phase::TearDown },
        6 => Outcome::Error,
        7 => Outcome::TimedOut { after: Duration::from_nanos(reader.number()?) },
        8 => Outcome::Crashed { signal: None },
        9 => {
            let signal = i32::try_from(stepped(0, reader.number()?));
            let signal = signal.map_err(|_| Malformed("a signal is out of range"))?;
            Outcome::Crashed { signal: Some(signal) }
        }
        _ => return Err(Malformed("unknown outcome")),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unflake_model::random::Random;

    use super::*;
    use unflake_model::Factor;

    fn run(order: Vec<usize>, outcome: impl Fn(usize) -> Outcome) -> (Experiment, Observation) {
        let order = Order::from_distinct(order.into_iter().map(TestIndex::new).collect::<Vec<_>>());
        let duration = Duration::from_millis(2);
        let attempts = order.tests().iter().enumerate();
        let attempts = attempts
            .map(|(at, test)| Attempt { test: *test, outcome: outcome(at), duration })
            .collect();
        let (run, environment, repetition) = (RunId(3), Environment::Plain, Repetition::Once);
        let experiment = Experiment { environment, repetition, ..Experiment::new(run, order) };
        (experiment, Observation::of(run, attempts, duration))
    }

    fn packed_len((experiment, observation): &(Experiment, Observation)) -> usize {
        pack(experiment, observation).len()
    }

    #[test]
    fn the_bytes_of_version_1_are_these_for_ever() {
        let (experiment, observation) = run(vec![2, 0], |at| match at {
            0 => Outcome::Passed,
            _ => Outcome::Crashed { signal: Some(11) },
        });
        let bytes = pack(&experiment, &observation);
        let (bytes, checksum) = bytes.split_last_chunk().unwrap();
        let order = [2, 4, 1, 2]; // Steps +2 and -3 are 4 and 5: base 4, one bit each.
        let outcomes = [0, 9, 22]; // Passed; crashed, signal 11.
        let durations = [2, 2, 0]; // In milliseconds; base 2, no bits.
        let head = [1, 3, 0, 1, 0x80, 0x89, 0x7a]; // Ends in 2,000,000 nanoseconds.
        assert_eq!(bytes, [&head[..], &order, &outcomes, &durations].concat());
        assert_eq!(u64::from_le_bytes(*checksum), super::super::digest(bytes));
    }

    #[test]
    fn known_orders_cost_next_to_nothing_and_a_random_one_18_bits_a_test() {
        let n = 100_000;
        let passed = |_| Outcome::Passed;
        let original: Vec<usize> = (0..n).collect();
        let reversed = original.iter().rev().copied().collect();
        let mut shuffled = original.clone();
        Random::new(1).shuffle(&mut shuffled);
        assert!(packed_len(&run(original, passed)) * 25 < n);
        assert!(packed_len(&run(reversed, passed)) * 25 < n);
        let shuffled = packed_len(&run(shuffled, passed));
        assert!(n * 18 / 8 <= shuffled && shuffled < n * 19 / 8, "{shuffled}");
    }

    #[test]
    fn a_test_twice_or_beyond_the_suite_is_refused() {
        let (experiment, observation) = run(vec![1, 0], |_| Outcome::Passed);
        let bytes = pack(&experiment, &observation);
        assert!(unpack(&bytes, 2).is_ok());
        let error = Malformed("its order has a test that the suite does not have");
        assert_eq!(unpack(&bytes, 1), Err(error));

        let mut writer = Writer::default();
        writer.number(2);
        writer.column(&[step(0, 1), step(2, 1)]);
        let bytes = writer.seal();
        let twice = read_order(&mut Reader::unseal(&bytes).unwrap(), 2);
        assert_eq!(twice, Err(Malformed("its order has a test twice")));
    }

    #[test]
    fn another_number_other_tests_or_too_few_attempts_are_no_answer() {
        let (experiment, observation) = run(vec![1, 0], |_| Outcome::Passed);
        assert!(is_answer(&experiment, &observation));
        assert!(!is_answer(&Experiment { run: RunId(4), ..experiment.clone() }, &observation));
        let repetition = Repetition::Twice;
        assert!(!is_answer(&Experiment { repetition, ..experiment.clone() }, &observation));
        let order = experiment.order.reversed();
        assert!(!is_answer(&Experiment { order, ..experiment }, &observation));
    }

    fn outcome() -> impl Strategy<Value = Outcome> {
        let phase = prop_oneof![Just(Phase::SetUp), Just(Phase::Call), Just(Phase::TearDown)];
        prop_oneof![
            6 => Just(Outcome::Passed),
            1 => Just(Outcome::Skipped),
            2 => Just(Outcome::NotRun),
            2 => phase.prop_map(|phase| Outcome::Failed { phase }),
            1 => Just(Outcome::Error),
            1 => duration().prop_map(|after| Outcome::TimedOut { after }),
            1 => any::<Option<i32>>().prop_map(|signal| Outcome::Crashed { signal }),
        ]
    }

    fn duration() -> impl Strategy<Value = Duration> {
        (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| Duration::from_nanos(bits >> shift))
    }

    const N_TESTS: usize = 300;

    /// Any order of some of the tests, in any environment, with any outcomes.
    fn any_run() -> impl Strategy<Value = (Experiment, Observation)> {
        let tests: Vec<usize> = (0..N_TESTS).collect();
        let order = prop::sample::subsequence(tests, 0..N_TESTS).prop_shuffle();
        let repetition = prop_oneof![
            Just(Repetition::Once),
            Just(Repetition::Twice),
            (0..N_TESTS, 1..40_usize)
                .prop_map(|(t, stride)| Repetition::Between { test: TestIndex::new(t), stride }),
            (0..50_usize, 0..9_usize).prop_map(|(t, n_common)| {
                Repetition::Apart { n_common, target: TestIndex::new(t) }
            }),
        ];
        let bits = 0_u32..1 << Factor::ALL.len();
        let environment = prop_oneof![
            Just(Environment::Plain),
            (bits, any::<u64>()).prop_map(|(bits, seed)| {
                let factors = Factors::from_bits(bits).expect("every bit is a factor");
                Environment::Perturbed { factors, seed }
            }),
            any::<u64>().prop_map(|seed| Environment::Hashed { seed }),
        ];
        let numbers = (any::<u64>(), environment, repetition, duration());
        (order, numbers).prop_flat_map(|(order, (run, environment, repetition, duration))| {
            let tests: Vec<TestIndex> = order.into_iter().map(TestIndex::new).collect();
            let order = Order::from_distinct(tests);
            let tests = repetition.attempts(&order);
            let attempts = prop::collection::vec((outcome(), self::duration()), tests.len());
            attempts.prop_map(move |attempts| {
                let attempts = tests
                    .iter()
                    .zip(attempts)
                    .map(|(test, (outcome, duration))| Attempt { test: *test, outcome, duration })
                    .collect();
                let (run, order) = (RunId(run), order.clone());
                let experiment =
                    Experiment { environment, repetition, ..Experiment::new(run, order) };
                (experiment, Observation::of(run, attempts, duration))
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 64, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_packed_is_unpacked((experiment, observation) in any_run()) {
            prop_assert!(is_answer(&experiment, &observation));
            let bytes = pack(&experiment, &observation);
            prop_assert_eq!(unpack(&bytes, N_TESTS), Ok((experiment, observation)));
        }

        #[test]
        fn any_damage_is_an_error(
            (experiment, observation) in any_run(),
            at in any::<prop::sample::Index>(),
            damage in 1_u8..,
        ) {
            let mut bytes = pack(&experiment, &observation);
            let at = at.index(bytes.len());
            bytes[at] ^= damage;
            prop_assert!(unpack(&bytes, N_TESTS).is_err());
        }

        #[test]
        fn a_value_of_nonsense_is_an_error_and_never_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut writer = Writer::default();
            writer.byte(VERSION);
            for byte in bytes {
                writer.byte(byte);
            }
            if let Ok((experiment, observation)) = unpack(&writer.seal(), N_TESTS) {
                prop_assert!(is_answer(&experiment, &observation));
            }
        }
    }
}
