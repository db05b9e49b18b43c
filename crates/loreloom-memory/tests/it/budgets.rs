//! No slot takes more than its budget, and whole entries give way first.

use loreloom_core::{tokens::TokenCounter, units::Tokens};
use loreloom_memory::{
    budget::{TurnBudgets, adapt},
    inject::{Labels, MemorySlot, SlotsInput, slots},
    record::{Canon, CharacterMemory, ChatMemory, MemoryKind, Scene, StoryArc},
    rules::Rules,
    settings::{Budgets, Settings, SettingsMode},
    text::QuarterEstimate,
    turn::TurnKind,
};
use proptest::prelude::*;

use crate::story::{memories, path, sentence};

proptest! {
    #[test]
    fn a_slot_stays_within_its_budget(
        texts in prop::collection::vec(sentence(), 1..8),
        longterm in memories(&MemoryKind::LONG_TERM),
        budget in 12..60_u32,
    ) {
        let tokens = Tokens(budget);
        let budgets = Budgets {
            longterm: tokens, session: tokens, scenes: tokens, arcs: tokens, canon: tokens,
            profiles: tokens, relationships: tokens, epistemic: tokens, ledger: tokens, recall: tokens,
        };
        let settings = Settings { budgets, ..Settings::default() };
        let (rules, labels) = (Rules::default(), Labels::default());
        let character = CharacterMemory {
            memories: longterm,
            canon: Some(Canon { text: texts.join(". "), ts: None }),
            ..CharacterMemory::default()
        };
        let chat = ChatMemory {
            scene_history: texts.iter().map(|text| Scene { summary: text.clone(), ..Scene::default() }).collect(),
            story_arcs: texts.iter().map(|text| StoryArc { content: text.clone(), ..StoryArc::default() }).collect(),
            ..ChatMemory::default()
        };
        let path = path(&texts);
        let filled = slots(&SlotsInput {
            settings: &settings, rules: &rules, labels: &labels, counter: &QuarterEstimate,
            character: &character, chat: &chat, path: path.items(), owner: "Mara",
            responding: "Mara", group: &[], turn: None, recalled: &texts, clock: None,
        });
        for slot in &filled.texts {
            prop_assert!(QuarterEstimate.count(&slot.text) <= tokens, "{:?}: {}", slot.slot, slot.text);
            prop_assert!(slot.tokens <= slot.wanted || slot.slot == MemorySlot::LongTerm);
        }
    }

    #[test]
    fn no_turn_and_no_demand_grows_the_sum(
        base in prop::array::uniform5(0..4000_u32),
        demand in prop::array::uniform9(prop::option::of(0..9000_u32)),
    ) {
        let [longterm, session, scenes, arcs, profiles] = base.map(Tokens);
        let before = TurnBudgets { longterm, session, scenes, arcs, profiles };
        for kind in [TurnKind::Dialogue, TurnKind::Action, TurnKind::Transition, TurnKind::Intimate] {
            let after = adapt(before, kind);
            let sum = after.longterm.0 + after.session.0 + after.scenes.0 + after.arcs.0 + after.profiles.0;
            prop_assert!(sum <= base.iter().sum::<u32>() + 2);
        }
        let tuned = Budgets::default().tuned(demand.map(|full| full.map(Tokens)), SettingsMode::Simple);
        prop_assert!(tuned.sum() <= Budgets::default().sum());
    }
}
