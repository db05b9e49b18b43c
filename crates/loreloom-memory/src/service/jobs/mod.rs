//! Jobs: what memory does with a model after a reply.
//!
//! [`JobPlanner`] decides what to queue, [`JobWorker`] claims jobs and runs them, and
//! `JobPasses` reads the story, runs a pass and writes what changed.

mod accounting;
mod catch_up;
mod changes;
mod characters;
mod foreground;
mod grounding;
mod lore;
mod passes;
mod planner;
mod worker;

pub(super) use self::{
    changes::{StateChange, changed_character, changed_chat},
    worker::{JobSignals, stopped},
};
pub use self::{
    foreground::{AwaitedReply, Foreground},
    grounding::ungrounded,
    planner::{JobPlanner, NewReply},
    worker::{JobRun, JobWorker, Stop},
};
