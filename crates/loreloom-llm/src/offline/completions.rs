//! The storyteller's completions as an OpenAI-compatible server writes them: chats and texts,
//! one answer or several, whole or in pieces.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{asked::Ask, model::OfflineReply};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completed {
    /// `/chat/completions`.
    Chat,
    /// `/completions`.
    Text,
}

/// The answers to a request.
pub(super) struct Completion<'ask> {
    pub(super) completed: Completed,
    /// Unique to the request.
    pub(super) id: String,
    /// In seconds since 1970.
    pub(super) created: i64,
    pub(super) ask: &'ask Ask,
    pub(super) replies: &'ask [OfflineReply],
}

fn finish(reply: &OfflineReply) -> &'static str {
    if reply.cut { "length" } else { "stop" }
}

impl Completion<'_> {
    /// The whole answer.
    pub(super) fn document(&self) -> Value {
        let numbered = (0..).zip(self.replies);
        let choices = numbered.map(|(at, reply): (u64, &OfflineReply)| {
            let mut choice = json!({"index": at, "logprobs": null, "finish_reason": finish(reply)});
            match self.completed {
                Completed::Chat => {
                    choice["message"] = json!({"role": "assistant", "content": reply.text});
                }
                Completed::Text => choice["text"] = json!(reply.text),
            }
            choice
        });
        let mut whole = self.with(&choices.collect::<Vec<_>>());
        whole["usage"] = self.usage();
        whole
    }

    /// The events of a stream: of each choice a chunk for each word and its end, then usage if it
    /// is asked for.
    pub(super) fn events(&self) -> Vec<Bytes> {
        let mut chunks = Vec::new();
        for (at, reply) in (0..).zip(self.replies) {
            if self.completed == Completed::Chat {
                chunks.push(self.chunk(at, &json!({"role": "assistant", "content": ""}), None));
            }
            for word in reply.text.split_inclusive(' ') {
                chunks.push(self.chunk(at, &json!({"content": word}), None));
            }
            chunks.push(self.chunk(at, &json!({}), Some(finish(reply))));
        }
        if self.ask.usage {
            for chunk in &mut chunks {
                chunk["usage"] = Value::Null;
            }
            let mut last = self.piece(&[]);
            last["usage"] = self.usage();
            chunks.push(last);
        }
        let events = chunks.iter().map(|chunk| Bytes::from(format!("data: {chunk}\n\n")));
        events.chain([Bytes::from_static(b"data: [DONE]\n\n")]).collect()
    }

    fn chunk(&self, at: u64, delta: &Value, finish: Option<&str>) -> Value {
        let choice = match self.completed {
            Completed::Chat => json!({"index": at, "delta": delta, "finish_reason": finish}),
            Completed::Text => json!({
                "index": at, "text": delta["content"].as_str().unwrap_or_default(),
                "logprobs": null, "finish_reason": finish,
            }),
        };
        self.piece(&[choice])
    }

    fn piece(&self, choices: &[Value]) -> Value {
        let mut piece = self.with(choices);
        if self.completed == Completed::Chat {
            piece["object"] = json!("chat.completion.chunk");
        }
        piece
    }

    fn with(&self, choices: &[Value]) -> Value {
        let (prefix, object) = match self.completed {
            Completed::Chat => ("chatcmpl", "chat.completion"),
            Completed::Text => ("cmpl", "text_completion"),
        };
        json!({
            "id": format!("{prefix}-{}", self.id), "object": object, "created": self.created,
            "model": self.ask.model, "choices": choices,
        })
    }

    fn usage(&self) -> Value {
        let (prompt, completion) = self.ask.tokens(self.replies);
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt.saturating_add(completion),
        })
    }
}
