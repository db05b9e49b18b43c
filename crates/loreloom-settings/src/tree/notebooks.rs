//! The settings of a chat's notebooks.

use loreloom_core::notebook::{ModelNotebook, NotebookMode, NotebookRules, NotebookSeat};
use serde::{Deserialize, Serialize};

/// The settings of notebooks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotebookSection {
    /// Whether the author's notebook goes into prompts.
    pub author: bool,
    /// Where it goes.
    pub author_place: NotebookSeat,
    /// The notebook that the model keeps.
    pub model: ModelNotebookSection,
}

/// The notebook that the model keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelNotebookSection {
    /// Who writes it.
    pub mode: NotebookMaker,
    /// Where it goes.
    pub place: NotebookSeat,
    /// The tag between which the model writes notes.
    pub tag: String,
    /// The instruction to the model about its notebook.
    pub instruction: String,
    /// The instruction to a model that reads replies.
    pub extraction: String,
    /// The longest answer of that model, in tokens.
    pub answer_tokens: u32,
    /// The longest that its answer is waited for.
    pub timeout_ms: u64,
    /// The most notes that are kept.
    pub most: u32,
}

/// Who writes the model's notebook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotebookMaker {
    /// Nobody: there is no notebook.
    #[default]
    Off,
    /// The writing model, between tags in its replies.
    Tag,
    /// A model that reads each reply.
    Extract,
}

impl Default for ModelNotebookSection {
    fn default() -> Self {
        let own = Self::of(&ModelNotebook::default());
        Self { mode: NotebookMaker::Off, ..own }
    }
}

impl ModelNotebookSection {
    fn of(rules: &ModelNotebook) -> Self {
        let ModelNotebook { seat, mode, tag, instruction, extraction, .. } = rules.clone();
        Self {
            mode: match mode {
                NotebookMode::Tag => NotebookMaker::Tag,
                NotebookMode::Extract => NotebookMaker::Extract,
            },
            place: seat,
            tag,
            instruction,
            extraction,
            answer_tokens: rules.answer_tokens,
            timeout_ms: rules.timeout_ms,
            most: rules.most,
        }
    }

    fn rules(&self) -> Option<ModelNotebook> {
        let mode = match self.mode {
            NotebookMaker::Off => return None,
            NotebookMaker::Tag => NotebookMode::Tag,
            NotebookMaker::Extract => NotebookMode::Extract,
        };
        Some(ModelNotebook {
            seat: self.place,
            mode,
            tag: self.tag.clone(),
            instruction: self.instruction.clone(),
            extraction: self.extraction.clone(),
            answer_tokens: self.answer_tokens,
            timeout_ms: self.timeout_ms,
            most: self.most,
        })
    }
}

impl NotebookSection {
    /// The rules of the engine.
    pub fn rules(&self) -> NotebookRules {
        NotebookRules {
            author: self.author.then_some(self.author_place),
            model: self.model.rules(),
        }
    }

    /// Takes over the rules of the engine.
    pub(super) fn set_rules(&mut self, rules: &NotebookRules) {
        self.author = rules.author.is_some();
        self.author_place = rules.author.unwrap_or(self.author_place);
        match &rules.model {
            Some(model) => self.model = ModelNotebookSection::of(model),
            None => self.model.mode = NotebookMaker::Off,
        }
    }
}
