//! The storyteller, asked as a front end asks.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::StreamExt as _;
use http::{HeaderMap, Method};
use loreloom_core::{chat::Role, prompt::PromptMessage};
use loreloom_llm::{
    connection::{ReplyReader, Wire},
    offline::{OfflineModel, OfflineUpstream},
};
use loreloom_ports::{ChatModel, ChatRequest, ModelError, Upstream, UpstreamCall};
use serde_json::{Value, json};

const WORLD: &str = "The Ashen Gate has been shut since the Long Frost. \
    It opens only to a key of bone.\n\
    The ferryman of Olm takes no silver. He asks for a memory instead.\n\
    Tamsin sells lamp oil in the lower market.";

async fn send(method: Method, path: &str, body: &Value) -> (u16, String, Vec<u8>) {
    let call = UpstreamCall {
        method,
        path: path.to_owned(),
        headers: HeaderMap::new(),
        body: if body.is_null() { Vec::new().into() } else { body.to_string().into() },
    };
    let mut reply = OfflineUpstream::default().send(call).await.unwrap();
    let content_type = reply.headers["content-type"].to_str().unwrap().to_owned();
    let mut bytes = Vec::new();
    while let Some(piece) = reply.body.next().await {
        bytes.extend_from_slice(&piece.unwrap());
    }
    (reply.status.as_u16(), content_type, bytes)
}

fn chat(system: &str, turns: &[&str]) -> Value {
    let mut messages = vec![json!({"role": "system", "content": system})];
    for (index, turn) in turns.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        messages.push(json!({"role": role, "content": turn}));
    }
    json!({"model": "any", "messages": messages})
}

async fn reply_to(body: &Value) -> String {
    let (status, _, bytes) = send(Method::POST, "/chat/completions", body).await;
    assert_eq!(status, 200);
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_lore_that_was_asked_for_is_told_and_the_rest_is_not() {
    for (ask, used, unused) in [
        ("What do you know about the Ashen Gate?", "shut since the Long Frost", "Tamsin"),
        ("I walk down to the ferryman.", "takes no silver", "Frost"),
        ("We are out of lamp oil.", "sells lamp oil in the lower market", "ferryman"),
    ] {
        for system in [WORLD.to_owned(), format!("You are Mira, keeper of the gate.\n{WORLD}")] {
            let text = reply_to(&chat(&system, &[ask])).await;
            assert!(text.contains(used), "{ask}: {text}");
            assert!(!text.contains(unused), "{ask}: {text}");
        }
    }
}

#[tokio::test]
async fn a_sentence_that_leans_on_another_follows_it() {
    let text = reply_to(&chat(WORLD, &["Tell me about the Ashen Gate."])).await;
    let gate = text.find("since the Long Frost.").unwrap();
    let key = text.find("It opens only to a key of bone.").unwrap();
    assert!(gate < key, "{text}");
}

#[tokio::test]
async fn what_was_told_is_not_told_again() {
    let ask = "What about the Ashen Gate?";
    let first = reply_to(&chat(WORLD, &[ask])).await;
    let second = reply_to(&chat(WORLD, &[ask, &first, ask])).await;
    assert!(first.contains("Long Frost"), "{first}");
    assert!(!second.contains("Long Frost"), "{second}");
    let shared = first.split(". ").filter(|part| second.contains(part)).count();
    assert_eq!(shared, 0, "{first}\n{second}");
}

#[tokio::test]
async fn a_named_character_speaks_the_lore() {
    let system =
        format!("Write Mira's next reply in a fictional chat between Mira and Wren.\n{WORLD}");
    for ask in
        ["Where is the ferryman?", "The ferryman frightens me.", "Who is the ferryman of Olm?"]
    {
        let text = reply_to(&chat(&system, &[ask])).await;
        assert!(text.contains("Mira"), "{text}");
        let spoken: String = text.split('"').skip(1).step_by(2).collect();
        assert!(spoken.contains("takes no silver"), "{text}");
    }
}

#[tokio::test]
async fn replies_are_two_to_four_sentences_without_open_slots() {
    let systems = [
        String::new(),
        WORLD.to_owned(),
        format!(
            "You are Mira, keeper of the gate.\n{WORLD}\nMira hides her scarred hand from strangers."
        ),
    ];
    let asks = [
        "Hello.",
        "Who are you, Mira?",
        "I draw my sword.",
        "*waves*",
        "Goodbye.",
        "",
        "?",
        "I push the Ashen Gate with both hands.",
        "日本の塔？",
        "The oil is gone, and so is Tamsin.",
    ];
    for system in &systems {
        for ask in asks {
            for seed in 0..6 {
                let mut body = chat(system, &[ask]);
                body["seed"] = json!(seed);
                let text = reply_to(&body).await;
                let ends = text.matches(['.', '!', '?']).count();
                assert!((2..=6).contains(&ends), "{ask}: {text}");
                assert!(!text.contains(['{', '}']) && !text.contains("  "), "{ask}: {text}");
                assert_eq!(text.matches('"').count() % 2, 0, "{ask}: {text}");
                assert_eq!(text.trim(), text, "{ask}");
            }
        }
    }
}

#[tokio::test]
async fn the_same_request_gets_the_same_bytes() {
    let body = chat(WORLD, &["What about the Ashen Gate?"]);
    let once = send(Method::POST, "/chat/completions", &body).await;
    assert_eq!(send(Method::POST, "/chat/completions", &body).await, once);
}

#[tokio::test]
async fn each_of_many_versions_differs_from_the_one_before() {
    let about_herself =
        format!("You are Mira, keeper of the gate.\n{WORLD}\nMira guards the gate.");
    for (system, ask) in [
        (WORLD, "What about the Ashen Gate?"),
        (WORLD, "I push the Ashen Gate."),
        (WORLD, "Farewell."),
        (&about_herself, "I look around. Who are you, Mira?"),
        (&about_herself, "I wave."),
    ] {
        let mut body = chat(system, &[ask]);
        let mut before = reply_to(&body).await;
        for seed in 1..8 {
            body["seed"] = json!(seed);
            let version = reply_to(&body).await;
            assert_ne!(version, before, "{ask}: version {seed}");
            before = version;
        }
    }
}

#[tokio::test]
async fn a_stream_says_what_the_whole_answer_says() {
    let mut body = chat(WORLD, &["What about the Ashen Gate?"]);
    let whole = reply_to(&body).await;
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let (status, content_type, bytes) = send(Method::POST, "/chat/completions", &body).await;
    assert_eq!((status, content_type.as_str()), (200, "text/event-stream"));
    let mut reader = ReplyReader::new(Wire::OpenAi, &content_type);
    reader.push(&bytes).unwrap();
    assert_eq!(reader.finish().unwrap(), whole);
    let text = String::from_utf8(bytes).unwrap();
    let frames: Vec<&str> = text.trim_end().split("\n\n").collect();
    assert_eq!(frames.last(), Some(&"data: [DONE]"));
    let usage: Value =
        serde_json::from_str(frames[frames.len() - 2].strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(usage["choices"], json!([]));
    let total = usage["usage"]["total_tokens"].as_u64().unwrap();
    let parts =
        ["prompt_tokens", "completion_tokens"].map(|part| usage["usage"][part].as_u64().unwrap());
    assert_eq!(total, parts.iter().sum::<u64>());
}

#[tokio::test]
async fn a_limit_cuts_the_reply_and_says_so() {
    let mut body = chat(WORLD, &["What about the Ashen Gate?"]);
    let whole = reply_to(&body).await;
    body["max_tokens"] = json!(5);
    let (_, _, bytes) = send(Method::POST, "/chat/completions", &body).await;
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(whole.starts_with(text) && !text.is_empty() && text.len() <= 20, "{text}");
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
}

#[tokio::test]
async fn the_model_is_listed_and_everything_else_is_a_json_error() {
    let models = send(Method::GET, "/models", &Value::Null).await.2;
    let models: Value = serde_json::from_slice(&models).unwrap();
    assert_eq!(models["data"][0]["id"], "offline");
    for (method, path, body, status) in [
        (Method::GET, "/models/offline", Value::Null, 200),
        (Method::GET, "/models/other", Value::Null, 404),
        (Method::POST, "/embeddings", json!({}), 400),
        (Method::POST, "/rerank", json!({}), 404),
        (Method::POST, "/completions", json!({"prompt": []}), 400),
        (Method::POST, "/completions", json!({"prompt": [1, 2]}), 400),
        (Method::POST, "/completions", json!({"prompt": "a", "n": 0}), 400),
        (Method::POST, "/completion", json!({"prompt": ["a", "b"]}), 400),
        (Method::GET, "/chat/completions", Value::Null, 405),
        (Method::POST, "/chat/completions", json!({}), 400),
        (Method::POST, "/chat/completions", json!({"messages": [{"role": "king"}]}), 400),
        (
            Method::POST,
            "/chat/completions",
            json!({"messages": [], "response_format": {"type": "json_object"}}),
            400,
        ),
        (Method::POST, "/chat/completions", Value::Null, 400),
    ] {
        let (found, content_type, bytes) = send(method, path, &body).await;
        assert_eq!((found, content_type.as_str()), (status, "application/json"), "{path} {body}");
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(answer["error"]["message"].is_string(), status != 200, "{path}");
    }
}

#[tokio::test]
async fn as_a_model_it_tells_the_same_and_refuses_json() {
    let messages = vec![
        PromptMessage { role: Role::System, name: None, content: WORLD.into() },
        PromptMessage { role: Role::User, name: None, content: "The Ashen Gate?".into() },
    ];
    let mut request = ChatRequest { messages, ..ChatRequest::default() };
    let reply = OfflineModel.complete(&request).await.unwrap();
    assert_eq!(reply.text, reply_to(&chat(WORLD, &["The Ashen Gate?"])).await);
    request.schema = Some(json!({"type": "object"}));
    let error = OfflineModel.complete(&request).await.unwrap_err();
    assert!(matches!(error, ModelError::Refused { status: 400, .. }), "{error}");
}

/// An answer as the proxy reads it.
async fn read_back(path: &str, body: &Value, stream: bool) -> Option<Vec<String>> {
    let mut body = body.clone();
    body["stream"] = json!(stream);
    let (status, content_type, bytes) = send(Method::POST, path, &body).await;
    assert_eq!(status, 200, "{path}");
    let mut reading = OfflineUpstream::default().reading(&content_type);
    reading.push(&bytes);
    reading.finish().whole()
}

#[tokio::test]
async fn the_storyteller_speaks_ollama_and_completions_too() {
    let ask = "What do you know about the Ashen Gate?";
    let chat = chat(WORLD, &[ask]);
    let expected = reply_to(&chat).await;
    let text = format!("{WORLD}\n{ask}");
    for (path, body) in [
        ("/api/chat", chat),
        ("/api/generate", json!({"prompt": text})),
        ("/v1/completions", json!({"prompt": text})),
    ] {
        for stream in [false, true] {
            let replies = read_back(path, &body, stream).await.unwrap();
            assert!(replies.len() == 1 && !replies[0].is_empty(), "{path}: {replies:?}");
            assert!(path != "/api/chat" || replies[0] == expected, "{replies:?}");
        }
    }
    let (status, _, bytes) = send(Method::GET, "/api/tags", &Value::Null).await;
    let tags: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((status, tags["models"].as_array().unwrap().len()), (200, 1));
}

#[tokio::test]
async fn what_ollamas_clients_ask_before_they_talk_is_answered() {
    let none = Value::Null;
    for (method, path, body, status, at, expected) in [
        (
            Method::POST,
            "/api/show",
            json!({"model": "offline"}),
            200,
            "/capabilities/0",
            "completion",
        ),
        (Method::POST, "/api/show", json!({"name": "offline"}), 200, "/details/family", "offline"),
        (Method::POST, "/api/show", json!({"model": "x"}), 404, "/error", "model 'x' not found"),
        (Method::POST, "/api/show", json!({}), 400, "/error", "`model` must be text"),
        (Method::GET, "/api/version", none.clone(), 200, "/version", env!("CARGO_PKG_VERSION")),
        (
            Method::POST,
            "/api/pull",
            none.clone(),
            404,
            "/error",
            "the offline storyteller has no `/api/pull`",
        ),
    ] {
        let (found, _, bytes) = send(method, path, &body).await;
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        let said = answer.pointer(at).and_then(Value::as_str);
        assert_eq!((found, said), (status, Some(expected)), "{path} {body}: {answer}");
    }
    let (status, _, bytes) = send(Method::GET, "/api/ps", &none).await;
    assert_eq!((status, bytes.as_slice()), (200, &br#"{"models":[]}"#[..]));
}

/// Every wire format, whole and streamed, gives the same reply, and the proxy reads it back.
#[tokio::test]
async fn the_same_question_gets_the_same_answer_in_every_format() {
    let ask = format!("{WORLD}\nWhat do you know about the Ashen Gate?");
    let text = reply_to(&json!({"messages": [{"role": "user", "content": ask}]})).await;
    assert!(!text.is_empty());
    let items = json!([{"role": "user", "content": [{"type": "input_text", "text": ask}]}]);
    for (path, body) in [
        ("/v1/chat/completions", json!({"messages": [{"role": "user", "content": ask}]})),
        ("/v1/completions", json!({"prompt": ask})),
        ("/v1/responses", json!({"input": ask})),
        ("/v1/responses", json!({"input": items})),
        ("/api/chat", json!({"messages": [{"role": "user", "content": ask}]})),
        ("/api/generate", json!({"prompt": ask})),
        ("/completion", json!({"prompt": ask})),
        ("/api/v1/generate", json!({"prompt": ask})),
        ("/api/latest/generate", json!({"prompt": ask})),
        ("/api/extra/generate/stream", json!({"prompt": ask})),
    ] {
        for stream in [false, true] {
            let replies = read_back(path, &body, stream).await;
            assert_eq!(replies, Some(vec![text.clone()]), "{path}, stream {stream}");
        }
    }
}

#[tokio::test]
async fn a_limit_is_kept_and_told_in_every_format() {
    let ask = format!("{WORLD}\nWhat do you know about the Ashen Gate?");
    for (path, body, at, reason) in [
        ("/v1/responses", json!({"input": ask, "max_output_tokens": 3}), "/status", "incomplete"),
        ("/completion", json!({"prompt": ask, "n_predict": 3}), "/stop_type", "limit"),
        (
            "/api/v1/generate",
            json!({"prompt": ask, "max_length": 3}),
            "/results/0/finish_reason",
            "length",
        ),
    ] {
        let (status, _, bytes) = send(Method::POST, path, &body).await;
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((status, answer.pointer(at)), (200, Some(&json!(reason))), "{path}: {answer}");
    }
    let (status, _, bytes) = send(Method::POST, "/v1/responses", &json!({"input": 7})).await;
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        (status, &answer["error"]["message"]),
        (400, &json!("`input` must be text or a list"))
    );
}

#[tokio::test]
async fn as_many_choices_are_told_as_are_asked_for() {
    let mut body = chat(WORLD, &["What do you know about the Ashen Gate?"]);
    let one = reply_to(&body).await;
    body["n"] = json!(2);
    for stream in [false, true] {
        let replies = read_back("/chat/completions", &body, stream).await.unwrap();
        assert_eq!((replies.len(), &replies[0]), (2, &one), "{stream}");
        assert_ne!(replies[0], replies[1]);
    }
    let texts = ["The Ashen Gate?", "The ferryman?"].map(|ask| format!("{WORLD}\n{ask}"));
    let alone = json!({"prompt": [&texts[1]]});
    let second = read_back("/v1/completions", &alone, false).await.unwrap();
    assert_eq!(second.len(), 1);
    let both = json!({"prompt": texts, "n": 2});
    for stream in [false, true] {
        let replies = read_back("/v1/completions", &both, stream).await.unwrap();
        assert_eq!((replies.len(), &replies[2]), (4, &second[0]), "{stream}");
    }
    let (_, _, bytes) =
        send(Method::POST, "/v1/completions", &json!({"prompt": "a", "n": 129})).await;
    let refused: Value = serde_json::from_slice(&bytes).unwrap();
    let rule = "`n` must be a number from 1 to 128 for 1 prompts, found 129";
    assert_eq!(refused["error"]["message"], rule);
    let many = json!({"prompt": vec!["a"; 129]});
    let (_, _, bytes) = send(Method::POST, "/v1/completions", &many).await;
    let refused: Value = serde_json::from_slice(&bytes).unwrap();
    let rule = "`prompt` must have 128 texts at most, found 129";
    assert_eq!(refused["error"]["message"], rule);
}

#[tokio::test]
async fn a_request_that_says_nothing_loads_or_unloads_the_model_as_with_ollama() {
    for (path, body, reason) in [
        ("/api/generate", json!({"model": "m"}), "load"),
        ("/api/generate", json!({"model": "m", "prompt": "", "keep_alive": "5m"}), "load"),
        ("/api/generate", json!({"model": "m", "keep_alive": 0}), "unload"),
        ("/api/generate", json!({"model": "m", "keep_alive": "0s"}), "unload"),
        ("/api/chat", json!({"model": "m", "messages": []}), "load"),
        ("/api/chat", json!({"model": "m", "messages": [], "keep_alive": 0}), "unload"),
    ] {
        let (status, content_type, bytes) = send(Method::POST, path, &body).await;
        assert_eq!((status, content_type.as_str()), (200, "application/json"), "{path} {body}");
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        let said =
            if path == "/api/chat" { &answer["message"]["content"] } else { &answer["response"] };
        assert_eq!(
            (&answer["done"], &answer["done_reason"], said),
            (&json!(true), &json!(reason), &json!("")),
            "{path} {body}"
        );
    }
}

#[tokio::test]
async fn what_can_be_read_can_be_asked_for_its_head_alone() {
    for path in ["/v1/models", "/models/offline", "/api/tags", "/api/ps", "/api/version"] {
        let (status, content_type, bytes) = send(Method::HEAD, path, &Value::Null).await;
        assert_eq!((status, content_type.as_str()), (200, "application/json"), "{path}");
        assert!(bytes.is_empty(), "{path}");
    }
    assert_eq!(send(Method::HEAD, "/models/other", &Value::Null).await.0, 404);
    assert_eq!(send(Method::HEAD, "/chat/completions", &Value::Null).await.0, 405);
}

#[tokio::test]
async fn texts_get_the_vectors_of_the_embedder_that_is_built_in() {
    let embedder = loreloom_llm::embed::StaticEmbedder::embedded();
    let vector = |text: &str| json!(embedder.embed_one(text));
    let ask = async |path: &str, body: Value| -> Value {
        let (status, _, bytes) = send(Method::POST, path, &body).await;
        assert_eq!(status, 200, "{path}");
        serde_json::from_slice(&bytes).unwrap()
    };
    let answer = ask("/v1/embeddings", json!({"model": "m", "input": ["a gate", "a boat"]})).await;
    let found = &answer["data"];
    assert_eq!(found.as_array().unwrap().len(), 2);
    assert_eq!((&found[1]["index"], &found[1]["embedding"]), (&json!(1), &vector("a boat")));
    let packed = json!({"input": "a gate", "encoding_format": "base64"});
    let packed = ask("/v1/embeddings", packed).await["data"][0]["embedding"].clone();
    let bytes = STANDARD.decode(packed.as_str().unwrap()).unwrap();
    let numbers: Vec<f32> =
        bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    assert_eq!(json!(numbers), vector("a gate"));
    let answer = ask("/api/embed", json!({"model": "m", "input": "a gate"})).await;
    assert_eq!(answer["embeddings"], json!([vector("a gate")]));
    let answer = ask("/api/embeddings", json!({"model": "m", "prompt": "a gate"})).await;
    assert_eq!(answer["embedding"], vector("a gate"));
    let (status, _, bytes) = send(Method::POST, "/api/embed", &json!({"input": []})).await;
    let refused: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(status, 400);
    assert_eq!(refused["error"], "`input` must have from 1 to 2048 texts, found 0");
}

#[tokio::test]
async fn shorter_vectors_are_as_long_as_whole_ones() {
    let ask = async |dimensions: Value| -> (u16, Value) {
        let body = json!({"input": "a gate", "dimensions": dimensions});
        let (status, _, bytes) = send(Method::POST, "/v1/embeddings", &body).await;
        (status, serde_json::from_slice(&bytes).unwrap())
    };
    let numbers = |answer: &Value| -> Vec<f64> {
        let listed = answer["data"][0]["embedding"].as_array().unwrap();
        listed.iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let size = |vector: &[f64]| vector.iter().map(|number| number * number).sum::<f64>().sqrt();
    let whole = numbers(&ask(Value::Null).await.1);
    let short = numbers(&ask(json!(8)).await.1);
    assert_eq!(short.len(), 8);
    let longer = size(&short) / size(&whole[..8]);
    assert!(short.iter().zip(&whole).all(|(a, b)| (a - b * longer).abs() < 1e-5), "{short:?}");
    assert!((size(&short) - size(&whole)).abs() < 1e-5, "{short:?}");
    for wrong in [json!(0), json!(whole.len() + 1), json!("8")] {
        let (status, refused) = ask(wrong.clone()).await;
        let most = whole.len();
        let rule = format!("`dimensions` must be a whole number from 1 to {most}, found {wrong}");
        assert_eq!((status, refused["error"]["message"].as_str()), (400, Some(rule.as_str())));
    }
}

#[tokio::test]
async fn a_body_without_a_prompt_is_told_what_it_may_have() {
    for (path, body, rule) in [
        ("/completions", json!({}), "one of `messages`, `prompt` and `input` must be given"),
        ("/chat/completions", json!({"messages": 1}), "`messages` must be a list"),
    ] {
        let (status, _, bytes) = send(Method::POST, path, &body).await;
        let refused: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((status, refused["error"]["message"].as_str()), (400, Some(rule)), "{path}");
    }
}
