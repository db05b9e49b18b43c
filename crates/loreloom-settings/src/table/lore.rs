//! Rows of `lore`.

use crate::setting::{Setting, choice, data, text};

pub(super) const ROWS: &[Setting] = &[
    choice(
        "lore.dialect",
        &[
            "auto",
            "world-info",
            "cards",
            "card-v3",
            "seed-002",
            "unorouter",
            "risu",
            "kobold",
            "ai-dungeon",
            "agnai",
            "janitor",
            "chub",
            "backyard",
        ],
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
    data(
        "lore.regex_scripts",
        "SillyTavern regex scripts that change entries on their way into the prompt.",
    ),
];
