//! The API is as closed to strangers as the rest.

use super::Api;

#[tokio::test]
async fn a_strange_host_or_page_is_refused() {
    let api = Api::start().await;
    let rebound = api.request("GET", "/health").header("host", "evil.example");
    assert_eq!(api.send(rebound).await.status, 403);
    let page = api.request("GET", "/health").header("origin", "https://evil.example");
    assert_eq!(api.send(page).await.status, 403);
    assert_eq!(api.get("/health").await.good()["status"], "ok");
}
