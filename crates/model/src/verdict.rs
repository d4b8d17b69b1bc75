//! The one list of verdicts. Reports, stores and documents spell them as this file does.

use std::fmt;

/// What we conclude about a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Passes in every order and every run seen.
    NotFlaky,
    /// Order-dependent: passes alone, fails after a polluter, and does so every time.
    OdVictim,
    /// Order-dependent: fails alone, passes after a state-setter, and does so every time.
    OdBrittle,
    /// Order-dependent: the order alone decides the outcome; in which role is not known.
    OdUnknownRole,
    /// Non-deterministic, and the order changes how often it fails.
    Ndod,
    /// Non-deterministic, and the order makes no difference that matters.
    Ndoi,
    /// Non-deterministic; whether the order matters is undecided.
    NodUndecided,
    /// Implementation-dependent: fails under some choice that the specification leaves open.
    Id,
    /// Depends on its surroundings: passes here and now, and fails on another day, in another time
    /// zone, or where threads take other turns.
    Env,
    /// Non-idempotent: passes, and fails when run a second time in the same process.
    Nio,
    /// Unknown-dependent: was seen to flake, and nothing we tried reproduces it.
    Ud,
    /// Fails in every order and every run seen.
    AlwaysFailing,
    /// What was seen supports none of the above.
    InsufficientEvidence,
}

impl Verdict {
    /// All verdicts, in the order in which reports list them.
    pub const ALL: [Self; 13] = [
        Self::OdVictim,
        Self::OdBrittle,
        Self::OdUnknownRole,
        Self::Ndod,
        Self::Ndoi,
        Self::NodUndecided,
        Self::Id,
        Self::Env,
        Self::Nio,
        Self::Ud,
        Self::AlwaysFailing,
        Self::InsufficientEvidence,
        Self::NotFlaky,
    ];

    /// The name used by every machine-readable format; never changes.
    pub fn slug(self) -> &'static str {
        match self {
            Self::NotFlaky => "not-flaky",
            Self::OdVictim => "od-victim",
            Self::OdBrittle => "od-brittle",
            Self::OdUnknownRole => "od",
            Self::Ndod => "ndod",
            Self::Ndoi => "ndoi",
            Self::NodUndecided => "nod",
            Self::Id => "id",
            Self::Env => "env",
            Self::Nio => "nio",
            Self::Ud => "ud",
            Self::AlwaysFailing => "always-failing",
            Self::InsufficientEvidence => "insufficient-evidence",
        }
    }

    /// The verdict in words that need no explanation.
    pub fn in_plain_words(self) -> &'static str {
        match self {
            Self::NotFlaky => "passed every time",
            Self::OdVictim => "fails after another test",
            Self::OdBrittle => "fails unless another test ran before it",
            Self::OdUnknownRole => "depends on the order of tests",
            Self::Ndod => "fails at random, more often in some orders",
            Self::Ndoi => "fails at random, whatever the order",
            Self::NodUndecided => "fails at random",
            Self::Id => "relies on an order that nothing promises",
            Self::Env => "passes here and now, fails on other days or elsewhere",
            Self::Nio => "fails when run a second time",
            Self::Ud => "passed and failed, and could not be reproduced",
            Self::AlwaysFailing => "fails every time",
            Self::InsufficientEvidence => "not enough was seen to say",
        }
    }

    /// Plain words first, the code after: "fails after another test (od-victim)". For people
    /// only; programs are given the slug.
    pub fn told(self) -> String {
        format!("{} ({})", self.in_plain_words(), self.slug())
    }

    /// What the verdict means in our own terms, which `unflake --help` explains.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::NotFlaky => "passed every time",
            Self::OdVictim => "passes alone, fails after a polluter",
            Self::OdBrittle => "fails alone, passes after a state-setter",
            Self::OdUnknownRole => "depends on the order; on what is not known",
            Self::Ndod => "fails at random, more often in some orders",
            Self::Ndoi => "fails at random, whatever the order",
            Self::NodUndecided => "fails at random; the order's part is undecided",
            Self::Id => "depends on a choice the specification leaves open",
            Self::Env => "passes here and now, fails under other circumstances",
            Self::Nio => "fails when run a second time in the same process",
            Self::Ud => "was seen to flake, but could not be reproduced",
            Self::AlwaysFailing => "failed every time",
            Self::InsufficientEvidence => "not enough evidence",
        }
    }

    /// Whether the verdict says that the test is flaky. A test that always fails is broken, and a
    /// test of which too little was seen may be anything.
    pub fn is_flaky(self) -> bool {
        match self {
            Self::OdVictim
            | Self::OdBrittle
            | Self::OdUnknownRole
            | Self::Ndod
            | Self::Ndoi
            | Self::NodUndecided
            | Self::Id
            | Self::Env
            | Self::Nio
            | Self::Ud => true,
            Self::NotFlaky | Self::AlwaysFailing | Self::InsufficientEvidence => false,
        }
    }

    /// Whether the outcome depends on the order alone.
    pub fn is_order_dependent(self) -> bool {
        matches!(self, Self::OdVictim | Self::OdBrittle | Self::OdUnknownRole)
    }

    /// Whether the same order was seen to pass and to fail.
    pub fn is_non_deterministic(self) -> bool {
        matches!(self, Self::Ndod | Self::Ndoi | Self::NodUndecided)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_verdict_is_listed_once_under_its_own_name() {
        let slugs: BTreeSet<&str> = Verdict::ALL.iter().map(|v| v.slug()).collect();
        assert_eq!(slugs.len(), Verdict::ALL.len());
        let meanings: BTreeSet<&str> = Verdict::ALL.iter().map(|v| v.meaning()).collect();
        assert_eq!(meanings.len(), Verdict::ALL.len());
        let words: BTreeSet<&str> = Verdict::ALL.iter().map(|v| v.in_plain_words()).collect();
        assert_eq!(words.len(), Verdict::ALL.len());
        assert_eq!(Verdict::OdVictim.told(), "fails after another test (od-victim)");
    }
}
