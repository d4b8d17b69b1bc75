//! From a factor to a root cause.
//!
//! | factor | cause | unless |
//! |---|---|---|
//! | waits, cpu | Async Wait | |
//! | switches | Concurrency | |
//! | neighbours | Concurrency | the complaint is about an address: Network; about a file: IO |
//! | clock, date, time-zone | Time | |
//! | random | Randomness | |
//! | disk | IO | |
//! | network | Network | |
//! | hash-seed, listings | Unordered Collection | two numbers are nearly equal: Floating Point |
//! | memory, descriptors, recursion | Resource Leak | |
//! | locale, umask, columns | Platform | |
//!
//! If several factors act only together, the first one in this table that is not about the machine
//! names the cause: a delay that shows only on a busy machine is still a wait that is too short.
//! Test Order Dependency is not for this analysis to find, because it runs a test alone.

use unflake_model::{Factor, Factors, RootCause, Symptom};

/// The root cause that a factor, or several together, suggest.
pub fn root_cause(factors: Factors, symptom: Symptom) -> Option<RootCause> {
    let causes = factors.iter().map(|factor| of_one(factor, symptom));
    causes.min_by_key(|cause| rank(*cause))
}

fn of_one(factor: Factor, symptom: Symptom) -> RootCause {
    match (factor, symptom) {
        (Factor::HashSeed | Factor::Listings, Symptom::NearlyEqual) => RootCause::FloatingPoint,
        (Factor::HashSeed | Factor::Listings, _) => RootCause::UnorderedCollection,
        (Factor::Neighbours, Symptom::Address) | (Factor::Network, _) => RootCause::Network,
        (Factor::Neighbours, Symptom::File) | (Factor::Disk, _) => RootCause::Io,
        (Factor::Neighbours | Factor::Switches, _) => RootCause::Concurrency,
        (Factor::Waits | Factor::Cpu, _) => RootCause::AsyncWait,
        (Factor::Clock | Factor::Date | Factor::TimeZone, _) => RootCause::Time,
        (Factor::Random, _) => RootCause::Randomness,
        (Factor::Memory | Factor::Descriptors | Factor::Recursion, _) => RootCause::ResourceLeak,
        (Factor::Locale | Factor::Umask | Factor::Columns, _) => RootCause::Platform,
    }
}

fn rank(cause: RootCause) -> u8 {
    match cause {
        RootCause::Platform => 2,
        RootCause::ResourceLeak => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(factors: &[Factor], symptom: Symptom) -> Option<RootCause> {
        root_cause(factors.iter().copied().collect(), symptom)
    }

    #[test]
    fn what_the_complaint_is_about_tells_causes_of_one_factor_apart() {
        let of = |factor, symptom| cause(&[factor], symptom).unwrap();
        assert_eq!(of(Factor::HashSeed, Symptom::Other), RootCause::UnorderedCollection);
        assert_eq!(of(Factor::HashSeed, Symptom::NearlyEqual), RootCause::FloatingPoint);
        assert_eq!(of(Factor::Neighbours, Symptom::Other), RootCause::Concurrency);
        assert_eq!(of(Factor::Neighbours, Symptom::Address), RootCause::Network);
        assert_eq!(of(Factor::Neighbours, Symptom::File), RootCause::Io);
    }

    #[test]
    fn of_several_factors_the_machine_is_named_last() {
        let together = [Factor::Waits, Factor::Umask];
        assert_eq!(cause(&together, Symptom::Other), Some(RootCause::AsyncWait));
        assert_eq!(cause(&[], Symptom::Other), None);
    }
}
