//! What is remembered of one person, place or thing, in order of time.
//!
//! A timeline contains only what is remembered on a path, without other branches. Replaced memories
//! stay in it and are marked, because a timeline shows how things changed.

use loreloom_core::{chat::PathItem, ids::MessageId};
use serde::Serialize;

use crate::{
    entities::{find, names_entity},
    record::{CharacterMemory, ChatMemory, Entity, EntityKind, InsightKind, Memory},
};

/// What a moment of a timeline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum MomentKind {
    /// A long-term memory.
    Memory,
    /// A memory of the chat.
    SessionMemory,
    /// A past scene.
    Scene,
    /// A arc.
    Thread,
    /// What a person knows or hides.
    Knowledge,
    /// A value of its state card.
    State,
}

/// Something remembered of an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Moment {
    /// What it is.
    pub kind: MomentKind,
    /// Its record.
    pub id: String,
    /// Its text.
    pub text: String,
    /// When it was remembered, in milliseconds since 1970.
    pub ts: Option<i64>,
    /// The number of the first message it rests on, from 1, if the path has it.
    pub message: Option<usize>,
    /// The messages it rests on.
    pub receipts: Vec<MessageId>,
    /// Whether it is still true.
    pub holds: bool,
    /// What replaced it.
    pub replaced_by: Option<String>,
}

/// What is remembered of an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EntityTimeline {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: EntityKind,
    /// Its other names.
    pub aliases: Vec<String>,
    /// What is remembered of it, oldest first, entries without a time last.
    pub moments: Vec<Moment>,
}

/// The timeline of the entity with this name. `None` if nothing on the path mentions it.
pub fn timeline(
    name: &str,
    character: &CharacterMemory,
    chat: &ChatMemory,
    path: &[PathItem],
) -> Option<EntityTimeline> {
    let about = entity(name, character, chat);
    let mut moments: Vec<Moment> = Vec::new();
    let both = [
        (MomentKind::Memory, &character.memories),
        (MomentKind::SessionMemory, &chat.session_memories),
    ];
    for (kind, memories) in both {
        moments
            .extend(memories.iter().filter(|one| speaks_of(one, &about)).map(|one| of(kind, one)));
    }
    moments.extend(scenes(chat, &about).chain(threads(character, chat, &about)));
    moments.extend(knowledge(character, &about).chain(state(chat, &about)));
    let known = find(&character.entities, name).or_else(|| find(&chat.session_entities, name));
    if moments.is_empty() && known.is_none() {
        return None;
    }
    for moment in &mut moments {
        let is_receipt = |item: &PathItem| moment.receipts.contains(&item.id);
        moment.message = path.iter().position(is_receipt).map(|at| at + 1);
    }
    moments.sort_by_key(|moment| (moment.ts.unwrap_or(i64::MAX), moment.message));
    Some(EntityTimeline { name: about.name, kind: about.kind, aliases: about.aliases, moments })
}

/// All entities with a name. A character and its chat each have a registry.
fn entity(name: &str, character: &CharacterMemory, chat: &ChatMemory) -> Entity {
    let mut about = Entity { name: name.trim().to_owned(), ..Entity::default() };
    let mut is_named = false;
    for registry in [&character.entities, &chat.session_entities] {
        let Some(known) = find(registry, name).map(|at| &registry[at]) else { continue };
        if !is_named {
            about.name.clone_from(&known.name);
            is_named = true;
        }
        if about.kind == EntityKind::Unknown {
            about.kind = known.kind;
        }
        let new = known.names().filter(|other| !about.names().any(|own| own == *other));
        let new: Vec<String> = new.map(str::to_owned).collect();
        about.aliases.extend(new);
        about.memory_ids.extend(known.memory_ids.iter().cloned());
    }
    about
}

fn speaks_of(memory: &Memory, about: &Entity) -> bool {
    about.memory_ids.contains(&memory.id) || names_entity(&memory.content, about)
}

fn of(kind: MomentKind, memory: &Memory) -> Moment {
    Moment {
        kind,
        id: memory.id.0.clone(),
        text: memory.content.clone(),
        ts: memory.ts,
        message: None,
        receipts: memory.receipts.clone(),
        holds: memory.is_active(),
        replaced_by: memory.superseded_by.as_ref().map(|id| id.0.clone()),
    }
}

fn scenes<'chat>(
    chat: &'chat ChatMemory,
    about: &'chat Entity,
) -> impl Iterator<Item = Moment> + 'chat {
    let named = chat.scene_history.iter().filter(|scene| names_entity(&scene.summary, about));
    named.map(|scene| moment(MomentKind::Scene, &scene.summary, scene.ts, &scene.receipts, true))
}

fn threads<'chat>(
    character: &'chat CharacterMemory,
    chat: &'chat ChatMemory,
    about: &'chat Entity,
) -> impl Iterator<Item = Moment> + 'chat {
    let pinned = character
        .persistent_arcs
        .iter()
        .filter(|pinned| !chat.story_arcs.iter().any(|arc| arc.content == pinned.content));
    let named = chat.story_arcs.iter().chain(pinned);
    let named = named.filter(|arc| names_entity(&arc.content, about));
    named.map(|arc| moment(MomentKind::Thread, &arc.content, arc.ts, &arc.receipts, arc.is_open()))
}

fn knowledge<'chat>(
    character: &'chat CharacterMemory,
    about: &'chat Entity,
) -> impl Iterator<Item = Moment> + 'chat {
    let concerns = |subject: &str| about.names().any(|name| name.eq_ignore_ascii_case(subject));
    let insights = character.epistemic_knowledge.iter().filter(move |one| {
        concerns(&one.subject)
            || one.target.as_deref().is_some_and(concerns)
            || names_entity(&one.content, about)
    });
    insights.map(|one| {
        let from = one.target.as_deref().filter(|_| one.kind == InsightKind::Hiding);
        let from = from.map(|target| format!(" from {target}")).unwrap_or_default();
        let text = format!("{} {}{from}: {}", one.subject, one.kind.as_str(), one.content);
        let mut moment = moment(MomentKind::Knowledge, &text, one.ts, &one.receipts, one.holds());
        moment.id.clone_from(&one.id);
        moment
    })
}

/// The values of its state cards, each with the message it was read from.
fn state<'chat>(
    chat: &'chat ChatMemory,
    about: &'chat Entity,
) -> impl Iterator<Item = Moment> + 'chat {
    let is_its = |label: &str| about.names().any(|name| name.eq_ignore_ascii_case(label));
    let cards = chat.ledger.iter().filter(move |(key, card)| {
        card.name.as_deref().is_some_and(is_its) || is_its(card_name(key))
    });
    cards.flat_map(|(key, card)| {
        card.fields.iter().map(move |(field, value)| {
            let receipts: Vec<MessageId> = card.sources.get(field).copied().into_iter().collect();
            let text = format!("{field}: {value}");
            let mut moment = moment(MomentKind::State, &text, None, &receipts, true);
            key.clone_into(&mut moment.id);
            moment
        })
    })
}

/// The name in a card's key, `name|kind`.
fn card_name(key: &str) -> &str {
    key.rsplit_once('|').map_or(key, |(name, _)| name)
}

fn moment(
    kind: MomentKind,
    text: &str,
    ts: Option<i64>,
    receipts: &[MessageId],
    holds: bool,
) -> Moment {
    Moment {
        kind,
        id: String::new(),
        text: text.to_owned(),
        ts,
        message: None,
        receipts: receipts.to_vec(),
        holds,
        replaced_by: None,
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path, Role},
        ids::ChatId,
    };

    use super::*;
    use crate::record::{EntityId, Scene, StoryArc};

    /// A captain who had a boat, and bread.
    fn remembered(path: &Path) -> (CharacterMemory, ChatMemory) {
        let receipt = |at: usize| vec![path.items()[at].id];
        let memory = |id: &str, content: &str, ts: Option<i64>, at: usize| Memory {
            id: id.into(),
            content: content.into(),
            ts,
            receipts: receipt(at),
            ..Memory::default()
        };
        let character = CharacterMemory {
            memories: vec![
                memory("b", "The Captain has no boat", Some(20), 2),
                Memory {
                    superseded_by: Some("b".into()),
                    ..memory("a", "Odo Venn owns the Heron", Some(10), 0)
                },
                memory("x", "Bread is cheap", Some(1), 1),
                memory("c", "Odo hums", None, 1),
            ],
            entities: vec![Entity {
                id: EntityId("e".into()),
                name: "Odo Venn".into(),
                kind: EntityKind::Character,
                aliases: vec!["Captain".into(), "Odo".into()],
                ..Entity::default()
            }],
            ..CharacterMemory::default()
        };
        let chat = ChatMemory {
            scene_history: vec![Scene {
                summary: "Odo went to the harbour.".into(),
                ts: Some(15),
                ..Scene::default()
            }],
            story_arcs: vec![StoryArc {
                content: "Will the Captain sail again?".into(),
                ts: Some(30),
                resolved: true,
                ..StoryArc::default()
            }],
            ..ChatMemory::default()
        };
        (character, chat)
    }

    #[test]
    fn a_timeline_tells_in_order_what_was_and_what_is() {
        let texts = ["Odo buys the Heron.", "Rain.", "The Captain sells her."];
        let path = Path::of(
            ChatId::from("c"),
            texts.map(|text| Message::new(Role::User, Some("Mara"), text)),
        );
        let (character, chat) = remembered(&path);
        let found = timeline("captain", &character, &chat, path.items()).unwrap();
        assert_eq!((found.name.as_str(), found.kind), ("Odo Venn", EntityKind::Character));
        let shown: Vec<(&str, Option<usize>, bool)> =
            found.moments.iter().map(|one| (one.text.as_str(), one.message, one.holds)).collect();
        assert_eq!(
            shown,
            [
                ("Odo Venn owns the Heron", Some(1), false),
                ("Odo went to the harbour.", None, true),
                ("The Captain has no boat", Some(3), true),
                ("Will the Captain sail again?", None, false),
                ("Odo hums", Some(2), true),
            ]
        );
        assert_eq!(found.moments[0].replaced_by.as_deref(), Some("b"));
        assert_eq!(timeline("Lis", &character, &chat, path.items()), None);
    }
}
