//! What a configuration file says of the server is what the running server does.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::json;
use tempfile::TempDir;

use crate::{
    run::{printed, write},
    serve::Server,
};

/// A server with this configuration.
fn configured(home: &TempDir, config: &str) -> Server {
    write(home.path(), "config.toml", config);
    Server::with(home.path(), &["--config", "config.toml"])
}

/// Longer than the limits that the tests set, shorter than those that hold without.
const PATIENCE: Duration = Duration::from_secs(20);

fn connected(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.url().strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// The status that a server answers next.
fn status(stream: &mut TcpStream) -> String {
    let mut line = [0; 12];
    stream.read_exact(&mut line).unwrap();
    String::from_utf8_lossy(&line[9..]).into_owned()
}

#[tokio::test]
async fn hosts_origins_proxies_and_the_need_of_a_key_come_from_the_file() {
    let home = TempDir::new().unwrap();
    let key = printed(home.path(), &["keys", "add", "--data", "data"]);
    let server = configured(
        &home,
        "[server]\nhosts = [\"tales.example\"]\norigins = [\"https://ui.example\"]\n\
         trusted_proxies = [\"127.0.0.1\"]\nrequire_key = true\n",
    );
    let client = reqwest::Client::new();
    let page = ("origin", "https://ui.example");
    for (headers, status, may_read) in [
        (&[] as &[(&str, &str)], 200, false),
        (&[("x-loreloom-key", "")], 401, false),
        (&[("host", "tales.example")], 200, false),
        (&[("host", "other.example")], 403, false),
        (&[("x-forwarded-host", "tales.example")], 200, false),
        (&[("x-forwarded-host", "other.example")], 403, false),
        (&[page], 200, true),
        (&[("origin", "https://other.example")], 403, false),
    ] {
        let mut request = client.get(format!("{}/api/v1/health", server.url()));
        // An empty one stands for none.
        if !headers.contains(&("x-loreloom-key", "")) {
            request = request.header("x-loreloom-key", key.trim());
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{headers:?}");
        let readable = answer.headers().contains_key("access-control-allow-origin");
        assert_eq!(readable, may_read, "{headers:?}");
    }
}

#[tokio::test]
async fn how_much_a_client_may_take_comes_from_the_file() {
    let home = TempDir::new().unwrap();
    let server = configured(&home, "[server.limits]\nbody_mb = 1\nhead_kb = 8\nconnections = 2\n");
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
    let large = client.post(format!("{}/v1/chat/completions", server.url()));
    let large = large.body(vec![b' '; (1 << 20) + 1]).send().await.unwrap();
    assert_eq!(large.status().as_u16(), 413);
    let long = client.get(format!("{}/health", server.url())).header("x-long", "a".repeat(20_000));
    assert_eq!(long.send().await.unwrap().status().as_u16(), 431);
    let mut waiting: Vec<TcpStream> = (0..3).map(|_| connected(&server)).collect();
    assert_eq!(status(&mut waiting[2]), "503");
}

#[tokio::test]
async fn what_is_set_over_the_api_works_after_a_restart() {
    let home = TempDir::new().unwrap();
    let server = configured(&home, "");
    let patch = json!({"server.limits.body_mb": 1, "limits.entries": 7});
    let (status, wrote) = server.api("PATCH", "/settings", &patch).await;
    assert_eq!(status, 200, "{wrote}");
    let rows = wrote["item"]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == "server.limits.body_mb").unwrap();
    assert_eq!((&row["takes_effect"], &row["source"]), (&json!("after_restart"), &json!("stored")));
    let large = async |server: &Server| {
        let post = reqwest::Client::new().post(format!("{}/v1/chat/completions", server.url()));
        let body = vec![b' '; (1 << 20) + 1];
        post.header("x-loreloom-weave", "off").body(body).send().await.unwrap().status().as_u16()
    };
    assert_ne!(large(&server).await, 413);
    drop(server);
    let server = configured(&home, "");
    assert_eq!(large(&server).await, 413);
}

#[test]
fn how_long_a_client_may_take_comes_from_the_file() {
    let home = TempDir::new().unwrap();
    let server = configured(
        &home,
        "[server.limits]\nhead_seconds = 0.5\nstall_seconds = 0.5\nleast_kb_per_second = 1000000\n",
    );
    let mut slow = connected(&server);
    slow.write_all(b"GET /health HTTP/1.1\r\nhost: loc").unwrap();
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    let head = |length: usize| {
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    let mut silent = connected(&server);
    silent.write_all(head(90).as_bytes()).unwrap();
    assert_eq!(status(&mut silent), "408");
    // Never silent, and faster than is asked of it without the file; but not fast enough.
    let mut trickling = connected(&server);
    trickling.write_all(head(100 << 14).as_bytes()).unwrap();
    trickling.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let (mut line, mut refused) = ([0; 12], false);
    for _ in 0..100 {
        refused = trickling.read_exact(&mut line).is_ok();
        if refused || trickling.write_all(&[b' '; 1 << 14]).is_err() {
            break;
        }
    }
    assert!(refused, "the whole body was taken");
    assert_eq!(&line[9..], b"408");
}
