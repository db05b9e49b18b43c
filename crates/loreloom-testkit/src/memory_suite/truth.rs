//! Branch truth: what is remembered on a path depends on that path alone.
//!
//! Chats change by random actions, and jobs run at random times. After each action a visible
//! memory must come from a message on the path.

use loreloom_core::{
    chat::{Path, Role},
    ids::ChatId,
};

use super::{
    KeeperOpener, fixture,
    harness::{MemoryHarness, options},
};
use crate::store_suite::{
    Checked,
    machine::{ChatAction, FrontEndChat, Step},
};

/// The secrets in the messages of a path. The last reply counts: it is not read while it may still
/// be swiped, but memories from an earlier reading show again when the reply comes back.
fn secrets_in(path: &Path) -> Vec<u32> {
    let words = path.items().iter().flat_map(|item| item.message.text.split_whitespace());
    let mut found: Vec<u32> = words
        .filter_map(|word| word.trim_matches(['.', ',']).strip_prefix("secret")?.parse().ok())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The numbers of the secrets in a text.
fn numbers(text: &str) -> Vec<u32> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter_map(|word| word.strip_prefix("secret")?.parse().ok()).collect()
}

/// The chat with a secret in every message; the text decides its number.
fn with_secrets(front_end: &FrontEndChat, chat: &ChatId) -> Path {
    let messages = front_end.messages.iter().cloned().map(|mut message| {
        let sum = message.text.bytes().map(u32::from).sum::<u32>();
        let role = u32::from(message.role == Role::Assistant);
        message.text = format!("{} It is secret{}.", message.text, sum * 2 + role).into();
        message
    });
    Path::of(chat.clone(), messages)
}

/// Does the actions. After each, jobs run or do not, and what is visible is checked.
pub async fn run(opener: &dyn KeeperOpener, actions: &[(ChatAction, bool)]) -> Checked {
    let tenant = fixture::tenant();
    let mut options = options(&tenant, 1);
    options.settings.state_ledger_enabled = true;
    let harness = MemoryHarness::of(opener.keeper().await?, tenant, options);
    let chat = ChatId::from("story");
    let mut front_end = FrontEndChat::default();
    let mut paths: Vec<Path> = Vec::new();
    for (action, works) in actions {
        if let Step::Turn(_, Some(text)) = front_end.act(action) {
            front_end.messages.push(FrontEndChat::reply(text));
        }
        front_end.past.push(front_end.messages.clone());
        let path = with_secrets(&front_end, &chat);
        harness.commit(&path).await?;
        harness.queue(&path, "Torvald").await?;
        if *works {
            harness.run_all().await?;
        }
        check(&harness, &path).await?;
        paths.push(path);
    }
    harness.run_all().await?;
    for path in &paths {
        check(&harness, path).await?;
    }
    alone(opener, &harness, paths.last()).await
}

/// Nothing is visible that is not on the path.
async fn check(harness: &MemoryHarness, path: &Path) -> Checked {
    let secrets = secrets_in(path);
    let (character, session) = harness.secrets(path, "Torvald").await?;
    for number in character.iter().chain(&session) {
        assert!(secrets.contains(number), "secret{number} is visible, the path has {secrets:?}");
    }
    // Nor is anything in the prompt: threads, state cards, recalled passages.
    let seen_from = path.items().len();
    let turn = harness.turn(path.items(), path.chat(), "Torvald", seen_from).await?;
    for text in turn.slots.iter().map(|slot| slot.text.as_str()) {
        for number in numbers(text) {
            assert!(
                secrets.contains(&number),
                "secret{number} is in the prompt, the path has {secrets:?}: {text}"
            );
        }
    }
    Ok(())
}

/// Another store that only ever had the last path has no memory that is not on it, either.
async fn alone(opener: &dyn KeeperOpener, harness: &MemoryHarness, path: Option<&Path>) -> Checked {
    let Some(path) = path else { return Ok(()) };
    let other = MemoryHarness::new(opener.keeper().await?);
    other.commit(path).await?;
    other.queue(path, "Torvald").await?;
    other.run_all().await?;
    let secrets = secrets_in(path);
    for harness in [harness, &other] {
        let (character, _) = harness.secrets(path, "Torvald").await?;
        assert!(character.iter().all(|number| secrets.contains(number)));
    }
    Ok(())
}
