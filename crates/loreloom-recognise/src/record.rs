//! Adds a recognised request to its chat, and later the reply.

use super::{
    Kind, KnownStories, PartKind, Recognition, Request, TextKey, kind,
    known_stories::{NodeAt, OpenJoint, Slot},
    responses::Ended,
    stored::as_stored,
};
use loreloom_core::chat::{GenerationType, Message, Role};

/// Where the reply to a recorded request belongs.
#[derive(Clone, Debug)]
pub struct Ticket {
    slot: Option<Slot>,
    /// When the chat in this slot was added: it may be forgotten before the reply comes.
    born: u64,
    /// When the chat was written to with the request.
    recorded: u64,
    at: Option<NodeAt>,
    kind: Kind,
    generation: GenerationType,
    /// Whether the request says itself that it continues.
    certain: bool,
    prefill: Option<String>,
    speaker: Option<String>,
    user: Option<String>,
}

impl Ticket {
    /// The reply is this character's, in a chat with this user.
    pub fn rename(&mut self, speaker: Option<&str>, user: Option<&str>) {
        self.speaker = speaker.map(str::to_owned);
        self.user = user.map(str::to_owned);
    }
}

/// A reply as a message of the story.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The message.
    pub message: Message,
    /// Whether it continues the path's last message and replaces it.
    pub replaces: bool,
}

impl KnownStories {
    /// Adds a recognised request to its chat. Must follow [`KnownStories::recognise`] with nothing
    /// recorded in between.
    pub fn record(&mut self, request: &Request, found: &Recognition) -> Ticket {
        let mut ticket = Ticket {
            slot: found.slot,
            born: found.slot.map_or(0, |slot| self.story(slot).born),
            recorded: 0,
            at: None,
            kind: found.kind,
            generation: found.generation,
            certain: request.explicit.generation.is_some()
                || found.part_kinds.last() != Some(&PartKind::Story),
            prefill: found.prefill().map(str::to_owned),
            speaker: found.speakers.next.clone(),
            user: found.speakers.user.clone(),
        };
        if found.kind == Kind::Background {
            return ticket;
        }
        let known = found.slot.filter(|_| !found.fork);
        let slot = known.unwrap_or_else(|| {
            let id = found.chat.clone().unwrap_or_else(|| self.new_id(&found.window, &found.path));
            self.open(id, None)
        });
        if let Some(id) = request.explicit.chat.as_deref().filter(|id| !self.is_bound(id)) {
            self.bind(slot, id);
        }
        let trunk = found.trunk.filter(|_| known.is_some()).and_then(|(last, count)| {
            let (passed, rest) = found.path.split_at_checked(count)?;
            Some((self.revisit(slot, last, passed), rest))
        });
        let tip = match trunk {
            Some((last, rest)) => self.walk(slot, Some(last), rest),
            None => self.walk(slot, None, &found.path),
        };
        self.learn_preamble(slot, found.window.preamble.iter().map(|part| part.key));
        for (part, kind) in found.window.parts.iter().zip(&found.part_kinds) {
            if !matches!(kind, PartKind::Story | PartKind::Tool) {
                self.learn_injected(slot, part.key);
            }
            if *kind == PartKind::Instruction {
                self.learn_instruction(slot, &part.text);
            }
        }
        let story = self.story_mut(slot);
        (story.tip, story.asked) = (tip, tip);
        story.streams = Some(request.stream == Some(true));
        story.given = story.given.after(request);
        story.examples = story.examples.max(found.window.examples);
        self.written_here(slot);
        let client = self.client_mut(&request.client);
        client.last = Some(slot);
        client.has_cards |= kind::has_card(&found.window);
        if let Some(user) = &found.speakers.user {
            client.learn_user(user);
        }
        let story = self.story(slot);
        (ticket.slot, ticket.at) = (Some(slot), tip);
        (ticket.born, ticket.recorded) = (story.born, story.touched);
        ticket
    }

    /// Notes that a recorded request got no reply: the model refused it or could not be asked.
    /// Sent again, it asks for the first reply and not for another version of one.
    pub fn unanswered(&mut self, ticket: &Ticket) {
        let Some(slot) = ticket.slot.filter(|slot| self.story(*slot).born == ticket.born) else {
            return;
        };
        let story = self.story_mut(slot);
        let answers = |at: NodeAt| {
            let mut next = story.node(at).children.iter();
            next.any(|next| story.node(*next).message.role == Role::Assistant)
        };
        // A later request may still get its reply.
        let is_last = story.touched == ticket.recorded && story.asked == ticket.at;
        if is_last && !ticket.at.is_some_and(answers) {
            story.asked = None;
        }
    }

    /// Adds the reply to a recorded request: one text for each choice. Returns what is story.
    pub fn reply<'a>(
        &mut self,
        ticket: &Ticket,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Vec<Answer> {
        let Some(slot) = ticket.slot.filter(|slot| self.story(*slot).born == ticket.born) else {
            return Vec::new();
        };
        let mut nodes = Vec::new();
        for text in texts {
            if ticket.kind == Kind::Background {
                self.learn_background(slot, TextKey::of(text));
                continue;
            }
            let blanks = &text[..text.len() - text.trim_start().len()];
            let words = as_stored(text, ticket.speaker.as_deref(), ticket.user.as_deref());
            let reply = ReplyWords { blanks, words: &words };
            nodes.extend(match ticket.generation {
                GenerationType::Impersonate | GenerationType::Quiet | GenerationType::Edit => None,
                GenerationType::Continue => Some(self.continued(slot, ticket, reply)),
                GenerationType::Normal | GenerationType::Swipe | GenerationType::Regenerate => {
                    Some((self.answered(slot, ticket, reply), false))
                }
            });
        }
        if let Some((first, _)) = nodes.first() {
            self.story_mut(slot).tip = Some(*first);
        }
        let story = self.story(slot);
        let answer = |(at, replaces): (NodeAt, bool)| Answer {
            message: story.node(at).message.clone(),
            replaces,
        };
        nodes.into_iter().map(answer).collect()
    }

    fn answered(&mut self, slot: Slot, ticket: &Ticket, reply: ReplyWords<'_>) -> NodeAt {
        let ReplyWords { blanks, words } = reply;
        let speaker = ticket.speaker.as_deref();
        let bare = Message::new(Role::Assistant, speaker, words);
        match &ticket.prefill {
            Some(prefill) if !prefill_names(prefill, ticket) => {
                let whole = format!("{prefill}{blanks}{words}");
                let whole = Message::new(Role::Assistant, speaker, whole);
                let (key, parent) = (TextKey::of(&whole.text), ticket.at);
                let known = self.story(slot).child(parent, key, whole.role).is_some();
                let node = self.step(slot, parent, &whole);
                if key != TextKey::of(words) {
                    self.step(slot, parent, &bare);
                    if !known {
                        self.story_mut(slot).nodes[node.0].joint = Some(OpenJoint::Prefilled);
                    }
                }
                node
            }
            Some(_) | None => self.step(slot, ticket.at, &bare),
        }
    }

    /// The reply continues the last message. If the request may also have asked for a new message,
    /// both are kept until the next request shows which.
    fn continued(&mut self, slot: Slot, ticket: &Ticket, reply: ReplyWords<'_>) -> (NodeAt, bool) {
        let Some(at) = ticket.at else { return (self.answered(slot, ticket, reply), false) };
        if !ticket.certain {
            self.answered(slot, ticket, reply);
        }
        let ReplyWords { blanks, words } = reply;
        let story = self.story(slot);
        let node = story.node(at);
        let (parent, mut whole) = (node.parent, node.message.clone());
        let begun = whole.text.trim_end().len();
        // Front ends keep the model's own blanks; without any they put something between.
        let joint = [blanks, &whole.text[begun..]].into_iter().find(|blanks| !blanks.is_empty());
        let joint = joint.unwrap_or(&story.joint);
        whole.text = format!("{}{joint}{words}", &whole.text[..begun]).into();
        let known = story.child(parent, TextKey::of(&whole.text), whole.role).is_some();
        let node = self.step(slot, parent, &whole);
        if !known {
            self.story_mut(slot).nodes[node.0].joint = Some(OpenJoint::Continued(begun));
        }
        (node, true)
    }
}

/// A reply as it is stored, and the blanks it began with.
#[derive(Clone, Copy)]
struct ReplyWords<'text> {
    blanks: &'text str,
    words: &'text str,
}

impl KnownStories {
    /// Where the reply to a request ended: with the newest message if it `said` something, else
    /// where it was asked.
    pub(super) fn ended(&self, ticket: &Ticket, said: bool) -> Option<Ended> {
        let slot = ticket.slot.filter(|slot| self.story(*slot).born == ticket.born)?;
        let at = if said { self.story(slot).tip } else { ticket.at };
        Some(Ended { slot, born: ticket.born, at: at? })
    }
}

/// Whether the prescribed beginning is only the speaker's name.
fn prefill_names(prefill: &str, ticket: &Ticket) -> bool {
    let name = prefill.trim().trim_end_matches(':');
    ticket.speaker.as_deref() == Some(name)
}
