//! Passing on: what goes in comes out, as it comes.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, Method, StatusCode};
use loreloom_llm::{
    connection::{Address, ConnectionError},
    secret::Secret,
    upstream::HttpUpstream,
};
use loreloom_ports::{BodyStream, Upstream, UpstreamCall, UpstreamError};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

const PATH: &str = "/v1/chat/completions";

fn upstream(server: &ModelServer, key: Option<&Secret>) -> HttpUpstream {
    let address = Address::parse(&format!("{}/v1", server.base_url())).unwrap();
    HttpUpstream::new(address, key).unwrap()
}

fn call(body: &'static [u8], headers: &[(&'static str, &str)]) -> UpstreamCall {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, value.parse().unwrap());
    }
    UpstreamCall {
        method: Method::POST,
        path: PATH.to_owned(),
        headers: map,
        body: Bytes::from_static(body),
    }
}

async fn collect(mut body: BodyStream) -> (Vec<u8>, Option<UpstreamError>) {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        match piece {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(error) => return (bytes, Some(error)),
        }
    }
    (bytes, None)
}

#[tokio::test]
async fn the_body_and_headers_arrive_as_sent() {
    let server = ModelServer::start(Script::new()).unwrap();
    let body = b"{\"model\":\"m\",  \"unknown\": 1.0e3,\"messages\":[]}\n";
    let headers = [
        ("host", "front.example"),
        ("content-length", "3"),
        ("connection", "keep-alive, x-hop"),
        ("x-hop", "1"),
        ("content-type", "application/json; charset=utf-8"),
        ("authorization", "Bearer front"),
        ("accept-encoding", "gzip, br"),
        ("x-twice", "a"),
        ("x-twice", "b"),
    ];
    let reply = upstream(&server, None).send(call(body, &headers)).await.unwrap();
    assert_eq!(reply.status, StatusCode::OK);
    let received = server.received().remove(0);
    assert_eq!(received.body, body.as_slice());
    let own_host = server.base_url().replace("http://", "");
    for (name, expected) in [
        ("host", Some(own_host.as_str())),
        ("content-length", Some("47")),
        ("x-hop", None),
        ("connection", None),
        ("content-type", Some("application/json; charset=utf-8")),
        ("authorization", Some("Bearer front")),
        ("accept-encoding", Some("gzip, br")),
    ] {
        assert_eq!(received.header(name), expected, "{name}");
    }
    let twice: Vec<_> = received.headers.get_all("x-twice").iter().collect();
    assert_eq!(twice, ["a", "b"]);
}

#[tokio::test]
async fn the_key_replaces_the_front_ends() {
    let server = ModelServer::start(Script::new()).unwrap();
    let key = Secret::new("sk-ours");
    let front = [("authorization", "Bearer theirs")];
    upstream(&server, Some(&key)).send(call(b"{}", &front)).await.unwrap();
    let received = server.received().remove(0);
    let sent: Vec<_> = received.headers.get_all("authorization").iter().collect();
    assert_eq!(sent, ["Bearer sk-ours"]);
}

#[tokio::test]
async fn an_answer_is_passed_on_byte_for_byte_even_if_it_looks_compressed() {
    let pieces: [&[u8]; 3] = [b"\x1f\x8b\x08 not gzip \xff", b"data: \xe6\x97", b"\xa5\n\n"];
    let raw = Reply::raw("text/event-stream", pieces)
        .header("content-encoding", "gzip")
        .header("x-request-id", "r-1");
    let server = ModelServer::start(Script::new().on(PATH, raw)).unwrap();
    let reply = upstream(&server, None).send(call(b"{}", &[])).await.unwrap();
    assert_eq!(reply.headers["content-encoding"], "gzip");
    assert_eq!(reply.headers["x-request-id"], "r-1");
    assert!(!reply.headers.contains_key("transfer-encoding"));
    let (bytes, error) = collect(reply.body).await;
    assert!(error.is_none());
    assert_eq!(bytes, pieces.concat());
}

#[tokio::test]
async fn errors_and_redirects_are_answers() {
    for (reply, status, body) in [
        (Reply::status(429, "busy").header("retry-after", "7"), 429, "busy"),
        (Reply::status(500, "boom"), 500, "boom"),
        (Reply::status(302, "there").header("location", "/elsewhere"), 302, "there"),
    ] {
        let server = ModelServer::start(Script::new().on(PATH, reply)).unwrap();
        let reply = upstream(&server, None).send(call(b"{}", &[])).await.unwrap();
        assert_eq!(reply.status.as_u16(), status);
        assert_eq!(collect(reply.body).await.0, body.as_bytes());
        assert_eq!(server.received().len(), 1, "nothing is retried or followed");
    }
}

#[tokio::test]
async fn the_first_chunk_is_there_before_the_last_is_written() {
    let reply = Reply::chunks(["one", "two"]).paced(Duration::from_mins(10));
    let server = ModelServer::start(Script::new().on(PATH, reply)).unwrap();
    let streaming = call(br#"{"stream":true}"#, &[]);
    let mut reply = upstream(&server, None).send(streaming).await.unwrap();
    let first = reply.body.next().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&first).contains("one"), "{first:?}");
    assert_eq!(server.disconnects(), 0);
    drop(reply);
    server.wait_for_disconnects(1).await.unwrap();
}

#[tokio::test]
async fn giving_up_before_the_answer_cancels_the_request() {
    let slow = Reply::text("late").after(Duration::from_mins(10));
    let server = ModelServer::start(Script::new().on(PATH, slow)).unwrap();
    let upstream = upstream(&server, None);
    let sending = upstream.send(call(b"{}", &[]));
    tokio::select! {
        _answered = sending => panic!("the server waits ten minutes"),
        arrived = server.wait_for(1) => assert_eq!(arrived.unwrap().len(), 1),
    }
    server.wait_for_disconnects(1).await.unwrap();
}

#[tokio::test]
async fn a_cut_answer_ends_in_an_error_after_what_was_sent() {
    let reply = Reply::chunks(["one", "two", "three"]).cut_after(2);
    let server = ModelServer::start(Script::new().on(PATH, reply)).unwrap();
    let streaming = call(br#"{"stream":true}"#, &[]);
    let reply = upstream(&server, None).send(streaming).await.unwrap();
    let (bytes, error) = collect(reply.body).await;
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("two") && !text.contains("three"), "{text}");
    assert!(matches!(error, Some(UpstreamError::Cut { .. })), "{error:?}");
}

#[tokio::test]
async fn nobody_listening_is_unreachable() {
    let server = ModelServer::start(Script::new()).unwrap();
    let upstream = upstream(&server, None);
    drop(server);
    let result = upstream.send(call(b"{}", &[])).await;
    assert!(matches!(result, Err(UpstreamError::Unreachable { .. })));
}

/// Reads one request without a body and writes this answer.
async fn answer(socket: &mut TcpStream, answer: &str) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(socket.read_u8().await.unwrap());
    }
    socket.write_all(answer.as_bytes()).await.unwrap();
}

async fn ask(upstream: &HttpUpstream) -> Vec<u8> {
    let (bytes, error) = collect(upstream.send(call(b"", &[])).await.unwrap().body).await;
    assert!(error.is_none(), "{error:?}");
    bytes
}

#[tokio::test]
async fn requests_share_one_connection_and_a_name_leads_to_the_address_that_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = Address::parse(&format!("http://localhost:{port}")).unwrap();
    let upstream = HttpUpstream::new(address, None).unwrap();
    let serving = async {
        // Only one connection is accepted.
        let (mut socket, _) = listener.accept().await.unwrap();
        for _ in 0..4 {
            answer(&mut socket, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
            let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                1\r\no\r\n1\r\nk\r\n0\r\n\r\n";
            answer(&mut socket, chunked).await;
        }
    };
    let asking = async {
        for _ in 0..8 {
            assert_eq!(ask(&upstream).await, b"ok");
        }
    };
    tokio::time::timeout(Duration::from_secs(10), async { tokio::join!(asking, serving) })
        .await
        .unwrap();
}

/// The server writes its answer and closes, as those of HTTP/1.0 do.
#[tokio::test]
async fn every_way_to_end_an_answer_is_understood() {
    for (reply, body) in [
        ("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", "ok"),
        ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok", "ok"),
        ("HTTP/1.0 200 OK\r\n\r\nok", "ok"),
        ("HTTP/1.1 204 No Content\r\n\r\n", ""),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "ok"),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-end: 1\r\n\r\n",
            "ok",
        ),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let upstream = HttpUpstream::new(Address::parse(&address).unwrap(), None).unwrap();
        let serving = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            answer(&mut socket, reply).await;
        };
        assert_eq!(tokio::join!(ask(&upstream), serving).0, body.as_bytes(), "{reply}");
    }
}

/// Encrypted connections are set up with the system's certificates; nothing is sent here.
#[test]
fn a_client_for_https_can_be_built() {
    let address = Address::parse("https://models.example/v1").unwrap();
    match HttpUpstream::new(address, None) {
        Ok(_built) => {}
        Err(ConnectionError::Client { .. }) => println!("skipped: no certificates here"),
        Err(error) => panic!("{error}"),
    }
}
