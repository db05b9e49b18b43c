//! `RisuAI`: which lore is active and in which order it is sent
//! (`src/ts/process/lorebook.svelte.ts`, December 2025).
//!
//! Left out, because they are not about matching: chance, conditions on the length of the chat,
//! remembered matches, regular expressions (a key without flags never matches there and a leading
//! slash stays in the pattern, which nobody wants), and `@@exclude_keys_all`, which there asks
//! every message for every key.

use std::cmp::Reverse;

/// A row of a lorebook.
#[derive(Clone, Debug, Default)]
pub struct RisuRow {
    /// Keys, separated by commas.
    pub key: String,
    /// Second keys, separated by commas; they count if the row is selective.
    pub second_key: String,
    /// Whether second keys count.
    pub selective: bool,
    /// Whether the row is active without keys.
    pub always_active: bool,
    /// Its order, which is also its priority.
    pub insert_order: i64,
    /// The text without decorators.
    pub text: String,
    /// What its decorators say.
    pub decorators: Vec<RisuDecorator>,
}

/// The decorators that change matching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RisuDecorator {
    /// `@@scan_depth`.
    ScanDepth(usize),
    /// `@@match_full_word`.
    FullWord,
    /// `@@match_partial_word`.
    PartialWord,
    /// `@@additional_keys`.
    AdditionalKeys(Vec<String>),
    /// `@@exclude_keys`.
    ExcludeKeys(Vec<String>),
    /// `@@recursive`.
    Recursive,
    /// `@@unrecursive`.
    Unrecursive,
    /// `@@no_recursive_search`.
    NoRecursiveSearch,
    /// `@@priority`.
    Priority(i64),
}

/// The settings of a character's lore.
#[derive(Clone, Copy, Debug)]
pub struct RisuSettings {
    /// Messages that are searched.
    pub scan_depth: usize,
    /// Tokens that active rows may have together.
    pub token_budget: usize,
    /// Whether texts of active rows are searched too.
    pub recursive: bool,
    /// Whether keys are whole words.
    pub full_word: bool,
}

impl Default for RisuSettings {
    /// The values of a new installation.
    fn default() -> Self {
        Self { scan_depth: 5, token_budget: 800, recursive: true, full_word: false }
    }
}

struct ActiveRow {
    index: usize,
    order: i64,
    priority: i64,
    tokens: usize,
}

/// The active rows in the order of the prompt.
pub fn active_rows(
    rows: &[RisuRow],
    chat: &[String],
    settings: RisuSettings,
    count_tokens: impl Fn(&str) -> usize,
) -> Vec<usize> {
    let mut active: Vec<ActiveRow> = Vec::new();
    let mut lore_texts: Vec<String> = Vec::new();
    let mut again = true;
    while again {
        again = false;
        for (index, row) in rows.iter().enumerate() {
            if active.iter().any(|one| one.index == index) {
                continue;
            }
            if !row.always_active && row.key.is_empty() {
                continue;
            }
            if !matches(row, chat, &lore_texts, settings) {
                continue;
            }
            active.push(ActiveRow {
                index,
                order: row.insert_order,
                priority: priority(row),
                tokens: count_tokens(&row.text),
            });
            if feeds(row, settings) {
                lore_texts.push(row.text.clone());
                again = true;
            }
        }
    }
    active.sort_by_key(|one| Reverse(one.priority));
    let mut used = 0;
    active.retain(|one| {
        let fits = used + one.tokens <= settings.token_budget;
        if fits {
            used += one.tokens;
        }
        fits
    });
    active.sort_by_key(|one| Reverse(one.order));
    active.reverse();
    active.into_iter().map(|one| one.index).collect()
}

fn matches(row: &RisuRow, chat: &[String], lore_texts: &[String], settings: RisuSettings) -> bool {
    if row.always_active {
        return true;
    }
    let mut depth = settings.scan_depth;
    let mut full_word = settings.full_word;
    let mut sees_lore = true;
    let mut wanted: Vec<Vec<String>> = Vec::new();
    let mut unwanted: Vec<Vec<String>> = Vec::new();
    for decorator in &row.decorators {
        match decorator {
            RisuDecorator::ScanDepth(messages) => depth = *messages,
            RisuDecorator::FullWord => full_word = true,
            RisuDecorator::PartialWord => full_word = false,
            RisuDecorator::AdditionalKeys(keys) => wanted.push(keys.clone()),
            RisuDecorator::ExcludeKeys(keys) => unwanted.push(keys.clone()),
            RisuDecorator::NoRecursiveSearch => sees_lore = false,
            RisuDecorator::Recursive | RisuDecorator::Unrecursive | RisuDecorator::Priority(_) => {}
        }
    }
    wanted.push(row.key.split(',').map(str::to_owned).collect());
    if row.selective && !row.second_key.is_empty() {
        wanted.push(row.second_key.split(',').map(str::to_owned).collect());
    }
    let mut texts: Vec<String> = chat[chat.len().saturating_sub(depth)..].to_vec();
    if sees_lore {
        texts.extend(lore_texts.iter().cloned());
    }
    wanted.iter().all(|keys| any_found(keys, &texts, full_word))
        && !unwanted.iter().any(|keys| any_found(keys, &texts, full_word))
}

/// Whether a text has a key. A whole word is what is between two spaces; parts of words are
/// looked for without any spaces.
fn any_found(keys: &[String], texts: &[String], full_word: bool) -> bool {
    let keys: Vec<String> =
        keys.iter().map(|key| key.trim().to_lowercase()).filter(|key| !key.is_empty()).collect();
    texts.iter().map(|text| text.to_lowercase()).any(|text| {
        keys.iter().any(|key| {
            if full_word {
                text.split(' ').any(|word| word == key)
            } else {
                text.replace(' ', "").contains(&key.replace(' ', ""))
            }
        })
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other decorators do not matter here")]
fn feeds(row: &RisuRow, settings: RisuSettings) -> bool {
    row.decorators.iter().fold(settings.recursive, |feeds, decorator| match decorator {
        RisuDecorator::Recursive => true,
        RisuDecorator::Unrecursive => false,
        _ => feeds,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other decorators do not matter here")]
fn priority(row: &RisuRow) -> i64 {
    row.decorators.iter().fold(row.insert_order, |priority, decorator| match decorator {
        RisuDecorator::Priority(own) => *own,
        _ => priority,
    })
}
