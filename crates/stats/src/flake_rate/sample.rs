//! Flake rates from randomly drawn orders, for cases in which counting takes too long.

use unflake_model::random::Random;

use super::Share;
use super::role::{Kind, Victim};

/// Separates our draws from those made for other purposes.
const PURPOSE: u64 = 0x666c_616b;

/// What was seen in the orders drawn.
pub(super) struct Sample {
    drawn: u64,
    failing: u64,
    only_reverse_failing: u64,
}

impl Sample {
    pub(super) fn fails(&self) -> Share {
        Share::Sampled { hits: self.failing, samples: self.drawn }
    }

    pub(super) fn reverse_fails(&self) -> Option<Share> {
        let samples = self.drawn - self.failing;
        (0 < samples).then_some(Share::Sampled { hits: self.only_reverse_failing, samples })
    }
}

/// Draws orders of the relevant tests and determines the outcome in each, and in its reverse.
pub(super) fn draw(
    victim: &Victim,
    own: Vec<&Kind>,
    mut others: Vec<Vec<&Kind>>,
    n_samples: u64,
    seed: u64,
) -> Sample {
    let mut random = Random::labelled(seed, &[PURPOSE]);
    // The victim is the one without a kind.
    let mut own: Vec<Option<&Kind>> = own.into_iter().map(Some).chain([None]).collect();
    let mut sample = Sample { drawn: n_samples, failing: 0, only_reverse_failing: 0 };
    for _ in 0..n_samples {
        random.shuffle(&mut own);
        random.shuffle(&mut others);
        for class in &mut others {
            random.shuffle(class);
        }
        let (before, behind) = others.split_at(random.below(others.len() + 1));
        let position = own.iter().position(Option::is_none).unwrap_or_default();
        let nearest_first = own[..position].iter().rev().filter_map(|kind| *kind);
        let left = nearest_first.chain(before.iter().flatten().copied());
        let nearest_first = own[position + 1..].iter().filter_map(|kind| *kind);
        let right = nearest_first.chain(behind.iter().flatten().copied());
        if victim.fails_after(left) {
            sample.failing += 1;
        } else {
            sample.only_reverse_failing += u64::from(victim.fails_after(right));
        }
    }
    sample
}
