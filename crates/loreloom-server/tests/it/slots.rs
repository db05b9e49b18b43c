//! What memory's tiers put into a prompt, through the whole server: the eleven macros, what a
//! turn brings to mind, what was not witnessed, and how a turn shifts the budgets.

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_memory::service::Options;
use loreloom_ports::Owner;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";

/// What Smart Memory would keep of Mira and of her chat, with something in every tier.
fn containers() -> (Value, Value) {
    let character = json!({
        "schema_version": 9,
        "memories": [
            { "id": "m1", "type": "fact", "content": "Mira keeps bees" },
            { "id": "m2", "type": "event", "content": "The brass lantern broke", "triggers": ["lantern"] },
            { "id": "m3", "type": "event", "content": "Lis buried a box", "witnessed_by": ["Lis"] },
        ],
        "relationship_history": { "Mira→Player": { "descriptors": [{ "word": "trusting", "magnitude": "high" }] } },
        "epistemic_knowledge": [
            { "id": "k1", "type": "knows", "subject": "Mira", "content": "the ferry leaks" },
        ],
        "canon": { "text": "Mira grew up by the sea." },
    });
    let chat = json!({
        "schema_version": 9,
        "summary": "They met at the inn.", "summaryEnd": 1,
        "sessionMemories": [{ "id": "s1", "type": "detail", "content": "The door is blue" }],
        "sceneHistory": [{ "summary": "A quiet breakfast.", "ts": 1 }],
        "storyArcs": [{ "content": "Find the bell", "ts": 1 }],
        "profiles": { "Mira": { "character_state": "Mood: glad", "world_state": "Place: inn", "relationship_matrix": "Player: friend" } },
        "state_ledger": { "mira|character": { "_name": "Mira", "location": "the attic" } },
    });
    (character, chat)
}

/// The messages of the prompt that a turn of Mira's becomes.
async fn prompt(settings: &Value, system: &str, says: &str) -> Vec<String> {
    prompt_with(settings, system, says, containers()).await
}

async fn prompt_with(
    settings: &Value,
    system: &str,
    says: &str,
    (character, chat): (Value, Value),
) -> Vec<String> {
    let model = ModelServer::start(Script::new()).unwrap();
    let options = Options::read(&settings.to_string()).unwrap();
    let setup = Setup { memory: true, options, ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    let (tenant, memory) = (TenantId::local(), loreloom.app.memory.clone().unwrap());
    let mira = Owner::Character("Mira".into());
    memory.exchange.import_character(&tenant, &mira, character).await.unwrap();
    memory.exchange.import_chat(&tenant, &ChatId::from("c"), chat).await.unwrap();
    model.push(CHAT, Reply::text("Good."));
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let messages = [
        said("system", system),
        said("user", "One."),
        said("assistant", "Two."),
        said("user", says),
    ];
    let body = json!({
        "model": "m", "messages": messages,
        "loreloom": { "chat": "c", "user": "Player", "char": "Mira" },
    });
    let request = reqwest::Client::new().post(loreloom.url(CHAT)).json(&body);
    request.send().await.unwrap().text().await.unwrap();
    let sent = model.received().last().unwrap().json["messages"].clone();
    let text = |message: &Value| message["content"].as_str().unwrap().to_owned();
    sent.as_array().unwrap().iter().map(text).collect()
}

const MACROS: [(&str, &str); 10] = [
    ("canon", "Mira grew up by the sea."),
    ("profiles", "Mood: glad"),
    ("longterm", "Mira keeps bees"),
    ("shortterm", "They met at the inn."),
    ("scenes", "A quiet breakfast."),
    ("session", "The door is blue"),
    ("arcs", "Find the bell"),
    ("relationships", "trusting"),
    ("epistemic", "the ferry leaks"),
    ("stateledger", "the attic"),
];

fn ledger() -> Value {
    json!({ "settings": { "state_ledger_enabled": true } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_macro_takes_its_slot_and_only_its_own() {
    let everywhere = prompt(&ledger(), "Card.", "Player nods.").await.join("\n");
    for (name, text) in MACROS {
        assert!(everywhere.contains(text), "{name}: {everywhere}");
    }
    for (name, text) in MACROS {
        let system = format!("<here>{{{{smartmemory-{name}}}}}</here>");
        let sent = prompt(&ledger(), &system, "Player nods.").await;
        let (here, rest) = sent.split_first().unwrap();
        let filled = here.split_once("<here>").unwrap().1.split_once("</here>").unwrap().0;
        assert!(filled.contains(text), "{name}: {sent:?}");
        assert!(!rest.iter().any(|message| message.contains(text)), "{name}: {sent:?}");
        let others = MACROS.iter().filter(|(other, _)| *other != name);
        for (other, text) in others {
            let elsewhere = here.replace(filled, "") + &rest.join("\n");
            assert!(elsewhere.contains(text), "{name} must leave {other}: {sent:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_unified_macro_has_all_of_it_in_order() {
    let mut settings = ledger();
    settings["settings"]["unified_injection"] = json!(true);
    let sent = prompt(&settings, "<here>{{smartmemory-unified}}</here>", "Player nods.").await;
    assert_eq!(sent.len(), 4, "{sent:?}");
    let places: Vec<usize> = MACROS.iter().map(|(_, text)| sent[0].find(text).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?} {}", sent[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_turn_brings_to_mind_stands_nearer_to_it() {
    // How many messages come after each that has the memory.
    let after = |sent: &[String]| -> Vec<usize> {
        let has_it = |(_, one): &(usize, &String)| one.contains("lantern broke");
        sent.iter().rev().enumerate().filter(has_it).map(|(at, _)| at).collect()
    };
    let calm = after(&prompt(&ledger(), "Card.", "Three.").await);
    let sent = prompt(&ledger(), "Card.", "Where is the lantern?").await;
    let asked = after(&sent);
    assert_eq!((calm.len(), asked.len()), (1, 1), "never twice: {sent:?}");
    assert!(asked[0] < calm[0], "{sent:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_character_did_not_witness_is_hearsay_or_left_out() {
    let framed = prompt(&ledger(), "Card.", "Three.").await.join("\n");
    let line = framed.lines().find(|line| line.contains("Lis buried a box")).unwrap();
    assert_ne!(line, "- Lis buried a box", "{framed}");
    let mut strict = ledger();
    strict["settings"]["epistemic_secondhand_framing"] = json!(false);
    let without = prompt(&strict, "Card.", "Three.").await.join("\n");
    assert!(!without.contains("Lis buried a box") && without.contains("Mira keeps bees"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fight_leaves_more_room_to_what_just_happened_than_a_talk() {
    let mut settings = ledger();
    settings["settings"]["session_inject_budget"] = json!(100);
    let shown = async |says: &str| {
        let (character, mut chat) = containers();
        let detail = |at: usize| json!({ "id": format!("s{at}"), "type": "detail", "content": format!("Crate {at} is open"), "ts": at });
        chat["sessionMemories"] = (10..40).map(detail).collect();
        let sent = prompt_with(&settings, "Card.", says, (character, chat)).await.join("\n");
        sent.matches("is open").count()
    };
    let (talk, fight) = (shown("Three.").await, shown("She slashed the rope.").await);
    assert!(talk > 0 && fight > talk && fight < 30, "{talk} in a talk, {fight} in a fight");
}
