//! What a played story consists of besides its messages.

use loreloom_core::{assemble::PromptTemplate, turn::StatedNote};
use serde::{Deserialize, Serialize};

use crate::cast::{CastDocument, TurnOrder};

/// The model of a story and how it writes. What is not given is the connection's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelChoice {
    /// The model, by a name of `GET /v1/models`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// How freely it chooses words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 5))]
    pub(crate) temperature: Option<f64>,
    /// The share of likely words it chooses from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 1))]
    pub(crate) top_p: Option<f64>,
    /// The least chance of a word, compared with the likeliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 1))]
    pub(crate) min_p: Option<f64>,
    /// The longest reply, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    pub(crate) max_tokens: Option<u32>,
    /// Texts at which it stops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) stop: Vec<String>,
    /// How much it thinks: `low`, `medium` or `high`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effort: Option<String>,
}

impl ModelChoice {
    /// What counts if this is said on top of `before`.
    pub(crate) fn over(&self, before: &Self) -> Self {
        let (later, earlier) = (self.clone(), before.clone());
        Self {
            model: later.model.or(earlier.model),
            temperature: later.temperature.or(earlier.temperature),
            top_p: later.top_p.or(earlier.top_p),
            min_p: later.min_p.or(earlier.min_p),
            max_tokens: later.max_tokens.or(earlier.max_tokens),
            stop: if later.stop.is_empty() { earlier.stop } else { later.stop },
            effort: later.effort.or(earlier.effort),
        }
    }
}

/// The setup of a story.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KeptStory {
    /// The ids of its characters; none for a narrator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) characters: Vec<String>,
    /// The name of the group, whose books are active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// Characters who do not speak unless they are chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) muted: Vec<String>,
    /// Who of several characters speaks next.
    pub(crate) order: TurnOrder,
    /// The id of the persona.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) persona: Option<String>,
    /// The greeting that the story began with, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) greeting: Option<u32>,
    /// The main prompt instead of the usual one; `{{original}}` is the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) main: Option<String>,
    /// Where the story takes place, instead of the card's scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scenario: Option<String>,
    /// Instructions after the chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) post_history: Option<String>,
    /// The author's note.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub(crate) note: Option<StatedNote>,
    /// The blocks of its prompt instead of the setting `weaving.template`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Vec<String>>))]
    pub(crate) template: Option<PromptTemplate>,
    /// The model and how it writes.
    pub(crate) model: ModelChoice,
}

impl CastDocument for KeptStory {
    const PREFIX: &'static str = "story/";
    const WHAT: &'static str = "story";
}
