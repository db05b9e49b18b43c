//! What deciding a turn again needs: paths, inputs and libraries.

#![expect(clippy::missing_panics_doc, reason = "a case asserts what it checks")]

use std::sync::Arc;

use loreloom_core::{
    assemble::{Layout, Marker, Seams},
    book::{Book, Entry, Key},
    cache_placement::Arrangement,
    chat::{GenerationType, Path, Role, Voices},
    ids::{Digest, LibraryVersion, PrefixHash},
    library::LibrarySource,
    rules::Profile,
    state::StateDelta,
    turn::{CardTexts, Forced, ScannedPrompt, Selection, Speaker, TurnInput, VaultContext},
    units::{Timestamp, Tokens},
};
use loreloom_ports::StoreError;

use super::{
    Checked, Opener,
    cases::Scene,
    fixture::{self, dialogue, prose, then},
};

/// An imported chat has messages and no turns.
pub async fn a_path_without_turns_is_stored_and_becomes_the_tip(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "paths").await?;
    let (store, tenant, chat) = (&scene.store, &scene.tenant, &scene.chat);
    let story = dialogue(chat, &["hello", "yes", "and?"]);
    let swiped = then(&dialogue(chat, &["hello"]), Role::Assistant, "no");
    for (version, path) in [(1, &swiped), (2, &story), (3, &swiped), (4, &Path::new(chat.clone()))]
    {
        let record = store.commit_path(tenant, path, Some(version - 1), Timestamp(7)).await?;
        assert_eq!((record.tip, record.version), (path.prefix(), version));
        assert_eq!(record, scene.record().await?);
        assert_eq!(scene.texts(path.prefix()).await?.len(), path.items().len());
    }
    assert_eq!(store.tree(tenant, chat).await?.len(), 4);
    assert_eq!(store.turns(tenant, chat).await?, []);
    let stale = store.commit_path(tenant, &story, Some(1), Timestamp(8)).await;
    assert!(matches!(stale, Err(StoreError::Conflict { expected: 1, found: 4, .. })), "{stale:?}");
    scene.commit(&story, fixture::sticky("a", 3)).await?;
    assert_eq!(scene.sticky(&story).await?, [("a".to_owned(), 3)]);
    Ok(())
}

fn input(path: &Path) -> TurnInput {
    TurnInput {
        generation: GenerationType::Swipe,
        context: Tokens(4096),
        context_stated: true,
        reply_tokens: Tokens(300),
        lore_room: Some(Tokens(900)),
        scripts_elsewhere: true,
        seed: 9,
        at: Some(Timestamp(1_700)),
        group: Some("Crew".to_owned()),
        user: "Mira".to_owned(),
        speaker: Some(Speaker {
            name: "Torvald".to_owned(),
            filter_name: Some("torvald".to_owned()),
            tags: Some(vec!["old".to_owned()]),
        }),
        card: CardTexts { description: prose(3, 200), ..CardTexts::default() },
        card_block: prose(4, 100),
        shown: vec!["b/1".into()],
        carried: loreloom_core::state::StateDelta::default(),
        prompts: vec![ScannedPrompt { name: "note".to_owned(), text: prose(4, 20) }],
        forced: vec![Forced { entry: "b/0".into(), instead: Some(Arc::new(Entry::new("b/0"))) }],
        attachments: Some(Vec::new()),
        dry_run: true,
        greeting: Some(1),
        user_icon: Some("lantern".to_owned()),
        text_completion: true,
        template: Some("ChatML".to_owned()),
        near: Vec::new(),
        vault_context: Some(VaultContext {
            folders: vec!["People".to_owned()],
            ..VaultContext::default()
        }),
        selection: Some(Selection::Failed { reason: "timed out".to_owned() }),
        macros: [("model".to_owned(), "gpt-4o".to_owned())].into(),
        voices: Voices::of(path),
        connection: Some("cloud".into()),
        model: Some("gpt-4o".to_owned()),
        arrangement: Some(Arrangement { before: 3, ..Arrangement::default() }),
        suspended_keys: vec![r"/(a+)\1/".to_owned()],
        seams: Seams {
            inserted: vec![0],
            layout: Some(Layout::default()),
            markers: vec![Marker { message: 1, start: 0, end: 4, text: "{{x}}".to_owned() }],
        },
    }
}

/// A turn's input reads back, whether it is long, short or missing.
pub async fn a_turn_keeps_its_input(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "input").await?;
    let mut path = dialogue(&scene.chat, &["hello"]);
    for input in [None, Some(input(&path)), Some(TurnInput::default()), Some(input(&path))] {
        let mut turn = fixture::turn(&path, StateDelta::default(), 2);
        turn.input = input.map(Box::new);
        let id = scene.commit_turn(&path, &turn).await?;
        let stored = scene.store.turn(&scene.tenant, &scene.chat, id).await?;
        assert_eq!(stored.as_ref(), Some(&turn));
        path = then(&path, Role::Assistant, "go on");
    }
    Ok(())
}

fn library(content: &str) -> LibrarySource {
    let mut book = Book::new("harbour", "The harbour");
    let mut entry = Entry::new("harbour/0");
    entry.activation.keys = vec![Key::parse("bell"), Key::parse("/tower\\d/i")];
    entry.activation.probability = Some(0.1 + 0.2);
    content.clone_into(&mut entry.content);
    book.entries.push(entry);
    LibrarySource::world_info([Arc::new(book)], Profile::SillyTavern119.rules())
}

/// Libraries are found by version, for each tenant.
pub async fn libraries_are_kept_once_and_read_back_to_the_byte(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "libraries").await?;
    let (store, tenant) = (&scene.store, &scene.tenant);
    let (old, new) = (library("The bell is cracked."), library(&prose(1, 900)));
    for one in [&old, &new, &old] {
        store.keep_library(tenant, one.version(), one).await?;
    }
    let again = opener.open().await?;
    for one in [&old, &new] {
        let read = again.library(tenant, one.version()).await?.ok_or("the library")?;
        assert_eq!(&read, one);
        assert_eq!(read.version(), one.version());
        assert_eq!(store.library(&"another tenant".into(), one.version()).await?, None);
    }
    let unknown = LibraryVersion(Digest([9; 16]));
    assert_eq!(store.library(tenant, unknown).await?, None);
    let refused = store.keep_library(tenant, unknown, &old).await;
    assert!(matches!(refused, Err(StoreError::Contradiction { .. })), "{refused:?}");
    assert_eq!(store.library(tenant, unknown).await?, None);
    assert_eq!(scene.record().await?.tip, PrefixHash::default());
    Ok(())
}
