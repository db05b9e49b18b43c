//! Whether a model selects notes of vaults, and how it is asked.

use loreloom_core::dialects::vault::{
    Confidence, OnFailure, OnNothing, SelectFrom, SelectionRules, SummaryMode,
};
use serde::{Deserialize, Serialize};

/// What a selecting model's choice means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectionSection {
    /// Who decides which notes a turn needs.
    pub mode: SelectionMode,
    /// How sure the model must be.
    pub confidence: Confidence,
    /// What happens when the model fails.
    pub on_failure: OnSelectorFailure,
    /// What happens when the model chooses nothing.
    pub on_nothing: OnSelectorNothing,
}

/// Who decides which notes a turn needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelectionMode {
    /// Their keys.
    #[default]
    Keyword,
    /// Keys find notes, a model selects among them.
    TwoStage,
    /// A model selects from the whole vault.
    AiOnly,
}

/// What goes in when the selecting model fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnSelectorFailure {
    /// What the model was to select from, without notes that are only linked to.
    #[default]
    Unfiltered,
    /// All that the model was to select from.
    Candidates,
    /// What keys found.
    Keyword,
    /// Constants.
    Constants,
    /// Constants and notes for new chats.
    Bootstrap,
    /// Nothing.
    Nothing,
}

/// What goes in when the selecting model chooses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnSelectorNothing {
    /// Constants.
    #[default]
    Constants,
    /// Constants and notes for new chats.
    Bootstrap,
    /// What keys found.
    Keyword,
    /// Nothing.
    Nothing,
}

/// How the selecting model is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectorSection {
    /// The longest that a turn waits for an answer.
    pub timeout_ms: u64,
    /// How often it is asked again after a failure that may pass.
    pub retries: u32,
    /// The longest answer, in tokens.
    pub answer_tokens: u32,
    /// How many messages it reads.
    pub scan_depth: u32,
    /// Which text of a note it reads.
    pub summary: SummaryMode,
    /// The longest text of a note that it reads.
    pub summary_length: usize,
    /// Failures in a row after which it is not asked for a while.
    pub breaker_failures: u32,
    /// For how long.
    pub breaker_seconds: u64,
    /// The largest share of notes that a first choice by topic may leave out.
    pub narrow: Option<f64>,
    /// The instruction to it; empty for our own.
    pub system: String,
}

impl Default for SelectorSection {
    fn default() -> Self {
        Self {
            timeout_ms: 20_000,
            retries: 1,
            answer_tokens: 1024,
            scan_depth: 4,
            summary: SummaryMode::default(),
            summary_length: 600,
            breaker_failures: 2,
            breaker_seconds: 30,
            narrow: None,
            system: String::new(),
        }
    }
}

impl SelectionSection {
    /// The rules of the engine; `None` if keys decide.
    pub fn rules(&self) -> Option<SelectionRules> {
        let from = match self.mode {
            SelectionMode::Keyword => return None,
            SelectionMode::TwoStage => SelectFrom::Matches,
            SelectionMode::AiOnly => SelectFrom::Vault,
        };
        Some(SelectionRules {
            from,
            confidence: self.confidence,
            on_failure: self.on_failure.into(),
            on_nothing: self.on_nothing.into(),
        })
    }

    /// Takes over the rules of the engine.
    pub(super) fn of(rules: SelectionRules) -> Self {
        let mode = match rules.from {
            SelectFrom::Matches => SelectionMode::TwoStage,
            SelectFrom::Vault => SelectionMode::AiOnly,
        };
        Self {
            mode,
            confidence: rules.confidence,
            on_failure: rules.on_failure.into(),
            on_nothing: rules.on_nothing.into(),
        }
    }
}

impl From<OnSelectorFailure> for OnFailure {
    fn from(word: OnSelectorFailure) -> Self {
        match word {
            OnSelectorFailure::Unfiltered => Self::Unfiltered,
            OnSelectorFailure::Candidates => Self::Candidates,
            OnSelectorFailure::Keyword => Self::Matches,
            OnSelectorFailure::Constants => Self::Constants,
            OnSelectorFailure::Bootstrap => Self::Forced,
            OnSelectorFailure::Nothing => Self::Nothing,
        }
    }
}

impl From<OnFailure> for OnSelectorFailure {
    fn from(rule: OnFailure) -> Self {
        match rule {
            OnFailure::Unfiltered => Self::Unfiltered,
            OnFailure::Candidates => Self::Candidates,
            OnFailure::Matches => Self::Keyword,
            OnFailure::Constants => Self::Constants,
            OnFailure::Forced => Self::Bootstrap,
            OnFailure::Nothing => Self::Nothing,
        }
    }
}

impl From<OnSelectorNothing> for OnNothing {
    fn from(word: OnSelectorNothing) -> Self {
        match word {
            OnSelectorNothing::Constants => Self::Constants,
            OnSelectorNothing::Bootstrap => Self::Forced,
            OnSelectorNothing::Keyword => Self::Matches,
            OnSelectorNothing::Nothing => Self::Nothing,
        }
    }
}

impl From<OnNothing> for OnSelectorNothing {
    fn from(rule: OnNothing) -> Self {
        match rule {
            OnNothing::Constants => Self::Constants,
            OnNothing::Forced => Self::Bootstrap,
            OnNothing::Matches => Self::Keyword,
            OnNothing::Nothing => Self::Nothing,
        }
    }
}
