//! OpenAI's vocabularies, embedded in the binary.

use std::collections::HashSet;

use loreloom_core::{tokens::TokenCounter as _, units::Tokens};
use tiktoken_rs::CoreBPE;

use super::FastEstimate;

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

    fn load(self) -> &'static CoreBPE {
        match self {
            Self::O200k => tiktoken_rs::o200k_base_singleton(),
            Self::Cl100k => tiktoken_rs::cl100k_base_singleton(),
            Self::P50k => tiktoken_rs::p50k_base_singleton(),
            Self::R50k => tiktoken_rs::r50k_base_singleton(),
        }
    }

    /// The tokens of a text. Special tokens are counted as the characters they are written
    /// with: lore that quotes one must not become a control token.
    pub fn count(self, text: &str) -> Tokens {
        let bpe = self.load();
        let none = HashSet::new();
        let mut total = Tokens::ZERO;
        let mut pending = vec![text];
        while let Some(piece) = pending.pop() {
            match bpe.count(piece, &none) {
                Ok(count) => {
                    let count = Tokens(u32::try_from(count).unwrap_or(u32::MAX));
                    total = total.saturating_add(count);
                }
                // The splitting regex gives up on a text it would backtrack in too long.
                Err(_gave_up) if piece.len() < SHORTEST_HALVED => {
                    total = total.saturating_add(FastEstimate.count(piece));
                }
                Err(_gave_up) => {
                    let (left, right) = piece.split_at(piece.floor_char_boundary(piece.len() / 2));
                    pending.extend([right, left]);
                }
            }
        }
        total
    }
}

/// Texts below this length are not halved any further.
const SHORTEST_HALVED: usize = 64;

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
