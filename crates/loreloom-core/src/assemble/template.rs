//! Prompts that we build ourselves: an ordered list of named blocks.

use serde::{Deserialize, Serialize};

use super::{
    Assembled, Joined,
    inside::by_depth,
    markers::{filled_text, is_asked_for},
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
            PromptBlock::Place(_) => None,
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
    /// The texts that may have markers.
    fn all(&self) -> [&str; 7] {
        let CardTexts { persona, description, personality, scenario, .. } = &self.card;
        let (examples, post_history) = (&self.examples, &self.post_history);
        [&self.main, persona, description, personality, scenario, examples, post_history]
    }

    /// The texts with their macros replaced.
    #[must_use]
    pub fn expanded(&self, macros: &MacroValues<'_>) -> Self {
        let expand = |text: &str| macros.expand(text).into_owned();
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
    let marked = texts.all();
    let (asked, free): (Vec<Injection>, Vec<Injection>) =
        injections.iter().cloned().partition(|one| is_asked_for(one, &marked));
    let (left_over, free): (Vec<Injection>, Vec<Injection>) =
        free.into_iter().partition(|one| template.is_left_over(one));
    for block in &template.0 {
        match block {
            PromptBlock::Main => assembled.push_text(&texts.main, &asked),
            PromptBlock::Persona => assembled.push_text(&texts.card.persona, &asked),
            PromptBlock::Description => assembled.push_text(&texts.card.description, &asked),
            PromptBlock::Personality => assembled.push_text(&texts.card.personality, &asked),
            PromptBlock::Scenario => assembled.push_text(&texts.card.scenario, &asked),
            PromptBlock::Examples => assembled.push_text(&texts.examples, &asked),
            PromptBlock::PostHistory => assembled.push_text(&texts.post_history, &asked),
            PromptBlock::Place(place) => assembled.push_place(place, &texts.lore_format, &free),
            PromptBlock::History => {
                for injection in &left_over {
                    assembled.push_joined(injection.role, &Joined::of([injection]));
                }
                assembled.push_history(history, &free);
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
}
