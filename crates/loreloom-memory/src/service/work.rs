//! Carrying a job out: read, run the pass, write down what changed.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, MessageId, TenantId},
    units::{Timestamp, Tokens},
};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::{
    KeptEmbedder, MemoryService, Who,
    accounting::Listening,
    grounding,
    minds::{Mind, Minds},
};
use crate::{
    cycle::{self, Backend, Member, Occasion, Progress, Remembered, Report, Round},
    event::{between, chat_records},
    hardware::Hardware,
    record::{ChatMemory, Insight},
    text::QuarterEstimate,
    tiers::Config,
};
use loreloom_ports::MemoryWriteId;
use loreloom_ports::Records;
use loreloom_ports::{
    Author, Job, JobBody, JobKind, JobStep, MemoryError, ModelError, Outcome, Owner, OwnerEvents,
    SeenStory, Write,
};

/// How often a job is begun before it is given up.
pub(super) const ATTEMPTS: u32 = 6;
/// How often a write is tried when others write at the same time.
const WRITES: u32 = 8;

/// Answers, and what they were given for: with other memories the same questions would not
/// be asked in the same order.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    based_on: Vec<u64>,
    progress: Progress,
}

/// What a job found when it began.
pub(super) struct Scene {
    pub(super) version: u64,
    /// The messages up to the last it reads, and one more where the pass expects a reply.
    pub(super) items: Vec<PathItem>,
    /// The last message it read.
    pub(super) anchor: Option<MessageId>,
}

/// What came of a job.
pub(super) enum Worked {
    /// The job moved on with its write, or without one.
    Moved(Outcome),
    /// The same, and it is stored already.
    Stored(Outcome),
}

impl MemoryService {
    /// Carries a job out.
    pub(super) async fn work(
        &self,
        job: &Job,
        worker: &str,
        (backend, heard): (Backend<'_>, &Listening<'_>),
    ) -> Result<Worked, MemoryError> {
        if job.kind == JobKind::CatchUp {
            return self.catch_up_piece(job, worker, (backend, heard)).await;
        }
        let Some(scene) = self.scene(job).await? else {
            let reason = "the story left the messages it read".to_owned();
            return Ok(Worked::Moved(Outcome::Cancelled { reason }));
        };
        let kept = backend
            .embedder
            .map(|embedder| KeptEmbedder::new(embedder, self.ports.log.as_ref(), &job.tenant));
        let embedder = kept.as_ref().map(|kept| kept as &dyn loreloom_ports::Embedder);
        let backend = Backend { embedder, ..backend };
        let passed = self.pass(job, &scene, backend).await?;
        heard.keeps(&passed.owners, !passed.report.failed.is_empty());
        if let Some(outcome) = self.again(job, &passed) {
            return Ok(Worked::Moved(outcome));
        }
        self.commit((job, heard), worker, scene, passed.owners, Outcome::Done).await
    }

    /// What the job reads, if all of it is still told.
    async fn scene(&self, job: &Job) -> Result<Option<Scene>, MemoryError> {
        let Some(chat) = self.ports.story.chat(&job.tenant, &job.chat).await? else {
            return Ok(None);
        };
        let mut items = self.items(&job.tenant, &job.chat, chat.tip).await?;
        let Some(end) = end_of(&items, &job.body.reads) else { return Ok(None) };
        let anchor = items.get(end.wrapping_sub(1)).map(|item| item.id);
        // What is settled is what stands before a reply.
        items.truncate(if job.kind == JobKind::Extract { end + 1 } else { end });
        Ok(Some(Scene { version: chat.version, items, anchor }))
    }

    /// Runs the pass of a job.
    async fn pass(
        &self,
        job: &Job,
        scene: &Scene,
        backend: Backend<'_>,
    ) -> Result<Passed, MemoryError> {
        let mut minds = self.minds(job, &scene.items).await?;
        let seen = minds.seen();
        let mut progress = answers(&job.body, &seen);
        let (was, chat_before) = (minds.chat.clone(), chat_records(&minds.chat));
        let first = minds.all.first().map(|mind| mind.who.clone()).unwrap_or_default();
        let occasion = self.occasion(job, &scene.items, &first);
        let report = match (job.kind, minds.all.as_mut_slice()) {
            (_, []) => Report::default(),
            (JobKind::Reply, [mind, ..]) => {
                let character = std::mem::take(&mut mind.after);
                let chat = std::mem::take(&mut minds.chat);
                let mut remembered = Remembered { character, chat };
                let report = cycle::look(occasion, &mut remembered, backend, &mut progress).await;
                (mind.after, minds.chat) = (remembered.character, remembered.chat);
                report
            }
            (kind, _) => {
                let mut arcs = minds.pinned();
                let mut members = members(&mut minds.all);
                let round = Round { chat: &mut minds.chat, arcs: &mut arcs };
                let report = if kind == JobKind::Round {
                    cycle::after_round(occasion, round, &mut members, backend, &mut progress).await
                } else {
                    cycle::draw_round(occasion, round, &mut members, backend, &mut progress).await
                };
                minds.close(&arcs);
                report
            }
        };
        let chat_seen = minds.chat_seen;
        let lore = self.told_lore(&job.tenant, &job.chat, &scene.items).await?;
        self.finish(job, &scene.items, &lore, &mut minds, &was);
        let mut owners = minds.events(scene.anchor);
        owners.push(OwnerEvents {
            owner: Owner::Chat(job.chat.clone()),
            seen: Some(chat_seen),
            events: between(
                &chat_before,
                &without_clock(chat_records(&minds.chat), &chat_before),
                scene.anchor,
            ),
        });
        Ok(Passed { owners, report, kept: Kept { based_on: seen, progress } })
    }

    /// Puts aside what no message bears out, gives everybody what they know, and notes what
    /// was shown.
    pub(super) fn finish(
        &self,
        job: &Job,
        items: &[PathItem],
        lore: &[String],
        minds: &mut Minds,
        was: &ChatMemory,
    ) {
        let rules = &self.options.rules;
        if rules.hold_ungrounded {
            let noted: Vec<Insight> = minds.all.iter().flat_map(Mind::insights_before).collect();
            for mind in &mut minds.all {
                let known = mind.after.entities.clone();
                let card = mind.who.card.as_str();
                let sources = grounding::Sources { items, card, known: &known, lore };
                grounding::hold(&mind.before.memories, &mut mind.after.memories, sources);
                grounding::hold_insights(&noted, &mut mind.after.epistemic_knowledge, sources);
            }
            let known = minds.chat.session_entities.clone();
            let card = minds.all.first().map_or("", |mind| mind.who.card.as_str());
            let sources = grounding::Sources { items, card, known: &known, lore };
            grounding::hold(&was.session_memories, &mut minds.chat.session_memories, sources);
            grounding::hold_arcs(&was.story_arcs, &mut minds.chat.story_arcs, sources);
        }
        minds.share_out();
        let now = self.ports.clock.now().0;
        minds.shown(&job.body.shown, now, rules.shown_stay);
    }

    pub(super) fn occasion<'job>(
        &'job self,
        job: &'job Job,
        items: &'job [PathItem],
        who: &'job Who,
    ) -> Occasion<'job> {
        let model = self.used();
        let hardware = model.as_ref().map_or(Hardware::A, |model| model.hardware);
        // The job may have been queued for a model that reads more.
        let context = model.map_or(job.body.context, |model| model.context.0.min(job.body.context));
        Occasion {
            config: Config {
                settings: &self.options.settings,
                rules: &self.options.rules,
                hardware,
            },
            path: items,
            chat_id: job.chat.as_str(),
            character: &who.name,
            card: &who.card,
            context: Tokens(context),
            counter: &QuarterEstimate,
            now: self.ports.clock.now().0,
            seed: &job.body.seed,
        }
    }

    /// Whether the job is to be tried again, because its model failed.
    fn again(&self, job: &Job, passed: &Passed) -> Option<Outcome> {
        let (_, error) = passed.report.failed.first()?;
        let error = format!("{error}: {}", error.source);
        let did_something = passed.owners.iter().any(|given| !given.events.is_empty());
        if job.attempts >= ATTEMPTS {
            // What was done is worth keeping; nothing done is a failure.
            return (!did_something).then_some(Outcome::Failed { error });
        }
        let (_, failure) = passed.report.failed.first()?;
        let answers = serde_json::to_string(&passed.kept).ok();
        Some(Outcome::Again {
            body: JobBody { answers, ..job.body.clone() },
            due: self.later(job.attempts, &failure.source),
            error,
        })
    }

    /// When to try again: twice as long after each try, or as the model asks.
    fn later(&self, attempts: u32, cause: &ModelError) -> loreloom_core::units::Timestamp {
        const FIRST: i64 = 5_000;
        const LONGEST: i64 = 600_000;
        let usual = FIRST.saturating_mul(1 << attempts.clamp(1, 10).saturating_sub(1)).min(LONGEST);
        let asked = match cause {
            ModelError::RateLimited { retry_after: Some(wait), .. } => {
                i64::try_from(wait.as_millis()).unwrap_or(LONGEST)
            }
            ModelError::RateLimited { retry_after: None, .. }
            | ModelError::Unreachable { .. }
            | ModelError::TimedOut { .. }
            | ModelError::Refused { .. }
            | ModelError::Garbled { .. } => 0,
        };
        loreloom_core::units::Timestamp(self.ports.clock.now().0 + usual.max(asked))
    }

    /// Writes what a job found. If the story went on meanwhile and still tells what was
    /// read, that changes nothing; if it does not, nothing is written.
    pub(super) async fn commit(
        &self,
        (job, heard): (&Job, &Listening<'_>),
        worker: &str,
        scene: Scene,
        mut owners: Vec<OwnerEvents>,
        outcome: Outcome,
    ) -> Result<Worked, MemoryError> {
        owners.retain(|given| !given.events.is_empty());
        if owners.is_empty() {
            return Ok(Worked::Moved(outcome));
        }
        let now = self.ports.clock.now();
        let step = step(job, worker, now, outcome).accounted(heard.account(), &job.body);
        let outcome = step.outcome.clone();
        let mut write = Write {
            id: MemoryWriteId(format!("{}-{}", job.body.seed, job.body.done)),
            author: Author::Pass,
            note: job.kind.as_str().to_owned(),
            chat: Some(job.chat.clone()),
            at: now,
            story: Some(SeenStory { chat: job.chat.clone(), version: scene.version }),
            job: Some(step),
            owners,
        };
        for _ in 0..WRITES {
            match self.ports.log.write(&job.tenant, &write).await {
                Ok(_) => return Ok(Worked::Stored(outcome)),
                Err(MemoryError::StoryMoved { .. }) => {
                    let reads: Vec<MessageId> = receipts(&write.owners);
                    let Some(version) = self.still_told(&job.tenant, &job.chat, &reads).await?
                    else {
                        let reason = "the story left the messages it read".to_owned();
                        return Ok(Worked::Moved(Outcome::Cancelled { reason }));
                    };
                    write.story = Some(SeenStory { chat: job.chat.clone(), version });
                }
                // Events hold what changed and nothing else: they can follow others.
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
        Ok(Worked::Moved(Outcome::Again { body: job.body.clone(), due: now, error }))
    }

    /// The version of a chat that tells all these messages.
    async fn still_told(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        reads: &[MessageId],
    ) -> Result<Option<u64>, MemoryError> {
        let Some(record) = self.ports.story.chat(tenant, chat).await? else { return Ok(None) };
        let items = self.items(tenant, chat, record.tip).await?;
        Ok(end_of(&items, reads).map(|_| record.version))
    }
}

/// What a worker says about its job.
pub(super) fn step(job: &Job, worker: &str, now: Timestamp, outcome: Outcome) -> JobStep {
    JobStep { job: job.id, worker: worker.to_owned(), now, outcome, left: None }
}

/// What a pass did.
struct Passed {
    owners: Vec<OwnerEvents>,
    report: Report,
    kept: Kept,
}

/// Those who spoke, for a pass.
pub(super) fn members(minds: &mut [Mind]) -> Vec<Member<'_>> {
    let speaking = minds.iter_mut().filter(|mind| mind.speaks);
    speaking
        .map(|mind| Member { name: &mind.who.name, card: &mind.who.card, memory: &mut mind.after })
        .collect()
}

/// That a pass ran is no news of the story.
pub(super) fn without_clock(mut after: Records, before: &Records) -> Records {
    let key = loreloom_ports::RecordKey::new(loreloom_ports::RecordKind::Marks, "");
    let was = before.get(&key).and_then(|marks| marks.get("lastActive")).cloned();
    let Some(mut marks) = after.get(&key).cloned() else { return after };
    marks.remove("lastActive");
    if let Some(was) = was {
        marks.insert("lastActive".to_owned(), was);
    }
    if marks.is_empty() {
        after.remove(&key);
    } else {
        after.insert(key, marks);
    }
    after
}

/// All messages that events rest on.
fn receipts(owners: &[OwnerEvents]) -> Vec<MessageId> {
    let all = owners.iter().flat_map(|given| &given.events).flat_map(|event| &event.receipts);
    let distinct: FxHashSet<MessageId> = all.copied().collect();
    distinct.into_iter().collect()
}

/// The place after the last of these messages, if all are told.
pub(super) fn end_of(items: &[PathItem], reads: &[MessageId]) -> Option<usize> {
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

/// The answers a job has, if they were given for the same memories.
fn answers(body: &JobBody, seen: &[u64]) -> Progress {
    let kept: Option<Kept> =
        body.answers.as_deref().and_then(|answers| serde_json::from_str(answers).ok());
    kept.filter(|kept| kept.based_on == seen).map(|kept| kept.progress).unwrap_or_default()
}
