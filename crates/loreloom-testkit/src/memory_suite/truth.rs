//! Branch truth: what is remembered on a path depends on that path alone.
//!
//! Stories are told with random deeds, jobs run whenever they like, and after each deed
//! what is visible must be what the path itself bears out.

use loreloom_core::{
    chat::{Path, Role},
    ids::ChatId,
};

use super::{
    KeeperOpener, fixture,
    mind::{Mind, options},
};
use crate::store_suite::{
    Checked,
    machine::{Deed, Step, Telling},
};

/// The secrets whose messages are told on a path; a reply that may still be swiped has told
/// none, but what was drawn from it before may show once it stands again.
fn told(path: &Path) -> Vec<u32> {
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

/// The telling with a secret in every message: its number follows from the text.
fn with_secrets(telling: &Telling, chat: &ChatId) -> Path {
    let messages = telling.messages.iter().cloned().map(|mut message| {
        let sum = message.text.bytes().map(u32::from).sum::<u32>();
        let role = u32::from(message.role == Role::Assistant);
        message.text = format!("{} It is secret{}.", message.text, sum * 2 + role).into();
        message
    });
    Path::of(chat.clone(), messages)
}

/// Carries out deeds; after each, jobs run or not, and what shows is checked.
pub async fn run(opener: &dyn KeeperOpener, deeds: &[(Deed, bool)]) -> Checked {
    let tenant = fixture::tenant();
    let mut options = options(&tenant, 1);
    options.settings.state_ledger_enabled = true;
    let mind = Mind::of(opener.keeper().await?, tenant, options);
    let chat = ChatId::from("story");
    let mut telling = Telling::default();
    let mut paths: Vec<Path> = Vec::new();
    for (deed, works) in deeds {
        if let Step::Turn(_, Some(text)) = telling.act(deed) {
            telling.messages.push(Telling::reply(text));
        }
        telling.past.push(telling.messages.clone());
        let path = with_secrets(&telling, &chat);
        mind.tell(&path).await?;
        mind.queue(&path, "Torvald").await?;
        if *works {
            mind.run_all().await?;
        }
        check(&mind, &path).await?;
        paths.push(path);
    }
    mind.run_all().await?;
    for path in &paths {
        check(&mind, path).await?;
    }
    alone(opener, &mind, paths.last()).await
}

/// Nothing shows that the path does not tell.
async fn check(mind: &Mind, path: &Path) -> Checked {
    let told = told(path);
    let (character, session) = mind.secrets(path, "Torvald").await?;
    for number in character.iter().chain(&session) {
        assert!(told.contains(number), "secret{number} shows, told are {told:?}");
    }
    // Nor does anything that goes into a prompt: threads, state cards, recalled passages.
    let seen_from = path.items().len();
    let turn = mind.turn(path.items(), path.chat(), "Torvald", seen_from).await?;
    for text in turn.slots.iter().map(|slot| slot.text.as_str()) {
        for number in numbers(text) {
            assert!(told.contains(&number), "secret{number} is put in, told are {told:?}: {text}");
        }
    }
    Ok(())
}

/// Another tenant that tells only the last path, reply by reply, must at least not
/// contradict: whatever both draw from the same settled messages is the same.
async fn alone(opener: &dyn KeeperOpener, mind: &Mind, path: Option<&Path>) -> Checked {
    let Some(path) = path else { return Ok(()) };
    let other = Mind::new(opener.keeper().await?);
    other.tell(path).await?;
    other.queue(path, "Torvald").await?;
    other.run_all().await?;
    let told = told(path);
    for mind in [mind, &other] {
        let (character, _) = mind.secrets(path, "Torvald").await?;
        assert!(character.iter().all(|number| told.contains(number)));
    }
    Ok(())
}
