//! Rows of `memory`.
//!
//! What decides a prompt takes effect at once. What decides the work of the extracting model is
//! read when the server starts, because that work is shared by all tenants.

use crate::setting::{Setting, choice, data, number, sm, switch, whole};

const U32: u64 = u32::MAX as u64;

const fn budget(name: &'static str, help: &'static str) -> Setting {
    whole(name, (0, U32), "tokens", help).for_stories()
}

const fn job(setting: Setting) -> Setting {
    setting.after_restart()
}

const fn threshold(name: &'static str, help: &'static str) -> Setting {
    whole(name, (0, U32), "memories", help).after_restart()
}

pub(super) const ROWS: &[Setting] = &[
    job(switch("memory.on", "Remember stories, and recall passages of them.")),
    job(choice(
        "memory.profile",
        &["loreloom", "smart-memory-1.8"],
        "The rules of memory: our own, or Smart Memory's to the letter.",
    ))
    .at("/profiles/memory"),
    choice(
        "memory.settings_mode",
        &["simple", "advanced"],
        "`simple` divides the total budget between the tiers, `advanced` uses each budget.",
    ),
    budget("memory.total_inject_budget", "One budget for all tiers, divided in the simple mode.").or_none(),
    budget("memory.inject_cap", "The most tokens of memory in a prompt, whatever the budgets.").or_none(),
    budget("memory.longterm_inject_budget", "The budget of long-term memories."),
    budget("memory.session_inject_budget", "The budget of session memories."),
    budget("memory.scene_inject_budget", "The budget of past scenes."),
    budget("memory.arcs_inject_budget", "The budget of open arcs."),
    budget("memory.canon_inject_budget", "The budget of history as prose."),
    budget("memory.profiles_inject_budget", "The budget of profiles."),
    budget("memory.relationships_inject_budget", "The budget of relationships."),
    budget("memory.epistemic_inject_budget", "The budget of who knows what."),
    budget("memory.state_ledger_inject_budget", "The budget of state cards."),
    budget("memory.recall_inject_budget", "The budget of passages recalled from the story."),
    switch("memory.auto_tune_budgets", "Budgets grow to what the tiers want.").for_stories(),
    switch("memory.unified_injection", "Put all slots of memory into one block.").for_stories(),
    switch("memory.macros_enabled", "Slots go only to their macros."),
    data("memory.places", "Slots with another place: an object of slots with `position`, `depth` and `role`.").for_stories(),
    switch("memory.compaction_enabled", "Summarise the story."),
    whole(
        "memory.compaction_response_length",
        (0, U32),
        "tokens",
        "The longest summary, written and in the prompt.",
    ),
    job(whole(
        "memory.compaction_threshold",
        (0, 100),
        "%",
        "From which share of the context on the story is summarised.",
    )),
    switch("memory.longterm_enabled", "Keep long-term memories."),
    job(whole("memory.longterm_max_memories", (0, U32), "memories", "The most active long-term memories.")),
    switch("memory.session_enabled", "Keep session memories."),
    job(whole("memory.session_max_memories", (0, U32), "memories", "The most active session memories.")),
    job(whole("memory.extract_every", (1, U32), "messages", "How many messages are between two extractions."))
        .known_as(&[sm("longterm_extract_every"), sm("session_extract_every")]),
    switch("memory.scene_enabled", "Detect and summarise scenes."),
    job(switch("memory.scene_ai_detect", "Ask the model whether a scene ended.")),
    job(whole("memory.scene_max_history", (0, U32), "scenes", "How many scenes are kept.")),
    job(whole("memory.scene_min_messages", (0, U32), "messages", "How many messages a scene has at least.")),
    switch("memory.arcs_enabled", "Keep arcs of the story."),
    job(whole("memory.arcs_max", (0, U32), "arcs", "The most open arcs.")),
    switch("memory.profiles_enabled", "Write profiles of characters."),
    job(whole("memory.profiles_stale_minutes", (0, U32), "minutes", "After how long a profile is written again, if notes about its character changed.")),
    job(whole("memory.profiles_stale_messages", (0, U32), "messages", "After how many messages a profile is written again, if notes about its character changed.")),
    switch(
        "memory.story_clock",
        "Read the story's own time from its words, and say how long ago memories were. No model is needed.",
    ),
    data(
        "memory.calendar",
        "The months of the story's world, in order, each with `name` and `days`; empty for our own.",
    ),
    switch(
        "memory.shrink_history",
        "Leave messages out of the prompt that the summary covers. The story stays as it is.",
    ),
    whole("memory.shrink_history_keep", (0, U32), "messages", "How many of the newest messages always stay in the prompt."),
    switch("memory.canon_enabled", "Write the history as prose."),
    switch("memory.relationships_enabled", "Show relationships."),
    switch("memory.epistemic_enabled", "Keep who knows what."),
    switch("memory.epistemic_inject_unaware", "Show a character what it does not know."),
    switch(
        "memory.epistemic_secondhand_framing",
        "Mark memories that a character did not witness; otherwise they are left out.",
    ),
    switch("memory.state_ledger_enabled", "Keep state cards."),
    data(
        "memory.state_ledger_expiry",
        "After how many messages an unconfirmed value of a field expires, by field.",
    ),
    job(switch("memory.triggers_enabled", "Ask the model for trigger words, instead of taking them from the memory."))
        .known_as(&[sm("longterm_triggers_enabled")]),
    job(switch("memory.structured_calls", "Ask strong models for several tiers in one call.")),
    job(switch("memory.continuity_auto_check", "Check every reply of a strong model for contradictions.")),
    job(switch("memory.continuity_auto_repair", "Write a note for the next reply when a check finds one.")),
    job(switch("memory.recap_enabled", "Offer a recap to a returning reader.")),
    job(whole("memory.recap_threshold_hours", (0, U32), "hours", "After how many hours away a recap is offered.")),
    job(switch("memory.consolidation_enabled", "Merge new memories with older ones.")),
    threshold("memory.consolidation_threshold_fact", "How many new facts start a merge.")
        .known_as(&[sm("longterm_consolidation_threshold_fact")]),
    threshold("memory.consolidation_threshold_relationship", "How many new relationships start a merge.")
        .known_as(&[sm("longterm_consolidation_threshold_relationship")]),
    threshold("memory.consolidation_threshold_preference", "How many new preferences start a merge.")
        .known_as(&[sm("longterm_consolidation_threshold_preference")]),
    threshold("memory.consolidation_threshold_event", "How many new events start a merge.")
        .known_as(&[sm("longterm_consolidation_threshold_event")]),
    threshold(
        "memory.consolidation_threshold_session",
        "How many new session memories start a merge, for kinds without a number of their own.",
    )
    .known_as(&[sm("session_consolidation_threshold")]),
    threshold("memory.consolidation_threshold_scene", "How many new scene memories start a merge.")
        .or_none()
        .known_as(&[sm("session_consolidation_threshold_scene")]),
    threshold("memory.consolidation_threshold_revelation", "How many new revelations start a merge.")
        .or_none()
        .known_as(&[sm("session_consolidation_threshold_revelation")]),
    threshold("memory.consolidation_threshold_development", "How many new developments start a merge.")
        .or_none()
        .known_as(&[sm("session_consolidation_threshold_development")]),
    threshold("memory.consolidation_threshold_detail", "How many new details start a merge.")
        .or_none()
        .known_as(&[sm("session_consolidation_threshold_detail")]),
    job(choice("memory.hardware", &["a", "b"], "How capable the model is that does memory's work: `a` weak, `b` strong, `none` as its connection suggests."))
        .or_none()
        .known_as(&[sm("hardware_profile")]),
    job(data("memory.policies", "How the memory of characters is used, by name: `full`, `local`, `read_only` or `off`.")),
    job(whole("memory.recall.most", (0, 1000), "passages", "The most passages recalled for a turn; 0 turns recall off.")),
    job(number("memory.recall.least", (0.0, 100.0), "", "By how many standard deviations a passage must stand out.")),
    job(whole("memory.recall.passages", (0, U32), "passages", "The most passages that are indexed at once, over all chats.")),
];

pub(super) const RULES: &[Setting] = &[
    job(whole(
        "memory.rules.retire_unconfirmed_after",
        (0, U32),
        "passes",
        "After how many passes without confirmation a memory retires.",
    ))
    .or_none(),
    job(choice(
        "memory.rules.merged",
        &["retired", "overwritten"],
        "What happens to memories that were merged.",
    )),
    job(switch(
        "memory.rules.keep_evicted",
        "Keep memories that lost their place as retired ones.",
    )),
    job(switch("memory.rules.keep_retired_insights", "Keep insights that the model retired.")),
    job(whole(
        "memory.rules.retired_max",
        (0, U32),
        "memories",
        "The most retired memories of a tier.",
    ))
    .or_none(),
    job(switch(
        "memory.rules.drop_confirmed_duplicates",
        "Drop a candidate if the model says that it repeats a memory.",
    )),
    job(switch(
        "memory.rules.session_updates",
        "Ask the model whether a session note replaces a similar one.",
    )),
    job(switch(
        "memory.rules.notes_hide_threads",
        "A thread that is like a session note is no thread.",
    )),
    job(switch(
        "memory.rules.cast_change_ends_scene",
        "A change of the people present ends a scene.",
    )),
    job(switch(
        "memory.rules.derived_triggers",
        "With weak models, trigger words come from the memory itself.",
    )),
    job(whole(
        "memory.rules.canon_confirmations",
        (0, U32),
        "",
        "A memory confirmed this often belongs to canon.",
    ))
    .or_none(),
    job(switch("memory.rules.profiles_grow_stale", "Profiles expire.")),
    job(choice(
        "memory.rules.unified",
        &["all", "seven"],
        "Which slots the unified block replaces.",
    )),
    job(switch(
        "memory.rules.unified_before_main",
        "The unified block goes before the main prompt instead of into it.",
    )),
    job(switch(
        "memory.rules.cut_summary_at_sentence",
        "A summary that is too long is cut at the end of a sentence.",
    )),
    job(switch(
        "memory.rules.ranges_from_chat_end",
        "A memory's range of messages is counted back from the end of the chat.",
    )),
    job(whole(
        "memory.rules.scene_text_limit",
        (0, U32),
        "characters",
        "How much of a scene the summary prompt gets.",
    )),
    job(switch(
        "memory.rules.hold_ungrounded",
        "Memories with names, numbers or quotes that no message supports wait for review.",
    )),
    job(switch(
        "memory.rules.keeps_secrets",
        "A character's prompt contains nothing that is kept from it.",
    )),
    job(switch(
        "memory.rules.faded_come_back",
        "Candidates are also compared with faded memories.",
    )),
    job(switch("memory.rules.shown_stay", "A memory that is shown does not fade.")),
    job(switch(
        "memory.rules.repeated_scene_ends",
        "A scene whose summary repeats a recent one still ends.",
    )),
    job(switch("memory.rules.ledger_expires", "Values of state cards expire.")),
    job(switch(
        "memory.rules.keep_contradictions",
        "Contradicting memories are both kept and linked.",
    )),
    job(choice(
        "memory.rules.text",
        &["tolerant", "literal"],
        "Whether texts of models are read by their meaning or to the letter.",
    )),
];
