//! Rows of `world_info`.

use crate::setting::{Setting, choice, number, st, switch, whole};

const U32: u64 = u32::MAX as u64;

pub(super) const ROWS: &[Setting] = &[
    choice(
        "world_info.profile",
        &["loreloom", "sillytavern-1.19"],
        "The rules of World Info: our own, or SillyTavern's to the letter.",
    )
    .at("/profiles/world_info"),
    whole(
        "world_info.scan_depth",
        (0, 1000),
        "messages",
        "How many of the newest messages are searched for keys.",
    )
    .at("/world_info/depth")
    .for_books()
    .known_as(&[st("world_info_depth")])
    .flag("depth"),
    whole(
        "world_info.min_activations",
        (0, U32),
        "entries",
        "Scan further back until this many entries are active; 0 turns it off.",
    )
    .known_as(&[st("world_info_min_activations")]),
    whole(
        "world_info.min_activations_depth_max",
        (0, U32),
        "messages",
        "How far back that may go; 0 is without limit.",
    )
    .known_as(&[st("world_info_min_activations_depth_max")]),
    number(
        "world_info.budget_percent",
        (0.0, 100.0),
        "%",
        "The share of the context that World Info may fill.",
    )
    .known_as(&[st("world_info_budget")])
    .flag("budget"),
    whole(
        "world_info.budget_cap",
        (0, U32),
        "tokens",
        "The most tokens of World Info, whatever the share; 0 turns it off.",
    )
    .known_as(&[st("world_info_budget_cap")]),
    switch("world_info.include_names", "Scan messages as `Name: text`.")
        .known_as(&[st("world_info_include_names")]),
    switch("world_info.recursive", "The text of active entries may activate others.")
        .known_as(&[st("world_info_recursive")]),
    switch("world_info.case_sensitive", "Case counts in keys, if an entry does not say it.")
        .for_books()
        .known_as(&[st("world_info_case_sensitive")]),
    switch(
        "world_info.match_whole_words",
        "Keys match whole words only, if an entry does not say it.",
    )
    .for_books()
    .known_as(&[st("world_info_match_whole_words")]),
    switch(
        "world_info.use_group_scoring",
        "The number of matched keys decides between entries of a group, if an entry does not say it.",
    )
    .for_books()
    .known_as(&[st("world_info_use_group_scoring")]),
    choice(
        "world_info.strategy",
        &["evenly", "character_first", "global_first"],
        "Whether the character's books or the global ones come first.",
    )
    .known_as(&[st("world_info_character_strategy").words(&[
        ("0", "evenly"),
        ("1", "character_first"),
        ("2", "global_first"),
    ])]),
    whole(
        "world_info.max_recursion_steps",
        (0, U32),
        "passes",
        "The most passes of the scan; 0 is without limit.",
    )
    .known_as(&[st("world_info_max_recursion_steps")]),
    choice(
        "world_info.words",
        &["ascii", "unicode"],
        "Which letters belong to a word: A to Z as in SillyTavern, or those of all scripts.",
    ),
    whole(
        "world_info.vectors.messages",
        (0, U32),
        "messages",
        "How many of the newest messages entries are compared with by meaning.",
    ),
    number(
        "world_info.vectors.threshold",
        (-1.0, 1.0),
        "",
        "How near in meaning an entry must be: the cosine of two vectors.",
    ),
    whole(
        "world_info.vectors.max_entries",
        (0, U32),
        "entries",
        "The most entries found by meaning; 0 turns it off.",
    ),
    switch(
        "world_info.vectors.all",
        "Compare all entries by meaning, not only those marked `vectorized`.",
    ),
    switch(
        "world_info.quirks.double_removal",
        "An entry that loses in two groups also removes the last candidate.",
    ),
    switch(
        "world_info.quirks.send_lone_decorators",
        "A text of nothing but decorators is sent as it is.",
    ),
    switch(
        "world_info.quirks.shared_without_uid",
        "Entries without a uid share one result, so only the last one's text is sent.",
    ),
    switch(
        "world_info.quirks.unset_logic_scores_nothing",
        "Secondary keys give no points in groups if the file does not say how they combine.",
    ),
];
