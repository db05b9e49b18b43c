//! What the selecting model gets to choose from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    dialects::vault::{VaultRules, VaultState, escape},
    js_value::{text_in_list, text_of},
    shorten::shorten,
    units::Tokens,
    utf16::cut,
    vault_notes::{FieldDefinition, NOT_IMPLEMENTED, Note, ROUND_TRIP, is_empty_value},
};

/// Which text of a note the manifest shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryMode {
    /// Its summary, else the beginning of its text.
    #[default]
    PreferSummary,
    /// Its summary; notes without one are left out.
    SummaryOnly,
    /// The beginning of its text.
    ContentOnly,
}

/// The sentences of a manifest. In them, `{n}`, `{total}` and `{tokens}` are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestWords {
    /// Behind a note that has not been in for long.
    pub stale: String,
    /// Behind a note that is in all the time.
    pub frequent: String,
    /// How many notes there are to choose from.
    pub candidates: String,
    /// How many are in anyway.
    pub forced: String,
    /// What fits.
    pub budget: String,
}

impl Default for ManifestWords {
    fn default() -> Self {
        Self {
            stale: "[not used for a while]".to_owned(),
            frequent: "[used in every recent turn]".to_owned(),
            candidates: "{n} entries to choose from, out of {total}.".to_owned(),
            forced: "{n} more are in already (about {tokens} tokens).".to_owned(),
            budget: "About {tokens} tokens fit in all.".to_owned(),
        }
    }
}

/// What the selecting model gets to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// One block for each note.
    pub text: String,
    /// How many there are, and what fits.
    pub header: String,
    /// How many there are.
    pub entries: u32,
}

/// How a manifest is written.
#[derive(Clone, Copy, Debug)]
pub struct ManifestStyle<'a> {
    /// Which text of a note is shown.
    pub mode: SummaryMode,
    /// The longest text for a note, in UTF-16 units.
    pub longest: usize,
    /// The vault's fields, for their labels.
    pub fields: &'a [FieldDefinition],
    /// The sentences.
    pub words: &'a ManifestWords,
    /// Whether fields that are only carried along are shown, as DeepLore 2.0 does.
    pub show_carried: bool,
    /// Whether left-out notes without a summary count as forced, as in DeepLore.
    pub count_left_out_as_forced: bool,
}

/// Writes the manifest of `candidates`. Notes that are in anyway are only counted; with
/// nothing left to choose, the manifest is empty.
pub fn manifest<'a>(
    candidates: impl IntoIterator<Item = &'a Note>,
    bootstrapping: bool,
    state: &VaultState,
    rules: &VaultRules,
    style: ManifestStyle<'_>,
) -> Manifest {
    let candidates: Vec<&Note> = candidates.into_iter().collect();
    let (forced, open): (Vec<&Note>, Vec<&Note>) =
        candidates.iter().partition(|note| note.is_forced(bootstrapping));
    let has_text =
        |note: &&Note| style.mode != SummaryMode::SummaryOnly || !note.summary.trim().is_empty();
    let open: Vec<&Note> = open.into_iter().filter(has_text).collect();
    if open.is_empty() {
        return Manifest::default();
    }
    let blocks: Vec<String> = open.iter().map(|note| block(note, state, rules, style)).collect();
    let total = candidates.len();
    let forced_count =
        if style.count_left_out_as_forced { total - open.len() } else { forced.len() };
    let tokens: Tokens = forced.iter().map(|note| note.tokens).sum();
    let words = style.words;
    let mut header = words
        .candidates
        .replace("{n}", &open.len().to_string())
        .replace("{total}", &total.to_string());
    if forced_count > 0 {
        let line = words.forced.replace("{n}", &forced_count.to_string());
        header.push('\n');
        header.push_str(&line.replace("{tokens}", &tokens.to_string()));
    }
    if let Some(limit) = rules.budget.tokens {
        header.push('\n');
        header.push_str(&words.budget.replace("{tokens}", &limit.to_string()));
    }
    let entries = u32::try_from(open.len()).unwrap_or(u32::MAX);
    Manifest { text: blocks.join("\n"), header, entries }
}

/// One note. Its text is between tags, so that it reads as data.
fn block(note: &Note, state: &VaultState, rules: &VaultRules, style: ManifestStyle<'_>) -> String {
    let links = match note.relations.resolved_links.as_slice() {
        [] => String::new(),
        links => format!(" → {}", links.join(", ")),
    };
    format!(
        "<entry name=\"{}\">\n{} ({}tok){links}{}{}\n{}\n</entry>",
        escape(&note.title),
        note.title,
        note.tokens,
        hint(note, state, rules, style.words),
        field_line(note, style),
        summary(note, style),
    )
}

fn summary(note: &Note, style: ManifestStyle<'_>) -> String {
    if style.mode != SummaryMode::ContentOnly && !note.summary.is_empty() {
        return note.summary.clone();
    }
    let start = cut(&note.content, style.longest.saturating_mul(3));
    let lines: Vec<&str> = start.split('\n').filter(|line| !line.is_empty()).collect();
    shorten(lines.join(" ").trim(), style.longest)
}

fn hint(note: &Note, state: &VaultState, rules: &VaultRules, words: &ManifestWords) -> String {
    let repetition = rules.repetition;
    let forgets = rules.quirks.staleness_is_forgotten;
    if !repetition.decay || (forgets && state.staleness.is_empty()) {
        return String::new();
    }
    let id = note.id();
    // A note that was never in has waited for the whole chat.
    let never = || (!forgets).then(|| u32::try_from(state.generation).unwrap_or(u32::MAX));
    let age = state.staleness.get(&id).copied().or_else(never);
    if age.is_some_and(|age| age >= repetition.stale_after) {
        return format!(" {}", words.stale);
    }
    let frequent = repetition.frequent_after;
    if frequent > 0 && state.streak.get(&id).is_some_and(|streak| *streak >= frequent) {
        return format!(" {}", words.frequent);
    }
    String::new()
}

/// The values of a note's fields, except those that are only carried along.
fn field_line(note: &Note, style: ManifestStyle<'_>) -> String {
    let fields = style.fields;
    let carried = |name: &str| NOT_IMPLEMENTED.contains(&name) || ROUND_TRIP.contains(&name);
    let label = |name: &str| {
        fields
            .iter()
            .find(|field| field.name == name)
            .map_or(name.to_owned(), |one| one.label.clone())
    };
    let shown = |value: &Value| match value.as_array() {
        Some(list) => list.iter().map(text_in_list).collect::<Vec<_>>().join(", "),
        None => text_of(value),
    };
    let pairs: Vec<String> = note
        .fields
        .iter()
        .filter(|(_, value)| !is_empty_value(Some(value)))
        .filter(|(name, _)| style.show_carried || !carried(name))
        .map(|(name, value)| format!("{}: {}", label(name), shown(value)))
        .collect();
    if pairs.is_empty() { String::new() } else { format!("\n[{}]", pairs.join(" | ")) }
}
