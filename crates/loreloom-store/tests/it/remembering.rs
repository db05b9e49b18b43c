//! The memory service over the stores: jobs, branches, other chats, undo, archives.

use std::sync::Arc;

use loreloom_core::{
    chat::Path,
    ids::{ChatId, TenantId},
};
use loreloom_memory::{
    cycle::{Backend, Demand},
    inject::MemorySlot,
    record::MemoryKind,
    service::{NewMemory, NewReply, Policy, Who},
};
use loreloom_ports::{JobState, Outcome, Owner};
use loreloom_ports::{RecordKey, RecordKind};
use loreloom_store::{InMemoryStore, SqliteStore};
use loreloom_testkit::{
    memory_suite::{
        mind::{Mind, story},
        truth,
    },
    store_suite::machine,
};
use proptest::{collection::vec, prelude::ProptestConfig, proptest};
use serde_json::json;
use tokio::runtime::Builder;

use crate::openers::{memory, sqlite_memory};

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_shows_on_a_path_is_told_on_it(
        deeds in vec((machine::deed(), proptest::bool::weighted(0.7)), 1..14),
    ) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (memory, sqlite) = (memory().unwrap().unwrap(), sqlite_memory().unwrap().unwrap());
        runtime.block_on(truth::run(&memory, &deeds)).unwrap();
        runtime.block_on(truth::run(&sqlite, &deeds)).unwrap();
    }
}

#[expect(clippy::unwrap_used, reason = "a database in memory always opens")]
fn minds() -> Vec<Mind> {
    let sqlite = SqliteStore::in_memory().unwrap();
    vec![Mind::new(Arc::new(InMemoryStore::default())), Mind::new(Arc::new(sqlite))]
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn numbered(count: usize) -> Vec<String> {
    let secret = |number: usize| match number % 8 {
        3 => format!(" It has the word secret{number}."),
        _ => String::new(),
    };
    (0..count).map(|number| format!("Message {number}.{}", secret(number))).collect()
}

#[tokio::test]
async fn what_a_swiped_reply_told_never_shows() {
    for mind in minds() {
        let path = story("c", &texts(&["Hello secret1.", "Reply secret2.", "And secret3?"]));
        let kept = story(
            "c",
            &texts(&[
                "Hello secret1.",
                "Reply secret2.",
                "And secret3?",
                "So secret4.",
                "Oh.",
                "x",
            ]),
        );
        mind.live(&kept, "Mara").await.unwrap();
        assert_eq!(mind.secrets(&kept, "Mara").await.unwrap().0, [1, 2, 3, 4]);
        let swiped = story(
            "c",
            &texts(&["Hello secret1.", "Reply secret2.", "And secret3?", "No.", "Oh.", "x"]),
        );
        assert_eq!(mind.secrets(&swiped, "Mara").await.unwrap().0, [1, 2, 3]);
        assert_eq!(mind.secrets(&path, "Mara").await.unwrap().0, [1, 2, 3]);
        // The reply that may still be swiped is not read.
        let newest = story("d", &texts(&["One secret5.", "Two secret6."]));
        mind.live(&newest, "Mara").await.unwrap();
        assert_eq!(mind.secrets(&newest, "Mara").await.unwrap().1, [5]);
    }
}

#[tokio::test]
async fn editing_message_3_of_500_hides_only_what_rests_on_it() {
    for mind in minds() {
        let all = numbered(500);
        mind.tell(&story("c", &all)).await.unwrap();
        let speakers = [Who::named("Mara")];
        let chat = ChatId::from("c");
        mind.service.planner.catch_up(&mind.tenant, &chat, &speakers).await.unwrap();
        let outcomes = mind.run_all().await.unwrap();
        assert_eq!(outcomes, [Some(Outcome::Done)]);
        let path = story("c", &all);
        let before = mind.secrets(&path, "Mara").await.unwrap();
        assert!(before.0.len() > 50 && before.1.len() > 50, "{before:?}");
        assert_eq!((before.0[0], before.1[0]), (3, 3));
        for (edited, seen) in [(&before.0, 0_usize), (&before.1, 1)] {
            let number = edited[0];
            let mut changed = all.clone();
            changed[number as usize] = "Nothing of note.".to_owned();
            let path = story("c", &changed);
            let now = mind.secrets(&path, "Mara").await.unwrap();
            let now = if seen == 0 { now.0 } else { now.1 };
            let expected: Vec<u32> = edited.iter().copied().filter(|one| *one != number).collect();
            assert_eq!(now, expected);
        }
        assert_eq!(mind.secrets(&path, "Mara").await.unwrap(), before);
    }
}

#[tokio::test]
async fn long_term_memory_follows_the_character_while_its_chat_tells_it() {
    for mind in minds() {
        let told = story("first", &texts(&["Know secret1.", "Yes.", "Go on.", "x"]));
        mind.live(&told, "Mara").await.unwrap();
        let other = story("second", &texts(&["Good morning."]));
        mind.tell(&other).await.unwrap();
        assert_eq!(mind.secrets(&other, "Mara").await.unwrap(), (vec![1], vec![]));
        assert_eq!(mind.secrets(&other, "Lis").await.unwrap(), (vec![], vec![]));
        let local = Who { policy: Policy::Local, ..Who::named("Mara") };
        let view = mind.service.views.view(&mind.tenant, other.chat(), other.items(), &local).await;
        assert!(view.unwrap().character.memories.is_empty());
        // The first chat goes back before it was told.
        let shorter = story("first", &texts(&["Something else."]));
        mind.tell(&shorter).await.unwrap();
        assert_eq!(mind.secrets(&other, "Mara").await.unwrap().0, Vec::<u32>::new());
        mind.tell(&told).await.unwrap();
        assert_eq!(mind.secrets(&other, "Mara").await.unwrap().0, [1]);
    }
}

#[tokio::test]
async fn a_swipe_calls_off_only_the_jobs_that_read_it() {
    for mind in minds() {
        let path = story("c", &texts(&["One secret1.", "Two secret2.", "Three secret3.", "Four."]));
        mind.tell(&path).await.unwrap();
        mind.queue(&path, "Mara").await.unwrap();
        let swiped =
            story("c", &texts(&["One secret1.", "Two secret2.", "Three secret3.", "Vier."]));
        mind.tell(&swiped).await.unwrap();
        let open =
            mind.service.planner.story_moved(&mind.tenant, swiped.chat(), swiped.items()).await;
        assert_eq!(open.unwrap().len(), 1, "an extraction reads what is settled");
        let edited = story("c", &texts(&["One secret1.", "Zwei.", "Three secret3.", "Vier."]));
        mind.tell(&edited).await.unwrap();
        let open =
            mind.service.planner.story_moved(&mind.tenant, edited.chat(), edited.items()).await;
        assert!(open.unwrap().is_empty());
        let jobs = mind.store.jobs(&mind.tenant, None, true).await.unwrap();
        assert_eq!(jobs[0].state, JobState::Cancelled);
        assert!(mind.run_all().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_pass_that_was_overtaken_by_an_edit_writes_nothing() {
    for mind in minds() {
        let path = story("c", &texts(&["One secret1.", "Two.", "Three.", "Four."]));
        mind.tell(&path).await.unwrap();
        mind.queue(&path, "Mara").await.unwrap();
        let edited = story("c", &texts(&["Eins.", "Two.", "Three.", "Four."]));
        mind.tell(&edited).await.unwrap();
        let outcomes = mind.run_all().await.unwrap();
        assert!(matches!(outcomes[..], [Some(Outcome::Cancelled { .. })]), "{outcomes:?}");
        assert_eq!(mind.secrets(&path, "Mara").await.unwrap(), (vec![], vec![]));
    }
}

#[tokio::test]
async fn a_job_whose_model_fails_is_tried_again_and_asks_only_what_is_open() {
    for mind in minds() {
        let path = story("c", &texts(&["One secret1.", "Two.", "Three.", "Four."]));
        mind.tell(&path).await.unwrap();
        mind.queue(&path, "Mara").await.unwrap();
        *mind.model.failing.lock().unwrap() = 1;
        let first = mind.run_one().await.unwrap().unwrap();
        assert!(matches!(first.outcome, Some(Outcome::Again { .. })), "{first:?}");
        assert!(mind.run_all().await.unwrap().is_empty(), "it waits");
        let asked = mind.model.asked.lock().unwrap().len();
        mind.clock.pass(10_000);
        assert_eq!(mind.run_all().await.unwrap(), [Some(Outcome::Done)]);
        assert_eq!(mind.secrets(&path, "Mara").await.unwrap(), (vec![1], vec![1]));
        let prompts = mind.model.asked.lock().unwrap().clone();
        let again: Vec<&String> = prompts[asked..]
            .iter()
            .filter(|prompt| prompt.contains("Story:") && prompts[1..asked].contains(prompt))
            .collect();
        assert!(again.is_empty(), "{again:?}");
    }
}

#[tokio::test]
async fn a_job_tells_what_it_asked_and_keeps_replies_of_which_nothing_came() {
    for mind in minds() {
        let path = story("c", &texts(&["One secret1.", "Two.", "Three.", "Four."]));
        mind.tell(&path).await.unwrap();
        mind.queue(&path, "Mara").await.unwrap();
        // The first question is answered, the second is not.
        *mind.model.failing.lock().unwrap() = 1;
        mind.run_one().await.unwrap();
        let account = async || {
            let jobs = mind.store.jobs(&mind.tenant, None, true).await.unwrap();
            jobs.into_iter().map(|job| job.body.account).next().unwrap()
        };
        let first = account().await;
        let asked = mind.model.asked.lock().unwrap().len();
        assert_eq!(first.questions as usize, asked);
        assert!(first.asked > 0 && first.partial, "{first:?}");
        assert_eq!(first.replies.len(), (asked - 1).min(6), "{first:?}");
        mind.clock.pass(10_000);
        assert_eq!(mind.run_all().await.unwrap(), [Some(Outcome::Done)]);
        // What was read well needs no looking into.
        let done = account().await;
        assert_eq!((done.replies.len(), done.kept.len(), done.partial), (0, 0, false));
        assert!(done.questions > first.questions && done.answered > first.answered, "{done:?}");
    }
}

#[tokio::test]
async fn a_catch_up_reads_everything_in_pieces_and_once() {
    for mind in minds() {
        let all = numbered(60);
        let path = story("c", &all);
        mind.tell(&path).await.unwrap();
        let (chat, speakers) = (ChatId::from("c"), [Who::named("Mara")]);
        let job = mind.service.planner.catch_up(&mind.tenant, &chat, &speakers).await.unwrap();
        let same = mind.service.planner.catch_up(&mind.tenant, &chat, &speakers).await.unwrap();
        assert_eq!(job, same);
        mind.run_one().await.unwrap();
        let jobs = mind.store.jobs(&mind.tenant, None, true).await.unwrap();
        assert_eq!(jobs[0].state, JobState::Done, "{jobs:?}");
        let view = mind
            .service
            .views
            .view(&mind.tenant, &chat, path.items(), &Who::named("Mara"))
            .await
            .unwrap();
        assert_eq!(view.chat.last_extract_cutoff, Some(60));
        let writes = mind.store.memory_writes(&mind.tenant, 99).await.unwrap();
        assert_eq!(writes.len(), 3);
    }
}

#[tokio::test]
async fn everything_done_by_hand_can_be_undone() {
    for mind in minds() {
        let owner = Owner::Character("Mara".into());
        let (tenant, service) = (&mind.tenant, &mind.service);
        let new = |content: &str| NewMemory {
            kind: MemoryKind::Fact,
            content: content.to_owned(),
            importance: Some(3),
            receipts: vec![],
        };
        let path = story("c", &texts(&["Hello."]));
        mind.tell(&path).await.unwrap();
        let shown = async || {
            let who = Who::named("Mara");
            let view = service.views.view(tenant, path.chat(), path.items(), &who).await.unwrap();
            let active = view.character.memories.iter().filter(|memory| memory.is_active());
            active.map(|memory| memory.content.clone()).collect::<Vec<_>>()
        };
        let (a, _) = service.edits.add(tenant, &owner, new("The boat is red.")).await.unwrap();
        let (b, _) = service.edits.add(tenant, &owner, new("Odo owns it.")).await.unwrap();
        let edit = json!({ "content": "The boat is blue." }).as_object().cloned().unwrap();
        let edited = service.edits.edit(tenant, &owner, &a.id, edit).await.unwrap();
        assert_eq!(shown().await, ["The boat is blue.", "Odo owns it."]);
        let ids = [a.id.clone(), b.id.clone()];
        let (_, merged) =
            service.edits.merge(tenant, &owner, &ids, "Odo's boat is blue.").await.unwrap();
        assert_eq!(shown().await, ["Odo's boat is blue."]);
        let undone = service.edits.undo(tenant, &merged).await.unwrap();
        service.edits.undo(tenant, &edited).await.unwrap();
        assert_eq!(shown().await, ["The boat is red.", "Odo owns it."]);
        service.edits.undo(tenant, &undone).await.unwrap();
        assert_eq!(shown().await, ["Odo's boat is blue."]);
        service.edits.undo(tenant, &merged).await.unwrap();
        let retired = service.edits.retire(tenant, &owner, &a.id).await.unwrap();
        assert_eq!(shown().await, ["Odo owns it."]);
        service.edits.undo(tenant, &retired).await.unwrap();
        let start = service.edits.fresh_start(tenant, path.chat(), &owner).await.unwrap();
        assert!(shown().await.is_empty());
        service.edits.undo(tenant, &start).await.unwrap();
        assert_eq!(shown().await, ["The boat is red.", "Odo owns it."]);
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    for mind in minds() {
        let owner = Owner::Character("Mara".into());
        let new = NewMemory { content: "The boat is red.".into(), ..NewMemory::default() };
        let (key, _) = mind.service.edits.add(&mind.tenant, &owner, new).await.unwrap();
        for (fields, expected) in [
            (json!({ "content": "" }), "`content` must be a text that says something"),
            (json!({ "importance": "high" }), "`importance` cannot be \"high\""),
            (json!({ "colour": 1 }), "`colour` cannot be 1"),
        ] {
            let fields = fields.as_object().cloned().unwrap();
            let refused = mind.service.edits.edit(&mind.tenant, &owner, &key.id, fields).await;
            let message = refused.unwrap_err().to_string();
            assert_eq!(message, format!("`{}` cannot be changed that way: {expected}", key.id));
        }
        let missing = mind.service.edits.retire(&mind.tenant, &owner, "zz").await.unwrap_err();
        assert_eq!(missing.to_string(), "character `Mara` has no record `zz`");
        assert_eq!(mind.store.events(&mind.tenant, &owner, 0).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn an_archive_reads_back_into_another_store_and_only_once() {
    let mind = Mind::new(Arc::new(SqliteStore::in_memory().unwrap()));
    let path = story("c", &texts(&["One secret1.", "Two.", "Three.", "Four."]));
    mind.live(&path, "Mara").await.unwrap();
    let archive = mind.service.exchange.export(&mind.tenant).await.unwrap();
    let text = serde_json::to_string(&archive).unwrap();
    let other = Mind::with(Arc::new(InMemoryStore::default()), TenantId("other".into()), 1);
    other.tell(&path).await.unwrap();
    let read = || serde_json::from_str(&text).unwrap();
    assert_eq!(
        other.service.exchange.import(&other.tenant, read()).await.unwrap(),
        archive.writes.len()
    );
    assert_eq!(other.service.exchange.import(&other.tenant, read()).await.unwrap(), 0);
    assert_eq!(
        other.secrets(&path, "Mara").await.unwrap(),
        mind.secrets(&path, "Mara").await.unwrap()
    );
    assert_eq!(other.service.exchange.export(&other.tenant).await.unwrap(), archive);
}

#[tokio::test]
async fn smart_memorys_data_are_taken_in_once() {
    let mind = Mind::new(Arc::new(SqliteStore::in_memory().unwrap()));
    let old = json!({ "memories": [{ "type": "fact", "content": "Odo keeps bees." }] });
    let owner = Owner::Character("Mara".into());
    let taken =
        mind.service.exchange.import_character(&mind.tenant, &owner, old.clone()).await.unwrap();
    assert!(taken.is_some());
    assert_eq!(
        mind.service.exchange.import_character(&mind.tenant, &owner, old).await.unwrap(),
        None
    );
    let chat = json!({ "summary": "So far.", "summaryEnd": 1, "schema_version": 9 });
    mind.service.exchange.import_chat(&mind.tenant, &ChatId::from("c"), chat).await.unwrap();
    let path = story("c", &texts(&["Hello.", "Hi."]));
    mind.tell(&path).await.unwrap();
    let who = Who::named("Mara");
    let view =
        mind.service.views.view(&mind.tenant, path.chat(), path.items(), &who).await.unwrap();
    assert_eq!(view.character.memories[0].content, "Odo keeps bees.");
    assert_eq!((view.chat.summary.as_deref(), view.chat.summary_end), (Some("So far."), 1));
}

#[tokio::test]
async fn a_turn_gets_what_is_remembered_and_recalled_and_never_what_it_sees() {
    for mind in minds() {
        let mut all = texts(&["The silver whistle is in the bell tower.", "I see."]);
        all.extend((0..30).map(|number| format!("Rain falls on day {number}.")));
        all.push("Where is the silver whistle?".to_owned());
        let path = story("c", &all);
        mind.tell(&path).await.unwrap();
        let owner = Owner::Character("Mara".into());
        let new = NewMemory { content: "Mara fears the sea.".into(), ..NewMemory::default() };
        mind.service.edits.add(&mind.tenant, &owner, new).await.unwrap();
        let turn = mind.turn(path.items(), path.chat(), "Mara", 20).await.unwrap();
        let slot = |slot: MemorySlot| {
            turn.slots.iter().find(|text| text.slot == slot).map(|text| text.text.clone())
        };
        assert!(slot(MemorySlot::LongTerm).unwrap().contains("Mara fears the sea."));
        assert!(slot(MemorySlot::Recall).unwrap().contains("in the bell tower"));
        assert_eq!(turn.report.recalled[0].at, 0);
        assert_eq!(turn.injections.len(), turn.slots.len());
        let seen = mind.turn(path.items(), path.chat(), "Mara", 0).await.unwrap();
        assert!(seen.report.recalled.is_empty());
        let other = mind.turn(path.items(), path.chat(), "Lis", 0).await.unwrap();
        assert!(other.slots.is_empty(), "{:?}", other.slots);
    }
}

#[tokio::test]
async fn a_read_only_session_leaves_no_trace_unless_it_is_kept() {
    for mind in minds() {
        let (tenant, chat) = (mind.tenant.clone(), ChatId::from("c"));
        let start = story("c", &texts(&["One secret1.", "Two.", "Three.", "Four."]));
        mind.live(&start, "Mara").await.unwrap();
        mind.service.read_only.begin(&tenant, &chat, start.items()).await.unwrap();
        let twice = mind.service.read_only.begin(&tenant, &chat, start.items()).await.unwrap_err();
        assert_eq!(twice.to_string(), "chat `c` has a read-only session already");
        let tried = story(
            "c",
            &texts(&["One secret1.", "Two.", "Three.", "Four.", "Try secret9.", "Done.", "x", "y"]),
        );
        mind.live(&tried, "Mara").await.unwrap();
        assert_eq!(mind.secrets(&tried, "Mara").await.unwrap().0, [1]);
        let tip = mind.service.read_only.discard(&tenant, &chat).await.unwrap();
        assert_eq!(tip, start.prefix());
        assert_eq!(mind.store.chat(&tenant, &chat).await.unwrap().unwrap().tip, start.prefix());
        mind.service.read_only.begin(&tenant, &chat, start.items()).await.unwrap();
        mind.tell(&tried).await.unwrap();
        let speakers = [Who::named("Mara")];
        mind.service.read_only.keep(&tenant, &chat, &speakers).await.unwrap();
        mind.run_all().await.unwrap();
        assert_eq!(mind.secrets(&tried, "Mara").await.unwrap().0, [1, 9]);
    }
}

#[tokio::test]
async fn in_a_group_everybody_remembers_after_the_round() {
    for mind in minds() {
        let path = story("c", &texts(&["Hear secret1.", "Two.", "And secret3.", "Four."]));
        mind.tell(&path).await.unwrap();
        let speakers = [Who::named("Mara"), Who::named("Lis")];
        let spoken = NewReply {
            tenant: &mind.tenant,
            chat: path.chat(),
            path: path.items(),
            speakers: &speakers,
        };
        mind.service.planner.after_reply(&spoken).await.unwrap();
        assert_eq!(mind.run_all().await.unwrap(), [Some(Outcome::Done)]);
        for name in ["Mara", "Lis"] {
            assert_eq!(mind.secrets(&path, name).await.unwrap().0, [1, 3], "{name}");
        }
    }
}

#[tokio::test]
async fn threads_feelings_knowledge_and_entities_are_changed_by_hand_and_undone() {
    for mind in minds() {
        let (tenant, service) = (&mind.tenant, &mind.service);
        let (mara, chat) = (Owner::Character("Mara".into()), Owner::Chat(ChatId::from("c")));
        let object = |value: serde_json::Value| value.as_object().cloned().unwrap();
        let put = async |owner: &Owner, kind, id: &str, fields| {
            service.edits.put(tenant, owner, RecordKey::new(kind, id), object(fields)).await
        };
        let shown = async |owner: &Owner, id: &str| {
            let records = service.views.records(tenant, owner).await.unwrap();
            let found = records.iter().find(|(key, _)| key.id == id);
            found.map(|(_, fields)| serde_json::Value::Object(fields.clone()).to_string())
        };
        let bell = json!({ "content": "Find the bell", "persistent": false, "resolved": false });
        put(&chat, RecordKind::Arc, "Find the bell", bell).await.unwrap();
        let feelings = json!({ "descriptors": [{ "word": "fond", "magnitude": "high" }] });
        put(&mara, RecordKind::Relationship, "Mara→Odo", feelings).await.unwrap();
        let knows = json!({ "id": "i", "type": "knows", "subject": "Mara", "content": "x" });
        put(&mara, RecordKind::Insight, "i", knows).await.unwrap();
        for (id, name) in [("e1", "Cap"), ("e2", "Captain Venn")] {
            let entity = json!({ "id": id, "name": name, "type": "character" });
            put(&mara, RecordKind::Entity, id, entity).await.unwrap();
        }
        let odd = put(&mara, RecordKind::Arc, "x", json!({ "content": "x" })).await.unwrap_err();
        let expected = "`x` cannot be changed that way: character `Mara` keeps no such records";
        assert_eq!(odd.to_string(), expected);
        let path = story("other", &texts(&["Hello.", "Good day."]));
        let threads = async || {
            let turn = mind.turn(path.items(), path.chat(), "Mara", 0).await.unwrap();
            turn.slots.iter().any(|slot| slot.slot == MemorySlot::Arcs)
        };
        assert!(!threads().await);
        let pinned =
            service.edits.pin_thread(tenant, &"c".into(), &mara, "Find", true).await.unwrap();
        assert!(threads().await, "it follows her into another chat");
        service.edits.undo(tenant, &pinned).await.unwrap();
        assert!(!threads().await);
        assert!(shown(&chat, "Find the bell").await.unwrap().contains("\"persistent\":false"));
        let ended = service.edits.retire(tenant, &chat, "Find").await.unwrap();
        assert!(shown(&chat, "Find the bell").await.unwrap().contains("\"resolved\":true"));
        service.edits.undo(tenant, &ended).await.unwrap();
        assert!(shown(&chat, "Find the bell").await.unwrap().contains("\"resolved\":false"));
        let gone = service.edits.retire(tenant, &mara, "Mara→Odo").await.unwrap();
        assert_eq!(shown(&mara, "Mara→Odo").await, None);
        service.edits.undo(tenant, &gone).await.unwrap();
        assert!(shown(&mara, "Mara→Odo").await.unwrap().contains("fond"));
        service.edits.retire(tenant, &mara, "i").await.unwrap();
        assert!(shown(&mara, "i").await.unwrap().contains("retired"));
        service.edits.restore(tenant, &mara, "i").await.unwrap();
        assert!(!shown(&mara, "i").await.unwrap().contains("retired"));
        let merged =
            service.edits.merge_entities(tenant, &mara, "cap", "Captain Venn").await.unwrap();
        assert!(shown(&mara, "e2").await.unwrap().contains("\"aliases\":[\"Cap\"]"));
        assert_eq!(shown(&mara, "e1").await, None);
        service.edits.undo(tenant, &merged).await.unwrap();
        assert!(shown(&mara, "e1").await.is_some());
        assert!(service.edits.merge_entities(tenant, &mara, "nobody", "x").await.is_err());
    }
}

#[tokio::test]
async fn a_policy_decides_what_jobs_read_and_write() {
    for (policy, here, elsewhere) in [
        (Policy::Full, vec![1], vec![1]),
        (Policy::Local, vec![1], vec![]),
        (Policy::ReadOnly, vec![], vec![]),
        (Policy::Off, vec![], vec![]),
    ] {
        let mut mind = Mind::new(Arc::new(InMemoryStore::default()));
        mind.set_policy("Mara", policy);
        let path = story("c", &texts(&["Hello secret1.", "Good day."]));
        mind.live(&path, "Mara").await.unwrap();
        assert_eq!(mind.secrets(&path, "Mara").await.unwrap().0, here, "{policy:?}");
        let other = story("d", &texts(&["Hello.", "Good day."]));
        mind.tell(&other).await.unwrap();
        let who = Who { policy, ..Who::named("Mara") };
        let (tenant, chat) = (&mind.tenant, other.chat());
        let view = mind.service.views.view(tenant, chat, other.items(), &who).await.unwrap();
        let known = view.character.memories.len();
        assert_eq!(known, elsewhere.len(), "{policy:?}");
        let turn = mind.turn(other.items(), chat, "Mara", 0).await.unwrap();
        assert_eq!(turn.report.known, elsewhere.len(), "{policy:?}");
    }
}

#[tokio::test]
async fn a_catch_up_holds_what_nothing_bears_out() {
    for mind in minds() {
        let path = story("c", &texts(&["I met secret1 and forgery7.", "Good day.", "So.", "Yes."]));
        mind.tell(&path).await.unwrap();
        let who = [Who::named("Mara")];
        mind.service.planner.catch_up(&mind.tenant, path.chat(), &who).await.unwrap();
        mind.run_all().await.unwrap();
        let view = mind
            .service
            .views
            .view(&mind.tenant, path.chat(), path.items(), &who[0])
            .await
            .unwrap();
        let held: Vec<(&str, bool)> = view
            .character
            .memories
            .iter()
            .map(|memory| (memory.content.as_str(), memory.is_held()))
            .collect();
        assert_eq!(
            held,
            [
                ("lantern1 harbour1 secret1", false),
                ("The king owes 4711 marks to Zebulon, says forgery7", true)
            ]
        );
    }
}

#[tokio::test]
async fn memories_can_be_asked_for_before_they_are_due() {
    for mind in minds() {
        let path = story("c", &texts(&["It has secret1.", "Good day.", "So?"]));
        mind.tell(&path).await.unwrap();
        let backend = Backend { model: &mind.model, embedder: None };
        let (chat, who) = (path.chat(), Who::named("Mara"));
        let (service, tenant) = (&mind.service, &mind.tenant);
        let kept = async || {
            let view = service.views.view(tenant, chat, path.items(), &who).await.unwrap();
            let longterm = view.character.memories.len();
            (longterm, view.chat.session_memories.len(), view.chat.last_extract_cutoff)
        };
        assert_eq!(kept().await, (0, 0, None));
        service.demands.run(tenant, chat, &who, Demand::LongTerm, backend).await.unwrap();
        assert_eq!(kept().await, (1, 0, None), "one tier alone does not move the extraction on");
        service.demands.run(tenant, chat, &who, Demand::Extract, backend).await.unwrap();
        assert_eq!(kept().await.2, Some(3));
    }
}

#[tokio::test]
async fn what_a_reply_contradicts_is_kept_with_both_sides_and_gone_with_the_reply() {
    for mind in minds() {
        let told = texts(&[
            "It has secret1.",
            "Good day.",
            "So?",
            "Yes.",
            "And?",
            "The lantern1 is dark.",
        ]);
        let path = story("c", &told);
        mind.live(&story("c", &told[..4]), "Mara").await.unwrap();
        mind.tell(&path).await.unwrap();
        let backend = Backend { model: &mind.model, embedder: None };
        let (chat, who) = (path.chat(), Who::named("Mara"));
        let (service, tenant) = (&mind.service, &mind.tenant);
        let found = service.demands.run(tenant, chat, &who, Demand::Check, backend).await.unwrap();
        assert_eq!(found.contradictions, ["The reply puts out lantern1 of harbour1 secret1"]);
        let kept = async |path: &Path| {
            let view = service.views.view(tenant, chat, path.items(), &who).await.unwrap();
            view.chat.contradictions
        };
        let noted = kept(&path).await;
        let ids: Vec<_> = path.items().iter().map(|item| item.id).collect();
        assert_eq!((noted.len(), &noted[0].receipts), (1, &vec![ids[5], ids[0]]));
        assert!(noted[0].memory.is_some());
        let mut swiped = told.clone();
        swiped[5] = "The lamp burns.".to_owned();
        assert!(kept(&story("c", &swiped)).await.is_empty(), "another reply contradicts nothing");
        service.edits.undo(tenant, &found.write.unwrap()).await.unwrap();
        assert!(kept(&path).await.is_empty());
    }
}
