//! Turns: prompt, verdicts, proofs, differences.

use serde_json::{Value, json};

use super::Api;

#[tokio::test]
async fn a_turn_says_what_it_decided() {
    let api = Api::start().await.with_book().await;
    api.get("/books").await.good();
    api.story().await;
    let turn = api.get("/chats/inn/turns/2").await.good();
    assert_eq!(turn["reproduced"], true);
    assert_eq!(turn["differences"], json!([]));
    let counts = json!({"woven": 2, "lingering": 0, "cut": 0, "near": 0, "rule": 1, "no_match": 1});
    assert_eq!(turn["counts"], counts);
    assert_eq!(turn["reply"], "Nobody does.");
    assert_eq!(turn["facts"]["speaker"], "Mira");
    let turns = api.get("/chats/inn/turns").await.good();
    assert_eq!(turns["total"], 2);
    assert_eq!(turns["items"][1]["reply"], turn["turn"]["reply"]);
    let raw = api.get("/chats/inn/turns/2/raw").await.good();
    assert_eq!(raw["record"]["report"]["facts"]["speaker"], "Mira");
    assert_eq!(api.get("/chats/inn/turns/9").await.refused(404).1, "chat `inn` has no turn 9");
}

#[tokio::test]
async fn a_turn_says_how_much_of_the_prompt_sent_before_it_kept() {
    let api = Api::start().await;
    let told = [("user", "I come in."), ("assistant", "Welcome."), ("user", "Who is here?")];
    api.tell("inn", &told[..1], "Welcome.").await;
    api.tell("inn", &told, "Nobody is.").await;
    api.loreloom.story(4).await;
    let first = api.get("/chats/inn/turns/1").await.good();
    assert_eq!(
        first["cache"],
        json!({"kept": {"kept": 0, "previous": 0, "total": 3}, "estimate": null})
    );
    // Nothing was woven in, so that the first prompt is the beginning of the second.
    let second = api.get("/chats/inn/turns/2").await.good();
    assert_eq!(
        second["cache"],
        json!({"kept": {"kept": 3, "previous": 3, "total": 10}, "estimate": null})
    );
}

#[tokio::test]
async fn the_prompt_is_the_one_that_was_sent_and_its_spans_hold_the_lore() {
    let api = Api::start().await;
    api.story().await;
    let prompt = api.get("/chats/inn/turns/2/prompt").await.good();
    let sent: Vec<Value> = api.model.received()[1].json["messages"].as_array().unwrap().clone();
    let shown: Vec<(&Value, &Value)> = prompt["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["role"], &one["content"]))
        .collect();
    let sent: Vec<(&Value, &Value)> =
        sent.iter().map(|one| (&one["role"], &one["content"])).collect();
    assert_eq!(shown, sent);
    let span = &prompt["spans"][0];
    let at = |name: &str| usize::try_from(span[name].as_u64().unwrap()).unwrap();
    let text = prompt["messages"][at("message")]["content"].as_str().unwrap();
    assert_eq!(&text[at("start")..at("end")], "The bell of Harrow is cracked.");
    assert_eq!(span["title"], "The bell");
    assert_eq!(prompt["tokenizer"], "estimate-3.35");
    // The lore came in at the head, so nothing of the first prompt stays a beginning.
    assert_eq!(prompt["unchanged"]["tokens"], 0);
    assert_eq!(api.get("/chats/inn/turns/1/prompt").await.good()["unchanged"], Value::Null);
}

#[tokio::test]
async fn verdicts_are_counted_filtered_and_paged() {
    let api = Api::start().await.with_book().await;
    api.get("/books").await.good();
    api.story().await;
    let all = api.get("/chats/inn/turns/2/verdicts").await.good();
    let rows: Vec<(&str, &str, &str)> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["title"].as_str().unwrap(),
                row["class"].as_str().unwrap(),
                row["code"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("Causeway", "no_match", "no_key_found"),
            ("Heron", "rule", "disabled"),
            ("Old law", "woven", "activated"),
            ("The bell", "woven", "activated"),
        ]
    );
    let counts = api.get("/chats/inn/turns/2/verdicts?counts_only=true").await.good();
    assert_eq!((&counts["counts"], &counts["items"]), (&all["counts"], &json!([])));
    let woven = api.get("/chats/inn/turns/2/verdicts?v=woven&limit=1").await.good();
    assert_eq!((&woven["total"], &woven["items"][0]["title"]), (&json!(2), &json!("Old law")));
    let next = woven["next"].as_str().unwrap();
    let second = format!("/chats/inn/turns/2/verdicts?v=woven&limit=1&cursor={next}");
    assert_eq!(api.get(&second).await.good()["items"][0]["title"], "The bell");
    let named = api.get("/chats/inn/turns/2/verdicts?q=cause").await.good();
    assert_eq!(named["total"], 1);
    let wrong = api.get("/chats/inn/turns/2/verdicts?v=odd").await.refused(422);
    assert_eq!(
        wrong.1,
        "`v` must name `woven`, `lingering`, `cut`, `near`, `rule` or `no_match`, found `odd`"
    );
}

#[tokio::test]
async fn a_proof_holds_the_words_and_the_smallest_change() {
    let api = Api::start().await.with_book().await;
    api.get("/books").await.good();
    api.story().await;
    let fired = api.get("/chats/inn/turns/2/proof/world%2F0").await.good();
    assert_eq!(fired["sentence"], "“bell” in message 3, by Wren; after the character");
    assert_eq!(fired["text"], "The bell of Harrow is cracked.");
    assert_eq!(fired["fix"], Value::Null);
    assert_eq!(fired["outcome"]["trigger"]["primary"]["at"]["source"]["index"], 2);
    assert_eq!(fired["spans"].as_array().unwrap().len(), 1);
    let stopped = api.get("/chats/inn/turns/2/proof/reach%2F0").await.good();
    assert_eq!(stopped["fix"]["changes"], json!([{"change": "say", "words": ["causeway"]}]));
    assert_eq!(stopped["fix"]["words"], json!(["let the newest message say “causeway”"]));
    let missing = api.get("/chats/inn/turns/2/proof/reach%2F9").await.refused(404);
    assert_eq!(missing.1, "there is no entry `reach/9`");
}

#[tokio::test]
async fn two_turns_are_compared() {
    let api = Api::start().await;
    api.story().await;
    let diff = api.get("/chats/inn/turns/1/diff/2").await.good();
    assert_eq!(diff["lore"]["appeared"][0]["title"], "The bell");
    let added: Vec<&str> = diff["prompt"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|change| change["added"].as_array().unwrap())
        .map(|line| line.as_str().unwrap())
        .collect();
    assert!(added.contains(&"The bell of Harrow is cracked."), "{added:?}");
    assert_eq!(api.get("/chats/inn/turns/2/diff/2").await.good()["lore"], Value::Null);
}
