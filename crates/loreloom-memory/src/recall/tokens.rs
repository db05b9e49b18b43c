//! Splits text into search terms: stems of words in the text's language, and pairs of letters in
//! scripts without spaces.

use rustc_hash::FxHashSet;

use super::language::{Language, LanguageSigns};
use crate::text::is_unspaced;

/// Words without a meaning of their own.
#[rustfmt::skip]
pub(super) const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as",
    "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
    "can", "could", "d", "did", "do", "does", "doing", "don", "down", "during", "each", "few",
    "for", "from", "further", "had", "has", "have", "having", "he", "her", "here", "hers",
    "herself", "him", "himself", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself",
    "just", "ll", "m", "me", "more", "most", "my", "myself", "no", "nor", "not", "now", "of", "off",
    "on", "once", "only", "or", "other", "our", "ours", "ourselves", "out", "over", "own", "re",
    "s", "same", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their",
    "theirs", "them", "themselves", "then", "there", "these", "they", "this", "those", "through",
    "to", "too", "under", "until", "up", "ve", "very", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whom", "why", "will", "with", "would", "you", "your", "yours",
    "yourself", "yourselves",
];

/// A search term: its stem, and the word it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What is compared.
    pub stem: String,
    /// The word as written, lower-cased.
    pub word: String,
}

/// The terms of a text, in order, without stop words.
pub fn tokens(text: &str) -> Vec<Token> {
    terms(text, None)
}

/// The different stems of a text.
pub(crate) fn stems(text: &str) -> FxHashSet<String> {
    tokens(text).into_iter().map(|token| token.stem).collect()
}

/// The terms of a text. If its language is not clear, it is read in `usual`.
pub(super) fn terms(text: &str, usual: Option<Language>) -> Vec<Token> {
    let signs = LanguageSigns::of(&text.to_lowercase());
    terms_in(text, signs.language(usual).or(usual).unwrap_or_default())
}

/// The terms of a text in a language.
pub(super) fn terms_in(text: &str, language: Language) -> Vec<Token> {
    let text = text.to_lowercase().replace('\u{2019}', "'");
    let mut found = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric() && c != '\'') {
        for (part, unspaced) in by_script(word_of(run, language)) {
            if unspaced {
                found.extend(letter_pairs(part));
            } else if !part.is_empty() && !language.is_function_word(part) {
                found.push(Token { stem: language.stem(part), word: part.to_owned() });
            }
        }
    }
    found
}

/// The terms of a text in one string, because they are kept for every message.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedTokens(Box<str>);

impl PackedTokens {
    pub(super) fn of(tokens: &[Token]) -> Self {
        let mut packed = String::new();
        for token in tokens {
            let stem = if token.stem == token.word { "" } else { &token.stem };
            packed.extend([&token.word, " ", stem, "\n"]);
        }
        Self(packed.into())
    }

    pub(super) fn unpack(&self) -> Vec<Token> {
        let token = |line: &str| {
            let (word, stem) = line.split_once(' ')?;
            let stem = if stem.is_empty() { word } else { stem };
            Some(Token { stem: stem.to_owned(), word: word.to_owned() })
        };
        self.0.lines().filter_map(token).collect()
    }
}

/// The part of a run of letters that has the meaning. In English it is before the apostrophe
/// ("Mara's", "didn't"), in French and Italian behind it ("l'eau", "dell'acqua").
fn word_of(run: &str, language: Language) -> &str {
    let run = run.trim_matches('\'');
    let elides = matches!(language, Language::French | Language::Italian);
    let part = if elides { run.rsplit('\'').next() } else { run.split('\'').next() };
    part.unwrap_or_default()
}

/// Whether a lower-case English word has no meaning of its own.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Splits a run of letters where spaced and unspaced scripts meet.
fn by_script(word: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut current: Option<bool> = None;
    for (at, letter) in word.char_indices() {
        let unspaced = is_unspaced(letter) || is_korean(letter);
        if let Some(before) = current.filter(|before| *before != unspaced) {
            parts.push((&word[start..at], before));
            start = at;
        }
        current = Some(unspaced);
    }
    if let Some(unspaced) = current {
        parts.push((&word[start..], unspaced));
    }
    parts
}

/// Korean has spaces, but particles are joined to the words before them.
fn is_korean(letter: char) -> bool {
    matches!(letter, '\u{AC00}'..='\u{D7AF}')
}

/// Korean particles, longer ones first.
const PARTICLES: &[&str] = &[
    "에서는",
    "에게서",
    "으로는",
    "에서",
    "에게",
    "한테",
    "으로",
    "까지",
    "부터",
    "처럼",
    "보다",
    "이랑",
    "에는",
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "에",
    "의",
    "도",
    "로",
    "와",
    "과",
    "만",
    "랑",
];

/// Pairs of letters that are grammar or questions, in Japanese, Chinese and Korean.
#[rustfmt::skip]
const EMPTY_PAIRS: &[&str] = &[
    "ある", "いう", "いた", "いて", "いる", "かな", "から", "けど", "ける", "こと", "この", "され", "した", "して", "しな",
    "する", "そう", "その", "それ", "たい", "たの", "たよ", "だっ", "だよ", "って", "っけ", "った", "てい", "です", "ては",
    "ても", "とう", "とき", "とて", "どう", "どこ", "ない", "なか", "なに", "なの", "なん", "には", "ので", "ので", "のか",
    "のは", "のよ", "ます", "まし", "また", "もう", "よう", "よね", "られ", "るの", "るよ", "れた", "れる", "んだ",
    "一个", "不是", "了什", "什么", "他们", "你们", "因为", "在哪", "多少", "她们", "怎么", "我们", "是什", "是谁", "有什",
    "没有", "的是", "这个", "那个", "哪里", "为什", "么时", "么样", "时候",
    "거예", "그건", "그래", "누가", "누구", "는데", "니다", "무슨", "무엇", "습니", "어디", "어떻", "어요", "언제", "얼마",
    "에요", "예요", "였어", "있어", "있었", "하는", "해요", "했어", "떻게", "었어", "았어", "네요", "세요",
];

/// The terms of a run of letters without spaces: overlapping pairs, and each Chinese character,
/// because it is often a word.
fn letter_pairs(run: &str) -> Vec<Token> {
    let is_korean_run = run.chars().next().is_some_and(is_korean);
    let run = if is_korean_run { without_particle(run) } else { run };
    let letters: Vec<char> = run.chars().collect();
    let token = |letters: &[char]| {
        let text: String = letters.iter().collect();
        Token { stem: text.clone(), word: text }
    };
    if let [_] = letters.as_slice() {
        return vec![token(&letters)];
    }
    let pairs = letters.windows(2).map(token);
    let pairs = pairs.filter(|pair| !EMPTY_PAIRS.contains(&pair.stem.as_str()));
    let characters = letters.iter().filter(|letter| is_chinese(**letter));
    pairs.chain(characters.map(|letter| token(&[*letter]))).collect()
}

/// Chinese characters without a meaning of their own.
const EMPTY_CHARACTERS: &str = "一不个了什么也人他们会你来到前去又几和哪在多大她好如它对小就年开很得怎我把时是最有此每没点\
    然现用的看着知给而能自被要让谁起这还那都里问难非上下中为从今以何但使其出别到吗吧呢啊呀哦喝坐累真";

/// Whether a letter is a Chinese character that can be a word.
fn is_chinese(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{9FFF}') && !EMPTY_CHARACTERS.contains(letter)
}

/// A Korean word without the particle at its end.
fn without_particle(word: &str) -> &str {
    let short = PARTICLES.iter().find_map(|particle| word.strip_suffix(particle));
    short.filter(|short| !short.is_empty()).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems_of(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.stem).collect()
    }

    #[test]
    fn stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn words_are_stemmed_and_unspaced_scripts_are_paired() {
        assert_eq!(stems_of("What did Mara\u{2019}s sisters paint?"), ["mara", "sist", "paint"]);
        assert_eq!(stems_of("I didn't paint 2 walls"), ["didn", "paint", "2", "wall"]);
        assert_eq!(stems_of("bought written wolves"), stems_of("buys writing wolf"));
        assert_eq!(
            stems_of("東京駅でMaraに会った"),
            ["東京", "京駅", "駅で", "東", "京", "駅", "mara", "に会", "会っ"]
        );
        assert_eq!(stems_of("雨"), ["雨"]);
        let found = tokens("Mara bought 2 boats 東京駅");
        assert_eq!(PackedTokens::of(&found).unpack(), found);
        assert_eq!(stems_of("민수가 배를 어디"), ["민수", "배"]);
        assert_eq!(stems_of("Die Häuser sind nicht für uns."), ["haus"]);
        assert_eq!(stems_of("l'eau de la rivière et du lac"), ["eau", "rivi", "lac"]);
    }
}
