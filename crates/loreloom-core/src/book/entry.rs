//! One entry of a book, its rules grouped by what they decide.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Book, Extensions, Key, Placement, RawEntry, Sparse};
use crate::ids::EntryId;

/// A piece of lore and the rules for when and where the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Entry {
    /// Unique over all books: made from the book's id, the original id and the place.
    pub id: EntryId,
    /// The id in the file.
    pub original_id: Option<OriginalId>,
    /// Shown name.
    pub name: String,
    /// Author's remark; several formats have only one of name and comment.
    pub comment: String,
    /// The text with its decorator lines, exactly as stored.
    pub content: String,
    /// Put before the text.
    pub prefix: String,
    /// Put after the text.
    pub suffix: String,
    /// When the entry fires.
    pub activation: Activation,
    /// How it takes part in recursion.
    pub recursion: Recursion,
    /// Which inclusion group it competes in.
    pub group: Group,
    /// Where it goes.
    pub placement: Placement,
    /// How it fares when tokens are short.
    #[cfg_attr(feature = "schema", schema(value_type = BudgetRules))]
    pub budget: Sparse<BudgetRules>,
    /// Text put into another entry or place instead of its own (Risu).
    pub inject: Option<Box<Inject>>,
    /// The id in the file of the entry before it whose text it sends, always, while that one
    /// is not active (Risu's `child`). Left out where it is a copy of none, so that entries
    /// say what they said before there was such a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<OriginalId>,
    /// The fields that decide nothing.
    #[cfg_attr(feature = "schema", schema(value_type = EntryRest))]
    pub rest: Sparse<EntryRest>,
    /// Every key of the file that is not modelled.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub extensions: Extensions,
    /// The entry's own text in the file (JSON formats), for fingerprints and for writing
    /// back what was not edited.
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub raw: Option<RawEntry>,
}

impl Entry {
    /// The id that it had in the file it came from before it crossed to this one, as crossings
    /// note it.
    pub fn former_id(&self) -> Option<String> {
        let from = self.extensions.get("extensions")?.pointer("/loreloom/from/id")?;
        from.as_str().map(str::to_owned).or_else(|| from.as_i64().map(|id| id.to_string()))
    }

    /// The text between the entry's prefix and suffix. Texts are joined by line breaks, so one at
    /// the end of the suffix (`NovelAI`'s separator) is dropped. An entry without a text sends
    /// nothing.
    pub(crate) fn enclosed<'body>(&self, body: &'body str) -> Cow<'body, str> {
        let suffix = self.suffix.strip_suffix('\n').unwrap_or(&self.suffix);
        if body.trim().is_empty() || self.prefix.is_empty() && suffix.is_empty() {
            return Cow::Borrowed(body);
        }
        Cow::Owned([&self.prefix, body, suffix].concat())
    }

    /// Whether an entry without a position goes after the character. SillyTavern does so for books
    /// of cards, and puts all others before it; it does not read V3 lorebook files. The original
    /// format counts, not the file it was carried through.
    pub fn unstated_is_after(&self, origin: &str) -> bool {
        let extensions = self.extensions.get("extensions");
        let from = extensions.and_then(|inner| inner.pointer("/loreloom/from/format")?.as_str());
        let format = from.unwrap_or(origin);
        let others = ["pygmalion", "charx", "character-book"];
        format.starts_with("card-") || others.contains(&format)
    }

    /// An entry with the defaults of a new SillyTavern entry.
    pub fn new(id: impl Into<EntryId>) -> Self {
        Self {
            id: id.into(),
            original_id: None,
            name: String::new(),
            comment: String::new(),
            content: String::new(),
            prefix: String::new(),
            suffix: String::new(),
            activation: Activation::default(),
            recursion: Recursion::default(),
            group: Group::default(),
            placement: Placement::default(),
            budget: Sparse::default(),
            inject: None,
            copy_of: None,
            rest: Sparse::default(),
            extensions: Extensions::new(),
            raw: None,
        }
    }

    /// What people call this entry: its name, else its comment, else its first key, else
    /// its id.
    pub fn title(&self) -> &str {
        let first_key = self.activation.keys.first().map_or("", Key::raw);
        [&self.name, &self.comment, first_key]
            .into_iter()
            .find(|text| !text.trim().is_empty())
            .unwrap_or(self.id.as_str())
    }
}

/// An id as the file has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum OriginalId {
    /// A number.
    Number(i64),
    /// Text, often a UUID.
    Text(String),
}

impl std::fmt::Display for OriginalId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}

impl Entry {
    /// How many characters of the newest text are scanned for its keys. What the entry says
    /// about its scan beats what its book says.
    pub(crate) fn scan_characters(&self, book: &Book) -> Option<u32> {
        let scan = &self.activation.scan;
        let of_book = || book.scan_characters.filter(|_| scan.messages.is_none());
        let searches_lore = self.recursion.scan_lore == Some(true);
        scan.characters.or_else(of_book).filter(|_| !searches_lore)
    }
}

/// When an entry fires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[expect(clippy::struct_excessive_bools, reason = "four independent flags that files have")]
pub struct Activation {
    /// Whether the entry takes part at all.
    pub enabled: bool,
    /// Fires without keys.
    pub constant: bool,
    /// Forced on or off.
    pub force: Option<Force>,
    /// Any of these must be found.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub keys: Vec<Key>,
    /// Further keys and how they combine.
    pub secondary: Secondary,
    /// From each list one key must be found (`@@additional_keys`).
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Vec<String>>))]
    pub require: Vec<Vec<Key>>,
    /// Any key of any list stops the entry (`@@exclude_keys`).
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Vec<String>>))]
    pub exclude_any: Vec<Vec<Key>>,
    /// All keys of a list together stop the entry (`@@exclude_keys_all`).
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Vec<String>>))]
    pub exclude_all: Vec<Vec<Key>>,
    /// The keys are said to be patterns, also those without slashes.
    #[serde(default)]
    pub use_regex: bool,
    /// `None` leaves it to the engine.
    pub case_sensitive: Option<bool>,
    /// `None` leaves it to the engine.
    pub whole_words: Option<bool>,
    /// How much text is scanned.
    pub scan: ScanRange,
    /// Which texts besides the chat are scanned.
    pub sources: MatchSources,
    /// In per cent; `None` fires always. Values outside 0 to 100 are kept as found.
    pub probability: Option<f64>,
    /// Conditions on the state of the chat.
    #[cfg_attr(feature = "schema", schema(value_type = Gates))]
    pub gates: Sparse<Gates>,
    /// Conditions on who speaks and what is generated.
    #[cfg_attr(feature = "schema", schema(value_type = Filters))]
    pub filters: Sparse<Filters>,
    /// What an earlier match does to later turns.
    pub once: Option<MatchOnce>,
    /// Effects that last for some messages.
    pub timed: Timed,
    /// Found by meaning instead of by keys.
    pub vectorized: bool,
}

impl Default for Activation {
    fn default() -> Self {
        Self {
            enabled: true,
            constant: false,
            force: None,
            keys: Vec::new(),
            secondary: Secondary::default(),
            require: Vec::new(),
            exclude_any: Vec::new(),
            exclude_all: Vec::new(),
            use_regex: false,
            case_sensitive: None,
            whole_words: None,
            scan: ScanRange::default(),
            sources: MatchSources::default(),
            probability: None,
            gates: Sparse::default(),
            filters: Sparse::default(),
            once: None,
            timed: Timed::default(),
            vectorized: false,
        }
    }
}

/// An entry that is forced on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// `@@activate`.
    Activate,
    /// `@@dont_activate`.
    Suppress,
}

/// The secondary keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Secondary {
    /// Whether they count at all (SillyTavern's `selective`).
    pub active: bool,
    /// How they combine.
    pub logic: SelectiveLogic,
    /// The keys.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub keys: Vec<Key>,
}

/// How secondary keys combine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SelectiveLogic {
    /// At least one is found.
    #[default]
    AndAny,
    /// At least one is not found.
    NotAll,
    /// None is found.
    NotAny,
    /// All are found.
    AndAll,
    /// A number no version knows: never passes.
    Unknown,
}

/// How much text is scanned for keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ScanRange {
    /// Messages; `None` leaves it to the book or the engine. Negative numbers occur in
    /// files and scan nothing.
    pub messages: Option<f64>,
    /// Characters of the newest text, whatever the engine's depth in messages is (`NovelAI`);
    /// not counted where an entry's keys are looked for in lore too.
    pub characters: Option<u32>,
    /// Tokens of the newest text, in prompts that are text (`@@instruct_scan_depth`).
    pub tokens: Option<u32>,
}

/// Texts besides the chat that an entry's keys are looked for in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[expect(clippy::struct_excessive_bools, reason = "a set of six independent sources")]
pub struct MatchSources {
    /// The persona's description.
    pub persona: bool,
    /// The character's description.
    pub description: bool,
    /// The character's personality.
    pub personality: bool,
    /// The character's note, inserted at depth.
    pub depth_prompt: bool,
    /// The scenario.
    pub scenario: bool,
    /// The creator's notes.
    pub creator_notes: bool,
}

/// Conditions on the state of the chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Gates {
    /// Not before this many messages (`@@activate_only_after`).
    pub after: Option<u32>,
    /// Only every so many messages (`@@activate_only_every`).
    pub every: Option<u32>,
    /// Only with this greeting (`@@is_greeting`).
    pub greeting: Option<u32>,
    /// Only with this user icon (`@@is_user_icon`).
    pub user_icon: Option<String>,
    /// Not in chats shorter than this (`JanitorAI`).
    pub min_messages: Option<u32>,
}

/// Conditions on who speaks and what is generated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Filters {
    /// Character names (SillyTavern: avatar file without extension).
    pub characters: Vec<String>,
    /// Tag ids.
    pub tags: Vec<String>,
    /// The lists exclude instead of include.
    pub exclude: bool,
    /// Generation types; empty means all.
    pub triggers: Vec<String>,
}

/// What an earlier match does to later turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MatchOnce {
    /// Once matched, always active (`@@keep_activate_after_match`).
    Keep,
    /// Once matched, never again (`@@dont_activate_after_match`).
    OnceOnly,
}

/// Effects that last for some messages; `None` and 0 are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Timed {
    /// Stays active for so many messages.
    pub sticky: Option<u32>,
    /// Cannot fire again for so many messages.
    pub cooldown: Option<u32>,
    /// Cannot fire in chats shorter than this.
    pub delay: Option<u32>,
}

/// How an entry takes part in recursion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Recursion {
    /// Cannot be activated by other entries.
    pub exclude: bool,
    /// Does not activate other entries.
    pub prevent: bool,
    /// Only from this recursion level on; 0 is at once.
    pub delay_level: u32,
    /// Whether its keys are looked for in lore; `None` leaves it to the engine.
    pub scan_lore: Option<bool>,
}

/// Membership in inclusion groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Group {
    /// The names as written, separated by commas.
    pub names: String,
    /// Wins by order instead of by weight.
    pub prioritize: bool,
    /// Share in the draw; `None` where the file has none (100).
    pub weight: Option<f64>,
    /// Whether the number of matched keys decides; `None` leaves it to the engine.
    pub use_scoring: Option<bool>,
}

impl Group {
    /// Its names, one by one. Only the space after a comma goes: names keep theirs.
    pub(crate) fn each(&self) -> Vec<Box<str>> {
        let names = self.names.split(',').enumerate().map(|(at, name)| {
            if at == 0 { name } else { name.trim_start_matches(super::is_js_space) }
        });
        names.filter(|name| !name.is_empty()).map(Into::into).collect()
    }
}

impl Default for Group {
    fn default() -> Self {
        Self { names: String::new(), prioritize: false, weight: Some(100.0), use_scoring: None }
    }
}

/// How an entry fares when tokens are short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BudgetRules {
    /// Higher survives longer; `None` falls back to the order.
    pub priority: Option<f64>,
    /// Not counted against the budget's limit.
    pub ignore: bool,
    /// Leaves before all others (`@@ignore_on_max_context`).
    pub drop_first: bool,
    /// The entry's own cap (`NovelAI`; 0 to 1 is a share of the context).
    pub max_tokens: Option<f64>,
    /// Tokens kept free for it (`NovelAI`).
    pub reserved_tokens: Option<f64>,
    /// How it may be shortened.
    pub trim: Option<Trim>,
}

/// How an entry may be shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Trim {
    /// Which side is cut.
    pub side: TrimSide,
    /// In which units.
    pub unit: TrimUnit,
}

/// The side that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrimSide {
    /// Never.
    None,
    /// The beginning.
    Top,
    /// The end.
    Bottom,
}

/// The unit that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrimUnit {
    /// Whole lines.
    Line,
    /// Whole sentences.
    Sentence,
    /// Tokens.
    Token,
}

/// Text put somewhere else than the entry's own place (Risu `@@inject_*`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Inject {
    /// What happens there.
    pub op: InjectOp,
    /// The name of the entry or place.
    pub target: String,
}

/// What an injection does at its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum InjectOp {
    /// Appends to another entry.
    IntoLore,
    /// Goes to a named place.
    At,
    /// Goes before the target's text.
    Prepend,
    /// Replaces this text.
    Replace(String),
}

/// Fields that decide nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EntryRest {
    /// Quick replies started by this entry.
    pub automation_id: String,
    /// Place in the editor.
    pub display_index: Option<i64>,
    /// Whether the comment is shown.
    pub add_memo: bool,
    /// Author's tags.
    pub tags: Vec<String>,
    /// The folder's id.
    pub folder: Option<String>,
    /// When it was last edited, as the file has it.
    pub last_updated: Option<Box<serde_json::Value>>,
    /// Prompts the entry asks the front end to hide (`@@disable_ui_prompt`).
    pub hide_prompts: Vec<String>,
}
