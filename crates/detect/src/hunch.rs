//! Who is the likely culprit? A ranking of suspects from runs that were made anyway.
//!
//! Suppose a single test has the effect on the target. Then it came before the target in every run
//! that showed the effect, unless others have the effect too. And if a run did not show it although
//! the suspect came before the target, something in between must have undone it: the more tests
//! there were in between, the less this speaks for the suspect's innocence. A handful of runs
//! leaves few suspects worth a question, and a question about a single test costs two executions.
//!
//! If a suspect itself fails at times, it may have its effect only when it fails (it then skips its
//! own clean-up): a run in which it passed says nothing about it.
//!
//! A ranking is not evidence: the tests at the top are asked about first, and if that misleads, the
//! search goes on without the ranking.

use unflake_model::{Evidence, TestIndex};

use crate::ledger::Ledger;

/// The assumed share of tests that undo the effect of a given test: the prior for "cleaned in
/// between".
const CLEANER_SHARE: f64 = 0.05;

/// The probability reserved for what a single, lasting effect would not explain, such as another
/// test with the same effect.
const UNLIKELY: f64 = 0.05;

/// All other tests, ordered by how likely each makes a watched target end like this.
pub fn ranking(ledger: &Ledger, target: TestIndex, effect: Evidence) -> Vec<TestIndex> {
    let mut weights = vec![0.0_f64; ledger.n_tests()];
    let mut distances = vec![0_u32; ledger.n_tests()];
    for attempt in ledger.attempts(target) {
        let showed_effect = attempt.evidence == effect;
        // Distance from the target, counted from 1; 0 for tests that did not come before it.
        distances.fill(0);
        let before = attempt.prefix().iter().zip(attempt.prefix_outcomes()).rev();
        for (distance, (test, outcome)) in (1..).zip(before) {
            let passed = outcome.evidence() == Some(Evidence::Pass);
            let may_differ = !showed_effect && passed && ledger.has_failed(*test);
            distances[test.get()] = if may_differ { 0 } else { distance };
        }
        for (weight, distance) in weights.iter_mut().zip(&distances) {
            *weight += weight_of(*distance, showed_effect);
        }
    }
    let mut ranked: Vec<TestIndex> = (0..weights.len()).map(TestIndex::new).collect();
    ranked.retain(|test| *test != target);
    // Ties go to the test that is earlier in the original order, on every machine.
    ranked.sort_by(|a, b| weights[b.get()].total_cmp(&weights[a.get()]).then(a.cmp(b)));
    ranked
}

/// The log-likelihood of a run's result, if the suspect at this distance has the effect.
fn weight_of(distance: u32, showed_effect: bool) -> f64 {
    match (distance, showed_effect) {
        (0, false) => 0.0,
        // Not before the target despite the effect, or right before it without the effect.
        (0, true) | (1, false) => UNLIKELY.ln(),
        (d, true) => f64::from(d - 1) * (1.0 - CLEANER_SHARE).ln(),
        (d, false) => (1.0 - (1.0 - CLEANER_SHARE).powi(d.cast_signed() - 1)).ln(),
    }
}
