//! A model whose streams stop after their first word until they may go on.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
};

use serde_json::{Value, json};

/// The model. Its thread ends with the process.
pub(crate) struct GatedModel {
    pub(crate) address: SocketAddr,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl GatedModel {
    /// A model that makes its replies from the text of requests.
    pub(crate) fn start(
        reply: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let (address, gate) = (listener.local_addr()?, Arc::new(Gate::default()));
        let (shared, reply) = (Arc::clone(&gate), Arc::new(reply));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (gate, reply) = (Arc::clone(&shared), Arc::clone(&reply));
                // A server that hangs up ends only its own request.
                thread::spawn(move || drop(answer(stream, &gate, reply.as_ref())));
            }
        });
        Ok(Self { address, gate })
    }

    /// Lets streams go on, or stop after their first word.
    pub(crate) fn set_open(&self, is_open: bool) {
        *self.gate.is_open.lock().unwrap_or_else(PoisonError::into_inner) = is_open;
        self.gate.changed.notify_all();
    }
}

fn answer(
    mut stream: TcpStream,
    gate: &Gate,
    reply: &(impl Fn(&str) -> String + ?Sized),
) -> io::Result<()> {
    let request = read_request(&mut stream)?;
    let reply = reply(&request);
    if request.starts_with("POST /api/chat") {
        let line = |text: &str, done: bool| {
            let message = json!({ "role": "assistant", "content": text });
            json!({ "model": "m", "message": message, "done": done }).to_string() + "\n"
        };
        return write(
            &mut stream,
            "application/x-ndjson",
            &(line(&reply, false) + &line("", true)),
        );
    }
    if !request.contains("\"stream\":true") {
        let message = json!({ "role": "assistant", "content": reply });
        let whole = json!({
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
        });
        return write(&mut stream, "application/json", &whole.to_string());
    }
    let (first, rest) = reply.split_at(6);
    let event = |text: &str, finish: Value| {
        let delta = json!({ "content": text });
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    write(&mut stream, "text/event-stream", &event(first, Value::Null))?;
    let is_open = gate.is_open.lock().unwrap_or_else(PoisonError::into_inner);
    drop(gate.changed.wait_while(is_open, |is_open| !*is_open));
    stream.write_all(event(rest, Value::Null).as_bytes())?;
    stream.write_all(event("", json!("stop")).as_bytes())?;
    stream.write_all(b"data: [DONE]\n\n")
}

fn write(stream: &mut TcpStream, media: &str, body: &str) -> io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {media}\r\nconnection: close\r\n\r\n");
    stream.write_all((head + body).as_bytes())
}

/// The head and body of a request.
fn read_request(stream: &mut TcpStream) -> io::Result<String> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut part)?;
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.and_then(|one| one.trim().parse().ok()).unwrap_or(0);
            if body.len() >= length || count == 0 {
                return Ok(text);
            }
        } else if count == 0 {
            return Ok(text);
        }
    }
}
