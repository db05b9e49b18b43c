//! A whole cycle after a reply, against a model that answers by what it is asked for.

use std::{
    future::Future,
    pin::pin,
    sync::Mutex,
    task::{Context, Poll, Waker},
};

use async_trait::async_trait;
use loreloom_core::{
    chat::{Message, Path, Role},
    ids::{ChatId, MessageId},
    units::Tokens,
};
use loreloom_memory::{
    cycle::{
        Backend, CycleReport, CycleStage, Member, Occasion, Progress, Round, WorkingMemory,
        after_round,
    },
    event::{chat_records, to_chat},
    model_profile::ModelProfile,
    record::{CharacterMemory, ChatMemory, Insight, Scene},
    rules::Rules,
    settings::Settings,
    text::QuarterEstimate,
    tiers::Config,
};
use loreloom_ports::{ChatModel, ChatReply, ChatRequest, ModelError};

use crate::story::path;

/// Answers the first question whose prompt holds a phrase; fails where it says so.
struct Phrases {
    answers: Vec<(&'static str, Option<&'static str>)>,
    asked: Mutex<Vec<&'static str>>,
    prompts: Mutex<Vec<String>>,
}

impl Phrases {
    fn new(answers: &[(&'static str, Option<&'static str>)]) -> Self {
        Self { answers: answers.to_vec(), asked: Mutex::default(), prompts: Mutex::default() }
    }
}

#[async_trait]
impl ChatModel for Phrases {
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let prompt = &request.messages[0].content;
        let found = self.answers.iter().find(|(phrase, _)| prompt.contains(phrase));
        let (phrase, answer) = found.copied().unwrap_or(("other", Some("NONE")));
        if let (Ok(mut asked), Ok(mut prompts)) = (self.asked.lock(), self.prompts.lock()) {
            asked.push(phrase);
            prompts.push(prompt.to_string());
        }
        match answer {
            Some(text) => Ok(ChatReply { text: text.to_owned() }),
            None => Err(ModelError::TimedOut { address: "test".into(), seconds: 1 }),
        }
    }
}

/// The value of a future that never waits and can be sent to another thread.
fn now<T>(future: impl Future<Output = T> + Send) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn cycle(
    model: &Phrases,
    remembered: &mut WorkingMemory,
    progress: &mut Progress,
) -> Option<CycleReport> {
    let texts = [
        "Good evening, Mara.",
        "Mara lights the lamp.",
        "Has Odo been here?",
        "Odo left the harbour without a word.",
        "I see.",
        "Mara looks out at the sea.",
        "Hours later the storm breaks.",
        "Mara bars the door.",
    ];
    let path = path(&texts.map(str::to_owned));
    let (settings, rules) = (Settings::default(), Rules::default());
    let occasion = Occasion {
        config: Config { settings: &settings, rules: &rules, profile: ModelProfile::A },
        path: path.items(),
        chat_id: "harbour",
        character: "Mara",
        card: "Mara keeps a lighthouse.",
        context: Tokens(8000),
        counter: &QuarterEstimate,
        now: 1000,
        seed: "job7",
        lore: &[],
    };
    let backend = Backend { model, embedder: None };
    let mut arcs = Vec::new();
    let WorkingMemory { character, chat } = remembered;
    let member = Member { name: "Mara", card: occasion.card, memory: character };
    let round = Round { chat, arcs: &mut arcs, members: vec![member] };
    now(after_round(occasion, round, backend, progress))
}

const ANSWERS: [(&str, Option<&str>); 6] = [
    ("two or three sentences", Some("Mara told the player that Odo had left.")),
    ("who knows what", Some("[knows] Mara | Odo left the harbour")),
    ("must stay consistent", Some("[detail:2:session] Mara has lit the lamp")),
    (
        "will still matter",
        Some(
            "[fact:3:permanent:entity=Odo/character] Odo left the harbour\n\
             [fact:2:permanent] Storms frighten sheep",
        ),
    ),
    ("threads", Some("[arc] Nobody knows why Odo left the harbour")),
    ("Draw from these notes", Some("<world_state>Location: lighthouse</world_state>")),
];

#[test]
fn a_cycle_fills_every_tier_from_one_reply() {
    let (mut remembered, mut progress) = (WorkingMemory::default(), Progress::default());
    let report = cycle(&Phrases::new(&ANSWERS), &mut remembered, &mut progress).unwrap();
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    let scene = &remembered.chat.scene_history[0];
    assert_eq!(scene.summary, "Mara told the player that Odo had left.");
    assert_eq!(scene.receipts.len(), 6);
    assert_eq!(scene.source_memory_ids, [remembered.chat.session_memories[0].id.clone()]);
    assert_eq!(remembered.character.epistemic_knowledge[0].content, "Odo left the harbour");
    assert_eq!(remembered.chat.session_memories[0].content, "Mara has lit the lamp");
    let fact = &remembered.character.memories[0];
    assert_eq!((fact.id.0.as_str(), fact.content.as_str()), ("job7-l-1", "Odo left the harbour"));
    assert_eq!(fact.receipts.len(), 1);
    assert_eq!(remembered.character.entities[0].name, "Odo");
    assert_eq!(remembered.chat.story_arcs[0].content, "Nobody knows why Odo left the harbour");
    let profile = remembered.chat.profiles.get("Mara").cloned().unwrap_or_default();
    assert_eq!(profile.world_state, "Location: lighthouse");
    assert_eq!(remembered.chat.last_extract_cutoff, Some(7));
}

#[test]
fn a_failed_stage_stops_no_other_and_a_retry_asks_only_what_is_open() {
    let mut failing = ANSWERS;
    failing[3].1 = None;
    let (mut remembered, mut progress) = (WorkingMemory::default(), Progress::default());
    let report = cycle(&Phrases::new(&failing), &mut remembered, &mut progress).unwrap();
    let failed: Vec<CycleStage> = report.failed.iter().map(|(stage, _)| *stage).collect();
    assert_eq!(failed, [CycleStage::LongTerm]);
    assert_eq!(remembered.chat.story_arcs.len(), 1);
    assert_eq!(remembered.chat.last_extract_cutoff, None);

    let stored = serde_json::to_string(&progress).unwrap();
    let mut progress: Progress = serde_json::from_str(&stored).unwrap();
    let (model, mut again) = (Phrases::new(&ANSWERS), WorkingMemory::default());
    let report = cycle(&model, &mut again, &mut progress).unwrap();
    assert!(report.failed.is_empty());
    let asked = model.asked.lock().unwrap().clone();
    assert_eq!(asked, ["will still matter", "other", "Draw from these notes"]);
    assert_eq!(again.character.memories.len(), 2);
}

#[test]
fn in_a_group_each_member_remembers_what_it_heard() {
    let lines = [
        (Role::User, "Player", "Good evening."),
        (Role::Assistant, "Mara", "Mara hides the silver whistle."),
        (Role::Assistant, "Lis", "Lis counts her glass floats."),
        (Role::User, "Player", "What now?"),
        (Role::Assistant, "Mara", "Mara shrugs."),
    ];
    let messages = lines.map(|(role, name, text)| Message::new(role, Some(name), text));
    let path = Path::of(ChatId::from("group"), messages);
    let (settings, rules) = (Settings::default(), Rules::default());
    let occasion = Occasion {
        config: Config { settings: &settings, rules: &rules, profile: ModelProfile::A },
        path: path.items(),
        chat_id: "group",
        character: "",
        card: "",
        context: Tokens(8000),
        counter: &QuarterEstimate,
        now: 1000,
        seed: "job8",
        lore: &[],
    };
    // The first phrase found decides: only Mara's question holds her own line.
    let model = Phrases::new(&[
        ("must stay consistent", Some("[detail:2:session] The evening is calm")),
        ("will still matter to Mara", Some("[fact:2] Mara hid the silver whistle")),
        ("will still matter to Lis", Some("[fact:2] Lis collects glass floats")),
    ]);
    let (mut mara, mut lis) = (CharacterMemory::default(), CharacterMemory::default());
    let (mut chat, mut arcs) = (ChatMemory::default(), Vec::new());
    let members = vec![
        Member { name: "Mara", card: "", memory: &mut mara },
        Member { name: "Lis", card: "", memory: &mut lis },
    ];
    let round = Round { chat: &mut chat, arcs: &mut arcs, members };
    let backend = Backend { model: &model, embedder: None };
    let mut progress = Progress::default();
    let report = now(after_round(occasion, round, backend, &mut progress)).unwrap();
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    let texts = |memory: &CharacterMemory| -> Vec<(String, Vec<String>)> {
        let noted = memory.memories.iter();
        noted.map(|one| (one.content.clone(), one.witnessed_by.clone())).collect()
    };
    let heard =
        |text: &str| vec![(text.to_owned(), ["Player", "Mara", "Lis"].map(str::to_owned).to_vec())];
    assert_eq!(texts(&mara), heard("Mara hid the silver whistle"));
    assert_eq!(texts(&lis), heard("Lis collects glass floats"));
    assert_ne!(mara.memories[0].id, lis.memories[0].id);
    assert_eq!(chat.session_memories.len(), 1);
    assert_eq!(chat.last_extract_cutoff, Some(4));
}

#[test]
fn the_summary_of_a_group_is_written_without_what_was_said_in_private() {
    let lines = [
        (Role::Assistant, "Lis", "Lis counts her glass floats."),
        (Role::User, "Player", "Lis is gone. What do you hide?"),
        (Role::Assistant, "Mara", "I sank the ferry."),
        (Role::User, "Player", "Who paid you for that?"),
        (Role::Assistant, "Mara", "The harbour master did, in gold."),
        (Role::User, "Player", "Good morning, Lis."),
        (Role::Assistant, "Lis", "Lis waves."),
        (Role::User, "Player", "What a day."),
        (Role::Assistant, "Mara", "Mara yawns."),
    ];
    let messages = lines.map(|(role, name, text)| Message::new(role, Some(name), text));
    let path = Path::of(ChatId::from("group"), messages);
    let hiding: Insight = serde_json::from_value(serde_json::json!({
        "id": "k", "type": "hiding", "subject": "Mara", "target": "Lis",
        "content": "Mara sank the ferry", "receipts": [path.items()[2].id], "ts": 5,
    }))
    .unwrap();
    let (settings, rules) = (Settings::default(), Rules::default());
    let occasion = Occasion {
        config: Config { settings: &settings, rules: &rules, profile: ModelProfile::A },
        path: path.items(),
        chat_id: "group",
        character: "",
        card: "",
        context: Tokens(20),
        counter: &QuarterEstimate,
        now: 1000,
        seed: "job9",
        lore: &[],
    };
    let model = Phrases::new(&[("Summarise this story", Some("[SUMMARY]Calm.[/SUMMARY]"))]);
    let mut mara =
        CharacterMemory { epistemic_knowledge: vec![hiding], ..CharacterMemory::default() };
    let mut arcs = Vec::new();
    // Secrets were looked for up to the sixth message.
    let receipt = Some(path.items()[5].id);
    let mut chat = ChatMemory { extract_receipt: receipt, ..ChatMemory::default() };
    let members = vec![Member { name: "Mara", card: "", memory: &mut mara }];
    let round = Round { chat: &mut chat, arcs: &mut arcs, members };
    let backend = Backend { model: &model, embedder: None };
    now(after_round(occasion, round, backend, &mut Progress::default())).unwrap();
    let prompts = model.prompts.lock().unwrap();
    let summary = prompts.iter().find(|prompt| prompt.contains("Summarise this story")).unwrap();
    let story = summary.split_once("Story:\n").unwrap().1;
    let expected = "Lis: Lis counts her glass floats.\nPlayer: Lis is gone. What do you hide?\n\
                    Mara: (speaks in private)\nPlayer: (speaks in private)\n\
                    Mara: (speaks in private)\nPlayer: Good morning, Lis.";
    assert_eq!(story, expected);
    assert_eq!((chat.summary.as_deref(), chat.summary_end), (Some("Calm."), 6));
}

#[test]
fn what_a_round_notes_as_hidden_is_in_no_later_prompt_of_that_round() {
    let lines = [
        (Role::User, "Player", "Good evening."),
        (Role::Assistant, "Mara", "I hid the silver whistle in the well. Lis must not know."),
        (Role::User, "Player", "Lis, are you there?"),
        (Role::Assistant, "Lis", "Lis counts her glass floats."),
        (Role::User, "Player", "What now?"),
        (Role::Assistant, "Mara", "Mara shrugs."),
    ];
    let messages = lines.map(|(role, name, text)| Message::new(role, Some(name), text));
    let path = Path::of(ChatId::from("group"), messages);
    let (settings, rules) = (Settings::default(), Rules::default());
    let occasion = Occasion {
        config: Config { settings: &settings, rules: &rules, profile: ModelProfile::A },
        path: path.items(),
        chat_id: "group",
        character: "",
        card: "",
        context: Tokens(8000),
        counter: &QuarterEstimate,
        now: 1000,
        seed: "job10",
        lore: &[],
    };
    let model = Phrases::new(&[
        ("who knows what", Some("[hiding] Mara from Lis | Mara hid the silver whistle")),
        (
            "must stay consistent",
            Some(
                "[detail:2:session] Mara hid the silver whistle\n\
                 [detail:2:session] Lis counts her glass floats\n\
                 [detail:2:session] Mara shrugs at Lis\n\
                 [detail:2:session] Lis and Mara sit by the lamp\n\
                 [detail:2:session] A cold wind troubles Mara and Lis",
            ),
        ),
        ("Draw from these notes", Some("<world_state>Location: pier</world_state>")),
    ]);
    let (mut mara, mut lis) = (CharacterMemory::default(), CharacterMemory::default());
    let (mut chat, mut arcs) = (ChatMemory::default(), Vec::new());
    let members = vec![
        Member { name: "Mara", card: "", memory: &mut mara },
        Member { name: "Lis", card: "", memory: &mut lis },
    ];
    let round = Round { chat: &mut chat, arcs: &mut arcs, members };
    let backend = Backend { model: &model, embedder: None };
    let report = now(after_round(occasion, round, backend, &mut Progress::default())).unwrap();
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    let prompts = model.prompts.lock().unwrap();
    let profile = |name: &str| {
        let asks = format!("Draw from these notes where {name}");
        prompts.iter().find(|prompt| prompt.contains(&asks)).unwrap()
    };
    assert!(profile("Mara").contains("whistle"));
    assert!(profile("Lis").contains("floats"));
    assert!(!profile("Lis").contains("whistle"), "{}", profile("Lis"));
    // The first member stores who knows what.
    assert_eq!((mara.epistemic_knowledge.len(), lis.epistemic_knowledge.len()), (1, 0));
}

#[test]
fn a_scene_whose_summary_goes_keeps_its_messages() {
    let earlier = path(&["One.", "Two.", "Three."].map(str::to_owned));
    let ids: Vec<MessageId> = earlier.items().iter().map(|item| item.id).collect();
    let scene = |number: i64| Scene {
        summary: format!("Something else happens, number {number}."),
        ts: Some(number),
        receipts: if number == 0 { ids.clone() } else { Vec::new() },
        ..Scene::default()
    };
    let (mut remembered, mut progress) = (WorkingMemory::default(), Progress::default());
    let most = i64::try_from(Settings::default().scene_max_history).unwrap();
    remembered.chat.scene_history = (0..most).map(scene).collect();
    cycle(&Phrases::new(&ANSWERS), &mut remembered, &mut progress).unwrap();
    let chat = &remembered.chat;
    assert_eq!(chat.scene_history[0].ts, Some(1));
    let older = Scene { summary: String::new(), ..scene(0) };
    assert_eq!(chat.older_scenes, [older]);
    assert_eq!(chat.scenes().next(), Some(ids.as_slice()));
    // The record stays, without its summary.
    let stored = to_chat(&chat_records(chat), earlier.items());
    assert_eq!(stored.older_scenes, chat.older_scenes);
    assert_eq!(stored.scene_history, chat.scene_history);
}
