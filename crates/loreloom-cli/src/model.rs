//! The model that memory's own questions go to.

use std::str::FromStr;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use loreloom_llm::{
    connection::{Address, Connection, OllamaModel, OpenAiModel},
    offline::OfflineModel,
    secret::Secret,
};
use loreloom_memory::{model_profile::ModelProfile, service::ModelUse};
use loreloom_ports::ChatModel;

/// The protocol of a model's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Api {
    /// `/v1/chat/completions`
    Openai,
    /// `/api/chat`
    Ollama,
    /// The built-in storyteller, which knows nothing of memory
    Offline,
}

/// A model, and its server if it is another than the upstream: `NAME` or `NAME@URL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelName {
    pub(crate) name: String,
    pub(crate) url: Option<String>,
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.find("@http://").or_else(|| text.find("@https://"));
        let (name, url) = match at {
            Some(at) => (&text[..at], Some(text[at + 1..].to_owned())),
            None => (text, None),
        };
        if name.trim().is_empty() {
            return Err(format!("must be NAME or NAME@URL, found `{text}`"));
        }
        Ok(Self { name: name.to_owned(), url })
    }
}

/// Which model.
#[derive(Clone, Debug, Args)]
pub(crate) struct ModelArguments {
    /// The protocol of its server; by default OpenAI's if the address has `/v1`, otherwise
    /// Ollama's
    #[arg(long, value_enum)]
    api: Option<Api>,

    /// The model's server, with `/v1` for OpenAI-compatible ones
    #[arg(long, default_value = "http://127.0.0.1:11434", value_name = "URL")]
    url: String,

    /// The model's name
    #[arg(long, default_value = "", value_name = "NAME")]
    model: String,

    /// The environment variable that holds its key
    #[arg(long, value_name = "VARIABLE")]
    model_key_env: Option<String>,

    /// Its context size
    #[arg(long, default_value_t = 8192, value_name = "TOKENS")]
    model_context: u32,
}

impl ModelArguments {
    /// The model of that name at an address.
    pub(crate) fn at(url: &str, model: &str, key_env: Option<&str>, context: u32) -> Self {
        Self {
            api: None,
            url: url.to_owned(),
            model: model.to_owned(),
            model_key_env: key_env.map(str::to_owned),
            model_context: context,
        }
    }

    /// The protocol. Ollama serves OpenAI's paths under `/v1`, its own beside them.
    fn api(&self) -> Api {
        let usual = if self.url.contains("/v1") { Api::Openai } else { Api::Ollama };
        self.api.unwrap_or(usual)
    }

    pub(crate) fn open(&self) -> anyhow::Result<Box<dyn ChatModel>> {
        if self.api() == Api::Offline {
            return Ok(Box::new(OfflineModel));
        }
        anyhow::ensure!(!self.model.is_empty(), "say which model with `--model NAME`");
        let mut connection = Connection::new(Address::parse(&self.url)?, &self.model);
        connection.context = Some(self.model_context);
        connection.key = self.key()?;
        Ok(match self.api() {
            Api::Openai => Box::new(OpenAiModel::new(connection)?),
            Api::Ollama | Api::Offline => Box::new(OllamaModel::new(connection)?),
        })
    }

    #[expect(clippy::disallowed_methods, reason = "keys are named and never typed")]
    fn key(&self) -> anyhow::Result<Option<Secret>> {
        let Some(name) = &self.model_key_env else { return Ok(None) };
        let key = std::env::var(name).with_context(|| format!("`{name}` is not set"))?;
        Ok(Some(Secret::new(&key)))
    }

    /// What memory needs to know of it.
    pub(crate) fn used(&self) -> ModelUse {
        let source = match self.api() {
            Api::Openai => "openai_compatible",
            Api::Ollama | Api::Offline => "ollama",
        };
        // A server on this machine usually has one slot and keeps one prompt in its cache.
        let is_local = Address::parse(&self.url).is_ok_and(|address| address.is_loopback());
        ModelUse {
            connection: self.url.as_str().into(),
            profile: ModelProfile::of(source, None),
            at_once: if self.api() == Api::Ollama || is_local { 1 } else { 4 },
            context: loreloom_core::units::Tokens(self.model_context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_v1_is_spoken_to_in_openais_way() {
        for (url, api) in [
            ("http://127.0.0.1:11434", Api::Ollama),
            ("http://127.0.0.1:11434/v1", Api::Openai),
            ("https://models.example/v1/", Api::Openai),
        ] {
            assert_eq!(ModelArguments::at(url, "m", None, 8192).api(), api, "{url}");
        }
    }

    #[test]
    fn a_model_may_name_its_server() {
        for (text, name, url) in [
            ("qwen3:4b", "qwen3:4b", None),
            ("m@http://127.0.0.1:1/v1", "m", Some("http://127.0.0.1:1/v1")),
            ("a@b", "a@b", None),
        ] {
            let found: ModelName = text.parse().unwrap();
            assert_eq!((found.name.as_str(), found.url.as_deref()), (name, url));
        }
        let error = "@http://x".parse::<ModelName>().unwrap_err();
        assert_eq!(error, "must be NAME or NAME@URL, found `@http://x`");
    }
}
