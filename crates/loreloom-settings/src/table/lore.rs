//! Rows of `lore`.

use crate::setting::{Setting, choice, data, text};

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
    data(
        "lore.regex_scripts",
        "SillyTavern regex scripts that change entries on their way into the prompt.",
    ),
];
