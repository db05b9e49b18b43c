//! Who speaks, as far as a request and its chat show.
//!
//! Evidence comes in four steps; a later step never replaces what an earlier one found:
//!
//! 1. names that the front end gave ([`GivenNames`]), nudges, markers and stop texts;
//! 2. the speakers of its messages, and the names in its instructions (`roles`, `phrases`);
//! 3. the last names on the branch;
//! 4. the card (`card`).

mod card;
mod naming;
mod phrases;
mod roles;

use std::sync::LazyLock;

use memchr::memmem::Finder;

use loreloom_core::{
    chat::{Message, Role, identity::without_speaker},
    instruct::{only_a_name, template_of, turns},
};

pub(crate) use self::naming::is_label;
use self::{
    phrases::{addresses_the_model, named_roles},
    roles::SpeakingRoles,
};
use super::{
    Body, Request,
    text::{bracketed, speaker},
    window::{Part, Shape, Window, is_example_marker, is_start_marker},
};

/// Phrases before names. Every message is searched for them, so the search is prepared once.
static MEMBERS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("Group members: "));
/// Part of both phrases below: one search excludes most texts.
static REPLY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("next reply "));
static NEXT: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("Write the next reply only as "));
static PAIR: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("next reply in a fictional chat between "));

/// Names that a front end gave. They count until it gives others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenNames {
    /// The user's name.
    pub user: Option<String>,
    /// The name of the character who speaks.
    pub char: Option<String>,
}

impl GivenNames {
    /// The names after a request. An empty name removes the given one.
    pub(super) fn after(&self, request: &Request) -> Self {
        let now = |stated: &Option<String>, before: &Option<String>| match stated {
            Some(name) => Some(name.clone()).filter(|name| !name.is_empty()),
            None => before.clone(),
        };
        Self {
            user: now(&request.explicit.user, &self.user),
            char: now(&request.explicit.char, &self.char),
        }
    }
}

/// Names found in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speakers {
    /// The user's name.
    pub user: Option<String>,
    /// All names that are certain, the user's among them.
    pub names: Vec<String>,
    /// Who is asked to speak next.
    pub next: Option<String>,
    /// Whether several characters take part: then the next speaker cannot be guessed.
    pub group: bool,
    /// The members of the group: none of them is the user.
    pub(super) members: Vec<String>,
    /// Names that the user had before: old messages keep them.
    pub(super) former: Vec<String>,
}

impl Speakers {
    /// The certain names of a request. Given names win. Otherwise the user's name comes from stop
    /// texts, and the others' names from nudges and the group's marker.
    pub fn of(request: &Request) -> Self {
        let GivenNames { user, char: next } = GivenNames::default().after(request);
        let names = user.iter().chain(&next).cloned().collect();
        let mut speakers = Self { user, names, next, ..Self::default() };
        match &request.body {
            Body::Messages(messages) => {
                for message in messages {
                    if !message.nameless {
                        speakers.read(&message.text);
                    }
                    let name = message.name.as_deref();
                    if let Some(name) = name.filter(|name| !name.starts_with("example_")) {
                        speakers.add(&name.replace('_', " "));
                    }
                }
                speakers
                    .read_pair(messages.iter().filter(|one| !one.nameless).map(|one| &*one.text));
            }
            Body::Prompt(prompt) => {
                speakers.read(prompt);
                speakers.read_pair([prompt.as_str()]);
            }
        }
        speakers.read_stops(request);
        speakers
    }

    /// Adds the names that the front end gave this chat.
    pub fn give(&mut self, given: GivenNames) {
        given.user.iter().chain(&given.char).for_each(|name| self.add(name));
        self.user = given.user.or_else(|| self.user.take());
        self.next = given.char.or_else(|| self.next.take());
    }

    /// Learns from the pieces of a request: their speakers, and the names in its instructions.
    pub(super) fn learn(&mut self, request: &Request, window: &mut Window) {
        let instructions = instructions(request, window);
        // If roles were read from names, they prove nothing about names.
        let by_name = window.shape == Shape::Single || matches!(request.body, Body::Prompt(_));
        let shown = if by_name && self.user.is_none() {
            SpeakingRoles::default()
        } else {
            SpeakingRoles::of(window, &instructions)
        };
        self.group |= shown.group;
        shown.names.iter().for_each(|name| self.add(name));
        if let Some(user) = shown.user.filter(|name| !self.members.contains(name)) {
            self.user.get_or_insert(user);
        }
        if let Some(char) = shown.char.filter(|_| !self.group) {
            self.next.get_or_insert(char);
        }
        if self.user.is_none() || self.next.is_none() {
            for (at, text) in instructions.iter().enumerate() {
                let mut named = named_roles(text);
                // Behind the main prompt come card, persona and lore, and "she loves talking to Odo"
                // says nothing about who plays.
                if at > 0 && !bracketed(text) && !addresses_the_model(text) {
                    named.user = named.user.filter(|name| self.knows(name));
                    named.char = named.char.filter(|name| self.knows(name));
                }
                let is_user = |name: &String| self.user.as_deref() == Some(name.as_str());
                let char = named.char.filter(|name| !is_user(name));
                let is_next = |name: &String| self.next.as_deref() == Some(name.as_str());
                let user = named.user.filter(|name| !is_next(name));
                char.iter().chain(&user).for_each(|name| self.add(name));
                self.next = self.next.take().or(char);
                self.user = self.user.take().or(user);
            }
        }
        for part in &mut window.parts {
            self.name_part(part);
        }
    }

    /// Removes the name from a piece that begins with a certain name.
    fn name_part(&self, part: &mut Part) {
        if part.name.is_none()
            && !part.tool
            && let (Some(name), words) = self.split(&part.text)
        {
            (part.name, part.text) = (Some(name.to_owned()), part.text.cut_to(words));
        }
    }

    /// Adds the last names on the branch, then the name in the card.
    pub(super) fn remember(&mut self, path: &[Message], request: &Request, window: &Window) {
        // The roles are a guess.
        if window.shape == Shape::Single && self.user.is_none() {
            return;
        }
        let said = path.iter().rev().filter(|message| message.role == Role::User);
        let mut names = said.filter_map(|message| message.name.clone());
        let last = names.find(|name| !self.members.contains(name));
        self.user = self.user.take().or(last).or_else(|| self.former.last().cloned());
        if self.next.is_some() || self.group {
            return;
        }
        self.next = roles::usual_speaker(path).or_else(|| {
            let inside = window.parts.iter().filter(|part| part.role == Role::System && !part.tool);
            let inside = inside.filter(|_| window.shape != Shape::Single);
            let card: Vec<&str> =
                head(request, window).chain(inside).map(|part| &*part.text).collect();
            let replies = path.iter().filter(|message| message.role == Role::Assistant);
            let replies: Vec<&str> = replies.take(REPLIES).map(|reply| &*reply.text).collect();
            card::introduced(&card, &replies, |name| self.is_user(name))
        });
    }

    /// Names the messages that have no speaker yet. A message whose text begins with the name stays
    /// unchanged: it would become another message.
    pub fn name(&self, messages: &mut [Message]) {
        let char = self.next.as_deref().filter(|_| !self.group);
        for message in messages.iter_mut().filter(|message| message.name.is_none()) {
            let name = match message.role {
                Role::User => self.user.as_deref(),
                Role::Assistant => char,
                Role::System => Some(NARRATOR),
                Role::Tool => None,
            };
            let in_text = without_speaker(&message.text, name).len() < message.text.len();
            message.name = name.filter(|_| !in_text).map(str::to_owned);
        }
    }

    /// Adds the names that the user had before, except those that others have now.
    pub(super) fn had(&mut self, names: &[String]) {
        let former = names.iter().filter(|name| !self.knows(name));
        self.former = former.cloned().collect();
    }

    /// Whether the user speaks under this name, or did.
    pub(super) fn is_user(&self, name: &str) -> bool {
        self.user.as_deref() == Some(name) || self.former.iter().any(|former| former == name)
    }

    /// Whether this name is certain.
    pub fn knows(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The text without a certain speaker's name, and that name.
    pub(super) fn split<'text>(&self, text: &'text str) -> (Option<&'text str>, &'text str) {
        if self.names.is_empty() {
            return (None, text);
        }
        match speaker(text) {
            Some((name, rest)) if self.knows(name) => (Some(name), rest),
            Some(_) | None => (None, text),
        }
    }

    /// Reads the stop texts: front ends stop the model at names. The user's name comes first. If the
    /// model is to speak for the user, the character's name comes first and the user's second.
    fn read_stops(&mut self, request: &Request) {
        let name = |stop: &'_ String| -> Option<String> {
            let name = stop.strip_prefix('\n')?.strip_suffix(':')?;
            // Separators of templates are stop texts, too, and people add their own: `OOC:`.
            let is_name = !name.is_empty() && !name.contains(['#', '<', '[', '|', '\n']);
            (is_name && !is_label(name)).then(|| name.to_owned())
        };
        let stops: Vec<String> = request.stop.iter().filter_map(name).collect();
        for name in &stops {
            self.add(name);
        }
        let open = match &request.body {
            Body::Prompt(prompt) => open_turn(prompt),
            Body::Messages(_) => OpenTurn::default(),
        };
        let stopped = |name: &String| stops.contains(name);
        let impersonates = open.role == Some(Role::User) || open.name.as_ref().is_some_and(stopped);
        let place = usize::from(impersonates && stops.len() > 1);
        let user = open.name.clone().filter(stopped).or_else(|| stops.get(place).cloned());
        if let Some(user) = user {
            self.user.get_or_insert(user);
        }
        // In a group the model must not speak for the other members either.
        self.group |= stops.len() > 1 + place;
        if let Some(next) =
            open.name.filter(|name| !impersonates && only_a_name(&format!("{name}:")))
        {
            self.add(&next);
            self.next.get_or_insert(next);
        }
    }

    fn add(&mut self, name: &str) {
        let name = name.trim();
        if !name.is_empty() && !self.knows(name) {
            self.names.push(name.to_owned());
        }
    }

    fn read(&mut self, text: &str) {
        if let Some(members) = between(text, &MEMBERS, "]") {
            self.group = true;
            for member in members.split(", ") {
                self.add(member);
                self.members.push(member.to_owned());
            }
        }
        if let Some(name) = between(text, &NEXT, ".]") {
            self.add(name);
            self.members.push(name.to_owned());
            self.next.get_or_insert_with(|| name.to_owned());
        }
    }

    /// The default main prompt of SillyTavern names both. In a group it lists all members, and the
    /// nudge names who speaks.
    fn read_pair<'text>(&mut self, texts: impl IntoIterator<Item = &'text str>) {
        let pairs = texts.into_iter().filter_map(|text| between(text, &PAIR, "."));
        for (char, user) in pairs.filter_map(|pair| pair.rsplit_once(" and ")) {
            self.add(user);
            self.user.get_or_insert_with(|| user.to_owned());
            if self.group {
                continue;
            }
            self.add(char);
            self.next.get_or_insert_with(|| char.to_owned());
        }
    }
}

/// What SillyTavern calls its narrator: keys may look for it.
const NARRATOR: &str = "System";

/// How many replies are read for the character's name.
const REPLIES: usize = 16;

/// The texts of a request that instruct the model: what comes before the examples and the chat,
/// and nudges inside the chat.
fn instructions<'a>(request: &'a Request, window: &'a Window) -> Vec<&'a str> {
    let is_nudge = |part: &&Part| part.role == Role::System && !part.tool && bracketed(&part.text);
    let inside = window.parts.iter().filter(is_nudge);
    head(request, window).chain(inside).map(|part| part.text.as_str()).collect()
}

/// What comes before the examples and the chat.
fn head<'a>(request: &'a Request, window: &'a Window) -> impl Iterator<Item = &'a Part> {
    let is_example = |part: &Part| match &request.body {
        Body::Messages(messages) => {
            let name = messages.get(part.spot.message).and_then(|message| message.name.as_deref());
            name.is_some_and(|name| name.starts_with("example_"))
        }
        // A template without a system role writes the instructions as the user's first turn.
        Body::Prompt(_) => {
            let first = window.preamble.first().map(|first| &first.spot);
            part.role != Role::System && Some(&part.spot) != first
        }
    };
    let is_end = |part: &&Part| !is_example_marker(&part.text) && !is_start_marker(&part.text);
    window.preamble.iter().take_while(is_end).filter(move |part| !is_example(part))
}

/// Whether a text may have phrases that name speakers. Most texts have none.
pub(super) fn may_name(text: &str) -> bool {
    MEMBERS.find(text.as_bytes()).is_some() || REPLY.find(text.as_bytes()).is_some()
}

/// The turn that a text prompt ends with, if it is only opened.
#[derive(Clone, Debug, Default)]
struct OpenTurn {
    role: Option<Role>,
    name: Option<String>,
}

fn open_turn(prompt: &str) -> OpenTurn {
    let bare = |text: &str| only_a_name(text).then(|| text.trim().trim_end_matches(':').to_owned());
    let Some(template) = template_of(prompt) else {
        let name = prompt.lines().last().and_then(bare);
        return OpenTurn { role: None, name };
    };
    let Some(last) = turns(prompt, template, |_| false).pop() else { return OpenTurn::default() };
    let text = &prompt[last.range.clone()];
    if last.closed || !(text.is_empty() || only_a_name(text)) {
        return OpenTurn::default();
    }
    OpenTurn { role: Some(last.role), name: last.name.or_else(|| bare(text)) }
}

fn between<'text>(text: &'text str, before: &Finder<'_>, after: &str) -> Option<&'text str> {
    let start = before.find(text.as_bytes())? + before.needle().len();
    let end = text[start..].find(after)?;
    let found = &text[start..start + end];
    (!found.contains('\n') && found.len() <= 400).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WireMessage;

    #[test]
    fn names_come_from_stops_markers_nudges_and_fields() {
        let message = |name: Option<&str>, text: &str| WireMessage {
            role: Role::System,
            name: name.map(str::to_owned),
            text: text.into(),
            ..WireMessage::default()
        };
        let request = Request {
            stop: vec!["\nWren:".to_owned(), "###".to_owned()],
            body: Body::Messages(vec![
                message(None, "[Start a new group chat. Group members: Mira Vell, Tobin]"),
                message(Some("Orsa_Kettle"), "hello"),
                message(Some("example_user"), "hello"),
                message(None, "[Write the next reply only as Tobin.]"),
            ]),
            ..Request::default()
        };
        let speakers = Speakers::of(&request);
        assert_eq!(speakers.user.as_deref(), Some("Wren"));
        assert_eq!(speakers.next.as_deref(), Some("Tobin"));
        assert_eq!(speakers.names, ["Mira Vell", "Tobin", "Orsa Kettle", "Wren"]);
        assert_eq!(speakers.split("Tobin: no"), (Some("Tobin"), "no"));
        assert_eq!(speakers.split("Note: no"), (None, "Note: no"));
    }
}
