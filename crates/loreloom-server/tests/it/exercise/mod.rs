//! The exercise: 51 messages, two characters and a player, with a model that answers naturally.
//! Every planted item is right at the end, the secret is in no prompt of the other character, and
//! memory's questions are few.

mod model;
mod tale;

use loreloom_core::{
    ids::{ChatId, TenantId},
    tokens::TokenCounter as _,
};
use loreloom_memory::{
    model_profile::ModelProfile,
    record::{CharacterMemory, ChatMemory},
    service::Who,
    text::QuarterEstimate,
};
use loreloom_ports::{Job, JobQueue as _, JobState, StoryStore as _};
use loreloom_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use self::{
    model::{NOTES_MODEL, script},
    tale::{GREETING, SECRET, TALE},
};
use crate::harness::{Loreloom, Setup};

const PATH: &str = "/v1/chat/completions";
const CHAT: &str = "inn";
/// Messages that the front end sends.
const WINDOW: usize = 8;

/// What was played.
struct Played {
    loreloom: Loreloom,
    /// What Loreloom added to each prompt, by speaker.
    added: Vec<(&'static str, String)>,
    /// For each exchange, the tokens of every question that memory asked after it.
    asked: Vec<Vec<u32>>,
    jobs: Vec<Job>,
}

async fn play(profile: ModelProfile) -> Played {
    let model = ModelServer::start(script()).unwrap();
    let setup = Setup { notes_model: Some((NOTES_MODEL, profile)), ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    let mut story = vec![json!({ "role": "assistant", "name": "Mara", "content": GREETING })];
    let (mut added, mut asked) = (Vec::new(), Vec::new());
    for (speaker, says, reply) in TALE {
        story.push(json!({ "role": "user", "content": says }));
        let before = model.received().len();
        added.push((speaker, tell(&loreloom, &model, &story, speaker).await));
        story.push(json!({ "role": "assistant", "name": speaker, "content": reply }));
        loreloom.settled(&ChatId::from(CHAT), story.len()).await;
        let received = model.received();
        let notes = received[before..].iter().filter(|request| request.model() == NOTES_MODEL);
        asked.push(notes.map(|request| QuarterEstimate.count(&request.last_text()).0).collect());
    }
    let jobs = loreloom.store.jobs(&TenantId::local(), None, true).await.unwrap();
    Played { loreloom, added, asked, jobs }
}

/// Sends a turn and returns what Loreloom put into its prompt.
async fn tell(loreloom: &Loreloom, model: &ModelServer, story: &[Value], speaker: &str) -> String {
    let mut messages =
        vec![json!({ "role": "system", "content": format!("{speaker} of the inn.") })];
    messages.extend(story[story.len().saturating_sub(WINDOW)..].iter().cloned());
    let body = json!({
        "model": "m", "messages": messages,
        "loreloom": { "chat": CHAT, "user": "Ines", "char": speaker },
    });
    let request = reqwest::Client::new().post(loreloom.url(PATH)).json(&body);
    request.send().await.unwrap().text().await.unwrap();
    let all = model.received();
    let sent = all.iter().rev().find(|request| request.model() != NOTES_MODEL).unwrap();
    let sent: Vec<&str> = sent.json["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    let mut added = sent.join("\n");
    for message in &messages {
        added = added.replacen(message["content"].as_str().unwrap(), "", 1);
    }
    added
}

impl Played {
    /// What a character and the chat remember at the end.
    async fn remembered(&self, name: &str) -> (CharacterMemory, ChatMemory) {
        let (tenant, chat) = (TenantId::local(), ChatId::from(CHAT));
        let memory = self.loreloom.app.memory.clone().unwrap();
        let record = self.loreloom.store.chat(&tenant, &chat).await.unwrap().unwrap();
        let nodes = self.loreloom.store.path(&tenant, &chat, record.tip).await.unwrap();
        let item = |node: loreloom_ports::Node| loreloom_core::chat::PathItem {
            id: node.message_id,
            prefix: node.prefix,
            message: node.message,
        };
        let path: Vec<_> = nodes.into_iter().map(item).collect();
        let view = memory.views.view(&tenant, &chat, &path, &Who::named(name)).await.unwrap();
        (CharacterMemory::clone(&view.character), view.chat)
    }

    /// The active statements of a character, one for each line.
    async fn knows(&self, name: &str) -> String {
        let (character, chat) = self.remembered(name).await;
        let all = character.memories.iter().chain(&chat.session_memories);
        let active = all.filter(|memory| memory.is_active()).map(|memory| memory.content.as_str());
        active.collect::<Vec<_>>().join("\n")
    }
}

async fn every_item_is_right(played: &Played, profile: ModelProfile) {
    let (mara, tobin) = (played.knows("Mara").await, played.knows("Tobin").await);
    for (who, known, expected, gone) in [
        ("Mara", &mara, "Ines is a chart maker from Carrow", "the user"),
        ("Mara", &mara, "drowned off Skell", "sends his greetings"),
        ("Mara", &mara, "wrist of Ines has healed", "sprained wrist"),
        ("Mara", &mara, "Tobin now has the brass compass", "under the counter"),
        ("Tobin", &tobin, "carries the brass compass of Ines on his belt", "under the counter"),
        ("Mara", &mara, "Mara trusts Ines", "distrusts"),
        ("Mara", &mara, "Mara sank the Heron", "The user"),
    ] {
        assert!(known.contains(expected), "{who} has no `{expected}`:\n{known}");
        assert!(!known.contains(gone), "{who} still has `{gone}`:\n{known}");
    }
    let (own, chat) = played.remembered("Mara").await;
    let open: Vec<&str> = chat
        .story_arcs
        .iter()
        .filter(|arc| arc.is_open())
        .map(|arc| arc.content.as_str())
        .collect();
    assert_eq!(open, ["Will anybody learn who sank the Heron?"], "the promise is kept");
    let felt = own.relationship_history.get("Mara→Ines").cloned().unwrap_or_default();
    let felt: Vec<&str> = felt.descriptors.iter().map(|one| one.word.as_str()).collect();
    assert_eq!(felt, ["trusting"]);
    assert!(own.relationship_history.get("Mara→the user").is_none(), "one name each");
    let people = own.entities.iter().filter(|one| one.names().any(|name| name == "Ines")).count();
    assert_eq!(people, 1, "{:?}", own.entities);
    if profile == ModelProfile::B {
        let found: Vec<&str> = chat.contradictions.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("Luca drowned"));
    }
}

async fn the_exercise(profile: ModelProfile) -> Played {
    let played = play(profile).await;
    for (at, (speaker, added)) in played.added.iter().enumerate() {
        let told = SECRET.iter().find(|word| *speaker == "Tobin" && added.contains(**word));
        assert_eq!(told, None, "exchange {at}, Tobin is told:\n{added}");
        for word in ["confidence", "Unknown", "(none)"] {
            assert!(!added.contains(word), "exchange {at} has `{word}`:\n{added}");
        }
    }
    let failed: Vec<&Job> =
        played.jobs.iter().filter(|job| job.state == JobState::Failed).collect();
    assert!(failed.is_empty(), "{failed:?}");
    every_item_is_right(&played, profile).await;
    played
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_weak_model() {
    Box::pin(the_exercise(ModelProfile::A)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_strong_model_and_few_questions() {
    const CALLS: usize = 15;
    const TOKENS: u32 = 9000;
    let played = Box::pin(the_exercise(ModelProfile::B)).await;
    // Five exchanges are ten messages.
    for (at, ten) in played.asked.windows(5).enumerate() {
        let calls: usize = ten.iter().map(Vec::len).sum();
        let tokens: u32 = ten.iter().flatten().sum();
        let figures = format!("exchanges {at} to {}: {calls} calls, {tokens} tokens", at + 4);
        assert!(calls <= CALLS && tokens <= TOKENS, "{figures}");
    }
}
