//! Moments for people and for programs, in UTC: a history is read on other machines too.

/// `2026-11-16 02:11`.
pub(crate) fn date_and_time(unix_ms: i64) -> String {
    let (date, (hour, minute, _)) = parts(unix_ms);
    format!("{date} {hour:02}:{minute:02}")
}

/// `2026-11-16T02:11:07Z`.
pub(crate) fn rfc_3339(unix_ms: i64) -> String {
    let (date, (hour, minute, second)) = parts(unix_ms);
    format!("{date}T{hour:02}:{minute:02}:{second:02}Z")
}

fn parts(unix_ms: i64) -> (String, (i64, i64, i64)) {
    let seconds = unix_ms.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let date = format!("{year:04}-{month:02}-{day:02}");
    (date, (second / 3600, second / 60 % 60, second % 60))
}

/// The date so many days after 1970-01-01, in the Gregorian calendar. Years are counted from March,
/// so that the leap day is the last of its year, in eras of 400 years, which all have as many days.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_ERA: i64 = 146_097;
    let since = days + 719_468;
    let (era, day) = (since.div_euclid(DAYS_OF_ERA), since.rem_euclid(DAYS_OF_ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * era + year + carry, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_in_utc() {
        for (seconds, told) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_794_795_067, "2026-11-16T02:11:07Z"),
        ] {
            assert_eq!(rfc_3339(seconds * 1000), told);
        }
        assert_eq!(date_and_time(1_794_795_067_999), "2026-11-16 02:11");
    }
}
