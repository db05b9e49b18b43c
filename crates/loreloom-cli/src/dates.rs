//! Moments as people read them.

use loreloom_core::units::Timestamp;

/// `2026-11-15 21:38`, in UTC.
pub(crate) fn shown(at: Timestamp) -> String {
    let minutes = at.0.div_euclid(60_000);
    let (days, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minute / 60, minute % 60)
}

/// `2026-11-15T21:38:01.234Z`, for programs.
pub(crate) fn stamp(at: Timestamp) -> String {
    let (days, millis) = (at.0.div_euclid(86_400_000), at.0.rem_euclid(86_400_000));
    let (year, month, day) = date(days);
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Year, month and day of the day that is so many days after 1970-01-01. Years begin in
/// March here, so that the leap day is the last one.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_for_programs_have_milliseconds() {
        assert_eq!(stamp(Timestamp(1_700_000_000_042)), "2023-11-14T22:13:20.042Z");
    }

    #[test]
    fn moments_are_told_in_utc() {
        for (millis, expected) in [
            (0, "1970-01-01 00:00"),
            (-1, "1969-12-31 23:59"),
            (951_782_400_000, "2000-02-29 00:00"),
            (1_700_000_000_000, "2023-11-14 22:13"),
            (4_107_542_399_999, "2100-02-28 23:59"),
        ] {
            assert_eq!(shown(Timestamp(millis)), expected, "{millis}");
        }
    }
}
