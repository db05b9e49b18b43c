//! Where a connection's key comes from.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
#[cfg(feature = "schema")]
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

/// Where a key comes from. Nothing that is stored or shown ever holds the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// An environment variable.
    Environment(String),
    /// A file that holds nothing else.
    File(String),
    /// The keyring of the operating system.
    Keyring {
        /// The service it is kept for.
        service: String,
        /// The user.
        user: String,
    },
}

/// What is said where a key is named in another way. What was written may be the key itself,
/// so it is never repeated.
const NO_SOURCE: &str =
    "a key is named by its source: `env:NAME`, `file:PATH` or `keyring:SERVICE/USER`";

impl KeySource {
    /// The source that a text names.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        if rest.is_empty() {
            return None;
        }
        match kind {
            "env" => Some(Self::Environment(rest.to_owned())),
            "file" => Some(Self::File(rest.to_owned())),
            "keyring" => {
                let (service, user) = rest.split_once('/')?;
                Some(Self::Keyring { service: service.to_owned(), user: user.to_owned() })
            }
            _ => None,
        }
    }

    /// The source, which is not a secret.
    pub fn shown(&self) -> String {
        match self {
            Self::Environment(name) => format!("env:{name}"),
            Self::File(file) => format!("file:{file}"),
            Self::Keyring { service, user } => format!("keyring:{service}/{user}"),
        }
    }
}

impl Serialize for KeySource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown())
    }
}

impl<'de> Deserialize<'de> for KeySource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenKeySource::deserialize(deserializer)?;
        let source = match &written {
            WrittenKeySource::Text(text) => Self::parse(text),
            WrittenKeySource::Other(_) => None,
        };
        source.ok_or_else(|| de::Error::custom(NO_SOURCE))
    }
}

/// A value whose errors must not repeat it.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenKeySource<'a> {
    Text(Cow<'a, str>),
    Other(de::IgnoredAny),
}

#[cfg(feature = "schema")]
impl PartialSchema for KeySource {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "Where a key comes from: `env:NAME`, `file:PATH` or `keyring:SERVICE/USER`. The \
                 key itself is refused.",
            ))
            .pattern(Some(r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+|keyring:[^/]+/.*)$"));
        text.build().into()
    }
}

#[cfg(feature = "schema")]
impl ToSchema for KeySource {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_and_a_key_is_none() {
        let keyring = KeySource::Keyring { service: "loreloom".to_owned(), user: "ann".to_owned() };
        for (text, expected) in [
            ("env:A_KEY", Some(KeySource::Environment("A_KEY".to_owned()))),
            ("file:keys/a", Some(KeySource::File("keys/a".to_owned()))),
            ("keyring:loreloom/ann", Some(keyring)),
            ("keyring:loreloom", None),
            ("env:", None),
            ("sk-12345", None),
        ] {
            assert_eq!(KeySource::parse(text), expected, "{text}");
        }
    }
}
