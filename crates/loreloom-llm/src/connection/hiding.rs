//! Cuts a model's notes out of an answer while it is passed on, in any wire format.
//!
//! A document is recognised by its shape. One whose text has nothing to hide passes byte for byte.
//! A line of a stream waits until it is complete; other documents wait for their end.

use std::collections::BTreeMap;

use bytes::Bytes;
use loreloom_core::notebook::NoteCutter;
use loreloom_ports::ReplyHiding;
use serde_json::{Value, json};

/// The longest line or document that is searched; a longer one is passed on unchanged.
const LONGEST: usize = 32 << 20;

/// Cuts notes out of an answer with this `Content-Type`.
pub(crate) fn hiding(content_type: &str, cutter: NoteCutter) -> Box<dyn ReplyHiding> {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    let framing = if media.eq_ignore_ascii_case("text/event-stream") {
        HiddenFraming::Events
    } else {
        HiddenFraming::Lines
    };
    let texts = ReplyTexts { cutter, passed: BTreeMap::new() };
    Box::new(Hiding { framing, texts, rest: Vec::new(), head: Vec::new() })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HiddenFraming {
    /// Server-sent events.
    Events,
    /// A document on each line.
    Lines,
    /// One document, of several lines.
    Document,
    /// Too long to be looked into.
    Unread,
}

struct Hiding {
    framing: HiddenFraming,
    texts: ReplyTexts,
    /// The beginning of a line, or of a document.
    rest: Vec<u8>,
    /// Lines of an event before its data.
    head: Vec<u8>,
}

impl ReplyHiding for Hiding {
    fn push(&mut self, bytes: &Bytes) -> Bytes {
        if self.framing == HiddenFraming::Unread {
            return bytes.clone();
        }
        let mut out = Vec::new();
        let searched = self.rest.len();
        self.rest.extend_from_slice(bytes);
        let mut from = 0;
        let mut search = searched;
        while self.framing != HiddenFraming::Document {
            let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
            let Some(end) = self.rest[search..].iter().position(ends) else { break };
            let end = search + end;
            let (line, ended) = (self.rest[from..end].to_vec(), self.rest[end]);
            let is_crlf = line.is_empty() && ended == b'\n' && self.head.ends_with(b"\r");
            if !is_crlf && !self.line(&line, &mut out) {
                break;
            }
            self.headed(&mut out).push(ended);
            (from, search) = (end + 1, end + 1);
        }
        self.rest.drain(..from);
        if self.rest.len() > LONGEST {
            self.framing = HiddenFraming::Unread;
            out.append(&mut self.head);
            out.append(&mut self.rest);
        }
        out.into()
    }

    fn finish(mut self: Box<Self>) -> Bytes {
        let mut out = Vec::new();
        let rest = std::mem::take(&mut self.rest);
        if self.framing == HiddenFraming::Document || !self.line(&rest, &mut out) {
            self.texts.document(&rest, &mut out);
        }
        out.append(&mut self.head);
        if self.framing == HiddenFraming::Events && !rest.is_empty() && self.texts.holds() {
            out.extend(b"\n\n");
        }
        self.release(&mut out);
        out.into()
    }
}

impl Hiding {
    /// The end of a line goes behind the line.
    fn headed<'a>(&'a mut self, out: &'a mut Vec<u8>) -> &'a mut Vec<u8> {
        if self.head.is_empty() { out } else { &mut self.head }
    }

    /// Passes a line on, without its end. `false` if it belongs to a longer document.
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) -> bool {
        if self.framing == HiddenFraming::Lines {
            return self.document_line(line, out);
        }
        let Some(data) = line.strip_prefix(b"data:") else {
            let is_head =
                [&b"event:"[..], b"id:", b"retry:"].iter().any(|one| line.starts_with(one));
            if is_head {
                self.head.extend_from_slice(line);
            } else {
                out.append(&mut self.head);
                out.extend_from_slice(line);
            }
            return true;
        };
        let mut document = serde_json::from_slice::<Value>(data).ok();
        let kind = document.as_ref().and_then(|document| document["type"].as_str());
        if data.trim_ascii() == b"[DONE]" || kind == Some("response.output_text.done") {
            self.release(out);
        }
        out.append(&mut self.head);
        let changed = document.as_mut().is_some_and(|document| self.texts.cut(document));
        match document.filter(|_| changed) {
            Some(document) => out.extend(format!("data: {document}").into_bytes()),
            None => out.extend_from_slice(line),
        }
        true
    }

    fn document_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> bool {
        if line.trim_ascii().is_empty() {
            out.extend_from_slice(line);
            return true;
        }
        let Ok(mut document) = serde_json::from_slice::<Value>(line) else {
            self.framing = HiddenFraming::Document;
            return false;
        };
        if self.texts.cut(&mut document) {
            out.extend(document.to_string().into_bytes());
        } else {
            out.extend_from_slice(line);
        }
        true
    }

    /// Sends what was held back of texts without an end.
    fn release(&mut self, out: &mut Vec<u8>) {
        for document in self.texts.release() {
            match (self.framing, document["type"].as_str()) {
                (HiddenFraming::Events, Some(kind)) => {
                    out.extend(format!("event: {kind}\ndata: {document}\n\n").into_bytes());
                }
                (HiddenFraming::Events, None) => {
                    out.extend(format!("data: {document}\n\n").into_bytes());
                }
                (HiddenFraming::Lines | HiddenFraming::Document | HiddenFraming::Unread, _) => {
                    out.extend(format!("{document}\n").into_bytes());
                }
            }
        }
    }
}

/// Which text of an answer: a choice, or an item and its part.
type TextId = (u64, u64);

/// The texts of an answer.
struct ReplyTexts {
    /// One that has cut nothing.
    cutter: NoteCutter,
    passed: BTreeMap<TextId, PassedText>,
}

struct PassedText {
    cutter: NoteCutter,
    /// The document with the last piece, while part of it is held back.
    last: Option<Value>,
}

/// How much of a text a document has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// A piece.
    ReplyPiece,
    /// The last piece.
    End,
    /// All of it, including earlier pieces.
    Whole,
}

impl Extent {
    fn end_if(ends: bool) -> Self {
        if ends { Self::End } else { Self::ReplyPiece }
    }
}

impl ReplyTexts {
    /// Cuts notes out of a document. Returns whether it changed.
    fn cut(&mut self, document: &mut Value) -> bool {
        let mut held = Vec::new();
        let changed = visit(document, &mut |id, parent, field, extent| {
            let fresh = || PassedText { cutter: self.cutter.clone(), last: None };
            let mut alone;
            let passed = if extent == Extent::Whole {
                alone = fresh();
                &mut alone
            } else {
                self.passed.entry(id).or_insert_with(fresh)
            };
            let changed = passed.rewrite(parent, field, extent != Extent::ReplyPiece);
            passed.last = None;
            if passed.cutter.holds() {
                held.push(id);
            }
            changed
        });
        for id in held {
            if let Some(passed) = self.passed.get_mut(&id) {
                passed.last = Some(document.clone());
            }
        }
        changed
    }

    /// Cuts notes out of complete documents; what is not a document stays unchanged.
    fn document(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
        let Ok(mut documents) = documents.collect::<Result<Vec<_>, _>>() else {
            out.extend_from_slice(bytes);
            return;
        };
        let changed = documents.iter_mut().filter_map(|one| self.cut(one).then_some(())).count();
        if changed == 0 {
            out.extend_from_slice(bytes);
            return;
        }
        let texts: Vec<String> = documents.iter().map(Value::to_string).collect();
        out.extend(texts.join("\n").into_bytes());
    }

    /// Whether anything is held back.
    fn holds(&self) -> bool {
        self.passed.values().any(|passed| passed.last.is_some())
    }

    /// Documents for what was held back.
    fn release(&mut self) -> Vec<Value> {
        let mut documents = Vec::new();
        for (&id, passed) in &mut self.passed {
            let Some(mut document) = passed.last.take() else { continue };
            let rest = passed.cutter.finish();
            if rest.is_empty() {
                continue;
            }
            visit(&mut document, &mut |other, parent, field, _| {
                parent[field] = json!(if other == id { rest.as_str() } else { "" });
                true
            });
            documents.push(document);
        }
        documents
    }
}

impl PassedText {
    /// Cuts notes out of a field, which may be text, a list of parts, or not there.
    fn rewrite(&mut self, parent: &mut Value, field: &str, ends: bool) -> bool {
        let parts: Vec<&mut Value> = match parent.get_mut(field) {
            Some(text @ Value::String(_)) => vec![text],
            Some(Value::Array(parts)) => {
                parts.iter_mut().filter_map(|part| part.get_mut("text")).collect()
            }
            Some(_) | None => Vec::new(),
        };
        let mut texts = parts.into_iter().filter_map(|part| match part {
            Value::String(text) => Some(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        });
        let mut next = texts.next();
        if next.is_none() && ends {
            let rest = self.cutter.finish();
            let changed = !rest.is_empty();
            if changed {
                parent[field] = Value::from(rest);
            }
            return changed;
        }
        let mut changed = false;
        while let Some(text) = next {
            next = texts.next();
            let mut shown = self.cutter.push(text);
            if ends && next.is_none() {
                shown += &self.cutter.finish();
            }
            changed |= shown != *text;
            *text = shown;
        }
        changed
    }
}

/// Visits the texts of a document of any known shape: which text, the object that has it, its field
/// there, and how much of it the document has. Returns whether a visit changed something.
fn visit(
    document: &mut Value,
    seen: &mut dyn FnMut(TextId, &mut Value, &str, Extent) -> bool,
) -> bool {
    let says = |document: &Value, name: &str| document[name].as_bool() == Some(true);
    let mut changed = false;
    if let Some(choices) = document.get_mut("choices").and_then(Value::as_array_mut) {
        for choice in choices.iter_mut().filter(|choice| choice.is_object()) {
            let id = (choice["index"].as_u64().unwrap_or_default(), 0);
            let ends =
                Extent::end_if(choice.get("finish_reason").is_some_and(|why| !why.is_null()));
            changed |= match (choice["message"].is_object(), choice["delta"].is_object()) {
                (true, _) => seen(id, &mut choice["message"], "content", Extent::End),
                (false, true) => seen(id, &mut choice["delta"], "content", ends),
                (false, false) => seen(id, choice, "text", ends),
            };
        }
    } else if document["type"].as_str().is_some_and(|kind| kind.starts_with("response.")) {
        changed = visit_event(document, seen);
    } else if document["output"].is_array() {
        changed = visit_output(document, seen);
    } else if let Some(results) = document.get_mut("results").and_then(Value::as_array_mut) {
        for (at, result) in (0..).zip(results.iter_mut().filter(|result| result.is_object())) {
            changed |= seen((at, 0), result, "text", Extent::Whole);
        }
    } else if document["message"].is_object() {
        let ends = Extent::end_if(says(document, "done"));
        changed = seen((0, 0), &mut document["message"], "content", ends);
    } else if document["response"].is_string() || says(document, "done") {
        let ends = Extent::end_if(says(document, "done"));
        changed = seen((0, 0), document, "response", ends);
    } else if document["token"].is_string() {
        let ends = Extent::end_if(!document["finish_reason"].is_null());
        changed = seen((0, 0), document, "token", ends);
    } else if document["content"].is_string() {
        let ends = Extent::end_if(says(document, "stop"));
        changed = seen((0, 0), document, "content", ends);
    }
    changed
}

/// The same for an event of the responses API, which sends a text in pieces and then again as a
/// whole.
fn visit_event(
    event: &mut Value,
    seen: &mut dyn FnMut(TextId, &mut Value, &str, Extent) -> bool,
) -> bool {
    let number = |name: &str| event[name].as_u64().unwrap_or_default();
    let id = (number("output_index"), number("content_index"));
    match event["type"].as_str().unwrap_or_default() {
        "response.output_text.delta" => seen(id, event, "delta", Extent::ReplyPiece),
        "response.output_text.done" => seen(id, event, "text", Extent::Whole),
        "response.content_part.done" => match event.get_mut("part") {
            Some(part) if part["type"] == "output_text" => seen(id, part, "text", Extent::Whole),
            Some(_) | None => false,
        },
        "response.output_item.done" => match event.get_mut("item") {
            Some(item) if item["type"] == "message" => seen(id, item, "content", Extent::Whole),
            Some(_) | None => false,
        },
        "response.completed" | "response.incomplete" => {
            event.get_mut("response").is_some_and(|response| visit_output(response, seen))
        }
        _ => false,
    }
}

fn visit_output(
    response: &mut Value,
    seen: &mut dyn FnMut(TextId, &mut Value, &str, Extent) -> bool,
) -> bool {
    let items = response.get_mut("output").and_then(Value::as_array_mut);
    let messages = items.into_iter().flatten().filter(|item| item["type"] == "message");
    let visits =
        (0..).zip(messages).map(|(at, item)| seen((at, 0), item, "content", Extent::Whole));
    visits.fold(false, |changed, now| changed | now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::passing;

    const NOTED: [&str; 9] =
        ["She", " nods.", "\n<n", "ote>Mi", "ra", " limps.</", "note", ">", ""];

    fn pass(content_type: &str, body: &str, size: usize) -> String {
        let mut hiding = hiding(content_type, NoteCutter::new("note"));
        let bytes = body.as_bytes().chunks(size);
        let mut out: Vec<u8> =
            bytes.flat_map(|piece| hiding.push(&Bytes::copy_from_slice(piece))).collect();
        out.extend(hiding.finish());
        String::from_utf8(out).unwrap()
    }

    fn events(documents: &[Value], end: &str) -> String {
        let lines: Vec<String> = documents.iter().map(|one| format!("data: {one}\n\n")).collect();
        lines.concat() + end
    }

    /// Streams of a text in pieces, as every wire writes them.
    fn streams(pieces: &[&str]) -> Vec<(&'static str, &'static str, String)> {
        let last = pieces.len() - 1;
        let numbered = || pieces.iter().copied().enumerate();
        let reason = |at: usize| if at == last { json!("stop") } else { Value::Null };
        let all = |shape: &dyn Fn(usize, &str) -> Value| -> Vec<Value> {
            numbered().map(|(at, text)| shape(at, text)).collect()
        };
        let chat = all(
            &|at, text| json!({"id": 1, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason(at)}]}),
        );
        let bare_end = numbered().map(|(at, text)| {
            let delta = if at == last { json!({}) } else { json!({"content": text}) };
            json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason(at)}]})
        });
        let endless = all(&|_, text| json!({"choices": [{"delta": {"content": text}}]}));
        let text =
            all(&|at, text| json!({"choices": [{"text": text, "finish_reason": reason(at)}]}));
        let llama = all(&|at, text| json!({"content": text, "stop": at == last}));
        let kobold = all(&|at, text| json!({"token": text, "finish_reason": reason(at)}));
        let mut typed = all(
            &|_, text| json!({"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": text}),
        );
        let whole = pieces.concat();
        typed.push(json!({"type": "response.output_text.done", "output_index": 1, "text": whole}));
        typed.push(json!({"type": "response.completed", "response": {"output": []}}));
        let ollama = all(&|at, text| json!({"message": {"content": text}, "done": at == last}));
        let generate = all(&|at, text| json!({"response": text, "done": at == last}));
        let lines = |all: Vec<Value>| {
            all.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n"
        };
        let (sse, done) = ("text/event-stream", "data: [DONE]\n\n");
        vec![
            ("chat", sse, events(&chat, done)),
            ("a bare end", sse, events(&bare_end.collect::<Vec<_>>(), done)),
            ("no end", sse, events(&endless, done)),
            ("completions", sse, events(&text, done)),
            ("llama.cpp", sse, events(&llama, "")),
            ("koboldcpp", sse, events(&kobold, "")),
            ("responses", sse, events(&typed, "")),
            ("ollama", "application/x-ndjson", lines(ollama)),
            ("generate", "application/json", lines(generate)),
        ]
    }

    fn read(content_type: &str, body: &str) -> Option<Vec<String>> {
        let mut reading = passing(content_type);
        reading.push(body.as_bytes());
        reading.finish().whole()
    }

    #[test]
    fn notes_are_cut_out_of_every_stream_however_it_is_split() {
        for (name, content_type, body) in streams(&NOTED) {
            for size in [1, 7, 50, body.len()] {
                let out = pass(content_type, &body, size);
                assert_eq!(read(content_type, &out), Some(vec!["She nods.".to_owned()]), "{name}");
                assert!(!out.contains("limps") && !out.contains("note"), "{name}: {out}");
            }
        }
    }

    #[test]
    fn what_only_looks_like_a_note_arrives_whole() {
        let pieces = ["A <no", "te>never", " closed ", ""];
        for (name, content_type, body) in streams(&pieces) {
            let out = pass(content_type, &body, 9);
            let expected = Some(vec!["A <note>never closed ".to_owned()]);
            assert_eq!(read(content_type, &out), expected, "{name}: {out}");
        }
    }

    #[test]
    fn what_has_nothing_to_hide_arrives_byte_for_byte() {
        let odd = "\u{feff}: hi\r\n\r\nevent: x\r\nid: 7\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\r\n\r\n\
                   data: {\"choices\": [ {\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: not json\n\nevent: last";
        let pretty = "{\n  \"choices\": [{\"message\": {\"content\": \"A < b \"}}]\n}\n";
        for (content_type, body) in [
            ("text/event-stream", odd),
            ("application/json", pretty),
            (
                "application/json",
                "{\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":[]}}]}",
            ),
            ("application/json", "<html>\n\n"),
            ("application/json", ""),
        ] {
            for size in [1, 8, 1000] {
                assert_eq!(pass(content_type, body, size), body, "{size}");
            }
        }
    }

    #[test]
    fn whole_documents_lose_their_notes_in_each_choice() {
        let noted = "Yes.\n<note>x</note>";
        let response = json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": noted}]}]});
        let two = json!({"choices": [{"index": 0, "message": {"content": noted}}, {"index": 1, "message": {"content": "No."}}]});
        for (document, texts) in [
            (two.clone(), vec!["Yes.", "No."]),
            (json!({"choices": [{"text": noted, "finish_reason": "length"}]}), vec!["Yes."]),
            (json!({"results": [{"text": noted}]}), vec!["Yes."]),
            (json!({"message": {"content": noted}, "done": true}), vec!["Yes."]),
            (response, vec!["Yes."]),
        ] {
            for body in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
                let out = pass("application/json", &body, 10);
                let expected: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
                assert_eq!(read("application/json", &out), Some(expected), "{out}");
                assert!(!out.contains("note"), "{out}");
            }
        }
    }

    #[test]
    fn text_before_a_note_does_not_wait() {
        let mut hiding = hiding("text/event-stream", NoteCutter::new("note"));
        let line = |text: &str| {
            Bytes::from(format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]})))
        };
        for (text, shown) in [("She", "She"), ("nods<", "nods"), ("i>", "<i>"), ("<note>x", "")] {
            assert_eq!(hiding.push(&line(text)), line(shown), "{text}");
        }
    }
}
