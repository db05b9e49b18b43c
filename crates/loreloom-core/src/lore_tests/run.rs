//! Running lore tests.

use rustc_hash::FxHashMap;

use super::{Check, Expectation, Failure, LoreTest, TestResult};
use crate::{
    assemble::{Assembled, Layout},
    chat::{Message, Path},
    ids::{ChatId, EntryId},
    library::{ActiveEntries, Attachment, Cast, Library},
    place::{Injection, Provenance},
    prompt::PromptMessage,
    replay::{self, Replay, ReplayEvent, TurnLine, events},
    report::{Outcome, Verdict, words},
    rules::Rules,
    tokens::TokenCounter,
    turn::{Speaker, TurnInput},
    units::Tokens,
};

/// What tests are run with.
#[derive(Clone, Copy)]
pub struct TestSetup<'a> {
    /// The books.
    pub library: &'a Library,
    /// The rules.
    pub rules: &'a Rules,
    /// The tokenizer.
    pub counter: &'a dyn TokenCounter,
    /// The user's name, where a test says none.
    pub user: &'a str,
    /// The model's context size, where a test says none.
    pub context: Tokens,
}

/// Runs tests, each as a story of its own. `active` says which books follow those who take
/// part; all of them for `None`.
pub fn run(
    tests: &[LoreTest],
    setup: &TestSetup<'_>,
    attached: impl Fn(&Cast<'_>) -> Option<Vec<Attachment>>,
) -> Vec<TestResult> {
    let active = ActiveEntries::all(setup.library, setup.rules.world_info.strategy);
    let named = Named::of(setup.library);
    tests
        .iter()
        .map(|test| TestStory::of(test, setup, &active, &attached).judge(test, &named))
        .collect()
}

/// Entries by their ids and by what people call them.
struct Named<'a> {
    by: FxHashMap<String, Vec<&'a EntryId>>,
    titles: FxHashMap<&'a EntryId, &'a str>,
}

impl<'a> Named<'a> {
    fn of(library: &'a Library) -> Self {
        let mut named = Self { by: FxHashMap::default(), titles: FxHashMap::default() };
        for entry in library.books().iter().flat_map(|book| &book.entries) {
            named.add(&entry.id, entry.title());
        }
        if let Some(vault) = library.vault() {
            for ix in vault.entries() {
                named.add(vault.id(ix), &vault.note(ix).title);
            }
        }
        named
    }

    fn add(&mut self, id: &'a EntryId, title: &'a str) {
        self.titles.insert(id, title);
        self.by.entry(folded(title)).or_default().push(id);
    }

    /// The entry of a name: an id before anything else.
    fn find(&self, name: &str) -> Result<&'a EntryId, Failure> {
        let entry = name.to_owned();
        if let Some((id, _)) = self.titles.get_key_value(&EntryId::from(name)) {
            return Ok(id);
        }
        match self.by.get(&folded(name)).map(Vec::as_slice) {
            Some([id]) => Ok(id),
            Some([]) | None => Err(Failure::NoEntry { entry }),
            Some(several) => {
                let ids = several.iter().copied().cloned().collect();
                Err(Failure::SeveralEntries { entry, ids })
            }
        }
    }

    fn title(&self, id: &EntryId) -> String {
        self.titles.get(id).map_or_else(|| id.to_string(), |title| (*title).to_owned())
    }
}

fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

/// A test's story, played to its end.
struct TestStory {
    line: TurnLine,
    verdicts: Vec<Verdict>,
    /// The entries in the order in which they are in the prompt.
    standing: Vec<EntryId>,
}

impl TestStory {
    fn of(
        test: &LoreTest,
        setup: &TestSetup<'_>,
        active: &ActiveEntries,
        attached: impl Fn(&Cast<'_>) -> Option<Vec<Attachment>>,
    ) -> Self {
        let chat = test.chat.clone().unwrap_or_else(|| ChatId::from("test"));
        let input = |speaker: Option<&str>| input(test, setup, &chat, speaker, &attached);
        let TestSetup { library, rules, counter, .. } = *setup;
        let mut story =
            Replay::new(chat.clone(), replay::ReplayLore { library, active, rules, counter });
        let messages = test
            .messages
            .iter()
            .map(|said| Message::new(said.role, said.name.as_deref(), said.text.as_str()));
        let mut events_of_story = events(messages, |_, speaker| input(speaker));
        // The turn after the last message is the one that is judged.
        if matches!(events_of_story.last(), Some(ReplayEvent::Turn(_))) {
            events_of_story.pop();
        }
        story.run(events_of_story);
        let (woven, verdicts) = story.ask_for_all(&input(test.speaker.as_deref()));
        let standing = standing(story.path(), &woven.injections);
        Self { line: TurnLine::of(story.path().items().len(), &woven), verdicts, standing }
    }

    fn judge(self, test: &LoreTest, named: &Named<'_>) -> TestResult {
        let check = |expected: &Expectation| Check {
            expected: expected.clone(),
            failure: self.holds(expected, named).err(),
        };
        let checks: Vec<Check> = test.expected.iter().map(check).collect();
        TestResult {
            name: test.name.clone(),
            passed: checks.iter().all(|check| check.failure.is_none()),
            checks,
            fired: self.line.fired,
            tokens: self.line.tokens,
        }
    }

    fn holds(&self, expected: &Expectation, named: &Named<'_>) -> Result<(), Failure> {
        match expected {
            Expectation::Fires { entry } => self.fires(named.find(entry)?, named),
            Expectation::DoesNotFire { entry } => {
                let entry = named.find(entry)?;
                match self.fires(entry, named) {
                    Ok(()) => Err(self.decided(entry, named)),
                    Err(_) => Ok(()),
                }
            }
            Expectation::Order { entries } => self.stand(entries, named),
            Expectation::AtMost { tokens } if self.line.tokens <= *tokens => Ok(()),
            Expectation::AtMost { .. } => Err(Failure::TooManyTokens { found: self.line.tokens }),
        }
    }

    fn fires(&self, entry: &EntryId, named: &Named<'_>) -> Result<(), Failure> {
        let verdict = self.verdicts.iter().find(|verdict| verdict.entry == *entry);
        match verdict.map(|verdict| &verdict.outcome) {
            Some(Outcome::Activated { .. }) => Ok(()),
            Some(Outcome::Stopped(_)) | None => Err(self.decided(entry, named)),
        }
    }

    /// What was decided about an entry, which is not what was expected.
    fn decided(&self, entry: &EntryId, named: &Named<'_>) -> Failure {
        match self.verdicts.iter().find(|verdict| verdict.entry == *entry) {
            Some(verdict) => {
                let why = words::chain(verdict, &self.verdicts, &|id| named.title(id));
                Failure::Decided { verdict: Box::new(verdict.clone()), why }
            }
            None => Failure::NotActive { entry: entry.clone() },
        }
    }

    fn stand(&self, entries: &[String], named: &Named<'_>) -> Result<(), Failure> {
        let mut places = Vec::with_capacity(entries.len());
        for name in entries {
            let entry = named.find(name)?;
            self.fires(entry, named)?;
            let place = self.standing.iter().position(|one| one == entry);
            places.push((place.ok_or_else(|| Failure::NoPlace { entry: entry.clone() })?, name));
        }
        if places.is_sorted_by_key(|(place, _)| *place) {
            return Ok(());
        }
        places.sort_by_key(|(place, _)| *place);
        let found = places.into_iter().map(|(_, name)| name.clone()).collect();
        Err(Failure::OtherOrder { found })
    }
}

/// The input of a test's turns.
fn input(
    test: &LoreTest,
    setup: &TestSetup<'_>,
    chat: &ChatId,
    speaker: Option<&str>,
    attached: impl Fn(&Cast<'_>) -> Option<Vec<Attachment>>,
) -> TurnInput {
    let speaker = speaker.or(test.speaker.as_deref());
    let user = test.user.as_deref().unwrap_or(setup.user);
    let cast = Cast { chat, character: speaker, persona: user, group: test.group.as_deref() };
    TurnInput {
        context: test.context.unwrap_or(setup.context),
        user: user.to_owned(),
        speaker: speaker.map(Speaker::named),
        group: test.group.clone(),
        attachments: attached(&cast),
        ..TurnInput::default()
    }
}

/// The entries whose texts are in the prompt of a path, in order.
fn standing(path: &Path, injections: &[Injection]) -> Vec<EntryId> {
    let seen = path.items().iter().filter(|item| !item.message.hidden);
    let prompt: Vec<PromptMessage> = seen
        .map(|item| PromptMessage {
            role: item.message.role,
            name: item.message.name.clone(),
            content: item.message.text.clone(),
        })
        .collect();
    let plan = Layout::of_messages(&prompt, false).plan(&prompt, injections);
    let Assembled { spans, .. } = plan.apply(prompt);
    let mut places: Vec<(usize, usize, EntryId)> = spans
        .into_iter()
        .filter_map(|span| match span.source {
            Provenance::Lore { entry, .. } => Some((span.message, span.start, entry)),
            Provenance::AuthorsNote | Provenance::Memory(_) => None,
        })
        .collect();
    places.sort();
    places.into_iter().map(|(_, _, entry)| entry).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        book::{Book, Entry, Key},
        chat::Role,
        lore_tests::TestMessage,
        rules::Profile,
        tokens::ByteEstimate,
    };

    fn entry(id: &str, name: &str, key: &str, content: &str, order: f64) -> Entry {
        let mut entry = Entry::new(id);
        entry.name = name.to_owned();
        entry.activation.keys = vec![Key::parse(key)];
        content.clone_into(&mut entry.content);
        entry.placement.order = Some(order);
        entry
    }

    fn library() -> Library {
        let mut book = Book::new("b", "B");
        let mut sticky = entry("b/0", "The bell", "bell", "The bell is cracked.", 20.0);
        sticky.activation.timed.sticky = Some(3);
        let mut secret = entry("b/2", "The heir", "bell", "Kal is the heir.", 30.0);
        secret.activation.filters.characters = vec!["Kal".to_owned()];
        secret.activation.filters.exclude = true;
        book.entries = vec![
            sticky,
            entry("b/1", "The tower", "tower", "The tower leans.", 10.0),
            secret,
            entry("b/3", "Twice", "one", "1", 0.0),
            entry("b/4", "twice ", "two", "2", 0.0),
        ];
        Library::under([Arc::new(book)], &Profile::Loreloom.rules())
    }

    fn result(test: &LoreTest) -> TestResult {
        let (library, rules) = (library(), Profile::Loreloom.rules());
        let context = Tokens(1000);
        let counter = &ByteEstimate;
        let setup = TestSetup { library: &library, rules: &rules, counter, user: "Wren", context };
        run(std::slice::from_ref(test), &setup, |_| None).remove(0)
    }

    fn test(speaker: &str, messages: &[(char, &str)], expected: Expectation) -> LoreTest {
        let said = |&(who, text): &(char, &str)| TestMessage {
            role: if who == 'U' { Role::User } else { Role::Assistant },
            name: None,
            text: text.to_owned(),
        };
        LoreTest {
            name: "a test".to_owned(),
            speaker: Some(speaker.to_owned()),
            messages: messages.iter().map(said).collect(),
            expected: vec![expected],
            ..LoreTest::default()
        }
    }

    fn fires(entry: &str) -> Expectation {
        Expectation::Fires { entry: entry.to_owned() }
    }

    fn does_not(entry: &str) -> Expectation {
        Expectation::DoesNotFire { entry: entry.to_owned() }
    }

    fn order(entries: [&str; 2]) -> Expectation {
        Expectation::Order { entries: entries.map(str::to_owned).to_vec() }
    }

    fn at_most(tokens: u32) -> Expectation {
        Expectation::AtMost { tokens: Tokens(tokens) }
    }

    #[test]
    fn each_expectation_holds_or_says_why_not() {
        let both = [('U', "The bell in the tower.")];
        let bell = [('U', "I hear a bell.")];
        for (speaker, messages, expected, failure) in [
            ("Mira", &bell[..], fires("the BELL"), None),
            ("Mira", &bell, fires("b/0"), None),
            ("Mira", &bell, fires("The tower"), Some("none of its keys was found")),
            ("Mira", &bell, does_not("The tower"), None),
            ("Mira", &bell, does_not("The bell"), Some("“bell” in message 1 (user)")),
            ("Mira", &bell, fires("The heir"), None),
            // As Kal nobody learns who the heir is.
            ("Kal", &bell, does_not("The heir"), None),
            ("Kal", &bell, fires("The heir"), Some("not for the characters Kal")),
            ("Mira", &both, order(["The tower", "The bell"]), None),
            (
                "Mira",
                &both,
                order(["The bell", "The tower"]),
                Some("they stand as `The tower`, `The bell`"),
            ),
            ("Mira", &bell, order(["The bell", "The tower"]), Some("none of its keys was found")),
            ("Kal", &both, at_most(11), None),
            ("Kal", &both, at_most(10), Some("lore has 11 tokens")),
            ("Mira", &bell, fires("The mill"), Some("no entry is called `The mill`")),
            ("Mira", &bell, fires("Twice"), Some("several entries are called `Twice`: b/3, b/4")),
            ("Mira", &bell, does_not("The mill"), Some("no entry is called `The mill`")),
        ] {
            let found = result(&test(speaker, messages, expected.clone()));
            let words = found.checks[0].failure.as_ref().map(Failure::to_string);
            assert_eq!(found.passed, failure.is_none(), "{expected}: {words:?}");
            match (words, failure) {
                (Some(words), Some(failure)) => assert!(words.contains(failure), "{words}"),
                (words, _) => assert_eq!(words, None, "{expected}"),
            }
        }
    }

    #[test]
    fn a_test_is_a_story_in_which_effects_last() {
        let story = [('U', "I hear a bell."), ('A', "It is far."), ('U', "Where?")];
        let quiet = [('U', "I hear nothing."), ('A', "It is far."), ('U', "Where?")];
        let mut rules = Profile::Loreloom.rules();
        rules.world_info.depth = 1;
        let library = library();
        let (context, counter) = (Tokens(1000), &ByteEstimate);
        let setup = TestSetup { library: &library, rules: &rules, counter, user: "Wren", context };
        let tests = [story, quiet].map(|messages| test("Mira", &messages, fires("The bell")));
        let passed: Vec<bool> =
            run(&tests, &setup, |_| None).iter().map(|one| one.passed).collect();
        assert_eq!(passed, [true, false]);
    }

    #[test]
    fn books_that_do_not_follow_those_who_take_part_are_told_as_such() {
        let (library, rules) = (library(), Profile::Loreloom.rules());
        let context = Tokens(1000);
        let counter = &ByteEstimate;
        let setup = TestSetup { library: &library, rules: &rules, counter, user: "Wren", context };
        let tests = [test("Mira", &[('U', "A bell.")], fires("The bell"))];
        let found = run(&tests, &setup, |cast| {
            assert_eq!((cast.character, cast.persona), (Some("Mira"), "Wren"));
            Some(Vec::new())
        });
        let failure = Failure::NotActive { entry: "b/0".into() };
        assert_eq!(found[0].checks[0].failure, Some(failure));
    }
}
