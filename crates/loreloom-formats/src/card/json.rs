//! A card's fields in the words of each standard.

use serde_json::{Map, Value, json};

use super::{Asset, Card, CardVersion, DepthPrompt, conversion};
use crate::{decorators, json::Node, note::Notes, tolerant::Fields};

/// What a card without a name is called.
const NAMELESS: &str = "Unnamed";

const PYGMALION: [(&str, &str); 5] = [
    ("char_name", "name"),
    ("char_persona", "description"),
    ("char_greeting", "first_mes"),
    ("example_dialogue", "mes_example"),
    ("world_scenario", "scenario"),
];

const WEBUI: [(&str, &str); 6] = [
    ("name", "name"),
    ("context", "description"),
    ("greeting", "first_mes"),
    ("example_dialogue", "mes_example"),
    ("personality", "personality"),
    ("scenario", "scenario"),
];

/// Fields that older programs look for at the root of a card.
const MIRRORED: [&str; 9] = [
    "name",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "tags",
    "creator",
    "nickname",
];

/// What a card with `data` is made of.
const ENVELOPE: [&str; 3] = ["spec", "spec_version", "data"];

const KNOWN: [&str; 21] = [
    "name",
    "nickname",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "creator_notes",
    "system_prompt",
    "post_history_instructions",
    "alternate_greetings",
    "group_only_greetings",
    "tags",
    "creator",
    "character_version",
    "assets",
    "character_book",
    "char_name",
    "char_persona",
    "char_greeting",
    "world_scenario",
];

/// Reads the card at `root`. Its fields are in `data`, or at the root of old cards.
pub(crate) fn read(root: &Node<'_>, version: CardVersion, notes: &mut Notes) -> Card {
    let data = root.get("data").filter(|data| data.is_object()).unwrap_or(root);
    // Elsewhere these are names of something else.
    let webui = version == CardVersion::Webui;
    let of_webui = |name: &'static str, other: &'static str| if webui { name } else { other };
    let mut fields = Fields::of(data, notes);
    let mut name = fields.text(&["name", "char_name"]);
    if name.is_empty() {
        fields.notes().warn("name", format!("is missing: the card is called `{NAMELESS}`"));
        NAMELESS.clone_into(&mut name);
    }
    let mut card = Card {
        version,
        name,
        nickname: Some(fields.text(&["nickname"])).filter(|name| !name.is_empty()),
        description: fields.text(&[
            of_webui("context", "description"),
            "description",
            "char_persona",
        ]),
        personality: fields.text(&["personality"]),
        scenario: fields.text(&["scenario", "world_scenario"]),
        first_mes: fields.text(&[of_webui("greeting", "first_mes"), "first_mes", "char_greeting"]),
        mes_example: fields.text(&["mes_example", "example_dialogue"]),
        creator_notes: fields.text(&["creator_notes"]),
        system_prompt: fields.text(&["system_prompt"]),
        post_history_instructions: fields.text(&["post_history_instructions"]),
        alternate_greetings: greetings(&mut fields, "alternate_greetings"),
        group_only_greetings: greetings(&mut fields, "group_only_greetings"),
        tags: fields.list(&["tags"]),
        creator: fields.text(&["creator"]),
        character_version: fields.text(&["character_version"]),
        depth_prompt: depth_prompt(&mut fields),
        world: fields
            .inside("extensions")
            .map(|mut inner| inner.text(&["world"]))
            .filter(|world| !world.is_empty()),
        assets: assets(data, fields.notes()),
        extensions: fields.others(&known(version)),
        root: Map::new(),
    };
    if !std::ptr::eq(data, root) {
        card.root = Fields::of(root, notes).others(&ENVELOPE);
    }
    if let Some(assets) = odd_assets(data, notes) {
        card.extensions.insert("assets".to_owned(), assets);
    }
    conversion::restore(&mut card);
    card
}

fn known(version: CardVersion) -> Vec<&'static str> {
    let mut known = KNOWN.to_vec();
    known.extend(match version {
        CardVersion::Pygmalion => &["example_dialogue"][..],
        CardVersion::Webui => &["context", "greeting", "example_dialogue"],
        CardVersion::V1 | CardVersion::V2 | CardVersion::V3 => &["spec", "spec_version"],
    });
    known
}

/// A greeting may hold commas: one text is one greeting.
fn greetings(fields: &mut Fields<'_, '_, '_>, name: &str) -> Vec<String> {
    match fields.get(name) {
        Some(node) if node.is_array() => fields.list(&[name]),
        Some(_) => vec![fields.text(&[name])],
        None => Vec::new(),
    }
}

fn depth_prompt(fields: &mut Fields<'_, '_, '_>) -> Option<DepthPrompt> {
    let mut extensions = fields.inside("extensions")?;
    let mut inner = extensions.inside("depth_prompt")?;
    let role = inner.text(&["role"]);
    Some(DepthPrompt {
        prompt: inner.text(&["prompt"]),
        depth: inner.count(&["depth"]).unwrap_or(4),
        role: if role.is_empty() { "system".to_owned() } else { role },
        others: inner.others(&["prompt", "depth", "role"]),
    })
}

/// Assets as the file has them, where we cannot say them again: no list, or rows that are no
/// objects.
fn odd_assets(data: &Node<'_>, notes: &mut Notes) -> Option<Value> {
    let node = data.get("assets").filter(|node| !node.is_null())?;
    if node.is_array() && node.items().iter().all(Node::is_object) {
        return None;
    }
    let found = if node.is_array() { "other rows".to_owned() } else { node.shown() };
    notes.warn("assets", format!("must be a list of objects, found {found}: kept, not used"));
    Some(node.to_value())
}

fn assets(data: &Node<'_>, notes: &mut Notes) -> Vec<Asset> {
    let rows = data.get("assets").map_or(&[][..], Node::items);
    rows.iter()
        .filter(|row| row.is_object())
        .map(|row| {
            let mut fields = Fields::of(row, notes);
            Asset {
                kind: fields.text(&["type"]),
                uri: fields.text(&["uri"]),
                name: fields.text(&["name"]),
                ext: fields.text(&["ext"]),
                others: fields.others(&["type", "uri", "name", "ext"]),
            }
        })
        .collect()
}

/// A card that has nothing but a name.
pub(crate) fn named(name: &str) -> Card {
    Card {
        version: CardVersion::V3,
        name: if name.is_empty() { NAMELESS.to_owned() } else { name.to_owned() },
        nickname: None,
        description: String::new(),
        personality: String::new(),
        scenario: String::new(),
        first_mes: String::new(),
        mes_example: String::new(),
        creator_notes: String::new(),
        system_prompt: String::new(),
        post_history_instructions: String::new(),
        alternate_greetings: Vec::new(),
        group_only_greetings: Vec::new(),
        tags: Vec::new(),
        creator: String::new(),
        character_version: String::new(),
        depth_prompt: None,
        world: None,
        assets: Vec::new(),
        extensions: Map::new(),
        root: Map::new(),
    }
}

/// The card's data in the words of a standard, without its book.
pub(crate) fn write(card: &Card, version: CardVersion) -> Map<String, Value> {
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
    put("name", json!(card.name));
    put("description", json!(card.description));
    put("personality", json!(card.personality));
    put("scenario", json!(card.scenario));
    put("first_mes", json!(card.first_mes));
    put("mes_example", json!(card.mes_example));
    match version {
        CardVersion::Pygmalion => return renamed(&PYGMALION, &map, card),
        CardVersion::Webui => return renamed(&WEBUI, &map, card),
        CardVersion::V1 => {}
        CardVersion::V2 | CardVersion::V3 => {
            put("creator_notes", json!(card.creator_notes));
            put("system_prompt", json!(card.system_prompt));
            put("post_history_instructions", json!(card.post_history_instructions));
            put("alternate_greetings", json!(card.alternate_greetings));
            put("tags", json!(card.tags));
            put("creator", json!(card.creator));
            put("character_version", json!(card.character_version));
        }
    }
    if version == CardVersion::V3 {
        put("group_only_greetings", json!(card.group_only_greetings));
        if let Some(nickname) = &card.nickname {
            put("nickname", json!(nickname));
        }
        if !card.assets.is_empty() {
            put("assets", json!(card.assets));
        }
    }
    map.extend(card.extensions.clone());
    if version == CardVersion::V1 {
        return map;
    }
    let extensions = map.entry("extensions").or_insert_with(|| json!({}));
    if !extensions.is_object() && (card.depth_prompt.is_some() || card.world.is_some()) {
        *extensions = json!({});
    }
    if let Some(note) = &card.depth_prompt {
        extensions["depth_prompt"] = json!(note);
    }
    if let Some(world) = &card.world {
        extensions["world"] = json!(world);
    }
    map
}

fn renamed(names: &[(&str, &str)], fields: &Map<String, Value>, card: &Card) -> Map<String, Value> {
    let mut map = Map::new();
    for (theirs, ours) in names {
        map.insert((*theirs).to_owned(), fields.get(*ours).cloned().unwrap_or_default());
    }
    map.extend(card.extensions.clone());
    map
}

/// Whether a member at the root only repeats what is in `data`.
pub(super) fn is_mirror(name: &str) -> bool {
    MIRRORED.contains(&name)
}

/// What a card has at its root beside `data`. Copies of fields say what the fields say now.
pub(crate) fn root_members(card: &Card, data: &Map<String, Value>) -> Map<String, Value> {
    let now = |(name, was): (&String, &Value)| {
        let field = data.get(name).filter(|_| is_mirror(name));
        (name.clone(), field.unwrap_or(was).clone())
    };
    card.root.iter().map(now).collect()
}

/// The fields that a card repeats at its root, where its file has them there.
pub(crate) fn mirrors(root: &Node<'_>, data: &Map<String, Value>) -> Map<String, Value> {
    MIRRORED
        .iter()
        .filter(|name| root.get(name).is_some())
        .filter_map(|name| Some(((*name).to_owned(), data.get(*name)?.clone())))
        .collect()
}

/// A V3 card as the V2 copy beside it. V2 programs do not know decorators and would show them to
/// the model, so they are removed.
pub(crate) fn to_v2(card: &Value) -> Value {
    let mut copy = card.clone();
    copy["spec"] = json!("chara_card_v2");
    copy["spec_version"] = json!("2.0");
    let entries = copy.pointer_mut("/data/character_book/entries").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten() {
        if let Some(Value::String(content)) = entry.get_mut("content") {
            *content = decorators::body(content).to_owned();
        }
    }
    copy
}
