//! Finding entries by meaning over a network: a turn waits, but not for ever.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use loreloom_core::book::{Book, Entry, Position};
use loreloom_ports::{EmbedError, Embedder, Vector};
use loreloom_server::Weaving;
use loreloom_testkit::model_server::{ModelServer, Script};
use serde_json::json;

use crate::harness::{Loreloom, Setup};

/// Finds everything near to everything, after a while.
#[derive(Default)]
struct Slow(AtomicU64);

#[async_trait]
impl Embedder for Slow {
    fn model(&self) -> &'static str {
        "slow"
    }

    fn dimensions(&self) -> usize {
        2
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        tokio::time::sleep(Duration::from_millis(self.0.load(Ordering::Relaxed))).await;
        Ok(texts.iter().map(|_| vec![1.0, 0.0]).collect())
    }
}

fn harbour() -> Book {
    let mut book = Book::new("world", "World");
    let mut entry = Entry::new("world/0");
    entry.activation.vectorized = true;
    entry.content = String::from("The harbour silts up.");
    entry.placement.position = Position::AfterCharacter;
    book.entries.push(entry);
    book
}

#[tokio::test]
async fn a_turn_waits_for_vectors_longer_than_its_own_time_but_not_for_ever() {
    let model = ModelServer::start(Script::new()).unwrap();
    let embedder = Arc::new(Slow::default());
    let deadline = Duration::from_millis(400);
    let setup = Setup {
        lore: Some(harbour()),
        weaving: Weaving { deadline, ..Weaving::default() },
        embedder: Some((Arc::clone(&embedder) as Arc<dyn Embedder>, Duration::from_millis(1500))),
        ..Setup::default()
    };
    let loreloom = Loreloom::start(&model, setup).await;
    for (takes, woven) in [(0, "1"), (800, "1"), (600_000, "0")] {
        embedder.0.store(takes, Ordering::Relaxed);
        let body = json!({"messages": [{"role": "user", "content": "Where do boats land?"}]});
        let url = loreloom.url("/v1/chat/completions");
        let response = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
        assert_eq!(response.headers().get("x-loreloom-warning"), None, "{takes} ms");
        assert_eq!(response.headers()["x-loreloom-woven"], woven, "{takes} ms");
        response.bytes().await.unwrap();
    }
}
