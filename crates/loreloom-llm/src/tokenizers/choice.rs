//! The tokenizer as settings name it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Vocabulary;

/// Which tokenizer a connection uses. In settings: `"auto"`, the name of an embedded
/// vocabulary such as `"o200k_base"`, `"estimate"`, `"estimate-3.35"`, or
/// `{"file": "llama-3.json"}`, whose bytes the host reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TokenizerChoice {
    /// By the model's name.
    #[default]
    Auto,
    /// An embedded vocabulary.
    Vocabulary(Vocabulary),
    /// Fast and rough, by characters.
    Estimate,
    /// `SillyTavern`'s estimate, by bytes.
    Bytes,
    /// A `tokenizer.json` of this name.
    File(String),
}

/// A tokenizer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file's bytes were not handed in.
    #[error("tokenizer file `{name}` was not read")]
    NoBytes {
        /// The file.
        name: String,
    },
    /// The file is not a tokenizer.
    #[error("tokenizer file `{name}` must be a `tokenizer.json` of Hugging Face: {reason}")]
    Damaged {
        /// The file.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// This build cannot read files.
    #[error(
        "the tokenizer file `{name}` needs a build with the feature `hf`: \
         cargo install --locked --path crates/loreloom-cli --features hf"
    )]
    NotBuiltIn {
        /// The file.
        name: String,
    },
}

const AUTO: &str = "auto";
const ESTIMATE: &str = "estimate";
const BYTES: &str = "estimate-3.35";

impl TokenizerChoice {
    /// The choice of that name; files have none.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            AUTO => Some(Self::Auto),
            ESTIMATE => Some(Self::Estimate),
            BYTES => Some(Self::Bytes),
            _ => Vocabulary::from_name(name).map(Self::Vocabulary),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    file: String,
}

impl Serialize for TokenizerChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str(AUTO),
            Self::Vocabulary(vocabulary) => serializer.serialize_str(vocabulary.name()),
            Self::Estimate => serializer.serialize_str(ESTIMATE),
            Self::Bytes => serializer.serialize_str(BYTES),
            Self::File(file) => File { file: file.clone() }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TokenizerChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = TokenizerChoice;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a tokenizer or `{\"file\": name}`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<TokenizerChoice, E> {
                TokenizerChoice::from_name(name)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(name), &self))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<TokenizerChoice, A::Error> {
                let file = File::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(TokenizerChoice::File(file.file))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn choices_are_written_and_read_back() {
        for (choice, written) in [
            (TokenizerChoice::Auto, json!("auto")),
            (TokenizerChoice::Vocabulary(Vocabulary::O200k), json!("o200k_base")),
            (TokenizerChoice::Vocabulary(Vocabulary::R50k), json!("r50k_base")),
            (TokenizerChoice::Estimate, json!("estimate")),
            (TokenizerChoice::Bytes, json!("estimate-3.35")),
            (TokenizerChoice::File("x.json".to_owned()), json!({"file": "x.json"})),
        ] {
            assert_eq!(serde_json::to_value(&choice).unwrap(), written);
            assert_eq!(serde_json::from_value::<TokenizerChoice>(written).unwrap(), choice);
        }
    }

    #[test]
    fn unknown_names_and_fields_are_refused() {
        for written in [json!("gpt2"), json!(3), json!({}), json!({"file": "x", "path": "y"})] {
            assert!(
                serde_json::from_value::<TokenizerChoice>(written.clone()).is_err(),
                "{written}"
            );
        }
    }
}
