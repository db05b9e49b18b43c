//! Asking a model for a reply, for Loreloom's own calls (extraction, selection, …).

use async_trait::async_trait;
use loreloom_core::prompt::PromptMessage;

/// A question to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatRequest {
    /// The prompt.
    pub messages: Vec<PromptMessage>,
    /// The longest reply, in tokens.
    pub max_tokens: Option<u32>,
    /// 0 for the most likely reply.
    pub temperature: Option<f32>,
    /// A JSON schema the reply must follow, where the model offers it.
    pub schema: Option<serde_json::Value>,
}

/// A model's reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatReply {
    /// The text without think blocks.
    pub text: String,
}

/// A model that answers.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Asks and waits for the whole reply.
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply, ModelError>;

    /// A text without the keys it is asked with: a server may repeat them, and what it says is
    /// shown and stored.
    fn without_keys(&self, text: &str) -> String {
        text.to_owned()
    }
}

/// Why a model gave no reply, by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Nobody answered: try again later.
    #[error("model at `{address}` cannot be reached: {reason}")]
    Unreachable {
        /// The address.
        address: String,
        /// The cause.
        reason: String,
    },
    /// It took too long.
    #[error("model at `{address}` gave no reply within {seconds} s")]
    TimedOut {
        /// The address.
        address: String,
        /// The limit.
        seconds: u64,
    },
    /// The question was taken back before it was answered: nothing failed.
    #[error("the question to `{address}` was taken back: {reason}")]
    TakenBack {
        /// The address.
        address: String,
        /// The cause.
        reason: String,
    },
    /// Too many requests: wait.
    #[error("model at `{address}` asks to slow down")]
    RateLimited {
        /// The address.
        address: String,
        /// How long it asks to wait.
        retry_after: Option<std::time::Duration>,
    },
    /// It refused.
    #[error("model at `{address}` answered {status}: {body}")]
    Refused {
        /// The address.
        address: String,
        /// The HTTP status.
        status: u16,
        /// The start of its answer.
        body: String,
    },
    /// Its answer makes no sense.
    #[error("model at `{address}` sent an answer that cannot be read: {reason}")]
    Garbled {
        /// The address.
        address: String,
        /// What is wrong.
        reason: String,
    },
}
