//! What a plan did to a prompt, so that it can be undone.
//!
//! A turn stores the prompt as it was sent. To weave it again, with the books of that day
//! or with others, the lore must first be taken out and the markers put back.

use serde::{Deserialize, Serialize};

use super::Layout;
use crate::prompt::PromptMessage;

/// Where lore was sewn into a prompt; positions count the finished prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seams {
    /// Messages that were not there before, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inserted: Vec<usize>,
    /// Markers that were replaced, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub markers: Vec<Marker>,
    /// The outline that places were found by; `None` for turns stored before it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
}

/// A marker that was replaced, or a point that text was written at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The message.
    pub message: usize,
    /// First byte of what is there now.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// The marker; empty for a point.
    pub text: String,
}

impl Seams {
    /// The prompt as it was before; `None` if these are not its seams.
    pub fn unpick(&self, prompt: &[PromptMessage]) -> Option<Vec<PromptMessage>> {
        let known = self.inserted.iter().chain(self.markers.iter().map(|one| &one.message));
        if known.into_iter().any(|&at| at >= prompt.len()) {
            return None;
        }
        let mut before = Vec::with_capacity(prompt.len());
        for (at, message) in prompt.iter().enumerate() {
            if self.inserted.contains(&at) {
                continue;
            }
            let mut message = message.clone();
            for marker in self.markers.iter().rev().filter(|marker| marker.message == at) {
                let text = &message.content;
                text.get(marker.start..marker.end)?;
                let (front, rest) = (text.get(..marker.start)?, text.get(marker.end..)?);
                message.content = [front, &marker.text, rest].concat().into();
            }
            before.push(message);
        }
        Some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chat::Role,
        place::{Injection, Place, Provenance},
        units::{Depth, Tokens},
    };

    fn injection(place: Place, text: &str) -> Injection {
        let source = Provenance::Memory(text.to_owned());
        Injection { place, role: Role::System, text: text.to_owned(), tokens: Tokens(1), source }
    }

    fn prompt(parts: &[(Role, &str)]) -> Vec<PromptMessage> {
        let message =
            |&(role, text): &(Role, &str)| PromptMessage { role, name: None, content: text.into() };
        parts.iter().map(message).collect()
    }

    #[test]
    fn unpicking_gives_back_the_prompt_to_the_byte() {
        let injections = [
            injection(Place::BeforeCharacter, "before"),
            injection(Place::AfterCharacter, "after"),
            injection(Place::AtDepth(Depth(1)), "deep"),
            injection(Place::AtDepth(Depth(0)), "last"),
            injection(Place::Outlet("a".to_owned()), "a long text for the outlet"),
            injection(Place::Outlet("a".to_owned()), "é"),
        ];
        for parts in [
            &[][..],
            &[(Role::User, "hi")],
            &[(Role::System, "{{outlet::a}}"), (Role::User, "x")],
            &[
                (Role::System, "é {{outlet::a}} y {{outlet::none}}{{outlet::a}}."),
                (Role::System, "card"),
                (Role::User, "hi {{outlet::none}}"),
                (Role::Assistant, "ho"),
                (Role::User, "{{outlet::a}}"),
            ],
        ] {
            for count in 0..=injections.len() {
                let before = prompt(parts);
                for strict in [false, true] {
                    let plan =
                        Layout::of_messages(&before, strict).plan(&before, &injections[..count]);
                    let assembled = plan.apply(before.clone());
                    assert_eq!(plan.texts(), assembled.spans.len(), "{parts:?}");
                    let woven = assembled.messages;
                    assert_eq!(
                        plan.seams(&before).unpick(&woven),
                        Some(before.clone()),
                        "{parts:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn seams_of_another_prompt_are_refused() {
        let marker = Marker { message: 0, start: 1, end: 2, text: String::new() };
        let seams = Seams { markers: vec![marker], ..Seams::default() };
        assert_eq!(seams.unpick(&prompt(&[(Role::User, "é")])), None);
        assert_eq!(Seams { inserted: vec![1], ..Seams::default() }.unpick(&prompt(&[])), None);
    }
}
