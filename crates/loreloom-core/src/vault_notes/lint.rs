//! Lints of notes: rules that can never hold, unknown titles, notes that cost much.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::{Note, NotePosition, Relations, reachable::reachable};
use crate::{
    dialects::vault::{SelectionRules, Vault, VaultRules},
    hygiene::HazardCount,
    library::EntryIx,
    rules::VaultUse,
    units::Tokens,
};

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Issue {
    /// The note; empty where it is about the whole vault.
    pub title: String,
    /// What was found.
    #[serde(flatten)]
    pub kind: IssueKind,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum IssueKind {
    /// Nothing can bring it in.
    NoKeys,
    /// There is nothing to inject.
    EmptyContent,
    /// It requires a title that no note has, so it never comes in.
    UnknownRequired {
        /// The title.
        title: String,
    },
    /// It requires a title that no note has, which changes nothing: it is always in.
    IdleRequires {
        /// The title.
        title: String,
    },
    /// It excludes a title that no note has.
    UnknownExcluded {
        /// The title.
        title: String,
    },
    /// It brings along a title that no note has.
    UnknownCascade {
        /// The title.
        title: String,
    },
    /// It excludes itself.
    ExcludesItself,
    /// It requires and excludes the same title.
    RequiresAndExcludes {
        /// The title.
        title: String,
    },
    /// Notes require each other in a circle: all of them come in, or none.
    CircularRequires {
        /// The titles, from this note round to the one before it.
        circle: Vec<String>,
    },
    /// It excludes a note that is always in, so it never comes in.
    ExcludesConstant {
        /// The title.
        title: String,
    },
    /// It excludes a note that is in while a chat is new, so until then it stays out.
    ExcludesBootstrap {
        /// The title.
        title: String,
    },
    /// It is large.
    Large {
        /// How large.
        tokens: Tokens,
    },
    /// A key is so short that it is found everywhere.
    ShortKey {
        /// The key.
        key: String,
    },
    /// Others have the same key.
    SharedKey {
        /// The key.
        key: String,
        /// Their titles.
        with: Vec<String>,
    },
    /// A constant never pauses.
    CooldownOnConstant,
    /// It has a depth or role but does not go into the chat.
    DepthOutsideChat,
    /// It never comes in.
    ProbabilityZero,
    /// Several notes have this title.
    DuplicateTitle,
    /// It links to titles that no note has.
    UnknownLinks {
        /// The titles.
        titles: Vec<String>,
    },
    /// It bootstraps, and afterwards nothing can bring it in.
    BootstrapWithoutKeys,
    /// Texts of notes are searched for keys, and no note has any.
    RecursionWithoutKeys,
    /// As a seed it is large.
    LargeSeed {
        /// How large.
        tokens: Tokens,
    },
    /// It waits for several occurrences of keys so short that they are everywhere.
    WarmupOnShortKeys,
    /// Its own scan depth is 0, so its keys are never looked for.
    NeverScanned,
    /// The selecting model gets only the beginning of its text.
    NoSummary,
    /// Its text would break out of its place in a prompt.
    UnsafeText {
        /// What was found, by kind.
        found: Vec<HazardCount>,
    },
    /// Keys are looked for in no message at all.
    ScanDepthZero,
    /// Hardly anything fits.
    SmallBudget {
        /// The budget.
        budget: Tokens,
    },
    /// Constants alone use up the budget.
    ConstantsOverBudget {
        /// Their tokens.
        tokens: Tokens,
        /// The budget.
        budget: Tokens,
    },
    /// A model is to choose notes, and none is named.
    NoSelector,
    /// A vault is read again at every turn.
    ReadEveryTurn {
        /// The vault.
        vault: String,
    },
    /// A vault was not read for much longer than it should have been.
    Stale {
        /// The vault.
        vault: String,
        /// How old what was read is, in seconds.
        seconds: u64,
        /// After how many it should be read again.
        ttl: u64,
    },
    /// A vault, or a file of it, could not be read when it was tried last.
    NotRead {
        /// The vault.
        vault: String,
        /// Why.
        reason: String,
    },
    /// A vault has notes, and none of them is lore.
    NoLore {
        /// The vault.
        vault: String,
        /// How many notes it has.
        files: usize,
        /// The setting that would admit them.
        advice: String,
    },
    /// A server of notes is asked without the key that it wants.
    NoKey {
        /// The vault.
        vault: String,
    },
    /// Something was looked for again and again and is in no note.
    Unmet {
        /// What.
        query: String,
        /// How often.
        times: u32,
    },
}

const SMALL_BUDGET: Tokens = Tokens(200);
/// Keys up to this length make no warmup.
const SHORT_WARMUP_KEY: usize = 3;
const LARGE: Tokens = Tokens(1500);
const LARGE_SEED: Tokens = Tokens(2000);
/// Keys up to this length are found everywhere.
const SHORT_KEY: usize = 2;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = LintSeverity))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Hint,
    /// Probably not meant.
    Warning,
    /// Never does what it says.
    Error,
}

impl IssueKind {
    /// The codes of those that are about a note.
    pub const NOTE_CODES: [&str; 25] = [
        "no_keys",
        "empty_content",
        "unknown_required",
        "idle_requires",
        "unknown_excluded",
        "unknown_cascade",
        "excludes_itself",
        "requires_and_excludes",
        "circular_requires",
        "excludes_constant",
        "excludes_bootstrap",
        "large",
        "short_key",
        "shared_key",
        "cooldown_on_constant",
        "depth_outside_chat",
        "probability_zero",
        "duplicate_title",
        "unknown_links",
        "bootstrap_without_keys",
        "large_seed",
        "warmup_on_short_keys",
        "never_scanned",
        "no_summary",
        "unsafe_text",
    ];

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        match self {
            Self::UnknownRequired { .. }
            | Self::UnknownExcluded { .. }
            | Self::ExcludesItself
            | Self::RequiresAndExcludes { .. }
            | Self::ExcludesConstant { .. }
            | Self::ConstantsOverBudget { .. }
            | Self::NoSelector
            | Self::NotRead { .. }
            | Self::NoLore { .. }
            | Self::NoKey { .. } => Severity::Error,
            Self::SharedKey { .. }
            | Self::Large { .. }
            | Self::LargeSeed { .. }
            | Self::UnknownLinks { .. }
            | Self::Unmet { .. }
            | Self::IdleRequires { .. }
            | Self::NoSummary => Severity::Hint,
            Self::NoKeys
            | Self::EmptyContent
            | Self::UnknownCascade { .. }
            | Self::CircularRequires { .. }
            | Self::ExcludesBootstrap { .. }
            | Self::ReadEveryTurn { .. }
            | Self::RecursionWithoutKeys
            | Self::Stale { .. }
            | Self::ShortKey { .. }
            | Self::CooldownOnConstant
            | Self::DepthOutsideChat
            | Self::ProbabilityZero
            | Self::DuplicateTitle
            | Self::BootstrapWithoutKeys
            | Self::WarmupOnShortKeys
            | Self::NeverScanned
            | Self::UnsafeText { .. }
            | Self::ScanDepthZero
            | Self::SmallBudget { .. } => Severity::Warning,
        }
    }
}

/// Lints notes and how they are used, a selecting model included.
pub fn inspect_use(notes: &[Note], using: &VaultUse) -> Vec<Issue> {
    let mut issues = inspect_by(notes, &using.rules, using.selection.as_ref());
    let about_all = |kind| Issue { title: String::new(), kind };
    if using.rules.keys.depth == 0 && using.selection.is_none() {
        issues.push(about_all(IssueKind::ScanDepthZero));
    }
    let by_name = using.rules.keys.names;
    let has_keys = |note: &Note| (by_name || !note.keys.is_empty()) && !note.kind.guide;
    if using.rules.recursion.enabled && !notes.is_empty() && !notes.iter().any(has_keys) {
        issues.push(about_all(IssueKind::RecursionWithoutKeys));
    }
    if let Some(budget) = using.rules.budget.tokens.filter(|budget| *budget < SMALL_BUDGET) {
        issues.push(about_all(IssueKind::SmallBudget { budget }));
    }
    for note in notes {
        let found = HazardCount::in_text(&note.content);
        if !found.is_empty() {
            issues.push(Issue { title: note.title.clone(), kind: IssueKind::UnsafeText { found } });
        }
    }
    if using.selection.is_some() {
        let silent = notes.iter().filter(|note| note.summary.is_empty() && !note.kind.guide);
        let silent = silent.filter(|note| !note.kind.constant);
        issues.extend(
            silent.map(|note| Issue { title: note.title.clone(), kind: IssueKind::NoSummary }),
        );
    }
    issues
}

/// Lints notes.
pub fn inspect(notes: &[Note], rules: &VaultRules) -> Vec<Issue> {
    inspect_by(notes, rules, None)
}

fn inspect_by(
    notes: &[Note],
    rules: &VaultRules,
    selection: Option<&SelectionRules>,
) -> Vec<Issue> {
    let known = NotesByName::of(notes, rules, selection);
    let mut issues = Vec::new();
    let mut compiled = (0..).map(EntryIx);
    for note in notes {
        let mut kinds = Vec::new();
        // Guides are not compiled, and nothing brings them in.
        let ix = if note.kind.guide { None } else { compiled.next() };
        relations(note, &known, &mut kinds);
        content(note, &known, ix, &mut kinds);
        placement(note, &mut kinds);
        issues.extend(kinds.into_iter().map(|kind| Issue { title: note.title.clone(), kind }));
    }
    issues.extend(circles(notes, &known));
    let mut named = FxHashSet::default();
    for note in notes {
        let title = if known.minds_case { note.title.clone() } else { note.title.to_lowercase() };
        if known.spelt(&note.title).count() > 1 && named.insert(title) {
            issues.push(Issue { title: note.title.clone(), kind: IssueKind::DuplicateTitle });
        }
    }
    issues.extend(constants(notes, rules));
    issues
}

/// Notes by name and by key, in lower case, as the engine finds them.
struct NotesByName<'a> {
    titles: FxHashMap<String, Vec<&'a Note>>,
    keys: FxHashMap<String, Vec<&'a Note>>,
    vault: Vault,
    /// The notes of the vault, by index.
    notes: Vec<&'a Note>,
    reachable: FxHashSet<EntryIx>,
    minds_case: bool,
}

impl<'a> NotesByName<'a> {
    fn of(notes: &'a [Note], rules: &VaultRules, selection: Option<&SelectionRules>) -> Self {
        let minds_case = rules.quirks.inspection_minds_case;
        let vault = Vault::compile(notes.iter().cloned(), rules);
        let reachable = reachable(&vault, rules, selection);
        let mut titles: FxHashMap<String, Vec<&Note>> = FxHashMap::default();
        let mut keys: FxHashMap<String, Vec<&Note>> = FxHashMap::default();
        for note in notes {
            titles.entry(note.title.to_lowercase()).or_default().push(note);
            // Keys of a guide bring nothing in.
            for key in note.keys.iter().filter(|_| !note.kind.guide) {
                keys.entry(key.trim().to_lowercase()).or_default().push(note);
            }
        }
        let notes = notes.iter().filter(|note| !note.kind.guide).collect();
        Self { titles, keys, vault, notes, reachable, minds_case }
    }

    /// The notes with a title, also spelt so if that counts.
    fn spelt(&self, title: &str) -> impl Iterator<Item = &&'a Note> {
        self.titled(title).iter().filter(move |note| !self.minds_case || note.title == title)
    }

    fn titled(&self, title: &str) -> &[&'a Note] {
        self.titles.get(&title.to_lowercase()).map_or(&[], Vec::as_slice)
    }

    /// The notes that a name means to the engine.
    fn named(&self, name: &str) -> Vec<&'a Note> {
        self.vault.named(name).iter().map(|ix| self.notes[ix.0 as usize]).collect()
    }
}

fn relations(note: &Note, known: &NotesByName<'_>, out: &mut Vec<IssueKind>) {
    let Relations { requires, excludes, cascade, links, .. } = &note.relations;
    let unknown = |titles: &[String]| -> Vec<String> {
        titles.iter().filter(|title| known.named(title).is_empty()).cloned().collect()
    };
    // Gates let these pass, whatever they require or exclude.
    let is_exempt = note.kind.constant || note.kind.seed;
    let unmet = |title: String| {
        if is_exempt {
            IssueKind::IdleRequires { title }
        } else {
            IssueKind::UnknownRequired { title }
        }
    };
    out.extend(unknown(requires).into_iter().map(unmet));
    out.extend(unknown(excludes).into_iter().map(|title| IssueKind::UnknownExcluded { title }));
    let is_unknown = |title: &&String| {
        let spelt = !known.minds_case || known.spelt(title).next().is_some();
        !spelt || known.named(title).is_empty()
    };
    let unknown_cascade = cascade.iter().filter(is_unknown);
    out.extend(unknown_cascade.cloned().map(|title| IssueKind::UnknownCascade { title }));
    let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
    for title in excludes.iter().filter(|_| !is_exempt) {
        let others = known.named(title);
        if others.iter().any(|other| std::ptr::eq(*other, note)) || same(title, &note.title) {
            out.push(IssueKind::ExcludesItself);
        } else if others.iter().any(|other| other.kind.constant) {
            out.push(IssueKind::ExcludesConstant { title: title.clone() });
        } else if others.iter().any(|other| other.kind.bootstrap) {
            out.push(IssueKind::ExcludesBootstrap { title: title.clone() });
        }
    }
    let contradicts = |title: &&String| !is_exempt && excludes.iter().any(|one| same(one, title));
    for title in requires.iter().filter(contradicts) {
        out.push(IssueKind::RequiresAndExcludes { title: title.clone() });
    }
    // A link to a guide leads somewhere, if not for the model.
    let titles: Vec<String> =
        unknown(links).into_iter().filter(|title| known.titled(title).is_empty()).collect();
    if !titles.is_empty() {
        out.push(IssueKind::UnknownLinks { titles });
    }
}

fn content(note: &Note, known: &NotesByName<'_>, ix: Option<EntryIx>, out: &mut Vec<IssueKind>) {
    let kind = note.kind;
    if note.content.trim().is_empty() {
        out.push(IssueKind::EmptyContent);
    }
    let has_no_key = |ix: &EntryIx| known.vault.keys_of(*ix).all(|key| key.trim().is_empty());
    let is_out = |ix: &EntryIx| !known.reachable.contains(ix) && has_no_key(ix);
    if ix.is_some_and(|ix| is_out(&ix)) {
        out.push(if kind.bootstrap { IssueKind::BootstrapWithoutKeys } else { IssueKind::NoKeys });
    }
    if kind.seed && note.tokens > LARGE_SEED {
        out.push(IssueKind::LargeSeed { tokens: note.tokens });
    } else if note.tokens > LARGE {
        out.push(IssueKind::Large { tokens: note.tokens });
    }
    for key in note.keys.iter().filter(|_| !kind.guide) {
        let trimmed = key.trim();
        if trimmed.is_ascii() && (1..=SHORT_KEY).contains(&trimmed.len()) {
            out.push(IssueKind::ShortKey { key: key.clone() });
        }
        let others = known.keys.get(&trimmed.to_lowercase()).into_iter().flatten();
        let with: Vec<String> = others
            .filter(|other| other.id() != note.id())
            .map(|other| other.title.clone())
            .collect();
        if !with.is_empty() {
            out.push(IssueKind::SharedKey { key: key.clone(), with });
        }
    }
}

fn placement(note: &Note, out: &mut Vec<IssueKind>) {
    if note.kind.constant && note.cooldown.is_some() {
        out.push(IssueKind::CooldownOnConstant);
    }
    let seated = note.seat.depth.is_some() || note.seat.role.is_some();
    let elsewhere = note.seat.position.is_some_and(|one| one != NotePosition::InChat);
    if (seated && elsewhere) || (note.seat.depth.is_some() && note.seat.position.is_none()) {
        out.push(IssueKind::DepthOutsideChat);
    }
    if note.probability == Some(0.0) && !note.kind.constant {
        out.push(IssueKind::ProbabilityZero);
    }
    let is_short = |key: &String| key.trim().chars().count() <= SHORT_WARMUP_KEY;
    if note.warmup.is_some() && !note.keys.is_empty() && note.keys.iter().all(is_short) {
        out.push(IssueKind::WarmupOnShortKeys);
    }
    let is_forced = note.kind.constant || note.kind.guide;
    if note.scan_depth.is_some_and(|depth| depth < 1.0) && !note.keys.is_empty() && !is_forced {
        out.push(IssueKind::NeverScanned);
    }
}

/// Circles of requirements, each named once, by the note whose title sorts first.
fn circles(notes: &[Note], known: &NotesByName<'_>) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut named: FxHashSet<Vec<String>> = FxHashSet::default();
    for note in notes {
        let Some(circle) = circle_through(note, known) else { continue };
        let mut members: Vec<String> = circle.iter().map(|title| title.to_lowercase()).collect();
        members.sort();
        if named.insert(members) {
            let first = (0..circle.len()).min_by_key(|&at| &circle[at]).unwrap_or_default();
            let mut circle = circle;
            circle.rotate_left(first);
            let title = circle[0].clone();
            issues.push(Issue { title, kind: IssueKind::CircularRequires { circle } });
        }
    }
    issues
}

/// The shortest way from a note back to itself along requirements.
fn circle_through(start: &Note, known: &NotesByName<'_>) -> Option<Vec<String>> {
    let home = start.title.to_lowercase();
    let mut seen = FxHashSet::default();
    let mut paths = std::collections::VecDeque::from([vec![start]]);
    while let Some(path) = paths.pop_front() {
        for title in &path[path.len() - 1].relations.requires {
            let title = title.to_lowercase();
            if title == home {
                return (path.len() > 1)
                    .then(|| path.iter().map(|note| note.title.clone()).collect());
            }
            if let Some(next) = known.named(&title).first()
                && seen.insert(title)
            {
                paths.push_back(path.iter().copied().chain([*next]).collect());
            }
        }
    }
    None
}

fn constants(notes: &[Note], rules: &VaultRules) -> Option<Issue> {
    let tokens: Tokens =
        notes.iter().filter(|note| note.kind.constant).map(|note| note.tokens).sum();
    let budget = rules.budget.tokens.filter(|budget| tokens > *budget)?;
    let kind = IssueKind::ConstantsOverBudget { tokens, budget };
    Some(Issue { title: String::new(), kind })
}

#[cfg(test)]
mod tests;
