//! Stories that are played here: who takes part, and the prompt that Loreloom builds itself.
//!
//! A played turn takes the same way as one of a front end (`turn`), except that nothing has to be
//! recognised: cast, path and layout are known.

mod names;
mod prompt;
mod setup;
mod story_cast;

pub(crate) use self::{
    prompt::{PromptRequest, is_narrator, narrator_line},
    setup::{KeptStory, ModelChoice},
    story_cast::{Player, StoryCast},
};
