//! Where a model's server is.

use serde::{Deserialize, Deserializer, Serialize, de};
#[cfg(feature = "schema")]
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

use super::SettingsError;

/// The address of a model's server. Errors do not show it: it may contain a password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ServerUrl(String);

impl ServerUrl {
    /// An address of the web; whether it can be one to the last letter, the host says.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let is_web = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        if is_web && !rest.is_empty() {
            return Ok(Self(text.to_owned()));
        }
        let rule = "must be an `http` or `https` URL with a host";
        Err(SettingsError::new("url", rule))
    }

    /// The address as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Refuses an address that can contain a secret: a user's name and password, or a query.
    pub(crate) fn check_open(text: &str) -> Result<(), SettingsError> {
        if text.contains(['@', '?', '#']) {
            let rule = "must have no user name, password, query or fragment: a key is named by \
                        its source";
            return Err(SettingsError::new("url", rule));
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for ServerUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|error| de::Error::custom(error.rule))
    }
}

#[cfg(feature = "schema")]
impl PartialSchema for ServerUrl {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("With `/v1` for `openai`, without a path for `ollama`."))
            .pattern(Some(r"^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$"));
        text.build().into()
    }
}

#[cfg(feature = "schema")]
impl ToSchema for ServerUrl {}
