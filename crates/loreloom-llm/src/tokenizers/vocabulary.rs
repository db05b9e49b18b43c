//! OpenAI's vocabularies, embedded in the binary.

use std::sync::OnceLock;

use loreloom_core::{tokens::TokenCounter as _, units::Tokens};

use super::{
    FastEstimate,
    bpe::{Bpe, Pieces},
    table::Table,
};

/// A vocabulary of `assets/vocabularies`, as a test lays it out.
macro_rules! embedded {
    ($name:literal) => {
        include_bytes!(concat!("../../assets/vocabularies/", $name))
    };
}

/// The first tokens of `p50k_base` are those of `r50k_base`.
const R50K_TOKENS: usize = 50_256;

/// An embedded vocabulary. Each is loaded once per process, when first used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    /// GPT-4o, 4.1, 5 and the o-series.
    O200k,
    /// GPT-4 and 3.5.
    Cl100k,
    /// Codex and `text-davinci-003`.
    P50k,
    /// GPT-3.
    R50k,
}

impl Vocabulary {
    const ALL: [Self; 4] = [Self::O200k, Self::Cl100k, Self::P50k, Self::R50k];

    /// Its published name.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
            Self::P50k => "p50k_base",
            Self::R50k => "r50k_base",
        }
    }

    /// The vocabulary of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|vocabulary| vocabulary.name() == name)
    }

    /// The vocabulary of a model, whose name may carry its maker (`openai/gpt-4`) and a
    /// version. Unknown models get `o200k_base`, which is nearest to most.
    pub fn for_model(name: &str) -> Self {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        // A fine-tune is named after its base: `ft:gpt-3.5-turbo:…`.
        let name = name.strip_prefix("ft:").unwrap_or(&name);
        let found = BY_PREFIX.iter().find(|(prefix, _)| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        });
        found.map_or(Self::O200k, |(_, vocabulary)| *vocabulary)
    }

    /// `None` if the embedded bytes cannot be read; a test checks that they can.
    fn load(self) -> Option<&'static Bpe> {
        static LOADED: [OnceLock<Option<Bpe>>; 4] = [const { OnceLock::new() }; 4];
        LOADED[self as usize].get_or_init(|| self.read()).as_ref()
    }

    fn read(self) -> Option<Bpe> {
        let tokens: &[u8] = match self {
            Self::O200k => embedded!("o200k_base"),
            Self::Cl100k => embedded!("cl100k_base"),
            Self::P50k | Self::R50k => embedded!("p50k_base"),
        };
        let most = if self == Self::R50k { R50K_TOKENS } else { usize::MAX };
        let pieces = match self {
            Self::O200k => Pieces::new(O200K, true),
            Self::Cl100k => Pieces::new(CL100K, true),
            Self::P50k | Self::R50k => Pieces::new(R50K, false),
        };
        Some(Bpe::new(Table::of(tokens, most)?, pieces.ok()?))
    }

    /// The tokens of a text. Special tokens are counted as the characters they are written
    /// with: lore that quotes one must not become a control token.
    pub fn count(self, text: &str) -> Tokens {
        match self.load() {
            Some(bpe) => Tokens(u32::try_from(bpe.count(text)).unwrap_or(u32::MAX)),
            None => FastEstimate.count(text),
        }
    }
}

/// How the vocabularies cut texts, as published, except for the rule for blanks.
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+",
);
const CL100K: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+$|\s*[\r\n]+",
);
const R50K: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+";

/// Model names that are not for `o200k_base`. A prefix counts only as a whole word, so that
/// `gpt-4o` and `gpt-4.1` are not `gpt-4`: see [`Vocabulary::for_model`].
const BY_PREFIX: [(&str, Vocabulary); 19] = [
    ("gpt-4.1", Vocabulary::O200k),
    ("gpt-4.5", Vocabulary::O200k),
    ("gpt-4", Vocabulary::Cl100k),
    ("gpt-3.5", Vocabulary::Cl100k),
    ("gpt-35", Vocabulary::Cl100k),
    ("text-embedding-ada-002", Vocabulary::Cl100k),
    ("text-embedding-3", Vocabulary::Cl100k),
    ("davinci-002", Vocabulary::Cl100k),
    ("babbage-002", Vocabulary::Cl100k),
    ("text-davinci-003", Vocabulary::P50k),
    ("text-davinci-002", Vocabulary::P50k),
    ("code-davinci", Vocabulary::P50k),
    ("code-cushman", Vocabulary::P50k),
    ("davinci", Vocabulary::R50k),
    ("curie", Vocabulary::R50k),
    ("babbage", Vocabulary::R50k),
    ("ada", Vocabulary::R50k),
    ("text-davinci-001", Vocabulary::R50k),
    ("gpt2", Vocabulary::R50k),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tiktoken_rs::CoreBPE;

    use super::*;

    /// The counts OpenAI publishes for its own tokenizer.
    #[test]
    fn counts_are_those_of_the_published_tokenizer() {
        for (text, r50k, p50k, cl100k, o200k) in [
            ("antidisestablishmentarianism", 5, 5, 6, 6),
            ("2 + 2 = 4", 5, 5, 7, 7),
            ("お誕生日おめでとう", 14, 14, 9, 8),
            ("hello world", 2, 2, 2, 2),
            ("", 0, 0, 0, 0),
        ] {
            for (vocabulary, expected) in [
                (Vocabulary::R50k, r50k),
                (Vocabulary::P50k, p50k),
                (Vocabulary::Cl100k, cl100k),
                (Vocabulary::O200k, o200k),
            ] {
                assert_eq!(vocabulary.count(text), Tokens(expected), "{vocabulary:?} {text}");
            }
        }
        assert_eq!(Vocabulary::Cl100k.count("tiktoken is great!"), Tokens(6));
    }

    #[test]
    fn special_tokens_in_a_text_are_plain_text() {
        for vocabulary in Vocabulary::ALL {
            assert!(vocabulary.count("<|endoftext|>") > Tokens(3), "{vocabulary:?}");
        }
    }

    /// The whole tokenizer, which also knows which tokens they are.
    fn whole(vocabulary: Vocabulary) -> &'static CoreBPE {
        match vocabulary {
            Vocabulary::O200k => tiktoken_rs::o200k_base_singleton(),
            Vocabulary::Cl100k => tiktoken_rs::cl100k_base_singleton(),
            Vocabulary::P50k => tiktoken_rs::p50k_base_singleton(),
            Vocabulary::R50k => tiktoken_rs::r50k_base_singleton(),
        }
    }

    /// The tokens by rank; a rank of no token, or of a special one, is empty.
    fn tokens_of(bpe: &CoreBPE) -> Vec<Vec<u8>> {
        let special = bpe.special_tokens();
        let is_special = |token: &Vec<u8>| special.iter().any(|one| one.as_bytes() == *token);
        let token = |rank| bpe.decode_bytes(&[rank]).ok().filter(|token| !is_special(token));
        let most = 210_000;
        let mut tokens: Vec<Vec<u8>> =
            (0..most).map(|rank| token(rank).unwrap_or_default()).collect();
        let end = tokens.iter().rposition(|token| !token.is_empty()).map_or(0, |last| last + 1);
        tokens.truncate(end);
        tokens
    }

    /// As [`Table::of`] reads them.
    fn laid_out(tokens: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = u32::try_from(tokens.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend(tokens.iter().map(|token| u8::try_from(token.len()).unwrap()));
        bytes.extend(tokens.iter().flatten());
        bytes
    }

    /// With `LORELOOM_BLESS` set, it writes them.
    #[expect(clippy::disallowed_methods, reason = "the vocabularies are files of the repository")]
    #[test]
    fn the_committed_vocabularies_are_the_published_ones() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/vocabularies/");
        for vocabulary in [Vocabulary::O200k, Vocabulary::Cl100k, Vocabulary::P50k] {
            let path = format!("{folder}{}", vocabulary.name());
            let made = laid_out(&tokens_of(whole(vocabulary)));
            if std::env::var("LORELOOM_BLESS").is_ok() {
                std::fs::write(&path, &made).unwrap();
            }
            assert!(std::fs::read(&path).unwrap() == made, "{path}");
        }
        let smaller = tokens_of(whole(Vocabulary::R50k));
        assert_eq!(smaller.len(), R50K_TOKENS);
        assert!(tokens_of(whole(Vocabulary::P50k)).starts_with(&smaller));
    }

    fn counts(text: &str) -> [(usize, usize); 4] {
        Vocabulary::ALL.map(|vocabulary| {
            let count = usize::try_from(vocabulary.count(text).0).unwrap();
            (count, whole(vocabulary).encode_ordinary(text).len())
        })
    }

    #[test]
    fn hard_texts_count_as_the_whole_tokenizer_counts_them() {
        let (long, blanks) = ("a".repeat(3000), " ".repeat(300));
        for text in [
            "I'LL say: it's 12345.67 \u{20ac}, isn't it?\r\n\r\n  Yes/no//\n",
            "a  b\t\tc \n d\n\n\n  e   ",
            "tail\n  ",
            "\n  \n",
            "  \u{3000}\u{85}x\u{a0}\u{a0}y",
            "ΟΔΥΣΣΕΥΣ ǅungla naïve नमस्ते 漢字かな交じり文 👩‍👩‍👧‍👦🏳️‍🌈",
            "aſ'ſ 'Sſ e\u{301}'ve ''''ll",
            "<|endoftext|><|fim_prefix|>",
            long.as_str(),
            blanks.as_str(),
        ] {
            for (ours, theirs) in counts(text) {
                assert_eq!(ours, theirs, "{text:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_counts_as_the_whole_tokenizer_counts_it(
            words in prop::collection::vec(
                prop_oneof![
                    "[a-zA-Z]{1,12}", "[ \t\r\n]{1,4}", "[0-9]{1,6}", "'(s|T|ll|RE|ve)?",
                    "[!-/:-@\\[-`{-~]{1,3}", "\\PC{1,4}", "\\p{Lu}\\p{Ll}{0,3}",
                    "[\\p{M}\\p{Lm}\\p{Z}]{1,2}",
                ],
                0..24,
            ),
        ) {
            let text = words.concat();
            for (ours, theirs) in counts(&text) {
                prop_assert_eq!(ours, theirs, "{:?}", text);
            }
        }
    }

    #[test]
    fn models_are_known_by_name() {
        for (name, expected) in [
            ("gpt-4o", Vocabulary::O200k),
            ("gpt-4o-mini-2024-07-18", Vocabulary::O200k),
            ("gpt-4.1-nano", Vocabulary::O200k),
            ("gpt-5", Vocabulary::O200k),
            ("o3-mini", Vocabulary::O200k),
            ("chatgpt-4o-latest", Vocabulary::O200k),
            ("gpt-4", Vocabulary::Cl100k),
            ("GPT-4-turbo", Vocabulary::Cl100k),
            ("openai/gpt-4-0613", Vocabulary::Cl100k),
            ("gpt-3.5-turbo-16k", Vocabulary::Cl100k),
            ("gpt-35-turbo", Vocabulary::Cl100k),
            ("ft:gpt-3.5-turbo:org::id", Vocabulary::Cl100k),
            ("text-davinci-003", Vocabulary::P50k),
            ("davinci", Vocabulary::R50k),
            ("adapter-7b", Vocabulary::O200k),
            ("mistral-small", Vocabulary::O200k),
            ("", Vocabulary::O200k),
        ] {
            assert_eq!(Vocabulary::for_model(name), expected, "{name}");
        }
    }

    #[test]
    fn names_lead_back_to_their_vocabulary() {
        for vocabulary in Vocabulary::ALL {
            assert_eq!(Vocabulary::from_name(vocabulary.name()), Some(vocabulary));
        }
        assert_eq!(Vocabulary::from_name("o200k"), None);
    }
}
