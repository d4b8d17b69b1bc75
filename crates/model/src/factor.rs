//! Which circumstances of a test can be perturbed?
//!
//! A *factor* is one circumstance a test may silently depend on: how fast the disk is, in which
//! time zone it runs, how strings are hashed. A *perturbed* run has some factors on. What each then
//! becomes (which zone, which hash seed, where the delays fall) follows from the seed of the run
//! alone, so that a run can be repeated exactly. Factors that are off are *held fixed*, not left to
//! chance: generators are seeded with the same number, strings are hashed the same way, folders are
//! listed sorted. Otherwise a run without a factor would be a draw of it as well.

use std::fmt;
use std::str::FromStr;

/// One circumstance. Histories record these numbers, so they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Factor {
    /// Only one core, and busy neighbours on it.
    Cpu = 0,
    /// Little memory is left to allocate from.
    Memory = 1,
    /// Opening, renaming, removing and syncing files takes long.
    Disk = 2,
    /// Connecting, sending and receiving takes long.
    Network = 3,
    /// Waits take longer, and so do the threads that are waited for.
    Waits = 4,
    /// Threads take turns at unusual points.
    Switches = 5,
    /// The clock jumps.
    Clock = 6,
    /// It is another day, or just before midnight.
    Date = 7,
    /// Another time zone.
    TimeZone = 8,
    /// Another locale, and so another default encoding.
    Locale = 9,
    /// Strings are hashed differently, so that sets iterate in another order.
    HashSeed = 10,
    /// Folders are listed in another order.
    Listings = 11,
    /// Random number generators start from other seeds.
    Random = 12,
    /// Calls cannot nest as deeply.
    Recursion = 13,
    /// Few more files can be opened at once.
    Descriptors = 14,
    /// New files have other permissions.
    Umask = 15,
    /// The terminal has another width.
    Columns = 16,
    /// Other tests of the suite run at the same time, in another process.
    Neighbours = 17,
}

impl Factor {
    /// Every factor, by number.
    pub const ALL: [Self; 18] = [
        Self::Cpu,
        Self::Memory,
        Self::Disk,
        Self::Network,
        Self::Waits,
        Self::Switches,
        Self::Clock,
        Self::Date,
        Self::TimeZone,
        Self::Locale,
        Self::HashSeed,
        Self::Listings,
        Self::Random,
        Self::Recursion,
        Self::Descriptors,
        Self::Umask,
        Self::Columns,
        Self::Neighbours,
    ];

    /// The name on the command line, on the wire and in reports. Never changes.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Network => "network",
            Self::Waits => "waits",
            Self::Switches => "switches",
            Self::Clock => "clock",
            Self::Date => "date",
            Self::TimeZone => "time-zone",
            Self::Locale => "locale",
            Self::HashSeed => "hash-seed",
            Self::Listings => "listings",
            Self::Random => "random",
            Self::Recursion => "recursion",
            Self::Descriptors => "descriptors",
            Self::Umask => "umask",
            Self::Columns => "columns",
            Self::Neighbours => "neighbours",
        }
    }

    /// What the factor does, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Cpu => "one core, and busy neighbours on it",
            Self::Memory => "little memory left to allocate",
            Self::Disk => "opening, renaming and removing files takes long",
            Self::Network => "connecting, sending and receiving takes long",
            Self::Waits => "waits, and the threads waited for, take longer",
            Self::Switches => "threads take turns where they seldom do",
            Self::Clock => "the clock jumps",
            Self::Date => "another day, or just before midnight",
            Self::TimeZone => "another time zone",
            Self::Locale => "another locale and default encoding",
            Self::HashSeed => "strings hashed otherwise, so sets in another order",
            Self::Listings => "folders listed in another order",
            Self::Random => "random numbers start elsewhere",
            Self::Recursion => "calls may not nest as deep",
            Self::Descriptors => "few more files can be open",
            Self::Umask => "new files have other permissions",
            Self::Columns => "another width of the terminal",
            Self::Neighbours => "other tests run at the same time",
        }
    }

    /// The factor with this number, if there is one.
    pub fn of_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|factor| *factor as u32 == number)
    }

    /// Whether the factor leaves run times as they are.
    pub fn is_quick(self) -> bool {
        matches!(
            self,
            Self::Clock
                | Self::Date
                | Self::TimeZone
                | Self::Locale
                | Self::Listings
                | Self::Random
                | Self::Umask
                | Self::Columns
        )
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

/// The name is not that of a factor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no factor `{0}`")]
pub struct UnknownFactor(pub String);

impl FromStr for Factor {
    type Err = UnknownFactor;

    fn from_str(text: &str) -> Result<Self, UnknownFactor> {
        let found = Self::ALL.into_iter().find(|factor| factor.slug() == text);
        found.ok_or_else(|| UnknownFactor(text.to_owned()))
    }
}

/// A set of factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Factors(u32);

impl Factors {
    /// The empty set: everything is held fixed.
    pub const NONE: Self = Self(0);

    /// Only how strings are hashed.
    pub const HASH_SEED: Self = Self(1 << Factor::HashSeed as u32);

    /// Choices that the language leaves open: a test that depends on one is
    /// implementation-dependent.
    pub const OPEN_CHOICES: Self = Self(Self::HASH_SEED.0 | 1 << Factor::Listings as u32);

    /// The set with these bits, one per factor number; `None` if a bit stands for no factor.
    pub fn from_bits(bits: u32) -> Option<Self> {
        let known: Self = Factor::ALL.into_iter().collect();
        (bits & !known.0 == 0).then_some(Self(bits))
    }

    /// One bit for each factor, by its number.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether the factor is in the set.
    pub fn contains(self, factor: Factor) -> bool {
        self.0 & factor.bit() != 0
    }

    /// The factors of this set that are not in the other.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// The union of both sets.
    #[must_use]
    pub fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// How many factors it has.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether it has no factor.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The factors, by number.
    pub fn iter(self) -> impl Iterator<Item = Factor> {
        Factor::ALL.into_iter().filter(move |factor| self.contains(*factor))
    }
}

impl FromIterator<Factor> for Factors {
    fn from_iter<I: IntoIterator<Item = Factor>>(factors: I) -> Self {
        Self(factors.into_iter().fold(0, |bits, factor| bits | factor.bit()))
    }
}

impl fmt::Display for Factors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slugs: Vec<&str> = self.iter().map(Factor::slug).collect();
        f.write_str(&slugs.join(" + "))
    }
}

/// What decides whether a test ends differently while a factor is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decides {
    /// Nothing: it always ends differently, whatever the seed.
    Nothing,
    /// The seed: the outcome is the same whenever the seed is, and differs between seeds.
    Seed,
    /// Chance: the outcome varies even under one seed.
    Chance,
}

impl Decides {
    /// The name used in files. Never changes.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Seed => "seed",
            Self::Chance => "chance",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_lead_back_to_the_factor() {
        for factor in Factor::ALL {
            assert_eq!(factor.slug().parse(), Ok(factor));
            assert_eq!(Factor::of_number(factor as u32), Some(factor));
        }
        assert_eq!("moon".parse::<Factor>(), Err(UnknownFactor("moon".to_owned())));
    }

    #[test]
    fn a_set_has_what_was_put_in() {
        let set: Factors = [Factor::Umask, Factor::Cpu].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [Factor::Cpu, Factor::Umask]);
        assert_eq!(set.to_string(), "cpu + umask");
        assert_eq!(Factors::from_bits(set.bits()), Some(set));
        assert_eq!(Factors::from_bits(1 << 31), None);
        let cpu = [Factor::Cpu].into_iter().collect();
        assert_eq!(set.without(cpu).len(), 1);
        assert_eq!(set.without(cpu).with(cpu), set);
    }
}
