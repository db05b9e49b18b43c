//! Prompts that we build ourselves: an ordered list of named blocks.

use serde::{Deserialize, Serialize};

use super::{
    Assembled, Joined,
    inside::by_depth,
    markers::{expanded, filled_text, is_asked_for},
    places::in_block,
};
use crate::{
    chat::Role,
    macros::MacroValues,
    place::{Injection, LOREBOOK_SLOT, Place},
    prompt::PromptMessage,
    turn::CardTexts,
    units::Depth,
};

/// The order of a prompt: each block once, the chat among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct PromptTemplate(pub(super) Vec<PromptBlock>);

/// A block of a prompt. Each that has text becomes a message of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptBlock {
    /// The main prompt.
    Main,
    /// Whatever is injected at this place.
    Place(Place),
    /// The persona's description.
    Persona,
    /// The character's description.
    Description,
    /// The character's personality.
    Personality,
    /// The scenario.
    Scenario,
    /// Example messages.
    Examples,
    /// The chat, with what is injected at depth.
    History,
    /// Instructions after the chat.
    PostHistory,
    /// A text of the template's own, with macros.
    Text(String),
    /// A block that is switched off and keeps its place in the list.
    Off(Box<PromptBlock>),
}

impl Default for PromptTemplate {
    fn default() -> Self {
        Self(vec![
            PromptBlock::Place(Place::BeforeMain),
            PromptBlock::Main,
            PromptBlock::Place(Place::AfterMain),
            PromptBlock::Place(Place::Slot(LOREBOOK_SLOT.to_owned())),
            PromptBlock::Place(Place::BeforeCharacter),
            PromptBlock::Persona,
            PromptBlock::Description,
            PromptBlock::Personality,
            PromptBlock::Scenario,
            PromptBlock::Place(Place::AfterCharacter),
            PromptBlock::Place(Place::BeforeExamples),
            PromptBlock::Examples,
            PromptBlock::Place(Place::AfterExamples),
            PromptBlock::History,
            PromptBlock::PostHistory,
        ])
    }
}

impl PromptTemplate {
    /// The blocks, in order.
    pub fn blocks(&self) -> &[PromptBlock] {
        &self.0
    }

    /// The template with the macros of its own texts replaced.
    #[must_use]
    pub fn expanded(&self, macros: &MacroValues<'_>) -> Self {
        let expand = |block: &PromptBlock| match block {
            PromptBlock::Text(text) => PromptBlock::Text(expanded(text, macros)),
            PromptBlock::Main
            | PromptBlock::Place(_)
            | PromptBlock::Persona
            | PromptBlock::Description
            | PromptBlock::Personality
            | PromptBlock::Scenario
            | PromptBlock::Examples
            | PromptBlock::History
            | PromptBlock::PostHistory
            | PromptBlock::Off(_) => block.clone(),
        };
        Self(self.0.iter().map(expand).collect())
    }

    /// Whether it is the default one.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Where the slot of card books is in a prompt that somebody else built; `None` if it is
    /// behind the main prompt.
    pub fn slot_place(&self) -> Option<Place> {
        let slot = PromptBlock::Place(Place::Slot(LOREBOOK_SLOT.to_owned()));
        let at = self.0.iter().position(|block| *block == slot)?;
        let place = self.0[..at].iter().rev().find_map(|block| match block {
            PromptBlock::Main => Some(Place::AfterMain),
            PromptBlock::Persona
            | PromptBlock::Description
            | PromptBlock::Personality
            | PromptBlock::Scenario => Some(Place::AfterCharacter),
            PromptBlock::Examples => Some(Place::AfterExamples),
            PromptBlock::History | PromptBlock::PostHistory => Some(Place::AtDepth(Depth(0))),
            PromptBlock::Place(_) | PromptBlock::Text(_) | PromptBlock::Off(_) => None,
        });
        Some(place.unwrap_or(Place::BeforeMain)).filter(|place| *place != Place::AfterMain)
    }

    /// Whether a text goes to a block of its own before the chat although it names none: texts of
    /// places that the template leaves out are not lost.
    fn is_left_over(&self, injection: &Injection) -> bool {
        let is_known = match &injection.place {
            Place::BeforeMain
            | Place::AfterMain
            | Place::BeforeCharacter
            | Place::AfterCharacter
            | Place::BeforeExamples
            | Place::AfterExamples => true,
            Place::Slot(name) => name == LOREBOOK_SLOT,
            Place::NoteTop | Place::NoteBottom | Place::AtDepth(_) | Place::Outlet(_) => false,
        };
        let block = PromptBlock::Place(injection.place.clone());
        is_known && !self.0.contains(&block)
    }
}

/// The texts a template puts in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptTexts {
    /// The main prompt.
    pub main: String,
    /// The card.
    pub card: CardTexts,
    /// Example messages.
    pub examples: String,
    /// Instructions after the chat.
    pub post_history: String,
    /// What surrounds the lore before and after the character: `{0}` is the lore. A blank
    /// one leaves it as it is.
    pub lore_format: String,
}

impl PromptTexts {
    /// The text of a block; `None` for lore and history, which are not texts of their own.
    fn of_block<'a>(&'a self, block: &'a PromptBlock) -> Option<&'a str> {
        Some(match block {
            PromptBlock::Main => &self.main,
            PromptBlock::Persona => &self.card.persona,
            PromptBlock::Description => &self.card.description,
            PromptBlock::Personality => &self.card.personality,
            PromptBlock::Scenario => &self.card.scenario,
            PromptBlock::Examples => &self.examples,
            PromptBlock::PostHistory => &self.post_history,
            PromptBlock::Text(text) => text,
            PromptBlock::Place(_) | PromptBlock::History | PromptBlock::Off(_) => return None,
        })
    }

    /// The texts with their macros replaced. Markers stay, so that lore can take their places.
    #[must_use]
    pub fn expanded(&self, macros: &MacroValues<'_>) -> Self {
        let expand = |text: &str| expanded(text, macros);
        Self {
            main: expand(&self.main),
            card: CardTexts {
                persona: expand(&self.card.persona),
                description: expand(&self.card.description),
                personality: expand(&self.card.personality),
                depth_prompt: expand(&self.card.depth_prompt),
                scenario: expand(&self.card.scenario),
                creator_notes: expand(&self.card.creator_notes),
            },
            examples: expand(&self.examples),
            post_history: expand(&self.post_history),
            lore_format: self.lore_format.clone(),
        }
    }
}

/// Builds a prompt.
pub fn build(
    template: &PromptTemplate,
    texts: &PromptTexts,
    history: &[PromptMessage],
    injections: &[Injection],
) -> Assembled {
    let mut assembled = Assembled { messages: Vec::new(), spans: Vec::new() };
    let has_block = |place: &Place| template.0.contains(&PromptBlock::Place(place.clone()));
    let injections: Vec<Injection> =
        injections.iter().map(|one| in_block(one, has_block).into_owned()).collect();
    // A marker in a text that the template leaves out takes no lore: it would go nowhere.
    let marked: Vec<&str> = template.0.iter().filter_map(|block| texts.of_block(block)).collect();
    let (asked, free): (Vec<Injection>, Vec<Injection>) =
        injections.into_iter().partition(|one| is_asked_for(one, &marked));
    let (left_over, free): (Vec<Injection>, Vec<Injection>) =
        free.into_iter().partition(|one| template.is_left_over(one));
    for block in &template.0 {
        match block {
            PromptBlock::Place(place) => assembled.push_place(place, &texts.lore_format, &free),
            PromptBlock::History => {
                for injection in &left_over {
                    assembled.push_joined(injection.role, &Joined::of([injection]));
                }
                assembled.push_history(history, &free);
            }
            PromptBlock::Off(_) => {}
            PromptBlock::Main
            | PromptBlock::Persona
            | PromptBlock::Description
            | PromptBlock::Personality
            | PromptBlock::Scenario
            | PromptBlock::Examples
            | PromptBlock::PostHistory
            | PromptBlock::Text(_) => {
                assembled.push_text(texts.of_block(block).unwrap_or_default(), &asked);
            }
        }
    }
    assembled
}

impl Assembled {
    /// A text, with its markers filled.
    fn push_text(&mut self, text: &str, asked: &[Injection]) {
        for (role, message) in filled_text(text, asked) {
            self.push_joined(role, &message);
        }
    }

    fn push_place(&mut self, place: &Place, lore_format: &str, injections: &[Injection]) {
        let here = injections.iter().filter(|injection| injection.place == *place);
        if *place == Place::Slot(LOREBOOK_SLOT.to_owned()) {
            for injection in here {
                self.push_joined(injection.role, &Joined::of([injection]));
            }
            return;
        }
        let lore = matches!(place, Place::BeforeCharacter | Place::AfterCharacter);
        let format = if lore { lore_format } else { "" };
        self.push_joined(Role::System, &Joined::of(here).formatted(format));
    }

    fn push_joined(&mut self, role: Role, joined: &Joined) {
        if !joined.text.is_empty() {
            self.spans.extend(joined.spans(self.messages.len(), 0));
            let content = joined.text.as_str().into();
            self.messages.push(PromptMessage { role, name: None, content });
        }
    }

    fn push_history(&mut self, history: &[PromptMessage], injections: &[Injection]) {
        let inside = by_depth(injections);
        for at in 0..=history.len() {
            let before = |depth: Depth| history.len().saturating_sub(depth.0 as usize);
            for (_, role, joined) in inside.iter().filter(|(depth, _, _)| before(*depth) == at) {
                self.push_joined(*role, joined);
            }
            self.messages.extend(history.get(at).cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{place::Provenance, units::Tokens};

    #[test]
    fn an_outlet_goes_where_a_text_of_the_prompt_asks_for_it() {
        let outlet = |name: &str| Injection {
            place: Place::Outlet(name.to_owned()),
            role: Role::System,
            text: format!("lore of {name}"),
            tokens: Tokens(1),
            source: Provenance::Memory(name.to_owned()),
        };
        let texts = PromptTexts {
            main: "{{user}} sees: {{outlet::spot}}.{{outlet::none}}".to_owned(),
            card: CardTexts {
                description: "{{char}} {{outlet::own}}".into(),
                ..CardTexts::default()
            },
            ..PromptTexts::default()
        };
        let macros = MacroValues { user: "Ann", char: "Bo", ..MacroValues::default() };
        let template = PromptTemplate::default();
        let injections = [outlet("spot"), outlet("own"), outlet("unasked")];
        let built = build(&template, &texts.expanded(&macros), &[], &injections);
        let read: Vec<&str> = built.messages.iter().map(|one| one.content.as_str()).collect();
        assert_eq!(read, ["Ann sees: lore of spot.", "Bo lore of own"]);
    }

    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    #[test]
    fn blocks_stand_in_order_and_empty_ones_are_left_out() {
        let injection = |place: Place, role: Role, text: &str| Injection {
            place,
            role,
            text: text.to_owned(),
            tokens: Tokens(1),
            source: Provenance::Memory(text.to_owned()),
        };
        let message =
            |role: Role, text: &str| PromptMessage { role, name: None, content: text.into() };
        let texts = PromptTexts {
            main: "main".to_owned(),
            card: CardTexts { description: "card".to_owned(), ..CardTexts::default() },
            post_history: "post".to_owned(),
            ..PromptTexts::default()
        };
        let history =
            [message(Role::User, "1"), message(Role::Assistant, "2"), message(Role::User, "3")];
        let injections = [
            injection(Place::BeforeCharacter, Role::System, "before"),
            injection(Place::AfterCharacter, Role::System, "after"),
            injection(Place::AtDepth(Depth(1)), Role::User, "deep"),
            injection(Place::AtDepth(Depth(1)), Role::System, "deep too"),
            injection(Place::AtDepth(Depth(0)), Role::Assistant, "last"),
        ];
        let built = build(&PromptTemplate::default(), &texts, &history, &injections);
        let read: Vec<(&str, &str)> = built
            .messages
            .iter()
            .map(|message| (message.role.as_str(), message.content.as_str()))
            .collect();
        assert_eq!(
            read,
            [
                ("system", "main"),
                ("system", "before"),
                ("system", "card"),
                ("system", "after"),
                ("user", "1"),
                ("assistant", "2"),
                ("user", "deep"),
                ("system", "deep too"),
                ("user", "3"),
                ("assistant", "last"),
                ("system", "post"),
            ]
        );
        for span in &built.spans {
            let Provenance::Memory(text) = &span.source else { continue };
            assert_eq!(&built.messages[span.message].content[span.start..span.end], text);
        }
        assert_eq!(built.spans.len(), injections.len());
        for (format, before) in [
            (" ", Some("before")),
            ("[{0}]", Some("[before]")),
            ("a {0} b {0}", Some("a before b before")),
            ("lost", Some("lost")),
        ] {
            let texts = PromptTexts { lore_format: format.to_owned(), ..texts.clone() };
            let built = build(&PromptTemplate::default(), &texts, &history, &injections);
            assert_eq!(built.messages.get(1).map(|one| one.content.as_str()), before, "{format}");
            for span in &built.spans {
                let Provenance::Memory(text) = &span.source else { continue };
                assert_eq!(&built.messages[span.message].content[span.start..span.end], text);
            }
            let none = build(&PromptTemplate::default(), &texts, &history, &[]);
            assert_eq!(none.messages[1].content, "card", "{format}");
        }
    }

    #[test]
    fn a_marker_in_a_text_that_is_left_out_takes_no_lore() {
        let place = Place::Slot(LOREBOOK_SLOT.to_owned());
        let injection = Injection {
            place: place.clone(),
            role: Role::System,
            text: "The bell is cracked.".to_owned(),
            tokens: Tokens(5),
            source: Provenance::Memory("bell".to_owned()),
        };
        let texts = PromptTexts {
            main: "main".to_owned(),
            card: CardTexts {
                personality: "{{loreloom::lorebook}}".to_owned(),
                ..CardTexts::default()
            },
            ..PromptTexts::default()
        };
        let read = |blocks: Vec<PromptBlock>| -> Vec<String> {
            let built =
                build(&PromptTemplate(blocks), &texts, &[], std::slice::from_ref(&injection));
            built.messages.iter().map(|message| message.content.to_string()).collect()
        };
        let slot = PromptBlock::Place(place.clone());
        let without = read(vec![PromptBlock::Main, slot.clone()]);
        assert_eq!(without, ["main", "The bell is cracked."]);
        let with = read(vec![slot, PromptBlock::Personality, PromptBlock::Main]);
        assert_eq!(with, ["The bell is cracked.", "main"]);
    }
}
