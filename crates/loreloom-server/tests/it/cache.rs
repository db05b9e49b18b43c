//! Placement for the prompt cache, through the whole server.

use std::sync::Arc;

use loreloom_core::{
    book::{Book, DepthFrom, Entry, Key, Position},
    cache_placement::{Canvas, LoreSources, Provider, StableSettings, TokenMemo, kept},
    chat::{Path, Role},
    ids::TenantId,
    prompt::PromptMessage,
    tokens::ByteEstimate,
};
use loreloom_llm::{connection::Address, upstream::HttpUpstream};
use loreloom_ports::{StoryStore as _, TurnRecord};
use loreloom_server::{Connections, LorePlacement, Prices, Weaving};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup, connection};

const CHAT: &str = "/v1/chat/completions";

/// People of whom some are spoken of in every scene.
fn book() -> Book {
    let mut book = Book::new("people", "People");
    for at in 0..30 {
        let mut entry = Entry::new(format!("people/{at}"));
        entry.activation.keys = vec![Key::Literal(format!("Person{at:02}"))];
        entry.activation.constant = at == 0;
        entry.content = format!("Person{at:02} {}", "has a house, a boat and a dog. ".repeat(6));
        entry.placement.position = match at % 5 {
            0 | 1 => Position::BeforeCharacter,
            2 | 3 => Position::AfterCharacter,
            _ => Position::AtDepth { from: DepthFrom::default() },
        };
        entry.activation.probability = (at % 10 == 7).then_some(50.0);
        book.entries.push(entry);
    }
    book
}

async fn served(model: &ModelServer, placement: LorePlacement, provider: &str) -> Loreloom {
    let address = Address::parse(&format!("{}/v1", model.base_url())).unwrap();
    let upstream = Arc::new(HttpUpstream::new(address, None).unwrap());
    let mut connection = connection("model", upstream, Arc::new(ByteEstimate));
    connection.context = Some(loreloom_core::units::Tokens(65_536));
    connection.cache = Some(Provider::named(provider).unwrap());
    connection.prices = Some(Prices { input: 3.0, ..Prices::default() });
    let weaving = Weaving { placement, ..Setup::default().weaving };
    let setup = Setup {
        weaving,
        connections: Some(Connections::only(connection)),
        lore: Some(book()),
        ..Setup::default()
    };
    Loreloom::start(model, setup).await
}

fn prompt(body: &Value) -> Vec<PromptMessage> {
    let messages = body["messages"].as_array().unwrap().iter();
    let message = messages.map(|one| PromptMessage {
        role: match one["role"].as_str().unwrap() {
            "system" => Role::System,
            "assistant" => Role::Assistant,
            _ => Role::User,
        },
        name: None,
        content: one["content"]
            .as_str()
            .or_else(|| one["content"][0]["text"].as_str())
            .unwrap()
            .to_owned()
            .into(),
    });
    message.collect()
}

/// Tells a story of so many turns, as a front end would; what the model was sent.
async fn tell(loreloom: &Loreloom, model: &ModelServer, turns: usize) -> Vec<Vec<PromptMessage>> {
    let system = "You are Torvald. ".repeat(20);
    let mut messages = vec![json!({"role": "system", "content": system})];
    for turn in 0..turns {
        let (scene, who) = (turn / 6, turn % 4);
        let person = (scene * 7 + who * 3) % 30;
        let said =
            format!("Turn {turn}: {} Person{person:02}.", "we walk along the shore. ".repeat(4));
        messages.push(json!({"role": "user", "content": said}));
        let body = json!({"model": "m", "messages": messages});
        let client = reqwest::Client::new();
        let request =
            client.post(loreloom.url(CHAT)).header("x-loreloom-chat", "story").json(&body);
        let reply: Value = request.send().await.unwrap().json().await.unwrap();
        let reply = reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
        messages.push(json!({"role": "assistant", "content": reply}));
    }
    model.received().iter().map(|one| prompt(&one.json)).collect()
}

fn storyteller() -> ModelServer {
    let script = Script::new().answering(|request| {
        let turn = request.json["messages"].as_array().map_or(0, Vec::len);
        let text = format!("Reply {turn}. {}", "the waves come and go and come. ".repeat(10));
        Some(Reply::text(&text))
    });
    ModelServer::start(script).unwrap()
}

fn share(sent: &[Vec<PromptMessage>]) -> f64 {
    let mut memo = TokenMemo::new(&ByteEstimate);
    let (mut stayed, mut all) = (0, 0);
    for pair in sent.windows(2) {
        let found = kept(&pair[0], &pair[1], &mut memo);
        (stayed, all) = (stayed + found.kept.0, all + found.previous.0);
    }
    f64::from(stayed) / f64::from(all)
}

async fn records(loreloom: &Loreloom) -> Vec<TurnRecord> {
    let (tenant, chat) = (TenantId::local(), "story".into());
    let mut all = Vec::new();
    for turn in loreloom.store.turns(&tenant, &chat).await.unwrap() {
        all.push(loreloom.store.turn(&tenant, &chat, turn.id).await.unwrap().unwrap());
    }
    all
}

#[tokio::test]
async fn a_hundred_turns_keep_nine_tenths_of_every_prompt_and_each_turn_says_so() {
    let model = storyteller();
    let stable = LorePlacement::Stable(StableSettings::default());
    let loreloom = served(&model, stable, "openai").await;
    let sent = tell(&loreloom, &model, 100).await;
    let stable = share(&sent);
    let other = storyteller();
    let front_end = served(&other, LorePlacement::FrontEnd, "openai").await;
    let placed = share(&tell(&front_end, &other, 40).await);
    println!("kept: stable {stable:.3}, front end's order {placed:.3}");
    assert!(stable >= 0.9, "{stable}");
    assert!(placed < 0.5, "{placed}");
    let records = records(&loreloom).await;
    assert_eq!(records.len(), 100);
    let mut memo = TokenMemo::new(&ByteEstimate);
    for (at, pair) in sent.windows(2).enumerate() {
        let cache = records[at + 1].report.cache.as_ref().unwrap();
        assert_eq!(cache.measured.kept, kept(&pair[0], &pair[1], &mut memo), "turn {at}");
        let price = 3.0 * f64::from(cache.measured.bill.cost.0) / 1e6;
        assert_eq!(cache.price, Some(price), "turn {at}");
    }
    let shown = reqwest::get(loreloom.url("/api/v1/chats/story/turns/100")).await.unwrap();
    let shown: Value = shown.json().await.unwrap();
    let cache = records[99].report.cache.as_ref().unwrap();
    assert_eq!(shown["cache"]["kept"], json!(cache.measured.kept));
    let estimate = json!({
        "provider": "openai", "bill": cache.measured.bill, "marks": cache.measured.marks,
        "price": cache.price,
    });
    assert_eq!(shown["cache"]["estimate"], estimate);
}

#[tokio::test]
async fn a_stored_turn_is_placed_again_to_the_byte() {
    let model = storyteller();
    let loreloom = served(&model, LorePlacement::Stable(StableSettings::default()), "openai").await;
    tell(&loreloom, &model, 20).await;
    let tenant = TenantId::local();
    let chat = loreloom.store.chats(&tenant).await.unwrap().remove(0).chat;
    let nodes = loreloom.store.path(&tenant, &chat.id, chat.tip).await.unwrap();
    let messages: Vec<_> = nodes.into_iter().map(|node| node.message).collect();
    let lore = loreloom.app.lore.current();
    for (turn, record) in records(&loreloom).await.into_iter().enumerate() {
        let input = record.input.as_deref().unwrap();
        let path = input.path(chat.id.clone(), messages[..=turn * 2].to_vec());
        assert_eq!(path.prefix(), record.at);
        let before =
            Path::of(chat.id.clone(), path.items()[..turn * 2].iter().map(|i| i.message.clone()));
        let state = if turn == 0 {
            loreloom_core::state::StoryState::default()
        } else {
            loreloom.store.state(&tenant, &before).await.unwrap()
        };
        let bare = input.seams.unpick(&record.prompt).unwrap();
        let layout = input.seams.layout.clone().unwrap();
        let mut woven = loreloom_core::engine::Decision {
            injections: record.injections.clone(),
            delta: record.delta.clone(),
            report: record.report.clone(),
            hide_prompts: Vec::new(),
        };
        woven.delta.ledger = loreloom_core::cache_placement::LedgerDelta::default();
        let canvas = Canvas { prompt: &bare, layout: &layout, path: &path };
        let arrangement = input.arrangement.as_ref().unwrap();
        let active = input.active_entries(lore.library(), lore.rules());
        let (library, scene) = (lore.library(), &state.vault_context);
        let sources = LoreSources { library, active: &active, scene };
        let planned = arrangement.place(canvas, sources, &state.ledger, &mut woven);
        let again = layout.plan(&bare, &planned.injections()).apply(bare);
        assert_eq!(again.messages, record.prompt, "turn {turn}");
        assert_eq!(woven.delta, record.delta, "turn {turn}");
    }
}

#[tokio::test]
async fn breakpoints_are_set_only_for_the_provider_that_needs_them() {
    for (provider, placement, expected) in [
        ("anthropic", LorePlacement::Stable(StableSettings::default()), true),
        ("anthropic", LorePlacement::FrontEnd, false),
        ("openai", LorePlacement::Stable(StableSettings::default()), false),
    ] {
        let model = storyteller();
        let loreloom = served(&model, placement.clone(), provider).await;
        tell(&loreloom, &model, 14).await;
        let last = model.received().pop().unwrap().json;
        let marked: Vec<usize> = last["messages"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
            .filter(|(_, one)| one["content"][0]["cache_control"]["type"] == "ephemeral")
            .map(|(at, _)| at)
            .collect();
        assert_eq!(!marked.is_empty(), expected, "{provider} {placement:?}");
        assert!(marked.len() <= 4);
        if expected {
            let record = records(&loreloom).await.pop().unwrap();
            let told: Vec<usize> = record
                .report
                .cache
                .unwrap()
                .measured
                .marks
                .iter()
                .map(|mark| mark.message)
                .collect();
            assert_eq!(marked, told);
        }
    }
}

#[tokio::test]
async fn lore_that_lingers_says_so_wherever_it_is_looked_for() {
    let model = storyteller();
    let loreloom = served(&model, LorePlacement::Stable(StableSettings::default()), "openai").await;
    let sent = tell(&loreloom, &model, 9).await;
    let get = async |path: &str| -> Value {
        let url = loreloom.url(&format!("/api/v1/chats/story/turns/{path}"));
        reqwest::get(url).await.unwrap().json().await.unwrap()
    };
    let rows = get("9/verdicts?v=lingering").await;
    let row = &rows["items"][0];
    assert_eq!((&row["entry"], &row["class"]), (&json!("people/3"), &json!("lingering")), "{rows}");
    assert_eq!(row["code"], "out_of_reach", "why it did not fire is found out all the same");
    let kept = &row["kept_place"];
    let depth = kept["place"]["at_depth"].as_u64().unwrap();
    assert_eq!(kept["zone"], "ledger");
    assert_eq!(row["tokens"], kept["tokens"]);
    // It is where the verdict says.
    let after = sent.last().unwrap().iter().skip_while(|one| !one.content.contains("Person03 has"));
    assert_eq!(after.filter(|one| one.role != Role::System).count() as u64, depth);
    let view = get("9").await;
    assert_eq!(view["counts"]["lingering"], rows["total"]);
    assert_eq!(view["reproduced"], true, "{}", view["differences"]);
    let threads = view["threads"].as_array().unwrap();
    let thread = threads.iter().find(|one| one["source"] == "people/3").unwrap();
    assert_eq!((&thread["state"], &thread["place"]), (&json!("lingering"), &kept["place"]));
    // What fired and is elsewhere says where, too.
    let second = get("2").await;
    let fired = second["threads"].as_array().unwrap().iter();
    let fired = fired.map(|one| (one["source"].as_str().unwrap(), &one["state"], &one["place"]));
    let (fresh, before) = (json!("fired"), json!("before_character"));
    assert_eq!(
        fired.collect::<Vec<_>>(),
        [("people/0", &fresh, &before), ("people/3", &fresh, &json!({"at_depth": 1}))]
    );
    let proof = get("9/proof/people%2F3").await;
    assert!(proof["text"].as_str().unwrap().starts_with("Person03 has a house"), "{proof}");
    let sentence = proof["sentence"].as_str().unwrap();
    let words = format!("its text is still in the chat at depth {depth} for the prompt cache");
    assert!(sentence.contains(&words), "{sentence}");
}
