//! How a selecting model took part in a turn, and which rule served where it did not.

use serde::{Deserialize, Serialize};

use crate::{
    dialects::vault::{SelectFrom, SelectionRules},
    turn::StillHolds,
};

/// Who decides which notes of a vault a turn needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum VaultMode {
    /// Keys.
    Keyword,
    /// Keys, and then a model.
    TwoStage,
    /// A model alone.
    AiOnly,
}

impl VaultMode {
    /// The mode of these rules; `None` is no selecting model.
    pub fn of(selection: Option<&SelectionRules>) -> Self {
        match selection.map(|rules| rules.from) {
            None => Self::Keyword,
            Some(SelectFrom::Matches) => Self::TwoStage,
            Some(SelectFrom::Vault) => Self::AiOnly,
        }
    }

    /// Its name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keyword => "keyword",
            Self::TwoStage => "two-stage",
            Self::AiOnly => "ai-only",
        }
    }
}

/// How a selecting model took part in a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SelectionUse {
    /// How many notes it could choose from.
    pub candidates: u32,
    /// How many it chose.
    pub chosen: u32,
    /// Who answered.
    pub served: Served,
    /// The rule that decided in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
}

/// Who answered which notes a turn needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Served {
    /// The model.
    Model,
    /// Its answer before, which still holds.
    Kept {
        /// Why it does.
        because: StillHolds,
    },
    /// Nobody was asked: there was nothing to choose from.
    NotAsked,
    /// Nobody: the model failed.
    Failed {
        /// What went wrong.
        reason: String,
    },
}

/// What goes on where a selecting model failed or chose nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// All it was to choose from.
    Candidates,
    /// What the chat brought in.
    Matches,
    /// Only constants.
    Constants,
    /// Only constants and notes for new chats.
    Forced,
    /// Nothing.
    Nothing,
}

impl Fallback {
    /// As part of a sentence: what goes on.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Candidates => "all it could choose from goes on",
            Self::Matches => "what the chat brought in goes on",
            Self::Constants => "only constants go on",
            Self::Forced => "only constants and notes for new chats go on",
            Self::Nothing => "nothing goes on",
        }
    }
}
