//! The committed document of the API is the one that the code makes.

use std::path::Path;

use super::Api;

/// Set to write the document instead of comparing it.
const BLESS: &str = "LORELOOM_BLESS";

#[expect(clippy::disallowed_methods, reason = "the committed document is a file of the repository")]
#[test]
fn the_committed_document_is_the_servers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let mut made = serde_json::to_string_pretty(&loreloom_server::api_document()).unwrap();
    made.push('\n');
    if std::env::var(BLESS).is_ok() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "docs/openapi.json is not what the code makes: run `./dev bless-api` and look at the \
         difference"
    );
}

#[tokio::test]
async fn the_document_is_served() {
    let api = Api::start().await;
    let document = api.get("/openapi.json").await.good();
    assert_eq!(document["info"]["title"], "Loreloom");
    assert!(document["paths"]["/chats/{chat}/path"]["get"]["responses"]["4XX"].is_object());
}

#[test]
fn every_operation_has_an_id_of_its_own_and_every_response_a_description() {
    let document = serde_json::to_value(loreloom_server::api_document()).unwrap();
    let mut ids = std::collections::BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{method} {path}: `{id}` is used twice");
            for (status, response) in operation["responses"].as_object().unwrap() {
                let description = response["description"].as_str().unwrap_or_default();
                assert!(!description.is_empty(), "{method} {path} {status}");
            }
        }
    }
    assert!(ids.contains("get_chats_chat_turns"), "{ids:?}");
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    let names: Vec<&String> = schemes.keys().collect();
    assert_eq!(names, ["api_key", "bearer", "loreloom_key"]);
    // A server on its own machine needs no key.
    assert_eq!(document["security"][0], serde_json::json!({}));
}

#[tokio::test]
async fn headers_are_declared_where_they_are_honoured() {
    let api = Api::start().await;
    let document = api.get("/openapi.json").await.good();
    for (method, path, expected) in [
        ("get", "/chats", &["If-None-Match"] as &[&str]),
        ("get", "/events", &["Last-Event-ID"]),
        ("get", "/metrics", &[]),
        ("post", "/chats", &["Idempotency-Key"]),
        ("post", "/lore/replace", &["If-Match", "Idempotency-Key"]),
        ("patch", "/lore/entries", &["If-Match"]),
        ("put", "/memory/records/{record}", &["If-Match"]),
        ("patch", "/settings", &["If-Match"]),
        ("delete", "/keys/{id}", &[]),
    ] {
        let parameters = document["paths"][path][method]["parameters"].as_array();
        let headers: Vec<String> = parameters
            .into_iter()
            .flatten()
            .filter(|one| one["in"] == "header")
            .map(|one| one["name"].as_str().unwrap().to_lowercase())
            .collect();
        let expected: Vec<String> = expected.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(headers, expected, "{method} {path}");
    }
    let cache = &document["components"]["schemas"]["TurnView"]["properties"]["cache"];
    assert!(cache.is_object(), "{cache}");
}

#[tokio::test]
async fn what_is_not_there_is_a_problem() {
    let api = Api::start().await;
    let (code, detail) = api.get("/nowhere").await.refused(404);
    assert_eq!((code.as_str(), detail.as_str()), ("not_found", "the API has no `/nowhere`"));
    let answer = api.send(api.request("DELETE", "/health")).await;
    assert_eq!(answer.headers["allow"], "GET,HEAD");
    assert_eq!(answer.refused(405).0, "wrong_method");
}
