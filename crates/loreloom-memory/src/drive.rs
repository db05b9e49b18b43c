//! Runs a pass against a real model.
//!
//! The answers belong to the caller, who can store them after a failure and call again later. The
//! pass then continues where it stopped, and no question is asked twice.

use crate::{
    pass::{Answers, ModelQuestion, Need, Purpose, Script, UnreadableReply},
    tiers::together,
};
use loreloom_ports::{ChatModel, ChatReply, ChatRequest, Embedder, ModelError};

/// A pass failed. Nothing was written, and the answers so far stay valid.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The model did not answer.
    #[error("the model gave no answer for {purpose:?}: {cause}")]
    NoAnswer {
        /// What the unanswered question was for.
        purpose: Purpose,
        /// The cause.
        cause: ModelError,
    },
    /// The model answered twice, both times with nothing of what was asked for.
    #[error(transparent)]
    Unreadable(UnreadableReply),
}

/// Runs a pass to its end and gets it what it needs.
///
/// If the model fails, an optional question stays unanswered. If there is no embedder or it fails,
/// texts are compared by their words.
pub async fn drive<T>(
    pass: impl Fn(&mut Script<'_>) -> Result<T, Need>,
    answers: &mut Answers,
    model: &dyn ChatModel,
    embedder: Option<&dyn Embedder>,
) -> Result<T, DriveError> {
    loop {
        let need = match pass(&mut Script::new(answers)) {
            Ok(outcome) => return Ok(outcome),
            Err(need) => need,
        };
        match need {
            Need::Reply(question) => {
                let reply = match answer(&question, model).await {
                    Ok(reply) => Some(reply.text),
                    // One that was taken back is asked again.
                    Err(ref cause)
                        if question.purpose.is_optional()
                            && !matches!(cause, ModelError::TakenBack { .. }) =>
                    {
                        None
                    }
                    Err(cause) => {
                        let purpose = question.purpose;
                        return Err(DriveError::NoAnswer { purpose, cause });
                    }
                };
                answers.replies.push(reply);
            }
            Need::Vectors(texts) => embed(&texts, answers, embedder).await,
            Need::Unreadable(unreadable) => {
                // Whoever tries again wants new replies to both questions.
                answers.given.retain(|(purpose, _)| *purpose != unreadable.purpose);
                answers.replies.truncate(answers.replies.len().saturating_sub(2));
                return Err(DriveError::Unreadable(unreadable));
            }
        }
    }
}

/// Asks with the JSON schema of the answer, if there is one. Asks again without it if the server
/// refuses schemas.
async fn answer(question: &ModelQuestion, model: &dyn ChatModel) -> Result<ChatReply, ModelError> {
    let schema =
        (question.purpose == Purpose::Together).then(|| together::schema(question)).flatten();
    let asked = question.request(schema);
    match model.complete(&asked).await {
        Err(ModelError::Refused { status, .. })
            if asked.schema.is_some() && (400..500).contains(&status) =>
        {
            model.complete(&ChatRequest { schema: None, ..asked }).await
        }
        answered => answered,
    }
}

/// Stores the vectors of these texts, or that they have none.
async fn embed(texts: &[String], answers: &mut Answers, embedder: Option<&dyn Embedder>) {
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = match embedder {
        Some(embedder) => embedder.embed(&borrowed).await.unwrap_or_default(),
        None => Vec::new(),
    };
    let mut vectors = vectors.into_iter();
    for text in texts {
        answers.vectors.insert(text, vectors.next());
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::pin,
        sync::Mutex,
        task::{Context, Poll, Waker},
    };

    use async_trait::async_trait;

    use super::*;
    use crate::similarity::Vectors;
    use loreloom_ports::{EmbedError, Vector};

    /// Answers from a list; an empty answer stands for a failure.
    struct Listed(Mutex<Vec<&'static str>>);

    #[async_trait]
    impl ChatModel for Listed {
        async fn complete(&self, _: &ChatRequest) -> Result<ChatReply, ModelError> {
            let text = self.0.lock().unwrap().remove(0);
            if text == "taken back" {
                let (address, reason) = ("test".to_owned(), text.to_owned());
                return Err(ModelError::TakenBack { address, reason });
            }
            if text.is_empty() {
                return Err(ModelError::TimedOut { address: "test".into(), seconds: 1 });
            }
            Ok(ChatReply { text: text.to_owned() })
        }
    }

    struct Ones;

    #[async_trait]
    impl Embedder for Ones {
        fn model(&self) -> &'static str {
            "ones"
        }

        fn dimensions(&self) -> usize {
            1
        }

        async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
            Ok(texts.iter().map(|_| vec![1.0]).collect())
        }
    }

    /// Polls a future that never waits.
    fn now<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("nothing here waits"),
        }
    }

    fn question(purpose: Purpose) -> ModelQuestion {
        ModelQuestion { purpose, prompt: String::new(), max_tokens: 1 }
    }

    fn pass(script: &mut Script<'_>) -> Result<String, Need> {
        let first = script.ask(question(Purpose::LongTerm))?.unwrap_or("-").to_owned();
        let alike = script.vectors(["a", "b"])?.likeness("a", "b").score;
        let second = script.ask(question(Purpose::Update))?.unwrap_or("-");
        Ok(format!("{first} {alike} {second}"))
    }

    #[test]
    fn a_pass_goes_on_without_an_optional_answer() {
        let model = Listed(Mutex::new(vec!["one", ""]));
        let mut answers = Answers { vectors: Vectors::on(), ..Answers::default() };
        let outcome = now(drive(pass, &mut answers, &model, Some(&Ones)));
        assert_eq!(outcome.unwrap(), "one 1 -");
    }

    #[test]
    fn an_optional_question_that_was_taken_back_is_asked_again() {
        let model = Listed(Mutex::new(vec!["one", "taken back", "two"]));
        let mut answers = Answers { vectors: Vectors::on(), ..Answers::default() };
        now(drive(pass, &mut answers, &model, Some(&Ones))).unwrap_err();
        let outcome = now(drive(pass, &mut answers, &model, Some(&Ones)));
        assert_eq!(outcome.unwrap(), "one 1 two");
    }

    #[test]
    fn a_failed_pass_goes_on_where_it_stopped() {
        let failing = |script: &mut Script<'_>| {
            pass(script)?;
            script.ask(question(Purpose::Session)).map(|reply| reply.map(str::to_owned))
        };
        let model = Listed(Mutex::new(vec!["one", "two", "", "three"]));
        let mut answers = Answers::default();
        let error = now(drive(failing, &mut answers, &model, None)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the model gave no answer for Session: model at `test` gave no reply within 1 s"
        );
        assert_eq!(answers.replies.len(), 2);
        let outcome = now(drive(failing, &mut answers, &model, None)).unwrap();
        assert_eq!(outcome.as_deref(), Some("three"));
    }
}
