//! Where Loreloom and Smart Memory decide differently: one value for each such decision.
//!
//! [`Rules::default`] is ours; [`Rules::smart_memory_1_8`] is what the peer was seen to do,
//! used by the recorded cases and by people who move over. Defects that lose or leak data
//! are not rules and cannot be turned on.

use serde::{Deserialize, Serialize};

use crate::text::TextRules;

/// What becomes of memories that a consolidation merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merged {
    /// They stay, retired, linked to what replaced them.
    Retired,
    /// They are gone.
    Overwritten,
}

/// Which slots the unified block replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnifiedScope {
    /// All of them.
    All,
    /// Canon, profiles, long-term, summary, scenes, session and arcs.
    Seven,
}

/// The decisions in which programs differ.
#[expect(clippy::struct_excessive_bools, reason = "each is one documented decision")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Retire a memory that so many passes did not confirm.
    pub retire_unconfirmed_after: Option<u32>,
    /// What becomes of merged memories.
    pub merged: Merged,
    /// Keep memories that lost their place, retired.
    pub keep_evicted: bool,
    /// Keep knowledge that the model retired, for history.
    pub keep_retired_insights: bool,
    /// Most retired memories of a tier.
    pub retired_max: Option<usize>,
    /// A model may also say that a candidate is the same as a stored memory.
    pub drop_confirmed_duplicates: bool,
    /// A change of the people present ends a scene.
    pub cast_change_ends_scene: bool,
    /// Weak models get trigger words drawn from the memory itself.
    pub derived_triggers: bool,
    /// A memory confirmed this often is part of canon, whatever its importance.
    pub canon_confirmations: Option<u32>,
    /// Profiles grow stale.
    pub profiles_grow_stale: bool,
    /// Which slots the unified block replaces.
    pub unified: UnifiedScope,
    /// Where the unified block stands: before the main prompt, or in it.
    pub unified_before_main: bool,
    /// A summary that is too long is cut at the end of a sentence.
    pub cut_summary_at_sentence: bool,
    /// A memory's range of messages is counted back from the end of the chat, whatever the
    /// pass really read.
    pub ranges_from_chat_end: bool,
    /// Characters of a scene that its summary is made from.
    pub scene_text_limit: usize,
    /// Memories that name, count or quote what no message bears out are put aside.
    pub hold_ungrounded: bool,
    /// Nothing goes into a character's prompt that was said behind its back or is kept from
    /// it; that it does not know something is said only if the model sees that anyway.
    pub keeps_secrets: bool,
    /// What faded or lost its place is compared too: told again it comes back, and what
    /// changed replaces it.
    pub faded_come_back: bool,
    /// A memory that is shown does not fade.
    pub shown_stay: bool,
    /// A scene whose summary repeats a recent one is over all the same: who knows what is
    /// noted, and its messages are not read again.
    pub repeated_scene_ends: bool,
    /// Values of state cards know their message, and grow old.
    pub ledger_expires: bool,
    /// A model may also say that a candidate contradicts a stored memory: both are kept, each
    /// with the other's name. What a reply contradicts is kept too.
    pub keep_contradictions: bool,
    /// How texts are read, compared and cut.
    pub text: TextRules,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            retire_unconfirmed_after: Some(10),
            merged: Merged::Retired,
            keep_evicted: true,
            keep_retired_insights: true,
            retired_max: None,
            drop_confirmed_duplicates: true,
            cast_change_ends_scene: true,
            derived_triggers: true,
            canon_confirmations: Some(2),
            profiles_grow_stale: true,
            unified: UnifiedScope::All,
            unified_before_main: false,
            cut_summary_at_sentence: true,
            ranges_from_chat_end: false,
            scene_text_limit: 12_000,
            hold_ungrounded: true,
            keeps_secrets: true,
            faded_come_back: true,
            shown_stay: true,
            repeated_scene_ends: true,
            ledger_expires: true,
            keep_contradictions: true,
            text: TextRules::Tolerant,
        }
    }
}

impl Rules {
    /// The name of the peer's profile.
    pub const SMART_MEMORY_1_8: &'static str = "smart-memory-1.8";

    /// What Smart Memory 1.8 was seen to do.
    pub fn smart_memory_1_8() -> Self {
        Self {
            retire_unconfirmed_after: None,
            merged: Merged::Overwritten,
            keep_evicted: false,
            keep_retired_insights: false,
            retired_max: Some(100),
            drop_confirmed_duplicates: false,
            cast_change_ends_scene: false,
            derived_triggers: false,
            canon_confirmations: None,
            profiles_grow_stale: false,
            unified: UnifiedScope::Seven,
            unified_before_main: true,
            cut_summary_at_sentence: false,
            ranges_from_chat_end: true,
            scene_text_limit: 2000,
            hold_ungrounded: false,
            keeps_secrets: false,
            faded_come_back: false,
            shown_stay: false,
            repeated_scene_ends: false,
            ledger_expires: false,
            keep_contradictions: false,
            text: TextRules::Literal,
        }
    }

    /// The rules of that name: `default` or `smart-memory-1.8`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::default()),
            Self::SMART_MEMORY_1_8 => Some(Self::smart_memory_1_8()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_data_and_unknown_ones_are_refused() -> Result<(), serde_json::Error> {
        let rules: Rules = serde_json::from_str(r#"{"merged":"overwritten"}"#)?;
        assert_eq!(rules, Rules { merged: Merged::Overwritten, ..Rules::default() });
        assert!(serde_json::from_str::<Rules>(r#"{"mergd":"retired"}"#).is_err());
        assert_eq!(Rules::named("smart-memory-1.8"), Some(Rules::smart_memory_1_8()));
        assert_eq!(Rules::named("other"), None);
        Ok(())
    }
}
