//! All labels that memory puts into a prompt.

use serde::{Deserialize, Serialize};

/// Headings and marks. Replace them to prompt in another language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Labels {
    /// Above the summary.
    pub summary: String,
    /// Above long-term memories.
    pub longterm: String,
    /// Above session memories.
    pub session: String,
    /// Above scenes.
    pub scenes: String,
    /// Before a scene's number.
    pub scene: String,
    /// Above arcs.
    pub arcs: String,
    /// Above feelings.
    pub relationships: String,
    /// Above canon.
    pub canon: String,
    /// Before what a character did not witness.
    pub secondhand: String,
    /// Above the state of the scene.
    pub scene_state: String,
    /// Before the newest scene memory.
    pub state_scene: String,
    /// Before the newest development.
    pub state_development: String,
    /// Before the newest detail.
    pub state_detail: String,
    /// Before the newest revelation.
    pub state_revelation: String,
    /// Above what a character knows; `{name}` is its name.
    pub epistemic: String,
    /// Above what it knows.
    pub knows: String,
    /// Above what it guesses.
    pub suspects: String,
    /// Above what it does not know.
    pub unaware: String,
    /// Above what it wrongly believes.
    pub believes: String,
    /// Above what it hides.
    pub hiding: String,
    /// Before the person it is hidden from.
    pub hidden_from: String,
    /// Above a character's state.
    pub character_state: String,
    /// Above the state of its world.
    pub world_state: String,
    /// Above its relations to others.
    pub relationship_matrix: String,
    /// After a summary that was cut.
    pub truncated: String,
    /// Above recalled passages.
    pub recall: String,
    /// Before a repair note.
    pub repair: String,
    /// Above memories that the turn brings to mind.
    pub triggered: String,
    /// In place of what it does not know but the messages in the prompt show; `{name}` is its name.
    pub unaware_of_shown: String,
    /// Before the story's own time.
    pub story_time: String,
}

impl Default for Labels {
    fn default() -> Self {
        let table = [
            "The story up to now:",
            "Remembered from the story:",
            "From this conversation:",
            "Scenes before this one:",
            "Scene",
            "Open threads:",
            "How they feel about each other:",
            "History:",
            "[hearsay]",
            "The scene right now:",
            "Where and how:",
            "What just changed:",
            "Must stay true:",
            "What came to light:",
            "What {name} knows and believes:",
            "Knows:",
            "Suspects, without proof:",
            "Does not know:",
            "Believes:",
            "Hides:",
            "from",
            "State of mind:",
            "The world:",
            "Relations to others:",
            "… [cut]",
            "Passages from earlier in the story:",
            "Correction:",
            "To the point now:",
            "part of what the messages show; {name} acts without it",
            "It is now:",
        ];
        Self::from_table(table)
    }
}

impl Labels {
    /// Labels in the order of the fields.
    pub fn from_table(table: [&str; 30]) -> Self {
        let mut words = table.into_iter().map(str::to_owned);
        let mut next = || words.next().unwrap_or_default();
        Self {
            summary: next(),
            longterm: next(),
            session: next(),
            scenes: next(),
            scene: next(),
            arcs: next(),
            relationships: next(),
            canon: next(),
            secondhand: next(),
            scene_state: next(),
            state_scene: next(),
            state_development: next(),
            state_detail: next(),
            state_revelation: next(),
            epistemic: next(),
            knows: next(),
            suspects: next(),
            unaware: next(),
            believes: next(),
            hiding: next(),
            hidden_from: next(),
            character_state: next(),
            world_state: next(),
            relationship_matrix: next(),
            truncated: next(),
            recall: next(),
            repair: next(),
            triggered: next(),
            unaware_of_shown: next(),
            story_time: next(),
        }
    }
}
