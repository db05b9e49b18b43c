//! Rows of `notebooks`.

use super::vault::{POSITIONS, ROLES};
use crate::setting::{Setting, choice, dl, switch, text, whole};

const U32: u64 = u32::MAX as u64;
const WHERE: &[&str] = &["before", "after", "in_chat"];
const WHO: &[&str] = &["system", "user", "assistant"];

pub(super) const ROWS: &[Setting] = &[
    switch("notebooks.author.on", "The author's notebook of a chat goes into its prompts.")
        .at("/notebooks/author")
        .known_as(&[dl("notebookEnabled")]),
    choice("notebooks.author.position", WHERE, "Where it goes: before or after the main prompt, or into the chat.")
        .at("/notebooks/author_place/position")
        .known_as(&[dl("notebookPosition").words(POSITIONS)]),
    whole("notebooks.author.depth", (0, 10_000), "messages", "Its depth inside the chat.")
        .at("/notebooks/author_place/depth")
        .known_as(&[dl("notebookDepth")]),
    choice("notebooks.author.role", WHO, "Its role.")
        .at("/notebooks/author_place/role")
        .known_as(&[dl("notebookRole").words(ROLES)]),
    choice(
        "notebooks.model.mode",
        &["off", "tag", "extract"],
        "Whether the model keeps a notebook: not, between tags in its replies, or by a model that reads them.",
    )
    .known_as(&[dl("aiNotepadMode"), dl("aiNotepadEnabled")]),
    choice("notebooks.model.position", WHERE, "Where it goes.")
        .at("/notebooks/model/place/position")
        .known_as(&[dl("aiNotepadPosition").words(POSITIONS)]),
    whole("notebooks.model.depth", (0, 10_000), "messages", "Its depth inside the chat.")
        .at("/notebooks/model/place/depth")
        .known_as(&[dl("aiNotepadDepth")]),
    choice("notebooks.model.role", WHO, "Its role.")
        .at("/notebooks/model/place/role")
        .known_as(&[dl("aiNotepadRole").words(ROLES)]),
    text("notebooks.model.tag", "The tag between which the model writes notes.")
        .known_as(&[dl("aiNotepadTag")]),
    text("notebooks.model.instruction", "What the model is told about its notebook.")
        .known_as(&[dl("aiNotepadPrompt")]),
    text("notebooks.model.extraction", "What a model that reads replies is told.")
        .known_as(&[dl("aiNotepadExtractPrompt")]),
    whole("notebooks.model.answer_tokens", (1, U32), "tokens", "The longest answer of that model.")
        .known_as(&[dl("aiNotepadMaxTokens")]),
    whole("notebooks.model.timeout_ms", (1, 999_999), "ms", "The longest that its answer is waited for.")
        .known_as(&[dl("aiNotepadTimeout")]),
    whole("notebooks.model.most", (0, U32), "notes", "The most notes that are kept, oldest going first; 0 keeps all.")
        .known_as(&[dl("aiNotepadMaxEntries")]),
];
