//! Prompts that we build from a template and weave later: the prompt without injections, and
//! where they go.
//!
//! A story that is played here takes the same way as one of a front end: the prompt is there
//! first, then lore finds its place in it. So recognising is not needed, but everything after it
//! works the same: budgets, the prompt cache, cutting old messages, looking back.

use super::{Layout, MarkKind, PromptBlock, PromptForm, PromptMark, PromptTemplate, PromptTexts};
use crate::{chat::Role, prompt::PromptMessage};

/// What the chat of a prompt consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatPiece {
    /// The message.
    pub message: PromptMessage,
    /// Whether it is part of the story. Depth is counted in those.
    pub is_story: bool,
}

/// A prompt of a template without injections, and its layout. `after` are instructions that end
/// the prompt.
pub fn outline(
    template: &PromptTemplate,
    texts: &PromptTexts,
    chat: &[ChatPiece],
    after: &[PromptMessage],
) -> (Vec<PromptMessage>, Layout) {
    let mut outline = Outline::default();
    for block in template.blocks() {
        match block {
            PromptBlock::Main => outline.text(&texts.main, MarkKind::Head),
            PromptBlock::Persona => outline.text(&texts.card.persona, MarkKind::Head),
            PromptBlock::Description => outline.text(&texts.card.description, MarkKind::Head),
            PromptBlock::Personality => outline.text(&texts.card.personality, MarkKind::Head),
            PromptBlock::Scenario => outline.text(&texts.card.scenario, MarkKind::Head),
            PromptBlock::Examples => outline.text(&texts.examples, MarkKind::Example),
            PromptBlock::PostHistory => outline.text(&texts.post_history, MarkKind::Head),
            PromptBlock::Text(text) => outline.text(text, MarkKind::Head),
            PromptBlock::Off(_) => {}
            PromptBlock::Place(place) => {
                outline.layout.places.push((place.clone(), outline.prompt.len()));
            }
            PromptBlock::History => {
                outline.has_chat = true;
                for ChatPiece { message, is_story } in chat {
                    let kind = if *is_story { MarkKind::Story } else { MarkKind::Aside };
                    outline.push(message.clone(), kind);
                }
            }
        }
    }
    outline.has_chat = true;
    for message in after {
        outline.push(message.clone(), MarkKind::Aside);
    }
    (outline.prompt, outline.layout)
}

#[derive(Default)]
struct Outline {
    prompt: Vec<PromptMessage>,
    layout: Layout,
    /// Whether the chat has begun. What follows it is no head.
    has_chat: bool,
}

impl Outline {
    fn text(&mut self, text: &str, kind: MarkKind) {
        if text.trim().is_empty() {
            return;
        }
        let kind = if self.has_chat { MarkKind::Aside } else { kind };
        self.push(PromptMessage { role: Role::System, name: None, content: text.into() }, kind);
    }

    fn push(&mut self, message: PromptMessage, kind: MarkKind) {
        let at = self.prompt.len();
        let mark = PromptMark { message: at, range: None, role: message.role, kind };
        let marks = if self.has_chat { &mut self.layout.chat } else { &mut self.layout.head };
        marks.push(mark);
        self.prompt.push(message);
    }
}

impl Layout {
    /// The prompt for a server that wants one system message and then alternating roles. Later
    /// system messages become the user's, and messages of one role are joined.
    pub fn alternating(&self, prompt: &[PromptMessage]) -> (Vec<PromptMessage>, Self) {
        let mut merged: Vec<PromptMessage> = Vec::new();
        let mut spots: Vec<(usize, (usize, usize))> = Vec::with_capacity(prompt.len());
        for message in prompt {
            let begins = merged.iter().all(|one| one.role == Role::System);
            let role = match message.role {
                Role::System | Role::Tool if !begins => Role::User,
                role @ (Role::System | Role::User | Role::Assistant | Role::Tool) => role,
            };
            let at = merged.len();
            if let Some(last) = merged.last_mut().filter(|last| last.role == role) {
                let text = format!("{}\n\n{}", last.content, message.content);
                spots.push((at - 1, (text.len() - message.content.len(), text.len())));
                last.content = text.into();
            } else {
                spots.push((at, (0, message.content.len())));
                merged.push(PromptMessage { role, ..message.clone() });
            }
        }
        let moved = |marks: &[PromptMark]| -> Vec<PromptMark> {
            let marks = marks.iter().filter_map(|mark| {
                let (message, range) = *spots.get(mark.message)?;
                Some(PromptMark {
                    message,
                    range: Some(range),
                    role: merged[message].role,
                    ..*mark
                })
            });
            marks.collect()
        };
        let (head, chat) = (moved(&self.head), moved(&self.chat));
        let form = PromptForm::Alternating;
        let layout = Self { form, head, chat, places: Vec::new(), ..self.clone() };
        (merged, layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        assemble::build,
        place::{Injection, Place, Provenance},
        turn::CardTexts,
        units::{Depth, Tokens},
    };

    fn message(role: Role, text: &str) -> PromptMessage {
        PromptMessage { role, name: None, content: text.into() }
    }

    fn injection(place: Place, text: &str) -> Injection {
        Injection {
            place,
            role: Role::System,
            text: text.to_owned(),
            tokens: Tokens(1),
            source: Provenance::Memory(text.to_owned()),
        }
    }

    fn texts() -> PromptTexts {
        PromptTexts {
            main: "main".to_owned(),
            card: CardTexts { description: "card".to_owned(), ..CardTexts::default() },
            examples: "examples".to_owned(),
            post_history: "post".to_owned(),
            ..PromptTexts::default()
        }
    }

    fn history() -> Vec<PromptMessage> {
        vec![message(Role::Assistant, "1"), message(Role::User, "2"), message(Role::Assistant, "3")]
    }

    fn pieces() -> Vec<ChatPiece> {
        let piece = |message| ChatPiece { message, is_story: true };
        history().into_iter().map(piece).collect()
    }

    fn injections() -> Vec<Injection> {
        [
            (Place::BeforeMain, "before main"),
            (Place::AfterMain, "after main"),
            (Place::BeforeCharacter, "before"),
            (Place::AfterCharacter, "after"),
            (Place::BeforeExamples, "before examples"),
            (Place::AfterExamples, "after examples"),
            (Place::AtDepth(Depth(0)), "deep 0"),
            (Place::AtDepth(Depth(2)), "deep 2"),
        ]
        .map(|(place, text)| injection(place, text))
        .to_vec()
    }

    #[test]
    fn weaving_into_an_outline_gives_the_prompt_that_the_template_builds() {
        let names = "post-history history examples after-character description before-character \
            after-main main before-main";
        let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        let reversed = PromptTemplate::try_from(names);
        for template in [PromptTemplate::default(), reversed.unwrap()] {
            let injections: Vec<Injection> = injections()
                .into_iter()
                .filter(|one| {
                    let block = PromptBlock::Place(one.place.clone());
                    one.place.depth().is_some() || template.blocks().contains(&block)
                })
                .collect();
            let (prompt, layout) = outline(&template, &texts(), &pieces(), &[]);
            let woven = layout.plan(&prompt, &injections).apply(prompt);
            let built = build(&template, &texts(), &history(), &injections);
            assert_eq!(woven.messages, built.messages);
        }
    }

    #[test]
    fn own_texts_and_memory_tiers_are_blocks_and_one_that_is_off_is_not_there() {
        let names = ["text:Be brief.", "slot:scenes", "off:main", "history", "description"];
        let template = PromptTemplate::try_from(names.map(str::to_owned).to_vec()).unwrap();
        let tier = Injection {
            source: Provenance::Memory("scenes".to_owned()),
            ..injection(Place::AtDepth(Depth(1)), "The inn.")
        };
        let injections = [tier, injection(Place::AtDepth(Depth(1)), "deep")];
        let (prompt, layout) = outline(&template, &texts(), &pieces(), &[]);
        let woven = layout.plan(&prompt, &injections).apply(prompt);
        let read: Vec<&str> = woven.messages.iter().map(|one| one.content.as_str()).collect();
        assert_eq!(read, ["Be brief.", "The inn.", "1", "2", "deep", "3", "card"]);
        assert_eq!(build(&template, &texts(), &history(), &injections).messages, woven.messages);
    }

    #[test]
    fn a_server_with_strict_roles_gets_one_system_message_and_alternating_roles() {
        let nudge = [message(Role::System, "go on")];
        let (prompt, layout) = outline(&PromptTemplate::default(), &texts(), &pieces(), &nudge);
        let (prompt, layout) = layout.alternating(&prompt);
        let woven = layout.plan(&prompt, &injections()).apply(prompt);
        let roles: Vec<Role> = woven.messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::System, Role::Assistant, Role::User, Role::Assistant, Role::User]);
        assert!(woven.messages[0].content.starts_with("before main\n\nmain"));
        for injection in injections() {
            let found = woven.messages.iter().filter(|one| one.content.contains(&injection.text));
            assert_eq!(found.count(), 1, "{}", injection.text);
        }
        assert!(woven.messages[4].content.ends_with("go on"));
    }
}
