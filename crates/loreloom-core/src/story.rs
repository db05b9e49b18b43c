//! The engine's front door: lorebooks and messages in, a prompt and its reasons out.
//!
//! An [`Engine`] is compiled once from books. A [`Story`] grows message by message and keeps its
//! timed effects; [`Story::weave`] decides what the model must know for the next reply. For
//! everything that a front end may state about a turn (card texts, generation type, group …) set
//! the fields of [`Story::input`].

use std::sync::Arc;

use crate::{
    assemble::{Assembled, PromptTemplate, PromptTexts, build},
    book::Book,
    chat::Message,
    engine::Decision,
    explain::Fix,
    ids::{ChatId, EntryId},
    library::{ActiveEntries, Library, LibrarySource},
    place::Injection,
    prompt::PromptMessage,
    replay::{Replay, ReplayLore},
    report::{Verdict, words},
    rules::Rules,
    state::StoryState,
    tokens::{ByteEstimate, TokenCounter},
    turn::{Speaker, TurnInput},
    units::Tokens,
};

/// The context size that a story has until it is set.
const DEFAULT_CONTEXT: Tokens = Tokens(8192);

/// Compiled lore and the rules it is woven by. It never changes, so stories can share it.
pub struct Engine {
    library: Library,
    active: ActiveEntries,
    rules: Rules,
    counter: Box<dyn TokenCounter>,
}

impl Engine {
    /// An engine over World Info books, with Loreloom's own rules.
    pub fn new(books: impl IntoIterator<Item = Book>) -> Self {
        let books = books.into_iter().map(Arc::new);
        Self::from_source(&LibrarySource::world_info(books, Rules::default()))
    }

    /// An engine over books of any dialect, vault notes and rules.
    pub fn from_source(source: &LibrarySource) -> Self {
        let library = source.compile();
        Self {
            active: ActiveEntries::all(&library, source.rules.world_info.strategy),
            library,
            rules: source.rules.clone(),
            counter: Box::new(ByteEstimate),
        }
    }

    /// Counts tokens with `counter` instead of estimating them from bytes.
    #[must_use]
    pub fn with_counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.counter = Box::new(counter);
        self
    }

    /// A new story.
    pub fn story(&self, chat: impl Into<ChatId>) -> Story<'_> {
        let lore = ReplayLore {
            library: &self.library,
            active: &self.active,
            rules: &self.rules,
            counter: self.counter.as_ref(),
        };
        let input = TurnInput { context: DEFAULT_CONTEXT, ..TurnInput::default() };
        Story { engine: self, replay: Replay::new(chat.into(), lore), input }
    }

    /// A story that was stored: its messages, and the state that its last turn left.
    pub fn resume(
        &self,
        chat: impl Into<ChatId>,
        messages: impl IntoIterator<Item = Message>,
        state: StoryState,
    ) -> Story<'_> {
        let mut story = self.story(chat);
        messages.into_iter().for_each(|message| story.say(message));
        story.replay.set_state(state);
        story
    }
}

/// A story that is woven turn by turn.
pub struct Story<'a> {
    engine: &'a Engine,
    replay: Replay<'a>,
    /// What the next turn is decided from besides the messages.
    pub input: TurnInput,
}

impl Story<'_> {
    /// Sets the user's name, the value of `{{user}}`.
    #[must_use]
    pub fn with_user(mut self, name: impl Into<String>) -> Self {
        self.input.user = name.into();
        self
    }

    /// Sets the character that speaks next, the value of `{{char}}`.
    #[must_use]
    pub fn with_character(mut self, name: impl Into<String>) -> Self {
        self.input.speaker = Some(Speaker::named(name));
        self
    }

    /// Sets the model's context size; budgets are shares of it.
    #[must_use]
    pub fn with_context(mut self, context: Tokens) -> Self {
        self.input.context = context;
        self
    }

    /// Adds a message.
    pub fn say(&mut self, message: Message) {
        self.replay.say(message);
    }

    /// Decides what the model must know for the next reply.
    ///
    /// Asked again without a new message, it decides alike, as for a swipe.
    pub fn weave(&mut self) -> WovenTurn {
        let (decision, verdicts) = self.replay.ask_for_all(&self.input);
        let library = &self.engine.library;
        let name = |id: &EntryId| library.title(id).unwrap_or(id.as_str()).to_owned();
        let reasons = verdicts.iter().map(|verdict| words::sentence(verdict, &name)).collect();
        let seen = self.replay.path().items().iter().filter(|item| !item.message.hidden);
        let history = seen.map(|item| PromptMessage {
            role: item.message.role,
            name: item.message.name.clone(),
            content: item.message.text.clone(),
        });
        let template = self.engine.rules.template.clone();
        WovenTurn { decision, template, history: history.collect(), verdicts, reasons }
    }

    /// The messages so far, to be stored.
    pub fn messages(&self) -> Vec<Message> {
        self.replay.path().items().iter().map(|item| item.message.clone()).collect()
    }

    /// Timed effects, counters and variables after the last turn, to be stored.
    pub fn state(&self) -> StoryState {
        self.replay.state()
    }

    /// The smallest change that would make an entry fire on the next turn; `None` if it fires
    /// already or no small change helps.
    pub fn explain(&self, entry: &EntryId) -> Option<Fix> {
        self.replay.explain(&self.input, entry)
    }
}

/// What was decided for one reply.
pub struct WovenTurn {
    decision: Decision,
    template: PromptTemplate,
    history: Vec<PromptMessage>,
    verdicts: Vec<Verdict>,
    reasons: Vec<String>,
}

impl WovenTurn {
    /// The texts to put into the prompt, each with its place and role.
    pub fn injections(&self) -> &[Injection] {
        &self.decision.injections
    }

    /// The prompt with the lore in place, in the order of the rules' template.
    pub fn prompt(&self, texts: &PromptTexts) -> Assembled {
        build(&self.template, texts, &self.history, &self.decision.injections)
    }

    /// Every entry with the reason why it is in or out.
    pub fn reasons(&self) -> impl Iterator<Item = (&Verdict, &str)> {
        self.verdicts.iter().zip(self.reasons.iter().map(String::as_str))
    }

    /// Everything that was decided: budgets, state changes, warnings.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        book::{Entry, Key},
        chat::Role,
    };

    fn book() -> Book {
        let entry = |id: &str, name: &str, key: &str, content: &str| {
            let mut entry = Entry::new(id);
            entry.name = name.to_owned();
            entry.activation.keys = vec![Key::parse(key)];
            entry.content = content.to_owned();
            entry
        };
        let mut book = Book::new("harbour", "Harbour");
        book.entries.push(entry(
            "harbour/0",
            "The bell",
            "bell",
            "The bell of {{char}} is cracked.",
        ));
        book.entries.push(entry("harbour/1", "The tower", "tower", "The tower leans."));
        book
    }

    #[test]
    fn a_message_brings_its_entry_into_the_prompt_with_a_reason() {
        let engine = Engine::new([book()]);
        let mut story = engine.story("first").with_user("Wren").with_character("Mira");
        story.say(Message::new(Role::User, Some("Wren"), "Who rang the bell?"));
        let turn = story.weave();
        let texts: Vec<&str> = turn.injections().iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["The bell of Mira is cracked."]);
        let texts = PromptTexts { main: "You are Mira.".to_owned(), ..PromptTexts::default() };
        let prompt = turn.prompt(&texts).messages;
        let prompt: Vec<(Role, &str)> =
            prompt.iter().map(|one| (one.role, one.content.as_str())).collect();
        let expected = [
            (Role::System, "You are Mira."),
            (Role::System, "The bell of Mira is cracked."),
            (Role::User, "Who rang the bell?"),
        ];
        assert_eq!(prompt, expected);
        let reasons: Vec<(&str, &str)> =
            turn.reasons().map(|(verdict, why)| (verdict.title.as_str(), why)).collect();
        let expected = [
            ("The bell", "“bell” in message 1, by Wren; before the character"),
            ("The tower", "none of its keys was found"),
        ];
        assert_eq!(reasons, expected);
    }

    #[test]
    fn an_entry_that_is_out_is_explained_by_a_change_that_works() {
        let engine = Engine::new([book()]);
        let mut story = engine.story("first");
        story.say(Message::new(Role::User, None, "Who rang the bell?"));
        assert!(story.explain(&EntryId::from("harbour/1")).is_some());
        assert_eq!(story.explain(&EntryId::from("harbour/0")), None);
    }

    #[test]
    fn the_counter_decides_what_a_token_is() {
        struct Words;
        impl TokenCounter for Words {
            fn name(&self) -> &'static str {
                "words"
            }

            fn count(&self, text: &str) -> Tokens {
                Tokens(u32::try_from(text.split_whitespace().count()).unwrap())
            }
        }
        let engine = Engine::new([book()]).with_counter(Words);
        let mut story = engine.story("first").with_context(Tokens(100));
        story.say(Message::new(Role::User, None, "The tower and the bell"));
        let turn = story.weave();
        let tokens: Vec<Tokens> = turn.injections().iter().map(|one| one.tokens).collect();
        // Nobody speaks, so `{{char}}` stays.
        assert_eq!(tokens, [Tokens(3), Tokens(6)]);
        assert_eq!(turn.decision().report.facts.tokenizer, "words");
    }
}
