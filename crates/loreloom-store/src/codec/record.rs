//! The stored form of a turn.

use std::collections::BTreeMap;

use loreloom_core::{
    assemble::Seams,
    chat::{Role, Voices},
    given::Given,
    ids::{ChatId, LibraryVersion, MessageId},
    place::{Injection, Place, Provenance},
    prompt::PromptMessage,
    report::Report,
    state::{StateDelta, StoryState},
    units::Tokens,
};
use loreloom_ports::StoreError;
use serde::{Deserialize, Serialize};

use super::{
    Told,
    pack::{pack, unpack},
    prompt::{self, Part, Piece},
};
use crate::fold::Choice;

/// What a turn's row holds besides its own columns and the report.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Body {
    /// The message it answers.
    pub(crate) answers: Option<MessageId>,
    /// The compiled books.
    pub(crate) library: LibraryVersion,
    pub(super) injections: Vec<StoredInjection>,
    pub(super) prompt: Vec<Part>,
    /// What it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) given: Option<StoredGiven>,
    /// Numbers of the texts that pieces refer to by their place in this list.
    pub(crate) texts: Vec<i64>,
}

/// What a turn was given. Card, persona and the like rarely change from turn to turn, so
/// they are a text that is stored once; the rest is different every time and short.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredGiven {
    pub(super) fixed: Piece<i64>,
    voices: Voices,
    pub(super) seams: Seams,
}

impl StoredGiven {
    pub(super) fn of(given: &Given, texts: &mut prompt::Texts) -> Result<Self, serde_json::Error> {
        let (voices, seams) = (given.voices.clone(), given.seams.clone());
        let (no_voices, no_seams) = (Voices::default(), Seams::default());
        let fixed = Given { voices: no_voices, seams: no_seams, ..given.clone() };
        let fixed = texts.piece(&serde_json::to_string(&fixed)?);
        Ok(Self { fixed, voices, seams })
    }

    fn restore(self, wanted: &Wanted) -> Result<Box<Given>, String> {
        let fixed = self.fixed.restore(wanted)?;
        let fixed: Given = serde_json::from_str(&fixed).map_err(|error| error.to_string())?;
        Ok(Box::new(Given { voices: self.voices, seams: self.seams, ..fixed }))
    }
}

impl Piece<i64> {
    fn restore(self, wanted: &Wanted) -> Result<String, String> {
        Ok(match self {
            Self::Short(text) => text,
            Self::Text(place) => prompt::text_at(&wanted.texts, place)?.to_owned(),
            Self::Message(number) => wanted.told(number)?.text.clone(),
        })
    }
}

/// What a body refers to, put back.
#[derive(Debug)]
pub(crate) struct Restored {
    /// What was put into the prompt.
    pub(crate) injections: Vec<Injection>,
    /// The prompt.
    pub(crate) prompt: Vec<PromptMessage>,
    /// What the turn was given.
    pub(crate) given: Option<Box<Given>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredInjection {
    place: Place,
    role: Role,
    text: Piece<i64>,
    tokens: Tokens,
    source: Provenance,
}

impl StoredInjection {
    pub(super) fn of(injection: &Injection, texts: &mut prompt::Texts) -> Self {
        Self {
            place: injection.place.clone(),
            role: injection.role,
            text: texts.piece(&injection.text),
            tokens: injection.tokens,
            source: injection.source.clone(),
        }
    }

    fn restore(self, wanted: &Wanted) -> Result<Injection, String> {
        let text = self.text.restore(wanted)?;
        let (place, role, tokens, source) = (self.place, self.role, self.tokens, self.source);
        Ok(Injection { place, role, text, tokens, source })
    }
}

/// What a body refers to, as the database has it.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Messages by number.
    pub(crate) told: BTreeMap<i64, Told>,
    /// The texts of the body's list, in its order.
    pub(crate) texts: Vec<String>,
}

impl Wanted {
    fn told(&self, number: i64) -> Result<&Told, String> {
        self.told.get(&number).ok_or_else(|| format!("message {number} is missing"))
    }
}

impl Body {
    /// As stored.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        Ok(pack(&serde_json::to_vec(self)?))
    }

    /// From storage.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(&unpack(bytes)?).map_err(|error| error.to_string())
    }

    /// The messages it refers to, as ranges `(first, last)`.
    pub(crate) fn message_ranges(&self) -> Vec<(i64, i64)> {
        let mut ranges = Vec::new();
        for part in &self.prompt {
            match part {
                Part::Run(run) => ranges.push((run.first, run.last())),
                Part::Written(written) => {
                    ranges.extend(written.pieces.iter().filter_map(|piece| match piece {
                        Piece::Message(number) => Some((*number, *number)),
                        Piece::Short(_) | Piece::Text(_) => None,
                    }));
                }
            }
        }
        ranges
    }

    /// The injections, the prompt and what was given.
    pub(crate) fn restore(self, wanted: &Wanted) -> Result<Restored, String> {
        let prompt =
            prompt::restore(&self.prompt, |number| wanted.told.get(&number), &wanted.texts)?;
        let injections = self.injections.into_iter().map(|injection| injection.restore(wanted));
        let injections = injections.collect::<Result<_, _>>()?;
        let given = self.given.map(|given| given.restore(wanted)).transpose()?;
        Ok(Restored { injections, prompt, given })
    }
}

/// A delta as a column; `None` if nothing changed.
pub(crate) fn delta_text(delta: &StateDelta) -> Result<Option<String>, serde_json::Error> {
    (!delta.is_empty()).then(|| serde_json::to_string(delta)).transpose()
}

/// A delta from its column.
pub(crate) fn delta_from(text: Option<&str>) -> Result<StateDelta, String> {
    let Some(text) = text else { return Ok(StateDelta::default()) };
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Deltas on a path, of which some are chosen.
pub(crate) type ChosenDeltas = Choice<Option<String>>;

/// The state that chosen deltas make.
pub(crate) fn state_of(chosen: ChosenDeltas, chat: &ChatId) -> Result<StoryState, StoreError> {
    let mut state = StoryState::default();
    for delta in chosen.chosen().flatten() {
        let delta = delta_from(Some(&delta)).map_err(|reason| StoreError::Damaged {
            what: format!("the state of chat `{chat}`"),
            reason,
        })?;
        state.apply(&delta);
    }
    Ok(state)
}

/// A report from its column.
pub(crate) fn report_from(bytes: &[u8]) -> Result<Report, String> {
    serde_json::from_slice(&unpack(bytes)?).map_err(|error| error.to_string())
}
