//! The story's own time, read from its words. No model is needed.
//!
//! Dates, "three days later", "the next morning" and "at dusk" move the clock, in the languages of
//! `words`. It is computed from the messages of a path, so every branch has its own. Words inside
//! quotes do not count: people talk about other times.

mod words;

use std::sync::LazyLock;

use loreloom_core::{chat::PathItem, ids::MessageId};
use regex::{Captures, Regex};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use self::words::{LANGUAGES, TimeWords, meaning};
use crate::text::pattern;

/// How far back messages are read.
const READ: usize = 2000;
/// The newest messages whose language counts.
const LANGUAGE: usize = 40;
const DAY: i64 = 24 * 60;

static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#""[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|»[^«]*«|「[^」]*」"#));
static ISO: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(\d{1,4})-(\d{1,2})-(\d{1,2})\b"));

/// Months that are verbs when they are not capitalised: "we march 20 miles", "only 3 may pass".
const VERBS: [&str; 2] = ["march", "may"];

/// A month of the story's calendar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Month {
    /// Its name.
    pub name: String,
    /// How many days it has.
    pub days: u32,
}

/// The story's own months, in order. Empty for our own calendar.
pub type Calendar = Vec<Month>;

/// Our own months. A story seldom needs leap days.
fn usual() -> Calendar {
    const NAMES: [(&str, u32); 12] = [
        ("January", 31),
        ("February", 28),
        ("March", 31),
        ("April", 30),
        ("May", 31),
        ("June", 30),
        ("July", 31),
        ("August", 31),
        ("September", 30),
        ("October", 31),
        ("November", 30),
        ("December", 31),
    ];
    NAMES.map(|(name, days)| Month { name: name.to_owned(), days }).to_vec()
}

/// A moment of the story.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StoryTime {
    /// Minutes since the beginning of day 0.
    minutes: i64,
    /// Whether day 0 is the beginning of a calendar, and not of the story.
    is_dated: bool,
    /// The last part of the day that was named.
    part: Option<&'static str>,
}

/// The time of each message of a path.
#[derive(Clone, Debug)]
pub struct StoryClock {
    months: Calendar,
    now: StoryTime,
    times: FxHashMap<MessageId, StoryTime>,
    /// Whether the story says anything about time.
    is_told: bool,
}

impl StoryClock {
    /// Reads the messages of a path.
    pub fn of(path: &[PathItem], calendar: &[Month]) -> Self {
        let named = calendar.iter().filter(|month| month.days > 0 && !month.name.trim().is_empty());
        let months: Calendar = named.cloned().collect();
        let is_usual = months.is_empty();
        let months = if is_usual { usual() } else { months };
        let dates = Dates::of(&months, is_usual);
        let mut clock =
            Self { months, now: StoryTime::default(), times: FxHashMap::default(), is_told: false };
        let read = &path[path.len().saturating_sub(READ)..];
        let newest = read[read.len().saturating_sub(LANGUAGE)..].iter();
        let languages = TimeWords::of_story(&newest.map(|item| item.message.text.as_str()));
        for item in read {
            if item.message.is_seen() {
                clock.read(&item.message.text, &dates, &languages);
            }
            clock.times.insert(item.id, clock.now);
        }
        clock
    }

    fn read(&mut self, text: &str, dates: &Dates, languages: &[&TimeWords]) {
        let text = QUOTED.replace_all(text, " ");
        let before = self.now;
        let numbered = || {
            let found = languages.iter().find_map(|words| words.day.captures(&text))?;
            found[1].parse().ok()
        };
        let today = self.now.is_dated.then_some(self.now.minutes.div_euclid(DAY));
        if let Some(day) = dates.find(&text, &self.months, today) {
            self.at_day(day, true);
        } else if let Some(day) = numbered() {
            self.at_day(day, false);
        }
        let mut has_next = false;
        for words in languages {
            for found in words.later.iter().flat_map(|form| form.captures_iter(&text)) {
                let year = self.year();
                self.now.minutes += words.number(&found[1]) * unit(words.unit(&found[2]), year);
                self.is_told = true;
            }
            for found in words.next.iter().flat_map(|form| form.captures_iter(&text)) {
                self.go_to_next(meaning(found.get(1).map(|word| word.as_str())));
                has_next = true;
            }
        }
        let is_later = self.now.minutes.div_euclid(DAY) != before.minutes.div_euclid(DAY);
        let part = languages.iter().find_map(|words| words.part(&text));
        if let Some(part) = part.filter(|_| !has_next) {
            self.at_part(&part);
            // The morning after an evening is the next day.
            if !is_later && self.now.minutes < before.minutes && before.part.is_some() {
                self.now.minutes += DAY;
            }
        }
    }

    /// Goes to the next day, week, month or year, or to a part of the next day.
    fn go_to_next(&mut self, word: &str) {
        let days = match word {
            "week" => 7,
            "month" => 30,
            "year" => self.year(),
            _ => 1,
        };
        self.at_day(self.now.minutes.div_euclid(DAY) + days, self.now.is_dated);
        self.at_part(word);
    }

    fn at_day(&mut self, day: i64, is_dated: bool) {
        let minute = self.now.minutes.rem_euclid(DAY);
        (self.now.minutes, self.now.is_dated) = (day * DAY + minute, is_dated);
        self.is_told = true;
    }

    fn at_part(&mut self, word: &str) {
        let Some((name, hour)) = PARTS.iter().find(|(name, _)| *name == word) else { return };
        let day = self.now.minutes.div_euclid(DAY);
        (self.now.minutes, self.now.part) = (day * DAY + hour * 60, Some(*name));
        self.is_told = true;
    }

    fn year(&self) -> i64 {
        self.months.iter().map(|month| i64::from(month.days)).sum()
    }

    /// What time it is in the story; `None` if the story does not say.
    pub fn shown(&self) -> Option<String> {
        if !self.is_told {
            return None;
        }
        let day = self.now.minutes.div_euclid(DAY);
        let date = if self.now.is_dated { self.date(day) } else { format!("day {day}") };
        Some(match self.now.part {
            Some(part) => format!("{date}, {part}"),
            None => date,
        })
    }

    fn date(&self, day: i64) -> String {
        let (year, mut left) = (day.div_euclid(self.year()), day.rem_euclid(self.year()));
        for month in &self.months {
            if left < i64::from(month.days) {
                let date = format!("{} {}", left + 1, month.name);
                // No year was ever named.
                return if year == 0 { date } else { format!("{date} {year}") };
            }
            left -= i64::from(month.days);
        }
        format!("year {year}")
    }

    /// How long ago the newest of these messages was; `None` for less than an hour, or if it is
    /// not known.
    pub fn ago(&self, messages: &[MessageId]) -> Option<String> {
        let times = messages.iter().filter_map(|id| self.times.get(id));
        let then = times.max_by_key(|time| time.minutes)?;
        // Time before the first date of a story has another day 0.
        if then.is_dated != self.now.is_dated {
            return None;
        }
        let minutes = self.now.minutes - then.minutes;
        let days = self.now.minutes.div_euclid(DAY) - then.minutes.div_euclid(DAY);
        let many = |count: i64, unit: &str| match count {
            1 => format!("1 {unit} ago"),
            _ => format!("{count} {unit}s ago"),
        };
        match days {
            0 if minutes >= 60 => Some(many(minutes / 60, "hour")),
            ..=0 => None,
            1 => Some("yesterday".to_owned()),
            2..14 => Some(many(days, "day")),
            14..60 => Some(many(days / 7, "week")),
            _ if days < self.year() => Some(many(days / 30, "month")),
            _ => Some(many(days / self.year(), "year")),
        }
    }
}

const PARTS: [(&str, i64); 11] = [
    ("dawn", 6),
    ("sunrise", 6),
    ("morning", 8),
    ("noon", 12),
    ("midday", 12),
    ("afternoon", 15),
    ("dusk", 19),
    ("sunset", 19),
    ("evening", 20),
    ("night", 22),
    ("midnight", 23),
];

fn unit(word: &str, year: i64) -> i64 {
    match word {
        "minute" => 1,
        "hour" => 60,
        "week" => 7 * DAY,
        "month" => 30 * DAY,
        "year" => year * DAY,
        _ => DAY,
    }
}

/// Finds dates with the months of a calendar.
struct Dates {
    forms: Option<[Regex; 2]>,
    /// The names of months, and which month each is.
    names: Vec<(String, usize)>,
}

impl Dates {
    /// Our own months have names in all languages.
    fn of(months: &[Month], is_usual: bool) -> Self {
        let own = months.iter().enumerate().map(|(at, month)| (month.name.to_lowercase(), at));
        let mut names: Vec<(String, usize)> = own.collect();
        if is_usual {
            let named = LANGUAGES.iter().flat_map(|words| words.months.into_iter().zip(0..));
            names.extend(named.map(|(name, at)| (name.to_lowercase(), at)));
        }
        let escaped: Vec<String> = names.iter().map(|(name, _)| regex::escape(name)).collect();
        let any = escaped.join("|");
        let forms = [
            format!(
                r"(?i)\b(\d{{1,3}})(?:st|nd|rd|th|er|\.|º)?(?: of| de)? ({any})(?:,?(?: del?)? (\d{{1,6}}))?\b"
            ),
            format!(r"(?i)\b({any}) (\d{{1,3}})(?:st|nd|rd|th)?(?:,? (\d{{1,6}}))?\b"),
        ];
        let [one, two] = forms.map(|form| Regex::new(&form).ok());
        Self { forms: one.zip(two).map(|(one, two)| [one, two]), names }
    }

    /// The day of the first date in a text. A date without a year is the one closest to today.
    fn find(&self, text: &str, months: &[Month], today: Option<i64>) -> Option<i64> {
        let [day_first, month_first] = self.forms.as_ref()?;
        let value = |found: &Captures<'_>, group: usize| -> Option<i64> {
            found.get(group).and_then(|part| part.as_str().parse().ok())
        };
        let year: i64 = months.iter().map(|month| i64::from(month.days)).sum();
        let day_of = |at: usize, day: i64, stated: Option<i64>| {
            let before: i64 = months[..at].iter().map(|month| i64::from(month.days)).sum();
            let in_year = |number: i64| number * year + before + day - 1;
            match (stated, today) {
                (Some(stated), _) => in_year(stated),
                (None, None) => in_year(0),
                (None, Some(today)) => {
                    let this = today.div_euclid(year);
                    let years = [this, this + 1, (this - 1).max(0)];
                    years
                        .map(in_year)
                        .into_iter()
                        .min_by_key(|day| (day - today).abs())
                        .unwrap_or(today)
                }
            }
        };
        let month = |name: &str| {
            if VERBS.contains(&name) {
                return None;
            }
            let name = name.to_lowercase();
            self.names.iter().find(|(known, _)| *known == name).map(|(_, at)| *at)
        };
        let first = day_first
            .captures_iter(text)
            .find_map(|found| Some(day_of(month(&found[2])?, value(&found, 1)?, value(&found, 3))));
        let second = || {
            month_first.captures_iter(text).find_map(|found| {
                Some(day_of(month(&found[1])?, value(&found, 2)?, value(&found, 3)))
            })
        };
        if let Some(day) = first.or_else(second) {
            return Some(day);
        }
        let found = ISO.captures(text)?;
        let at = usize::try_from(value(&found, 2)?).ok()?.checked_sub(1)?;
        months.get(at)?;
        Some(day_of(at, value(&found, 3)?, value(&found, 1)))
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path, Role},
        ids::ChatId,
    };

    use super::*;

    fn path(texts: &[&str]) -> Path {
        let message = |text: &&str| Message::new(Role::User, Some("Ines"), *text);
        Path::of(ChatId::from("c"), texts.iter().map(message))
    }

    fn shown(texts: &[&str], calendar: &[Month]) -> Option<String> {
        StoryClock::of(path(texts).items(), calendar).shown()
    }

    #[test]
    fn the_clock_follows_what_the_story_tells() {
        for (texts, expected) in [
            (&["Hello."][..], None),
            (&["12 March 1843. We land."], Some("12 March 1843")),
            (&["12 March 1347. Rain.", "On 14 March they sail."], Some("14 March 1347")),
            (&["30 December 1347. Snow.", "On 2 January it thaws."], Some("2 January 1348")),
            (&["On 14 March they sail."], Some("14 March")),
            (&["12 March 1347. We march 20 miles. Only 3 may pass."], Some("12 March 1347")),
            (&["It is March 30th, 1843.", "Three days later it rains."], Some("2 April 1843")),
            (&["1843-12-31", "The next morning we sail."], Some("1 January 1844, morning")),
            (&["At dusk we arrive.", "In the morning we leave."], Some("day 1, morning")),
            (&["That evening we eat. \"Three days later he died.\""], Some("day 0, evening")),
            (&["A week passes.", "Later, at night, a knock."], Some("day 7, night")),
            (&["Day 12. Rain.", "Two hours later it stops."], Some("day 12")),
        ] {
            assert_eq!(shown(texts, &[]).as_deref(), expected, "{texts:?}");
        }
    }

    #[test]
    fn german_french_and_spanish_stories_have_a_clock_too() {
        for (texts, expected) in [
            (&["Es ist der 12. März 1843, und die Stadt schläft nicht."][..], "12 March 1843"),
            (
                &["Am Abend sitzen wir in der Küche und essen.", "Drei Tage später regnet es."],
                "day 3, evening",
            ),
            (&["Am nächsten Morgen packt sie die Taschen und geht."], "day 1, morning"),
            (
                &[
                    "Nach einer Woche und um Mitternacht klopft es.",
                    "Ein paar Stunden vergehen, und ich warte.",
                ],
                "day 7",
            ),
            (
                &["„Drei Tage später starb er“, sagt die Frau. In der Nacht schweigt sie und ich."],
                "day 0, night",
            ),
            (&["Der Markt ist laut und bunt. Gegen Mittag gehen die Händler."], "day 0, noon"),
            (&["Tag 12. Die Vorräte und das Wasser gehen aus."], "day 12"),
            (&["Le 3 avril 1792, la ville et les gens dorment."], "3 April 1792"),
            (
                &[
                    "Le lendemain matin, il n'y a pas de pain.",
                    "Deux jours plus tard, une lettre arrive.",
                ],
                "day 3, morning",
            ),
            (
                &["Une semaine passe et les pluies ne cessent pas. Une semaine s'écoule encore."],
                "day 7",
            ),
            (&["Au crépuscule, les soldats et le roi arrivent."], "day 0, dusk"),
            (
                &["« Trois jours après, il est mort », dit une femme. Ce soir-là, pas un bruit."],
                "day 0, evening",
            ),
            (&["El 5 de mayo de 1808 los soldados entran con una bandera."], "5 May 1808"),
            (
                &[
                    "Al día siguiente el pueblo despierta con una noticia.",
                    "Tres días después llueve.",
                ],
                "day 4",
            ),
            (&["A la mañana siguiente los hombres se van con el carro."], "day 1, morning"),
            (
                &["Pasaron dos semanas. Esa noche, el perro que ladra despierta una luz."],
                "day 14, night",
            ),
        ] {
            assert_eq!(shown(texts, &[]).as_deref(), Some(expected), "{texts:?}");
        }
    }

    #[test]
    fn a_world_has_its_own_months() {
        let month = |name: &str, days| Month { name: name.to_owned(), days };
        let calendar = [month("Frost", 40), month("Thaw", 20)];
        let texts = ["On the 39th of Frost, 7, snow falls.", "Three days later it melts."];
        assert_eq!(shown(&texts, &calendar).as_deref(), Some("2 Thaw 7"));
    }

    #[test]
    fn a_branch_has_its_own_time_and_memories_know_how_long_ago_they_were() {
        let path = path(&["We meet.", "Three days later we part.", "The next evening I write."]);
        let id = |at: usize| path.items()[at].id;
        let clock = StoryClock::of(path.items(), &[]);
        assert_eq!(clock.ago(&[id(0)]).as_deref(), Some("4 days ago"));
        assert_eq!(clock.ago(&[id(1)]).as_deref(), Some("yesterday"));
        assert_eq!(clock.ago(&[id(2)]), None);
        let branch = StoryClock::of(&path.items()[..2], &[]);
        assert_eq!(branch.ago(&[id(0)]).as_deref(), Some("3 days ago"));
        for (later, expected) in [
            ("Five hours later", "5 hours ago"),
            ("Three weeks later", "3 weeks ago"),
            ("Two years later", "2 years ago"),
        ] {
            let path = self::path(&["We meet.", &format!("{later} we part.")]);
            let clock = StoryClock::of(path.items(), &[]);
            assert_eq!(clock.ago(&[path.items()[0].id]).as_deref(), Some(expected));
        }
    }
}
