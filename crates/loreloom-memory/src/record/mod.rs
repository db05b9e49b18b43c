//! What memory keeps, tier by tier.
//!
//! Field names on the wire follow Smart Memory's containers, so that its data can be read
//! as they are and written back; what we add (receipts, reasons of retirement) is extra.

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
