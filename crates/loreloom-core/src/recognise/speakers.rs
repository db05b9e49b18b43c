//! Who speaks, as far as a request tells.

use super::{Body, Request, text::speaker};

/// Names found in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speakers {
    /// The user's name.
    pub user: Option<String>,
    /// All names that are certain, the user's among them.
    pub names: Vec<String>,
    /// Who is asked to speak next.
    pub next: Option<String>,
}

impl Speakers {
    /// The names of a request: stop texts hold the user's, nudges and the group's marker
    /// the others'.
    pub fn of(request: &Request) -> Self {
        let mut speakers = Self::default();
        for stop in &request.stop {
            let name = stop.strip_prefix('\n').and_then(|stop| stop.strip_suffix(':'));
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                speakers.user.get_or_insert_with(|| name.to_owned());
                speakers.add(name);
            }
        }
        match &request.body {
            Body::Messages(messages) => {
                for message in messages {
                    speakers.read(&message.text);
                    let name = message.name.as_deref();
                    if let Some(name) = name.filter(|name| !name.starts_with("example_")) {
                        speakers.add(&name.replace('_', " "));
                    }
                }
            }
            Body::Prompt(prompt) => speakers.read(prompt),
        }
        speakers
    }

    /// Whether this name is certain.
    pub fn knows(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The text without a certain speaker's name, and that name.
    pub(super) fn split<'text>(&self, text: &'text str) -> (Option<&'text str>, &'text str) {
        match speaker(text) {
            Some((name, rest)) if self.knows(name) => (Some(name), rest),
            Some(_) | None => (None, text),
        }
    }

    fn add(&mut self, name: &str) {
        let name = name.trim();
        if !name.is_empty() && !self.knows(name) {
            self.names.push(name.to_owned());
        }
    }

    fn read(&mut self, text: &str) {
        if let Some(members) = between(text, "Group members: ", "]") {
            members.split(", ").for_each(|member| self.add(member));
        }
        if let Some(name) = between(text, "Write the next reply only as ", ".]") {
            self.add(name);
            self.next = Some(name.to_owned());
        }
        // The default main prompt of SillyTavern names both.
        let pair = between(text, "next reply in a fictional chat between ", ".");
        if let Some((char, user)) = pair.and_then(|pair| pair.rsplit_once(" and ")) {
            self.add(char);
            self.add(user);
            self.user.get_or_insert_with(|| user.to_owned());
            self.next.get_or_insert_with(|| char.to_owned());
        }
    }
}

fn between<'text>(text: &'text str, before: &str, after: &str) -> Option<&'text str> {
    let start = text.find(before)? + before.len();
    let end = text[start..].find(after)?;
    let found = &text[start..start + end];
    (!found.contains('\n') && found.len() <= 400).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chat::Role, recognise::WireMessage};

    #[test]
    fn names_come_from_stops_markers_nudges_and_fields() {
        let message = |name: Option<&str>, text: &str| WireMessage {
            role: Role::System,
            name: name.map(str::to_owned),
            text: text.to_owned(),
            tool: false,
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
        assert_eq!(speakers.names, ["Wren", "Mira Vell", "Tobin", "Orsa Kettle"]);
        assert_eq!(speakers.split("Tobin: no"), (Some("Tobin"), "no"));
        assert_eq!(speakers.split("Note: no"), (None, "Note: no"));
    }
}
