//! Prompts that we build ourselves: an ordered list of named blocks.

use serde::{Deserialize, Serialize};

use super::{Assembled, Joined, inside::by_depth};
use crate::{
    chat::Role,
    macros::MacroValues,
    place::{Injection, LOREBOOK_SLOT, Place},
    prompt::PromptMessage,
    turn::CardTexts,
    units::Depth,
};

/// The order of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromptTemplate(pub Vec<PromptBlock>);

/// A block of a prompt. Each that has text becomes a message of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    for block in &template.0 {
        match block {
            PromptBlock::Main => assembled.push_text(&texts.main),
            PromptBlock::Persona => assembled.push_text(&texts.card.persona),
            PromptBlock::Description => assembled.push_text(&texts.card.description),
            PromptBlock::Personality => assembled.push_text(&texts.card.personality),
            PromptBlock::Scenario => assembled.push_text(&texts.card.scenario),
            PromptBlock::Examples => assembled.push_text(&texts.examples),
            PromptBlock::PostHistory => assembled.push_text(&texts.post_history),
            PromptBlock::Place(place) => {
                let here = injections.iter().filter(|injection| injection.place == *place);
                if *place == Place::Slot(LOREBOOK_SLOT.to_owned()) {
                    for injection in here {
                        assembled.push_joined(injection.role, &Joined::of([injection]));
                    }
                } else {
                    let joined = Joined::of(here);
                    let lore = matches!(place, Place::BeforeCharacter | Place::AfterCharacter);
                    let format = if lore { texts.lore_format.as_str() } else { "" };
                    assembled.push_joined(Role::System, &joined.formatted(format));
                }
            }
            PromptBlock::History => assembled.push_history(history, injections),
        }
    }
    assembled
}

impl Assembled {
    fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            let content = text.into();
            self.messages.push(PromptMessage { role: Role::System, name: None, content });
        }
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
