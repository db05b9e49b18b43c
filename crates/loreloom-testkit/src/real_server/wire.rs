//! Requests to the server under test.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    sync::mpsc::Sender,
    time::Duration,
};

use serde_json::{Value, json};

/// An answer, byte for byte.
pub(crate) struct WireAnswer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl WireAnswer {
    /// Whether the front end saw the end of the reply.
    pub(crate) fn is_whole(&self, form: Form) -> bool {
        let end = match form {
            Form::Events => "data: [DONE]",
            Form::Document => "\"finish_reason\":\"stop\"",
            Form::Lines => "\"done\":true",
        };
        self.status == 200 && self.text.contains(end) && !self.text.contains("\"error\"")
    }

    /// The text of a reply that came as events.
    pub(crate) fn reply(&self) -> String {
        let events = self.text.lines().filter_map(|line| line.strip_prefix("data: "));
        let events = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
        let words = events.filter_map(|event| {
            event.pointer("/choices/0/delta/content").and_then(Value::as_str).map(str::to_owned)
        });
        words.collect()
    }

    /// Whether it says that its own turn is not stored, or not yet.
    pub(crate) fn warns(&self) -> bool {
        self.text.contains("this turn is not stored")
    }

    /// Whether it says that its turn will not be stored.
    pub(crate) fn gives_up(&self) -> bool {
        self.warns() && !self.text.contains("this turn is not stored yet")
    }
}

/// How a reply is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// As server-sent events.
    Events,
    /// As one document.
    Document,
    /// As lines of JSON, from Ollama's path.
    Lines,
}

/// A request for a reply.
pub(crate) struct Ask<'ask> {
    pub(crate) form: Form,
    /// The chat, if the front end names it.
    pub(crate) chat: Option<&'ask str>,
    pub(crate) messages: &'ask Value,
}

/// Asks for a reply. Sends a word when the first event of a stream has come.
pub(crate) fn ask(
    server: SocketAddr,
    asked: &Ask<'_>,
    begun: &Sender<()>,
) -> io::Result<WireAnswer> {
    let (path, stream) = match asked.form {
        Form::Events => ("/v1/chat/completions", true),
        Form::Document => ("/v1/chat/completions", false),
        Form::Lines => ("/api/chat", true),
    };
    let body = json!({ "model": "m", "stream": stream, "messages": asked.messages }).to_string();
    let chat = asked.chat.map(|chat| format!("x-loreloom-chat: {chat}\r\n")).unwrap_or_default();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {server}\r\n{chat}\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    send(server, &(head + &body), |line| {
        if line.starts_with("data:") {
            // Only the first word is waited for.
            let _heard = begun.send(());
        }
    })
}

/// Reads a path.
pub(crate) fn get(server: SocketAddr, path: &str) -> io::Result<WireAnswer> {
    let head = format!("GET {path} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n\r\n");
    send(server, &head, |_| ())
}

fn send(server: SocketAddr, request: &str, mut line: impl FnMut(&str)) -> io::Result<WireAnswer> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    stream.write_all(request.as_bytes())?;
    let (mut reader, mut text) = (BufReader::new(stream), String::new());
    loop {
        let mut bytes = Vec::new();
        if reader.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let one = String::from_utf8_lossy(&bytes);
        line(&one);
        text.push_str(&one);
    }
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    Ok(WireAnswer { status: status.unwrap_or(0), text })
}
