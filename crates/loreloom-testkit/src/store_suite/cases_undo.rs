//! Undoing writes, and trimming old turns.

#![expect(clippy::missing_panics_doc, reason = "a case asserts what it checks")]

use std::sync::Arc;

use loreloom_core::{
    book::Book,
    chat::Role,
    ids::{ChatId, PrefixHash, TenantId},
    library::LibrarySource,
    rules::Rules,
    state::StateDelta,
    units::Timestamp,
};
use loreloom_ports::history::archive;
use loreloom_ports::{Retention, StoreError, TurnId, WriteId, WriteKind};

use super::{
    Checked, Failure, Opener,
    cases::Scene,
    fixture::{self, dialogue, root, then},
};

impl Scene {
    async fn undo(&self, write: u64) -> Result<PrefixHash, StoreError> {
        let undone = self.store.take_back(&self.tenant, &self.chat, WriteId(write), Timestamp(50));
        Ok(undone.await?.tip)
    }

    async fn replies(&self) -> Result<Vec<(bool, Option<PrefixHash>)>, Failure> {
        let turns = self.store.turns(&self.tenant, &self.chat).await?;
        Ok(turns.into_iter().map(|turn| (turn.undone, turn.reply)).collect())
    }
}

/// Turns, replies, paths and moves are undone and redone. Nothing is deleted.
pub async fn every_kind_of_write_is_taken_back_and_done_again(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "undo").await?;
    let (store, tenant, chat) = (&scene.store, &scene.tenant, &scene.chat);
    let asked = dialogue(chat, &["hello"]);
    let answered = then(&asked, Role::Assistant, "yes");
    let longer = then(&answered, Role::User, "and?");
    let turn = fixture::turn(&asked, fixture::sticky("a", 9), 2);
    let turn = store.commit_turn(tenant, &asked, &turn, None).await?;
    let reply = fixture::reply(turn.id, &answered, 3).ok_or("a reply")?;
    let replied = store.commit_reply(tenant, chat, &reply).await?;
    let path = store.commit_path(tenant, &longer, None, Timestamp(4)).await?.last_write();
    let moved =
        store.move_tip(tenant, chat, asked.prefix(), None, Timestamp(5)).await?.last_write();
    assert_eq!([turn.write.0, replied.0, path.0, moved.0], [1, 2, 3, 4]);
    // Back, one by one: writes 5, 6, 7 and 8.
    for (write, tip) in
        [(4, longer.prefix()), (3, answered.prefix()), (2, asked.prefix()), (1, root())]
    {
        assert_eq!(scene.undo(write).await?, tip, "write {write}");
    }
    assert_eq!(scene.replies().await?, [(true, None)]);
    assert_eq!(scene.sticky(&longer).await?, []);
    assert_eq!(store.tree(tenant, chat).await?.len(), 3);
    assert!(store.turn(tenant, chat, turn.id).await?.is_some());
    // And redone, the last undone one first.
    for (write, tip) in [(8, asked.prefix()), (7, answered.prefix()), (6, longer.prefix())] {
        assert_eq!(scene.undo(write).await?, tip, "write {write}");
    }
    assert_eq!(scene.replies().await?, [(false, Some(answered.prefix()))]);
    assert_eq!(scene.sticky(&longer).await?, [("a".to_owned(), 9)]);
    let again = opener.open().await?;
    let log = again.writes(tenant, chat).await?;
    let undoes: Vec<_> = log.iter().map(|write| write.undoes.map(|other| other.0)).collect();
    assert_eq!(
        undoes,
        [None, None, None, None, Some(4), Some(3), Some(2), Some(1), Some(8), Some(7), Some(6)]
    );
    assert_eq!((log[0].kind, log[7].kind), (WriteKind::Turn(turn.id), WriteKind::Turn(turn.id)));
    assert_eq!(scene.record().await?.version, 11);
    Ok(())
}

/// A refusal names the write to undo first, and changes nothing.
pub async fn a_write_that_others_build_on_is_not_taken_back(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "built_upon").await?;
    let asked = dialogue(&scene.chat, &["hello"]);
    scene.commit(&asked, fixture::sticky("a", 9)).await?;
    scene.commit(&then(&asked, Role::Assistant, "yes"), StateDelta::default()).await?;
    for (write, expected) in [
        (
            1,
            "write 1 of chat `harbour` cannot be taken back: write 2 came after it and builds on \
             it; take that back first",
        ),
        (0, "chat `harbour` has no write 0 that could be taken back"),
        (3, "chat `harbour` has no write 3 that could be taken back"),
    ] {
        let refused = scene.undo(write).await.err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some(expected));
    }
    assert_eq!(scene.record().await?.version, 2);
    scene.undo(2).await?;
    let twice = scene.undo(2).await.err().map(|error| error.to_string());
    assert_eq!(twice.as_deref(), Some("write 2 of chat `harbour` was taken back already"));
    // A new write ends redoing.
    scene.commit(&asked, StateDelta::default()).await?;
    assert!(matches!(scene.undo(3).await, Err(StoreError::TakenBack { .. })));
    let nowhere = ChatId::from("nowhere");
    let unknown = scene.store.take_back(&scene.tenant, &nowhere, WriteId(1), Timestamp(0)).await;
    assert!(matches!(unknown, Err(StoreError::NoChat { .. })), "{unknown:?}");
    Ok(())
}

/// Prompts and verdicts of old turns go. Messages, state and inputs stay.
pub async fn a_trimmed_turn_keeps_what_it_needs(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "trimmed").await?;
    let (store, tenant, chat) = (&scene.store, &scene.tenant, &scene.chat);
    let mut path = dialogue(chat, &["hello"]);
    let mut turns = Vec::new();
    for number in 0..4 {
        let mut turn = fixture::lively_turn(&path, number, 20);
        turn.created = Timestamp(i64::try_from(number)?);
        turn.input = Some(Box::default());
        let id = scene.commit_turn(&path, &turn).await?;
        turns.push((id, turn));
        path = then(&path, Role::Assistant, &format!("reply {number}"));
    }
    let state = scene.state(&path).await?;
    let since = Some(Timestamp(3));
    let dry = Retention { newest: Some(2), since, dry_run: true, ..Retention::default() };
    let nothing =
        store.retain(tenant, &Retention { dry_run: true, ..Retention::default() }).await?;
    assert_eq!(nothing.turns, 0);
    let planned = store.retain(tenant, &dry).await?;
    assert_eq!(planned.turns, 2);
    for (id, turn) in &turns {
        assert_eq!(&scene.stored(*id).await?, turn);
    }
    let done = store.retain(tenant, &Retention { dry_run: false, ..dry }).await?;
    assert_eq!(done, planned);
    let trimmed: Vec<bool> =
        store.turns(tenant, chat).await?.iter().map(|turn| turn.trimmed).collect();
    assert_eq!(trimmed, [true, true, false, false]);
    for (id, turn) in &turns {
        let stored = scene.stored(*id).await?;
        if id.0 > 2 {
            assert_eq!(&stored, turn);
            continue;
        }
        assert_eq!((stored.prompt.len(), stored.report.verdicts.len()), (0, 0));
        assert_eq!(stored.report.facts, turn.report.facts);
        assert_eq!((&stored.delta, stored.library), (&turn.delta, turn.library));
        assert_eq!((&stored.input, stored.answers), (&turn.input, turn.answers));
    }
    assert_eq!(scene.state(&path).await?, state);
    assert_eq!(store.retain(tenant, &dry).await?.turns, 0);
    let elsewhere = TenantId(format!("{tenant} elsewhere"));
    let archive = archive::export(store.as_ref(), tenant, chat).await?;
    archive::import(store.as_ref(), &elsewhere, &archive).await?;
    assert_eq!(archive::export(store.as_ref(), &elsewhere, chat).await?.turns, archive.turns);
    let unknown = store.trim(tenant, chat, &[TurnId(3), TurnId(5)]).await;
    assert!(matches!(unknown, Err(StoreError::NoTurn { turn: TurnId(5), .. })), "{unknown:?}");
    store.trim(tenant, chat, &[TurnId(3)]).await?;
    let trimmed: Vec<bool> =
        store.turns(tenant, chat).await?.iter().map(|turn| turn.trimmed).collect();
    assert_eq!(trimmed, [true, true, true, false]);
    assert_eq!(scene.state(&path).await?, state);
    Ok(())
}

/// Libraries without turns go, but only on request.
pub async fn unused_books_go_only_when_asked_for(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "unused_books").await?;
    let (store, tenant) = (&scene.store, &scene.tenant);
    let book =
        |name: &str| LibrarySource::world_info([Arc::new(Book::new(name, name))], Rules::default());
    let (used, unused) = (book("used"), book("unused"));
    for library in [&used, &unused] {
        store.keep_library(tenant, library.version(), library).await?;
    }
    let path = dialogue(&scene.chat, &["hello"]);
    let mut turn = fixture::turn(&path, StateDelta::default(), 2);
    turn.library = used.version();
    scene.commit_turn(&path, &turn).await?;
    let keep = Retention { newest: Some(0), ..Retention::default() };
    assert_eq!(store.retain(tenant, &keep).await?.libraries, 0);
    let drop = Retention { unused_libraries: true, ..keep };
    assert_eq!(store.retain(tenant, &drop).await?.libraries, 1);
    assert_eq!(store.library(tenant, used.version()).await?, Some(used));
    assert_eq!(store.library(tenant, unused.version()).await?, None);
    Ok(())
}
