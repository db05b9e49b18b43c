//! How a pass talks to the outside world without doing so itself.
//!
//! A pass is a pure function of its input and the [`Answers`] collected so far. It is
//! written top to bottom; where it needs an answer that is not there yet it stops with a
//! [`Need`], and whoever runs it gets the answer and runs it again from the start. Running
//! again costs microseconds beside a model call, and buys much: no state machine to keep
//! in step, answers that can be stored with the job so that a crash loses no call, and
//! tests that only list replies.

use serde::{Deserialize, Serialize};

use crate::similarity::Vectors;

/// What a question is for: names it in logs, and says what a missing answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Threads.
    Arcs,
    /// How a thread ended.
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
    /// A character's standing.
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
    /// Whether a pass can go on without an answer. A pass that cannot is abandoned by its
    /// driver with nothing written, and tried again later.
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

/// What a pass needs before it can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// A model's reply.
    Reply(ModelQuestion),
    /// The vectors of these texts.
    Vectors(Vec<String>),
}

/// What a pass has been told so far. A job stores it to go on after a crash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// Replies in the order of the questions; `None` where the model gave none.
    pub replies: Vec<Option<String>>,
    /// Vectors of texts.
    pub vectors: Vectors,
}

/// A reader of answers: each run of a pass starts with a new one.
#[derive(Debug)]
pub struct Script<'answers> {
    answers: &'answers Answers,
    used: usize,
}

impl<'answers> Script<'answers> {
    /// Reads answers from the first one on.
    pub fn new(answers: &'answers Answers) -> Self {
        Self { answers, used: 0 }
    }

    /// The reply to the next question; `None` if the model gave none.
    pub fn ask(&mut self, question: ModelQuestion) -> Result<Option<&'answers str>, Need> {
        let Some(reply) = self.answers.replies.get(self.used) else {
            return Err(Need::Reply(question));
        };
        self.used += 1;
        Ok(reply.as_deref())
    }

    /// The vectors known, once those of `texts` have been asked for.
    pub fn vectors<'text>(
        &self,
        texts: impl IntoIterator<Item = &'text str>,
    ) -> Result<&'answers Vectors, Need> {
        let missing = self.answers.vectors.missing(texts);
        if missing.is_empty() { Ok(&self.answers.vectors) } else { Err(Need::Vectors(missing)) }
    }

    /// How many replies have been read.
    pub fn used(&self) -> usize {
        self.used
    }
}

/// Whether a reply says that there is nothing to say.
pub(crate) fn is_none(reply: &str) -> bool {
    reply.trim().trim_end_matches('.').eq_ignore_ascii_case("none")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut answers = Answers { replies: vec![], vectors: Vectors::on() };
        assert_eq!(pass(&answers), Err(Need::Reply(question("first"))));
        answers.replies.push(Some("a".into()));
        assert_eq!(pass(&answers), Err(Need::Vectors(vec!["text".into()])));
        answers.vectors.insert("text", None);
        assert_eq!(pass(&answers), Err(Need::Reply(question("second"))));
        answers.replies.push(None);
        assert_eq!(pass(&answers), Ok("a-".to_owned()));
    }
}
