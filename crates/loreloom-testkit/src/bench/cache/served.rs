//! The same story through the real binary, in both placements.

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderValue, Method};
use loreloom_core::{
    book::{Book, Key, Position},
    cache_placement::{TokenMemo, kept},
    chat::Role,
    tokens::ByteEstimate,
};
use loreloom_llm::{connection::Address, upstream::HttpUpstream};
use loreloom_ports::{Upstream as _, UpstreamCall};
use serde_json::{Map, Value, json};

use super::{BAR, Figure, Words, book, read, story};
use crate::{
    bench::proxy::child::{Server, binary},
    model_server::{ModelServer, Reply, Script},
};

/// Measures the prompts that leave the server.
pub(super) fn run(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    if let Err(reason) = binary() {
        print(Figure::new(format!("through the server: skipped, {reason}"), f64::NAN, "share"));
        return Ok(());
    }
    for placement in ["front-end", "stable"] {
        let share = kept_share(placement)?;
        let name = format!("through the server: kept, placement {placement}");
        let figure = Figure::new(name, share, "share");
        print(figure.against(share / BAR, format!("of the bar of {BAR}")));
    }
    Ok(())
}

/// The share that prompts kept of the prompt before them, through the server.
fn kept_share(placement: &str) -> Result<f64, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let model = ModelServer::start(Script::new().answering(|_| Some(Reply::text("Yes."))));
    let model = model.map_err(|error| text(&error))?;
    let mut words = Words(7);
    let lore = written(&book(&mut words));
    let arguments = ["--placement", placement, "--context", "65536", "--no-memory"];
    let deadline = ["--deadline", "10000"];
    let arguments = [&arguments[..], &deadline[..]].concat();
    let server = Server::with(&format!("{}/v1", model.base_url()), &lore, &arguments)?;
    let address = Address::parse(&format!("http://{}/v1", server.address));
    let proxy = HttpUpstream::new(address.map_err(|error| text(&error))?, None);
    let proxy = proxy.map_err(|error| text(&error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| text(&error))?.block_on(send_story(&proxy, &mut words))?;
    let mut memo = TokenMemo::new(&ByteEstimate);
    let sent: Vec<Vec<_>> = model
        .received()
        .iter()
        .filter_map(|one| {
            one.json["messages"].as_array().map(|list| list.iter().map(read).collect())
        })
        .collect();
    let (mut stayed, mut all) = (0, 0);
    for pair in sent.windows(2) {
        let found = kept(&pair[0], &pair[1], &mut memo);
        (stayed, all) = (stayed + found.kept.0, all + found.previous.0);
    }
    Ok(f64::from(stayed) / f64::from(all.max(1)))
}

/// Sends the story turn by turn, as a front end does: the replies are the story's own.
async fn send_story(proxy: &HttpUpstream, words: &mut Words) -> Result<(), String> {
    let mut messages = vec![
        json!({"role": "system", "content": "Write the next reply of a story."}),
        json!({"role": "system", "content": Words(3).some(300)}),
    ];
    for message in story(words) {
        messages.push(json!({"role": message.role.as_str(), "content": message.text}));
        if message.role != Role::User {
            continue;
        }
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("x-loreloom-chat", HeaderValue::from_static("bench"));
        let body = json!({"model": "m", "messages": messages});
        let call = UpstreamCall {
            method: Method::POST,
            path: "/v1/chat/completions".to_owned(),
            headers,
            body: Bytes::from(body.to_string()),
        };
        let reply = proxy.send(call).await.map_err(|error| error.to_string())?;
        if let Some(warning) = reply.headers.get("x-loreloom-warning") {
            return Err(format!("a turn went without lore: {warning:?}"));
        }
        let mut body = reply.body;
        while let Some(piece) = body.next().await {
            piece.map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// The story's keys are all plain words.
fn key(key: &Key) -> &str {
    match key {
        Key::Literal(text) => text,
        Key::Regex { .. } => "",
    }
}

/// The book as a `SillyTavern` file.
fn written(book: &Book) -> String {
    let entries: Map<String, Value> = (0..)
        .zip(&book.entries)
        .map(|(at, entry): (u32, _)| {
            let place = &entry.placement.position;
            let position = if *place == Position::BeforeCharacter {
                0
            } else if matches!(place, Position::AtDepth { .. }) {
                4
            } else {
                1
            };
            let keys: Vec<&str> = entry.activation.keys.iter().map(key).collect();
            let value = json!({
                "uid": at, "key": keys, "keysecondary": [], "comment": "", "order": 100,
                "content": entry.content, "constant": entry.activation.constant,
                "position": position, "depth": 4, "disable": false, "useProbability": true,
                "probability": entry.activation.probability.unwrap_or(100.0),
            });
            (at.to_string(), value)
        })
        .collect();
    json!({ "entries": entries }).to_string()
}
