//! Rows of `lore`.

use loreloom_core::library::Dialect;

use crate::setting::{Setting, choice, data, st, text, whole};

/// `auto`, and every dialect.
const DIALECTS: [&str; Dialect::NAMES.len() + 1] = {
    let mut names = ["auto"; Dialect::NAMES.len() + 1];
    let (_, rest) = names.split_at_mut(1);
    rest.copy_from_slice(&Dialect::NAMES);
    names
};

pub(super) const ROWS: &[Setting] = &[
    choice(
        "lore.dialect",
        &DIALECTS,
        "The rules that books run by. `auto` takes those of the program that a book comes from; `world-info` and `cards` are the sections of that name.",

    )
    .for_books()
    .after_restart()
    .flag("dialect"),
    choice(
        "lore.same_text",
        &["once", "twice"],
        "A text that entries of two books have goes into the prompt once or twice.",
    ),
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
