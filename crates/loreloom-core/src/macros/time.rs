//! Time macros, from the clock of the caller. All times are in UTC.

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

/// What a time macro gives; `None` if no macro has the name.
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

/// How long it is from the second moment to the first, in words: `in 2 hours`, `a day ago`.
/// `None` if they are not two moments.
pub(super) fn difference(argument: &str) -> Option<String> {
    let (to, from) = argument.split_once("::")?;
    let seconds = read(to)? - read(from)?;
    let words = in_words(seconds.unsigned_abs());
    Some(if seconds > 0 { format!("in {words}") } else { format!("{words} ago") })
}

/// A length of time as people say it. The steps are those of the library that front ends use,
/// so that a card reads the same here.
pub fn in_words(seconds: u64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    // A year of the calendar has 146,097 / 400 days.
    const YEAR: u64 = 146_097 * DAY / 400;
    const MONTH: u64 = YEAR / 12;
    let whole = |unit: u64| (seconds + unit / 2) / unit;
    let steps = [
        (45, 1, "a few seconds", "seconds"),
        (45, MINUTE, "a minute", "minutes"),
        (22, HOUR, "an hour", "hours"),
        (26, DAY, "a day", "days"),
        (11, MONTH, "a month", "months"),
    ];
    let step = steps.into_iter().find(|(most, unit, ..)| whole(*unit) < *most);
    let (unit, one, many) = match step {
        Some((_, 1, few, _)) => return few.to_owned(),
        Some((_, unit, one, many)) => (unit, one, many),
        None => (YEAR, "a year", "years"),
    };
    match whole(unit) {
        0 | 1 => one.to_owned(),
        count => format!("{count} {many}"),
    }
}

/// `2026-01-31`, with or without ` 12:30`, `T12:30:05` and `Z`, in seconds.
fn read(text: &str) -> Option<i64> {
    let text = text.trim().trim_end_matches('Z');
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let numbers = |text: &str, at: char| -> Option<Vec<i64>> {
        text.split(at).map(|part| part.trim().parse().ok()).collect()
    };
    let [year, month, day] = numbers(date, '-')?[..] else { return None };
    let mut clock = if time.is_empty() { Vec::new() } else { numbers(time, ':')? };
    clock.resize(3, 0);
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && year.abs() < 10_000;
    let [hour, minute, second] = clock[..] else { return None };
    let fits = fits && (0..24).contains(&hour) && (0..60).contains(&minute);
    let fits = fits && (0..60).contains(&second);
    fits.then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days from 1970 to a date of the calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the day that is not always there comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `UTC+2` as hours.
fn utc_offset(argument: &str) -> Option<i64> {
    let hours: i64 = argument.trim().strip_prefix("UTC")?.parse().ok()?;
    (-24..=24).contains(&hours).then_some(hours)
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

    /// Formats by moment.js tokens; `[text]` is literal.
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
    fn a_difference_is_told_as_people_say_it() {
        for (to, from, expected) in [
            ("2026-01-01", "2026-01-01", "a few seconds ago"),
            ("2026-01-01 00:00:44", "2026-01-01", "in a few seconds"),
            ("2026-01-01 00:00:45", "2026-01-01", "in a minute"),
            ("2026-01-01T00:44Z", "2026-01-01", "in 44 minutes"),
            ("2026-01-01 00:45", "2026-01-01", "in an hour"),
            ("2026-01-01", "2026-01-01 21:00", "21 hours ago"),
            ("2026-01-01", "2026-01-02", "a day ago"),
            ("2026-03-01", "2026-02-04", "in 25 days"),
            ("2024-03-01", "2024-02-01", "in a month"),
            ("2026-11-01", "2026-01-01", "in 10 months"),
            ("2027-01-01", "2026-01-01", "in a year"),
            ("1970-01-01", "2026-01-01", "56 years ago"),
        ] {
            assert_eq!(difference(&format!("{to}::{from}")).as_deref(), Some(expected), "{to}");
        }
        for argument in ["", "2026-01-01", "x::y", "2026-13-01::2026-01-01"] {
            assert_eq!(difference(argument), None, "{argument}");
        }
    }

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
