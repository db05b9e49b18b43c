//! Taking up what was recognised, and the reply to it.

use super::{
    Kind, Memory, Recognition, Request, Standing, TextKey, kind,
    memory::{NodeAt, Slot},
};
use crate::chat::{GenerationType, Message, Role};

/// Where the reply to a recorded request belongs.
#[derive(Clone, Debug)]
pub struct Ticket {
    slot: Option<Slot>,
    at: Option<NodeAt>,
    kind: Kind,
    generation: GenerationType,
    /// Whether the request says itself that it continues.
    certain: bool,
    prefill: Option<String>,
    speaker: Option<String>,
}

impl Memory {
    /// Takes up a recognised request. Must follow [`Memory::recognise`] with nothing
    /// recorded in between.
    pub fn record(&mut self, request: &Request, found: &Recognition) -> Ticket {
        let mut ticket = Ticket {
            slot: found.slot,
            at: None,
            kind: found.kind,
            generation: found.generation,
            certain: request.explicit.generation.is_some()
                || found.standings.last() != Some(&Standing::Story),
            prefill: found.prefill().map(str::to_owned),
            speaker: found.speakers.next.clone(),
        };
        if found.kind == Kind::Background {
            return ticket;
        }
        let known = found.slot.filter(|_| !found.fork);
        let slot = known.unwrap_or_else(|| {
            let id = found.chat.clone().unwrap_or_else(|| self.new_id(&found.path));
            self.open(id, None)
        });
        if let Some(id) = request.explicit.chat.as_deref().filter(|id| self.bound_to(id).is_none())
        {
            self.bind(slot, id);
        }
        let tip = self.walk(slot, &found.path);
        self.learn_preamble(slot, found.window.preamble.iter().map(|part| part.key));
        for (part, standing) in found.window.parts.iter().zip(&found.standings) {
            if !matches!(standing, Standing::Story | Standing::Tool) {
                self.learn_injected(slot, part.key);
            }
            if *standing == Standing::Instruction {
                self.learn_instruction(slot, &part.text);
            }
        }
        let story = self.story_mut(slot);
        (story.tip, story.asked) = (tip, tip);
        story.streams = Some(request.stream == Some(true));
        story.examples = story.examples.max(found.window.examples);
        let client = self.client_mut(&request.client);
        client.last = Some(slot);
        client.has_cards |= kind::has_card(&found.window);
        (ticket.slot, ticket.at) = (Some(slot), tip);
        ticket
    }

    /// Takes up the reply to a recorded request: one text for each choice.
    pub fn reply<'a>(&mut self, ticket: &Ticket, texts: impl IntoIterator<Item = &'a str>) {
        let Some(slot) = ticket.slot else { return };
        let mut first = None;
        for text in texts {
            if ticket.kind == Kind::Background {
                self.story_mut(slot).background.insert(TextKey::of(text));
                continue;
            }
            let node = match ticket.generation {
                GenerationType::Impersonate | GenerationType::Quiet => None,
                GenerationType::Continue => Some(self.continued(slot, ticket, text)),
                GenerationType::Normal | GenerationType::Swipe | GenerationType::Regenerate => {
                    Some(self.answered(slot, ticket, text))
                }
            };
            first = first.or(node);
        }
        if first.is_some() {
            self.story_mut(slot).tip = first;
        }
    }

    fn answered(&mut self, slot: Slot, ticket: &Ticket, text: &str) -> NodeAt {
        let speaker = ticket.speaker.as_deref();
        let bare = Message::new(Role::Assistant, speaker, text);
        match &ticket.prefill {
            Some(prefill) if !prefill_names(prefill, ticket) => {
                let whole = Message::new(Role::Assistant, speaker, format!("{prefill}{text}"));
                let same = TextKey::of(&whole.text) == TextKey::of(text);
                let node = self.step(slot, ticket.at, &whole);
                if !same {
                    self.step(slot, ticket.at, &bare);
                }
                node
            }
            Some(_) | None => self.step(slot, ticket.at, &bare),
        }
    }

    /// The reply is the rest of the last message; where the request might as well have
    /// asked for a message after it, both are kept until the next request tells.
    fn continued(&mut self, slot: Slot, ticket: &Ticket, text: &str) -> NodeAt {
        let Some(at) = ticket.at else { return self.answered(slot, ticket, text) };
        if !ticket.certain {
            self.answered(slot, ticket, text);
        }
        let node = self.story(slot).node(at);
        let (parent, mut whole) = (node.parent, node.message.clone());
        whole.text = format!("{} {text}", whole.text.trim_end());
        self.step(slot, parent, &whole)
    }
}

/// Whether the prescribed beginning is only the speaker's name.
fn prefill_names(prefill: &str, ticket: &Ticket) -> bool {
    let name = prefill.trim().trim_end_matches(':');
    ticket.speaker.as_deref() == Some(name)
}
