//! Decides which jobs a reply needs, and cancels jobs when the story moves.

use std::sync::Arc;

use loreloom_core::{
    chat::{PathItem, Role},
    digest::Hasher,
    ids::{ChatId, MessageId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    Clock, Job, JobBody, JobId, JobKind, JobQueue, JobSpeaker, JobState, MemoryError, NewJob,
};
use rustc_hash::FxHashSet;
use tokio::sync::Notify;

use crate::{
    people::People,
    presence::characters,
    record::ChatMemory,
    schedule,
    service::{ModelRoles, ModelUse, Options, PathViews, Who, turn::TurnUsage, views::ChatPath},
    text::QuarterEstimate,
    window::{should_compact, stable_cutoff},
};

/// How many messages before the newest an extraction may read.
const READS: usize = 100;
/// Priorities: a reply first, then settled messages, a whole chat last.
const URGENT: i32 = 10;
const NORMAL: i32 = 5;
const PATIENT: i32 = -10;

/// A reply that was stored.
#[derive(Clone, Copy, Debug)]
pub struct NewReply<'turn> {
    /// The tenant of the story.
    pub tenant: &'turn TenantId,
    /// The chat.
    pub chat: &'turn ChatId,
    /// The messages of the path, with the reply.
    pub path: &'turn [PathItem],
    /// The characters that spoke since the user did, in order.
    pub speakers: &'turn [Who],
}

/// Plans jobs.
pub struct JobPlanner {
    pub(in crate::service) jobs: Arc<dyn JobQueue>,
    pub(in crate::service) clock: Arc<dyn Clock>,
    pub(in crate::service) views: Arc<PathViews>,
    pub(in crate::service) models: Arc<ModelRoles>,
    pub(in crate::service) options: Arc<Options>,
    pub(in crate::service) usage: Arc<TurnUsage>,
    pub(in crate::service) queued: Arc<Notify>,
}

impl JobPlanner {
    /// Queues the jobs that a reply needs, and cancels those that read messages outside the
    /// path. Asks no model. Without a model nothing is queued.
    pub async fn after_reply(&self, reply: &NewReply<'_>) -> Result<Vec<JobId>, MemoryError> {
        // Also without a model: a later model may take over jobs that were queued before.
        let open = self.story_moved(reply.tenant, reply.chat, reply.path).await?;
        let Some(model) = &self.models.used() else { return Ok(Vec::new()) };
        let speakers = self.writers(reply.speakers);
        if speakers.is_empty() || !ends_in_reply(reply.path) {
            return Ok(Vec::new());
        }
        let at = ChatPath { tenant: reply.tenant, chat: reply.chat, path: reply.path };
        let (chat, _) = self.views.chat_view(at).await?;
        if chat.read_only.is_some() {
            return Ok(Vec::new());
        }
        let mut queued = Vec::new();
        for kind in self.kinds(reply, &speakers, &chat, model) {
            self.replace(reply.tenant, &open, kind).await?;
            let mut job = self.job(reply, &speakers, kind, model);
            if kind == JobKind::Extract {
                let last = chat.last_extract_cutoff;
                job.body.speakers.extend(self.spoke_since(reply, &speakers, last));
            }
            if kind != JobKind::Reply {
                job.body.shown = self.usage.take_shown(reply.tenant, reply.chat);
            }
            queued.push(self.jobs.enqueue(reply.tenant, &job, self.clock.now()).await?);
        }
        self.queued.notify_one();
        Ok(queued)
    }

    /// The jobs that a reply needs.
    fn kinds(
        &self,
        reply: &NewReply<'_>,
        speakers: &[Who],
        chat: &ChatMemory,
        model: &ModelUse,
    ) -> Vec<JobKind> {
        if speakers.len() > 1 {
            return vec![JobKind::Round];
        }
        let settings = &self.options.settings;
        let checks = settings.continuity_auto_check && model.profile.checks_every_reply();
        let last = chat.last_extract_cutoff;
        let is_due = schedule::extraction(reply.path, last, settings).is_some();
        let is_long = || {
            let threshold = settings.compaction_threshold;
            let end = chat.summary_end;
            should_compact(reply.path, end, model.context, threshold, &QuarterEstimate)
        };
        let mut kinds = Vec::new();
        if settings.scene_enabled || checks {
            kinds.push(JobKind::Reply);
        }
        if is_due || settings.compaction_enabled && is_long() {
            kinds.push(JobKind::Extract);
        }
        kinds
    }

    /// Those whose memory may be written, with the policies that are set.
    fn writers(&self, speakers: &[Who]) -> Vec<Who> {
        let known = speakers.iter().map(|who| self.views.with_policy(who.clone()));
        known.filter(|who| who.policy.writes()).collect()
    }

    /// The other characters that spoke since the last extraction. Memories are extracted for
    /// them too.
    fn spoke_since(
        &self,
        reply: &NewReply<'_>,
        speakers: &[Who],
        last: Option<usize>,
    ) -> Vec<JobSpeaker> {
        let since = &reply.path[last.unwrap_or(0).min(reply.path.len())..];
        let people = People::of(reply.path);
        let is_new = |name: &&&str| !speakers.iter().any(|who| people.are_one(&who.name, name));
        let cast = characters(since);
        let others: Vec<Who> = cast.iter().filter(is_new).map(|name| Who::named(name)).collect();
        self.writers(&others).iter().map(job_speaker).collect()
    }

    /// Cancels the jobs of a chat that read messages outside the path. A swipe cancels only
    /// what read the swiped reply. Returns the jobs that are left.
    pub async fn story_moved(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
    ) -> Result<Vec<Job>, MemoryError> {
        let open = self.jobs.jobs(tenant, Some(chat), false).await?;
        if open.is_empty() {
            return Ok(open);
        }
        let current: FxHashSet<MessageId> = path.iter().map(|item| item.id).collect();
        let holds = |job: &Job| job.body.reads.iter().all(|message| current.contains(message));
        let (left, gone): (Vec<Job>, Vec<Job>) = open.into_iter().partition(holds);
        self.cancel(tenant, &gone, "the story left the messages it read").await?;
        Ok(left)
    }

    /// Queues the reading of a whole chat, from where the last extraction stopped. Returns
    /// the job that already waits or runs, if there is one.
    pub async fn catch_up(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        speakers: &[Who],
    ) -> Result<Option<JobId>, MemoryError> {
        let Some(model) = &self.models.used() else { return Ok(None) };
        let open = self.jobs.jobs(tenant, Some(chat), false).await?;
        if let Some(known) = open.iter().find(|job| job.kind == JobKind::CatchUp) {
            return Ok(Some(known.id));
        }
        let speakers = self.writers(speakers);
        let reply = NewReply { tenant, chat, path: &[], speakers: &speakers };
        let job = self.job(&reply, &speakers, JobKind::CatchUp, model);
        let id = self.jobs.enqueue(tenant, &job, self.clock.now()).await?;
        self.queued.notify_one();
        Ok(Some(id))
    }

    /// Cancels waiting jobs of the same kind: a newer job reads all that they would.
    async fn replace(
        &self,
        tenant: &TenantId,
        open: &[Job],
        kind: JobKind,
    ) -> Result<(), MemoryError> {
        let is_replaced = |job: &&Job| {
            job.kind == kind && job.state == JobState::Waiting && kind != JobKind::Reply
        };
        let old: Vec<Job> = open.iter().filter(is_replaced).cloned().collect();
        self.cancel(tenant, &old, "a newer job does the same").await
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        jobs: &[Job],
        reason: &str,
    ) -> Result<(), MemoryError> {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
        if !ids.is_empty() {
            self.jobs.cancel(tenant, &ids, reason, self.clock.now()).await?;
        }
        Ok(())
    }

    fn job(
        &self,
        reply: &NewReply<'_>,
        speakers: &[Who],
        kind: JobKind,
        model: &ModelUse,
    ) -> NewJob {
        let end = match kind {
            JobKind::Extract => stable_cutoff(reply.path),
            JobKind::Reply | JobKind::Round | JobKind::CatchUp => reply.path.len(),
        };
        let from = end.saturating_sub(if kind == JobKind::Reply { 2 } else { READS });
        let reads: Vec<MessageId> = reply.path[from..end].iter().map(|item| item.id).collect();
        let now = self.clock.now();
        NewJob {
            chat: reply.chat.clone(),
            kind,
            connection: model.connection.clone(),
            priority: match kind {
                JobKind::Reply => URGENT,
                JobKind::Extract | JobKind::Round => NORMAL,
                JobKind::CatchUp => PATIENT,
            },
            body: JobBody {
                seed: seed(reply.chat, kind, &reads, now),
                reads,
                speakers: speakers.iter().map(job_speaker).collect(),
                context: model.context.0,
                ..JobBody::default()
            },
            due: now,
        }
    }
}

fn ends_in_reply(path: &[PathItem]) -> bool {
    path.last().is_some_and(|item| item.message.role == Role::Assistant)
}

fn job_speaker(who: &Who) -> JobSpeaker {
    JobSpeaker {
        id: who.id.clone(),
        name: who.name.clone(),
        card: who.card.clone(),
        world: who.world.clone(),
        policy: who.policy,
    }
}

/// A unique name for a job, from what it reads and when it was made.
fn seed(chat: &ChatId, kind: JobKind, reads: &[MessageId], now: Timestamp) -> String {
    let hasher = Hasher::new("job").field(chat.as_str().as_bytes()).field(kind.as_str().as_bytes());
    let hasher = hasher.number(now.0.unsigned_abs());
    let hasher = reads.iter().fold(hasher, |hasher, id| hasher.field(&id.0.0));
    hasher.finish().to_string()[..16].to_owned()
}
