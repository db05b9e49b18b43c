//! Rows of `memory.labels`: the words around what is remembered.

use crate::setting::{Setting, text};

const fn label(name: &'static str, help: &'static str) -> Setting {
    text(name, help).after_restart()
}

pub(super) const ROWS: &[Setting] = &[
    label("memory.labels.summary", "The words above the summary."),
    label("memory.labels.longterm", "The words above long-term memories."),
    label("memory.labels.session", "The words above session memories."),
    label("memory.labels.scenes", "The words above scenes."),
    label("memory.labels.scene", "The word before a scene's number."),
    label("memory.labels.arcs", "The words above arcs."),
    label("memory.labels.relationships", "The words above relationships."),
    label("memory.labels.canon", "The words above canon."),
    label("memory.labels.secondhand", "The word before what a character did not witness."),
    label("memory.labels.scene_state", "The words above the state of the scene."),
    label("memory.labels.state_scene", "The word before the newest scene memory."),
    label("memory.labels.state_development", "The word before the newest development."),
    label("memory.labels.state_detail", "The word before the newest detail."),
    label("memory.labels.state_revelation", "The word before the newest revelation."),
    label(
        "memory.labels.epistemic",
        "The words above what a character knows; `{name}` is its name.",
    ),
    label("memory.labels.knows", "The words above what it knows."),
    label("memory.labels.suspects", "The words above what it guesses."),
    label("memory.labels.unaware", "The words above what it does not know."),
    label("memory.labels.believes", "The words above what it believes."),
    label("memory.labels.hiding", "The words above what it hides."),
    label("memory.labels.hidden_from", "The words before the person it is hidden from."),
    label("memory.labels.character_state", "The words above a character's state."),
    label("memory.labels.world_state", "The words above the state of its world."),
    label("memory.labels.relationship_matrix", "The words above its relations to others."),
    label("memory.labels.truncated", "The words after a summary that was cut."),
    label("memory.labels.recall", "The words above recalled passages."),
    label("memory.labels.repair", "The words before a repair note."),
    label("memory.labels.triggered", "The words above memories that the turn brings to mind."),
    label(
        "memory.labels.unaware_of_shown",
        "The words for what a character does not know but the messages show; `{name}` is its name.",
    ),
    label("memory.labels.story_time", "The words before the story's own time."),
];
