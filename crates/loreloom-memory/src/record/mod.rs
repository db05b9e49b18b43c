//! The records of memory, tier by tier.
//!
//! Field names follow Smart Memory's containers, so its data can be read and written back. Our own
//! fields (receipts, reasons of retirement) are extra.

mod arc;
mod container;
mod contradiction;
mod entity;
mod epistemic;
mod ledger;
mod lenient;
mod memory;
mod ordered;
mod profile;
mod relationship;
mod scene;

pub use self::{
    arc::{ArcSummary, StoryArc},
    container::{Canon, CharacterMemory, ChatMemory, ReadOnly},
    contradiction::Contradiction,
    entity::{Entity, EntityId, EntityKind},
    epistemic::{Insight, InsightKind},
    ledger::{Ledger, StateCard, StateKind},
    memory::{Expiration, Memory, MemoryKind, Retirement, TimeScope},
    ordered::Ordered,
    profile::Profile,
    relationship::{Descriptor, Magnitude, Pair, Relationship, Relationships},
    scene::Scene,
};
