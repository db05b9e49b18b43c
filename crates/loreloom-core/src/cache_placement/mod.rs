//! Places that keep the provider's prompt cache useful.
//!
//! Providers and local servers reuse the longest beginning that a prompt shares with one
//! they have seen. Lore at its authors' places breaks that beginning whenever an entry
//! comes or goes. In this mode a prompt has three zones instead:
//!
//! - the **head**: what the first turn of a story wove before the chat stays there;
//! - the **ledger**: later lore goes before the message that is newest at that time,
//!   and stays at that message, byte for byte;
//! - the **tail**: what changes anyway (notes, chance, recall) goes right before the
//!   newest message, where it costs least.
//!
//! A text that is no longer active is not removed at once, because removing it costs more than
//! leaving it. It lingers, then counts as waste, and waste is removed in batches. So lore may be
//! further back than its author asked for, and may outlive its activation. Lore that must not is
//! recognised by [`comes_and_goes`] and [`note_comes_and_goes`]. No text outlives its source
//! ([`SourceLookup::says`]).
//!
//! A front end with a full window drops its oldest messages every turn, and with them the whole
//! cache. If the settings allow it, more of the story is cut at once, and the cut then stays for
//! some turns.
//!
//! [`plan`] gives texts new places; [`assemble`](crate::assemble) finds them in the prompt. A
//! place in the ledger is a depth of this turn.

mod arrange;
mod cut;
mod ledger;
mod measure;
mod nature;
mod plan;
mod prefix;
mod provider;
mod sources;
mod trial;

use serde::{Deserialize, Serialize};

pub use self::{
    arrange::{Arrangement, Canvas},
    ledger::{Anchor, Ledger, LedgerDelta, Slip},
    measure::{Measured, Sent, measure},
    nature::{comes_and_goes, note_comes_and_goes},
    plan::{CutOff, Evicted, Eviction, Laid, PlanInput, Planned, Zone, fingerprint, plan},
    prefix::{SharedPrefix, TokenMemo, kept},
    provider::{Bill, CacheMark, PROVIDERS, Provider, marks},
    sources::{LoreSources, SourceLookup, wording},
    trial::{Mode, ModeResult, ModeTrial, TrialTurn},
};
use crate::units::{Depth, MessageCount};

/// How texts are kept in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StableSettings {
    /// For how many messages a text that no turn asks for any more is not yet waste.
    pub linger: MessageCount,
    /// How much of the budget waste may take, in per cent, before all of it leaves.
    pub waste_percent: u32,
    /// Lore at this depth or nearer to the end is volatile.
    pub notes_within: Depth,
    /// How far from the end volatile text may be.
    pub tail_depth: Depth,
    /// How often a text may change in place before its source counts as volatile.
    pub rewrites: u32,
    /// Once the front end trims the story, how much of what it still sends is cut off
    /// ahead, in per cent, so that the next turns need no trimming. With 0 nothing is.
    pub cut_ahead_percent: u32,
    /// Memory slots whose texts are volatile.
    pub volatile_slots: Vec<String>,
}

impl Default for StableSettings {
    fn default() -> Self {
        let slots = [
            "loreloom_recall",
            "smart_memory_epistemic",
            "smart_memory_repair",
            "smart_memory_state_ledger",
            "smart_memory_triggered",
        ];
        Self {
            linger: MessageCount(12),
            waste_percent: 25,
            notes_within: Depth(4),
            tail_depth: Depth(1),
            rewrites: 2,
            cut_ahead_percent: 0,
            volatile_slots: slots.map(str::to_owned).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests;
