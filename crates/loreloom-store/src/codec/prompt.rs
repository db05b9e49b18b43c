//! The stored form of a prompt: ranges of the chat's messages, and messages composed of texts.

use std::collections::BTreeMap;

use loreloom_core::{chat::Role, prompt::PromptMessage};
use serde::{Deserialize, Serialize};

use super::{MessageText, text_list::TextPiece, turn_body::ReferencedTexts};

/// How the prompt states the speaker of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SpeakerForm {
    /// The prompt message has the speaker's name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) named: bool,
    /// The text starts with the speaker's name and a colon.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) spoken: bool,
}

/// A part of a prompt. Numbers are those of the chat's messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PromptPart {
    Range(MessageRange),
    Composed(ComposedMessage<i64>),
}

/// Messages `first..first + count` of the chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MessageRange {
    pub(super) first: i64,
    pub(super) count: i64,
    #[serde(flatten)]
    pub(super) form: SpeakerForm,
    /// The speaker of each role, if the form states one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) speakers: BTreeMap<Role, String>,
}

/// A prompt message that repeats no message of the chat as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ComposedMessage<M> {
    pub(super) role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// Its text, in order.
    pub(super) pieces: Vec<TextPiece<M>>,
}

impl MessageRange {
    /// The number of the last message.
    pub(super) fn last(&self) -> i64 {
        self.first.saturating_add(self.count).saturating_sub(1)
    }

    /// Adds the next message, if it continues the range.
    pub(super) fn extend(
        &mut self,
        number: i64,
        role: Role,
        form: &SpeakerForm,
        speaker: Option<&str>,
    ) -> bool {
        if number != self.last() + 1 || self.form != *form {
            return false;
        }
        if let Some(speaker) = speaker {
            let known = self.speakers.entry(role).or_insert_with(|| speaker.to_owned());
            if known != speaker {
                return false;
            }
        }
        self.count += 1;
        true
    }

    fn message(&self, content: &MessageText) -> Result<PromptMessage, String> {
        let speaker = self.speakers.get(&content.role);
        let form = &self.form;
        if (form.named || form.spoken) && speaker.is_none() {
            return Err(format!("no speaker for role `{}`", content.role.as_str()));
        }
        let text = match speaker.filter(|_| form.spoken) {
            Some(speaker) => format!("{speaker}: {}", content.text),
            None => content.text.clone(),
        };
        let name = speaker.filter(|_| form.named).cloned();
        Ok(PromptMessage { role: content.role, name, content: text.into() })
    }
}

/// Restores a prompt.
pub(super) fn restore(
    parts: &[PromptPart],
    texts: &ReferencedTexts,
) -> Result<Vec<PromptMessage>, String> {
    let mut prompt = Vec::new();
    for part in parts {
        match part {
            PromptPart::Range(range) => {
                for number in range.first..=range.last() {
                    prompt.push(range.message(texts.message(number)?)?);
                }
            }
            PromptPart::Composed(ComposedMessage { role, name, pieces }) => {
                let mut content = String::new();
                for piece in pieces {
                    content.push_str(texts.piece(piece)?);
                }
                let content = content.into();
                prompt.push(PromptMessage { role: *role, name: name.clone(), content });
            }
        }
    }
    Ok(prompt)
}
