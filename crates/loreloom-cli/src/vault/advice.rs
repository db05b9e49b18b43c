//! What to do about a vault that has notes and no lore.

use std::collections::BTreeMap;

use loreloom_formats::vault::{NoteRules, tags_of};

/// The setting that would make these notes lore.
pub(crate) fn admission_advice<'text>(
    texts: impl Iterator<Item = &'text str>,
    rules: &NoteRules,
) -> String {
    let mut tags: BTreeMap<String, usize> = BTreeMap::new();
    let mut notes = 0;
    for text in texts {
        notes += 1;
        for tag in tags_of(text, rules) {
            *tags.entry(tag).or_default() += 1;
        }
    }
    let mut tags: Vec<(String, usize)> = tags.into_iter().collect();
    tags.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let often: Vec<String> =
        tags.iter().take(3).map(|(tag, count)| format!("`#{tag}` ({count})")).collect();
    let by_tag = match tags.first() {
        Some((tag, _)) => format!(
            ", and `--vault-notes '#{tag}'` those with one tag (the most frequent are {})",
            often.join(", ")
        ),
        None => String::new(),
    };
    format!(
        "`vault.notes` is `{}`; `--vault-notes all` uses all {notes} notes{by_tag}",
        rules.admits
    )
}
