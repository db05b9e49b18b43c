//! The behaviours, one function each. Each case has its own tenant.

#![expect(clippy::missing_panics_doc, reason = "a case asserts what it checks")]

use std::sync::Arc;

use loreloom_core::{
    chat::{Message, Path, Role},
    ids::{ChatId, Digest, PrefixHash, TenantId},
    prompt::PromptMessage,
    report::Span,
    state::{StateDelta, StoryState},
    units::{Timestamp, Tokens},
};
use loreloom_ports::{ChatRecord, StoreError, StoryStore, TurnId, TurnRecord};

use super::{
    Checked, Failure, Opener,
    fixture::{self, dialogue, root, said, tenant},
};
pub use super::{
    cases_documents::{
        a_change_is_undone_and_the_undoing_too, books_are_kept_by_what_they_say,
        documents_keep_values_and_every_change_of_them, documents_of_tenants_are_apart,
        files_are_kept_by_their_bytes, one_of_two_who_saw_a_revision_wins,
        what_was_changed_again_is_not_undone,
    },
    cases_replay::{
        a_path_without_turns_is_stored_and_becomes_the_tip, a_turn_keeps_its_input,
        libraries_are_kept_once_and_read_back_to_the_byte,
    },
    cases_tree::{
        a_branch_does_not_touch_the_story_it_left, a_change_by_hand_leaves_the_tip_alone,
        a_quiet_turn_leaves_no_state, a_state_follows_what_others_write,
        an_edit_far_back_keeps_the_state_of_what_follows, swipes_are_siblings,
        the_exact_prefix_counts_before_the_message, the_tree_lists_parents_before_children,
        the_turns_of_a_round_each_keep_their_own, two_greetings_are_two_roots,
    },
    cases_undo::{
        a_trimmed_turn_keeps_what_it_needs, a_write_that_others_build_on_is_not_taken_back,
        every_kind_of_write_is_taken_back_and_done_again, unused_books_go_only_when_asked_for,
    },
    cases_write::{
        a_contradiction_is_refused_and_nothing_stored, a_late_reply_leaves_the_tip_alone,
        a_reopened_store_has_everything, a_reply_extends_the_story,
        a_stale_version_is_refused_and_nothing_stored, a_turn_with_its_reply_is_both_of_them,
        concurrent_writers_lose_nothing, one_of_two_writers_of_a_version_wins,
        responses_are_found_by_their_ids, tenants_do_not_see_each_other,
        the_tip_moves_to_any_stored_node, writes_of_others_are_seen_at_the_next_look,
    },
};

/// A store, a tenant and a chat that is open.
pub(super) struct Scene {
    pub(super) store: Arc<dyn StoryStore>,
    pub(super) tenant: TenantId,
    pub(super) chat: ChatId,
}

impl Scene {
    pub(super) async fn new(opener: &dyn Opener, case: &str) -> Result<Self, Failure> {
        let store = opener.open().await?;
        let (tenant, chat) = (tenant(case), ChatId::from("harbour"));
        store.open_chat(&tenant, &chat, "The harbour", Timestamp(1)).await?;
        Ok(Self { store, tenant, chat })
    }

    pub(super) async fn record(&self) -> Result<ChatRecord, Failure> {
        let record = self.store.chat(&self.tenant, &self.chat).await?;
        record.ok_or_else(|| format!("chat `{}` is gone", self.chat).into())
    }

    pub(super) async fn commit(&self, path: &Path, delta: StateDelta) -> Result<TurnId, Failure> {
        Ok(self.commit_turn(path, &fixture::turn(path, delta, 2)).await?)
    }

    pub(super) async fn commit_turn(
        &self,
        path: &Path,
        turn: &TurnRecord,
    ) -> Result<TurnId, StoreError> {
        Ok(self.store.commit_turn(&self.tenant, path, turn, None).await?.id)
    }

    pub(super) async fn state(&self, path: &Path) -> Result<StoryState, Failure> {
        Ok(self.store.state(&self.tenant, path).await?)
    }

    /// The entries that are sticky on a path, with their ends.
    pub(super) async fn sticky(&self, path: &Path) -> Result<Vec<(String, u32)>, Failure> {
        let state = self.state(path).await?;
        Ok(state.sticky.iter().map(|(id, record)| (id.0.clone(), record.end.0)).collect())
    }

    pub(super) async fn texts(&self, tip: PrefixHash) -> Result<Vec<String>, Failure> {
        let nodes = self.store.path(&self.tenant, &self.chat, tip).await?;
        Ok(nodes.into_iter().map(|node| node.message.text.into()).collect())
    }

    pub(super) async fn stored(&self, turn: TurnId) -> Result<TurnRecord, Failure> {
        let stored = self.store.turn(&self.tenant, &self.chat, turn).await?;
        stored.ok_or_else(|| format!("turn {} is gone", turn.0).into())
    }
}

/// Opening a chat again returns the stored one.
pub async fn a_chat_is_made_once(opener: &dyn Opener) -> Checked {
    let store = opener.open().await?;
    let (tenant, chat) = (tenant("made_once"), ChatId::from("c"));
    assert_eq!(store.chat(&tenant, &chat).await?, None);
    let first = store.open_chat(&tenant, &chat, "First", Timestamp(5)).await?;
    let expected = ChatRecord {
        id: chat.clone(),
        title: "First".to_owned(),
        tip: root(),
        created: Timestamp(5),
        updated: Timestamp(5),
        version: 0,
    };
    assert_eq!(first, expected);
    assert_eq!(store.open_chat(&tenant, &chat, "Second", Timestamp(9)).await?, expected);
    assert_eq!(store.chat(&tenant, &chat).await?, Some(expected));
    Ok(())
}

/// A chat without messages reads as empty.
pub async fn an_empty_chat_has_no_path_and_no_state(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "empty").await?;
    let Scene { store, tenant, chat } = &scene;
    assert_eq!(store.path(tenant, chat, root()).await?, []);
    assert_eq!(store.tree(tenant, chat).await?, []);
    assert_eq!(store.turns(tenant, chat).await?, []);
    assert_eq!(scene.state(&Path::new(chat.clone())).await?, StoryState::default());
    let listed = store.chats(tenant).await?;
    assert_eq!((listed[0].messages, listed[0].turns), (0, 0));
    // A turn may be computed without messages, for a greeting.
    let empty = Path::new(chat.clone());
    scene.commit(&empty, fixture::sticky("a", 3)).await?;
    assert_eq!(scene.sticky(&empty).await?, [("a".to_owned(), 3)]);
    assert_eq!(scene.sticky(&dialogue(chat, &["hello"])).await?, [("a".to_owned(), 3)]);
    Ok(())
}

/// Every error names the missing chat.
pub async fn an_unknown_chat_is_an_error(opener: &dyn Opener) -> Checked {
    let store = opener.open().await?;
    let (tenant, chat) = (tenant("unknown"), ChatId::from("nowhere"));
    let path = dialogue(&chat, &["hello", "hi"]);
    let turn = fixture::turn(&path, StateDelta::default(), 1);
    let reply = fixture::reply(TurnId(1), &path, 1).ok_or("a reply")?;
    let errors = [
        store.commit_turn(&tenant, &path, &turn, None).await.err(),
        store.commit_reply(&tenant, &chat, &reply).await.err(),
        store.path(&tenant, &chat, path.prefix()).await.err(),
        store.tree(&tenant, &chat).await.err(),
        store.state(&tenant, &path).await.err(),
        store.turns(&tenant, &chat).await.err(),
        store.turn(&tenant, &chat, TurnId(1)).await.err(),
    ];
    for error in errors {
        let error = error.map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("there is no chat `nowhere`"));
    }
    assert_eq!(store.chat(&tenant, &chat).await?, None);
    assert_eq!(store.chats(&tenant).await?, []);
    Ok(())
}

/// Errors name missing nodes and turns.
pub async fn unknown_nodes_and_turns_are_errors(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "unknown_nodes").await?;
    let Scene { store, tenant, chat } = &scene;
    let path = dialogue(chat, &["hello", "hi", "and?", "so."]);
    let missing = store.path(tenant, chat, PrefixHash(Digest([9; 16]))).await.err();
    assert!(matches!(missing, Some(StoreError::NoNode { .. })), "{missing:?}");
    for turn in [0, 1, u64::MAX] {
        assert_eq!(store.turn(tenant, chat, TurnId(turn)).await?, None, "turn {turn}");
        let reply = fixture::reply(TurnId(turn), &path, 1).ok_or("a reply")?;
        let error = store.commit_reply(tenant, chat, &reply).await.err();
        let found = error.map(|error| error.to_string());
        assert_eq!(found, Some(format!("chat `harbour` has no turn {turn}")));
    }
    let turn = scene.commit(&dialogue(chat, &["hello"]), StateDelta::default()).await?;
    let reply = fixture::reply(turn, &path, 1).ok_or("a reply")?;
    let orphan = store.commit_reply(tenant, chat, &reply).await.err();
    assert!(matches!(orphan, Some(StoreError::NoNode { .. })), "{orphan:?}");
    assert_eq!(scene.record().await?.version, 1);
    assert_eq!(store.tree(tenant, chat).await?.len(), 1);
    Ok(())
}

/// The list is sorted by the last change, and has counts.
pub async fn chats_are_listed_last_changed_first(opener: &dyn Opener) -> Checked {
    let store = opener.open().await?;
    let tenant = tenant("listed");
    for (id, now) in [("a", 10), ("b", 30), ("d", 20), ("c", 20)] {
        store.open_chat(&tenant, &id.into(), id, Timestamp(now)).await?;
    }
    let path = dialogue(&"a".into(), &["one", "two", "three"]);
    for now in [40, 50] {
        let turn = fixture::turn(&path, StateDelta::default(), now);
        store.commit_turn(&tenant, &path, &turn, None).await?;
    }
    let listed: Vec<_> = store
        .chats(&tenant)
        .await?
        .into_iter()
        .map(|line| (line.chat.id.0, line.chat.updated.0, line.messages, line.turns))
        .collect();
    let line = |id: &str, updated, messages, turns| (id.to_owned(), updated, messages, turns);
    let expected =
        [line("a", 50, 3, 2), line("b", 30, 0, 0), line("c", 20, 0, 0), line("d", 20, 0, 0)];
    assert_eq!(listed, expected);
    Ok(())
}

/// Turns with full reports and prompts, on a growing and branching story.
pub async fn a_turn_reads_back_to_the_byte(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "byte_exact").await?;
    let mut path = Path::new(scene.chat.clone());
    let mut given = Vec::new();
    for number in 0..12 {
        path.push(said(Role::User, &fixture::prose(number, 30)));
        let turn = fixture::lively_turn(&path, number, 30);
        given.push((scene.commit_turn(&path, &turn).await?, turn));
        path.push(said(Role::Assistant, &fixture::prose(number + 1000, 80)));
    }
    let ids: Vec<u64> = given.iter().map(|(id, _)| id.0).collect();
    assert_eq!(ids, (1..=12).collect::<Vec<_>>());
    for (id, turn) in given {
        let stored = scene.stored(id).await?;
        assert_eq!(stored, turn);
        assert_eq!(serde_json::to_string(&stored)?, serde_json::to_string(&turn)?);
    }
    Ok(())
}

/// Prompts that repeat the story in every form, or not at all.
pub async fn prompts_of_every_shape_read_back_to_the_byte(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "prompt_shapes").await?;
    let path =
        dialogue(&scene.chat, &["Yes.", "Yes.", "Yes.", "A longer answer, to be found.", ""]);
    let message = |role, name: Option<&str>, content: &str| PromptMessage {
        role,
        name: name.map(str::to_owned),
        content: content.into(),
    };
    let (user, assistant) = (Role::User, Role::Assistant);
    let spoken = "Torvald: A longer answer, to be found.";
    let around = "<< A longer answer, to be found. >> and more than twenty-four bytes after";
    let shapes = [
        vec![],
        fixture::history(&path),
        fixture::history(&path).into_iter().rev().collect(),
        vec![message(user, Some("Mira"), "Yes."), message(assistant, Some("Torvald"), "Yes.")],
        vec![message(user, Some("Ana"), "Yes."), message(assistant, None, "Torvald: Yes.")],
        vec![message(assistant, None, spoken), message(assistant, Some("Torvald"), spoken)],
        vec![message(assistant, Some("Other"), spoken), message(user, None, spoken)],
        vec![message(Role::Tool, None, "Yes."), message(Role::System, Some(""), "")],
        vec![message(Role::System, None, around), message(user, None, "Mira: Yes.")],
        vec![message(user, None, ": Yes."), message(user, Some(""), "Yes.")],
    ];
    // Spans are hints: nonsense must not change what is stored.
    let source = loreloom_core::place::Provenance::AuthorsNote;
    let span = |message, start, end| Span {
        source: source.clone(),
        message,
        start,
        end,
        tokens: Tokens(1),
    };
    let spans = vec![
        span(0, 3, 32),
        span(0, 5, 4),
        span(0, 20, 9999),
        span(99, 0, 1),
        span(1, usize::MAX, 0),
    ];
    for prompt in shapes {
        let mut turn = fixture::turn(&path, StateDelta::default(), 1);
        turn.prompt = prompt;
        turn.report.spans.clone_from(&spans);
        let id = scene.commit_turn(&path, &turn).await?;
        assert_eq!(scene.stored(id).await?, turn);
    }
    Ok(())
}

/// Any text a person may write, the character NUL included.
pub async fn text_of_every_script_reads_back_to_the_byte(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "scripts").await?;
    let texts = [
        "Привет, Мира",
        "港に行こう",
        "สวัสดี",
        "İstanbul’da ışık",
        "e\u{301} é",
        "👩‍👩‍👧",
        "a\0b",
        "\u{feff}bom",
        "\r\n\t",
        "\u{202e}rtl",
        "'; DROP TABLE chats; --",
        "",
        " ",
    ];
    let path = dialogue(&scene.chat, &texts);
    let mut turn = fixture::turn(&path, fixture::sticky("запись\0", 3), 1);
    turn.prompt.push(PromptMessage {
        role: Role::System,
        name: Some("имя\0".to_owned()),
        content: texts.concat().repeat(3).into(),
    });
    // A span that cuts a character in half.
    turn.report.spans = (0..40)
        .map(|at| Span {
            source: loreloom_core::place::Provenance::Memory("слот".to_owned()),
            message: texts.len(),
            start: at,
            end: at + 5,
            tokens: Tokens(1),
        })
        .collect();
    let id = scene.commit_turn(&path, &turn).await?;
    assert_eq!(scene.texts(path.prefix()).await?, texts);
    assert_eq!(scene.stored(id).await?, turn);
    let chat = ChatId::from("глава/1 'x'");
    let title = "Заголовок \u{1f30a}\0";
    scene.store.open_chat(&scene.tenant, &chat, title, Timestamp(i64::MIN)).await?;
    let record = scene.store.chat(&scene.tenant, &chat).await?.ok_or("a chat")?;
    assert_eq!((record.title.as_str(), record.created.0), (title, i64::MIN));
    Ok(())
}

/// Name, hidden flag and extensions belong to the node.
pub async fn messages_keep_name_hidden_and_extensions(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "extensions").await?;
    let mut first = Message::new(Role::System, Some(""), "note");
    first.hidden = true;
    let extensions = r#"{"z":1,"a":{"swipes":["x",null,1e+300,0.1,-0.0]},"send_date":"ää"}"#;
    first.extensions = serde_json::from_str(extensions)?;
    let second = Message::new(Role::Tool, None, "Tool: result");
    let path = Path::of(scene.chat.clone(), [first.clone(), second.clone()]);
    scene.commit(&path, StateDelta::default()).await?;
    let nodes = scene.store.path(&scene.tenant, &scene.chat, path.prefix()).await?;
    let messages: Vec<_> = nodes.iter().map(|node| node.message.clone()).collect();
    assert_eq!(messages, [first, second]);
    assert_eq!(serde_json::to_string(&messages[0].extensions)?, extensions);
    let ids: Vec<_> = nodes.iter().map(|node| (node.prefix, node.message_id)).collect();
    let given: Vec<_> = path.items().iter().map(|item| (item.prefix, item.id)).collect();
    assert_eq!(ids, given);
    assert_eq!(nodes[1].parent, nodes[0].prefix);
    Ok(())
}

/// Another name makes no new nodes, and the new prompt is still exact.
pub async fn a_renamed_persona_keeps_the_stored_nodes(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "renamed").await?;
    let named = |name: &str, spoken: bool| {
        let text = |text: &str| if spoken { format!("{name}: {text}") } else { text.to_owned() };
        let message = |said: &&str| Message::new(Role::User, Some(name), text(said));
        Path::of(scene.chat.clone(), ["I wait.", "I go."].iter().map(message))
    };
    let before = named("Mira", false);
    scene.commit(&before, StateDelta::default()).await?;
    for renamed in [named("Ana", true), named("Ana", false), named("Eve", true)] {
        assert_eq!(renamed.prefix(), before.prefix());
        let turn = fixture::turn(&renamed, StateDelta::default(), 3);
        let id = scene.commit_turn(&renamed, &turn).await?;
        assert_eq!(scene.stored(id).await?, turn);
    }
    let nodes = scene.store.path(&scene.tenant, &scene.chat, before.prefix()).await?;
    let names: Vec<_> = nodes.iter().filter_map(|node| node.message.name.as_deref()).collect();
    assert_eq!(names, ["Mira", "Mira"]);
    assert_eq!(scene.store.tree(&scene.tenant, &scene.chat).await?.len(), 2);
    Ok(())
}
