//! Requests to the server under test.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    sync::mpsc::Sender,
    time::Duration,
};

/// An answer, as it came over the wire.
pub(super) struct WireAnswer {
    pub(super) status: u16,
    pub(super) text: String,
}

impl WireAnswer {
    /// Whether the front end saw the end of the reply.
    pub(super) fn is_whole(&self, form: Form) -> bool {
        let end = match form {
            Form::Events => "data: [DONE]",
            Form::Document => "\"finish_reason\":\"stop\"",
            Form::Lines => "\"done\":true",
        };
        self.status == 200 && self.text.contains(end) && !self.text.contains("\"error\"")
    }

    /// Whether it says that its own turn is not stored, or not yet.
    pub(super) fn warns(&self) -> bool {
        self.text.contains("this turn is not stored")
    }

    /// Whether it says that its turn will not be stored.
    pub(super) fn gives_up(&self) -> bool {
        self.warns() && !self.text.contains("this turn is not stored yet")
    }
}

/// How a reply is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// As server-sent events.
    Events,
    /// As one document.
    Document,
    /// As lines of JSON, from Ollama's path.
    Lines,
}

/// Asks for a reply. Sends a word when the first event of a stream has come.
pub(super) fn ask(
    server: SocketAddr,
    form: Form,
    (chat, question): &(String, String),
    begun: &Sender<()>,
) -> io::Result<WireAnswer> {
    let (path, stream) = match form {
        Form::Events => ("/v1/chat/completions", true),
        Form::Document => ("/v1/chat/completions", false),
        Form::Lines => ("/api/chat", true),
    };
    let body = serde_json::json!({
        "model": "m", "stream": stream, "messages": [{ "role": "user", "content": question }],
    });
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {server}\r\nx-loreloom-chat: {chat}\r\n\
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
pub(super) fn get(server: SocketAddr, path: &str) -> io::Result<WireAnswer> {
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
