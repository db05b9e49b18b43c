//! A model's own `tokenizer.json`.

use loreloom_core::units::Tokens;
use tokenizers::Tokenizer;

use super::{FastEstimate, TokenizerError};
use loreloom_core::tokens::TokenCounter as _;

/// A tokenizer read from a file of Hugging Face's form.
#[derive(Debug)]
pub(super) struct FileTokenizer {
    name: String,
    tokenizer: Tokenizer,
}

impl FileTokenizer {
    /// Reads a file. The truncation and padding stored in it serve training and would make
    /// counts wrong; special tokens in a text are the text's own characters.
    pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Self, TokenizerError> {
        let damaged = |error: tokenizers::Error| TokenizerError::Damaged {
            name: name.to_owned(),
            reason: error.to_string(),
        };
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(damaged)?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(damaged)?;
        tokenizer.set_encode_special_tokens(true);
        Ok(Self { name: name.to_owned(), tokenizer })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The tokens of a text, without those a model puts round it. A text the file's rules
    /// fail on (a vocabulary without an unknown token, say) is estimated.
    pub(super) fn count(&self, text: &str) -> Tokens {
        match self.tokenizer.encode_fast(text, false) {
            Ok(encoding) => Tokens(u32::try_from(encoding.len()).unwrap_or(u32::MAX)),
            Err(_unencodable) => FastEstimate.count(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = r###"{"version": "1.0",
        "truncation": {"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "[UNK]"},
        "added_tokens": [{"id": 1, "special": true, "content": "<s>", "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false}],
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
        "decoder": null, "model": {"type": "WordPiece", "unk_token": "[UNK]",
            "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": {"[UNK]": 0, "<s>": 1, "gate": 2, "##s": 3, "<": 4, "s": 5, ">": 6}}}"###;

    #[test]
    fn stored_truncation_padding_and_special_tokens_do_not_change_the_count() {
        let tokenizer = FileTokenizer::read("words.json", WORDS.as_bytes()).unwrap();
        for (text, tokens) in
            [("", 0), ("gate", 1), ("gates", 2), ("gate gates gate gates", 6), ("<s>", 3)]
        {
            assert_eq!(tokenizer.count(text), Tokens(tokens), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_no_tokenizer_is_refused_by_name() {
        let error = FileTokenizer::read("x.json", b"{\"a\": 1}").unwrap_err();
        assert!(error.to_string().starts_with("tokenizer file `x.json` must be"), "{error}");
    }
}
