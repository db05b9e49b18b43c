//! Runs a job: read the story, run a pass, write what changed.

use std::sync::Arc;

use loreloom_core::{
    chat::PathItem,
    ids::MessageId,
    units::{Timestamp, Tokens},
};
use loreloom_ports::{
    Author, Clock, Embedder, Job, JobBody, JobKind, JobOutcome, JobStep, MemoryError, MemoryLog,
    MemoryWriteId, ModelError, OwnerEvents, SeenStory, StoryStore, Write,
};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::{
    StateChange,
    accounting::Listening,
    changed_chat,
    characters::{JobCharacter, JobCharacters},
    grounding::{self, GroundingSources},
};
use crate::{
    cycle::{self, Backend, CycleReport, Occasion, Progress, WorkingMemory},
    record::{ChatMemory, Insight},
    service::{ModelRoles, Options, PathViews, Who, cached_embedder::CachedEmbedder},
    text::QuarterEstimate,
    tiers::Config,
};

/// How often a job is tried before it fails.
pub(super) const ATTEMPTS: u32 = 6;
/// How often a write is tried when others write at the same time.
const WRITES: u32 = 8;

/// A job, the worker that claimed it, and the model that it asks.
#[derive(Clone, Copy)]
pub(super) struct ClaimedJob<'job> {
    pub(super) job: &'job Job,
    pub(super) worker: &'job str,
    pub(super) backend: Backend<'job>,
    /// The same model as in `backend`, which records what is asked and answered.
    pub(super) heard: &'job Listening<'job>,
}

/// Answers of the model, and the logs they belong to. With other memories the pass would ask
/// other questions.
#[derive(Default, Serialize, Deserialize)]
struct SavedAnswers {
    based_on: Vec<u64>,
    progress: Progress,
}

/// The part of the story that a job reads.
pub(super) struct JobStory {
    pub(super) version: u64,
    /// The messages up to the last it reads, and one more if the pass expects a reply.
    pub(super) items: Vec<PathItem>,
    /// The last message it reads.
    pub(super) anchor: Option<MessageId>,
}

/// The result of a job.
pub(super) enum PassResult {
    /// The outcome is not stored yet.
    Unstored(JobOutcome),
    /// The outcome was stored together with the write.
    Stored(JobOutcome),
}

impl PassResult {
    /// The story no longer has the messages that a job read.
    fn left_behind() -> Self {
        let reason = "the story left the messages it read".to_owned();
        Self::Unstored(JobOutcome::Cancelled { reason })
    }
}

/// Runs the passes of jobs.
pub(super) struct JobPasses {
    pub(super) story: Arc<dyn StoryStore>,
    pub(super) log: Arc<dyn MemoryLog>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) views: Arc<PathViews>,
    pub(super) models: Arc<ModelRoles>,
    pub(super) options: Arc<Options>,
}

impl JobPasses {
    pub(super) async fn run(&self, claimed: ClaimedJob<'_>) -> Result<PassResult, MemoryError> {
        let job = claimed.job;
        if job.kind == JobKind::CatchUp {
            return self.catch_up_piece(claimed).await;
        }
        let Some(story) = self.read(job).await? else { return Ok(PassResult::left_behind()) };
        let cached = claimed
            .backend
            .embedder
            .map(|embedder| CachedEmbedder::new(embedder, self.log.as_ref(), &job.tenant));
        let embedder = cached.as_ref().map(|cached| cached as &dyn Embedder);
        let passed = self.pass(job, &story, Backend { embedder, ..claimed.backend }).await?;
        claimed.heard.keeps(&passed.owners, !passed.report.failed.is_empty());
        if let Some(outcome) = self.again(job, &passed) {
            return Ok(PassResult::Unstored(outcome));
        }
        let outcome = passed.report.end();
        self.commit(claimed, story, passed.owners, outcome).await
    }

    /// What the job reads, if the story still has all of it.
    async fn read(&self, job: &Job) -> Result<Option<JobStory>, MemoryError> {
        let Some((chat, mut items)) = self.views.current_path(&job.tenant, &job.chat).await? else {
            return Ok(None);
        };
        let Some(end) = end_of(&items, &job.body.reads) else { return Ok(None) };
        let anchor = items.get(end.wrapping_sub(1)).map(|item| item.id);
        // An extraction reads what lies before a reply.
        items.truncate(if job.kind == JobKind::Extract { end + 1 } else { end });
        Ok(Some(JobStory { version: chat.version, items, anchor }))
    }

    /// Runs the pass of a job.
    async fn pass(
        &self,
        job: &Job,
        story: &JobStory,
        backend: Backend<'_>,
    ) -> Result<PassOutput, MemoryError> {
        let mut cast = JobCharacters::load(&self.views, job, &story.items).await?;
        let seen = cast.seen();
        let mut progress = saved_answers(&job.body, &seen);
        let before = cast.chat.clone();
        let first = cast.first();
        let lore = self.recent_lore(&job.tenant, &job.chat, &story.items).await?;
        let occasion = Occasion { lore: &lore, ..self.occasion(job, &story.items, &first) };
        let report = match (job.kind, cast.all.as_mut_slice()) {
            (_, []) => CycleReport::default(),
            (JobKind::Reply, [one, ..]) => {
                let character = std::mem::take(&mut one.after);
                let chat = std::mem::take(&mut cast.chat);
                let mut remembered = WorkingMemory { character, chat };
                let report =
                    cycle::check_reply(occasion, &mut remembered, backend, &mut progress).await;
                (one.after, cast.chat) = (remembered.character, remembered.chat);
                report
            }
            (kind, _) => {
                let mut arcs = cast.pinned();
                let round = cast.round(&mut arcs);
                let report = if kind == JobKind::Round {
                    cycle::after_round(occasion, round, backend, &mut progress).await
                } else {
                    cycle::extract_round(occasion, round, backend, &mut progress).await
                };
                cast.close(&arcs);
                report
            }
        };
        let owners = self.finish(job, &story.items, story.anchor, &mut cast, &before).await?;
        Ok(PassOutput { owners, report, saved: SavedAnswers { based_on: seen, progress } })
    }

    /// Holds back what no message supports, gives every character what it knows, notes which
    /// memories were shown, and returns what changed.
    pub(super) async fn finish(
        &self,
        job: &Job,
        items: &[PathItem],
        anchor: Option<MessageId>,
        cast: &mut JobCharacters,
        before: &ChatMemory,
    ) -> Result<Vec<OwnerEvents>, MemoryError> {
        let rules = &self.options.rules;
        if rules.hold_ungrounded {
            let lore = self.recent_lore(&job.tenant, &job.chat, items).await?;
            hold_ungrounded(items, &lore, cast, before);
        }
        cast.share_out(items);
        cast.shown(&job.body.shown, self.clock.now().0, rules.shown_stay);
        if rules.keeps_secrets {
            cast.keep_withheld(items);
        }
        let mut owners = cast.events(anchor);
        let seen = cast.chat_seen;
        let changed = StateChange { before, after: &cast.chat, seen, anchor };
        owners.push(changed_chat(&job.chat, &changed));
        Ok(owners)
    }

    pub(super) fn occasion<'job>(
        &'job self,
        job: &'job Job,
        items: &'job [PathItem],
        who: &'job Who,
    ) -> Occasion<'job> {
        // The job may have been queued for a model that reads more.
        let most = self.models.used().map_or(job.body.context, |model| model.context.0);
        Occasion {
            config: Config {
                settings: &self.options.settings,
                rules: &self.options.rules,
                profile: self.models.profile(),
            },
            path: items,
            chat_id: job.chat.as_str(),
            character: &who.name,
            card: &who.card,
            context: Tokens(job.body.context.min(most)),
            counter: &QuarterEstimate,
            now: self.clock.now().0,
            seed: &job.body.seed,
            lore: &[],
        }
    }

    /// Whether the job must be tried again because its model failed.
    fn again(&self, job: &Job, passed: &PassOutput) -> Option<JobOutcome> {
        let (failure, cause) = passed.report.unanswered()?;
        let error = failure.to_string();
        if is_last_try(job, cause) {
            // A part of the work is worth storing; none at all is a failure.
            let did_something = passed.owners.iter().any(|given| !given.events.is_empty());
            return (!did_something).then_some(JobOutcome::Failed { error });
        }
        let answers = serde_json::to_string(&passed.saved).ok();
        Some(JobOutcome::Again {
            body: JobBody { answers, ..body_again(job, cause) },
            due: self.later(job.tries(), cause),
            error,
        })
    }

    /// When to try again: twice as long after each try, or when the model allows it.
    fn later(&self, tries: u32, cause: &ModelError) -> Timestamp {
        const FIRST: i64 = 5_000;
        const LONGEST: i64 = 600_000;
        let wait = FIRST.saturating_mul(1 << tries.clamp(1, 10).saturating_sub(1)).min(LONGEST);
        let asked = match cause {
            ModelError::RateLimited { retry_after: Some(wait), .. } => {
                i64::try_from(wait.as_millis()).unwrap_or(LONGEST)
            }
            ModelError::RateLimited { retry_after: None, .. }
            | ModelError::Unreachable { .. }
            | ModelError::TimedOut { .. }
            | ModelError::TakenBack { .. }
            | ModelError::Refused { .. }
            | ModelError::Garbled { .. } => 0,
        };
        Timestamp(self.clock.now().0 + wait.max(asked))
    }

    /// Writes what a job found. If the story changed meanwhile but still has all messages that
    /// were read, the write goes on; otherwise nothing is written.
    pub(super) async fn commit(
        &self,
        claimed: ClaimedJob<'_>,
        story: JobStory,
        mut owners: Vec<OwnerEvents>,
        outcome: JobOutcome,
    ) -> Result<PassResult, MemoryError> {
        owners.retain(|given| !given.events.is_empty());
        if owners.is_empty() {
            return Ok(PassResult::Unstored(outcome));
        }
        let (job, now) = (claimed.job, self.clock.now());
        let step = step(claimed, now, outcome);
        let outcome = step.outcome.clone();
        let mut write = Write {
            id: MemoryWriteId(format!("{}-{}", job.body.seed, job.body.done)),
            author: Author::Pass,
            note: job.kind.as_str().to_owned(),
            chat: Some(job.chat.clone()),
            at: now,
            story: Some(SeenStory { chat: job.chat.clone(), version: story.version }),
            job: Some(step),
            owners,
        };
        for _ in 0..WRITES {
            match self.log.write(&job.tenant, &write).await {
                Ok(_) => return Ok(PassResult::Stored(outcome)),
                Err(MemoryError::StoryMoved { .. }) => {
                    let reads = receipts(&write.owners);
                    let Some(version) = self.version_with(job, &reads).await? else {
                        return Ok(PassResult::left_behind());
                    };
                    write.story = Some(SeenStory { chat: job.chat.clone(), version });
                }
                // Events hold only what changed, so they can follow the events of others.
                Err(MemoryError::Behind { owner, found, .. }) => {
                    let behind = write.owners.iter_mut().find(|given| given.owner == owner);
                    if let Some(given) = behind {
                        given.seen = Some(found);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let error = "others wrote at the same time".to_owned();
        Ok(PassResult::Unstored(JobOutcome::Again { body: job.body.clone(), due: now, error }))
    }

    /// The version of the job's chat, if it still has all these messages.
    async fn version_with(
        &self,
        job: &Job,
        reads: &[MessageId],
    ) -> Result<Option<u64>, MemoryError> {
        let current = self.views.current_path(&job.tenant, &job.chat).await?;
        Ok(current.and_then(|(chat, items)| end_of(&items, reads).map(|_| chat.version)))
    }
}

/// Whether a job is not tried again after this failure of its model.
pub(super) fn is_last_try(job: &Job, cause: &ModelError) -> bool {
    !is_taken_back(cause) && job.tries() >= ATTEMPTS
}

/// The body of a job that is tried again after this failure of its model.
pub(super) fn body_again(job: &Job, cause: &ModelError) -> JobBody {
    let taken_back = job.body.taken_back + u32::from(is_taken_back(cause));
    JobBody { taken_back, ..job.body.clone() }
}

fn is_taken_back(cause: &ModelError) -> bool {
    matches!(cause, ModelError::TakenBack { .. })
}

/// Holds back what neither the messages nor the lore support.
fn hold_ungrounded(
    items: &[PathItem],
    lore: &[String],
    cast: &mut JobCharacters,
    before: &ChatMemory,
) {
    let noted: Vec<Insight> = cast.all.iter().flat_map(JobCharacter::insights_before).collect();
    for one in &mut cast.all {
        let known = one.after.entities.clone();
        let card = one.who.card.as_str();
        let sources = GroundingSources { items, card, known: &known, lore };
        grounding::hold(&one.before.memories, &mut one.after.memories, sources);
        grounding::hold_insights(&noted, &mut one.after.epistemic_knowledge, sources);
    }
    let known = cast.chat.session_entities.clone();
    let card = cast.all.first().map_or("", |one| one.who.card.as_str());
    let sources = GroundingSources { items, card, known: &known, lore };
    grounding::hold(&before.session_memories, &mut cast.chat.session_memories, sources);
    grounding::hold_arcs(&before.story_arcs, &mut cast.chat.story_arcs, sources);
}

/// What a worker reports of its job.
pub(super) fn step(claimed: ClaimedJob<'_>, now: Timestamp, outcome: JobOutcome) -> JobStep {
    let (job, worker) = (claimed.job, claimed.worker.to_owned());
    let step = JobStep { job: job.id, worker, now, outcome, left: None };
    step.accounted(claimed.heard.account(), &job.body)
}

/// What a pass did.
struct PassOutput {
    owners: Vec<OwnerEvents>,
    report: CycleReport,
    saved: SavedAnswers,
}

/// All messages that events rest on.
fn receipts(owners: &[OwnerEvents]) -> Vec<MessageId> {
    let all = owners.iter().flat_map(|given| &given.events).flat_map(|event| &event.receipts);
    let distinct: FxHashSet<MessageId> = all.copied().collect();
    distinct.into_iter().collect()
}

/// The place after the last of these messages, if the path has all of them.
fn end_of(items: &[PathItem], reads: &[MessageId]) -> Option<usize> {
    let wanted: FxHashSet<MessageId> = reads.iter().copied().collect();
    let mut found = 0;
    let mut end = 0;
    for (at, item) in items.iter().enumerate() {
        if wanted.contains(&item.id) {
            found += 1;
            end = at + 1;
        }
    }
    (found == wanted.len()).then_some(end)
}

/// The answers that a job already has, if they belong to the same memories.
fn saved_answers(body: &JobBody, seen: &[u64]) -> Progress {
    let saved: Option<SavedAnswers> =
        body.answers.as_deref().and_then(|answers| serde_json::from_str(answers).ok());
    saved.filter(|saved| saved.based_on == seen).map(|saved| saved.progress).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use loreloom_core::ids::TenantId;
    use loreloom_ports::{JobId, JobState};

    use super::*;

    fn job(attempts: u32, taken_back: u32) -> Job {
        Job {
            tenant: TenantId::local(),
            id: JobId(1),
            chat: "quay".into(),
            kind: JobKind::Extract,
            connection: "lent".into(),
            priority: 0,
            body: JobBody { taken_back, ..JobBody::default() },
            state: JobState::Running,
            attempts,
            due: Timestamp(0),
            worker: None,
            lease: None,
            error: None,
            created: Timestamp(0),
            updated: Timestamp(0),
        }
    }

    #[test]
    fn a_question_that_was_taken_back_costs_no_try() {
        let (address, reason) = ("lent".to_owned(), "the user went first".to_owned());
        let failure = ModelError::TimedOut { address: address.clone(), seconds: 1 };
        let taken_back = ModelError::TakenBack { address, reason };
        assert!(is_last_try(&job(ATTEMPTS, 0), &failure));
        assert!(!is_last_try(&job(ATTEMPTS, 0), &taken_back));
        assert!(!is_last_try(&job(ATTEMPTS + 3, 4), &failure), "five of them were tries");
        assert_eq!(body_again(&job(2, 1), &failure).taken_back, 1);
        assert_eq!(body_again(&job(2, 1), &taken_back).taken_back, 2);
    }
}
