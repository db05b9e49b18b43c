//! Rows of `lore`.

use crate::setting::{Setting, choice, data, st, text, whole};

pub(super) const ROWS: &[Setting] = &[
    choice(
        "lore.dialect",
        &["auto", "world-info", "cards"],
        "How books are read. `auto` reads books of cards with decorators as card books and all others as World Info.",
    )
    .for_books()
    .after_restart()
    .flag("dialect"),
    text(
        "lore.wrap",
        "What is put around each entry: `none`, `xml-minimal`, `xml-standard`, `xml-detailed`, `xml-maximum`, `markdown`, `lb`, `world-info` or `custom:TEMPLATE`.",
    )
    .flag("wrap"),
    choice(
        "lore.hygiene",
        &["escape", "strip", "keep"],
        "What happens to chat-template tokens, role markers and hidden characters in lore and memory that would break a prompt.",
    ),
    text(
        "lore.wi_format",
        "What surrounds the lore before and after the character: `{0}` is the lore. Empty for nothing.",
    )
    .flag("wi-format")
    .known_as(&[st("wi_format")]),
    whole(
        "lore.steps.key",
        (1_000, 1_000_000_000),
        "steps",
        "The most steps of one regular expression in one text. A key that needs more counts as not found.",
    ),
    whole(
        "lore.steps.turn",
        (1_000, 100_000_000_000),
        "steps",
        "The most steps of all regular expressions of a turn.",
    ),
    data(
        "lore.regex_scripts",
        "SillyTavern regex scripts that change entries on their way into the prompt.",
    ),
];
