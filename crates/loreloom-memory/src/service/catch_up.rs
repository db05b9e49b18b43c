//! Reading a chat that is there already, piece by piece.
//!
//! Each piece is written on its own, together with how far it read: whoever goes on, after a
//! cancellation or a crash, goes on from there.

use loreloom_core::ids::MessageId;

use super::{
    MemoryService,
    accounting::Listening,
    work::{Scene, Worked, members, without_clock},
};
use crate::{
    cycle::{self, Backend, Progress, Round},
    event::{between, chat_records},
    text::QuarterEstimate,
    window::catch_up_chunks,
};
use loreloom_ports::{Job, JobBody, MemoryError, Outcome, Owner, OwnerEvents};

impl MemoryService {
    /// Reads the next piece.
    pub(super) async fn catch_up_piece(
        &self,
        job: &Job,
        worker: &str,
        (backend, heard): (Backend<'_>, &Listening<'_>),
    ) -> Result<Worked, MemoryError> {
        let Some(chat) = self.ports.story.chat(&job.tenant, &job.chat).await? else {
            let reason = "the chat is gone".to_owned();
            return Ok(Worked::Moved(Outcome::Cancelled { reason }));
        };
        let items = self.items(&job.tenant, &job.chat, chat.tip).await?;
        let mut minds = self.minds(job, &items).await?;
        let start = minds.chat.last_extract_cutoff.unwrap_or(0).min(items.len());
        let context = loreloom_core::units::Tokens(job.body.context);
        let pieces = catch_up_chunks(&items[start..], context, &QuarterEstimate);
        let Some(first) = pieces.first() else { return Ok(Worked::Moved(Outcome::Done)) };
        let window = start + first.start..start + first.end;
        let anchor: Option<MessageId> = items.get(window.end - 1).map(|item| item.id);
        let (was, chat_seen) = (minds.chat.clone(), minds.chat_seen);
        let who = minds.all.first().map(|mind| mind.who.clone()).unwrap_or_default();
        let (seed, mut progress) =
            (format!("{}-{}", job.body.seed, job.body.done), Progress::default());
        let occasion = cycle::Occasion {
            path: &items[..window.end],
            seed: &seed,
            ..self.occasion(job, &items, &who)
        };
        let is_last = pieces.len() == 1;
        let mut arcs = minds.pinned();
        let mut members = members(&mut minds.all);
        let round = Round { chat: &mut minds.chat, arcs: &mut arcs };
        let (end, answers) = (window.end, &mut progress);
        let report =
            cycle::piece(occasion, window, is_last, round, &mut members, backend, answers).await;
        minds.close(&arcs);
        heard.keeps(&[], !report.failed.is_empty());
        if let Some((_, error)) = report.failed.first()
            && job.attempts < super::work::ATTEMPTS
        {
            let error = format!("{error}: {}", error.source);
            let due = self.ports.clock.now();
            let due = loreloom_core::units::Timestamp(due.0 + 5_000 * i64::from(job.attempts));
            return Ok(Worked::Moved(Outcome::Again { body: job.body.clone(), due, error }));
        }
        let lore = self.told_lore(&job.tenant, &job.chat, &items[..end]).await?;
        self.finish(job, &items[..end], &lore, &mut minds, &was);
        let before = chat_records(&was);
        let after = without_clock(chat_records(&minds.chat), &before);
        let mut owners = minds.events(anchor);
        owners.push(OwnerEvents {
            owner: Owner::Chat(job.chat.clone()),
            seen: Some(chat_seen),
            events: between(&before, &after, anchor),
        });
        heard.keeps(&owners, !report.failed.is_empty());
        let done = job.body.done + 1;
        let total = done + u32::try_from(pieces.len() - 1).unwrap_or(u32::MAX);
        let body = JobBody { done, total, ..job.body.clone() };
        let outcome = if is_last { Outcome::Done } else { Outcome::Further(body) };
        let scene = Scene { version: chat.version, items: Vec::new(), anchor };
        self.commit((job, heard), worker, scene, owners, outcome).await
    }
}
