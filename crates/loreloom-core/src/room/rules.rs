//! The rules about room.

use serde::{Deserialize, Serialize};

use crate::{number::whole, units::Tokens};

/// The budget over everything: what all sources may take together, and what gives way when the
/// model's context is full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoomRules {
    /// The most tokens that lore and memory take together; `None` is no limit.
    pub total_tokens: Option<u32>,
    /// The same as a percentage of the context size. With both, the smaller one counts.
    pub total_percent: Option<f64>,
    /// The sources, the most important first. Sources that are missing come last.
    pub ranks: Vec<RankedSource>,
    /// What gives way when the prompt would be longer than the context.
    pub make_room: MakeRoom,
}

impl Default for RoomRules {
    fn default() -> Self {
        Self {
            total_tokens: None,
            total_percent: None,
            ranks: RankedSource::ALL.to_vec(),
            make_room: MakeRoom::default(),
        }
    }
}

impl RoomRules {
    /// Whether these are the defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The total with a context of this size.
    pub fn total(&self, context: Tokens) -> Option<Tokens> {
        let share = self
            .total_percent
            .map(|percent| Tokens(whole(f64::from(context.0) * percent.clamp(0.0, 100.0) / 100.0)));
        share.into_iter().chain(self.total_tokens.map(Tokens)).min()
    }

    /// The rank of a source; 0 is the most important.
    pub(super) fn rank(&self, source: RankedSource) -> usize {
        let named = self.ranks.iter().position(|one| *one == source);
        named.unwrap_or_else(|| self.ranks.len() + source as usize)
    }
}

/// A source of text that can give way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RankedSource {
    /// World Info.
    WorldInfo,
    /// Card books.
    Cards,
    /// Vault notes.
    Vault,
    /// Memory.
    Memory,
}

impl RankedSource {
    /// All sources in their default order.
    pub const ALL: [Self; 4] = [Self::WorldInfo, Self::Cards, Self::Vault, Self::Memory];
}

/// What gives way when the prompt would be longer than the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MakeRoom {
    /// The oldest messages of the chat, as a front end does it for its own lore.
    #[default]
    History,
    /// Lore and memory; the chat stays as the front end sent it.
    Lore,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_total_counts() {
        let rules = |total_tokens, total_percent| RoomRules {
            total_tokens,
            total_percent,
            ..RoomRules::default()
        };
        for (tokens, percent, expected) in [
            (None, None, None),
            (Some(300), None, Some(300)),
            (None, Some(25.0), Some(250)),
            (Some(300), Some(25.0), Some(250)),
            (Some(100), Some(25.0), Some(100)),
            (None, Some(250.0), Some(1000)),
        ] {
            let found = rules(tokens, percent).total(Tokens(1000));
            assert_eq!(found, expected.map(Tokens), "{tokens:?} {percent:?}");
        }
    }

    #[test]
    fn a_source_that_is_not_ranked_comes_last() {
        let ranks = vec![RankedSource::Memory, RankedSource::Vault];
        let rules = RoomRules { ranks, ..RoomRules::default() };
        let mut all = RankedSource::ALL;
        all.sort_by_key(|source| rules.rank(*source));
        let expected = [
            RankedSource::Memory,
            RankedSource::Vault,
            RankedSource::WorldInfo,
            RankedSource::Cards,
        ];
        assert_eq!(all, expected);
    }
}
