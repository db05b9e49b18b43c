//! The document of the API is served, and says what the handlers do.

use super::Api;

#[tokio::test]
async fn the_document_is_served() {
    let api = Api::start().await;
    let document = api.get("/openapi.json").await.good();
    let committed: serde_json::Value =
        serde_json::from_str(include_str!("../../../../../docs/openapi.json")).unwrap();
    assert_eq!(document, committed);
    assert_eq!(document["info"]["title"], "Loreloom");
    assert!(document["paths"]["/chats/{chat}/path"]["get"]["responses"]["4XX"].is_object());
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
