//! The decisions in which Loreloom and Smart Memory differ.
//!
//! [`Rules::default`] is ours. [`Rules::smart_memory_1_8`] is the recorded behaviour of Smart
//! Memory, for the recorded cases and for people who move over. Its defects that lose or leak data
//! are not rules and cannot be turned on.

use serde::{Deserialize, Serialize};

use crate::text::TextRules;

/// What happens to memories that a consolidation merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merged {
    /// They are retired and linked to their replacement.
    Retired,
    /// They are deleted.
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
    /// Retire a memory after this many passes without confirmation.
    pub retire_unconfirmed_after: Option<u32>,
    /// What happens to merged memories.
    pub merged: Merged,
    /// Keep memories that lost their place as retired ones.
    pub keep_evicted: bool,
    /// Keep insights that the model retired.
    pub keep_retired_insights: bool,
    /// The most retired memories of a tier.
    pub retired_max: Option<usize>,
    /// Drop a candidate if the model says that it repeats a stored memory.
    pub drop_confirmed_duplicates: bool,
    /// A change of the people present ends a scene.
    pub cast_change_ends_scene: bool,
    /// Trigger words come from the memory itself, unless the settings ask a model for them.
    pub derived_triggers: bool,
    /// A memory confirmed this often belongs to canon, whatever its importance.
    pub canon_confirmations: Option<u32>,
    /// Profiles expire.
    pub profiles_grow_stale: bool,
    /// Which slots the unified block replaces.
    pub unified: UnifiedScope,
    /// The unified block goes before the main prompt instead of into it.
    pub unified_before_main: bool,
    /// A summary that is too long is cut at the end of a sentence.
    pub cut_summary_at_sentence: bool,
    /// A memory's range of messages is counted back from the end of the chat, whatever the pass
    /// read.
    pub ranges_from_chat_end: bool,
    /// How many characters of a scene the summary prompt gets.
    pub scene_text_limit: usize,
    /// Memories with names, numbers or quotes that no message supports are held for review.
    pub hold_ungrounded: bool,
    /// A character's prompt contains nothing that the character did not hear or that is kept from
    /// it. A note that it does not know something is shown only if the model sees that anyway.
    pub keeps_secrets: bool,
    /// Candidates are also compared with faded memories: a repeated one comes back, a changed one
    /// is replaced.
    pub faded_come_back: bool,
    /// A memory that is shown does not fade.
    pub shown_stay: bool,
    /// A scene whose summary repeats a recent one still ends: who knows what is stored, and its
    /// messages are not read again.
    pub repeated_scene_ends: bool,
    /// Values of state cards know their message and expire.
    pub ledger_expires: bool,
    /// If the model says that a candidate contradicts a stored memory, both are kept and linked.
    /// Contradictions of a reply are kept too.
    pub keep_contradictions: bool,
    /// Ask the model whether a session note replaces a similar one, as for long-term memories.
    pub session_updates: bool,
    /// A thread that is like a session note is no thread.
    pub notes_hide_threads: bool,
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
            session_updates: true,
            notes_hide_threads: false,
            text: TextRules::Tolerant,
        }
    }
}

impl Rules {
    /// The name of Smart Memory's profile.
    pub const SMART_MEMORY_1_8: &'static str = "smart-memory-1.8";

    /// The recorded behaviour of Smart Memory 1.8.
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
            session_updates: false,
            notes_hide_threads: true,
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
