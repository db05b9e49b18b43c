//! A model that chooses notes, over HTTP: whatever it does, the turn goes on, says who served
//! it, and is decided again alike.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    chat::Message,
    dialects::vault::{Note, OnFailure, SelectionRules},
    engine::{EngineInput, decide},
    ids::TenantId,
    library::LibrarySource,
    report::{Fallback, Outcome, SelectionUse, Served, Stop, words},
    rules::{Rules, VaultUse},
    state::StoryState,
    tokens::ByteEstimate,
    turn::{Instruments, StillHolds, Transcript, TurnCache},
};
use loreloom_llm::connection::{Address, Connection, OpenAiModel};
use loreloom_ports::{StoryStore as _, TurnRecord};
use loreloom_server::vault_select::AskRules;
use loreloom_server::{Choosing, Weaving};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::json;

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";
const GOOD: &str = r#"{"selected":[{"title":"Bell","confidence":"high","reason":"named"}]}"#;

fn note(title: &str, key: &str) -> Arc<Note> {
    let mut note = Note::new("", &format!("{title}.md"), title);
    (note.keys, note.content) = (vec![key.to_owned()], format!("All about the {key}."));
    Arc::new(note)
}

/// A server whose notes one model chooses and whose story another tells.
async fn start(teller: &ModelServer, chooser: &ModelServer, selection: SelectionRules) -> Loreloom {
    let vault = VaultUse { selection: Some(selection), ..VaultUse::default() };
    let address = Address::parse(&format!("{}/v1", chooser.base_url())).unwrap();
    let model = OpenAiModel::new(Connection::new(address, "chooser")).unwrap();
    let asking =
        AskRules { timeout: Duration::from_millis(1500), retries: 0, ..AskRules::default() };
    let setup = Setup {
        rules: Rules { vault, ..Rules::default() },
        // Far less than the chooser may take: waiting for it does not count.
        weaving: Weaving { deadline: Duration::from_secs(1), ..Weaving::default() },
        choosing: Some(Choosing::new(Arc::new(model), asking)),
        ..Setup::default()
    };
    let loreloom = Loreloom::start(teller, setup).await;
    let notes = vec![note("Bell", "gong"), note("Tower", "tower")];
    loreloom.app.lore.set_notes(notes).await.unwrap();
    loreloom
}

async fn say(loreloom: &Loreloom, chat: &[(&str, &str)]) -> TurnRecord {
    let messages: Vec<_> =
        chat.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
    let response = reqwest::Client::new()
        .post(loreloom.url(CHAT))
        .json(&json!({"model": "m", "messages": messages}))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let warning = response.headers().get("x-loreloom-warning").cloned();
    response.text().await.unwrap();
    loreloom.story(chat.len() + 1).await;
    let record = loreloom.app.last_turn().await.unwrap().unwrap().record;
    // A front end learns at once that nobody chose, and why.
    let selection = record.report.selection.as_ref();
    let failed = selection.filter(|one| matches!(one.served, Served::Failed { .. }));
    let told = warning.as_ref().map(|warning| warning.to_str().unwrap());
    assert_eq!(told, failed.map(words::selection).as_deref());
    record
}

/// The turn of a new story that speaks of both notes, the chooser answering like this.
async fn turn(reply: Reply, selection: SelectionRules) -> (Loreloom, ModelServer, TurnRecord) {
    let teller = ModelServer::start(Script::new()).unwrap();
    let chooser = ModelServer::start(Script::new().on(CHAT, reply)).unwrap();
    let loreloom = start(&teller, &chooser, selection).await;
    let record = say(&loreloom, &[("user", "The gong in the tower!")]).await;
    // The scripted teller must live as long as the server.
    std::mem::forget(teller);
    (loreloom, chooser, record)
}

fn texts(record: &TurnRecord) -> Vec<bool> {
    let all = record.injections.iter().map(|one| one.text.as_str()).collect::<String>();
    ["the gong", "the tower"].iter().map(|part| all.contains(part)).collect()
}

#[tokio::test]
async fn whatever_the_chooser_does_the_turn_goes_on_and_says_who_served_it() {
    let broken = Reply::text("I would rather not.");
    for (name, reply, served) in [
        ("good", Reply::text(GOOD), true),
        ("slow, but in time", Reply::text(GOOD).after(Duration::from_millis(1100)), true),
        ("too slow", Reply::text(GOOD).after(Duration::from_secs(20)), false),
        ("prose", broken, false),
        ("broken JSON", Reply::broken_json(), false),
        ("429", Reply::status(429, "slow down"), false),
        ("500", Reply::status(500, "oops"), false),
        ("dropped", Reply::text(GOOD).cut_after(0), false),
    ] {
        let (_, _, record) = turn(reply, SelectionRules::default()).await;
        let using = record.report.selection.clone().unwrap();
        if served {
            let expected =
                SelectionUse { candidates: 2, chosen: 1, served: Served::Model, fallback: None };
            assert_eq!((texts(&record), using), (vec![true, false], expected), "{name}");
        } else {
            assert!(matches!(using.served, Served::Failed { .. }), "{name}: {using:?}");
            assert_eq!(using.fallback, Some(Fallback::Matches), "{name}");
            assert_eq!(texts(&record), [true, true], "{name}");
        }
    }
}

#[tokio::test]
async fn the_verdict_names_the_fallback_that_left_a_note_out() {
    let rules = SelectionRules { on_failure: OnFailure::Constants, ..SelectionRules::default() };
    let (_, _, record) = turn(Reply::status(500, "oops"), rules).await;
    assert_eq!(texts(&record), [false, false]);
    let bell = record.report.verdicts.iter().find(|verdict| verdict.title == "Bell").unwrap();
    assert_eq!(bell.outcome, Outcome::Stopped(Stop::FellBack { to: Fallback::Constants }));
}

#[tokio::test]
async fn a_turn_with_a_choice_is_decided_again_alike_without_asking() {
    for reply in [Reply::text(GOOD), Reply::status(500, "oops")] {
        let (loreloom, chooser, record) = turn(reply, SelectionRules::default()).await;
        let asked = chooser.received().len();
        let tenant = TenantId::local();
        let source = loreloom.store.library(&tenant, record.library).await.unwrap().unwrap();
        let path = loreloom.store.path(&tenant, &record.chat, record.at).await.unwrap();
        let again = decided_again(&source, &record, path.into_iter().map(|node| node.message));
        assert_eq!(
            again,
            record.injections.iter().map(|one| one.text.as_str()).collect::<Vec<_>>()
        );
        assert_eq!(chooser.received().len(), asked);
    }
}

/// The texts of a turn that is decided again from what was stored.
fn decided_again(
    source: &LibrarySource,
    record: &TurnRecord,
    messages: impl IntoIterator<Item = Message>,
) -> Vec<String> {
    let input = record.input.clone().unwrap();
    let library = source.compile();
    let active = input.active_entries(&library, &source.rules);
    let path = input.path(record.chat.clone(), messages);
    let transcript = Transcript::of(&path, source.rules.world_info.include_names);
    let turn = input.turn(&path, &transcript);
    let mut dice = turn.dice();
    let mut cache = TurnCache::default();
    let mut instruments =
        Instruments { counter: &ByteEstimate, dice: &mut dice, cache: &mut cache };
    let state = StoryState::default();
    let woven = decide(
        &EngineInput {
            library: &library,
            active: &active,
            turn: &turn,
            state: &state,
            rules: &source.rules,
        },
        &mut instruments,
    );
    assert_eq!(woven.report.selection, record.report.selection);
    assert_eq!(woven.report.verdicts, record.report.verdicts);
    woven.injections.into_iter().map(|one| one.text).collect()
}

#[tokio::test]
async fn a_choice_holds_while_nothing_new_comes_up() {
    let (loreloom, chooser, _) = turn(Reply::text(GOOD), SelectionRules::default()).await;
    let story = loreloom.story(2).await;
    let reply = story[1].message.text.clone();
    let chat =
        [("user", "The gong in the tower!"), ("assistant", reply.as_str()), ("user", "Go on.")];
    let record = say(&loreloom, &chat).await;
    let using = record.report.selection.unwrap();
    assert_eq!(using.served, Served::Kept { because: StillHolds::SameCandidates });
    assert_eq!(chooser.received().len(), 1);
}
