//! Lines that are set apart: separators, headings, notes of the author, "Two weeks later".

use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern;

/// Lines that only separate: `---`, `* * *`, `###`, `• • •`.
const SEPARATOR: &str = r"^\s*(?:[-–—_~=*＊#•·◇◆☆★※⁂]\s*){3,}$|^\s*⁂\s*$";

/// Lines that are a heading or a note of the author.
const HEADING: &str = concat!(
    r"(?i)^\s*#{1,6}\s+\p{L}|^\W*(?:chapter|part|act|scene|epilogue|prologue|interlude|kapitel|",
    r"teil|szene|akt|chapitre|partie|scène|acte|capítulo|parte|escena|acto|cena|ato|capitolo|",
    r"scena|atto|глава|часть|сцена|акт|действие|rozdział|część)\s+(?:[ivxlcdm]+|\d+|one|two|three|",
    r"four|five|six|seven|eight|nine|ten|\p{Lu}\w*|перв\w+|втор\w+|трет\w+|четв\w+|пят\w+)",
    r"(?:\W|$)|^\W*第[一二三四五六七八九十百\d]+[章幕話话节節回场場]|",
    r"^\W*(?:pov|location|setting|scene|date|ort|zeit|szene|lieu|scène|lugar|escena|local|cena|",
    r"место|время|сцена|場所|場面|地点|时间|场景)\s*[:：–]|",
    r"^\W*(?:int|ext)\.\s+\p{L}|^\W*(?:day|tag|jour|día|dia|день)\s+(?:\d+|one|two|three|four|five|",
    r"six|seven)\b|^\s*[\[(]\s*(?:scene|cut to|location|setting|later|the next|szene|scène|escena|",
    r"cena|сцена|場面|场景)\b|^\W*(?:fade to black|cut to|smash cut|abblende|schnitt auf|",
    r"fondu au noir|fundido a negro|corte para|затемнение|暗転)(?:\W|$)",
);

/// A line set apart, such as `**Two weeks later**` or `*Next morning, the harbour*`.
const SET_APART: &str = r"^\s*(\*{1,3}|_{1,2}|\[|\(|~+|【|［|（|＊+|<)([^*_\[\]()【】［］（）＊<>]{2,80})(?:\*{1,3}|_{1,2}|\]|\)|~+|】|］|）|＊+|>)\s*$";

/// Times in lines set apart.
const TIMES: &str = concat!(
    r"(?i)\b(?:later|earlier|next|following|morning|afternoon|evening|night|midnight|noon|dawn|",
    r"dusk|days?|weeks?|months?|years?|hours?|später|morgen|nachmittag|abend|nachts?|tage?|",
    r"stunden?|wochen?|monate?|jahre?|lendemain|plus tard|matin|soir|nuit|jours?|heures?|",
    r"semaines?|mois|ans|mañana|tarde|noche|amanecer|después|horas?|días?|semanas?|mes|meses|mês|",
    r"años?|manhã|noite|amanhecer|depois|dias?|anos?|утр\w*|вечер\w*|ноч\w*|день|дня|дней|",
    r"час\w*|недел\w*|месяц\w*|год\w*|лет|спустя|позже)\b|[朝夜後后晚年月]|日後|[数几两三]天|天后|早晨|清晨",
);

/// Notes in which an author skips time.
const SKIP: &str = concat!(
    r"(?i)\b(?:time ?-?skip\w*|skip(?:ping|s)? (?:to|ahead|forward)|fast[ -]forward\w*|",
    r"zeitsprung|überspring\w*|spulen? vor|vorspulen|ellipse|saut (?:temporel|dans le temps)|",
    r"avance rapide|(?:on|nous) (?:saute|passe)\w*|salto (?:temporal|en el tiempo|de tiempo|no tempo|",
    r"de tempo)|saltemos|saltamos|pul(?:amos|emos|ando) para|passagem de tempo|paso del tiempo|",
    r"avançamos|avanzamos|таймскип|скачок во времени|перемот\w+|пропус(?:тим|каем))\b|",
    r"時間(?:経過|が飛|スキップ)|タイムスキップ|場面転換|时间(?:跳跃|推移|流逝)|快进|转场|场景切换|跳到",
);

/// Words of people. A line with them is an action, whatever time it names.
const PEOPLE: &str = concat!(
    r"(?i)\b(?:i|you|he|she|we|they|it|my|your|his|her|our|their|ich|du|er|sie|wir|ihr|mein\w*|",
    r"sein\w*|je|tu|il|elle|nous|vous|ils|elles|yo|tú|él|ella|nosotros|ellos|me|te|se|eu|ele|ela|",
    r"você|nós|eles|elas|seu|sua|я|ты|он|она|мы|вы|они|его|её)\b|[她他我你您俺僕私君]|彼[女らは]",
);

static LINE_SEPARATES: LazyLock<Regex> = LazyLock::new(|| pattern(SEPARATOR));
static LINE_HEADS: LazyLock<Regex> = LazyLock::new(|| pattern(HEADING));
static LINE_APART: LazyLock<Regex> = LazyLock::new(|| pattern(SET_APART));
static NAMES_TIME: LazyLock<Regex> = LazyLock::new(|| pattern(TIMES));
static SKIPS: LazyLock<Regex> = LazyLock::new(|| pattern(SKIP));
static NAMES_PEOPLE: LazyLock<Regex> = LazyLock::new(|| pattern(PEOPLE));

/// In a heading, the time is among so many words at its beginning, or in its last part.
const FIRST_WORDS: usize = 4;
/// The most letters of a heading in a script without spaces.
const SHORT: usize = 14;

/// Whether a line separates, heads a part or names a new time or place.
pub(super) fn sets_apart(line: &str) -> bool {
    LINE_SEPARATES.is_match(line) || LINE_HEADS.is_match(line) || skips_or_names_time(line)
}

fn skips_or_names_time(line: &str) -> bool {
    let Some(found) = LINE_APART.captures(line) else { return false };
    // Between single asterisks or underscores is what somebody does, and rarely a heading.
    let is_action = matches!(&found[1], "*" | "_" | "＊");
    let text = &found[2];
    SKIPS.is_match(text) || NAMES_TIME.is_match(text) && !(is_action && tells_an_action(text))
}

fn tells_an_action(text: &str) -> bool {
    if NAMES_PEOPLE.is_match(text) {
        return true;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() < 2 && !text.is_ascii() {
        return text.chars().count() > SHORT;
    }
    let first = words.iter().take(FIRST_WORDS).copied().collect::<Vec<&str>>().join(" ");
    let last = text.rsplit([',', ';', ':', '–', '—', '.']).find(|part| !part.trim().is_empty());
    let last = last.filter(|part| part.split_whitespace().count() <= FIRST_WORDS);
    !NAMES_TIME.is_match(&first) && !last.is_some_and(|part| NAMES_TIME.is_match(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_heading_or_an_action() {
        for (line, expected) in [
            ("* * *", true),
            ("## The mill", true),
            ("**Two weeks later**", true),
            ("*Next morning, the harbour*", true),
            ("*The harbour, late evening*", true),
            ("*She looks at the evening sky.*", false),
            ("*Rowan leans back and watches the evening sky.*", false),
            ("(ooc: let's skip to the trial)", true),
            ("*Zeitsprung*", true),
            ("Akt II", true),
            ("【翌朝】", true),
            ("*她望着夜空。*", false),
            ("**Stop.**", false),
            ("*timeskip*", true),
        ] {
            assert_eq!(sets_apart(line), expected, "{line}");
        }
    }
}
