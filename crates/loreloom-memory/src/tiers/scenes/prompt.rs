//! The prompts about scenes.

use super::super::GUARD;
use crate::{
    pass::{ModelQuestion, Purpose},
    text::head,
};

/// Asks whether the scene ended.
pub fn break_prompt(current: &str, previous_reply: &str) -> ModelQuestion {
    ModelQuestion {
        purpose: Purpose::SceneBreak,
        prompt: format!(
            "Does a new scene begin in the newer text? A scene ends when the story moves to \
             another place, when time passes, when somebody sleeps or wakes, or when the person \
             the scene is about meets others or is left alone. Walking through a room or a pause \
             in talk is no new scene. Answer YES or NO.\n\n\
             Before:\n{}\n\nNewer:\n{}",
            head(previous_reply, 1000),
            head(current, 1200)
        ),
        max_tokens: 5,
    }
}

/// Asks what happened in a scene.
pub fn summary_prompt(scene: &str) -> ModelQuestion {
    ModelQuestion {
        purpose: Purpose::SceneSummary,
        prompt: format!(
            "{GUARD}\n\n\
             Tell in two or three sentences, in the past tense, what happened in this scene: \
             who was there by name, what was done or decided, how it ended.\n\nScene:\n{scene}"
        ),
        max_tokens: 200,
    }
}
