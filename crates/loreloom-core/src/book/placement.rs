//! Where an entry goes in the prompt.

use serde::{Deserialize, Serialize};

use crate::{chat::Role, units::Depth};

/// A place in the prompt, as lore formats name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Wherever the engine's lorebook slot is.
    #[default]
    Default,
    /// Before the character's card.
    BeforeCharacter,
    /// After the character's card.
    AfterCharacter,
    /// Above the author's note, and only when the note is inserted.
    NoteTop,
    /// Below the author's note, and only when the note is inserted.
    NoteBottom,
    /// Before the example messages.
    ExamplesTop,
    /// After the example messages.
    ExamplesBottom,
    /// Inside the chat.
    AtDepth {
        /// Which end is counted from.
        from: DepthFrom,
    },
    /// A named place that a prompt asks for by `{{outlet::name}}`.
    Outlet(String),
    /// Before the character's description.
    BeforeDescription,
    /// After the character's description.
    AfterDescription,
    /// With the character's personality.
    Personality,
    /// With the scenario.
    Scenario,
    /// A named slot of the prompt template.
    Slot(String),
    /// The file names no known position: the entry activates but is inserted nowhere.
    Nowhere,
}

/// Which end of the chat a depth is counted from.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DepthFrom {
    /// From the newest message: 0 is the very end of the chat.
    #[default]
    Newest,
    /// From the oldest message.
    Oldest,
}

/// Position, depth, role and order of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Placement {
    /// The place.
    pub position: Position,
    /// Depth inside the chat; kept also where the position does not use it. `None` where
    /// the file has none.
    pub depth: Option<Depth>,
    /// The role of the message the text is put into; `None` leaves it to the dialect.
    pub role: Option<Role>,
    /// Lower is earlier in the prompt. `None` compares equal to everything, as in
    /// SillyTavern.
    pub order: Option<f64>,
}

impl Default for Placement {
    fn default() -> Self {
        Self { position: Position::Default, depth: None, role: None, order: Some(100.0) }
    }
}
