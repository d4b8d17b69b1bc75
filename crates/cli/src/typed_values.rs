//! What texts stand for that are typed or settled: spans of time, shares of all orders.

use std::time::Duration;

use unflake_stats::rate::Rate;

/// A share of all orders. None at all would take all orders, of which there is no end.
pub(crate) fn flake_rate(share: f64) -> Result<Rate, String> {
    let rate = Rate::new(share).map_err(|error| error.to_string())?;
    if 0.0 < share { Ok(rate) } else { Err(format!("`{share}` is no share of all orders")) }
}

/// A span such as `90s`, `5m`, `1h` or plain seconds.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(format!("unknown unit `{unit}`; give ms, s, m, h or d")),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{digits}` is no number"))?;
    Duration::try_from_secs_f64(number * factor).map_err(|error| error.to_string())
}

/// A span that something may take.
pub(crate) fn time_limit(text: &str) -> Result<Duration, String> {
    let limit = span(text)?;
    if limit.is_zero() { Err("nothing is done in no time".to_owned()) } else { Ok(limit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_no_limit() {
        assert_eq!(time_limit("1ms"), Ok(Duration::from_millis(1)));
        for text in ["0", "0s", "0.0m"] {
            assert_eq!(span(text), Ok(Duration::ZERO), "{text}");
            assert!(time_limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_read_in_the_units_people_use() {
        assert_eq!(span("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(span("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(span("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(span("2"), Ok(Duration::from_secs(2)));
        assert_eq!(span("1h"), Ok(Duration::from_hours(1)));
        assert_eq!(span("30d"), Ok(Duration::from_hours(30 * 24)));
        for text in ["", "x", "1y", "-3s", "1e400s"] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
