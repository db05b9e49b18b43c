//! Cases about whole scans: several turns over the same chat metadata.

use std::sync::Arc;

use loreloom_core::{
    book::{Book, Entry},
    chat::{GenerationType, Path, Role},
    dialects::worldinfo::{self, Quirks, Scan, Strategy, WorldInfoRules},
    dice::{Dice, Roll},
    engine::{DEFAULT_DEPTH, EngineInput, SameText},
    ids::{ChatId, EntryId},
    library::{ActiveEntries, Attachment, EntryIx, Library, Scope},
    note::AuthorsNote,
    place::Place,
    report::ScanPhase,
    rules::Rules,
    state::StoryState,
    tokens::ByteEstimate,
    turn::{
        CardTexts, Forced, Instruments, ScannedPrompt, Speaker, Transcript, Turn, TurnCache,
        TurnInput,
    },
    units::{Depth, Tokens},
};
use loreloom_formats::{ImportOptions, OddValues, import};
use serde_json::{Map, Value, json};

use super::records;

pub(super) fn run(input: &Value) -> Result<Value, String> {
    let mut case = Case::new(input)?;
    let turns = input["turns"].as_array().ok_or("no turns")?;
    let outputs: Result<Vec<Value>, String> = turns.iter().map(|turn| case.turn(turn)).collect();
    Ok(json!({ "turns": outputs? }))
}

/// Rolls from a list, in order; past its end 0.5.
struct ScriptedDice {
    rolls: Vec<f64>,
    used: usize,
}

impl Dice for ScriptedDice {
    fn roll(&mut self, _: Roll<'_>) -> f64 {
        let roll = self.rolls.get(self.used).copied().unwrap_or(0.5);
        self.used += 1;
        roll
    }
}

struct Case<'input> {
    input: &'input Value,
    rules: WorldInfoRules,
    books: Vec<Value>,
    state: StoryState,
}

impl<'input> Case<'input> {
    fn new(input: &'input Value) -> Result<Self, String> {
        let books = input["books"].as_array().ok_or("no books")?.clone();
        let mut case =
            Self { input, rules: rules(&input["settings"]), books, state: StoryState::default() };
        let library = case.library()?;
        let stored = &input["timedWorldInfo"];
        case.state = StoryState {
            sticky: records::read(&library, &stored["sticky"]),
            cooldown: records::read(&library, &stored["cooldown"]),
            ..StoryState::default()
        };
        Ok(case)
    }

    fn library(&self) -> Result<Library, String> {
        let books: Result<Vec<Arc<Book>>, String> = self.books.iter().map(import_book).collect();
        Ok(Library::compile(books?, &self.rules))
    }

    fn active_entries(&self, library: &Library) -> ActiveEntries {
        let wanted = |name: &str| match name {
            "global" => Some(Scope::Global),
            "chat" => Some(Scope::Chat),
            "persona" => Some(Scope::Persona),
            _ => None,
        };
        let mut attachments = Vec::new();
        for (book, value) in self.books.iter().enumerate() {
            for name in scopes(value) {
                attachments.extend(wanted(&name).map(|scope| Attachment { book, scope }));
            }
        }
        // A character's primary book comes before its extra ones.
        for which in ["character", "character_aux"] {
            let has = |value: &&(usize, &Value)| scopes(value.1).iter().any(|name| name == which);
            let books: Vec<(usize, &Value)> = self.books.iter().enumerate().collect();
            attachments.extend(
                books
                    .iter()
                    .filter(has)
                    .map(|&(book, _)| Attachment { book, scope: Scope::Character }),
            );
        }
        ActiveEntries::new(library, &attachments, self.rules.strategy)
    }

    fn turn(&mut self, turn: &Value) -> Result<Value, String> {
        self.patch(&turn["entryPatch"]);
        let library = self.library()?;
        let active = self.active_entries(&library);
        let chat = turn["chat"].as_array().ok_or("no chat")?;
        let transcript = transcript(chat, self.rules.include_names);
        let rolls = turn["rolls"].as_array().into_iter().flatten().filter_map(Value::as_f64);
        let mut dice = ScriptedDice { rolls: rolls.collect(), used: 0 };
        let note = note(&self.input["authorsNote"]);
        let path = Path::new(ChatId::from("case"));
        let mut input = TurnInput {
            generation: GenerationType::from_name(text(&turn["trigger"])),
            speaker: speaker(&self.input["character"]),
            user: text(&self.input["user_name"]).to_owned(),
            card: card(&self.input["globalScanData"]),
            context: Tokens(
                u32::try_from(self.input["maxContext"].as_u64().unwrap_or(0)).unwrap_or(0),
            ),
            dry_run: turn["dryRun"] == true,
            forced: forced(&library, &turn["forceActivate"])?,
            ..TurnInput::default()
        };
        let users = chat.iter().filter(|message| message["is_user"] == true).count();
        let due = note.filter(|note| {
            input.speaker.is_some() && note.is_due(u32::try_from(users).unwrap_or(u32::MAX))
        });
        input.prompts = self.prompts(due.as_ref(), &input.turn(&path, &transcript));
        let request = input.turn(&path, &transcript);
        let mut instruments = Instruments {
            counter: &ByteEstimate,
            dice: &mut dice,
            cache: &mut TurnCache::default(),
        };
        let scripts = serde_json::from_value(self.input["regexScripts"].clone());
        let rules = Rules {
            world_info: self.rules.clone(),
            regex_scripts: scripts.unwrap_or_default(),
            // As the profile of the recorded program.
            same_text: SameText::Twice,
            ..Rules::default()
        };
        let (state, active, turn) = (&self.state.clone(), &active, &request);
        let input = EngineInput { library: &library, active, turn, state, rules: &rules };
        let scan = worldinfo::scan(&input, &mut instruments);
        self.state = scan.state().clone();
        let mut output = self.output(&input, &scan, due.as_ref());
        output.insert("rollsUsed".to_owned(), json!(dice.used));
        output.insert(
            "rollsBeyondList".to_owned(),
            json!(dice.used.saturating_sub(dice.rolls.len())),
        );
        Ok(Value::Object(output))
    }

    fn patch(&mut self, patches: &Value) {
        for patch in patches.as_array().into_iter().flatten() {
            let book = self.books.iter_mut().find(|book| book["name"] == patch["world"]);
            let uid = &patch["uid"];
            let key = uid.as_str().map_or_else(|| uid.to_string(), str::to_owned);
            let entry =
                book.and_then(|book| book["entries"].get_mut(&key)).and_then(Value::as_object_mut);
            if let (Some(entry), Some(set)) = (entry, patch["set"].as_object()) {
                entry.extend(set.clone());
            }
        }
    }

    /// The prompts that are scanned. In SillyTavern they are properties of one object: numeric keys
    /// come first, and a repeated key has its last value at its first place. A note that is not due
    /// is empty.
    fn prompts(&self, note: Option<&AuthorsNote>, turn: &Turn<'_>) -> Vec<ScannedPrompt> {
        let mut prompts = Map::new();
        for inject in self.input["injects"].as_array().into_iter().flatten() {
            prompts.insert(text(&inject["key"]).to_owned(), inject.clone());
        }
        if let Some(note) = note.filter(|note| note.scan) {
            let note = json!({ "value": note.text, "scan": true });
            prompts.insert("2_floating_prompt".to_owned(), note);
        }
        let mut prompts: Vec<(String, Value)> = prompts.into_iter().collect();
        prompts.sort_by_key(|(key, _)| (js_index(key).is_none(), js_index(key)));
        let macros = turn.macros();
        let scanned = prompts.into_iter().filter(|(_, prompt)| prompt["scan"] == true);
        let prompt = |(name, prompt): (String, Value)| {
            let text = macros.expand(text(&prompt["value"])).into_owned();
            ScannedPrompt { name, text }
        };
        scanned.map(prompt).collect()
    }

    fn output(
        &self,
        engine_input: &EngineInput<'_>,
        scan: &Scan,
        note: Option<&AuthorsNote>,
    ) -> Map<String, Value> {
        let library = engine_input.library;
        let placed = worldinfo::place(engine_input, &scan.activated);
        let texts = |wanted: &Place| -> Vec<&str> {
            placed.iter().filter(|one| one.place == *wanted).map(|one| &*one.text).collect()
        };
        let (top, bottom) = (texts(&Place::NoteTop), texts(&Place::NoteBottom));
        let activated = scan.activated.iter().map(|one| {
            let ix = library.find(&library.entry(one.ix).id).unwrap_or(one.ix);
            let world = world_of(library, ix);
            match stored(library.entry(ix)).get("uid") {
                Some(uid) => json!({ "world": world, "uid": uid }),
                None => json!({ "world": world }),
            }
        });
        let example_places = [Place::BeforeExamples, Place::AfterExamples];
        let examples = placed.iter().filter_map(|one| {
            let position = example_places.iter().position(|place| *place == one.place)?;
            Some(json!({ "position": position, "content": &*one.text }))
        });
        let stored_records = &self.input["timedWorldInfo"];
        let value = json!({
            "activated": activated.collect::<Vec<_>>(),
            "worldInfoBefore": texts(&Place::BeforeCharacter).join("\n"),
            "worldInfoAfter": texts(&Place::AfterCharacter).join("\n"),
            "EMEntries": examples.collect::<Vec<_>>(),
            "WIDepthEntries": depth_groups(library, &placed),
            "ANBeforeEntries": top,
            "ANAfterEntries": bottom,
            "outletEntries": outlets(&placed),
            "authorsNote": note.map(|note| note.compose(&top, &bottom)),
            "timedWorldInfo": {
                "sticky": records::write(library, &self.state.sticky, &stored_records["sticky"]),
                "cooldown":
                    records::write(library, &self.state.cooldown, &stored_records["cooldown"]),
            },
            "budget": scan.budget.as_ref().map(|budget| budget.limit),
            "loops": scan.passes.iter().map(|pass| pass_value(library, pass)).collect::<Vec<_>>(),
        });
        value.as_object().cloned().unwrap_or_default()
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether JavaScript takes a property's name for an array index.
fn js_index(name: &str) -> Option<u32> {
    let number: u32 = name.parse().ok()?;
    (number != u32::MAX && number.to_string() == name).then_some(number)
}

fn scopes(book: &Value) -> Vec<String> {
    match book["scope"].as_array() {
        Some(names) => names.iter().map(|name| text(name).to_owned()).collect(),
        None => vec![text(&book["scope"]).to_owned()],
    }
}

fn transcript(chat: &[Value], include_names: bool) -> Transcript {
    let mut transcript = Transcript::new(include_names);
    for message in chat {
        let role = if message["is_user"] == true { Role::User } else { Role::Assistant };
        transcript.push(role, message["name"].as_str(), text(&message["mes"]));
    }
    transcript
}

fn import_book(book: &Value) -> Result<Arc<Book>, String> {
    let name = text(&book["name"]);
    let file = json!({ "entries": book["entries"] }).to_string();
    let options = ImportOptions {
        odd_values: OddValues::ToTheLetter,
        ..ImportOptions::new(name).named(name)
    };
    let imported = import(file.as_bytes(), &options).map_err(|error| error.to_string())?;
    Ok(Arc::new(imported.book))
}

fn forced(library: &Library, objects: &Value) -> Result<Vec<Forced>, String> {
    let mut forced = Vec::new();
    for object in objects.as_array().into_iter().flatten() {
        let (Some(world), Some(uid)) = (object.get("world"), object.get("uid")) else { continue };
        let uid = uid.as_str().map_or_else(|| uid.to_string(), str::to_owned);
        let book = json!({ "name": world, "entries": { "0": object } });
        let entry: Option<Entry> = import_book(&book)?.entries.first().cloned();
        let id = id_of(library, &format!("{}.{uid}", text(world)));
        forced.push(Forced { entry: id, instead: entry.map(Arc::new) });
    }
    Ok(forced)
}

fn rules(settings: &Value) -> WorldInfoRules {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "fractions are cut and negative numbers are 0, as SillyTavern reads them"
    )]
    let number = |key: &str| settings[key].as_f64().unwrap_or(0.0) as u32;
    let flag = |key: &str| settings[key] == true;
    WorldInfoRules {
        depth: number("world_info_depth"),
        min_activations: number("world_info_min_activations"),
        min_activations_depth_max: number("world_info_min_activations_depth_max"),
        budget_percent: settings["world_info_budget"].as_f64().unwrap_or(25.0),
        budget_cap: number("world_info_budget_cap"),
        include_names: flag("world_info_include_names"),
        recursive: flag("world_info_recursive"),
        case_sensitive: flag("world_info_case_sensitive"),
        match_whole_words: flag("world_info_match_whole_words"),
        use_group_scoring: flag("world_info_use_group_scoring"),
        strategy: match settings["world_info_character_strategy"].as_i64() {
            Some(1) => Strategy::CharacterFirst,
            Some(2) => Strategy::GlobalFirst,
            _ => Strategy::Evenly,
        },
        max_recursion_steps: number("world_info_max_recursion_steps"),
        quirks: Quirks::sillytavern_1_19(),
        ..WorldInfoRules::default()
    }
}

fn speaker(character: &Value) -> Option<Speaker> {
    let character = character.as_object()?;
    let avatar = character.get("avatar").and_then(Value::as_str);
    let stem = |avatar: &str| avatar.rsplit_once('.').map_or(avatar, |(stem, _)| stem).to_owned();
    let tags = character.get("tags").and_then(Value::as_array);
    let tags = tags.map(|tags| tags.iter().map(|tag| text(tag).to_owned()).collect());
    let name = character.get("name").map_or("", text).to_owned();
    Some(Speaker { name, filter_name: avatar.map(stem), tags })
}

fn card(data: &Value) -> CardTexts {
    let field = |key: &str| text(&data[key]).to_owned();
    CardTexts {
        persona: field("personaDescription"),
        description: field("characterDescription"),
        personality: field("characterPersonality"),
        depth_prompt: field("characterDepthPrompt"),
        scenario: field("scenario"),
        creator_notes: field("creatorNotes"),
    }
}

fn note(value: &Value) -> Option<AuthorsNote> {
    let note = value.as_object()?;
    let number =
        |key: &str| note.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    Some(AuthorsNote {
        text: note.get("prompt").map_or("", text).to_owned(),
        interval: number("interval").unwrap_or(0),
        depth: Depth(number("depth").unwrap_or(DEFAULT_DEPTH.0)),
        role: role(number("role").unwrap_or(0)),
        scan: note.get("allowWIScan") == Some(&Value::Bool(true)),
    })
}

fn role(number: u32) -> Role {
    match number {
        1 => Role::User,
        2 => Role::Assistant,
        _ => Role::System,
    }
}

fn role_number(role: Role) -> u32 {
    match role {
        Role::System | Role::Tool => 0,
        Role::User => 1,
        Role::Assistant => 2,
    }
}

/// Entries of one depth and role form a group. One without a depth joins the group of
/// depth 4 if that is there already, else it opens its own.
fn depth_groups(library: &Library, placed: &[worldinfo::PlacedEntry<'_>]) -> Vec<Value> {
    let mut groups: Vec<(Option<Depth>, bool, Role, Vec<&str>)> = Vec::new();
    // The walk went from the highest order down; the placed list reads the other way.
    for one in placed.iter().rev() {
        let Place::AtDepth(wanted) = one.place else { continue };
        let (depth, role) = (one.activated.entry(library).placement.depth, one.role);
        let known =
            groups.iter_mut().find(|(known, _, its, _)| *known == Some(wanted) && *its == role);
        if let Some((_, _, _, texts)) = known {
            texts.insert(0, &one.text);
        } else {
            let null = stored(one.activated.entry(library)).contains_key("depth");
            groups.push((depth, null, role, vec![&one.text]));
        }
    }
    groups
        .into_iter()
        .map(|(depth, null, role, texts)| match depth {
            None if null => json!({ "depth": null, "role": role_number(role), "entries": texts }),
            Some(Depth(depth)) => {
                json!({ "depth": depth, "role": role_number(role), "entries": texts })
            }
            None => json!({ "role": role_number(role), "entries": texts }),
        })
        .collect()
}

fn outlets(placed: &[worldinfo::PlacedEntry<'_>]) -> Value {
    let mut outlets = Map::new();
    for one in placed {
        if let Place::Outlet(name) = &one.place {
            let texts = outlets.entry(name.clone()).or_insert_with(|| json!([]));
            if let Some(texts) = texts.as_array_mut() {
                texts.push(json!(&*one.text));
            }
        }
    }
    Value::Object(outlets)
}

fn pass_value(library: &Library, pass: &worldinfo::Pass) -> Value {
    let state = |phase: ScanPhase| match phase {
        ScanPhase::Initial => 1,
        ScanPhase::Recursion => 2,
        ScanPhase::MinActivations => 3,
    };
    let names = |entries: &[EntryIx]| -> Vec<String> {
        entries.iter().map(|&ix| name_of(library, ix)).collect()
    };
    json!({
        "state": state(pass.phase),
        "next": pass.next.map_or(0, state),
        "new": names(&pass.candidates),
        "successful": names(&pass.successful),
        "total": pass.total,
        "overflowed": pass.overflowed,
        "delayLevel": pass.level,
    })
}

/// An entry as the case has it.
fn stored(entry: &Entry) -> Map<String, Value> {
    serde_json::from_str(entry.raw.as_deref().unwrap_or_default()).unwrap_or_default()
}

/// SillyTavern's name of an entry: `world.uid`.
pub(super) fn name_of(library: &Library, ix: EntryIx) -> String {
    let entry = library.entry(ix);
    let missing = if stored(entry).contains_key("uid") { "null" } else { "undefined" };
    let uid = entry.original_id.as_ref().map_or_else(|| missing.to_owned(), ToString::to_string);
    format!("{}.{uid}", world_of(library, ix))
}

/// The book of an entry: its own field, if it has one.
fn world_of(library: &Library, ix: EntryIx) -> String {
    let own = stored(library.entry(ix)).get("world").and_then(Value::as_str).map(str::to_owned);
    own.unwrap_or_else(|| library.book(ix).name.clone())
}

/// The id of the first entry with that name; an unknown name is its own id.
pub(super) fn id_of(library: &Library, name: &str) -> EntryId {
    let mut entries = (0..library.len()).map(|at| EntryIx(u32::try_from(at).unwrap_or(u32::MAX)));
    entries
        .find(|&ix| name_of(library, ix) == name)
        .map_or_else(|| EntryId::from(name), |ix| library.entry(ix).id.clone())
}
