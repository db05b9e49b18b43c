//! Rows of `vault` that decide a turn.

use crate::setting::{Setting, choice, dl, number, switch, text, whole};

const U32: u64 = u32::MAX as u64;

pub(super) const ROWS: &[Setting] = &[
    choice(
        "vault.profile",
        &["loreloom", "deeplore-2.x", "deeplore-2.0"],
        "The rules of vaults: our own, or DeepLore's to the letter.",
    )
    .at("/profiles/vault"),
    whole(
        "vault.scan_depth",
        (0, 1000),
        "messages",
        "How many of the newest messages are searched for keys of notes; 0 looks for none.",
    )
    .at("/vault/rules/keys/depth")
    .for_vaults()
    .known_as(&[dl("scanDepth")]),
    switch("vault.case_sensitive", "Case counts in keys of notes.")
        .at("/vault/rules/keys/case_sensitive")
        .known_as(&[dl("caseSensitive")]),
    switch(
        "vault.match_whole_words",
        "Keys match whole words only, also keys of several words.",
    )
    .at("/vault/rules/keys/whole_words")
    .known_as(&[dl("matchWholeWords")]),
    switch(
        "vault.names_are_keys",
        "A note's title, file name and aliases are keys too; they match whole words.",
    )
    .at("/vault/rules/keys/names"),
    choice(
        "vault.names",
        &["any", "title"],
        "What links, `requires`, pins and choices may call a note: its title, file name or alias, or only its title.",
    )
    .at("/vault/rules/names"),
    choice("vault.words", &["ascii", "unicode"], "Which letters belong to a word.")
        .at("/vault/rules/keys/words"),
    switch("vault.recursive", "The text of notes finds more notes.")
        .at("/vault/rules/recursion/enabled")
        .known_as(&[dl("recursiveScan")]),
    whole("vault.max_recursion_steps", (1, 100), "steps", "The most steps of recursion.")
        .at("/vault/rules/recursion/steps")
        .known_as(&[dl("maxRecursionSteps")]),
    whole(
        "vault.recursion_text",
        (0, U32),
        "UTF-16 units",
        "How much text is searched in each step of recursion.",
    )
    .at("/vault/rules/recursion/most_units"),
    choice(
        "vault.recursion_excluded",
        &["take_no_part", "bring_nothing"],
        "What a note's `excludeRecursion` means: it takes no part, or only its text finds nothing.",
    )
    .at("/vault/rules/recursion/excluded"),
    switch("vault.active_character", "The note about the speaking character is always in.")
        .at("/vault/rules/active_character")
        .known_as(&[dl("characterContextScan")]),
    switch("vault.fuzzy", "Notes are also found by what they are about, without a key.")
        .at("/vault/rules/fuzzy/enabled")
        .known_as(&[dl("fuzzySearchEnabled")]),
    number("vault.fuzzy_min_score", (0.0, 100.0), "", "The score that such a note needs.")
        .at("/vault/rules/fuzzy/min_score")
        .known_as(&[dl("fuzzySearchMinScore")]),
    whole("vault.fuzzy_most", (0, U32), "notes", "The most notes that are looked at for that.")
        .at("/vault/rules/fuzzy/most"),
    switch("vault.fuzzy_refine", "Refine keys hold for notes found that way too.")
        .at("/vault/rules/fuzzy/refine"),
    switch(
        "vault.weigh_occurrences",
        "Notes of equal priority are ordered by how often their keys occur; `deeplore-2.x` orders them by title after matching.",
    )
    .at("/vault/rules/order/by_occurrences")
    .known_as(&[dl("keywordOccurrenceWeighting")]),
    switch("vault.priority_reversed", "Higher numbers are more important.")
        .at("/vault/rules/order/reversed")
        .known_as(&[dl("priorityReversed")]),
    switch(
        "vault.by_confidence",
        "What the selecting model is surer of comes first, before priority counts.",
    )
    .at("/vault/rules/order/by_confidence"),
    whole(
        "vault.new_chat_threshold",
        (0, U32),
        "messages",
        "Up to how many messages a chat is new.",
    )
    .at("/vault/rules/new_chat_threshold")
    .known_as(&[dl("newChatThreshold")]),
    whole("vault.max_entries", (1, U32), "notes", "The most notes of a turn.")
        .at("/vault/rules/budget/entries")
        .or_none()
        .known_as(&[dl("maxEntries"), dl("unlimitedEntries").words(&[("true", "none")])]),
    whole("vault.max_tokens", (1, U32), "tokens", "The most tokens of notes.")
        .at("/vault/rules/budget/tokens")
        .or_none()
        .known_as(&[dl("maxTokensBudget"), dl("unlimitedBudget").words(&[("true", "none")])]),
    choice(
        "vault.oversized_first",
        &["whole", "truncate"],
        "What happens to a first note that is larger than the budget: it goes in whole and the others keep their budget, or it is treated like any other.",
    )
    .at("/vault/rules/budget/oversized_first"),
    switch(
        "vault.shorten",
        "A note that does not fit is shortened, and no other follows; else it is left out whole. On in `deeplore-2.x`.",
    )
    .at("/vault/rules/budget/shorten"),
    whole(
        "vault.shortest",
        (0, U32),
        "tokens",
        "A note is shortened only if at least this much of it fits.",
    )
    .at("/vault/rules/budget/shortest"),
    choice(
        "vault.position",
        &["before", "after", "in_chat"],
        "Where notes without a place go: before or after the main prompt, or into the chat.",
    )
    .at("/vault/rules/placement/position")
    .for_vaults()
    .known_as(&[dl("injectionPosition").words(POSITIONS)]),
    whole("vault.depth", (0, 10_000), "messages", "Their depth inside the chat.")
        .at("/vault/rules/placement/depth")
        .for_vaults()
        .known_as(&[dl("injectionDepth")]),
    choice("vault.role", &["system", "user", "assistant"], "The role of notes without a role.")
        .at("/vault/rules/placement/role")
        .for_vaults()
        .known_as(&[dl("injectionRole").words(ROLES)]),
    switch("vault.slots", "Notes without a place go to named slots of the prompt instead.")
        .at("/vault/rules/placement/slots")
        .known_as(&[dl("injectionMode").words(&[("prompt_list", "true"), ("extension", "false")])]),
    text("vault.template", "How a note is written; `{{title}}` and `{{content}}` are its parts.")
        .at("/vault/rules/placement/template")
        .known_as(&[dl("injectionTemplate")]),
    switch(
        "vault.feeds_world_info",
        "World Info also looks for its keys in the notes of the turn.",
    )
    .known_as(&[dl("allowWIScan")]),
    whole(
        "vault.reinjection_cooldown",
        (0, U32),
        "turns",
        "For how many turns a note that was in stays out.",
    )
    .at("/vault/rules/repetition/cooldown")
    .known_as(&[dl("reinjectionCooldown")]),
    switch(
        "vault.strip_duplicates",
        "Notes that were in not long ago are left out. On in `deeplore-2.x`; off here, because what was sent before is not in the next prompt.",
    )
        .at("/vault/rules/repetition/strip")
        .known_as(&[dl("stripDuplicateInjections")]),
    whole("vault.strip_lookback", (0, U32), "turns", "How many turns back that looks.")
        .at("/vault/rules/repetition/strip_lookback")
        .known_as(&[dl("stripLookbackDepth")]),
    switch("vault.decay", "The selecting model is told which notes are stale or frequent.")
        .at("/vault/rules/repetition/decay")
        .known_as(&[dl("decayEnabled")]),
    whole("vault.stale_after", (0, U32), "turns", "After how many turns a note is stale.")
        .at("/vault/rules/repetition/stale_after")
        .known_as(&[dl("decayBoostThreshold")]),
    whole(
        "vault.frequent_after",
        (0, U32),
        "turns",
        "After how many turns in a row a note is frequent.",
    )
    .at("/vault/rules/repetition/frequent_after")
    .known_as(&[dl("decayPenaltyThreshold")]),
];

/// `SillyTavern`'s numbers of places.
pub(super) const POSITIONS: &[(&str, &str)] = &[("0", "after"), ("1", "in_chat"), ("2", "before")];

/// `SillyTavern`'s numbers of roles.
pub(super) const ROLES: &[(&str, &str)] = &[("0", "system"), ("1", "user"), ("2", "assistant")];

pub(super) const SELECTION: &[Setting] = &[
    choice(
        "vault.selection.mode",
        &["keyword", "two-stage", "ai-only"],
        "Who decides which notes a turn needs: keys, keys and then a model, or a model alone.",
    )
    .known_as(&[dl("aiSearchMode"), dl("aiSearchEnabled")])
    .flag("vault-mode"),
    choice(
        "vault.selection.confidence",
        &["low", "medium", "high"],
        "How sure the selecting model must be.",
    )
    .known_as(&[dl("aiConfidenceThreshold")]),
    choice(
        "vault.selection.on_failure",
        &["unfiltered", "candidates", "keyword", "constants", "bootstrap", "nothing"],
        "What goes in when the selecting model fails.",
    )
    .known_as(&[dl("aiErrorFallback").words(&[
        ("keyword", "keyword"),
        ("constants_only", "constants"),
        ("bootstrap_only", "bootstrap"),
        ("none", "nothing"),
    ])]),
    choice(
        "vault.selection.on_nothing",
        &["constants", "bootstrap", "keyword", "nothing"],
        "What goes in when the selecting model chooses nothing.",
    )
    .known_as(&[dl("aiEmptyFallback").words(&[
        ("constants", "constants"),
        ("constants_bootstrap", "bootstrap"),
        ("keyword", "keyword"),
        ("none", "nothing"),
    ])]),
    whole(
        "vault.selector.timeout_ms",
        (1, 999_999),
        "ms",
        "The longest that a turn waits for the selecting model, all tries together.",
    )
    .after_restart()
    .known_as(&[dl("aiSearchTimeout")]),
    whole(
        "vault.selector.retries",
        (0, 10),
        "",
        "How often the selecting model is asked again after a failure that may pass.",
    )
    .after_restart(),
    whole("vault.selector.answer_tokens", (1, U32), "tokens", "Its longest answer.")
        .after_restart()
        .known_as(&[dl("aiSearchMaxTokens")]),
    whole("vault.selector.scan_depth", (0, U32), "messages", "How many messages it reads.")
        .after_restart()
        .known_as(&[dl("aiSearchScanDepth")]),
    choice(
        "vault.selector.summary",
        &["prefer_summary", "summary_only", "content_only"],
        "Which text of a note it reads.",
    )
    .after_restart()
    .known_as(&[dl("manifestSummaryMode")]),
    whole(
        "vault.selector.summary_length",
        (1, U32),
        "UTF-16 units",
        "How much of a note's text it reads.",
    )
    .after_restart()
    .known_as(&[dl("aiSearchManifestSummaryLength")]),
    whole(
        "vault.selector.breaker_failures",
        (0, U32),
        "",
        "After how many failures in a row it is not asked for a while.",
    )
    .after_restart(),
    whole("vault.selector.breaker_seconds", (0, 86_400), "s", "For how long it is not asked then.")
        .after_restart(),
    number(
        "vault.selector.narrow",
        (0.0, 0.8),
        "",
        "In large vaults it first chooses topics, which may leave out this share of the notes.",
    )
    .or_none()
    .after_restart()
    .known_as(&[dl("hierarchicalAggressiveness"), dl("hierarchicalPreFilter")]),
    text("vault.selector.system", "What it is told about its work; empty for our own words.")
        .after_restart()
        .known_as(&[dl("aiSearchSystemPrompt")]),
];

pub(super) const QUIRKS: &[Setting] = &[
    whole(
        "vault.quirks.gate_passes",
        (0, U32),
        "passes",
        "The most passes of requires and excludes; `none` goes on until nothing changes.",
    )
    .at("/vault/rules/quirks/gate_passes")
    .or_none(),
    switch(
        "vault.quirks.zero_priority_is_fifty",
        "A priority of 0 counts as 50 where requires and excludes are applied.",
    )
    .at("/vault/rules/quirks/zero_priority_is_fifty"),
    switch(
        "vault.quirks.folders_as_written",
        "A chosen folder is compared as it is written: one with a slash at an end holds nothing.",
    )
    .at("/vault/rules/quirks/folders_as_written"),
    switch(
        "vault.quirks.inspection_minds_case",
        "Lints take titles that differ in case for different titles.",
    )
    .at("/vault/rules/quirks/inspection_minds_case"),
    switch(
        "vault.quirks.phrases_match_anywhere",
        "Keys of several words match anywhere, also where only whole words count.",
    )
    .at("/vault/rules/quirks/phrases_match_anywhere"),
    switch(
        "vault.quirks.title_breaks_ties",
        "After matching, notes of equal priority are ordered by title alone.",
    )
    .at("/vault/rules/quirks/title_breaks_ties"),
    switch("vault.quirks.empty_notes_are_sent", "Notes without text are sent, as an empty tag.")
        .at("/vault/rules/quirks/empty_notes_are_sent"),
    switch(
        "vault.quirks.staleness_is_forgotten",
        "A stale note is fresh again at twice the threshold, and one that was never in is fresh.",
    )
    .at("/vault/rules/quirks/staleness_is_forgotten"),
    switch(
        "vault.quirks.hidden_use_depth",
        "Messages that are not scanned still use up the depth.",
    )
    .at("/vault/rules/quirks/hidden_use_depth"),
    switch("vault.quirks.exact_is_bytes", "Case-sensitive keys compare bytes.")
        .at("/vault/rules/quirks/exact_is_bytes"),
    switch(
        "vault.quirks.bootstrap_always_passes",
        "Notes for new chats pass all conditions in long chats too.",
    )
    .at("/vault/rules/quirks/bootstrap_always_passes"),
    switch(
        "vault.quirks.existence_needs_context",
        "Without any scene, fields that must exist are not asked for.",
    )
    .at("/vault/rules/quirks/existence_needs_context"),
    switch("vault.quirks.vaults_tie", "Notes of one title and priority are not sorted by vault.")
        .at("/vault/rules/quirks/vaults_tie"),
    switch(
        "vault.quirks.last_title_wins",
        "A title means the last note that has it, not all of them.",
    )
    .at("/vault/rules/quirks/last_title_wins"),
    switch(
        "vault.quirks.titles_are_a_set",
        "A title is gone as soon as one of the notes that share it is.",
    )
    .at("/vault/rules/quirks/titles_are_a_set"),
    switch(
        "vault.quirks.log_ignores_vault",
        "Equal titles of two vaults are one note to the log of injections.",
    )
    .at("/vault/rules/quirks/log_ignores_vault"),
    switch("vault.quirks.zero_lookback_is_all", "Looking back 0 turns looks at all of them.")
        .at("/vault/rules/quirks/zero_lookback_is_all"),
    switch(
        "vault.quirks.template_may_lack_content",
        "A template without `{{content}}` is used as it is.",
    )
    .at("/vault/rules/quirks/template_may_lack_content"),
    switch(
        "vault.quirks.shortened_is_another",
        "A shortened note is another note to the log of injections.",
    )
    .at("/vault/rules/quirks/shortened_is_another"),
    switch(
        "vault.quirks.estimate_shortened",
        "The size of a shortened note is estimated from its length.",
    )
    .at("/vault/rules/quirks/estimate_shortened"),
];
