//! What every log of memory must do.

#![expect(clippy::missing_panics_doc, reason = "a case that is not met panics, as tests do")]

use loreloom_core::{
    digest::Hasher,
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{MemoryError, MemoryLog, Owner, SeenStory, Write, Written};
use loreloom_ports::{MemoryEvent, MemoryWriteId};

pub use super::cases_jobs::*;
use super::{
    KeeperOpener,
    fixture::{character, noted, of, tenant, write},
};
use crate::store_suite::{Checked, fixture::dialogue};

fn contents(events: &[MemoryEvent]) -> Vec<(u64, String)> {
    let id = |event: &MemoryEvent| event.event.record.as_ref().map(|key| key.id.clone());
    events.iter().map(|event| (event.number, id(event).unwrap_or_default())).collect()
}

/// What is written is read back as it was, in order; asking for what came after a number
/// gives only that.
pub async fn a_write_reads_back_in_order_and_after_a_number(opener: &dyn KeeperOpener) -> Checked {
    let (store, tenant) = (opener.keeper().await?, tenant());
    let (mara, chat) = (character("Mara"), Owner::Chat(ChatId::from("harbour")));
    let first = noted("a", "Odo left.", &[]);
    let given = write(
        "w1",
        vec![
            of(mara.clone(), Some(0), vec![first.clone(), noted("b", "It rained.", &[])]),
            of(chat.clone(), Some(0), vec![noted("s", "The lamp is lit.", &[])]),
        ],
    );
    assert_eq!(MemoryLog::write(&*store, &tenant, &given).await?, Written::Stored);
    let later = write("w2", vec![of(mara.clone(), Some(2), vec![noted("c", "Fog.", &[])])]);
    MemoryLog::write(&*store, &tenant, &later).await?;
    let all = store.events(&tenant, &mara, 0).await?;
    assert_eq!(contents(&all), [(1, "a".into()), (2, "b".into()), (3, "c".into())]);
    assert_eq!((&all[0].event, all[0].at), (&first, Timestamp(7)));
    assert_eq!(all[0].chat, Some(ChatId::from("harbour")));
    assert_eq!(all[2].write, MemoryWriteId("w2".into()));
    assert_eq!(contents(&store.events(&tenant, &mara, 2).await?), [(3, "c".into())]);
    assert_eq!(contents(&store.events(&tenant, &chat, 0).await?), [(1, "s".into())]);
    assert_eq!(store.owners(&tenant).await?, [(mara.clone(), 3), (chat.clone(), 1)]);
    let writes = store.memory_writes(&tenant, 1).await?;
    assert_eq!((writes.len(), writes[0].note.as_str()), (1, "note of w2"));
    let one = store.written(&tenant, &MemoryWriteId("w1".into())).await?.ok_or("a write")?;
    assert_eq!(one.owners, [mara, chat]);
    Ok(())
}

/// A job that was taken over cannot write what was written.
pub async fn a_write_of_a_known_name_changes_nothing(opener: &dyn KeeperOpener) -> Checked {
    let (store, tenant, mara) = (opener.keeper().await?, tenant(), character("Mara"));
    let given = |id: &str| write("w1", vec![of(character("Mara"), None, vec![noted(id, id, &[])])]);
    MemoryLog::write(&*store, &tenant, &given("a")).await?;
    assert_eq!(MemoryLog::write(&*store, &tenant, &given("b")).await?, Written::Before);
    assert_eq!(contents(&store.events(&tenant, &mara, 0).await?), [(1, "a".into())]);
    Ok(())
}

/// All owners of a write get their events or none does.
pub async fn a_writer_that_is_behind_is_refused_and_nothing_is_stored(
    opener: &dyn KeeperOpener,
) -> Checked {
    let (store, tenant) = (opener.keeper().await?, tenant());
    let (lis, mara) = (character("Lis"), character("Mara"));
    let first = write("w1", vec![of(mara.clone(), None, vec![noted("a", "x", &[])])]);
    MemoryLog::write(&*store, &tenant, &first).await?;
    let behind = write(
        "w2",
        vec![
            of(lis.clone(), Some(0), vec![noted("b", "x", &[])]),
            of(mara, Some(0), vec![noted("c", "x", &[])]),
        ],
    );
    let refused = MemoryLog::write(&*store, &tenant, &behind).await;
    assert!(matches!(refused, Err(MemoryError::Behind { expected: 0, found: 1, .. })));
    assert!(store.events(&tenant, &lis, 0).await?.is_empty());
    assert_eq!(store.written(&tenant, &MemoryWriteId("w2".into())).await?, None);
    Ok(())
}

/// What was computed on a story that moved since is refused.
pub async fn a_story_that_moved_refuses_what_was_computed_before(
    opener: &dyn KeeperOpener,
) -> Checked {
    let (store, tenant, chat) = (opener.keeper().await?, tenant(), ChatId::from("harbour"));
    store.open_chat(&tenant, &chat, "Harbour", Timestamp(0)).await?;
    let path = dialogue(&chat, &["Hello.", "Good evening."]);
    let seen = store.commit_path(&tenant, &path, None, Timestamp(1)).await?.version;
    let on = |id: &str, version| Write {
        story: Some(SeenStory { chat: ChatId::from("harbour"), version }),
        ..write(id, vec![of(character("Mara"), None, vec![noted(id, id, &[])])])
    };
    MemoryLog::write(&*store, &tenant, &on("a", seen)).await?;
    let path = dialogue(&chat, &["Hello.", "Good night."]);
    store.commit_path(&tenant, &path, None, Timestamp(2)).await?;
    let refused = MemoryLog::write(&*store, &tenant, &on("b", seen)).await;
    let Err(MemoryError::StoryMoved { expected, found, .. }) = refused else {
        return Err("a story that moved".into());
    };
    assert_eq!((expected, found), (seen, seen + 1));
    let events = store.events(&tenant, &character("Mara"), 0).await?;
    assert_eq!(contents(&events), [(1, "a".into())]);
    Ok(())
}

/// NUL, quotes, emoji and right-to-left text come back as they went in.
pub async fn remembered_text_of_every_script_reads_back(opener: &dyn KeeperOpener) -> Checked {
    let (store, tenant) = (opener.keeper().await?, tenant());
    let texts = ["\u{0}nul", "quo'te\"", "龍の目", "👩‍👩‍👧", "مرحبا", "line\nline", ""];
    let events: Vec<_> = texts.iter().map(|text| noted(text, text, &[])).collect();
    let given = Write {
        note: texts.concat(),
        ..write("w1", vec![of(character("Mara"), None, events.clone())])
    };
    MemoryLog::write(&*store, &tenant, &given).await?;
    let read = store.events(&tenant, &character("Mara"), 0).await?;
    assert_eq!(read.into_iter().map(|event| event.event).collect::<Vec<_>>(), events);
    assert_eq!(store.memory_writes(&tenant, 9).await?[0].note, texts.concat());
    Ok(())
}

/// Two tenants may use the same names.
pub async fn tenants_do_not_remember_for_each_other(opener: &dyn KeeperOpener) -> Checked {
    let (store, ours, theirs) = (opener.keeper().await?, tenant(), tenant());
    for (tenant, id) in [(&ours, "a"), (&theirs, "b")] {
        let given = write("w1", vec![of(character("Mara"), Some(0), vec![noted(id, id, &[])])]);
        assert_eq!(MemoryLog::write(&*store, tenant, &given).await?, Written::Stored);
    }
    let events = store.events(&ours, &character("Mara"), 0).await?;
    assert_eq!(contents(&events), [(1, "a".into())]);
    assert_eq!(store.memory_writes(&theirs, 9).await?.len(), 1);
    assert!(store.owners(&TenantId("nobody".into())).await?.is_empty());
    Ok(())
}

/// A vector is found by its model and text and by nothing else.
pub async fn vectors_of_two_models_never_meet(opener: &dyn KeeperOpener) -> Checked {
    let (store, tenant) = (opener.keeper().await?, tenant());
    let hash = |text: &str| Hasher::new("text").field(text.as_bytes()).finish();
    let (a, b) = (hash("a"), hash("b"));
    store.keep_vectors(&tenant, "one", &[(a, vec![1.0, -0.5]), (b, vec![])]).await?;
    store.keep_vectors(&tenant, "two", &[(a, vec![3.0])]).await?;
    store.keep_vectors(&tenant, "one", &[(a, vec![9.0, 9.0])]).await?;
    let found = store.vectors(&tenant, "one", &[b, hash("c"), a]).await?;
    assert_eq!(found, [Some(vec![]), None, Some(vec![1.0, -0.5])]);
    assert_eq!(store.vectors(&tenant, "two", &[b, a]).await?, [None, Some(vec![3.0])]);
    assert!(store.vectors(&tenant, "two", &[]).await?.is_empty());
    Ok(())
}

/// Another handle sees what the first wrote.
pub async fn a_reopened_store_remembers(opener: &dyn KeeperOpener) -> Checked {
    let (first, tenant) = (opener.keeper().await?, tenant());
    let given = write("w1", vec![of(character("Mara"), Some(0), vec![noted("a", "x", &[])])]);
    MemoryLog::write(&*first, &tenant, &given).await?;
    drop(first);
    let second = opener.keeper().await?;
    assert_eq!(second.events(&tenant, &character("Mara"), 0).await?.len(), 1);
    Ok(())
}

/// A new write is reported once, also after calls that found nothing.
pub async fn news_are_what_anybody_remembered_since(opener: &dyn KeeperOpener) -> Checked {
    let (store, other, tenant) = (opener.keeper().await?, opener.keeper().await?, tenant());
    let asked = |mara, lis| [(character("Mara"), mara), (character("Lis"), lis)];
    for (seen, writer) in [(0, &other), (1, &store)] {
        for _again in 0..2 {
            let none = store.news(&tenant, &asked(seen, 0)).await?;
            assert_eq!(none, [Vec::new(), Vec::new()]);
        }
        let id = format!("w{seen}");
        let given = write(&id, vec![of(character("Mara"), Some(seen), vec![noted(&id, "x", &[])])]);
        MemoryLog::write(&**writer, &tenant, &given).await?;
        let [mara, lis] = &store.news(&tenant, &asked(seen, 0)).await?[..] else {
            return Err("an answer for each owner".into());
        };
        assert_eq!((contents(mara), lis), (vec![(seen + 1, id)], &Vec::new()));
    }
    Ok(())
}

/// Of writers that saw the same events one wins; those that read again all get through.
pub async fn writers_of_one_owner_lose_nothing(opener: &dyn KeeperOpener) -> Checked {
    const WRITERS: usize = 6;
    let tenant = tenant();
    let mut running = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let (store, tenant) = (opener.keeper().await?, tenant.clone());
        running.spawn(async move {
            loop {
                let seen = store.events(&tenant, &character("Mara"), 0).await?.len() as u64;
                let id = format!("w{writer}");
                let event = noted(&id, &id, &[]);
                let given = write(&id, vec![of(character("Mara"), Some(seen), vec![event])]);
                match MemoryLog::write(&*store, &tenant, &given).await {
                    Err(MemoryError::Behind { .. }) => {}
                    other => return other,
                }
            }
        });
    }
    while let Some(done) = running.join_next().await {
        assert_eq!(done??, Written::Stored);
    }
    let store = opener.keeper().await?;
    let events = store.events(&tenant, &character("Mara"), 0).await?;
    let numbers: Vec<u64> = events.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (1..=WRITERS as u64).collect::<Vec<_>>());
    Ok(())
}
