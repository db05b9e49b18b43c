//! What users of SillyTavern meet when Loreloom is only its proxy.

use loreloom_core::{
    book::{Book, DepthFrom, Entry, Key, Position},
    ids::TenantId,
    tokens::{ByteEstimate, TokenCounter},
    units::Depth,
};
use loreloom_ports::StoryStore as _;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";
const NUDGE: &str = "[Continue your last message without repeating its original content.]";
const CARD: &str = "Mira Vell keeps the lighthouse of Harrow. Wren is her guest.";
const GREETING: &str = "The door opens. \"Come in, Wren,\" says Mira Vell.";

fn entry(id: u32, key: &str, content: &str) -> Entry {
    let mut entry = Entry::new(format!("world/{id}"));
    entry.activation.keys = vec![Key::parse(key)];
    content.clone_into(&mut entry.content);
    entry.placement.position = Position::AfterCharacter;
    entry
}

fn book(entries: impl IntoIterator<Item = Entry>) -> Book {
    let mut book = Book::new("world", "World");
    book.entries.extend(entries);
    book
}

/// A front end with a chat.
struct FrontEnd {
    model: ModelServer,
    loreloom: Loreloom,
    main: String,
    own: Option<Value>,
    stop: Vec<&'static str>,
    stream: bool,
}

type Said<'a> = (&'a str, &'a str);

impl FrontEnd {
    async fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let model = ModelServer::start(Script::new()).unwrap();
        let setup = Setup { lore: Some(book(entries)), ..Setup::default() };
        let loreloom = Box::pin(Loreloom::start(&model, setup)).await;
        let main = "Write vivid prose in the past tense.".to_owned();
        Self { model, loreloom, main, own: None, stop: Vec::new(), stream: true }
    }

    fn body(&self, said: &[Said<'_>]) -> Value {
        let head = [("system", &*self.main), ("system", CARD), ("system", "[Start a new Chat]")];
        let all = head.iter().chain(said);
        let messages: Vec<Value> =
            all.map(|(role, text)| json!({"role": role, "content": text})).collect();
        let mut body = json!({"model": "m", "stream": self.stream, "messages": messages});
        if let Some(own) = &self.own {
            body["loreloom"] = own.clone();
        }
        if !self.stop.is_empty() {
            body["stop"] = json!(self.stop);
        }
        body
    }

    /// Sends a chat; what the model got, without card and markers.
    async fn send(&self, said: &[Said<'_>], reply: &str) -> Vec<String> {
        self.model.push(CHAT, Reply::text(reply));
        let request = reqwest::Client::new().post(self.loreloom.url(CHAT)).json(&self.body(said));
        let response = request.header("user-agent", "tavern").send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.bytes().await.unwrap();
        let got = self.model.received().pop().unwrap().json;
        let texts = got["messages"].as_array().unwrap().iter();
        texts.map(|one| one["content"].as_str().unwrap().to_owned()).collect()
    }

    /// The messages of the only chat, with their speakers.
    async fn path(&self) -> Vec<(Option<String>, String)> {
        let (store, tenant) = (&self.loreloom.store, TenantId::local());
        let mut chats = store.chats(&tenant).await.unwrap();
        assert_eq!(chats.len(), 1);
        let chat = chats.remove(0).chat;
        let path = store.path(&tenant, &chat.id, chat.tip).await.unwrap();
        path.into_iter().map(|node| (node.message.name, node.message.text.to_string())).collect()
    }
}

fn named(path: &[(Option<String>, String)]) -> Vec<(&str, &str)> {
    path.iter().map(|(name, text)| (name.as_deref().unwrap_or("?"), text.as_str())).collect()
}

#[tokio::test]
async fn lore_knows_the_character_with_any_main_prompt() {
    // Where nothing names the user, the setting does: `Mira` in these tests.
    for (main, user) in [
        ("Write Mira Vell's next reply in a fictional chat between Mira Vell and Wren.", "Wren"),
        ("You are Mira Vell. Never speak for Wren.", "Wren"),
        (
            "Currently your role is Mira Vell, described below. Continue the exchange with Wren.",
            "Wren",
        ),
        ("Write vivid prose in the past tense. Be concise.", "Mira"),
    ] {
        let mut filtered = entry(1, "bell", "Only Mira Vell knows.");
        filtered.activation.filters.characters = vec!["Mira Vell".to_owned()];
        let mut others = entry(2, "bell", "Only Tobin knows.");
        others.activation.filters.characters = vec!["Tobin".to_owned()];
        let content = "{{char}} guards the bell from {{user}}.";
        let mut tavern = FrontEnd::new([entry(0, "bell", content), filtered, others]).await;
        tavern.main = main.to_owned();
        let said = [("assistant", GREETING), ("user", "Who rang the bell?")];
        let got = tavern.send(&said, "Nobody did.").await;
        let lore = format!("Only Mira Vell knows.\nMira Vell guards the bell from {user}.");
        assert!(got.contains(&lore), "{main}: {got:#?}");
        let path = tavern.path().await;
        let speakers: Vec<&str> = named(&path).iter().map(|one| one.0).collect();
        let by_user = if user == "Wren" { "Wren" } else { "?" };
        assert_eq!(speakers, ["Mira Vell", by_user, "Mira Vell"], "{main}");
    }
}

#[tokio::test]
async fn given_names_hold_for_the_story_until_others_are_given() {
    let mut tavern = FrontEnd::new([entry(0, "bell", "{{char}} and {{user}}.")]).await;
    tavern.main = "You are Mira Vell.".to_owned();
    let mut said = vec![("assistant", "Come in."), ("user", "The bell?")];
    tavern.own = Some(json!({"user": "Robin", "char": "The Keeper"}));
    assert!(tavern.send(&said, "One.").await.contains(&"The Keeper and Robin.".to_owned()));
    tavern.own = None;
    said.extend([("assistant", "One."), ("user", "The bell again?")]);
    assert!(tavern.send(&said, "Two.").await.contains(&"The Keeper and Robin.".to_owned()));
    tavern.own = Some(json!({"char": "Orla"}));
    said.extend([("assistant", "Two."), ("user", "And the bell?")]);
    assert!(tavern.send(&said, "Three.").await.contains(&"Orla and Robin.".to_owned()));
    tavern.own = Some(json!({"char": ""}));
    said.extend([("assistant", "Three."), ("user", "Bell?")]);
    assert!(tavern.send(&said, "Four.").await.contains(&"Mira Vell and Robin.".to_owned()));
    let path = tavern.path().await;
    let speakers: Vec<&str> = named(&path).iter().map(|one| one.0).collect();
    assert_eq!(speakers[..4], ["The Keeper", "Robin", "The Keeper", "Robin"]);
    assert_eq!(speakers[5..], ["Robin", "Orla", "Robin", "Mira Vell"]);
}

#[tokio::test]
async fn names_that_were_known_on_a_branch_hold_there_where_a_request_has_none() {
    let mut tavern = FrontEnd::new([entry(0, "bell", "{{char}} and {{user}}.")]).await;
    let named = "You are Orla Finch.";
    let trunk = [("assistant", "Come in."), ("user", "The bell?"), ("assistant", "One.")];
    tavern.main = named.to_owned();
    tavern.stop = vec!["\nWren:"];
    assert!(tavern.send(&trunk[..2], "One.").await.contains(&"Orla Finch and Wren.".to_owned()));
    // On this branch the user takes another name.
    let mut said = trunk.to_vec();
    said.push(("user", "The bell, says Robin?"));
    tavern.stop = vec!["\nRobin:"];
    assert!(tavern.send(&said, "Two.").await.contains(&"Orla Finch and Robin.".to_owned()));
    // From now on no request names anybody.
    tavern.main = "Write vivid prose in the past tense.".to_owned();
    tavern.stop.clear();
    let mut other = trunk.to_vec();
    other.push(("user", "Which bell?"));
    let got = tavern.send(&other, "Three.").await;
    assert!(got.contains(&"Orla Finch and Wren.".to_owned()), "{got:#?}");
    said.extend([("assistant", "Two."), ("user", "And the bell?")]);
    let got = tavern.send(&said, "Four.").await;
    assert!(got.contains(&"Orla Finch and Robin.".to_owned()), "{got:#?}");
}

#[tokio::test]
async fn a_line_of_somebody_else_has_its_speaker() {
    let tavern = FrontEnd::new([]).await;
    let mut said = vec![("assistant", GREETING), ("user", "Hello.")];
    tavern.send(&said, "Good day.").await;
    said.extend([
        ("assistant", "Good day."),
        ("assistant", "Tobin: I heard it too."),
        ("user", "You?"),
    ]);
    tavern.send(&said, "He did.").await;
    let path = tavern.path().await;
    assert_eq!(named(&path)[3], ("Tobin", "I heard it too."));
    assert_eq!(named(&path)[5], ("Mira Vell", "He did."));
}

#[tokio::test]
async fn a_stopped_reply_is_continued_with_its_blank() {
    for (begun, more, kept) in [
        ("She walks to", " the door.", "She walks to the door."),
        ("She walks to", "the door.", "She walks to the door."),
        ("She walks to the d", "oor.", "She walks to the door."),
    ] {
        let tavern = FrontEnd::new([]).await;
        let mut said = vec![("assistant", GREETING), ("user", "Hello.")];
        tavern.send(&said, "Good day.").await;
        said.extend([("assistant", "Good day."), ("user", "And now?")]);
        // Stopped: the front end keeps what it has.
        tavern.model.push(CHAT, Reply::status(500, "{}"));
        let request = reqwest::Client::new().post(tavern.loreloom.url(CHAT));
        request.json(&tavern.body(&said)).send().await.unwrap();
        said.extend([("assistant", begun), ("system", NUDGE)]);
        tavern.send(&said, more).await;
        said.truncate(4);
        said.extend([("assistant", kept), ("user", "Wait.")]);
        tavern.send(&said, "She waits.").await;
        let path = tavern.path().await;
        assert_eq!(named(&path)[4], ("Mira Vell", kept), "{begun}|{more}");
        assert_eq!(path.len(), 7, "{path:#?}");
    }
}

fn sticky() -> [Entry; 2] {
    let mut storm = entry(0, "storm", "The storm lasts.{{setvar::sky::black}}");
    storm.activation.timed.sticky = Some(20);
    let mut sky = entry(1, "unused", "The sky is {{getvar::sky}}.");
    sky.activation.constant = true;
    [storm, sky]
}

#[tokio::test]
async fn effects_outlive_an_edit_that_keeps_the_key_and_hiding() {
    let story = "The sky is black.\nThe storm lasts.";
    let chat = [
        ("assistant", GREETING),
        ("user", "A storm comes."),
        ("assistant", "Nobody hears it."),
        ("user", "What now?"),
        ("assistant", "We wait."),
        ("user", "How long?"),
    ];
    for (change, second, third) in [
        (Some("A storm has come, I think."), story, story),
        (None, story, story),
        (Some("A calm day begins, I think."), "The sky is .", "The sky is ."),
    ] {
        let tavern = FrontEnd::new(sticky()).await;
        tavern.send(&chat[..2], "Nobody hears it.").await;
        let mut said = chat[..4].to_vec();
        match change {
            Some(text) => said[1].1 = text,
            None => drop(said.remove(1)),
        }
        // The first reply, a swipe of it, and the next turn see the same.
        for reply in ["We go.", "We wait."] {
            let got = tavern.send(&said, reply).await;
            assert!(got.contains(&second.to_owned()), "{change:?} {reply}: {got:#?}");
        }
        said.extend(&chat[4..]);
        let got = tavern.send(&said, "Long.").await;
        assert!(got.contains(&third.to_owned()), "{change:?}: {got:#?}");
        let last = tavern.loreloom.app.last_turn().await.unwrap().unwrap().record;
        let url = format!("/api/v1/chats/{}/turns", last.chat);
        let turns: Value =
            reqwest::get(tavern.loreloom.url(&url)).await.unwrap().json().await.unwrap();
        let id = turns["items"].as_array().unwrap().last().unwrap()["id"].clone();
        let turn = reqwest::get(tavern.loreloom.url(&format!("{url}/{id}"))).await.unwrap();
        let turn: Value = turn.json().await.unwrap();
        assert_eq!(turn["reproduced"], true, "{change:?}");
    }
}

#[tokio::test]
async fn a_narrators_line_before_a_reply_is_scanned_and_stored() {
    let tavern = FrontEnd::new([entry(0, "bell", "The bell is cracked.")]).await;
    let mut said = vec![("assistant", GREETING), ("user", "Hello.")];
    tavern.send(&said, "Good day.").await;
    said.extend([("assistant", "Good day."), ("system", "A bell tolls far away.")]);
    let got = tavern.send(&said, "She listens.").await;
    assert!(got.contains(&"The bell is cracked.".to_owned()), "{got:#?}");
    let path = tavern.path().await;
    let texts: Vec<&str> = path.iter().map(|one| one.1.as_str()).collect();
    assert_eq!(texts, [GREETING, "Hello.", "Good day.", "A bell tolls far away.", "She listens."]);
}

#[tokio::test]
async fn entries_look_into_the_card_that_the_request_shows_or_gives() {
    let with = |id, key, set: fn(&mut Entry)| {
        let mut one = entry(id, key, &format!("LORE {id}"));
        set(&mut one);
        one
    };
    let mut tavern = FrontEnd::new([
        with(0, "lighthouse", |one| one.activation.sources.description = true),
        with(1, "lighthouse", |one| one.activation.sources.scenario = true),
        with(2, "lighthouse", |_| ()),
        with(3, "vivid", |one| one.activation.sources.description = true),
        with(4, "ferry", |one| one.activation.sources.persona = true),
    ])
    .await;
    let said = [("assistant", "Come in."), ("user", "Hello.")];
    let lore = |got: &[String]| {
        let found = got.iter().find(|text| text.contains("LORE"));
        found.cloned().unwrap_or_default()
    };
    assert_eq!(lore(&tavern.send(&said, "One.").await), "LORE 1\nLORE 0");
    tavern.own = Some(json!({"card": {"scenario": "A storm.", "persona": "Wren owns a ferry."}}));
    assert_eq!(lore(&tavern.send(&said, "Two.").await), "LORE 4\nLORE 0");
    let card =
        json!({"description": "A ferry.", "persona": "Rich.", "scenario": "By a lighthouse."});
    let body =
        json!({"chat": "woven", "messages": [{"role": "user", "content": "Hello."}], "card": card});
    let request = reqwest::Client::new().post(tavern.loreloom.url("/api/v1/weave")).json(&body);
    let woven: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(woven["slots"][0]["text"], "LORE 1", "{woven}");
}

#[tokio::test]
async fn entries_look_into_each_part_of_the_card_however_it_is_given() {
    const PARTS: [&str; 6] =
        ["persona", "description", "personality", "depth_prompt", "scenario", "creator_notes"];
    let entries = (0..).zip(PARTS).map(|(id, part)| {
        let mut one = entry(id, "ferry", &format!("LORE of {part}"));
        let sources = &mut one.activation.sources;
        let source = match part {
            "persona" => &mut sources.persona,
            "description" => &mut sources.description,
            "personality" => &mut sources.personality,
            "depth_prompt" => &mut sources.depth_prompt,
            "scenario" => &mut sources.scenario,
            _ => &mut sources.creator_notes,
        };
        *source = true;
        one
    });
    let mut tavern = FrontEnd::new(entries).await;
    let api = tavern.loreloom.url("/api/v1");
    let post = async |path: &str, body: Value| -> Value {
        let request = reqwest::Client::new().post(format!("{api}{path}")).json(&body);
        request.send().await.unwrap().error_for_status().unwrap().json().await.unwrap()
    };
    let lore = |got: &[String]| -> Vec<String> {
        got.iter().filter(|text| text.starts_with("LORE")).cloned().collect()
    };
    for part in PARTS {
        let expected = format!("LORE of {part}");
        let (card, hello) = (json!({part: "By the ferry."}), format!("Hello, {part}."));
        let said = [("assistant", "Come in."), ("user", &*hello)];
        tavern.own = Some(json!({"card": card}));
        assert_eq!(lore(&tavern.send(&said, "One.").await), [&*expected], "field, {part}");
        tavern.own = None;
        let chat = format!("announced-{part}").replace('_', "-");
        let body = json!({"chat": chat, "newest": "By the quay.", "card": card});
        post("/generations", body).await;
        let said = [("assistant", "Come in."), ("user", "By the quay.")];
        assert_eq!(lore(&tavern.send(&said, "Two.").await), [&*expected], "announced, {part}");
        let messages = [json!({"role": "user", "content": "Hello."})];
        let body = json!({"chat": format!("woven-{chat}"), "messages": messages, "card": card});
        let woven = post("/weave", body).await;
        assert_eq!(woven["slots"][0]["text"], *expected, "woven, {part}: {woven}");
    }
}

#[tokio::test]
async fn a_full_window_of_the_front_end_gets_no_longer() {
    let lore = "Lore of the bell. ".repeat(60);
    for placed in [Position::AfterCharacter, Position::AtDepth { from: DepthFrom::Newest }] {
        let mut one = entry(0, "bell", &lore);
        one.placement.position = placed.clone();
        one.placement.depth = Some(Depth(1));
        let mut tavern = FrontEnd::new([one]).await;
        let words = "and the tide came in over the flats ".repeat(4);
        let texts: Vec<String> = (0..40).map(|at| format!("Message {at}: {words}")).collect();
        let roles = ["assistant", "user"].into_iter().cycle();
        let mut said: Vec<Said<'_>> = roles.zip(texts.iter().map(String::as_str)).collect();
        said.last_mut().unwrap().1 = "And the bell?";
        tavern.own = Some(json!({"context": 2048, "max_tokens": 200}));
        let got = tavern.send(&said, "It rings.").await;
        let tokens: u32 = got.iter().map(|text| ByteEstimate.count(text).0).sum();
        assert!(tokens + 200 <= 2048, "{tokens}");
        assert!(tokens > 1500, "{tokens}");
        assert!(got.iter().any(|text| text.starts_with("Lore of the bell.")), "{placed:?}");
        assert_eq!(got.last().map(String::as_str), Some("And the bell?"));
    }
}

#[tokio::test]
async fn chats_are_named_after_the_character_and_the_users_first_words() {
    let tavern = FrontEnd::new([]).await;
    tavern.send(&[("assistant", GREETING), ("user", "Who  rang\nthe bell?")], "Nobody.").await;
    let chats = tavern.loreloom.store.chats(&TenantId::local()).await.unwrap();
    assert_eq!(chats[0].chat.title, "Mira Vell: Who rang the bell?");
}

#[tokio::test]
async fn a_request_that_is_not_woven_says_so() {
    let tavern = FrontEnd::new([]).await;
    let client = reqwest::Client::new();
    let said = tavern.body(&[("user", "Hello.")]);
    for (path, weave, body, expected) in [
        ("/v1/embeddings", "on", json!({"input": "x", "model": "m"}), Some("endpoint")),
        ("/v1/messages", "on", said.clone(), Some("endpoint")),
        (CHAT, "off", said.clone(), Some("off")),
        (CHAT, "on", json!({"model": "m"}), Some("failed")),
        (CHAT, "on", said, None),
    ] {
        let request = client.post(tavern.loreloom.url(path)).header("x-loreloom-weave", weave);
        let response = request.json(&body).send().await.unwrap();
        let header = response.headers().get("x-loreloom-passed-on").cloned();
        let found = header.as_ref().map(|value| value.to_str().unwrap());
        assert_eq!(found, expected, "{path} {weave}");
    }
}

#[tokio::test]
async fn the_front_ends_choice_in_a_group_of_entries_is_kept() {
    let grouped = |id, content: &str| {
        let mut one = entry(id, "bell", content);
        one.group.names = "bells".to_owned();
        one
    };
    let one = grouped(0, "{{char}} says the bell is cracked.");
    let mut other = grouped(1, "The bell is gold.");
    other.group.prioritize = true;
    let mut tavern = FrontEnd::new([one, other]).await;
    tavern.main = "You are Mira Vell.".to_owned();
    let said = [("assistant", "Come in."), ("user", "The bell?")];
    let got = tavern.send(&said, "Yes.").await;
    assert!(got.contains(&"The bell is gold.".to_owned()), "{got:#?}");
    let own = "Mira Vell says the bell is cracked.";
    tavern.main = format!("You are Mira Vell.\n\n{own}");
    let got = tavern.send(&said, "No.").await;
    assert!(!got.contains(&"The bell is gold.".to_owned()), "{got:#?}");
    assert_eq!(got.iter().filter(|text| text.contains(own)).count(), 1, "{got:#?}");
}
