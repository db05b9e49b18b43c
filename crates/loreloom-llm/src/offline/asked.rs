//! What a request asks of the storyteller.

use loreloom_core::{chat::Role, prompt::PromptMessage, tokens::TokenCounter as _};
use serde_json::Value;

use super::{
    model::{OFFLINE_MODEL, OfflineReply, reply_to},
    ollama::Asked,
};
use crate::tokenizers::FastEstimate;

/// The most answers to one request: prompts times choices.
const MOST_ANSWERS: usize = 128;

/// What a request asks of the storyteller.
pub(super) struct Ask {
    /// The prompts: one, but for lists of texts to be completed.
    prompts: Vec<Vec<PromptMessage>>,
    /// How many answers each of them gets.
    choices: usize,
    pub(super) model: String,
    limit: Option<u32>,
    salt: u64,
    /// Whether to stream, where the request says.
    pub(super) stream: Option<bool>,
    /// Whether a stream ends with what was used.
    pub(super) usage: bool,
}

impl Ask {
    /// The answer, where there is one.
    pub(super) fn reply(&self) -> OfflineReply {
        self.reply_to(self.prompts.first().map_or(&[], Vec::as_slice), 0)
    }

    /// All answers: of each prompt, all its choices.
    pub(super) fn replies(&self) -> Vec<OfflineReply> {
        let each = |prompt| (0..).take(self.choices).map(move |at| (prompt, at));
        let all = self.prompts.iter().flat_map(each);
        all.map(|(prompt, at)| self.reply_to(prompt, at)).collect()
    }

    /// Each choice uses another seed.
    fn reply_to(&self, prompt: &[PromptMessage], choice: u64) -> OfflineReply {
        reply_to(prompt, self.salt.wrapping_add(choice), self.limit)
    }

    /// Whether it says nothing that could be answered.
    pub(super) fn is_empty(&self) -> bool {
        let mut said = self.prompts.iter().flatten();
        said.all(|message| message.content.is_empty())
    }

    /// Tokens of the prompts, and of these answers.
    pub(super) fn tokens(&self, replies: &[OfflineReply]) -> (u32, u32) {
        let count = |text: &str| FastEstimate.count(text).0;
        let prompts = self.prompts.iter().flatten().map(|message| count(&message.content)).sum();
        (prompts, replies.iter().map(|reply| count(&reply.text)).sum())
    }
}

/// Reads a request body; the error is for the client.
pub(super) fn read(body: &[u8]) -> Result<Ask, String> {
    ask(&document(body)?)
}

/// The same where lists of prompts are not known.
pub(super) fn read_one(body: &[u8]) -> Result<Ask, String> {
    only(read(body)?)
}

fn only(ask: Ask) -> Result<Ask, String> {
    match ask.prompts.len() {
        0 | 1 => Ok(ask),
        more => Err(format!("`prompt` must be one text here, found {more}")),
    }
}

/// The same as Ollama reads it: a request to generate may say nothing.
pub(super) fn read_ollama(asked: Asked, body: &[u8]) -> Result<Ask, String> {
    let mut body = document(body)?;
    if asked == Asked::Generate && body["prompt"].is_null() {
        body["prompt"] = Value::String(String::new());
    }
    only(ask(&body)?)
}

fn document(body: &[u8]) -> Result<Value, String> {
    let body: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body must be JSON: {error}"))?;
    if body.is_object() { Ok(body) } else { Err("the body must be a JSON object".to_owned()) }
}

fn ask(body: &Value) -> Result<Ask, String> {
    let prompts = match (body["messages"].as_array(), body.get("prompt")) {
        (Some(messages), _) => vec![messages.iter().map(message).collect::<Result<_, _>>()?],
        (None, Some(prompt)) => texts(prompt)?,
        (None, None) if body.get("input").is_some() => vec![input(body)?],
        (None, None) if body.get("messages").is_some() => {
            return Err("`messages` must be a list".to_owned());
        }
        (None, None) => {
            return Err("one of `messages`, `prompt` and `input` must be given".to_owned());
        }
    };
    let choices = choices(body, prompts.len())?;
    let format = body["response_format"]["type"].as_str().unwrap_or("text");
    if format != "text" {
        let message = "the offline storyteller writes stories, not JSON";
        return Err(format!("{message}: `response_format` must be `text`, found `{format}`"));
    }
    let limits = [
        "/max_completion_tokens",
        "/max_tokens",
        "/max_output_tokens",
        "/options/num_predict",
        "/n_predict",
        "/max_length",
    ];
    let limit = limits.into_iter().find_map(|field| body.pointer(field)?.as_u64());
    Ok(Ask {
        prompts,
        choices,
        model: body["model"].as_str().unwrap_or(OFFLINE_MODEL).to_owned(),
        limit: limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
        salt: body["seed"].as_i64().map(i64::cast_unsigned).unwrap_or_default(),
        stream: body["stream"].as_bool(),
        usage: body["stream_options"]["include_usage"].as_bool().unwrap_or_default(),
    })
}

/// The prompts of a field: a text, or a list of some.
fn texts(prompt: &Value) -> Result<Vec<Vec<PromptMessage>>, String> {
    let listed = match prompt {
        Value::String(text) => Some(vec![text.as_str()]),
        Value::Array(texts) => texts.iter().map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let listed = listed.filter(|texts| !texts.is_empty());
    let listed = listed.ok_or("`prompt` must be text or a list of texts")?;
    Ok(listed.into_iter().map(|text| vec![said(Role::User, text)]).collect())
}

/// How many answers each prompt gets.
fn choices(body: &Value, prompts: usize) -> Result<usize, String> {
    if prompts > MOST_ANSWERS {
        return Err(format!("`prompt` must have {MOST_ANSWERS} texts at most, found {prompts}"));
    }
    let Some(asked) = body.get("n").filter(|asked| !asked.is_null()) else { return Ok(1) };
    let most = MOST_ANSWERS / prompts.max(1);
    let count = asked.as_u64().and_then(|count| usize::try_from(count).ok());
    count.filter(|count| (1..=most).contains(count)).ok_or_else(|| {
        format!("`n` must be a number from 1 to {most} for {prompts} prompts, found {asked}")
    })
}

fn said(role: Role, text: &str) -> PromptMessage {
    PromptMessage { role, name: None, content: text.into() }
}

/// The prompt of the responses API. Items that nobody says, as calls of tools, are passed over.
fn input(body: &Value) -> Result<Vec<PromptMessage>, String> {
    let mut messages = Vec::new();
    messages.extend(body["instructions"].as_str().map(|text| said(Role::System, text)));
    match &body["input"] {
        Value::String(text) => messages.push(said(Role::User, text)),
        Value::Array(items) => {
            for item in items.iter().filter(|item| item.get("role").is_some()) {
                messages.push(message(item)?);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("`input` must be text or a list".to_owned());
        }
    }
    Ok(messages)
}

fn message(message: &Value) -> Result<PromptMessage, String> {
    let role = match message["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        Some(other) => return Err(format!("`role` must be one of the API's, found `{other}`")),
        None => return Err("every message must have a `role`".to_owned()),
    };
    let content = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("`content` must be text or a list of parts".to_owned());
        }
    };
    let name = message["name"].as_str().map(str::to_owned);
    Ok(PromptMessage { role, name, content: content.into() })
}
