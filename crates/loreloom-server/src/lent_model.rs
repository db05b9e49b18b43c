//! A model that a front end lends: it asks its own model for us.
//!
//! The front end fetches one question at a time, when its model is idle, and brings the answer.
//! So memory works with SillyTavern's own connection and needs no second key. A front end that
//! stops asking lends nothing any more: its questions are taken back, and jobs go on when there is
//! a model again.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use loreloom_core::{ids::ConnectionId, units::Tokens};
use loreloom_memory::{
    model_profile::ModelProfile,
    service::{MemoryServices, ModelRoles, ModelUse},
};
use loreloom_ports::{ChatModel, ChatReply, ChatRequest, ModelError};
use tokio::sync::{Notify, oneshot};

/// The connection that jobs for a lent model name.
const CONNECTION: &str = "lent";
/// How long a front end waits for a question.
const POLL: Duration = Duration::from_secs(25);

/// A question on its way to the front end.
#[derive(Clone, Debug)]
pub(crate) struct LentQuestion {
    pub(crate) id: u64,
    pub(crate) request: ChatRequest,
}

/// The answer of the front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LentAnswer {
    /// The model's text.
    Text(String),
    /// Why there is none.
    Failure(String),
    /// Why the front end gave up: its user went first.
    TakenBack(String),
}

/// How long a front end may take.
#[derive(Clone, Copy)]
struct Patience {
    /// For the next call.
    call: Duration,
    /// For an answer.
    answer: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { call: Duration::from_mins(1), answer: Duration::from_mins(5) }
    }
}

struct Open {
    question: LentQuestion,
    /// When the front end got it.
    fetched: Option<Instant>,
    answer: oneshot::Sender<LentAnswer>,
}

#[derive(Default)]
struct Questions {
    open: VecDeque<Open>,
    last: u64,
    /// How many calls wait for a question.
    calls: usize,
    /// When the front end called last; `None` if it lends nothing.
    called: Option<Instant>,
    /// Where the model was lent to.
    roles: Weak<ModelRoles>,
}

/// What somebody who waits for an answer does.
#[derive(Debug, PartialEq, Eq)]
enum QuestionWait {
    Until(Instant),
    TimedOut,
    /// The front end has gone.
    Gone,
}

impl Questions {
    /// What to do about a question. A front end that answers one does not call.
    fn waiting(&self, id: u64, patience: Patience, now: Instant) -> QuestionWait {
        let open = self.open.iter().filter(|one| !one.answer.is_closed());
        let answers = open.clone().filter_map(|one| one.fetched).max();
        let own = self.open.iter().find(|one| one.question.id == id).and_then(|one| one.fetched);
        if let Some(fetched) = own {
            let end = fetched + patience.answer;
            return if now < end { QuestionWait::Until(end) } else { QuestionWait::TimedOut };
        }
        let called = if self.calls > 0 { Some(now) } else { self.called };
        let ends = [
            called.map(|called| called + patience.call),
            answers.map(|fetched| fetched + patience.answer),
        ];
        let end = ends.into_iter().flatten().max();
        end.filter(|end| now < *end).map_or(QuestionWait::Gone, QuestionWait::Until)
    }
}

/// The model, and the questions that wait for it.
#[derive(Default)]
pub(crate) struct LentModel {
    questions: Mutex<Questions>,
    arrived: Notify,
    patience: Patience,
}

/// A call that waits for a question.
struct HeldCall<'model>(&'model LentModel);

impl<'model> HeldCall<'model> {
    fn of(model: &'model LentModel) -> Self {
        model.questions().calls += 1;
        Self(model)
    }
}

impl Drop for HeldCall<'_> {
    fn drop(&mut self) {
        let mut questions = self.0.questions();
        questions.calls = questions.calls.saturating_sub(1);
        questions.called = questions.called.map(|_| Instant::now());
    }
}

impl LentModel {
    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The front end lends its model: memory uses it, unless another one is set.
    pub(crate) fn lend(self: &Arc<Self>, memory: &MemoryServices, context: Tokens) -> bool {
        let used = ModelUse {
            connection: ConnectionId::from(CONNECTION),
            profile: ModelProfile::default(),
            at_once: 1,
            context,
        };
        let model = Arc::clone(self) as Arc<dyn ChatModel>;
        // Held until the call is noted: a job that asks at once must see it.
        let mut questions = self.questions();
        let is_used = memory.models.assign_if_free(used, &model);
        if is_used {
            questions.called = Some(Instant::now());
            questions.roles = Arc::downgrade(&memory.models);
        }
        is_used
    }

    /// The front end lends nothing any more.
    pub(crate) fn withdraw(&self) {
        let mut questions = self.questions();
        if let Some(roles) = std::mem::take(&mut questions.roles).upgrade() {
            roles.dismiss_only(self);
        }
        questions.called = None;
        questions.open.clear();
    }

    /// The next question; `None` if there is none for a while.
    pub(crate) async fn next(&self) -> Option<LentQuestion> {
        let _call = HeldCall::of(self);
        let found = async {
            loop {
                let arrived = self.arrived.notified();
                if let Some(question) = self.fetch() {
                    return question;
                }
                arrived.await;
            }
        };
        tokio::time::timeout(POLL, found).await.ok()
    }

    fn fetch(&self) -> Option<LentQuestion> {
        let mut questions = self.questions();
        questions.open.retain(|one| !one.answer.is_closed());
        let next = questions.open.iter_mut().find(|one| one.fetched.is_none())?;
        next.fetched = Some(Instant::now());
        Some(next.question.clone())
    }

    /// Takes an answer. Returns whether the question was still open.
    pub(crate) fn answer(&self, id: u64, answer: LentAnswer) -> bool {
        let mut questions = self.questions();
        questions.called = questions.called.map(|_| Instant::now());
        let Some(at) = questions.open.iter().position(|one| one.question.id == id) else {
            return false;
        };
        let found = questions.open.remove(at);
        found.is_some_and(|open| open.answer.send(answer).is_ok())
    }

    fn ask(&self, request: &ChatRequest) -> (u64, oneshot::Receiver<LentAnswer>) {
        let (answer, answered) = oneshot::channel();
        let mut questions = self.questions();
        questions.last += 1;
        let id = questions.last;
        let question = LentQuestion { id, request: request.clone() };
        questions.open.push_back(Open { question, fetched: None, answer });
        drop(questions);
        self.arrived.notify_one();
        (id, answered)
    }

    /// Waits until a question has had its time, or until the front end has gone.
    async fn out_of_time(&self, id: u64) -> ModelError {
        loop {
            let waiting = self.questions().waiting(id, self.patience, Instant::now());
            match waiting {
                QuestionWait::Until(end) => tokio::time::sleep_until(end.into()).await,
                QuestionWait::TimedOut => {
                    let seconds = self.patience.answer.as_secs();
                    return ModelError::TimedOut { address: CONNECTION.to_owned(), seconds };
                }
                QuestionWait::Gone => {
                    self.withdraw();
                    return taken_back("the front end no longer lends its model");
                }
            }
        }
    }
}

fn away(reason: &str) -> ModelError {
    ModelError::Unreachable { address: CONNECTION.to_owned(), reason: reason.to_owned() }
}

fn taken_back(reason: &str) -> ModelError {
    ModelError::TakenBack { address: CONNECTION.to_owned(), reason: reason.to_owned() }
}

#[async_trait]
impl ChatModel for LentModel {
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let (id, answered) = self.ask(request);
        let answer = tokio::select! {
            biased;
            answer = answered => answer,
            error = self.out_of_time(id) => return Err(error),
        };
        match answer {
            Ok(LentAnswer::Text(text)) => Ok(ChatReply { text }),
            Ok(LentAnswer::Failure(reason)) => Err(away(&reason)),
            Ok(LentAnswer::TakenBack(reason)) => Err(taken_back(&reason)),
            Err(_dropped) => Err(taken_back("the front end no longer lends its model")),
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_memory::service::{Options, Ports};
    use loreloom_ports::Clock;
    use loreloom_store::SqliteStore;

    use super::*;

    fn request(max_tokens: u32) -> ChatRequest {
        ChatRequest { max_tokens: Some(max_tokens), ..ChatRequest::default() }
    }

    struct Still;

    impl Clock for Still {
        fn now(&self) -> loreloom_core::units::Timestamp {
            loreloom_core::units::Timestamp(1)
        }
    }

    fn memory() -> MemoryServices {
        let store = Arc::new(SqliteStore::in_memory().unwrap());
        let ports = Ports {
            story: store.clone(),
            log: store.clone(),
            jobs: store,
            clock: Arc::new(Still),
            table: None,
            embedder: None,
        };
        MemoryServices::new(&ports, Options::default())
    }

    /// A model that is lent, and the services that borrow it.
    fn lent(patience: Patience) -> (Arc<LentModel>, MemoryServices) {
        let (model, memory) = (Arc::new(LentModel { patience, ..LentModel::default() }), memory());
        assert!(model.lend(&memory, Tokens(8)));
        (model, memory)
    }

    #[tokio::test]
    async fn a_question_is_fetched_once_and_gets_its_answer() {
        let (model, _memory) = lent(Patience::default());
        let asking = Arc::clone(&model);
        let asked = tokio::join!(async move { asking.complete(&request(7)).await }, async {
            let question = model.next().await.unwrap();
            assert_eq!(question.request, request(7));
            assert!(model.fetch().is_none(), "one at a time");
            assert!(model.answer(question.id, LentAnswer::Text("It rains.".to_owned())));
            assert!(!model.answer(question.id, LentAnswer::Text("Again.".to_owned())));
        });
        assert_eq!(asked.0.unwrap().text, "It rains.");
    }

    #[tokio::test]
    async fn a_failure_is_told_apart_from_a_question_that_was_taken_back() {
        let (model, memory) = lent(Patience::default());
        for (answer, error) in [
            (LentAnswer::Failure("no".to_owned()), "model at `lent` cannot be reached: no"),
            (
                LentAnswer::TakenBack("busy".to_owned()),
                "the question to `lent` was taken back: busy",
            ),
        ] {
            let asking = Arc::clone(&model);
            let asked = tokio::join!(async move { asking.complete(&request(1)).await }, async {
                let question = model.next().await.unwrap();
                model.answer(question.id, answer);
            });
            assert_eq!(asked.0.unwrap_err().to_string(), error);
        }
        assert!(memory.models.current().is_some());
    }

    #[tokio::test]
    async fn a_question_that_nobody_waits_for_is_not_offered() {
        let model = LentModel::default();
        drop(model.ask(&request(1)));
        assert!(model.fetch().is_none());
    }

    #[tokio::test]
    async fn a_front_end_that_calls_no_more_lends_nothing() {
        let call = Duration::ZERO;
        let (model, memory) = lent(Patience { call, ..Patience::default() });
        let error = model.complete(&request(1)).await.unwrap_err();
        assert!(matches!(error, ModelError::TakenBack { .. }), "{error}");
        assert!(memory.models.current().is_none());
        assert!(model.lend(&memory, Tokens(8)), "it is back");
        assert!(memory.models.current().is_some());
    }

    #[test]
    fn a_front_end_is_there_while_it_calls_or_answers() {
        let (model, _memory) = lent(Patience::default());
        let (patience, start) = (Patience::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let (first, _waits) = model.ask(&request(1));
        let (second, _too) = model.ask(&request(2));
        let waiting = |id, now| model.questions().waiting(id, patience, now);
        model.questions().called = Some(start);
        assert_eq!(waiting(first, after(59)), QuestionWait::Until(after(60)));
        assert_eq!(waiting(first, after(60)), QuestionWait::Gone);
        let call = HeldCall::of(&model);
        assert_eq!(waiting(first, after(90)), QuestionWait::Until(after(150)));
        drop(call);
        model.questions().called = Some(start);
        model.questions().open[0].fetched = Some(after(10));
        assert_eq!(waiting(first, after(70)), QuestionWait::Until(after(310)));
        assert_eq!(
            waiting(second, after(70)),
            QuestionWait::Until(after(310)),
            "it answers the first"
        );
        assert_eq!(waiting(first, after(310)), QuestionWait::TimedOut);
        assert_eq!(waiting(second, after(310)), QuestionWait::Gone);
    }

    #[test]
    fn a_model_that_was_set_since_stays_and_one_that_was_taken_out_is_replaced() {
        let (model, memory) = lent(Patience::default());
        let used = ModelUse {
            connection: "set".into(),
            profile: ModelProfile::default(),
            at_once: 2,
            context: Tokens(8),
        };
        memory.models.assign(used, Arc::new(LentModel::default()));
        assert!(!model.lend(&memory, Tokens(8)), "another one is set");
        model.withdraw();
        assert!(memory.models.current().is_some(), "the other one stays");
        memory.models.dismiss();
        assert!(model.lend(&memory, Tokens(8)), "it is free again");
        model.withdraw();
        assert!(memory.models.current().is_none());
    }
}
