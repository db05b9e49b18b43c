//! What a connection's tokens are counted with.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
#[cfg(feature = "schema")]
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, OneOfBuilder, RefOr, Schema, schema::Type},
};

/// What tokens are counted with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenizerSetting {
    /// One of [`TokenizerSetting::NAMES`].
    Named(&'static str),
    /// A `tokenizer.json`.
    File(String),
}

impl TokenizerSetting {
    /// The tokenizers that have a name; the first goes by the model's.
    pub const NAMES: [&'static str; 7] = [
        "auto",
        "o200k_base",
        "cl100k_base",
        "p50k_base",
        "r50k_base",
        "estimate",
        "estimate-3.35",
    ];

    /// Whether the tokenizer is chosen by the model's name.
    pub fn is_automatic(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for TokenizerSetting {
    fn default() -> Self {
        Self::Named(Self::NAMES[0])
    }
}

/// A tokenizer in a file, as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenizerFile {
    file: String,
}

impl Serialize for TokenizerSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(name) => serializer.serialize_str(name),
            Self::File(file) => TokenizerFile { file: file.clone() }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TokenizerSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = TokenizerSetting;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let names = TokenizerSetting::NAMES.join("`, `");
                write!(formatter, "`{names}` or `{{ file = \"tokenizer.json\" }}`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TokenizerSetting, E> {
                let known = TokenizerSetting::NAMES.into_iter().find(|name| *name == text);
                let unknown = || E::invalid_value(de::Unexpected::Str(text), &self);
                known.map(TokenizerSetting::Named).ok_or_else(unknown)
            }

            fn visit_map<A: de::MapAccess<'de>>(
                self,
                map: A,
            ) -> Result<TokenizerSetting, A::Error> {
                let file = TokenizerFile::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(TokenizerSetting::File(file.file))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(feature = "schema")]
impl PartialSchema for TokenizerSetting {
    fn schema() -> RefOr<Schema> {
        let name =
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(Self::NAMES)).build();
        let file = ObjectBuilder::new()
            .property("file", ObjectBuilder::new().schema_type(Type::String).build())
            .required("file")
            .build();
        RefOr::T(Schema::OneOf(OneOfBuilder::new().item(name).item(file).build()))
    }
}

#[cfg(feature = "schema")]
impl ToSchema for TokenizerSetting {}
