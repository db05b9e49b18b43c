//! Reading a model's answer, whole or as it arrives.

use serde_json::Value;

use super::{ollama, openai};
use crate::sse::{NdjsonSplitter, SseDecoder};

/// How a server writes its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's chat completions: one document, or server-sent events.
    OpenAi,
    /// Ollama's chat: one document, or one on each line.
    Ollama,
}

/// What one document of an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReplyPiece {
    /// Text it adds.
    pub(super) text: String,
    /// Whether the reply ends with it.
    pub(super) ends: bool,
}

/// An answer that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not JSON.
    #[error("it is not JSON: {reason}")]
    NotJson {
        /// What the parser says.
        reason: String,
    },
    /// A field is missing or of another type.
    #[error("`{field}` is missing or not {expected}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// The server says that something failed on its side.
    #[error("the server reports an error: {message}")]
    Reported {
        /// What it says.
        message: String,
    },
    /// It stopped before it was complete.
    #[error("the stream ended before the reply did")]
    Unfinished,
}

/// How the bytes are divided into documents.
#[derive(Debug)]
enum ReadFraming {
    Events(SseDecoder),
    Lines(NdjsonSplitter),
    Document(Vec<u8>),
}

/// Puts a reply together from the bytes of an answer.
///
/// Usable on a live stream: [`ReplyReader::push`] returns the text that has become known.
#[derive(Debug)]
pub struct ReplyReader {
    wire: Wire,
    framing: ReadFraming,
    text: String,
    ended: bool,
}

impl ReplyReader {
    /// A reader for an answer with this `Content-Type`.
    pub fn new(wire: Wire, content_type: &str) -> Self {
        let media = content_type.split(';').next().unwrap_or_default().trim();
        let framing = match wire {
            Wire::OpenAi if media.eq_ignore_ascii_case("text/event-stream") => {
                ReadFraming::Events(SseDecoder::new())
            }
            Wire::OpenAi => ReadFraming::Document(Vec::new()),
            // Ollama labels streams and documents carelessly; a document is one line too.
            Wire::Ollama => ReadFraming::Lines(NdjsonSplitter::new()),
        };
        Self { wire, framing, text: String::new(), ended: false }
    }

    /// Takes the next bytes and returns the text they add.
    pub fn push(&mut self, bytes: &[u8]) -> Result<String, Unreadable> {
        let before = self.text.len();
        match &mut self.framing {
            ReadFraming::Events(decoder) => {
                // Some proxies keep a stream alive with events that have no data.
                for event in decoder.push(bytes).iter().filter(|one| !one.data.trim().is_empty()) {
                    self.document(event.data.as_bytes())?;
                }
            }
            ReadFraming::Lines(splitter) => {
                for line in splitter.push(bytes) {
                    self.document(&line)?;
                }
            }
            ReadFraming::Document(body) => body.extend_from_slice(bytes),
        }
        Ok(self.text[before..].to_owned())
    }

    /// The text so far, think blocks included.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the server has said that the reply is complete.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The whole text, think blocks included, once the answer's last byte is there.
    pub fn finish(mut self) -> Result<String, Unreadable> {
        let rest = match std::mem::replace(&mut self.framing, ReadFraming::Document(Vec::new())) {
            ReadFraming::Events(decoder) => decoder.finish().map(|event| event.data.into_bytes()),
            ReadFraming::Lines(splitter) => splitter.finish(),
            ReadFraming::Document(body) => Some(body),
        };
        // Data after the end does not belong to the reply.
        if let Some(rest) = rest.filter(|_| !self.ended) {
            self.document(&rest)?;
        }
        if self.ended { Ok(self.text) } else { Err(Unreadable::Unfinished) }
    }

    fn document(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        if bytes.trim_ascii() == b"[DONE]" {
            self.ended = true;
            return Ok(());
        }
        let document: Value = serde_json::from_slice(bytes)
            .map_err(|error| Unreadable::NotJson { reason: error.to_string() })?;
        if let Some(message) = reported_error(&document) {
            return Err(Unreadable::Reported { message });
        }
        let piece = match self.wire {
            Wire::OpenAi => openai::read(&document)?,
            Wire::Ollama => ollama::read(&document)?,
        };
        self.text.push_str(&piece.text);
        self.ended |= piece.ends;
        Ok(())
    }
}

/// The message of `{"error": …}`, which servers also send with status 200.
pub(super) fn reported_error(document: &Value) -> Option<String> {
    let error = document.get("error").filter(|error| !error.is_null())?;
    let message = error.as_str().or_else(|| error["message"].as_str());
    Some(message.map_or_else(|| error.to_string(), str::to_owned))
}
