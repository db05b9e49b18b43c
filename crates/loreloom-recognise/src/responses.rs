//! Where responses of the responses API ended, by id.
//!
//! A request with `previous_response_id` has only new messages: the model's server keeps the rest.
//! It continues where that response ended. Ids come from servers and front ends, so only the
//! newest are kept, and only within stories. The others are in the store, together with those that
//! other processes passed on ([`KnownStories::take_up_response`]).

use std::collections::VecDeque;

use loreloom_core::{chat::Message, ids::ChatId};
use rustc_hash::FxHashMap;

use super::{
    Answer, KnownStories, Request, Ticket,
    align::Alignment,
    known_stories::{NodeAt, Slot},
};

/// Responses that are remembered.
const MOST: usize = 4096;

/// The longest id that is remembered, in bytes.
const LONGEST: usize = 256;

/// Where a response ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) slot: Slot,
    /// When the chat in this slot was added: it may have been forgotten since.
    pub(super) born: u64,
    pub(super) at: NodeAt,
}

/// The newest responses.
#[derive(Clone, Debug, Default)]
pub(super) struct Responses {
    by_id: FxHashMap<String, Ended>,
    order: VecDeque<String>,
}

impl Responses {
    pub(super) fn get(&self, id: &str) -> Option<Ended> {
        self.by_id.get(id).copied()
    }

    fn insert(&mut self, id: &str, ended: Ended) {
        if id.is_empty() || id.len() > LONGEST {
            return;
        }
        if self.by_id.insert(id.to_owned(), ended).is_some() {
            return;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }
}

impl KnownStories {
    /// Adds the reply to a recorded request as [`KnownStories::reply`] does, and the id that the
    /// model's server gave the response.
    pub fn response<'a>(
        &mut self,
        ticket: &Ticket,
        texts: impl IntoIterator<Item = &'a str>,
        id: &str,
    ) -> Vec<Answer> {
        let answers = self.reply(ticket, texts);
        // A response that only calls tools has no message: the story is where it was.
        let said = answers.iter().any(|answer| !answer.message.text.is_empty());
        if let Some(ended) = self.ended(ticket, said) {
            self.responses.insert(id, ended);
        }
        answers
    }

    /// Whether it is known where the response of this id ended.
    pub fn knows_response(&self, id: &str) -> bool {
        let ended = self.responses.get(id);
        ended.is_some_and(|ended| self.story(ended.slot).born == ended.born)
    }

    /// Takes up where a response ended that another process passed on: with the last message of a
    /// path of a known chat.
    pub fn take_up_response<'a>(
        &mut self,
        id: &str,
        chat: &ChatId,
        path: impl IntoIterator<Item = &'a Message>,
    ) {
        let Some(slot) = self.slot_of(chat) else { return };
        let (story, mut at) = (self.story(slot), None);
        for message in path {
            at = story.find_child(at, message);
            if at.is_none() {
                return;
            }
        }
        if let Some(at) = at {
            let ended = Ended { slot, born: story.born, at };
            self.responses.insert(id, ended);
        }
    }

    /// The path before a request that follows a response, if the response is known and the request
    /// does not name another chat.
    pub(super) fn followed(&self, request: &Request) -> Option<Alignment> {
        let follows = request.explicit.follows.as_deref()?;
        let named = request.explicit.chat.as_deref();
        let Some(ended) = self.responses.get(follows) else {
            // The response is unknown but its chat is named: go on from the chat's newest message.
            let slot = self.bound_to(named?)?;
            let story = self.story(slot);
            return Some(Alignment::before(slot, story.path_to(story.tip)));
        };
        let story = self.story(ended.slot);
        let fits = named.is_none_or(|name| match self.bound_to(name) {
            Some(slot) => slot == ended.slot,
            None => story.bound.is_none(),
        });
        let is_there = story.born == ended.born;
        (fits && is_there).then(|| Alignment::before(ended.slot, story.path_to(Some(ended.at))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loreloom_core::chat::{GenerationType, Role};

    use crate::{Body, Explicit, Recognition, WireMessage};

    /// Asks after a response with these words and gets a reply of that id.
    fn ask(
        stories: &mut KnownStories,
        follows: Option<&str>,
        chat: Option<&str>,
        said: &str,
        reply: (&str, &str),
    ) -> Recognition {
        let message = WireMessage { role: Role::User, text: said.into(), ..WireMessage::default() };
        let explicit = Explicit {
            follows: follows.map(str::to_owned),
            chat: chat.map(str::to_owned),
            ..Explicit::default()
        };
        let body = Body::Messages(vec![message]);
        let request = Request { explicit, body, stream: Some(true), ..Request::default() };
        let found = stories.recognise(&request);
        let ticket = stories.record(&request, &found);
        stories.response(&ticket, [reply.1], reply.0);
        found
    }

    fn path(found: &Recognition) -> Vec<&str> {
        found.path.iter().map(|message| message.text.as_str()).collect()
    }

    #[test]
    fn what_follows_an_unknown_response_goes_on_with_the_chat_it_names_and_else_with_none() {
        let mut stories = KnownStories::new();
        let first = ask(&mut stories, None, Some("inn"), "I come in.", ("r1", "Welcome."));
        let named = ask(&mut stories, Some("gone"), Some("inn"), "Yes.", ("r2", "Sit down."));
        assert_eq!(path(&named), ["I come in.", "Welcome.", "Yes."]);
        assert_eq!(named.chat, first.chat);
        // By the id of its answer.
        let other = ask(&mut stories, None, None, "A fox.", ("r3", "It digs."));
        let id = other.chat.as_ref().unwrap().as_str();
        let third = ask(&mut stories, Some("gone"), Some(id), "It sleeps.", ("r4", "Soundly."));
        assert_eq!(path(&third), ["A fox.", "It digs.", "It sleeps."]);
        // The same words after two responses that nobody knows are two stories.
        let [one, two] =
            ["x", "y"].map(|id| ask(&mut stories, Some(id), None, "Go on.", (id, "So it was.")));
        assert!(one.is_new && two.is_new);
        assert_ne!(one.chat, two.chat);
    }

    #[test]
    fn what_a_tool_answers_goes_on_with_the_story_and_calls_are_no_part_of_it() {
        let mut stories = KnownStories::new();
        let first = ask(&mut stories, None, None, "I come in.", ("r1", ""));
        // The answer of a tool is not a text of the story.
        let answered = ask(&mut stories, Some("r1"), None, "", ("r2", "Welcome."));
        assert_eq!((path(&answered), answered.chat.clone()), (vec!["I come in."], first.chat));
        let next = ask(&mut stories, Some("r2"), None, "Yes.", ("r3", "Sit down."));
        assert_eq!(path(&next), ["I come in.", "Welcome.", "Yes."]);
        assert_eq!(next.chat, answered.chat);
    }

    #[test]
    fn a_request_goes_on_where_the_response_ended_that_it_follows() {
        let mut stories = KnownStories::new();
        let first = ask(&mut stories, None, None, "I come in.", ("r1", "Welcome."));
        let second = ask(&mut stories, Some("r1"), None, "Yes.", ("r2", "Sit down."));
        assert_eq!(path(&second), ["I come in.", "Welcome.", "Yes."]);
        assert_eq!((second.chat, second.is_new, second.before), (first.chat.clone(), false, 2));
        assert_eq!(second.generation, GenerationType::Normal);
        // The same words as before are said again, not left out.
        let third = ask(&mut stories, Some("r2"), None, "Yes.", ("r3", "Good."));
        assert_eq!(path(&third), ["I come in.", "Welcome.", "Yes.", "Sit down.", "Yes."]);
        // Another version of the last reply, and a branch from further back.
        let again = ask(&mut stories, Some("r2"), None, "Yes.", ("r4", "Fine."));
        assert_eq!((again.generation, path(&again)), (GenerationType::Swipe, path(&third)));
        let branch = ask(&mut stories, Some("r1"), None, "No.", ("r5", "Then go."));
        assert_eq!(path(&branch), ["I come in.", "Welcome.", "No."]);
        assert_eq!(branch.chat, first.chat);
    }

    #[test]
    fn a_response_that_another_process_passed_on_is_taken_up_with_its_path() {
        let mut stories = KnownStories::new();
        let first = ask(&mut stories, None, None, "I come in.", ("r1", "Welcome."));
        let chat = first.chat.clone().unwrap();
        let said = |role, text: &str| Message::new(role, None, text);
        let mut nodes = vec![said(Role::User, "I come in."), said(Role::Assistant, "Welcome.")];
        assert!(stories.knows_response("r1") && !stories.knows_response("r2"));
        stories.take_up_response("r2", &chat, &nodes);
        let second = ask(&mut stories, Some("r2"), None, "Yes.", ("r3", "Sit down."));
        assert_eq!(
            (path(&second), second.chat.clone()),
            (vec!["I come in.", "Welcome.", "Yes."], first.chat)
        );
        // A path or a chat that is not known here says nothing.
        nodes[1] = said(Role::Assistant, "Go away.");
        stories.take_up_response("r4", &chat, &nodes);
        stories.take_up_response("r5", &ChatId::from("none"), &nodes[..1]);
        assert!(!stories.knows_response("r4") && !stories.knows_response("r5"));
    }

    #[test]
    fn an_id_that_is_not_known_or_of_another_chat_says_nothing() {
        let mut stories = KnownStories::new();
        let first = ask(&mut stories, None, Some("inn"), "I come in.", ("r1", "Welcome."));
        let unknown = ask(&mut stories, Some("r9"), None, "Who is here?", ("r2", "Nobody."));
        assert_eq!((unknown.is_new, path(&unknown)), (true, vec!["Who is here?"]));
        let other = ask(&mut stories, Some("r1"), Some("sea"), "We sail.", ("r3", "Aye."));
        assert_eq!(path(&other), ["We sail."]);
        assert_ne!(other.chat, first.chat);
        let named = ask(&mut stories, Some("r1"), Some("inn"), "I sit.", ("r4", "Do."));
        assert_eq!(path(&named), ["I come in.", "Welcome.", "I sit."]);
    }

    #[test]
    fn responses_of_chats_that_are_forgotten_and_old_ones_are_forgotten() {
        let mut stories = KnownStories::new();
        ask(&mut stories, None, Some("inn"), "I come in.", ("r1", "Welcome."));
        ask(&mut stories, None, Some("sea"), "We sail.", ("s1", "Aye."));
        stories.forget_beyond(1);
        ask(&mut stories, None, Some("hill"), "We climb.", ("h1", "Up."));
        let gone = ask(&mut stories, Some("r1"), None, "I sit.", ("r2", "Do."));
        assert_eq!(path(&gone), ["I sit."]);
        let mut responses = Responses::default();
        let ended = Ended { slot: Slot(0), born: 1, at: NodeAt(0) };
        for number in 0..=MOST {
            responses.insert(&number.to_string(), ended);
        }
        responses.insert(&"x".repeat(LONGEST + 1), ended);
        assert_eq!((responses.by_id.len(), responses.order.len()), (MOST, MOST));
        assert!(responses.get("0").is_none() && responses.get("1").is_some());
    }
}
