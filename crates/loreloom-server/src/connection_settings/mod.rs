//! What is said of a connection, in a configuration file and to the API: one definition for
//! both.
//!
//! It is plain data. What opens a connection is the host's, which reads the key that is named
//! here, knows tokenizers and speaks HTTP.

mod called;
mod key_source;
mod prices;
mod server_url;
mod tokenizer_setting;

use std::{borrow::Cow, str::FromStr, time::Duration};

use loreloom_core::cache_placement::{PROVIDERS, Provider};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub(crate) use self::prices::Cost;
pub use self::{
    key_source::KeySource, prices::Prices, server_url::ServerUrl,
    tokenizer_setting::TokenizerSetting,
};

/// How a model's server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ConnectionKind {
    /// With `OpenAI`'s paths.
    #[default]
    Openai,
    /// With Ollama's.
    Ollama,
    /// Not at all: the built-in storyteller.
    Offline,
}

impl ConnectionKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Openai, Self::Ollama, Self::Offline];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Ollama => "ollama",
            Self::Offline => "offline",
        }
    }
}

impl FromStr for ConnectionKind {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or(SettingsError::new("kind", "must be `openai`, `ollama` or `offline`"))
    }
}

/// A setting that breaks a rule. The value is not part of it: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {rule}")]
pub struct SettingsError {
    /// The setting.
    pub field: &'static str,
    /// The rule.
    pub rule: Cow<'static, str>,
}

impl SettingsError {
    /// A setting breaks a rule.
    pub fn new(field: &'static str, rule: impl Into<Cow<'static, str>>) -> Self {
        Self { field, rule: rule.into() }
    }
}

/// What is said of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionSettings {
    /// How it is spoken to.
    pub kind: ConnectionKind,
    /// Where it is; none for `offline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<ServerUrl>,
    /// Where its key comes from; without one, front ends' own keys are passed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeySource>,
    /// Whether the key a front end sends may be held in memory for work beside the stories.
    #[serde(skip_serializing_if = "is_default")]
    pub hold_client_key: bool,
    /// The model of features that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What tokens are counted with.
    #[serde(skip_serializing_if = "is_default")]
    pub tokenizer: TokenizerSetting,
    /// The context size of its models.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    pub context: Option<u32>,
    /// Whether it refuses prompts whose roles do not alternate.
    #[serde(skip_serializing_if = "is_default")]
    pub strict_roles: bool,
    /// Whose prompt cache it has.
    #[serde(deserialize_with = "provider", serialize_with = "provider_name")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub provider: Option<Provider>,
    /// The price of a million tokens of prompt, in any currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 0))]
    pub price: Option<f64>,
    /// The price of a million tokens that the provider has cached; without it, by the rules of
    /// `provider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 0))]
    pub cached_price: Option<f64>,
    /// The price of a million tokens of reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 0))]
    pub output_price: Option<f64>,
    /// What the prices are in: a word such as `EUR`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 12, pattern = r"^\S+$"))]
    pub currency: Option<String>,
    /// Seconds to accept a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_seconds: Option<f64>,
    /// Seconds to begin an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_seconds: Option<f64>,
    /// Seconds between two pieces of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence_seconds: Option<f64>,
    /// Tries after the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The longest wait between tries, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait_seconds: Option<f64>,
    /// Failures in a row after which it is left alone; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker_failures: Option<u32>,
    /// For how many seconds it is left alone then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker_seconds: Option<f64>,
    /// Requests at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    pub at_once: Option<usize>,
}

/// The most tries after the first.
const MOST_RETRIES: u32 = 100;

/// The longest time that can be set: thirty years, which is for ever here and cannot overflow
/// what it is added to.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn provider<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Provider>, D::Error> {
    let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    Provider::named(&name).map(Some).ok_or_else(|| {
        let known = PROVIDERS.map(|provider| provider.name).join("`, `");
        de::Error::custom(format!("a provider is one of `{known}`, found `{name}`"))
    })
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn provider_name<S: Serializer>(
    value: &Option<Provider>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.map(|provider| provider.name).serialize(serializer)
}

impl ConnectionSettings {
    /// Whether settings fit together.
    pub fn check(&self) -> Result<(), SettingsError> {
        match (self.kind, &self.url) {
            (ConnectionKind::Openai | ConnectionKind::Ollama, None) => {
                let rule = format!("must be set for the kind `{}`", self.kind.as_str());
                return Err(SettingsError::new("url", rule));
            }
            (ConnectionKind::Offline, Some(_)) => {
                return Err(SettingsError::new("url", "must not be set: `offline` has none"));
            }
            (ConnectionKind::Offline, None) | (_, Some(_)) => {}
        }
        self.check_seconds()?;
        if self.key.is_some() && self.hold_client_key {
            let rule = "is for connections without a `key` of their own";
            return Err(SettingsError::new("hold_client_key", rule));
        }
        if self.at_once == Some(0) {
            return Err(SettingsError::new("at_once", "must be at least 1, found 0"));
        }
        if let Some(retries) = self.retries.filter(|retries| *retries > MOST_RETRIES) {
            let rule = format!("must be at most {MOST_RETRIES}, found {retries}");
            return Err(SettingsError::new("retries", rule));
        }
        if self.context == Some(0) {
            return Err(SettingsError::new("context", "must be at least 1, found 0"));
        }
        self.check_prices()
    }

    fn check_seconds(&self) -> Result<(), SettingsError> {
        let seconds = [
            ("connect_seconds", self.connect_seconds),
            ("first_byte_seconds", self.first_byte_seconds),
            ("silence_seconds", self.silence_seconds),
            ("longest_wait_seconds", self.longest_wait_seconds),
            ("breaker_seconds", self.breaker_seconds),
        ];
        for (field, value) in seconds {
            let Some(value) = value else { continue };
            let time = Duration::try_from_secs_f64(value);
            if !time.is_ok_and(|time| !time.is_zero() && time <= LONGEST) {
                let most = LONGEST.as_secs();
                let rule = format!("must be more than 0 and at most {most} seconds, found {value}");
                return Err(SettingsError::new(field, rule));
            }
        }
        Ok(())
    }

    /// Where its key comes from, in words.
    pub fn key_shown(&self) -> String {
        match (&self.key, self.hold_client_key) {
            (Some(key), _) => key.shown(),
            (None, true) => "the front end's, held in memory".to_owned(),
            (None, false) => "the front end's".to_owned(),
        }
    }

    /// Measures what prompts keep, for the likeliest cache if none is named.
    pub fn measured(&mut self) {
        let likeliest = match self.kind {
            ConnectionKind::Openai => "openai",
            ConnectionKind::Ollama | ConnectionKind::Offline => "llama.cpp",
        };
        self.provider = self.provider.or_else(|| Provider::named(likeliest));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Result<ConnectionSettings, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_are_written_as_they_were_read() {
        let full = json!({
            "kind": "openai", "url": "https://h/v1", "key": "env:LORELOOM_A", "model": "m",
            "tokenizer": {"file": "t.json"}, "context": 4096, "strict_roles": true,
            "provider": "openai", "price": 2.5, "cached_price": 0.25, "output_price": 10.0,
            "currency": "EUR", "connect_seconds": 1.5, "retries": 0, "at_once": 3,
        });
        let read_back = serde_json::to_value(read(full.clone()).unwrap()).unwrap();
        assert_eq!(read_back, full);
        let least = read(json!({"url": "http://h", "provider": null})).unwrap();
        let written = serde_json::to_value(&least).unwrap();
        assert_eq!(written, json!({"kind": "openai", "url": "http://h"}));
    }

    #[test]
    fn settings_that_do_not_fit_together_are_refused() {
        for (body, expected) in [
            (json!({}), "`url` must be set for the kind `openai`"),
            (
                json!({"kind": "offline", "url": "http://h"}),
                "`url` must not be set: `offline` has none",
            ),
            (
                json!({"url": "http://h", "silence_seconds": 0.0}),
                "`silence_seconds` must be more than 0 and at most 1000000000 seconds, found 0",
            ),
            (
                json!({"url": "http://h", "breaker_seconds": 1.8e19}),
                "`breaker_seconds` must be more than 0 and at most 1000000000 seconds, found \
                 18000000000000000000",
            ),
            (json!({"url": "http://h", "context": 0}), "`context` must be at least 1, found 0"),
            (
                json!({"url": "http://h", "price": -0.5}),
                "`price` must be a number that is not below 0, found -0.5",
            ),
            (
                json!({"url": "http://h", "price": 1.0, "output_price": -1.0}),
                "`output_price` must be a number that is not below 0, found -1",
            ),
            (
                json!({"url": "http://h", "cached_price": 1.0}),
                "`cached_price` must not be set without `price`",
            ),
            (
                json!({"url": "http://h", "price": 1.0, "currency": "a b"}),
                "`currency` must be a word of at most 12 characters",
            ),
            (json!({"url": "http://h", "at_once": 0}), "`at_once` must be at least 1, found 0"),
            (
                json!({"url": "http://h", "retries": 101}),
                "`retries` must be at most 100, found 101",
            ),
            (
                json!({"url": "http://h", "key": "env:A", "hold_client_key": true}),
                "`hold_client_key` is for connections without a `key` of their own",
            ),
        ] {
            let error = read(body).unwrap().check().unwrap_err().to_string();
            assert_eq!(error, expected);
        }
    }
}
