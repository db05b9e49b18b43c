//! Tells formats apart by what a file holds, not by how it is called.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "JSON has six kinds of values and will have no more"
)]

use std::fmt;

use loreloom_core::book::Container;
use serde::{Deserialize, Serialize};

use crate::{
    aidungeon, byaf,
    card::CardVersion,
    error::FormatError,
    import::{ImportOptions, import},
    json::{Json, Node},
    schema::Schema,
    seed002,
};

macro_rules! formats {
    ($(#[$doc:meta] $format:ident = $name:literal, $container:ident $(, $card:ident)?;)+) => {
        /// A file format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Format { $(#[$doc] #[serde(rename = $name)] $format),+ }

        impl Format {
            /// All formats.
            pub const ALL: &[Self] = &[$(Self::$format),+];

            /// The format's name in reports, on the command line and in
            /// [`loreloom_core::book::Origin`].
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$format => $name),+ }
            }

            /// What files of this format are wrapped in.
            pub fn container(self) -> Container {
                match self { $(Self::$format => Container::$container),+ }
            }

            /// The standard of a card; `None` for formats that are only a book.
            pub fn card(self) -> Option<CardVersion> {
                match self {
                    $(Self::$format => [$(CardVersion::$card)?].first().copied()),+
                }
            }
        }
    };
}

formats! {
    /// `SillyTavern` World Info, also as exported by Chub.
    Sillytavern = "sillytavern", Text;
    /// A card with its fields at the root.
    CardV1 = "card-v1", Text, V1;
    /// A card with Pygmalion's names.
    Pygmalion = "pygmalion", Text, Pygmalion;
    /// A V2 card as JSON.
    CardV2 = "card-v2", Text, V2;
    /// A V3 card as JSON.
    CardV3 = "card-v3", Text, V3;
    /// A V1 or Pygmalion card in a picture.
    CardV1Png = "card-png", Png, V1;
    /// A V2 card in a picture.
    CardV2Png = "card-v2-png", Png, V2;
    /// A V3 card in a picture.
    CardV3Png = "card-v3-png", Png, V3;
    /// A V3 card in an archive with its assets.
    Charx = "charx", Zip, V3;
    /// The book of a card as its own file.
    CharacterBook = "character-book", Text;
    /// A V3 book as its own file.
    LorebookV3 = "lorebook-v3", Text;
    /// `NovelAI` lorebook, story or scenario.
    Novelai = "novelai", Text;
    /// `NovelAI` lorebook in a picture.
    NovelaiPng = "novelai-png", Png;
    /// `AgnAI` memory book.
    Agnai = "agnai", Text;
    /// `RisuAI` lorebook.
    Risu = "risu", Text;
    /// `RisuAI` module as JSON.
    RisuModuleJson = "risu-module-json", Text;
    /// `RisuAI` module as a binary file.
    RisuModule = "risu-module", Risum;
    /// `KoboldAI` Lite or client: a save with world info.
    KoboldLite = "kobold-lite", Text;
    /// `KoboldAI` United world info.
    KoboldUnited = "kobold-united", Text;
    /// A book with the field names of the written rules.
    Seed002 = "seed-002", Text;
    /// `AI Dungeon` story cards and older world info.
    Aidungeon = "aidungeon", Text;
    /// The same inside a scenario or an adventure.
    AidungeonScenario = "aidungeon-scenario", Text;
    /// `JanitorAI` lorebook.
    Janitor = "janitor", Text;
    /// Backyard archive.
    Byaf = "byaf", Zip;
    /// Backyard character alone, also as its pictures have it.
    ByafCharacter = "byaf-character", Text;
    /// Lists of keywords and texts: miku.gg, `SpicyChat`.
    Miku = "miku", Text;
    /// A card as YAML, also with the names of text-generation-webui.
    CardYaml = "card-yaml", Text, Webui;
    /// Plain text, entries separated by blank lines.
    Perchance = "perchance", Text;
}

impl Format {
    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.as_str() == name)
    }

    /// How files of this format are called.
    pub fn file_extension(self) -> &'static str {
        match (self.container(), self) {
            (Container::Png, _) => "png",
            (Container::Risum, _) => "risum",
            (_, Self::Charx) => "charx",
            (_, Self::Byaf) => "byaf",
            (_, Self::Novelai) => "lorebook",
            (_, Self::Perchance) => "txt",
            (_, Self::CardYaml) => "yaml",
            (_, _) => "json",
        }
    }

    /// How entries of this format are written; plain text has no words for it.
    pub(crate) fn schema(self) -> Option<&'static dyn Schema> {
        use crate::{card::book::CardBook, kobold::Kobold, risu::Risu};
        Some(match self {
            Self::Sillytavern => &crate::sillytavern::WorldInfo,
            Self::CardV1
            | Self::Pygmalion
            | Self::CardV2
            | Self::CardV3
            | Self::CardV1Png
            | Self::CardV2Png
            | Self::CardV3Png
            | Self::Charx
            | Self::CardYaml => &CardBook::InCard,
            Self::CharacterBook => &CardBook::Bare,
            Self::LorebookV3 => &CardBook::Standalone,
            Self::Novelai | Self::NovelaiPng => &crate::novelai::Lorebook,
            Self::Agnai => &crate::agnai::MemoryBook,
            Self::Risu => &Risu::Lorebook,
            Self::RisuModuleJson | Self::RisuModule => &Risu::Module,
            Self::KoboldLite => &Kobold::Lite,
            Self::KoboldUnited => &Kobold::United,
            Self::Seed002 => &crate::seed002::WrittenBook,
            Self::Aidungeon => &crate::aidungeon::StoryCards::List,
            Self::AidungeonScenario => &crate::aidungeon::StoryCards::InScenario,
            Self::Janitor => &crate::janitor::JanitorBook,
            Self::Byaf | Self::ByafCharacter => &crate::byaf::LoreItems,
            Self::Miku => &crate::miku::KeywordList,
            Self::Perchance => return None,
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The format of a file; `file_name` helps only with plain text, which looks like nothing.
pub fn detect(bytes: &[u8], file_name: Option<&str>) -> Result<Format, FormatError> {
    let options =
        ImportOptions { file_name: file_name.map(str::to_owned), ..ImportOptions::new("") };
    import(bytes, &options).map(|imported| imported.format)
}

/// The format of a JSON document; the first test that fits decides.
pub(crate) fn of_json(root: &Node<'_>) -> Result<Format, FormatError> {
    let found = if root.is_array() { of_list(root) } else { of_object(root) };
    found.ok_or_else(|| FormatError::Unknown {
        looked_for: "`spec`, `entries`, `lorebookVersion`, `kind`, `type`, `worldinfo` or a \
                     list of entries",
        found: shown_keys(root),
    })
}

fn of_object(root: &Node<'_>) -> Option<Format> {
    let has = |key: &str| root.get(key).is_some_and(|node| !node.is_null());
    let says = |key: &str, value: &str| root.get(key).and_then(Node::as_str) == Some(value);
    let entries = root.get("entries");
    let data = root.get("data");
    match root.get("spec").and_then(Node::as_str) {
        Some("chara_card_v3") => return Some(Format::CardV3),
        Some(spec) if spec.starts_with("chara_card_v") => return Some(Format::CardV2),
        Some("lorebook_v3" | "chara_book_v2" | "chara_book_v3") => return Some(Format::LorebookV3),
        _ => {}
    }
    if has("lorebookVersion") || has("storyContainerVersion") || has("scenarioVersion") {
        Some(Format::Novelai)
    } else if says("kind", "memory") {
        Some(Format::Agnai)
    } else if says("type", "risu") && data.is_some_and(Node::is_array) {
        Some(Format::Risu)
    } else if says("type", "risuModule") {
        Some(Format::RisuModuleJson)
    } else if has("worldinfo_v2") && !root.get("worldinfo").is_some_and(has_rows) {
        Some(Format::KoboldUnited)
    } else if has("worldinfo") || has("wifolders_d") {
        Some(Format::KoboldLite)
    } else if has("folders") && entries.is_some_and(is_united) {
        Some(Format::KoboldUnited)
    } else if has("loreItems") || byaf::is_picture(root) {
        Some(Format::ByafCharacter)
    } else if entries.is_some_and(has_written_rows)
        && seed002::BOOK_SETTINGS.iter().any(|key| has(key))
    {
        Some(Format::Seed002)
    } else if entries.is_some_and(Node::is_object) {
        Some(Format::Sillytavern)
    } else if let Some(entries) = entries.filter(|entries| entries.is_array()) {
        of_entries(entries)
    } else if has("character_book") || data.is_some_and(|data| data.get("character_book").is_some())
    {
        Some(Format::CardV2)
    } else if is_first_card(root) {
        Some(Format::CardV1)
    } else if has("char_name") {
        Some(Format::Pygmalion)
    } else if aidungeon::cards_in(root).is_some() {
        Some(Format::AidungeonScenario)
    } else {
        None
    }
}

/// What only a character has besides a name and a description.
const OF_CHARACTERS: [&str; 4] = ["first_mes", "personality", "scenario", "mes_example"];
/// What else the root of a card may have.
const BESIDE_CHARACTERS: [&str; 14] = [
    "name",
    "description",
    "avatar",
    "chat",
    "create_date",
    "creatorcomment",
    "creator",
    "creator_notes",
    "fav",
    "metadata",
    "tags",
    "talkativeness",
    "extensions",
    "json_data",
];

/// Whether an object is a card of the first kind. Many files have a name and a description, so
/// that alone is a card only if nothing else is there.
fn is_first_card(root: &Node<'_>) -> bool {
    let has = |key: &str| root.get(key).is_some_and(|node| !node.is_null());
    let is_text = |key: &str| root.get(key).is_some_and(|node| node.as_str().is_some());
    let is_beside = |key: &str| BESIDE_CHARACTERS.contains(&key);
    let is_bare = || root.members().iter().all(|member| is_beside(member.key.as_ref()));
    has("name")
        && (OF_CHARACTERS.iter().any(|key| is_text(key)) || is_text("description") && is_bare())
}

/// Whether a list has rows: a save of the newer kind leaves the older list empty.
fn has_rows(list: &Node<'_>) -> bool {
    !list.items().is_empty()
}

/// Whether rows have none of the names that only World Info gives to keys and ids.
fn has_written_rows(rows: &Node<'_>) -> bool {
    let of_world_info = |row: &Node<'_>| ["key", "uid"].iter().any(|key| row.get(key).is_some());
    let in_map = || rows.members().iter().any(|member| of_world_info(&member.value));
    (rows.is_array() || rows.is_object()) && !rows.items().iter().any(of_world_info) && !in_map()
}

/// Whether any row has this key.
fn any_row(rows: &Node<'_>, key: &str) -> bool {
    rows.items().iter().any(|row| row.get(key).is_some())
}

fn is_united(entries: &Node<'_>) -> bool {
    entries
        .members()
        .iter()
        .any(|member| ["manual_text", "title"].iter().any(|key| member.value.get(key).is_some()))
}

fn of_entries(entries: &Node<'_>) -> Option<Format> {
    let has = |key: &str| any_row(entries, key);
    if has("keys") && has("content") || entries.items().is_empty() {
        Some(Format::CharacterBook)
    } else if has("key") && has("content") {
        Some(Format::Sillytavern)
    } else if has("keywords") && has("entry") {
        Some(Format::Agnai)
    } else if has("keywords") && has("content") {
        Some(Format::Miku)
    } else {
        None
    }
}

fn of_list(root: &Node<'_>) -> Option<Format> {
    let has = |key: &str| any_row(root, key);
    let is_text = |key: &str| {
        root.items().iter().any(|row| row.get(key).is_some_and(|node| node.as_str().is_some()))
    };
    let is_list =
        |key: &str| root.items().iter().any(|row| row.get(key).is_some_and(Node::is_array));
    if is_text("keys") && (has("value") || has("entry")) {
        Some(Format::Aidungeon)
    } else if has("keysRaw") || is_list("key") && has("insertion_order") {
        Some(Format::Janitor)
    } else if is_text("key")
        && ["insertorder", "secondkey", "alwaysActive"].iter().any(|key| has(key))
    {
        Some(Format::Risu)
    } else if is_text("key") && has("content") {
        Some(Format::KoboldLite)
    } else if has("keywords") && has("content") {
        Some(Format::Miku)
    } else {
        None
    }
}

/// The keys of an object, for messages.
pub(crate) fn shown_keys(root: &Node<'_>) -> String {
    const SHOWN: usize = 12;
    match &root.value {
        Json::Object(members) if members.is_empty() => "an object without keys".to_owned(),
        Json::Object(members) => {
            let keys: Vec<String> =
                members.iter().take(SHOWN).map(|member| format!("`{}`", member.key)).collect();
            format!("an object with {}", keys.join(", "))
        }
        Json::Array(items) => match items.first() {
            Some(first) if first.is_object() => {
                format!("a list whose first item is {}", shown_keys(first))
            }
            _ => "a list".to_owned(),
        },
        _ => root.kind().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_has_one_name_everywhere() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.as_str()), Some(*format));
            assert_eq!(serde_json::json!(format), format.as_str());
        }
    }

    #[test]
    fn json_is_told_apart_by_what_it_holds() {
        for (json, expected) in [
            (r#"{"spec":"chara_card_v3","data":{}}"#, Some(Format::CardV3)),
            (r#"{"spec":"chara_card_v2","spec_version":"3.0","data":{}}"#, Some(Format::CardV2)),
            (r#"{"spec":"lorebook_v3","data":{}}"#, Some(Format::LorebookV3)),
            (r#"{"spec":"chara_book_v2","data":{}}"#, Some(Format::LorebookV3)),
            (r#"{"lorebookVersion":1,"entries":[]}"#, Some(Format::Novelai)),
            (r#"{"storyContainerVersion":1,"content":{}}"#, Some(Format::Novelai)),
            (r#"{"scenarioVersion":1,"lorebook":{}}"#, Some(Format::Novelai)),
            (r#"{"kind":"memory","entries":[]}"#, Some(Format::Agnai)),
            (r#"{"type":"risu","data":[]}"#, Some(Format::Risu)),
            (r#"{"type":"risuModule","lorebook":[]}"#, Some(Format::RisuModuleJson)),
            (r#"{"worldinfo_v2":{"entries":{}}}"#, Some(Format::KoboldUnited)),
            (r#"{"worldinfo":[],"actions":[]}"#, Some(Format::KoboldLite)),
            (r#"{"worldinfo":[],"worldinfo_v2":{"entries":{}}}"#, Some(Format::KoboldUnited)),
            (
                r#"{"worldinfo":[{"key":"a"}],"worldinfo_v2":{"entries":{}}}"#,
                Some(Format::KoboldLite),
            ),
            (r#"{"folders":{},"entries":{"0":{"title":"x"}}}"#, Some(Format::KoboldUnited)),
            (r#"{"loreItems":[]}"#, Some(Format::ByafCharacter)),
            (r#"[{"keys":"a","value":"b"}]"#, Some(Format::Aidungeon)),
            (r#"[{"keys":"a","entry":"b"}]"#, Some(Format::Aidungeon)),
            (r#"[{"key":["a"],"insertion_order":1}]"#, Some(Format::Janitor)),
            (r#"[{"keysRaw":"a"}]"#, Some(Format::Janitor)),
            (r#"[{"key":"a","content":"b"}]"#, Some(Format::KoboldLite)),
            (r#"{"entries":{}}"#, Some(Format::Sillytavern)),
            (r#"{"scanDepth":4,"entries":[]}"#, Some(Format::Seed002)),
            (r#"{"recursiveScanning":true,"entries":{}}"#, Some(Format::Seed002)),
            (r#"{"kind":"memory","scanDepth":4,"entries":[]}"#, Some(Format::Agnai)),
            (r#"{"scanDepth":4,"entries":{"0":{"key":["a"]}}}"#, Some(Format::Sillytavern)),
            (r#"{"entries":[{"keys":["a"],"content":"b"}]}"#, Some(Format::CharacterBook)),
            (r#"{"entries":[{"key":["a"],"content":"b"}]}"#, Some(Format::Sillytavern)),
            (r#"{"entries":[{"keywords":["a"],"entry":"b"}]}"#, Some(Format::Agnai)),
            (r#"{"data":{"name":"x","character_book":{}}}"#, Some(Format::CardV2)),
            (r#"{"char_name":"x"}"#, Some(Format::Pygmalion)),
            (r#"{"char_name":"x","name":"x","first_mes":"y"}"#, Some(Format::CardV1)),
            (r#"{"name":"x","first_mes":"y"}"#, Some(Format::CardV1)),
            (r#"{"data":{"name":"x"}}"#, None),
            (r#"{"name":"x","description":"y"}"#, Some(Format::CardV1)),
            (r#"{"name":"x","description":"y","version":"1.0.0","scripts":{}}"#, None),
            (r#"{"name":"x","scenario":"y","version":1}"#, Some(Format::CardV1)),
            (r#"{"data":["name"]}"#, None),
            (r#"{"format":"wyvern","entries":{"0":{"key":["a"]}}}"#, Some(Format::Sillytavern)),
            (
                r#"{"format":"wyvern","entries":[{"keys":["a"],"content":"b"}]}"#,
                Some(Format::CharacterBook),
            ),
            (r#"[{"keywords":["a"],"content":"b"}]"#, Some(Format::Miku)),
            (r#"{"entries":[{"keywords":["a"],"content":"b"}]}"#, Some(Format::Miku)),
            (r#"{"name":"x"}"#, None),
            ("[]", None),
            ("5", None),
        ] {
            let parsed = crate::json::parse(json, 16).unwrap();
            assert_eq!(of_json(&parsed.root).ok(), expected, "{json}");
        }
    }

    #[test]
    fn what_is_unknown_is_described() {
        let parsed = crate::json::parse(r#"[{"a":1,"b":2}]"#, 16).unwrap();
        assert_eq!(
            of_json(&parsed.root).unwrap_err().to_string(),
            "not a lorebook, card or chat of a known kind: looked for `spec`, `entries`, \
             `lorebookVersion`, `kind`, `type`, `worldinfo` or a list of entries, found a list \
             whose first item is an object with `a`, `b`"
        );
    }
}
