//! Requests at the edges of HTTP: hosts, targets, sizes, and headers of every answer.

use loreloom_server::ServerLimits;
use loreloom_testkit::model_server::{ModelServer, Script};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";

/// Sends bytes, and reads until the server closes the connection.
async fn exchange(loreloom: &Loreloom, bytes: &str) -> String {
    let mut stream = TcpStream::connect(loreloom.address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}

#[tokio::test]
async fn a_request_must_name_this_server_once() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    for (target, hosts, expected) in [
        ("/health", "host: localhost\r\n", "200"),
        ("/health", "", "400"),
        ("/health", "host: localhost\r\nhost: localhost\r\n", "400"),
        ("/health", "host: localhost\r\nhost: evil.example\r\n", "400"),
        ("http://localhost/health", "host: localhost\r\n", "200"),
        ("http://evil.example/health", "host: localhost\r\n", "403"),
        ("http://evil.example/v1/models", "host: localhost\r\n", "403"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\n{hosts}connection: close\r\n\r\n");
        let answer = exchange(&loreloom, &request).await;
        assert_eq!(status(&answer), expected, "{request}{answer}");
    }
    let old = exchange(&loreloom, "GET /health HTTP/1.0\r\n\r\n").await;
    assert_eq!(status(&old), "400", "{old}");
    assert!(model.received().is_empty());
}

#[tokio::test]
async fn a_page_of_another_site_cannot_read_in_any_way() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    for (path, headers, expected) in [
        ("/api/v1/chats", "sec-fetch-site: same-origin\r\n", "200"),
        ("/api/v1/chats", "sec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\n", "403"),
        ("/v1/models", "sec-fetch-site: cross-site\r\nsec-fetch-dest: image\r\n", "403"),
        ("/icon.svg", "sec-fetch-site: cross-site\r\nsec-fetch-dest: image\r\n", "403"),
        (
            "/",
            "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\n\
             sec-fetch-dest: document\r\n",
            "200",
        ),
    ] {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}connection: close\r\n\r\n");
        let answer = exchange(&loreloom, &request).await;
        assert_eq!(status(&answer), expected, "{request}{answer}");
    }
    assert!(model.received().is_empty());
}

#[tokio::test]
async fn the_limit_of_a_head_is_exact() {
    let model = ModelServer::start(Script::new()).unwrap();
    for most in [1024, 8192, 65536] {
        let limits = ServerLimits { head: most, ..ServerLimits::default() };
        let loreloom = Loreloom::start(&model, Setup { limits, ..Setup::default() }).await;
        for (size, expected) in [(most, "200"), (most + 1, "431"), (most * 2, "431")] {
            let start = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-long: ";
            let filling = "a".repeat(size - start.len() - 4);
            let mut stream = TcpStream::connect(loreloom.address).await.unwrap();
            stream.write_all(format!("{start}{filling}\r\n\r\n").as_bytes()).await.unwrap();
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer, *format!("HTTP/1.1 {expected}").as_bytes(), "{size} of {most}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_announced_too_large_is_refused_before_it_is_sent() {
    let model = ModelServer::start(Script::new()).unwrap();
    let limits = ServerLimits { body: 1000, ..ServerLimits::default() };
    let loreloom = Loreloom::start(&model, Setup { limits, ..Setup::default() }).await;
    let large = (32 << 20) + 1;
    for (path, length) in [(CHAT, 1001), ("/api/chat", 1001), ("/api/v1/books", large)] {
        for waits in ["", "expect: 100-continue\r\n"] {
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                 {waits}content-length: {length}\r\n\r\n"
            );
            let mut stream = TcpStream::connect(loreloom.address).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.unwrap();
            let answer = String::from_utf8_lossy(&answer);
            assert_eq!(answer, "HTTP/1.1 413", "{path} {waits}");
        }
    }
    assert!(model.received().is_empty());
}

#[tokio::test]
async fn no_answer_is_for_a_browser_to_guess_and_a_missing_file_is_not_kept() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    for (path, status) in [
        ("/", 200),
        ("/health", 200),
        ("/metrics", 200),
        ("/api/v1/chats", 200),
        ("/api/v1/nowhere", 404),
        ("/v1/models", 200),
        ("/assets/missing-0.js", 404),
        ("/nowhere", 404),
    ] {
        let answer = reqwest::get(loreloom.url(path)).await.unwrap();
        assert_eq!(answer.status(), status, "{path}");
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff", "{path}");
        if path.starts_with("/assets/") {
            assert_eq!(answer.headers()["cache-control"], "no-store", "{path}");
        }
    }
}
