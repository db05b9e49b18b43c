//! Memory over the stores: what is visible on which branch, and what a turn gets.

mod edits;
mod exchange;
mod jobs;

use std::sync::Arc;

use loreloom_core::{chat::Path, ids::ChatId};
use loreloom_memory::{
    cycle::{Backend, Demand},
    inject::MemorySlot,
    service::{NewMemory, Policy, Who},
};
use loreloom_ports::{JobOutcome, Owner};
use loreloom_store::SqliteStore;
use loreloom_testkit::{
    memory_suite::{
        harness::{MemoryHarness, story},
        truth,
    },
    store_suite::machine,
};
use proptest::{collection::vec, prelude::ProptestConfig, proptest};
use tokio::runtime::Builder;

use crate::openers::sqlite_memory;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_visible_on_a_path_comes_from_it(
        actions in vec((machine::any_action(), proptest::bool::weighted(0.7)), 1..14),
    ) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let sqlite = sqlite_memory().unwrap().unwrap();
        runtime.block_on(truth::run(&sqlite, &actions)).unwrap();
    }
}

#[expect(clippy::unwrap_used, reason = "a database in memory always opens")]
fn harness() -> MemoryHarness {
    MemoryHarness::new(Arc::new(SqliteStore::in_memory().unwrap()))
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
async fn what_a_swiped_reply_said_is_never_visible() {
    let harness = harness();
    let path = story("c", &texts(&["Hello secret1.", "Reply secret2.", "And secret3?"]));
    let kept = story(
        "c",
        &texts(&["Hello secret1.", "Reply secret2.", "And secret3?", "So secret4.", "Oh.", "x"]),
    );
    harness.play(&kept, "Mara").await.unwrap();
    assert_eq!(harness.secrets(&kept, "Mara").await.unwrap().0, [1, 2, 3, 4]);
    let swiped = story(
        "c",
        &texts(&["Hello secret1.", "Reply secret2.", "And secret3?", "No.", "Oh.", "x"]),
    );
    assert_eq!(harness.secrets(&swiped, "Mara").await.unwrap().0, [1, 2, 3]);
    assert_eq!(harness.secrets(&path, "Mara").await.unwrap().0, [1, 2, 3]);
    // The reply that may still be swiped is not read.
    let newest = story("d", &texts(&["One secret5.", "Two secret6."]));
    harness.play(&newest, "Mara").await.unwrap();
    assert_eq!(harness.secrets(&newest, "Mara").await.unwrap().1, [5]);
}

#[tokio::test]
async fn editing_message_3_of_500_hides_only_the_memories_from_it() {
    let harness = harness();
    let all = numbered(500);
    harness.commit(&story("c", &all)).await.unwrap();
    let speakers = [Who::named("Mara")];
    let chat = ChatId::from("c");
    harness.service.planner.catch_up(&harness.tenant, &chat, &speakers).await.unwrap();
    let outcomes = harness.run_all().await.unwrap();
    assert_eq!(outcomes, [Some(JobOutcome::Done)]);
    let path = story("c", &all);
    let before = harness.secrets(&path, "Mara").await.unwrap();
    assert!(before.0.len() > 50 && before.1.len() > 50, "{before:?}");
    assert_eq!((before.0[0], before.1[0]), (3, 3));
    for (edited, seen) in [(&before.0, 0_usize), (&before.1, 1)] {
        let number = edited[0];
        let mut changed = all.clone();
        changed[number as usize] = "Nothing of note.".to_owned();
        let path = story("c", &changed);
        let now = harness.secrets(&path, "Mara").await.unwrap();
        let now = if seen == 0 { now.0 } else { now.1 };
        let expected: Vec<u32> = edited.iter().copied().filter(|one| *one != number).collect();
        assert_eq!(now, expected);
    }
    assert_eq!(harness.secrets(&path, "Mara").await.unwrap(), before);
}

#[tokio::test]
async fn long_term_memory_follows_the_character_while_its_chat_has_the_message() {
    let harness = harness();
    let first = story("first", &texts(&["Know secret1.", "Yes.", "Go on.", "x"]));
    harness.play(&first, "Mara").await.unwrap();
    let other = story("second", &texts(&["Good morning."]));
    harness.commit(&other).await.unwrap();
    assert_eq!(harness.secrets(&other, "Mara").await.unwrap(), (vec![1], vec![]));
    assert_eq!(harness.secrets(&other, "Lis").await.unwrap(), (vec![], vec![]));
    let local = Who { policy: Policy::Local, ..Who::named("Mara") };
    let view =
        harness.service.views.view(&harness.tenant, other.chat(), other.items(), &local).await;
    assert!(view.unwrap().character.memories.is_empty());
    // The first chat goes back to before that message.
    let shorter = story("first", &texts(&["Something else."]));
    harness.commit(&shorter).await.unwrap();
    assert_eq!(harness.secrets(&other, "Mara").await.unwrap().0, Vec::<u32>::new());
    harness.commit(&first).await.unwrap();
    assert_eq!(harness.secrets(&other, "Mara").await.unwrap().0, [1]);
}

#[tokio::test]
async fn a_turn_gets_what_is_remembered_and_recalled_and_never_what_it_sees() {
    let harness = harness();
    let mut all = texts(&["The silver whistle is in the bell tower.", "I see."]);
    all.extend((0..30).map(|number| format!("Rain falls on day {number}.")));
    all.push("Where is the silver whistle?".to_owned());
    let path = story("c", &all);
    harness.commit(&path).await.unwrap();
    let owner = Owner::Character("Mara".into());
    let new = NewMemory { content: "Mara fears the sea.".into(), ..NewMemory::default() };
    harness.service.edits.add(&harness.tenant, &owner, new).await.unwrap();
    let turn = harness.turn(path.items(), path.chat(), "Mara", 20).await.unwrap();
    let slot = |slot: MemorySlot| {
        turn.slots.iter().find(|text| text.slot == slot).map(|text| text.text.clone())
    };
    assert!(slot(MemorySlot::LongTerm).unwrap().contains("Mara fears the sea."));
    assert!(slot(MemorySlot::Recall).unwrap().contains("in the bell tower"));
    assert_eq!(turn.report.recalled[0].number.0, 1);
    assert_eq!(turn.injections.len(), turn.slots.len());
    let seen = harness.turn(path.items(), path.chat(), "Mara", 0).await.unwrap();
    assert!(seen.report.recalled.is_empty());
    let other = harness.turn(path.items(), path.chat(), "Lis", 0).await.unwrap();
    assert!(other.slots.is_empty(), "{:?}", other.slots);
}

#[tokio::test]
async fn a_read_only_session_leaves_no_trace_unless_it_is_kept() {
    let harness = harness();
    let (tenant, chat) = (harness.tenant.clone(), ChatId::from("c"));
    let start = story("c", &texts(&["One secret1.", "Two.", "Three.", "Four."]));
    harness.play(&start, "Mara").await.unwrap();
    harness.service.read_only.begin(&tenant, &chat, start.items()).await.unwrap();
    let twice = harness.service.read_only.begin(&tenant, &chat, start.items()).await.unwrap_err();
    assert_eq!(twice.to_string(), "chat `c` has a read-only session already");
    let tried = story(
        "c",
        &texts(&["One secret1.", "Two.", "Three.", "Four.", "Try secret9.", "Done.", "x", "y"]),
    );
    harness.play(&tried, "Mara").await.unwrap();
    assert_eq!(harness.secrets(&tried, "Mara").await.unwrap().0, [1]);
    let tip = harness.service.read_only.discard(&tenant, &chat).await.unwrap();
    assert_eq!(tip, start.prefix());
    assert_eq!(harness.store.chat(&tenant, &chat).await.unwrap().unwrap().tip, start.prefix());
    harness.service.read_only.begin(&tenant, &chat, start.items()).await.unwrap();
    harness.commit(&tried).await.unwrap();
    let speakers = [Who::named("Mara")];
    harness.service.read_only.keep(&tenant, &chat, &speakers).await.unwrap();
    harness.run_all().await.unwrap();
    assert_eq!(harness.secrets(&tried, "Mara").await.unwrap().0, [1, 9]);
}

#[tokio::test]
async fn a_policy_decides_what_jobs_read_and_write() {
    for (policy, here, elsewhere) in [
        (Policy::Full, vec![1], vec![1]),
        (Policy::Local, vec![1], vec![]),
        (Policy::ReadOnly, vec![], vec![]),
        (Policy::Off, vec![], vec![]),
    ] {
        let mut harness = harness();
        harness.set_policy("Mara", policy);
        let path = story("c", &texts(&["Hello secret1.", "Good day."]));
        harness.play(&path, "Mara").await.unwrap();
        assert_eq!(harness.secrets(&path, "Mara").await.unwrap().0, here, "{policy:?}");
        let other = story("d", &texts(&["Hello.", "Good day."]));
        harness.commit(&other).await.unwrap();
        let who = Who { policy, ..Who::named("Mara") };
        let (tenant, chat) = (&harness.tenant, other.chat());
        let view = harness.service.views.view(tenant, chat, other.items(), &who).await.unwrap();
        let known = view.character.memories.len();
        assert_eq!(known, elsewhere.len(), "{policy:?}");
        let turn = harness.turn(other.items(), chat, "Mara", 0).await.unwrap();
        assert_eq!(turn.report.known, elsewhere.len(), "{policy:?}");
    }
}

#[tokio::test]
async fn what_a_reply_contradicts_is_kept_with_both_sides_and_gone_with_the_reply() {
    let harness = harness();
    let messages =
        texts(&["It has secret1.", "Good day.", "So?", "Yes.", "And?", "The lantern1 is dark."]);
    let path = story("c", &messages);
    harness.play(&story("c", &messages[..4]), "Mara").await.unwrap();
    harness.commit(&path).await.unwrap();
    let backend = Backend { model: &harness.model, embedder: None };
    let (chat, who) = (path.chat(), Who::named("Mara"));
    let (service, tenant) = (&harness.service, &harness.tenant);
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
    let mut swiped = messages.clone();
    swiped[5] = "The lamp burns.".to_owned();
    assert!(kept(&story("c", &swiped)).await.is_empty(), "another reply contradicts nothing");
    service.edits.undo(tenant, &found.write.unwrap()).await.unwrap();
    assert!(kept(&path).await.is_empty());
}
