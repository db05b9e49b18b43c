//! The registry of entities: find, link and merge them.

use crate::{
    ids::Ids,
    record::{Entity, EntityId, EntityKind, Memory},
    text::contains_word,
};
use loreloom_ports::MemoryId;

/// Names are compared without case, and with one kind of apostrophe.
fn folded(name: &str) -> String {
    name.trim().to_lowercase().replace(['\u{2019}', '\u{2018}', '\u{02BC}'], "'")
}

/// The entity with this name or alias.
pub fn find(registry: &[Entity], name: &str) -> Option<usize> {
    let wanted = folded(name);
    registry.iter().position(|entity| entity.names().any(|known| folded(known) == wanted))
}

/// Registers the entities of a memory, given as `Name` or `Name/kind`, and returns their ids.
/// Unknown names become new entities, new spellings become aliases, and a known kind stays. A name
/// given twice is returned twice.
pub fn resolve(
    registry: &mut Vec<Entity>,
    memory: &MemoryId,
    tokens: &[String],
    position: i64,
    ids: &mut Ids,
) -> Vec<EntityId> {
    let mut linked = Vec::new();
    for token in tokens {
        let (name, kind) = match token.split_once('/') {
            Some((name, kind)) => (name.trim(), EntityKind::from_name(kind)),
            None => (token.trim(), EntityKind::Unknown),
        };
        if name.is_empty() {
            continue;
        }
        let at = find(registry, name).unwrap_or_else(|| {
            registry.push(Entity {
                id: EntityId(ids.next()),
                name: name.to_owned(),
                kind,
                first_seen: position,
                ..Entity::default()
            });
            registry.len() - 1
        });
        let entity = &mut registry[at];
        if !entity.names().any(|known| known.to_lowercase() == name.to_lowercase()) {
            entity.aliases.push(name.to_owned());
        }
        entity.last_seen = entity.last_seen.max(position);
        push_new(&mut entity.memory_ids, memory);
        linked.push(entity.id.clone());
    }
    linked
}

/// Adds an entity for a character's own card, if it is not known yet.
pub fn seed(registry: &mut Vec<Entity>, name: &str, ids: &mut Ids) {
    if find(registry, name).is_none() && !name.trim().is_empty() {
        registry.push(Entity {
            id: EntityId(ids.next()),
            name: name.trim().to_owned(),
            kind: EntityKind::Character,
            ..Entity::default()
        });
    }
}

/// Updates the links between registry and memories from the names in the texts and the ids of the
/// memories. Removes links to missing memories, and entities without memories.
pub fn reconcile(registry: &mut Vec<Entity>, memories: &mut [Memory]) {
    for entity in registry.iter_mut() {
        entity.memory_ids.retain(|id| memories.iter().any(|memory| memory.id == *id));
        for memory in memories.iter() {
            if memory.entities.contains(&entity.id) || names_entity(&memory.content, entity) {
                push_new(&mut entity.memory_ids, &memory.id);
            }
        }
        let linked = || memories.iter().filter(|memory| entity.memory_ids.contains(&memory.id));
        // Imported memories may have a time but no position.
        let seen = linked()
            .filter_map(Memory::position)
            .max()
            .or_else(|| linked().filter_map(|memory| memory.ts).max());
        entity.last_seen = seen.unwrap_or(entity.last_seen);
    }
    registry.retain(|entity| !entity.memory_ids.is_empty());
    for memory in memories {
        memory.entities.retain(|id| registry.iter().any(|entity| entity.id == *id));
        for entity in registry.iter().filter(|entity| entity.memory_ids.contains(&memory.id)) {
            push_new(&mut memory.entities, &entity.id);
        }
    }
}

/// Whether a text names an entity: a whole name of three letters or more, or one word of
/// four or more from a name of several words.
pub(crate) fn names_entity(text: &str, entity: &Entity) -> bool {
    entity.names().any(|name| {
        let parts: Vec<&str> = name.split_whitespace().collect();
        let long = |word: &str, least: usize| {
            word.chars().count() >= least
                || word.chars().any(crate::text::is_unspaced) && word.chars().count() >= 2
        };
        long(name, 3) && contains_word(text, name)
            || parts.len() > 1
                && parts.iter().any(|part| long(part, 4) && contains_word(text, part))
    })
}

/// Merges the entity `source` into the entity `target`. Without a target the source is renamed. The
/// old name stays as an alias either way.
pub fn merge(registry: &mut Vec<Entity>, memories: &mut [Memory], source: &str, target: &str) {
    let Some(from) = find(registry, source) else { return };
    let Some(into) = find(registry, target) else {
        let entity = &mut registry[from];
        let old = std::mem::replace(&mut entity.name, target.trim().to_owned());
        push_new(&mut entity.aliases, &old);
        return;
    };
    if from == into {
        return;
    }
    let absorbed = registry[from].clone();
    let entity = &mut registry[into];
    for name in absorbed.names() {
        if !entity.names().any(|known| known.to_lowercase() == name.to_lowercase()) {
            entity.aliases.push(name.to_owned());
        }
    }
    entity.first_seen = entity.first_seen.min(absorbed.first_seen);
    entity.last_seen = entity.last_seen.max(absorbed.last_seen);
    for id in &absorbed.memory_ids {
        push_new(&mut entity.memory_ids, id);
    }
    let kept = entity.id.clone();
    for memory in memories {
        if memory.entities.contains(&absorbed.id) {
            let known = memory.entities.contains(&kept);
            memory.entities.retain(|id| *id != absorbed.id);
            if !known {
                memory.entities.push(kept.clone());
            }
        }
    }
    registry.remove(from);
}

fn push_new<T: Clone + PartialEq>(list: &mut Vec<T>, item: &T) {
    if !list.contains(item) {
        list.push(item.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(id: &str, name: &str) -> Entity {
        Entity { id: EntityId(id.into()), name: name.into(), ..Entity::default() }
    }

    fn memory(id: &str, content: &str) -> Memory {
        Memory { id: id.into(), content: content.into(), ts: Some(5), ..Memory::default() }
    }

    #[test]
    fn a_name_inside_another_word_is_no_link() {
        let mut registry =
            vec![entity("e1", "Ann"), entity("e2", "Lis Vale"), entity("e3", "田中")];
        let mut memories = vec![
            memory("m1", "The cannon fired"),
            memory("m2", "Vale sings"),
            memory("m3", "田中が来た"),
        ];
        reconcile(&mut registry, &mut memories);
        let names: Vec<&str> = registry.iter().map(|entity| entity.name.as_str()).collect();
        assert_eq!(names, ["Lis Vale", "田中"]);
        assert!(memories[0].entities.is_empty());
        assert_eq!(memories[1].entities, [EntityId("e2".into())]);
    }

    #[test]
    fn a_known_position_is_never_mixed_with_a_time() {
        let mut registry = vec![entity("e1", "Odo")];
        let mut placed = memory("m1", "Odo left");
        placed.source_messages = vec![(0, 4)];
        let mut memories =
            vec![placed, Memory { ts: Some(1_750_000_000_000), ..memory("m2", "Odo") }];
        reconcile(&mut registry, &mut memories);
        assert_eq!(registry[0].last_seen, 4);
    }

    #[test]
    fn the_first_slash_ends_a_name() {
        let mut registry = Vec::new();
        let tokens = ["Odo/Venn/character", "odo/character"].map(str::to_owned);
        let linked = resolve(&mut registry, &"m1".into(), &tokens, 4, &mut Ids::new("id"));
        assert_eq!((registry.len(), registry[0].name.as_str()), (1, "Odo"));
        assert_eq!(registry[0].kind, EntityKind::Unknown);
        assert_eq!(linked, [EntityId("id-1".into()), EntityId("id-1".into())]);
    }

    #[test]
    fn what_was_last_seen_follows_the_memories_that_are_left() {
        let mut registry = vec![Entity { last_seen: 99, ..entity("e1", "Odo") }];
        let mut memories = vec![Memory { valid_from: Some(7), ..memory("m1", "Odo waits") }];
        reconcile(&mut registry, &mut memories);
        assert_eq!(registry[0].last_seen, 7);
    }

    #[test]
    fn a_merged_entity_takes_no_name_it_has_in_another_case() {
        let other = Entity {
            aliases: vec!["CAP".into(), "The Ferryman".into()],
            ..entity("e2", "ODO VENN")
        };
        let mut registry =
            vec![Entity { aliases: vec!["Cap".into()], ..entity("e1", "Odo Venn") }, other];
        registry[1].name = "Venn".into();
        merge(&mut registry, &mut [], "Venn", "Odo Venn");
        assert_eq!(registry[0].aliases, ["Cap", "Venn", "The Ferryman"]);
    }

    #[test]
    fn without_a_target_the_source_is_renamed() {
        let mut registry = vec![entity("e1", "The Captain")];
        merge(&mut registry, &mut [], "the captain", "Odo");
        assert_eq!(
            (registry[0].name.as_str(), &registry[0].aliases[..]),
            ("Odo", &["The Captain".to_owned()][..])
        );
    }
}
