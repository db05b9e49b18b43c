//! The scripted server itself, where the client tests do not already show it.

use futures_util::StreamExt as _;
use http::HeaderMap;
use loreloom_llm::{connection::Address, upstream::HttpUpstream};
use loreloom_ports::{Upstream, UpstreamCall};
use loreloom_testkit::model_server::{ModelServer, Reply, Script, embedding};
use serde_json::{Value, json};

async fn send(server: &ModelServer, method: &str, path: &str, body: Value) -> (u16, String) {
    let address = Address::parse(&server.base_url()).unwrap();
    let call = UpstreamCall {
        method: method.parse().unwrap(),
        path: path.to_owned(),
        headers: HeaderMap::new(),
        body: body.to_string().into(),
    };
    let mut reply = HttpUpstream::new(address, None).unwrap().send(call).await.unwrap();
    let mut bytes = Vec::new();
    while let Some(piece) = reply.body.next().await {
        bytes.extend_from_slice(&piece.unwrap());
    }
    (reply.status.as_u16(), String::from_utf8(bytes).unwrap())
}

#[tokio::test]
async fn every_endpoint_has_a_default() {
    let server = ModelServer::start(Script::new()).unwrap();
    let chat = json!({"messages": [{"role": "user", "content": "hi"}], "stream": false});
    let prompt = json!({"prompt": "hi", "stream": false});
    for (method, path, body, pointer, expected) in [
        (
            "POST",
            "/v1/chat/completions",
            chat.clone(),
            "/choices/0/message/content",
            "You said: hi",
        ),
        ("POST", "/v1/completions", prompt.clone(), "/choices/0/text", "You said: hi"),
        (
            "POST",
            "/v1/responses",
            json!({"input": "hi"}),
            "/output/0/content/0/text",
            "You said: hi",
        ),
        ("POST", "/api/chat", chat, "/message/content", "You said: hi"),
        ("POST", "/api/generate", prompt.clone(), "/response", "You said: hi"),
        ("POST", "/completion", prompt, "/content", "You said: hi"),
        ("GET", "/v1/models", Value::Null, "/data/0/id", "scripted"),
        ("GET", "/v1/models/scripted", Value::Null, "/id", "scripted"),
        ("GET", "/api/tags", Value::Null, "/models/0/name", "scripted"),
        ("POST", "/api/show", json!({"model": "x"}), "/details/family", "scripted"),
    ] {
        let (status, text) = send(&server, method, path, body).await;
        let answer: Value = serde_json::from_str(&text).unwrap();
        let found = answer.pointer(pointer).and_then(Value::as_str);
        assert_eq!((status, found), (200, Some(expected)), "{path}: {text}");
    }
    assert_eq!(send(&server, "GET", "/v1/models/none", Value::Null).await.0, 404);
    assert_eq!(send(&server, "GET", "/nowhere", Value::Null).await.0, 404);
}

#[tokio::test]
async fn vectors_depend_on_the_text_alone() {
    let server = ModelServer::start(Script::new()).unwrap();
    let openai = send(&server, "POST", "/v1/embeddings", json!({"input": ["a b", "c"]})).await.1;
    let ollama = send(&server, "POST", "/api/embed", json!({"input": "a b"})).await.1;
    let openai: Value = serde_json::from_str(&openai).unwrap();
    let ollama: Value = serde_json::from_str(&ollama).unwrap();
    assert_eq!(openai["data"][0]["embedding"], ollama["embeddings"][0]);
    assert_ne!(openai["data"][0]["embedding"], openai["data"][1]["embedding"]);
    let length: f32 = embedding("a b").iter().map(|part| part * part).sum();
    assert!((length - 1.0).abs() < 1e-6, "{length}");
}

#[tokio::test]
async fn a_streamed_chat_is_framed_as_openai_does_it() {
    let server =
        ModelServer::start(Script::new().on("/v1/chat/completions", Reply::chunks(["Hel", "lo"])))
            .unwrap();
    let body = json!({"model": "m", "stream": true, "stream_options": {"include_usage": true}});
    let (_, text) = send(&server, "POST", "/v1/chat/completions", body).await;
    let frames: Vec<&str> =
        text.split("\n\n").filter_map(|frame| frame.strip_prefix("data: ")).collect();
    assert_eq!(frames.len(), 5, "{text}");
    assert_eq!(frames[4], "[DONE]");
    let chunks: Vec<Value> =
        frames[..4].iter().map(|frame| serde_json::from_str(frame).unwrap()).collect();
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": "Hel"}));
    assert_eq!(chunks[1]["choices"][0]["delta"], json!({"content": "lo"}));
    assert_eq!(chunks[2]["choices"][0]["finish_reason"], "stop");
    assert_eq!(chunks[3]["choices"], json!([]));
    assert_eq!(chunks[3]["usage"]["completion_tokens"], 1);
}

#[tokio::test]
async fn a_function_may_answer_what_the_queue_does_not() {
    let script = Script::new().on("/v1/chat/completions", Reply::status(500, "first")).answering(
        |request| (request.path == "/v1/chat/completions").then(|| Reply::status(418, "then")),
    );
    let server = ModelServer::start(script).unwrap();
    server.push("/v1/chat/completions", Reply::status(503, "second"));
    for (status, body) in [(500, "first"), (503, "second"), (418, "then"), (418, "then")] {
        let answer = send(&server, "POST", "/v1/chat/completions", json!({})).await;
        assert_eq!(answer, (status, body.to_owned()));
    }
    assert_eq!(send(&server, "GET", "/v1/models", json!({})).await.0, 200);
    assert_eq!(server.wait_for(5).await.unwrap().len(), 5);
}
