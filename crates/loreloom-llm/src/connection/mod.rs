//! Loreloom's own calls to a model: extraction, selection, verification.
//!
//! Requests and answers are built and read by pure functions ([`openai`](self), `ollama`);
//! one small driver sends them and turns failures into [`ModelError`]s by what the caller can do
//! about them. Streamed and whole answers are read alike, so a server may ignore `stream` and send
//! one document.
//!
//! [`ModelError`]: loreloom_ports::ModelError

mod address;
mod breaker;
mod client;
mod hiding;
mod model;
mod ollama;
mod openai;
mod passing;
mod pinned;
mod reach;
mod reading;
mod retry;

pub use self::{
    address::{Address, ConnectionError},
    breaker::{Breaker, BreakerRules, Resting, Urgency},
    client::ClientRules,
    model::{OllamaModel, OpenAiModel},
    reach::{Reach, Unreached, is_public},
    reading::{ReplyReader, Unreadable, Wire},
    retry::{RetryRules, may_pass, retry_after},
};
pub(crate) use self::{
    client::{browserless_client, causes, trusting_client},
    hiding::hiding,
    model::bearer,
    passing::passing,
    pinned::pinned,
};

use std::time::Duration;

use crate::secret::{HeldKey, Secret};

/// Whether a reply is asked for in one piece or as a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// One document.
    #[default]
    Whole,
    /// A stream: some servers drop connections that stay silent for long.
    Streamed,
}

/// A connection to one model of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The base address: with `/v1` for OpenAI-compatible servers, without a path for Ollama.
    pub address: Address,
    /// The model's name.
    pub model: String,
    /// The key, where the server wants one.
    pub key: Option<Secret>,
    /// The longest a call may take, from connecting to the last byte.
    pub timeout: Duration,
    /// How replies are asked for.
    pub delivery: Delivery,
    /// The context size Ollama is asked for; others ignore it.
    pub context: Option<u32>,
    /// Where a front end's key is found if the connection has none of its own.
    pub held: Option<HeldKey>,
    /// How it is connected to.
    pub client: ClientRules,
}

impl Connection {
    /// A connection without a key, with a timeout of two minutes and whole replies.
    pub fn new(address: Address, model: &str) -> Self {
        Self {
            address,
            model: model.to_owned(),
            key: None,
            timeout: Duration::from_mins(2),
            delivery: Delivery::Whole,
            context: None,
            held: None,
            client: ClientRules::default(),
        }
    }
}
