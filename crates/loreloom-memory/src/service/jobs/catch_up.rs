//! Reads an existing chat piece by piece.
//!
//! Each piece is written on its own, together with how far it read. After a cancellation or a
//! crash the next run continues from there.

use loreloom_core::{
    ids::MessageId,
    units::{Timestamp, Tokens},
};
use loreloom_ports::{JobBody, JobOutcome, MemoryError};

use super::{
    characters::JobCharacters,
    passes::{ClaimedJob, JobPasses, JobStory, PassResult, body_again, is_last_try},
};
use crate::{
    cycle::{self, ChatPiece, Progress},
    text::QuarterEstimate,
    window::catch_up_chunks,
};

/// The most unreadable replies that a job keeps.
const MOST_UNREAD: usize = 5;

impl JobPasses {
    /// Reads the next piece.
    pub(super) async fn catch_up_piece(
        &self,
        claimed: ClaimedJob<'_>,
    ) -> Result<PassResult, MemoryError> {
        let (job, heard) = (claimed.job, claimed.heard);
        let Some((chat, items)) = self.views.current_path(&job.tenant, &job.chat).await? else {
            let reason = "the chat is gone".to_owned();
            return Ok(PassResult::Unstored(JobOutcome::Cancelled { reason }));
        };
        let mut cast = JobCharacters::load(&self.views, job, &items).await?;
        let start = cast.chat.last_extract_cutoff.unwrap_or(0).min(items.len());
        let pieces = catch_up_chunks(&items[start..], Tokens(job.body.context), &QuarterEstimate);
        let Some(first) = pieces.first() else { return Ok(PassResult::Unstored(JobOutcome::Done)) };
        let window = start + first.start..start + first.end;
        let read = &items[..window.end];
        let anchor: Option<MessageId> = read.last().map(|item| item.id);
        let before = cast.chat.clone();
        let who = cast.first();
        let seed = format!("{}-{}", job.body.seed, job.body.done);
        let occasion = cycle::Occasion { seed: &seed, ..self.occasion(job, read, &who) };
        let is_last = pieces.len() == 1;
        let mut progress = Progress::default();
        let mut arcs = cast.pinned();
        let (piece, round) = (ChatPiece { window, is_last }, cast.round(&mut arcs));
        let report = cycle::catch_up(occasion, piece, round, claimed.backend, &mut progress).await;
        cast.close(&arcs);
        heard.keeps(&[], !report.failed.is_empty());
        if let Some((error, cause)) = report.unanswered()
            && !is_last_try(job, cause)
        {
            let error = error.to_string();
            let due = Timestamp(self.clock.now().0 + 5_000 * i64::from(job.tries().max(1)));
            let body = body_again(job, cause);
            return Ok(PassResult::Unstored(JobOutcome::Again { body, due, error }));
        }
        let owners = self.finish(job, read, anchor, &mut cast, &before).await?;
        heard.keeps(&owners, !report.failed.is_empty());
        let done = job.body.done + 1;
        let total = done + u32::try_from(pieces.len() - 1).unwrap_or(u32::MAX);
        let mut body = JobBody { done, total, ..job.body.clone() };
        let room = MOST_UNREAD.saturating_sub(body.unread.len());
        body.unread.extend(report.unread().take(room));
        let outcome = match () {
            () if !is_last => JobOutcome::Further(body),
            () if body.unread.is_empty() => JobOutcome::Done,
            () => JobOutcome::Failed { error: body.unread.join("\n") },
        };
        let story = JobStory { version: chat.version, items: Vec::new(), anchor };
        self.commit(claimed, story, owners, outcome).await
    }
}
