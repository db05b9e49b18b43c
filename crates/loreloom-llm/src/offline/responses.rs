//! The storyteller's answers in the words of the responses API.

use bytes::Bytes;
use serde_json::{Value, json};

use super::model::OfflineReply;

/// An answer with its envelope.
pub(super) struct Response<'answer> {
    pub(super) id: &'answer str,
    pub(super) created: i64,
    pub(super) model: &'answer str,
    pub(super) reply: &'answer OfflineReply,
    /// Tokens of the prompt and of the answer.
    pub(super) tokens: (u32, u32),
}

impl Response<'_> {
    fn message(&self, status: &str, content: &[Value]) -> Value {
        json!({
            "type": "message", "id": format!("msg_{}", self.id), "status": status,
            "role": "assistant", "content": content,
        })
    }

    fn around(&self, status: &str, output: &[Value]) -> Value {
        json!({
            "id": format!("resp_{}", self.id), "object": "response", "created_at": self.created,
            "status": status, "error": null, "incomplete_details": null, "model": self.model,
            "output": output,
        })
    }

    /// The whole answer.
    pub(super) fn document(&self) -> Value {
        let status = if self.reply.cut { "incomplete" } else { "completed" };
        let mut whole = self.around(status, &[self.message(status, &[part(&self.reply.text)])]);
        if self.reply.cut {
            whole["incomplete_details"] = json!({"reason": "max_output_tokens"});
        }
        let (input, output) = self.tokens;
        whole["usage"] = json!({
            "input_tokens": input, "output_tokens": output,
            "total_tokens": input.saturating_add(output),
        });
        whole
    }

    /// The events of a stream: a beginning, one for each word, and an end.
    pub(super) fn events(&self) -> Vec<Bytes> {
        let place = json!({
            "item_id": format!("msg_{}", self.id), "output_index": 0, "content_index": 0,
        });
        let at = |mut more: Value| {
            for (name, value) in place.as_object().into_iter().flatten() {
                more[name] = value.clone();
            }
            more
        };
        let text = &self.reply.text;
        let document = self.document();
        let begun = self.message("in_progress", &[]);
        let mut events = vec![
            ("response.created", json!({"response": self.around("in_progress", &[])})),
            ("response.output_item.added", json!({"output_index": 0, "item": begun})),
            ("response.content_part.added", at(json!({"part": part("")}))),
        ];
        for word in text.split_inclusive(' ') {
            events.push(("response.output_text.delta", at(json!({"delta": word}))));
        }
        let ended = if self.reply.cut { "response.incomplete" } else { "response.completed" };
        events.extend([
            ("response.output_text.done", at(json!({"text": text}))),
            ("response.content_part.done", at(json!({"part": part(text)}))),
            (
                "response.output_item.done",
                json!({"output_index": 0, "item": document["output"][0]}),
            ),
            (ended, json!({"response": document})),
        ]);
        let written = events.into_iter().enumerate().map(|(number, (kind, mut event))| {
            event["type"] = json!(kind);
            event["sequence_number"] = json!(number);
            Bytes::from(format!("event: {kind}\ndata: {event}\n\n"))
        });
        written.collect()
    }
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}
