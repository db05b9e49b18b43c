//! BERT's uncased `WordPiece`: text to the pieces of a vocabulary.
//!
//! The text is cleaned of control characters, stripped of accents and case, and split at
//! white space, punctuation and every CJK character; each word is then taken apart
//! greedily, longest piece first. No `[CLS]` and no `[SEP]`: a table has no use for them.

use rustc_hash::FxHashMap;
use unicode_categories::UnicodeCategories as _;
use unicode_normalization::UnicodeNormalization as _;

use super::TableError;

/// A piece's row in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece(pub u32);

/// A vocabulary of word pieces.
#[derive(Debug)]
pub struct WordPiece {
    /// Pieces that begin a word.
    beginning: FxHashMap<Box<str>, Piece>,
    /// Pieces that go on with one, without the `##` that marks them.
    continuing: FxHashMap<Box<str>, Piece>,
    unknown: Piece,
}

/// Longer words are unknown, as in BERT.
const LONGEST_WORD: usize = 100;

const UNKNOWN: &str = "[UNK]";

impl WordPiece {
    /// Reads a vocabulary with a piece on each line; the line's number is its row.
    pub fn read(vocabulary: &str) -> Result<Self, TableError> {
        let mut beginning = FxHashMap::default();
        let mut continuing = FxHashMap::default();
        for (row, piece) in (0..).zip(vocabulary.lines()) {
            match piece.strip_prefix("##").filter(|rest| !rest.is_empty()) {
                Some(rest) => continuing.insert(Box::from(rest), Piece(row)),
                None => beginning.insert(Box::from(piece), Piece(row)),
            };
        }
        let unknown = *beginning.get(UNKNOWN).ok_or(TableError::NoUnknown)?;
        Ok(Self { beginning, continuing, unknown })
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.beginning.len() + self.continuing.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pieces of a text.
    pub fn pieces(&self, text: &str) -> Vec<Piece> {
        let mut reader = VocabularyReader { words: self, word: String::new(), pieces: Vec::new() };
        reader.pieces.reserve(text.len() / 4 + 1);
        // Normalisation never moves a character over an ASCII one, so the parts between them
        // can be normalised alone, and ASCII needs none of it.
        for part in text.as_bytes().chunk_by(|a, b| a.is_ascii() == b.is_ascii()) {
            match str::from_utf8(part) {
                Ok(part) if part.is_ascii() => part.bytes().for_each(|byte| reader.ascii(byte)),
                Ok(part) => normalized(part).for_each(|letter| reader.letter(letter)),
                // Neighbouring bytes of one character are both not ASCII: parts are text.
                Err(_) => {}
            }
        }
        reader.end_word();
        reader.pieces
    }

    /// Adds the pieces of one word, or the unknown piece if any part of it is unknown.
    fn take_apart(&self, word: &str, pieces: &mut Vec<Piece>) {
        if word.len() > LONGEST_WORD && word.chars().count() > LONGEST_WORD {
            pieces.push(self.unknown);
            return;
        }
        let before = pieces.len();
        let mut rest = word;
        while !rest.is_empty() {
            let known = if rest.len() == word.len() { &self.beginning } else { &self.continuing };
            let ends = rest.char_indices().rev().map(|(at, letter)| at + letter.len_utf8());
            let longest =
                ends.into_iter().find_map(|end| known.get(&rest[..end]).map(|piece| (*piece, end)));
            let Some((piece, end)) = longest else {
                pieces.truncate(before);
                pieces.push(self.unknown);
                return;
            };
            pieces.push(piece);
            rest = &rest[end..];
        }
    }
}

/// Collects the letters of words and takes each word apart.
struct VocabularyReader<'words> {
    words: &'words WordPiece,
    word: String,
    pieces: Vec<Piece>,
}

impl VocabularyReader<'_> {
    fn ascii(&mut self, byte: u8) {
        if byte.is_ascii_alphanumeric() {
            self.word.push(char::from(byte.to_ascii_lowercase()));
        } else if byte.is_ascii_punctuation() {
            self.alone(char::from(byte));
        } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            self.end_word();
        }
    }

    fn letter(&mut self, letter: char) {
        if is_punctuation(letter) {
            self.alone(letter);
        } else if letter.is_whitespace() {
            self.end_word();
        } else {
            self.word.push(letter);
        }
    }

    /// A character that is a word of its own.
    fn alone(&mut self, letter: char) {
        self.end_word();
        self.words.take_apart(letter.encode_utf8(&mut [0; 4]), &mut self.pieces);
    }

    fn end_word(&mut self) {
        self.words.take_apart(&self.word, &mut self.pieces);
        self.word.clear();
    }
}

/// The characters of a text without control characters, accents and case, and with CJK
/// characters standing alone.
fn normalized(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .filter(|letter| !is_removed(*letter))
        .flat_map(|letter| {
            let padding = is_cjk(letter).then_some(' ');
            padding.into_iter().chain([letter]).chain(padding)
        })
        .nfd()
        .filter(|letter| !letter.is_mark_nonspacing())
        .flat_map(char::to_lowercase)
}

fn is_removed(letter: char) -> bool {
    match letter {
        '\t' | '\n' | '\r' => false,
        '\0' | '\u{fffd}' => true,
        _ => letter.is_other(),
    }
}

fn is_punctuation(letter: char) -> bool {
    letter.is_ascii_punctuation() || letter.is_punctuation()
}

/// The blocks of CJK ideographs. Kana and Hangul are written in words and stay whole.
fn is_cjk(letter: char) -> bool {
    matches!(
        u32::from(letter),
        0x4e00..=0x9fff
            | 0x3400..=0x4dbf
            | 0x2_0000..=0x2_a6df
            | 0x2_a700..=0x2_b73f
            | 0x2_b740..=0x2_b81f
            | 0x2_b920..=0x2_ceaf
            | 0xf900..=0xfaff
            | 0x2_f800..=0x2_fa1f
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use tokenizers::Tokenizer;

    use super::*;

    const VOCABULARY: &str = include_str!("../../assets/vocab.txt");

    /// The same vocabulary in the implementation the table was fitted with.
    fn reference() -> Tokenizer {
        let vocabulary: serde_json::Map<String, serde_json::Value> = VOCABULARY
            .lines()
            .enumerate()
            .map(|(row, piece)| (piece.to_owned(), json!(row)))
            .collect();
        let file = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": {"type": "BertNormalizer", "clean_text": true,
                "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": vocabulary},
        });
        Tokenizer::from_bytes(file.to_string()).unwrap()
    }

    fn rows(pieces: &[Piece]) -> Vec<u32> {
        pieces.iter().map(|piece| piece.0).collect()
    }

    #[test]
    fn words_are_taken_apart_longest_piece_first() {
        let pieces = WordPiece::read("[UNK]\nlight\n##house\n##ho\n##use\n.\nlight house").unwrap();
        for (text, expected) in [
            ("", vec![]),
            ("Lighthouse.", vec![1, 2, 5]),
            ("light hous", vec![1, 0]),
            ("lightho", vec![1, 3]),
            ("LÍGHT\u{7}HOUSE", vec![1, 2]),
            ("house", vec![0]),
            (&"a".repeat(101), vec![0]),
        ] {
            assert_eq!(rows(&pieces.pieces(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_vocabulary_needs_its_unknown_piece() {
        assert!(matches!(WordPiece::read("a\nb"), Err(TableError::NoUnknown)));
    }

    #[test]
    fn any_text_has_the_pieces_of_the_reference() {
        let ours = WordPiece::read(VOCABULARY).unwrap();
        let theirs = reference();
        let check = |text: &str| {
            let expected = theirs.encode(text, false).unwrap();
            assert_eq!(rows(&ours.pieces(text)), expected.get_ids(), "{text:?}");
        };
        for text in [
            "The lighthouse keeper lit the lamp.",
            "Café Zoë, naïve façade! don't [MASK] ##ing $5 <b>",
            "日本 tower — “quoted” (x3) ｆｕｌｌ　ｗｉｄｔｈ",
            "ΑΣ İstanbul привет 🙂👩‍🚀 สวัสดี हिन्दी 한국어 ﬁ ß ẞ Ǆ",
            "tab\tnew\nline\r\nnul\0bell\u{7}nbsp\u{a0}zwsp\u{200b}bom\u{feff}soft\u{ad}",
            &"é".repeat(100),
            &"é".repeat(101),
        ] {
            check(text);
        }
        proptest!(ProptestConfig::with_cases(400), |(text in "\\PC{0,60}|[\\s\\S]{0,60}|[ -~]{0,80}")| {
            check(&text);
        });
    }
}
