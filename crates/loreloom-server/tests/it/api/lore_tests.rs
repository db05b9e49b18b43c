//! Lore tests over the API.

use serde_json::{Value, json};

use super::Api;

const TESTS: &str = "
tests:
  - name: the way is flooded
    messages: [{ user: Is the causeway dry? }]
    fires: [Causeway]
    does_not_fire: [reach/1]
    order: [Old law, Causeway]
  - name: herons
    messages: [{ user: A heron! }]
    fires: [Heron]
    at_most_tokens: 1
";

#[tokio::test]
async fn tests_are_run_against_todays_lore_and_failures_explained() {
    let api = Api::start().await.with_book().await;
    let run = api.call("POST", "/tests/run", json!({"yaml": TESTS})).await.good();
    assert_eq!((&run["passed"], &run["failed"]), (&json!(1), &json!(1)));
    assert_eq!(run["items"][0]["passed"], true);
    let fired: Vec<&str> = run["items"][0]["fired"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["entry"].as_str().unwrap())
        .collect();
    assert_eq!(fired, ["reach/0", "reach/2", "world/0"]);
    let [heron, tokens] = [0, 1].map(|at| &run["items"][1]["checks"][at]);
    assert_eq!(heron["expected"], json!({"what": "fires", "entry": "Heron"}));
    assert_eq!(heron["failure"]["verdict"]["outcome"]["code"], "disabled");
    assert_eq!(heron["failure"]["why"], "switched off");
    assert_eq!(tokens["failure"]["code"], "too_many_tokens");
    // With a change that is not saved it holds.
    let patch = json!({"entries": {"reach/1": {"activation": {"enabled": true}}}});
    let tried = json!({"yaml": TESTS.replace("tokens: 1", "tokens: 99"), "patch": patch});
    assert_eq!(api.call("POST", "/tests/run", tried).await.good()["failed"], 0);
    assert_eq!(api.get("/revisions").await.good()["total"], 1, "and nothing is saved");
}

#[tokio::test]
async fn books_follow_those_who_take_part_in_a_test() {
    let api = Api::start().await.with_book().await;
    let follows = json!({"bindings": [{"to": "character", "name": "Mira"}]});
    api.call("PATCH", "/books/reach", follows).await.good();
    let failure = async |speaker: &str| -> Value {
        let yaml = format!(
            "tests: [{{ name: t, as: {speaker}, messages: [{{ user: causeway }}], fires: [Causeway] }}]"
        );
        let run = api.call("POST", "/tests/run", json!({"yaml": yaml})).await.good();
        run["items"][0]["checks"][0]["failure"].clone()
    };
    assert_eq!(failure("Mira").await, Value::Null);
    assert_eq!(failure("Kal").await, json!({"code": "not_active", "entry": "reach/0"}));
}

#[tokio::test]
async fn a_file_that_is_no_test_is_refused_by_what_is_wrong() {
    let api = Api::start().await;
    let long = "#".repeat((1 << 20) + 1);
    for (yaml, detail) in [
        ("tests: [{ name: t, messages: [{ user: a }] }]", "test `t` must have one of `fires`"),
        ("tests", "a file of tests must be YAML with `tests`"),
        (long.as_str(), "`yaml` must have at most 1048576 bytes, found `1048577`"),
    ] {
        let (code, found) =
            api.call("POST", "/tests/run", json!({"yaml": yaml})).await.refused(422);
        assert_eq!(code, "wrong_value");
        assert!(found.starts_with(detail), "{found}");
    }
}
