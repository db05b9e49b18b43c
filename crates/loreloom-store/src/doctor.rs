//! Looking for damage. The doctor reads and reports. It never changes anything.

use std::fmt;

use loreloom_core::{
    chat::identity::{extend, message_id, without_speaker},
    ids::{ChatId, LibraryVersion, MessageId, PrefixHash, TenantId},
};
use loreloom_ports::{Node, StoreError, StoryStore, TurnRecord};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::errors::with_causes;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamageFinding {
    /// The chat, if it is in one.
    pub chat: Option<ChatId>,
    /// The part that is damaged.
    pub what: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for DamageFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(chat) = &self.chat {
            write!(formatter, "chat `{chat}`: ")?;
        }
        write!(formatter, "{}: {}", self.what, self.reason)
    }
}

/// Examines all chats of a tenant, in any store: computes every hash again, reads every turn,
/// follows every reference.
///
/// Fails only if the store does not answer.
pub async fn examine(
    store: &dyn StoryStore,
    tenant: &TenantId,
) -> Result<Vec<DamageFinding>, StoreError> {
    let mut findings = Vec::new();
    for summary in store.chats(tenant).await? {
        let mut chat = ChatExamination {
            id: summary.chat.id.clone(),
            libraries: FxHashSet::default(),
            findings: Vec::new(),
        };
        chat.examine(store, tenant, summary.chat.tip).await?;
        findings.append(&mut chat.findings);
    }
    Ok(findings)
}

struct ChatExamination {
    id: ChatId,
    /// Libraries examined so far.
    libraries: FxHashSet<LibraryVersion>,
    findings: Vec<DamageFinding>,
}

impl ChatExamination {
    fn find(&mut self, what: impl Into<String>, reason: impl fmt::Display) {
        let (chat, what, reason) = (Some(self.id.clone()), what.into(), reason.to_string());
        self.findings.push(DamageFinding { chat, what, reason });
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
                self.find("tree", with_causes(&error));
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
                self.find("turns", with_causes(&error));
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
                Err(error) => self.find(&what, with_causes(&error)),
            }
        }
        Ok(())
    }

    /// A turn with its input also needs its books, to be decided again.
    async fn library(
        &mut self,
        store: &dyn StoryStore,
        tenant: &TenantId,
        what: &str,
        turn: &TurnRecord,
    ) {
        if turn.input.is_none() || !self.libraries.insert(turn.library) {
            return;
        }
        let library = format!("library {}", turn.library);
        match store.library(tenant, turn.library).await {
            Ok(Some(found)) if found.version() == turn.library => (),
            Ok(Some(found)) => {
                let reason = format!("its content has version {}", found.version());
                self.find(library, reason);
            }
            Ok(None) => self.find(what, format!("{library} is missing")),
            Err(error) => self.find(library, with_causes(&error)),
        }
    }

    /// Computes every id and hash again, parents before children.
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
            let text = without_speaker(&node.message.text, node.message.name.as_deref());
            let id = |times| message_id(&self.id, node.message.role, text, times);
            firsts.push((parent, id(0)));
            if node.message_id != id(occurrences(&firsts, at)) {
                self.find(&what, "its message id does not follow from its text");
            }
            places.insert(node.prefix, at);
        }
        places
    }
}

/// How often the same text occurs earlier on the path to `at`.
fn occurrences(firsts: &[(Option<usize>, MessageId)], at: usize) -> u32 {
    let (mut above, same) = firsts[at];
    let mut times = 0;
    while let Some(place) = above {
        times += u32::from(firsts[place].1 == same);
        above = firsts[place].0;
    }
    times
}
