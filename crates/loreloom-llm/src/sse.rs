//! Splits streams into events and lines, however the bytes arrive.
//!
//! Both splitters are fed whatever a socket gives and hand out what is complete. They work
//! on bytes and decode text only when an event is whole, so a character cut in two by the
//! network is never damaged.

/// One server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The event's name; empty where the server gives none.
    pub name: String,
    /// Its data, the lines joined by line feeds.
    pub data: String,
}

/// Decodes server-sent events as the HTML standard describes them: lines end in LF, CR or
/// CRLF, comments are skipped, an event ends with a blank line. An event without its
/// end is dropped, as the standard asks; [`SseDecoder::finish`] returns it nevertheless, for
/// servers that forget the last blank line.
#[derive(Clone, Debug, Default)]
pub struct SseDecoder {
    lines: LineSplitter,
    name: String,
    data: Option<String>,
    begun: bool,
}

impl SseDecoder {
    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and returns the events they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let lines = self.lines.push(bytes);
        lines.into_iter().filter_map(|line| self.line(&line)).collect()
    }

    /// The event the stream ended in, if it had data.
    pub fn finish(mut self) -> Option<Event> {
        if let Some(rest) = std::mem::take(&mut self.lines).finish() {
            let _blank = self.line(&rest);
        }
        self.dispatch()
    }

    fn line(&mut self, line: &[u8]) -> Option<Event> {
        let text = String::from_utf8_lossy(line);
        let text = if std::mem::replace(&mut self.begun, true) {
            text.as_ref()
        } else {
            text.strip_prefix('\u{feff}').unwrap_or(&text)
        };
        if text.is_empty() {
            return self.dispatch();
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // `id` and `retry` serve reconnecting, which a chat stream cannot do; a comment
            // has an empty field.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| Event { name, data })
    }
}

/// Splits bytes into lines ended by LF, CR or CRLF, without the ends.
#[derive(Clone, Debug, Default)]
pub struct LineSplitter {
    rest: Vec<u8>,
    after_cr: bool,
}

impl LineSplitter {
    /// A splitter at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and returns the lines they complete, blank ones included.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for &byte in bytes {
            let ends_crlf = std::mem::replace(&mut self.after_cr, byte == b'\r') && byte == b'\n';
            match byte {
                b'\n' if ends_crlf => {}
                b'\n' | b'\r' => lines.push(std::mem::take(&mut self.rest)),
                other => self.rest.push(other),
            }
        }
        lines
    }

    /// The last line, if it has no end.
    pub fn finish(self) -> Option<Vec<u8>> {
        (!self.rest.is_empty()).then_some(self.rest)
    }
}

/// Splits newline-delimited JSON, Ollama's stream form, into its non-blank lines.
#[derive(Clone, Debug, Default)]
pub struct NdjsonSplitter(LineSplitter);

impl NdjsonSplitter {
    /// A splitter at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and returns the documents they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = self.0.push(bytes);
        lines.retain(|line| !line.trim_ascii().is_empty());
        lines
    }

    /// The last document, if no line feed ends it.
    pub fn finish(self) -> Option<Vec<u8>> {
        self.0.finish().filter(|line| !line.trim_ascii().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    fn decode(pieces: &[&[u8]]) -> (Vec<Event>, Option<Event>) {
        let mut decoder = SseDecoder::new();
        let events = pieces.iter().flat_map(|piece| decoder.push(piece)).collect();
        (events, decoder.finish())
    }

    const STREAM: &str = "\u{feff}: hello\r\ndata: {\"a\":\"né 日本\"}\r\n\r\n\
        data: three\r\ndata: four\r\n\r\n\
        event: delta\rdata:one\rdata: two\r\rid: 7\n\nretry: 3\ndata\n\nevent: lost\n\n\
        data: [DONE]\n\ndata: cut";

    fn events_of_stream() -> Vec<Event> {
        vec![
            event("", "{\"a\":\"né 日本\"}"),
            event("", "three\nfour"),
            event("delta", "one\ntwo"),
            event("", ""),
            event("", "[DONE]"),
        ]
    }

    #[test]
    fn every_split_of_a_stream_gives_the_same_events() {
        let bytes = STREAM.as_bytes();
        let expected = (events_of_stream(), Some(event("", "cut")));
        assert_eq!(decode(&[bytes]), expected);
        for at in 0..=bytes.len() {
            assert_eq!(decode(&[&bytes[..at], &bytes[at..]]), expected, "split at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(&single), expected);
    }

    #[test]
    fn a_stream_that_ends_between_events_leaves_nothing() {
        assert_eq!(decode(&[b"data: x\n\n"]), (vec![event("", "x")], None));
        assert_eq!(decode(&[b"data: x\n\n: bye\n"]), (vec![event("", "x")], None));
        assert_eq!(decode(&[]), (vec![], None));
    }

    #[test]
    fn broken_utf8_is_replaced_and_does_not_end_the_stream() {
        assert_eq!(decode(&[b"data: a\xffb\n\n"]).0, [event("", "a\u{fffd}b")]);
    }

    #[test]
    fn ndjson_lines_survive_every_split() {
        let bytes = "{\"t\":\"é\"}\n\r\n  \n{\"b\":2}\n{\"c\":3}".as_bytes();
        for at in 0..=bytes.len() {
            let mut splitter = NdjsonSplitter::new();
            let mut lines = splitter.push(&bytes[..at]);
            lines.extend(splitter.push(&bytes[at..]));
            assert_eq!(lines, ["{\"t\":\"é\"}".as_bytes(), b"{\"b\":2}"], "split at {at}");
            assert_eq!(splitter.finish().as_deref(), Some(&b"{\"c\":3}"[..]), "split at {at}");
        }
    }
}
