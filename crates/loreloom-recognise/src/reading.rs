//! Which pieces of a window are story.
//!
//! One principle carries most of it: **new messages appear only at the end**. Text between
//! two messages that follow each other in the stored path was put there by the front end
//! (lore, notes, nudges), whatever its role. If a stored message is missing at that point,
//! text of its role in its place is an edit. Text that is stored on another path of the chat
//! has come back. Text that moved between messages is not a message.

mod tail;

use rustc_hash::FxHashSet;

use super::{
    align::{Alignment, first_kept},
    known_stories::{KnownStories, NodeAt, Story, StoryNode},
    markup::Markup,
    speakers::is_label,
    text::{Likeness, TextKey, likeness, speaker, without_reasoning},
    window::{Part, Window, looks_like_instruction},
};
use loreloom_core::chat::{Message, Role};

/// A prompt below this many bytes that still has its examples was not trimmed.
const SMALL_PROMPT: usize = 8_000;

/// What a piece of a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A message of the story.
    Story,
    /// Put there by the front end: lore, notes, fillers.
    Injected,
    /// The author's note, where the request says which text it is.
    Note,
    /// An instruction after the chat: a nudge, a post-history prompt, a question of a
    /// background generation.
    Instruction,
    /// The beginning of the reply that the front end prescribes.
    Prefill,
    /// A tool call or its result.
    Tool,
}

/// What was found out about a window.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowReading {
    /// What each piece is.
    pub(super) part_kinds: Vec<PartKind>,
    /// The place on the path of each piece that is story.
    pub(super) places: Vec<Option<usize>>,
    /// The whole path, oldest first.
    pub(super) path: Vec<Message>,
    /// The stored message behind each message of the path, if any.
    pub(super) nodes: Vec<Option<NodeAt>>,
    /// How many messages of the path come before the window.
    pub(super) before: usize,
    /// The unchanged beginning of the stored path: its last message and its length.
    pub(super) trunk: Option<(NodeAt, usize)>,
}

/// What is known of a request besides its pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestFacts {
    /// Its size in bytes.
    pub(super) size: usize,
    /// Whether it is streamed.
    pub(super) streamed: bool,
    /// Whether the last piece is a question of a background generation, although it looks like
    /// the user's message.
    pub(super) asks: bool,
    /// The author's note that the front end puts into the prompt.
    pub(super) note: Option<TextKey>,
}

/// Reads a window.
pub(super) fn read(
    stories: &KnownStories,
    window: &Window,
    alignment: Option<&Alignment>,
    facts: RequestFacts,
) -> WindowReading {
    let mut reader = WindowReader::new(stories, window, alignment, facts);
    reader.front(facts.size);
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
    streamed: bool,
    note: Option<TextKey>,
    reading: WindowReading,
    /// The stored message behind the last message of the path, if any.
    at: Option<NodeAt>,
}

impl<'a> WindowReader<'a> {
    fn new(
        stories: &'a KnownStories,
        window: &'a Window,
        alignment: Option<&'a Alignment>,
        facts: RequestFacts,
    ) -> Self {
        let RequestFacts { asks, streamed, note, .. } = facts;
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
            part_kinds: vec![PartKind::Injected; count],
            places: vec![None; count],
            path: Vec::with_capacity(path.len() + count.saturating_sub(pairs.len())),
            ..WindowReading::default()
        };
        let dropped = dropped.unwrap_or_default();
        let at = None;
        Self {
            stories,
            window,
            story,
            path,
            pairs,
            is_before,
            dropped,
            asks,
            streamed,
            note,
            reading,
            at,
        }
    }

    fn part(&self, at: usize) -> &'a Part {
        &self.window.parts[at]
    }

    fn node(&self, at: usize) -> Option<&'a StoryNode> {
        self.story.map(|story| story.node(self.path[at]))
    }

    fn push(&mut self, at: usize, message: Message, node: Option<NodeAt>) {
        self.reading.part_kinds[at] = PartKind::Story;
        self.reading.places[at] = Some(self.reading.path.len());
        self.add_to_path(message, node);
    }

    /// Adds the next message of the path.
    fn add_to_path(&mut self, message: Message, node: Option<NodeAt>) {
        let known = self.reading.trunk.map_or(0, |(_, count)| count);
        if let (Some(story), Some(node)) = (self.story, node)
            && known == self.reading.path.len()
            && self.path.get(known) == Some(&node)
            // How the front end joins a continued message is not known yet.
            && story.node(node).joint.is_none()
        {
            self.reading.trunk = Some((node, known + 1));
        }
        self.reading.path.push(message);
        self.reading.nodes.push(node);
        self.at = node;
    }

    /// Adds a piece as a new message.
    fn push_new(&mut self, at: usize) {
        let part = self.part(at);
        let text = part.text.cut_to(without_reasoning(&part.text));
        let (name, text) = match self.other_speaker(part, &text) {
            Some((name, words)) => (Some(name), text.cut_to(words)),
            None => (part.name.as_deref(), text.clone()),
        };
        self.push(at, Message::new(part.role, name, text), None);
    }

    /// The name in front of a message that the model did not write: front ends put it there if
    /// somebody else speaks (`/sendas`). Not in the first message: a greeting may begin with a
    /// heading.
    fn other_speaker<'text>(
        &self,
        part: &Part,
        text: &'text str,
    ) -> Option<(&'text str, &'text str)> {
        let may_be = part.name.is_none() && part.role == Role::Assistant;
        let found = speaker(text).filter(|_| may_be && !self.reading.path.is_empty());
        found.filter(|(name, _)| !is_label(name))
    }

    /// Adds a piece that is a stored message. The stored text wins: another text would be another
    /// message. Only the joint of a continued message comes from the front end.
    fn push_stored(&mut self, at: usize, index: usize) {
        let Some(node) = self.node(index) else { return };
        let mut message = node.message.clone();
        let said = &self.part(at).text;
        if node.joint.is_some() && node.key == self.part(at).key {
            message.text.clone_from(said);
        }
        // Equal texts share their memory from now on.
        message.text.share(said);
        self.push(at, message, Some(self.path[index]));
    }

    /// Reads what comes before the first stored message.
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

    /// Adds the first `count` messages of the stored path, which come before the window.
    fn keep_before(&mut self, count: usize) {
        for index in 0..count {
            if let Some(node) = self.node(index) {
                self.add_to_path(node.message.clone(), Some(self.path[index]));
            }
        }
        self.reading.before = count;
    }

    /// Whether the user deleted the first messages. Front ends drop examples before messages, so a
    /// small prompt that has all its examples was not trimmed.
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

    /// Reads the pieces between two stored messages; `missing` are the stored messages there.
    fn gap(&mut self, parts: std::ops::Range<usize>, missing: std::ops::Range<usize>) {
        let mut missing = missing;
        let first = parts.start;
        for at in parts {
            self.keep_unsent(&mut missing, first);
            let part = self.part(at);
            if part.tool {
                self.reading.part_kinds[at] = PartKind::Tool;
            } else if self.is_note(part) {
                self.reading.part_kinds[at] = PartKind::Note;
            } else if self.is_foreign(part) {
                self.reading.part_kinds[at] = PartKind::Injected;
            } else if let Some((index, like)) = self.changed(part, missing.clone()) {
                missing.start = index + 1;
                if self.is_prompt_only(at, like) {
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
    fn is_prompt_only(&self, at: usize, like: Likeness) -> bool {
        match like {
            Likeness::Cut => false,
            Likeness::Expanded => true,
            Likeness::Stripped(markup) => self.leaves_out(at, self.part(at).role, markup),
        }
    }

    /// Whether the messages before piece `at` have lost all markup of a kind.
    fn leaves_out(&self, at: usize, role: Role, markup: Markup) -> bool {
        let kept = first_kept(&self.window.parts, self.pairs, role, markup);
        kept.is_none_or(|kept| kept >= at)
    }

    /// Keeps stored messages that a front end does not send: the window says nothing about them.
    fn keep_unsent(&mut self, missing: &mut std::ops::Range<usize>, at: usize) {
        while missing.start < missing.end {
            let Some(node) = self.node(missing.start) else { return };
            if !self.is_unsent(node, at) {
                return;
            }
            self.add_to_path(node.message.clone(), Some(self.path[missing.start]));
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

    /// Whether a piece is the author's note.
    fn is_note(&self, part: &Part) -> bool {
        self.note == Some(part.key)
    }

    /// Whether a piece is known not to be story, or moved.
    fn is_foreign(&self, part: &Part) -> bool {
        let stored = self.story.is_some_and(|story| !story.nodes_with(part.key).is_empty());
        self.is_note(part)
            || self.dropped.contains(&part.key)
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

    /// The missing message that this piece is, in changed form.
    fn changed(&self, part: &Part, missing: std::ops::Range<usize>) -> Option<(usize, Likeness)> {
        missing.into_iter().find_map(|index| {
            let node = self.node(index).filter(|node| node.message.role == part.role)?;
            likeness(&node.message.text, &part.text).map(|like| (index, like))
        })
    }

    /// The missing message that this piece replaces.
    fn replaced(&self, part: &Part, missing: std::ops::Range<usize>) -> Option<usize> {
        let fits = |index: &usize| self.node(*index).is_some_and(|n| n.message.role == part.role);
        let narrates = part.role == Role::System && !looks_like_instruction(part);
        let talks = matches!(part.role, Role::User | Role::Assistant);
        missing.into_iter().find(fits).filter(|_| narrates || talks)
    }
}
