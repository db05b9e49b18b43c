//! Who speaks, as far as a request shows.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use loreloom_core::{chat::Role, instruct::template_of};

use super::{Body, Request, text::speaker};

/// What comes before names. Every message is searched for these, so the search is prepared once.
static MEMBERS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("Group members: "));
/// Part of both phrases below: one search excludes most texts.
static REPLY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("next reply "));
static NEXT: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("Write the next reply only as "));
static PAIR: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("next reply in a fictional chat between "));

/// Names found in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speakers {
    /// The user's name.
    pub user: Option<String>,
    /// All names that are certain, the user's among them.
    pub names: Vec<String>,
    /// Who is asked to speak next.
    pub next: Option<String>,
    /// Names that the user had before: old messages keep them.
    pub(super) former: Vec<String>,
}

impl Speakers {
    /// The names of a request. Those it says itself win; else stop texts hold the user's, nudges and the group's marker
    /// the others'.
    pub fn of(request: &Request) -> Self {
        let (user, next) = (request.explicit.user.clone(), request.explicit.char.clone());
        let names = user.iter().chain(&next).cloned().collect();
        let mut speakers = Self { user, names, next, former: Vec::new() };
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
            }
            Body::Prompt(prompt) => speakers.read(prompt),
        }
        speakers.read_stops(request);
        speakers
    }

    /// Takes up the names that the user had before, but for those that others have now.
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

    /// The model must not speak for the user, whose name comes first. When it is to speak
    /// for the user, the character's name comes first and the user's second.
    fn read_stops(&mut self, request: &Request) {
        let name = |stop: &'_ String| -> Option<String> {
            let name = stop.strip_prefix('\n')?.strip_suffix(':')?;
            (!name.is_empty()).then(|| name.to_owned())
        };
        let stops: Vec<String> = request.stop.iter().filter_map(name).collect();
        for name in &stops {
            self.add(name);
        }
        let impersonates = matches!(&request.body, Body::Prompt(prompt) if opens_user(prompt));
        let open = match &request.body {
            Body::Prompt(prompt) => prompt.lines().last().and_then(|line| line.strip_suffix(':')),
            Body::Messages(_) => None,
        };
        let open = open.filter(|open| stops.iter().any(|stop| stop == open)).map(str::to_owned);
        let place = usize::from(impersonates && stops.len() > 1);
        if let Some(user) = open.or_else(|| stops.get(place).cloned()) {
            self.user.get_or_insert(user);
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
            members.split(", ").for_each(|member| self.add(member));
        }
        if let Some(name) = between(text, &NEXT, ".]") {
            self.add(name);
            self.next.get_or_insert_with(|| name.to_owned());
        }
        // The default main prompt of SillyTavern names both.
        let pair = between(text, &PAIR, ".");
        if let Some((char, user)) = pair.and_then(|pair| pair.rsplit_once(" and ")) {
            self.add(char);
            self.add(user);
            self.user.get_or_insert_with(|| user.to_owned());
            self.next.get_or_insert_with(|| char.to_owned());
        }
    }
}

/// Whether a text may have phrases that name speakers. Tells it of most texts that they have none.
pub(super) fn may_name(text: &str) -> bool {
    MEMBERS.find(text.as_bytes()).is_some() || REPLY.find(text.as_bytes()).is_some()
}

/// Whether a prompt ends with a turn of the user that is only opened.
fn opens_user(prompt: &str) -> bool {
    template_of(prompt).is_some_and(|template| {
        let mut openings = template.openings.iter().filter(|(role, _)| *role == Role::User);
        openings.any(|(_, opening)| prompt.trim_end().ends_with(opening))
    })
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
