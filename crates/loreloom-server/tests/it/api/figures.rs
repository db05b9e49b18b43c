//! What turns cost, and what went on without lore between them.

use std::sync::{Arc, atomic::Ordering};

use loreloom_server::Prices;
use loreloom_testkit::model_server::Reply;
use serde_json::{Value, json};

use super::{Api, CHAT, Setup};
use crate::harness::SetByHand;

const FIRST: [(&str, &str); 1] = [("user", "I come in.")];
const SECOND: [(&str, &str); 3] =
    [("user", "I come in."), ("assistant", "Welcome."), ("user", "Who is here?")];

async fn figures(api: &Api, more: &str) -> Value {
    api.get(&format!("/metrics/turns?chat=inn{more}")).await.good()
}

#[tokio::test]
async fn a_turn_costs_what_its_connection_says_and_nothing_is_not_free() {
    let unpriced = Api::start().await;
    unpriced.tell("inn", &FIRST, "Welcome.").await;
    unpriced.loreloom.story(2).await;
    assert_eq!(figures(&unpriced, "").await["items"][0]["cost"], Value::Null);

    let prices = Prices {
        input: 1_000_000.0,
        cached: Some(500_000.0),
        output: Some(1_000_000.0),
        currency: Some("EUR".to_owned()),
    };
    let api = Api::with(Setup { prices: Some(prices), ..Setup::default() }).await;
    api.tell("inn", &FIRST, "Welcome.").await;
    api.tell("inn", &SECOND, "Nobody is.").await;
    api.loreloom.story(4).await;
    let told = figures(&api, "").await;
    let of = |at: usize, name: &str| told["items"][at][name].clone();
    assert_eq!((of(0, "prompt_tokens"), of(0, "unchanged_tokens")), (json!(3), Value::Null));
    let first = json!({"prompt": 3.0, "reply": 3.0, "total": 6.0, "currency": "EUR"});
    assert_eq!(of(0, "cost"), first);
    assert_eq!((of(1, "prompt_tokens"), of(1, "unchanged_tokens")), (json!(10), json!(3)));
    let second = json!({"prompt": 8.5, "reply": 3.0, "total": 11.5, "currency": "EUR"});
    assert_eq!(of(1, "cost"), second);
    // A page of its own knows the turn before as well.
    let next = figures(&api, "&limit=1").await["next"].as_str().unwrap().to_owned();
    let page = figures(&api, &format!("&limit=1&cursor={next}")).await;
    assert_eq!(page["items"][0]["cost"], second);
}

#[tokio::test]
async fn what_went_on_without_lore_is_told_beside_the_turns_of_its_time() {
    let clock = Arc::new(SetByHand::default());
    let api = Api::with(Setup { clock: Arc::clone(&clock) as _, ..Setup::default() }).await;
    let fail = async |at: i64| {
        clock.0.store(at, Ordering::Relaxed);
        api.model.push(CHAT, Reply::text("ok"));
        let request = api.client.post(api.loreloom.url(CHAT)).body("{\"messages\": 7}");
        let request = request.header("content-type", "application/json");
        let response = request.send().await.unwrap();
        let warning = response.headers()["x-loreloom-warning"].to_str().unwrap().to_owned();
        response.bytes().await.unwrap();
        json!({"at": at, "path": CHAT, "reason": warning})
    };
    let before = fail(500).await;
    clock.0.store(1_000, Ordering::Relaxed);
    api.tell("inn", &FIRST, "Welcome.").await;
    api.loreloom.story(2).await;
    let between = fail(2_000).await;
    clock.0.store(3_000, Ordering::Relaxed);
    api.tell("inn", &SECOND, "Nobody is.").await;
    api.loreloom.story(4).await;
    let after = fail(4_000).await;
    assert_eq!(figures(&api, "").await["fail_opens"], json!([before, between, after]));
    assert_eq!(figures(&api, "&from=2500").await["fail_opens"], json!([after]));
    assert_eq!(figures(&api, "&from=400").await["fail_opens"].as_array().unwrap().len(), 3);
    let page = figures(&api, "&limit=1").await;
    assert_eq!(page["fail_opens"], json!([before, between]));
    let next = page["next"].as_str().unwrap();
    let page = figures(&api, &format!("&limit=1&cursor={next}")).await;
    assert_eq!(page["fail_opens"], json!([after]));
}
