//! Rows of `cards`.

use crate::{
    profiles::CardProfile,
    setting::{Setting, choice, data, switch, text, whole},
};

const U32: u64 = u32::MAX as u64;

pub(super) const ROWS: &[Setting] = &[
    choice(
        "cards.profile",
        &CardProfile::NAMES,
        "The rules of books with the dialect `cards`: our own, those of a document, or another program's.",
    )
    .at("/profiles/cards"),
    whole(
        "cards.scan_depth",
        (0, U32),
        "messages",
        "How many of the newest messages are searched for keys, if a book does not say it.",
    )
    .for_books(),
    whole(
        "cards.scan_depth_most",
        (0, U32),
        "messages",
        "No entry searches more messages than this, whatever its book says.",
    ),
    whole("cards.budget", (0, U32), "tokens", "The budget, if no attached book sets one.")
        .for_books(),
    whole(
        "cards.budget_percent",
        (0, 100),
        "%",
        "The budget as a share of the context, if no attached book sets one; 0 takes `cards.budget`.",
    ),
    whole("cards.budget_floor", (0, U32), "tokens", "The budget is never below this."),
    whole("cards.budget_most", (0, U32), "tokens", "The budget is never above this."),
    switch("cards.recursive", "Books that do not say it are recursive.").for_books(),
    choice(
        "cards.recursion",
        &["own_book", "any_book"],
        "Whose setting counts for recursion: that of the entry's book, or that of any attached book.",
    ),
    whole(
        "cards.max_passes",
        (0, U32),
        "passes",
        "The most passes, the first one over the chat included; 0 is without limit.",
    ),
    choice(
        "cards.feed",
        &["expanded", "as_written"],
        "Recursion scans texts after or before their macros.",
    ),
    switch(
        "cards.lore_at_once",
        "Recursion scans a text at once: entries behind it see it in the same pass.",
    ),
    switch("cards.case_sensitive", "Case counts in keys, if an entry does not say it.").for_books(),
    switch("cards.match_whole_words", "Keys match whole words only, if an entry does not say it.")
        .for_books(),
    choice(
        "cards.words",
        &["ascii", "unicode", "spaced"],
        "Which letters belong to a word: A to Z, those of all scripts, or everything but a space.",
    ),
    switch(
        "cards.squash_spaces",
        "Spaces are left out of text and keys where parts of words count.",
    ),
    switch("cards.comma_keys", "A key with commas is a list of keys."),
    choice(
        "cards.count",
        &["all", "assistant", "with_greeting"],
        "Which messages the conditions of entries count.",
    ),
    switch("cards.activate_beats_gates", "`@@activate` also passes conditions and chance."),
    switch("cards.constants_need_required", "`@@additional_keys` also hold for constant entries."),
    switch("cards.exclusions_stop_constants", "Keys that exclude an entry also stop constant ones."),
    switch(
        "cards.regex_keys_only",
        "Entries with `use_regex` have no secondary keys, exclusions and constancy.",
    ),
    data(
        "cards.missing_priority",
        "The priority of entries without one: `order`, or an object `fixed` with the numbers `own` and `imported`.",
    ),
    choice(
        "cards.overflow",
        &["skip", "strict"],
        "After an entry that does not fit, smaller ones are tried or all are left out.",
    ),
    choice(
        "cards.ties",
        &["file", "id", "latest"],
        "What decides between equals: their place in the files, their id, or which one fired last.",
    ),
    switch("cards.constants_first", "Constant entries get their share of the budget first."),
    choice(
        "cards.cost",
        &["rendered", "as_written"],
        "An entry costs the tokens of its text after or before macros.",
    ),
    whole("cards.message_overhead", (0, U32), "tokens", "What each message costs beyond its text."),
    switch("cards.order_descends", "A higher `@@order` comes earlier."),
    switch("cards.field_order_descends", "A higher order in an entry's field comes earlier."),
    switch(
        "cards.positions",
        "Entries go to the place that their file names; else all go to the slot.",
    ),
    text("cards.slot", "The slot of entries that name no place."),
    whole(
        "cards.unplaced_depth",
        (0, U32),
        "messages",
        "How many messages from the chat's end entries go that name no place; none is the slot.",
    )
    .or_none(),
    choice("cards.role", &["system", "user", "assistant"], "The role of entries that name none."),
    text("cards.wrapper", "What is put around each text; `{0}` is the text, empty is nothing."),
    whole("cards.semantic_entries", (0, U32), "entries", "The most entries found by meaning."),
    whole(
        "cards.semantic_budget",
        (0, U32),
        "tokens",
        "The most tokens of entries found by meaning.",
    ),
    switch("cards.grammar.leading_blanks", "Blank lines may come before the block of decorators."),
    switch("cards.grammar.inner_blanks", "Blank lines may be inside the block of decorators."),
    switch(
        "cards.grammar.fallbacks",
        "Lines with a third `@` are fallbacks; else they end the block.",
    ),
    switch("cards.grammar.any_case", "Names of decorators are compared without case."),
    switch("cards.grammar.tabs", "A tab ends the name of a decorator too."),
    choice(
        "cards.grammar.repeats",
        &["first", "last"],
        "Which of two decorators of the same name counts.",
    ),
    choice(
        "cards.grammar.vocabulary",
        &["full", "card_v3", "unorouter", "risu"],
        "Which decorators are known.",
    ),
];
