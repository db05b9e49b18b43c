//! How a pass gets answers from a model without calling one.
//!
//! A pass is a pure function of its input and the [`Answers`] so far. If an answer is missing, it
//! stops with a [`Need`]. The caller gets the answer and runs the pass again from the start. That
//! costs microseconds beside a model call, and it needs no state machine. Answers can be stored
//! with a job, so a crash loses no call, and tests only list replies.
//!
//! ```
//! use loreloom_memory::{
//!     pass::{Answers, Need, Script},
//!     rules::Rules,
//!     tiers::continuity::{self, CheckedReply},
//! };
//!
//! let check = |answers: &Answers| {
//!     let facts = ["Odo is dead."];
//!     let reply = CheckedReply { speaker: "Mara", question: "Who is it?", text: "Odo waves." };
//!     continuity::run(&facts, reply, false, &Rules::default(), &mut Script::new(answers))
//! };
//! // Without an answer the pass says what it needs.
//! let mut answers = Answers::default();
//! let Err(Need::Reply(question)) = check(&answers) else { return };
//! assert!(question.prompt.contains("Odo is dead."));
//! // With the model's reply it runs to its end.
//! answers.replies.push(Some("- Odo is dead but waves.".to_owned()));
//! let found = check(&answers).map(|outcome| outcome.contradictions);
//! assert_eq!(found, Ok(vec!["Odo is dead but waves.".to_owned()]));
//! ```

use loreloom_core::{chat::Role, prompt::PromptMessage};
use loreloom_ports::ChatRequest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    cast::PEOPLE,
    reply::says_nothing,
    similarity::Vectors,
    text::{TextRules, head},
    tiers::GUARD,
};

/// What a question is for. It names the question in logs and decides what a missing answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Long-term memories.
    LongTerm,
    /// Whether a memory updates another.
    Update,
    /// Trigger words.
    Triggers,
    /// Feelings.
    Relationships,
    /// Session memories.
    Session,
    /// Arcs.
    Arcs,
    /// How an arc ended.
    ArcSummary,
    /// Whether a scene ended.
    SceneBreak,
    /// What happened in a scene.
    SceneSummary,
    /// Who knows what.
    Epistemic,
    /// State cards.
    Ledger,
    /// The story so far.
    Compaction,
    /// Merging memories.
    Consolidation,
    /// A character's profile.
    Profile,
    /// A character's history.
    Canon,
    /// Contradictions in a reply.
    Continuity,
    /// A correction.
    Repair,
    /// What happened before, for a returning reader.
    Recap,
    /// Several tiers at once.
    Together,
}

impl Purpose {
    /// Whether a pass can continue without an answer. A pass that cannot is stopped, nothing is
    /// written, and it is tried again later.
    pub fn is_optional(self) -> bool {
        match self {
            Self::Update
            | Self::Triggers
            | Self::Relationships
            | Self::ArcSummary
            | Self::SceneBreak
            | Self::Consolidation => true,
            Self::LongTerm
            | Self::Session
            | Self::Arcs
            | Self::SceneSummary
            | Self::Epistemic
            | Self::Ledger
            | Self::Compaction
            | Self::Profile
            | Self::Canon
            | Self::Continuity
            | Self::Repair
            | Self::Recap
            | Self::Together => false,
        }
    }
}

/// A question to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelQuestion {
    /// What it is for.
    pub purpose: Purpose,
    /// The prompt.
    pub prompt: String,
    /// The longest reply, in tokens.
    pub max_tokens: u32,
}

impl ModelQuestion {
    /// The same question after a reply that had nothing of what it asks for.
    fn again(self, reply: &str) -> Self {
        const SHOWN: usize = 600;
        let prompt = format!(
            "{}\n\nYou answered:\n{}\n\nThat has nothing in the format asked for. Answer again, \
             only in that format, with nothing before or after it.",
            self.prompt,
            head(reply.trim(), SHOWN)
        );
        Self { prompt, ..self }
    }

    /// As a request to a model, with the JSON schema of the reply if there is one.
    pub(crate) fn request(&self, schema: Option<Value>) -> ChatRequest {
        let content = self.prompt.clone().into();
        ChatRequest {
            messages: vec![PromptMessage { role: Role::User, name: None, content }],
            max_tokens: Some(self.max_tokens),
            temperature: Some(0.0),
            schema,
        }
    }
}

/// What a pass needs before it can continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// A model's reply.
    Reply(ModelQuestion),
    /// The vectors of these texts.
    Vectors(Vec<String>),
    /// A readable reply: two to the same question had nothing of what was asked for.
    Unreadable(UnreadableReply),
}

impl Need {
    /// The same with a question that names the people of the story.
    pub(crate) fn naming(self, people: &str) -> Self {
        match self {
            Self::Reply(question) if !question.prompt.contains(PEOPLE) => {
                let prompt = match question.prompt.strip_prefix(GUARD) {
                    Some(rest) => format!("{GUARD}\n\n{people}{rest}"),
                    None => format!("{people}\n\n{}", question.prompt),
                };
                Self::Reply(ModelQuestion { prompt, ..question })
            }
            Self::Reply(_) | Self::Vectors(_) | Self::Unreadable(_) => self,
        }
    }
}

/// A reply with nothing of what was asked for, even when asked a second time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model's reply for {purpose:?} has nothing of what was asked for: {reply}")]
pub struct UnreadableReply {
    /// What the question was for.
    pub purpose: Purpose,
    /// The beginning of the second reply.
    pub reply: String,
}

impl UnreadableReply {
    /// How much of a reply is kept, in characters.
    const SHOWN: usize = 600;
}

/// The answers so far. A job stores them to continue after a crash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// Replies in the order of the questions; `None` if the model gave none.
    pub replies: Vec<Option<String>>,
    /// Vectors of texts.
    pub vectors: Vectors,
    /// Replies that another question already brought, by what they are for. Each counts once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<(Purpose, String)>,
}

/// Reads answers. Each run of a pass starts with a new script.
#[derive(Debug)]
pub struct Script<'answers> {
    answers: &'answers Answers,
    used: usize,
    taken: Vec<Purpose>,
}

impl<'answers> Script<'answers> {
    /// Reads answers from the first one on.
    pub fn new(answers: &'answers Answers) -> Self {
        Self { answers, used: 0, taken: Vec::new() }
    }

    /// The reply to the next question; `None` if the model gave none.
    pub fn ask(&mut self, question: ModelQuestion) -> Result<Option<&'answers str>, Need> {
        let purpose = question.purpose;
        let given = self.answers.given.iter().find(|(what, _)| *what == purpose);
        if let Some((_, reply)) = given.filter(|_| !self.taken.contains(&purpose)) {
            self.taken.push(purpose);
            return Ok(Some(reply));
        }
        let Some(reply) = self.answers.replies.get(self.used) else {
            return Err(Need::Reply(question));
        };
        self.used += 1;
        Ok(reply.as_deref())
    }

    /// Asks, and reads the reply. If `read` finds nothing of what was asked for, the model gets
    /// its reply back and is asked once more. `None` if the model says that there is nothing, or
    /// if an optional question has no answer. With [`TextRules::Literal`] nothing is asked twice.
    pub(crate) fn ask_for<T>(
        &mut self,
        question: ModelQuestion,
        rules: TextRules,
        read: impl Fn(&'answers str) -> Option<T>,
    ) -> Result<Option<T>, Need> {
        let Some(first) = self.ask(question.clone())? else { return Ok(None) };
        let is_answer = |found: &Option<T>, reply| {
            found.is_some() || !rules.is_tolerant() || says_nothing(reply, rules)
        };
        let found = read(first);
        if is_answer(&found, first) {
            return Ok(found);
        }
        let purpose = question.purpose;
        let Some(second) = self.ask(question.again(first))? else { return Ok(None) };
        let found = read(second);
        if is_answer(&found, second) || purpose.is_optional() {
            return Ok(found);
        }
        let reply = head(second.trim(), UnreadableReply::SHOWN).to_owned();
        Err(Need::Unreadable(UnreadableReply { purpose, reply }))
    }

    /// The known vectors, which include those of `texts`.
    pub fn vectors<'text>(
        &self,
        texts: impl IntoIterator<Item = &'text str>,
    ) -> Result<&'answers Vectors, Need> {
        let missing = self.answers.vectors.missing(texts);
        if missing.is_empty() { Ok(&self.answers.vectors) } else { Err(Need::Vectors(missing)) }
    }

    /// How many replies were read.
    pub fn used(&self) -> usize {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_names_the_people_once() {
        let asked = |prompt: &str| {
            let (purpose, prompt) = (Purpose::Recap, prompt.to_owned());
            match Need::Reply(ModelQuestion { purpose, prompt, max_tokens: 1 }).naming("People: A.")
            {
                Need::Reply(question) => question.prompt,
                Need::Vectors(_) | Need::Unreadable(_) => String::new(),
            }
        };
        assert_eq!(asked("Tell."), "People: A.\n\nTell.");
        assert_eq!(asked(&format!("{GUARD}\n\nTell.")), format!("{GUARD}\n\nPeople: A.\n\nTell."));
        assert_eq!(asked("People: B.\n\nTell."), "People: B.\n\nTell.");
    }

    #[test]
    fn a_pass_stops_where_an_answer_is_missing_and_goes_on_when_it_is_there() {
        let question = |text: &str| ModelQuestion {
            purpose: Purpose::Update,
            prompt: text.to_owned(),
            max_tokens: 20,
        };
        let pass = |answers: &Answers| -> Result<String, Need> {
            let mut script = Script::new(answers);
            let first = script.ask(question("first"))?.unwrap_or("-");
            script.vectors(["Text"])?;
            let second = script.ask(question("second"))?.unwrap_or("-");
            Ok(format!("{first}{second}"))
        };
        let mut answers = Answers { vectors: Vectors::on(), ..Answers::default() };
        assert_eq!(pass(&answers), Err(Need::Reply(question("first"))));
        answers.replies.push(Some("a".into()));
        assert_eq!(pass(&answers), Err(Need::Vectors(vec!["text".into()])));
        answers.vectors.insert("text", None);
        assert_eq!(pass(&answers), Err(Need::Reply(question("second"))));
        answers.replies.push(None);
        assert_eq!(pass(&answers), Ok("a-".to_owned()));
    }
}
