//! One entry: what each field means to the engine, also where it is missing or odd.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "JSON has six kinds of values and will have no more"
)]

use loreloom_core::{
    book::{
        Activation, BudgetRules, DepthFrom, Entry, EntryRest, Extensions, Filters, Group, Key,
        MatchSources, OriginalId, Placement, Position, Recursion, ScanRange, Secondary,
        SelectiveLogic, Timed,
    },
    chat::Role,
    ids::EntryId,
    number::whole,
    units::Depth,
};

use super::{
    fields::{Field, KnownField},
    values::Values,
};
use crate::{
    import::OddValues,
    json::{Json, Node, js},
    note::Notes,
    tolerant::{CONSTANT, CONTENT, KEYS, NAME, ORDER, meant_as_true},
};

/// The chance of an entry that asks for a roll and names no chance: the program compares
/// the roll with nothing, which fails after the roll was made.
const ROLLS_AND_FAILS: f64 = -1.0;

/// The chance of an entry whose chance is the text `"100"`: only the number 100 skips the
/// roll, so this one is rolled for and always passes.
const ROLLS_AND_PASSES: f64 = 100.0_f64.next_up();

/// The scan depth of an entry whose depth is no number: the program finds it not to be 0, and
/// takes no messages. So is every depth between 0 and 1.
const ALL_BUT_CHAT: f64 = 0.5;

/// Whether entries are in an object, as SillyTavern writes them, or in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `"entries": {"0": {}}`.
    Map,
    /// `"entries": [{}]`: written by converters that leave out what has its default, so
    /// a missing position is the default one.
    List,
}

/// The uid of an entry, if it has one.
pub(super) fn uid(entry: &Node<'_>, notes: &mut Notes) -> Option<OriginalId> {
    let found = entry.get(Field::Uid.name()).filter(|node| !node.is_null());
    let Some(node) = found else {
        notes.info(Field::Uid.name(), "is missing");
        return None;
    };
    let text = js::text(node);
    if let (Json::Number(_), Ok(number)) = (&node.value, text.parse()) {
        return Some(OriginalId::Number(number));
    }
    notes.info(Field::Uid.name(), format!("is {}, not a whole number", node.kind()));
    Some(OriginalId::Text(text))
}

/// Reads an entry.
pub(super) fn read(
    id: EntryId,
    node: &Node<'_>,
    shape: Shape,
    odd_values: OddValues,
    notes: &mut Notes,
) -> Entry {
    let mut values = Values { node, known: KnownField::of(node), odd: odd_values, notes };
    Entry {
        id,
        original_id: None,
        name: values.name(),
        comment: String::new(),
        content: values.content(),
        prefix: String::new(),
        suffix: String::new(),
        activation: values.activation(),
        recursion: values.recursion(),
        group: values.group(),
        placement: values.placement(shape),
        budget: BudgetRules { ignore: values.flag(Field::IgnoreBudget), ..BudgetRules::default() }
            .into(),
        inject: None,
        copy_of: None,
        rest: values.rest().into(),
        extensions: unknown_keys(node),
        raw: None,
    }
}

fn unknown_keys(node: &Node<'_>) -> Extensions {
    node.members()
        .iter()
        .filter(|member| Field::from_name(&member.key).is_none())
        .map(|member| (member.key.as_ref().to_owned(), member.value.to_value()))
        .collect()
}

impl<'tree, 'text> Values<'tree, 'text, '_> {
    /// The value under a name that other programs use, where the program's own name is
    /// missing: converters mix the families.
    fn other_name<'name>(
        &mut self,
        field: Field,
        names: &[&'name str],
    ) -> Option<(&'name str, &'tree Node<'text>)> {
        if self.given(field).is_some() || self.odd == OddValues::ToTheLetter {
            return None;
        }
        let given = |name: &&'name str| {
            self.node.get(name).filter(|node| !node.is_null()).map(|node| (*name, node))
        };
        let (name, node) = names.iter().find_map(given)?;
        self.notes.warn(name, format!("stands where `{}` is expected: used instead", field.name()));
        Some((name, node))
    }

    fn name(&mut self) -> String {
        let comment = self.text(Field::Comment);
        if !comment.is_empty() {
            return comment;
        }
        let texts = NAME.iter().filter_map(|name| self.node.get(name).and_then(Node::as_str));
        texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned()
    }

    fn content(&mut self) -> String {
        let other = self.other_name(Field::Content, &CONTENT);
        if let Some(text) = other.and_then(|(_, node)| node.as_str()) {
            return text.to_owned();
        }
        match self.given(Field::Content).filter(|node| !js::truthy(node)) {
            // The program takes `0` and `false` for no text.
            Some(node) if node.as_str().is_none() => {
                self.read_as(Field::Content, node, "no text");
                String::new()
            }
            _ => self.text(Field::Content),
        }
    }

    /// What the program itself calls `triggers` are not keys.
    fn keys(&mut self, field: Field, others: &[&str]) -> Vec<Key> {
        let texts = match self.other_name(field, others).map(|(name, node)| (name, &node.value)) {
            Some((name, Json::Array(items))) => self.items(name, items),
            Some((_, Json::String(text))) => crate::keys::split(text),
            Some(_) => Vec::new(),
            None => self.list(field),
        };
        texts.iter().map(|text| Key::parse(text)).collect()
    }

    fn constant(&mut self) -> bool {
        match self.other_name(Field::Constant, &CONSTANT) {
            Some((_, node)) => js::truthy(node),
            None => self.flag(Field::Constant),
        }
    }

    fn activation(&mut self) -> Activation {
        Activation {
            enabled: self.enabled(),
            constant: self.constant(),
            keys: self.keys(Field::Key, &KEYS[..4]),
            secondary: Secondary {
                active: self.flag(Field::Selective),
                logic: self.logic(),
                keys: self.keys(Field::KeySecondary, &["secondary_keys"]),
            },
            case_sensitive: self.choice(Field::CaseSensitive),
            whole_words: self.choice(Field::MatchWholeWords),
            scan: ScanRange { messages: self.scan_depth(), ..ScanRange::default() },
            sources: self.sources(),
            probability: self.probability(),
            filters: self.filters().into(),
            timed: Timed {
                sticky: self.count(Field::Sticky),
                cooldown: self.count(Field::Cooldown),
                delay: self.count(Field::Delay),
            },
            vectorized: self.flag(Field::Vectorized),
            ..Activation::default()
        }
    }

    fn scan_depth(&mut self) -> Option<f64> {
        let node = self.given(Field::ScanDepth)?;
        if self.repairs() || !js::number(node).is_nan() {
            return self.number(Field::ScanDepth);
        }
        self.read_as(Field::ScanDepth, node, "no messages, but all other texts");
        Some(ALL_BUT_CHAT)
    }

    fn enabled(&mut self) -> bool {
        match self.other_name(Field::Disable, &["enabled", "disabled", "widisabled"]) {
            Some(("enabled", node)) => return js::truthy(node),
            Some((_, node)) => return !js::truthy(node),
            None => {}
        }
        let Some(node) = self.given(Field::Disable) else { return true };
        if let Json::Bool(disabled) = node.value {
            return !disabled;
        }
        let disabled =
            if self.repairs() { self.flag(Field::Disable) } else { js::loosely_true(node) };
        self.read_as(Field::Disable, node, disabled);
        !disabled
    }

    fn logic(&mut self) -> SelectiveLogic {
        let Some(node) = self.given(Field::SelectiveLogic) else { return SelectiveLogic::AndAny };
        let number = match node.value {
            Json::Number(_) => js::number(node),
            _ if self.repairs() => js::number(node),
            _ => f64::NAN,
        };
        match listed(number, 4) {
            Some(0) => SelectiveLogic::AndAny,
            Some(1) => SelectiveLogic::NotAll,
            Some(2) => SelectiveLogic::NotAny,
            Some(_) => SelectiveLogic::AndAll,
            None => {
                self.read_as(Field::SelectiveLogic, node, "a logic that never passes");
                SelectiveLogic::Unknown
            }
        }
    }

    fn probability(&mut self) -> Option<f64> {
        if !self.flag(Field::UseProbability) {
            return None;
        }
        let Some(node) = self.known.get(Field::Probability) else {
            return Some(self.odd_probability("missing", ROLLS_AND_FAILS));
        };
        let number = js::number(node).clamp(f64::MIN, f64::MAX);
        if let Json::Number(_) = node.value {
            if !(0.0..=100.0).contains(&number) {
                self.notes.warn(Field::Probability.name(), format!("{number} is not 0 to 100"));
            }
            return Some(number);
        }
        let exact = match &node.value {
            Json::Null => 0.0,
            _ if number.is_nan() => ROLLS_AND_FAILS,
            _ if number.total_cmp(&100.0).is_eq() => ROLLS_AND_PASSES,
            _ => number,
        };
        Some(self.odd_probability(&node.shown(), exact))
    }

    /// A chance that is not a number; repaired where it cannot have been meant.
    fn odd_probability(&mut self, found: &str, exact: f64) -> f64 {
        let repaired = if (0.0..100.0).contains(&exact) && found != "null" { exact } else { 100.0 };
        let value = if self.repairs() { repaired } else { exact };
        let meaning = if value < 0.0 { "never".to_owned() } else { value.to_string() };
        self.notes.warn(
            Field::Probability.name(),
            format!(
                "must be a number where `useProbability` is set, found {found}: read as {meaning}"
            ),
        );
        value
    }

    fn sources(&mut self) -> MatchSources {
        MatchSources {
            persona: self.flag(Field::MatchPersonaDescription),
            description: self.flag(Field::MatchCharacterDescription),
            personality: self.flag(Field::MatchCharacterPersonality),
            depth_prompt: self.flag(Field::MatchCharacterDepthPrompt),
            scenario: self.flag(Field::MatchScenario),
            creator_notes: self.flag(Field::MatchCreatorNotes),
        }
    }

    fn filters(&mut self) -> Filters {
        let triggers = self.list(Field::Triggers);
        let Some(node) = self.given(Field::CharacterFilter) else {
            return Filters { triggers, ..Filters::default() };
        };
        if !node.is_object() {
            self.read_as(Field::CharacterFilter, node, "no filter");
            return Filters { triggers, ..Filters::default() };
        }
        let list = |key: &str| node.get(key).map_or(&[][..], Node::items);
        Filters {
            characters: self.items("characterFilter.names", list("names")),
            tags: self.items("characterFilter.tags", list("tags")),
            exclude: node.get("isExclude").is_some_and(js::truthy),
            triggers,
        }
    }

    fn recursion(&mut self) -> Recursion {
        let delay_level = self.delay_level();
        Recursion {
            exclude: self.flag(Field::ExcludeRecursion),
            prevent: self.flag(Field::PreventRecursion),
            delay_level,
            scan_lore: None,
        }
    }

    /// The recursion level that an entry waits for. Whatever is not nothing waits, for the
    /// first one where it is no level: none is below the first.
    fn delay_level(&mut self) -> u32 {
        let Some(node) = self.given(Field::DelayUntilRecursion) else { return 0 };
        if let Json::Bool(delayed) = node.value {
            return u32::from(delayed);
        }
        let waits = if self.repairs() { meant_as_true(node) } else { js::truthy(node) };
        let number = js::number(node);
        if waits && (number.is_nan() || number < 1.0) {
            self.read_as(Field::DelayUntilRecursion, node, 1);
            return 1;
        }
        self.count(Field::DelayUntilRecursion).unwrap_or(0)
    }

    fn group(&mut self) -> Group {
        Group {
            names: self.text(Field::Group),
            prioritize: self.flag(Field::GroupOverride),
            weight: self.number(Field::GroupWeight),
            use_scoring: self.choice(Field::UseGroupScoring),
        }
    }

    fn placement(&mut self, shape: Shape) -> Placement {
        Placement {
            position: self.position(shape),
            depth: self.depth(),
            role: self.role(),
            order: self.order(),
        }
    }

    fn position(&mut self, shape: Shape) -> Position {
        const NAME: &str = "position";
        let Some(node) = self.known.get(Field::Position) else {
            if shape == Shape::List {
                self.notes.info(NAME, "is missing: read as 0, before the character");
                return Position::BeforeCharacter;
            }
            self.notes.info(NAME, "is missing: the entry can activate but is inserted nowhere");
            return Position::Nowhere;
        };
        let spelled = match &node.value {
            Json::Number(_) => Some(js::number(node)),
            Json::String(text) => match named_position(text) {
                Some(position) if self.odd != OddValues::ToTheLetter => {
                    self.read_as(Field::Position, node, position);
                    Some(f64::from(position))
                }
                _ if self.repairs() => Some(js::number(node)),
                _ => None,
            },
            _ => None,
        };
        let number = (0..8).find(|number| spelled == Some(f64::from(*number)));
        match number {
            Some(7) => Position::Outlet(self.text(Field::OutletName)),
            Some(number) => position_of(number),
            None if self.repairs() => {
                self.read_as(Field::Position, node, "0, before the character");
                Position::BeforeCharacter
            }
            None => {
                self.read_as(Field::Position, node, "nowhere: the entry is not inserted");
                Position::Nowhere
            }
        }
    }

    fn depth(&mut self) -> Option<Depth> {
        let node = self.given(Field::Depth)?;
        let number = self.number(Field::Depth)?;
        let depth = whole(number);
        if number < 0.0 || number.fract() != 0.0 {
            self.read_as(Field::Depth, node, depth);
        }
        Some(Depth(depth))
    }

    fn role(&mut self) -> Option<Role> {
        let node = self.given(Field::Role)?;
        let number = match &node.value {
            Json::Number(_) => js::number(node),
            _ if self.repairs() => js::number(node),
            _ => f64::NAN,
        };
        let roles = [Role::System, Role::User, Role::Assistant];
        let role = listed(number, 3).map(|at| roles[at]);
        if role.is_none() {
            self.read_as(Field::Role, node, "system");
        }
        role
    }

    fn order(&mut self) -> Option<f64> {
        if let Some((_, node)) = self.other_name(Field::Order, &ORDER) {
            return Some(js::number(node)).filter(|number| number.is_finite());
        }
        match self.known.get(Field::Order) {
            // The program subtracts orders, and null counts as 0 there.
            Some(node) if node.is_null() => {
                let order = if self.repairs() { 100.0 } else { 0.0 };
                self.read_as(Field::Order, node, order);
                Some(order)
            }
            _ => self.number(Field::Order),
        }
    }

    fn rest(&mut self) -> EntryRest {
        EntryRest {
            automation_id: self.text(Field::AutomationId),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a place in the editor; the cast saturates"
            )]
            display_index: self.number(Field::DisplayIndex).map(|number| number as i64),
            add_memo: self.flag(Field::AddMemo),
            ..EntryRest::default()
        }
    }
}

/// The number as a place in a list of `count`, if it is exactly one.
fn listed(number: f64, count: u8) -> Option<usize> {
    (0..count).find(|known| f64::from(*known).total_cmp(&(number + 0.0)).is_eq()).map(usize::from)
}

/// The number behind a position's name in card books.
fn named_position(name: &str) -> Option<u8> {
    const NAMES: [&str; 8] = [
        "before_char",
        "after_char",
        "an_top",
        "an_bottom",
        "at_depth",
        "em_top",
        "em_bottom",
        "outlet",
    ];
    (0..8).zip(NAMES).find(|(_, known)| *known == name).map(|(number, _)| number)
}

/// The position of a number below 7.
fn position_of(number: u8) -> Position {
    match number {
        0 => Position::BeforeCharacter,
        1 => Position::AfterCharacter,
        2 => Position::NoteTop,
        3 => Position::NoteBottom,
        4 => Position::AtDepth { from: DepthFrom::Newest },
        5 => Position::ExamplesTop,
        6 => Position::ExamplesBottom,
        _ => Position::Nowhere,
    }
}
