//! Tests whether a model can do memory's work.
//!
//! Three fixed scenes, five tiers and all of them together: the prompts of a real pass, on texts with known answers.
//! Nothing is stored.

mod scenes;

use loreloom_core::{
    chat::{Message, Path, Role},
    ids::ChatId,
};
use serde::{Deserialize, Serialize};

use crate::{
    model_profile::ModelProfile,
    pass::ModelQuestion,
    record::{Relationships, StateKind},
    rules::Rules,
    settings::Settings,
    tiers::{Config, PassSource, arcs, epistemic, ledger, longterm, session, together},
};
use loreloom_ports::{ChatModel, ChatRequest, ModelError};

/// A tier that is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum ModelTrial {
    /// Long-term memories of an investigation.
    LongTerm,
    /// Session memories of the same.
    Session,
    /// Its arcs.
    Arcs,
    /// State cards of a theft.
    Ledger,
    /// Who knows what in a healer's house.
    Epistemic,
    /// Everything about the investigation in one JSON object, as strong models are asked.
    Together,
}

/// The result of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TrialFinding {
    /// The trial.
    pub trial: ModelTrial,
    /// What was read from the reply, one line each.
    pub lines: Vec<String>,
    /// Whether the trial passed.
    pub passed: bool,
    /// What a good reply contains.
    pub hint: &'static str,
}

/// A trial that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TrialRun {
    /// The trial.
    pub trial: ModelTrial,
    /// The model's reply.
    pub reply: String,
    /// The result.
    pub finding: TrialFinding,
}

/// Runs all trials, one after the other. Nothing is stored.
pub async fn run(model: &dyn ChatModel) -> Result<Vec<TrialRun>, ModelError> {
    let mut all = Vec::new();
    for trial in ModelTrial::ALL {
        let request = trial.request();
        let reply = match model.complete(&request).await {
            // A server that knows no schemas fails this trial, not the others.
            Err(ModelError::Refused { status: 400 | 422, body, .. })
                if request.schema.is_some() =>
            {
                body
            }
            reply => reply?.text,
        };
        let finding = trial.judge(&reply);
        all.push(TrialRun { trial, reply, finding });
    }
    Ok(all)
}

impl ModelTrial {
    /// All trials, in the order they are run.
    pub const ALL: [Self; 6] =
        [Self::LongTerm, Self::Session, Self::Arcs, Self::Ledger, Self::Epistemic, Self::Together];

    /// The prompt of this trial.
    pub fn question(self) -> ModelQuestion {
        let lines = match self {
            Self::LongTerm | Self::Session | Self::Arcs | Self::Together => {
                &scenes::INVESTIGATION[..]
            }
            Self::Ledger => &scenes::THEFT,
            Self::Epistemic => &scenes::HEALER,
        };
        let path = Path::of(ChatId::from("trial"), lines.iter().map(message));
        let items = path.items();
        let source = PassSource {
            chat: items,
            window: 0..items.len(),
            heard: None,
            chat_id: "trial",
            character: scenes::INSPECTOR,
            lore: &[],
            now: 0,
        };
        match self {
            Self::LongTerm => longterm::prompt_for(&source, scenes::INSPECTOR, &[]),
            Self::Session => session::prompt_for(&source, &[], &[]),
            Self::Arcs => arcs::prompt_for(&source, &[], &[]),
            Self::Ledger => ledger::prompt_for(&source, &scenes::THEFT_ENTITIES),
            Self::Epistemic => epistemic::prompt_for(&source, &[]),
            Self::Together => together_question(source),
        }
    }

    /// The question as a request, with the JSON schema of the reply if there is one.
    pub fn request(self) -> ChatRequest {
        let question = self.question();
        let schema = (self == Self::Together).then(|| together::schema(&question)).flatten();
        question.request(schema)
    }

    /// Judges a reply.
    pub fn judge(self, reply: &str) -> TrialFinding {
        let lines = self.read(reply);
        let (least, hint) = match self {
            Self::LongTerm => (5, "five or more lasting facts, with people named"),
            Self::Session => (4, "four or more details of the moment, none of them guessed"),
            Self::Arcs => (3, "three or four open questions, no details of the scene"),
            Self::Ledger => (3, "cards for the three who appear, none for the two who do not"),
            Self::Epistemic => (4, "the secret is known to two, hidden by one, missed by one"),
            Self::Together => (8, "one JSON object with eight or more lines in its lists"),
        };
        let absent = |name: &str| !lines.iter().any(|line| line.starts_with(name));
        let passed = lines.len() >= least
            && (self != Self::Ledger || scenes::THEFT_ABSENT.into_iter().all(absent));
        TrialFinding { trial: self, lines, passed, hint }
    }

    fn read(self, reply: &str) -> Vec<String> {
        let rules = &Rules::default();
        match self {
            Self::LongTerm => {
                longterm::parse(reply, rules).into_iter().map(|found| found.content).collect()
            }
            Self::Session => {
                session::parse(reply, rules).into_iter().map(|found| found.content).collect()
            }
            Self::Arcs => arcs::parse(reply, &[], rules).add,
            Self::Ledger => ledger::parse(reply, rules)
                .iter()
                .map(|(key, card)| {
                    let values: Vec<&str> = card.fields.values().map(String::as_str).collect();
                    format!("{}: {}", card.name.as_deref().unwrap_or(key), values.join(", "))
                })
                .collect(),
            Self::Epistemic => epistemic::parse(reply, rules)
                .into_iter()
                .map(|insight| {
                    format!("{} {}: {}", insight.subject, insight.kind.as_str(), insight.content)
                })
                .collect(),
            Self::Together => {
                let replies = together::parse(reply, &[scenes::INSPECTOR]);
                let longterm = replies.members.into_iter().filter_map(|(long, _)| long);
                let longterm: Vec<String> = longterm.collect();
                let notes = |text: &String| longterm::parse(text, rules);
                let session = replies.session.unwrap_or_default();
                let found = longterm.iter().flat_map(notes).chain(session::parse(&session, rules));
                let arcs = arcs::parse(&replies.arcs.unwrap_or_default(), &[], rules).add;
                found.map(|found| found.content).chain(arcs).collect()
            }
        }
    }
}

/// The question for all tiers, with the default settings.
fn together_question(source: PassSource<'_>) -> ModelQuestion {
    let (settings, rules) = (Settings::default(), Rules::default());
    let feelings = Relationships::default();
    let input = together::TogetherInput {
        config: Config { settings: &settings, rules: &rules, profile: ModelProfile::B },
        source,
        members: vec![together::TogetherMember {
            name: scenes::INSPECTOR,
            card: "",
            longterm: Vec::new(),
            feelings: &feelings,
        }],
        session: Vec::new(),
        arcs: Vec::new(),
        ended: Vec::new(),
        entities: Vec::new(),
        insights: Vec::new(),
        checks: true,
    };
    together::prompt_for(&input)
}

fn message(&(name, text): &(&str, &str)) -> Message {
    let role = if name == scenes::USER { Role::User } else { Role::Assistant };
    Message::new(role, Some(name), text)
}

/// A name and its kind.
type TrialEntity = (&'static str, StateKind);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trial_asks_about_its_own_scene() {
        for (trial, phrase) in [
            (ModelTrial::LongTerm, "Ferrin"),
            (ModelTrial::Session, "Ferrin"),
            (ModelTrial::Arcs, "Ferrin"),
            (ModelTrial::Ledger, "Quill"),
            (ModelTrial::Epistemic, "Hedda"),
            (ModelTrial::Together, "one JSON object"),
        ] {
            assert!(trial.question().prompt.contains(phrase), "{trial:?}");
        }
        assert_eq!(scenes::INVESTIGATION.len(), 30);
    }

    #[test]
    fn a_card_for_somebody_who_is_not_there_fails_the_trial() {
        let good = "[state:Quill:character] location=vault\n[state:Iron Key:object] owner=Quill\n\
                    [state:The Vault:place] accessibility=open";
        assert!(ModelTrial::Ledger.judge(good).passed);
        let invented = format!("{good}\n[state:Captain Rusk:character] mood=angry");
        assert!(!ModelTrial::Ledger.judge(&invented).passed);
        assert!(!ModelTrial::LongTerm.judge("I cannot help with that.").passed);
    }
}
