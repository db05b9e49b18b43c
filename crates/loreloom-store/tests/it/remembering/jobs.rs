//! Jobs that extract memories: when they run, what they write, what cancels them.

use loreloom_core::ids::ChatId;
use loreloom_memory::{
    cycle::{Backend, Demand},
    service::{NewReply, Who},
};
use loreloom_ports::{JobOutcome, JobState};
use loreloom_testkit::memory_suite::harness::story;

use super::{harness, numbered, texts};

#[tokio::test]
async fn a_swipe_cancels_only_the_jobs_that_read_it() {
    let harness = harness();
    let path = story("c", &texts(&["One secret1.", "Two secret2.", "Three secret3.", "Four."]));
    harness.commit(&path).await.unwrap();
    harness.queue(&path, "Mara").await.unwrap();
    let swiped = story("c", &texts(&["One secret1.", "Two secret2.", "Three secret3.", "Vier."]));
    harness.commit(&swiped).await.unwrap();
    let open =
        harness.service.planner.story_moved(&harness.tenant, swiped.chat(), swiped.items()).await;
    assert_eq!(open.unwrap().len(), 1, "an extraction reads what is settled");
    let edited = story("c", &texts(&["One secret1.", "Zwei.", "Three secret3.", "Vier."]));
    harness.commit(&edited).await.unwrap();
    let open =
        harness.service.planner.story_moved(&harness.tenant, edited.chat(), edited.items()).await;
    assert!(open.unwrap().is_empty());
    let jobs = harness.store.jobs(&harness.tenant, None, true).await.unwrap();
    assert_eq!(jobs[0].state, JobState::Cancelled);
    assert!(harness.run_all().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_job_whose_messages_were_edited_meanwhile_writes_nothing() {
    let harness = harness();
    let path = story("c", &texts(&["One secret1.", "Two.", "Three.", "Four."]));
    harness.commit(&path).await.unwrap();
    harness.queue(&path, "Mara").await.unwrap();
    let edited = story("c", &texts(&["Eins.", "Two.", "Three.", "Four."]));
    harness.commit(&edited).await.unwrap();
    let outcomes = harness.run_all().await.unwrap();
    assert!(matches!(outcomes[..], [Some(JobOutcome::Cancelled { .. })]), "{outcomes:?}");
    assert_eq!(harness.secrets(&path, "Mara").await.unwrap(), (vec![], vec![]));
}

#[tokio::test]
async fn a_job_whose_model_fails_is_tried_again_and_asks_only_what_is_open() {
    let harness = harness();
    let path = story("c", &texts(&["One secret1.", "Two.", "Three.", "Four."]));
    harness.commit(&path).await.unwrap();
    harness.queue(&path, "Mara").await.unwrap();
    *harness.model.failing.lock().unwrap() = 1;
    let first = harness.run_one().await.unwrap().unwrap();
    assert!(matches!(first.outcome, Some(JobOutcome::Again { .. })), "{first:?}");
    assert!(harness.run_all().await.unwrap().is_empty(), "it waits");
    let asked = harness.model.asked.lock().unwrap().len();
    harness.clock.pass(10_000);
    assert_eq!(harness.run_all().await.unwrap(), [Some(JobOutcome::Done)]);
    assert_eq!(harness.secrets(&path, "Mara").await.unwrap(), (vec![1], vec![1]));
    let prompts = harness.model.asked.lock().unwrap().clone();
    let again: Vec<&String> = prompts[asked..]
        .iter()
        .filter(|prompt| prompt.contains("Story:") && prompts[1..asked].contains(prompt))
        .collect();
    assert!(again.is_empty(), "{again:?}");
}

#[tokio::test]
async fn a_job_records_its_questions_and_keeps_replies_that_gave_nothing() {
    let harness = harness();
    let path = story("c", &texts(&["One secret1.", "Two.", "Three.", "Four."]));
    harness.commit(&path).await.unwrap();
    harness.queue(&path, "Mara").await.unwrap();
    // The first question is answered, the second is not.
    *harness.model.failing.lock().unwrap() = 1;
    harness.run_one().await.unwrap();
    let account = async || {
        let jobs = harness.store.jobs(&harness.tenant, None, true).await.unwrap();
        jobs.into_iter().map(|job| job.body.account).next().unwrap()
    };
    let first = account().await;
    let asked = harness.model.asked.lock().unwrap().len();
    assert_eq!(first.questions as usize, asked);
    assert!(first.asked > 0 && first.partial, "{first:?}");
    assert_eq!(first.replies.len(), (asked - 1).min(6), "{first:?}");
    harness.clock.pass(10_000);
    assert_eq!(harness.run_all().await.unwrap(), [Some(JobOutcome::Done)]);
    // Replies that were read well are not kept.
    let done = account().await;
    assert_eq!((done.replies.len(), done.kept.len(), done.partial), (0, 0, false));
    assert!(done.questions > first.questions && done.answered > first.answered, "{done:?}");
}

#[tokio::test]
async fn a_catch_up_reads_everything_in_pieces_and_once() {
    let harness = harness();
    let all = numbered(60);
    let path = story("c", &all);
    harness.commit(&path).await.unwrap();
    let (chat, speakers) = (ChatId::from("c"), [Who::named("Mara")]);
    let job = harness.service.planner.catch_up(&harness.tenant, &chat, &speakers).await.unwrap();
    let same = harness.service.planner.catch_up(&harness.tenant, &chat, &speakers).await.unwrap();
    assert_eq!(job, same);
    harness.run_one().await.unwrap();
    let jobs = harness.store.jobs(&harness.tenant, None, true).await.unwrap();
    assert_eq!(jobs[0].state, JobState::Done, "{jobs:?}");
    let view = harness
        .service
        .views
        .view(&harness.tenant, &chat, path.items(), &Who::named("Mara"))
        .await
        .unwrap();
    assert_eq!(view.chat.last_extract_cutoff, Some(60));
    let writes = harness.store.memory_writes(&harness.tenant, 99).await.unwrap();
    assert_eq!(writes.len(), 3);
}

#[tokio::test]
async fn a_catch_up_holds_memories_that_no_message_supports() {
    let harness = harness();
    let path = story("c", &texts(&["I met secret1 and forgery7.", "Good day.", "So.", "Yes."]));
    harness.commit(&path).await.unwrap();
    let who = [Who::named("Mara")];
    harness.service.planner.catch_up(&harness.tenant, path.chat(), &who).await.unwrap();
    harness.run_all().await.unwrap();
    let view = harness
        .service
        .views
        .view(&harness.tenant, path.chat(), path.items(), &who[0])
        .await
        .unwrap();
    let held: Vec<(&str, bool)> = view
        .character
        .memories
        .iter()
        .map(|memory| (memory.content.as_str(), memory.is_held()))
        .collect();
    assert_eq!(
        held,
        [
            ("lantern1 harbour1 secret1", false),
            ("The king owes 4711 marks to Zebulon, says forgery7", true)
        ]
    );
}

#[tokio::test]
async fn memories_can_be_extracted_before_they_are_due() {
    let harness = harness();
    let path = story("c", &texts(&["It has secret1.", "Good day.", "So?"]));
    harness.commit(&path).await.unwrap();
    let backend = Backend { model: &harness.model, embedder: None };
    let (chat, who) = (path.chat(), Who::named("Mara"));
    let (service, tenant) = (&harness.service, &harness.tenant);
    let kept = async || {
        let view = service.views.view(tenant, chat, path.items(), &who).await.unwrap();
        let longterm = view.character.memories.len();
        (longterm, view.chat.session_memories.len(), view.chat.last_extract_cutoff)
    };
    assert_eq!(kept().await, (0, 0, None));
    service.demands.run(tenant, chat, &who, Demand::LongTerm, backend).await.unwrap();
    assert_eq!(kept().await, (1, 0, None), "one tier alone does not move the extraction on");
    service.demands.run(tenant, chat, &who, Demand::Extract, backend).await.unwrap();
    assert_eq!(kept().await.2, Some(3));
}

#[tokio::test]
async fn in_a_group_everybody_remembers_after_the_round() {
    let harness = harness();
    let path = story("c", &texts(&["Hear secret1.", "Two.", "And secret3.", "Four."]));
    harness.commit(&path).await.unwrap();
    let speakers = [Who::named("Mara"), Who::named("Lis")];
    let spoken = NewReply {
        tenant: &harness.tenant,
        chat: path.chat(),
        path: path.items(),
        speakers: &speakers,
    };
    harness.service.planner.after_reply(&spoken).await.unwrap();
    assert_eq!(harness.run_all().await.unwrap(), [Some(JobOutcome::Done)]);
    for name in ["Mara", "Lis"] {
        assert_eq!(harness.secrets(&path, name).await.unwrap().0, [1, 3], "{name}");
    }
}
