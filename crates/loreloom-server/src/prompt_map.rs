//! A map of a prompt: the place of each injected text, in bytes and tokens, and how much of it the
//! previous prompt had.

use loreloom_core::{
    chat::Role, place::Provenance, prompt::PromptMessage, report::Span, tokens::TokenCounter,
    units::Tokens,
};
use serde::Serialize;

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct MappedMessage {
    /// Its role.
    pub(crate) role: Role,
    /// The speaker's name, if the model gets it.
    pub(crate) name: Option<String>,
    /// Its text, to the byte as it was sent.
    pub(crate) content: String,
    /// Tokens of the messages before it.
    pub(crate) token_start: u32,
    /// Tokens up to its end.
    pub(crate) token_end: u32,
}

/// A woven text in a prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct MappedSpan {
    /// Names the span for links.
    pub(crate) id: usize,
    /// Where the text comes from.
    pub(crate) source: Provenance,
    /// What people call it.
    pub(crate) title: String,
    /// The message, counted from 0.
    pub(crate) message: usize,
    /// First byte inside that message's text (UTF-8).
    pub(crate) start: usize,
    /// One past the last byte.
    pub(crate) end: usize,
    /// Tokens of the text alone.
    pub(crate) tokens: Tokens,
    /// Tokens of the prompt before it.
    pub(crate) token_start: u32,
    /// Tokens of the prompt up to its end.
    pub(crate) token_end: u32,
    /// Whether it is in the part that the previous prompt had.
    pub(crate) stable: bool,
}

/// What a prompt shares with the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct Unchanged {
    /// The message of the first change, counted from 0.
    pub(crate) message: usize,
    /// The first byte that differs inside its text.
    pub(crate) byte: usize,
    /// Tokens of the unchanged beginning.
    pub(crate) tokens: u32,
    /// What the first change is.
    pub(crate) cause: Cause,
    /// The woven text that the first change falls into, by its span's id.
    pub(crate) span: Option<usize>,
}

/// What ended the unchanged beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    /// Nothing: the prompt before is a beginning of this one.
    Grew,
    /// A woven text came, went or changed.
    Woven,
    /// A message of the front end changed.
    Message,
}

/// A measured prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct PromptMap {
    /// The messages.
    pub(crate) messages: Vec<MappedMessage>,
    /// The injected texts, in the order of the prompt.
    pub(crate) spans: Vec<MappedSpan>,
    /// Tokens of the whole.
    pub(crate) tokens: u32,
    /// The tokenizer that counted.
    pub(crate) tokenizer: String,
    /// What it shares with the prompt of the turn before on the path; `None` at the first.
    pub(crate) unchanged: Option<Unchanged>,
}

impl PromptMap {
    /// Measures a prompt. `titles` says what people call a source.
    pub(crate) fn of(
        prompt: &[PromptMessage],
        spans: &[Span],
        before: Option<&[PromptMessage]>,
        titles: impl Fn(&Provenance) -> String,
        counter: &dyn TokenCounter,
    ) -> Self {
        let mut tokens = 0;
        let messages: Vec<MappedMessage> = prompt
            .iter()
            .map(|message| {
                let token_start = tokens;
                tokens += counter.count(&message.content).0;
                let PromptMessage { role, name, content } = message.clone();
                MappedMessage {
                    role,
                    name,
                    content: content.to_string(),
                    token_start,
                    token_end: tokens,
                }
            })
            .collect();
        let split = before.map(|before| first_difference(before, prompt));
        let mut spans: Vec<&Span> = spans.iter().collect();
        spans.sort_by_key(|span| (span.message, span.start));
        let spans: Vec<MappedSpan> = spans
            .into_iter()
            .enumerate()
            .filter_map(|(id, span)| {
                let message = messages.get(span.message)?;
                let stable = split.is_some_and(|split| (span.message, span.end) <= split);
                let title = titles(&span.source);
                Some(MappedSpan { id, title, stable, ..mapped(span, message, counter) })
            })
            .collect();
        let unchanged = before
            .zip(split)
            .map(|(before, split)| unchanged(before, &messages, &spans, split, counter));
        Self { messages, spans, tokens, tokenizer: counter.name().to_owned(), unchanged }
    }
}

/// The tokens of a message's text up to a byte, after the messages before it.
fn tokens_up_to(message: &MappedMessage, byte: usize, counter: &dyn TokenCounter) -> u32 {
    let text = message.content.get(..byte).unwrap_or(&message.content);
    message.token_start + counter.count(text).0
}

fn mapped(span: &Span, message: &MappedMessage, counter: &dyn TokenCounter) -> MappedSpan {
    MappedSpan {
        id: 0,
        source: span.source.clone(),
        title: String::new(),
        message: span.message,
        start: span.start,
        end: span.end,
        tokens: span.tokens,
        token_start: tokens_up_to(message, span.start, counter),
        token_end: tokens_up_to(message, span.end, counter),
        stable: false,
    }
}

/// The first message, and the first byte of its text, that differ from another prompt.
fn first_difference(before: &[PromptMessage], now: &[PromptMessage]) -> (usize, usize) {
    for (at, message) in now.iter().enumerate() {
        let Some(old) = before.get(at) else { return (at, 0) };
        if old.role != message.role || old.name != message.name {
            return (at, 0);
        }
        let same = old.content.bytes().zip(message.content.bytes());
        let mut same = same.take_while(|(old, new)| old == new).count();
        while !message.content.is_char_boundary(same) {
            same -= 1;
        }
        if same < message.content.len() || same < old.content.len() {
            return (at, same);
        }
    }
    (now.len(), 0)
}

fn unchanged(
    before: &[PromptMessage],
    messages: &[MappedMessage],
    spans: &[MappedSpan],
    (message, byte): (usize, usize),
    counter: &dyn TokenCounter,
) -> Unchanged {
    let tokens = match messages.get(message) {
        Some(at) => tokens_up_to(at, byte, counter),
        None => messages.last().map_or(0, |last| last.token_end),
    };
    let span =
        spans.iter().find(|span| span.message == message && span.start <= byte && byte < span.end);
    let grew = byte == 0 && message >= before.len();
    let cause = match span {
        _ if grew => Cause::Grew,
        Some(_) => Cause::Woven,
        None => Cause::Message,
    };
    Unchanged { message, byte, tokens, cause, span: span.filter(|_| !grew).map(|span| span.id) }
}

#[cfg(test)]
mod tests {
    use loreloom_core::tokens::ByteEstimate;

    use super::*;

    fn prompt(texts: &[&str]) -> Vec<PromptMessage> {
        let message =
            |text: &&str| PromptMessage { role: Role::User, name: None, content: (*text).into() };
        texts.iter().map(message).collect()
    }

    fn span(message: usize, start: usize, end: usize) -> Span {
        let source = Provenance::Lore { book: "b".into(), entry: "b/0".into() };
        Span { source, message, start, end, tokens: Tokens(2) }
    }

    fn shared(before: &[&str], now: &[&str], spans: &[Span]) -> (usize, usize, Cause) {
        let (before, now) = (prompt(before), prompt(now));
        let titles = |_: &Provenance| String::new();
        let map = PromptMap::of(&now, spans, Some(&before), titles, &ByteEstimate);
        let unchanged = map.unchanged.unwrap();
        (unchanged.message, unchanged.byte, unchanged.cause)
    }

    #[test]
    fn the_first_change_has_a_place_and_a_cause() {
        assert_eq!(shared(&["a"], &["a", "b"], &[]), (1, 0, Cause::Grew));
        assert_eq!(shared(&["ab", "c"], &["ax", "c"], &[]), (0, 1, Cause::Message));
        assert_eq!(shared(&["ab", "c"], &["ab lore", "c"], &[span(0, 2, 7)]), (0, 2, Cause::Woven));
        // Never inside a character.
        assert_eq!(shared(&["é"], &["è"], &[]), (0, 0, Cause::Message));
    }

    #[test]
    fn spans_have_ranges_of_bytes_and_tokens() {
        let now = prompt(&["0123456789", "lore first, then said"]);
        let titles = |_: &Provenance| "Lore".to_owned();
        let map = PromptMap::of(&now, &[span(1, 0, 10)], Some(&now), titles, &ByteEstimate);
        let [only] = map.spans.as_slice() else { panic!("{:?}", map.spans) };
        assert_eq!((only.token_start, only.token_end), (3, 6));
        assert_eq!((map.tokens, map.messages[1].token_end), (10, 10));
        assert!(only.stable);
    }
}
