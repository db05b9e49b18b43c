//! A model server as the configuration or the API names it, opened.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use async_trait::async_trait;
use loreloom_core::{ids::ConnectionId, tokens::TokenCounter, units::Tokens};
use loreloom_llm::{
    connection::{
        Address, BreakerRules, ClientRules, Connection as ModelConnection, ConnectionError,
        OllamaModel, OpenAiModel, Reach as Network, RetryRules,
    },
    diagnose::{BuiltIn, Speech, TestedConnection},
    embed::{HttpEmbedder, OpenError},
    offline::{OfflineModel, OfflineUpstream},
    secret::{HeldKey, Secret},
    steady::{Manners, SteadyUpstream},
    tokenizers::{Tokenizer, TokenizerChoice},
    upstream::HttpUpstream,
};
use loreloom_memory::{model_profile::ModelProfile, service::ModelUse};
use loreloom_ports::{ChatModel, Diagnosis, Embedder, Upstream};
use loreloom_server::{
    Connection, ConnectionKind as Kind, ConnectionReach, ConnectionSettings, Counting, KeyKeeper,
    KeySource, NoEmbedder, Opening, Prospect, Prospecting, Questions, TokenizerSetting,
};
use loreloom_store::private;

use loreloom_settings::ConnectionDefaults;

use super::{key, keyring};
use crate::files;

/// A connection ready to be used.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) config: ConnectionSettings,
    address: Option<Address>,
    reach: ConnectionReach,
    key: Option<Secret>,
    held: Option<HeldKey>,
    counting: Counting,
}

/// What is said for all connections. A context size and a way of counting win over what they say
/// themselves.
#[derive(Clone, Default)]
pub(crate) struct ForAll {
    /// What connections do not say themselves.
    pub(crate) defaults: ConnectionDefaults,
    /// What prompts keep is measured.
    pub(crate) measured: bool,
    pub(crate) context: Option<u32>,
    pub(crate) counting: Option<Counting>,
}

impl ForAll {
    pub(crate) fn over(&self, mut one: Opened) -> Opened {
        let (own, usual) = (&mut one.config, &self.defaults);
        own.strict_roles |= usual.strict_roles;
        own.connect_seconds = own.connect_seconds.or(usual.connect_seconds);
        own.first_byte_seconds = own.first_byte_seconds.or(usual.first_byte_seconds);
        own.silence_seconds = own.silence_seconds.or(usual.silence_seconds);
        own.retries = own.retries.or(usual.retries);
        own.longest_wait_seconds = own.longest_wait_seconds.or(usual.longest_wait_seconds);
        own.breaker_failures = own.breaker_failures.or(usual.breaker_failures);
        own.breaker_seconds = own.breaker_seconds.or(usual.breaker_seconds);
        own.at_once = own.at_once.or(usual.at_once);
        if self.measured {
            one.config.measured();
        }
        one.config.context = self.context.or(one.config.context);
        match &self.counting {
            Some(counting) => one.counted(Arc::clone(counting)),
            None => one,
        }
    }
}

/// The address that settings name.
pub(super) fn address(settings: &ConnectionSettings) -> anyhow::Result<Option<Address>> {
    let parse = |url: &str| {
        Address::parse(url).map_err(|error| {
            // What was written may hold a password.
            let reason = match error {
                ConnectionError::Address { reason, .. } => reason,
                ConnectionError::Key { .. }
                | ConnectionError::NotPublic { .. }
                | ConnectionError::Client { .. } => error.to_string(),
            };
            anyhow::anyhow!("`url` must be an `http` or `https` URL: {reason}")
        })
    };
    settings.url.as_ref().map(|url| parse(url.as_str())).transpose()
}

fn tokenizer(setting: &TokenizerSetting) -> anyhow::Result<TokenizerChoice> {
    match setting {
        TokenizerSetting::Named(name) => TokenizerChoice::from_name(name)
            .with_context(|| format!("this build has no tokenizer `{name}`")),
        TokenizerSetting::File(file) => Ok(TokenizerChoice::File(file.clone())),
    }
}

fn counting(settings: &ConnectionSettings, folder: &Path) -> anyhow::Result<Counting> {
    let own = settings.model.clone().unwrap_or_default();
    if settings.tokenizer.is_automatic() {
        return Ok(by_model(own));
    }
    let bytes = match &settings.tokenizer {
        TokenizerSetting::File(file) => Some(files::read(&folder.join(file))?),
        TokenizerSetting::Named(_) => None,
    };
    let tokenizer = Tokenizer::new(&tokenizer(&settings.tokenizer)?, &own, bytes.as_deref())?;
    Ok(fixed(Arc::new(tokenizer)))
}

fn manners(settings: &ConnectionSettings) -> Manners {
    let manners = Manners::default();
    let (retry, breaker) = (manners.retry, manners.breaker);
    Manners {
        first_byte: seconds(settings.first_byte_seconds).or(manners.first_byte),
        silence: seconds(settings.silence_seconds).or(manners.silence),
        retry: RetryRules {
            retries: settings.retries.unwrap_or(retry.retries),
            longest: seconds(settings.longest_wait_seconds).unwrap_or(retry.longest),
            ..retry
        },
        breaker: BreakerRules {
            failures: settings.breaker_failures.unwrap_or(breaker.failures),
            pause: seconds(settings.breaker_seconds).unwrap_or(breaker.pause),
        },
        at_once: settings.at_once,
    }
}

fn seconds(value: Option<f64>) -> Option<Duration> {
    value.and_then(|value| Duration::try_from_secs_f64(value).ok())
}

/// Opens connections that are set up while the server runs. Paths are relative to the
/// configuration's folder.
pub(crate) fn opening(folder: PathBuf, for_all: ForAll) -> Opening {
    Arc::new(move |name, settings, reach| {
        let opened = Opened::within(name, settings, &folder, reach);
        let opened = opened.and_then(|opened| for_all.over(opened).connection());
        opened.map_err(|error| {
            // The caller knows the name; the causes say what to fix.
            let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
            if causes.is_empty() { error.to_string() } else { causes.join(": ") }
        })
    })
}

/// Keeps keys that are given while the server runs: in the desktop's keyring where there is one,
/// else each in a file of this folder that only its owner can read.
pub(crate) struct KeyFolder(PathBuf);

/// The service that the keyring knows the keys by.
const SERVICE: &str = "loreloom";

impl KeyFolder {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self(std::path::absolute(&folder).unwrap_or(folder))
    }

    /// The user of a key in the keyring. Servers of one user may have connections of one name:
    /// the file tells them apart.
    fn user(file: &Path) -> String {
        file.display().to_string().trim_start_matches('/').to_owned()
    }
}

impl KeyKeeper for KeyFolder {
    fn keep(&self, name: &str, key: &str) -> Result<KeySource, String> {
        let file = self.0.join(name);
        let user = Self::user(&file);
        match keyring::keep(SERVICE, &user, key) {
            Ok(()) => return Ok(KeySource::Keyring { service: SERVICE.to_owned(), user }),
            Err(error) => tracing::debug!("the key goes into a file: {error:#}"),
        }
        let kept =
            private::create_folder(&self.0).and_then(|()| private::replace(&file, key.as_bytes()));
        kept.map_err(|error| format!("`{}`: {error}", file.display()))?;
        Ok(KeySource::File(file.display().to_string()))
    }

    fn forget(&self, source: &KeySource) -> Result<(), String> {
        match source {
            KeySource::File(file) if Path::new(file).parent() == Some(&self.0) => {
                std::fs::remove_file(file).map_err(|error| format!("`{file}`: {error}"))
            }
            KeySource::Keyring { service, user }
                if service == SERVICE && Self::user(&self.0) == parent(user) =>
            {
                keyring::forget(service, user).map_err(|error| format!("{error:#}"))
            }
            // Somebody else keeps it.
            KeySource::File(_) | KeySource::Keyring { .. } | KeySource::Environment(_) => Ok(()),
        }
    }
}

/// The folder of a user's name in the keyring.
fn parent(user: &str) -> &str {
    user.rsplit_once(['/', '\\']).map_or("", |(folder, _)| folder)
}

/// How servers are tried out that are not configured. Their addresses come with requests, so
/// that they must be ones that everybody can reach.
pub(crate) fn prospecting() -> Prospecting {
    Arc::new(|Prospect { url, ollama, key, model }| {
        let address = Address::parse(&url).map_err(|error| error.to_string())?;
        let counter = by_model(String::new())(model.as_deref().unwrap_or_default());
        Ok(Arc::new(TestedConnection {
            address,
            speech: if ollama { Speech::Ollama } else { Speech::OpenAi },
            key: key.map(|key| Secret::new(&key)),
            model,
            counter,
            context: None,
            client: ClientRules { reach: Network::Public, ..ClientRules::default() },
        }))
    })
}

/// One tokenizer for all models.
pub(crate) fn fixed(counter: Arc<dyn TokenCounter>) -> Counting {
    Arc::new(move |_model| Arc::clone(&counter))
}

/// The tokenizer by a model's name; `own` where a request names none.
pub(crate) fn by_model(own: String) -> Counting {
    #[derive(Default)]
    struct KnownConnection {
        by_name: HashMap<String, Arc<dyn TokenCounter>>,
        /// The model that was asked for last: mostly it is the next one, too.
        last: Option<(String, Arc<dyn TokenCounter>)>,
    }
    let known: Mutex<KnownConnection> = Mutex::default();
    Arc::new(move |model| {
        let model = if model.is_empty() { &own } else { model };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counter)) = known.last.as_ref().filter(|(last, _)| last == model) {
            return Arc::clone(counter);
        }
        let tokenizer = Tokenizer::for_model(model);
        let name = tokenizer.name().to_owned();
        let counter = known.by_name.entry(name).or_insert_with(|| Arc::new(tokenizer));
        let counter = Arc::clone(counter);
        known.last = Some((model.to_owned(), Arc::clone(&counter)));
        counter
    })
}

impl Opened {
    /// Reads what settings of the configuration name.
    pub(crate) fn open(
        name: &str,
        settings: &ConnectionSettings,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        Self::within(name, settings, folder, ConnectionReach::Anywhere)
    }

    /// Reads what settings name, for a connection that leads no further than that.
    pub(crate) fn within(
        name: &str,
        settings: &ConnectionSettings,
        folder: &Path,
        reach: ConnectionReach,
    ) -> anyhow::Result<Self> {
        let open = || -> anyhow::Result<Self> {
            Ok(Self {
                name: name.to_owned(),
                address: address(settings)?,
                reach,
                key: settings.key.as_ref().map(|source| key::read(source, folder)).transpose()?,
                held: settings.hold_client_key.then(HeldKey::default),
                counting: counting(settings, folder)?,
                config: settings.clone(),
            })
        };
        open().with_context(|| format!("connection `{name}`"))
    }

    /// How it is connected to: names are judged by the numbers they lead to, each time.
    fn client(&self) -> ClientRules {
        let reach = match self.reach {
            ConnectionReach::Anywhere => Network::Anywhere,
            ConnectionReach::Public => Network::Public,
        };
        let rules = ClientRules { reach, ..ClientRules::default() };
        match seconds(self.config.connect_seconds) {
            Some(connect) => ClientRules { connect, ..rules },
            None => rules,
        }
    }

    /// Another way of counting.
    pub(crate) fn counted(self, counting: Counting) -> Self {
        Self { counting, ..self }
    }

    fn candidate(&self) -> Option<TestedConnection> {
        let speech = match self.config.kind {
            Kind::Openai => Speech::OpenAi,
            Kind::Ollama => Speech::Ollama,
            Kind::Offline => return None,
        };
        Some(TestedConnection {
            address: self.address.clone()?,
            speech,
            key: self.key.clone(),
            model: self.config.model.clone(),
            counter: (self.counting)(self.config.model.as_deref().unwrap_or_default()),
            context: self.config.context,
            client: self.client(),
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
        self.address.as_ref().map_or("built in".to_owned(), |url| url.shown().to_owned())
    }

    fn upstream(&self) -> anyhow::Result<Arc<dyn Upstream>> {
        let Some(url) = self.address.clone() else {
            return Ok(Arc::new(OfflineUpstream::default()));
        };
        let http = HttpUpstream::with(url, self.key.as_ref(), self.client())?;
        let shown = self.shown();
        Ok(Arc::new(SteadyUpstream::new(&shown, Arc::new(http), manners(&self.config))))
    }

    /// The connection, for the server.
    pub(crate) fn connection(&self) -> anyhow::Result<Connection> {
        let config = &self.config;
        let holding = self.held.clone().map(|held| -> loreloom_server::Holding {
            Arc::new(move |key: &str| held.set(Secret::new(key)))
        });
        Ok(Connection {
            name: ConnectionId::from(self.name.as_str()),
            shown: self.shown(),
            kind: config.kind,
            model: config.model.clone(),
            key: config.key_shown(),
            upstream: self.upstream().with_context(|| format!("connection `{}`", self.name))?,
            counting: Arc::clone(&self.counting),
            context: config.context.map(Tokens),
            strict_roles: config.strict_roles,
            cache: config.provider,
            prices: config.prices(),
            diagnosis: self.diagnosis(),
            holding,
            questions: Some(Arc::new(self.clone())),
            problem: None,
        })
    }

    /// One of its models, for Loreloom's own questions.
    pub(crate) fn model(&self, model: Option<&str>) -> anyhow::Result<Box<dyn ChatModel>> {
        let config = &self.config;
        let Some(url) = self.address.clone() else { return Ok(Box::new(OfflineModel)) };
        let name = model.or(config.model.as_deref());
        let name = name.with_context(|| format!("set `model` of connection `{}`", self.name))?;
        let mut connection = ModelConnection::new(url, name);
        connection.key.clone_from(&self.key);
        connection.held.clone_from(&self.held);
        connection.context = config.context;
        connection.client = self.client();
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
        let url = self.address.clone().context("it has no `url`")?;
        let name = model.or(config.model.as_deref());
        let name = name.with_context(|| format!("set `model` of connection `{}`", self.name))?;
        Ok(HttpEmbedder::open(url, speech, name, self.key.as_ref(), self.client()).await?)
    }

    /// What memory needs to know of a model of it.
    pub(crate) fn used(&self, default_context: Tokens) -> ModelUse {
        let (source, at_once) = match self.config.kind {
            // A server on this machine usually has one slot and keeps one prompt in its cache.
            Kind::Openai if self.address.as_ref().is_some_and(Address::is_loopback) => {
                ("openai_compatible", 1)
            }
            Kind::Openai => ("openai_compatible", 4),
            Kind::Ollama | Kind::Offline => ("ollama", 1),
        };
        ModelUse {
            connection: ConnectionId::from(self.name.as_str()),
            profile: ModelProfile::of(source, None),
            at_once: self
                .config
                .at_once
                .and_then(|most| u32::try_from(most).ok())
                .unwrap_or(at_once),
            context: self.config.context.map_or(default_context, Tokens),
        }
    }
}

#[async_trait]
impl Questions for Opened {
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn ChatModel>, String> {
        let model = Self::model(self, name).map_err(|error| format!("{error:#}"))?;
        Ok(Arc::from(model))
    }

    async fn embedder(&self, name: Option<&str>) -> Result<Arc<dyn Embedder>, NoEmbedder> {
        let reason = |error: anyhow::Error| {
            let text = format!("{error:#}");
            match error.downcast_ref::<OpenError>() {
                Some(OpenError::Embed(_)) => NoEmbedder::Silent(text),
                Some(OpenError::Connection(_)) | None => NoEmbedder::Wrong(text),
            }
        };
        let embedder = Self::embedder(self, name).await.map_err(reason)?;
        Ok(Arc::new(embedder))
    }

    fn used(&self, context: Tokens) -> ModelUse {
        Self::used(self, context)
    }
}

#[cfg(test)]
mod tests {
    use loreloom_ports::ChatRequest;
    use loreloom_testkit::model_server::{ModelServer, Script};

    use super::*;

    #[tokio::test]
    async fn memorys_work_and_vectors_reach_no_further_than_the_connection() {
        let server = ModelServer::start(Script::new()).unwrap();
        let url = server.base_url().replace("127.0.0.1", "localhost");
        let settings = serde_json::json!({"url": format!("{url}/v1"), "model": "m"});
        let settings: ConnectionSettings = serde_json::from_value(settings).unwrap();
        let open = |reach| Opened::within("a", &settings, Path::new(""), reach).unwrap();
        let public = open(ConnectionReach::Public);
        let asked = public.model(None).unwrap().complete(&ChatRequest::default()).await;
        assert!(asked.is_err());
        assert!(public.embedder(None).await.is_err());
        assert!(server.received().is_empty());
        let anywhere = open(ConnectionReach::Anywhere).model(None).unwrap();
        anywhere.complete(&ChatRequest::default()).await.unwrap();
        assert_eq!(server.received().len(), 1);
    }

    #[test]
    fn every_tokenizer_that_settings_can_name_is_there() {
        for name in TokenizerSetting::NAMES {
            let choice = tokenizer(&TokenizerSetting::Named(name)).unwrap();
            assert_eq!(serde_json::to_value(choice).unwrap(), name);
        }
    }
}
