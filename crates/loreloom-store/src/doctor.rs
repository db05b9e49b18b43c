//! Looking for damage. The doctor reads and reports; it never changes or deletes anything.

use std::fmt;

use loreloom_core::{
    chat::identity::{extend, message_id, without_speaker},
    ids::{ChatId, LibraryVersion, MessageId, PrefixHash, TenantId},
};
use loreloom_ports::{Node, StoreError, StoryStore, TurnRecord};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The chat, where it concerns one.
    pub chat: Option<ChatId>,
    /// What was looked at.
    pub what: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(chat) = &self.chat {
            write!(formatter, "chat `{chat}`: ")?;
        }
        write!(formatter, "{}: {}", self.what, self.reason)
    }
}

/// Examines all chats of a tenant, in any store: every hash is computed again, every turn is
/// read, every reference is followed.
///
/// Fails only if the store cannot be asked at all.
pub async fn examine(
    store: &dyn StoryStore,
    tenant: &TenantId,
) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    for summary in store.chats(tenant).await? {
        let mut chat = Examined {
            id: summary.chat.id.clone(),
            libraries: FxHashSet::default(),
            findings: Vec::new(),
        };
        chat.examine(store, tenant, summary.chat.tip).await?;
        findings.append(&mut chat.findings);
    }
    Ok(findings)
}

struct Examined {
    id: ChatId,
    /// Those that were looked at already.
    libraries: FxHashSet<LibraryVersion>,
    findings: Vec<Finding>,
}

impl Examined {
    fn find(&mut self, what: impl Into<String>, reason: impl fmt::Display) {
        let (chat, what, reason) = (Some(self.id.clone()), what.into(), reason.to_string());
        self.findings.push(Finding { chat, what, reason });
    }

    async fn examine(
        &mut self,
        store: &dyn StoryStore,
        tenant: &TenantId,
        tip: PrefixHash,
    ) -> Result<(), StoreError> {
        let nodes = match store.tree(tenant, &self.id).await {
            Ok(nodes) => nodes,
            Err(error) => {
                self.find("tree", spelled(&error));
                Vec::new()
            }
        };
        let known = self.tree(&nodes);
        let is_known =
            |node: PrefixHash| node == PrefixHash::default() || known.contains_key(&node);
        if !is_known(tip) {
            self.find("tip", format!("node {tip} is missing"));
        }
        let turns = match store.turns(tenant, &self.id).await {
            Ok(turns) => turns,
            Err(error) => {
                self.find("turns", spelled(&error));
                Vec::new()
            }
        };
        let mut due = 1;
        for turn in &turns {
            let what = format!("turn {}", turn.id.0);
            for missing in due..turn.id.0.min(due + 1000) {
                self.find(format!("turn {missing}"), "it is missing");
            }
            due = turn.id.0 + 1;
            for node in [Some(turn.at), turn.reply].into_iter().flatten() {
                if !is_known(node) {
                    self.find(&what, format!("node {node} is missing"));
                }
            }
            match store.turn(tenant, &self.id, turn.id).await {
                Ok(Some(record)) => self.library(store, tenant, &what, &record).await,
                Ok(None) => self.find(&what, "its record is missing"),
                Err(error) => self.find(&what, spelled(&error)),
            }
        }
        Ok(())
    }

    /// A turn that says what it was given also needs its books to be decided again.
    async fn library(
        &mut self,
        store: &dyn StoryStore,
        tenant: &TenantId,
        what: &str,
        turn: &TurnRecord,
    ) {
        if turn.given.is_none() || !self.libraries.insert(turn.library) {
            return;
        }
        let library = format!("library {}", turn.library);
        match store.library(tenant, turn.library).await {
            Ok(Some(found)) if found.version() == turn.library => (),
            Ok(Some(found)) => {
                let reason = format!("its books and rules are those of {}", found.version());
                self.find(library, reason);
            }
            Ok(None) => self.find(what, format!("{library} is missing")),
            Err(error) => self.find(library, spelled(&error)),
        }
    }

    /// Computes every id and hash again, in the order parents before children.
    fn tree(&mut self, nodes: &[Node]) -> FxHashMap<PrefixHash, usize> {
        let mut places: FxHashMap<PrefixHash, usize> = FxHashMap::default();
        let mut firsts: Vec<(Option<usize>, MessageId)> = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            let what = format!("node {}", node.prefix);
            let parent = places.get(&node.parent).copied();
            if parent.is_none() && node.parent != PrefixHash::default() {
                self.find(&what, format!("its parent {} is missing", node.parent));
            }
            if extend(node.parent, node.message_id) != node.prefix {
                self.find(&what, "its hash does not follow from its parent and message id");
            }
            let said = without_speaker(&node.message.text, node.message.name.as_deref());
            let id = |times| message_id(&self.id, node.message.role, said, times);
            firsts.push((parent, id(0)));
            if node.message_id != id(occurrences(&firsts, at)) {
                self.find(&what, "its message id does not follow from what it says");
            }
            places.insert(node.prefix, at);
        }
        places
    }
}

/// How often the same was said before on the path to `at`.
fn occurrences(firsts: &[(Option<usize>, MessageId)], at: usize) -> u32 {
    let (mut above, said) = firsts[at];
    let mut times = 0;
    while let Some(place) = above {
        times += u32::from(firsts[place].1 == said);
        above = firsts[place].0;
    }
    times
}

/// An error with its causes.
pub(crate) fn spelled(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
