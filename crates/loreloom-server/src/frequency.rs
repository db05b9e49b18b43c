//! How often the keys of an entry occur in the stored chats.
//!
//! Each message is scanned alone, with the same probes as `preview`: the answer comes from the
//! engine, not from a second matcher. A message on several branches counts once. The work is
//! limited by the amount of text, newest chats first, not by time, so that the same chats give the
//! same answer.

use loreloom_core::{
    book::Entry,
    chat::Text,
    ids::{ChatId, MessageId, TenantId},
    library::Dialect,
    rules::Rules,
};
use loreloom_ports::{StoreError, StoryStore};
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::preview::Probes;

/// The most text that is looked at, in bytes.
pub(crate) const MOST_TEXT: usize = 8 << 20;
/// What a message costs beside its text: a turn is decided on it.
const MESSAGE: usize = 256;
/// What an expression costs that was given up on.
const TOO_SLOW: usize = 64 << 10;

/// How often a key is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct KeyFrequency {
    /// The key.
    pub(crate) key: String,
    /// Messages it is found in.
    pub(crate) messages: usize,
    /// Chats it is found in.
    pub(crate) chats: usize,
}

/// How often keys are found in the stored chats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct Frequency {
    /// The entry's keys, first and second.
    pub(crate) keys: Vec<KeyFrequency>,
    /// Messages that were looked at, on all branches.
    pub(crate) messages: usize,
    /// Chats that were looked at, newest first.
    pub(crate) chats: usize,
    /// Whether that is all there is. If not, the bound of work was reached and older messages
    /// were left out.
    pub(crate) complete: bool,
}

/// Counts, chat by chat.
pub(crate) struct KeyCount {
    probes: Probes,
    rules: Rules,
    /// What the user and the character are called.
    names: (String, String),
    left: usize,
    found: Frequency,
}

impl KeyCount {
    /// The keys of an entry, to be looked for in as much text as `most` bytes.
    pub(crate) fn of(
        entry: &Entry,
        dialect: Dialect,
        rules: &Rules,
        names: (String, String),
        most: usize,
    ) -> Self {
        let keys = Probes::keys(entry).map(|key| KeyFrequency {
            key: key.raw().to_owned(),
            messages: 0,
            chats: 0,
        });
        let found = Frequency { keys: keys.collect(), messages: 0, chats: 0, complete: true };
        let probes = Probes::of(entry, dialect, rules);
        Self { probes, rules: rules.clone(), names, left: most, found }
    }

    /// Looks at chats in this order, as far as the work is bounded.
    pub(crate) async fn look_at(
        mut self,
        store: &dyn StoryStore,
        tenant: &TenantId,
        chats: &[ChatId],
    ) -> Result<Frequency, StoreError> {
        for chat in chats {
            if !self.found.complete {
                break;
            }
            let nodes = store.tree(tenant, chat).await?;
            let texts = nodes.into_iter().map(|node| (node.message_id, node.message.text));
            let texts: Vec<(MessageId, Text)> = texts.collect();
            let working = tokio::task::spawn_blocking(move || {
                self.look_through(&texts);
                self
            });
            self = working.await.map_err(|error| StoreError::Damaged {
                what: format!("chat `{chat}`"),
                reason: error.to_string(),
            })?;
        }
        Ok(self.found)
    }

    /// Looks at the messages of one chat, the newest first.
    fn look_through(&mut self, texts: &[(MessageId, Text)]) {
        let names = (self.names.0.as_str(), self.names.1.as_str());
        let mut seen: FxHashSet<MessageId> = FxHashSet::default();
        let mut here = vec![false; self.found.keys.len()];
        let before = self.found.messages;
        for (id, text) in texts.iter().rev() {
            if !seen.insert(*id) {
                continue;
            }
            let Some(left) = self.left.checked_sub(MESSAGE + text.len()) else {
                self.found.complete = false;
                break;
            };
            let looked = self.probes.look(&self.rules, names, text);
            self.left = left.saturating_sub(TOO_SLOW * looked.too_slow);
            self.found.messages += 1;
            for at in looked.found {
                self.found.keys[at].messages += 1;
                here[at] = true;
            }
        }
        self.found.chats += usize::from(self.found.messages > before);
        for (key, here) in self.found.keys.iter_mut().zip(here) {
            key.chats += usize::from(here);
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        book::Key,
        chat::{Role, identity::message_id},
    };

    use super::*;

    fn counted(most: usize, texts: &[&str]) -> Frequency {
        let mut entry = Entry::new("b/0");
        entry.activation.keys = ["bell", "/ropes?/"].map(Key::parse).to_vec();
        let names = ("Wren".to_owned(), "Mira".to_owned());
        let rules = Rules::default();
        let mut counting = KeyCount::of(&entry, Dialect::WorldInfo, &rules, names, most);
        let chat = ChatId::from("inn");
        let texts: Vec<(MessageId, Text)> = texts
            .iter()
            .map(|text| (message_id(&chat, Role::User, text, 0), Text::from(*text)))
            .collect();
        counting.look_through(&texts);
        counting.found
    }

    fn key(key: &str, messages: usize, chats: usize) -> KeyFrequency {
        KeyFrequency { key: key.to_owned(), messages, chats }
    }

    #[test]
    fn a_message_counts_once_however_often_it_has_the_key_or_stands_there() {
        let found =
            counted(MOST_TEXT, &["Bell and bell.", "A rope.", "Nothing.", "Bell and bell."]);
        let keys = vec![key("bell", 1, 1), key("/ropes?/", 1, 1)];
        assert_eq!(found, Frequency { keys, messages: 3, chats: 1, complete: true });
    }

    #[test]
    fn the_newest_messages_are_looked_at_and_the_answer_says_if_older_were_not() {
        let texts = ["The bell.", "The rope."];
        let keys = vec![key("bell", 0, 0), key("/ropes?/", 1, 1)];
        let found = counted(MESSAGE + 9, &texts);
        assert_eq!(found, Frequency { keys, messages: 1, chats: 1, complete: false });
        assert!(counted(2 * (MESSAGE + 9), &texts).complete);
        let nothing = counted(MESSAGE, &texts);
        assert_eq!((nothing.messages, nothing.chats, nothing.complete), (0, 0, false));
    }
}
