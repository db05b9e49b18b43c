//! The names of the speakers on a path.
//!
//! A message's id leaves the speaker out, so that a renamed persona changes nothing; the
//! tree therefore stores each message with the first name it came with. Keys are looked
//! for in `Name: text`, so a turn must remember the names it saw to be decided again.

use serde::{Deserialize, Serialize};

use super::{Message, Path, Role, identity};

/// Who spoke the messages of a path: runs of messages of one role under one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Voices(Vec<Voice>);

/// Consecutive messages of one role (others may be between) with the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Voice {
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    name: Option<String>,
    /// The name as it is in the text.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    prefix: String,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    hidden: bool,
    count: u32,
}

impl Voices {
    /// The voices of a path.
    pub fn of(path: &Path) -> Self {
        let mut voices = Self::default();
        for item in path.items() {
            voices.push(&item.message);
        }
        voices
    }

    /// Goes on with a message.
    pub fn push(&mut self, message: &Message) {
        let prefix = prefix_of(message);
        let last = self.0.iter_mut().rfind(|voice| voice.role == message.role);
        match last.filter(|voice| voice.tells(message, prefix)) {
            Some(voice) => voice.count += 1,
            None => self.0.push(Voice {
                role: message.role,
                name: message.name.clone(),
                prefix: prefix.to_owned(),
                hidden: message.hidden,
                count: 1,
            }),
        }
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The messages with their speakers' names; messages without a known voice do not change.
    pub fn retell(&self, messages: impl IntoIterator<Item = Message>) -> Vec<Message> {
        let mut messages: Vec<Message> = messages.into_iter().collect();
        self.retell_in_place(&mut messages);
        messages
    }

    /// The same in place. Returns the first message that changed.
    pub fn retell_in_place<'a>(
        &self,
        messages: impl IntoIterator<Item = &'a mut Message>,
    ) -> Option<usize> {
        let mut left: Vec<(&Voice, u32)> =
            self.0.iter().map(|voice| (voice, voice.count)).collect();
        let mut first = None;
        for (at, message) in messages.into_iter().enumerate() {
            let voice =
                left.iter_mut().find(|(voice, count)| voice.role == message.role && *count > 0);
            let Some((voice, count)) = voice else { continue };
            *count -= 1;
            if voice.tells(message, prefix_of(message)) {
                continue;
            }
            voice.retell(message);
            first = first.or(Some(at));
        }
        first
    }
}

impl Voice {
    fn tells(&self, message: &Message, prefix: &str) -> bool {
        self.name == message.name && self.prefix == prefix && self.hidden == message.hidden
    }

    fn retell(&self, message: &mut Message) {
        if prefix_of(message) != self.prefix {
            let said = identity::without_speaker(&message.text, message.name.as_deref());
            message.text = format!("{}{said}", self.prefix).into();
        }
        message.name.clone_from(&self.name);
        message.hidden = self.hidden;
    }
}

/// The speaker's name at the beginning of the text.
fn prefix_of(message: &Message) -> &str {
    let said = identity::without_speaker(&message.text, message.name.as_deref());
    &message.text[..message.text.len() - said.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ChatId;

    fn message(role: Role, name: Option<&str>, text: &str) -> Message {
        Message::new(role, name, text)
    }

    #[test]
    fn a_path_is_told_again_under_the_names_it_was_told_with() {
        let first = [
            message(Role::User, Some("Mira"), "I wait."),
            message(Role::Assistant, Some("Torvald"), "So do I."),
            message(Role::User, Some("Mira"), "Mira: And now?"),
            message(Role::Assistant, Some("Orla"), "Orla:Nothing."),
        ];
        let mut later = first.clone();
        later[0] = message(Role::User, Some("Ana"), "Ana: I wait.");
        later[2] = message(Role::User, Some("Ana"), "Ana: And now?");
        later[3].hidden = true;
        later[1].name = None;
        let path = |messages: &[Message]| Path::of(ChatId::from("c"), messages.to_vec());
        assert_eq!(path(&first).prefix(), path(&later).prefix());
        for (stored, wanted) in [(&first, &later), (&later, &first)] {
            assert_eq!(Voices::of(&path(wanted)).retell(stored.to_vec()), wanted.to_vec());
        }
    }

    #[test]
    fn two_who_take_turns_are_two_voices_however_long_the_story() {
        let mut path = Path::new(ChatId::from("c"));
        for number in 0..500 {
            path.push(message(Role::User, Some("Mira"), &format!("ask {number}")));
            path.push(message(Role::Assistant, Some("Torvald"), &format!("tell {number}")));
        }
        assert_eq!(Voices::of(&path).0.len(), 2);
        let text = serde_json::to_string(&Voices::of(&path)).unwrap();
        assert_eq!(
            text,
            r#"[{"role":"user","name":"Mira","count":500},{"role":"assistant","name":"Torvald","count":500}]"#
        );
    }

    #[test]
    fn a_story_that_grew_keeps_the_rest_as_it_is() {
        let short = Path::of(ChatId::from("c"), [message(Role::User, Some("A"), "one")]);
        let longer = [message(Role::User, Some("B"), "one"), message(Role::User, Some("B"), "two")];
        let retold = Voices::of(&short).retell(longer);
        let names: Vec<Option<&str>> = retold.iter().map(|said| said.name.as_deref()).collect();
        assert_eq!(names, [Some("A"), Some("B")]);
    }
}
