//! Under our own rules no reply of a model makes a memory vanish.

use loreloom_core::units::Timestamp;
use loreloom_memory::{
    event::{between, character_records, fold, to_character},
    ids::Ids,
    model_profile::ModelProfile,
    record::{CharacterMemory, Memory, MemoryKind},
    rules::Rules,
    settings::Settings,
    tiers::{Config, PassSource, consolidation, longterm, session},
};
use loreloom_ports::Records;
use loreloom_ports::{MemoryEvent, MemoryWriteId};
use proptest::prelude::*;

use crate::story::{memories, path, play, reply};

fn all_kept(before: &[Memory], after: &[Memory]) -> bool {
    before.iter().all(|old| after.iter().any(|new| new.id == old.id))
}

fn links_hold(memories: &[Memory]) -> bool {
    memories.iter().filter(|memory| !memory.supersedes.is_empty()).all(|child| {
        child.supersedes.iter().all(|parent| {
            memories
                .iter()
                .any(|old| old.id == *parent && old.superseded_by.as_ref() == Some(&child.id))
        })
    })
}

fn ids_differ(memories: &[Memory]) -> bool {
    let mut ids: Vec<&str> = memories.iter().map(|memory| memory.id.0.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    ids.len() == count
}

proptest! {
    #[test]
    fn a_longterm_pass_keeps_every_memory(
        known in memories(&MemoryKind::LONG_TERM),
        replies in prop::collection::vec(reply(&MemoryKind::LONG_TERM), 1..4),
        max in 1..10_usize,
    ) {
        let settings = Settings { longterm_max_memories: max, ..Settings::default() };
        let rules = Rules::default();
        let path = path(&["Hello.".to_owned(), "Odo left.".to_owned(), "Oh.".to_owned()]);
        let memory = CharacterMemory { memories: known.clone(), ..CharacterMemory::default() };
        let input = longterm::LongTermInput {
            config: Config { settings: &settings, rules: &rules, profile: ModelProfile::B },
            source: PassSource { chat: path.items(), window: 0..3, heard: None, chat_id: "c", character: "", lore: &[], now: 9 },
            character: "Mara",
            card: "",
            memory: &memory,
            ids: Ids::new("new"),
        };
        let outcome = play(&replies, |script| longterm::run(&input, script));
        prop_assert!(all_kept(&known, &outcome.memories));
        prop_assert!(ids_differ(&outcome.memories));
        prop_assert!(links_hold(&outcome.memories));

        let records = |memories: &[Memory]| {
            let memories = memories.to_vec();
            character_records(&CharacterMemory { memories, ..CharacterMemory::default() })
        };
        let (first, second) = (records(&known), records(&outcome.memories));
        let happened = [between(&Records::default(), &first, None), between(&first, &second, None)];
        let log: Vec<MemoryEvent> = (1..).zip(happened.concat()).map(|(number, event)| MemoryEvent {
            number,
            write: MemoryWriteId(number.to_string()),
            chat: None,
            at: Timestamp(0),
            event,
        }).collect();
        let mut folded = to_character(&fold(&log, |_, _| true)).memories;
        let mut expected = outcome.memories;
        folded.sort_by(|a, b| a.id.cmp(&b.id));
        expected.sort_by(|a, b| a.id.cmp(&b.id));
        prop_assert_eq!(folded, expected);
    }

    #[test]
    fn a_session_pass_keeps_every_memory(
        known in memories(&MemoryKind::SESSION),
        text in reply(&MemoryKind::SESSION),
        max in 1..10_usize,
    ) {
        let settings = Settings { session_max_memories: max, ..Settings::default() };
        let rules = Rules::default();
        let path = path(&["Hello.".to_owned(), "Odo left.".to_owned(), "Oh.".to_owned()]);
        let input = session::SessionInput {
            config: Config { settings: &settings, rules: &rules, profile: ModelProfile::A },
            source: PassSource { chat: path.items(), window: 0..3, heard: None, chat_id: "c", character: "", lore: &[], now: 9 },
            memories: &known,
            entities: &[],
            longterm: &[],
            ids: Ids::new("new"),
        };
        let outcome = play(&[text], |script| session::run(&input, script));
        prop_assert!(all_kept(&known, &outcome.memories));
        prop_assert!(ids_differ(&outcome.memories));
        prop_assert!(links_hold(&outcome.memories));
        let added = outcome.memories.iter().filter(|memory| memory.id.0.starts_with("new"));
        if added.count() > 0 {
            prop_assert!(outcome.memories.iter().filter(|memory| memory.is_active()).count() <= max);
        }
    }

    #[test]
    fn a_consolidation_keeps_every_memory(
        known in memories(&MemoryKind::LONG_TERM),
        replies in prop::collection::vec(reply(&MemoryKind::LONG_TERM), 0..5),
        force in any::<bool>(),
    ) {
        let (settings, rules) = (Settings::default(), Rules::default());
        let input = consolidation::ConsolidationInput {
            config: Config { settings: &settings, rules: &rules, profile: ModelProfile::A },
            tier: consolidation::Tier::LongTerm,
            memories: &known,
            entities: &[],
            force,
            now: 9,
            ids: Ids::new("new"),
        };
        let outcome = play(&replies, |script| consolidation::run(&input, script));
        prop_assert!(all_kept(&known, &outcome.memories));
        prop_assert!(ids_differ(&outcome.memories));
        prop_assert!(links_hold(&outcome.memories));
    }
}
