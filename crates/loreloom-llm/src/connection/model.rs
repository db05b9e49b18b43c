//! Models reached over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use loreloom_ports::{ChatModel, ChatReply, ChatRequest, ModelError};
use reqwest::{
    Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use serde_json::Value;

use super::{
    Connection, ConnectionError,
    client::{browserless_client, causes},
    ollama, openai,
    reading::{ReplyReader, Unreadable, Wire, reported_error},
    retry::retry_after,
};
use crate::{
    secret::{HeldKey, Secret},
    think::strip_think,
};

/// The most of an answer that is read: far above any reply, far below memory.
const LONGEST_ANSWER: usize = 16 << 20;

/// The most of a refusal that is shown, in bytes.
const LONGEST_EXCERPT: usize = 400;

/// A model of an OpenAI-compatible server.
#[derive(Debug)]
pub struct OpenAiModel(HttpModel);

/// A model of an Ollama server.
#[derive(Debug)]
pub struct OllamaModel(HttpModel);

impl OpenAiModel {
    /// A model. Its base address is everything before `/chat/completions`, such as `…/v1`.
    pub fn new(connection: Connection) -> Result<Self, ConnectionError> {
        HttpModel::new(connection).map(Self)
    }
}

impl OllamaModel {
    /// A model whose base address is the server's, without `/api`.
    pub fn new(connection: Connection) -> Result<Self, ConnectionError> {
        HttpModel::new(connection).map(Self)
    }
}

#[async_trait]
impl ChatModel for OpenAiModel {
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let body = openai::body(&self.0.connection, request);
        self.0.ask(Wire::OpenAi, openai::PATH, &body).await
    }

    fn without_keys(&self, text: &str) -> String {
        self.0.without_keys(text)
    }
}

#[async_trait]
impl ChatModel for OllamaModel {
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let body = ollama::body(&self.0.connection, request);
        self.0.ask(Wire::Ollama, ollama::PATH, &body).await
    }

    fn without_keys(&self, text: &str) -> String {
        self.0.without_keys(text)
    }
}

/// The header that carries a key, marked so that the HTTP stack does not log it.
pub(crate) fn bearer(key: &Secret, address: &str) -> Result<HeaderValue, ConnectionError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))
        .map_err(|_invalid| ConnectionError::Key { address: address.to_owned() })?;
    value.set_sensitive(true);
    Ok(value)
}

#[derive(Debug)]
struct HttpModel {
    connection: Connection,
    client: reqwest::Client,
    key: Option<HeaderValue>,
}

impl HttpModel {
    fn new(connection: Connection) -> Result<Self, ConnectionError> {
        let client = browserless_client(&connection.address, connection.client)?;
        let shown = connection.address.shown();
        let key = connection.key.as_ref().map(|key| bearer(key, shown)).transpose()?;
        Ok(Self { connection, client, key })
    }

    async fn ask(&self, wire: Wire, path: &str, body: &Value) -> Result<ChatReply, ModelError> {
        let mut request = self
            .client
            .post(self.connection.address.join(path))
            .timeout(self.connection.timeout)
            .json(body);
        if let Some(key) = self.key()? {
            request = request.header(AUTHORIZATION, key);
        }
        let response = request.send().await.map_err(|error| self.failed(error))?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let retry_after = retry_after(response.headers());
            return Err(ModelError::RateLimited { address: self.address(), retry_after });
        }
        if !status.is_success() {
            return Err(self.refused(response).await);
        }
        self.read(wire, response).await
    }

    /// The connection's own key, else the one that a front end sent, where that is allowed.
    fn key(&self) -> Result<Option<HeaderValue>, ModelError> {
        let Some(held) = self.connection.held.as_ref().filter(|_| self.key.is_none()) else {
            return Ok(self.key.clone());
        };
        let address = self.address();
        let Some(key) = held.get() else {
            let reason = "no front end has sent its key yet".to_owned();
            return Err(ModelError::Unreachable { address, reason });
        };
        let unsent = |error: ConnectionError| error.to_string();
        let key = bearer(&key, &address).map_err(unsent);
        key.map(Some).map_err(|reason| ModelError::Unreachable { address, reason })
    }

    async fn read(&self, wire: Wire, mut response: Response) -> Result<ChatReply, ModelError> {
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut reader = ReplyReader::new(wire, content_type);
        let mut length = 0;
        while let Some(bytes) = response.chunk().await.map_err(|error| self.failed(error))? {
            length += bytes.len();
            if length > LONGEST_ANSWER {
                let reason = format!("it is longer than {LONGEST_ANSWER} bytes");
                return Err(ModelError::Garbled { address: self.address(), reason });
            }
            reader.push(&bytes).map_err(|error| self.unreadable(error))?;
        }
        let text = reader.finish().map_err(|error| self.unreadable(error))?;
        // What is remembered of an answer is stored, shown and exported.
        Ok(ChatReply { text: self.without_keys(&strip_think(&text)) })
    }

    fn address(&self) -> String {
        self.connection.address.shown().to_owned()
    }

    /// A connection that breaks in the middle of an answer counts as nobody answering: the
    /// caller can do the same about it.
    fn failed(&self, error: reqwest::Error) -> ModelError {
        let address = self.address();
        if error.is_timeout() && !error.is_connect() {
            return ModelError::TimedOut { address, seconds: seconds(self.connection.timeout) };
        }
        ModelError::Unreachable { address, reason: causes(error) }
    }

    fn unreadable(&self, error: Unreadable) -> ModelError {
        let address = self.address();
        match error {
            Unreadable::Reported { message } => {
                ModelError::Refused { address, status: 200, body: self.excerpt(&message) }
            }
            Unreadable::NotJson { .. } | Unreadable::Field { .. } | Unreadable::Unfinished => {
                ModelError::Garbled { address, reason: error.to_string() }
            }
        }
    }

    async fn refused(&self, mut response: Response) -> ModelError {
        let status = response.status().as_u16();
        let mut body = Vec::new();
        // A refusal whose body breaks off is still a refusal.
        while body.len() < LONGEST_ANSWER {
            let Ok(Some(bytes)) = response.chunk().await else { break };
            body.extend_from_slice(&bytes);
        }
        let text = serde_json::from_slice(&body)
            .ok()
            .and_then(|document: Value| reported_error(&document))
            .unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned());
        ModelError::Refused { address: self.address(), status, body: self.excerpt(&text) }
    }

    fn without_keys(&self, text: &str) -> String {
        let held = self.connection.held.as_ref().and_then(HeldKey::get);
        let keys = self.connection.key.iter().chain(&held);
        keys.fold(text.to_owned(), |text, key| key.redact(&text))
    }

    fn excerpt(&self, text: &str) -> String {
        let text = self.without_keys(text);
        let text = text.trim();
        let end = text.floor_char_boundary(LONGEST_EXCERPT);
        if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
    }
}

/// A limit in whole seconds, rounded up so that no limit reads as 0 s.
fn seconds(limit: Duration) -> u64 {
    limit.as_secs() + u64::from(limit.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_shown_in_whole_seconds() {
        assert_eq!(seconds(Duration::from_millis(50)), 1);
        assert_eq!(seconds(Duration::from_mins(2)), 120);
    }
}
