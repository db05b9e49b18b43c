//! What is queued after a reply, and what is called off when the story moves.

use loreloom_core::{
    chat::{PathItem, Role},
    digest::Hasher,
    ids::{ChatId, MessageId, TenantId},
    units::Timestamp,
};
use rustc_hash::FxHashSet;

use super::{MemoryService, ModelUse, Who};
use crate::{
    presence::{characters, is_same_person},
    schedule,
    window::stable_cutoff,
};
use loreloom_ports::{Job, JobBody, JobId, JobKind, JobSpeaker, JobState, MemoryError, NewJob};

/// Messages before the newest that an extraction may read.
const READS: usize = 100;
/// A reply is looked at first, what is settled next, a whole chat last.
const URGENT: i32 = 10;
const USUAL: i32 = 5;
const PATIENT: i32 = -10;

/// A reply that has come.
#[derive(Clone, Copy, Debug)]
pub struct Spoken<'turn> {
    /// Whose story it is.
    pub tenant: &'turn TenantId,
    /// The chat.
    pub chat: &'turn ChatId,
    /// The messages of the path, the reply included.
    pub path: &'turn [PathItem],
    /// Those who spoke since the user did, in order; one in a chat of two.
    pub speakers: &'turn [Who],
}

impl MemoryService {
    /// Queues what a reply calls for, and calls off what read messages that are not told any
    /// more. Asks no model. Without a model nothing is queued.
    pub async fn after_reply(&self, spoken: &Spoken<'_>) -> Result<Vec<JobId>, MemoryError> {
        // Also without a model: one may come back to jobs that were queued before.
        let open = self.story_moved(spoken.tenant, spoken.chat, spoken.path).await?;
        let Some(model) = &self.used() else { return Ok(Vec::new()) };
        let known = spoken.speakers.iter().map(|who| self.known_as(who.clone()));
        let speakers: Vec<Who> = known.filter(|who| who.policy.writes()).collect();
        if speakers.is_empty() || !ends_in_reply(spoken.path) {
            return Ok(Vec::new());
        }
        let (chat, _) = self.chat_view(spoken.tenant, spoken.chat, spoken.path).await?;
        if chat.read_only.is_some() {
            return Ok(Vec::new());
        }
        let settings = &self.options.settings;
        let last = chat.last_extract_cutoff;
        let is_due = schedule::extraction(spoken.path, last, settings).is_some();
        let checks = settings.continuity_auto_check && model.hardware.checks_every_reply();
        let mut kinds = Vec::new();
        if speakers.len() > 1 {
            kinds.push(JobKind::Round);
        } else {
            if settings.scene_enabled || checks {
                kinds.push(JobKind::Reply);
            }
            if is_due || settings.compaction_enabled && self.is_long(spoken.path, &chat, model) {
                kinds.push(JobKind::Extract);
            }
        }
        let mut queued = Vec::new();
        for kind in kinds {
            self.replace(spoken.tenant, &open, kind).await?;
            let mut job = self.job(spoken, &speakers, kind, model);
            if kind == JobKind::Extract {
                job.body.speakers.extend(self.spoke_since(spoken, &speakers, last));
            }
            if kind != JobKind::Reply {
                job.body.shown = self.caches().take_shown(spoken.tenant, spoken.chat);
            }
            let now = self.ports.clock.now();
            queued.push(self.ports.jobs.enqueue(spoken.tenant, &job, now).await?);
        }
        self.queued.notify_one();
        Ok(queued)
    }

    /// The other characters that spoke since the last extraction: what they said and heard is
    /// drawn for them too.
    fn spoke_since(
        &self,
        spoken: &Spoken<'_>,
        speakers: &[Who],
        last: Option<usize>,
    ) -> Vec<JobSpeaker> {
        let since = &spoken.path[last.unwrap_or(0).min(spoken.path.len())..];
        let is_new = |name: &&&str| !speakers.iter().any(|who| is_same_person(&who.name, name));
        let cast = characters(since);
        let others = cast.iter().filter(is_new).map(|name| self.known_as(Who::named(name)));
        others.filter(|who| who.policy.writes()).map(|who| job_speaker(&who)).collect()
    }

    /// Calls off the jobs of a chat that read messages which are not on its path any more.
    /// A swipe calls off only what read the swiped reply. Returns the jobs that are left.
    pub async fn story_moved(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
    ) -> Result<Vec<Job>, MemoryError> {
        let open = self.ports.jobs.jobs(tenant, Some(chat), false).await?;
        if open.is_empty() {
            return Ok(open);
        }
        let told: FxHashSet<MessageId> = path.iter().map(|item| item.id).collect();
        let holds = |job: &Job| job.body.reads.iter().all(|message| told.contains(message));
        let (left, gone): (Vec<Job>, Vec<Job>) = open.into_iter().partition(holds);
        let ids: Vec<JobId> = gone.iter().map(|job| job.id).collect();
        if !ids.is_empty() {
            let reason = "the story left the messages it read";
            self.ports.jobs.cancel(tenant, &ids, reason, self.ports.clock.now()).await?;
        }
        Ok(left)
    }

    /// Queues the reading of a whole chat, from where the last extraction stopped. Returns
    /// the job that waits or runs already, if there is one.
    pub async fn catch_up(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        speakers: &[Who],
    ) -> Result<Option<JobId>, MemoryError> {
        let Some(model) = &self.used() else { return Ok(None) };
        let open = self.ports.jobs.jobs(tenant, Some(chat), false).await?;
        if let Some(known) = open.iter().find(|job| job.kind == JobKind::CatchUp) {
            return Ok(Some(known.id));
        }
        let now = self.ports.clock.now();
        let job = NewJob {
            chat: chat.clone(),
            kind: JobKind::CatchUp,
            connection: model.connection.clone(),
            priority: PATIENT,
            body: JobBody {
                speakers: speakers
                    .iter()
                    .map(|who| self.known_as(who.clone()))
                    .filter(|who| who.policy.writes())
                    .map(|who| job_speaker(&who))
                    .collect(),
                context: model.context.0,
                seed: seed(chat, JobKind::CatchUp, &[], now),
                ..JobBody::default()
            },
            due: now,
        };
        let id = self.ports.jobs.enqueue(tenant, &job, now).await?;
        self.queued.notify_one();
        Ok(Some(id))
    }

    /// A newer job of the same kind reads all that one which still waits would.
    async fn replace(
        &self,
        tenant: &TenantId,
        open: &[Job],
        kind: JobKind,
    ) -> Result<(), MemoryError> {
        let is_replaced = |job: &&Job| {
            job.kind == kind && job.state == JobState::Waiting && kind != JobKind::Reply
        };
        let old: Vec<JobId> = open.iter().filter(is_replaced).map(|job| job.id).collect();
        if !old.is_empty() {
            let now = self.ports.clock.now();
            self.ports.jobs.cancel(tenant, &old, "a newer job does the same", now).await?;
        }
        Ok(())
    }

    fn job(
        &self,
        spoken: &Spoken<'_>,
        speakers: &[Who],
        kind: JobKind,
        model: &ModelUse,
    ) -> NewJob {
        let end = match kind {
            JobKind::Extract => stable_cutoff(spoken.path),
            JobKind::Reply | JobKind::Round | JobKind::CatchUp => spoken.path.len(),
        };
        let from = end.saturating_sub(if kind == JobKind::Reply { 2 } else { READS });
        let reads: Vec<MessageId> = spoken.path[from..end].iter().map(|item| item.id).collect();
        let now = self.ports.clock.now();
        NewJob {
            chat: spoken.chat.clone(),
            kind,
            connection: model.connection.clone(),
            priority: if kind == JobKind::Reply { URGENT } else { USUAL },
            body: JobBody {
                seed: seed(spoken.chat, kind, &reads, now),
                reads,
                speakers: speakers.iter().map(job_speaker).collect(),
                context: model.context.0,
                ..JobBody::default()
            },
            due: now,
        }
    }

    fn is_long(
        &self,
        path: &[PathItem],
        chat: &crate::record::ChatMemory,
        model: &ModelUse,
    ) -> bool {
        crate::window::should_compact(
            path,
            chat.summary_end,
            model.context,
            self.options.settings.compaction_threshold,
            &crate::text::QuarterEstimate,
        )
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

/// A name that no other job has: what it reads and when it was made.
fn seed(chat: &ChatId, kind: JobKind, reads: &[MessageId], now: Timestamp) -> String {
    let hasher = Hasher::new("job").field(chat.as_str().as_bytes()).field(kind.as_str().as_bytes());
    let hasher = hasher.number(now.0.unsigned_abs());
    let hasher = reads.iter().fold(hasher, |hasher, id| hasher.field(&id.0.0));
    hasher.finish().to_string()[..16].to_owned()
}
