//! A front end for tests: it keeps a chat and sends prompts, as a proxy sees them.

use crate::*;
use loreloom_core::chat::Role::{self, Assistant, System, User};

/// A front end with one character, as far as a proxy sees it.
#[derive(Clone, Debug)]
pub(super) struct FrontEnd {
    pub(super) card: String,
    pub(super) chat: Vec<(Role, String)>,
    pub(super) replies: usize,
}

impl FrontEnd {
    pub(super) fn new(card: &str) -> Self {
        let greeting = (Assistant, format!("{card} opens the door."));
        Self { card: card.to_owned(), chat: vec![greeting], replies: 0 }
    }

    pub(super) fn request(&self, skip: usize, after: &[(Role, &str)]) -> Request {
        let head = [(System, format!("Write {}.", self.card)), (System, self.card.clone())];
        let chat = self.chat.iter().skip(skip).cloned();
        let after = after.iter().map(|(role, text)| (*role, (*text).to_owned()));
        let message = |(role, text): (Role, String)| WireMessage {
            role,
            text: text.into(),
            ..WireMessage::default()
        };
        let messages = head.into_iter().chain(chat).chain(after).map(message).collect();
        Request { stream: Some(true), body: Body::Messages(messages), ..Request::default() }
    }

    pub(super) fn texts(&self) -> Vec<&str> {
        self.chat.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Sends the chat and takes the reply; returns what was recognised.
    pub(super) fn send(&mut self, stories: &mut KnownStories, skip: usize) -> Recognition {
        let request = self.request(skip, &[]);
        let found = stories.recognise(&request);
        let mut walked = stories.clone();
        let ticket = stories.record(&request, &found);
        // The unchanged beginning is only a shortcut: without it the result is the same.
        walked.record(&request, &Recognition { trunk: None, ..found.clone() });
        assert_eq!(format!("{stories:?}"), format!("{walked:?}"));
        self.replies += 1;
        let reply = format!("{} answers, number {}.", self.card, self.replies);
        stories.reply(&ticket, [reply.as_str()]);
        self.chat.push((Assistant, reply));
        found
    }

    pub(super) fn say(&mut self, text: &str) {
        self.chat.push((User, text.to_owned()));
    }
}

pub(super) fn path(found: &Recognition) -> Vec<&str> {
    found.path.iter().map(|message| message.text.as_str()).collect()
}

/// Plays a chat of a few turns; returns the front end and the chat's id.
pub(super) fn play(stories: &mut KnownStories, card: &str, turns: usize) -> (FrontEnd, ChatId) {
    let mut front_end = FrontEnd::new(card);
    let mut chat = None;
    for turn in 0..turns {
        front_end.say(&format!("{card} is asked for the {turn}th time."));
        chat = front_end.send(stories, 0).chat;
    }
    (front_end, chat.unwrap())
}
