//! The storyteller as a model.

use async_trait::async_trait;
use loreloom_core::{prompt::PromptMessage, tokens::TokenCounter as _, units::Tokens};
use loreloom_ports::{ChatModel, ChatReply, ChatRequest, ModelError};

use super::{narrate::narrate, notes, scene::OfflineScene};
use crate::tokenizers::FastEstimate;

/// The storyteller's name as a model.
pub const OFFLINE_MODEL: &str = "offline";

/// The built-in storyteller. It answers prompts with a piece of story, the questions of memory with
/// shortened text or `NONE`. A request for JSON is refused, so that no job mistakes prose for data.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfflineModel;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OfflineReply {
    pub(super) text: String,
    /// Whether the limit cut it short.
    pub(super) cut: bool,
}

/// The next piece of a story, within `limit` tokens.
pub(super) fn reply_to(
    messages: &[PromptMessage],
    version: u64,
    limit: Option<u32>,
) -> OfflineReply {
    let asked = messages.last().and_then(|message| notes::answer(&message.content));
    let text = asked.unwrap_or_else(|| narrate(&OfflineScene::read(messages, version)));
    let limit = Tokens(limit.unwrap_or(u32::MAX));
    if FastEstimate.count(&text) <= limit {
        return OfflineReply { text, cut: false };
    }
    let mut kept = String::new();
    for word in text.split_inclusive(' ') {
        let longer = format!("{kept}{word}");
        if FastEstimate.count(&longer) > limit {
            break;
        }
        kept = longer;
    }
    OfflineReply { text: kept.trim_end().to_owned(), cut: true }
}

#[async_trait]
impl ChatModel for OfflineModel {
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        if request.schema.is_some() {
            return Err(ModelError::Refused {
                address: OFFLINE_MODEL.to_owned(),
                status: 400,
                body: "the offline storyteller writes stories, not JSON".to_owned(),
            });
        }
        Ok(ChatReply { text: reply_to(&request.messages, 0, request.max_tokens).text })
    }
}
