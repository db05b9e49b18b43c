//! Replies, versions, refusals, reopening and several writers.

#![expect(clippy::missing_panics_doc, reason = "a case asserts what it checks")]

use std::{collections::BTreeMap, sync::Arc};

use loreloom_core::{
    chat::{Path, Role},
    ids::{ChatId, Digest, PrefixHash, TenantId},
    state::StateDelta,
    units::Timestamp,
};
use loreloom_ports::{ChangeMark, ChatRecord, EndedResponse, StoreError, StoryStore};
use tokio::task::JoinSet;

use super::{
    Checked, Failure, Opener,
    cases::Scene,
    fixture::{self, dialogue, sticky, tenant, then},
};

/// The reply becomes a node, the turn names it and the tip moves.
pub async fn a_reply_extends_the_story(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "reply").await?;
    let Scene { store, tenant, chat } = &scene;
    let asked = dialogue(chat, &["hello"]);
    let turn = scene.commit(&asked, StateDelta::default()).await?;
    let record = scene.record().await?;
    assert_eq!((record.tip, record.version, record.updated), (asked.prefix(), 1, Timestamp(2)));
    let answered = then(&asked, Role::Assistant, "well met");
    let reply = fixture::reply(turn, &answered, 7).ok_or("a reply")?;
    store.commit_reply(tenant, chat, &reply).await?;
    let record = scene.record().await?;
    assert_eq!((record.tip, record.version, record.updated), (answered.prefix(), 2, Timestamp(7)));
    let nodes = store.path(tenant, chat, answered.prefix()).await?;
    assert_eq!(nodes.last(), Some(&reply.node));
    assert_eq!(store.turns(tenant, chat).await?[0].reply, Some(answered.prefix()));
    // The same again changes nothing but the version.
    store.commit_reply(tenant, chat, &reply).await?;
    assert_eq!(store.tree(tenant, chat).await?.len(), 2);
    assert_eq!(scene.record().await?.version, 3);
    // A continued reply is a sibling of the one it continues.
    let turn = scene.commit(&answered, StateDelta::default()).await?;
    let continued = then(&asked, Role::Assistant, "well met, traveller");
    let reply = fixture::reply(turn, &continued, 8).ok_or("a reply")?;
    store.commit_reply(tenant, chat, &reply).await?;
    assert_eq!(scene.record().await?.tip, continued.prefix());
    assert_eq!(scene.texts(continued.prefix()).await?, ["hello", "well met, traveller"]);
    Ok(())
}

/// Storing a turn together with its reply equals storing both one after the other. Each can be
/// undone on its own.
pub async fn a_turn_with_its_reply_is_both_of_them(opener: &dyn Opener) -> Checked {
    let (apart, at_once) =
        (Scene::new(opener, "apart").await?, Scene::new(opener, "at_once").await?);
    for text in ["hello", "and then?"] {
        let tip = apart.record().await?.tip;
        let nodes = apart.store.path(&apart.tenant, &apart.chat, tip).await?;
        let messages = nodes.into_iter().map(|node| node.message);
        let asked = then(&Path::of(apart.chat.clone(), messages), Role::User, text);
        let answered = then(&asked, Role::Assistant, "well met");
        let turn = fixture::turn(&asked, sticky(text, 9), 2);
        let id = apart.commit_turn(&asked, &turn).await?;
        let reply = fixture::reply(id, &answered, 7).ok_or("a reply")?;
        let write = apart.store.commit_reply(&apart.tenant, &apart.chat, &reply).await?;
        let Scene { store, tenant, .. } = &at_once;
        let (node, created) = (&reply.node, reply.created);
        let (stored, replied) = store.commit_answered(tenant, &asked, &turn, node, created).await?;
        assert_eq!((stored.id, replied), (id, write));
        let tip = answered.prefix();
        assert_eq!(at_once.texts(tip).await?, apart.texts(tip).await?);
    }
    for scene in [&apart, &at_once] {
        let Scene { store, tenant, chat } = scene;
        let last = scene.record().await?.last_write();
        store.take_back(tenant, chat, last, Timestamp(8)).await?;
    }
    let (one, other) = (&apart, &at_once);
    assert_eq!(one.record().await?, other.record().await?);
    assert_eq!(
        one.store.turns(&one.tenant, &one.chat).await?,
        other.store.turns(&other.tenant, &other.chat).await?
    );
    assert_eq!(
        one.store.writes(&one.tenant, &one.chat).await?,
        other.store.writes(&other.tenant, &other.chat).await?
    );
    assert_eq!(
        one.store.tree(&one.tenant, &one.chat).await?,
        other.store.tree(&other.tenant, &other.chat).await?
    );
    Ok(())
}

/// The user continues before the reply arrives.
pub async fn a_late_reply_leaves_the_tip_alone(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "late").await?;
    let asked = dialogue(&scene.chat, &["hello"]);
    let turn = scene.commit(&asked, StateDelta::default()).await?;
    let elsewhere = dialogue(&scene.chat, &["good evening"]);
    scene.commit(&elsewhere, StateDelta::default()).await?;
    let answered = then(&asked, Role::Assistant, "late");
    let reply = fixture::reply(turn, &answered, 9).ok_or("a reply")?;
    scene.store.commit_reply(&scene.tenant, &scene.chat, &reply).await?;
    let record = scene.record().await?;
    assert_eq!((record.tip, record.version), (elsewhere.prefix(), 3));
    assert_eq!(scene.texts(answered.prefix()).await?, ["hello", "late"]);
    Ok(())
}

/// The tip moves to a stored node, and to the start.
pub async fn the_tip_moves_to_any_stored_node(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "move_tip").await?;
    let Scene { store, tenant, chat } = &scene;
    let (left, right) = (dialogue(chat, &["a", "b", "c"]), dialogue(chat, &["a", "x"]));
    for path in [&left, &right] {
        scene.commit(path, StateDelta::default()).await?;
    }
    for (version, tip) in [(3, left.prefix()), (4, left.items()[0].prefix), (5, fixture::root())] {
        let now = Timestamp(40 + version);
        let seen = Some(version.unsigned_abs() - 1);
        let moved = store.move_tip(tenant, chat, tip, seen, now).await?;
        assert_eq!((moved.tip, moved.updated), (tip, now));
        assert_eq!(moved.version, version.unsigned_abs());
        assert_eq!(scene.record().await?, moved);
    }
    assert_eq!(store.chats(tenant).await?[0].messages, 0);
    let nowhere = PrefixHash(Digest([3; 16]));
    let missing = store.move_tip(tenant, chat, nowhere, None, Timestamp(1)).await.err();
    assert!(matches!(missing, Some(StoreError::NoNode { .. })), "{missing:?}");
    let stale = store.move_tip(tenant, chat, left.prefix(), Some(2), Timestamp(1)).await.err();
    assert!(matches!(stale, Some(StoreError::Conflict { found: 5, .. })), "{stale:?}");
    let stranger = store.move_tip(tenant, &"no".into(), left.prefix(), None, Timestamp(1)).await;
    assert!(matches!(stranger.err(), Some(StoreError::NoChat { .. })));
    assert_eq!((scene.record().await?.tip, scene.record().await?.version), (fixture::root(), 5));
    Ok(())
}

/// A turn of another chat or node, and a node with a wrong hash, are refused.
pub async fn a_contradiction_is_refused_and_nothing_stored(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "contradiction").await?;
    let Scene { store, tenant, chat } = &scene;
    let path = dialogue(chat, &["hello"]);
    let turn = fixture::turn(&path, StateDelta::default(), 1);
    let mut elsewhere = turn.clone();
    elsewhere.at = PrefixHash(Digest([1; 16]));
    let mut other = turn.clone();
    other.chat = ChatId::from("other");
    let zeros = "0".repeat(32);
    for (wrong, expected) in [
        (
            other,
            "a turn and its path belong to one chat, found turn of `other`, path of `harbour`"
                .to_owned(),
        ),
        (
            elsewhere,
            format!(
                "a turn is computed on the end of its path, found turn at {}, path to {}",
                zeros.replace("00", "01"),
                path.prefix()
            ),
        ),
    ] {
        let refused = store.commit_turn(tenant, &path, &wrong, None).await;
        assert_eq!(refused.err().map(|error| error.to_string()), Some(expected));
    }
    assert_eq!(scene.record().await?.version, 0);
    assert_eq!(store.tree(tenant, chat).await?, []);
    let id = scene.commit_turn(&path, &turn).await?;
    let answered = then(&path, Role::Assistant, "hi");
    let mut reply = fixture::reply(id, &answered, 1).ok_or("a reply")?;
    reply.node.prefix = PrefixHash(Digest([2; 16]));
    let refused = store.commit_reply(tenant, chat, &reply).await.err();
    assert!(matches!(refused, Some(StoreError::Contradiction { .. })), "{refused:?}");
    assert_eq!(scene.record().await?.version, 1);
    Ok(())
}

/// A writer that names an old version gets an error with the new one.
pub async fn a_stale_version_is_refused_and_nothing_stored(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "stale").await?;
    let Scene { store, tenant, chat } = &scene;
    let first = dialogue(chat, &["one"]);
    let turn = fixture::turn(&first, sticky("a", 3), 1);
    store.commit_turn(tenant, &first, &turn, Some(0)).await?;
    let second = dialogue(chat, &["two"]);
    let turn = fixture::turn(&second, sticky("b", 3), 2);
    for seen in [0, 2, u64::MAX] {
        let refused = store.commit_turn(tenant, &second, &turn, Some(seen)).await.err();
        let expected = format!("chat `harbour` is at version 1, not at {seen}");
        assert_eq!(refused.map(|error| error.to_string()), Some(expected));
    }
    let record = scene.record().await?;
    assert_eq!((record.tip, record.version), (first.prefix(), 1));
    assert_eq!(scene.store.turns(tenant, chat).await?.len(), 1);
    assert_eq!(scene.store.tree(tenant, chat).await?.len(), 1);
    store.commit_turn(tenant, &second, &turn, Some(1)).await?;
    assert_eq!(scene.record().await?.tip, second.prefix());
    Ok(())
}

/// Another handle reads everything, after the first one is closed.
pub async fn a_reopened_store_has_everything(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "reopened").await?;
    let mut path = dialogue(&scene.chat, &["hello"]);
    for number in 0..6 {
        let turn = fixture::lively_turn(&path, number, 10);
        let id = scene.commit_turn(&path, &turn).await?;
        path = then(&path, Role::Assistant, &format!("reply {number}"));
        let reply = fixture::reply(id, &path, 3).ok_or("a reply")?;
        scene.store.commit_reply(&scene.tenant, &scene.chat, &reply).await?;
        path = then(&path, Role::User, &format!("question {number}"));
    }
    let before = contents(&scene).await?;
    let Scene { store, tenant, chat } = scene;
    drop(store);
    let scene = Scene { store: opener.open().await?, tenant, chat };
    assert_eq!(contents(&scene).await?, before);
    // The story continues with a handle that has not seen its start.
    let turn = fixture::lively_turn(&path, 6, 10);
    let id = scene.commit_turn(&path, &turn).await?;
    assert_eq!(id.0, 7);
    assert_eq!(scene.store.turn(&scene.tenant, &scene.chat, id).await?, Some(turn));
    assert_eq!(scene.texts(path.prefix()).await?.len(), 13);
    Ok(())
}

/// Everything that a store returns for a chat, as text.
async fn contents(scene: &Scene) -> Result<String, Failure> {
    let Scene { store, tenant, chat } = scene;
    let record = scene.record().await?;
    let path = store.path(tenant, chat, record.tip).await?;
    let turns = store.turns(tenant, chat).await?;
    let mut records = Vec::new();
    for turn in &turns {
        records.push(store.turn(tenant, chat, turn.id).await?);
    }
    let all = (record, path, store.tree(tenant, chat).await?, turns, records);
    Ok(serde_json::to_string(&all)?)
}

/// Two tenants with chats of the same name, and the same story.
pub async fn tenants_do_not_see_each_other(opener: &dyn Opener) -> Checked {
    let store = opener.open().await?;
    let chat = ChatId::from("same");
    let path = dialogue(&chat, &["hello", "hi", "so?"]);
    let tenants = [tenant("tenant_a"), tenant("tenant_b")];
    for (tenant, title, end) in [(&tenants[0], "A", 3), (&tenants[1], "B", 4)] {
        store.open_chat(tenant, &chat, title, Timestamp(1)).await?;
        let turn = fixture::turn(&path, sticky("e", end), 2);
        assert_eq!(store.commit_turn(tenant, &path, &turn, Some(0)).await?.id.0, 1);
    }
    let branch = dialogue(&chat, &["hello", "no"]);
    let turn = fixture::turn(&branch, StateDelta::default(), 5);
    store.commit_turn(&tenants[0], &branch, &turn, None).await?;
    for (tenant, title, end, nodes, turns) in
        [(&tenants[0], "A", 3, 4, 2), (&tenants[1], "B", 4, 3, 1)]
    {
        let listed = store.chats(tenant).await?;
        assert_eq!(listed.len(), 1);
        assert_eq!((listed[0].chat.title.as_str(), listed[0].turns), (title, turns));
        assert_eq!(store.tree(tenant, &chat).await?.len(), nodes);
        let state = store.state(tenant, &path).await?;
        assert_eq!(state.sticky.values().map(|record| record.end.0).collect::<Vec<_>>(), [end]);
    }
    let stranger = store.path(&tenants[1], &chat, branch.prefix()).await.err();
    assert!(matches!(stranger, Some(StoreError::NoNode { .. })), "{stranger:?}");
    assert_eq!(store.chats(&tenant("tenant_c")).await?, []);
    Ok(())
}

/// Where a response ended is found by its id, through every handle, by its tenant only.
pub async fn responses_are_found_by_their_ids(opener: &dyn Opener) -> Checked {
    let Scene { store, tenant, chat } = Scene::new(opener, "responses").await?;
    let (path, other) = (dialogue(&chat, &["hello"]), opener.open().await?);
    let record = fixture::turn(&path, StateDelta::default(), 5);
    let version = store.commit_turn(&tenant, &path, &record, None).await?.write;
    let [first, second] =
        [path.prefix(), PrefixHash::default()].map(|at| EndedResponse { chat: chat.clone(), at });
    let id = "resp_\u{0}1 'ä'";
    assert_eq!(store.response(&tenant, id).await?, None);
    for ended in [&first, &second] {
        store.keep_response(&tenant, id, ended).await?;
        assert_eq!(other.response(&tenant, id).await?.as_ref(), Some(ended));
    }
    assert_eq!(other.response(&tenant, "resp_2").await?, None);
    let stranger = fixture::tenant("responses_stranger");
    assert_eq!(store.response(&stranger, id).await?, None);
    let refused = store.keep_response(&stranger, id, &first).await;
    assert!(matches!(refused, Err(StoreError::NoChat { .. })), "{refused:?}");
    // It is no write to the chat.
    let record = store.chat(&tenant, &chat).await?.ok_or("a chat")?;
    assert_eq!(record.version, version.0);
    Ok(())
}

/// A write is in the answer to the first question after it, however transactions overlap.
pub async fn writes_of_others_are_seen_at_the_next_look(opener: &dyn Opener) -> Checked {
    const TURNS: u64 = 20;
    let Scene { store, tenant, chat } = Scene::new(opener, "looks").await?;
    let other = opener.open().await?;
    let mut mark = store.changed_chats(&tenant, ChangeMark::default()).await?.mark;
    for turn in 1..=3 {
        let path = dialogue(&chat, &["hello"]);
        let record = fixture::turn(&path, StateDelta::default(), 5);
        other.commit_turn(&tenant, &path, &record, None).await?;
        let changed = store.changed_chats(&tenant, mark).await?;
        assert_eq!(changed.chats, [(chat.clone(), turn)]);
        mark = changed.mark;
    }
    let stranger = fixture::tenant("looks_stranger");
    assert_eq!(store.changed_chats(&stranger, ChangeMark::default()).await?.chats, []);
    let mut writers = JoinSet::new();
    for writer in 0..4_u64 {
        let store: Arc<dyn StoryStore> =
            if writer % 2 == 0 { Arc::clone(&other) as _ } else { opener.open().await? };
        let (tenant, shared) = (tenant.clone(), ChatId(format!("shared {}", writer % 2)));
        store.open_chat(&tenant, &shared, "Shared", Timestamp(1)).await?;
        writers.spawn(write_turns(store, (tenant, shared), writer, TURNS));
    }
    let mut seen = BTreeMap::new();
    while !writers.is_empty() {
        while let Some(done) = writers.try_join_next() {
            done??;
        }
        let changed = store.changed_chats(&tenant, mark).await?;
        mark = changed.mark;
        seen.extend(changed.chats);
        tokio::task::yield_now().await;
    }
    seen.extend(store.changed_chats(&tenant, mark).await?.chats);
    for summary in store.chats(&tenant).await?.into_iter().filter(|one| one.turns > 3) {
        let ChatRecord { id, version, .. } = summary.chat;
        assert_eq!(seen.get(&id), Some(&version), "{id}");
    }
    Ok(())
}

/// Four writers with two handles, into one chat and into chats of their own.
pub async fn concurrent_writers_lose_nothing(opener: &dyn Opener) -> Checked {
    const TURNS: u64 = 25;
    let scene = Scene::new(opener, "writers").await?;
    let second = opener.open().await?;
    let mut writers = JoinSet::new();
    for writer in 0..4_u64 {
        let store = if writer % 2 == 0 { Arc::clone(&scene.store) } else { Arc::clone(&second) };
        let place = (scene.tenant.clone(), scene.chat.clone());
        writers.spawn(write_turns(store, place, writer, TURNS));
    }
    while let Some(done) = writers.join_next().await {
        done??;
    }
    let Scene { store, tenant, chat } = &scene;
    let turns = store.turns(tenant, chat).await?;
    let ids: Vec<u64> = turns.iter().map(|turn| turn.id.0).collect();
    assert_eq!(ids, (1..=4 * TURNS).collect::<Vec<_>>());
    assert_eq!(scene.record().await?.version, 4 * TURNS * 2);
    assert!(turns.iter().all(|turn| turn.reply.is_some()));
    // The story of each writer is complete, in both chats.
    for writer in 0..4_u64 {
        let own = ChatId(format!("own {writer}"));
        assert_eq!(store.turns(tenant, &own).await?.len() as u64, TURNS);
        let tip = store.chat(tenant, &own).await?.ok_or("a chat")?.tip;
        let nodes = store.path(tenant, &own, tip).await?;
        assert_eq!(nodes.len() as u64, TURNS * 2);
    }
    assert_eq!(store.tree(tenant, chat).await?.len() as u64, 4 * TURNS * 2);
    Ok(())
}

async fn write_turns(
    store: Arc<dyn StoryStore>,
    (tenant, shared): (TenantId, ChatId),
    writer: u64,
    turns: u64,
) -> Checked {
    let own = ChatId(format!("own {writer}"));
    store.open_chat(&tenant, &own, "", Timestamp(1)).await?;
    for chat in [shared, own] {
        let mut path = dialogue(&chat, &[]);
        for number in 0..turns {
            path = then(&path, Role::User, &format!("writer {writer} asks {number}"));
            let turn = fixture::lively_turn(&path, number, 5);
            let id = store.commit_turn(&tenant, &path, &turn, None).await?.id;
            path = then(&path, Role::Assistant, &format!("answer {number} to {writer}"));
            let reply = fixture::reply(id, &path, 2).ok_or("a reply")?;
            store.commit_reply(&tenant, &chat, &reply).await?;
            assert_eq!(store.turn(&tenant, &chat, id).await?, Some(turn));
        }
    }
    Ok(())
}

/// Of several writers that saw the same version one wins. The others try again.
pub async fn one_of_two_writers_of_a_version_wins(opener: &dyn Opener) -> Checked {
    const EACH: u64 = 10;
    let scene = Scene::new(opener, "optimistic").await?;
    let second = opener.open().await?;
    let mut writers = JoinSet::new();
    for (writer, store) in [Arc::clone(&scene.store), second].into_iter().enumerate() {
        let (tenant, chat) = (scene.tenant.clone(), scene.chat.clone());
        writers.spawn(async move {
            let mut committed = 0;
            while committed < EACH {
                let record = store.chat(&tenant, &chat).await?.ok_or("a chat")?;
                let nodes = store.path(&tenant, &chat, record.tip).await?;
                let mut path = loreloom_core::chat::Path::of(
                    chat.clone(),
                    nodes.into_iter().map(|node| node.message),
                );
                path.push(fixture::said(Role::User, &format!("{writer} adds {committed}")));
                let turn = fixture::turn(&path, StateDelta::default(), 2);
                match store.commit_turn(&tenant, &path, &turn, Some(record.version)).await {
                    Ok(_) => committed += 1,
                    Err(StoreError::Conflict { .. }) => (),
                    Err(error) => return Err(Failure::from(error)),
                }
            }
            Ok(())
        });
    }
    while let Some(done) = writers.join_next().await {
        done??;
    }
    let record = scene.record().await?;
    assert_eq!(record.version, 2 * EACH);
    // There is one path without forks, and nothing is lost.
    assert_eq!(scene.texts(record.tip).await?.len() as u64, 2 * EACH);
    assert_eq!(scene.store.tree(&scene.tenant, &scene.chat).await?.len() as u64, 2 * EACH);
    Ok(())
}
