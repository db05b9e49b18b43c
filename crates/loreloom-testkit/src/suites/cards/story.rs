//! Plays the turns of a case.

use std::{collections::BTreeMap, sync::Arc};

use loreloom_core::{
    book::Book,
    chat::{GenerationType, Message, Path, Role},
    dialects::cards::{CardRules, source_rules},
    dice::{Dice, Roll, TurnDice},
    engine::{self, EngineInput},
    ids::{ChatId, EntryId},
    library::{ActiveEntries, Dialect, Library},
    rules::Rules,
    state::StoryState,
    tokens::TokenCounter,
    turn::{CardTexts, Forced, Instruments, Near, Speaker, Transcript, Turn, TurnCache, TurnInput},
    units::Tokens,
};
use loreloom_formats::{ImportOptions, dialect_of, import};
use serde_json::{Value, json};

use super::trace;

pub(super) fn run(input: &Value) -> Result<Value, String> {
    let rules = Rules { cards: rules(input)?, ..Rules::default() };
    let books = input["books"].as_array().ok_or("a case has an array of `books`")?;
    let books: Result<Vec<(Arc<Book>, Dialect)>, String> =
        books.iter().enumerate().map(|(at, book)| read_book(at, book)).collect();
    let library = Library::compile_dialects(books?, &rules);
    let active = ActiveEntries::all(&library, rules.world_info.strategy);
    let story = Story { library, active, rules };
    let turns = input["turns"].as_array().ok_or("a case has an array of `turns`")?;
    // The state after each turn: a turn may go on from any earlier one.
    let mut states: Vec<StoryState> = Vec::new();
    let mut outputs = Vec::new();
    for turn in turns {
        let from = match turn.get("from").and_then(Value::as_u64) {
            Some(from) => states.get(usize::try_from(from).unwrap_or(usize::MAX)),
            None => states.last(),
        };
        let mut state =
            if turn["from"] == "start" { None } else { from }.cloned().unwrap_or_default();
        outputs.push(story.turn(turn, &mut state)?);
        states.push(state);
    }
    Ok(Value::Array(outputs))
}

/// The mode's rules with the case's own over them.
fn rules(input: &Value) -> Result<CardRules, String> {
    let named = match input["mode"].as_str() {
        None | Some("loreloom") => CardRules::default(),
        Some(name) => Dialect::from_name(name)
            .and_then(source_rules)
            .ok_or_else(|| format!("no card books run by the rules `{name}`"))?,
    };
    let mut rules = serde_json::to_value(named).map_err(|error| error.to_string())?;
    for (name, value) in input["rules"].as_object().into_iter().flatten() {
        rules[name] = value.clone();
    }
    serde_json::from_value(rules).map_err(|error| error.to_string())
}

fn read_book(at: usize, book: &Value) -> Result<(Arc<Book>, Dialect), String> {
    // A file of another program, or a book of a card.
    let file = match book.get("file") {
        Some(file) => file.to_string(),
        None => json!({ "spec": "lorebook_v3", "data": book }).to_string(),
    };
    let options = ImportOptions::new(format!("book{at}"));
    let mut book_read = import(file.as_bytes(), &options).map_err(|error| error.to_string())?.book;
    // A book that was made here and not read from a file.
    if book["native"] == true {
        book_read.origin = None;
    }
    let dialect = match book["dialect"].as_str() {
        None => Dialect::Cards,
        Some("auto") => dialect_of(&book_read),
        Some(name) => Dialect::from_name(name).ok_or_else(|| format!("no dialect `{name}`"))?,
    };
    Ok((Arc::new(book_read), dialect))
}

/// Counts words, so that budgets in cases can be counted by eye.
struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens(u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX))
    }
}

/// Rolls that the case gives by the entry's name; the others are real ones.
struct NamedDice<'case> {
    rolls: BTreeMap<EntryId, f64>,
    real: TurnDice,
    library: &'case Library,
    rolled: Vec<String>,
}

impl Dice for NamedDice<'_> {
    fn roll(&mut self, roll: Roll<'_>) -> f64 {
        let Roll::Chance(id) = roll else { return self.real.roll(roll) };
        let title = self.library.find(id).map(|ix| self.library.entry(ix).title().to_owned());
        self.rolled.extend(title);
        self.rolls.get(id).copied().unwrap_or_else(|| self.real.roll(roll))
    }
}

struct Story {
    library: Library,
    active: ActiveEntries,
    rules: Rules,
}

impl Story {
    fn id(&self, name: &str) -> Result<EntryId, String> {
        let entries = self.library.books().iter().flat_map(|book| &book.entries);
        let found = entries.into_iter().find(|entry| entry.title() == name);
        found.map(|entry| entry.id.clone()).ok_or_else(|| format!("no entry is called `{name}`"))
    }

    fn turn(&self, turn: &Value, state: &mut StoryState) -> Result<Value, String> {
        let path = Path::of(ChatId::from("case"), messages(&turn["chat"])?);
        let transcript = Transcript::of(&path, turn["include_names"] == true);
        let near = self.near(&turn["near"])?;
        let forced: Result<Vec<Forced>, String> = names(&turn["forced"])
            .map(|name| Ok(Forced { entry: self.id(name)?, instead: None }))
            .collect();
        let card: CardTexts =
            serde_json::from_value(turn.get("card").cloned().unwrap_or_else(|| json!({})))
                .map_err(|error| error.to_string())?;
        let speaker = Speaker {
            name: turn["char"].as_str().unwrap_or("Orla").to_owned(),
            filter_name: turn["char"].as_str().map(str::to_owned),
            tags: None,
        };
        let greeting = turn["greeting"].as_u64();
        let input = TurnInput {
            generation: GenerationType::from_name(turn["generation"].as_str().unwrap_or_default()),
            speaker: Some(speaker),
            user: turn["user"].as_str().unwrap_or("Mira").to_owned(),
            card,
            forced: forced?,
            context: Tokens(8000),
            seed: turn["seed"].as_u64().unwrap_or(0),
            dry_run: turn["dry_run"] == true,
            greeting: greeting.and_then(|index| u32::try_from(index).ok()),
            user_icon: turn["user_icon"].as_str().map(str::to_owned),
            text_completion: turn["text"] == true,
            near,
            ..TurnInput::default()
        };
        let request = input.turn(&path, &transcript);
        self.play(turn, &request, state)
    }

    fn play(
        &self,
        turn: &Value,
        request: &Turn<'_>,
        state: &mut StoryState,
    ) -> Result<Value, String> {
        let mut rolls = BTreeMap::new();
        for (name, roll) in turn["rolls"].as_object().into_iter().flatten() {
            rolls.insert(self.id(name)?, roll.as_f64().ok_or("a roll is a number")?);
        }
        let real = request.dice();
        let mut dice = NamedDice { rolls, real, library: &self.library, rolled: Vec::new() };
        let mut cache = TurnCache::default();
        let mut instruments = Instruments { counter: &Words, dice: &mut dice, cache: &mut cache };
        let (library, active, rules) = (&self.library, &self.active, &self.rules);
        let decision = engine::decide(
            &EngineInput { library, active, turn: request, state, rules },
            &mut instruments,
        );
        let before = state.clone();
        let verdicts = engine::verdicts(
            &decision.report,
            &EngineInput { library, active, turn: request, state: &before, rules },
            &mut instruments,
        );
        state.apply(&decision.delta);
        let mut trace = trace::turn(library, &decision, &verdicts, state);
        trace["rolled"] = json!(dice.rolled);
        Ok(trace)
    }

    fn near(&self, near: &Value) -> Result<Vec<Near>, String> {
        let near = near.as_object().into_iter().flatten();
        near.map(|(name, score)| {
            Ok(Near { entry: self.id(name)?, score: score.as_f64().unwrap_or(0.0) })
        })
        .collect()
    }
}

fn names(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Messages written as `u: text`, `a: text`, `s: text`; `-` before that hides one.
fn messages(chat: &Value) -> Result<Vec<Message>, String> {
    names(chat)
        .map(|line| {
            let (hidden, line) = match line.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, line),
            };
            let (who, text) = line.split_once(": ").ok_or_else(|| format!("no speaker: {line}"))?;
            let (role, name) = match who {
                "u" => (Role::User, Some("Mira")),
                "a" => (Role::Assistant, Some("Orla")),
                "s" => (Role::System, None),
                _ => return Err(format!("speakers are `u`, `a` and `s`, found `{who}`")),
            };
            Ok(Message { hidden, ..Message::new(role, name, text) })
        })
        .collect()
}
