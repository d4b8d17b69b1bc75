//! Does a number of ours agree with one that others printed?
//!
//! Some were printed with few digits (`1.60E-38`), some with many (`0.01161263`), so there are two
//! criteria. The *rule* is the one the project promises: the two are within 1e-6, or within half a
//! unit of the last printed digit. It says nothing about tiny numbers. The *digits* are stricter:
//! always half a unit of the last printed digit. A bare `0` or `1` is read as seven decimals, which
//! is what R shows.

/// The tolerance of the rule.
const TOLERANCE: f64 = 1e-6;

/// A probability as it was printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Printed {
    pub(super) value: f64,
    /// Half a unit of the last digit.
    half_unit: f64,
}

impl Printed {
    /// `None` if the text is not a probability.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let value: f64 = text.parse().ok()?;
        if !(0.0..=1.0).contains(&value) {
            return None;
        }
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().ok()?;
        let decimals = match mantissa.split_once('.') {
            Some((_, decimals)) => i32::try_from(decimals.len()).ok()?,
            None => 7,
        };
        Some(Self { value, half_unit: 0.5 * 10_f64.powi(exponent - decimals) })
    }

    pub(super) fn difference(self, ours: f64) -> f64 {
        (ours - self.value).abs()
    }

    /// Whether our number agrees by the rule.
    pub(super) fn agrees(self, ours: f64) -> bool {
        self.difference(ours) <= TOLERANCE.max(self.half_unit)
    }

    /// Whether our number has the printed digits. They were rounded twice, so 1e-3 of a unit is
    /// added.
    pub(super) fn has_digits_of(self, ours: f64) -> bool {
        self.difference(ours) <= self.half_unit * 1.002
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_numbers_agree_by_the_rule_but_may_differ_in_their_digits() {
        let printed = Printed::parse("1.60E-38").unwrap();
        assert!(printed.agrees(1e-9) && !printed.has_digits_of(1e-9));
        assert!(printed.has_digits_of(1.604e-38) && !printed.has_digits_of(1.606e-38));
    }

    #[test]
    fn decimals_agree_to_a_millionth() {
        let printed = Printed::parse("0.2732947").unwrap();
        assert!(printed.agrees(0.273_295_6) && !printed.agrees(0.273_295_8));
        assert!(printed.has_digits_of(0.273_294_74) && !printed.has_digits_of(0.273_294_8));
    }

    #[test]
    fn a_bare_one_is_not_one_digit_but_seven() {
        let printed = Printed::parse("1").unwrap();
        assert!(!printed.agrees(0.9999));
        assert!(printed.has_digits_of(0.999_999_98) && !printed.has_digits_of(0.999_999_8));
    }

    #[test]
    fn what_is_no_probability_is_not_read() {
        for text in ["", "p", "-0.1", "1.5", "NaN", "0.1E"] {
            assert_eq!(Printed::parse(text), None, "{text}");
        }
    }
}
