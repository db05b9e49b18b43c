//! Documents: values, revisions, undo, books.

#![expect(clippy::missing_panics_doc, reason = "a case asserts what it checks")]

use loreloom_core::{
    book::{Book, Entry},
    ids::TenantId,
    units::Timestamp,
};
use loreloom_ports::{Change, Changed, Item, Revision, StoreError};
use serde_json::{Value, json};

use super::{Checked, Opener, fixture::tenant};

fn put(key: &str, value: Value) -> Change {
    Change { key: key.to_owned(), value: Some(value) }
}

fn take(key: &str) -> Change {
    Change { key: key.to_owned(), value: None }
}

fn item(key: &str, value: Value, revision: u64) -> Item {
    Item { key: key.to_owned(), value, revision }
}

fn changed(key: &str, before: Option<Value>, after: Option<Value>) -> Changed {
    Changed { key: key.to_owned(), before, after }
}

/// Values are found by key, and the log has every change.
pub async fn documents_keep_values_and_every_change_of_them(opener: &dyn Opener) -> Checked {
    let (documents, tenant) =
        (opener.open().await?, tenant("documents_keep_values_and_every_change_of_them"));
    assert_eq!(documents.revision(&tenant).await?, 0);
    assert_eq!(documents.items(&tenant, "").await?, []);
    let both = [put("book/b", json!({"x": [1.50, "\u{0}é"]})), put("book/a", json!(null))];
    assert_eq!(documents.change(&tenant, &both, Some(0), Timestamp(5)).await?, 1);
    let next = [take("book/b"), put("rules", json!(7)), put("book/a", json!(null))];
    assert_eq!(documents.change(&tenant, &next, None, Timestamp(6)).await?, 2);
    assert_eq!(documents.change(&tenant, &next, None, Timestamp(7)).await?, 2, "nothing to change");
    drop(documents);
    let documents = opener.open().await?;
    assert_eq!(documents.revision(&tenant).await?, 2);
    let all = [item("book/a", json!(null), 1), item("rules", json!(7), 2)];
    assert_eq!(documents.items(&tenant, "").await?, all);
    assert_eq!(documents.items(&tenant, "book/").await?, all[..1]);
    assert_eq!(documents.items(&tenant, "book%").await?, []);
    let log = documents.revisions(&tenant, None, 10).await?;
    let second = vec![
        changed("book/b", Some(json!({"x": [1.50, "\u{0}é"]})), None),
        changed("rules", None, Some(json!(7))),
    ];
    let second = Revision { number: 2, created: Timestamp(6), undoes: None, changes: second };
    assert_eq!((log.len(), &log[0]), (2, &second));
    assert_eq!(documents.revisions(&tenant, None, 1).await?, log[..1]);
    assert_eq!(documents.revisions(&tenant, Some(2), 10).await?, log[1..]);
    Ok(())
}

/// Undo restores the previous values, and can itself be undone.
pub async fn a_change_is_undone_and_the_undoing_too(opener: &dyn Opener) -> Checked {
    let (documents, tenant) =
        (opener.open().await?, tenant("a_change_is_undone_and_the_undoing_too"));
    documents
        .change(&tenant, &[put("a", json!(1)), put("b", json!(1))], None, Timestamp(1))
        .await?;
    documents.change(&tenant, &[put("a", json!(2)), take("b")], None, Timestamp(2)).await?;
    assert_eq!(documents.undo(&tenant, 2, Timestamp(3)).await?, 3);
    let first = [item("a", json!(1), 3), item("b", json!(1), 3)];
    assert_eq!(documents.items(&tenant, "").await?, first);
    assert_eq!(documents.undo(&tenant, 3, Timestamp(4)).await?, 4);
    assert_eq!(documents.items(&tenant, "").await?, [item("a", json!(2), 4)]);
    let undone: Vec<Option<u64>> =
        documents.revisions(&tenant, None, 9).await?.iter().map(|one| one.undoes).collect();
    assert_eq!(undone, [Some(3), Some(2), None, None]);
    let unknown = documents.undo(&tenant, 9, Timestamp(5)).await;
    assert!(matches!(unknown, Err(StoreError::NoRevision { revision: 9 })), "{unknown:?}");
    Ok(())
}

/// Undo never loses later changes.
pub async fn what_was_changed_again_is_not_undone(opener: &dyn Opener) -> Checked {
    let (documents, tenant) =
        (opener.open().await?, tenant("what_was_changed_again_is_not_undone"));
    for value in 1..4 {
        documents.change(&tenant, &[put("a", json!(value))], None, Timestamp(value)).await?;
    }
    let refused = documents.undo(&tenant, 2, Timestamp(9)).await;
    let Err(StoreError::ChangedSince { revision: 2, key, by: 3 }) = refused else {
        return Err(format!("{refused:?}").into());
    };
    assert_eq!(key, "a");
    assert_eq!(documents.items(&tenant, "").await?, [item("a", json!(3), 3)]);
    assert_eq!(documents.undo(&tenant, 3, Timestamp(10)).await?, 4);
    assert_eq!(documents.undo(&tenant, 2, Timestamp(11)).await?, 5);
    assert_eq!(documents.items(&tenant, "").await?, [item("a", json!(1), 5)]);
    Ok(())
}

/// Of writers that saw the same revision one wins. The others get an error.
pub async fn one_of_two_who_saw_a_revision_wins(opener: &dyn Opener) -> Checked {
    let tenant = tenant("one_of_two_who_saw_a_revision_wins");
    let mut writers = tokio::task::JoinSet::new();
    for value in 0..6 {
        let (documents, tenant) = (opener.open().await?, tenant.clone());
        writers.spawn(async move {
            documents.change(&tenant, &[put("a", json!(value))], Some(0), Timestamp(1)).await
        });
    }
    let mut won = 0;
    while let Some(written) = writers.join_next().await {
        match written? {
            Ok(1) => won += 1,
            Err(StoreError::Outdated { expected: 0, found: 1 }) => (),
            other => return Err(format!("{other:?}").into()),
        }
    }
    assert_eq!(won, 1);
    Ok(())
}

/// A book is found by the hash of its content.
pub async fn books_are_kept_by_what_they_say(opener: &dyn Opener) -> Checked {
    let (documents, tenant) = (opener.open().await?, tenant("books_are_kept_by_what_they_say"));
    let mut book = Book::new("b", "Bells");
    for at in 0..300 {
        let mut entry = Entry::new(format!("b/{at}"));
        entry.content = format!("Bell {at} is cracked. \u{0}");
        book.entries.push(entry);
    }
    let first = documents.keep_book(&tenant, &book).await?;
    assert_eq!(documents.keep_book(&tenant, &book).await?, first);
    let mut edited = book.clone();
    edited.entries[7].content.clear();
    let second = documents.keep_book(&tenant, &edited).await?;
    assert_ne!(first, second);
    drop(documents);
    let documents = opener.open().await?;
    assert_eq!(documents.book(&tenant, first).await?, Some(book));
    assert_eq!(documents.book(&tenant, second).await?, Some(edited));
    assert_eq!(documents.book(&tenant, loreloom_core::ids::BookVersion::default()).await?, None);
    Ok(())
}

/// A file is found by the hash of its bytes, also if it is empty or looks like something else.
pub async fn files_are_kept_by_their_bytes(opener: &dyn Opener) -> Checked {
    let (documents, tenant) = (opener.open().await?, tenant("files_are_kept_by_their_bytes"));
    let picture: Vec<u8> = (0..70_000_u32).map(|at| (at.wrapping_mul(at) % 251) as u8).collect();
    let files: [&[u8]; 4] = [&picture, b"", b"\0\xff\0", b"{\"head\":{},\"runs\":[]}"];
    let mut versions = Vec::new();
    for file in files {
        let version = documents.keep_file(&tenant, file).await?;
        assert_eq!(documents.keep_file(&tenant, file).await?, version);
        versions.push(version);
    }
    drop(documents);
    let documents = opener.open().await?;
    for (file, version) in files.iter().zip(&versions) {
        assert_eq!(documents.file(&tenant, *version).await?.as_deref(), Some(*file));
    }
    assert_eq!(documents.file(&tenant, loreloom_core::ids::FileVersion::default()).await?, None);
    assert_eq!(documents.file(&TenantId::from("somebody else"), versions[0]).await?, None);
    Ok(())
}

/// A tenant does not see documents of another.
pub async fn documents_of_tenants_are_apart(opener: &dyn Opener) -> Checked {
    let (documents, mine) = (opener.open().await?, tenant("documents_of_tenants_are_apart"));
    let other = TenantId::from("somebody else");
    documents.change(&mine, &[put("a", json!(1))], None, Timestamp(1)).await?;
    let kept = documents.keep_book(&mine, &Book::new("b", "B")).await?;
    assert_eq!(documents.items(&other, "").await?, []);
    assert_eq!(documents.revision(&other).await?, 0);
    assert_eq!(documents.revisions(&other, None, 9).await?, []);
    assert_eq!(documents.book(&other, kept).await?, None);
    Ok(())
}
