//! What a front end says about a request before it sends it.
//!
//! Most sources of SillyTavern carry neither our field nor our headers, so its extension names
//! the chat in a call of its own. The request is found by the newest message: its prompt must
//! contain that text. A turn that a front end places itself is expected too, so that the proxy
//! does not weave it a second time when both are in use.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use loreloom_core::{turn::StoryContext, units::Timestamp};
use loreloom_recognise::{Body, Explicit, Request};

use super::{StatedLimits, body::RequestBody};

/// How long a request is expected, in milliseconds: a front end may count tokens first.
const LONGEST: i64 = 120_000;
/// The most requests that are remembered.
const MOST: usize = 64;

/// What a front end says about its next request.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExpectedRequest {
    /// Chat, kind of generation, names and the author's note in its prompt.
    pub(crate) explicit: Explicit,
    /// What it states about the story.
    pub(crate) stated: StoryContext,
    /// How large its context is, and how long the reply may be.
    pub(crate) limits: StatedLimits,
    /// The text of the newest message, which the prompt must contain.
    pub(crate) newest: String,
    /// Whether the front end places the lore itself.
    pub(crate) placed: bool,
}

struct AnnouncedRequest {
    id: u64,
    since: Timestamp,
    request: ExpectedRequest,
    arrived: bool,
}

/// The requests that front ends announced.
#[derive(Default)]
pub(crate) struct ExpectedRequests {
    waiting: Mutex<VecDeque<AnnouncedRequest>>,
    last: AtomicU64,
}

impl ExpectedRequests {
    /// Expects a request. Returns a number to ask [`Self::has_arrived`] with.
    pub(crate) fn put(&self, request: ExpectedRequest, now: Timestamp) -> u64 {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_front(AnnouncedRequest { id, since: now, request, arrived: false });
        waiting.truncate(MOST);
        id
    }

    /// Whether an announced request came through the proxy; `None` if it is forgotten.
    pub(crate) fn has_arrived(&self, id: u64) -> Option<bool> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.iter().find(|one| one.id == id).map(|one| one.arrived)
    }

    /// The chat of an announced request.
    pub(crate) fn chat(&self, id: u64) -> Option<String> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.iter().find(|one| one.id == id)?.request.explicit.chat.clone()
    }

    /// What was said about this request, once.
    fn take(&self, request: &Request, now: Timestamp) -> Option<ExpectedRequest> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let found = waiting.iter_mut().find(|one| {
            let is_fresh = now.0.saturating_sub(one.since.0) <= LONGEST;
            let chat = request.explicit.chat.as_ref();
            let same_chat =
                chat.is_none_or(|chat| one.request.explicit.chat.as_ref() == Some(chat));
            !one.arrived && is_fresh && same_chat && holds(&request.body, &one.request.newest)
        })?;
        found.arrived = true;
        Some(found.request.clone())
    }

    /// Adds what was said about a request to it. What the request says itself wins. Returns
    /// whether the front end places the lore of this turn itself.
    pub(super) fn apply(&self, body: &mut RequestBody, now: Timestamp) -> bool {
        let Some(expected) = self.take(&body.request, now) else { return false };
        let (own, said) = (&mut body.request.explicit, expected.explicit);
        own.chat = own.chat.take().or(said.chat);
        own.generation = own.generation.or(said.generation);
        own.user = own.user.take().or(said.user);
        own.char = own.char.take().or(said.char);
        own.placed_note = own.placed_note.take().or(said.placed_note);
        body.stated = body.stated.after(&expected.stated);
        body.limits = body.limits.or(expected.limits);
        expected.placed
    }
}

/// How many of the newest messages are looked through: notes can come behind the chat.
const NEWEST: usize = 6;

/// Whether a prompt has a text as its own lines: "Hi" is no part of "His hat".
fn holds(body: &Body, text: &str) -> bool {
    match body {
        Body::Messages(messages) => {
            let mut newest = messages.iter().rev().take(NEWEST);
            newest.any(|message| has_lines(message.text.as_str(), text))
        }
        Body::Prompt(prompt) => has_lines(prompt, text),
    }
}

/// Whether a text has these lines, the first of them perhaps behind the name of its speaker.
fn has_lines(text: &str, lines: &str) -> bool {
    let lines = lines.trim();
    text.match_indices(lines).any(|(at, _)| {
        let (before, after) =
            (&text[..at], text[at + lines.len()..].trim_start_matches([' ', '\t']));
        // What follows a line in a template is a marker: `</s>`, `<|im_end|>`, `[/INST]`.
        let ends = after.is_empty() || after.starts_with(['\n', '\r', '<', '[']);
        let before = before.trim_end_matches([' ', '\t']);
        let begins = before.is_empty() || before.ends_with(['\n', ':', '>', ']']);
        begins && ends
    })
}

#[cfg(test)]
mod tests {
    use loreloom_core::chat::Role;
    use loreloom_recognise::WireMessage;

    use super::*;

    fn request(text: &str, chat: Option<&str>) -> Request {
        let text = WireMessage { role: Role::User, text: text.into(), ..WireMessage::default() };
        let explicit = Explicit { chat: chat.map(str::to_owned), ..Explicit::default() };
        Request { explicit, body: Body::Messages(vec![text]), ..Request::default() }
    }

    fn expect(chat: &str, newest: &str) -> ExpectedRequest {
        let explicit = Explicit { chat: Some(chat.to_owned()), ..Explicit::default() };
        ExpectedRequest { explicit, newest: newest.to_owned(), ..ExpectedRequest::default() }
    }

    #[test]
    fn a_request_is_found_by_its_newest_message_and_only_once() {
        let all = ExpectedRequests::default();
        let (inn, ship) = (expect("inn", "I knock."), expect("ship", "I sail."));
        let (inn, ship) = (all.put(inn, Timestamp(0)), all.put(ship, Timestamp(0)));
        let chat = |text: &str, named, at| {
            all.take(&request(text, named), Timestamp(at)).and_then(|found| found.explicit.chat)
        };
        assert_eq!(chat("Wren: I wait.", None, 1), None);
        assert_eq!(chat("Wren: I knock.", Some("mill"), 1), None, "it names another chat");
        assert_eq!(chat("Wren: I knock.", None, 1).as_deref(), Some("inn"));
        assert_eq!(chat("Wren: I knock.", None, 1), None, "a second request like it is another");
        assert_eq!(chat("I sail.", None, LONGEST + 1), None, "too late");
        assert_eq!((all.has_arrived(inn), all.has_arrived(ship)), (Some(true), Some(false)));
        assert_eq!(all.has_arrived(9), None);
    }

    #[test]
    fn a_short_message_is_no_part_of_another_text() {
        for (prompt, newest, expected) in [
            ("Wren: Hi", "Hi", true),
            ("Hi\n\n[A note behind it.]", "Hi ", true),
            ("[INST] Wren: Hi [/INST]", "Hi", true),
            ("<|im_start|>user\nHi<|im_end|>", "Hi", true),
            ("His hat is wet.", "Hi", false),
            ("She said Hi and left.", "Hi", false),
        ] {
            assert_eq!(has_lines(prompt, newest), expected, "{prompt}");
        }
    }
}
