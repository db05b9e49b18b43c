//! Played: a turn of a story that is played here. Nothing is recognised, because everything is
//! known.

use std::sync::Arc;

use loreloom_core::{
    assemble::Layout,
    chat::{GenerationType, Message, Path, Role, identity::without_speaker},
    prompt::PromptMessage,
    state::StoryState,
    turn::{CardTexts, Speaker, StoryContext, TurnInput},
};
use loreloom_ports::StoreError;
use loreloom_recognise::Answer;

use super::{Turns, body::RequestBody, recognise::RecognisedTurn, story::TurnStory};
use crate::connections::ModelRoute;

/// What is known about a turn before its request is read.
#[derive(Clone, Debug)]
pub(crate) struct PlayedTurn {
    /// The messages, the newest included.
    pub(crate) path: Path,
    /// The prompt without lore.
    pub(crate) prompt: Vec<PromptMessage>,
    /// What its parts are.
    pub(crate) layout: Layout,
    /// What is asked for.
    pub(crate) generation: GenerationType,
    /// The user's name.
    pub(crate) user: String,
    /// Who speaks next.
    pub(crate) speaker: Option<Speaker>,
    /// The texts of card and persona.
    pub(crate) card: CardTexts,
    /// The group's name.
    pub(crate) group: Option<String>,
    /// What the story states besides its messages.
    pub(crate) stated: StoryContext,
}

impl PlayedTurn {
    /// The text that memory gets as the card.
    pub(super) fn card_text(&self) -> String {
        let CardTexts { description, personality, scenario, .. } = &self.card;
        [description, personality, scenario].map(String::as_str).join("\n")
    }
}

/// The story and input of a played turn, in the form that a recognised one has.
pub(super) async fn story_of(
    turns: &Turns,
    played: &PlayedTurn,
    body: &RequestBody,
    route: &ModelRoute,
) -> Result<(Layout, Option<RecognisedTurn>), StoreError> {
    let earlier = played.path.items().split_last().map_or(&[][..], |(_, earlier)| earlier);
    let earlier = earlier.iter().map(|item| item.message.clone());
    let before = Path::of(played.path.chat().clone(), earlier);
    let state = match turns.store.state(&turns.tenant, &before).await {
        Err(StoreError::NoChat { .. }) => StoryState::default(),
        state => state?,
    };
    let story = TurnStory::new(turns, played.path.clone(), state, played.stated.clone());
    let (card, awaited) = (Arc::from(played.card_text()), Some(AwaitedReply::of(played)));
    let story = Box::new(TurnStory { card, awaited, ..story });
    let defaults = &turns.settings.now().defaults;
    let input = TurnInput {
        generation: played.generation,
        context: body.limits.context.unwrap_or(route.context),
        context_stated: body.limits.context.is_some() || route.context_stated,
        reply_tokens: body.limits.reply,
        seed: defaults.seed,
        user: played.user.clone(),
        speaker: played.speaker.clone(),
        card: played.card.clone(),
        group: played.group.clone(),
        // A message of the user is only proposed.
        dry_run: played.generation == GenerationType::Impersonate,
        ..TurnInput::default()
    };
    let input = story.complete(input, turns.clock.now(), None);
    Ok((played.layout.clone(), Some((story, input))))
}

/// How the reply to a played turn becomes a message.
#[derive(Clone, Debug)]
pub(crate) struct AwaitedReply {
    generation: GenerationType,
    user: String,
    speaker: Option<String>,
    /// The newest message, which a reply may continue.
    last: Option<Message>,
}

impl AwaitedReply {
    /// The reply to a turn.
    pub(super) fn of(played: &PlayedTurn) -> Self {
        Self {
            generation: played.generation,
            user: played.user.clone(),
            speaker: played.speaker.as_ref().map(|speaker| speaker.name.clone()),
            last: played.path.items().last().map(|item| item.message.clone()),
        }
    }

    /// The message of a reply. Models that write the name of the speaker first are read without.
    pub(super) fn answer(&self, text: &str) -> Answer {
        let is_user = self.generation == GenerationType::Impersonate;
        let name = if is_user { Some(self.user.as_str()) } else { self.speaker.as_deref() };
        let text = without_speaker(text, name).trim_start();
        let last = self.last.as_ref().filter(|_| self.generation == GenerationType::Continue);
        if let Some(last) = last {
            let whole = format!("{}{}", last.text, joined(&last.text, text));
            let message = Message { text: whole.into(), ..last.clone() };
            return Answer { message, replaces: true };
        }
        let message = Message::new(Role::Assistant, name, text);
        Answer { message, replaces: false }
    }
}

/// The rest of a message, with a space where one is missing: models leave out what they would
/// write before a word.
fn joined(before: &str, rest: &str) -> String {
    let is_word = |one: char| one.is_alphanumeric() || "\"“„'*([".contains(one);
    let ends = before.chars().next_back().is_none_or(char::is_whitespace);
    let begins = rest.chars().next().is_some_and(is_word);
    if ends || !begins { rest.to_owned() } else { format!(" {rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited(generation: GenerationType, last: &str) -> AwaitedReply {
        AwaitedReply {
            generation,
            user: "Mira".to_owned(),
            speaker: Some("Orla".to_owned()),
            last: Some(Message::new(Role::Assistant, Some("Orla"), last)),
        }
    }

    #[test]
    fn a_reply_is_the_speakers_without_its_name() {
        for (reply, text) in [("Orla: Hm.", "Hm."), (" Hm.", "Hm."), ("Orlando: x", "Orlando: x")] {
            let Answer { message, replaces } =
                awaited(GenerationType::Normal, "Before.").answer(reply);
            assert_eq!((message.text.as_str(), replaces), (text, false));
            assert_eq!(message.name.as_deref(), Some("Orla"));
        }
    }

    #[test]
    fn a_continued_message_is_one_message_with_its_space() {
        for (last, reply, whole) in [
            ("She waits", "and waits.", "She waits and waits."),
            ("She waits", ", then goes.", "She waits, then goes."),
            ("She waits. ", "Then goes.", "She waits. Then goes."),
            ("She waits.", "\"Well?\"", "She waits. \"Well?\""),
        ] {
            let Answer { message, replaces } =
                awaited(GenerationType::Continue, last).answer(reply);
            assert_eq!((message.text.as_str(), replaces), (whole, true));
        }
    }
}
