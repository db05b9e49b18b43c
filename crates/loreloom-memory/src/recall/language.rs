//! The language of a text, as far as stems need it.
//!
//! A text is in the language most of whose function words it has. Related languages share many, so
//! in doubt a text is in the language that most of the story is in. Words that are also English
//! count for neither, so an English text is never taken for another.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use snowball_stemmers_rs::{Algorithm, Stemmer};

use super::{irregular::regular, stem::stem, tokens::STOP_WORDS};

/// A language with stems of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English, and texts of unclear language in a story of unclear language.
    #[default]
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
    /// Portuguese.
    Portuguese,
    /// Italian.
    Italian,
    /// Russian.
    Russian,
    /// Polish.
    Polish,
    /// Any language that is not written in Latin or Cyrillic letters.
    Foreign,
}

use Language::{English, Foreign, French, German, Italian, Polish, Portuguese, Russian, Spanish};

/// Function words, sorted, without those that are English words too.
#[rustfmt::skip]
const FUNCTION_WORDS: &[(Language, &[&str])] = &[
    (German, &[
        "aber", "als", "am", "auch", "auf", "aus", "bei", "beim", "bin", "bis", "bist", "da",
        "damals", "das", "dass", "dein", "deine", "dem", "den", "denn", "der", "des", "dich", "dir",
        "doch", "du", "durch", "ein", "eine", "einem", "einen", "einer", "er", "es", "euch", "für",
        "gegen", "haben", "hast", "hatte", "hatten", "ich", "ihm", "ihn", "ihr", "ihre", "im",
        "ist", "ja", "kann", "kein", "keine", "mein", "meine", "mich", "mir", "mit", "nach",
        "nicht", "noch", "nur", "oder", "schon", "sein", "seine", "sich", "sie", "sind", "um",
        "und", "uns", "vom", "von", "vor", "wann", "waren", "warum", "weil", "welche", "wenn",
        "wer", "wie", "wir", "wird", "wurde", "zu", "zum", "zur", "über",
    ]),
    (French, &[
        "ai", "au", "aux", "avait", "avec", "ce", "ces", "cette", "dans", "de", "des", "du", "elle",
        "elles", "en", "est", "et", "eu", "il", "ils", "je", "la", "le", "les", "leur", "lui",
        "mais", "mes", "moi", "mon", "ne", "notre", "nous", "ou", "où", "par", "pas", "pour",
        "quand", "que", "quel", "quelle", "qui", "sa", "se", "ses", "sont", "sur", "te", "toi",
        "tu", "un", "une", "vos", "votre", "vous", "à", "était",
    ]),
    (Spanish, &[
        "al", "aquel", "con", "cuando", "cuándo", "cómo", "de", "del", "dónde", "el", "ella",
        "ellos", "en", "entre", "era", "es", "esa", "ese", "esta", "este", "está", "fue", "ha",
        "había", "hasta", "la", "las", "le", "les", "lo", "los", "muy", "más", "nos", "para",
        "pero", "por", "porque", "que", "quién", "qué", "se", "sin", "sobre", "su", "sus",
        "también", "tu", "un", "una", "y", "ya", "yo",
    ]),
    (Portuguese, &[
        "ao", "aos", "com", "da", "das", "de", "dela", "dele", "dos", "e", "ela", "ele", "eles",
        "em", "era", "essa", "esse", "este", "está", "eu", "foi", "há", "isso", "já", "lhe", "mais",
        "mas", "meu", "minha", "muito", "na", "nas", "nem", "nos", "não", "nós", "onde", "os",
        "para", "pela", "pelo", "por", "quando", "que", "quem", "se", "sem", "seu", "sua", "são",
        "também", "tem", "tinha", "um", "uma", "você", "à", "é",
    ]),
    (Italian, &[
        "al", "alla", "anche", "che", "chi", "con", "cosa", "da", "dal", "dalla", "degli", "dei",
        "del", "della", "delle", "dove", "e", "era", "gli", "ha", "il", "in", "io", "la", "le",
        "lei", "lo", "loro", "lui", "ma", "mi", "mia", "mio", "ne", "nel", "nella", "non", "per",
        "perché", "più", "quando", "quello", "questo", "se", "si", "sono", "sua", "sul", "sulla",
        "suo", "tra", "un", "una", "è",
    ]),
    (Polish, &[
        "ale", "bez", "być", "był", "była", "było", "były", "co", "czy", "dla", "gdy", "gdzie",
        "ich", "ja", "jak", "jego", "jej", "jest", "jestem", "już", "kiedy", "kto", "które",
        "który", "ma", "mi", "mnie", "na", "nie", "niego", "o", "od", "po", "przed", "przez",
        "przy", "się", "są", "ta", "tak", "tam", "te", "tego", "tej", "ten", "to", "tu", "ty", "w",
        "we", "z", "za", "ze", "że",
    ]),
    (Russian, &[
        "а", "без", "бы", "был", "была", "были", "было", "в", "вас", "во", "вот", "всё", "вы",
        "где", "да", "для", "до", "его", "ему", "если", "ещё", "её", "же", "за", "и", "из", "или",
        "им", "их", "к", "как", "когда", "кто", "ли", "меня", "мне", "мой", "мы", "на", "над", "не",
        "него", "нет", "ни", "но", "о", "об", "он", "она", "они", "от", "по", "под", "при", "с",
        "со", "так", "там", "то", "ты", "у", "что", "это", "я",
    ]),
];

/// Function words that are English words too, sorted. They show no language.
const SHARED_WORDS: &[(Language, &[&str])] = &[
    (German, &["an", "die", "hat", "in", "man", "so", "war", "was", "will"]),
    (French, &["a", "as", "me", "on", "son"]),
    (Spanish, &["a", "me", "mi", "no", "o", "son"]),
    (Portuguese, &["a", "as", "me", "no", "o"]),
    (Italian, &["a", "come", "i", "in", "me", "no", "o"]),
    (Polish, &["a", "do", "go", "i", "on", "to"]),
];

/// Every language; the place of each is its bit in [`WordUses`].
const ALL: [Language; 9] =
    [English, German, French, Spanish, Portuguese, Italian, Polish, Russian, Foreign];

/// The languages in which a word has no meaning of its own, as bits.
#[derive(Clone, Copy, Debug, Default)]
struct WordUses {
    /// Where it is a function word.
    function: u16,
    /// Where it also is an English word, so that it shows nothing.
    shared: u16,
}

static USES: LazyLock<FxHashMap<&'static str, WordUses>> = LazyLock::new(|| {
    let mut found: FxHashMap<&'static str, WordUses> = FxHashMap::default();
    for (language, listed) in FUNCTION_WORDS.iter().chain([&(English, STOP_WORDS)]) {
        for word in *listed {
            found.entry(word).or_default().function |= language.bit();
        }
    }
    for (language, listed) in SHARED_WORDS {
        for word in *listed {
            found.entry(word).or_default().shared |= language.bit();
        }
    }
    found
});

/// How much speaks for each language in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LanguageSigns {
    /// Different function words of each language.
    own: [u8; ALL.len()],
    /// English words that are not also words of each language.
    english: [u8; ALL.len()],
}

impl LanguageSigns {
    /// The signs in a lower-case text.
    pub(super) fn of(text: &str) -> Self {
        let mut signs = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            if let Some(script) = word.chars().find_map(script) {
                let own = &mut signs.own[script.place()];
                *own = own.saturating_add(4);
            }
            let Some(uses) = USES.get(word) else { continue };
            let is_english = uses.function & English.bit() != 0;
            // Each word counts once: "ha ha" is no Italian.
            if is_english || seen.contains(&word) {
                for language in ALL.into_iter().filter(|_| is_english) {
                    let is_shared = uses.shared & language.bit() != 0;
                    let english = &mut signs.english[language.place()];
                    *english = english.saturating_add(u8::from(!is_shared));
                }
                continue;
            }
            seen.push(word);
            for language in ALL.into_iter().filter(|language| uses.function & language.bit() != 0) {
                let own = &mut signs.own[language.place()];
                *own = own.saturating_add(1);
            }
        }
        signs
    }

    fn balance(&self, language: Language) -> (u8, u8) {
        (self.own[language.place()], self.english[language.place()])
    }

    /// The language of a text in a story that is mostly in `usual`; `None` if nothing shows it.
    pub(super) fn language(&self, usual: Option<Language>) -> Option<Language> {
        let usual = usual.filter(|usual| *usual != English);
        let most = ALL
            .into_iter()
            .map(|language| (self.own[language.place()], language))
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        let most = most.filter(|(own, language)| *own >= 2 && *own > self.balance(*language).1);
        if let Some(usual) = usual {
            let (own, english) = self.balance(usual);
            let is_near = most.is_none_or(|(most, _)| own + 1 >= most);
            if is_near && own >= english {
                return Some(usual);
            }
        }
        let is_english = self.english[English.place()] > 0;
        most.map(|(_, language)| language).or(is_english.then_some(English))
    }
}

/// The language that a letter shows by itself.
fn script(letter: char) -> Option<Language> {
    match letter {
        '\u{400}'..='\u{4FF}' => Some(Russian),
        '\u{250}'.. if letter.is_alphabetic() => Some(Foreign),
        _ => None,
    }
}

/// How many passages of a story are in each language.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LanguageCounts([usize; ALL.len()]);

impl LanguageCounts {
    /// Counts a passage; one whose language nothing shows does not count.
    pub(super) fn add(&mut self, language: Option<Language>) {
        if let Some(language) = language {
            self.0[language.place()] += 1;
        }
    }

    pub(super) fn remove(&mut self, language: Option<Language>) {
        if let Some(language) = language {
            self.0[language.place()] -= 1;
        }
    }

    /// The language of most passages.
    pub(super) fn usual(&self) -> Option<Language> {
        let all: usize = self.0.iter().sum();
        ALL.into_iter().find(|language| 2 * self.0[language.place()] > all)
    }
}

impl Language {
    fn place(self) -> usize {
        ALL.iter().position(|language| *language == self).unwrap_or_default()
    }

    fn bit(self) -> u16 {
        1 << self.place()
    }

    /// Whether a lower-case word has no meaning of its own.
    pub(super) fn is_function_word(self, word: &str) -> bool {
        USES.get(word).is_some_and(|uses| (uses.function | uses.shared) & self.bit() != 0)
    }

    /// The stem of a lower-case word.
    pub(super) fn stem(self, word: &str) -> String {
        let algorithm = match self {
            English | Foreign => return stem(regular(word)),
            German => Algorithm::German,
            French => Algorithm::French,
            Spanish => Algorithm::Spanish,
            Portuguese => Algorithm::Portuguese,
            Italian => Algorithm::Italian,
            Russian => Algorithm::Russian,
            Polish => Algorithm::Polish,
        };
        Stemmer::create(algorithm).stem(word).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_sorted_for_the_search() {
        for (language, words) in FUNCTION_WORDS.iter().chain(SHARED_WORDS) {
            assert!(words.is_sorted(), "{language:?}");
        }
    }

    #[test]
    fn a_text_is_in_the_language_of_its_function_words() {
        for (text, expected) in [
            ("the captain sold his boat", English),
            ("i want the war to end", English),
            ("boat", English),
            ("der kapitän hat das boot nicht verkauft", German),
            ("le capitaine n a pas vendu son bateau sur la côte", French),
            ("el capitán no vendió su barco en la costa", Spanish),
            ("o capitão não vendeu o seu barco na costa", Portuguese),
            ("il capitano non ha venduto la sua barca", Italian),
            ("kapitan nie sprzedał jeszcze łodzi, bo się bał", Polish),
            ("капитан не продал лодку", Russian),
        ] {
            let found = LanguageSigns::of(text).language(None);
            assert_eq!(found.unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn in_doubt_a_text_is_in_the_language_of_its_story() {
        for (text, usual, expected) in [
            ("gracias", None, None),
            ("gracias", Some(Spanish), Some(Spanish)),
            ("de la mesa", None, Some(French)),
            ("de la mesa", Some(Spanish), Some(Spanish)),
            ("was hat er in der hand?", None, Some(German)),
            ("what did the captain say?", Some(German), Some(English)),
            ("le capitaine n a pas vendu son bateau", Some(German), Some(French)),
        ] {
            assert_eq!(LanguageSigns::of(text).language(usual), expected, "{text}");
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem_in_each_language() {
        for (language, one, other) in [
            (German, "häuser", "hauses"),
            (French, "chantaient", "chanter"),
            (Spanish, "barcos", "barco"),
            (Portuguese, "vendeu", "vender"),
            (Italian, "barche", "barca"),
            (Russian, "лодками", "лодка"),
            (Polish, "domami", "domach"),
        ] {
            assert_eq!(language.stem(one), language.stem(other), "{language:?}");
        }
        assert_eq!(English.stem("bought"), English.stem("buying"));
    }
}
