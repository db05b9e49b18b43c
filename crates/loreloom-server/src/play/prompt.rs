//! The prompt of a played turn: the blocks of the prompt template, filled with card and persona.

use loreloom_core::{
    assemble::{ChatPiece, Layout, PromptTemplate, PromptTexts, outline},
    chat::{GenerationType, Message, Role},
    macros::MacroValues,
    prompt::PromptMessage,
    turn::CardTexts,
};
use loreloom_formats::{Card, DepthPrompt};
use serde_json::{Map, Value, json};

use super::{
    setup::{KeptStory, ModelChoice},
    story_cast::{Player, StoryCast},
};

/// The main prompt of a story with characters. The storyteller that is built in reads the names
/// out of it.
const MAIN: &str = "You are {{char}}. Write {{char}}'s next reply in a chat between {{char}} and \
    {{user}}. Stay in character, move the story on, and leave the words and choices of {{user}} to \
    {{user}}.";

/// The main prompt of a story without a card.
const NARRATOR: &str = "You are the narrator of a story. {{user}} plays one of its people. Tell \
    what happens next in the second person, speak for everybody else, and leave the words and \
    choices of {{user}} to {{user}}.";

/// Asks one character of a group to speak.
const ONLY: &str = "Now reply only as {{char}}.";

/// Asks for the rest of the last message.
const GO_ON: &str = "Continue the last message from where it ends. Repeat nothing of it, and do \
    not begin a new message.";

/// Asks for a message of the user.
const AS_USER: &str = "Now write the next message of {{user}}, in the voice of {{user}}. Write for \
    nobody else.";

/// What a prompt is built from.
pub(crate) struct PromptRequest<'a> {
    /// Everybody who takes part.
    pub(crate) cast: &'a StoryCast,
    /// Who speaks; nobody for a narrator.
    pub(crate) player: Option<&'a Player>,
    /// The messages of the story.
    pub(crate) messages: Vec<Message>,
    /// What is asked for.
    pub(crate) generation: GenerationType,
    /// The texts of card and persona.
    pub(crate) card: &'a CardTexts,
}

/// A prompt without lore.
pub(crate) struct PlayedPrompt {
    /// The messages.
    pub(crate) prompt: Vec<PromptMessage>,
    /// What they are.
    pub(crate) layout: Layout,
}

impl PromptRequest<'_> {
    /// Builds the prompt. `strict` is for servers whose roles must alternate.
    pub(crate) fn build(
        &self,
        template: &PromptTemplate,
        macros: &MacroValues<'_>,
        strict: bool,
    ) -> PlayedPrompt {
        let texts = self.texts().expanded(macros);
        let expand = |text: &str| macros.expand(text).into_owned();
        let after: Vec<PromptMessage> =
            self.nudge().map(|text| system(expand(text))).into_iter().collect();
        let template = template.expanded(macros);
        let (prompt, mut layout) = outline(&template, &texts, &self.chat(&expand), &after);
        layout.continues = self.generation == GenerationType::Continue;
        if strict {
            let (prompt, layout) = layout.alternating(&prompt);
            return PlayedPrompt { prompt, layout };
        }
        PlayedPrompt { prompt, layout }
    }

    /// The texts of the blocks.
    fn texts(&self) -> PromptTexts {
        let KeptStory { main, post_history, .. } = &self.cast.setup;
        let card: Option<&Card> = self.player.map(|player| &player.card);
        let usual = if card.is_some() { MAIN } else { NARRATOR };
        let said = |text: &str| (!text.trim().is_empty()).then(|| text.to_owned());
        let original = |text: String, usual: &str| text.replace("{{original}}", usual);
        let of_card = card.and_then(|card| said(&card.system_prompt));
        let main = main.as_deref().and_then(said).or(of_card);
        let of_card = card.and_then(|card| said(&card.post_history_instructions));
        let post = post_history.as_deref().and_then(said).or(of_card).unwrap_or_default();
        let examples = card.map_or("", |card| card.mes_example.as_str()).trim();
        let examples = examples.replace("<START>", "Example messages:");
        PromptTexts {
            main: main.map_or_else(|| usual.to_owned(), |main| original(main, usual)),
            card: self.card.clone(),
            examples,
            post_history: original(post, ""),
            lore_format: String::new(),
        }
    }

    /// What ends the prompt.
    fn nudge(&self) -> Option<&'static str> {
        match self.generation {
            GenerationType::Continue => Some(GO_ON),
            GenerationType::Impersonate => Some(AS_USER),
            GenerationType::Normal
            | GenerationType::Swipe
            | GenerationType::Regenerate
            | GenerationType::Quiet
            | GenerationType::Edit => {
                (self.cast.is_group() && self.player.is_some()).then_some(ONLY)
            }
        }
    }

    /// The chat, with the note of the card at its depth.
    fn chat(&self, expand: &impl Fn(&str) -> String) -> Vec<ChatPiece> {
        let seen = self.messages.iter().filter(|message| !message.hidden);
        let is_group = self.cast.is_group();
        let mut chat: Vec<ChatPiece> = seen
            .map(|message| ChatPiece { message: sent(message, is_group), is_story: true })
            .collect();
        let note = self.player.and_then(|player| player.card.depth_prompt.as_ref());
        if let Some(DepthPrompt { prompt, depth, role, .. }) =
            note.filter(|note| !note.prompt.trim().is_empty())
        {
            let role = match role.as_str() {
                "user" => Role::User,
                "assistant" => Role::Assistant,
                _ => Role::System,
            };
            let at = chat.len().saturating_sub(*depth as usize);
            let message = PromptMessage { role, name: None, content: expand(prompt).into() };
            chat.insert(at, ChatPiece { message, is_story: false });
        }
        chat
    }
}

fn system(text: String) -> PromptMessage {
    PromptMessage { role: Role::System, name: None, content: text.into() }
}

/// Whether a message is a narrator's: a line of the story that nobody speaks.
pub(crate) fn is_narrator(message: &Message) -> bool {
    let kind = message.extensions.get("extra").and_then(|extra| extra.get("type"));
    message.role == Role::System || kind.and_then(Value::as_str) == Some("narrator")
}

/// A narrator's line. It is scanned as every message is.
pub(crate) fn narrator_line(name: Option<&str>, text: &str) -> Message {
    let name = name.filter(|name| !name.is_empty()).unwrap_or("Narrator");
    let mut message = Message::new(Role::Assistant, Some(name), text);
    let mark: Map<String, Value> =
        [("extra".to_owned(), json!({ "type": "narrator" }))].into_iter().collect();
    message.extensions = mark.into();
    message
}

/// A message as the model gets it. In a group the names of the speakers are in the text: not
/// every server has a field for them.
fn sent(message: &Message, is_group: bool) -> PromptMessage {
    if is_narrator(message) {
        return system(message.text.to_string());
    }
    let name = message.name.as_deref().filter(|_| is_group);
    let content = match name {
        Some(name) => format!("{name}: {}", message.text),
        None => message.text.to_string(),
    };
    PromptMessage { role: message.role, name: None, content: content.into() }
}

impl PlayedPrompt {
    /// The body of the request, in OpenAI's form.
    pub(crate) fn body(&self, choice: &ModelChoice, seed: Option<u64>) -> Value {
        let messages: Vec<Value> = self
            .prompt
            .iter()
            .map(|one| json!({ "role": one.role.as_str(), "content": one.content.as_str() }))
            .collect();
        let mut body = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                body.insert(name.to_owned(), value);
            }
        };
        put("model", choice.model.as_ref().map(|model| json!(model)));
        put("messages", Some(json!(messages)));
        put("stream", Some(json!(true)));
        put("temperature", choice.temperature.map(|value| json!(value)));
        put("top_p", choice.top_p.map(|value| json!(value)));
        put("min_p", choice.min_p.map(|value| json!(value)));
        put("max_tokens", choice.max_tokens.map(|value| json!(value)));
        put("stop", (!choice.stop.is_empty()).then(|| json!(choice.stop)));
        put("reasoning_effort", choice.effort.as_ref().map(|value| json!(value)));
        put("seed", seed.map(|value| json!(value)));
        Value::Object(body)
    }
}
