//! Finds the story in the prompts of chat front ends.
//!
//! A proxy sees prompts, not chats: nothing in a request names the chat, the branch or the
//! kind of generation. This crate finds them from earlier requests and replies. It is pure:
//! [`KnownStories`] is plain data, [`KnownStories::recognise`] only reads it, and
//! [`KnownStories::record`] and [`KnownStories::reply`] add what was recognised.
//!
//! The steps are: cut the prompt into pieces (`window`), align them with stored paths
//! (`align`), separate story from everything else (`reading`), and name the kind of
//! generation (`kind`). An id that the front end sends wins over all of it.
//!
//! ```
//! use loreloom_core::chat::Role;
//! use loreloom_recognise::{Body, Kind, KnownStories, Request, WireMessage};
//!
//! let said = |role, text: &str| WireMessage { role, text: text.into(), ..WireMessage::default() };
//! let body = Body::Messages(vec![
//!     said(Role::System, "You are Mira Vell, keeper of the ferry."),
//!     said(Role::User, "Who rang the bell?"),
//! ]);
//! let request = Request { body, ..Request::default() };
//!
//! let found = KnownStories::new().recognise(&request);
//! assert_eq!(found.kind, Kind::Story);
//! assert_eq!(found.path.len(), 1, "the system prompt is not part of the story");
//! ```

mod align;
mod detours;
mod few;
mod following;
mod kind;
mod known_stories;
mod layout;
mod markup;
mod named_turns;
mod reading;
mod recent;
mod record;
mod request;
mod responses;
mod speakers;
mod stored;
mod text;
pub mod window;
pub mod wire;

use self::{
    align::Alignment,
    following::Following,
    known_stories::{NodeAt, Slot, Story},
    reading::{RequestFacts, WindowReading},
    window::{PartReader, Shape, is_example_marker, is_start_marker},
};
pub use self::{
    detours::Detour,
    kind::Kind,
    known_stories::{KnownStories, MESSAGE_COST},
    layout::layout_of,
    reading::PartKind,
    record::{Answer, Ticket},
    request::{Body, Explicit, Request, WireMessage},
    speakers::{GivenNames, Speakers},
    stored::as_stored,
    text::TextKey,
    window::{Part, Window},
};
use loreloom_core::{
    chat::{GenerationType, Message},
    digest::Hasher,
    ids::ChatId,
};

/// What a request was recognised as.
#[derive(Clone, Debug)]
pub struct Recognition {
    /// Story or background.
    pub kind: Kind,
    /// What is asked for.
    pub generation: GenerationType,
    /// The chat; `None` for a background request that carries none.
    pub chat: Option<ChatId>,
    /// Whether the chat is new.
    pub is_new: bool,
    /// All messages up to the newest, those before the window included.
    pub path: Vec<Message>,
    /// How many of them come before the window.
    pub before: usize,
    /// The pieces of the request.
    pub window: Window,
    /// What each piece of the chat is.
    pub part_kinds: Vec<PartKind>,
    /// The place on the path of each piece that is story.
    pub places: Vec<Option<usize>>,
    /// Who speaks, as far as the request shows.
    pub speakers: Speakers,
    /// Messages that were edited or hidden since, in path order.
    pub detours: Vec<Detour>,
    slot: Option<Slot>,
    fork: bool,
    /// The unchanged beginning of the stored path: its last message and its length.
    trunk: Option<(NodeAt, usize)>,
}

impl Recognition {
    /// The texts of the story messages in the request, in order.
    pub fn found(&self) -> impl Iterator<Item = &Message> {
        self.places.iter().flatten().filter_map(|at| self.path.get(*at))
    }

    /// The text before examples and chat, without the main prompt: card, persona, and whatever else
    /// the front end puts there. The main prompt is the first message, or the first line of a
    /// text prompt.
    pub fn card_block(&self) -> String {
        let Some(main) = self.window.preamble.first() else { return String::new() };
        let is_head = |part: &&Part| !is_example_marker(&part.text) && !is_start_marker(&part.text);
        let head = self.window.preamble.iter().take_while(is_head);
        let texts: Vec<&str> = match self.window.shape {
            Shape::Prompt | Shape::PromptMerged => {
                main.text.split_once('\n').into_iter().map(|(_, rest)| rest).collect()
            }
            Shape::Merged | Shape::Single => head.skip(1).map(|part| part.text.as_str()).collect(),
            Shape::Plain => {
                let parts: Vec<&Part> = head.collect();
                let is_main = |part: &&&Part| part.spot.message == main.spot.message;
                let one = parts.iter().all(|part| is_main(&part));
                let skipped = if one { 1 } else { parts.iter().take_while(is_main).count() };
                parts.into_iter().skip(skipped).map(|part| part.text.as_str()).collect()
            }
        };
        texts.join("\n")
    }

    /// The beginning of the reply, if the front end prescribes one.
    pub fn prefill(&self) -> Option<&str> {
        let parts = self.window.parts.iter().zip(&self.part_kinds);
        let mut found = parts.filter(|(_, kind)| **kind == PartKind::Prefill);
        found.next_back().map(|(part, _)| part.text.as_str())
    }
}

impl KnownStories {
    /// Recognises a request; changes nothing.
    pub fn recognise(&self, request: &Request) -> Recognition {
        let followed = self.followed(request);
        let (window, mut speakers) = self.cut(request, followed.as_ref());
        // Ollama loads and unloads models with empty requests. A request that follows a response
        // may have only the answer of a tool.
        if request.size() == 0 && followed.is_none() {
            return bare(window, speakers);
        }
        let (alignment, fork) = match followed {
            Some(followed) => (Some(followed), false),
            None => self.locate(request, &window),
        };
        if alignment.is_none() && self.is_background_question(request, &window) {
            return bare(window, speakers);
        }
        let story = alignment.as_ref().map(|found| self.story(found.slot));
        let last = alignment.as_ref().and_then(|found| found.pairs.last().map(|pair| pair.0));
        let asks = kind::asks_as_user(request, &window, story, last);
        let (size, streamed) = (request.size(), request.stream == Some(true));
        let note = request.explicit.placed_note.as_deref().map(TextKey::of);
        let facts = RequestFacts { size, streamed, asks, note };
        let mut reading = reading::read(self, &window, alignment.as_ref(), facts);
        let kind = kind::kind(request, &window, story, &reading, asks);
        let shows_nothing = |found: &Alignment| found.pairs.is_empty() && !found.is_before;
        if kind == Kind::Background && alignment.as_ref().is_none_or(shows_nothing) {
            return bare(window, speakers);
        }
        // A branch that begins here has no reply yet, so this cannot be a swipe.
        let repeats =
            !fork && alignment.as_ref().is_some_and(|found| self.repeats(found, &reading));
        let generation = match kind {
            Kind::Background => GenerationType::Quiet,
            Kind::Story => kind::generation(request, &window, story, &reading, repeats),
        };
        speakers.give(story.map(|story| story.given.after(request)).unwrap_or_default());
        speakers.remember(&reading.path, request, &window);
        speakers.name(&mut reading.path);
        let detours = story.map(|story| detours_of(story, &reading)).unwrap_or_default();
        let slot = alignment.map(|found| found.slot);
        let chat = match slot.filter(|_| !fork) {
            Some(slot) => self.story(slot).id.clone(),
            None => self.id_of_new_chat(request, &window, &reading.path),
        };
        Recognition {
            kind,
            generation,
            chat: Some(chat),
            is_new: slot.is_none() || fork,
            path: reading.path,
            before: reading.before,
            window,
            part_kinds: reading.part_kinds,
            places: reading.places,
            speakers,
            detours,
            slot,
            fork,
            trunk: reading.trunk,
        }
    }

    /// Whether a request that shows no known story is a question of the front end itself.
    fn is_background_question(&self, request: &Request, window: &Window) -> bool {
        let client = self.client(&request.client);
        request.explicit.chat.is_none()
            && request.explicit.generation != Some(GenerationType::Quiet)
            && (kind::is_bare_question(self, request, window, client)
                || kind::asks_about_a_chat(self, request, window, client))
    }

    /// The pieces of a request, and who speaks them.
    fn cut(&self, request: &Request, followed: Option<&Alignment>) -> (Window, Speakers) {
        let client = self.client(&request.client);
        let mut speakers = Speakers::of(request);
        speakers.had(client.map_or(&[], |client| &client.users));
        let bound = request.explicit.chat.as_deref().and_then(|id| self.bound_to(id));
        let expected = bound.or(followed.map(|followed| followed.slot));
        let expected = expected.or_else(|| client.and_then(|client| client.last));
        let following = Following::new(self, expected.map(|slot| self.story(slot)));
        let reader = PartReader { speakers: &speakers, known: &following };
        let mut window = Window::of(request, reader);
        speakers.learn(request, &mut window);
        (window, speakers)
    }

    /// The id that the request gives to a new chat, if it is free; otherwise a generated one.
    fn id_of_new_chat(&self, request: &Request, window: &Window, path: &[Message]) -> ChatId {
        match request.explicit.chat.as_deref().filter(|id| !self.has_id(id)) {
            Some(id) => ChatId::from(id),
            None => self.new_id(window, path),
        }
    }

    /// The chat of a request, and whether the request is a new chat that branches off from it.
    fn locate(&self, request: &Request, window: &Window) -> (Option<Alignment>, bool) {
        let best = |bound: bool| {
            align::best(self, window, &request.client, |story| story.bound.is_some() == bound)
        };
        match &request.explicit.chat {
            Some(id) => match self.bound_to(id) {
                Some(slot) => {
                    let found = align::within(self, slot, window);
                    (Some(found.unwrap_or_else(|| Alignment::empty(slot))), false)
                }
                // One message of the user is too little to identify a chat without a name: other
                // chats may begin with the same message.
                None if align::is_opening(self, window) => (None, false),
                // A chat without a name gets this one. If the matching chat has another name, this
                // is a branch of it.
                None => match best(false) {
                    Some(found) => (Some(found), false),
                    None => (best(true), true),
                },
            },
            // After an unknown response the request has only new messages: another chat may have
            // the same ones.
            None if request.explicit.follows.is_some() && align::is_opening(self, window) => {
                (None, false)
            }
            None => (align::best(self, window, &request.client, |_| true), false),
        }
    }

    /// Whether the path ends where the chat's last request ended.
    fn repeats(&self, found: &Alignment, reading: &WindowReading) -> bool {
        let story = self.story(found.slot);
        let asked = story.path_to(story.asked);
        let same = |at: &NodeAt, message: &Message| {
            let node = story.node(*at);
            node.message.text == message.text || node.key == TextKey::of(&message.text)
        };
        asked.len() == reading.path.len()
            && !asked.is_empty()
            && asked.iter().zip(&reading.path).all(|(at, message)| same(at, message))
    }

    /// A free id. It depends only on the request, so two processes that get the same first request
    /// at once make one chat.
    fn new_id(&self, window: &Window, path: &[Message]) -> ChatId {
        let mut salt = 0;
        loop {
            let mut hasher = Hasher::new("chat").number(salt);
            for part in &window.preamble {
                hasher = hasher.field(part.text.as_bytes());
            }
            for message in path {
                hasher = hasher.field(message.text.as_bytes());
            }
            let mut id = format!("chat-{}", hasher.finish());
            id.truncate("chat-".len() + 16);
            if !self.has_id(&id) {
                return ChatId(id);
            }
            salt += 1;
        }
    }
}

/// The messages of a chat that a path no longer shows.
fn detours_of(story: &Story, reading: &WindowReading) -> Vec<Detour> {
    let key = |(message, node): (&Message, &Option<NodeAt>)| {
        let known = node.map(|node| story.node(node).key);
        (known.unwrap_or_else(|| TextKey::of(&message.text)), message.role)
    };
    let path: Vec<_> = reading.path.iter().zip(&reading.nodes).map(key).collect();
    detours::detours(story, &path)
}

/// A background request that belongs to no chat.
fn bare(window: Window, speakers: Speakers) -> Recognition {
    let count = window.parts.len();
    Recognition {
        kind: Kind::Background,
        generation: GenerationType::Quiet,
        chat: None,
        is_new: false,
        path: Vec::new(),
        before: 0,
        window,
        part_kinds: vec![PartKind::Instruction; count],
        places: vec![None; count],
        speakers,
        detours: Vec::new(),
        slot: None,
        fork: false,
        trunk: None,
    }
}

#[cfg(test)]
mod tests;
