//! Jobs: what memory does with a model after a reply.
//!
//! [`JobPlanner`] decides what to queue, [`JobWorker`] claims jobs and runs them, and
//! `JobPasses` reads the story, runs a pass and writes what changed.

mod accounting;
mod cached_embedder;
mod catch_up;
mod changes;
mod characters;
mod grounding;
mod lore;
mod passes;
mod planner;
mod worker;

pub(super) use self::changes::{StateChange, changed_character, changed_chat};
pub use self::{
    grounding::ungrounded,
    planner::{JobPlanner, NewReply},
    worker::{JobRun, JobWorker, Stop},
};
