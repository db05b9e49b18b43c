//! Time macros, from the clock the host hands in. All times are in UTC.

use crate::units::Timestamp;

const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// What a time macro gives; `None` if the name is none.
pub(super) fn value(at: Timestamp, name: &str, argument: &str) -> Option<String> {
    Some(match name {
        "time" => {
            let offset = utc_offset(argument).unwrap_or(0);
            Moment::of(Timestamp(at.0 + offset * 3_600_000)).format("h:mm A")
        }
        "date" => Moment::of(at).format("MMMM D, YYYY"),
        "weekday" => Moment::of(at).format("dddd"),
        "isotime" => Moment::of(at).format("HH:mm"),
        "isodate" => Moment::of(at).format("YYYY-MM-DD"),
        "unixtime" => at.0.div_euclid(1000).to_string(),
        "datetimeformat" => Moment::of(at).format(argument),
        _ => return None,
    })
}

/// `UTC+2` as hours.
fn utc_offset(argument: &str) -> Option<i64> {
    argument.trim().strip_prefix("UTC")?.parse().ok()
}

/// A moment in parts.
struct Moment {
    year: i64,
    month: usize,
    day: i64,
    weekday: usize,
    hour: i64,
    minute: i64,
    second: i64,
}

impl Moment {
    fn of(Timestamp(millis): Timestamp) -> Self {
        let seconds = millis.div_euclid(1000);
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        Self {
            year,
            month,
            day,
            // The first of January 1970 was a Thursday.
            weekday: usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0),
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
        }
    }

    /// Formats by moment.js tokens; `[text]` stands for itself.
    fn format(&self, pattern: &str) -> String {
        let hour12 = if self.hour % 12 == 0 { 12 } else { self.hour % 12 };
        let tokens: [(&str, String); 16] = [
            ("YYYY", format!("{:04}", self.year)),
            ("YY", format!("{:02}", self.year.rem_euclid(100))),
            ("MMMM", MONTHS[self.month - 1].to_owned()),
            ("MMM", MONTHS[self.month - 1][..3].to_owned()),
            ("MM", format!("{:02}", self.month)),
            ("DD", format!("{:02}", self.day)),
            ("D", self.day.to_string()),
            ("dddd", DAYS[self.weekday].to_owned()),
            ("ddd", DAYS[self.weekday][..3].to_owned()),
            ("HH", format!("{:02}", self.hour)),
            ("H", self.hour.to_string()),
            ("hh", format!("{hour12:02}")),
            ("h", hour12.to_string()),
            ("mm", format!("{:02}", self.minute)),
            ("ss", format!("{:02}", self.second)),
            ("A", if self.hour < 12 { "AM" } else { "PM" }.to_owned()),
        ];
        let mut out = String::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            if let Some((literal, after)) =
                rest.strip_prefix('[').and_then(|text| text.split_once(']'))
            {
                out.push_str(literal);
                rest = after;
            } else if let Some((token, value)) =
                tokens.iter().find(|(token, _)| rest.starts_with(token))
            {
                out.push_str(value);
                rest = &rest[token.len()..];
            } else {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        out
    }
}

/// Year, month (from 1) and day of a day counted from 1970, in the Gregorian calendar.
fn civil(days: i64) -> (i64, usize, i64) {
    // Counted from the first of March of the year 0, so that leap days come last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, usize::try_from(month).unwrap_or(1), day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_as_sillytavern_tells_them() {
        // 2026-11-15 19:46:33 UTC, a Sunday; then a leap day; then a moment before 1970.
        for (seconds, name, argument, expected) in [
            (1_794_771_993, "time", "", "7:46 PM"),
            (1_794_771_993, "time", "UTC+5", "12:46 AM"),
            (1_794_771_993, "date", "", "November 15, 2026"),
            (1_794_771_993, "weekday", "", "Sunday"),
            (1_794_771_993, "isotime", "", "19:46"),
            (1_794_771_993, "isodate", "", "2026-11-15"),
            (1_794_771_993, "datetimeformat", "ddd D MMM YY [at] h:mm", "Sun 15 Nov 26 at 7:46"),
            (1_709_164_800, "isodate", "", "2024-02-29"),
            (-1, "isodate", "", "1969-12-31"),
        ] {
            let found = value(Timestamp(seconds * 1000), name, argument);
            assert_eq!(found.as_deref(), Some(expected), "{name} {argument}");
        }
        assert_eq!(value(Timestamp(0), "unknown", ""), None);
    }
}
