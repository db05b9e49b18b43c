//! Non-interference: what is hidden from a character changes nothing that Loreloom adds to its
//! prompt.
//!
//! A story is made twice with two different secrets. Every tier tells the secret: as a sentence, a
//! fragment, a heading or a single word, or in other words in a text that was written before the
//! secret was noted. Whatever the rest of the story is, the texts for the
//! character it is hidden from are equal to the byte, and those for its keeper are not.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    chat::{Message, Path, Role},
    ids::{ChatId, MessageId, TenantId},
    units::Timestamp,
};
use loreloom_llm::embed::StaticEmbedder;
use loreloom_memory::{
    service::{MemoryServices, Options, Ports, TableVectors, TurnRequest, Who},
    text::QuarterEstimate,
};
use loreloom_ports::{Clock, Owner};
use loreloom_store::SqliteStore;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::workspace::Failure;

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(1000)
    }
}

/// Two secrets: the statement, a fragment of it, one word that nothing else has, what Mara says
/// next, and what a model makes of that in its own words.
const SECRETS: [[&str; 5]; 2] = [
    [
        "Mara poisoned the abbot with nightshade",
        "the poisoned abbot",
        "nightshade",
        "I ground the berries into his evening wine, and the old monk never woke again.",
        "A monk died from berries that were ground into wine.",
    ],
    [
        "Mara smuggled two cannons through the customs",
        "the smuggled cannons",
        "customs",
        "The officers took my silver, and the guns went over the hills to the rebels.",
        "The rebels in the hills got guns because officers took silver.",
    ],
];

/// When the secret was noted.
const NOTED: i64 = 77;
/// Before that, texts were written from the messages that tell it.
const EARLIER: i64 = 50;

/// Sentences that give nothing away.
const PLAIN: [&str; 10] = [
    "The rain drums on the roof of the inn.",
    "A ferry leaves for Skell at noon.",
    "Tobin counts the barrels in the cellar.",
    "The old bell rings across the harbour.",
    "Somebody mends a sail by the window.",
    "Gulls fight over a piece of bread.",
    "The miller brings flour and news.",
    "A lantern burns at the end of the mole.",
    "They talk about the price of salt.",
    "The tide turns and the boats lean over.",
];

/// Whom Mara's secret is hidden from: each of them means Tobin, or him too.
const TARGETS: [&str; 4] = ["Tobin", "everyone else", "the rest of the crew", "nobody may know"];
/// How a card may end its replies.
const STATUS: &str = "\n**Mood:** wary\n**Location:** pier\n**Vigour:** low\n**Stance:** wide";

/// What varies between stories.
#[derive(Clone, Debug)]
struct Plan {
    /// The sentence and the speaker of each message.
    messages: Vec<(usize, usize)>,
    /// Before which message Mara tells Ines the secret.
    told: usize,
    /// How many messages the front end still sends.
    window: usize,
    /// The sentence that is asked about.
    asked: usize,
    /// From whom Mara hides it.
    target: usize,
    /// Whether Tobin's card ends its replies with a status block.
    status: bool,
    /// Which sentences the tiers tell beside the secret.
    noted: Vec<usize>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let messages = prop::collection::vec((0..PLAIN.len(), 0..3_usize), 12..40);
    let noted = prop::collection::vec(0..PLAIN.len(), 1..6);
    let style = (0..TARGETS.len(), any::<bool>());
    (messages, 1..8_usize, 2..5_usize, (0..PLAIN.len(), style), noted).prop_map(
        |(messages, told, window, (asked, (target, status)), noted)| Plan {
            messages,
            told,
            window,
            asked,
            target,
            status,
            noted,
        },
    )
}

/// The path of a story, and the message that tells the secret.
fn story(plan: &Plan, secret: &[&str; 5]) -> (Path, [MessageId; 2]) {
    let speakers = [("Ines", Role::User), ("Mara", Role::Assistant), ("Tobin", Role::Assistant)];
    let mut messages: Vec<Message> = plan
        .messages
        .iter()
        .enumerate()
        .map(|(at, (sentence, speaker))| {
            let (name, role) = speakers[*speaker];
            let shown = if plan.status && name == "Tobin" { STATUS } else { "" };
            let text = format!("{} It is hour {at}.{shown}", PLAIN[*sentence]);
            Message::new(role, Some(name), text)
        })
        .collect();
    let told = format!("Hush, Ines. {}. Not a word to Tobin.", secret[0]);
    messages.insert(plan.told, Message::new(Role::Assistant, Some("Mara"), told));
    messages.insert(plan.told + 1, Message::new(Role::Assistant, Some("Mara"), secret[3]));
    // Tobin would hear what he answers.
    messages.insert(plan.told + 2, Message::new(Role::User, Some("Ines"), "It grows late."));
    messages.push(Message::new(Role::Assistant, Some("Tobin"), "Good day to you all."));
    let asks = format!("What do you say to this, Tobin? {}", PLAIN[plan.asked]);
    messages.push(Message::new(Role::User, Some("Ines"), asks));
    let path = Path::of(ChatId::from("c"), messages);
    // The message that tells it, and one that everybody heard.
    let receipts = [path.items()[plan.told].id, path.items()[0].id];
    (path, receipts)
}

/// Threads of the story, some of which have the secret.
fn threads(plain: &[&str], secret: &[&str; 5], receipts: [MessageId; 2]) -> Vec<Value> {
    let [whole, fragment, _, _, retold] = secret;
    let texts = plain.iter().copied().chain([*whole, "Who knows of it?"]);
    let mut arcs: Vec<Value> = texts.map(|text| json!({ "content": text, "ts": 1 })).collect();
    arcs.push(json!({ "content": format!("Will {fragment} come to light?"), "ts": 2 }));
    arcs.push(json!({ "content": retold, "ts": NOTED }));
    arcs.push(json!({ "content": retold, "ts": EARLIER - 1, "receipts": receipts }));
    arcs
}

/// What characters and chat remember, with the secret in every tier.
fn containers(plan: &Plan, secret: &[&str; 5], receipts: [MessageId; 2]) -> (Value, Value) {
    let bearer = receipts[0];
    let [whole, fragment, word, _, retold] = secret;
    let plain: Vec<&str> = plan.noted.iter().map(|at| PLAIN[*at]).collect();
    let memory = |id: usize, kind: &str, content: &str| json!({ "id": format!("m{id}"), "type": kind, "content": content, "ts": id });
    let notes = |kind: &str| -> Vec<Value> {
        let texts = plain.iter().copied().chain([*whole, fragment, "A cup fell."]);
        let mut list: Vec<Value> =
            texts.enumerate().map(|(at, text)| memory(at, kind, text)).collect();
        // It says nothing of it, but rests on the message that does.
        if let Some(last) = list.last_mut() {
            last["receipts"] = json!([bearer]);
        }
        list
    };
    let prose = plain.join(" ");
    let hiding = json!({
        "id": "k1", "type": "hiding", "subject": "Mara", "target": TARGETS[plan.target], "content": whole,
        "receipts": [bearer], "ts": NOTED,
    });
    let early = json!({
        "id": "early", "type": "event", "content": retold, "ts": EARLIER - 1, "receipts": receipts,
    });
    let mut facts = notes("fact");
    facts.push(early.clone());
    let character = json!({
        "schema_version": 9,
        "memories": facts,
        "epistemic_knowledge": [hiding],
        "canon": { "text": format!("{prose} {whole}. {fragment}. {retold} The end."), "ts": EARLIER },
        "relationship_history": { "Tobin→Ines": { "descriptors": [{ "word": "fond" }] } },
    });
    let arcs = threads(&plain, secret, receipts);
    let mut session = notes("detail");
    session.push(json!({ "id": "retold", "type": "detail", "content": retold, "ts": NOTED }));
    let mut detail = early;
    detail["type"] = json!("detail");
    session.push(detail);
    let chat = json!({
        "schema_version": 9,
        "summary": format!(
            "1. Setting: the inn.\n2. Revelations: {whole}.\n3. Threads:\n- {fragment}\n\
             ## {word}\n4. Key events: {prose} {retold} {word}; it rained.\n## {retold}"
        ),
        "summaryEnd": plan.told + 3,
        "summaryUpdated": EARLIER,
        "sessionMemories": session,
        "sceneHistory": [{ "summary": prose, "ts": 1 }, { "summary": format!("{prose} {whole}."), "ts": 2 }, { "summary": retold, "ts": 3, "receipts": [bearer] }],
        "storyArcs": arcs,
        "arcSummaries": [
            { "arc": "The ferry", "summary": retold, "source_memory_ids": ["early"], "ts": EARLIER },
        ],
        "pendingRepair": format!("Remember: {whole}."),
        "profiles": { "Tobin": {
            "character_state": format!("Goals: rest\nFears: {fragment}\nMood: {retold}"),
            "ts": EARLIER,
            "world_state": format!("Location: the inn\nThreats: {word}"),
            "relationship_matrix": "Ines: a guest",
        } },
        "state_ledger": { "mara|character": { "_name": "Mara", "location": "inn", "carried_items": word } },
    });
    (character, chat)
}

/// What Loreloom adds to the prompt of a speaker.
async fn added(plan: &Plan, secret: &[&str; 5], speaker: &str) -> Result<Vec<String>, Failure> {
    let store = Arc::new(SqliteStore::in_memory()?);
    let ports = Ports {
        story: store.clone(),
        log: store.clone(),
        jobs: store.clone(),
        clock: Arc::new(Still),
        table: Some(TableVectors::english(|text| StaticEmbedder::embedded().embed_one(text))),
        embedder: None,
    };
    let options = Options::read(r#"{"settings": {"state_ledger_enabled": true}}"#)?;
    let (memory, tenant) = (MemoryServices::new(&ports, options), TenantId::local());
    let (path, receipts) = story(plan, secret);
    let (character, chat) = containers(plan, secret, receipts);
    for name in ["Mara", "Tobin"] {
        let owner = Owner::Character(name.into());
        memory.exchange.import_character(&tenant, &owner, character.clone()).await?;
    }
    memory.exchange.import_chat(&tenant, path.chat(), chat).await?;
    let turn = TurnRequest {
        tenant: &tenant,
        chat: path.chat(),
        path: path.items(),
        speaker: &Who::named(speaker),
        group: &["Mara".to_owned(), "Tobin".to_owned()],
        seen_from: path.items().len() - plan.window,
        cap: None,
        settings: None,
        counter: &QuarterEstimate,
        embed_within: Duration::ZERO,
    };
    let found = memory.recall.preview(&turn).await?;
    Ok(found.injections.into_iter().map(|one| one.text).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_hidden_secret_changes_no_byte_of_the_other_characters_prompt(plan in plans()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let both = |speaker: &'static str| {
            let [one, two] = SECRETS.each_ref().map(|secret| {
                runtime.block_on(added(&plan, secret, speaker)).map_err(|error| error.to_string())
            });
            (one, two)
        };
        let (one, two) = both("Tobin");
        prop_assert_eq!(&one, &two);
        let texts = one.map_err(TestCaseError::fail)?.join("\n");
        prop_assert!(!texts.is_empty());
        let told = SECRETS.iter().flat_map(|secret| [secret[0], secret[4]]).flat_map(|text| text.split(' '));
        for word in told.filter(|word| word.len() > 5) {
            prop_assert!(!texts.contains(word), "{}", texts);
        }
        // Mara knows it, so the test is not about an empty prompt.
        let (one, two) = both("Mara");
        prop_assert_ne!(&one, &two);
    }
}
