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
    known_stories::{NodeAt, Slot},
    window::PartReader,
};
pub use self::{
    kind::Kind,
    known_stories::{KnownStories, MESSAGE_COST},
    layout::layout_of,
    reading::Standing,
    record::{Answer, Ticket},
    request::{Body, Explicit, Request, WireMessage},
    speakers::Speakers,
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
    pub standings: Vec<Standing>,
    /// Where on the path each piece is that is story.
    pub places: Vec<Option<usize>>,
    /// Who speaks, as far as the request shows.
    pub speakers: Speakers,
    slot: Option<Slot>,
    fork: bool,
    /// The messages at the beginning of the path that the chat has as they are: the last of them
    /// and how many there are.
    trunk: Option<(NodeAt, usize)>,
}

impl Recognition {
    /// The texts of the story messages in the request, in order.
    pub fn found(&self) -> impl Iterator<Item = &Message> {
        self.places.iter().flatten().filter_map(|at| self.path.get(*at))
    }

    /// The beginning of the reply that the front end prescribes.
    pub fn prefill(&self) -> Option<&str> {
        let parts = self.window.parts.iter().zip(&self.standings);
        let mut found = parts.filter(|(_, standing)| **standing == Standing::Prefill);
        found.next_back().map(|(part, _)| part.text.as_str())
    }
}

impl KnownStories {
    /// Recognises a request; changes nothing.
    pub fn recognise(&self, request: &Request) -> Recognition {
        let client = self.client(&request.client);
        let mut speakers = Speakers::of(request);
        speakers.had(client.map_or(&[], |client| &client.users));
        let bound = request.explicit.chat.as_deref().and_then(|id| self.bound_to(id));
        let followed = self.followed(request);
        let expected = bound.or(followed.as_ref().map(|followed| followed.slot));
        let expected = expected.or_else(|| client.and_then(|client| client.last));
        let following = Following::new(self, expected.map(|slot| self.story(slot)));
        let reader = PartReader { speakers: &speakers, known: &following };
        let window = Window::of(request, reader);
        // Ollama loads and unloads models with empty requests. A request that follows a response
        // may have only the answer of a tool.
        if request.size() == 0 && followed.is_none() {
            return bare(window, speakers);
        }
        let (alignment, fork) = match followed {
            Some(followed) => (Some(followed), false),
            None => self.locate(request, &window),
        };
        if alignment.is_none() && request.explicit.generation != Some(GenerationType::Quiet) {
            let known = request.explicit.chat.is_none();
            if known && kind::is_bare_question(self, request, &window, client) {
                return bare(window, speakers);
            }
        }
        let story = alignment.as_ref().map(|found| self.story(found.slot));
        let last = alignment.as_ref().and_then(|found| found.pairs.last().map(|pair| pair.0));
        let asks = kind::asks_as_user(request, &window, story, last);
        let reading = reading::read(self, &window, alignment.as_ref(), request.size(), asks);
        let kind = kind::kind(request, &window, story, &reading, asks);
        let shows_nothing = |found: &Alignment| found.pairs.is_empty() && !found.is_before;
        if kind == Kind::Background && alignment.as_ref().is_none_or(shows_nothing) {
            return bare(window, speakers);
        }
        // A chat that begins here has no reply yet of which another version could be asked for.
        let repeats =
            !fork && alignment.as_ref().is_some_and(|found| self.repeats(found, &reading));
        let generation = match kind {
            Kind::Background => GenerationType::Quiet,
            Kind::Story => kind::generation(request, &window, story, &reading, repeats),
        };
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
            standings: reading.standings,
            places: reading.places,
            speakers,
            slot,
            fork,
            trunk: reading.trunk,
        }
    }

    /// The id that the request gives to a new chat, if it is free; otherwise a generated one.
    fn id_of_new_chat(&self, request: &Request, window: &Window, path: &[Message]) -> ChatId {
        match request.explicit.chat.as_deref().filter(|id| !self.has_id(id)) {
            Some(id) => ChatId::from(id),
            None => self.new_id(window, path),
        }
    }

    /// The chat a request belongs to, and whether it only branches off from it.
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
                // One message of the user's is too little to know a chat by that has no name:
                // others may have begun so.
                None if align::is_opening(self, window) => (None, false),
                // A chat that we know by its texts gets its name; one that has another
                // name already was left for a branch.
                None => match best(false) {
                    Some(found) => (Some(found), false),
                    None => (best(true), true),
                },
            },
            // After a response that nobody knows it brings only what is new: others may have said
            // the same.
            None if request.explicit.follows.is_some() && align::is_opening(self, window) => {
                (None, false)
            }
            None => (align::best(self, window, &request.client, |_| true), false),
        }
    }

    /// Whether the path ends where the chat's last request ended.
    fn repeats(&self, found: &Alignment, reading: &reading::WindowReading) -> bool {
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

    /// An id that no chat has. It depends on the request alone: two processes that get the same
    /// first request at once make one chat.
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
        standings: vec![Standing::Instruction; count],
        places: vec![None; count],
        speakers,
        slot: None,
        fork: false,
        trunk: None,
    }
}

#[cfg(test)]
mod tests;
