//! Which pieces of a window are story.
//!
//! One principle carries most of it: **new messages appear only at the end**. Text between
//! two messages that follow each other in the stored path was put there by the front end
//! (lore, notes, nudges), whatever role it wears. If a stored message is missing at that
//! point, text of its role in its place is an edit. Text that is stored elsewhere in the
//! chat has come back. Text that changed its place among messages is no message.

use rustc_hash::FxHashSet;

use super::{
    align::{Alignment, first_kept},
    kind::is_nudge,
    known_stories::{KnownStories, NodeAt, Story, StoryNode},
    markup::Markup,
    text::{Likeness, TextKey, likeness, without_reasoning},
    window::{End, Part, Window, is_named, looks_like_instruction},
};
use loreloom_core::{
    chat::{Message, Role},
    instruct::only_a_name,
};

/// A prompt below this many bytes that still has its examples was not trimmed.
const SMALL_PROMPT: usize = 8_000;

/// What a piece of a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A message of the story.
    Story,
    /// Put there by the front end: lore, notes, fillers.
    Injected,
    /// An instruction after the chat: a nudge, a post-history prompt, a question of a
    /// background generation.
    Instruction,
    /// The beginning of the reply that the front end prescribes.
    Prefill,
    /// A tool call or its result.
    Tool,
}

/// A window read with what is known.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowReading {
    /// What each piece is.
    pub(super) standings: Vec<Standing>,
    /// Where on the path each piece is that is story.
    pub(super) places: Vec<Option<usize>>,
    /// The whole path, oldest first.
    pub(super) path: Vec<Message>,
    /// How many messages of the path come before the window.
    pub(super) before: usize,
    /// The messages at its beginning that are those of the stored path: the last of them and how
    /// many there are.
    pub(super) trunk: Option<(NodeAt, usize)>,
}

/// Reads a window. `asks` says that the last piece is a question of a background
/// generation, although it looks like the user's message.
pub(super) fn read(
    stories: &KnownStories,
    window: &Window,
    alignment: Option<&Alignment>,
    size: usize,
    asks: bool,
) -> WindowReading {
    let mut reader = WindowReader::new(stories, window, alignment, asks);
    reader.front(size);
    reader.gaps();
    reader.tail();
    reader.reading
}

struct WindowReader<'a> {
    stories: &'a KnownStories,
    window: &'a Window,
    story: Option<&'a Story>,
    path: &'a [NodeAt],
    pairs: &'a [(usize, usize)],
    /// Whether all of the path comes before the window.
    is_before: bool,
    /// Texts of the stored path that the window does not have in their place.
    dropped: FxHashSet<TextKey>,
    asks: bool,
    reading: WindowReading,
    /// The stored message that the last message of the path is, where it is one.
    at: Option<NodeAt>,
}

impl<'a> WindowReader<'a> {
    fn new(
        stories: &'a KnownStories,
        window: &'a Window,
        alignment: Option<&'a Alignment>,
        asks: bool,
    ) -> Self {
        let story = alignment.map(|found| stories.story(found.slot));
        let (path, pairs): (&[NodeAt], &[(usize, usize)]) =
            alignment.map_or((&[], &[]), |found| (&found.path, &found.pairs));
        let is_before = alignment.is_some_and(|found| found.is_before);
        // What comes before the window cannot have been left out of it.
        let none = if is_before { path.len() } else { 0 };
        let first = pairs.first().map_or(none, |pair| pair.1);
        let paired: FxHashSet<usize> = pairs.iter().map(|pair| pair.1).collect();
        let dropped = (first..path.len()).filter(|at| !paired.contains(at));
        let dropped = story.map(|story| dropped.map(|at| story.node(path[at]).key).collect());
        let count = window.parts.len();
        let reading = WindowReading {
            standings: vec![Standing::Injected; count],
            places: vec![None; count],
            path: Vec::with_capacity(path.len() + count.saturating_sub(pairs.len())),
            ..WindowReading::default()
        };
        let dropped = dropped.unwrap_or_default();
        Self { stories, window, story, path, pairs, is_before, dropped, asks, reading, at: None }
    }

    fn part(&self, at: usize) -> &'a Part {
        &self.window.parts[at]
    }

    fn node(&self, at: usize) -> Option<&'a StoryNode> {
        self.story.map(|story| story.node(self.path[at]))
    }

    fn push(&mut self, at: usize, message: Message, node: Option<NodeAt>) {
        self.reading.standings[at] = Standing::Story;
        self.reading.places[at] = Some(self.reading.path.len());
        self.tell(message, node);
    }

    /// The next message of the path.
    fn tell(&mut self, message: Message, node: Option<NodeAt>) {
        let known = self.reading.trunk.map_or(0, |(_, count)| count);
        if let (Some(story), Some(node)) = (self.story, node)
            && known == self.reading.path.len()
            && self.path.get(known) == Some(&node)
            // How a continued message is joined is still to be learned.
            && story.node(node).joined_at.is_none()
        {
            self.reading.trunk = Some((node, known + 1));
        }
        self.reading.path.push(message);
        self.at = node;
    }

    /// A piece that is a message of its own.
    fn push_new(&mut self, at: usize) {
        let part = self.part(at);
        let text = part.text.cut_to(without_reasoning(&part.text));
        self.push(at, Message::new(part.role, part.name.as_deref(), text), None);
    }

    /// A piece that is a stored message. It stays as it was stored, whatever it wears
    /// today: in other words it would be another message. Only how a continuation is joined
    /// is learned from the front end.
    fn push_stored(&mut self, at: usize, index: usize) {
        let Some(node) = self.node(index) else { return };
        let mut message = node.message.clone();
        let said = &self.part(at).text;
        if node.joined_at.is_some() && node.key == self.part(at).key {
            message.text.clone_from(said);
        }
        // One text for both from now on; where they differ, the stored one stays.
        message.text.share(said);
        self.push(at, message, Some(self.path[index]));
    }

    /// What comes before the first message that is stored.
    fn front(&mut self, size: usize) {
        if self.is_before {
            self.keep_before(self.path.len());
        }
        let Some(&(first_part, first_node)) = self.pairs.first() else { return };
        let talk: Vec<usize> =
            (0..first_part).filter(|at| self.may_be_edit(self.part(*at))).collect();
        let edits = if first_node <= talk.len() { first_node } else { 0 };
        if edits == 0 && first_node > 0 && !self.was_deleted(size) {
            self.keep_before(first_node);
        }
        self.gap(0..first_part, 0..edits);
    }

    /// The first `count` messages of the stored path come before the window.
    fn keep_before(&mut self, count: usize) {
        for index in 0..count {
            if let Some(node) = self.node(index) {
                self.tell(node.message.clone(), Some(self.path[index]));
            }
        }
        self.reading.before = count;
    }

    /// Front ends drop examples before messages: a small prompt that has all its examples
    /// has lost its first messages to the user.
    fn was_deleted(&self, size: usize) -> bool {
        let examples = self.story.map_or(0, |story| story.examples);
        examples > 0 && self.window.examples >= examples && size < SMALL_PROMPT
    }

    fn gaps(&mut self) {
        let pairs = self.pairs;
        for (index, &(part, node)) in pairs.iter().enumerate() {
            self.push_stored(part, node);
            if let Some(&(next_part, next_node)) = pairs.get(index + 1) {
                self.gap(part + 1..next_part, node + 1..next_node);
            }
        }
    }

    /// Pieces between two stored messages, and the stored messages missing there.
    fn gap(&mut self, parts: std::ops::Range<usize>, missing: std::ops::Range<usize>) {
        let mut missing = missing;
        let first = parts.start;
        for at in parts {
            self.keep_unsent(&mut missing, first);
            let part = self.part(at);
            if part.tool {
                self.reading.standings[at] = Standing::Tool;
            } else if self.is_foreign(part) {
                self.reading.standings[at] = Standing::Injected;
            } else if let Some((index, like)) = self.changed(part, missing.clone()) {
                missing.start = index + 1;
                if self.is_dress(at, like) {
                    if let Some(node) = self.node(index) {
                        self.push(at, node.message.clone(), Some(self.path[index]));
                    }
                } else {
                    self.push_new(at);
                }
            } else if self.is_stored(part) {
                self.push_new(at);
            } else if let Some(index) = self.replaced(part, missing.clone()) {
                missing.start = index + 1;
                self.push_new(at);
            }
        }
        self.keep_unsent(&mut missing, first);
    }

    /// Whether a changed piece was changed only for the prompt.
    fn is_dress(&self, at: usize, like: Likeness) -> bool {
        match like {
            Likeness::Cut => false,
            Likeness::Dressed => true,
            Likeness::Bare(markup) => self.leaves_out(at, self.part(at).role, markup),
        }
    }

    /// Whether the messages before piece `at` have lost all markup of a kind.
    fn leaves_out(&self, at: usize, role: Role, markup: Markup) -> bool {
        let kept = first_kept(&self.window.parts, self.pairs, role, markup);
        kept.is_none_or(|kept| kept >= at)
    }

    /// Messages that are stored but not sent: a window says nothing about them.
    fn keep_unsent(&mut self, missing: &mut std::ops::Range<usize>, at: usize) {
        while missing.start < missing.end {
            let Some(node) = self.node(missing.start) else { return };
            if !self.is_unsent(node, at) {
                return;
            }
            self.tell(node.message.clone(), Some(self.path[missing.start]));
            missing.start += 1;
        }
    }

    /// Whether a message before piece `at` would be empty, or only text that the front end removes
    /// from others in this window.
    fn is_unsent(&self, node: &StoryNode, at: usize) -> bool {
        if node.message.text.trim().is_empty() {
            return true;
        }
        let Some(markup) = Markup::alone(&node.message.text) else { return false };
        let role = node.message.role;
        let lost = |&(part, index): &(usize, usize)| {
            let part = self.part(part);
            part.role == role
                && self.node(index).is_some_and(|node| {
                    node.key != part.key
                        && Markup::lost(&node.message.text, &part.text, part.key) == Some(markup)
                })
        };
        self.pairs.iter().any(lost) && self.leaves_out(at, role, markup)
    }

    /// Whether a piece is known not to be story, or changed its place.
    fn is_foreign(&self, part: &Part) -> bool {
        let stored = self.story.is_some_and(|story| !story.nodes_with(part.key).is_empty());
        self.dropped.contains(&part.key)
            || self.story.is_some_and(|story| story.injected.contains(part.key))
            || (!stored && self.stories.is_foreign(part.key))
    }

    /// Whether the chat has this message on another path.
    fn is_stored(&self, part: &Part) -> bool {
        self.story.is_some_and(|story| !story.nodes_with(part.key).is_empty())
    }

    fn may_be_edit(&self, part: &Part) -> bool {
        !part.tool && matches!(part.role, Role::User | Role::Assistant) && !self.is_foreign(part)
    }

    /// The missing message that this piece is, cut or dressed up.
    fn changed(&self, part: &Part, missing: std::ops::Range<usize>) -> Option<(usize, Likeness)> {
        missing.into_iter().find_map(|index| {
            let node = self.node(index).filter(|node| node.message.role == part.role)?;
            likeness(&node.message.text, &part.text).map(|like| (index, like))
        })
    }

    /// The missing message that this piece replaces.
    fn replaced(&self, part: &Part, missing: std::ops::Range<usize>) -> Option<usize> {
        let fits = |index: &usize| self.node(*index).is_some_and(|n| n.message.role == part.role);
        let told = part.role == Role::System && !looks_like_instruction(part);
        let talk = matches!(part.role, Role::User | Role::Assistant);
        missing.into_iter().find(fits).filter(|_| told || talk)
    }

    /// What comes after the last stored message.
    fn tail(&mut self) {
        let start = self.pairs.last().map_or(0, |pair| pair.0 + 1);
        let end = self.window.parts.len();
        for at in start..end {
            let part = self.part(at);
            if part.tool {
                self.reading.standings[at] = Standing::Tool;
                continue;
            }
            if self.asks && at + 1 == end {
                self.reading.standings[at] = Standing::Instruction;
                continue;
            }
            match part.role {
                Role::System | Role::Tool => self.tail_system(at),
                Role::User => self.tail_user(at),
                Role::Assistant => self.tail_assistant(at),
            }
        }
    }

    fn last_role(&self) -> Option<Role> {
        self.reading.path.last().map(|message| message.role)
    }

    /// The next piece after `at` that somebody may have said.
    fn next_talk(&self, at: usize) -> Option<&'a Part> {
        let rest = &self.window.parts[at + 1..];
        let asked = usize::from(self.asks && !rest.is_empty());
        let talk = rest[..rest.len() - asked].iter().filter(|part| !part.tool);
        talk.into_iter().find(|part| part.role != Role::System && !self.is_foreign(part))
    }

    /// A narrator speaks right before the user; anything else of the system is no story.
    fn tail_system(&mut self, at: usize) {
        let part = self.part(at);
        let before_user = self.next_talk(at).is_some_and(|next| next.role == Role::User);
        let told = self.story.is_some_and(|story| story.background.contains(part.key));
        if !before_user && self.next_talk(at).is_none() && !told {
            self.reading.standings[at] = Standing::Instruction;
        } else if told
            || (before_user
                && self.story.is_some_and(|story| !story.doubts_narrators)
                && !looks_like_instruction(part)
                && !self.is_foreign(part))
        {
            self.push_new(at);
        }
    }

    fn tail_user(&mut self, at: usize) {
        let part = self.part(at);
        let last = self.next_talk(at).is_none_or(|next| next.role != Role::User);
        let answered = self.last_role() != Some(Role::User);
        let hidden = self.window.shape.hides_instructions() && is_nudge(&part.text);
        if hidden && self.next_talk(at).is_none() {
            self.reading.standings[at] = Standing::Instruction;
            return;
        }
        let instruction = looks_like_instruction(part) && self.other_user_talk(at);
        if instruction || (self.is_foreign(part) && !(last && answered)) {
            return;
        }
        self.pass_unsent_reply(part.key, at);
        self.push_new(at);
    }

    /// Whether the user said something else since the last stored message.
    fn other_user_talk(&self, at: usize) -> bool {
        let start = self.pairs.last().map_or(0, |pair| pair.0 + 1);
        let parts = self.window.parts.iter().enumerate().skip(start);
        let user = parts.filter(|(_, part)| part.role == Role::User && !part.tool);
        user.into_iter().any(|(other, part)| {
            other != at
                && !looks_like_instruction(part)
                && !(self.asks && other + 1 == self.window.parts.len())
        })
    }

    /// A reply may be stored by the front end but not sent.
    fn pass_unsent_reply(&mut self, next: TextKey, part: usize) {
        let (Some(story), Some(at)) = (self.story, self.at) else { return };
        if self.last_role() != Some(Role::User) || story.child(Some(at), next, Role::User).is_some()
        {
            return;
        }
        let unsent = |child: &&NodeAt| {
            let node = story.node(**child);
            node.message.role == Role::Assistant && self.is_unsent(node, part)
        };
        if let Some(unsent) = story.node(at).children.iter().rev().find(unsent).copied() {
            self.tell(story.node(unsent).message.clone(), Some(unsent));
        }
    }

    fn tail_assistant(&mut self, at: usize) {
        let part = self.part(at);
        let last = self.next_talk(at).is_none();
        if let Some((message, node)) = self.changed_reply(part) {
            self.push(at, message, node);
            return;
        }
        if self.is_foreign(part) {
            return;
        }
        let after_model = self.last_role() == Some(Role::Assistant);
        let unfinished = self.window.end == End::Unfinished;
        let begins = if self.pairs.is_empty() { only_a_name(&part.text) } else { !is_named(part) };
        let told = self.story.is_some_and(|story| story.background.contains(part.key));
        if last && begins && !unfinished && !told {
            self.reading.standings[at] = Standing::Prefill;
        } else if !after_model || self.pairs.is_empty() || is_named(part) || told {
            self.push_new(at);
        }
    }

    /// A reply that we saw in another form.
    fn changed_reply(&self, part: &Part) -> Option<(Message, Option<NodeAt>)> {
        let (story, at) = (self.story?, self.at?);
        let children = story.node(at).children.iter().rev();
        children.filter(|child| story.node(**child).message.role == part.role).find_map(|child| {
            let stored = &story.node(*child).message;
            match likeness(&stored.text, &part.text)? {
                Likeness::Dressed | Likeness::Bare(_) => Some((stored.clone(), Some(*child))),
                Likeness::Cut => {
                    let name = part.name.as_deref();
                    Some((Message::new(part.role, name, part.text.clone()), None))
                }
            }
        })
    }
}
