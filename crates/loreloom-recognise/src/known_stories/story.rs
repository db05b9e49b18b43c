//! One chat: its tree of messages, and what its prompts have shown.

use rustc_hash::FxHashMap;

use crate::{GivenNames, few::Few, recent::Recent, text::TextKey, window::Window};
use loreloom_core::{
    chat::{Message, Role, Text},
    ids::ChatId,
};

/// A message's place in its chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeAt(pub(crate) usize);

/// One chat.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) id: ChatId,
    /// When it was added; 0 for the empty place of a forgotten chat.
    pub(crate) born: u64,
    /// The id its front end knows it by.
    pub(crate) bound: Option<String>,
    pub(crate) nodes: Vec<StoryNode>,
    pub(super) by_text: FxHashMap<TextKey, Few<NodeAt>>,
    /// The newest message, the reply to the last request included.
    pub(crate) tip: Option<NodeAt>,
    /// The message that the last request ended with.
    pub(crate) asked: Option<NodeAt>,
    /// Texts that were in its prompts but are not story.
    pub(crate) injected: Recent,
    /// Pieces of its preambles; `None` until its first request.
    pub(crate) preamble: Option<Recent>,
    /// The last instructions that its prompts ended with.
    pub(crate) instructions: Vec<String>,
    /// Whether a text was once taken for a narrator's message and was none.
    pub(crate) doubts_narrators: bool,
    /// Replies of background generations; a narrator may repeat them later.
    pub(crate) background: Recent,
    /// What its front end puts between a message and its continuation.
    pub(crate) joint: String,
    /// Whether its story requests are streamed.
    pub(crate) streams: Option<bool>,
    /// The names that its front end gave.
    pub(crate) given: GivenNames,
    /// The most pieces of examples seen.
    pub(crate) examples: usize,
    /// When it was last written to.
    pub(crate) touched: u64,
}

/// Where a message was joined from two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenJoint {
    /// It was continued; its first part ends here.
    Continued(usize),
    /// Its beginning was prescribed.
    Prefilled,
}

/// One message of a chat's tree.
#[derive(Clone, Debug)]
pub(crate) struct StoryNode {
    pub(crate) parent: Option<NodeAt>,
    pub(crate) key: TextKey,
    pub(crate) message: Message,
    /// For a message of two parts that no request has had yet: only the next one shows how the
    /// front end joins them.
    pub(crate) joint: Option<OpenJoint>,
    pub(crate) children: Few<NodeAt>,
    pub(crate) touched: u64,
}

impl StoryNode {
    /// Whether this is that message. User and model never swap roles; a narrator's message may have
    /// any role after merging.
    pub(crate) fn is(&self, key: TextKey, role: Role) -> bool {
        let swapped = matches!(
            (self.message.role, role),
            (Role::User, Role::Assistant) | (Role::Assistant, Role::User)
        );
        self.key == key && !swapped
    }
}

impl Story {
    pub(super) fn new(id: ChatId, born: u64) -> Self {
        Self {
            id,
            born,
            bound: None,
            nodes: Vec::new(),
            by_text: FxHashMap::default(),
            tip: None,
            asked: None,
            injected: Recent::default(),
            preamble: None,
            instructions: Vec::new(),
            doubts_narrators: false,
            background: Recent::default(),
            joint: " ".to_owned(),
            streams: None,
            given: GivenNames::default(),
            examples: 0,
            touched: 0,
        }
    }

    pub(crate) fn node(&self, at: NodeAt) -> &StoryNode {
        &self.nodes[at.0]
    }

    pub(crate) fn nodes_with(&self, key: TextKey) -> &[NodeAt] {
        self.by_text.get(&key).map_or(&[], |found| found)
    }

    /// The child of `parent` with exactly this text: the usual case, found without hashing the
    /// text.
    pub(crate) fn exact_child(&self, parent: NodeAt, role: Role, text: &Text) -> Option<NodeAt> {
        let fits = |node: &StoryNode| {
            node.joint.is_none() && node.message.role == role && node.message.text == *text
        };
        // Messages are added one after the other, so most children are the next node.
        let beside = NodeAt(parent.0 + 1);
        let is_child = |node: &StoryNode| node.parent == Some(parent) && fits(node);
        if self.nodes.get(beside.0).is_some_and(is_child) {
            return Some(beside);
        }
        let children = self.nodes[parent.0].children.iter().copied();
        children.into_iter().find(|at| fits(self.node(*at)))
    }

    /// The child of `parent` with this key, however the front end formatted its text.
    pub(crate) fn child(&self, parent: Option<NodeAt>, key: TextKey, role: Role) -> Option<NodeAt> {
        let (found, under) = match parent {
            Some(parent) => (&*self.nodes[parent.0].children, Some(parent)),
            None => (self.nodes_with(key), None),
        };
        let fits = |at: &NodeAt| {
            let node = &self.nodes[at.0];
            node.parent == under && node.is(key, role)
        };
        found.iter().copied().find(fits)
    }

    /// The child of `parent` with this message.
    pub(crate) fn find_child(&self, parent: Option<NodeAt>, message: &Message) -> Option<NodeAt> {
        let exact = |parent| self.exact_child(parent, message.role, &message.text);
        let known = parent.and_then(exact);
        known.or_else(|| self.child(parent, TextKey::of(&message.text), message.role))
    }

    /// The messages that paths begin with.
    pub(crate) fn roots(&self) -> impl Iterator<Item = NodeAt> {
        let all = self.nodes.iter().zip(0..);
        all.filter(|(node, _)| node.parent.is_none()).map(|(_, at)| NodeAt(at))
    }

    /// How many pieces of a window's preamble this chat's preambles had. A chat without a request
    /// so far may have had all of them.
    pub(crate) fn card_pieces(&self, window: &Window) -> usize {
        let pieces = window.preamble.iter();
        pieces
            .filter(|part| self.preamble.as_ref().is_none_or(|own| own.contains(part.key)))
            .count()
    }

    /// The path to a message, oldest first.
    pub(crate) fn path_to(&self, at: Option<NodeAt>) -> Vec<NodeAt> {
        let mut path = Vec::new();
        let mut next = at;
        while let Some(at) = next {
            path.push(at);
            next = self.nodes[at.0].parent;
        }
        path.reverse();
        path
    }

    /// Whether the story went on after this message with something the user said.
    pub(crate) fn went_on_after(&self, at: NodeAt) -> bool {
        let mut left: Vec<NodeAt> = self.nodes[at.0].children.to_vec();
        while let Some(next) = left.pop() {
            let node = &self.nodes[next.0];
            if node.message.role == Role::User {
                return true;
            }
            left.extend(node.children.iter());
        }
        false
    }
}
