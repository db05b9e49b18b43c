//! Choosing notes over HTTP: whatever the model does, the turn goes on and says who served it.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    dialects::vault::{
        Lines, Note, Pick, SelectFrom, SelectionRules, Vault, VaultCache, VaultState, VaultTurn,
        candidates, find,
    },
    dice::TurnDice,
    ids::ChatId,
    report::Reason,
    rules::VaultUse,
    tokens::ByteEstimate,
    turn::{Selection, StillHolds, VaultContext},
};
use loreloom_llm::connection::{Address, Connection, OpenAiModel};
use loreloom_server::vault_select::{AskRules, Breaker, Occurrence, Selector, SpeakerNames, Unmet};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};

const PATH: &str = "/v1/chat/completions";
const GOOD: &str = r#"{"selected":[{"title":"Bell","confidence":"high","reason":"named"}]}"#;

fn lines(texts: &[&str]) -> Lines {
    let mut lines = Lines::default();
    for (at, text) in texts.iter().enumerate() {
        lines.push(if at % 2 == 0 { "Ann" } else { "Bot" }, text, at % 2 == 0, true);
    }
    lines
}

fn using() -> VaultUse {
    VaultUse { selection: Some(SelectionRules::default()), ..VaultUse::default() }
}

fn vault() -> Vault {
    let note = |title: &str, key: &str| {
        let mut note = Note::new("", &format!("{title}.md"), title);
        (note.keys, note.content) = (vec![key.to_owned()], format!("About the {key}."));
        note
    };
    Vault::compile([note("Bell", "bell"), note("Tower", "tower")], &using().rules)
}

async fn select(selector: &Selector, server: &ModelServer, chat: &Lines) -> Selection {
    let address = Address::parse(&format!("{}/v1", server.base_url())).unwrap();
    let model = OpenAiModel::new(Connection::new(address, "scripted")).unwrap();
    let (vault, using, state) = (vault(), using(), VaultState::default());
    let mut dice = TurnDice::at(1, &ChatId::from("chat"), None);
    let mut cache = VaultCache::default();
    let context = VaultContext::default();
    let turn = VaultTurn::new(&vault, &using.rules, &state, chat, &context);
    let found = find(turn, &mut dice, &mut cache);
    let candidates = candidates(&vault, &found, &using.selection.unwrap());
    let turn = Occurrence {
        names: SpeakerNames::default(),
        vault: &vault,
        candidates: &candidates,
        lines: chat,
        state: &state,
        using: &using,
        counter: &ByteEstimate,
    };
    selector.select(&model, turn).await
}

fn titles(selection: &Selection) -> Vec<&str> {
    match selection {
        Selection::Chosen(choices) | Selection::Kept { choices, .. } => {
            choices.iter().map(|one| one.title.as_str()).collect()
        }
        Selection::NotAsked => vec!["not asked"],
        Selection::Failed { .. } => vec!["failed"],
    }
}

#[tokio::test]
async fn whatever_the_model_does_the_turn_goes_on() {
    let quick =
        AskRules { timeout: Duration::from_millis(1500), retries: 0, ..AskRules::default() };
    let cut = r#"Sure! {"selected":[{"title":"Bell"},{"title":"Tow"#;
    for (name, reply, expected) in [
        ("good", Reply::text(GOOD), "Bell"),
        ("fenced", Reply::text(&format!("```json\n{GOOD}\n```")), "Bell"),
        ("cut off", Reply::text(cut), "Bell"),
        ("prose", Reply::text("I would rather not."), "failed"),
        ("slow", Reply::text(GOOD).after(Duration::from_secs(20)), "failed"),
        ("broken JSON", Reply::broken_json(), "failed"),
        ("429", Reply::status(429, "slow down"), "failed"),
        ("500", Reply::status(500, "oops"), "failed"),
        ("dropped", Reply::text(GOOD).cut_after(0), "failed"),
    ] {
        let server = ModelServer::start(Script::new().on(PATH, reply)).unwrap();
        let selection =
            select(&Selector::new(quick.clone()), &server, &lines(&["The bell of the tower!"]))
                .await;
        assert_eq!(titles(&selection), [expected], "{name}: {selection:?}");
    }
}

#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again_and_a_dead_model_left_alone() {
    let script = Script::new().on(PATH, Reply::status(500, "oops")).on(PATH, Reply::text(GOOD));
    let server = ModelServer::start(script).unwrap();
    let chat = lines(&["The bell of the tower!"]);
    let selection = select(&Selector::new(AskRules::default()), &server, &chat).await;
    assert_eq!((titles(&selection), server.received().len()), (vec!["Bell"], 2));
    let rules = AskRules { retries: 0, ..AskRules::default() };
    let selector = Selector::new(rules);
    let mut script = Script::new();
    for _ in 0..3 {
        script = script.on(PATH, Reply::status(500, "oops"));
    }
    let server = ModelServer::start(script).unwrap();
    for _ in 0..3 {
        select(&selector, &server, &chat).await;
    }
    assert_eq!(server.received().len(), 2, "the third was not sent");
}

#[tokio::test]
async fn an_answer_is_kept_while_it_holds() {
    let script = Script::new().on(PATH, Reply::text(GOOD)).on(PATH, Reply::text(GOOD));
    let server = ModelServer::start(script).unwrap();
    let selector = Selector::new(AskRules::default());
    let first = lines(&["The bell of the tower!"]);
    let is_fresh = |selection: &Selection| matches!(selection, Selection::Chosen(_));
    assert!(is_fresh(&select(&selector, &server, &first).await));
    let answered = lines(&["The bell of the tower!", "It rings."]);
    let kept = select(&selector, &server, &answered).await;
    assert!(matches!(kept, Selection::Kept { because: StillHolds::SameChat, .. }), "{kept:?}");
    assert_eq!(titles(&kept), ["Bell"]);
    selector.forget();
    assert!(is_fresh(&select(&selector, &server, &answered).await));
    let nothing = lines(&["Hello."]);
    assert_eq!(select(&selector, &server, &nothing).await, Selection::NotAsked);
}

#[tokio::test]
async fn what_no_note_has_is_counted_and_the_words_of_a_setting_are_sent() {
    let chosen = r#"{"selected":[{"title":"Bell"},{"title":"The Drowned King"}]}"#;
    let script = Script::new().answering(move |_| Some(Reply::text(chosen)));
    let server = ModelServer::start(script).unwrap();
    let system = Some("Pick {{maxEntries}} of them.".to_owned());
    let unmet = Arc::<Unmet>::default();
    let chat = lines(&["The bell of the tower!"]);
    for _ in 0..2 {
        let rules = AskRules { system: system.clone(), ..AskRules::default() };
        let selector = Selector::new(rules).telling(Arc::clone(&unmet));
        assert_eq!(titles(&select(&selector, &server, &chat).await), ["Bell"]);
    }
    assert_eq!(unmet.list(), [("The Drowned King".to_owned(), 2)]);
    let told = server.received().pop().unwrap().json;
    let told = told["messages"][0]["content"].as_str().unwrap();
    assert!(told.starts_with("Pick ") && told.ends_with(" of them."), "{told}");
    assert!(!told.contains("{{"), "{told}");
}

#[tokio::test]
async fn a_model_that_is_down_is_left_alone_by_all_chats() {
    let script = Script::new().answering(|_| Some(Reply::status(500, "oops")));
    let server = ModelServer::start(script).unwrap();
    let breaker = Arc::<Breaker>::default();
    let rules = AskRules { retries: 0, ..AskRules::default() };
    let chat = lines(&["The bell of the tower!"]);
    for _ in 0..4 {
        let selector = Selector::sharing(rules.clone(), Arc::clone(&breaker));
        assert_eq!(titles(&select(&selector, &server, &chat).await), ["failed"]);
    }
    assert_eq!(server.received().len(), 2);
}

/// Sixty notes of six topics; each is named after its topic.
fn large() -> Vault {
    let topics = ["bells", "towers", "ships", "kings", "herbs", "wars"];
    let notes = (0..60).map(|at| {
        let topic = topics[at % topics.len()];
        let mut note = Note::new("", &format!("{at}.md"), &format!("{topic} {at}"));
        (note.tags, note.keys) = (vec![topic.to_owned()], vec![format!("key{at}")]);
        note.content = format!("About {topic}.");
        note
    });
    Vault::compile(notes, &using().rules)
}

#[tokio::test]
async fn topics_are_chosen_first_and_what_is_named_stays() {
    let from_all = SelectionRules { from: SelectFrom::Vault, ..SelectionRules::default() };
    let using = VaultUse { selection: Some(from_all), ..VaultUse::default() };
    for (name, topics, shown) in [
        ("two topics, and a note that is named", r#"{"titles":["Ships","[wars]"]}"#, 21),
        ("too little is left", r#"["nothing of the kind"]"#, 60),
        ("no answer", "Hm.", 60),
    ] {
        let script = Script::new().on(PATH, Reply::text(topics)).on(PATH, Reply::text("[]"));
        let server = ModelServer::start(script).unwrap();
        let address = Address::parse(&format!("{}/v1", server.base_url())).unwrap();
        let model = OpenAiModel::new(Connection::new(address, "scripted")).unwrap();
        let (vault, state) = (large(), VaultState::default());
        let candidates: Vec<Pick> =
            vault.entries().map(|ix| Pick::new(&vault, ix, Reason::Key)).collect();
        let chat = lines(&["They speak of key6."]);
        let turn = Occurrence {
            names: SpeakerNames::default(),
            vault: &vault,
            candidates: &candidates,
            lines: &chat,
            state: &state,
            using: &using,
            counter: &ByteEstimate,
        };
        let rules = AskRules { narrow: Some(0.8), ..AskRules::default() };
        let selection = Selector::new(rules).select(&model, turn).await;
        assert_eq!(selection, Selection::Chosen(Vec::new()), "{name}");
        let asked = String::from_utf8(server.received()[1].body.to_vec()).unwrap();
        assert_eq!(asked.matches("<entry name=").count(), shown, "{name}");
    }
}
