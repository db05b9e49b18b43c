//! The stored form of a turn.

use std::collections::BTreeMap;

use loreloom_core::{
    assemble::Seams,
    chat::{GenerationType, Role, Voices},
    ids::{ChatId, LibraryVersion, MessageId},
    place::{Injection, Place, Provenance},
    prompt::PromptMessage,
    report::Report,
    state::{StateDelta, StoryState},
    turn::TurnInput,
    units::{Timestamp, Tokens},
};
use loreloom_ports::{StoreError, StoredJson as _};
use serde::{Deserialize, Serialize};

use super::{
    MessageText,
    pack::{pack, unpack},
    prompt::{self, PromptPart},
    text_list::{TextList, TextPiece},
};
use crate::{errors::DecodeResult as _, fold::Choice};

/// What the record of a turn holds besides its own columns and the report.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TurnBody {
    /// The message it answers.
    pub(crate) answers: Option<MessageId>,
    /// The compiled books.
    pub(crate) library: LibraryVersion,
    pub(super) injections: Vec<StoredInjection>,
    pub(super) prompt: Vec<PromptPart>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<StoredInput>,
    /// Numbers of the texts that pieces refer to by their index in this list.
    pub(crate) texts: Vec<i64>,
}

/// The input of a turn. Card, persona and the like rarely change, so they are a text that is
/// stored once. The rest changes on every turn and is short.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredInput {
    pub(super) fixed: TextPiece<i64>,
    generation: GenerationType,
    at: Option<Timestamp>,
    voices: Voices,
    pub(super) seams: Seams,
}

impl StoredInput {
    pub(super) fn of(input: &TurnInput, texts: &mut TextList) -> Result<Self, serde_json::Error> {
        let mut fixed = input.clone();
        let generation = std::mem::take(&mut fixed.generation);
        let at = fixed.at.take();
        let voices = std::mem::take(&mut fixed.voices);
        let seams = std::mem::take(&mut fixed.seams);
        let fixed = texts.add(&serde_json::to_string(&fixed)?);
        Ok(Self { fixed, generation, at, voices, seams })
    }

    fn restore(self, texts: &ReferencedTexts) -> Result<Box<TurnInput>, String> {
        let fixed = texts.piece(&self.fixed)?;
        let fixed = TurnInput::from_json(fixed.as_bytes()).map_err(|error| error.to_string())?;
        let Self { generation, at, voices, seams, .. } = self;
        Ok(Box::new(TurnInput { generation, at, voices, seams, ..fixed }))
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredInjection {
    place: Place,
    role: Role,
    text: TextPiece<i64>,
    tokens: Tokens,
    source: Provenance,
}

impl StoredInjection {
    pub(super) fn of(injection: &Injection, texts: &mut TextList) -> Self {
        Self {
            place: injection.place.clone(),
            role: injection.role,
            text: texts.add(&injection.text),
            tokens: injection.tokens,
            source: injection.source.clone(),
        }
    }

    fn restore(self, texts: &ReferencedTexts) -> Result<Injection, String> {
        let text = texts.piece(&self.text)?.to_owned();
        let Self { place, role, tokens, source, .. } = self;
        Ok(Injection { place, role, text, tokens, source })
    }
}

/// The messages and texts that a body refers to.
#[derive(Debug, Default)]
pub(crate) struct ReferencedTexts {
    /// Messages by number.
    pub(crate) messages: BTreeMap<i64, MessageText>,
    /// The texts of the body's list, in its order.
    pub(crate) texts: Vec<String>,
}

impl ReferencedTexts {
    pub(super) fn message(&self, number: i64) -> Result<&MessageText, String> {
        self.messages.get(&number).ok_or_else(|| format!("message {number} is missing"))
    }

    pub(super) fn piece<'a>(&'a self, piece: &'a TextPiece<i64>) -> Result<&'a str, String> {
        match piece {
            TextPiece::Short(text) => Ok(text),
            TextPiece::Text(index) => {
                let text = self.texts.get(*index).map(String::as_str);
                text.ok_or_else(|| format!("text {index} is missing"))
            }
            TextPiece::Message(number) => Ok(&self.message(*number)?.text),
        }
    }
}

/// The parts of a turn that its body holds.
#[derive(Debug)]
pub(crate) struct RestoredTurn {
    pub(crate) injections: Vec<Injection>,
    pub(crate) prompt: Vec<PromptMessage>,
    pub(crate) input: Option<Box<TurnInput>>,
}

impl TurnBody {
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        Ok(pack(&serde_json::to_vec(self)?))
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(&unpack(bytes)?).map_err(|error| error.to_string())
    }

    /// The messages that the prompt refers to, as ranges `(first, last)`.
    pub(crate) fn message_ranges(&self) -> Vec<(i64, i64)> {
        let mut ranges = Vec::new();
        for part in &self.prompt {
            match part {
                PromptPart::Range(range) => ranges.push((range.first, range.last())),
                PromptPart::Composed(message) => {
                    ranges.extend(message.pieces.iter().filter_map(|piece| match piece {
                        TextPiece::Message(number) => Some((*number, *number)),
                        TextPiece::Short(_) | TextPiece::Text(_) => None,
                    }));
                }
            }
        }
        ranges
    }

    pub(crate) fn restore(self, texts: &ReferencedTexts) -> Result<RestoredTurn, String> {
        let injections = self.injections.into_iter().map(|injection| injection.restore(texts));
        Ok(RestoredTurn {
            prompt: prompt::restore(&self.prompt, texts)?,
            injections: injections.collect::<Result<_, _>>()?,
            input: self.input.map(|input| input.restore(texts)).transpose()?,
        })
    }
}

/// A delta as a column. `None` if nothing changed.
pub(crate) fn delta_text(delta: &StateDelta) -> Result<Option<String>, serde_json::Error> {
    (!delta.is_empty()).then(|| serde_json::to_string(delta)).transpose()
}

/// The delta of a column.
pub(crate) fn delta_from(text: Option<&str>) -> Result<StateDelta, String> {
    let Some(text) = text else { return Ok(StateDelta::default()) };
    StateDelta::from_json(text.as_bytes()).map_err(|error| error.to_string())
}

/// The choice of the deltas that make up the state of a path.
pub(crate) type ChosenDeltas = Choice<Option<String>>;

/// The state that the chosen deltas make.
pub(crate) fn state_of(chosen: ChosenDeltas, chat: &ChatId) -> Result<StoryState, StoreError> {
    let mut state = StoryState::default();
    for delta in chosen.chosen().flatten() {
        let delta = delta_from(Some(&delta)).reading(|| format!("the state of chat `{chat}`"))?;
        state.apply(&delta);
    }
    Ok(state)
}

/// The report of a column.
pub(crate) fn report_from(bytes: &[u8]) -> Result<Report, String> {
    Report::from_json(&unpack(bytes)?).map_err(|error| error.to_string())
}
