//! What a case gives, with the recorder's defaults for the rest.

use std::{collections::BTreeMap, ops::Range};

use loreloom_core::{
    chat::{Message, Path, PathItem, Role},
    ids::ChatId,
};
use loreloom_memory::{
    ids::Ids,
    inject::Labels,
    model_profile::ModelProfile,
    pass::{Answers, Need, Script},
    record::{CharacterMemory, ChatMemory},
    rules::Rules,
    service::smart_memory_settings,
    settings::Settings,
    similarity::Vectors,
    tiers::{Config, PassSource},
    window::stable_cutoff,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The character, if a case names none.
const CHARACTER: &str = "Mara";
const NOW: i64 = 1_750_000_000_000;

/// A case's input.
pub(super) struct Fixture<'case> {
    pub(super) input: &'case Value,
    pub(super) settings: Settings,
    pub(super) rules: Rules,
    pub(super) profile: ModelProfile,
    pub(super) labels: Labels,
    pub(super) chat: Vec<PathItem>,
    pub(super) meta: ChatMemory,
    pub(super) character: CharacterMemory,
    pub(super) chat_id: String,
    pub(super) now: i64,
}

impl<'case> Fixture<'case> {
    pub(super) fn read(input: &'case Value, rules: &str) -> Result<Self, String> {
        let text = |name: &str| input.get(name).and_then(Value::as_str);
        let owner = text("character").unwrap_or(CHARACTER);
        let store = input.get("characters_store").and_then(|store| store.get(owner));
        Ok(Self {
            input,
            settings: settings(input.get("settings"))?,
            rules: Rules::named(rules).ok_or_else(|| format!("there are no rules `{rules}`"))?,
            profile: optional(input.get("profile"))?.unwrap_or_default(),
            labels: labels(),
            chat: path(input.get("chat"))?,
            meta: optional(input.get("meta"))?.unwrap_or_default(),
            character: optional(store)?.unwrap_or_default(),
            chat_id: text("chat_id").unwrap_or("chat-1").to_owned(),
            now: input.get("now").and_then(Value::as_i64).unwrap_or(NOW),
        })
    }

    /// A field of the input.
    pub(super) fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, String> {
        self.maybe(name)?.ok_or_else(|| format!("the input needs `{name}`"))
    }

    /// A field of the input that may be missing or null.
    pub(super) fn maybe<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, String> {
        optional(self.input.get(name)).map_err(|error| format!("`{name}`: {error}"))
    }

    pub(super) fn owner(&self) -> &str {
        self.input.get("character").and_then(Value::as_str).unwrap_or(CHARACTER)
    }

    pub(super) fn responding(&self) -> &str {
        self.input.get("responding").and_then(Value::as_str).unwrap_or_else(|| self.owner())
    }

    pub(super) fn ids() -> Ids {
        Ids::new("id")
    }

    pub(super) fn config(&self) -> Config<'_> {
        Config { settings: &self.settings, rules: &self.rules, profile: self.profile }
    }

    /// What a pass reads: the window given, else everything that is settled.
    pub(super) fn source(&self) -> Result<PassSource<'_>, String> {
        let window = match self.maybe::<(usize, usize)>("window")? {
            Some((from, to)) => Range { start: from, end: to },
            None => 0..stable_cutoff(&self.chat),
        };
        Ok(PassSource {
            chat: &self.chat,
            window,
            heard: None,
            chat_id: &self.chat_id,
            character: "",
            lore: &[],
            now: self.now,
        })
    }

    /// The messages in a field of the input.
    pub(super) fn messages(&self, name: &str) -> Result<Vec<PathItem>, String> {
        path(self.input.get(name))
    }

    pub(super) fn vectors(&self) -> Result<Vectors, String> {
        let Some(given) = self.maybe::<BTreeMap<String, Vec<f32>>>("vectors")? else {
            return Ok(Vectors::off());
        };
        let mut vectors = Vectors::on();
        for (text, vector) in given {
            vectors.insert(&text, Some(vector));
        }
        Ok(vectors)
    }

    /// Runs a pass with the scripted replies; returns its outcome and how many replies were
    /// left. A call past the end of the script is answered with nothing.
    pub(super) fn play<T>(
        &self,
        pass: impl Fn(&mut Script<'_>) -> Result<T, Need>,
    ) -> Result<(T, usize), String> {
        let replies: Vec<String> = self.maybe("llm_responses")?.unwrap_or_default();
        let given = replies.len();
        let mut answers = Answers {
            replies: replies.into_iter().map(Some).collect(),
            vectors: self.vectors()?,
            ..Answers::default()
        };
        loop {
            let mut script = Script::new(&answers);
            match pass(&mut script) {
                Ok(outcome) => return Ok((outcome, given.saturating_sub(script.used()))),
                Err(Need::Reply(_)) => answers.replies.push(Some(String::new())),
                Err(Need::Vectors(texts)) => {
                    for text in texts {
                        answers.vectors.insert(&text, None);
                    }
                }
                Err(Need::Unreadable(unread)) => return Err(unread.to_string()),
            }
        }
    }
}

/// The settings of a case: ours by their names, the peer's by those of the importer.
fn settings(given: Option<&Value>) -> Result<Settings, String> {
    let Some(given) = given.and_then(Value::as_object) else { return Ok(Settings::default()) };
    let mut all = given.clone();
    if let Some(Value::Object(imported)) = smart_memory_settings(given).get("settings") {
        all.extend(imported.clone());
    }
    serde_json::from_value(Value::Object(all)).map_err(|error| error.to_string())
}

fn optional<T: DeserializeOwned>(value: Option<&Value>) -> Result<Option<T>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            serde_json::from_value(value.clone()).map(Some).map_err(|error| error.to_string())
        }
    }
}

fn path(messages: Option<&Value>) -> Result<Vec<PathItem>, String> {
    let messages: Vec<Value> = optional(messages)?.unwrap_or_default();
    let message = |value: &Value| {
        let field = |name: &str| value.get(name).and_then(Value::as_str);
        let is = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
        let role = match (is("is_system"), is("is_user")) {
            (true, _) => Role::System,
            (false, true) => Role::User,
            (false, false) => Role::Assistant,
        };
        let text = field("mes").ok_or_else(|| format!("a message needs `mes`, found {value}"))?;
        Ok(Message::new(role, field("name"), text))
    };
    let messages: Vec<Message> = messages.iter().map(message).collect::<Result<_, String>>()?;
    Ok(Path::of(ChatId::from("case"), messages).items().to_vec())
}

/// The labels of the recorded cases. The last two, and those of suspicion,
/// development and revelation, occur in none.
fn labels() -> Labels {
    Labels::from_table([
        "Story so far:",
        "Memories from previous conversations:",
        "Details from this session:",
        "Previous scenes:",
        "Scene",
        "Active story threads:",
        "Relationship history:",
        "Character history:",
        "[secondhand]",
        "Current scene state:",
        "Setting/atmosphere:",
        "Development:",
        "Immediate continuity detail:",
        "Revelation:",
        "What {name} knows and believes:",
        "Knows:",
        "Suspects:",
        "Does not know:",
        "Believes (but is false):",
        "Concealing:",
        "from",
        "Character state:",
        "World state:",
        "Relationships:",
        "... [truncated]",
        "Recalled:",
        "Repair:",
        "Memories from previous conversations:",
        "",
        "",
    ])
}
