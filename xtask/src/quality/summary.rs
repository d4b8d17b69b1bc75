//! Summarises many numbers by a few, and formats them.

/// The middle value, or the mean of the two middle ones; `None` without values.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The least and the greatest value.
pub(super) fn range(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let greatest = values.iter().copied().max_by(f64::total_cmp)?;
    Some((least, greatest))
}

/// A share, formatted in percent.
pub(super) fn percent(share: impl Into<Option<f64>>) -> String {
    share.into().map_or_else(|| "-".into(), |share| format!("{:.1} %", 100.0 * share))
}

/// A number of runs, which may include a half if two middle values are averaged.
pub(super) fn runs(number: impl Into<Option<f64>>) -> String {
    number.into().map_or_else(|| "-".into(), |number| format!("{number:.1}"))
}

/// A probability whose magnitude matters when it is small.
pub(super) fn p_value(p: impl Into<Option<f64>>) -> String {
    match p.into() {
        None => "-".into(),
        Some(p) if p < 1e-3 => format!("{p:.1e}"),
        Some(p) => format!("{p:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_middles() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 7.0]), Some(3.0));
        assert_eq!(median(&[3.0, 1.0, 7.0, 4.0]), Some(3.5));
    }

    #[test]
    fn small_probabilities_keep_their_size() {
        assert_eq!(p_value(0.041), "0.041");
        assert_eq!(p_value(2.9e-12), "2.9e-12");
        assert_eq!(p_value(None), "-");
        assert_eq!(percent(0.384), "38.4 %");
    }
}
