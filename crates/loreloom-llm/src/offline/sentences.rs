//! Finds the sentences of a prompt that describe the world.
//!
//! System messages mix lore with instructions, headings and markup. A sentence is kept if it could
//! be part of a story: it begins and ends like one and gives no orders.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoreSentence {
    /// The sentence with its full stop.
    pub(super) text: String,
    /// Its paragraph: neighbours belong together.
    pub(super) block: usize,
}

/// Shorter sentences say too little, longer ones cannot be spoken.
const LENGTH: std::ops::RangeInclusive<usize> = 16..=260;

/// Words that a sentence of instructions begins with.
const ORDERS: [&str; 34] = [
    "write",
    "keep",
    "stay",
    "never",
    "always",
    "avoid",
    "use",
    "do",
    "don't",
    "describe",
    "respond",
    "reply",
    "continue",
    "let",
    "make",
    "remember",
    "speak",
    "act",
    "play",
    "follow",
    "include",
    "be",
    "note",
    "assume",
    "treat",
    "you",
    "your",
    "please",
    "answer",
    "refer",
    "incorporate",
    "if",
    "style",
    "format",
];

/// What only instructions say.
const STAGE_TALK: [&str; 14] = [
    "{{",
    "}}",
    "next reply",
    "roleplay",
    "role-play",
    "fictional chat",
    "in character",
    "language model",
    "chatbot",
    "the user",
    "your reply",
    "your repl",
    "your response",
    "the assistant",
];

/// Words before a full stop that do not end a sentence.
const ABBREVIATIONS: [&str; 11] =
    ["mr", "mrs", "ms", "dr", "st", "lt", "capt", "prof", "sr", "jr", "vs"];

/// The lore of a system message; `first_block` numbers its first paragraph.
pub(super) fn lore_of(content: &str, first_block: usize) -> Vec<LoreSentence> {
    let plain = without_markup(content);
    plain
        .lines()
        .enumerate()
        .flat_map(|(line, text)| {
            sentences(text).into_iter().map(move |sentence| (first_block + line, sentence))
        })
        .filter(|(_, sentence)| is_lore(sentence))
        .map(|(block, text)| LoreSentence { text, block })
        .collect()
}

/// The text without tags, brackets and Markdown signs. The content of brackets stays: many books
/// write all their lore in them.
fn without_markup(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut in_tag = false;
    for letter in text.chars() {
        match letter {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            // A lone `<` must not swallow the rest of the prompt.
            '\n' => {
                in_tag = false;
                plain.push('\n');
            }
            '[' | ']' | '*' | '#' | '`' => {}
            _ if in_tag => {}
            _ => plain.push(letter),
        }
    }
    plain
}

pub(super) fn sentences(line: &str) -> Vec<String> {
    let letters: Vec<(usize, char)> = line.char_indices().collect();
    let mut found = Vec::new();
    let mut start = 0;
    let mut index = 0;
    while index < letters.len() {
        let (at, letter) = letters[index];
        index += 1;
        if !is_end(letter) || (letter == '.' && abbreviates(&line[start..at])) {
            continue;
        }
        while letters.get(index).is_some_and(|(_, next)| is_end(*next) || is_closing(*next)) {
            index += 1;
        }
        let next = letters.get(index).map(|(_, next)| *next);
        let wide = matches!(letter, '。' | '！' | '？');
        if wide || next.is_none_or(char::is_whitespace) {
            let end = letters.get(index).map_or(line.len(), |(at, _)| *at);
            found.push(line[start..end].trim().to_owned());
            start = end;
        }
    }
    found.push(line[start..].trim().to_owned());
    found.retain(|sentence| !sentence.is_empty());
    found
}

pub(super) fn is_end(letter: char) -> bool {
    matches!(letter, '.' | '!' | '?' | '…' | '。' | '！' | '？')
}

fn is_closing(letter: char) -> bool {
    matches!(letter, '"' | '”' | '’' | '\'' | ')' | '」')
}

/// Whether the text before a full stop ends in an abbreviation or an initial.
fn abbreviates(before: &str) -> bool {
    let word = before.rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    let lower = word.to_lowercase();
    ABBREVIATIONS.contains(&lower.as_str())
        || (word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != "I")
}

/// Whether a sentence could be part of a story.
fn is_lore(sentence: &str) -> bool {
    let Some(first) = sentence.chars().next() else { return false };
    let begins = first.is_uppercase() || matches!(first, '"' | '“') || !first.is_ascii();
    let ends = sentence.trim_end_matches(is_closing).ends_with(is_end);
    let words = sentence.split_whitespace().count();
    let long_enough = words >= 4 || (!first.is_ascii() && sentence.chars().count() >= 8);
    let lower = sentence.to_lowercase();
    let first_word = lower.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').next();
    begins
        && ends
        && long_enough
        && LENGTH.contains(&sentence.len())
        && !first_word.is_some_and(|word| ORDERS.contains(&word))
        && !STAGE_TALK.iter().any(|phrase| lower.contains(phrase))
        && !sentence.contains(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_where_sentences_end() {
        for (line, expected) in [
            ("One here. Two there! Three?", vec!["One here.", "Two there!", "Three?"]),
            ("Dr. Vane met J. Marsh at St. Olm.", vec!["Dr. Vane met J. Marsh at St. Olm."]),
            ("It cost 3.50 marks.", vec!["It cost 3.50 marks."]),
            ("She said \"No.\" Then she left", vec!["She said \"No.\"", "Then she left"]),
            ("Wait... what?!", vec!["Wait...", "what?!"]),
            ("塔は高い。鐘は鳴らない。", vec!["塔は高い。", "鐘は鳴らない。"]),
            ("", vec![]),
        ] {
            assert_eq!(sentences(line), expected, "{line}");
        }
    }

    #[test]
    fn lore_is_told_from_instructions_headings_and_markup() {
        let content = "# World\n\
            [Start a new Chat]\n\
            [Style: terse, tactile, never sweet.]\n\
            [ The ferryman of [[Olm]] takes no silver. ]\n\
            <lore name=\"Gate\">The Ashen Gate has been shut for forty years.</lore>\n\
            Write Mira's next reply in a fictional chat between Mira and Wren.\n\
            Never mention the sea. Keep Ivo brief.\n\
            Age: 40 years, more or less.\n\
            **Mira** keeps the key. Nobody else knows where it is.\n\
            no capital, no sentence.\n\
            An unfinished line of some length";
        let found: Vec<(String, usize)> = lore_of(content, 10)
            .into_iter()
            .map(|sentence| (sentence.text, sentence.block))
            .collect();
        let expected = [
            ("The ferryman of Olm takes no silver.", 13),
            ("The Ashen Gate has been shut for forty years.", 14),
            ("Mira keeps the key.", 18),
            ("Nobody else knows where it is.", 18),
        ];
        assert_eq!(found, expected.map(|(text, block)| (text.to_owned(), block)));
    }

    #[test]
    fn a_lone_bracket_does_not_swallow_the_lines_below() {
        let found = lore_of("a < b\nThe gate is made of old iron.", 0);
        assert_eq!(found.len(), 1);
    }
}
