//! A stream that always has an end.
//!
//! Front ends wait forever for the end of a stream that breaks off. Whole lines pass at once. The
//! beginning of a line waits for its rest, so that a break never leaves half an event, which
//! front ends cannot parse. A stream that does not break arrives byte for byte.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use loreloom_ports::{BodyStream, UpstreamError};
use serde_json::json;
use tracing::Span;

/// A line that is longer than this passes in pieces.
const LONGEST_LINE: usize = 1 << 20;

/// How a stream is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamFraming {
    /// It is no stream.
    None,
    /// Server-sent events, as OpenAI, llama.cpp and KoboldCpp send them.
    Events,
    /// Server-sent events that say their type, as the responses API sends them.
    TypedEvents,
    /// A JSON document on each line, as Ollama sends them.
    Lines,
}

impl StreamFraming {
    /// How a reply of this path and type is divided.
    pub(crate) fn of(path: &str, content_type: &str) -> Self {
        let events = if path.ends_with("/responses") { Self::TypedEvents } else { Self::Events };
        let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match media.as_str() {
            "text/event-stream" => events,
            "application/x-ndjson" | "application/jsonl" => Self::Lines,
            _ => Self::None,
        }
    }

    /// The last bytes of a stream, `end`, with a warning that front ends skip: a comment, or a
    /// field that they do not know.
    pub(crate) fn warned(self, warning: &str, end: Bytes) -> Bytes {
        let plain: String = warning.chars().filter(|letter| !letter.is_control()).collect();
        match self {
            Self::None => end,
            // Without a blank line: an event may have begun.
            Self::Events | Self::TypedEvents => {
                let mut warned =
                    BytesMut::from(format!(": loreloom-warning: {plain}\n").as_bytes());
                warned.extend_from_slice(&end);
                warned.freeze()
            }
            Self::Lines => {
                let field = json!(plain);
                let rest = end.strip_prefix(b"{").filter(|rest| rest.starts_with(b"\""));
                let last: &[u8] = b"\"message\":{\"role\":\"assistant\",\"content\":\"\"},\
                    \"response\":\"\",\"done\":true}\n";
                let mut warned =
                    BytesMut::from(format!("{{\"loreloom_warning\":{field},").as_bytes());
                warned.extend_from_slice(rest.unwrap_or(last));
                if rest.is_none() {
                    warned.extend_from_slice(&end);
                }
                warned.freeze()
            }
        }
    }

    /// The event that says that the reply is incomplete.
    fn cut_off(self, error: &UpstreamError) -> Bytes {
        let message = error.to_string();
        let details = json!({ "message": message, "type": "upstream_cut", "code": "upstream_cut" });
        Bytes::from(match self {
            Self::None | Self::Events => {
                let event = json!({ "error": details });
                format!("\n\ndata: {event}\n\ndata: [DONE]\n\n")
            }
            Self::TypedEvents => {
                let event = json!({
                    "type": "error", "code": "upstream_cut", "message": message, "error": details,
                });
                format!("\n\nevent: error\ndata: {event}\n\ndata: [DONE]\n\n")
            }
            Self::Lines => format!("{}\n", json!({ "error": message })),
        })
    }
}

/// Called with the reason when a stream breaks off.
pub(super) type WhenBroken = Box<dyn Fn(&UpstreamError) + Send>;

/// Passes a stream on line by line; if it breaks off, it ends with an error.
pub(super) struct EndedStream {
    body: BodyStream,
    broke: WhenBroken,
    framing: StreamFraming,
    held: BytesMut,
    ended: bool,
    /// The request's: a body is read after its request was answered.
    span: Span,
}

impl EndedStream {
    pub(super) fn new(body: BodyStream, framing: StreamFraming, broke: WhenBroken) -> Self {
        Self { body, broke, framing, held: BytesMut::new(), ended: false, span: Span::current() }
    }

    /// The whole lines that can pass now.
    fn lines(&mut self, bytes: &Bytes) -> Option<Bytes> {
        let end = bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(end) = end.map(|at| at + 1) else {
            self.held.extend_from_slice(bytes);
            let long = self.held.len() > LONGEST_LINE;
            return long.then(|| self.held.split().freeze());
        };
        if self.held.is_empty() {
            self.held.extend_from_slice(&bytes[end..]);
            return Some(bytes.slice(..end));
        }
        self.held.extend_from_slice(&bytes[..end]);
        let whole = self.held.split().freeze();
        self.held.extend_from_slice(&bytes[end..]);
        Some(whole)
    }
}

impl Stream for EndedStream {
    type Item = Result<Bytes, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            match std::task::ready!(self.body.poll_next_unpin(context)) {
                Some(Ok(bytes)) => {
                    if let Some(lines) = self.lines(&bytes) {
                        return Poll::Ready(Some(Ok(lines)));
                    }
                }
                Some(Err(error)) => {
                    self.ended = true;
                    self.span.in_scope(|| {
                        tracing::warn!(%error, "the reply broke off");
                        (self.broke)(&error);
                    });
                    return Poll::Ready(Some(Ok(self.framing.cut_off(&error))));
                }
                None => {
                    self.ended = true;
                    let rest = self.held.split().freeze();
                    return Poll::Ready((!rest.is_empty()).then_some(Ok(rest)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn cut(reason: &str) -> UpstreamError {
        UpstreamError::Cut { address: "a".to_owned(), reason: reason.to_owned() }
    }

    async fn pass(pieces: Vec<Result<Bytes, UpstreamError>>, framing: StreamFraming) -> Vec<Bytes> {
        let ending = EndedStream::new(Box::pin(stream::iter(pieces)), framing, Box::new(|_| ()));
        ending.map(Result::unwrap).collect().await
    }

    const EVENTS: &[u8] = b"data: {\"a\":\"\xe6\x97\xa5\"}\r\n\r\n: x\n\ndata: [DONE]\n\nrest";

    #[test]
    fn a_warning_is_a_field_of_the_last_line_that_front_ends_do_not_know() {
        let end = Bytes::from("{\"done\":true}\n");
        let warned = StreamFraming::Lines.warned("a \"b\"\n", end);
        assert_eq!(warned, "{\"loreloom_warning\":\"a \\\"b\\\"\",\"done\":true}\n");
        let alone = StreamFraming::Lines.warned("a", Bytes::new());
        let alone: serde_json::Value = serde_json::from_slice(&alone).unwrap();
        assert_eq!((&alone["loreloom_warning"], &alone["done"]), (&json!("a"), &json!(true)));
    }

    #[tokio::test]
    async fn a_whole_stream_arrives_byte_for_byte_however_it_is_split() {
        for size in 1..=EVENTS.len() {
            let pieces = EVENTS.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece)));
            let passed = pass(pieces.collect(), StreamFraming::Events).await;
            assert_eq!(passed.concat(), EVENTS, "pieces of {size}");
        }
    }

    #[tokio::test]
    async fn whole_lines_do_not_wait() {
        let pieces = ["data: 1\n\nda", "ta: 2\n", "\n"].map(|piece| Ok(Bytes::from(piece)));
        let passed = pass(pieces.into(), StreamFraming::Events).await;
        assert_eq!(passed, ["data: 1\n\n", "data: 2\n", "\n"]);
    }

    #[tokio::test]
    async fn wherever_a_stream_is_cut_no_half_event_is_left_and_it_ends_with_an_error() {
        for at in 0..EVENTS.len() {
            let pieces = vec![Ok(Bytes::copy_from_slice(&EVENTS[..at])), Err(cut("gone"))];
            let passed = pass(pieces, StreamFraming::Events).await.concat();
            let text = String::from_utf8(passed).unwrap();
            assert!(text.ends_with("data: [DONE]\n\n"), "{at}: {text}");
            let data = text.split('\n').filter_map(|line| line.trim_end().strip_prefix("data: "));
            for data in data.filter(|data| *data != "[DONE]") {
                serde_json::from_str::<serde_json::Value>(data).unwrap();
            }
            assert!(text.contains("upstream_cut"), "{at}: {text}");
        }
        let pieces = vec![Ok(Bytes::from("{\"done\":false}\n{\"do")), Err(cut("gone"))];
        let passed = pass(pieces, StreamFraming::Lines).await;
        assert_eq!(passed.len(), 2);
        let error: serde_json::Value = serde_json::from_slice(&passed[1]).unwrap();
        assert_eq!(error["error"], cut("gone").to_string());
    }
}
