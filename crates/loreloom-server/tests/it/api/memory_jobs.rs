//! Jobs of memory, replays of its rules, and questions to its model at once.

use std::time::Duration;

use loreloom_core::{
    ids::TenantId,
    units::{Timestamp, Tokens},
};
use loreloom_memory::{model_profile::ModelProfile, service::ModelUse};
use loreloom_ports::{JobAccount, JobBody, JobKind, JobQueue as _, NewJob};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use super::{Api, memory::remembering};
use crate::harness::memory_model;

#[tokio::test]
async fn jobs_are_listed_cancelled_and_tried_again() {
    let api = Api::start().await;
    let mut account = JobAccount::default();
    account.asks(70);
    account.hears("The ferry, I think, is late.", 7);
    account.keeps(["The ferry is late."], true);
    let job = NewJob {
        chat: "inn".into(),
        kind: JobKind::Extract,
        connection: "c".into(),
        priority: 0,
        body: JobBody { done: 1, total: 3, account, ..JobBody::default() },
        due: Timestamp(5),
    };
    let tenant = TenantId::local();
    api.loreloom.store.enqueue(&tenant, &job, Timestamp(1)).await.unwrap();
    let listed = api.get("/jobs").await.good();
    assert_eq!(
        (&listed["items"][0]["state"], &listed["items"][0]["total"]),
        (&json!("waiting"), &json!(3))
    );
    let told = ["tokens", "replies", "kept"].map(|name| listed["items"][0][name].clone());
    assert_eq!(
        told,
        [
            json!({"questions": 1, "asked": 70, "answered": 7}),
            json!([{"text": "The ferry, I think, is late.", "cut": false}]),
            json!(["The ferry is late."]),
        ]
    );
    assert_eq!(api.send(api.request("POST", "/jobs/1/retry")).await.refused(409).0, "conflict");
    let cancelled = api.send(api.request("POST", "/jobs/1/cancel")).await.good();
    assert_eq!(
        (&cancelled["state"], &cancelled["error"]),
        (&json!("cancelled"), &json!("cancelled by hand"))
    );
    let over = api.send(api.request("POST", "/jobs/1/cancel")).await.refused(409);
    assert_eq!(over.1, "job 1 is over already: it is `cancelled`");
    let again = api.send(api.request("POST", "/jobs/1/retry")).await.good();
    assert_eq!(
        (&again["id"], &again["state"], &again["done"]),
        (&json!(2), &json!("waiting"), &json!(1))
    );
    // It asks anew, and tells of nothing that the other one asked.
    assert_eq!((&again["tokens"], &again["replies"]), (&Value::Null, &json!([])));
    assert_eq!(api.get("/jobs?state=waiting").await.good()["total"], 1);
    assert_eq!(api.get("/jobs/9").await.refused(404).1, "there is no job `9`");
}

async fn finished(api: &Api, run: &Value) -> Value {
    let path = format!("/replay/{}", run["id"]);
    for _ in 0..500 {
        let run = api.get(&path).await.good();
        if run["state"] == "done" {
            return run;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the run never ended");
}

#[tokio::test]
async fn a_change_is_tried_on_told_stories() {
    let api = Api::start().await.with_book().await;
    api.get("/books").await.good();
    api.story().await;
    let patch = json!({"chats": ["inn"], "patch": {
        "entries": {"reach/0": {"activation": {"keys": ["welcome"]}}}, "without": ["reach/2"],
    }});
    let begun = api.call("POST", "/replay", patch).await;
    assert_eq!(begun.status, 202);
    let run = finished(&api, &begun.good()).await;
    assert_eq!((&run["turns"], &run["changed"]), (&json!(2), &json!(2)));
    // The law is left out of both turns, and at the first nothing else names the bell.
    assert_eq!((&run["appeared"], &run["vanished"]), (&json!(1), &json!(3)));
    let turns = api.get(&format!("/replay/{}/turns", run["id"])).await.good();
    assert_eq!(turns["items"][1]["change"]["appeared"][0]["title"], "Causeway");
    // "Welcome." has nothing else to do with a causeway that floods.
    assert_eq!(
        (&run["accidental"], &turns["items"][1]["accidental"]),
        (&json!(1), &json!(["reach/0"]))
    );
    assert_eq!(turns["items"][0]["accidental"], json!([]));
    let about = json!({"patch": {"entries": {"reach/0": {
        "activation": {"keys": ["rings"]}, "content": "Who rings must pay.",
    }}}});
    let run = api.call("POST", "/replay", about).await.good();
    let run = finished(&api, &run).await;
    assert_eq!((&run["appeared"], &run["accidental"]), (&json!(1), &json!(0)), "{run}");
    let same = api.call("POST", "/replay", json!({})).await.good();
    assert_eq!(finished(&api, &same).await["changed"], 0, "told with today's books");
    assert_eq!(api.get("/replay").await.good()["items"].as_array().unwrap().len(), 3);
    for (body, status, detail) in [
        (json!({"chats": ["none"]}), 404, "there is no chat `none`"),
        (json!({"patch": {"entries": {"x": {}}}}), 404, "there is no entry `x`"),
        (json!({"patch": {"rules": {"odd": 1}}}), 400, "in `patch.rules`: there is no field `odd`"),
    ] {
        assert_eq!(api.call("POST", "/replay", body).await.refused(status).1, detail);
    }
    assert_eq!(api.get("/replay/99").await.refused(404).1, "there is no run `99`");
}

#[tokio::test]
async fn a_model_is_asked_at_once_where_one_is_set() {
    let api = remembering().await;
    api.story().await;
    let no_model = api.call("POST", "/chats/inn/recap", json!({})).await.refused(409);
    assert_eq!(no_model.1, "no model is set that memory could ask");
    let memory = api.loreloom.app.memory.clone().unwrap();
    let used = ModelUse {
        connection: "offline".into(),
        profile: ModelProfile::A,
        at_once: 1,
        context: Tokens(8192),
    };
    let script = Script::new().answering(|request| {
        let asks_summary = request.last_text().contains("[SUMMARY]");
        let summary = "[SUMMARY]\n1. Setting: the inn\n[/SUMMARY]";
        Some(Reply::text(if asks_summary { summary } else { "They sit in the inn." }))
    });
    let model = ModelServer::start(script).unwrap();
    memory.models.assign(used, std::sync::Arc::new(memory_model(&model, "m")));
    let away = api.call("POST", "/chats/inn/recap", json!({"if_away": true})).await.good();
    assert_eq!(away, json!({"recap": null, "away_hours": null}));
    let recap = api.call("POST", "/chats/inn/recap", json!({})).await.good();
    assert_eq!(recap["recap"], "They sit in the inn.");
    let now = json!({"what": "summary", "character": "Mira"});
    let done = api.call("POST", "/chats/inn/memory/now", now).await.good();
    assert_eq!(api.get("/chats/inn/memory?tier=summary").await.good()["total"], 1);
    api.call("POST", "/undo", json!({"undo": done["undo"]})).await.good();
    assert_eq!(api.get("/chats/inn/memory?tier=summary").await.good()["total"], 0);
    let tried = api.send(api.request("POST", "/memory/model-test")).await.good();
    let trials: Vec<&str> = tried["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["trial"].as_str().unwrap())
        .collect();
    assert_eq!(trials, ["long_term", "session", "arcs", "ledger", "epistemic", "together"]);
    let writes = api.get("/memory/writes").await.good();
    assert_eq!(writes["total"], 2);
    let page = api.get("/memory/writes?limit=1").await.good();
    assert_eq!(page["items"], json!([writes["items"][0]]));
    // What is written between two pages moves nothing from one to the other.
    let note = json!({"owner": {"chat": "inn"}, "content": "Rain is near."});
    api.call("POST", "/memory/records", note).await.good();
    let next = format!("/memory/writes?cursor={}", page["next"].as_str().unwrap());
    assert_eq!(api.get(&next).await.good()["items"], json!([writes["items"][1]]));
}
