//! Rows of `vault` that say how notes are read.

use crate::setting::{Setting, choice, dl, switch, text, whole};

pub(super) const ROWS: &[Setting] = &[
    choice(
        "vault.conflicts",
        &["all", "first", "last", "merge"],
        "What happens to notes of the same title in several vaults.",
    )
    .after_restart()
    .known_as(&[dl("multiVaultConflictResolution")]),
    text("vault.field_file", "The file with the vault's own fields.")
        .after_restart()
        .known_as(&[dl("fieldDefinitionsPath")]),
    choice(
        "vault.refresh.when",
        &["ttl", "turns", "manual"],
        "When notes of Obsidian's REST API are read again: when they are old, every few turns, or on the signal HUP.",
    )
    .after_restart()
    .known_as(&[dl("indexRebuildTrigger").words(&[
        ("ttl", "ttl"),
        ("generation", "turns"),
        ("manual", "manual"),
    ])]),
    whole("vault.refresh.ttl_seconds", (0, 86_400), "s", "How old they may be; 0 reads them at every turn.")
        .after_restart()
        .known_as(&[dl("cacheTTL")]),
    whole("vault.refresh.turns", (1, 100), "turns", "Every how many turns they are read again.")
        .after_restart()
        .known_as(&[dl("indexRebuildGenerationInterval")]),
    whole("vault.refresh.poll_seconds", (1, 3600), "s", "Also read them again every so often, without a turn.")
        .or_none()
        .after_restart()
        .known_as(&[dl("syncPollingInterval")]),
    whole("vault.refresh.wait_ms", (0, 60_000), "ms", "How long the turn that finds them old waits until they are read; then it uses what there is and warns.")
        .after_restart(),
    reading(text(
        "vault.notes",
        "Which notes are lore, as a list: `tagged` (with the tag `vault.tags.lore`), `all`, tags (`#npc`) and folders (`Places`); `-Templates` leaves notes out.",
    ))
    .at("/vault/reading/admits")
    .flag("vault-notes"),
    tag("vault.tags.lore", "The tag that marks a note as lore.")
        .at("/vault/reading/tags/lore")
        .known_as(&[dl("lorebookTag")]),
    tag("vault.tags.constant", "The tag of notes that are always in.")
        .at("/vault/reading/tags/constant")
        .known_as(&[dl("constantTag")]),
    tag("vault.tags.never", "The tag of notes that are never read.")
        .at("/vault/reading/tags/never")
        .known_as(&[dl("neverInsertTag")]),
    tag("vault.tags.seed", "The tag of notes that tell the selecting model about the story.")
        .at("/vault/reading/tags/seed")
        .known_as(&[dl("seedTag")]),
    tag("vault.tags.bootstrap", "The tag of notes that are in while a chat is new.")
        .at("/vault/reading/tags/bootstrap")
        .known_as(&[dl("bootstrapTag")]),
    tag("vault.tags.guide", "The tag of notes for people who write lore.")
        .at("/vault/reading/tags/guide")
        .known_as(&[dl("guideTag")]),
    reading(switch("vault.lenient", "Small mistakes in notes are put right."))
        .at("/vault/reading/lenient")
        .known_as(&[dl("lenientAuthoring")]),
    reading(choice("vault.reading.yaml", &["full", "mini"], "How fields of notes are read: as YAML, or as DeepLore does.")),
    reading(choice("vault.reading.headings", &["on_one_line", "across_lines"], "Whether the text of a heading must be on its line.")),
    reading(switch("vault.reading.selective_logic", "Refine keys may combine in other ways than any.")),
    reading(switch("vault.reading.world_info_fields", "Fields of World Info are kept.")),
    reading(switch("vault.reading.needs_title", "A note without a title is left out.")),
    reading(switch("vault.reading.obsidian_style", "Titles may be written as links, tags with `#` and in the text, notes have aliases, and what Obsidian does not show is not sent.")),
    reading(switch("vault.reading.timing_and_groups", "`sticky`, `delay`, `group` and `group_weight` are rules of a note; DeepLore only keeps them.")),
    reading(switch("vault.reading.blank_key", "An empty text for `keys` is a key that is never found.")),
];

const fn reading(setting: Setting) -> Setting {
    setting.for_vaults().after_restart()
}

const fn tag(name: &'static str, help: &'static str) -> Setting {
    reading(text(name, help))
}
