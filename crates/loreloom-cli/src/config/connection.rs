//! A model server as the configuration names it.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use clap::ValueEnum;
use loreloom_core::{ids::ConnectionId, stable::Provider, tokens::TokenCounter, units::Tokens};
use loreloom_llm::{
    connection::{
        Address, BreakerRules, ClientRules, Connection as ModelConnection, OllamaModel,
        OpenAiModel, Reach, RetryRules,
    },
    diagnose::{BuiltIn, Candidate, Speech},
    embed::HttpEmbedder,
    offline::{OfflineModel, OfflineUpstream},
    secret::{HeldKey, Secret},
    steady::{Manners, SteadyUpstream},
    tokenizers::{Tokenizer, TokenizerChoice},
    upstream::HttpUpstream,
};
use loreloom_memory::{
    hardware::Hardware,
    ports::{ChatModel, Diagnosis, Upstream},
    service::ModelUse,
};
use loreloom_server::{Cache, Connection, Counting, Prospect, Prospecting};
use serde::{Deserialize, Deserializer, de};

use super::KeySource;
use crate::files;

/// What kind of server it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// One with OpenAI's paths.
    #[default]
    Openai,
    /// Ollama.
    Ollama,
    /// The built-in storyteller.
    Offline,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Ollama => "ollama",
            Self::Offline => "offline",
        }
    }
}

/// A model server.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ConnectionConfig {
    pub(crate) kind: Kind,
    #[serde(deserialize_with = "address")]
    pub(crate) url: Option<Address>,
    pub(crate) key: Option<KeySource>,
    /// Whether the key a front end sends may be held in memory for work beside the stories.
    pub(crate) hold_client_key: bool,
    /// The model of features that name none.
    pub(crate) model: Option<String>,
    pub(crate) tokenizer: TokenizerChoice,
    pub(crate) context: Option<u32>,
    pub(crate) strict_roles: bool,
    /// Whose prompt cache it has.
    #[serde(deserialize_with = "provider")]
    pub(crate) provider: Option<Provider>,
    /// The price of a million tokens of prompt.
    pub(crate) price: Option<f64>,
    pub(crate) connect_seconds: Option<f64>,
    pub(crate) first_byte_seconds: Option<f64>,
    pub(crate) silence_seconds: Option<f64>,
    pub(crate) retries: Option<u32>,
    pub(crate) longest_wait_seconds: Option<f64>,
    pub(crate) breaker_failures: Option<u32>,
    pub(crate) breaker_seconds: Option<f64>,
    pub(crate) at_once: Option<usize>,
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Address>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Address::parse(&text).map(Some).map_err(de::Error::custom)
}

fn provider<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Provider>, D::Error> {
    let name = String::deserialize(deserializer)?;
    Provider::named(&name).map(Some).ok_or_else(|| {
        let known = loreloom_core::stable::PROVIDERS.map(|provider| provider.name).join("`, `");
        de::Error::custom(format!("a provider is one of `{known}`, found `{name}`"))
    })
}

/// A connection ready to be used.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) config: ConnectionConfig,
    key: Option<Secret>,
    held: Option<HeldKey>,
    counting: Counting,
}

impl ConnectionConfig {
    pub(super) fn check(&self) -> anyhow::Result<()> {
        match (self.kind, &self.url) {
            (Kind::Openai | Kind::Ollama, None) => {
                anyhow::bail!("`url` must be set for the kind `{}`", self.kind.as_str())
            }
            (Kind::Offline, Some(_)) => anyhow::bail!("the kind `offline` has no `url`"),
            _ => {}
        }
        let seconds = [
            ("connect_seconds", self.connect_seconds),
            ("first_byte_seconds", self.first_byte_seconds),
            ("silence_seconds", self.silence_seconds),
            ("longest_wait_seconds", self.longest_wait_seconds),
            ("breaker_seconds", self.breaker_seconds),
        ];
        for (name, value) in seconds {
            let Some(value) = value else { continue };
            anyhow::ensure!(
                Duration::try_from_secs_f64(value).is_ok_and(|time| !time.is_zero()),
                "`{name}` must be more than 0 seconds, found {value}"
            );
        }
        anyhow::ensure!(
            self.key.is_none() || !self.hold_client_key,
            "`hold_client_key` is for connections without a `key` of their own"
        );
        anyhow::ensure!(self.at_once != Some(0), "`at_once` must be at least 1, found 0");
        Ok(())
    }

    /// Where its key comes from.
    pub(crate) fn key_shown(&self) -> String {
        match (&self.key, self.hold_client_key) {
            (Some(key), _) => key.shown(),
            (None, true) => "the front end's, held in memory".to_owned(),
            (None, false) => "the front end's".to_owned(),
        }
    }

    /// Measures what prompts keep, for the likeliest cache if none is named.
    pub(crate) fn measured(&mut self) {
        let likeliest = match self.kind {
            Kind::Openai => "openai",
            Kind::Ollama | Kind::Offline => "llama.cpp",
        };
        self.provider = self.provider.or_else(|| Provider::named(likeliest));
    }

    /// Reads what it names.
    pub(crate) fn open(&self, name: &str, folder: &Path) -> anyhow::Result<Opened> {
        let open = || -> anyhow::Result<Opened> {
            Ok(Opened {
                name: name.to_owned(),
                key: self.key.as_ref().map(|key| key.read(folder)).transpose()?,
                held: self.hold_client_key.then(HeldKey::default),
                counting: self.counting(folder)?,
                config: self.clone(),
            })
        };
        open().with_context(|| format!("connection `{name}`"))
    }

    fn counting(&self, folder: &Path) -> anyhow::Result<Counting> {
        let own = self.model.clone().unwrap_or_default();
        if self.tokenizer == TokenizerChoice::Auto {
            return Ok(by_model(own));
        }
        let bytes = match &self.tokenizer {
            TokenizerChoice::File(file) => Some(files::read(&folder.join(file))?),
            TokenizerChoice::Auto
            | TokenizerChoice::Vocabulary(_)
            | TokenizerChoice::Estimate
            | TokenizerChoice::Bytes => None,
        };
        let tokenizer = Tokenizer::new(&self.tokenizer, &own, bytes.as_deref())?;
        Ok(fixed(Arc::new(tokenizer)))
    }

    fn client(&self) -> ClientRules {
        let rules = ClientRules { reach: Reach::Anywhere, ..ClientRules::default() };
        match seconds(self.connect_seconds) {
            Some(connect) => ClientRules { connect, ..rules },
            None => rules,
        }
    }

    fn manners(&self) -> Manners {
        let manners = Manners::default();
        let (retry, breaker) = (manners.retry, manners.breaker);
        Manners {
            first_byte: seconds(self.first_byte_seconds).or(manners.first_byte),
            silence: seconds(self.silence_seconds).or(manners.silence),
            retry: RetryRules {
                retries: self.retries.unwrap_or(retry.retries),
                longest: seconds(self.longest_wait_seconds).unwrap_or(retry.longest),
                ..retry
            },
            breaker: BreakerRules {
                failures: self.breaker_failures.unwrap_or(breaker.failures),
                pause: seconds(self.breaker_seconds).unwrap_or(breaker.pause),
            },
            at_once: self.at_once,
        }
    }
}

fn seconds(value: Option<f64>) -> Option<Duration> {
    value.and_then(|value| Duration::try_from_secs_f64(value).ok())
}

/// How servers are tried out that are not configured. Their addresses come with requests, so
/// that they must be ones that everybody can reach.
pub(crate) fn prospecting() -> Prospecting {
    Arc::new(|Prospect { url, ollama, key, model }| {
        let address = Address::parse(&url).map_err(|error| error.to_string())?;
        let counter = by_model(String::new())(model.as_deref().unwrap_or_default());
        Ok(Arc::new(Candidate {
            address,
            speech: if ollama { Speech::Ollama } else { Speech::OpenAi },
            key: key.map(|key| Secret::new(&key)),
            model,
            counter,
            context: None,
            client: ClientRules { reach: Reach::Public, ..ClientRules::default() },
        }))
    })
}

/// One tokenizer for all models.
pub(crate) fn fixed(counter: Arc<dyn TokenCounter>) -> Counting {
    Arc::new(move |_model| Arc::clone(&counter))
}

/// The tokenizer by a model's name; `own` where a request names none.
pub(crate) fn by_model(own: String) -> Counting {
    let known: Mutex<HashMap<String, Arc<dyn TokenCounter>>> = Mutex::default();
    Arc::new(move |model| {
        let model = if model.is_empty() { &own } else { model };
        let tokenizer = Tokenizer::for_model(model);
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let name = tokenizer.name().to_owned();
        Arc::clone(known.entry(name).or_insert_with(|| Arc::new(tokenizer)))
    })
}

impl Opened {
    /// Another way of counting.
    pub(crate) fn counted(self, counting: Counting) -> Self {
        Self { counting, ..self }
    }

    fn candidate(&self) -> Option<Candidate> {
        let speech = match self.config.kind {
            Kind::Openai => Speech::OpenAi,
            Kind::Ollama => Speech::Ollama,
            Kind::Offline => return None,
        };
        Some(Candidate {
            address: self.config.url.clone()?,
            speech,
            key: self.key.clone(),
            model: self.config.model.clone(),
            counter: (self.counting)(self.config.model.as_deref().unwrap_or_default()),
            context: self.config.context,
            client: self.config.client(),
        })
    }

    /// How it is tried out.
    pub(crate) fn diagnosis(&self) -> Arc<dyn Diagnosis> {
        match self.candidate() {
            Some(candidate) => Arc::new(candidate),
            None => Arc::new(BuiltIn),
        }
    }

    /// Its address as it may be shown.
    pub(crate) fn shown(&self) -> String {
        self.config.url.as_ref().map_or("built in".to_owned(), |url| url.shown().to_owned())
    }

    fn upstream(&self) -> anyhow::Result<Arc<dyn Upstream>> {
        let Some(url) = self.config.url.clone() else {
            return Ok(Arc::new(OfflineUpstream::default()));
        };
        let http = HttpUpstream::with(url, self.key.as_ref(), self.config.client())?;
        let shown = self.shown();
        Ok(Arc::new(SteadyUpstream::new(&shown, Arc::new(http), self.config.manners())))
    }

    /// The connection, for the server.
    pub(crate) fn connection(&self) -> anyhow::Result<Connection> {
        let config = &self.config;
        let price = config.price;
        let holding = self.held.clone().map(|held| -> loreloom_server::Holding {
            Arc::new(move |key: &str| held.set(Secret::new(key)))
        });
        Ok(Connection {
            name: ConnectionId::from(self.name.as_str()),
            shown: self.shown(),
            upstream: self.upstream().with_context(|| format!("connection `{}`", self.name))?,
            counting: Arc::clone(&self.counting),
            context: config.context.map(Tokens),
            strict_roles: config.strict_roles,
            cache: config.provider.map(|provider| Cache { provider, price }),
            diagnosis: self.diagnosis(),
            holding,
        })
    }

    /// One of its models, for Loreloom's own questions.
    pub(crate) fn model(&self, model: Option<&str>) -> anyhow::Result<Box<dyn ChatModel>> {
        let config = &self.config;
        let Some(url) = config.url.clone() else { return Ok(Box::new(OfflineModel)) };
        let name = model.or(config.model.as_deref());
        let name = name.with_context(|| format!("set `model` of connection `{}`", self.name))?;
        let mut connection = ModelConnection::new(url, name);
        connection.key.clone_from(&self.key);
        connection.held.clone_from(&self.held);
        connection.context = config.context;
        Ok(match config.kind {
            Kind::Openai => Box::new(OpenAiModel::new(connection)?),
            Kind::Ollama | Kind::Offline => Box::new(OllamaModel::new(connection)?),
        })
    }

    /// One of its models that makes vectors.
    pub(crate) async fn embedder(&self, model: Option<&str>) -> anyhow::Result<HttpEmbedder> {
        let config = &self.config;
        let speech = match config.kind {
            Kind::Openai => Speech::OpenAi,
            Kind::Ollama => Speech::Ollama,
            Kind::Offline => anyhow::bail!("the built-in storyteller makes no vectors"),
        };
        let url = config.url.clone().context("it has no `url`")?;
        let name = model.or(config.model.as_deref());
        let name = name.with_context(|| format!("set `model` of connection `{}`", self.name))?;
        Ok(HttpEmbedder::open(url, speech, name, self.key.as_ref()).await?)
    }

    /// What memory needs to know of a model of it.
    pub(crate) fn used(&self, default_context: u32) -> ModelUse {
        let (source, at_once) = match self.config.kind {
            Kind::Openai => ("openai_compatible", 4),
            Kind::Ollama | Kind::Offline => ("ollama", 1),
        };
        ModelUse {
            connection: ConnectionId::from(self.name.as_str()),
            hardware: Hardware::of(source, None),
            at_once: self
                .config
                .at_once
                .and_then(|most| u32::try_from(most).ok())
                .unwrap_or(at_once),
            context: Tokens(self.config.context.unwrap_or(default_context)),
        }
    }
}
