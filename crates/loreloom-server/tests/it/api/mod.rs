//! The REST API over real HTTP.

mod announcing;
mod books;
mod characters;
mod chat_state;
mod chats;
mod connecting;
mod document;
mod entries;
mod events;
mod figures;
mod guard;
mod keys;
mod lending;
mod looking;
mod lore_tests;
mod makers;
mod memory;
mod memory_jobs;
mod moving;
mod pairing;
mod settings;
mod system;
mod telling;
mod turns;
mod vaults;

use std::sync::Arc;

use loreloom_core::{
    book::{Book, Entry, Key},
    ids::TenantId,
    library::{Binding, Volume},
    units::Timestamp,
};
use loreloom_server::{Maker, StoredBooks};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::Loreloom;
pub(crate) use crate::harness::Setup;

const CHAT: &str = "/v1/chat/completions";

/// A server with a model, and a client of its API.
pub(crate) struct Api {
    pub(crate) loreloom: Loreloom,
    pub(crate) model: ModelServer,
    client: reqwest::Client,
}

/// An answer: its status, its JSON and its headers.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) json: Value,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    /// The answer, which must be good.
    #[track_caller]
    pub(crate) fn good(self) -> Value {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.text);
        self.json
    }

    /// The code and the detail of a refusal.
    #[track_caller]
    pub(crate) fn refused(self, status: u16) -> (String, String) {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(self.json["status"], status);
        let code = self.json["code"].as_str().unwrap().to_owned();
        assert_eq!(self.json["type"], format!("urn:loreloom:problem:{code}"));
        (code, self.json["detail"].as_str().unwrap().to_owned())
    }

    pub(crate) fn etag(&self) -> String {
        self.headers["etag"].to_str().unwrap().to_owned()
    }
}

impl Api {
    pub(crate) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let model = ModelServer::start(Script::new()).unwrap();
        let loreloom = Box::pin(Loreloom::start(&model, setup)).await;
        Self { loreloom, model, client: reqwest::Client::new() }
    }

    /// Puts a book into the bookcase: three entries about the reach.
    pub(crate) async fn with_book(self) -> Self {
        let tenant = TenantId::local();
        let case = StoredBooks { documents: self.loreloom.store.as_ref(), tenant: &tenant };
        let volume = Volume::world_info(Arc::new(reach()));
        let books = vec![(volume, vec![Binding::Everywhere])];
        case.put(books, Maker::Import, None, Timestamp(1)).await.unwrap();
        self
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        let json = serde_json::from_str(&text).unwrap_or_default();
        Answer { status, json, headers, text }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().unwrap();
        self.client.request(method, self.loreloom.url(&format!("/api/v1{path}")))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request("GET", path)).await
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Value) -> Answer {
        self.send(self.request(method, path).json(&body)).await
    }

    /// A front end says something and the model answers.
    pub(crate) async fn tell(&self, chat: &str, messages: &[(&str, &str)], reply: &str) {
        self.model.push(CHAT, Reply::text(reply));
        let messages: Vec<Value> =
            messages.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
        let body = json!({
            "model": "m", "messages": messages,
            "loreloom": {"chat": chat, "user": "Wren", "char": "Mira"},
        });
        let request = self.client.post(self.loreloom.url(CHAT)).json(&body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.bytes().await.unwrap();
    }

    /// A story of two turns in chat `inn`: the bell is named in the second.
    pub(crate) async fn story(&self) {
        self.tell("inn", &[("user", "I come in.")], "Welcome.").await;
        let told =
            [("user", "I come in."), ("assistant", "Welcome."), ("user", "Who rings the bell?")];
        self.tell("inn", &told, "Nobody does.").await;
        self.loreloom.story(4).await;
    }
}

fn entry(id: &str, name: &str, keys: &[&str], content: &str) -> Entry {
    let mut entry = Entry::new(id);
    entry.name = String::from(name);
    entry.activation.keys = keys.iter().map(|key| Key::parse(key)).collect();
    entry.content = String::from(content);
    entry
}

/// A book of three entries.
pub(crate) fn reach() -> Book {
    let mut book = Book::new("reach", "The Reach");
    book.entries = vec![
        entry("reach/0", "Causeway", &["causeway", "/dykes?/i"], "The causeway floods at noon."),
        entry("reach/1", "Heron", &["heron"], "Herons nest on the sea wall."),
        entry("reach/2", "Old law", &[], "Nobody may ring the bell at night."),
    ];
    book.entries[2].activation.constant = true;
    book.entries[1].activation.enabled = false;
    book
}
