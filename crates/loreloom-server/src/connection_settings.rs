//! What is said of a connection, in a configuration file and to the API: one definition for
//! both.
//!
//! It is plain data. What opens a connection is the host's, which reads the key that is named
//! here, knows tokenizers and speaks HTTP.

use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use loreloom_core::stable::{PROVIDERS, Provider};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, OneOfBuilder, RefOr, Schema, schema::Type},
};

/// How a model's server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

    /// The source, which is no secret.
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
        let written = Written::deserialize(deserializer)?;
        let source = match &written {
            Written::Text(text) => Self::parse(text),
            Written::Other(_) => None,
        };
        source.ok_or_else(|| de::Error::custom(NO_SOURCE))
    }
}

/// A value whose errors must not repeat it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written<'a> {
    Text(Cow<'a, str>),
    Other(de::IgnoredAny),
}

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

impl ToSchema for KeySource {}

/// Where a model's server is. What is wrong with an address is told without it: it may hold a
/// password.
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

    /// Whether it can hold a secret: a user's name and password, or a query.
    fn may_hold_a_secret(&self) -> bool {
        self.0.contains(['@', '?', '#'])
    }
}

impl<'de> Deserialize<'de> for ServerUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|error| de::Error::custom(error.rule))
    }
}

impl PartialSchema for ServerUrl {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("With `/v1` for `openai`, without a path for `ollama`."))
            .pattern(Some(r"^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$"));
        text.build().into()
    }
}

impl ToSchema for ServerUrl {}

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

impl ToSchema for TokenizerSetting {}

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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
    #[schema(minimum = 1)]
    pub context: Option<u32>,
    /// Whether it refuses prompts whose roles do not alternate.
    #[serde(skip_serializing_if = "is_default")]
    pub strict_roles: bool,
    /// Whose prompt cache it has.
    #[serde(deserialize_with = "provider", serialize_with = "provider_name")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub provider: Option<Provider>,
    /// The price of a million tokens of prompt, in any currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub price: Option<f64>,
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
    #[schema(minimum = 1)]
    pub at_once: Option<usize>,
}

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
        Ok(())
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
            if !time.is_ok_and(|time| !time.is_zero()) {
                let rule = format!("must be more than 0 seconds, found {value}");
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

    /// Whether settings that came with a call may be written down: nothing in them can be a
    /// secret.
    pub(crate) fn check_called(&self) -> Result<(), SettingsError> {
        self.check()?;
        if self.url.as_ref().is_some_and(ServerUrl::may_hold_a_secret) {
            let rule = "must have no user name, password, query or fragment: a key is named by \
                        its source";
            return Err(SettingsError::new("url", rule));
        }
        if let Some(KeySource::Environment(name)) = &self.key
            && !is_variable(name)
        {
            return Err(SettingsError::new("key", NO_VARIABLE));
        }
        if self.context == Some(0) {
            return Err(SettingsError::new("context", "must be at least 1, found 0"));
        }
        if self.price.is_some_and(|price| price < 0.0) {
            return Err(SettingsError::new("price", "must not be below 0"));
        }
        Ok(())
    }

    /// What somebody from elsewhere may say: else whoever administers a server that is shared
    /// could have its files and variables sent to an address of theirs.
    pub(crate) fn check_stranger(&self) -> Result<(), SettingsError> {
        let is_open = |name: &str| name.starts_with(OPEN_VARIABLES);
        match &self.key {
            Some(KeySource::Environment(name)) if is_open(name) => {}
            Some(_) => return Err(SettingsError::new("key", STRANGERS_KEY)),
            None => {}
        }
        match self.tokenizer {
            TokenizerSetting::Named(_) => Ok(()),
            TokenizerSetting::File(_) => {
                let rule = "must be one of those with a name: files of the server's machine are \
                            for callers without a key, on that machine";
                Err(SettingsError::new("tokenizer", rule))
            }
        }
    }
}

/// Variables whose names begin so may be named by anybody who administers the server.
const OPEN_VARIABLES: &str = "LORELOOM_";
const NO_VARIABLE: &str =
    "must name a variable after `env:`: letters, digits and `_`, and no digit first";
const STRANGERS_KEY: &str = "must be `env:` and a variable whose name begins with `LORELOOM_`: \
                             other sources are for callers without a key, on the server's own \
                             machine";

/// Whether a text can be a variable's name. Most keys cannot.
fn is_variable(name: &str) -> bool {
    let fits = |one: char| one.is_ascii_alphanumeric() || one == '_';
    !name.starts_with(|one: char| one.is_ascii_digit()) && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Result<ConnectionSettings, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

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

    #[test]
    fn what_may_be_a_secret_is_not_repeated() {
        for body in [
            json!({"key": "sk-canary"}),
            json!({"key": 771_177}),
            json!({"key": ["sk-canary"]}),
            json!({"key": {"value": "sk-canary"}}),
            json!({"url": "ftp://ann:sk-canary@h"}),
        ] {
            let told = read(body.clone()).unwrap_err();
            assert!(!told.contains("canary") && !told.contains("771177"), "{body}: {told}");
        }
        for body in [
            json!({"url": "http://ann:sk-canary@h/v1"}),
            json!({"url": "http://h/v1?key=sk-canary"}),
            json!({"url": "http://h/v1", "key": "env:sk-canary"}),
            json!({"url": "http://h/v1", "key": "env:7canary"}),
        ] {
            let told = read(body.clone()).unwrap().check_called().unwrap_err().to_string();
            assert!(!told.contains("canary"), "{body}: {told}");
        }
    }

    #[test]
    fn settings_are_written_as_they_were_read() {
        let full = json!({
            "kind": "openai", "url": "https://h/v1", "key": "env:LORELOOM_A", "model": "m",
            "tokenizer": {"file": "t.json"}, "context": 4096, "strict_roles": true,
            "provider": "openai", "price": 2.5, "connect_seconds": 1.5, "retries": 0, "at_once": 3,
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
                "`silence_seconds` must be more than 0 seconds, found 0",
            ),
            (json!({"url": "http://h", "at_once": 0}), "`at_once` must be at least 1, found 0"),
            (
                json!({"url": "http://h", "key": "env:A", "hold_client_key": true}),
                "`hold_client_key` is for connections without a `key` of their own",
            ),
        ] {
            let told = read(body).unwrap().check().unwrap_err().to_string();
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn strangers_name_only_variables_that_are_meant_for_it() {
        for (body, fits) in [
            (json!({}), true),
            (json!({"key": "env:LORELOOM_CLOUD"}), true),
            (json!({"key": "env:HOME"}), false),
            (json!({"key": "env:MY_LORELOOM_KEY"}), false),
            (json!({"key": "env:loreloom_key"}), false),
            (json!({"key": "file:/etc/hostname"}), false),
            (json!({"key": "keyring:a/b"}), false),
            (json!({"tokenizer": "estimate"}), true),
            (json!({"tokenizer": {"file": "/etc/passwd"}}), false),
        ] {
            let settings = read(body.clone()).unwrap();
            assert_eq!(settings.check_stranger().is_ok(), fits, "{body}");
        }
    }
}
