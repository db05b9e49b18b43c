//! The lore a stretch of the story was told with: what the model was given, it may remember.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, PrefixHash, TenantId},
    place::Provenance,
};
use rustc_hash::FxHashSet;

use super::MemoryService;
use loreloom_ports::MemoryError;

/// How many messages back lore is looked for: as far as a pass reads.
const MESSAGES: usize = 40;
/// Most turns that are looked at.
const TURNS: usize = 20;

impl MemoryService {
    /// The texts of the entries that stood in the prompts of the last messages, each once.
    /// Turns of other branches count for nothing.
    pub(super) async fn told_lore(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        items: &[PathItem],
    ) -> Result<Vec<String>, MemoryError> {
        if !self.options.rules.hold_ungrounded {
            return Ok(Vec::new());
        }
        let recent = items.iter().rev().take(MESSAGES);
        let recent: FxHashSet<PrefixHash> = recent.map(|item| item.prefix).collect();
        let turns = self.ports.story.turns(tenant, chat).await?;
        let told = turns
            .iter()
            .rev()
            .filter(|turn| !turn.undone && !turn.trimmed && recent.contains(&turn.at));
        let mut texts: Vec<String> = Vec::new();
        for turn in told.take(TURNS) {
            let record = self.ports.story.turn(tenant, chat, turn.id).await?;
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
