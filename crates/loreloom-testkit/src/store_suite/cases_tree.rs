//! Swipes, edits, branches, and the state they see.

#![expect(clippy::missing_panics_doc, reason = "a case asserts what it checks")]

use loreloom_core::{
    chat::{GenerationType, Role},
    state::StateDelta,
    units::Timestamp,
};
use loreloom_ports::TurnRecord;

use super::{
    Checked, Opener,
    cases::Scene,
    fixture::{self, dialogue, root, sticky, then},
};

fn ends(pairs: &[(&str, u32)]) -> Vec<(String, u32)> {
    pairs.iter().map(|&(id, end)| (id.to_owned(), end)).collect()
}

/// Two replies to one message are siblings.
pub async fn swipes_are_siblings(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "swipes").await?;
    let Scene { store, tenant, chat } = &scene;
    let asked = dialogue(chat, &["hello"]);
    let mut replies = Vec::new();
    for (text, end) in [("first", 3), ("second", 4), ("third", 5)] {
        let turn = scene.commit(&asked, sticky("a", end)).await?;
        let answered = then(&asked, Role::Assistant, text);
        let reply = fixture::reply(turn, &answered, 3).ok_or("a reply")?;
        store.commit_reply(tenant, chat, &reply).await?;
        assert_eq!(scene.record().await?.tip, answered.prefix());
        assert_eq!(scene.sticky(&answered).await?, ends(&[("a", end)]));
        replies.push(answered);
    }
    for (answered, text) in replies.iter().zip(["first", "second", "third"]) {
        assert_eq!(scene.texts(answered.prefix()).await?, ["hello", text]);
        // The state is that of the message answered: the last turn on it.
        assert_eq!(scene.sticky(answered).await?, ends(&[("a", 5)]));
    }
    let parents: Vec<_> = store.tree(tenant, chat).await?.iter().map(|node| node.parent).collect();
    assert_eq!(parents, [root(), asked.prefix(), asked.prefix(), asked.prefix()]);
    let turns = store.turns(tenant, chat).await?;
    let replied: Vec<_> = turns.iter().map(|turn| turn.reply).collect();
    let expected: Vec<_> = replies.iter().map(|path| Some(path.prefix())).collect();
    assert_eq!(replied, expected);
    Ok(())
}

/// Editing message 1 of 41 keeps the effects of later turns.
pub async fn an_edit_far_back_keeps_the_state_of_what_follows(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "edit").await?;
    let texts: Vec<String> = (0..41).map(|number| format!("message {number}")).collect();
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for count in (1_u32..=41).step_by(2) {
        let path = dialogue(&scene.chat, &texts[..count as usize]);
        scene.commit(&path, sticky(&format!("e{}", count % 3), count)).await?;
    }
    let before = dialogue(&scene.chat, &texts);
    let expected = ends(&[("e0", 39), ("e1", 37), ("e2", 41)]);
    assert_eq!(scene.sticky(&before).await?, expected);
    texts[0] = "edited";
    let after = dialogue(&scene.chat, &texts);
    assert_ne!(after.prefix(), before.prefix());
    assert_eq!(scene.sticky(&after).await?, expected, "before the edit is stored");
    let next = then(&then(&after, Role::Assistant, "yes"), Role::User, "on");
    scene.commit(&next, sticky("new", 50)).await?;
    assert_eq!(scene.sticky(&after).await?, expected);
    let with_new = ends(&[("e0", 39), ("e1", 37), ("e2", 41), ("new", 50)]);
    assert_eq!(scene.sticky(&next).await?, with_new);
    assert_eq!(scene.texts(next.prefix()).await?.len(), 43);
    assert_eq!(scene.texts(next.prefix()).await?[0], "edited");
    assert_eq!(scene.texts(before.prefix()).await?[0], "message 0");
    // The edited message leaves nothing behind.
    let only = dialogue(&scene.chat, &["edited"]);
    assert_eq!(scene.sticky(&only).await?, []);
    Ok(())
}

/// The same message on two branches: each branch has its own turn.
pub async fn the_exact_prefix_counts_before_the_message(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "exact").await?;
    let left = dialogue(&scene.chat, &["left", "ok", "go"]);
    let right = dialogue(&scene.chat, &["right", "ok", "go"]);
    scene.commit(&left, sticky("left", 3)).await?;
    scene.commit(&right, sticky("right", 3)).await?;
    assert_eq!(scene.sticky(&left).await?, ends(&[("left", 3)]));
    assert_eq!(scene.sticky(&right).await?, ends(&[("right", 3)]));
    let third = dialogue(&scene.chat, &["third", "ok", "go"]);
    assert_eq!(scene.sticky(&third).await?, ends(&[("right", 3)]), "the last turn on the message");
    // A turn that changes nothing still counts, and removals undo.
    scene.commit(&left, StateDelta::default()).await?;
    assert_eq!(scene.sticky(&left).await?, []);
    let mut removal = StateDelta::default();
    removal.sticky.insert("right".into(), None);
    let further = then(&then(&right, Role::Assistant, "there"), Role::User, "stop");
    scene.commit(&further, removal).await?;
    assert_eq!(scene.sticky(&further).await?, []);
    assert_eq!(scene.sticky(&right).await?, ends(&[("right", 3)]));
    Ok(())
}

/// In a group two characters answer one message; an edit must not mix up their turns.
pub async fn the_turns_of_a_round_each_keep_their_own(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "round").await?;
    let round = |first: &str| {
        let asked = dialogue(&scene.chat, &[first, "mm", "everyone?"]);
        let one = then(&asked, Role::Assistant, "Torvald here");
        (asked, one)
    };
    let (asked, one) = round("begin");
    scene.commit(&asked, sticky("torvald", 5)).await?;
    scene.commit(&one, sticky("ysolde", 5)).await?;
    let expected = ends(&[("torvald", 5), ("ysolde", 5)]);
    assert_eq!(scene.sticky(&one).await?, expected);
    let (asked, one) = round("edited");
    assert_eq!(scene.sticky(&one).await?, expected);
    assert_eq!(scene.sticky(&asked).await?, ends(&[("torvald", 5)]));
    Ok(())
}

/// A background generation does not replace the turn on the same message.
pub async fn a_quiet_turn_leaves_no_state(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "quiet").await?;
    let path = dialogue(&scene.chat, &["hello"]);
    scene.commit(&path, sticky("a", 3)).await?;
    let mut quiet = fixture::turn(&path, sticky("b", 9), 4);
    quiet.generation = GenerationType::Quiet;
    scene.commit_turn(&path, &quiet).await?;
    assert_eq!(scene.sticky(&path).await?, ends(&[("a", 3)]));
    let kinds: Vec<_> = scene
        .store
        .turns(&scene.tenant, &scene.chat)
        .await?
        .iter()
        .map(|turn| turn.generation)
        .collect();
    assert_eq!(kinds, [GenerationType::Normal, GenerationType::Quiet]);
    Ok(())
}

/// A state is read again after any write to the chat.
pub async fn a_state_follows_what_others_write(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "others").await?;
    let other = opener.open().await?;
    let path = dialogue(&scene.chat, &["hello"]);
    for end in [3, 5] {
        let turn = fixture::turn(&path, sticky("a", end), 4);
        other.commit_turn(&scene.tenant, &path, &turn, None).await?;
        for _again in 0..2 {
            assert_eq!(scene.sticky(&path).await?, ends(&[("a", end)]));
        }
    }
    let last = scene.record().await?.last_write();
    other.take_back(&scene.tenant, &scene.chat, last, Timestamp(5)).await?;
    assert_eq!(scene.sticky(&path).await?, ends(&[("a", 3)]));
    Ok(())
}

/// A change by hand far back counts on the path to the tip, which stays. So does the next change,
/// and its undo.
pub async fn a_change_by_hand_leaves_the_tip_alone(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "by_hand").await?;
    let path = dialogue(&scene.chat, &["one", "two", "three", "four", "five"]);
    scene.commit(&path, sticky("a", 3)).await?;
    let back = dialogue(&scene.chat, &["one", "two", "three", "four"]);
    for end in [7, 9] {
        scene.commit_turn(&back, &TurnRecord::edit(&back, sticky("b", end), Timestamp(4))).await?;
        assert_eq!(scene.record().await?.tip, path.prefix());
        assert_eq!(scene.sticky(&path).await?, ends(&[("a", 3), ("b", end)]));
    }
    let last = scene.record().await?.last_write();
    let undone = scene.store.take_back(&scene.tenant, &scene.chat, last, Timestamp(5)).await?;
    assert_eq!(undone.tip, path.prefix());
    assert_eq!(scene.sticky(&path).await?, ends(&[("a", 3), ("b", 7)]));
    // Also on a path without turns: its nodes are stored, and the tip stays.
    let aside = dialogue(&scene.chat, &["one", "zwei"]);
    scene.commit_turn(&aside, &TurnRecord::edit(&aside, sticky("c", 9), Timestamp(6))).await?;
    assert_eq!(scene.record().await?.tip, path.prefix());
    assert_eq!(scene.texts(aside.prefix()).await?, ["one", "zwei"]);
    Ok(())
}

/// Going back, continuing differently, and returning.
pub async fn a_branch_does_not_touch_the_story_it_left(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "branch").await?;
    let texts = ["one", "two", "three", "four", "five"];
    for count in [1, 3, 5] {
        let path = dialogue(&scene.chat, &texts[..count]);
        scene.commit(&path, sticky(texts[count - 1], 9)).await?;
    }
    let trunk = dialogue(&scene.chat, &texts);
    let nodes = scene.store.path(&scene.tenant, &scene.chat, trunk.prefix()).await?;
    let branch = dialogue(&scene.chat, &["one", "two", "drei", "vier", "fünf"]);
    scene.commit(&branch, sticky("fünf", 9)).await?;
    assert_eq!(scene.record().await?.tip, branch.prefix());
    assert_eq!(scene.sticky(&branch).await?, ends(&[("fünf", 9), ("one", 9)]));
    assert_eq!(scene.store.path(&scene.tenant, &scene.chat, trunk.prefix()).await?, nodes);
    assert_eq!(scene.sticky(&trunk).await?, ends(&[("five", 9), ("one", 9), ("three", 9)]));
    let returned = then(&then(&trunk, Role::Assistant, "six"), Role::User, "seven");
    scene.commit(&returned, StateDelta::default()).await?;
    assert_eq!(scene.record().await?.tip, returned.prefix());
    let texts = scene.texts(returned.prefix()).await?;
    assert_eq!(texts, ["one", "two", "three", "four", "five", "six", "seven"]);
    assert_eq!(scene.texts(branch.prefix()).await?, ["one", "two", "drei", "vier", "fünf"]);
    Ok(())
}

/// A chat may have several first messages.
pub async fn two_greetings_are_two_roots(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "roots").await?;
    let paths = ["good morning", "good evening", "good night"]
        .map(|greeting| dialogue(&scene.chat, &[greeting, "hi"]));
    for path in &paths {
        scene.commit(path, StateDelta::default()).await?;
    }
    for (path, greeting) in paths.iter().zip(["good morning", "good evening", "good night"]) {
        assert_eq!(scene.texts(path.prefix()).await?, [greeting, "hi"]);
    }
    let tree = scene.store.tree(&scene.tenant, &scene.chat).await?;
    assert_eq!(tree.iter().filter(|node| node.parent == root()).count(), 3);
    Ok(())
}

/// The order of writes does not matter.
pub async fn the_tree_lists_parents_before_children(opener: &dyn Opener) -> Checked {
    let scene = Scene::new(opener, "tree").await?;
    let stories: [&[&str]; 5] = [
        &["a", "b", "c", "d"],
        &["a", "x", "c", "d"],
        &["a", "b", "y", "d", "e"],
        &["a", "x", "z"],
        &["a", "b", "c", "d", "e"],
    ];
    for texts in stories {
        scene.commit(&dialogue(&scene.chat, texts), StateDelta::default()).await?;
    }
    let tree = scene.store.tree(&scene.tenant, &scene.chat).await?;
    assert_eq!(tree.len(), 12);
    let mut seen = vec![root()];
    for node in &tree {
        assert!(seen.contains(&node.parent), "{} comes before its parent", node.message.text);
        assert!(!seen.contains(&node.prefix), "{} is listed twice", node.message.text);
        seen.push(node.prefix);
    }
    for texts in stories {
        let tip = dialogue(&scene.chat, texts).prefix();
        assert_eq!(scene.texts(tip).await?, texts);
        let path = scene.store.path(&scene.tenant, &scene.chat, tip).await?;
        for node in path {
            assert!(tree.contains(&node), "{} differs in the tree", node.message.text);
        }
    }
    Ok(())
}
