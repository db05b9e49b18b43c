//! The budget over everything: no prompt is longer than a stated context, and what gives way is
//! named.

use std::fmt::Write as _;

use loreloom_core::{
    book::{Book, Entry, Key, Position},
    room::{MakeRoom, RoomRules},
    rules::Rules,
    tokens::{ByteEstimate, TokenCounter},
};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";
const TEXT: &str = "/v1/completions";

/// An answer and how many messages its headers say were left out.
async fn post(loreloom: &Loreloom, path: &str, body: &Value) -> Option<usize> {
    let request = reqwest::Client::new().post(loreloom.url(path)).header("x-loreloom-chat", "c");
    let reply = request.json(body).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    let left_out = reply.headers().get("x-loreloom-left-out").cloned();
    reply.bytes().await.unwrap();
    left_out.map(|count| count.to_str().unwrap().parse().unwrap())
}

async fn get(loreloom: &Loreloom, path: &str) -> Value {
    reqwest::get(loreloom.url(path)).await.unwrap().json().await.unwrap()
}

/// The last stored turn, which must replay to the byte.
async fn last_turn(loreloom: &Loreloom) -> Value {
    let turns = get(loreloom, "/api/v1/chats/c/turns?limit=200").await;
    let last = turns["items"].as_array().unwrap().last().unwrap()["id"].clone();
    let turn = get(loreloom, &format!("/api/v1/chats/c/turns/{last}")).await;
    assert_eq!(turn["reproduced"], true, "{turn}");
    turn
}

fn tokens(text: &str) -> usize {
    ByteEstimate.count(text).0 as usize
}

/// The tokens of the messages that the model got.
fn sent(body: &Value) -> usize {
    let messages = body["messages"].as_array().unwrap();
    messages.iter().map(|one| tokens(one["content"].as_str().unwrap())).sum()
}

fn texts(body: &Value) -> Vec<&str> {
    let messages = body["messages"].as_array().unwrap();
    messages.iter().map(|one| one["content"].as_str().unwrap()).collect()
}

/// A chat of so many messages, each of some 30 tokens, that ends with the user's.
fn history(count: usize) -> Vec<Value> {
    let message = |at: usize| {
        let role = if (count - at) % 2 == 1 { "user" } else { "assistant" };
        let words = "and the tide came in over the flats ".repeat(2);
        json!({"role": role, "content": format!("Message {at}: {words}bell")})
    };
    (0..count).map(message).collect()
}

fn chat(context: u32, reply: u32, messages: &[Value]) -> Value {
    let system = json!({"role": "system", "content": "You are Mira, a keeper of lights."});
    let messages: Vec<&Value> = std::iter::once(&system).chain(messages).collect();
    json!({"model": "m", "truncation_length": context, "max_tokens": reply, "messages": messages})
}

fn scripted(path: &str, turns: usize) -> ModelServer {
    let script = (0..turns)
        .fold(Script::new(), |script, at| script.on(path, Reply::text(&format!("Reply {at}."))));
    ModelServer::start(script).unwrap()
}

#[tokio::test]
async fn the_oldest_messages_leave_a_full_context_and_stay_in_the_story() {
    let model = scripted(CHAT, 1);
    let loreloom = Loreloom::before(&model).await;
    let messages = history(21);
    let left_out = post(&loreloom, CHAT, &chat(512, 100, &messages)).await;
    let got = model.received()[0].json.clone();
    let got = texts(&got);
    assert_eq!(got[0], "You are Mira, a keeper of lights.");
    assert_eq!(got[1], "The bell of Harrow is cracked.");
    let left_out = left_out.unwrap();
    assert!(left_out > 8, "{left_out}");
    let kept: Vec<&str> =
        messages[left_out..].iter().map(|one| one["content"].as_str().unwrap()).collect();
    assert_eq!(got[2..], kept);
    assert!(sent(&model.received()[0].json) + 100 <= 512);
    assert_eq!(loreloom.story(22).await[0].message.text, messages[0]["content"].as_str().unwrap());
    let turn = last_turn(&loreloom).await;
    let room = &turn["room"];
    assert_eq!(room["left_out"].as_array().unwrap().len(), left_out);
    assert!(room["left_out"][0]["begins"].as_str().unwrap().starts_with("Message 0: and"));
    assert_eq!(room["prompt"], sent(&model.received()[0].json));
    assert_eq!((&room["context"], &room["reply"]), (&json!(512), &json!(100)));
}

#[tokio::test]
async fn the_beginning_of_a_cut_prompt_stays_for_many_turns() {
    let model = scripted(CHAT, 12);
    let loreloom = Loreloom::before(&model).await;
    let mut begins = Vec::new();
    let mut messages = history(41);
    for turn in 0..12 {
        post(&loreloom, CHAT, &chat(1024, 100, &messages)).await;
        let got = model.received()[turn].json.clone();
        begins.push(texts(&got)[2].to_owned());
        messages.push(json!({"role": "assistant", "content": format!("Reply {turn}.")}));
        let words = "and the tide came in over the flats ".repeat(2);
        messages.push(json!({"role": "user", "content": format!("Turn {turn}: {words}bell")}));
    }
    begins.dedup();
    assert!(begins.len() <= 5, "{begins:#?}");
}

#[tokio::test]
async fn lore_has_its_format_in_the_prompts_of_front_ends() {
    let model = scripted(CHAT, 1);
    let rules = Rules { wi_format: "[Lore: {0}]".to_owned(), ..Rules::default() };
    let loreloom = Loreloom::with_rules(&model, rules).await;
    post(&loreloom, CHAT, &chat(4096, 100, &history(3))).await;
    let got = model.received()[0].json.clone();
    assert_eq!(texts(&got)[1], "[Lore: The bell of Harrow is cracked.]");
    last_turn(&loreloom).await;
}

#[tokio::test]
async fn an_assumed_context_cuts_nothing_and_warns() {
    let model = scripted(CHAT, 1);
    let loreloom = Loreloom::before(&model).await;
    let mut body = chat(512, 100, &history(201));
    body.as_object_mut().unwrap().remove("truncation_length");
    let request = reqwest::Client::new().post(loreloom.url(CHAT)).json(&body);
    let reply = request.send().await.unwrap();
    let warning = reply.headers()["x-loreloom-warning"].to_str().unwrap().to_owned();
    assert!(warning.contains("is not stated and assumed to be 4096"), "{warning}");
    assert_eq!(reply.headers().get("x-loreloom-left-out"), None);
    reply.bytes().await.unwrap();
    assert_eq!(texts(&model.received()[0].json).len(), 1 + 1 + 201);
}

#[tokio::test]
async fn tool_calls_and_their_results_leave_together() {
    let model = scripted(CHAT, 1);
    let loreloom = Loreloom::before(&model).await;
    let mut messages = vec![json!({"role": "user", "content": "Look up the tide. ".repeat(6)})];
    let call =
        json!({"id": "a", "type": "function", "function": {"name": "tide", "arguments": "{}"}});
    messages.push(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
    messages
        .push(json!({"role": "tool", "tool_call_id": "a", "content": "High at six. ".repeat(6)}));
    messages.extend(history(20));
    post(&loreloom, CHAT, &chat(700, 50, &messages)).await;
    let got = model.received()[0].json.clone();
    let roles: Vec<&str> = got["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["role"].as_str().unwrap())
        .collect();
    let calls = got["messages"].to_string().matches("tool_calls").count();
    assert_eq!(calls, roles.iter().filter(|role| **role == "tool").count(), "{got}");
    assert!(sent(&got) + 50 <= 700);
}

#[tokio::test]
async fn old_turns_leave_a_text_prompt_with_their_template() {
    let model = scripted(TEXT, 1);
    let loreloom = Loreloom::before(&model).await;
    let mut prompt =
        String::from("<|im_start|>system\nYou are Mira, a keeper of lights.<|im_end|>\n");
    let messages = history(21);
    for message in &messages {
        let (role, text) =
            (message["role"].as_str().unwrap(), message["content"].as_str().unwrap());
        write!(prompt, "<|im_start|>{role}\n{text}<|im_end|>\n").unwrap();
    }
    prompt.push_str("<|im_start|>assistant\n");
    let body = json!({"model": "m", "truncation_length": 600, "max_tokens": 100, "prompt": prompt});
    let left_out = post(&loreloom, TEXT, &body).await.unwrap();
    let got = model.received()[0].json["prompt"].as_str().unwrap().to_owned();
    assert!(tokens(&got) + 100 <= 600, "{}", tokens(&got));
    assert!(got.starts_with("<|im_start|>system\nYou are Mira, a keeper of lights."), "{got}");
    assert!(got.contains("The bell of Harrow is cracked."), "{got}");
    assert!(got.ends_with("bell<|im_end|>\n<|im_start|>assistant\n"), "{got}");
    assert!(left_out > 4 && left_out % 2 == 0, "{left_out}");
    let first = messages[left_out]["content"].as_str().unwrap();
    let role = messages[left_out]["role"].as_str().unwrap();
    assert!(got.contains(&format!("<|im_end|>\n<|im_start|>{role}\n{first}<|im_end|>")), "{got}");
    for gone in &messages[..left_out] {
        assert!(!got.contains(gone["content"].as_str().unwrap()), "{got}");
    }
    last_turn(&loreloom).await;
}

/// Entries of some 25 tokens each that the word “bell” brings in, with rising order.
fn entries(count: u32) -> Book {
    let mut book = Book::new("world", "World");
    for at in 0..count {
        let mut entry = Entry::new(format!("world/{at}").as_str());
        entry.name = format!("Entry {at}");
        entry.activation.keys = vec![Key::parse("bell")];
        entry.content = format!("Fact {at}: {}.", "the bell of Harrow is cracked ".repeat(3));
        entry.placement.position = Position::AfterCharacter;
        entry.placement.order = Some(f64::from(at));
        entry.activation.timed.cooldown = Some(5);
        book.entries.push(entry);
    }
    book
}

async fn with_room(model: &ModelServer, budget: RoomRules) -> Loreloom {
    let rules = Rules { budget, ..Rules::default() };
    let setup = Setup { rules, lore: Some(entries(6)), ..Setup::default() };
    Loreloom::start(model, setup).await
}

#[tokio::test]
async fn a_chat_has_its_own_total() {
    let model = scripted(CHAT, 2);
    let loreloom = with_room(&model, RoomRules::default()).await;
    let own = loreloom.url("/api/v1/settings/chats/c");
    let own = reqwest::Client::new().patch(own).json(&json!({"budget.total_tokens": 90}));
    assert_eq!(own.send().await.unwrap().status(), 200);
    post(&loreloom, CHAT, &chat(8192, 100, &history(1))).await;
    let facts = |at: usize| texts(&model.received()[at].json)[1].matches("Fact ").count();
    assert_eq!(facts(0), 3);
    assert_eq!(last_turn(&loreloom).await["room"]["given_up"].as_array().unwrap().len(), 3);
    let other = reqwest::Client::new().post(loreloom.url(CHAT)).header("x-loreloom-chat", "d");
    other.json(&chat(8192, 100, &history(1))).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(facts(1), 6, "another chat has none");
}

#[tokio::test]
async fn over_the_total_the_least_important_entries_give_way() {
    let model = scripted(CHAT, 2);
    let budget = RoomRules { total_tokens: Some(90), ..RoomRules::default() };
    let loreloom = with_room(&model, budget).await;
    let mut messages = history(1);
    post(&loreloom, CHAT, &chat(8192, 100, &messages)).await;
    let got = model.received()[0].json.clone();
    let woven = texts(&got)[1].to_owned();
    let numbers: Vec<&str> =
        woven.split("Fact ").skip(1).map(|fact| fact.split(':').next().unwrap()).collect();
    assert_eq!(numbers, ["3", "4", "5"]);
    let turn = last_turn(&loreloom).await;
    assert_eq!(turn["budgets"][0]["used"], 3 * tokens(entries(6).entries[0].content.as_str()));
    let given_up = turn["room"]["given_up"].as_array().unwrap();
    let given_up: Vec<&str> =
        given_up.iter().map(|one| one["source"]["lore"]["entry"].as_str().unwrap()).collect();
    assert_eq!(given_up, ["world/0", "world/1", "world/2"]);
    let id = &turn["turn"]["id"];
    let verdicts = get(&loreloom, &format!("/api/v1/chats/c/turns/{id}/verdicts")).await;
    let stopped: Vec<&Value> = verdicts["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["outcome"]["code"] == "no_room" || one["code"] == "no_room")
        .collect();
    assert_eq!(stopped.len(), 3, "{verdicts}");

    // Who gave way started no cooldown: its turn comes when the others pause.
    messages.push(json!({"role": "assistant", "content": "Reply 0."}));
    messages.push(json!({"role": "user", "content": "The bell again."}));
    post(&loreloom, CHAT, &chat(8192, 100, &messages)).await;
    let got = model.received()[1].json.clone();
    let woven = texts(&got)[1].to_owned();
    assert!(woven.contains("Fact 0") && woven.contains("Fact 2"), "{woven}");
    assert!(!woven.contains("Fact 5"), "{woven}");
}

#[tokio::test]
async fn where_history_must_stay_lore_gives_way() {
    let model = scripted(CHAT, 1);
    let budget = RoomRules { make_room: MakeRoom::Lore, ..RoomRules::default() };
    let loreloom = with_room(&model, budget).await;
    let messages = history(12);
    let left_out = post(&loreloom, CHAT, &chat(512, 100, &messages)).await;
    assert_eq!(left_out, None);
    let got = model.received()[0].json.clone();
    assert!(sent(&got) + 100 <= 512);
    assert_eq!(texts(&got).last(), messages.last().unwrap()["content"].as_str().as_ref());
    let turn = last_turn(&loreloom).await;
    let given_up = turn["room"]["given_up"].as_array().unwrap();
    assert!((1..6).contains(&given_up.len()), "{given_up:?}");
}

#[tokio::test]
async fn no_random_prompt_is_longer_than_its_context_and_the_report_adds_up() {
    const TURNS: usize = 60;
    let model = scripted(CHAT, TURNS);
    // A small generator: rolls must only be spread and always the same.
    let mut seed: u64 = 11;
    let mut roll = |most: u32| -> u32 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(seed >> 33).unwrap() % most
    };
    for round in 0..TURNS {
        let budget = RoomRules {
            total_tokens: (roll(2) == 0).then(|| roll(200)),
            total_percent: (roll(3) == 0).then(|| f64::from(roll(40))),
            make_room: if roll(2) == 0 { MakeRoom::History } else { MakeRoom::Lore },
            ..RoomRules::default()
        };
        let loreloom = with_room(&model, budget.clone()).await;
        let (context, reply) = (300 + roll(1500), roll(200));
        let messages = history(1 + roll(40) as usize);
        post(&loreloom, CHAT, &chat(context, reply, &messages)).await;
        let got = model.received()[round].json.clone();
        loreloom.story(messages.len() + 1).await;
        let turn = last_turn(&loreloom).await;
        let room = &turn["room"];
        let fits = sent(&got) + reply as usize <= context as usize;
        assert!(fits || room["over"].is_u64(), "round {round}: {room}");
        if room.is_object() {
            assert_eq!(room["prompt"], sent(&got), "round {round}");
        }
        let pool = &turn["budgets"][0];
        let used = usize::try_from(pool["used"].as_u64().unwrap()).unwrap();
        let facts: usize = texts(&got)
            .iter()
            .filter(|text| text.starts_with("Fact"))
            .flat_map(|text| text.lines())
            .map(tokens)
            .sum();
        assert_eq!(used, facts, "round {round}: {pool}");
        assert!(pool["used"].as_u64() <= pool["limit"].as_u64(), "round {round}: {pool}");
        if let Some(total) = budget.total(loreloom_core::units::Tokens(context)) {
            assert!(used <= total.0 as usize, "round {round}: {used} of {total}");
        }
        // Only a prompt that is too long without any lore stays so.
        if room["over"].is_u64() {
            assert_eq!(used, 0, "round {round}");
        }
    }
}
