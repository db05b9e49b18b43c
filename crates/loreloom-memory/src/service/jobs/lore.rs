//! The lore in the prompts of recent turns. The model may remember what it was given.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, PrefixHash, TenantId},
    place::Provenance,
};
use loreloom_ports::MemoryError;
use rustc_hash::FxHashSet;

use super::passes::JobPasses;

/// How many messages back lore is read: as far as a pass reads.
const MESSAGES: usize = 40;
/// The most turns that are read.
const TURNS: usize = 20;

impl JobPasses {
    /// The texts of the entries in the prompts of the last messages, each once. Turns of other
    /// branches do not count.
    pub(super) async fn recent_lore(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        items: &[PathItem],
    ) -> Result<Vec<String>, MemoryError> {
        let recent = items.iter().rev().take(MESSAGES);
        let recent: FxHashSet<PrefixHash> = recent.map(|item| item.prefix).collect();
        let turns = self.story.turns(tenant, chat).await?;
        let turns = turns
            .iter()
            .rev()
            .filter(|turn| !turn.undone && !turn.trimmed && recent.contains(&turn.at));
        let mut texts: Vec<String> = Vec::new();
        for turn in turns.take(TURNS) {
            let record = self.story.turn(tenant, chat, turn.id).await?;
            for injection in record.into_iter().flat_map(|record| record.injections) {
                let is_lore = matches!(injection.source, Provenance::Lore { .. });
                if is_lore && !texts.contains(&injection.text) {
                    texts.push(injection.text);
                }
            }
        }
        Ok(texts)
    }
}
