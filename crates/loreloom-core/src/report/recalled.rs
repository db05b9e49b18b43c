//! Old messages that memory put back into a prompt, and what found them.

use serde::{Deserialize, Serialize};

use crate::{ids::MessageId, units::MessageCount};

/// What found a message of the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecallChannel {
    /// Words that it shares with the turn, or related ones.
    Words,
    /// Its meaning.
    Meaning,
    /// The messages around it.
    Neighbours,
    /// Its speaker, whom the turn names.
    Names,
    /// It mentions a time, number or place as the turn asks for.
    Answers,
    /// It is newer than others.
    Recency,
}

impl RecallChannel {
    /// In plain English.
    pub fn words(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Meaning => "meaning",
            Self::Neighbours => "messages around it",
            Self::Names => "its speaker",
            Self::Answers => "what is asked for",
            Self::Recency => "recency",
        }
    }
}

/// How much a channel counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChannelScore {
    /// The channel.
    pub channel: RecallChannel,
    /// What it added, in standard deviations of all messages.
    pub score: f64,
}

/// An old message that is in the prompt again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RecalledMessage {
    /// The message.
    pub message: MessageId,
    /// Its number on the path, from 1.
    pub number: MessageCount,
    /// Who says it.
    pub speaker: Option<String>,
    /// The piece of it that is shown.
    pub text: String,
    /// What found it, most important first.
    pub channels: Vec<ChannelScore>,
    /// The words of the turn that it has.
    pub shared: Vec<String>,
}

impl RecalledMessage {
    /// In plain English.
    pub fn sentence(&self) -> String {
        let mut found: Vec<String> = Vec::new();
        for ChannelScore { channel, .. } in &self.channels {
            let mut words = channel.words().to_owned();
            if *channel == RecallChannel::Words && !self.shared.is_empty() {
                words = format!("{words} ({})", self.shared.join(", "));
            }
            found.push(words);
        }
        let by = if found.is_empty() { String::new() } else { format!(" by {}", found.join(", ")) };
        let who = self.speaker.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        format!("recalled message {}{who}, found{by}", self.number.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recalled_message_says_what_found_it() {
        let score = |channel, score| ChannelScore { channel, score };
        let mut recalled = RecalledMessage {
            message: MessageId::default(),
            number: MessageCount(3),
            speaker: Some("Mara".into()),
            text: "The whistle is in the tower.".into(),
            channels: vec![score(RecallChannel::Words, 4.0), score(RecallChannel::Neighbours, 1.0)],
            shared: vec!["whistle".into()],
        };
        assert_eq!(
            recalled.sentence(),
            "recalled message 3 (Mara), found by words (whistle), messages around it"
        );
        recalled.shared.clear();
        recalled.speaker = None;
        assert_eq!(recalled.sentence(), "recalled message 3, found by words, messages around it");
    }
}
