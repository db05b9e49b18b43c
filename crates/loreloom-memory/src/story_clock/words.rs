//! How languages tell time: English, German, French and Spanish.
//!
//! The tables are patterns. In `later`, `{N}` is a number and `{U}` a unit; in `next`, the first
//! group is a unit or a part of the day. A pattern of `parts` begins a sentence.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern;

/// The words of one language.
struct Table {
    /// Short words that only texts of this language have often.
    marks: &'static [&'static str],
    numbers: &'static [(&'static str, i64)],
    /// Patterns, and the English word.
    units: &'static [(&'static str, &'static str)],
    later: &'static [&'static str],
    next: &'static [&'static str],
    parts: &'static [(&'static str, &'static str)],
    day: &'static str,
    months: [&'static str; 12],
}

const ENGLISH: Table = Table {
    marks: &["the", "and", "of", "to", "with"],
    numbers: &[
        ("a couple of", 2),
        ("a few", 3),
        ("some", 3),
        ("several", 3),
        ("an?", 1),
        ("one", 1),
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("eleven", 11),
        ("twelve", 12),
        ("fourteen", 14),
        ("twenty", 20),
        ("thirty", 30),
    ],
    units: &[
        ("minutes?", "minute"),
        ("hours?", "hour"),
        ("days?", "day"),
        ("nights?", "day"),
        ("weeks?", "week"),
        ("months?", "month"),
        ("years?", "year"),
    ],
    later: &[
        r"\b(?:after )?{N} {U} (?:later|pass(?:es|ed)?|(?:go|goes|went) by|had passed|have passed|after that)\b",
    ],
    next: &[
        r"\b(?:the )?(?:next|following) (day|morning|noon|afternoon|evening|night|week|month|year|dawn)\b",
    ],
    parts: &[(
        r"(?:later,? )?(?:(?:at|by|in the|that|this|towards?|around) |it (?:is|was) (?:now )?(?:already )?)?(?:early |late )?{P}",
        "",
    )],
    day: "day",
    months: [
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
    ],
};

const GERMAN: Table = Table {
    marks: &["der", "und", "die", "nicht", "ich"],
    numbers: &[
        ("ein paar", 3),
        ("einige", 3),
        ("mehrere", 3),
        ("ein(?:e[nmr]?)?", 1),
        ("zwei", 2),
        ("drei", 3),
        ("vier", 4),
        ("fünf", 5),
        ("sechs", 6),
        ("sieben", 7),
        ("acht", 8),
        ("neun", 9),
        ("zehn", 10),
        ("elf", 11),
        ("zwölf", 12),
        ("vierzehn", 14),
        ("zwanzig", 20),
        ("dreißig", 30),
    ],
    units: &[
        ("minuten?", "minute"),
        ("stunden?", "hour"),
        ("tage?n?", "day"),
        ("n[aä]chten?", "day"),
        ("nacht", "day"),
        ("wochen?", "week"),
        ("monate?n?", "month"),
        ("jahre?n?", "year"),
    ],
    later: &[
        r"\b{N} {U} (?:später|darauf|danach|vergehen|vergingen|vergeht|verging|verstreichen|verstrichen|sind vergangen|waren vergangen)\b",
        r"\bnach {N} {U}\b",
    ],
    next: &[
        r"\b(?:nächste[nrs]?|folgende[nrs]?|darauffolgende[nrs]?) (tag|morgen|mittag|nachmittag|abend|nacht|woche|monat|jahr)\b",
    ],
    parts: &[
        (r"(?:im morgengrauen|bei tagesanbruch)", "dawn"),
        (r"bei sonnenaufgang", "sunrise"),
        (
            r"(?:(?:am|an diesem|es (?:ist|war|wird|wurde)(?: schon| bereits| nun)?) (?:frühen |späten )?morgen|morgens)",
            "morning",
        ),
        (r"(?:(?:am|gegen|zu) mittag|mittags)", "noon"),
        (r"(?:(?:am|an diesem) (?:frühen |späten )?nachmittag|nachmittags)", "afternoon"),
        (r"in der (?:abend)?dämmerung", "dusk"),
        (r"bei sonnenuntergang", "sunset"),
        (
            r"(?:(?:am|an diesem|gegen|später am|es (?:ist|war|wird|wurde)(?: schon| bereits| nun)?) (?:frühen |späten )?abend|abends)",
            "evening",
        ),
        (r"(?:um|gegen) mitternacht", "midnight"),
        (
            r"(?:in (?:der|dieser|jener) nacht|es (?:ist|war|wird|wurde)(?: schon| bereits| nun)? nacht|nachts|mitten in der nacht)",
            "night",
        ),
    ],
    day: "tag",
    months: [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ],
};

const FRENCH: Table = Table {
    marks: &["le", "et", "les", "pas", "une"],
    numbers: &[
        ("quelques", 3),
        ("plusieurs", 3),
        ("une?", 1),
        ("deux", 2),
        ("trois", 3),
        ("quatre", 4),
        ("cinq", 5),
        ("six", 6),
        ("sept", 7),
        ("huit", 8),
        ("neuf", 9),
        ("dix", 10),
        ("onze", 11),
        ("douze", 12),
        ("quatorze", 14),
        ("vingt", 20),
        ("trente", 30),
    ],
    units: &[
        ("minutes?", "minute"),
        ("heures?", "hour"),
        ("jours?", "day"),
        ("nuits?", "day"),
        ("semaines?", "week"),
        ("mois", "month"),
        ("ans?", "year"),
        ("années?", "year"),
    ],
    later: &[
        r"\b{N} {U} (?:plus tard|après|passent|passèrent|ont passé|s['’]écoulent|s['’]écoulèrent|s['’]écoule)\b",
        r"\b(?:après|au bout de) {N} {U}\b",
    ],
    next: &[
        r"\ble lendemain(?: (matin|midi|après-midi|soir))?\b",
        r"\b(?:le |la |l['’])(jour|matin|soir|nuit|semaine|mois|année) suivante?\b",
    ],
    parts: &[
        (r"(?:à|dès) l['’]aube", "dawn"),
        (r"au lever du (?:soleil|jour)", "sunrise"),
        (r"(?:au petit matin|(?:ce|le) matin(?:[- ]là)?|dans la matinée)", "morning"),
        (r"(?:à|vers) midi", "noon"),
        (r"(?:cet|l['’]|dans l['’]) ?après-midi", "afternoon"),
        (r"au crépuscule", "dusk"),
        (r"au coucher du soleil", "sunset"),
        (r"(?:(?:ce|le) soir(?:[- ]là)?|dans la soirée)", "evening"),
        (r"(?:à|vers) minuit", "midnight"),
        (
            r"(?:(?:cette|la|dans la|en pleine) nuit(?:[- ]là)?|il (?:fait|faisait)(?: déjà)? nuit)",
            "night",
        ),
    ],
    day: "jour",
    months: [
        "janvier",
        "février",
        "mars",
        "avril",
        "mai",
        "juin",
        "juillet",
        "août",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
    ],
};

const SPANISH: Table = Table {
    marks: &["el", "los", "que", "una", "con"],
    numbers: &[
        ("unos pocos", 3),
        ("unas pocas", 3),
        ("algun[oa]s", 3),
        ("vari[oa]s", 3),
        ("unos", 3),
        ("unas", 3),
        ("una?", 1),
        ("dos", 2),
        ("tres", 3),
        ("cuatro", 4),
        ("cinco", 5),
        ("seis", 6),
        ("siete", 7),
        ("ocho", 8),
        ("nueve", 9),
        ("diez", 10),
        ("once", 11),
        ("doce", 12),
        ("catorce", 14),
        ("veinte", 20),
        ("treinta", 30),
    ],
    units: &[
        ("minutos?", "minute"),
        ("horas?", "hour"),
        ("días?", "day"),
        ("noches?", "day"),
        ("semanas?", "week"),
        ("mes(?:es)?", "month"),
        ("años?", "year"),
    ],
    later: &[
        r"\b{N} {U} (?:más tarde|después)",
        r"\b(?:pasan|pasaron|pasa|pasó|transcurren|transcurrieron|tras|después de|al cabo de) {N} {U}\b",
    ],
    next: &[
        r"\b(?:al|a la|el|la) (día|mañana|tarde|noche|semana|mes|año) siguiente\b",
        r"\bal otro (día)\b",
    ],
    parts: &[
        (r"al (?:alba|amanecer)", "dawn"),
        (r"al salir el sol", "sunrise"),
        (r"(?:por la|esa|aquella|esta) mañana", "morning"),
        (r"(?:al|a) mediodía", "noon"),
        (r"(?:por la|esa|aquella|esta) tarde", "afternoon"),
        (r"al (?:anochecer|atardecer)", "dusk"),
        (r"al ponerse el sol", "sunset"),
        (r"a medianoche", "midnight"),
        (r"(?:por la|esa|aquella|esta|ya de|es de|era de|ya es de|ya era de) noche", "night"),
    ],
    day: "día",
    months: [
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
};

/// What the words for units and parts of the day after "the next" mean.
const MEANINGS: [(&str, &str); 38] = [
    ("tag", "day"),
    ("morgen", "morning"),
    ("mittag", "noon"),
    ("nachmittag", "afternoon"),
    ("abend", "evening"),
    ("nacht", "night"),
    ("woche", "week"),
    ("monat", "month"),
    ("jahr", "year"),
    ("jour", "day"),
    ("matin", "morning"),
    ("midi", "noon"),
    ("après-midi", "afternoon"),
    ("soir", "evening"),
    ("nuit", "night"),
    ("semaine", "week"),
    ("mois", "month"),
    ("année", "year"),
    ("día", "day"),
    ("mañana", "morning"),
    ("tarde", "afternoon"),
    ("noche", "night"),
    ("semana", "week"),
    ("mes", "month"),
    ("año", "year"),
    ("day", "day"),
    ("morning", "morning"),
    ("noon", "noon"),
    ("afternoon", "afternoon"),
    ("evening", "evening"),
    ("night", "night"),
    ("week", "week"),
    ("month", "month"),
    ("year", "year"),
    ("dawn", "dawn"),
    ("dusk", "dusk"),
    ("sunset", "sunset"),
    ("sunrise", "sunrise"),
];

/// The English parts of the day, for `{P}`.
const PARTS: &str = "dawn|sunrise|morning|noon|midday|afternoon|dusk|sunset|evening|midnight|night";

/// The compiled words of one language.
pub(super) struct TimeWords {
    mark: Regex,
    numbers: Vec<(Regex, i64)>,
    units: Vec<(Regex, &'static str)>,
    pub(super) later: Vec<Regex>,
    pub(super) next: Vec<Regex>,
    parts: Vec<(Regex, &'static str)>,
    pub(super) day: Regex,
    pub(super) months: [&'static str; 12],
}

/// All languages.
pub(super) static LANGUAGES: LazyLock<Vec<TimeWords>> =
    LazyLock::new(|| [ENGLISH, GERMAN, FRENCH, SPANISH].iter().map(TimeWords::of).collect());

impl TimeWords {
    fn of(table: &Table) -> Self {
        let alternatives =
            |all: &mut dyn Iterator<Item = &'static str>| all.collect::<Vec<_>>().join("|");
        let numbers = alternatives(&mut table.numbers.iter().map(|(word, _)| *word));
        let units = alternatives(&mut table.units.iter().map(|(word, _)| *word));
        let (number, unit) = (format!(r"(\d{{1,5}}|{numbers})"), format!("({units})"));
        let whole = |word: &str| pattern(&format!("(?i)^(?:{word})$"));
        let later = |form: &&str| {
            pattern(&format!("(?i){}", form.replace("{N}", &number).replace("{U}", &unit)))
        };
        let part = |(form, name): &(&str, &'static str)| {
            let form = form.replace("{P}", &format!("({PARTS})"));
            (pattern(&format!(r"(?im)(?:^|[.!?…*]\s+){form}(?:\b|,)")), *name)
        };
        Self {
            mark: pattern(&format!(r"(?i)\b(?:{})\b", table.marks.join("|"))),
            numbers: table.numbers.iter().map(|(word, value)| (whole(word), *value)).collect(),
            units: table.units.iter().map(|(word, name)| (whole(word), *name)).collect(),
            later: table.later.iter().map(later).collect(),
            next: table.next.iter().map(|form| pattern(&format!("(?i){form}"))).collect(),
            parts: table.parts.iter().map(part).collect(),
            day: pattern(&format!(r"(?i)\b{} (\d{{1,6}})\b", table.day)),
            months: table.months,
        }
    }

    /// The languages of a story, by their most frequent words.
    pub(super) fn of_story<'text>(
        texts: &(impl Iterator<Item = &'text str> + Clone),
    ) -> Vec<&'static Self> {
        let count = |words: &Self| -> usize {
            texts.clone().map(|text| words.mark.find_iter(text).count()).sum()
        };
        let counted: Vec<(&Self, usize)> = LANGUAGES.iter().map(|one| (one, count(one))).collect();
        let most = counted.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let spoken = counted.into_iter().filter(|(_, count)| 3 * count >= most);
        spoken.map(|(words, _)| words).collect()
    }

    pub(super) fn number(&self, word: &str) -> i64 {
        let listed = self.numbers.iter().find(|(form, _)| form.is_match(word));
        listed.map_or_else(|| word.parse().unwrap_or(0), |(_, value)| *value)
    }

    /// The English word for a unit.
    pub(super) fn unit(&self, word: &str) -> &'static str {
        self.units.iter().find(|(form, _)| form.is_match(word)).map_or("day", |(_, name)| name)
    }

    /// The part of the day that a text begins with, in English.
    pub(super) fn part(&self, text: &str) -> Option<String> {
        self.parts.iter().find_map(|(form, name)| {
            let found = form.captures(text)?;
            let named = found.get(1).map(|part| part.as_str().to_lowercase());
            Some(named.unwrap_or_else(|| (*name).to_owned()))
        })
    }
}

/// The English word for a unit or a part of the day after "the next"; a day if nothing is named.
pub(super) fn meaning(word: Option<&str>) -> &'static str {
    let word = word.unwrap_or("day").to_lowercase();
    MEANINGS.iter().find(|(known, _)| *known == word).map_or("day", |(_, name)| name)
}
