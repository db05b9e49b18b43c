//! Rows of `story`, `weaving` and `budget`.

use crate::setting::{Setting, choice, number, switch, text, texts, whole};

const U32: u64 = u32::MAX as u64;

pub(super) const ROWS: &[Setting] = &[
    text("story.user", "The user's name, if a request does not say it.").for_stories().flag("user"),
    text("story.character", "The character's name, if a request does not say it.")
        .or_none()
        .flag("char"),
    whole(
        "story.context",
        (1, U32),
        "tokens",
        "The model's context size, if neither its connection nor its server states it.",
    )
    .flag("context"),
    whole("story.seed", (0, u64::MAX), "", "The seed of all rolls.").for_stories(),
];

pub(super) const WEAVING: &[Setting] = &[
    switch("weaving.on", "Put lore into requests. If off, requests go on unchanged.").for_stories(),
    whole(
        "weaving.deadline_ms",
        (1, 600_000),
        "ms",
        "The longest that the engine works for a request. Then it goes on without lore.",
    )
    .flag("deadline"),
    whole(
        "weaving.queue_seconds",
        (1, 600),
        "s",
        "The longest that a request waits for its turn behind others. Then it goes on without lore.",
    ),
    choice(
        "weaving.placement",
        &["front-end", "stable"],
        "Where lore goes: where its authors want it, or where a prompt cache keeps most of each prompt.",
    )
    .after_restart()
    .flag("placement"),
    texts(
        "weaving.template",
        "The blocks of a prompt that Loreloom builds, in order; also `text:WORDS`, `slot:TIER` and `off:BLOCK`. In prompts of front ends it says where `lorebook` is.",
    ),
    whole(
        "weaving.stable.linger",
        (0, U32),
        "messages",
        "How long a text stays in place after no turn asks for it any more.",
    )
    .after_restart(),
    whole(
        "weaving.stable.waste_percent",
        (0, 100),
        "%",
        "How much of the budget texts that no turn asks for may take before they are removed.",
    )
    .after_restart(),
    whole(
        "weaving.stable.notes_within",
        (0, U32),
        "messages",
        "Lore at this depth or nearer to the end may change with every turn.",
    )
    .after_restart(),
    whole(
        "weaving.stable.tail_depth",
        (0, U32),
        "messages",
        "How far from the end text may be that changes with every turn.",
    )
    .after_restart(),
    whole(
        "weaving.stable.rewrites",
        (0, U32),
        "",
        "How often a text may change in place before it moves to the end.",
    )
    .after_restart(),
    whole(
        "weaving.stable.cut_ahead_percent",
        (0, 100),
        "%",
        "How much of the story is cut ahead once the front end trims it, so that the next turns need no trimming.",
    )
    .after_restart(),
    texts(
        "weaving.stable.volatile_slots",
        "Slots of memory whose texts change with every turn.",
    )
    .after_restart(),
];

pub(super) const BUDGET: &[Setting] = &[
    whole(
        "budget.total_tokens",
        (0, U32),
        "tokens",
        "The most tokens that lore and memory take together.",
    )
    .for_stories()
    .or_none(),
    number(
        "budget.total_percent",
        (0.0, 100.0),
        "%",
        "The same as a share of the context. With both, the smaller one counts.",
    )
    .for_stories()
    .or_none(),
    texts(
        "budget.ranks",
        "The sources, the most important first: `world_info`, `cards`, `vault`, `memory`. Others come last.",
    )
    .for_stories(),
    choice(
        "budget.make_room",
        &["history", "lore"],
        "What gives way if the prompt would be longer than the context: the oldest messages, or lore and memory.",
    )
    .for_stories(),
];
