//! The size of a long story on disk, and that it reads back to the byte.

use loreloom_core::{
    chat::{Path, Role},
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_ports::StoryStore;
use loreloom_store::SqliteStore;
use loreloom_testkit::store_suite::fixture;

#[tokio::test]
async fn a_thousand_turns_that_repeat_their_history_stay_under_twenty_megabytes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("stories.sqlite");
    let store = SqliteStore::open(&file).unwrap();
    let (tenant, chat) = (TenantId::local(), ChatId::from("9b3c0f64-long-story"));
    store.open_chat(&tenant, &chat, "Long", Timestamp(0)).await.unwrap();
    let mut path = Path::new(chat.clone());
    let mut given = 0;
    let mut samples = Vec::new();
    for number in 0..1000 {
        path.push(fixture::said(Role::User, &fixture::prose(number, 40)));
        let turn = fixture::lively_turn(&path, number, 30);
        given += turn.prompt.iter().map(|message| message.content.len()).sum::<usize>();
        let id = store.commit_turn(&tenant, &path, &turn, None).await.unwrap().id;
        if number % 111 == 0 {
            samples.push((id, turn));
        }
        path.push(fixture::said(Role::Assistant, &fixture::prose(number + 5000, 120)));
        let reply = fixture::reply(id, &path, 1).unwrap();
        store.commit_reply(&tenant, &chat, &reply).await.unwrap();
    }
    for (id, turn) in samples {
        assert!(store.turn(&tenant, &chat, id).await.unwrap() == Some(turn), "turn {}", id.0);
    }
    drop(store);
    let bytes: u64 = ["stories.sqlite", "stories.sqlite-wal"]
        .iter()
        .filter_map(|name| directory.path().join(name).metadata().ok())
        .map(|file| file.len())
        .sum();
    println!("1000 turns: {bytes} bytes on disk for prompts of {given} bytes");
    assert!(bytes < 20_000_000, "{bytes} bytes");
}
