//! The standard normal distribution, for run times whose logarithms are normal.

use crate::special::{normal_quantile_above, normal_tail};

/// P(Z <= z) for a standard normal Z.
pub fn below(z: f64) -> f64 {
    normal_tail(-z)
}

/// The z with P(Z <= z) equal to this probability; infinite at 0 and 1.
pub fn quantile(probability: f64) -> f64 {
    -normal_quantile_above(probability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customary_values_are_met_and_the_two_are_inverse() {
        assert!((below(1.959_963_985) - 0.975).abs() < 1e-9);
        assert!((quantile(0.8) - 0.841_621_233_6).abs() < 1e-9);
        for z in [-3.0, -0.5, 0.0, 2.5] {
            assert!((quantile(below(z)) - z).abs() < 1e-9, "{z}");
        }
        assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
