//! Counts tokens as the connected model does.
//!
//! The connection chooses. OpenAI's vocabularies are embedded; other models bring their
//! `tokenizer.json`; otherwise `o200k_base` is close for English (within 2.5 % of Llama 3, Qwen,
//! `DeepSeek` and Mistral). Counts are cached by text, since a turn counts the same entries as the
//! turn before.

mod bpe;
mod cache;
mod choice;
mod estimate;
#[cfg(feature = "hf")]
mod file;
mod table;
mod vocabulary;

use std::sync::Arc;

use loreloom_core::{
    tokens::{ByteEstimate, Measure, TokenCounter},
    units::Tokens,
};

#[cfg(feature = "hf")]
use self::file::FileTokenizer;
pub use self::{
    cache::CountCache,
    choice::{TokenizerChoice, TokenizerError},
    estimate::FastEstimate,
    vocabulary::Vocabulary,
};

/// A connection's tokenizer. Clones share the cache.
#[derive(Clone, Debug)]
pub struct Tokenizer(TokenizerKind);

#[derive(Clone, Debug)]
enum TokenizerKind {
    Vocabulary(Vocabulary, Arc<CountCache>),
    #[cfg(feature = "hf")]
    File(Arc<FileTokenizer>, Arc<CountCache>),
    Estimate(FastEstimate),
    Bytes(ByteEstimate),
}

impl Tokenizer {
    /// The tokenizer of a choice. `model` decides for `auto`; `file` holds the bytes of the
    /// `tokenizer.json` that the choice names, read by the host.
    pub fn new(
        choice: &TokenizerChoice,
        model: &str,
        file: Option<&[u8]>,
    ) -> Result<Self, TokenizerError> {
        match choice {
            TokenizerChoice::Auto => Ok(Self::for_model(model)),
            TokenizerChoice::Vocabulary(vocabulary) => Ok(Self::vocabulary(*vocabulary)),
            TokenizerChoice::Estimate => Ok(Self(TokenizerKind::Estimate(FastEstimate))),
            TokenizerChoice::Bytes => Ok(Self(TokenizerKind::Bytes(ByteEstimate))),
            TokenizerChoice::File(name) => {
                let bytes = file.ok_or_else(|| TokenizerError::NoBytes { name: name.clone() })?;
                Self::from_file(name, bytes)
            }
        }
    }

    /// The embedded vocabulary of a model, by its name; `o200k_base` for unknown ones.
    pub fn for_model(name: &str) -> Self {
        Self::vocabulary(Vocabulary::for_model(name))
    }

    /// An embedded vocabulary.
    pub fn vocabulary(vocabulary: Vocabulary) -> Self {
        Self(TokenizerKind::Vocabulary(vocabulary, Arc::default()))
    }

    /// A `tokenizer.json`; `name` is what reports call it.
    #[cfg(feature = "hf")]
    pub fn from_file(name: &str, bytes: &[u8]) -> Result<Self, TokenizerError> {
        let file = FileTokenizer::read(name, bytes)?;
        Ok(Self(TokenizerKind::File(Arc::new(file), Arc::default())))
    }

    /// A `tokenizer.json`, which this build cannot read.
    #[cfg(not(feature = "hf"))]
    pub fn from_file(name: &str, _bytes: &[u8]) -> Result<Self, TokenizerError> {
        Err(TokenizerError::NotBuiltIn { name: name.to_owned() })
    }
}

impl TokenCounter for Tokenizer {
    fn name(&self) -> &str {
        match &self.0 {
            TokenizerKind::Vocabulary(vocabulary, _) => vocabulary.name(),
            #[cfg(feature = "hf")]
            TokenizerKind::File(file, _) => file.name(),
            TokenizerKind::Estimate(estimate) => estimate.name(),
            TokenizerKind::Bytes(estimate) => estimate.name(),
        }
    }

    fn count(&self, text: &str) -> Tokens {
        match &self.0 {
            TokenizerKind::Vocabulary(vocabulary, cache) => {
                cache.get(text, |text| vocabulary.count(text))
            }
            #[cfg(feature = "hf")]
            TokenizerKind::File(file, cache) => cache.get(text, |text| file.count(text)),
            TokenizerKind::Estimate(estimate) => estimate.count(text),
            TokenizerKind::Bytes(estimate) => estimate.count(text),
        }
    }

    fn measure(&self, text: &str) -> Measure {
        match &self.0 {
            TokenizerKind::Vocabulary(..) => Measure(u64::from(self.count(text).0)),
            #[cfg(feature = "hf")]
            TokenizerKind::File(..) => Measure(u64::from(self.count(text).0)),
            TokenizerKind::Estimate(estimate) => estimate.measure(text),
            TokenizerKind::Bytes(estimate) => estimate.measure(text),
        }
    }

    fn tokens(&self, measure: Measure) -> Tokens {
        match &self.0 {
            TokenizerKind::Vocabulary(..) => Tokens(u32::try_from(measure.0).unwrap_or(u32::MAX)),
            #[cfg(feature = "hf")]
            TokenizerKind::File(..) => Tokens(u32::try_from(measure.0).unwrap_or(u32::MAX)),
            TokenizerKind::Estimate(estimate) => estimate.tokens(measure),
            TokenizerKind::Bytes(estimate) => estimate.tokens(measure),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all() -> Vec<Tokenizer> {
        let choices = [
            TokenizerChoice::Vocabulary(Vocabulary::O200k),
            TokenizerChoice::Vocabulary(Vocabulary::Cl100k),
            TokenizerChoice::Vocabulary(Vocabulary::P50k),
            TokenizerChoice::Vocabulary(Vocabulary::R50k),
            TokenizerChoice::Estimate,
            TokenizerChoice::Bytes,
        ];
        choices.iter().filter_map(|choice| Tokenizer::new(choice, "", None).ok()).collect()
    }

    #[test]
    fn a_choice_becomes_its_tokenizer() {
        for (choice, model, name) in [
            (TokenizerChoice::Auto, "gpt-4", "cl100k_base"),
            (TokenizerChoice::Auto, "mistral-small", "o200k_base"),
            (TokenizerChoice::Vocabulary(Vocabulary::P50k), "gpt-4", "p50k_base"),
            (TokenizerChoice::Estimate, "gpt-4", "estimate"),
            (TokenizerChoice::Bytes, "gpt-4", "estimate-3.35"),
        ] {
            let tokenizer = Tokenizer::new(&choice, model, None).unwrap();
            assert_eq!(tokenizer.name(), name, "{choice:?} {model}");
        }
    }

    #[test]
    fn a_file_without_bytes_is_an_error() {
        let choice = TokenizerChoice::File("llama.json".to_owned());
        let error = Tokenizer::new(&choice, "llama", None).unwrap_err();
        assert!(matches!(error, TokenizerError::NoBytes { name } if name == "llama.json"));
    }

    #[test]
    fn clones_share_their_counts() {
        let tokenizer = Tokenizer::for_model("gpt-4o");
        assert_eq!(tokenizer.clone().count("hello world"), Tokens(2));
        assert_eq!(tokenizer.count("hello world"), Tokens(2));
        let TokenizerKind::Vocabulary(_, cache) = &tokenizer.0 else {
            panic!("an embedded vocabulary")
        };
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn long_and_monotonous_texts_are_counted() {
        for tokenizer in all() {
            for text in [" ".repeat(20_000), "a".repeat(20_000), "\n \t".repeat(5_000)] {
                assert!(tokenizer.count(&text) > Tokens(0), "{}", tokenizer.name());
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_has_a_count_and_only_the_empty_one_has_none(text in "\\PC*|[\\s\\S]{0,80}") {
            for tokenizer in all() {
                let count = tokenizer.count(&text);
                prop_assert_eq!(count == Tokens(0), text.is_empty(), "{}", tokenizer.name());
                prop_assert_eq!(tokenizer.count(&text), count);
                prop_assert_eq!(tokenizer.tokens(tokenizer.measure(&text)), count);
            }
        }
    }
}
