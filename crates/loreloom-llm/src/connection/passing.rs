//! Reads the texts of an answer while it is passed on, in any wire format.
//!
//! A document is recognised by its shape, so the path need not be known: OpenAI's chat, completions
//! and responses, Ollama's chat and generate, llama.cpp's and KoboldCpp's completions. Events are
//! read as they arrive; other answers (a document, or one on each line) when they are complete.

use std::collections::BTreeMap;

use loreloom_ports::{Finished, ReplyReading, WholeReply};
use serde_json::Value;

use super::reading::reported_error;
use crate::{sse::SseDecoder, think::strip_think};

/// The longest answer that is read for the story; a longer one is only passed on.
const LONGEST: usize = 32 << 20;

/// Reads the story's texts from an answer with this `Content-Type`.
pub(crate) fn passing(content_type: &str) -> Box<dyn ReplyReading> {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    let framing = if media.eq_ignore_ascii_case("text/event-stream") {
        ChunkFraming::Events(SseDecoder::new())
    } else {
        ChunkFraming::Documents(Vec::new())
    };
    Box::new(Passing {
        framing,
        choices: BTreeMap::new(),
        response: None,
        end: End::Open,
        said: false,
        size: 0,
        lost: false,
    })
}

enum ChunkFraming {
    Events(SseDecoder),
    Documents(Vec<u8>),
}

/// Whether the server has marked the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Nothing yet.
    Open,
    /// Its last event was one that ends a reply.
    Closed,
    /// Nothing follows.
    Done,
}

struct Passing {
    framing: ChunkFraming,
    choices: BTreeMap<u64, Choice>,
    /// The id of a response, which later requests can name.
    response: Option<String>,
    end: End,
    /// Whether it has said anything at all.
    said: bool,
    size: usize,
    /// Whether something could not be read: then nothing is.
    lost: bool,
}

#[derive(Default)]
struct Choice {
    text: String,
    ended: bool,
    /// Whether a document has said that others follow.
    goes_on: bool,
}

/// What one document adds to a choice.
#[derive(Debug, PartialEq, Eq)]
struct Added {
    choice: u64,
    text: String,
    /// Whether it is the last one; `None` if that is not said.
    ends: Option<bool>,
}

impl ReplyReading for Passing {
    fn push(&mut self, bytes: &[u8]) {
        self.size += bytes.len();
        if self.lost || self.size > LONGEST {
            self.lose();
            return;
        }
        match &mut self.framing {
            ChunkFraming::Events(decoder) => {
                for event in decoder.push(bytes) {
                    self.event(&event.data);
                }
            }
            ChunkFraming::Documents(body) => body.extend_from_slice(bytes),
        }
    }

    fn is_over(&self) -> bool {
        match &self.framing {
            ChunkFraming::Events(_) => self.end != End::Open,
            // A document on each line: the last one says it.
            ChunkFraming::Documents(body) => {
                let last = body.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
                let last = last.and_then(|line| serde_json::from_slice(line).ok());
                last.is_some_and(|document| closes(&document))
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Finished {
        let (mut is_half, is_open) = (false, self.end == End::Open);
        match std::mem::replace(&mut self.framing, ChunkFraming::Documents(Vec::new())) {
            ChunkFraming::Events(decoder) => {
                if let Some(event) = decoder.finish().filter(|_| is_open && !self.lost) {
                    self.event(&event.data);
                    is_half = self.lost;
                }
                // A stream without events is not a reply either.
                is_half |= !self.said && is_open && !self.lost;
            }
            ChunkFraming::Documents(body) => {
                for document in serde_json::Deserializer::from_slice(&body).into_iter() {
                    match document {
                        Ok(document) => self.document(&document),
                        Err(error) => {
                            is_half = error.is_eof() && !self.lost;
                            self.lost = true;
                        }
                    }
                }
            }
        }
        // The last event may have come without its end.
        let done = self.end == End::Done;
        let ended = done || self.choices.values().all(|choice| choice.ended);
        let goes_on = self.choices.values().any(|choice| choice.goes_on && !choice.ended);
        if is_half || (!self.lost && !done && goes_on) {
            return Finished::Unfinished;
        }
        if self.lost || !ended || self.choices.is_empty() {
            return Finished::Unread;
        }
        let choices = self.choices.into_values();
        let texts = choices.map(|choice| strip_think(&choice.text).into_owned()).collect();
        Finished::Whole(WholeReply { texts, response: self.response })
    }
}

impl Passing {
    fn lose(&mut self) {
        self.lost = true;
        self.framing = ChunkFraming::Documents(Vec::new());
    }

    fn event(&mut self, data: &str) {
        let data = data.trim();
        // Some proxies keep a stream alive with events that have no data.
        if data.is_empty() {
            return;
        }
        if data == "[DONE]" {
            self.end = End::Done;
            return;
        }
        match serde_json::from_str(data) {
            Ok(document) => self.document(&document),
            Err(_) => self.lost = true,
        }
    }

    fn document(&mut self, document: &Value) {
        self.said = true;
        if reported_error(document).is_some() {
            self.lost = true;
            return;
        }
        if self.end != End::Done {
            self.end = if closes(document) { End::Closed } else { End::Open };
        }
        if let Some(id) = response_id(document) {
            self.response = Some(id.to_owned());
        }
        for added in read(document) {
            let choice = self.choices.entry(added.choice).or_default();
            choice.text.push_str(&added.text);
            choice.ended |= added.ends == Some(true);
            choice.goes_on |= added.ends == Some(false);
        }
    }
}

/// Whether a document of a stream is the last one. OpenAI's choices end one by one; a separate event
/// marks the end of all.
fn closes(document: &Value) -> bool {
    // A token of KoboldCpp may be the last one without a mark.
    let is_part = document.get("choices").is_some() || document.get("token").is_some();
    !is_part && read(document).iter().any(|one| one.ends == Some(true))
}

/// The id of a response of the responses API, in the document itself or in an event about it.
fn response_id(document: &Value) -> Option<&str> {
    let is_event = document["type"].as_str().is_some_and(|kind| kind.starts_with("response."));
    let response = if is_event { &document["response"] } else { document };
    let is_response = is_event || response["object"] == "response";
    response["id"].as_str().filter(|_| is_response)
}

/// What a document of any known shape adds.
fn read(document: &Value) -> Vec<Added> {
    let one = |text: String, ends: Option<bool>| vec![Added { choice: 0, text, ends }];
    let says = |name: &str| document[name].as_bool();
    if let Some(choices) = document["choices"].as_array() {
        return choices.iter().map(openai_choice).collect();
    }
    if let Some(kind) = document["type"].as_str().filter(|kind| kind.starts_with("response.")) {
        return match kind {
            "response.output_text.delta" => one(text(&document["delta"]), Some(false)),
            "response.completed" | "response.incomplete" => one(String::new(), Some(true)),
            _ => Vec::new(),
        };
    }
    if let Some(items) = document["output"].as_array() {
        let content = items.iter().filter(|item| item["type"] == "message");
        return one(content.map(|item| text(&item["content"])).collect(), Some(true));
    }
    if let Some(results) = document["results"].as_array() {
        let numbered = (0..).zip(results);
        return numbered
            .map(|(choice, result)| Added { choice, text: text(&result["text"]), ends: Some(true) })
            .collect();
    }
    if document["message"].is_object() {
        return one(text(&document["message"]["content"]), says("done"));
    }
    if document["response"].is_string() || says("done") == Some(true) {
        return one(text(&document["response"]), says("done"));
    }
    if document["token"].is_string() {
        // Old KoboldCpp does not mark the end: each of its tokens may be the last.
        let ends = document.get("finish_reason").is_none_or(|reason| !reason.is_null());
        return one(text(&document["token"]), Some(ends));
    }
    if document["content"].is_string() {
        return one(text(&document["content"]), says("stop"));
    }
    Vec::new()
}

fn openai_choice(choice: &Value) -> Added {
    let reason = choice.get("finish_reason").map(|reason| !reason.is_null());
    let (said, ends) = match (choice.get("message"), choice.get("delta")) {
        (Some(message), _) => (text(&message["content"]), Some(true)),
        (None, Some(delta)) => (text(&delta["content"]), reason),
        (None, None) => (text(&choice["text"]), reason),
    };
    Added { choice: choice["index"].as_u64().unwrap_or_default(), text: said, ends }
}

/// Content is text, nothing, or a list of parts of which some are text.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(content_type: &str, bytes: &str) -> Finished {
        let mut reading = passing(content_type);
        bytes.as_bytes().chunks(7).for_each(|piece| reading.push(piece));
        reading.finish()
    }

    fn events(documents: &[&str]) -> String {
        format!("data: {}\n\n", documents.join("\n\ndata: "))
    }

    #[test]
    fn a_stream_is_over_with_the_document_that_ends_it() {
        let delta = r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}"#;
        let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
        let said = r#"{"type":"response.output_text.delta","delta":"Hi"}"#;
        let completed = r#"{"type":"response.completed","response":{"id":"r"}}"#;
        for (documents, over) in [
            (vec![delta, stop], false),
            (vec![delta, stop, "[DONE]"], true),
            (vec![said], false),
            (vec![said, completed], true),
            (vec![r#"{"content":"a","stop":false}"#], false),
            (vec![r#"{"content":"a","stop":true}"#], true),
            (vec![r#"{"token":"a"}"#], false),
        ] {
            let mut reading = passing("text/event-stream");
            reading.push(events(&documents).as_bytes());
            assert_eq!(reading.is_over(), over, "{documents:?}");
        }
        // What follows may be there in part.
        let mut reading = passing("text/event-stream");
        reading.push(b"data: {\"content\":\"a\",\"stop\":true}\n\ndata: [DO");
        assert!(reading.is_over());
        assert_eq!(reading.finish().whole(), Some(vec!["a".to_owned()]));
        let mut reading = passing("application/x-ndjson");
        reading.push(b"{\"response\":\"a\",\"done\":false}\n{\"response\":\"\",\"do");
        assert!(!reading.is_over());
        reading.push(b"ne\":true}\n");
        assert!(reading.is_over());
    }

    #[test]
    fn every_wire_is_read_whole() {
        for (body, expected) in [
            (
                r#"{"choices":[{"index":1,"message":{"content":"b"}},{"index":0,"message":{"content":"a"}}]}"#,
                vec!["a", "b"],
            ),
            (r#"{"choices":[{"message":{"content":null,"tool_calls":[{}]}}]}"#, vec![""]),
            (r#"{"choices":[{"index":0,"text":"Once","finish_reason":"stop"}]}"#, vec!["Once"]),
            (
                r#"{"object":"response","output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":"Hi"}]}]}"#,
                vec!["Hi"],
            ),
            (
                "{\"message\":{\"content\":\"Y\"},\"done\":false}\n{\"message\":{\"content\":\"es\"},\"done\":true}\n",
                vec!["Yes"],
            ),
            (
                "{\"response\":\"Y\",\"done\":false}\n{\"response\":\"es\",\"done\":true}\n",
                vec!["Yes"],
            ),
            (r#"{"content":"Yes","stop":true}"#, vec!["Yes"]),
            (r#"{"results":[{"text":"Yes"}]}"#, vec!["Yes"]),
            (
                "{\n  \"choices\": [{\"message\": {\"content\": \"<think>hm</think>\\nYes\"}}]\n}\n",
                vec!["Yes"],
            ),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            let read = read_all("application/json", body).whole();
            assert_eq!(read, Some(expected), "{body}");
        }
    }

    #[test]
    fn every_stream_of_events_is_read() {
        let chat = |index: u8, text: &str, end: &str| {
            format!(
                r#"{{"choices":[{{"index":{index},"delta":{{"content":"{text}"}},"finish_reason":{end}}}]}}"#
            )
        };
        let two = [
            chat(0, "a", "null"),
            chat(0, "", "\"stop\""),
            chat(1, "b", "null"),
            chat(1, "", "\"stop\""),
        ];
        let two: Vec<&str> = two.iter().map(String::as_str).collect();
        for (documents, expected) in [
            (two, vec!["a", "b"]),
            (
                vec![r#"{"choices":[{"text":"Y"}]}"#, r#"{"choices":[{"text":"es"}]}"#, "[DONE]"],
                vec!["Yes"],
            ),
            (
                vec![
                    r#"{"type":"response.created","response":{}}"#,
                    r#"{"type":"response.output_text.delta","delta":"Yes"}"#,
                    r#"{"type":"response.completed","response":{}}"#,
                ],
                vec!["Yes"],
            ),
            (
                vec![r#"{"content":"Y","stop":false}"#, r#"{"content":"es","stop":true}"#],
                vec!["Yes"],
            ),
            (
                vec![
                    r#"{"token":"Y","finish_reason":null}"#,
                    r#"{"token":"es","finish_reason":"stop"}"#,
                ],
                vec!["Yes"],
            ),
            (vec![r#"{"token":"Y"}"#, r#"{"token":"es"}"#], vec!["Yes"]),
            (
                vec![
                    r#"{"choices":[],"usage":{}}"#,
                    "",
                    r#"{"choices":[{"delta":{"content":"Yes"}}]}"#,
                    "[DONE]",
                ],
                vec!["Yes"],
            ),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            let stream = events(&documents);
            let read = read_all("text/event-stream; charset=utf-8", &stream).whole();
            assert_eq!(read, Some(expected), "{stream}");
        }
    }

    #[test]
    fn a_response_tells_its_id_and_nothing_else_does() {
        let whole = r#"{"id":"resp_1","object":"response","error":null,"output":[]}"#;
        let chat = r#"{"id":"chatcmpl-1","object":"chat.completion","choices":[{"message":{"content":"Hi"}}]}"#;
        let stream = events(&[
            r#"{"type":"response.created","response":{"id":"resp_2"}}"#,
            r#"{"type":"response.output_text.delta","item_id":"msg_1","delta":"Yes"}"#,
            r#"{"type":"response.completed","response":{"id":"resp_2"}}"#,
        ]);
        for (content_type, body, expected) in [
            ("application/json", whole, Some("resp_1")),
            ("application/json", chat, None),
            ("text/event-stream", stream.as_str(), Some("resp_2")),
        ] {
            let Finished::Whole(reply) = read_all(content_type, body) else { panic!("{body}") };
            assert_eq!(reply.response.as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn what_is_broken_or_an_error_is_no_story() {
        for (content_type, body) in [
            ("text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"Y\"}}]}\n\n"),
            ("text/event-stream", "data: {\"choices\":[{\"del\n\ndata: [DONE]\n\n"),
            ("text/event-stream", "data: {\"error\":{\"message\":\"no\"}}\n\ndata: [DONE]\n\n"),
            ("text/event-stream", "data: {\"error\":{\"message\":\"no\"}}\n\ndata: {\"cho"),
            ("application/json", "{\"error\":\"no\"}"),
            ("application/json", "<html>"),
            ("application/json", ""),
        ] {
            assert_eq!(read_all(content_type, body), Finished::Unread, "{body}");
        }
    }

    #[test]
    fn what_ends_before_the_end_it_speaks_of_is_unfinished() {
        let open = r#"{"choices":[{"index":0,"delta":{"content":"Y"},"finish_reason":null}]}"#;
        for (content_type, body) in [
            ("text/event-stream", format!("data: {open}\n\n")),
            ("text/event-stream", format!("data: {open}\n\ndata: {{\"cho")),
            ("text/event-stream", "data: {\"cho".to_owned()),
            ("text/event-stream", "dat".to_owned()),
            ("text/event-stream", String::new()),
            ("text/event-stream", events(&[r#"{"content":"Y","stop":false}"#])),
            ("text/event-stream", events(&[r#"{"token":"Y","finish_reason":null}"#])),
            (
                "text/event-stream",
                events(&[r#"{"type":"response.output_text.delta","delta":"Y"}"#]),
            ),
            (
                "application/x-ndjson",
                "{\"message\":{\"content\":\"Y\"},\"done\":false}\n".to_owned(),
            ),
            ("application/x-ndjson", "{\"response\":\"Y\",\"done\":false}\n{\"resp".to_owned()),
        ] {
            assert_eq!(read_all(content_type, &body), Finished::Unfinished, "{body}");
        }
    }
}
